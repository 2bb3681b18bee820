#include "job/tables/all_tables.h"

#include "base/alloc.h"
#include "base/scope.h"
#include "os/thread.h"

#include <string.h>

const struct tw_ranks_table *const tw_ranks_tables[] = {
#define TW_RANKS_TABLE(id) &tw_ranks_table_##id,
#include "job/tables/tables.def"
#undef TW_RANKS_TABLE
};

#define TABLES (sizeof(tw_ranks_tables) / sizeof(tw_ranks_tables[0]))

const size_t tw_ranks_table_count = TABLES;

int tw_ranks_table_make(const struct tw_ranks_input *in, const struct tw_ranks_table *self,
			struct trawl_table **table)
{
	struct tw_ranks_input input = *in;
	struct tw_scope scope;
	int status;

	*table = NULL;
	tw_scope_begin(&scope, in->allocator);
	input.allocator = &scope.allocator;
	if (self->make) {
		status = self->make(&input, self, in->allocator, table);
	} else {
		*table = tw_table_new(&self->table, in->allocator);
		status = *table ? self->fill(&input, *table) : TRAWL_ENOMEM;
	}
	tw_scope_end(&scope);
	if (!status && *table)
		status = tw_table_finish(*table, NULL);
	if (!status)
		return 0;
	trawl_table_free(*table);
	*table = NULL;
	return status;
}

struct making {
	const struct tw_ranks_input *in;
	const struct tw_ranks_table *const *wanted;
	struct trawl_table *made[TABLES];
	int status[TABLES];
};

static void make_one(void *context, size_t i)
{
	struct making *m = context;

	m->status[i] = tw_ranks_table_make(m->in, m->wanted[i], &m->made[i]);
}

static bool says_something(const struct trawl_table *table)
{
	return table && (trawl_table_rows(table) || tw_table_spec(table)->keep_empty);
}

/* `wanted` NULL: all that are not empty. */
static int make_tables(const struct tw_ranks_input *in, const struct tw_ranks_table *const *wanted,
		       size_t wanted_count, unsigned threads, struct trawl_table **tables,
		       size_t *count, struct trawl_error *err)
{
	struct making m = { .in = in, .wanted = wanted ? wanted : tw_ranks_tables };
	size_t n = wanted ? wanted_count : TABLES, i;
	int status = 0;

	*count = 0;
	tw_parallel(threads ? threads : tw_thread_count(), n, make_one, &m);
	for (i = 0; i < n; i++) {
		if (m.status[i])
			status = m.status[i];
		if (!m.status[i] && m.made[i] && (wanted || says_something(m.made[i])))
			tables[(*count)++] = m.made[i];
		else
			trawl_table_free(m.made[i]);
	}
	return status ? trawl_error_set(err, status, "out of memory") : 0;
}

int tw_ranks_tables_make(const struct tw_ranks_input *in, unsigned threads,
			 struct trawl_table **tables, size_t *count, struct trawl_error *err)
{
	return make_tables(in, NULL, 0, threads, tables, count, err);
}

void tw_ranks_tables_free(struct trawl_table **tables, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		trawl_table_free(tables[i]);
}

const struct trawl_table *tw_ranks_tables_find(struct trawl_table *const *tables, size_t count,
					       const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(trawl_table_name(tables[i]), name))
			return tables[i];
	return NULL;
}

int tw_job_tables_make(struct trawl_job_report *t, const struct trawl_job *job,
		       enum trawl_align align, const struct tw_job_wanted *wanted, unsigned threads,
		       const struct trawl_allocator *a, struct trawl_error *err)
{
	*t = (struct trawl_job_report){ .room = TABLES + wanted->more };
	t->in = (struct tw_ranks_input){
		.job = job,
		.matches = &t->matches,
		.clocks = &t->clocks,
		.findings = wanted->findings,
		.of_step = wanted->of_step,
		.allocator = a,
	};
	t->tables = tw_alloc_array(a, t->room, sizeof(struct trawl_table *));
	if (!t->tables || tw_matches_build(&t->matches, job, a) ||
	    tw_clocks_measure(&t->clocks, job, &t->matches, align, a))
		return tw_no_memory(err);
	return make_tables(&t->in, wanted->tables, wanted->count, threads, t->tables, &t->count,
			   err);
}

void tw_job_tables_release(struct trawl_job_report *t)
{
	if (!t->in.job)
		return;
	if (t->tables)
		tw_ranks_tables_free(t->tables, t->count);
	tw_free(t->in.allocator, t->tables, t->room * sizeof(struct trawl_table *));
	tw_clocks_release(&t->clocks);
	tw_matches_release(&t->matches);
	t->in.job = NULL;
}

const struct trawl_table *trawl_job_report_find(const struct trawl_job_report *t, const char *name)
{
	return tw_ranks_tables_find(t->tables, t->count, name);
}
