/* Jobs made of literal calls, for tests of what looks across ranks. */
#ifndef TRAWL_TEST_MADE_JOBS_H
#define TRAWL_TEST_MADE_JOBS_H

#include "job/collectives/input.h"

/* A collective of a rank; times are us; what is NULL or 0 is not recorded. */
struct call {
	double start, end;
	const char *name, *group, *list, *dtype, *kernel, *stream;
	int in, out, group_size;
	int sequence; /* from 1: the number that is recorded is one less */
	uint64_t id;
	const char *source, *destination;
};

/* Ranks 0 .. count - 1 with nothing in them; release with tw_job_release(). */
void make_job(struct trawl_job *job, size_t count);
/* Behind the calls that the rank has; they come in order of start. */
void add_call(struct trawl_job *job, size_t rank, const struct call *call);
void add_calls(struct trawl_job *job, size_t rank, const struct call *calls, size_t count);

#define MEETING_RANKS 24

/* A collective of one message of 4 MB; of each rank its start, negative: it is no member. All end together. */
struct meeting {
	double starts[MEETING_RANKS], end;
	const char *group, *name; /* NULL: "world", "allreduce" */
};

void add_meetings(struct trawl_job *job, const struct meeting *meetings, size_t count);

/* What tables over ranks are made from, with the clocks as they are; release what it holds. */
struct looked_across {
	struct trawl_job job;
	struct tw_matches matches;
	struct tw_clocks clocks;
};

struct tw_ranks_input look_across(struct looked_across *made);
void release_looked_across(struct looked_across *made);

#endif
