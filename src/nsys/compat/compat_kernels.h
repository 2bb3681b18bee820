/*
 * Kernels as the original scripts count them: those that lie in the window of their process,
 * edges included, on streams that are distinguished by their number alone.
 */
#ifndef TW_NSYS_COMPAT_COMPAT_KERNELS_H
#define TW_NSYS_COMPAT_COMPAT_KERNELS_H

#include "base/intervals.h"
#include "base/list.h"
#include "base/wide.h"
#include "nsys/scan.h"

enum tw_compat_kind {
	TW_COMPAT_COMPUTE,
	TW_COMPAT_COMMUNICATION, /* its short name begins with nccl */
	TW_COMPAT_LOUD,		 /* with the same, in other than small letters */
	TW_COMPAT_NAMELESS,
};

struct tw_compat_window {
	int64_t pid, start_ns, end_ns;
	struct tw_intervals compute; /* when anything computes */
};

struct tw_compat_kernel {
	int64_t stream, start_ns, end_ns;
	int64_t correlation;
	uint32_t window;
	bool linked; /* it has a correlation */
	uint8_t kind;
};

struct tw_compat_stream {
	uint32_t window;
	int64_t stream;
	size_t first, last; /* in kernels, from the first to before the last */
	int64_t comm_count, compute_count;
	tw_wide comm_ns, compute_ns;
};

struct tw_compat_kernels {
	const struct trawl_allocator *allocator;
	TW_LIST(struct tw_compat_window) windows;
	struct tw_ids window_ids;		  /* pid -> in windows */
	TW_LIST(struct tw_compat_kernel) list;	  /* by window, stream */
	TW_LIST(struct tw_compat_stream) streams; /* the same */
};

/* The number of the window of a process, which is its first one; UINT32_MAX: out of memory. */
uint32_t tw_compat_window(struct tw_compat_kernels *kernels, int64_t pid, int64_t start_ns,
			  int64_t end_ns);
int tw_compat_kernels_read(struct tw_compat_kernels *kernels, struct tw_nsys_source *source,
			   struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
