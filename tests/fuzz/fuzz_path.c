/*
 * Any bytes as a trace: what waited for what.  Whatever the input, an unchanged replay gives the
 * recorded times, the segments of the critical path sum to the window, no point is later where all
 * GPU work takes half its time, and what is packed for another process reads back as the same bytes.  The
 * first two bytes choose a byte of what is packed that is damaged: that is refused, or a graph again.  The
 * same of what findings need of a rank.
 */
#include "derive/derived.h"
#include "diagnose/job_diagnosis.h"
#include "job/transport/wire.h"
#include "path/critical.h"
#include "path/job_path.h"
#include "path/standard.h"
#include "trace/reader.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct trawl_allocator *allocator_of(void)
{
	return trawl_allocator_default();
}

static void check(bool holds)
{
	if (!holds)
		abort();
}

static struct trawl_trace *read_trace(const uint8_t *data, size_t size)
{
	const struct trawl_read_options read = { .allocator = allocator_of(), .threads = 1 };
	const struct tw_feed_options options = { .allocator = allocator_of(), .end = -1 };
	struct trawl_trace *trace = tw_trace_new(allocator_of());
	struct tw_feed *feed;

	check(trace != NULL);
	if (!tw_feed_open_memory(&feed, data, size, &options, NULL) &&
	    !tw_kineto_read(trace, feed, &read, NULL) && !tw_trace_finish(trace))
		return trace;
	trawl_trace_free(trace);
	return NULL;
}

static void check_critical(const struct tw_path *path)
{
	const size_t bytes = ((size_t)path->point_count + 1) * sizeof(int64_t);
	struct tw_critical critical;
	int64_t sum = 0, *slack = tw_alloc_array(allocator_of(), bytes, 1);
	size_t i;

	check(slack && !tw_critical_find(&critical, path, allocator_of()));
	for (i = 0; i < critical.segments.count; i++)
		sum += critical.segments.at[i].duration_ns;
	check(critical.window.last == TW_NO_POINT || sum == tw_window_ns(path, tw_recorded(path)));
	tw_slack_find(path, slack);
	tw_critical_release(&critical, allocator_of());
	tw_free(allocator_of(), slack, bytes);
}

/* All GPU work takes half its time. */
static void set_half(struct tw_scenario *s)
{
	uint32_t i, g;

	for (i = 0; i < s->path->rank_count; i++)
		for (g = 0; g < s->path->ranks[i].gpu_count; g++)
			tw_scenario_scale(s, &s->path->ranks[i], g, 0.5);
}

/* Unchanged, each standard scenario, all of them at once, and shorter work. */
static void check_scenarios(const struct tw_path *path, bool sound)
{
	struct tw_scenario s[TW_STANDARDS + 2];
	struct tw_replay all, one;
	uint32_t i, p;

	for (i = 0; i < TW_STANDARDS + 2; i++) {
		tw_scenario_init(&s[i], path, allocator_of());
		if (i == TW_STANDARDS)
			set_half(&s[i]);
		else if (i < TW_STANDARDS)
			tw_standard_set(&s[i], (enum tw_standard)i);
	}
	check(!tw_replay_run(&all, path, s, TW_STANDARDS + 2, allocator_of()));
	for (i = 0; i < TW_STANDARDS + 2; i++) {
		check(!tw_replay_run(&one, path, &s[i], 1, allocator_of()));
		for (p = 0; p < path->point_count; p++) {
			int64_t time = tw_time(tw_replayed(&one, 0), p);
			int64_t recorded = path->points[p].time_ns;

			check(!sound || time == tw_time(tw_replayed(&all, i), p));
			check(!sound || i < TW_STANDARDS || time <= recorded);
			check(!sound || i <= TW_STANDARDS || time == recorded);
		}
		tw_replay_release(&one);
		tw_scenario_release(&s[i]);
	}
	tw_replay_release(&all);
}

/* `sound`: of a trace, not of damaged bytes.  Takes the part. */
static void check_graph(struct tw_path_part *part, bool sound)
{
	struct tw_path *path;

	check(!tw_path_join(&path, part, 1, NULL, allocator_of()));
	check_scenarios(path, sound);
	if (sound)
		check_critical(path);
	tw_path_free(path);
}

static bool read_back(struct tw_rank *rank, const char *bytes, size_t len, uint64_t collectives)
{
	struct tw_wire wire = tw_wire_from(bytes, len);

	*rank = (struct tw_rank){ .allocator = allocator_of(), .collective_count = collectives };
	tw_path_pass(&wire, rank);
	return !wire.status && wire.at == wire.end && rank->attached;
}

static void pack(struct tw_rank *rank, struct tw_str *out)
{
	struct tw_wire wire = tw_wire_to(out);

	tw_path_pass(&wire, rank);
	check(!wire.status && !out->failed);
}

static void forget(struct tw_rank *rank)
{
	if (rank->attached)
		rank->free_attached(rank->attached);
}

static void take(struct tw_rank *rank, bool sound)
{
	struct tw_path_part *part = rank->attached;

	check_graph(part, sound);
	tw_free(allocator_of(), part, sizeof(*part));
}

static void check_bytes(struct tw_rank *rank, size_t place, unsigned change)
{
	struct tw_rank other;
	struct tw_str bytes, again;

	tw_str_init(&bytes, allocator_of());
	tw_str_init(&again, allocator_of());
	pack(rank, &bytes);
	check(read_back(&other, bytes.ptr, bytes.len, rank->collective_count));
	pack(&other, &again);
	check(bytes.len == again.len && !memcmp(bytes.ptr, again.ptr, bytes.len));
	take(&other, true);
	bytes.ptr[place % bytes.len] = (char)(bytes.ptr[place % bytes.len] ^ (change | 1));
	if (read_back(&other, bytes.ptr, bytes.len, rank->collective_count))
		take(&other, false);
	else
		forget(&other);
	tw_str_release(&bytes);
	tw_str_release(&again);
}

static bool claims_back(struct tw_rank *rank, const char *bytes, size_t len, uint64_t collectives)
{
	struct tw_wire wire = tw_wire_from(bytes, len);

	*rank = (struct tw_rank){ .allocator = allocator_of(), .collective_count = collectives };
	tw_diagnose_pass(&wire, rank);
	return !wire.status && wire.at == wire.end && rank->attached;
}

static void check_claims(const struct trawl_report *report, uint64_t collectives, size_t place,
			 unsigned change)
{
	struct tw_rank rank = { .allocator = allocator_of(), .collective_count = collectives };
	struct tw_str bytes, again;
	struct tw_wire to_bytes = tw_wire_to(&bytes), to_again = tw_wire_to(&again);
	struct tw_rank other;

	tw_str_init(&bytes, allocator_of());
	tw_str_init(&again, allocator_of());
	check(!tw_diagnose_attach(&rank, report));
	tw_diagnose_pass(&to_bytes, &rank);
	check(claims_back(&other, bytes.ptr, bytes.len, collectives));
	tw_diagnose_pass(&to_again, &other);
	check(bytes.len == again.len && !memcmp(bytes.ptr, again.ptr, bytes.len));
	forget(&other);
	forget(&rank);
	bytes.ptr[place % bytes.len] = (char)(bytes.ptr[place % bytes.len] ^ (change | 1));
	claims_back(&other, bytes.ptr, bytes.len, collectives);
	forget(&other);
	tw_str_release(&bytes);
	tw_str_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trawl_report_options options;
	struct tw_rank rank = { .allocator = allocator_of() };
	struct trawl_report *report;
	struct trawl_trace *trace;

	if (size < 3)
		return 0;
	trace = read_trace(data + 3, size - 3);
	if (!trace)
		return 0;
	trawl_report_options_init(&options);
	options.threads = 1;
	options.only = "quality";
	options.platform = "H100 SXM";
	if (!trawl_report_new(&report, trace, &options, NULL)) {
		check(!tw_path_attach(&rank, report));
		rank.collective_count =
			((struct tw_path_part *)rank.attached)->rank.collective_count;
		check_bytes(&rank, (size_t)data[0] << 8 | data[1], data[2]);
		check_claims(report, rank.collective_count, (size_t)data[0] << 8 | data[1],
			     data[2]);
		take(&rank, true);
		trawl_report_free(report);
	}
	trawl_trace_free(trace);
	return 0;
}
