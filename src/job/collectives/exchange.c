#include "job/collectives/exchange.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

double tw_exchange_send_imbalance(const struct tw_exchange *x)
{
	return x->mean_mb > 0 ? x->largest_mb / x->mean_mb : (double)NAN;
}

double tw_exchange_receive_imbalance(const struct tw_exchange *x)
{
	return x->received_mb > 0 ? x->largest_received_mb * x->match->count / x->received_mb :
				    (double)NAN;
}

/* -1: not recorded, or no number. */
static int64_t nelems_of(const struct tw_rank *rank, const struct tw_collective *c)
{
	size_t len, i;
	const char *text = tw_collective_text(rank, c, TW_COLLECTIVE_IN_NELEMS, &len);
	int64_t n = 0;

	for (i = 0; i < len; i++)
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(n, (int64_t)10, &n) ||
		    __builtin_add_overflow(n, (int64_t)(text[i] - '0'), &n))
			return -1;
	return len ? n : -1;
}

static void add_sizes(struct tw_exchange *x, const struct tw_rank *rank,
		      const struct tw_collective *c, uint32_t member)
{
	double megabytes = tw_collective_size(rank, c, TW_COLLECTIVE_IN_NELEMS);
	double received = tw_collective_size(rank, c, TW_COLLECTIVE_OUT_NELEMS);
	int64_t nelems = nelems_of(rank, c);

	x->total_mb += megabytes;
	x->received_mb += received;
	if (megabytes > x->largest_mb)
		x->sends_most = member;
	if (received > x->largest_received_mb)
		x->receives_most = member;
	if (!(x->largest_mb >= megabytes))
		x->largest_mb = megabytes;
	if (!(x->largest_received_mb >= received))
		x->largest_received_mb = received;
	if (nelems < 0 || x->nelems < 0 || __builtin_add_overflow(x->nelems, nelems, &x->nelems))
		x->nelems = -1;
}

bool tw_exchange_of(const struct tw_ranks_input *in, const struct tw_match *match,
		    struct tw_exchange *x)
{
	const struct tw_match_member *m = tw_match_members(in, match);
	int64_t last_start = INT64_MIN, first_end = INT64_MAX, last_end = INT64_MIN;
	uint32_t i;

	if (!tw_match_is_shared(match) ||
	    !tw_is_all_to_allv(tw_member_rank(in, m), tw_member_collective(in, m)))
		return false;
	*x = (struct tw_exchange){ .match = match,
				   .first_start_ns = INT64_MAX,
				   .shortest_ns = INT64_MAX };
	for (i = 0; i < match->count; i++) {
		int64_t start = tw_member_start(in, &m[i]), end = tw_member_end(in, &m[i]);

		add_sizes(x, tw_member_rank(in, &m[i]), tw_member_collective(in, &m[i]), i);
		x->first_start_ns = start < x->first_start_ns ? start : x->first_start_ns;
		first_end = end < first_end ? end : first_end;
		last_start = start > last_start ? start : last_start;
		last_end = end > last_end ? end : last_end;
		x->longest_ns = end - start > x->longest_ns ? end - start : x->longest_ns;
		x->shortest_ns = end - start < x->shortest_ns ? end - start : x->shortest_ns;
	}
	x->mean_mb = x->total_mb / match->count;
	x->wall_ns = last_end - x->first_start_ns;
	x->start_skew_ns = last_start - x->first_start_ns;
	x->end_skew_ns = last_end - first_end;
	return true;
}

struct listing {
	const struct tw_ranks_input *in;
	struct tw_exchange *list; /* NULL: they are counted */
	size_t count;
};

static int add_match(void *context, const struct tw_match *match)
{
	struct listing *l = context;
	struct tw_exchange exchange;

	if (!tw_exchange_of(l->in, match, &exchange))
		return 0;
	if (l->list)
		l->list[l->count] = exchange;
	l->count++;
	return 0;
}

/* Most data first; what is unknown last; then in order of the matches. */
static int by_data(const void *a, const void *b)
{
	const struct tw_exchange *x = a, *y = b;
	double of_x = isnan(x->total_mb) ? -1 : x->total_mb;
	double of_y = isnan(y->total_mb) ? -1 : y->total_mb;

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x->match < y->match ? -1 : x->match > y->match;
}

int tw_exchanges_list(const struct tw_ranks_input *in, struct tw_exchange **list, size_t *count)
{
	struct listing l = { .in = in };

	tw_visit_matches(in, add_match, &l);
	*count = l.count;
	*list = l.list = tw_alloc_array(in->allocator, l.count + 1, sizeof(*l.list));
	if (!l.list)
		return TRAWL_ENOMEM;
	l.count = 0;
	tw_visit_matches(in, add_match, &l);
	qsort(l.list, l.count, sizeof(*l.list), by_data);
	return 0;
}

struct summing {
	const struct tw_ranks_input *in;
	struct tw_exchange_sum *sum;
	double *received; /* by index of the rank */
};

static int add_received(void *context, const struct tw_match *match)
{
	struct summing *s = context;
	struct tw_exchange x;
	uint32_t i;

	if (!tw_exchange_of(s->in, match, &x) || !(x.received_mb > 0))
		return 0;
	s->sum->largest_received_mb += x.largest_received_mb;
	s->sum->mean_received_mb += x.received_mb / match->count;
	for (i = 0; i < match->count; i++) {
		const struct tw_match_member *m = &tw_match_members(s->in, match)[i];

		s->received[m->rank] += tw_collective_size(tw_member_rank(s->in, m),
							   tw_member_collective(s->in, m),
							   TW_COLLECTIVE_OUT_NELEMS);
	}
	return 0;
}

int tw_exchange_sum(const struct tw_ranks_input *in, struct tw_exchange_sum *sum)
{
	struct summing s = { .in = in, .sum = sum };
	uint32_t r;

	*sum = (struct tw_exchange_sum){ .mean_received_mb = 0 };
	s.received = tw_alloc_array(in->allocator, in->job->count + 1, sizeof(*s.received));
	if (!s.received)
		return TRAWL_ENOMEM;
	tw_visit_matches(in, add_received, &s);
	for (r = 1; r < in->job->count; r++)
		if (s.received[r] > s.received[sum->receives_most])
			sum->receives_most = r;
	return 0;
}
