#include "analysis/found.h"

#define MOST_NAMED 8

struct found {
	int64_t counts[TW_MAX_CATEGORIES];
	uint64_t first[TW_MAX_CATEGORIES];
};

static void count_slices(const struct trawl_trace *trace, struct found *found)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++) {
		unsigned category = trace->events.category[i];

		if ((trace->events.phase[i] | 0x20) != 'x')
			continue;
		if (!found->counts[category]++)
			found->first[category] = i;
	}
}

/* The category with the most slices that has not been named yet; -1: none. */
static int take_largest(struct found *found, unsigned count)
{
	int best = -1;
	unsigned i;

	for (i = 0; i < count; i++)
		if (found->counts[i] && (best < 0 || found->counts[i] > found->counts[best]))
			best = (int)i;
	return best;
}

static void add_unnamed(const struct tw_derived *d, int64_t count, uint64_t first,
			struct tw_str *out)
{
	uint32_t process = d->names.tracks[d->trace->events.track[first]].process;

	tw_str_addf(out, "%lld without a category", (long long)count);
	if (process)
		tw_str_addf(out, " on process %s", trawl_trace_text(d->trace, process, NULL));
}

void tw_describe_found(const struct tw_derived *d, struct tw_str *out)
{
	struct found found = { { 0 }, { 0 } };
	int named, category;

	count_slices(d->trace, &found);
	for (named = 0; named < MOST_NAMED; named++) {
		category = take_largest(&found, d->trace->category_count);
		if (category < 0)
			return;
		tw_str_add_cstr(out, named ? ", " : "events with a duration: ");
		if (d->trace->categories[category].name)
			tw_str_addf(out, "%s %lld",
				    trawl_trace_text(d->trace, d->trace->categories[category].name,
						     NULL),
				    (long long)found.counts[category]);
		else
			add_unnamed(d, found.counts[category], found.first[category], out);
		found.counts[category] = 0;
	}
	tw_str_add_cstr(out, ", ...");
}
