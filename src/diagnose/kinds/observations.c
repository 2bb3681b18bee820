/*
 * What is worth knowing about the recording and gains nothing: the first step warms up, idle time at its edge,
 * work launched before it, profilers that started apart, clocks that differ, graphs that hide operators.
 */
#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "base/median.h"
#include "data/limits.h"

#include <math.h>
#include <string.h>

static int64_t time_of(const struct tw_diagnosis *d, uint32_t point)
{
	return d->path->points[point].time_ns;
}

/* ---- the first step */

/* How long each step takes: from the end of the last work of the one before to that of its own. */
static bool step_times(const struct tw_diagnosis *d, int64_t *end)
{
	uint32_t i, g, k;

	for (k = 0; k < d->steps; k++)
		end[k] = INT64_MIN;
	for (i = 0; i < d->rank_count; i++)
		for (g = 0; g < d->path->ranks[i].gpu_count; g++) {
			const struct tw_path_rank *r = &d->path->ranks[i];
			int64_t t = time_of(d, tw_gpu_end(r, g));

			if (r->step[g] >= 0 && (uint32_t)r->step[g] < d->steps &&
			    t > end[r->step[g]])
				end[r->step[g]] = t;
		}
	for (k = 0; k < d->steps; k++)
		if (end[k] == INT64_MIN)
			return false;
	return true;
}

/* Without steps: how much of the window the first launches of kernels took. */
static bool first_uses_take_long(struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t longest = 0;
	uint32_t i;

	for (i = 0; i < d->rank_count; i++)
		longest = d->claims[i].warm_ns > longest ? d->claims[i].warm_ns : longest;
	tw_evidence(f, "%.3f ms idle while first launches of kernels load their code",
		    (double)longest / 1e6);
	return (double)longest * 100 > TW_LIMIT_WARMUP_PERCENT * (double)d->window_ns;
}

/* Whether any work of a rank's first step is looked at. */
static bool has_first_step(const struct tw_diagnosis *d)
{
	uint32_t i, g;

	for (i = 0; i < d->rank_count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];

		for (g = 0; g < r->gpu_count; g++)
			if (r->step[g] == 0 && tw_in_part(d->path, tw_gpu_start(r, g)))
				return true;
	}
	return false;
}

static bool first_step_warms(struct tw_diagnosis *d, struct tw_finding *f)
{
	size_t bytes = ((size_t)d->steps + 1) * sizeof(int64_t);
	int64_t *end, *rest, first, usual, begin = INT64_MAX, loads = 0;
	bool found = false;
	uint32_t i, k;

	if (!d->steps)
		return first_uses_take_long(d, f);
	if (d->steps < 3 || !has_first_step(d))
		return false;
	end = tw_alloc_array(d->allocator, bytes, 1);
	rest = tw_alloc_array(d->allocator, bytes, 1);
	d->failed |= !end || !rest;
	for (i = 0; i < d->rank_count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];

		if (r->step_count && r->steps[0].start_ns + r->shift_ns < begin)
			begin = r->steps[0].start_ns + r->shift_ns;
		loads += d->claims[i].warm_ns;
	}
	if (end && rest && step_times(d, end)) {
		for (k = 1; k < d->steps; k++)
			rest[k - 1] = end[k] - end[k - 1];
		usual = tw_middle_of(rest, d->steps - 1).lower;
		first = end[0] - begin;
		found = loads > 0 && (double)first > TW_LIMIT_WARMUP_TIMES * (double)usual;
		tw_evidence(
			f,
			"step 1 takes %.3f ms, the others %.3f ms; %.3f ms of it are first uses, "
			"loads and compilation",
			(double)first / 1e6, (double)usual / 1e6, (double)loads / 1e6);
	}
	tw_free(d->allocator, end, bytes);
	tw_free(d->allocator, rest, bytes);
	return found;
}

/* ---- edges */

struct edge {
	int64_t first_ns, last_ns; /* of the steps */
	int64_t idle_ns;
};

/* Idle time of a rank before its first step and after its last one. */
static int64_t idle_outside(const struct tw_diagnosis *d, const struct tw_path_rank *r)
{
	int64_t first = r->steps[0].start_ns + r->shift_ns, idle = 0, end = INT64_MIN, last;
	uint32_t g;

	last = r->steps[r->step_count - 1].end_ns + r->shift_ns;
	for (g = 0; g < r->gpu_count; g++) {
		int64_t start = time_of(d, tw_gpu_start(r, g));

		if (end != INT64_MIN && start > end) {
			if (end < first)
				idle += (start < first ? start : first) - end;
			/* What a step launched may run after it. */
			if (start > last && r->step[g] < 0)
				idle += start - (end > last ? end : last);
		}
		if (time_of(d, tw_gpu_end(r, g)) > end)
			end = time_of(d, tw_gpu_end(r, g));
	}
	return idle;
}

/* Without steps: a first or last gap that is longer than the rest, with few events beyond. */
static int64_t longest_edge(const struct tw_diagnosis *d, const struct tw_path_rank *r)
{
	int64_t end = INT64_MIN, begin = INT64_MAX, gap, longest = 0;
	uint32_t g, seen;

	for (g = 0; g < r->gpu_count; g++) {
		int64_t start = time_of(d, tw_gpu_start(r, g));

		begin = start < begin ? start : begin;
		seen = g < r->gpu_count - g ? g : r->gpu_count - g;
		gap = end == INT64_MIN ? 0 : start - end;
		if (gap > longest && seen < TW_LIMIT_EDGE_EVENTS)
			longest = gap;
		if (time_of(d, tw_gpu_end(r, g)) > end)
			end = time_of(d, tw_gpu_end(r, g));
	}
	return r->gpu_count && longest > (end - begin) - longest ? longest : 0;
}

/* How long the first step has no GPU work yet: the window begins with the first. */
static int64_t host_only(const struct tw_diagnosis *d, const struct tw_path_rank *r)
{
	int64_t begin = r->steps[0].start_ns + r->shift_ns, first = INT64_MAX;
	uint32_t g;

	for (g = 0; g < r->gpu_count; g++)
		first = time_of(d, tw_gpu_start(r, g)) < first ? time_of(d, tw_gpu_start(r, g)) :
								 first;
	return r->gpu_count && first > begin ? first - begin : 0;
}

static bool edge_is_idle(struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t worst = 0, waits, idle;
	uint32_t i, rank = 0;
	bool in_step = false;

	/* A part has edges that were asked for. */
	for (i = 0; i < d->rank_count && !tw_is_parted(d->path); i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];

		idle = r->step_count ? idle_outside(d, r) : longest_edge(d, r);
		waits = r->step_count ? host_only(d, r) : 0;
		if (idle > worst || waits > worst) {
			worst = idle > waits ? idle : waits;
			in_step = waits > idle;
			rank = i;
		}
	}
	if (worst < TW_LIMIT_EDGE_IDLE_US * 1000 ||
	    (double)worst * 100 < TW_LIMIT_EDGE_IDLE_PERCENT * (double)d->window_ns)
		return false;
	tw_set_ranks(f, d, &rank, d->rank_count > 1);
	tw_evidence(f, "%.3f ms idle %s", (double)worst / 1e6,
		    in_step ? "from the start of the first step to its first GPU work, before the "
			      "window" :
		    d->path->ranks[rank].step_count ? "outside all steps" :
						      "before or after a few events");
	return true;
}

/* ---- work from before */

static bool has_earlier_work(struct tw_diagnosis *d, struct tw_finding *f)
{
	uint64_t events = 0;
	int64_t ns = 0;
	uint32_t i, g;

	for (i = 0; i < d->rank_count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];

		for (g = 0; g < r->gpu_count && r->launched_count; g++) {
			if (r->launch[g] != TW_NO_POINT)
				continue;
			/* What the host launched before it recorded anything runs first. */
			if (g > 0 && r->launch[g - 1] != TW_NO_POINT)
				break;
			if (!tw_in_part(d->path, tw_gpu_start(r, g)))
				continue;
			events++;
			ns += time_of(d, tw_gpu_end(r, g)) - time_of(d, tw_gpu_start(r, g));
		}
	}
	tw_evidence(f, "%llu GPU events of %.3f ms at the beginning have no recorded launch",
		    (unsigned long long)events, (double)ns / 1e6);
	return events;
}

/* ---- profilers that started apart */

/* Whether any start that a hub waits for is looked at. */
static bool is_hub_in_part(const struct tw_path *path, uint32_t hub)
{
	const struct tw_path_point *p = &path->points[hub];
	uint32_t cause;

	for (cause = p->causes; cause < p[1].causes; cause++)
		if (path->from[cause] != TW_NO_POINT && tw_in_part(path, path->from[cause]))
			return true;
	return false;
}

static int64_t wait_at(const struct tw_diagnosis *d, uint32_t hub)
{
	const struct tw_path_point *p = &d->path->points[hub];
	int64_t first = INT64_MAX;
	uint32_t cause;

	for (cause = p->causes; cause < p[1].causes; cause++)
		if (d->path->from[cause] != TW_NO_POINT && time_of(d, d->path->from[cause]) < first)
			first = time_of(d, d->path->from[cause]);
	return first == INT64_MAX ? 0 : p->time_ns - first;
}

static bool profilers_start_apart(struct tw_diagnosis *d, struct tw_finding *f)
{
	uint32_t hubs = d->path->point_count - d->path->first_hub, i, first = 0;
	int64_t *waits, usual, wait = 0;

	if (hubs < 3)
		return false;
	waits = tw_alloc_array(d->allocator, (size_t)hubs + 1, sizeof(*waits));
	d->failed |= !waits;
	if (!waits)
		return false;
	for (i = 0; i < hubs; i++) {
		waits[i] = wait_at(d, d->path->first_hub + i);
		if (time_of(d, d->path->first_hub + i) < time_of(d, d->path->first_hub + first))
			first = i;
	}
	wait = waits[first];
	waits[first] = waits[hubs - 1];
	usual = tw_middle_of(waits, hubs - 1).lower;
	tw_free(d->allocator, waits, ((size_t)hubs + 1) * sizeof(*waits));
	tw_evidence(f, "%.3f ms in the first collective, %.3f ms in the median one",
		    (double)wait / 1e6, (double)usual / 1e6);
	return is_hub_in_part(d->path, d->path->first_hub + first) &&
	       wait > TW_LIMIT_EDGE_IDLE_US * 1000 && wait / TW_LIMIT_START_SKEW_TIMES > usual;
}

/* ---- clocks */

static bool clocks_differ(struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	uint32_t i;

	for (i = 0; i < d->rank_count; i++) {
		int64_t shift = d->path->ranks[i].clock_ns;

		least = shift < least ? shift : least;
		most = shift > most ? shift : most;
	}
	tw_evidence(f, "by up to %.3f ms", (double)(most - least) / 1e6);
	return d->rank_count > 1 && most - least > TW_LIMIT_CLOCKS_DIFFER_NS;
}

/* ---- graphs */

static bool graphs_hide(struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t hidden = 0, all = 0;
	uint64_t launches = 0;
	uint32_t i, g, last = TW_NO_POINT;

	for (i = 0; i < d->rank_count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];

		for (g = 0; g < r->gpu_count; g++) {
			int64_t ns = time_of(d, tw_gpu_end(r, g)) - time_of(d, tw_gpu_start(r, g));
			const struct tw_path_label *label;

			if (!tw_in_part(d->path, tw_gpu_start(r, g)))
				continue;
			all += ns;
			if (r->launch[g] == TW_NO_POINT)
				continue;
			label = &r->labels[d->path->points[r->launch[g]].label];
			if (!strstr(tw_pool_text(&r->texts, label->name, NULL), "GraphLaunch"))
				continue;
			hidden += ns;
			launches += r->launch[g] != last;
			last = r->launch[g];
		}
	}
	tw_evidence(f, "%.1f %% of the GPU time in %llu launches of graphs",
		    all ? 100 * (double)hidden / (double)all : 0, (unsigned long long)launches);
	return hidden > all / 2 && all;
}

/* Time of the window in which the GPU of a rank does nothing. */
static int64_t idle_of(const struct tw_diagnosis *d, const struct tw_path_rank *r)
{
	int64_t end = INT64_MIN, idle = 0;
	uint32_t g;

	for (g = 0; g < r->gpu_count; g++) {
		int64_t start = time_of(d, tw_gpu_start(r, g));

		if (end != INT64_MIN && start > end && tw_in_part(d->path, tw_gpu_start(r, g)))
			idle += start - end;
		if (time_of(d, tw_gpu_end(r, g)) > end)
			end = time_of(d, tw_gpu_end(r, g));
	}
	return idle;
}

static bool nothing_gains(struct tw_diagnosis *d, struct tw_finding *f)
{
	double idle = 0;
	size_t i;

	for (i = 0; i < d->findings.count; i++)
		if (d->findings.at[i].gain_percent > TW_LIMIT_FINDING_TOLD_PERCENT)
			return false;
	tw_evidence(f, "no remedy that was looked for gains more than %d %% of a step",
		    TW_LIMIT_FINDING_TOLD_PERCENT);
	for (i = 0; i < d->rank_count; i++)
		idle = fmax(idle, (double)idle_of(d, &d->path->ranks[i]));
	if (idle * 100 > TW_LIMIT_IDLE_UNEXPLAINED_PERCENT * (double)d->window_ns)
		tw_evidence(f,
			    "; the GPU is idle for %.1f %% of the window, for reasons "
			    "without a remedy here",
			    100 * idle / (double)d->window_ns);
	return true;
}

const struct tw_kind tw_kind_warmup_in_recording = { .seen = first_step_warms };
const struct tw_kind tw_kind_recording_edge = { .seen = edge_is_idle };
const struct tw_kind tw_kind_work_before_recording = { .seen = has_earlier_work };
const struct tw_kind tw_kind_profiler_start_skew = { .seen = profilers_start_apart };
const struct tw_kind tw_kind_clock_skew = { .seen = clocks_differ };
const struct tw_kind tw_kind_graph_hides_operations = { .seen = graphs_hide };
const struct tw_kind tw_kind_nothing_found = { .seen = nothing_gains };
