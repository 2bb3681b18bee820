/*
 * Who launched it: module, call site and pass of every host node, and so, through its launch, of every
 * GPU event.
 *
 * Frames and host nodes of a thread are merged in one sweep (sweep.h).  While it goes, each open event has
 *
 *   module path	the module frames around it, outermost first (frames "nn.Module: ..."; of exports all ranges)
 *   call site	the innermost frame of the program: none of data/frames.tsv
 *   scope	the innermost event at which a pass other than forward begins, 0: none
 *
 * A scope begins at a backward operation (a call of the autograd engine, or one with a forward thread) or
 * where a forward pass is run again (recompute_fn or backward of torch/utils/checkpoint.py,
 * CheckpointFunctionBackward); the innermost one decides the pass.  Path and site begin anew in it, since what is
 * outside is the call of backward().  What they lack is that of the forward operation that the scope
 * differentiates (forward_of.h), and a path that begins in the middle of the model is completed where its
 * outermost module has exactly one path in the forward pass.
 *
 * Of each node 32 bits stay: the number of its attribution, which is (path, site, pass).  A path is a number
 * too, in a table of (parent, name).  O(events), and what is built on the way goes before the end.
 */
#ifndef TW_ANALYSIS_WHO_ATTRIBUTIONS_H
#define TW_ANALYSIS_WHO_ATTRIBUTIONS_H

#include "analysis/groups.h"
#include "base/wide.h"
#include "derive/derived.h"
#include "text/str.h"

enum tw_pass { TW_PASS_FORWARD, TW_PASS_BACKWARD, TW_PASS_RECOMPUTE, TW_PASS_COUNT };

extern const char *const tw_pass_names[TW_PASS_COUNT];

struct tw_attribution {
	uint32_t path; /* number of a module, 0: outside of all */
	uint32_t site; /* text id of a frame, 0: none */
	uint32_t pass; /* enum tw_pass */
};

/* Sums of durations of GPU events. */
struct tw_module_work {
	tw_wide ns[TW_PASS_COUNT];
	tw_wide communication_ns;
	uint64_t events;
};

/* A module path: its last module, called from its parent.  Parents have lower numbers. */
struct tw_module {
	uint32_t parent;		   /* 0: none around it */
	uint32_t name;			   /* text id of the frame */
	uint32_t depth;			   /* 1: outermost */
	int64_t calls, recomputed;	   /* in the view; the latter are part of the former */
	tw_wide host_ns;		   /* of the calls, in the view */
	struct tw_module_work self, total; /* with what is below it */
};

struct tw_attributions {
	const struct tw_derived *derived;
	const struct trawl_allocator *allocator; /* of a scope that all this is left to */
	bool modules, sites;			 /* any are recorded, in the view */
	uint32_t *of_node;			 /* by host node: number of its attribution */
	struct tw_groups all;			 /* struct tw_attribution */
	struct tw_module *module;		 /* by path; [0]: what is outside of all modules */
	uint32_t module_count;
	struct tw_module_work unlinked; /* without a recorded launch; its pass means nothing */
	tw_wide gpu_ns;			/* of all these */
};

/* What it is made of is left to the allocator's scope; 0 or -1. */
int tw_attributions_build(struct tw_attributions *who, const struct tw_derived *derived,
			  const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

static inline const struct tw_attribution *tw_attribution_of_node(const struct tw_attributions *who,
								  uint64_t node)
{
	return tw_groups_key(&who->all, who->of_node[node]);
}

/* NULL: no recorded launch. */
static inline const struct tw_attribution *tw_attribution_of_gpu(const struct tw_attributions *who,
								 uint64_t gpu)
{
	uint32_t launch = tw_gpu_origins(who->derived)[gpu];

	return launch == TW_NONE ? NULL : tw_attribution_of_node(who, launch);
}

/* The name of what launched a GPU event, which has a launch: the nearest operator, else the call. */
uint32_t tw_launching_name(const struct tw_derived *derived, uint64_t gpu);

static inline tw_wide tw_module_ns(const struct tw_module_work *work)
{
	return work->ns[TW_PASS_FORWARD] + work->ns[TW_PASS_BACKWARD] + work->ns[TW_PASS_RECOMPUTE];
}

/* Whether a module has a row in tables: it was called, or something was launched in it. */
static inline bool tw_module_is_shown(const struct tw_module *module)
{
	return module->calls || module->total.events;
}

/* The name of a module without "nn.Module: ". */
const char *tw_module_name(const struct tw_attributions *who, uint32_t module, size_t *len);

/* The names of the modules around it and its own, with this between them. */
#define TW_MODULE_SEPARATOR " > "
void tw_module_path(const struct tw_attributions *who, uint32_t module, struct tw_str *out);

/* How much of a name is that of its class: all but a last "_number". */
size_t tw_module_class_len(const char *name, size_t len);

#endif
