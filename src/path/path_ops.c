#include "path/path_ops.h"

#include "base/alloc.h"

static uint32_t keep(struct tw_path_ops *ops, const struct tw_path_rank *r, uint32_t text)
{
	size_t len;
	const char *ptr = tw_pool_text(&r->texts, text, &len);

	return text ? tw_pool_intern(&ops->texts, ptr, len) : 0;
}

static uint32_t op_of(struct tw_path_ops *ops, const struct tw_path_rank *r,
		      const struct tw_path_label *label)
{
	struct tw_path_op op = {
		keep(ops, r, label->operation ? label->operation : label->name),
		keep(ops, r, label->shapes),
	};

	return tw_groups_add(&ops->groups, &op);
}

static int list_ends(struct tw_path_ops *ops)
{
	const struct tw_path *path = ops->path;
	uint32_t *of = tw_alloc(ops->allocator, ((size_t)path->point_count + 1) * sizeof(*of)), p;
	int status;

	if (!of)
		return TRAWL_ENOMEM;
	for (p = 0; p < path->point_count; p++)
		of[p] = tw_is_end(&path->points[p]) ? tw_path_op_of(ops, p) : TW_NO_GROUP;
	status = tw_members_build(&ops->ends, of, path->point_count, ops->groups.count,
				  ops->allocator);
	tw_free(ops->allocator, of, ((size_t)path->point_count + 1) * sizeof(*of));
	return status;
}

int tw_path_ops_init(struct tw_path_ops *ops, const struct tw_path *path,
		     const struct trawl_allocator *allocator)
{
	uint32_t i, k;

	*ops = (struct tw_path_ops){ .path = path, .allocator = allocator };
	tw_groups_init(&ops->groups, sizeof(struct tw_path_op), allocator);
	ops->of_label =
		tw_alloc_array(allocator, (size_t)path->rank_count + 1, sizeof(*ops->of_label));
	if (tw_pool_init(&ops->texts, allocator) || !ops->of_label)
		return TRAWL_ENOMEM;
	for (i = 0; i < path->rank_count; i++) {
		const struct tw_path_rank *r = &path->ranks[i];

		ops->of_label[i] = tw_alloc_array(allocator, (size_t)r->label_count + 1,
						  sizeof(**ops->of_label));
		if (!ops->of_label[i])
			return TRAWL_ENOMEM;
		for (k = 0; k < r->label_count; k++)
			ops->of_label[i][k] = r->labels[k].category ? op_of(ops, r, &r->labels[k]) :
								      TW_NO_GROUP;
	}
	return ops->texts.failed || ops->groups.failed ? TRAWL_ENOMEM : list_ends(ops);
}
