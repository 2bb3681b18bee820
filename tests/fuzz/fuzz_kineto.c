/*
 * Any bytes as a trace: read, derived, reported, rendered.  Whatever the input, nothing may
 * crash, no duration is negative, busy and idle make the total, and the tables account for all
 * the time.  The first byte chooses the block size.
 */
#include "derive/derived.h"
#include "render/render.h"
#include "trace/reader.h"
#include "trawl/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

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

static void check_report(const struct trawl_report *report)
{
	check(value_of(report, "reconciliation", "difference") == 0);
	check(value_of(report, "gpu_timeline", "busy_time") +
		      value_of(report, "gpu_timeline", "idle_time") ==
	      value_of(report, "gpu_timeline", "total_time"));
}

static void render(const struct trawl_report *report)
{
	size_t i, count = trawl_report_tables(report);
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 0; i < count; i++) {
		const struct trawl_table *table = trawl_report_table(report, i);

		tw_render_csv(table, &out);
		tw_render_json(&table, 1, "fuzz", &out);
		tw_render_text(table, &out, 80, 0);
		tw_render_markdown(table, &out);
		tw_str_clear(&out);
	}
	tw_str_release(&out);
}

static void use_trace(struct trawl_trace *trace)
{
	struct trawl_report_options options;
	struct trawl_report *report;

	check_trace(trace);
	trawl_report_options_init(&options);
	options.threads = 1;
	if (trawl_report_new(&report, trace, &options, NULL))
		return;
	check_report(report);
	render(report);
	trawl_report_free(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t block_sizes[] = { 0, 1, 7, 64, 4096 };
	const struct trawl_allocator *allocator = trawl_allocator_default();
	const struct trawl_read_options read = { .allocator = allocator, .threads = 1 };
	struct tw_feed_options options = { .allocator = allocator, .end = -1 };
	struct trawl_trace *trace;
	struct tw_feed *feed;

	if (!size)
		return 0;
	options.block_size = block_sizes[data[0] % 5];
	trace = tw_trace_new(allocator);
	check(trace != NULL);
	if (!tw_feed_open_memory(&feed, data + 1, size - 1, &options, NULL) &&
	    !tw_kineto_read(trace, feed, "memory", &read, NULL) && !tw_trace_finish(trace))
		use_trace(trace);
	trawl_trace_free(trace);
	return 0;
}
