/* How long the part of a recording takes that a report looks at. */
#include "diagnose/pieces.h"

#include "base/alloc.h"

uint32_t tw_chosen_steps(const struct tw_path *path)
{
	uint32_t most = 0, i;

	for (i = 0; i < path->rank_count; i++)
		if (path->ranks[i].chosen_steps > most)
			most = path->ranks[i].chosen_steps;
	return most;
}

/* Over all ranks: when what came before it is done, its first start, and when all until its last is done. */
struct piece {
	int64_t before_ns, first_ns, after_ns;
};

struct measuring {
	const struct tw_path *path;
	struct tw_times times;
	struct piece *pieces;
	uint32_t count;
};

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t later(int64_t from, int64_t to)
{
	return max64(0, tw_ns_between(from, to));
}

/* What a window by time cuts off is left out as it was recorded. */
static void add_rank(struct measuring *m, const struct tw_path_rank *r)
{
	const struct tw_path_point *points = m->path->points;
	bool by_start = r->by_time || !r->launched_count;
	uint32_t n = by_start ? r->gpu_count : r->launched_count, i, entered = TW_NO_POINT;
	int64_t done = INT64_MIN, was = INT64_MIN; /* in the scenario, as recorded */
	int64_t from_ns = tw_ns_sum(r->from_ns, r->shift_ns);
	int64_t to_ns = tw_ns_sum(r->to_ns, r->shift_ns);

	for (i = 0; i < n; i++) {
		uint32_t g = by_start ? i : r->launched[i], end = tw_gpu_end(r, g);
		uint32_t number = r->piece[2 * g];
		struct piece *p;

		if (number != TW_NO_POINT && m->count == 1)
			number = 0;
		p = number == TW_NO_POINT ? NULL : &m->pieces[number];
		if (p && (entered == TW_NO_POINT || number > entered)) {
			entered = number;
			if (done != INT64_MIN)
				p->before_ns =
					max64(p->before_ns, tw_ns_sum(done, later(was, from_ns)));
		}
		done = max64(done, tw_time(m->times, end));
		was = max64(was, points[end].time_ns);
		if (!p)
			continue;
		if (tw_time(m->times, end - 1) < p->first_ns)
			p->first_ns = tw_time(m->times, end - 1);
		p->after_ns = max64(p->after_ns, tw_ns_sum(done, -later(to_ns, was)));
	}
}

/* Ranks whose pieces do not match have one, from the first to the last. */
static uint32_t piece_count(const struct tw_path *path)
{
	uint32_t i;

	for (i = 1; i < path->rank_count; i++)
		if (path->ranks[i].piece_count != path->ranks[0].piece_count)
			return 1;
	return path->ranks[0].piece_count;
}

int64_t tw_pieces_ns(const struct tw_path *path, struct tw_times times)
{
	struct measuring m = { .path = path, .times = times, .count = piece_count(path) };
	size_t bytes = ((size_t)m.count + 1) * sizeof(*m.pieces);
	int64_t sum = 0;
	uint32_t i;

	m.pieces = tw_alloc(path->allocator, bytes);
	if (!m.pieces)
		return -1;
	for (i = 0; i < m.count; i++)
		m.pieces[i] = (struct piece){ INT64_MIN, INT64_MAX, INT64_MIN };
	for (i = 0; i < path->rank_count; i++)
		if (path->ranks[i].piece)
			add_rank(&m, &path->ranks[i]);
	for (i = 0; i < m.count; i++) {
		const struct piece *p = &m.pieces[i];
		int64_t from = p->before_ns != INT64_MIN ? p->before_ns : p->first_ns;

		if (p->after_ns > from)
			sum = tw_ns_sum(sum, tw_ns_between(from, p->after_ns));
	}
	tw_free(path->allocator, m.pieces, bytes);
	return sum;
}
