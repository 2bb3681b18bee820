/* Which rank each reduced trace is, and which of them make the job. */
#include "ranks/load.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_left_out(const struct tw_rank *rank)
{
	return rank->state == TW_RANK_DUPLICATE || rank->state == TW_RANK_UNREADABLE ||
	       rank->state == TW_RANK_NOT_A_TRACE;
}

/* Of what is left out, the name tells it at the most. */
static void number_ranks(struct tw_rank *ranks, size_t count)
{
	int64_t place = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		struct tw_rank *rank = &ranks[i];

		if (is_left_out(rank)) {
			rank->rank = rank->name_rank;
			rank->rule = TW_RANK_BY_NAME;
		} else {
			rank->rule = tw_rank_number(&rank->rank, rank->name_rank, place);
		}
		place += rank->state != TW_RANK_NOT_A_TRACE;
	}
}

static int compare_ranks(const void *a, const void *b)
{
	const struct tw_rank *x = a, *y = b;

	if (is_left_out(x) != is_left_out(y))
		return is_left_out(x) ? 1 : -1;
	if (!is_left_out(x) && x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	/* What a trace tells itself counts more than its name, and that more than its place. */
	if (!is_left_out(x) && x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Of several traces of a rank the surest stays, of equals the first. */
static void find_duplicates(struct tw_rank *ranks, size_t count, const struct tw_rank_set *set)
{
	const struct tw_rank *kept = NULL;
	char message[512];
	size_t i;

	for (i = 0; i < count && !is_left_out(&ranks[i]); i++) {
		if (!kept || ranks[i].rank != kept->rank) {
			kept = &ranks[i];
			continue;
		}
		snprintf(message, sizeof(message), "rank %" PRId64 " is taken from '%s'",
			 kept->rank, set->files[kept->file].path);
		ranks[i].state = TW_RANK_DUPLICATE;
		ranks[i].message = tw_rank_keep(&ranks[i], message);
	}
}

static int find_missing(struct tw_job *job)
{
	int64_t rank = 0;
	size_t i, n = 0;

	/* A world of millions is a broken number, and its ranks are no list to read. */
	if (job->world_size <= 0 || job->world_size > INT64_C(1) << 24)
		return 0;
	for (i = 0; i < job->count; i++)
		n += job->ranks[i].rank < job->world_size;
	job->missing_count = (size_t)job->world_size - n;
	job->missing = tw_alloc_array(job->allocator, job->missing_count, sizeof(int64_t));
	if (!job->missing) {
		n = job->missing_count;
		job->missing_count = 0;
		return n ? -1 : 0;
	}
	for (i = n = 0; rank < job->world_size; rank++) {
		if (i < job->count && job->ranks[i].rank == rank)
			i++;
		else
			job->missing[n++] = rank;
	}
	return 0;
}

/* The sorted ranks into the two lists of the job. */
static int share_out(struct tw_job *job, struct tw_rank *ranks, size_t count)
{
	size_t kept = 0, rest;

	while (kept < count && !is_left_out(&ranks[kept]))
		kept++;
	rest = count - kept;
	job->ranks = tw_alloc_array(job->allocator, kept, sizeof(*ranks));
	job->left_out = tw_alloc_array(job->allocator, rest, sizeof(*ranks));
	if ((kept && !job->ranks) || (rest && !job->left_out)) {
		tw_free(job->allocator, job->ranks, kept * sizeof(*ranks));
		tw_free(job->allocator, job->left_out, rest * sizeof(*ranks));
		job->ranks = job->left_out = NULL;
		return -1;
	}
	if (kept)
		memcpy(job->ranks, ranks, kept * sizeof(*ranks));
	if (rest)
		memcpy(job->left_out, ranks + kept, rest * sizeof(*ranks));
	job->count = kept;
	job->left_out_count = rest;
	tw_free(job->allocator, ranks, count * sizeof(*ranks));
	return 0;
}

/* Why there is no rank left: the first file's reason, which may be what was asked for. */
static int nothing_left(const struct tw_job *job, struct trawl_error *err)
{
	const struct tw_rank *first = &job->left_out[0];
	int status = first->status == TRAWL_EUSAGE ? TRAWL_EUSAGE : TRAWL_ENODATA;

	if (job->left_out_count == 1)
		return trawl_error_set(err, status, "%s: %s", job->set.files[first->file].path,
				       first->message);
	return trawl_error_set(err, status, "none of %zu files can be analysed; the first, %s: %s",
			       job->left_out_count, job->set.files[first->file].path,
			       first->message);
}

int tw_job_settle(struct tw_job *job, struct tw_rank *ranks, size_t count,
		  const struct tw_load_options *options, struct trawl_error *err)
{
	bool failed = false;
	size_t i;

	job->world_size = -1;
	number_ranks(ranks, count);
	qsort(ranks, count, sizeof(*ranks), compare_ranks);
	find_duplicates(ranks, count, &job->set);
	qsort(ranks, count, sizeof(*ranks), compare_ranks);
	for (i = 0; i < count; i++) {
		failed |= ranks[i].texts.failed;
		if (!is_left_out(&ranks[i]) && ranks[i].world_size > job->world_size)
			job->world_size = ranks[i].world_size;
	}
	if (failed || share_out(job, ranks, count)) {
		tw_ranks_free(ranks, count, job->allocator);
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	}
	if (!job->count)
		return nothing_left(job, err);
	job->gpus_per_node = options->gpus_per_node ? options->gpus_per_node :
						      job->ranks[0].device_count;
	if (find_missing(job))
		return trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	return 0;
}
