/* What the library does with the dependencies of a job: its path, its scenarios, their tables. */
#include "trawl/path.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/reuse.h"
#include "base/scope.h"
#include "base/sort.h"
#include "data/limits.h"
#include "path/job_path.h"
#include "path/path_tables.h"
#include "text/str.h"

#include <string.h>

struct trawl_path {
	const struct trawl_allocator *allocator;
	int64_t window_ns;
	struct tw_path *graph; /* of which only texts are left */
	struct trawl_table *tables[TW_PATH_TABLES];
	size_t count;
};

/* While it is made. */
struct making {
	struct trawl_path *out;
	struct trawl_job *job;
	struct trawl_path_options options;
	const struct trawl_allocator *reuse;   /* for what several threads take */
	const struct trawl_allocator *scratch; /* of a scope in it */
	struct trawl_error *err;
	struct tw_path *path;
	struct tw_path_result result;
	struct tw_scenarios scenarios;
};

void trawl_path_options_init(struct trawl_path_options *options)
{
	*options = (struct trawl_path_options){ .step_first = -1,
						.step_last = -1,
						.align = TRAWL_ALIGN_AUTO };
}

/* ---- the graph */

/* Clocks by collectives, unless something else is asked for. */
static int join_ranks(struct making *m)
{
	enum trawl_align align = m->options.align;
	struct tw_matches matches = { 0 };
	struct tw_clocks clocks = { 0 };
	int status = tw_matches_build(&matches, m->job, m->job->allocator);

	if (!status)
		status = tw_clocks_measure(&clocks, m->job, &matches,
					   align == TRAWL_ALIGN_AUTO ? TRAWL_ALIGN_COLLECTIVES :
								       align,
					   m->job->allocator);
	if (!status)
		status = tw_path_of_job(&m->path, m->job, &matches, &clocks, m->job->allocator);
	tw_clocks_release(&clocks);
	tw_matches_release(&matches);
	if (status == TRAWL_ENODATA)
		return trawl_error_set(
			m->err, status,
			"the job was read without its dependencies, or they are used up");
	return status ? tw_no_memory(m->err) : 0;
}

static int choose_window(struct making *m)
{
	struct tw_path_window *w = &m->result.critical.window;

	m->path->whole = m->options.whole;
	m->path->step_first = m->options.step_first;
	m->path->step_last = m->options.step_last;
	if (tw_critical_find(&m->result.critical, m->path, m->reuse))
		return tw_no_memory(m->err);
	if (w->last == TW_NO_POINT && m->options.step_first >= 0)
		return trawl_error_set(m->err, TRAWL_EUSAGE, "no GPU work of step %lld",
				       (long long)m->options.step_first);
	if (w->last == TW_NO_POINT)
		return trawl_error_set(m->err, TRAWL_ENODATA, "no GPU work");
	m->out->window_ns = tw_window_ns(m->path, tw_recorded(m->path));
	return 0;
}

/* ---- operators */

static void add_event(const struct tw_path *path, uint32_t end, struct tw_path_op_sums *sum)
{
	const struct tw_path_rank *r = &path->ranks[path->points[end].rank];
	int64_t ns = path->points[end].time_ns - path->points[end - 1].time_ns;
	uint32_t target = r->target_ns[(end - r->first) / 2];

	sum->total_ns = tw_ns_sum(sum->total_ns, ns);
	sum->headroom_ns = tw_ns_sum(sum->headroom_ns, target && target < ns ? ns - target : 0);
}

static int64_t sum_operator(struct making *m, struct tw_path_op_sums *sum, int64_t *values)
{
	const struct tw_members *ends = &m->result.ops.ends;
	const struct tw_path *path = m->path;
	uint32_t i, n = 0;

	for (i = ends->first[sum->op]; i < ends->first[sum->op + 1]; i++) {
		uint32_t end = ends->list[i];
		const struct tw_path_rank *r = &path->ranks[path->points[end].rank];

		if (!tw_in_window(path, r, (end - r->first) / 2))
			continue;
		add_event(path, end, sum);
		values[n++] = m->result.slack[end];
	}
	return n ? tw_middle_of(values, n).lower : TW_NO_SLACK;
}

static int sum_operators(struct making *m)
{
	const struct tw_path_point *points = m->path->points;
	const struct tw_path_ops *ops = &m->result.ops;
	size_t ends = ops->ends.first[ops->groups.count];
	int64_t *values = tw_alloc(m->scratch, (ends + 1) * sizeof(*values));
	uint32_t i;
	size_t k;

	m->result.sums =
		tw_alloc_array(m->scratch, (size_t)ops->groups.count + 1, sizeof(*m->result.sums));
	if (!m->result.sums || !values)
		return -1;
	for (i = 0; i < ops->groups.count; i++) {
		struct tw_path_op_sums *sum = &m->result.sums[i];

		*sum = (struct tw_path_op_sums){ i, 0, 0, 0, 0, INT64_MIN };
		sum->slack_ns = sum_operator(m, sum, values);
	}
	for (k = 0; k < m->result.critical.segments.count; k++) {
		const struct tw_segment *s = &m->result.critical.segments.at[k];
		uint32_t op = tw_path_op_of(ops, s->point);

		if (op != TW_NO_GROUP && tw_is_end(&points[s->point]))
			m->result.sums[op].path_ns += s->duration_ns;
	}
	return 0;
}

static uint64_t path_key(const void *sums, uint32_t op)
{
	return ~tw_sort_key(((const struct tw_path_op_sums *)sums)[op].path_ns);
}

static uint64_t total_key(const void *sums, uint32_t op)
{
	return ~tw_sort_key(((const struct tw_path_op_sums *)sums)[op].total_ns);
}

/* Those with the most time on the path first. */
static int sort_operators(struct making *m)
{
	uint32_t n = m->result.ops.groups.count, i;
	uint32_t *order = tw_alloc_array(m->scratch, (size_t)n + 1, sizeof(*order));
	struct tw_path_op_sums *sorted = tw_alloc_array(m->scratch, (size_t)n + 1, sizeof(*sorted));

	if (!order || !sorted)
		return -1;
	for (i = 0; i < n; i++)
		order[i] = i;
	if (tw_sort(order, n, total_key, m->result.sums, m->scratch) ||
	    tw_sort(order, n, path_key, m->result.sums, m->scratch))
		return -1;
	for (i = 0; i < n; i++)
		sorted[i] = m->result.sums[order[i]];
	m->result.sums = sorted;
	return 0;
}

/* ---- scenarios */

static int run_scenarios(struct making *m)
{
	struct tw_scenarios *s = &m->scenarios;
	size_t i;
	uint32_t k = 0;
	int status;

	*s = (struct tw_scenarios){ .path = m->path,
				    .ops = &m->result.ops,
				    .changes = m->options.changes,
				    .change_count = m->options.change_count,
				    .allocator = m->scratch };
	status = tw_scenarios_list(s, m->result.sums, m->err);
	if (!status &&
	    tw_what_if_run(s->list.at, s->list.count, m->path, m->options.threads, m->reuse))
		status = tw_no_memory(m->err);
	for (i = 0; i < s->list.count && !status; i++)
		if (s->list.at[i].quick)
			m->result.sums[k++].gain_ns =
				s->list.at[i].before_ns - s->list.at[i].after_ns;
	m->result.scenarios = s->list.at;
	m->result.scenario_count = s->list.count;
	return status;
}

/* ---- notes */

static void add_note(struct trawl_table *t, uint64_t count, const char *words)
{
	if (count)
		tw_table_add_note(t, "%s: %llu", words, (unsigned long long)count);
}

static void add_notes(const struct making *m, struct trawl_table *t)
{
	struct tw_path_notes n = m->path->notes;
	uint32_t i;

	for (i = 0; i < m->path->rank_count; i++) {
		const struct tw_path_notes *of = &m->path->ranks[i].notes;

		n.without_launch += of->without_launch;
		n.before_launch += of->before_launch;
		n.overlaps += of->overlaps;
		n.unexplained += of->unexplained;
		n.refuted += of->refuted;
	}
	add_note(t, n.without_launch,
		 m->options.whole ?
			 "GPU events without a recorded launch, which follow their stream" :
			 "GPU events without a recorded launch, which follow their stream "
			 "and are not in the window (--whole)");
	add_note(
		t, m->path->inferred,
		"inferred causes (streams that wait for events which are not recorded, starts right "
		"after work of another stream)");
	add_note(t, n.refuted, "waits for events not inferred, as the work ended later");
	add_note(t, n.unexplained, "starts later than anything recorded explains");
	add_note(t, n.before_launch,
		 "GPU events that start before their launch, which is no cause");
	add_note(t, n.overlaps, "GPU events that start before the one before on their stream ends");
	add_note(t, n.incomplete,
		 "collectives without all ranks of their group, whose ends are kept");
	add_note(t, n.not_matched,
		 "collectives not matched, as their ends disagree by more than clocks can");
	add_note(t, n.skewed,
		 "ends of collectives before other ranks' starts, which are no causes");
	add_note(t, n.cut, "causes cut, as they closed a circle");
}

/* ---- the whole */

static int make_tables(struct making *m)
{
	struct trawl_path *out = m->out;
	uint32_t i;

	for (i = 0; i < TW_PATH_TABLES; i++) {
		struct trawl_table *t =
			tw_path_table_make(&m->result, (enum tw_path_table)i, out->allocator);

		if (!t)
			return -1;
		if (i == TW_PATH_SUMMARY)
			add_notes(m, t);
		if (trawl_table_rows(t) || tw_table_spec(t)->keep_empty)
			out->tables[out->count++] = t;
		else
			trawl_table_free(t);
	}
	return 0;
}

static int make(struct making *m)
{
	int status = join_ranks(m);

	if (status)
		return status;
	m->result.path = m->path;
	m->result.slack = tw_alloc_array(m->scratch, (size_t)m->path->point_count + 1,
					 sizeof(*m->result.slack));
	if (!m->result.slack)
		return tw_no_memory(m->err);
	status = choose_window(m);
	if (status)
		return status;
	tw_slack_find(m->path, m->result.slack);
	if (tw_path_ops_init(&m->result.ops, m->path, m->scratch) || sum_operators(m) ||
	    sort_operators(m))
		return tw_no_memory(m->err);
	status = run_scenarios(m);
	if (!status && make_tables(m))
		status = tw_no_memory(m->err);
	return status;
}

int trawl_path_new(struct trawl_path **out, struct trawl_job *job,
		   const struct trawl_path_options *options, struct trawl_error *err)
{
	struct trawl_path *made = tw_alloc_array(job->allocator, 1, sizeof(*made));
	struct tw_reuse *reuse = tw_reuse_new(job->allocator);
	struct tw_scope scope;
	struct making m = { .out = made, .job = job, .scratch = &scope.allocator, .err = err };
	int status;

	*out = NULL;
	if (!made || !reuse) {
		tw_reuse_free(reuse);
		tw_free(job->allocator, made, sizeof(*made));
		return tw_no_memory(err);
	}
	m.reuse = tw_reuse_allocator(reuse);
	made->allocator = job->allocator;
	if (options)
		m.options = *options;
	else
		trawl_path_options_init(&m.options);
	tw_scope_begin(&scope, m.reuse);
	status = make(&m);
	tw_scenarios_release(&m.scenarios);
	tw_critical_release(&m.result.critical, m.reuse);
	tw_scope_end(&scope);
	tw_reuse_free(reuse);
	if (m.path)
		tw_path_drop_points(m.path);
	made->graph = m.path;
	if (status)
		trawl_path_free(made);
	else
		*out = made;
	return status;
}

void trawl_path_free(struct trawl_path *path)
{
	size_t i;

	if (!path)
		return;
	for (i = 0; i < path->count; i++)
		trawl_table_free(path->tables[i]);
	tw_path_free(path->graph);
	tw_free(path->allocator, path, sizeof(*path));
}

int64_t trawl_path_window_ns(const struct trawl_path *path)
{
	return path->window_ns;
}

size_t trawl_path_tables(const struct trawl_path *path)
{
	return path->count;
}

const struct trawl_table *trawl_path_table(const struct trawl_path *path, size_t index)
{
	return path->tables[index];
}

const struct trawl_table *trawl_path_find(const struct trawl_path *path, const char *name)
{
	size_t i;

	for (i = 0; i < path->count; i++)
		if (!strcmp(trawl_table_name(path->tables[i]), name))
			return path->tables[i];
	return NULL;
}

const char *trawl_path_table_name(size_t index)
{
	return index < TW_PATH_TABLES ? tw_path_tables[index]->name : NULL;
}
