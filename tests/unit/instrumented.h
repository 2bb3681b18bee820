/*
 * Whether the test runs under the thread sanitizer, which makes everything many times slower: what
 * one thread does alone is then tried in fewer variants, for the other builds try them all.
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

#endif
