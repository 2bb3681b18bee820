/* What stages make of all configurations of a sweep together, and what is said of them. */
#include "cli/screen.h"
#include "cli/sweep/sweep.h"

#include "table/table.h"

int cli_sweep_analyse(struct cli_sweep *s, unsigned outputs, struct trawl_sweep_results **results)
{
	double start = cli_seconds();
	struct trawl_error err;
	int status;

	cli_sweep_call(s);
	status = cli_sweep_called(s, trawl_sweep_analyse(results, s->sweep, outputs, &err), &err);
	if (s->common.verbose)
		cli_message("%zu configurations analyzed in %.3f s",
			    trawl_sweep_configurations(s->sweep), cli_seconds() - start);
	return status;
}

int cli_sweep_write(struct cli_sweep *s, unsigned outputs, struct trawl_sweep_results *results)
{
	struct trawl_error err;
	int status = trawl_sweep_results_write(results, outputs, &err);

	cli_tell_notes(&s->notes, false);
	return status ? cli_fail(&err) : CLI_DONE;
}

int cli_sweep_status(int status, const struct trawl_sweep_results *results)
{
	return status == CLI_DONE && !trawl_sweep_results_is_whole(results) ? CLI_INCOMPLETE :
									      status;
}

/* ---- what is said */

static void add_answer(const struct trawl_sweep_results *results, struct cli_screen *s)
{
	size_t count = trawl_sweep_results_lines(results), i;

	for (i = 0; i < count; i++)
		cli_add_wrapped(s, trawl_sweep_results_line(results, i), 0);
	tw_str_add_cstr(&s->out, count ? "\n" : "");
}

/* The largest finding of each configuration, where any has one. */
static void add_largest(const struct trawl_table *configurations, struct cli_screen *s)
{
	static const char *const headers[] = { "configuration", TW_COL_LARGEST_FINDING,
					       TW_COL_LARGEST_GAIN_MS, TW_COL_LARGEST_GAIN_PERCENT,
					       TW_COL_ALL_GAINS_PERCENT };
	struct trawl_table *table = tw_table_narrow(configurations, headers,
						    sizeof(headers) / sizeof(headers[0]),
						    trawl_allocator_default());

	if (table && trawl_table_columns(table) < 2) {
		trawl_table_free(table);
		return;
	}
	cli_add_table(s, table,
		      "largest finding of each configuration, and what all gain together");
}

static const struct trawl_column verdict_columns[] = {
	TW_TEXT("text", 100, "sentence of the answer; the first names the best configuration",
		.values = "!"),
};

static const struct tw_table_spec verdict_spec =
	TW_SPEC("verdict", "answer in sentences", verdict_columns, .keep_empty = true);

static struct trawl_table *verdict_of(const struct trawl_sweep_results *results)
{
	struct trawl_table *table = tw_table_new(&verdict_spec, trawl_allocator_default());
	size_t count = trawl_sweep_results_lines(results), i;

	for (i = 0; table && i < count; i++)
		tw_table_set_str(table, tw_table_add_row(table), 0,
				 trawl_sweep_results_line(results, i));
	return tw_table_finished(table);
}

/* With the answer behind the tables, as other formats, and earlier versions, do not have it. */
static int print_json(const struct cli_sweep *c, const struct trawl_sweep_results *results,
		      const struct trawl_table *more)
{
	struct trawl_table *verdict = verdict_of(results);
	const struct trawl_table *findings = trawl_sweep_results_find(results, "findings");
	const struct trawl_table *tables[4];
	size_t count = 0;
	int status;

	if (!verdict)
		return cli_no_memory();
	tables[count++] = trawl_sweep_results_find(results, "configurations");
	if (more)
		tables[count++] = more;
	if (findings)
		tables[count++] = findings;
	tables[count++] = verdict;
	status = cli_print_tables(tables, count, c->common.format, "sweep", 0);
	trawl_table_free(verdict);
	return status;
}

int cli_sweep_print_results(const struct cli_sweep *c, const struct trawl_sweep_results *results,
			    const struct trawl_table *more)
{
	const struct trawl_table *tables[] = { trawl_sweep_results_find(results, "configurations"),
					       more };
	enum tw_format format = c->common.format;
	struct cli_screen s;

	if (format == TW_FORMAT_JSON || format == TW_FORMAT_SCHEMA)
		return print_json(c, results, more);
	cli_screen_init(&s);
	if (format == TW_FORMAT_TABLE)
		add_answer(results, &s);
	tw_render(tables, more ? 2 : 1, format, "sweep", s.width, &s.out);
	if (format == TW_FORMAT_TABLE)
		add_largest(tables[0], &s);
	return cli_screen_print(&s);
}

int cli_sweep_print_table(const struct cli_sweep *s, const struct trawl_sweep_results *results,
			  const char *name, const char *schema)
{
	const struct trawl_table *table = trawl_sweep_results_find(results, name);

	return cli_print_tables(&table, 1, s->common.format, schema, cli_width());
}

int cli_sweep_print_text(struct trawl_sweep_results *results, const char *before)
{
	const char *text = trawl_sweep_results_text(results, cli_width());
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_cstr(&out, before);
	tw_str_add_cstr(&out, text ? text : "");
	out.failed |= !text;
	return cli_print_str(&out);
}

static void add_count(struct tw_str *out, size_t count, const char *one, const char *many)
{
	if (count)
		tw_str_addf(out, "%s%zu %s", out->len ? ", " : "", count, count == 1 ? one : many);
}

void cli_sweep_tell_where(const struct cli_sweep *s, const struct trawl_sweep_results *results)
{
	static const struct {
		enum trawl_sweep_outputs output;
		const char *one, *many;
	} kinds[] = {
		{ TRAWL_SWEEP_REPORTS, "rank report", "rank reports" },
		{ TRAWL_SWEEP_COLLECTIVES, "collective report", "collective reports" },
		{ TRAWL_SWEEP_COMPARISONS, "comparison", "comparisons" },
		{ TRAWL_SWEEP_AGGREGATES, "table of all configurations",
		  "tables of all configurations" },
		{ TRAWL_SWEEP_VARIANCE, "variance table", "variance tables" },
		{ TRAWL_SWEEP_PICTURES, "picture", "pictures" },
		{ TRAWL_SWEEP_FINDINGS, "table of findings", "tables of findings" },
		{ TRAWL_SWEEP_MERGED, "merged trace", "merged traces" },
	};
	struct tw_str text;
	size_t i;

	if (s->common.quiet)
		return;
	tw_str_init(&text, trawl_allocator_default());
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		add_count(&text, trawl_sweep_results_files(results, kinds[i].output), kinds[i].one,
			  kinds[i].many);
	if (text.len && !text.failed)
		cli_message("written to %s: %s", trawl_sweep_output(s->sweep), text.ptr);
	tw_str_release(&text);
}
