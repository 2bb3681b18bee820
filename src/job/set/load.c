#include "job/set/load.h"

#include "base/alloc.h"
#include "os/thread.h"

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

void tw_reading_init(struct tw_reading *reading)
{
	if (!reading->budget)
		reading->budget = tw_half_of_memory();
	pthread_mutex_init(&reading->lock, NULL);
	pthread_cond_init(&reading->changed, NULL);
}

void tw_reading_destroy(struct tw_reading *reading)
{
	pthread_cond_destroy(&reading->changed);
	pthread_mutex_destroy(&reading->lock);
}

bool tw_reading_begin(struct tw_reading *r, size_t file, int64_t need)
{
	bool go_on;

	pthread_mutex_lock(&r->lock);
	while (r->begun != file || (r->running && r->taken > r->budget - need && !r->canceled))
		pthread_cond_wait(&r->changed, &r->lock);
	r->begun++;
	r->running++;
	r->taken += need;
	go_on = !r->canceled;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return go_on;
}

void tw_reading_end(struct tw_reading *r, int64_t need)
{
	pthread_mutex_lock(&r->lock);
	r->running--;
	r->taken -= need;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

bool tw_reading_tell(struct tw_reading *r, int64_t bytes)
{
	bool canceled;

	pthread_mutex_lock(&r->lock);
	r->bytes_done += bytes;
	if (r->progress && r->progress(r->progress_context, r->bytes_done, r->bytes))
		r->canceled = true;
	canceled = r->canceled;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return canceled;
}

/* ---- every file of a set into its ranks */

struct loading {
	const struct tw_rank_set *set;
	const struct tw_load_options *options;
	const struct trawl_allocator *allocator;
	tw_take_ranks *take;
	void *context;
	unsigned threads; /* for each trace */
	struct tw_reading reading;
};

static void load_file(void *context, size_t i)
{
	struct loading *l = context;
	const struct tw_rank_file *file = &l->set->files[i];
	int64_t need = tw_rank_file_memory(file, TENTHS_OF_TEXT);
	struct tw_file_ranks ranks = { .status = TRAWL_ECANCELED };

	if (tw_reading_begin(&l->reading, i, need)) {
		ranks = tw_rank_reduce(l->set, (uint32_t)i, l->options, l->threads, l->allocator);
		tw_reading_tell(&l->reading, file->bytes);
	}
	tw_reading_end(&l->reading, need);
	l->take(l->context, (uint32_t)i, ranks);
}

void tw_files_reduce(const struct tw_rank_set *set, const struct tw_load_options *options,
		     const struct trawl_allocator *allocator, tw_take_ranks *take, void *context)
{
	unsigned threads = options->threads ? options->threads : tw_thread_count();
	size_t at_once = threads < set->count ? threads : set->count, i;
	struct loading l = {
		.set = set,
		.options = options,
		.allocator = allocator,
		.take = take,
		.context = context,
		.threads = at_once ? threads / (unsigned)at_once : 1,
		.reading = { .progress = options->progress,
			     .progress_context = options->progress_context,
			     .budget = options->max_memory },
	};

	for (i = 0; i < set->count; i++)
		l.reading.bytes += set->files[i].bytes;
	tw_reading_init(&l.reading);
	tw_parallel(threads, set->count, load_file, &l);
	tw_reading_destroy(&l.reading);
}

/* ---- all of them into a job */

static void take_file(void *context, uint32_t file, struct tw_file_ranks ranks)
{
	struct tw_file_ranks *files = context;

	files[file] = ranks;
}

void tw_reduce_alone(void *context, const struct trawl_job *job,
		     const struct tw_load_options *options, struct tw_file_ranks *files)
{
	(void)context;
	tw_files_reduce(&job->set, options, job->allocator, take_file, files);
}

int tw_job_load_by(struct trawl_job *job, struct tw_rank_set *set,
		   const struct tw_load_options *options, tw_reduce_files *reduce, void *context,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_file_ranks *files;

	*job = (struct trawl_job){ .allocator = allocator, .set = *set };
	memset(set, 0, sizeof(*set));
	files = tw_alloc_array(allocator, job->set.count, sizeof(*files));
	if (!files)
		return tw_no_memory(err);
	reduce(context, job, options, files);
	return tw_job_settle(job, files, options, err);
}

int tw_job_load(struct trawl_job *job, struct tw_rank_set *set,
		const struct tw_load_options *options, const struct trawl_allocator *allocator,
		struct trawl_error *err)
{
	return tw_job_load_by(job, set, options, tw_reduce_alone, NULL, allocator, err);
}
