/* The table `findings`, the same in every command. */
#include "diagnose/kinds.h"

#include "data/limits.h"
#include "table/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	N,
	KIND,
	TITLE,
	GAIN_MS,
	GAIN_PERCENT,
	TOGETHER,
	HOW,
	PRIORITY,
	WHERE,
	RANK,
	OPERATION,
	MODULE,
	SITE,
	PASS,
	PHASE,
	STREAM,
	EVIDENCE,
	REMEDY,
	CONFIDENCE,
	INFERRED,
};

static const struct trawl_column columns[] = {
	[N] = TW_INTEGER(TW_COL_FINDING_N, 5, "number of the finding: the order of gains",
			 .values = "!"),
	[KIND] = TW_TEXT(TW_COL_FINDING_KIND, 24, "code of the kind", .values = "!"),
	[TITLE] = TW_TEXT(TW_COL_FINDING_TITLE, 50, "what was found", .values = "!"),
	[GAIN_MS] = TW_REAL(TW_COL_GAIN_MS, "ms", 3, 10,
			    "shorter step with this remedy alone; without steps the window"),
	[GAIN_PERCENT] = TW_REAL(TW_COL_GAIN_PERCENT, "%", 2, 12, "gain / step, or / window"),
	[TOGETHER] = TW_REAL(TW_COL_GAIN_TOGETHER_PERCENT, "%", 2, 14,
			     "gain of this finding and all before it together"),
	[HOW] = TW_TEXT(TW_COL_GAIN_HOW, 12,
			"replay; bound: at most; estimate: a model of the remedy; observation: "
			"no gain"),
	[PRIORITY] =
		TW_TEXT(TW_COL_FINDING_PRIORITY, 10, "Critical, High, Medium or Low, by the gain"),
	[WHERE] = TW_TEXT(TW_COL_FINDING_WHERE, 50, "at most three places, the most telling first"),
	[RANK] = TW_TEXT(TW_COL_FINDING_RANK, 8, "ranks it concerns; empty: all, or the only one"),
	[OPERATION] = TW_TEXT(TW_COL_FINDING_OPERATION, 30, "operator with its shapes, or call"),
	[MODULE] = TW_TEXT(TW_COL_MODULE, 16, "innermost module"),
	[SITE] = TW_TEXT(TW_COL_CALL_SITE, 30, "innermost Python function of the program"),
	[PASS] = TW_TEXT(
		"pass", 16,
		"pass whose work takes less time: forward, backward, recompute, optimizer; of "
		"several with their shares of the gain"),
	[PHASE] = TW_TEXT(
		TW_COL_FINDING_PHASE, 24,
		"the same of phases of inference servers: prefill, decode, mixed, diffusion, "
		"outside"),
	[STREAM] = TW_TEXT("stream", 10, "stream of the GPU work"),
	[EVIDENCE] = TW_TEXT(TW_COL_EVIDENCE, 50, "figures that show it, with numbers of events"),
	[REMEDY] = TW_TEXT(TW_COL_REMEDY, 50, "what to change, and what the gain assumes"),
	[CONFIDENCE] = TW_TEXT(TW_COL_CONFIDENCE, 10, "high, medium, low"),
	[INFERRED] = TW_REAL("inferred_percent", "%", 1, 10,
			     "share of the critical path whose causes are inferred"),
};

const struct tw_table_spec tw_findings_spec =
	TW_SPEC("findings", "what limits the run, and what each remedy would gain", columns,
		.keep_empty = true);

static const char *priority_of(double percent)
{
	return isnan(percent)				    ? NULL :
	       percent >= TW_LIMIT_FINDING_CRITICAL_PERCENT ? "Critical" :
	       percent >= TW_LIMIT_FINDING_HIGH_PERCENT	    ? "High" :
	       percent >= TW_LIMIT_FINDING_MEDIUM_PERCENT   ? "Medium" :
							      "Low";
}

static const char *confidence_of(const struct tw_finding *f, const char *how)
{
	if (!strcmp(how, "observation"))
		return "high";
	if (f->inferred_percent > TW_LIMIT_INFERRED_LOW_PERCENT || !strcmp(how, "bound"))
		return "low";
	return strcmp(how, "replay") || f->inferred_percent > TW_LIMIT_INFERRED_MEDIUM_PERCENT ?
		       "medium" :
		       "high";
}

static const struct tw_finding_words *words_of(const struct tw_finding *f)
{
	return f->words ? f->words : &tw_finding_words[f->kind];
}

static void set_text(struct trawl_table *table, size_t row, size_t column, const char *text)
{
	tw_table_set_str(table, row, column, *text ? text : NULL);
}

static void set_remedy(struct trawl_table *table, size_t row, const struct tw_diagnosis *d,
		       const struct tw_finding *f)
{
	const struct tw_finding_words *words = words_of(f);
	const char *remedy = d->claims[0].trains ? words->training : words->inference;
	const char *assumes = words->assumes;
	bool both = d->claims[0].mode_unknown && strcmp(words->training, words->inference) != 0;
	char text[1200];

	if (!strcmp(remedy, "-"))
		return;
	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s%s", both ? "If it trains: " : "",
		 both ? words->training : remedy, both ? ". In inference: " : "",
		 both ? words->inference : "", strcmp(assumes, "-") ? " (the gain assumes: " : "",
		 strcmp(assumes, "-") ? assumes : "", *f->variant ? "; " : "", f->variant,
		 strcmp(assumes, "-") ? ")" : "");
	tw_table_set_str(table, row, REMEDY, text);
}

/* As it is shown everywhere: one number for one thing. */
static double rounded(double value, double digits)
{
	return round(value * digits) / digits;
}

static void add_row(struct trawl_table *table, const struct tw_diagnosis *d, size_t number)
{
	const struct tw_finding *f = &d->findings.at[number];
	const struct tw_finding_words *words = words_of(f);
	const char *how = words->how;
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, N, (int64_t)number + 1);
	tw_table_set_str(table, row, KIND, words->code);
	tw_table_set_str(table, row, TITLE, words->title);
	tw_table_set_real(table, row, GAIN_MS, rounded(f->gain_ns / 1e6, 1e3));
	tw_table_set_real(table, row, GAIN_PERCENT, rounded(f->gain_percent, 1e2));
	tw_table_set_real(table, row, TOGETHER, rounded(f->together_percent, 1e2));
	tw_table_set_str(table, row, HOW, how);
	tw_table_set_str(table, row, PRIORITY, priority_of(f->gain_percent));
	set_text(table, row, WHERE, f->where);
	set_text(table, row, RANK, f->ranks);
	set_text(table, row, OPERATION, f->operation);
	set_text(table, row, MODULE, f->module);
	set_text(table, row, SITE, f->site);
	set_text(table, row, PASS, f->passes);
	set_text(table, row, PHASE, f->phases);
	set_text(table, row, STREAM, f->stream);
	set_text(table, row, EVIDENCE, f->evidence);
	set_remedy(table, row, d, f);
	tw_table_set_str(table, row, CONFIDENCE, confidence_of(f, how));
	if (!isnan(f->gain_percent))
		tw_table_set_real(table, row, INFERRED, f->inferred_percent);
}

struct trawl_table *tw_findings_table(const struct tw_diagnosis *d,
				      const struct trawl_allocator *allocator)
{
	struct trawl_table *table = tw_table_new(&tw_findings_spec, allocator);
	size_t i;

	for (i = 0; table && i < d->findings.count; i++)
		add_row(table, d, i);
	return table;
}

/* ---- a row in words */

static const char *text_of(const struct trawl_table *findings, size_t row, const char *header)
{
	return tw_table_own_text(findings, row, trawl_table_find_column(findings, header));
}

void tw_finding_add_name(struct tw_str *out, const struct trawl_table *findings, size_t row)
{
	const char *where = text_of(findings, row, TW_COL_FINDING_WHERE);

	tw_str_addf(out, "\"%s\"", text_of(findings, row, TW_COL_FINDING_TITLE));
	if (*where)
		tw_str_addf(out, " at %.*s", (int)strcspn(where, ";"), where);
}

void tw_finding_add_gain(struct tw_str *out, const struct trawl_table *findings, size_t row)
{
	const char *how = text_of(findings, row, TW_COL_GAIN_HOW);

	tw_str_addf(out, "%s%.3f ms",
		    !strcmp(how, "bound")    ? "at most " :
		    !strcmp(how, "estimate") ? "about " :
					       "",
		    tw_table_number(findings, row,
				    trawl_table_find_column(findings, TW_COL_GAIN_MS)));
}
