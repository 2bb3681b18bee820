/*
 * An analysis of one's own: memory copies by kind and stream.
 *
 *	cc events.c -ltrawl -o events && ./events sample.json.gz
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <trawl/trawl.h>

struct copies {
	struct trawl_event like; /* the first of them: name, device and stream are those of all */
	int64_t count, bytes, dur_ns;
};

static struct copies *find(struct copies **list, size_t *count, const struct trawl_event *e)
{
	struct copies *grown;
	size_t i;

	for (i = 0; i < *count; i++)
		if ((*list)[i].like.name == e->name && (*list)[i].like.track == e->track)
			return &(*list)[i];
	grown = realloc(*list, (*count + 1) * sizeof(**list));
	if (!grown)
		return NULL;
	*list = grown;
	grown[*count] = (struct copies){ .like = *e };
	return &grown[(*count)++];
}

static int by_time(const void *a, const void *b)
{
	const struct copies *x = a, *y = b;

	if (x->dur_ns != y->dur_ns)
		return x->dur_ns > y->dur_ns ? -1 : 1;
	return x->like.start_ns < y->like.start_ns ? -1 : x->like.start_ns > y->like.start_ns;
}

static void print(const struct trawl_trace *trace, const struct copies *list, size_t count)
{
	size_t i;

	printf("%-32s %6s %6s %8s %16s %14s %8s\n", "kind", "device", "stream", "copies", "bytes",
	       "time (us)", "GB/s");
	for (i = 0; i < count; i++) {
		const struct copies *c = &list[i];

		/* Bytes a nanosecond are GB a second. */
		printf("%-32s %6" PRId64 " %6" PRId64 " %8" PRId64 " %16" PRId64 " %14.3f %8.2f\n",
		       trawl_trace_text(trace, c->like.name, NULL), c->like.device.number,
		       c->like.stream.number, c->count, c->bytes, (double)c->dur_ns / 1e3,
		       c->dur_ns ? (double)c->bytes / (double)c->dur_ns : 0.0);
	}
}

int main(int argc, char **argv)
{
	struct trawl_trace *trace = NULL;
	struct trawl_error err;
	struct copies *list = NULL, *c;
	size_t count = 0;
	uint64_t i;
	uint32_t bytes;

	if (argc != 2)
		return fprintf(stderr, "usage: events TRACE\n"), 2;
	if (trawl_trace_read(&trace, argv[1], NULL, &err))
		return fprintf(stderr, "events: %s\n", err.message), 1;
	bytes = trawl_trace_find_text(trace, "bytes");
	for (i = 0; i < trawl_trace_events(trace); i++) {
		struct trawl_event e = trawl_trace_event(trace, i);
		struct trawl_argument size;

		/* 'X': it has a start and a duration. */
		if (e.kind != TRAWL_CLASS_MEMCPY || e.phase != 'X')
			continue;
		c = find(&list, &count, &e);
		if (!c)
			return fprintf(stderr, "events: out of memory\n"), 1;
		c->count++;
		c->dur_ns += e.dur_ns;
		if (trawl_event_argument(trace, i, bytes, &size) &&
		    size.kind == TRAWL_VALUE_INTEGER)
			c->bytes += size.integer;
	}
	if (count)
		qsort(list, count, sizeof(*list), by_time);
	print(trace, list, count);
	free(list);
	trawl_trace_free(trace);
	return 0;
}
