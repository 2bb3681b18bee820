#include "trawl/nsys.h"

#include "base/alloc.h"
#include "base/scope.h"
#include "nsys/grouped.h"
#include "nsys/tables.h"

struct query {
	const struct tw_table_spec *spec;
	size_t compat_columns; /* the first of them: those of the original scripts */
	int (*fill)(struct tw_nsys_capture *capture, struct trawl_table *table,
		    struct trawl_error *err);
};

static const struct query queries[] = {
	[TRAWL_NSYS_SETUP] = { &tw_nsys_setup_spec, TW_SETUP_COMPAT, tw_nsys_setup },
	[TRAWL_NSYS_WINDOWS] = { &tw_nsys_windows_spec, TW_WINDOWS_COMPAT, tw_nsys_windows },
	[TRAWL_NSYS_STREAMS] = { &tw_nsys_streams_spec, TW_STREAMS_COMPAT, tw_nsys_streams },
	[TRAWL_NSYS_OVERLAP] = { &tw_nsys_overlap_spec, TW_OVERLAP_COMPAT, tw_nsys_overlap },
};

/* NULL: out of memory. */
static struct trawl_table *new_table(enum trawl_nsys_table query, bool compat,
				     const struct trawl_allocator *allocator)
{
	const struct query *q = &queries[query];

	return tw_table_new_columns(q->spec, q->spec->columns,
				    compat ? q->compat_columns : q->spec->column_count, allocator);
}

/* Puts the sums over ranks in the place of a table. */
static int group(struct trawl_table **table, enum trawl_nsys_table query,
		 struct tw_nsys_capture *capture, const char *by, struct trawl_error *err)
{
	const struct tw_nsys_source *source = capture->source;
	struct trawl_table *grouped = NULL,
			   *setup = new_table(TRAWL_NSYS_SETUP, false, source->shared);
	int status = setup ? tw_nsys_setup(capture, setup, err) : tw_no_memory(err);

	if (!status)
		status = tw_table_finish(setup, err);
	if (!status)
		status = tw_table_finish(*table, err);
	if (!status)
		status = tw_nsys_group(&grouped, query, by, *table, setup, source, err);
	trawl_table_free(setup);
	if (status)
		return status;
	trawl_table_free(*table);
	*table = grouped;
	return 0;
}

/* What a query starts from, then its rows and notes. */
static int answer(struct tw_nsys_capture *c, enum trawl_nsys_table query, struct trawl_table *table,
		  struct trawl_error *err)
{
	bool windows = query != TRAWL_NSYS_SETUP, kernels = windows && query != TRAWL_NSYS_WINDOWS;
	int status = windows ? tw_nsys_capture_windows(c, err) : 0;

	if (!status && kernels)
		status = tw_nsys_capture_kernels(c, query == TRAWL_NSYS_OVERLAP, err);
	if (!status && kernels)
		status = tw_nsys_attribute(c, err);
	if (!status)
		status = queries[query].fill(c, table, err);
	if (status)
		return status;
	tw_nsys_capture_notes(c, table);
	if (windows)
		tw_nsys_window_notes(c, !kernels, table);
	if (kernels)
		tw_nsys_kernel_notes(c, table);
	return 0;
}

static int fill(struct trawl_table **table, enum trawl_nsys_table query,
		struct tw_nsys_source *source, const struct trawl_nsys_options *options,
		struct trawl_error *err)
{
	struct tw_nsys_capture capture;
	int status;

	if (options->compat)
		return tw_nsys_compat(*table, query, source, options, err);
	status = tw_nsys_capture_open(&capture, source, options, err);
	if (!status)
		status = answer(&capture, query, *table, err);
	if (!status && options->by)
		status = group(table, query, &capture, options->by, err);
	return status;
}

static int ask(struct trawl_table **table, enum trawl_nsys_table query,
	       struct tw_nsys_source *source, const struct trawl_nsys_options *options,
	       struct trawl_error *err)
{
	int status = tw_nsys_recognise(source->database, source->allocator, err);

	if (status)
		return status;
	*table = new_table(query, options->compat, source->shared);
	status = *table ? fill(table, query, source, options, err) : tw_no_memory(err);
	if (!status)
		status = tw_table_finish(*table, err);
	if (!status && options->compat && !trawl_table_rows(*table))
		status = trawl_error_set(err, TRAWL_ENODATA,
					 "empty result: no such rank, or no such kernels in the "
					 "windows (no failure without --compat)");
	return status || !source->troubles.failed ? status : tw_no_memory(err);
}

void trawl_nsys_options_init(struct trawl_nsys_options *options)
{
	*options = (struct trawl_nsys_options){ .rank = -1 };
}

static int check(enum trawl_nsys_table query, const struct trawl_nsys_options *o,
		 struct trawl_error *err)
{
	const char *keys;

	if (query >= sizeof(queries) / sizeof(queries[0]))
		return trawl_error_set(err, TRAWL_EUSAGE, "unknown query number %u", query);
	if (o->window && o->end_ns < o->start_ns)
		return trawl_error_set(err, TRAWL_EUSAGE, "the window ends before it starts");
	if (o->compat && (o->by || o->rules))
		return trawl_error_set(err, TRAWL_EUSAGE, "compat excludes grouping and rules");
	if (!o->by || trawl_nsys_can_group(query, o->by))
		return 0;
	keys = trawl_nsys_groupings(query);
	return trawl_error_set(err, TRAWL_EUSAGE,
			       *keys ? "unknown grouping '%.60s'; groupings: %s" :
				       "unknown grouping '%.60s': the query has none%s",
			       o->by, keys);
}

int trawl_nsys_query(struct trawl_table **out, enum trawl_nsys_table query, const char *path,
		     const struct trawl_nsys_options *given, struct trawl_error *err)
{
	struct trawl_nsys_options options;
	struct tw_nsys_source source = { .database = NULL };
	struct tw_scope scope;
	int status;

	*out = NULL;
	trawl_nsys_options_init(&options);
	if (given)
		options = *given;
	status = check(query, &options, err);
	if (status)
		return status;
	source.shared = options.allocator ? options.allocator : trawl_allocator_default();
	source.threads = options.threads;
	status = tw_database_open(&source.database, path, source.shared, err);
	if (status)
		return status;
	tw_scope_begin(&scope, source.shared);
	source.allocator = &scope.allocator;
	tw_str_init(&source.troubles, source.allocator);
	status = ask(out, query, &source, &options, err);
	if (status) {
		trawl_table_free(*out);
		*out = NULL;
	}
	tw_str_tell(&source.troubles, options.note, options.note_context);
	tw_scope_end(&scope);
	tw_database_close(source.database);
	return status;
}
