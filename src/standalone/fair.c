/* standalone_analysis_fair.md: what its readers decide by, the details behind it. */
#include "standalone/reports.h"

#include "render/shapes.h"
#include "standalone/markdown.h"

#include <math.h>
#include <string.h>

#define RULE "\n---\n\n"
#define TITLE_CHARACTERS 64
#define ARGS_CHARACTERS 96
#define SHAPE_CHARACTERS 48
#define MOST_MEMBERS 5

static bool is_system(const struct tw_json_value *o)
{
	return !strcmp(tw_report_text(o, "kind"), "system");
}

/* Whether it stands for several operations. */
static bool is_several(const struct tw_json_value *o)
{
	return tw_report_number(o, "member_count") > 1;
}

/* A part is told by itself, or is no more than a name. */
static const char *name_of(const struct tw_json_value *part)
{
	return part->type == TW_JSON_STRING ? tw_json_text(part) :
					      tw_report_text(part, "short_name");
}

/* Of an operation its name and category, of a system finding its own. */
static void add_title(const struct tw_json_value *o, struct tw_str *out)
{
	if (is_system(o)) {
		tw_md_text(out, tw_report_text(o, "title"));
		return;
	}
	if (tw_json_true(tw_json_get(o, "has_own_title"))) {
		tw_md_text(out, tw_report_text(o, "title"));
		return;
	}
	tw_md_code(out, tw_report_text(o, "short_name"), TITLE_CHARACTERS);
	if (is_several(o)) {
		tw_str_add_cstr(out, ", one of ");
		tw_report_tell(out, o, "member_count", "", "");
	}
	tw_str_add_cstr(out, " (");
	tw_md_text(out, tw_report_text(o, "display_name"));
	tw_str_add_char(out, ')');
}

/* ---- executive summary */

static void add_counts(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *count = tw_json_get(m->data, "priority_counts")->first;
	const struct tw_json_value *list = tw_json_get(m->data, "optimizations"), *one, *id;
	bool any = false;

	if (!list->first) {
		tw_str_add_cstr(out, "No bottleneck was found.");
		return;
	}
	tw_str_add_cstr(out, "Bottlenecks by priority: ");
	for (; count; count = count->next) {
		if (!(tw_json_number(count) > 0))
			continue;
		tw_str_add_cstr(out, any ? ", " : "");
		tw_md_number(out, count, " ");
		tw_str_add_cstr(out, count->key);
		any = true;
	}
	/* What limits the run is said already where it is known. */
	id = m->findings ? NULL : tw_json_get(m->data, "most_valuable")->first;
	tw_str_add_cstr(out, id ? ". Most valuable to change: " : ".");
	for (any = false; id; id = id->next, any = true) {
		for (one = list->first; one && strcmp(tw_report_text(one, "id"), tw_json_text(id));)
			one = one->next;
		if (!one)
			continue;
		tw_str_addf(out, "%s%s ", any ? "; " : "", tw_json_text(id));
		add_title(one, out);
	}
	tw_str_add_cstr(out, any ? "." : "");
}

static void add_overview(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *summary = tw_json_get(m->data, "summary");

	tw_str_add_cstr(out, "One trace, analyzed by itself; ");
	if (m->platform) {
		tw_str_add_cstr(out, "efficiencies are relative to the peaks of ");
		tw_md_text(out, m->platform);
		tw_str_add_cstr(out, ". ");
	} else {
		tw_str_add_cstr(out, "the platform is not known, so efficiencies are not either. ");
	}
	if (!(tw_report_number(summary, "total_time_ms") > 0))
		tw_str_add_cstr(out, "The trace has no GPU work, so there is nothing to rank. ");
	else if (tw_json_true(tw_json_get(m->manifest, "cpu_idle_critical")))
		tw_str_add_cstr(out, "The GPU idles most of the time: what the host does limits "
				     "more than any operation. ");
	tw_report_limits(m, out);
	add_counts(m, out);
	tw_str_add_cstr(out, "\n\n");
}

static void add_metric(struct tw_str *out, const char *name, const struct tw_json_value *from,
		       const char *key, const char *unit)
{
	tw_str_addf(out, "| %s | ", name);
	tw_report_tell(out, from, key, unit, " |\n");
}

static void add_metrics(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *s = tw_json_get(m->data, "summary");
	const char *top = tw_report_text(s, "top_category");
	const char *flash = tw_report_text(s, "flash_attention");

	tw_str_add_cstr(out, "| Metric | Value |\n|--------|-------|\n");
	add_metric(out, "Total Time", s, "total_time_ms", " ms");
	add_metric(out, "Total Compute Time", s, "computation_time_ms", " ms");
	add_metric(out, "GPU Utilization", s, "computation_time_percent", "%");
	add_metric(out, "Idle Time", s, "idle_time_percent", "%");
	add_metric(out, "Exposed Communication", s, "exposed_comm_time_percent", "%");
	tw_str_add_cstr(out, "| Top Bottleneck Category | ");
	if (*top) {
		tw_md_text(out, top);
		tw_str_add_cstr(out, " (");
		tw_report_tell(out, s, "top_category_percent_of_compute", "%", "");
		tw_str_add_cstr(out, ") |\n");
	} else {
		tw_str_add_cstr(out, TW_MD_UNKNOWN " |\n");
	}
	tw_str_addf(out, "| Flash Attention Usage | %s%s |\n\n",
		    *flash ? flash : TW_MD_UNKNOWN " (no attention operations)",
		    strcmp(flash, "Unknown") ? "" : " (not all GPU work shows its operation)");
}

/* A blank and the shapes, which tell operations of the same name apart. */
static void add_shapes(const struct tw_json_value *op, struct tw_str *out)
{
	const char *dims = tw_report_text(op, "input_dims");
	struct tw_str shapes;

	tw_str_init(&shapes, out->allocator);
	tw_short_shapes(&shapes, dims, strlen(dims));
	if (shapes.len) {
		tw_str_add_char(out, ' ');
		tw_md_code(out, shapes.ptr, SHAPE_CHARACTERS);
	}
	out->failed |= shapes.failed;
	tw_str_release(&shapes);
}

static void add_top_operations(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *op = tw_json_get(m->manifest, "top_operations")->first;

	tw_str_add_cstr(out, "### Top Operations (from Step 3)\n");
	if (!op) {
		tw_str_add_cstr(out, "No operation of the trace has GPU work.\n");
		return;
	}
	tw_str_add_cstr(out,
			"**These operations consume the most GPU time - prioritize optimizations "
			"here**\n\n"
			"| Rank | Operation | Category | Time (ms) | % of Total Compute |\n"
			"|------|-----------|----------|-----------|-------------------|\n");
	for (; op; op = op->next) {
		tw_str_add_cstr(out, "| ");
		tw_report_tell(out, op, "rank", "", " | ");
		tw_md_code(out, tw_report_text(op, "name"), TITLE_CHARACTERS);
		add_shapes(op, out);
		tw_str_add_cstr(out, " | ");
		tw_md_text(out, tw_report_text(op, "display_name"));
		tw_str_add_cstr(out, " | ");
		tw_report_tell(out, op, "time_ms", "", " | ");
		tw_report_tell(out, op, "percent_of_compute", "%", " |\n");
	}
}

static void add_pictures(const struct tw_report_material *m, struct tw_str *out)
{
	if (m->has_time_chart)
		tw_str_add_cstr(out, "\n![Time by category](" TW_TIME_CHART ")\n");
	if (m->has_roofline)
		tw_str_add_cstr(out, "\n![Operations under the roofline](" TW_ROOFLINE_CHART ")\n");
}

/* ---- recommendations */

static const char *mark_of(const char *priority)
{
	static const char *const marks[][2] = {
		{ "Critical", "🔴" },
		{ "High", "🟡" },
		{ "Medium", "🟢" },
		{ "Low", "⚪" },
	};
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (!strcmp(marks[i][0], priority))
			return marks[i][1];
	return "";
}

static void add_line(struct tw_str *out, const char *label, const char *text, const char *absent)
{
	tw_str_addf(out, "**%s**: ", label);
	tw_md_text(out, *text ? text : absent);
	tw_str_add_cstr(out, "  \n");
}

/* "12, `aten::bmm`, `aten::softmax` and others": each name once. */
static void add_members(const struct tw_json_value *o, struct tw_str *out)
{
	const struct tw_json_value *list = tw_json_get(o, "members"), *item, *before;
	size_t told = 0;

	if (is_several(o))
		tw_report_tell(out, o, "member_count", "", " operations: ");
	for (item = list->first; item; item = item->next) {
		const char *name = name_of(item);

		for (before = list->first; before != item; before = before->next)
			if (!strcmp(name_of(before), name))
				break;
		if (before != item)
			continue;
		if (told == MOST_MEMBERS) {
			tw_str_add_cstr(out, " and others");
			break;
		}
		tw_str_add_cstr(out, told++ ? ", " : "");
		tw_md_code(out, name, TITLE_CHARACTERS);
	}
	tw_str_add_cstr(out, "  \n");
}

static void add_operation(const struct tw_json_value *o, struct tw_str *out)
{
	tw_str_add_cstr(out, "**Operation**: ");
	if (is_system(o)) {
		tw_str_add_cstr(out, "the whole timeline (");
		tw_md_text(out, tw_report_text(o, "display_name"));
		tw_str_add_cstr(out, ")  \n");
		return;
	}
	if (tw_json_get(o, "members")->count) {
		add_members(o, out);
		return;
	}
	tw_md_code(out, tw_report_text(o, "operation"), ARGS_CHARACTERS);
	if (tw_json_true(tw_json_get(o, "in_top_operations"))) {
		tw_str_add_cstr(out, " (rank ");
		tw_report_tell(out, o, "top_operations_rank", "", " of the Top Operations)");
	}
	if (*tw_report_text(o, "args")) {
		tw_str_add_cstr(out, ", ");
		tw_report_args(out, tw_json_get(o, "args"), ARGS_CHARACTERS);
	}
	tw_str_add_cstr(out, "  \n");
}

static void add_action(const struct tw_json_value *o, struct tw_str *out)
{
	if (is_system(o)) {
		add_line(out, "Action", tw_report_text(o, "action"), "see the details");
		return;
	}
	tw_str_add_cstr(out, "**Action**: *Path A (fusion / algorithmic)*: ");
	tw_md_text(out, *tw_report_text(o, "path_a") ? tw_report_text(o, "path_a") :
						       "nothing that the trace suggests");
	tw_str_add_cstr(out, "  \n*Path B (kernel only)*: ");
	tw_md_text(out, *tw_report_text(o, "path_b") ?
				tw_report_text(o, "path_b") :
				"Bottleneck identified - generate reproducer for kernel team");
	tw_str_add_cstr(out, "  \n");
}

static const struct tw_json_value *last_of(const struct tw_json_value *list)
{
	const struct tw_json_value *item = list->first;

	while (item && item->next)
		item = item->next;
	return item;
}

/* "up to ~1.5% of the total time"; what rounding has left nothing of is below what it shows. */
static void add_share(const struct tw_json_value *o, const char *key, const char *about,
		      struct tw_str *out)
{
	if (tw_report_number(o, key) > 0) {
		tw_str_add_cstr(out, about);
		tw_report_tell(out, o, key, "%", "");
	} else {
		tw_str_add_cstr(out, "below 0.01%");
	}
	tw_str_add_cstr(out, " of the total time");
}

/* How the gain was come by. */
static void add_basis(const struct tw_json_value *o, struct tw_str *out)
{
	const struct tw_json_value *last = last_of(tw_json_get(o, "impact_projection"));

	if (!isnan(tw_report_number(o, "assumed_speedup"))) {
		tw_str_add_cstr(out, ", at ");
		tw_report_tell(out, o, "assumed_speedup", "x",
			       " less time, the lower end of what fusing gains, and bounded by "
			       "the time that nothing else hides");
	} else if (!isnan(tw_report_number(o, "saved_ms"))) {
		tw_str_add_cstr(out, ", if all of them become one kernel");
	} else if (last) {
		tw_str_add_cstr(out, ", at ");
		tw_report_tell(out, last, "target_efficiency_percent", "%", " of peak");
	}
}

static void add_compute_impact(const struct tw_json_value *o, struct tw_str *out)
{
	if (isnan(tw_report_number(o, "expected_gain_percent"))) {
		tw_str_add_cstr(out, "not quantifiable from trace data; it takes ");
		tw_report_tell(out, o, "time_ms", " ms", ", ");
		add_share(o, "percent_of_total", "", out);
	} else if (tw_report_number(o, "exposed_time_ms") <= 0) {
		tw_str_add_cstr(out, "none as long as other GPU work hides all of it");
	} else {
		add_share(o, "expected_gain_percent", "up to ~", out);
		add_basis(o, out);
	}
}

static void add_includes(const struct tw_json_value *o, struct tw_str *out)
{
	const struct tw_json_value *part = tw_json_get(o, "includes")->first;
	bool any = false;

	for (; part; part = part->next, any = true) {
		tw_str_add_cstr(out, any ? ", " : "; part of it: ");
		tw_md_text(out, tw_report_text(part, "title"));
		if (!isnan(tw_report_number(part, "percent_of_total"))) {
			tw_str_add_cstr(out, " (");
			tw_report_tell(out, part, "percent_of_total", "%", ")");
		}
	}
}

static void add_impact(const struct tw_report_material *m, const struct tw_json_value *o,
		       struct tw_str *out)
{
	const char *expected = tw_report_text(o, "expected_impact");

	tw_str_add_cstr(out, "**Impact**: ");
	if (*expected)
		tw_md_text(out, expected);
	else if (!is_system(o))
		add_compute_impact(o, out);
	else if (isnan(tw_report_number(o, "expected_gain_percent")))
		tw_str_add_cstr(out, "not quantifiable from trace data");
	else
		add_share(o, "expected_gain_percent", "up to ~", out);
	add_includes(o, out);
	if (!is_system(o) && tw_json_true(tw_json_get(m->manifest, "cpu_idle_critical")))
		tw_str_add_cstr(out, "; the host sets the pace, so it shows end to end only once "
				     "the idle time is gone");
	tw_str_add_cstr(out, "  \n");
}

static void add_recommendation(const struct tw_report_material *m, const struct tw_json_value *o,
			       const char *anchor, struct tw_str *out)
{
	const char *priority = tw_report_text(o, "priority");

	tw_str_addf(out, "### %s %s Priority: %s: ", mark_of(priority), priority,
		    tw_report_text(o, "id"));
	add_title(o, out);
	tw_str_add_char(out, '\n');
	add_operation(o, out);
	add_line(out, "Issue", tw_report_text(o, "issue"), "Kernel running slower than expected");
	add_action(o, out);
	add_impact(m, o, out);
	tw_str_addf(out, "→ *See [Detailed Analysis: ");
	tw_md_text(out, tw_report_text(o, "display_name"));
	tw_str_addf(out, "](#%s) for details*\n" RULE, anchor);
}

static void add_recommendations(const struct tw_report_material *m, const char *const *anchors,
				struct tw_str *out)
{
	const struct tw_json_value *o = tw_json_get(m->data, "optimizations")->first;
	const struct tw_json_value *low =
		tw_json_get(tw_json_get(m->data, "priority_counts"), "Low");
	size_t i = 0, told = 0, gains;

	tw_str_add_cstr(out, "## Recommendations\n\n"
			     "**Note:** Recommendations are prioritized based on:\n"
			     "1. Presence in Top Operations list (highest impact)\n"
			     "2. Efficiency gap (how much improvement is possible)\n"
			     "3. Category compute percentage\n\n"
			     "Within a priority the largest expected gain comes first.\n\n");
	gains = tw_report_findings(m, out);
	for (; o; o = o->next, i++) {
		if (tw_report_is_low(o))
			continue;
		add_recommendation(m, o, anchors[i], out);
		told++;
	}
	if (tw_json_number(low) > 0) {
		tw_str_add_cstr(out, "Low priority, told in the Detailed Analysis only: ");
		tw_md_number(out, low, ".\n" RULE);
	} else if (!(tw_report_number(tw_json_get(m->data, "summary"), "total_time_ms") > 0)) {
		tw_str_add_cstr(out, "Nothing to recommend: the trace has no GPU work.\n" RULE);
	} else if (!told && !gains) {
		tw_str_add_cstr(out, "Nothing to recommend: no operation takes much time at a low "
				     "efficiency, and no system analysis found a problem.\n" RULE);
	}
}

/* ---- the whole */

void tw_fair_write(const struct tw_report_material *m, struct tw_str *out)
{
	size_t count = tw_json_get(m->data, "optimizations")->count, i;
	const char **anchors =
		tw_arena_alloc(&m->prepared->arena, (count + 1) * sizeof(const char *));
	struct tw_str details;

	if (!anchors) {
		out->failed = true;
		return;
	}
	for (i = 0; i < count; i++)
		anchors[i] = "detailed-analysis";
	tw_str_init(&details, out->allocator);
	tw_fair_details(m, &details, anchors);
	tw_report_title(m, out);
	tw_str_add_cstr(out, "\n\n## Executive Summary\n");
	add_overview(m, out);
	add_metrics(m, out);
	add_top_operations(m, out);
	add_pictures(m, out);
	tw_str_add_cstr(out, RULE);
	add_recommendations(m, anchors, out);
	tw_str_add(out, details.ptr ? details.ptr : "", details.len);
	tw_str_add_cstr(out, RULE);
	tw_fair_appendix(m, out);
	out->failed |= details.failed;
	tw_str_release(&details);
}
