/*
 * Whose work a step is: of each annotation that a view asks for the GPU work that was launched
 * within it, and how that lies to the annotation's time on the host.
 */
#ifndef TW_DERIVE_STEPS_H
#define TW_DERIVE_STEPS_H

#include "derive/view.h"

/* An annotation of the host, and its work; times are those of the trace. */
struct tw_step {
	uint32_t event;
	int64_t start_ns, end_ns;  /* on the host */
	uint64_t launched;	   /* GPU events */
	int64_t first_ns, last_ns; /* first start and last end of them, where there are any */
	int64_t busy_ns;	   /* in which any of them ran */
	int64_t during_ns;	   /* of that, during the annotation */
	int64_t after_ns;	   /* of that, after its end */
	int64_t other_ns;	   /* between the first and the last in which only other work ran */
	int64_t gpu_ns; /* in which the GPU was busy during the annotation, with any work */
};

/* The same of all of them together. */
struct tw_steps {
	struct tw_step *items; /* in order of start */
	uint64_t count;
	bool by_launch;	   /* the view has what they launched, else what ran at their time */
	bool has_launches; /* any GPU event of the trace has a recorded launch */
	uint64_t launched;
	uint64_t by_start; /* GPU events without a launch, which go by the time of their start */
	uint64_t earlier;  /* of their time, but launched before any call that was recorded */
	int64_t busy_ns, during_ns, gpu_ns;
	bool annotated;	    /* the GPU has these annotations too */
	int64_t outside_ns; /* of busy_ns, outside of those */
};

/* Of busy_ns: of one step that after its end on the host, of several that outside of their time there. */
static inline int64_t tw_steps_elsewhere(const struct tw_steps *steps)
{
	return steps->count == 1 ? steps->items[0].after_ns : steps->busy_ns - steps->during_ns;
}

struct tw_derived;

/*
 * Applies the view to the GPU work: by launch where that is asked for and known, else by time.
 * What does not belong to the view is dropped; by launch, other work in its time stays after the
 * events that count (struct tw_gpu).  0 or -1.
 */
int tw_steps_apply(struct tw_derived *d, const struct tw_view_options *options) TRAWL_MUST_CHECK;
void tw_steps_release(struct tw_derived *d);

#endif
