/*
 * Captures of one process: torch.profiler.tensorboard_trace_handler writes a file for each cycle,
 * <host>_<pid>.<time>.pt.trace.json, and servers one for each time that they are asked.  Ranks of a
 * job run at the same time; captures of a process never do.
 */
#include "job/set/job.h"

#include "base/order.h"
#include "os/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* A number of as many digits is a time: no rank, process, port or step has more. */
#define STAMP_DIGITS 9

/* A rank with what captures of its process have in common. */
struct capture {
	struct tw_rank *rank;
	const char *path;
	size_t stamp, stamp_end;     /* a time in the file's name; equal: there is none */
	bool of_process;	     /* text before the time: <host>_<pid> */
	enum trawl_rank_state state; /* before it was skipped */
};

struct captures {
	struct tw_arena arena; /* of the lists */
	struct tw_rank *ranks;
	size_t rank_count;
	struct capture *list;
	size_t count;
	size_t *by;   /* by rank: the later capture that counts instead, itself: none */
	size_t *back; /* by rank: 1 + index of the earlier capture that counts instead, 0: none */
	bool went_back;
};

/* A time in the file name: digits, optionally with a fraction; and the text before it. */
static void find_stamp(struct capture *c)
{
	const char *path = c->path;
	size_t begin = (size_t)(tw_file_name(path) - path), i, n;

	for (i = begin; path[i]; i += n ? n : 1) {
		n = strspn(path + i, "0123456789");
		if (n < STAMP_DIGITS)
			continue;
		c->stamp = i;
		c->stamp_end = i + n;
		if (path[i + n] == '.' && isdigit((unsigned char)path[i + n + 1]))
			c->stamp_end += 1 + strspn(path + i + n + 1, "0123456789");
		break;
	}
	if (i == begin || path[i - 1] != '.')
		return;
	for (n = --i; n > begin && isdigit((unsigned char)path[n - 1]); n--)
		;
	c->of_process = n < i && n > begin + 1 && path[n - 1] == '_';
}

static bool has_stamp(const struct capture *c)
{
	return c->stamp_end > c->stamp;
}

/* Paths without their times: 0 when they are the same. */
static int compare_workers(const struct capture *a, const struct capture *b)
{
	size_t n = a->stamp < b->stamp ? a->stamp : b->stamp;

	return strncmp(a->path, b->path, n)	?:
		       TW_ORDER_BY(a, b, stamp) ?:
		       strcmp(a->path + a->stamp_end, b->path + b->stamp_end);
}

/* On the common clock where the trace has its base time. */
static int64_t on_common_clock(const struct tw_rank *rank, int64_t time_ns)
{
	int64_t sum;

	if (rank->base_time_ns == TRAWL_TIME_NONE ||
	    __builtin_add_overflow(time_ns, rank->base_time_ns, &sum))
		return time_ns;
	return sum;
}

static bool has_times(const struct tw_rank *rank)
{
	return rank->who.first_ns <= rank->who.last_ns;
}

/* Whether their times can be compared: on one clock, or those of both with their base times. */
static bool are_comparable(const struct tw_rank *a, const struct tw_rank *b, bool one_clock)
{
	bool based = a->base_time_ns != TRAWL_TIME_NONE;

	return has_times(a) && has_times(b) && based == (b->base_time_ns != TRAWL_TIME_NONE) &&
	       (based || one_clock);
}

/* Whether `b` begins when `a` is over, as far as their clocks can be compared. */
static bool is_before(const struct tw_rank *a, const struct tw_rank *b, bool one_clock)
{
	return are_comparable(a, b, one_clock) &&
	       on_common_clock(a, a->who.last_ns) <= on_common_clock(b, b->who.first_ns);
}

static bool are_numbered(const struct capture *a, const struct capture *b)
{
	return a->rank->rule != TRAWL_RANK_BY_ORDER && b->rank->rule != TRAWL_RANK_BY_ORDER;
}

/* The process recorded in a trace has priority over its file name. */
static bool other_processes(const struct capture *a, const struct capture *b)
{
	if (a->rank->who.pid >= 0 && b->rank->who.pid >= 0)
		return a->rank->who.pid != b->rank->who.pid;
	return has_stamp(a) && has_stamp(b) && compare_workers(a, b);
}

/* ---- the pairs: `b` begins last */

/* By the names of their files, unless they have other numbers, or ran at the same time. */
static bool same_worker(const struct capture *a, const struct capture *b)
{
	if (!has_stamp(a) || !has_stamp(b) || compare_workers(a, b) ||
	    (are_numbered(a, b) && a->rank->rank != b->rank->rank))
		return false;
	return is_before(a->rank, b->rank, true) ||
	       (a->of_process && !are_comparable(a->rank, b->rank, true));
}

static bool same_number(const struct capture *a, const struct capture *b)
{
	return are_numbered(a, b) && a->rank->rank == b->rank->rank && !other_processes(a, b) &&
	       is_before(a->rank, b->rank, true);
}

/* Without any number, by the process alone ... */
static bool same_pid(const struct capture *a, const struct capture *b)
{
	return a->rank->rule == TRAWL_RANK_BY_ORDER && b->rank->rule == TRAWL_RANK_BY_ORDER &&
	       a->rank->who.pid >= 0 && a->rank->who.pid == b->rank->who.pid &&
	       is_before(a->rank, b->rank, true);
}

/* ... or by their times, where these are on one clock. */
static bool same_place(const struct capture *a, const struct capture *b)
{
	return a->rank->rule == TRAWL_RANK_BY_ORDER && b->rank->rule == TRAWL_RANK_BY_ORDER &&
	       is_before(a->rank, b->rank, false);
}

/* ---- in order, so that captures of a process are beside each other */

static int compare_times(const struct capture *a, const struct capture *b)
{
	int64_t x = on_common_clock(a->rank, a->rank->who.first_ns),
		y = on_common_clock(b->rank, b->rank->who.first_ns);

	return TW_COMPARE(x, y) ?: TW_ORDER_BY(a, b, rank->file);
}

static int by_worker(const void *a, const void *b)
{
	return compare_workers(a, b) ?: compare_times(a, b);
}

static int by_pid(const void *a, const void *b)
{
	const struct capture *x = a, *y = b;

	return TW_ORDER_BY(x, y, rank->who.pid) ?: compare_times(x, y);
}

static int by_number(const void *a, const void *b)
{
	const struct capture *x = a, *y = b;
	bool x_order = x->rank->rule == TRAWL_RANK_BY_ORDER,
	     y_order = y->rank->rule == TRAWL_RANK_BY_ORDER;

	return TW_COMPARE(x_order, y_order)			     ?:
		       (x_order ? 0 : TW_ORDER_BY(x, y, rank->rank)) ?:
								       by_pid(x, y);
}

static int by_time(const void *a, const void *b)
{
	return compare_times(a, b);
}

/* Index of the capture of its process that is taken. */
static size_t taken_of(const struct captures *all, size_t rank)
{
	while (all->by[rank] != rank)
		rank = all->by[rank];
	return rank;
}

/*
 * From the last to the first, so that each names one that is taken.  What overlaps it takes its
 * place: an earlier one has to be over before any of those began.
 */
static void leave_out_pairs(struct captures *all, int (*compare)(const void *a, const void *b),
			    bool (*same)(const struct capture *a, const struct capture *b))
{
	const struct capture *last = NULL;
	size_t i;

	qsort(all->list, all->count, sizeof(*all->list), compare);
	for (i = all->count; i--;) {
		struct capture *c = &all->list[i];

		if (c->rank->state == TRAWL_RANK_CAPTURE)
			continue;
		/* Several ranks of one file are several. */
		if (last && c->rank->file != last->rank->file && same(c, last)) {
			all->by[c->rank - all->ranks] = (size_t)(last->rank - all->ranks);
			c->state = c->rank->state;
			c->rank->state = TRAWL_RANK_CAPTURE;
		} else {
			last = c;
		}
	}
}

/* ---- the last of all ranks: of one that was captured once less, the others have an earlier one */

/* When the first of the last captures ends. */
static int64_t first_end(const struct captures *all)
{
	int64_t first_ns, last_ns, end_ns = INT64_MAX;
	size_t i;

	for (i = 0; i < all->count; i++)
		if (all->list[i].rank->state != TRAWL_RANK_CAPTURE &&
		    tw_rank_span(all->list[i].rank, &first_ns, &last_ns) && last_ns < end_ns)
			end_ns = last_ns;
	return end_ns;
}

/* In order of time: what begins later takes the place of what is there. */
static void go_back(struct captures *all)
{
	int64_t end_ns = first_end(all), first_ns, last_ns;
	size_t i;

	qsort(all->list, all->count, sizeof(*all->list), by_time);
	for (i = 0; i < all->count; i++) {
		struct capture *c = &all->list[i];
		size_t at = (size_t)(c->rank - all->ranks), taken = taken_of(all, at);

		if (!tw_rank_span(c->rank, &first_ns, &last_ns) || first_ns > end_ns ||
		    taken == at || !tw_rank_span(&all->ranks[taken], &first_ns, &last_ns) ||
		    first_ns <= end_ns)
			continue;
		all->back[taken] = i + 1;
	}
	for (i = 0; i < all->rank_count; i++) {
		struct capture *c = all->back[i] ? &all->list[all->back[i] - 1] : NULL;
		size_t at = c ? (size_t)(c->rank - all->ranks) : 0;

		if (!c)
			continue;
		c->rank->state = c->state;
		all->ranks[i].state = TRAWL_RANK_CAPTURE;
		all->by[i] = all->by[at] = at;
		all->went_back = true;
	}
}

static void say_why(struct capture *c, const struct captures *all, const struct tw_rank_set *set)
{
	size_t at = (size_t)(c->rank - all->ranks), taken = taken_of(all, at);
	const struct tw_rank *other = &all->ranks[taken];
	bool others = other->who.pid >= 0 && c->rank->who.pid >= 0 &&
		      other->who.pid != c->rank->who.pid;
	struct tw_str text;

	if (c->rank->state != TRAWL_RANK_CAPTURE)
		return;
	tw_str_init(&text, c->rank->allocator);
	tw_str_addf(&text, "%s capture of %s '%s', the last capture%s (report --each reports each)",
		    is_before(other, c->rank, true) ? "a later" : "an earlier",
		    others ? "a different process than" : "the process of",
		    set->files[other->file].path, all->went_back ? " common to all ranks" : "");
	c->rank->message = text.failed ? "" : tw_rank_keep(c->rank, text.ptr);
	tw_str_release(&text);
}

static void add_captures(struct captures *all, const struct tw_rank_set *set)
{
	size_t i;

	for (i = 0; i < all->rank_count; i++) {
		struct tw_rank *rank = &all->ranks[i];
		struct capture *c = &all->list[all->count];

		all->by[i] = i;
		if (tw_rank_is_left_out(rank))
			continue;
		*c = (struct capture){ .rank = rank, .path = set->files[rank->file].path };
		find_stamp(c);
		all->count++;
	}
}

int tw_find_captures(struct tw_rank *ranks, size_t count, const struct tw_rank_set *set,
		     const struct trawl_allocator *allocator)
{
	struct captures all = { .ranks = ranks, .rank_count = count };
	bool failed;
	size_t i;

	tw_arena_init(&all.arena, allocator);
	all.list = tw_arena_array(&all.arena, count, sizeof(*all.list));
	all.by = tw_arena_array(&all.arena, count, sizeof(*all.by));
	all.back = tw_arena_array(&all.arena, count, sizeof(*all.back));
	failed = all.arena.failed;
	if (!failed) {
		add_captures(&all, set);
		leave_out_pairs(&all, by_worker, same_worker);
		leave_out_pairs(&all, by_number, same_number);
		leave_out_pairs(&all, by_pid, same_pid);
		leave_out_pairs(&all, by_time, same_place);
		go_back(&all);
		for (i = 0; i < all.count; i++)
			say_why(&all.list[i], &all, set);
	}
	tw_arena_release(&all.arena);
	return failed ? -1 : 0;
}
