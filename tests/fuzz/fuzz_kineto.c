/*
 * Any bytes as a trace: read, derived, reported, rendered.  Whatever the input, nothing may
 * crash, no duration is negative, busy and idle make the total, and the tables account for all
 * the time; and blocks of every size read the same, and parts of several threads.  The first byte
 * chooses these sizes and what is asked for.
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

static void use_trace(const struct trawl_trace *trace, unsigned choice)
{
	struct trawl_report_options options;
	struct trawl_report *report;

	check_trace(trace);
	trawl_report_options_init(&options);
	options.threads = 1;
	options.clip_overruns = choice & 1;
	options.linked_only = choice & 2;
	if (choice & 4) {
		options.step_first = 1;
		options.step_last = 2;
	}
	if (trawl_report_new(&report, trace, &options, NULL))
		return;
	check_report(report);
	render(report);
	trawl_report_free(report);
}

/* ---- the same of every size of block and part */

static void check_texts(const struct trawl_trace *a, uint32_t x, const struct trawl_trace *b,
			uint32_t y)
{
	size_t a_len, b_len;
	const char *p = tw_pool_text(&a->texts, x, &a_len), *q = tw_pool_text(&b->texts, y, &b_len);

	check(a_len == b_len && !memcmp(p, q, a_len));
}

static void check_codes(const struct trawl_trace *a, tw_code x, const struct trawl_trace *b,
			tw_code y)
{
	char a_buffer[24], b_buffer[24];
	size_t a_len, b_len;
	const char *p = tw_code_text(a, x, a_buffer, &a_len);
	const char *q = tw_code_text(b, y, b_buffer, &b_len);

	check((x == TW_CODE_NONE) == (y == TW_CODE_NONE) && a_len == b_len && !memcmp(p, q, a_len));
}

static void check_args(const struct trawl_trace *a, const struct trawl_trace *b, uint64_t i)
{
	size_t at = (size_t)a->events.args[i] * TW_ARGS_ALIGN;
	size_t bt = (size_t)b->events.args[i] * TW_ARGS_ALIGN;
	struct trawl_argument x, y;
	bool more = at != 0;

	check(!at == !bt);
	while (more) {
		more = tw_args_next(&a->args, &at, &x);
		check(more == tw_args_next(&b->args, &bt, &y));
		if (!more)
			break;
		check_texts(a, x.key, b, y.key);
		check(x.kind == y.kind && x.integer == y.integer &&
		      !memcmp(&x.real, &y.real, sizeof(x.real)));
		check_texts(a, x.text, b, y.text);
	}
}

static void check_same(const struct trawl_trace *a, const struct trawl_trace *b)
{
	uint64_t i;

	check(a->events.count == b->events.count && a->field_count == b->field_count);
	for (i = 0; i < a->events.count; i++) {
		const struct tw_track *s = &a->tracks[a->events.track[i]];
		const struct tw_track *t = &b->tracks[b->events.track[i]];

		check(a->events.phase[i] == b->events.phase[i] &&
		      a->events.start_ns[i] == b->events.start_ns[i] &&
		      a->events.dur_ns[i] == b->events.dur_ns[i] &&
		      tw_class(a, i) == tw_class(b, i));
		check_texts(a, a->events.name[i], b, b->events.name[i]);
		check_codes(a, a->events.correlation[i], b, b->events.correlation[i]);
		check_codes(a, a->events.external[i], b, b->events.external[i]);
		check_codes(a, s->pid, b, t->pid);
		check_codes(a, s->tid, b, t->tid);
		check_codes(a, s->device, b, t->device);
		check_codes(a, s->stream, b, t->stream);
		check_args(a, b, i);
	}
	for (i = 0; i < TW_DEFECT_COUNT; i++)
		check(a->quality.kinds[i].count == b->quality.kinds[i].count &&
		      a->quality.kinds[i].offset == b->quality.kinds[i].offset &&
		      a->quality.kinds[i].event == b->quality.kinds[i].event);
}

/* part_size 0: by one thread. */
static struct trawl_trace *read_trace(const uint8_t *data, size_t size, size_t block_size,
				      size_t part_size)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	const struct trawl_read_options read = { .allocator = allocator,
						 .threads = part_size ? 2 : 1,
						 .block_size = block_size,
						 .part_size = part_size };
	const struct tw_feed_options options = { .allocator = allocator,
						 .block_size = block_size,
						 .end = -1 };
	struct trawl_trace *trace = tw_trace_new(allocator);
	struct tw_feed *feed;

	check(trace != NULL);
	if (!tw_feed_open_memory(&feed, data, size, &options, NULL) &&
	    !tw_kineto_read(trace, feed, &read, NULL) && !tw_trace_finish(trace))
		return trace;
	trawl_trace_free(trace);
	return NULL;
}

static void check_reading(const struct trawl_trace *trace, const uint8_t *data, size_t size,
			  size_t block_size, size_t part_size)
{
	struct trawl_trace *other = read_trace(data, size, block_size, part_size);

	check(!trace == !other);
	if (trace)
		check_same(trace, other);
	trawl_trace_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t block_sizes[] = { 0, 1, 7, 64, 4096 };
	static const size_t part_sizes[] = { 1000, 200, 4096 };
	struct trawl_trace *trace;
	size_t block_size, part_size;

	if (!size)
		return 0;
	block_size = block_sizes[data[0] % 5];
	part_size = part_sizes[data[0] / 40 % 3];
	while (size / part_size > 6)
		part_size *= 2;
	/* Large texts in small blocks take long and show nothing more. */
	if (block_size && size / block_size > 5000)
		block_size = 4096;
	trace = read_trace(data + 1, size - 1, 0, 0);
	if (block_size)
		check_reading(trace, data + 1, size - 1, block_size, 0);
	if (size > 2 * part_size)
		check_reading(trace, data + 1, size - 1, block_size, part_size);
	if (trace)
		use_trace(trace, data[0] / 5);
	trawl_trace_free(trace);
	return 0;
}
