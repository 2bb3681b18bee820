/*
 * Starts that come later after their launch than launches take, and that nothing explains: work of
 * another stream of the device that ended just before.  Shown as inferred.
 */
#include "path/rank_build.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/search.h"
#include "base/sort.h"

/* Of a GPU event: its latest cause, and whether only the launch explains its start. */
struct start {
	int64_t latest_ns;
	bool has_cause, launch_alone;
};

static struct start *list_starts(struct tw_rank_build *b)
{
	const struct tw_path_rank *r = b->rank;
	struct start *starts = tw_build_array(b, r->gpu_count, sizeof(*starts));
	size_t i;

	for (i = 0; starts && i < r->gpu_count; i++)
		starts[i] = (struct start){ INT64_MIN, false, true };
	for (i = 0; starts && i < b->edges.count; i++) {
		const struct tw_path_edge *edge = &b->edges.at[i];
		int64_t time = b->points.at[edge->from].time_ns;
		uint32_t g = edge->point / 2;
		struct start *s;

		if (g >= r->gpu_count || edge->point & 1)
			continue;
		s = &starts[g];
		s->has_cause = true;
		if (time > s->latest_ns)
			s->latest_ns = time;
		if (edge->code != TW_CAUSE_LAUNCH && r->launch[g] != TW_NO_POINT &&
		    time > b->points.at[r->launch[g]].time_ns)
			s->launch_alone = false;
	}
	return starts;
}

/* The larger of what launches take on such devices, and twice what they take here. */
static void find_late(struct tw_rank_build *b, const struct start *starts)
{
	struct tw_path_rank *r = b->rank;
	int64_t *latency = tw_build_array(b, r->gpu_count, sizeof(*latency)), usual = 0;
	size_t n = 0;
	uint32_t g;

	if (b->failed)
		return;
	for (g = 0; g < r->gpu_count; g++)
		if (r->launch[g] != TW_NO_POINT && starts[g].launch_alone)
			latency[n++] =
				b->points.at[2 * g].time_ns - b->points.at[r->launch[g]].time_ns;
	usual = n ? 2 * tw_middle_of(latency, n).lower : 0;
	r->late_ns = usual > b->delays->late ? usual : b->delays->late;
}

/* GPU events by device, then end: where those of a device begin is by number of the device. */
struct ends {
	uint32_t *gpu;
	uint32_t *other; /* the place before of another stream of the device, TW_NO_POINT */
	uint32_t *first; /* by device */
};

static uint64_t end_key(const void *build, uint32_t g)
{
	return tw_sort_key(((const struct tw_rank_build *)build)->points.at[2 * g + 1].time_ns);
}

static void list_ends(struct tw_rank_build *b, struct ends *ends)
{
	const struct tw_path_rank *r = b->rank;
	uint32_t *sorted = tw_build_array(b, r->gpu_count, sizeof(*sorted)), *next, g, i, d;

	ends->gpu = tw_build_array(b, r->gpu_count, sizeof(*ends->gpu));
	ends->other = tw_build_array(b, r->gpu_count, sizeof(*ends->other));
	ends->first = tw_build_array(b, r->queue_count + 1, sizeof(*ends->first));
	next = tw_build_array(b, r->queue_count, sizeof(*next));
	if (b->failed)
		return;
	for (g = 0; g < r->gpu_count; g++) {
		sorted[g] = g;
		ends->first[r->device[r->queue[g]] + 1]++;
	}
	b->failed |= tw_sort(sorted, r->gpu_count, end_key, b, b->scratch);
	for (d = 0; d < r->device_count; d++) {
		ends->first[d + 1] += ends->first[d];
		next[d] = ends->first[d];
	}
	for (i = 0; i < r->gpu_count; i++) {
		uint32_t place = next[r->device[r->queue[sorted[i]]]]++;

		ends->gpu[place] = sorted[i];
		ends->other[place] = place == ends->first[r->device[r->queue[sorted[i]]]] ?
					     TW_NO_POINT :
				     r->queue[ends->gpu[place - 1]] != r->queue[sorted[i]] ?
					     place - 1 :
					     ends->other[place - 1];
	}
}

static void explain(struct tw_rank_build *b, const struct ends *ends, uint32_t g)
{
	const struct tw_path_rank *r = b->rank;
	int64_t start_ns = b->points.at[2 * g].time_ns;
	uint32_t d = r->device[r->queue[g]], first = ends->first[d], place;

	place = (uint32_t)TW_LOWER_BOUND(at, first, ends->first[d + 1],
					 b->points.at[2 * ends->gpu[at] + 1].time_ns <= start_ns);
	if (place == first) {
		b->rank->notes.unexplained++;
		return;
	}
	place--;
	if (r->queue[ends->gpu[place]] == r->queue[g])
		place = ends->other[place];
	if (place != TW_NO_POINT &&
	    b->points.at[2 * ends->gpu[place] + 1].time_ns >= start_ns - r->late_ns)
		tw_add_edge(b, 2 * g, 2 * ends->gpu[place] + 1, TW_CAUSE_INFERRED);
	else
		b->rank->notes.unexplained++;
}

void tw_late_starts(struct tw_rank_build *b)
{
	const struct start *starts = list_starts(b);
	struct ends ends = { 0 };
	uint32_t g;

	if (!b->failed)
		find_late(b, starts);
	if (!b->failed)
		list_ends(b, &ends);
	for (g = 0; g < b->rank->gpu_count && !b->failed; g++)
		if (b->rank->launch[g] != TW_NO_POINT && starts[g].has_cause &&
		    b->points.at[2 * g].time_ns - starts[g].latest_ns > b->rank->late_ns)
			explain(b, &ends, g);
}
