/*
 * Databases as exports of Nsight Systems: read, derived, reported.  The first byte chooses what is
 * asked for, and how the rest is meant, see made_export.h.
 * Nothing may crash, no duration is negative, the tables account for all the time, and parts of
 * any size read the same.
 */
#include "derive/derived.h"
#include "made_export.h"
#include "trace/reader.h"
#include "trawl/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- what must hold */

static void check_trace(const struct trawl_trace *trace)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		check(trace->events.phase[i] != 'X' ||
		      (trace->events.dur_ns[i] >= 0 &&
		       trace->events.start_ns[i] != TRAWL_TIME_NONE));
}

/* The integer in `column` of the row that begins with `name`, 0 when there is none. */
static int64_t value_of(const struct trawl_report *report, const char *table_name, const char *name)
{
	const struct trawl_table *table = trawl_report_find(report, table_name);
	size_t row;

	for (row = 0; table && row < trawl_table_rows(table); row++) {
		struct trawl_cell cell = trawl_table_cell(table, row, 0);

		if (cell.text_len == strlen(name) && !memcmp(cell.text, name, cell.text_len))
			return trawl_table_cell(table, row, 1).integer;
	}
	return 0;
}

static void use_trace(const struct trawl_trace *trace, unsigned choice)
{
	struct trawl_report_options options;
	struct trawl_report *report;

	check_trace(trace);
	trawl_report_options_init(&options);
	options.threads = 1;
	options.clip_overruns = choice & 1;
	options.linked_only = choice & 2;
	if (trawl_report_new(&report, trace, &options, NULL))
		return;
	check(value_of(report, "reconciliation", "difference") == 0);
	check(value_of(report, "gpu_timeline", "busy_time") +
		      value_of(report, "gpu_timeline", "idle_time") ==
	      value_of(report, "gpu_timeline", "total_time"));
	trawl_report_free(report);
}

static void check_same(const struct trawl_trace *a, const struct trawl_trace *b)
{
	uint64_t i;

	check(a->events.count == b->events.count && a->track_count == b->track_count &&
	      a->texts.count == b->texts.count);
	for (i = 0; i < a->events.count; i++)
		check(a->events.phase[i] == b->events.phase[i] &&
		      a->events.start_ns[i] == b->events.start_ns[i] &&
		      a->events.dur_ns[i] == b->events.dur_ns[i] &&
		      a->events.name[i] == b->events.name[i] &&
		      a->events.track[i] == b->events.track[i] &&
		      a->events.correlation[i] == b->events.correlation[i] &&
		      !a->events.args[i] == !b->events.args[i]);
	for (i = 0; i < a->track_count; i++)
		check(!memcmp(&a->tracks[i], &b->tracks[i], sizeof(a->tracks[i])));
	for (i = 0; i < TW_DEFECT_COUNT; i++)
		check(a->quality.kinds[i].count == b->quality.kinds[i].count &&
		      a->quality.kinds[i].offset == b->quality.kinds[i].offset);
}

static struct trawl_trace *read_file(const char *path, size_t block_size)
{
	const struct trawl_read_options options = { .allocator = trawl_allocator_default(),
						    .threads = 1,
						    .block_size = block_size };
	struct trawl_trace *trace = tw_trace_new(options.allocator);

	check(trace != NULL);
	if (!tw_nsys_read(trace, path, &options, NULL) && !tw_trace_finish(trace))
		return trace;
	trawl_trace_free(trace);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trawl_trace *trace, *other;
	const char *path;

	if (size < 2)
		return 0;
	path = data[0] & 0x80 ? made_export_rows(data + 1, size - 1, 1) :
				made_export_bytes(data + 1, size - 1);
	trace = read_file(path, 0);
	/*
	 * Where a table is damaged more of it is found by looking at more places.  Parts of a row
	 * each take long when there are many.
	 */
	if (trace && (data[0] & 0x80)) {
		other = read_file(path, size < 256 ? 1 : size);
		check(other != NULL);
		check_same(trace, other);
		trawl_trace_free(other);
	}
	if (trace)
		use_trace(trace, data[0]);
	trawl_trace_free(trace);
	return 0;
}
