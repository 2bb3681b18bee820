/*
 * Stages of a pipeline wait for microbatches: sends and receives between ranks.  Not a replay: the model of
 * the schedule (1F1B, or all forward first) with the stages' own times, for four times the
 * microbatches; gaps between kernels and the latency of a transfer do not shrink.
 */
#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "base/median.h"

#include <math.h>

enum { TIMES = 4, LATENCY_NS = 10000, MOST_STAGES = 1024, MOST_BATCHES = 4096 };

/* A stage: computing and gaps of all microbatches, forward and backward. */
struct stage {
	double forward_ns, forward_gaps_ns, backward_ns, backward_gaps_ns;
	uint64_t received;
};

struct pipeline {
	struct tw_diagnosis *d;
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

static void add_stage(struct pipeline *p, uint32_t rank)
{
	const struct tw_path_rank *r = &p->d->path->ranks[rank];
	const struct tw_claims *c = &p->d->claims[rank];
	struct stage *stage = &p->stages[rank];
	uint64_t kernels[2] = { 0 };
	uint32_t i;

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

static bool is_joined(const struct tw_path *path, uint32_t end)
{
	return tw_path_code(path, path->points[end].causes) == TW_CAUSE_COLLECTIVE;
}

/* The median transfer at receives; how many microbatches a step has. */
static bool measure(struct pipeline *p)
{
	struct tw_diagnosis *d = p->d;
	uint64_t steps = d->steps ? d->steps : 1, room = 1, n = 0;
	int64_t *transfers;
	uint32_t i, k;

	for (i = 0; i < d->rank_count; i++)
		room += d->claims[i].collective_count;
	transfers = tw_alloc_array(d->allocator, room, sizeof(*transfers));
	d->failed |= !transfers;
	for (i = 0; transfers && i < d->rank_count; i++) {
		const struct tw_path_rank *r = &d->path->ranks[i];
		uint64_t received = 0, peers = tw_receives_from(d, i);

		add_stage(p, i);
		for (k = 0; k < r->collective_count; k++) {
			uint32_t end = tw_gpu_end(r, r->collectives[k].last);

			if (d->claims[i].collectives[k].pair != 2 || !is_joined(d->path, end))
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

/* Whether the last stage goes back as soon as a microbatch is there: it does not receive two in a row. */
static bool alternates(const struct tw_diagnosis *d)
{
	const struct tw_claims *c = &d->claims[d->rank_count - 1];
	uint32_t i, n = 0, first[2] = { 0 };
	bool sends = false, receives = false;

	for (i = 0; i < c->collective_count; i++) {
		unsigned pair = c->collectives[i].pair;

		if (!pair)
			continue;
		sends |= pair == 1;
		receives |= pair == 2;
		if (n < 2)
			first[n++] = pair;
	}
	return !(sends && receives && first[0] == 2 && first[1] == 2);
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
		s.transfer = fmax(0, p->transfer_ns - LATENCY_NS) / times + LATENCY_NS;
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

static double share_of_bubble(struct tw_diagnosis *d, struct tw_finding *f)
{
	struct pipeline p = { .d = d, .count = d->rank_count };
	double now, then, step = isnan(d->step_ns) ? (double)d->window_ns : d->step_ns;

	if (d->rank_count < 2 || d->rank_count > MOST_STAGES)
		return NAN;
	p.stages = tw_alloc_array(d->allocator, (size_t)p.count + 1, sizeof(*p.stages));
	d->failed |= !p.stages;
	if (!p.stages)
		return NAN;
	now = then = NAN;
	if (measure(&p) && p.batches && p.batches <= MOST_BATCHES) {
		p.alternates = alternates(d);
		now = step_with(&p, 1);
		then = step_with(&p, TIMES);
		f->changed = 1;
		tw_add_place(f, "recv");
		tw_evidence(f,
			    "%llu microbatches in %u stages, %s; the model of the schedule takes "
			    "%.3f ms, a step %.3f ms",
			    (unsigned long long)p.batches, (unsigned)p.count,
			    p.alternates ? "forward and backward in turn (1F1B)" :
					   "all forward first",
			    now / 1e6, step / 1e6);
	}
	tw_free(d->allocator, p.stages, ((size_t)p.count + 1) * sizeof(*p.stages));
	return (now - then) / fmax(now, step);
}

const struct tw_kind tw_kind_pipeline_bubble = { .share = share_of_bubble };
