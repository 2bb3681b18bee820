/*
 * The kernels of an operation as a report's cell lists them, in Python's notation:
 * [{'name': 'gemm', 'stream': 7, 'count': 3, 'total_duration_us': 12.5, ...}, ...].
 */
#ifndef TW_STUDY_VARIANCE_KERNEL_DETAILS_H
#define TW_STUDY_VARIANCE_KERNEL_DETAILS_H

#include "text/str.h"
#include "trawl/error.h"

struct tw_listed_kernel {
	char *name;
	int64_t total_ns; /* of all of that name in the list; 0: not told */
};

struct tw_listed_kernels {
	const struct trawl_allocator *allocator;
	struct tw_listed_kernel *items; /* most time first, of equals by name */
	size_t count, capacity;
};

/*
 * Reads what it can of a cell that was cut off or has numbers such as np.float64(12.5) in it; a
 * cell that is something else has no kernels.  TRAWL_ENOMEM; _release is due in any case.
 */
int tw_listed_kernels_read(struct tw_listed_kernels *kernels, const char *cell,
			   const struct trawl_allocator *allocator,
			   struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_listed_kernels_release(struct tw_listed_kernels *kernels);

#endif
