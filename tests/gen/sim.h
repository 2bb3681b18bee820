/*
 * The simulation of one rank: runs the segments of a step and leaves a record
 * for each event. Its state is plain data, so a stretch of steps can be
 * replayed from a copy, once for each group of events of the file.
 * All times are nanoseconds of the job's true clock.
 */
#ifndef GEN_SIM_H
#define GEN_SIM_H

#include "model.h"
#include "who.h"

/* Groups of events in the order in which they stand in the file. */
enum group {
	G_BWD,	/* ops of the autograd thread */
	G_MAIN, /* ops and annotations of the main thread */
	G_MEMORY,
	G_PYTHON,
	G_CALL, /* runtime and driver calls */
	G_GPU,
	G_GPU_ANN,
	N_GROUPS,
};

enum rec_flag {
	R_FWD = 1,	 /* followed by the start of a fwdbwd flow */
	R_BWD = 2,	 /* followed by the end of one */
	R_LAUNCH = 4,	 /* call followed by the start of an ac2g flow */
	R_NO_KERNEL = 8, /* a launch of which no kernel is recorded */
	R_UNLINKED = 16, /* GPU event without a recorded launch */
	R_PAIR = 32,	 /* engine event with a forward op */
	R_MODULE = 64,	 /* frame of a module call */
};

struct rec {
	int64_t ts, dur;
	int64_t id; /* external or python id */
	int64_t corr;
	int64_t aux; /* sequence number, python parent, number of a collective, address */
	int64_t flow;
	int64_t num;		  /* step or module; of an op the thread of its forward op */
	const struct cline *line; /* of an op, for its name and FLOPs */
	uint32_t launcher;	  /* record of the op or call that a GPU event counts to */
	struct place at;
	struct place captured; /* of a graph's kernel: of the call that captures it */
	int16_t captured_op;   /* its name id */
	int tm;
	int16_t kern;
	uint8_t group, flags, where; /* where: thread or stream */
};

struct recs {
	struct rec *v;
	size_t n, cap;
	struct who who;
};

struct open_entry {
	uint32_t rec;
	uint8_t kind;
	bool hold;
	int16_t depth, base; /* base: to restore at the end of a hold */
	int64_t py_id;	     /* innermost python frame up to here */
	int64_t gpu_first, gpu_last;
	int tm_gpu; /* of the GPU side of an annotation */
	int extra;  /* further python frames that end with it */
	bool ghost; /* inside of a graph: only the run that captures it has it */
	int16_t captured_op;
	struct place at, captured;
};

struct thread_state {
	int64_t now, seq;
	int n, base;
	struct place at; /* around everything */
	struct open_entry open[48];
};

struct node {
	int64_t seq, flow, thread;
	struct place at;
};

struct sim {
	struct rng rng;
	struct thread_state th[N_THREADS];
	int64_t stream_free[N_STREAMS];
	int64_t ext, corr, py_id, flow, address, coll_seq;
	int64_t step, launches;
	struct node nodes[512];
	struct node node; /* the one being undone */
	int n_nodes;
	struct place around; /* the checkpointed layers */
	int flags;	     /* of the segment */
	bool capturing;
	int slow_ppm;	/* length of computation, 1000000 is normal */
	bool leftovers; /* kernels of before the window are still to come */
	/* The collective that the segment launched, to be settled. */
	uint32_t pending;
	int64_t pending_ann;
	/* The graph being launched. */
	int64_t graph_ready;
	int graph_kernels;
	struct place graph_at;
};

#define NO_REC UINT32_MAX

void sim_init(struct sim *s, struct who *who, uint64_t seed, int rank, int64_t start_ns,
	      int64_t first_step);

/* The records of a step start empty; a step is all segments of the plan. */
void sim_step_begin(struct sim *s, const struct model *m, struct recs *r);
void sim_segment(struct sim *s, const struct model *m, struct recs *r, const struct segment *seg);
void sim_step_end(struct sim *s);

/* Start of the collective that the segment launched. */
int64_t sim_coll_start(const struct sim *s, const struct recs *r);
void sim_coll_end(struct sim *s, struct recs *r, const struct coll *c, int64_t end_ns);

#endif
