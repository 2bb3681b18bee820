/* standalone_analysis_fair.md: what its readers decide by, the details behind it. */
#include "standalone/reports.h"

#include "render/shapes.h"
#include "standalone/markdown.h"

#include <string.h>

#define RULE "\n---\n\n"
#define TITLE_CHARACTERS 64
#define SHAPE_CHARACTERS 48

/* ---- executive summary */

static void add_overview(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *summary = tw_json_get(m->data, "summary");

	tw_str_add_cstr(out, "One trace, analyzed by itself; ");
	if (m->platform) {
		tw_str_add_cstr(out, "efficiencies are relative to the peaks of ");
		tw_md_text(out, m->platform);
		tw_str_add_cstr(out, ". ");
	} else {
		tw_str_add_cstr(out, "the platform is not known, so efficiencies are not either. ");
	}
	if (!(tw_report_number(summary, "total_time_ms") > 0))
		tw_str_add_cstr(out, "The trace has no GPU work, so there is nothing to rank. ");
	else
		tw_report_limits(m, out);
	tw_str_add_cstr(out, "\n\n");
}

static void add_metric(struct tw_str *out, const char *name, const struct tw_json_value *from,
		       const char *key, const char *unit)
{
	tw_str_addf(out, "| %s | ", name);
	tw_report_tell(out, from, key, unit, " |\n");
}

static void add_metrics(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *s = tw_json_get(m->data, "summary");
	const char *top = tw_report_text(s, "top_category");
	const char *flash = tw_report_text(s, "flash_attention");

	tw_str_add_cstr(out, "| Metric | Value |\n|--------|-------|\n");
	add_metric(out, "Total Time", s, "total_time_ms", " ms");
	add_metric(out, "Total Compute Time", s, "computation_time_ms", " ms");
	add_metric(out, "GPU Utilization", s, "computation_time_percent", "%");
	add_metric(out, "Idle Time", s, "idle_time_percent", "%");
	add_metric(out, "Exposed Communication", s, "exposed_comm_time_percent", "%");
	tw_str_add_cstr(out, "| Top Bottleneck Category | ");
	if (*top) {
		tw_md_text(out, top);
		tw_str_add_cstr(out, " (");
		tw_report_tell(out, s, "top_category_percent_of_compute", "%", "");
		tw_str_add_cstr(out, ") |\n");
	} else {
		tw_str_add_cstr(out, TW_MD_UNKNOWN " |\n");
	}
	tw_str_addf(out, "| Flash Attention Usage | %s%s |\n\n",
		    *flash ? flash : TW_MD_UNKNOWN " (no attention operations)",
		    strcmp(flash, "Unknown") ? "" : " (not all GPU work shows its operation)");
}

/* A blank and the shapes, which tell operations of the same name apart. */
static void add_shapes(const struct tw_json_value *op, struct tw_str *out)
{
	const char *dims = tw_report_text(op, "input_dims");
	struct tw_str shapes;

	tw_str_init(&shapes, out->allocator);
	tw_short_shapes(&shapes, dims, strlen(dims));
	if (shapes.len) {
		tw_str_add_char(out, ' ');
		tw_md_code(out, shapes.ptr, SHAPE_CHARACTERS);
	}
	out->failed |= shapes.failed;
	tw_str_release(&shapes);
}

static void add_top_operations(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *op = tw_json_get(m->manifest, "top_operations")->first;

	tw_str_add_cstr(out, "### Top Operations (from Step 3)\n");
	if (!op) {
		tw_str_add_cstr(out, "No operation of the trace has GPU work.\n");
		return;
	}
	tw_str_add_cstr(out,
			"**These operations consume the most GPU time - prioritize optimizations "
			"here**\n\n"
			"| Rank | Operation | Category | Time (ms) | % of Total Compute |\n"
			"|------|-----------|----------|-----------|-------------------|\n");
	for (; op; op = op->next) {
		tw_str_add_cstr(out, "| ");
		tw_report_tell(out, op, "rank", "", " | ");
		tw_md_code(out, tw_report_text(op, "name"), TITLE_CHARACTERS);
		add_shapes(op, out);
		tw_str_add_cstr(out, " | ");
		tw_md_text(out, tw_report_text(op, "display_name"));
		tw_str_add_cstr(out, " | ");
		tw_report_tell(out, op, "time_ms", "", " | ");
		tw_report_tell(out, op, "percent_of_compute", "%", " |\n");
	}
}

static void add_pictures(const struct tw_report_material *m, struct tw_str *out)
{
	if (m->has_time_chart)
		tw_str_add_cstr(out, "\n![Time by category](" TW_TIME_CHART ")\n");
	if (m->has_roofline)
		tw_str_add_cstr(out, "\n![Operations under the roofline](" TW_ROOFLINE_CHART ")\n");
}

/* ---- the whole */

void tw_fair_write(const struct tw_report_material *m, struct tw_str *out)
{
	size_t count = tw_json_get(m->data, "bottlenecks")->count, i;
	const char **anchors =
		tw_arena_alloc(&m->prepared->arena, (count + 1) * sizeof(const char *));
	struct tw_str details;

	if (!anchors) {
		out->failed = true;
		return;
	}
	for (i = 0; i < count; i++)
		anchors[i] = "detailed-analysis";
	tw_str_init(&details, out->allocator);
	tw_fair_details(m, &details, anchors);
	tw_report_title(m, out);
	tw_str_add_cstr(out, "\n\n## Executive Summary\n");
	add_overview(m, out);
	add_metrics(m, out);
	add_top_operations(m, out);
	add_pictures(m, out);
	tw_str_add_cstr(out, RULE);
	tw_report_recommendations(m, anchors, out);
	tw_str_add(out, details.ptr ? details.ptr : "", details.len);
	tw_str_add_cstr(out, RULE);
	tw_fair_appendix(m, out);
	out->failed |= details.failed;
	tw_str_release(&details);
}
