/*
 * The summary of a job that a person reads in ten seconds: which ranks, what their clocks are off,
 * what was matched, where communication waits, and for whom.
 */
#include "cli/collectives.h"

#include "cli/ranks.h"
#include "ranks/syncing.h"
#include "table/table.h"

#include <string.h>

#define TOP 10
#define RANKS_SHOWN 16

struct part {
	const char *from; /* header in the table */
	const char *header;
};

struct excerpt {
	const char *table, *heading;
	size_t rows;
	const char *by; /* largest first; NULL: in the table's order */
	const struct part *parts;
	size_t count;
};

#define PARTS_MOST 12

static const struct part of_timeline[] = {
	{ "type", "part" },	  { "time ms_mean", "mean" }, { "time ms_median", "median" },
	{ "time ms_min", "min" }, { "time ms_max", "max" },   { "slowest rank", "most on rank" },
};

static const struct part of_collectives[] = {
	{ "Collective name", "collective" },
	{ "dtype", "dtype" },
	{ "Full msg size (MB)", "size" },
	{ "count", "count" },
	{ "Total comm latency (ms)", "transfer" },
	{ "Total wait time (ms)", "waiting, all ranks" },
	{ "Waiting (%)", "waiting" },
	{ "bus bw (GB/s)_mean", "bus bandwidth" },
};

static const struct part of_waiting[] = {
	{ "Collective name", "collective" },
	{ "dtype", "dtype" },
	{ "Full msg size (MB)", "size" },
	{ "count", "count" },
	{ "Total wait time (ms)", "waiting, all ranks" },
	{ "Total rank time (ms)", "time, all ranks" },
	{ "Waiting (%)", "waiting" },
	{ "skew in start time_max", "worst skew" },
};

static const struct part of_stragglers[] = {
	{ "rank", "rank" },
	{ "times_arrived_last", "came last" },
	{ "pct_arrived_last", "came last" },
	{ "caused_wait_time_us", "others waited for it" },
	{ "total_wait_time_us", "it waited" },
	{ "num_collectives", "of collectives" },
};

static const struct part of_waits[] = {
	{ "waiting rank", "rank" },
	{ "late rank", "waits for" },
	{ "times", "times" },
	{ "total wait (us)", "total" },
	{ "largest wait (us)", "largest" },
	{ "largest in", "largest in" },
	{ "node_span", "where" },
};

static const struct part of_transfers[] = {
	{ "src_rank", "from rank" },   { "dst_rank", "to rank" }, { "bytes", "size" },
	{ "start skew (us)", "skew" }, { "time (us)", "time" },	  { "GB/s", "rate" },
};

static const struct part of_mismatches[] = {
	{ "collective_id", "first" },  { "count", "count" },	{ "Collective name", "name" },
	{ "problem", "problem" },      { "ranks", "on ranks" }, { "ranks missing", "not on" },
	{ "what differs", "differs" },
};

#define EXCERPT(table, heading, rows, by, parts)                                    \
	{                                                                           \
		table, heading, rows, by, parts, sizeof(parts) / sizeof((parts)[0]) \
	}

static const struct excerpt excerpts[] = {
	EXCERPT("timeline_over_ranks", "GPU time over the ranks", TOP, NULL, of_timeline),
	EXCERPT("nccl_summary_implicit_sync", "collectives, the longest transfers first", TOP, NULL,
		of_collectives),
	EXCERPT("nccl_summary_implicit_sync", "collectives, the longest waits first", TOP,
		"Total wait time (ms)", of_waiting),
	EXCERPT("straggler_summary", "stragglers: ranks by how long they wait, the shortest first",
		RANKS_SHOWN, NULL, of_stragglers),
	EXCERPT("collective_waits", "who waits for whom, the longest first", TOP, NULL, of_waits),
	EXCERPT("transfers", "sends and receives, the longest first", TOP, "time (us)",
		of_transfers),
	EXCERPT("collective_mismatches", "collectives that do not match, the most first", TOP,
		"count", of_mismatches),
};

/* The next row behind `last` (their number: none yet): the largest by a column, else the next. */
static size_t next_row(const struct trawl_table *from, const char *by, size_t last)
{
	size_t rows = trawl_table_rows(from), best = rows, row;
	int64_t below = last < rows ? tw_table_cell(from, last, by).integer : INT64_MAX, most = 0;

	for (row = 0; row < rows; row++) {
		int64_t value = tw_table_cell(from, row, by).integer;
		bool behind = last == rows || value < below || (value == below && row > last);

		if (behind && (best == rows || value > most)) {
			best = row;
			most = value;
		}
	}
	return best;
}

/* The columns of an excerpt, under shorter headers; NULL: out of memory. */
static struct trawl_table *excerpt_of(const struct trawl_table *from, const struct excerpt *e)
{
	static const struct tw_table_spec spec = { .name = "excerpt", .meaning = "" };
	struct trawl_column columns[PARTS_MOST];
	size_t all = trawl_table_rows(from), rows = all > e->rows ? e->rows : all, at = all, row, i;
	struct trawl_table *table;

	for (i = 0; i < e->count; i++) {
		columns[i] = *trawl_table_column(from, tw_table_column(from, e->parts[i].from));
		columns[i].header = e->parts[i].header;
	}
	table = tw_table_new_columns(&spec, columns, e->count, trawl_allocator_default());
	for (row = 0; table && row < rows; row++) {
		tw_table_add_row(table);
		at = e->by ? next_row(from, e->by, at) : row;
		for (i = 0; i < e->count; i++)
			tw_table_copy_cell(table, row, i, from, at,
					   tw_table_column(from, e->parts[i].from));
	}
	if (table && rows < all)
		tw_table_add_note(table, "%zu of %zu rows: all are in %s", rows, all,
				  trawl_table_name(from));
	if (table && tw_table_finish(table, NULL)) {
		tw_table_free(table);
		return NULL;
	}
	return table;
}

static void add_excerpt(const struct cli_collectives *c, const struct excerpt *e, unsigned width,
			bool colour, struct tw_str *out)
{
	const struct trawl_table *from = cli_collectives_table(c, e->table);
	struct trawl_table *table;

	if (!from || !trawl_table_rows(from))
		return;
	table = excerpt_of(from, e);
	cli_add_heading(out, e->heading, colour);
	if (table)
		tw_render_text(table, out, width, 0);
	out->failed |= !table;
	tw_table_free(table);
}

/* ---- the first lines */

/* How the ranks are known, when all are known in the same way. */
static const char *rule_of(const struct tw_job *job)
{
	static const char *const words[] = {
		[TW_RANK_BY_METADATA] = "by the traces themselves",
		[TW_RANK_BY_NAME] = "by names of files",
		[TW_RANK_BY_ORDER] = "by the order of files",
	};
	size_t i;

	for (i = 1; i < job->count; i++)
		if (job->ranks[i].rule != job->ranks[0].rule)
			return "in several ways (see table ranks)";
	return words[job->ranks[0].rule];
}

static void add_left_out(const struct tw_job *job, struct tw_str *out)
{
	static const struct {
		enum tw_rank_state state;
		const char *words;
	} states[] = {
		{ TW_RANK_DUPLICATE, "of a rank that is there already" },
		{ TW_RANK_UNREADABLE, "unreadable" },
		{ TW_RANK_DAMAGED, "damaged" },
		{ TW_RANK_NO_GPU, "without GPU work" },
	};
	size_t i, j;

	if (job->missing_count) {
		tw_str_addf(out, "no trace of rank%s ", job->missing_count == 1 ? "" : "s");
		cli_add_rank_list(out, job->missing, job->missing_count);
		tw_str_add_char(out, '\n');
	}
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		size_t count = 0;

		for (j = 0; j < job->left_out_count; j++)
			count += job->left_out[j].state == states[i].state;
		for (j = 0; j < job->count; j++)
			count += job->ranks[j].state == states[i].state;
		if (count)
			tw_str_addf(out, "%zu trace%s %s\n", count, count == 1 ? "" : "s",
				    states[i].words);
	}
}

static void add_ranks(const struct tw_job *job, struct tw_str *out)
{
	uint64_t events = 0, kernels = 0;
	size_t i;

	for (i = 0; i < job->count; i++) {
		events += job->ranks[i].events;
		kernels += job->ranks[i].collective_count;
	}
	tw_str_addf(out, "%zu rank%s", job->count, job->count == 1 ? "" : "s");
	if (job->world_size > 0)
		tw_str_addf(out, " of %lld", (long long)job->world_size);
	tw_str_addf(out, ", known %s\n", rule_of(job));
	tw_str_addf(out, "%llu events, %llu communication kernels", (unsigned long long)events,
		    (unsigned long long)kernels);
	if (job->gpus_per_node > 0)
		tw_str_addf(out, "; %lld GPU%s a node", (long long)job->gpus_per_node,
			    job->gpus_per_node == 1 ? "" : "s");
	tw_str_add_char(out, '\n');
	add_left_out(job, out);
}

static int count_unsound(void *context, const struct tw_sync *sync)
{
	*(uint64_t *)context += !sync->sound;
	return 0;
}

static void add_unsound(const struct tw_ranks_input *in, struct tw_str *out)
{
	uint64_t count = 0;

	tw_visit_syncs(in, count_unsound, &count);
	if (count)
		tw_str_addf(out,
			    "%llu of the doubtful did not run at one time: they are left out of "
			    "waits\n",
			    (unsigned long long)count);
}

static void add_matches(const struct tw_ranks_input *in, struct tw_str *out)
{
	const struct tw_matches *matches = in->matches;
	uint64_t states[TW_MATCH_LOCAL + 1] = { 0 }, rules[TW_MATCH_BY_ORDER + 1] = { 0 };
	uint64_t doubtful = 0, different = 0, m;

	for (m = 0; m < matches->count; m++) {
		const struct tw_match *match = &matches->matches[m];

		states[match->state]++;
		rules[match->rule] += match->count > 1;
		doubtful += match->count > 1 && match->sureness == TW_MATCH_DOUBTFUL;
		different += match->sureness == TW_MATCH_DIFFERENT;
	}
	tw_str_addf(out, "%llu collectives: %llu on all ranks of their group",
		    (unsigned long long)matches->count, (unsigned long long)states[TW_MATCH_WHOLE]);
	if (states[TW_MATCH_PARTIAL])
		tw_str_addf(out, ", %llu lacking on some",
			    (unsigned long long)states[TW_MATCH_PARTIAL]);
	if (states[TW_MATCH_ALONE])
		tw_str_addf(out, ", %llu on one only", (unsigned long long)states[TW_MATCH_ALONE]);
	if (states[TW_MATCH_LOCAL])
		tw_str_addf(out, ", %llu of ranks whose group has no other trace",
			    (unsigned long long)states[TW_MATCH_LOCAL]);
	tw_str_addf(out, "\nmatched: %llu by id, %llu by sequence number, %llu by order",
		    (unsigned long long)rules[TW_MATCH_BY_ID],
		    (unsigned long long)rules[TW_MATCH_BY_SEQUENCE],
		    (unsigned long long)rules[TW_MATCH_BY_ORDER]);
	if (doubtful)
		tw_str_addf(out, "; %llu doubtful", (unsigned long long)doubtful);
	if (different)
		tw_str_addf(out, "; %llu record different things", (unsigned long long)different);
	tw_str_add_char(out, '\n');
	add_unsound(in, out);
}

/* Offset and its uncertainty of the rank whose clock is furthest off, NULL: none is known. */
static const struct tw_clock *furthest(const struct tw_ranks_input *in, size_t *rank)
{
	const struct tw_clock *most = NULL;
	size_t i;

	for (i = 0; i < in->job->count; i++) {
		const struct tw_clock *clock = &in->clocks->of[i];
		int64_t off = clock->offset_ns < 0 ? -clock->offset_ns : clock->offset_ns;

		if (!clock->known || i == in->clocks->reference)
			continue;
		if (!most || off > (most->offset_ns < 0 ? -most->offset_ns : most->offset_ns)) {
			most = clock;
			*rank = i;
		}
	}
	return most;
}

static void add_clocks(const struct tw_ranks_input *in, struct tw_str *out)
{
	static const char *const applied[] = {
		[TW_ALIGN_AUTO] = "as they are",
		[TW_ALIGN_COLLECTIVES] = "aligned by the ends of collectives",
		[TW_ALIGN_BASE_TIME] = "with the traces' base times",
		[TW_ALIGN_NONE] = "as the traces have them",
	};
	size_t rank = 0;
	const struct tw_clock *most = furthest(in, &rank);

	tw_str_addf(out, "clocks: %s", applied[in->clocks->align]);
	if (most) {
		tw_str_add_cstr(out, "\nfurthest off is the clock of rank ");
		tw_str_add_int(out, in->job->ranks[rank].rank);
		tw_str_add_cstr(out, " by ");
		tw_str_add_decimal_fixed(out, most->offset_ns, 3, 1);
		tw_str_add_cstr(out, " \xC2\xB1 ");
		tw_str_add_decimal_fixed(out, most->uncertainty_ns, 3, 1);
		tw_str_add_cstr(out, " \xC2\xB5s");
	}
	tw_str_add_char(out, '\n');
	if (in->clocks->differ && in->clocks->align != TW_ALIGN_COLLECTIVES)
		tw_str_add_cstr(out, "the ends of collectives say that clocks differ: skews and "
				     "waits hold that\ndifference; --align collectives takes it "
				     "out\n");
}

void cli_summarise_collectives(const struct cli_collectives *c, unsigned width, bool colour,
			       struct tw_str *out)
{
	size_t i;

	add_ranks(c->in->job, out);
	if (!c->in->matches->count)
		tw_str_add_cstr(out, "no communication kernels\n");
	else
		add_matches(c->in, out);
	if (c->in->matches->count && c->in->job->count > 1)
		add_clocks(c->in, out);
	for (i = 0; i < sizeof(excerpts) / sizeof(excerpts[0]); i++)
		add_excerpt(c, &excerpts[i], width, colour, out);
}
