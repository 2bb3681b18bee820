/* What each stream does in the window of its rank: a row each. */
#include "nsys/tables.h"

#include "base/alloc.h"

#include <string.h>

enum {
	RANK = TW_STREAMS_COMPAT,
	DEVICE,
	BARRIER,
	WINDOW_START,
	WINDOW_END,
	CONTEXT,
	GREEN,
	COLUMNS
};

static const struct trawl_column columns[COLUMNS] = {
	TW_INTEGER("pid", 10, "operating system process id", .values = "!>=0"),
	TW_INTEGER("stream", 8, "stream", .over_ranks = TRAWL_KEY, .values = ">=0"),
	TW_INTEGER("n_comm", 8, "number of communication kernels", .values = "!>=0"),
	TW_INTEGER("n_comp", 8, "number of other kernels", .values = "!>=0"),
	TW_NS(TW_COL_COMM_NS, 14, "total time of communication kernels", .values = ">=0"),
	TW_NS(TW_COL_COMP_NS, 14, "total time of other kernels", .values = ">=0"),
	TW_TEXT("purpose", 12,
		"compute with any compute kernel; else the purpose of its communication: mixed if "
		"several, unknown without a range",
		.values = "!"),
	TW_INTEGER("rank", 8, "rank", .values = "!>=0"),
	TW_INTEGER("device", 8, "device number in its process", .values = ">=0"),
	TW_NS(TW_COL_BARRIER_NS, 14,
	      "communication on a compute stream: cannot overlap, not counted as exposed",
	      .values = ">=0"),
	TW_NS(TW_COL_WINDOW_START, 16, "start of the window", .values = "!"),
	TW_NS(TW_COL_WINDOW_END, 16, "end of the window", .values = "!"),
	TW_INTEGER("context", 8, "CUDA context of the stream", .values = ">=0"),
	TW_INTEGER("green_context", 8, "green context of the stream", .values = ">=0"),
};

const struct tw_table_spec tw_nsys_streams_spec = {
	.name = "streams",
	.meaning = "streams with kernels in the window of their rank",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};
#define NOT_SEEN NULL
static const char unknown[] = "unknown", mixed[] = "mixed";

static const char *purpose_of(const struct tw_nsys_capture *c, uint16_t mark)
{
	const char *purpose = mark ? c->ranges.marks.at[mark - 1].purpose : "";

	return *purpose ? purpose : unknown;
}

/* Of each stream what all its kernels are for. */
static void find_purposes(const struct tw_nsys_capture *c, const char **purposes)
{
	size_t i;

	for (i = 0; i < c->attribution.list.count; i++) {
		const struct tw_nsys_attributed *a = &c->attribution.list.at[i];
		const char **of = &purposes[c->kernels.comm.at[a->comm].stream];
		const char *purpose = purpose_of(c, a->mark);

		if (*of == NOT_SEEN)
			*of = purpose;
		else if (strcmp(*of, purpose) != 0)
			*of = mixed;
	}
}

static void set_known(struct trawl_table *table, size_t row, size_t column, int64_t value)
{
	if (value >= 0)
		tw_table_set_integer(table, row, column, value);
}

static void add_stream(const struct tw_nsys_capture *c, const struct tw_nsys_stream *s,
		       const char *purpose, struct trawl_table *table)
{
	const struct tw_nsys_rank *rank = &c->ranks.at[c->rank_of_window[s->window]];
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, TW_STREAMS_PID, tw_nsys_pid(rank->process));
	set_known(table, row, TW_STREAMS_STREAM, s->stream);
	tw_table_set_integer(table, row, TW_STREAMS_N_COMM, (int64_t)s->comm_count);
	tw_table_set_integer(table, row, TW_STREAMS_N_COMP, (int64_t)s->compute_count);
	tw_nsys_set_sum(table, row, TW_STREAMS_COMM_NS, s->comm_ns);
	tw_nsys_set_sum(table, row, TW_STREAMS_COMP_NS, s->compute_ns);
	tw_table_set_str(table, row, TW_STREAMS_PURPOSE, s->compute_count ? "compute" : purpose);
	tw_table_set_integer(table, row, RANK, rank->rank);
	set_known(table, row, DEVICE, s->device);
	tw_nsys_set_sum(table, row, BARRIER, s->compute_count ? s->comm_ns : 0);
	tw_table_set_integer(table, row, WINDOW_START, rank->start_ns);
	tw_table_set_integer(table, row, WINDOW_END, rank->end_ns);
	set_known(table, row, CONTEXT, s->context);
	set_known(table, row, GREEN, s->green);
}

int tw_nsys_streams(struct tw_nsys_capture *c, struct trawl_table *table, struct trawl_error *err)
{
	const struct tw_nsys_kernels *k = &c->kernels;
	const struct trawl_allocator *a = c->source->allocator;
	const char **purposes = tw_alloc_array(a, k->streams.count + 1, sizeof(*purposes));
	size_t i;

	if (!purposes)
		return tw_no_memory(err);
	find_purposes(c, purposes);
	for (i = 0; i < k->streams.count; i++)
		add_stream(c, &k->streams.at[i], purposes[i], table);
	return 0;
}
