#include "cli/ranks/ranks.h"

#include "cli/processes.h"
#include "job/set/rank_list.h"
#include "job/tables/tables.h"
#include "job/transport/gather.h"
#include "render/escape.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void cli_ranks_options(struct cli_ranks *ranks, struct cli_option options[4])
{
	const struct cli_option table[4] = {
		{ "max-memory", 0, CLI_SIZE, "SIZE", &ranks->max_memory,
		  "for traces held at once, such as 16G (default: half of the machine's)" },
		{ "gpus-per-node", 0, CLI_POSITIVE, "N", &ranks->gpus_per_node,
		  "GPUs of a host (default: as the traces tell)" },
		{ "as-ranks", 0, CLI_FLAG, NULL, &ranks->as_ranks,
		  "analyse traces as ranks of one job though they do not look like that" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};

	memcpy(options, table, sizeof(table));
}

int cli_read_align(const struct cli_command *command, const char *text, enum tw_align *align)
{
	static const struct {
		const char *name;
		enum tw_align align;
	} names[] = {
		{ "collectives", TW_ALIGN_COLLECTIVES },
		{ "base-time", TW_ALIGN_BASE_TIME },
		{ "none", TW_ALIGN_NONE },
	};
	size_t i;

	for (i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, text)) {
			*align = names[i].align;
			return -1;
		}
	return text ? cli_usage_error(command,
				      "--align: '%.60s' is not collectives, base-time or none",
				      text) :
		      -1;
}

void cli_add_rank_list(struct tw_str *out, const int64_t *ranks, size_t count)
{
	enum { MOST = 20 };
	size_t told = tw_rank_list_add_some(out, ranks, count, MOST);

	if (told < count)
		tw_str_addf(out, " and %zu more", count - told);
}

static void tell_left_out(const struct tw_job *job)
{
	size_t i;

	for (i = 0; i < job->left_out_count; i++) {
		const struct tw_rank *rank = &job->left_out[i];
		const char *path = job->set.files[rank->file].path;

		/* Those of one file that have one reason say it once. */
		if (i && rank->file == rank[-1].file && !strcmp(rank->message, rank[-1].message))
			continue;
		if (rank->state == TW_RANK_NOT_A_TRACE)
			cli_message("%s: passed over: %s", path, rank->message);
		else
			cli_message("%s: left out: %s", path, rank->message);
	}
}

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

void cli_tell_apart(const struct tw_apart *apart)
{
	if (apart->apart_ns > 0)
		cli_message("the traces are not of one time: rank %lld ends %.3f s before rank "
			    "%lld begins, or clocks of hosts differ by that",
			    (long long)apart->ends, (double)apart->apart_ns / 1e9,
			    (long long)apart->begins);
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

void cli_tell_order(size_t clashes, size_t by_order, size_t count)
{
	if (clashes)
		cli_message("the recorded collectives of %zu traces say the same rank as those of "
			    "others: names or the order of the files count",
			    clashes);
	if (by_order && count > 1)
		cli_message(
			"%zu of %zu ranks have their number from the order of the files: neither "
			"the traces nor their names tell the ranks apart",
			by_order, count);
}

/* Ranks that show other steps than the first that shows any compare badly. */
static void tell_steps(const struct tw_job *job, const struct trawl_report_options *options)
{
	const struct tw_rank *first = NULL, *other = NULL;
	size_t i, n = 0;

	if (options && (options->step_first >= 0 || options->range))
		return;
	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];

		if (rank->first_step < 0)
			continue;
		if (!first)
			first = rank;
		if (rank->first_step == first->first_step && rank->last_step == first->last_step)
			continue;
		if (!other)
			other = rank;
		n++;
	}
	if (n)
		cli_message("the traces are not of the same steps: rank %lld shows %lld-%lld, %zu "
			    "other%s not, such as rank %lld with %lld-%lld (--step looks at those "
			    "that all have)",
			    (long long)first->rank, (long long)first->first_step,
			    (long long)first->last_step, n, n == 1 ? " does" : "s do",
			    (long long)other->rank, (long long)other->first_step,
			    (long long)other->last_step);
}

void cli_tell_world(int64_t rank, int64_t its_world, int64_t last_rank, int64_t world)
{
	if (its_world >= 0)
		cli_message("the traces are not of one job: that of rank %lld says it has %lld "
			    "ranks, another %lld; %lld counts",
			    (long long)rank, (long long)its_world, (long long)world,
			    (long long)world);
	if (world >= 0 && last_rank >= world)
		cli_message("rank %lld is beyond the %lld ranks that the traces tell of",
			    (long long)last_rank, (long long)world);
}

/* Traces that do not fit into one job: of other sizes, or of ranks that it does not have. */
static void tell_world(const struct tw_job *job)
{
	const struct tw_rank *other = NULL;
	size_t i;

	for (i = 0; i < job->count && !other; i++)
		if (job->ranks[i].world_size >= 0 && job->ranks[i].world_size != job->world_size)
			other = &job->ranks[i];
	cli_tell_world(other ? other->rank : -1, other ? other->world_size : -1,
		       job->ranks[job->count - 1].rank, job->world_size);
}

static void tell_ranks(const struct tw_job *job, const struct cli_ranks *ranks)
{
	struct tw_str list;
	size_t i, by_order = 0;

	for (i = 0; i < job->count; i++) {
		const struct tw_rank *rank = &job->ranks[i];
		const char *path = job->set.files[rank->file].path;

		by_order += rank->rule == TW_RANK_BY_ORDER;
		if (rank->message[0])
			cli_message("%s: %s", path, rank->message);
		if (rank->rule < TW_RANK_BY_NAME && rank->name_rank >= 0 &&
		    rank->name_rank != rank->rank)
			cli_message("%s: its name says rank %lld, the trace rank %lld; the trace "
				    "counts",
				    path, (long long)rank->name_rank, (long long)rank->rank);
	}
	cli_tell_order(job->clashes, by_order, job->count);
	cli_tell_apart(&job->apart);
	tell_steps(job, ranks->report);
	tell_world(job);
	if (!job->missing_count || ranks->chosen)
		return;
	tw_str_init(&list, trawl_allocator_default());
	cli_add_rank_list(&list, job->missing, job->missing_count);
	if (list.failed)
		tw_str_clear(&list);
	else if (job->world_size > 0)
		cli_message("no trace of rank%s %s (%s%s has %lld)",
			    job->missing_count == 1 ? "" : "s", list.ptr,
			    job->group ? "group " : "the ", job->group ? job->group : "job",
			    (long long)job->world_size);
	else
		cli_message("no trace of rank%s %s, which recorded process groups name",
			    job->missing_count == 1 ? "" : "s", list.ptr);
	tw_str_release(&list);
}

/* Groups whose ranks are the same numbers: which, and what becomes of them. */
static void tell_groups(const struct tw_job *job, bool all)
{
	const struct tw_job *at;
	struct tw_str list;
	size_t count = 0;

	if (!job->next)
		return;
	tw_str_init(&list, trawl_allocator_default());
	for (at = job; at; at = at->next, count++)
		tw_str_addf(&list, "%s%s (%zu)", count ? ", " : "", at->group, at->count);
	if (!list.failed)
		cli_message("%zu groups of traces have the same ranks and no collective in common: "
			    "%s; %s%s",
			    count, list.ptr,
			    all ? "each is analysed by itself" : "only the first is taken: ",
			    all ? "" : job->group);
	tw_str_release(&list);
}

/* CLI_DONE, or what keeps traces of different programs from being averaged. */
static int check_alike(const struct tw_job *job, bool as_ranks)
{
	const struct tw_rank *a, *b;

	for (; job; job = job->next) {
		if (!job->is_unlike)
			continue;
		a = &job->ranks[job->unlike.a];
		b = &job->ranks[job->unlike.b];
		cli_message("the traces do not look like ranks of one job: '%s' and '%s' share no "
			    "process group and %d %% of their operators and kernels%s",
			    job->set.files[a->file].path, job->set.files[b->file].path,
			    (int)(job->unlike.alike * 100),
			    as_ranks ? "" :
				       "; report --each reports them one by one, --as-ranks "
				       "takes them for ranks");
		if (!as_ranks)
			return CLI_FAILED;
	}
	return CLI_DONE;
}

/* What a rank lacks is left out of the results: a part of its trace, or all of its GPU work. */
static int incomplete(const struct tw_job *job, bool chosen, bool groups)
{
	size_t i;

	for (i = 0; i < job->left_out_count; i++)
		if (job->left_out[i].state != TW_RANK_NOT_A_TRACE)
			return CLI_INCOMPLETE;
	for (; job; job = groups ? job->next : NULL) {
		if ((job->missing_count && !chosen) || (job->next && !groups))
			return CLI_INCOMPLETE;
		for (i = 0; i < job->count; i++)
			if (job->ranks[i].state != TW_RANK_READ)
				return CLI_INCOMPLETE;
	}
	return CLI_DONE;
}

static int not_accepted(const struct tw_job *job, const struct tw_rank *rank)
{
	cli_message("%s: not accepted with --strict: %s", job->set.files[rank->file].path,
		    rank->message);
	return CLI_FAILED;
}

static int strict_status(const struct tw_job *job)
{
	const struct tw_job *at;
	size_t i;

	for (at = job; at; at = at->next)
		for (i = 0; i < at->count; i++)
			if (at->ranks[i].worst != TRAWL_NOTE)
				return not_accepted(at, &at->ranks[i]);
	for (i = 0; i < job->left_out_count; i++)
		if (job->left_out[i].state != TW_RANK_NOT_A_TRACE)
			return not_accepted(job, &job->left_out[i]);
	return CLI_DONE;
}

static int show_progress(void *context, size_t files_done, size_t files, int64_t bytes_done,
			 int64_t bytes)
{
	struct cli_progress *progress = context;

	(void)files_done;
	(void)files;
	return cli_progress_update(progress, bytes_done, bytes);
}

/* In a process that is led: reduces what it is told to. */
static int be_led(const struct tw_load_options *options)
{
	struct tw_str task;
	struct trawl_error err;
	bool over = false;
	int status = 0;

	tw_str_init(&task, trawl_allocator_default());
	while (!status && !over) {
		status = tw_cluster_await(cli_cluster(), &task, &over, &err);
		if (!status && !over)
			status = tw_gather_share(task.ptr, task.len, options, cli_cluster(),
						 trawl_allocator_default(), &err);
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

static void tell_job(const struct tw_job *job, const struct cli_ranks *ranks)
{
	tell_left_out(job);
	tell_groups(job, ranks->groups);
	for (; job; job = ranks->groups ? job->next : NULL)
		tell_ranks(job, ranks);
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
		.progress = show_progress,
		.progress_context = &progress,
	};
	struct tw_rank_set set = { 0 };
	double start = cli_seconds();
	struct trawl_error err;
	int status;

	memset(job, 0, sizeof(*job));
	if (cli_is_led())
		return be_led(&options);
	if (tw_rank_set_find(&set, arguments, count, trawl_allocator_default(), &err))
		return cli_fail(&err);
	cli_progress_begin(&progress, arguments[0], common->quiet);
	status = gather_job(job, &set, &options, &err);
	cli_progress_end(&progress);
	if (common->verbose)
		cli_message("%zu ranks read in %.3f s", job->count, cli_seconds() - start);
	if (!status && common->strict)
		status = strict_status(job);
	else if (status)
		status = cli_fail(&err);
	if (status) {
		tw_job_release(job);
		return status;
	}
	status = check_alike(job, ranks->as_ranks);
	if (status) {
		tw_job_release(job);
		return status;
	}
	if (!common->quiet)
		tell_job(job, ranks);
	return incomplete(job, ranks->chosen, ranks->groups);
}

void cli_job_path(const struct tw_job *job, const struct cli_common *common, const char *name,
		  struct tw_str *out)
{
	tw_str_clear(out);
	if (common->output)
		tw_str_add_cstr(out, common->output);
	else
		tw_str_addf(out, "%s/analysis_output", job->set.directory);
	if (job->group)
		tw_str_addf(out, "/%s", job->group);
	if (name)
		tw_str_addf(out, "/%s", name);
}
