/*
 * The host launches slower than the GPU works: at least half of the idle time is in gaps that end with a
 * launch made in the gap, without fetch, wait, allocation or module load; or half of that in a phase of an inference
 * server, as decode.  Without: one GPU graph: the
 * host inside steps takes no time, but for those, and for what takes over a millisecond.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "base/alloc.h"
#include "base/search.h"
#include "data/tables.h"

/* Which calls take their time in a graph too, or for another reason than the host's. */
static void look_at_calls(struct tw_look *look)
{
	enum { WAITS = TW_HOST_MODULE_LOAD | TW_HOST_IMPLICIT_WAIT };
	const struct tw_path_rank *r = &look->part->rank;
	struct tw_claims *c = look->claims;
	uint32_t i;

	c->label_count = r->label_count;
	c->loads_or_waits = tw_alloc_array(c->allocator, (size_t)c->label_count + 1, 1);
	look->failed |= !c->loads_or_waits;
	for (i = 0; i < c->label_count && !look->failed; i++) {
		size_t len;
		const char *name = tw_pool_text(&r->texts, r->labels[i].name, &len);
		uint32_t text = tw_pool_find(&look->trace->texts, name, len);

		/* Names of the trace were looked up before. */
		c->loads_or_waits[i] =
			((text ? tw_look_kinds(look, text) : tw_host_kinds_of(name, len)) &
			 WAITS) != 0;
	}
}

/*
 * The gap before a kernel that was launched just before it is as much its launch's as its stream's: in a
 * graph it is a stream's.
 */
static int64_t gap_in_a_graph(const struct tw_path *path, uint32_t point, int64_t delay_ns)
{
	const struct tw_path_point *p = &path->points[point];
	const struct tw_path_rank *r = &path->ranks[p->rank];
	int64_t usual = tw_delays[r->vendor].stream;
	uint32_t cause;

	for (cause = p->causes; cause < p[1].causes; cause++)
		if (path->from[cause] != TW_NO_POINT &&
		    tw_path_code(path, cause) == TW_CAUSE_LAUNCH &&
		    p->time_ns - path->points[path->from[cause]].time_ns <= r->late_ns)
			return delay_ns < usual ? delay_ns : usual;
	return delay_ns;
}

/* Whether a point is in a phase that is not launch-bound, while another is. */
static bool is_in_other_phase(const struct tw_diagnosis *d, uint32_t point)
{
	const struct tw_path_point *p = &d->path->points[point];
	const struct tw_path_rank *r = &d->path->ranks[p->rank];
	const struct tw_claims *c = &d->claims[p->rank];
	int64_t time_ns = tw_ns_between(r->shift_ns, p->time_ns);
	size_t i;

	if (!d->other_phases[TW_PHASES] || p->kind >= TW_POINT_HUB)
		return false;
	if (tw_is_gpu_point(p))
		return d->other_phases[c->whose.at[c->whose_of[(point - r->first) / 2]].phase];
	i = TW_LOWER_BOUND(at, 0, c->served.count, c->served.at[at].start_ns <= time_ns);
	return d->other_phases[i && time_ns < c->served.at[i - 1].end_ns ? c->served.at[i - 1].phase :
									   TW_PHASES];
}

static int64_t in_a_graph(const struct tw_path *path, uint32_t point, uint32_t cause,
			  int64_t delay_ns, const void *context)
{
	const struct tw_path_point *p = &path->points[point];
	enum tw_cause code = tw_path_code(path, cause);

	const struct tw_diagnosis *d = context;

	if (is_in_other_phase(d, point))
		return delay_ns;
	if (code == TW_CAUSE_LAUNCH)
		return 0;
	if (code == TW_CAUSE_STREAM)
		return gap_in_a_graph(path, point, delay_ns);
	if (tw_is_gpu_point(p) || p->kind >= TW_POINT_HUB || tw_kind_of(p) == TW_POINT_LOADER ||
	    p->flags & (TW_POINT_IN_LOADER | TW_POINT_WAITS | TW_POINT_IS_ALLOCATION) ||
	    delay_ns > TW_LIMIT_GRAPH_LONGEST_US * 1000 ||
	    (tw_kind_of(p) == TW_POINT_CALL && d->claims[p->rank].loads_or_waits[p->label]))
		return delay_ns;
	return code == TW_CAUSE_HOST || code == TW_CAUSE_DURATION || code == TW_CAUSE_HANDOVER ?
		       0 :
		       delay_ns;
}

/* Where the GPU waits longest: the modules of nearly all gaps, a python function of the program, then operators; without both kernels. */
static uint32_t name_places(const struct tw_diagnosis *d, struct tw_finding *f, uint32_t rank)
{
	const struct tw_claim *claim = &d->claims[rank].of[f->kind];
	uint32_t note = 0;
	bool named = false;
	size_t i;

	for (i = 0; i < claim->spots.count; i++)
		if (claim->spots.at[i].note) {
			tw_add_spot(f, &d->claims[rank].texts, &claim->spots.at[i], true);
			note = claim->spots.at[i].note;
		}
	for (i = 0; i < claim->spots.count && !named; i++)
		if (claim->spots.at[i].site) {
			struct tw_spot spot = claim->spots.at[i];

			spot.module = note ? 0 : spot.module; /* that of the place stays */
			tw_add_spot(f, &d->claims[rank].texts, &spot, true);
			named = true;
		}
	for (i = 0; i < claim->spots.count; i++)
		if (!claim->spots.at[i].site)
			tw_add_spot(f, &d->claims[rank].texts, &claim->spots.at[i], !*f->operation);
	f->in_many = !note;
	if (f->in_many)
		f->module[0] = '\0';
	return note;
}

static bool is_bound(const struct tw_diagnosis *d, int64_t launch, int64_t all)
{
	return launch >= all - launch && (double)launch * 100 >= TW_LIMIT_LAUNCH_IDLE_PERCENT *
									 (double)d->window_ns *
									 d->rank_count;
}

/* Whether a phase alone is launch-bound: the others then stay as they are. */
static bool is_phase_bound(struct tw_diagnosis *d)
{
	bool any = false;
	uint32_t i, k;

	for (k = 0; k < TW_PHASES + 1; k++) {
		int64_t launch = 0, all = 0;

		for (i = 0; i < d->rank_count; i++) {
			launch += d->claims[i].phase_idle_ns[k][0];
			all += d->claims[i].phase_idle_ns[k][1];
		}
		d->other_phases[k] = k == TW_PHASES || !is_bound(d, launch, all);
		any |= !d->other_phases[k];
	}
	return any;
}

/* Of several phases, the idle time of each. */
static void add_phases(const struct tw_diagnosis *d, struct tw_finding *f)
{
	int64_t sums[TW_PHASES][2] = { 0 };
	uint32_t i, k, count = 0, added = 0;

	for (k = 0; k < TW_PHASES; k++) {
		for (i = 0; i < d->rank_count; i++) {
			sums[k][0] += d->claims[i].phase_idle_ns[k][0];
			sums[k][1] += d->claims[i].phase_idle_ns[k][1];
		}
		count += sums[k][1] > 0;
	}
	for (k = 0; k < TW_PHASES && count > 1; k++)
		if (sums[k][1])
			tw_add_evidence(f, "%s%.1f of %.1f ms in %s", added++ ? ", " : ": ",
					(double)sums[k][0] / 1e6, (double)sums[k][1] / 1e6,
					tw_phase_names[k]);
}

static bool set_graph(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	struct tw_graph_share graphs = tw_graph_share(d);
	int64_t launch = 0, all = 0;
	uint32_t i, rank = 0, note;
	int k;

	for (i = 0; i < d->rank_count; i++) {
		const int64_t *idle = d->claims[i].idle_ns;

		launch += idle[TW_IDLE_LAUNCH];
		if (idle[TW_IDLE_LAUNCH] > d->claims[rank].idle_ns[TW_IDLE_LAUNCH])
			rank = i;
		for (k = 0; k <= TW_IDLE_LAUNCH; k++)
			all += idle[k];
	}
	if (!is_bound(d, launch, all) && !is_phase_bound(d))
		return false;
	s->rule = in_a_graph;
	s->context = d;
	f->changed = 1;
	if (graphs.graph_ns > graphs.all_ns / 2)
		f->words = &tw_words_launch_bound_graphs;
	note = name_places(d, f, rank);
	tw_add_evidence(f, "%.1f ms of %.1f ms idle time end with a launch made meanwhile",
			(double)launch / 1e6, (double)all / 1e6);
	add_phases(d, f);
	if (note)
		tw_add_evidence(f, "; %s", tw_pool_text(&d->claims[rank].texts, note, NULL));
	return true;
}

const struct tw_kind tw_kind_launch_bound = { .look = look_at_calls, .change = set_graph };
