/*
 * What the rules found in one rank: for each kind of finding its places and what would change there.
 * Texts are its own: the trace may go.
 */
#ifndef TW_DIAGNOSE_CLAIMS_H
#define TW_DIAGNOSE_CLAIMS_H

#include "analysis/who/attributions.h"
#include "data/phases.h"
#include "diagnose/remedy.h"
#include "store/pool.h"

#define TW_FINDING_KIND(id) TW_KIND_##id,
enum tw_finding_kind {
#include "diagnose/kinds.def"
	TW_FINDING_KINDS
};
#undef TW_FINDING_KIND

/* Where a finding is, and what it costs there; texts 0: not known. */
struct tw_spot {
	uint32_t operation; /* with its shapes */
	uint32_t call;	    /* of the runtime, or a GPU event's kind */
	uint32_t site;	    /* file(line): function */
	uint32_t module;
	uint32_t note; /* evidence in words: the module is the place; 0: how often, and how long */
	int64_t step;  /* its number, of what is in one step only; -1 */
	uint64_t count;
	int64_t ns;	/* of the host, or of the GPU: what decides the order */
	uint64_t event; /* the first one's number in the trace */
	bool spread;	/* over functions: it has no call site of its own */
};

struct tw_claim {
	struct tw_remedy remedy;
	TW_LIST(struct tw_spot) spots;
	uint64_t count;		 /* places */
	int64_t host_ns, gpu_ns; /* that they take */
	double figure;		 /* for the evidence, its meaning is the kind's */
};

struct tw_collective_size {
	double in, out;	      /* elements, 0: not recorded */
	double bus_bytes;     /* that the links of a rank must carry; 0: not known */
	double expected_gbps; /* 0: no claim for such */
	uint32_t name, group; /* texts: as recorded, of its process group */
	uint8_t to_all;	      /* all_to_all */
	uint8_t pair;	      /* 1: send, 2: receive */
	uint8_t reduces;      /* allreduce, reduce_scatter: gradients */
};

/* A python function of the program: the time of the threads that launch in it and in nothing below it. */
struct tw_function {
	uint32_t text;
	int64_t self_ns;
};

/* What work is part of; texts 0: not known. */
struct tw_whose {
	uint32_t module, modules, site; /* `modules`: all of its class, "Block_*" */
	uint32_t pass;			/* enum tw_pass, TW_WHOSE_* */
	uint32_t phase;			/* enum tw_phase, TW_PHASES: none */
	bool captured;			/* in a graph, of a call that is known */
};
/* Of a step of an inference server the time outside others of its process that begin in it, on the rank's own clock. */
struct tw_served_time {
	int64_t start_ns, end_ns;
	uint32_t phase;
};
enum { TW_WHOSE_OPTIMIZER = TW_PASS_COUNT, TW_WHOSE_NO_PASS, TW_WHOSE_PASSES };

struct tw_claims {
	const struct trawl_allocator *allocator;
	struct tw_claim of[TW_FINDING_KINDS];
	struct tw_pool texts;
	/* For rules over ranks. */
	uint64_t *place; /* by GPU event: of computing, what it is (kernel, shapes); 0: other work */
	uint8_t *pass;	 /* by GPU event: 1: backward */
	TW_LIST(struct tw_whose) whose; /* the first: nothing is known */
	uint32_t *whose_of;		/* by GPU event */
	uint32_t gpu_count;
	uint8_t *loads_or_waits; /* by label: calls that load code, or that may wait besides their purpose */
	uint32_t label_count;
	struct tw_collective_size *collectives; /* in the order of those of the part */
	uint32_t collective_count;
	int64_t idle_ns[4]; /* enum tw_idle_cause */
	/* By phase of the work that ends it: that ends with a launch; all. */
	int64_t phase_idle_ns[TW_PHASES + 1][2];
	TW_LIST(struct tw_served_time) served; /* in order of start */
	/* Of the host: loads, compilation, allocation in the first step alone; without steps first uses. */
	int64_t warm_ns;
	TW_LIST(struct tw_function) functions;
	int64_t computing_ns[4]; /* enum tw_computing: GPU time of computing */
	uint64_t stack_events;	 /* python functions of threads that launch */
	bool trains, amd;
	bool mode_unknown; /* nothing shows whether it trains */
	bool failed;	   /* out of memory */
};

/* Of computing, why its efficiency is not known. */
enum tw_computing {
	TW_COMPUTING_KNOWN,
	TW_COMPUTING_NO_OPERATOR,
	TW_COMPUTING_NO_SHAPES,
	TW_COMPUTING_NO_MODEL
};

enum tw_idle_cause { TW_IDLE_LOADING, TW_IDLE_WAITING, TW_IDLE_OTHER, TW_IDLE_LAUNCH };

struct tw_analysis_input;
struct tw_derived;
struct tw_path_part;

/*
 * Looks for everything in the recording; places and times are those of a view (NULL: of all).  0 or
 * TRAWL_ENOMEM; to be released in any case.
 */
int tw_claims_make(struct tw_claims *claims, const struct tw_analysis_input *in,
		   const struct tw_derived *view, const struct tw_path_part *part,
		   const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_claims_release(struct tw_claims *claims);

struct tw_path_rank;
struct tw_wire;

/* Packs those of a rank, or reads them back, which may be damaged: into empty ones with an allocator. */
void tw_claims_pass(struct tw_wire *wire, struct tw_claims *claims,
		    const struct tw_path_rank *rank);

/* ---- for the rules */

struct tw_look;

/* A text of the claims' own, 0 of an empty one. */
uint32_t tw_claim_text(struct tw_look *look, const char *text, size_t len);
void tw_claim_remove(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu);
void tw_claim_duration(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu, double ns);
/* GPU events of a leaf take `ns` together. */
void tw_claim_scale(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu, double factor);
void tw_claim_host(struct tw_look *look, enum tw_finding_kind kind, uint32_t track, int64_t from_ns,
		   int64_t to_ns, int64_t keep_ns);
void tw_claim_change(struct tw_look *look, enum tw_finding_kind kind,
		     const struct tw_remedy_part *change);
/* The host's time of an operator or call is gone, if it is recorded. */
void tw_claim_node(struct tw_look *look, enum tw_finding_kind kind, uint32_t node);
/* A place: an event of the host, with the call that shows it (TW_NONE: none). */
void tw_claim_spot(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
		   uint32_t call_event, int64_t ns);
/* The same, in a python function of the program that the rule knows (TW_NONE: that around the event). */
void tw_claim_spot_at(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
		      uint32_t call_event, uint32_t site_event, int64_t ns);
void tw_claim_spot_in_step(struct tw_look *look, enum tw_finding_kind kind, uint32_t event,
			   uint32_t call_event, int64_t ns, int64_t step);

/*
 * A launch that came late: by the python function of the program, else, where no operator launched it, by the
 * kernel.
 */
void tw_claim_launch(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu, int64_t ns);
/* An operator, without shapes. */
void tw_claim_operator(struct tw_look *look, enum tw_finding_kind kind, uint32_t node, int64_t ns);
/* A collective, by its name and the call that launched it. */
void tw_claim_collective(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu);
/* A place of which all is known. */
void tw_claim_place(struct tw_look *look, enum tw_finding_kind kind, const struct tw_spot *spot,
		    int64_t ns);
/* A module as a place, with the event in it that takes most of `ns`, and the evidence in words. */
void tw_claim_module(struct tw_look *look, enum tw_finding_kind kind, uint32_t module,
		     uint32_t event, const char *note, int64_t ns);
/* Operators that follow each other, by their names. */
struct tw_leaf;
void tw_claim_chain_spot(struct tw_look *look, enum tw_finding_kind kind,
			 const struct tw_leaf *first, uint32_t count, int64_t ns);

#endif
