/* The summary of a job: ranks, clock offsets, matching, waits and stragglers. */
#include "cli/ranks/collectives.h"
#include "cli/screen.h"

#include "cli/ranks/ranks.h"
#include "cli/ranks/ranks_verdict.h"
#include "job/collectives/syncing.h"
#include "job/tables/all_tables.h"
#include "table/table.h"

#include <string.h>

#define TOP 10

static const struct cli_part of_timeline[] = {
	{ "type", "part" },
	{ TW_COL_TIME_MS_MEAN, "mean" },
	{ TW_COL_TIME_MS_MEDIAN, "median" },
	{ TW_COL_TIME_MS_MIN, "min" },
	{ TW_COL_TIME_MS_MAX, "max" },
	{ TW_COL_SLOWEST_RANK, "max on rank" },
};

static const struct cli_part of_collectives[] = {
	{ TW_COL_COLLECTIVE_NAME, "collective" },
	{ "dtype", "dtype" },
	{ TW_COL_FULL_MSG_SIZE_MB, "size" },
	{ "count", "count" },
	{ TW_COL_TOTAL_COMM_LATENCY_MS, "transfer" },
	{ TW_COL_TOTAL_WAIT_TIME_MS, "wait, all ranks" },
	{ TW_COL_WAITING_PERCENT, "waiting" },
	{ "bus bw (GB/s)_mean", "bus bandwidth" },
};

static const struct cli_part of_waiting[] = {
	{ TW_COL_COLLECTIVE_NAME, "collective" },
	{ "dtype", "dtype" },
	{ TW_COL_FULL_MSG_SIZE_MB, "size" },
	{ "count", "count" },
	{ TW_COL_TOTAL_WAIT_TIME_MS, "wait, all ranks" },
	{ TW_COL_TOTAL_RANK_TIME_MS, "time, all ranks" },
	{ TW_COL_WAITING_PERCENT, "waiting" },
	{ "skew in start time_max", "worst skew" },
};

static const struct cli_part of_all_to_allv[] = {
	{ TW_COL_PROCESS_GROUP_NAME, "group" },
	{ "dtype", "dtype" },
	{ "count", "count" },
	{ TW_COL_TOTAL_WALL_TIME_MS, "wall time" },
	{ "skew in start time_max", "worst skew" },
	{ TW_COL_RECEIVE_IMBALANCE_MEAN, TW_COL_RECEIVE_IMBALANCE },
	{ TW_COL_RANK_THAT_RECEIVES_MOST, "max receiver" },
	{ TW_COL_SIZE_IMBALANCE_MEAN, "send imbalance" },
	{ "throughput (GB/s)_mean", "rate" },
};

static const struct cli_part of_waits[] = {
	{ TW_COL_WAITING_RANK, "rank" },
	{ TW_COL_LATE_RANK, "waits for" },
	{ "times", "times" },
	{ TW_COL_TOTAL_WAIT_US, "total" },
	{ TW_COL_LARGEST_WAIT_US, "largest" },
	{ TW_COL_LARGEST_IN, TW_COL_LARGEST_IN },
	{ TW_COL_NODE_SPAN, "where" },
};

static const struct cli_part of_transfers[] = {
	{ TW_COL_SRC_RANK, "from rank" }, { TW_COL_DST_RANK, "to rank" }, { "bytes", "size" },
	{ TW_COL_START_SKEW_US, "skew" }, { TW_COL_TIME_IN_US, "time" },  { "GB/s", "rate" },
};

static const struct cli_part of_mismatches[] = {
	{ TW_COL_COLLECTIVE_ID, "first" },
	{ "count", "count" },
	{ TW_COL_COLLECTIVE_NAME, "name" },
	{ "problem", "problem" },
	{ "ranks", "on ranks" },
	{ TW_COL_RANKS_MISSING, "missing on" },
	{ TW_COL_WHAT_DIFFERS, "differs" },
};

static const struct cli_excerpt of_late_ranks[] = {
	CLI_EXCERPT("collective_waits", "top waits by rank pair", TOP, NULL, of_waits),
	CLI_EXCERPT("nccl_summary_implicit_sync", "top collectives by wait time", TOP,
		    TW_COL_TOTAL_WAIT_TIME_MS, of_waiting),
	CLI_EXCERPT("nccl_summary_implicit_sync", "top collectives by transfer time", TOP, NULL,
		    of_collectives),
};

static const struct cli_excerpt of_exchanges = CLI_EXCERPT(
	"nccl_summary_all2allv", "top all_to_allv by wall time", TOP, NULL, of_all_to_allv);

static const struct cli_excerpt of_the_rest[] = {
	CLI_EXCERPT("transfers", "top sends and receives by time", TOP, TW_COL_TIME_IN_US,
		    of_transfers),
	CLI_EXCERPT("collective_mismatches", "top collective mismatches by count", TOP, "count",
		    of_mismatches),
	CLI_EXCERPT("timeline_over_ranks", "GPU time over ranks", TOP, NULL, of_timeline),
};

/* ---- the first lines */

/* Whether it is skipped because the step or range is missing. */
static bool lacks_view(const struct trawl_rank *rank)
{
	return rank->state == TRAWL_RANK_UNREADABLE && rank->status == TRAWL_EUSAGE;
}

static void add_left_out(const struct trawl_job *job, struct tw_str *out)
{
	static const struct {
		enum trawl_rank_state state;
		const char *words;
	} states[] = {
		{ TRAWL_RANK_DUPLICATE, "skipped: duplicate rank" },
		{ TRAWL_RANK_CAPTURE, "skipped: earlier capture" },
		{ TRAWL_RANK_UNREADABLE, "unreadable" },
		{ TRAWL_RANK_DAMAGED, "damaged" },
		{ TRAWL_RANK_NO_GPU, "without GPU events" },
	};
	size_t i, j, count = 0;

	for (i = 0; i < trawl_job_left_out(job); i++) {
		struct trawl_rank rank = trawl_job_left_out_rank(job, i);

		count += lacks_view(&rank);
	}
	if (count)
		tw_str_addf(out, "%zu trace%s skipped: no such step or range\n", count,
			    count == 1 ? "" : "s");
	cli_add_missing(out, job);
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		count = 0;
		for (j = 0; j < trawl_job_left_out(job); j++) {
			struct trawl_rank rank = trawl_job_left_out_rank(job, j);

			count += rank.state == states[i].state && !lacks_view(&rank);
		}
		for (j = 0; j < trawl_job_ranks(job); j++)
			count += trawl_job_rank(job, j).state == states[i].state;
		if (count)
			tw_str_addf(out, "%zu trace%s %s\n", count, count == 1 ? "" : "s",
				    states[i].words);
	}
}

static void add_ranks(const struct trawl_job *job, struct tw_str *out)
{
	cli_add_ranks_known(out, job);
	tw_str_add_char(out, '\n');
	cli_add_ranks_view(out, job);
	add_left_out(job, out);
}

static void add_events(const struct trawl_job *job, struct tw_str *out)
{
	int64_t gpus = trawl_job_gpus_per_node(job);
	uint64_t events = 0, kernels = 0;
	size_t i;

	for (i = 0; i < trawl_job_ranks(job); i++) {
		events += trawl_job_rank(job, i).events;
		kernels += trawl_job_rank(job, i).collectives;
	}
	tw_str_addf(out, "%llu events, %llu communication kernels", (unsigned long long)events,
		    (unsigned long long)kernels);
	if (gpus > 0)
		tw_str_addf(out, "; %lld GPU%s per node", (long long)gpus, gpus == 1 ? "" : "s");
	tw_str_add_char(out, '\n');
}

static int count_unsound(void *context, const struct tw_sync *sync)
{
	*(uint64_t *)context += !sync->sound;
	return 0;
}

static void add_copied(const struct tw_ranks_input *in, struct tw_str *out)
{
	uint64_t count = 0, m;

	for (m = 0; m < in->matches->count; m++)
		count += tw_match_is_shared(&in->matches->matches[m]) &&
			 tw_match_has_copies(in, &in->matches->matches[m]);
	if (count)
		tw_str_addf(out,
			    "%llu on copy engines: excluded from wait times and clock alignment\n",
			    (unsigned long long)count);
}

static void add_unsound(const struct tw_ranks_input *in, struct tw_str *out)
{
	uint64_t count = 0;

	tw_visit_waits(in, count_unsound, &count);
	if (count)
		tw_str_addf(out,
			    "%llu doubtful matches without time overlap: excluded from wait "
			    "times\n",
			    (unsigned long long)count);
}

/* "3 likely, 1 doubtful": how sure the matches of several ranks are; "all likely". */
static void add_sureness(const uint64_t counts[], uint64_t all, struct tw_str *out)
{
	const char *between = "";
	size_t i;

	for (i = TW_MATCH_CERTAIN; i <= TW_MATCH_DIFFERENT; i++) {
		if (!counts[i])
			continue;
		tw_str_add_cstr(out, between);
		if (counts[i] == all)
			tw_str_add_cstr(out, "all");
		else
			tw_str_addf(out, "%llu", (unsigned long long)counts[i]);
		tw_str_addf(out, " %s", tw_match_sureness_name((enum tw_match_sureness)i));
		between = ", ";
	}
	if (counts[TW_MATCH_DIFFERENT])
		tw_str_add_cstr(out, " (ranks record different collectives)");
}

/* "matched: 80 by sequence number, 4 by order: 80 certain, 4 likely" */
static void add_rules(const struct tw_matches *matches, struct tw_str *out)
{
	static const char *const words[] = { "id", "sequence number", "order" };
	uint64_t rules[TW_MATCH_BY_ORDER + 1] = { 0 }, sure[TW_MATCH_DIFFERENT + 1] = { 0 };
	uint64_t all = 0, m;
	size_t used = 0, i;

	for (m = 0; m < matches->count; m++) {
		const struct tw_match *match = &matches->matches[m];

		if (!tw_match_is_shared(match))
			continue;
		rules[match->rule]++;
		sure[match->sureness]++;
		all++;
	}
	tw_str_add_cstr(out, "matched: ");
	for (i = 0; i <= TW_MATCH_BY_ORDER; i++)
		if (rules[i])
			tw_str_addf(out, "%s%llu by %s", used++ ? ", " : "",
				    (unsigned long long)rules[i], words[i]);
	if (!used)
		tw_str_add_cstr(out, "none");
	else
		tw_str_add_cstr(out, used > 1 ? ": " : ", ");
	add_sureness(sure, all, out);
}

static void add_matches(const struct tw_ranks_input *in, struct cli_screen *s)
{
	const struct tw_matches *matches = in->matches;
	uint64_t states[TW_MATCH_LOCAL + 1] = { 0 }, m;
	struct tw_str line;

	for (m = 0; m < matches->count; m++)
		states[matches->matches[m].state]++;
	tw_str_init(&line, trawl_allocator_default());
	tw_str_addf(&line, "%llu collectives: %llu on all ranks of their group",
		    (unsigned long long)matches->count, (unsigned long long)states[TW_MATCH_WHOLE]);
	if (states[TW_MATCH_PARTIAL])
		tw_str_addf(&line, ", %llu missing on some",
			    (unsigned long long)states[TW_MATCH_PARTIAL]);
	if (states[TW_MATCH_ALONE])
		tw_str_addf(&line, ", %llu on one rank only",
			    (unsigned long long)states[TW_MATCH_ALONE]);
	if (states[TW_MATCH_LOCAL])
		tw_str_addf(&line, ", %llu without traces of other ranks of the group",
			    (unsigned long long)states[TW_MATCH_LOCAL]);
	cli_add_line(s, &line, 0);
	tw_str_init(&line, trawl_allocator_default());
	add_rules(matches, &line);
	cli_add_line(s, &line, 0);
	add_copied(in, &s->out);
	add_unsound(in, &s->out);
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

/* Whether no clock is off by more than may be the measurement's. */
static bool clocks_agree(const struct tw_ranks_input *in)
{
	size_t i;

	for (i = 0; i < in->job->count; i++) {
		const struct tw_clock *c = &in->clocks->of[i];
		int64_t off = c->offset_ns < 0 ? -c->offset_ns : c->offset_ns;

		if (c->known && off > c->uncertainty_ns)
			return false;
	}
	return true;
}

static void add_offset(const struct tw_ranks_input *in, const struct tw_clock *clock, size_t rank,
		       struct tw_str *out)
{
	tw_str_addf(out, "rank %lld, ", (long long)in->job->ranks[rank].rank);
	tw_str_add_decimal_fixed(out, clock->offset_ns, 3, 1);
	tw_str_add_cstr(out, " \xC2\xB1 ");
	tw_str_add_decimal_fixed(out, clock->uncertainty_ns, 3, 1);
	tw_str_addf(out, " \xC2\xB5s from rank %lld",
		    (long long)in->job->ranks[clock->reference].rank);
}

static void add_clocks(const struct tw_ranks_input *in, struct cli_screen *s)
{
	static const char *const applied[] = {
		[TRAWL_ALIGN_AUTO] = "no shift applied",
		[TRAWL_ALIGN_COLLECTIVES] = "aligned by collective end times",
		[TRAWL_ALIGN_BASE_TIME] = "with base times",
		[TRAWL_ALIGN_NONE] = "no shift applied",
	};
	size_t rank = 0;
	const struct tw_clock *most = furthest(in, &rank);
	enum trawl_align align = in->clocks->align;
	struct tw_str line;

	/* No end time gives an offset. */
	if (!most && align == TRAWL_ALIGN_COLLECTIVES)
		align = in->clocks->based ? TRAWL_ALIGN_BASE_TIME : TRAWL_ALIGN_NONE;
	tw_str_init(&line, trawl_allocator_default());
	tw_str_add_cstr(&line, "clocks: ");
	if (most && clocks_agree(in))
		tw_str_addf(&line, "agree within their uncertainty, %s; max offset: ",
			    in->clocks->based ? "base times only" : "no shift applied");
	else
		tw_str_addf(&line, "%s%s", applied[align], most ? "; max offset: " : "");
	if (most)
		add_offset(in, most, rank, &line);
	cli_add_line(s, &line, 0);
	if (in->clocks->differ && in->clocks->align != TRAWL_ALIGN_COLLECTIVES)
		cli_add_wrapped(s,
				"clocks differ (from collective end times): skews and waits "
				"include it; --align collectives removes it",
				0);
}

static void add_excerpts(const struct trawl_job_report *t, const struct cli_excerpt *excerpts,
			 size_t count, struct cli_screen *s)
{
	size_t i;

	for (i = 0; i < count; i++)
		cli_add_excerpt(trawl_job_report_find(t, excerpts[i].table), &excerpts[i], s);
}

static void add_exchanges(const struct trawl_job_report *t, const char *heat_map,
			  struct cli_screen *s)
{
	add_excerpts(t, &of_exchanges, 1, s);
	if (trawl_job_report_find(t, "nccl_all2allv_heatmap"))
		tw_str_addf(&s->out, "bytes sent between ranks: %s\n",
			    heat_map ? heat_map : "table nccl_all2allv_heatmap");
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

void cli_summarise_collectives(const struct trawl_job *job, const struct trawl_job_report *t,
			       const char *heat_map, struct cli_screen *s)
{
	add_ranks(job, &s->out);
	cli_add_verdict(trawl_job_report_find(t, "verdict"), s);
	tw_str_add_char(&s->out, '\n');
	add_events(job, &s->out);
	if (!t->in.matches->count)
		tw_str_add_cstr(&s->out, "no communication kernels\n");
	else
		add_matches(&t->in, s);
	if (t->in.matches->count && trawl_job_ranks(job) > 1)
		add_clocks(&t->in, s);
	cli_add_stragglers(trawl_job_report_find(t, "stragglers"), CLI_STRAGGLERS_SHOWN, s);
	add_excerpts(t, of_late_ranks, COUNT(of_late_ranks), s);
	add_exchanges(t, heat_map, s);
	add_excerpts(t, of_the_rest, COUNT(of_the_rest), s);
}
