/*
 * The calls of a rank beside those that other ranks made: which of them are the same.
 *
 * What stays is the offset of the clocks, whatever is missing on either side: it is looked for
 * first, and calls are then laid beside each other where ends agree.  Where ends tell nothing,
 * order and signatures decide.
 */
#ifndef TW_JOB_MATCH_CALL_ALIGNMENT_H
#define TW_JOB_MATCH_CALL_ALIGNMENT_H

#include "job/match/match_work.h"

#define TRAWL_ALIGN_NONE UINT32_MAX

struct tw_align_call {
	uint32_t signature;
	int64_t sequence; /* of lanes whose numbers come again, else -1 */
	int64_t end;
};

/* Calls in order of start. */
struct tw_align_side {
	uint32_t count;
	const struct tw_align_call *calls;
	uint32_t *by_end; /* calls in order of end */
};

struct tw_alignment {
	const struct tw_match_work *work;
	struct tw_arena *arena; /* of the result, and of what is needed on the way */
	const struct tw_align_side *known, *other;
	/* What the other's clock is ahead as far as was known before. */
	bool hinted;
	int64_t hint;

	/* The result, by call of `other`. */
	uint32_t *to;	/* the known call that it is, TRAWL_ALIGN_NONE: none */
	bool *sure;	/* ends agree */
	int64_t *local; /* the offset there */
	bool ends;	/* ends decided */
	int64_t offset; /* then: of the other's clock less that of the known calls */
	uint32_t agree; /* calls whose ends agree */
	bool natural;	/* these end together by their kind */

	/* While it works. */
	bool all;	 /* ends of all kinds count: there are none that are known to be together */
	uint32_t *found; /* by call of `other`: whose end agrees */
	int64_t *scratch;
};

/* 0 or TRAWL_ENOMEM. */
int tw_align(struct tw_alignment *a);

/* clock_fit.c: the offset that ends agree on; false: none. */
struct tw_align_fit {
	int64_t offset;
	uint32_t at; /* call of `other` at which it was found */
	bool free;   /* it was made from an end, so that one agrees by itself */
	uint32_t agree, of;
	int64_t score;
	int64_t median; /* of what agreeing ends differ */
};

bool tw_align_fit(struct tw_alignment *a, struct tw_align_fit *best);
/* Whether calls are as many, and each is like the one in its place. */
bool tw_align_is_clean(const struct tw_alignment *a);
enum tw_match_likeness tw_align_likeness(const struct tw_alignment *a, uint32_t known,
					 uint32_t other);
/* Whether the ends of both count. */
bool tw_align_counts(const struct tw_alignment *a, uint32_t known, uint32_t other);

#endif
