#include "job/report/read_job.h"

#include "base/alloc.h"
#include "diagnose/job_diagnosis.h"
#include "job/set/job_notes.h"
#include "job/sums/sums.h"
#include "job/transport/gather.h"
#include "path/job_path.h"

void trawl_job_options_init(struct trawl_job_options *options)
{
	*options = (struct trawl_job_options){ 0 };
}

/* Options with the defaults in, and what they come to for reading. */
struct reading {
	struct trawl_job_options options;
	struct tw_load_options load;
	const struct trawl_allocator *allocator;
	const char **names; /* of tables to keep */
	struct tw_sources sources;
};

static int begin(struct reading *r, const struct trawl_job_options *given, struct trawl_error *err)
{
	struct trawl_job_options *o = &r->options;

	*r = (struct reading){ 0 };
	trawl_job_options_init(o);
	if (given)
		*o = *given;
	r->allocator = o->allocator ? o->allocator : trawl_allocator_default();
	r->load = (struct tw_load_options){
		.threads = o->threads,
		.max_memory = o->max_memory,
		.gpus_per_node = o->gpus_per_node,
		.block_size = o->block_size,
		.report = o->report,
		.attach = o->findings	  ? tw_diagnose_attach :
			  o->dependencies ? tw_path_attach :
					    NULL,
		.pass_attached = o->findings	 ? tw_diagnose_pass :
				 o->dependencies ? tw_path_pass :
						   NULL,
		.progress = o->progress,
		.progress_context = o->progress_context,
	};
	if (o->source_count) {
		const struct trawl_read_options read = {
			.allocator = r->allocator,
			.threads = o->threads,
			.block_size = o->block_size,
			.no_python = o->report && o->report->no_python,
		};
		int status = tw_sources_begin(&r->sources, o->sources, o->source_count, &read, err);

		if (status)
			return status;
		r->load.sources = &r->sources;
	}
	if (o->collectives_only)
		return 0;
	r->names = tw_alloc_array(r->allocator, tw_analysis_count, sizeof(*r->names));
	if (!r->names)
		return tw_no_memory(err);
	r->load.tables = r->names;
	r->load.table_count = tw_sums_names(r->names, tw_analysis_count);
	r->load.keep = tw_sums_keep;
	return 0;
}

/* `status`, else what was wrong with a source. */
static int end(struct reading *r, int status, struct trawl_error *err)
{
	struct trawl_error of_source;
	int ended = r->options.source_count ? tw_sources_end(&r->sources, &of_source) : 0;

	tw_free(r->allocator, r->names, tw_analysis_count * sizeof(*r->names));
	if (status || !ended)
		return status;
	*err = of_source;
	return ended;
}

/* What there is to tell of it, and whether it is one. */
static int check(struct trawl_job *job, const struct reading *r, struct trawl_error *err)
{
	const struct trawl_job_options *o = &r->options;
	const struct tw_job_rules rules = {
		.strict = o->strict,
		.quiet = !o->note,
		.as_ranks = o->as_ranks,
		.all_groups = true,
		.ranks_chosen = o->ranks_chosen,
		.steps_chosen = o->report && (o->report->step_first >= 0 || o->report->range),
	};
	struct tw_str notes;
	int status;

	tw_str_init(&notes, r->allocator);
	status = tw_job_check(job, &rules, &notes, &job->whole, err);
	tw_str_tell(&notes, o->note, o->note_context);
	if (!status && notes.failed)
		status = tw_no_memory(err);
	tw_str_release(&notes);
	return status;
}

/* By this process, or by those that were started with it. */
static int load(struct trawl_job *job, const char *const *paths, size_t count,
		const struct reading *r, struct tw_cluster *cluster, struct trawl_error *err)
{
	struct tw_rank_set set = { 0 };
	int status = tw_rank_set_find(&set, paths, count, r->allocator, err);

	if (status)
		return status;
	return cluster ? tw_job_gather(job, &set, &r->load, cluster, r->allocator, err) :
			 tw_job_load(job, &set, &r->load, r->allocator, err);
}

int tw_job_read(struct trawl_job **out, const char *const *paths, size_t count,
		const struct trawl_job_options *options, struct tw_cluster *cluster,
		struct trawl_error *err)
{
	struct trawl_job *job = NULL;
	struct reading r;
	int status = begin(&r, options, err);

	*out = NULL;
	if (!status) {
		job = tw_alloc_array(r.allocator, 1, sizeof(*job));
		status = job ? load(job, paths, count, &r, cluster, err) : tw_no_memory(err);
	}
	if (!status)
		status = check(job, &r, err);
	status = end(&r, status, err);
	if (!status) {
		*out = job;
		return 0;
	}
	if (job) {
		tw_job_release(job);
		tw_free(r.allocator, job, sizeof(*job));
	}
	return status;
}

int trawl_job_read(struct trawl_job **out, const char *const *paths, size_t count,
		   const struct trawl_job_options *options, struct trawl_error *err)
{
	return tw_job_read(out, paths, count, options, NULL, err);
}

void trawl_job_free(struct trawl_job *job)
{
	const struct trawl_allocator *a;

	if (!job)
		return;
	a = job->allocator;
	tw_job_release(job);
	tw_free(a, job, sizeof(*job));
}

int tw_job_serve(const struct trawl_job_options *options, struct tw_cluster *cluster,
		 struct trawl_error *err)
{
	struct tw_str task;
	struct reading r;
	bool over = false;
	int status = begin(&r, options, err);

	tw_str_init(&task, r.allocator);
	while (!status && !over) {
		status = tw_cluster_await(cluster, &task, &over, err);
		if (!status && !over)
			status = tw_gather_share(task.ptr, task.len, &r.load, cluster, r.allocator,
						 err);
	}
	tw_str_release(&task);
	return end(&r, status, err);
}

/* ---- what is known of it */

struct trawl_rank tw_rank_shown(const struct trawl_job *job, const struct tw_rank *rank)
{
	return (struct trawl_rank){
		.rank = rank->rank,
		.state = rank->state,
		.status = (enum trawl_status)rank->status,
		.rule = rank->rule,
		.name_rank = rank->name_rank,
		.told_rank = -1,
		.path = job->set.files[rank->file].path,
		.message = rank->message,
		.host = rank->host,
		.device = rank->device_name,
		.gpu = rank->gpu,
		.view = rank->view,
		.events = rank->events,
		.gpu_events = rank->gpu_events,
		.collectives = rank->collective_count,
		.launched_ns = rank->launched_ns,
		.elsewhere_ns = rank->elsewhere_ns,
	};
}

const struct trawl_job *trawl_job_next(const struct trawl_job *job)
{
	return job->next;
}

const char *trawl_job_group(const struct trawl_job *job)
{
	return job->group;
}

size_t trawl_job_ranks(const struct trawl_job *job)
{
	return job->count;
}

struct trawl_rank trawl_job_rank(const struct trawl_job *job, size_t index)
{
	return tw_rank_shown(job, &job->ranks[index]);
}

size_t trawl_job_left_out(const struct trawl_job *job)
{
	return job->left_out_count;
}

struct trawl_rank trawl_job_left_out_rank(const struct trawl_job *job, size_t index)
{
	return tw_rank_shown(job, &job->left_out[index]);
}

const int64_t *trawl_job_missing(const struct trawl_job *job, size_t *count)
{
	*count = job->missing_count;
	return job->missing;
}

bool trawl_job_is_whole(const struct trawl_job *job)
{
	return job->whole;
}

int64_t trawl_job_world_size(const struct trawl_job *job)
{
	return job->world_size;
}

int64_t trawl_job_gpus_per_node(const struct trawl_job *job)
{
	return job->gpus_per_node;
}

const char *trawl_job_directory(const struct trawl_job *job)
{
	return job->set.directory;
}
