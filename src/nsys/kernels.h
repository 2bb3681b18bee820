/*
 * One look at the kernels of an export, with the windows of all ranks at once: what each stream
 * does in its rank's window, the communication kernels, and when anything computes.
 */
#ifndef TW_NSYS_KERNELS_H
#define TW_NSYS_KERNELS_H

#include "base/intervals.h"
#include "base/list.h"
#include "base/wide.h"
#include "nsys/rules.h"
#include "nsys/scan.h"

/* Where kernels of a process count. */
struct tw_nsys_window {
	int64_t process;
	int64_t start_ns, end_ns;
};

struct tw_nsys_kernels_wanted {
	const struct tw_nsys_window *windows; /* the number of one is its rank's */
	size_t count;
	const struct tw_nsys_rules *rules; /* of kernels */
	bool compute_spans;
};

/* When anything computes on a device: only that hides what the device communicates. */
struct tw_nsys_cover {
	uint32_t window;
	int64_t device;
	struct tw_intervals busy;
};

struct tw_nsys_stream {
	uint32_t window;
	uint32_t cover;				/* in covers */
	int64_t device, context, green, stream; /* -1: unknown */
	uint64_t comm_count, compute_count, clipped;
	tw_wide comm_ns, compute_ns;
	uint32_t number; /* before they were put in order */
};

/* A communication kernel, clipped to its window. */
struct tw_nsys_comm {
	int64_t start_ns, end_ns;
	int64_t gpu_start_ns; /* before clipping; tw_nsys_attribute() puts the launch here */
	int64_t correlation;  /* and here its thread */
	uint32_t stream;      /* in streams */
	bool linked;	      /* it has a correlation */
};

struct tw_nsys_kernels {
	const struct trawl_allocator *allocator;
	TW_LIST(struct tw_nsys_stream) streams; /* by window, device, context, green, stream */
	TW_LIST(struct tw_nsys_comm) comm;
	TW_LIST(struct tw_nsys_cover) covers; /* of windows and devices */
	struct tw_ids stream_ids, cover_ids;  /* while they are collected */
	uint64_t rows, unnamed; /* kernels in the windows; those of them without a name */
	uint64_t again;		/* rows for a kernel in the windows that has one already */
	bool table;
	int64_t end_ns; /* largest time seen, whatever its process */
};

/* Released by tw_nsys_kernels_release(), also after a failure. */
int tw_nsys_kernels_read(struct tw_nsys_kernels *kernels, struct tw_nsys_source *source,
			 const struct tw_nsys_kernels_wanted *wanted,
			 struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_nsys_kernels_release(struct tw_nsys_kernels *kernels);

#endif
