/* Code is compiled or loaded in steps after the first.  Without: that time of the host is gone. */
#include "diagnose/kinds.h"

#define KIND TW_KIND_recompilation

static void look_at_compilations(struct tw_look *look)
{
	const struct tw_host *host = &look->d->host;
	const struct tw_path_rank *r = &look->part->rank;
	int64_t first_ns = r->step_count > 1 ? r->steps[0].end_ns : INT64_MAX;
	struct tw_ranges ranges = { 0 };
	uint64_t i;

	/* Without steps nobody can tell warm-up from steady work. */
	if (r->step_count < 2)
		return;
	for (i = 0; i < host->call_count && !look->failed; i++) {
		uint32_t node = host->call[i];
		int64_t start = tw_look_start(look, node), end = tw_look_end(look, node);

		if (!(tw_look_node_kinds(look, node) & TW_HOST_MODULE_LOAD) || start <= first_ns)
			continue;
		tw_claim_host(look, KIND, tw_look_track(look, node), start, end, 0);
		tw_claim_spot(look, KIND, host->event[node], TW_NONE, end - start);
	}
	tw_ranges_of_kind(look, TW_HOST_COMPILATION, &ranges);
	for (i = 0; i < ranges.list.count && !look->failed; i++) {
		const struct tw_range *range = &ranges.list.at[i];

		if (range->start_ns <= first_ns)
			continue;
		tw_claim_host(look, KIND, range->track, range->start_ns, range->end_ns, 0);
		tw_claim_spot(look, KIND, range->event, range->inner,
			      range->end_ns - range->start_ns);
	}
}

const struct tw_kind tw_kind_recompilation = { .look = look_at_compilations };
