/* The fair report's detailed analysis: what each category found, one below the other. */
#include "standalone/reports/reports.h"

#include "base/alloc.h"
#include "render/pages/html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS 96
/* Headings of findings begin at 2; here they stand under one of level 3. */
#define DEEPER 2

struct details {
	struct tw_report_material *m;
	const struct tw_report_category *category; /* whose findings are being told */
};

/* ---- impact projection */

static const char *why_without_projection(const struct tw_bottleneck *b)
{
	if (b->row->is_too_short)
		return "its kernels are too short for an efficiency to mean anything";
	if (isnan(b->row->efficiency_percent))
		return "the efficiency is not known";
	return "the efficiency is above the last target already";
}

static void add_projection(const struct tw_bottleneck *b, struct tw_str *out)
{
	bool bounded = false, shortest = false;
	size_t i;

	tw_str_add_char(out, '\n');
	if (!b->projection.count) {
		tw_str_addf(out, "**Impact Projection**: none, %s.\n", why_without_projection(b));
		return;
	}
	tw_str_add_cstr(out, "**Impact Projection** (if op improves to X% of peak):\n\n"
			     "| Target Efficiency | Time | E2E Improvement |\n"
			     "|-------------------|------|-----------------|\n");
	for (i = 0; i < b->projection.count; i++) {
		const struct tw_projection *p = &b->projection.at[i];

		tw_fields_fill(out,
			       "| {target_efficiency_percent|%} of peak | {time_ms| ms} | "
			       "~{operation_improvement_percent|%} faster for this op, "
			       "~{e2e_improvement_percent|%} of the total time |\n",
			       &tw_projection_fields, p);
		bounded |= p->bounded_by_exposed;
		shortest |= p->bounded_by_shortest;
	}
	if (shortest)
		tw_str_add_cstr(out, "\nNo call is taken to be shorter than the shortest kernel "
				     "of the trace.\n");
	if (bounded)
		tw_fields_fill(out,
			       "\nThe gain is bounded by the {exposed_time_ms| ms} in which no "
			       "other GPU work hides the operation.\n",
			       &tw_bottleneck_told_fields, b);
}

/* ---- bottlenecks */

static void set_anchor(const struct details *d, struct tw_bottleneck *b, const char *heading,
		       struct tw_str *out)
{
	struct tw_str anchor;

	tw_str_init(&anchor, out->allocator);
	tw_heading_anchor(&anchor, heading, strlen(heading));
	b->anchor = tw_kept(&d->m->prepared->arena, &anchor);
	out->failed |= !b->anchor;
	b->anchor = b->anchor ? b->anchor : "";
}

/* Its calls, the modules around it, the outermost first, who launched it, and its kernel. */
static void add_identity(const struct tw_category_row *row, struct tw_str *out)
{
	size_t i;

	tw_fields_fill(out, "- **Calls:** {count}", &tw_bottleneck_fields, row);
	tw_str_add_cstr(out, *row->args ? ", " : "");
	tw_findings_args(out, row->args, 2 * NAME_CHARACTERS);
	if (row->modules.count || row->path)
		tw_str_add_cstr(out, "\n- **Call site:** ");
	for (i = 0; i < row->modules.count; i++) {
		tw_str_add_cstr(out, i ? " › " : "");
		tw_md_code(out, row->modules.at[i], NAME_CHARACTERS);
	}
	if (row->path) {
		tw_str_add_cstr(out, i ? ", " : "");
		tw_md_code(out, row->path, NAME_CHARACTERS);
	}
	if (row->main_kernel) {
		tw_str_add_cstr(out, "\n- **Kernels:** ");
		tw_md_code(out, row->main_kernel, NAME_CHARACTERS);
	}
	tw_str_add_char(out, '\n');
}

/* The bottleneck that the row is, or is a part of: *member, from 1 on. NULL: it is none. */
static struct tw_bottleneck *find(const struct details *d, const struct tw_category_row *row,
				  size_t *member)
{
	size_t i, k;

	for (i = 0; i < d->m->bottlenecks.count; i++) {
		struct tw_bottleneck *b = &d->m->bottlenecks.at[i];

		*member = 0;
		if (!b->members.count && b->row == row)
			return b;
		for (k = 0; k < b->members.count; k++)
			if (b->members.at[k].row == row) {
				*member = k + 1;
				return b;
			}
	}
	return NULL;
}

/* "B3: `aten::mm`", "B3, operation 2: ..." where it is of several; else by its rank. */
static void begin(void *context, const struct tw_category_row *row, struct tw_str *out)
{
	struct details *d = context;
	struct tw_str heading;
	size_t member;
	struct tw_bottleneck *b = find(d, row, &member);

	tw_str_init(&heading, out->allocator);
	if (!b)
		tw_str_addf(&heading, "%llu.", (unsigned long long)row->rank);
	else if (member)
		tw_str_addf(&heading, "%s, operation %zu:", b->id, member);
	else
		tw_str_addf(&heading, "%s:", b->id);
	tw_fields_fill(&heading, " {operation:80}", &tw_bottleneck_fields, row);
	tw_str_addf(out, "##### %s\n\n", heading.ptr ? heading.ptr : "");
	if (b && (!b->told || member == 1))
		set_anchor(d, b, heading.ptr ? heading.ptr : "", out);
	if (b) {
		b->told = true;
		add_identity(row, out);
	}
	out->failed |= heading.failed;
	tw_str_release(&heading);
}

static void end(void *context, const struct tw_category_row *row, struct tw_str *out)
{
	size_t member;
	const struct tw_bottleneck *b = find(context, row, &member);

	if (b)
		add_projection(member ? &b->members.at[member - 1] : b, out);
}

/* What the findings of the category do not tell by themselves. */
static void add_untold(struct details *d, struct tw_str *out)
{
	struct tw_str heading;
	size_t i;

	for (i = 0; i < d->m->bottlenecks.count; i++) {
		struct tw_bottleneck *b = &d->m->bottlenecks.at[i];

		if (b->told || b->category != d->category)
			continue;
		tw_str_init(&heading, out->allocator);
		tw_str_addf(&heading, "%s: ", b->id);
		tw_md_code(&heading, b->row->name, NAME_CHARACTERS);
		tw_str_addf(out, "\n##### %s\n\n", heading.ptr ? heading.ptr : "");
		set_anchor(d, b, heading.ptr ? heading.ptr : "", out);
		add_identity(b->row, out);
		tw_fields_fill(out,
			       "- **Time:** {time_ms| ms} ({percent_of_compute|%} of compute)\n"
			       "- **Efficiency:** {efficiency_percent|%} of peak\n",
			       &tw_bottleneck_told_fields, b);
		add_projection(b, out);
		out->failed |= heading.failed;
		tw_str_release(&heading);
	}
}

/* ---- categories */

static void add_category(struct details *d, size_t number, struct tw_str *out)
{
	const struct tw_findings_place place = { DEEPER, begin, end, d };
	const struct tw_report_category *c = d->category;
	struct tw_str heading;
	size_t i;

	tw_str_init(&heading, out->allocator);
	tw_str_addf(&heading, "%zu. ", number);
	tw_md_text(&heading, c->entry->title);
	tw_fields_fill(&heading,
		       c->data ? " ({percent_of_compute|%} of compute)" : " (System-Level)",
		       &tw_category_fields, c->entry);
	tw_str_addf(out, "%s### %s\n\n", number > 1 ? "\n" : "", heading.ptr ? heading.ptr : "");
	/* Where its findings are, should nothing nearer be found. */
	for (i = 0; i < d->m->bottlenecks.count; i++)
		if (d->m->bottlenecks.at[i].category == c && !d->m->bottlenecks.at[i].told)
			set_anchor(d, &d->m->bottlenecks.at[i], heading.ptr ? heading.ptr : "",
				   out);
	if (c->data)
		tw_category_findings(out, c->data, &place);
	else if (c->result->markdown)
		c->result->markdown(out, c->result->system, &place);
	add_untold(d, out);
	out->failed |= heading.failed;
	tw_str_release(&heading);
}

/* Compute categories by their share, then the system's in the manifest's order. */
static int compare_categories(const void *a, const void *b)
{
	const struct tw_report_category *p = *(const struct tw_report_category *const *)a;
	const struct tw_report_category *q = *(const struct tw_report_category *const *)b;
	double first = p->entry->kernel_ms, second = q->entry->kernel_ms;

	if (!p->data != !q->data)
		return !p->data - !q->data;
	if (p->data && first != second && !isnan(first) && !isnan(second))
		return first > second ? -1 : 1;
	return p < q ? -1 : p > q;
}

void tw_fair_details(struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_report_category **list =
		tw_arena_array(&m->prepared->arena, m->categories.count + 1, sizeof(const void *));
	/* Of a trace without GPU work the areas would tell only that. */
	bool works = m->summary.ms[TW_USE_TOTAL] > 0;
	struct details d = { .m = m };
	size_t i, number = 0;

	tw_str_add_cstr(out, "## Detailed Analysis\n\n");
	if (!list) {
		out->failed = true;
		return;
	}
	for (i = 0; i < m->bottlenecks.count; i++)
		m->bottlenecks.at[i].anchor = "detailed-analysis";
	for (i = 0; i < m->categories.count; i++)
		list[i] = &m->categories.at[i];
	if (m->categories.count)
		qsort(list, m->categories.count, sizeof(const void *), compare_categories);
	for (i = 0; i < m->categories.count; i++) {
		d.category = list[i];
		if (!list[i]->excluded && (works || list[i]->data))
			add_category(&d, ++number, out);
	}
	if (!number && !works)
		tw_str_add_cstr(out, "There is no GPU work to analyze.\n");
	else if (!number)
		tw_str_add_cstr(out, "No category was analyzed.\n");
}
