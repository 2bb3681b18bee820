/* Which process reads which files. */
#include "job/transport/gather.h"

#include "base/alloc.h"

#include <stdlib.h>

struct weighed {
	int64_t bytes;
	uint32_t file, process;
};

static int larger_first(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* A file without bytes is work too, so that many of them are spread. */
static int64_t weight_of(const struct weighed *file)
{
	return file->bytes > 0 ? file->bytes : 1;
}

static void assign(struct weighed *files, size_t count, int64_t *loads, size_t processes)
{
	size_t i, p, least;

	for (i = 0; i < count; i++) {
		for (p = 1, least = 0; p < processes; p++)
			if (loads[p] < loads[least])
				least = p;
		files[i].process = (uint32_t)least;
		if (__builtin_add_overflow(loads[least], weight_of(&files[i]), &loads[least]))
			loads[least] = INT64_MAX;
	}
}

static void list_by_process(struct tw_shares *shares, const struct weighed *files)
{
	size_t p, i, n = 0;

	for (p = 0; p < shares->processes; p++) {
		shares->first[p] = n;
		for (i = 0; i < shares->files; i++)
			if (files[i].process == p)
				shares->order[n++] = files[i].file;
	}
	shares->first[p] = n;
}

int tw_shares_make(struct tw_shares *shares, const struct tw_rank_set *set, size_t processes,
		   const struct trawl_allocator *allocator)
{
	struct weighed *files = tw_alloc_array(allocator, set->count, sizeof(*files));
	int64_t *loads = tw_alloc_array(allocator, processes, sizeof(*loads));
	bool failed;
	size_t i;

	*shares = (struct tw_shares){ .allocator = allocator,
				      .files = set->count,
				      .processes = processes };
	shares->order = tw_alloc_array(allocator, set->count, sizeof(*shares->order));
	shares->first = tw_alloc_array(allocator, processes + 1, sizeof(*shares->first));
	failed = !files || !loads || !shares->order || !shares->first;
	if (!failed) {
		for (i = 0; i < set->count; i++)
			files[i] = (struct weighed){ set->files[i].bytes, (uint32_t)i, 0 };
		qsort(files, set->count, sizeof(*files), larger_first);
		assign(files, set->count, loads, processes);
		list_by_process(shares, files);
	}
	tw_free(allocator, files, set->count * sizeof(*files));
	tw_free(allocator, loads, processes * sizeof(*loads));
	if (failed)
		tw_shares_release(shares);
	return failed ? TRAWL_ENOMEM : 0;
}

void tw_shares_release(struct tw_shares *shares)
{
	if (!shares->allocator)
		return;
	tw_free(shares->allocator, shares->order, shares->files * sizeof(*shares->order));
	tw_free(shares->allocator, shares->first, (shares->processes + 1) * sizeof(*shares->first));
	*shares = (struct tw_shares){ 0 };
}
