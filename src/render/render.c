#include "render/render.h"
#include "render/escape.h"
#include "render/width.h"

#include <string.h>

/* Several tables in one text: each gets its name, in the target's format. */
static void add_heading(const struct trawl_table *table, enum tw_format format, unsigned width,
			struct tw_str *out)
{
	const char *name = trawl_table_name(table), *meaning = trawl_table_meaning(table);
	struct tw_str line;

	switch (format) {
	case TW_FORMAT_TABLE:
		tw_str_init(&line, out->allocator);
		tw_escape_terminal(&line, name, strlen(name));
		if (*meaning) {
			tw_str_add_cstr(&line, ": ");
			tw_escape_terminal(&line, meaning, strlen(meaning));
		}
		tw_add_wrapped(out, line.len ? line.ptr : "", width, 2);
		out->failed |= line.failed;
		tw_str_release(&line);
		break;
	case TW_FORMAT_MARKDOWN:
		tw_str_add_cstr(out, "### ");
		tw_escape_markdown(out, name, strlen(name));
		tw_str_add_cstr(out, "\n\n");
		if (*meaning) {
			tw_escape_markdown(out, meaning, strlen(meaning));
			tw_str_add_cstr(out, "\n\n");
		}
		break;
	case TW_FORMAT_CSV:
		tw_str_add_cstr(out, "# ");
		tw_escape_terminal(out, name, strlen(name));
		tw_str_add_char(out, '\n');
		break;
	case TW_FORMAT_JSON:
	case TW_FORMAT_JSONL:
	case TW_FORMAT_SCHEMA:
		break;
	}
}

void tw_render_table(const struct trawl_table *table, struct tw_str *out, unsigned width,
		     size_t max_rows)
{
	add_heading(table, TW_FORMAT_TABLE, width, out);
	tw_render_text(table, out, width, max_rows);
}

void tw_render(const struct trawl_table *const *tables, size_t count, enum tw_format format,
	       const char *schema, unsigned width, struct tw_str *out)
{
	size_t i;

	if (format == TW_FORMAT_JSON) {
		tw_render_json(tables, count, schema, out);
		return;
	}
	if (format == TW_FORMAT_JSONL) {
		tw_render_jsonl(tables, count, out);
		return;
	}
	if (format == TW_FORMAT_SCHEMA) {
		tw_render_schema(tables, count, schema, out);
		return;
	}
	for (i = 0; i < count && !out->failed; i++) {
		if (i)
			tw_str_add_char(out, '\n');
		/* One CSV alone stays what any reader of CSV expects. */
		if (format == TW_FORMAT_MARKDOWN || (format == TW_FORMAT_CSV && count > 1))
			add_heading(tables[i], format, width, out);
		if (format == TW_FORMAT_TABLE)
			tw_render_table(tables[i], out, width, 0);
		else if (format == TW_FORMAT_MARKDOWN)
			tw_render_markdown(tables[i], out);
		else
			tw_render_csv(tables[i], out);
	}
}
