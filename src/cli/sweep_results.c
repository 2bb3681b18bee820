#include "cli/sweep_results.h"

#include "base/alloc.h"
#include "table/table.h"

#include <math.h>
#include <string.h>

static int no_memory(void)
{
	cli_message("out of memory");
	return CLI_FAILED;
}

/* ---- the list */

static int make_list(struct cli_sweep_results *r)
{
	size_t i;

	for (i = 0; i < r->s->sweep.count; i++) {
		const struct tw_sweep_point *point = r->made[i].point;

		r->list[i] = (struct tw_configuration){ .name = point->name,
							.threads = point->threads,
							.channels = point->channels,
							.gemm_difference_us = NAN };
		if (tw_configuration_of(&r->list[i], &r->made[i].job, trawl_allocator_default()))
			return no_memory();
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
		return no_memory();
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

int cli_sweep_print_results(const struct cli_sweep_results *r)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	enum tw_format format = r->s->common.format;
	struct trawl_table *table = tw_configurations_table(r->list, r->s->sweep.count, a);
	struct tw_str out;
	int status = CLI_FAILED;

	tw_str_init(&out, a);
	if (table && format == TW_FORMAT_TABLE)
		add_answer(r, &out);
	if (table)
		tw_render((const struct trawl_table *const *)&table, 1, format, "sweep",
			  cli_width(), &out);
	if (!table || out.failed)
		no_memory();
	else
		status = cli_print(out.ptr, out.len);
	tw_table_free(table);
	tw_str_release(&out);
	return status;
}
