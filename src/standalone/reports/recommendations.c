/*
 * What limits the run, in priority_data.json and in the fair report: the table `findings`, whose gains
 * are of the run from end to end.  What categories found stands in the details.
 */
#include "standalone/reports/reports.h"

#include "standalone/markdown.h"
#include "table/columns.h"
#include "table/table.h"

#include <stdio.h>
#include <string.h>

#define RULE "\n---\n\n"
#define MOST_VALUABLE 3

struct mark {
	const char *priority, *sign;
};

static const struct mark marks[] = {
	{ "Critical", "🔴" },
	{ "High", "🟡" },
	{ "Medium", "🟢" },
	{ "Low", "⚪" },
};

enum { PRIORITIES = sizeof(marks) / sizeof(marks[0]) };

static struct trawl_cell cell_of(const struct trawl_table *table, size_t row, const char *column)
{
	return trawl_table_cell(table, row, trawl_table_find_column(table, column));
}

/* "" where there is none. */
static const char *text_of(const struct trawl_table *table, size_t row, const char *column)
{
	struct trawl_cell cell = cell_of(table, row, column);

	return cell.state == TRAWL_CELL_VALUE ? cell.text : "";
}

/* Observations have no gain, and come last. */
static bool gains(const struct trawl_table *table, size_t row)
{
	return cell_of(table, row, TW_COL_GAIN_PERCENT).state == TRAWL_CELL_VALUE;
}

static size_t count_gains(const struct trawl_table *table)
{
	size_t rows = table ? trawl_table_rows(table) : 0, n = 0;

	while (n < rows && gains(table, n))
		n++;
	return n;
}

static size_t count_of_priority(const struct trawl_table *table, const char *priority)
{
	size_t count = count_gains(table), n = 0, i;

	for (i = 0; i < count; i++)
		n += !strcmp(text_of(table, i, TW_COL_FINDING_PRIORITY), priority);
	return n;
}

/* ---- priority_data.json */

static void write_id(struct tw_json *json, const char *key, size_t row)
{
	char id[24];

	snprintf(id, sizeof(id), "P%zu", row + 1);
	if (key)
		tw_json_key(json, key);
	tw_json_cstr(json, id);
}

static void write_text(struct tw_json *json, const char *key, const char *text)
{
	tw_field_text(json, key, *text ? text : NULL);
}

static void write_recommendation(struct tw_json *json, const struct trawl_table *table, size_t row)
{
	static const char *const texts[][2] = {
		{ "priority", TW_COL_FINDING_PRIORITY },
		{ "kind", TW_COL_FINDING_KIND },
		{ "title", TW_COL_FINDING_TITLE },
		{ "gain_how", TW_COL_GAIN_HOW },
		{ "where", TW_COL_FINDING_WHERE },
		{ "operation", TW_COL_FINDING_OPERATION },
		{ "issue", TW_COL_EVIDENCE },
		{ "action", TW_COL_REMEDY },
		{ "confidence", TW_COL_CONFIDENCE },
	};
	size_t i;

	tw_json_object(json, TW_JSON_LINES);
	write_id(json, "id", row);
	tw_field_count(json, "rank", row + 1);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		write_text(json, texts[i][0], text_of(table, row, texts[i][1]));
	tw_field_real(json, "expected_gain_ms", cell_of(table, row, TW_COL_GAIN_MS).real, 3);
	tw_field_real(json, "expected_gain_percent", cell_of(table, row, TW_COL_GAIN_PERCENT).real,
		      2);
	tw_field_real(json, "gain_together_percent",
		      cell_of(table, row, TW_COL_GAIN_TOGETHER_PERCENT).real, 2);
	tw_json_end(json);
}

void tw_recommendations_write(const struct tw_report_material *m, struct tw_json *json)
{
	size_t count = count_gains(m->findings), i;

	tw_json_key(json, "optimizations");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < count; i++)
		write_recommendation(json, m->findings, i);
	tw_json_end(json);
	tw_json_key(json, "priority_counts");
	tw_json_object(json, TW_JSON_INLINE);
	for (i = 0; i < PRIORITIES; i++)
		tw_field_count(json, marks[i].priority,
			       count_of_priority(m->findings, marks[i].priority));
	tw_json_end(json);
	tw_json_key(json, "most_valuable");
	tw_json_array(json, TW_JSON_INLINE);
	for (i = 0; i < count && i < MOST_VALUABLE; i++)
		write_id(json, NULL, i);
	tw_json_end(json);
}

/* ---- the executive summary */

void tw_report_limits(const struct tw_report_material *m, struct tw_str *out)
{
	size_t count = count_gains(m->findings), i, of;
	bool any = false;

	if (!count) {
		tw_str_add_cstr(out, "Nothing worth changing was found.");
		return;
	}
	for (i = 0; i < count && i < MOST_VALUABLE; i++) {
		tw_str_add_cstr(out, i ? "; " : "What limits the run: ");
		tw_md_text(out, text_of(m->findings, i, TW_COL_FINDING_TITLE));
		tw_str_add_cstr(out, " (");
		tw_str_add_real(out, cell_of(m->findings, i, TW_COL_GAIN_PERCENT).real);
		tw_str_add_cstr(out, "%)");
	}
	tw_str_add_cstr(out, ". Findings by priority: ");
	for (i = 0; i < PRIORITIES; i++) {
		of = count_of_priority(m->findings, marks[i].priority);
		if (of)
			tw_str_addf(out, "%s%zu %s", any ? ", " : "", of, marks[i].priority);
		any |= of > 0;
	}
	tw_str_add_char(out, '.');
}

/* ---- the recommendations */

static void add_line(struct tw_str *out, const char *label, const char *text, const char *absent)
{
	tw_str_addf(out, "**%s**: ", label);
	tw_md_text(out, *text ? text : absent);
	tw_str_add_cstr(out, "  \n");
}

/* "10.073 ms (43.88%), by replay; confidence: high" */
static void add_impact(const struct trawl_table *table, size_t row, struct tw_str *out)
{
	const char *how = text_of(table, row, TW_COL_GAIN_HOW);

	tw_str_addf(out, "**Impact**: %s", !strcmp(how, "bound") ? "at most " : "");
	tw_str_add_real(out, cell_of(table, row, TW_COL_GAIN_MS).real);
	tw_str_add_cstr(out, " ms (");
	tw_str_add_real(out, cell_of(table, row, TW_COL_GAIN_PERCENT).real);
	tw_str_addf(out, "%%), end to end, by %s; confidence: %s  \n", how,
		    text_of(table, row, TW_COL_CONFIDENCE));
}

static const char *sign_of(const char *priority)
{
	size_t i = 0;

	while (i < PRIORITIES && strcmp(marks[i].priority, priority))
		i++;
	return i < PRIORITIES ? marks[i].sign : "";
}

/* Where the first bottleneck of the operation that the finding names first is told. */
static const char *place_of(const struct tw_report_material *m, const char *operation)
{
	size_t i, len = strcspn(operation, " ");

	for (i = 0; len && i < m->bottlenecks.count; i++) {
		const char *name = m->bottlenecks.at[i].row->name;

		if (strlen(name) == len && !strncmp(name, operation, len))
			return m->bottlenecks.at[i].anchor;
	}
	return "detailed-analysis";
}

static void add_recommendation(const struct tw_report_material *m, size_t row, struct tw_str *out)
{
	const struct trawl_table *table = m->findings;
	const char *priority = text_of(table, row, TW_COL_FINDING_PRIORITY);

	tw_str_addf(out, "### %s %s Priority: P%zu: ", sign_of(priority), priority, row + 1);
	tw_md_text(out, text_of(table, row, TW_COL_FINDING_TITLE));
	tw_str_add_char(out, '\n');
	add_line(out, "Operation", text_of(table, row, TW_COL_FINDING_WHERE), "the whole timeline");
	add_line(out, "Issue", text_of(table, row, TW_COL_EVIDENCE), "see the details");
	add_line(out, "Action", text_of(table, row, TW_COL_REMEDY), "see the details");
	add_impact(table, row, out);
	tw_str_addf(out, "→ *See [Detailed Analysis](#%s) for details*\n" RULE,
		    place_of(m, text_of(table, row, TW_COL_FINDING_OPERATION)));
}

void tw_report_recommendations(const struct tw_report_material *m, struct tw_str *out)
{
	size_t rows = m->findings ? trawl_table_rows(m->findings) : 0;
	size_t count = count_gains(m->findings), i;

	tw_str_add_cstr(
		out, "## Recommendations\n\n"
		     "**Note:** The largest gain comes first. Gains are of a steady step (without "
		     "steps of the window), end to end, by replay of what waited for what, each of "
		     "its remedy alone.");
	tw_str_add_cstr(out, "\n\n");
	for (i = 0; i < count; i++)
		add_recommendation(m, i, out);
	for (i = count; i < rows; i++) {
		tw_str_add_cstr(out, "- **");
		tw_md_text(out, text_of(m->findings, i, TW_COL_FINDING_TITLE));
		tw_str_add_cstr(out, "**: ");
		tw_md_text(out, text_of(m->findings, i, TW_COL_EVIDENCE));
		tw_str_add_char(out, '\n');
	}
	if (!(m->summary.ms[TW_USE_TOTAL] > 0))
		tw_str_add_cstr(out, "Nothing to recommend: the trace has no GPU work.\n");
	else if (!rows)
		tw_str_add_cstr(out, "Nothing to recommend: no remedy that was looked for gains "
				     "enough.\n");
	tw_str_add_cstr(out, count && rows == count ? "" : RULE);
}
