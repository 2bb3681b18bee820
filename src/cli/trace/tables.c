#include "cli/trace/tables.h"

#include "render/column_ids.h"
#include "table/table.h"
#include "text/suggestions.h"

#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct cli_tables, member)

const struct cli_option cli_table_options[] = {
	{ "table", 0, &cli_string, "NAME[,NAME]", AT(names),
	  "print these tables and write no files ('trawl tables' lists them)" },
	{ 0 },
};

const struct cli_option cli_rows_options[] = {
	{ "top", 0, &cli_count, "N", AT(top),
	  "the first N rows, 0: all (default: what fits a screen as text, else all)" },
	{ "sort", 0, &cli_string, "COLUMN", AT(sort),
	  "order by a column, numbers descending; COLUMN:asc or COLUMN:desc" },
	{ "columns", 0, &cli_string, "A[,B]", AT(columns),
	  "these columns, by id or header ('trawl tables NAME' lists them)" },
	{ 0 },
};

bool cli_next_name(const char **names, const char **name, size_t *len)
{
	if (!*names)
		return false;
	*name = *names;
	*len = strcspn(*name, ",");
	*names = (*name)[*len] ? *name + *len + 1 : NULL;
	return true;
}

static bool is_name(const char *known, const char *name, size_t len)
{
	return strlen(known) == len && !memcmp(known, name, len);
}

typedef bool declares(size_t index, struct trawl_table_declaration *out);

static bool is_declared(declares *of, const char *name, size_t len)
{
	struct trawl_table_declaration known;
	size_t i;

	for (i = 0; of(i, &known); i++)
		if (is_name(known.name, name, len))
			return true;
	return false;
}

bool cli_is_job_table(const char *name, size_t len)
{
	return is_declared(trawl_job_report_declares, name, len);
}

static void add_nearest(struct tw_nearest *nearest, declares *of, const char *asked)
{
	struct trawl_table_declaration known;
	size_t i;

	for (i = 0; of(i, &known); i++)
		tw_nearest_add(nearest, asked, known.name);
}

int cli_unknown_table(const char *name, size_t len, bool ranks, struct trawl_error *err)
{
	const char *asked = cli_text("%.*s", len < 100 ? (int)len : 100, name);
	struct tw_nearest nearest = { 0 };

	add_nearest(&nearest, trawl_report_declares, asked);
	if (ranks)
		add_nearest(&nearest, trawl_job_report_declares, asked);
	return trawl_error_set(
		err, TRAWL_EUSAGE, "%s",
		cli_meant(cli_text("no table '%s' ('trawl tables' lists them)", asked), &nearest,
			  asked));
}

int cli_tables_check(const struct cli_tables *t, bool ranks, struct trawl_error *err)
{
	const char *names = t->names, *name;
	size_t len;

	while (cli_next_name(&names, &name, &len)) {
		if (is_declared(trawl_report_declares, name, len) ||
		    (ranks && cli_is_job_table(name, len)))
			continue;
		if (cli_is_job_table(name, len))
			return trawl_error_set(err, TRAWL_EUSAGE,
					       "table '%.*s' is of several ranks", (int)len, name);
		return cli_unknown_table(name, len, ranks, err);
	}
	return 0;
}

/* ---- rows and columns */

static int unknown_column(const struct trawl_table *table, const struct tw_column_ids *ids,
			  const char *asked, struct trawl_error *err)
{
	const char *name = trawl_table_name(table);
	struct tw_nearest nearest = { 0 };
	size_t i;

	for (i = 0; i < ids->count; i++)
		tw_nearest_add(&nearest, asked, ids->text.ptr + ids->begin[i]);
	return trawl_error_set(
		err, TRAWL_EUSAGE, "%s",
		cli_meant(cli_text("no column '%.100s' ('trawl tables %s' lists them)", asked,
				   name),
			  &nearest, asked));
}

/* By its id or header, with what is behind it; the number of columns: there is none. */
static size_t find_named(const struct trawl_table *table, const struct tw_column_ids *ids,
			 const char *asked, const char *behind)
{
	const char *name = cli_text("%s%s", asked, behind);
	size_t column;

	for (column = 0; column < ids->count; column++)
		if (!strcmp(ids->text.ptr + ids->begin[column], name))
			return column;
	return trawl_table_find_column(table, name);
}

/* Over ranks a column of one of them is its sum, else its mean. */
static int find_column(const struct trawl_table *table, const char *asked, size_t *column,
		       struct trawl_error *err)
{
	bool of_ranks = trawl_table_find_column(table, "ranks") < trawl_table_columns(table);
	struct tw_column_ids ids;
	int status = 0;
	size_t i;

	if (!tw_column_ids_make(&ids, table, trawl_allocator_default()))
		status = trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	if (!status)
		*column = find_named(table, &ids, asked, "");
	for (i = 0; !status && *column == ids.count && i < (of_ranks ? 2 : 0); i++)
		*column = find_named(table, &ids, asked, i ? "_mean" : "_total");
	if (!status && *column == ids.count)
		status = unknown_column(table, &ids, asked, err);
	tw_column_ids_release(&ids, trawl_allocator_default());
	return status;
}

/* Without a word on it, the most of numbers is first, and the first of names. */
static int sort_rows(const struct cli_tables *t, const struct trawl_table *table, size_t *rows,
		     struct trawl_error *err)
{
	const char *colon = strrchr(t->sort, ':');
	bool ascending = colon && !strcmp(colon, ":asc");
	bool said = ascending || (colon && !strcmp(colon, ":desc"));
	const char *asked = said ? cli_text("%.*s", (int)(colon - t->sort), t->sort) : t->sort;
	size_t column;
	int status = find_column(table, asked, &column, err);

	if (status)
		return status;
	if (tw_table_sort_rows(table, column,
			       said ? !ascending :
				      tw_column_is_number(trawl_table_column(table, column)),
			       rows, trawl_table_rows(table), trawl_allocator_default()))
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	return 0;
}

/* Those asked for; else those of `shown` that there are, or all; how many. */
static int choose_columns(const struct cli_tables *t, const struct trawl_table *table,
			  enum tw_format format, size_t **columns, size_t *count,
			  struct trawl_error *err)
{
	const char *shown = format == TW_FORMAT_TABLE ? t->shown : NULL, *name;
	const char *names = t->columns ?: shown;
	size_t most = names ? strlen(names) + 1 : trawl_table_columns(table), len, i;
	int status;

	*columns = cli_alloc(most, sizeof(**columns));
	*count = names ? 0 : most;
	for (i = 0; i < *count; i++)
		(*columns)[i] = i;
	while (cli_next_name(&names, &name, &len)) {
		status = find_column(table, cli_text("%.*s", (int)len, name), &i, err);
		if (status && t->columns)
			return status;
		if (!status && (t->columns || tw_table_has_values(table, i)))
			(*columns)[(*count)++] = i;
	}
	return 0;
}

/* A new table of what is asked for. */
static int pick(const struct cli_tables *t, const struct trawl_table *from, enum tw_format format,
		struct trawl_table **out, struct trawl_error *err)
{
	size_t rows = trawl_table_rows(from), *order = cli_alloc(rows, sizeof(*order)), *columns, n,
	       i;
	int status;

	for (i = 0; i < rows; i++)
		order[i] = i;
	status = t->sort ? sort_rows(t, from, order, err) : 0;
	if (!status)
		status = choose_columns(t, from, format, &columns, &n, err);
	if (status)
		return status;
	if (t->top && t->top < rows)
		rows = t->top;
	*out = tw_table_pick(from, columns, n, order, rows, trawl_allocator_default());
	return *out ? 0 : trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
}

/* ---- printing */

static size_t count_lines(const struct tw_str *out, size_t from)
{
	size_t lines = 0;

	for (; from < out->len; from++)
		lines += out->ptr[from] == '\n';
	return lines;
}

/* As many of its rows as `lines` have room for. */
static void add_screen(const struct trawl_table *table, size_t lines, unsigned width,
		       struct tw_str *out)
{
	size_t rows = trawl_table_rows(table), begin = out->len, used;

	if (rows > lines)
		rows = lines;
	for (;;) {
		tw_render_table(table, out, width, rows);
		used = count_lines(out, begin);
		if (used <= lines || rows <= 1 || out->failed)
			return;
		rows -= used - lines < rows - 1 ? used - lines : rows - 1;
		out->len = begin;
	}
}

static int print_text(const struct cli_tables *t, const struct trawl_table *const *tables,
		      size_t count)
{
	unsigned width = cli_width();
	size_t room = CLI_SCREEN_LINES / count, i;
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 0; i < count; i++) {
		if (i)
			tw_str_add_char(&out, '\n');
		if (t->top == CLI_TOP_SCREEN)
			add_screen(tables[i], room > 1 ? room - (i > 0) : 1, width, &out);
		else
			tw_render_table(tables[i], &out, width, 0);
	}
	return cli_print_str(&out);
}

/* Of nothing but empty ones the first. */
static size_t first_with_rows(const struct trawl_table *const *tables, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (trawl_table_rows(tables[i]))
			return i;
	return 0;
}

/* Rows are objects by the ids of columns. */
static int print_json(const struct trawl_table *const *tables, size_t count, enum tw_format format)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	if (format == TW_FORMAT_JSON)
		tw_render_json_objects(tables, count, "table", &out);
	else
		tw_render_schema_objects(tables, count, "table", &out);
	return cli_print_str(&out);
}

int cli_tables_print(const struct cli_tables *t, const struct trawl_table *const *tables,
		     size_t count, enum tw_format format)
{
	struct trawl_table **picked = cli_alloc(count, sizeof(*picked));
	const struct trawl_table **shown = cli_alloc(count, sizeof(*shown));
	struct trawl_error err;
	int status = 0;
	size_t first = 0, n = 0, i;

	if (t->one)
		first = first_with_rows(tables, count);
	for (i = first; i < count && !status && !(t->one && n); i++) {
		status = pick(t, tables[i], format, &picked[n], &err);
		shown[n] = picked[n];
		n += !status;
	}
	if (status)
		status = cli_fail(&err);
	else if (format == TW_FORMAT_TABLE)
		status = print_text(t, shown, n);
	else if (format == TW_FORMAT_JSON || format == TW_FORMAT_SCHEMA)
		status = print_json(shown, n, format);
	else
		status = cli_print_tables(shown, n, format, NULL, 0);
	for (i = 0; i < n; i++)
		trawl_table_free(picked[i]);
	return status;
}
