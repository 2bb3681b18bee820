/*
 * What commands over ranks print of their collectives: the verdict, the stragglers, and excerpts of
 * other tables.
 */
#ifndef TW_CLI_RANKS_RANKS_VERDICT_H
#define TW_CLI_RANKS_RANKS_VERDICT_H

#include "base/list.h"
#include "cli/screen.h"
#include "text/str.h"
#include "trawl/table.h"

#define CLI_STRAGGLERS_SHOWN 16

struct cli_part {
	const char *from; /* header in the table */
	const char *header;
};

struct cli_excerpt {
	const char *table, *heading;
	size_t rows;
	const char *by; /* largest first; NULL: in the table's order */
	const struct cli_part *parts;
	size_t count;
};

/* Columns of an excerpt at most; more do not compile. */
#define CLI_EXCERPT_MOST 12
#define CLI_EXCERPT(table, heading, rows, by, parts)                                     \
	{                                                                                \
		table, heading, rows, by, parts, TW_COUNT_UP_TO(CLI_EXCERPT_MOST, parts) \
	}

/* The rows of an excerpt under its heading, with exact times in milliseconds; NULL: nothing. */
void cli_add_excerpt(const struct trawl_table *from, const struct cli_excerpt *excerpt,
		     struct cli_screen *s);
/* The first rows of table stragglers. */
void cli_add_stragglers(const struct trawl_table *stragglers, size_t rows, struct cli_screen *s);
/* The sentences of table verdict after a blank line; NULL, or none: nothing. */
void cli_add_verdict(const struct trawl_table *verdict, struct cli_screen *s);

#endif
