#include "job/collectives/lateness.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/search.h"

#define NOT_COUNTED INT64_MIN

struct work {
	const struct tw_ranks_input *in;
	struct tw_lateness *l;
	int64_t *last_start; /* by match */
};

/* The member of a rank, NULL: none. Members are sorted by rank. */
static const struct tw_match_member *find_member(const struct tw_ranks_input *in,
						 const struct tw_match *match, uint32_t rank)
{
	const struct tw_match_member *members = tw_match_members(in, match);
	uint32_t low = TW_LOWER_BOUND(at, 0, match->count, members[at].rank < rank);

	return low < match->count && members[low].rank == rank ? &members[low] : NULL;
}

/*
 * How long a rank waited between two of its collectives: in those that had ended when the later
 * one began (what ran beside it did not hold it up).
 */
static tw_wide waited_between(const struct work *w, uint32_t rank, uint64_t from,
			      const struct tw_match_member *later)
{
	int64_t start = tw_member_start(w->in, later);
	tw_wide sum = 0;
	uint64_t i;

	for (i = from; i < later->collective; i++) {
		const struct tw_match_member m = { .rank = rank, .collective = i };
		int64_t last_start = w->last_start[w->in->matches->index_of[rank][i]];

		if (last_start != NOT_COUNTED && tw_member_end(w->in, &m) <= start)
			sum += tw_member_wait(w->in, &m, last_start);
	}
	return sum;
}

/*
 * What of a wait the late rank propagates.  Both left the last collective that they share together;
 * since then the late one waited `a` for others and the waiting one `b`: a - b of the difference
 * of their arrivals is that, the rest is the late rank's own doing.
 */
static int64_t passed_on(const struct work *w, const struct tw_match_member *late,
			 const struct tw_match_member *waiting, int64_t wait)
{
	const struct tw_matches *matches = w->in->matches;
	uint64_t of_late = late->collective, of_waiting = 0;
	tw_wide more;

	while (of_late) {
		const struct tw_match_member m = { .rank = late->rank, .collective = of_late - 1 };
		uint64_t match = matches->index_of[m.rank][m.collective];
		const struct tw_match_member *shared = NULL;

		/* One that still runs beside this one has not been left yet. */
		if (w->last_start[match] != NOT_COUNTED &&
		    tw_member_end(w->in, &m) <= tw_member_start(w->in, late))
			shared = find_member(w->in, &matches->matches[match], waiting->rank);
		if (shared) {
			of_waiting = shared->collective + 1;
			break;
		}
		of_late--;
	}
	more = waited_between(w, late->rank, of_late, late);
	if (more > 0)
		more -= waited_between(w, waiting->rank, of_waiting, waiting);
	return more <= 0 ? 0 : more < wait ? (int64_t)more : wait;
}

static int note_start(void *context, const struct tw_sync *sync)
{
	const struct work *w = context;

	if (sync->sound)
		w->last_start[sync->match - w->in->matches->matches] = sync->last_start_ns;
	return 0;
}

static int add_sync(void *context, const struct tw_sync *sync)
{
	struct work *w = context;
	const struct tw_match_member *members = tw_match_members(w->in, sync->match);
	const struct tw_match_member *late = &members[sync->last];
	struct tw_late_rank *last = &w->l->of[late->rank];
	tw_wide caused = 0, passed = 0;
	uint32_t i;

	if (!sync->sound) {
		w->l->unsound++;
		return 0;
	}
	for (i = 0; i < sync->match->count; i++) {
		struct tw_late_rank *of = &w->l->of[members[i].rank];
		int64_t wait = tw_member_wait(w->in, &members[i], sync->last_start_ns);

		of->count++;
		of->wait_ns += wait;
		caused += wait;
		if (wait > last->caused_most_ns)
			last->caused_most_ns = wait;
		if (wait)
			passed += passed_on(w, late, &members[i], wait);
	}
	last->last++;
	last->passed += passed * 2 > caused;
	last->caused_ns += caused;
	last->passed_ns += passed;
	w->l->count++;
	w->l->wait_ns += caused;
	w->l->dur_ns += sync->dur_ns;
	return 0;
}

static int measure_computing(struct tw_lateness *l, const struct tw_ranks_input *in)
{
	int64_t *values = tw_alloc_array(in->allocator, l->ranks + 1, sizeof(*values));
	size_t n = 0, i;

	if (!values)
		return TRAWL_ENOMEM;
	for (i = 0; i < l->ranks; i++)
		if (in->job->ranks[i].gpu_events)
			values[n++] = in->job->ranks[i].timeline.compute_ns;
	l->median2_ns = tw_twice_the_median(values, n);
	return 0;
}

int tw_lateness_build(struct tw_lateness *l, const struct tw_ranks_input *in)
{
	struct work w = { .in = in, .l = l };
	uint64_t i;

	*l = (struct tw_lateness){ .ranks = in->job->count };
	l->of = tw_alloc_array(in->allocator, l->ranks + 1, sizeof(*l->of));
	w.last_start = tw_alloc_array(in->allocator, in->matches->count + 1, sizeof(*w.last_start));
	if (!l->of || !w.last_start)
		return TRAWL_ENOMEM;
	for (i = 0; i < in->matches->count; i++)
		w.last_start[i] = NOT_COUNTED;
	tw_visit_waits(in, note_start, &w);
	tw_visit_waits(in, add_sync, &w);
	return measure_computing(l, in);
}
