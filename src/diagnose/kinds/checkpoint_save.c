/* Writing a checkpoint stops the step.  Without: its host time, its waits and its copies are gone. */
#include "diagnose/kinds.h"

static void remove_gpu(void *look, uint32_t gpu)
{
	tw_claim_remove(look, TW_KIND_checkpoint_save, gpu);
}

static void look_at_checkpoints(struct tw_look *look)
{
	struct tw_ranges ranges = { 0 };
	size_t i;

	tw_ranges_of_kind(look, TW_HOST_CHECKPOINTING, &ranges);
	for (i = 0; i < ranges.list.count && !look->failed; i++) {
		const struct tw_range *r = &ranges.list.at[i];

		tw_claim_host(look, TW_KIND_checkpoint_save, r->track, r->start_ns, r->end_ns, 0);
		tw_launched_in(look, r->track, r->start_ns, r->end_ns, remove_gpu, look);
		tw_claim_spot_in_step(look, TW_KIND_checkpoint_save, r->event, r->inner,
				      r->end_ns - r->start_ns, tw_step_number(look, r->start_ns));
	}
}

const struct tw_kind tw_kind_checkpoint_save = { .look = look_at_checkpoints, .of_window = true };
