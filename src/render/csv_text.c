#include "render/escape.h"
#include "render/render.h"

#include <string.h>

static void add_line(const struct tw_csv *csv, size_t line, struct tw_str *out)
{
	const char *const *cells = csv->cells + line * csv->columns;
	size_t begin = out->len, i;

	for (i = 0; i < csv->columns; i++) {
		if (i)
			tw_str_add_char(out, ',');
		tw_escape_csv_exact(out, cells[i], strlen(cells[i]));
	}
	/* A single empty cell would be an empty line, which readers skip. */
	if (out->len == begin)
		tw_str_add_cstr(out, "\"\"");
	tw_str_add_char(out, '\n');
}

void tw_render_csv_text(const struct tw_csv *csv, struct tw_str *out)
{
	size_t i;

	for (i = 0; csv->columns && i <= csv->rows && !out->failed; i++)
		add_line(csv, i, out);
}

int tw_write_csv_text(const struct tw_csv *csv, const char *path,
		      const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_str out;
	int status;

	tw_str_init(&out, allocator);
	tw_render_csv_text(csv, &out);
	status = tw_sink_write_text(path, &out, allocator, err);
	tw_str_release(&out);
	return status;
}
