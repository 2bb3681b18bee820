/*
 * Communication: low_bandwidth_collective, transfers below half of the bandwidth expected of the platform;
 * small_collectives, of which all but the first could do without the latency; exposed_communication,
 * collectives of gradients that are launched after the backward pass.
 */
#include "diagnose/kinds.h"

#include "analysis/ops/collective_args.h"
#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below it latency decides, not bandwidth. */
#define LARGE_BYTES 4e6
#define SMALL_BYTES 1e6
#define LATENCY_NS 10000
/* All-to-all reaches less of a ring's bandwidth. */
#define TO_ALL_SHARE 0.7
enum { TOGETHER_NS = 200000, LEAST_SMALL = 4 };

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
		out->expected_gbps = tw_node_link(look) * (out->to_all ? TO_ALL_SHARE : 1);
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
						  .ns = (int64_t)(ns + 0.5) });
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

		if (c->expected_gbps > 0 && c->bus_bytes > LARGE_BYTES)
			claim_transfer(look, TW_KIND_low_bandwidth_collective,
				       r->collectives[i].last, ns, ns + LATENCY_NS);
	}
}

/* ---- small ones */

static int64_t launch_ns(const struct tw_look *look, uint32_t g)
{
	uint32_t point = look->part->rank.launch[g];

	return point == TW_NO_POINT ? INT64_MIN : look->part->points[point].time_ns;
}

static bool is_small_after(const struct tw_look *look, uint32_t i)
{
	const struct tw_path_rank *r = &look->part->rank;
	const struct tw_collective_size *c = &look->claims->collectives[i];
	uint32_t g = r->collectives[i].first, before = r->collectives[i - 1].first;

	return c->bus_bytes > 0 && c->bus_bytes < SMALL_BYTES && c->expected_gbps > 0 &&
	       r->queue[g] == r->queue[before] && launch_ns(look, before) != INT64_MIN &&
	       launch_ns(look, g) - launch_ns(look, before) < TOGETHER_NS;
}

static void look_at_small(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i, count = 0;

	for (i = 1; i < r->collective_count; i++)
		count += is_small_after(look, i);
	for (i = 1; i < r->collective_count && count >= LEAST_SMALL && !look->failed; i++) {
		const struct tw_collective_size *c = &look->claims->collectives[i];

		if (is_small_after(look, i))
			claim_transfer(look, TW_KIND_small_collectives, r->collectives[i].last,
				       c->bus_bytes / c->expected_gbps,
				       c->bus_bytes / c->expected_gbps);
	}
}

/* ---- gradients that are reduced after the backward pass */

struct gradients {
	struct tw_look *look;
	int32_t step;
	uint32_t *backward; /* GPU events of the backward pass, in order of launch */
	uint32_t *reduced;  /* numbers of collectives that come after it, in order of start */
	uint32_t backward_count, reduced_count;
	TW_LIST(struct accumulated) accumulated;
};

/* A gradient that is there: when, and its elements. */
struct accumulated {
	int64_t start_ns;
	double elements;
};

static bool is_of_step(const struct gradients *s, uint32_t g)
{
	return !s->look->part->rank.step_count || s->look->part->rank.step[g] == s->step;
}

static void list_step(struct gradients *s)
{
	struct tw_look *look = s->look;
	const struct tw_path_rank *r = &look->part->rank;
	int64_t last_ns;
	uint32_t i, g;

	s->backward_count = s->reduced_count = 0;
	for (i = 0; i < r->launched_count; i++) {
		g = r->launched[i];
		if (look->claims->pass[g] && look->d->gpu.bucket[g] == TW_COMPUTE &&
		    is_of_step(s, g))
			s->backward[s->backward_count++] = g;
	}
	if (!s->backward_count)
		return;
	g = s->backward[s->backward_count - 1];
	last_ns = look->part->points[r->launch_end[g]].time_ns;
	for (i = 0; i < r->collective_count; i++) {
		g = r->collectives[i].first;
		if (look->claims->collectives[i].reduces && r->launch[g] != TW_NO_POINT &&
		    is_of_step(s, g) && launch_ns(look, g) > last_ns)
			s->reduced[s->reduced_count++] = i;
	}
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

	s->accumulated.count = 0;
	for (i = 0; i < look->d->host.count && !look->failed; i++) {
		const struct tw_shape *shape;
		struct accumulated a;

		if (strcmp(tw_look_name(look, i), "torch::autograd::AccumulateGrad"))
			continue;
		a.start_ns = tw_look_start(look, i);
		if (look->part->rank.step_count && tw_step_index(look, a.start_ns) != s->step)
			continue;
		shape = tw_shape_of(look, i);
		if (!shape || !shape->tensors)
			continue;
		a.elements = shape->elements[0];
		look->failed |= !TW_LIST_ADD(&s->accumulated, &a, look->scratch);
	}
	if (s->accumulated.count)
		qsort(s->accumulated.at, s->accumulated.count, sizeof(*s->accumulated.at),
		      by_start);
}

/* The last of the backward pass launched before a time. */
static uint32_t backward_before(const struct gradients *s, int64_t time_ns)
{
	uint32_t i = 0;

	while (i < s->backward_count && launch_ns(s->look, s->backward[i]) <= time_ns)
		i++;
	return s->backward[i ? i - 1 : 0];
}

/*
 * The run of gradients, from number `*from` on, that has as many elements as a collective; false: there
 * is none.
 */
static bool find_run(const struct gradients *s, double elements, size_t *from, uint32_t *last)
{
	size_t i, end;

	for (i = *from; i < s->accumulated.count; i++) {
		double sum = 0;

		for (end = i; end < s->accumulated.count && sum < elements; end++)
			sum += s->accumulated.at[end].elements;
		if (sum != elements)
			continue;
		*last = backward_before(s, s->accumulated.at[end - 1].start_ns);
		*from = end;
		return true;
	}
	return false;
}

/* By elements where all collectives have a run, else by their share of the bytes. */
static void find_ready(const struct gradients *s, uint32_t *ready)
{
	const struct tw_collective_size *sizes = s->look->claims->collectives;
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
	for (i = 0; i < s->backward_count; i++)
		total += (double)tw_gpu_ns(s->look, s->backward[i]);
	for (i = 0; i < s->reduced_count; i++) {
		bytes += fmax(1, sizes[s->reduced[i]].in);
		while (k + 1 < s->backward_count &&
		       done + (double)tw_gpu_ns(s->look, s->backward[k]) < bytes / all * total)
			done += (double)tw_gpu_ns(s->look, s->backward[k++]);
		ready[i] = s->backward[k];
	}
}

static void look_at_step(struct gradients *s, uint32_t *ready)
{
	const struct tw_path_rank *r = &s->look->part->rank;
	uint32_t i;

	list_step(s);
	if (!s->reduced_count)
		return;
	list_accumulated(s);
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
	uint32_t *ready =
		tw_alloc_array(look->scratch, (size_t)r->collective_count + 1, sizeof(*ready));

	s.backward =
		tw_alloc_array(look->scratch, (size_t)r->launched_count + 1, sizeof(*s.backward));
	s.reduced =
		tw_alloc_array(look->scratch, (size_t)r->collective_count + 1, sizeof(*s.reduced));
	look->failed |= !ready || !s.backward || !s.reduced;
	for (s.step = 0; s.step < (int32_t)(r->step_count ? r->step_count : 1); s.step++)
		if (!look->failed && r->collective_count)
			look_at_step(&s, ready);
}

/*
 * Of one rank alone nobody knows what of a collective is waiting and what is transfer: at most all of it
 * goes but what the link needs.
 */
static bool free_alone(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	const struct tw_path_rank *r = &d->path->ranks[0];
	const struct tw_claims *c = &d->claims[0];
	int64_t all_ns = 0;
	uint32_t i;

	for (i = 0; i < c->collective_count; i++) {
		uint32_t g = r->collectives[i].last;
		double ns = (double)(d->path->points[tw_gpu_end(r, g)].time_ns -
				     d->path->points[tw_gpu_start(r, g)].time_ns);
		double link_ns =
			c->collectives[i].expected_gbps > 0 ?
				c->collectives[i].bus_bytes / c->collectives[i].expected_gbps +
					LATENCY_NS :
				0;

		if (link_ns >= ns)
			continue;
		all_ns += (int64_t)ns;
		tw_scenario_duration(s, r, g, link_ns);
		f->changed++;
		if (c->collectives[i].name)
			tw_add_place(f, "%.100s",
				     tw_pool_text(&c->texts, c->collectives[i].name, NULL));
	}
	f->how = "bound";
	tw_evidence(
		f,
		"%.3f ms in %llu collectives; with one rank alone it is not known what of it is "
		"waiting for others",
		(double)all_ns / 1e6, (unsigned long long)f->changed);
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
