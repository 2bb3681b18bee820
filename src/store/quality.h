/*
 * The quality record of a trace: count and first place of each kind of defect.
 * Counting is cheap and never fails.
 */
#ifndef TW_STORE_QUALITY_H
#define TW_STORE_QUALITY_H

#include "trawl/trace.h"

enum tw_defect {
#define TW_DEFECT(id, severity, meaning) TW_DEFECT_##id,
#include "store/quality.def"
#undef TW_DEFECT
	TW_DEFECT_COUNT
};

struct tw_quality {
	struct {
		int64_t count;
		int64_t offset;	   /* -1: no place */
		int64_t event;	   /* -1: no event */
		const char *table; /* of a database, NULL: none; `offset` is then its row */
	} kinds[TW_DEFECT_COUNT];
};

void tw_quality_init(struct tw_quality *quality);
/* `offset` and `event` may be -1; the first place seen is kept. */
void tw_quality_add(struct tw_quality *quality, enum tw_defect kind, int64_t count, int64_t offset,
		    int64_t event);
/* First seen in a row of a table of a database; -1: in the table as a whole.  The name is kept as is. */
void tw_quality_add_row(struct tw_quality *quality, enum tw_defect kind, int64_t count,
			const char *table, int64_t row);
/* Adds `more`, whose places come later in the input; its event numbers move by `events`. */
void tw_quality_append(struct tw_quality *quality, const struct tw_quality *more, int64_t events);
/* Kinds seen, worst first; at most TW_DEFECT_COUNT entries of `out` are filled. */
size_t tw_quality_list(const struct tw_quality *quality, struct trawl_defect *out);

/* What is the same in all defects of a kind, by its name; false when there is no such kind. */
bool tw_quality_find(const char *kind, size_t len, struct trawl_defect *out);

/* Something was skipped. */
bool tw_quality_lost(const struct tw_quality *quality);

#endif
