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

	tw_str_add_cstr(out, " | ");
	if (cell.state == TRAWL_CELL_VALUE)
		tw_md_text(out, cell.text);
}

/* "10.073 ms (43.88%)" */
static void add_gain(struct tw_str *out, const struct trawl_table *table, size_t row)
{
	struct trawl_cell ms = cell_of(table, row, TW_COL_GAIN_MS);
	struct trawl_cell percent = cell_of(table, row, TW_COL_GAIN_PERCENT);

	tw_str_add_cstr(out, " | ");
	if (ms.state != TRAWL_CELL_VALUE) {
		tw_str_add_char(out, '-');
		return;
	}
	tw_str_add_real(out, ms.real);
	tw_str_add_cstr(out, " ms (");
	tw_str_add_real(out, percent.real);
	tw_str_add_cstr(out, "%)");
}

void tw_report_limits(const struct tw_report_material *m, struct tw_str *out)
{
	enum { MOST = 3 };
	size_t rows = m->findings ? trawl_table_rows(m->findings) : 0, i;
	struct trawl_cell percent;

	for (i = 0; i < rows && i < MOST; i++) {
		percent = cell_of(m->findings, i, TW_COL_GAIN_PERCENT);
		if (percent.state != TRAWL_CELL_VALUE)
			break;
		tw_str_add_cstr(out, i ? "; " : "What limits the run: ");
		tw_md_text(out, cell_of(m->findings, i, TW_COL_FINDING_TITLE).text);
		tw_str_add_cstr(out, " (");
		tw_str_add_real(out, percent.real);
		tw_str_add_cstr(out, "%)");
	}
	tw_str_add_cstr(out, i ? ". " : "");
}

static const char head[] =
	"**What limits the run**, end to end, by replay of what waited for what: gains are of a steady "
	"step (without steps of the window), each of its remedy alone; findings.csv has the remedies.\n\n"
	"| # | Finding | Gain | How | Where | Evidence |\n"
	"|---|---------|------|-----|-------|----------|\n";

size_t tw_report_findings(const struct tw_report_material *m, struct tw_str *out)
{
	size_t rows = m->findings ? trawl_table_rows(m->findings) : 0, i, gains = 0;

	if (!rows)
		return 0;
	tw_str_add_cstr(out, head);
	for (i = 0; i < rows; i++) {
		tw_str_addf(out, "| %zu", i + 1);
		add_text(out, m->findings, i, TW_COL_FINDING_TITLE);
		add_gain(out, m->findings, i);
		add_text(out, m->findings, i, TW_COL_GAIN_HOW);
		add_text(out, m->findings, i, TW_COL_FINDING_WHERE);
		add_text(out, m->findings, i, TW_COL_EVIDENCE);
		tw_str_add_cstr(out, " |\n");
		gains += cell_of(m->findings, i, TW_COL_GAIN_MS).state == TRAWL_CELL_VALUE;
	}
	tw_str_add_cstr(out, "\n");
	return gains;
}
