/* Of the summary: the classes of modules and the functions of the program with the most GPU time. */
#include "cli/cli.h"
#include "cli/screen.h"

#include "base/alloc.h"
#include "base/order.h"
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 5

static bool is_rest(const struct trawl_table *table, size_t row)
{
	return tw_table_text_is(table, row, 0, TW_LABEL_NONE) ||
	       tw_table_text_is(table, row, 0, TW_LABEL_UNLINKED);
}

/* What has no module or call site comes last in its table. */
static size_t rows_with_names(const struct trawl_table *table)
{
	size_t rows = table ? trawl_table_rows(table) : 0;

	while (rows && is_rest(table, rows - 1))
		rows--;
	return rows;
}

/* A row of those columns of another table that `headers` name, NULL: of none. */
static void add_row(struct trawl_table *to, const struct trawl_table *from, size_t from_row,
		    const char *const *headers, size_t count)
{
	size_t row = tw_table_add_row(to), i;

	for (i = 0; i < count; i++)
		if (headers[i])
			tw_table_copy_cell(to, row, i, from, from_row,
					   trawl_table_find_column(from, headers[i]));
}

static void add_rests(struct trawl_table *to, const struct trawl_table *from,
		      const char *const *headers, size_t count)
{
	size_t row;

	for (row = rows_with_names(from); row < trawl_table_rows(from); row++)
		add_row(to, from, row, headers, count);
}

/* ---- modules */

static const struct trawl_column module_columns[] = {
	TW_TEXT(TW_COL_MODULE_CLASS, 40, "class of the innermost module"),
	TW_INTEGER("instances", 8, "paths of the class"),
	TW_MS(TW_COL_SELF_GPU_TIME_MS, 12,
	      "sum of GPU events launched in them and in no module below"),
	TW_PERCENT_1("share (%)", 8, "share of the durations of all GPU events"),
};

static const struct tw_table_spec modules_spec =
	TW_SPEC("top_modules", "top modules by GPU time (self, by class); share of all GPU work",
		module_columns);

/* The innermost class of a path, and its sums. */
struct class
{
	const char *name;
	size_t len;
	int64_t instances, self_ns;
};

static int by_name(const void *a, const void *b)
{
	const struct class *x = a, *y = b;
	int order = memcmp(x->name, y->name, x->len < y->len ? x->len : y->len);

	return order ? order : TW_COMPARE(x->len, y->len);
}

static int by_time(const void *a, const void *b)
{
	const struct class *x = a, *y = b;

	return TW_COMPARE(y->self_ns, x->self_ns) ?: by_name(a, b);
}

static struct class class_of(const struct trawl_table *classes, size_t row)
{
	struct trawl_cell path = trawl_table_cell(classes, row, 0);
	const char *name = path.text, *next;

	while ((next = strstr(name, " > ")))
		name = next + 3;
	return (struct class){ name, strlen(name), tw_table_cell(classes, row, "instances").integer,
			       tw_table_cell(classes, row, TW_COL_SELF_GPU_TIME_MS).integer };
}

/* How many there are once those of a name are one, most time first. */
static size_t add_up(struct class *all, size_t count)
{
	size_t i, n = 0;

	qsort(all, count, sizeof(*all), by_name);
	for (i = 0; i < count; i++) {
		if (n && !by_name(&all[n - 1], &all[i])) {
			all[n - 1].instances += all[i].instances;
			all[n - 1].self_ns += all[i].self_ns;
		} else {
			all[n++] = all[i];
		}
	}
	qsort(all, n, sizeof(*all), by_time);
	return n;
}

static void set_class(struct trawl_table *table, const struct class *class, double all_ns)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_text(table, row, 0, class->name, class->len);
	tw_table_set_integer(table, row, 1, class->instances);
	tw_table_set_integer(table, row, 2, class->self_ns);
	tw_table_set_real(table, row, 3, 100 * (double)class->self_ns / all_ns);
}

static void add_top_modules(const struct trawl_table *classes, size_t most, struct cli_screen *s)
{
	const char *const headers[] = { TW_COL_MODULE_CLASS, NULL, TW_COL_SELF_GPU_TIME_MS,
					TW_COL_GPU_TIME_PERCENT };
	size_t rows = rows_with_names(classes), n, i;
	const struct trawl_allocator *a = trawl_allocator_default();
	struct class *all;
	struct trawl_table *top;
	double all_ns = 0;

	if (!rows)
		return;
	all = tw_alloc(a, rows * sizeof(*all));
	top = all ? tw_table_new(&modules_spec, a) : NULL;
	for (i = 0; top && i < trawl_table_rows(classes); i++)
		all_ns += (double)tw_table_cell(classes, i, TW_COL_SELF_GPU_TIME_MS).integer;
	for (i = 0; top && i < rows; i++)
		all[i] = class_of(classes, i);
	n = top ? add_up(all, rows) : 0;
	for (i = 0; i < n && i < most && all[i].self_ns > 0; i++)
		set_class(top, &all[i], all_ns);
	if (top)
		add_rests(top, classes, headers, modules_spec.column_count);
	tw_free(a, all, rows * sizeof(*all));
	cli_add_table(s, top, modules_spec.meaning);
}

/* ---- call sites */

static const struct trawl_column site_columns[] = {
	TW_TEXT(TW_COL_CALL_SITE, 60, "file, line and function of the program"),
	TW_MS(TW_COL_GPU_TIME_MS, 12, "sum of GPU events launched from there"),
	TW_PERCENT_1("share (%)", 8, "share of the durations of all GPU events"),
};

static const struct tw_table_spec sites_spec = TW_SPEC(
	"top_call_sites", "top call sites by GPU time; share of all GPU work", site_columns);

static void add_top_sites(const struct trawl_table *sites, size_t most, struct cli_screen *s)
{
	const char *const headers[] = { TW_COL_CALL_SITE, TW_COL_GPU_TIME_MS,
					TW_COL_GPU_TIME_PERCENT };
	size_t rows = rows_with_names(sites), i;
	struct trawl_table *top;

	if (!rows)
		return;
	top = tw_table_new(&sites_spec, trawl_allocator_default());
	for (i = 0; top && i < rows && i < most; i++)
		add_row(top, sites, i, headers, sites_spec.column_count);
	if (top)
		add_rests(top, sites, headers, sites_spec.column_count);
	cli_add_table(s, top, sites_spec.meaning);
}

void cli_add_who(const struct trawl_report *report, size_t most, struct cli_screen *s)
{
	most = most < MOST_ROWS ? most : MOST_ROWS;
	if (!most)
		return;
	/* Modules of an export are its ranges, which have a list of their own. */
	if (!trawl_report_find(report, "nvtx_ranges"))
		add_top_modules(trawl_report_find(report, "module_classes"), most, s);
	add_top_sites(trawl_report_find(report, "call_sites"), most, s);
}
