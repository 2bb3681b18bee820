/*
 * Priorities, projections and the two reports, of analyses made here; the numbers by hand: in
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
#include "standalone/reports/reports.h"
#include "standalone/system/system.h"
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

/* ---- what was prepared and analysed, made by hand */

enum { SYSTEM, GEMM, REDUCE, NORM, TRITON, OTHER, CATEGORIES };

static struct tw_prepared_category categories[CATEGORIES];
static struct tw_category_result results[CATEGORIES];
static struct tw_category_data datas[CATEGORIES];
static struct tw_category_row rows[16];
static struct tw_category_row *bottlenecks[16];
static const char *ids[16][1];
static struct tw_manifest manifest;
static struct tw_system idle = { .name = "cpu_idle" };

static void idle_findings(struct tw_str *out, const void *system,
			  const struct tw_findings_place *place)
{
	assert_ptr_equal(system, &idle);
	tw_findings_heading(out, place, 2, "Gaps");
	tw_str_add_cstr(out, "Many.\n");
}

static void make_category(size_t i, const char *name, const char *title, double kernel_ms)
{
	categories[i] = (struct tw_prepared_category){ .name = name,
						       .title = title,
						       .skill = "gemm-analysis",
						       .tier = "compute_kernel",
						       .kernel_ms = kernel_ms,
						       .percent_of_compute = kernel_ms / 0.4,
						       .percent_of_total = kernel_ms,
						       .host_ms = NAN,
						       .sync_ms = NAN };
	datas[i] = (struct tw_category_data){ .name = name,
					      .title = title,
					      .status = "OK",
					      .family = tw_category_family(name),
					      .prepared = &prepared,
					      .bottlenecks = bottlenecks,
					      .rows = rows,
					      .percent_of_compute = kernel_ms / 0.4,
					      .average_efficiency_percent = NAN };
	results[i] = (struct tw_category_result){ .data = &datas[i] };
}

/* 100 ms, of which 40 compute. */
static void make_manifest(void)
{
	static const int64_t ms = 1000000;

	memset(rows, 0, sizeof(rows));
	memset(categories, 0, sizeof(categories));
	memset(results, 0, sizeof(results));
	manifest = (struct tw_manifest){
		.platform = "MI300X",
		.platform_guessed = true,
		.device_name = "A <GPU>",
		.trace_path = "t.json",
		.view = "",
		.use = { { 100 * ms, 40 * ms, 0, 0, 60 * ms }, { NAN, 40, 0, 0, 60 } },
		.shortest_kernel_ns = TRAWL_TIME_NONE,
		.hardware = { .platform = "MI300X", .hbm_tb_s = 5.3, .memory_gb = 192 },
		.categories = { categories, CATEGORIES },
	};
	categories[SYSTEM] = (struct tw_prepared_category){ .name = "cpu_idle",
							    .title = "CPU/Idle Analysis",
							    .skill = "cpu-idle-analysis",
							    .tier = "system",
							    .kernel_ms = NAN };
	results[SYSTEM] = (struct tw_category_result){ .system = &idle, .markdown = idle_findings };
	make_category(GEMM, "gemm", "GEMM", 30);
	make_category(REDUCE, "reduce", "reduce", 2);
	make_category(NORM, "norm", "Norm", NAN);
	make_category(TRITON, "triton", "Triton", NAN);
	make_category(OTHER, "other", "other", NAN);
}

/* A bottleneck of GEMMs: its efficiency NAN where no model knows it, a rule unless NULL. */
static struct tw_category_row *add(const char *name, double ms, double exposed_ms,
				   double percent_of_category, double efficiency, const char *rule)
{
	size_t i = datas[GEMM].bottleneck_count++;
	struct tw_category_row *row = &rows[i];
	double *fact = row->facts.value;
	size_t k;

	datas[GEMM].row_count++;
	*row = (struct tw_category_row){
		.uid = (double)i + 1,
		.name = name,
		.dims_text = "",
		.compute_spec = "",
		.args = "(2,3) bf16<br>(3,4) bf16",
		.rank = i + 1,
		.count = 5,
		.time_us = ms * 1e3,
		.efficiency_percent = efficiency,
		.is_bottleneck = true,
		.is_modelled = !isnan(efficiency),
		.is_unmodelled = isnan(efficiency),
		.flops_per_byte = NAN,
		.tflops = NAN,
		.cov = NAN,
		.high_variance = NAN,
	};
	tw_facts_init(&row->facts);
	fact[TW_FACT_count] = 5;
	fact[TW_FACT_time_ms] = ms;
	fact[TW_FACT_exposed_time_ms] = exposed_ms;
	fact[TW_FACT_percent_of_category] = percent_of_category;
	fact[TW_FACT_percent_of_compute] = 25;
	fact[TW_FACT_percent_of_total] = ms;
	fact[TW_FACT_efficiency_percent] = efficiency;
	row->priority = tw_level_of("category_priority", &row->facts);
	row->assessment = tw_level_of("assessment", &row->facts);
	row->type = tw_level_of("bound", &row->facts);
	row->advice.text[TW_ADVICE_ISSUE] = "slow *here*";
	row->advice.text[TW_ADVICE_ALGORITHMIC] = "fuse";
	row->advice.text[TW_ADVICE_KERNEL] = "tune";
	for (k = 0; rule && k < tw_rule_count; k++)
		if (!strcmp(tw_rules[k].id, rule) && !strcmp(tw_rules[k].scope, "gemm"))
			row->advice.rules[row->advice.count++] = &tw_rules[k];
	if (rule) {
		ids[i][0] = rule;
		row->advice.ids.at = ids[i];
		row->advice.ids.count = 1;
	}
	bottlenecks[i] = row;
	return row;
}

static void make_all(void)
{
	static const struct tw_named peak = { "matrix_bf16", 708 };
	static struct tw_top_operation top[] = {
		{ .rank = 1, .uid = 1, .name = "aten::mm", .category = "gemm", .title = "GEMM" },
		{ .rank = 2, .uid = 6, .name = "aten::top", .category = "gemm", .title = "GEMM" },
	};
	static struct tw_flaw flaws[] = { { "gpu_open", "defect", "never ends", 17 },
					  { "x", "note", "fine", 1 } };
	static struct tw_estimates groups[] = {
		{ .method = "quantified", .middle = 125, .low = 100, .high = 150, .count = 2 },
		{ .method = "quantified", .middle = 75, .low = 50, .high = 100, .count = 1 },
		{ .method = "heuristic", .middle = 300, .low = 200, .high = 400 },
	};
	static struct tw_estimate estimate = { .operation = "aten::mm" };

	make_manifest();
	manifest.hardware.tflops.at = (struct tw_named *)&peak;
	manifest.hardware.tflops.count = 1;
	manifest.top.at = top;
	manifest.top.count = 2;
	manifest.flaws.at = flaws;
	manifest.flaws.count = 2;
	add("aten::mm", 10, 10, 30, 10, NULL);
	add("aten::hidden", 10, 3, 30, 10, NULL);
	add("aten::unknown", 10, 10, 30, NAN, NULL);
	add("aten::good", 10, 10, 30, 85, NULL);
	add("aten::small", 1, 1, 5, 10, NULL);
	add("aten::top", 4, 4, 15, 10, NULL);
	add("aten::other_of_its_launch", 1, 1, 3, 10, NULL)->uid = 6;
	add("aten::pattern", 1, 1, 3, 10, "tiny_batched");
	datas[GEMM].groups.at = groups;
	datas[GEMM].groups.count = 3;
	datas[GEMM].estimates.at = &estimate;
	datas[GEMM].estimates.count = 1;
	results[NORM].status = TW_CATEGORY_FAILED;
	snprintf(results[NORM].message, sizeof(results[NORM].message), "no column `name`");
	results[OTHER].status = TW_CATEGORY_NO_DATA;
	results[TRITON].status = TW_CATEGORY_NO_DATA;
}

static void make_place(void)
{
	scratch_make(&scratch);
	mkdir(scratch_path(&scratch, "replay_packages"), 0777);
	scratch_write(&scratch, "replay_packages/b_replay_package.zip", "");
	scratch_write(&scratch, "replay_packages/a_replay_package.zip", "");
	scratch_write(&scratch, "replay_packages/notes.txt", "");
}

static int run(const struct trawl_allocator *allocator, const struct trawl_table *findings,
	       struct trawl_error *err)
{
	const struct tw_reports_options options = { .model = "a_model", .results = results };

	tw_prepared_init(&prepared, scratch.dir, allocator);
	prepared.manifest = &manifest;
	prepared.findings = findings;
	return tw_reports(&prepared, &options, err);
}

static void run_well(const struct trawl_table *findings)
{
	struct trawl_error err;

	if (run(trawl_allocator_default(), findings, &err))
		fail_msg("%s", err.message);
	data = tw_prepared_json(&prepared, "", TW_PRIORITY_DATA, &err);
	assert_non_null(data);
}

static int setup(void **state)
{
	make_place();
	make_all();
	run_well(NULL);
	return 0;
}

static int teardown(void **state)
{
	tw_prepared_release(&prepared);
	scratch_remove(&scratch);
	return 0;
}

static double number_of(const struct tw_json_value *value, const char *key)
{
	return tw_json_number(tw_json_get(value, key));
}

static const char *text_of(const struct tw_json_value *value, const char *key)
{
	return tw_json_text(tw_json_get(value, key));
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

	while (o && strcmp(text_of(o, "operation"), operation))
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
		assert_string_equal(text_of(bottleneck(want[i][0]), "priority"), want[i][1]);
	/* 30 ms; reductions take 2. */
	assert_string_equal(text_of(tw_json_get(data, "summary"), "top_category"), "GEMM");
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
		assert_string_equal(text_of(o, "id"), id);
		assert_string_equal(text_of(o, "title"), want[i]);
	}
	assert_null(o);
}

static void check_row(const struct tw_json_value *row, double target, double time, double share,
		      bool bounded)
{
	assert_true(number_of(row, "target_efficiency_percent") == target);
	assert_true(fabs(number_of(row, "time_ms") - time) < 1e-9);
	assert_true(fabs(number_of(row, "e2e_improvement_percent") - share) < 1e-9);
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
	assert_true(number_of(o, "operation_gain_percent") == 8.75);
	assert_true(number_of(row, "operation_improvement_percent") == 50);
}

/* What other work hides is no gain. */
static void projection_is_bounded(void **state)
{
	const struct tw_json_value *o = bottleneck("aten::hidden");
	const struct tw_json_value *row = tw_json_get(o, "impact_projection")->first;

	check_row(row, 20, 5, 3, true);
	check_row(row->next->next, 80, 1.25, 3, true);
	assert_true(number_of(o, "operation_gain_percent") == 3);
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

	assert_string_equal(text_of(p, "category"), "gemm");
	assert_true(number_of(p, "impact_score") == 2);
	assert_true(number_of(p, "impact_score_low") == 1.5);
	assert_true(number_of(p, "impact_score_high") == 2.5);
	/* 5 % of the computing time, and nothing found. */
	assert_string_equal(text_of(p->next, "category"), "reduce");
	assert_string_equal(text_of(p->next, "source"), "manifest_fallback");
	assert_null(p->next->next);
	assert_true(number_of(tw_json_get(data, "recommendations")->first, "operation_count") == 3);
	assert_true(number_of(f, "impact_score") == 3);
	assert_true(number_of(f, "global_rank") == 1);
	assert_true(number_of(f, "category_rank") == 3);
	assert_int_equal(tw_json_get(data, "all_estimates")->count, 1);
	assert_true(number_of(data, "baseline_ms") == 100);
}

static void facts_of_the_whole(void **state)
{
	const struct tw_json_value *facts = tw_json_get(data, "facts");

	assert_true(number_of(facts, "unmodelled_count") == 1);
	assert_true(number_of(facts, "unmodelled_percent") == 25);
	assert_true(number_of(facts, "excluded_count") == 3);
	/* 7 of 47 ms. */
	assert_true(number_of(facts, "hidden_percent") == 14.89);
	assert_true(number_of(facts, "platform_known") == 1);
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
	assert_has(text, "- **other** is left out: there is no data of it.\n");
	assert_has(text, "`gpu_open`, counted 17: never ends.\n");
	assert_has(text, "- **Data quality** (note): `x`, counted 1: fine.\n");
	assert_has(text, "taken from the name of the device; another one is named by "
			 "`--platform NAME`; the trace names the device `A <GPU>`.\n");
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
	static const char *const cells[][12] = {
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

			if (cells[i][k] && is_real)
				tw_table_set_real(table, row, k, strtod(cells[i][k], NULL));
			else if (!is_real)
				tw_table_set_str(table, row, k, cells[i][k]);
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
	assert_string_equal(text_of(o->first, "id"), "P1");
	assert_string_equal(text_of(o->first, "kind"), "low_efficiency_gemm");
	assert_true(number_of(o->first->next, "expected_gain_percent") == 4);
	assert_true(number_of(o->first->next, "gain_together_percent") == 22);
	assert_true(number_of(counts, "Critical") == 1);
	assert_true(number_of(counts, "Low") == 1);
	assert_true(number_of(counts, "High") == 0);
	assert_int_equal(tw_json_get(data, "most_valuable")->count, 2);
}

static void recommendations(void **state)
{
	struct trawl_table *table = some_findings();
	char *text;

	make_place();
	make_all();
	run_well(table);
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

/* Headings nest; a bottleneck has its number, what it is of, and its projection. */
static void findings_in_the_report(void **state)
{
	char *text = fair_text();

	assert_has(
		text,
		"### 1. GEMM (75% of compute)\n\n#### Overview\n\nGEMMs account for 75% of compute "
		"time. Average efficiency: n/a.\n\n#### Operations Breakdown\n\n| Operation |");
	assert_has(text,
		   "#### Key Bottlenecks\n\n##### B1: `aten::mm`\n\n- **Calls:** 5, `(2,3) bf16, "
		   "(3,4) bf16`\n- **Time:** 10 ms (25% of compute)\n"
		   "- **Efficiency:** 10% of peak MAF\n- **Issue:** slow \\*here\\*. Calls: 5, of "
		   "`(2,3) bf16, (3,4) bf16`\n- **Algorithmic:** fuse\n- **Kernel:** tune\n");
	assert_has(text, "\n\n**Impact Projection** (if op improves to X% of peak):\n\n"
			 "| Target Efficiency | Time | E2E Improvement |\n");
	assert_has(text, "| 80% of peak | 1.25 ms | ~87.5% faster for this op, ~8.75% of the total "
			 "time |\n");
	assert_has(text, "\n\n##### B6: `aten::small`\n\n- **Calls:** 5");
	assert_lacks(text, "GEMM Analysis Summary");
	assert_has(text, "\n\n### 2. reduce (5% of compute)\n");
	assert_has(text, "\n\n### 3. CPU/Idle Analysis (System-Level)\n\n#### Gaps\n\nMany.\n");
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

/* Of one row: flash by its facts or by names, or told to be in pieces; GEMMs where `of` is. */
static void attention_says(size_t of, const char *name, bool flash, bool named, const char *rule,
			   const char *want)
{
	struct tw_category_row *row;
	char line[64], *text;

	make_place();
	make_manifest();
	row = add(name, 1, 1, 20, NAN, NULL);
	row->facts.value[TW_FACT_flash] = flash;
	row->names_fused_attention = named;
	ids[0][0] = rule;
	row->advice.ids.at = ids[0];
	row->advice.ids.count = rule != NULL;
	datas[of] = datas[GEMM];
	datas[of].name = of == GEMM ? "gemm" : "sdpa_fwd";
	datas[of].family = tw_category_family(datas[of].name);
	if (of != GEMM)
		datas[GEMM].row_count = datas[GEMM].bottleneck_count = 0;
	run_well(NULL);
	text = fair_text();
	snprintf(line, sizeof(line), "| Flash Attention Usage | %s", want);
	assert_has(text, line);
	free(text);
	teardown(NULL);
}

static void flash_attention(void **state)
{
	attention_says(OTHER, "x", true, false, NULL, "Yes |");
	attention_says(OTHER, "x", false, false, NULL, "No |");
	attention_says(GEMM, "x", false, false, NULL, "n/a (no attention operations) |");
	attention_says(GEMM, "x", false, true, NULL, "Yes |");
	attention_says(GEMM, "aten::bmm", false, false, "unfused_attention", "No |");
}

/* ---- one finding of several, floors, thresholds */

static void make_gemms(void)
{
	make_place();
	make_manifest();
}

/* A bottleneck of a fifth of its category. */
static struct tw_category_row *one(const char *name, double ms, double efficiency, const char *rule)
{
	struct tw_category_row *row = add(name, ms, ms, 20, efficiency, NULL);

	row->facts.value[TW_FACT_count] = 10;
	if (rule) {
		ids[row->rank][0] = rule;
		row->advice.ids.at = ids[row->rank];
		row->advice.ids.count = 1;
	}
	return row;
}

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
	return number_of(nth(n), "operation_gain_percent");
}

/* 9 and 3 ms of attention in a third of the time: 8 ms less. */
static void group_is_one_finding(void **state)
{
	make_gemms();
	one("aten::bmm", 9, 10, NULL)->group = "unfused_attention";
	one("aten::_softmax", 3, NAN, NULL)->group = "unfused_attention";
	run_well(NULL);
	assert_int_equal(tw_json_get(data, "bottlenecks")->count, 1);
	assert_string_equal(text_of(nth(0), "title"), "Unfused attention (2 operations)");
	assert_true(gain(0) == 8);
	assert_true(number_of(nth(0), "time_ms") == 12);
	assert_int_equal(tw_json_get(nth(0), "members")->count, 2);
	teardown(state);
}

/* At 40 % of peak 1 ms becomes 0.5 at 80 %: below 1 % of 100 ms each, together 1 %. */
static void small_ones_are_one_finding(void **state)
{
	make_gemms();
	one("a", 1, 40, "x");
	one("b", 1, 40, "x");
	one("c", 1, 40, "y");
	one("d", 2, 40, "x");
	run_well(NULL);
	assert_int_equal(tw_json_get(data, "bottlenecks")->count, 3);
	assert_string_equal(text_of(nth(0), "title"), "a and 1 more (GEMM)");
	assert_true(gain(0) == 1);
	/* d gains exactly 1 %, which is not below it; c has other advice. */
	assert_string_equal(text_of(nth(1), "title"), "d (GEMM)");
	assert_true(gain(2) == 0.5);
	teardown(state);
}

/* 10 calls of at least 100 us take 1 ms, not the 0.5 that 80 % of peak would be. */
static void no_shorter_than_the_shortest(void **state)
{
	const struct tw_json_value *row;

	make_gemms();
	manifest.shortest_kernel_ns = 100000;
	one("a", 4, 10, NULL);
	one("b", 4, 10, NULL)->is_too_short = true;
	run_well(NULL);
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
	make_gemms();
	one("a", 1, 40, NULL);
	one("b", 0.98, 40, NULL);
	one("c", 0.49, NAN, NULL);
	one("d", 4.9, NAN, NULL);
	run_well(NULL);
	assert_string_equal(text_of(nth(0), "operation"), "a");
	assert_string_equal(text_of(nth(0), "priority"), "Medium");
	assert_string_equal(text_of(nth(1), "operation"), "d");
	assert_string_equal(text_of(nth(1), "priority"), "Medium");
	assert_string_equal(text_of(nth(2), "priority"), "Low");
	assert_string_equal(text_of(nth(3), "priority"), "Low");
	teardown(state);
}

static void what_is_missing_is_said(void **state)
{
	static struct tw_flaw flaw = { "unlinked_gpu", "note", "", 7 };
	static struct tw_unlinked unlinked = { 7, 4, 3.5, 3, 5.5 };
	struct tw_category_row *row;
	char *text;

	make_gemms();
	manifest.unlinked = &unlinked;
	manifest.linked_only = true;
	manifest.platform_of_device = "H100";
	manifest.flaws.at = &flaw;
	manifest.flaws.count = 1;
	row = one("a", 1, NAN, NULL);
	row->kind = "not_visible";
	row->advice.text[TW_ADVICE_ISSUE] = "Hidden";
	row->advice.text[TW_ADVICE_ALGORITHMIC] = row->advice.text[TW_ADVICE_KERNEL] = NULL;
	run_well(NULL);
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

static void a_trace_without_gpu_work(void **state)
{
	int part;
	char *text;

	make_gemms();
	manifest.platform = NULL;
	manifest.device_name = NULL;
	manifest.hardware = (struct tw_hardware){ .hbm_tb_s = NAN, .memory_gb = NAN };
	manifest.categories.count = 0;
	for (part = 0; part < TW_USE_PARTS; part++) {
		manifest.use.ns[part] = TRAWL_TIME_NONE;
		manifest.use.percent[part] = NAN;
	}
	run_well(NULL);
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

static void out_of_memory(void **state)
{
	struct failing failing;
	struct trawl_error err;
	int status;
	long n;

	make_place();
	make_all();
	/* Every step at first, then wider ones: there are thousands. */
	for (n = 0;; n += 1 + n / 50) {
		failing_init(&failing, n);
		status = run(&failing.allocator, NULL, &err);
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
		cmocka_unit_test(findings_in_the_report),
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
		cmocka_unit_test(out_of_memory),
	};
	int failed = cmocka_run_group_tests(on_files, setup, teardown);

	return failed + cmocka_run_group_tests(alone, NULL, NULL);
}
