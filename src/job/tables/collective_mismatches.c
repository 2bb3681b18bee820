/*
 * Collectives missing on one or more ranks, and those with different records: the same problem of
 * several collectives is one row.
 */
#include "job/collectives/absent_ranks.h"

#include "analysis/groups.h"
#include "base/alloc.h"
#include "text/rank_list.h"
#include "job/tables/tables.h"

#include <string.h>

enum {
	ID,
	LAST_ID,
	COUNT,
	GROUP,
	GROUP_RANKS,
	NAME,
	PROBLEM,
	RANKS,
	LACKING,
	DETAIL,
	SEQUENCE,
	TS
};

static const struct trawl_column columns[] = {
	[ID] = TW_TEXT(TW_COL_COLLECTIVE_ID, 16, "first of them"),
	[LAST_ID] = TW_TEXT("last collective_id", 16, "last of them"),
	[COUNT] = TW_INTEGER("count", 8, "number of collectives", .values = ">=0"),
	[GROUP] = TW_COLUMN_GROUP,
	[GROUP_RANKS] = TW_COLUMN_GROUP_RANKS,
	[NAME] = TW_COLUMN_NAME,
	[PROBLEM] =
		TW_TEXT("problem", 12,
			"missing: not on some ranks; alone: on one rank only; different: different "
			"records between ranks"),
	[RANKS] = TW_TEXT("ranks", 16, "participating ranks"),
	[LACKING] = TW_TEXT(TW_COL_RANKS_MISSING, 16,
			    "traced ranks of the group without this collective"),
	[DETAIL] = TW_TEXT(TW_COL_WHAT_DIFFERS, 40, "values, with the ranks in brackets"),
	[SEQUENCE] =
		TW_INTEGER(TW_COL_SEQ, 8, "recorded sequence number of the first", .values = ">=0"),
	[TS] = TW_US("ts", 20, "start of the first on the lowest of these ranks (its clock)",
		     .values = ">=0"),
};

enum problem { MISSING, ALONE, DIFFERENT };

static const char *const problem_names[] = { "missing", "alone", "different" };

/* What ranks must agree in, for a collective to be one. */
static const struct {
	enum tw_collective_arg arg;
	const char *name;
	bool of_all_to_allv;
} compared[] = {
	{ TW_COLLECTIVE_NAME, "name", true },
	{ TW_COLLECTIVE_DTYPE, "dtype", true },
	{ TW_COLLECTIVE_GROUP_SIZE, "group size", true },
	{ TW_COLLECTIVE_IN_NELEMS, TW_COL_IN_MSG_NELEMS, false },
	{ TW_COLLECTIVE_OUT_NELEMS, TW_COL_OUT_MSG_NELEMS, false },
};

struct key {
	uint32_t group;			       /* of the matches */
	uint32_t name, ranks, lacking, detail; /* ids of `texts` */
	uint32_t problem;
};

struct found {
	uint64_t first, last, count; /* matches */
};

struct work {
	const struct tw_ranks_input *in;
	struct tw_absent_ranks absent;
	struct tw_pool texts;
	struct tw_groups groups;
	struct tw_str scratch;
	int64_t *ranks; /* room for those of a value */
};

static const char *value_of(const struct work *w, const struct tw_match_member *m,
			    enum tw_collective_arg arg, size_t *len)
{
	const struct tw_rank *rank = tw_member_rank(w->in, m);
	const struct tw_collective *c = tw_member_collective(w->in, m);

	return arg == TW_COLLECTIVE_NAME ? tw_collective_label(rank, c, len) :
					   tw_collective_text(rank, c, arg, len);
}

static bool same_value(const struct work *w, const struct tw_match_member *a,
		       const struct tw_match_member *b, enum tw_collective_arg arg)
{
	size_t len, other_len;
	const char *text = value_of(w, a, arg, &len), *other = value_of(w, b, arg, &other_len);

	return len == other_len && !memcmp(text, other, len);
}

/* "dtype: Float (0-3), Half (4)" */
static void add_values(struct work *w, const struct tw_match *match, size_t which)
{
	const struct tw_match_member *m = tw_match_members(w->in, match);
	enum tw_collective_arg arg = compared[which].arg;
	uint32_t i, j;

	tw_str_addf(&w->scratch, "%s%s: ", w->scratch.len ? "; " : "", compared[which].name);
	for (i = 0; i < match->count; i++) {
		size_t len, count = 0;
		const char *text = value_of(w, &m[i], arg, &len);

		for (j = 0; j < i && !same_value(w, &m[j], &m[i], arg); j++)
			;
		if (j < i)
			continue;
		for (j = i; j < match->count; j++)
			if (same_value(w, &m[j], &m[i], arg))
				w->ranks[count++] = tw_member_rank(w->in, &m[j])->rank;
		if (i)
			tw_str_add_cstr(&w->scratch, ", ");
		tw_str_add(&w->scratch, len ? text : "nothing", len ? len : strlen("nothing"));
		tw_str_add_cstr(&w->scratch, " (");
		tw_rank_list_add(&w->scratch, w->ranks, count);
		tw_str_add_char(&w->scratch, ')');
	}
}

/* Whether two of those that record it record different things. */
static bool disagree(const struct work *w, const struct tw_match *match, enum tw_collective_arg arg)
{
	const struct tw_match_member *m = tw_match_members(w->in, match), *known = NULL;
	uint32_t i;
	size_t len;

	for (i = 0; i < match->count; i++) {
		value_of(w, &m[i], arg, &len);
		if (!len)
			continue;
		if (known && !same_value(w, known, &m[i], arg))
			return true;
		known = &m[i];
	}
	return false;
}

static uint32_t intern_scratch(struct work *w)
{
	return w->scratch.len ? tw_pool_intern(&w->texts, w->scratch.ptr, w->scratch.len) : 0;
}

static uint32_t detail_of(struct work *w, const struct tw_match *match)
{
	const struct tw_match_member *m = tw_match_members(w->in, match);
	bool varies = tw_is_all_to_allv(tw_member_rank(w->in, m), tw_member_collective(w->in, m));
	size_t which;

	tw_str_clear(&w->scratch);
	for (which = 0; which < sizeof(compared) / sizeof(compared[0]); which++)
		if ((!varies || compared[which].of_all_to_allv) &&
		    disagree(w, match, compared[which].arg))
			add_values(w, match, which);
	return intern_scratch(w);
}

static int add_problem(struct work *w, const struct tw_match *match, enum problem problem)
{
	const struct tw_match_member *m = tw_match_members(w->in, match);
	struct key key = { .group = match->group, .problem = problem };
	struct found *found;
	const char *name;
	uint32_t g;
	size_t len;

	name = tw_collective_label(tw_member_rank(w->in, m), tw_member_collective(w->in, m), &len);
	key.name = len ? tw_pool_intern(&w->texts, name, len) : 0;
	tw_str_clear(&w->scratch);
	tw_present_ranks_add(&w->absent, match, &w->scratch);
	key.ranks = intern_scratch(w);
	tw_str_clear(&w->scratch);
	tw_absent_ranks_add(&w->absent, match, &w->scratch);
	key.lacking = intern_scratch(w);
	if (problem == DIFFERENT)
		key.detail = detail_of(w, match);
	g = tw_groups_add(&w->groups, &key);
	if (g == TW_NO_GROUP || w->texts.failed || w->scratch.failed)
		return TRAWL_ENOMEM;
	found = tw_groups_value(&w->groups, g);
	found->last = (uint64_t)(match - w->in->matches->matches);
	if (!found->count++)
		found->first = found->last;
	return 0;
}

static int add_match(struct work *w, const struct tw_match *match)
{
	int status = 0;

	if (match->state == TW_MATCH_PARTIAL)
		status = add_problem(w, match, MISSING);
	else if (match->state == TW_MATCH_ALONE)
		status = add_problem(w, match, ALONE);
	if (!status && match->sureness == TW_MATCH_DIFFERENT)
		status = add_problem(w, match, DIFFERENT);
	return status;
}

static void set_pooled(const struct work *w, struct trawl_table *table, size_t row, size_t column,
		       uint32_t id)
{
	size_t len;
	const char *text = tw_pool_text(&w->texts, id, &len);

	if (len)
		tw_table_set_text(table, row, column, text, len);
}

static void add_mismatch_row(struct work *w, struct trawl_table *table, uint32_t g)
{
	const struct key *key = tw_groups_key(&w->groups, g);
	const struct found *found = tw_groups_value(&w->groups, g);
	const struct tw_match *first = &w->in->matches->matches[found->first];
	const struct tw_collective *c = tw_member_collective(w->in, tw_match_members(w->in, first));
	size_t row = tw_table_add_row(table);

	tw_set_match_id(table, row, ID, w->in, first);
	tw_set_match_id(table, row, LAST_ID, w->in, &w->in->matches->matches[found->last]);
	tw_table_set_integer(table, row, COUNT, (int64_t)found->count);
	tw_set_match_group(table, row, GROUP, w->in, first);
	set_pooled(w, table, row, NAME, key->name);
	tw_table_set_str(table, row, PROBLEM, problem_names[key->problem]);
	set_pooled(w, table, row, RANKS, key->ranks);
	set_pooled(w, table, row, LACKING, key->lacking);
	set_pooled(w, table, row, DETAIL, key->detail);
	if (c->sequence >= 0)
		tw_table_set_integer(table, row, SEQUENCE, c->sequence);
	tw_table_set_integer(table, row, TS, c->start_ns);
}

static int add_mismatches(const struct tw_ranks_input *in, struct trawl_table *table)
{
	struct work w = { .in = in };
	uint64_t m;
	uint32_t g;

	tw_groups_init_values(&w.groups, sizeof(struct key), sizeof(struct found), in->allocator);
	tw_str_init(&w.scratch, in->allocator);
	w.ranks = tw_alloc_array(in->allocator, in->job->count + 1, sizeof(*w.ranks));
	if (!w.ranks || tw_absent_ranks_build(&w.absent, in) ||
	    tw_pool_init(&w.texts, in->allocator))
		return TRAWL_ENOMEM;
	for (m = 0; m < in->matches->count; m++)
		if (add_match(&w, &in->matches->matches[m]))
			return TRAWL_ENOMEM;
	for (g = 0; g < w.groups.count; g++)
		add_mismatch_row(&w, table, g);
	return 0;
}

const struct tw_ranks_table tw_ranks_table_collective_mismatches = {
	TW_TABLE("collective_mismatches",
		 "missing collectives and mismatched records, grouped by problem", columns),
	.fill = add_mismatches,
};
