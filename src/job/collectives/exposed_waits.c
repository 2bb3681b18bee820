#include "job/collectives/exposed_waits.h"

#include "base/alloc.h"

#include <string.h>

/* Of a collective on its rank: until when it waits, on the clock of the rank, and for whom. */
struct wait {
	int64_t until_ns;
	uint32_t late;
};

struct work {
	const struct tw_ranks_input *in;
	struct wait **waits; /* by rank, then collective */
	int64_t *ns;	     /* by late rank, of one that waits */
};

static int note_waits(void *context, const struct tw_sync *sync)
{
	const struct work *w = context;
	const struct tw_match_member *members = tw_match_members(w->in, sync->match);
	uint32_t late = members[sync->last].rank, i;

	for (i = 0; i < sync->match->count && sync->sound; i++) {
		const struct tw_match_member *m = &members[i];
		int64_t wait = tw_member_wait(w->in, m, sync->last_start_ns);

		if (m->rank == late || wait <= 0)
			continue;
		w->waits[m->rank][m->collective] =
			(struct wait){ tw_member_collective(w->in, m)->start_ns + wait, late };
	}
	return 0;
}

/* What of a stretch of waiting is exposed. */
static void add_wait(struct work *w, const struct tw_intervals *exposed, int64_t from_ns,
		     const struct wait *wait, int64_t until_ns)
{
	if (from_ns < until_ns)
		w->ns[wait->late] += tw_intervals_covered(exposed, from_ns, until_ns);
}

/* Collectives come by start: the wait that ends last counts until its end, or until a longer one. */
static void add_waits(struct work *w, const struct tw_rank *rank, const struct wait *waits,
		      const struct tw_intervals *exposed)
{
	struct wait now = { INT64_MIN, 0 };
	int64_t from_ns = INT64_MIN;
	uint64_t i;

	for (i = 0; i < rank->collective_count; i++) {
		int64_t start_ns = rank->collectives[i].start_ns;

		if (waits[i].until_ns <= start_ns || waits[i].until_ns <= now.until_ns)
			continue;
		add_wait(w, exposed, from_ns, &now,
			 start_ns < now.until_ns ? start_ns : now.until_ns);
		now = waits[i];
		from_ns = start_ns;
	}
	add_wait(w, exposed, from_ns, &now, now.until_ns);
}

/* Exposed stretches in which nothing is transferred. */
static bool find_idle(const struct tw_rank *rank, const struct wait *waits,
		      const struct trawl_allocator *a, struct tw_intervals *idle)
{
	const struct tw_intervals exposed = { .allocator = a,
					      .items = rank->exposed,
					      .count = rank->exposed_count };
	struct tw_intervals transfers;
	bool good;
	uint64_t i;

	tw_intervals_init(&transfers, a);
	for (i = 0; i < rank->collective_count; i++)
		tw_intervals_put(&transfers,
				 waits[i].until_ns > rank->collectives[i].start_ns ?
					 waits[i].until_ns :
					 rank->collectives[i].start_ns,
				 rank->collectives[i].end_ns);
	tw_intervals_unite(&transfers);
	tw_intervals_subtract(&exposed, &transfers, idle);
	tw_intervals_sum(idle);
	good = !transfers.failed && !idle->failed;
	tw_intervals_release(&transfers);
	return good;
}

static struct wait *new_waits(const struct tw_rank *rank, const struct trawl_allocator *a)
{
	struct wait *waits = tw_alloc_array(a, rank->collective_count + 1, sizeof(*waits));
	uint64_t i;

	for (i = 0; waits && i < rank->collective_count; i++)
		waits[i].until_ns = INT64_MIN;
	return waits;
}

static int visit_rank(struct work *w, uint32_t r, tw_visit_exposed_wait *visit, void *context)
{
	const struct trawl_job *job = w->in->job;
	const struct tw_rank *rank = &job->ranks[r];
	struct tw_intervals idle;
	bool good;
	uint32_t late;

	tw_intervals_init(&idle, w->in->allocator);
	memset(w->ns, 0, job->count * sizeof(*w->ns));
	good = find_idle(rank, w->waits[r], w->in->allocator, &idle);
	if (good)
		add_waits(w, rank, w->waits[r], &idle);
	tw_intervals_release(&idle);
	for (late = 0; late < job->count && good; late++)
		if (w->ns[late])
			visit(context, r, late, w->ns[late]);
	return good ? 0 : TRAWL_ENOMEM;
}

int tw_exposed_waits(const struct tw_ranks_input *in, tw_visit_exposed_wait *visit, void *context)
{
	const struct trawl_allocator *a = in->allocator;
	size_t count = in->job->count, i;
	struct work w = { .in = in };
	int status = TRAWL_ENOMEM;
	bool good;

	w.waits = tw_alloc_array(a, count + 1, sizeof(*w.waits));
	w.ns = tw_alloc_array(a, count + 1, sizeof(*w.ns));
	good = w.waits && w.ns;
	for (i = 0; i < count && good; i++) {
		w.waits[i] = new_waits(&in->job->ranks[i], a);
		good = w.waits[i];
	}
	if (good)
		status = tw_visit_waits(in, note_waits, &w);
	for (i = 0; i < count && !status; i++)
		status = visit_rank(&w, (uint32_t)i, visit, context);
	for (i = 0; i < count && w.waits; i++)
		tw_free(a, w.waits[i],
			(in->job->ranks[i].collective_count + 1) * sizeof(**w.waits));
	tw_free(a, w.waits, (count + 1) * sizeof(*w.waits));
	tw_free(a, w.ns, (count + 1) * sizeof(*w.ns));
	return status;
}
