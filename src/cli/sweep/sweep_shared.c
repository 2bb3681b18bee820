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
	{ "max-memory", 0, &cli_size, "SIZE", AT(options.max_memory),
	  "max memory for traces, such as 16G (default: half of the machine's)" },
	{ 0 },
};

const struct cli_option cli_sweep_output_options[] = {
	{ "output", 'o', &cli_string, "DIR", AT(common.output),
	  "output directory, laid out as a sweep (default: the sweep)" },
	{ 0 },
};

const struct cli_option cli_sweep_align_options[] = {
	{ "align", 0, &cli_align, "HOW", AT(options.align), CLI_ALIGN_HELP },
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
	struct trawl_sweep_options *o = &s->options;
	struct trawl_error err;
	int count, status;

	trawl_sweep_options_init(o);
	status = cli_begin(command, state, argc, argv, &count);
	if (status >= 0)
		return status;
	if (count != 1)
		return cli_usage_error(command,
				       count ? "expected one sweep, got %d" :
					       "missing DIR argument (%d given)",
				       count);
	tw_str_init(&s->notes, trawl_allocator_default());
	o->filter = cli_filter_of(&s->lists);
	o->output = s->common.output;
	o->threads = s->common.threads;
	o->quiet = s->common.quiet;
	o->strict = s->common.strict;
	o->block_size = cli_block_size();
	o->progress = cli_progress_update;
	o->progress_context = &s->progress;
	o->note = cli_keep_note;
	o->note_context = &s->notes;
	s->directory = argv[0];
	if (trawl_sweep_find(&s->sweep, s->directory, o, &err)) {
		cli_sweep_end(s);
		return cli_fail(&err);
	}
	cli_tell_notes(&s->notes, false);
	return -1;
}

void cli_sweep_end(struct cli_sweep *s)
{
	trawl_sweep_free(s->sweep);
	tw_str_release(&s->notes);
}

void cli_sweep_call(struct cli_sweep *s)
{
	cli_progress_begin(&s->progress, s->common.quiet);
}

int cli_sweep_called(struct cli_sweep *s, int status, const struct trawl_error *err)
{
	cli_progress_end(&s->progress);
	cli_tell_notes(&s->notes, false);
	return status ? cli_fail(err) : CLI_DONE;
}
