#include "cli/ranks/ranks_verdict.h"
#include "cli/screen.h"

#include "cli/cli.h"
#include "render/escape.h"
#include "table/table.h"

#include <string.h>

#define INDENT 2
#define US_IN_MS_DIGITS 3

static const struct cli_part of_stragglers[] = {
	{ "rank", "rank" },
	{ TW_COL_TIMES_LAST, TW_COL_TIMES_LAST },
	{ "collectives", "of" },
	{ TW_COL_CAUSED_WAIT_US, "wait caused" },
	{ TW_COL_CAUSED_WAIT_PERCENT, "share of all wait" },
	{ TW_COL_PASSED_ON_US, "propagated wait" },
	{ TW_COL_OWN_WAIT_US, "own wait" },
	{ TW_COL_COMPUTING_US, "compute" },
	{ TW_COL_MEDIAN_COMPUTING_US, "median compute" },
};

/* The next row after `last` (their number: none yet): the largest by a column, else the next. */
static size_t next_row(const struct trawl_table *from, const char *by, size_t last)
{
	size_t rows = trawl_table_rows(from), best = rows, row;
	int64_t below = last < rows ? tw_table_cell(from, last, by).integer : INT64_MAX, most = 0;

	for (row = 0; row < rows; row++) {
		int64_t value = tw_table_cell(from, row, by).integer;
		bool behind = last == rows || value < below || (value == below && row > last);

		if (behind && (best == rows || value > most)) {
			best = row;
			most = value;
		}
	}
	return best;
}

/* People compare waits with steps: both in milliseconds.  The stored integer stays. */
static void show_in_ms(struct trawl_column *column)
{
	column->unit = "ms";
	column->scale += US_IN_MS_DIGITS;
	column->digits = US_IN_MS_DIGITS;
}

/* The columns of an excerpt, under shorter headers; NULL: out of memory. */
static struct trawl_table *excerpt_of(const struct trawl_table *from, const struct cli_excerpt *e)
{
	static const struct tw_table_spec spec = { .name = "excerpt", .meaning = "" };
	struct trawl_column columns[CLI_EXCERPT_MOST];
	size_t all = trawl_table_rows(from), rows = all > e->rows ? e->rows : all, at = all, row, i;
	struct trawl_table *table;

	for (i = 0; i < e->count; i++) {
		columns[i] =
			*trawl_table_column(from, trawl_table_find_column(from, e->parts[i].from));
		columns[i].header = e->parts[i].header;
		if (columns[i].type == TRAWL_COLUMN_DECIMAL &&
		    !strcmp(columns[i].unit, "\xC2\xB5s"))
			show_in_ms(&columns[i]);
	}
	table = tw_table_new_columns(&spec, columns, e->count, trawl_allocator_default());
	for (row = 0; table && row < rows; row++) {
		tw_table_add_row(table);
		at = e->by ? next_row(from, e->by, at) : row;
		for (i = 0; i < e->count; i++)
			tw_table_copy_cell(table, row, i, from, at,
					   trawl_table_find_column(from, e->parts[i].from));
	}
	if (table && rows < all)
		tw_table_add_note(table, "%zu of %zu rows; all rows: table %s", rows, all,
				  trawl_table_name(from));
	return tw_table_finished(table);
}

void cli_add_excerpt(const struct trawl_table *from, const struct cli_excerpt *e,
		     struct cli_screen *s)
{
	if (from && trawl_table_rows(from))
		cli_add_table(s, excerpt_of(from, e), e->heading);
}

void cli_add_stragglers(const struct trawl_table *stragglers, size_t rows, struct cli_screen *s)
{
	struct cli_excerpt e = CLI_EXCERPT("stragglers", "stragglers: ranks by wait caused", rows,
					   NULL, of_stragglers);

	cli_add_excerpt(stragglers, &e, s);
}

void cli_add_verdict(const struct trawl_table *verdict, struct cli_screen *s)
{
	size_t rows = verdict ? trawl_table_rows(verdict) : 0, row;
	struct tw_str line;

	if (!rows)
		return;
	tw_str_add_char(&s->out, '\n');
	for (row = 0; row < rows; row++) {
		struct trawl_cell text = tw_table_cell(verdict, row, "text");

		tw_str_init(&line, trawl_allocator_default());
		tw_escape_terminal(&line, text.text ? text.text : "", text.text_len);
		/* The first line is the conclusion. */
		if (s->colour && !row)
			tw_str_add_cstr(&s->out, "\033[1m");
		cli_add_line(s, &line, INDENT);
		if (s->colour && !row)
			tw_str_add_cstr(&s->out, "\033[0m");
	}
}
