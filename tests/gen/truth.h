/*
 * The facts built into one trace. They are accumulated from the records of
 * each step, by a sweep over the GPU intervals in order of start, and never
 * hold more than one step.
 *
 * Unions of intervals are additive over a sweep in order of start; what one
 * class exposes is the difference of two unions: |A \ B| = |A or B| - |B|.
 */
#ifndef GEN_TRUTH_H
#define GEN_TRUTH_H

#include "model.h"
#include "sim.h"

enum union_of {
	U_ALL,
	U_COMPUTE,
	U_COMM,
	U_MEMCPY,
	U_COMPUTE_COMM,
	N_UNIONS,
};

struct cover {
	int64_t end, len;
};

struct timeline {
	int64_t first, last;
	struct cover u[N_UNIONS];
};

struct kern_facts {
	int64_t count, sum, min, max;
};

struct op_facts {
	int64_t count, direct;
};

/* Sums of durations of GPU events, each counted to the innermost. */
struct module_facts {
	int64_t calls, recomputed, host;
	int64_t events, comm;
	int64_t self[N_PASSES];
};

struct pass_facts {
	int64_t ns[N_PASSES];
};

/* A kernel of graphs, by what captures it. */
struct node_facts {
	int kern, op; /* name ids */
	int16_t path, site;
	int64_t n, sum;
};

struct stream_facts {
	int64_t n;
	struct cover busy;
};

struct interval {
	int64_t start, end;
	uint32_t rec;
};

/* GPU events whose recorded launch is in a step. */
struct step_facts {
	int64_t n, sum;
	struct timeline tl;
};

struct truth {
	struct timeline all, linked;
	struct cover unlinked;
	struct kern_facts *kerns; /* by kernel name */
	struct op_facts *ops;	  /* by launcher name */
	struct stream_facts streams[N_STREAMS];
	int64_t n_gpu, n_kernels, n_linked, n_unlinked, n_no_kernel;
	int64_t fwd_bwd_pairs, flops, n_steps;
	int64_t last_start;
	struct module_facts *modules; /* by path, 0 is none */
	struct pass_facts *sites;     /* by site, 0 is none */
	struct pass_facts *op_passes; /* by launcher name */
	size_t modules_cap, sites_cap;
	struct node_facts *nodes;
	size_t n_nodes;
	int64_t unlinked_sum, graph_launches, graph_events, graph_sum;
	struct step_facts *steps; /* as many as n_steps */
	size_t steps_cap;
	struct interval *iv; /* scratch, one step */
	size_t iv_cap;
	struct cover *launchers; /* scratch, by record of a step */
	size_t launchers_cap;
};

void truth_init(struct truth *t, const struct model *m);
void truth_free(struct truth *t);

/* The records of a complete step; steps come in order. */
void truth_step(struct truth *t, const struct model *m, const struct recs *r);

/* What the file says besides: */
struct truth_file {
	int64_t n_events, first_step, clock_offset_ns;
	uint64_t seed;
	int rank, device;
};

void truth_write(const struct truth *t, const struct model *m, const struct who *who,
		 const struct truth_file *f, const char *path);

#endif
