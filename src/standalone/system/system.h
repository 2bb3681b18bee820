/*
 * The analyses of the system (multi_kernel, cpu_idle): figures of the whole timeline, judged; patterns by
 * the rules of each area, the most recoverable time first.  What to do is said by the findings of the run
 * and their words (data/finding_kinds.tsv).
 */
#ifndef TW_STANDALONE_SYSTEM_H
#define TW_STANDALONE_SYSTEM_H

#include "base/alloc.h"
#include "standalone/category/category.h"

/* Which GPU events percentages are over. */
#define TW_ALL_EVENTS "all GPU events, with or without a recorded launch"
#define TW_LINKED_EVENTS "GPU events with a recorded launch (--linked-only)"

/* What limits results of a trace in which the GPU does nothing. */
#define TW_NO_GPU_WORK "No GPU work was recorded"

/* An area that may have a pattern; its rules have this scope. */
struct tw_system_area {
	const char *scope, *id, *title;
	enum tw_fact time;  /* the fact that says how much time could come back, in ms */
	const char *kind;   /* of the findings that are about it; NULL: none is */
	const char *inside; /* id of the pattern that holds this one's time too; NULL: none */
};

struct tw_pattern {
	const struct tw_system_area *area;
	const char *id, *title, *rule, *issue, *action, *impact, *included_in;
	const struct tw_level *severity;
	double recoverable_ms, percent_of_total; /* NaN: not known */
	size_t finding;				 /* by its number; 0: none is about it */
	TW_FIELD_LIST(struct tw_named) evidence;
};

/* As many as an analysis has areas. */
#define TW_MOST_PATTERNS 12

struct tw_patterns {
	struct tw_arena *arena;
	const struct trawl_table *findings; /* NULL: the run was not diagnosed */
	double total_ms;
	TW_FIELD_LIST(struct tw_pattern) list;
};

/* The first members of metrics with a `system`. */
#define TW_SYSTEM_FIELDS(type, title, state)                                            \
	TW_FIELD(type, PLAIN, system.name, "category"), TW_SAYS("display_name", title), \
		TW_SAYS("status", state), TW_SAYS("tier", "system"),                    \
		TW_SAYS("comparison_scope", "standalone"),                              \
		TW_FIELD(type, TEXT, system.platform, "platform"),                      \
		TW_FIELD(type, PLAIN, system.source, "source"),                         \
		TW_FIELD(type, PLAIN, system.limitations, "limitations"),               \
		TW_FIELD(type, PLAIN, system.events, "events"),                         \
		TW_FIELD(type, REAL, system.total_ms, "total_time_ms", 3)

/* Members "patterns_detected", "findings" and "impact_estimates" of metrics with a `system`. */
#define TW_PATTERN_FIELDS(type)                                                                    \
	TW_FIELD(type, LIST, system.patterns.list, "patterns_detected", .of = &tw_pattern_fields), \
		TW_FIELD(type, LIST, system.patterns.list, "findings",                             \
			 .of = &tw_pattern_finding_fields),                                        \
		TW_FIELD(type, LIST, system.none, "impact_estimates", .of = &tw_pattern_fields,    \
			 .inlined = true)

extern const struct tw_fields tw_pattern_fields, tw_pattern_finding_fields;

/*
 * Adds the pattern of an area by the first of its rules that holds, in its place: most time first, then the
 * worse one.  Behind its issue come that of `more` and `place`, a text that lasts; NULL: nothing.
 */
void tw_patterns_add(struct tw_patterns *patterns, const struct tw_system_area *area,
		     const struct tw_level *severity, const struct tw_facts *facts,
		     const struct tw_rule *more, const char *place);

/* The sections "Detected Patterns" and, in a file, "Recommendations". */
void tw_patterns_markdown(struct tw_str *out, const struct tw_patterns *patterns,
			  const struct tw_findings_place *place);

/* What the metrics of both begin with. */
struct tw_system {
	const char *name, *title, *platform, *source, *limitations, *events;
	const char *error; /* then there is nothing else */
	double total_ms;
	struct tw_patterns patterns;
	TW_FIELD_LIST(struct tw_pattern) none;
};

/* The title, what stands below it in each file, and limits. */
void tw_system_head(struct tw_str *out, const struct tw_system *system, const char *title,
		    const struct tw_findings_place *place);

/* What an analysis is made from; NULL: missing. */
struct tw_system_source {
	struct tw_prepared *prepared;
	void *data; /* without it there is the manifest */
	const struct tw_manifest *manifest;
	const char *platform;
};

/*
 * Reads what there is: `data`, of `fields`, from its file unless it is NULL no more.  *why is set, in the
 * arena, when it cannot be used; an error only when memory is out.
 */
int tw_system_read(struct tw_system_source *source, const char *category, const char *file,
		   const struct tw_fields *fields, const char **why,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/* Writes both files of an analysis, and says how it ended. */
int tw_system_write(struct tw_prepared *prepared, const char *category,
		    const struct tw_system *system, const struct tw_fields *fields,
		    void (*markdown)(struct tw_str *out, const void *metrics,
				     const struct tw_findings_place *place),
		    struct tw_category_result *result, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
