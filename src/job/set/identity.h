/*
 * Who a trace is: what it shows of its rank, its process group and its process, and the sides of
 * the rule that decides (rank_assignment.c) which look at several traces.
 */
#ifndef TW_JOB_SET_IDENTITY_H
#define TW_JOB_SET_IDENTITY_H

#include "job/set/set.h"
#include "store/trace.h"
#include "text/str.h"

#define TW_SKETCH 64

/* The smallest hashes of a set of texts, sorted: an estimate of what sets have in common. */
struct tw_sketch {
	uint64_t hashes[TW_SKETCH];
	uint32_t count;
};

/* Of the whole trace, whatever part of it is looked at. */
struct tw_who {
	uint32_t part;		/* of a file with several ranks, from 1; 0: the file is one */
	bool labelled;		/* its rank is that of a label of the process */
	int64_t recorded_rank;	/* global rank from its collectives; -1: unknown */
	int64_t recorded_world; /* ranks of the default group, -1: not recorded */
	int64_t pid;		/* of the host process with most events, -1: none, or no number */
	int64_t first_ns, last_ns; /* of its slices, on its clock; first_ns > last_ns: none */
	const char *members;	 /* "[0, 1]": ranks of its recorded groups; "": none is recorded */
	struct tw_sketch names;	 /* of its operators and kernels */
	struct tw_sketch groups; /* recorded process groups of several ranks, as lists of these */
};

struct tw_rank;

/* 0 or -1: out of memory. */
int tw_who_take(struct tw_rank *rank, const struct trawl_trace *trace) TRAWL_MUST_CHECK;

/* How many of the operators and kernels that either has both have, by name; 0 to 1. */
double tw_who_alike(const struct tw_who *a, const struct tw_who *b);

/*
 * Of several captures of one process all but the last become TRAWL_RANK_CAPTURE. `ranks` have their
 * numbers, except those numbered by order. -1: out of memory, as everywhere below.
 */
int tw_find_captures(struct tw_rank *ranks, size_t count, const struct tw_rank_set *set,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/*
 * Where traces have the same rank and a word of their names or their directory splits them into
 * groups with each rank once: the groups, from 0, in rank->group, with their names; else 0 in all,
 * and no names. Traces of one job with numbers per node lose these.
 */
int tw_find_groups(struct tw_rank *ranks, size_t count, const struct tw_rank_set *set,
		   const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/*
 * Two ranks of a list that neither share a process group nor most of their operators and kernels,
 * directly or by way of others: false when there are none.
 */
struct tw_unlike {
	size_t a, b;  /* of the list */
	double alike; /* most that a trace of b's kind has in common with one of a's */
};
int tw_find_unlike(const struct tw_rank *ranks, size_t count,
		   const struct trawl_allocator *allocator, bool *found,
		   struct tw_unlike *unlike) TRAWL_MUST_CHECK;

#endif
