/*
 * Elementwise, reducing and normalizing operations next to each other under one caller: each moves
 * its data, one kernel for all would move them once.  What that saves is at least all but the time of
 * the longest, and no more than the time in which nothing else runs.
 */
#include "standalone/category.h"

#include "base/alloc.h"
#include "store/pool.h"

#include <math.h>
#include <string.h>

static const char *chain_id(const struct tw_category_row *row)
{
	return tw_json_text(tw_json_get(row->tree, "chain_id"));
}

static bool may_fuse(const struct tw_category_data *data)
{
	static const char *const families[] = { "elementwise", "reduce", "norm" };
	size_t i;

	for (i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (!strcmp(data->family->family, families[i]))
			return true;
	return false;
}

/* What is part of attention in pieces is told as that. */
static bool is_member(const struct tw_category_row *row)
{
	return !row->is_host_copy && !(row->facts.value[TW_FACT_unfused_attention] > 0) &&
	       tw_level_is_yes("fusion_chain", &row->facts) &&
	       tw_level_is_yes("bottleneck_time", &row->facts);
}

/* The chain of a row; a row without an id is one of its own. */
static struct tw_category_chain *chain_of(struct tw_category_data *data, struct tw_pool *ids,
					  uint32_t *numbers, const struct tw_category_row *row)
{
	uint32_t id = *chain_id(row) ? tw_pool_intern_cstr(ids, chain_id(row)) : 0;
	struct tw_category_chain *chain;

	if (id && numbers[id])
		return &data->chains[numbers[id] - 1];
	chain = &data->chains[data->chain_count++];
	*chain = (struct tw_category_chain){ .first = row };
	numbers[id] = data->chain_count;
	return chain;
}

/* How often the chain runs: an operation may be in it several times. */
static double calls_of(const struct tw_category_row *row)
{
	double same = tw_json_number(tw_json_get(row->tree, "chain_same"));

	return same > 1 ? ceil(row->count / same) : row->count;
}

static void derive(struct tw_category_chain *chain, const struct tw_category_data *data)
{
	double *value = chain->facts.value, ms, saved_ms, exposed_ms;

	chain->facts = chain->first->facts;
	chain->calls = calls_of(chain->first);
	ms = value[TW_FACT_chain_us] * chain->calls / 1e3;
	exposed_ms = chain->time_us > 0 ? ms * chain->exposed_us / chain->time_us : 0;
	saved_ms = ms - value[TW_FACT_chain_longest_us] * chain->calls / 1e3;
	if (isnan(saved_ms))
		saved_ms = 0;
	saved_ms = fmin(saved_ms, exposed_ms);
	value[TW_FACT_time_ms] = ms;
	value[TW_FACT_exposed_time_ms] = exposed_ms;
	value[TW_FACT_count] = chain->calls;
	value[TW_FACT_chain_saved_ms] = saved_ms;
	value[TW_FACT_percent_of_category] = NAN; /* members may be of others */
	value[TW_FACT_percent_of_compute] = data->compute_ms > 0 ? 100 * ms / data->compute_ms :
								   NAN;
	value[TW_FACT_percent_of_total] = data->total_ms > 0 ? 100 * saved_ms / data->total_ms :
							       NAN;
	value[TW_FACT_efficiency_percent] = NAN;
	value[TW_FACT_pattern] = 1;
	tw_category_advise(&chain->advice, "fusion_chain", &chain->facts);
	chain->advice.achieved = NULL;
	chain->priority = tw_level_of("category_priority", &chain->facts);
}

static int collect(struct tw_category_data *data, struct tw_pool *ids)
{
	struct tw_arena *arena = &data->prepared->arena;
	size_t size = (data->row_count + (size_t)1) * sizeof(uint32_t);
	uint32_t *numbers = tw_arena_alloc(arena, size), i; /* by id: of its chain, from 1 on */

	data->chains = tw_arena_alloc(arena, data->row_count * sizeof(*data->chains));
	if (!numbers || !data->chains)
		return -1;
	memset(numbers, 0, size);
	for (i = 0; i < data->row_count && !ids->failed; i++) {
		struct tw_category_row *row = &data->rows[i];
		struct tw_category_chain *chain;

		if (!is_member(row))
			continue;
		row->in_chain = true;
		chain = chain_of(data, ids, numbers, row);
		chain->time_us += row->time_us;
		chain->exposed_us += row->exposed_us;
	}
	return ids->failed ? -1 : 0;
}

int tw_category_chains(struct tw_category_data *data, struct trawl_error *err)
{
	struct tw_pool ids = { 0 };
	int status;
	uint32_t i;

	if (!may_fuse(data))
		return 0;
	status = tw_pool_init(&ids, data->prepared->allocator);
	if (!status)
		status = collect(data, &ids);
	tw_pool_release(&ids);
	if (status)
		return tw_no_memory(err);
	for (i = 0; i < data->chain_count; i++)
		derive(&data->chains[i], data);
	return 0;
}
