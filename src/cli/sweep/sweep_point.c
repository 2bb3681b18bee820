#include "cli/sweep/sweep_point.h"

#include "base/alloc.h"
#include "cli/ranks/ranks.h"
#include "data/limits.h"
#include "job/tables/all_tables.h"
#include "os/thread.h"
#include "table/pack.h"
#include "table/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of each rank's report, what later stages look at. */
static const char *const kept_tables[] = { "gpu_timeline",   "ops_summary",	 "GEMM",
					   "gemm_instances", "kernel_instances", "quality" };
#define KEPT (sizeof(kept_tables) / sizeof(kept_tables[0]))

/* ---- what went wrong */

static void fail(struct cli_sweep_made *made, const struct trawl_error *err)
{
	pthread_mutex_lock(&made->lock);
	if (!made->status) {
		made->status = err->status;
		made->failure = *err;
	}
	pthread_mutex_unlock(&made->lock);
}

static int fail_memory(struct cli_sweep_made *made)
{
	struct trawl_error err;
	int status = tw_no_memory(&err);

	fail(made, &err);
	return status;
}

/* ---- progress of all configurations together */

static int tell_progress(void *context, int64_t bytes_done, int64_t bytes)
{
	struct cli_sweep_made *made = context;
	struct cli_sweep_progress *p = made->progress;
	int status;

	(void)bytes;
	pthread_mutex_lock(&p->lock);
	p->done += bytes_done - made->bytes_done;
	made->bytes_done = bytes_done;
	status = cli_progress_update(&p->shown, p->done, p->bytes);
	pthread_mutex_unlock(&p->lock);
	return status;
}

static int tell_file_progress(void *context, size_t files_done, size_t files, int64_t bytes_done,
			      int64_t bytes)
{
	(void)files_done;
	(void)files;
	return tell_progress(context, bytes_done, bytes);
}

/* ---- reports of ranks */

/* The rank of the point whose trace a file of the set is. */
static size_t rank_of_file(const struct cli_sweep_made *made, const struct tw_rank_set *set,
			   uint32_t file)
{
	const struct tw_sweep_point *point = made->point;
	size_t i;

	for (i = 0; i < point->rank_count; i++)
		if (point->ranks[i].trace && !strcmp(point->ranks[i].trace, set->files[file].path))
			break;
	return i;
}

struct each {
	struct cli_sweep_made *made;
	const struct tw_rank_set *set;
};

/* Writes the report of a rank; of an export of several GPUs that of the first. */
static void write_report(void *context, uint32_t file, size_t number,
			 const struct trawl_report *report)
{
	const struct each *each = context;
	struct cli_sweep_made *made = each->made;
	size_t i = rank_of_file(made, each->set, file), n = trawl_report_tables(report);
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct trawl_table **tables;
	struct trawl_error err;
	struct tw_str path;
	size_t k;

	if (number || i == made->point->rank_count)
		return;
	tables = tw_alloc_array(a, n, sizeof(*tables));
	tw_str_init(&path, a);
	tw_sweep_report_path(&made->of->sweep, made->point, made->point->ranks[i].rank, &path);
	if (!tables || path.failed) {
		fail_memory(made);
	} else {
		for (k = 0; k < n; k++)
			tables[k] = trawl_report_table(report, k);
		if (trawl_write_xlsx(tables, n, path.ptr, &err))
			fail(made, &err);
		else
			made->reported[i] = true;
	}
	tw_str_release(&path);
	tw_free(a, tables, n * sizeof(*tables));
}

static void report_options(const struct cli_sweep_made *made, struct trawl_report_options *options)
{
	trawl_report_options_init(options);
	options->short_kernel_ns = TW_LIMIT_SWEEP_SHORT_KERNEL_US * 1000;
	options->gemm_instances = made->makes & (CLI_MAKE_REPORTS | CLI_MAKE_INSTANCES);
	options->kernel_instances = made->makes & CLI_MAKE_INSTANCES;
}

static void load_options(struct cli_sweep_made *made, struct each *each,
			 const struct trawl_report_options *report, struct tw_load_options *load)
{
	unsigned wanted = CLI_MAKE_REPORTS | CLI_MAKE_INSTANCES;

	*load = (struct tw_load_options){
		.threads = made->threads,
		.max_memory = made->max_memory,
		.block_size = cli_block_size(),
		.report = report,
		.tables = kept_tables,
		.table_count = made->makes & wanted ? KEPT : 0,
		.each = made->makes & CLI_MAKE_REPORTS ? write_report : NULL,
		.each_context = each,
		.progress = tell_file_progress,
		.progress_context = made,
	};
}

/* ---- reading, with the merged timeline or without */

struct visit {
	struct cli_sweep_made *made;
	const struct tw_rank_set *set;
	const struct tw_load_options *load;
};

/* Called by the merge with each trace that it reads. */
static void visit_trace(void *context, uint32_t file, const struct trawl_trace *trace,
			unsigned threads)
{
	const struct visit *v = context;
	struct tw_file_ranks *ranks = &v->made->reduced[file];

	*ranks = tw_rank_reduce_trace(v->set, file, trace, v->load, threads,
				      trawl_allocator_default());
	v->made->visited[file] = true;
}

static void tell_merged(struct cli_sweep_made *made, const struct tw_merge *merge)
{
	size_t i;

	for (i = 0; i < merge->file_count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];

		if (tw_merged_is_in(rank))
			made->merged_slices += rank->counts.gpu_slices + rank->counts.host_slices;
		if (rank->of->state != TW_RANK_UNREADABLE && rank->of->state != TW_RANK_DUPLICATE &&
		    rank->of->state != TW_RANK_CAPTURE)
			continue;
		made->incomplete = true;
		/* Where ranks are loaded too, that tells of them. */
		if (!made->reduced)
			tw_str_addf(&made->told, "%s: left out: %s\n",
				    tw_merged_file(merge, rank)->path,
				    rank->of->message[0] ? rank->of->message : "out of memory");
	}
	if (merge->unsure)
		tw_str_addf(&made->told,
			    "%s: clocks are aligned by base times where collectives do not tell\n",
			    made->point->name);
}

/* Merges; with `load` each trace is also reduced into made->reduced. */
static int merge(struct cli_sweep_made *made, struct tw_rank_set *set,
		 const struct tw_load_options *load)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct visit visit = { made, NULL, load };
	struct tw_merge_options options = {
		.load.threads = made->threads,
		.load.max_memory = made->max_memory,
		.load.block_size = cli_block_size(),
		.most_ranks = -1,
		.align = made->of->align,
		.visit = load ? visit_trace : NULL,
		.visit_context = &visit,
		.load.progress = tell_file_progress,
		.load.progress_context = made,
	};
	struct trawl_error err;
	struct tw_merge merged;
	struct tw_str path;
	int status;

	tw_str_init(&path, a);
	tw_sweep_merged_path(&made->of->sweep, made->point, &path);
	if (path.failed) {
		tw_str_release(&path);
		return fail_memory(made);
	}
	visit.set = &merged.job.set;
	status = tw_merge_run(&merged, set, path.ptr, &options, a, &err);
	if (!status) {
		tell_merged(made, &merged);
		status = tw_merge_commit(&merged, &err);
	}
	/* Without a trace that can be read there is no timeline; the rest says why. */
	if (status == TRAWL_ENODATA) {
		tw_str_addf(&made->told, "%s: no merged timeline: %s\n", made->point->name,
			    err.message);
		made->incomplete = true;
		status = 0;
	} else if (status) {
		fail(made, &err);
	}
	tw_merge_release(&merged);
	tw_str_release(&path);
	return status;
}

/* The files that the merge did not come to read whole are told of by reading them again. */
static void reduce_others(struct cli_sweep_made *made, const struct tw_rank_set *set,
			  const struct tw_load_options *load)
{
	uint32_t i;

	for (i = 0; i < set->count; i++) {
		struct tw_file_ranks *ranks = &made->reduced[i];

		if (!made->visited[i])
			*ranks = tw_rank_reduce(set, i, load, made->threads,
						trawl_allocator_default());
	}
}

static int merge_and_load(struct cli_sweep_made *made, struct tw_rank_set *set,
			  struct tw_load_options *load, struct each *each)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_error err;
	size_t count;
	int status;

	/* The merge takes over a set of its own. */
	if (tw_sweep_set(&made->of->sweep, made->point, &made->job.set, &err)) {
		fail(made, &err);
		return err.status;
	}
	count = made->job.set.count;
	made->job.allocator = a;
	each->set = &made->job.set;
	made->reduced = tw_alloc_array(a, count, sizeof(*made->reduced));
	made->visited = tw_alloc_array(a, count, sizeof(*made->visited));
	status = made->reduced && made->visited ? merge(made, set, load) : fail_memory(made);
	if (made->reduced && made->visited)
		reduce_others(made, &made->job.set, load);
	tw_free(a, made->visited, count * sizeof(*made->visited));
	/* Without any rank: what was left out, and why, is told all the same. */
	if (made->reduced && tw_job_settle(&made->job, made->reduced, load, &err) &&
	    err.status != TRAWL_ENODATA) {
		fail(made, &err);
		status = err.status;
	}
	made->reduced = NULL;
	return status;
}

/* ---- what of a job there is to tell */

static bool has_most_ranks(const struct cli_sweep_made *made)
{
	const struct tw_sweep *sweep = &made->of->sweep;
	size_t i;

	for (i = 0; i < sweep->count; i++)
		if (sweep->points[i].rank_count > made->point->rank_count)
			return false;
	return true;
}

/* An export holds all GPUs of its host. */
static bool is_second_of_file(const struct tw_job *job, size_t i)
{
	size_t k, before = 0;

	for (k = 0; k < i; k++)
		before += job->ranks[k].file == job->ranks[i].file;
	return before == 1;
}

static void tell_job(struct cli_sweep_made *made)
{
	const struct tw_job *job = &made->job;
	size_t i;

	for (i = 0; i < job->left_out_count; i++) {
		const struct tw_rank *rank = &job->left_out[i];

		tw_str_addf(&made->told, "%s: left out: %s\n", job->set.files[rank->file].path,
			    rank->message);
		made->incomplete = true;
	}
	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];
		const char *path = job->set.files[rank->file].path;

		if (rank->message[0])
			tw_str_addf(&made->told, "%s: %s\n", path, rank->message);
		if (rank->name_rank >= 0 && rank->name_rank != rank->rank)
			tw_str_addf(&made->told,
				    "%s: its directory says rank %" PRId64
				    ", the trace rank %" PRId64
				    "; reports are named by the directory\n",
				    path, rank->name_rank, rank->rank);
		if (is_second_of_file(job, i)) {
			tw_str_addf(&made->told,
				    "%s: it is of several GPUs; its report is of the first alone\n",
				    path);
			made->incomplete = true;
		}
		made->incomplete |= rank->state != TW_RANK_READ;
	}
	/* Unless only some were asked for, or what others have was told to be missing here. */
	if (job->missing_count && !made->of->filter.rank_count && has_most_ranks(made)) {
		tw_str_addf(&made->told, "%s: no trace of rank%s ", made->point->name,
			    job->missing_count == 1 ? "" : "s");
		cli_add_rank_list(&made->told, job->missing, job->missing_count);
		tw_str_addf(&made->told, " (the job has %" PRId64 ")\n", job->world_size);
		made->incomplete = true;
	}
}

/* ---- collectives */

/* What the collectives say: ranks that the others wait for. */
static int take_straggler(struct cli_sweep_made *made, const struct trawl_table *verdict)
{
	size_t row;

	for (row = 0; verdict && row < trawl_table_rows(verdict); row++) {
		struct trawl_cell finding = tw_table_cell(verdict, row, "finding");
		struct trawl_cell ranks = tw_table_cell(verdict, row, "ranks");

		if (finding.state != TRAWL_CELL_VALUE || finding.text_len != strlen("straggler") ||
		    memcmp(finding.text, "straggler", finding.text_len) ||
		    ranks.state != TRAWL_CELL_VALUE)
			continue;
		made->straggler = tw_alloc(trawl_allocator_default(), ranks.text_len + 1);
		if (!made->straggler)
			return -1;
		memcpy(made->straggler, ranks.text, ranks.text_len);
		made->straggler[ranks.text_len] = 0;
		break;
	}
	return 0;
}

static int write_collectives(struct cli_sweep_made *made, struct trawl_table **tables, size_t count,
			     struct trawl_error *err)
{
	const struct trawl_table *comms =
		tw_ranks_tables_find(tables, count, "nccl_summary_implicit_sync");
	struct tw_str path;
	int status;

	if (comms && trawl_table_rows(comms)) {
		made->comms = tw_table_copy(comms, trawl_allocator_default());
		if (!made->comms)
			return tw_no_memory(err);
	} else {
		tw_str_addf(&made->told, "%s: no collectives in it\n", made->point->name);
	}
	if (take_straggler(made, tw_ranks_tables_find(tables, count, "verdict")))
		return tw_no_memory(err);
	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_collective_path(&made->of->sweep, made->point, &path);
	status = path.failed ? tw_no_memory(err) :
			       trawl_write_xlsx((const struct trawl_table *const *)tables, count,
						path.ptr, err);
	tw_str_release(&path);
	return status;
}

/* Skews and waits are not those of the times as recorded then: nobody shall take them for it. */
static void tell_clocks(struct cli_sweep_made *made, const struct tw_clocks *clocks)
{
	uint32_t worst = clocks->reference, i;

	if (clocks->align != TW_ALIGN_COLLECTIVES || made->of->align == TW_ALIGN_COLLECTIVES)
		return;
	for (i = 0; i < clocks->count; i++)
		if (clocks->shift_ns[i] && clocks->of[i].known &&
		    llabs(clocks->of[i].offset_ns) > llabs(clocks->of[worst].offset_ns))
			worst = i;
	if (worst != clocks->reference)
		tw_str_addf(
			&made->told,
			"%s: by the ends of collectives the clocks of its ranks differ, that of "
			"rank %" PRId64 " by %.1f ± %.1f µs; skews are without that (--align "
			"none: as recorded)\n",
			made->point->name, made->job.ranks[worst].rank,
			(double)clocks->of[worst].offset_ns / 1e3,
			(double)clocks->of[worst].uncertainty_ns / 1e3);
}

static void make_collectives(struct cli_sweep_made *made)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_matches matches = { 0 };
	struct tw_clocks clocks = { 0 };
	const struct tw_ranks_input in = { &made->job, &matches, &clocks, a };
	struct trawl_table **tables = tw_alloc_array(a, tw_ranks_table_count, sizeof(*tables));
	struct trawl_error err;
	size_t count = 0;

	if (!tables || tw_matches_build(&matches, &made->job, a) ||
	    tw_clocks_measure(&clocks, &made->job, &matches, made->of->align, a))
		fail_memory(made);
	else if (tw_ranks_tables_make(&in, made->threads, tables, &count, &err) ||
		 write_collectives(made, tables, count, &err))
		fail(made, &err);
	else
		tell_clocks(made, &clocks);
	if (tables)
		tw_ranks_tables_free(tables, count);
	tw_free(a, tables, tw_ranks_table_count * sizeof(*tables));
	tw_clocks_release(&clocks);
	tw_matches_release(&matches);
}

/* ---- a configuration */

static int read_traces(struct cli_sweep_made *made, struct tw_rank_set *set)
{
	struct trawl_report_options report;
	struct tw_load_options load;
	struct each each = { made, &made->job.set };
	struct trawl_error err;

	if (made->makes == CLI_MAKE_MERGED)
		return merge(made, set, NULL);
	report_options(made, &report);
	load_options(made, &each, &report, &load);
	made->loaded = true;
	if (made->makes & CLI_MAKE_MERGED)
		return merge_and_load(made, set, &load, &each);
	if (!tw_job_load(&made->job, set, &load, trawl_allocator_default(), &err))
		return 0;
	if (err.status != TRAWL_ENODATA) {
		fail(made, &err);
		return err.status;
	}
	return 0;
}

/* Makes what made->makes asks for.  Several configurations are made at the same time. */
static void make_point(void *context, size_t number)
{
	struct cli_sweep_made *made = (struct cli_sweep_made *)context + number;
	struct tw_rank_set set = { 0 };
	struct trawl_error err;

	tw_str_init(&made->told, trawl_allocator_default());
	pthread_mutex_init(&made->lock, NULL);
	made->reported = tw_alloc_array(trawl_allocator_default(), made->point->rank_count,
					sizeof(*made->reported));
	if (!made->reported && made->point->rank_count) {
		fail_memory(made);
		return;
	}
	if (tw_sweep_set(&made->of->sweep, made->point, &set, &err)) {
		if (err.status == TRAWL_ENOMEM)
			fail(made, &err);
		tw_str_addf(&made->told, "%s\n", err.message);
		made->incomplete = true;
		return;
	}
	if (!read_traces(made, &set) && made->loaded) {
		tell_job(made);
		if (made->makes & CLI_MAKE_COLLECTIVES && made->job.count)
			make_collectives(made);
	}
	tw_rank_set_release(&set);
	if (made->told.failed)
		fail_memory(made);
}

void cli_sweep_made_release(struct cli_sweep_made *made)
{
	tw_free(trawl_allocator_default(), made->reported,
		made->point->rank_count * sizeof(*made->reported));
	if (made->loaded)
		tw_job_release(&made->job);
	tw_table_free(made->comms);
	if (made->straggler)
		tw_free(trawl_allocator_default(), made->straggler, strlen(made->straggler) + 1);
	tw_str_release(&made->told);
	pthread_mutex_destroy(&made->lock);
}

/* ---- all of them */

static int64_t bytes_of(const struct tw_sweep *sweep)
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

/* With --strict, the first thing that is odd in a trace or not there. */
static int strict_status(const struct cli_sweep *s, const struct cli_sweep_made *made)
{
	size_t i, k;

	if (!s->common.strict)
		return CLI_DONE;
	for (i = 0; i < s->sweep.count; i++) {
		const struct tw_job *job = &made[i].job;

		for (k = 0; k < job->count; k++) {
			if (job->ranks[k].worst == TRAWL_NOTE)
				continue;
			cli_message("%s: not accepted with --strict: %s",
				    job->set.files[job->ranks[k].file].path, job->ranks[k].message);
			return CLI_FAILED;
		}
		if (made[i].incomplete) {
			cli_message("%s: not accepted with --strict: something was left out",
				    made[i].point->name);
			return CLI_FAILED;
		}
	}
	return CLI_DONE;
}

int cli_sweep_make_all(const struct cli_sweep *s, unsigned makes, struct cli_sweep_made *made)
{
	unsigned threads = s->common.threads ? s->common.threads : tw_thread_count();
	size_t count = s->sweep.count, at_once = threads < count ? threads : count, i;
	int64_t memory = s->max_memory ? s->max_memory : tw_half_of_memory();
	int status = s->sweep.incomplete ? CLI_INCOMPLETE : CLI_DONE;
	struct cli_sweep_progress progress = { .bytes = bytes_of(&s->sweep) };

	pthread_mutex_init(&progress.lock, NULL);
	cli_progress_begin(&progress.shown, s->sweep.directory, s->common.quiet);
	for (i = 0; i < count; i++)
		made[i] = (struct cli_sweep_made){
			.of = s,
			.point = &s->sweep.points[i],
			.makes = makes,
			.threads = threads / (unsigned)at_once,
			.max_memory = memory / (int64_t)at_once,
			.progress = &progress,
		};
	tw_parallel(threads, count, make_point, made);
	cli_progress_end(&progress.shown);
	pthread_mutex_destroy(&progress.lock);
	for (i = 0; i < count; i++) {
		if (!s->common.quiet)
			cli_tell_lines(&made[i].told);
		if (made[i].status && status != CLI_FAILED)
			status = cli_fail(&made[i].failure);
		else if (made[i].incomplete && status == CLI_DONE)
			status = CLI_INCOMPLETE;
	}
	return strict_status(s, made) ? CLI_FAILED : status;
}

const struct tw_rank *cli_sweep_job_rank(const struct cli_sweep_made *made, int64_t rank)
{
	const struct tw_job *job = &made->job;
	size_t i, k;

	for (i = 0; i < made->point->rank_count && made->point->ranks[i].rank != rank; i++)
		;
	if (i == made->point->rank_count || !made->loaded || !made->point->ranks[i].trace)
		return NULL;
	for (k = 0; k < job->count; k++)
		if (!strcmp(job->set.files[job->ranks[k].file].path, made->point->ranks[i].trace))
			return &job->ranks[k];
	return NULL;
}

const struct trawl_table *cli_sweep_rank_table(const struct cli_sweep_made *made, int64_t rank,
					       const char *name)
{
	const struct tw_rank *r = cli_sweep_job_rank(made, rank);
	size_t i;

	for (i = 0; r && i < r->table_count; i++)
		if (!strcmp(trawl_table_name(r->tables[i]), name))
			return r->tables[i];
	return NULL;
}
