/* What the host spent in calls of the runtime and the driver, launching or not, by name. */
#include "analysis/sums.h"

enum { CALL, KIND, CALLS, TIME, OF_TIME, MEAN, MIN, MAX };

static const struct trawl_column columns[] = {
	[CALL] = TW_TEXT("call", 40, "API call, without version suffix", .over_ranks = TRAWL_KEY),
	[KIND] = TW_TEXT("API", 10, "runtime or driver", .over_ranks = TRAWL_KEY),
	[CALLS] = TW_INTEGER("calls", 10, "number of calls", .over_ranks = TRAWL_COUNT),
	[TIME] = TW_MS(TW_COL_TIME_IN_MS, 14, "sum of durations on the host",
		       .over_ranks = TRAWL_TIME),
	[OF_TIME] = TW_PERCENT_1("of all calls (%)", 10, "share of the time of all API calls"),
	[MEAN] = TW_MEAN_US("mean (µs)", 12, "mean duration of a call", .over_ranks = TRAWL_MEAN),
	[MIN] = TW_US("min (µs)", 12, "min duration", .over_ranks = TRAWL_MIN),
	[MAX] = TW_US("max (µs)", 12, "max duration", .over_ranks = TRAWL_MAX),
};

struct key {
	uint32_t name, driver;
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

static void set_api_calls(const struct tw_sums *sums, struct trawl_table *table, size_t row,
			  const void *of_key, const void *value)
{
	const struct key *key = of_key;
	const struct tw_sum *sum = value;

	tw_set_name(table, row, CALL, sums->in->trace, key->name);
	tw_table_set_str(table, row, KIND, key->driver ? "driver" : "runtime");
	tw_table_set_integer(table, row, CALLS, sum->count);
	tw_set_sum(table, row, TIME, sum->ns);
	tw_set_percent(table, row, OF_TIME, (double)sum->ns, (double)sums->total_ns);
	tw_set_us(table, row, MEAN, (double)sum->ns / (double)sum->count);
	tw_table_set_integer(table, row, MIN, sum->min_ns);
	tw_table_set_integer(table, row, MAX, sum->max_ns);
}

static int run_api_calls(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_host *host = &in->derived->host;
	struct tw_sums sums;
	uint64_t i;
	int64_t ns;

	tw_sums_init(&sums, in, sizeof(struct key), sizeof(struct tw_sum));
	for (i = 0; i < host->call_count; i++) {
		uint32_t event = host->event[host->call[i]];
		const struct key key = { in->trace->events.name[event],
					 tw_class(in->trace, event) == TRAWL_CLASS_DRIVER };

		/* Calls of equal time: by name, those of the runtime first. */
		if (time_of(in, event, &ns))
			tw_sums_add(&sums, &key, ns, (uint64_t)key.name << 1 | key.driver);
	}
	return tw_sums_add_rows(&sums, table, set_api_calls, NULL);
}

const struct tw_analysis tw_analysis_api_calls = {
	TW_TABLE("api_calls", "host time in CUDA runtime and driver calls", columns),
	.needs = TW_NEEDS_EXPORT | TW_PLAIN,
	.run = run_api_calls,
};
