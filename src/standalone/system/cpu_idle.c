/*
 * Idle time of the GPU: how severe, by which causes, what would be without each.  Where what was prepared is
 * missing, from what the manifest tells of the timeline.
 */
#include "standalone/system/cpu_idle.h"

#include "data/limits.h"

#include <math.h>
#include <string.h>

#define NAME_WIDTH 80
#define LONG_LAUNCH_NS 5000000

_Static_assert(TW_IDLE_CAUSES <= TW_MOST_PATTERNS, "each cause may have a pattern");
static const struct tw_system_area areas[TW_IDLE_CAUSES] = {
	[TW_IDLE_LAUNCH_BOUND] = { "cpu_idle_launch_bound", "launch_bound",
				   "The GPU waits for launches", TW_FACT_idle_ms, "launch_bound",
				   NULL },
	[TW_IDLE_SYNCHRONISATION] = { "cpu_idle_synchronisation", "synchronisation",
				      "The host waits for the GPU", TW_FACT_idle_ms, "host_sync",
				      NULL },
	[TW_IDLE_DATA_WAIT] = { "cpu_idle_data_wait", "data_wait", "The GPU waits for input data",
				TW_FACT_idle_ms, "data_loading", NULL },
	[TW_IDLE_GRAPH_GAP] = { "cpu_idle_graph_gap", "graph_gap", "Gaps inside GPU graphs",
				TW_FACT_idle_ms, "graph_gap", NULL },
	[TW_IDLE_QUEUED] = { "cpu_idle_queued_work", "queued_work", "Launched work starts late",
			     TW_FACT_idle_ms, "queued_gap", NULL },
	[TW_IDLE_UNKNOWN] = { "cpu_idle_unknown", "unknown", "Idle time of unknown cause",
			      TW_FACT_idle_ms, NULL, NULL },
};

/* ---- members of the metrics */

struct metrics {
	struct tw_system system;
	bool idle_flagged, critical;
	const struct tw_level *severity; /* NULL: not known */
	double idle_ms, idle_percent, computation_percent, communication_percent, memcpy_percent;
	struct tw_cpu_idle *data; /* NULL: the manifest alone */
	const struct tw_idle_time *time;
	const struct tw_idle_kernels *kernels;
	TW_FIELD_LIST(struct tw_told_gap) gaps;
};

#define F(kind, member, key, ...) TW_FIELD(struct tw_idle_part, kind, member, key, __VA_ARGS__)
static const struct tw_member part_fields[] = {
	F(PLAIN, title, "title"),
	F(PLAIN, meaning, "meaning"),
	F(COUNT, count, "count"),
	F(REAL, time_ms, "time_ms", 3),
	F(REAL, mean_us, "mean_us", 3),
	F(NS, largest_ns, "largest_us", 3),
	F(REAL, largest_percent, "largest_percent", 2),
	F(COUNT, gaps_of_80_percent, "gaps_of_80_percent"),
	F(REAL, percent_of_idle, "percent_of_idle", 2),
	F(REAL, percent_of_total, "percent_of_total", 2),
	F(LEVEL, severity, "severity"),
	F(REAL, without_ms, "total_time_without_ms", 3),
	F(REAL, speedup_without, "speedup_without", 2),
	F(POINTER, largest, "largest_gap", .of = &tw_told_gap_fields),
};
#undef F
static const struct tw_fields part = TW_FIELDS(struct tw_idle_part, part_fields);

static const struct tw_member cause_fields[] = { TW_IDLE_CAUSE_FIELDS(&part) };
static const struct tw_fields causes = TW_FIELDS(struct tw_cpu_idle, cause_fields);

#define F(kind, member, key, ...) TW_FIELD(struct metrics, kind, member, key, __VA_ARGS__)
static const struct tw_member use_fields[] = {
	F(REAL, system.total_ms, "total_time_ms", 3),
	F(REAL, idle_ms, "idle_time_ms", 3),
	F(REAL, idle_percent, "idle_time_percent", 2),
	F(REAL, computation_percent, "computation_percent", 2),
	F(REAL, communication_percent, "communication_percent", 2),
	F(REAL, memcpy_percent, "memcpy_percent", 2),
};
static const struct tw_fields use = TW_FIELDS(struct metrics, use_fields);
static const struct tw_member metrics_fields[] = {
	TW_SYSTEM_FIELDS(struct metrics, TW_CPU_IDLE_TITLE, "OK"),
	F(BOOL, idle_flagged, "idle_flagged"),
	F(BOOL, critical, "cpu_idle_critical"),
	F(LEVEL, severity, "severity"),
	{ .key = "gpu_utilization", .kind = TW_F_STRUCT, .of = &use },
	F(POINTER, time, "idle_analysis", .of = &tw_idle_time_fields),
	F(POINTER, data, "causes", .of = &causes),
	F(POINTER, kernels, "kernel_analysis", .of = &tw_idle_kernels_fields),
	F(LIST, gaps, "largest_gaps", .of = &tw_told_gap_fields, .inlined = true),
	TW_PATTERN_FIELDS(struct metrics),
};
#undef F
static const struct tw_fields metrics_of_idle = TW_FIELDS(struct metrics, metrics_fields);

/* ---- severities and patterns */

static double us(int64_t ns)
{
	return ns == TRAWL_TIME_NONE ? (double)NAN : (double)ns / 1e3;
}

/* Whether the host was recorded: by the manifest, else by what stands at the largest gaps. */
static bool is_host_recorded(const struct metrics *m, const struct tw_manifest *manifest)
{
	size_t i;

	if (manifest && (manifest->recorded.operations || manifest->recorded.runtime_calls))
		return true;
	for (i = 0; i < m->gaps.count; i++)
		if (m->gaps.at[i].call || m->gaps.at[i].operation)
			return true;
	return false;
}

static void add_named(struct tw_str *out, const char *before, const char *name)
{
	struct tw_str cut;

	if (!name)
		return;
	tw_str_init(&cut, out->allocator);
	tw_str_add_cstr(&cut, name);
	tw_md_cut(&cut, NAME_WIDTH);
	tw_str_addf(out, "%s%s", before, cut.ptr ? cut.ptr : "");
	out->failed |= cut.failed;
	tw_str_release(&cut);
}

/* Where the largest gap is and what runs in it; NULL: not told, or out of memory. */
static const char *place_of(struct tw_arena *arena, const struct tw_told_gap *gap)
{
	const char *in = " in ";
	struct tw_str text, *out = &text;

	if (!gap)
		return NULL;
	tw_str_init(&text, arena->allocator);
	tw_fields_fill(out, ". The largest begins at {start_us| µs}", &tw_told_gap_fields, gap);
	if (gap->at_edge)
		tw_str_add_cstr(out, ", at the start or the end of the GPU work");
	if (gap->running_call) {
		add_named(out, "; most of it is the host call ", gap->running_call);
		tw_fields_fill(out, " ({running_call_us| µs})", &tw_told_gap_fields, gap);
	} else {
		in = "; for most of it the host is in ";
	}
	add_named(out, in, gap->running_operation);
	add_named(out, gap->running_operation ? " in " : in, gap->running_python);
	if (gap->running_call_launches > 0 && gap->running_call_ns > LONG_LAUNCH_NS)
		tw_str_add_cstr(out, "; so long a launch probably loads code at first use");
	return tw_kept(arena, out);
}

static void judge_cause(struct metrics *m, enum tw_idle_cause cause,
			const struct tw_manifest *manifest)
{
	struct tw_idle_part *p = &m->data->causes[cause];
	struct tw_facts facts, share;
	double *fact = facts.value;

	p->title = tw_idle_cause_known[cause].title;
	p->meaning = tw_idle_cause_known[cause].meaning;
	p->time_ms = us(p->total_ns) / 1e3;
	p->without_ms = us(p->without_ns) / 1e3;
	tw_facts_init(&facts);
	tw_facts_init(&share);
	fact[TW_FACT_idle_most_gaps] = (double)p->gaps_of_80_percent;
	fact[TW_FACT_idle_largest_ms] = us(p->largest_ns) / 1e3;
	fact[TW_FACT_idle_largest_percent] = p->largest_percent;
	fact[TW_FACT_host_recorded] = is_host_recorded(m, manifest);
	fact[TW_FACT_idle_gaps] = (double)p->count;
	fact[TW_FACT_idle_ms] = p->time_ms;
	fact[TW_FACT_idle_gap_us] = p->count ? us(p->total_ns) / (double)p->count : (double)NAN;
	fact[TW_FACT_idle_cause_percent] = tw_percent_of(p->time_ms, m->system.total_ms);
	fact[TW_FACT_short_kernel_percent] = m->data->kernels.short_percent;
	fact[TW_FACT_short_kernel_us] = us(m->data->kernels.short_threshold_ns);
	share.value[TW_FACT_idle_percent] = fact[TW_FACT_idle_cause_percent];
	p->severity = tw_level_of("idle", &share);
	tw_patterns_add(&m->system.patterns, &areas[cause], p->severity, &facts,
			tw_rule_next("cpu_idle_gaps", &facts, NULL),
			tw_level_is_yes("few_gaps", &facts) ?
				place_of(m->system.patterns.arena, p->largest) :
				NULL);
}

static void judge(struct metrics *m, const struct tw_manifest *manifest)
{
	const struct tw_idle_time *t = m->time;
	const struct tw_use *used = manifest ? &manifest->use : NULL;
	struct tw_facts facts;
	int i;

	if (t) {
		double total = us(t->total_ns);

		m->system.total_ms = total / 1e3;
		m->idle_ms = us(t->idle_ns) / 1e3;
		m->idle_percent = tw_percent_of(us(t->idle_ns), total);
		m->computation_percent = tw_percent_of(us(t->computation_ns), total);
		m->communication_percent = tw_percent_of(us(t->exposed_comm_ns), total);
		m->memcpy_percent = tw_percent_of(us(t->exposed_memcpy_ns), total);
	} else {
		m->system.total_ms = tw_use_ms(used, TW_USE_TOTAL);
		m->idle_ms = tw_use_ms(used, TW_USE_IDLE);
		m->idle_percent = used->percent[TW_USE_IDLE];
		m->computation_percent = used->percent[TW_USE_COMPUTATION];
		m->communication_percent = used->percent[TW_USE_COMM];
		m->memcpy_percent = used->percent[TW_USE_MEMCPY];
	}
	m->system.patterns.total_ms = m->system.total_ms;
	tw_facts_init(&facts);
	facts.value[TW_FACT_idle_percent] = m->idle_percent;
	m->idle_flagged = tw_level_is_yes("idle_flagged", &facts);
	m->critical = tw_level_is_yes("cpu_idle_critical", &facts);
	if (!isnan(m->idle_percent))
		m->severity = tw_level_of("idle", &facts);
	for (i = 0; t && i < TW_IDLE_CAUSES; i++)
		judge_cause(m, i, manifest);
	if (t && !(m->system.total_ms > 0)) {
		m->system.limitations = TW_NO_GPU_WORK;
		for (i = 0; i < TW_IDLE_CAUSES; i++)
			m->data->causes[i].severity = NULL;
	}
}

/* ---- cpu_idle_findings.md, in the shape of the multi-kernel analysis */

static void add_summary(struct tw_str *out, const struct metrics *m,
			const struct tw_findings_place *place)
{
	const struct tw_idle_part *largest = NULL;
	int i;

	for (i = 0; m->data && i < TW_IDLE_CAUSES; i++) {
		const struct tw_idle_part *p = &m->data->causes[i];

		/* As it is told. */
		if (tw_as_written(p->time_ms, 3) >
		    (largest ? tw_as_written(largest->time_ms, 3) : 0))
			largest = p;
	}
	tw_findings_heading(out, place, 2, "Summary");
	tw_str_add_cstr(out, place->deeper ? "" : "\n");
	tw_fields_fill(out,
		       "| Metric | Value | Severity |\n|--------|-------|----------|\n"
		       "| GPU Idle Time | {gpu_utilization.idle_time_ms| ms} "
		       "({gpu_utilization.idle_time_percent|%} of total) | {severity} |\n"
		       "| Idle Gaps | {idle_analysis.gap_count} | n/a |\n",
		       &metrics_of_idle, m);
	if (largest)
		tw_fields_fill(out, "| Largest Cause | {title} ({time_ms| ms}) | {severity} |\n",
			       &part, largest);
	else
		tw_str_add_cstr(out, "| Largest Cause | n/a (n/a) | n/a |\n");
	tw_fields_fill(out,
		       "| Short Kernels | {kernel_analysis.short_kernel_count} of "
		       "{kernel_analysis.total_kernel_count} "
		       "({kernel_analysis.short_kernel_percent|%}) | n/a |\n\n",
		       &metrics_of_idle, m);
}

static void add_cause(struct tw_str *out, const struct tw_idle_part *p,
		      const struct tw_findings_place *place)
{
	if (!p->count)
		return;
	tw_findings_heading(out, place, 3, p->title);
	tw_fields_fill(out,
		       "- **Count**: {count} (mean {mean_us| us}, largest {largest_us| us}, "
		       "{largest_percent|% of it})\n"
		       "- **Total Time**: {time_ms| ms} ({percent_of_total|%} of total, "
		       "{percent_of_idle|%} of idle time)\n- **Assessment**: {severity}\n"
		       "- **Root Cause**: {meaning}\n- **Impact**: without it the total time would "
		       "be {total_time_without_ms| ms}, a speed-up of ",
		       &part, p);
	if (p->speedup_without > TW_LIMIT_TOLD_SPEEDUP_MOST)
		tw_str_add_cstr(out, "over " TW_LIMIT_TEXT(TW_LIMIT_TOLD_SPEEDUP_MOST) "x");
	else
		tw_fields_fill(out, "{speedup_without|x}", &part, p);
	tw_str_add_cstr(out, " at most\n\n");
}

static void add_causes(struct tw_str *out, const struct metrics *m,
		       const struct tw_findings_place *place)
{
	int i;

	tw_findings_heading(out, place, 2, "Idle Time Analysis");
	tw_str_add_cstr(out, place->deeper ? "" : "\n");
	if (!m->data)
		tw_str_add_cstr(out, "The causes are not known.\n\n");
	else if (!(m->system.total_ms > 0))
		tw_str_add_cstr(out, TW_NO_GPU_WORK ".\n\n");
	else if (!(tw_as_written(m->idle_ms, 3) > 0))
		tw_str_add_cstr(out, "The GPU is never idle.\n\n");
	for (i = 0; m->data && i < TW_IDLE_CAUSES; i++)
		add_cause(out, &m->data->causes[i], place);
	if (!m->kernels)
		return;
	tw_findings_heading(out, place, 3, "Short Kernels");
	tw_fields_fill(out,
		       "- **Count**: {short_kernel_count} of {total_kernel_count} kernels are "
		       "shorter than {short_kernel_threshold_us| us} ({short_kernel_percent|%})\n"
		       "- **Total Time**: {short_kernel_time_us| us} "
		       "({short_kernel_time_percent|%} of kernel time)\n"
		       "- **Average Kernel**: {avg_kernel_time_us| us}\n\n",
		       &tw_idle_kernels_fields, m->kernels);
}

static void add_tables(struct tw_str *out, const struct metrics *m,
		       const struct tw_findings_place *place)
{
	size_t i;

	tw_findings_heading(out, place, 2, "Technical Details");
	tw_str_add_cstr(out, place->deeper ? "" : "\n");
	tw_findings_heading(out, place, 3, "Idle Time by Cause");
	tw_str_add_cstr(
		out, "| Cause | Count | Total Time (ms) | % of Idle | % of Total | Largest (us) | "
		     "Severity |\n"
		     "|-------|-------|-----------------|-----------|------------|--------------|"
		     "----------|\n");
	if (!m->data)
		tw_str_add_cstr(out, "| n/a | n/a | n/a | n/a | n/a | n/a | n/a |\n");
	for (i = 0; m->data && i < TW_IDLE_CAUSES; i++)
		tw_fields_fill(out,
			       "| {title} | {count} | {time_ms} | {percent_of_idle} | "
			       "{percent_of_total} | {largest_us} | {severity} |\n",
			       &part, &m->data->causes[i]);
	tw_str_add_char(out, '\n');
	tw_findings_heading(out, place, 3, "Largest Gaps");
	tw_str_add_cstr(
		out, "| Rank | Duration (us) | Cause | Operation | Launch Call | Python Function | "
		     "Kernel Before | Kernel After |\n"
		     "|------|---------------|-------|-----------|-------------|-----------------|"
		     "---------------|--------------|\n");
	if (!m->gaps.count)
		tw_str_add_cstr(out, "| n/a | n/a | none | n/a | n/a | n/a | n/a | n/a |\n");
	for (i = 0; i < m->gaps.count; i++) {
		const struct tw_told_gap *gap = &m->gaps.at[i];
		size_t k = 0;

		while (k < TW_IDLE_UNKNOWN && strcmp(tw_idle_cause_known[k].key, gap->cause))
			k++;
		tw_fields_fill(out, "| {rank} | {duration_us} | ", &tw_told_gap_fields, gap);
		tw_str_add_cstr(out, tw_idle_cause_known[k].title);
		tw_fields_fill(out,
			       " | {operation:60} | {launch_call:60} | {python_function:60} | "
			       "{kernel_before:60} | {kernel_after:60} |\n",
			       &tw_told_gap_fields, gap);
	}
}

static void write_markdown(struct tw_str *out, const void *metrics,
			   const struct tw_findings_place *place)
{
	const struct metrics *m = metrics;

	tw_system_head(out, &m->system, TW_CPU_IDLE_TITLE, place);
	if (m->system.error)
		return;
	add_summary(out, m, place);
	add_causes(out, m, place);
	tw_patterns_markdown(out, &m->system.patterns, place);
	add_tables(out, m, place);
}

int tw_category_cpu_idle(struct tw_prepared *prepared, struct tw_category_result *result,
			 struct trawl_error *err)
{
	struct tw_system_source source = { .prepared = prepared, .data = prepared->cpu_idle };
	struct metrics *m = tw_arena_array(&prepared->arena, 1, sizeof(*m));

	*result = (struct tw_category_result){ .status = TW_CATEGORY_DONE,
					       .percent_of_compute = NAN };
	if (!m)
		return tw_no_memory(err);
	m->system.name = "cpu_idle";
	if (tw_system_read(&source, "cpu_idle", TW_CPU_IDLE_DATA, &tw_cpu_idle_fields,
			   &m->system.error, err))
		return err->status;
	m->data = source.data;
	if (m->data) {
		m->time = &m->data->time;
		m->kernels = &m->data->kernels;
		m->gaps.at = m->data->gaps.at;
		m->gaps.count = m->data->gaps.count;
	}
	m->system.platform = source.platform;
	m->system.source = m->data ? TW_CPU_IDLE_DATA : TW_MANIFEST;
	if (!m->data)
		m->system.limitations = TW_CPU_IDLE_DATA
			" is missing: the causes of idle time, its gaps and the "
			"kernels are not known; the severity is by the share of "
			"idle time alone";
	m->system.events = source.manifest && source.manifest->linked_only ? TW_LINKED_EVENTS :
									     TW_ALL_EVENTS;
	m->system.patterns.arena = &prepared->arena;
	m->system.patterns.findings = prepared->findings;
	if (!m->system.error)
		judge(m, source.manifest);
	result->time_ms = tw_as_written(m->idle_ms, 3);
	return tw_system_write(prepared, "cpu_idle", &m->system, &metrics_of_idle, write_markdown,
			       result, err);
}
