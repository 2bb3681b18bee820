/*
 * The host waits for the GPU inside a step: stream, event or device synchronisation, or a blocking copy to
 * the host.  Without: the wait, its copy and the operator around it (aten::item and its like) are
 * gone; Python after it stays.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "data/tables.h"

#include <string.h>

#define KIND TW_KIND_host_sync

static void remove_gpu(void *look, uint32_t gpu)
{
	tw_claim_remove(look, KIND, gpu);
}

/* By host node the outermost operator that reads a value back, and that copies to another place; NULL: none is. */
struct around {
	uint32_t *reading, *copying;
	uint32_t last; /* the operator before, each of which is claimed once, however many of its calls wait */
};

static void find_around(struct tw_look *look, struct around *around)
{
	static const char *const reading[] = { "aten::item", "aten::_local_scalar_dense",
					       "aten::nonzero", "aten::is_nonzero", NULL };
	static const char *const copying[] = { "aten::copy_", "aten::to", "aten::_to_copy", NULL };

	around->last = TW_NONE;
	around->reading = tw_outermost_of(look, reading);
	around->copying = tw_outermost_of(look, copying);
}

static uint32_t reading_operator(const struct around *around, uint32_t call)
{
	return around->reading && around->reading[call] != TW_NONE ? around->reading[call] : call;
}

static bool is_in_copy(const struct around *around, uint32_t call)
{
	return around->copying && around->copying[call] != TW_NONE;
}

/* A wait right before memory is freed belongs to the allocator. */
static bool is_before_free(struct tw_look *look, uint64_t call)
{
	const struct tw_host *host = &look->d->host;
	uint32_t node = host->call[call], next;

	if (call + 1 == host->call_count)
		return false;
	next = host->call[call + 1];
	return tw_look_track(look, node) == tw_look_track(look, next) &&
	       tw_look_start(look, next) - tw_look_end(look, node) <=
		       TW_LIMIT_SYNC_BEFORE_FREE_US * 1000 &&
	       tw_look_node_kinds(look, next) & TW_HOST_ALLOCATION &&
	       (strstr(tw_look_name(look, next), "Free") ||
		strstr(tw_look_name(look, next), "Unmap"));
}

static bool is_copy_back(struct tw_look *look, uint32_t node)
{
	uint32_t copy = look->last_copy[node], name;

	if (!copy || !tw_waits_for_copy(look, node, copy - 1) ||
	    tw_is_slow_copy_back(look, copy - 1))
		return false;
	name = look->trace->events.name[look->d->gpu.event[copy - 1]];
	return tw_copy_direction(look->trace->texts.entries[name].ptr,
				 look->trace->texts.entries[name].len) == TW_COPY_D2H;
}

/* What ends before anything is launched waits for work that the recording does not explain. */
static bool is_before_launches(const struct tw_look *look, uint32_t node)
{
	const struct tw_path_rank *r = &look->part->rank;

	return r->launched_count &&
	       tw_look_end(look, node) <= look->part->points[r->launch[r->launched[0]]].time_ns;
}

static void look_at_call(struct tw_look *look, struct around *around, uint64_t call)
{
	uint32_t node = look->d->host.call[call], op;
	unsigned kinds = tw_look_node_kinds(look, node);
	bool back = is_copy_back(look, node);
	bool waits = kinds & (TW_HOST_WAITS_FOR_STREAM | TW_HOST_WAITS_FOR_DEVICE) &&
		     !(kinds & TW_HOST_ALLOCATION);

	if ((!waits && !back) || !tw_in_step(look, tw_look_start(look, node)) ||
	    is_before_launches(look, node) || is_before_free(look, call))
		return;
	op = reading_operator(around, node);
	/* The wait of a copy to the device is that copy's. */
	if (op == around->last || (op == node && !back && is_in_copy(around, node)))
		return;

	around->last = op;
	tw_claim_host(look, KIND, tw_look_track(look, op), tw_look_start(look, op),
		      tw_look_end(look, op), 0);
	tw_launched_in(look, tw_look_track(look, op), tw_look_start(look, op),
		       tw_look_end(look, op), remove_gpu, look);
	tw_claim_spot(look, KIND, look->d->host.event[op], look->d->host.event[node],
		      tw_look_end(look, op) - tw_look_start(look, op));
}

static void look_at_syncs(struct tw_look *look)
{
	struct around around;
	uint64_t i;

	find_around(look, &around);
	for (i = 0; i < look->d->host.call_count && !look->failed; i++)
		look_at_call(look, &around, i);
}

const struct tw_kind tw_kind_host_sync = { .look = look_at_syncs };
