/* What analyze and category print: read back from what they wrote. */
#include "cli/analysing.h"

#include "render/escape.h"
#include "standalone/markdown.h"
#include "table/table.h"

#include <math.h>
#include <string.h>

/* So many changes are named. */
#define MOST_CHANGES 3
/* Names of kernels can fill a page. */
#define MOST_TITLE_BYTES 120

/* ---- categories */

static const struct trawl_column category_columns[] = {
	{ "category", TRAWL_COLUMN_TEXT, "", 0, 0, 16, "name of the category" },
	{ "status", TRAWL_COLUMN_TEXT, "", 0, 0, 8, "done, no data, or failed" },
	{ "time", TRAWL_COLUMN_REAL, "ms", 0, 3, 10, "time that it is about" },
	{ "of compute", TRAWL_COLUMN_REAL, "%", 0, 1, 10,
	  "its kernel time as a share of the computation time" },
	{ "bottlenecks", TRAWL_COLUMN_INTEGER, "", 0, 0, 10, "bottlenecks found" },
};

static const struct tw_table_spec category_spec = {
	.name = "categories",
	.meaning = "how the analysis of each category ended",
	.columns = category_columns,
	.column_count = sizeof(category_columns) / sizeof(category_columns[0]),
	.keep_empty = true,
};

struct trawl_table *cli_category_table(void)
{
	return tw_table_new(&category_spec, trawl_allocator_default());
}

void cli_add_category(struct trawl_table *table, struct tw_prepared *prepared, const char *name,
		      const struct tw_category_result *result)
{
	static const char *const words[] = {
		[TW_CATEGORY_DONE] = "done",
		[TW_CATEGORY_NO_DATA] = "no data",
		[TW_CATEGORY_FAILED] = "failed",
	};
	const char *file = tw_prepared_name(prepared, name, "_metrics.json");
	const struct tw_json_value *metrics = NULL, *found;
	size_t row = tw_table_add_row(table);
	struct trawl_error err;

	tw_table_set_str(table, row, 0, name);
	tw_table_set_str(table, row, 1, words[result->status]);
	if (result->status == TW_CATEGORY_FAILED)
		tw_table_add_note(table, "%s failed: %s", name, result->message);
	if (result->status == TW_CATEGORY_DONE && file)
		metrics = tw_prepared_json(prepared, TW_CATEGORY_DATA, file, &err);
	if (!metrics)
		return;
	tw_table_set_real(table, row, 2, tw_json_number(tw_json_get(metrics, "total_time_ms")));
	tw_table_set_real(table, row, 3,
			  tw_json_number(tw_json_get(metrics, "percent_of_compute")));
	found = tw_json_get(metrics, "bottlenecks");
	/* Areas of the system have findings instead. */
	if (found->type != TW_JSON_ARRAY)
		found = tw_json_get(metrics, "findings");
	if (found->type == TW_JSON_ARRAY)
		tw_table_set_integer(table, row, 4, (int64_t)found->count);
}

/* ---- what was analysed */

static const struct trawl_column analysis_columns[] = {
	{ "trace", TRAWL_COLUMN_TEXT, "", 0, 0, 24, "name of the trace" },
	{ "view", TRAWL_COLUMN_TEXT, "", 0, 0, 16, "the part looked at; missing: all" },
	{ "platform", TRAWL_COLUMN_TEXT, "", 0, 0, 16, "the GPU of the roofline" },
	{ "platform by", TRAWL_COLUMN_TEXT, "", 0, 0, 16,
	  "option: named by --platform; device name: guessed by it" },
	{ "device", TRAWL_COLUMN_TEXT, "", 0, 0, 24, "the device's name in the trace" },
	{ "total", TRAWL_COLUMN_REAL, "ms", 0, 3, 10, "time looked at" },
	{ "computation", TRAWL_COLUMN_REAL, "%", 0, 1, 8, "share of it with computation" },
	{ "exposed communication", TRAWL_COLUMN_REAL, "%", 0, 1, 8,
	  "share with communication and no computation" },
	{ "exposed copies", TRAWL_COLUMN_REAL, "%", 0, 1, 8,
	  "share with nothing but memory copies" },
	{ "idle", TRAWL_COLUMN_REAL, "%", 0, 1, 8, "share without GPU work" },
};

static const struct tw_table_spec analysis_spec = {
	.name = "analysis",
	.meaning = "what was analysed",
	.columns = analysis_columns,
	.column_count = sizeof(analysis_columns) / sizeof(analysis_columns[0]),
	.keep_empty = true,
};

/* NULL for a text that is not there, which leaves the cell missing. */
static const char *text_of(const struct tw_json_value *object, const char *key)
{
	const char *text = tw_json_text(tw_json_get(object, key));

	return *text ? text : NULL;
}

static struct trawl_table *analysis_table(const struct tw_json_value *manifest)
{
	static const char *const shares[] = { "total_time_ms", "computation_time_percent",
					      "exposed_comm_time_percent",
					      "exposed_memcpy_time_percent", "idle_time_percent" };
	struct trawl_table *table = tw_table_new(&analysis_spec, trawl_allocator_default());
	const struct tw_json_value *use = tw_json_get(manifest, "gpu_utilization");
	const char *platform = text_of(manifest, "platform"), *by;
	size_t i;

	if (!table)
		return NULL;
	by = tw_json_true(tw_json_get(manifest, "platform_guessed")) ? "device name" : "option";
	tw_table_add_row(table);
	tw_table_set_str(table, 0, 0, text_of(manifest, "trace_path"));
	tw_table_set_str(table, 0, 1, text_of(manifest, "view"));
	tw_table_set_str(table, 0, 2, platform);
	tw_table_set_str(table, 0, 3, platform ? by : NULL);
	tw_table_set_str(table, 0, 4, text_of(manifest, "device_name"));
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		tw_table_set_real(table, 0, 5 + i, tw_json_number(tw_json_get(use, shares[i])));
	return table;
}

/* ---- what to change */

enum {
	CHANGE_ID,
	CHANGE_TITLE,
	CHANGE_CATEGORY,
	CHANGE_PRIORITY,
	CHANGE_GAIN,
	CHANGE_SHARE,
	CHANGE_ISSUE,
	CHANGE_ACTION,
	CHANGE_KERNEL_ACTION,
};

static const struct trawl_column change_columns[] = {
	{ "id", TRAWL_COLUMN_TEXT, "", 0, 0, 5, "its number in the reports" },
	{ "change", TRAWL_COLUMN_TEXT, "", 0, 0, 40, "what is worth changing" },
	{ "category", TRAWL_COLUMN_TEXT, "", 0, 0, 16, "where: the category" },
	{ "priority", TRAWL_COLUMN_TEXT, "", 0, 0, 10, "Critical, High, Medium or Low" },
	{ "gain", TRAWL_COLUMN_REAL, "%", 0, 1, 8,
	  "expected gain as a share of the whole time; missing: not known" },
	{ "of total", TRAWL_COLUMN_REAL, "%", 0, 1, 8, "share of the whole time that it takes" },
	{ "issue", TRAWL_COLUMN_TEXT, "", 0, 0, 50, "what is wrong" },
	{ "action", TRAWL_COLUMN_TEXT, "", 0, 0, 50, "what to do, where the code may change" },
	{ "kernel action", TRAWL_COLUMN_TEXT, "", 0, 0, 50, "what to do about the kernel alone" },
};

static const struct tw_table_spec change_spec = {
	.name = "changes",
	.meaning = "what is most worth changing, by expected gain",
	.columns = change_columns,
	.column_count = sizeof(change_columns) / sizeof(change_columns[0]),
	.keep_empty = true,
};

/* What nobody knows comes behind what somebody does, and before nothing. */
static double gain_of(const struct tw_json_value *item)
{
	double gain = tw_json_number(tw_json_get(item, "expected_gain_percent"));

	return isnan(gain) ? 1e-9 : gain;
}

/* The one with the most gain among those not picked, the first of several; NULL: none. */
static const struct tw_json_value *best_change(const struct tw_json_value *list,
					       const struct tw_json_value *const *picked,
					       size_t count)
{
	const struct tw_json_value *item, *best = NULL;
	size_t i;

	for (item = list->first; item; item = item->next) {
		for (i = 0; i < count && picked[i] != item;)
			i++;
		if (i == count && gain_of(item) > (best ? gain_of(best) : 0))
			best = item;
	}
	return best;
}

static void add_change(struct trawl_table *table, const struct tw_json_value *item)
{
	const char *action = text_of(item, "path_a");
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, CHANGE_ID, text_of(item, "id"));
	tw_table_set_str(table, row, CHANGE_TITLE, text_of(item, "title"));
	tw_table_set_str(table, row, CHANGE_CATEGORY, text_of(item, "category"));
	tw_table_set_str(table, row, CHANGE_PRIORITY, text_of(item, "priority"));
	tw_table_set_real(table, row, CHANGE_GAIN,
			  tw_json_number(tw_json_get(item, "expected_gain_percent")));
	tw_table_set_real(table, row, CHANGE_SHARE,
			  tw_json_number(tw_json_get(item, "percent_of_total")));
	tw_table_set_str(table, row, CHANGE_ISSUE, text_of(item, "issue"));
	/* Findings about the system have one way only. */
	tw_table_set_str(table, row, CHANGE_ACTION, action ? action : text_of(item, "action"));
	tw_table_set_str(table, row, CHANGE_KERNEL_ACTION, text_of(item, "path_b"));
}

static struct trawl_table *change_table(struct tw_prepared *prepared)
{
	struct trawl_table *table = tw_table_new(&change_spec, trawl_allocator_default());
	const struct tw_json_value *picked[MOST_CHANGES], *data, *list;
	struct trawl_error err;
	size_t count;

	data = table ? tw_prepared_json(prepared, "", "priority_data.json", &err) : NULL;
	if (!data)
		return table;
	list = tw_json_get(data, "optimizations");
	for (count = 0; count < MOST_CHANGES; count++) {
		picked[count] = best_change(list, picked, count);
		if (!picked[count])
			break;
		add_change(table, picked[count]);
	}
	return table;
}

/* ---- printed */

/* The text of a cell, for a terminal. */
static void add_cell(struct tw_str *out, const struct trawl_table *table, size_t row, size_t column)
{
	struct trawl_cell cell = trawl_table_cell(table, row, column);

	if (cell.state == TRAWL_CELL_VALUE)
		tw_escape_terminal(out, cell.text, cell.text_len);
}

static bool has_cell(const struct trawl_table *table, size_t row, size_t column)
{
	return trawl_table_cell(table, row, column).state == TRAWL_CELL_VALUE;
}

static void add_platform(struct tw_str *out, const struct tw_json_value *manifest)
{
	const char *platform = text_of(manifest, "platform");
	const char *device = text_of(manifest, "device_name");

	tw_str_add_cstr(out, "platform: ");
	if (!platform) {
		tw_str_add_cstr(out,
				"not known, so efficiencies are not either; --platform names it\n");
		return;
	}
	tw_escape_terminal(out, platform, strlen(platform));
	if (tw_json_true(tw_json_get(manifest, "platform_guessed"))) {
		tw_str_add_cstr(out, ", guessed from the device name");
		if (device) {
			tw_str_add_cstr(out, " (");
			tw_escape_terminal(out, device, strlen(device));
			tw_str_add_char(out, ')');
		}
		tw_str_add_cstr(out, "; --platform names another");
	}
	tw_str_add_char(out, '\n');
}

/* "3.496 ms looked at: 80.1 % computation, ..." */
static void add_use(struct tw_str *out, const struct trawl_table *analysis)
{
	static const char *const words[] = { "computation", "exposed communication",
					     "exposed copies", "idle" };
	size_t i;

	if (has_cell(analysis, 0, 5)) {
		tw_str_add_real_fixed(out, trawl_table_cell(analysis, 0, 5).real, 3);
		tw_str_add_cstr(out, " ms");
	}
	if (has_cell(analysis, 0, 1)) {
		tw_str_add_cstr(out, " of ");
		add_cell(out, analysis, 0, 1);
	}
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!has_cell(analysis, 0, 6 + i))
			continue;
		tw_str_add_cstr(out, i ? ", " : ": ");
		tw_str_add_real_fixed(out, trawl_table_cell(analysis, 0, 6 + i).real, 1);
		tw_str_addf(out, " %% %s", words[i]);
	}
	tw_str_add_char(out, '\n');
}

static void add_percent(struct tw_str *out, const struct trawl_table *table, size_t row,
			size_t column, const char *before, const char *behind)
{
	tw_str_add_cstr(out, before);
	tw_str_add_real_fixed(out, trawl_table_cell(table, row, column).real, 1);
	tw_str_add_cstr(out, behind);
}

/* "1. aten::mm (GEMM): up to 12.3 % less time", and below it what is wrong and what to do. */
static void add_change_text(struct tw_str *out, const struct trawl_table *changes, size_t i)
{
	struct tw_str text;
	size_t column;

	tw_str_init(&text, out->allocator);
	add_cell(&text, changes, i, CHANGE_TITLE);
	tw_md_cut(&text, MOST_TITLE_BYTES);
	tw_str_addf(out, "  %zu. ", i + 1);
	tw_str_add(out, text.ptr, text.len);
	if (has_cell(changes, i, CHANGE_GAIN))
		add_percent(out, changes, i, CHANGE_GAIN, ": up to ", " % less time");
	else if (has_cell(changes, i, CHANGE_SHARE))
		add_percent(out, changes, i, CHANGE_SHARE, ": gain not known, it takes ",
			    " % of the time");
	tw_str_add_char(out, '\n');
	for (column = CHANGE_ISSUE; column <= CHANGE_ACTION; column++) {
		if (!has_cell(changes, i, column))
			continue;
		tw_str_clear(&text);
		add_cell(&text, changes, i, column);
		tw_str_add_cstr(out, "     ");
		cli_add_wrapped(out, text.failed ? "" : text.ptr, 5, cli_width());
	}
	out->failed |= text.failed;
	tw_str_release(&text);
}

static void add_changes(struct tw_str *out, const struct trawl_table *changes)
{
	size_t count = trawl_table_rows(changes), i;

	if (!count) {
		tw_str_add_cstr(out, "nothing was found that is worth changing\n");
		return;
	}
	tw_str_add_cstr(out, "most worth changing\n");
	for (i = 0; i < count; i++)
		add_change_text(out, changes, i);
}

static int print_text(const struct tw_json_value *manifest,
		      const struct trawl_table *const tables[3])
{
	struct tw_str out;
	int status = CLI_FAILED;

	tw_str_init(&out, trawl_allocator_default());
	add_platform(&out, manifest);
	add_use(&out, tables[0]);
	tw_str_add_char(&out, '\n');
	tw_render_text(tables[1], &out, cli_width(), 0);
	tw_str_add_char(&out, '\n');
	add_changes(&out, tables[2]);
	if (out.failed)
		cli_message("out of memory");
	else
		status = cli_print(out.ptr, out.len);
	tw_str_release(&out);
	return status;
}

int cli_print_analysis(struct tw_prepared *prepared, struct trawl_table *categories,
		       enum tw_format format)
{
	struct trawl_table *tables[3] = { NULL, categories, NULL };
	const struct tw_json_value *manifest;
	struct trawl_error err;
	int status = CLI_FAILED, i;

	manifest = tw_prepared_json(prepared, "", TW_MANIFEST, &err);
	if (!manifest)
		return cli_fail(&err);
	tables[0] = analysis_table(manifest);
	tables[2] = change_table(prepared);
	for (i = 0, err.status = 0; i < 3 && !err.status; i++) {
		if (!tables[i])
			trawl_error_set(&err, TRAWL_ENOMEM, "out of memory");
		else if (tw_table_finish(tables[i], &err))
			break;
	}
	if (i < 3 || err.status)
		status = cli_fail(&err);
	else if (format == TW_FORMAT_TABLE)
		status = print_text(manifest, (const struct trawl_table *const *)tables);
	else
		status = cli_print_tables((const struct trawl_table *const *)tables, 3, format,
					  "analyze", 0);
	tw_table_free(tables[0]);
	tw_table_free(tables[2]);
	return status;
}
