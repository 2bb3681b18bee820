/*
 * Priorities, projections and the two reports, from files written here; the numbers by hand: in
 * 100 ms, an operation of 10 ms at 10 % of peak takes 5, 2 and 1.25 ms at 20, 50 and 80 %.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing.h"
#include "scratch.h"
#include "standalone/markdown.h"
#include "standalone/reports.h"
#include "table/columns.h"
#include "table/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct scratch scratch;
static struct tw_prepared prepared;
static const struct tw_json_value *data; /* priority_data.json */

#define UTILIZATION                                                                   \
	"\"gpu_utilization\": {\"total_time_ms\": 100, \"computation_time_ms\": 40, " \
	"\"computation_time_percent\": 40, \"exposed_comm_time_ms\": 0, "             \
	"\"exposed_comm_time_percent\": 0, \"exposed_memcpy_time_ms\": 0, "           \
	"\"exposed_memcpy_time_percent\": 0, \"idle_time_ms\": 60, "                  \
	"\"idle_time_percent\": 60}, \"cpu_idle_critical\": true"

static const char manifest[] =
	"{\"platform\": \"MI300X\", \"platform_guessed\": true, \"device_name\": \"A <GPU>\", "
	"\"trace_path\": \"t.json\", \"view\": \"\", " UTILIZATION ", "
	"\"top_operations\": [{\"rank\": 1, \"uid\": 1, \"name\": \"aten::mm\", "
	"\"category\": \"gemm\", \"display_name\": \"GEMM\", \"input_dims\": \"((2, 3), (3, 4))\", "
	"\"count\": 5, \"time_ms\": 10, \"percent_of_compute\": 25}, "
	"{\"rank\": 2, \"uid\": 6, \"name\": \"aten::top\", \"category\": \"gemm\", "
	"\"display_name\": \"GEMM\", \"input_dims\": \"\", \"count\": 5, \"time_ms\": 10, "
	"\"percent_of_compute\": 25}], "
	"\"categories\": [{\"name\": \"cpu_idle\", \"display_name\": \"CPU/Idle Analysis\", "
	"\"tier\": \"system\"}, "
	"{\"name\": \"gemm\", \"display_name\": \"GEMM\", \"tier\": \"compute_kernel\", "
	"\"skill\": \"gemm-analysis\", \"gpu_kernel_time_ms\": 30, \"percent_of_compute\": 75, "
	"\"percent_of_total\": 30}, "
	"{\"name\": \"reduce\", \"display_name\": \"reduce\", \"tier\": \"compute_kernel\", "
	"\"gpu_kernel_time_ms\": 2, \"percent_of_compute\": 5}, "
	"{\"name\": \"norm\", \"display_name\": \"Norm\", \"tier\": \"compute_kernel\"}, "
	"{\"name\": \"triton\", \"display_name\": \"Triton\", \"tier\": \"compute_kernel\"}, "
	"{\"name\": \"other\", \"display_name\": \"other\", \"tier\": \"compute_kernel\"}], "
	"\"defects\": [{\"kind\": \"gpu_open\", \"severity\": \"defect\", \"count\": 17, "
	"\"meaning\": \"never ends\"}, {\"kind\": \"x\", \"severity\": \"note\", \"count\": 1, "
	"\"meaning\": \"fine\"}]}";

/* uid, operation, time, exposed, % of category, efficiency, rules */
#define BOTTLENECK(uid, name, time, exposed, category, efficiency, rules)                 \
	"{\"uid\": " #uid ", \"operation\": \"" name                                      \
	"\", \"args\": \"(2,3) bf16<br>(3,4) bf16\", "                                    \
	"\"count\": 5, \"time_ms\": " #time ", \"exposed_time_ms\": " #exposed            \
	", \"percent_of_category\": " #category ", \"percent_of_compute\": 25, "          \
	"\"percent_of_total\": " #time ", \"efficiency_percent\": " #efficiency           \
	", \"issue\": \"slow *here*\", \"algorithmic\": \"fuse\", \"kernel\": \"tune\", " \
	"\"rules\": [" rules "]}"

static const char gemm[] = "{\"status\": \"OK\", \"bottlenecks\": [" BOTTLENECK(1, "aten::mm", 10, 10, 30, 10, "") ", " BOTTLENECK(
	2, "aten::hidden", 10, 3, 30, 10,
	"") ", " BOTTLENECK(3, "aten::unknown", 10, 10, 30, null,
			    "") ", " BOTTLENECK(4, "aten::good", 10, 10, 30, 85,
						"") ", " BOTTLENECK(5, "aten::small", 1, 1, 5, 10,
								    "") ", " BOTTLENECK(6,
											"aten::top",
											4, 4, 15,
											10,
											"") ", " BOTTLENECK(6,
													    "aten::other_of_its_launch",
													    1,
													    1,
													    3,
													    10,
													    "") ", " BOTTLENECK(7,
																"aten::pattern",
																1,
																1,
																3,
																10,
																"\"tiny_batched\"") "], \"operations\": [{\"name\": \"aten::mm\", \"percent_of_compute\": 25, "
																		    "\"efficiency\": {\"efficiency_percent\": 10, \"is_anomaly\": false}}, "
																		    "{\"name\": \"aten::unknown\", \"percent_of_compute\": 12.5, \"efficiency\": "
																		    "{\"efficiency_percent\": null}}], "
																		    "\"category_findings\": [{\"rank\": 1, \"estimate_method\": \"quantified\", "
																		    "\"impact_score\": 1.25, \"impact_score_low\": 1, \"impact_score_high\": 1.5, "
																		    "\"member_count\": 2}, {\"rank\": 2, \"estimate_method\": \"quantified\", "
																		    "\"impact_score\": 0.75, \"impact_score_low\": 0.5, \"impact_score_high\": 1, "
																		    "\"member_count\": 1}, {\"rank\": 3, \"estimate_method\": \"heuristic\", "
																		    "\"impact_score\": 3, \"impact_score_low\": 2, \"impact_score_high\": 4}], "
																		    "\"impact_estimates\": [{\"operation\": \"aten::mm\"}]}";

static const char cpu_idle[] =
	"{\"status\": \"OK\", \"findings\": [{\"id\": \"gaps\", \"title\": \"The host is late\", "
	"\"severity\": \"HIGH\", \"issue\": \"It waits\", \"action\": \"Launch less\", "
	"\"percent_of_total\": 20}, {\"id\": \"none\", \"title\": \"All right\", "
	"\"severity\": \"ACCEPTABLE\"}]}";

static const char findings[] =
	"# GEMM Analysis Summary\n\n## Overview\nAll of it.\n\n## Key Bottlenecks\n\n"
	"### 1. `aten::mm`\n- **Time:** 10 ms\n- **Issue:** slow\n- **Kernel:** tune\n"
	"- **Priority:** High\n\n### 5. `aten::small`\n- **Issue:** told here\n"
	"- **Priority:** High\n\n## Empty\n\n### Empty Too\n\n## Additional Notes\n"
	"```\n# no heading\n```\n";

static void write_file(const char *name, const char *text)
{
	scratch_write(&scratch, name, text);
}

static void write_all(void)
{
	static const char *const folders[] = { "category_data", "category_findings", "metadata",
					       "system_findings", "replay_packages" };
	size_t i;

	scratch_make(&scratch);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		mkdir(scratch_path(&scratch, folders[i]), 0777);
	write_file("category_manifest.json", manifest);
	write_file("category_data/gemm_metrics.json", gemm);
	write_file("category_data/cpu_idle_metrics.json", cpu_idle);
	write_file("category_data/reduce_metrics.json", "{\"status\": \"OK\"}");
	write_file("category_data/norm_metrics.json",
		   "{\"status\": \"ERROR\", \"error\": \"no column `name`\"}");
	write_file("category_data/triton_metrics.json", "{\"status\" \"OK\"}");
	write_file("category_findings/gemm_findings.md", findings);
	write_file("system_findings/cpu_idle_findings.md",
		   "# CPU\n\n**Status**: SUCCESS\n\n## Recommendations\n\n"
		   "### System P1: The host is late\n**Issue**: It waits\n\n## Gaps\nMany.\n"
		   "1. **The host is late** - HIGH\n   - Evidence: told above\n"
		   "2. **Another** - LOW\n   - Evidence: told here\n");
	write_file("metadata/gemm_metadata.json",
		   "{\"peak_hbm_bw_tbs\": 5.3, \"memory_gb\": 192, "
		   "\"max_achievable_tflops\": {\"matrix_bf16\": 708, \"matrix_fp4\": null}}");
	write_file("replay_packages/b_replay_package.zip", "");
	write_file("replay_packages/a_replay_package.zip", "");
	write_file("replay_packages/notes.txt", "");
}

static int run(const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_reports_options options = { .model = "a_model" };

	tw_prepared_init(&prepared, scratch.dir, allocator);
	return tw_reports(&prepared, &options, err);
}

static int setup(void **state)
{
	struct trawl_error err;

	write_all();
	if (run(trawl_allocator_default(), &err))
		fail_msg("%s", err.message);
	data = tw_prepared_json(&prepared, "", TW_PRIORITY_DATA, &err);
	return data ? 0 : -1;
}

static int teardown(void **state)
{
	tw_prepared_release(&prepared);
	scratch_remove(&scratch);
	return 0;
}

static char *fair_text(void)
{
	size_t len;
	char *text = scratch_read(scratch_path(&scratch, "standalone_analysis_fair.md"), &len);

	assert_non_null(text);
	return text;
}

static const struct tw_json_value *bottleneck(const char *operation)
{
	const struct tw_json_value *o = tw_json_get(data, "bottlenecks")->first;

	while (o && strcmp(tw_report_text(o, "operation"), operation))
		o = o->next;
	assert_non_null(o);
	return o;
}

/* Of 9 bytes a third is the end; a letter of two bytes stays or goes whole. */
static void cut_between_letters(void **state)
{
	static const char *const texts[][2] = { { "abcdefghijklmn", "abcdef…lmn" },
						{ "abcdeéghijklmn", "abcde…lmn" },
						{ "abcdefghijkéop", "abcdef…op" } };
	struct tw_str text;
	size_t i;

	for (i = 0; i < 3; i++) {
		tw_str_init(&text, trawl_allocator_default());
		tw_str_add_cstr(&text, texts[i][0]);
		tw_md_cut(&text, 9);
		assert_string_equal(text.ptr, texts[i][1]);
		tw_str_release(&text);
	}
}

/* ---- priorities */

static void priorities_by_the_framework(void **state)
{
	static const char *const want[][2] = {
		{ "aten::mm", "Critical" },		/* top, low efficiency, over 15 % */
		{ "aten::top", "High" },		/* 15 % is not over it */
		{ "aten::hidden", "High" },		/* not top, but below 40 and over 10 */
		{ "aten::unknown", "Medium" },		/* an unknown efficiency is not low */
		{ "aten::good", "Low" },		/* above the last target: nothing to gain */
		{ "aten::small", "Low" },		/* 5 % is not over it */
		{ "aten::pattern", "Medium" },		/* 3 %, but a rule saw a pattern */
		{ "aten::other_of_its_launch", "Low" }, /* the uid of one of the top alone */
	};
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(tw_report_text(bottleneck(want[i][0]), "priority"), want[i][1]);
	/* 30 ms; reductions take 2. */
	assert_string_equal(tw_report_text(tw_json_get(data, "summary"), "top_category"), "GEMM");
}

/* By priority, then gain, unknown ones last; what areas of the system found is none of them. */
static void one_sequence(void **state)
{
	static const char *const want[] = {
		"aten::mm (GEMM)",
		"aten::top (GEMM)",
		"aten::hidden (GEMM)",
		"aten::pattern (GEMM)",
		"aten::unknown (GEMM)",
		"aten::small (GEMM)",
		"aten::other_of_its_launch (GEMM)",
		"aten::good (GEMM)",
	};
	const struct tw_json_value *o = tw_json_get(data, "bottlenecks")->first;
	char id[16];
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++, o = o->next) {
		snprintf(id, sizeof(id), "B%zu", i + 1);
		assert_string_equal(tw_report_text(o, "id"), id);
		assert_string_equal(tw_report_text(o, "title"), want[i]);
	}
	assert_null(o);
}

static void check_row(const struct tw_json_value *row, double target, double time, double share,
		      bool bounded)
{
	assert_true(tw_report_number(row, "target_efficiency_percent") == target);
	assert_true(fabs(tw_report_number(row, "time_ms") - time) < 1e-9);
	assert_true(fabs(tw_report_number(row, "e2e_improvement_percent") - share) < 1e-9);
	assert_int_equal(tw_json_true(tw_json_get(row, "bounded_by_exposed_time")), bounded);
}

static void projection(void **state)
{
	const struct tw_json_value *o = bottleneck("aten::mm");
	const struct tw_json_value *row = tw_json_get(o, "impact_projection")->first;

	check_row(row, 20, 5, 5, false);
	check_row(row->next, 50, 2, 8, false);
	check_row(row->next->next, 80, 1.25, 8.75, false);
	assert_null(row->next->next->next);
	assert_true(tw_report_number(o, "operation_gain_percent") == 8.75);
	assert_true(tw_report_number(row, "operation_improvement_percent") == 50);
}

/* What other work hides is no gain. */
static void projection_is_bounded(void **state)
{
	const struct tw_json_value *o = bottleneck("aten::hidden");
	const struct tw_json_value *row = tw_json_get(o, "impact_projection")->first;

	check_row(row, 20, 5, 3, true);
	check_row(row->next->next, 80, 1.25, 3, true);
	assert_true(tw_report_number(o, "operation_gain_percent") == 3);
}

static void no_projection(void **state)
{
	assert_int_equal(tw_json_get(bottleneck("aten::unknown"), "impact_projection")->count, 0);
	assert_int_equal(tw_json_get(bottleneck("aten::good"), "impact_projection")->count, 0);
	assert_true(tw_json_is_null(
		tw_json_get(bottleneck("aten::unknown"), "operation_gain_percent")));
}

static void rollup_of_findings(void **state)
{
	const struct tw_json_value *p = tw_json_get(data, "priorities")->first;
	const struct tw_json_value *f = tw_json_get(data, "findings")->first;

	assert_string_equal(tw_report_text(p, "category"), "gemm");
	assert_true(tw_report_number(p, "impact_score") == 2);
	assert_true(tw_report_number(p, "impact_score_low") == 1.5);
	assert_true(tw_report_number(p, "impact_score_high") == 2.5);
	/* 5 % of the computing time, and nothing found. */
	assert_string_equal(tw_report_text(p->next, "category"), "reduce");
	assert_string_equal(tw_report_text(p->next, "source"), "manifest_fallback");
	assert_null(p->next->next);
	assert_true(tw_report_number(tw_json_get(data, "recommendations")->first,
				     "operation_count") == 3);
	assert_true(tw_report_number(f, "impact_score") == 3);
	assert_true(tw_report_number(f, "global_rank") == 1);
	assert_true(tw_report_number(f, "category_rank") == 3);
	assert_int_equal(tw_json_get(data, "all_estimates")->count, 1);
	assert_true(tw_report_number(data, "baseline_ms") == 100);
}

static void facts_of_the_whole(void **state)
{
	const struct tw_json_value *facts = tw_json_get(data, "facts");

	assert_true(tw_report_number(facts, "unmodelled_count") == 1);
	assert_true(tw_report_number(facts, "unmodelled_percent") == 12.5);
	assert_true(tw_report_number(facts, "excluded_count") == 3);
	/* 7 of 47 ms. */
	assert_true(tw_report_number(facts, "hidden_percent") == 14.89);
	assert_true(tw_report_number(facts, "platform_known") == 1);
}

/* ---- the reports */

static void assert_has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("not there: %s", what);
}

static void assert_lacks(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("there: %s", what);
}

static void left_out_with_reasons(void **state)
{
	char *text = fair_text();

	assert_has(text, "- **Norm** is left out: no column `name`.\n");
	assert_has(text, "- **Triton** is left out: category_data/triton_metrics.json cannot be "
			 "used: triton_metrics.json:1:11: expected ':'.\n");
	assert_has(text, "- **other** is left out: not analyzed: there is no "
			 "category_data/other_metrics.json.\n");
	assert_has(text, "- **reduce** has no findings file");
	assert_has(text, "`gpu_open`, counted 17: never ends.\n");
	assert_has(text, "- **Data quality** (note): `x`, counted 1: fine.\n");
	assert_has(text, "taken from the name of the device; another one is named by "
			 "`--platform NAME`; the trace names the device `A <GPU>`.\n");
	assert_lacks(text, scratch.dir);
	free(text);
}

/* The three rows of a table `findings`: two that gain, the first of `aten::mm`, an observation. */
static const struct trawl_column finding_columns[] = {
	TW_TEXT(TW_COL_FINDING_KIND, 10, "kind"),
	TW_TEXT(TW_COL_FINDING_TITLE, 10, "title"),
	TW_REAL(TW_COL_GAIN_MS, "ms", 3, 10, "gain"),
	TW_REAL(TW_COL_GAIN_PERCENT, "%", 2, 10, "gain"),
	TW_REAL(TW_COL_GAIN_TOGETHER_PERCENT, "%", 2, 10, "together"),
	TW_TEXT(TW_COL_GAIN_HOW, 10, "how"),
	TW_TEXT(TW_COL_FINDING_PRIORITY, 10, "priority"),
	TW_TEXT(TW_COL_FINDING_WHERE, 10, "where"),
	TW_TEXT(TW_COL_FINDING_OPERATION, 10, "operation"),
	TW_TEXT(TW_COL_EVIDENCE, 10, "evidence"),
	TW_TEXT(TW_COL_REMEDY, 10, "remedy"),
	TW_TEXT(TW_COL_CONFIDENCE, 10, "confidence"),
};

static const struct tw_table_spec finding_spec =
	TW_SPEC("findings", "what limits the run", finding_columns, .keep_empty = true);

static struct trawl_table *some_findings(void)
{
	static const char *const rows[][12] = {
		{ "low_efficiency_gemm", "Slow *products*", "20.5", "20.5", "20.5", "bound",
		  "Critical", "aten::mm (2, 3) x (3, 4)", "aten::mm (2, 3) x (3, 4)", "5 places",
		  "tune it", "low" },
		{ "launch_bound", "The host is late", "4", "4", "22", "replay", "Low", NULL, NULL,
		  "it waits", NULL, "high" },
		{ "warmup_in_recording", "A warm-up", NULL, NULL, NULL, "observation", NULL, NULL,
		  NULL, "the first step is longer", NULL, "high" },
	};
	struct trawl_table *table = tw_table_new(&finding_spec, trawl_allocator_default());
	struct trawl_error err;
	size_t i, k;

	assert_non_null(table);
	for (i = 0; i < 3; i++) {
		size_t row = tw_table_add_row(table);

		for (k = 0; k < 12; k++) {
			bool is_real = finding_columns[k].type == TRAWL_COLUMN_REAL;

			if (rows[i][k] && is_real)
				tw_table_set_real(table, row, k, strtod(rows[i][k], NULL));
			else if (!is_real)
				tw_table_set_str(table, row, k, rows[i][k]);
		}
	}
	assert_int_equal(tw_table_finish(table, &err), 0);
	return table;
}

static void check_priorities_of_findings(void)
{
	const struct tw_json_value *o = tw_json_get(data, "optimizations");
	const struct tw_json_value *counts = tw_json_get(data, "priority_counts");

	assert_int_equal(o->count, 2);
	assert_string_equal(tw_report_text(o->first, "id"), "P1");
	assert_string_equal(tw_report_text(o->first, "kind"), "low_efficiency_gemm");
	assert_true(tw_report_number(o->first->next, "expected_gain_percent") == 4);
	assert_true(tw_report_number(o->first->next, "gain_together_percent") == 22);
	assert_true(tw_report_number(counts, "Critical") == 1);
	assert_true(tw_report_number(counts, "Low") == 1);
	assert_true(tw_report_number(counts, "High") == 0);
	assert_int_equal(tw_json_get(data, "most_valuable")->count, 2);
}

static void recommendations(void **state)
{
	struct tw_reports_options options = { .model = "a_model" };
	struct trawl_table *table = some_findings();
	struct trawl_error err;
	char *text;

	write_all();
	tw_prepared_init(&prepared, scratch.dir, trawl_allocator_default());
	options.findings = table;
	assert_int_equal(tw_reports(&prepared, &options, &err), 0);
	data = tw_prepared_json(&prepared, "", TW_PRIORITY_DATA, &err);
	check_priorities_of_findings();
	text = fair_text();
	assert_has(text, "What limits the run: Slow \\*products\\* (20.5%); The host is late (4%). "
			 "Findings by priority: 1 Critical, 1 Low.\n");
	assert_has(text,
		   "### 🔴 Critical Priority: P1: Slow \\*products\\*\n"
		   "**Operation**: aten::mm (2, 3) x (3, 4)  \n"
		   "**Issue**: 5 places  \n"
		   "**Action**: tune it  \n"
		   "**Impact**: at most 20.5 ms (20.5%), end to end, by bound; confidence: low  \n"
		   "→ *See [Detailed Analysis](#b1-atenmm) for details*\n");
	assert_has(text, "### ⚪ Low Priority: P2: The host is late\n"
			 "**Operation**: the whole timeline  \n");
	assert_has(text, "**Impact**: 4 ms (4%), end to end, by replay; confidence: high  \n"
			 "→ *See [Detailed Analysis](#detailed-analysis) for details*\n");
	assert_has(text, "- **A warm-up**: the first step is longer\n");
	free(text);
	trawl_table_free(table);
	teardown(state);
}

static void nothing_to_recommend(void **state)
{
	char *text = fair_text();

	assert_has(text, "Nothing worth changing was found.\n");
	assert_has(text, "Nothing to recommend: no remedy that was looked for gains enough.\n");
	free(text);
}

/* Headings nest, what areas of the system recommend and what would be empty goes. */
static void pasted_findings(void **state)
{
	char *text = fair_text();

	assert_has(text,
		   "### 1. GEMM (75% of compute)\n\n#### Overview\n\nAll of it.\n\n"
		   "#### Key Bottlenecks\n\n##### B1: `aten::mm`\n\n- **Calls:** 5, `(2,3) bf16, "
		   "(3,4) bf16`\n- **Time:** 10 ms\n- **Issue:** slow\n- **Kernel:** tune\n"
		   "- **Priority:** High\n\n"
		   "**Impact Projection** (if op improves to X% of peak):\n\n"
		   "| Target Efficiency | Time | E2E Improvement |\n");
	assert_has(text, "| 80% of peak | 1.25 ms | ~87.5% faster for this op, ~8.75% of the total "
			 "time |\n");
	assert_has(text, "##### B6: `aten::small`\n\n- **Calls:** 5, `(2,3) bf16, (3,4) "
			 "bf16`\n- **Issue:** told here\n- **Priority:** High\n\n");
	assert_has(text, "\n```\n# no heading\n```\n");
	assert_lacks(text, "Empty");
	assert_lacks(text, "GEMM Analysis Summary");
	assert_has(text, "### 2. reduce (5% of compute)\n");
	assert_has(text, "### 3. CPU/Idle Analysis (System-Level)\n\n#### Gaps\n\nMany.\n"
			 "1. **The host is late** - HIGH\n   - Evidence: told above\n"
			 "2. **Another** - LOW\n   - Evidence: told here\n");
	assert_has(text, "The gain is bounded by the 3 ms in which");
	free(text);
}

static void hardware_and_packages(void **state)
{
	char *text = fair_text();

	assert_has(text, "- **Platform**: MI300X\n- **Peak HBM BW**: 5.3 TB/s\n"
			 "- **Peak MAF**: 708 TFLOPS (`matrix_bf16`)\n- **Memory**: 192 GB\n");
	assert_has(text, "- `a_replay_package.zip`\n- `b_replay_package.zip`\n\n");
	assert_lacks(text, "notes.txt");
	assert_has(text, "### Charts\nThey stand below the executive summary; no roofline: ");
	assert_true(scratch_exists(&scratch, "time_by_category.svg"));
	assert_false(scratch_exists(&scratch, "roofline.svg"));
	free(text);
}

/* Of what is worth it and has an efficiency: not of small ones, nor where that is not known. */
static void questions_of_bottlenecks(void **state)
{
	size_t len;
	char *text = scratch_read(scratch_path(&scratch, "standalone_analysis_rough.md"), &len);

	assert_non_null(text);
	assert_has(text, "- B1 `aten::mm`: why does it reach 10% of peak?");
	assert_has(text, "`aten::hidden`: why does it reach 10% of peak?");
	assert_lacks(text, "`aten::small`: why");
	assert_lacks(text, "`aten::unknown`: why");
	free(text);
}

/* ---- attention */

static void attention_says(const char *metrics, const char *want)
{
	static const char manifest_of_one[] =
		"{\"gpu_utilization\": {}, \"categories\": [{\"name\": \"sdpa_fwd\"}, "
		"{\"name\": \"gemm\"}]}";
	char row[64], *text;
	struct trawl_error err;

	scratch_make(&scratch);
	mkdir(scratch_path(&scratch, "category_data"), 0777);
	write_file("category_manifest.json", manifest_of_one);
	write_file(*metrics == 'g' ? "category_data/gemm_metrics.json" :
				     "category_data/sdpa_fwd_metrics.json",
		   metrics + 1);
	if (run(trawl_allocator_default(), &err))
		fail_msg("%s", err.message);
	text = fair_text();
	snprintf(row, sizeof(row), "| Flash Attention Usage | %s", want);
	assert_has(text, row);
	free(text);
	teardown(NULL);
}

static void flash_attention(void **state)
{
	attention_says("s{\"status\": \"OK\", \"category_specific\": "
		       "{\"flash_attention_detected\": true}}",
		       "Yes |");
	attention_says("s{\"status\": \"OK\", \"category_specific\": "
		       "{\"flash_attention_detected\": false}}",
		       "No |");
	attention_says("g{\"status\": \"OK\"}", "n/a (no attention operations) |");
	attention_says(
		"g{\"status\": \"OK\", \"operations\": [{\"name\": \"void flash::fwd<1>\"}]}",
		"Yes |");
	attention_says("g{\"status\": \"OK\", \"operations\": [{\"name\": \"x\", "
		       "\"kernel_name\": \"Kernel 1: paged_attention_ll4mi\"}]}",
		       "Yes |");
	attention_says("g{\"status\": \"OK\", \"bottlenecks\": [{\"operation\": \"aten::bmm\", "
		       "\"rules\": [\"unfused_attention\"]}]}",
		       "No |");
}

/* ---- one finding of several, floors, thresholds: each from a manifest and metrics of its own */

static void run_with(const char *more, const char *gemm_metrics, const char *system_metrics)
{
	static const char start[] =
		"{\"platform\": \"MI300X\", \"gpu_utilization\": {\"total_time_ms\": 100}, "
		"\"categories\": [{\"name\": \"multi_kernel\", \"tier\": \"system\"}, "
		"{\"name\": \"gemm\"}]";
	struct trawl_error err;
	char whole[2048];

	scratch_make(&scratch);
	mkdir(scratch_path(&scratch, "category_data"), 0777);
	snprintf(whole, sizeof(whole), "%s%s}", start, more);
	write_file("category_manifest.json", whole);
	write_file("category_data/gemm_metrics.json", gemm_metrics);
	write_file("category_data/multi_kernel_metrics.json", system_metrics);
	if (run(trawl_allocator_default(), &err))
		fail_msg("%s", err.message);
	data = tw_prepared_json(&prepared, "", TW_PRIORITY_DATA, &err);
	assert_non_null(data);
}

#define NO_FINDINGS "{\"status\": \"OK\"}"

/* Members of bottleneck: name, ms (exposed too), efficiency, and what else. */
#define ONE(name, ms, efficiency, more)                                  \
	"{\"operation\": \"" name "\", \"count\": 10, \"time_ms\": " #ms \
	", \"exposed_time_ms\": " #ms ", \"percent_of_total\": " #ms     \
	", \"percent_of_category\": 20, \"efficiency_percent\": " #efficiency more "}"
#define OK(bottlenecks) "{\"status\": \"OK\", \"bottlenecks\": [" bottlenecks "]}"

static const struct tw_json_value *nth(size_t n)
{
	const struct tw_json_value *o = tw_json_get(data, "bottlenecks")->first;

	while (o && n--)
		o = o->next;
	assert_non_null(o);
	return o;
}

static double gain(size_t n)
{
	return tw_report_number(nth(n), "operation_gain_percent");
}

/* 9 and 3 ms of attention in a third of the time: 8 ms less. */
static void group_is_one_finding(void **state)
{
	static const char text[] =
		OK(ONE("aten::bmm", 9, 10, ", \"group\": \"unfused_attention\"") ", " ONE(
			"aten::_softmax", 3, null, ", \"group\": \"unfused_attention\""));

	run_with("", text, NO_FINDINGS);
	assert_int_equal(tw_json_get(data, "bottlenecks")->count, 1);
	assert_string_equal(tw_report_text(nth(0), "title"), "Unfused attention (2 operations)");
	assert_true(gain(0) == 8);
	assert_true(tw_report_number(nth(0), "time_ms") == 12);
	assert_int_equal(tw_json_get(nth(0), "members")->count, 2);
	teardown(state);
}

/* At 40 % of peak 1 ms becomes 0.5 at 80 %: below 1 % of 100 ms each, together 1 %. */
static void small_ones_are_one_finding(void **state)
{
	static const char text[] = OK(ONE("a", 1, 40, ", \"rules\": [\"x\"]") ", " ONE(
		"b", 1, 40,
		", \"rules\": [\"x\"]") ", " ONE("c", 1, 40,
						 ", \"rules\": [\"y\"]") ", " ONE("d", 2, 40,
										  ", \"rules\": "
										  "[\"x\"]"));

	run_with("", text, NO_FINDINGS);
	assert_int_equal(tw_json_get(data, "bottlenecks")->count, 3);
	assert_string_equal(tw_report_text(nth(0), "title"), "a and 1 more (gemm)");
	assert_true(gain(0) == 1);
	/* d gains exactly 1 %, which is not below it; c has other advice. */
	assert_string_equal(tw_report_text(nth(1), "title"), "d (gemm)");
	assert_true(gain(2) == 0.5);
	teardown(state);
}

/* 10 calls of at least 100 us take 1 ms, not the 0.5 that 80 % of peak would be. */
static void no_shorter_than_the_shortest(void **state)
{
	static const char text[] =
		OK(ONE("a", 4, 10, "") ", " ONE("b", 4, 10, ", \"too_short\": true"));
	const struct tw_json_value *row;

	run_with(", \"shortest_kernel_us\": 100", text, NO_FINDINGS);
	assert_true(gain(0) == 3);
	row = tw_json_get(nth(0), "impact_projection")->first;
	check_row(row, 20, 2, 2, false);
	check_row(row->next->next, 80, 1, 3, false);
	assert_true(tw_json_true(tw_json_get(row->next->next, "bounded_by_shortest_kernel")));
	assert_true(isnan(gain(1)));
	assert_int_equal(tw_json_get(nth(1), "impact_projection")->count, 0);
	teardown(state);
}

/* Half of 1 ms of 100 is 0.5 %, which is not below it. */
static void little_gain_is_low(void **state)
{
	static const char text[] = OK(ONE("a", 1, 40, "") ", " ONE("b", 0.98, 40, "") ", " ONE(
		"c", 0.49, null, "") ", " ONE("d", 4.9, null, ""));

	run_with("", text, NO_FINDINGS);
	assert_string_equal(tw_report_text(nth(0), "operation"), "a");
	assert_string_equal(tw_report_text(nth(0), "priority"), "Medium");
	assert_string_equal(tw_report_text(nth(1), "operation"), "d");
	assert_string_equal(tw_report_text(nth(1), "priority"), "Medium");
	assert_string_equal(tw_report_text(nth(2), "priority"), "Low");
	assert_string_equal(tw_report_text(nth(3), "priority"), "Low");
	teardown(state);
}

static void what_is_missing_is_said(void **state)
{
	char *text;

	run_with(", \"unlinked\": {\"count\": 7, \"time_ms\": 4, \"percent_of_total\": 3.5, "
		 "\"compute_time_ms\": 3, \"percent_of_compute\": 5.5}, \"linked_only\": true, "
		 "\"platform_of_device\": \"H100\", \"defects\": [{\"kind\": "
		 "\"unlinked_gpu\", \"severity\": \"note\", \"count\": 7}]",
		 OK(ONE("a", 1, null, ", \"kind\": \"not_visible\", \"issue\": \"Hidden\"")),
		 NO_FINDINGS);
	text = fair_text();
	assert_has(text, "**: 7 events, 4 ms (3.5% of the total time; 5.5% of compute)");
	assert_has(text, "(`--linked-only`)");
	assert_has(text, "efficiencies are those of MI300X, which was named, but by the device's "
			 "name the trace is of H100.\n");
	assert_has(text, "**: what 1 ms (1% of the total time) are made of is not visible. "
			 "Hidden.\n");
	assert_has(text, "| Flash Attention Usage | Unknown (");
	assert_lacks(text, "unlinked_gpu");
	assert_int_equal(tw_json_get(data, "bottlenecks")->count, 0);
	free(text);
	teardown(state);
}

/* ---- little to go by */

static void run_on(const char *text, const char *platform)
{
	struct trawl_error err;
	char whole[2048];

	snprintf(whole, sizeof(whole), text, platform);
	scratch_make(&scratch);
	write_file("category_manifest.json", whole);
	if (run(trawl_allocator_default(), &err))
		fail_msg("%s", err.message);
}

static void a_trace_without_gpu_work(void **state)
{
	char *text;

	run_on("{\"platform\": %s, \"gpu_utilization\": {}, \"categories\": [], "
	       "\"top_operations\": []}",
	       "null");
	text = fair_text();
	assert_has(text, "# a_model - Unknown Platform Standalone Analysis\n");
	assert_has(text, "The trace has no GPU work, so there is nothing to rank. \n");
	assert_has(text, "| Total Time | n/a |\n");
	assert_has(text, "No operation of the trace has GPU work.\n");
	assert_has(text, "Nothing to recommend: the trace has no GPU work.\n");
	assert_has(text, "There is no GPU work to analyze.\n");
	assert_has(text, "- **Peak MAF**: n/a\n");
	assert_has(text, "`--platform NAME`");
	free(text);
	teardown(state);
}

static void nothing_prepared(void **state)
{
	struct trawl_error err;

	scratch_make(&scratch);
	assert_int_equal(run(trawl_allocator_default(), &err), TRAWL_EIO);
	assert_non_null(strstr(err.message, "no prepared data: "));
	teardown(state);
}

static void out_of_memory(void **state)
{
	struct failing failing;
	struct trawl_error err;
	int status;
	long n;

	write_all();
	/* Every step at first, then wider ones: there are thousands. */
	for (n = 0;; n += 1 + n / 50) {
		failing_init(&failing, n);
		status = run(&failing.allocator, &err);
		tw_prepared_release(&prepared);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		if (status != TRAWL_ENOMEM)
			fail_msg("allocation %ld: %s", n, status ? err.message : "done");
	}
	assert_int_equal(status, 0);
	scratch_remove(&scratch);
}

int main(void)
{
	const struct CMUnitTest on_files[] = {
		cmocka_unit_test(priorities_by_the_framework),
		cmocka_unit_test(one_sequence),
		cmocka_unit_test(projection),
		cmocka_unit_test(projection_is_bounded),
		cmocka_unit_test(no_projection),
		cmocka_unit_test(rollup_of_findings),
		cmocka_unit_test(facts_of_the_whole),
		cmocka_unit_test(left_out_with_reasons),
		cmocka_unit_test(cut_between_letters),
		cmocka_unit_test(nothing_to_recommend),
		cmocka_unit_test(pasted_findings),
		cmocka_unit_test(hardware_and_packages),
		cmocka_unit_test(questions_of_bottlenecks),
	};
	const struct CMUnitTest alone[] = {
		cmocka_unit_test(flash_attention),
		cmocka_unit_test(recommendations),
		cmocka_unit_test(group_is_one_finding),
		cmocka_unit_test(small_ones_are_one_finding),
		cmocka_unit_test(no_shorter_than_the_shortest),
		cmocka_unit_test(little_gain_is_low),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(a_trace_without_gpu_work),
		cmocka_unit_test(nothing_prepared),
		cmocka_unit_test(out_of_memory),
	};
	int failed = cmocka_run_group_tests(on_files, setup, teardown);

	return failed + cmocka_run_group_tests(alone, NULL, NULL);
}
