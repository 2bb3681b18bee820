/*
 * Captures of one process: torch.profiler.tensorboard_trace_handler writes a file for each cycle,
 * <host>_<pid>.<time>.pt.trace.json, and servers one for each time that they are asked.  Ranks of a
 * job run at the same time; captures of a process never do.
 */
#include "ranks/job.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/sort.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* A number of as many digits is a time: no rank, process, port or step has more. */
#define STAMP_DIGITS 9

/* A rank with what captures of its process have in common. */
struct capture {
	struct tw_rank *rank;
	const char *path;
	size_t stamp, stamp_end; /* a time in the file's name; equal: there is none */
	bool of_process;	 /* before the time stands <host>_<pid> */
};

/* A time in the name of the file: digits with perhaps a fraction; what stands before it. */
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
	if (!path[i] || i == begin || path[i - 1] != '.')
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
	int order = strncmp(a->path, b->path, n);

	if (order || a->stamp != b->stamp)
		return order ? order : a->stamp < b->stamp ? -1 : 1;
	return strcmp(a->path + a->stamp_end, b->path + b->stamp_end);
}

/* On the common clock where the trace has its base time. */
static int64_t at(const struct tw_rank *rank, int64_t time_ns)
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
	return are_comparable(a, b, one_clock) && at(a, a->who.last_ns) <= at(b, b->who.first_ns);
}

static bool are_numbered(const struct capture *a, const struct capture *b)
{
	return a->rank->rule != TW_RANK_BY_ORDER && b->rank->rule != TW_RANK_BY_ORDER;
}

/* What traces say of their process counts more than the names of their files. */
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
	return a->rank->rule == TW_RANK_BY_ORDER && b->rank->rule == TW_RANK_BY_ORDER &&
	       a->rank->who.pid >= 0 && a->rank->who.pid == b->rank->who.pid &&
	       is_before(a->rank, b->rank, true);
}

/* ... or by their times, where these are on one clock. */
static bool same_place(const struct capture *a, const struct capture *b)
{
	return a->rank->rule == TW_RANK_BY_ORDER && b->rank->rule == TW_RANK_BY_ORDER &&
	       is_before(a->rank, b->rank, false);
}

/* ---- in order, so that captures of a process are beside each other */

static int compare_times(const struct capture *a, const struct capture *b)
{
	int64_t x = at(a->rank, a->rank->who.first_ns), y = at(b->rank, b->rank->who.first_ns);

	if (x != y)
		return x < y ? -1 : 1;
	return a->rank->file < b->rank->file ? -1 : a->rank->file > b->rank->file;
}

static int by_worker(const void *a, const void *b)
{
	int order = compare_workers(a, b);

	return order ? order : compare_times(a, b);
}

static int by_pid(const void *a, const void *b)
{
	const struct capture *x = a, *y = b;

	if (x->rank->who.pid != y->rank->who.pid)
		return x->rank->who.pid < y->rank->who.pid ? -1 : 1;
	return compare_times(x, y);
}

static int by_number(const void *a, const void *b)
{
	const struct capture *x = a, *y = b;
	bool x_order = x->rank->rule == TW_RANK_BY_ORDER,
	     y_order = y->rank->rule == TW_RANK_BY_ORDER;

	if (x_order != y_order)
		return x_order ? 1 : -1;
	if (!x_order && x->rank->rank != y->rank->rank)
		return x->rank->rank < y->rank->rank ? -1 : 1;
	return by_pid(x, y);
}

static int by_time(const void *a, const void *b)
{
	return compare_times(a, b);
}

static void leave_out(struct capture *c, const struct capture *last)
{
	struct tw_str text;

	tw_str_init(&text, c->rank->allocator);
	tw_str_addf(&text,
		    "an earlier capture of the process of '%s', which is the last "
		    "(report --each reports each)",
		    last->path);
	c->rank->state = TW_RANK_CAPTURE;
	c->rank->message = text.failed ? "" : tw_rank_keep(c->rank, text.ptr);
	tw_str_release(&text);
}

/*
 * From the last to the first, so that each names one that is taken.  What overlaps it takes its
 * place: an earlier one has to be over before any of those began.
 */
static void leave_out_pairs(struct capture *list, size_t count,
			    int (*compare)(const void *a, const void *b),
			    bool (*same)(const struct capture *a, const struct capture *b))
{
	const struct capture *last = NULL;
	size_t i;

	if (count)
		qsort(list, count, sizeof(*list), compare);
	for (i = count; i--;) {
		if (list[i].rank->state == TW_RANK_CAPTURE)
			continue;
		if (last && same(&list[i], last))
			leave_out(&list[i], last);
		else
			last = &list[i];
	}
}

int tw_find_captures(struct tw_rank *ranks, size_t count, const struct tw_rank_set *set,
		     const struct trawl_allocator *allocator)
{
	struct capture *list = tw_alloc_array(allocator, count, sizeof(*list));
	size_t i, n = 0;

	if (!list)
		return count ? -1 : 0;
	for (i = 0; i < count; i++) {
		struct tw_rank *rank = &ranks[i];

		if (tw_rank_is_left_out(rank))
			continue;
		list[n] = (struct capture){ .rank = rank, .path = set->files[rank->file].path };
		find_stamp(&list[n]);
		/* Several ranks of one file are several. */
		n += !rank->who.part;
	}
	leave_out_pairs(list, n, by_worker, same_worker);
	leave_out_pairs(list, n, by_number, same_number);
	leave_out_pairs(list, n, by_pid, same_pid);
	leave_out_pairs(list, n, by_time, same_place);
	tw_free(allocator, list, count * sizeof(*list));
	return 0;
}
