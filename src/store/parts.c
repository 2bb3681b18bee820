#include "store/parts.h"

#include "base/alloc.h"
#include "base/order.h"

#include <stdlib.h>

int tw_trace_new_parts(struct trawl_trace *trace, uint32_t count)
{
	uint32_t i;

	trace->rank_parts = tw_alloc_array(trace->allocator, count, sizeof(*trace->rank_parts));
	trace->part_of_track = tw_alloc_array(trace->allocator, trace->track_capacity,
					      sizeof(*trace->part_of_track));
	if (!trace->rank_parts || !trace->part_of_track)
		return -1;
	trace->part_count = trace->part_room = count;
	for (i = 0; i < count; i++)
		trace->rank_parts[i].rank = -1;
	for (i = 0; i < trace->track_capacity; i++)
		trace->part_of_track[i] = TW_NO_PART;
	return 0;
}

/* ---- marks of processes */

/* The text before the number at the end of a process id that is a text; 0: nothing. */
static size_t mark_len(const char *text, size_t len)
{
	size_t at = len;

	while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	if (at == len)
		return 0;
	return at > 1 && text[at - 1] == '-' && text[at - 2] == ' ' ? at - 1 : at;
}

/* A mark, and what the processes that have it do. */
struct mark {
	const char *text;
	size_t len;
	uint32_t track; /* one of them */
	bool launches, works, operates;
	uint32_t part;
};

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->text, y->text, n);

	return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

static bool read_mark(const struct trawl_trace *trace, uint32_t track, struct mark *mark)
{
	tw_code pid = trace->tracks[track].pid;
	size_t len;

	*mark = (struct mark){ .track = track };
	if (pid == TW_CODE_NONE || !(pid & TW_CODE_TEXT))
		return false;
	mark->text = tw_pool_text(&trace->texts, pid & ~TW_CODE_TEXT, &len);
	mark->len = mark_len(mark->text, len);
	return mark->len > 0;
}

/* The distinct marks, in order; fewer than two: there is nothing to take apart. */
static uint32_t list_marks(const struct trawl_trace *trace, struct mark *marks)
{
	uint32_t t, i, count = 0, n = 0;

	for (t = 0; t < trace->track_count; t++)
		count += read_mark(trace, t, &marks[count]);
	if (count)
		qsort(marks, count, sizeof(*marks), compare_marks);
	for (i = 0; i < count; i++)
		if (!i || compare_marks(&marks[i], &marks[n - 1]))
			marks[n++] = marks[i];
	return n;
}

static uint32_t find_mark(const struct trawl_trace *trace, uint32_t track, const struct mark *marks,
			  uint32_t count)
{
	struct mark key, *found = NULL;

	if (read_mark(trace, track, &key))
		found = bsearch(&key, marks, count, sizeof(*marks), compare_marks);
	return found ? (uint32_t)(found - marks) : TW_NO_PART;
}

/*
 * A rank launches and has a GPU that works: "CPU 1" and "GPU 0" are no ranks.  Where several do,
 * others that have operators or calls alone are ranks too.  Returns their number; numbered by part.
 */
static uint32_t count_ranks(const struct trawl_trace *trace, struct mark *marks, uint32_t count)
{
	uint32_t n = 0, both = 0, i, part;
	uint64_t e;

	for (e = 0; e < trace->events.count; e++) {
		enum trawl_class class = tw_class(trace, e);
		bool launch = tw_class_is_launch(class), gpu = tw_class_is_gpu(class);

		part = trace->part_of_track[trace->events.track[e]];
		if (part == TW_NO_PART)
			continue;
		marks[part].launches |= launch;
		marks[part].works |= gpu;
		marks[part].operates |= launch || gpu || class == TRAWL_CLASS_CPU_OP;
	}
	for (i = 0; i < count; i++) {
		both += marks[i].launches && marks[i].works;
		marks[i].part = marks[i].operates ? n++ : TW_NO_PART;
	}
	return both < 2 ? 0 : n;
}

/* The one number of a mark, such as that of "[TP01] "; -1: none, or several. */
static int64_t number_in(const struct mark *mark)
{
	enum { MOST = 9 };
	int64_t value = 0;
	size_t i, digits = 0, numbers = 0;

	for (i = 0; i < mark->len; i++) {
		bool digit = mark->text[i] >= '0' && mark->text[i] <= '9';

		numbers += digit && !(i && mark->text[i - 1] >= '0' && mark->text[i - 1] <= '9');
		digits += digit;
		if (digit && digits <= MOST)
			value = value * 10 + (mark->text[i] - '0');
	}
	return numbers == 1 && digits <= MOST ? value : -1;
}

/* ---- devices */

struct used {
	tw_code device;
	uint32_t part, track;
};

static int compare_used(const void *a, const void *b)
{
	const struct used *x = a, *y = b;

	return TW_ORDER_BY(x, y, device, part, track);
}

/* "[TP01] 0" */
static void rename_device(struct trawl_trace *trace, const struct used *used,
			  const struct mark *mark)
{
	char buffer[24], text[200];
	size_t len, n = mark->len < 100 ? mark->len : 100;
	const char *device = tw_code_text(trace, used->device, buffer, &len);

	len = len < 90 ? len : 90;
	memcpy(text, mark->text, n);
	memcpy(text + n, device, len);
	trace->tracks[used->track].device = tw_code_from_text(trace, text, n + len);
}

static int separate_devices(struct trawl_trace *trace, const struct mark *marks)
{
	size_t room = (size_t)trace->track_count + 1;
	struct used *list = tw_alloc_array(trace->allocator, room, sizeof(*list));
	uint32_t first, end, i, n = 0, t;

	if (!list)
		return -1;
	for (t = 0; t < trace->track_count; t++)
		if (trace->tracks[t].device != TW_CODE_NONE)
			list[n++] = (struct used){ trace->tracks[t].device, trace->part_of_track[t],
						   t };
	if (n)
		qsort(list, n, sizeof(*list), compare_used);
	for (first = 0; first < n; first = end) {
		for (end = first; end < n && list[end].device == list[first].device; end++)
			;
		if (list[first].part == list[end - 1].part)
			continue;
		for (i = first; i < end; i++)
			if (list[i].part != TW_NO_PART)
				rename_device(trace, &list[i], &marks[list[i].part]);
	}
	tw_free(trace->allocator, list, room * sizeof(*list));
	return trace->texts.failed ? -1 : 0;
}

static void forget_parts(struct trawl_trace *trace)
{
	tw_free(trace->allocator, trace->rank_parts, trace->part_room * sizeof(*trace->rank_parts));
	tw_free(trace->allocator, trace->part_of_track,
		trace->track_capacity * sizeof(*trace->part_of_track));
	trace->rank_parts = NULL;
	trace->part_of_track = NULL;
	trace->part_count = trace->part_room = 0;
}

static int take_marks(struct trawl_trace *trace, struct mark *marks, uint32_t count)
{
	bool numbered = true;
	uint32_t t, i, n = 0, ranks;

	if (tw_trace_new_parts(trace, count))
		return -1;
	for (t = 0; t < trace->track_count; t++)
		trace->part_of_track[t] = find_mark(trace, t, marks, count);
	ranks = count_ranks(trace, marks, count);
	if (ranks < 2) {
		forget_parts(trace);
		return 0;
	}
	/* Parts without a rank belong to the first rank. */
	for (t = 0; t < trace->track_count; t++) {
		i = trace->part_of_track[t];
		trace->part_of_track[t] =
			i == TW_NO_PART || marks[i].part == TW_NO_PART ? 0 : marks[i].part;
	}
	for (i = 0; i < count; i++)
		if (marks[i].part != TW_NO_PART)
			marks[n++] = marks[i];
	trace->part_count = count = ranks;
	for (i = 0; i < count; i++) {
		trace->rank_parts[i].rank = number_in(&marks[i]);
		numbered &= trace->rank_parts[i].rank >= 0;
		for (t = 0; t < i; t++)
			numbered &= trace->rank_parts[t].rank != trace->rank_parts[i].rank;
	}
	for (i = 0; i < count && !numbered; i++)
		trace->rank_parts[i].rank = -1;
	return separate_devices(trace, marks);
}

int tw_trace_find_parts(struct trawl_trace *trace)
{
	enum { MOST = 65536 };
	size_t room = (size_t)trace->track_count + 1;
	struct mark *marks;
	struct mark any;
	uint32_t t, count;
	int status = 0;

	/* Mostly there is none, and nothing to list. */
	for (t = 0; t < trace->track_count && !read_mark(trace, t, &any); t++)
		;
	if (t == trace->track_count)
		return 0;
	marks = tw_alloc_array(trace->allocator, room, sizeof(*marks));
	if (!marks)
		return -1;
	count = list_marks(trace, marks);
	if (count > 1 && count < MOST)
		status = take_marks(trace, marks, count);
	tw_free(trace->allocator, marks, room * sizeof(*marks));
	return status;
}

/* ---- a part as a trace */

static int take_events(struct trawl_trace *part, const struct trawl_trace *trace, uint32_t number,
		       uint32_t *track_of)
{
	const struct tw_events *from = &trace->events;
	struct tw_events *to = &part->events;
	uint64_t i, n = 0;

	for (i = 0; i < from->count; i++)
		n += tw_part_of(trace, i) == number;
	if (tw_events_reserve(to, n + 1, trace->allocator))
		return -1;
	for (i = 0; i < from->count; i++) {
		const char *table;
		uint64_t at = to->count;
		int64_t row;

		if (tw_part_of(trace, i) != number)
			continue;
		if (trace->origins.count &&
		    (tw_origins_find(&trace->origins, i, &table, &row) ?
			     tw_origins_add(&part->origins, at, table, row) :
			     tw_origins_add(&part->origins, at, NULL, -1)))
			return -1;
		to->start_ns[at] = from->start_ns[i];
		to->dur_ns[at] = from->dur_ns[i];
		to->name[at] = from->name[i];
		to->track[at] = track_of[from->track[i]];
		to->correlation[at] = from->correlation[i];
		to->external[at] = from->external[i];
		to->args[at] = from->args[i];
		to->category[at] = from->category[i];
		to->phase[at] = from->phase[i];
		to->count++;
	}
	return 0;
}

struct trawl_trace *tw_trace_part(const struct trawl_trace *trace, uint32_t number)
{
	const struct trawl_allocator *a = trace->allocator;
	struct trawl_trace *part = tw_alloc_array(a, 1, sizeof(*part));
	size_t room = (size_t)trace->track_count + 1;
	uint32_t *track_of = tw_alloc_array(a, room, sizeof(*track_of)), t;
	int status = -1;

	if (part && track_of) {
		*part = *trace;
		memset(&part->events, 0, sizeof(part->events));
		part->origins = (struct tw_origins){ .allocator = a };
		part->tracks = tw_alloc_array(a, room, sizeof(*part->tracks));
		part->track_count = 0;
		part->track_capacity = trace->track_count + 1;
		part->part_of_track = NULL;
		part->rank_parts = NULL;
		part->part_count = 0;
		part->rank = trace->rank_parts[number].rank;
		part->labelled = trace->by_process && part->rank >= 0;
		part->marked = !trace->by_process;
		for (t = 0; t < trace->track_count && part->tracks; t++) {
			if (trace->part_of_track[t] != number)
				continue;
			track_of[t] = part->track_count;
			part->tracks[part->track_count++] = trace->tracks[t];
		}
		status = part->tracks ? take_events(part, trace, number, track_of) : -1;
	}
	tw_free(a, track_of, room * sizeof(*track_of));
	if (status && part)
		tw_trace_free_part(part);
	return status ? NULL : part;
}

void tw_trace_free_part(struct trawl_trace *part)
{
	const struct trawl_allocator *a = part->allocator;

	if (part->tracks)
		tw_free(a, part->tracks, part->track_capacity * sizeof(*part->tracks));
	tw_events_release(&part->events, a);
	tw_origins_release(&part->origins);
	tw_free(a, part, sizeof(*part));
}
