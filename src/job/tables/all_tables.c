#include "job/tables/all_tables.h"

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
	tw_table_free(*table);
	*table = NULL;
	return status;
}

struct making {
	const struct tw_ranks_input *in;
	struct trawl_table *made[TABLES];
	int status[TABLES];
};

static void make_one(void *context, size_t i)
{
	struct making *m = context;

	m->status[i] = tw_ranks_table_make(m->in, tw_ranks_tables[i], &m->made[i]);
}

static bool is_wanted(const struct trawl_table *table)
{
	return table && (trawl_table_rows(table) || tw_table_spec(table)->keep_empty);
}

int tw_ranks_tables_make(const struct tw_ranks_input *in, unsigned threads,
			 struct trawl_table **tables, size_t *count, struct trawl_error *err)
{
	struct making m = { .in = in };
	int status = 0;
	size_t i;

	*count = 0;
	tw_parallel(threads ? threads : tw_thread_count(), TABLES, make_one, &m);
	for (i = 0; i < TABLES; i++) {
		if (m.status[i])
			status = m.status[i];
		if (!m.status[i] && is_wanted(m.made[i]))
			tables[(*count)++] = m.made[i];
		else
			tw_table_free(m.made[i]);
	}
	return status ? trawl_error_set(err, status, "out of memory") : 0;
}

void tw_ranks_tables_free(struct trawl_table **tables, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		tw_table_free(tables[i]);
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
