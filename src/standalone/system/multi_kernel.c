/*
 * Memory copies, communication that blocks computing, and their overlap: severities by the
 * thresholds of the multi-kernel analysis, patterns by its rules.  Where what was prepared is missing, from
 * what the manifest tells of the timeline.  What a table or line tells and the trace does not is "n/a".
 */
#include "standalone/system/multi_kernel.h"

#include <math.h>
#include <string.h>

#define CALLERS 3

/* Of copies in each direction, and: */
enum { ALL_COPIES = TW_COPY_DIRECTIONS, BLOCKING, OVERLAP, AREAS };
_Static_assert(AREAS <= TW_MOST_PATTERNS, "each area may have a pattern");

static const struct tw_system_area areas[AREAS] = {
	[TW_COPY_D2H] = { "multi_kernel_d2h", "high_d2h_memcpy",
			  "Device-to-host (D2H) memory copies", TW_FACT_exposed_copy_ms,
			  "host_sync", NULL },
	[TW_COPY_H2D] = { "multi_kernel_h2d", "high_h2d_memcpy",
			  "Host-to-device (H2D) memory copies", TW_FACT_exposed_copy_ms,
			  "pageable_copy exposed_copy", NULL },
	[TW_COPY_D2D] = { "multi_kernel_d2d", "high_d2d_memcpy",
			  "Device-to-device (D2D) memory copies", TW_FACT_exposed_copy_ms,
			  "layout_copies", NULL },
	[TW_COPY_OTHER] = { "multi_kernel_other", "high_other_memcpy",
			    "Memory copies without a recorded direction", TW_FACT_exposed_copy_ms,
			    NULL, NULL },
	[ALL_COPIES] = { "multi_kernel_memcpy", "high_memcpy", "Memory copies that nothing hides",
			 TW_FACT_exposed_copy_ms, "exposed_copy pageable_copy", NULL },
	[BLOCKING] = { "multi_kernel_blocking", "nccl_blocking_compute",
		       "Communication blocks compute", TW_FACT_comm_gain_ms,
		       "exposed_communication", NULL },
	[OVERLAP] = { "multi_kernel_overlap", "poor_comm_compute_overlap",
		      "Poor compute/communication overlap", TW_FACT_hideable_ms,
		      "exposed_communication", "nccl_blocking_compute" },
};

/* ---- members of the metrics */

struct direction {
	double count, time_ms, percent_of_total, exposed_ms, mean_bytes, caller_count;
	const struct tw_level *by_time, *by_count, *level;
	bool flagged;
	const char *root_cause;
	TW_FIELD_LIST(struct tw_asker) callers;
	struct tw_facts facts;
};

struct check {
	const char *metric, *status;
	double ours_ms, theirs_ms, diff_ms, diff_percent;
};

enum { CHECKS = 4 };

struct metrics {
	struct tw_system system;
	const struct tw_multi_kernel *data; /* NULL: the manifest alone */
	const struct tw_manifest *manifest;
	struct direction *directions[TW_COPY_DIRECTIONS]; /* NULL: not known */
	TW_FIELD_LIST(const char *) issues;
	struct tw_facts copies, communication;
	const struct tw_level *copies_level, *blocking, *overlap; /* NULL: not known */
	double copy_count, copies_ms, comm_count, comm_ms, target_percent, hideable_percent;
	struct tw_copies_by_direction by_direction;
	TW_FIELD_LIST(struct tw_top_communication) top;
	const struct tw_overlap_times *times;
	bool copies_flagged, blocking_flagged, overlap_flagged, overlap_judged;
	const char *blocking_details, *overlap_details;
	const char *compared_with, *checks_status;
	TW_FIELD_LIST(struct check) checks;
};

#define F(kind, member, key, ...) TW_FIELD(struct direction, kind, member, key, __VA_ARGS__)
static const struct tw_member direction_fields[] = {
	F(REAL, count, "count"),
	F(REAL, time_ms, "time_ms", 3),
	F(REAL, percent_of_total, "percent_of_total", 2),
	F(REAL, exposed_ms, "exposed_time_ms", 3),
	F(REAL, mean_bytes, "avg_bytes", 2),
	F(LEVEL, by_time, "time_severity"),
	F(LEVEL, by_count, "count_severity"),
	F(LEVEL, level, "severity"),
	F(BOOL, flagged, "flagged"),
	F(PLAIN, root_cause, "root_cause"),
	F(REAL, caller_count, "caller_count"),
	F(LIST, callers, "callers", .of = &tw_asker_fields),
};
#undef F
static const struct tw_fields direction = TW_FIELDS(struct direction, direction_fields);

#define F(kind, member, key, ...) TW_FIELD(struct check, kind, member, key, __VA_ARGS__)
static const struct tw_member check_fields[] = {
	F(PLAIN, metric, "metric"),	      F(REAL, ours_ms, "mk_ms", 3),
	F(REAL, theirs_ms, "tl_ms", 3),	      F(REAL, diff_ms, "diff_ms", 3),
	F(REAL, diff_percent, "diff_pct", 2), F(PLAIN, status, "status"),
};
#undef F
static const struct tw_fields check = TW_FIELDS(struct check, check_fields, .inlined = true);

#define F(kind, member, key, ...) TW_FIELD(struct metrics, kind, member, key, __VA_ARGS__)
#define COPIES(fact, key, digits) F(REAL, copies.value[TW_FACT_##fact], key, digits)
#define COMM(fact, key, digits) F(REAL, communication.value[TW_FACT_##fact], key, digits)
#define PART(name) static const struct tw_fields name = TW_FIELDS(struct metrics, name##_fields)
static const struct tw_member directions_fields[] = {
	F(POINTER, directions[TW_COPY_D2H], "D2H", .of = &direction, .if_known = true),
	F(POINTER, directions[TW_COPY_H2D], "H2D", .of = &direction, .if_known = true),
	F(POINTER, directions[TW_COPY_D2D], "D2D", .of = &direction, .if_known = true),
	F(POINTER, directions[TW_COPY_OTHER], "other", .of = &direction, .if_known = true),
};
PART(directions);
static const struct tw_member memcpy_summary_fields[] = {
	F(REAL, copy_count, "total_count"),
	F(REAL, copies_ms, "total_time_ms", 3),
	F(STRUCT, by_direction, "by_direction", .of = &tw_copies_by_direction_fields),
};
PART(memcpy_summary);
static const struct tw_member memcpy_assessment_fields[] = {
	F(BOOL, copies_flagged, "flagged"),
	F(LEVEL, copies_level, "severity"),
	F(REAL, copy_count, "total_count"),
	F(REAL, copies_ms, "total_time_ms", 3),
	COPIES(memcpy_percent, "percent_of_total", 2),
	COPIES(exposed_copy_ms, "exposed_time_ms", 3),
	{ .key = "directions", .kind = TW_F_STRUCT, .of = &directions },
	F(TEXTS, issues, "issues", .inlined = true),
};
PART(memcpy_assessment);
static const struct tw_member nccl_summary_fields[] = {
	F(REAL, comm_count, "total_count"),
	F(REAL, comm_ms, "total_time_ms", 3),
	F(LIST, top, "top_ops", .of = &tw_top_communication_fields),
};
PART(nccl_summary);
static const struct tw_member blocking_fields[] = {
	F(BOOL, blocking_flagged, "flagged"),
	F(LEVEL, blocking, "severity"),
	COMM(exposed_comm_ms, "exposed_comm_time_ms", 3),
	COMM(comm_ms, "total_comm_time_ms", 3),
	COMM(exposed_comm_percent, "percent_of_total", 2),
	COMM(comm_gain_ms, "recoverable_ms", 3),
	F(TEXT, blocking_details, "details"),
};
PART(blocking);
static const struct tw_member overlap_fields[] = {
	F(BOOL, overlap_flagged, "flagged"),
	F(LEVEL, overlap, "severity"),
	COMM(overlap_ratio, "overlap_ratio", 4),
	COMM(overlap_percent, "overlap_percent", 2),
	F(REAL, target_percent, "target_percent", 2),
	COMM(free_compute_ms, "free_computation_ms", 3),
	COMM(hideable_ms, "hideable_ms", 3),
	F(REAL, hideable_percent, "hideable_percent_of_total", 2),
	F(TEXT, overlap_details, "details"),
};
PART(overlap);
static const struct tw_member validation_fields[] = {
	F(PLAIN, compared_with, "compared_with"),
	F(LIST, checks, "checks", .of = &check),
	F(PLAIN, checks_status, "status"),
};
PART(validation);
static const struct tw_member metrics_fields[] = {
	TW_SYSTEM_FIELDS(struct metrics, "Multi-Kernel Issues", "SUCCESS"),
	{ .key = "memcpy_summary", .kind = TW_F_STRUCT, .of = &memcpy_summary },
	{ .key = "memcpy_assessment", .kind = TW_F_STRUCT, .of = &memcpy_assessment },
	{ .key = "nccl_summary", .kind = TW_F_STRUCT, .of = &nccl_summary },
	{ .key = "nccl_blocking_assessment", .kind = TW_F_STRUCT, .of = &blocking },
	F(POINTER, times, "overlap_analysis", .of = &tw_overlap_times_fields),
	{ .key = "overlap_assessment", .kind = TW_F_STRUCT, .of = &overlap },
	{ .key = "cross_validation", .kind = TW_F_STRUCT, .of = &validation },
	TW_PATTERN_FIELDS(struct metrics),
};
#undef F
static const struct tw_fields metrics_of_all = TW_FIELDS(struct metrics, metrics_fields);

/* ---- facts and severities */

static double ms(int64_t ns)
{
	return ns == TRAWL_TIME_NONE ? (double)NAN : (double)ns / 1e6;
}

/* Levels of copies have the same names in all ladders. */
static const struct tw_level *worse(const struct tw_level *a, const struct tw_level *b)
{
	return tw_level_rank("memcpy_time", b->level) < tw_level_rank("memcpy_time", a->level) ? b :
												 a;
}

/* Worth telling: MEDIUM or worse. */
static bool is_flagged(const struct tw_level *level)
{
	return level &&
	       tw_level_rank(level->ladder, level->level) <= tw_level_rank(level->ladder, "MEDIUM");
}

static const char *root_cause(struct metrics *m, const struct direction *d, const char *scope)
{
	const struct tw_rule *rule = tw_rule_next(scope, &d->facts, NULL);
	struct tw_str text;

	if (!(d->count > 0))
		return "No such transfers in this trace";
	if (!rule)
		return "Few and short: below all thresholds that call for action";
	tw_str_init(&text, m->system.patterns.arena->allocator);
	tw_rule_text(&text, rule->issue, &d->facts);
	return tw_kept(m->system.patterns.arena, &text);
}

static void judge_direction(struct metrics *m, enum tw_copy_direction which)
{
	const struct tw_copies *copies = m->by_direction.of[which];
	struct direction *d = tw_arena_array(m->system.patterns.arena, 1, sizeof(*d));
	double *fact;

	m->directions[which] = d;
	if (!d)
		return;
	fact = d->facts.value;
	tw_facts_init(&d->facts);
	d->mean_bytes = d->exposed_ms = d->caller_count = NAN;
	if (copies) {
		d->count = (double)copies->count;
		d->time_ms = ms(copies->total_ns);
		d->exposed_ms = ms(copies->exposed_ns);
		d->mean_bytes = copies->mean_bytes;
		d->caller_count = copies->caller_count;
		d->callers.at = copies->callers.at;
		d->callers.count = copies->callers.count;
	}
	d->percent_of_total = tw_percent_of(d->time_ms, m->system.total_ms);
	fact[TW_FACT_copy_count] = d->count;
	fact[TW_FACT_copy_ms] = d->time_ms;
	fact[TW_FACT_memcpy_percent] = d->percent_of_total;
	fact[TW_FACT_exposed_copy_ms] = d->exposed_ms;
	fact[TW_FACT_copy_mean_us] = d->count > 0 ? d->time_ms * 1e3 / d->count : (double)NAN;
	fact[TW_FACT_copy_mean_bytes] = d->mean_bytes;
	d->by_time = tw_level_of("memcpy_time", &d->facts);
	/* Between host and device each copy costs both; within devices many are less of a fault. */
	d->by_count = tw_level_of(which == TW_COPY_D2H || which == TW_COPY_H2D ?
					  "memcpy_count" :
					  "memcpy_count_within",
				  &d->facts);
	d->level = worse(d->by_time, d->by_count);
	d->flagged = is_flagged(d->level);
	d->root_cause = root_cause(m, d, areas[which].scope);
	if (d->flagged && m->issues.at)
		m->issues.at[m->issues.count++] = areas[which].id;
	if (d->count > 0)
		tw_patterns_add(&m->system.patterns, &areas[which], d->level, &d->facts, NULL,
				NULL);
}

static void judge_copies(struct metrics *m)
{
	double *fact = m->copies.value, most = 0;
	int i;

	for (i = 0; i < TW_COPY_DIRECTIONS; i++) {
		judge_direction(m, i);
		if (!m->directions[i])
			return;
		most = fmax(most, m->directions[i]->count);
	}
	fact[TW_FACT_copy_count] = most;
	fact[TW_FACT_copy_ms] = ms(m->times->memcpy_ns);
	fact[TW_FACT_exposed_copy_ms] = ms(m->times->exposed_memcpy_ns);
	fact[TW_FACT_memcpy_percent] = tw_percent_of(ms(m->times->memcpy_ns), m->system.total_ms);
	m->copies_level = tw_level_of("memcpy_time", &m->copies);
	for (i = 0; i < TW_COPY_DIRECTIONS; i++)
		m->copies_level = worse(m->copies_level, m->directions[i]->by_count);
}

/* What is exposed beyond the share that a good overlap leaves exposed. */
static double beyond_target_ms(double comm_ms, double exposed_ms)
{
	return fmax(exposed_ms - (1 - tw_level_bound("comm_overlap", "MEDIUM")) * comm_ms, 0);
}

/* Communication can hide only behind computing that has none beside it yet. */
static void judge_gain(double *fact, double free_ms)
{
	double exposed_ms = fact[TW_FACT_exposed_comm_ms];

	fact[TW_FACT_free_compute_ms] = free_ms > 0 ? free_ms : 0;
	fact[TW_FACT_comm_gain_ms] = exposed_ms < fact[TW_FACT_free_compute_ms] ?
					     exposed_ms :
					     fact[TW_FACT_free_compute_ms];
	fact[TW_FACT_comm_rest_ms] = exposed_ms - fact[TW_FACT_comm_gain_ms];
}

static void add_blocking(struct metrics *m)
{
	m->blocking = tw_level_of("comm_blocking", &m->communication);
	tw_patterns_add(&m->system.patterns, &areas[BLOCKING], m->blocking, &m->communication, NULL,
			NULL);
}

static void judge_communication(struct metrics *m)
{
	double comm_ms = ms(m->times->comm_ns), exposed_ms = ms(m->times->exposed_comm_ns);
	double ratio = m->times->comm_ratio, *fact = m->communication.value;

	if (isnan(ratio) && comm_ms > 0)
		ratio = (comm_ms - exposed_ms) / comm_ms;
	fact[TW_FACT_comm_ms] = comm_ms;
	fact[TW_FACT_exposed_comm_ms] = exposed_ms;
	fact[TW_FACT_exposed_comm_percent] = tw_percent_of(exposed_ms, m->system.total_ms);
	fact[TW_FACT_overlap_ratio] = ratio;
	fact[TW_FACT_overlap_percent] = 100 * ratio;
	judge_gain(fact, ms(m->times->computation_ns) - (comm_ms - exposed_ms));
	fact[TW_FACT_hideable_ms] =
		fmin(beyond_target_ms(comm_ms, exposed_ms), fact[TW_FACT_free_compute_ms]);
	m->overlap = tw_level_of("comm_overlap", &m->communication);
	m->overlap_judged = tw_level_is_yes("overlap_judged", &m->communication);
	add_blocking(m);
	if (m->overlap_judged)
		tw_patterns_add(&m->system.patterns, &areas[OVERLAP], m->overlap, &m->communication,
				NULL, NULL);
}

/* Without the data: exposed times are at most the times, so severities may be too mild. */
static void judge_manifest(struct metrics *m)
{
	const double *percent = m->manifest->use.percent;
	double total_ms = m->system.total_ms, *fact = m->communication.value;

	m->copies.value[TW_FACT_memcpy_percent] = percent[TW_USE_MEMCPY];
	m->copies.value[TW_FACT_exposed_copy_ms] = percent[TW_USE_MEMCPY] * total_ms / 100;
	fact[TW_FACT_exposed_comm_percent] = percent[TW_USE_COMM];
	fact[TW_FACT_exposed_comm_ms] = percent[TW_USE_COMM] * total_ms / 100;
	judge_gain(fact, percent[TW_USE_COMPUTATION] * total_ms / 100);
	if (!isnan(percent[TW_USE_MEMCPY])) {
		m->copies_level = tw_level_of("memcpy_time", &m->copies);
		tw_patterns_add(&m->system.patterns, &areas[ALL_COPIES], m->copies_level,
				&m->copies, NULL, NULL);
	}
	if (!isnan(percent[TW_USE_COMM]))
		add_blocking(m);
}

/* Of nothing nothing is acceptable or not. */
static void forget_levels(struct metrics *m)
{
	int i;

	m->system.limitations = TW_NO_GPU_WORK;
	m->copies_level = m->blocking = m->overlap = NULL;
	for (i = 0; i < TW_COPY_DIRECTIONS && m->directions[i]; i++) {
		struct direction *d = m->directions[i];

		d->by_time = d->by_count = d->level = NULL;
	}
}

static void add_details(struct metrics *m)
{
	bool any = m->communication.value[TW_FACT_comm_ms] > 0;

	m->copies_flagged = is_flagged(m->copies_level);
	m->blocking_flagged = is_flagged(m->blocking);
	m->overlap_flagged = m->overlap_judged && is_flagged(m->overlap);
	m->target_percent = 100 * tw_level_bound("comm_overlap", "MEDIUM");
	m->hideable_percent =
		tw_percent_of(m->communication.value[TW_FACT_hideable_ms], m->system.total_ms);
	m->blocking_details = m->blocking ? m->blocking->text : NULL;
	m->overlap_details = m->overlap ? m->overlap->text : NULL;
	if (m->data && !any)
		m->blocking_details = "No communication events detected";
	else if (!m->data && !m->blocking_flagged)
		m->blocking_details = "How much communication there is, and how much of it is "
				      "hidden, is not known";
	if (any && !m->overlap_judged)
		m->overlap_details = "Insufficient communication data for overlap analysis";
}

/* ---- cross validation: the sweep's figures against the timeline's */

static void add_check(struct metrics *m, const char *metric, double ours, double theirs)
{
	double larger = ours > theirs ? ours : theirs;
	const struct tw_level *level;
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_deviation_percent] = tw_percent_of(fabs(ours - theirs), larger);
	level = tw_level_of("cross_validation", &facts);
	m->checks.at[m->checks.count++] = (struct check){
		metric,
		isnan(theirs) ? "UNKNOWN" : level->level,
		ours,
		theirs,
		fabs(ours - theirs),
		facts.value[TW_FACT_deviation_percent],
	};
	if (!strcmp(level->level, "WARN"))
		m->checks_status = "WARN";
}

/* Against the manifest where it counts the same events, else against the timeline that was kept. */
static void validate(struct metrics *m)
{
	const struct tw_overlap_times *o = m->times;
	const struct tw_checked_times *t = m->data->timeline;
	const struct tw_use *use =
		m->manifest && (!t || t->manifest_counts_the_same) ? &m->manifest->use : NULL;
	const struct {
		const char *metric;
		int64_t ours, own;
		enum tw_use_part part;
	} checks[CHECKS] = {
		{ "Computation time", o->computation_ns, t ? t->computation_ns : TRAWL_TIME_NONE,
		  TW_USE_COMPUTATION },
		{ "Exposed communication time", o->exposed_comm_ns,
		  t ? t->exposed_comm_ns : TRAWL_TIME_NONE, TW_USE_COMM },
		{ "Exposed memcpy time", o->exposed_memcpy_ns,
		  t ? t->exposed_memcpy_ns : TRAWL_TIME_NONE, TW_USE_MEMCPY },
		{ "Total GPU time", o->total_ns, t ? t->total_ns : TRAWL_TIME_NONE, TW_USE_TOTAL },
	};
	size_t i;

	m->checks.at = tw_arena_array(m->system.patterns.arena, CHECKS, sizeof(*m->checks.at));
	m->checks_status = "PASS";
	m->compared_with = use ? "the timeline of the manifest" :
				 "a timeline of the same events; that of the manifest is over "
				 "others (--linked-only)";
	for (i = 0; m->checks.at && i < CHECKS; i++)
		add_check(m, checks[i].metric, ms(checks[i].ours),
			  use ? tw_use_ms(use, checks[i].part) : ms(checks[i].own));
}

static void judge(struct metrics *m)
{
	struct tw_arena *arena = m->system.patterns.arena;

	tw_facts_init(&m->copies);
	tw_facts_init(&m->communication);
	m->copy_count = m->copies_ms = m->comm_count = m->comm_ms = NAN;
	if (!m->data) {
		m->system.total_ms = tw_use_ms(&m->manifest->use, TW_USE_TOTAL);
		m->system.patterns.total_ms = m->system.total_ms;
		judge_manifest(m);
		add_details(m);
		return;
	}
	m->times = &m->data->overlap;
	m->system.total_ms = ms(m->times->total_ns);
	m->system.patterns.total_ms = m->system.total_ms;
	m->copy_count = (double)m->data->copies.count;
	m->copies_ms = ms(m->data->copies.total_ns);
	m->comm_count = (double)m->data->communication.count;
	m->comm_ms = ms(m->data->communication.total_ns);
	m->by_direction = m->data->copies.by_direction;
	m->top.at = m->data->communication.top.at;
	m->top.count = m->data->communication.top.count;
	m->issues.at = tw_arena_array(arena, TW_COPY_DIRECTIONS, sizeof(*m->issues.at));
	judge_copies(m);
	judge_communication(m);
	if (!(m->system.total_ms > 0))
		forget_levels(m);
	add_details(m);
	validate(m);
}

/* ---- multi_kernel_findings.md: the template of the multi-kernel analysis */

struct page {
	struct tw_str *out;
	const struct metrics *m;
	const struct tw_findings_place *place;
};

static void fill(const struct page *p, const char *text)
{
	tw_fields_fill(p->out, text, &metrics_of_all, p->m);
}

static void heading(const struct page *p, unsigned level, const char *text)
{
	tw_findings_heading(p->out, p->place, level, text);
	if (level == 2 && !p->place->deeper)
		tw_str_add_char(p->out, '\n');
}

static void add_summary(const struct page *p)
{
#define DIRECTION(d)                                           \
	"| " d " Transfers | {memcpy_assessment.directions." d \
	".count} ({memcpy_assessment.directions." d            \
	".time_ms| ms}) | {memcpy_assessment.directions." d ".severity} |\n"
	heading(p, 2, "Summary");
	fill(p,
	     "| Metric | Value | Severity |\n|--------|-------|----------|\n"
	     "| Total Memcpy Events | {memcpy_assessment.total_count} | "
	     "{memcpy_assessment.severity} |\n" DIRECTION("D2H") DIRECTION(
		     "H2D") "| Exposed Communication | {nccl_blocking_assessment.percent_of_total|%} of total | "
			    "{nccl_blocking_assessment.severity} |\n"
			    "| Compute/Comm Overlap | {overlap_assessment.overlap_percent|%} | "
			    "{overlap_assessment.severity} |\n\n");
#undef DIRECTION
}

static void add_callers(const struct page *p, const struct direction *d)
{
	size_t i;

	for (i = 0; i < d->callers.count && i < CALLERS; i++) {
		const struct tw_asker *caller = &d->callers.at[i];

		tw_str_add_cstr(p->out, i ? "; " : ". Asked for by ");
		tw_fields_fill(p->out,
			       caller->operation ? "{operation:80}" :
						   "calls that were not recorded",
			       &tw_asker_fields, caller);
		if (caller->python)
			tw_fields_fill(p->out, " in {python:80}", &tw_asker_fields, caller);
		tw_fields_fill(p->out, " (count {count}, {total_time_us| us})", &tw_asker_fields,
			       caller);
	}
	tw_str_add_cstr(p->out, i < d->callers.count ? "; and others" : "");
}

static void add_direction(const struct page *p, enum tw_copy_direction which, const char *title)
{
	static const struct direction none = { .count = NAN,
					       .time_ms = NAN,
					       .percent_of_total = NAN };
	const struct direction *d = p->m->directions[which] ? p->m->directions[which] : &none;

	heading(p, 3, title);
	tw_fields_fill(p->out, "- **Count**: {count}", &direction, d);
	tw_str_add_cstr(p->out, d->count == 1 ? " transfer\n" : " transfers\n");
	tw_fields_fill(p->out,
		       "- **Total Time**: {time_ms| ms} ({percent_of_total|%} of total GPU time)\n"
		       "- **Assessment**: {severity}\n- **Root Cause**: {root_cause}",
		       &direction, d);
	add_callers(p, d);
	tw_str_add_cstr(p->out, "\n\n");
}

static void add_communication(const struct page *p)
{
	heading(p, 2, "Communication Blocking Analysis");
	heading(p, 3, "NCCL Blocking Compute");
	fill(p,
	     "- **Exposed Communication Time**: "
	     "{nccl_blocking_assessment.exposed_comm_time_ms| ms} "
	     "({nccl_blocking_assessment.percent_of_total|%} of total)\n"
	     "- **Total Communication Time**: {nccl_blocking_assessment.total_comm_time_ms| ms}\n"
	     "- **Assessment**: {nccl_blocking_assessment.severity}");
	if (p->m->blocking_details)
		fill(p, ": {nccl_blocking_assessment.details}");
	if (p->m->data && p->m->data->communication.gradient_buckets)
		tw_str_add_cstr(p->out, "\n- **Gradients**: communicated in buckets during the "
					"backward pass");
	fill(p, "\n- **Impact**: GPU compute blocked for "
		"{nccl_blocking_assessment.exposed_comm_time_ms| ms} due to non-overlapped "
		"communication\n\n");
	heading(p, 3, "Compute/Communication Overlap");
	fill(p, "- **Overlap Ratio**: {overlap_assessment.overlap_percent|%} (target > "
		"{overlap_assessment.target_percent|%})\n"
		"- **Assessment**: {overlap_assessment.severity}");
	if (p->m->overlap_details)
		fill(p, ": {overlap_assessment.details}");
	fill(p, "\n- **Impact**: ");
	if (isnan(p->m->communication.value[TW_FACT_overlap_percent]))
		tw_str_add_cstr(p->out, TW_MD_UNKNOWN "\n\n");
	else
		fill(p, "on the way to an overlap of {overlap_assessment.target_percent|%} at most "
			"{overlap_assessment.hideable_ms| ms} "
			"({overlap_assessment.hideable_percent_of_total|%} of total) can be "
			"hidden: {overlap_assessment.free_computation_ms| ms} of computing have no "
			"communication beside them yet\n\n");
}

static void add_tables(const struct page *p)
{
	static const char *const names[] = { "D2H", "H2D", "D2D", "other" };
	size_t i;

	heading(p, 2, "Technical Details");
	heading(p, 3, "Top Communication Operations");
	tw_str_add_cstr(p->out, "| Rank | Operation | Duration (us) | Stream |\n"
				"|------|-----------|---------------|--------|\n");
	if (!p->m->top.count)
		tw_str_add_cstr(p->out, "| n/a | none | n/a | n/a |\n");
	for (i = 0; i < p->m->top.count; i++) {
		tw_str_addf(p->out, "| %zu | ", i + 1);
		tw_fields_fill(p->out, "{name:80} | {duration_us} | {stream:80} |\n",
			       &tw_top_communication_fields, &p->m->top.at[i]);
	}
	tw_str_add_char(p->out, '\n');
	heading(p, 3, "Memory Copy Breakdown");
	tw_str_add_cstr(p->out, "| Direction | Count | Total Time (ms) | Avg Size | Severity |\n"
				"|-----------|-------|------------------|----------|----------|\n");
	for (i = 0; i < TW_COPY_DIRECTIONS; i++) {
		const struct direction *d = p->m->directions[i];

		/* The last one only where there are such. */
		if (i == TW_COPY_OTHER && !(d && d->count > 0))
			continue;
		tw_str_addf(p->out, "| %s | ", names[i]);
		if (d)
			tw_fields_fill(p->out,
				       "{count} | {time_ms} | {avg_bytes| bytes} | {severity} |\n",
				       &direction, d);
		else
			tw_str_add_cstr(p->out, "n/a | n/a | n/a | n/a |\n");
	}
}

static void add_validation(const struct page *p)
{
	size_t i;

	if (p->m->compared_with)
		fill(p, "\n**Cross-validation**: {cross_validation.status}, against "
			"{cross_validation.compared_with}.");
	if (p->m->compared_with)
		tw_str_add_cstr(p->out, p->place->deeper ? "  \n" : "\n");
	if (!p->m->checks_status || strcmp(p->m->checks_status, "WARN"))
		return;
	tw_str_add_cstr(p->out, "\n**Warning**: these figures and those of the timeline differ:");
	tw_str_add_cstr(p->out, p->place->deeper ? "  " : "");
	for (i = 0; i < p->m->checks.count; i++)
		if (!strcmp(p->m->checks.at[i].status, "WARN"))
			tw_fields_fill(p->out,
				       "\n- {metric}: {mk_ms| ms} here, {tl_ms| ms} there "
				       "({diff_pct|%})",
				       &check, &p->m->checks.at[i]);
	tw_str_add_char(p->out, '\n');
}

static void write_markdown(struct tw_str *out, const void *metrics,
			   const struct tw_findings_place *place)
{
	const struct page p = { out, metrics, place };

	tw_system_head(out, &p.m->system, TW_MULTI_KERNEL_TITLE, place);
	if (p.m->system.error)
		return;
	add_summary(&p);
	heading(&p, 2, "Memory Copy Analysis");
	add_direction(&p, TW_COPY_D2H, "D2H (Device-to-Host) Transfers");
	add_direction(&p, TW_COPY_H2D, "H2D (Host-to-Device) Transfers");
	add_communication(&p);
	tw_patterns_markdown(out, &p.m->system.patterns, place);
	add_tables(&p);
	add_validation(&p);
}

int tw_category_multi_kernel(struct tw_prepared *prepared, struct tw_category_result *result,
			     struct trawl_error *err)
{
	struct tw_system_source source = { .prepared = prepared, .data = prepared->multi_kernel };
	struct metrics *m = tw_arena_array(&prepared->arena, 1, sizeof(*m));

	*result = (struct tw_category_result){ .status = TW_CATEGORY_DONE,
					       .time_ms = NAN,
					       .percent_of_compute = NAN };
	if (!m)
		return tw_no_memory(err);
	m->system.name = "multi_kernel";
	if (tw_system_read(&source, "multi_kernel", TW_MULTI_KERNEL_DATA, &tw_multi_kernel_fields,
			   &m->system.error, err))
		return err->status;
	m->data = source.data;
	m->manifest = source.manifest;
	m->system.platform = source.platform;
	m->system.source = m->data ? TW_MULTI_KERNEL_DATA : TW_MANIFEST;
	if (!m->data)
		m->system.limitations = TW_MULTI_KERNEL_DATA
			" is missing: times of copies and communication that "
			"are hidden, numbers of copies, their directions and "
			"the overlap are not known; severities are by exposed "
			"time alone";
	m->system.events = !m->data && m->manifest && m->manifest->linked_only ? TW_LINKED_EVENTS :
										 TW_ALL_EVENTS;
	m->system.patterns.arena = &prepared->arena;
	m->system.patterns.findings = prepared->findings;
	if (!m->system.error)
		judge(m);
	if (m->times)
		result->time_ms = ms(m->times->comm_ns) + ms(m->times->memcpy_ns);
	return tw_system_write(prepared, "multi_kernel", &m->system, &metrics_of_all,
			       write_markdown, result, err);
}
