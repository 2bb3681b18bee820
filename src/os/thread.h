/*
 * Running independent pieces of work on a few threads.  A thread that cannot be started costs
 * speed, not correctness: its share runs on the caller.
 */
#ifndef TW_OS_THREAD_H
#define TW_OS_THREAD_H

#include "trawl/api.h"

#include <pthread.h>

/* Processors this process may use, at least 1. */
unsigned tw_thread_count(void);

/*
 * Calls work(context, i) for i in [0, count), on up to `threads` threads; returns when all are
 * done.  Calls begin in order: one may wait for what an earlier one makes.
 */
void tw_parallel(unsigned threads, size_t count, void (*work)(void *context, size_t i),
		 void *context);

/* Calls wait until what they need is there: closed at first, opened once. */
struct tw_gate {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool open;
};

void tw_gate_init(struct tw_gate *gate);
void tw_gate_destroy(struct tw_gate *gate);
void tw_gate_open(struct tw_gate *gate);
void tw_gate_wait(struct tw_gate *gate);

/* A condition that is waited for with tw_cond_wait_ms(): whatever happens to the time of day. */
void tw_cond_init(pthread_cond_t *condition);
void tw_cond_wait_ms(pthread_cond_t *condition, pthread_mutex_t *lock, unsigned ms);

#endif
