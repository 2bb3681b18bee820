/* What several analyses need to fill cells. */
#include "analysis/analysis.h"
#include "analysis/signature.h"

#include <math.h>
#include <string.h>

void tw_set_name(struct trawl_table *table, size_t row, size_t column,
		 const struct trawl_trace *trace, uint32_t text)
{
	size_t len;
	const char *ptr = tw_pool_text(&trace->texts, text, &len);

	if (text)
		tw_table_set_text_borrowed(table, row, column, ptr, len);
}

void tw_set_pool_text(struct trawl_table *table, size_t row, size_t column,
		      const struct tw_pool *pool, uint32_t text)
{
	size_t len;
	const char *ptr = tw_pool_text(pool, text, &len);

	if (text)
		tw_table_set_text(table, row, column, ptr, len);
}

void tw_set_signature(struct trawl_table *table, size_t row, size_t column,
		      const struct tw_pool *texts, const struct tw_signature *s)
{
	tw_set_pool_text(table, row, column, texts, s->dims);
	tw_set_pool_text(table, row, column + 1, texts, s->types);
	tw_set_pool_text(table, row, column + 2, texts, s->strides);
	tw_set_pool_text(table, row, column + 3, texts, s->concrete);
}

void tw_set_code(struct trawl_table *table, size_t row, size_t column,
		 const struct trawl_trace *trace, tw_code code)
{
	char buffer[24];
	size_t len;
	const char *text = tw_code_text(trace, code, buffer, &len);

	if (code != TW_CODE_NONE)
		tw_table_set_text(table, row, column, text, len);
}

void tw_set_sum(struct trawl_table *table, size_t row, size_t column, tw_wide sum)
{
	static const char note[] =
		"sums above 2^63 nanoseconds (292 years) overflow: their cells are empty";
	size_t i;

	if (tw_wide_fits(sum)) {
		tw_table_set_integer(table, row, column, (int64_t)sum);
		return;
	}
	for (i = 0; i < trawl_table_notes(table); i++)
		if (!strcmp(trawl_table_note(table, i), note))
			return;
	tw_table_add_note(table, "%s", note);
}

void tw_set_percent(struct trawl_table *table, size_t row, size_t column, double part, double whole)
{
	if (whole > 0)
		tw_table_set_real(table, row, column, part / whole * 100);
}

void tw_set_us(struct trawl_table *table, size_t row, size_t column, double ns)
{
	if (!isnan(ns))
		tw_table_set_real(table, row, column, ns / 1000);
}

void tw_set_via(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		size_t column, bool graph)
{
	if (tw_has_via(in))
		tw_table_set_str(table, row, column, graph ? "graph" : "direct");
}

const struct tw_analysis *const tw_analyses[] = {
#define TW_ANALYSIS(id) &tw_analysis_##id,
#include "analysis/analyses.def"
#undef TW_ANALYSIS
};

const size_t tw_analysis_count = sizeof(tw_analyses) / sizeof(tw_analyses[0]);
