/*
 * An analysis turns the derived trace into one table.  It is a pure function: it prints nothing,
 * keeps nothing, and knows no output format.  One analysis is one file here and one line in
 * analyses.def; the order there is the order of tables in a report.
 */
#ifndef TW_ANALYSIS_ANALYSIS_H
#define TW_ANALYSIS_ANALYSIS_H

#include "analysis/launches/launchers.h"
#include "analysis/launches/parents.h"
#include "analysis/ops/modelled.h"
#include "analysis/who/attributions.h"
#include "base/wide.h"
#include "derive/derived.h"
#include "derive/when.h"
#include "model/platform.h"
#include "table/table.h"
#include "trawl/report.h"

struct tw_analysis_input {
	const struct trawl_trace *trace;
	const struct tw_derived *derived;
	const struct tw_launchers *launchers;
	const struct tw_parents *parents;
	const struct tw_when *when;
	const struct tw_modelled *modelled;  /* NULL unless the analysis needs models */
	const struct tw_attributions *who;   /* NULL: no frames, or the analysis does not use it */
	const struct tw_call_stacks *stacks; /* NULL: none are asked for, or the analysis has none */
	const struct tw_grouping *grouping;  /* NULL: none is asked for, or the analysis has none */
	const struct tw_platform *platform;  /* NULL: unknown */
	const struct trawl_report_options *options;
	const struct tw_quality *quality;   /* the trace's and what deriving found */
	const struct tw_timeline *timeline; /* of all GPU events, or those that options ask for */
	const struct trawl_allocator *allocator; /* what run() and make() leave is given back */
	const struct trawl_allocator *tables;	 /* what tables are made of, which stay */
};

/* Whether nodes of GPU graphs count with operators: tables then have a last column that says which do. */
static inline bool tw_has_via(const struct tw_analysis_input *in)
{
	return in->derived->host.all > in->derived->host.count;
}

/* Whether an event of the host is that of a capture. */
static inline bool tw_is_via_graph(const struct tw_analysis_input *in, uint64_t event)
{
	return event >= in->trace->events.count;
}

#define TW_VIA_COLUMN                                                                         \
	TW_TEXT(TW_COL_VIA, 8,                                                                \
		"graph: nodes of GPU graphs, by --capture or --map; direct: launched one by " \
		"one; only where graphs count so",                                            \
		.over_ranks = TRAWL_KEY)
void tw_set_via(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		size_t column, bool graph);

/*
 * Says what share of the GPU time is in GPU graphs of which nothing is known, and what would help;
 * false: it is none worth telling.
 */
bool tw_graph_notice(const struct tw_analysis_input *in, struct tw_str *out);

/* What an analysis needs; without it, it makes no table. */
enum tw_needs {
	TW_NEEDS_NOTHING = 0,
	TW_NEEDS_GPU = 1,     /* GPU events */
	TW_NEEDS_HOST = 2,    /* host events */
	TW_NEEDS_MODELS = 4,  /* what calls were modelled: it runs after those that do not */
	TW_NEEDS_EXPORT = 8,  /* an export of Nsight Systems, unless it alone was asked for */
	TW_NEEDS_ASKING = 16, /* options ask for it by name: gemm_instances, kernel_instances */
	TW_NEEDS_WHO = 32,    /* python functions or, of an export, ranges */
	TW_USES_WHO = 64,     /* the same where it is there */
	TW_GROUPS = 128,      /* its rows may be grouped further: who/grouping.h */
	TW_STACKS = 256,      /* they may have call stacks: who/op_stacks.h */
	TW_PLAIN = 512, /* it looks at no launchers, steps or timeline: quick where it is alone */
};

struct tw_analysis {
	struct tw_table_spec table;
	unsigned needs;
	/* Fills the table; what it adds may fail stickily. 0 or TRAWL_ENOMEM. */
	int (*run)(const struct tw_analysis_input *in, struct trawl_table *table);
	/*
	 * Instead, where the columns depend on the trace: makes the table too; *table stays NULL
	 * when there is no table. The spec's columns are those that it always has.
	 */
	int (*make)(const struct tw_analysis_input *in, const struct tw_analysis *self,
		    struct trawl_table **table);
	/* Of tables of modelled operations: which. */
	const char *family;
	enum tw_passes { TW_BOTH_PASSES, TW_FORWARD, TW_BACKWARD } passes;
};

/*
 * A table's declaration: one array of columns that every renderer and the documentation follow; what
 * else there is, by name: TW_TABLE("streams", "...", columns, .keep_empty = true).
 */
#define TW_TABLE(...) .table = TW_SPEC(__VA_ARGS__)

#define TW_ANALYSIS(id) extern const struct tw_analysis tw_analysis_##id;
#include "analysis/analyses.def"
#undef TW_ANALYSIS

/* All of them, in order. */
extern const struct tw_analysis *const tw_analyses[];
extern const size_t tw_analysis_count;

/* The platform of a report's roofline with its peaks, NULL: none is known. */
const struct tw_platform *tw_report_platform(const struct trawl_report *report);

/* The header of the column of groups, NULL: rows have none (--group-by). */
const char *tw_report_group(const struct trawl_report *report);

/* Input of its analyses, for later use of the same trace. */
const struct tw_analysis_input *tw_report_input(const struct trawl_report *report);

/* ---- what several analyses share */

/* Numbers devices in order, by queue; queues are in order of device.  Returns their number. */
static inline uint32_t tw_number_devices(const struct tw_gpu *gpu, uint32_t *by_queue)
{
	uint32_t q, count = 0;

	for (q = 0; q < gpu->queue_count; q++) {
		count += !q || gpu->queues[q].device != gpu->queues[q - 1].device;
		by_queue[q] = count - 1;
	}
	return count;
}

/* Text of a text id into a cell. */
void tw_set_name(struct trawl_table *table, size_t row, size_t column,
		 const struct trawl_trace *trace, uint32_t text);
/* A copy of a text of another pool, which the table may outlive. */
void tw_set_pool_text(struct trawl_table *table, size_t row, size_t column,
		      const struct tw_pool *pool, uint32_t text);
/* A device or stream number: as a number where it is one. */
void tw_set_code(struct trawl_table *table, size_t row, size_t column,
		 const struct trawl_trace *trace, tw_code code);
/* A defect into the columns of the quality table, the first of which is `first`. */
void tw_set_defect(struct trawl_table *table, size_t row, size_t first,
		   const struct trawl_defect *defect);
/* A sum of integers; missing, with a note, when it does not fit 64 bits. */
void tw_set_sum(struct trawl_table *table, size_t row, size_t column, tw_wide sum);
/* part / whole x 100; missing when the whole is 0. */
void tw_set_percent(struct trawl_table *table, size_t row, size_t column, double part,
		    double whole);
/* Nanoseconds as a real number of microseconds, missing when NaN. */
void tw_set_us(struct trawl_table *table, size_t row, size_t column, double ns);

/* Timeline figures of a set of GPU events. */
struct tw_timeline {
	int64_t compute_ns, exposed_communication_ns, exposed_copy_ns, busy_ns, idle_ns, total_ns;
	int64_t communication_ns, copy_ns;
	int64_t micro_idle_ns, macro_idle_ns; /* gaps below and from the threshold on */
	int64_t other_ns; /* in a view by launch: only work that is not of the view */
	uint64_t events;
};

/*
 * Of `count` GPU events: those of `list`, in order of start, or with NULL the first ones; those
 * with a recorded launch only when asked; other work of a device, TW_CODE_NONE: of all.  Source:
 * perf-report definitions of busy, exposed and idle; see docs/METRICS.md.
 */
int tw_timeline_of(struct tw_timeline *out, const struct tw_derived *derived, const uint32_t *list,
		   uint64_t count, tw_code device, bool linked_only,
		   int64_t micro_idle_ns) TRAWL_MUST_CHECK;

/*
 * Its rows: type, time and percent, the first of them in `column`.  Other work has a row in a view
 * by launch, and idle time two where it is split.
 */
void tw_add_timeline_rows(struct trawl_table *table, size_t column,
			  const struct tw_timeline *timeline, bool by_launch, bool split_idle);

/* How what steps launched lies to their time: lines that end with a line feed; none where it is not known. */
void tw_describe_step_work(const struct tw_steps *steps, struct tw_str *out);

/* A stretch of the total in which nothing is busy, on the clock of the view. */
typedef void tw_visit_gap(void *context, int64_t from_ns, int64_t to_ns);

/* Adds what makes exposed_communication_ns, on the clock of the view, to an empty set. */
int tw_timeline_exposed(const struct tw_derived *derived, bool linked_only,
			struct tw_intervals *exposed) TRAWL_MUST_CHECK;

/* The gaps that make idle_ns of all GPU events, or of those with a recorded launch, in order. */
int tw_timeline_gaps(const struct tw_derived *derived, bool linked_only, tw_visit_gap *visit,
		     void *context) TRAWL_MUST_CHECK;

#endif
