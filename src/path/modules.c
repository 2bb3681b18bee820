/*
 * The module around each host node, where the trace has Python's frames: the innermost one on its
 * thread; of a backward operation that of its forward one; else that of the node above.
 */
#include "path/rank_build.h"

#include "base/alloc.h"
#include "base/sort.h"

#include <string.h>

static const char prefix[] = "nn.Module: ";

static bool is_module(const struct trawl_trace *trace, uint64_t i)
{
	const struct tw_pool_entry *name = &trace->texts.entries[trace->events.name[i]];

	return trace->events.phase[i] == 'X' && tw_class(trace, i) == TRAWL_CLASS_PYTHON &&
	       name->len >= sizeof(prefix) && !memcmp(name->ptr, prefix, sizeof(prefix) - 1);
}

static uint64_t track_key(const void *events, uint32_t event)
{
	return ((const struct tw_events *)events)->track[event];
}

static uint64_t longest_key(const void *events, uint32_t event)
{
	return ~(uint64_t)((const struct tw_events *)events)->dur_ns[event];
}

/* By track, then start, outer ones first; *count 0: none are recorded. */
static uint32_t *list_modules(struct tw_rank_build *b, uint32_t *count)
{
	const struct trawl_trace *trace = b->d->trace;
	const struct tw_events *e = &trace->events;
	uint32_t *list;
	uint64_t i, n = 0;

	for (i = 0; i < e->count; i++)
		n += is_module(trace, i);
	*count = 0;
	list = n ? tw_build_array(b, n, sizeof(*list)) : NULL;
	for (i = 0; list && i < e->count; i++)
		if (is_module(trace, i))
			list[(*count)++] = (uint32_t)i;
	b->failed |= list && (tw_sort(list, n, longest_key, e, b->scratch) ||
			      tw_sort(list, n, tw_events_start_key, e, b->scratch) ||
			      tw_sort(list, n, track_key, e, b->scratch));
	return list;
}

/* Of each node the innermost that holds its start: text ids of names, 0: none. */
static void find_around(struct tw_rank_build *b, const uint32_t *list, uint32_t count)
{
	const struct tw_events *e = &b->d->trace->events;
	uint32_t *open = tw_build_array(b, count, sizeof(*open)), depth = 0, next = 0, i;

	for (i = 0; open && i < b->d->host.count; i++) {
		uint32_t track = tw_node_track(b, i);
		int64_t start = tw_node_start(b, i);

		for (; next < count &&
		       (e->track[list[next]] < track ||
			(e->track[list[next]] == track && e->start_ns[list[next]] <= start));
		     next++) {
			while (depth &&
			       (e->track[open[depth - 1]] != e->track[list[next]] ||
				e->start_ns[open[depth - 1]] + e->dur_ns[open[depth - 1]] <=
					e->start_ns[list[next]]))
				depth--;
			open[depth++] = list[next];
		}
		while (depth &&
		       (e->track[open[depth - 1]] != track ||
			e->start_ns[open[depth - 1]] + e->dur_ns[open[depth - 1]] <= start))
			depth--;
		b->module[i] = depth ? e->name[open[depth - 1]] : 0;
	}
}

void tw_path_modules(struct tw_rank_build *b)
{
	const struct tw_autograd *pairs = &b->d->autograd;
	const struct tw_host *host = &b->d->host;
	uint32_t count, *list = list_modules(b, &count), i;

	if (!list || b->failed)
		return;
	b->module = tw_build_array(b, host->count, sizeof(*b->module));
	if (!b->failed)
		find_around(b, list, count);
	if (b->failed)
		return;
	for (uint64_t k = 0; k < pairs->count; k++)
		if (!b->module[pairs->pairs[k].backward])
			b->module[pairs->pairs[k].backward] = b->module[pairs->pairs[k].forward];
	for (i = 0; i < host->count; i++)
		if (!b->module[i] && host->parent[i] != TW_NONE)
			b->module[i] = b->module[host->parent[i]];
}
