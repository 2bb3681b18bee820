/*
 * A large plain file by several threads: it is split at event boundaries.  A part is used only
 * when the one before it ended exactly where it began, so a wrong guess of a boundary costs
 * time, not correctness.
 *
 * What the reader carries from event to event beside its place decides nothing: caches hold what
 * reading would give again, and tables are joined in the order in which one reader would have
 * filled them.  Only a table that was full may have been filled otherwise: that part is read again.
 */
#include "trace/kineto.h"

#include "base/alloc.h"
#include "os/thread.h"

/* A part smaller than this is not worth a thread. */
#define SMALLEST_PART ((int64_t)8 << 20)
#define MAX_PARTS 16
/* Of a size that was asked for. */
#define MAX_GIVEN_PARTS 256

/* Reads from somewhere in the middle of the file: finds an event start, reads up to `stop`. */
static void read_part(struct tw_kineto_part *part)
{
	struct tw_kineto *k = &part->k;
	int64_t start = part->first;
	const char *found = NULL, *cut;
	int status = 0;

	part->p = k->window.begin;
	while (!status && !k->window.last &&
	       k->window.end - k->window.begin < 4 * TW_BOUNDARY_CONTEXT)
		status = tw_kineto_more_text(part, k->window.begin);
	while (!status) {
		found = tw_kineto_find_event(k->window.begin, 0, part->p, k->window.end, &cut);
		if (found && tw_kineto_offset(k, found) >= start)
			break;
		if (found) {
			part->p = found + 1;
			continue;
		}
		part->p = k->window.end;
		if (k->window.last)
			break;
		{
			const char *keep = k->window.end - k->window.begin > TW_BOUNDARY_CONTEXT ?
						   k->window.end - TW_BOUNDARY_CONTEXT :
						   k->window.begin;

			part->p = keep;
			status = tw_kineto_more_text(part, keep);
		}
	}
	if (!status && found) {
		part->p = found;
		part->first = tw_kineto_offset(k, found);
		status = tw_kineto_take_events(part);
	} else {
		part->first = -1;
	}
	part->status = status;
}

/* The main part is piece 0 and goes on where it stands; the others read their stretch. */
struct crew {
	struct tw_kineto_part *main;
	struct tw_kineto_part *parts; /* 1..count-1; index 0 unused */
	const struct trawl_read_options *options;
	size_t block_size;
};

static void run_part(void *context, size_t i)
{
	struct crew *crew = context;
	struct tw_kineto_part *part = i ? &crew->parts[i] : crew->main;

	if (i == 0)
		part->status = tw_kineto_take_events(part);
	else if (!part->status)
		read_part(part);
}

static int open_part(struct crew *crew, struct tw_kineto_part *part, int64_t start, int64_t stop)
{
	const struct trawl_allocator *allocator = crew->main->k.trace->allocator;
	struct tw_feed_options options = {
		.allocator = allocator,
		.block_size = crew->block_size,
		.start = start > TW_BOUNDARY_CONTEXT ? start - TW_BOUNDARY_CONTEXT : 0,
		.end = -1,
	};
	struct trawl_trace *trace;
	struct tw_feed *feed = NULL;
	int status;

	part->bare = crew->main->bare;
	part->depth = crew->main->depth;
	part->place = TW_PLACE_EVENTS;
	part->first = start;
	trace = tw_trace_new(allocator);
	if (!trace)
		return tw_kineto_no_memory(part);
	status = tw_feed_open_again(&feed, crew->main->k.feed, &options, &part->err);
	if (!status)
		status = tw_kineto_part_init(part, trace, feed);
	if (status) {
		if (feed)
			tw_feed_close(feed);
		trawl_trace_free(trace);
		part->k.trace = NULL;
		return status;
	}
	part->k.no_python = crew->main->k.no_python;
	part->k.stop = stop;
	part->k.window.offset = options.start;
	part->k.window.begin = part->k.window.end = NULL;
	status = tw_feed_next(feed, 0, &part->k.window, &part->err);
	part->p = part->k.window.begin;
	return status;
}

/*
 * Takes over part i, which began where the main part ended: its events, and its place in the
 * text, from which the main part goes on.
 */
static int adopt_part(struct tw_kineto_part *main, struct tw_kineto_part *part)
{
	struct trawl_trace *trace = main->k.trace;

	tw_feed_close(main->k.feed);
	main->k.feed = part->k.feed;
	main->k.window = part->k.window;
	main->k.stop = part->k.stop;
	main->k.failed_at = NULL;
	main->p = part->p;
	main->place = part->place;
	main->ended = part->ended;
	trace->parts++;
	/* Joining renumbers nothing that the main part has: its caches stay right. */
	tw_kineto_part_release(part);
	if (tw_trace_append(trace, part->k.trace)) {
		part->k.trace = NULL;
		return tw_kineto_no_memory(main);
	}
	part->k.trace = NULL;
	return 0;
}

static void discard_part(struct tw_kineto_part *part)
{
	struct trawl_trace *trace = part->k.trace;

	if (!trace)
		return;
	tw_kineto_part_release(part);
	if (part->k.feed)
		tw_feed_close(part->k.feed);
	trawl_trace_free(trace);
	part->k.trace = NULL;
}

/* Whether the main part, where it ended, would read what this one has read. */
static bool goes_on_with(const struct tw_kineto_part *main, const struct tw_kineto_part *part)
{
	return !part->status && part->first == main->ended &&
	       part->k.trace->category_count < TW_MAX_CATEGORIES;
}

/* Joins the parts in order as long as each began where the one before it ended. */
static int join_parts(struct crew *crew, size_t count)
{
	struct tw_kineto_part *main = crew->main;
	size_t i;

	for (i = 1; i < count; i++) {
		struct tw_kineto_part *part = &crew->parts[i];

		if (!main->status && main->ended >= 0) {
			if (goes_on_with(main, part)) {
				main->status = adopt_part(main, part);
			} else {
				/* Wrong guess: read this stretch from where we are. */
				main->k.stop = part->k.trace ? part->k.stop : INT64_MAX;
				main->status = tw_kineto_take_events(main);
			}
		}
		discard_part(part);
	}
	/* The last stretch may have been given up before its end. */
	if (!main->status && main->ended >= 0) {
		main->k.stop = INT64_MAX;
		main->status = tw_kineto_take_events(main);
	}
	return main->status;
}

/* Number of parts in which `rest` bytes are read. */
static size_t part_count(int64_t rest, const struct trawl_read_options *options)
{
	int64_t size = options->part_size ? (int64_t)options->part_size : SMALLEST_PART;
	int64_t most = options->part_size	    ? MAX_GIVEN_PARTS :
		       options->threads < MAX_PARTS ? options->threads :
						      MAX_PARTS;

	if (options->threads < 2 || rest < 2 * size)
		return 1;
	return (size_t)(rest / size < most ? rest / size : most);
}

int tw_kineto_take_events_parallel(struct tw_kineto_part *main,
				   const struct trawl_read_options *options)
{
	int64_t here = tw_kineto_offset(&main->k, main->p);
	int64_t rest = tw_feed_file_size(main->k.feed) - here;
	size_t count = part_count(rest, options), i;
	struct crew crew = { .main = main, .options = options, .block_size = options->block_size };
	unsigned threads = options->threads;
	int status;

	/* That of the last part of a list before this one may be left. */
	main->k.stop = INT64_MAX;
	if (count < 2 || !tw_feed_is_plain(main->k.feed))
		return tw_kineto_take_events(main);
	crew.parts = tw_alloc_array(main->k.trace->allocator, count, sizeof(*crew.parts));
	if (!crew.parts)
		return tw_kineto_no_memory(main);
	for (i = 1; i < count; i++) {
		int64_t start = here + rest / (int64_t)count * (int64_t)i;
		int64_t stop = i + 1 < count ? start + rest / (int64_t)count : INT64_MAX;

		crew.parts[i].status = open_part(&crew, &crew.parts[i], start, stop);
	}
	main->k.stop = here + rest / (int64_t)count;
	main->k.progress_parts = (int64_t)count;
	tw_parallel(threads, count, run_part, &crew);
	main->k.progress_parts = 1;
	status = join_parts(&crew, count);
	tw_free(main->k.trace->allocator, crew.parts, count * sizeof(*crew.parts));
	return status;
}
