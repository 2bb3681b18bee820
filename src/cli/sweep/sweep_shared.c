/* What stages of a sweep share: their options, and finding the sweep. */
#include "cli/ranks/ranks.h"
#include "cli/sweep/sweep.h"

#include <stddef.h>

#define AT(member) offsetof(struct cli_sweep, member)

const struct cli_option cli_sweep_filter_options[] = {
	{ "threads", 0, &cli_number_list, "LIST", AT(lists.threads),
	  "only these thread counts, such as 256,512 (default: all)" },
	{ "channels", 0, &cli_number_list, "LIST", AT(lists.channels),
	  "only these channel counts, such as 28,42 (default: all)" },
	{ "ranks", 0, &cli_number_list, "LIST", AT(lists.ranks),
	  "only these ranks, such as 0-7 (default: all)" },
	{ 0 },
};

const struct cli_option cli_sweep_memory_options[] = {
	{ "max-memory", 0, &cli_size, "SIZE", AT(max_memory),
	  "max memory for traces, such as 16G (default: half of the machine's)" },
	{ 0 },
};

const struct cli_option cli_sweep_output_options[] = {
	{ "output", 'o', &cli_string, "DIR", AT(common.output),
	  "output directory, laid out as a sweep (default: the sweep)" },
	{ 0 },
};

const struct cli_option cli_sweep_align_options[] = {
	{ "align", 0, &cli_align, "HOW", AT(align), CLI_ALIGN_HELP },
	{ 0 },
};

struct trawl_sweep_filter cli_filter_of(const struct cli_filter *lists)
{
	return (struct trawl_sweep_filter){
		.threads = lists->threads.number,
		.thread_count = lists->threads.count,
		.channels = lists->channels.number,
		.channel_count = lists->channels.count,
		.ranks = lists->ranks.number,
		.rank_count = lists->ranks.count,
	};
}

int cli_sweep_begin(struct cli_sweep *s, const struct cli_command *command, void *state, int argc,
		    char **argv)
{
	struct trawl_error err;
	int count, status = cli_begin(command, state, argc, argv, &count);
	size_t i;

	if (status >= 0)
		return status;
	s->filter = cli_filter_of(&s->lists);
	if (count != 1)
		return cli_usage_error(command,
				       count ? "expected one sweep, got %d" :
					       "missing DIR argument (%d given)",
				       count);
	if (tw_sweep_find(&s->sweep, argv[0], s->common.output, &s->filter,
			  trawl_allocator_default(), &err)) {
		tw_sweep_release(&s->sweep);
		return cli_fail(&err);
	}
	for (i = 0; i < s->sweep.note_count && !s->common.quiet; i++)
		cli_message("%s", s->sweep.notes[i]);
	return -1;
}

char *cli_sweep_path(const struct tw_sweep *sweep, const char *name)
{
	struct tw_str path;
	char *kept;

	tw_str_init(&path, trawl_allocator_default());
	tw_sweep_analysis_path(sweep, name, &path);
	kept = cli_text("%s", path.failed ? "" : path.ptr);
	tw_str_release(&path);
	return kept;
}

int cli_sweep_analyse(const struct cli_sweep *s, const struct tw_sweep *sweep, bool some_ranks,
		      unsigned outputs, struct tw_point_analysis *points)
{
	struct cli_progress progress;
	const struct tw_sweep_reading reading = {
		.threads = s->common.threads,
		.max_memory = s->max_memory,
		.block_size = cli_block_size(),
		.align = s->align,
		.ranks_chosen = some_ranks || s->filter.rank_count,
		.progress = cli_progress_update,
		.progress_context = &progress,
	};
	int status = sweep->incomplete ? CLI_INCOMPLETE : CLI_DONE;
	struct trawl_error err;
	size_t i;

	cli_progress_begin(&progress, s->common.quiet);
	tw_sweep_analyse(sweep, &reading, outputs, points);
	cli_progress_end(&progress);
	for (i = 0; i < sweep->count; i++) {
		cli_tell_notes(&points[i].notes, s->common.quiet);
		if (points[i].status && status != CLI_FAILED)
			status = cli_fail(&points[i].failure);
		else if (points[i].incomplete && status == CLI_DONE)
			status = CLI_INCOMPLETE;
	}
	if (s->common.strict && tw_sweep_check_strict(points, sweep->count, &err))
		return cli_fail(&err);
	return status;
}

void cli_sweep_release_points(struct tw_point_analysis *points, size_t count)
{
	while (count--)
		tw_point_analysis_release(&points[count]);
}
