/*
 * Categories of operations: by name, else by the name of the first kernel, else "other".
 * Source: data/op_categories.tsv and the rules of TraceLens.  Names are looked up once, when the
 * trace is taken up; from then on the categories may be asked by several threads.
 */
#ifndef TW_ANALYSIS_LAUNCHES_CATEGORIES_H
#define TW_ANALYSIS_LAUNCHES_CATEGORIES_H

#include "data/tables.h"
#include "derive/derived.h"

/* Those of operations, three of kernels, and "other". */
#define TW_MAX_OP_CATEGORIES (TW_MAX_OP_CATEGORY_NAMES + 4)

struct tw_categories {
	const struct tw_derived *derived;
	const char *names[TW_MAX_OP_CATEGORIES]; /* distinct texts */
	unsigned count;
	/* By text id: 1 + category that an operation, or a first kernel, of this name gives; 0: none. */
	uint16_t *of_op, *of_kernel;
};

/* What they take is left to the allocator's scope. */
int tw_categories_init(struct tw_categories *categories, const struct tw_derived *derived,
		       const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* Category of an operation or call; `first_gpu`: its first GPU event, TW_NONE: it has none. */
unsigned tw_category_of(const struct tw_categories *categories, uint64_t event, uint64_t first_gpu);

/* Category that a kernel of this name gives: "other" when it gives none. */
unsigned tw_category_of_kernel(const struct tw_categories *categories, uint64_t gpu);

#endif
