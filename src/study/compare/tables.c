#include "study/compare/tables.h"

#include "base/alloc.h"
#include "data/limits.h"
#include "study/compare/columns.h"

#include <math.h>
#include <string.h>

/* ---- columns */

#define DIFFERENCE_OF(header, meaning) TW_MEAN_MS(header, 14, meaning)
#define TIME(header, meaning) TW_MEAN_MS(header, 14, meaning, .values = ">=0")
#define COUNT(header, width, meaning) TW_INTEGER(header, width, meaning, .values = ">=0")
#define VERDICT_OF(meaning) TW_TEXT("verdict", 8, meaning, .values = "!same|better|worse|new|gone")
#define WHY_OF TW_TEXT("why", 40, "reason for the verdict", .values = "!")

/* Behind the keys of every table of changes, in this order. */
enum {
	BASELINE,
	TEST,
	DIFFERENCE,
	FASTER,
	SHARE,
	NOISE,
	VERDICT,
	WHY,
	SPREAD,
	TEST_SPREAD,
	RANKS,
	TEST_RANKS,
	SLOWER,
	CALLS,
	TEST_CALLS,
	PER_CALL,
	TEST_PER_CALL,
	MEASURES,
	CONFIGS = MEASURES, /* of tables over configurations */
	WORST,
	WORST_FASTER,
	MORE, /* columns of its own */
};

#define BEYOND TW_LIMIT_TEXT(TW_LIMIT_TOLD_PERCENT_MOST)

#define MEASURE_COLUMNS                                                         \
	MEASURES_OF("median over ranks; several configurations: mean of these", \
		    "baseline time / baseline total_time; streams overlap")
#define SUM_COLUMNS                                                                  \
	MEASURES_OF("sum over ranks and configurations of both sides; 0: not there", \
		    "baseline time / baseline time of all rows"),                    \
		OVER_CONFIGURATIONS
#define MEASURES_OF(time, share)                                                                   \
	TIME(TW_COL_BASELINE_MS, time), TIME(TW_COL_TEST_MS, "same for the test"),                 \
		DIFFERENCE_OF(TW_COL_DIFFERENCE_MS, "test - baseline: below 0 is faster"),         \
		TW_PERCENT_2(TW_COL_FASTER, 10,                                                    \
			     "(baseline - test) / baseline of this row: above 0 is faster; "       \
			     "empty: no baseline, or beyond -" BEYOND " %"),                       \
		TW_PERCENT_2(TW_COL_OF_TOTAL, 10, share),                                          \
		TIME(TW_COL_NOISE_MS, "larger spread of the two sides; empty: one rank per side"), \
		VERDICT_OF("better, worse, same (within noise or below thresholds), "              \
			   "new, gone"),                                                           \
		WHY_OF,                                                                            \
		TIME("baseline spread ms", "1.4826 x median absolute deviation over ranks"),       \
		TIME("test spread ms", "same for the test"),                                       \
		COUNT("baseline ranks", 8, "ranks with a value, damaged ones skipped"),            \
		COUNT("test ranks", 8, "same for the test"),                                       \
		COUNT("ranks slower", 8, "ranks of both sides that are slower in the test"),       \
		COUNT("baseline calls", 10, "number of calls, of the median rank"),                \
		COUNT("test calls", 10, "same for the test"),                                      \
		TW_MEAN_US("baseline per call", 12, "baseline time / calls", .values = ">=0"),     \
		TW_MEAN_US("test per call", 12, "same for the test", .values = ">=0")

#define OVER_CONFIGURATIONS                                                     \
	COUNT("configurations", 8, "configurations with values on both sides"), \
		TW_TEXT(TW_COL_WORST_CONFIGURATION, 20,                         \
			"configuration with the largest regression"),           \
		TW_PERCENT_2("worst faster (%)", 10, "faster (%) in that configuration")

#define CONFIGURATION TW_TEXT("configuration", 20, "threads and channels")
#define TYPE                                                                                  \
	TW_TEXT("type", 22,                                                                   \
		"part of the timeline; more idle_time is a regression only if total_time is", \
		.values = "!")
#define OPERATION TW_TEXT("name", 48, "operator name", .values = "!")
#define KERNEL \
	TW_TEXT(TW_COL_KERNEL_NAME, 60, "kernel name, all streams and operators", .values = "!")
#define COLLECTIVE                                                                            \
	TW_TEXT(TW_COL_COLLECTIVE_NAME, 24, "collective"), TW_TEXT("dtype", 12, "data type"), \
		TW_ID(TW_COL_IN_MSG_NELEMS, 14, "number of elements sent")

static const struct trawl_column timeline[] = { TYPE, MEASURE_COLUMNS, OVER_CONFIGURATIONS };
static const struct trawl_column operations[] = { OPERATION, MEASURE_COLUMNS, OVER_CONFIGURATIONS };
static const struct trawl_column kernels[] = { KERNEL, MEASURE_COLUMNS, OVER_CONFIGURATIONS };
static const struct trawl_column collectives[] = { COLLECTIVE, MEASURE_COLUMNS,
						   OVER_CONFIGURATIONS };
static const struct trawl_column stages[] = {
	TW_TEXT("stage", 20,
		"stage that launched the communication, as in 'trawl nsys overlap'; (no stage): outside "
		"all; (compute stream): on a stream that also computes",
		.values = "!"),
	MEASURE_COLUMNS,
	OVER_CONFIGURATIONS,
	TIME(TW_COL_BASELINE_COMM_MS, "its communication, exposed or not"),
	TIME(TW_COL_TEST_COMM_MS, "same for the test"),
	TW_PERCENT_1(TW_COL_BASELINE_OVERLAP, 10, "share overlapped by compute, of the times here",
		     .values = "0..100"),
	TW_PERCENT_1(TW_COL_TEST_OVERLAP, 10, "same for the test", .values = "0..100"),
};
static const struct trawl_column ranges[] = {
	TW_TEXT("range", 48, "name of the NVTX range", .values = "!"),
	TW_TEXT("domain", 14, "NVTX domain; empty: default domain"),
	TW_TEXT("kind", 12,
		"range; outside: launched outside all ranges; unlaunched: no matching launch"),
	MEASURE_COLUMNS,
	OVER_CONFIGURATIONS,
	TIME(TW_COL_BASELINE_EXPOSED_MS, "communication in it that no compute overlaps"),
	TIME(TW_COL_TEST_EXPOSED_MS, "same for the test"),
};
#define NAME_IN_TEST \
	TW_TEXT(TW_COL_TEST_NAME, 40, "what it is in the test, where numbers or lines differ")

static const struct trawl_column modules[] = {
	TW_TEXT(TW_COL_MODULE, 60,
		"module with those around it, outermost first; (none): outside of modules, (unlinked): "
		"no matching launch; times are of what it launched itself",
		.values = "!"),
	SUM_COLUMNS,
	NAME_IN_TEST,
	TIME(TW_COL_BASELINE_INCLUSIVE_MS, "the same with all modules below it"),
	TIME(TW_COL_TEST_INCLUSIVE_MS, "same for the test"),
};
static const struct trawl_column module_classes[] = {
	TW_TEXT(TW_COL_MODULE_CLASS, 60, "path of modules without their numbers", .values = "!"),
	SUM_COLUMNS,
};
static const struct trawl_column module_operations[] = {
	TW_TEXT(TW_COL_MODULE, 60, "module with those around it, outermost first", .values = "!"),
	TW_TEXT("pass", 12, "forward, backward, recompute, (unlinked)", .values = "!"),
	OPERATION,
	SUM_COLUMNS,
};
static const struct trawl_column call_sites[] = {
	TW_TEXT(TW_COL_CALL_SITE, 60, "file, line and function of the program", .values = "!"),
	SUM_COLUMNS,
	NAME_IN_TEST,
};
static const struct trawl_column passes[] = {
	TW_TEXT("pass", 12, "forward, backward, recompute, (unlinked)", .values = "!"),
	SUM_COLUMNS,
};
static const struct trawl_column phases[] = {
	TW_TEXT("phase", 20,
		"prefill, decode, mixed, diffusion; (launched outside): by calls in none, (no launch): "
		"no matching launch",
		.values = "!"),
	SUM_COLUMNS,
};
static const struct trawl_column steps[] = {
	TW_TEXT("step", 24,
		"ProfilerStep#N, GPU time by launch; (launched outside): by calls in none, (no launch): "
		"no matching launch",
		.values = "!"),
	SUM_COLUMNS,
	NAME_IN_TEST,
};
static const struct trawl_column timeline_each[] = { CONFIGURATION, TYPE, MEASURE_COLUMNS };
static const struct trawl_column operations_each[] = { CONFIGURATION, OPERATION, MEASURE_COLUMNS };
static const struct trawl_column kernels_each[] = { CONFIGURATION, KERNEL, MEASURE_COLUMNS };
static const struct trawl_column collectives_each[] = { CONFIGURATION, COLLECTIVE,
							MEASURE_COLUMNS };

enum {
	OF_CONFIG,
	OF_TEST_CONFIG,
	OF_BASELINE,
	OF_TEST,
	OF_DIFFERENCE,
	OF_FASTER,
	OF_NOISE,
	OF_VERDICT,
	OF_WHY,
	OF_RANKS,
	OF_TEST_RANKS,
	OF_SLOWER,
	OF_BEST,
};

static const struct trawl_column configurations[] = {
	[OF_CONFIG] = CONFIGURATION,
	[OF_TEST_CONFIG] =
		TW_TEXT(TW_COL_TEST_CONFIGURATION, 20, "configuration of the test, if different"),
	[OF_BASELINE] = TIME(TW_COL_BASELINE_MS, "total_time, median over ranks"),
	[OF_TEST] = TIME(TW_COL_TEST_MS, "same for the test"),
	[OF_DIFFERENCE] = DIFFERENCE_OF(TW_COL_DIFFERENCE_MS, "test - baseline: below 0 is faster"),
	[OF_FASTER] =
		TW_PERCENT_2(TW_COL_FASTER, 10, "(baseline - test) / baseline: above 0 is faster"),
	[OF_NOISE] = TIME(TW_COL_NOISE_MS, "larger rank-to-rank spread of the two sides"),
	[OF_VERDICT] = VERDICT_OF("better, worse, same, new, gone"),
	[OF_WHY] = WHY_OF,
	[OF_RANKS] = COUNT("baseline ranks", 8, "ranks used"),
	[OF_TEST_RANKS] = COUNT("test ranks", 8, "same for the test"),
	[OF_SLOWER] = COUNT("ranks slower", 8, "ranks of both sides that are slower in the test"),
	[OF_BEST] = TW_TEXT(TW_COL_BEST_OF, 10,
			    "side of which it is the best configuration (min total_time)"),
};

enum {
	RANK_CONFIG,
	RANK,
	RANK_BASELINE,
	RANK_TEST,
	RANK_DIFFERENCE,
	RANK_FASTER,
	RANK_OTHERS,
	RANK_VERDICT,
	RANK_WHY,
};

static const struct trawl_column ranks[] = {
	[RANK_CONFIG] = CONFIGURATION,
	[RANK] = COUNT("rank", 6, "rank, on both sides"),
	[RANK_BASELINE] = TIME(TW_COL_BASELINE_MS, "computation_time of the rank"),
	[RANK_TEST] = TIME(TW_COL_TEST_MS, "same for the test"),
	[RANK_DIFFERENCE] =
		DIFFERENCE_OF(TW_COL_DIFFERENCE_MS, "test - baseline: below 0 is faster"),
	[RANK_FASTER] =
		TW_PERCENT_2(TW_COL_FASTER, 10, "(baseline - test) / baseline: above 0 is faster"),
	[RANK_OTHERS] = DIFFERENCE_OF(TW_COL_OTHERS_DIFFERENCE_MS,
				      "median of test - baseline of the other ranks"),
	[RANK_VERDICT] = VERDICT_OF("worse, better: outlier with much more, much less compute "
				    "time than the other ranks; same: no outlier"),
	[RANK_WHY] = WHY_OF,
};

enum {
	SPLIT_PART,
	SPLIT_RANK,
	SPLIT_BASELINE,
	SPLIT_TEST,
	SPLIT_DIFFERENCE,
	SPLIT_OF_TOTAL,
	SPLIT_CAUSE,
};

static const struct trawl_column split[] = {
	[SPLIT_PART] = TW_TEXT(
		"part", 22,
		"part of total_time; waiting: exposed communication before the rank of the row has "
		"come; transfer: the rest of it; exposed communication: both, where waits are "
		"unknown; unattributed: parts that a report lacks",
		.values =
			"!computing|waiting|transfer|exposed communication|exposed copies|idle|other work|unattributed|total"),
	[SPLIT_RANK] = COUNT("rank", 6, "rank whose time it is; waiting: for whom the others wait"),
	[SPLIT_BASELINE] = DIFFERENCE_OF(TW_COL_BASELINE_MS,
					 "mean over the ranks of both sides, and configurations"),
	[SPLIT_TEST] = DIFFERENCE_OF(TW_COL_TEST_MS, "same for the test"),
	[SPLIT_DIFFERENCE] = DIFFERENCE_OF(TW_COL_DIFFERENCE_MS,
					   "test - baseline: below 0 is faster; those of the parts "
					   "add up to the total's"),
	[SPLIT_OF_TOTAL] =
		TW_PERCENT_2(TW_COL_CHANGE_OF_TOTAL, 10, "difference / total of the baseline"),
	[SPLIT_CAUSE] = TW_TEXT(
		TW_COL_IDLE_CAUSE, 16,
		"of idle: what the host did meanwhile (synchronization: it waited for the GPU; "
		"launching: it was late with the next launch; other: work was queued, or its launch "
		"is not recorded); empty: not known on both sides",
		.values = "data loading|synchronization|allocation|launching|other"),
};

enum {
	CAUSE_CONFIG,
	CAUSE_KIND,
	CAUSE_TITLE,
	CAUSE_RANK,
	CAUSE_WHERE,
	CAUSE_BASELINE,
	CAUSE_TEST,
	CAUSE_DIFFERENCE,
	CAUSE_VERDICT,
	CAUSE_WHY,
	CAUSE_REMEDY,
};

static const struct trawl_column causes[] = {
	[CAUSE_CONFIG] = CONFIGURATION,
	[CAUSE_KIND] = TW_TEXT(TW_COL_FINDING_KIND, 24, "code of the kind", .values = "!"),
	[CAUSE_TITLE] = TW_TEXT(TW_COL_FINDING_TITLE, 50, "what was found", .values = "!"),
	[CAUSE_RANK] =
		TW_TEXT(TW_COL_FINDING_RANK, 8, "ranks it concerns; empty: all, or the only one"),
	[CAUSE_WHERE] =
		TW_TEXT(TW_COL_FINDING_WHERE, 50, "places in the test, else in the baseline"),
	[CAUSE_BASELINE] =
		TIME(TW_COL_BASELINE_MS,
		     "gain of its remedy, of a step, without steps of the window; empty: no "
		     "such finding"),
	[CAUSE_TEST] = TIME(TW_COL_TEST_MS, "same for the test"),
	[CAUSE_DIFFERENCE] = DIFFERENCE_OF(TW_COL_DIFFERENCE_MS,
					   "test - baseline; without a finding its gain is 0"),
	[CAUSE_VERDICT] = TW_TEXT(
		"verdict", 8,
		"worse: it appeared, or costs more; better: it went, or costs less; "
		"same: by less than " TW_LIMIT_TEXT(TW_LIMIT_FINDING_TOLD_PERCENT) " % of a step",
		.values = "!same|better|worse"),
	[CAUSE_WHY] = WHY_OF,
	[CAUSE_REMEDY] = TW_TEXT(TW_COL_REMEDY, 50, "what to change"),
};

enum {
	SIDE,
	LABEL,
	WHAT,
	NAME,
	OWN_CONFIGS,
	COMMON_CONFIGS,
	ONLY_HERE,
	REPORTS,
	OF_WHICH_RANKS,
	TOTAL,
	TOTAL_FASTER,
	TOTAL_VERDICT,
	TOTAL_WHY,
	BEST,
	BEST_TOTAL,
};

static const struct trawl_column summary[] = {
	[SIDE] = TW_TEXT("side", 10, "baseline or test", .values = "!baseline|test"),
	[LABEL] = TW_TEXT("label", 24, "label", .values = "!"),
	[WHAT] = TW_TEXT("what", 10, "sweep, report, trace or ranks (traces of one job)",
			 .values = "!"),
	[NAME] = TW_TEXT("name", 24, "name of the file or directory", .values = "!"),
	[OWN_CONFIGS] = COUNT("configurations", 10, "number of configurations"),
	[COMMON_CONFIGS] = COUNT(TW_COL_IN_BOTH, 10, "configurations on both sides"),
	[ONLY_HERE] = TW_TEXT(TW_COL_ONLY_HERE, 30, "configurations missing on the other side"),
	[REPORTS] = COUNT("reports", 10, "number of reports and traces read"),
	[OF_WHICH_RANKS] = TW_TEXT("ranks", 16, "ranks; empty: unknown"),
	[TOTAL] = TIME(TW_COL_TOTAL_MS, "total_time: median over ranks, mean over the common "
					"configurations"),
	[TOTAL_FASTER] = TW_PERCENT_2(TW_COL_FASTER, 10,
				      "of the test: (baseline - test) / baseline of total_time"),
	[TOTAL_VERDICT] = TW_TEXT("verdict", 8, "of the test: that on its total_time",
				  .values = "same|better|worse"),
	[TOTAL_WHY] = TW_TEXT("why", 40, "reason for the verdict"),
	[BEST] = TW_TEXT(TW_COL_BEST_CONFIGURATION, 20, "configuration with min total_time"),
	[BEST_TOTAL] = TIME(TW_COL_BEST_TOTAL_MS, "total_time of that configuration"),
};

#define SPEC(name, meaning, columns) \
	TW_SPEC(name, meaning, columns, .keep_empty = true, .verdict = "verdict")
/* Of many items those that do not differ come last, and are folded. */
#define SPEC_OF_ITEMS(name, meaning, columns) \
	TW_SPEC(name, meaning, columns, .keep_empty = true, .verdict = "verdict", .folded = "same")

const struct tw_table_spec tw_compare_specs[TW_COMPARE_TABLES] = {
	[TW_COMPARISON_SUMMARY] = SPEC("comparison_summary", "baseline and test", summary),
	[TW_CONFIGURATION_CHANGES] = SPEC("configuration_changes",
					  "total time of each configuration, on both sides or one",
					  configurations),
	[TW_TIMELINE_CHANGES] =
		SPEC("timeline_changes", "GPU time by timeline part on both sides", timeline),
	[TW_OPERATION_CHANGES] = SPEC_OF_ITEMS("operation_changes",
					       "kernel time by operator: what differs first, the "
					       "largest difference first",
					       operations),
	[TW_KERNEL_CHANGES] = SPEC_OF_ITEMS("kernel_changes",
					    "kernel time by kernel name: what differs first, the "
					    "largest difference first",
					    kernels),
	[TW_COLLECTIVE_CHANGES] = SPEC_OF_ITEMS("collective_changes",
						"time of collectives by name, data type and size: "
						"what differs first, the largest difference first",
						collectives),
	[TW_RANK_CHANGES] = SPEC("rank_changes",
				 "compute time of each rank on both sides, with outliers", ranks),
	[TW_DIFFERENCE_SPLIT] = SPEC("difference_split",
				     "what the difference of the total time is made of: means over "
				     "ranks, which add up; largest difference first",
				     split),
	[TW_STAGE_CHANGES] = SPEC("stage_changes",
				  "exposed communication by stage, in the steady-state windows of "
				  "exports of Nsight Systems",
				  stages),
	[TW_RANGE_CHANGES] =
		SPEC_OF_ITEMS("range_changes",
			      "GPU time by NVTX range: what differs first, the largest "
			      "difference first",
			      ranges),
	[TW_FINDING_CHANGES] =
		SPEC_OF_ITEMS("finding_changes",
			      "causes: findings of both sides by kind and place: what "
			      "differs first, the largest difference first",
			      causes),
	[TW_MODULE_CHANGES] = SPEC_OF_ITEMS("module_changes",
					    "GPU time by module: what differs first, the largest "
					    "difference first; rows add up to all GPU time",
					    modules),
	[TW_MODULE_CLASS_CHANGES] = SPEC_OF_ITEMS(
		"module_class_changes",
		"GPU time by class of modules: what differs first; rows add up", module_classes),
	[TW_MODULE_OPERATION_CHANGES] = SPEC_OF_ITEMS(
		"module_operation_changes",
		"GPU time by module, pass and operator: what differs first; rows add up",
		module_operations),
	[TW_CALL_SITE_CHANGES] = SPEC_OF_ITEMS("call_site_changes",
					       "GPU time by call site: what differs first, the "
					       "largest difference first; rows add up to all GPU "
					       "time",
					       call_sites),
	[TW_PASS_CHANGES] = SPEC_OF_ITEMS(
		"pass_changes", "GPU time by pass: what differs first; rows add up", passes),
	[TW_PHASE_CHANGES] = SPEC_OF_ITEMS(
		"phase_changes",
		"GPU time by phase of inference steps: what differs first; rows add up", phases),
	[TW_STEP_CHANGES] =
		SPEC_OF_ITEMS("step_changes",
			      "GPU time by profiler step: what differs first; rows add up", steps),
	[TW_TIMELINE_BY_CONFIGURATION] = SPEC("timeline_by_configuration",
					      "timeline of each common configuration",
					      timeline_each),
	[TW_OPERATIONS_BY_CONFIGURATION] = SPEC("operations_by_configuration",
						"operators of each common configuration",
						operations_each),
	[TW_KERNELS_BY_CONFIGURATION] = SPEC("kernels_by_configuration",
					     "kernels of each common configuration", kernels_each),
	[TW_COLLECTIVES_BY_CONFIGURATION] = SPEC("collectives_by_configuration",
						 "collectives of each common configuration",
						 collectives_each),
};

/* ---- cells */

static void set_ms(struct trawl_table *table, size_t row, size_t column, double ns)
{
	/* Medians are halves of ns, so that this is as exact as a double can be. */
	tw_table_set_real(table, row, column, ns / 1e6);
}

static void set_text_of(struct trawl_table *table, size_t row, size_t column, struct tw_str *text)
{
	if (text->len)
		tw_table_set_text(table, row, column, text->ptr, text->len);
	tw_str_clear(text);
}

static void set_count(struct trawl_table *table, size_t row, size_t column, int64_t count)
{
	if (count >= 0)
		tw_table_set_integer(table, row, column, count);
}

static const char *config_name(const struct tw_samples *samples, uint32_t config)
{
	return config == TW_ALL_CONFIGS ? "" : samples->configs[config].name;
}

static void set_config(struct trawl_table *table, size_t row, size_t column, const char *name)
{
	if (name && name[0])
		tw_table_set_str(table, row, column, name);
}

/* The parts of a name, one a cell. */
static size_t set_keys(struct trawl_table *table, size_t row, size_t column, const char *name,
		       bool in_parts)
{
	const char *end;

	while (in_parts && (end = strchr(name, TW_KEY_SEPARATOR)) != NULL) {
		if (end > name)
			tw_table_set_text(table, row, column, name, (size_t)(end - name));
		name = end + 1;
		column++;
	}
	if (*name)
		tw_table_set_str(table, row, column, name);
	return column + 1;
}

/* Of the baseline; the total is that of the row's configuration. */
static double share_of_total(const struct tw_changes *changes, const struct tw_change *c)
{
	double total = c->whole_ns > 0		   ? c->whole_ns :
		       c->config == TW_ALL_CONFIGS ? changes->total_ns[0] :
						     changes->totals.items[c->config].ns[0];

	return total > 0 ? c->ns[0] / total * 100 : (double)NAN;
}

static void set_measures(const struct tw_changes *changes, const struct tw_change *c,
			 struct trawl_table *table, size_t row, size_t at, struct tw_str *text)
{
	set_ms(table, row, at + BASELINE, c->ns[0]);
	set_ms(table, row, at + TEST, c->ns[1]);
	set_ms(table, row, at + DIFFERENCE, c->ns[1] - c->ns[0]);
	tw_table_set_real(table, row, at + FASTER, tw_change_faster(c));
	/* Stages are of a window, not of the whole. */
	if (tw_table_spec(table)->columns != stages)
		tw_table_set_real(table, row, at + SHARE, share_of_total(changes, c));
	set_ms(table, row, at + NOISE, c->noise_ns);
	tw_table_set_str(table, row, at + VERDICT, tw_verdict_names[c->judged.verdict]);
	tw_change_why(c, text);
	set_text_of(table, row, at + WHY, text);
	set_ms(table, row, at + SPREAD, c->spread_ns[0]);
	set_ms(table, row, at + TEST_SPREAD, c->spread_ns[1]);
	if (!c->unranked) {
		set_count(table, row, at + RANKS, (int64_t)c->ranks[0]);
		set_count(table, row, at + TEST_RANKS, (int64_t)c->ranks[1]);
	}
	if (!c->unranked && c->paired)
		set_count(table, row, at + SLOWER, (int64_t)c->slower);
	set_count(table, row, at + CALLS, c->calls[0]);
	set_count(table, row, at + TEST_CALLS, c->calls[1]);
	tw_table_set_real(table, row, at + PER_CALL, c->call_ns[0] / 1e3);
	tw_table_set_real(table, row, at + TEST_PER_CALL, c->call_ns[1] / 1e3);
}

/* What stages and ranges have besides: the item of the same name of another kind. */
static void set_more(const struct tw_changes *changes, const struct tw_change *c,
		     const struct tw_change *other, struct trawl_table *table, size_t row,
		     size_t at)
{
	unsigned side;

	for (side = 0; side < 2; side++) {
		set_ms(table, row, at + side, other->ns[side]);
		if (tw_table_spec(table)->columns == stages)
			tw_table_set_real(table, row, at + 2 + side,
					  tw_stage_overlap(changes, c, side));
	}
}

static void add_change(const struct tw_changes *changes, const struct tw_change *c,
		       const struct tw_change *other, struct trawl_table *table, bool in_parts,
		       struct tw_str *text)
{
	const struct tw_samples *samples = changes->samples;
	size_t row = tw_table_add_row(table), at = 0, at_test;
	bool named;

	if (c->config != TW_ALL_CONFIGS)
		set_config(table, row, at++, config_name(samples, c->config));
	at = set_keys(table, row, at, tw_pool_text(&samples->texts, c->name, NULL), in_parts);
	set_measures(changes, c, table, row, at, text);
	if (c->config != TW_ALL_CONFIGS)
		return;
	set_count(table, row, at + CONFIGS, (int64_t)c->configs);
	at_test = trawl_table_find_column(table, TW_COL_TEST_NAME);
	named = at_test < trawl_table_columns(table);
	if (named && c->name < samples->test_name_count && samples->test_names[c->name])
		tw_table_set_str(table, row, at_test,
				 tw_pool_text(&samples->texts, samples->test_names[c->name], NULL));
	if (other)
		set_more(changes, c, other, table, row, at + MORE + named);
	if (c->worst_config == TW_ALL_CONFIGS)
		return;
	set_config(table, row, at + WORST, config_name(samples, c->worst_config));
	tw_table_set_real(table, row, at + WORST_FASTER, tw_faster_percent(1, c->worst_ratio));
}

/* ---- tables */

/* Of a kind the change of each name, NULL: there is none; the list itself is NULL without memory. */
static const struct tw_change **by_name(const struct tw_changes *changes,
					enum tw_compared_kind kind, size_t room)
{
	const struct tw_change **of =
		tw_alloc_array(changes->samples->allocator, room, sizeof(*of));
	size_t i;

	for (i = 0; of && kind < TW_COMPARED_KINDS && i < changes->all[kind].count; i++)
		of[changes->all[kind].items[i].name] = &changes->all[kind].items[i];
	return of;
}

/* `more`: the kind that its last columns are of; TW_COMPARED_KINDS: it has none. */
static struct trawl_table *of_changes(const struct tw_changes *changes,
				      const struct tw_change_list *list,
				      const struct tw_table_spec *spec, bool in_parts,
				      enum tw_compared_kind more, struct tw_str *text)
{
	struct trawl_table *table = tw_table_new(spec, changes->samples->allocator);
	size_t room = (size_t)changes->samples->texts.count + 1, i;
	const struct tw_change **others = by_name(changes, more, room);

	if (!others) {
		trawl_table_free(table);
		return NULL;
	}
	for (i = 0; table && i < list->count; i++)
		add_change(changes, &list->items[i], others[list->items[i].name], table, in_parts,
			   text);
	tw_free(changes->samples->allocator, others, room * sizeof(*others));
	return table;
}

static struct trawl_table *of_configurations(const struct tw_changes *changes, struct tw_str *text)
{
	const struct tw_samples *samples = changes->samples;
	struct trawl_table *table =
		tw_table_new(&tw_compare_specs[TW_CONFIGURATION_CHANGES], samples->allocator);
	static const char *const best[] = { NULL, "baseline", "test", "both" };
	size_t i, row;

	for (i = 0; table && i < changes->totals.count; i++) {
		const struct tw_change *c = &changes->totals.items[i];
		const char *of = best[(changes->best[0] == i) + 2 * (changes->best[1] == i)];

		if (!c->ranks[0] && !c->ranks[1])
			continue;
		row = tw_table_add_row(table);
		set_config(table, row, OF_CONFIG, samples->configs[i].name);
		set_config(table, row, OF_TEST_CONFIG, samples->configs[i].test_name);
		set_ms(table, row, OF_BASELINE, c->ns[0]);
		set_ms(table, row, OF_TEST, c->ns[1]);
		set_ms(table, row, OF_DIFFERENCE, c->ns[1] - c->ns[0]);
		tw_table_set_real(table, row, OF_FASTER, tw_change_faster(c));
		set_ms(table, row, OF_NOISE, c->noise_ns);
		tw_table_set_str(table, row, OF_VERDICT, tw_verdict_names[c->judged.verdict]);
		tw_change_why(c, text);
		set_text_of(table, row, OF_WHY, text);
		set_count(table, row, OF_RANKS, (int64_t)c->ranks[0]);
		set_count(table, row, OF_TEST_RANKS, (int64_t)c->ranks[1]);
		if (c->paired)
			set_count(table, row, OF_SLOWER, (int64_t)c->slower);
		set_config(table, row, OF_BEST, of);
	}
	return table;
}

static void add_side(const struct tw_changes *changes, const struct tw_compared_side *side,
		     unsigned which, struct trawl_table *table, struct tw_str *text)
{
	const struct tw_samples *samples = changes->samples;
	const struct tw_change *total = which ? tw_changes_part(changes, "total_time") : NULL;
	size_t row = tw_table_add_row(table), own = 0, best = changes->best[which], i;

	for (i = 0; i < samples->config_count; i++) {
		const struct tw_sample_config *c = &samples->configs[i];

		own += c->there[which];
		if (c->there[which] && !c->there[!which])
			tw_str_addf(text, "%s%s", text->len ? ", " : "", c->name);
	}
	set_text_of(table, row, ONLY_HERE, text);
	tw_table_set_str(table, row, SIDE, which ? "test" : "baseline");
	tw_table_set_str(table, row, LABEL, side->label);
	tw_table_set_str(table, row, WHAT, side->what);
	tw_table_set_str(table, row, NAME, side->name);
	set_count(table, row, OWN_CONFIGS, (int64_t)own);
	set_count(table, row, COMMON_CONFIGS, (int64_t)changes->common);
	set_count(table, row, REPORTS, (int64_t)side->reports);
	set_config(table, row, OF_WHICH_RANKS, side->ranks);
	set_ms(table, row, TOTAL, changes->total_ns[which]);
	if (total) {
		tw_table_set_real(table, row, TOTAL_FASTER, tw_change_faster(total));
		tw_table_set_str(table, row, TOTAL_VERDICT,
				 tw_verdict_names[total->judged.verdict]);
		tw_change_why(total, text);
		set_text_of(table, row, TOTAL_WHY, text);
	}
	if (best == SIZE_MAX)
		return;
	set_config(table, row, BEST,
		   which && samples->configs[best].test_name ? samples->configs[best].test_name :
							       samples->configs[best].name);
	set_ms(table, row, BEST_TOTAL, changes->totals.items[best].ns[which]);
}

static struct trawl_table *of_sides(const struct tw_changes *changes,
				    const struct tw_compared_side sides[2], struct tw_str *text)
{
	struct trawl_table *table =
		tw_table_new(&tw_compare_specs[TW_COMPARISON_SUMMARY], changes->samples->allocator);

	if (table) {
		add_side(changes, &sides[0], 0, table, text);
		add_side(changes, &sides[1], 1, table, text);
	}
	return table;
}

static void why_of_rank(const struct tw_rank_change *c, struct tw_str *out)
{
	if (!c->more && !c->less) {
		tw_str_add_cstr(out, "no outlier");
		return;
	}
	tw_add_ms(out, c->apart_ns);
	tw_str_addf(out, " %s than the change of the other ranks predicts",
		    c->more ? "more" : "less");
}

static struct trawl_table *of_ranks(const struct tw_changes *changes, struct tw_str *text)
{
	const struct tw_samples *samples = changes->samples;
	struct trawl_table *table =
		tw_table_new(&tw_compare_specs[TW_RANK_CHANGES], samples->allocator);
	size_t i;

	for (i = 0; table && i < changes->ranks.count; i++) {
		const struct tw_rank_change *c = &changes->ranks.items[i];
		size_t row = tw_table_add_row(table);

		set_config(table, row, RANK_CONFIG, samples->configs[c->config].name);
		tw_table_set_integer(table, row, RANK, c->rank);
		set_ms(table, row, RANK_BASELINE, (double)c->ns[0]);
		set_ms(table, row, RANK_TEST, (double)c->ns[1]);
		set_ms(table, row, RANK_DIFFERENCE, (double)(c->ns[1] - c->ns[0]));
		tw_table_set_real(table, row, RANK_FASTER,
				  tw_faster_percent((double)c->ns[0], (double)c->ns[1]));
		set_ms(table, row, RANK_OTHERS, c->others_ns);
		tw_table_set_str(table, row, RANK_VERDICT,
				 tw_verdict_names[c->more ? TW_WORSE :
						  c->less ? TW_BETTER :
							    TW_SAME]);
		why_of_rank(c, text);
		set_text_of(table, row, RANK_WHY, text);
	}
	return table;
}

static void add_split(struct trawl_table *table, const char *part, const struct tw_split_row *of,
		      double total)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, SPLIT_PART, part);
	set_count(table, row, SPLIT_RANK, of->rank);
	set_ms(table, row, SPLIT_BASELINE, of->ns[0]);
	set_ms(table, row, SPLIT_TEST, of->ns[1]);
	set_ms(table, row, SPLIT_DIFFERENCE, of->ns[1] - of->ns[0]);
	tw_table_set_real(table, row, SPLIT_OF_TOTAL,
			  total > 0 ? (of->ns[1] - of->ns[0]) / total * 100 : (double)NAN);
	set_config(table, row, SPLIT_CAUSE, tw_split_causes[of->cause]);
}

static struct trawl_table *of_split(const struct tw_changes *changes)
{
	const struct tw_split *s = &changes->split;
	const struct tw_split_row total = { .rank = TW_NO_RANK,
					    .ns = { s->total_ns[0], s->total_ns[1] } };
	struct trawl_table *table =
		tw_table_new(&tw_compare_specs[TW_DIFFERENCE_SPLIT], changes->samples->allocator);
	size_t i;

	for (i = 0; table && i < s->rows.count; i++)
		add_split(table, tw_split_names[s->rows.at[i].part], &s->rows.at[i],
			  s->total_ns[0]);
	if (table && s->rows.count)
		add_split(table, "total", &total, s->total_ns[0]);
	return table;
}

static struct trawl_table *of_causes(const struct tw_changes *changes)
{
	const struct tw_samples *samples = changes->samples;
	struct trawl_table *table =
		tw_table_new(&tw_compare_specs[TW_FINDING_CHANGES], samples->allocator);
	size_t i;

	for (i = 0; table && i < changes->causes.list.count; i++) {
		const struct tw_cause_change *c = &changes->causes.list.at[i];
		static const size_t texts[] = { CAUSE_KIND, CAUSE_TITLE, CAUSE_RANK, CAUSE_WHERE,
						CAUSE_REMEDY };
		size_t row = tw_table_add_row(table), k;

		set_config(table, row, CAUSE_CONFIG, samples->configs[c->config].name);
		for (k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
			set_config(table, row, texts[k],
				   tw_cause_text(tw_cause_shown(c), causes[texts[k]].header));
		for (k = 0; k < 2; k++)
			if (c->of[k].findings)
				tw_table_set_real(table, row, CAUSE_BASELINE + k, c->of[k].gain_ms);
		tw_table_set_real(table, row, CAUSE_DIFFERENCE, c->difference_ms);
		tw_table_set_str(table, row, CAUSE_VERDICT, tw_verdict_names[c->verdict]);
		tw_table_set_str(table, row, CAUSE_WHY, tw_cause_why(c));
	}
	return table;
}

/* Tables of items, and where their rows are. */
struct listed {
	enum tw_compare_table all, each;  /* each: TW_COMPARE_TABLES: there is none */
	enum tw_compared_kind kind, more; /* more: as of of_changes() */
};

static bool make_lists(const struct tw_changes *changes, struct trawl_table **tables,
		       struct tw_str *text)
{
	const struct listed lists[] = {
		{ TW_TIMELINE_CHANGES, TW_TIMELINE_BY_CONFIGURATION, TW_TIMELINE_PART,
		  TW_COMPARED_KINDS },
		{ TW_OPERATION_CHANGES, TW_OPERATIONS_BY_CONFIGURATION, TW_OPERATION,
		  TW_COMPARED_KINDS },
		{ TW_KERNEL_CHANGES, TW_KERNELS_BY_CONFIGURATION, TW_KERNEL, TW_COMPARED_KINDS },
		{ TW_COLLECTIVE_CHANGES, TW_COLLECTIVES_BY_CONFIGURATION,
		  tw_changes_collectives(changes), TW_COMPARED_KINDS },
		{ TW_STAGE_CHANGES, TW_COMPARE_TABLES, TW_STAGE, TW_STAGE_COMM },
		{ TW_RANGE_CHANGES, TW_COMPARE_TABLES, TW_RANGE, TW_RANGE_EXPOSED },
		{ TW_MODULE_CHANGES, TW_COMPARE_TABLES, TW_MODULE, TW_MODULE_TOTAL },
		{ TW_MODULE_CLASS_CHANGES, TW_COMPARE_TABLES, TW_MODULE_CLASS, TW_COMPARED_KINDS },
		{ TW_MODULE_OPERATION_CHANGES, TW_COMPARE_TABLES, TW_MODULE_OPERATION,
		  TW_COMPARED_KINDS },
		{ TW_CALL_SITE_CHANGES, TW_COMPARE_TABLES, TW_CALL_SITE, TW_COMPARED_KINDS },
		{ TW_PASS_CHANGES, TW_COMPARE_TABLES, TW_PASS, TW_COMPARED_KINDS },
		{ TW_PHASE_CHANGES, TW_COMPARE_TABLES, TW_PHASE, TW_COMPARED_KINDS },
		{ TW_STEP_CHANGES, TW_COMPARE_TABLES, TW_STEP, TW_COMPARED_KINDS },
	};
	bool whole = true;
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const struct listed *l = &lists[i];
		bool in_parts = l->all == TW_COLLECTIVE_CHANGES || l->all == TW_RANGE_CHANGES ||
				l->all == TW_MODULE_OPERATION_CHANGES;

		/* Of what few runs record there is no table that is empty. */
		if (tw_is_summed(l->kind) && !changes->all[l->kind].count)
			continue;
		tables[l->all] = of_changes(changes, &changes->all[l->kind],
					    &tw_compare_specs[l->all], in_parts, l->more, text);
		whole &= tables[l->all] != NULL;
		if (changes->common < 2 || l->each == TW_COMPARE_TABLES)
			continue;
		tables[l->each] = of_changes(changes, &changes->each[l->kind],
					     &tw_compare_specs[l->each], in_parts, l->more, text);
		whole &= tables[l->each] != NULL;
	}
	if (tables[TW_COLLECTIVE_CHANGES] && trawl_table_rows(tables[TW_COLLECTIVE_CHANGES]))
		tw_table_add_note(tables[TW_COLLECTIVE_CHANGES],
				  lists[3].kind == TW_COLLECTIVE_SYNC ?
					  "time is the sum of the min time over ranks, without "
					  "waiting; it is one value per configuration, so noise "
					  "is unknown; the verdict is per call where call "
					  "counts differ" :
					  "time is kernel time on each rank, including waiting");
	return whole;
}

int tw_compare_tables(const struct tw_changes *changes, const struct tw_compared_side sides[2],
		      struct trawl_table *tables[TW_COMPARE_TABLES], struct trawl_error *err)
{
	struct tw_str text;
	bool whole;
	size_t i;

	memset(tables, 0, TW_COMPARE_TABLES * sizeof(*tables));
	tw_str_init(&text, changes->samples->allocator);
	tables[TW_COMPARISON_SUMMARY] = of_sides(changes, sides, &text);
	tables[TW_CONFIGURATION_CHANGES] = of_configurations(changes, &text);
	tables[TW_RANK_CHANGES] = of_ranks(changes, &text);
	tables[TW_DIFFERENCE_SPLIT] = of_split(changes);
	tables[TW_FINDING_CHANGES] = of_causes(changes);
	whole = make_lists(changes, tables, &text) && tables[TW_COMPARISON_SUMMARY] &&
		tables[TW_CONFIGURATION_CHANGES] && tables[TW_RANK_CHANGES] &&
		tables[TW_DIFFERENCE_SPLIT] && tables[TW_FINDING_CHANGES] && !text.failed;
	tw_str_release(&text);
	for (i = 0; i < TW_COMPARE_TABLES && whole; i++)
		if (tables[i] && tw_table_finish(tables[i], NULL))
			whole = false;
	return whole ? 0 : tw_no_memory(err);
}
