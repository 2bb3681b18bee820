/* standalone_analysis_rough.md: how the analysis came to its results, with the raw data. */
#include "standalone/reports.h"

#include "findings/findings.h"
#include "standalone/markdown.h"

#include <math.h>
#include <string.h>

#define NAME_CHARACTERS 80
#define SHAPE_CHARACTERS 80
/* The rest is in the files that the tables are from. */
#define MOST_TREES 12
#define MOST_STEPS 40

static void add_cell(struct tw_str *out, const struct tw_json_value *from, const char *key)
{
	tw_report_tell(out, from, key, "", " | ");
}

/* ---- steps 1 to 5 */

static void add_setup(const struct tw_report_material *m, struct tw_str *out)
{
	const char *device = tw_report_text(m->manifest, "device_name");
	const char *view = tw_report_text(m->manifest, "view");

	tw_str_add_cstr(out, "## Analysis Process Summary\n"
			     "### Step 1: Identify Traces & Setup\n- **Trace**: ");
	tw_md_code(out, tw_report_text(m->manifest, "trace_path"), 0);
	tw_str_add_cstr(out, "\n- **Platform**: ");
	if (m->platform)
		tw_md_text(out, m->platform);
	else
		tw_str_add_cstr(out, "not known");
	if (m->platform && tw_json_true(tw_json_get(m->manifest, "platform_guessed")))
		tw_str_add_cstr(out, ", taken from the name of the device");
	if (*device) {
		tw_str_add_cstr(out, "\n- **Device**: ");
		tw_md_code(out, device, 0);
	}
	tw_str_add_cstr(out, "\n- **View**: ");
	tw_md_text(out, *view ? view : "the whole trace");
	tw_str_add_cstr(out, "\n\n");
}

static void add_generation(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *d = tw_json_get(m->manifest, "defects")->first;

	tw_str_add_cstr(out, "### Step 2: Generate Reports\n"
			     "The performance report is in ");
	tw_str_add_cstr(out, m->no_workbook ? "" : "`perf_report.xlsx` and ");
	tw_str_add_cstr(out, "`perf_report_csvs/`. What was odd in the trace:\n\n");
	if (!d)
		tw_str_add_cstr(out, "Nothing.\n\n");
	else
		tw_str_add_cstr(out, "| Kind | Severity | Count | Meaning |\n"
				     "|------|----------|-------|---------|\n");
	for (; d; d = d->next) {
		tw_str_add_cstr(out, "| ");
		tw_md_code(out, tw_report_text(d, "kind"), 0);
		tw_str_addf(out, " | %s | ", tw_report_text(d, "severity"));
		add_cell(out, d, "count");
		tw_md_text(out, tw_report_text(d, "meaning"));
		tw_str_add_cstr(out, d->next ? " |\n" : " |\n\n");
	}
}

static void add_utilization(const struct tw_report_material *m, struct tw_str *out)
{
	static const char *const rows[][3] = {
		{ "Total", "total_time_ms", NULL },
		{ "Computation", "computation_time_ms", "computation_time_percent" },
		{ "Exposed communication", "exposed_comm_time_ms", "exposed_comm_time_percent" },
		{ "Exposed memory copies", "exposed_memcpy_time_ms",
		  "exposed_memcpy_time_percent" },
		{ "Idle", "idle_time_ms", "idle_time_percent" },
	};
	const struct tw_json_value *s = tw_json_get(m->data, "summary");
	size_t i;

	tw_str_add_cstr(out,
			"| Part | Time (ms) | % of Total |\n|------|-----------|------------|\n");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tw_str_addf(out, "| %s | ", rows[i][0]);
		add_cell(out, s, rows[i][1]);
		if (rows[i][2])
			tw_report_tell(out, s, rows[i][2], "", " |\n");
		else
			tw_str_add_cstr(out, "100 |\n");
	}
	tw_str_add_char(out, '\n');
}

static void add_top(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *op = tw_json_get(m->manifest, "top_operations")->first;

	if (!op) {
		tw_str_add_cstr(out, "No operation has GPU work: there are no top operations.\n\n");
		return;
	}
	tw_str_add_cstr(out, "| Rank | Operation | Category | Count | Time (ms) | % of Compute | "
			     "Input Dims |\n"
			     "|------|-----------|----------|-------|-----------|--------------|"
			     "------------|\n");
	for (; op; op = op->next) {
		const char *dims = tw_report_text(op, "input_dims");

		tw_str_add_cstr(out, "| ");
		add_cell(out, op, "rank");
		tw_md_code(out, tw_report_text(op, "name"), NAME_CHARACTERS);
		tw_str_add_cstr(out, " | ");
		tw_md_text(out, tw_report_text(op, "display_name"));
		tw_str_add_cstr(out, " | ");
		add_cell(out, op, "count");
		add_cell(out, op, "time_ms");
		add_cell(out, op, "percent_of_compute");
		if (*dims)
			tw_md_code(out, dims, SHAPE_CHARACTERS);
		tw_str_add_cstr(out, op->next ? " |\n" : " |\n\n");
	}
}

static void add_preparation(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i;

	tw_str_add_cstr(out, "### Step 3-5: Prepare Category Data\n"
			     "GPU utilization, of the timeline:\n\n");
	add_utilization(m, out);
	tw_str_add_cstr(out, "Top operations:\n\n");
	add_top(m, out);
	tw_str_add_cstr(out,
			"Categories, with the tree data of their bottleneck operations in "
			"`category_data/`:\n\n"
			"| Category | Rows | GPU Kernel Time (ms) | % of Compute | CPU Duration "
			"(ms) | Sync Time (ms) |\n"
			"|----------|------|----------------------|--------------|------------"
			"--------|----------------|\n");
	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];

		tw_str_add_cstr(out, "| ");
		tw_md_text(out, c->title);
		tw_str_add_cstr(out, " | ");
		add_cell(out, c->entry, "ops_count");
		add_cell(out, c->entry, "gpu_kernel_time_ms");
		add_cell(out, c->entry, "percent_of_compute");
		add_cell(out, c->entry, "cpu_duration_ms");
		tw_report_tell(out, c->entry, "sync_time_ms", "", " |\n");
	}
	tw_str_add_char(out, '\n');
}

/* ---- steps 6 and 7 */

static void add_analyses(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i;

	tw_str_add_cstr(out, "### Step 6: Category Analyses\n");
	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];
		const struct tw_json_value *o = tw_json_get(m->data, "bottlenecks")->first;
		bool any = false;

		tw_str_add_cstr(out, "- **");
		tw_md_text(out, c->title);
		tw_str_add_cstr(out, "** (");
		tw_md_code(out, tw_report_text(c->entry, "skill"), 0);
		tw_str_add_cstr(out, "): ");
		if (c->excluded) {
			tw_str_add_cstr(out, "left out of the aggregate, ");
			tw_md_text(out, c->excluded);
			tw_str_add_char(out, '\n');
			continue;
		}
		if (!c->is_system) {
			tw_str_add_cstr(out, "average efficiency ");
			tw_report_tell(out, c->metrics, "average_efficiency_percent", "%", "; ");
		}
		for (; o; o = o->next) {
			if (strcmp(tw_report_text(o, "category"), c->name))
				continue;
			tw_str_addf(out, "%s%s", any ? ", " : "bottlenecks ",
				    tw_report_text(o, "id"));
			any = true;
		}
		tw_str_add_cstr(out, any ? "\n" : "no bottleneck\n");
	}
	tw_str_add_char(out, '\n');
}

static void add_paths(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *o = tw_json_get(m->data, "bottlenecks")->first;

	tw_str_add_cstr(
		out,
		"### Step 7: Optimization Paths Determination\n"
		"Priorities of bottlenecks follow from four facts of each: whether it is among "
		"the top operations, its efficiency, its share of its category, what a change "
		"of the operation alone gains, at its last target efficiency, of the total "
		"time, as far as no other GPU work hides it. What the run gains end to end "
		"is with the findings.\n\n");
	if (!o) {
		tw_str_add_cstr(out, "There is no bottleneck.\n\n");
		return;
	}
	tw_str_add_cstr(out, "| Bottleneck | Priority | Title | Top Operation | Efficiency (%) | "
			     "% of Category | Operation Gain (%) | Rules |\n"
			     "|------------|----------|-------|---------------|----------------|"
			     "---------------|--------------------|-------|\n");
	for (; o; o = o->next) {
		const struct tw_json_value *rule = tw_json_get(o, "rules")->first;

		tw_str_addf(out, "| %s | %s | ", tw_report_text(o, "id"),
			    tw_report_text(o, "priority"));
		tw_md_code(out, tw_report_text(o, "title"), NAME_CHARACTERS);
		tw_str_add_cstr(out, " | ");
		add_cell(out, o, "top_operations_rank");
		add_cell(out, o, "efficiency_percent");
		add_cell(out, o, "percent_of_category");
		add_cell(out, o, "operation_gain_percent");
		for (; rule; rule = rule->next) {
			tw_md_code(out, tw_json_text(rule), 0);
			tw_str_add_char(out, ' ');
		}
		tw_str_add_cstr(out, o->next ? "|\n" : "|\n\n");
	}
}

/* ---- raw data */

static void add_operations(const struct tw_json_value *metrics, struct tw_str *out)
{
	const struct tw_json_value *op = tw_json_get(metrics, "operations")->first;
	size_t row = 0;

	tw_str_add_cstr(out, "| Operation | Args | Count | Time (ms) | % of Category | Efficiency "
			     "(%) | FLOPS/Byte | TFLOPS/s | TB/s | Type |\n"
			     "|-----------|------|-------|-----------|---------------|----------"
			     "------|------------|----------|------|------|\n");
	for (; op && row < TW_ROUGH_OPERATIONS; op = op->next, row++) {
		const struct tw_json_value *e = tw_json_get(op, "efficiency");
		const char *type = tw_report_text(op, "type");

		tw_str_add_cstr(out, "| ");
		tw_md_code(out, tw_report_text(op, "name"), NAME_CHARACTERS);
		tw_str_add_cstr(out, " | ");
		tw_report_args(out, tw_json_get(op, "args"), SHAPE_CHARACTERS);
		tw_str_add_cstr(out, " | ");
		add_cell(out, op, "count");
		add_cell(out, op, "time_ms");
		add_cell(out, op, "percent_of_category");
		add_cell(out, e, "efficiency_percent");
		add_cell(out, e, "flops_per_byte");
		add_cell(out, e, "tflops_achieved");
		add_cell(out, e, "tb_s_achieved");
		tw_str_addf(out, "%s |\n", *type ? type : TW_MD_UNKNOWN);
	}
	if (op)
		tw_str_add_cstr(out, "\nThe rest, each with less time, is in the metrics file.\n");
	tw_str_add_char(out, '\n');
}

static void add_raw_data(const struct tw_report_material *m, struct tw_str *out)
{
	bool any = false;
	size_t i;

	tw_str_add_cstr(out, "## Raw Data Exploration\n\n");
	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];

		if (c->is_system || !tw_json_get(c->metrics, "operations")->count)
			continue;
		tw_str_add_cstr(out, "### Operations of ");
		tw_md_text(out, c->title);
		tw_str_add_cstr(out, "\n\n");
		add_operations(c->metrics, out);
		any = true;
	}
	if (!any)
		tw_str_add_cstr(out, "No category has operations.\n\n");
}

/* ---- trees */

static void add_chain(const struct tw_json_value *tree, struct tw_str *out)
{
	const struct tw_json_value *chain = tw_json_get(tree, "parent_chain"), *p;
	size_t i = 0;

	tw_str_add_cstr(out, "- **Parent chain**, the innermost first: ");
	if (!chain->count)
		tw_str_add_cstr(out, "none, nothing encloses it");
	for (p = chain->first; p && i < MOST_STEPS; p = p->next, i++) {
		tw_str_add_cstr(out, i ? " ← " : "");
		tw_md_code(out, tw_report_text(p, "name"), NAME_CHARACTERS);
	}
	tw_str_add_cstr(out, p ? " ← …\n" : "\n");
}

static void add_subtree(const struct tw_json_value *tree, struct tw_str *out)
{
	const struct tw_json_value *e = tw_json_get(tree, "subtree")->first;
	size_t i = 0;

	if (!e)
		return;
	tw_str_add_cstr(out, "\n| Depth | Type | Event | Duration (µs) |\n"
			     "|-------|------|-------|---------------|\n");
	for (; e && i < MOST_STEPS; e = e->next, i++) {
		tw_str_add_cstr(out, "| ");
		add_cell(out, e, "depth");
		tw_str_addf(out, "%s | ", tw_report_text(e, "type"));
		tw_md_code(out, tw_report_text(e, "name"), NAME_CHARACTERS);
		tw_str_add_cstr(out, " | ");
		tw_report_tell(out, e, "dur_us", "", " |\n");
	}
	if (e)
		tw_str_add_cstr(out, "\nThe subtree goes on in the tree data.\n");
}

static void add_tree(const struct tw_json_value *tree, struct tw_str *out)
{
	const struct tw_json_value *note = tw_json_get(tree, "notes")->first;

	tw_str_add_cstr(out, "#### ");
	tw_md_code(out, tw_report_text(tree, "op"), NAME_CHARACTERS);
	tw_str_add_cstr(out, ", operation ");
	tw_md_text(out, tree->key);
	tw_str_add_cstr(out, "\n\n- **Calls**: ");
	tw_report_tell(out, tree, "call_count", "", "; ");
	tw_report_tell(out, tree, "time_ms", " ms", "\n");
	if (*tw_report_text(tree, "input_dims")) {
		tw_str_add_cstr(out, "- **Input dims**: ");
		tw_md_code(out, tw_report_text(tree, "input_dims"), SHAPE_CHARACTERS);
		tw_str_add_char(out, '\n');
	}
	add_chain(tree, out);
	if (tw_json_true(tw_json_get(tree, "fusion_opportunity")))
		tw_str_add_cstr(out, "- **Fusion opportunity**: yes\n");
	for (; note; note = note->next) {
		tw_str_add_cstr(out, "- ");
		tw_md_text(out, tw_json_text(note));
		tw_str_add_char(out, '\n');
	}
	add_subtree(tree, out);
	tw_str_add_char(out, '\n');
}

static void add_trees(const struct tw_report_material *m, struct tw_str *out)
{
	bool any = false;
	size_t i;

	tw_str_add_cstr(out, "## Tree Analysis\n\n");
	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];
		const char *name = tw_prepared_name(m->prepared, c->name, "_tree_data.json");
		const struct tw_json_value *trees, *tree;
		struct trawl_error err;
		size_t count = 0;

		if (c->is_system || !name || !tw_prepared_has(m->prepared, TW_CATEGORY_DATA, name))
			continue;
		trees = tw_prepared_json(m->prepared, TW_CATEGORY_DATA, name, &err);
		if (!trees) {
			out->failed |= err.status == TRAWL_ENOMEM;
			continue;
		}
		if (!trees->count)
			continue;
		tw_str_add_cstr(out, "### Trees of ");
		tw_md_text(out, c->title);
		tw_str_add_cstr(out, "\n\n");
		for (tree = trees->first; tree && count < MOST_TREES; tree = tree->next, count++)
			add_tree(tree, out);
		if (tree)
			tw_str_addf(out, "The other %zu are in the tree data.\n\n",
				    trees->count - count);
		any = true;
	}
	if (!any)
		tw_str_add_cstr(out, "There is no tree data: no operation has GPU work.\n\n");
}

/* ---- gaps and questions */

static void read_facts(const struct tw_report_material *m, struct tw_facts *facts)
{
	const struct tw_json_value *known = tw_json_get(m->data, "facts");
	size_t i;

	for (i = 0; i < TW_FACT_COUNT; i++)
		facts->value[i] = tw_report_number(known, tw_facts_known[i].name);
}

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
	bool any = false;
	size_t i, more = 0;

	for (i = 0; i < m->category_count; i++) {
		const struct tw_json_value *op;
		size_t row = 0;

		op = tw_json_get(m->categories[i].metrics, "operations")->first;
		for (; op && row < TW_ROUGH_OPERATIONS; op = op->next) {
			if (tw_json_true(tw_json_get(op, "has_perf_model")))
				continue;
			if (!any)
				tw_str_add_cstr(out, "\nOperations without a model:\n\n"
						     "| Operation | Category | Count | Time (ms) | "
						     "% of Compute |\n"
						     "|-----------|----------|-------|-----------|"
						     "--------------|\n");
			any = true;
			row++;
			tw_str_add_cstr(out, "| ");
			tw_md_code(out, tw_report_text(op, "name"), NAME_CHARACTERS);
			tw_str_add_cstr(out, " | ");
			tw_md_text(out, m->categories[i].title);
			tw_str_add_cstr(out, " | ");
			add_cell(out, op, "count");
			add_cell(out, op, "time_ms");
			tw_report_tell(out, op, "percent_of_compute", "", " |\n");
		}
		more += m->categories[i].operations.without_model - row;
	}
	if (more)
		tw_str_addf(out, "\nand %zu more, each with less time, in the metrics files\n",
			    more);
	tw_str_add_char(out, '\n');
}

/* One for each bottleneck that a kernel team would have to look at. */
static void ask_of_bottlenecks(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *o = tw_json_get(m->data, "bottlenecks")->first;

	for (; o; o = o->next) {
		if (!strcmp(tw_report_text(o, "priority"), "Low") ||
		    isnan(tw_report_number(o, "efficiency_percent")))
			continue;
		tw_str_addf(out, "- %s ", tw_report_text(o, "id"));
		tw_md_code(out, tw_report_text(o, "operation"), NAME_CHARACTERS);
		tw_str_add_cstr(out, ": why does it reach ");
		tw_report_tell(out, o, "efficiency_percent", "%",
			       " of peak? Low efficiency - profile with hardware counters to "
			       "diagnose\n");
	}
}

void tw_rough_write(const struct tw_report_material *m, struct tw_str *out)
{
	struct tw_facts facts;

	read_facts(m, &facts);
	tw_report_title(m, out);
	tw_str_add_cstr(out, " (Rough)\n\n");
	add_setup(m, out);
	add_generation(m, out);
	add_preparation(m, out);
	add_analyses(m, out);
	add_paths(m, out);
	add_raw_data(m, out);
	add_trees(m, out);
	tw_str_add_cstr(out, "## TraceLens Gaps\n\n");
	add_rules(&facts, "gap", out);
	add_unmodelled(m, out);
	tw_str_add_cstr(out, "## Questions for Further Investigation\n\n");
	add_rules(&facts, "question", out);
	ask_of_bottlenecks(m, out);
	tw_str_add_cstr(out, "- Do other steps of the workload show the same? One trace is one "
			     "sample\n");
}
