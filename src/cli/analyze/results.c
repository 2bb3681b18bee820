/* What analyze and category print. */
#include "cli/analyze/analysing.h"
#include "cli/analyze/findings.h"

#include "base/alloc.h"
#include "render/escape.h"
#include "standalone/manifest.h"
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

static struct trawl_table *analysis_table(const struct tw_manifest *m)
{
	static const enum tw_use_part shares[] = { TW_USE_COMPUTATION, TW_USE_COMM, TW_USE_MEMCPY,
						   TW_USE_IDLE };
	struct trawl_table *table = tw_table_new(&analysis_spec, trawl_allocator_default());
	const char *by = m->platform_guessed ? "device" : "option";
	size_t i;

	if (!table)
		return NULL;
	tw_table_add_row(table);
	tw_table_set_str(table, 0, 0, *m->trace_path ? m->trace_path : NULL);
	tw_table_set_str(table, 0, 1, *m->view ? m->view : NULL);
	tw_table_set_str(table, 0, 2, m->platform);
	tw_table_set_str(table, 0, 3, m->platform ? by : NULL);
	tw_table_set_str(table, 0, 4, m->device_name && *m->device_name ? m->device_name : NULL);
	tw_table_set_real(table, 0, 5, tw_use_ms(&m->use, TW_USE_TOTAL));
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		tw_table_set_real(table, 0, 6 + i, m->use.percent[shares[i]]);
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

static void add_platform_text(struct tw_str *out, const struct tw_manifest *m)
{
	tw_str_add_cstr(out, "platform: ");
	if (!m->platform) {
		tw_str_add_cstr(out, "unknown, so efficiencies are unknown: set --platform");
		return;
	}
	tw_escape_terminal(out, m->platform, strlen(m->platform));
	if (!m->platform_guessed)
		return;
	tw_str_add_cstr(out, ", from the device in the trace");
	if (m->device_name && *m->device_name) {
		tw_str_add_cstr(out, " (");
		tw_escape_terminal(out, m->device_name, strlen(m->device_name));
		tw_str_add_char(out, ')');
	}
	tw_str_add_cstr(out, "; override with --platform");
}

static void add_platform(struct cli_screen *s, const struct tw_manifest *manifest)
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

static void add_flaw(struct cli_screen *s, const struct tw_flaw *flaw)
{
	struct tw_str line;

	if (!strcmp(flaw->severity, "note"))
		return;
	tw_str_init(&line, s->out.allocator);
	tw_str_addf(&line, "%s: %llu x ", flaw->severity, (unsigned long long)flaw->count);
	tw_escape_terminal(&line, flaw->meaning, strlen(flaw->meaning));
	cli_add_line(s, &line, 0);
}

/* What the figures do not hold. */
static void add_missing(struct cli_screen *s, const struct tw_manifest *m)
{
	struct tw_str line;
	size_t i;

	if (m->platform && m->platform_of_device && strcmp(m->platform, m->platform_of_device)) {
		tw_str_init(&line, s->out.allocator);
		tw_str_add_cstr(&line, "device in the trace: ");
		tw_escape_terminal(&line, m->platform_of_device, strlen(m->platform_of_device));
		cli_add_line(s, &line, 0);
	}
	if (m->unlinked)
		cli_add_wrapped(s,
				cli_text("%.3f ms of GPU work (%.1f %%) have no matching launch: "
					 "not attributed to any op, category times are lower "
					 "bounds",
					 m->unlinked->time_ms, m->unlinked->percent_of_total),
				0);
	if (m->linked_only)
		tw_str_add_cstr(&s->out, "GPU work without a matching launch is skipped\n");
	for (i = 0; i < m->flaws.count; i++)
		add_flaw(s, &m->flaws.at[i]);
}

static int print_text(const struct tw_manifest *manifest, const struct trawl_diagnosis *diagnosis,
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
	const struct tw_manifest *manifest = prepared->manifest;
	struct trawl_error err;
	int status = CLI_FAILED, i;

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
