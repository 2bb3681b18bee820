/* standalone_analysis_rough.md: how the analysis came to its results, with the raw data. */
#include "standalone/reports/reports.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define NAME_CHARACTERS 80
#define SHAPE_CHARACTERS 80
/* Rows of a table of operations; the rest is in the files that the tables are from. */
#define MOST_OPERATIONS 30
#define MOST_TREES 12
#define MOST_STEPS 40

/* ---- steps 1 to 5 */

static void add_setup(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_fields *fields = &tw_manifest_fields;
	const struct tw_manifest *manifest = m->manifest;

	tw_fields_fill(out,
		       "## Analysis Process Summary\n### Step 1: Identify Traces & Setup\n"
		       "- **Trace**: {trace_path:0}\n- **Platform**: ",
		       fields, manifest);
	tw_md_text(out, m->platform ? m->platform : "not known");
	if (m->platform && manifest->platform_guessed)
		tw_str_add_cstr(out, ", taken from the name of the device");
	if (manifest->device_name && *manifest->device_name)
		tw_fields_fill(out, "\n- **Device**: {device_name:0}", fields, manifest);
	tw_str_add_cstr(out, "\n- **View**: ");
	tw_md_text(out, *manifest->view ? manifest->view : "the whole trace");
	tw_str_addf(out,
		    "\n\n### Step 2: Generate Reports\nThe performance report is in "
		    "%s`perf_report_csvs/`. What was odd in the trace:\n\n",
		    m->no_workbook ? "" : "`perf_report.xlsx` and ");
}

static void add_flaws(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i;

	tw_str_add_cstr(out, m->manifest->flaws.count ? "| Kind | Severity | Count | Meaning |\n"
							"|------|----------|-------|---------|\n" :
							"Nothing.\n");
	for (i = 0; i < m->manifest->flaws.count; i++)
		tw_fields_fill(out, "| {kind:0} | {severity} | {count} | {meaning} |\n",
			       &tw_flaw_fields, &m->manifest->flaws.at[i]);
	tw_str_add_char(out, '\n');
}

static void add_top(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_fields *fields = &tw_top_operation_fields;
	size_t i;

	if (!m->manifest->top.count) {
		tw_str_add_cstr(out, "No operation has GPU work: there are no top operations.\n\n");
		return;
	}
	tw_str_add_cstr(out, "| Rank | Operation | Category | Count | Time (ms) | % of Compute | "
			     "Input Dims |\n"
			     "|------|-----------|----------|-------|-----------|--------------|"
			     "------------|\n");
	for (i = 0; i < m->manifest->top.count; i++) {
		const struct tw_top_operation *op = &m->manifest->top.at[i];

		tw_fields_fill(out,
			       "| {rank} | {name:80} | {display_name} | {count} | {time_ms} | "
			       "{percent_of_compute} | ",
			       fields, op);
		if (op->input_dims && *op->input_dims)
			tw_fields_fill(out, "{input_dims:80}", fields, op);
		tw_str_add_cstr(out, " |\n");
	}
	tw_str_add_char(out, '\n');
}

static void add_preparation(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i;

	tw_fields_fill(
		out,
		"### Step 3-5: Prepare Category Data\nGPU utilization, of the timeline:\n\n"
		"| Part | Time (ms) | % of Total |\n|------|-----------|------------|\n"
		"| Total | {total_time_ms} | 100 |\n"
		"| Computation | {computation_time_ms} | {computation_time_percent} |\n"
		"| Exposed communication | {exposed_comm_time_ms} | {exposed_comm_time_percent} |\n"
		"| Exposed memory copies | {exposed_memcpy_time_ms} | "
		"{exposed_memcpy_time_percent} |\n"
		"| Idle | {idle_time_ms} | {idle_time_percent} |\n\nTop operations:\n\n",
		&tw_report_summary_fields, &m->summary);
	add_top(m, out);
	tw_str_add_cstr(out,
			"Categories, with the tree data of their bottleneck operations in "
			"`category_data/`:\n\n"
			"| Category | Rows | GPU Kernel Time (ms) | % of Compute | CPU Duration "
			"(ms) | Sync Time (ms) |\n"
			"|----------|------|----------------------|--------------|------------"
			"--------|----------------|\n");
	for (i = 0; i < m->categories.count; i++) {
		const struct tw_prepared_category *entry = m->categories.at[i].entry;

		tw_fields_fill(
			out,
			tw_category_is_system(entry) ?
				"| {display_name} | {ops_count} | n/a | n/a | n/a | n/a |\n" :
				"| {display_name} | {ops_count} | {gpu_kernel_time_ms} | "
				"{percent_of_compute} | {cpu_duration_ms} | {sync_time_ms} |\n",
			&tw_category_fields, entry);
	}
	tw_str_add_char(out, '\n');
}

/* ---- steps 6 and 7 */

static void add_analyses(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i, k;

	tw_str_add_cstr(out, "### Step 6: Category Analyses\n");
	for (i = 0; i < m->categories.count; i++) {
		const struct tw_report_category *c = &m->categories.at[i];
		bool any = false;

		tw_fields_fill(out, "- **{display_name}** ({skill:0}): ", &tw_category_fields,
			       c->entry);
		if (c->excluded) {
			tw_str_add_cstr(out, "left out of the aggregate, ");
			tw_md_text(out, c->excluded);
			tw_str_add_char(out, '\n');
			continue;
		}
		if (c->data)
			tw_fields_fill(out, "average efficiency {average_efficiency_percent|%}; ",
				       &tw_category_data_fields, c->data);
		for (k = 0; k < m->bottlenecks.count; k++) {
			if (m->bottlenecks.at[k].category != c)
				continue;
			tw_str_addf(out, "%s%s", any ? ", " : "bottlenecks ",
				    m->bottlenecks.at[k].id);
			any = true;
		}
		tw_str_add_cstr(out, any ? "\n" : "no bottleneck\n");
	}
	tw_str_add_char(out, '\n');
}

static void add_paths(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i, k;

	tw_str_add_cstr(
		out,
		"### Step 7: Optimization Paths Determination\n"
		"Priorities of bottlenecks follow from four facts of each: whether it is among "
		"the top operations, its efficiency, its share of its category, what a change "
		"of the operation alone gains, at its last target efficiency, of the total "
		"time, as far as no other GPU work hides it. What the run gains end to end "
		"is with the findings.\n\n");
	if (!m->bottlenecks.count) {
		tw_str_add_cstr(out, "There is no bottleneck.\n\n");
		return;
	}
	tw_str_add_cstr(out, "| Bottleneck | Priority | Title | Top Operation | Efficiency (%) | "
			     "% of Category | Operation Gain (%) | Rules |\n"
			     "|------------|----------|-------|---------------|----------------|"
			     "---------------|--------------------|-------|\n");
	for (i = 0; i < m->bottlenecks.count; i++) {
		const struct tw_bottleneck *b = &m->bottlenecks.at[i];

		tw_fields_fill(out,
			       "| {id} | {priority} | {title:80} | {top_operations_rank} | "
			       "{efficiency_percent} | {percent_of_category} | "
			       "{operation_gain_percent} | ",
			       &tw_bottleneck_told_fields, b);
		for (k = 0; k < b->row->advice.ids.count; k++) {
			tw_md_code(out, b->row->advice.ids.at[k], 0);
			tw_str_add_char(out, ' ');
		}
		tw_str_add_cstr(out, "|\n");
	}
	tw_str_add_char(out, '\n');
}

/* ---- raw data */

static void add_operations(const struct tw_category_data *data, struct tw_str *out)
{
	uint32_t i;

	tw_fields_fill(out, "### Operations of {display_name}\n\n", &tw_category_data_fields, data);
	tw_str_add_cstr(out, "| Operation | Args | Count | Time (ms) | % of Category | Efficiency "
			     "(%) | FLOPS/Byte | TFLOPS/s | TB/s | Type |\n"
			     "|-----------|------|-------|-----------|---------------|----------"
			     "------|------------|----------|------|------|\n");
	for (i = 0; i < data->row_count && i < MOST_OPERATIONS; i++) {
		const struct tw_category_row *row = &data->rows[i];

		tw_fields_fill(out, "| {name:80} | ", &tw_row_fields, row);
		tw_findings_args(out, row->args, SHAPE_CHARACTERS);
		tw_fields_fill(out,
			       " | {count} | {time_ms} | {percent_of_category} | "
			       "{efficiency.efficiency_percent} | {efficiency.flops_per_byte} | "
			       "{efficiency.tflops_achieved} | {efficiency.tb_s_achieved} | "
			       "{type} |\n",
			       &tw_row_fields, row);
	}
	if (i < data->row_count)
		tw_str_add_cstr(out, "\nThe rest, each with less time, is in the metrics file.\n");
	tw_str_add_char(out, '\n');
}

/* ---- trees */

static void add_chain(const struct tw_tree *tree, struct tw_str *out)
{
	size_t i;

	tw_str_add_cstr(out, "- **Parent chain**, the innermost first: ");
	if (!tree->callers.count)
		tw_str_add_cstr(out, "none, nothing encloses it");
	for (i = 0; i < tree->callers.count && i < MOST_STEPS; i++) {
		tw_str_add_cstr(out, i ? " ← " : "");
		tw_md_code(out, tree->callers.at[i].name, NAME_CHARACTERS);
	}
	tw_str_add_cstr(out, i < tree->callers.count ? " ← …\n" : "\n");
}

static void add_tree(const struct tw_tree *tree, struct tw_str *out)
{
	size_t i;

	tw_fields_fill(out,
		       "#### {op:80}, operation {ex_uid}\n\n- **Calls**: {call_count}; "
		       "{time_ms| ms}\n",
		       &tw_tree_fields, tree);
	if (tree->input_dims && *tree->input_dims)
		tw_fields_fill(out, "- **Input dims**: {input_dims:80}\n", &tw_tree_fields, tree);
	add_chain(tree, out);
	for (i = 0; i < tree->notes.count; i++) {
		tw_str_add_cstr(out, "- ");
		tw_md_text(out, tree->notes.at[i]);
		tw_str_add_char(out, '\n');
	}
	if (tree->callees.count)
		tw_str_add_cstr(out, "\n| Depth | Type | Event | Duration (µs) |\n"
				     "|-------|------|-------|---------------|\n");
	for (i = 0; i < tree->callees.count && i < MOST_STEPS; i++)
		tw_fields_fill(out, "| {depth} | {type} | {name:80} | {dur_us} |\n",
			       &tw_callee_fields, &tree->callees.at[i]);
	if (i < tree->callees.count)
		tw_str_add_cstr(out, "\nThe subtree goes on in the tree data.\n");
	tw_str_add_char(out, '\n');
}

static void add_trees(const struct tw_report_material *m, struct tw_str *out)
{
	bool any = false;
	size_t i, k;

	tw_str_add_cstr(out, "## Tree Analysis\n\n");
	for (i = 0; i < m->categories.count; i++) {
		const struct tw_prepared_category *entry = m->categories.at[i].entry;

		if (!entry->trees.count)
			continue;
		tw_fields_fill(out, "### Trees of {display_name}\n\n", &tw_category_fields, entry);
		for (k = 0; k < entry->trees.count && k < MOST_TREES; k++)
			add_tree(&entry->trees.at[k], out);
		if (k < entry->trees.count)
			tw_str_addf(out, "The other %zu are in the tree data.\n\n",
				    entry->trees.count - k);
		any = true;
	}
	if (!any)
		tw_str_add_cstr(out, "There is no tree data: no operation has GPU work.\n\n");
}

/* ---- gaps and questions */

static void add_rules(const struct tw_facts *facts, const char *scope, struct tw_str *out)
{
	const struct tw_rule *rule = NULL;
	struct tw_str text;

	tw_str_init(&text, out->allocator);
	while ((rule = tw_rule_next(scope, facts, rule))) {
		tw_str_clear(&text);
		tw_rule_text(&text, rule->issue, facts);
		tw_str_add_cstr(out, "- ");
		tw_md_text(out, text.ptr ? text.ptr : "");
		tw_str_add_char(out, '\n');
	}
	out->failed |= text.failed;
	tw_str_release(&text);
}

/* The unmodelled operations by name, those with the most time first. */
static void add_unmodelled(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i, k, more = 0;
	bool any = false;

	for (i = 0; i < m->categories.count; i++) {
		const struct tw_category_data *data = m->categories.at[i].data;
		size_t shown = 0;

		for (k = 0; data && k < data->row_count; k++) {
			if (data->rows[k].has_model)
				continue;
			if (shown++ >= MOST_OPERATIONS) {
				more++;
				continue;
			}
			if (!any)
				tw_str_add_cstr(out, "\nOperations without a model:\n\n"
						     "| Operation | Category | Count | Time (ms) | "
						     "% of Compute |\n"
						     "|-----------|----------|-------|-----------|"
						     "--------------|\n");
			any = true;
			tw_fields_fill(out, "| {name:80} | ", &tw_row_fields, &data->rows[k]);
			tw_md_text(out, m->categories.at[i].entry->title);
			tw_fields_fill(out, " | {count} | {time_ms} | {percent_of_compute} |\n",
				       &tw_row_fields, &data->rows[k]);
		}
	}
	if (more)
		tw_str_addf(out, "\nand %zu more, each with less time, in the metrics files\n",
			    more);
	tw_str_add_char(out, '\n');
}

void tw_rough_write(const struct tw_report_material *m, struct tw_str *out)
{
	bool any = false;
	size_t i;

	tw_report_title(m, out);
	tw_str_add_cstr(out, " (Rough)\n\n");
	add_setup(m, out);
	add_flaws(m, out);
	add_preparation(m, out);
	add_analyses(m, out);
	add_paths(m, out);
	tw_str_add_cstr(out, "## Raw Data Exploration\n\n");
	for (i = 0; i < m->categories.count; i++)
		if (m->categories.at[i].data) {
			add_operations(m->categories.at[i].data, out);
			any = true;
		}
	tw_str_add_cstr(out, any ? "" : "No category has operations.\n\n");
	add_trees(m, out);
	tw_str_add_cstr(out, "## TraceLens Gaps\n\n");
	add_rules(&m->facts, "gap", out);
	add_unmodelled(m, out);
	tw_str_add_cstr(out, "## Questions for Further Investigation\n\n");
	add_rules(&m->facts, "question", out);
	/* One for each bottleneck that a kernel team would have to look at. */
	for (i = 0; i < m->bottlenecks.count; i++)
		if (strcmp(m->bottlenecks.at[i].priority, "Low") &&
		    !isnan(m->bottlenecks.at[i].row->efficiency_percent))
			tw_fields_fill(out,
				       "- {id} {operation:80}: why does it reach "
				       "{efficiency_percent|%} of peak? Low efficiency - profile "
				       "with hardware counters to diagnose\n",
				       &tw_bottleneck_told_fields, &m->bottlenecks.at[i]);
	tw_str_add_cstr(out, "- Do other steps of the workload show the same? One trace is one "
			     "sample\n");
}
