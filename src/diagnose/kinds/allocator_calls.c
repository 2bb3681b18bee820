/* Memory is allocated or freed through the driver inside steps.  Without: the calls and their waits are gone. */
#include "diagnose/kinds.h"

static void look_at_allocations(struct tw_look *look)
{
	const struct tw_host *host = &look->d->host;
	uint64_t i;

	for (i = 0; i < host->call_count && !look->failed; i++) {
		uint32_t node = host->call[i];
		int64_t start = tw_look_start(look, node), end = tw_look_end(look, node);

		if (!(tw_look_node_kinds(look, node) & TW_HOST_ALLOCATION) ||
		    !tw_in_steady_step(look, start))
			continue;
		tw_claim_host(look, TW_KIND_allocator_calls, tw_look_track(look, node), start, end,
			      0);
		tw_claim_spot(look, TW_KIND_allocator_calls, host->event[node], TW_NONE,
			      end - start);
	}
}

const struct tw_kind tw_kind_allocator_calls = { .look = look_at_allocations };
