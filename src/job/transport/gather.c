#include "job/transport/gather.h"

#include "base/alloc.h"
#include "job/transport/rank_bytes.h"
#include "job/transport/work_sharing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOST_BYTES 256

/* Threads and memory are shared by the processes of a machine, unless they were asked for. */
static struct tw_load_options own_options(const struct tw_load_options *options,
					  const struct tw_cluster *cluster)
{
	struct tw_load_options own = *options;

	if (!own.threads)
		own.threads = tw_cluster_threads(cluster);
	if (!own.max_memory)
		own.max_memory = tw_half_of_memory() / cluster->here;
	own.progress = NULL;
	own.progress_context = NULL;
	return own;
}

/* ---- a process that is led --------------------------------------------------------------- */

struct reducing {
	struct tw_led_work work;
	struct tw_rank_set set; /* of its files, by place in the task; paths are borrowed */
	struct tw_load_options options;
	char host[HOST_BYTES];
};

static int make_room(void *context, size_t count)
{
	struct reducing *r = context;

	r->set.files = tw_alloc_array(r->work.allocator, count, sizeof(*r->set.files));
	if (!r->set.files)
		return TRAWL_ENOMEM;
	r->set.count = r->set.capacity = count;
	return 0;
}

static void pass_own_file(void *context, size_t place, struct tw_wire *task)
{
	struct reducing *r = context;

	tw_pass_file(task, &r->set.files[place]);
}

/* The ranks of a file; the name of this machine where it cannot see the file. */
static void post_ranks(void *context, uint32_t place, struct tw_file_ranks file)
{
	struct reducing *r = context;
	bool unseen = file.count == 1 && file.ranks->state == TRAWL_RANK_UNREADABLE &&
		      access(r->set.files[place].path, R_OK);
	size_t host_len = unseen ? strlen(r->host) : 0, i;
	struct tw_str letter;
	struct tw_wire wire = tw_letter_begin(&r->work, place, &letter);

	tw_wire_text(&wire, r->host, &host_len);
	tw_wire_count(&wire, file.count, 1);
	for (i = 0; i < file.count && !file.status; i++) {
		file.ranks[i].file = r->work.numbers[place];
		tw_rank_pack(&file.ranks[i], &letter);
		if (r->options.pass_attached) {
			wire = tw_wire_to(&letter);
			r->options.pass_attached(&wire, &file.ranks[i]);
			letter.failed |= wire.status != 0;
		}
	}
	letter.failed |= file.status != 0;
	tw_ranks_free(file.ranks, file.count, r->work.allocator);
	tw_letter_post(&r->work, place, &letter);
}

static void *reduce_files(void *context)
{
	struct reducing *r = context;

	tw_files_reduce(&r->set, &r->options, r->work.allocator, post_ranks, r);
	return NULL;
}

int tw_gather_share(const char *task, size_t len, const struct tw_load_options *options,
		    struct tw_cluster *cluster, const struct trawl_allocator *allocator,
		    struct trawl_error *err)
{
	struct reducing r = {
		.options = own_options(options, cluster),
		.work = {
			.cluster = cluster,
			.allocator = allocator,
			.task = TW_TASK_REDUCE,
			.most_waiting = SIZE_MAX,
			.context = &r,
			.make_room = make_room,
			.pass_item = pass_own_file,
			.do_items = reduce_files,
		},
	};
	int status;

	if (gethostname(r.host, sizeof(r.host) - 1) || !r.host[0])
		snprintf(r.host, sizeof(r.host), "process %d", cluster->rank);
	status = tw_do_task(&r.work, task, len, err);
	tw_free(allocator, r.set.files, r.set.capacity * sizeof(*r.set.files));
	return status;
}

/* ---- process 0 --------------------------------------------------------------------------- */

struct gathering {
	const struct trawl_job *job;
	const struct tw_load_options *options;
	struct tw_cluster *cluster;
	uint32_t *owner, *own_file;  /* by file: its process; by file of `own`: its number */
	struct tw_file_ranks *files; /* of the set; each is set once */
	struct tw_rank_set own;	     /* its own files */

	pthread_mutex_t lock; /* of all below: progress is told from two threads */
	int64_t bytes, bytes_done, own_bytes;
	bool canceled;
};

static void tell_progress(struct gathering *g)
{
	const struct tw_load_options *o = g->options;

	if (o->progress && !g->canceled)
		g->canceled = o->progress(o->progress_context, g->bytes_done + g->own_bytes,
					  g->bytes) != 0;
}

static void note_file(struct gathering *g, size_t file)
{
	pthread_mutex_lock(&g->lock);
	g->bytes_done += g->job->set.files[file].bytes;
	tell_progress(g);
	pthread_mutex_unlock(&g->lock);
}

static int own_progress(void *context, int64_t bytes_done, int64_t bytes)
{
	struct gathering *g = context;
	bool canceled;

	(void)bytes;
	pthread_mutex_lock(&g->lock);
	g->own_bytes = bytes_done;
	tell_progress(g);
	canceled = g->canceled;
	pthread_mutex_unlock(&g->lock);
	return canceled;
}

static void pass_file(void *context, size_t file, struct tw_wire *task)
{
	struct gathering *g = context;

	tw_pass_file(task, &g->job->set.files[file]);
}

/* A file of which there will be nothing: its rank says why. */
static void leave_out_file(void *context, size_t file, const char *message)
{
	struct gathering *g = context;

	g->files[file] =
		tw_rank_of_failure(&g->job->set, (uint32_t)file, 0, message, g->job->allocator);
	note_file(g, file);
}

/* A file that the sender cannot see and process 0 can: on which machine is worth saying. */
static void name_host(struct gathering *g, struct tw_rank *rank, const char *host, size_t len)
{
	struct tw_str text;

	if (!len || access(g->job->set.files[rank->file].path, R_OK))
		return;
	tw_str_init(&text, rank->allocator);
	tw_str_addf(&text, "on %.*s: %s", (int)len, host, rank->message);
	if (!text.failed)
		rank->message = tw_rank_keep(rank, text.ptr);
	tw_str_release(&text);
}

static int take_ranks(void *context, size_t file, struct tw_wire *in)
{
	enum { RANK_BYTES = 5 };
	struct gathering *g = context;
	const struct trawl_allocator *a = g->job->allocator;
	struct tw_file_ranks ranks = { NULL, 0, 0 };
	size_t host_len = 0, i;
	const char *host = tw_wire_text(in, NULL, &host_len);

	tw_wire_list(in, &ranks.ranks, &ranks.count, sizeof(*ranks.ranks), RANK_BYTES, a);
	for (i = 0; i < ranks.count && !in->status; i++) {
		tw_rank_unpack(&ranks.ranks[i], in, a);
		if (!in->status && g->options->pass_attached)
			g->options->pass_attached(in, &ranks.ranks[i]);
		if (in->status || ranks.ranks[i].file != file)
			tw_wire_fail(in, TRAWL_EFORMAT);
		else
			name_host(g, &ranks.ranks[i], host, host_len);
	}
	if (in->status || !ranks.count || in->at != in->end) {
		tw_ranks_free(ranks.ranks, ranks.count, a);
		return in->status ? in->status : TRAWL_EFORMAT;
	}
	g->files[file] = ranks;
	note_file(g, file);
	return 0;
}

static void take_own(void *context, uint32_t place, struct tw_file_ranks ranks)
{
	struct gathering *g = context;
	uint32_t file = g->own_file[place];
	size_t i;

	for (i = 0; i < ranks.count; i++)
		ranks.ranks[i].file = file;
	g->files[file] = ranks;
}

static void *reduce_own(void *context)
{
	struct gathering *g = context;
	struct tw_load_options load = own_options(g->options, g->cluster);

	load.progress = own_progress;
	load.progress_context = g;
	tw_files_reduce(&g->own, &load, g->job->allocator, take_own, g);
	return NULL;
}

static bool gather(struct gathering *g)
{
	const struct tw_rank_set *set = &g->job->set;
	struct tw_shared_work work = {
		.cluster = g->cluster,
		.allocator = g->job->allocator,
		.items = set->count,
		.owner = g->owner,
		.task = TW_TASK_REDUCE,
		.lost = " was lost before sending this rank",
		.context = g,
		.pass_item = pass_file,
		.do_own = reduce_own,
		.take = take_ranks,
		.leave_out = leave_out_file,
	};
	bool done;
	size_t i;

	for (i = 0; i < set->count; i++) {
		g->bytes += set->files[i].bytes;
		if (g->owner[i] != TW_CLUSTER_ROOT)
			continue;
		g->own_file[g->own.count] = (uint32_t)i;
		g->own.files[g->own.count++] = set->files[i];
	}
	pthread_mutex_init(&g->lock, NULL);
	done = tw_share_work(&work);
	pthread_mutex_destroy(&g->lock);
	return done;
}

/* What became of each file; false: they are still to be read. */
static bool gather_files(const struct trawl_job *job, const struct tw_load_options *options,
			 struct tw_cluster *cluster, struct tw_file_ranks *files)
{
	struct gathering g = { .job = job, .options = options, .cluster = cluster, .files = files };
	size_t processes = (size_t)cluster->size, count = job->set.count;
	const struct trawl_allocator *a = job->allocator;
	bool done = false;

	if (processes == 1)
		return false;
	g.owner = tw_alloc_array(a, count, sizeof(*g.owner));
	g.own_file = tw_alloc_array(a, count, sizeof(*g.own_file));
	g.own.files = tw_alloc_array(a, count, sizeof(*g.own.files));
	if (g.owner && g.own_file && g.own.files &&
	    !tw_share_files(g.owner, &job->set, processes, a))
		done = gather(&g);
	tw_free(a, g.owner, count * sizeof(*g.owner));
	tw_free(a, g.own_file, count * sizeof(*g.own_file));
	tw_free(a, g.own.files, count * sizeof(*g.own.files));
	if (g.canceled)
		files[0].status = TRAWL_ECANCELED;
	return done;
}

/* With those that others read, where there are others. */
static void reduce_shared(void *context, const struct trawl_job *job,
			  const struct tw_load_options *options, struct tw_file_ranks *files)
{
	if (!gather_files(job, options, context, files))
		tw_reduce_alone(NULL, job, options, files);
}

int tw_job_gather(struct trawl_job *job, struct tw_rank_set *set,
		  const struct tw_load_options *options, struct tw_cluster *cluster,
		  const struct trawl_allocator *allocator, struct trawl_error *err)
{
	return tw_job_load_by(job, set, options, reduce_shared, cluster, allocator, err);
}
