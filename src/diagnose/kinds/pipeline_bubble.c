/*
 * Stages of a pipeline wait for microbatches: sends and receives between ranks.  Not a replay: the model of
 * the schedule (1F1B, or all forward first) with the stages' own times, for four times the
 * microbatches; gaps between kernels and the latency of a transfer do not shrink.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "base/alloc.h"
#include "base/median.h"

#include <math.h>

enum { MOST_STAGES = 1024, MOST_BATCHES = 4096, RANKS_NAMED = 16 };

/* A stage: computing and gaps of all microbatches, forward and backward. */
struct stage {
	double forward_ns, forward_gaps_ns, backward_ns, backward_gaps_ns;
	uint64_t received;
};

/* Ranks that sends and receives join, in order of rank: there may be several such pipelines. */
struct pipeline {
	struct tw_diagnosis *d;
	const uint32_t *ranks;
	struct stage *stages;
	uint32_t count;
	double transfer_ns;
	uint64_t batches; /* of a step */
	bool alternates;  /* 1F1B */
};

/* The usual gap of a stream between two kernels. */
static double gap_ns(const struct tw_path *path, const struct tw_path_rank *r)
{
	return (double)tw_usual_delay(path, r, TW_CAUSE_STREAM);
}

static void add_stage(struct pipeline *p, uint32_t number)
{
	const struct tw_path_rank *r = &p->d->path->ranks[p->ranks[number]];
	const struct tw_claims *c = &p->d->claims[p->ranks[number]];
	struct stage *stage = &p->stages[number];
	uint64_t kernels[2] = { 0 };
	uint32_t i;

	*stage = (struct stage){ 0 };
	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];
		double ns = (double)(p->d->path->points[tw_gpu_end(r, g)].time_ns -
				     p->d->path->points[tw_gpu_start(r, g)].time_ns);

		if (!c->place[g])
			continue;
		kernels[c->pass[g]]++;
		*(c->pass[g] ? &stage->backward_ns : &stage->forward_ns) += ns;
	}
	stage->forward_gaps_ns = (double)kernels[0] * gap_ns(p->d->path, r);
	stage->backward_gaps_ns = (double)kernels[1] * gap_ns(p->d->path, r);
	for (i = 0; i < c->collective_count; i++)
		stage->received += c->collectives[i].pair == 2;
}

/* ---- which ranks are one pipeline: a forest, the root of each is its first rank */

static uint32_t root_of(uint32_t *root, uint32_t rank)
{
	for (; root[rank] != rank; rank = root[rank])
		root[rank] = root[root[rank]];
	return rank;
}

static bool is_joined(const struct tw_path *path, uint32_t end)
{
	return tw_path_code(path, path->points[end].causes) == TW_CAUSE_COLLECTIVE;
}

/* The rank with those that the end of its send or receive waits for. */
static void join_rank(const struct tw_path *path, uint32_t *root, uint32_t rank, uint32_t end)
{
	uint32_t hub = path->from[path->points[end].causes], cause, a, b;

	for (cause = path->points[hub].causes; cause < path->points[hub + 1].causes; cause++) {
		if (path->from[cause] == TW_NO_POINT)
			continue;
		a = root_of(root, rank);
		b = root_of(root, path->points[path->from[cause]].rank);
		root[a < b ? b : a] = a < b ? a : b;
	}
}

static void join_ranks(const struct tw_diagnosis *d, uint32_t *root)
{
	uint32_t i, k;

	for (i = 0; i < d->rank_count; i++)
		root[i] = i;
	for (i = 0; i < d->rank_count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];

		for (k = 0; k < r->collective_count; k++) {
			uint32_t end = tw_gpu_end(r, r->collectives[k].last);

			if (d->claims[i].collectives[k].pair && is_joined(d->path, end))
				join_rank(d->path, root, i, end);
		}
	}
}

/* Those of a root, in order of rank. */
static uint32_t list_ranks(const struct tw_diagnosis *d, uint32_t *root, uint32_t of,
			   uint32_t *ranks)
{
	uint32_t i, n = 0;

	for (i = 0; i < d->rank_count; i++)
		if (root_of(root, i) == of)
			ranks[n++] = i;
	return n;
}

/* The median transfer at receives; how many microbatches a step has. */
static bool measure(struct pipeline *p)
{
	struct tw_diagnosis *d = p->d;
	uint64_t steps = d->steps ? d->steps : 1, room = 1, n = 0;
	int64_t *transfers;
	uint32_t i, k;

	for (i = 0; i < p->count; i++)
		room += d->claims[p->ranks[i]].collective_count;
	transfers = tw_alloc_array(d->allocator, room, sizeof(*transfers));
	d->failed |= !transfers;
	p->batches = 0;
	for (i = 0; transfers && i < p->count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[p->ranks[i]];
		const struct tw_claims *c = &d->claims[p->ranks[i]];
		uint64_t received = 0, peers = tw_receives_from(d, p->ranks[i]);

		add_stage(p, i);
		for (k = 0; k < r->collective_count; k++) {
			uint32_t end = tw_gpu_end(r, r->collectives[k].last);

			if (c->collectives[k].pair != 2 || !is_joined(d->path, end))
				continue;
			transfers[n++] = tw_path_delay(d->path, end, d->path->points[end].causes);
			received++;
		}
		received = peers ? (received + steps * peers / 2) / (steps * peers) : 0;
		p->batches = received > p->batches ? received : p->batches;
	}
	p->transfer_ns = n ? (double)tw_middle_of(transfers, n).lower : 0;
	tw_free(d->allocator, transfers, room * sizeof(*transfers));
	return n > 0;
}

/* When a send or receive was launched, INT64_MAX: it is none, or that is not recorded. */
static int64_t launched_at(const struct tw_diagnosis *d, uint32_t rank, uint32_t number)
{
	const struct tw_path_rank *r = &d->path->ranks[rank];
	uint32_t launch = r->launch[r->collectives[number].first];

	return d->claims[rank].collectives[number].pair && launch != TW_NO_POINT ?
		       d->path->points[launch].time_ns :
		       INT64_MAX;
}

/*
 * Whether the last stage goes back as soon as a microbatch is there: it does not launch two receives
 * first.  They may begin before a send that was launched earlier, on another stream.
 */
static bool alternates(const struct tw_diagnosis *d, uint32_t rank)
{
	uint32_t i;
	const struct tw_claims *c = &d->claims[rank];
	int64_t at, first_ns[2] = { INT64_MAX, INT64_MAX };
	unsigned pair[2] = { 0 };
	bool sends = false;

	for (i = 0; i < c->collective_count; i++) {
		at = launched_at(d, rank, i);
		sends |= c->collectives[i].pair == 1;
		if (at < first_ns[0]) {
			first_ns[1] = first_ns[0];
			pair[1] = pair[0];
			first_ns[0] = at;
			pair[0] = c->collectives[i].pair;
		} else if (at < first_ns[1]) {
			first_ns[1] = at;
			pair[1] = c->collectives[i].pair;
		}
	}
	return !(sends && pair[0] == 2 && pair[1] == 2);
}

/* ---- the schedule */

struct schedule {
	uint32_t stages, batches;
	double *forward, *backward; /* of one microbatch, by stage */
	double transfer;
	double *done[2]; /* by stage x batches + batch: when; NaN: not yet */
	double *free;	 /* by stage */
	uint32_t *at;	 /* by stage: how many of its parts are done */
};

/* The n-th part of a stage: forward or backward of which microbatch. */
static void part_of(const struct schedule *s, bool alternate, uint32_t stage, uint32_t n,
		    bool *backward, uint32_t *batch)
{
	uint32_t warm = s->stages - 1 - stage, k;

	if (!alternate || warm > s->batches)
		warm = s->batches;
	if (n < warm) {
		*backward = false;
		*batch = n;
		return;
	}
	k = n - warm;
	if (k < 2 * (s->batches - warm)) {
		*backward = k & 1;
		*batch = k & 1 ? k / 2 : warm + k / 2;
		return;
	}
	*backward = true;
	*batch = k - (s->batches - warm);
}

static bool do_part(struct schedule *s, bool alternate, uint32_t stage)
{
	bool backward;
	uint32_t batch, from;
	double begin = s->free[stage], there;

	if (s->at[stage] == 2 * s->batches)
		return false;
	part_of(s, alternate, stage, s->at[stage], &backward, &batch);
	if (backward ? stage + 1 < s->stages : stage > 0) {
		from = backward ? stage + 1 : stage - 1;
		there = s->done[backward][(size_t)from * s->batches + batch];
		if (isnan(there))
			return false;
		begin = fmax(begin, there + s->transfer);
	}
	s->free[stage] = begin + (backward ? s->backward : s->forward)[stage];
	s->done[backward][(size_t)stage * s->batches + batch] = s->free[stage];
	s->at[stage]++;
	return true;
}

static double run(struct schedule *s, bool alternate)
{
	bool moved = true;
	double end = 0;
	uint32_t r;

	while (moved)
		for (moved = false, r = 0; r < s->stages; r++)
			while (do_part(s, alternate, r))
				moved = true;
	for (r = 0; r < s->stages; r++)
		end = fmax(end, s->free[r]);
	return end;
}

/* The time of a step with so many times the microbatches; NaN: out of memory. */
static double step_with(struct pipeline *p, uint32_t times)
{
	const struct trawl_allocator *a = p->d->allocator;
	struct schedule s = { .stages = p->count, .batches = (uint32_t)p->batches * times };
	size_t parts = (size_t)s.stages * s.batches, n = 3 * (size_t)s.stages + 2 * parts, i;
	double *numbers = tw_alloc_array(a, n + 1, sizeof(*numbers)), end = NAN;
	double all = (double)(p->d->steps ? p->d->steps : 1) * (double)p->batches;

	s.at = tw_alloc_array(a, (size_t)s.stages + 1, sizeof(*s.at));
	p->d->failed |= !numbers || !s.at;
	if (numbers && s.at) {
		s.forward = numbers;
		s.backward = numbers + s.stages;
		s.free = numbers + 2 * s.stages;
		s.done[0] = numbers + 3 * s.stages;
		s.done[1] = s.done[0] + parts;
		s.transfer = fmax(0, p->transfer_ns - TW_LIMIT_COLLECTIVE_LATENCY_NS) / times +
			     TW_LIMIT_COLLECTIVE_LATENCY_NS;
		if (times == 1)
			s.transfer = p->transfer_ns;
		for (i = 0; i < 2 * parts; i++)
			s.done[0][i] = NAN;
		for (i = 0; i < s.stages; i++) {
			const struct stage *stage = &p->stages[i];

			s.forward[i] = (stage->forward_ns / times + stage->forward_gaps_ns) / all;
			s.backward[i] =
				(stage->backward_ns / times + stage->backward_gaps_ns) / all;
		}
		end = run(&s, p->alternates);
	}
	tw_free(a, numbers, (n + 1) * sizeof(*numbers));
	tw_free(a, s.at, ((size_t)s.stages + 1) * sizeof(*s.at));
	return end;
}

/* How long a step is by the model now, and with more microbatches; false: it is no pipeline. */
static bool model(struct pipeline *p, double *now, double *then)
{
	if (!measure(p) || !p->batches || p->batches > MOST_BATCHES)
		return false;
	p->alternates = alternates(p->d, p->ranks[p->count - 1]);
	*now = step_with(p, 1);
	*then = step_with(p, TW_LIMIT_MICROBATCHES_TIMES);
	return !isnan(*now) && !isnan(*then);
}

static void tell(struct tw_diagnosis *d, const struct pipeline *p, struct tw_finding *f, double now,
		 double step)
{
	f->changed = 1;
	f->where[0] = f->evidence[0] = '\0';
	if (p->count < d->rank_count && p->count <= RANKS_NAMED)
		tw_set_ranks(f, d, p->ranks, p->count);
	tw_add_place(f, "recv");
	tw_add_evidence(
		f,
		"%llu microbatches in %u stages, %s; the model of the schedule takes %.3f ms, a "
		"step %.3f ms",
		(unsigned long long)p->batches, (unsigned)p->count,
		p->alternates ? "forward and backward in turn (1F1B)" : "all forward first",
		now / 1e6, step / 1e6);
}

/* A model that is far from the step is of another schedule, or of no pipeline: a ring, for instance. */
static bool fits(double now, double step)
{
	return fabs(now - step) * 100 <= TW_LIMIT_PIPELINE_MODEL_PERCENT * step;
}

/* Of several pipelines that with the longest step counts. */
static double share_of_bubble(struct tw_diagnosis *d, struct tw_finding *f)
{
	size_t n = (size_t)d->rank_count + 1;
	uint32_t *root, *ranks, i;
	struct pipeline p = { .d = d };
	double step = isnan(d->step_ns) ? (double)d->window_ns : d->step_ns;
	double now, then, longest = 0, share = NAN;

	if (d->rank_count < 2 || d->rank_count > MOST_STAGES)
		return NAN;
	root = tw_alloc_array(d->allocator, n, sizeof(*root));
	ranks = tw_alloc_array(d->allocator, n, sizeof(*ranks));
	p.ranks = ranks;
	p.stages = tw_alloc_array(d->allocator, n, sizeof(*p.stages));
	d->failed |= !root || !ranks || !p.stages;
	if (root && ranks && p.stages)
		join_ranks(d, root);
	for (i = 0; root && ranks && p.stages && i < d->rank_count; i++) {
		p.count = root_of(root, i) == i ? list_ranks(d, root, i, ranks) : 0;
		if (p.count < 2 || !model(&p, &now, &then) || !fits(now, step) || now <= longest)
			continue;
		longest = now;
		share = (now - then) / fmax(now, step);
		tell(d, &p, f, now, step);
	}
	tw_free(d->allocator, root, n * sizeof(*root));
	tw_free(d->allocator, ranks, n * sizeof(*ranks));
	tw_free(d->allocator, p.stages, n * sizeof(*p.stages));
	return share;
}

const struct tw_kind tw_kind_pipeline_bubble = { .share = share_of_bubble };
