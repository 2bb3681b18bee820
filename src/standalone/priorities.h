/* Bottlenecks of the categories: what priorities.c ranks and priorities_write.c writes. */
#ifndef TW_STANDALONE_PRIORITIES_H
#define TW_STANDALONE_PRIORITIES_H

#include "findings/findings.h"
#include "standalone/reports.h"
#include "store/pool.h"

#define TW_PRIORITY_LADDER "priority"
#define TW_TARGET_LADDER "target_efficiency"

struct tw_bottleneck {
	const struct tw_report_category *category;
	const struct tw_json_value *source;
	size_t number; /* in its category, from 1 on */
	const char *priority;
	const struct tw_level *target; /* the first above its efficiency; NULL: none */
	size_t top_rank;	       /* 0: not among the top operations */
	/* NaN: unknown.  Of several operations their sums. */
	double gain_percent, percent_of_total, percent_of_compute, time_ms, exposed_ms;
	double speedup;		    /* NaN unless the gain was computed from one */
	struct tw_bottleneck *next; /* of those told as one finding, which begin with this one */
	size_t members;		    /* how many those are; 0: it is told with another */
};

struct tw_ranking {
	const struct tw_report_material *material;
	struct tw_json json;
	double total_ms, shortest_kernel_ms; /* NaN: unknown */
	struct tw_bottleneck **list;
	size_t count, most;
	struct tw_pool *texts; /* what several have in common */
	bool failed;
};

void tw_priorities_collect(struct tw_ranking *ranking);
/* What the operation takes at a target efficiency: no less than its kernels can be short. */
double tw_priorities_time_ms(const struct tw_ranking *ranking, const struct tw_json_value *source,
			     double efficiency, double target);
/* The efficiency of a level of the ladder target_efficiency; NaN: none. */
double tw_target_of(const struct tw_level *level);
const struct tw_level *tw_next_target(const struct tw_level *level);
/* Whether nothing more can be done about it than say so. */
bool tw_is_only_noted(const struct tw_json_value *bottleneck);

/* The member "bottlenecks" of priority_data.json. */
void tw_priorities_write_list(struct tw_ranking *ranking);
/* Its "summary", "facts", "excluded" and "notes". */
void tw_priorities_write_whole(struct tw_ranking *ranking);

#endif
