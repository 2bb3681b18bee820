/* Which file is which rank, and what its times are moved by. */
#include "merge/merge.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "merge/peek.h"
#include "merge/texts.h"
#include "ranks/merged.h"

#include <inttypes.h>
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
	int64_t *world_size; /* by file */
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

static void peek_file(void *context, size_t i)
{
	struct peeking *p = context;
	struct tw_merged *rank = &p->merge->ranks[i];
	const struct tw_rank_file *file = &p->merge->set.files[i];
	struct trawl_error err;
	struct tw_peek peek;
	int status = tw_peek_file(&peek, file->path, p->merge->allocator, &err);

	rank->file = (uint32_t)i;
	rank->name_rank = file->name_rank;
	rank->rank = peek.rank;
	rank->base_time_ns = peek.base_time_ns;
	rank->device_count = peek.device_count;
	p->world_size[i] = peek.world_size;
	rank->state = TW_RANK_READ;
	if (!status && !peek.is_trace)
		status = ask_reader(file, p->merge->allocator, &err);
	if (status)
		tw_merged_leave_out(p->merge, rank,
				    status == TRAWL_ENODATA && !file->named ? TW_RANK_NOT_A_TRACE :
									      TW_RANK_UNREADABLE,
				    status, err.message);
	else if (peek.merged && file->named)
		tw_merged_leave_out(p->merge, rank, TW_RANK_UNREADABLE, TRAWL_EUSAGE,
				    TW_MERGED_TRACE);
	else if (peek.merged)
		rank->state = TW_RANK_NOT_A_TRACE;
}

/* Of what is left out, the name tells it at the most. */
static void number_ranks(struct tw_merge *merge)
{
	int64_t place = 0;
	size_t i;

	for (i = 0; i < merge->file_count; i++) {
		struct tw_merged *rank = &merge->ranks[i];

		if (tw_merged_is_in(rank)) {
			rank->rule = tw_rank_number(&rank->rank, rank->name_rank, place);
		} else {
			rank->rank = rank->name_rank;
			rank->rule = TW_RANK_BY_NAME;
		}
		place += rank->state != TW_RANK_NOT_A_TRACE;
		if (tw_merged_is_in(rank) && rank->rank >= TW_MERGE_MOST_RANK)
			tw_merged_leave_out(merge, rank, TW_RANK_UNREADABLE, TRAWL_ELIMIT,
					    "its rank is too large for a merged trace");
	}
}

static int compare_ranks(const void *a, const void *b)
{
	const struct tw_merged *x = a, *y = b;
	bool x_in = tw_merged_is_in(x), y_in = tw_merged_is_in(y);

	if (x_in != y_in)
		return x_in ? -1 : 1;
	if (x_in && x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	/* What a trace tells itself counts more than its name, and that more than its place. */
	if (x_in && x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Of several traces of a rank the surest stays, of equals the first; ranks that were not asked for go. */
static void choose_ranks(struct tw_merge *merge, int64_t most)
{
	const struct tw_merged *kept = NULL;
	char message[512];
	size_t i;

	for (i = 0; i < merge->file_count && tw_merged_is_in(&merge->ranks[i]); i++) {
		struct tw_merged *rank = &merge->ranks[i];

		if (most >= 0 && rank->rank >= most) {
			rank->state = TW_RANK_NOT_A_TRACE;
		} else if (kept && rank->rank == kept->rank) {
			snprintf(message, sizeof(message), "rank %" PRId64 " is taken from '%s'",
				 kept->rank, merge->set.files[kept->file].path);
			tw_merged_leave_out(merge, rank, TW_RANK_DUPLICATE, 0, message);
		} else {
			kept = rank;
		}
	}
}

/* Ranks that should be there: all of the world, of those that were asked for. */
static int find_missing(struct tw_merge *merge, int64_t most)
{
	int64_t world = merge->world_size, rank;
	size_t i, n = 0;

	if (most >= 0 && (world < 0 || world > most))
		world = most;
	/* A world of millions is a broken number, and its ranks are no list to read. */
	if (world <= 0 || world > TW_MERGE_MOST_RANK)
		return 0;
	merge->missing = tw_alloc_array(merge->allocator, (size_t)world, sizeof(int64_t));
	if (!merge->missing)
		return -1;
	for (i = 0, rank = 0; rank < world; rank++) {
		if (i < merge->count && merge->ranks[i].rank == rank)
			i++;
		else
			merge->missing[n++] = rank;
	}
	merge->missing_count = n;
	merge->world_size = world;
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

int tw_merge_plan(struct tw_merge *merge, const char *path, const struct tw_merge_options *options,
		  struct trawl_error *err)
{
	struct peeking p = { .merge = merge };
	int status;
	size_t i;

	merge->world_size = -1;
	merge->file_count = merge->set.count;
	merge->ranks = tw_alloc_array(merge->allocator, merge->file_count, sizeof(*merge->ranks));
	p.world_size = tw_alloc_array(merge->allocator, merge->file_count, sizeof(int64_t));
	if (!merge->ranks || !p.world_size) {
		tw_free(merge->allocator, p.world_size, merge->file_count * sizeof(int64_t));
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	}
	tw_parallel(options->threads, merge->file_count, peek_file, &p);
	for (i = 0; i < merge->file_count; i++)
		if (tw_merged_is_in(&merge->ranks[i]) && p.world_size[i] > merge->world_size)
			merge->world_size = p.world_size[i];
	tw_free(merge->allocator, p.world_size, merge->file_count * sizeof(int64_t));
	status = check_output(merge, path, err);
	if (status)
		return status;
	number_ranks(merge);
	qsort(merge->ranks, merge->file_count, sizeof(*merge->ranks), compare_ranks);
	choose_ranks(merge, options->most_ranks);
	qsort(merge->ranks, merge->file_count, sizeof(*merge->ranks), compare_ranks);
	while (merge->count < merge->file_count && tw_merged_is_in(&merge->ranks[merge->count]))
		merge->count++;
	if (find_missing(merge, options->most_ranks))
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	return merge->count ? 0 : nothing_left(merge, err);
}
