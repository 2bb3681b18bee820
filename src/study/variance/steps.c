#include "study/variance/steps.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "base/list.h"
#include "data/limits.h"
#include "job/tables/all_tables.h"
#include "render/render.h"

#include <inttypes.h>
#include <string.h>

const char *const tw_variance_step_suffixes[TW_VARIANCE_STEPS] = {
	[TRAWL_STEP_VARIANCE] = "",
	[TRAWL_STEP_TIMESTAMPS] = "_with_timestamps",
	[TRAWL_STEP_OVERLAP] = "_with_collective_overlap",
};

struct tw_collectives_slot {
	bool done, known;
	struct tw_sweep_collectives collectives;
};

/* Lines, each behind what they are of: something that was left out. */
static void note_lines(struct tw_variance_steps *steps, const char *of, const struct tw_str *lines)
{
	const char *line = lines->ptr, *end;

	for (; line && (end = strchr(line, '\n')); line = end + 1) {
		tw_str_note(&steps->notes, "%s%s%.*s", of, *of ? ": " : "", (int)(end - line),
			    line);
		steps->incomplete = true;
	}
}

void tw_variance_steps_init(struct tw_variance_steps *steps, const struct trawl_sweep *sweep,
			    const struct tw_point_analysis *points, size_t point_count)
{
	*steps = (struct tw_variance_steps){
		.sweep = sweep,
		.points = points,
		.point_count = point_count,
		.top_k = TW_VARIANCE_TOP_K,
		.tolerance = TW_LIMIT_SWEEP_TOLERANCE,
	};
	tw_arena_init(&steps->arena, trawl_allocator_default());
	tw_str_init(&steps->notes, trawl_allocator_default());
}

void tw_variance_steps_release(struct tw_variance_steps *steps)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	size_t i;

	for (i = 0; i < TW_VARIANCE_STEPS; i++)
		trawl_table_free(steps->tables[i]);
	trawl_table_free(steps->input);
	for (i = 0; i < steps->book_count; i++)
		tw_book_free(steps->books[i]);
	tw_free(a, steps->books, steps->book_capacity * sizeof(struct tw_book *));
	tw_free(a, steps->slots, steps->slot_count * sizeof(*steps->slots));
	tw_str_release(&steps->notes);
	tw_arena_release(&steps->arena);
}

/* ---- ranks of all configurations */

size_t tw_sweep_rank_count(const struct trawl_sweep *sweep)
{
	size_t i, n = 0;

	for (i = 0; i < sweep->count; i++)
		n += sweep->points[i].rank_count;
	return n;
}

static const struct tw_sweep_point *point_of(const struct trawl_sweep *sweep, int64_t threads,
					     int64_t channels, size_t *first)
{
	size_t i;

	for (i = *first = 0; i < sweep->count; i++) {
		const struct tw_sweep_point *point = &sweep->points[i];

		if (point->threads == threads && point->channels == channels)
			return point;
		*first += point->rank_count;
	}
	return NULL;
}

static size_t rank_place(const struct trawl_sweep *sweep, int64_t threads, int64_t channels,
			 int64_t rank)
{
	size_t first, i;
	const struct tw_sweep_point *point = point_of(sweep, threads, channels, &first);

	for (i = 0; point && i < point->rank_count; i++)
		if (point->ranks[i].rank == rank)
			return first + i;
	return SIZE_MAX;
}

/* What was made of the traces of a configuration, NULL: nothing. */
static const struct tw_point_analysis *analysis_of(const struct tw_variance_steps *steps,
						   int64_t threads, int64_t channels)
{
	size_t i;

	for (i = 0; i < steps->point_count; i++)
		if (steps->points[i].point->threads == threads &&
		    steps->points[i].point->channels == channels)
			return &steps->points[i];
	return NULL;
}

/* The rank as its trace tells it, NULL: there is none that could be read. */
static const struct tw_rank *traced(const struct tw_variance_steps *steps, int64_t threads,
				    int64_t channels, int64_t rank)
{
	const struct tw_point_analysis *point = analysis_of(steps, threads, channels);

	return point ? tw_point_job_rank(point, rank) : NULL;
}

/* ---- books; they are kept until the steps are released */

static int keep_book(struct tw_variance_steps *steps, struct tw_book *book, struct trawl_error *err)
{
	if (!tw_list_grow(&steps->books, &steps->book_capacity, steps->book_count,
			  sizeof(struct tw_book *), trawl_allocator_default())) {
		tw_book_free(book);
		return tw_no_memory(err);
	}
	steps->books[steps->book_count++] = book;
	return 0;
}

/* A table of a report, NULL without one or where it cannot be read, which is noted. */
static int open_table(struct tw_variance_steps *steps, const char *path,
		      const struct tw_table_spec *spec, const struct trawl_table **table,
		      bool *readable, struct trawl_error *err)
{
	struct tw_book *book;

	*table = NULL;
	*readable = true;
	if (!tw_book_open(&book, path, trawl_allocator_default(), err)) {
		if (keep_book(steps, book, err))
			return TRAWL_ENOMEM;
		if (!tw_book_table(book, spec, table, err))
			return 0;
	}
	if (err->status == TRAWL_ENOMEM)
		return TRAWL_ENOMEM;
	*readable = false;
	steps->incomplete = true;
	if (strstr(err->message, path))
		tw_str_note(&steps->notes, "%s", err->message);
	else
		tw_str_note(&steps->notes, "%s: %s", path, err->message);
	return 0;
}

/* ---- the first step */

/* As it would read back. */
static int safe_table(struct tw_variance_steps *steps, const struct trawl_table **table,
		      struct trawl_error *err)
{
	struct tw_book *book;
	int status = tw_book_of_tables(&book, "trace", table, 1, trawl_allocator_default(), err);

	if (!status)
		status = keep_book(steps, book, err);
	return status ? status : tw_book_table(book, tw_table_spec(*table), table, err);
}

/* A report that was opened last: of what was lost nothing is in its rows. */
static void note_damage(struct tw_variance_steps *steps, const char *path)
{
	struct tw_book *book = steps->books[steps->book_count - 1];
	bool damaged;

	if (!tw_book_is_damaged(book, &damaged, NULL) && !damaged)
		return;
	steps->incomplete = true;
	tw_str_note(&steps->notes, "%s: damaged trace: missing calls not counted", path);
}

/* The table GEMM of a rank and that of its instances: NULL where it has none. */
struct gemm_tables {
	const struct trawl_table *gemm, *instances;
};

static int gemm_of_trace(struct tw_variance_steps *steps, const struct tw_point_analysis *point,
			 int64_t rank, struct gemm_tables *tables, struct trawl_error *err)
{
	tables->gemm = tw_point_rank_table(point, rank, tw_analysis_sheet_GEMM.table.name);
	tables->instances = tw_point_rank_table(point, rank, tw_analysis_gemm_instances.table.name);
	return tables->gemm ? safe_table(steps, &tables->gemm, err) : 0;
}

/* The instances may not be there. */
static int gemm_of_report(struct tw_variance_steps *steps, const char *report,
			  struct gemm_tables *tables, struct trawl_error *err)
{
	const struct trawl_table *other;
	bool readable;
	int status = open_table(steps, report, &tw_analysis_sheet_GEMM.table, &tables->gemm,
				&readable, err);

	if (status || !readable)
		return status;
	note_damage(steps, report);
	if (tables->gemm) {
		status = open_table(steps, report, &tw_analysis_gemm_instances.table,
				    &tables->instances, &readable, err);
		if (!readable)
			tables->gemm = NULL;
		return status;
	}
	/* Operations need not be there; what every report has must. */
	status = open_table(steps, report, &tw_analysis_gpu_timeline.table, &other, &readable, err);
	if (status || !readable || other)
		return status;
	steps->incomplete = true;
	tw_str_note(&steps->notes, "%s: not a report: no sheet GEMM or gpu_timeline", report);
	return 0;
}

/* Of its trace, else of its report. */
static int find_gemm(struct tw_variance_steps *steps, const struct tw_sweep_point *point,
		     const struct tw_sweep_rank *rank, struct gemm_tables *tables,
		     struct trawl_error *err)
{
	const struct tw_point_analysis *analysis =
		analysis_of(steps, point->threads, point->channels);

	*tables = (struct gemm_tables){ 0 };
	if (traced(steps, point->threads, point->channels, rank->rank))
		return gemm_of_trace(steps, analysis, rank->rank, tables, err);
	if (rank->report)
		return gemm_of_report(steps, rank->report, tables, err);
	/* Of a trace that could not be read this was told before. */
	if (!rank->trace || !analysis)
		tw_str_note(&steps->notes, "%s: rank %" PRId64 ": no report and no trace",
			    point->name, rank->rank);
	steps->incomplete = true;
	return 0;
}

static int add_rank(struct tw_variance_steps *steps, struct tw_variance *variance,
		    const struct tw_sweep_point *point, const struct tw_sweep_rank *rank,
		    struct tw_str *told, struct trawl_error *err)
{
	const char *of = rank->report ? rank->report : rank->trace ? rank->trace : point->name;
	struct gemm_tables tables;
	int status = find_gemm(steps, point, rank, &tables, err);

	if (status || !tables.gemm)
		return status;
	tw_str_clear(told);
	status = tw_variance_add(variance, point->threads, point->channels, rank->rank, tables.gemm,
				 tables.instances, told, err);
	if (status == TRAWL_EFORMAT) {
		steps->incomplete = true;
		tw_str_note(&steps->notes, "%s: %s", of, err->message);
		return 0;
	}
	if (!status)
		note_lines(steps, of, told);
	return status;
}

static int find_variance(struct tw_variance_steps *steps, struct tw_str *told,
			 struct trawl_error *err)
{
	const struct trawl_sweep *sweep = steps->sweep;
	struct tw_variance *variance = tw_variance_new(steps->top_k, trawl_allocator_default());
	int status = variance ? 0 : tw_no_memory(err);
	size_t i, k;

	for (i = 0; i < sweep->count; i++)
		for (k = 0; k < sweep->points[i].rank_count && !status; k++)
			status = add_rank(steps, variance, &sweep->points[i],
					  &sweep->points[i].ranks[k], told, err);
	if (!status)
		status = tw_variance_finish(variance, &steps->tables[TRAWL_STEP_VARIANCE], err);
	tw_variance_free(variance);
	return status;
}

/* ---- the second */

static const struct trawl_table *instances_of(void *context, int64_t threads, int64_t channels,
					      int64_t rank, const char *name)
{
	const struct tw_variance_steps *steps = context;
	const struct tw_point_analysis *point = analysis_of(steps, threads, channels);

	return point ? tw_point_rank_table(point, rank, name) : NULL;
}

static int find_timestamps(struct tw_variance_steps *steps, const struct trawl_table *in,
			   struct tw_str *told, struct trawl_error *err)
{
	struct trawl_table **out = &steps->tables[TRAWL_STEP_TIMESTAMPS];
	int status = tw_variance_timestamps(in, instances_of, steps, steps->tolerance,
					    trawl_allocator_default(), out, told, err);
	size_t nearest;

	if (status)
		return status;
	note_lines(steps, "", told);
	nearest = tw_variance_matched(*out, "nearest");
	if (nearest)
		tw_str_note(&steps->notes,
			    "%zu of %zu rows: no call within the tolerance of the report's "
			    "times: using the nearest (match_status nearest)",
			    nearest, trawl_table_rows(*out));
	return 0;
}

/* ---- the third */

/* Those of the collective report of a configuration; a rank that is not in it is not known. */
static void read_collectives(struct tw_variance_steps *steps, const struct tw_sweep_point *point,
			     int64_t rank, struct tw_collectives_slot *slot)
{
	const char *report = point->collective_report;
	const struct trawl_table *table;
	struct trawl_error err;
	size_t without_times;
	bool readable;

	if (!report ||
	    open_table(steps, report, &tw_ranks_table_nccl_long.table, &table, &readable, &err) ||
	    !table)
		return;
	if (tw_sweep_collectives_of_table(table, rank, &steps->arena, &slot->collectives,
					  &without_times, &err)) {
		tw_str_note(&steps->notes, "%s: %s", report, err.message);
		steps->incomplete = true;
		return;
	}
	if (without_times) {
		tw_str_note(&steps->notes, "%s: %zu collectives of rank %" PRId64 " have no times",
			    report, without_times, rank);
		steps->incomplete = true;
	}
	slot->known = slot->collectives.count || without_times;
}

static struct tw_sweep_collectives collectives_of(void *context, int64_t threads, int64_t channels,
						  int64_t rank, bool *known)
{
	struct tw_variance_steps *steps = context;
	const struct trawl_sweep *sweep = steps->sweep;
	const struct tw_rank *trace = traced(steps, threads, channels, rank);
	size_t first, place = rank_place(sweep, threads, channels, rank);
	const struct tw_sweep_point *point = point_of(sweep, threads, channels, &first);
	struct tw_collectives_slot other = { 0 }, *slot;
	struct trawl_error err;

	slot = place < steps->slot_count ? &steps->slots[place] : &other;
	if (!slot->done && trace)
		slot->known = !tw_sweep_collectives_of_rank(trace, &steps->arena,
							    &slot->collectives, &err);
	else if (!slot->done && point)
		read_collectives(steps, point, rank, slot);
	slot->done = true;
	*known = slot->known;
	return slot->collectives;
}

static int find_overlap(struct tw_variance_steps *steps, const struct trawl_table *in,
			struct tw_str *told, struct trawl_error *err)
{
	int status;

	steps->slot_count = tw_sweep_rank_count(steps->sweep);
	steps->slots =
		tw_alloc_array(trawl_allocator_default(), steps->slot_count, sizeof(*steps->slots));
	if (!steps->slots && steps->slot_count)
		return tw_no_memory(err);
	status = tw_variance_overlap(in, collectives_of, steps, trawl_allocator_default(),
				     &steps->tables[TRAWL_STEP_OVERLAP], told, err);
	if (!status)
		note_lines(steps, "", told);
	return status;
}

/* ---- all of them */

int tw_variance_step(struct tw_variance_steps *steps, enum trawl_variance_step step,
		     const struct trawl_table *in, struct trawl_error *err)
{
	struct tw_str told;
	int status;

	tw_str_init(&told, trawl_allocator_default());
	if (step == TRAWL_STEP_VARIANCE)
		status = find_variance(steps, &told, err);
	else if (step == TRAWL_STEP_TIMESTAMPS)
		status = find_timestamps(steps, in, &told, err);
	else
		status = find_overlap(steps, in, &told, err);
	tw_str_release(&told);
	return status;
}

void tw_variance_step_name(unsigned top_k, enum trawl_variance_step step, struct tw_str *out)
{
	tw_str_addf(out, "top%u_gemm_kernels_time_variance%s.csv", top_k,
		    tw_variance_step_suffixes[step]);
}

static int write_step(const struct tw_variance_steps *steps, enum trawl_variance_step step,
		      struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_str name, path;
	int status;

	tw_str_init(&name, a);
	tw_str_init(&path, a);
	tw_variance_step_name(steps->top_k, step, &name);
	if (!name.failed)
		tw_sweep_analysis_path(steps->sweep, name.ptr, &path);
	status = name.failed || path.failed ?
			 tw_no_memory(err) :
			 tw_write_csv_exact(steps->tables[step], path.ptr, a, err);
	tw_str_release(&path);
	tw_str_release(&name);
	return status;
}

int tw_variance_steps_all(struct tw_variance_steps *steps, struct trawl_error *err)
{
	int step, status = tw_variance_step(steps, TRAWL_STEP_VARIANCE, NULL, err);

	if (!status && !trawl_table_rows(steps->tables[TRAWL_STEP_VARIANCE])) {
		steps->incomplete = true;
		tw_str_note(&steps->notes, "no operators with a GEMM cost model: no variance");
		return 0;
	}
	for (step = TRAWL_STEP_TIMESTAMPS; step < TW_VARIANCE_STEPS && !status; step++)
		status = tw_variance_step(steps, (enum trawl_variance_step)step,
					  steps->tables[step - 1], err);
	for (step = 0; step < TW_VARIANCE_STEPS && !status; step++)
		status = write_step(steps, (enum trawl_variance_step)step, err);
	return status;
}

void tw_configurations_add_gemms(const struct trawl_table *overlap, struct tw_configuration *list,
				 size_t count)
{
	int64_t threads, channels, rank;
	size_t row, i;

	for (i = 0; i < count; i++) {
		struct tw_configuration *c = &list[i];
		double sum = 0;

		for (row = 0; row < trawl_table_rows(overlap); row++) {
			if (!tw_variance_point(overlap, row, &threads, &channels, &rank) ||
			    threads != c->threads || channels != c->channels)
				continue;
			c->gemm_rows++;
			sum += tw_variance_number(overlap, row, TW_VARIANCE_DIFF);
			c->gemm_blocked += tw_variance_is_blocked(overlap, row);
		}
		if (c->gemm_rows)
			c->gemm_difference_us = sum / (double)c->gemm_rows;
	}
}

/* ---- the file of a step read back */

/* Whether a row is of the configurations and ranks asked for. */
static bool is_wanted(const struct trawl_sweep_filter *f, const struct trawl_table *table,
		      size_t row)
{
	int64_t threads, channels, rank;

	return !tw_variance_point(table, row, &threads, &channels, &rank) ||
	       (tw_sweep_is_wanted(f->threads, f->thread_count, threads) &&
		tw_sweep_is_wanted(f->channels, f->channel_count, channels) &&
		tw_sweep_is_wanted(f->ranks, f->rank_count, rank));
}

int tw_variance_steps_read(struct tw_variance_steps *steps, const char *path,
			   const struct trawl_sweep_filter *filter, struct trawl_error *err)
{
	struct tw_table_spec spec = { .columns = tw_variance_columns,
				      .column_count = TW_VARIANCE_COLUMNS };
	const struct trawl_table *all;
	struct tw_book *book;
	size_t row, i;

	if (tw_book_open(&book, path, trawl_allocator_default(), err) ||
	    keep_book(steps, book, err))
		return err->status;
	if (!tw_book_sheets(book))
		return trawl_error_set(err, TRAWL_ENODATA, "%s: empty", path);
	spec.name = tw_book_sheet_name(book, 0);
	if (tw_book_table(book, &spec, &all, err))
		return err->status;
	steps->input = tw_table_new(tw_table_spec(all), trawl_allocator_default());
	for (row = 0; steps->input && row < trawl_table_rows(all); row++) {
		size_t to;

		if (!is_wanted(filter, all, row))
			continue;
		to = tw_table_add_row(steps->input);
		for (i = 0; i < trawl_table_columns(all); i++)
			tw_table_copy_cell(steps->input, to, i, all, row, i);
	}
	return steps->input ? tw_table_finish(steps->input, err) : tw_no_memory(err);
}

/* ---- which ranks' traces are read */

static int new_ranks(struct tw_variance_steps *steps, bool **wanted, struct trawl_error *err)
{
	size_t count = tw_sweep_rank_count(steps->sweep) + 1;

	*wanted = tw_arena_alloc(&steps->arena, count * sizeof(**wanted));
	if (!*wanted)
		return tw_no_memory(err);
	memset(*wanted, 0, count * sizeof(**wanted));
	return 0;
}

int tw_variance_ranks_of_rows(struct tw_variance_steps *steps, const struct trawl_table *in,
			      bool **wanted, struct trawl_error *err)
{
	size_t row, place;

	if (new_ranks(steps, wanted, err))
		return TRAWL_ENOMEM;
	for (row = 0; row < trawl_table_rows(in); row++) {
		int64_t threads, channels, rank;

		if (!tw_variance_point(in, row, &threads, &channels, &rank))
			continue;
		place = rank_place(steps->sweep, threads, channels, rank);
		if (place != SIZE_MAX)
			(*wanted)[place] = true;
	}
	return 0;
}

/* Whether a report has the sheet; what is wrong with it is told when it is used. */
static bool has_gemm_sheet(const char *path)
{
	const struct trawl_table *table = NULL;
	struct tw_book *book;
	bool has;

	if (tw_book_open(&book, path, trawl_allocator_default(), NULL))
		return false;
	has = !tw_book_table(book, &tw_analysis_sheet_GEMM.table, &table, NULL) && table;
	tw_book_free(book);
	return has;
}

int tw_variance_ranks_without_report(struct tw_variance_steps *steps, bool **wanted,
				     struct trawl_error *err)
{
	const struct trawl_sweep *sweep = steps->sweep;
	size_t i, k, n = 0;

	if (new_ranks(steps, wanted, err))
		return TRAWL_ENOMEM;
	for (i = 0; i < sweep->count; i++)
		for (k = 0; k < sweep->points[i].rank_count; k++, n++) {
			const struct tw_sweep_rank *rank = &sweep->points[i].ranks[k];

			(*wanted)[n] = rank->trace &&
				       (!rank->report || !has_gemm_sheet(rank->report));
		}
	return 0;
}

int tw_sweep_of_ranks(const struct trawl_sweep *all, const bool *wanted, struct tw_arena *arena,
		      struct trawl_sweep *part, struct trawl_error *err)
{
	size_t i, k;

	*part = *all;
	part->incomplete = false;
	part->count = 0;
	part->points = tw_arena_alloc(arena, (all->count + 1) * sizeof(*part->points));
	if (!part->points)
		return tw_no_memory(err);
	for (i = 0; i < all->count; i++) {
		const struct tw_sweep_point *point = &all->points[i];
		struct tw_sweep_point *to = &part->points[part->count];

		*to = *point;
		to->rank_count = 0;
		to->ranks = tw_arena_alloc(arena, (point->rank_count + 1) * sizeof(*to->ranks));
		if (!to->ranks)
			return tw_no_memory(err);
		for (k = 0; k < point->rank_count; k++)
			if (wanted[k] && point->ranks[k].trace)
				to->ranks[to->rank_count++] = point->ranks[k];
		wanted += point->rank_count;
		part->count += to->rank_count > 0;
	}
	return 0;
}
