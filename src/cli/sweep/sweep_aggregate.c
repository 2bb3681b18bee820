/* trawl sweep aggregate: the reports of a sweep in one table each. */
#include "cli/sweep/aggregating.h"
#include "cli/sweep/sweep.h"

/* Reads it; NULL when it cannot be, which is told. */
static struct tw_book *open_report(struct cli_aggregate *a, const char *path)
{
	struct trawl_error err;
	struct tw_book *book;

	if (!tw_book_open(&book, path, trawl_allocator_default(), &err))
		return book;
	a->incomplete = true;
	cli_message("left out: %s", err.message);
	return NULL;
}

static void take_point(struct cli_aggregate *a, const struct tw_sweep_point *point)
{
	struct tw_book *book;
	size_t i;

	for (i = 0; i < point->rank_count; i++) {
		const struct tw_sweep_rank *rank = &point->ranks[i];

		book = rank->report ? open_report(a, rank->report) : NULL;
		if (book)
			cli_aggregate_report(a, point, rank->rank, book);
		tw_book_free(book);
	}
	book = point->collective_report ? open_report(a, point->collective_report) : NULL;
	if (book)
		cli_aggregate_collective(a, point, book);
	tw_book_free(book);
}

static int aggregate(struct cli_aggregate *a, const struct cli_sweep *s)
{
	int status;
	size_t i;

	for (i = 0; i < s->sweep.count; i++)
		take_point(a, &s->sweep.points[i]);
	if (!a->reports && !a->collectives) {
		cli_message("%s: no report that can be read; 'trawl sweep report' makes them",
			    s->sweep.directory);
		return CLI_FAILED;
	}
	if (!a->collectives && !s->common.quiet)
		cli_message("no collective report with collectives: nccl_master_all_configs is not "
			    "made");
	status = cli_aggregate_write(a, &s->sweep);
	if (status == CLI_DONE)
		status = cli_aggregate_print(a, s->common.format);
	if (status == CLI_DONE && (a->incomplete || s->sweep.incomplete))
		status = CLI_INCOMPLETE;
	return status;
}

int cli_sweep_aggregate(const struct cli_command *command, int argc, char **argv)
{
	struct cli_sweep s = { .command = command };
	struct cli_option own[5], common[8];
	const struct cli_option *const tables[] = { own, common };
	struct cli_aggregate a;
	int status;

	cli_sweep_options(&s, own, common);
	status = cli_sweep_begin(&s, tables, 2, argc, argv);
	if (status >= 0)
		return status;
	status = cli_aggregate_begin(&a);
	if (status == CLI_DONE)
		status = aggregate(&a, &s);
	cli_aggregate_end(&a);
	tw_sweep_release(&s.sweep);
	return status;
}
