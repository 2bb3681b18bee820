#include "path/scenarios.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "data/limits.h"
#include "os/thread.h"
#include "path/critical.h"
#include "path/selection.h"
#include "path/standard.h"

#include <math.h>
#include <string.h>

/* Operators whose gain is replayed, and those that are tried at a share of their roofline. */
enum { OPS_REPLAYED = 10, OPS_FASTER = 10 };

static const char *keep(struct tw_scenarios *s, const char *text)
{
	size_t size = strlen(text) + 1;
	char *kept = tw_alloc(s->allocator, size);

	if (kept)
		memcpy(kept, text, size);
	return kept;
}

static int add(struct tw_scenarios *s, const struct tw_what_if *what)
{
	return TW_LIST_ADD(&s->list, what, s->allocator) ? 0 : TRAWL_ENOMEM;
}

/* ---- bounds */

static void set_standard(struct tw_scenario *s, const struct tw_what_if *w)
{
	tw_standard_set(s, (enum tw_standard)w->number);
}

static bool has_lone(const struct tw_path *path)
{
	uint32_t p;

	for (p = 0; p < path->first_hub; p++)
		if (tw_is_lone_end(&path->points[p]))
			return true;
	return false;
}

static int add_bounds(struct tw_scenarios *s)
{
	int status = 0;
	uint32_t i;

	for (i = 0; i < TW_STANDARDS && !status; i++)
		if (i != TW_LONE_FREE || has_lone(s->path))
			status = add(s, &(struct tw_what_if){
						.name = tw_standard_name((enum tw_standard)i),
						.kind = "bound",
						.note = tw_standard_meaning((enum tw_standard)i),
						.set = set_standard,
						.number = i });
	return status;
}

/* ---- ranks */

static void set_all_median(struct tw_scenario *s, const struct tw_what_if *w)
{
	tw_scenario_as_median(s, w->context, UINT32_MAX);
}

static void set_as_next(struct tw_scenario *s, const struct tw_what_if *w)
{
	tw_scenario_as_next(s, w->context, w->number);
}

static int add_stragglers(struct tw_scenarios *s)
{
	struct tw_what_if median = { .name = "ranks_as_median",
				     .kind = "straggler",
				     .note = "each rank computes as the median rank",
				     .set = set_all_median,
				     .context = &s->places };
	struct tw_what_if next = { .name = "slowest_as_next",
				   .kind = "straggler",
				   .set = set_as_next,
				   .context = &s->places };
	const struct tw_path_rank *ranks = s->path->ranks;

	if (s->path->rank_count < 2)
		return 0;
	if (tw_places_find(&s->places, s->path, s->allocator))
		return TRAWL_ENOMEM;
	next.number = s->places.order[0];
	tw_str_clear(&s->text);
	tw_str_addf(&s->text, "rank %lld computes as rank %lld",
		    (long long)ranks[s->places.order[0]].rank,
		    (long long)ranks[s->places.order[1]].rank);
	next.note = s->text.failed ? NULL : keep(s, s->text.ptr);
	return !next.note || add(s, &median) || add(s, &next) ? TRAWL_ENOMEM : 0;
}

/* ---- operators */

static void set_fast_op(struct tw_scenario *s, const struct tw_path_ops *ops, uint32_t op)
{
	uint32_t i;

	for (i = ops->ends.first[op]; i < ops->ends.first[op + 1]; i++) {
		uint32_t end = ops->ends.list[i];
		const struct tw_path_rank *r = &s->path->ranks[s->path->points[end].rank];
		uint32_t g = (end - r->first) / 2;

		if (r->target_ns[g])
			tw_scenario_duration(s, r, g, r->target_ns[g]);
	}
}

/* Number TW_NO_GROUP: all of those with the most headroom. */
static void set_fast(struct tw_scenario *s, const struct tw_what_if *w)
{
	const struct tw_scenarios *of = w->context;
	size_t i;

	if (w->number != TW_NO_GROUP)
		set_fast_op(s, of->ops, w->number);
	for (i = 0; w->number == TW_NO_GROUP && i < of->fastest.count; i++)
		set_fast_op(s, of->ops, of->fastest.at[i]);
}

static void set_faster(struct tw_scenario *s, const struct tw_what_if *w)
{
	const struct tw_members *ends = &((const struct tw_scenarios *)w->context)->ops->ends;
	uint32_t i;

	for (i = ends->first[w->number]; i < ends->first[w->number + 1]; i++) {
		const struct tw_path_rank *r = &s->path->ranks[s->path->points[ends->list[i]].rank];

		tw_scenario_scale(s, r, (ends->list[i] - r->first) / 2, 0.9);
	}
}

static uint64_t headroom_key(const void *sums, uint32_t number)
{
	return ~tw_sort_key(((const struct tw_path_op_sums *)sums)[number].headroom_ns);
}

static const char *fast_name(struct tw_scenarios *s, const struct tw_path_op_sums *sums)
{
	const char *shapes = tw_path_op_shapes(s->ops, sums->op);

	tw_str_clear(&s->text);
	tw_str_addf(&s->text, "roofline: %s %s", tw_path_op_name(s->ops, sums->op),
		    shapes ? shapes : "");
	return s->text.failed ? NULL : keep(s, s->text.ptr);
}

static const char *fast_note(struct tw_scenarios *s, const struct tw_path_op_sums *sums)
{
	tw_str_clear(&s->text);
	tw_str_add_cstr(&s->text, "at " TW_LIMIT_TEXT(TW_LIMIT_PATH_ROOFLINE_PERCENT) " %: ");
	tw_str_add_decimal_fixed(&s->text, sums->total_ns, 6, 3);
	tw_str_add_cstr(&s->text, " -> ");
	tw_str_add_decimal_fixed(&s->text, sums->total_ns - sums->headroom_ns, 6, 3);
	tw_str_add_cstr(&s->text, " ms of GPU time");
	return s->text.failed ? NULL : keep(s, s->text.ptr);
}

static int add_rooflines(struct tw_scenarios *s, const struct tw_path_op_sums *sums)
{
	struct tw_what_if all = { .name = "roofline: all of these",
				  .kind = "roofline",
				  .note = "at " TW_LIMIT_TEXT(TW_LIMIT_PATH_ROOFLINE_PERCENT) " %",
				  .set = set_fast,
				  .context = s,
				  .number = TW_NO_GROUP };
	uint32_t n = s->ops->groups.count, i;
	uint32_t *order = tw_alloc_array(s->allocator, (size_t)n + 1, sizeof(*order));

	if (!order)
		return TRAWL_ENOMEM;
	for (i = 0; i < n; i++)
		order[i] = i;
	if (tw_sort(order, n, headroom_key, sums, s->allocator))
		return TRAWL_ENOMEM;
	for (i = 0; i < n && i < OPS_FASTER && sums[order[i]].headroom_ns > 0; i++) {
		const struct tw_path_op_sums *sum = &sums[order[i]];
		struct tw_what_if one = { .name = fast_name(s, sum),
					  .kind = "roofline",
					  .note = fast_note(s, sum),
					  .set = set_fast,
					  .context = s,
					  .number = sum->op };

		if (!one.name || !one.note || !TW_LIST_ADD(&s->fastest, &sum->op, s->allocator) ||
		    add(s, &one))
			return TRAWL_ENOMEM;
	}
	return i > 1 ? add(s, &all) : 0;
}

static int add_faster(struct tw_scenarios *s, const struct tw_path_op_sums *sums)
{
	uint32_t i;

	for (i = 0; i < s->ops->groups.count && i < OPS_REPLAYED && sums[i].path_ns > 0; i++)
		if (add(s, &(struct tw_what_if){ .set = set_faster,
						 .context = s,
						 .number = sums[i].op,
						 .quick = true }))
			return TRAWL_ENOMEM;
	return 0;
}

/* ---- what is asked for */

static uint32_t rank_index(const struct tw_path *path, int64_t rank)
{
	uint32_t i;

	for (i = 0; i < path->rank_count && path->ranks[i].rank != rank; i++)
		;
	return i;
}

/* Transfers of collectives take what their bytes need at the bandwidth. */
static uint64_t set_bandwidth(struct tw_scenario *s, double gb_per_s)
{
	const struct tw_path *path = s->path;
	uint64_t count = 0;
	uint32_t p;

	for (p = 0; p < path->first_hub; p++) {
		uint32_t cause = path->points[p].causes, hub = path->from[cause];

		if (!tw_is_gpu_point(&path->points[p]) || !tw_is_end(&path->points[p]) ||
		    hub == TW_NO_POINT || hub < path->first_hub ||
		    !isfinite(path->bus_bytes[hub - path->first_hub]))
			continue;
		count++;
		tw_scenario_set(s, p, cause,
				tw_whole_ns(path->bus_bytes[hub - path->first_hub] /
					    (gb_per_s * (1 << 30)) * 1e9));
	}
	return count;
}

/* How many pieces of work and ranges it is about. */
static uint64_t apply(struct tw_scenario *s, const struct tw_scenarios *of,
		      const struct trawl_path_change *change)
{
	uint32_t rank = rank_index(s->path, change->rank);

	switch (change->kind) {
	case TRAWL_PATH_RANK_AS_MEDIAN:
	case TRAWL_PATH_RANK_AS_NEXT:
		if (rank == s->path->rank_count || s->path->rank_count < 2)
			return 0;
		if (change->kind == TRAWL_PATH_RANK_AS_MEDIAN)
			tw_scenario_as_median(s, &of->places, rank);
		else
			tw_scenario_as_next(s, &of->places, rank);
		return 1;
	case TRAWL_PATH_BUS_BANDWIDTH:
		return set_bandwidth(s, change->factor);
	default:
		return tw_selection_apply(s, change->selection, change->kind, change->factor);
	}
}

static void set_asked(struct tw_scenario *s, const struct tw_what_if *w)
{
	const struct tw_scenarios *of = w->context;
	size_t i;

	for (i = 0; i < of->change_count; i++)
		apply(s, of, &of->changes[i]);
}

static void describe(struct tw_str *out, const struct trawl_path_change *c, uint64_t count)
{
	if (out->len)
		tw_str_add_cstr(out, "; ");
	if (c->kind == TRAWL_PATH_RANK_AS_MEDIAN || c->kind == TRAWL_PATH_RANK_AS_NEXT) {
		tw_str_addf(out, "rank %lld as %s", (long long)c->rank,
			    c->kind == TRAWL_PATH_RANK_AS_NEXT ? "the next slower rank" :
								 "the median rank");
		return;
	}
	if (c->kind == TRAWL_PATH_BUS_BANDWIDTH) {
		tw_str_add_cstr(out, "bus bandwidth ");
		tw_str_add_real(out, c->factor);
		tw_str_add_cstr(out, " GB/s");
	} else {
		tw_str_add_cstr(out, c->selection);
		if (c->kind == TRAWL_PATH_REMOVE)
			tw_str_add_cstr(out, " gone");
		else
			tw_str_add_cstr(out, " x "), tw_str_add_real(out, c->factor);
	}
	tw_str_addf(out, " (%llu)", (unsigned long long)count);
}

/* Each change alone, to see what it selects. */
static int check(struct tw_scenarios *of, const struct trawl_path_change *c,
		 struct trawl_error *err)
{
	bool selects = c->kind == TRAWL_PATH_SCALE || c->kind == TRAWL_PATH_REMOVE;
	struct tw_scenario s;
	uint64_t count;

	if (selects && tw_selection_check(c->selection, err))
		return TRAWL_EUSAGE;
	tw_scenario_init(&s, of->path, of->allocator);
	count = apply(&s, of, c);
	tw_scenario_release(&s);
	if (s.failed)
		return TRAWL_ENOMEM;
	if (!count && c->kind == TRAWL_PATH_BUS_BANDWIDTH)
		return trawl_error_set(err, TRAWL_EUSAGE,
				       "no collective of several ranks with a known size");
	if (!count && selects)
		return trawl_error_set(err, TRAWL_EUSAGE, "nothing is selected by '%.200s'",
				       c->selection);
	if (!count)
		return trawl_error_set(err, TRAWL_EUSAGE, "no other rank beside a rank %lld",
				       (long long)c->rank);
	describe(&of->text, c, count);
	return 0;
}

static int add_asked(struct tw_scenarios *s, struct trawl_error *err)
{
	struct tw_what_if w = { .name = "asked", .kind = "asked", .set = set_asked, .context = s };
	int status = 0;
	size_t i;

	tw_str_clear(&s->text);
	for (i = 0; i < s->change_count && !status; i++)
		status = check(s, &s->changes[i], err);
	if (status || !s->change_count)
		return status;
	w.note = s->text.failed ? NULL : keep(s, s->text.ptr);
	return w.note ? add(s, &w) : TRAWL_ENOMEM;
}

/* ---- all of them */

int tw_scenarios_list(struct tw_scenarios *s, const struct tw_path_op_sums *sums,
		      struct trawl_error *err)
{
	int status;

	tw_str_init(&s->text, s->allocator);
	status = add_bounds(s);
	if (!status)
		status = add_stragglers(s);
	if (!status)
		status = add_rooflines(s, sums);
	if (!status)
		status = add_faster(s, sums);
	if (!status)
		status = add_asked(s, err);
	return status == TRAWL_ENOMEM ? tw_no_memory(err) : status;
}

void tw_scenarios_release(struct tw_scenarios *s)
{
	if (s->places.path)
		tw_places_release(&s->places);
}

/* ---- what comes of them */

struct run {
	struct tw_what_if *list;
	size_t count;
	const struct tw_path *path;
	const struct trawl_allocator *allocator;
	bool failed[]; /* by batch */
};

static void measure(struct tw_what_if *list, const struct tw_scenario *s,
		    const struct tw_replay *replay, unsigned count)
{
	struct tw_path_window windows[TW_LANES];
	unsigned k;

	tw_find_windows(replay, count, windows);
	for (k = 0; k < count; k++) {
		list[k].after_ns = tw_window_length(&windows[k]);
		if (list[k].quick)
			continue;
		list[k].step_after_ns = tw_step_ns(replay->path, tw_replayed(replay, k));
		list[k].inferred_ns = tw_critical_inferred_ns(replay, k, &s[k], &windows[k]);
	}
}

/* Several at once. */
static void run_batch(void *context, size_t batch)
{
	struct run *run = context;
	struct tw_what_if *list = &run->list[batch * TW_LANES];
	size_t left = run->count - batch * TW_LANES;
	unsigned count = left < TW_LANES ? (unsigned)left : TW_LANES, k;
	struct tw_scenario s[TW_LANES];
	struct tw_replay replay;

	for (k = 0; k < count; k++) {
		tw_scenario_init(&s[k], run->path, run->allocator);
		list[k].set(&s[k], &list[k]);
	}
	run->failed[batch] = tw_replay_run(&replay, run->path, s, count, run->allocator) != 0;
	if (!run->failed[batch])
		measure(list, s, &replay, count);
	tw_replay_release(&replay);
	for (k = 0; k < count; k++)
		tw_scenario_release(&s[k]);
}

int tw_what_if_run(struct tw_what_if *list, size_t count, const struct tw_path *path,
		   unsigned threads, const struct trawl_allocator *a)
{
	size_t batches = (count + TW_LANES - 1) / TW_LANES, bytes = sizeof(struct run) + batches, i;
	struct run *run = tw_alloc_array(a, bytes, 1);
	bool failed = !run;

	for (i = 0; i < count; i++) {
		list[i].before_ns = i ? list[0].before_ns : tw_window_ns(path, tw_recorded(path));
		list[i].step_before_ns = i ? list[0].step_before_ns :
					     tw_step_ns(path, tw_recorded(path));
	}
	if (run) {
		*run = (struct run){ list, count, path, a };
		tw_parallel(threads ? threads : tw_thread_count(), batches, run_batch, run);
	}
	for (i = 0; run && i < batches; i++)
		failed |= run->failed[i];
	tw_free(a, run, bytes);
	return failed ? TRAWL_ENOMEM : 0;
}
