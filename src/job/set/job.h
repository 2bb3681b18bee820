/*
 * A job: its ranks, each reduced from a trace to what looking across ranks needs, so that memory
 * is that of a few thousand collectives a rank and not of traces.
 *
 * Times are integer nanoseconds on the rank's own clock, as its trace has them; the trace's base
 * time is apart (base_time_ns), and what clocks are off is found later (clocks.h).
 */
#ifndef TW_JOB_SET_JOB_H
#define TW_JOB_SET_JOB_H

#include "analysis/analysis.h"
#include "analysis/ops/collective_args.h"
#include "job/set/identity.h"
#include "job/set/set.h"
#include "store/pool.h"
#include "table/table.h"
#include "text/str.h"
#include "trawl/job.h"

/* What the collectives of a rank have in common but their time: one for each distinct one. */
struct tw_collective_kind {
	uint32_t args[TW_COLLECTIVE_ARGS]; /* ids of the rank's `texts`, 0: not recorded */
	uint32_t kernel;		   /* name of the kernel, id of `texts` */
	uint32_t device, stream;	   /* ids of `texts` */
	/* Name of the operation that launched it, where no name is recorded: id of `texts`, 0: none. */
	uint32_t operation;
	uint32_t evidence; /* enum tw_evidence */
	uint32_t copies;   /* 1: by copy engines, whose copies wait for nobody */
};

/* A communication kernel. */
struct tw_collective {
	int64_t start_ns, end_ns;
	uint64_t comms_id; /* key of the collective over all ranks, 0: not recorded */
	int64_t sequence;  /* "Seq", counts in the process group, -1: not recorded */
	uint32_t kind;	   /* index of the rank's kinds */
};

struct tw_rank {
	const struct trawl_allocator *allocator;
	int64_t rank;
	enum trawl_rank_rule rule;
	enum trawl_rank_state state;
	enum trawl_severity worst; /* of the defects of the trace, TRAWL_NOTE: none */
	int status;	   /* enum trawl_status of what kept it from being read, 0: nothing */
	uint32_t file;	   /* index in the set */
	int64_t name_rank; /* rank in the file name, -1: none */
	int64_t world_size, base_time_ns; /* -1, TRAWL_TIME_NONE: unknown */
	int64_t device_count;		  /* GPUs per host, 0: unknown */
	int64_t first_step, last_step;	  /* profiler steps, -1: none recorded */
	struct tw_who who;
	uint32_t group;		/* of several in one set: see struct trawl_job */
	const char *group_name; /* in `texts`; NULL: there is only one */
	uint64_t bytes, events, gpu_events;
	int64_t first_ns, last_ns;   /* of GPU work, where there is any */
	struct tw_timeline timeline; /* of all GPU work */
	/* Of the steps or ranges looked at: busy with what they launched, and as tw_steps_elsewhere(). */
	int64_t launched_ns, elsewhere_ns;
	/* In `texts`, "" where unknown. */
	const char *host, *device_name;
	const char *gpu;     /* of a trace of several: its number */
	const char *view;    /* what of the trace is looked at */
	const char *message; /* why it is skipped, or its defects */

	struct tw_pool texts;
	struct tw_collective_kind *kinds;
	uint32_t kind_count;
	struct tw_collective *collectives; /* in order of start, then of the input */
	uint64_t collective_count;

	/* Stretches of exposed communication, in order, where they were asked for. */
	struct tw_interval *exposed;
	size_t exposed_count;

	struct trawl_table **tables; /* the rank's own tables that were asked for */
	size_t table_count, table_capacity;

	/* What a module above has made of the trace, and what frees it; NULL: nothing. */
	void *attached;
	void (*free_attached)(void *attached);
};

/* apart_ns 0: none are. */
struct tw_apart {
	int64_t ends, begins; /* ranks */
	int64_t apart_ns;
};

struct trawl_job {
	const struct trawl_allocator *allocator;
	struct tw_rank_set set;
	struct tw_rank *ranks; /* what is analysed (READ, DAMAGED, NO_GPU), by rank */
	size_t count;
	struct tw_rank *left_out; /* the other files, by file */
	size_t left_out_count;
	/* Largest recorded world size, else the ranks of recorded groups; -1: unknown. */
	int64_t world_size;
	int64_t gpus_per_node; /* asked for, else device_count of the lowest rank, 0: unknown */
	int64_t *missing;      /* ranks of the world, or of a recorded group, without a trace */
	size_t missing_count;
	bool whole; /* of trawl_job_read(): nothing is skipped */
	/* Traces with the same rank from collectives as others, which is then ignored. */
	size_t clashes;
	/* Ranks of which one ends before another begins, as far as times can be compared. */
	struct tw_apart apart;
	/* Traces that look like those of several programs: two of them, as indices of ranks. */
	bool is_unlike;
	struct tw_unlike unlike;
	/* Replicas of one program in one set, each with ranks of its own, are a job each. */
	const char *group;	/* name of this group: "dp1"; NULL: only one group */
	struct trawl_job *next; /* the set and what is skipped are in the first */
};

/* An empty one with its pool; -1 when out of memory, _release is due either way. */
int tw_rank_init(struct tw_rank *rank, const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_rank_release(struct tw_rank *rank);
/* Those of a file, in the state of files not looked at yet; NULL: out of memory. */
struct tw_rank *tw_ranks_new(size_t count, uint32_t file, const struct tw_rank_set *set,
			     const struct trawl_allocator *allocator);
/* Those of a list, and the list. */
void tw_ranks_free(struct tw_rank *ranks, size_t count, const struct trawl_allocator *allocator);
/* Says why nothing of it counts, without the path of its file in front. */
void tw_rank_leave_out(struct tw_rank *rank, const struct tw_rank_set *set,
		       enum trawl_rank_state state, int status, const char *message);
/* Whether it has no part in the job. */
bool tw_rank_is_left_out(const struct tw_rank *rank);
/* Whether its trace has a valid base time. */
bool tw_rank_tells_base(const struct tw_rank *rank);
/* When its slices begin and end, on the common clock; false: it has none, or no base time. */
bool tw_rank_span(const struct tw_rank *rank, int64_t *first_ns, int64_t *last_ns);
/* Text into the rank's pool, "" when out of memory (which the pool remembers). */
const char *tw_rank_keep(struct tw_rank *rank, const char *text);
void tw_job_release(struct trawl_job *job);

/* rank / gpus_per_node, -1: unknown */
int64_t tw_job_node(const struct trawl_job *job, int64_t rank);
/* Whether ranks are on several hosts, from host names or gpus_per_node. */
bool tw_job_several_hosts(const struct trawl_job *job);

/* The text of an argument of a collective, "" when it is not recorded; *len may be NULL. */
const char *tw_collective_text(const struct tw_rank *rank, const struct tw_collective *c,
			       enum tw_collective_arg arg, size_t *len);

/* "intra_node", "inter_node", "unknown": whether two ranks are on one node. */
const char *tw_job_span(const struct trawl_job *job, int64_t a, int64_t b);

/* The kind of collective, NULL: not known. */
const char *tw_kind_type(const struct tw_rank *rank, const struct tw_collective_kind *kind);

#endif
