/* Which rank each reduced trace is, and which of them make the job. */
#include "job/set/load.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "base/search.h"
#include "base/sort.h"
#include "text/rank_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A world of millions is a broken number, and its ranks are no list to read. */
#define MOST_RANKS (INT64_C(1) << 24)

/*
 * Rank from the trace, else its collectives, else its name. A skipped trace has at most that of its
 * name.
 */
static void number_rank(struct tw_rank *rank, bool recorded)
{
	rank->rule = TRAWL_RANK_BY_NAME;
	if (!tw_rank_is_left_out(rank) && rank->rank >= 0) {
		rank->rule = rank->who.labelled ? TRAWL_RANK_BY_LABEL : TRAWL_RANK_BY_METADATA;
	} else if (!tw_rank_is_left_out(rank) && rank->who.recorded_rank >= 0 &&
		   (recorded || rank->name_rank < 0)) {
		rank->rank = rank->who.recorded_rank;
		rank->rule = TRAWL_RANK_BY_COLLECTIVES;
	} else {
		rank->rank = rank->name_rank;
		if (rank->rank < 0 && !tw_rank_is_left_out(rank))
			rank->rule = TRAWL_RANK_BY_ORDER;
	}
}

static int compare_ranks(const void *a, const void *b)
{
	const struct tw_rank *x = a, *y = b;
	bool x_out = tw_rank_is_left_out(x), y_out = tw_rank_is_left_out(y);

	/*
	 * A rank recorded in the trace has priority over its name, and the name over its position.
	 */
	return TW_COMPARE(x_out, y_out)					  ?:
		       (x_out ? 0 : TW_ORDER_BY(x, y, group, rank, rule)) ?:
		       TW_ORDER_BY(x, y, file, who.part);
}

/* Of numbers in order, whether one is there twice. */
static bool has_repeated(int64_t *numbers, size_t n)
{
	bool repeated = false;
	size_t i;

	tw_sort_numbers(numbers, n);
	for (i = 1; i < n; i++)
		repeated |= numbers[i] == numbers[i - 1];
	return repeated;
}

/*
 * Traces of one job with ranks of their nodes: collectives count if each has a rank, all different.
 */
static int trust_collectives(struct tw_rank *ranks, size_t count,
			     const struct trawl_allocator *allocator)
{
	int64_t *numbers = tw_alloc_array(allocator, count, sizeof(*numbers));
	bool repeated, recorded = true;
	size_t n = 0, i;

	if (!numbers)
		return -1;
	for (i = 0; i < count; i++)
		if (!tw_rank_is_left_out(&ranks[i]) && ranks[i].rank >= 0)
			numbers[n++] = ranks[i].rank;
	repeated = has_repeated(numbers, n);
	for (i = n = 0; i < count; i++)
		if (!tw_rank_is_left_out(&ranks[i])) {
			recorded &= ranks[i].who.recorded_rank >= 0;
			numbers[n++] = ranks[i].who.recorded_rank;
		}
	recorded &= repeated && !has_repeated(numbers, n);
	for (i = 0; i < count && recorded; i++)
		if (!tw_rank_is_left_out(&ranks[i])) {
			ranks[i].rank = ranks[i].who.recorded_rank;
			ranks[i].rule = TRAWL_RANK_BY_COLLECTIVES;
		}
	tw_free(allocator, numbers, count * sizeof(*numbers));
	return 0;
}

/*
 * Traces of one group with the same rank from collectives: some versions of PyTorch record 0 for
 * all. Then names count, else their order. `ranks` are sorted.
 */
static size_t drop_clashes(struct tw_rank *ranks, size_t count)
{
	size_t first, end, i, clashes = 0;

	for (first = 0; first < count && !tw_rank_is_left_out(&ranks[first]); first = end) {
		size_t said = 0;

		for (end = first;
		     end < count && !tw_rank_is_left_out(&ranks[end]) &&
		     ranks[end].rank == ranks[first].rank && ranks[end].group == ranks[first].group;
		     end++)
			said += ranks[end].rule == TRAWL_RANK_BY_COLLECTIVES;
		for (i = first; i < end && said > 1; i++) {
			if (ranks[i].rule != TRAWL_RANK_BY_COLLECTIVES)
				continue;
			ranks[i].rule = ranks[i].name_rank >= 0 ? TRAWL_RANK_BY_NAME :
								  TRAWL_RANK_BY_ORDER;
			ranks[i].rank = ranks[i].name_rank;
			clashes++;
		}
	}
	return clashes;
}

/* ---- numbers by order */

static int compare_places(const void *a, const void *b)
{
	const struct tw_rank *x = a, *y = b;

	return TW_ORDER_BY(x, y, file, who.part);
}

static bool needs_number(const struct tw_rank *rank, uint32_t group)
{
	return !tw_rank_is_left_out(rank) && rank->group == group && rank->rank < 0;
}

/* Whether a rank has a place in the order of its group: what is there, or would be. */
static bool has_place(const struct tw_rank *rank, uint32_t group)
{
	return rank->group == group && rank->state != TRAWL_RANK_NOT_A_TRACE &&
	       rank->state != TRAWL_RANK_CAPTURE;
}

static bool is_taken(const int64_t *taken, size_t n, int64_t number)
{
	size_t first = TW_LOWER_BOUND(at, 0, n, taken[at] < number);

	return first < n && taken[first] == number;
}

/* A free number: for a part of a file, or one with another kind of number. */
static bool is_of_its_own(const struct tw_rank *rank)
{
	return rank->who.part || rank->who.recorded_rank >= 0 || rank->name_rank >= 0;
}

/*
 * The place, unless another has that number; then the lowest that none has.  A file of which
 * nothing is known may be that other's.
 */
static void number_group(struct tw_rank *ranks, size_t count, uint32_t group, int64_t *taken)
{
	int64_t place = 0, number = 0;
	size_t n = 0, told, i;

	for (i = 0; i < count; i++)
		if (!tw_rank_is_left_out(&ranks[i]) && ranks[i].group == group &&
		    ranks[i].rank >= 0)
			taken[n++] = ranks[i].rank;
	tw_sort_numbers(taken, n);
	for (i = 0, told = n; i < count; i++) {
		if (needs_number(&ranks[i], group) &&
		    (!is_taken(taken, told, place) || !is_of_its_own(&ranks[i])))
			ranks[i].rank = taken[n++] = place;
		place += has_place(&ranks[i], group);
	}
	tw_sort_numbers(taken, n);
	for (i = 0; i < count; i++) {
		if (!needs_number(&ranks[i], group))
			continue;
		while (is_taken(taken, n, number))
			number++;
		ranks[i].rank = number++;
	}
}

static int number_by_order(struct tw_rank *ranks, size_t count,
			   const struct trawl_allocator *allocator)
{
	int64_t *taken = tw_alloc_array(allocator, count, sizeof(*taken));
	uint32_t groups = 0, group;
	size_t i;

	if (!taken)
		return -1;
	qsort(ranks, count, sizeof(*ranks), compare_places);
	for (i = 0; i < count; i++)
		groups = ranks[i].group >= groups ? ranks[i].group + 1 : groups;
	for (group = 0; group < groups; group++)
		number_group(ranks, count, group, taken);
	tw_free(allocator, taken, count * sizeof(*taken));
	return 0;
}

/* ---- duplicates */

/* Of several traces of a rank the surest stays, of equals the first. */
static void find_duplicates(struct tw_rank *ranks, size_t count, const struct tw_rank_set *set)
{
	const struct tw_rank *kept = NULL;
	struct tw_str text;
	size_t i;

	for (i = 0; i < count && !tw_rank_is_left_out(&ranks[i]); i++) {
		if (!kept || ranks[i].rank != kept->rank || ranks[i].group != kept->group) {
			kept = &ranks[i];
			continue;
		}
		tw_str_init(&text, ranks[i].allocator);
		tw_str_addf(&text, "rank %" PRId64 " is already read from '%s'", kept->rank,
			    set->files[kept->file].path);
		ranks[i].state = TRAWL_RANK_DUPLICATE;
		ranks[i].message = text.failed ? "" : tw_rank_keep(&ranks[i], text.ptr);
		ranks[i].texts.failed |= text.failed;
		tw_str_release(&text);
	}
}

/* ---- which ranks there should be */

struct rank_numbers {
	const struct trawl_allocator *allocator;
	int64_t *ranks;
	size_t count, capacity;
};

static int add_number(struct rank_numbers *n, int64_t rank)
{
	if (!tw_list_grow(&n->ranks, &n->capacity, n->count, sizeof(*n->ranks), n->allocator))
		return -1;
	n->ranks[n->count++] = rank;
	return 0;
}

/* The members of the groups of a rank; what does not have the rank itself numbers otherwise. */
static int add_groups(struct rank_numbers *members, const struct tw_rank *rank)
{
	struct tw_rank_list list;
	bool failed, known = false;
	size_t i;

	tw_rank_list_parse(&list, rank->who.members, members->allocator);
	failed = list.failed;
	for (i = 0; i < list.count; i++)
		known |= list.ranks[i] == rank->rank;
	for (i = 0; i < list.count && !failed && known; i++)
		failed = list.ranks[i] < MOST_RANKS && add_number(members, list.ranks[i]);
	tw_rank_list_release(&list);
	return failed ? -1 : 0;
}

/* The members of all recorded groups, each once, in order. */
static int add_members(struct rank_numbers *members, const struct trawl_job *job)
{
	const char *before = "";
	size_t i, n = 0, count;

	for (i = 0; i < job->count; i++) {
		const char *text = job->ranks[i].who.members;

		/* Mostly all have the same. */
		if (!*text || !strcmp(text, before))
			continue;
		count = members->count;
		if (add_groups(members, &job->ranks[i]))
			return -1;
		if (members->count > count)
			before = text;
	}
	tw_sort_numbers(members->ranks, members->count);
	for (i = 0; i < members->count; i++)
		if (!i || members->ranks[i] != members->ranks[n - 1])
			members->ranks[n++] = members->ranks[i];
	members->count = n;
	return 0;
}

/*
 * World size: recorded in the traces, else of the default group, else of groups with all ranks up
 * to the last present.
 */
static int64_t world_of(const struct trawl_job *job, const struct rank_numbers *members)
{
	int64_t count = (int64_t)members->count, told = -1, recorded = -1;
	size_t i;

	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];

		if (rank->world_size > told)
			told = rank->world_size;
		if (rank->who.recorded_world > recorded && rank->rank < rank->who.recorded_world)
			recorded = rank->who.recorded_world;
	}
	if (recorded < 0 && count > 1 && members->ranks[count - 1] == count - 1)
		recorded = count;
	return told >= 0 ? told : recorded > 1 ? recorded : -1;
}

/* Adds a rank that is not there; *next: the first of the job's ranks that may be it. */
static int add_missing(struct rank_numbers *missing, const struct trawl_job *job, size_t *next,
		       int64_t rank)
{
	while (*next < job->count && job->ranks[*next].rank < rank)
		++*next;
	if (*next < job->count && job->ranks[*next].rank == rank)
		return 0;
	return add_number(missing, rank);
}

/* Expected are all ranks of the world, and those after it that groups name. */
static int list_missing(struct rank_numbers *missing, const struct trawl_job *job,
			const struct rank_numbers *members)
{
	int64_t world = job->world_size <= MOST_RANKS ? job->world_size : 0, rank;
	size_t next = 0, i;

	for (rank = 0; rank < world; rank++)
		if (add_missing(missing, job, &next, rank))
			return -1;
	for (i = 0; i < members->count; i++)
		if (members->ranks[i] >= world &&
		    add_missing(missing, job, &next, members->ranks[i]))
			return -1;
	return 0;
}

static int find_missing(struct trawl_job *job)
{
	const struct trawl_allocator *a = job->allocator;
	struct rank_numbers members = { .allocator = a }, missing = { .allocator = a };
	int status = add_members(&members, job);

	if (!status) {
		job->world_size = world_of(job, &members);
		status = list_missing(&missing, job, &members);
	}
	if (!status && missing.count) {
		job->missing = tw_alloc_array(a, missing.count, sizeof(*job->missing));
		job->missing_count = job->missing ? missing.count : 0;
		status = job->missing ? 0 : -1;
	}
	if (job->missing)
		memcpy(job->missing, missing.ranks, missing.count * sizeof(*job->missing));
	tw_free(a, members.ranks, members.capacity * sizeof(*members.ranks));
	tw_free(a, missing.ranks, missing.capacity * sizeof(*missing.ranks));
	return status;
}

/* ---- jobs of ranks */

/* A list of its own of some ranks; -1: out of memory. */
static int take_ranks(struct tw_rank **list, size_t *count, const struct tw_rank *ranks, size_t n,
		      const struct trawl_allocator *allocator)
{
	*list = tw_alloc_array(allocator, n, sizeof(*ranks));
	if (n && !*list)
		return -1;
	if (n)
		memcpy(*list, ranks, n * sizeof(*ranks));
	*count = n;
	return 0;
}

/* The next group of a job, a job of its own. */
static struct trawl_job *add_group(struct trawl_job *job)
{
	job->next = tw_alloc_array(job->allocator, 1, sizeof(*job));
	if (!job->next)
		return NULL;
	*job->next = (struct trawl_job){ .allocator = job->allocator, .set = job->set };
	job->next->set.allocator = NULL; /* borrowed */
	return job->next;
}

/*
 * The sorted ranks into the lists of the job, and of one more for each further group.  What is
 * shared out is no longer of `ranks`: *done of them.
 */
static int share_out(struct trawl_job *job, const struct tw_rank *ranks, size_t count, size_t *done)
{
	size_t kept = 0, end;

	while (kept < count && !tw_rank_is_left_out(&ranks[kept]))
		kept++;
	while (job && *done < kept) {
		const struct tw_rank *first = &ranks[*done];

		for (end = *done; end < kept && ranks[end].group == first->group; end++)
			;
		job->group = first->group_name;
		if (take_ranks(&job->ranks, &job->count, first, end - *done, job->allocator))
			return -1;
		*done = end;
		if (end < kept)
			job = add_group(job);
	}
	return job ? 0 : -1;
}

/* Why there is no rank left: the first file's reason, which may be what was asked for. */
static int nothing_left(const struct trawl_job *job, struct trawl_error *err)
{
	const struct tw_rank *first = &job->left_out[0];
	int status = first->status == TRAWL_EUSAGE ? TRAWL_EUSAGE : TRAWL_ENODATA;

	if (job->left_out_count == 1)
		return trawl_error_set(err, status, "%s: %s", job->set.files[first->file].path,
				       first->message);
	return trawl_error_set(err, status, "no usable trace among %zu files; first error: %s: %s",
			       job->left_out_count, job->set.files[first->file].path,
			       first->message);
}

static struct tw_apart find_apart(const struct tw_rank *ranks, size_t count)
{
	int64_t first_ns, last_ns, begin_ns = INT64_MIN, end_ns = INT64_MAX;
	struct tw_apart apart = { -1, -1, 0 };
	size_t i;

	for (i = 0; i < count; i++) {
		if (!tw_rank_span(&ranks[i], &first_ns, &last_ns))
			continue;
		if (first_ns > begin_ns) {
			begin_ns = first_ns;
			apart.begins = ranks[i].rank;
		}
		if (last_ns < end_ns) {
			end_ns = last_ns;
			apart.ends = ranks[i].rank;
		}
	}
	if (begin_ns > end_ns && __builtin_sub_overflow(begin_ns, end_ns, &apart.apart_ns))
		apart.apart_ns = INT64_MAX;
	return apart;
}

/* What a job of certain ranks has beside them. */
static int finish_job(struct trawl_job *job, const struct tw_load_options *options)
{
	job->gpus_per_node = options->gpus_per_node ? options->gpus_per_node :
						      job->ranks[0].device_count;
	job->apart = find_apart(job->ranks, job->count);
	if (find_missing(job) ||
	    tw_find_unlike(job->ranks, job->count, job->allocator, &job->is_unlike, &job->unlike))
		return -1;
	return job->next ? finish_job(job->next, options) : 0;
}

/* Numbers, captures, groups, duplicates: who each is, then those that count first, in order. */
static int settle_numbers(struct trawl_job *job, struct tw_rank *ranks, size_t count)
{
	bool failed = false, recorded = false;
	size_t i;

	/*
	 * If only 0 is recorded, as some versions of PyTorch do for all ranks, names have priority.
	 */
	for (i = 0; i < count; i++)
		recorded |= ranks[i].who.recorded_rank > 0;
	for (i = 0; i < count; i++)
		number_rank(&ranks[i], recorded);
	if (tw_find_captures(ranks, count, &job->set, job->allocator) ||
	    trust_collectives(ranks, count, job->allocator) ||
	    tw_find_groups(ranks, count, &job->set, job->allocator))
		return -1;
	qsort(ranks, count, sizeof(*ranks), compare_ranks);
	job->clashes = drop_clashes(ranks, count);
	if (number_by_order(ranks, count, job->allocator))
		return -1;
	qsort(ranks, count, sizeof(*ranks), compare_ranks);
	find_duplicates(ranks, count, &job->set);
	qsort(ranks, count, sizeof(*ranks), compare_ranks);
	for (i = 0; i < count; i++)
		failed |= ranks[i].texts.failed;
	return failed ? -1 : 0;
}

/* All files' ranks after each other; *ranks takes them over. */
static int join_files(const struct trawl_job *job, struct tw_file_ranks *files,
		      struct tw_rank **ranks, size_t *count)
{
	const struct trawl_allocator *a = job->allocator;
	size_t i, n = 0;
	int status = 0;

	for (i = 0; i < job->set.count; i++) {
		n += files[i].count;
		if (!status)
			status = files[i].status;
	}
	*ranks = tw_alloc_array(a, n, sizeof(**ranks));
	*count = *ranks ? n : 0;
	if (!*ranks && !status)
		status = TRAWL_ENOMEM;
	for (i = n = 0; i < job->set.count; n += files[i++].count) {
		size_t size = files[i].count * sizeof(**ranks);

		if (!*ranks) {
			tw_ranks_free(files[i].ranks, files[i].count, a);
		} else if (size) {
			memcpy(*ranks + n, files[i].ranks, size);
			tw_free(a, files[i].ranks, size);
		}
	}
	tw_free(a, files, job->set.count * sizeof(*files));
	return status;
}

int tw_job_settle(struct trawl_job *job, struct tw_file_ranks *files,
		  const struct tw_load_options *options, struct trawl_error *err)
{
	struct tw_rank *ranks;
	size_t count, done = 0, i;
	int status = join_files(job, files, &ranks, &count);

	job->world_size = -1;
	if (status) {
		tw_ranks_free(ranks, count, job->allocator);
		return trawl_error_set(err, status, "%s", trawl_status_name(status));
	}
	if (settle_numbers(job, ranks, count) || share_out(job, ranks, count, &done) ||
	    take_ranks(&job->left_out, &job->left_out_count, ranks + done, count - done,
		       job->allocator))
		status = tw_no_memory(err);
	else
		done = count;
	for (i = done; i < count; i++)
		tw_rank_release(&ranks[i]);
	tw_free(job->allocator, ranks, count * sizeof(*ranks));
	if (status)
		return status;
	if (!job->count)
		return nothing_left(job, err);
	return finish_job(job, options) ? tw_no_memory(err) : 0;
}
