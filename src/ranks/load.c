#include "ranks/load.h"

#include "base/alloc.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory: traces wait until those before them have given back enough */

/*
 * Bytes of memory for a byte of a file, in halves: a trace takes a quarter of its text and as much
 * again while it is analysed (docs/PERFORMANCE.md); compressed ones hold about ten times as much
 * text, exports are held twice over.
 */
static int64_t memory_for(const struct tw_rank_file *file)
{
	enum { TEXT = 1, COMPRESSED = 10, EXPORT = 6 };
	const char *dot = strrchr(file->path, '.');
	int64_t halves = TEXT;

	if (dot && (!strcmp(dot, ".gz") || !strcmp(dot, ".zst")))
		halves = COMPRESSED;
	else if (dot && !strcmp(dot, ".sqlite"))
		halves = EXPORT;
	return file->bytes > INT64_MAX / COMPRESSED ? INT64_MAX / 2 : file->bytes * halves / 2;
}

static int64_t half_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (int64_t)pages * size / 2 : INT64_C(1) << 31;
}

struct loading {
	const struct tw_rank_set *set;
	const struct tw_load_options *options;
	const struct trawl_allocator *allocator;
	unsigned threads; /* for each trace */
	struct part {
		struct tw_rank *ranks;
		size_t count;
		int status;
	} * parts; /* by file */

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
	int64_t need = memory_for(file);
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
	l->taken -= memory_for(file);
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
	struct part *part = &l->parts[i];

	if (!begin_file(l, &l->set->files[i])) {
		part->status = TRAWL_ECANCELED;
		return;
	}
	part->status = tw_rank_reduce(l->set, (uint32_t)i, l->options, l->threads, l->allocator,
				      &part->ranks, &part->count);
	end_file(l, &l->set->files[i]);
}

/* All parts behind each other, in order of file; *ranks takes them over. */
static int join_parts(struct loading *l, struct tw_rank **ranks, size_t *count)
{
	size_t i, n = 0;
	int status = 0;

	*ranks = NULL;
	*count = 0;
	for (i = 0; i < l->set->count; i++) {
		n += l->parts[i].count;
		if (!status)
			status = l->parts[i].status;
	}
	*ranks = tw_alloc_array(l->allocator, n, sizeof(**ranks));
	if (!*ranks)
		status = TRAWL_ENOMEM;
	for (i = 0; i < l->set->count; i++) {
		struct part *part = &l->parts[i];
		size_t k;

		for (k = 0; k < part->count; k++) {
			if (*ranks)
				(*ranks)[(*count)++] = part->ranks[k];
			else
				tw_rank_release(&part->ranks[k]);
		}
		tw_free(l->allocator, part->ranks, part->count * sizeof(*part->ranks));
	}
	return status;
}

static void load_all(struct loading *l, unsigned threads)
{
	size_t at_once = threads < l->set->count ? threads : l->set->count, i;

	l->threads = at_once ? threads / (unsigned)at_once : 1;
	for (i = 0; i < l->set->count; i++)
		l->bytes += l->set->files[i].bytes;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	tw_parallel(threads, l->set->count, load_file, l);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
}

int tw_job_load(struct tw_job *job, struct tw_rank_set *set, const struct tw_load_options *options,
		const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct loading l = { .set = set, .options = options, .allocator = allocator };
	struct tw_rank *ranks;
	size_t count;
	int status;

	memset(job, 0, sizeof(*job));
	job->allocator = allocator;
	job->set = *set;
	memset(set, 0, sizeof(*set));
	l.set = &job->set;
	l.budget = options->max_memory ? options->max_memory : half_of_memory();
	l.parts = tw_alloc_array(allocator, job->set.count, sizeof(*l.parts));
	if (!l.parts)
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	load_all(&l, options->threads ? options->threads : tw_thread_count());
	status = join_parts(&l, &ranks, &count);
	tw_free(allocator, l.parts, job->set.count * sizeof(*l.parts));
	if (status) {
		tw_ranks_free(ranks, count, allocator);
		return trawl_error_set(err, status, "%s", trawl_status_name(status));
	}
	return tw_job_settle(job, ranks, count, options, err);
}
