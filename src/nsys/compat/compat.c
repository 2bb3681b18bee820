/*
 * The numbers of the scripts that these queries come from, so that results of then and now can be
 * compared: their processes, windows, innermost ranges (256 looked at), kernels that cross an edge
 * left out, a kernel counted for each call with its id.  What they have no answer to is a failure.
 */
#include "nsys/tables.h"

#include "base/alloc.h"
#include "base/list.h"
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
	const struct tw_compat_chunk *chunk;
};

#define NO_WINDOW UINT32_MAX

struct compat {
	struct tw_nsys_source *source;
	const struct tw_nsys_options *options;
	struct tw_arena arena;
	struct tw_compat_ranges ranges;
	struct rank *ranks;
	size_t rank_count, rank_capacity;
	struct tw_nsys_window *windows;
	size_t window_count, window_capacity;
	struct tw_nsys_kernels kernels;
	struct tw_nsys_launches launches;
	uint32_t *key;	     /* of each communication kernel, NO_KEY */
	uint32_t *key_begin; /* in key_calls */
	uint32_t *key_calls; /* calls by key, in the order of the file */
};

#define NO_KEY UINT32_MAX

static int need_tables(struct compat *c, enum tw_nsys_query query, struct trawl_error *err)
{
	static const char *const tables[] = { "NVTX_EVENTS", "StringIds",
					      "CUPTI_ACTIVITY_KIND_KERNEL",
					      "CUPTI_ACTIVITY_KIND_RUNTIME" };
	size_t count = query == TW_NSYS_STREAMS || query == TW_NSYS_OVERLAP ? 4 : 2, i;

	for (i = 0; i < count; i++)
		if (!tw_database_has_table(c->source->database, tables[i]))
			return trawl_error_set(err, TRAWL_ENODATA,
					       "no table %s: nothing of it was captured "
					       "(without --compat that is no failure)",
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

static int read_ranks(struct compat *c, struct trawl_error *err)
{
	const struct tw_compat_ranges *r = &c->ranges;
	size_t i;

	for (i = 0; i < r->first_count; i++) {
		struct rank rank = { .pid = r->firsts[i].pid, .window = NO_WINDOW };
		int status = tw_nsys_range_name(c->source, &c->arena, r->firsts[i].row, &rank.label,
						err);

		if (status)
			return status;
		if (!rank.label || !parse_label(rank.label, &rank.rank))
			return trawl_error_set(err, TRAWL_ENODATA,
					       "the first range of process %lld is not the label "
					       "of a rank, but '%.100s' (without --compat its "
					       "label may stand anywhere)",
					       (long long)rank.pid, rank.label ? rank.label : "");
		if (!tw_list_grow(&c->ranks, &c->rank_capacity, c->rank_count, sizeof(rank),
				  c->source->allocator))
			return tw_no_memory(err);
		c->ranks[c->rank_count++] = rank;
	}
	return c->rank_count ? 0 :
			       trawl_error_set(err, TRAWL_ENODATA,
					       "no ranges from time 0 on: no rank is labelled");
}

/* ---- windows */

static int find_chunk(struct compat *c, struct rank *rank, struct trawl_error *err)
{
	const struct tw_compat_ranges *r = &c->ranges;
	size_t first = 0, last;

	while (first < r->chunk_count && r->chunks[first].pid != rank->pid)
		first++;
	for (last = first; last < r->chunk_count && r->chunks[last].pid == rank->pid; last++)
		;
	if (first == last)
		return trawl_error_set(
			err, TRAWL_ENODATA,
			"rank %lld (pid %lld) has no range 'forward chunk... backward "
			"chunk...' (without --compat the other ranks are shown)",
			(long long)rank->rank, (long long)rank->pid);
	rank->chunk = &r->chunks[first + (last - first) / 2];
	return 0;
}

/* A process that is labelled twice has one window. */
static int add_window(struct compat *c, struct rank *rank, struct trawl_error *err)
{
	struct tw_nsys_window window = { rank->pid, c->options->start_ns, c->options->end_ns };
	size_t i;

	if (!c->options->window) {
		if (!rank->chunk->ended)
			return 0;
		window.start_ns = rank->chunk->start_ns;
		window.end_ns = rank->chunk->end_ns;
	}
	for (i = 0; i < c->window_count && c->windows[i].process != rank->pid; i++)
		;
	rank->window = (uint32_t)i;
	if (i < c->window_count)
		return 0;
	if (!tw_list_grow(&c->windows, &c->window_capacity, c->window_count, sizeof(window),
			  c->source->allocator))
		return tw_no_memory(err);
	c->windows[c->window_count++] = window;
	return 0;
}

static int find_windows(struct compat *c, struct trawl_error *err)
{
	int64_t wanted = c->options->rank;
	size_t i, kept = 0;
	int status = 0;

	for (i = 0; i < c->rank_count; i++)
		if (wanted < 0 || c->ranks[i].rank == wanted)
			c->ranks[kept++] = c->ranks[i];
	c->rank_count = kept;
	for (i = 0; i < kept && !status; i++) {
		if (!c->options->window)
			status = find_chunk(c, &c->ranks[i], err);
		if (!status)
			status = add_window(c, &c->ranks[i], err);
	}
	return status;
}

/* ---- kernels and their launches */

static int read_kernels(struct compat *c, bool compute_spans, struct trawl_error *err)
{
	const struct tw_nsys_kernels_wanted wanted = {
		.windows = c->windows,
		.count = c->window_count,
		.compute_spans = compute_spans,
		.compat = true,
	};
	const struct trawl_allocator *a = c->source->allocator;
	struct tw_nsys_kernels *k = &c->kernels;
	int status = tw_nsys_kernels_read(k, c->source, &wanted, err);
	size_t i;

	if (status)
		return status;
	for (i = 0; i < k->cover_count; i++)
		tw_intervals_sum(&k->covers[i].busy);
	for (i = 0; i < k->cover_count; i++)
		if (k->covers[i].busy.failed)
			return tw_no_memory(err);
	c->key = tw_alloc_array(a, k->comm_count + 1, sizeof(*c->key));
	if (!c->key)
		return tw_no_memory(err);
	for (i = 0; i < k->comm_count; i++) {
		const struct tw_nsys_stream *s = &k->streams[k->comm[i].stream];

		c->key[i] = NO_KEY;
		if (s->compute_count || !k->comm[i].linked)
			continue;
		c->key[i] = tw_nsys_launches_want(&c->launches, c->windows[s->window].process,
						  k->comm[i].correlation);
		if (c->key[i] == NO_KEY)
			return tw_no_memory(err);
	}
	return c->launches.key_count ? tw_nsys_launches_read(&c->launches, c->source, err) : 0;
}

/* The calls of each key beside each other. */
static int group_calls(struct compat *c, struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	const struct tw_nsys_launches *l = &c->launches;
	size_t i;

	c->key_begin = tw_alloc_array(a, l->key_count + 2, sizeof(*c->key_begin));
	c->key_calls = tw_alloc_array(a, l->call_count + 1, sizeof(*c->key_calls));
	if (!c->key_begin || !c->key_calls)
		return tw_no_memory(err);
	for (i = 0; i < l->call_count; i++)
		c->key_begin[l->calls[i].key + 2]++;
	for (i = 2; i < l->key_count + 2; i++)
		c->key_begin[i] += c->key_begin[i - 1];
	for (i = 0; i < l->call_count; i++)
		c->key_calls[c->key_begin[l->calls[i].key + 1]++] = (uint32_t)i;
	return 0;
}

/* How often a kernel counts: once for each of its calls, and once without one. */
static uint32_t times_of(const struct compat *c, size_t comm)
{
	uint32_t key = c->key[comm];
	uint32_t calls = key == NO_KEY ? 0 : c->key_begin[key + 1] - c->key_begin[key];

	return calls ? calls : 1;
}

/* The innermost range around the launch by one of a kernel's calls. */
static const struct tw_compat_candidate *range_of(const struct compat *c, size_t comm,
						  uint32_t number)
{
	const struct tw_nsys_comm *kernel = &c->kernels.comm[comm];
	int64_t pid = c->windows[c->kernels.streams[kernel->stream].window].process;
	uint32_t key = c->key[comm];
	int64_t time = 0;

	if (key != NO_KEY && c->key_begin[key + 1] > c->key_begin[key])
		time = c->launches.calls[c->key_calls[c->key_begin[key] + number]].start_ns;
	return tw_compat_innermost(&c->ranges, pid, time ? time : kernel->gpu_start_ns);
}

/* ---- tables */

static void fill_setup(const struct compat *c, struct trawl_table *table)
{
	size_t i, row;

	for (i = 0; i < c->rank_count; i++) {
		row = tw_table_add_row(table);
		tw_table_set_integer(table, row, TW_SETUP_PID, c->ranks[i].pid);
		tw_table_set_str(table, row, TW_SETUP_LABEL, c->ranks[i].label);
	}
}

static int fill_windows(struct compat *c, struct trawl_table *table, struct trawl_error *err)
{
	size_t i, row;

	for (i = 0; i < c->rank_count; i++) {
		const struct tw_compat_chunk *chunk = c->ranks[i].chunk;
		const char *name;
		int status;

		row = tw_table_add_row(table);
		tw_table_set_integer(table, row, TW_WINDOWS_PID, c->ranks[i].pid);
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
	uint32_t n;

	for (i = 0; i < c->kernels.comm_count; i++) {
		uint32_t stream = c->kernels.comm[i].stream;

		if (c->kernels.streams[stream].compute_count)
			continue;
		for (n = 0; n < times_of(c, i); n++) {
			const struct tw_compat_candidate *range = range_of(c, i, n);
			uint8_t purpose = (uint8_t)((range ? range->purpose : 0) + 1);

			if (!purposes[stream])
				purposes[stream] = purpose;
			else if (purposes[stream] != purpose)
				purposes[stream] = MIXED;
		}
	}
}

static void add_stream(const struct tw_nsys_stream *s, int64_t pid, uint8_t purpose,
		       struct trawl_table *table)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, TW_STREAMS_PID, pid);
	tw_table_set_integer(table, row, TW_STREAMS_STREAM, s->stream);
	tw_table_set_integer(table, row, TW_STREAMS_N_COMM, (int64_t)s->comm_count);
	tw_table_set_integer(table, row, TW_STREAMS_N_COMP, (int64_t)s->compute_count);
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
	const struct tw_nsys_kernels *k = &c->kernels;
	uint8_t *purposes = tw_alloc_array(a, k->stream_count + 1, 1);
	size_t i, s;

	if (!purposes)
		return tw_no_memory(err);
	find_purposes(c, purposes);
	for (i = 0; i < c->rank_count; i++)
		for (s = 0; s < k->stream_count; s++)
			if (k->streams[s].window == c->ranks[i].window)
				add_stream(&k->streams[s], c->ranks[i].pid, purposes[s], table);
	tw_free(a, purposes, k->stream_count + 1);
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

static int fill_overlap(struct compat *c, struct trawl_table *table, struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	size_t count = c->window_count * TW_COMPAT_STAGES + 1, i, stage, row;
	struct tw_nsys_hidden *sums = tw_alloc_array(a, count, sizeof(*sums));
	uint32_t n;

	if (!sums)
		return tw_no_memory(err);
	for (i = 0; i < count; i++)
		sums[i] = (struct tw_nsys_hidden){ -1, 0, NAN, NAN }; /* -1: no kernel */
	for (i = 0; i < c->kernels.comm_count; i++) {
		const struct tw_nsys_comm *k = &c->kernels.comm[i];
		const struct tw_nsys_stream *s = &c->kernels.streams[k->stream];

		for (n = 0; !s->compute_count && n < times_of(c, i); n++) {
			const struct tw_compat_candidate *range = range_of(c, i, n);
			struct tw_nsys_hidden *sum =
				&sums[s->window * TW_COMPAT_STAGES + (range ? range->stage : 0)];

			if (sum->comm_ns < 0)
				sum->comm_ns = 0;
			tw_nsys_hidden_add(sum, &c->kernels.covers[s->cover].busy, k->start_ns,
					   k->end_ns);
		}
	}
	for (i = 0; i < c->rank_count; i++)
		for (stage = 1; stage < TW_COMPAT_STAGES && c->ranks[i].window != NO_WINDOW;
		     stage++) {
			const struct tw_nsys_hidden *sum =
				&sums[c->ranks[i].window * TW_COMPAT_STAGES + stage];

			if (sum->comm_ns < 0)
				continue;
			row = tw_table_add_row(table);
			tw_table_set_integer(table, row, TW_OVERLAP_PID, c->ranks[i].pid);
			tw_table_set_str(table, row, TW_OVERLAP_STAGE, tw_compat_stages[stage]);
			tw_nsys_set_sum(table, row, TW_OVERLAP_EXPOSED_NS, sum->exposed_ns);
			tw_table_set_real(table, row, TW_OVERLAP_OVERLAP,
					  rounded(tw_nsys_hidden_percent(sum)));
			tw_table_set_real(table, row, TW_OVERLAP_MIN, rounded(sum->least));
			tw_table_set_real(table, row, TW_OVERLAP_MAX, rounded(sum->most));
		}
	tw_free(a, sums, count * sizeof(*sums));
	return 0;
}

/* ---- all together */

static int fill(struct compat *c, enum tw_nsys_query query, struct trawl_table *table,
		struct trawl_error *err)
{
	bool kernels = query == TW_NSYS_STREAMS || query == TW_NSYS_OVERLAP;
	int status = need_tables(c, query, err);

	if (!status)
		status = tw_compat_ranges_read(&c->ranges, c->source, kernels, err);
	if (!status)
		status = read_ranks(c, err);
	if (!status && query != TW_NSYS_SETUP)
		status = find_windows(c, err);
	if (!status && kernels)
		status = read_kernels(c, query == TW_NSYS_OVERLAP, err);
	if (!status && kernels)
		status = group_calls(c, err);
	if (status)
		return status;
	if (query == TW_NSYS_SETUP)
		fill_setup(c, table);
	else if (query == TW_NSYS_WINDOWS)
		status = fill_windows(c, table, err);
	else if (query == TW_NSYS_STREAMS)
		status = fill_streams(c, table, err);
	else
		status = fill_overlap(c, table, err);
	return status;
}

int tw_nsys_compat(struct trawl_table *table, enum tw_nsys_query query,
		   struct tw_nsys_source *source, const struct tw_nsys_options *options,
		   struct trawl_error *err)
{
	const struct trawl_allocator *a = source->allocator;
	struct compat c = { .source = source, .options = options };
	size_t keys, calls, kernels;
	int status;

	c.ranges.allocator = c.kernels.allocator = a;
	tw_arena_init(&c.arena, a);
	tw_nsys_launches_init(&c.launches, true, a);
	status = fill(&c, query, table, err);
	keys = c.launches.key_count + 2;
	calls = c.launches.call_count + 1;
	kernels = c.kernels.comm_count + 1;
	if (c.key)
		tw_free(a, c.key, kernels * sizeof(*c.key));
	if (c.key_begin)
		tw_free(a, c.key_begin, keys * sizeof(*c.key_begin));
	if (c.key_calls)
		tw_free(a, c.key_calls, calls * sizeof(*c.key_calls));
	tw_free(a, c.ranks, c.rank_capacity * sizeof(*c.ranks));
	tw_free(a, c.windows, c.window_capacity * sizeof(*c.windows));
	tw_compat_ranges_release(&c.ranges);
	tw_nsys_kernels_release(&c.kernels);
	tw_nsys_launches_release(&c.launches);
	tw_arena_release(&c.arena);
	return status;
}
