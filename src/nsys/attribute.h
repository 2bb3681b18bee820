/* What communication was launched for: the innermost marker around its launch. */
#ifndef TW_NSYS_ATTRIBUTE_H
#define TW_NSYS_ATTRIBUTE_H

#include "base/list.h"

struct tw_nsys_capture;

struct tw_nsys_attributed {
	uint32_t comm; /* in kernels.comm */
	uint16_t mark; /* of ranges.marks, + 1; 0: no marker is around it */
};

struct tw_nsys_attribution {
	TW_LIST(struct tw_nsys_attributed) list; /* in the order of the file */
	uint64_t without_launch; /* no call is recorded: the start on the GPU stands for it */
};

/* Of the communication kernels on streams that compute nothing, into capture->attribution. */
int tw_nsys_attribute(struct tw_nsys_capture *capture, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
