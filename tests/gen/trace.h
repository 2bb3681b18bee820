/* Writes one trace file: its head, the events of records, metadata and tail. */
#ifndef GEN_TRACE_H
#define GEN_TRACE_H

#include "model.h"
#include "out.h"
#include "sim.h"

struct trace {
	struct out out;
	int rank;
	int pid, device;
	bool distributed; /* has distributedInfo */
	uint64_t trace_id;
	int64_t ts_offset;  /* from the job's clock to that of the file */
	int64_t begin, end; /* of the profiler's span, job's clock */
	int64_t n_events;
	int64_t next_ev; /* index of the next host event */
	int64_t v[N_SLOTS];
};

/* Nanoseconds since the epoch that ts of a relative trace counts from. */
#define BASE_TIME_NS INT64_C(1767225600000000000)

#define TRACE_OUT_CAP ((size_t)1 << 20)

/* All up to begin is set by the caller; opens path. */
void trace_begin(struct trace *t, const struct model *m, const char *path, size_t out_cap);

/* Events of the records in the groups of mask (1 << group). */
void trace_records(struct trace *t, const struct model *m, const struct recs *r, unsigned int mask);

/* Writes what follows the last record, with end set, and closes the file. */
void trace_end(struct trace *t, const struct model *m);

#endif
