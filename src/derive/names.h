/* Names of processes and threads from the metadata events. */
#ifndef TW_DERIVE_NAMES_H
#define TW_DERIVE_NAMES_H

#include "store/trace.h"

/* Text ids by track; 0: none. */
struct tw_track_names {
	uint32_t process, labels, thread;
};

struct tw_names {
	const struct trawl_allocator *allocator;
	struct tw_track_names *tracks;
	uint32_t count;
};

int tw_names_build(struct tw_names *names, const struct trawl_trace *trace) TRAWL_MUST_CHECK;
void tw_names_release(struct tw_names *names);

#endif
