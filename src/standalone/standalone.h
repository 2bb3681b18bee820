/*
 * The standalone analysis of one trace, step by step.  Each step reads what the ones before it
 * wrote into one directory and writes its own files there:
 *
 *	prepare      categories, their operations and tree data, from a report
 *	category     one category, or one of the system's areas: metrics, then findings from them
 *	replay       packages with which operations can be run again elsewhere
 *	reports      priorities over all categories, and the two reports
 *
 * Sources: the users' documents "standalone analysis", "GEMM analysis", "multi-kernel analysis".
 */
#ifndef TW_STANDALONE_STANDALONE_H
#define TW_STANDALONE_STANDALONE_H

#include "analysis/analysis.h"
#include "standalone/prepared.h"

/* How the analysis of a category ended; its findings file says so too. */
enum tw_category_status {
	TW_CATEGORY_DONE,
	TW_CATEGORY_NO_DATA, /* nothing of the kind in the trace */
	TW_CATEGORY_FAILED,  /* its data cannot be used */
};

struct tw_category_data;
struct tw_system;
struct tw_findings_place;

struct tw_category_result {
	enum tw_category_status status;
	char message[1024]; /* of a failure */
	/* NaN: not known. Areas of the system: idle time, or communication and copies. */
	double time_ms, percent_of_compute;
	int64_t bottlenecks;
	const struct tw_category_data *data; /* of operations; NULL: */
	const struct tw_system *system;	     /* an area of the system, and its findings */
	void (*markdown)(struct tw_str *out, const void *system,
			 const struct tw_findings_place *place);
};

/* ---- prepare */

/* `trace_name` is what the results call the trace: no directory in it. */
int tw_prepare(struct tw_prepared *prepared, const struct trawl_report *report,
	       const char *trace_name, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Its parts that need the trace: multi_kernel_data.json; cpu_idle_data.json, cpu_idle_ops.csv. */
int tw_prepare_multi_kernel(struct tw_prepared *prepared, const struct tw_analysis_input *in,
			    struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_prepare_cpu_idle(struct tw_prepared *prepared, const struct tw_analysis_input *in,
			struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- category: an error only when a file cannot be written or memory is out */

/* Any of them by its name ("gemm", "multi_kernel", "cpu_idle"). */
int tw_category_analyse(struct tw_prepared *prepared, const char *name,
			struct tw_category_result *result,
			struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_category_compute(struct tw_prepared *prepared, const char *name,
			struct tw_category_result *result,
			struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_category_multi_kernel(struct tw_prepared *prepared, struct tw_category_result *result,
			     struct trawl_error *err) TRAWL_MUST_CHECK;
int tw_category_cpu_idle(struct tw_prepared *prepared, struct tw_category_result *result,
			 struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- replay */

/*
 * A package for each operation named in `ops`; with `ops` NULL for those that qualify by
 * themselves.  *written is how many.  TRAWL_EUSAGE when a name is not among the operations.
 */
int tw_replay(struct tw_prepared *prepared, const char *const *ops, size_t count, size_t *written,
	      struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- reports */

struct tw_reports_options {
	const char *model;			  /* title */
	const struct tw_category_result *results; /* of the manifest's categories */
	bool no_workbook;			  /* perf_report.xlsx is not written */
	bool no_charts;
};

/* priority_data.json, the charts, the two Markdown reports, and the page. */
int tw_reports(struct tw_prepared *prepared, const struct tw_reports_options *options,
	       struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
