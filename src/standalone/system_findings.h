/*
 * What the system analyses (multi_kernel, cpu_idle) share: findings from the rules of an area,
 * the most recoverable time first, and how they stand in the metrics and in the Markdown.
 */
#ifndef TW_STANDALONE_SYSTEM_FINDINGS_H
#define TW_STANDALONE_SYSTEM_FINDINGS_H

#include "findings/findings.h"
#include "standalone/fields.h"
#include "standalone/markdown.h"
#include "standalone/standalone.h"

/* Which GPU events percentages are over. */
#define TW_ALL_EVENTS "all GPU events, with or without a recorded launch"
#define TW_LINKED_EVENTS "GPU events with a recorded launch (--linked-only)"

/* What limits results of a trace in which the GPU does nothing. */
#define TW_NO_GPU_WORK "No GPU work was recorded"

/* An area that may have a finding; its rules have this scope. */
struct tw_system_area {
	const char *scope, *id, *title;
	enum tw_fact time;  /* the fact that says how much time could come back, in ms */
	const char *inside; /* id of the finding that holds this one's time too; NULL: none */
};

struct tw_system_finding {
	const struct tw_system_area *area;
	const struct tw_level *severity;
	const struct tw_rule *rule;
	/* Rules that add to its issue, and whose advice stands in place of its own; NULL: none. */
	const struct tw_rule *more, *advice;
	/* Names behind the issue and before the action; NULL: none.  They outlive the findings. */
	const char *place, *lead;
	struct tw_facts facts;
	double recoverable_ms, percent_of_total; /* NaN: not known */
};

/* As many as an analysis has areas: each is found once, and more do not compile. */
#define TW_MOST_SYSTEM_FINDINGS 12

struct tw_system_findings {
	struct tw_system_finding items[TW_MOST_SYSTEM_FINDINGS];
	size_t count;
};

/*
 * Adds the finding of an area by the first of its rules that holds, in its place: most time
 * first, then the worse one.  NULL when no rule holds; else the finding, to be added to before
 * the next is added.
 */
struct tw_system_finding *tw_system_findings_add(struct tw_system_findings *findings,
						 const struct tw_system_area *area,
						 const struct tw_level *severity,
						 const struct tw_facts *facts, double total_ms);

/* Members "patterns_detected", "findings" and "impact_estimates" of the metrics. */
void tw_system_findings_json(struct tw_json *json, const struct tw_system_findings *findings);

/* The sections "Detected Patterns" and "Recommendations", from the metrics. */
void tw_system_findings_markdown(struct tw_str *out, const struct tw_json_value *metrics);

/* The title and what stands below it in each file. */
void tw_system_head_markdown(struct tw_str *out, const char *title, const char *status);

/* What an analysis is made from; NULL: missing. */
struct tw_system_source {
	struct tw_prepared *prepared;
	const struct tw_json_value *data; /* without it there is the manifest */
	const struct tw_json_value *manifest, *metadata;
};

struct tw_system_analysis {
	const char *name, *title;
	const char *data; /* its file in category_data */
	/* Whether the data are what they should be; *where: what of them is not. */
	bool (*is_sound)(const struct tw_json_value *data, const char **where);
	/* The metrics as JSON. */
	void (*metrics)(const struct tw_system_source *source, struct tw_str *out);
	/* The findings, from the metrics as they are read back. */
	void (*markdown)(struct tw_str *out, const struct tw_json_value *metrics);
};

/*
 * Reads, judges and writes.  From data that cannot be used come metrics with status ERROR and
 * findings that say why; an error only when they cannot be written, or memory is out.
 */
int tw_system_run(const struct tw_system_analysis *analysis, struct tw_prepared *prepared,
		  struct tw_category_result *result, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Which events the figures are over and what limits them, as the metrics say. */
void tw_system_limits_markdown(struct tw_str *out, const struct tw_json_value *metrics);

/*
 * A number between two texts.  When it is not known TW_MD_UNKNOWN stands for it and for a unit
 * that `behind` begins with, and the rest of the text stays.
 */
void tw_system_number(struct tw_str *out, const char *before, const struct tw_json_value *value,
		      const char *behind);

/* A level's name, or TW_MD_UNKNOWN when it is null. */
void tw_system_level(struct tw_str *out, const struct tw_json_value *level);

#endif
