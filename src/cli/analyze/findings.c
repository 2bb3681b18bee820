#include "cli/analyze/findings.h"

#include "cli/cli.h"
#include "cli/trace/reporting.h"
#include "io/sink.h"
#include "render/escape.h"
#include "render/render.h"
#include "table/columns.h"

#include <math.h>
#include <string.h>

/* As many are printed; the files have all. */
#define MOST_PRINTED 8

int cli_write_findings(const char *dir, const struct trawl_table *findings, struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_str text;
	int status = tw_render_csv_directory(&findings, 1, dir, a, err);

	if (status)
		return status;
	tw_str_init(&text, a);
	tw_render_json(&findings, 1, "findings", &text);
	status = text.failed ? trawl_error_set(err, TRAWL_ENOMEM, "out of memory") :
			       tw_sink_write_text(cli_below(dir, "findings.json"), &text, a, err);
	tw_str_release(&text);
	return status;
}

/* ---- printed */

struct row {
	const struct trawl_table *table;
	size_t row;
};

static struct trawl_cell cell_of(const struct row *r, const char *column)
{
	return trawl_table_cell(r->table, r->row, trawl_table_find_column(r->table, column));
}

static void add_text(struct tw_str *out, const struct row *r, const char *column)
{
	struct trawl_cell cell = cell_of(r, column);

	if (cell.state == TRAWL_CELL_VALUE)
		tw_escape_terminal(out, cell.text, cell.text_len);
}

static bool has(const struct row *r, const char *column)
{
	return cell_of(r, column).state == TRAWL_CELL_VALUE;
}

const char *cli_gain_words(const char *how)
{
	return !strcmp(how, "bound") ? "at most " : !strcmp(how, "estimate") ? "about " : "";
}

static void add_detail(struct cli_screen *s, const struct row *r, const char *label,
		       const char *column)
{
	struct tw_str line;

	if (!has(r, column))
		return;
	tw_str_init(&line, s->out.allocator);
	tw_str_add_cstr(&line, label);
	add_text(&line, r, column);
	tw_str_add_cstr(&s->out, "     ");
	cli_add_line(s, &line, 5);
}

/* "1. Attention is made of separate products: about 10.073 ms of a step (43.9 %)" */
static void add_finding(struct cli_screen *s, const struct row *r, bool of_step)
{
	struct tw_str line;

	tw_str_init(&line, s->out.allocator);
	tw_str_addf(&line, "%lld. ", (long long)cell_of(r, TW_COL_FINDING_N).integer);
	add_text(&line, r, TW_COL_FINDING_TITLE);
	if (has(r, TW_COL_FINDING_RANK)) {
		tw_str_add_cstr(&line, " (rank ");
		add_text(&line, r, TW_COL_FINDING_RANK);
		tw_str_add_char(&line, ')');
	}
	if (has(r, TW_COL_GAIN_PERCENT))
		tw_str_addf(&line, ": gain %s%.1f %%, %.3f ms%s",
			    cli_gain_words(cell_of(r, TW_COL_GAIN_HOW).text),
			    cell_of(r, TW_COL_GAIN_PERCENT).real, cell_of(r, TW_COL_GAIN_MS).real,
			    of_step ? " of a step" : "");
	if (has(r, TW_COL_FINDING_PHASE)) {
		tw_str_add_cstr(&line, ", in ");
		add_text(&line, r, TW_COL_FINDING_PHASE);
	}
	tw_str_add_cstr(&s->out, "  ");
	cli_add_line(s, &line, 5);
	add_detail(s, r, "", TW_COL_FINDING_WHERE);
	if (!has(r, TW_COL_GAIN_PERCENT))
		add_detail(s, r, "", TW_COL_EVIDENCE);
	add_detail(s, r, "", TW_COL_REMEDY);
}

void cli_add_findings(struct cli_screen *s, const struct trawl_diagnosis *diagnosis)
{
	const struct trawl_table *table = trawl_diagnosis_findings(diagnosis);
	double step_ns = trawl_diagnosis_step_ns(diagnosis);
	size_t rows = trawl_table_rows(table), i;

	tw_str_addf(&s->out, "what limits the run (window %.3f ms",
		    (double)trawl_diagnosis_window_ns(diagnosis) / 1e6);
	if (!isnan(step_ns))
		tw_str_addf(&s->out, ", step %.3f ms", step_ns / 1e6);
	tw_str_add_cstr(&s->out, "), largest gain first\n");
	for (i = 0; i < rows && i < MOST_PRINTED; i++)
		add_finding(s, &(struct row){ table, i }, !isnan(step_ns));
	if (rows > MOST_PRINTED)
		tw_str_addf(&s->out, "  and %zu more in findings.csv\n", rows - MOST_PRINTED);
}
