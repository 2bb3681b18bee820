/* Whose work it is: module, call site, pass and phase of GPU events, and where a remedy saves time. */
#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "base/order.h"
#include "base/scope.h"
#include "data/limits.h"
#include "text/str.h"
#include "text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- of one rank */

struct whose_key {
	uint32_t attribution, pass, phase, captured;
};

/* Where no operator or frame is around a launch, nothing says in which pass it is. */
static uint32_t pass_of(const struct tw_look *look, uint32_t g, uint32_t origin)
{
	const struct tw_attribution *a = tw_attribution_of_node(look->who, origin);

	if (tw_in_optimizer(look, look->d->gpu.launch[g]))
		return TW_WHOSE_OPTIMIZER;
	return a->path || a->site || a->pass != TW_PASS_FORWARD ||
			       tw_launching_op(look->d, origin, false) != TW_NONE ?
		       a->pass :
		       TW_WHOSE_NO_PASS;
}

/* "Block_*" of "Block_7", else the name itself. */
static uint32_t modules_text(struct tw_look *look, const char *name, size_t len)
{
	size_t class = tw_module_class_len(name, len);
	struct tw_str out;
	uint32_t text;

	if (class == len)
		return tw_claim_text(look, name, len);
	tw_str_init(&out, look->scratch);
	tw_str_add(&out, name, class);
	tw_str_add_cstr(&out, "_*");
	look->failed |= out.failed;
	text = out.failed ? 0 : tw_claim_text(look, out.ptr, out.len);
	tw_str_release(&out);
	return text;
}

static struct tw_whose describe(struct tw_look *look, const struct whose_key *key)
{
	const struct tw_attribution *a = tw_groups_key(&look->who->all, key->attribution);
	struct tw_whose whose = { .pass = key->pass,
				  .phase = key->phase,
				  .captured = key->captured };
	const char *text;
	size_t len;

	if (a->path) {
		text = tw_module_name(look->who, a->path, &len);
		whose.module = tw_claim_text(look, text, len);
		whose.modules = modules_text(look, text, len);
	}
	if (a->site) {
		text = tw_pool_text(&look->trace->texts, a->site, &len);
		whose.site = tw_claim_text(look, text, len);
	}
	return whose;
}

static int by_start(const void *a, const void *b)
{
	const struct tw_served_time *x = a, *y = b;

	return TW_ORDER_BY(x, y, start_ns, end_ns, phase);
}

/* A step of another thread within one hides no more of it than its own time. */
static void list_served(struct tw_look *look)
{
	const struct tw_when *when = look->when;
	const struct tw_span_index *x = &when->served.by_process;
	struct tw_claims *c = look->claims;
	size_t place, i;

	for (place = 0; place < x->count; place++)
		for (i = x->places[place].first; i + 1 < x->places[place].end; i++) {
			const struct tw_span_segment *s = &x->segments[i];

			if (s->span == UINT32_MAX)
				continue;
			look->failed |= !TW_LIST_ADD(
				&c->served,
				&((struct tw_served_time){ s->start_ns, s[1].start_ns,
							   when->serving[s->span].phase }),
				c->allocator);
		}
	if (c->served.count)
		qsort(c->served.at, c->served.count, sizeof(*c->served.at), by_start);
}

void tw_list_whose(struct tw_look *look)
{
	const struct tw_whose none = { .pass = TW_WHOSE_NO_PASS, .phase = TW_PHASES };
	const uint32_t *origins = tw_gpu_origins(look->d);
	struct tw_claims *c = look->claims;
	struct tw_groups numbers;
	uint32_t g;

	list_served(look);
	tw_groups_init_values(&numbers, sizeof(struct whose_key), sizeof(uint32_t), look->scratch);
	look->failed |= !TW_LIST_ADD(&c->whose, &none, c->allocator);
	for (g = 0; g < c->gpu_count && !look->failed; g++) {
		struct whose_key key;
		uint32_t *number;

		if (origins[g] == TW_NONE)
			continue;
		key = (struct whose_key){ look->who->of_node[origins[g]],
					  pass_of(look, g, origins[g]),
					  tw_when_phase(look->when, g),
					  tw_is_replayed(look->d, g) };
		number = tw_groups_at(&numbers, &key);
		look->failed |= !number;
		if (number && !*number) {
			struct tw_whose whose = describe(look, &key);

			look->failed |= !TW_LIST_ADD(&c->whose, &whose, c->allocator);
			*number = (uint32_t)c->whose.count - 1;
		}
		c->whose_of[g] = number ? *number : 0;
	}
}

/* ---- of a finding */

struct savings {
	double passes[TW_WHOSE_PASSES], phases[TW_PHASES + 1];
	double all;
	bool has_phases;
};

/*
 * Time that a remedy saves, by whose work ended earlier: of the work in order of launch, how much later than all
 * before each ends, less the same with the remedy.
 */
static void add_up(const struct tw_diagnosis *d, uint32_t rank, struct tw_times times, double *sums)
{
	const struct tw_times recorded = tw_recorded(d->path);
	const struct tw_path_rank *r = &d->path->ranks[rank];
	int64_t was = INT64_MIN, is = INT64_MIN;
	uint32_t i;

	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i], end = tw_gpu_end(r, g);
		int64_t was_end = tw_time(recorded, end), is_end = tw_time(times, end);

		if (!tw_in_part(d->path, tw_gpu_start(r, g)))
			continue;
		if (was == INT64_MIN) {
			was = tw_time(recorded, tw_gpu_start(r, g));
			is = tw_time(times, tw_gpu_start(r, g));
		}
		if (was_end > was) {
			sums[d->claims[rank].whose_of[g]] += (double)(was_end - was);
			was = was_end;
		}
		if (is_end > is) {
			sums[d->claims[rank].whose_of[g]] -= (double)(is_end - is);
			is = is_end;
		}
	}
}

static void take_savings(const struct tw_claims *c, const double *sums, struct savings *s)
{
	size_t i;

	for (i = 0; i < c->whose.count; i++) {
		s->passes[c->whose.at[i].pass] += sums[i];
		s->phases[c->whose.at[i].phase] += sums[i];
		s->has_phases |= c->whose.at[i].phase < TW_PHASES;
		s->all += sums[i];
	}
}

enum { MODULE, MODULES, SITE, MEMBERS };

/* Of all ranks the gains of each module, class of modules and call site: { member, text } -> double. */
struct names {
	struct tw_pool texts;
	struct tw_groups sums;
};

static void add_names(struct names *n, const struct tw_claims *c, const double *sums)
{
	size_t i;
	uint32_t m;

	for (i = 0; i < c->whose.count; i++) {
		const struct tw_whose *w = &c->whose.at[i];
		const uint32_t text[MEMBERS] = { w->module, w->modules, w->site };

		for (m = 0; m < MEMBERS && sums[i] != 0; m++) {
			uint32_t key[2] = { m, 0 };
			double *sum;
			size_t len;
			const char *name = tw_pool_text(&c->texts, text[m], &len);

			if (!text[m])
				continue;
			key[1] = tw_pool_intern(&n->texts, name, len);
			sum = tw_groups_at(&n->sums, key);
			*(sum ? sum : &(double){ 0 }) += sums[i];
		}
	}
}

/* That with the most of the gain, "": it is little of all. */
static bool name_most(const struct names *n, uint32_t member, double least, char *out, size_t size)
{
	uint32_t i, best = TW_NO_GROUP;
	double most = 0;
	size_t len;
	const char *name;

	for (i = 0; i < n->sums.count; i++) {
		const uint32_t *key = tw_groups_key(&n->sums, i);
		const double *sum = tw_groups_value(&n->sums, i);

		if (*key != member || *sum <= most)
			continue;
		most = *sum;
		best = key[1];
	}
	if (best == TW_NO_GROUP || most < least)
		return false;
	name = tw_pool_text(&n->texts, best, &len);
	tw_cut_into(out, size, name, len);
	return true;
}

/* Module, else modules of one class, and call site with the most, where a finding has no other. */
static void set_names(struct tw_finding *f, const struct names *n, double all)
{
	double least = TW_LIMIT_WHOSE_LEAST_PERCENT * all / 100;

	if (all <= 0 || *f->module || (*f->site && !f->in_many))
		return;
	if (!name_most(n, MODULE, least, f->module, sizeof(f->module)))
		name_most(n, MODULES, least, f->module, sizeof(f->module));
	if (!*f->site)
		name_most(n, SITE, least, f->site, sizeof(f->site));
}

/* "backward 72 %, forward 28 %"; "backward"; the last name is of the rest, and never alone */
static void list_shares(char *out, size_t size, double *sums, size_t count,
			const char *const *names)
{
	double all = 0;
	size_t i, best, named = 0, len = 0;

	for (i = 0; i < count; i++)
		all += sums[i] = fmax(0, sums[i]);
	for (;; sums[best] = 0, named++) {
		double percent;

		for (i = 1, best = 0; i < count; i++)
			best = sums[i] > sums[best] ? i : best;
		percent = all > 0 ? 100 * sums[best] / all : 0;
		if (percent < TW_LIMIT_SHARE_LEAST_PERCENT)
			return;
		if (!named && percent > 100 - TW_LIMIT_SHARE_LEAST_PERCENT) {
			if (best < count - 1)
				snprintf(out, size, "%s", names[best]);
			return;
		}
		len = strlen(out);
		snprintf(out + len, size - len, "%s%s %.0f %%", named ? ", " : "", names[best],
			 percent);
	}
}

void tw_find_whose(struct tw_diagnosis *d, struct tw_times times, struct tw_finding *f)
{
	static const char *const pass_names[] = { "forward", "backward", "recompute", "optimizer",
						  "outside" };
	const char *phase_names[TW_PHASES + 1];
	struct savings s = { 0 };
	uint32_t i, from = *f->ranks ? f->first_rank : 0, to = *f->ranks ? from + 1 : d->rank_count;
	struct names names = { 0 };
	struct tw_scope scope;

	tw_scope_begin(&scope, d->allocator);
	d->failed |= tw_pool_init(&names.texts, &scope.allocator) != 0;
	tw_groups_init_values(&names.sums, 2 * sizeof(uint32_t), sizeof(double), &scope.allocator);
	for (i = from; i < to && !d->failed; i++) {
		const struct tw_claims *c = &d->claims[i];
		size_t bytes = (c->whose.count + 1) * sizeof(double);
		double *sums = tw_alloc_array(&scope.allocator, bytes, 1);

		d->failed |= !sums;
		if (!sums)
			break;
		add_up(d, i, times, sums);
		take_savings(c, sums, &s);
		add_names(&names, c, sums);
		tw_free(&scope.allocator, sums, bytes);
	}
	d->failed |= names.texts.failed || names.sums.failed;
	if (!d->failed)
		set_names(f, &names, s.all);
	tw_scope_end(&scope);
	memcpy(phase_names, tw_phase_names, sizeof(tw_phase_names));
	phase_names[TW_PHASES] = "outside";
	list_shares(f->passes, sizeof(f->passes), s.passes, TW_WHOSE_PASSES, pass_names);
	if (s.has_phases)
		list_shares(f->phases, sizeof(f->phases), s.phases, TW_PHASES + 1, phase_names);
}
