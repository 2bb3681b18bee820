/*
 * A trace: every event of one input as immutable columns, with a record of its defects.
 *
 * Event number i is the i-th element of the input's event list, metadata and flow events
 * included; all columns have trawl_trace_events() entries.  Names and other texts are ids into
 * one pool.  A trace may be read by several threads at once.
 */
#ifndef TRAWL_TRACE_H
#define TRAWL_TRACE_H

#include "trawl/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trawl_trace;

/* What an event is, whatever its writer calls it. */
enum trawl_class {
	TRAWL_CLASS_OTHER,
	TRAWL_CLASS_CPU_OP,
	TRAWL_CLASS_RUNTIME,	    /* call of the CUDA or HIP runtime */
	TRAWL_CLASS_DRIVER,	    /* call of the driver API */
	TRAWL_CLASS_PYTHON,	    /* python function */
	TRAWL_CLASS_ANNOTATION,	    /* range set by the user, on the host */
	TRAWL_CLASS_GPU_ANNOTATION, /* the same, projected to the GPU */
	TRAWL_CLASS_KERNEL,	    /* the last three are GPU work */
	TRAWL_CLASS_MEMCPY,
	TRAWL_CLASS_MEMSET,
};

#define TRAWL_TIME_NONE INT64_MIN /* start or duration not recorded */

struct trawl_read_options {
	const struct trawl_allocator *allocator; /* NULL: the default */
	unsigned threads;			 /* 0: one a core */
	size_t block_size;			 /* bytes per read; 0: 1 MB */
	/* A large plain file is read in parts of this size, several at once; 0: chosen by threads. */
	size_t part_size;
	bool no_python; /* skip Python functions of JSON, which are most of a trace with stacks */
	/* Called now and then with bytes of the file read; other than 0 stops: TRAWL_ECANCELED. */
	int (*progress)(void *context, int64_t bytes_read, int64_t file_size);
	void *progress_context;
};

/*
 * Reads a trace; "-" is standard input.  `options` may be NULL.  TRAWL_EFORMAT when it is no
 * trace, TRAWL_ENODATA when it is JSON of something else, TRAWL_EIO when it cannot be read.  A
 * damaged trace is read as far as it goes: see trawl_trace_defect().
 */
TRAWL_API int trawl_trace_read(struct trawl_trace **out, const char *path,
			       const struct trawl_read_options *options,
			       struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_trace_free(struct trawl_trace *trace);

TRAWL_API uint64_t trawl_trace_events(const struct trawl_trace *trace);
/* Columns, trawl_trace_events() long. */
TRAWL_API const int64_t *trawl_trace_start_ns(const struct trawl_trace *trace);
TRAWL_API const int64_t *trawl_trace_dur_ns(const struct trawl_trace *trace);
TRAWL_API const uint32_t *trawl_trace_names(const struct trawl_trace *trace); /* text ids */
TRAWL_API enum trawl_class trawl_trace_class(const struct trawl_trace *trace, uint64_t event);
/* The text of an id, NUL-terminated; *len may be NULL. Id 0 is the absent text, "". */
TRAWL_API const char *trawl_trace_text(const struct trawl_trace *trace, uint32_t id, size_t *len);

/* The rank recorded in the trace, -1 if none. */
TRAWL_API int64_t trawl_trace_rank(const struct trawl_trace *trace);
/* Bytes of text that were read, decompressed. */
TRAWL_API int64_t trawl_trace_bytes(const struct trawl_trace *trace);
/* Name of the first device, "" when unknown. */
TRAWL_API const char *trawl_trace_device_name(const struct trawl_trace *trace);

/* What becomes of what is odd in an input. */
enum trawl_severity {
	TRAWL_LOST,   /* something was skipped: exit status 3 */
	TRAWL_DEFECT, /* kept, but its numbers are suspect */
	TRAWL_REPAIR, /* put right, nothing lost */
	TRAWL_NOTE,   /* worth knowing */
};

struct trawl_defect {
	const char *kind; /* stable id, such as "truncated" */
	enum trawl_severity severity;
	int64_t count;
	int64_t offset;	     /* byte of the (decompressed) input where first seen, -1: none */
	int64_t event;	     /* first event number, -1: none */
	const char *table;   /* of a database: where first seen, NULL: none ... */
	int64_t row;	     /* ... and the rowid there, -1: the table as a whole */
	const char *meaning; /* one sentence: what it is and what was done */
};

/* "lost", "defect", "repair", "note" */
TRAWL_API const char *trawl_severity_name(enum trawl_severity severity);
/* "table NAME, row N" of a defect that has a table, into `buffer` of `size` bytes. */
TRAWL_API const char *trawl_defect_place(const struct trawl_defect *defect, char *buffer,
					 size_t size);

/* The quality record: kinds seen, worst first. */
TRAWL_API size_t trawl_trace_defects(const struct trawl_trace *trace);
TRAWL_API struct trawl_defect trawl_trace_defect(const struct trawl_trace *trace, size_t index);

#ifdef __cplusplus
}
#endif

#endif
