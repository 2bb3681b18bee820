/*
 * What a remedy changes in the run of one rank, in terms that outlive its trace: applied to a
 * scenario once the ranks are joined (remedy.c).
 */
#ifndef TW_DIAGNOSE_REMEDY_H
#define TW_DIAGNOSE_REMEDY_H

#include "path/scenario.h"

enum tw_remedy_kind {
	TW_REMEDY_REMOVE,   /* GPU event `gpu` is gone */
	TW_REMEDY_DURATION, /* it takes `ns` */
	TW_REMEDY_SCALE,    /* its duration times `factor` */
	TW_REMEDY_HOST,	    /* thread `thread` from from_ns to to_ns is gone but for `ns` */
	TW_REMEDY_EARLIER,  /* it may start once GPU event `other` has ended: its launch, events and
			       inferred waits no longer hold it */
	TW_REMEDY_POINT,    /* the binding cause of point `gpu` has the delay `ns` */
	TW_REMEDY_GAP,	    /* the stream's gap before GPU event `gpu` is `ns` */
	TW_REMEDY_BANDWIDTH, /* a collective with a longer transfer than factor x ns takes `ns` */
};

struct tw_remedy_part {
	enum tw_remedy_kind kind;
	uint32_t gpu, other;	    /* GPU events */
	uint32_t thread;	    /* index of the rank's threads */
	int64_t from_ns, to_ns, ns; /* on the rank's own clock */
	double factor;
};

struct tw_remedy {
	TW_LIST(struct tw_remedy_part) list;
};

/* Applies those of a rank to a scenario. Returns how many changed something. */
uint64_t tw_remedy_apply(const struct tw_remedy *changes, struct tw_scenario *scenario,
			 uint32_t rank);

#endif
