/* From what was made of traces, and reports, to the three tables of a sweep. */
#include "cli/sweep/sweep_steps.h"

#include "base/alloc.h"
#include "base/list.h"
#include "data/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct cli_sweep_slot {
	bool done, known;
	struct tw_sweep_collectives collectives;
};

/* Something that was left out. */
static void tell(struct cli_sweep_steps *steps, const char *format, ...) TRAWL_PRINTF(2, 3);

static void tell(struct cli_sweep_steps *steps, const char *format, ...)
{
	struct tw_str text;
	va_list args;

	tw_str_init(&text, trawl_allocator_default());
	va_start(args, format);
	tw_str_addv(&text, format, args);
	va_end(args);
	steps->incomplete = true;
	if (!steps->s->common.quiet)
		cli_message("%s", text.failed ? "out of memory" : text.ptr);
	tw_str_release(&text);
}

/* Lines, each behind what they are of. */
static void tell_lines(struct cli_sweep_steps *steps, const char *of, const struct tw_str *lines)
{
	const char *line = lines->ptr, *end;

	for (; line && (end = strchr(line, '\n')); line = end + 1)
		tell(steps, "%s%s%.*s", of, *of ? ": " : "", (int)(end - line), line);
}

void cli_sweep_steps_init(struct cli_sweep_steps *steps, const struct cli_sweep *s,
			  const struct cli_sweep_made *made, size_t made_count)
{
	*steps = (struct cli_sweep_steps){
		.s = s,
		.made = made,
		.made_count = made_count,
		.top_k = CLI_SWEEP_TOP_K,
		.tolerance = TW_LIMIT_SWEEP_TOLERANCE,
	};
	tw_arena_init(&steps->arena, trawl_allocator_default());
}

void cli_sweep_steps_release(struct cli_sweep_steps *steps)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	size_t i;

	for (i = 0; i < steps->book_count; i++)
		tw_book_free(steps->books[i]);
	tw_free(a, steps->books, steps->book_capacity * sizeof(struct tw_book *));
	tw_free(a, steps->slots, steps->slot_count * sizeof(*steps->slots));
	tw_arena_release(&steps->arena);
}

/* ---- ranks of all configurations */

size_t cli_sweep_ranks(const struct tw_sweep *sweep)
{
	size_t i, n = 0;

	for (i = 0; i < sweep->count; i++)
		n += sweep->points[i].rank_count;
	return n;
}

static const struct tw_sweep_point *point_of(const struct tw_sweep *sweep, int64_t threads,
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

size_t cli_sweep_rank_place(const struct tw_sweep *sweep, int64_t threads, int64_t channels,
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
static const struct cli_sweep_made *made_of(const struct cli_sweep_steps *steps, int64_t threads,
					    int64_t channels)
{
	size_t i;

	for (i = 0; i < steps->made_count; i++)
		if (steps->made[i].point->threads == threads &&
		    steps->made[i].point->channels == channels)
			return &steps->made[i];
	return NULL;
}

/* The rank as its trace tells it, NULL: there is none that could be read. */
static const struct tw_rank *traced(const struct cli_sweep_steps *steps, int64_t threads,
				    int64_t channels, int64_t rank)
{
	const struct cli_sweep_made *made = made_of(steps, threads, channels);

	return made ? cli_sweep_job_rank(made, rank) : NULL;
}

/* ---- books; they are kept until the steps are released */

int cli_sweep_keep_book(struct cli_sweep_steps *steps, struct tw_book *book)
{
	if (!tw_list_grow(&steps->books, &steps->book_capacity, steps->book_count,
			  sizeof(struct tw_book *), trawl_allocator_default())) {
		tw_book_free(book);
		return cli_no_memory();
	}
	steps->books[steps->book_count++] = book;
	return CLI_DONE;
}

/*
 * A sheet of a report, NULL without one.  A report that cannot be read is told and left out:
 * CLI_INCOMPLETE.
 */
static int open_sheet(struct cli_sweep_steps *steps, const char *path, const char *name,
		      const struct tw_csv **sheet)
{
	struct trawl_error err;
	struct tw_book *book;

	*sheet = NULL;
	if (!tw_book_open(&book, path, trawl_allocator_default(), &err)) {
		if (cli_sweep_keep_book(steps, book) != CLI_DONE)
			return CLI_FAILED;
		if (!tw_book_sheet(book, name, sheet, &err))
			return CLI_DONE;
	}
	if (err.status == TRAWL_ENOMEM)
		return cli_fail(&err);
	if (strstr(err.message, path))
		tell(steps, "%s", err.message);
	else
		tell(steps, "%s: %s", path, err.message);
	return CLI_INCOMPLETE;
}

/* ---- the first step */

static int sheet_of_table(struct cli_sweep_steps *steps, const struct trawl_table *table,
			  const struct tw_csv **sheet)
{
	struct trawl_error err;
	struct tw_book *book;

	if (tw_book_of_tables(&book, "trace", &table, 1, trawl_allocator_default(), &err))
		return cli_fail(&err);
	if (cli_sweep_keep_book(steps, book) != CLI_DONE)
		return CLI_FAILED;
	return tw_book_sheet(book, trawl_table_name(table), sheet, &err) ? cli_fail(&err) :
									   CLI_DONE;
}

/* A report that was opened last: of what was lost nothing is in its rows. */
static void tell_damage(struct cli_sweep_steps *steps, const char *path)
{
	struct tw_book *book = steps->books[steps->book_count - 1];
	struct trawl_error err;
	bool damaged;

	if (tw_book_is_damaged(book, &damaged, &err) || damaged)
		tell(steps, "%s: parts of its trace are lost; calls in them do not count", path);
}

/*
 * The sheet GEMM of a rank and that of its instances: of its trace, else of its report, where the
 * second may not be there; NULL: it has none.
 */
static int find_gemm(struct cli_sweep_steps *steps, const struct tw_sweep_point *point,
		     const struct tw_sweep_rank *rank, const struct tw_csv **sheet,
		     const struct tw_csv **instances)
{
	const struct cli_sweep_made *made = made_of(steps, point->threads, point->channels);
	const struct trawl_table *table;
	const struct tw_csv *other;
	int status;

	*sheet = *instances = NULL;
	if (traced(steps, point->threads, point->channels, rank->rank)) {
		table = cli_sweep_rank_table(made, rank->rank, "GEMM");
		status = table ? sheet_of_table(steps, table, sheet) : CLI_DONE;
		table = cli_sweep_rank_table(made, rank->rank, "gemm_instances");
		return table && status == CLI_DONE ? sheet_of_table(steps, table, instances) :
						     status;
	}
	if (!rank->report) {
		/* Of a trace that could not be read this was told before. */
		if (!rank->trace || !made)
			tell(steps, "%s: rank %" PRId64 ": neither a report nor a trace",
			     point->name, rank->rank);
		steps->incomplete = true;
		return CLI_DONE;
	}
	status = open_sheet(steps, rank->report, "GEMM", sheet);
	if (status == CLI_DONE)
		tell_damage(steps, rank->report);
	if (status == CLI_DONE && *sheet)
		status = open_sheet(steps, rank->report, "gemm_instances", instances);
	/* Operations need not be there; what every report has must. */
	if (status == CLI_DONE && !*sheet) {
		status = open_sheet(steps, rank->report, "gpu_timeline", &other);
		if (status == CLI_DONE && !other)
			tell(steps, "%s: no report: neither a sheet GEMM nor gpu_timeline is in it",
			     rank->report);
	}
	return status;
}

static int add_rank(struct cli_sweep_steps *steps, struct tw_variance *variance,
		    const struct tw_sweep_point *point, const struct tw_sweep_rank *rank,
		    struct tw_str *told)
{
	const char *of = rank->report ? rank->report : rank->trace ? rank->trace : point->name;
	const struct tw_csv *sheet, *instances;
	struct trawl_error err;
	int status = find_gemm(steps, point, rank, &sheet, &instances);

	if (status != CLI_DONE || !sheet)
		return status == CLI_FAILED ? status : CLI_DONE;
	tw_str_clear(told);
	status = tw_variance_add(variance, point->threads, point->channels, rank->rank, sheet,
				 instances, told, &err);
	if (status == TRAWL_EFORMAT) {
		tell(steps, "%s: %s", of, err.message);
		return CLI_DONE;
	}
	if (!status)
		tell_lines(steps, of, told);
	return status ? cli_fail(&err) : CLI_DONE;
}

int cli_sweep_step_variance(struct cli_sweep_steps *steps)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct tw_sweep *sweep = &steps->s->sweep;
	struct tw_variance *variance = tw_variance_new(steps->top_k, a);
	struct trawl_error err;
	struct tw_str told;
	int status = variance ? CLI_DONE : cli_no_memory();
	size_t i, k;

	tw_str_init(&told, a);
	for (i = 0; i < sweep->count; i++)
		for (k = 0; k < sweep->points[i].rank_count && status == CLI_DONE; k++)
			status = add_rank(steps, variance, &sweep->points[i],
					  &sweep->points[i].ranks[k], &told);
	if (status == CLI_DONE &&
	    tw_variance_finish(variance, &steps->arena, &steps->variance, &err))
		status = cli_fail(&err);
	tw_str_release(&told);
	tw_variance_free(variance);
	return status;
}

/* ---- the second */

static const struct trawl_table *instances_of(void *context, int64_t threads, int64_t channels,
					      int64_t rank, const char *name)
{
	const struct cli_sweep_steps *steps = context;
	const struct cli_sweep_made *made = made_of(steps, threads, channels);

	return made ? cli_sweep_rank_table(made, rank, name) : NULL;
}

int cli_sweep_step_timestamps(struct cli_sweep_steps *steps, const struct tw_csv *in)
{
	struct trawl_error err;
	struct tw_str told;
	size_t nearest;
	int status;

	tw_str_init(&told, trawl_allocator_default());
	status = tw_variance_timestamps(in, instances_of, steps, steps->tolerance, &steps->arena,
					&steps->timestamps, &told, &err);
	if (!status)
		tell_lines(steps, "", &told);
	tw_str_release(&told);
	if (status)
		return cli_fail(&err);
	nearest = tw_variance_matched(&steps->timestamps, "nearest");
	if (nearest && !steps->s->common.quiet)
		cli_message("%zu of %zu rows: no call is within the tolerance of the report's "
			    "times, the nearest stands for it (match_status nearest)",
			    nearest, steps->timestamps.rows);
	return CLI_DONE;
}

/* ---- the third */

/* Those of the collective report of a configuration; a rank that is not in it is not known. */
static void read_collectives(struct cli_sweep_steps *steps, const struct tw_sweep_point *point,
			     int64_t rank, struct cli_sweep_slot *slot)
{
	const struct tw_csv *sheet;
	struct trawl_error err;
	size_t without_times;

	if (!point->collective_report ||
	    open_sheet(steps, point->collective_report, "nccl_long", &sheet) != CLI_DONE || !sheet)
		return;
	if (tw_sweep_collectives_of_sheet(sheet, rank, &steps->arena, &slot->collectives,
					  &without_times, &err)) {
		tell(steps, "%s: %s", point->collective_report, err.message);
		return;
	}
	if (without_times)
		tell(steps, "%s: %zu collectives of rank %" PRId64 " have no times",
		     point->collective_report, without_times, rank);
	slot->known = slot->collectives.count || without_times;
}

static struct tw_sweep_collectives collectives_of(void *context, int64_t threads, int64_t channels,
						  int64_t rank, bool *known)
{
	struct cli_sweep_steps *steps = context;
	const struct tw_sweep *sweep = &steps->s->sweep;
	const struct tw_rank *trace = traced(steps, threads, channels, rank);
	size_t first, place = cli_sweep_rank_place(sweep, threads, channels, rank);
	const struct tw_sweep_point *point = point_of(sweep, threads, channels, &first);
	struct cli_sweep_slot other = { 0 }, *slot;
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

int cli_sweep_step_overlap(struct cli_sweep_steps *steps, const struct tw_csv *in)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_error err;
	struct tw_str told;
	int status;

	steps->slot_count = cli_sweep_ranks(&steps->s->sweep);
	steps->slots = tw_alloc_array(a, steps->slot_count, sizeof(*steps->slots));
	if (!steps->slots) {
		if (steps->slot_count)
			return cli_no_memory();
	}
	tw_str_init(&told, a);
	status = tw_variance_overlap(in, collectives_of, steps, &steps->arena, &steps->overlap,
				     &told, &err);
	if (!status)
		tell_lines(steps, "", &told);
	tw_str_release(&told);
	return status ? cli_fail(&err) : CLI_DONE;
}

/* ---- all of them */

void cli_sweep_step_name(unsigned top_k, const char *suffix, struct tw_str *out)
{
	tw_str_addf(out, "top%u_gemm_kernels_time_variance%s.csv", top_k, suffix);
}

static int write_sheet(const struct cli_sweep_steps *steps, const struct tw_csv *csv,
		       const char *suffix)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_str name, path;
	struct trawl_error err;
	int status = CLI_FAILED;

	tw_str_init(&name, a);
	tw_str_init(&path, a);
	cli_sweep_step_name(steps->top_k, suffix, &name);
	if (!name.failed)
		tw_sweep_analysis_path(&steps->s->sweep, name.ptr, &path);
	if (name.failed || path.failed)
		cli_no_memory();
	else
		status = tw_write_csv_text(csv, path.ptr, a, &err) ? cli_fail(&err) : CLI_DONE;
	tw_str_release(&path);
	tw_str_release(&name);
	return status;
}

int cli_sweep_steps_all(struct cli_sweep_steps *steps)
{
	int status = cli_sweep_step_variance(steps);

	if (status != CLI_DONE)
		return status;
	if (!steps->variance.rows) {
		tell(steps, "no operations with a cost model for GEMM: no variance of them");
		return CLI_DONE;
	}
	status = cli_sweep_step_timestamps(steps, &steps->variance);
	if (status == CLI_DONE)
		status = cli_sweep_step_overlap(steps, &steps->timestamps);
	if (status == CLI_DONE)
		status = write_sheet(steps, &steps->variance, "");
	if (status == CLI_DONE)
		status = write_sheet(steps, &steps->timestamps, CLI_SWEEP_WITH_TIMESTAMPS);
	if (status == CLI_DONE)
		status = write_sheet(steps, &steps->overlap, CLI_SWEEP_WITH_OVERLAP);
	return status;
}
