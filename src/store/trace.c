#include "store/trace.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/slots.h"
#include "base/sort.h"

#include <stdio.h>
#include <string.h>

#define FIRST_EVENTS ((uint64_t)16 << 10)

/* Every column once: where its pointer is and how wide its cells are. */
static const struct event_column {
	size_t offset, width;
} event_columns[TW_EVENT_COLUMN_COUNT] = {
#define COLUMN(member)                                                                       \
	{                                                                                    \
		offsetof(struct tw_events, member), sizeof(*((struct tw_events *)0)->member) \
	}
	COLUMN(start_ns), COLUMN(dur_ns), COLUMN(name),	    COLUMN(track), COLUMN(correlation),
	COLUMN(external), COLUMN(args),	  COLUMN(category), COLUMN(phase),
#undef COLUMN
};

static void *column_get(const struct tw_events *events, size_t i)
{
	void *cells;

	memcpy(&cells, (const char *)events + event_columns[i].offset, sizeof(cells));
	return cells;
}

static void column_set(struct tw_events *events, size_t i, void *cells)
{
	memcpy((char *)events + event_columns[i].offset, &cells, sizeof(cells));
}

static int intern_keys(struct tw_pool *texts)
{
	static const char *const keys[] = {
#define TW_KEY(id, text) text,
#include "store/keys.def"
#undef TW_KEY
	};
	uint32_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (tw_pool_intern_cstr(texts, keys[i]) != i + 1)
			return -1;
	return 0;
}

static bool add_category(struct trawl_trace *trace, uint32_t name, enum trawl_class class)
{
	if (!tw_list_grow(&trace->categories, &trace->category_capacity, trace->category_count,
			  sizeof(*trace->categories), trace->allocator))
		return false;
	trace->categories[trace->category_count++] = (struct tw_category){ name, class };
	return true;
}

struct trawl_trace *tw_trace_new(const struct trawl_allocator *allocator)
{
	struct trawl_trace *trace = tw_alloc_array(allocator, 1, sizeof(*trace));
	enum trawl_class class;

	if (!trace)
		return NULL;
	trace->allocator = allocator;
	trace->args.allocator = allocator;
	trace->origins.allocator = allocator;
	trace->rank = -1;
	trace->device_bytes = trace->device_units = trace->device_compute = -1;
	trace->world_size = -1;
	trace->device_name = "";
	trace->format = "";
	trace->base_time_ns = TRAWL_TIME_NONE;
	tw_quality_init(&trace->quality);
	/* Each class has a place of its own, for events without a category. */
	for (class = TRAWL_CLASS_OTHER; class <= TRAWL_CLASS_MEMSET; class ++)
		if (!add_category(trace, 0, class))
			break;
	if (class <= TRAWL_CLASS_MEMSET || tw_pool_init(&trace->texts, allocator) ||
	    intern_keys(&trace->texts)) {
		trawl_trace_free(trace);
		return NULL;
	}
	return trace;
}

void tw_events_release(struct tw_events *events, const struct trawl_allocator *allocator)
{
	size_t i;

	for (i = 0; i < TW_EVENT_COLUMN_COUNT; i++)
		tw_free(allocator, column_get(events, i), events->column_bytes[i]);
	memset(events, 0, sizeof(*events));
}

void trawl_trace_free(struct trawl_trace *trace)
{
	const struct trawl_allocator *a;

	if (!trace)
		return;
	a = trace->allocator;
	tw_events_release(&trace->events, a);
	tw_free(a, trace->rank_parts, trace->part_room * sizeof(*trace->rank_parts));
	if (trace->part_of_track)
		tw_free(a, trace->part_of_track,
			trace->track_capacity * sizeof(*trace->part_of_track));
	tw_args_release(&trace->args);
	TW_LIST_FREE(&trace->captures.list, a);
	TW_LIST_FREE(&trace->captures.calls, a);
	TW_LIST_FREE(&trace->captures.nodes, a);
	TW_LIST_FREE(&trace->captures.modules, a);
	tw_pool_release(&trace->texts);
	tw_free(a, trace->tracks, trace->track_capacity * sizeof(*trace->tracks));
	tw_free(a, trace->track_slots, trace->track_slot_count * sizeof(*trace->track_slots));
	tw_free(a, trace->categories, trace->category_capacity * sizeof(*trace->categories));
	tw_ids_release(&trace->category_ids, a);
	tw_free(a, trace->fields, trace->field_capacity * sizeof(*trace->fields));
	tw_origins_release(&trace->origins);
	tw_free(a, trace->defects, TW_DEFECT_COUNT * sizeof(*trace->defects));
	tw_free(a, trace, sizeof(*trace));
}

static int resize_events(struct tw_events *events, const struct trawl_allocator *allocator,
			 uint64_t capacity)
{
	size_t i, bytes;

	for (i = 0; i < TW_EVENT_COLUMN_COUNT; i++) {
		void *cells;

		if (__builtin_mul_overflow(capacity, event_columns[i].width, &bytes))
			return -1;
		if (events->column_bytes[i] >= bytes)
			continue;
		cells = tw_realloc(allocator, column_get(events, i), events->column_bytes[i],
				   bytes);
		if (!cells)
			return -1;
		column_set(events, i, cells);
		events->column_bytes[i] = bytes;
	}
	events->capacity = capacity;
	return 0;
}

int tw_events_grow(struct trawl_trace *trace)
{
	if (trace->events.count < trace->events.capacity)
		return 0;
	return resize_events(&trace->events, trace->allocator,
			     trace->events.capacity ? trace->events.capacity * 2 : FIRST_EVENTS);
}

int tw_events_reserve(struct tw_events *events, uint64_t more,
		      const struct trawl_allocator *allocator)
{
	if (events->capacity - events->count >= more)
		return 0;
	return resize_events(events, allocator, events->count + more);
}

void tw_events_take_column(struct tw_events *events, struct tw_events *more, size_t column,
			   const struct trawl_allocator *allocator)
{
	void *from = column_get(more, column);
	size_t width = event_columns[column].width;

	if (more->count)
		memcpy((char *)column_get(events, column) + events->count * width, from,
		       more->count * width);
	tw_free(allocator, from, more->column_bytes[column]);
	column_set(more, column, NULL);
	more->column_bytes[column] = 0;
}

uint64_t tw_events_start_key(const void *events, uint32_t event)
{
	return tw_sort_key(((const struct tw_events *)events)->start_ns[event]);
}

static uint32_t track_hash(const struct tw_track *t)
{
	return (uint32_t)tw_hash_mix(((uint64_t)t->pid << 32 | t->tid) ^ tw_hash_secret[0],
				     ((uint64_t)t->device << 32 | t->stream) ^ tw_hash_secret[1]);
}

static bool track_equal(const struct tw_track *a, const struct tw_track *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->device == b->device &&
	       a->stream == b->stream;
}

static int grow_tracks(struct trawl_trace *trace)
{
	uint32_t capacity = trace->track_capacity ? trace->track_capacity * 2 : 64;
	uint32_t slot_count = capacity * 2, i;
	struct tw_track *tracks;
	uint32_t *slots;

	if (capacity > 1u << 30)
		return -1;
	slots = tw_alloc_array(trace->allocator, slot_count, sizeof(*slots));
	if (!slots)
		return -1;
	tracks = tw_realloc(trace->allocator, trace->tracks,
			    trace->track_capacity * sizeof(*tracks), capacity * sizeof(*tracks));
	if (!tracks) {
		tw_free(trace->allocator, slots, slot_count * sizeof(*slots));
		return -1;
	}
	for (i = 0; i < trace->track_count; i++)
		slots[TW_SLOT(at, slot_count, track_hash(&tracks[i]), !slots[at])] = i + 1;
	tw_free(trace->allocator, trace->track_slots, trace->track_slot_count * sizeof(*slots));
	trace->tracks = tracks;
	trace->track_capacity = capacity;
	trace->track_slots = slots;
	trace->track_slot_count = slot_count;
	return 0;
}

/* Where the number of a track stands, or would. */
static uint32_t *track_slot(const struct trawl_trace *trace, const struct tw_track *track)
{
	const uint32_t *slots = trace->track_slots;

	return &trace->track_slots[TW_SLOT(at, trace->track_slot_count, track_hash(track),
					   !slots[at] || track_equal(&trace->tracks[slots[at] - 1],
								     track))];
}

uint32_t tw_trace_track(struct trawl_trace *trace, const struct tw_track *track)
{
	uint32_t *slot;

	if (trace->track_count == trace->track_capacity && grow_tracks(trace))
		return UINT32_MAX;
	slot = track_slot(trace, track);
	if (!*slot) {
		trace->tracks[trace->track_count] = *track;
		*slot = ++trace->track_count;
	}
	return *slot - 1;
}

uint32_t tw_trace_find_track(const struct trawl_trace *trace, const struct tw_track *track)
{
	/* Of a free place: 0 - 1. */
	return trace->track_slot_count ? *track_slot(trace, track) - 1 : UINT32_MAX;
}

unsigned tw_trace_category(struct trawl_trace *trace, uint32_t name, enum trawl_class class)
{
	int64_t key = (int64_t)name << 8 | class;
	uint32_t found = name ? tw_ids_get(&trace->category_ids, key) : class;

	if (found != TW_IDS_NONE)
		return found;
	/* Past the limit the class is kept, the name is not. */
	if (trace->category_count == TW_MAX_CATEGORIES) {
		tw_quality_add(&trace->quality, TW_DEFECT_nameless_category, 1, -1, -1);
		return class;
	}
	if (!tw_ids_put(&trace->category_ids, key, trace->category_count, trace->allocator) ||
	    !add_category(trace, name, class)) {
		trace->texts.failed = true;
		return class;
	}
	return trace->category_count - 1;
}

int tw_trace_add_field(struct trawl_trace *trace, uint32_t key, uint32_t value)
{
	if (!tw_list_grow(&trace->fields, &trace->field_capacity, trace->field_count,
			  sizeof(*trace->fields), trace->allocator))
		return -1;
	trace->fields[trace->field_count++] = (struct tw_field){ key, value };
	return 0;
}

const char *tw_trace_field(const struct trawl_trace *trace, const char *key, size_t *len)
{
	uint32_t id = tw_pool_find(&trace->texts, key, strlen(key)), i;

	for (i = 0; id && i < trace->field_count; i++)
		if (trace->fields[i].key == id)
			return tw_pool_text(&trace->texts, trace->fields[i].value, len);
	return NULL;
}

tw_code tw_code_from_integer(struct trawl_trace *trace, int64_t value)
{
	char digits[24];
	int len;
	uint32_t id;

	if (value >= 0 && value < (int64_t)TW_CODE_TEXT)
		return (tw_code)value;
	len = snprintf(digits, sizeof(digits), "%lld", (long long)value);
	id = tw_pool_intern(&trace->texts, digits, (size_t)len);
	return id ? TW_CODE_TEXT | id : TW_CODE_NONE;
}

tw_code tw_code_from_text(struct trawl_trace *trace, const char *text, size_t len)
{
	uint64_t value = 0;
	uint32_t id;
	size_t i;

	if (len > 0 && len <= 10 && (text[0] != '0' || len == 1)) {
		for (i = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++)
			value = value * 10 + (uint64_t)(text[i] - '0');
		if (i == len && value < TW_CODE_TEXT)
			return (tw_code)value;
	}
	id = tw_pool_intern(&trace->texts, text, len);
	return id ? TW_CODE_TEXT | id : TW_CODE_NONE;
}

const char *tw_code_text(const struct trawl_trace *trace, tw_code code, char *buffer, size_t *len)
{
	if (code == TW_CODE_NONE) {
		*len = 0;
		return "";
	}
	if (code & TW_CODE_TEXT)
		return tw_pool_text(&trace->texts, code & ~TW_CODE_TEXT, len);
	*len = (size_t)snprintf(buffer, 24, "%u", code);
	return buffer;
}

/* Digits with an optional sign. */
static bool is_integer(const char *text, size_t len)
{
	size_t i = len > 1 && text[0] == '-';

	if (i == len)
		return false;
	while (i < len && text[i] >= '0' && text[i] <= '9')
		i++;
	return i == len;
}

/* Two integers as text, without leading zeros: sign, then length, then digits. */
static int compare_integers(const char *a, size_t a_len, const char *b, size_t b_len)
{
	bool a_negative = a[0] == '-', b_negative = b[0] == '-';
	int order;

	if (a_negative != b_negative)
		return a_negative ? -1 : 1;
	order = a_len != b_len ? (a_len < b_len ? -1 : 1) : memcmp(a, b, a_len);
	return a_negative ? -order : order;
}

int tw_code_compare(const struct trawl_trace *trace, tw_code a, tw_code b)
{
	char a_buffer[24], b_buffer[24];
	const char *a_text, *b_text;
	size_t a_len, b_len;
	bool a_integer, b_integer;
	int order;

	if (a == b)
		return 0;
	if (!((a | b) & TW_CODE_TEXT))
		return a < b ? -1 : 1;
	a_text = tw_code_text(trace, a, a_buffer, &a_len);
	b_text = tw_code_text(trace, b, b_buffer, &b_len);
	a_integer = is_integer(a_text, a_len);
	b_integer = is_integer(b_text, b_len);
	if (a_integer != b_integer)
		return a_integer ? -1 : 1;
	if (a_integer)
		return compare_integers(a_text, a_len, b_text, b_len);
	order = memcmp(a_text, b_text, a_len < b_len ? a_len : b_len);
	return order ? order : (a_len > b_len) - (a_len < b_len);
}

bool trawl_event_argument(const struct trawl_trace *trace, uint64_t event, uint32_t key,
			  struct trawl_argument *arg)
{
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN;
	struct tw_arg_keys keys = { { 0 } };
	struct trawl_argument next;
	bool found = false;

	if (!at)
		return false;
	if (key == TW_KEY_sequence_number)
		return trace->args.bytes[at] == key && tw_args_next(&trace->args, &at, arg);
	/* Of a key that is there twice the last one counts. */
	if (key < TW_KEY_COUNT) {
		tw_arg_keys_add(&keys, key);
		while (tw_args_seek(&trace->args, &at, &keys))
			found = tw_args_next(&trace->args, &at, arg);
		return found;
	}
	while (tw_args_next(&trace->args, &at, &next)) {
		if (next.key != key)
			continue;
		*arg = next;
		found = true;
	}
	return found;
}

size_t tw_trace_list_defects(const struct trawl_trace *trace, const struct tw_quality *quality,
			     struct trawl_defect *out)
{
	size_t count = tw_quality_list(quality, out), i;

	for (i = 0; i < count; i++) {
		struct trawl_defect *d = &out[i];

		if (!d->table && d->event >= 0 &&
		    tw_origins_find(&trace->origins, (uint64_t)d->event, &d->table, &d->row))
			d->event = -1;
	}
	return count;
}

int tw_trace_finish(struct trawl_trace *trace)
{
	struct trawl_defect list[TW_DEFECT_COUNT];

	if (trace->texts.failed)
		return -1;
	if (!trace->defects) {
		trace->defects =
			tw_alloc_array(trace->allocator, TW_DEFECT_COUNT, sizeof(*trace->defects));
		if (!trace->defects)
			return -1;
	}
	trace->defect_count = tw_trace_list_defects(trace, &trace->quality, list);
	memcpy(trace->defects, list, trace->defect_count * sizeof(*list));
	return 0;
}

uint64_t trawl_trace_events(const struct trawl_trace *trace)
{
	return trace->events.count;
}

const int64_t *trawl_trace_start_ns(const struct trawl_trace *trace)
{
	return trace->events.start_ns;
}

const int64_t *trawl_trace_dur_ns(const struct trawl_trace *trace)
{
	return trace->events.dur_ns;
}

const uint32_t *trawl_trace_names(const struct trawl_trace *trace)
{
	return trace->events.name;
}

enum trawl_class trawl_trace_class(const struct trawl_trace *trace, uint64_t event)
{
	return tw_class(trace, event);
}

const char *trawl_trace_text(const struct trawl_trace *trace, uint32_t id, size_t *len)
{
	return tw_pool_text(&trace->texts, id, len);
}

int64_t trawl_trace_rank(const struct trawl_trace *trace)
{
	return trace->rank;
}

int64_t trawl_trace_bytes(const struct trawl_trace *trace)
{
	return trace->bytes;
}

const char *trawl_trace_device_name(const struct trawl_trace *trace)
{
	return trace->device_name;
}

size_t trawl_trace_defects(const struct trawl_trace *trace)
{
	return trace->defect_count;
}

struct trawl_defect trawl_trace_defect(const struct trawl_trace *trace, size_t index)
{
	return trace->defects[index];
}
