/* What the host spent in calls of the runtime and the driver, launching or not, by name. */
#include "analysis/analysis.h"

#include "analysis/groups.h"
#include "base/alloc.h"

#include <stdlib.h>

enum { CALL, KIND, CALLS, TIME, OF_TIME, MEAN, LEAST, MOST };

static const struct trawl_column columns[] = {
	[CALL] = TW_TEXT("call", 40, "name of the call, without its version",
			 .over_ranks = TRAWL_KEY),
	[KIND] = TW_TEXT("API", 10, "runtime or driver", .over_ranks = TRAWL_KEY),
	[CALLS] = TW_INTEGER("calls", 10, "calls of this name", .over_ranks = TRAWL_COUNT),
	[TIME] = TW_MS("time (ms)", 14, "sum of their time on the host", .over_ranks = TRAWL_TIME),
	[OF_TIME] = TW_PERCENT_1("of all calls (%)", 10, "share of the time of all calls"),
	[MEAN] = TW_MEAN_US("mean (µs)", 12, "time of one on average", .over_ranks = TRAWL_MEAN),
	[LEAST] = TW_US("min (µs)", 12, "time of the shortest", .over_ranks = TRAWL_LEAST),
	[MOST] = TW_US("max (µs)", 12, "time of the longest", .over_ranks = TRAWL_MOST),
};

/* Of 16 bytes, so that the wide sum behind it is aligned. */
struct key {
	uint32_t name, driver, unused[2];
};

struct call {
	struct key key;
	tw_wide ns;
	int64_t count, least_ns, most_ns;
};

/* The time of a call in the view; false when it has none there. */
static bool time_of(const struct tw_analysis_input *in, uint32_t event, int64_t *ns)
{
	const struct tw_events *events = &in->trace->events;
	int64_t start = events->start_ns[event], end;

	if (events->phase[event] != 'X')
		return false;
	end = start + events->dur_ns[event];
	if (!tw_view_clip(tw_host_view(in->derived), &start, &end))
		return false;
	*ns = end - start;
	return true;
}

static void add_call(struct tw_groups *groups, const struct tw_analysis_input *in, uint32_t event)
{
	struct key key = { .name = in->trace->events.name[event],
			   .driver = tw_class(in->trace, event) == TRAWL_CLASS_DRIVER };
	struct call *call;
	uint32_t group;
	int64_t ns;

	if (!time_of(in, event, &ns))
		return;
	group = tw_groups_add(groups, &key);
	if (group == TW_NO_GROUP)
		return;
	call = tw_groups_value(groups, group);
	if (!call->count++ || ns < call->least_ns)
		call->least_ns = ns;
	if (ns > call->most_ns)
		call->most_ns = ns;
	call->key = key;
	call->ns += ns;
}

static int compare_calls(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->key.name != y->key.name)
		return x->key.name < y->key.name ? -1 : 1;
	return (x->key.driver > y->key.driver) - (x->key.driver < y->key.driver);
}

static int add_rows(const struct tw_analysis_input *in, struct tw_groups *groups,
		    struct trawl_table *table)
{
	struct call *calls =
		tw_alloc_array(in->allocator, (size_t)groups->count + 1, sizeof(*calls));
	double all = 0;
	uint32_t i;

	if (!calls)
		return TRAWL_ENOMEM;
	for (i = 0; i < groups->count; i++) {
		calls[i] = *(const struct call *)tw_groups_value(groups, i);
		all += (double)calls[i].ns;
	}
	if (groups->count)
		qsort(calls, groups->count, sizeof(*calls), compare_calls);
	for (i = 0; i < groups->count; i++) {
		const struct call *call = &calls[i];
		size_t row = tw_table_add_row(table);

		tw_set_name(table, row, CALL, in->trace, call->key.name);
		tw_table_set_str(table, row, KIND, call->key.driver ? "driver" : "runtime");
		tw_table_set_integer(table, row, CALLS, call->count);
		tw_set_sum(table, row, TIME, call->ns);
		tw_set_percent(table, row, OF_TIME, (double)call->ns, all);
		tw_set_us(table, row, MEAN, (double)call->ns / (double)call->count);
		tw_table_set_integer(table, row, LEAST, call->least_ns);
		tw_table_set_integer(table, row, MOST, call->most_ns);
	}
	tw_free(in->allocator, calls, ((size_t)groups->count + 1) * sizeof(*calls));
	return 0;
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_host *host = &in->derived->host;
	struct tw_groups groups;
	uint64_t i;
	int status;

	tw_groups_init_values(&groups, sizeof(struct key), sizeof(struct call), in->allocator);
	for (i = 0; i < host->call_count && !groups.failed; i++)
		add_call(&groups, in, host->event[host->call[i]]);
	status = groups.failed ? TRAWL_ENOMEM : add_rows(in, &groups, table);
	tw_groups_release(&groups);
	return status;
}

const struct tw_analysis tw_analysis_api_calls = {
	TW_TABLE("api_calls", "time of the host in calls of the CUDA runtime and driver", columns),
	.needs = TW_NEEDS_EXPORT,
	.run = run,
};
