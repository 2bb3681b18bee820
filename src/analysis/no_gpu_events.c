#include "analysis/no_gpu_events.h"

#include "base/alloc.h"

#define MAX_NAMED 8

/* Slices of a category. */
struct found {
	int64_t count;
	uint64_t first;
};

static void count_slices(const struct trawl_trace *trace, struct found *found)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++) {
		unsigned category = trace->events.category[i];

		if ((trace->events.phase[i] | 0x20) != 'x')
			continue;
		if (!found[category].count++)
			found[category].first = i;
	}
}

/* The category with the most slices that has not been named yet; -1: none. */
static int find_largest(const struct found *found, unsigned count)
{
	int best = -1;
	unsigned i;

	for (i = 0; i < count; i++)
		if (found[i].count && (best < 0 || found[i].count > found[best].count))
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
	unsigned count = d->trace->category_count, named;
	struct found *found = tw_alloc_array(d->allocator, count, sizeof(*found));
	int best;

	out->failed |= !found;
	if (!found)
		return;
	count_slices(d->trace, found);
	for (named = 0; named <= MAX_NAMED && (best = find_largest(found, count)) >= 0; named++) {
		uint32_t name = d->trace->categories[best].name;

		tw_str_add_cstr(out, named ? ", " : "events with a duration: ");
		if (named == MAX_NAMED)
			tw_str_add_cstr(out, "...");
		else if (name)
			tw_str_addf(out, "%s %lld", trawl_trace_text(d->trace, name, NULL),
				    (long long)found[best].count);
		else
			add_unnamed(d, found[best].count, found[best].first, out);
		found[best].count = 0;
	}
	tw_free(d->allocator, found, count * sizeof(*found));
}
