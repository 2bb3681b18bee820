#include "cli/ranks/ranks.h"

#include "cli/processes.h"
#include "job/merge/merge.h"
#include "job/set/job_notes.h"
#include "job/transport/gather.h"
#include "render/escape.h"

#include <stddef.h>
#include <string.h>

static const char *const align_words[] = { "collectives", "base-time", "none", NULL };
const struct cli_kind cli_align = { cli_read_word, align_words, TW_ALIGN_COLLECTIVES };

#define AT(member) offsetof(struct cli_ranks, member)

const struct cli_option cli_ranks_options[] = {
	{ "max-memory", 0, &cli_size, "SIZE", AT(max_memory),
	  "for traces held at once, such as 16G (default: half of the machine's)" },
	{ "gpus-per-node", 0, &cli_positive, "N", AT(gpus_per_node),
	  "GPUs of a host (default: as the traces tell)" },
	{ "as-ranks", 0, &cli_flag, NULL, AT(as_ranks),
	  "analyse traces as ranks of one job though they do not look like that" },
	{ 0 },
};

void cli_add_ranks_known(struct tw_str *out, const struct tw_job *job)
{
	bool used[TW_RANK_BY_ORDER + 1] = { false };
	const char *between = "from ";
	size_t i;

	for (i = 0; i < job->count; i++)
		used[job->ranks[i].rule] = true;
	if (job->group)
		tw_str_addf(out, "group %s: ", job->group);
	tw_str_addf(out, "%zu ", job->count);
	if (job->world_size > 0)
		tw_str_addf(out, "of %lld ", (long long)job->world_size);
	tw_str_addf(out, "rank%s", job->count == 1 && job->world_size <= 1 ? "" : "s");
	/* The only one is 0 wherever it stands. */
	if (job->count == 1 && used[TW_RANK_BY_ORDER])
		return;
	tw_str_add_cstr(out, " (");
	for (i = 0; i <= TW_RANK_BY_ORDER; i++) {
		if (!used[i])
			continue;
		tw_str_addf(out, "%s%s", between, tw_rank_rule_words((enum tw_rank_rule)i));
		between = ", ";
	}
	tw_str_add_char(out, ')');
}

/* How many ranks have the view of one, which is the first that has it; 0: it is not. */
static size_t count_views(const struct tw_job *job, size_t rank)
{
	size_t i, n = 0;

	for (i = 0; i < job->count; i++) {
		bool same = !strcmp(job->ranks[i].view, job->ranks[rank].view);

		if (same && i < rank)
			return 0;
		n += same;
	}
	return n;
}

static double percent_elsewhere(const struct tw_rank *rank)
{
	return 100.0 * (double)rank->elsewhere_ns / (double)rank->launched_ns;
}

/* What steps launched, of all ranks together, and the rank of which most ran at another time. */
static void add_launched(struct tw_str *out, const struct tw_job *job)
{
	struct tw_rank all = { 0 };
	const struct tw_rank *most = NULL;
	size_t i;

	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];

		all.launched_ns += rank->launched_ns;
		all.elsewhere_ns += rank->elsewhere_ns;
		if (rank->launched_ns &&
		    (!most || percent_elsewhere(rank) > percent_elsewhere(most)))
			most = rank;
	}
	if (most)
		tw_str_addf(out,
			    "launched in that by all ranks: %.3f ms of GPU work, %.3f ms of it "
			    "(%.1f %%) outside\nof its time on the host; most on rank %lld "
			    "(%.1f %%)\n",
			    (double)all.launched_ns / 1e6, (double)all.elsewhere_ns / 1e6,
			    percent_elsewhere(&all), (long long)most->rank,
			    percent_elsewhere(most));
}

void cli_add_ranks_view(struct tw_str *out, const struct tw_job *job)
{
	size_t i, n;

	for (i = 0; i < job->count; i++) {
		const char *view = job->ranks[i].view;

		n = view[0] ? count_views(job, i) : 0;
		if (!n)
			continue;
		tw_str_add_cstr(out, "looking at ");
		tw_escape_terminal(out, view, strlen(view));
		if (n < job->count)
			tw_str_addf(out, " on %zu rank%s, such as rank %lld", n, n == 1 ? "" : "s",
				    (long long)job->ranks[i].rank);
		tw_str_add_char(out, '\n');
	}
	add_launched(out, job);
}

int cli_job_progress(void *context, size_t files_done, size_t files, int64_t bytes_done,
		     int64_t bytes)
{
	struct cli_progress *progress = context;

	(void)files_done;
	(void)files;
	return cli_progress_update(progress, bytes_done, bytes);
}

int cli_be_led(const struct tw_load_options *load, const struct tw_merge_options *merge)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_str task;
	struct trawl_error err;
	bool over = false;
	int status = 0;

	tw_str_init(&task, a);
	while (!status && !over) {
		status = tw_cluster_await(cli_cluster(), &task, &over, &err);
		if (status || over)
			break;
		status = merge && task.len && task.ptr[0] == TW_TASK_MERGE ?
				 tw_merge_share(task.ptr, task.len, merge, a, &err) :
				 tw_gather_share(task.ptr, task.len, load, cli_cluster(), a, &err);
	}
	tw_str_release(&task);
	return status ? cli_together_fail(&err) : CLI_LED;
}

/* By this process, or by those that were started with it. */
static int gather_job(struct tw_job *job, struct tw_rank_set *set,
		      const struct tw_load_options *options, struct trawl_error *err)
{
	if (!cli_cluster())
		return tw_job_load(job, set, options, trawl_allocator_default(), err);
	return tw_job_gather(job, set, options, cli_cluster(), trawl_allocator_default(), err);
}

/* What there is to tell of it; the exit status. */
static int check_job(struct tw_job *job, const struct cli_ranks *ranks)
{
	const struct trawl_report_options *o = ranks->report;
	const struct tw_job_rules rules = {
		.strict = ranks->common->strict,
		.quiet = ranks->common->quiet,
		.as_ranks = ranks->as_ranks,
		.all_groups = true,
		.steps_chosen = o->step_first >= 0 || o->range,
	};
	struct trawl_error err;
	struct tw_str notes;
	bool whole;
	int status;

	tw_str_init(&notes, trawl_allocator_default());
	status = tw_job_check(job, &rules, &notes, &whole, &err);
	cli_tell_notes(&notes, false);
	tw_str_release(&notes);
	if (status)
		return cli_fail(&err);
	return whole ? CLI_DONE : CLI_INCOMPLETE;
}

int cli_load_job(struct tw_job *job, const struct cli_ranks *ranks, const char *const *arguments,
		 size_t count)
{
	const struct cli_common *common = ranks->common;
	struct cli_progress progress;
	struct tw_load_options options = {
		.threads = common->threads,
		.max_memory = ranks->max_memory,
		.gpus_per_node = ranks->gpus_per_node,
		.block_size = cli_block_size(),
		.report = ranks->report,
		.tables = ranks->tables,
		.table_count = ranks->table_count,
		.keep = ranks->keep,
		.progress = cli_job_progress,
		.progress_context = &progress,
	};
	struct tw_rank_set set = { 0 };
	double start = cli_seconds();
	struct trawl_error err;
	int status;

	memset(job, 0, sizeof(*job));
	if (cli_is_led())
		return cli_be_led(&options, NULL);
	if (tw_rank_set_find(&set, arguments, count, trawl_allocator_default(), &err))
		return cli_fail(&err);
	cli_progress_begin(&progress, common->quiet);
	status = gather_job(job, &set, &options, &err);
	cli_progress_end(&progress);
	if (common->verbose)
		cli_message("%zu ranks read in %.3f s", job->count, cli_seconds() - start);
	status = status ? cli_fail(&err) : check_job(job, ranks);
	if (status != CLI_DONE && status != CLI_INCOMPLETE)
		tw_job_release(job);
	return status;
}

const char *cli_job_dir(const struct tw_job *job, const struct cli_common *common)
{
	const char *dir = common->output ? common->output :
					   cli_text("%s/analysis_output", job->set.directory);

	return job->group ? cli_text("%s/%s", dir, job->group) : dir;
}
