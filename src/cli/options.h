/*
 * Options: one table a command gives parsing, usage and help.
 */
#ifndef TW_CLI_OPTIONS_H
#define TW_CLI_OPTIONS_H

#include "text/str.h"
#include "trawl/error.h"

enum cli_kind {
	CLI_FLAG,     /* bool */
	CLI_TEXT,     /* const char * */
	CLI_TEXTS,    /* struct cli_texts: may be given several times */
	CLI_COUNT,    /* unsigned, 0 to 1,000,000 */
	CLI_POSITIVE, /* unsigned, 1 to 1,000,000 */
	CLI_SIZE,     /* int64_t bytes; K, M, G, T behind the number: times 1024 */
	CLI_TIME_NS,  /* int64_t nanoseconds */
	CLI_TIME_US,  /* int64_t nanoseconds, given in microseconds, fractions allowed */
	CLI_STEPS,    /* int64_t[2]: N or N-M */
	CLI_FORMAT,   /* enum tw_format */
};

/* Room for as many as there are arguments is the caller's. */
struct cli_texts {
	const char **text;
	size_t count;
};

struct cli_option {
	const char *name; /* without "--"; NULL ends the table */
	char letter;	  /* 0: none */
	enum cli_kind kind;
	const char *argument; /* as the help shows it; NULL for a flag */
	void *value;
	const char *help; /* NULL: not shown */
};

/*
 * Parses argv[1..]: options by the tables (each ends with a NULL name), other arguments are moved
 * to the front of argv, *count of them.  TRAWL_EUSAGE with a message for the first mistake;
 * *help is set by -h and --help.
 */
int cli_parse(const struct cli_option *const *tables, size_t table_count, int argc, char **argv,
	      int *count, bool *help, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The options among argv[1..] with their values, as they were given, without those of the table
 * `without` and without other arguments: `kept` has room for argc of them.  How many; for
 * arguments that cli_parse() takes, and before it moves them.
 */
size_t cli_given_options(const struct cli_option *const *tables, size_t table_count,
			 const struct cli_option *without, int argc, char **argv,
			 const char **kept);

/* The options of a table, aligned. */
void cli_describe(const struct cli_option *table, struct tw_str *out);

#endif
