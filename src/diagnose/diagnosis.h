/*
 * What limits a run, and what each remedy would gain: the findings, by replay of the dependencies of
 * all its ranks.
 */
#ifndef TW_DIAGNOSE_DIAGNOSIS_H
#define TW_DIAGNOSE_DIAGNOSIS_H

#include "diagnose/claims.h"
#include "path/graph.h"
#include "table/table.h"

#include <stdatomic.h>

struct tw_finding {
	enum tw_finding_kind kind;
	double gain_ns;	     /* of a step; NaN: not known */
	double gain_percent; /* of a step, or of the window */
	double together_percent;
	const struct tw_finding_words *words; /* where they are not those of its kind; NULL */
	uint32_t first_rank;		      /* index of the first of `ranks` */
	char ranks[64];			      /* "2", "1, 3"; "": all, or the only one */
	char where[600];		      /* at most three places */
	char operation[200], module[120], site[200], stream[40];
	char passes[80], phases[100]; /* with their shares of the gain, where there are several */
	char evidence[600];
	char variant[120]; /* of the remedy: what is assumed */
	bool in_many; /* modules: that with the most of the gain is named, whatever the place */
	double inferred_percent;
	uint64_t changed;
	struct tw_scenario scenario; /* its change */
};

struct tw_diagnosis {
	const struct trawl_allocator *allocator;
	struct tw_path *path;
	struct tw_claims *claims; /* by rank */
	uint32_t rank_count;
	int64_t window_ns;
	double step_ns;			     /* NaN: no two steps */
	uint32_t steps;			     /* of the recording, 0: not annotated */
	uint32_t gain_steps;		     /* that are looked at */
	bool other_phases[TW_PHASES + 1];    /* of inference servers, that are not launch-bound */
	TW_LIST(struct tw_finding) findings; /* by gain, then observations */
	_Atomic bool failed;		     /* kinds are looked at by several threads */
};

/*
 * Finds all.  Takes the path and the claims, an array of as many as the path has ranks; they are freed
 * with it, also when it fails.  0 or TRAWL_ENOMEM.
 */
int tw_diagnose(struct tw_diagnosis *d, struct tw_path *path, struct tw_claims *claims,
		unsigned threads, const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_diagnosis_release(struct tw_diagnosis *d);

extern const struct tw_table_spec tw_findings_spec;
/* The table `findings`; NULL: out of memory. */
struct trawl_table *tw_findings_table(const struct tw_diagnosis *d,
				      const struct trawl_allocator *allocator);
/* Of a row of it: its title with the first of its places; its gain, "about 1.388 ms". */
void tw_finding_add_name(struct tw_str *out, const struct trawl_table *findings, size_t row);
void tw_finding_add_gain(struct tw_str *out, const struct trawl_table *findings, size_t row);

/* ---- for rules over ranks */

/* Adds to the evidence; a place, of three at most. */
void tw_add_evidence(struct tw_finding *f, const char *format, ...) TRAWL_PRINTF(2, 3);
void tw_add_place(struct tw_finding *f, const char *format, ...) TRAWL_PRINTF(2, 3);
void tw_set_ranks(struct tw_finding *f, const struct tw_diagnosis *d, const uint32_t *ranks,
		  uint32_t count);
/* Applies what the ranks claimed of its kind; whether that changes anything. */
bool tw_apply_claims(struct tw_diagnosis *d, struct tw_finding *f);
/* What is known of a place; its columns too, if it is the first. */
void tw_add_spot(struct tw_finding *f, const struct tw_pool *texts, const struct tw_spot *s,
		 bool first);
/* The places of a kind in a rank. */
void tw_places_of(struct tw_finding *f, const struct tw_diagnosis *d, uint32_t rank,
		  enum tw_finding_kind kind);

/* Of the points of a rank that are weighed, those called the same together: the heaviest as places. */
void tw_add_heaviest(struct tw_finding *f, const struct tw_diagnosis *d, uint32_t rank,
		     int64_t (*weight)(const struct tw_diagnosis *d, uint32_t point,
				       const struct tw_scenario *s),
		     const struct tw_scenario *s);

/* What a scenario gains; of_window: of the window by step. 0 or -1. */
struct tw_gain {
	double ns, percent;	 /* of a step */
	double inferred_percent; /* of its window: what inferred causes put on its critical path */
};
/*
 * The same of several, TW_LANES at most: of a step, and of the window by step.  `found` are told whose work
 * takes less time, NULL: none.
 */
int tw_gains_of(struct tw_diagnosis *d, struct tw_scenario *s, unsigned count,
		struct tw_gain (*gains)[2], struct tw_finding **found) TRAWL_MUST_CHECK;
int tw_gain_of(struct tw_diagnosis *d, struct tw_scenario *s, bool of_window,
	       struct tw_gain *gain) TRAWL_MUST_CHECK;

/* How long what is looked at takes at these times, -1: out of memory. */
int64_t tw_measured_ns(const struct tw_diagnosis *d, struct tw_times times);

/* Of a finding with these times: passes and phases that take less time, module and call site if it names none. */
void tw_find_whose(struct tw_diagnosis *d, struct tw_times times, struct tw_finding *f);

/* The computing time of a rank. */
int64_t tw_computing_ns(const struct tw_diagnosis *d, uint32_t rank);
uint32_t tw_first_launched_after(const struct tw_path *path, const struct tw_path_rank *r,
				 int64_t time_ns);
/* The median delay of a code where it binds at GPU work, 1 us where it never does. */
int64_t tw_usual_delay(const struct tw_path *path, const struct tw_path_rank *r,
		       enum tw_cause code);
/* How many process groups a rank receives in. */
uint64_t tw_receives_from(const struct tw_diagnosis *d, uint32_t rank);

#endif
