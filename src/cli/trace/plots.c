/* The picture of a report: its operations under the roofline. */
#include "cli/cli.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "render/charts/roofline_chart.h"
#include "render/shapes.h"
#include "table/table.h"

#include <math.h>
#include <string.h>

static double real_cell(const struct trawl_table *table, size_t row, const char *header)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	return cell.state == TRAWL_CELL_VALUE ? cell.real : NAN;
}

static const char *text_cell(const struct trawl_table *table, size_t row, const char *header,
			     struct tw_arena *arena)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	return cell.state == TRAWL_CELL_VALUE ? tw_arena_copy(arena, cell.text, cell.text_len) : "";
}

/* NULL when out of memory. */
static const char *shapes_of(struct trawl_cell dims, struct tw_arena *arena)
{
	struct tw_str text;
	const char *kept;

	if (dims.state == TRAWL_CELL_MISSING)
		return "";
	tw_str_init(&text, arena->allocator);
	tw_short_shapes(&text, dims.text, dims.text_len);
	kept = text.failed ? NULL : tw_arena_copy(arena, text.ptr ? text.ptr : "", text.len);
	tw_str_release(&text);
	return kept;
}

/* NULL when out of memory. */
static struct tw_chart_point *points_of(const struct trawl_table *table, size_t count,
					struct tw_arena *arena)
{
	struct tw_chart_point *points = tw_arena_alloc(arena, (count + 1) * sizeof(*points));
	size_t i;

	for (i = 0; points && i < count; i++) {
		struct tw_chart_point *p = &points[i];

		p->name = text_cell(table, i, "name", arena);
		p->detail = shapes_of(tw_table_cell(table, i, TW_COL_INPUT_DIMS), arena);
		p->flops_per_byte = real_cell(table, i, TW_COL_FLOPS_PER_BYTE);
		p->tflops_per_s = real_cell(table, i, TW_COL_TFLOPS_S_MEAN);
		p->time_frac = real_cell(table, i, TW_COL_PERCENTAGE) / 100;
		p->calls = (uint64_t)tw_table_cell(table, i, TW_COL_OPERATION_COUNT).integer;
		p->spec = text_cell(table, i, TW_COL_COMPUTE_SPEC, arena);
		if (!p->name || !p->detail || !p->spec)
			return NULL;
	}
	return points;
}

/* What the picture is of; not the name of a file, so that standard input gives the same. */
static void add_title(struct tw_str *title, const struct trawl_report *report,
		      const struct trawl_trace *trace)
{
	tw_str_addf(title, "Operators on %s",
		    trace->device_name[0] ? trace->device_name : "unnamed device");
	if (trace->rank >= 0)
		tw_str_addf(title, ", rank %lld", (long long)trace->rank);
	if (trawl_report_view(report)[0])
		tw_str_addf(title, ", %s", trawl_report_view(report));
}

static void add_platform(struct tw_str *text, const struct trawl_report *report)
{
	bool guessed;
	const char *name = trawl_report_platform(report, &guessed);

	if (name)
		tw_str_addf(text, "roofline peaks: %s%s", name,
			    guessed ? " (from the device)" : "");
	else
		tw_str_add_cstr(text, "no roofline: unknown platform; set --platform");
}

int cli_draw_roofline(const struct trawl_report *report, const struct trawl_trace *trace,
		      const char *path, struct trawl_error *err)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	const struct trawl_table *table = trawl_report_find(report, "unified_perf_summary");
	const struct tw_platform *platform = tw_report_platform(report);
	struct tw_chart_ceiling ceilings[TW_PEAK_COUNT];
	struct tw_roofline_chart chart = { .mem_bw_gbps = NAN, .ceilings = ceilings };
	struct tw_str title, name;
	struct tw_arena arena;
	size_t i;
	int status;

	tw_arena_init(&arena, allocator);
	tw_str_init(&title, allocator);
	tw_str_init(&name, allocator);
	add_title(&title, report, trace);
	add_platform(&name, report);
	for (i = 0; platform && i < TW_PEAK_COUNT; i++)
		ceilings[i] =
			(struct tw_chart_ceiling){ tw_peak_keys[i], platform->peak_tflops[i] };
	if (platform) {
		chart.ceiling_count = TW_PEAK_COUNT;
		chart.mem_bw_gbps = platform->mem_bw_gbps;
	}
	chart.title = title.ptr;
	chart.platform = name.ptr;
	chart.point_count = table ? trawl_table_rows(table) : 0;
	chart.points = points_of(table, chart.point_count, &arena);
	if (title.failed || name.failed || !chart.points)
		status =
			trawl_error_set(err, TRAWL_ENOMEM, "cannot draw '%s': out of memory", path);
	else
		status = tw_render_roofline_chart(&chart, path, allocator, err);
	tw_str_release(&title);
	tw_str_release(&name);
	tw_arena_release(&arena);
	return status;
}
