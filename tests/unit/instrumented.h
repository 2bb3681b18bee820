/*
 * How much a test repeats.  Under the thread sanitizer, which makes everything many times slower,
 * what one thread does alone is tried in fewer variants, for the other builds try them all.  In the
 * long run (tests/run.py --full) what is random is repeated more often, and what is known to come to
 * the same is tried too.
 */
#ifndef TRAWL_TEST_INSTRUMENTED_H
#define TRAWL_TEST_INSTRUMENTED_H

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

#include <stdbool.h>
#include <stdlib.h>

static inline bool full_run(void)
{
	return getenv("TRAWL_FULL");
}

#endif
