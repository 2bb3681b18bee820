/*
 * Gaps of a stream: graph_gap, between nodes of one GPU graph (without: none); queued_gap, over three times
 * the usual although the work was queued (without: the usual).
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "base/alloc.h"
#include "base/median.h"

#include <string.h>

struct gap {
	uint32_t point, cause;
	int64_t ns;
};

/* The delay after the work before on the stream; false: there is none, or they overlap. */
static bool gap_before(const struct tw_path *path, const struct tw_path_rank *r, uint32_t g,
		       struct gap *gap)
{
	uint32_t start = tw_gpu_start(r, g), cause;

	for (cause = path->points[start].causes; cause < path->points[start + 1].causes; cause++)
		if (path->from[cause] != TW_NO_POINT &&
		    tw_path_code(path, cause) == TW_CAUSE_STREAM &&
		    tw_is_end(&path->points[path->from[cause]])) {
			*gap = (struct gap){ start, cause, tw_path_delay(path, start, cause) };
			return gap->ns > 0;
		}
	return false;
}

/* ---- within a graph */

static bool is_graph_launch(const struct tw_path *path, const struct tw_path_rank *r, uint32_t g)
{
	const struct tw_path_label *label = &r->labels[path->points[r->launch[g]].label];

	return strstr(tw_pool_text(&r->texts, label->name, NULL), "Graph");
}

/* What a gap that changes is before. */
static int64_t closed_gap(const struct tw_diagnosis *d, uint32_t point, const struct tw_scenario *s)
{
	const struct tw_path_point *p = &d->path->points[point];
	uint32_t cause;
	int64_t ns = 0;

	if (p->kind != TW_POINT_GPU)
		return 0;
	for (cause = p->causes; cause < p[1].causes; cause++)
		if (d->path->from[cause] != TW_NO_POINT)
			ns += tw_path_delay(d->path, point, cause) -
			      tw_scenario_delay(s, point, cause);
	return ns;
}

static bool set_graph_gaps(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	const struct tw_path *path = d->path;
	uint32_t i, g;
	struct gap gap;
	int64_t ns = 0;

	for (i = 0; i < path->rank_count; i++) {
		const struct tw_path_rank *r = &path->ranks[i];

		for (g = 0; g < r->gpu_count; g++) {
			uint32_t before;

			if (r->launch[g] == TW_NO_POINT || !gap_before(path, r, g, &gap))
				continue;
			before = (path->from[gap.cause] - r->first) / 2;
			if (r->launch[before] != r->launch[g] || !is_graph_launch(path, r, g))
				continue;
			tw_scenario_set(s, gap.point, gap.cause, 0);
			if (!tw_in_part(path, gap.point))
				continue;
			ns += gap.ns;
			if (!f->changed++)
				tw_add_place(
					f, "%s",
					tw_pool_text(
						&r->texts,
						r->labels[path->points[r->launch[g]].label].name,
						NULL));
		}
	}
	if (f->changed)
		tw_add_heaviest(f, d, 0, closed_gap, s);
	tw_add_evidence(f, "%.3f ms in %llu gaps between nodes", (double)ns / 1e6,
			(unsigned long long)f->changed);
	return f->changed;
}

/* ---- of queued work */

static bool is_binding(const struct tw_path *path, const struct gap *gap)
{
	return tw_path_binding(path, gap->point) == gap->cause;
}

static int64_t usual_gap(struct tw_diagnosis *d, const struct tw_path_rank *r)
{
	int64_t *all = tw_alloc_array(d->allocator, (size_t)r->gpu_count + 1, sizeof(*all)), usual;
	size_t n = 0;
	uint32_t g;
	struct gap gap;

	d->failed |= !all;
	for (g = 0; all && g < r->gpu_count; g++)
		if (gap_before(d->path, r, g, &gap) && is_binding(d->path, &gap))
			all[n++] = gap.ns;
	usual = n ? tw_middle_of(all, n).lower : 0;
	tw_free(d->allocator, all, ((size_t)r->gpu_count + 1) * sizeof(*all));
	return usual > TW_LIMIT_GAP_USUAL_LEAST_NS ? usual : TW_LIMIT_GAP_USUAL_LEAST_NS;
}

static bool set_queued_gaps(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	const struct tw_path *path = d->path;
	uint32_t i, g;
	struct gap gap;
	int64_t ns = 0, usual;

	for (i = 0; i < path->rank_count; i++) {
		const struct tw_path_rank *r = &path->ranks[i];

		usual = usual_gap(d, r);
		for (g = 0; g < r->gpu_count; g++) {
			if (r->launch[g] == TW_NO_POINT || !gap_before(path, r, g, &gap) ||
			    !is_binding(path, &gap) || gap.ns <= TW_LIMIT_GAP_TIMES * usual ||
			    path->points[r->launch_end[g]].time_ns >=
				    path->points[path->from[gap.cause]].time_ns)
				continue;
			tw_scenario_set(s, gap.point, gap.cause, usual);
			if (!tw_in_part(path, gap.point))
				continue;
			ns += gap.ns - usual;
			f->changed++;
		}
	}
	if (f->changed)
		tw_add_heaviest(f, d, 0, closed_gap, s);
	tw_add_evidence(f, "%.3f ms in %llu gaps before work that was queued", (double)ns / 1e6,
			(unsigned long long)f->changed);
	return f->changed;
}

const struct tw_kind tw_kind_graph_gap = { .change = set_graph_gaps };
const struct tw_kind tw_kind_queued_gap = { .change = set_queued_gaps };
