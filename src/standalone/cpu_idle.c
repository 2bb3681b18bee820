/*
 * Idle time of the GPU: how severe, by which causes, what would be without each.  From
 * cpu_idle_data.json, and where that is missing from what the manifest tells of the timeline.
 */
#include "standalone/cpu_idle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 80

_Static_assert(TW_IDLE_CAUSES <= TW_MOST_SYSTEM_FINDINGS, "each cause may have a finding");
static const struct tw_system_area areas[TW_IDLE_CAUSES] = {
	[TW_IDLE_LAUNCH_BOUND] = { "cpu_idle_launch_bound", "launch_bound",
				   "The GPU waits for launches", TW_FACT_idle_ms, NULL },
	[TW_IDLE_SYNCHRONISATION] = { "cpu_idle_synchronisation", "synchronisation",
				      "The host waits for the GPU", TW_FACT_idle_ms, NULL },
	[TW_IDLE_DATA_WAIT] = { "cpu_idle_data_wait", "data_wait", "The GPU waits for input data",
				TW_FACT_idle_ms, NULL },
	[TW_IDLE_GRAPH_GAP] = { "cpu_idle_graph_gap", "graph_gap", "Gaps inside GPU graphs",
				TW_FACT_idle_ms, NULL },
	[TW_IDLE_QUEUED] = { "cpu_idle_queued_work", "queued_work", "Launched work starts late",
			     TW_FACT_idle_ms, NULL },
	[TW_IDLE_UNKNOWN] = { "cpu_idle_unknown", "unknown", "Idle time of unknown cause",
			      TW_FACT_idle_ms, NULL },
};

struct work {
	struct tw_prepared *prepared;
	const struct tw_json_value *data; /* NULL: the manifest alone */
	const struct tw_json_value *manifest, *metadata;
	double total_ms, idle_ms;
	struct tw_facts facts;
	struct tw_facts causes[TW_IDLE_CAUSES];
	const struct tw_level *level; /* NULL: not known */
	const struct tw_level *cause_levels[TW_IDLE_CAUSES];
	struct tw_system_findings findings;
	bool without_work; /* the GPU does nothing */
	bool failed;	   /* out of memory */
	struct tw_json json;
};

static double number(const struct tw_json_value *object, const char *key)
{
	return tw_json_number(tw_json_get(object, key));
}

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
}

static const struct tw_json_value *cause_in(const struct tw_json_value *data,
					    enum tw_idle_cause cause)
{
	return tw_json_get(tw_json_get(data, "causes"), tw_idle_cause_known[cause].key);
}

static const struct tw_json_value *cause_of(const struct work *w, enum tw_idle_cause cause)
{
	return cause_in(w->data, cause);
}

/* ---- what was read */

static bool is_amount(const struct tw_json_value *object, const char *key)
{
	return number(object, key) >= 0;
}

static bool is_sound(const struct tw_json_value *data, const char **where)
{
	const struct tw_json_value *idle = tw_json_get(data, "idle_analysis");
	int i;

	*where = "idle_analysis";
	if (!is_amount(idle, "total_time_us") || !is_amount(idle, "idle_time_us"))
		return false;
	for (i = 0; i < TW_IDLE_CAUSES; i++) {
		*where = tw_idle_cause_known[i].key;
		if (!is_amount(cause_in(data, i), "count") ||
		    !is_amount(cause_in(data, i), "total_time_us"))
			return false;
	}
	return true;
}

/* ---- facts and severities */

static double yes_or_no(const struct tw_json_value *object, const char *key)
{
	return tw_json_true(tw_json_get(object, key));
}

/* Whether the host was recorded: by the manifest, else by what stands at the largest gaps. */
static bool is_host_recorded(const struct work *w)
{
	const struct tw_json_value *recorded = tw_json_get(w->manifest, "recorded"), *gap;

	if (number(recorded, "operations") > 0 || number(recorded, "runtime_calls") > 0)
		return true;
	for (gap = tw_json_get(w->data, "largest_gaps")->first; gap; gap = gap->next)
		if (!tw_json_is_null(tw_json_get(gap, "launch_call")) ||
		    !tw_json_is_null(tw_json_get(gap, "operation")))
			return true;
	return false;
}

static void add_named(struct tw_str *out, const char *before, const struct tw_json_value *gap,
		      const char *key)
{
	const char *name = tw_json_text(tw_json_get(gap, key));
	struct tw_str cut;

	if (!*name)
		return;
	tw_str_init(&cut, out->allocator);
	tw_str_add_cstr(&cut, name);
	tw_md_cut(&cut, NAME_WIDTH);
	tw_str_add_cstr(out, before);
	tw_str_add(out, cut.ptr, cut.len);
	out->failed |= cut.failed;
	tw_str_release(&cut);
}

/* Where the largest gap is and what runs in it, in the arena; NULL: not told or out of memory. */
static const char *place_of(struct work *w, const struct tw_json_value *gap)
{
	const char *copy = NULL;
	struct tw_str text;

	if (tw_json_is_null(gap))
		return NULL;
	tw_str_init(&text, w->prepared->allocator);
	tw_str_add_cstr(&text, ". The largest begins at ");
	tw_md_number(&text, tw_json_get(gap, "start_us"), " µs");
	if (!tw_json_is_null(tw_json_get(gap, "running_call"))) {
		add_named(&text, "; most of it is the host call ", gap, "running_call");
		tw_str_add_cstr(&text, " (");
		tw_md_number(&text, tw_json_get(gap, "running_call_us"), " µs)");
		add_named(&text, " in ", gap, "running_operation");
		add_named(&text, " in ", gap, "running_python_function");
	} else if (!tw_json_is_null(tw_json_get(gap, "running_operation"))) {
		add_named(&text, "; for most of it the host is in ", gap, "running_operation");
		add_named(&text, " in ", gap, "running_python_function");
	} else {
		add_named(&text, "; for most of it the host is in ", gap,
			  "running_python_function");
	}
	if (!text.failed)
		copy = tw_arena_copy(&w->prepared->arena, text.ptr, text.len);
	w->failed |= !copy;
	tw_str_release(&text);
	return copy;
}

static void judge_largest(double *fact, const struct tw_json_value *cause)
{
	const struct tw_json_value *gap = tw_json_get(cause, "largest_gap");

	fact[TW_FACT_idle_most_gaps] = number(cause, "gaps_of_80_percent");
	fact[TW_FACT_idle_largest_ms] = number(cause, "largest_us") / 1000;
	fact[TW_FACT_idle_largest_percent] = number(cause, "largest_percent");
	if (tw_json_is_null(gap))
		return;
	fact[TW_FACT_gap_at_edge] = yes_or_no(gap, "at_edge");
	fact[TW_FACT_gap_call_ms] = number(gap, "running_call_us") / 1000;
	fact[TW_FACT_gap_call_launches] = yes_or_no(gap, "running_call_launches");
}

/* How the idle time is spread over gaps, and what follows from that. */
static void tell_gaps(struct work *w, struct tw_system_finding *finding,
		      const struct tw_json_value *cause)
{
	finding->more = tw_rule_next("cpu_idle_gaps", &finding->facts, NULL);
	finding->advice = tw_rule_next("cpu_idle_gap_advice", &finding->facts, NULL);
	if (tw_level_is_yes("few_gaps", &finding->facts))
		finding->place = place_of(w, tw_json_get(cause, "largest_gap"));
}

static void judge_cause(struct work *w, enum tw_idle_cause cause)
{
	const struct tw_json_value *json = cause_of(w, cause),
				   *kernels = tw_json_get(w->data, "kernel_analysis");
	struct tw_facts *facts = &w->causes[cause];
	double *fact = facts->value;
	double count = number(json, "count"), time_us = number(json, "total_time_us");
	struct tw_system_finding *finding;
	struct tw_facts share;

	tw_facts_init(facts);
	tw_facts_init(&share);
	judge_largest(fact, json);
	fact[TW_FACT_host_recorded] = is_host_recorded(w);
	fact[TW_FACT_idle_gaps] = count;
	fact[TW_FACT_idle_ms] = time_us / 1000;
	fact[TW_FACT_idle_gap_us] = count > 0 ? time_us / count : (double)NAN;
	fact[TW_FACT_idle_cause_percent] = percent_of(time_us, w->total_ms * 1000);
	fact[TW_FACT_short_kernel_percent] = number(kernels, "short_kernel_percent");
	fact[TW_FACT_short_kernel_us] = number(kernels, "short_kernel_threshold_us");
	share.value[TW_FACT_idle_percent] = fact[TW_FACT_idle_cause_percent];
	w->cause_levels[cause] = tw_level_of("idle", &share);
	finding = tw_system_findings_add(&w->findings, &areas[cause], w->cause_levels[cause], facts,
					 w->total_ms);
	if (finding)
		tell_gaps(w, finding, json);
}

static void judge(struct work *w)
{
	const struct tw_json_value *idle = tw_json_get(w->data, "idle_analysis"),
				   *gpu = tw_json_get(w->manifest, "gpu_utilization");
	int i;

	tw_facts_init(&w->facts);
	if (w->data) {
		w->total_ms = number(idle, "total_time_us") / 1000;
		w->idle_ms = number(idle, "idle_time_us") / 1000;
		w->facts.value[TW_FACT_idle_percent] =
			percent_of(number(idle, "idle_time_us"), number(idle, "total_time_us"));
	} else {
		w->total_ms = number(gpu, "total_time_ms");
		w->facts.value[TW_FACT_idle_percent] = number(gpu, "idle_time_percent");
		w->idle_ms = number(gpu, "idle_time_ms");
		if (isnan(w->idle_ms))
			w->idle_ms = w->total_ms * number(gpu, "idle_time_percent") / 100;
	}
	if (!isnan(w->facts.value[TW_FACT_idle_percent]))
		w->level = tw_level_of("idle", &w->facts);
	for (i = 0; w->data && i < TW_IDLE_CAUSES; i++)
		judge_cause(w, i);
	w->without_work = w->data && !(w->total_ms > 0);
	for (i = 0; w->without_work && i < TW_IDLE_CAUSES; i++)
		w->cause_levels[i] = NULL;
}

/* ---- metrics */

/* A share of the whole: from the data, else from the manifest. */
static void add_share(struct work *w, const char *key, const char *time, const char *percent)
{
	double share = w->data ? percent_of(number(tw_json_get(w->data, "idle_analysis"), time),
					    w->total_ms * 1000) :
				 number(tw_json_get(w->manifest, "gpu_utilization"), percent);

	tw_field_real(&w->json, key, share, 2);
}

static void add_utilization(struct work *w)
{
	struct tw_json *json = &w->json;

	tw_json_key(json, "gpu_utilization");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_real(json, "total_time_ms", w->total_ms, 3);
	tw_field_real(json, "idle_time_ms", w->idle_ms, 3);
	tw_field_real(json, "idle_time_percent", w->facts.value[TW_FACT_idle_percent], 2);
	add_share(w, "computation_percent", "computation_time_us", "computation_time_percent");
	add_share(w, "communication_percent", "exposed_comm_time_us", "exposed_comm_time_percent");
	add_share(w, "memcpy_percent", "exposed_memcpy_time_us", "exposed_memcpy_time_percent");
	tw_json_end(json);
}

static void add_cause(struct work *w, enum tw_idle_cause cause)
{
	const struct tw_json_value *json = cause_of(w, cause);
	struct tw_json *out = &w->json;

	tw_json_key(out, tw_idle_cause_known[cause].key);
	tw_json_object(out, TW_JSON_LINES);
	tw_field_text(out, "title", tw_idle_cause_known[cause].title);
	tw_field_text(out, "meaning", tw_idle_cause_known[cause].meaning);
	tw_field_copy(out, "count", tw_json_get(json, "count"));
	tw_field_real(out, "time_ms", number(json, "total_time_us") / 1000, 3);
	tw_field_copy(out, "mean_us", tw_json_get(json, "mean_us"));
	tw_field_copy(out, "largest_us", tw_json_get(json, "largest_us"));
	tw_field_copy(out, "largest_percent", tw_json_get(json, "largest_percent"));
	tw_field_copy(out, "gaps_of_80_percent", tw_json_get(json, "gaps_of_80_percent"));
	tw_field_copy(out, "percent_of_idle", tw_json_get(json, "percent_of_idle"));
	tw_field_copy(out, "percent_of_total", tw_json_get(json, "percent_of_total"));
	tw_field_text(out, "severity",
		      w->cause_levels[cause] ? w->cause_levels[cause]->level : NULL);
	tw_field_real(out, "total_time_without_ms", number(json, "total_time_without_us") / 1000,
		      3);
	tw_field_real(out, "speedup_without", number(json, "speedup_without"), 2);
	tw_field_copy(out, "largest_gap", tw_json_get(json, "largest_gap"));
	tw_json_end(out);
}

static void add_metrics(struct work *w)
{
	static const char limits[] = TW_CPU_IDLE_DATA
		" is missing: the causes of idle time, its gaps and the kernels are not known; the "
		"severity is by the share of idle time alone";
	struct tw_json *json = &w->json;
	int i;

	tw_json_object(json, TW_JSON_LINES);
	tw_field_text(json, "category", "cpu_idle");
	tw_field_text(json, "display_name", TW_CPU_IDLE_TITLE);
	tw_field_text(json, "status", "OK");
	tw_field_text(json, "tier", "system");
	tw_field_text(json, "comparison_scope", "standalone");
	tw_field_copy(json, "platform", tw_json_get(w->metadata, "platform"));
	tw_field_text(json, "source", w->data ? TW_CPU_IDLE_DATA : TW_MANIFEST);
	tw_field_text(json, "limitations",
		      w->without_work ? TW_NO_GPU_WORK :
		      w->data	      ? NULL :
					limits);
	tw_field_text(json, "events",
		      tw_json_true(tw_json_get(w->manifest, "linked_only")) ? TW_LINKED_EVENTS :
									      TW_ALL_EVENTS);
	tw_field_real(json, "total_time_ms", w->total_ms, 3);
	tw_field_bool(json, "idle_flagged", tw_level_is_yes("idle_flagged", &w->facts));
	tw_field_bool(json, "cpu_idle_critical", tw_level_is_yes("cpu_idle_critical", &w->facts));
	tw_field_text(json, "severity", w->level ? w->level->level : NULL);
	add_utilization(w);
	tw_field_copy(json, "idle_analysis", tw_json_get(w->data, "idle_analysis"));
	tw_json_key(json, "causes");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; w->data && i < TW_IDLE_CAUSES; i++)
		add_cause(w, i);
	tw_json_end(json);
	tw_field_copy(json, "kernel_analysis", tw_json_get(w->data, "kernel_analysis"));
	tw_field_copy(json, "largest_gaps", tw_json_get(w->data, "largest_gaps"));
	tw_system_findings_json(json, &w->findings);
	tw_json_end(json);
	tw_json_finish(json);
}

static void make_metrics(const struct tw_system_source *source, struct tw_str *out)
{
	struct work w = {
		.prepared = source->prepared,
		.data = source->data,
		.manifest = source->manifest,
		.metadata = source->metadata,
	};

	judge(&w);
	tw_json_init(&w.json, out);
	add_metrics(&w);
	out->failed |= w.failed;
}

int tw_category_cpu_idle(struct tw_prepared *prepared, struct tw_category_result *result,
			 struct trawl_error *err)
{
	static const struct tw_system_analysis analysis = {
		"cpu_idle", TW_CPU_IDLE_TITLE, TW_CPU_IDLE_DATA,
		is_sound,   make_metrics,      tw_cpu_idle_markdown,
	};

	return tw_system_run(&analysis, prepared, result, err);
}
