/*
 * The findings of a category: the template of the GEMM analysis, for every category.  All numbers
 * are as the metrics have them.
 */
#include "standalone/category/category.h"

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

struct page {
	struct tw_str *out;
	const struct tw_category_data *data;
	const struct tw_findings_place *place;
	const char *title;
};

static void fill(const struct page *p, const char *text, const struct tw_category_row *row)
{
	tw_fields_fill(p->out, text, &tw_row_fields, row);
}

void tw_findings_heading(struct tw_str *out, const struct tw_findings_place *place, unsigned level,
			 const char *text)
{
	for (level += place->deeper; level; level--)
		tw_str_add_char(out, '#');
	tw_str_addf(out, " %s\n%s", text, place->deeper ? "\n" : "");
}

static void add_overview(const struct page *p)
{
	tw_findings_heading(p->out, p->place, 2, "Overview");
	if (p->data->family->subject)
		tw_str_add_cstr(p->out, p->data->family->subject);
	else
		tw_str_addf(p->out, "%s operations", p->title);
	tw_fields_fill(p->out,
		       " account for {percent_of_compute|%} of compute time. Average efficiency: "
		       "{average_efficiency_percent|%}.\n\n",
		       &tw_category_data_fields, p->data);
}

void tw_findings_args(struct tw_str *out, const char *args, size_t most)
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

static void add_table(const struct page *p)
{
	uint32_t i;

	tw_findings_heading(p->out, p->place, 2, "Operations Breakdown");
	tw_str_add_cstr(p->out, "| Operation | Count | Time (ms) | % of Category | Efficiency | "
				"FLOPS/Byte | Type |\n"
				"|-----------|-------|-----------|---------------|------------|"
				"------------|------|\n");
	for (i = 0; i < p->data->row_count && i < TW_FINDINGS_ROWS; i++) {
		const struct tw_category_row *row = &p->data->rows[i];

		fill(p, "| {name:80}", row);
		tw_str_add_cstr(p->out, *row->args ? " " : "");
		tw_findings_args(p->out, row->args, CELL_LENGTH);
		if (row->distinct)
			fill(p, " {distinct:50}", row);
		fill(p,
		     " | {count} | {time_ms} | {percent_of_category|%} | "
		     "{efficiency.efficiency_percent|%}",
		     row);
		tw_str_add_cstr(p->out, row->is_anomaly ? " (implausible)" : "");
		fill(p, " | {efficiency.flops_per_byte} | {type} |\n", row);
	}
	tw_str_add_char(p->out, '\n');
}

/* Where it is called from: modules, outermost first, else the function of Python. */
static void add_caller(const struct page *p, const struct tw_category_row *row)
{
	size_t count = row->modules.count, i = count > PATH_MODULES ? count - PATH_MODULES : 0;

	if (!count && !row->path)
		return;
	tw_str_add_cstr(p->out, ", called from ");
	if (!count)
		tw_md_code(p->out, row->path, ARGS_LENGTH);
	for (; i < count; i++) {
		tw_md_code(p->out, row->modules.at[i], NAME_LENGTH);
		tw_str_add_cstr(p->out, i + 1 < count ? " > " : "");
	}
}

static void add_issue(const struct page *p, const struct tw_category_row *row)
{
	const char *issue = row->advice.text[TW_ADVICE_ISSUE];

	tw_str_add_cstr(p->out, "- **Issue:** ");
	if (row->is_unmodelled && !row->is_too_short && !row->kind)
		tw_str_add_cstr(p->out, "Unmodelled: no cost model gives its efficiency. ");
	tw_md_text(p->out, issue ? issue : "");
	fill(p, ". Calls: {count}", row);
	tw_str_add_cstr(p->out, *row->args ? ", of " : "");
	tw_findings_args(p->out, row->args, ARGS_LENGTH);
	if (row->distinct)
		fill(p, ", {distinct:160}", row);
	add_caller(p, row);
	tw_str_add_char(p->out, '\n');
}

static void add_line(const struct page *p, const char *label, const char *text)
{
	tw_str_addf(p->out, "- **%s:** ", label);
	tw_md_text(p->out, text ? text : TW_MD_UNKNOWN);
	tw_str_add_char(p->out, '\n');
}

static void add_bottleneck(const struct page *p, const struct tw_category_row *row)
{
	const struct tw_fields *fields = &tw_bottleneck_fields;
	const char *of_peak = row->bound && *row->bound == 'm' ? "% of peak HBM BW" :
								 "% of peak MAF";

	if (p->place->begin)
		p->place->begin(p->place->context, row, p->out);
	else
		tw_fields_fill(p->out, "### {rank}. {operation:80}\n", fields, row);
	tw_fields_fill(p->out,
		       "- **Time:** {time_ms| ms} ({percent_of_compute|%} of compute)\n"
		       "- **Efficiency:** {efficiency_percent}",
		       fields, row);
	tw_str_addf(p->out, "%s\n", row->is_modelled ? of_peak : " (unmodelled)");
	add_issue(p, row);
	add_line(p, "Algorithmic", row->advice.text[TW_ADVICE_ALGORITHMIC]);
	add_line(p, "Kernel", row->advice.text[TW_ADVICE_KERNEL]);
	add_line(p, "Priority", row->priority->level);
	if (p->place->end)
		p->place->end(p->place->context, row, p->out);
	tw_str_add_char(p->out, '\n');
}

static void add_bottlenecks(const struct page *p)
{
	uint32_t i;

	tw_findings_heading(p->out, p->place, 2, "Key Bottlenecks");
	tw_str_add_cstr(p->out, p->place->deeper ? "" : "\n");
	if (!p->data->bottleneck_count)
		tw_str_add_cstr(p->out,
				"None: no operation has both a large share of the time and a low "
				"efficiency.\n\n");
	for (i = 0; i < p->data->bottleneck_count && i < TW_FINDINGS_BOTTLENECKS; i++)
		add_bottleneck(p, p->data->bottlenecks[i]);
}

static void add_pattern(const struct page *p, const struct tw_category_row *row,
			const struct tw_advice *advice)
{
	const char *issue = advice->text[TW_ADVICE_ISSUE];
	const char *text = advice->text[TW_ADVICE_ALGORITHMIC];

	tw_str_add_cstr(p->out, "- Pattern");
	if (row)
		fill(p, " in {name:80} ({time_ms| ms})", row);
	tw_str_add_cstr(p->out, ": ");
	tw_md_text(p->out, issue ? issue : "");
	tw_str_add_cstr(p->out, text ? ". " : "");
	tw_md_text(p->out, text ? text : "");
	tw_str_add_char(p->out, '\n');
}

static void add_patterns(const struct page *p)
{
	const struct tw_category_data *data = p->data;
	uint32_t i;

	if (data->advice.patterns)
		add_pattern(p, NULL, &data->advice);
	for (i = 0; i < data->row_count; i++)
		if (data->rows[i].advice.patterns && !data->rows[i].is_bottleneck)
			add_pattern(p, &data->rows[i], &data->rows[i].advice);
}

/* Of the operations in the table; and what is in the metrics only. */
static void add_rest(const struct page *p)
{
	const struct tw_left_out left = tw_category_left_out(p->data);
	uint32_t i;

	for (i = 0; i < p->data->row_count && i < TW_FINDINGS_ROWS; i++)
		if (p->data->rows[i].warning)
			fill(p, "- Warning for {name:80} ({time_ms| ms}): {efficiency.warning}\n",
			     &p->data->rows[i]);
	if (left.operations)
		tw_fields_fill(p->out,
			       "- Operations not in the table: {operations} "
			       "({operations_time_ms| ms}, {operations_percent_of_category|%} of "
			       "the category)\n",
			       &tw_left_out_fields, &left);
	if (left.bottlenecks)
		tw_fields_fill(p->out, "- Bottlenecks not listed: {bottlenecks}\n",
			       &tw_left_out_fields, &left);
}

static void add_notes(const struct page *p)
{
	size_t i;

	tw_findings_heading(p->out, p->place, 2, "Additional Notes");
	for (i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		const struct note *note = &notes[i];

		if (note->family && strcmp(note->family, p->data->family->family) != 0)
			continue;
		tw_str_addf(p->out, "- %s: ", note->text);
		tw_category_figure(p->out, p->data, note->key);
		tw_str_addf(p->out, "%s\n", note->unit);
	}
	add_patterns(p);
	add_rest(p);
}

static void add_all(const struct page *p)
{
	if (!p->place->deeper)
		tw_str_addf(p->out, "# %s Analysis Summary\n\n", p->title);
	if (!strcmp(p->data->status, "NO_DATA")) {
		tw_str_addf(p->out, "No %s operations found in trace\n", p->title);
	} else if (p->data->error) {
		tw_fields_fill(p->out, "**Status**: ERROR\n\n{error}\n", &tw_category_data_fields,
			       p->data);
	} else {
		add_overview(p);
		add_table(p);
		add_bottlenecks(p);
		add_notes(p);
	}
}

void tw_category_findings(struct tw_str *out, const struct tw_category_data *data,
			  const struct tw_findings_place *place)
{
	struct page p = { out, data, place, data->family->title };
	struct tw_str title;

	tw_str_init(&title, out->allocator);
	if (!p.title) {
		tw_md_text(&title, data->title);
		p.title = title.ptr ? title.ptr : "";
	}
	add_all(&p);
	out->failed |= title.failed;
	tw_str_release(&title);
}
