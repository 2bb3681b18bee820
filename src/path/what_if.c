#include "path/what_if.h"

#include "os/thread.h"
#include "path/critical.h"

#include <math.h>

void tw_scenario_scale(struct tw_scenario *s, const struct tw_path_rank *rank, uint32_t gpu,
		       double factor)
{
	uint32_t end = tw_gpu_end(rank, gpu), cause;

	for (cause = s->path->points[end].causes; cause < s->path->points[end + 1].causes;
	     cause++) {
		int64_t delay = tw_scenario_delay(s, end, cause);

		if (delay > 0)
			tw_scenario_set(s, end, cause, tw_whole_ns((double)delay * factor));
	}
}

struct run {
	struct tw_what_if *list;
	const struct tw_path *path;
	const struct trawl_allocator *allocator;
	int *status; /* by scenario */
};

/* Of times of all points; replay sets each. */
static size_t bytes_of(const struct tw_path *path)
{
	return ((size_t)path->point_count + 1) * sizeof(int64_t);
}

static int measure(struct tw_what_if *w, const struct tw_path *path, const struct tw_scenario *s,
		   const int64_t *times, const struct trawl_allocator *a)
{
	struct tw_critical critical;
	int status;

	w->after_ns = tw_window_ns(path, times);
	if (w->quick)
		return 0;
	w->step_after_ns = tw_step_ns(path, times);
	status = tw_critical_find(&critical, path, s, times, a);
	if (!status) {
		w->path_ns = w->after_ns;
		w->inferred_ns = tw_critical_inferred_ns(&critical);
	}
	tw_critical_release(&critical, a);
	return status;
}

static void run_one(void *context, size_t i)
{
	struct run *run = context;
	const struct tw_path *path = run->path;
	struct tw_what_if *w = &run->list[i];
	int64_t *times = tw_alloc(run->allocator, bytes_of(path));
	struct tw_scenario s;

	tw_scenario_init(&s, path, run->allocator);
	w->set(&s, w);
	run->status[i] = TRAWL_ENOMEM;
	if (times && !s.failed && !tw_path_replay(path, &s, times))
		run->status[i] = measure(w, path, &s, times, run->allocator);
	tw_scenario_release(&s);
	tw_free(run->allocator, times, bytes_of(path));
}

int tw_what_if_run(struct tw_what_if *list, size_t count, const struct tw_path *path,
		   const int64_t *recorded, unsigned threads, const struct trawl_allocator *a)
{
	int *status = tw_alloc_array(a, count + 1, sizeof(*status)), failed = 0;
	struct run run = { list, path, a, status };
	size_t i;

	if (!status)
		return TRAWL_ENOMEM;
	for (i = 0; i < count; i++) {
		list[i].before_ns = i ? list[0].before_ns : tw_window_ns(path, recorded);
		list[i].step_before_ns = i ? list[0].step_before_ns : tw_step_ns(path, recorded);
	}
	tw_parallel(threads ? threads : tw_thread_count(), count, run_one, &run);
	for (i = 0; i < count && !failed; i++)
		failed = status[i];
	tw_free(a, status, (count + 1) * sizeof(*status));
	return failed;
}
