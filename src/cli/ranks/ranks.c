#include "cli/ranks/ranks.h"

#include "cli/processes.h"
#include "job/report/read_job.h"
#include "render/escape.h"

#include <stddef.h>
#include <string.h>

static const char *const align_words[] = { "collectives", "base-time", "none", NULL };
const struct cli_kind cli_align = { cli_read_word, align_words, TRAWL_ALIGN_COLLECTIVES };

#define AT(member) offsetof(struct cli_ranks, member)

const struct cli_option cli_ranks_options[] = {
	{ "max-memory", 0, &cli_size, "SIZE", AT(options.max_memory),
	  "memory limit for traces, such as 16G (default: half of the machine's)" },
	{ "gpus-per-node", 0, &cli_positive, "N", AT(gpus_per_node),
	  "GPUs per host (default: from the traces)" },
	{ "as-ranks", 0, &cli_flag, NULL, AT(options.as_ranks),
	  "treat the traces as ranks of one job even if they do not match" },
	{ 0 },
};

void cli_add_ranks_known(struct tw_str *out, const struct trawl_job *job)
{
	size_t count = trawl_job_ranks(job), i;
	int64_t world = trawl_job_world_size(job);
	bool used[TRAWL_RANK_BY_ORDER + 1] = { false };
	const char *between = "from ";

	for (i = 0; i < count; i++)
		used[trawl_job_rank(job, i).rule] = true;
	if (trawl_job_group(job))
		tw_str_addf(out, "group %s: ", trawl_job_group(job));
	tw_str_addf(out, "%zu ", count);
	if (world > 0)
		tw_str_addf(out, "of %lld ", (long long)world);
	tw_str_addf(out, "rank%s", count == 1 && world <= 1 ? "" : "s");
	/* A single rank without a recorded number is 0. */
	if (count == 1 && used[TRAWL_RANK_BY_ORDER])
		return;
	tw_str_add_cstr(out, " (");
	for (i = 0; i <= TRAWL_RANK_BY_ORDER; i++) {
		if (!used[i])
			continue;
		tw_str_addf(out, "%s%s", between, trawl_rank_rule_words((enum trawl_rank_rule)i));
		between = ", ";
	}
	tw_str_add_char(out, ')');
}

/* How many ranks have the view of one, which is the first that has it; 0: it is not. */
static size_t count_views(const struct trawl_job *job, size_t rank)
{
	const char *view = trawl_job_rank(job, rank).view;
	size_t i, n = 0;

	for (i = 0; i < trawl_job_ranks(job); i++) {
		bool same = !strcmp(trawl_job_rank(job, i).view, view);

		if (same && i < rank)
			return 0;
		n += same;
	}
	return n;
}

static double percent_elsewhere(const struct trawl_rank *rank)
{
	return 100.0 * (double)rank->elsewhere_ns / (double)rank->launched_ns;
}

/* What steps launched, of all ranks together, and the rank of which most ran at another time. */
static void add_launched(struct tw_str *out, const struct trawl_job *job)
{
	struct trawl_rank all = { 0 }, most = { 0 };
	size_t i;

	for (i = 0; i < trawl_job_ranks(job); i++) {
		struct trawl_rank rank = trawl_job_rank(job, i);

		all.launched_ns += rank.launched_ns;
		all.elsewhere_ns += rank.elsewhere_ns;
		if (rank.launched_ns &&
		    (!most.launched_ns || percent_elsewhere(&rank) > percent_elsewhere(&most)))
			most = rank;
	}
	if (most.launched_ns)
		tw_str_addf(out,
			    "launched in it, all ranks: %.3f ms of GPU work, %.3f ms (%.1f %%) of "
			    "it running outside\n"
			    "its host time; max on rank %lld (%.1f %%)\n",
			    (double)all.launched_ns / 1e6, (double)all.elsewhere_ns / 1e6,
			    percent_elsewhere(&all), (long long)most.rank,
			    percent_elsewhere(&most));
}

void cli_add_ranks_view(struct tw_str *out, const struct trawl_job *job)
{
	size_t i, n;

	for (i = 0; i < trawl_job_ranks(job); i++) {
		struct trawl_rank rank = trawl_job_rank(job, i);

		n = rank.view[0] ? count_views(job, i) : 0;
		if (!n)
			continue;
		tw_str_add_cstr(out, "view: ");
		tw_escape_terminal(out, rank.view, strlen(rank.view));
		if (n < trawl_job_ranks(job))
			tw_str_addf(out, " on %zu rank%s, e.g. rank %lld", n, n == 1 ? "" : "s",
				    (long long)rank.rank);
		tw_str_add_char(out, '\n');
	}
	add_launched(out, job);
}

void cli_keep_note(void *notes, const char *line)
{
	tw_str_note(notes, "%s", line);
}

int cli_load_job(struct trawl_job **job, struct cli_ranks *ranks, const char *const *arguments,
		 size_t count)
{
	const struct cli_common *common = ranks->common;
	struct trawl_job_options *o = &ranks->options;
	double start = cli_seconds();
	struct cli_progress progress;
	struct trawl_error err;
	struct tw_str notes;
	int status;

	tw_str_init(&notes, trawl_allocator_default());
	o->threads = common->threads;
	o->gpus_per_node = ranks->gpus_per_node;
	o->strict = common->strict;
	o->block_size = cli_block_size();
	o->progress = cli_progress_update;
	o->progress_context = &progress;
	o->note = common->quiet ? NULL : cli_keep_note;
	o->note_context = &notes;
	if (cli_is_led())
		return tw_job_serve(o, cli_cluster(), &err) ? cli_together_fail(&err) : CLI_LED;
	cli_progress_begin(&progress, common->quiet);
	status = tw_job_read(job, arguments, count, o, cli_cluster(), &err);
	cli_progress_end(&progress);
	if (common->verbose && !status)
		cli_message("%zu ranks read in %.3f s", trawl_job_ranks(*job),
			    cli_seconds() - start);
	cli_tell_notes(&notes, false);
	tw_str_release(&notes);
	if (status)
		return cli_fail(&err);
	return trawl_job_is_whole(*job) ? CLI_DONE : CLI_INCOMPLETE;
}

int cli_diagnose_job(struct trawl_diagnosis **out, struct trawl_job *job,
		     const struct cli_ranks *ranks)
{
	double start = cli_seconds();
	struct trawl_error err;

	*out = NULL;
	if (trawl_diagnose_job(out, job, ranks->common->threads, &err))
		return cli_fail(&err);
	if (ranks->common->verbose)
		cli_message("findings made in %.3f s", cli_seconds() - start);
	return CLI_DONE;
}

const char *cli_job_dir(const struct trawl_job *job, const struct cli_common *common)
{
	const char *dir = common->output ? common->output :
					   cli_text("%s/analysis_output", trawl_job_directory(job));
	const char *group = trawl_job_group(job);

	return group ? cli_text("%s/%s", dir, group) : dir;
}

int cli_for_each_job(struct cli_ranks *ranks, const char *const *arguments, size_t count,
		     int (*command)(void *context, struct trawl_job *job), void *context)
{
	struct trawl_job *job, *at;
	int loaded = cli_load_job(&job, ranks, arguments, count), status = CLI_DONE;

	if (loaded != CLI_DONE && loaded != CLI_INCOMPLETE)
		return loaded;
	for (at = job; at && status == CLI_DONE; at = (struct trawl_job *)trawl_job_next(at))
		status = command(context, at);
	trawl_job_free(job);
	return status == CLI_DONE ? loaded : status;
}
