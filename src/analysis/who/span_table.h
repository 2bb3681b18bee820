/* Columns that tables of spans share: GPU work by launch and by time. */
#ifndef TW_ANALYSIS_WHO_SPAN_TABLE_H
#define TW_ANALYSIS_WHO_SPAN_TABLE_H

#include "analysis/who/span_work.h"
#include "derive/spans.h"

/* Parts of a busy time, from a first column on. */
enum {
	TW_BUSY_BUSY,
	TW_BUSY_COMPUTING,
	TW_BUSY_EXPOSED_COMMUNICATION,
	TW_BUSY_EXPOSED_COPIES,
	TW_BUSY_IDLE,
	TW_BUSY_COMMUNICATION,
	TW_BUSY_COLUMNS
};

/* Over ranks: what computing is, most columns, and exposed copies and all communication, which are least asked for. */
#define TW_BUSY_COLUMN_LIST(first, suffix, where, computing_is, most_is, rest_is)                  \
	[(first) + TW_BUSY_BUSY] = TW_MS("busy" suffix, 14, "union of the GPU events " where,      \
					 .over_ranks = most_is, .values = ">=0"),                  \
		   [(first) + TW_BUSY_COMPUTING] =                                                 \
			   TW_MS("computing" suffix, 14, "part of it that computes",               \
				 .over_ranks = computing_is, .values = ">=0"),                     \
		   [(first) + TW_BUSY_EXPOSED_COMMUNICATION] = TW_MS(                              \
			   "exposed communication" suffix, 14, "communication less computing",     \
			   .over_ranks = most_is, .values = ">=0"),                                \
		   [(first) + TW_BUSY_EXPOSED_COPIES] = TW_MS(                                     \
			   "exposed copies" suffix, 14, "copies less computing and communication", \
			   .over_ranks = rest_is, .values = ">=0"),                                \
		   [(first) + TW_BUSY_IDLE] = TW_MS("idle" suffix, 14,                             \
						    "the rest of the span or time",                \
						    .over_ranks = most_is, .values = ">=0"),       \
		   [(first) + TW_BUSY_COMMUNICATION] =                                             \
			   TW_MS("communication" suffix, 14, "union of communication " where,      \
				 .over_ranks = rest_is, .values = ">=0")

/* By launch. */
enum {
	TW_SPAN_EVENTS,
	TW_SPAN_LAUNCHES,
	TW_SPAN_FIRST,
	TW_SPAN_SPAN,
	TW_SPAN_BUSY,
	TW_SPAN_GPU = TW_SPAN_BUSY + TW_BUSY_COLUMNS,
	TW_SPAN_DELAY,
	TW_SPAN_LATE,
	TW_SPAN_AFTER,
	TW_SPAN_COLUMNS
};

#define TW_SPAN_COLUMN_LIST(first, computing_is, most_is)                                          \
	[(first) +                                                                                 \
		TW_SPAN_EVENTS] =                                                                  \
		TW_INTEGER(TW_COL_GPU_EVENTS, 10, "GPU events launched in it",                     \
			   .over_ranks = (most_is) ? TRAWL_COUNT : TRAWL_NOT_SUMMED,               \
			   .values = ">=0"),                                                       \
		[(first) + TW_SPAN_LAUNCHES] = TW_INTEGER("launches", 10,                          \
							  "calls that launched them",              \
							  .over_ranks = most_is, .values = ">=0"), \
		[(first) + TW_SPAN_FIRST] = TW_US("first start (µs)", 20, "first start of them"),  \
		[(first) + TW_SPAN_SPAN] = TW_MS(                                                  \
			"span (ms)", 14, "first start to last end of them",                        \
			.over_ranks = (most_is) ? TRAWL_MAX : TRAWL_NOT_SUMMED, .values = ">=0"),  \
		TW_BUSY_COLUMN_LIST((first) + TW_SPAN_BUSY, " (ms)", "launched in it",             \
				    computing_is, most_is, most_is),                               \
		[(first) + TW_SPAN_GPU] = TW_MS(TW_COL_GPU_TIME_MS, 14, "sum of their durations",  \
						.over_ranks = most_is, .values = ">=0"),           \
		[(first) + TW_SPAN_DELAY] =                                                        \
			TW_MS("start after host (ms)", 14,                                         \
			      "first start of them after its start on the host"),                  \
		[(first) + TW_SPAN_LATE] = TW_MS("end after host (ms)", 14,                        \
						 "last end of them after its end on the host"),    \
		[(first) + TW_SPAN_AFTER] =                                                        \
			TW_MS("started after end (ms)", 14,                                        \
			      "part of GPU time that started after its end on the host",           \
			      .over_ranks = most_is, .values = ">=0")

/* Cells from column `first` on; by launch they stay missing where nothing is known of launches. */
void tw_set_span_work(struct trawl_table *table, size_t row, size_t first,
		      const struct tw_derived *derived, const struct tw_span_work *work,
		      const struct tw_span *span, bool has_launches);
void tw_set_span_during(struct trawl_table *table, size_t row, size_t first,
			const struct tw_span_work *work);

/* Rows of what is in no span, where there are GPU events: with them rows add up to the view. */
struct tw_rest_columns {
	size_t name, work, during;
};
void tw_add_rest_rows(struct trawl_table *table, const struct tw_derived *derived,
		      const struct tw_spans_work *work, const struct tw_rest_columns *columns);

#endif
