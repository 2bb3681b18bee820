#include "job/set/job_notes.h"

#include "text/rank_list.h"

#include <string.h>

/* Files that lie beside traces and are none: the first of them, and how many more. */
static void note_others(const struct trawl_job *job, struct tw_str *notes)
{
	const struct tw_rank *first = NULL;
	size_t i, n = 0;

	for (i = 0; i < job->left_out_count; i++)
		if (job->left_out[i].state == TRAWL_RANK_NOT_A_TRACE) {
			first = first ? first : &job->left_out[i];
			n++;
		}
	if (n == 1)
		tw_str_note(notes, "%s: skipped: %s", job->set.files[first->file].path,
			    first->message);
	else if (n)
		tw_str_note(notes, "%s and %zu other file%s: skipped: not profiler traces",
			    job->set.files[first->file].path, n - 1, n == 2 ? "" : "s");
}

static void note_left_out(const struct trawl_job *job, struct tw_str *notes)
{
	size_t i;

	for (i = 0; i < job->left_out_count; i++) {
		const struct tw_rank *rank = &job->left_out[i];
		const char *path = job->set.files[rank->file].path;

		/* Ranks of one file with the same reason give one message. */
		if (rank->state != TRAWL_RANK_NOT_A_TRACE &&
		    !(i && rank->file == rank[-1].file && !strcmp(rank->message, rank[-1].message)))
			tw_str_note(notes, "%s: skipped: %s", path, rank->message);
	}
	note_others(job, notes);
}

void tw_note_apart(const struct tw_apart *apart, struct tw_str *notes)
{
	if (apart->apart_ns > 0)
		tw_str_note(notes,
			    "traces from different times: rank %lld ends %.3f s before rank %lld "
			    "starts (or host clocks differ by that much)",
			    (long long)apart->ends, (double)apart->apart_ns / 1e9,
			    (long long)apart->begins);
}

void tw_note_order(size_t clashes, size_t by_order, size_t count, struct tw_str *notes)
{
	if (clashes)
		tw_str_note(notes,
			    "%zu traces have the same rank as others by recorded collectives: "
			    "using file names or file order",
			    clashes);
	if (by_order && count > 1)
		tw_str_note(
			notes,
			"%zu of %zu ranks numbered by file order: no rank in the traces or file "
			"names",
			by_order, count);
}

/* Ranks that show other steps than the first that shows any compare badly. */
static void note_steps(const struct trawl_job *job, struct tw_str *notes)
{
	const struct tw_rank *first = NULL, *other = NULL;
	size_t i, n = 0;

	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];

		if (rank->first_step < 0)
			continue;
		if (!first)
			first = rank;
		if (rank->first_step == first->first_step && rank->last_step == first->last_step)
			continue;
		if (!other)
			other = rank;
		n++;
	}
	if (n)
		tw_str_note(notes,
			    "traces have different steps: rank %lld has %lld-%lld, %zu other "
			    "rank%s not, e.g. rank %lld with %lld-%lld (--step selects common "
			    "steps)",
			    (long long)first->rank, (long long)first->first_step,
			    (long long)first->last_step, n, n == 1 ? " does" : "s do",
			    (long long)other->rank, (long long)other->first_step,
			    (long long)other->last_step);
}

void tw_note_world(int64_t rank, int64_t its_world, int64_t last_rank, int64_t world,
		   struct tw_str *notes)
{
	if (its_world >= 0)
		tw_str_note(notes,
			    "traces from different jobs: rank %lld has world size %lld, another "
			    "rank %lld; using %lld",
			    (long long)rank, (long long)its_world, (long long)world,
			    (long long)world);
	if (world >= 0 && last_rank >= world)
		tw_str_note(notes, "rank %lld is outside the world size of %lld",
			    (long long)last_rank, (long long)world);
}

/* Traces that do not fit into one job: of other sizes, or of ranks that it does not have. */
static void note_world(const struct trawl_job *job, struct tw_str *notes)
{
	const struct tw_rank *other = NULL;
	size_t i;

	for (i = 0; i < job->count && !other; i++)
		if (job->ranks[i].world_size >= 0 && job->ranks[i].world_size != job->world_size)
			other = &job->ranks[i];
	tw_note_world(other ? other->rank : -1, other ? other->world_size : -1,
		      job->ranks[job->count - 1].rank, job->world_size, notes);
}

static void note_ranks(const struct trawl_job *job, const struct tw_job_rules *rules,
		       struct tw_str *notes)
{
	struct tw_str list;
	size_t i, by_order = 0;

	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];
		const char *path = job->set.files[rank->file].path;

		bool again = i && rank->file == rank[-1].file &&
			     !strcmp(rank->message, rank[-1].message);

		by_order += rank->rule == TRAWL_RANK_BY_ORDER;
		if (rank->message[0] && !again)
			tw_str_note(notes, "%s: %s", path, rank->message);
		if (rank->rule < TRAWL_RANK_BY_NAME && rank->name_rank >= 0 &&
		    rank->name_rank != rank->rank)
			tw_str_note(notes,
				    "%s: rank %lld in the file name, %lld in the trace: using the "
				    "trace",
				    path, (long long)rank->name_rank, (long long)rank->rank);
	}
	tw_note_order(job->clashes, by_order, job->count, notes);
	tw_note_apart(&job->apart, notes);
	if (!rules->steps_chosen)
		note_steps(job, notes);
	note_world(job, notes);
	if (!job->missing_count || rules->ranks_chosen)
		return;
	tw_str_init(&list, notes->allocator);
	tw_rank_list_add_most(&list, job->missing, job->missing_count);
	if (list.failed)
		tw_str_clear(&list);
	else if (job->world_size > 0)
		tw_str_note(notes, "missing rank%s %s (%s%s has %lld)",
			    job->missing_count == 1 ? "" : "s", list.ptr,
			    job->group ? "group " : "the ", job->group ? job->group : "job",
			    (long long)job->world_size);
	else
		tw_str_note(notes, "missing rank%s %s (in recorded process groups)",
			    job->missing_count == 1 ? "" : "s", list.ptr);
	tw_str_release(&list);
}

/* Groups whose ranks are the same numbers: which, and what becomes of them. */
static void note_groups(const struct trawl_job *job, bool all, struct tw_str *notes)
{
	const struct trawl_job *at;
	struct tw_str list;
	size_t count = 0;

	if (!job->next)
		return;
	tw_str_init(&list, notes->allocator);
	for (at = job; at; at = at->next, count++)
		tw_str_addf(&list, "%s%s (%zu)", count ? ", " : "", at->group, at->count);
	if (!list.failed)
		tw_str_note(notes,
			    "%zu groups of traces have the same ranks and no collective in "
			    "common: %s; %s%s",
			    count, list.ptr,
			    all ? "each is analyzed separately" : "using only the first: ",
			    all ? "" : job->group);
	tw_str_release(&list);
}

/* Traces of different programs are not averaged unless that was asked for. */
static int check_alike(const struct trawl_job *job, bool as_ranks, struct tw_str *notes,
		       struct trawl_error *err)
{
	static const char format[] =
		"traces do not match as ranks of one job: '%s' and '%s' share no process group "
		"and %d %% of their operators and kernels%s";

	for (; job; job = job->next) {
		const char *a, *b;
		int percent = (int)(job->unlike.alike * 100);

		if (!job->is_unlike)
			continue;
		a = job->set.files[job->ranks[job->unlike.a].file].path;
		b = job->set.files[job->ranks[job->unlike.b].file].path;
		if (!as_ranks)
			return trawl_error_set(err, TRAWL_EFORMAT, format, a, b, percent,
					       "; report --each reports each trace, --as-ranks "
					       "treats them as ranks");
		tw_str_note(notes, format, a, b, percent, "");
	}
	return 0;
}

/* What a rank lacks is missing in the results: a part of its trace, or all of its GPU work. */
static bool is_whole(const struct trawl_job *job, const struct tw_job_rules *rules)
{
	size_t i;

	for (i = 0; i < job->left_out_count; i++)
		if (job->left_out[i].state != TRAWL_RANK_NOT_A_TRACE)
			return false;
	for (; job; job = rules->all_groups ? job->next : NULL) {
		if ((job->missing_count && !rules->ranks_chosen) ||
		    (job->next && !rules->all_groups))
			return false;
		for (i = 0; i < job->count; i++)
			if (job->ranks[i].state != TRAWL_RANK_READ)
				return false;
	}
	return true;
}

static int refuse_rank(const struct trawl_job *job, const struct tw_rank *rank,
		       struct trawl_error *err)
{
	return trawl_error_set(err, TRAWL_EFORMAT, "%s: not accepted with --strict: %s",
			       job->set.files[rank->file].path, rank->message);
}

static int check_strict(const struct trawl_job *job, struct trawl_error *err)
{
	const struct trawl_job *at;
	size_t i;

	for (at = job; at; at = at->next)
		for (i = 0; i < at->count; i++)
			if (at->ranks[i].worst != TRAWL_NOTE)
				return refuse_rank(at, &at->ranks[i], err);
	for (i = 0; i < job->left_out_count; i++)
		if (job->left_out[i].state != TRAWL_RANK_NOT_A_TRACE)
			return refuse_rank(job, &job->left_out[i], err);
	return 0;
}

int tw_job_check(const struct trawl_job *job, const struct tw_job_rules *rules,
		 struct tw_str *notes, bool *whole, struct trawl_error *err)
{
	const struct trawl_job *at;

	if ((rules->strict && check_strict(job, err)) ||
	    check_alike(job, rules->as_ranks, notes, err))
		return err->status;
	if (!rules->quiet) {
		note_left_out(job, notes);
		note_groups(job, rules->all_groups, notes);
		for (at = job; at; at = rules->all_groups ? at->next : NULL)
			note_ranks(at, rules, notes);
	}
	*whole = is_whole(job, rules);
	return 0;
}
