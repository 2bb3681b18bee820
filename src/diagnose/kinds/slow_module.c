/*
 * A module that takes longer than its siblings, modules of its class at the same place of the model, for the same work:
 * the same kernels with the same shapes and grids in the same order; what has neither recorded is like nothing else.
 * By step, in most of several; the outermost such module.
 * Without: each of its kernels takes what the siblings' do in the median.
 */
#include "diagnose/kinds.h"

#include "analysis/who/module_classes.h"
#include "base/alloc.h"
#include "base/median.h"
#include "base/order.h"
#include "data/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define KIND TW_KIND_slow_module

/* The median absolute deviation of a normal distribution times this is its standard deviation. */
#define MAD_TO_DEVIATION 1.4826

#define HASH_FACTOR 1099511628211u /* FNV-1a of 64 bits */

/* What a module did in a step, with all below it. */
struct unit {
	uint32_t class, module;
	int64_t step;
	uint64_t work; /* hash of its kernels */
	int64_t ns;
	uint32_t count, first; /* of its GPU events, in `events` */
	bool is_slow;
	int64_t most_ns;       /* that one of them takes longer */
	struct tw_leaf *worst; /* it */
	size_t others;
	int64_t usual_ns; /* of those: how many siblings, and what they take in the median */
};

struct votes {
	uint32_t slow, all;
};

struct search {
	struct tw_look *look;
	uint32_t *class_of,
		*at_depth; /* by module: class; itself or what is around it at a depth */
	uint32_t *current; /* by module: number of its last unit, + 1 */
	bool *covered;	   /* by module: it, or one around it, is found */
	struct votes *votes;
	TW_LIST(struct unit) units;
	uint64_t *work;		    /* by GPU event: hash of what it does; 0: no computing */
	uint32_t *unit_of, *events; /* by GPU event; GPU events by unit */
	int64_t *values;	    /* room for as many as there are units */
};

static int by_work(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return TW_ORDER_BY(x, y, class, step, work, module);
}

static bool is_same_work(const struct unit *x, const struct unit *y)
{
	return x->class == y->class && x->step == y->step && x->work == y->work &&
	       x->count == y->count;
}

/* Where steps are not annotated, the step of the inference server. */
static int64_t step_of(const struct tw_look *look, uint32_t g)
{
	const struct tw_when *when = look->when;
	int32_t step = look->part->rank.step[g];

	return step < 0 && when->phase && when->phase[g] != TW_NONE ? (int64_t)when->phase[g] :
								      step;
}

static uint32_t unit_at(struct search *s, uint32_t module, int64_t step)
{
	uint32_t number = s->current[module];

	if (number && s->units.at[number - 1].step == step)
		return number - 1;
	s->look->failed |= !TW_LIST_ADD(
		&s->units,
		&((struct unit){ .class = s->class_of[module], .module = module, .step = step }),
		s->look->scratch);
	s->current[module] = (uint32_t)s->units.count;
	return s->look->failed ? TW_NONE : s->current[module] - 1;
}

/* Its kernel with shapes, grid and block; without shapes and grid a number that no other one has. */
static uint64_t work_of(const struct tw_look *look, uint32_t g)
{
	const struct tw_leaf *leaf = &look->leaves[look->leaf_of[g]];
	const struct {
		uint32_t event;
		enum tw_key key;
	} of[] = { { look->d->host.event[leaf->node], TW_KEY_input_dims },
		   { look->d->gpu.event[g], TW_KEY_grid },
		   { look->d->gpu.event[g], TW_KEY_block } };
	uint64_t work = look->claims->place[g];
	bool known = false;
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct trawl_argument arg;

		if (!trawl_event_argument(look->trace, of[i].event, of[i].key, &arg) ||
		    arg.kind != TRAWL_VALUE_JSON)
			continue;
		known |= of[i].key != TW_KEY_block && look->trace->texts.entries[arg.text].len > 2;
		work = work * HASH_FACTOR ^ arg.text;
	}
	return known ? work : work * HASH_FACTOR ^ ((uint64_t)g + 1) << 32;
}

static void list_work(struct search *s)
{
	const struct tw_path_rank *r = &s->look->part->rank;
	uint32_t i;

	for (i = 0; i < r->launched_count; i++)
		s->work[r->launched[i]] = s->look->claims->place[r->launched[i]] ?
						  work_of(s->look, r->launched[i]) :
						  0;
}

/* Computing of modules of a depth, by step, in order of launch. */
static void list_units(struct search *s)
{
	struct tw_look *look = s->look;
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i, sum = 0;

	for (i = 0; i < r->launched_count && !look->failed; i++) {
		uint32_t g = r->launched[i], n;
		const struct tw_attribution *a = tw_attribution_of_gpu(look->who, g);
		uint32_t module = a ? s->at_depth[a->path] : 0;

		s->unit_of[g] = TW_NONE;
		if (!module || s->covered[module] || !s->work[g])
			continue;
		n = unit_at(s, module, step_of(look, g));
		s->unit_of[g] = n;
		if (n == TW_NONE)
			return;
		s->units.at[n].ns += tw_gpu_ns(look, g);
		s->units.at[n].work = s->units.at[n].work * HASH_FACTOR ^ s->work[g];
		s->units.at[n].count++;
	}
	for (i = 0; i < s->units.count; i++) {
		s->units.at[i].first = sum;
		sum += s->units.at[i].count;
		s->units.at[i].count = 0;
	}
	for (i = 0; i < r->launched_count && !look->failed; i++) {
		uint32_t g = r->launched[i];
		struct unit *u = s->unit_of[g] == TW_NONE ? NULL : &s->units.at[s->unit_of[g]];

		if (u)
			s->events[u->first + u->count++] = g;
	}
}

/* Of units with the same work, those that take longer than the others: few, or they are of another sort. */
static void judge(struct search *s, struct unit *units, size_t count)
{
	size_t i, slow = 0;
	int64_t median, mad;

	if (count < TW_LIMIT_SIBLINGS_LEAST + 1)
		return;
	for (i = 0; i < count; i++)
		s->values[i] = units[i].ns;
	median = tw_middle_of(s->values, count).lower;
	for (i = 0; i < count; i++)
		s->values[i] = llabs(units[i].ns - median);
	mad = tw_middle_of(s->values, count).lower;
	for (i = 0; i < count; i++) {
		double above = (double)(units[i].ns - median);

		units[i].is_slow = above > TW_LIMIT_SIBLING_MADS * MAD_TO_DEVIATION * (double)mad &&
				   above * 100 > TW_LIMIT_SIBLING_PERCENT * (double)median;
		slow += units[i].is_slow;
	}
	for (i = 0; i < count; i++) {
		units[i].is_slow &= slow == 1 || slow <= count / TW_LIMIT_SIBLINGS_SLOW_SHARE;
		s->votes[units[i].module].slow += units[i].is_slow;
		s->votes[units[i].module].all++;
	}
}

/* The median of the others: of all they take, or of what the k-th kernel does. */
static int64_t median_of_others(struct search *s, const struct unit *units, size_t count,
				uint32_t k)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		if (!units[i].is_slow)
			s->values[n++] = k == TW_NONE ?
						 units[i].ns :
						 tw_gpu_ns(s->look, s->events[units[i].first + k]);
	return tw_middle_of(s->values, n).lower;
}

static void claim_kernel(struct search *s, struct unit *u, uint32_t k, int64_t ns)
{
	struct tw_look *look = s->look;
	uint32_t g = s->events[u->first + k];
	struct tw_leaf *leaf = &look->leaves[look->leaf_of[g]];
	int64_t more_ns = tw_gpu_ns(look, g) - ns;

	leaf->taken |= (double)more_ns * 100 > TW_LIMIT_SIBLING_PERCENT * (double)ns;
	tw_claim_duration(look, KIND, g, (double)ns);
	if (!u->worst || more_ns > u->most_ns) {
		u->most_ns = more_ns;
		u->worst = leaf;
	}
}

/* All that is of one work is together. */
static void for_each_work(struct search *s, void (*visit)(struct search *, struct unit *, size_t))
{
	size_t i, end;

	for (i = 0; i < s->units.count && !s->look->failed; i = end) {
		for (end = i + 1;
		     end < s->units.count && is_same_work(&s->units.at[i], &s->units.at[end]);
		     end++)
			;
		visit(s, s->units.at + i, end - i);
	}
}

static void claim_slow(struct search *s, struct unit *units, size_t count)
{
	size_t i, slow = 0, found = 0;
	int64_t usual;
	uint32_t k;

	for (i = 0; i < count; i++) {
		slow += units[i].is_slow;
		found += units[i].is_slow && s->covered[units[i].module];
	}
	for (k = 0; found && k < units[0].count; k++) {
		int64_t ns = median_of_others(s, units, count, k);

		for (i = 0; i < count; i++)
			if (units[i].is_slow && s->covered[units[i].module])
				claim_kernel(s, &units[i], k, ns);
	}
	usual = found ? median_of_others(s, units, count, TW_NONE) : 0;
	for (i = 0; i < count; i++) {
		units[i].others = count - slow;
		units[i].usual_ns = usual;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return TW_ORDER_BY(x, y, module, ns, step);
}

/* Of a module all that is slow, in the words of the step with the median. */
static void claim_module(struct search *s, const struct unit *units, size_t count)
{
	const struct unit *u = &units[(count - 1) / 2];
	char note[200];
	size_t i;

	snprintf(
		note, sizeof(note),
		"%.3f ms%s, its %zu siblings %.3f ms in the median, with the same kernels and shapes",
		(double)u->ns / 1e6, u->step >= 0 ? " in a step" : "", u->others,
		(double)u->usual_ns / 1e6);
	for (i = 0; i < count; i++)
		tw_claim_module(s->look, KIND, units[i].module,
				s->look->d->host.event[units[i].worst->node], note,
				units[i].ns - units[i].usual_ns);
}

/* Modules of a depth, in the part that is looked at. */
static void claim_modules(struct search *s)
{
	struct unit *units = s->units.at;
	size_t i, end, count = 0;

	for (i = 0; i < s->units.count; i++)
		if (units[i].is_slow && s->covered[units[i].module] &&
		    tw_is_gpu_viewed(s->look, s->events[units[i].first]))
			units[count++] = units[i];
	qsort(units, count, sizeof(*units), by_time);
	for (i = 0; i < count && !s->look->failed; i = end) {
		for (end = i + 1; end < count && units[end].module == units[i].module; end++)
			;
		claim_module(s, units + i, end - i);
	}
}

/* False: no module is as deep. */
static bool look_at_depth(struct search *s, uint32_t depth)
{
	const struct tw_attributions *who = s->look->who;
	bool any = false;
	uint32_t i;

	for (i = 1; i < who->module_count; i++) {
		const struct tw_module *m = &who->module[i];

		any |= m->depth == depth;
		s->at_depth[i] = m->depth == depth ? i :
				 m->depth > depth  ? s->at_depth[m->parent] :
						     0;
		s->covered[i] |= s->covered[m->parent];
		s->current[i] = 0;
		s->votes[i] = (struct votes){ 0 };
	}
	s->units.count = 0;
	list_units(s);
	if (s->look->failed || !s->units.count)
		return any && !s->look->failed;
	qsort(s->units.at, s->units.count, sizeof(*s->units.at), by_work);
	s->values = tw_alloc_array(s->look->scratch, s->units.count + 1, sizeof(*s->values));
	s->look->failed |= !s->values;
	for_each_work(s, judge);
	for (i = 1; i < who->module_count; i++)
		s->covered[i] |= s->votes[i].all >= TW_LIMIT_SIBLING_STEPS &&
				 2 * s->votes[i].slow > s->votes[i].all;
	for_each_work(s, claim_slow);
	claim_modules(s);
	return any;
}

static void look_at_siblings(struct tw_look *look)
{
	const struct trawl_allocator *a = look->scratch;
	size_t modules = (size_t)look->who->module_count + 1,
	       gpus = (size_t)look->claims->gpu_count + 1;
	struct search s = { .look = look };
	struct tw_groups classes;
	struct tw_pool names = { 0 };
	uint32_t depth;

	if (!look->who->modules)
		return;
	s.class_of = tw_alloc_array(a, modules, sizeof(*s.class_of));
	s.at_depth = tw_alloc_array(a, modules, sizeof(*s.at_depth));
	s.current = tw_alloc_array(a, modules, sizeof(*s.current));
	s.covered = tw_alloc_array(a, modules, sizeof(*s.covered));
	s.votes = tw_alloc_array(a, modules, sizeof(*s.votes));
	s.work = tw_alloc_array(a, gpus, sizeof(*s.work));
	s.unit_of = tw_alloc_array(a, gpus, sizeof(*s.unit_of));
	s.events = tw_alloc_array(a, gpus, sizeof(*s.events));
	tw_groups_init(&classes, 2 * sizeof(uint32_t), a);
	look->failed |= !s.class_of || !s.at_depth || !s.current || !s.covered || !s.votes ||
			!s.work || !s.unit_of || !s.events || tw_pool_init(&names, a) ||
			tw_module_classes_find(s.class_of, look->who, &classes, &names);
	if (!look->failed)
		list_work(&s);
	for (depth = 1; !look->failed && look_at_depth(&s, depth);)
		depth++;
	tw_pool_release(&names);
}

const struct tw_kind tw_kind_slow_module = { .look = look_at_siblings };
