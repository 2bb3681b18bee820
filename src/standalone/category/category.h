/*
 * A category of operations under analysis: rows read, figures derived, bottlenecks chosen.  Its
 * metrics and its findings are written from that, and the reports are made of it.
 */
#ifndef TW_STANDALONE_CATEGORY_H
#define TW_STANDALONE_CATEGORY_H

#include "standalone/manifest.h"
#include "standalone/standalone.h"

/* What rules say of an operation, in the order in which it is told. */
struct tw_advice {
	const struct tw_rule *achieved; /* begins the issue; NULL: nothing does */
	const struct tw_rule *rules[TW_MOST_ADVICE];
	unsigned count;
	unsigned patterns; /* the first of them; the others fill what they left open */
	const char *text[TW_ADVICE_PARTS];	 /* NULL: nothing */
	TW_FIELD_LIST(const char *) ids;	 /* of the rules */
	TW_FIELD_LIST(struct tw_named) evidence; /* the facts that they ask or tell */
};

struct tw_category_row {
	const char *uid_text, *name, *dims_text, *types_text, *params_text, *compute_spec;
	const char *kernels_text, *strides, *thread, *model_text;
	/* The literals, while it is open. */
	const struct tw_json_value *dims, *types, *params, *kernels;
	const struct tw_tree *tree; /* NULL: nothing known */
	bool has_model, in_top_operations;
	/* Of the CSV file; NaN where a cell is empty. */
	double count, time_us, mean_us, std_us, exposed_us;
	double tflops, tb_s, flops_per_byte, roofline_percent;
	/* Derived. */
	double uid; /* NaN: it has no number */
	double efficiency_percent, peak_tflops;
	const char *bound; /* "compute", "memory", NULL: unknown */
	bool is_anomaly, is_bottleneck, is_unmodelled, is_slow, is_modelled;
	bool is_host_copy, is_too_short, has_mask, names_fused_attention;
	const char *kind;	 /* "not_visible", NULL: it is */
	const char *kernel_kind; /* "gemm", "attention", "norm", "moe"; NULL: kernels do not tell */
	const char *warning;	 /* of the efficiency; NULL: none */
	const char *library;	 /* NULL: unknown */
	const char *args;
	const char *distinct; /* what tells it from a row of the same name and arguments; NULL */
	/* Where it is called from: a function or modules; modules, and all frames that say something. */
	const char *path;
	TW_FIELD_LIST(const char *) modules, calls;
	struct tw_facts facts;
	struct tw_advice advice;
	const struct tw_level *priority, *assessment, *type;
	double cov, high_variance; /* NaN: not told */
	/* Of a bottleneck. */
	const char *group, *group_key; /* operations that are one finding; NULL: it is alone */
	const char *main_kernel;
	uint64_t rank;
	/* While it is written. */
	const char *kernel_names, *kernel_names_cut;
};

struct tw_estimate {
	const char *operation, *category, *type, *method, *bound, *library;
	double uid, efficiency_percent, time_ms, exposed_ms, percent_of_total;
	/* Hundredths of a per cent, so that sums are those of what is written. */
	int64_t low, middle, high;
	bool bounded;
};

/* Estimates that have bound, library and range of efficiency in common, or the name. */
struct tw_estimates {
	const char *bound, *library, *bucket, *method;
	int64_t low, middle, high, percent_of_total;
	uint64_t count;
	TW_FIELD_LIST(struct tw_estimate) members;
};

extern const struct tw_fields tw_row_fields, tw_bottleneck_fields, tw_category_data_fields;
extern const struct tw_fields tw_estimate_fields, tw_estimates_fields;

struct tw_category_data {
	struct tw_prepared *prepared;
	const char *name, *title, *status;
	const char *error; /* NULL: none */
	const struct tw_category_family *family;
	struct tw_hardware hardware;
	struct tw_category_row *rows; /* by kernel time, most first */
	uint32_t row_count;
	struct tw_category_row **bottlenecks; /* the most urgent first */
	uint32_t bottleneck_count;
	double total_ms, compute_ms; /* of the whole trace; NaN: unknown */
	double shortest_us;	     /* of the kernels of the trace; NaN: unknown */
	double time_ms, calls, average_efficiency_percent, percent_of_compute, percent_of_total;
	struct tw_facts facts; /* of the category */
	struct tw_advice advice;
	TW_FIELD_LIST(struct tw_estimate) estimates; /* most first */
	TW_FIELD_LIST(struct tw_estimates) groups;
};

/* ---- rows.c: 0, TRAWL_ENODATA when there are no operations, else what is wrong */
int tw_category_read(struct tw_category_data *data, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Reads the literals of a row, into the arena; 0 or TRAWL_ENOMEM. */
int tw_category_open(struct tw_category_row *row, struct tw_arena *arena) TRAWL_MUST_CHECK;
/* TFLOP/s of a Compute Spec ("": of BF16 matrices); NaN when unknown. */
double tw_category_peak(const struct tw_category_data *data, const char *compute_spec);

/* Where a kernel's name is cut. */
#define TW_SHORT_KERNEL 75

/* ---- args.c: all but the first in the arena, NULL when out of memory */
const char *tw_category_library(const struct tw_category_row *row);
const char *tw_category_args(struct tw_arena *arena, const struct tw_category_row *row);
/* "Kernel 1: ...<br>Kernel 2: ..."; names longer than `most` are cut (0: never). */
const char *tw_category_kernels(struct tw_arena *arena, const struct tw_category_row *row,
				size_t most);
/* The kernel with the most time, cut like those; NULL when it has none or memory is out. */
const char *tw_category_largest_kernel(struct tw_arena *arena, const struct tw_category_row *row,
				       size_t most);
/* Where it is called from; 0 or TRAWL_ENOMEM. */
int tw_category_callers(struct tw_category_row *row, struct tw_arena *arena) TRAWL_MUST_CHECK;

/* ---- traits.c: facts of an open row, for rules and classification */
void tw_category_traits(struct tw_category_row *row);

/* ---- advice.c: 0 or TRAWL_ENOMEM */
int tw_category_choose(struct tw_category_data *data) TRAWL_MUST_CHECK;
/* What rules of a family, and of all, say of facts; without the texts. */
void tw_category_advise(struct tw_advice *advice, const char *family, const struct tw_facts *facts);
/* ---- impact.c: 0 or TRAWL_ENOMEM */
int tw_category_estimate(struct tw_category_data *data) TRAWL_MUST_CHECK;

/* ---- metrics.c: the whole document, handed on in pieces */
int tw_category_metrics(struct tw_prepared_text *file, const struct tw_category_data *data,
			struct trawl_error *err) TRAWL_MUST_CHECK;
/* A figure of its family that the metrics have, as they name and write it. */
void tw_category_figure(struct tw_str *out, const struct tw_category_data *data, const char *key);

/* What the findings have no room for. */
struct tw_left_out {
	uint64_t operations, bottlenecks;
	double ms, percent;
};
extern const struct tw_fields tw_left_out_fields;
struct tw_left_out tw_category_left_out(const struct tw_category_data *data);

/* Rows of the table of the findings, and of their list of bottlenecks. */
#define TW_FINDINGS_ROWS 20
#define TW_FINDINGS_BOTTLENECKS 20

/* ---- findings_text.c */

/* Where the findings stand: in a file of their own, or below a heading of a report. */
struct tw_findings_place {
	unsigned deeper; /* levels of headings, 0: a file */
	/* The heading of a bottleneck and what follows it at once, and what ends it; NULL: its file's. */
	void (*begin)(void *context, const struct tw_category_row *row, struct tw_str *out);
	void (*end)(void *context, const struct tw_category_row *row, struct tw_str *out);
	void *context;
};

/* "## text" and, in a report, a blank line. */
void tw_findings_heading(struct tw_str *out, const struct tw_findings_place *place, unsigned level,
			 const char *text);
void tw_category_findings(struct tw_str *out, const struct tw_category_data *data,
			  const struct tw_findings_place *place);
/* "(16,8) bf16, (8,4) bf16" as code, cut; nothing of "". */
void tw_findings_args(struct tw_str *out, const char *args, size_t most);

#endif
