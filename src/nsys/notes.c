/* What a reader of a query's table has to know beside its numbers. */
#include "nsys/capture.h"

#include <string.h>

/* Notes name this many ranks, in lines of about this many characters. */
#define SHOWN_RANKS 16
#define LINE 76

static void note_ranks(const struct tw_nsys_capture *c, struct trawl_table *table)
{
	if (c->numbered && c->rank_count)
		tw_table_add_note(table, "no range labels a rank: processes %s are numbered by pid",
				  c->kernels.table || !c->ranges.table ? "with GPU work" :
									 "are ranks and");
	else if (!c->rank_count)
		tw_table_add_note(table, "no ranks: no range labels one, and no process has GPU "
					 "work or ranges");
}

/* Processes with ranges that are no rank: launchers, loaders of data. */
static void note_others(const struct tw_nsys_capture *c, struct trawl_table *table)
{
	struct tw_str text;
	size_t i, count = 0;

	if (c->numbered)
		return;
	tw_str_init(&text, c->source->allocator);
	for (i = 0; i < c->ranges.process_count; i++) {
		const struct tw_nsys_process *p = &c->ranges.processes[i];

		if (p->label)
			continue;
		if (count++ < SHOWN_RANKS)
			tw_str_addf(&text, "%s%lld", count > 1 ? ", " : "",
				    (long long)tw_nsys_pid(p->process));
	}
	if (count && !text.failed)
		tw_table_add_note(table,
				  "%zu process%s with ranges but no label, no rank: pid %s%s",
				  count, count == 1 ? "" : "es", text.ptr,
				  count > SHOWN_RANKS ? ", ..." : "");
	tw_str_release(&text);
}

static bool same_rule(const struct tw_nsys_rank *a, const struct tw_nsys_rank *b)
{
	return a->windowed && b->windowed && !strcmp(a->rule, b->rule);
}

static void add_line(struct tw_str *line, struct trawl_table *table)
{
	if (line->len && !line->failed)
		tw_table_add_note(table, "%s", line->ptr);
	tw_str_clear(line);
}

/* The windows of the ranks from `first` on that were chosen by the same rule. */
static void note_group(const struct tw_nsys_capture *c, size_t first, struct trawl_table *table)
{
	const struct tw_nsys_rank *rank = &c->ranks[first];
	size_t i, shown = 0, count = 0;
	struct tw_str line;
	bool same = true;

	for (i = first; i < c->rank_count; i++)
		if (same_rule(rank, &c->ranks[i])) {
			count++;
			same = same && rank->start_ns == c->ranks[i].start_ns &&
			       rank->end_ns == c->ranks[i].end_ns;
		}
	tw_str_init(&line, c->source->allocator);
	tw_str_addf(&line, "window: %s", rank->rule);
	if (same)
		tw_str_addf(&line, ": %lld to %lld ns", (long long)rank->start_ns,
			    (long long)rank->end_ns);
	add_line(&line, table);
	for (i = first; i < c->rank_count && !same; i++) {
		if (!same_rule(rank, &c->ranks[i]) || shown++ >= SHOWN_RANKS)
			continue;
		if (line.len > LINE - 40)
			add_line(&line, table);
		tw_str_addf(&line, "%srank %lld: %lld to %lld", line.len ? ", " : "window in ns, ",
			    (long long)c->ranks[i].rank, (long long)c->ranks[i].start_ns,
			    (long long)c->ranks[i].end_ns);
	}
	if (shown > SHOWN_RANKS)
		tw_str_addf(&line, " and %zu more", count - SHOWN_RANKS);
	add_line(&line, table);
	tw_str_release(&line);
}

static void note_windows(const struct tw_nsys_capture *c, struct trawl_table *table)
{
	size_t i, before;

	for (i = 0; i < c->rank_count; i++) {
		for (before = 0; before < i && !same_rule(&c->ranks[before], &c->ranks[i]);
		     before++)
			;
		if (before == i && c->ranks[i].windowed)
			note_group(c, i, table);
	}
}

void tw_nsys_capture_notes(const struct tw_nsys_capture *c, bool windows, struct trawl_table *table)
{
	tw_table_add_note(table, "%s", c->chosen);
	note_ranks(c, table);
	note_others(c, table);
	if (windows)
		note_windows(c, table);
	if (!c->ranges.table)
		tw_table_add_note(table, "no NVTX_EVENTS in the export: no ranges were captured");
	if (!tw_database_has_table(c->source->database, "CUPTI_ACTIVITY_KIND_KERNEL"))
		tw_table_add_note(table, "no CUPTI_ACTIVITY_KIND_KERNEL in the export: no kernels "
					 "were captured");
}

void tw_nsys_kernel_notes(const struct tw_nsys_capture *c, uint64_t without_launch,
			  struct trawl_table *table)
{
	const struct tw_nsys_kernels *k = &c->kernels;
	uint64_t clipped = 0, barriers = 0;
	tw_wide barrier_ns = 0;
	size_t i;

	for (i = 0; i < k->stream_count; i++) {
		clipped += k->streams[i].clipped;
		if (!k->streams[i].compute_count)
			continue;
		barriers += k->streams[i].comm_count;
		barrier_ns += k->streams[i].comm_ns;
	}
	if (clipped)
		tw_table_add_note(table,
				  "%llu kernels cross an edge of their window, clipped to it",
				  (unsigned long long)clipped);
	if (barriers && tw_wide_fits(barrier_ns))
		tw_table_add_note(
			table,
			"%llu communication kernels (%lld ns) run on streams that compute: "
			"barriers, not exposed",
			(unsigned long long)barriers, (long long)barrier_ns);
	if (without_launch)
		tw_table_add_note(table,
				  "%llu communication kernels have no recorded launch: placed by "
				  "their start on the GPU",
				  (unsigned long long)without_launch);
	if (k->unnamed)
		tw_table_add_note(table, "%llu kernels have no name: taken for computation",
				  (unsigned long long)k->unnamed);
	if (k->table && !k->rows)
		tw_table_add_note(table, "no kernels in the windows");
}
