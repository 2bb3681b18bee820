/*
 * multi_kernel_findings.md: the template of the multi-kernel analysis, filled from the metrics.
 * What a table or line tells and the trace does not is "n/a".
 */
#include "standalone/multi_kernel.h"

#include <string.h>

#define NAME_WIDTH 80
#define CALLERS 3

struct page {
	struct tw_str *out;
	const struct tw_json_value *metrics, *copies, *blocking, *overlap;
};

static void put(struct page *p, const char *text)
{
	tw_str_add_cstr(p->out, text);
}

/* A number of an object, with what stands in front of it and behind it. */
static void put_number(struct page *p, const char *before, const struct tw_json_value *object,
		       const char *key, const char *behind)
{
	tw_system_number(p->out, before, tw_json_get(object, key), behind);
}

static void put_level(struct page *p, const char *before, const struct tw_json_value *object)
{
	put(p, before);
	tw_system_level(p->out, tw_json_get(object, "severity"));
}

static const struct tw_json_value *direction_of(const struct page *p, const char *name)
{
	return tw_json_get(tw_json_get(p->copies, "directions"), name);
}

/* ---- summary */

static void put_direction_row(struct page *p, const char *name)
{
	const struct tw_json_value *d = direction_of(p, name);

	tw_str_addf(p->out, "| %s Transfers | ", name);
	put_number(p, "", d, "count", " (");
	put_number(p, "", d, "time_ms", " ms");
	put_level(p, ") | ", d);
	put(p, " |\n");
}

static void put_summary(struct page *p)
{
	put(p, "## Summary\n\n| Metric | Value | Severity |\n|--------|-------|----------|\n");
	put_number(p, "| Total Memcpy Events | ", p->copies, "total_count", "");
	put_level(p, " | ", p->copies);
	put(p, " |\n");
	put_direction_row(p, "D2H");
	put_direction_row(p, "H2D");
	put_number(p, "| Exposed Communication | ", p->blocking, "percent_of_total", "%");
	put_level(p, " of total | ", p->blocking);
	put(p, " |\n");
	put_number(p, "| Compute/Comm Overlap | ", p->overlap, "overlap_percent", "%");
	put_level(p, " | ", p->overlap);
	put(p, " |\n\n");
}

/* ---- memory copies */

static void put_caller(struct page *p, const struct tw_json_value *caller)
{
	const char *operation = tw_json_text(tw_json_get(caller, "operation"));
	const char *python = tw_json_text(tw_json_get(caller, "python"));

	if (*operation)
		tw_md_code(p->out, operation, NAME_WIDTH);
	else
		put(p, "calls that were not recorded");
	if (*python) {
		put(p, " in ");
		tw_md_code(p->out, python, NAME_WIDTH);
	}
	put_number(p, " (count ", caller, "count", "");
	put_number(p, ", ", caller, "total_time_us", " us)");
}

static void put_callers(struct page *p, const struct tw_json_value *direction)
{
	const struct tw_json_value *caller = tw_json_get(direction, "callers")->first;
	size_t n;

	if (!caller)
		return;
	put(p, ". Asked for by ");
	for (n = 0; caller && n < CALLERS; caller = caller->next, n++) {
		if (n)
			put(p, "; ");
		put_caller(p, caller);
	}
	if (caller)
		put(p, "; and others");
}

static void put_direction(struct page *p, const char *name, const char *title)
{
	const struct tw_json_value *d = direction_of(p, name);
	const char *cause = tw_json_text(tw_json_get(d, "root_cause"));

	tw_str_addf(p->out, "### %s (%s) Transfers\n", name, title);
	put_number(p, "- **Count**: ", d, "count",
		   tw_json_number(tw_json_get(d, "count")) == 1 ? " transfer\n" : " transfers\n");
	put_number(p, "- **Total Time**: ", d, "time_ms", " ms");
	put_number(p, " (", d, "percent_of_total", "% of total GPU time");
	put_level(p, ")\n- **Assessment**: ", d);
	put(p, "\n- **Root Cause**: ");
	put(p, *cause ? cause : TW_MD_UNKNOWN);
	put_callers(p, d);
	put(p, "\n\n");
}

/* ---- communication */

static void put_blocking(struct page *p)
{
	put(p, "## Communication Blocking Analysis\n\n### NCCL Blocking Compute\n");
	put_number(p, "- **Exposed Communication Time**: ", p->blocking, "exposed_comm_time_ms",
		   " ms");
	put_number(p, " (", p->blocking, "percent_of_total", "% of total");
	put_number(p, ")\n- **Total Communication Time**: ", p->blocking, "total_comm_time_ms",
		   " ms");
	put_level(p, "\n- **Assessment**: ", p->blocking);
	if (*tw_json_text(tw_json_get(p->blocking, "details"))) {
		put(p, ": ");
		put(p, tw_json_text(tw_json_get(p->blocking, "details")));
	}
	put_number(p, "\n- **Impact**: GPU compute blocked for ", p->blocking,
		   "exposed_comm_time_ms", " ms");
	put(p, " due to non-overlapped communication\n\n");
}

static void put_overlap(struct page *p)
{
	const struct tw_json_value *o = p->overlap;

	put(p, "### Compute/Communication Overlap\n");
	put_number(p, "- **Overlap Ratio**: ", o, "overlap_percent", "%");
	put_number(p, " (target > ", o, "target_percent", "%");
	put_level(p, ")\n- **Assessment**: ", o);
	if (*tw_json_text(tw_json_get(o, "details"))) {
		put(p, ": ");
		put(p, tw_json_text(tw_json_get(o, "details")));
	}
	put(p, "\n- **Impact**: ");
	if (tw_json_is_null(tw_json_get(o, "overlap_percent"))) {
		put(p, TW_MD_UNKNOWN "\n\n");
		return;
	}
	put_number(p, "on the way to an overlap of ", o, "target_percent", "%");
	put_number(p, " at most ", o, "hideable_ms", " ms");
	put_number(p, " (", o, "hideable_percent_of_total", "% of total");
	put_number(p, ") can be hidden: ", o, "free_computation_ms", " ms");
	put(p, " of computing have no communication beside them yet\n\n");
}

/* ---- details */

static void put_top(struct page *p)
{
	const struct tw_json_value *op =
		tw_json_get(tw_json_get(p->metrics, "nccl_summary"), "top_ops")->first;
	size_t rank = 0;

	put(p, "## Technical Details\n\n### Top Communication Operations\n"
	       "| Rank | Operation | Duration (us) | Stream |\n"
	       "|------|-----------|---------------|--------|\n");
	if (!op)
		put(p, "| n/a | none | n/a | n/a |\n");
	for (; op; op = op->next) {
		const struct tw_json_value *stream = tw_json_get(op, "stream");

		tw_str_addf(p->out, "| %zu | ", ++rank);
		tw_md_code(p->out, tw_json_text(tw_json_get(op, "name")), NAME_WIDTH);
		put_number(p, " | ", op, "duration_us", "");
		put(p, " | ");
		if (stream->type == TW_JSON_STRING)
			tw_md_code(p->out, stream->text, NAME_WIDTH);
		else
			tw_md_number(p->out, stream, "");
		put(p, " |\n");
	}
	put(p, "\n");
}

static void put_breakdown(struct page *p)
{
	static const char *const names[] = { "D2H", "H2D", "D2D", "other" };
	size_t i;

	put(p, "### Memory Copy Breakdown\n"
	       "| Direction | Count | Total Time (ms) | Avg Size | Severity |\n"
	       "|-----------|-------|------------------|----------|----------|\n");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct tw_json_value *d = direction_of(p, names[i]);

		/* The last one only where there are such. */
		if (i == 3 && !(tw_json_number(tw_json_get(d, "count")) > 0))
			continue;
		tw_str_addf(p->out, "| %s", names[i]);
		put_number(p, " | ", d, "count", "");
		put_number(p, " | ", d, "time_ms", "");
		put_number(p, " | ", d, "avg_bytes", " bytes");
		put_level(p, " | ", d);
		put(p, " |\n");
	}
}

static void put_validation(struct page *p)
{
	const struct tw_json_value *v = tw_json_get(p->metrics, "cross_validation"), *check;

	if (*tw_json_text(tw_json_get(v, "compared_with")))
		tw_str_addf(p->out, "\n**Cross-validation**: %s, against %s.\n",
			    tw_json_text(tw_json_get(v, "status")),
			    tw_json_text(tw_json_get(v, "compared_with")));
	if (strcmp(tw_json_text(tw_json_get(v, "status")), "WARN"))
		return;
	put(p, "\n**Warning**: these figures and those of the timeline differ:");
	for (check = tw_json_get(v, "checks")->first; check; check = check->next) {
		if (strcmp(tw_json_text(tw_json_get(check, "status")), "WARN"))
			continue;
		tw_str_addf(p->out, "\n- %s: ", tw_json_text(tw_json_get(check, "metric")));
		put_number(p, "", check, "mk_ms", " ms");
		put_number(p, " here, ", check, "tl_ms", " ms");
		put_number(p, " there (", check, "diff_pct", "%)");
	}
	put(p, "\n");
}

void tw_multi_kernel_markdown(struct tw_str *out, const struct tw_json_value *metrics)
{
	struct page p = { .out = out,
			  .metrics = metrics,
			  .copies = tw_json_get(metrics, "memcpy_assessment"),
			  .blocking = tw_json_get(metrics, "nccl_blocking_assessment"),
			  .overlap = tw_json_get(metrics, "overlap_assessment") };

	tw_system_head_markdown(out, TW_MULTI_KERNEL_TITLE, "SUCCESS");
	tw_system_limits_markdown(out, metrics);
	put_summary(&p);
	put(&p, "## Memory Copy Analysis\n\n");
	put_direction(&p, "D2H", "Device-to-Host");
	put_direction(&p, "H2D", "Host-to-Device");
	put_blocking(&p);
	put_overlap(&p);
	tw_system_findings_markdown(out, metrics);
	put_top(&p);
	put_breakdown(&p);
	put_validation(&p);
}
