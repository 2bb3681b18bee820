/* trawl sweep variance: the operations of each report whose calls differ most in time. */
#include "cli/sweep/sweep_steps.h"

#include "base/alloc.h"

#include <string.h>

/* Whether a report has the sheet; what is wrong with it is told when it is used. */
static bool has_sheet(const char *path)
{
	const struct tw_csv *sheet = NULL;
	struct tw_book *book;
	bool has;

	if (tw_book_open(&book, path, trawl_allocator_default(), NULL))
		return false;
	has = !tw_book_sheet(book, "GEMM", &sheet, NULL) && sheet;
	tw_book_free(book);
	return has;
}

/* Ranks whose report is not there, or damaged, and whose trace can stand in for it. */
static bool *choose(const struct tw_sweep *sweep)
{
	bool *wanted = tw_alloc_array(trawl_allocator_default(), cli_sweep_ranks(sweep) + 1,
				      sizeof(*wanted));
	size_t i, k, n = 0;

	for (i = 0; wanted && i < sweep->count; i++)
		for (k = 0; k < sweep->points[i].rank_count; k++, n++) {
			const struct tw_sweep_rank *rank = &sweep->points[i].ranks[k];

			wanted[n] = rank->trace && (!rank->report || !has_sheet(rank->report));
		}
	return wanted;
}

static int make(struct cli_sweep_steps *steps, const struct cli_sweep_step_options *o)
{
	struct tw_str name, path;
	int status = cli_sweep_step_variance(steps);

	if (status != CLI_DONE)
		return status;
	if (!steps->variance.rows) {
		cli_message("%s: no report or trace in it has rows of sheet GEMM",
			    steps->s->sweep.directory);
		return CLI_FAILED;
	}
	tw_str_init(&name, trawl_allocator_default());
	tw_str_init(&path, trawl_allocator_default());
	cli_sweep_step_name(steps->top_k, "", &name);
	if (o->output)
		tw_str_add_cstr(&path, o->output);
	else if (!name.failed)
		tw_sweep_analysis_path(&steps->s->sweep, name.ptr, &path);
	if (name.failed || path.failed) {
		status = cli_no_memory();
	} else {
		status = cli_sweep_step_finish(steps, &steps->variance, path.ptr);
	}
	tw_str_release(&path);
	tw_str_release(&name);
	return status;
}

static int run(const struct cli_sweep *s, const struct cli_sweep_step_options *o)
{
	size_t bytes = cli_sweep_ranks(&s->sweep) + 1;
	bool *wanted = choose(&s->sweep);
	struct cli_sweep_part part;
	struct cli_sweep_steps steps;
	int loaded, status;

	if (!wanted)
		return cli_no_memory();
	loaded = cli_sweep_part_make(&part, s, wanted, CLI_MAKE_INSTANCES);
	status = loaded;
	if (loaded == CLI_DONE || loaded == CLI_INCOMPLETE) {
		cli_sweep_steps_init(&steps, s, part.made, part.made ? part.s.sweep.count : 0);
		steps.top_k = o->top_k;
		steps.incomplete = loaded == CLI_INCOMPLETE;
		status = make(&steps, o);
		cli_sweep_steps_release(&steps);
	}
	cli_sweep_part_release(&part);
	tw_free(trawl_allocator_default(), wanted, bytes);
	return status;
}

int cli_sweep_variance(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { .command = command };
	struct cli_sweep_step_options o = { 0 };
	struct cli_option own[5], stage[5], common[8];
	const struct cli_option *const tables[] = { stage, own, common };
	int status;

	cli_sweep_step_options(&o, CLI_STEP_VARIANCE, stage);
	cli_sweep_options(&s, own, common);
	status = cli_sweep_begin(&s, tables, 3, argc, argv);
	if (status >= 0)
		return status;
	status = run(&s, &o);
	tw_sweep_release(&s.sweep);
	return status;
}
