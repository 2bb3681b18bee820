/*
 * Work that the processes of a run share (cluster.h).  It is made of items, files or ranks, each of
 * one process.  Process 0 sends each other process a task with the items that are its own; every
 * process does its items in a thread beside the one that talks to others, and a letter comes back
 * to process 0 for each item.
 */
#ifndef TW_JOB_TRANSPORT_WORK_SHARING_H
#define TW_JOB_TRANSPORT_WORK_SHARING_H

#include "job/set/set.h"
#include "job/transport/cluster.h"
#include "job/transport/wire.h"

#include <pthread.h>

/* ---- who does what */

/*
 * owner[], by file of a set: the process that reads it.  The largest first, each by who has the
 * least so far; ties go by number.
 */
int tw_share_files(uint32_t *owner, const struct tw_rank_set *set, size_t processes,
		   const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;

/* ---- process 0 */

struct tw_shared_work {
	struct tw_cluster *cluster;
	const struct trawl_allocator *allocator;
	size_t items;
	const uint32_t *owner; /* by item: its process */
	enum tw_task task;
	bool in_order;	  /* letters are taken in the order of their items */
	const char *lost; /* after "process 2 of 4": what is said of items of a lost one */

	/* All of these with `context`. */
	void *context;
	void (*pass_item)(void *context, size_t item, struct tw_wire *task);
	void *(*do_own)(void *context); /* in a thread of its own; what it gives is dropped */
	/* What another process sent of an item: 0, TRAWL_EFORMAT or TRAWL_ENOMEM. */
	int (*take)(void *context, size_t item, struct tw_wire *letter);
	/* Instead: there will be nothing of it. */
	void (*leave_out)(void *context, size_t item, const char *message);
};

/* False: nothing was begun, for want of memory or a thread, and one process is to do it all. */
bool tw_share_work(const struct tw_shared_work *work) TRAWL_MUST_CHECK;

/* ---- a process that is led */

struct tw_led_work {
	struct tw_cluster *cluster;
	const struct trawl_allocator *allocator;
	enum tw_task task;
	size_t most_waiting; /* letters: whoever has one more waits until one is sent */

	void *context;
	int (*make_room)(void *context, size_t items); /* 0 or TRAWL_ENOMEM */
	void (*pass_item)(void *context, size_t place, struct tw_wire *task);
	void *(*do_items)(void *context); /* likewise */

	/* Inside. */
	size_t count, posted, sent;
	uint32_t *numbers; /* by place in the task */
	struct tw_letter *letters;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/*
 * Does a task as tw_cluster_await() gave it, and sends what comes of it.  What goes wrong with an
 * item is for its letter to tell: what is left is that process 0 cannot be reached.
 */
int tw_do_task(struct tw_led_work *work, const char *task, size_t len,
	       struct trawl_error *err) TRAWL_MUST_CHECK;

/* A letter for the item at a place, to be packed into and then posted, by any thread. */
struct tw_wire tw_letter_begin(const struct tw_led_work *work, size_t place, struct tw_str *letter);
/* Takes over the letter; one that memory failed says just that. */
void tw_letter_post(struct tw_led_work *work, size_t place, struct tw_str *letter);

/* A file in a task; what is read borrows its path from there. */
void tw_pass_file(struct tw_wire *wire, struct tw_rank_file *file);

#endif
