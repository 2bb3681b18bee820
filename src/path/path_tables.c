#include "path/path_tables.h"

#include "analysis/analysis.h"
#include "analysis/order.h"
#include "base/alloc.h"
#include "base/median.h"
#include "base/scope.h"

#include <math.h>
#include <string.h>

#define CLASS_VALUES                                                                      \
	"!compute|transfer|waiting for a rank|copy|launch latency|stream gap|host in an " \
	"operator|host between operators|data loading|allocator|pause|return of a "       \
	"synchronisation|unknown"

/* ---- what the path consists of */

enum { SUM_RANK, SUM_CLASS, SUM_MS, SUM_PERCENT, SUM_COUNT };

static const struct trawl_column summary_columns[] = {
	[SUM_RANK] = TW_INTEGER("rank", 8, "rank, empty where its number is not known"),
	[SUM_CLASS] =
		TW_TEXT("class", 28, "what the time is: docs/METRICS.md", .values = CLASS_VALUES),
	[SUM_MS] = TW_MS("ms", 12, "time on the critical path"),
	[SUM_PERCENT] = TW_PERCENT_2("%", 8, "share of the window"),
};

static const struct tw_table_spec summary_spec =
	TW_SPEC("critical_summary", "what the critical path consists of, by rank and class",
		summary_columns, .keep_empty = true, .in_order = true);

static void set_rank(struct trawl_table *t, size_t row, size_t column, const struct tw_path *path,
		     uint32_t rank)
{
	if (path->ranks[rank].rank >= 0)
		tw_table_set_integer(t, row, column, path->ranks[rank].rank);
}

static void add_summary_row(const struct tw_path_result *r, struct trawl_table *t, uint32_t rank,
			    enum tw_path_class class, int64_t ns)
{
	size_t row = tw_table_add_row(t);

	set_rank(t, row, SUM_RANK, r->path, rank);
	tw_table_set_str(t, row, SUM_CLASS, tw_path_class_name(class));
	tw_table_set_integer(t, row, SUM_MS, ns);
	tw_set_percent(t, row, SUM_PERCENT, (double)ns,
		       (double)r->critical.window.end_ns - (double)r->critical.window.start_ns);
}

static int fill_summary(const struct tw_path_result *r, struct trawl_table *t,
			const struct trawl_allocator *a)
{
	size_t n = (size_t)r->path->rank_count * TW_PATH_CLASSES, i;
	int64_t *sums = tw_alloc_array(a, n + 1, sizeof(*sums));
	bool *used = tw_alloc_array(a, n + 1, sizeof(*used));

	if (!sums || !used)
		return -1;
	for (i = 0; i < r->critical.segments.count; i++) {
		const struct tw_segment *s = &r->critical.segments.at[i];
		size_t at = (size_t)r->path->points[s->point].rank * TW_PATH_CLASSES + s->class;

		sums[at] += s->duration_ns;
		used[at] = true;
	}
	for (i = 0; i < n; i++)
		if (used[i])
			add_summary_row(r, t, (uint32_t)(i / TW_PATH_CLASSES),
					(enum tw_path_class)(i % TW_PATH_CLASSES), sums[i]);
	return 0;
}

/* ---- operators */

enum { OP_NAME, OP_SHAPES, OP_PATH, OP_TOTAL, OP_SLACK, OP_GAIN, OP_COUNT };

static const struct trawl_column op_columns[] = {
	[OP_NAME] = TW_TEXT("operator", 32, "operator that launched the GPU work, else the kernel"),
	[OP_SHAPES] = TW_TEXT("shapes", 32, "shapes of its inputs as recorded"),
	[OP_PATH] = TW_MS(TW_COL_PATH_MS, 14, "its GPU time on the critical path"),
	[OP_TOTAL] = TW_MS(TW_COL_OF_ALL_MS, 12, "its GPU time in the window, all ranks"),
	[OP_SLACK] = TW_US(
		"median slack (µs)", 14,
		"how much later its GPU work may end without a later end of the window, median"),
	[OP_GAIN] =
		TW_MS(TW_COL_GAIN_AT_10, 14,
		      "how much shorter the window is where this GPU work takes 10 % less, by "
		      "replay; empty where it was not computed: at most a tenth of ms on the path"),
};

static const struct tw_table_spec op_spec = TW_SPEC(
	"critical_ops", "GPU time of operators on the critical path, by operator and shapes",
	op_columns, .in_order = true);

static int fill_ops(const struct tw_path_result *r, struct trawl_table *t)
{
	uint32_t i;

	for (i = 0; i < r->ops.groups.count; i++) {
		const struct tw_path_op_sums *o = &r->sums[i];
		size_t row;

		if (!o->total_ns && !o->path_ns)
			continue;
		row = tw_table_add_row(t);
		tw_table_set_str(t, row, OP_NAME, tw_path_op_name(&r->ops, o->op));
		tw_table_set_str(t, row, OP_SHAPES, tw_path_op_shapes(&r->ops, o->op));
		tw_table_set_integer(t, row, OP_PATH, o->path_ns);
		tw_table_set_integer(t, row, OP_TOTAL, o->total_ns);
		if (o->slack_ns != TW_NO_SLACK)
			tw_table_set_integer(t, row, OP_SLACK, o->slack_ns);
		if (o->gain_ns != INT64_MIN)
			tw_table_set_integer(t, row, OP_GAIN, o->gain_ns);
	}
	return 0;
}

/* ---- scenarios */

enum {
	IF_SCENARIO,
	IF_KIND,
	IF_BEFORE,
	IF_AFTER,
	IF_GAIN,
	IF_PERCENT,
	IF_INFERRED,
	IF_NOTE,
	IF_COUNT
};

static const struct trawl_column if_columns[] = {
	[IF_SCENARIO] = TW_TEXT("scenario", 32, "what changes"),
	[IF_KIND] = TW_TEXT("kind", 12, "bound, straggler, roofline, or asked by options",
			    .values = "!bound|straggler|roofline|asked"),
	[IF_BEFORE] = TW_MS(TW_COL_BEFORE_MS, 12, "the window as recorded"),
	[IF_AFTER] = TW_MS(TW_COL_AFTER_MS, 12, "the window in the scenario"),
	[IF_GAIN] = TW_MS(TW_COL_WHAT_IF_GAIN_MS, 12, "how much shorter it is"),
	[IF_PERCENT] =
		TW_PERCENT_2(TW_COL_WHAT_IF_GAIN_PERCENT, 10, "gain, of the window as recorded"),
	[IF_INFERRED] = TW_PERCENT_2("inferred (%)", 10,
				     "share of the critical path, in the scenario, that inferred "
				     "causes put on it: they, and what is right before each"),
	[IF_NOTE] = TW_TEXT("note", 60, "what it is about, and what limits it"),
};

static const struct tw_table_spec if_spec = TW_SPEC(
	"what_if", "how long the window would be: each scenario by replay of the dependencies",
	if_columns, .keep_empty = true, .in_order = true);

static void add_step(const struct tw_what_if *w, struct tw_str *note)
{
	if (isnan(w->step_before_ns))
		return;
	tw_str_addf(note, "%sa step ", note->len ? "; " : "");
	tw_str_add_real_fixed(note, w->step_before_ns / 1e6, 3);
	tw_str_add_cstr(note, " -> ");
	tw_str_add_real_fixed(note, w->step_after_ns / 1e6, 3);
	tw_str_add_cstr(note, " ms");
}

static void add_scenario(struct trawl_table *t, const struct tw_what_if *w, struct tw_str *note)
{
	size_t row = tw_table_add_row(t);
	int64_t gain = w->before_ns - w->after_ns;

	tw_table_set_str(t, row, IF_SCENARIO, w->name);
	tw_table_set_str(t, row, IF_KIND, w->kind);
	tw_table_set_integer(t, row, IF_BEFORE, w->before_ns);
	tw_table_set_integer(t, row, IF_AFTER, w->after_ns);
	tw_table_set_integer(t, row, IF_GAIN, gain);
	tw_set_percent(t, row, IF_PERCENT, (double)gain, (double)w->before_ns);
	tw_set_percent(t, row, IF_INFERRED, (double)w->inferred_ns, (double)w->after_ns);
	tw_str_clear(note);
	if (w->note)
		tw_str_add_cstr(note, w->note);
	add_step(w, note);
	if (note->len)
		tw_table_set_text(t, row, IF_NOTE, note->ptr, note->len);
}

static int fill_what_if(const struct tw_path_result *r, struct trawl_table *t,
			const struct trawl_allocator *a)
{
	struct tw_str note;
	size_t i;

	tw_str_init(&note, a);
	for (i = 0; i < r->scenario_count; i++)
		if (!r->scenarios[i].quick)
			add_scenario(t, &r->scenarios[i], &note);
	return note.failed ? -1 : 0;
}

/* ---- slack */

/* Powers of ten of a nanosecond: 0, below 1 us, ..., 1 s and more. */
enum { SLACK_CLASS, SLACK_POINTS, SLACK_ZERO, SLACK_NONE = SLACK_ZERO + 9, SLACK_COUNT };

#define SLACK_COLUMN(header, meaning) TW_INTEGER(header, 10, meaning, .values = "!>=0")

static const struct trawl_column slack_columns[SLACK_COUNT] = {
	[SLACK_CLASS] =
		TW_TEXT("class", 28, "class of what the point waited for", .values = CLASS_VALUES),
	[SLACK_POINTS] = SLACK_COLUMN("points", "starts and ends of this class"),
	[SLACK_ZERO] = SLACK_COLUMN("0", "of them, without slack: on a critical path"),
	SLACK_COLUMN("< 1 µs", "slack above 0 and below 1 µs"),
	SLACK_COLUMN("1-10 µs", "slack of 1 µs and more, below 10 µs"),
	SLACK_COLUMN("10-100 µs", "slack of 10 µs and more, below 100 µs"),
	SLACK_COLUMN("0.1-1 ms", "slack of 0.1 ms and more, below 1 ms"),
	SLACK_COLUMN("1-10 ms", "slack of 1 ms and more, below 10 ms"),
	SLACK_COLUMN("10-100 ms", "slack of 10 ms and more, below 100 ms"),
	SLACK_COLUMN("0.1-1 s", "slack of 0.1 s and more, below 1 s"),
	SLACK_COLUMN(">= 1 s", "slack of 1 s and more"),
	[SLACK_NONE] = SLACK_COLUMN("none", "nothing of the window follows"),
};

static const struct tw_table_spec slack_spec =
	TW_SPEC("slack",
		"how much later starts and ends may be without a later end of the window, by class",
		slack_columns, .in_order = true);

static unsigned slack_column(int64_t slack_ns)
{
	unsigned column = SLACK_ZERO;
	int64_t limit = 1000;

	if (slack_ns == TW_NO_SLACK)
		return SLACK_NONE;
	if (slack_ns <= 0)
		return SLACK_ZERO;
	for (column++; slack_ns >= limit && column + 1 < SLACK_NONE; column++)
		limit *= 10;
	return column;
}

static int fill_slack(const struct tw_path_result *r, struct trawl_table *t)
{
	int64_t counts[TW_PATH_CLASSES][SLACK_COUNT] = { 0 };
	const struct tw_path *path = r->path;
	uint32_t p, class, i;

	for (p = 0; p < path->first_hub; p++) {
		struct tw_bound bound = tw_path_bound(path, NULL, p, tw_recorded(path));
		int64_t *count = counts[tw_path_class_of(path, p, bound.from, bound.code)];

		count[SLACK_POINTS]++;
		count[slack_column(r->slack[p])]++;
	}
	for (class = 0; class < TW_PATH_CLASSES; class ++) {
		size_t row;

		if (!counts[class][SLACK_POINTS])
			continue;
		row = tw_table_add_row(t);
		tw_table_set_str(t, row, SLACK_CLASS,
				 tw_path_class_name((enum tw_path_class) class));
		for (i = SLACK_POINTS; i < SLACK_COUNT; i++)
			tw_table_set_integer(t, row, i, counts[class][i]);
	}
	return 0;
}

/* ---- the path */

enum {
	PATH_N,
	PATH_RANK,
	PATH_TRACK,
	PATH_START,
	PATH_DURATION,
	PATH_CLASS,
	PATH_NAME,
	PATH_OPERATOR,
	PATH_MODULE,
	PATH_CAUSE,
	PATH_INFERRED,
	PATH_COUNT
};

static const struct trawl_column path_columns[] = {
	[PATH_N] = TW_INTEGER("n", 8, "number of the segment, in order of time", .values = "!>0"),
	[PATH_RANK] = TW_INTEGER("rank", 8, "rank, empty where its number is not known"),
	[PATH_TRACK] = TW_TEXT("track", 16, "stream or thread"),
	[PATH_START] = TW_US("start (µs)", 14, "from the start of the window"),
	[PATH_DURATION] =
		TW_US("duration (µs)", 14,
		      "time on the path; below 0 where work began before the end of what it "
		      "waited for"),
	[PATH_CLASS] =
		TW_TEXT("class", 28, "what the time is: docs/METRICS.md", .values = CLASS_VALUES),
	[PATH_NAME] =
		TW_TEXT("name", 40, "kernel, call, operator or range that the segment ends with"),
	[PATH_OPERATOR] = TW_TEXT("operator", 32, "operator that launched it, or that it is in"),
	[PATH_MODULE] = TW_TEXT("module", 32, "module around the operator, where it is recorded"),
	[PATH_CAUSE] =
		TW_TEXT("cause", 24,
			"why it waited: duration, host order, launch, stream order, event, "
			"synchronisation, collective, hand-over, batch, full queue",
			.values = "duration|host order|launch|stream order|event|synchronisation"
				  "|collective|hand-over|batch|full queue|event (inferred)"
				  "|other stream (inferred)"),
	[PATH_INFERRED] =
		TW_COLUMN(TEXT, "inferred", "bool", 0, 0, 8,
			  "True: the cause is not recorded, but follows from the order of "
			  "launches or from times; else False"),
};

static const struct tw_table_spec path_spec = TW_SPEC(
	"critical_path",
	"the critical path: a row for each wait or piece of work; durations sum to the window",
	path_columns, .in_order = true);

static const char *const cause_names[TW_CAUSES] = {
	[TW_CAUSE_EVENT] = "event",	      [TW_CAUSE_STREAM] = "stream order",
	[TW_CAUSE_COLLECTIVE] = "collective", [TW_CAUSE_SYNC] = "synchronisation",
	[TW_CAUSE_LAUNCH] = "launch",	      [TW_CAUSE_QUEUE] = "full queue",
	[TW_CAUSE_HANDOVER] = "hand-over",    [TW_CAUSE_BATCH] = "batch",
	[TW_CAUSE_DURATION] = "duration",     [TW_CAUSE_HOST] = "host order",
	[TW_CAUSE_WAIT] = "event (inferred)", [TW_CAUSE_INFERRED] = "other stream (inferred)",
};

static void set_text(struct trawl_table *t, size_t row, size_t column, const struct tw_path_rank *r,
		     uint32_t text)
{
	size_t len;
	const char *ptr = tw_pool_text(&r->texts, text, &len);

	if (text)
		tw_table_set_text_borrowed(t, row, column, ptr, len);
}

static void set_literal(struct trawl_table *t, size_t row, size_t column, const char *text)
{
	tw_table_set_text_borrowed(t, row, column, text, strlen(text));
}

static int fill_path(const struct tw_path_result *r, struct trawl_table *t)
{
	size_t i;

	tw_table_reserve(t, r->critical.segments.count);
	for (i = 0; i < r->critical.segments.count; i++) {
		const struct tw_segment *s = &r->critical.segments.at[i];
		const struct tw_path_point *p = &r->path->points[s->point];
		const struct tw_path_rank *rank = &r->path->ranks[p->rank];
		const struct tw_path_label *label = &rank->labels[p->label];
		size_t row = tw_table_add_row(t);

		tw_table_set_integer(t, row, PATH_N, (int64_t)i + 1);
		set_rank(t, row, PATH_RANK, r->path, p->rank);
		set_text(t, row, PATH_TRACK, rank, label->track);
		tw_table_set_integer(t, row, PATH_START, s->start_ns - r->critical.window.start_ns);
		tw_table_set_integer(t, row, PATH_DURATION, s->duration_ns);
		set_literal(t, row, PATH_CLASS, tw_path_class_name(s->class));
		set_text(t, row, PATH_NAME, rank, label->name);
		set_text(t, row, PATH_OPERATOR, rank, label->operation);
		set_text(t, row, PATH_MODULE, rank, label->module);
		if (s->code != TW_CAUSES)
			set_literal(t, row, PATH_CAUSE, cause_names[s->code]);
		set_literal(t, row, PATH_INFERRED, s->inferred ? "True" : "False");
	}
	return 0;
}

/* ---- all of them */

const struct tw_table_spec *const tw_path_tables[TW_PATH_TABLES] = {
	[TW_PATH_SUMMARY] = &summary_spec, [TW_PATH_OPS] = &op_spec,
	[TW_PATH_WHAT_IF] = &if_spec,	   [TW_PATH_SLACK] = &slack_spec,
	[TW_PATH_SEGMENTS] = &path_spec,
};

static int fill(const struct tw_path_result *r, enum tw_path_table which, struct trawl_table *t,
		const struct trawl_allocator *scratch)
{
	switch (which) {
	case TW_PATH_SUMMARY:
		return fill_summary(r, t, scratch);
	case TW_PATH_OPS:
		return fill_ops(r, t);
	case TW_PATH_WHAT_IF:
		return fill_what_if(r, t, scratch);
	case TW_PATH_SLACK:
		return fill_slack(r, t);
	default:
		return fill_path(r, t);
	}
}

struct trawl_table *tw_path_table_make(const struct tw_path_result *r, enum tw_path_table which,
				       const struct trawl_allocator *allocator)
{
	struct trawl_table *t = tw_table_new(tw_path_tables[which], allocator);
	struct tw_scope scope;
	int status;

	if (!t)
		return NULL;
	tw_scope_begin(&scope, allocator);
	status = fill(r, which, t, &scope.allocator);
	tw_scope_end(&scope);
	if (!status)
		return tw_table_finished(t);
	trawl_table_free(t);
	return NULL;
}
