#include "job/transport/gather.h"

#include "base/alloc.h"
#include "job/transport/pack.h"
#include "os/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A process that reduces says that it is alive as often; see tw_cluster_patience(). */
#define ALIVE_MS 1000
#define LOOK_AGAIN_NS 1000000
#define HOST_BYTES 256

/* ---- a share: files of the set, with their numbers there ---------------------------------- */

struct share {
	const struct trawl_allocator *allocator;
	struct tw_rank_set set; /* paths are borrowed */
	uint32_t *file;		/* number in the whole set */
};

static int make_share(struct share *share, size_t count, const struct trawl_allocator *allocator)
{
	*share = (struct share){ .allocator = allocator };
	share->set.files = tw_alloc_array(allocator, count, sizeof(*share->set.files));
	share->file = tw_alloc_array(allocator, count, sizeof(*share->file));
	share->set.count = share->set.capacity = count;
	return count && (!share->set.files || !share->file) ? TRAWL_ENOMEM : 0;
}

static void release_share(struct share *share)
{
	const struct tw_rank_set *set = &share->set;

	if (!share->allocator)
		return;
	tw_free(share->allocator, set->files, set->capacity * sizeof(*set->files));
	tw_free(share->allocator, share->file, set->capacity * sizeof(*share->file));
}

/* Threads and memory are shared by the processes of a machine, unless they were asked for. */
static struct tw_load_options own_options(const struct tw_load_options *options,
					  const struct tw_cluster *cluster)
{
	struct tw_load_options own = *options;

	if (!own.threads)
		own.threads = tw_cluster_threads(cluster);
	if (!own.max_memory)
		own.max_memory = tw_half_of_memory() / tw_cluster_here(cluster);
	own.progress = NULL;
	own.progress_context = NULL;
	return own;
}

/* ---- messages ---------------------------------------------------------------------------- */

/* What there is to do: TW_TASK_REDUCE, the version, the files. */
static void pack_task(struct tw_str *out, const struct tw_rank_set *set, const uint32_t *files,
		      size_t count)
{
	size_t i;

	tw_str_add_char(out, TW_TASK_REDUCE);
	tw_pack_text(out, trawl_version(), strlen(trawl_version()));
	tw_pack_number(out, count);
	for (i = 0; i < count; i++) {
		const struct tw_rank_file *file = &set->files[files[i]];

		tw_pack_number(out, files[i]);
		tw_pack_signed(out, file->bytes);
		tw_pack_signed(out, file->name_rank);
		tw_pack_number(out, file->named);
		/* With its NUL, so that the path can stay where it is. */
		tw_pack_text(out, file->path, strlen(file->path) + 1);
	}
}

static int unpack_task(struct share *share, const char *task, size_t len,
		       const struct trawl_allocator *allocator, struct trawl_error *err)
{
	enum { FILE_BYTES = 5 };
	struct tw_unpacking in = { (const uint8_t *)task, (const uint8_t *)task + len, !len };
	const char *version;
	size_t i, n, count;

	*share = (struct share){ 0 };
	if (tw_unpack_number(&in) != TW_TASK_REDUCE)
		in.failed = true;
	version = tw_unpack_text(&in, &n);
	if (in.failed || n != strlen(trawl_version()) || memcmp(version, trawl_version(), n))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "the processes are of different versions of trawl");
	count = tw_unpack_count(&in, FILE_BYTES);
	if (make_share(share, count, allocator))
		return tw_no_memory(err);
	for (i = 0; i < count; i++) {
		struct tw_rank_file *file = &share->set.files[i];

		share->file[i] = (uint32_t)tw_unpack_up_to(&in, UINT32_MAX);
		file->bytes = tw_unpack_signed(&in);
		file->name_rank = tw_unpack_signed(&in);
		file->named = tw_unpack_up_to(&in, true);
		file->path = tw_unpack_text(&in, &n);
		if (!n || in.failed || memchr(file->path, 0, n) != file->path + n - 1)
			return trawl_error_set(err, TRAWL_EFORMAT,
					       "what process 0 sent is no list of files");
	}
	return 0;
}

/* What became of a file: its number, whether memory was out, and if it was not, the ranks. */
static void pack_ranks(struct tw_str *out, uint32_t file, const char *unseen_on,
		       struct tw_rank *ranks, size_t count)
{
	size_t i;

	tw_pack_number(out, file);
	tw_pack_number(out, 0);
	tw_pack_text(out, unseen_on, strlen(unseen_on));
	tw_pack_number(out, count);
	for (i = 0; i < count; i++) {
		ranks[i].file = file;
		tw_rank_pack(&ranks[i], out);
	}
}

/* ---- a process that is led --------------------------------------------------------------- */

struct worker {
	struct share share;
	struct tw_load_options options;
	const struct trawl_allocator *allocator;
	char host[HOST_BYTES];

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct tw_str *letters; /* by file of the share, packed by those who reduce */
	uint32_t *ready;	/* files in the order in which they were */
	size_t ready_count;
};

static void post_letter(void *context, uint32_t file, int status, struct tw_rank *ranks,
			size_t count)
{
	struct worker *w = context;
	struct tw_str *letter = &w->letters[file];
	bool unseen = count == 1 && ranks->state == TW_RANK_UNREADABLE &&
		      access(w->share.set.files[file].path, R_OK);

	tw_str_init(letter, w->allocator);
	if (!status)
		pack_ranks(letter, w->share.file[file], unseen ? w->host : "", ranks, count);
	letter->failed |= status != 0;
	tw_ranks_free(ranks, count, w->allocator);
	pthread_mutex_lock(&w->lock);
	w->ready[w->ready_count++] = file;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void *reduce_files(void *context)
{
	struct worker *w = context;

	tw_files_reduce(&w->share.set, &w->options, w->allocator, post_letter, w);
	return NULL;
}

static int send_letter(struct worker *w, uint32_t file, struct tw_cluster *cluster,
		       struct trawl_error *err)
{
	struct tw_str *letter = &w->letters[file];
	char room[32];
	struct tw_str brief = { .ptr = room, .capacity = sizeof(room) };
	int status;

	if (letter->failed) {
		/* That memory is out needs none to say. */
		tw_pack_number(&brief, w->share.file[file]);
		tw_pack_number(&brief, 1);
		status = tw_cluster_send(cluster, TW_CLUSTER_ROOT, brief.ptr, brief.len, err);
	} else {
		status = tw_cluster_send(cluster, TW_CLUSTER_ROOT, letter->ptr, letter->len, err);
	}
	tw_str_release(letter);
	return status;
}

/* Waits for the next file; false when there is none yet after ALIVE_MS. */
static bool next_ready(struct worker *w, size_t sent)
{
	bool there;

	pthread_mutex_lock(&w->lock);
	if (w->ready_count == sent)
		tw_cond_wait_ms(&w->changed, &w->lock, ALIVE_MS);
	there = w->ready_count > sent;
	pthread_mutex_unlock(&w->lock);
	return there;
}

/* Sends what is ready while others reduce; when that fails the rest is reduced for nobody. */
static int send_letters(struct worker *w, struct tw_cluster *cluster, struct trawl_error *err)
{
	size_t sent = 0;
	int status = 0, failure = 0;

	while (sent < w->share.set.count) {
		if (next_ready(w, sent)) {
			uint32_t file = w->ready[sent++];

			if (failure)
				tw_str_release(&w->letters[file]);
			else
				status = send_letter(w, file, cluster, err);
		} else if (!failure) {
			status = tw_cluster_send(cluster, TW_CLUSTER_ROOT, "", 0, err);
		}
		if (!failure)
			failure = status;
	}
	return failure;
}

static int work(struct worker *w, struct tw_cluster *cluster, struct trawl_error *err)
{
	pthread_t reducer;
	bool beside;
	int status;

	pthread_mutex_init(&w->lock, NULL);
	tw_cond_init(&w->changed);
	if (gethostname(w->host, sizeof(w->host) - 1) || !w->host[0])
		snprintf(w->host, sizeof(w->host), "process %d", tw_cluster_rank(cluster));
	beside = !pthread_create(&reducer, NULL, reduce_files, w);
	if (!beside)
		reduce_files(w);
	status = send_letters(w, cluster, err);
	if (beside)
		pthread_join(reducer, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	return status;
}

int tw_gather_share(const char *task, size_t len, const struct tw_load_options *options,
		    struct tw_cluster *cluster, const struct trawl_allocator *allocator,
		    struct trawl_error *err)
{
	struct worker w = { .allocator = allocator, .options = own_options(options, cluster) };
	size_t count;
	int status = unpack_task(&w.share, task, len, allocator, err);

	count = w.share.set.count;
	if (!status && count) {
		w.letters = tw_alloc_array(allocator, count, sizeof(*w.letters));
		w.ready = tw_alloc_array(allocator, count, sizeof(*w.ready));
		status = w.letters && w.ready ? work(&w, cluster, err) : tw_no_memory(err);
	}
	tw_free(allocator, w.letters, count * sizeof(*w.letters));
	tw_free(allocator, w.ready, count * sizeof(*w.ready));
	release_share(&w.share);
	return status;
}

/* ---- process 0 --------------------------------------------------------------------------- */

struct gathering {
	struct tw_job *job;
	const struct tw_load_options *options;
	struct tw_cluster *cluster;
	const struct trawl_allocator *allocator;
	struct tw_shares shares;
	struct tw_file_ranks *files; /* of the set; each is set once */
	bool *there;		     /* by file */
	struct other {
		size_t pending; /* files that it has not sent */
		int64_t heard_ms;
	} * others; /* by process */
	struct tw_str message;
	int64_t bytes, bytes_done;
	size_t files_done;
	bool canceled;

	struct share own;
	struct tw_load_options own_load;
	atomic_size_t own_files;
	atomic_llong own_bytes;
	atomic_bool own_canceled, own_over;
};

static int make_gathering(struct gathering *g, size_t processes)
{
	const struct tw_rank_set *set = &g->job->set;
	size_t i, p;

	tw_str_init(&g->message, g->allocator);
	if (tw_shares_make(&g->shares, set, processes, g->allocator))
		return TRAWL_ENOMEM;
	g->files = tw_alloc_array(g->allocator, set->count, sizeof(*g->files));
	g->there = tw_alloc_array(g->allocator, set->count, sizeof(*g->there));
	g->others = tw_alloc_array(g->allocator, processes, sizeof(*g->others));
	if (!g->files || !g->there || !g->others ||
	    make_share(&g->own, g->shares.first[1], g->allocator))
		return TRAWL_ENOMEM;
	for (i = 0; i < g->own.set.count; i++) {
		g->own.file[i] = g->shares.order[i];
		g->own.set.files[i] = set->files[g->own.file[i]];
	}
	for (i = 0; i < set->count; i++)
		g->bytes += set->files[i].bytes;
	for (p = 1; p < processes; p++)
		g->others[p].pending = g->shares.first[p + 1] - g->shares.first[p];
	return 0;
}

/* But for `files`, which the job takes. */
static void release_gathering(struct gathering *g, size_t processes)
{
	tw_free(g->allocator, g->there, g->job->set.count * sizeof(*g->there));
	tw_free(g->allocator, g->others, processes * sizeof(*g->others));
	tw_shares_release(&g->shares);
	release_share(&g->own);
	tw_str_release(&g->message);
}

/* A file of which there will be nothing: its rank says why. */
static void leave_out(struct gathering *g, uint32_t file, const char *message)
{
	struct tw_file_ranks *f = &g->files[file];
	struct tw_rank *rank = tw_alloc_array(g->allocator, 1, sizeof(*rank));

	g->there[file] = true;
	*f = (struct tw_file_ranks){ rank, 1, 0 };
	if (!rank || tw_rank_init(rank, g->allocator)) {
		tw_free(g->allocator, rank, sizeof(*rank));
		*f = (struct tw_file_ranks){ NULL, 0, TRAWL_ENOMEM };
		return;
	}
	rank->file = file;
	rank->name_rank = g->job->set.files[file].name_rank;
	rank->state = TW_RANK_UNREADABLE;
	rank->message = tw_rank_keep(rank, message);
}

static void lose(struct gathering *g, int process)
{
	size_t i;
	char message[80];

	snprintf(message, sizeof(message), "process %d of %d was lost before it sent this rank",
		 process, tw_cluster_size(g->cluster));
	tw_cluster_lose(g->cluster, process);
	for (i = g->shares.first[process]; i < g->shares.first[process + 1]; i++) {
		uint32_t file = g->shares.order[i];

		if (g->there[file])
			continue;
		leave_out(g, file, message);
		g->files_done++;
		g->bytes_done += g->job->set.files[file].bytes;
	}
	g->others[process].pending = 0;
}

static void send_tasks(struct gathering *g)
{
	int p;

	for (p = 1; p < tw_cluster_size(g->cluster); p++) {
		size_t first = g->shares.first[p];

		g->others[p].heard_ms = tw_cluster_clock_ms();
		if (tw_cluster_lost(g->cluster, p)) {
			lose(g, p);
			continue;
		}
		if (!g->others[p].pending)
			continue;
		tw_str_clear(&g->message);
		pack_task(&g->message, &g->job->set, g->shares.order + first, g->others[p].pending);
		if (g->message.failed ||
		    tw_cluster_send(g->cluster, p, g->message.ptr, g->message.len, NULL))
			lose(g, p);
	}
}

/* A file that the sender cannot see and process 0 can: on which machine is worth saying. */
static void name_host(struct gathering *g, struct tw_rank *rank, const char *host, size_t len)
{
	struct tw_str text;

	if (!len || access(g->job->set.files[rank->file].path, R_OK))
		return;
	tw_str_init(&text, g->allocator);
	tw_str_addf(&text, "on %.*s: %s", (int)len, host, rank->message);
	if (!text.failed)
		rank->message = tw_rank_keep(rank, text.ptr);
	tw_str_release(&text);
}

static int unpack_ranks(struct gathering *g, uint32_t file, struct tw_unpacking *in)
{
	enum { RANK_BYTES = 5 };
	struct tw_file_ranks *f = &g->files[file];
	size_t host_len, used, count;
	const char *host = tw_unpack_text(in, &host_len);
	int status = 0;

	count = tw_unpack_count(in, RANK_BYTES);
	if (in->failed || !count)
		return TRAWL_EFORMAT;
	f->ranks = tw_alloc_array(g->allocator, count, sizeof(*f->ranks));
	f->count = f->ranks ? count : 0;
	for (count = 0; count < f->count && !status; count++) {
		status = tw_rank_unpack(&f->ranks[count], (const char *)in->at,
					(size_t)(in->end - in->at), &used, g->allocator, NULL);
		in->at += used;
		if (!status && f->ranks[count].file != file)
			status = TRAWL_EFORMAT;
		if (!status)
			name_host(g, &f->ranks[count], host, host_len);
	}
	if (!f->ranks)
		status = TRAWL_ENOMEM;
	else if (!status && in->at != in->end)
		status = TRAWL_EFORMAT;
	if (status) {
		tw_ranks_free(f->ranks, f->count, g->allocator);
		*f = (struct tw_file_ranks){ 0 };
	}
	return status;
}

/* Whether a file is one that the process has to send. */
static bool is_due(const struct gathering *g, int process, uint64_t file)
{
	size_t i;

	for (i = g->shares.first[process]; i < g->shares.first[process + 1]; i++)
		if (g->shares.order[i] == file)
			return !g->there[file];
	return false;
}

/* A message of the process; one that is not what it should be is as if it were lost. */
static void take_message(struct gathering *g, int process)
{
	const uint8_t *bytes = (const uint8_t *)g->message.ptr;
	struct tw_unpacking in = { bytes, bytes + g->message.len, false };
	char text[80];
	uint64_t file;
	int status;

	if (!g->message.len)
		return;
	file = tw_unpack_up_to(&in, UINT32_MAX);
	if (in.failed || !is_due(g, process, file)) {
		lose(g, process);
		return;
	}
	status = tw_unpack_up_to(&in, 1) ? TRAWL_ENOMEM : unpack_ranks(g, (uint32_t)file, &in);
	if (status) {
		snprintf(text, sizeof(text), "process %d of %d: %s", process,
			 tw_cluster_size(g->cluster),
			 status == TRAWL_ENOMEM ? "out of memory" : "what it sent is broken");
		leave_out(g, (uint32_t)file, text);
	}
	g->there[file] = true;
	g->others[process].pending--;
	g->files_done++;
	g->bytes_done += g->job->set.files[file].bytes;
}

/* What the process has sent, if anything; true when it had. */
static bool look_at(struct gathering *g, int process)
{
	int64_t now = tw_cluster_clock_ms();
	struct trawl_error err;
	bool there;

	tw_str_clear(&g->message);
	if (tw_cluster_receive(g->cluster, &process, 0, &there, &g->message, &err)) {
		lose(g, process);
		return false;
	}
	if (there) {
		g->others[process].heard_ms = now;
		take_message(g, process);
	} else if (now - g->others[process].heard_ms > tw_cluster_patience(g->cluster)) {
		lose(g, process);
	}
	return there;
}

static void tell_progress(struct gathering *g)
{
	const struct tw_load_options *o = g->options;

	if (g->canceled || !o->progress)
		return;
	g->canceled = o->progress(o->progress_context, g->files_done + atomic_load(&g->own_files),
				  g->job->set.count, g->bytes_done + atomic_load(&g->own_bytes),
				  g->bytes) != 0;
	if (g->canceled)
		atomic_store(&g->own_canceled, true);
}

/*
 * Until all have sent what they have; also what nobody wants any more, for they wait to be rid
 * of it.
 */
static void receive_all(struct gathering *g)
{
	const struct timespec pause = { 0, LOOK_AGAIN_NS };
	size_t pending, done = 0;
	bool any;
	int p;

	do {
		any = false;
		pending = 0;
		for (p = 1; p < tw_cluster_size(g->cluster); p++) {
			if (g->others[p].pending)
				any |= look_at(g, p);
			pending += g->others[p].pending;
		}
		if (g->files_done + atomic_load(&g->own_files) != done)
			tell_progress(g);
		done = g->files_done + atomic_load(&g->own_files);
		if (!any)
			nanosleep(&pause, NULL);
	} while (pending || !atomic_load(&g->own_over));
}

static int own_progress(void *context, size_t files_done, size_t files, int64_t bytes_done,
			int64_t bytes)
{
	struct gathering *g = context;

	(void)files;
	(void)bytes;
	atomic_store(&g->own_files, files_done);
	atomic_store(&g->own_bytes, bytes_done);
	return atomic_load(&g->own_canceled);
}

static void take_own(void *context, uint32_t file, int status, struct tw_rank *ranks, size_t count)
{
	struct gathering *g = context;
	size_t i;

	for (i = 0; i < count; i++)
		ranks[i].file = g->own.file[file];
	g->files[g->own.file[file]] = (struct tw_file_ranks){ ranks, count, status };
}

static void *reduce_own(void *context)
{
	struct gathering *g = context;

	tw_files_reduce(&g->own.set, &g->own_load, g->allocator, take_own, g);
	atomic_store(&g->own_over, true);
	return NULL;
}

static void gather(struct gathering *g)
{
	pthread_t reducer;
	bool beside;

	send_tasks(g);
	g->own_load = own_options(g->options, g->cluster);
	g->own_load.progress = own_progress;
	g->own_load.progress_context = g;
	beside = !pthread_create(&reducer, NULL, reduce_own, g);
	if (!beside)
		reduce_own(g);
	receive_all(g);
	if (beside)
		pthread_join(reducer, NULL);
}

int tw_job_gather(struct tw_job *job, struct tw_rank_set *set,
		  const struct tw_load_options *options, struct tw_cluster *cluster,
		  const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct gathering g = { .job = job,
			       .options = options,
			       .cluster = cluster,
			       .allocator = allocator };
	size_t processes = (size_t)tw_cluster_size(cluster);

	if (processes == 1)
		return tw_job_load(job, set, options, allocator, err);
	*job = (struct tw_job){ .allocator = allocator, .set = *set };
	memset(set, 0, sizeof(*set));
	if (make_gathering(&g, processes)) {
		release_gathering(&g, processes);
		tw_free(allocator, g.files, job->set.count * sizeof(*g.files));
		return tw_no_memory(err);
	}
	gather(&g);
	release_gathering(&g, processes);
	if (g.canceled)
		g.files[0].status = TRAWL_ECANCELED;
	return tw_job_settle_files(job, g.files, options, err);
}
