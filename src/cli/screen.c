#include "cli/screen.h"

#include "cli/cli.h"
#include "render/width.h"
#include "table/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_colour(void)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (!none || !*none) && term && strcmp(term, "dumb");
}

void cli_screen_init(struct cli_screen *s)
{
	*s = (struct cli_screen){ .width = cli_width(), .colour = has_colour() };
	tw_str_init(&s->out, trawl_allocator_default());
}

int cli_screen_print(struct cli_screen *s)
{
	return cli_print_str(&s->out);
}

void cli_add_heading(struct cli_screen *s, const char *text)
{
	tw_str_addf(&s->out, "\n%s%s%s\n", s->colour ? "\033[1m" : "", text,
		    s->colour ? "\033[0m" : "");
}

void cli_add_wrapped(struct cli_screen *s, const char *text, size_t indent)
{
	tw_add_wrapped(&s->out, text, s->width, indent);
}

void cli_add_line(struct cli_screen *s, struct tw_str *line, size_t indent)
{
	cli_add_wrapped(s, line->failed || !line->ptr ? "" : line->ptr, indent);
	s->out.failed |= line->failed;
	tw_str_release(line);
}

void cli_add_table(struct cli_screen *s, struct trawl_table *table, const char *heading)
{
	table = tw_table_finished(table);
	if (table && trawl_table_rows(table)) {
		cli_add_heading(s, heading);
		tw_render_text(table, &s->out, s->width, 0);
	}
	s->out.failed |= !table;
	trawl_table_free(table);
}

void cli_name_group(struct trawl_table *table, size_t row, const struct trawl_table *from,
		    size_t from_row, const char *header)
{
	struct trawl_cell category = trawl_table_cell(table, row, 1),
			  group = tw_table_cell(from, from_row, header);
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	tw_str_addf(&text, "%.*s, %.*s", (int)category.text_len, category.text, (int)group.text_len,
		    group.text);
	if (!text.failed)
		tw_table_set_text(table, row, 1, text.ptr, text.len);
	tw_str_release(&text);
}

struct trawl_table *cli_first_rows(const struct tw_table_spec *spec, const struct trawl_table *from,
				   const char *const *headers, size_t rows)
{
	struct trawl_table *table = tw_table_new(spec, trawl_allocator_default());
	size_t row, column;

	for (row = 0; table && row < trawl_table_rows(from) && row < rows; row++) {
		tw_table_add_row(table);
		for (column = 0; column < spec->column_count; column++)
			tw_table_copy_cell(table, row, column, from, row,
					   trawl_table_find_column(from, headers[column]));
	}
	return tw_table_finished(table);
}
