/* Scenarios that are always computed: bounds of what a kind of change can bring. */
#ifndef TW_PATH_STANDARD_H
#define TW_PATH_STANDARD_H

#include "path/scenario.h"

enum tw_standard {
	TW_GPU_FREE,	   /* GPU work takes no time: the floor of the host */
	TW_HOST_FREE,	   /* the host takes no time: the floor of the GPU */
	TW_LAUNCHES_FREE,  /* as inside a GPU graph */
	TW_TRANSFERS_FREE, /* collectives end as the last rank arrives */
	TW_NO_WAITING,	   /* collectives wait for no rank */
	TW_LONE_FREE,	   /* communication whose other ranks are not there takes no time */
	TW_STANDARDS,
};

/* Its code, "gpu_free", and what it says to people. */
const char *tw_standard_name(enum tw_standard standard);
const char *tw_standard_meaning(enum tw_standard standard);

/* Sets an empty scenario to it. */
void tw_standard_set(struct tw_scenario *s, enum tw_standard standard);

#endif
