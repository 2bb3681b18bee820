/* One rank's part of the graph: the steps that make it, and its causes in order of point. */
#define _GNU_SOURCE
#include "path/rank_build.h"

#include "analysis/groups.h"
#include "analysis/ops/collective_args.h"
#include "base/alloc.h"
#include "base/scope.h"

#include <string.h>

#define FREE(a, array, count) tw_free(a, array, ((size_t)(count) + 1) * sizeof(*(array)))

/* AMD's runtime, by the device or the calls. */
static enum tw_vendor vendor_of(const struct tw_derived *d)
{
	enum { CALLS = 200 };
	uint64_t i;

	if (strcasestr(d->trace->device_name, "amd"))
		return TW_VENDOR_AMD;
	for (i = 0; i < d->host.call_count && i < CALLS; i++) {
		uint32_t name = d->trace->events.name[d->host.event[d->host.call[i]]];

		if (!strncmp(d->trace->texts.entries[name].ptr, "hip", 3))
			return TW_VENDOR_AMD;
	}
	return TW_VENDOR_NVIDIA;
}

/* Edges by point, in order of code: of causes that are equally late the first binds. */
static void sort_edges(struct tw_rank_build *b, struct tw_path_part *part)
{
	const struct trawl_allocator *a = b->allocator;
	size_t n = b->edges.count, count = part->rank.count, i;
	uint32_t *next = tw_build_array(b, count, sizeof(*next));

	part->cause_count = (uint32_t)n;
	part->from = tw_alloc_array(a, n + 1, sizeof(*part->from));
	part->code = tw_alloc_array(a, n + 1, sizeof(*part->code));
	b->failed |= !part->from || !part->code;
	if (b->failed)
		return;
	for (i = 0; i < n; i++)
		part->points[b->edges.at[i].point + 1].causes++;
	for (i = 0; i < count; i++) {
		next[i] = part->points[i].causes;
		part->points[i + 1].causes += part->points[i].causes;
	}
	for (i = 0; i < n; i++) {
		const struct tw_path_edge *edge = &b->edges.at[i];
		uint32_t at = next[edge->point]++;

		for (; at > part->points[edge->point].causes && part->code[at - 1] > edge->code;
		     at--) {
			part->from[at] = part->from[at - 1];
			part->code[at] = part->code[at - 1];
		}
		part->from[at] = edge->from;
		part->code[at] = (uint8_t)edge->code;
	}
}

/* Room for what there may be at most, so that nothing is moved; what is not touched costs nothing. */
static void reserve_points(struct tw_rank_build *b)
{
	size_t n = 2 * (size_t)b->rank->gpu_count;
	size_t most = n + 2 * (size_t)b->d->host.count + 64;

	b->points.at = tw_alloc(b->allocator, most * sizeof(*b->points.at));
	b->edges.at = tw_alloc(b->scratch, 2 * most * sizeof(*b->edges.at));
	b->points.capacity = b->points.at ? most : 0;
	b->edges.capacity = b->edges.at ? 2 * most : 0;
	b->failed |= !b->points.at || !b->edges.at;
	if (b->failed)
		return;
	memset(b->points.at, 0, n * sizeof(*b->points.at));
	b->points.count = n;
}

/* The list becomes the part's array, with room for one more point. */
static void take_points(struct tw_rank_build *b, struct tw_path_part *part)
{
	size_t size = sizeof(*part->points), count = b->points.count;

	part->rank.count = (uint32_t)count;
	part->points = tw_realloc(b->allocator, b->points.at, b->points.capacity * size,
				  (count + 1) * size);
	b->failed |= !part->points;
	if (b->failed)
		return;
	memset(&part->points[count], 0, size);
	memset(&b->points, 0, sizeof(b->points));
}

/*
 * What needs forward and backward paired, which a report of one table has not done, and models: their
 * memory is gone before the rest begins.
 */
static void use_models(struct tw_rank_build *b, const struct tw_modelled *modelled,
		       const struct tw_platform *platform)
{
	const struct tw_derived *derived = b->d;
	const struct trawl_allocator *scratch = b->scratch;
	struct tw_derived paired = *derived;
	struct tw_scope scope;

	tw_path_find_modules(b);
	tw_scope_begin(&scope, derived->allocator);
	b->scratch = &scope.allocator;
	if (!derived->autograd.pairs && !modelled && (b->module || platform)) {
		paired.allocator = &scope.allocator;
		b->failed |= tw_autograd_build(&paired.autograd, &paired) != 0;
		b->d = &paired;
	}
	if (!b->failed)
		tw_path_targets(b, modelled, platform);
	if (!b->failed)
		tw_path_pass_modules(b);
	tw_scope_end(&scope);
	b->scratch = scratch;
	b->d = derived;
}

int tw_path_part_build(struct tw_path_part *part, const struct tw_derived *derived,
		       const struct trawl_allocator *allocator)
{
	return tw_path_part_build_with(part, derived, NULL, NULL, allocator);
}

int tw_path_part_build_with(struct tw_path_part *part, const struct tw_derived *derived,
			    const struct tw_modelled *modelled, const struct tw_platform *platform,
			    const struct trawl_allocator *allocator)
{
	static void (*const steps[])(struct tw_rank_build * b) = {
		reserve_points, tw_host_points,	     tw_gpu_points,
		tw_hand_overs,	tw_stream_waits,     tw_late_starts,
		tw_syncs,	tw_path_collectives, tw_path_labels,
	};
	struct tw_scope scope;
	struct tw_rank_build b = { .d = derived,
				   .scratch = &scope.allocator,
				   .allocator = allocator,
				   .rank = &part->rank };
	size_t i;

	*part = (struct tw_path_part){ .allocator = allocator };
	tw_scope_begin(&scope, derived->allocator);
	part->rank.rank = derived->trace->rank;
	part->rank.vendor = vendor_of(derived);
	part->rank.gpu_count = (uint32_t)derived->gpu.count;
	part->rank.queue_count = derived->gpu.queue_count;
	b.delays = &tw_delays[part->rank.vendor];
	use_models(&b, modelled, platform);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && !b.failed; i++)
		steps[i](&b);
	if (!b.failed)
		take_points(&b, part);
	if (!b.failed)
		sort_edges(&b, part);
	TW_LIST_FREE(&b.points, allocator);
	tw_scope_end(&scope);
	return b.failed ? TRAWL_ENOMEM : 0;
}

void tw_path_rank_release(struct tw_path_rank *rank, const struct trawl_allocator *a)
{
	FREE(a, rank->step, rank->gpu_count);
	FREE(a, rank->launch, rank->gpu_count);
	FREE(a, rank->launch_end, rank->gpu_count);
	FREE(a, rank->queue, rank->gpu_count);
	FREE(a, rank->target_ns, rank->gpu_count);
	FREE(a, rank->launched, rank->gpu_count);
	FREE(a, rank->device, rank->queue_count);
	FREE(a, rank->labels, rank->label_count);
	FREE(a, rank->collectives, rank->gpu_count);
	FREE(a, rank->steps, rank->step_count);
	FREE(a, rank->piece, rank->count);
	tw_free(a, rank->threads, rank->thread_room * sizeof(*rank->threads));
	tw_pool_release(&rank->texts);
	memset(rank, 0, sizeof(*rank));
}

void tw_path_part_drop(struct tw_path_part *part)
{
	FREE(part->allocator, part->points, part->rank.count);
	FREE(part->allocator, part->from, part->cause_count);
	FREE(part->allocator, part->code, part->cause_count);
	part->points = NULL;
	part->from = NULL;
	part->code = NULL;
}

void tw_path_part_release(struct tw_path_part *part)
{
	if (!part->allocator)
		return;
	tw_path_part_drop(part);
	tw_path_rank_release(&part->rank, part->allocator);
	memset(part, 0, sizeof(*part));
}

/* ---- its collectives, as the job lists them: which GPU events each is */

static int64_t root_of(const struct tw_rank_build *b, uint64_t g)
{
	struct trawl_argument arg;

	return trawl_event_argument(b->d->trace, b->d->gpu.event[g], TW_KEY_rank, &arg) &&
			       arg.kind == TRAWL_VALUE_INTEGER ?
		       arg.integer :
		       -1;
}

static void add_piece(struct tw_rank_build *b, struct tw_path_event *of, uint32_t g)
{
	if (b->points.at[2 * g + 1].time_ns > b->points.at[2 * of->last + 1].time_ns)
		of->last = g;
}

void tw_path_collectives(struct tw_rank_build *b)
{
	struct tw_path_rank *r = b->rank;
	struct tw_collective_facts facts;
	struct tw_groups begun;
	uint32_t g;

	r->collectives =
		tw_alloc_array(b->allocator, (size_t)r->gpu_count + 1, sizeof(*r->collectives));
	b->failed |= !r->collectives;
	TW_COLLECTIVES_BEGUN_INIT(&begun, b->scratch);
	for (g = 0; g < r->gpu_count && !b->failed; g++) {
		const uint64_t *of;

		if (b->d->gpu.bucket[g] != TW_COMMUNICATION)
			continue;
		tw_collective_facts_of(b->d, g, &facts);
		of = tw_collective_begun(&begun, b->d, g, &facts, r->collective_count);
		if (of)
			add_piece(b, &r->collectives[*of], g);
		else
			r->collectives[r->collective_count++] =
				(struct tw_path_event){ g, g, root_of(b, g) };
	}
	b->failed |= begun.failed;
	tw_groups_release(&begun);
}
