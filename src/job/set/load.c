#include "job/set/load.h"

#include "base/alloc.h"
#include "os/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- memory: traces wait until those before them have given back enough */

/* A trace takes a quarter of its text, and as much again while it is analysed. */
#define TENTHS_OF_TEXT 5

int64_t tw_rank_file_memory(const struct tw_rank_file *file, unsigned tenths_of_text)
{
	/* Compressed files hold about ten times as much text; exports are held twice over. */
	enum { TEXTS = 10, EXPORT = 30 };
	const char *dot = strrchr(file->path, '.');
	int64_t tenths = tenths_of_text;

	if (dot && (!strcasecmp(dot, ".gz") || !strcasecmp(dot, ".zst")))
		tenths *= TEXTS;
	else if (dot && !strcasecmp(dot, ".sqlite"))
		tenths = EXPORT;
	return file->bytes > INT64_MAX / 10 / TEXTS ? INT64_MAX / 2 : file->bytes * tenths / 10;
}

int64_t tw_half_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (int64_t)pages * size / 2 : INT64_C(1) << 31;
}

struct loading {
	const struct tw_rank_set *set;
	const struct tw_load_options *options;
	const struct trawl_allocator *allocator;
	tw_take_ranks *take;
	void *context;
	unsigned threads; /* for each trace */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	int64_t budget, taken; /* bytes */
	size_t running, done;
	int64_t bytes, bytes_done;
	bool canceled;
};

/* False when the work was called off. */
static bool begin_file(struct loading *l, const struct tw_rank_file *file)
{
	int64_t need = tw_rank_file_memory(file, TENTHS_OF_TEXT);
	bool go_on;

	pthread_mutex_lock(&l->lock);
	while (l->running && l->taken > l->budget - need && !l->canceled)
		pthread_cond_wait(&l->changed, &l->lock);
	go_on = !l->canceled;
	l->running += go_on;
	l->taken += go_on ? need : 0;
	pthread_mutex_unlock(&l->lock);
	return go_on;
}

static void end_file(struct loading *l, const struct tw_rank_file *file)
{
	const struct tw_load_options *o = l->options;

	pthread_mutex_lock(&l->lock);
	l->taken -= tw_rank_file_memory(file, TENTHS_OF_TEXT);
	l->running--;
	l->done++;
	l->bytes_done += file->bytes;
	if (o->progress &&
	    o->progress(o->progress_context, l->done, l->set->count, l->bytes_done, l->bytes))
		l->canceled = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void load_file(void *context, size_t i)
{
	struct loading *l = context;
	struct tw_rank *ranks = NULL;
	size_t count = 0;
	int status = TRAWL_ECANCELED;

	if (begin_file(l, &l->set->files[i])) {
		status = tw_rank_reduce(l->set, (uint32_t)i, l->options, l->threads, l->allocator,
					&ranks, &count);
		end_file(l, &l->set->files[i]);
	}
	l->take(l->context, (uint32_t)i, status, ranks, count);
}

void tw_files_reduce(const struct tw_rank_set *set, const struct tw_load_options *options,
		     const struct trawl_allocator *allocator, tw_take_ranks *take, void *context)
{
	unsigned threads = options->threads ? options->threads : tw_thread_count();
	size_t at_once = threads < set->count ? threads : set->count, i;
	struct loading l = { .set = set,
			     .options = options,
			     .allocator = allocator,
			     .take = take,
			     .context = context };

	l.budget = options->max_memory ? options->max_memory : tw_half_of_memory();
	l.threads = at_once ? threads / (unsigned)at_once : 1;
	for (i = 0; i < set->count; i++)
		l.bytes += set->files[i].bytes;
	pthread_mutex_init(&l.lock, NULL);
	pthread_cond_init(&l.changed, NULL);
	tw_parallel(threads, set->count, load_file, &l);
	pthread_cond_destroy(&l.changed);
	pthread_mutex_destroy(&l.lock);
}

/* ---- all of them into a job */

static void take_file(void *context, uint32_t file, int status, struct tw_rank *ranks, size_t count)
{
	struct tw_file_ranks *files = context;

	files[file] = (struct tw_file_ranks){ ranks, count, status };
}

/* All files' ranks behind each other; *ranks takes them over. */
static int join_files(struct tw_file_ranks *files, size_t file_count,
		      const struct trawl_allocator *allocator, struct tw_rank **ranks,
		      size_t *count)
{
	size_t i, k, n = 0;
	int status = 0;

	*count = 0;
	for (i = 0; i < file_count; i++) {
		n += files[i].count;
		if (!status)
			status = files[i].status;
	}
	*ranks = tw_alloc_array(allocator, n, sizeof(**ranks));
	if (!*ranks && !status)
		status = TRAWL_ENOMEM;
	for (i = 0; i < file_count; i++) {
		for (k = 0; k < files[i].count; k++) {
			if (*ranks)
				(*ranks)[(*count)++] = files[i].ranks[k];
			else
				tw_rank_release(&files[i].ranks[k]);
		}
		tw_free(allocator, files[i].ranks, files[i].count * sizeof(**ranks));
	}
	return status;
}

int tw_job_settle_files(struct tw_job *job, struct tw_file_ranks *files,
			const struct tw_load_options *options, struct trawl_error *err)
{
	struct tw_rank *ranks;
	size_t count;
	int status = join_files(files, job->set.count, job->allocator, &ranks, &count);

	tw_free(job->allocator, files, job->set.count * sizeof(*files));
	if (status) {
		tw_ranks_free(ranks, count, job->allocator);
		return trawl_error_set(err, status, "%s", trawl_status_name(status));
	}
	return tw_job_settle(job, ranks, count, options, err);
}

void tw_reduce_alone(void *context, const struct tw_job *job, const struct tw_load_options *options,
		     struct tw_file_ranks *files)
{
	(void)context;
	tw_files_reduce(&job->set, options, job->allocator, take_file, files);
}

int tw_job_load_by(struct tw_job *job, struct tw_rank_set *set,
		   const struct tw_load_options *options, tw_reduce_files *reduce, void *context,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_file_ranks *files;

	*job = (struct tw_job){ .allocator = allocator, .set = *set };
	memset(set, 0, sizeof(*set));
	files = tw_alloc_array(allocator, job->set.count, sizeof(*files));
	if (!files)
		return tw_no_memory(err);
	reduce(context, job, options, files);
	return tw_job_settle_files(job, files, options, err);
}

int tw_job_load(struct tw_job *job, struct tw_rank_set *set, const struct tw_load_options *options,
		const struct trawl_allocator *allocator, struct trawl_error *err)
{
	return tw_job_load_by(job, set, options, tw_reduce_alone, NULL, allocator, err);
}
