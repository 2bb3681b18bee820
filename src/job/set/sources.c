#include "job/set/sources.h"

#include "base/alloc.h"
#include "job/set/set.h"
#include "os/file.h"

static bool has_own(const struct trawl_job_source *list, size_t count, int64_t rank)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (list[i].rank >= 0 && list[i].rank == rank)
			return true;
	return false;
}

bool tw_source_counts(const struct trawl_job_source *list, size_t count, size_t i, int64_t rank)
{
	return list[i].rank < 0 || list[i].rank == rank || !has_own(list, count, rank);
}

int64_t tw_rank_for_sources(const struct trawl_trace *trace, const char *path)
{
	/* A job of one process is rank 0 of 1, whichever part of a larger whole it is. */
	if (trace->rank >= 0 && trace->world_size != 1 && !trace->marked)
		return trace->rank;
	return tw_rank_in_path(path);
}

void tw_note_sources(const struct trawl_job_source *list, size_t count, int64_t rank, bool known,
		     struct tw_str *note)
{
	size_t i, of_ranks = 0, counted = 0;

	for (i = 0; i < count; i++) {
		of_ranks += list[i].rank >= 0;
		counted += list[i].found && tw_source_counts(list, count, i, rank);
	}
	if (counted && !known)
		tw_str_addf(note, "none of the %zu traces found for --capture has a graph capture",
			    counted);
	if (!of_ranks || !known || has_own(list, count, rank))
		return;
	if (rank >= 0)
		tw_str_addf(note, "no capture of rank %lld", (long long)rank);
	else
		tw_str_add_cstr(note, "rank unknown");
	tw_str_addf(note, ": its GPU graphs are matched with the captures of %zu rank%s", of_ranks,
		    of_ranks == 1 ? "" : "s");
}

/* ---- of the ranks of a job */

static int read_source(const struct tw_sources *s, size_t i, struct trawl_trace **trace,
		       struct trawl_error *err)
{
	return trawl_trace_read(trace, s->list[i].path, &s->read, err);
}

int tw_sources_begin(struct tw_sources *s, const struct trawl_job_source *list, size_t count,
		     const struct trawl_read_options *read, struct trawl_error *err)
{
	int status = 0;
	size_t i;

	*s = (struct tw_sources){ .list = list, .count = count, .read = *read };
	pthread_mutex_init(&s->lock, NULL);
	s->traces = tw_alloc_array(read->allocator, count + 1, sizeof(*s->traces));
	if (!s->traces)
		return tw_no_memory(err);
	for (i = 0; i < count && !status; i++) {
		if (list[i].rank < 0)
			status = read_source(s, i, &s->traces[i], err);
		if (status == TRAWL_ENODATA && list[i].found)
			status = 0;
	}
	return status;
}

int tw_sources_end(struct tw_sources *s, struct trawl_error *err)
{
	int status = s->err.status;
	size_t i;

	for (i = 0; s->traces && i < s->count; i++)
		trawl_trace_free(s->traces[i]);
	tw_free(s->read.allocator, s->traces, (s->count + 1) * sizeof(*s->traces));
	pthread_mutex_destroy(&s->lock);
	if (status)
		*err = s->err;
	return status;
}

/* What a directory has may be another kind of trace. */
static void keep_failure(struct tw_sources *s, size_t i, const struct trawl_error *err)
{
	pthread_mutex_lock(&s->lock);
	if (!s->err.status && !(err->status == TRAWL_ENODATA && s->list[i].found))
		s->err = *err;
	pthread_mutex_unlock(&s->lock);
}

/* *known: it has captures. */
static int add_one(struct tw_sources *s, size_t i, struct trawl_trace *trace, bool *known)
{
	struct trawl_trace *own = NULL;
	struct trawl_error err;
	int status = s->list[i].rank < 0 ? 0 : read_source(s, i, &own, &err);

	if (!status && (own || s->traces[i])) {
		status = trawl_trace_add_source(trace, own ? own : s->traces[i],
						tw_file_name(s->list[i].path), s->list[i].kind,
						&err);
		*known |= !status;
		if (status)
			trawl_error_context(&err, status, "%s", s->list[i].path);
	}
	trawl_trace_free(own);
	if (status)
		keep_failure(s, i, &err);
	return status == TRAWL_ENOMEM ? status : 0;
}

int tw_sources_add(struct tw_sources *s, struct trawl_trace *trace, const char *path,
		   struct tw_str *note)
{
	int64_t rank = tw_rank_for_sources(trace, path);
	bool known = false;
	int status = 0;
	size_t i;

	for (i = 0; i < s->count && !status; i++)
		if (tw_source_counts(s->list, s->count, i, rank))
			status = add_one(s, i, trace, &known);
	tw_note_sources(s->list, s->count, rank, known, note);
	return status;
}
