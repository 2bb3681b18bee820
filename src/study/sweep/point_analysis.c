#include "study/sweep/point_analysis.h"

#include "base/alloc.h"
#include "data/limits.h"
#include "diagnose/job_diagnosis.h"
#include "text/rank_list.h"
#include "job/tables/all_tables.h"
#include "os/thread.h"
#include "table/pack.h"
#include "table/table.h"
#include "trawl/render.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of each rank's report, what later stages look at. */
static const char *const kept_tables[] = { "gpu_timeline",   "ops_summary",	 "GEMM",
					   "gemm_instances", "kernel_instances", "quality" };
#define KEPT (sizeof(kept_tables) / sizeof(kept_tables[0]))

/* ---- what went wrong */

static void fail(struct tw_point_analysis *p, const struct trawl_error *err)
{
	pthread_mutex_lock(&p->lock);
	if (!p->status) {
		p->status = err->status;
		p->failure = *err;
	}
	pthread_mutex_unlock(&p->lock);
}

static int fail_memory(struct tw_point_analysis *p)
{
	struct trawl_error err;
	int status = tw_no_memory(&err);

	fail(p, &err);
	return status;
}

/* ---- progress of all configurations together */

struct tw_sweep_progress {
	pthread_mutex_t lock;
	int64_t done, bytes;
};

static int note_progress(void *context, int64_t bytes_done, int64_t bytes)
{
	struct tw_point_analysis *p = context;
	const struct tw_sweep_reading *reading = p->reading;
	struct tw_sweep_progress *all = p->progress;
	int status;

	(void)bytes;
	pthread_mutex_lock(&all->lock);
	all->done += bytes_done - p->bytes_done;
	p->bytes_done = bytes_done;
	status = reading->progress ?
			 reading->progress(reading->progress_context, all->done, all->bytes) :
			 0;
	pthread_mutex_unlock(&all->lock);
	return status;
}

/* ---- reports of ranks */

/* The rank of the point whose trace a file of the set is. */
static size_t rank_of_file(const struct tw_point_analysis *p, uint32_t file)
{
	const struct tw_sweep_point *point = p->point;
	size_t i;

	for (i = 0; i < point->rank_count; i++)
		if (point->ranks[i].trace &&
		    !strcmp(point->ranks[i].trace, p->job.set.files[file].path))
			break;
	return i;
}

/* Writes the report of a rank; of an export of several GPUs that of the first. */
static void write_report(void *context, uint32_t file, size_t number,
			 const struct trawl_report *report)
{
	struct tw_point_analysis *p = context;
	size_t i = rank_of_file(p, file), n = trawl_report_tables(report);
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct trawl_table **tables;
	struct trawl_error err;
	struct tw_str path;
	size_t k;

	if (number || i == p->point->rank_count)
		return;
	tables = tw_alloc_array(a, n, sizeof(*tables));
	tw_str_init(&path, a);
	tw_sweep_report_path(p->sweep, p->point, p->point->ranks[i].rank, &path);
	if (!tables || path.failed) {
		fail_memory(p);
	} else {
		for (k = 0; k < n; k++)
			tables[k] = trawl_report_table(report, k);
		if (trawl_write_xlsx(tables, n, path.ptr, &err))
			fail(p, &err);
		else
			p->reported[i] = true;
	}
	tw_str_release(&path);
	tw_free(a, tables, n * sizeof(*tables));
}

static void report_options(const struct tw_point_analysis *p, struct trawl_report_options *options)
{
	trawl_report_options_init(options);
	options->short_kernel_ns = TW_LIMIT_SWEEP_SHORT_KERNEL_US * 1000;
	options->gemm_instances = p->outputs & (TRAWL_SWEEP_REPORTS | TRAWL_SWEEP_VARIANCE);
	options->kernel_instances = p->outputs & TRAWL_SWEEP_VARIANCE;
}

static void load_options(struct tw_point_analysis *p, const struct trawl_report_options *report,
			 struct tw_load_options *load)
{
	unsigned wanted = TRAWL_SWEEP_REPORTS | TRAWL_SWEEP_VARIANCE;

	*load = (struct tw_load_options){
		.threads = p->threads,
		.max_memory = p->max_memory,
		.block_size = p->reading->block_size,
		.report = report,
		.tables = kept_tables,
		.table_count = p->outputs & wanted ? KEPT : 0,
		.each = p->outputs & TRAWL_SWEEP_REPORTS ? write_report : NULL,
		.each_context = p,
		.attach = p->outputs & TRAWL_SWEEP_FINDINGS ? tw_diagnose_attach : NULL,
		.progress = note_progress,
		.progress_context = p,
	};
}

/* ---- reading, with the merged timeline or without */

/* Called by the merge with each trace that it reads. */
static void visit_trace(void *context, uint32_t file, const struct trawl_trace *trace,
			unsigned threads)
{
	struct tw_point_analysis *p = context;
	struct tw_file_ranks *ranks = &p->reduced[file];

	*ranks = tw_rank_reduce_trace(&p->job.set, file, trace, p->load, threads,
				      trawl_allocator_default());
	p->visited[file] = true;
}

static void note_merged(struct tw_point_analysis *p, const struct trawl_merge *merge)
{
	size_t i;

	for (i = 0; i < merge->file_count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];

		if (tw_merged_is_in(rank))
			p->merged_slices += rank->counts.gpu_slices + rank->counts.host_slices;
		if (rank->of->state != TRAWL_RANK_UNREADABLE &&
		    rank->of->state != TRAWL_RANK_DUPLICATE &&
		    rank->of->state != TRAWL_RANK_CAPTURE)
			continue;
		p->incomplete = true;
		/* Where ranks are loaded too, that tells of them. */
		if (!p->reduced)
			tw_str_note(&p->notes, "%s: skipped: %s", tw_merged_file(merge, rank)->path,
				    rank->of->message[0] ? rank->of->message : "out of memory");
	}
	if (merge->unsure)
		tw_str_note(&p->notes,
			    "%s: clocks aligned by base times where no collectives are usable",
			    p->point->name);
}

/* Merges; with p->load each trace is also reduced into p->reduced. */
static int merge_point(struct tw_point_analysis *p, struct tw_rank_set *set)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_merge_options options = {
		.load.threads = p->threads,
		.load.max_memory = p->max_memory,
		.load.block_size = p->reading->block_size,
		.most_ranks = -1,
		.align = p->reading->align,
		.visit = p->load ? visit_trace : NULL,
		.visit_context = p,
		.load.progress = note_progress,
		.load.progress_context = p,
	};
	struct trawl_error err;
	struct trawl_merge merged;
	struct tw_str path;
	int status;

	tw_str_init(&path, a);
	tw_sweep_merged_path(p->sweep, p->point, &path);
	if (path.failed) {
		tw_str_release(&path);
		return fail_memory(p);
	}
	status = tw_merge_run(&merged, set, path.ptr, &options, a, &err);
	if (!status) {
		note_merged(p, &merged);
		status = trawl_merge_commit(&merged, &err);
	}
	/* Without a trace that can be read there is no timeline; the rest says why. */
	if (status == TRAWL_ENODATA) {
		tw_str_note(&p->notes, "%s: no merged timeline: %s", p->point->name, err.message);
		p->incomplete = true;
		status = 0;
	} else if (status) {
		fail(p, &err);
	}
	tw_merge_release(&merged);
	tw_str_release(&path);
	return status;
}

/* The files that the merge did not come to read whole are told of by reading them again. */
static void reduce_others(struct tw_point_analysis *p)
{
	uint32_t i;

	for (i = 0; i < p->job.set.count; i++) {
		struct tw_file_ranks *ranks = &p->reduced[i];

		if (!p->visited[i])
			*ranks = tw_rank_reduce(&p->job.set, i, p->load, p->threads,
						trawl_allocator_default());
	}
}

static int merge_and_load(struct tw_point_analysis *p, struct tw_rank_set *set)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_error err;
	size_t count;
	int status;

	/* The merge takes over a set of its own. */
	if (tw_sweep_set(p->sweep, p->point, &p->job.set, &err)) {
		fail(p, &err);
		return err.status;
	}
	count = p->job.set.count;
	p->job.allocator = a;
	p->reduced = tw_alloc_array(a, count, sizeof(*p->reduced));
	p->visited = tw_alloc_array(a, count, sizeof(*p->visited));
	status = p->reduced && p->visited ? merge_point(p, set) : fail_memory(p);
	if (p->reduced && p->visited)
		reduce_others(p);
	tw_free(a, p->visited, count * sizeof(*p->visited));
	/* Without any rank: what was left out, and why, is told all the same. */
	if (p->reduced && tw_job_settle(&p->job, p->reduced, p->load, &err) &&
	    err.status != TRAWL_ENODATA) {
		fail(p, &err);
		status = err.status;
	}
	p->reduced = NULL;
	return status;
}

/* ---- what of a job there is to tell */

static bool has_most_ranks(const struct tw_point_analysis *p)
{
	const struct trawl_sweep *sweep = p->sweep;
	size_t i;

	for (i = 0; i < sweep->count; i++)
		if (sweep->points[i].rank_count > p->point->rank_count)
			return false;
	return true;
}

/* An export holds all GPUs of its host. */
static bool is_second_of_file(const struct trawl_job *job, size_t i)
{
	size_t k, before = 0;

	for (k = 0; k < i; k++)
		before += job->ranks[k].file == job->ranks[i].file;
	return before == 1;
}

static void note_job(struct tw_point_analysis *p)
{
	const struct trawl_job *job = &p->job;
	size_t i;

	for (i = 0; i < job->left_out_count; i++) {
		const struct tw_rank *rank = &job->left_out[i];

		tw_str_note(&p->notes, "%s: skipped: %s", job->set.files[rank->file].path,
			    rank->message);
		p->incomplete = true;
	}
	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];
		const char *path = job->set.files[rank->file].path;

		if (rank->message[0])
			tw_str_note(&p->notes, "%s: %s", path, rank->message);
		if (rank->name_rank >= 0 && rank->name_rank != rank->rank)
			tw_str_note(&p->notes,
				    "%s: rank %" PRId64 " from the directory, rank %" PRId64
				    " from the trace: reports use the directory",
				    path, rank->name_rank, rank->rank);
		if (is_second_of_file(job, i)) {
			tw_str_note(&p->notes,
				    "%s: trace of several GPUs: reported is only the first", path);
			p->incomplete = true;
		}
		p->incomplete |= rank->state != TRAWL_RANK_READ;
	}
	/* Unless only some were asked for, or what others have was told to be missing here. */
	if (job->missing_count && !p->reading->ranks_chosen && has_most_ranks(p)) {
		tw_str_addf(&p->notes, "%s: missing rank%s ", p->point->name,
			    job->missing_count == 1 ? "" : "s");
		tw_rank_list_add_most(&p->notes, job->missing, job->missing_count);
		tw_str_note(&p->notes, " (world size %" PRId64 ")", job->world_size);
		p->incomplete = true;
	}
}

/* ---- findings */

static void diagnose(struct tw_point_analysis *p)
{
	struct trawl_diagnosis *diagnosis;
	struct trawl_error err;

	if (trawl_diagnose_job(&diagnosis, &p->job, p->threads, &err)) {
		fail(p, &err);
		return;
	}
	p->findings = tw_table_copy(trawl_diagnosis_findings(diagnosis), trawl_allocator_default());
	p->findings_of_step = !isnan(trawl_diagnosis_step_ns(diagnosis));
	p->findings_of_waits = trawl_diagnosis_knows_waits(diagnosis);
	if (!p->findings)
		fail_memory(p);
	trawl_diagnosis_free(diagnosis);
}

/* ---- collectives */

/* What the collectives say: ranks that the others wait for. */
static void take_straggler(struct tw_point_analysis *p, const struct trawl_table *verdict)
{
	size_t row;

	for (row = 0; verdict && row < trawl_table_rows(verdict); row++) {
		struct trawl_cell finding = tw_table_cell(verdict, row, "finding");
		struct trawl_cell ranks = tw_table_cell(verdict, row, "ranks");

		if (finding.state != TRAWL_CELL_VALUE || finding.text_len != strlen("straggler") ||
		    memcmp(finding.text, "straggler", finding.text_len) ||
		    ranks.state != TRAWL_CELL_VALUE)
			continue;
		tw_str_add(&p->straggler, ranks.text, ranks.text_len);
		break;
	}
}

/* As trawl collectives has them: findings first. */
static int write_workbook(const struct tw_point_analysis *p, const struct trawl_job_report *t,
			  struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct trawl_table **tables = tw_alloc_array(a, t->count + 1, sizeof(*tables));
	struct tw_str path;
	size_t count = 0, i;
	int status;

	tw_str_init(&path, a);
	tw_sweep_collective_path(p->sweep, p->point, &path);
	if (tables && p->findings)
		tables[count++] = p->findings;
	for (i = 0; tables && i < t->count; i++)
		tables[count++] = t->tables[i];
	status = !tables || path.failed ? tw_no_memory(err) :
					  trawl_write_xlsx(tables, count, path.ptr, err);
	tw_str_release(&path);
	tw_free(a, tables, (t->count + 1) * sizeof(*tables));
	return status;
}

static int write_collectives(struct tw_point_analysis *p, const struct trawl_job_report *t,
			     struct trawl_error *err)
{
	const struct trawl_table *comms = trawl_job_report_find(t, "nccl_summary_implicit_sync");

	if (comms && trawl_table_rows(comms)) {
		p->comms = tw_table_copy(comms, trawl_allocator_default());
		if (!p->comms)
			return tw_no_memory(err);
	} else {
		tw_str_note(&p->notes, "%s: no collectives", p->point->name);
	}
	take_straggler(p, trawl_job_report_find(t, "verdict"));
	return p->straggler.failed ? tw_no_memory(err) : write_workbook(p, t, err);
}

/* Skews and waits are not those of the times as recorded then: nobody shall take them for it. */
static void note_clocks(struct tw_point_analysis *p, const struct tw_clocks *clocks)
{
	uint32_t worst = clocks->reference, i;

	if (clocks->align != TRAWL_ALIGN_COLLECTIVES ||
	    p->reading->align == TRAWL_ALIGN_COLLECTIVES)
		return;
	for (i = 0; i < clocks->count; i++)
		if (clocks->shift_ns[i] && clocks->of[i].known &&
		    llabs(clocks->of[i].offset_ns) > llabs(clocks->of[worst].offset_ns))
			worst = i;
	if (worst != clocks->reference)
		tw_str_note(&p->notes,
			    "%s: rank clocks differ (from collective ends), rank %" PRId64
			    " by %.1f ± %.1f µs; skews are corrected (--align none: as recorded)",
			    p->point->name, p->job.ranks[worst].rank,
			    (double)clocks->of[worst].offset_ns / 1e3,
			    (double)clocks->of[worst].uncertainty_ns / 1e3);
}

static void make_collectives(struct tw_point_analysis *p)
{
	const struct tw_job_wanted all = { .findings = p->findings_of_waits ? p->findings : NULL,
					   .of_step = p->findings_of_step };
	struct trawl_job_report t;
	struct trawl_error err;

	if (tw_job_tables_make(&t, &p->job, p->reading->align, &all, p->threads,
			       trawl_allocator_default(), &err) ||
	    write_collectives(p, &t, &err))
		fail(p, &err);
	else
		note_clocks(p, &t.clocks);
	tw_job_tables_release(&t);
}

/* ---- a configuration */

static int load_traces(struct tw_point_analysis *p, struct tw_rank_set *set)
{
	struct trawl_error err;

	if (!tw_job_load(&p->job, set, p->load, trawl_allocator_default(), &err) ||
	    err.status == TRAWL_ENODATA)
		return 0;
	fail(p, &err);
	return err.status;
}

static int read_traces(struct tw_point_analysis *p, struct tw_rank_set *set)
{
	struct trawl_report_options report;
	struct tw_load_options load;
	int status;

	if (p->outputs == TRAWL_SWEEP_MERGED)
		return merge_point(p, set);
	report_options(p, &report);
	load_options(p, &report, &load);
	p->load = &load;
	p->loaded = true;
	status = p->outputs & TRAWL_SWEEP_MERGED ? merge_and_load(p, set) : load_traces(p, set);
	p->load = NULL;
	return status;
}

/* Makes what p->outputs asks for.  Several configurations are made at the same time. */
static void analyse_point(void *context, size_t number)
{
	struct tw_point_analysis *p = (struct tw_point_analysis *)context + number;
	struct tw_rank_set set = { 0 };
	struct trawl_error err;

	p->reported = tw_alloc_array(trawl_allocator_default(), p->point->rank_count + 1,
				     sizeof(*p->reported));
	if (!p->reported) {
		fail_memory(p);
		return;
	}
	if (tw_sweep_set(p->sweep, p->point, &set, &err)) {
		if (err.status == TRAWL_ENOMEM)
			fail(p, &err);
		tw_str_note(&p->notes, "%s", err.message);
		p->incomplete = true;
		return;
	}
	if (!read_traces(p, &set) && p->loaded) {
		note_job(p);
		if (p->outputs & TRAWL_SWEEP_FINDINGS && p->job.count)
			diagnose(p);
		if (p->outputs & TRAWL_SWEEP_COLLECTIVES && p->job.count)
			make_collectives(p);
	}
	tw_rank_set_release(&set);
	if (p->notes.failed)
		fail_memory(p);
}

void tw_point_analysis_release(struct tw_point_analysis *p)
{
	tw_free(trawl_allocator_default(), p->reported,
		(p->point->rank_count + 1) * sizeof(*p->reported));
	if (p->loaded)
		tw_job_release(&p->job);
	trawl_table_free(p->comms);
	trawl_table_free(p->findings);
	tw_str_release(&p->straggler);
	tw_str_release(&p->notes);
	pthread_mutex_destroy(&p->lock);
}

/* ---- all of them */

static int64_t bytes_of(const struct trawl_sweep *sweep)
{
	struct stat info;
	int64_t bytes = 0;
	size_t i, k;

	for (i = 0; i < sweep->count; i++)
		for (k = 0; k < sweep->points[i].rank_count; k++)
			if (sweep->points[i].ranks[k].trace &&
			    !stat(sweep->points[i].ranks[k].trace, &info))
				bytes += info.st_size;
	return bytes;
}

void tw_sweep_analyse(const struct trawl_sweep *sweep, const struct tw_sweep_reading *reading,
		      unsigned outputs, struct tw_point_analysis *analyses)
{
	unsigned threads = reading->threads ? reading->threads : tw_thread_count();
	size_t count = sweep->count, at_once = threads < count ? threads : count, i;
	int64_t memory = reading->max_memory ? reading->max_memory : tw_half_of_memory();
	struct tw_sweep_progress progress = { .bytes = bytes_of(sweep) };

	pthread_mutex_init(&progress.lock, NULL);
	for (i = 0; i < count; i++) {
		analyses[i] = (struct tw_point_analysis){
			.sweep = sweep,
			.point = &sweep->points[i],
			.reading = reading,
			.outputs = outputs,
			.threads = threads / (unsigned)at_once,
			.max_memory = memory / (int64_t)at_once,
			.progress = &progress,
		};
		tw_str_init(&analyses[i].notes, trawl_allocator_default());
		tw_str_init(&analyses[i].straggler, trawl_allocator_default());
		pthread_mutex_init(&analyses[i].lock, NULL);
	}
	tw_parallel(threads, count, analyse_point, analyses);
	pthread_mutex_destroy(&progress.lock);
}

int tw_sweep_check_strict(const struct tw_point_analysis *analyses, size_t count,
			  struct trawl_error *err)
{
	size_t i, k;

	for (i = 0; i < count; i++) {
		const struct trawl_job *job = &analyses[i].job;

		for (k = 0; k < job->count; k++)
			if (job->ranks[k].worst != TRAWL_NOTE)
				return trawl_error_set(err, TRAWL_EFORMAT,
						       "%s: not accepted with --strict: %s",
						       job->set.files[job->ranks[k].file].path,
						       job->ranks[k].message);
		if (analyses[i].incomplete)
			return trawl_error_set(
				err, TRAWL_EFORMAT,
				"%s: not accepted with --strict: inputs were skipped",
				analyses[i].point->name);
	}
	return 0;
}

const struct tw_rank *tw_point_job_rank(const struct tw_point_analysis *p, int64_t rank)
{
	const struct trawl_job *job = &p->job;
	size_t i, k;

	for (i = 0; i < p->point->rank_count && p->point->ranks[i].rank != rank; i++)
		;
	if (i == p->point->rank_count || !p->loaded || !p->point->ranks[i].trace)
		return NULL;
	for (k = 0; k < job->count; k++)
		if (!strcmp(job->set.files[job->ranks[k].file].path, p->point->ranks[i].trace))
			return &job->ranks[k];
	return NULL;
}

const struct trawl_table *tw_point_rank_table(const struct tw_point_analysis *p, int64_t rank,
					      const char *name)
{
	const struct tw_rank *r = tw_point_job_rank(p, rank);
	size_t i;

	for (i = 0; r && i < r->table_count; i++)
		if (!strcmp(trawl_table_name(r->tables[i]), name))
			return r->tables[i];
	return NULL;
}
