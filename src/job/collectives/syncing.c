#include "job/collectives/syncing.h"

#include <math.h>
#include <string.h>

/* Kinds in which every rank needs all others, and the steps of a ring that each takes. */
static const struct {
	const char *kind;
	double steps; /* x (n - 1) / n: source: nccl-tests doc/PERFORMANCE.md */
} kinds[] = {
	{ "allreduce", 2 },
	{ "reduce_scatter", 1 },
	{ "allgather", 1 },
	{ "all_to_all", 1 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t find_kind(const char *kind)
{
	size_t i;

	for (i = 0; kind && i < KINDS; i++)
		if (!strcmp(kinds[i].kind, kind))
			return i;
	return KINDS;
}

/*
 * By the first member. Without process groups an unnamed kernel counts too: its kind is unknown,
 * but all ranks run it together.
 */
static bool counts(const struct tw_ranks_input *in, const struct tw_match *match, const char *kind)
{
	const struct tw_match_member *first = tw_match_members(in, match);
	const struct tw_rank *rank = tw_member_rank(in, first);
	const struct tw_collective *c = tw_member_collective(in, first);
	size_t len;

	if (!tw_match_is_shared(match) || tw_match_has_copies(in, match))
		return false;
	tw_collective_text(rank, c, TW_COLLECTIVE_NAME, &len);
	if (!len && in->matches->simplified)
		return true;
	return find_kind(kind) < KINDS && !tw_is_all_to_allv(rank, c);
}

static bool is_doubtful(const struct tw_match *match)
{
	return match->rule == TW_MATCH_BY_ORDER &&
	       (match->sureness == TW_MATCH_DOUBTFUL || match->sureness == TW_MATCH_DIFFERENT);
}

static const char *kind_of(const struct tw_ranks_input *in, const struct tw_match *match)
{
	const struct tw_match_member *m = tw_match_members(in, match);

	return tw_collective_type(tw_member_rank(in, m), tw_member_collective(in, m));
}

static void time_sync(const struct tw_ranks_input *in, const struct tw_match *match,
		      const char *kind, struct tw_sync *sync)
{
	const struct tw_match_member *m = tw_match_members(in, match);
	int64_t first_start = INT64_MAX, first_end = INT64_MAX, last_end = INT64_MIN;
	uint32_t i;

	*sync = (struct tw_sync){ .match = match,
				  .kind = kind,
				  .latency_ns = INT64_MAX,
				  .last_start_ns = INT64_MIN };
	for (i = 0; i < match->count; i++) {
		int64_t start = tw_member_start(in, &m[i]), end = tw_member_end(in, &m[i]);

		if (start > sync->last_start_ns) {
			sync->last_start_ns = start;
			sync->last = i;
		}
		if (start <= first_start) {
			first_start = start;
			sync->earliest = i;
		}
		if (end - start < sync->latency_ns)
			sync->latency_ns = end - start;
		first_end = end < first_end ? end : first_end;
		last_end = end > last_end ? end : last_end;
		sync->dur_ns += end - start;
		sync->wait_ns -= start;
	}
	sync->wait_ns += (tw_wide)sync->last_start_ns * match->count;
	sync->start_skew_ns = sync->last_start_ns - first_start;
	sync->end_skew_ns = last_end - first_end;
	sync->transfer_ns = last_end - sync->last_start_ns;
	sync->sound = sync->last_start_ns <= first_end || !is_doubtful(match);
}

bool tw_sync_of(const struct tw_ranks_input *in, const struct tw_match *match, struct tw_sync *sync)
{
	const char *kind = kind_of(in, match);

	if (!counts(in, match, kind))
		return false;
	time_sync(in, match, kind, sync);
	return true;
}

bool tw_wait_of(const struct tw_ranks_input *in, const struct tw_match *match, struct tw_sync *sync)
{
	const char *kind = kind_of(in, match);

	if (!(match->together && tw_match_is_shared(match)) && !counts(in, match, kind))
		return false;
	time_sync(in, match, kind, sync);
	return true;
}

int64_t tw_member_wait(const struct tw_ranks_input *in, const struct tw_match_member *member,
		       int64_t last_start_ns)
{
	int64_t start = tw_member_start(in, member), end = tw_member_end(in, member);
	int64_t until = end < last_start_ns ? end : last_start_ns;

	return until > start ? until - start : 0;
}

typedef bool sync_of(const struct tw_ranks_input *in, const struct tw_match *match,
		     struct tw_sync *sync);

struct visit {
	const struct tw_ranks_input *in;
	sync_of *of;
	int (*visit)(void *context, const struct tw_sync *sync);
	void *context;
};

static int visit_match(void *context, const struct tw_match *match)
{
	const struct visit *v = context;
	struct tw_sync sync;

	return v->of(v->in, match, &sync) ? v->visit(v->context, &sync) : 0;
}

int tw_visit_syncs(const struct tw_ranks_input *in,
		   int (*visit)(void *context, const struct tw_sync *sync), void *context)
{
	struct visit v = { in, tw_sync_of, visit, context };

	return tw_visit_matches(in, visit_match, &v);
}

int tw_visit_waits(const struct tw_ranks_input *in,
		   int (*visit)(void *context, const struct tw_sync *sync), void *context)
{
	struct visit v = { in, tw_wait_of, visit, context };

	return tw_visit_matches(in, visit_match, &v);
}

void tw_note_unsound(struct trawl_table *table, uint64_t count)
{
	if (count)
		tw_table_add_note(table,
				  "%llu doubtful collective%s skipped: no time overlap of the "
				  "kernels",
				  (unsigned long long)count, count == 1 ? "" : "s");
}

double tw_sync_megabytes(const struct tw_ranks_input *in, const struct tw_sync *sync)
{
	const struct tw_match_member *m = tw_match_members(in, sync->match);
	bool gathers = sync->kind && !strcmp(sync->kind, "allgather");

	return tw_collective_size(tw_member_rank(in, m), tw_member_collective(in, m),
				  gathers ? TW_COLLECTIVE_OUT_NELEMS : TW_COLLECTIVE_IN_NELEMS);
}

double tw_sync_bandwidth(const struct tw_ranks_input *in, const struct tw_sync *sync)
{
	return tw_gigabytes_per_second(tw_sync_megabytes(in, sync), sync->latency_ns);
}

/* The group's size as recorded; NaN when it is none. */
static double group_size(const struct tw_ranks_input *in, const struct tw_sync *sync)
{
	const struct tw_match_member *m = tw_match_members(in, sync->match);
	const char *text;
	size_t len, i;
	double n = 0;

	text = tw_collective_text(tw_member_rank(in, m), tw_member_collective(in, m),
				  TW_COLLECTIVE_GROUP_SIZE, &len);
	for (i = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		n = n * 10 + (text[i] - '0');
	return len && i == len && n > 0 ? n : (double)NAN;
}

double tw_sync_bus_bandwidth(const struct tw_ranks_input *in, const struct tw_sync *sync)
{
	size_t kind = find_kind(sync->kind);
	double n = group_size(in, sync);

	if (kind == KINDS)
		return NAN;
	return tw_sync_bandwidth(in, sync) * kinds[kind].steps * (n - 1) / n;
}
