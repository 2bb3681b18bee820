/*
 * <category>_tree_data.json: of the operations that matter most in a category, who calls them,
 * what they call, and what runs beside them.
 */
#ifndef TW_STANDALONE_TREE_DATA_H
#define TW_STANDALONE_TREE_DATA_H

#include "analysis/launches/enclosing.h"
#include "standalone/manifest.h"

/* An operation that is looked at: a row of a category. */
struct tw_tree {
	size_t row;	  /* of unified_perf_summary */
	uint32_t event;	  /* an example of its calls */
	uint32_t node;	  /* of the host, TW_NONE: it is none */
	uint32_t forward; /* host node of the forward operation of a backward one, TW_NONE: none */
};

struct tw_trees {
	const struct tw_manifest *manifest;
	struct tw_tree *items;
	size_t count;
	size_t *first; /* by category: its first item; one more for the end */
	/* Of the operations, then of their forward operations in the same order. */
	struct tw_enclosing enclosing;
};

/* Most lies in the arena; release in any case after a success. */
int tw_trees_init(struct tw_trees *trees, struct tw_arena *arena,
		  const struct tw_manifest *manifest, struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_trees_release(struct tw_trees *trees);

/* Those of a category, by uid. */
void tw_trees_json(struct tw_str *out, const struct tw_trees *trees,
		   const struct tw_category_rows *category);

#endif
