/* Of the operations of a category what the reports tell: there may be more than memory is for. */
#include "standalone/priorities.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An operation, and which it is of those that are listed. */
struct listed {
	const struct tw_json_value *op;
	size_t number;
};

/* Names of the operation and its kernels: in GPU graphs there are only these. */
static bool names_fused_attention(const struct tw_json_value *op)
{
	static const enum tw_trait traits[] = { TW_TRAIT_FLASH, TW_TRAIT_PAGED,
						TW_TRAIT_FUSED_ATTENTION };
	const char *name = tw_report_text(op, "name"), *kernels = tw_report_text(op, "kernel_name");
	size_t i;

	for (i = 0; i < sizeof(traits) / sizeof(traits[0]); i++)
		if (tw_operation_has(traits[i], name) || tw_kernel_has(traits[i], name) ||
		    tw_kernel_has(traits[i], kernels))
			return true;
	return false;
}

/* Whether it stands for work whose operation is not recorded. */
static bool hides_operations(const struct tw_json_value *op)
{
	const char *name = tw_report_text(op, "name");

	return tw_operation_has(TW_TRAIT_NO_OPERATION, name) ||
	       tw_operation_has(TW_TRAIT_GRAPH_LAUNCH, name);
}

static void count(struct tw_report_operations *all, const struct tw_json_value *op)
{
	const struct tw_json_value *efficiency = tw_json_get(op, "efficiency");
	double share = tw_report_number(op, "percent_of_compute");

	all->fused_attention = all->fused_attention || names_fused_attention(op);
	all->hidden = all->hidden || hides_operations(op);
	all->anomalies += tw_json_true(tw_json_get(efficiency, "is_anomaly"));
	if (tw_json_get(efficiency, "efficiency_percent")->type == TW_JSON_NUMBER)
		return;
	all->unmodelled++;
	all->unmodelled_percent += isnan(share) ? 0 : share;
}

bool tw_report_keep(void *operations, const struct tw_json_value *op)
{
	struct tw_report_operations *all = operations;
	/* One more than the table has, so that it says that there are more. */
	bool first = all->count++ <= TW_ROUGH_OPERATIONS;

	count(all, op);
	if (!tw_json_true(tw_json_get(op, "has_perf_model")))
		first |= all->without_model++ < TW_ROUGH_OPERATIONS;
	return first || tw_json_true(tw_json_get(op, "is_bottleneck"));
}

int tw_report_order(const struct tw_json_value *op, double uid, const char *name, const char *args)
{
	double own = tw_report_number(op, "uid");
	int order = (own > uid) - (own < uid);

	if (!order)
		order = strcmp(tw_report_text(op, "name"), name);
	return order ? order : strcmp(tw_report_text(op, "args"), args);
}

/* Of equals the one that was listed first: what is read later lies anywhere. */
static int compare(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	int order = tw_report_order(x->op, tw_report_number(y->op, "uid"),
				    tw_report_text(y->op, "name"), tw_report_text(y->op, "args"));

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

bool tw_report_sort(struct tw_report_category *c, struct tw_arena *arena)
{
	const struct tw_json_value *list = tw_json_get(c->metrics, "operations"), *op;
	struct listed *all = tw_alloc_array(arena->allocator, list->count + 1, sizeof(*all));
	bool done;
	size_t i;

	c->listed = tw_arena_alloc(arena, (list->count + 1) * sizeof(*c->listed));
	for (op = all && c->listed ? list->first : NULL; op; op = op->next) {
		if (isnan(tw_report_number(op, "uid")))
			continue;
		all[c->listed_count] = (struct listed){ op, c->listed_count };
		c->listed_count++;
	}
	if (c->listed_count)
		qsort(all, c->listed_count, sizeof(*all), compare);
	for (i = 0; i < c->listed_count; i++)
		c->listed[i] = all[i].op;
	done = all && c->listed;
	tw_free(arena->allocator, all, (list->count + 1) * sizeof(*all));
	return done;
}
