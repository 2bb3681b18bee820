/* Which file is which rank, and what its times are moved by. */
#include "job/merge/merge.h"

#include "base/alloc.h"
#include "data/limits.h"
#include "job/merge/peek.h"
#include "job/merge/texts.h"
#include "job/set/load.h"
#include "job/set/merged.h"
#include "os/thread.h"
#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char *keep(const struct tw_merge *merge, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = tw_alloc(merge->allocator, size);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

void tw_merged_leave_out(struct tw_merge *merge, struct tw_merged *rank, enum tw_rank_state state,
			 int status, const char *message)
{
	rank->state = state;
	rank->status = status;
	rank->message = keep(merge, tw_without_path(message, merge->set.files[rank->file].path));
}

struct peeking {
	struct tw_merge *merge;
	const struct tw_load_options *load;
	struct tw_file_ranks *files;
	bool *several; /* by file: it may hold several ranks */
	size_t *again; /* files that are read, because what stands around the events says too little */
	size_t again_count;
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

static void leave_out(struct tw_rank *rank, const struct tw_rank_file *file,
		      enum tw_rank_state state, int status, const char *message)
{
	rank->state = state;
	rank->status = status;
	rank->message = tw_rank_keep(rank, tw_without_path(message, file->path));
}

static void take_peek(struct tw_rank *rank, const struct tw_peek *peek,
		      const struct tw_rank_file *file, int status, const struct trawl_error *err)
{
	rank->rank = peek->rank;
	rank->world_size = peek->world_size;
	rank->base_time_ns = peek->base_time_ns;
	rank->device_count = peek->device_count;
	/* One of several, which only its events tell. */
	if (peek->marked)
		rank->rank = -1;
	if (status)
		leave_out(rank, file,
			  status == TRAWL_ENODATA && !file->named ? TW_RANK_NOT_A_TRACE :
								    TW_RANK_UNREADABLE,
			  status, err->message);
	else if (peek->merged)
		leave_out(rank, file, file->named ? TW_RANK_UNREADABLE : TW_RANK_NOT_A_TRACE,
			  TRAWL_EUSAGE, TW_MERGED_TRACE);
}

static void peek_file(void *context, size_t i)
{
	struct peeking *p = context;
	const struct trawl_allocator *a = p->merge->allocator;
	const struct tw_rank_file *file = &p->merge->set.files[i];
	struct tw_rank *rank = tw_alloc_array(a, 1, sizeof(*rank));
	struct trawl_error err;
	struct tw_peek peek;
	int status;

	p->files[i] = (struct tw_file_ranks){ rank, rank != NULL, rank ? 0 : TRAWL_ENOMEM };
	if (!rank)
		return;
	if (tw_rank_init(rank, a)) {
		p->files[i].status = TRAWL_ENOMEM;
		return;
	}
	rank->file = (uint32_t)i;
	rank->name_rank = file->name_rank;
	status = tw_peek_file(&peek, file->path, a, &err);
	p->several[i] = peek.marked || tw_reader_of(file->path)->by_process;
	if (!status && !peek.is_trace)
		status = ask_reader(file, a, &err);
	if (status == TRAWL_ENOMEM)
		p->files[i].status = status;
	take_peek(rank, &peek, file, status, &err);
}

/* ---- where that says no rank, or does not fit together, the traces are read */

static int compare_told(const void *a, const void *b)
{
	const struct tw_rank *x = *(const struct tw_rank *const *)a;
	const struct tw_rank *y = *(const struct tw_rank *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
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
	const struct tw_merge *merge = p->merge;
	const struct tw_rank **told =
		tw_alloc_array(merge->allocator, merge->set.count, sizeof(const struct tw_rank *));
	size_t i, n = 0;
	bool odd;

	if (!told)
		return -1;
	for (i = 0; i < merge->set.count; i++)
		if (p->files[i].count && p->files[i].ranks->state == TW_RANK_READ)
			told[n++] = p->files[i].ranks;
	qsort(told, n, sizeof(const struct tw_rank *), compare_told);
	odd = are_odd(told, n);
	for (i = 0; i < n; i++)
		if ((odd || (told[i]->rank < 0 && (n > 1 || p->several[told[i]->file]))) &&
		    can_read_twice(merge->set.files[told[i]->file].path))
			p->again[p->again_count++] = told[i]->file;
	tw_free(merge->allocator, told, merge->set.count * sizeof(const struct tw_rank *));
	return 0;
}

static void take_again(void *context, uint32_t file, int status, struct tw_rank *ranks,
		       size_t count)
{
	struct peeking *p = context;
	struct tw_file_ranks *f = &p->files[p->again[file]];
	size_t i;

	for (i = 0; i < count; i++)
		ranks[i].file = (uint32_t)p->again[file];
	tw_ranks_free(f->ranks, f->count, p->merge->allocator);
	*f = (struct tw_file_ranks){ ranks, count, status };
}

static int read_again(struct peeking *p)
{
	const struct trawl_allocator *a = p->merge->allocator;
	struct tw_rank_set some = { .allocator = a };
	size_t count = p->merge->set.count, i;
	int status = -1;

	p->again = tw_alloc_array(a, count, sizeof(*p->again));
	some.files = tw_alloc_array(a, count, sizeof(*some.files));
	if (p->again && some.files && !list_again(p)) {
		for (i = 0; i < p->again_count; i++)
			some.files[i] = p->merge->set.files[p->again[i]];
		some.count = p->again_count;
		if (some.count)
			tw_files_reduce(&some, p->load, a, take_again, p);
		status = 0;
	}
	tw_free(a, some.files, count * sizeof(*some.files));
	tw_free(a, p->again, count * sizeof(*p->again));
	return status;
}

/* ---- the ranks of a settled job as those of the merge */

static void take_rank(struct tw_merge *merge, const struct tw_rank *from)
{
	struct tw_merged *rank = &merge->ranks[merge->file_count++];

	*rank = (struct tw_merged){
		.file = from->file,
		.part = from->who.part,
		.rank = from->rank,
		.rule = from->rule,
		.state = from->state,
		.name_rank = from->name_rank,
		.world_size = from->world_size,
		.device_count = from->device_count,
		.told_rank = -1,
		.base_time_ns = from->base_time_ns,
		.status = from->status,
		.message = from->message[0] ? keep(merge, from->message) : NULL,
	};
	if (tw_merged_is_in(rank) && rank->rank >= TW_MERGE_MOST_RANK)
		tw_merged_leave_out(merge, rank, TW_RANK_UNREADABLE, TRAWL_ELIMIT,
				    "its rank is too large for a merged trace");
}

static int compare_ranks(const void *a, const void *b)
{
	const struct tw_merged *x = a, *y = b;
	bool x_in = tw_merged_is_in(x), y_in = tw_merged_is_in(y);

	if (x_in != y_in)
		return x_in ? -1 : 1;
	if (x_in && x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Of several groups the first; the others are left out by name. */
static void take_groups(struct tw_merge *merge, const struct tw_job *job)
{
	const struct tw_job *at;
	char message[320];
	size_t i;

	for (at = job; at; at = at->next)
		for (i = 0; i < at->count; i++) {
			take_rank(merge, &at->ranks[i]);
			if (at == job)
				continue;
			snprintf(message, sizeof(message),
				 "of group %.60s, which has the same ranks as group %.60s and no "
				 "collective in common with it (merge each group by itself)",
				 at->group, job->group);
			tw_merged_leave_out(merge, &merge->ranks[merge->file_count - 1],
					    TW_RANK_DUPLICATE, 0, message);
		}
}

/* Ranks that should be there, of those that were asked for. */
static int take_missing(struct tw_merge *merge, const struct tw_job *job, int64_t most)
{
	bool asked = most >= 0 && most <= TW_MERGE_MOST_RANK;
	size_t room = job->missing_count + (asked ? (size_t)most : 0), i, n = 0;
	int64_t rank;

	merge->world_size = merge->told_world = job->world_size;
	merge->missing_room = room;
	merge->missing = tw_alloc_array(merge->allocator, room, sizeof(int64_t));
	if (room && !merge->missing)
		return -1;
	if (asked && (merge->world_size < 0 || merge->world_size > most)) {
		/* All that were asked for. */
		merge->world_size = most;
		for (i = 0, rank = 0; rank < most; rank++) {
			if (i < merge->count && merge->ranks[i].rank == rank)
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

static int take_job(struct tw_merge *merge, const struct tw_job *job, struct trawl_error *err)
{
	const struct tw_job *at;
	size_t room = job->left_out_count, i;

	for (at = job; at; at = at->next)
		room += at->count;
	merge->ranks = tw_alloc_array(merge->allocator, room, sizeof(*merge->ranks));
	if (room && !merge->ranks)
		return tw_no_memory(err);
	merge->rank_room = room;
	take_groups(merge, job);
	for (i = 0; i < job->left_out_count; i++)
		take_rank(merge, &job->left_out[i]);
	merge->is_unlike = job->is_unlike;
	merge->clashes = job->clashes;
	merge->apart = job->apart;
	return 0;
}

/* Ranks below `most`, in order, and which of those are not there. */
static int choose_ranks(struct tw_merge *merge, const struct tw_job *job, int64_t most,
			struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < merge->file_count; i++)
		if (most >= 0 && tw_merged_is_in(&merge->ranks[i]) && merge->ranks[i].rank >= most)
			merge->ranks[i].state = TW_RANK_NOT_A_TRACE;
	if (merge->file_count)
		qsort(merge->ranks, merge->file_count, sizeof(*merge->ranks), compare_ranks);
	while (merge->count < merge->file_count && tw_merged_is_in(&merge->ranks[merge->count]))
		merge->count++;
	if (take_missing(merge, job, most))
		return tw_no_memory(err);
	return 0;
}

static int nothing_left(const struct tw_merge *merge, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < merge->file_count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];

		if (rank->message)
			return trawl_error_set(err, TRAWL_ENODATA, "nothing to merge: %s: %s",
					       merge->set.files[rank->file].path, rank->message);
	}
	return trawl_error_set(err, TRAWL_ENODATA, "nothing to merge: no trace in '%s'",
			       merge->set.directory);
}

/* What is to be written must be none of what is read; what was merged before may be. */
static int check_output(const struct tw_merge *merge, const char *path, struct trawl_error *err)
{
	struct stat info;
	size_t i;

	if (stat(path, &info))
		return 0;
	for (i = 0; i < merge->file_count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];
		const struct tw_rank_file *file = &merge->set.files[rank->file];

		if (rank->state != TW_RANK_NOT_A_TRACE && file->device == (uint64_t)info.st_dev &&
		    file->inode == (uint64_t)info.st_ino)
			return trawl_error_set(err, TRAWL_EUSAGE,
					       "cannot write '%.200s': it is one of the traces",
					       path);
	}
	return 0;
}

/* A set that is borrowed: the job of it releases nothing of it. */
static struct tw_rank_set borrowed(const struct tw_rank_set *set)
{
	struct tw_rank_set copy = *set;

	copy.allocator = NULL;
	return copy;
}

int tw_merge_plan(struct tw_merge *merge, const char *path, const struct tw_merge_options *options,
		  struct trawl_error *err)
{
	const struct tw_load_options load = {
		.threads = options->threads,
		.max_memory = options->max_memory,
		.block_size = options->block_size,
		.who_only = true,
	};
	struct tw_job job = { .allocator = merge->allocator, .set = borrowed(&merge->set) };
	struct peeking p = { .merge = merge, .load = &load };
	int status;

	merge->world_size = -1;
	p.files = tw_alloc_array(merge->allocator, merge->set.count, sizeof(*p.files));
	p.several = tw_alloc_array(merge->allocator, merge->set.count, sizeof(*p.several));
	if (!p.files || !p.several) {
		tw_free(merge->allocator, p.files, merge->set.count * sizeof(*p.files));
		tw_free(merge->allocator, p.several, merge->set.count * sizeof(*p.several));
		return tw_no_memory(err);
	}
	tw_parallel(options->threads, merge->set.count, peek_file, &p);
	status = read_again(&p);
	tw_free(merge->allocator, p.several, merge->set.count * sizeof(*p.several));
	/* Takes over the files, also when memory is out. */
	if (status)
		p.files[0].status = TRAWL_ENOMEM;
	status = tw_job_settle_files(&job, p.files, &load, err);
	if (!status || status == TRAWL_ENODATA || status == TRAWL_EUSAGE)
		status = take_job(merge, &job, err);
	if (!status)
		status = check_output(merge, path, err);
	if (!status)
		status = choose_ranks(merge, &job, options->most_ranks, err);
	tw_job_release(&job);
	if (status)
		return status;
	return merge->count ? 0 : nothing_left(merge, err);
}
