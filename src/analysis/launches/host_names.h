/*
 * What events of the host are by their names (data/host_names.tsv), asked of each distinct name
 * once, and where threads spent their time in events of a kind.
 */
#ifndef TW_ANALYSIS_LAUNCHES_HOST_NAMES_H
#define TW_ANALYSIS_LAUNCHES_HOST_NAMES_H

#include "base/intervals.h"
#include "data/tables.h"
#include "store/trace.h"
#include "text/str.h"

struct tw_host_names {
	const struct trawl_allocator *allocator;
	const struct trawl_trace *trace;
	uint8_t *kinds; /* by text id: set of enum tw_host_kind */
	uint32_t count;
};

/* 0, or -1 when out of memory; release in both cases. */
int tw_host_names_init(struct tw_host_names *names, const struct trawl_trace *trace,
		       const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_host_names_release(struct tw_host_names *names);

static inline unsigned tw_host_kinds(const struct tw_host_names *names, uint64_t event)
{
	return names->kinds[names->trace->events.name[event]];
}

/* Times that each thread spent in events of a kind: a set for each track. */
struct tw_stretches {
	const struct trawl_allocator *allocator;
	struct tw_interval *items; /* disjoint, by track, then time */
	uint64_t *first;	   /* by track: its first item; one more for the end */
	uint64_t capacity;
	uint32_t tracks;
};

/* 0, or -1 when out of memory; release in both cases. */
int tw_stretches_init(struct tw_stretches *stretches, const struct tw_host_names *names,
		      enum tw_host_kind kind) TRAWL_MUST_CHECK;
/* Of what is zeroed nothing. */
void tw_stretches_release(struct tw_stretches *stretches);
/* The part of [from, to) that a track spent so. */
int64_t tw_stretches_within(const struct tw_stretches *stretches, uint32_t track, int64_t from_ns,
			    int64_t to_ns);
/* Whether it was so at a moment; one that ends then is over. */
bool tw_stretches_hold(const struct tw_stretches *stretches, uint32_t track, int64_t time_ns);

/*
 * A python function as results call it, "file.py(12): function": of an absolute path only what lies
 * below the installed packages, else the file alone, for a path names a user or a machine.
 */
void tw_python_name(struct tw_str *out, const char *name);

#endif
