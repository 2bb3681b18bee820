/* Reading the sides of a comparison: reports where they are, else traces. */
#include "study/compare/sides.h"

#include "analysis/analysis.h"
#include "analysis/who/stacks.h"
#include "base/alloc.h"
#include "base/list.h"
#include "diagnose/job_diagnosis.h"
#include "job/collectives/exposed_waits.h"
#include "job/set/job_notes.h"
#include "table/pack.h"
#include "text/rank_list.h"
#include "study/compare/split.h"
#include "trawl/findings.h"
#include "trawl/nsys.h"
#include "os/file.h"
#include "os/thread.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What comes out of a report of a rank; collectives over ranks are apart. */
static const enum tw_compared_kind of_rank[] = {
	TW_TIMELINE_PART, TW_OPERATION, TW_KERNEL,	 TW_COLLECTIVE_RANK,  TW_RANGE,
	TW_RANGE_EXPOSED, TW_MODULE,	TW_MODULE_CLASS, TW_MODULE_OPERATION, TW_CALL_SITE,
	TW_PASS,	  TW_PHASE,	TW_STEP,	 TW_MODULE_STACK,     TW_FULL_STACK,
	TW_MODULE_TOTAL,
};
#define OF_RANK (sizeof(of_rank) / sizeof(of_rank[0]))

/* ---- notes */

/* Something that is there cannot be read: noted, and left out, unless --strict forbids. */
static int leave_out(struct tw_side *side)
{
	char message[sizeof(side->err->message)];
	struct trawl_error *err = side->err;

	if (err->status == TRAWL_ENOMEM)
		return err->status;
	if (side->options->strict) {
		snprintf(message, sizeof(message), "%s", err->message);
		return trawl_error_set(err, TRAWL_EFORMAT, "not accepted with --strict: %s",
				       message);
	}
	tw_str_note(&side->notes, "skipped: %s", err->message);
	side->incomplete = true;
	return 0;
}

static void note_rank(struct tw_side *side, int64_t rank)
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

static bool rank_wanted(const struct tw_side *side, int64_t rank)
{
	const struct trawl_sweep_filter *f = &side->options->filter;

	return tw_sweep_is_wanted(f->ranks, f->rank_count, rank);
}

/* ---- sheets of a book into samples */

/* A damaged sheet is left out. */
static int add_sheet(struct tw_side *side, struct tw_book *book, enum tw_compared_kind kind)
{
	const struct trawl_table *table;
	struct tw_str lacks;
	bool added;

	if (tw_book_table(book, tw_compared_tables[kind], &table, side->err))
		return leave_out(side);
	if (!table)
		return 0;
	tw_str_init(&lacks, trawl_allocator_default());
	added = tw_samples_add_sheet(side->samples, &side->at, kind, table, &lacks);
	side->having[kind] += added;
	/* A sheet without anything in it is a report with nothing to say; over ranks this is not told. */
	if (!added && trawl_table_columns(table) && kind != TW_RANGE_EXPOSED) {
		tw_str_note(&side->notes, "skipped: %s: %s", tw_book_name(book),
			    lacks.ptr ? lacks.ptr : "");
		side->incomplete = true;
	}
	tw_str_release(&lacks);
	return 0;
}

/* A rank of a row of a report over ranks. */
static int64_t rank_of_row(const struct trawl_table *table, size_t row)
{
	return tw_compared_ns(tw_table_number(table, row, trawl_table_find_column(table, "rank")),
			      1);
}

/* A report over ranks has the timeline of each, which says more than its sums. */
static bool add_rank_timeline(struct tw_side *side, struct tw_book *book)
{
	const struct trawl_table *table;
	size_t row;

	if (tw_book_table(book, &tw_ranks_table_rank_timeline.table, &table, NULL) || !table ||
	    !tw_samples_add_rank_timeline(side->samples, &side->at, table))
		return false;
	side->having[TW_TIMELINE_PART]++;
	for (row = 0; row < trawl_table_rows(table); row++)
		note_rank(side, rank_of_row(table, row));
	return true;
}

static void note_damage(struct tw_side *side)
{
	tw_samples_note_damage(side->samples, &side->at);
	side->incomplete = true;
}

/* Of a report over ranks the sheet of that name says which; how many. */
static size_t note_damaged_ranks(struct tw_side *side, struct tw_book *book)
{
	const struct trawl_table *ranks;
	int64_t of_report = side->at.rank;
	size_t n = 0, row;

	if (tw_book_table(book, &tw_ranks_table_ranks.table, &ranks, NULL) || !ranks)
		return 0;
	for (row = 0; row < trawl_table_rows(ranks); row++) {
		if (!tw_table_text_is(ranks, row, trawl_table_find_column(ranks, "state"),
				      "damaged"))
			continue;
		side->at.rank = rank_of_row(ranks, row);
		note_damage(side);
		n++;
	}
	side->at.rank = of_report;
	return n;
}

/* What a report itself says of the trace that it is of. */
static int check_damage(struct tw_side *side, struct tw_book *book)
{
	bool damaged;

	if (tw_book_is_damaged(book, &damaged, side->err))
		return leave_out(side);
	if (damaged && !note_damaged_ranks(side, book))
		note_damage(side);
	return 0;
}

static int add_book(struct tw_side *side, struct tw_book *book, int64_t rank)
{
	size_t i;
	int status;

	side->at.rank = rank;
	status = check_damage(side, book);
	side->reports++;
	note_rank(side, rank);
	for (i = 0; i < OF_RANK && !status; i++)
		if (of_rank[i] != TW_TIMELINE_PART || !add_rank_timeline(side, book))
			status = add_sheet(side, book, of_rank[i]);
	return status;
}

/* What the job's own verdict says of stragglers: none without a row of them. */
static void note_stragglers(struct tw_side *side, struct tw_book *book)
{
	const struct trawl_table *verdict;
	struct tw_str ranks, because;
	size_t row;

	if (tw_book_table(book, &tw_ranks_table_verdict.table, &verdict, NULL) || !verdict)
		return;
	tw_str_init(&ranks, trawl_allocator_default());
	tw_str_init(&because, trawl_allocator_default());
	for (row = 0; row < trawl_table_rows(verdict); row++) {
		bool first = tw_table_text_is(verdict, row, 0, "straggler");

		if (!first && !tw_table_text_is(verdict, row, 0, "reason"))
			continue;
		if (first)
			tw_table_add_text(&ranks, verdict, row,
					  trawl_table_find_column(verdict, "ranks"));
		tw_str_add_cstr(&because, because.len ? "; " : "");
		tw_table_add_text(&because, verdict, row, trawl_table_find_column(verdict, "text"));
	}
	if (trawl_table_rows(verdict))
		tw_samples_note_stragglers(side->samples, &side->at, ranks.len ? ranks.ptr : "",
					   because.len ? because.ptr : "");
	side->samples->failed |= ranks.failed | because.failed;
	tw_str_release(&ranks);
	tw_str_release(&because);
}

/* A copy of them for the samples, with all columns that findings have; *kept, NULL: nobody asks. */
static int keep_findings(struct tw_side *side, const struct trawl_table *findings,
			 const struct trawl_table **kept)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_table *copy = tw_table_new(&tw_findings_spec, a);

	if (copy)
		tw_table_add_keyed(copy, NULL, 0, findings);
	copy = tw_table_finished(copy);
	if (!copy || !TW_LIST_ADD(&side->findings, &copy, a)) {
		trawl_table_free(copy);
		return tw_no_memory(side->err);
	}
	tw_samples_note_findings(side->samples, &side->at, copy);
	if (kept)
		*kept = copy;
	return 0;
}

/* Of a report that has them. */
static int add_findings(struct tw_side *side, struct tw_book *book)
{
	const struct trawl_table *findings;

	if (tw_book_table(book, &tw_findings_spec, &findings, side->err))
		return leave_out(side);
	return findings && tw_table_has_column(findings, TW_COL_FINDING_KIND) &&
			       tw_table_has_column(findings, TW_COL_GAIN_MS) ?
		       keep_findings(side, findings, NULL) :
		       0;
}

static int add_collectives(struct tw_side *side, struct tw_book *book)
{
	int status = add_findings(side, book);

	if (status)
		return status;
	side->at.rank = TW_NO_RANK;
	note_stragglers(side, book);
	return add_sheet(side, book, TW_COLLECTIVE_SYNC);
}

/* The report of collectives; the last is kept for the workbook. */
static int keep_collectives(struct tw_side *side, struct tw_book *book)
{
	tw_book_free(side->collectives);
	side->collectives = book;
	side->collective_reports++;
	return add_collectives(side, book);
}

static int add_collective_report(struct tw_side *side, const char *path)
{
	struct tw_book *book;

	if (tw_book_open(&book, path, trawl_allocator_default(), side->err))
		return leave_out(side);
	return keep_collectives(side, book);
}

/* ---- traces */

static const char *const trace_tables[] = { "gpu_timeline",  "ops_summary", "kernel_summary",
					    "coll_analysis", "nvtx_ranges", "modules",
					    "call_sites",    "phases",	    "steps" };
#define TRACE_TABLES (sizeof(trace_tables) / sizeof(trace_tables[0]))

/* Tables of the report of each that are kept; NULL: out of memory. */
static const char *const *tables_to_keep(struct tw_side *side, size_t *count)
{
	const char **names;
	size_t i;

	/* Of one trace alone the workbook has all tables; of many they would fill the memory. */
	if (!side->options->for_workbook || !side->lone) {
		*count = TRACE_TABLES;
		return trace_tables;
	}
	*count = tw_analysis_count;
	names = tw_arena_alloc(&side->arena, tw_analysis_count * sizeof(*names));
	for (i = 0; names && i < tw_analysis_count; i++)
		names[i] = tw_analyses[i]->table.name;
	return names;
}

/* Whether a part was asked for: then how many steps the whole has does not matter. */
static bool is_part(const struct trawl_report_options *options)
{
	return options->step_first >= 0 || options->range || options->start_ns != TRAWL_TIME_NONE ||
	       options->end_ns != TRAWL_TIME_NONE;
}

static int add_stacks(struct tw_rank *rank, const struct trawl_report *report,
		      enum trawl_stacks which)
{
	struct trawl_table *made, *table;
	int status = tw_stacks_table(report, which, &made, rank->allocator);

	if (status || !made)
		return status;
	/* Its texts are those of the trace. */
	table = tw_table_copy(made, rank->allocator);
	trawl_table_free(made);
	if (table && tw_list_append(&rank->tables, &rank->table_capacity, &rank->table_count,
				    &table, sizeof(table), rank->allocator))
		return 0;
	trawl_table_free(table);
	return TRAWL_ENOMEM;
}

/* What is compared beyond tables of reports; findings are of the whole. */
static int attach(struct tw_rank *rank, const struct trawl_report *report)
{
	int status = add_stacks(rank, report, TRAWL_STACKS_BY_MODULE);

	return status || is_part(tw_report_input(report)->options) ?
		       status :
		       tw_diagnose_attach(rank, report);
}

static int attach_full_stacks(struct tw_rank *rank, const struct trawl_report *report)
{
	int status = add_stacks(rank, report, TRAWL_STACKS_FULL);

	return status ? status : attach(rank, report);
}

static int load_traces(struct tw_side *side, const char *const *arguments, size_t count)
{
	const struct tw_side_options *o = side->options;
	const struct trawl_report_options *report = o->load.report;
	const struct tw_job_rules rules = {
		.strict = o->strict,
		.quiet = o->quiet,
		.ranks_chosen = o->filter.rank_count || side->lone,
		.steps_chosen = report->step_first >= 0 || report->range,
	};
	struct tw_load_options load = o->load;
	struct tw_rank_set set = { 0 };
	bool whole;

	load.exposed = true;
	load.attach = o->full_stacks ? attach_full_stacks : attach;
	load.tables = tables_to_keep(side, &load.table_count);
	if (!load.tables)
		return tw_no_memory(side->err);
	if (tw_rank_set_find(&set, arguments, count, trawl_allocator_default(), side->err))
		return side->err->status;
	memset(&side->job, 0, sizeof(side->job));
	if (tw_job_load(&side->job, &set, &load, trawl_allocator_default(), side->err) ||
	    tw_job_check(&side->job, &rules, &side->notes, &whole, side->err)) {
		tw_job_release(&side->job);
		return side->err->status;
	}
	side->loaded = true;
	side->incomplete |= !whole;
	return 0;
}

static int add_rank(struct tw_side *side, const struct tw_rank *rank)
{
	struct tw_book *book;
	int status;

	side->at.rank = rank->rank;
	if (!rank_wanted(side, rank->rank))
		return 0;
	if (tw_book_of_tables(&book, "trace", (const struct trawl_table *const *)rank->tables,
			      rank->table_count, trawl_allocator_default(), side->err))
		return side->err->status;
	side->traces++;
	if (rank->state == TRAWL_RANK_DAMAGED)
		note_damage(side);
	if (!is_part(side->options->load.report))
		tw_samples_note_steps(side->samples, &side->at, rank->first_step, rank->last_step);
	status = add_book(side, book, rank->rank);
	/* That of the only rank is what its side is in the workbook. */
	if (side->job.count == 1 && side->lone)
		side->book = book;
	else
		tw_book_free(book);
	return status;
}

static void add_wait(void *context, uint32_t waiting, uint32_t late, int64_t ns)
{
	struct tw_side *side = context;
	const struct tw_rank *ranks = side->job.ranks;
	char name[24];

	if (!rank_wanted(side, ranks[waiting].rank))
		return;
	snprintf(name, sizeof(name), "%lld", (long long)ranks[late].rank);
	side->at.rank = ranks[waiting].rank;
	tw_samples_add(side->samples, &side->at, (enum tw_compared_kind)TW_EXPOSED_WAIT, name, ns,
		       TW_NO_CALLS);
}

/* Of the ranks of a job it is known who waits for whom, if any two of their collectives are one. */
static int add_waits(struct tw_side *side, const struct tw_ranks_input *in)
{
	if (side->job.count < 2 || !in->matches || !in->matches->count)
		return 0;
	side->at.rank = TW_NO_RANK;
	tw_samples_note_waits(side->samples, &side->at);
	return tw_exposed_waits(in, add_wait, side) ? tw_no_memory(side->err) : 0;
}

/* ---- what limits the job */

static void add_idle_causes(struct tw_side *side, const struct tw_diagnosis *d)
{
	static const enum tw_split_cause causes[] = {
		[TW_IDLE_LOADING] = TW_SPLIT_LOADING,
		[TW_IDLE_WAITING] = TW_SPLIT_SYNC,
		[TW_IDLE_OTHER] = TW_SPLIT_ALLOCATION,
		[TW_IDLE_LAUNCH] = TW_SPLIT_LAUNCHING,
	};
	uint32_t i;
	size_t k;

	for (i = 0; i < d->rank_count; i++) {
		side->at.rank = d->path->ranks[i].rank;
		for (k = 0; k < sizeof(causes) / sizeof(causes[0]); k++)
			if (rank_wanted(side, side->at.rank))
				tw_samples_add(side->samples, &side->at,
					       (enum tw_compared_kind)TW_IDLE_CAUSE,
					       tw_split_causes[causes[k]], d->claims[i].idle_ns[k],
					       TW_NO_CALLS);
	}
	tw_samples_note_idle_causes(side->samples, &side->at);
	side->at.rank = TW_NO_RANK;
}

/* Once for each job; its verdict is by them where they know of waits. */
static int diagnose(struct tw_side *side, struct tw_job_wanted *wanted)
{
	const struct trawl_table *kept;
	struct trawl_diagnosis *diagnosis;
	int status;

	if (is_part(side->options->load.report))
		return 0;
	if (trawl_diagnose_job(&diagnosis, &side->job, side->options->load.threads, side->err))
		return side->err->status;
	status = keep_findings(side, trawl_diagnosis_findings(diagnosis), &kept);
	if (!status) {
		add_idle_causes(side, tw_diagnosis_of(diagnosis));
		wanted->of_step = !isnan(trawl_diagnosis_step_ns(diagnosis));
		wanted->findings = trawl_diagnosis_knows_waits(diagnosis) ? kept : NULL;
	}
	trawl_diagnosis_free(diagnosis);
	return status;
}

/* ---- stages of exports, straight from the file */

/* Windows are those of rules, or one that was asked for. */
static struct trawl_nsys_options stage_options(const struct tw_side *side)
{
	const struct trawl_report_options *report = side->options->load.report;
	struct trawl_nsys_options o;

	trawl_nsys_options_init(&o);
	o.threads = side->options->load.threads;
	o.window = report->start_ns != TRAWL_TIME_NONE;
	o.start_ns = report->start_ns;
	o.end_ns = report->end_ns;
	return o;
}

/* Not where a part was asked for that a query cannot have. */
static bool has_stages(const struct tw_side *side)
{
	const struct trawl_report_options *r = side->options->load.report;

	return r->step_first < 0 && !r->range && !r->device &&
	       (r->start_ns != TRAWL_TIME_NONE) == (r->end_ns != TRAWL_TIME_NONE);
}

static void add_stage_rows(struct tw_side *side, const struct trawl_table *table)
{
	size_t stage = trawl_table_find_column(table, "stage"), row;

	for (row = 0; row < trawl_table_rows(table); row++) {
		const char *name = tw_table_own_text(table, row, stage);

		side->at.rank = rank_of_row(table, row);
		if (!rank_wanted(side, side->at.rank))
			continue;
		name = *name ? name : "(no stage)";
		tw_samples_add(side->samples, &side->at, TW_STAGE, name,
			       tw_table_cell(table, row, TW_COL_EXPOSED_NS).integer, TW_NO_CALLS);
		tw_samples_add(side->samples, &side->at, TW_STAGE_COMM, name,
			       tw_table_cell(table, row, TW_COL_COMM_NS).integer, TW_NO_CALLS);
		tw_samples_note_window(
			side->samples, &side->at,
			tw_table_cell(table, row, TW_COL_WINDOW_END).integer -
				tw_table_cell(table, row, TW_COL_WINDOW_START).integer);
		side->having[TW_STAGE] = side->having[TW_STAGE_COMM] = 1;
	}
}

static int add_stages(struct tw_side *side)
{
	const struct trawl_nsys_options options = stage_options(side);
	struct trawl_table *table;
	size_t i;
	int status = 0;

	for (i = 0; i < side->job.set.count && !status && has_stages(side); i++) {
		const char *path = side->job.set.files[i].path;

		if (!trawl_nsys_is_export(path))
			continue;
		if (trawl_nsys_query(&table, TRAWL_NSYS_OVERLAP, path, &options, side->err)) {
			status = leave_out(side);
			continue;
		}
		add_stage_rows(side, table);
		trawl_table_free(table);
	}
	return status;
}

static int add_job(struct tw_side *side)
{
	static const struct tw_ranks_table *const tables[] = {
		&tw_ranks_table_verdict,
		&tw_ranks_table_nccl_summary_implicit_sync,
		&tw_ranks_table_nccl_summary_long,
	};
	struct tw_job_wanted wanted = { .tables = tables,
					.count = sizeof(tables) / sizeof(tables[0]) };
	struct trawl_job_report *t = &side->job_tables;
	struct tw_book *book;
	int status = diagnose(side, &wanted);
	size_t i;

	if (!status)
		status = tw_job_tables_make(t, &side->job, TRAWL_ALIGN_AUTO, &wanted,
					    side->options->load.threads, trawl_allocator_default(),
					    side->err);
	for (i = 0; i < side->job.count && !status; i++)
		status = add_rank(side, &side->job.ranks[i]);
	if (!status)
		status = add_waits(side, &t->in);
	if (!status)
		status = add_stages(side);
	if (status || !t->count)
		return status;
	if (tw_book_of_tables(&book, "traces", (const struct trawl_table *const *)t->tables,
			      t->count, trawl_allocator_default(), side->err))
		return side->err->status;
	return keep_collectives(side, book);
}

/* Of the points of a sweep one after the other: only the last is kept. */
static void release_job(struct tw_side *side)
{
	if (!side->loaded)
		return;
	tw_book_free(side->collectives);
	side->collectives = NULL;
	tw_job_tables_release(&side->job_tables);
	tw_job_release(&side->job);
	side->loaded = false;
}

static int read_traces(struct tw_side *side, const char *const *arguments, size_t count)
{
	int status;

	release_job(side);
	status = load_traces(side, arguments, count);
	return status ? status : add_job(side);
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

static void open_report(void *context, size_t i)
{
	struct batch *b = context;
	const struct trawl_table *table;
	size_t k;

	b->status[i] =
		tw_book_open(&b->books[i], b->paths[i], trawl_allocator_default(), &b->errors[i]);
	/* A sheet is read when it is asked for: here, and not by the one who adds them all. */
	for (k = 0; k < OF_RANK && !b->status[i]; k++)
		if (tw_book_table(b->books[i], tw_compared_tables[of_rank[k]], &table, NULL))
			continue;
}

static int read_batch(struct tw_side *side, struct batch *b)
{
	unsigned threads = side->options->load.threads;
	int status = 0;
	size_t i;

	tw_parallel(threads ? threads : tw_thread_count(), b->count, open_report, b);
	for (i = 0; i < b->count; i++) {
		if (b->status[i] && !status) {
			*side->err = b->errors[i];
			status = leave_out(side);
		}
		if (b->status[i])
			continue;
		if (!status)
			status = add_book(side, b->books[i], b->ranks[i]);
		tw_book_free(b->books[i]);
	}
	b->count = 0;
	return status;
}

static int add_to_batch(struct tw_side *side, struct batch *b, const char *path, int64_t rank)
{
	b->paths[b->count] = path;
	b->ranks[b->count++] = rank;
	return b->count == sizeof(b->paths) / sizeof(b->paths[0]) ? read_batch(side, b) : 0;
}

/* A run that was done again: its reports are of the one before. */
static bool is_stale(const struct tw_sweep_rank *rank)
{
	struct stat trace, report;

	return rank->trace && !stat(rank->trace, &trace) && !stat(rank->report, &report) &&
	       trace.st_mtime > report.st_mtime;
}

static int read_point_reports(struct tw_side *side, const struct tw_sweep_point *point)
{
	struct batch batch = { .count = 0 };
	int status = 0;
	size_t i;

	for (i = 0; i < point->rank_count && !status; i++) {
		if (!point->ranks[i].report)
			continue;
		side->stale += is_stale(&point->ranks[i]);
		status = add_to_batch(side, &batch, point->ranks[i].report, point->ranks[i].rank);
	}
	if (!status)
		status = read_batch(side, &batch);
	if (!status && point->collective_report)
		status = add_collective_report(side, point->collective_report);
	return status;
}

static int read_point_traces(struct tw_side *side, const struct tw_sweep_point *point)
{
	const char **paths = tw_arena_alloc(&side->arena, (point->rank_count + 1) * sizeof(*paths));
	size_t count = 0, i;
	int status;

	if (!paths)
		return tw_no_memory(side->err);
	for (i = 0; i < point->rank_count; i++)
		if (point->ranks[i].trace)
			paths[count++] = point->ranks[i].trace;
	status = read_traces(side, paths, count);
	if (!status || status == TRAWL_EUSAGE || side->options->strict)
		return status;
	/* One configuration that cannot be read does not keep others from being compared. */
	tw_str_note(&side->notes, "%s", side->err->message);
	tw_str_note(&side->notes, "skipped: %s of %s", point->name, side->label);
	side->incomplete = true;
	return 0;
}

static int read_point(struct tw_side *side, const struct tw_sweep_point *point)
{
	size_t reports = 0, traces = 0, i;

	for (i = 0; i < point->rank_count; i++) {
		reports += point->ranks[i].report != NULL;
		traces += point->ranks[i].trace != NULL;
	}
	if (!reports && !traces)
		return 0;
	side->at = (struct tw_sample_place){ 0, point->threads, point->channels, point->name,
					     TW_NO_RANK };
	/* Traces of all ranks say more than reports of some. */
	return reports >= traces ? read_point_reports(side, point) : read_point_traces(side, point);
}

static int read_sweep(struct tw_side *side)
{
	bool quiet = side->options->quiet;
	int status = 0;
	size_t i;

	for (i = 0; i < side->sweep.note_count && !quiet; i++)
		tw_str_note(&side->notes, "%s: %s", side->label, side->sweep.notes[i]);
	side->incomplete |= side->sweep.incomplete;
	for (i = 0; i < side->sweep.count && !status; i++)
		status = read_point(side, &side->sweep.points[i]);
	if (side->stale && !quiet)
		tw_str_note(&side->notes,
			    "%s: %zu report%s older than the traces; regenerate with 'trawl "
			    "sweep report'",
			    side->label, side->stale, side->stale == 1 ? " is" : "s are");
	return status;
}

/* ---- one report, or those of the ranks of one configuration */

static int read_report(struct tw_side *side)
{
	int64_t rank = tw_rank_in_path(tw_file_name(side->from));
	int status;

	if (tw_book_open(&side->book, side->from, trawl_allocator_default(), side->err))
		return side->err->status;
	status = add_book(side, side->book, rank);
	return status ? status : add_collectives(side, side->book);
}

struct report_paths {
	const char **paths;
	size_t count, capacity;
};

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Full paths of the reports of ranks in the directory, in order. */
static int list_reports(struct tw_side *side, struct report_paths *list)
{
	DIR *dir = opendir(side->from);
	const struct dirent *entry;
	const char *path = "";

	while (dir && path && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "perf_", 5) || tw_rank_in_path(entry->d_name) < 0)
			continue;
		path = tw_side_text(side, "%s/%s", side->from, entry->d_name);
		if (path && !tw_list_grow(&list->paths, &list->capacity, list->count,
					  sizeof(*list->paths), trawl_allocator_default()))
			path = NULL;
		if (path)
			list->paths[list->count++] = path;
	}
	if (dir)
		closedir(dir);
	if (list->count)
		qsort(list->paths, list->count, sizeof(*list->paths), compare_paths);
	return path ? 0 : tw_no_memory(side->err);
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

/* The first of a rank: workbook and CSV files of the same report say the same. */
static bool is_again(const char *const *paths, size_t i)
{
	size_t k;

	for (k = i; k-- && channels_in(paths[k]) == channels_in(paths[i]);)
		if (tw_rank_in_path(tw_file_name(paths[k])) ==
		    tw_rank_in_path(tw_file_name(paths[i])))
			return true;
	return false;
}

/* Reports of ranks with the same number of channels, and the one of their collectives. */
static int read_group(struct tw_side *side, const char *const *paths, size_t count)
{
	int64_t channels = channels_in(paths[0]);
	struct batch batch = { .count = 0 };
	const char *collective, *name = "";
	int status = 0;
	size_t i;

	if (channels >= 0)
		name = tw_side_text(side, "%lldch", (long long)channels);
	side->at = (struct tw_sample_place){ 0, -1, channels, name, TW_NO_RANK };
	collective = tw_side_text(side, "%s/../collective_reports/collective_%s.xlsx", side->from,
				  name && *name ? name : "all_ranks");
	if (!name || !collective)
		return tw_no_memory(side->err);
	for (i = 0; i < count && !status; i++) {
		int64_t rank = tw_rank_in_path(tw_file_name(paths[i]));

		if (rank_wanted(side, rank) && !is_again(paths, i))
			status = add_to_batch(side, &batch, paths[i], rank);
	}
	if (!status)
		status = read_batch(side, &batch);
	if (!status && !access(collective, R_OK))
		status = add_collective_report(side, collective);
	return status;
}

static int read_reports(struct tw_side *side)
{
	const struct trawl_sweep_filter *f = &side->options->filter;
	struct report_paths list = { 0 };
	int status = list_reports(side, &list);
	size_t first, end;

	for (first = 0; first < list.count && !status; first = end) {
		int64_t channels = channels_in(list.paths[first]);

		for (end = first + 1; end < list.count && channels_in(list.paths[end]) == channels;
		     end++)
			;
		if (channels < 0 || tw_sweep_is_wanted(f->channels, f->channel_count, channels))
			status = read_group(side, list.paths + first, end - first);
	}
	tw_free(trawl_allocator_default(), list.paths, list.capacity * sizeof(*list.paths));
	return status;
}

static int read_kind(struct tw_side *side)
{
	side->at = (struct tw_sample_place){ 0, -1, -1, "", TW_NO_RANK };
	switch (side->kind) {
	case TW_SIDE_SWEEP:
		return read_sweep(side);
	case TW_SIDE_REPORTS:
		return read_reports(side);
	case TW_SIDE_REPORT:
		return read_report(side);
	case TW_SIDE_TRACES:
		return read_traces(side, &side->path, 1);
	}
	return 0;
}

int tw_side_read(struct tw_side *side, struct tw_samples *samples, struct trawl_error *err)
{
	int status;

	side->samples = samples;
	side->err = err;
	status = read_kind(side);
	if (status)
		return status;
	tw_rank_list_add_some(&side->rank_list, side->ranks, side->rank_count, 20);
	return samples->failed || side->rank_list.failed ? tw_no_memory(err) : 0;
}
