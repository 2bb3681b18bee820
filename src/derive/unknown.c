/*
 * Events that look like GPU work and are of a category that nobody here knows: they are in no
 * table, and a reader of the report should know.
 */
#include "derive/derived.h"

#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>
#include <strings.h>

/* On streams too, but no work: waiting, and what the profiler did. */
static const char *const no_work[] = {
	"cuda_sync",	       "cuda_event", "xpu_sync", "mtia_ccp_events",
	"cuda_profiler_range", "overhead",   "trace",
};

struct place {
	tw_code pid, tid;
};

static bool may_be_work(const struct trawl_trace *trace, unsigned category)
{
	const struct tw_category *c = &trace->categories[category];
	size_t i;

	if (!c->name || c->class != TRAWL_CLASS_OTHER)
		return false;
	for (i = 0; i < sizeof(no_work) / sizeof(no_work[0]); i++)
		if (!strcasecmp(tw_pool_text(&trace->texts, c->name, NULL), no_work[i]))
			return false;
	return true;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return TW_ORDER_BY(x, y, pid, tid);
}

/* Places of the streams, for asking whether an event is at one. */
static size_t list_places(const struct trawl_trace *trace, struct place *places)
{
	size_t count = 0;
	uint32_t t;

	for (t = 0; t < trace->track_count; t++)
		if (trace->tracks[t].device != TW_CODE_NONE)
			places[count++] =
				(struct place){ trace->tracks[t].pid, trace->tracks[t].tid };
	qsort(places, count, sizeof(*places), compare_places);
	return count;
}

static bool is_on_stream(const struct trawl_trace *trace, uint64_t event,
			 const struct place *places, size_t count)
{
	const struct tw_track *track = &trace->tracks[trace->events.track[event]];
	struct place place = { track->pid, track->tid };
	struct trawl_argument arg;

	return trawl_event_argument(trace, event, TW_KEY_stream, &arg) ||
	       bsearch(&place, places, count, sizeof(place), compare_places);
}

int tw_unknown_count(struct tw_derived *d)
{
	const struct trawl_trace *trace = d->trace;
	bool *candidate = tw_alloc_array(d->allocator, trace->category_count, sizeof(bool));
	bool any = false;
	size_t bytes = ((size_t)trace->track_count + 1) * sizeof(struct place), count;
	struct place *places;
	unsigned c;
	uint64_t i;

	for (c = 0; candidate && c < trace->category_count; c++)
		any |= candidate[c] = may_be_work(trace, c);
	places = any ? tw_alloc(d->allocator, bytes) : NULL;
	count = places ? list_places(trace, places) : 0;
	for (i = 0; places && i < trace->events.count; i++)
		if (candidate[trace->events.category[i]] && trace->events.phase[i] == 'X' &&
		    is_on_stream(trace, i, places, count))
			tw_quality_add(&d->quality, TW_DEFECT_unknown_gpu_category, 1, -1,
				       (int64_t)i);
	tw_free(d->allocator, places, bytes);
	tw_free(d->allocator, candidate, trace->category_count * sizeof(bool));
	return !candidate || (any && !places) ? -1 : 0;
}
