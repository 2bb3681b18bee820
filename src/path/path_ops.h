/* Operators with GPU work, of all ranks: those of one name and shapes are one. */
#ifndef TW_PATH_PATH_OPS_H
#define TW_PATH_PATH_OPS_H

#include "analysis/groups.h"
#include "path/graph.h"

/* GPU work that no operator launched goes by its own name. */
struct tw_path_ops {
	const struct tw_path *path;
	const struct trawl_allocator *allocator; /* of a scope that all this is left to */
	struct tw_pool texts;
	struct tw_groups groups; /* struct tw_path_op */
	uint32_t **of_label;	 /* by rank and label: TW_NO_GROUP: not of GPU work */
	struct tw_members ends;	 /* of GPU work, by operator: points */
};

struct tw_path_op {
	uint32_t name, shapes; /* ids of texts, 0: none */
};

int tw_path_ops_init(struct tw_path_ops *ops, const struct tw_path *path,
		     const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

static inline uint32_t tw_path_op_of(const struct tw_path_ops *ops, uint32_t point)
{
	const struct tw_path_point *p = &ops->path->points[point];

	return tw_is_gpu_point(p) ? ops->of_label[p->rank][p->label] : TW_NO_GROUP;
}

static inline const char *tw_path_op_name(const struct tw_path_ops *ops, uint32_t op)
{
	const struct tw_path_op *key = tw_groups_key(&ops->groups, op);

	return tw_pool_text(&ops->texts, key->name, NULL);
}

static inline const char *tw_path_op_shapes(const struct tw_path_ops *ops, uint32_t op)
{
	const struct tw_path_op *key = tw_groups_key(&ops->groups, op);

	return key->shapes ? tw_pool_text(&ops->texts, key->shapes, NULL) : NULL;
}

#endif
