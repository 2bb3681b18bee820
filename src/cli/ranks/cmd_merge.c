/* trawl merge: one timeline of all ranks. */
#include "cli/processes.h"
#include "cli/ranks/ranks.h"
#include "job/merge/compat.h"
#include "job/merge/merge.h"
#include "job/set/job_notes.h"
#include "job/set/rank_list.h"
#include "os/file.h"
#include "table/table.h"

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
	const char *output, *trace_name;
	unsigned ranks, gpus_per_node;
	unsigned keep; /* KEEP_GPU or KEEP_ALL; 0: not given */
	bool compat;
	struct tw_merge_options options;
	struct cli_progress progress;
};

enum { RANK, RULE, GPU_SLICES, HOST_SLICES, OTHERS, ARROWS, MOVED, LOOSE, SHIFT, FILE_NAME };

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job", .values = "!>=0"),
	[RULE] = TW_TEXT(
		"rank from", 10,
		"where the rank comes from: the trace (distributedInfo), a label of the process, "
		"recorded collectives, the name of the file, or the order of the files",
		.values = "!trace|name|order"),
	[GPU_SLICES] = TW_INTEGER("gpu slices", 12, "slices on streams of GPUs", .values = "!>=0"),
	[HOST_SLICES] =
		TW_INTEGER("host slices", 12, "slices on threads of the host", .values = "!>=0"),
	[OTHERS] = TW_INTEGER("other events", 12, "instants, counters and such", .values = "!>=0"),
	[ARROWS] = TW_INTEGER("flows", 10, "arrows, each with its start and its end on a slice",
			      .values = "!>=0"),
	[MOVED] =
		TW_INTEGER("moved slices", 12,
			   "slices that partly overlap others and are drawn on a lane of their own",
			   .values = "!>=0"),
	[LOOSE] = TW_INTEGER("flow ends left out", 14,
			     "ends of arrows whose slice or other end is not in the output, mostly "
			     "since --keep gpu leaves it out; they are left out too",
			     .values = "!>=0"),
	[SHIFT] = TW_DECIMAL("shift us", "us", 3, 3, 14, "added to all times", .values = "!"),
	[FILE_NAME] = TW_TEXT("file", 30, "the trace", .values = "!"),
};

static const struct tw_table_spec spec = TW_SPEC(
	"merged_ranks", "what of each rank is in the merged trace", columns, .keep_empty = true);

/* ---- options */

#define AT(member) offsetof(struct merge_command, member)

static const char *const keep_words[] = { "gpu", "all", NULL };
static const struct cli_kind keep_kind = { cli_read_word, keep_words, KEEP_GPU };

static const struct cli_option own_options[] = {
	{ "output", 'o', &cli_string, "FILE", AT(output),
	  "where to write, .gz for gzip (default: " DEFAULT_OUTPUT ")" },
	{ "ranks", 'n', &cli_positive, "N", AT(ranks), "ranks 0 to N-1 (default: all)" },
	{ "trace-name", 0, &cli_string, "NAME", AT(trace_name),
	  "file in each rank<N>/ (default: " TW_MERGE_TRACE_NAME ", if there is one)" },
	{ "keep", 0, &keep_kind, "WHAT", AT(keep),
	  "gpu: GPU work, its launches, annotations (default); all: every event" },
	{ "align", 0, &cli_align, "HOW", AT(options.align),
	  "clocks: collectives (default on several hosts), base-time (else) or none" },
	{ "gpus-per-node", 0, &cli_positive, "N", AT(gpus_per_node),
	  "GPUs of a host (default: as the traces tell)" },
	{ "compat", 0, &cli_flag, NULL, AT(compat),
	  "events, names and numbers of merge_gpu_trace_ranks.py" },
	{ "max-memory", 0, &cli_size, "SIZE", AT(options.load.max_memory),
	  "for traces held at once, such as 16G (default: half of the machine's)" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_COMMON(AT(common)),
	{ 0 },
};

/* What the options say together; -1 to go on. */
static int check_options(struct merge_command *m)
{
	m->options.load.threads = m->common.threads;
	m->options.load.gpus_per_node = m->gpus_per_node;
	m->options.load.block_size = cli_block_size();
	m->options.most_ranks = m->ranks == NO_COUNT ? -1 : (int64_t)m->ranks;
	m->options.keep_all = m->keep == KEEP_ALL;
	if (!strcmp(m->output, "-"))
		return cli_usage_error(m->command, "-o: a merged trace goes to a file; standard "
						   "output has the table of ranks");
	if (m->compat && (m->keep || m->options.align != TW_ALIGN_AUTO))
		return cli_usage_error(m->command, "--compat keeps and aligns as the original: no "
						   "--keep or --align with it");
	if (m->compat && tw_merge_is_gzip(m->output))
		return cli_usage_error(m->command, "--compat writes no .gz");
	return -1;
}

/* ---- what is said of it */

static void add_rank(struct trawl_table *table, const struct tw_merge *merge,
		     const struct tw_merged *rank)
{
	static const char *const rules[] = {
		[TW_RANK_BY_METADATA] = "trace",
		[TW_RANK_BY_LABEL] = "label",
		[TW_RANK_BY_COLLECTIVES] = "collectives",
		[TW_RANK_BY_NAME] = "name",
		[TW_RANK_BY_ORDER] = "order",
	};
	const char *path = tw_merged_file(merge, rank)->path;
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, RANK, rank->of->rank);
	tw_table_set_str(table, row, RULE, rules[rank->of->rule]);
	tw_table_set_integer(table, row, GPU_SLICES, (int64_t)rank->counts.gpu_slices);
	tw_table_set_integer(table, row, HOST_SLICES, (int64_t)rank->counts.host_slices);
	tw_table_set_integer(table, row, OTHERS, (int64_t)rank->counts.others);
	tw_table_set_integer(table, row, ARROWS, (int64_t)rank->counts.arrows);
	tw_table_set_integer(table, row, MOVED, (int64_t)rank->counts.moved);
	tw_table_set_integer(table, row, LOOSE, (int64_t)rank->counts.loose);
	tw_table_set_integer(table, row, SHIFT, rank->shift_ns);
	tw_table_set_str(table, row, FILE_NAME, tw_file_name(path));
}

static int print_ranks(const struct merge_command *m, const struct tw_merge *merge)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t i;

	for (i = 0; table && i < merge->count; i++)
		if (tw_merged_is_in(&merge->ranks[i]))
			add_rank(table, merge, &merge->ranks[i]);
	return cli_print_table(table, m->common.format, "merge");
}

static void note_missing(const struct tw_merge *merge, struct tw_str *notes)
{
	if (!merge->missing_count)
		return;
	tw_str_addf(notes, "no trace of rank%s ", merge->missing_count == 1 ? "" : "s");
	tw_rank_list_add_most(notes, merge->missing, merge->missing_count);
	if (merge->world_size > 0)
		tw_str_note(notes, " (of %" PRId64 ")", merge->world_size);
	else
		tw_str_note(notes, ", which recorded process groups name");
}

/* Where numbers are a guess, or do not fit together. */
static void note_numbers(const struct tw_merge *merge, struct tw_str *notes)
{
	const struct tw_merged *other = NULL;
	size_t by_order = 0, i;

	for (i = 0; i < merge->count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];

		by_order += rank->of->rule == TW_RANK_BY_ORDER;
		if (rank->of->world_size >= 0 && rank->of->world_size != merge->job.world_size)
			other = rank;
	}
	tw_note_order(merge->job.clashes, by_order, merge->count, notes);
	tw_note_apart(&merge->job.apart, notes);
	tw_note_world(other ? other->of->rank : -1, other ? other->of->world_size : -1,
		      merge->ranks[merge->count - 1].of->rank, merge->job.world_size, notes);
	if (merge->job.is_unlike)
		tw_str_note(notes,
			    "the traces do not look like ranks of one job: some share no process "
			    "group and few operators and kernels (trawl report --each reports "
			    "them one by one)");
}

/* Ranks of one file that are left out for one reason say it once. */
static bool says_the_same(const struct tw_merged *rank)
{
	return rank->of->message[0] && rank->of->file == rank[-1].of->file &&
	       rank->of->state == rank[-1].of->state &&
	       !strcmp(rank->of->message, rank[-1].of->message);
}

/* Whatever is left out or odd, by name. */
static int tell_ranks(const struct merge_command *m, const struct tw_merge *merge)
{
	int status = merge->missing_count ? CLI_INCOMPLETE : CLI_DONE;
	struct tw_str notes;
	size_t i;

	for (i = 0; i < merge->file_count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];
		const char *path = tw_merged_file(merge, rank)->path;

		if (rank->of->state == TW_RANK_NOT_A_TRACE && rank->of->message[0] &&
		    !m->common.quiet)
			cli_message("%s: passed over: %s", path, rank->of->message);
		if (rank->of->state == TW_RANK_UNREADABLE || rank->of->state == TW_RANK_DUPLICATE ||
		    rank->of->state == TW_RANK_CAPTURE) {
			if (!i || !says_the_same(rank))
				cli_message("%s: left out: %s", path,
					    rank->of->message[0] ? rank->of->message :
								   "out of memory");
			status = CLI_INCOMPLETE;
		}
		if (!tw_merged_is_in(rank))
			continue;
		if (rank->of->rule < TW_RANK_BY_NAME && rank->of->name_rank >= 0 &&
		    rank->of->name_rank != rank->of->rank)
			cli_message("%s: its name says rank %" PRId64 ", the trace rank %" PRId64
				    "; the trace counts",
				    path, rank->of->name_rank, rank->of->rank);
		if (rank->told_rank >= 0 && rank->told_rank != rank->of->rank)
			cli_message("%s: merged as rank %" PRId64 "; that it is of rank %" PRId64
				    " it tells behind its events only",
				    path, rank->of->rank, rank->told_rank);
		cli_tell_defects(path, rank->defects, rank->defect_count, &m->common);
		if (rank->of->state == TW_RANK_DAMAGED)
			status = CLI_INCOMPLETE;
	}
	tw_str_init(&notes, trawl_allocator_default());
	note_numbers(merge, &notes);
	note_missing(merge, &notes);
	cli_tell_notes(&notes, false);
	tw_str_release(&notes);
	if (merge->unsure)
		cli_message("clocks are aligned by base times where collectives do not tell");
	return status;
}

/* With --strict: the first trace in which something is odd, or a rank that is not there. */
static int check_strict(const struct merge_command *m, const struct tw_merge *merge, int status)
{
	size_t i;

	if (!m->common.strict)
		return CLI_DONE;
	for (i = 0; i < merge->count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];

		if (tw_merged_is_in(rank) && cli_strict_status(tw_merged_file(merge, rank)->path,
							       rank->defects, rank->defect_count))
			return CLI_FAILED;
	}
	return status == CLI_INCOMPLETE ? CLI_FAILED : CLI_DONE;
}

/* ---- the command */

/* What there is to tell comes before the file is there: --strict may refuse it. */
static int commit_merge(struct merge_command *m, struct tw_merge *merge)
{
	int told = tell_ranks(m, merge), status;
	struct trawl_error err;

	if (check_strict(m, merge, told))
		return CLI_FAILED;
	if (tw_merge_commit(merge, &err))
		return cli_fail(&err);
	status = print_ranks(m, merge);
	if (!status && !m->common.quiet)
		cli_message("written: %s; open it at https://ui.perfetto.dev", m->output);
	return status ? status : told;
}

static int merge_ranks(struct merge_command *m, struct tw_rank_set *set)
{
	double start = cli_seconds();
	struct trawl_error err;
	struct tw_merge merge;
	int status;

	m->options.load.progress = cli_job_progress;
	m->options.load.progress_context = &m->progress;
	cli_progress_begin(&m->progress, m->common.quiet);
	status = tw_merge_run(&merge, set, m->output, &m->options, trawl_allocator_default(), &err);
	cli_progress_end(&m->progress);
	status = status ? cli_fail(&err) : commit_merge(m, &merge);
	if (m->common.verbose && (status == CLI_DONE || status == CLI_INCOMPLETE))
		cli_message("merged in %.3f s", cli_seconds() - start);
	tw_merge_release(&merge);
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
		.trace_name = m->trace_name ? m->trace_name : TW_MERGE_TRACE_NAME,
		.ranks = m->ranks == NO_COUNT ? TW_MERGE_COMPAT_RANKS : m->ranks,
	};
	struct trawl_error err;
	struct tw_str said;
	int status;

	if (argc != 1)
		return cli_usage_error(m->command, "--compat takes one directory, not %d", argc);
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
	struct tw_rank_set set = { 0 };
	struct trawl_error err;
	int count, status = cli_begin(command, &m, argc, argv, &count);

	if (status >= 0)
		return status;
	if (!count)
		return cli_usage_error(command, "which ranks?");
	status = check_options(&m);
	if (status >= 0)
		return status;
	m.options.cluster = cli_cluster();
	if (cli_is_led())
		return cli_be_led(&m.options.load, &m.options);
	if (m.compat)
		return merge_compatibly(&m, count, argv);
	if (tw_rank_set_find_named(&set, (const char *const *)argv, (size_t)count, m.trace_name,
				   TW_MERGE_TRACE_NAME, trawl_allocator_default(), &err))
		return cli_fail(&err);
	return merge_ranks(&m, &set);
}

const struct cli_command cli_merge = {
	"merge",
	"RANKS",
	"one timeline of all ranks of a job, for Perfetto",
	"RANKS is a directory, a pattern or a list of traces. Writes FILE (default:\n"
	"merged_gpu_trace_enhanced.json here; a name that ends with .gz is compressed), a trace\n"
	"that https://ui.perfetto.dev opens, and prints what of each rank is in it.\n\n"
	"  trawl merge run/torch_profiler -o merged.json.gz\n",
	options,
	merge,
};
