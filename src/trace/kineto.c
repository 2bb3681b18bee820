/*
 * The document around the events: `{"schemaVersion": 1, ..., "traceEvents": [ ... ], ...}`, or
 * the list alone.
 */
#include "trace/kineto.h"

#include "base/advice.h"
#include "text/scan.h"
#include "trace/pairs.h"
#include "trace/reader.h"

/* To the end of the text, so that a damaged wrapper is seen. */
static int read_on(struct tw_kineto_part *part)
{
	int status = 0;

	while (!status && !part->k.window.last) {
		part->p = part->k.window.end;
		status = tw_kineto_more_text(part, part->p);
	}
	return status;
}

/*
 * Text after what looked like the end of the list, in which more events stand: a bracket too
 * many, or one of a damaged event.  1: p is at the next event; 0: there is none.
 */
static int find_more_events(struct tw_kineto_part *part)
{
	struct tw_kineto *k = &part->k;
	int64_t offset = tw_kineto_offset(k, part->p);
	int found = tw_kineto_have_text(part, TW_KEY_REACH);

	if (found)
		return found;
	if (tw_kineto_begins_event(part->p, k->window.end))
		found = 1;
	else if (*part->p == '{' || *part->p == '[')
		return 0;
	else
		found = tw_kineto_skip_damage(part);
	if (found >= 0)
		tw_quality_add(&k->trace->quality,
			       found ? TW_DEFECT_unreadable_stretch : TW_DEFECT_trailing_text, 1,
			       offset, -1);
	return found;
}

/* The text after the end of the document. */
static int take_rest(struct tw_kineto_part *part)
{
	int there, found;

	for (;;) {
		there = tw_kineto_next_byte(part);
		if (there <= 0)
			return there;
		found = find_more_events(part);
		if (found < 0)
			return found;
		if (!found)
			break;
		part->place = TW_PLACE_EVENTS;
		part->k.stop = INT64_MAX;
		there = tw_kineto_take_events(part);
		if (there || part->place == TW_PLACE_END)
			return there;
	}
	if (part->p < part->k.window.end && (*part->p == '{' || *part->p == '['))
		tw_kineto_count(part, TW_DEFECT_second_document, 1);
	return read_on(part);
}

static int not_json(struct tw_kineto_part *part)
{
	unsigned char c = (unsigned char)*part->p;

	if (c > ' ' && c < 127)
		return trawl_error_set_at(&part->err, TRAWL_EFORMAT,
					  tw_kineto_offset(&part->k, part->p),
					  "not a JSON trace (starts with '%c')", c);
	return trawl_error_set_at(&part->err, TRAWL_EFORMAT, tw_kineto_offset(&part->k, part->p),
				  "not a JSON trace (starts with byte 0x%02x)", c);
}

/* Other JSON of profilers, recognized by a field. */
static const struct {
	const char *field, *what;
} other_documents[] = {
	{ "rocprofiler-sdk-tool", "rocprofv3 JSON, not a Chrome trace" TW_ADVICE_ROCPROF },
	{ "nodes", "an execution trace (ExecutionTraceObserver), not a profiler trace: use the "
		   "trace exported by torch.profiler" },
	{ "deviceProperties", "a trace without an event list (\"traceEvents\")" },
};

static int no_events(struct tw_kineto_part *part)
{
	size_t i, len;

	if (part->k.trace->quality.kinds[TW_DEFECT_truncated].count)
		return trawl_error_set(&part->err, TRAWL_EFORMAT,
				       "truncated before the event list (\"traceEvents\")");
	for (i = 0; i < sizeof(other_documents) / sizeof(other_documents[0]); i++)
		if (tw_trace_field(part->k.trace, other_documents[i].field, &len))
			return trawl_error_set(&part->err, TRAWL_ENODATA, "%s",
					       other_documents[i].what);
	return trawl_error_set(
		&part->err, TRAWL_ENODATA,
		"JSON without an event list (\"traceEvents\"): not a profiler trace");
}

/* The document from its first byte to its last. */
static int take_document(struct tw_kineto_part *part, const struct trawl_read_options *options)
{
	int status = tw_kineto_next_byte(part);

	if (status < 0)
		return status;
	if (status == 0)
		return trawl_error_set(&part->err, TRAWL_EFORMAT,
				       "empty (the profiler wrote no data)");
	if (*part->p != '{' && *part->p != '[')
		return not_json(part);
	part->bare = *part->p++ == '[';
	part->depth = !part->bare;
	if (part->depth)
		status = tw_kineto_take_fields(part, true);
	while (status > 0) {
		part->any_events = true;
		part->place = TW_PLACE_EVENTS;
		status = tw_kineto_take_events_parallel(part, options);
		if (status || part->place == TW_PLACE_END || part->bare)
			break;
		status = tw_kineto_take_fields(part, false);
	}
	if (status < 0)
		return status;
	if (!part->any_events)
		return no_events(part);
	/* All objects that were open around the list ended, or there was one too few. */
	if (part->doubtful)
		tw_quality_add(&part->k.trace->quality,
			       part->depth ? TW_DEFECT_malformed_value : TW_DEFECT_nested_events, 1,
			       part->doubtful_at, -1);
	return part->place == TW_PLACE_END ? 0 : take_rest(part);
}

static void count_feed_notes(struct trawl_trace *trace, const struct tw_feed *feed)
{
	static const enum tw_defect kinds[TW_FEED_NOTE_KINDS] = {
		[TW_FEED_TRUNCATED] = TW_DEFECT_compressed_truncated,
		[TW_FEED_CORRUPT] = TW_DEFECT_compressed_corrupt,
		[TW_FEED_CHECKSUM] = TW_DEFECT_compressed_checksum,
		[TW_FEED_TRAILING] = TW_DEFECT_trailing_bytes,
		[TW_FEED_NESTED] = TW_DEFECT_compressed_twice,
		[TW_FEED_ZLIB] = TW_DEFECT_zlib_wrapper,
		[TW_FEED_UTF16] = TW_DEFECT_utf16,
		[TW_FEED_BOM] = TW_DEFECT_byte_order_mark,
	};
	const struct tw_feed_note *notes = tw_feed_notes(feed);
	size_t i;

	/* The text ends early because the file does: one defect, counted once. */
	if (notes[TW_FEED_TRUNCATED].count || notes[TW_FEED_CORRUPT].count)
		trace->quality.kinds[TW_DEFECT_truncated].count = 0;
	for (i = 0; i < TW_FEED_NOTE_KINDS; i++)
		tw_quality_add(&trace->quality, kinds[i], notes[i].count, notes[i].offset, -1);
}

static void take_device_name(struct trawl_trace *trace, const char *text, size_t len)
{
	struct tw_str name;
	uint32_t id;

	tw_str_init(&name, trace->allocator);
	tw_text_decode(text, len, &name);
	id = tw_pool_intern(&trace->texts, name.ptr ? name.ptr : "", name.len);
	trace->device_name = tw_pool_text(&trace->texts, id, NULL);
	trace->texts.failed |= name.failed;
	tw_str_release(&name);
}

/* A number that `field` has of the first device, -1: none. */
static int64_t device_property(const char *field, size_t len, const char *name)
{
	size_t value_len;
	const char *value = field ? tw_text_member(field, len, name, &value_len) : NULL;
	int64_t number;

	return value && tw_text_integer(value, value_len, &number) ? number : -1;
}

/* Facts about the run, outside the events. */
static void take_facts(struct trawl_trace *trace)
{
	const char *field, *value;
	size_t len, value_len;
	int64_t major, minor;

	field = tw_trace_field(trace, "distributedInfo", &len);
	if (field && (value = tw_text_member(field, len, "rank", &value_len)))
		if (!tw_text_integer(value, value_len, &trace->rank))
			trace->rank = -1;
	if (field && (value = tw_text_member(field, len, "world_size", &value_len)))
		if (!tw_text_integer(value, value_len, &trace->world_size) || !trace->world_size)
			trace->world_size = -1;
	field = tw_trace_field(trace, "baseTimeNanoseconds", &len);
	if (field && !tw_text_integer(field, len, &trace->base_time_ns))
		trace->base_time_ns = TRAWL_TIME_NONE;
	field = tw_trace_field(trace, "deviceProperties", &len);
	field = field ? tw_text_element(field, len, 0, &len) : NULL;
	value = field ? tw_text_member(field, len, "name", &value_len) : NULL;
	if (value && value_len > 2 && value[0] == '"')
		take_device_name(trace, value + 1, value_len - 2);
	trace->device_bytes = device_property(field, len, "totalGlobalMem");
	trace->device_units = device_property(field, len, "numSms");
	major = device_property(field, len, "computeMajor");
	minor = device_property(field, len, "computeMinor");
	if (major >= 0 && major < 1000 && minor >= 0 && minor < 10)
		trace->device_compute = 10 * major + minor;
}

int tw_kineto_read(struct trawl_trace *trace, struct tw_feed *feed,
		   const struct trawl_read_options *options, struct trawl_error *err)
{
	struct tw_kineto_part part = { .ended = -1 };
	int status = tw_kineto_part_init(&part, trace, feed);

	part.k.progress = options->progress;
	part.k.progress_context = options->progress_context;
	part.k.progress_parts = 1;
	part.k.no_python = options->no_python;
	if (!status)
		status = tw_feed_next(feed, 0, &part.k.window, &part.err);
	part.p = part.k.window.begin;
	if (!status)
		status = take_document(&part, options);
	if (!status && tw_pairs_match(trace))
		status = tw_kineto_no_memory(&part);
	if (!status) {
		trace->format = tw_kineto_reader.name;
		trace->bare = part.bare;
		trace->bytes = part.k.window.offset + (part.k.window.end - part.k.window.begin);
		take_facts(trace);
	}
	count_feed_notes(trace, part.k.feed);
	if (err && status)
		*err = part.err;
	tw_feed_close(part.k.feed);
	tw_kineto_part_release(&part);
	return status;
}
