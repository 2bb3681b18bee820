#include "cli/sweep/sweep_results.h"

#include "base/alloc.h"
#include "cli/sweep/aggregating.h"
#include "table/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the list */

static int make_list(struct cli_sweep_results *r)
{
	size_t i;

	for (i = 0; i < r->s->sweep.count; i++) {
		const struct tw_sweep_point *point = r->made[i].point;

		r->list[i] = (struct tw_configuration){ .name = point->name,
							.threads = point->threads,
							.channels = point->channels,
							.ended = point->ended,
							.straggler = r->made[i].straggler,
							.gemm_difference_us = NAN };
		if (tw_configuration_of(&r->list[i], &r->made[i].job, trawl_allocator_default()))
			return cli_no_memory();
	}
	return CLI_DONE;
}

static void count_files(struct cli_sweep_results *r)
{
	size_t i, k;

	for (i = 0; i < r->s->sweep.count; i++) {
		const struct cli_sweep_made *made = &r->made[i];

		for (k = 0; k < made->point->rank_count; k++)
			r->reports += made->reported[k];
		r->collectives += made->makes & CLI_MAKE_COLLECTIVES && made->job.count;
		r->merged += made->merged_slices > 0;
	}
}

static bool has_ranks(const struct cli_sweep_results *r)
{
	size_t i;

	for (i = 0; i < r->s->sweep.count; i++)
		if (r->made[i].job.count)
			return true;
	return false;
}

int cli_sweep_results_make(struct cli_sweep_results *r, const struct cli_sweep *s, unsigned makes)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	double start = cli_seconds();
	int status;

	*r = (struct cli_sweep_results){ .s = s };
	r->made = tw_alloc_array(a, s->sweep.count, sizeof(*r->made));
	r->list = tw_alloc_array(a, s->sweep.count, sizeof(*r->list));
	if (!r->made || !r->list)
		return cli_no_memory();
	status = cli_sweep_make_all(s, makes, r->made);
	if (s->common.verbose)
		cli_message("%zu configurations made in %.3f s", s->sweep.count,
			    cli_seconds() - start);
	if (status == CLI_FAILED || make_list(r))
		return CLI_FAILED;
	if (!has_ranks(r)) {
		cli_message("%s: no trace in it could be read", s->sweep.directory);
		return CLI_FAILED;
	}
	count_files(r);
	return status;
}

void cli_sweep_results_release(struct cli_sweep_results *r)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	size_t count = r->s->sweep.count, i;

	for (i = 0; r->made && i < count; i++)
		if (r->made[i].of)
			cli_sweep_made_release(&r->made[i]);
	tw_free(a, r->made, count * sizeof(*r->made));
	tw_free(a, r->list, count * sizeof(*r->list));
}

/* ---- files of all configurations together */

static struct tw_book *book_of(const char *name, const struct trawl_table *const *tables,
			       size_t count)
{
	struct tw_book *book = NULL;
	struct trawl_error err;

	if (count &&
	    tw_book_of_tables(&book, name, tables, count, trawl_allocator_default(), &err)) {
		cli_fail(&err);
		return NULL;
	}
	return book;
}

static int gather(struct cli_aggregate *a, const struct cli_sweep_made *made)
{
	const struct trawl_table *const comms = made->comms;
	struct tw_book *book;
	char name[96];
	size_t i;

	for (i = 0; i < made->point->rank_count; i++) {
		int64_t rank = made->point->ranks[i].rank;
		const struct trawl_table *tables[] = {
			cli_sweep_rank_table(made, rank, "gpu_timeline"),
			cli_sweep_rank_table(made, rank, "quality"),
		};

		if (!tables[0])
			continue;
		snprintf(name, sizeof(name), "%s rank %" PRId64, made->point->name, rank);
		book = book_of(name, tables, tables[1] ? 2 : 1);
		if (!book)
			return CLI_FAILED;
		cli_aggregate_report(a, made->point, rank, book);
		tw_book_free(book);
	}
	if (!comms)
		return CLI_DONE;
	book = book_of(made->point->name, &comms, 1);
	if (!book)
		return CLI_FAILED;
	cli_aggregate_collective(a, made->point, book);
	tw_book_free(book);
	return CLI_DONE;
}

int cli_sweep_write_aggregates(struct cli_sweep_results *r)
{
	struct cli_aggregate aggregate;
	int status = cli_aggregate_begin(&aggregate);
	size_t i;

	for (i = 0; i < r->s->sweep.count && status == CLI_DONE; i++)
		status = gather(&aggregate, &r->made[i]);
	if (status == CLI_DONE)
		status = cli_aggregate_write(&aggregate, &r->s->sweep);
	r->aggregates = aggregate.files;
	cli_aggregate_end(&aggregate);
	return status;
}

/* ---- what is said */

static void add_answer(const struct cli_sweep_results *r, struct tw_str *out)
{
	struct tw_str answer;
	char *line, *end;

	tw_str_init(&answer, out->allocator);
	tw_configurations_answer(r->list, r->s->sweep.count, &answer);
	for (line = answer.ptr; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		cli_add_wrapped(out, line, 0, cli_width());
	}
	tw_str_add_cstr(out, answer.len ? "\n" : "");
	out->failed |= answer.failed;
	tw_str_release(&answer);
}

int cli_sweep_print_results(const struct cli_sweep_results *r, const struct trawl_table *more)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	enum tw_format format = r->s->common.format;
	struct trawl_table *table = tw_configurations_table(r->list, r->s->sweep.count, a);
	const struct trawl_table *tables[] = { table, more };
	struct tw_str out;
	int status = CLI_FAILED;

	tw_str_init(&out, a);
	if (table && format == TW_FORMAT_TABLE)
		add_answer(r, &out);
	if (table)
		tw_render(tables, more ? 2 : 1, format, "sweep", cli_width(), &out);
	if (!table || out.failed)
		cli_no_memory();
	else
		status = cli_print(out.ptr, out.len);
	tw_table_free(table);
	tw_str_release(&out);
	return status;
}

static void add_count(struct tw_str *out, size_t count, const char *one, const char *many)
{
	if (count)
		tw_str_addf(out, "%s%zu %s", out->len ? ", " : "", count, count == 1 ? one : many);
}

void cli_sweep_tell_where(const struct cli_sweep_results *r)
{
	struct tw_str text;

	if (r->s->common.quiet)
		return;
	tw_str_init(&text, trawl_allocator_default());
	add_count(&text, r->reports, "report of a rank", "reports of ranks");
	add_count(&text, r->collectives, "collective report", "collective reports");
	add_count(&text, r->comparisons, "comparison", "comparisons");
	add_count(&text, r->aggregates, "table of all configurations",
		  "tables of all configurations");
	add_count(&text, r->variance, "variance table", "variance tables");
	add_count(&text, r->pictures, "picture", "pictures");
	add_count(&text, r->merged, "merged trace", "merged traces");
	if (text.len && !text.failed)
		cli_message("written to %s: %s", r->s->sweep.output, text.ptr);
	tw_str_release(&text);
}
