/*
 * Data loading: outermost ranges of a DataLoader on a thread that launches GPU work.  Without: a batch is
 * there after as long as one that waits for nothing takes, and no worker is waited for.
 */
#include "diagnose/kinds.h"

static void look_at_loading(struct tw_look *look)
{
	struct tw_ranges ranges = { 0 };
	int64_t keep_ns = look->part->rank.fetch_ns;
	size_t i;

	tw_ranges_of_kind(look, TW_HOST_DATA_LOADING, &ranges);
	for (i = 0; i < ranges.list.count; i++) {
		const struct tw_range *r = &ranges.list.at[i];

		if (r->end_ns - r->start_ns < keep_ns)
			keep_ns = r->end_ns - r->start_ns;
	}
	for (i = 0; i < ranges.list.count && !look->failed; i++) {
		const struct tw_range *r = &ranges.list.at[i];
		uint32_t thread = tw_look_thread(look, r->track);
		const struct tw_frame *function;

		if (thread == UINT32_MAX || !look->threads[thread].count ||
		    r->end_ns - r->start_ns <= look->delays->fetch)
			continue;
		tw_claim_host(look, TW_KIND_data_loading, r->track, r->start_ns, r->end_ns,
			      keep_ns);
		function = tw_function_in(look, r->track, r->start_ns, r->end_ns);
		tw_claim_spot_at(look, TW_KIND_data_loading, r->event, r->inner,
				 function ? function->event : TW_NONE, r->end_ns - r->start_ns);
	}
}

const struct tw_kind tw_kind_data_loading = { .look = look_at_loading };
