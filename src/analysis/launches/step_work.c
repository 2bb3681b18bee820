/*
 * The GPU work of each step or range of the view: what it launched, when that ran, and what
 * else ran meanwhile.
 */
#include "analysis/analysis.h"

#include "data/limits.h"
#include "text/str.h"

#include <string.h>

enum { ANNOTATION, START, END, EVENTS, FIRST, LAST, BUSY, AFTER, OF_BUSY, OTHER, GPU, DURING };

static const struct trawl_column columns[] = {
	[ANNOTATION] = TW_TEXT("annotation", 32, "name of the step or range",
			       .over_ranks = TRAWL_KEY, .values = "!"),
	[START] = TW_US("host start (µs)", 20, "start on the host, trace clock"),
	[END] = TW_US("host end (µs)", 20, "end on the host"),
	[EVENTS] = TW_INTEGER(TW_COL_GPU_EVENTS, 10, "GPU events launched in it",
			      .over_ranks = TRAWL_COUNT, .place = 1, .values = "!>=0"),
	[FIRST] = TW_US("first start (µs)", 20, "first start of its GPU events"),
	[LAST] = TW_US("last end (µs)", 20, "last end of its GPU events"),
	[BUSY] = TW_MS("busy (ms)", 14, "union of its GPU events", .over_ranks = TRAWL_TIME),
	[AFTER] = TW_MS("after its end (ms)", 14, "part of busy after its end on the host",
			.over_ranks = TRAWL_TOTAL),
	[OF_BUSY] = TW_PERCENT_1("after its end (%)", 10, "share of busy time",
				 .over_ranks = TRAWL_SHARE, .place = 1, .values = ">=0"),
	[OTHER] = TW_MS("other work (ms)", 14,
			"time from first start to last end in which only other work ran",
			.over_ranks = TRAWL_TOTAL),
	[GPU] = TW_MS("GPU busy during it (ms)", 14,
		      "time with any GPU work, from its start to its end on the host",
		      .over_ranks = TRAWL_TOTAL),
	[DURING] = TW_MS("own during it (ms)", 14, "part of that with work launched in it",
			 .over_ranks = TRAWL_TOTAL),
};

static void add_step_row(const struct tw_analysis_input *in, struct trawl_table *table,
			 const struct tw_step *step)
{
	size_t row = tw_table_add_row(table);

	tw_set_name(table, row, ANNOTATION, in->trace, in->trace->events.name[step->event]);
	tw_table_set_integer(table, row, START, step->start_ns);
	tw_table_set_integer(table, row, END, step->end_ns);
	tw_table_set_integer(table, row, GPU, step->gpu_ns);
	if (!in->derived->steps.has_launches)
		return;
	tw_table_set_integer(table, row, EVENTS, (int64_t)step->launched);
	tw_table_set_integer(table, row, BUSY, step->busy_ns);
	tw_table_set_integer(table, row, AFTER, step->after_ns);
	tw_table_set_integer(table, row, OTHER, step->other_ns);
	tw_table_set_integer(table, row, DURING, step->during_ns);
	if (!step->launched)
		return;
	tw_table_set_integer(table, row, FIRST, step->first_ns);
	tw_table_set_integer(table, row, LAST, step->last_ns);
	tw_set_percent(table, row, OF_BUSY, (double)step->after_ns, (double)step->busy_ns);
}

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

static double percent(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void tw_describe_step_work(const struct tw_steps *s, struct tw_str *out)
{
	bool one = s->count == 1;
	int64_t elsewhere = tw_steps_elsewhere(s);

	if (!s->count || !s->has_launches)
		return;
	tw_str_addf(out, "launched in %s: %.3f ms of GPU work, %.3f ms of it (%.1f %%) %s\n",
		    one ? "it" : "them", ms(s->busy_ns), ms(elsewhere),
		    percent(elsewhere, s->busy_ns),
		    one ? "after it ended on the host" : "outside their time on the host");
	tw_str_addf(out,
		    "GPU busy during %s time on the host: %.3f ms, %.3f ms of it (%.1f %%) with "
		    "work launched in %s\n",
		    one ? "its" : "their", ms(s->gpu_ns), ms(s->during_ns),
		    percent(s->during_ns, s->gpu_ns), one ? "it" : "them");
	if (s->by_launch && s->by_start)
		tw_str_addf(out,
			    "%llu GPU events have no matching launch: counted by their start "
			    "time\n",
			    (unsigned long long)s->by_start);
	if (s->by_launch && s->earlier)
		tw_str_addf(out,
			    "%llu GPU events in %s time were launched before recording began: "
			    "other work\n",
			    (unsigned long long)s->earlier, one ? "its" : "their");
	if (s->annotated && s->outside_ns > s->busy_ns / 100 * TW_LIMIT_UNCOVERED_PERCENT)
		tw_str_addf(out,
			    "GPU annotations of that name do not cover %.3f ms (%.1f %%) of the "
			    "launched work\n",
			    ms(s->outside_ns), percent(s->outside_ns, s->busy_ns));
}

static void add_work_notes(const struct tw_steps *steps, struct trawl_table *table,
			   const struct trawl_allocator *allocator)
{
	struct tw_str text;
	char *line, *end;

	tw_str_init(&text, allocator);
	tw_describe_step_work(steps, &text);
	for (line = text.failed ? NULL : text.ptr; line && (end = strchr(line, '\n'));
	     line = end + 1) {
		*end = 0;
		tw_table_add_note(table, "%s", line);
	}
}

static int run_step_work(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct tw_steps *steps = &in->derived->steps;
	uint64_t i;

	for (i = 0; i < steps->count; i++)
		add_step_row(in, table, &steps->items[i]);
	if (steps->count)
		add_work_notes(steps, table, in->allocator);
	return 0;
}

const struct tw_analysis tw_analysis_step_work = {
	TW_TABLE("step_work",
		 "GPU work launched in each step or range of the view, and when it "
		 "ran",
		 columns, .in_order = true),
	.needs = TW_NEEDS_GPU,
	.run = run_step_work,
};
