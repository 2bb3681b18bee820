#include "analysis/who/forward_of.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/search.h"
#include "base/sort.h"
#include "store/parts.h"

#include <stdlib.h>
#include <string.h>

/* Of operations that begin together as many are looked at. */
#define MOST_TOGETHER 8
/* Threads of one sequence number, of which every one numbers its own operations. */
#define MOST_THREADS 64

/* A sequence number, or the id that the engine gives a thread: each process has its own. */
struct number {
	int64_t number;
	uint64_t pid;
};

struct work {
	const struct tw_derived *d;
	const struct trawl_allocator *a;
	struct tw_backward_op *ops;
	uint32_t count;
	/* Forward operations by sequence number, in the order of nodes: by thread, then start. */
	struct tw_groups numbers; /* struct number */
	uint32_t *node, *of;	  /* by forward operation: its node, its number's group */
	uint32_t forward_count;
	struct tw_members members;
	/* Votes for what thread a "Fwd thread id" is. */
	struct tw_groups votes;
	struct tw_groups threads; /* struct number, a "Fwd thread id" -> track + 1 */
};

int64_t tw_sequence_of(const struct tw_derived *d, uint32_t node, bool *recorded)
{
	struct trawl_argument arg;

	*recorded =
		tw_node_class(d, node) == TRAWL_CLASS_CPU_OP &&
		trawl_event_argument(d->trace, d->host.event[node], TW_KEY_sequence_number, &arg);
	return *recorded && arg.kind == TRAWL_VALUE_INTEGER && arg.integer >= 0 ? arg.integer : -1;
}

static uint32_t track_of(const struct work *w, uint32_t node)
{
	return w->d->trace->events.track[w->d->host.event[node]];
}

static struct number number_of(const struct work *w, uint32_t node, int64_t number)
{
	return (struct number){ number, w->d->trace->tracks[track_of(w, node)].pid };
}

static int64_t start_of(const struct work *w, uint32_t node)
{
	return w->d->trace->events.start_ns[w->d->host.event[node]];
}

/* The backward operation of a node, NULL: it is none. */
static struct tw_backward_op *backward_at(const struct work *w, uint32_t node)
{
	size_t i = TW_LOWER_BOUND(at, 0, w->count, w->ops[at].node < node);

	return i < w->count && w->ops[i].node == node ? &w->ops[i] : NULL;
}

/* ---- arrows */

static bool is_arrow(const struct trawl_trace *trace, uint64_t event, uint8_t phase)
{
	uint32_t name;
	const char *text;

	if (trace->events.phase[event] != phase)
		return false;
	name = trace->categories[trace->events.category[event]].name;
	text = trace->texts.entries[name].ptr;
	return !strcmp(text, "fwdbwd") || !strcmp(text, "forward_backward");
}

static tw_code pid_of(const struct trawl_trace *trace, uint32_t event)
{
	return trace->tracks[trace->events.track[event]].pid;
}

static uint64_t pid_key(const void *trace, uint32_t event)
{
	return pid_of(trace, event);
}

static uint64_t id_key(const void *trace, uint32_t event)
{
	return ((const struct trawl_trace *)trace)->events.correlation[event];
}

static int compare_arrows(const struct trawl_trace *t, uint32_t a, uint32_t b)
{
	const struct tw_events *e = &t->events;

	return TW_COMPARE(e->correlation[a], e->correlation[b]) ?:
		       TW_COMPARE(pid_of(t, a), pid_of(t, b))	?:
		       TW_COMPARE(e->start_ns[a], e->start_ns[b]);
}

/* The innermost operation that begins where an arrow does; TW_NONE. */
static uint32_t op_at(const struct work *w, uint32_t arrow)
{
	const struct tw_events *e = &w->d->trace->events;
	const uint32_t *event = w->d->host.event;
	size_t i = TW_LOWER_BOUND(at, 0, w->d->host.count,
				  e->track[event[at]] < e->track[arrow] ||
					  (e->track[event[at]] == e->track[arrow] &&
					   e->start_ns[event[at]] <= e->start_ns[arrow]));
	uint32_t node = i ? (uint32_t)i - 1 : TW_NONE;
	unsigned looked;

	for (looked = 0; node != TW_NONE && looked < MOST_TOGETHER; looked++) {
		if (track_of(w, node) != e->track[arrow] || start_of(w, node) != e->start_ns[arrow])
			break;
		if (tw_node_class(w->d, node) == TRAWL_CLASS_CPU_OP)
			return node;
		node = w->d->host.parent[node];
	}
	return TW_NONE;
}

/* The start of the arrow that ends here: the last one before of its id and process. */
static uint32_t start_of_arrow(const struct work *w, const uint32_t *starts, size_t count,
			       uint32_t end)
{
	const struct trawl_trace *t = w->d->trace;
	size_t i = TW_LOWER_BOUND(at, 0, count, compare_arrows(t, starts[at], end) <= 0);
	uint32_t start = i ? starts[i - 1] : end;

	return t->events.correlation[start] == t->events.correlation[end] && start != end &&
			       pid_of(t, start) == pid_of(t, end) ?
		       start :
		       TW_NONE;
}

/*
 * Arrows end at the operation that the engine calls, and the call of the engine is around it: both get the
 * forward operation.
 */
static void follow_arrow(struct work *w, uint32_t start, uint32_t end)
{
	uint32_t forward = op_at(w, start), node = op_at(w, end), looked;
	struct tw_backward_op *op;

	if (forward == TW_NONE)
		return;
	for (looked = 0; node != TW_NONE && looked < MOST_TOGETHER; looked++) {
		if (start_of(w, node) != w->d->trace->events.start_ns[end])
			break;
		op = backward_at(w, node);
		if (op)
			op->forward = forward;
		node = w->d->host.parent[node];
	}
	op = node == TW_NONE ? NULL : backward_at(w, node);
	if (op && op->forward == TW_NONE)
		op->forward = forward;
}

static int follow_arrows(struct work *w)
{
	const struct trawl_trace *trace = w->d->trace;
	uint64_t i;
	size_t count = 0;
	uint32_t *starts, start;

	for (i = 0; i < trace->events.count; i++)
		count += is_arrow(trace, i, 's');
	if (!count)
		return 0;
	starts = tw_alloc_array(w->a, count, sizeof(*starts));
	if (!starts)
		return -1;
	for (count = 0, i = 0; i < trace->events.count; i++)
		if (is_arrow(trace, i, 's'))
			starts[count++] = (uint32_t)i;
	if (tw_sort(starts, count, tw_events_start_key, &trace->events, w->a) ||
	    tw_sort(starts, count, pid_key, trace, w->a) ||
	    tw_sort(starts, count, id_key, trace, w->a))
		return -1;
	for (i = 0; i < trace->events.count; i++) {
		if (!is_arrow(trace, i, 'f'))
			continue;
		start = start_of_arrow(w, starts, count, (uint32_t)i);
		if (start != TW_NONE)
			follow_arrow(w, start, (uint32_t)i);
	}
	return 0;
}

/* ---- sequence numbers */

static int list_forward(struct work *w)
{
	uint32_t node, b = 0, n = 0, pass;
	struct number number;
	bool recorded;

	/* Counted, then listed. */
	for (pass = 0; pass < 2; pass++) {
		for (node = 0, b = 0, n = 0; node < w->d->host.count; node++) {
			if (b < w->count && w->ops[b].node == node) {
				b++;
				continue;
			}
			number = number_of(w, node, tw_sequence_of(w->d, node, &recorded));
			if (number.number < 0)
				continue;
			if (pass) {
				w->node[n] = node;
				w->of[n] = tw_groups_add(&w->numbers, &number);
			}
			n++;
		}
		if (pass)
			break;
		w->forward_count = n;
		w->node = tw_alloc_array(w->a, (size_t)n + 1, sizeof(*w->node));
		w->of = tw_alloc_array(w->a, (size_t)n + 1, sizeof(*w->of));
		if (!w->node || !w->of)
			return -1;
	}
	/* Numbers that backward operations alone have come last, without members. */
	for (b = 0; b < w->count; b++) {
		number = number_of(w, w->ops[b].node, w->ops[b].sequence);
		if (number.number >= 0)
			tw_groups_add(&w->numbers, &number);
	}
	return w->numbers.failed ? -1 :
				   tw_members_build(&w->members, w->of, w->forward_count,
						    w->numbers.count, w->a);
}

/* The last operation of each thread that begins no later than `op`, with its number. */
struct candidates {
	uint32_t node[MOST_THREADS];
	unsigned count;
};

static uint32_t member(const struct work *w, uint32_t at)
{
	return w->node[w->members.list[at]];
}

static void find_candidates(struct work *w, const struct tw_backward_op *op, struct candidates *c)
{
	const struct number number = number_of(w, op->node, op->sequence);
	uint32_t group, at, end, next, last;

	c->count = 0;
	if (op->sequence < 0)
		return;
	group = tw_groups_add(&w->numbers, &number);
	at = w->members.first[group];
	for (end = w->members.first[group + 1]; at < end && c->count < MOST_THREADS; at = next) {
		uint32_t track = track_of(w, member(w, at));

		next = (uint32_t)TW_LOWER_BOUND(i, at, end, track_of(w, member(w, i)) <= track);
		last = (uint32_t)TW_LOWER_BOUND(i, at, next,
						start_of(w, member(w, i)) <= start_of(w, op->node));
		if (last > at)
			c->node[c->count++] = member(w, last - 1);
	}
}

struct vote {
	struct number thread;
	uint64_t track;
};

struct tally {
	struct vote vote;
	uint64_t count;
};

static void add_votes(struct work *w, const struct tw_backward_op *op, uint32_t track,
		      uint64_t votes)
{
	struct vote vote = { number_of(w, op->node, op->forward_thread), track };
	uint64_t *count = tw_groups_at(&w->votes, &vote);

	if (count)
		*count += votes;
}

static int compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return TW_ORDER_BY(x, y, vote.thread.pid, vote.thread.number) ?:
		       TW_COMPARE(y->count, x->count)		      ?:
									TW_ORDER_BY(x, y, vote.track);
}

static bool is_of_one(const struct tally *a, const struct tally *b)
{
	return a->vote.thread.number == b->vote.thread.number &&
	       a->vote.thread.pid == b->vote.thread.pid;
}

/* Each id the thread with most votes that no id before has; where all are taken, the one with most. */
static void assign(struct work *w, const struct tally *tallies, uint32_t count, uint8_t *taken)
{
	uint32_t i, first = 0, best;

	for (i = 0; i < count; i = first) {
		uint32_t *thread = tw_groups_at(&w->threads, &tallies[i].vote.thread);

		for (best = i; best < count && is_of_one(&tallies[best], &tallies[i]) &&
			       taken[tallies[best].vote.track];
		     best++)
			;
		if (best == count || !is_of_one(&tallies[best], &tallies[i]))
			best = i;
		taken[tallies[best].vote.track] = 1;
		if (thread)
			*thread = (uint32_t)tallies[best].vote.track + 1;
		for (first = i; first < count && is_of_one(&tallies[first], &tallies[i]); first++)
			;
	}
}

/*
 * The engine numbers threads by itself.  An arrow shows which one is meant; else it is the one with the
 * most operations that would fit.
 */
static int find_threads(struct work *w)
{
	const uint64_t arrow_votes = 1000000;
	struct candidates c;
	struct tally *tallies;
	uint8_t *taken;
	uint32_t i;
	unsigned k;

	for (i = 0; i < w->count; i++) {
		const struct tw_backward_op *op = &w->ops[i];

		if (op->sequence < 0)
			continue;
		find_candidates(w, op, &c);
		for (k = 0; k < c.count; k++)
			add_votes(w, op, track_of(w, c.node[k]), 1);
		if (op->forward != TW_NONE)
			add_votes(w, op, track_of(w, op->forward), arrow_votes);
	}
	tallies = tw_alloc_array(w->a, (size_t)w->votes.count + 1, sizeof(*tallies));
	taken = tw_alloc_array(w->a, (size_t)w->d->trace->track_count + 1, 1);
	if (w->votes.failed || !tallies || !taken)
		return -1;
	for (i = 0; i < w->votes.count; i++) {
		tallies[i].vote = *(const struct vote *)tw_groups_key(&w->votes, i);
		tallies[i].count = *(const uint64_t *)tw_groups_value(&w->votes, i);
	}
	qsort(tallies, w->votes.count, sizeof(*tallies), compare_tallies);
	assign(w, tallies, w->votes.count, taken);
	return w->threads.failed ? -1 : 0;
}

/* Of the candidates that of the thread that is meant, else the last to start. */
static uint32_t choose(struct work *w, const struct tw_backward_op *op, const struct candidates *c)
{
	const struct number id = number_of(w, op->node, op->forward_thread);
	const uint32_t *thread = c->count > 1 ? tw_groups_at(&w->threads, &id) : NULL;
	uint32_t best = c->count ? c->node[0] : TW_NONE;
	unsigned k;

	for (k = 0; k < c->count; k++) {
		if (thread && *thread && track_of(w, c->node[k]) == *thread - 1)
			return c->node[k];
		if (start_of(w, c->node[k]) > start_of(w, best))
			best = c->node[k];
	}
	return best;
}

static int match_numbers(struct work *w)
{
	struct candidates c;
	bool several = false;
	uint32_t i;

	if (list_forward(w))
		return -1;
	for (i = 0; i < w->count && !several; i++) {
		find_candidates(w, &w->ops[i], &c);
		several = c.count > 1;
	}
	if (several && find_threads(w))
		return -1;
	for (i = 0; i < w->count; i++) {
		if (w->ops[i].forward != TW_NONE)
			continue;
		find_candidates(w, &w->ops[i], &c);
		w->ops[i].forward = choose(w, &w->ops[i], &c);
	}
	return w->threads.failed ? -1 : 0;
}

int tw_find_forward(const struct tw_derived *d, struct tw_backward_op *ops, uint32_t count,
		    const struct trawl_allocator *a)
{
	struct work w = { .d = d, .a = a, .ops = ops, .count = count };
	uint32_t i;

	for (i = 0; i < count; i++)
		ops[i].forward = TW_NONE;
	if (!count)
		return 0;
	tw_groups_init(&w.numbers, sizeof(struct number), a);
	tw_groups_init_values(&w.votes, sizeof(struct vote), sizeof(uint64_t), a);
	tw_groups_init_values(&w.threads, sizeof(struct number), sizeof(uint32_t), a);
	return follow_arrows(&w) || match_numbers(&w) ? -1 : 0;
}
