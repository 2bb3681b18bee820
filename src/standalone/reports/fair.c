/* standalone_analysis_fair.md: what its readers decide by, the details behind it. */
#include "standalone/reports/reports.h"

#include "render/shapes.h"

#include <string.h>

#define RULE "\n---\n\n"
#define SHAPE_CHARACTERS 48

/* ---- executive summary */

static void add_overview(const struct tw_report_material *m, struct tw_str *out)
{
	tw_str_add_cstr(out, "One trace, analyzed by itself; ");
	if (m->platform) {
		tw_str_add_cstr(out, "efficiencies are relative to the peaks of ");
		tw_md_text(out, m->platform);
		tw_str_add_cstr(out, ". ");
	} else {
		tw_str_add_cstr(out, "the platform is not known, so efficiencies are not either. ");
	}
	if (!(m->summary.ms[TW_USE_TOTAL] > 0))
		tw_str_add_cstr(out, "The trace has no GPU work, so there is nothing to rank. ");
	else
		tw_report_limits(m, out);
	tw_str_add_cstr(out, "\n\n");
}

static void add_metrics(const struct tw_report_material *m, struct tw_str *out)
{
	const char *flash = m->summary.flash_attention;

	tw_fields_fill(out,
		       "| Metric | Value |\n|--------|-------|\n"
		       "| Total Time | {total_time_ms| ms} |\n"
		       "| Total Compute Time | {computation_time_ms| ms} |\n"
		       "| GPU Utilization | {computation_time_percent|%} |\n"
		       "| Idle Time | {idle_time_percent|%} |\n"
		       "| Exposed Communication | {exposed_comm_time_percent|%} |\n"
		       "| Top Bottleneck Category | {top_category}",
		       &tw_report_summary_fields, &m->summary);
	if (m->summary.top_category)
		tw_fields_fill(out, " ({top_category_percent_of_compute|%})",
			       &tw_report_summary_fields, &m->summary);
	tw_str_addf(out, " |\n| Flash Attention Usage | %s%s |\n\n",
		    flash ? flash : TW_MD_UNKNOWN " (no attention operations)",
		    flash && !strcmp(flash, "Unknown") ? " (not all GPU work shows its operation)" :
							 "");
}

/* A blank and the shapes, which tell operations of the same name apart. */
static void add_shapes(const char *dims, struct tw_str *out)
{
	struct tw_str shapes;

	tw_str_init(&shapes, out->allocator);
	tw_short_shapes(&shapes, dims ? dims : "", dims ? strlen(dims) : 0);
	if (shapes.len) {
		tw_str_add_char(out, ' ');
		tw_md_code(out, shapes.ptr, SHAPE_CHARACTERS);
	}
	out->failed |= shapes.failed;
	tw_str_release(&shapes);
}

static void add_top_operations(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_fields *fields = &tw_top_operation_fields;
	size_t i;

	tw_str_add_cstr(out, "### Top Operations (from Step 3)\n");
	if (!m->manifest->top.count) {
		tw_str_add_cstr(out, "No operation of the trace has GPU work.\n");
		return;
	}
	tw_str_add_cstr(out,
			"**These operations consume the most GPU time - prioritize optimizations "
			"here**\n\n"
			"| Rank | Operation | Category | Time (ms) | % of Total Compute |\n"
			"|------|-----------|----------|-----------|-------------------|\n");
	for (i = 0; i < m->manifest->top.count; i++) {
		const struct tw_top_operation *op = &m->manifest->top.at[i];

		tw_fields_fill(out, "| {rank} | {name:64}", fields, op);
		add_shapes(op->input_dims, out);
		tw_fields_fill(out, " | {display_name} | {time_ms} | {percent_of_compute|%} |\n",
			       fields, op);
	}
}

void tw_fair_write(struct tw_report_material *m, struct tw_str *out)
{
	struct tw_str details;

	tw_str_init(&details, out->allocator);
	tw_fair_details(m, &details);
	tw_report_title(m, out);
	tw_str_add_cstr(out, "\n\n## Executive Summary\n");
	add_overview(m, out);
	add_metrics(m, out);
	add_top_operations(m, out);
	if (m->has_time_chart)
		tw_str_add_cstr(out, "\n![Time by category](" TW_TIME_CHART ")\n");
	if (m->has_roofline)
		tw_str_add_cstr(out, "\n![Operations under the roofline](" TW_ROOFLINE_CHART ")\n");
	if (m->has_module_chart)
		tw_str_add_cstr(out, "\n![GPU time by module](" TW_MODULE_CHART ")\n");
	tw_str_add_cstr(out, RULE);
	tw_report_recommendations(m, out);
	tw_str_add(out, details.ptr ? details.ptr : "", details.len);
	tw_str_add_cstr(out, RULE);
	tw_fair_appendix(m, out);
	out->failed |= details.failed;
	tw_str_release(&details);
}
