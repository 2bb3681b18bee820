/*
 * Random events with what a reader has to say of them: the events are drawn first, then written in
 * one of the many ways that JSON has.
 */
#ifndef TRAWL_TEST_RANDOM_EVENTS_H
#define TRAWL_TEST_RANDOM_EVENTS_H

#include "text/str.h"

struct random_events {
	struct tw_str text;	 /* the whole document */
	struct tw_str *expected; /* by event, as describe_event() has it */
	size_t count;
};

/* `count` events; the same of the same seed. */
void random_events_make(struct random_events *r, uint64_t seed, size_t count);
void random_events_release(struct random_events *r);

#endif
