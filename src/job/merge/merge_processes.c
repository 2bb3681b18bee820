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

static void pass_rank(struct tw_wire *wire, struct trawl_merge *merge, struct tw_merged *rank)
{
	static const struct tw_wire_field who[] = {
		TW_WIRE_FIELD(struct tw_rank, rank),
		TW_WIRE_FIELD(struct tw_rank, who.part),
	};
	static const struct tw_wire_field fields[] = {
		TW_WIRE_FIELD(struct tw_merged, shift_ns),
		TW_WIRE_FIELD(struct tw_merged, clock.known),
		TW_WIRE_FIELD(struct tw_merged, clock.offset_ns),
		TW_WIRE_FIELD(struct tw_merged, clock.uncertainty_ns),
	};

	TW_WIRE_FIELDS(wire, rank->of, who);
	TW_WIRE_FIELDS(wire, rank, fields);
	tw_pass_file(wire, &merge->job.set.files[rank->of->file]);
}

/* A text, kept by the rank where it is read; "" for none. */
static const char *pass_text(struct tw_wire *wire, struct tw_rank *rank, const char *text)
{
	size_t len = wire->out ? strlen(text) : 0;

	text = tw_wire_text(wire, text, &len);
	return wire->out ?
		       text :
		       tw_pool_text(&rank->texts, tw_pool_intern(&rank->texts, text, len), NULL);
}

/* Kinds go by name. */
static void pass_defect(struct tw_wire *wire, struct tw_rank *rank, struct trawl_defect *defect)
{
	static const struct tw_wire_field fields[] = {
		TW_WIRE_FIELD(struct trawl_defect, count),
		TW_WIRE_FIELD(struct trawl_defect, offset),
		TW_WIRE_FIELD(struct trawl_defect, event),
		TW_WIRE_FIELD(struct trawl_defect, row),
	};
	size_t len = wire->out ? strlen(defect->kind) : 0;
	const char *kind = tw_wire_text(wire, defect->kind, &len), *table;

	if (!wire->out && !tw_quality_find(kind, len, defect))
		tw_wire_fail(wire, TRAWL_EFORMAT);
	TW_WIRE_FIELDS(wire, defect, fields);
	table = pass_text(wire, rank, defect->table ? defect->table : "");
	defect->table = table[0] ? table : NULL;
}

static void pass_result(struct tw_wire *wire, struct trawl_merge *merge, struct tw_merged *rank)
{
	enum { DEFECT_BYTES = 6 };
	static const struct tw_wire_field who[] = {
		TW_WIRE_FIELD(struct tw_rank, status),
		TW_WIRE_FIELD_UP_TO(struct tw_rank, state, TRAWL_RANK_NOT_A_TRACE),
	};
	static const struct tw_wire_field fields[] = {
		TW_WIRE_FIELD(struct tw_merged, told_rank),
		TW_WIRE_FIELD(struct tw_merged, counts.gpu_slices),
		TW_WIRE_FIELD(struct tw_merged, counts.host_slices),
		TW_WIRE_FIELD(struct tw_merged, counts.others),
		TW_WIRE_FIELD(struct tw_merged, counts.arrows),
		TW_WIRE_FIELD(struct tw_merged, counts.moved),
		TW_WIRE_FIELD(struct tw_merged, counts.loose),
	};
	size_t i;

	TW_WIRE_FIELDS(wire, rank->of, who);
	rank->of->message = pass_text(wire, rank->of, rank->of->message);
	TW_WIRE_FIELDS(wire, rank, fields);
	rank->about = pass_text(wire, rank->of, rank->about);
	tw_wire_list(wire, &rank->defects, &rank->defect_count, sizeof(*rank->defects),
		     DEFECT_BYTES, merge->allocator);
	for (i = 0; i < rank->defect_count; i++)
		pass_defect(wire, rank->of, &rank->defects[i]);
}

/* ---- process 0: its own ranks in threads, those of others by the one that receives them */

static void pass_task_rank(void *context, size_t number, struct tw_wire *task)
{
	struct tw_merging *m = context;

	pass_rank(task, m->merge, &m->merge->ranks[number]);
}

static void write_rank(struct tw_merging *m, size_t number, const char *text, size_t len)
{
	tw_turns_write(&m->turns, number, text, len);
	tw_reading_tell(&m->reading, tw_merged_file(m->merge, &m->merge->ranks[number])->bytes);
}

static void leave_out_rank(void *context, size_t number, const char *message)
{
	struct tw_merging *m = context;

	tw_rank_leave_out(m->merge->ranks[number].of, &m->merge->job.set, TRAWL_RANK_UNREADABLE,
			  TRAWL_EIO, message);
	write_rank(m, number, NULL, 0);
}

/* A rank, and after it its text. */
static int take_rank(void *context, size_t number, struct tw_wire *in)
{
	struct tw_merging *m = context;
	struct tw_merged *rank = &m->merge->ranks[number];

	pass_result(in, m->merge, rank);
	if (rank->of->texts.failed)
		tw_wire_fail(in, TRAWL_ENOMEM);
	/* One that is in the output tells of itself there. */
	if (tw_merged_is_in(rank) && !rank->about[0])
		tw_wire_fail(in, TRAWL_EFORMAT);
	if (!in->status)
		write_rank(m, number, (const char *)in->at, (size_t)(in->end - in->at));
	return in->status;
}

static void *merge_own_ranks(void *context)
{
	struct tw_merging *m = context;
	size_t own = (m->merge->count + m->stride - 1) / m->stride;

	tw_parallel(m->options->load.threads, own, tw_merging_rank, m);
	return NULL;
}

bool tw_together_merge(struct tw_merging *m)
{
	const struct trawl_allocator *a = m->merge->allocator;
	size_t count = m->merge->count, i;
	uint32_t *owner = tw_alloc_array(a, count, sizeof(*owner));
	const struct tw_shared_work work = {
		.cluster = m->options->cluster,
		.allocator = a,
		.items = count,
		.owner = owner,
		.task = TW_TASK_MERGE,
		.in_order = true,
		.lost = " was lost before sending this rank",
		.context = m,
		.pass_item = pass_task_rank,
		.do_own = merge_own_ranks,
		.take = take_rank,
		.leave_out = leave_out_rank,
	};
	bool done = false;

	m->stride = (size_t)work.cluster->size;
	for (i = 0; i < count && owner; i++)
		owner[i] = (uint32_t)(i % m->stride);
	if (owner)
		done = tw_share_work(&work);
	tw_free(a, owner, count * sizeof(*owner));
	return done;
}

/* ---- a process that is led */

struct worker {
	struct tw_led_work work;
	struct trawl_merge merge;
	struct tw_merge_options options;
	struct tw_merging m;
};

static int make_room(void *context, size_t count)
{
	struct worker *w = context;
	const struct trawl_allocator *a = w->merge.allocator;
	size_t i;

	w->merge.job.set.files = tw_alloc_array(a, count, sizeof(*w->merge.job.set.files));
	w->merge.job.ranks = tw_alloc_array(a, count, sizeof(*w->merge.job.ranks));
	w->merge.ranks = tw_alloc_array(a, count, sizeof(*w->merge.ranks));
	w->merge.count = w->merge.file_count = w->merge.rank_room = count;
	w->merge.job.count = w->merge.job.set.count = count;
	if (!w->merge.job.set.files || !w->merge.job.ranks || !w->merge.ranks)
		return TRAWL_ENOMEM;
	for (i = 0; i < count; i++) {
		w->merge.ranks[i] = (struct tw_merged){ .of = &w->merge.job.ranks[i], .about = "" };
		if (tw_rank_init(w->merge.ranks[i].of, a))
			return TRAWL_ENOMEM;
		w->merge.ranks[i].of->file = (uint32_t)i;
	}
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
		tw_rank_leave_out(rank->of, &w->merge.job.set, TRAWL_RANK_UNREADABLE, TRAWL_EIO,
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
		.merge = { .allocator = allocator, .job.allocator = allocator },
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
	struct tw_rank_set *set = &w.merge.job.set;
	int status;

	if (!memory)
		return tw_no_memory(err);
	w.m.memory = tw_reuse_allocator(memory);
	w.m.threads = options->load.threads ? options->load.threads :
					      tw_cluster_threads(options->cluster);
	/* Its turn never comes: all of a rank waits to be taken. */
	tw_turns_init(&w.m.turns, NULL, SIZE_MAX);
	tw_reading_init(&w.m.reading);
	status = tw_do_task(&w.work, task, len, err);
	tw_reading_destroy(&w.m.reading);
	tw_turns_destroy(&w.m.turns);
	tw_merging_let_go(&w.m);
	tw_reuse_free(memory);
	/* Paths are in the task. */
	tw_free(allocator, set->files, set->count * sizeof(*set->files));
	tw_merge_release(&w.merge);
	return status;
}
