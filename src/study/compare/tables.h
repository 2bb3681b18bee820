/* Changes as tables, and as sentences. */
#ifndef TW_STUDY_COMPARE_TABLES_H
#define TW_STUDY_COMPARE_TABLES_H

#include "study/compare/changes.h"
#include "table/table.h"

/* What a side is, for people. */
struct tw_compared_side {
	const char *label;
	const char *what;  /* "sweep", "report", "trace", "ranks" */
	const char *name;  /* base name of what was given */
	size_t reports;	   /* reports and traces that were read */
	const char *ranks; /* their ranks as a list, "0-7"; "": not known */
};

enum tw_compare_table {
	TW_COMPARISON_SUMMARY,
	TW_CONFIGURATION_CHANGES,
	TW_TIMELINE_CHANGES,
	TW_OPERATION_CHANGES,
	TW_KERNEL_CHANGES,
	TW_COLLECTIVE_CHANGES,
	TW_RANK_CHANGES,
	TW_DIFFERENCE_SPLIT,
	TW_STAGE_CHANGES,
	TW_RANGE_CHANGES,
	TW_FINDING_CHANGES,
	TW_MODULE_CHANGES,
	TW_MODULE_CLASS_CHANGES,
	TW_MODULE_OPERATION_CHANGES,
	TW_CALL_SITE_CHANGES,
	TW_PASS_CHANGES,
	TW_PHASE_CHANGES,
	TW_STEP_CHANGES,
	/* These for several configurations, row by row. */
	TW_TIMELINE_BY_CONFIGURATION,
	TW_OPERATIONS_BY_CONFIGURATION,
	TW_KERNELS_BY_CONFIGURATION,
	TW_COLLECTIVES_BY_CONFIGURATION,
	TW_COMPARE_TABLES,
};

extern const struct tw_table_spec tw_compare_specs[TW_COMPARE_TABLES];

/*
 * All of them but those that have nothing to say, which are NULL; they depend on nothing.  The
 * caller frees them, also after a failure (TRAWL_ENOMEM).
 */
int tw_compare_tables(const struct tw_changes *changes, const struct tw_compared_side sides[2],
		      struct trawl_table *tables[TW_COMPARE_TABLES],
		      struct trawl_error *err) TRAWL_MUST_CHECK;

/* Why the verdict of a change is what it is, in a few words. */
void tw_change_why(const struct tw_change *change, struct tw_str *out);

/* The name of an item for people: parts of that of a collective with blanks between them. */
void tw_change_name(const struct tw_changes *changes, const struct tw_change *change,
		    struct tw_str *out);

/* Nanoseconds as milliseconds, without their sign, with the digits that a person reads. */
void tw_add_ms(struct tw_str *out, double ns);

#endif
