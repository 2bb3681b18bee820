/*
 * Flame graphs as text, a line a stack: frames joined by ";", outermost first, and the GPU time in ns after a
 * blank.  What flamegraph.pl, speedscope and others read.
 */
#ifndef TW_ANALYSIS_WHO_STACKS_H
#define TW_ANALYSIS_WHO_STACKS_H

#include "analysis/who/attributions.h"

/* Names from the outermost frame to each host node. */
struct tw_call_stacks {
	struct tw_groups stacks; /* (stack around, text id of the name) */
	uint32_t *of_node;	 /* by host node; 0: none */
};

/* What they are made of is left to the allocator's scope.  Runtime calls are frames too where `calls` is set. */
int tw_call_stacks_build(struct tw_call_stacks *stacks, const struct tw_derived *derived,
			 bool calls, const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* Names of a stack, outermost first, the text ids of at most TW_LIMIT_STACK_DEPTH; their number. */
unsigned tw_call_stack(const struct tw_call_stacks *stacks, uint32_t stack, uint32_t *names);

/*
 * By module: pass, where it is not forward, in brackets, modules, operator, kernel.  Full: all frames, operators
 * and calls around the launch, kernel.  In a name `;` is `,` and a control character a blank; one of blanks alone is
 * "(no name)".  Of all GPU events, in order of their first start.
 */
int tw_stacks_by_module(const struct tw_attributions *who, const struct trawl_allocator *allocator,
			struct tw_str *out) TRAWL_MUST_CHECK;
int tw_stacks_full(const struct tw_derived *derived, const struct trawl_allocator *allocator,
		   struct tw_str *out) TRAWL_MUST_CHECK;

#endif
