/* GPU time of operations by name. */
#include "analysis/analysis.h"

#include "analysis/order.h"
#include "analysis/signature.h"
#include "base/alloc.h"

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
	CUMULATIVE
};

static const struct trawl_column columns[] = {
	[NAME] = TW_TEXT("name", 48, "name of the operation", .over_ranks = TRAWL_KEY),
	[DIRECT_US] = TW_US("total_direct_kernel_time_sum", 16,
			    "sum over calls of the union of the GPU events each launched itself"),
	[SUBTREE_US] = TW_US("total_subtree_kernel_time_sum", 16,
			     "the same with what operations inside it launched, communication too"),
	[DIRECT_MS] = TW_MS("total_direct_kernel_time_ms", 16, "direct time in milliseconds",
			    .over_ranks = TRAWL_TIME),
	[SUBTREE_MS] = TW_MS("total_subtree_kernel_time_ms", 16, "subtree time in milliseconds",
			     .over_ranks = TRAWL_TOTAL),
	[COUNT] =
		TW_INTEGER("Count", 10, "calls that launched GPU work", .over_ranks = TRAWL_COUNT),
	[CATEGORIES] =
		TW_TEXT("Categories", 20, "categories its calls fell in", .over_ranks = TRAWL_SAME),
	[PERCENTAGE] = TW_PERCENT_2("Percentage (%)", 12, "share of the direct time of this table",
				    .over_ranks = TRAWL_SHARE),
	[CUMULATIVE] =
		TW_PERCENT_2("Cumulative Percentage (%)", 12, "share of this row and those above"),
};

struct sum {
	tw_wide direct_ns, subtree_ns;
	int64_t count;
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The distinct categories of a group's members, as a list in Python's notation. */
static int set_categories(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
			  const struct tw_members *members, uint32_t group)
{
	const struct tw_categories *categories = &in->launchers->categories;
	bool seen[TW_MOST_OP_CATEGORIES] = { false };
	const char *distinct[TW_MOST_OP_CATEGORIES];
	size_t count = 0, k;
	struct tw_str text;
	uint64_t i;
	bool failed;

	for (i = members->first[group]; i < members->first[group + 1]; i++) {
		unsigned category = in->launchers->items[members->list[i]].category;

		if (!seen[category])
			distinct[count++] = categories->names[category];
		seen[category] = true;
	}
	qsort(distinct, count, sizeof(*distinct), compare_texts);
	tw_str_init(&text, in->allocator);
	for (k = 0; k < count; k++) {
		tw_str_add_cstr(&text, k ? ", " : "[");
		tw_python_quote(distinct[k], strlen(distinct[k]), &text);
	}
	tw_str_add_char(&text, ']');
	tw_table_set_text(table, row, CATEGORIES, text.ptr, text.len);
	failed = text.failed;
	tw_str_release(&text);
	return failed ? -1 : 0;
}

static void set_numbers(struct trawl_table *table, size_t row, const struct sum *sum,
			tw_wide running, tw_wide total)
{
	tw_set_sum(table, row, DIRECT_US, sum->direct_ns);
	tw_set_sum(table, row, SUBTREE_US, sum->subtree_ns);
	tw_set_sum(table, row, DIRECT_MS, sum->direct_ns);
	tw_set_sum(table, row, SUBTREE_MS, sum->subtree_ns);
	tw_table_set_integer(table, row, COUNT, sum->count);
	tw_set_percent(table, row, PERCENTAGE, (double)sum->direct_ns, (double)total);
	tw_set_percent(table, row, CUMULATIVE, (double)running, (double)total);
}

/* Sums by group, and the order of rows: direct time, then name. */
static tw_wide add_up(const struct tw_analysis_input *in, const struct tw_groups *groups,
		      const struct tw_members *members, struct sum *sums, struct tw_order *order)
{
	tw_wide total = 0;
	uint32_t g;
	uint64_t i;

	for (g = 0; g < groups->count; g++) {
		for (i = members->first[g]; i < members->first[g + 1]; i++) {
			const struct tw_launcher *l = &in->launchers->items[members->list[i]];

			sums[g].direct_ns += l->direct_ns;
			sums[g].subtree_ns += l->subtree_ns;
			sums[g].count++;
		}
		total += sums[g].direct_ns;
		order[g] =
			(struct tw_order){ .value = sums[g].direct_ns,
					   .texts = { *(const uint32_t *)tw_groups_key(groups, g) },
					   .index = g };
	}
	tw_order_sort(order, groups->count, &in->trace->texts);
	return total;
}

static int fill(const struct tw_analysis_input *in, struct trawl_table *table,
		const struct tw_groups *groups, const struct tw_members *members)
{
	const struct trawl_allocator *a = in->allocator;
	struct sum *sums = tw_alloc_array(a, groups->count + 1, sizeof(*sums));
	struct tw_order *order = tw_alloc_array(a, groups->count + 1, sizeof(*order));
	tw_wide total, running = 0;
	int status = -1;
	uint32_t g;

	if (sums && order) {
		status = 0;
		total = add_up(in, groups, members, sums, order);
		for (g = 0; g < groups->count && !status; g++) {
			uint32_t group = order[g].index;
			size_t row = tw_table_add_row(table);

			running += sums[group].direct_ns;
			tw_set_name(table, row, NAME, in->trace,
				    *(const uint32_t *)tw_groups_key(groups, group));
			set_numbers(table, row, &sums[group], running, total);
			status = set_categories(in, table, row, members, group);
		}
	}
	tw_free(a, sums, (groups->count + 1) * sizeof(*sums));
	tw_free(a, order, (groups->count + 1) * sizeof(*order));
	return status;
}

static int run(const struct tw_analysis_input *in, struct trawl_table *table)
{
	const struct trawl_allocator *a = in->allocator;
	const struct tw_launchers *launchers = in->launchers;
	size_t bytes = (launchers->count + 1) * sizeof(uint32_t);
	uint32_t *of = tw_alloc(a, bytes);
	struct tw_members members = { 0 };
	struct tw_groups groups;
	int status = TRAWL_ENOMEM;
	uint64_t i;

	tw_groups_init(&groups, sizeof(uint32_t), a);
	if (of) {
		for (i = 0; i < launchers->count; i++) {
			uint64_t event = in->derived->host.event[launchers->items[i].node];

			of[i] = tw_groups_add(&groups, &in->trace->events.name[event]);
		}
		if (!groups.failed &&
		    !tw_members_build(&members, of, launchers->count, groups.count, a) &&
		    !fill(in, table, &groups, &members))
			status = 0;
	}
	tw_members_release(&members);
	tw_groups_release(&groups);
	tw_free(a, of, bytes);
	return status;
}

const struct tw_analysis tw_analysis_ops_summary = {
	TW_TABLE("ops_summary", "GPU time of operations by name, communication aside", columns),
	.needs = TW_NEEDS_GPU | TW_NEEDS_HOST,
	.run = run,
};
