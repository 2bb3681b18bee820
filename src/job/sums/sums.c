#define _GNU_SOURCE
#include "job/sums/sums.h"

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "base/alloc.h"
#include "job/sums/sums_values.h"
#include "os/thread.h"

#include <stdlib.h>
#include <string.h>

struct sums {
	const struct trawl_allocator *allocator;
	struct tw_sum_source *sources; /* by rank */
	size_t source_count;
	struct tw_sum_columns c;
	struct tw_sum_entry *entries; /* the rows of all sources, in their order */
	size_t entry_count;
	struct tw_pool texts;
	struct tw_groups groups;   /* of entries: those with the same keys */
	struct tw_members members; /* entries by group */
	struct tw_sum_values values;
};

/* ---- rows with the same keys */

/* Of a missing text another id than of an empty one; of a number the text of its bytes. */
static uint32_t key_of(struct sums *s, struct trawl_cell cell, enum trawl_column_type type)
{
	if (cell.state != TRAWL_CELL_VALUE)
		return 0;
	if (type == TRAWL_COLUMN_TEXT || type == TRAWL_COLUMN_ID)
		return tw_pool_intern(&s->texts, cell.text, cell.text_len);
	if (type == TRAWL_COLUMN_REAL)
		return tw_pool_intern(&s->texts, (const char *)&cell.real, sizeof(cell.real));
	return tw_pool_intern(&s->texts, (const char *)&cell.integer, sizeof(cell.integer));
}

static uint32_t group_of(struct sums *s, const struct tw_sum_entry *entry, uint32_t *key)
{
	const struct trawl_table *table = s->sources[entry->source].table;
	size_t k;

	for (k = 0; k < s->c.key_count; k++) {
		const struct tw_sum_column *column = &s->c.columns[k];

		key[k] = key_of(s, trawl_table_cell(table, entry->row, column->at[entry->source]),
				column->column->type);
	}
	return tw_groups_add(&s->groups, key);
}

static int group_rows(struct sums *s)
{
	size_t of_bytes = s->entry_count * sizeof(uint32_t), i;
	size_t key_bytes = (s->c.key_count + 1) * sizeof(uint32_t);
	uint32_t *of = tw_alloc(s->allocator, of_bytes ? of_bytes : 1);
	uint32_t *key = tw_alloc_array(s->allocator, 1, key_bytes);
	int status = of && key ? 0 : TRAWL_ENOMEM;

	for (i = 0; i < s->entry_count && !status; i++)
		of[i] = group_of(s, &s->entries[i], key);
	if (!status &&
	    (s->texts.failed || s->groups.failed ||
	     tw_members_build(&s->members, of, s->entry_count, s->groups.count, s->allocator)))
		status = TRAWL_ENOMEM;
	tw_free(s->allocator, of, of_bytes ? of_bytes : 1);
	tw_free(s->allocator, key, key_bytes);
	return status;
}

/* ---- rows of the table */

/* A row of the table to come. */
struct row {
	tw_wide total;
	uint32_t group;
};

/* What is missing stands before what is empty. */
static int compare_texts(const struct tw_pool *pool, uint32_t a, uint32_t b)
{
	const struct tw_pool_entry *x = &pool->entries[a], *y = &pool->entries[b];
	int order;

	if (!a || !b)
		return (a != 0) - (b != 0);
	order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct row *x = a, *y = b;
	const struct sums *s = context;
	const uint32_t *keys_x = tw_groups_key(&s->groups, x->group);
	const uint32_t *keys_y = tw_groups_key(&s->groups, y->group);
	int order = 0;
	size_t k;

	if (tw_table_spec(s->sources[0].table)->in_order)
		return x->group < y->group ? -1 : x->group > y->group;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	for (k = 0; k < s->c.key_count && !order; k++)
		order = compare_texts(&s->texts, keys_x[k], keys_y[k]);
	return order;
}

static size_t list_of(const struct sums *s, uint32_t group, const uint32_t **list)
{
	*list = s->members.list + s->members.first[group];
	return s->members.first[group + 1] - s->members.first[group];
}

static void take_values(struct sums *s, size_t column, uint32_t group)
{
	const uint32_t *list;
	size_t count = list_of(s, group, &list);

	tw_sum_values_of(&s->values, &s->c, &s->c.columns[column], s->entries, list, count);
}

static tw_wide total_of(struct sums *s, uint32_t group)
{
	tw_wide total = 0;
	size_t i;

	if (s->c.lead == SIZE_MAX)
		return 0;
	take_values(s, s->c.lead, group);
	for (i = 0; i < s->values.count; i++)
		total += s->values.integer[i];
	return total;
}

static bool same_cell(const struct trawl_cell *a, const struct trawl_cell *b)
{
	return a->integer == b->integer && !(a->real < b->real) && !(a->real > b->real) &&
	       a->text_len == b->text_len &&
	       (!a->text || !b->text || !memcmp(a->text, b->text, a->text_len));
}

/* The cell that the first entry with one has, if no other has another. */
static void set_same(struct sums *s, struct trawl_table *table, size_t row,
		     const struct tw_sum_column *column, const uint32_t *list, size_t count)
{
	const struct tw_sum_entry *first = NULL;
	struct trawl_cell shown = { .state = TRAWL_CELL_MISSING };
	size_t i;

	for (i = 0; i < count; i++) {
		const struct tw_sum_entry *entry = &s->entries[list[i]];
		struct trawl_cell cell = trawl_table_cell(s->sources[entry->source].table,
							  entry->row, column->at[entry->source]);

		if (cell.state != TRAWL_CELL_VALUE)
			continue;
		if (first && !same_cell(&shown, &cell))
			return;
		if (!first) {
			first = entry;
			shown = cell;
		}
	}
	if (first)
		tw_table_copy_cell(table, row, column->out, s->sources[first->source].table,
				   first->row, column->at[first->source]);
}

/* The sources stand by rank, so that the first of several is the lowest. */
static void set_slowest(struct sums *s, struct trawl_table *table, size_t row)
{
	size_t most = 0, i;

	for (i = 1; i < s->values.count; i++)
		if (s->values.integer[i] > s->values.integer[most])
			most = i;
	if (s->values.count)
		tw_table_set_integer(table, row, s->c.slowest_out,
				     s->sources[s->values.source[most]].rank);
}

static int64_t count_sources(const struct sums *s, const uint32_t *list, size_t count)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; i < count; i++)
		n += !i || s->entries[list[i]].source != s->entries[list[i - 1]].source;
	return n;
}

static void add_row(struct sums *s, struct trawl_table *table, uint32_t group)
{
	size_t row = tw_table_add_row(table), count, i;
	const uint32_t *list;

	count = list_of(s, group, &list);
	tw_table_set_integer(table, row, s->c.ranks_out, count_sources(s, list, count));
	for (i = 0; i < s->c.count; i++) {
		const struct tw_sum_column *column = &s->c.columns[i];

		if (!tw_sum_is_measured(column->column->over_ranks)) {
			set_same(s, table, row, column, list, count);
			continue;
		}
		take_values(s, i, group);
		if (i == s->c.lead)
			set_slowest(s, table, row);
		tw_sum_values_set(&s->values, column, table, row);
	}
}

static int fill(struct sums *s, struct trawl_table *table)
{
	size_t count = s->groups.count, bytes = (count + 1) * sizeof(struct row), i;
	struct row *rows = tw_alloc(s->allocator, bytes);

	if (!rows)
		return TRAWL_ENOMEM;
	for (i = 0; i < count; i++)
		rows[i] = (struct row){ .total = total_of(s, (uint32_t)i), .group = (uint32_t)i };
	if (count)
		qsort_r(rows, count, sizeof(*rows), compare_rows, s);
	for (i = 0; i < count; i++)
		add_row(s, table, rows[i].group);
	tw_free(s->allocator, rows, bytes);
	return tw_table_finish(table, NULL);
}

/* ---- the tables of the ranks */

static const struct trawl_table *table_of(const struct tw_rank *rank, const char *name)
{
	size_t i;

	for (i = 0; i < rank->table_count; i++)
		if (!strcmp(trawl_table_name(rank->tables[i]), name))
			return rank->tables[i];
	return NULL;
}

static int find_sources(struct sums *s, const struct trawl_job *job, const char *name)
{
	size_t i;

	s->sources = tw_alloc_array(s->allocator, job->count, sizeof(*s->sources));
	if (!s->sources)
		return job->count ? TRAWL_ENOMEM : 0;
	for (i = 0; i < job->count; i++) {
		const struct trawl_table *table = table_of(&job->ranks[i], name);

		if (!table)
			continue;
		s->sources[s->source_count++] = (struct tw_sum_source){ table, job->ranks[i].rank };
		s->entry_count += trawl_table_rows(table);
	}
	return s->entry_count < UINT32_MAX ? 0 : TRAWL_ENOMEM;
}

/* Room for the rows and values of all sources, the rows filled in. */
static int find_entries(struct sums *s)
{
	const struct trawl_allocator *a = s->allocator;
	size_t source, row, n = 0;

	s->entries = tw_alloc_array(a, s->entry_count + 1, sizeof(*s->entries));
	s->values.source = tw_alloc_array(a, s->source_count, sizeof(*s->values.source));
	s->values.integer = tw_alloc_array(a, s->source_count, sizeof(*s->values.integer));
	s->values.real = tw_alloc_array(a, s->source_count, sizeof(*s->values.real));
	if (!s->entries || !s->values.source || !s->values.integer || !s->values.real)
		return TRAWL_ENOMEM;
	for (source = 0; source < s->source_count; source++)
		for (row = 0; row < trawl_table_rows(s->sources[source].table); row++)
			s->entries[n++] = (struct tw_sum_entry){ (uint32_t)source, (uint32_t)row };
	return tw_pool_init(&s->texts, a) ? TRAWL_ENOMEM : 0;
}

static int make_table(struct sums *s, struct trawl_table **out)
{
	int status = tw_sum_columns_find(&s->c, s->sources, s->source_count, s->allocator);

	tw_groups_init(&s->groups, (s->c.key_count + 1) * sizeof(uint32_t), s->allocator);
	if (!status)
		status = find_entries(s);
	if (!status)
		status = group_rows(s);
	if (status)
		return status;
	*out = tw_sum_columns_table(&s->c);
	return *out ? fill(s, *out) : TRAWL_ENOMEM;
}

static void release(struct sums *s, const struct trawl_job *job)
{
	const struct trawl_allocator *a = s->allocator;

	tw_members_release(&s->members);
	tw_groups_release(&s->groups);
	tw_pool_release(&s->texts);
	tw_free(a, s->entries, (s->entry_count + 1) * sizeof(*s->entries));
	tw_free(a, s->values.source, s->source_count * sizeof(*s->values.source));
	tw_free(a, s->values.integer, s->source_count * sizeof(*s->values.integer));
	tw_free(a, s->values.real, s->source_count * sizeof(*s->values.real));
	tw_sum_columns_release(&s->c);
	tw_free(a, s->sources, job->count * sizeof(*s->sources));
}

bool tw_table_is_summed(const struct tw_table_spec *table)
{
	size_t i;

	for (i = 0; i < table->column_count; i++)
		if (tw_sum_leads(table->columns[i].over_ranks))
			return true;
	return false;
}

int tw_sums_make(struct trawl_table **out, const struct trawl_job *job, const char *name,
		 const struct trawl_allocator *allocator)
{
	struct sums s = { .allocator = allocator };
	int status;

	*out = NULL;
	status = find_sources(&s, job, name);
	if (!status && s.source_count && tw_table_is_summed(tw_table_spec(s.sources[0].table)))
		status = make_table(&s, out);
	release(&s, job);
	if (status) {
		trawl_table_free(*out);
		*out = NULL;
	}
	return status;
}

/* ---- what is kept of a rank's table */

static void copy_rows(struct trawl_table *to, const struct trawl_table *from, const size_t *columns)
{
	size_t rows = trawl_table_rows(from), row, i;

	tw_table_reserve(to, rows);
	for (row = 0; row < rows; row++) {
		/* Out of memory: as tw_table_finish() will say. */
		if (tw_table_add_row(to) != row)
			return;
		for (i = 0; i < trawl_table_columns(to); i++)
			tw_table_copy_cell(to, row, i, from, row, columns[i]);
	}
}

static size_t choose_columns(const struct trawl_table *table, struct trawl_column *kept,
			     size_t *columns)
{
	size_t count = 0, i;

	for (i = 0; i < trawl_table_columns(table); i++) {
		if (trawl_table_column(table, i)->over_ranks == TRAWL_NOT_SUMMED)
			continue;
		kept[count] = *trawl_table_column(table, i);
		columns[count++] = i;
	}
	return count;
}

struct trawl_table *tw_sums_keep(const struct trawl_table *table,
				 const struct trawl_allocator *allocator)
{
	size_t most = trawl_table_columns(table) + 1;
	struct tw_table_spec spec = *tw_table_spec(table);
	struct trawl_column *kept = tw_alloc_array(allocator, most, sizeof(*kept));
	size_t *columns = tw_alloc_array(allocator, most, sizeof(*columns));
	struct trawl_table *copy = NULL;

	if (kept && columns) {
		spec.columns = kept;
		spec.column_count = choose_columns(table, kept, columns);
		copy = tw_table_new_owning(&spec, allocator);
	}
	if (copy)
		copy_rows(copy, table, columns);
	copy = tw_table_finished(copy);
	tw_free(allocator, kept, most * sizeof(*kept));
	tw_free(allocator, columns, most * sizeof(*columns));
	return copy;
}

/* ---- all of them */

size_t tw_sums_names(const char **names, size_t most)
{
	size_t n = 0, i;

	for (i = 0; i < tw_analysis_count && n < most; i++)
		if (tw_table_is_summed(&tw_analyses[i]->table))
			names[n++] = tw_analyses[i]->table.name;
	return n;
}

struct making {
	const struct trawl_job *job;
	const struct trawl_allocator *allocator;
	struct one {
		const char *name;
		struct trawl_table *table;
		int status;
	} * all;
};

static void make_one(void *context, size_t i)
{
	struct making *m = context;
	struct one *one = &m->all[i];

	one->status = tw_sums_make(&one->table, m->job, one->name, m->allocator);
}

int tw_sums_make_all(struct trawl_table **tables, size_t *count, const struct trawl_job *job,
		     unsigned threads, const struct trawl_allocator *allocator)
{
	struct making m = { .job = job, .allocator = allocator };
	const char **names = tw_alloc_array(allocator, tw_analysis_count, sizeof(*names));
	size_t n = names ? tw_sums_names(names, tw_analysis_count) : 0, i;
	int status = 0;

	*count = 0;
	m.all = tw_alloc_array(allocator, tw_analysis_count, sizeof(*m.all));
	if (!names || !m.all)
		status = TRAWL_ENOMEM;
	for (i = 0; i < n && !status; i++)
		m.all[i].name = names[i];
	if (!status)
		tw_parallel(threads ? threads : tw_thread_count(), n, make_one, &m);
	for (i = 0; i < n && m.all; i++) {
		status = status ? status : m.all[i].status;
		if (m.all[i].table)
			tables[(*count)++] = m.all[i].table;
	}
	while (status && *count)
		trawl_table_free(tables[--*count]);
	tw_free(allocator, names, tw_analysis_count * sizeof(*names));
	tw_free(allocator, m.all, tw_analysis_count * sizeof(*m.all));
	return status;
}
