/* Which processes have work on the GPU, from when to when; when a capture ends. */
#ifndef TW_NSYS_WORK_H
#define TW_NSYS_WORK_H

#include "base/list.h"
#include "nsys/scan.h"

struct tw_nsys_work {
	int64_t process, first_ns, last_ns;
};

struct tw_nsys_workers {
	const struct trawl_allocator *allocator;
	TW_LIST(struct tw_nsys_work) list; /* by process */
	struct tw_ids ids;		   /* into the list, until it is sorted */
};

/* Kernels, copies, memsets, graphs. */
int tw_nsys_workers_read(struct tw_nsys_workers *workers, struct tw_nsys_source *source,
			 struct trawl_error *err) TRAWL_MUST_CHECK;

/* Raises *end_ns to the largest time in tables of events; kernels and calls only when asked for. */
int tw_nsys_latest(struct tw_nsys_source *source, bool kernels, bool calls, int64_t *end_ns,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
