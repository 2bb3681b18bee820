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
	const int64_t *recorded;
	int *status; /* by scenario */
};

static int measure(struct tw_what_if *w, const struct tw_path *path, const struct tw_scenario *s,
		   const int64_t *times)
{
	struct tw_critical critical;
	int status;

	w->after_ns = tw_window_ns(path, times);
	if (w->quick)
		return 0;
	w->step_after_ns = tw_step_ns(path, times);
	status = tw_critical_find(&critical, path, s, times, path->allocator);
	if (!status) {
		w->path_ns = w->after_ns;
		w->inferred_ns = tw_critical_inferred_ns(&critical);
	}
	tw_critical_release(&critical, path->allocator);
	return status;
}

static void run_one(void *context, size_t i)
{
	struct run *run = context;
	const struct tw_path *path = run->path;
	struct tw_what_if *w = &run->list[i];
	int64_t *times = tw_path_times(path);
	struct tw_scenario s;

	tw_scenario_init(&s, path, path->allocator);
	w->set(&s, w);
	run->status[i] = TRAWL_ENOMEM;
	if (times && !s.failed && !tw_path_replay(path, &s, times))
		run->status[i] = measure(w, path, &s, times);
	tw_scenario_release(&s);
	if (times)
		tw_path_times_free(path, times);
}

int tw_what_if_run(struct tw_what_if *list, size_t count, const struct tw_path *path,
		   unsigned threads)
{
	int64_t *recorded = tw_path_times(path);
	int *status = tw_alloc_array(path->allocator, count + 1, sizeof(*status));
	struct run run = { list, path, recorded, status };
	int failed = recorded && status ? 0 : TRAWL_ENOMEM;
	size_t i;

	for (i = 0; i < count && !failed; i++) {
		list[i].before_ns = i ? list[0].before_ns : tw_window_ns(path, recorded);
		list[i].step_before_ns = i ? list[0].step_before_ns : tw_step_ns(path, recorded);
	}
	if (!failed)
		tw_parallel(threads ? threads : tw_thread_count(), count, run_one, &run);
	for (i = 0; i < count && !failed; i++)
		failed = status[i];
	if (recorded)
		tw_path_times_free(path, recorded);
	tw_free(path->allocator, status, (count + 1) * sizeof(*status));
	return failed;
}
