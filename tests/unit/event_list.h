/*
 * A trace from the text of its events: begin(), add() each, end() reads it.  One at a time.
 * Behind cmocka.h.
 */
#ifndef TRAWL_TEST_EVENT_LIST_H
#define TRAWL_TEST_EVENT_LIST_H

#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>

static FILE *text;
static char *text_ptr;
static size_t text_len;
static uint64_t event_count;

static void begin(void)
{
	text = open_memstream(&text_ptr, &text_len);
	assert_non_null(text);
	fputc('[', text);
	event_count = 0;
}

/* Adds an event (printf; ' stands for "), returns its number. */
static uint64_t __attribute__((format(printf, 1, 2))) add(const char *format, ...)
{
	char event[1000], *p;
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(event, sizeof(event), format, list);
	va_end(list);
	assert_in_range(n, 1, sizeof(event) - 1);
	for (p = event; *p; p++)
		if (*p == '\'')
			*p = '"';
	fprintf(text, "%s%s", event_count ? ",\n" : "", event);
	return event_count++;
}

static struct trawl_trace *end(void)
{
	const struct trawl_read_options read = { .allocator = trawl_allocator_default(),
						 .threads = 1 };
	const struct tw_feed_options options = { .allocator = trawl_allocator_default(),
						 .end = -1 };
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	struct tw_feed *feed;

	fputc(']', text);
	fclose(text);
	assert_int_equal(tw_feed_open_memory(&feed, text_ptr, text_len, &options, NULL), 0);
	assert_int_equal(tw_kineto_read(trace, feed, &read, NULL), 0);
	assert_int_equal(tw_trace_finish(trace), 0);
	assert_int_equal(trace->events.count, event_count);
	free(text_ptr);
	return trace;
}

#endif
