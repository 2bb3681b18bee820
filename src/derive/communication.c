#define _GNU_SOURCE
#include "derive/communication.h"

#include "base/list.h"
#include "base/search.h"
#include "derive/view_names.h"

#include <stdlib.h>

/* ---- host ranges that communicate, such as "nccl:all_reduce" */

static int64_t end_of(const struct tw_events *events, uint32_t event)
{
	return events->start_ns[event] + events->dur_ns[event];
}

static bool is_range(const struct trawl_trace *trace, uint64_t i)
{
	return tw_class(trace, i) == TRAWL_CLASS_ANNOTATION &&
	       tw_is_range(trace, i, TRAWL_CLASS_ANNOTATION);
}

/* Whether ranges of this name communicate; asked[name]: 0 not asked yet, else 1 more than that. */
static bool names_communication(const struct tw_pool *texts, uint32_t name, uint8_t *asked)
{
	const struct tw_pool_entry *text = &texts->entries[name];

	if (!asked[name])
		asked[name] =
			1 + !!(tw_host_kinds_of(text->ptr, text->len) & TW_HOST_COMMUNICATION);
	return asked[name] - 1;
}

/* The innermost operation or call that begins before a range and holds its begin, TW_NONE: none. */
static uint32_t node_around(const struct tw_derived *d, uint32_t range)
{
	const struct tw_events *events = &d->trace->events;
	const uint32_t *event = d->host.event;
	size_t after =
		TW_LOWER_BOUND(at, 0, d->host.count,
			       events->track[event[at]] < events->track[range] ||
				       (events->track[event[at]] == events->track[range] &&
					events->start_ns[event[at]] < events->start_ns[range]));
	uint32_t i = after ? (uint32_t)(after - 1) : TW_NONE;

	if (i != TW_NONE && events->track[d->host.event[i]] != events->track[range])
		return TW_NONE;
	while (i != TW_NONE && end_of(events, d->host.event[i]) <= events->start_ns[range])
		i = d->host.parent[i];
	return i;
}

/* Whole microseconds make an inner event end after an outer one. */
#define ROUNDING_NS 1000

/*
 * Whether a range lasts longer than the operation that it began in: until a collective is done that
 * something else waits for. What its thread launches meanwhile is not its own.
 */
static bool is_asynchronous(const struct tw_derived *d, uint32_t range)
{
	const struct tw_events *events = &d->trace->events;
	uint32_t node = node_around(d, range);

	return node != TW_NONE &&
	       end_of(events, range) > end_of(events, d->host.event[node]) + ROUNDING_NS;
}

/* In the order of the input. */
static int find_ranges(struct tw_derived *d, uint8_t *asked)
{
	const struct trawl_trace *trace = d->trace;
	struct tw_comm_ranges *ranges = &d->comm_ranges;
	uint64_t i;

	for (i = 0; i < trace->events.count; i++) {
		if (!is_range(trace, i) ||
		    !names_communication(&trace->texts, trace->events.name[i], asked) ||
		    is_asynchronous(d, (uint32_t)i))
			continue;
		if (!tw_list_grow(&ranges->event, &ranges->room, ranges->count,
				  sizeof(*ranges->event), d->allocator))
			return -1;
		ranges->event[ranges->count++] = (uint32_t)i;
	}
	ranges->parent = tw_alloc_array(d->allocator, ranges->count + 1, sizeof(*ranges->parent));
	return ranges->parent ? 0 : -1;
}

/* On one track the outer ones come before those that they hold. */
static int compare_ranges(const void *a, const void *b, void *context)
{
	const struct tw_events *events = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (events->track[x] != events->track[y])
		return events->track[x] < events->track[y] ? -1 : 1;
	if (events->start_ns[x] != events->start_ns[y])
		return events->start_ns[x] < events->start_ns[y] ? -1 : 1;
	if (events->dur_ns[x] != events->dur_ns[y])
		return events->dur_ns[x] > events->dur_ns[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void nest_ranges(struct tw_comm_ranges *ranges, const struct tw_events *events)
{
	uint32_t i, top = TW_NONE;

	for (i = 0; i < ranges->count; i++) {
		uint32_t e = ranges->event[i];

		while (top != TW_NONE &&
		       (events->track[ranges->event[top]] != events->track[e] ||
			end_of(events, ranges->event[top]) <= events->start_ns[e]))
			top = ranges->parent[top];
		ranges->parent[i] = top;
		top = i;
	}
}

static int list_ranges(struct tw_derived *d)
{
	union {
		const struct tw_events *in;
		void *out;
	} context = { .in = &d->trace->events };
	struct tw_comm_ranges *ranges = &d->comm_ranges;
	uint8_t *asked = tw_alloc_array(d->allocator, d->trace->texts.count, 1);
	int status = asked ? find_ranges(d, asked) : -1;

	tw_free(d->allocator, asked, d->trace->texts.count);
	if (status || !ranges->count)
		return status;
	qsort_r(ranges->event, ranges->count, sizeof(*ranges->event), compare_ranges, context.out);
	nest_ranges(ranges, &d->trace->events);
	return 0;
}

/* The innermost range around a moment of a track, TW_NONE: none. */
static uint32_t range_around(const struct tw_derived *d, uint32_t track, int64_t time_ns)
{
	const struct tw_comm_ranges *ranges = &d->comm_ranges;
	const struct tw_events *events = &d->trace->events;
	const uint32_t *event = ranges->event;
	size_t after = TW_LOWER_BOUND(at, 0, ranges->count,
				      events->track[event[at]] < track ||
					      (events->track[event[at]] == track &&
					       events->start_ns[event[at]] <= time_ns));
	uint32_t i = after ? (uint32_t)(after - 1) : TW_NONE;

	if (i != TW_NONE && events->track[ranges->event[i]] != track)
		return TW_NONE;
	while (i != TW_NONE && end_of(events, ranges->event[i]) <= time_ns)
		i = ranges->parent[i];
	return i == TW_NONE ? TW_NONE : ranges->event[i];
}

/* ---- the operation that launched it */

static unsigned flags_of(const struct tw_derived *d, uint32_t node)
{
	return d->host.name[d->trace->events.name[d->host.event[node]]];
}

/* The nearest operation at or above a node. */
static uint32_t nearest_op(const struct tw_derived *d, uint32_t node)
{
	return node == TW_NONE ? TW_NONE : (uint32_t)tw_launching_op(d, node, false);
}

static bool communicates(const struct tw_derived *d, uint32_t node)
{
	return node != TW_NONE && flags_of(d, node) & TW_NAMES_COMMUNICATION;
}

#define KEY_BIT(half, key) (TW_KEY_##key / 64 == (half) ? (uint64_t)1 << TW_KEY_##key % 64 : 0)
#define KEY_BITS(half)                                                   \
	(KEY_BIT(half, collective_name) | KEY_BIT(half, in_msg_nelems) | \
	 KEY_BIT(half, out_msg_nelems) | KEY_BIT(half, process_group_name))

/* Whether an event has arguments of a collective. */
static bool has_arguments(const struct trawl_trace *trace, uint64_t event)
{
	static const struct tw_arg_keys keys = { { KEY_BITS(0), KEY_BITS(1) } };
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN;
	struct trawl_argument arg;

	while (at && tw_args_seek(&trace->args, &at, &keys))
		if (tw_args_next(&trace->args, &at, &arg) && arg.kind != TRAWL_VALUE_NULL)
			return true;
	return false;
}

/* The nearest operation or range around a launch that communicates, and the nearest operation. */
struct launcher {
	uint32_t range, node; /* event; host node; TW_NONE: none */
};

/* Of a launch call; false when the nearest does not communicate, or there is none. */
static bool find_launcher(const struct tw_derived *d, uint32_t launch, struct launcher *out)
{
	const struct tw_events *events = &d->trace->events;
	uint32_t call = d->host.event[launch], e;

	*out = (struct launcher){ TW_NONE, nearest_op(d, launch) };
	if (d->comm_ranges.count)
		out->range = range_around(d, events->track[call], events->start_ns[call]);
	if (out->node != TW_NONE && out->range != TW_NONE) {
		e = d->host.event[out->node];
		/* The operation is within the range: it is nearer. */
		if (events->start_ns[out->range] < events->start_ns[e] ||
		    (events->start_ns[out->range] == events->start_ns[e] &&
		     end_of(events, out->range) > end_of(events, e)))
			out->range = TW_NONE;
	}
	return out->range != TW_NONE || communicates(d, out->node);
}

/* The next operation around one, TW_NONE: none, or it does not communicate. */
static uint32_t next_around(const struct tw_derived *d, uint32_t node)
{
	node = nearest_op(d, d->host.parent[node]);
	return communicates(d, node) ? node : TW_NONE;
}

static bool tells_collective(const struct trawl_trace *trace, uint32_t event)
{
	size_t len;
	const char *name = tw_pool_text(&trace->texts, trace->events.name[event], &len);

	return tw_collective_of_operation(name, len) != NULL;
}

/* The event around a launch that has the arguments of its collective, TW_NONE: none has. */
static uint32_t recorded_of(const struct tw_derived *d, const struct launcher *launcher)
{
	uint32_t node = launcher->node;

	if (!communicates(d, node))
		return TW_NONE;
	while (node != TW_NONE && !has_arguments(d->trace, d->host.event[node]))
		node = next_around(d, node);
	return node == TW_NONE ? TW_NONE : d->host.event[node];
}

/* The nearest with a collective in its name, else the nearest. */
static uint32_t operation_of(const struct tw_derived *d, const struct launcher *launcher)
{
	uint32_t node = launcher->node, e = launcher->range;

	if (e != TW_NONE && tells_collective(d->trace, e))
		return e;
	if (!communicates(d, node))
		return e;
	if (e == TW_NONE)
		e = d->host.event[node];
	for (; node != TW_NONE; node = next_around(d, node))
		if (tells_collective(d->trace, d->host.event[node]))
			return d->host.event[node];
	return e;
}

/* ---- copies and fills */

static bool integer_arg(const struct trawl_trace *trace, uint64_t event, uint32_t key,
			int64_t *value)
{
	struct trawl_argument arg;

	if (!trawl_event_argument(trace, event, key, &arg) || arg.kind != TRAWL_VALUE_INTEGER)
		return false;
	*value = arg.integer;
	return true;
}

/* Whether a list of uneven parts of a collective, such as "[100, 200]", has one of so many elements. */
static bool has_part_of(const struct trawl_trace *trace, uint64_t recorded, uint32_t key,
			int64_t nelems)
{
	const char *text;
	struct trawl_argument arg;
	int64_t part = -1; /* no digit yet */
	size_t i, len;

	if (!trawl_event_argument(trace, recorded, key, &arg) || arg.kind != TRAWL_VALUE_TEXT)
		return false;
	text = tw_pool_text(&trace->texts, arg.text, &len);
	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9') {
			if (part == nelems)
				return true;
			part = -1;
		} else if (part < INT64_MAX / 16) {
			part = (part < 0 ? 0 : part * 10) + (text[i] - '0');
		}
	}
	return part == nelems;
}

/* Whether so many bytes are what a rank gives to a collective or gets, or a rank's part of it. */
static bool is_size_of(const struct trawl_trace *trace, uint64_t recorded, int64_t bytes)
{
	static const uint32_t keys[] = { TW_KEY_in_msg_nelems, TW_KEY_out_msg_nelems };
	int64_t ranks = 1, nelems, element, all;
	const char *text;
	struct trawl_argument arg;
	size_t i, len;

	if (!trawl_event_argument(trace, recorded, TW_KEY_dtype, &arg) ||
	    arg.kind != TRAWL_VALUE_TEXT)
		return false;
	text = tw_pool_text(&trace->texts, arg.text, &len);
	element = tw_dtype_bytes(text, len);
	if (!integer_arg(trace, recorded, TW_KEY_group_size, &ranks) || ranks < 1)
		ranks = 1;
	for (i = 0; element && i < sizeof(keys) / sizeof(*keys); i++) {
		if (!integer_arg(trace, recorded, keys[i], &nelems) || nelems <= 0 ||
		    __builtin_mul_overflow(nelems, element, &all))
			continue;
		if (bytes == all || (nelems % ranks == 0 && bytes == all / ranks))
			return true;
	}
	return element && bytes > 0 && bytes % element == 0 &&
	       (has_part_of(trace, recorded, TW_KEY_in_split_size, bytes / element) ||
		has_part_of(trace, recorded, TW_KEY_out_split_size, bytes / element));
}

/* Whether a copy says, in its name or in an argument, that it goes from one device to another. */
static bool is_between_devices(const struct trawl_trace *trace, uint64_t event)
{
	static const uint32_t keys[] = { TW_KEY_copy_kind, TW_KEY_kind };
	const char *text;
	struct trawl_argument arg;
	size_t i, len;

	text = tw_pool_text(&trace->texts, trace->events.name[event], &len);
	if (tw_copy_is_between_devices(text, len))
		return true;
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!trawl_event_argument(trace, event, keys[i], &arg) ||
		    arg.kind != TRAWL_VALUE_TEXT)
			continue;
		text = tw_pool_text(&trace->texts, arg.text, &len);
		if (tw_copy_is_between_devices(text, len))
			return true;
	}
	return false;
}

/* Whether a copy or fill is between devices, or of the collective's bytes. */
static bool moves_collective(const struct tw_derived *d, uint64_t g, uint32_t recorded)
{
	const struct trawl_trace *trace = d->trace;
	uint64_t event = d->gpu.event[g];
	int64_t bytes;

	if (is_between_devices(trace, event) ||
	    (d->gpu.launch[g] != TW_NONE && flags_of(d, d->gpu.launch[g]) & TW_NAMES_PEER_COPY))
		return true;
	return recorded != TW_NONE && integer_arg(trace, event, TW_KEY_bytes, &bytes) &&
	       is_size_of(trace, recorded, bytes);
}

static bool is_copy(const struct tw_derived *d, uint64_t g, const struct tw_kernel_name *known)
{
	if (tw_class(d->trace, d->gpu.event[g]) != TRAWL_CLASS_KERNEL)
		return true;
	return known && (known->class == TW_KERNEL_COPY || known->class == TW_KERNEL_FILL);
}

/* ---- the decision */

/* `launcher` is that of a launch, where there is one. */
static enum tw_evidence evidence_of(const struct tw_derived *d, uint64_t g,
				    struct launcher *launcher, bool *launched)
{
	const struct tw_kernel_name *known = tw_gpu_known(d, g);
	uint32_t launch = d->gpu.launch[g], event = d->gpu.event[g];
	bool arguments;

	*launched = false;
	if (known && known->class == TW_KERNEL_COMPUTE)
		return TW_EVIDENCE_NONE;
	*launched = launch != TW_NONE && find_launcher(d, launch, launcher);
	arguments = has_arguments(d->trace, event);
	if ((arguments || *launched) &&
	    (!is_copy(d, g, known) ||
	     moves_collective(d, g, arguments ? event : recorded_of(d, launcher))))
		return arguments ? TW_EVIDENCE_ARGUMENTS : TW_EVIDENCE_OPERATION;
	if (known && known->class == TW_KERNEL_COMMUNICATION &&
	    tw_class(d->trace, event) != TRAWL_CLASS_MEMCPY)
		return TW_EVIDENCE_NAME;
	return TW_EVIDENCE_NONE;
}

struct tw_communication tw_communication_of(const struct tw_derived *d, uint64_t g)
{
	struct tw_communication c = { TW_EVIDENCE_NONE, TW_NONE, TW_NONE };
	struct launcher launcher;
	bool launched;

	c.evidence = evidence_of(d, g, &launcher, &launched);
	if (c.evidence != TW_EVIDENCE_NONE && launched) {
		c.operation = operation_of(d, &launcher);
		c.recorded = recorded_of(d, &launcher);
	}
	return c;
}

const char *tw_evidence_name(enum tw_evidence evidence)
{
	static const char *const names[TW_EVIDENCES] = {
		[TW_EVIDENCE_NONE] = "",
		[TW_EVIDENCE_ARGUMENTS] = "arguments",
		[TW_EVIDENCE_OPERATION] = "operation",
		[TW_EVIDENCE_NAME] = "kernel name",
	};

	return names[evidence];
}

static enum tw_bucket bucket_of(const struct tw_derived *d, uint64_t g)
{
	enum trawl_class class = tw_class(d->trace, d->gpu.event[g]);
	const struct tw_kernel_name *known = tw_gpu_known(d, g);
	struct launcher launcher;
	bool launched;

	if (evidence_of(d, g, &launcher, &launched) != TW_EVIDENCE_NONE)
		return TW_COMMUNICATION;
	if (class == TRAWL_CLASS_MEMCPY ||
	    (class == TRAWL_CLASS_KERNEL && known && known->class == TW_KERNEL_COPY))
		return TW_COPY;
	return TW_COMPUTE;
}

int tw_communication_build(struct tw_derived *d)
{
	uint64_t g;

	if (list_ranges(d))
		return -1;
	for (g = 0; g < d->gpu.count; g++)
		d->gpu.bucket[g] = (uint8_t)bucket_of(d, g);
	return 0;
}
