#include "job/collectives/facts.h"

#include "base/alloc.h"
#include "text/rank_list.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define ALL_TO_ALLV "all_to_allv"
#define MB_PER_GB 1024.0
#define NS_PER_S 1e9

bool tw_match_is_shared(const struct tw_match *match)
{
	return match->count > 1;
}

bool tw_match_has_copies(const struct tw_ranks_input *in, const struct tw_match *match)
{
	const struct tw_match_member *m = tw_match_members(in, match);
	uint32_t i;

	for (i = 0; i < match->count; i++)
		if (tw_member_rank(in, &m[i])->kinds[tw_member_collective(in, &m[i])->kind].copies)
			return true;
	return false;
}

int tw_visit_matches(const struct tw_ranks_input *in,
		     int (*visit)(void *context, const struct tw_match *match), void *context)
{
	const struct tw_matches *matches = in->matches;
	uint32_t r;
	uint64_t c;
	int status;

	for (r = 0; r < in->job->count; r++) {
		for (c = 0; c < in->job->ranks[r].collective_count; c++) {
			const struct tw_match *match = &matches->matches[matches->index_of[r][c]];
			const struct tw_match_member *first = &matches->members[match->first];

			if (first->rank != r || first->collective != c)
				continue;
			status = visit(context, match);
			if (status)
				return status;
		}
	}
	return 0;
}

const char *tw_collective_type(const struct tw_rank *rank, const struct tw_collective *c)
{
	return tw_kind_type(rank, &rank->kinds[c->kind]);
}

const char *tw_collective_label(const struct tw_rank *rank, const struct tw_collective *c,
				size_t *len)
{
	const char *text = tw_collective_text(rank, c, TW_COLLECTIVE_NAME, len);

	if (*len)
		return text;
	text = tw_collective_type(rank, c);
	*len = text ? strlen(text) : 0;
	return text ? text : "";
}

bool tw_is_all_to_allv(const struct tw_rank *rank, const struct tw_collective *c)
{
	size_t len;
	const char *name = tw_collective_text(rank, c, TW_COLLECTIVE_NAME, &len);

	return len == strlen(ALL_TO_ALLV) && !strncasecmp(name, ALL_TO_ALLV, len);
}

double tw_collective_size(const struct tw_rank *rank, const struct tw_collective *c,
			  enum tw_collective_arg nelems)
{
	size_t len, dtype_len;
	const char *text = tw_collective_text(rank, c, nelems, &len);
	const char *dtype = tw_collective_text(rank, c, TW_COLLECTIVE_DTYPE, &dtype_len);

	return tw_collective_megabytes(text, len, dtype, dtype_len);
}

double tw_gigabytes_per_second(double megabytes, int64_t ns)
{
	return ns > 0 ? megabytes / MB_PER_GB / ((double)ns / NS_PER_S) : (double)NAN;
}

const char *tw_match_rule_name(enum tw_match_rule rule)
{
	static const char *const names[] = {
		[TW_MATCH_BY_ID] = "id",
		[TW_MATCH_BY_SEQUENCE] = "sequence",
		[TW_MATCH_BY_ORDER] = "order",
	};

	return names[rule];
}

const char *tw_match_state_name(enum tw_match_state state)
{
	static const char *const names[] = {
		[TW_MATCH_WHOLE] = "whole",
		[TW_MATCH_PARTIAL] = "partial",
		[TW_MATCH_ALONE] = "alone",
		[TW_MATCH_LOCAL] = "local",
	};

	return names[state];
}

const char *tw_match_sureness_name(enum tw_match_sureness sureness)
{
	static const char *const names[] = {
		[TW_MATCH_CERTAIN] = "certain",
		[TW_MATCH_LIKELY] = "likely",
		[TW_MATCH_DOUBTFUL] = "doubtful",
		[TW_MATCH_DIFFERENT] = "different",
	};

	return names[sureness];
}

void tw_set_collective_arg(struct trawl_table *table, size_t row, size_t column,
			   const struct tw_rank *rank, const struct tw_collective *c,
			   enum tw_collective_arg arg)
{
	size_t len;
	const char *text = tw_collective_text(rank, c, arg, &len);

	if (len)
		tw_table_set_text_borrowed(table, row, column, text, len);
}

void tw_set_collective_label(struct trawl_table *table, size_t row, size_t column,
			     const struct tw_rank *rank, const struct tw_collective *c)
{
	size_t len;
	const char *text = tw_collective_label(rank, c, &len);

	if (len)
		tw_table_set_text_borrowed(table, row, column, text, len);
}

void tw_set_rank_text(struct trawl_table *table, size_t row, size_t column,
		      const struct tw_rank *rank, uint32_t id)
{
	size_t len;
	const char *text = tw_pool_text(&rank->texts, id, &len);

	if (len)
		tw_table_set_text_borrowed(table, row, column, text, len);
}

void tw_set_match_id(struct trawl_table *table, size_t row, size_t column,
		     const struct tw_ranks_input *in, const struct tw_match *match)
{
	struct tw_str id;

	tw_str_init(&id, in->allocator);
	tw_match_id(in->matches, match, &id);
	if (!id.failed)
		tw_table_set_text(table, row, column, id.ptr, id.len);
	tw_str_release(&id);
}

void tw_set_node(struct trawl_table *table, size_t row, size_t column, const struct trawl_job *job,
		 int64_t rank)
{
	int64_t node = tw_job_node(job, rank);

	if (node >= 0)
		tw_table_set_integer(table, row, column, node);
}

void tw_set_match_group(struct trawl_table *table, size_t row, size_t column,
			const struct tw_ranks_input *in, const struct tw_match *match)
{
	const struct tw_match_group *group = &in->matches->groups[match->group];

	tw_table_set_text_borrowed(table, row, column, group->name, strlen(group->name));
	if (group->ranks[0])
		tw_table_set_text_borrowed(table, row, column + 1, group->ranks,
					   strlen(group->ranks));
}

void tw_set_times(struct trawl_table *table, size_t row, size_t column, const struct tw_stats *of)
{
	tw_set_us(table, row, column, of->mean);
	tw_set_us(table, row, column + 1, of->median);
	tw_table_set_integer(table, row, column + 2, of->min);
	tw_table_set_integer(table, row, column + 3, of->max);
}

void tw_set_reals(struct trawl_table *table, size_t row, size_t column,
		  const struct tw_real_stats *of)
{
	tw_table_set_real(table, row, column, of->mean);
	tw_table_set_real(table, row, column + 1, of->median);
	tw_table_set_real(table, row, column + 2, of->min);
	tw_table_set_real(table, row, column + 3, of->max);
}
