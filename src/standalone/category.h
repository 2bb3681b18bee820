/*
 * A category of operations under analysis, as its steps see it: rows read, figures derived,
 * bottlenecks chosen; then written as metrics, from which the findings are made.
 */
#ifndef TW_STANDALONE_CATEGORY_H
#define TW_STANDALONE_CATEGORY_H

#include "findings/findings.h"
#include "json/writer.h"
#include "standalone/json_fields.h"
#include "standalone/standalone.h"

/* What rules say of an operation, in the order in which it is told. */
struct tw_advice {
	const struct tw_rule *achieved; /* begins the issue; NULL: nothing does */
	const struct tw_rule *rules[TW_MOST_ADVICE];
	unsigned count;
	unsigned patterns; /* the first of them; the others fill what they left open */
};

struct tw_category_row {
	const char *uid, *name, *dims_text, *types_text, *params_text, *compute_spec;
	const char *kernels_text;
	/* The literals, while it is open. */
	const struct tw_json_value *dims, *types, *params, *kernels;
	const struct tw_json_value *tree; /* null value: nothing known */
	bool has_model, in_top_operations;
	/* Of the CSV file; NaN where a cell is empty. */
	double count, time_us, mean_us, std_us, exposed_us;
	double tflops, tb_s, flops_per_byte, roofline_percent;
	/* Derived. */
	double efficiency_percent, peak_tflops;
	const char *bound; /* "compute", "memory", NULL: unknown */
	bool is_anomaly, is_bottleneck, is_unmodelled;
	bool is_host_copy, is_too_short, is_visible, has_mask;
	const char *warning; /* of the efficiency; NULL: none */
	const char *library; /* NULL: unknown */
	const char *args;
	const char *strides, *thread;
	const char *distinct; /* one of them, where name and arguments are another row's; NULL */
	struct tw_facts facts;
	struct tw_advice advice;
	const struct tw_level *priority;
};

struct tw_category_data {
	struct tw_prepared *prepared;
	const char *name, *display_name, *platform; /* NULL: unknown platform */
	const struct tw_category_family *family;
	const struct tw_json_value *metadata;
	struct tw_category_row *rows; /* by kernel time, most first */
	uint32_t row_count;
	double total_ms, compute_ms; /* of the whole trace; NaN: unknown */
	double peak_tb_s;
	double shortest_us; /* of the kernels of the trace; NaN: unknown */
	double time_ms, calls, average_efficiency_percent;
	struct tw_facts facts; /* of the category */
};

/* ---- category_rows.c: 0, TRAWL_ENODATA when there are no operations, else what is wrong */
int tw_category_read(struct tw_category_data *data, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Reads the literals of a row, into the arena; 0 or TRAWL_ENOMEM. */
int tw_category_open(struct tw_category_row *row, struct tw_arena *arena) TRAWL_MUST_CHECK;
/* TFLOP/s of a Compute Spec ("": of BF16 matrices); NaN when unknown. */
double tw_category_peak(const struct tw_category_data *data, const char *compute_spec);

/* ---- category_args.c: all but the first in the arena, NULL when out of memory */
const char *tw_category_library(const struct tw_category_row *row);
const char *tw_category_args(struct tw_arena *arena, const struct tw_category_row *row);
/* "Kernel 1: ...<br>Kernel 2: ..."; names longer than `most` are cut (0: never). */
const char *tw_category_kernels(struct tw_arena *arena, const struct tw_category_row *row,
				size_t most);

/* The kernel with the most time, cut like those; NULL when it has none or memory is out. */
const char *tw_category_largest_kernel(struct tw_arena *arena, const struct tw_category_row *row,
				       size_t most);

/* ---- category_traits.c, category_tree.c: facts of an operation, for rules and classification */
void tw_category_traits(struct tw_category_row *row);
/* "gemm", "attention", "norm" or "moe" by the names of its kernels; NULL: they do not tell. */
const char *tw_category_kernel_kind(const struct tw_category_row *row);
void tw_category_tree_facts(struct tw_category_row *row);

/* ---- category_advice.c, of rows without their chains */
void tw_category_choose(struct tw_category_data *data);

/* ---- category_chains.c: marks rows that are in one; 0 or TRAWL_ENOMEM */
void tw_category_advise(struct tw_advice *advice, const char *family, const struct tw_facts *facts);
/* The texts of a part, ". " between them, as a JSON string; null when there is none. */
void tw_advice_string(struct tw_json *json, const struct tw_advice *advice,
		      enum tw_advice_part part, const struct tw_facts *facts);
/* "rules" and "evidence": ids, and the facts that they ask or tell. */
void tw_advice_evidence(struct tw_json *json, const struct tw_advice *advice,
			const struct tw_facts *facts);

/* ---- category_impact.c: "impact_estimates" and "category_findings"; 0 or TRAWL_ENOMEM */
int tw_category_impact(struct tw_json *json, const struct tw_category_data *data,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- category_specific.c: "classification" of an operation, "category_specific" */
void tw_category_classification(struct tw_json *json, const struct tw_category_data *data,
				const struct tw_category_row *row);
void tw_category_specific(struct tw_json *json, const struct tw_category_data *data);

/* ---- category_metrics.c */
/* The number by which tree data and reports know the operation; null when it has none. */
void tw_category_uid(struct tw_json *json, const struct tw_category_row *row);
/* The whole document, handed on in pieces. */
int tw_category_metrics(struct tw_prepared_text *file, const struct tw_category_data *data,
			struct trawl_error *err) TRAWL_MUST_CHECK;

/* Rows of the table of the findings, and of their list of bottlenecks. */
#define TW_FINDINGS_ROWS 20
#define TW_FINDINGS_BOTTLENECKS 20

/* ---- category_findings.c: from the metrics as they were written */
void tw_category_findings(struct tw_str *out, const struct tw_category_family *family,
			  const struct tw_json_value *metrics);

#endif
