#define _GNU_SOURCE
#include "job/merge/peek.h"

#include "io/feed.h"
#include "os/file.h"
#include "text/scan.h"
#include "text/text.h"
#include "trace/reader.h"

#include <sys/stat.h>
#include <unistd.h>

/* What stands in front of the events is smaller, and what stands after them. */
#define HEAD_SIZE ((size_t)4 << 20)
#define TAIL_SIZE ((size_t)1 << 20)

static void take_distributed(struct tw_peek *peek, const char *value, size_t len)
{
	const char *member;
	size_t member_len;

	member = tw_text_member(value, len, "rank", &member_len);
	if (member && !tw_text_integer(member, member_len, &peek->rank))
		peek->rank = -1;
	member = tw_text_member(value, len, "world_size", &member_len);
	if (member && !tw_text_integer(member, member_len, &peek->world_size))
		peek->world_size = -1;
}

static void take_devices(struct tw_peek *peek, const char *value, size_t len)
{
	size_t element, n = 0;

	while (tw_text_element(value, len, n, &element))
		n++;
	peek->device_count = (int64_t)n;
}

static bool is_key(const char *key, size_t len, const char *name)
{
	return len == strlen(name) && !memcmp(key, name, len);
}

/* A field of the document. */
static void take_field(struct tw_peek *peek, const char *key, size_t key_len, const char *value,
		       size_t len)
{
	if (is_key(key, key_len, "distributedInfo") && *value == '{')
		take_distributed(peek, value, len);
	else if (is_key(key, key_len, "deviceProperties") && *value == '[')
		take_devices(peek, value, len);
	else if (is_key(key, key_len, "baseTimeNanoseconds") &&
		 !tw_text_integer(value, len, &peek->base_time_ns))
		peek->base_time_ns = TRAWL_TIME_NONE;
	else if (is_key(key, key_len, TW_MERGED_KEY))
		peek->merged = true;
}

/* The quote that ends the string whose text begins at p; `end`: none does. */
static const char *end_of_string(const char *p, const char *end)
{
	for (p = tw_scan_string(p); p < end && *p != '"'; p = tw_scan_string(p))
		p += *p == '\\' ? 2 : 1;
	return p < end ? p : end;
}

/* Behind the value at p, NULL: it does not end here. */
static const char *behind_value(const char *p, const char *end)
{
	if (*p == '{' || *p == '[')
		return tw_scan_nested(p, end);
	if (*p == '"') {
		p = end_of_string(p + 1, end);
		return p < end ? p + 1 : NULL;
	}
	while (p < end && *p != ',' && *p != '}' && *p != ']' && !tw_is_space(*p))
		p++;
	return p < end ? p : NULL;
}

/*
 * Fields of the document from p on, as far as they are whole, with commas before or between them;
 * where they end.  `peek` NULL: passes over them.
 */
static const char *take_fields(struct tw_peek *peek, const char *p, const char *end)
{
	for (;;) {
		const char *key = tw_skip_space(p), *key_end, *value, *behind;

		if (key < end && *key == ',')
			key = tw_skip_space(key + 1);
		if (key >= end || *key != '"')
			return key;
		key_end = end_of_string(++key, end);
		if (key_end >= end)
			return p;
		value = tw_skip_space(key_end + 1);
		if (value >= end || *value != ':')
			return p;
		value = tw_skip_space(value + 1);
		if (value >= end || is_key(key, (size_t)(key_end - key), "traceEvents"))
			return p;
		behind = behind_value(value, end);
		if (!behind)
			return p;
		if (peek)
			take_field(peek, key, (size_t)(key_end - key), value,
				   (size_t)(behind - value));
		p = behind;
	}
}

/*
 * Fields after the events, in text that begins somewhere: after the first bracket after which
 * there are only fields and the end of the document.
 */
static void take_last_fields(struct tw_peek *peek, const char *text, const char *end)
{
	const char *first = NULL, *p;

	for (p = end; p-- > text;) {
		const char *behind;

		if (*p != ']')
			continue;
		behind = take_fields(NULL, p + 1, end);
		if (behind < end && *behind == '}' && tw_skip_space(behind + 1) >= end)
			first = p;
	}
	if (first)
		take_fields(peek, first + 1, end);
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

/* Whether the first events have pids such as "[TP00] 4242": texts with a number after a mark. */
static bool has_marked_pids(const char *p, const char *end)
{
	static const char key[] = "\"pid\"";
	const char *value;

	while ((p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1))) {
		p = tw_skip_space(p + sizeof(key) - 1);
		if (p >= end || *p != ':')
			continue;
		value = tw_skip_space(p + 1);
		if (value >= end || *value != '"')
			continue;
		p = end_of_string(value + 1, end);
		if (p < end && tw_is_digit(p[-1]) && !tw_is_digit(value[1]))
			return true;
	}
	return false;
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
	peek->marked = has_marked_pids(window->begin, window->end);
	if (*tw_skip_space(window->begin) == '{')
		take_fields(peek, tw_skip_space(window->begin) + 1, window->end);
	return 0;
}

/* The last of the text, as much as may stand after the events; `window`: what was read last. */
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
	take_last_fields(peek, window->begin, window->end);
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
	int status, fd;

	*peek = (struct tw_peek){ .rank = -1, .world_size = -1, .base_time_ns = TRAWL_TIME_NONE };
	/* What can be read but once is left to who reads it. */
	if (tw_reader_of(path) != &tw_kineto_reader ||
	    (!stat(path, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
		peek->is_trace = true;
		status = tw_file_open(path, &fd, err);
		if (!status)
			close(fd);
		return status;
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
