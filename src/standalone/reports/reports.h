/*
 * What the two reports are made of: what was prepared, how each category's analysis ended, and the bottlenecks
 * of all in one order.
 */
#ifndef TW_STANDALONE_REPORTS_H
#define TW_STANDALONE_REPORTS_H

#include "standalone/category/category.h"

#define TW_PRIORITY_DATA "priority_data.json"
#define TW_TIME_CHART "time_by_category.svg"
#define TW_ROOFLINE_CHART "roofline.svg"
#define TW_MODULE_CHART "modules.svg"

struct tw_report_category {
	const struct tw_prepared_category *entry;
	const struct tw_category_result *result;
	const struct tw_category_data *data; /* of operations; NULL: none, or not in the aggregate */
	const char *excluded;		     /* then why */
};

/* What an operation takes at a target efficiency. */
struct tw_projection {
	double target, time_ms, less_percent, gain_ms, gain_percent;
	bool bounded_by_exposed, bounded_by_shortest;
};

/* Operations told as one finding. */
struct tw_bottleneck {
	const struct tw_report_category *category;
	const struct tw_category_row *row; /* the first of them */
	const char *id, *title, *short_name, *priority;
	const char *category_name, *category_title;
	uint64_t rank, category_rank, count;
	/* NaN: unknown.  Of several operations their sums. */
	double gain_percent, percent_of_category, percent_of_compute, percent_of_total;
	double time_ms, exposed_ms;
	double top_rank; /* NaN: not among the top operations */
	double speedup;	 /* NaN unless the gain was computed from one */
	bool is_top;
	TW_FIELD_LIST(struct tw_projection) projection; /* of one */
	TW_FIELD_LIST(struct tw_bottleneck) members;	/* of several */
	/* For the details. */
	const char *anchor;
	bool told;
};

extern const struct tw_fields tw_projection_fields, tw_bottleneck_told_fields;

/* Categories' operations that cannot be seen and that nothing can be done about. */
struct tw_report_note {
	const char *category, *title, *issue;
	uint64_t count;
	double time_ms, percent_of_total;
};

struct tw_exclusion {
	const char *category, *title, *reason;
};

extern const struct tw_fields tw_report_note_fields, tw_exclusion_fields;

struct tw_report_summary {
	double ms[TW_USE_PARTS], percent[TW_USE_PARTS], top_percent;
	const char *top_category, *flash_attention; /* NULL: none */
};

extern const struct tw_fields tw_report_summary_fields;

struct tw_report_material {
	struct tw_prepared *prepared;
	const char *model, *platform; /* NULL: not known */
	bool no_workbook;
	const struct trawl_table *findings, *modules; /* NULL: none */
	const struct tw_manifest *manifest;
	TW_FIELD_LIST(struct tw_report_category) categories; /* in the manifest's order */
	TW_FIELD_LIST(struct tw_bottleneck) bottlenecks;
	TW_FIELD_LIST(struct tw_exclusion) excluded;
	TW_FIELD_LIST(struct tw_report_note) notes;
	struct tw_report_summary summary;
	struct tw_facts facts;
	const char **packages; /* names of files, sorted */
	size_t package_count;
	bool has_time_chart, has_roofline, has_module_chart;
	const char *without_charts; /* why one of them is not there; "" */
};

/* Whether nothing more can be done about it than say so. */
bool tw_is_only_noted(const struct tw_category_row *row);
/* priorities.c: bottlenecks in order; 0 or TRAWL_ENOMEM. */
int tw_report_rank(struct tw_report_material *material) TRAWL_MUST_CHECK;
/* summary.c: excluded, notes, summary, facts; the same. */
int tw_report_sum_up(struct tw_report_material *material) TRAWL_MUST_CHECK;

/* priority_data.json, and members of it. */
void tw_priorities_write(const struct tw_report_material *material, struct tw_str *out);
void tw_priorities_estimates(const struct tw_report_material *material, struct tw_json *json);
void tw_recommendations_write(const struct tw_report_material *material, struct tw_json *json);

void tw_fair_write(struct tw_report_material *material, struct tw_str *out);
/* "## Detailed Analysis"; bottlenecks get the anchor of the place where they are told. */
void tw_fair_details(struct tw_report_material *material, struct tw_str *out);
/* "## Warnings" and "## Appendix". */
void tw_fair_appendix(const struct tw_report_material *material, struct tw_str *out);
/* "What limits the run: ...": the largest gains in a sentence. */
void tw_report_limits(const struct tw_report_material *material, struct tw_str *out);
/* "## Recommendations" */
void tw_report_recommendations(const struct tw_report_material *material, struct tw_str *out);
void tw_rough_write(const struct tw_report_material *material, struct tw_str *out);

/* "# <Model> - <Platform> Standalone Analysis" without a line's end. */
void tw_report_title(const struct tw_report_material *material, struct tw_str *out);

/* Draws the charts that there is something for, and notes which. */
int tw_report_charts(struct tw_report_material *material, struct trawl_error *err) TRAWL_MUST_CHECK;
/* module_chart.c: GPU time of modules in each other; whether there is something to draw. */
bool tw_report_module_chart(const struct tw_report_material *material, struct tw_str *out);

#endif
