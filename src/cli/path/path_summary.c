#include "cli/path/path_summary.h"

#include "cli/ranks/ranks.h"
#include "cli/ranks/ranks_verdict.h"
#include "table/table.h"

#include <string.h>

#define TOP 10
#define INDENT 2

static const struct cli_part of_summary[] = {
	{ "rank", "rank" },
	{ "class", "class" },
	{ "ms", "on the path" },
	{ "%", "share of the window" },
};

static const struct cli_part of_ops[] = {
	{ "operator", "operator" },
	{ "shapes", "shapes" },
	{ TW_COL_PATH_MS, "on the path" },
	{ TW_COL_OF_ALL_MS, "total" },
	{ TW_COL_GAIN_AT_10, "gain at -10 %" },
};

static const struct cli_excerpt path_excerpt =
	CLI_EXCERPT("critical_summary", "critical path", 2 * TOP, "ms", of_summary);
static const struct cli_excerpt ops_excerpt = CLI_EXCERPT(
	"critical_ops", "top operators by GPU time on the critical path", TOP, NULL, of_ops);

/* Scenarios in words, in place of their names and notes. */
static const struct trawl_column shown_columns[] = {
	TW_TEXT("what if", 40, "what changes"),
	TW_MS("window", 10, "the window then"),
	TW_MS("gain", 10, "how much shorter it is"),
	TW_REAL("of the window", "%", 1, 10, "gain, of the window as recorded"),
};

static const struct tw_table_spec shown_spec = TW_SPEC("what_if", "", shown_columns);

/* The row of a scenario, as many as there are rows: there is none. */
static size_t scenario_row(const struct trawl_table *t, const char *name)
{
	size_t row;

	for (row = 0; row < trawl_table_rows(t); row++)
		if (tw_table_text_is(t, row, trawl_table_find_column(t, "scenario"), name))
			break;
	return row;
}

/* "host floor 28.834 ms (87.0 %)": the window where what bounds it from the other side is free. */
static void add_floor(const struct trawl_table *t, const char *scenario, const char *what,
		      struct cli_screen *s)
{
	size_t row = scenario_row(t, scenario);
	struct trawl_cell before = tw_table_cell(t, row, TW_COL_BEFORE_MS);
	struct trawl_cell after = tw_table_cell(t, row, TW_COL_AFTER_MS);
	struct tw_str line;

	if (after.state != TRAWL_CELL_VALUE || !before.integer)
		return;
	tw_str_init(&line, trawl_allocator_default());
	tw_str_addf(&line, "%s: ", what);
	tw_str_add_decimal_fixed(&line, after.integer, 6, 3);
	tw_str_add_cstr(&line, " ms (");
	tw_str_add_real_fixed(&line, 100.0 * (double)after.integer / (double)before.integer, 1);
	tw_str_add_cstr(&line, " % of the window)");
	cli_add_line(s, &line, INDENT);
}

/* The note without what follows it, else the name. */
static void add_scenario(struct trawl_table *shown, const struct trawl_table *t, size_t row)
{
	static const char *const from[] = { TW_COL_AFTER_MS, TW_COL_WHAT_IF_GAIN_MS,
					    TW_COL_WHAT_IF_GAIN_PERCENT };
	const char *kind = tw_table_own_text(t, row, trawl_table_find_column(t, "kind"));
	const char *text = tw_table_own_text(t, row, trawl_table_find_column(t, "scenario"));
	const char *note = tw_table_own_text(t, row, trawl_table_find_column(t, "note"));
	size_t at = tw_table_add_row(shown), i;

	if (strcmp(kind, "roofline") && *note)
		text = note;
	tw_table_set_text(shown, at, 0, text,
			  text == note && strcmp(kind, "asked") ? strcspn(note, ";") :
								  strlen(text));
	for (i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		tw_table_copy_cell(shown, at, 1 + i, t, row, trawl_table_find_column(t, from[i]));
}

static void add_scenarios(const struct trawl_table *t, struct cli_screen *s)
{
	struct trawl_table *shown = tw_table_new(&shown_spec, trawl_allocator_default());
	size_t row;

	for (row = 0; shown && row < trawl_table_rows(t); row++)
		add_scenario(shown, t, row);
	cli_add_table(s, shown, "what if (by replay of what waited for what)");
}

static void add_head(const struct trawl_job *job, const struct trawl_path *path,
		     struct cli_screen *s)
{
	struct tw_str line;

	tw_str_init(&line, trawl_allocator_default());
	cli_add_ranks_known(&line, job);
	tw_str_add_cstr(&line, ", window ");
	tw_str_add_decimal_fixed(&line, trawl_path_window_ns(path), 6, 3);
	tw_str_add_cstr(&line, " ms");
	cli_add_line(s, &line, INDENT);
}

void cli_summarise_path(const struct trawl_job *job, const struct trawl_path *path,
			struct cli_screen *s)
{
	const struct trawl_table *scenarios = trawl_path_find(path, "what_if");
	const struct trawl_table *summary = trawl_path_find(path, "critical_summary");
	size_t i;

	add_head(job, path, s);
	add_floor(scenarios, "gpu_free", "floor of the host (GPU work takes no time)", s);
	add_floor(scenarios, "host_free", "floor of the GPU (the host takes no time)", s);
	for (i = 0; i < trawl_table_notes(summary); i++)
		cli_add_wrapped(s, trawl_table_note(summary, i), INDENT);
	cli_add_excerpt(summary, &path_excerpt, s);
	add_scenarios(scenarios, s);
	cli_add_excerpt(trawl_path_find(path, ops_excerpt.table), &ops_excerpt, s);
}
