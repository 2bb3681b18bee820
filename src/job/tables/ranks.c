/* The ranks of a job: which trace is which, how that is known, and what was skipped. */
#include "job/tables/tables.h"

#include <string.h>

/* Missing ranks with a row each: a number of ranks may be broken, and the file millions of lines. */
#define MISSING_MOST 65536

enum {
	RANK,
	STATE,
	FILE_NAME,
	RULE,
	NAME_RANK,
	NODE,
	HOST,
	DEVICE,
	FIRST_STEP,
	LAST_STEP,
	EVENTS,
	GPU_EVENTS,
	COLLECTIVES,
	FIRST,
	LAST,
	BASE,
	REMARK
};

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job", .values = ">=0"),
	[STATE] = TW_TEXT(
		"state", 12,
		"read, damaged, no GPU work, duplicate, earlier capture, unreadable, not a trace, "
		"missing",
		.values = "!read|damaged|no GPU work|duplicate|unreadable|not a trace|missing"),
	[FILE_NAME] = TW_TEXT("file", 28, "trace file, below the common directory"),
	[RULE] = TW_TEXT(
		TW_COL_RANK_FROM, 10,
		"source of the rank: metadata of the trace (distributedInfo), process label, "
		"recorded collectives, file name, file order"),
	[NAME_RANK] = TW_INTEGER("rank in name", 8, "rank in the file name", .values = ">=0"),
	[NODE] = TW_INTEGER(TW_COL_NODE_ID, 7, "rank / GPUs per host", .values = ">=0"),
	[HOST] = TW_TEXT("host", 12, "host name, where recorded"),
	[DEVICE] = TW_TEXT(TW_COL_DEVICE_NAME, 22, "its GPU"),
	[FIRST_STEP] =
		TW_INTEGER("first step", 8, "first profiler step in the trace", .values = ">=0"),
	[LAST_STEP] =
		TW_INTEGER("last step", 8, "last profiler step in the trace", .values = ">=0"),
	[EVENTS] = TW_INTEGER("events", 10, "events of the trace", .values = ">=0"),
	[GPU_EVENTS] =
		TW_INTEGER(TW_COL_GPU_EVENTS, 10, "kernels, copies and fills", .values = ">=0"),
	[COLLECTIVES] = TW_INTEGER("communication kernels", 10,
				   "kernels of collectives and transfers", .values = ">=0"),
	[FIRST] = TW_US("first GPU start (us)", 18, "clock of the trace"),
	[LAST] = TW_US("last GPU end (us)", 18, "clock of the trace"),
	[BASE] = TW_NS("base time (ns)", 20, "base time of the trace's timestamps"),
	[REMARK] = TW_TEXT("remark", 40, "why it was skipped, or its anomalies"),
};

static const char *const states[] = {
	[TRAWL_RANK_READ] = "read",
	[TRAWL_RANK_DAMAGED] = "damaged",
	[TRAWL_RANK_NO_GPU] = "no GPU work",
	[TRAWL_RANK_DUPLICATE] = "duplicate",
	[TRAWL_RANK_CAPTURE] = "earlier capture",
	[TRAWL_RANK_UNREADABLE] = "unreadable",
	[TRAWL_RANK_NOT_A_TRACE] = "not a trace",
};

static const char *const rules[] = {
	[TRAWL_RANK_BY_METADATA] = "metadata",
	[TRAWL_RANK_BY_LABEL] = "label",
	[TRAWL_RANK_BY_COLLECTIVES] = "collectives",
	[TRAWL_RANK_BY_NAME] = "name",
	[TRAWL_RANK_BY_ORDER] = "order",
};

const char *tw_rank_file_name(const struct trawl_job *job, const struct tw_rank *rank)
{
	const char *path = job->set.files[rank->file].path;
	size_t len = strlen(job->set.directory);

	if (strncmp(path, job->set.directory, len))
		return path;
	path += len;
	return path + strspn(path, "/");
}

static void set_positive(struct trawl_table *table, size_t row, size_t column, int64_t value)
{
	if (value >= 0)
		tw_table_set_integer(table, row, column, value);
}

static void set_text(struct trawl_table *table, size_t row, size_t column, const char *text)
{
	if (text[0])
		tw_table_set_str(table, row, column, text);
}

static void set_read(struct trawl_table *table, size_t row, const struct trawl_job *job,
		     const struct tw_rank *rank)
{
	tw_table_set_str(table, row, RULE, rules[rank->rule]);
	set_positive(table, row, NODE, tw_job_node(job, rank->rank));
	set_text(table, row, HOST, rank->host);
	set_text(table, row, DEVICE, rank->device_name);
	set_positive(table, row, FIRST_STEP, rank->first_step);
	set_positive(table, row, LAST_STEP, rank->last_step);
	tw_table_set_integer(table, row, EVENTS, (int64_t)rank->events);
	tw_table_set_integer(table, row, GPU_EVENTS, (int64_t)rank->gpu_events);
	tw_table_set_integer(table, row, COLLECTIVES, (int64_t)rank->collective_count);
	if (rank->gpu_events) {
		tw_table_set_integer(table, row, FIRST, rank->first_ns);
		tw_table_set_integer(table, row, LAST, rank->last_ns);
	}
	if (rank->base_time_ns != TRAWL_TIME_NONE)
		tw_table_set_integer(table, row, BASE, rank->base_time_ns);
}

static void add_rank(struct trawl_table *table, const struct trawl_job *job,
		     const struct tw_rank *rank, bool analysed)
{
	size_t row = tw_table_add_row(table);

	set_positive(table, row, RANK, rank->rank);
	tw_table_set_str(table, row, STATE, states[rank->state]);
	tw_table_set_str(table, row, FILE_NAME, tw_rank_file_name(job, rank));
	set_positive(table, row, NAME_RANK, rank->name_rank);
	if (analysed)
		set_read(table, row, job, rank);
	if (rank->message[0])
		tw_table_set_str(table, row, REMARK, rank->message);
	else if (rank->name_rank >= 0 && rank->name_rank != rank->rank)
		tw_table_set_str(table, row, REMARK,
				 "different rank in the file name: using the trace");
}

static int add_ranks(const struct tw_ranks_input *in, struct trawl_table *table)
{
	const struct trawl_job *job = in->job;
	size_t i;

	for (i = 0; i < job->count; i++)
		add_rank(table, job, &job->ranks[i], true);
	for (i = 0; i < job->left_out_count; i++)
		add_rank(table, job, &job->left_out[i], false);
	for (i = 0; i < job->missing_count && i < MISSING_MOST; i++) {
		size_t row = tw_table_add_row(table);

		tw_table_set_integer(table, row, RANK, job->missing[i]);
		tw_table_set_str(table, row, STATE, "missing");
	}
	if (job->missing_count > MISSING_MOST)
		tw_table_add_note(table,
				  "%zu of the job's %lld ranks are missing; rows show the first %d",
				  job->missing_count, (long long)job->world_size, MISSING_MOST);
	else if (job->missing_count && job->world_size < 0)
		tw_table_add_note(table, "%zu ranks of recorded process groups are missing",
				  job->missing_count);
	else if (job->missing_count)
		tw_table_add_note(table, "%zu of the job's %lld ranks are missing",
				  job->missing_count, (long long)job->world_size);
	return 0;
}

const struct tw_ranks_table tw_ranks_table_ranks = {
	TW_TABLE("ranks", "ranks of the job and their sources", columns, .keep_empty = true),
	.fill = add_ranks,
};
