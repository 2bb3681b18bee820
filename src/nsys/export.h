/*
 * SQLite exports of Nsight Systems: the tables that are read and their columns, of which a reader
 * takes the first ones or all; and what their numbers mean.
 */
#ifndef TW_NSYS_EXPORT_H
#define TW_NSYS_EXPORT_H

#include "db/parts.h"
#include "os/times.h"

/* Whether a database is an export: 0, or TRAWL_EFORMAT, and the message says what else it is. */
int tw_nsys_recognise(const struct tw_database *database, const struct trawl_allocator *allocator,
		      struct trawl_error *err) TRAWL_MUST_CHECK;

#define TW_NSYS_TEXTS "StringIds"
#define TW_NSYS_KERNELS "CUPTI_ACTIVITY_KIND_KERNEL"
#define TW_NSYS_COPIES "CUPTI_ACTIVITY_KIND_MEMCPY"
#define TW_NSYS_MEMSETS "CUPTI_ACTIVITY_KIND_MEMSET"
#define TW_NSYS_SYNCS "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
#define TW_NSYS_GRAPHS "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
#define TW_NSYS_CALLS "CUPTI_ACTIVITY_KIND_RUNTIME"
#define TW_NSYS_RANGES "NVTX_EVENTS"

#define TW_BIT(column) (1u << (column))
/* Bits of the columns before this one. */
#define TW_BITS_BEFORE(column) (TW_BIT(column) - 1)

/* All tables of events begin with these two, those of GPU work with all. */
enum {
	TW_GPU_START,
	TW_GPU_END,
	TW_GPU_PROCESS, /* globalPid */
	TW_GPU_DEVICE,
	TW_GPU_CONTEXT,
	TW_GPU_GREEN,
	TW_GPU_STREAM,
	TW_GPU_CORRELATION,
	TW_GPU_COLUMNS
};
#define TW_GPU_COLUMN_NAMES                                                                 \
	"start", "end", "globalPid", "deviceId", "contextId", "greenContextId", "streamId", \
		"correlationId"

enum {
	TW_KERNEL_NAME = TW_GPU_COLUMNS, /* demangled */
	TW_KERNEL_SHORT_NAME,
	TW_KERNEL_MANGLED_NAME,
	TW_KERNEL_NODE,
	TW_KERNEL_REGISTERS,
	TW_KERNEL_GRID, /* three: x, y, z */
	TW_KERNEL_BLOCK = TW_KERNEL_GRID + 3,
	TW_KERNEL_STATIC_SHARED = TW_KERNEL_BLOCK + 3,
	TW_KERNEL_DYNAMIC_SHARED,
	TW_KERNEL_COLUMNS
};
extern const char *const tw_kernel_columns[TW_KERNEL_COLUMNS];

enum {
	TW_CALL_START,
	TW_CALL_END,
	TW_CALL_THREAD, /* globalTid */
	TW_CALL_CORRELATION,
	TW_CALL_NAME,
	TW_CALL_CLASS,
	TW_CALL_RESULT,
	TW_CALL_COLUMNS
};
extern const char *const tw_call_columns[TW_CALL_COLUMNS];

enum {
	TW_NVTX_START,
	TW_NVTX_END,
	TW_NVTX_TYPE,
	TW_NVTX_THREAD, /* globalTid */
	TW_NVTX_TEXT_ID,
	TW_NVTX_TEXT,
	TW_NVTX_DOMAIN,
	TW_NVTX_JSON_ID,
	TW_NVTX_INT64,
	TW_NVTX_UINT64,
	TW_NVTX_INT32,
	TW_NVTX_UINT32,
	TW_NVTX_JSON,
	TW_NVTX_DOUBLE,
	TW_NVTX_FLOAT,
	TW_NVTX_COLUMNS
};
extern const char *const tw_nvtx_columns[TW_NVTX_COLUMNS];

/* What a row of NVTX_EVENTS is. */
enum tw_nvtx_type {
	TW_NVTX_MARK = 34,
	TW_NVTX_THREAD_NAME = 39,
	TW_NVTX_PUSH_POP = 59, /* also where there is no type: nearly all are */
	TW_NVTX_START_END = 60,
	/* The same of NVTXT files. */
	TW_NVTX_MARK_TEXT = 64,
	TW_NVTX_PUSH_POP_TEXT = 70,
	TW_NVTX_START_END_TEXT = 71,
	TW_NVTX_DOMAIN_NAME = 75,
};

/* The text of an id in StringIds, as tw_database_text() has it. */
const char *tw_nsys_text(struct tw_database *database, int64_t id, size_t *len);
/* The text of a row of NVTX_EVENTS, in it or in StringIds; NULL: none. */
const char *tw_nvtx_text(struct tw_database *database, const struct tw_scan *scan, size_t *len);

/* The process of a globalTid or globalPid, with the bits of its host; its number for people. */
static inline int64_t tw_nsys_process(int64_t global)
{
	return (int64_t)((uint64_t)global >> 24);
}

static inline int64_t tw_nsys_pid(int64_t process)
{
	return process & 0xffffff;
}

/* The thread of a globalTid. */
static inline uint32_t tw_nsys_tid(int64_t global)
{
	return (uint32_t)(global & 0xffffff);
}

/* Whether it links a call and its work: 0 and -1 are written for want of one, -1 without a sign too. */
static inline bool tw_nsys_is_correlation(int64_t id)
{
	return id > 0 && id != (int64_t)UINT32_MAX;
}

/* A time of which differences and sums cannot overflow. */
static inline bool tw_nsys_is_time(int64_t time_ns)
{
	return time_ns >= -TW_LATEST_TIME_NS && time_ns <= TW_LATEST_TIME_NS;
}

/*
 * Of the labels of a process the first counts; one from before the capture only when it has no
 * other.
 */
static inline bool tw_nsys_is_better_label(int64_t start_ns, int64_t than_ns)
{
	return (start_ns >= 0) == (than_ns >= 0) ? start_ns < than_ns : start_ns >= 0;
}

#endif
