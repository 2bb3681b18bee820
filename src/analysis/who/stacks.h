/*
 * Flame graphs as text, a line a stack: frames joined by ";", outermost first, and the GPU time in ns after a
 * blank.  What flamegraph.pl, speedscope and others read.
 */
#ifndef TW_ANALYSIS_WHO_STACKS_H
#define TW_ANALYSIS_WHO_STACKS_H

#include "analysis/who/attributions.h"
#include "table/table.h"
#include "trawl/report.h"

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

/* A frame of a line and what is behind it: `;` in a name is `,`, the end of a line a blank. */
void tw_add_frame(struct tw_str *out, const char *name, size_t len);

/*
 * The same as a table, whose columns are those of the specs: by module in parts, full ones as they are in files.  *table
 * NULL where nothing is recorded of that.  0 or TRAWL_ENOMEM.
 */
extern const struct tw_table_spec tw_module_stacks_spec, tw_full_stacks_spec;
int tw_stacks_table(const struct trawl_report *report, enum trawl_stacks which,
		    struct trawl_table **table,
		    const struct trawl_allocator *tables) TRAWL_MUST_CHECK;

#endif
