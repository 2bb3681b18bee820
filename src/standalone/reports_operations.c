/* Of the operations of a category what the reports tell: there may be more than memory is for. */
#include "standalone/priorities.h"

#include <math.h>
#include <string.h>

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
	return first || tw_json_true(tw_json_get(op, "is_bottleneck")) ||
	       tw_json_true(tw_json_get(op, "in_chain")) || tw_has_headroom(op);
}
