/* What a person reads on a terminal: text in its width, in colour where it has that. */
#ifndef TW_CLI_SCREEN_H
#define TW_CLI_SCREEN_H

#include "text/str.h"
#include "trawl/table.h"

struct cli_screen {
	struct tw_str out;
	unsigned width;
	bool colour;
};

/* By the terminal on stdout. */
void cli_screen_init(struct cli_screen *s);
/* cli_print_str() */
int cli_screen_print(struct cli_screen *s);

/* A line of its own, bold, below an empty one. */
void cli_add_heading(struct cli_screen *s, const char *text);
/* Text in lines of the width, broken at blanks, those after the first indented. */
void cli_add_wrapped(struct cli_screen *s, const char *text, size_t indent);
/* The same of text that was put together, and is released. */
void cli_add_line(struct cli_screen *s, struct tw_str *line, size_t indent);
/* A table below a heading, unless it has no rows; it is freed.  NULL: memory was out for it. */
void cli_add_table(struct cli_screen *s, struct trawl_table *table, const char *heading);

/* The first rows of a table, of those of its columns that `headers` name; NULL: out of memory. */
struct tw_table_spec;
struct trawl_table *cli_first_rows(const struct tw_table_spec *spec, const struct trawl_table *from,
				   const char *const *headers, size_t rows);
/* Adds to the category of a row, its second cell, a cell of the row that it is from: its group. */
void cli_name_group(struct trawl_table *table, size_t row, const struct trawl_table *from,
		    size_t from_row, const char *header);

#endif
