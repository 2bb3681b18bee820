/*
 * A merge by several processes: ranks go round them in their order, so that all have one ready
 * when it is its turn.  A process that is led sends each rank as one message, when all of it is
 * formatted: of one that is lost, no half rank is in the output.
 */
#include "job/merge/merge_state.h"

#include "base/alloc.h"
#include "base/reuse.h"
#include "job/set/load.h"
#include "os/thread.h"

#include <stdio.h>
#include <string.h>

/* A process that merges says that it is alive as often; see tw_cluster_patience(). */
#define ALIVE_MS 1000
/* How long process 0 listens to one before it looks at the clock. */
#define LISTEN_MS 100

/* ---- one letter on its way from a thread to another --------------------------------------- */

struct slot {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct tw_str letter;
	size_t number; /* of its rank */
	bool full;
};

static void init_slot(struct slot *slot)
{
	pthread_mutex_init(&slot->lock, NULL);
	tw_cond_init(&slot->changed);
	slot->full = false;
}

static void destroy_slot(struct slot *slot)
{
	pthread_cond_destroy(&slot->changed);
	pthread_mutex_destroy(&slot->lock);
}

/* Waits until there is room. */
static void put_letter(struct slot *slot, size_t number, struct tw_str letter)
{
	pthread_mutex_lock(&slot->lock);
	while (slot->full)
		pthread_cond_wait(&slot->changed, &slot->lock);
	slot->letter = letter;
	slot->number = number;
	slot->full = true;
	pthread_cond_broadcast(&slot->changed);
	pthread_mutex_unlock(&slot->lock);
}

static void empty_slot(struct slot *slot, struct tw_str *letter)
{
	*letter = slot->letter;
	slot->full = false;
	pthread_cond_broadcast(&slot->changed);
}

/* Waits for the letter of this rank: the threads of several may wait. */
static void await_letter(struct slot *slot, size_t number, struct tw_str *letter)
{
	pthread_mutex_lock(&slot->lock);
	while (!slot->full || slot->number != number)
		pthread_cond_wait(&slot->changed, &slot->lock);
	empty_slot(slot, letter);
	pthread_mutex_unlock(&slot->lock);
}

/* The letter of whichever rank; false when there is none after ALIVE_MS. */
static bool take_letter(struct slot *slot, struct tw_str *letter)
{
	bool there;

	pthread_mutex_lock(&slot->lock);
	if (!slot->full)
		tw_cond_wait_ms(&slot->changed, &slot->lock, ALIVE_MS);
	there = slot->full;
	if (there)
		empty_slot(slot, letter);
	pthread_mutex_unlock(&slot->lock);
	return there;
}

/* ---- process 0 ----------------------------------------------------------------------------- */

struct tw_together {
	struct tw_merging *m;
	struct tw_cluster *cluster;
	size_t processes;
	unsigned threads;
	struct slot slot;
};

static int owner(const struct tw_together *t, size_t number)
{
	return (int)(number % t->processes);
}

bool tw_together_elsewhere(const struct tw_together *t, size_t number)
{
	return owner(t, number) != TW_CLUSTER_ROOT;
}

/* An empty letter: there will be none. */
void tw_together_take(struct tw_together *t, size_t number, struct tw_merged *rank,
		      struct tw_lines *lines)
{
	struct tw_merge *merge = t->m->merge;
	struct tw_unpacking in;
	struct tw_str letter;
	char message[80];
	const char *why = "was lost before it sent this rank";
	int status = TRAWL_EIO;
	size_t len;

	await_letter(&t->slot, number, &letter);
	if (letter.len) {
		in = (struct tw_unpacking){ (const uint8_t *)letter.ptr,
					    (const uint8_t *)letter.ptr + letter.len, false };
		pthread_mutex_lock(&t->m->lock);
		status = tw_merged_unpack(&in, number, rank, merge);
		pthread_mutex_unlock(&t->m->lock);
		why = status == TRAWL_ENOMEM ? "out of memory" : "what it sent is broken";
	}
	if (status) {
		snprintf(message, sizeof(message), "process %d of %zu: %s", owner(t, number),
			 t->processes, why);
		tw_merged_leave_out(merge, rank, TW_RANK_UNREADABLE, TRAWL_EIO, message);
	} else if ((len = (size_t)(in.end - in.at)) && tw_lines_room(lines, len)) {
		memcpy(lines->p, in.at, len);
		lines->p += len;
	}
	tw_str_release(&letter);
	tw_merging_tell(t->m, merge->set.files[rank->file].bytes);
}

/* What a process is to do: TW_TASK_MERGE, the version, its ranks. */
static void pack_task(const struct tw_together *t, int process, struct tw_str *out)
{
	const struct tw_merge *merge = t->m->merge;
	size_t count = 0, i;

	for (i = 0; i < merge->count; i++)
		count += owner(t, i) == process;
	tw_str_add_char(out, TW_TASK_MERGE);
	tw_pack_text(out, trawl_version(), strlen(trawl_version()));
	tw_pack_number(out, count);
	for (i = 0; i < merge->count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];
		const struct tw_rank_file *file = &merge->set.files[rank->file];

		if (owner(t, i) != process)
			continue;
		tw_pack_number(out, i);
		tw_pack_signed(out, rank->rank);
		tw_pack_number(out, rank->part);
		tw_pack_signed(out, rank->shift_ns);
		tw_pack_number(out, rank->clock.known);
		tw_pack_signed(out, rank->clock.offset_ns);
		tw_pack_signed(out, rank->clock.uncertainty_ns);
		tw_pack_signed(out, file->bytes);
		tw_pack_number(out, file->named);
		/* With its NUL, so that the path can stay where it is. */
		tw_pack_text(out, file->path, strlen(file->path) + 1);
	}
}

static void send_tasks(struct tw_together *t)
{
	struct tw_str task;
	size_t p;

	for (p = 1; p < t->processes; p++) {
		tw_str_init(&task, t->m->merge->allocator);
		pack_task(t, (int)p, &task);
		if (!tw_cluster_lost(t->cluster, (int)p) &&
		    (task.failed || tw_cluster_send(t->cluster, (int)p, task.ptr, task.len, NULL)))
			tw_cluster_lose(t->cluster, (int)p);
		tw_str_release(&task);
	}
}

/* The next letter of a process; empty when it is lost. */
static void receive_letter(struct tw_together *t, int process, struct tw_str *letter)
{
	int64_t heard_ms = tw_cluster_clock_ms();
	bool there;

	while (!tw_cluster_lost(t->cluster, process)) {
		int64_t now;

		tw_str_clear(letter);
		if (tw_cluster_receive(t->cluster, &process, LISTEN_MS, &there, letter, NULL)) {
			tw_cluster_lose(t->cluster, process);
			break;
		}
		if (there && letter->len)
			return;
		now = tw_cluster_clock_ms();
		if (there)
			heard_ms = now;
		else if (now - heard_ms > tw_cluster_patience(t->cluster))
			tw_cluster_lose(t->cluster, process);
	}
	tw_str_clear(letter);
}

static void *merge_all(void *context)
{
	struct tw_together *t = context;

	tw_parallel(t->threads, t->m->merge->count, tw_merging_rank, t->m);
	return NULL;
}

void tw_together_merge(struct tw_merging *m, struct tw_cluster *cluster, unsigned threads)
{
	struct tw_together t = { .m = m,
				 .cluster = cluster,
				 .processes = (size_t)tw_cluster_size(cluster),
				 .threads = threads };
	pthread_t merger;
	size_t i;

	init_slot(&t.slot);
	m->together = &t;
	/* Without a thread beside this one, which alone may talk to others, it merges alone. */
	if (pthread_create(&merger, NULL, merge_all, &t)) {
		m->together = NULL;
		destroy_slot(&t.slot);
		tw_parallel(threads, m->merge->count, tw_merging_rank, m);
		return;
	}
	send_tasks(&t);
	for (i = 0; i < m->merge->count; i++) {
		struct tw_str letter;

		if (!tw_together_elsewhere(&t, i))
			continue;
		tw_str_init(&letter, m->merge->allocator);
		receive_letter(&t, owner(&t, i), &letter);
		put_letter(&t.slot, i, letter);
	}
	pthread_join(merger, NULL);
	m->together = NULL;
	destroy_slot(&t.slot);
}

/* ---- a process that is led ----------------------------------------------------------------- */

struct worker {
	struct tw_merge merge;
	struct tw_merge_options options;
	struct tw_merging m;
	size_t *numbers; /* of its ranks in the whole */
	struct slot slot;
};

static int unpack_task(struct worker *w, const char *task, size_t len, struct trawl_error *err)
{
	enum { RANK_BYTES = 10 };
	struct tw_unpacking in = { (const uint8_t *)task, (const uint8_t *)task + len, !len };
	const struct trawl_allocator *a = w->merge.allocator;
	const char *version;
	size_t i, n, count;

	if (tw_unpack_number(&in) != TW_TASK_MERGE)
		in.failed = true;
	version = tw_unpack_text(&in, &n);
	if (in.failed || n != strlen(trawl_version()) || memcmp(version, trawl_version(), n))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "the processes are of different versions of trawl");
	count = tw_unpack_count(&in, RANK_BYTES);
	w->merge.set.files = tw_alloc_array(a, count, sizeof(*w->merge.set.files));
	w->merge.ranks = tw_alloc_array(a, count, sizeof(*w->merge.ranks));
	w->numbers = tw_alloc_array(a, count, sizeof(*w->numbers));
	w->merge.count = w->merge.file_count = w->merge.set.count = count;
	w->merge.rank_room = count;
	if (count && (!w->merge.set.files || !w->merge.ranks || !w->numbers))
		return tw_no_memory(err);
	for (i = 0; i < count; i++) {
		struct tw_rank_file *file = &w->merge.set.files[i];
		struct tw_merged *rank = &w->merge.ranks[i];

		w->numbers[i] = (size_t)tw_unpack_number(&in);
		rank->file = (uint32_t)i;
		rank->rank = tw_unpack_signed(&in);
		rank->part = (uint32_t)tw_unpack_up_to(&in, UINT32_MAX);
		rank->shift_ns = tw_unpack_signed(&in);
		rank->clock.known = tw_unpack_up_to(&in, true);
		rank->clock.offset_ns = tw_unpack_signed(&in);
		rank->clock.uncertainty_ns = tw_unpack_signed(&in);
		file->bytes = tw_unpack_signed(&in);
		file->named = tw_unpack_up_to(&in, true);
		file->path = tw_unpack_text(&in, &n);
		if (!n || in.failed || memchr(file->path, 0, n) != file->path + n - 1)
			return trawl_error_set(err, TRAWL_EFORMAT,
					       "what process 0 sent is no list of ranks");
	}
	return 0;
}

/* Everything of a rank, or at least why there is nothing. */
static struct tw_str merge_one(struct worker *w, size_t i)
{
	struct tw_merged *rank = &w->merge.ranks[i];
	struct tw_lines lines;
	struct tw_str letter;

	tw_lines_init(&lines, &w->m.turns, 1, w->m.memory);
	tw_merging_read(&w->m, rank, &lines);
	tw_str_init(&letter, w->merge.allocator);
	tw_merged_pack(&letter, w->numbers[i], rank);
	tw_lines_take(&lines, &letter);
	if (letter.failed) {
		tw_str_release(&letter);
		tw_merged_leave_out(&w->merge, rank, TW_RANK_UNREADABLE, TRAWL_EIO,
				    "out of memory");
		tw_merged_pack(&letter, w->numbers[i], rank);
	}
	return letter;
}

static void *merge_own(void *context)
{
	struct worker *w = context;
	size_t i;

	for (i = 0; i < w->merge.count; i++)
		put_letter(&w->slot, i, merge_one(w, i));
	return NULL;
}

/* Sends what is ready while the next is merged; when that fails the rest is merged for nobody. */
static int send_letters(struct worker *w, struct trawl_error *err)
{
	struct tw_cluster *cluster = w->options.cluster;
	struct tw_str letter;
	size_t sent = 0;
	int status = 0;

	while (sent < w->merge.count) {
		if (take_letter(&w->slot, &letter)) {
			sent++;
			if (!status)
				status = tw_cluster_send(cluster, TW_CLUSTER_ROOT, letter.ptr,
							 letter.len, err);
			tw_str_release(&letter);
		} else if (!status) {
			status = tw_cluster_send(cluster, TW_CLUSTER_ROOT, "", 0, err);
		}
	}
	return status;
}

static int work(struct worker *w, struct trawl_error *err)
{
	struct tw_reuse *memory = tw_reuse_new(w->merge.allocator);
	pthread_t merger;
	int status;

	if (!memory)
		return tw_no_memory(err);
	w->m.memory = tw_reuse_allocator(memory);
	w->m.merge = &w->merge;
	w->m.options = &w->options;
	w->m.threads = w->options.threads ? w->options.threads :
					    tw_cluster_threads(w->options.cluster);
	/* Its turn never comes: all of a rank waits to be taken. */
	if (tw_merging_hold(&w->m)) {
		tw_reuse_free(memory);
		return tw_no_memory(err);
	}
	tw_turns_init(&w->m.turns, NULL, SIZE_MAX);
	pthread_mutex_init(&w->m.lock, NULL);
	init_slot(&w->slot);
	if (pthread_create(&merger, NULL, merge_own, w)) {
		status = trawl_error_set(err, TRAWL_ENOMEM, "no thread can be started");
	} else {
		status = send_letters(w, err);
		pthread_join(merger, NULL);
	}
	destroy_slot(&w->slot);
	pthread_mutex_destroy(&w->m.lock);
	tw_turns_destroy(&w->m.turns);
	tw_merging_let_go(&w->m);
	tw_reuse_free(memory);
	return status;
}

int tw_merge_share(const char *task, size_t len, const struct tw_merge_options *options,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct worker w = { .options = *options };
	size_t count;
	int status;

	w.merge.allocator = allocator;
	w.options.progress = NULL;
	status = unpack_task(&w, task, len, err);
	count = w.merge.count;
	if (!status && count)
		status = work(&w, err);
	tw_free(allocator, w.numbers, count * sizeof(*w.numbers));
	tw_free(allocator, w.merge.set.files, count * sizeof(*w.merge.set.files));
	/* Its paths are in the task. */
	w.merge.set.files = NULL;
	w.merge.set.count = 0;
	tw_merge_release(&w.merge);
	return status;
}
