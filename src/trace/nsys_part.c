/* What reading rows of any table needs: texts, tracks, arguments, events. */
#include "trace/nsys.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "text/utf8.h"
#include "trace/reader.h"

#include <stdio.h>
#include <string.h>

/* ---- texts */

/* Replaces what is no UTF-8; the text is then in part->scratch.  How often that was. */
static int64_t repair_utf8(struct tw_export_part *part, const char *text, size_t len)
{
	int64_t bad = 0;
	size_t at, size;

	tw_str_clear(&part->scratch);
	for (at = 0; at < len; at += size) {
		char replacement[4];
		uint32_t code;

		size = tw_utf8_next(text + at, len - at, &code);
		if (code == TW_UTF8_BAD) {
			tw_str_add(&part->scratch, replacement,
				   tw_utf8_put(replacement, TW_UTF8_REPLACEMENT));
			bad++;
		} else {
			tw_str_add(&part->scratch, text + at, size);
		}
	}
	return bad;
}

/* *repaired: the text has something that is no UTF-8. */
static uint32_t intern(struct tw_export_part *part, const char *text, size_t len, bool *repaired)
{
	unsigned char high = 0;
	size_t i;

	*repaired = false;
	for (i = 0; i < len; i++)
		high |= (unsigned char)text[i];
	if (high < 0x80)
		return tw_pool_intern(&part->trace->texts, text, len);
	*repaired = repair_utf8(part, text, len) != 0;
	if (part->scratch.failed) {
		part->trace->texts.failed = true;
		return 0;
	}
	return tw_pool_intern(&part->trace->texts, part->scratch.ptr, part->scratch.len);
}

uint32_t tw_export_intern(struct tw_export_part *part, const char *text, size_t len)
{
	bool repaired;
	uint32_t id = intern(part, text, len, &repaired);

	if (repaired)
		tw_quality_add_row(&part->trace->quality, TW_DEFECT_bad_utf8, 1,
				   tw_export_table_name(part), part->rows.row);
	return id;
}

/* "cudaLaunchKernel_v7000": the number is that of the CUDA version that brought this form. */
static size_t without_version(const char *name, size_t len)
{
	size_t at = len;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	return at < len && at > 2 && name[at - 1] == 'v' && name[at - 2] == '_' ? at - 2 : len;
}

static uint32_t look_up(struct tw_export_part *part, struct tw_ids *ids, int64_t id)
{
	const char *text;
	uint32_t found = tw_ids_get(ids, id);
	bool repaired = false;
	size_t len;

	if (found != TW_IDS_NONE)
		return found;
	text = tw_nsys_text(part->rows.database, id, &len);
	if (text && ids == &part->calls)
		len = without_version(text, len);
	found = text ? intern(part, text, len, &repaired) : 0;
	/* Several parts ask for it, and it counts once. */
	if (repaired)
		part->trace->texts.flags[found] |= TW_EXPORT_REPAIRED;
	if (!tw_ids_put(ids, id, found, part->rows.allocator))
		part->trace->texts.failed = true;
	return found;
}

uint32_t tw_export_pool_text(struct tw_export_part *part, int64_t id)
{
	return look_up(part, &part->names, id);
}

uint32_t tw_export_call(struct tw_export_part *part, int64_t id)
{
	return look_up(part, &part->calls, id);
}

/* ---- tracks */

static tw_code code_of_context(struct tw_export_part *part, int64_t context, int64_t green)
{
	char text[48];
	int len;

	if (!green)
		return tw_code_from_integer(part->trace, context);
	len = snprintf(text, sizeof(text), "%lld/%lld", (long long)context, (long long)green);
	return tw_code_from_text(part->trace, text, (size_t)len);
}

static uint32_t find_track(struct tw_export_part *part, const int64_t key[5], bool gpu)
{
	uint64_t hash = (uint64_t)key[0] * 31 + (uint64_t)key[1] * 7 + (uint64_t)key[2] * 5 +
			(uint64_t)key[3] * 3 + (uint64_t)key[4];
	unsigned slot = hash % TW_EXPORT_TRACKS;
	struct tw_track track;

	if (part->tracks[slot].next &&
	    !memcmp(part->tracks[slot].key, key, sizeof(part->tracks[slot].key)))
		return part->tracks[slot].next - 1;
	track.pid = tw_code_from_integer(part->trace, key[0]);
	track.tid = gpu ? code_of_context(part, key[2], key[3]) :
			  tw_code_from_integer(part->trace, key[1]);
	track.device = gpu ? tw_code_from_integer(part->trace, key[1]) : TW_CODE_NONE;
	track.stream = gpu ? tw_code_from_integer(part->trace, key[4]) : TW_CODE_NONE;
	if (part->trace->texts.failed)
		return UINT32_MAX;
	memcpy(part->tracks[slot].key, key, sizeof(part->tracks[slot].key));
	/* After it: 0 also when out of memory. */
	part->tracks[slot].next = tw_trace_track(part->trace, &track) + 1;
	return part->tracks[slot].next - 1;
}

/* No device has this number: keys of threads and streams differ. */
#define THREAD_KEY INT64_MIN

uint32_t tw_export_host_track(struct tw_export_part *part, int64_t global_tid)
{
	const int64_t key[5] = { tw_nsys_process(global_tid), tw_nsys_tid(global_tid), THREAD_KEY };

	return find_track(part, key, false);
}

uint32_t tw_export_gpu_track(struct tw_export_part *part, int64_t global_pid, int64_t device,
			     int64_t context, int64_t green, int64_t stream)
{
	const int64_t key[5] = { tw_nsys_process(global_pid), device, context,
				 green == UINT32_MAX ? 0 : green, stream };

	return find_track(part, key, true);
}

/* ---- events */

void tw_export_count(struct tw_export_part *part, enum tw_defect kind)
{
	tw_quality_add_row(&part->trace->quality, kind, 1, tw_export_table_name(part),
			   part->rows.row);
}

void tw_export_times(struct tw_export_part *part, struct tw_export_event *event)
{
	const int64_t *v = part->rows.values;

	event->start_ns = event->dur_ns = TRAWL_TIME_NONE;
	if (!tw_export_has(part, TW_GPU_START))
		return;
	event->start_ns = v[TW_GPU_START];
	/* Recorded, but impossible. */
	if (event->start_ns == TRAWL_TIME_NONE)
		event->start_ns++;
	if (tw_export_has(part, TW_GPU_END) &&
	    __builtin_sub_overflow(v[TW_GPU_END], event->start_ns, &event->dur_ns))
		event->dur_ns = INT64_MAX;
}

static bool is_impossible(const struct tw_export_event *e)
{
	return e->start_ns > TW_LATEST_TIME_NS || e->start_ns < -TW_LATEST_TIME_NS ||
	       e->dur_ns > TW_LONGEST_DURATION_NS ||
	       (e->dur_ns != TRAWL_TIME_NONE && e->dur_ns < -TW_LONGEST_DURATION_NS);
}

/* Whether a slice's times can be used; counts why not. */
static bool check_slice(struct tw_export_part *part, struct tw_export_event *e,
			enum trawl_class class)
{
	bool gpu = tw_class_is_gpu(class);
	enum tw_defect kind;

	if (e->start_ns == TRAWL_TIME_NONE)
		kind = gpu ? TW_DEFECT_gpu_no_start : TW_DEFECT_no_duration;
	else if (is_impossible(e))
		kind = gpu ? TW_DEFECT_gpu_overflow : TW_DEFECT_overflow;
	else if (e->dur_ns == TRAWL_TIME_NONE)
		kind = gpu ? TW_DEFECT_gpu_no_duration : TW_DEFECT_no_duration;
	else if (e->dur_ns < 0)
		kind = gpu ? TW_DEFECT_gpu_negative_duration : TW_DEFECT_negative_duration;
	else if (gpu && e->start_ns == 0 && e->dur_ns == 0)
		kind = TW_DEFECT_gpu_time_lost;
	else
		return true;
	if (is_impossible(e) || e->dur_ns < 0)
		e->dur_ns = TRAWL_TIME_NONE;
	if (class != TRAWL_CLASS_OTHER)
		tw_export_count(part, kind);
	return false;
}

int tw_export_keep(struct tw_export_part *part, const struct tw_export_event *event)
{
	struct tw_events *events = &part->trace->events;
	struct tw_export_event e = *event;
	uint64_t i = events->count;

	if (e.phase == 'X' && !check_slice(part, &e, part->trace->categories[e.category].class))
		e.phase = 'x';
	/* Not used, whatever the phase. */
	if (e.start_ns > TW_LATEST_TIME_NS || e.start_ns < -TW_LATEST_TIME_NS)
		e.start_ns = TRAWL_TIME_NONE;
	if (e.track == UINT32_MAX || part->trace->texts.failed || tw_events_grow(part->trace) ||
	    tw_origins_add(&part->trace->origins, i, tw_export_table_name(part), part->rows.row))
		return -1;
	events->count++;
	events->start_ns[i] = e.start_ns;
	events->dur_ns[i] = e.dur_ns;
	events->name[i] = e.name;
	events->track[i] = e.track;
	events->correlation[i] = e.correlation;
	events->external[i] = TW_CODE_NONE;
	events->args[i] = e.args;
	events->category[i] = (uint16_t)e.category;
	events->phase[i] = e.phase;
	return 0;
}

int tw_export_keep_name(struct tw_export_part *part, uint32_t kind, uint32_t track, uint32_t name)
{
	struct tw_export_event e = { TW_EXPORT_EVENT, .phase = 'M', .name = kind, .track = track };
	size_t start;

	if (tw_export_args_begin(part, 1, &start))
		return -1;
	tw_args_put_text(&part->trace->args, TW_KEY_name, TRAWL_VALUE_TEXT, name);
	return tw_export_args_end(part, start, &e.args) ? -1 : tw_export_keep(part, &e);
}

unsigned tw_export_category(struct tw_export_part *part, const char *name, enum trawl_class class)
{
	return tw_trace_category(part->trace, tw_pool_intern_cstr(&part->trace->texts, name),
				 class);
}

/* ---- arguments */

int tw_export_args_begin(struct tw_export_part *part, size_t most, size_t *start)
{
	if (tw_args_reserve(&part->trace->args, (most + 1) * TW_ARG_MAX_BYTES))
		return -1;
	*start = part->trace->args.len;
	return 0;
}

void tw_export_put(struct tw_export_part *part, uint32_t key, unsigned column)
{
	if (tw_export_has(part, column))
		tw_args_put_integer(&part->trace->args, key, part->rows.values[column]);
}

int tw_export_put_triple(struct tw_export_part *part, uint32_t key, unsigned column)
{
	const int64_t *v = part->rows.values + column;
	unsigned slot = (unsigned)(tw_hash_mix((uint64_t)v[0] ^ TW_HASH_K0,
					       (uint64_t)v[1] * TW_HASH_K1 + (uint64_t)v[2]) %
				   TW_EXPORT_TRIPLES);
	char text[80];
	int len;

	if ((part->rows.given >> column & 7) != 7)
		return 0;
	if (!part->triples[slot].text || part->triples[slot].x != v[0] ||
	    part->triples[slot].y != v[1] || part->triples[slot].z != v[2]) {
		len = snprintf(text, sizeof(text), "[%lld, %lld, %lld]", (long long)v[0],
			       (long long)v[1], (long long)v[2]);
		part->triples[slot].text = tw_pool_intern(&part->trace->texts, text, (size_t)len);
		part->triples[slot].x = v[0];
		part->triples[slot].y = v[1];
		part->triples[slot].z = v[2];
		if (!part->triples[slot].text)
			return -1;
	}
	tw_args_put_text(&part->trace->args, key, TRAWL_VALUE_JSON, part->triples[slot].text);
	return 0;
}

int tw_export_args_end(struct tw_export_part *part, size_t start, uint32_t *args)
{
	*args = 0;
	if (part->trace->args.len == start)
		return 0;
	return tw_args_end(&part->trace->args, start, args);
}
