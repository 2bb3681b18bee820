/* The kernels with the most time, for the summary of an export that has nothing above them. */
#include "cli/cli.h"

#include "analysis/analysis.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { NAME, KIND, COUNT, TIME, MEAN };

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("kernel", 40, "kernel name"),
	[KIND] = TW_TEXT("category", 14, "category, from the name"),
	[COUNT] = TW_INTEGER("kernels", 8, "kernels of this name"),
	[TIME] = TW_MS(TW_COL_GPU_TIME_MS, 12, "total kernel time"),
	[MEAN] = TW_MEAN_US("mean (µs)", 12, "mean kernel time"),
};

static const struct tw_table_spec spec =
	TW_SPEC("top_kernels", "top kernels by GPU time", columns, .keep_empty = true);

struct kernel {
	uint32_t name;	   /* text id */
	uint32_t category; /* enum tw_kernel_category, of the first */
	int64_t count;
	tw_wide ns;
};

static int compare_times(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Sums by text id; what has any goes to the front. */
static size_t add_up(const struct tw_analysis_input *in, struct kernel *kernels)
{
	const struct tw_gpu *gpu = &in->derived->gpu;
	size_t count = 0, i;
	uint64_t g;

	for (g = 0; g < gpu->count; g++) {
		uint32_t name = in->trace->events.name[gpu->event[g]];

		if (tw_class(in->trace, gpu->event[g]) != TRAWL_CLASS_KERNEL)
			continue;
		if (!kernels[name].count)
			kernels[name].category = tw_gpu_category(in->derived, g);
		kernels[name].name = name;
		kernels[name].count++;
		kernels[name].ns += gpu->end_ns[g] - gpu->start_ns[g];
	}
	for (i = 0; i < in->trace->texts.count; i++)
		if (kernels[i].count)
			kernels[count++] = kernels[i];
	return count;
}

struct trawl_table *cli_top_kernels(const struct trawl_report *report, size_t most)
{
	const struct tw_analysis_input *in = tw_report_input(report);
	struct kernel *kernels =
		tw_alloc_array(in->allocator, in->trace->texts.count, sizeof(*kernels));
	struct trawl_table *top = tw_table_new(&spec, trawl_allocator_default());
	size_t count = kernels ? add_up(in, kernels) : 0, i;

	if (count)
		qsort(kernels, count, sizeof(*kernels), compare_times);
	for (i = 0; top && i < count && i < most; i++) {
		size_t row = tw_table_add_row(top);

		tw_set_name(top, row, NAME, in->trace, kernels[i].name);
		tw_table_set_str(top, row, KIND, tw_kernel_category_names[kernels[i].category]);
		tw_table_set_integer(top, row, COUNT, kernels[i].count);
		tw_set_sum(top, row, TIME, kernels[i].ns);
		tw_set_us(top, row, MEAN, (double)kernels[i].ns / (double)kernels[i].count);
	}
	tw_free(in->allocator, kernels, in->trace->texts.count * sizeof(*kernels));
	if (!kernels || (top && tw_table_finish(top, NULL))) {
		trawl_table_free(top);
		return NULL;
	}
	return top;
}
