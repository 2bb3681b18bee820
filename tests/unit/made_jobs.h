/* Jobs made of literal calls, for tests of what looks across ranks. */
#ifndef TRAWL_TEST_MADE_JOBS_H
#define TRAWL_TEST_MADE_JOBS_H

#include "job/set/job.h"

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
void make_job(struct tw_job *job, size_t count);
/* Behind the calls that the rank has; they come in order of start. */
void add_call(struct tw_job *job, size_t rank, const struct call *call);
void add_calls(struct tw_job *job, size_t rank, const struct call *calls, size_t count);

#endif
