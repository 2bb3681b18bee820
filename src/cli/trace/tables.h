/* Tables of a report on stdout: which, of them which rows and columns, in which order. */
#ifndef TW_CLI_TRACE_TABLES_H
#define TW_CLI_TRACE_TABLES_H

#include "cli/cli.h"

#include <limits.h>

/* Rows of a table as text: as many as fit a screen. */
#define CLI_TOP_SCREEN UINT_MAX
#define CLI_SCREEN_LINES 40

struct cli_tables {
	const char *names; /* separated by commas; NULL: none is asked for */
	bool one;	   /* only the first of them that has rows */
	unsigned top;	   /* rows, 0: all */
	const char *sort;  /* a column, behind it maybe ":asc" or ":desc" */
	const char *columns;
	const char *
		shown; /* ids of columns of text where none are asked for, as far as they have values */
};

/* Bound to a struct cli_tables: --table alone; what is shown of tables. */
extern const struct cli_option cli_table_options[], cli_rows_options[];
#define CLI_TABLES(at) \
	CLI_OPTIONS("Tables", cli_table_options, at), CLI_OPTIONS("Tables", cli_rows_options, at)
#define CLI_ROWS(at) CLI_OPTIONS("Tables", cli_rows_options, at)

/* Whether all names are tables of reports of one trace, or of ranks: else TRAWL_EUSAGE. */
int cli_tables_check(const struct cli_tables *t, bool ranks, struct trawl_error *err);
/* Whether a table is one of a job itself, not one of traces summed over its ranks. */
bool cli_is_job_table(const char *name, size_t len);
/* TRAWL_EUSAGE: a name that no table has, and which ones come near it. */
int cli_unknown_table(const char *name, size_t len, bool ranks, struct trawl_error *err);
/* The next of names separated by commas, moving *names behind it; false: there is none. */
bool cli_next_name(const char **names, const char **name, size_t *len);

/* Prints what is asked for of tables; the exit status, after a message where it is none of success. */
int cli_tables_print(const struct cli_tables *t, const struct trawl_table *const *tables,
		     size_t count, enum tw_format format);

#endif
