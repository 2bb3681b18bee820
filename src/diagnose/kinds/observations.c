/*
 * What is worth knowing about the recording and gains nothing: the first step warms up, idle time at its edge,
 * work launched before it, profilers that started apart, clocks that differ, graphs that hide operators.
 */
#include "diagnose/edges.h"
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

/* Without steps to compare: how much of the window the first launches of kernels took. */
static bool first_uses_take_long(struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t longest = 0;
	uint32_t i;

	for (i = 0; i < d->rank_count; i++)
		longest = d->claims[i].warm_ns > longest ? d->claims[i].warm_ns : longest;
	tw_add_evidence(f, "%.3f ms idle while first launches of kernels load their code",
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

	if (d->steps < 3)
		return first_uses_take_long(d, f);
	if (!has_first_step(d))
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
		tw_add_evidence(
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

static bool edge_is_idle(struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t worst = 0, idle;
	uint32_t i, rank = 0;

	/* A part has edges that were asked for. */
	for (i = 0; i < d->rank_count && !tw_is_parted(d->path); i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];
		struct tw_edge edge = tw_edge_of(d->path->points, r);

		idle = edge.before || edge.after ? edge.idle_ns : 0;
		if (idle > worst) {
			worst = idle;
			rank = i;
		}
	}
	if (!worst)
		return false;
	tw_set_ranks(f, d, &rank, d->rank_count > 1);
	tw_add_evidence(f, "%.3f ms idle %s; the window of %.3f ms is without", (double)worst / 1e6,
			d->path->ranks[rank].step_count ? "outside all steps" :
							  "before or after a few events",
			(double)d->window_ns / 1e6);
	return true;
}

/* ---- host work before the first GPU work */

/* From the start of the first step to its first GPU work: the window begins with that. */
static void look_at_beginning(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	struct tw_claim *claim = &look->claims->of[TW_KIND_host_before_work];
	int64_t begin, first;
	const struct tw_frame *f;

	if (!r->step_count || !r->launched_count || !r->gpu_count)
		return;
	begin = r->steps[0].start_ns;
	first = look->part->points[0].time_ns;
	if (first <= begin)
		return;
	claim->host_ns = first - begin;
	f = tw_function_in(look, tw_look_track(look, look->d->gpu.launch[r->launched[0]]), begin,
			   first);
	if (f)
		tw_claim_spot_at(look, TW_KIND_host_before_work, f->event, TW_NONE, f->event,
				 first - begin);
}

static bool host_goes_first(struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t most = 0;
	uint32_t i, rank = 0;

	for (i = 0; i < d->rank_count && !tw_is_parted(d->path); i++)
		if (d->claims[i].of[f->kind].host_ns > most) {
			most = d->claims[i].of[f->kind].host_ns;
			rank = i;
		}
	if (most < TW_LIMIT_EDGE_IDLE_US * 1000 ||
	    (double)most * 100 < TW_LIMIT_EDGE_IDLE_PERCENT * (double)d->window_ns)
		return false;
	tw_set_ranks(f, d, &rank, d->rank_count > 1);
	tw_places_of(f, d, rank, f->kind);
	tw_add_evidence(
		f,
		"%.3f ms from the start of the first step to its first GPU work, before the "
		"window of %.3f ms",
		(double)most / 1e6, (double)d->window_ns / 1e6);
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
	tw_add_evidence(f, "%llu GPU events of %.3f ms at the beginning have no recorded launch",
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
	tw_add_evidence(f, "%.3f ms in the first collective, %.3f ms in the median one",
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
	tw_add_evidence(f, "by up to %.3f ms", (double)(most - least) / 1e6);
	return d->rank_count > 1 && most - least > TW_LIMIT_CLOCKS_DIFFER_NS;
}

/* ---- graphs */

struct tw_graph_share tw_graph_share(const struct tw_diagnosis *d)
{
	struct tw_graph_share share = { 0 };
	uint32_t i, g, last = TW_NO_POINT;

	for (i = 0; i < d->rank_count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];

		for (g = 0; g < r->gpu_count; g++) {
			int64_t ns = time_of(d, tw_gpu_end(r, g)) - time_of(d, tw_gpu_start(r, g));
			const struct tw_path_label *label;

			if (!tw_in_part(d->path, tw_gpu_start(r, g)))
				continue;
			share.all_ns += ns;
			if (r->launch[g] == TW_NO_POINT)
				continue;
			label = &r->labels[d->path->points[r->launch[g]].label];
			if (!strstr(tw_pool_text(&r->texts, label->name, NULL), "GraphLaunch"))
				continue;
			share.graph_ns += ns;
			/* Where a capture has their operators, nothing is hidden. */
			if (d->claims[i].whose.at[d->claims[i].whose_of[g]].captured)
				continue;
			share.hidden_ns += ns;
			share.hidden_launches += r->launch[g] != last;
			last = r->launch[g];
		}
	}
	return share;
}

static bool graphs_hide(struct tw_diagnosis *d, struct tw_finding *f)
{
	struct tw_graph_share share = tw_graph_share(d);
	double percent = share.all_ns ? 100 * (double)share.hidden_ns / (double)share.all_ns : 0;

	tw_add_evidence(f, "%.1f %% of the GPU time in %llu launches of graphs", percent,
			(unsigned long long)share.hidden_launches);
	return share.hidden_ns > share.all_ns / 2 && share.all_ns;
}

/* ---- what is not known of computing */

static bool is_told(const struct tw_diagnosis *d, enum tw_finding_kind kind)
{
	size_t i;

	for (i = 0; i < d->findings.count; i++)
		if (d->findings.at[i].kind == kind)
			return true;
	return false;
}

/* Most of the window is computing without a roofline: nothing can be said of it. */
static bool is_efficiency_unknown(struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t sums[4] = { 0 }, all = 0;
	uint32_t i;
	size_t k;

	for (i = 0; i < d->rank_count; i++)
		for (k = 0; k < 4; k++) {
			sums[k] += d->claims[i].computing_ns[k];
			all += d->claims[i].computing_ns[k];
		}
	/* What a graph hides is said apart. */
	if (!all || is_told(d, TW_KIND_graph_hides_operations) ||
	    2 * (double)(all - sums[TW_COMPUTING_KNOWN]) <= (double)d->window_ns * d->rank_count)
		return false;
	tw_add_evidence(f, "the roofline of %.1f %% of the computing time is known",
			100 * (double)sums[TW_COMPUTING_KNOWN] / (double)all);
	if (sums[TW_COMPUTING_NO_OPERATOR])
		tw_add_evidence(f, "; %.1f %% has no recorded operator",
				100 * (double)sums[TW_COMPUTING_NO_OPERATOR] / (double)all);
	if (sums[TW_COMPUTING_NO_SHAPES])
		tw_add_evidence(f, "; %.1f %% no recorded shapes",
				100 * (double)sums[TW_COMPUTING_NO_SHAPES] / (double)all);
	if (sums[TW_COMPUTING_NO_MODEL])
		tw_add_evidence(f, "; %.1f %% no cost model, or the GPU is not known",
				100 * (double)sums[TW_COMPUTING_NO_MODEL] / (double)all);
	return true;
}

/* Gains of the host are those of a host that also records. */
static bool do_stacks_cost(struct tw_diagnosis *d, struct tw_finding *f)
{
	static const enum tw_finding_kind of_host[] = { TW_KIND_data_loading, TW_KIND_launch_bound,
							TW_KIND_host_pause, TW_KIND_straggler_host,
							TW_KIND_optimizer_unfused };
	uint64_t stacks = 0, launches = 0;
	size_t i, k;

	for (i = 0; i < d->rank_count; i++) {
		stacks += d->claims[i].stack_events;
		launches += d->path->ranks[i].launched_count;
	}
	for (i = 0; stacks && i < d->findings.count; i++)
		for (k = 0; k < sizeof(of_host) / sizeof(of_host[0]); k++)
			if (d->findings.at[i].kind == of_host[k] &&
			    d->findings.at[i].gain_percent > TW_LIMIT_FINDING_TOLD_PERCENT) {
				tw_add_evidence(
					f,
					"%llu Python functions on threads that launch, %.1f per "
					"launched GPU event",
					(unsigned long long)stacks,
					(double)stacks / (double)(launches ? launches : 1));
				return true;
			}
	return false;
}

/* Time of the window in which the GPU of a rank does nothing. */
static int64_t idle_of(const struct tw_diagnosis *d, const struct tw_path_rank *r)
{
	int64_t end = INT64_MIN, idle = 0;
	uint32_t g;

	for (g = 0; g < r->gpu_count; g++) {
		int64_t start = time_of(d, tw_gpu_start(r, g));

		if (!tw_is_parted(d->path) && !tw_in_window(d->path, r, g))
			continue;
		if (end != INT64_MIN && start > end && tw_in_part(d->path, tw_gpu_start(r, g)))
			idle += start - end;
		if (time_of(d, tw_gpu_end(r, g)) > end)
			end = time_of(d, tw_gpu_end(r, g));
	}
	return idle;
}

static bool nothing_gains(struct tw_diagnosis *d, struct tw_finding *f)
{
	double idle = 0, warm = 0;
	size_t i;

	for (i = 0; i < d->findings.count; i++)
		if (d->findings.at[i].gain_percent > TW_LIMIT_FINDING_TOLD_PERCENT)
			return false;
	for (i = 0; i < d->rank_count && !d->path->ranks[i].gpu_count; i++)
		;
	if (i == d->rank_count)
		f->words = &tw_words_nothing_found_empty;
	else if (is_told(d, TW_KIND_graph_hides_operations) ||
		 is_told(d, TW_KIND_efficiency_unknown))
		f->words = &tw_words_nothing_found_partly;
	tw_add_evidence(f, "no remedy that was looked for gains more than %d %% of a step",
			TW_LIMIT_FINDING_TOLD_PERCENT);
	for (i = 0; i < d->rank_count; i++)
		idle = fmax(idle, (double)idle_of(d, &d->path->ranks[i]));
	for (i = 0; i < d->rank_count && is_told(d, TW_KIND_warmup_in_recording); i++)
		warm = fmax(warm, (double)d->claims[i].warm_ns);
	if (idle * 100 > TW_LIMIT_IDLE_UNEXPLAINED_PERCENT * (double)d->window_ns)
		tw_add_evidence(f, "; the GPU is idle for %.1f %% of the window, %s",
				100 * idle / (double)d->window_ns,
				2 * warm > idle ? "mostly while it warms up" :
						  "for reasons without a remedy here");
	return true;
}

const struct tw_kind tw_kind_warmup_in_recording = { .seen = first_step_warms };
const struct tw_kind tw_kind_recording_edge = { .seen = edge_is_idle };
const struct tw_kind tw_kind_host_before_work = { .look = look_at_beginning,
						  .seen = host_goes_first };
const struct tw_kind tw_kind_efficiency_unknown = { .seen = is_efficiency_unknown };
const struct tw_kind tw_kind_stacks_recorded = { .seen = do_stacks_cost };
const struct tw_kind tw_kind_work_before_recording = { .seen = has_earlier_work };
const struct tw_kind tw_kind_profiler_start_skew = { .seen = profilers_start_apart };
const struct tw_kind tw_kind_clock_skew = { .seen = clocks_differ };
const struct tw_kind tw_kind_graph_hides_operations = { .seen = graphs_hide };
const struct tw_kind tw_kind_nothing_found = { .seen = nothing_gains };
