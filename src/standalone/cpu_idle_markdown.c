/* cpu_idle_findings.md, in the shape of the multi-kernel analysis, filled from the metrics. */
#include "standalone/cpu_idle.h"

#include "data/limits.h"

#define NAME_WIDTH 60

struct page {
	struct tw_str *out;
	const struct tw_json_value *metrics, *gpu, *kernels, *causes;
};

static void put(struct page *p, const char *text)
{
	tw_str_add_cstr(p->out, text);
}

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

static const char *text_of(const struct tw_json_value *object, const char *key)
{
	return tw_json_text(tw_json_get(object, key));
}

/* ---- summary */

static const struct tw_json_value *largest_cause(const struct page *p)
{
	const struct tw_json_value *cause, *largest = tw_json_get(NULL, "");

	for (cause = p->causes->first; cause; cause = cause->next)
		if (tw_json_number(tw_json_get(cause, "time_ms")) > 0 &&
		    !(tw_json_number(tw_json_get(cause, "time_ms")) <=
		      tw_json_number(tw_json_get(largest, "time_ms"))))
			largest = cause;
	return largest;
}

static void put_summary(struct page *p)
{
	const struct tw_json_value *largest = largest_cause(p);

	put(p, "## Summary\n\n| Metric | Value | Severity |\n|--------|-------|----------|\n");
	put_number(p, "| GPU Idle Time | ", p->gpu, "idle_time_ms", " ms");
	put_number(p, " (", p->gpu, "idle_time_percent", "% of total");
	put_level(p, ") | ", p->metrics);
	put_number(p, " |\n| Idle Gaps | ", tw_json_get(p->metrics, "idle_analysis"), "gap_count",
		   "");
	put(p, " | n/a |\n| Largest Cause | ");
	put(p, tw_json_is_null(largest) ? TW_MD_UNKNOWN : text_of(largest, "title"));
	put_number(p, " (", largest, "time_ms", " ms");
	put_level(p, ") | ", largest);
	put_number(p, " |\n| Short Kernels | ", p->kernels, "short_kernel_count", "");
	put_number(p, " of ", p->kernels, "total_kernel_count", "");
	put_number(p, " (", p->kernels, "short_kernel_percent", "%");
	put(p, ") | n/a |\n\n");
}

/* ---- causes */

static void put_cause(struct page *p, const struct tw_json_value *cause)
{
	if (!(tw_json_number(tw_json_get(cause, "count")) > 0))
		return;
	tw_str_addf(p->out, "### %s\n", text_of(cause, "title"));
	put_number(p, "- **Count**: ", cause, "count", "");
	put_number(p, " (mean ", cause, "mean_us", " us");
	put_number(p, ", largest ", cause, "largest_us", " us");
	put_number(p, ", ", cause, "largest_percent", "% of it)");
	put_number(p, "\n- **Total Time**: ", cause, "time_ms", " ms");
	put_number(p, " (", cause, "percent_of_total", "% of total, ");
	put_number(p, "", cause, "percent_of_idle", "% of idle time)");
	put_level(p, "\n- **Assessment**: ", cause);
	tw_str_addf(p->out, "\n- **Root Cause**: %s", text_of(cause, "meaning"));
	put_number(p, "\n- **Impact**: without it the total time would be ", cause,
		   "total_time_without_ms", " ms");
	if (tw_json_number(tw_json_get(cause, "speedup_without")) > TW_LIMIT_TOLD_SPEEDUP_MOST)
		put(p, ", a speed-up of over " TW_LIMIT_TEXT(
			       TW_LIMIT_TOLD_SPEEDUP_MOST) "x at most\n\n");
	else
		put_number(p, ", a speed-up of ", cause, "speedup_without", "x at most\n\n");
}

static void put_causes(struct page *p)
{
	const struct tw_json_value *cause;

	put(p, "## Idle Time Analysis\n\n");
	if (!p->causes->first)
		put(p, "The causes are not known.\n\n");
	else if (!(tw_json_number(tw_json_get(p->metrics, "total_time_ms")) > 0))
		put(p, TW_NO_GPU_WORK ".\n\n");
	else if (!(tw_json_number(tw_json_get(p->gpu, "idle_time_ms")) > 0))
		put(p, "The GPU is never idle.\n\n");
	for (cause = p->causes->first; cause; cause = cause->next)
		put_cause(p, cause);
	if (tw_json_is_null(tw_json_get(p->kernels, "total_kernel_count")))
		return;
	put_number(p, "### Short Kernels\n- **Count**: ", p->kernels, "short_kernel_count", " of ");
	put_number(p, "", p->kernels, "total_kernel_count", " kernels");
	put_number(p, " are shorter than ", p->kernels, "short_kernel_threshold_us", " us");
	put_number(p, " (", p->kernels, "short_kernel_percent", "%)");
	put_number(p, "\n- **Total Time**: ", p->kernels, "short_kernel_time_us", " us");
	put_number(p, " (", p->kernels, "short_kernel_time_percent", "% of kernel time)");
	put_number(p, "\n- **Average Kernel**: ", p->kernels, "avg_kernel_time_us", " us\n\n");
}

/* ---- details */

static void put_code(struct page *p, const struct tw_json_value *gap, const char *key)
{
	const char *text = text_of(gap, key);

	put(p, " | ");
	if (*text)
		tw_md_code(p->out, text, NAME_WIDTH);
	else
		put(p, TW_MD_UNKNOWN);
}

static void put_gaps(struct page *p)
{
	const struct tw_json_value *gap = tw_json_get(p->metrics, "largest_gaps")->first;

	put(p, "### Largest Gaps\n"
	       "| Rank | Duration (us) | Cause | Operation | Launch Call | Python Function | "
	       "Kernel Before | Kernel After |\n"
	       "|------|---------------|-------|-----------|-------------|-----------------|"
	       "---------------|--------------|\n");
	if (!gap)
		put(p, "| n/a | n/a | none | n/a | n/a | n/a | n/a | n/a |\n");
	for (; gap; gap = gap->next) {
		put_number(p, "| ", gap, "rank", "");
		put_number(p, " | ", gap, "duration_us", "");
		tw_str_addf(p->out, " | %s",
			    text_of(tw_json_get(p->causes, text_of(gap, "cause")), "title"));
		put_code(p, gap, "operation");
		put_code(p, gap, "launch_call");
		put_code(p, gap, "python_function");
		put_code(p, gap, "kernel_before");
		put_code(p, gap, "kernel_after");
		put(p, " |\n");
	}
}

static void put_table(struct page *p)
{
	const struct tw_json_value *cause;

	put(p, "## Technical Details\n\n### Idle Time by Cause\n"
	       "| Cause | Count | Total Time (ms) | % of Idle | % of Total | Largest (us) | "
	       "Severity |\n"
	       "|-------|-------|-----------------|-----------|------------|--------------|"
	       "----------|\n");
	if (!p->causes->first)
		put(p, "| n/a | n/a | n/a | n/a | n/a | n/a | n/a |\n");
	for (cause = p->causes->first; cause; cause = cause->next) {
		tw_str_addf(p->out, "| %s", text_of(cause, "title"));
		put_number(p, " | ", cause, "count", "");
		put_number(p, " | ", cause, "time_ms", "");
		put_number(p, " | ", cause, "percent_of_idle", "");
		put_number(p, " | ", cause, "percent_of_total", "");
		put_number(p, " | ", cause, "largest_us", "");
		put_level(p, " | ", cause);
		put(p, " |\n");
	}
	put(p, "\n");
}

void tw_cpu_idle_markdown(struct tw_str *out, const struct tw_json_value *metrics)
{
	struct page p = { .out = out,
			  .metrics = metrics,
			  .gpu = tw_json_get(metrics, "gpu_utilization"),
			  .kernels = tw_json_get(metrics, "kernel_analysis"),
			  .causes = tw_json_get(metrics, "causes") };

	tw_system_head_markdown(out, TW_CPU_IDLE_TITLE, "SUCCESS");
	tw_system_limits_markdown(out, metrics);
	put_summary(&p);
	put_causes(&p);
	tw_system_findings_markdown(out, metrics);
	put_table(&p);
	put_gaps(&p);
}
