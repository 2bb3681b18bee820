/*
 * For exports whose trainer is unknown: which preset has most to say about the ranges, and which
 * range of a process is repeated and takes most time, digits in names taken as equal, of those that
 * the program set itself.
 */
#ifndef TW_NSYS_SURVEY_H
#define TW_NSYS_SURVEY_H

#include "nsys/ranges.h"
#include "nsys/work.h"

struct tw_nsys_busiest {
	uint64_t name; /* hash of the name without its digits; 0: nothing is repeated enough */
	int64_t time_ns;
};

struct tw_nsys_survey {
	const struct trawl_allocator *allocator;
	struct tw_ids process_ids; /* into busiest */
	TW_LIST(struct tw_nsys_busiest) busiest;
	uint64_t *matched; /* of each preset: ranges that its window, stage or purpose rules match */
};

int tw_nsys_survey_read(struct tw_nsys_survey *survey, struct tw_nsys_source *source,
			struct trawl_error *err) TRAWL_MUST_CHECK;

/* Forgets ranges that take less than a tenth of the time in which their process has GPU work. */
void tw_nsys_survey_limit(struct tw_nsys_survey *survey, const struct tw_nsys_workers *workers);

/* The preset that matches most, the first of equals; NULL: none matches anything. */
const char *tw_nsys_survey_preset(const struct tw_nsys_survey *survey);
/* Adds the busiest range's instances of each process to the windows of `ranges`. */
int tw_nsys_survey_windows(const struct tw_nsys_survey *survey, struct tw_nsys_source *source,
			   struct tw_nsys_ranges *ranges, struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
