#include "analysis/launches/host_names.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"

#include <string.h>

/* Beside the kinds, while names are asked. */
#define ASKED 0x80

int tw_host_names_init(struct tw_host_names *names, const struct trawl_trace *trace,
		       const struct trawl_allocator *allocator)
{
	const struct tw_events *events = &trace->events;
	uint64_t i;
	uint32_t t;

	*names = (struct tw_host_names){ .allocator = allocator,
					 .trace = trace,
					 .count = trace->texts.count };
	names->kinds = tw_alloc_array(names->allocator, (size_t)names->count + 1, 1);
	if (!names->kinds)
		return -1;
	for (i = 0; i < events->count; i++) {
		uint8_t *kinds = &names->kinds[events->name[i]];
		const char *name;
		size_t len;

		if (*kinds || events->phase[i] != 'X' || tw_class_is_gpu(tw_class(trace, i)))
			continue;
		name = tw_pool_text(&trace->texts, events->name[i], &len);
		*kinds = (uint8_t)(ASKED | tw_host_kinds_of(name, len));
	}
	for (t = 0; t < names->count; t++)
		names->kinds[t] &= (uint8_t)~ASKED;
	return 0;
}

void tw_host_names_release(struct tw_host_names *names)
{
	tw_free(names->allocator, names->kinds, (size_t)names->count + 1);
	names->kinds = NULL;
}

/* ---- stretches */

static bool is_of_kind(const struct tw_host_names *names, uint64_t i, enum tw_host_kind kind)
{
	const struct trawl_trace *trace = names->trace;
	enum trawl_class class = tw_class(trace, i);

	return trace->events.phase[i] == 'X' && !tw_class_is_gpu(class) &&
	       class != TRAWL_CLASS_GPU_ANNOTATION && tw_host_kinds(names, i) & kind;
}

static uint64_t track_key(const void *events, uint32_t event)
{
	return ((const struct tw_events *)events)->track[event];
}

/* Events of the kind by track, then start. */
static int list_events(const struct tw_host_names *names, enum tw_host_kind kind, uint32_t *list,
		       uint64_t count)
{
	const struct tw_events *events = &names->trace->events;
	uint64_t i, n = 0;

	for (i = 0; n < count; i++)
		if (is_of_kind(names, i, kind))
			list[n++] = (uint32_t)i;
	return tw_sort(list, n, tw_events_start_key, events, names->allocator) ||
			       tw_sort(list, n, track_key, events, names->allocator) ?
		       -1 :
		       0;
}

static void merge_events(struct tw_stretches *s, const struct tw_events *events,
			 const uint32_t *list, uint64_t count)
{
	uint64_t i = 0, n = 0;
	uint32_t t;

	for (t = 0; t < s->tracks; t++) {
		s->first[t] = n;
		for (; i < count && events->track[list[i]] == t; i++) {
			int64_t start = events->start_ns[list[i]];
			int64_t end = start + events->dur_ns[list[i]];
			struct tw_interval *last = n > s->first[t] ? &s->items[n - 1] : NULL;

			if (!last || start > last->end_ns)
				s->items[n++] = (struct tw_interval){ start, end };
			else if (end > last->end_ns)
				last->end_ns = end;
		}
	}
	s->first[s->tracks] = n;
}

int tw_stretches_init(struct tw_stretches *s, const struct tw_host_names *names,
		      enum tw_host_kind kind)
{
	const struct trawl_allocator *a = names->allocator;
	const struct tw_events *events = &names->trace->events;
	uint64_t i, n = 0;
	uint32_t *list;
	bool failed;

	*s = (struct tw_stretches){ .allocator = a, .tracks = names->trace->track_count };
	for (i = 0; i < events->count; i++)
		n += is_of_kind(names, i, kind);
	s->capacity = n + 1;
	s->items = tw_alloc(a, s->capacity * sizeof(*s->items));
	s->first = tw_alloc_array(a, (size_t)s->tracks + 1, sizeof(*s->first));
	list = tw_alloc(a, s->capacity * sizeof(*list));
	failed = !s->items || !s->first || !list || list_events(names, kind, list, n);
	if (!failed)
		merge_events(s, events, list, n);
	tw_free(a, list, s->capacity * sizeof(*list));
	return failed ? -1 : 0;
}

void tw_stretches_release(struct tw_stretches *s)
{
	if (!s->allocator)
		return;
	tw_free(s->allocator, s->items, s->capacity * sizeof(*s->items));
	tw_free(s->allocator, s->first, ((size_t)s->tracks + 1) * sizeof(*s->first));
	s->items = NULL;
	s->first = NULL;
}

/* The first item of a track that ends after a time. */
static uint64_t item_after(const struct tw_stretches *s, uint32_t track, int64_t time_ns)
{
	return TW_LOWER_BOUND(at, s->first[track], s->first[track + 1],
			      s->items[at].end_ns <= time_ns);
}

int64_t tw_stretches_within(const struct tw_stretches *s, uint32_t track, int64_t from_ns,
			    int64_t to_ns)
{
	uint64_t i = item_after(s, track, from_ns);
	int64_t length = 0;

	for (; i < s->first[track + 1] && s->items[i].start_ns < to_ns; i++) {
		int64_t start = s->items[i].start_ns, end = s->items[i].end_ns;

		length += (end < to_ns ? end : to_ns) - (start > from_ns ? start : from_ns);
	}
	return length;
}

bool tw_stretches_hold(const struct tw_stretches *s, uint32_t track, int64_t time_ns)
{
	uint64_t i = item_after(s, track, time_ns);

	return i < s->first[track + 1] && s->items[i].start_ns <= time_ns;
}

/* ---- python functions */

/* After the last "packages/" of a path, NULL: there is none. */
static const char *below_packages(const char *name, size_t path)
{
	static const char mark[] = "-packages/";
	const char *found = NULL, *at = name;

	while ((at = strstr(at, mark)) && (size_t)(at - name) < path) {
		at += sizeof(mark) - 1;
		found = at;
	}
	return found;
}

/* Whether a name begins with a path that leads through a machine's folders. */
static bool is_absolute(const char *name)
{
	return *name == '/' || *name == '.' || *name == '~' || *name == '\\' ||
	       (*name && name[1] == ':');
}

void tw_python_name(struct tw_str *out, const char *name)
{
	size_t path = strcspn(name, "("), i;
	const char *shown = below_packages(name, path);

	if (!shown) {
		shown = name;
		for (i = 0; is_absolute(name) && i < path; i++)
			if (name[i] == '/' || name[i] == '\\')
				shown = name + i + 1;
	}
	tw_str_add_cstr(out, shown);
}
