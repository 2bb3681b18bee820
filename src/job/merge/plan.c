/* Which file is which rank, and which ranks are merged in which order. */
#include "job/merge/merge.h"

#include "base/alloc.h"
#include "data/limits.h"
#include "base/order.h"
#include "job/merge/peek.h"
#include "job/merge/texts.h"
#include "job/set/load.h"
#include "job/set/merged.h"
#include "os/thread.h"
#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct peeking {
	struct trawl_merge *merge;
	const struct tw_load_options *load;
	struct tw_file_ranks *files;
	struct tw_arena arena; /* of what follows */
	bool *several;	       /* by file: it may hold several ranks */
	/* Files that are read, because what stands around the events says too little. */
	uint32_t *again;
	struct tw_rank_set again_set;
};

/* Of a file that does not look like a trace: what it is, or what is wrong with it. */
static int ask_reader(const struct tw_rank_file *file, const struct trawl_allocator *allocator,
		      struct trawl_error *err)
{
	const struct trawl_read_options options = { .allocator = allocator, .threads = 1 };
	struct trawl_trace *trace = NULL;
	int status = trawl_trace_read(&trace, file->path, &options, err);

	if (!status && tw_is_other_list(trace))
		status = trawl_error_set(err, TRAWL_ENODATA, TW_OTHER_LIST);
	trawl_trace_free(trace);
	return status;
}

static void take_peek(struct tw_rank *rank, const struct tw_peek *peek,
		      const struct tw_rank_set *set, int status, const struct trawl_error *err)
{
	const struct tw_rank_file *file = &set->files[rank->file];

	/* One of several, which only its events tell. */
	rank->rank = peek->marked ? -1 : peek->rank;
	rank->world_size = peek->world_size;
	rank->base_time_ns = peek->base_time_ns;
	rank->device_count = peek->device_count;
	if (status)
		tw_rank_leave_out(rank, set, tw_state_of_failure(status, file), status,
				  err->message);
	else if (peek->merged)
		tw_rank_leave_out(rank, set, tw_state_of_failure(TRAWL_ENODATA, file), TRAWL_EUSAGE,
				  TW_MERGED_TRACE);
}

static void peek_file(void *context, size_t i)
{
	struct peeking *p = context;
	const struct tw_rank_set *set = &p->merge->job.set;
	const struct trawl_allocator *a = p->merge->allocator;
	struct tw_rank *rank = tw_ranks_new(1, (uint32_t)i, set, a);
	struct trawl_error err;
	struct tw_peek peek;
	int status;

	p->files[i] = (struct tw_file_ranks){ rank, rank != NULL, rank ? 0 : TRAWL_ENOMEM };
	if (!rank)
		return;
	status = tw_peek_file(&peek, set->files[i].path, a, &err);
	p->several[i] = peek.marked || tw_reader_of(set->files[i].path)->by_process;
	if (!status && !peek.is_trace)
		status = ask_reader(&set->files[i], a, &err);
	if (status == TRAWL_ENOMEM)
		p->files[i].status = status;
	take_peek(rank, &peek, set, status, &err);
}

/* ---- where that says no rank, or does not fit together, the traces are read */

static int compare_told(const void *a, const void *b)
{
	const struct tw_rank *x = *(const struct tw_rank *const *)a;
	const struct tw_rank *y = *(const struct tw_rank *const *)b;

	return TW_ORDER_BY(x, y, rank, file);
}

static bool can_read_twice(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISREG(info.st_mode);
}

/* Whether what they tell does not fit together: of equal numbers, other jobs or other days. */
static bool are_odd(const struct tw_rank *const *told, size_t n)
{
	bool odd = false;
	size_t i;

	for (i = 1; i < n; i++) {
		int64_t world = told[i]->world_size, before = told[i - 1]->world_size;
		int64_t a = told[i]->base_time_ns, b = told[i - 1]->base_time_ns;
		uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;

		odd |= told[i]->rank >= 0 && told[i]->rank == told[i - 1]->rank;
		odd |= world >= 0 && before >= 0 && world != before;
		odd |= a != TRAWL_TIME_NONE && b != TRAWL_TIME_NONE &&
		       apart > TW_LIMIT_JOB_APART_NS;
	}
	return odd;
}

/* Lists the files to read; -1: out of memory. */
static int list_again(struct peeking *p)
{
	const struct tw_rank_set *set = &p->merge->job.set;
	const struct tw_rank **told = tw_arena_array(&p->arena, set->count, sizeof(*told));
	size_t i, n = 0;
	bool odd;

	p->again = tw_arena_array(&p->arena, set->count, sizeof(*p->again));
	p->again_set.files = tw_arena_array(&p->arena, set->count, sizeof(*set->files));
	if (p->arena.failed)
		return -1;
	for (i = 0; i < set->count; i++)
		if (p->files[i].count && p->files[i].ranks->state == TRAWL_RANK_READ)
			told[n++] = p->files[i].ranks;
	qsort(told, n, sizeof(*told), compare_told);
	odd = are_odd(told, n);
	for (i = 0; i < n; i++) {
		uint32_t file = told[i]->file;

		if ((!odd && (told[i]->rank >= 0 || (n == 1 && !p->several[file]))) ||
		    !can_read_twice(set->files[file].path))
			continue;
		p->again[p->again_set.count] = file;
		p->again_set.files[p->again_set.count++] = set->files[file];
	}
	return 0;
}

static void take_again(void *context, uint32_t number, struct tw_file_ranks ranks)
{
	struct peeking *p = context;
	struct tw_file_ranks *file = &p->files[p->again[number]];
	size_t i;

	for (i = 0; i < ranks.count; i++)
		ranks.ranks[i].file = p->again[number];
	tw_ranks_free(file->ranks, file->count, p->merge->allocator);
	*file = ranks;
}

/* What became of each file, an array of the merge's allocator; NULL: out of memory. */
static struct tw_file_ranks *peek_files(struct trawl_merge *merge,
					const struct tw_load_options *load)
{
	const struct trawl_allocator *a = merge->allocator;
	struct peeking p = { .merge = merge, .load = load };
	size_t count = merge->job.set.count;

	tw_arena_init(&p.arena, a);
	p.files = tw_alloc_array(a, count, sizeof(*p.files));
	p.several = tw_arena_array(&p.arena, count, sizeof(*p.several));
	if (p.files && p.several) {
		tw_parallel(load->threads, count, peek_file, &p);
		if (list_again(&p))
			p.files[0].status = TRAWL_ENOMEM;
		else if (p.again_set.count)
			tw_files_reduce(&p.again_set, load, a, take_again, &p);
	} else {
		tw_free(a, p.files, count * sizeof(*p.files));
		p.files = NULL;
	}
	tw_arena_release(&p.arena);
	return p.files;
}

/* ---- the ranks of a settled job as those of the merge */

static void add_ranks(struct trawl_merge *merge, struct tw_rank *ranks, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct tw_merged *rank = &merge->ranks[merge->file_count++];

		*rank = (struct tw_merged){ .of = &ranks[i], .told_rank = -1, .about = "" };
		if (tw_merged_is_in(rank) && ranks[i].rank >= TW_MERGE_MOST_RANK)
			tw_rank_leave_out(&ranks[i], &merge->job.set, TRAWL_RANK_UNREADABLE,
					  TRAWL_ELIMIT, "rank number too large for a merged trace");
	}
}

/* Of several groups the first counts; the others are skipped by name. */
static void leave_out_group(struct trawl_merge *merge, struct trawl_job *group)
{
	char message[320];
	size_t i;

	snprintf(message, sizeof(message),
		 "group %.60s has the same ranks as group %.60s and no collective in common "
		 "(merge each group separately)",
		 group->group, merge->job.group);
	for (i = 0; i < group->count; i++)
		tw_rank_leave_out(&group->ranks[i], &merge->job.set, TRAWL_RANK_DUPLICATE, 0,
				  message);
}

static int take_job(struct trawl_merge *merge, struct trawl_error *err)
{
	struct trawl_job *job;

	for (job = &merge->job; job; job = job->next)
		merge->rank_room += job->count + job->left_out_count;
	merge->ranks = tw_alloc_array(merge->allocator, merge->rank_room, sizeof(*merge->ranks));
	if (merge->rank_room && !merge->ranks)
		return tw_no_memory(err);
	for (job = &merge->job; job; job = job->next) {
		add_ranks(merge, job->ranks, job->count);
		if (job != &merge->job)
			leave_out_group(merge, job);
	}
	add_ranks(merge, merge->job.left_out, merge->job.left_out_count);
	return 0;
}

/* What is to be written must be none of what is read; what was merged before may be. */
static int check_output(const struct trawl_merge *merge, const char *path, struct trawl_error *err)
{
	struct stat info;
	size_t i;

	if (stat(path, &info))
		return 0;
	for (i = 0; i < merge->file_count; i++) {
		const struct tw_rank_file *file = tw_merged_file(merge, &merge->ranks[i]);

		if (merge->ranks[i].of->state != TRAWL_RANK_NOT_A_TRACE &&
		    file->device == (uint64_t)info.st_dev && file->inode == (uint64_t)info.st_ino)
			return trawl_error_set(err, TRAWL_EUSAGE,
					       "cannot write '%.200s': it is one of the traces",
					       path);
	}
	return 0;
}

static int compare_merged(const void *a, const void *b)
{
	const struct tw_merged *x = a, *y = b;
	bool x_in = tw_merged_is_in(x), y_in = tw_merged_is_in(y);

	return TW_COMPARE(y_in, x_in)				?:
		       (x_in ? TW_ORDER_BY(x, y, of->rank) : 0) ?:
								  TW_ORDER_BY(x, y, of->file);
}

/* Ranks that should be there, of those that were asked for. */
static int find_missing(struct trawl_merge *merge, int64_t most)
{
	const struct trawl_job *job = &merge->job;
	bool asked = most >= 0 && most <= TW_MERGE_MOST_RANK;
	size_t room = job->missing_count + (asked ? (size_t)most : 0), i, n = 0;
	int64_t rank;

	merge->world_size = job->world_size;
	merge->missing_room = room;
	merge->missing = tw_alloc_array(merge->allocator, room, sizeof(int64_t));
	if (room && !merge->missing)
		return -1;
	if (asked && (merge->world_size < 0 || merge->world_size > most)) {
		/* All that were asked for. */
		merge->world_size = most;
		for (i = 0, rank = 0; rank < most; rank++) {
			if (i < merge->count && merge->ranks[i].of->rank == rank)
				i++;
			else
				merge->missing[n++] = rank;
		}
	} else {
		for (i = 0; i < job->missing_count; i++)
			if (most < 0 || job->missing[i] < most)
				merge->missing[n++] = job->missing[i];
	}
	merge->missing_count = n;
	return 0;
}

/* Ranks below `most`, in order, and which of those are not there. */
static int choose_ranks(struct trawl_merge *merge, int64_t most, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < merge->file_count; i++)
		if (most >= 0 && tw_merged_is_in(&merge->ranks[i]) &&
		    merge->ranks[i].of->rank >= most)
			merge->ranks[i].of->state = TRAWL_RANK_NOT_A_TRACE;
	if (merge->file_count)
		qsort(merge->ranks, merge->file_count, sizeof(*merge->ranks), compare_merged);
	while (merge->count < merge->file_count && tw_merged_is_in(&merge->ranks[merge->count]))
		merge->count++;
	return find_missing(merge, most) ? tw_no_memory(err) : 0;
}

int tw_merge_nothing_left(const struct trawl_merge *merge, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < merge->file_count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];

		if (rank->of->message[0])
			return trawl_error_set(err, TRAWL_ENODATA, "nothing to merge: %s: %s",
					       tw_merged_file(merge, rank)->path,
					       rank->of->message);
	}
	return trawl_error_set(err, TRAWL_ENODATA, "nothing to merge: no trace in '%s'",
			       merge->job.set.directory);
}

int tw_merge_plan(struct trawl_merge *merge, const char *path,
		  const struct tw_merge_options *options, struct trawl_error *err)
{
	struct tw_load_options load = options->load;
	struct tw_file_ranks *files;
	int status;

	load.who_only = true;
	load.progress = NULL;
	files = peek_files(merge, &load);
	if (!files)
		return tw_no_memory(err);
	status = tw_job_settle(&merge->job, files, &load, err);
	if (!status || status == TRAWL_ENODATA || status == TRAWL_EUSAGE)
		status = take_job(merge, err);
	if (!status)
		status = check_output(merge, path, err);
	if (!status)
		status = choose_ranks(merge, options->most_ranks, err);
	if (status)
		return status;
	return merge->count ? 0 : tw_merge_nothing_left(merge, err);
}
