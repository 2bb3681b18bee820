/*
 * What the two reports are made of: the manifest, each category's metrics and findings, and from
 * priority_data.json on what priorities.c made of them.  The reports tell numbers only from here.
 */
#ifndef TW_STANDALONE_REPORTS_H
#define TW_STANDALONE_REPORTS_H

#include "standalone/fields.h"
#include "standalone/standalone.h"

#define TW_PRIORITY_DATA "priority_data.json"
#define TW_TIME_CHART "time_by_category.svg"
#define TW_ROOFLINE_CHART "roofline.svg"

/* Rows of a table of operations in the rough report. */
#define TW_ROUGH_OPERATIONS 30

/* What is told of all operations. */
struct tw_report_operations {
	size_t count, without_model;			  /* of the category */
	double unmodelled, unmodelled_percent, anomalies; /* of all categories up to this one */
	bool fused_attention, hidden; /* the same; named as one, or without any name */
};

struct tw_report_category {
	const char *name, *title; /* "gemm", "GEMM" */
	bool is_system;
	const struct tw_json_value *entry;   /* of the manifest */
	const struct tw_json_value *metrics; /* NULL: not in the aggregate */
	struct tw_report_operations operations;
	/* Those of its operations that have a number, in the order of tw_report_order(). */
	const struct tw_json_value **listed;
	size_t listed_count;
	const char *excluded; /* then why */
	const char *findings; /* Markdown, NULL: none */
};

struct tw_report_material {
	struct tw_prepared *prepared;
	const char *model;
	bool no_workbook;
	const struct trawl_table *findings; /* NULL: none */
	const char *platform;		    /* NULL: not known */
	const struct tw_json_value *manifest;
	const struct tw_json_value *peaks; /* metadata of a category, a null value without any */
	const struct tw_json_value *data;  /* priority_data.json, once it is written */
	struct tw_report_category *categories; /* in the manifest's order */
	size_t category_count;
	struct tw_report_operations operations;
	const char **packages; /* names of files, sorted */
	size_t package_count;
	bool has_time_chart, has_roofline;
	const char *without_charts; /* why one of them is not there; "" */
};

/* By number, name and arguments: the operation against those of another; as strcmp(). */
int tw_report_order(const struct tw_json_value *op, double uid, const char *name, const char *args);
/* Puts the operations of its metrics in that order; false when out of memory. */
bool tw_report_sort(struct tw_report_category *category, struct tw_arena *arena);
/* Counts an operation, and whether more is told of it: a sieve of metrics. */
bool tw_report_keep(void *operations, const struct tw_json_value *op);

static inline double tw_report_number(const struct tw_json_value *value, const char *key)
{
	return tw_json_number(tw_json_get(value, key));
}

static inline const char *tw_report_text(const struct tw_json_value *value, const char *key)
{
	return tw_json_text(tw_json_get(value, key));
}

/* Members of priority_data.json: "optimizations", "priority_counts", "most_valuable". */
void tw_recommendations_write(const struct tw_report_material *material, struct tw_json *json);
/* Adds to `out`, which is JSON; the caller writes and reads it back. */
void tw_priorities_write(const struct tw_report_material *material, struct tw_str *out);
/* Its members that roll up the categories' own estimates. */
void tw_priorities_estimates(const struct tw_report_material *material, struct tw_json *json);

void tw_fair_write(const struct tw_report_material *material, struct tw_str *out);
/* "## Detailed Analysis"; anchors[i] becomes the place where the i-th bottleneck is told. */
void tw_fair_details(const struct tw_report_material *material, struct tw_str *out,
		     const char **anchors);
/* A number as it stands there with its unit, or that it is not known; `rest` in any case. */
void tw_report_tell(struct tw_str *out, const struct tw_json_value *from, const char *key,
		    const char *unit, const char *rest);
/* Arguments as "(2, 3) bf16, (3, 4) bf16": as code, cut. */
void tw_report_args(struct tw_str *out, const struct tw_json_value *args, size_t most);
/* "## Warnings" and "## Appendix". */
void tw_fair_appendix(const struct tw_report_material *material, struct tw_str *out);
/* "What limits the run: ...": the largest gains in a sentence. */
void tw_report_limits(const struct tw_report_material *material, struct tw_str *out);
/* "## Recommendations"; anchors[i] is where the i-th bottleneck is told. */
void tw_report_recommendations(const struct tw_report_material *material,
			       const char *const *anchors, struct tw_str *out);
void tw_rough_write(const struct tw_report_material *material, struct tw_str *out);

/* "# <Model> - <Platform> Standalone Analysis" without a line's end. */
void tw_report_title(const struct tw_report_material *material, struct tw_str *out);

/* The manifest with its categories, and the peaks: what prepare wrote. */
int tw_report_read_manifest(struct tw_report_material *material,
			    struct trawl_error *err) TRAWL_MUST_CHECK;

/* Draws the charts that there is something for, and notes which. */
int tw_report_charts(struct tw_report_material *material, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
