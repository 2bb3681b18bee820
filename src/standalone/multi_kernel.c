/*
 * Memory copies, communication that blocks computing, and their overlap: severities by the
 * thresholds of the multi-kernel analysis, findings by its rules.  From multi_kernel_data.json, and
 * where that is missing from what the manifest tells of the timeline.
 */
#include "standalone/multi_kernel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of copies in each direction, and: */
enum { ALL_COPIES = TW_COPY_DIRECTIONS, BLOCKING, OVERLAP, AREAS };
_Static_assert(AREAS <= TW_MOST_SYSTEM_FINDINGS, "each area may have a finding");

static const struct tw_system_area areas[AREAS] = {
	[TW_COPY_D2H] = { "multi_kernel_d2h", "high_d2h_memcpy",
			  "Device-to-host (D2H) memory copies", TW_FACT_exposed_copy_ms, NULL },
	[TW_COPY_H2D] = { "multi_kernel_h2d", "high_h2d_memcpy",
			  "Host-to-device (H2D) memory copies", TW_FACT_exposed_copy_ms, NULL },
	[TW_COPY_D2D] = { "multi_kernel_d2d", "high_d2d_memcpy",
			  "Device-to-device (D2D) memory copies", TW_FACT_exposed_copy_ms, NULL },
	[TW_COPY_OTHER] = { "multi_kernel_other", "high_other_memcpy",
			    "Memory copies without a recorded direction", TW_FACT_exposed_copy_ms,
			    NULL },
	[ALL_COPIES] = { "multi_kernel_memcpy", "high_memcpy", "Memory copies that nothing hides",
			 TW_FACT_exposed_copy_ms, NULL },
	[BLOCKING] = { "multi_kernel_blocking", "nccl_blocking_compute",
		       "Communication blocks compute", TW_FACT_comm_gain_ms, NULL },
	[OVERLAP] = { "multi_kernel_overlap", "poor_comm_compute_overlap",
		      "Poor compute/communication overlap", TW_FACT_hideable_ms,
		      "nccl_blocking_compute" },
};

struct direction {
	const struct tw_json_value *json; /* null: none of that kind */
	struct tw_facts facts;
	const struct tw_level *by_time, *by_count, *level;
};

struct work {
	struct tw_prepared *prepared;
	const struct tw_json_value *data; /* NULL: the manifest alone */
	const struct tw_json_value *manifest, *metadata;
	double total_ms;
	struct direction directions[TW_COPY_DIRECTIONS];
	struct tw_facts copies, communication;
	const struct tw_level *copies_level, *blocking, *overlap; /* NULL: not known */
	bool overlap_judged;
	bool without_work; /* the GPU does nothing */
	bool failed;	   /* out of memory */
	struct tw_system_findings findings;
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

/* ---- what was read */

/* A number that must be there, or may be null: not negative, not text. */
static bool is_amount(const struct tw_json_value *object, const char *key, bool needed)
{
	const struct tw_json_value *value = tw_json_get(object, key);

	if (tw_json_is_null(value))
		return !needed;
	return value->type == TW_JSON_NUMBER && value->number >= 0;
}

static bool is_sound(const struct tw_json_value *data, const char **where)
{
	static const char *const times[] = { "total_time_us",	     "computation_time_us",
					     "total_comm_time_us",   "exposed_comm_time_us",
					     "total_memcpy_time_us", "exposed_memcpy_time_us" };
	static const char *const parts[] = { "memcpy_summary", "nccl_summary", "overlap_analysis" };
	const struct tw_json_value *overlap = tw_json_get(data, "overlap_analysis"), *directions,
				   *d;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		*where = parts[i];
		if (tw_json_get(data, parts[i])->type != TW_JSON_OBJECT)
			return false;
	}
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		*where = times[i];
		if (!is_amount(overlap, times[i], true))
			return false;
	}
	*where = "comm_overlap_ratio";
	if (!is_amount(overlap, *where, false))
		return false;
	directions = tw_json_get(tw_json_get(data, "memcpy_summary"), "by_direction");
	for (d = directions->first; d; d = d->next) {
		*where = "by_direction";
		if (!is_amount(d, "count", true) || !is_amount(d, "total_time_us", true))
			return false;
	}
	return true;
}

/* ---- facts and severities */

/* Levels of copies have the same names in all ladders. */
static const struct tw_level *worse(const struct tw_level *a, const struct tw_level *b)
{
	return tw_level_rank("memcpy_time", b->level) < tw_level_rank("memcpy_time", a->level) ? b :
												 a;
}

/* Who asked for most of the copies, in the arena; NULL: not told, or out of memory. */
static const char *lead_of(struct work *w, const struct tw_json_value *caller)
{
	const char *operation = tw_json_text(tw_json_get(caller, "operation"));
	const char *python = tw_json_text(tw_json_get(caller, "python")), *copy = NULL;
	struct tw_str text;

	if (!*operation)
		return NULL;
	tw_str_init(&text, w->prepared->allocator);
	tw_str_addf(&text, "Begin with %s", operation);
	if (*python)
		tw_str_addf(&text, " in %s", python);
	tw_system_number(&text, ", which asks for ", tw_json_get(caller, "count"), " of them: ");
	if (!text.failed)
		copy = tw_arena_copy(&w->prepared->arena, text.ptr, text.len);
	w->failed |= !copy;
	tw_str_release(&text);
	return copy;
}

static void judge_direction(struct work *w, enum tw_copy_direction which)
{
	struct direction *d = &w->directions[which];
	double *fact = d->facts.value;
	struct tw_system_finding *finding = NULL;
	double count, time_us;

	tw_facts_init(&d->facts);
	d->json = tw_json_get(tw_json_get(tw_json_get(w->data, "memcpy_summary"), "by_direction"),
			      tw_copy_direction_names[which]);
	count = tw_json_is_null(d->json) ? 0 : number(d->json, "count");
	time_us = tw_json_is_null(d->json) ? 0 : number(d->json, "total_time_us");
	fact[TW_FACT_copy_count] = count;
	fact[TW_FACT_copy_ms] = time_us / 1000;
	fact[TW_FACT_memcpy_percent] = percent_of(time_us, w->total_ms * 1000);
	fact[TW_FACT_exposed_copy_ms] = number(d->json, "exposed_time_us") / 1000;
	fact[TW_FACT_copy_mean_us] = count > 0 ? time_us / count : (double)NAN;
	fact[TW_FACT_copy_mean_bytes] = number(d->json, "avg_bytes");
	d->by_time = tw_level_of("memcpy_time", &d->facts);
	/* Between host and device each copy costs both; within devices many are less of a fault. */
	d->by_count = tw_level_of(which == TW_COPY_D2H || which == TW_COPY_H2D ?
					  "memcpy_count" :
					  "memcpy_count_within",
				  &d->facts);
	d->level = worse(d->by_time, d->by_count);
	if (count > 0)
		finding = tw_system_findings_add(&w->findings, &areas[which], d->level, &d->facts,
						 w->total_ms);
	if (finding)
		finding->lead = lead_of(w, tw_json_get(d->json, "callers")->first);
}

static void judge_copies(struct work *w)
{
	const struct tw_json_value *overlap = tw_json_get(w->data, "overlap_analysis");
	double *fact = w->copies.value;
	double most = 0;
	int i;

	for (i = 0; i < TW_COPY_DIRECTIONS; i++) {
		judge_direction(w, i);
		if (w->directions[i].facts.value[TW_FACT_copy_count] > most)
			most = w->directions[i].facts.value[TW_FACT_copy_count];
	}
	fact[TW_FACT_copy_count] = most;
	fact[TW_FACT_copy_ms] = number(overlap, "total_memcpy_time_us") / 1000;
	fact[TW_FACT_exposed_copy_ms] = number(overlap, "exposed_memcpy_time_us") / 1000;
	fact[TW_FACT_memcpy_percent] =
		percent_of(number(overlap, "total_memcpy_time_us"), w->total_ms * 1000);
	w->copies_level = tw_level_of("memcpy_time", &w->copies);
	for (i = 0; i < TW_COPY_DIRECTIONS; i++)
		w->copies_level = worse(w->copies_level, w->directions[i].by_count);
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* What is exposed beyond the share that a good overlap leaves exposed. */
static double beyond_target_ms(double comm_ms, double exposed_ms)
{
	double left = (1 - tw_level_bound("comm_overlap", "MEDIUM")) * comm_ms;

	return exposed_ms > left ? exposed_ms - left : 0;
}

/* Communication can hide only behind computing that has none beside it yet. */
static void judge_gain(double *fact, double free_ms)
{
	double exposed_ms = fact[TW_FACT_exposed_comm_ms];

	fact[TW_FACT_free_compute_ms] = free_ms > 0 ? free_ms : 0;
	fact[TW_FACT_comm_gain_ms] = smaller(exposed_ms, fact[TW_FACT_free_compute_ms]);
	fact[TW_FACT_comm_rest_ms] = exposed_ms - fact[TW_FACT_comm_gain_ms];
}

static void add_blocking(struct work *w)
{
	w->blocking = tw_level_of("comm_blocking", &w->communication);
	tw_system_findings_add(&w->findings, &areas[BLOCKING], w->blocking, &w->communication,
			       w->total_ms);
}

static void judge_communication(struct work *w)
{
	const struct tw_json_value *overlap = tw_json_get(w->data, "overlap_analysis");
	double comm_ms = number(overlap, "total_comm_time_us") / 1000;
	double exposed_ms = number(overlap, "exposed_comm_time_us") / 1000;
	double ratio = number(overlap, "comm_overlap_ratio");
	double *fact = w->communication.value;

	if (isnan(ratio) && comm_ms > 0)
		ratio = (comm_ms - exposed_ms) / comm_ms;
	fact[TW_FACT_comm_ms] = comm_ms;
	fact[TW_FACT_exposed_comm_ms] = exposed_ms;
	fact[TW_FACT_exposed_comm_percent] = percent_of(exposed_ms, w->total_ms);
	fact[TW_FACT_overlap_ratio] = ratio;
	fact[TW_FACT_overlap_percent] = 100 * ratio;
	judge_gain(fact, number(overlap, "computation_time_us") / 1000 - (comm_ms - exposed_ms));
	fact[TW_FACT_hideable_ms] =
		smaller(beyond_target_ms(comm_ms, exposed_ms), fact[TW_FACT_free_compute_ms]);
	fact[TW_FACT_gradient_buckets] =
		tw_json_true(tw_json_get(tw_json_get(w->data, "nccl_summary"), "gradient_buckets"));
	w->overlap = tw_level_of("comm_overlap", &w->communication);
	w->overlap_judged = tw_level_is_yes("overlap_judged", &w->communication);
	add_blocking(w);
	if (w->overlap_judged)
		tw_system_findings_add(&w->findings, &areas[OVERLAP], w->overlap, &w->communication,
				       w->total_ms);
}

/* Without the data: exposed times are at most the times, so severities may be too mild. */
static void judge_manifest(struct work *w)
{
	const struct tw_json_value *gpu = tw_json_get(w->manifest, "gpu_utilization");
	double copies = number(gpu, "exposed_memcpy_time_percent");
	double communication = number(gpu, "exposed_comm_time_percent");

	w->copies.value[TW_FACT_memcpy_percent] = copies;
	w->copies.value[TW_FACT_exposed_copy_ms] = copies * w->total_ms / 100;
	w->communication.value[TW_FACT_exposed_comm_percent] = communication;
	w->communication.value[TW_FACT_exposed_comm_ms] = communication * w->total_ms / 100;
	judge_gain(w->communication.value,
		   number(gpu, "computation_time_percent") * w->total_ms / 100);
	w->communication.value[TW_FACT_gradient_buckets] = 0;
	if (!isnan(copies)) {
		w->copies_level = tw_level_of("memcpy_time", &w->copies);
		tw_system_findings_add(&w->findings, &areas[ALL_COPIES], w->copies_level,
				       &w->copies, w->total_ms);
	}
	if (!isnan(communication))
		add_blocking(w);
}

/* Of nothing nothing is acceptable or not. */
static void forget_levels(struct work *w)
{
	int i;

	w->copies_level = w->blocking = w->overlap = NULL;
	for (i = 0; i < TW_COPY_DIRECTIONS; i++)
		w->directions[i].by_time = w->directions[i].by_count = w->directions[i].level =
			NULL;
}

static void judge(struct work *w)
{
	tw_facts_init(&w->copies);
	tw_facts_init(&w->communication);
	if (!w->data) {
		w->total_ms = number(tw_json_get(w->manifest, "gpu_utilization"), "total_time_ms");
		judge_manifest(w);
		return;
	}
	w->total_ms = number(tw_json_get(w->data, "overlap_analysis"), "total_time_us") / 1000;
	judge_copies(w);
	judge_communication(w);
	w->without_work = !(w->total_ms > 0);
	if (w->without_work)
		forget_levels(w);
}

/* ---- metrics */

static void add_level(struct tw_json *json, const char *key, const struct tw_level *level)
{
	tw_field_text(json, key, level ? level->level : NULL);
}

/* Worth telling: MEDIUM or worse. */
static bool is_flagged(const struct tw_level *level)
{
	return level &&
	       tw_level_rank(level->ladder, level->level) <= tw_level_rank(level->ladder, "MEDIUM");
}

static void add_root_cause(struct work *w, const struct direction *d, const char *scope)
{
	const struct tw_rule *rule = tw_rule_next(scope, &d->facts, NULL);
	struct tw_str text;

	tw_str_init(&text, w->prepared->allocator);
	if (!(d->facts.value[TW_FACT_copy_count] > 0))
		tw_str_add_cstr(&text, "No such transfers in this trace");
	else if (rule)
		tw_rule_text(&text, rule->issue, &d->facts);
	else
		tw_str_add_cstr(&text, "Few and short: below all thresholds that call for action");
	tw_field_text(&w->json, "root_cause", text.ptr);
	w->json.out->failed |= text.failed;
	tw_str_release(&text);
}

static void add_direction(struct work *w, enum tw_copy_direction which)
{
	const struct direction *d = &w->directions[which];
	struct tw_json *json = &w->json;

	tw_json_key(json, tw_copy_direction_names[which]);
	tw_json_object(json, TW_JSON_LINES);
	tw_field_real(json, "count", d->facts.value[TW_FACT_copy_count], 0);
	tw_field_real(json, "time_ms", d->facts.value[TW_FACT_copy_ms], 3);
	tw_field_real(json, "percent_of_total", d->facts.value[TW_FACT_memcpy_percent], 2);
	tw_field_real(json, "exposed_time_ms", d->facts.value[TW_FACT_exposed_copy_ms], 3);
	tw_field_real(json, "avg_bytes", d->facts.value[TW_FACT_copy_mean_bytes], 2);
	add_level(json, "time_severity", d->by_time);
	add_level(json, "count_severity", d->by_count);
	add_level(json, "severity", d->level);
	tw_field_bool(json, "flagged", is_flagged(d->level));
	add_root_cause(w, d, areas[which].scope);
	tw_field_copy(json, "caller_count", tw_json_get(d->json, "caller_count"));
	tw_field_copy(json, "callers", tw_json_get(d->json, "callers"));
	tw_json_end(json);
}

static void add_copies(struct work *w)
{
	const struct tw_json_value *summary = tw_json_get(w->data, "memcpy_summary");
	struct tw_json *json = &w->json;
	int i;

	tw_json_key(json, "memcpy_summary");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_real(json, "total_count", number(summary, "total_count"), 0);
	tw_field_real(json, "total_time_ms", number(summary, "total_time_us") / 1000, 3);
	tw_field_copy(json, "by_direction", tw_json_get(summary, "by_direction"));
	tw_json_end(json);
	tw_json_key(json, "memcpy_assessment");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_bool(json, "flagged", is_flagged(w->copies_level));
	add_level(json, "severity", w->copies_level);
	tw_field_real(json, "total_count", number(summary, "total_count"), 0);
	tw_field_real(json, "total_time_ms", number(summary, "total_time_us") / 1000, 3);
	tw_field_real(json, "percent_of_total", w->copies.value[TW_FACT_memcpy_percent], 2);
	tw_field_real(json, "exposed_time_ms", w->copies.value[TW_FACT_exposed_copy_ms], 3);
	tw_json_key(json, "directions");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; w->data && i < TW_COPY_DIRECTIONS; i++)
		add_direction(w, i);
	tw_json_end(json);
	tw_json_key(json, "issues");
	tw_json_array(json, TW_JSON_INLINE);
	for (i = 0; w->data && i < TW_COPY_DIRECTIONS; i++)
		if (is_flagged(w->directions[i].level))
			tw_json_cstr(json, areas[i].id);
	tw_json_end(json);
	tw_json_end(json);
}

static void add_communication(struct work *w)
{
	const struct tw_json_value *summary = tw_json_get(w->data, "nccl_summary");
	const double *fact = w->communication.value;
	struct tw_json *json = &w->json;

	tw_json_key(json, "nccl_summary");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_real(json, "total_count", number(summary, "total_count"), 0);
	tw_field_real(json, "total_time_ms", number(summary, "total_time_us") / 1000, 3);
	tw_field_copy(json, "top_ops", tw_json_get(summary, "top_ops"));
	tw_json_end(json);
	tw_json_key(json, "nccl_blocking_assessment");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_bool(json, "flagged", is_flagged(w->blocking));
	add_level(json, "severity", w->blocking);
	tw_field_real(json, "exposed_comm_time_ms", fact[TW_FACT_exposed_comm_ms], 3);
	tw_field_real(json, "total_comm_time_ms", fact[TW_FACT_comm_ms], 3);
	tw_field_real(json, "percent_of_total", fact[TW_FACT_exposed_comm_percent], 2);
	tw_field_real(json, "recoverable_ms", fact[TW_FACT_comm_gain_ms], 3);
	if (w->data && !(fact[TW_FACT_comm_ms] > 0))
		tw_field_text(json, "details", "No communication events detected");
	else if (!w->data && !is_flagged(w->blocking))
		tw_field_text(json, "details",
			      "How much communication there is, and how much of it is hidden, is "
			      "not known");
	else
		tw_field_text(json, "details", w->blocking ? w->blocking->text : NULL);
	tw_json_end(json);
}

static void add_overlap(struct work *w)
{
	const double *fact = w->communication.value;
	bool any = fact[TW_FACT_comm_ms] > 0;
	struct tw_json *json = &w->json;

	tw_field_copy(json, "overlap_analysis", tw_json_get(w->data, "overlap_analysis"));
	tw_json_key(json, "overlap_assessment");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_bool(json, "flagged", w->overlap_judged && is_flagged(w->overlap));
	add_level(json, "severity", w->overlap);
	tw_field_real(json, "overlap_ratio", fact[TW_FACT_overlap_ratio], 4);
	tw_field_real(json, "overlap_percent", fact[TW_FACT_overlap_percent], 2);
	tw_field_real(json, "target_percent", 100 * tw_level_bound("comm_overlap", "MEDIUM"), 2);
	tw_field_real(json, "free_computation_ms", fact[TW_FACT_free_compute_ms], 3);
	tw_field_real(json, "hideable_ms", fact[TW_FACT_hideable_ms], 3);
	tw_field_real(json, "hideable_percent_of_total",
		      percent_of(fact[TW_FACT_hideable_ms], w->total_ms), 2);
	if (any && !w->overlap_judged)
		tw_field_text(json, "details",
			      "Insufficient communication data for overlap analysis");
	else
		tw_field_text(json, "details", w->overlap ? w->overlap->text : NULL);
	tw_json_end(json);
}

/* ---- cross validation: the sweep's figures against the timeline's */

struct check {
	const char *metric, *data_key, *manifest_key;
};

static const struct check checks[] = {
	{ "Computation time", "computation_time_us", "computation_time" },
	{ "Exposed communication time", "exposed_comm_time_us", "exposed_comm_time" },
	{ "Exposed memcpy time", "exposed_memcpy_time_us", "exposed_memcpy_time" },
	{ "Total GPU time", "total_time_us", "total_time" },
};

/* A time of the manifest in ms: told, or by its share of the whole. */
static double manifest_ms(const struct work *w, const struct check *check)
{
	const struct tw_json_value *gpu = tw_json_get(w->manifest, "gpu_utilization");
	char key[64];
	double ms;

	snprintf(key, sizeof(key), "%s_ms", check->manifest_key);
	ms = number(gpu, key);
	if (!isnan(ms))
		return ms;
	snprintf(key, sizeof(key), "%s_percent", check->manifest_key);
	return number(gpu, key) * number(gpu, "total_time_ms") / 100;
}

/* Whether the manifest is what to compare with: it counts the same events. */
static bool counts_the_same(const struct work *w)
{
	const struct tw_json_value *own = tw_json_get(w->data, "gpu_timeline");

	return w->manifest &&
	       (tw_json_is_null(own) || tw_json_true(tw_json_get(own, "manifest_counts_the_same")));
}

static double timeline_ms(const struct work *w, const struct check *check)
{
	if (counts_the_same(w))
		return manifest_ms(w, check);
	return number(tw_json_get(w->data, "gpu_timeline"), check->data_key) / 1000;
}

static bool add_check(struct work *w, const struct check *check)
{
	double ours = number(tw_json_get(w->data, "overlap_analysis"), check->data_key) / 1000;
	double theirs = timeline_ms(w, check), larger = ours > theirs ? ours : theirs;
	const struct tw_level *level;
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_deviation_percent] = percent_of(fabs(ours - theirs), larger);
	level = tw_level_of("cross_validation", &facts);
	tw_json_object(&w->json, TW_JSON_INLINE);
	tw_field_text(&w->json, "metric", check->metric);
	tw_field_real(&w->json, "mk_ms", ours, 3);
	tw_field_real(&w->json, "tl_ms", theirs, 3);
	tw_field_real(&w->json, "diff_ms", fabs(ours - theirs), 3);
	tw_field_real(&w->json, "diff_pct", facts.value[TW_FACT_deviation_percent], 2);
	tw_field_text(&w->json, "status", isnan(theirs) ? "UNKNOWN" : level->level);
	tw_json_end(&w->json);
	return !strcmp(level->level, "WARN");
}

static void add_validation(struct work *w)
{
	size_t i, warned = 0;
	struct tw_json *json = &w->json;

	tw_json_key(json, "cross_validation");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_text(json, "compared_with",
		      !w->data		 ? NULL :
		      counts_the_same(w) ? "the timeline of the manifest" :
					   "a timeline of the same events; that of the manifest "
					   "is over others (--linked-only)");
	tw_json_key(json, "checks");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; w->data && i < sizeof(checks) / sizeof(checks[0]); i++)
		warned += add_check(w, &checks[i]);
	tw_json_end(json);
	tw_field_text(json, "status", !w->data ? NULL : warned ? "WARN" : "PASS");
	tw_json_end(json);
}

static void add_metrics(struct work *w)
{
	static const char limits[] = TW_MULTI_KERNEL_DATA
		" is missing: times of copies and communication that are "
		"hidden, numbers of copies, their directions and the "
		"overlap are not known; severities are by exposed time alone";
	struct tw_json *json = &w->json;

	tw_json_object(json, TW_JSON_LINES);
	tw_field_text(json, "category", "multi_kernel");
	tw_field_text(json, "display_name", "Multi-Kernel Issues");
	tw_field_text(json, "status", "SUCCESS");
	tw_field_text(json, "tier", "system");
	tw_field_text(json, "comparison_scope", "standalone");
	tw_field_copy(json, "platform", tw_json_get(w->metadata, "platform"));
	tw_field_text(json, "source", w->data ? TW_MULTI_KERNEL_DATA : TW_MANIFEST);
	tw_field_text(json, "limitations",
		      w->without_work ? TW_NO_GPU_WORK :
		      w->data	      ? NULL :
					limits);
	tw_field_text(json, "events",
		      !w->data && tw_json_true(tw_json_get(w->manifest, "linked_only")) ?
			      TW_LINKED_EVENTS :
			      TW_ALL_EVENTS);
	tw_field_real(json, "total_time_ms", w->total_ms, 3);
	add_copies(w);
	add_communication(w);
	add_overlap(w);
	add_validation(w);
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

int tw_category_multi_kernel(struct tw_prepared *prepared, struct tw_category_result *result,
			     struct trawl_error *err)
{
	static const struct tw_system_analysis analysis = {
		"multi_kernel", TW_MULTI_KERNEL_TITLE, TW_MULTI_KERNEL_DATA,
		is_sound,	make_metrics,	       tw_multi_kernel_markdown,
	};

	return tw_system_run(&analysis, prepared, result, err);
}
