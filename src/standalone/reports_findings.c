/* What limits the run, in the reports: the findings as they stand in their table. */
#include "standalone/reports.h"

#include "standalone/markdown.h"
#include "table/columns.h"
#include "table/table.h"

static struct trawl_cell cell_of(const struct trawl_table *table, size_t row, const char *column)
{
	return trawl_table_cell(table, row, trawl_table_find_column(table, column));
}

static void add_text(struct tw_str *out, const struct trawl_table *table, size_t row,
		     const char *column)
{
	struct trawl_cell cell = cell_of(table, row, column);

	if (cell.state == TRAWL_CELL_VALUE)
		tw_md_text(out, cell.text);
}

static void add_gain(struct tw_str *out, const struct trawl_table *table, size_t row)
{
	struct trawl_cell ms = cell_of(table, row, TW_COL_GAIN_MS);
	struct trawl_cell percent = cell_of(table, row, TW_COL_GAIN_PERCENT);

	if (ms.state != TRAWL_CELL_VALUE) {
		tw_str_add_cstr(out, "-");
		return;
	}
	tw_str_addf(out, "%.3f ms (%.1f%%)", ms.real, percent.real);
}

void tw_report_findings(const struct tw_report_material *m, struct tw_str *out)
{
	size_t rows = m->findings ? trawl_table_rows(m->findings) : 0, i;

	if (!rows)
		return;
	tw_str_add_cstr(out,
			"\n### What Limits the Run\n"
			"Gains are of a steady step (without steps: of the window), end to end, "
			"by replay of what waited for what; each is of its remedy alone.\n\n"
			"| # | Finding | Gain | How | Where | Evidence | Remedy |\n"
			"|---|---------|------|-----|-------|----------|--------|\n");
	for (i = 0; i < rows; i++) {
		tw_str_addf(out, "| %zu | ", i + 1);
		add_text(out, m->findings, i, TW_COL_FINDING_TITLE);
		tw_str_add_cstr(out, " | ");
		add_gain(out, m->findings, i);
		tw_str_add_cstr(out, " | ");
		add_text(out, m->findings, i, TW_COL_GAIN_HOW);
		tw_str_add_cstr(out, " | ");
		add_text(out, m->findings, i, TW_COL_FINDING_WHERE);
		tw_str_add_cstr(out, " | ");
		add_text(out, m->findings, i, TW_COL_EVIDENCE);
		tw_str_add_cstr(out, " | ");
		add_text(out, m->findings, i, TW_COL_REMEDY);
		tw_str_add_cstr(out, " |\n");
	}
}
