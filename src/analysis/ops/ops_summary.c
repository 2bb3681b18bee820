/* GPU time of operations by name. */
#include "analysis/signature.h"
#include "analysis/sums.h"
#include "analysis/who/grouping.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAME,
	DIRECT_US,
	SUBTREE_US,
	DIRECT_MS,
	SUBTREE_MS,
	COUNT,
	CATEGORIES,
	PERCENTAGE,
	CUMULATIVE,
	VIA
};

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("name", 48, "operator name", .over_ranks = TRAWL_KEY),
	[DIRECT_US] = TW_US(TW_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, 16,
			    "direct time: union of the GPU events that a call launches itself, sum "
			    "of calls"),
	[SUBTREE_US] =
		TW_US("total_subtree_kernel_time_sum", 16,
		      "subtree time: the same with nested operators, communication included"),
	[DIRECT_MS] = TW_MS(TW_COL_TOTAL_DIRECT_KERNEL_TIME_MS, 16, "direct time, sum of calls",
			    .over_ranks = TRAWL_TIME),
	[SUBTREE_MS] = TW_MS("total_subtree_kernel_time_ms", 16, "subtree time, sum of calls",
			     .over_ranks = TRAWL_TOTAL),
	[COUNT] = TW_INTEGER(TW_COL_COUNT, 10, "calls that launched GPU work",
			     .over_ranks = TRAWL_COUNT),
	[CATEGORIES] =
		TW_TEXT(TW_COL_CATEGORIES, 20, "categories of its calls", .over_ranks = TRAWL_SAME),
	[PERCENTAGE] = TW_PERCENT_2(TW_COL_PERCENTAGE, 12, "share of the table's direct time",
				    .over_ranks = TRAWL_SHARE),
	[CUMULATIVE] = TW_PERCENT_2(TW_COL_CUMULATIVE_PERCENTAGE, 12,
				    "cumulative share: this row and all rows above"),
	[VIA] = TW_VIA_COLUMN,
};

struct key {
	uint32_t name, graph, group;
};

struct sum {
	struct tw_sum direct;
	tw_wide subtree_ns;
	uint64_t categories; /* bits: those its calls fell in */
};

_Static_assert(TW_MAX_OP_CATEGORIES <= 64, "a bit for each category");

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Categories by name, as a list in Python's notation. */
static void add_categories(const struct tw_categories *all, uint64_t categories, struct tw_str *out)
{
	const char *names[TW_MAX_OP_CATEGORIES];
	size_t count = 0, i;

	for (i = 0; i < all->count; i++)
		if (categories >> i & 1)
			names[count++] = all->names[i];
	qsort(names, count, sizeof(*names), compare_names);
	for (i = 0; i < count; i++) {
		tw_str_add_cstr(out, i ? ", " : "[");
		tw_python_quote(names[i], strlen(names[i]), out);
	}
	tw_str_add_char(out, ']');
}

static void set_operation(const struct tw_sums *sums, struct trawl_table *table, size_t row,
			  const void *of_key, const void *value)
{
	const struct key *key = of_key;
	const struct sum *sum = value;
	struct tw_str *text = sums->context;

	tw_str_clear(text);
	add_categories(&sums->in->launchers->categories, sum->categories, text);
	tw_set_name(table, row, NAME, sums->in->trace, key->name);
	tw_set_sum(table, row, DIRECT_US, sum->direct.ns);
	tw_set_sum(table, row, SUBTREE_US, sum->subtree_ns);
	tw_set_sum(table, row, DIRECT_MS, sum->direct.ns);
	tw_set_sum(table, row, SUBTREE_MS, sum->subtree_ns);
	tw_table_set_integer(table, row, COUNT, sum->direct.count);
	tw_table_set_text(table, row, CATEGORIES, text->ptr, text->len);
	tw_set_percent(table, row, PERCENTAGE, (double)sum->direct.ns, (double)sums->total_ns);
	tw_set_percent(table, row, CUMULATIVE, (double)sums->running_ns, (double)sums->total_ns);
	tw_set_via(sums->in, table, row, VIA, key->graph);
	tw_set_group(sums->in, table, row, key->group);
}

static void order_operation(const struct tw_sums *sums, const void *key, struct tw_order *order)
{
	(void)sums;
	order->texts[0] = ((const struct key *)key)->name;
	order->tie = (uint64_t)((const struct key *)key)->group << 1 |
		     ((const struct key *)key)->graph;
}

static int run_ops_summary(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const uint32_t *names = in->trace->events.name, *event = in->derived->host.event;
	struct tw_sums sums;
	struct tw_str text;
	uint64_t i;

	tw_str_init(&text, in->allocator);
	tw_sums_init(&sums, in, sizeof(struct key), sizeof(struct sum));
	sums.context = &text;
	for (i = 0; i < in->launchers->count; i++) {
		const struct tw_launcher *launcher = &in->launchers->items[i];
		const struct key key = {
			names[event[launcher->node]], tw_is_via_graph(in, event[launcher->node]),
			tw_group_of_gpu(in, in->launchers->gpu.list[in->launchers->gpu.first[i]])
		};
		struct sum *sum = tw_sums_add(&sums, &key, launcher->direct_ns, 0);

		if (!sum)
			return TRAWL_ENOMEM;
		sum->subtree_ns += launcher->subtree_ns;
		sum->categories |= (uint64_t)1 << launcher->category;
	}
	return tw_sums_add_rows(&sums, table, set_operation, order_operation) || text.failed ?
		       TRAWL_ENOMEM :
		       0;
}

const struct tw_analysis tw_analysis_ops_summary = {
	TW_TABLE("ops_summary", "GPU time by operator, without communication", columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST | TW_GROUPS,
	.run = run_ops_summary,
};
