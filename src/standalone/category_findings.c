/*
 * The findings of a category: the template of the GEMM analysis, for every category.  All numbers
 * come from the metrics as they were written.
 */
#include "standalone/category.h"
#include "standalone/markdown.h"

#include <string.h>

#define NAME_LENGTH 80
#define CELL_LENGTH 50
#define ARGS_LENGTH 160
/* Innermost modules of a path. */
#define PATH_MODULES 3

/* Notes by what a category's metrics have; a time has its unit. */
static const struct note {
	const char *family, *text, *key, *unit;
} notes[] = {
	{ NULL, "Missing perf models", "missing_perf_model_count", "" },
	{ "gemm", "Quantized GEMMs detected", "quantized_count", "" },
	{ "sdpa", "Flash attention operations", "flash_attention_count", "" },
	{ "sdpa", "Paged attention operations", "paged_attention_count", "" },
	{ "sdpa", "Operations with grouped queries", "gqa_count", "" },
	{ "sdpa", "Decode operations (few queries on many keys)", "decode_count", "" },
	{ "convolution", "Operations with layout transposes", "transpose_count", "" },
	{ "convolution", "Time in layout transposes", "transpose_time_ms", " ms" },
	{ "convolution", "Share of the category in layout transposes", "transpose_overhead_percent",
	  "%" },
	{ "convolution", "Depthwise convolutions", "depthwise_count", "" },
	{ "norm", "Batch norms", "batch_norm_count", "" },
	{ "norm", "Layer norms", "layer_norm_count", "" },
	{ "reduce", "Softmax operations", "softmax_count", "" },
	{ "triton", "Pointwise kernels", "pointwise_count", "" },
	{ "triton", "Reduction kernels", "reduction_count", "" },
	{ "triton", "Persistent reduction kernels", "persistent_count", "" },
	{ "triton", "Other kernels", "other_count", "" },
	{ "moe", "Quantized operations", "quantized_count", "" },
	{ "elementwise", "Copies", "copy_count", "" },
	{ "elementwise", "Copies into another type", "cast_count", "" },
	{ "elementwise", "Time in copies", "copy_time_ms", " ms" },
	{ "other", "Operations launched by GPU graphs", "graph_count", "" },
	{ "other", "Time in GPU graphs", "graph_time_ms", " ms" },
	{ "other", "Kernels whose launch no operation encloses", "without_operation_count", "" },
	{ "other", "Time in such kernels", "without_operation_time_ms", " ms" },
	{ "other", "Communication operations", "communication_count", "" },
	{ "other", "Uncategorized operations", "miscellaneous_count", "" },
};

static const struct tw_json_value *get(const struct tw_json_value *value, const char *key)
{
	return tw_json_get(value, key);
}

static void add_number(struct tw_str *out, const struct tw_json_value *value, const char *key,
		       const char *unit)
{
	tw_md_number(out, get(value, key), unit);
}

static void add_title(struct tw_str *out, const struct tw_category_family *family,
		      const struct tw_json_value *metrics)
{
	if (family->title)
		tw_str_add_cstr(out, family->title);
	else
		tw_md_text(out, tw_json_text(get(metrics, "display_name")));
}

static void add_overview(struct tw_str *out, const struct tw_category_family *family,
			 const struct tw_json_value *metrics)
{
	tw_str_add_cstr(out, "## Overview\n");
	if (family->subject) {
		tw_str_add_cstr(out, family->subject);
	} else {
		add_title(out, family, metrics);
		tw_str_add_cstr(out, " operations");
	}
	tw_str_add_cstr(out, " account for ");
	add_number(out, metrics, "percent_of_compute", "%");
	tw_str_add_cstr(out, " of compute time. Average efficiency: ");
	add_number(out, metrics, "average_efficiency_percent", "%");
	tw_str_add_cstr(out, ".\n\n");
}

/* "(16,8) bf16, (8,4) bf16": line breaks of a table's cell are commas here. */
static void add_args(struct tw_str *out, const char *args, size_t most)
{
	struct tw_str line;

	tw_str_init(&line, out->allocator);
	while (*args) {
		const char *end = strstr(args, "<br>");
		size_t len = end ? (size_t)(end - args) : strlen(args);

		tw_str_add(&line, args, len);
		if (end)
			tw_str_add_cstr(&line, ", ");
		args += end ? len + strlen("<br>") : len;
	}
	if (line.len)
		tw_md_code(out, line.ptr, most);
	out->failed |= line.failed;
	tw_str_release(&line);
}

static void add_row(struct tw_str *out, const struct tw_json_value *op)
{
	const struct tw_json_value *efficiency = get(op, "efficiency");
	const char *args = tw_json_text(get(op, "args"));

	tw_str_add_cstr(out, "| ");
	tw_md_code(out, tw_json_text(get(op, "name")), NAME_LENGTH);
	if (*args) {
		tw_str_add_char(out, ' ');
		add_args(out, args, CELL_LENGTH);
	}
	if (*tw_json_text(get(op, "distinct"))) {
		tw_str_add_char(out, ' ');
		tw_md_code(out, tw_json_text(get(op, "distinct")), CELL_LENGTH);
	}
	tw_str_add_cstr(out, " | ");
	add_number(out, op, "count", "");
	tw_str_add_cstr(out, " | ");
	add_number(out, op, "time_ms", "");
	tw_str_add_cstr(out, " | ");
	add_number(out, op, "percent_of_category", "%");
	tw_str_add_cstr(out, " | ");
	add_number(out, efficiency, "efficiency_percent", "%");
	if (tw_json_true(get(efficiency, "is_anomaly")))
		tw_str_add_cstr(out, " (implausible)");
	tw_str_add_cstr(out, " | ");
	add_number(out, efficiency, "flops_per_byte", "");
	tw_str_add_cstr(out, " | ");
	tw_md_text(out, tw_json_text(get(op, "type")));
	tw_str_add_cstr(out, " |\n");
}

static void add_table(struct tw_str *out, const struct tw_json_value *metrics)
{
	const struct tw_json_value *op = get(metrics, "operations")->first;
	unsigned rows = 0;

	tw_str_add_cstr(out, "## Operations Breakdown\n"
			     "| Operation | Count | Time (ms) | % of Category | Efficiency | "
			     "FLOPS/Byte | Type |\n"
			     "|-----------|-------|-----------|---------------|------------|"
			     "------------|------|\n");
	for (; op && rows < TW_FINDINGS_ROWS; op = op->next, rows++)
		add_row(out, op);
	tw_str_add_char(out, '\n');
}

/* Where it is called from: modules, outermost first, else the function of Python. */
static void add_caller(struct tw_str *out, const struct tw_json_value *item)
{
	const struct tw_json_value *modules = get(item, "module_chain");
	const struct tw_json_value *module = modules->first;
	const char *path = tw_json_text(get(item, "launcher_path"));
	size_t skip = modules->count > PATH_MODULES ? modules->count - PATH_MODULES : 0;

	if (!module && !*path)
		return;
	tw_str_add_cstr(out, ", called from ");
	if (!module) {
		tw_md_code(out, path, ARGS_LENGTH);
		return;
	}
	while (skip--)
		module = module->next;
	for (; module; module = module->next) {
		tw_md_code(out, tw_json_text(module), NAME_LENGTH);
		if (module->next)
			tw_str_add_cstr(out, " > ");
	}
}

static void add_issue(struct tw_str *out, const struct tw_json_value *item)
{
	const char *issue = tw_json_text(get(item, "issue"));
	const char *args = tw_json_text(get(item, "args"));

	bool modelled = get(item, "modelled")->type != TW_JSON_BOOL ||
			tw_json_true(get(item, "modelled"));

	tw_str_add_cstr(out, "- **Issue:** ");
	if (!modelled && !tw_json_true(get(item, "too_short")) && !*tw_json_text(get(item, "kind")))
		tw_str_add_cstr(out, "Unmodelled: no cost model gives its efficiency. ");
	tw_md_text(out, issue);
	tw_str_add_cstr(out, ". Calls: ");
	add_number(out, item, "count", "");
	if (*args) {
		tw_str_add_cstr(out, ", of ");
		add_args(out, args, ARGS_LENGTH);
	}
	if (*tw_json_text(get(item, "distinct"))) {
		tw_str_add_cstr(out, ", ");
		tw_md_code(out, tw_json_text(get(item, "distinct")), ARGS_LENGTH);
	}
	add_caller(out, item);
	tw_str_add_char(out, '\n');
}

static void add_line(struct tw_str *out, const char *label, const struct tw_json_value *text)
{
	tw_str_addf(out, "- **%s:** ", label);
	tw_md_text(out, *tw_json_text(text) ? tw_json_text(text) : TW_MD_UNKNOWN);
	tw_str_add_char(out, '\n');
}

static void add_bottleneck(struct tw_str *out, const struct tw_json_value *item)
{
	bool memory = !strcmp(tw_json_text(get(item, "bound_type")), "memory");

	tw_str_add_cstr(out, "### ");
	add_number(out, item, "rank", ". ");
	if (*tw_json_text(get(item, "title")))
		tw_md_text(out, tw_json_text(get(item, "title")));
	else
		tw_md_code(out, tw_json_text(get(item, "operation")), NAME_LENGTH);
	tw_str_add_cstr(out, "\n- **Time:** ");
	add_number(out, item, "time_ms", " ms");
	tw_str_add_cstr(out, " (");
	add_number(out, item, "percent_of_compute", "%");
	tw_str_add_cstr(out, " of compute)\n- **Efficiency:** ");
	if (tw_json_true(get(item, "modelled")))
		add_number(out, item, "efficiency_percent",
			   memory ? "% of peak HBM BW" : "% of peak MAF");
	else
		tw_str_add_cstr(out, TW_MD_UNKNOWN " (unmodelled)");
	tw_str_add_char(out, '\n');
	add_issue(out, item);
	add_line(out, "Algorithmic", get(item, "algorithmic"));
	add_line(out, "Kernel", get(item, "kernel"));
	add_line(out, "Priority", get(item, "category_priority"));
	tw_str_add_char(out, '\n');
}

static void add_bottlenecks(struct tw_str *out, const struct tw_json_value *metrics)
{
	const struct tw_json_value *list = get(metrics, "bottlenecks");
	const struct tw_json_value *item = list->first;
	unsigned shown = 0;

	tw_str_add_cstr(out, "## Key Bottlenecks\n\n");
	if (!item)
		tw_str_add_cstr(out, "None: no operation has both a large share of the time and a "
				     "low efficiency.\n\n");
	for (; item && shown < TW_FINDINGS_BOTTLENECKS; item = item->next, shown++)
		add_bottleneck(out, item);
}

static void add_patterns(struct tw_str *out, const struct tw_json_value *metrics)
{
	const struct tw_json_value *item = get(metrics, "patterns")->first;

	for (; item; item = item->next) {
		const char *name = tw_json_text(get(item, "operation"));
		const char *advice = tw_json_text(get(item, "algorithmic"));

		tw_str_add_cstr(out, "- Pattern");
		if (*name) {
			tw_str_add_cstr(out, " in ");
			tw_md_code(out, name, NAME_LENGTH);
			tw_str_add_cstr(out, " (");
			add_number(out, item, "time_ms", " ms)");
		}
		tw_str_add_cstr(out, ": ");
		tw_md_text(out, tw_json_text(get(item, "issue")));
		if (*advice) {
			tw_str_add_cstr(out, ". ");
			tw_md_text(out, advice);
		}
		tw_str_add_char(out, '\n');
	}
}

/* Of the operations in the table. */
static void add_warnings(struct tw_str *out, const struct tw_json_value *metrics)
{
	const struct tw_json_value *op = get(metrics, "operations")->first;
	unsigned rows = 0;

	for (; op && rows < TW_FINDINGS_ROWS; op = op->next, rows++) {
		const struct tw_json_value *efficiency = get(op, "efficiency");

		if (!*tw_json_text(get(efficiency, "warning")))
			continue;
		tw_str_add_cstr(out, "- Warning for ");
		tw_md_code(out, tw_json_text(get(op, "name")), NAME_LENGTH);
		tw_str_add_cstr(out, " (");
		add_number(out, op, "time_ms", " ms): ");
		tw_md_text(out, tw_json_text(get(efficiency, "warning")));
		tw_str_add_char(out, '\n');
	}
}

/* What is in the metrics only: beyond the length of the table and of the list. */
static void add_rest(struct tw_str *out, const struct tw_json_value *metrics)
{
	const struct tw_json_value *left = get(metrics, "left_out");

	if (tw_json_number(get(left, "operations")) > 0) {
		tw_str_add_cstr(out, "- Operations not in the table: ");
		add_number(out, left, "operations", " (");
		add_number(out, left, "operations_time_ms", " ms, ");
		add_number(out, left, "operations_percent_of_category", "% of the category)\n");
	}
	if (tw_json_number(get(left, "bottlenecks")) > 0) {
		tw_str_add_cstr(out, "- Bottlenecks not listed: ");
		add_number(out, left, "bottlenecks", "\n");
	}
}

static void add_notes(struct tw_str *out, const struct tw_category_family *family,
		      const struct tw_json_value *metrics)
{
	const struct tw_json_value *specific = get(metrics, "category_specific");
	size_t i;

	tw_str_add_cstr(out, "## Additional Notes\n");
	for (i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		const struct note *note = &notes[i];

		if (note->family && strcmp(note->family, family->family) != 0)
			continue;
		tw_str_addf(out, "- %s: ", note->text);
		add_number(out, specific, note->key, note->unit);
		tw_str_add_char(out, '\n');
	}
	add_patterns(out, metrics);
	add_warnings(out, metrics);
	add_rest(out, metrics);
}

void tw_category_findings(struct tw_str *out, const struct tw_category_family *family,
			  const struct tw_json_value *metrics)
{
	const char *status = tw_json_text(get(metrics, "status"));

	tw_str_add_cstr(out, "# ");
	add_title(out, family, metrics);
	tw_str_add_cstr(out, " Analysis Summary\n\n");
	if (!strcmp(status, "NO_DATA")) {
		tw_str_add_cstr(out, "No ");
		add_title(out, family, metrics);
		tw_str_add_cstr(out, " operations found in trace\n");
	} else if (!strcmp(status, "ERROR")) {
		tw_str_add_cstr(out, "**Status**: ERROR\n\n");
		tw_md_text(out, tw_json_text(get(metrics, "error")));
		tw_str_add_char(out, '\n');
	} else {
		add_overview(out, family, metrics);
		add_table(out, metrics);
		add_bottlenecks(out, metrics);
		add_notes(out, family, metrics);
	}
}
