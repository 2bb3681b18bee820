/* What is made of all configurations of a sweep together, and what is said of them. */
#include "cli/sweep/sweep.h"
#include "cli/screen.h"

#include "study/compare/across_threads.h"
#include "study/sweep/aggregate.h"
#include "table/table.h"

#include <math.h>
#include <string.h>

/* Sets *has_ranks where any has. */
static int list_configurations(struct cli_sweep_results *r, bool *has_ranks)
{
	size_t i, k;

	for (i = 0; i < r->s->sweep.count; i++) {
		const struct tw_point_analysis *p = &r->points[i];

		r->list[i] = (struct tw_configuration){
			.name = p->point->name,
			.threads = p->point->threads,
			.channels = p->point->channels,
			.ended = p->point->ended,
			.straggler = p->straggler.len ? p->straggler.ptr : NULL,
			.gemm_difference_us = NAN,
		};
		if (tw_configuration_of(&r->list[i], &p->job, trawl_allocator_default()))
			return cli_no_memory();
		*has_ranks |= p->job.count > 0;
		for (k = 0; k < p->point->rank_count; k++)
			r->reports += p->reported[k];
		r->collectives += p->outputs & TW_POINT_COLLECTIVES && p->job.count;
		r->merged += p->merged_slices > 0;
	}
	return CLI_DONE;
}

int cli_sweep_results_make(struct cli_sweep_results *r, const struct cli_sweep *s, unsigned outputs)
{
	double start = cli_seconds();
	bool has_ranks = false;
	int status;

	*r = (struct cli_sweep_results){ .s = s };
	r->points = cli_alloc(s->sweep.count, sizeof(*r->points));
	r->list = cli_alloc(s->sweep.count, sizeof(*r->list));
	status = cli_sweep_analyse(s, &s->sweep, false, outputs, r->points);
	if (s->common.verbose)
		cli_message("%zu configurations analyzed in %.3f s", s->sweep.count,
			    cli_seconds() - start);
	if (status == CLI_FAILED || list_configurations(r, &has_ranks))
		return CLI_FAILED;
	if (has_ranks)
		return status;
	cli_message("%s: no readable trace", s->sweep.directory);
	return CLI_FAILED;
}

void cli_sweep_results_release(struct cli_sweep_results *r)
{
	cli_sweep_release_points(r->points, r->s->sweep.count);
}

/* ---- files of all configurations together */

static int write_comparisons(struct cli_sweep_results *r)
{
	struct tw_across_threads across = { 0 };
	struct trawl_error err;
	int status;

	tw_str_init(&across.notes, trawl_allocator_default());
	status = tw_compare_across_threads(r->points, &r->s->sweep, r->s->common.threads, &across,
					   &err);
	r->comparisons = across.written;
	cli_tell_notes(&across.notes, false);
	if (status)
		return cli_fail(&err);
	return across.incomplete ? CLI_INCOMPLETE : CLI_DONE;
}

static int write_aggregates(struct cli_sweep_results *r)
{
	struct tw_aggregate aggregate;
	struct trawl_error err;
	int status = tw_aggregate_init(&aggregate, &err);
	size_t i;

	for (i = 0; i < r->s->sweep.count && !status; i++)
		status = tw_aggregate_analysis(&aggregate, &r->points[i], &err);
	cli_tell_notes(&aggregate.notes, false);
	if (!status)
		status = tw_aggregate_write(&aggregate, &r->s->sweep, &err);
	r->aggregates = aggregate.files;
	tw_aggregate_release(&aggregate);
	return status ? cli_fail(&err) : CLI_DONE;
}

int cli_sweep_write_all(struct cli_sweep_results *r)
{
	int status = write_comparisons(r);

	return status == CLI_FAILED ? status : cli_worse(status, write_aggregates(r));
}

/* ---- what is said */

static void add_answer(const struct cli_sweep_results *r, struct cli_screen *s)
{
	struct tw_str answer;
	char *line, *end;

	tw_str_init(&answer, s->out.allocator);
	tw_configurations_answer(r->list, r->s->sweep.count, &answer);
	for (line = answer.ptr; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		cli_add_wrapped(s, line, 0);
	}
	tw_str_add_cstr(&s->out, answer.len ? "\n" : "");
	s->out.failed |= answer.failed;
	tw_str_release(&answer);
}

int cli_sweep_print_results(const struct cli_sweep_results *r, const struct trawl_table *more)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	enum tw_format format = r->s->common.format;
	struct trawl_table *table = tw_configurations_table(r->list, r->s->sweep.count, a);
	const struct trawl_table *tables[] = { table, more };
	struct cli_screen s;

	if (!table)
		return cli_no_memory();
	cli_screen_init(&s);
	if (format == TW_FORMAT_TABLE)
		add_answer(r, &s);
	tw_render(tables, more ? 2 : 1, format, "sweep", s.width, &s.out);
	tw_table_free(table);
	return cli_screen_print(&s);
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
	add_count(&text, r->reports, "rank report", "rank reports");
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
