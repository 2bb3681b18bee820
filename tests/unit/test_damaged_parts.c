/*
 * Damaged text read in parts of 4 kB by several threads says what it says to one: events, ids,
 * arguments, the record with its places, the tables of a report.  Damage misleads about where
 * events begin and what stands in strings, and it makes what the reader remembers differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "in_parts.h"
#include "instrumented.h"
#include "random_events.h"
#include "render/render.h"
#include "traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state;

static size_t random_below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state >> 20) % n;
}

/* ---- reading */

static const struct trawl_read_options ways[] = {
	{ .threads = 2, .part_size = 4096, .block_size = 4096 },
	{ .threads = 3, .part_size = 3600 },
	{ .threads = 8, .part_size = 4500, .block_size = 700 },
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* All tables as CSV; nothing when there is no report. */
static void report_text(const struct trawl_trace *trace, unsigned threads, struct tw_str *out)
{
	struct trawl_report_options options;
	struct trawl_report *report;
	size_t i;

	tw_str_init(out, trawl_allocator_default());
	trawl_report_options_init(&options);
	options.threads = threads;
	if (trawl_report_new(&report, trace, &options, NULL))
		return;
	for (i = 0; i < trawl_report_tables(report); i++)
		tw_render_csv(trawl_report_table(report, i), out);
	trawl_report_free(report);
}

static void assert_same_report(const struct trawl_trace *one, const struct trawl_trace *several,
			       unsigned threads)
{
	struct tw_str a, b;

	report_text(one, 1, &a);
	report_text(several, threads, &b);
	assert_false(a.failed || b.failed);
	assert_int_equal(a.len, b.len);
	if (a.len)
		assert_memory_equal(a.ptr, b.ptr, a.len);
	tw_str_release(&a);
	tw_str_release(&b);
}

/* How many parts were used of those read in all ways. */
static unsigned check_ways(const char *text, size_t len, const char *what, bool report)
{
	struct trawl_trace *one = read_text(text, len, 0, NULL);
	unsigned used = 0;
	size_t i;

	for (i = 0; i < WAYS; i++) {
		struct trawl_trace *several = read_in_parts(text, len, &ways[i], NULL);

		if (!one != !several)
			fail_msg("%s: a trace to one of them only", what);
		if (one) {
			assert_same_trace(one, several, what);
			used += several->parts;
		}
		if (one && report)
			assert_same_report(one, several, ways[i].threads);
		trawl_trace_free(several);
	}
	trawl_trace_free(one);
	return used;
}

/* ---- what is damaged */

enum layout { COMPACT, INDENTED, BARE, LAYOUTS };

/* Arguments of every kind, with texts that stand in strings as well as in lists. */
static void add_arguments(struct tw_str *out, size_t i)
{
	switch (i % 9) {
	case 0:
		tw_str_addf(out, "\"Input Dims\":[[%zu,64],[64,%zu],[]],\"Sequence number\":%zu",
			    i % 40 + 1, i % 40 + 1, i);
		break;
	case 1:
		tw_str_addf(out, "\"x\":%zu,\"y\":null,\"z\":-%zu.25,\"big\":%zu%s", i, i, i,
			    "123456789012345678901234567890");
		break;
	case 2:
		tw_str_addf(out, "\"x\":{\"ph\":\"X\",\"name\":\"n%zu\",\"ts\":1},\"yes\":true",
			    i % 3);
		break;
	case 3:
		tw_str_addf(out, "\"x\":\"{\\\"ph\\\":\\\"X\\\",\\\"ts\\\":%zu}\",\"no\":false",
			    i % 5);
		break;
	case 4:
		tw_str_addf(out, "\"a\":[1,[],{\"ph\":\"M\",\"name\":\"k\"},\"]}\"],\"n\":%zu",
			    i * 1000003);
		break;
	case 5:
		tw_str_addf(out, "\"key %zu\":\"value \\u00e9 %zu\",\"\":0", i % 7, i % 11);
		break;
	case 6:
		tw_str_addf(out, "\"Concrete Inputs\":[\"\",\"[%zu, 2]\",\"True\"],\"e\":1e%zu",
			    i % 9, i % 20);
		break;
	case 7:
		tw_str_addf(out, "\"Collective name\":\"allreduce\",\"In msg nelems\":%zu", i * 64);
		break;
	default:
		tw_str_addf(out, "\"stack\":\"%.*s\"", (int)(i * 37 % 3000), "");
	}
}

static void add_event(struct tw_str *out, size_t i, enum layout layout)
{
	static const char *const heads[] = {
		"\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9",
		"\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9",
		"\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7",
		"\"ph\":\"s\",\"id\":5,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":9,\"tid\":9",
		"\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD\",\"pid\":0,\"tid\":\"stream 7\"",
		"\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":9,\"tid\":9",
		"\"name\":\"c:\\\\d\\\\\",\"ph\":\"i\",\"s\":\"g\",\"pid\":\"p\",\"tid\":\"\"",
	};
	const char *space = layout == INDENTED ? "\n    " : "";

	tw_str_addf(out, "{%s%s,%s\"ts\":%zu.%zu,\"dur\":%zu,%s\"args\":{%s", space, heads[i % 7],
		    space, 100 + 10 * i, i % 1000, i % 9, space, space);
	if (i % 7 == 1 || i % 7 == 2 || i % 7 == 4)
		tw_str_addf(out, "\"External id\":%zu,\"correlation\":%zu,", i / 7, i / 7);
	add_arguments(out, i);
	tw_str_addf(out, "%s}%s}", space, layout == INDENTED ? "\n  " : "");
}

/* A trace of about `bytes` bytes. */
static void make_trace(struct tw_str *out, enum layout layout, size_t bytes)
{
	size_t i;

	tw_str_clear(out);
	tw_str_add_cstr(out, layout == BARE ?
				     "[" :
				     "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3},"
				     "\"traceEvents\":[");
	for (i = 0; out->len < bytes; i++) {
		tw_str_add_cstr(out, i ? ",\n" : "\n");
		add_event(out, i, layout);
	}
	tw_str_add_cstr(out, layout == BARE ? "]" : "],\"traceName\":\"t.json\"}\n");
}

static void make_base(struct tw_str *out, size_t round)
{
	struct random_events r;

	if (round % 4 < LAYOUTS) {
		make_trace(out, (enum layout)(round % 4), 20000 + random_below(12000));
		return;
	}
	random_events_make(&r, round, 90);
	tw_str_clear(out);
	tw_str_add(out, r.text.ptr, r.text.len);
	random_events_release(&r);
}

/* ---- damage */

/* Replaces `old` bytes at `at` by others. */
static void splice(struct tw_str *text, size_t at, size_t old, const char *fresh, size_t len)
{
	struct tw_str rest;

	if (old > text->len - at)
		old = text->len - at;
	tw_str_init(&rest, trawl_allocator_default());
	tw_str_add(&rest, text->ptr + at + old, text->len - at - old);
	text->len = at;
	tw_str_add(text, fresh, len);
	tw_str_add(text, rest.len ? rest.ptr : "", rest.len);
	tw_str_release(&rest);
}

#define LIKE_AN_EVENT                                                                        \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"fake\",\"pid\":0,\"tid\":7,\"ts\":500," \
	"\"dur\":2,\"args\":{\"stream\":7,\"correlation\":1}}"

static const char *const inserted[] = {
	"\"",
	"\\",
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"...",
	"\n",
	"\"\"",
	"\\\"",
	"},",
	"},{",
	"]}",
	"x",
	"-",
	"1e",
	"\xff",
	"\x01",
	"null",
	"NaN",
	"\",\"",
	"\":",
	"},{\"ph\":\"X\",",
	"{}",
	LIKE_AN_EVENT,
	"," LIKE_AN_EVENT ",",
	"\"" LIKE_AN_EVENT "\"",
	",{\"x\":\"" LIKE_AN_EVENT "\"},",
	"{\"x\":" LIKE_AN_EVENT "},",
	"},\n{\"ph\":\"M\",\"name\":\"",
	"],\"traceEvents\":[",
	"],\"more\":{\"traceEvents\":[",
	"\",\"ts\":1},{\"ph\":\"X\",\"name\":\"",
};

#define INSERTED (sizeof(inserted) / sizeof(inserted[0]))

/* The value behind a colon near `at` becomes `...`, or nothing. */
static void empty_value(struct tw_str *text, size_t at)
{
	const char *colon = memchr(text->ptr + at, ':', text->len - at), *p;

	if (!colon)
		return;
	for (p = colon + 1; p < text->ptr + text->len && !strchr(",}", *p); p++)
		;
	at = (size_t)(colon + 1 - text->ptr);
	if (random_below(2))
		splice(text, at, (size_t)(p - colon - 1), "...", 3);
	else
		splice(text, at, (size_t)(p - colon - 1), "", 0);
}

/* Many events beside each other that are not meant: as such, or in a string. */
static void add_lookalikes(struct tw_str *text, size_t at)
{
	size_t n = 1 + random_below(40), kind = random_below(4), i;
	struct tw_str more;

	tw_str_init(&more, trawl_allocator_default());
	tw_str_add_cstr(&more, kind == 1 ? ",{\"ph\":\"M\",\"name\":\"" : kind == 2 ? "\"" : "");
	for (i = 0; i < n; i++) {
		/* More categories than a trace can tell apart. */
		if (kind == 3)
			tw_str_addf(
				&more,
				",{\"ph\":\"X\",\"cat\":\"c%zu\",\"name\":\"n\",\"ts\":1,\"dur\":1}",
				random_below(400));
		else
			tw_str_add_cstr(&more, LIKE_AN_EVENT);
	}
	tw_str_add_cstr(&more, kind == 1 ? "\"}," : kind == 2 ? "\"" : "");
	splice(text, at, 0, more.ptr, more.len);
	tw_str_release(&more);
}

static void damage(struct tw_str *text)
{
	size_t at = random_below(text->len), from, len;
	const char *insert;
	char piece[700];

	switch (random_below(16)) {
	case 0:
		splice(text, at, 1 + random_below(200), "", 0);
		break;
	case 1:
		splice(text, at, 1, "\"", 1);
		break;
	case 2:
		text->ptr[at] = (char)random_below(256);
		break;
	case 3:
	case 4:
	case 5:
		empty_value(text, at);
		break;
	case 6:
		/* What was read before comes again, somewhere else. */
		from = random_below(text->len);
		len = random_below(sizeof(piece));
		len = len < text->len - from ? len : text->len - from;
		memcpy(piece, text->ptr + from, len);
		splice(text, at, 0, piece, len);
		break;
	case 7:
		add_lookalikes(text, at);
		break;
	case 8:
		if (!random_below(8))
			text->len = at + 1;
		break;
	default:
		insert = inserted[random_below(INSERTED)];
		splice(text, at, 0, insert, strlen(insert));
	}
}

static void test_damaged_files(void **state)
{
	size_t rounds = UNDER_TSAN ? 60 : full_run() ? 3000 : 240, round, hits, used = 0;
	struct tw_str text;
	char what[32];

	tw_str_init(&text, trawl_allocator_default());
	for (round = 0; round < rounds; round++) {
		random_state = (round + 1) * 0x9e3779b97f4a7c15u;
		make_base(&text, round);
		for (hits = 1 + random_below(round % 8 ? 12 : 60); hits--;)
			damage(&text);
		assert_false(text.failed);
		snprintf(what, sizeof(what), "file %zu", round);
		used += check_ways(text.ptr, text.len, what, round % 10 == 0);
	}
	/* Five parts of most files could be used, in three ways. */
	assert_true(used > rounds * 6);
	tw_str_release(&text);
}

/* ---- what was found so */

/* Events enough for several parts on both sides of `odd`, event 100. */
static void around(struct tw_str *text, const char *before, const char *odd)
{
	size_t i;

	tw_str_clear(text);
	tw_str_addf(text, "{\"traceEvents\":[%s", before);
	for (i = 0; i < 200; i++) {
		if (i == 100)
			tw_str_addf(text, "%s,\n", odd);
		tw_str_addf(
			text,
			"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%zu\",\"pid\":9,\"tid\":9,"
			"\"ts\":%zu,\"dur\":8,\"args\":{\"External id\":%zu,\"Input Dims\":[[%zu]]}}%s",
			i % 9, 10 * i, i, i % 40, i < 199 ? ",\n" : "\n]}");
	}
}

/* Reads in all ways; gives what one thread reads. */
static struct trawl_trace *trace_around(const char *before, const char *odd)
{
	struct trawl_trace *trace;
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	around(&text, before, odd);
	assert_true(check_ways(text.ptr, text.len, odd, true) >= WAYS);
	trace = trace_of(text.ptr);
	tw_str_release(&text);
	return trace;
}

/* A value that is not there has no bytes, whatever stood before it. */
static void test_absent_values_behind_integers(void **state)
{
	static const struct {
		const char *args;
		int kinds;
	} cases[] = {
		{ "\"x\":5,\"y\":...,\"z\":[7]", 1 },
		{ "\"x\":-70000,\"y\":,\"z\":[7]", 1 },
		{ "\"x\":123456789012,\"y\":null,\"z\":[7]", 0 },
		{ "\"x\":3,\"y\":None,\"z\":[7]", 1 },
		{ "\"x\":true,\"y\":...,\"z\":[7]", 1 },
		{ "\"x\":15,\"y\":undefined,\"other key\":nan,\"z\":[7]", 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trawl_trace *trace;
		char odd[300];

		snprintf(
			odd, sizeof(odd),
			"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"odd\",\"pid\":9,\"tid\":9,\"ts\":1000,"
			"\"dur\":1,\"args\":{%s}}",
			cases[i].args);
		trace = trace_around("", odd);
		assert_int_equal(trace->events.count, 201);
		assert_kinds(trace, cases[i].kinds);
		assert_string_equal(arg_of(trace, 100, "y"), "null");
		assert_string_equal(arg_of(trace, 100, "z"), "[7]");
		trawl_trace_free(trace);
	}
}

/*
 * The text of an object that was an argument before is no guess of what a string holds: the string
 * ends at its first quote.  Who has not seen the object reads the same.
 */
static void test_objects_are_no_strings(void **state)
{
	static const char *const objects[] = { "{\"ph\":\"X\",\"ts\":1}", "[\"a\",{\"ph\":\"M\"}]",
					       "{\"a\":\"b\"}" };
	size_t i;

	for (i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		struct trawl_trace *fresh, *seen;
		char before[200], odd[200];

		snprintf(before, sizeof(before),
			 "{\"ph\":\"M\",\"name\":\"odd\",\"args\":{\"x\":%s}},", objects[i]);
		snprintf(odd, sizeof(odd),
			 "{\"ph\":\"M\",\"name\":\"odd\",\"args\":{\"x\":\"%s\"}}", objects[i]);
		fresh = trace_around("", odd);
		seen = trace_around(before, odd);
		assert_int_equal(seen->events.count, fresh->events.count + 1);
		assert_true(trawl_trace_defects(fresh) > 0);
		assert_int_equal(trawl_trace_defects(seen), trawl_trace_defects(fresh));
		trawl_trace_free(fresh);
		trawl_trace_free(seen);
	}
}

/*
 * A second list behind one that ended in an earlier part than the last: too short for parts of its
 * own, it is read to its end all the same.
 */
static void test_second_list(void **state)
{
	size_t count, i;
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	for (count = 20; count < 200; count += 12) {
		struct trawl_trace *trace;

		around(&text, "", "{}");
		text.len -= 2;
		tw_str_add_cstr(&text, "],\"traceEvents\":[");
		for (i = 0; i < count; i++)
			tw_str_addf(&text,
				    "%s{\"ph\":\"X\",\"name\":\"second\",\"ts\":%zu,\"dur\":1}",
				    i ? "," : "", i);
		tw_str_add_cstr(&text, "]}");
		check_ways(text.ptr, text.len, "second list", true);
		trace = trace_of(text.ptr);
		assert_int_equal(trace->events.count, 201 + count);
		trawl_trace_free(trace);
	}
	tw_str_release(&text);
}

/* A part may have more categories than a trace has room for before it is joined. */
static void test_more_categories_than_there_is_room(void **state)
{
	struct tw_str text;
	size_t kinds, i;

	tw_str_init(&text, trawl_allocator_default());
	for (kinds = 200; kinds < 700; kinds += 70) {
		tw_str_clear(&text);
		tw_str_add_cstr(&text, "[");
		/* Short enough for 300 in a part. */
		for (i = 0; i < 2000; i++)
			tw_str_addf(&text, "%s{\"cat\":\"%03zx\"}", i ? "," : "", i % kinds);
		tw_str_add_cstr(&text, "]");
		check_ways(text.ptr, text.len, "categories", true);
	}
	tw_str_release(&text);
}

/* Events in a string that goes over several parts are none, escaped or not. */
static void test_strings_over_parts(void **state)
{
	struct trawl_trace *trace;
	struct tw_str odd;
	size_t i;

	tw_str_init(&odd, trawl_allocator_default());
	tw_str_add_cstr(&odd, "{\"ph\":\"M\",\"name\":\"long\",\"args\":{\"text\":\"");
	for (i = 0; i < 300; i++)
		tw_str_add_cstr(
			&odd,
			"},\\n{\\\"ph\\\":\\\"X\\\",\\\"name\\\":\\\"no event\\\"},{ph:1},{'ts':1},");
	tw_str_add_cstr(&odd, "\"}}");
	trace = trace_around("", odd.ptr);
	assert_int_equal(trace->events.count, 201);
	assert_kinds(trace, 0);
	trawl_trace_free(trace);
	tw_str_clear(&odd);
	tw_str_add_cstr(&odd, "{\"ph\":\"M\",\"name\":\"long\",\"args\":{\"list\":[0");
	for (i = 0; i < 300; i++)
		tw_str_add_cstr(&odd, ",\n{\"ph\":\"X\",\"name\":\"no event\",\"ts\":1,\"dur\":1}");
	tw_str_add_cstr(&odd, "]}}");
	trace = trace_around("", odd.ptr);
	assert_int_equal(trace->events.count, 201);
	trawl_trace_free(trace);
	tw_str_release(&odd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent_values_behind_integers),
		cmocka_unit_test(test_objects_are_no_strings),
		cmocka_unit_test(test_second_list),
		cmocka_unit_test(test_more_categories_than_there_is_room),
		cmocka_unit_test(test_strings_over_parts),
		cmocka_unit_test(test_damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
