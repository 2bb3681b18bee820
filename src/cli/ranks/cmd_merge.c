/* trawl merge: one timeline of all ranks. */
#include "cli/processes.h"
#include "cli/ranks/ranks.h"
#include "job/merge/compat.h"
#include "job/report/merge_job.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_OUTPUT "merged_gpu_trace_enhanced.json"
#define NO_COUNT UINT32_MAX

enum { KEEP_GPU = 1, KEEP_ALL };

struct merge_command {
	const struct cli_command *command;
	struct cli_common common;
	const char *output;
	unsigned ranks, gpus_per_node;
	unsigned keep; /* KEEP_GPU or KEEP_ALL; 0: not given */
	bool compat;
	struct trawl_merge_options options;
};

/* ---- options */

#define AT(member) offsetof(struct merge_command, member)

static const char *const keep_words[] = { "gpu", "all", NULL };
static const struct cli_kind keep_kind = { cli_read_word, keep_words, KEEP_GPU };

static const struct cli_option own_options[] = {
	{ "output", 'o', &cli_string, "FILE", AT(output),
	  "output file, .gz for gzip (default: " DEFAULT_OUTPUT ")" },
	{ "ranks", 'n', &cli_positive, "N", AT(ranks), "ranks 0 to N-1 (default: all)" },
	{ "trace-name", 0, &cli_string, "NAME", AT(options.trace_name),
	  "file in each rank<N>/ (default: " TRAWL_MERGE_TRACE_NAME ", if present)" },
	{ "keep", 0, &keep_kind, "WHAT", AT(keep),
	  "gpu: GPU work, launches, annotations (default); all: every event" },
	{ "align", 0, &cli_align, "HOW", AT(options.align),
	  "clock alignment: collectives (default on several hosts), base-time (else) or none" },
	{ "gpus-per-node", 0, &cli_positive, "N", AT(gpus_per_node),
	  "GPUs per host (default: from the traces)" },
	{ "compat", 0, &cli_flag, NULL, AT(compat),
	  "events, names and numbers of merge_gpu_trace_ranks.py" },
	{ "max-memory", 0, &cli_size, "SIZE", AT(options.max_memory),
	  "memory limit for traces, such as 16G (default: half of the machine's)" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_COMMON(AT(common)),
	{ 0 },
};

/* Checks combinations of options; -1 to go on. */
static int check_options(struct merge_command *m)
{
	m->options.threads = m->common.threads;
	m->options.gpus_per_node = m->gpus_per_node;
	m->options.block_size = cli_block_size();
	m->options.most_ranks = m->ranks == NO_COUNT ? -1 : (int64_t)m->ranks;
	m->options.keep_all = m->keep == KEEP_ALL;
	if (!strcmp(m->output, "-"))
		return cli_usage_error(m->command, "-o: standard output has the table of ranks; "
						   "the merged trace needs a file");
	if (m->compat && (m->keep || m->options.align != TRAWL_ALIGN_AUTO))
		return cli_usage_error(m->command, "--compat excludes --keep and --align");
	if (m->compat && tw_merge_is_gzip(m->output))
		return cli_usage_error(m->command, "--compat cannot write .gz");
	return -1;
}

/* ---- messages */

/* Ranks of one file that are skipped for one reason give one message. */
static bool says_the_same(const struct trawl_rank *rank, const struct trawl_rank *before)
{
	return rank->message[0] && rank->path == before->path && rank->state == before->state &&
	       !strcmp(rank->message, before->message);
}

static void tell_left_out(const struct merge_command *m, const struct trawl_rank *rank)
{
	if (rank->state != TRAWL_RANK_NOT_A_TRACE || (rank->message[0] && !m->common.quiet))
		cli_message("%s: skipped: %s", rank->path,
			    rank->message[0] ? rank->message : "out of memory");
}

/* Names skipped files and defects. */
static void tell_ranks(const struct merge_command *m, const struct trawl_merge *merge)
{
	struct trawl_rank rank = { 0 }, before;
	const struct trawl_defect *defects;
	size_t i, count;

	for (i = 0; i < trawl_merge_files(merge); i++) {
		before = rank;
		rank = trawl_merge_file(merge, i);
		if (rank.state > TRAWL_RANK_NO_GPU) {
			if (!i || !says_the_same(&rank, &before))
				tell_left_out(m, &rank);
			continue;
		}
		if (rank.rule < TRAWL_RANK_BY_NAME && rank.name_rank >= 0 &&
		    rank.name_rank != rank.rank)
			cli_message("%s: rank %" PRId64 " in the file name, %" PRId64
				    " in the trace: using the trace",
				    rank.path, rank.name_rank, rank.rank);
		if (rank.told_rank >= 0 && rank.told_rank != rank.rank)
			cli_message("%s: merged as rank %" PRId64 "; the trace has rank %" PRId64
				    " after its events",
				    rank.path, rank.rank, rank.told_rank);
		defects = trawl_merge_defects(merge, i, &count);
		cli_tell_defects(rank.path, defects, count, &m->common);
	}
}

/* With --strict: the first trace with a defect, or a missing rank. */
static int check_strict(const struct trawl_merge *merge)
{
	const struct trawl_defect *defects;
	size_t i, count;

	for (i = 0; i < trawl_merge_files(merge); i++) {
		struct trawl_rank rank = trawl_merge_file(merge, i);

		defects = trawl_merge_defects(merge, i, &count);
		if (rank.state <= TRAWL_RANK_NO_GPU && cli_strict_status(rank.path, defects, count))
			return CLI_FAILED;
	}
	return trawl_merge_is_whole(merge) ? CLI_DONE : CLI_FAILED;
}

/* ---- the command */

/* Messages come before the file is committed: --strict may reject it. */
static int commit_merge(struct merge_command *m, struct trawl_merge *merge, struct tw_str *notes)
{
	const struct trawl_table *table = trawl_merge_table(merge);
	struct trawl_error err;
	int status;

	tell_ranks(m, merge);
	cli_tell_notes(notes, false);
	if (m->common.strict && check_strict(merge))
		return CLI_FAILED;
	if (trawl_merge_commit(merge, &err))
		return cli_fail(&err);
	status = cli_print_tables(&table, 1, m->common.format, "merge", cli_width());
	if (!status && !m->common.quiet)
		cli_message("written: %s; open it at https://ui.perfetto.dev", m->output);
	return status || trawl_merge_is_whole(merge) ? status : CLI_INCOMPLETE;
}

static int merge_ranks(struct merge_command *m, const char *const *paths, size_t count)
{
	struct trawl_merge *merge = NULL;
	double start = cli_seconds();
	struct cli_progress progress;
	struct trawl_error err;
	struct tw_str notes;
	int status;

	tw_str_init(&notes, trawl_allocator_default());
	m->options.progress = cli_progress_update;
	m->options.progress_context = &progress;
	m->options.note = cli_keep_note;
	m->options.note_context = &notes;
	cli_progress_begin(&progress, m->common.quiet);
	status = tw_merge_new(&merge, paths, count, m->output, &m->options, cli_cluster(), &err);
	cli_progress_end(&progress);
	status = status ? cli_fail(&err) : commit_merge(m, merge, &notes);
	if (m->common.verbose && (status == CLI_DONE || status == CLI_INCOMPLETE))
		cli_message("merged in %.3f s", cli_seconds() - start);
	trawl_merge_free(merge);
	tw_str_release(&notes);
	return status;
}

static bool is_same_file(const char *path, const struct stat *file)
{
	struct stat info;

	return !stat(path, &info) && info.st_dev == file->st_dev && info.st_ino == file->st_ino;
}

/* What is to be written must be none of what is read. */
static bool is_compat_input(const struct tw_merge_compat *c)
{
	struct stat out;
	unsigned r;

	if (stat(c->output, &out))
		return false;
	for (r = 0; r < c->ranks; r++)
		if (is_same_file(cli_text("%s/rank%u/%s", c->directory, r, c->trace_name), &out))
			return true;
	return false;
}

static int merge_compatibly(const struct merge_command *m, int argc, char **argv)
{
	struct tw_merge_compat c = {
		.directory = argv[0],
		.output = m->output,
		.trace_name = m->options.trace_name ? m->options.trace_name :
						      TRAWL_MERGE_TRACE_NAME,
		.ranks = m->ranks == NO_COUNT ? TW_MERGE_COMPAT_RANKS : m->ranks,
	};
	struct trawl_error err;
	struct tw_str said;
	int status;

	if (argc != 1)
		return cli_usage_error(m->command, "--compat needs one directory (%d given)", argc);
	if (is_compat_input(&c))
		return cli_usage_error(m->command, "-o: '%.200s' is one of the traces", m->output);
	tw_str_init(&said, trawl_allocator_default());
	status = tw_merge_compat(&c, &said, trawl_allocator_default(), &err);
	if (said.len)
		cli_print(said.ptr, said.len);
	tw_str_release(&said);
	return status ? cli_fail(&err) : CLI_DONE;
}

static int merge(const struct cli_command *command, int argc, char **argv)
{
	struct merge_command m = { .command = command,
				   .output = DEFAULT_OUTPUT,
				   .ranks = NO_COUNT };
	struct trawl_error err;
	int count, status = cli_begin(command, &m, argc, argv, &count);

	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "missing RANKS argument");
	status = check_options(&m);
	if (status >= 0)
		return status;
	if (cli_is_led())
		return tw_merge_serve(&m.options, cli_cluster(), &err) ? cli_together_fail(&err) :
									 CLI_LED;
	if (m.compat)
		return merge_compatibly(&m, count, argv);
	return merge_ranks(&m, (const char *const *)argv, (size_t)count);
}

const struct cli_command cli_command_merge = {
	"merge",
	"RANKS",
	"merged timeline of all ranks of a job, for Perfetto",
	"RANKS is a directory, a pattern or a list of traces. Writes FILE (default:\n"
	"merged_gpu_trace_enhanced.json in the current directory; .gz compresses), a trace for\n"
	"https://ui.perfetto.dev, and prints a table of the ranks.\n"
	"\n"
	"  trawl merge run/torch_profiler -o merged.json.gz\n",
	options,
	merge,
};
