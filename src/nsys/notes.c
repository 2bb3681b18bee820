/* What a reader of a query's table has to know beside its numbers. */
#include "nsys/capture.h"

#include <string.h>

/* Notes name this many ranks, in lines of about this many characters. */
#define SHOWN_RANKS 16
#define LINE 76

static void note_ranks(const struct tw_nsys_capture *c, struct trawl_table *table)
{
	if (!c->ranks.count)
		tw_table_add_note(table, "no ranks: no labels in ranges, and no process with GPU "
					 "work or ranges");
	else if (c->numbered)
		tw_table_add_note(table,
				  "no rank labels in ranges: processes with %s are numbered by pid",
				  c->workers ? "GPU work" : "ranges");
}

/* Processes with ranges that are no rank: launchers, loaders of data. */
static void note_others(const struct tw_nsys_capture *c, struct trawl_table *table)
{
	struct tw_str text;
	size_t i, count = 0;

	if (c->numbered)
		return;
	tw_str_init(&text, c->source->allocator);
	for (i = 0; i < c->ranges.processes.count; i++) {
		const struct tw_nsys_process *p = &c->ranges.processes.at[i];

		if (p->label)
			continue;
		if (count++ < SHOWN_RANKS)
			tw_str_addf(&text, "%s%lld", count > 1 ? ", " : "",
				    (long long)tw_nsys_pid(p->process));
	}
	if (count && !text.failed)
		tw_table_add_note(table, "%zu process%s with ranges but no rank label: pid %s%s",
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
static void note_each(const struct tw_nsys_capture *c, size_t first, struct trawl_table *table)
{
	struct tw_str line, piece;
	size_t i, shown = 0;

	tw_str_init(&line, c->source->allocator);
	tw_str_init(&piece, c->source->allocator);
	for (i = first; i < c->ranks.count; i++) {
		const struct tw_nsys_rank *rank = &c->ranks.at[i];

		if (!same_rule(&c->ranks.at[first], rank) || shown++ >= SHOWN_RANKS)
			continue;
		tw_str_clear(&piece);
		tw_str_addf(&piece, "rank %lld: %lld to %lld", (long long)rank->rank,
			    (long long)rank->start_ns, (long long)rank->end_ns);
		if (line.len + piece.len > LINE)
			add_line(&line, table);
		tw_str_addf(&line, "%s%s", line.len ? ", " : "window in ns, ",
			    piece.failed ? "" : piece.ptr);
	}
	add_line(&line, table);
	if (shown > SHOWN_RANKS)
		tw_table_add_note(table, "%zu more windows: see the columns", shown - SHOWN_RANKS);
	tw_str_release(&piece);
	tw_str_release(&line);
}

static void note_group(const struct tw_nsys_capture *c, size_t first, bool rules_alone,
		       struct trawl_table *table)
{
	const struct tw_nsys_rank *rank = &c->ranks.at[first];
	bool same = true;
	size_t i;

	for (i = first; i < c->ranks.count; i++)
		if (same_rule(rank, &c->ranks.at[i]))
			same = same && rank->start_ns == c->ranks.at[i].start_ns &&
			       rank->end_ns == c->ranks.at[i].end_ns;
	if (same && !rules_alone) {
		tw_table_add_note(table, "window: %s, %lld to %lld ns", rank->rule,
				  (long long)rank->start_ns, (long long)rank->end_ns);
		return;
	}
	tw_table_add_note(table, "window: %s", rank->rule);
	if (!rules_alone)
		note_each(c, first, table);
}

/* Beyond this many groups, each rank's rule stands in the table of windows alone. */
#define GROUPS 4

void tw_nsys_window_notes(const struct tw_nsys_capture *c, bool rules_alone,
			  struct trawl_table *table)
{
	size_t i, before, groups = 0;

	for (i = 0; i < c->ranks.count; i++) {
		for (before = 0; before < i && !same_rule(&c->ranks.at[before], &c->ranks.at[i]);
		     before++)
			;
		if (before < i || !c->ranks.at[i].windowed)
			continue;
		if (groups++ < GROUPS)
			note_group(c, i, rules_alone, table);
	}
	if (groups > GROUPS)
		tw_table_add_note(table, "windows by %zu more rules: see 'trawl nsys windows'",
				  groups - GROUPS);
}

enum held { NOT_CAPTURED, HELD, DAMAGED };

/*
 * What an export holds of a table.  Older ones have tables of what was not captured, too, without
 * rows; one that cannot be read is something else.
 */
static enum held held_of(const struct tw_nsys_capture *c, const char *table)
{
	struct trawl_error err;
	int64_t first, last;
	int rows = tw_database_range(c->source->database, table, &first, &last, &err);
	size_t i;

	for (i = 0; i < TW_NSYS_TOLD && c->source->told[i].table; i++)
		if (!strcmp(c->source->told[i].table, table) && c->source->told[i].damage)
			return DAMAGED;
	return rows < 0 ? DAMAGED : rows ? HELD : NOT_CAPTURED;
}

static void note_table(const struct tw_nsys_capture *c, const char *name, const char *what,
		       struct trawl_table *table)
{
	enum held held = held_of(c, name);

	if (held == NOT_CAPTURED)
		tw_table_add_note(table, "no %s in the export: %s not captured", name, what);
	else if (held == DAMAGED)
		tw_table_add_note(table, "%s is damaged: %s are missing, how many is unknown", name,
				  what);
}

void tw_nsys_capture_notes(const struct tw_nsys_capture *c, struct trawl_table *table)
{
	tw_table_add_note(table, "%s", c->chosen);
	note_ranks(c, table);
	note_others(c, table);
	note_table(c, TW_NSYS_RANGES, "NVTX ranges", table);
	note_table(c, TW_NSYS_KERNELS, "kernels", table);
}

static const char *why_no_launch(const struct tw_nsys_capture *c)
{
	static const char *const words[] = { [NOT_CAPTURED] = " (API calls not captured)",
					     [HELD] = "",
					     [DAMAGED] = " (table of API calls damaged)" };

	return words[held_of(c, TW_NSYS_CALLS)];
}

void tw_nsys_kernel_notes(const struct tw_nsys_capture *c, struct trawl_table *table)
{
	const struct tw_nsys_kernels *k = &c->kernels;
	uint64_t clipped = 0, barriers = 0;
	uint64_t without_launch = c->attribution.without_launch;
	tw_wide barrier_ns = 0;
	size_t i;

	for (i = 0; i < k->streams.count; i++) {
		clipped += k->streams.at[i].clipped;
		if (!k->streams.at[i].compute_count)
			continue;
		barriers += k->streams.at[i].comm_count;
		barrier_ns += k->streams.at[i].comm_ns;
	}
	if (clipped)
		tw_table_add_note(table, "%llu kernel%s an edge of the window: clipped",
				  (unsigned long long)clipped,
				  clipped == 1 ? " crosses" : "s cross");
	if (barriers && tw_wide_fits(barrier_ns))
		tw_table_add_note(table,
				  "communication on compute streams (barriers): %llu kernel%s, "
				  "%lld ns",
				  (unsigned long long)barriers, barriers == 1 ? "" : "s",
				  (long long)barrier_ns);
	if (without_launch)
		tw_table_add_note(
			table,
			"communication without a matching launch, assigned by its start: %llu "
			"kernel%s%s",
			(unsigned long long)without_launch, without_launch == 1 ? "" : "s",
			why_no_launch(c));
	if (k->again)
		tw_table_add_note(table,
				  "%llu duplicate kernel records in the windows: counted "
				  "once",
				  (unsigned long long)k->again);
	if (k->unnamed)
		tw_table_add_note(table, "kernels without a name, counted as compute: %llu",
				  (unsigned long long)k->unnamed);
	if (held_of(c, TW_NSYS_GRAPHS) == HELD)
		tw_table_add_note(table, "CUDA graphs captured as a whole: their kernels count "
					 "neither as compute nor as communication; capture with "
					 "--cuda-graph-trace=node");
	if (k->table && !k->rows)
		tw_table_add_note(table, "no kernels in the windows%s",
				  held_of(c, TW_NSYS_KERNELS) == DAMAGED ?
					  " among those that could be read" :
					  "");
}
