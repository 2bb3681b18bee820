/*
 * Communication: low_bandwidth_collective, transfers below half of the bandwidth expected of the platform;
 * small_collectives, of which all but the first could do without the latency; exposed_communication,
 * collectives of gradients that are launched after the backward pass.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"
#include "data/tables.h"

#include "analysis/ops/collective_args.h"
#include "base/alloc.h"
#include "base/search.h"
#include "base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes of the rank's collectives */

static double number(const struct trawl_argument *arg)
{
	return arg->kind == TRAWL_VALUE_INTEGER ? (double)arg->integer : 0;
}

/* Of its bytes what the links of a rank carry: nccl-tests doc/PERFORMANCE.md. */
static double bus_factor(const char *kind, double n)
{
	if (!strcmp(kind, "allreduce"))
		return 2 * (n - 1) / n;
	if (!strcmp(kind, "allgather"))
		return n - 1;
	if (!strcmp(kind, "reduce_scatter") || !strcmp(kind, "all_to_all"))
		return (n - 1) / n;
	return 1;
}

static double element_bytes(const struct trawl_trace *trace, const struct trawl_argument *arg)
{
	size_t len;
	const char *text;
	const struct tw_dtype *dtype;

	if (arg->kind != TRAWL_VALUE_TEXT)
		return 0;
	text = tw_pool_text(&trace->texts, arg->text, &len);
	dtype = tw_dtype(text, len);
	return dtype ? dtype->bits / 8.0 : 0;
}

/* By its recorded name, else by the operation, else by the kernel. */
static const char *kind_of(const struct tw_look *look, uint32_t g,
			   const struct tw_collective_facts *facts)
{
	const struct trawl_argument *name = &facts->args[TW_COLLECTIVE_NAME];
	const char *recorded = NULL, *operation = NULL;
	size_t len = 0, operation_len = 0;

	if (name->kind == TRAWL_VALUE_TEXT)
		recorded = tw_pool_text(&look->trace->texts, name->text, &len);
	if (facts->why.operation != TW_NONE)
		operation = tw_pool_text(&look->trace->texts,
					 look->trace->events.name[facts->why.operation],
					 &operation_len);
	return tw_collective_kind(recorded, len, operation, operation_len,
				  tw_gpu_known(look->d, g));
}

static void size_of(struct tw_look *look, uint32_t g, struct tw_collective_size *out)
{
	struct tw_collective_facts facts;
	const char *kind, *name = "";
	double n, most;
	size_t len = 0;

	tw_collective_facts_of(look->d, g, &facts);
	kind = kind_of(look, g, &facts);
	if (facts.args[TW_COLLECTIVE_NAME].kind == TRAWL_VALUE_TEXT)
		name = tw_pool_text(&look->trace->texts, facts.args[TW_COLLECTIVE_NAME].text, &len);
	else if (kind)
		len = strlen(name = kind);
	out->name = len ? tw_pool_intern(&look->claims->texts, name, len) : 0;
	if (facts.args[TW_COLLECTIVE_GROUP].kind == TRAWL_VALUE_TEXT) {
		const char *group = tw_pool_text(&look->trace->texts,
						 facts.args[TW_COLLECTIVE_GROUP].text, &len);

		out->group = tw_pool_intern(&look->claims->texts, group, len);
	}
	out->in = number(&facts.args[TW_COLLECTIVE_IN_NELEMS]);
	out->out = number(&facts.args[TW_COLLECTIVE_OUT_NELEMS]);
	if (!kind)
		return;
	out->to_all = !strcmp(kind, "all_to_all");
	out->pair = !strcmp(kind, "send") ? 1 : !strcmp(kind, "recv") ? 2 : 0;
	out->reduces = !strcmp(kind, "allreduce") || !strcmp(kind, "reduce_scatter");
	n = fmax(2, number(&facts.args[TW_COLLECTIVE_GROUP_SIZE]));
	most = out->to_all ? fmax(out->in, out->out) : out->in;
	out->bus_bytes = most * element_bytes(look->trace, &facts.args[TW_COLLECTIVE_DTYPE]) *
			 bus_factor(kind, n);
	if (!out->pair)
		out->expected_gbps =
			tw_node_link(look) * (out->to_all ? TW_LIMIT_TO_ALL_PERCENT / 100.0 : 1);
}

void tw_collective_sizes(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i;

	for (i = 0; i < r->collective_count && !look->failed; i++)
		size_of(look, r->collectives[i].first, &look->claims->collectives[i]);
}

static void claim_transfer(struct tw_look *look, enum tw_finding_kind kind, uint32_t gpu,
			   double link_ns, double ns)
{
	tw_claim_change(look, kind,
			&(struct tw_remedy_part){ .kind = TW_REMEDY_BANDWIDTH,
						  .gpu = gpu,
						  .factor = link_ns,
						  .ns = tw_whole_ns(ns) });
	tw_claim_collective(look, kind, gpu);
}

/* ---- slow links */

static void look_at_bandwidth(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i;

	for (i = 0; i < r->collective_count && !look->failed; i++) {
		const struct tw_collective_size *c = &look->claims->collectives[i];
		double ns = c->bus_bytes / c->expected_gbps;

		if (c->expected_gbps > 0 && c->bus_bytes > TW_LIMIT_LARGE_COLLECTIVE_BYTES)
			claim_transfer(look, TW_KIND_low_bandwidth_collective,
				       r->collectives[i].last, ns,
				       ns + TW_LIMIT_COLLECTIVE_LATENCY_NS);
	}
}

/* ---- small ones */

static int64_t launch_ns(const struct tw_look *look, uint32_t g)
{
	uint32_t point = look->part->rank.launch[g];

	return point == TW_NO_POINT ? INT64_MIN : look->part->points[point].time_ns;
}

static bool is_small(const struct tw_collective_size *c)
{
	return c->bus_bytes > 0 && c->bus_bytes < TW_LIMIT_SMALL_COLLECTIVE_BYTES &&
	       c->expected_gbps > 0;
}

/* Whether a collective follows the one before on its stream. */
static bool follows(const struct tw_look *look, uint32_t i)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t g = r->collectives[i].first, before = r->collectives[i - 1].first;

	return r->queue[g] == r->queue[before] && launch_ns(look, before) != INT64_MIN &&
	       launch_ns(look, g) != INT64_MIN &&
	       launch_ns(look, g) - launch_ns(look, before) <
		       TW_LIMIT_SMALL_COLLECTIVES_TOGETHER_US * 1000;
}

/* Of a row all but the first can do without the latency. */
static void end_row(struct tw_look *look, uint32_t begin, uint32_t end)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i;

	for (i = begin + 1; end - begin >= TW_LIMIT_SMALL_COLLECTIVES_LEAST && i < end; i++) {
		const struct tw_collective_size *c = &look->claims->collectives[i];
		double ns = c->bus_bytes / c->expected_gbps;

		claim_transfer(look, TW_KIND_small_collectives, r->collectives[i].last, ns, ns);
	}
}

static void look_at_small(struct tw_look *look)
{
	const struct tw_collective_size *c = look->claims->collectives;
	uint32_t count = look->part->rank.collective_count, i, begin = 0;

	for (i = 0; i < count && !look->failed; i++) {
		if (i > begin && (!is_small(&c[i]) || !follows(look, i))) {
			end_row(look, begin, i);
			begin = i;
		}
		if (!is_small(&c[i]))
			begin = i + 1;
	}
	if (begin < count && !look->failed)
		end_row(look, begin, count);
}

/* ---- gradients that are reduced after the backward pass */

/* A gradient that is there: when, and its elements. */
struct accumulated {
	int64_t start_ns, step;
	double elements;
};

/* Of all steps, in order of step; where those of the one that is looked at begin, and how many. */
struct gradients {
	struct tw_look *look;
	uint32_t *backward; /* GPU events of the backward pass, in order of launch */
	uint32_t *reducing; /* numbers of collectives of gradients, in order of start */
	uint32_t *reduced;  /* those of the step that come after its backward pass */
	TW_LIST(struct accumulated) accumulated;
	uint32_t backward_count, reducing_count, backward_first, reducing_first;
	uint32_t step_backward, step_reducing, reduced_count;
	size_t accumulated_first, step_accumulated;
};

/* The step of GPU work, 0 where there are none; -1: outside all. */
static int64_t step_of(const struct tw_look *look, uint32_t g)
{
	const struct tw_path_rank *r = &look->part->rank;

	return r->launch[g] == TW_NO_POINT ? -1 : r->step_count ? r->step[g] : 0;
}

static int64_t step_of_collective(const struct tw_look *look, uint32_t i)
{
	return step_of(look, look->part->rank.collectives[i].first);
}

static uint64_t backward_key(const void *look, uint32_t g)
{
	return (uint64_t)step_of(look, g);
}

static uint64_t reducing_key(const void *look, uint32_t i)
{
	return (uint64_t)step_of_collective(look, i);
}

static void list_work(struct gradients *s)
{
	struct tw_look *look = s->look;
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i, g;

	for (i = 0; i < r->launched_count; i++) {
		g = r->launched[i];
		if (look->claims->pass[g] && look->d->gpu.bucket[g] == TW_COMPUTE &&
		    step_of(look, g) >= 0)
			s->backward[s->backward_count++] = g;
	}
	for (i = 0; i < r->collective_count; i++)
		if (look->claims->collectives[i].reduces && step_of_collective(look, i) >= 0)
			s->reducing[s->reducing_count++] = i;
	look->failed |=
		tw_sort(s->backward, s->backward_count, backward_key, look, look->scratch) ||
		tw_sort(s->reducing, s->reducing_count, reducing_key, look, look->scratch);
}

static int by_start(const void *a, const void *b)
{
	const struct accumulated *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void list_accumulated(struct gradients *s)
{
	struct tw_look *look = s->look;
	uint32_t i;

	for (i = 0; i < look->d->host.count && !look->failed; i++) {
		const struct tw_shape *shape;
		struct accumulated a;

		if (strcmp(tw_look_name(look, i), "torch::autograd::AccumulateGrad"))
			continue;
		a.start_ns = tw_look_start(look, i);
		a.step = look->part->rank.step_count ? tw_step_index(look, a.start_ns) : 0;
		shape = a.step < 0 ? NULL : tw_shape_of(look, i);
		if (!shape || !shape->tensors)
			continue;
		a.elements = shape->elements[0];
		look->failed |= !TW_LIST_ADD(&s->accumulated, &a, look->scratch);
	}
	if (s->accumulated.count)
		qsort(s->accumulated.at, s->accumulated.count, sizeof(*s->accumulated.at),
		      by_start);
}

/* Goes on to a step: steps are in order of start, as all three lists are. */
static void go_to(struct gradients *s, int64_t step)
{
	const struct tw_look *look = s->look;

	s->backward_first += s->step_backward;
	s->reducing_first += s->step_reducing;
	s->accumulated_first += s->step_accumulated;
	s->step_backward = s->step_reducing = 0;
	s->step_accumulated = 0;
	while (s->backward_first + s->step_backward < s->backward_count &&
	       step_of(look, s->backward[s->backward_first + s->step_backward]) == step)
		s->step_backward++;
	while (s->reducing_first + s->step_reducing < s->reducing_count &&
	       step_of_collective(look, s->reducing[s->reducing_first + s->step_reducing]) == step)
		s->step_reducing++;
	while (s->accumulated_first + s->step_accumulated < s->accumulated.count &&
	       s->accumulated.at[s->accumulated_first + s->step_accumulated].step == step)
		s->step_accumulated++;
}

/* Collectives that are launched after the last work of the backward pass. */
static void list_reduced(struct gradients *s)
{
	struct tw_look *look = s->look;
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i, last;

	s->reduced_count = 0;
	if (!s->step_backward)
		return;
	last = s->backward[s->backward_first + s->step_backward - 1];
	for (i = s->reducing_first; i < s->reducing_first + s->step_reducing; i++)
		if (launch_ns(look, r->collectives[s->reducing[i]].first) >
		    look->part->points[r->launch_end[last]].time_ns)
			s->reduced[s->reduced_count++] = s->reducing[i];
}

/* The last of the backward pass launched before a time, else its first. */
static uint32_t backward_before(const struct gradients *s, int64_t time_ns)
{
	const uint32_t *list = s->backward + s->backward_first;
	size_t n = TW_LOWER_BOUND(at, 0, s->step_backward, launch_ns(s->look, list[at]) <= time_ns);

	return list[n ? n - 1 : 0];
}

/*
 * The run of gradients, from number `*from` of the step on, that has as many elements as a
 * collective; false: there is none.
 */
static bool find_run(const struct gradients *s, double elements, size_t *from, uint32_t *last)
{
	const struct accumulated *list = s->accumulated.at;
	size_t i, end = *from;
	double sum = 0;

	if (!list)
		return false;
	list += s->accumulated_first;
	for (i = *from; i < s->step_accumulated && elements > 0; i++) {
		while (end < s->step_accumulated && sum < elements)
			sum += list[end++].elements;
		if (sum == elements) {
			*last = backward_before(s, list[end - 1].start_ns);
			*from = end;
			return true;
		}
		sum -= list[i].elements;
	}
	return false;
}

/* By elements where all collectives have a run, else by their share of the bytes. */
static void find_ready(const struct gradients *s, uint32_t *ready)
{
	const struct tw_collective_size *sizes = s->look->claims->collectives;
	const uint32_t *backward = s->backward + s->backward_first;
	double all = 0, bytes = 0, total = 0, done = 0;
	uint32_t i, k = 0;
	size_t from = 0;

	for (i = 0; i < s->reduced_count; i++)
		if (!find_run(s, sizes[s->reduced[i]].in, &from, &ready[i]))
			break;
	if (i == s->reduced_count)
		return;
	for (i = 0; i < s->reduced_count; i++)
		all += fmax(1, sizes[s->reduced[i]].in);
	for (i = 0; i < s->step_backward; i++)
		total += (double)tw_gpu_ns(s->look, backward[i]);
	for (i = 0; i < s->reduced_count; i++) {
		bytes += fmax(1, sizes[s->reduced[i]].in);
		while (k + 1 < s->step_backward &&
		       done + (double)tw_gpu_ns(s->look, backward[k]) < bytes / all * total)
			done += (double)tw_gpu_ns(s->look, backward[k++]);
		ready[i] = backward[k];
	}
}

static void look_at_step(struct gradients *s, int64_t step, uint32_t *ready)
{
	const struct tw_path_rank *r = &s->look->part->rank;
	uint32_t i;

	go_to(s, step);
	list_reduced(s);
	if (!s->reduced_count)
		return;
	find_ready(s, ready);
	for (i = 0; i < s->reduced_count; i++) {
		uint32_t g = r->collectives[s->reduced[i]].first;

		tw_claim_change(s->look, TW_KIND_exposed_communication,
				&(struct tw_remedy_part){ .kind = TW_REMEDY_EARLIER,
							  .gpu = g,
							  .other = ready[i] });
		tw_claim_collective(s->look, TW_KIND_exposed_communication, g);
	}
}

static void look_at_exposed(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	struct gradients s = { .look = look };
	size_t collectives = (size_t)r->collective_count + 1;
	uint32_t *ready = tw_alloc_array(look->scratch, collectives, sizeof(*ready));
	int64_t step;

	s.backward =
		tw_alloc_array(look->scratch, (size_t)r->launched_count + 1, sizeof(*s.backward));
	s.reducing = tw_alloc_array(look->scratch, collectives, sizeof(*s.reducing));
	s.reduced = tw_alloc_array(look->scratch, collectives, sizeof(*s.reduced));
	look->failed |= !ready || !s.backward || !s.reducing || !s.reduced;
	if (look->failed)
		return;
	list_work(&s);
	if (s.backward_count && s.reducing_count)
		list_accumulated(&s);
	for (step = 0; step < (r->step_count ? r->step_count : 1) && !look->failed; step++)
		look_at_step(&s, step, ready);
}

/*
 * Of one rank alone nobody knows what of a collective is waiting and what is transfer: at most all of it
 * goes but what the link needs.
 */
static bool free_alone(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	const struct tw_path_rank *r = &d->path->ranks[0];
	const struct tw_claims *c = &d->claims[0];
	double all_ns = 0, most_ns = 0, most_bytes = 0;
	uint32_t i;

	for (i = 0; i < c->collective_count; i++) {
		uint32_t g = r->collectives[i].last;
		double ns = (double)(d->path->points[tw_gpu_end(r, g)].time_ns -
				     d->path->points[tw_gpu_start(r, g)].time_ns);
		double link_ns =
			c->collectives[i].expected_gbps > 0 ?
				c->collectives[i].bus_bytes / c->collectives[i].expected_gbps +
					TW_LIMIT_COLLECTIVE_LATENCY_NS :
				0;

		if (link_ns >= ns)
			continue;
		tw_scenario_duration(s, r, g, link_ns);
		if (!tw_in_part(d->path, tw_gpu_start(r, g)))
			continue;
		all_ns += ns;
		if (ns - link_ns > most_ns) {
			most_ns = ns - link_ns;
			most_bytes = c->collectives[i].bus_bytes / ns;
		}
		f->changed++;
		if (c->collectives[i].name)
			tw_add_place(f, "%s",
				     tw_pool_text(&c->texts, c->collectives[i].name, NULL));
	}
	f->words = &tw_words_exposed_communication_alone;
	tw_add_evidence(f,
			"%.3f ms in %llu collectives%s, %.1f GB/s of bus bandwidth in the one "
			"with the most to gain: slow links, or waiting for other ranks",
			all_ns / 1e6, (unsigned long long)f->changed,
			tw_is_parted(d->path) ? "" : " of all steps", most_bytes);
	return f->changed;
}

static bool set_exposed(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	return d->rank_count == 1 ? free_alone(d, s, f) : tw_apply_claims(d, f);
}

const struct tw_kind tw_kind_low_bandwidth_collective = { .look = look_at_bandwidth };
const struct tw_kind tw_kind_small_collectives = { .look = look_at_small };
const struct tw_kind tw_kind_exposed_communication = { .look = look_at_exposed,
						       .change = set_exposed };
