/* What analyze and category print: read back from what they wrote. */
#include "cli/analyze/analysing.h"
#include "cli/analyze/findings.h"

#include "base/alloc.h"
#include "render/escape.h"
#include "table/table.h"

#include <math.h>
#include <string.h>

/* ---- categories */

static const struct trawl_column category_columns[] = {
	TW_TEXT("category", 16, "category", .values = "!~^[a-z0-9_]+$"),
	TW_TEXT("status", 8, "done, no data, or failed", .values = "!done|no data|failed"),
	TW_MEAN_MS("time", 10, "kernel time; areas: idle, communication or copy time",
		   .values = ">=0"),
	TW_PERCENT_1("of compute", 10, "kernel time / compute time", .values = ">=0"),
	TW_INTEGER("bottlenecks", 10, "number of bottlenecks", .values = ">=0"),
};

static const struct tw_table_spec category_spec = TW_SPEC("categories",
							  "result of the analysis of each category",
							  category_columns, .keep_empty = true);

struct trawl_table *cli_category_table(void)
{
	return tw_table_new(&category_spec, trawl_allocator_default());
}

void cli_add_category(struct trawl_table *table, const char *name,
		      const struct tw_category_result *result)
{
	static const char *const words[] = {
		[TW_CATEGORY_DONE] = "done",
		[TW_CATEGORY_NO_DATA] = "no data",
		[TW_CATEGORY_FAILED] = "failed",
	};
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, 0, name);
	tw_table_set_str(table, row, 1, words[result->status]);
	if (result->status == TW_CATEGORY_FAILED)
		tw_table_add_note(table, "%s failed: %s", name, result->message);
	if (result->status != TW_CATEGORY_DONE)
		return;
	tw_table_set_real(table, row, 2, result->time_ms);
	tw_table_set_real(table, row, 3, result->percent_of_compute);
	tw_table_set_integer(table, row, 4, result->bottlenecks);
}

/* ---- what was analysed */

static const struct trawl_column analysis_columns[] = {
	TW_TEXT("trace", 24, "trace name", .values = "!"),
	TW_TEXT("view", 16, "selected part; missing: all"),
	TW_TEXT("platform", 16, "GPU of the roofline peaks"),
	TW_TEXT("platform by", 16, "option: --platform; device: from its name or properties",
		.values = "option|device"),
	TW_TEXT("device", 24, "device name in the trace"),
	TW_MEAN_MS("total", 10, "total time", .values = ">=0"),
	TW_PERCENT_1("computation", 8, "share of compute time", .values = "0..100"),
	TW_PERCENT_1(TW_LABEL_EXPOSED_COMMUNICATION, 8, "share of exposed communication",
		     .values = "0..100"),
	TW_PERCENT_1(TW_LABEL_EXPOSED_COPIES, 8, "share of exposed memory copies",
		     .values = "0..100"),
	TW_PERCENT_1("idle", 8, "share of idle time", .values = "0..100"),
};

static const struct tw_table_spec analysis_spec =
	TW_SPEC("analysis", "analyzed trace", analysis_columns, .keep_empty = true);

/* NULL for a text that is not there, which leaves the cell missing. */
static const char *text_of(const struct tw_json_value *object, const char *key)
{
	const char *text = tw_json_text(tw_json_get(object, key));

	return *text ? text : NULL;
}

static struct trawl_table *analysis_table(const struct tw_json_value *manifest)
{
	static const char *const shares[] = { TW_KEY_TOTAL_TIME_MS, "computation_time_percent",
					      "exposed_comm_time_percent",
					      "exposed_memcpy_time_percent", "idle_time_percent" };
	struct trawl_table *table = tw_table_new(&analysis_spec, trawl_allocator_default());
	const struct tw_json_value *use = tw_json_get(manifest, "gpu_utilization");
	const char *platform = text_of(manifest, "platform"), *by;
	size_t i;

	if (!table)
		return NULL;
	by = tw_json_true(tw_json_get(manifest, "platform_guessed")) ? "device" : "option";
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

/* ---- printed */

enum { TABLES = 2 };

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

static void add_platform_text(struct tw_str *out, const struct tw_json_value *manifest)
{
	const char *platform = text_of(manifest, "platform");
	const char *device = text_of(manifest, "device_name");

	tw_str_add_cstr(out, "platform: ");
	if (!platform) {
		tw_str_add_cstr(out, "unknown, so efficiencies are unknown: set --platform");
		return;
	}
	tw_escape_terminal(out, platform, strlen(platform));
	if (tw_json_true(tw_json_get(manifest, "platform_guessed"))) {
		tw_str_add_cstr(out, ", from the device in the trace");
		if (device) {
			tw_str_add_cstr(out, " (");
			tw_escape_terminal(out, device, strlen(device));
			tw_str_add_char(out, ')');
		}
		tw_str_add_cstr(out, "; override with --platform");
	}
}

static void add_platform(struct cli_screen *s, const struct tw_json_value *manifest)
{
	struct tw_str line;

	tw_str_init(&line, s->out.allocator);
	add_platform_text(&line, manifest);
	cli_add_line(s, &line, 0);
}

/* "3.496 ms looked at: 80.1 % computation, ..." */
static void add_use(struct cli_screen *s, const struct trawl_table *analysis)
{
	static const char *const words[] = { "computation", TW_LABEL_EXPOSED_COMMUNICATION,
					     TW_LABEL_EXPOSED_COPIES, "idle" };
	struct tw_str line;
	size_t i;

	tw_str_init(&line, s->out.allocator);
	if (has_cell(analysis, 0, 5)) {
		tw_str_add_real_fixed(&line, trawl_table_cell(analysis, 0, 5).real, 3);
		tw_str_add_cstr(&line, " ms");
	}
	if (has_cell(analysis, 0, 1)) {
		tw_str_add_cstr(&line, " of ");
		add_cell(&line, analysis, 0, 1);
	}
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has_cell(analysis, 0, 6 + i))
			tw_str_addf(&line, "%s%.1f %% %s", i ? ", " : ": ",
				    trawl_table_cell(analysis, 0, 6 + i).real, words[i]);
	cli_add_line(s, &line, 0);
}

static void add_defect(struct cli_screen *s, const struct tw_json_value *defect)
{
	const char *severity = text_of(defect, "severity"), *meaning = text_of(defect, "meaning");
	struct tw_str line;

	if (!severity || !meaning || !strcmp(severity, "note"))
		return;
	tw_str_init(&line, s->out.allocator);
	tw_str_addf(&line, "%s: %.0f x ", severity, tw_json_number(tw_json_get(defect, "count")));
	tw_escape_terminal(&line, meaning, strlen(meaning));
	cli_add_line(s, &line, 0);
}

/* What the figures do not hold. */
static void add_missing(struct cli_screen *s, const struct tw_json_value *manifest)
{
	const struct tw_json_value *u = tw_json_get(manifest, "unlinked");
	const struct tw_json_value *d = tw_json_get(manifest, "defects")->first;
	const char *platform = text_of(manifest, "platform");
	const char *device = text_of(manifest, "platform_of_device");
	struct tw_str line;

	if (platform && device && strcmp(platform, device)) {
		tw_str_init(&line, s->out.allocator);
		tw_str_add_cstr(&line, "device in the trace: ");
		tw_escape_terminal(&line, device, strlen(device));
		cli_add_line(s, &line, 0);
	}
	if (tw_json_number(tw_json_get(u, "count")) > 0)
		cli_add_wrapped(s,
				cli_text("%.3f ms of GPU work (%.1f %%) have no matching launch: "
					 "not attributed to any op, category times are lower "
					 "bounds",
					 tw_json_number(tw_json_get(u, "time_ms")),
					 tw_json_number(tw_json_get(u, TW_KEY_PERCENT_OF_TOTAL))),
				0);
	if (tw_json_true(tw_json_get(manifest, "linked_only")))
		tw_str_add_cstr(&s->out, "GPU work without a matching launch is skipped\n");
	for (; d; d = d->next)
		add_defect(s, d);
}

static int print_text(const struct tw_json_value *manifest, const struct trawl_diagnosis *diagnosis,
		      const struct trawl_table *const tables[TABLES])
{
	bool has_work = has_cell(tables[0], 0, 5) && trawl_table_cell(tables[0], 0, 5).real > 0;
	struct cli_screen s;

	cli_screen_init(&s);
	add_platform(&s, manifest);
	if (has_work) {
		add_use(&s, tables[0]);
		add_missing(&s, manifest);
		tw_str_add_char(&s.out, '\n');
		cli_add_findings(&s, diagnosis);
		tw_str_add_char(&s.out, '\n');
		tw_render_text(tables[1], &s.out, s.width, 0);
	} else {
		tw_str_add_cstr(&s.out, "no GPU work in the trace: nothing to analyze\n");
		add_missing(&s, manifest);
	}
	return cli_screen_print(&s);
}

/* For programs: the answer, the findings, and the tables of the analysis. */
static int print_tables(const struct trawl_diagnosis *diagnosis,
			const struct trawl_job_report *job_report,
			struct trawl_table *const tables[TABLES], enum tw_format format)
{
	struct trawl_table *verdict = cli_analysis_verdict(diagnosis, job_report);
	const struct trawl_table *printed[2 + TABLES] = { verdict,
							  trawl_diagnosis_findings(diagnosis) };
	int status, i;

	if (!verdict)
		return cli_no_memory();
	for (i = 0; i < TABLES; i++)
		printed[2 + i] = tables[i];
	status = cli_print_tables(printed, 2 + TABLES, format, "analyze", 0);
	trawl_table_free(verdict);
	return status;
}

int cli_print_analysis(struct tw_prepared *prepared, struct trawl_table *categories,
		       const struct trawl_diagnosis *diagnosis,
		       const struct trawl_job_report *job_report, enum tw_format format)
{
	struct trawl_table *tables[TABLES] = { NULL, categories };
	const struct tw_json_value *manifest;
	struct trawl_error err;
	int status = CLI_FAILED, i;

	manifest = tw_prepared_json(prepared, "", TW_MANIFEST, &err);
	if (!manifest)
		return cli_fail(&err);
	tables[0] = analysis_table(manifest);
	for (i = 0, err.status = 0; i < TABLES && !err.status; i++) {
		if (!tables[i])
			tw_no_memory(&err);
		else if (tw_table_finish(tables[i], &err))
			break;
	}
	if (i < TABLES || err.status)
		status = cli_fail(&err);
	else if (format == TW_FORMAT_TABLE)
		status = print_text(manifest, diagnosis, (const struct trawl_table *const *)tables);
	else
		status = print_tables(diagnosis, job_report, tables, format);
	trawl_table_free(tables[0]);
	return status;
}
