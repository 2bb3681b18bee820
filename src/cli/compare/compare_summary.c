/* What compare prints for people. */
#include "cli/compare/compare.h"
#include "cli/screen.h"

#include "render/escape.h"
#include "study/compare/columns.h"

#include <math.h>
#include <string.h>

/* Rows of a table on the terminal; the page and the workbook have all. */
#define MOST_ROWS 8

static const char separator[] = { TW_KEY_SEPARATOR, '\0' };

enum { NAME, BASELINE, TEST, DIFFERENCE, FASTER, NOISE, VERDICT, COLUMNS };

#define NUMBER(header, unit, digits, width, meaning) \
	TW_REAL(header, (unit), (digits), (width), (meaning))

static const struct trawl_column columns[COLUMNS] = {
	[NAME] = TW_TEXT("name", 40, "part of the GPU time"),
	[BASELINE] = NUMBER(TW_COL_BASELINE_MS, "ms", 3, 12, "median over ranks"),
	[TEST] = NUMBER(TW_COL_TEST_MS, "ms", 3, 12, "same for the test"),
	[DIFFERENCE] = NUMBER("diff. ms", "ms", 3, 12, "test - baseline"),
	[FASTER] = NUMBER(TW_COL_FASTER, "%", 1, 8, "above 0 is faster"),
	[NOISE] = NUMBER(TW_COL_NOISE_MS, "ms", 3, 10, "spread over ranks"),
	[VERDICT] = TW_TEXT("verdict", 8, "better, worse, same, new, gone"),
};

static const struct tw_table_spec spec = { .name = "changes",
					   .meaning = "changes",
					   .columns = columns,
					   .column_count = COLUMNS,
					   .keep_empty = true };

static void add_change(struct trawl_table *table, const struct tw_change *c, const char *name)
{
	size_t row = tw_table_add_row(table);

	tw_table_set_str(table, row, NAME, name);
	tw_table_set_real(table, row, BASELINE, c->ns[0] / 1e6);
	tw_table_set_real(table, row, TEST, c->ns[1] / 1e6);
	tw_table_set_real(table, row, DIFFERENCE, (c->ns[1] - c->ns[0]) / 1e6);
	tw_table_set_real(table, row, FASTER, tw_change_faster(c));
	tw_table_set_real(table, row, NOISE, c->noise_ns / 1e6);
	tw_table_set_str(table, row, VERDICT, tw_verdict_names[c->judged.verdict]);
}

/* As the summary of one trace names them. */
static const struct {
	const char *type, *label;
} parts[] = {
	{ "computation_time", "computing" },
	{ "exposed_comm_time", TW_LABEL_EXPOSED_COMMUNICATION },
	{ "exposed_memcpy_time", TW_LABEL_EXPOSED_COPIES },
	{ "busy_time", "busy" },
	{ "idle_time", "idle" },
	{ "total_time", "total" },
	{ "total_comm_time", "all communication" },
	{ "total_memcpy_time", "all copies" },
};

enum { CAUSE, CAUSE_BASELINE, CAUSE_TEST, CAUSE_DIFFERENCE, CAUSE_WHY };

static const struct trawl_column cause_columns[] = {
	[CAUSE] = TW_TEXT("finding", 40, "what was found"),
	[CAUSE_BASELINE] = NUMBER(TW_COL_BASELINE_MS, "ms", 3, 12, "gain of its remedy"),
	[CAUSE_TEST] = NUMBER(TW_COL_TEST_MS, "ms", 3, 12, "same for the test"),
	[CAUSE_DIFFERENCE] = NUMBER("diff. ms", "ms", 3, 12, "test - baseline"),
	[CAUSE_WHY] = TW_TEXT("change", 16, "what happened to it"),
};

static const struct tw_table_spec cause_spec =
	TW_SPEC("causes", "causes", cause_columns, .keep_empty = true);

static void add_timeline(const struct tw_changes *changes, struct cli_screen *s)
{
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	size_t i;

	for (i = 0; table && i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct tw_change *c = tw_changes_part(changes, parts[i].type);

		/* Copies that neither side makes. */
		if (c && (c->ns[0] > 0 || c->ns[1] > 0))
			add_change(table, c, parts[i].label);
	}
	cli_add_table(s, table, "timeline");
}

static void add_configurations(const struct tw_changes *changes, struct cli_screen *s)
{
	struct trawl_table *table;
	size_t i;

	if (changes->totals.count < 2)
		return;
	table = tw_table_new(&spec, trawl_allocator_default());
	for (i = 0; table && i < changes->totals.count; i++)
		if (changes->totals.items[i].ranks[0] || changes->totals.items[i].ranks[1])
			add_change(table, &changes->totals.items[i],
				   changes->samples->configs[i].name);
	cli_add_table(s, table, "total time by configuration");
}

/* "range (domain)"; "(outside)" of what has no name. */
static void add_range_name(struct tw_str *out, const char *name)
{
	size_t range = strcspn(name, separator), domain;
	const char *behind = name + range + (name[range] != '\0');

	domain = strcspn(behind, separator);
	tw_str_add(out, name, range);
	if (!range && behind[domain])
		tw_str_addf(out, "(%s)", behind + domain + 1);
	else if (domain)
		tw_str_addf(out, " (%.*s)", (int)domain, behind);
}

static void add_item_name(const struct tw_changes *changes, enum tw_compared_kind kind,
			  const struct tw_change *c, struct tw_str *out)
{
	if (kind == TW_RANGE)
		add_range_name(out, tw_pool_text(&changes->samples->texts, c->name, NULL));
	else
		tw_change_name(changes, c, out);
}

/* Those that differ, largest first; how many do not is said. */
static void add_items(const struct tw_changes *changes, enum tw_compared_kind kind,
		      const char *what, struct cli_screen *s)
{
	const struct tw_change_list *list = &changes->all[kind];
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	struct tw_str name, heading;
	size_t differ = 0, i;

	tw_str_init(&name, trawl_allocator_default());
	tw_str_init(&heading, trawl_allocator_default());
	tw_str_add_cstr(&heading, what);
	tw_add_summed_over(&heading, changes, kind);
	for (i = 0; table && i < list->count; i++) {
		const struct tw_change *c = &list->items[i];

		if (c->judged.verdict == TW_SAME || differ++ >= MOST_ROWS)
			continue;
		tw_str_clear(&name);
		add_item_name(changes, kind, c, &name);
		add_change(table, c, name.ptr ? name.ptr : "");
	}
	cli_add_table(s, table, heading.failed ? what : heading.ptr);
	if (differ > MOST_ROWS)
		tw_str_addf(&s->out, "and %zu more with a difference\n", differ - MOST_ROWS);
	for (i = 0; i < list->count && differ; i++)
		if (list->items[i].by_call && list->items[i].judged.verdict != TW_SAME) {
			tw_str_add_cstr(&s->out, "verdict is per call where call counts differ\n");
			break;
		}
	if (list->count && !differ) {
		cli_add_heading(s, heading.failed ? what : heading.ptr);
		tw_str_addf(&s->out, "none of %zu differs by more than noise and thresholds\n",
			    list->count);
	}
	s->out.failed |= name.failed || heading.failed;
	tw_str_release(&heading);
	tw_str_release(&name);
}

/* Findings that appeared, went, or changed in gain. */
static void add_causes(const struct tw_changes *changes, struct cli_screen *s)
{
	const struct tw_cause_changes *causes = &changes->causes;
	struct trawl_table *table = tw_table_new(&cause_spec, trawl_allocator_default());
	size_t differ = 0, i, k;

	for (i = 0; table && i < causes->list.count; i++) {
		const struct tw_cause_change *c = &causes->list.at[i];
		size_t row;

		if (c->verdict == TW_SAME || differ++ >= MOST_ROWS)
			continue;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, CAUSE,
				 tw_cause_text(tw_cause_shown(c), TW_COL_FINDING_TITLE));
		for (k = 0; k < 2; k++)
			if (c->of[k].findings)
				tw_table_set_real(table, row, CAUSE_BASELINE + k, c->of[k].gain_ms);
		tw_table_set_real(table, row, CAUSE_DIFFERENCE, c->difference_ms);
		tw_table_set_str(table, row, CAUSE_WHY, tw_cause_why(c));
	}
	cli_add_table(s, table, "causes with a difference: gain of their remedy, of a step");
	if (differ > MOST_ROWS)
		tw_str_addf(&s->out, "and %zu more with a difference\n", differ - MOST_ROWS);
}

enum { STAGE, BEFORE, AFTER, STAGE_DIFFERENCE, OVERLAP, OVERLAP_AFTER, STAGE_VERDICT };

static const struct trawl_column stage_columns[] = {
	[STAGE] = TW_TEXT("stage", 20, "stage that launched the communication"),
	[BEFORE] =
		NUMBER(TW_COL_BASELINE_MS, "ms", 3, 12, "communication that no compute overlaps"),
	[AFTER] = NUMBER(TW_COL_TEST_MS, "ms", 3, 12, "same for the test"),
	[STAGE_DIFFERENCE] = NUMBER("diff. ms", "ms", 3, 12, "test - baseline"),
	[OVERLAP] = NUMBER(TW_COL_BASELINE_OVERLAP, "%", 1, 10, "share overlapped"),
	[OVERLAP_AFTER] = NUMBER(TW_COL_TEST_OVERLAP, "%", 1, 10, "same for the test"),
	[STAGE_VERDICT] = TW_TEXT("verdict", 8, "better, worse, same, new, gone"),
};

static const struct tw_table_spec stage_spec =
	TW_SPEC("stages", "stages", stage_columns, .keep_empty = true);

/* All of them: they are few, and what did not change is part of the answer. */
static void add_stages(const struct tw_changes *changes, struct cli_screen *s)
{
	const struct tw_change_list *list = &changes->all[TW_STAGE];
	struct trawl_table *table;
	size_t i, row;

	if (!list->count)
		return;
	table = tw_table_new(&stage_spec, trawl_allocator_default());
	for (i = 0; table && i < list->count; i++) {
		const struct tw_change *c = &list->items[i];

		row = tw_table_add_row(table);
		tw_table_set_str(table, row, STAGE,
				 tw_pool_text(&changes->samples->texts, c->name, NULL));
		tw_table_set_real(table, row, BEFORE, c->ns[0] / 1e6);
		tw_table_set_real(table, row, AFTER, c->ns[1] / 1e6);
		tw_table_set_real(table, row, STAGE_DIFFERENCE, (c->ns[1] - c->ns[0]) / 1e6);
		tw_table_set_real(table, row, OVERLAP, tw_stage_overlap(changes, c, 0));
		tw_table_set_real(table, row, OVERLAP_AFTER, tw_stage_overlap(changes, c, 1));
		tw_table_set_str(table, row, STAGE_VERDICT, tw_verdict_names[c->judged.verdict]);
	}
	cli_add_table(s, table, "exposed communication by stage, in the steady-state windows");
}

static void add_sentences(const struct tw_answer *answer, size_t from, size_t end,
			  struct cli_screen *s)
{
	struct tw_str line;
	size_t i;

	for (i = from; i < end; i++) {
		tw_str_init(&line, trawl_allocator_default());
		if (answer->lines[i].len)
			tw_escape_terminal(&line, answer->lines[i].ptr, answer->lines[i].len);
		cli_add_line(s, &line, 0);
	}
}

static void add_tables(const struct tw_changes *changes, struct cli_screen *s)
{
	add_configurations(changes, s);
	add_timeline(changes, s);
	add_causes(changes, s);
	add_stages(changes, s);
	add_items(changes, TW_RANGE, "NVTX ranges with a difference", s);
	add_items(changes, TW_STEP, "steps with a difference in GPU time", s);
	add_items(changes, TW_PHASE, "phases with a difference in GPU time", s);
	add_items(changes, TW_MODULE, "modules with a difference in GPU time of their own", s);
	add_items(changes, TW_OPERATION, "operators with a difference", s);
	add_items(changes, TW_KERNEL, "kernels with a difference", s);
	add_items(changes, tw_changes_collectives(changes), "collectives with a difference", s);
}

/* Of several sides the verdicts come first, then one after the other. */
static void add_pairs(const struct trawl_comparison *c, struct cli_screen *s)
{
	struct tw_str heading, shown;
	size_t i;

	for (i = 0; i < c->pair_count; i++)
		add_sentences(&c->pairs[i].answer, 0, 1, s);
	for (i = 0; i < c->pair_count; i++) {
		const struct tw_pair *p = &c->pairs[i];

		tw_str_init(&heading, trawl_allocator_default());
		tw_str_init(&shown, trawl_allocator_default());
		tw_str_addf(&heading, "%s against %s", p->labels[1], p->labels[0]);
		tw_escape_terminal(&shown, heading.ptr, heading.len);
		cli_add_heading(s, shown.failed ? "" : shown.ptr);
		add_sentences(&p->answer, 1, p->answer.count, s);
		add_tables(&p->changes, s);
		tw_str_release(&heading);
		tw_str_release(&shown);
	}
}

void cli_summarise_comparison(const struct trawl_comparison *c, struct cli_screen *s)
{
	size_t i;

	for (i = 0; i < c->side_count; i++) {
		tw_str_addf(&s->out, "%s ", i ? "test:    " : "baseline:");
		tw_escape_terminal(&s->out, c->labels[i], strlen(c->labels[i]));
		tw_str_add_char(&s->out, '\n');
	}
	tw_str_add_char(&s->out, '\n');
	if (c->side_count > 2) {
		add_pairs(c, s);
		return;
	}
	add_sentences(&c->pairs[0].answer, 0, c->pairs[0].answer.count, s);
	add_tables(&c->pairs[0].changes, s);
}
