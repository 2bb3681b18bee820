/* The steps of a trainer as characters, and as a table. */
#include "study/sweep/metrics_timeline.h"

#include "base/alloc.h"
#include "render/escape.h"
#include "render/width.h"
#include "table/table.h"

#include <string.h>

#define LINE_CELLS 100
#define LABEL_CELLS 15
/* The two ends of the ruler, and the words under which it stands. */
#define RULER_WORDS 18

static const char *const marks[] = {
	[TW_METRICS_COMPUTE] = "\xE2\x96\x88",	     /* full block */
	[TW_METRICS_COMMUNICATION] = "\xE2\x96\x93", /* dark shade */
	[TW_METRICS_OPTIMIZER] = "\xE2\x96\x92",     /* medium shade */
	[TW_METRICS_PREFETCH] = "\xE2\x96\x91",	     /* light shade */
	[TW_METRICS_OTHER] = "\xC2\xB7",	     /* middle dot */
};

#define NOTHING 0xff

static void add_times(struct tw_str *out, char c, int64_t count)
{
	for (; count > 0; count--)
		tw_str_add_char(out, c);
}

static void add_rule(struct tw_str *out, char c)
{
	add_times(out, c, LINE_CELLS);
	tw_str_add_char(out, '\n');
}

void tw_metrics_step_title(const struct tw_metrics_step *step, const char *word, struct tw_str *out)
{
	tw_str_addf(out, "%s %lld", word, (long long)step->step);
	if (step->repeated && step->epoch >= 0)
		tw_str_addf(out, " (epoch %lld)", (long long)step->epoch);
}

static void add_ms(struct tw_str *out, const char *what, int64_t ns)
{
	tw_str_addf(out, "  %s: ", what);
	tw_str_add_decimal_fixed(out, ns, 6, 2);
	tw_str_add_cstr(out, " ms\n");
}

static double overlap_ratio(const struct tw_metrics_step *step)
{
	return (double)step->overlap_ns / (double)step->compute_ns;
}

static void add_overlap(struct tw_str *out, const struct tw_metrics_step *step)
{
	tw_str_add_cstr(out, "\nOverlap Analysis:\n");
	add_ms(out, "Compute time", step->compute_ns);
	add_ms(out, "Comm time", step->communication_ns);
	add_ms(out, "Overlap time", step->overlap_ns);
	if (step->compute_ns > 0) {
		tw_str_add_cstr(out, "  Overlap ratio: ");
		tw_str_add_real_fixed(out, overlap_ratio(step), 4);
		tw_str_add_cstr(out, " (");
		tw_str_add_real_fixed(out, overlap_ratio(step) * 100, 2);
		tw_str_add_cstr(out, "%)\n");
	}
	tw_str_add_char(out, '\n');
}

static void add_label(struct tw_str *out, const char *stream, size_t width)
{
	struct tw_str safe;
	size_t cells;

	tw_str_init(&safe, out->allocator);
	tw_escape_terminal(&safe, stream, strlen(stream));
	tw_str_add(out, safe.len ? safe.ptr : "", safe.len);
	cells = safe.len ? tw_text_width(safe.ptr, safe.len) : 0;
	add_times(out, ' ', (int64_t)width - (int64_t)cells + 1);
	out->failed = out->failed || safe.failed;
	tw_str_release(&safe);
}

/* Ranges later in the file are over earlier ones. */
static void add_lane(struct tw_str *out, const struct tw_metrics_step *step, size_t lane,
		     size_t label, int64_t resolution_ns, unsigned char *cells, size_t width)
{
	size_t i, c;

	memset(cells, NOTHING, width);
	for (i = 0; i < step->count; i++) {
		const struct tw_metrics_range *range = &step->ranges[i];
		size_t last = (size_t)(range->end_ns / resolution_ns);

		if (range->lane != lane)
			continue;
		for (c = (size_t)(range->start_ns / resolution_ns); c <= last; c++)
			cells[c] = (unsigned char)range->category;
	}
	add_label(out, step->lanes[lane], label);
	for (c = 0; c < width; c++)
		tw_str_add_cstr(out, cells[c] == NOTHING ? " " : marks[cells[c]]);
	tw_str_add_char(out, '\n');
}

static size_t label_width(const struct tw_metrics_step *step)
{
	size_t width = LABEL_CELLS, i;

	for (i = 0; i < step->lane_count; i++) {
		size_t cells = tw_text_width(step->lanes[i], strlen(step->lanes[i]));

		if (cells > width)
			width = cells;
	}
	return width;
}

static void add_step(struct tw_str *out, const struct tw_metrics_step *step, int64_t resolution_ns)
{
	size_t width = (size_t)(step->total_ns / resolution_ns) + 1, lane;
	unsigned char *cells = tw_alloc(out->allocator, width);

	if (!cells) {
		out->failed = true;
		return;
	}
	add_rule(out, '-');
	tw_metrics_step_title(step, "STEP", out);
	tw_str_add_char(out, '\n');
	add_rule(out, '-');
	tw_str_add_cstr(out, "\nTotal duration: ");
	tw_str_add_decimal_fixed(out, step->total_ns, 6, 2);
	tw_str_add_cstr(out, " ms\nTimeline: 0 ms");
	add_times(out, ' ', (int64_t)width > RULER_WORDS ? (int64_t)width - RULER_WORDS : 1);
	tw_str_add_decimal_fixed(out, step->total_ns, 6, 1);
	tw_str_add_cstr(out, " ms\n          |");
	add_times(out, '-', (int64_t)width - 2);
	tw_str_add_cstr(out, "|\n");
	for (lane = 0; lane < step->lane_count; lane++)
		add_lane(out, step, lane, label_width(step), resolution_ns, cells, width);
	tw_free(out->allocator, cells, width);
	add_overlap(out, step);
}

void tw_metrics_timeline_text(const struct tw_metrics_timeline *timeline, int64_t resolution_ns,
			      struct tw_str *out)
{
	size_t i;

	add_rule(out, '=');
	tw_str_add_cstr(out, "TEXT-BASED TIMELINE VISUALIZATION\n");
	add_rule(out, '=');
	tw_str_addf(out,
		    "\nLegend:\n  %s = Compute (forward/backward)\n"
		    "  %s = Communication (all-gather, reduce-scatter)\n"
		    "  %s = Optimizer/Grad Clip\n  %s = Prefetch\n  %s = Other\n\n"
		    "Time resolution: ",
		    marks[TW_METRICS_COMPUTE], marks[TW_METRICS_COMMUNICATION],
		    marks[TW_METRICS_OPTIMIZER], marks[TW_METRICS_PREFETCH],
		    marks[TW_METRICS_OTHER]);
	tw_str_add_decimal(out, resolution_ns, 6);
	tw_str_add_cstr(out, " ms per character\n\n");
	for (i = 0; i < timeline->count; i++)
		add_step(out, &timeline->steps[i], resolution_ns);
	add_rule(out, '=');
}

/* ---- the table */

enum { STEP, EPOCH, TOTAL, COMPUTE, COMMUNICATION, OVERLAP, RATIO, COLUMNS };

static const struct trawl_column columns[COLUMNS] = {
	[STEP] = TW_INTEGER("step", 8, "step number", .values = "!"),
	[EPOCH] = TW_INTEGER("epoch", 8, "missing: not recorded", .values = ">=0"),
	[TOTAL] = TW_DECIMAL("total (ms)", "ms", 6, 2, 12, "first start to last end",
			     .values = "!>=0"),
	[COMPUTE] = TW_DECIMAL("compute (ms)", "ms", 6, 2, 12, "sum of forward and backward ranges",
			       .values = "!>=0"),
	[COMMUNICATION] = TW_DECIMAL("communication (ms)", "ms", 6, 2, 12,
				     "sum of collective ranges", .values = "!>=0"),
	[OVERLAP] = TW_DECIMAL("overlap (ms)", "ms", 6, 2, 12, "time with ranges of both (union)",
			       .values = "!>=0"),
	[RATIO] = TW_REAL("overlap ratio", "", 4, 12, "overlap / compute; missing: no compute",
			  .values = ">=0"),
};

static const struct tw_table_spec spec = {
	.name = "sweep_timeline",
	.meaning = "compute and communication of each step",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};

struct trawl_table *tw_metrics_timeline_table(const struct tw_metrics_timeline *timeline)
{
	struct trawl_table *table = tw_table_new(&spec, timeline->allocator);
	size_t i;

	for (i = 0; table && i < timeline->count; i++) {
		const struct tw_metrics_step *step = &timeline->steps[i];
		size_t row = tw_table_add_row(table);

		tw_table_set_integer(table, row, STEP, step->step);
		if (step->epoch >= 0)
			tw_table_set_integer(table, row, EPOCH, step->epoch);
		tw_table_set_integer(table, row, TOTAL, step->total_ns);
		tw_table_set_integer(table, row, COMPUTE, step->compute_ns);
		tw_table_set_integer(table, row, COMMUNICATION, step->communication_ns);
		tw_table_set_integer(table, row, OVERLAP, step->overlap_ns);
		if (step->compute_ns > 0)
			tw_table_set_real(table, row, RATIO, overlap_ratio(step));
	}
	return tw_table_finished(table);
}
