/*
 * Offsets of clocks: when each collective ended on a common clock is the median of its members'
 * ends, a rank's offset the median of what it is ahead of that; in turns until nothing changes.
 * Medians of ends: neither a straggler, which starts late, nor a wrong match moves them.
 */
#include "job/clocks/clocks.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/sort.h"
#include "data/limits.h"
#include "job/match/match_limits.h"
#include "job/match/match_work.h"

#include <math.h>
#include <string.h>

enum limits {
	/* Collectives of a group that are used: more make offsets no better. */
	MOST_OF_GROUP = 4096,
	MOST_ROUNDS = 50, /* chains of groups settle in a few */
	DRIFT_ROUNDS = 8,
	DRIFT_SAMPLES = 20,
	/* Below that a drift of some ppm is less than ends scatter. */
	DRIFT_SPAN_NS = 1000000000,
	/* Of the residuals lie within the uncertainty. */
	COVERED_PERCENT = 95,
	/* In a round ranks join that have this part of the samples of the best connected. */
	JOIN_PART = 4,
	MICROSECOND_NS = 1000, /* resolution of traces whose times are whole microseconds */
};

#define NO_ROUND UINT32_MAX

/* An end of a rank in a collective that is used. */
struct sample {
	uint32_t rank, event;
	int64_t end;
};

struct measuring {
	const struct trawl_job *job;
	const struct trawl_allocator *allocator;
	struct tw_arena arena;	  /* of what follows */
	struct sample *samples;	  /* by event, then rank */
	uint32_t *first_of_event; /* and the end */
	int64_t *common;	  /* by event: its end on the common clock */
	bool *known;		  /* by event: that is there */
	size_t count, event_count;
	uint32_t *by_rank;     /* samples by rank, then event */
	size_t *first_of_rank; /* and the end */
	int64_t *scratch;      /* by sample */
	int64_t *offset;       /* by rank */
	double *drift;	       /* by rank, ns per ns */
	uint32_t *round;       /* by rank: in which it was connected, NO_ROUND */
	uint32_t *reference;   /* by rank */
	struct tw_clocks *out;
};

static bool is_usable(const struct tw_match *match)
{
	return match->together && match->count > 1 &&
	       (match->sureness == TW_MATCH_CERTAIN || match->sureness == TW_MATCH_LIKELY);
}

/* Every n-th of a group's, so that large groups do not cost more than they tell. */
static bool is_taken(const struct tw_matches *matches, const struct tw_match *match)
{
	uint64_t stride = matches->groups[match->group].count / MOST_OF_GROUP + 1;

	return is_usable(match) && match->index % stride == 0;
}

static int64_t base_of(const struct measuring *m, uint32_t rank)
{
	return m->out->based ? m->job->ranks[rank].base_time_ns : 0;
}

static void collect_samples(struct measuring *m, const struct tw_matches *matches)
{
	uint64_t i;
	uint32_t k;

	for (i = 0; i < matches->count; i++) {
		const struct tw_match *match = &matches->matches[i];

		if (!is_taken(matches, match))
			continue;
		m->first_of_event[m->event_count] = (uint32_t)m->count;
		for (k = 0; k < match->count; k++) {
			const struct tw_match_member *member = &matches->members[match->first + k];
			const struct tw_rank *rank = &m->job->ranks[member->rank];

			m->samples[m->count++] = (struct sample){
				.rank = member->rank,
				.event = (uint32_t)m->event_count,
				.end = tw_match_plus(rank->collectives[member->collective].end_ns,
						     base_of(m, member->rank)),
			};
		}
		m->event_count++;
	}
	m->first_of_event[m->event_count] = (uint32_t)m->count;
}

static void sort_by_rank(struct measuring *m)
{
	size_t i, r;

	for (i = 0; i < m->count; i++)
		m->first_of_rank[m->samples[i].rank + 1]++;
	for (r = 0; r < m->job->count; r++)
		m->first_of_rank[r + 1] += m->first_of_rank[r];
	for (i = 0; i < m->count; i++)
		m->by_rank[m->first_of_rank[m->samples[i].rank]++] = (uint32_t)i;
	for (r = m->job->count; r > 0; r--)
		m->first_of_rank[r] = m->first_of_rank[r - 1];
	m->first_of_rank[0] = 0;
}

static int64_t median(int64_t *values, size_t count)
{
	struct tw_middle middle = tw_middle_of(values, count);

	return middle.lower + tw_match_minus(middle.upper, middle.lower) / 2;
}

/* An end on the common clock, as far as the rank's own is known. */
static int64_t corrected(const struct measuring *m, const struct sample *s, bool drift)
{
	int64_t end = tw_match_minus(s->end, m->offset[s->rank]);

	if (drift) {
		double since = (double)tw_match_minus(m->common[s->event], m->common[0]);
		double change = m->drift[s->rank] * since;

		end = tw_match_minus(end, (int64_t)fmax(fmin(change, 4e18), -4e18));
	}
	return end;
}

/* When each collective ended, by the ranks that are connected. */
static void find_common(struct measuring *m, bool drift)
{
	size_t e, i;

	for (e = 0; e < m->event_count; e++) {
		size_t count = 0;

		for (i = m->first_of_event[e]; i < m->first_of_event[e + 1]; i++) {
			if (m->round[m->samples[i].rank] != NO_ROUND)
				m->scratch[count++] = corrected(m, &m->samples[i], drift);
		}
		m->known[e] = count > 0;
		if (count)
			m->common[e] = median(m->scratch, count);
	}
}

/* What a rank is ahead of the common clock, from `*used` samples. */
static int64_t find_offset(struct measuring *m, uint32_t rank, size_t *used)
{
	size_t i, count = 0;

	for (i = m->first_of_rank[rank]; i < m->first_of_rank[rank + 1]; i++) {
		const struct sample *s = &m->samples[m->by_rank[i]];

		if (m->known[s->event])
			m->scratch[count++] = tw_match_minus(s->end, m->common[s->event]);
	}
	*used = count;
	return count ? median(m->scratch, count) : 0;
}

static size_t shared_with_connected(const struct measuring *m, uint32_t rank)
{
	size_t i, count = 0;

	for (i = m->first_of_rank[rank]; i < m->first_of_rank[rank + 1]; i++)
		count += m->known[m->samples[m->by_rank[i]].event];
	return count;
}

/* A round: the ranks that share most with those that are connected; false: none shares any. */
static bool connect_more(struct measuring *m, uint32_t reference, uint32_t round)
{
	size_t best = 0, used;
	uint32_t r;

	find_common(m, false);
	for (r = reference; r < m->job->count; r++) {
		used = m->round[r] == NO_ROUND ? shared_with_connected(m, r) : 0;
		best = used > best ? used : best;
	}
	if (!best)
		return false;
	for (r = reference; r < m->job->count; r++) {
		if (m->round[r] != NO_ROUND || shared_with_connected(m, r) * JOIN_PART < best)
			continue;
		m->offset[r] = find_offset(m, r, &used);
		m->round[r] = round;
		m->reference[r] = reference;
	}
	return true;
}

/*
 * Ranks are connected round by round, the lowest that is not begins a component.  Those of
 * components before it share nothing with it, so that all may stand side by side.
 */
static void connect_ranks(struct measuring *m)
{
	uint32_t r, round;

	for (r = 0; r < m->job->count; r++)
		m->round[r] = NO_ROUND;
	for (r = 0; r < m->job->count; r++) {
		if (m->round[r] != NO_ROUND)
			continue;
		m->round[r] = 0;
		m->reference[r] = r;
		for (round = 1; connect_more(m, r, round);)
			round++;
	}
}

/* Median of members, median of samples, in turns. */
static void settle_offsets(struct measuring *m)
{
	unsigned turn;
	uint32_t r;

	for (turn = 0; turn < MOST_ROUNDS; turn++) {
		int64_t moved = 0;
		size_t used;

		find_common(m, false);
		for (r = 0; r < m->job->count; r++) {
			int64_t offset = find_offset(m, r, &used), change;

			if (!used)
				continue;
			change = tw_match_apart(offset, m->offset[r]);
			moved = change > moved ? change : moved;
			m->offset[r] = offset;
		}
		/* References first in their components: theirs are the last to change. */
		for (r = (uint32_t)m->job->count; r-- > 0;)
			m->offset[r] = tw_match_minus(m->offset[r], m->offset[m->reference[r]]);
		if (moved <= 1)
			break;
	}
	find_common(m, false);
}

/*
 * What a rank is ahead at an end beyond its offset.  The common end holds the rank's own one, as a
 * mean of two half of it: what is left is scaled up to a difference from the others.
 */
static int64_t residual(const struct measuring *m, const struct sample *s)
{
	size_t members = m->first_of_event[s->event + 1] - m->first_of_event[s->event];
	int64_t ahead = tw_match_minus(corrected(m, s, false), m->common[s->event]);

	return members > 1 && ahead < INT64_MAX / 4 && ahead > INT64_MIN / 4 ?
		       ahead + ahead / (int64_t)(members - 1) :
		       ahead;
}

static int64_t resolution_of(const struct tw_rank *rank)
{
	uint64_t i;

	for (i = 0; i < rank->collective_count; i++) {
		if (rank->collectives[i].start_ns % MICROSECOND_NS ||
		    rank->collectives[i].end_ns % MICROSECOND_NS)
			return 1;
	}
	return rank->collective_count ? MICROSECOND_NS : 1;
}

/*
 * Half the width that holds most residuals; where there are few, they may agree by chance, and
 * what ends are apart at the most, divided by their number, is the least.  Each rank on the way
 * from the reference adds its own.
 */
static int64_t uncertainty_of(struct measuring *m, uint32_t rank)
{
	size_t from = m->first_of_rank[rank], to = m->first_of_rank[rank + 1], n = to - from, i;
	int64_t own = resolution_of(&m->job->ranks[rank]);
	int64_t reference = resolution_of(&m->job->ranks[m->reference[rank]]);
	int64_t least, width;

	if (!n)
		return own;
	for (i = 0; i < n; i++)
		m->scratch[i] = tw_match_apart(residual(m, &m->samples[m->by_rank[from + i]]), 0);
	width = tw_nth_value(m->scratch, n, (n * COVERED_PERCENT + 99) / 100 - 1);
	least = TW_MATCH_END_NOISE_NS / (int64_t)n;
	width = width < least ? least : width;
	own = own < reference ? reference : own;
	width = width < own ? own : width;
	return m->round[rank] > 1 && width < INT64_MAX / 4 / m->round[rank] ?
		       width * m->round[rank] :
		       width;
}

/* Median of the slopes between the first half of a rank's samples and the second. */
static double slope_of(struct measuring *m, uint32_t rank)
{
	size_t from = m->first_of_rank[rank], n = m->first_of_rank[rank + 1] - from;
	size_t half = n / 2, count = 0, i;

	for (i = 0; i < half; i++) {
		const struct sample *a = &m->samples[m->by_rank[from + i]];
		const struct sample *b = &m->samples[m->by_rank[from + i + n - half]];
		int64_t span = tw_match_minus(m->common[b->event], m->common[a->event]);
		int64_t change = tw_match_minus(tw_match_minus(b->end, m->common[b->event]),
						tw_match_minus(a->end, m->common[a->event]));

		/* in 10^-15, as integers are what medians are made of */
		if (span)
			m->scratch[count++] = (int64_t)fmax(
				fmin((double)change / (double)span * 1e15, 9e18), -9e18);
	}
	return count ? (double)median(m->scratch, count) / 1e15 : 0;
}

static uint64_t common_key(const void *context, uint32_t sample)
{
	const struct measuring *m = context;

	return tw_sort_key(m->common[m->samples[sample].event]);
}

static bool drifts_tell(const struct measuring *m, uint32_t rank)
{
	size_t from = m->first_of_rank[rank], to = m->first_of_rank[rank + 1];

	return to - from >= DRIFT_SAMPLES &&
	       tw_match_minus(m->common[m->samples[m->by_rank[to - 1]].event],
			      m->common[m->samples[m->by_rank[from]].event]) >= DRIFT_SPAN_NS;
}

/* Drifts relative to the reference, in turns with the common clock as offsets are. */
static int find_drifts(struct measuring *m)
{
	unsigned turn;
	uint32_t r;

	for (r = 0; r < m->job->count; r++) {
		size_t from = m->first_of_rank[r], count = m->first_of_rank[r + 1] - from;

		if (count && tw_sort(m->by_rank + from, count, common_key, m, m->allocator))
			return TRAWL_ENOMEM;
	}
	for (turn = 0; turn < DRIFT_ROUNDS; turn++) {
		for (r = 0; r < m->job->count; r++)
			m->drift[r] = drifts_tell(m, r) ? slope_of(m, r) : 0;
		for (r = (uint32_t)m->job->count; r-- > 0;)
			m->drift[r] -= m->drift[m->reference[r]];
		find_common(m, true);
	}
	return 0;
}

/* Connected to something: it has samples. */
static bool is_connected(const struct measuring *m, uint32_t rank)
{
	return m->first_of_rank[rank + 1] > m->first_of_rank[rank];
}

static int fill_clocks(struct measuring *m)
{
	uint32_t r;
	int status;

	for (r = 0; r < m->job->count; r++) {
		struct tw_clock *clock = &m->out->of[r];

		clock->known = r == m->out->reference || is_connected(m, r);
		clock->reference = m->reference[r];
		clock->offset_ns = m->offset[r];
		clock->samples = m->first_of_rank[r + 1] - m->first_of_rank[r];
		if (clock->reference != r)
			clock->uncertainty_ns = uncertainty_of(m, r);
		m->out->differ |=
			clock->known &&
			tw_match_apart(clock->offset_ns, 0) > TW_LIMIT_CLOCKS_DIFFER_NS &&
			tw_match_apart(clock->offset_ns, 0) / TW_LIMIT_CLOCKS_DIFFER_TIMES >
				clock->uncertainty_ns;
	}
	status = find_drifts(m);
	for (r = 0; !status && r < m->job->count; r++)
		m->out->of[r].drift_ppm = drifts_tell(m, r) && drifts_tell(m, m->reference[r]) ?
						  m->drift[r] * 1e6 :
						  (double)NAN;
	return status;
}

static int measure(struct measuring *m, const struct tw_matches *matches)
{
	struct tw_arena *arena = &m->arena;
	size_t ranks = m->job->count, samples = 1, events = 1;
	uint64_t i;

	for (i = 0; i < matches->count; i++) {
		if (!is_taken(matches, &matches->matches[i]))
			continue;
		samples += matches->matches[i].count;
		events++;
	}
	m->samples = tw_arena_array(arena, samples, sizeof(*m->samples));
	m->by_rank = tw_arena_array(arena, samples, sizeof(*m->by_rank));
	m->scratch = tw_arena_array(arena, samples, sizeof(*m->scratch));
	m->first_of_event = tw_arena_array(arena, events, sizeof(*m->first_of_event));
	m->common = tw_arena_array(arena, events, sizeof(*m->common));
	m->known = tw_arena_array(arena, events, sizeof(*m->known));
	m->first_of_rank = tw_arena_array(arena, ranks + 1, sizeof(*m->first_of_rank));
	m->offset = tw_arena_array(arena, ranks, sizeof(*m->offset));
	m->drift = tw_arena_array(arena, ranks, sizeof(*m->drift));
	m->round = tw_arena_array(arena, ranks, sizeof(*m->round));
	m->reference = tw_arena_array(arena, ranks, sizeof(*m->reference));
	if (arena->failed)
		return TRAWL_ENOMEM;
	collect_samples(m, matches);
	sort_by_rank(m);
	connect_ranks(m);
	settle_offsets(m);
	return fill_clocks(m);
}

/*
 * GPUs of one host have one clock, and their times agree within well below a millisecond: a rank
 * that is far from the others of its host was recorded at another time, and its collectives were
 * matched with later or earlier ones of the same kind.
 */
static int find_suspects(struct tw_clocks *clocks, struct measuring *m)
{
	const struct trawl_job *job = m->job;
	int64_t *offsets = tw_arena_array(&m->arena, job->count, sizeof(*offsets));
	size_t first = 0, last, r, n;

	if (!offsets)
		return TRAWL_ENOMEM;
	for (; first < job->count; first = last) {
		int64_t node = tw_job_node(job, job->ranks[first].rank), middle;

		for (last = first, n = 0; last < job->count; last++) {
			if (tw_job_node(job, job->ranks[last].rank) != node)
				break;
			if (clocks->of[last].known)
				offsets[n++] = clocks->of[last].offset_ns;
		}
		if (node < 0 || n < TW_LIMIT_CLOCK_SUSPECT_RANKS)
			continue;
		middle = tw_middle_of(offsets, n).lower;
		for (r = first; r < last; r++)
			clocks->of[r].suspect = clocks->of[r].known &&
						tw_match_apart(clocks->of[r].offset_ns, middle) >
							TW_LIMIT_CLOCK_SUSPECT_NS;
	}
	return 0;
}

static enum trawl_align resolve(const struct tw_clocks *clocks, const struct trawl_job *job,
				enum trawl_align asked)
{
	if (asked != TRAWL_ALIGN_AUTO)
		return asked;
	return tw_job_several_hosts(job) || clocks->differ ? TRAWL_ALIGN_COLLECTIVES :
							     TRAWL_ALIGN_BASE_TIME;
}

/* What to add to the times of each rank. */
static void find_shifts(struct tw_clocks *clocks, const struct trawl_job *job)
{
	size_t r;

	for (r = 0; r < job->count; r++) {
		const struct tw_clock *clock = &clocks->of[r];
		int64_t *shift = &clocks->shift_ns[r];

		*shift = clocks->based ? job->ranks[r].base_time_ns : 0;
		/* An offset that may as well be none would only add what ends scatter. */
		if (clocks->align == TRAWL_ALIGN_COLLECTIVES && clock->known &&
		    tw_match_apart(clock->offset_ns, 0) > clock->uncertainty_ns)
			*shift = tw_match_minus(*shift, clock->offset_ns);
	}
}

int tw_clocks_measure(struct tw_clocks *clocks, const struct trawl_job *job,
		      const struct tw_matches *matches, enum trawl_align asked,
		      const struct trawl_allocator *allocator)
{
	struct measuring m = { .job = job, .allocator = allocator, .out = clocks };
	bool told = job->count > 0;
	int status = TRAWL_ENOMEM;
	size_t r;

	*clocks = (struct tw_clocks){ .allocator = allocator, .count = (uint32_t)job->count };
	for (r = 0; r < job->count; r++)
		told &= tw_rank_tells_base(&job->ranks[r]);
	clocks->based = told;
	clocks->of = tw_alloc_array(allocator, job->count + 1, sizeof(*clocks->of));
	clocks->shift_ns = tw_alloc_array(allocator, job->count + 1, sizeof(*clocks->shift_ns));
	tw_arena_init(&m.arena, allocator);
	if (clocks->of && clocks->shift_ns)
		status = job->count ? measure(&m, matches) : 0;
	if (!status)
		status = find_suspects(clocks, &m);
	tw_arena_release(&m.arena);
	if (status) {
		tw_clocks_release(clocks);
		return status;
	}
	clocks->align = resolve(clocks, job, asked);
	clocks->based = told && clocks->align != TRAWL_ALIGN_NONE;
	find_shifts(clocks, job);
	return 0;
}

void tw_clocks_release(struct tw_clocks *clocks)
{
	const struct trawl_allocator *a = clocks->allocator;

	if (!a)
		return;
	tw_free(a, clocks->of, ((size_t)clocks->count + 1) * sizeof(*clocks->of));
	tw_free(a, clocks->shift_ns, ((size_t)clocks->count + 1) * sizeof(*clocks->shift_ns));
	memset(clocks, 0, sizeof(*clocks));
}
