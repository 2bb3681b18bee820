/*
 * The numbers of the scripts that these queries come from, so that results of then and now can be
 * compared: their processes, windows, innermost ranges (256 looked at), kernels that cross an edge
 * skipped, a kernel counted for each call with its id.  What they have no answer to is a failure.
 */
#include "nsys/tables.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/order.h"
#include "base/sort.h"
#include "nsys/compat/compat_kernels.h"
#include "nsys/compat/compat_ranges.h"
#include "text/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rank {
	int64_t pid, rank;
	const char *label;
	uint32_t window; /* NO_WINDOW: it has none that ends */
	const struct tw_compat_range *chunk;
};

#define NO_WINDOW UINT32_MAX

/* A communication kernel on a stream that computes nothing, by one of its calls. */
struct launched {
	const struct tw_compat_kernel *kernel;
	size_t stream;		/* in kernels.streams */
	uint8_t stage, purpose; /* of the innermost range around the launch */
};

struct compat {
	struct tw_nsys_source *source;
	const struct trawl_nsys_options *options;
	struct tw_arena arena;
	struct tw_compat_ranges ranges;
	TW_LIST(struct rank) ranks;
	struct tw_compat_kernels kernels;
	struct tw_nsys_launches launches;
	TW_LIST(struct launched) launched;
};

#define NO_KEY UINT32_MAX

static int need_tables(struct compat *c, enum trawl_nsys_table query, struct trawl_error *err)
{
	static const char *const tables[] = { TW_NSYS_RANGES, TW_NSYS_TEXTS, TW_NSYS_KERNELS,
					      TW_NSYS_CALLS };
	size_t count = query == TRAWL_NSYS_STREAMS || query == TRAWL_NSYS_OVERLAP ? 4 : 2, i;

	for (i = 0; i < count; i++)
		if (!tw_database_has_table(c->source->database, tables[i]))
			return trawl_error_set(err, TRAWL_ENODATA,
					       "no table %s in the export (no failure without "
					       "--compat)",
					       tables[i]);
	return 0;
}

/* ---- labels */

static bool parse_number(const char *p, const char *end, int64_t *value)
{
	bool negative = p < end && *p == '-';

	p += p < end && (*p == '-' || *p == '+');
	*value = 0;
	if (p == end)
		return false;
	for (; p < end; p++) {
		if (!tw_is_digit(*p) || *value > INT32_MAX)
			return false;
		*value = *value * 10 + (*p - '0');
	}
	*value = negative ? -*value : *value;
	return true;
}

/* "1/8" */
static bool parse_pair(const char *p, const char *end)
{
	const char *slash = memchr(p, '/', (size_t)(end - p));
	int64_t value;

	return slash && parse_number(p, slash, &value) && parse_number(slash + 1, end, &value);
}

/* Whether the label has all that the scripts look for in it; "key=value" between blanks. */
static bool parse_label(const char *label, int64_t *rank)
{
	static const char *const keys[] = { "rank", "mbs", "seq", "pp", "dp", "cp", "ep" };
	bool found[7] = { false };
	const char *p = label, *end, *sign;
	int64_t value;
	size_t i;

	while (*(p += strspn(p, " \t\n\r\f\v"))) {
		end = p + strcspn(p, " \t\n\r\f\v");
		sign = memchr(p, '=', (size_t)(end - p));
		for (i = 0; sign && i < 7; i++) {
			const char *key = p, *stop = end;

			while (key < stop && *key == ';')
				key++;
			while (stop > key && stop[-1] == ';')
				stop--;
			if ((size_t)(sign - key) != strlen(keys[i]) ||
			    memcmp(key, keys[i], strlen(keys[i])) != 0)
				continue;
			found[i] = i < 3 ? parse_number(sign + 1, stop, &value) :
					   parse_pair(sign + 1, stop);
			if (!i)
				*rank = value;
			if (!found[i])
				return false;
		}
		p = end;
	}
	return found[0] && found[1] && found[2] && found[3] && found[4] && found[5] && found[6];
}

static int add_rank(struct compat *c, const struct tw_compat_range *range, struct trawl_error *err)
{
	struct rank rank = { .pid = range->pid, .window = NO_WINDOW };
	int status = tw_nsys_range_name(c->source, &c->arena, range->row, &rank.label, err);

	if (status)
		return status;
	if (!rank.label || !parse_label(rank.label, &rank.rank))
		return trawl_error_set(err, TRAWL_ENODATA,
				       "first range of process %lld is not a rank label: '%.100s' "
				       "(without --compat a label can be any range)",
				       (long long)rank.pid, rank.label ? rank.label : "");
	return TW_LIST_ADD(&c->ranks, &rank, c->source->allocator) ? 0 : tw_no_memory(err);
}

/* The ranges at the first time of each process are the labels of ranks. */
static int read_ranks(struct compat *c, struct trawl_error *err)
{
	const struct tw_compat_range *first = NULL, *range;
	int status = 0;
	size_t i;

	for (i = 0; i < c->ranges.list.count && !status; i++) {
		range = &c->ranges.list.at[i];
		if (!first || range->pid != first->pid)
			first = range;
		if (range->start_ns == first->start_ns)
			status = add_rank(c, range, err);
	}
	return status || c->ranks.count ?
		       status :
		       trawl_error_set(err, TRAWL_ENODATA,
				       "no ranges from time 0 on, so no rank labels");
}

/* ---- windows */

/* The median of the chunks of a process. */
static int find_chunk(struct compat *c, struct rank *rank, struct trawl_error *err)
{
	const struct tw_compat_range *ranges = c->ranges.list.at;
	size_t first, last, count = 0, i;

	tw_compat_process(&c->ranges, rank->pid, &first, &last);
	for (i = first; i < last; i++)
		count += ranges[i].chunk;
	if (!count)
		return trawl_error_set(
			err, TRAWL_ENODATA,
			"rank %lld (pid %lld) has no range 'forward chunk... backward chunk...' "
			"(without --compat other ranks are shown)",
			(long long)rank->rank, (long long)rank->pid);
	for (i = first, count /= 2; count || !ranges[i].chunk; i++)
		count -= ranges[i].chunk;
	rank->chunk = &ranges[i];
	return 0;
}

/* A process that is labelled twice has one window. */
static int add_window(struct compat *c, struct rank *rank, struct trawl_error *err)
{
	const struct tw_compat_range *chunk = rank->chunk;

	if (!c->options->window && !chunk->ended)
		return 0;
	rank->window = tw_compat_window(&c->kernels, rank->pid,
					chunk ? chunk->start_ns : c->options->start_ns,
					chunk ? chunk->end_ns : c->options->end_ns);
	return rank->window == UINT32_MAX ? tw_no_memory(err) : 0;
}

static int find_windows(struct compat *c, struct trawl_error *err)
{
	int64_t wanted = c->options->rank;
	size_t i, kept = 0;
	int status = 0;

	for (i = 0; i < c->ranks.count; i++)
		if (wanted < 0 || c->ranks.at[i].rank == wanted)
			c->ranks.at[kept++] = c->ranks.at[i];
	c->ranks.count = kept;
	for (i = 0; i < kept && !status; i++) {
		if (!c->options->window)
			status = find_chunk(c, &c->ranks.at[i], err);
		if (!status)
			status = add_window(c, &c->ranks.at[i], err);
	}
	return status;
}

/* ---- kernels and their launches */

static int64_t pid_of(const struct compat *c, const struct tw_compat_kernel *kernel)
{
	return c->kernels.windows.at[kernel->window].pid;
}

/* Communication on streams that compute is none that is launched for a stage. */
static bool is_launched(const struct tw_compat_stream *s)
{
	return !s->compute_count;
}

static int read_launches(struct compat *c, struct trawl_error *err)
{
	const struct tw_compat_kernels *k = &c->kernels;
	size_t s, i;

	for (s = 0; s < k->streams.count; s++)
		for (i = k->streams.at[s].first;
		     is_launched(&k->streams.at[s]) && i < k->streams.at[s].last; i++)
			if (k->list.at[i].linked &&
			    tw_nsys_launches_want(&c->launches, pid_of(c, &k->list.at[i]),
						  k->list.at[i].correlation) == NO_KEY)
				return tw_no_memory(err);
	return c->launches.keys.count ? tw_nsys_launches_read(&c->launches, c->source, err) : 0;
}

static int call_order(const void *a, const void *b)
{
	const struct tw_nsys_launch *x = a, *y = b;

	return TW_ORDER_BY(x, y, key);
}

/* By the range around its launch, at time 0 or without a call around its begin. */
static bool add_launched(struct compat *c, size_t stream, const struct tw_compat_kernel *kernel,
			 int64_t time)
{
	const struct tw_compat_range *range =
		tw_compat_innermost(&c->ranges, pid_of(c, kernel), time ? time : kernel->start_ns);
	struct launched launched = { kernel, stream, range ? range->stage : 0,
				     range ? range->purpose : 0 };

	return TW_LIST_ADD(&c->launched, &launched, c->source->allocator);
}

/* A kernel counts once for each of its calls, and once without one. */
static bool add_calls(struct compat *c, size_t stream, const struct tw_compat_kernel *kernel)
{
	struct tw_nsys_launches *l = &c->launches;
	uint32_t key = kernel->linked ?
			       tw_nsys_launches_want(l, pid_of(c, kernel), kernel->correlation) :
			       NO_KEY;
	size_t i = TW_LOWER_BOUND(at, 0, l->calls.count, l->calls.at[at].key < key);
	bool good = true;

	if (i == l->calls.count || l->calls.at[i].key != key)
		return add_launched(c, stream, kernel, 0);
	for (; i < l->calls.count && l->calls.at[i].key == key && good; i++)
		good = add_launched(c, stream, kernel, l->calls.at[i].start_ns);
	return good;
}

static int read_kernels(struct compat *c, struct trawl_error *err)
{
	const struct tw_compat_kernels *k = &c->kernels;
	int status = tw_compat_kernels_read(&c->kernels, c->source, err);
	bool good = true;
	size_t s, i;

	if (!status)
		status = read_launches(c, err);
	if (status)
		return status;
	if (c->launches.calls.count)
		qsort(c->launches.calls.at, c->launches.calls.count, sizeof(*c->launches.calls.at),
		      call_order);
	for (s = 0; s < k->streams.count; s++)
		for (i = k->streams.at[s].first;
		     is_launched(&k->streams.at[s]) && i < k->streams.at[s].last && good; i++)
			good = add_calls(c, s, &k->list.at[i]);
	return good ? 0 : tw_no_memory(err);
}

/* ---- tables */

static void fill_setup(const struct compat *c, struct trawl_table *table)
{
	size_t i, row;

	for (i = 0; i < c->ranks.count; i++) {
		row = tw_table_add_row(table);
		tw_table_set_integer(table, row, TW_SETUP_PID, c->ranks.at[i].pid);
		tw_table_set_str(table, row, TW_SETUP_LABEL, c->ranks.at[i].label);
	}
}

static int fill_windows(struct compat *c, struct trawl_table *table, struct trawl_error *err)
{
	size_t i, row;

	for (i = 0; i < c->ranks.count; i++) {
		const struct tw_compat_range *chunk = c->ranks.at[i].chunk;
		const char *name;
		int status;

		row = tw_table_add_row(table);
		tw_table_set_integer(table, row, TW_WINDOWS_PID, c->ranks.at[i].pid);
		if (!chunk)
			continue;
		status = tw_nsys_range_name(c->source, &c->arena, chunk->row, &name, err);
		if (status)
			return status;
		tw_table_set_integer(table, row, TW_WINDOWS_START, chunk->start_ns);
		if (chunk->ended)
			tw_table_set_integer(table, row, TW_WINDOWS_END, chunk->end_ns);
		tw_table_set_str(table, row, TW_WINDOWS_NAME, name);
	}
	return 0;
}

/* For each stream one purpose + 1 of its kernels; MIXED when they differ. */
#define MIXED 255

static void find_purposes(const struct compat *c, uint8_t *purposes)
{
	size_t i;

	for (i = 0; i < c->launched.count; i++) {
		uint8_t *of = &purposes[c->launched.at[i].stream];
		uint8_t purpose = (uint8_t)(c->launched.at[i].purpose + 1);

		*of = !*of || *of == purpose ? purpose : MIXED;
	}
}

static void add_stream(const struct tw_compat_stream *s, int64_t pid, uint8_t purpose,
		       struct trawl_table *table)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, TW_STREAMS_PID, pid);
	tw_table_set_integer(table, row, TW_STREAMS_STREAM, s->stream);
	tw_table_set_integer(table, row, TW_STREAMS_N_COMM, s->comm_count);
	tw_table_set_integer(table, row, TW_STREAMS_N_COMP, s->compute_count);
	tw_nsys_set_sum(table, row, TW_STREAMS_COMM_NS, s->comm_ns);
	tw_nsys_set_sum(table, row, TW_STREAMS_COMP_NS, s->compute_ns);
	tw_table_set_str(table, row, TW_STREAMS_PURPOSE,
			 s->compute_count ? "compute" :
			 purpose == MIXED ? "mixed" :
					    tw_compat_purposes[purpose ? purpose - 1 : 0]);
}

static int fill_streams(struct compat *c, struct trawl_table *table, struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	const struct tw_compat_kernels *k = &c->kernels;
	uint8_t *purposes = tw_alloc_array(a, k->streams.count + 1, 1);
	size_t i, s;

	if (!purposes)
		return tw_no_memory(err);
	find_purposes(c, purposes);
	for (i = 0; i < c->ranks.count; i++)
		for (s = 0; s < k->streams.count; s++)
			if (k->streams.at[s].window == c->ranks.at[i].window)
				add_stream(&k->streams.at[s], c->ranks.at[i].pid, purposes[s],
					   table);
	return 0;
}

/* As the scripts round: to two digits, and 0 where there is nothing. */
static double rounded(double percent)
{
	char text[64];

	if (!isfinite(percent))
		return 0;
	snprintf(text, sizeof(text), "%.2f", percent);
	return strtod(text, NULL);
}

static void add_stage(const struct tw_nsys_hidden *sum, int64_t pid, size_t stage,
		      struct trawl_table *table)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, TW_OVERLAP_PID, pid);
	tw_table_set_str(table, row, TW_OVERLAP_STAGE, tw_compat_stages[stage]);
	tw_nsys_set_sum(table, row, TW_OVERLAP_EXPOSED_NS, sum->exposed_ns);
	tw_table_set_real(table, row, TW_OVERLAP_OVERLAP, rounded(tw_nsys_hidden_percent(sum)));
	tw_table_set_real(table, row, TW_OVERLAP_MIN, rounded(sum->least));
	tw_table_set_real(table, row, TW_OVERLAP_MAX, rounded(sum->most));
}

static int fill_overlap(struct compat *c, struct trawl_table *table, struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	const struct tw_compat_window *windows = c->kernels.windows.at;
	size_t count = c->kernels.windows.count * TW_COMPAT_STAGES + 1, i, stage;
	struct tw_nsys_hidden *sums = tw_alloc_array(a, count, sizeof(*sums));

	if (!sums)
		return tw_no_memory(err);
	for (i = 0; i < count; i++)
		sums[i] = (struct tw_nsys_hidden){ -1, 0, NAN, NAN }; /* -1: no kernel */
	for (i = 0; i < c->launched.count; i++) {
		const struct tw_compat_kernel *k = c->launched.at[i].kernel;
		struct tw_nsys_hidden *sum =
			&sums[k->window * TW_COMPAT_STAGES + c->launched.at[i].stage];

		if (sum->comm_ns < 0)
			sum->comm_ns = 0;
		tw_nsys_hidden_add(sum, &windows[k->window].compute, k->start_ns, k->end_ns);
	}
	for (i = 0; i < c->ranks.count; i++)
		for (stage = 1; stage < TW_COMPAT_STAGES && c->ranks.at[i].window != NO_WINDOW;
		     stage++) {
			const struct tw_nsys_hidden *sum =
				&sums[c->ranks.at[i].window * TW_COMPAT_STAGES + stage];

			if (sum->comm_ns >= 0)
				add_stage(sum, c->ranks.at[i].pid, stage, table);
		}
	return 0;
}

/* ---- all together */

static int fill(struct compat *c, enum trawl_nsys_table query, struct trawl_table *table,
		struct trawl_error *err)
{
	bool kernels = query == TRAWL_NSYS_STREAMS || query == TRAWL_NSYS_OVERLAP;
	int status = need_tables(c, query, err);

	if (!status)
		status = tw_compat_ranges_read(&c->ranges, c->source, kernels, err);
	if (!status)
		status = read_ranks(c, err);
	if (!status && query != TRAWL_NSYS_SETUP)
		status = find_windows(c, err);
	if (!status && kernels)
		status = read_kernels(c, err);
	if (status)
		return status;
	if (query == TRAWL_NSYS_SETUP)
		fill_setup(c, table);
	else if (query == TRAWL_NSYS_WINDOWS)
		status = fill_windows(c, table, err);
	else if (query == TRAWL_NSYS_STREAMS)
		status = fill_streams(c, table, err);
	else
		status = fill_overlap(c, table, err);
	return status;
}

int tw_nsys_compat(struct trawl_table *table, enum trawl_nsys_table query,
		   struct tw_nsys_source *source, const struct trawl_nsys_options *options,
		   struct trawl_error *err)
{
	const struct trawl_allocator *a = source->allocator;
	struct compat c = { .source = source, .options = options };

	c.ranges.allocator = c.kernels.allocator = a;
	tw_arena_init(&c.arena, a);
	tw_nsys_launches_init(&c.launches, a);
	c.launches.process_of = tw_compat_pid;
	return fill(&c, query, table, err);
}
