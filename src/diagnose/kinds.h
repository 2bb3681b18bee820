/*
 * The kinds of findings: each has its evidence and its counterfactual in a file of kinds/, and its words
 * in data/finding_kinds.tsv.
 */
#ifndef TW_DIAGNOSE_KINDS_H
#define TW_DIAGNOSE_KINDS_H

#include "diagnose/diagnosis.h"
#include "diagnose/look.h"

struct tw_kind {
	/* Looks for its places in one rank. */
	void (*look)(struct tw_look *look);
	/*
	 * Instead of applying what `look` claimed: sets the scenario, over all ranks. False: there is
	 * no evidence.
	 */
	bool (*change)(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f);
	/* Of a model of the whole that is no replay: the share of a step that it gains; NaN. */
	double (*share)(struct tw_diagnosis *d, struct tw_finding *f);
	/* Of an observation: whether it is seen. */
	bool (*seen)(struct tw_diagnosis *d, struct tw_finding *f);
	bool of_rank;	/* it is about one rank: of equal gains it tells more */
	bool of_window; /* it happens in some steps only: gains are of the window */
};

extern const struct tw_kind *const tw_kind_list[TW_FINDING_KINDS];

/* The parts of looking that are no rule. */
void tw_look_prepare(struct tw_look *look);
void tw_find_callers(struct tw_look *look);
void tw_collective_sizes(struct tw_look *look);
void tw_idle_by_cause(struct tw_look *look);
void tw_list_whose(struct tw_look *look);

/* Idle time of the GPU that a launch ends, made meanwhile: the GPU event, its module and step. */
struct tw_launch_gap {
	int64_t from_ns, to_ns;
	uint32_t gpu, module;
	int64_t step;
};
struct tw_launch_gaps {
	TW_LIST(struct tw_launch_gap) list; /* in order of time */
};
void tw_claim_launch_place(struct tw_look *look, const struct tw_launch_gaps *gaps);

/* Whether a copy to the host is pageable_copy's, and no wait of the host's own. */
bool tw_is_slow_copy_back(struct tw_look *look, uint32_t gpu);

/* GPU time of the part, of that launched with GPU graphs, and of that with no call known in them. */
struct tw_graph_share {
	int64_t all_ns, graph_ns, hidden_ns;
	uint64_t hidden_launches;
};
struct tw_graph_share tw_graph_share(const struct tw_diagnosis *d);

/* Hash of a kernel's name and its operation's shapes. */
uint64_t tw_place_of(const char *name, size_t len, const char *dims, size_t dims_len);

/* The work of consecutive leaves becomes one kernel of `ns`; the host calls only the first. */
void tw_claim_fusion(struct tw_look *look, enum tw_finding_kind kind, struct tw_leaf *first,
		     uint32_t count, double ns);

/* The same of their backward pass, by the pairs of autograd: nothing where there are none. */
void tw_claim_backward_fusion(struct tw_look *look, enum tw_finding_kind kind,
			      const struct tw_leaf *first, uint32_t count, double ns);

#define TW_FINDING_KIND(id) extern const struct tw_kind tw_kind_##id;
#include "diagnose/kinds.def"
#undef TW_FINDING_KIND

#endif
