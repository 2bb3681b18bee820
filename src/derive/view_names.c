#include "derive/view_names.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "text/str.h"
#include "text/suggestions.h"
#include "text/utf8.h"

#include <string.h>

/* A message names so many, and has the total. */
#define MAX_NAMED 12
#define MAX_NAME_BYTES 64
/* So many are compared with what was asked for. */
#define MAX_COMPARED 1000

/* Adds a name of a list: those after the first few are only counted. */
static void add_name(struct tw_str *out, uint64_t index, const char *name, size_t len)
{
	char shown[MAX_NAME_BYTES];

	if (index > MAX_NAMED)
		return;
	tw_str_add_cstr(out, index ? ", " : "");
	if (index == MAX_NAMED) {
		tw_str_add_cstr(out, "...");
		return;
	}
	tw_cut_into(shown, sizeof(shown), name, len);
	tw_str_add_cstr(out, shown);
}

static void add_total(struct tw_str *out, uint64_t count)
{
	if (count > MAX_NAMED)
		tw_str_addf(out, " (%llu in total)", (unsigned long long)count);
}

static bool is_annotation(const struct trawl_trace *trace, uint64_t i, enum trawl_class class)
{
	return tw_is_range(trace, i, class) || tw_is_range(trace, i, TRAWL_CLASS_GPU_ANNOTATION);
}

/* Adds "1-3, 7": sorted numbers, those that follow each other joined.  Returns their number. */
static uint64_t add_runs(struct tw_str *out, const struct trawl_trace *trace,
			 const uint32_t *events, uint64_t count)
{
	uint64_t i, runs = 0, distinct = 0;
	struct tw_str run;

	tw_str_init(&run, out->allocator);
	for (i = 0; i < count; i++) {
		int64_t from = tw_step_of(trace, events[i]), to = from;

		for (; i + 1 < count && tw_step_of(trace, events[i + 1]) <= to + 1; i++)
			to = tw_step_of(trace, events[i + 1]);
		distinct += (uint64_t)(to - from) + 1;
		tw_str_clear(&run);
		tw_str_add_int(&run, from);
		if (to > from) {
			tw_str_add_char(&run, '-');
			tw_str_add_int(&run, to);
		}
		add_name(out, runs++, run.ptr ? run.ptr : "", run.len);
	}
	if (runs > MAX_NAMED)
		tw_str_addf(out, " (%llu in total)", (unsigned long long)distinct);
	out->failed |= run.failed;
	tw_str_release(&run);
	return distinct;
}

static uint64_t step_key(const void *trace, uint32_t event)
{
	return tw_sort_key(tw_step_of(trace, event));
}

/* Lists the steps; returns their number. */
static uint64_t list_steps(const struct trawl_trace *trace, struct tw_str *out)
{
	enum trawl_class class = tw_step_class(trace);
	uint64_t i, n = 0, k = 0, distinct = 0;
	uint32_t *list;

	for (i = 0; i < trace->events.count; i++)
		n += is_annotation(trace, i, class) && tw_step_of(trace, i) >= 0;
	list = tw_alloc(trace->allocator, (n + 1) * sizeof(*list));
	for (i = 0; list && i < trace->events.count; i++)
		if (is_annotation(trace, i, class) && tw_step_of(trace, i) >= 0)
			list[k++] = (uint32_t)i;
	if (list && !tw_sort(list, n, step_key, trace, trace->allocator))
		distinct = add_runs(out, trace, list, n);
	else
		out->failed = true;
	tw_free(trace->allocator, list, (n + 1) * sizeof(*list));
	return distinct;
}

/* Lists the names of annotations in the order of the input; returns their number. */
static uint64_t list_annotations(const struct trawl_trace *trace, const char *asked,
				 struct tw_str *out)
{
	struct tw_nearest nearest = { 0 };
	uint8_t *seen = tw_alloc_array(trace->allocator, trace->texts.count, 1);
	uint64_t i, count = 0;

	for (i = 0; seen && i < trace->events.count; i++) {
		uint32_t name = trace->events.name[i];
		const struct tw_pool_entry *text = &trace->texts.entries[name];

		if (seen[name] || !is_annotation(trace, i, TRAWL_CLASS_ANNOTATION))
			continue;
		seen[name] = 1;
		if (count < MAX_COMPARED)
			tw_nearest_add(&nearest, asked, text->ptr);
		add_name(out, count++, text->ptr, text->len);
	}
	add_total(out, count);
	tw_nearest_describe(&nearest, asked, out);
	out->failed |= !seen;
	tw_free(trace->allocator, seen, trace->texts.count);
	return count;
}

/* Lists the devices in order; returns their number. */
static uint64_t list_devices(const struct trawl_trace *trace, struct tw_str *out)
{
	tw_code last = TW_CODE_NONE;
	uint64_t count = 0;
	char buffer[24];
	size_t len;

	/* The least one after the last: more than a few are not named, and few there are. */
	while (count <= MAX_NAMED) {
		tw_code next = TW_CODE_NONE;
		const char *text;
		uint32_t t;

		for (t = 0; t < trace->track_count; t++) {
			tw_code device = trace->tracks[t].device;

			if (device == TW_CODE_NONE ||
			    (count && tw_code_compare(trace, device, last) <= 0))
				continue;
			if (next == TW_CODE_NONE || tw_code_compare(trace, device, next) < 0)
				next = device;
		}
		if (next == TW_CODE_NONE)
			break;
		text = tw_code_text(trace, next, buffer, &len);
		add_name(out, count++, text, len);
		last = next;
	}
	return count;
}

int tw_no_such_annotation(const struct trawl_trace *trace, const struct tw_view_options *o,
			  struct trawl_error *err)
{
	struct tw_str list;
	uint64_t count;
	int status;

	tw_str_init(&list, trace->allocator);
	count = o->range ? list_annotations(trace, o->range, &list) : list_steps(trace, &list);
	if (list.failed)
		status = tw_no_memory(err);
	else if (o->range && count)
		status = trawl_error_set(
			err, TRAWL_EUSAGE,
			"no annotation named '%.200s' in this trace; annotations: %s", o->range,
			list.ptr);
	else if (o->range)
		status = trawl_error_set(err, TRAWL_EUSAGE,
					 "no annotation named '%.200s': this trace has no "
					 "annotations",
					 o->range);
	else if (count)
		status = trawl_error_set(err, TRAWL_EUSAGE,
					 "no such step: this trace has step%s %s",
					 count > 1 ? "s" : "", list.ptr ? list.ptr : "");
	else
		status = trawl_error_set(err, TRAWL_EUSAGE, "this trace has no profiler steps");
	tw_str_release(&list);
	return status;
}

int tw_no_such_device(const struct trawl_trace *trace, const char *device, struct trawl_error *err)
{
	struct tw_str list;
	uint64_t count;
	int status;

	tw_str_init(&list, trace->allocator);
	count = list_devices(trace, &list);
	if (list.failed)
		status = tw_no_memory(err);
	else if (count)
		status = trawl_error_set(err, TRAWL_EUSAGE,
					 "no GPU event of device %.60s: this trace has device%s %s",
					 device, count > 1 ? "s" : "", list.ptr ? list.ptr : "");
	else
		status = trawl_error_set(err, TRAWL_EUSAGE,
					 "no GPU event of device %.60s: this trace has no GPU "
					 "events",
					 device);
	tw_str_release(&list);
	return status;
}
