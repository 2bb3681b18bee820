#define _GNU_SOURCE
#include "merge/peek.h"

#include "base/scan.h"
#include "base/text.h"
#include "io/feed.h"
#include "trace/reader.h"

#include <sys/stat.h>

/* What stands in front of the events is smaller, and what stands behind them. */
#define HEAD_SIZE ((size_t)4 << 20)
#define TAIL_SIZE ((size_t)1 << 20)

/* The value of a key, where it stands in `text` in front of `end`; NULL: it does not. */
static const char *find_value(const char *text, const char *end, const char *key)
{
	size_t len = strlen(key);
	const char *p = text;

	for (; (p = memmem(p, (size_t)(end - p), key, len)); p += len) {
		const char *value = tw_skip_space(p + len);

		if (value < end && *value == ':' && (value = tw_skip_space(value + 1)) < end)
			return value;
	}
	return NULL;
}

static void take_number(const char *text, const char *end, const char *key, int64_t *number)
{
	const char *value = find_value(text, end, key), *behind = value;

	if (!value)
		return;
	if (*behind == '"')
		behind++;
	while (behind < end && (tw_is_digit(*behind) || *behind == '-'))
		behind++;
	if (*value == '"' && behind < end && *behind == '"')
		behind++;
	if (behind < end)
		tw_text_integer(value, (size_t)(behind - value), number);
}

static void take_distributed(struct tw_peek *peek, const char *text, const char *end)
{
	const char *value = find_value(text, end, "\"distributedInfo\""), *behind, *member;
	size_t len;

	if (!value || *value != '{' || !(behind = tw_scan_nested(value, end)))
		return;
	member = tw_text_member(value, (size_t)(behind - value), "rank", &len);
	if (member && !tw_text_integer(member, len, &peek->rank))
		peek->rank = -1;
	member = tw_text_member(value, (size_t)(behind - value), "world_size", &len);
	if (member && !tw_text_integer(member, len, &peek->world_size))
		peek->world_size = -1;
}

static void take_devices(struct tw_peek *peek, const char *text, const char *end)
{
	const char *value = find_value(text, end, "\"deviceProperties\""), *behind;
	size_t len, n = 0;

	if (!value || *value != '[' || !(behind = tw_scan_nested(value, end)))
		return;
	while (tw_text_element(value, (size_t)(behind - value), n, &len))
		n++;
	peek->device_count = (int64_t)n;
}

/* Fields in a stretch of text; the end of it is a window's. */
static void take_fields(struct tw_peek *peek, const char *text, const char *end)
{
	int64_t merged = -1;

	if (peek->base_time_ns == TRAWL_TIME_NONE)
		take_number(text, end, "\"baseTimeNanoseconds\"", &peek->base_time_ns);
	if (peek->rank < 0 && peek->world_size < 0)
		take_distributed(peek, text, end);
	if (!peek->device_count)
		take_devices(peek, text, end);
	take_number(text, end, "\"" TW_MERGED_KEY "\"", &merged);
	peek->merged |= merged >= 0;
}

/* Text from the beginning up to the events, or HEAD_SIZE of it, into the window. */
static int read_head(struct tw_feed *feed, struct tw_window *window, struct trawl_error *err)
{
	size_t keep = 0;
	int status;

	do {
		status = tw_feed_next(feed, keep, window, err);
		keep = (size_t)(window->end - window->begin);
		if (!status && memmem(window->begin, keep, "\"traceEvents\"", 13))
			break;
	} while (!status && !window->last && keep < HEAD_SIZE);
	return status;
}

static int peek_head(struct tw_peek *peek, struct tw_feed *feed, struct tw_window *window,
		     struct trawl_error *err)
{
	const char *events;
	int status = read_head(feed, window, err);
	size_t len;

	if (status)
		return status;
	len = (size_t)(window->end - window->begin);
	events = memmem(window->begin, len, "\"traceEvents\"", 13);
	/* A bare list of events is a trace, too. */
	peek->is_trace = events || (*tw_skip_space(window->begin) == '[' &&
				    memmem(window->begin, len, "\"ph\"", 4));
	take_fields(peek, window->begin, events ? events : window->end);
	return 0;
}

/* The last of the text, as much as may stand behind the events; `window`: what was read last. */
static int peek_end(struct tw_peek *peek, struct tw_feed *feed, struct tw_window *window,
		    struct trawl_error *err)
{
	size_t len = (size_t)(window->end - window->begin);
	int status = 0;

	while (!status && !window->last) {
		status = tw_feed_next(feed, len < TAIL_SIZE ? len : TAIL_SIZE, window, err);
		len = (size_t)(window->end - window->begin);
	}
	if (status)
		return status;
	peek->is_trace |= memmem(window->begin, len, "\"ph\"", 4) != NULL;
	take_fields(peek, window->begin, window->end);
	return 0;
}

/* The same of a plain file, without what stands before. */
static int peek_tail(struct tw_peek *peek, const struct tw_feed *feed,
		     const struct trawl_allocator *allocator, struct trawl_error *err)
{
	const struct tw_feed_options options = {
		.allocator = allocator,
		.start = tw_feed_file_size(feed) - (int64_t)TAIL_SIZE,
		.end = -1,
	};
	struct tw_window window;
	struct tw_feed *tail;
	int status = tw_feed_open_again(&tail, feed, &options, err);

	if (status)
		return status;
	status = tw_feed_next(tail, 0, &window, err);
	if (!status)
		status = peek_end(peek, tail, &window, err);
	tw_feed_close(tail);
	return status;
}

int tw_peek_file(struct tw_peek *peek, const char *path, const struct trawl_allocator *allocator,
		 struct trawl_error *err)
{
	struct tw_feed_options options = { .allocator = allocator, .end = -1 };
	struct tw_window window;
	struct tw_feed *feed;
	struct stat info;
	int status;

	*peek = (struct tw_peek){ .rank = -1, .world_size = -1, .base_time_ns = TRAWL_TIME_NONE };
	/* What can be read but once is left to who reads it. */
	if (tw_is_database(path) || (!stat(path, &info) && !S_ISREG(info.st_mode))) {
		peek->is_trace = true;
		return 0;
	}
	status = tw_feed_open(&feed, path, &options, err);
	if (status)
		return status;
	status = peek_head(peek, feed, &window, err);
	if (!status && (peek->base_time_ns == TRAWL_TIME_NONE || peek->rank < 0))
		status = tw_feed_is_plain(feed) && tw_feed_file_size(feed) > (int64_t)TAIL_SIZE ?
				 peek_tail(peek, feed, allocator, err) :
				 peek_end(peek, feed, &window, err);
	tw_feed_close(feed);
	/* A job of one process is rank 0 of 1, whichever part of a larger whole it is. */
	if (peek->world_size == 1)
		peek->rank = peek->world_size = -1;
	return status;
}
