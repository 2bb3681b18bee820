/*
 * A merge by several processes: ranks go round them in their order, so that all have one ready
 * when it is its turn.  A process that is led sends each rank as one letter, when all of it is
 * formatted: of one that is lost, no half rank is in the output.
 */
#include "job/merge/merge_state.h"

#include "base/alloc.h"
#include "base/reuse.h"
#include "job/set/load.h"
#include "job/transport/work_sharing.h"
#include "os/thread.h"
#include "store/quality.h"

#include <string.h>

/* ---- messages: a rank to be merged, and what became of it */

static void pass_rank(struct tw_wire *wire, struct tw_merge *merge, struct tw_merged *rank)
{
	static const struct tw_wire_field fields[] = {
		TW_WIRE_FIELD(struct tw_merged, rank),
		TW_WIRE_FIELD(struct tw_merged, part),
		TW_WIRE_FIELD(struct tw_merged, shift_ns),
		TW_WIRE_FIELD(struct tw_merged, clock.known),
		TW_WIRE_FIELD(struct tw_merged, clock.offset_ns),
		TW_WIRE_FIELD(struct tw_merged, clock.uncertainty_ns),
	};

	tw_wire_fields(wire, rank, fields, sizeof(fields) / sizeof(fields[0]));
	tw_pass_file(wire, &merge->set.files[rank->file]);
}

/* A text that may not be there; one that is read is in memory of the merge. */
static void pass_optional(struct tw_wire *wire, char **text, const struct trawl_allocator *a)
{
	size_t len = wire->out && *text ? strlen(*text) : 0;
	const char *bytes;

	if (!tw_wire_number(wire, *text != NULL, true))
		return;
	bytes = tw_wire_text(wire, *text, &len);
	if (wire->out || wire->status)
		return;
	/* What frees it goes by its length. */
	if (memchr(bytes, 0, len)) {
		tw_wire_fail(wire, TRAWL_EFORMAT);
		return;
	}
	*text = tw_alloc(a, len + 1);
	if (!*text) {
		tw_wire_fail(wire, TRAWL_ENOMEM);
		return;
	}
	memcpy(*text, bytes, len);
	(*text)[len] = 0;
}

/* Kinds go by name; a table, by a name that the merge keeps. */
static void pass_defect(struct tw_wire *wire, struct trawl_defect *defect)
{
	static const struct tw_wire_field fields[] = {
		TW_WIRE_FIELD(struct trawl_defect, count),
		TW_WIRE_FIELD(struct trawl_defect, offset),
		TW_WIRE_FIELD(struct trawl_defect, event),
		TW_WIRE_FIELD(struct trawl_defect, row),
	};
	const char *table = defect->table;
	size_t len = wire->out ? strlen(defect->kind) : 0;
	const char *kind = tw_wire_text(wire, defect->kind, &len);

	if (!wire->out && !tw_quality_find(kind, len, defect))
		tw_wire_fail(wire, TRAWL_EFORMAT);
	tw_wire_fields(wire, defect, fields, sizeof(fields) / sizeof(fields[0]));
	if (!tw_wire_number(wire, table != NULL, true))
		return;
	len = table ? strlen(table) : 0;
	table = tw_wire_text(wire, table, &len);
	if (!wire->out)
		defect->table =
			tw_pool_text(wire->texts, tw_pool_intern(wire->texts, table, len), NULL);
}

static void pass_result(struct tw_wire *wire, struct tw_merge *merge, struct tw_merged *rank)
{
	enum { DEFECT_BYTES = 6 };
	static const struct tw_wire_field fields[] = {
		TW_WIRE_FIELD(struct tw_merged, status),
		TW_WIRE_FIELD_UP_TO(struct tw_merged, state, TW_RANK_NOT_A_TRACE),
		TW_WIRE_FIELD(struct tw_merged, told_rank),
		TW_WIRE_FIELD(struct tw_merged, gpu_slices),
		TW_WIRE_FIELD(struct tw_merged, host_slices),
		TW_WIRE_FIELD(struct tw_merged, others),
		TW_WIRE_FIELD(struct tw_merged, arrows),
		TW_WIRE_FIELD(struct tw_merged, moved),
		TW_WIRE_FIELD(struct tw_merged, loose),
		TW_WIRE_FIELD(struct tw_merged, timeless),
	};
	size_t i;

	wire->texts = &merge->texts;
	tw_wire_fields(wire, rank, fields, sizeof(fields) / sizeof(fields[0]));
	pass_optional(wire, &rank->message, merge->allocator);
	pass_optional(wire, &rank->about, merge->allocator);
	tw_wire_list(wire, &rank->defects, &rank->defect_count, sizeof(*rank->defects),
		     DEFECT_BYTES, merge->allocator);
	for (i = 0; i < rank->defect_count; i++)
		pass_defect(wire, &rank->defects[i]);
}

/* ---- process 0 */

/* The text of a rank on its way from the thread that receives to the one that merges that rank. */
struct tw_together {
	struct tw_merging *m;
	uint32_t *owner; /* by rank: the process that merges it */
	unsigned threads;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t number; /* of its rank */
	const char *text;
	size_t len;
	bool there;
};

bool tw_together_elsewhere(const struct tw_together *t, size_t number)
{
	return t->owner[number] != TW_CLUSTER_ROOT;
}

static void hand_over(struct tw_together *t, size_t number, const char *text, size_t len)
{
	pthread_mutex_lock(&t->lock);
	t->number = number;
	t->text = text;
	t->len = len;
	t->there = true;
	pthread_cond_broadcast(&t->changed);
	while (t->there)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

void tw_together_take(struct tw_together *t, size_t number, struct tw_lines *lines)
{
	pthread_mutex_lock(&t->lock);
	while (!t->there || t->number != number)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
	if (t->len && tw_lines_room(lines, t->len)) {
		memcpy(lines->p, t->text, t->len);
		lines->p += t->len;
	}
	pthread_mutex_lock(&t->lock);
	t->there = false;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static void pass_task_rank(void *context, size_t number, struct tw_wire *task)
{
	struct tw_together *t = context;

	pass_rank(task, t->m->merge, &t->m->merge->ranks[number]);
}

static void leave_out_rank(void *context, size_t number, const char *message)
{
	struct tw_together *t = context;
	struct tw_merge *merge = t->m->merge;

	tw_merged_leave_out(merge, &merge->ranks[number], TW_RANK_UNREADABLE, TRAWL_EIO, message);
	hand_over(t, number, NULL, 0);
}

/* A rank, and behind it its text. */
static int take_rank(void *context, size_t number, struct tw_wire *in)
{
	struct tw_together *t = context;
	struct tw_merge *merge = t->m->merge;
	struct tw_merged *rank = &merge->ranks[number];

	pass_result(in, merge, rank);
	if (merge->texts.failed)
		tw_wire_fail(in, TRAWL_ENOMEM);
	/* One that is in the output tells of itself there. */
	if (tw_merged_is_in(rank) && !rank->about)
		tw_wire_fail(in, TRAWL_EFORMAT);
	if (in->status)
		return in->status;
	hand_over(t, number, (const char *)in->at, (size_t)(in->end - in->at));
	return 0;
}

static void *merge_all(void *context)
{
	struct tw_together *t = context;

	tw_parallel(t->threads, t->m->merge->count, tw_merging_rank, t->m);
	return NULL;
}

bool tw_together_merge(struct tw_merging *m, struct tw_cluster *cluster, unsigned threads)
{
	struct tw_together t = { .m = m, .threads = threads };
	const struct trawl_allocator *a = m->merge->allocator;
	size_t processes = (size_t)tw_cluster_size(cluster), count = m->merge->count, i;
	struct tw_shared_work work = {
		.cluster = cluster,
		.allocator = a,
		.items = count,
		.task = TW_TASK_MERGE,
		.in_order = true,
		.lost = ": was lost before it sent this rank",
		.context = &t,
		.pass_item = pass_task_rank,
		.do_own = merge_all,
		.take = take_rank,
		.leave_out = leave_out_rank,
	};
	bool done;

	work.owner = t.owner = tw_alloc_array(a, count, sizeof(*t.owner));
	if (!t.owner)
		return false;
	for (i = 0; i < count; i++)
		t.owner[i] = (uint32_t)(i % processes);
	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.changed, NULL);
	m->together = &t;
	done = tw_share_work(&work);
	m->together = NULL;
	pthread_cond_destroy(&t.changed);
	pthread_mutex_destroy(&t.lock);
	tw_free(a, t.owner, count * sizeof(*t.owner));
	return done;
}

/* ---- a process that is led */

struct worker {
	struct tw_led_work work;
	struct tw_merge merge;
	struct tw_merge_options options;
	struct tw_merging m;
};

static int make_room(void *context, size_t count)
{
	struct worker *w = context;
	const struct trawl_allocator *a = w->merge.allocator;
	size_t i;

	w->merge.set.files = tw_alloc_array(a, count, sizeof(*w->merge.set.files));
	w->merge.ranks = tw_alloc_array(a, count, sizeof(*w->merge.ranks));
	w->merge.count = w->merge.file_count = w->merge.set.count = count;
	w->merge.rank_room = count;
	if (!w->merge.set.files || !w->merge.ranks)
		return TRAWL_ENOMEM;
	for (i = 0; i < count; i++)
		w->merge.ranks[i].file = (uint32_t)i;
	return tw_merging_hold(&w->m) ? TRAWL_ENOMEM : 0;
}

static void pass_own_rank(void *context, size_t place, struct tw_wire *task)
{
	struct worker *w = context;

	pass_rank(task, &w->merge, &w->merge.ranks[place]);
}

/* Everything of a rank, or at least why there is nothing. */
static void merge_own_rank(struct worker *w, size_t place)
{
	struct tw_merged *rank = &w->merge.ranks[place];
	struct tw_lines lines;
	struct tw_str letter;
	struct tw_wire wire;

	tw_lines_init(&lines, &w->m.turns, 1, w->m.memory);
	tw_merging_read(&w->m, rank, &lines);
	wire = tw_letter_begin(&w->work, place, &letter);
	pass_result(&wire, &w->merge, rank);
	tw_lines_take(&lines, &letter);
	if (letter.failed) {
		tw_str_release(&letter);
		tw_merged_leave_out(&w->merge, rank, TW_RANK_UNREADABLE, TRAWL_EIO,
				    "out of memory");
		wire = tw_letter_begin(&w->work, place, &letter);
		pass_result(&wire, &w->merge, rank);
	}
	tw_letter_post(&w->work, place, &letter);
}

static void *merge_own(void *context)
{
	struct worker *w = context;
	size_t i;

	for (i = 0; i < w->merge.count; i++)
		merge_own_rank(w, i);
	return NULL;
}

int tw_merge_share(const char *task, size_t len, const struct tw_merge_options *options,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct worker w = {
		.options = *options,
		.merge.allocator = allocator,
		.m = { .merge = &w.merge, .options = &w.options },
		.work = {
			.cluster = options->cluster,
			.allocator = allocator,
			.task = TW_TASK_MERGE,
			.most_waiting = 1, /* ranks may be large */
			.context = &w,
			.make_room = make_room,
			.pass_item = pass_own_rank,
			.do_items = merge_own,
		},
	};
	struct tw_reuse *memory = tw_reuse_new(allocator);
	int status;

	if (!memory)
		return tw_no_memory(err);
	w.options.progress = NULL;
	w.m.memory = tw_reuse_allocator(memory);
	w.m.threads = options->threads ? options->threads : tw_cluster_threads(options->cluster);
	/* Its turn never comes: all of a rank waits to be taken. */
	tw_turns_init(&w.m.turns, NULL, SIZE_MAX);
	pthread_mutex_init(&w.m.lock, NULL);
	status = tw_do_task(&w.work, task, len, err);
	pthread_mutex_destroy(&w.m.lock);
	tw_turns_destroy(&w.m.turns);
	tw_merging_let_go(&w.m);
	tw_reuse_free(memory);
	tw_free(allocator, w.merge.set.files, w.merge.set.count * sizeof(*w.merge.set.files));
	/* Its paths are in the task. */
	w.merge.set = (struct tw_rank_set){ 0 };
	tw_merge_release(&w.merge);
	return status;
}
