/* Reading the sides of a comparison: reports where they are, else traces. */
#include "cli/compare/compare.h"

#include "base/alloc.h"
#include "base/list.h"
#include "job/set/rank_list.h"
#include "job/tables/all_tables.h"
#include "job/tables/tables.h"
#include "os/file.h"
#include "os/thread.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYNC_SHEET "nccl_summary_implicit_sync"

/* What comes out of a report of a rank; collectives over ranks are apart. */
static const enum tw_compared_kind of_rank[] = { TW_TIMELINE_PART, TW_OPERATION, TW_KERNEL,
						 TW_COLLECTIVE_RANK };
#define OF_RANK (sizeof(of_rank) / sizeof(of_rank[0]))

/* ---- notes */

/* Something that is there cannot be read: told, and left out. */
static int leave_out(struct cli_side *side, const struct cli_comparing *c,
		     const struct trawl_error *err)
{
	if (err->status == TRAWL_ENOMEM)
		return cli_fail(err);
	if (c->common.strict) {
		cli_message("not accepted with --strict: %s", err->message);
		return CLI_FAILED;
	}
	cli_message("left out: %s", err->message);
	side->incomplete = true;
	return -1;
}

static void note_rank(struct cli_side *side, int64_t rank)
{
	size_t i = side->rank_count;

	while (i && side->ranks[i - 1] > rank)
		i--;
	if (rank < 0 || (i && side->ranks[i - 1] == rank))
		return;
	if (!tw_list_grow(&side->ranks, &side->rank_capacity, side->rank_count,
			  sizeof(*side->ranks), trawl_allocator_default()))
		return;
	memmove(&side->ranks[i + 1], &side->ranks[i],
		(side->rank_count - i) * sizeof(*side->ranks));
	side->ranks[i] = rank;
	side->rank_count++;
}

static bool rank_wanted(const struct cli_comparing *c, int64_t rank)
{
	return tw_sweep_is_wanted(c->filter.ranks, c->filter.rank_count, rank);
}

/* ---- sheets of a book into samples */

/* -1 to go on; a damaged sheet is left out. */
static int add_sheet(struct cli_side *side, struct cli_comparing *c, struct tw_book *book,
		     const struct tw_sample_place *place, enum tw_compared_kind kind)
{
	const struct tw_csv *sheet;
	struct trawl_error err;
	struct tw_str lacks;
	bool added;

	if (tw_book_sheet(book, tw_compared_sheet_names[kind], &sheet, &err))
		return leave_out(side, c, &err);
	if (!sheet)
		return -1;
	tw_str_init(&lacks, trawl_allocator_default());
	added = tw_samples_add_sheet(&c->samples, place, kind, sheet, &lacks);
	side->having[kind] += added;
	/* A sheet without anything in it is a report with nothing to say. */
	if (!added && sheet->columns) {
		cli_message("left out: %s: %s", tw_book_name(book), lacks.ptr ? lacks.ptr : "");
		side->incomplete = true;
	}
	tw_str_release(&lacks);
	return -1;
}

/* A report over ranks has the timeline of each, which says more than its sums. */
static bool add_rank_timeline(struct cli_side *side, struct cli_comparing *c, struct tw_book *book,
			      const struct tw_sample_place *place)
{
	const struct tw_csv *sheet;
	struct trawl_error err;
	size_t row;

	if (tw_book_sheet(book, "rank_timeline", &sheet, &err) || !sheet ||
	    !tw_samples_add_rank_timeline(&c->samples, place, sheet))
		return false;
	side->having[TW_TIMELINE_PART]++;
	for (row = 0; row < sheet->rows; row++)
		note_rank(side,
			  tw_compared_ns(tw_csv_number(sheet, row, tw_csv_column(sheet, "rank")),
					 1));
	return true;
}

static void note_damage(struct cli_side *side, struct cli_comparing *c,
			const struct tw_sample_place *place)
{
	tw_samples_note_damage(&c->samples, place);
	side->incomplete = true;
}

/* Of a report over ranks the sheet of that name says which; how many. */
static size_t note_damaged_ranks(struct cli_side *side, struct cli_comparing *c,
				 struct tw_book *book, const struct tw_sample_place *place)
{
	const struct tw_csv *ranks;
	struct tw_sample_place at = *place;
	size_t n = 0, row;

	if (tw_book_sheet(book, "ranks", &ranks, NULL) || !ranks)
		return 0;
	for (row = 0; row < ranks->rows; row++) {
		if (strcmp(tw_csv_text(ranks, row, tw_csv_column(ranks, "state")), "damaged") != 0)
			continue;
		at.rank =
			tw_compared_ns(tw_csv_number(ranks, row, tw_csv_column(ranks, "rank")), 1);
		note_damage(side, c, &at);
		n++;
	}
	return n;
}

/* What a report itself says of the trace that it is of. */
static int check_damage(struct cli_side *side, struct cli_comparing *c, struct tw_book *book,
			const struct tw_sample_place *place)
{
	struct trawl_error err;
	bool damaged;

	if (tw_book_is_damaged(book, &damaged, &err))
		return leave_out(side, c, &err);
	if (damaged && !note_damaged_ranks(side, c, book, place))
		note_damage(side, c, place);
	return -1;
}

static int add_book(struct cli_side *side, struct cli_comparing *c, struct tw_book *book,
		    const struct tw_sample_place *place)
{
	int status = check_damage(side, c, book, place);
	size_t i;

	side->reports++;
	note_rank(side, place->rank);
	for (i = 0; i < OF_RANK && status < 0; i++)
		if (of_rank[i] != TW_TIMELINE_PART || !add_rank_timeline(side, c, book, place))
			status = add_sheet(side, c, book, place, of_rank[i]);
	return status;
}

static int add_collectives(struct cli_side *side, struct cli_comparing *c, struct tw_book *book,
			   const struct tw_sample_place *place)
{
	struct tw_sample_place at = *place;

	at.rank = TW_NO_RANK;
	return add_sheet(side, c, book, &at, TW_COLLECTIVE_SYNC);
}

/* Opens the report of collectives and keeps the last, for the workbook. */
static int add_collective_report(struct cli_side *side, struct cli_comparing *c, const char *path,
				 const struct tw_sample_place *place)
{
	struct trawl_error err;
	struct tw_book *book;

	if (tw_book_open(&book, path, trawl_allocator_default(), &err))
		return leave_out(side, c, &err);
	tw_book_free(side->collectives);
	side->collectives = book;
	side->collective_reports++;
	return add_collectives(side, c, book, place);
}

/* ---- traces */

static const char *const trace_tables[] = { "gpu_timeline", "ops_summary", "kernel_summary",
					    "coll_analysis" };
#define TRACE_TABLES (sizeof(trace_tables) / sizeof(trace_tables[0]))

static int load_traces(struct cli_side *side, const struct cli_comparing *c,
		       const char *const *arguments, size_t count)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct cli_ranks ranks = c->ranks;
	const char **names = tw_alloc_array(a, tw_analysis_count, sizeof(*names));
	size_t i;
	int status;

	if (!names)
		return cli_no_memory();
	for (i = 0; i < tw_analysis_count; i++)
		names[i] = tw_analyses[i]->table.name;
	/* Of one trace alone the workbook has all tables; of many they would fill the memory. */
	ranks.tables = c->for_workbook && side->lone ? names : trace_tables;
	ranks.table_count = c->for_workbook && side->lone ? tw_analysis_count : TRACE_TABLES;
	ranks.chosen |= side->lone;
	status = cli_load_job(&side->job, &ranks, arguments, count);
	tw_free(a, names, tw_analysis_count * sizeof(*names));
	return status;
}

static int make_job_tables(struct cli_side *side)
{
	static const struct tw_ranks_table *const wanted[] = {
		&tw_ranks_table_nccl_summary_implicit_sync,
		&tw_ranks_table_nccl_summary_long,
	};
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct tw_ranks_input in = { &side->job, &side->matches, &side->clocks, a };
	size_t i;

	if (tw_matches_build(&side->matches, &side->job, a) ||
	    tw_clocks_measure(&side->clocks, &side->job, &side->matches, TW_ALIGN_AUTO, a))
		return TRAWL_ENOMEM;
	for (i = 0; i < 2; i++) {
		struct trawl_table *table;

		if (tw_ranks_table_make(&in, wanted[i], &table))
			return TRAWL_ENOMEM;
		if (table)
			side->job_tables[side->job_table_count++] = table;
	}
	return 0;
}

/* Whether a part was asked for: then how many steps the whole has does not matter. */
static bool is_part(const struct trawl_report_options *options)
{
	return options->step_first >= 0 || options->range || options->start_ns != TRAWL_TIME_NONE ||
	       options->end_ns != TRAWL_TIME_NONE;
}

static int add_rank(struct cli_side *side, struct cli_comparing *c, const struct tw_rank *rank,
		    const struct tw_sample_place *place)
{
	struct tw_sample_place at = *place;
	struct trawl_error err;
	struct tw_book *book;
	int status;

	at.rank = rank->rank;
	if (!rank_wanted(c, rank->rank))
		return -1;
	if (tw_book_of_tables(&book, "trace", (const struct trawl_table *const *)rank->tables,
			      rank->table_count, trawl_allocator_default(), &err))
		return cli_fail(&err);
	side->traces++;
	if (rank->state == TW_RANK_DAMAGED)
		note_damage(side, c, &at);
	if (!is_part(c->ranks.report))
		tw_samples_note_steps(&c->samples, &at, rank->first_step, rank->last_step);
	status = add_book(side, c, book, &at);
	/* That of the only rank is what its side is in the workbook. */
	if (side->job.count == 1 && side->lone)
		side->book = book;
	else
		tw_book_free(book);
	return status;
}

static int add_job(struct cli_side *side, struct cli_comparing *c,
		   const struct tw_sample_place *place)
{
	struct trawl_error err;
	int status = -1;
	size_t i;

	if (make_job_tables(side))
		return cli_no_memory();
	for (i = 0; i < side->job.count && status < 0; i++)
		status = add_rank(side, c, &side->job.ranks[i], place);
	if (status >= 0 || !side->job_table_count)
		return status;
	tw_book_free(side->collectives);
	side->collectives = NULL;
	if (tw_book_of_tables(&side->collectives, "traces",
			      (const struct trawl_table *const *)side->job_tables,
			      side->job_table_count, trawl_allocator_default(), &err))
		return cli_fail(&err);
	side->collective_reports++;
	return add_collectives(side, c, side->collectives, place);
}

/* Of the points of a sweep one after the other: only the last is kept. */
static void release_job(struct cli_side *side)
{
	if (!side->loaded)
		return;
	tw_book_free(side->collectives);
	side->collectives = NULL;
	while (side->job_table_count)
		tw_table_free(side->job_tables[--side->job_table_count]);
	tw_clocks_release(&side->clocks);
	tw_matches_release(&side->matches);
	tw_job_release(&side->job);
	side->loaded = false;
}

static int read_traces(struct cli_side *side, struct cli_comparing *c, const char *const *arguments,
		       size_t count, const struct tw_sample_place *place)
{
	int status;

	release_job(side);
	status = load_traces(side, c, arguments, count);
	if (status != CLI_DONE && status != CLI_INCOMPLETE)
		return status;
	side->loaded = true;
	side->incomplete |= status == CLI_INCOMPLETE;
	memset(&side->matches, 0, sizeof(side->matches));
	memset(&side->clocks, 0, sizeof(side->clocks));
	return add_job(side, c, place);
}

/* ---- reports */

/* Several at the same time; they go into the samples one after the other. */
struct batch {
	const char *paths[32];
	int64_t ranks[32];
	struct tw_book *books[32];
	struct trawl_error errors[32];
	int status[32];
	size_t count;
};

static void open_one(void *context, size_t i)
{
	struct batch *b = context;
	const struct tw_csv *sheet;
	size_t k;

	b->status[i] =
		tw_book_open(&b->books[i], b->paths[i], trawl_allocator_default(), &b->errors[i]);
	/* A sheet is read when it is asked for: here, and not by the one who adds them all. */
	for (k = 0; k < OF_RANK && !b->status[i]; k++)
		if (tw_book_sheet(b->books[i], tw_compared_sheet_names[of_rank[k]], &sheet, NULL))
			continue;
}

static int read_batch(struct cli_side *side, struct cli_comparing *c, struct batch *b,
		      const struct tw_sample_place *place)
{
	unsigned threads = c->common.threads ? c->common.threads : tw_thread_count();
	struct tw_sample_place at = *place;
	int status = -1;
	size_t i;

	tw_parallel(threads, b->count, open_one, b);
	for (i = 0; i < b->count; i++) {
		at.rank = b->ranks[i];
		if (b->status[i]) {
			if (status < 0)
				status = leave_out(side, c, &b->errors[i]);
			continue;
		}
		if (status < 0)
			status = add_book(side, c, b->books[i], &at);
		tw_book_free(b->books[i]);
	}
	b->count = 0;
	return status;
}

static int add_to_batch(struct cli_side *side, struct cli_comparing *c, struct batch *b,
			const char *path, int64_t rank, const struct tw_sample_place *place)
{
	b->paths[b->count] = path;
	b->ranks[b->count++] = rank;
	return b->count == sizeof(b->paths) / sizeof(b->paths[0]) ? read_batch(side, c, b, place) :
								    -1;
}

/* A run that was done again: its reports are of the one before. */
static bool is_stale(const struct tw_sweep_rank *rank)
{
	struct stat trace, report;

	return rank->trace && !stat(rank->trace, &trace) && !stat(rank->report, &report) &&
	       trace.st_mtime > report.st_mtime;
}

static int read_point_reports(struct cli_side *side, struct cli_comparing *c,
			      const struct tw_sweep_point *point,
			      const struct tw_sample_place *place)
{
	struct batch batch = { .count = 0 };
	int status = -1;
	size_t i;

	for (i = 0; i < point->rank_count && status < 0; i++) {
		if (!point->ranks[i].report)
			continue;
		side->stale += is_stale(&point->ranks[i]);
		status = add_to_batch(side, c, &batch, point->ranks[i].report, point->ranks[i].rank,
				      place);
	}
	if (status < 0)
		status = read_batch(side, c, &batch, place);
	if (status < 0 && point->collective_report)
		status = add_collective_report(side, c, point->collective_report, place);
	return status;
}

static int read_point_traces(struct cli_side *side, struct cli_comparing *c,
			     const struct tw_sweep_point *point,
			     const struct tw_sample_place *place)
{
	const char **paths = calloc(point->rank_count + 1, sizeof(*paths));
	size_t count = 0, i;
	int status;

	if (!paths)
		return cli_no_memory();
	for (i = 0; i < point->rank_count; i++)
		if (point->ranks[i].trace)
			paths[count++] = point->ranks[i].trace;
	status = read_traces(side, c, paths, count, place);
	free(paths);
	/* One configuration that cannot be read does not keep others from being compared. */
	if (status == CLI_FAILED && !c->common.strict) {
		cli_message("left out: %s of %s", point->name, side->label);
		side->incomplete = true;
		status = -1;
	}
	return status;
}

static int read_point(struct cli_side *side, struct cli_comparing *c,
		      const struct tw_sweep_point *point, uint32_t which)
{
	const struct tw_sample_place place = { which, point->threads, point->channels, point->name,
					       TW_NO_RANK };
	size_t reports = 0, traces = 0, i;

	for (i = 0; i < point->rank_count; i++) {
		reports += point->ranks[i].report != NULL;
		traces += point->ranks[i].trace != NULL;
	}
	if (!reports && !traces)
		return -1;
	/* Traces of all ranks say more than reports of some. */
	return reports >= traces ? read_point_reports(side, c, point, &place) :
				   read_point_traces(side, c, point, &place);
}

static int read_sweep(struct cli_side *side, struct cli_comparing *c, uint32_t which)
{
	int status = -1;
	size_t i;

	for (i = 0; i < side->sweep.note_count && !c->common.quiet; i++)
		cli_message("%s: %s", side->label, side->sweep.notes[i]);
	side->incomplete |= side->sweep.incomplete;
	for (i = 0; i < side->sweep.count && status < 0; i++)
		status = read_point(side, c, &side->sweep.points[i], which);
	if (side->stale && !c->common.quiet)
		cli_message("%s: %zu report%s older than the traces; 'trawl sweep report' makes "
			    "them anew",
			    side->label, side->stale, side->stale == 1 ? " is" : "s are");
	return status;
}

/* ---- one report, or those of the ranks of one configuration */

static int read_report(struct cli_side *side, struct cli_comparing *c,
		       const struct tw_sample_place *place)
{
	const char *path = side->from.ptr;
	struct tw_sample_place at = *place;
	struct trawl_error err;
	int status;

	at.rank = tw_rank_in_path(tw_file_name(path));
	if (tw_book_open(&side->book, path, trawl_allocator_default(), &err))
		return cli_fail(&err);
	status = add_book(side, c, side->book, &at);
	if (status < 0)
		status = add_collectives(side, c, side->book, place);
	return status;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Full paths of the reports of ranks in a directory, in order; *count of them. */
static char **list_reports(const char *path, size_t *count)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	char **paths = NULL, **more;
	struct tw_str name;

	*count = 0;
	tw_str_init(&name, trawl_allocator_default());
	while (dir && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "perf_", 5) || tw_rank_in_path(entry->d_name) < 0)
			continue;
		more = realloc(paths, (*count + 1) * sizeof(*paths));
		tw_str_clear(&name);
		tw_str_addf(&name, "%s/%s", path, entry->d_name);
		if (!more)
			break;
		paths = more;
		paths[*count] = name.failed ? NULL : strdup(name.ptr);
		if (!paths[*count])
			break;
		++*count;
	}
	if (dir)
		closedir(dir);
	tw_str_release(&name);
	if (*count)
		qsort(paths, *count, sizeof(*paths), compare_paths);
	return paths;
}

/* Of perf_28ch_rank0.xlsx 28; -1: the name tells none. */
static int64_t channels_in(const char *path)
{
	enum { DIGITS = 9 };
	const char *digits = tw_file_name(path) + strlen("perf_");
	size_t count = strspn(digits, "0123456789");

	return count && count <= DIGITS && !strncmp(digits + count, "ch_", 3) ?
		       strtoll(digits, NULL, 10) :
		       -1;
}

static bool channels_wanted(const struct cli_comparing *c, int64_t channels)
{
	return channels < 0 ||
	       tw_sweep_is_wanted(c->filter.channels, c->filter.channel_count, channels);
}

/* The first of a rank: workbook and CSV files of the same report say the same. */
static bool is_again(char *const *paths, size_t i)
{
	size_t k;

	for (k = i; k-- && channels_in(paths[k]) == channels_in(paths[i]);)
		if (tw_rank_in_path(tw_file_name(paths[k])) ==
		    tw_rank_in_path(tw_file_name(paths[i])))
			return true;
	return false;
}

/* Reports of ranks with the same number of channels, and the one of their collectives. */
static int read_group(struct cli_side *side, struct cli_comparing *c, char *const *paths,
		      size_t count, struct tw_sample_place place)
{
	struct batch batch = { .count = 0 };
	struct tw_str collective;
	char name[32] = "";
	int status = -1;
	size_t i;

	place.channels = channels_in(paths[0]);
	if (place.channels >= 0)
		snprintf(name, sizeof(name), "%lldch", (long long)place.channels);
	place.config = name;
	for (i = 0; i < count && status < 0; i++) {
		int64_t rank = tw_rank_in_path(tw_file_name(paths[i]));

		if (rank_wanted(c, rank) && !is_again(paths, i))
			status = add_to_batch(side, c, &batch, paths[i], rank, &place);
	}
	if (status < 0)
		status = read_batch(side, c, &batch, &place);
	tw_str_init(&collective, trawl_allocator_default());
	tw_str_addf(&collective, "%s/../collective_reports/collective_%s.xlsx", side->from.ptr,
		    name[0] ? name : "all_ranks");
	if (status < 0 && !collective.failed && !access(collective.ptr, R_OK))
		status = add_collective_report(side, c, collective.ptr, &place);
	tw_str_release(&collective);
	return status;
}

static int read_reports(struct cli_side *side, struct cli_comparing *c,
			const struct tw_sample_place *place)
{
	size_t count, first, end;
	char **paths = list_reports(side->from.ptr, &count);
	int status = -1;

	for (first = 0; first < count && status < 0; first = end) {
		for (end = first + 1;
		     end < count && channels_in(paths[end]) == channels_in(paths[first]); end++)
			;
		if (channels_wanted(c, channels_in(paths[first])))
			status = read_group(side, c, paths + first, end - first, *place);
	}
	for (first = 0; first < count; first++)
		free(paths[first]);
	free(paths);
	return status;
}

int cli_side_read(struct cli_side *side, struct cli_comparing *c, uint32_t which)
{
	const struct tw_sample_place place = { which, -1, -1, "", TW_NO_RANK };
	int status = -1;

	switch (side->kind) {
	case CLI_SIDE_SWEEP:
		status = read_sweep(side, c, which);
		break;
	case CLI_SIDE_REPORTS:
		status = read_reports(side, c, &place);
		break;
	case CLI_SIDE_REPORT:
		status = read_report(side, c, &place);
		break;
	case CLI_SIDE_TRACES:
		status = read_traces(side, c, &side->path, 1, &place);
		break;
	}
	if (status >= 0)
		return status;
	tw_rank_list_add_some(&side->rank_list, side->ranks, side->rank_count, 20);
	return c->samples.failed || side->rank_list.failed ? cli_no_memory() : -1;
}
