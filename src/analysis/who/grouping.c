#include "analysis/who/grouping.h"

#include "analysis/who/op_stacks.h"

#include "base/alloc.h"

#include <string.h>

static uint32_t module_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	return tw_attribution_of_gpu(in->who, gpu)->path;
}

static void add_module(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out)
{
	tw_module_path(in->who, group, out);
}

static uint32_t site_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	return tw_attribution_of_gpu(in->who, gpu)->site;
}

static void add_site(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out)
{
	size_t len;
	const char *text = tw_pool_text(&in->trace->texts, group, &len);

	tw_str_add(out, text, len);
}

static uint32_t pass_of(const struct tw_analysis_input *in, uint64_t gpu)
{
	return tw_attribution_of_gpu(in->who, gpu)->pass;
}

static void add_pass(const struct tw_analysis_input *in, uint32_t group, struct tw_str *out)
{
	(void)in;
	tw_str_add_cstr(out, tw_pass_names[group]);
}

static const struct tw_grouping groupings[] = {
	{ "module",
	  TW_TEXT(TW_COL_MODULE, 60, "module path of the launch", .over_ranks = TRAWL_KEY), true,
	  module_of, add_module },
	{ "site", TW_TEXT(TW_COL_CALL_SITE, 60, "call site of the launch", .over_ranks = TRAWL_KEY),
	  true, site_of, add_site },
	{ "pass", TW_TEXT("pass", 12, "forward, backward or recompute", .over_ranks = TRAWL_KEY),
	  false, pass_of, add_pass },
};

const struct tw_grouping *tw_grouping_named(const char *name, struct tw_str *names)
{
	size_t i;

	for (i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++) {
		if (!strcmp(groupings[i].name, name))
			return &groupings[i];
		if (names)
			tw_str_addf(names, "%s%s", i ? ", " : "", groupings[i].name);
	}
	return NULL;
}

uint32_t tw_group_of_gpu(const struct tw_analysis_input *in, uint64_t gpu)
{
	if (!in->grouping)
		return 0;
	return in->derived->gpu.launch[gpu] == TW_NONE ? TW_GROUP_UNLINKED :
							 in->grouping->of_gpu(in, gpu);
}

struct trawl_table *tw_grouped_table(const struct tw_analysis_input *in,
				     const struct tw_table_spec *spec,
				     const struct trawl_column *columns, size_t count)
{
	size_t size = (count + TW_STACK_COLUMNS + 1) * sizeof(*columns), n = count;
	struct trawl_column *more = tw_alloc(in->allocator, size);
	struct trawl_table *table;

	if (!more)
		return NULL;
	memcpy(more, columns, count * sizeof(*columns));
	if (in->stacks) {
		memcpy(more + n, tw_stack_columns, sizeof(tw_stack_columns));
		n += TW_STACK_COLUMNS;
	}
	if (in->grouping)
		more[n++] = in->grouping->column;
	table = tw_table_new_columns(spec, more, n, in->tables);
	tw_free(in->allocator, more, size);
	return table;
}

void tw_set_group(const struct tw_analysis_input *in, struct trawl_table *table, size_t row,
		  uint32_t group)
{
	struct tw_str name;
	size_t column;

	if (!in->grouping)
		return;
	column = trawl_table_columns(table) - 1;
	if (group == TW_GROUP_UNLINKED) {
		tw_table_set_str(table, row, column, TW_LABEL_UNLINKED);
		return;
	}
	tw_str_init(&name, in->allocator);
	in->grouping->add_name(in, group, &name);
	if (name.len)
		tw_table_set_text(table, row, column, name.ptr, name.len);
	else
		tw_table_set_str(table, row, column, TW_LABEL_NONE);
	tw_str_release(&name);
}
