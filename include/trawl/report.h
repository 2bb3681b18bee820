/*
 * The performance report of one trace: tables by analysis.
 */
#ifndef TRAWL_REPORT_H
#define TRAWL_REPORT_H

#include "trawl/table.h"
#include "trawl/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trawl_report_options {
	bool linked_only;	 /* gpu_timeline counts only events whose launch is recorded */
	bool clip_overruns;	 /* end kernels that run over whole later ones at the next start */
	int64_t short_kernel_ns; /* kernels below it are short; default 10 us */
	int64_t micro_idle_ns;	 /* splits idle time at this gap; -1: no split */
	bool exposed_time;     /* unified_perf_summary also has the time that nothing else hides */
	bool gemm_instances;   /* the table of that name is made too */
	bool kernel_instances; /* and that of runs of kernels without an operation */
	bool call_stack;       /* tables of operators by arguments have call stacks too */
	const char *
		group_by; /* rows of operators and kernels for each "module", "site", "pass", "step", "phase" or "stream" */
	const char
		*only; /* tables to make, separated by commas, there even without rows; NULL: all */
	unsigned threads; /* 0: one a core */
	bool no_python;	  /* of the ranks of a job: as in trawl_read_options */

	/*
	 * Peaks for the roofline: the name of a GPU that trawl knows ("MI300X") or the path of a
	 * JSON file; NULL: by the name of the trace's device, and none when that is not known.
	 */
	const char *platform;

	/* The part of the trace to analyze. */
	const char *range;	       /* name of an annotation; NULL: none */
	int64_t step_first, step_last; /* profiler steps; -1: none */
	bool by_time;		  /* of these the time, not the GPU work that was launched within */
	int64_t start_ns, end_ns; /* TRAWL_TIME_NONE: none */
	const char *device;	  /* NULL: all */

	/* Captures that agree with a graph in the number and kind of nodes alone count in all tables. */
	bool accept_count;
};

/* What another trace says of the graphs that a trace launches. */
enum trawl_graph_source {
	TRAWL_GRAPH_CAPTURE, /* it holds captures of them */
	TRAWL_GRAPH_MAP,     /* it is of an eager run of the same model */
};

/*
 * Adds the captures of `from` to `trace`, or its launches, before reports are made of that: nodes of
 * graphs then count with the operators that launched them there.  `name` is what tables call it;
 * `from` may go afterwards.  TRAWL_ENODATA when it has none.
 */
TRAWL_API int trawl_trace_add_source(struct trawl_trace *trace, const struct trawl_trace *from,
				     const char *name, enum trawl_graph_source kind,
				     struct trawl_error *err) TRAWL_MUST_CHECK;

struct trawl_report;

/* Fills *options with the defaults. */
TRAWL_API void trawl_report_options_init(struct trawl_report_options *options);

/*
 * Analyses a trace, which must outlive the report.  `options` may be NULL.  TRAWL_EUSAGE when
 * the part asked for is not in the trace, the platform or `group_by` is not known, the trace lacks
 * what it needs, or no table has a name of `only`, TRAWL_ENODATA when the trace has neither GPU events
 * nor host operations.
 */
TRAWL_API int trawl_report_new(struct trawl_report **out, const struct trawl_trace *trace,
			       const struct trawl_report_options *options,
			       struct trawl_error *err) TRAWL_MUST_CHECK;
TRAWL_API void trawl_report_free(struct trawl_report *report);

/* Non-empty tables, in the order of a workbook. */
TRAWL_API size_t trawl_report_tables(const struct trawl_report *report);
TRAWL_API const struct trawl_table *trawl_report_table(const struct trawl_report *report,
						       size_t index);
/* By name, NULL when it is not there. */
TRAWL_API const struct trawl_table *trawl_report_find(const struct trawl_report *report,
						      const char *name);
/* The names of all tables that a report may have, in order; NULL after the last. */
TRAWL_API const char *trawl_report_table_name(size_t index);
/* The same with what they are; false after the last. */
TRAWL_API bool trawl_report_declares(size_t index, struct trawl_table_declaration *out);

/*
 * GPU time by stack as text for flame graphs: a line a stack, frames from the outermost on joined by ";", then a
 * blank and nanoseconds.  By module (pass, modules, operator, kernel), or full: by all frames,
 * operators and calls around the launch.  write() is given the text in one or more pieces.  TRAWL_ENODATA: no
 * Python functions and, in an export, no ranges were recorded; of modules, no modules.
 */
enum trawl_stacks { TRAWL_STACKS_BY_MODULE, TRAWL_STACKS_FULL };

TRAWL_API int trawl_report_stacks(const struct trawl_report *report, enum trawl_stacks stacks,
				  void (*write)(void *context, const char *text, size_t len),
				  void *context, struct trawl_error *err) TRAWL_MUST_CHECK;

/* The quality record of the trace and of what follows from it, worst first. */
TRAWL_API size_t trawl_report_defects(const struct trawl_report *report);
TRAWL_API struct trawl_defect trawl_report_defect(const struct trawl_report *report, size_t index);

/* The view of the report: "" for the whole trace, else a text such as "step 3". */
TRAWL_API const char *trawl_report_view(const struct trawl_report *report);

/* Whether options.platform may be one, for before a trace is read: TRAWL_EUSAGE says why not. */
TRAWL_API int trawl_platform_check(const char *platform, struct trawl_error *err) TRAWL_MUST_CHECK;

/* The platform of the roofline, NULL: none; *guessed (may be NULL): by the trace's device name. */
TRAWL_API const char *trawl_report_platform(const struct trawl_report *report, bool *guessed);

#ifdef __cplusplus
}
#endif

#endif
