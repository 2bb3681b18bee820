#define _GNU_SOURCE
#include "os/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define MAX_THREADS 64

struct crew {
	atomic_size_t next;
	size_t count;
	void (*work)(void *context, size_t i);
	void *context;
};

unsigned tw_thread_count(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned)n;
}

static void *run(void *arg)
{
	struct crew *crew = arg;
	size_t i;

	while ((i = atomic_fetch_add(&crew->next, 1)) < crew->count)
		crew->work(crew->context, i);
	return NULL;
}

void tw_parallel(unsigned threads, size_t count, void (*work)(void *context, size_t i),
		 void *context)
{
	struct crew crew = { .count = count, .work = work, .context = context };
	pthread_t helpers[MAX_THREADS];
	unsigned n = threads < count ? threads : (unsigned)count, started = 0, i;

	if (n > MAX_THREADS)
		n = MAX_THREADS;
	for (i = 1; i < n; i++)
		if (!pthread_create(&helpers[started], NULL, run, &crew))
			started++;
	run(&crew);
	for (i = 0; i < started; i++)
		pthread_join(helpers[i], NULL);
}

void tw_gate_init(struct tw_gate *gate)
{
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->opened, NULL);
	gate->open = false;
}

void tw_gate_destroy(struct tw_gate *gate)
{
	pthread_cond_destroy(&gate->opened);
	pthread_mutex_destroy(&gate->lock);
}

void tw_gate_open(struct tw_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->open = true;
	pthread_cond_broadcast(&gate->opened);
	pthread_mutex_unlock(&gate->lock);
}

void tw_gate_wait(struct tw_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	while (!gate->open)
		pthread_cond_wait(&gate->opened, &gate->lock);
	pthread_mutex_unlock(&gate->lock);
}

void tw_cond_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

void tw_cond_wait_ms(pthread_cond_t *condition, pthread_mutex_t *lock, unsigned ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(condition, lock, &until);
}
