/*
 * CSV: a header row, then the rows; `,` between cells, a line feed after each row, UTF-8 without
 * a mark.  A missing value is an empty cell.
 */
#include "base/alloc.h"
#include "render/cell.h"
#include "render/escape.h"
#include "render/render.h"

#include <string.h>

/* What is gathered before it goes to the file. */
#define FLUSH_BYTES ((size_t)128 << 10)

/* How text is written: tw_escape_csv(), tw_escape_csv_exact(). */
typedef void escape_fn(struct tw_str *out, const char *text, size_t len);

/* Names stand in many cells: what some of them are as CSV. */
struct memo {
	escape_fn *escape;
	struct tw_str escaped;
	struct {
		const char *text;
		size_t len, at, bytes; /* at: in escaped */
	} slots[256];
};

static void add_text(struct tw_str *out, struct memo *m, const char *text, size_t len)
{
	size_t place = ((uintptr_t)text * 0x9E3779B97F4A7C15u) >> 56;

	if (m->slots[place].text != text || m->slots[place].len != len) {
		if (m->escaped.len > FLUSH_BYTES) {
			memset(m->slots, 0, sizeof(m->slots));
			tw_str_clear(&m->escaped);
		}
		m->slots[place].text = text;
		m->slots[place].len = len;
		m->slots[place].at = m->escaped.len;
		m->escape(&m->escaped, text, len);
		m->slots[place].bytes = m->escaped.len - m->slots[place].at;
	}
	out->failed |= m->escaped.failed;
	if (m->slots[place].bytes)
		tw_str_add(out, m->escaped.ptr + m->slots[place].at, m->slots[place].bytes);
}

static void end_row(const struct trawl_table *table, struct tw_str *out, size_t begin)
{
	/* A single empty cell would be an empty line, which readers skip. */
	if (out->len == begin && trawl_table_columns(table) == 1)
		tw_str_add_cstr(out, "\"\"");
	tw_str_add_char(out, '\n');
}

static void add_header(const struct trawl_table *table, escape_fn *escape, struct tw_str *out)
{
	size_t columns = trawl_table_columns(table), begin = out->len, i;

	for (i = 0; i < columns; i++) {
		const char *header = trawl_table_column(table, i)->header;

		if (i)
			tw_str_add_char(out, ',');
		escape(out, header, strlen(header));
	}
	end_row(table, out, begin);
}

static void add_row(const struct trawl_table *table, size_t row, struct memo *memo,
		    struct tw_str *out)
{
	size_t columns = trawl_table_columns(table), begin = out->len, i;

	for (i = 0; i < columns; i++) {
		const struct trawl_column *column = trawl_table_column(table, i);
		struct trawl_cell cell = trawl_table_cell(table, row, i);

		if (i)
			tw_str_add_char(out, ',');
		if (cell.state == TRAWL_CELL_MISSING)
			continue;
		if (tw_column_is_number(column))
			tw_number_exact(out, column, &cell);
		else
			add_text(out, memo, cell.text, cell.text_len);
	}
	end_row(table, out, begin);
}

static void render(const struct trawl_table *table, size_t first, escape_fn *escape,
		   struct tw_str *out)
{
	struct memo memo = { .escape = escape, .escaped.allocator = out->allocator };
	size_t rows = trawl_table_rows(table), i;

	if (!first)
		add_header(table, escape, out);
	for (i = 0; i < rows && !out->failed; i++)
		add_row(table, i, &memo, out);
	tw_str_release(&memo.escaped);
}

void tw_render_csv(const struct trawl_table *table, struct tw_str *out)
{
	render(table, 0, tw_escape_csv, out);
}

void tw_render_csv_from(const struct trawl_table *table, size_t first, struct tw_str *out)
{
	render(table, first, tw_escape_csv, out);
}

void tw_render_csv_exact(const struct trawl_table *table, struct tw_str *out)
{
	render(table, trawl_table_columns(table) == 0, tw_escape_csv_exact, out);
}

int tw_write_csv_exact(const struct trawl_table *table, const char *path,
		       const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_str out;
	int status;

	tw_str_init(&out, allocator);
	tw_render_csv_exact(table, &out);
	status = tw_sink_write_text(path, &out, allocator, err);
	tw_str_release(&out);
	return status;
}

/* As tw_render_csv(), in pieces, so that the memory does not grow with the table. */
static int write_csv(const struct trawl_table *table, struct tw_sink *sink, const char *path,
		     const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct memo memo = { .escape = tw_escape_csv, .escaped.allocator = allocator };
	size_t rows = trawl_table_rows(table), i;
	struct tw_str out;
	int status = 0;

	tw_str_init(&out, allocator);
	add_header(table, tw_escape_csv, &out);
	for (i = 0; i < rows && !out.failed; i++) {
		add_row(table, i, &memo, &out);
		if (out.len < FLUSH_BYTES)
			continue;
		tw_sink_write(sink, out.ptr, out.len);
		tw_str_clear(&out);
	}
	if (out.failed)
		status = trawl_error_set(err, TRAWL_ENOMEM, "cannot write '%s': out of memory",
					 path);
	else
		tw_sink_write(sink, out.ptr, out.len);
	tw_str_release(&out);
	tw_str_release(&memo.escaped);
	return status ? status : tw_sink_finish(sink, err);
}

static int write_table(const struct trawl_table *table, const char *dir, struct tw_sink **sink,
		       const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_str path;
	int status;

	tw_str_init(&path, allocator);
	tw_str_addf(&path, "%s/%s.csv", dir, trawl_table_name(table));
	if (path.failed)
		status = trawl_error_set(err, TRAWL_ENOMEM, "cannot write into '%s': out of memory",
					 dir);
	else
		status = tw_sink_open(sink, path.ptr, allocator, err);
	if (!status)
		status = write_csv(table, *sink, path.ptr, allocator, err);
	tw_str_release(&path);
	return status;
}

int tw_render_csv_directory(const struct trawl_table *const *tables, size_t count, const char *dir,
			    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_sink **sinks;
	int status = tw_make_directories(dir, err);
	size_t i;

	if (status || count == 0)
		return status;
	sinks = tw_alloc_array(allocator, count, sizeof(struct tw_sink *));
	if (!sinks)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot write into '%s': out of memory",
				       dir);
	/* Everything that can go wrong with the contents does so before the first rename. */
	for (i = 0; i < count && !status; i++)
		status = write_table(tables[i], dir, &sinks[i], allocator, err);
	for (i = 0; i < count && !status; i++) {
		status = tw_sink_commit(sinks[i], err);
		sinks[i] = NULL;
	}
	for (i = 0; i < count; i++)
		tw_sink_abort(sinks[i]);
	tw_free(allocator, sinks, count * sizeof(struct tw_sink *));
	return status;
}
