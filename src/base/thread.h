/*
 * Running independent pieces of work on a few threads.  A thread that cannot be started costs
 * speed, not correctness: its share runs on the caller.
 */
#ifndef TW_BASE_THREAD_H
#define TW_BASE_THREAD_H

#include "trawl/api.h"

/* Processors this process may use, at least 1. */
unsigned tw_thread_count(void);

/* Calls work(context, i) for i in [0, count), on up to `threads` threads; returns when all are done. */
void tw_parallel(unsigned threads, size_t count, void (*work)(void *context, size_t i),
		 void *context);

#endif
