/* Pictures of how the time differences of operations are spread, and their statistics. */
#include "base/alloc.h"
#include "os/file.h"
#include "os/inputs.h"
#include "os/thread.h"
#include "study/report/results.h"
#include "study/variance/points.h"
#include "table/csv.h"

#define TABLE_LIMIT ((size_t)1 << 32)

/* ---- statistics */

static const struct trawl_column columns[] = {
	TW_TEXT("by", 10, "grouping", .values = "!threads|channels|rank"),
	TW_INTEGER("number", 8, "value of threads, channels or rank", .values = "!"),
	TW_REAL("mean us", "us", 2, 10, "mean time difference", .values = "!"),
	TW_REAL("median us", "us", 2, 10, "median time difference", .values = "!"),
	TW_REAL("max us", "us", 2, 10, "max time difference", .values = "!"),
	TW_INTEGER("n", 6, "rows", .values = "!>=1"),
};

static const struct tw_table_spec statistics_spec = TW_SPEC(
	"variance_statistics",
	"time difference of an operator (max - min call), all operators of the table", columns);

static void add_groups(struct trawl_table *table, const struct tw_variance_group *groups,
		       size_t count, const char *by)
{
	size_t i, row;

	for (i = 0; i < count; i++) {
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, by);
		tw_table_set_integer(table, row, 1, groups[i].number);
		tw_table_set_real(table, row, 2, groups[i].spread.mean);
		tw_table_set_real(table, row, 3, groups[i].spread.median);
		tw_table_set_real(table, row, 4, groups[i].spread.max);
		tw_table_set_integer(table, row, 5, (int64_t)groups[i].spread.count);
	}
}

static struct trawl_table *make_statistics(const struct tw_variance_points *points,
					   struct tw_arena *arena)
{
	static const char *const by[] = { "threads", "channels", "rank" };
	struct trawl_table *table = tw_table_new(&statistics_spec, trawl_allocator_default());
	size_t i, count;

	for (i = 0; i < 3 && table; i++) {
		const struct tw_variance_group *groups = tw_variance_groups(
			points->points, points->count, (enum tw_variance_by)i, arena, &count);

		if (!groups) {
			trawl_table_free(table);
			return NULL;
		}
		add_groups(table, groups, count, by[i]);
	}
	return tw_table_finished(table);
}

/* ---- pictures */

/* How many there are now; of those that failed, *err is of the first. */
static size_t draw_kind(const struct trawl_sweep_results *r, const struct tw_variance_points *p,
			const char *directory, bool svg, struct tw_str *notes,
			struct trawl_error *err)
{
	unsigned threads = r->options.threads ? r->options.threads : tw_thread_count();
	bool done[TW_VARIANCE_PLOTS];
	size_t drawn = 0, i, told = 0;

	if (!tw_render_variance_plots(p->points, p->count, directory, svg, threads, done,
				      trawl_allocator_default(), err))
		return TW_VARIANCE_PLOTS;
	for (i = 0; i < TW_VARIANCE_PLOTS; i++)
		drawn += done[i];
	if (drawn || svg)
		tw_str_note(notes, "%s", err->message);
	for (i = 0; i < TW_VARIANCE_PLOTS && drawn; i++)
		if (!done[i] && told++)
			tw_str_note(notes, "'%s.%s' missing too", tw_variance_plot_names[i],
				    svg ? "svg" : "png");
	return drawn;
}

int tw_results_draw(struct trawl_sweep_results *r, const struct trawl_table *table,
		    const char *name, const char *directory, bool svg, struct tw_arena *arena,
		    struct tw_variance_points *points, struct trawl_error *err)
{
	const struct trawl_sweep_filter *filter = r->sweep ? NULL : &r->options.filter;
	size_t wanted = TW_VARIANCE_PLOTS, drawn = 0;
	struct tw_str notes;
	int status;

	tw_str_init(&notes, trawl_allocator_default());
	status = tw_variance_points_of(table, name, filter, arena, points, &notes, err);
	if (!status) {
		drawn = draw_kind(r, points, directory, false, &notes, err);
		status = drawn ? 0 : err->status;
	}
	/* Where there is no gnuplot, that is said once. */
	if (!status && svg) {
		wanted += TW_VARIANCE_PLOTS;
		drawn += draw_kind(r, points, directory, true, &notes, err);
	}
	if (!status && !r->options.quiet)
		tw_str_note(&notes, "%zu plots written to %s", drawn, directory);
	tw_results_tell(r, &notes, true);
	tw_results_count(r, TRAWL_SWEEP_PICTURES, drawn);
	r->incomplete |= drawn < wanted || points->skipped;
	tw_str_release(&notes);
	return status;
}

/* ---- a table from a file */

static int read_and_draw(struct trawl_sweep_results *r, const char *path, const char *directory,
			 bool svg, struct trawl_error *err)
{
	static const struct tw_table_spec spec = {
		.name = "variance",
		.columns = tw_variance_columns,
		.column_count = TW_VARIANCE_COLUMNS,
	};
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_variance_points points;
	struct trawl_table *table = NULL;
	struct tw_arena arena;
	struct tw_str text;
	struct tw_csv csv;
	int status;

	tw_str_init(&text, a);
	tw_arena_init(&arena, a);
	status = tw_file_read(path, TABLE_LIMIT, &text, err);
	if (!status)
		status = tw_csv_parse(&csv, &arena, text.ptr ? text.ptr : "", text.len, path, err);
	if (!status)
		status = tw_csv_table(&csv, &spec, a, &table, err);
	if (!status)
		status = tw_results_draw(r, table, path, directory, svg, &arena, &points, err);
	if (!status)
		status = tw_results_add(r, make_statistics(&points, &arena), err);
	trawl_table_free(table);
	tw_arena_release(&arena);
	tw_str_release(&text);
	return status;
}

int trawl_variance_draw(struct trawl_sweep_results **out, const char *table, const char *directory,
			bool svg, const struct trawl_sweep_options *options,
			struct trawl_error *err)
{
	struct trawl_error own;
	struct trawl_sweep_results *r;

	err = err ? err : &own;
	r = tw_results_new(NULL, options, err);
	*out = NULL;
	return r ? tw_results_give(r, read_and_draw(r, table, directory, svg, err), out) :
		   TRAWL_ENOMEM;
}
