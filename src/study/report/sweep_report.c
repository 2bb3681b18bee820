/* The traces of a sweep analysed, and what is made of all its configurations together. */
#include "base/alloc.h"
#include "study/books/across_threads.h"
#include "study/report/results.h"
#include "study/variance/points.h"
#include "table/table.h"
#include "trawl/render.h"

#include <math.h>
#include <string.h>

/* ---- merged timelines */

enum { CONFIGURATION, RANKS, SLICES, FILE_NAME };

static const struct trawl_column columns[] = {
	[CONFIGURATION] = TW_TEXT("configuration", 18, "threads and channels", .values = "!"),
	[RANKS] = TW_INTEGER("ranks", 6, "number of ranks with a trace", .values = "!"),
	[SLICES] =
		TW_INTEGER("slices", 12, "GPU and host slices in the merged trace", .values = "!"),
	[FILE_NAME] = TW_TEXT("file", 40, "merged trace, relative to the output directory",
			      .values = "!"),
};

static const struct tw_table_spec spec = TW_SPEC(
	"merged_traces", "merged timeline of each configuration", columns, .keep_empty = true);

static void add_merged(struct trawl_table *table, const struct tw_point_analysis *p)
{
	size_t row = tw_table_add_row(table), i;
	int64_t ranks = 0;
	struct tw_str path;

	for (i = 0; i < p->point->rank_count; i++)
		ranks += p->point->ranks[i].trace != NULL;
	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_merged_path(p->sweep, p->point, &path);
	tw_table_set_str(table, row, CONFIGURATION, p->point->name);
	tw_table_set_integer(table, row, RANKS, ranks);
	tw_table_set_integer(table, row, SLICES, (int64_t)p->merged_slices);
	if (!path.failed)
		tw_table_set_str(table, row, FILE_NAME, path.ptr + strlen(p->sweep->output) + 1);
	tw_str_release(&path);
}

static int add_merged_table(struct trawl_sweep_results *r, struct trawl_error *err)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t i;

	for (i = 0; table && i < r->point_count; i++)
		if (r->points[i].merged_slices)
			add_merged(table, &r->points[i]);
	return tw_results_add(r, tw_table_finished(table), err);
}

/* ---- configurations */

/* Sets *has_ranks where any has. */
static int list_configurations(struct trawl_sweep_results *r, bool *has_ranks,
			       struct trawl_error *err)
{
	size_t i, k;

	r->list = tw_alloc_array(trawl_allocator_default(), r->point_count, sizeof(*r->list));
	if (!r->list)
		return tw_no_memory(err);
	for (i = 0; i < r->point_count; i++) {
		const struct tw_point_analysis *p = &r->points[i];

		r->list[i] = (struct tw_configuration){
			.name = p->point->name,
			.threads = p->point->threads,
			.channels = p->point->channels,
			.ended = p->point->ended,
			.straggler = p->straggler.len ? p->straggler.ptr : NULL,
			.findings = p->findings,
			.gains_of_step = p->findings_of_step,
			.gemm_difference_us = NAN,
		};
		if (tw_configuration_of(&r->list[i], &p->job, trawl_allocator_default()))
			return tw_no_memory(err);
		*has_ranks |= p->job.count > 0;
		for (k = 0; k < p->point->rank_count; k++)
			tw_results_count(r, TRAWL_SWEEP_REPORTS, p->reported[k]);
		tw_results_count(r, TRAWL_SWEEP_COLLECTIVES,
				 p->outputs & TRAWL_SWEEP_COLLECTIVES && p->job.count);
		tw_results_count(r, TRAWL_SWEEP_MERGED, p->merged_slices > 0);
	}
	return 0;
}

/* The first table, again when there is more to say of them; and the answer. */
static int add_configurations(struct trawl_sweep_results *r, struct trawl_error *err)
{
	struct trawl_table *table =
		tw_configurations_table(r->list, r->point_count, trawl_allocator_default());
	size_t i;

	if (!table)
		return tw_no_memory(err);
	if (r->table_count) {
		trawl_table_free(r->tables[0]);
		r->tables[0] = table;
	} else if (tw_results_add(r, table, err)) {
		return err->status;
	}
	tw_str_clear(&r->answer);
	tw_configurations_answer(r->list, r->point_count, &r->answer);
	for (i = 0; i < r->answer.len; i++)
		if (r->answer.ptr[i] == '\n')
			r->answer.ptr[i] = 0;
	return r->answer.failed ? tw_no_memory(err) : 0;
}

static int add_findings(struct trawl_sweep_results *r, struct trawl_error *err)
{
	struct trawl_table *table =
		tw_configurations_findings(r->list, r->point_count, trawl_allocator_default());
	const struct trawl_table *written = table;
	struct tw_str path;
	int status = tw_results_add(r, table, err);

	if (status)
		return status;
	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_analysis_path(r->sweep, NULL, &path);
	status = path.failed ? tw_no_memory(err) : trawl_write_csv(&written, 1, path.ptr, err);
	tw_results_count(r, TRAWL_SWEEP_FINDINGS, 1);
	tw_str_release(&path);
	return status;
}

static int analyse(struct trawl_sweep_results *r, unsigned outputs, struct trawl_error *err)
{
	bool has_ranks = false;
	int status = tw_results_read(r, outputs, err);

	if (!status)
		status = list_configurations(r, &has_ranks, err);
	if (status)
		return status;
	/* What is merged alone is not analysed. */
	if (outputs == TRAWL_SWEEP_MERGED && !trawl_sweep_results_files(r, TRAWL_SWEEP_MERGED))
		return trawl_error_set(err, TRAWL_ENODATA, "%s: nothing to merge",
				       r->sweep->directory);
	if (outputs != TRAWL_SWEEP_MERGED && !has_ranks)
		return trawl_error_set(err, TRAWL_ENODATA, "%s: no readable trace",
				       r->sweep->directory);
	if (has_ranks)
		status = add_configurations(r, err);
	if (!status && has_ranks && outputs & TRAWL_SWEEP_FINDINGS)
		status = add_findings(r, err);
	if (!status && outputs & TRAWL_SWEEP_MERGED)
		status = add_merged_table(r, err);
	return status;
}

int trawl_sweep_analyse(struct trawl_sweep_results **out, const struct trawl_sweep *sweep,
			unsigned outputs, struct trawl_error *err)
{
	struct trawl_error own;
	struct trawl_sweep_results *r;

	err = err ? err : &own;
	r = tw_results_new(sweep, NULL, err);
	*out = NULL;
	if (!r)
		return TRAWL_ENOMEM;
	r->part = *sweep;
	return tw_results_give(r, analyse(r, outputs, err), out);
}

/* ---- variance */

static int write_variance(struct trawl_sweep_results *r, struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	int status;

	tw_variance_steps_init(&r->steps, r->sweep, r->points, r->point_count);
	r->has_steps = true;
	r->steps.top_k = r->options.top_k;
	r->steps.tolerance = r->options.tolerance;
	status = tw_variance_steps_all(&r->steps, err);
	tw_results_tell(r, &r->steps.notes, false);
	r->incomplete |= r->steps.incomplete;
	r->step = r->steps.tables[TRAWL_STEP_OVERLAP];
	if (status || !r->step)
		return status;
	tw_results_count(r, TRAWL_SWEEP_VARIANCE, TW_VARIANCE_STEPS);
	tw_configurations_add_gemms(r->step, r->list, r->point_count);
	return tw_results_add(r, tw_variance_table(r->step, a), err);
}

/* Without gnuplot the rest is as good; it is told. */
static void draw(struct trawl_sweep_results *r, bool svg)
{
	const struct trawl_table *table = r->has_steps ? r->steps.tables[TRAWL_STEP_VARIANCE] :
							 NULL;
	struct tw_variance_points points;
	struct trawl_error err;
	struct tw_str directory;

	if (!table || !trawl_table_rows(table))
		return;
	tw_str_init(&directory, trawl_allocator_default());
	tw_sweep_analysis_path(r->sweep, "plots", &directory);
	if (directory.failed)
		tw_no_memory(&err);
	if (directory.failed || tw_results_draw(r, table, "variance", directory.ptr, svg,
						&r->steps.arena, &points, &err)) {
		r->incomplete = true;
		if (r->options.note)
			r->options.note(r->options.note_context, err.message);
	}
	tw_str_release(&directory);
}

/* ---- comparisons and aggregates */

static int write_comparisons(struct trawl_sweep_results *r, struct trawl_error *err)
{
	struct tw_across_threads across = { 0 };
	int status;

	tw_str_init(&across.notes, trawl_allocator_default());
	status = tw_compare_across_threads(r->points, r->sweep, r->options.threads, &across, err);
	tw_results_count(r, TRAWL_SWEEP_COMPARISONS, across.written);
	tw_results_tell(r, &across.notes, true);
	tw_str_release(&across.notes);
	r->incomplete |= across.incomplete;
	return status;
}

/* The tables of a mean: All_Data, which the others are made of, and the collectives. */
static int add_aggregates(struct trawl_sweep_results *r, struct trawl_error *err)
{
	struct trawl_table *tables[TW_TIMELINE_TABLES], *comms = NULL;
	int status = tw_timelines_tables(r->aggregate.timelines, false, tables, err), i;

	if (!status && tables[0]) {
		status = tw_results_add(r, tables[0], err);
		tables[0] = NULL;
	}
	for (i = 0; i < TW_TIMELINE_TABLES; i++)
		trawl_table_free(tables[i]);
	if (!status)
		status = tw_comms_table(r->aggregate.comms, &comms, err);
	return !status && comms ? tw_results_add(r, comms, err) : status;
}

static int write_aggregates(struct trawl_sweep_results *r, struct trawl_error *err)
{
	int status = tw_aggregate_init(&r->aggregate, err);
	size_t i;

	r->has_aggregate = true;
	for (i = 0; i < r->point_count && !status; i++)
		status = tw_aggregate_analysis(&r->aggregate, &r->points[i], err);
	tw_results_tell(r, &r->aggregate.notes, true);
	if (!status)
		status = tw_aggregate_write(&r->aggregate, r->sweep, err);
	tw_results_count(r, TRAWL_SWEEP_AGGREGATES, r->aggregate.files);
	return status ? status : add_aggregates(r, err);
}

int trawl_sweep_results_write(struct trawl_sweep_results *r, unsigned outputs,
			      struct trawl_error *err)
{
	struct trawl_error own;
	int status = 0;

	err = err ? err : &own;
	if (!trawl_sweep_results_find(r, "configurations") || r->has_steps || r->has_aggregate)
		return trawl_error_set(err, TRAWL_EUSAGE,
				       "results of an analysis are written, and once");
	if (outputs & TRAWL_SWEEP_VARIANCE)
		status = write_variance(r, err);
	if (!status && outputs & TRAWL_SWEEP_PICTURES)
		draw(r, outputs & TRAWL_SWEEP_SVG);
	if (!status && outputs & TRAWL_SWEEP_COMPARISONS)
		status = write_comparisons(r, err);
	if (!status && outputs & TRAWL_SWEEP_AGGREGATES)
		status = write_aggregates(r, err);
	return !status && r->step ? add_configurations(r, err) : status;
}

static int aggregate(struct trawl_sweep_results *r, struct trawl_error *err)
{
	struct tw_aggregate *a = &r->aggregate;
	int status = tw_aggregate_init(a, err);
	size_t i;

	r->has_aggregate = true;
	if (status)
		return status;
	for (i = 0; i < r->sweep->count; i++)
		tw_aggregate_point(a, &r->sweep->points[i]);
	tw_results_tell(r, &a->notes, true);
	r->incomplete |= a->incomplete;
	if (!a->reports && !a->collectives)
		return trawl_error_set(err, TRAWL_ENODATA,
				       "%s: no readable report: run 'trawl sweep report'",
				       r->sweep->directory);
	if (!a->collectives && r->options.note && !r->options.quiet)
		r->options.note(r->options.note_context,
				"no collective report with collectives: nccl_master_all_configs "
				"skipped");
	status = tw_aggregate_write(a, r->sweep, err);
	tw_results_count(r, TRAWL_SWEEP_AGGREGATES, a->files);
	return status ? status : add_aggregates(r, err);
}

int trawl_sweep_aggregate(struct trawl_sweep_results **out, const struct trawl_sweep *sweep,
			  struct trawl_error *err)
{
	struct trawl_error own;
	struct trawl_sweep_results *r;

	err = err ? err : &own;
	r = tw_results_new(sweep, NULL, err);
	*out = NULL;
	return r ? tw_results_give(r, aggregate(r, err), out) : TRAWL_ENOMEM;
}
