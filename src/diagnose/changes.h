/*
 * What a remedy changes in the run of one rank, in terms that outlive its trace: applied to a
 * scenario once the ranks are joined (changes.c).
 */
#ifndef TW_DIAGNOSE_CHANGES_H
#define TW_DIAGNOSE_CHANGES_H

#include "path/scenario.h"

enum tw_change_kind {
	TW_CHANGE_REMOVE,   /* GPU event `gpu` is gone */
	TW_CHANGE_DURATION, /* it takes `ns` */
	TW_CHANGE_SCALE,    /* its duration times `factor` */
	TW_CHANGE_HOST,	    /* thread `thread` from from_ns to to_ns is gone but for `ns` */
	TW_CHANGE_EARLIER,  /* it may start once GPU event `other` has ended: its launch, events and
			       inferred waits no longer hold it */
	TW_CHANGE_POINT,    /* the binding cause of point `gpu` has the delay `ns` */
	TW_CHANGE_GAP,	    /* the stream's gap before GPU event `gpu` is `ns` */
	TW_CHANGE_BANDWIDTH, /* a collective with a longer transfer than factor x ns takes `ns` */
};

struct tw_change {
	enum tw_change_kind kind;
	uint32_t gpu, other;	    /* GPU events */
	uint32_t thread;	    /* index of the rank's threads */
	int64_t from_ns, to_ns, ns; /* on the rank's own clock */
	double factor;
};

struct tw_changes {
	TW_LIST(struct tw_change) list;
};

/* Applies those of a rank to a scenario. Returns how many changed something. */
uint64_t tw_changes_apply(const struct tw_changes *changes, struct tw_scenario *scenario,
			  uint32_t rank);

#endif
