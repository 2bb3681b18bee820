/* The list of readers: what an input is decides its content, then its reader fills a trace. */
#include "io/sniff.h"
#include "os/file.h"
#include "os/inputs.h"
#include "os/thread.h"
#include "store/parts.h"
#include "trace/reader.h"
#include "trawl/nsys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_stdin(const char *path)
{
	return path[0] == '-' && !path[1];
}

static bool ends_in(const char *path, const char *const *endings)
{
	size_t len = strlen(path);

	for (; *endings; endings++)
		if (len > strlen(*endings) && !strcasecmp(path + len - strlen(*endings), *endings))
			return true;
	return false;
}

/* Exports that were interrupted have no header, but the name of a database. */
static const char *const database_endings[] = { ".sqlite", ".sqlite3", ".db", NULL };

/* Whether a file is a database, or should be one by its name and is nothing at all. */
static bool is_database(const char *path)
{
	char head[512];
	ssize_t got, i;

	if (is_stdin(path))
		return false;
	got = tw_file_read_head(path, head, sizeof(head));
	if (got < 0)
		return false;
	if (tw_sniff(head, (size_t)got).kind == TW_SNIFF_DATABASE)
		return true;
	for (i = 0; i < got && !head[i]; i++)
		;
	return i == got && ends_in(path, database_endings);
}

static int read_database(struct trawl_trace *trace, const char *path,
			 const struct trawl_read_options *options, struct trawl_error *err)
{
	int status = tw_nsys_read(trace, path, options, err);

	return status ? trawl_error_context(err, status, "%s", path) : 0;
}

static int read_text(struct trawl_trace *trace, const char *path,
		     const struct trawl_read_options *options, struct trawl_error *err)
{
	struct tw_feed_options feed_options = {
		.end = -1,
		.allocator = options->allocator,
		.block_size = options->block_size,
		.threaded = options->threads > 1,
	};
	struct tw_feed *feed;
	int status = tw_feed_open(&feed, path, &feed_options, err);

	if (status)
		return status;
	status = tw_kineto_read(trace, feed, options, err);
	/* Errors of reading name the file themselves. */
	if (status && status != TRAWL_EIO && status != TRAWL_ELIMIT)
		trawl_error_context(err, status, "%s", is_stdin(path) ? "standard input" : path);
	return status;
}

static const char *const export_endings[] = { ".sqlite", NULL };

const struct tw_reader tw_nsys_reader = {
	.name = "Nsight Systems export",
	.by_process = true,
	.endings = export_endings,
	.is_it = is_database,
	.read = read_database,
};

static bool is_anything(const char *path)
{
	(void)path;
	return true;
}

static const char *const json_endings[] = { ".json", ".json.gz", ".json.zst", NULL };

const struct tw_reader tw_kineto_reader = {
	.name = "Kineto JSON",
	.endings = json_endings,
	.is_it = is_anything,
	.read = read_text,
};

static const struct tw_reader *const readers[] = { &tw_nsys_reader, &tw_kineto_reader };

const struct tw_reader *tw_reader_of(const char *path)
{
	size_t i = 0;

	while (!readers[i]->is_it(path))
		i++;
	return readers[i];
}

#define READERS (sizeof(readers) / sizeof(readers[0]))

bool tw_reader_takes_name(const char *name)
{
	size_t i;

	for (i = 0; i < READERS; i++)
		if (name[0] != '.' && ends_in(name, readers[i]->endings))
			return true;
	return false;
}

void tw_reader_list_endings(struct tw_str *out)
{
	const char *const *ending;
	size_t i;

	for (i = READERS; i--;)
		for (ending = readers[i]->endings; *ending; ending++)
			tw_str_addf(out, "%s%s", out->len ? ", " : "", *ending);
}

bool trawl_nsys_is_export(const char *path)
{
	return tw_reader_of(path) == &tw_nsys_reader;
}

/* ---- reading */

/* Builds with sanitizers can read small files in parts, as large ones are read. */
static void take_test_settings(struct trawl_read_options *options)
{
#ifdef TRAWL_TEST_SETTINGS
	const char *part = getenv("TRAWL_READ_PART");

	if (part && !options->part_size)
		options->part_size = strtoul(part, NULL, 10);
#else
	(void)options;
#endif
}

int trawl_trace_read(struct trawl_trace **out, const char *path,
		     const struct trawl_read_options *given, struct trawl_error *err)
{
	struct trawl_read_options options = { 0 };
	struct trawl_trace *trace;
	int status;

	*out = NULL;
	if (given)
		options = *given;
	if (!options.allocator)
		options.allocator = trawl_allocator_default();
	if (!options.threads)
		options.threads = tw_thread_count();
	if (!is_stdin(path))
		tw_inputs_note(path);
	take_test_settings(&options);
	trace = tw_trace_new(options.allocator);
	if (!trace)
		return trawl_error_set(err, TRAWL_ENOMEM, "%s: out of memory", path);
	status = tw_reader_of(path)->read(trace, path, &options, err);
	if (!status &&
	    ((!trace->by_process && tw_trace_find_parts(trace)) || tw_trace_finish(trace)))
		status = trawl_error_set(err, TRAWL_ENOMEM, "%s: out of memory", path);
	if (status) {
		trawl_trace_free(trace);
		return status;
	}
	*out = trace;
	return 0;
}
