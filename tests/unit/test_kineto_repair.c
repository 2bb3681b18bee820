/*
 * The Kineto reader on damaged text: what is repaired, what is lost, and that each kind is counted
 * exactly, with its place, while the events around it survive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l/igzip_lib.h>

#include "feed_inputs.h"
#include "traces.h"

#define HEAD "{\"traceEvents\":[\n"
#define TAIL "\n]}"
#define EVENT_WITH(category, name, rest) \
	"{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":0,\"tid\":7" rest "}"
#define KERNEL(name, ts) EVENT_WITH("kernel", name, ",\"ts\":" ts ",\"dur\":2")
#define OP(name, ts) EVENT_WITH("cpu_op", name, ",\"ts\":" ts ",\"dur\":2")
#define A KERNEL("a", "10")
#define B KERNEL("b", "20")
/* One event between two good ones. */
#define BETWEEN(event) HEAD A ",\n" event ",\n" B TAIL
/* An operation with this in place of its name, of a value of its arguments. */
#define NAMED(name) \
	BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":" name ",\"ts\":1,\"dur\":2}")
#define WITH_ARG(value) \
	BETWEEN(EVENT_WITH("cpu_op", "x", ",\"ts\":1,\"dur\":2,\"args\":{\"q\":" value ",\"z\":9}"))

struct damage {
	enum tw_defect kind;
	int count;
	const char *text;
	const char *at;	   /* the damage: the place counted lies in it or right behind it */
	int event;	   /* the first event concerned, -1: none */
	const char *names; /* of the slices that survive, each with its bar */
	const char *q;	   /* argument "q" of event 1, NULL: not asked */
};

#define D(kind) TW_DEFECT_##kind
/* An event's own flaws have their place at its beginning. */
#define X "*x"

static const struct damage damages[] = {
	/* ---- lost */
	{ D(truncated), 1, HEAD A "," B ",{\"ph\":\"X\",\"name\":\"c\"",
	  "{\"ph\":\"X\",\"name\":\"c\"", -1, "a|b|", NULL },
	{ D(truncated), 1, HEAD A "," B, B, -1, "a|b|", NULL },
	{ D(truncated), 1, HEAD A "," B ",", ",", -1, "a|b|", NULL },
	{ D(truncated), 1, HEAD A "," B "]", "]", -1, "a|b|", NULL },
	{ D(truncated), 1, HEAD A "," B "],\"name", "name", -1, "a|b|", NULL },
	{ D(truncated), 1, HEAD A "," B "],\"name\":\"x", "name\":\"x", -1, "a|b|", NULL },
	{ D(truncated), 1, "[" A "," B ",{\"ph\":\"X\"", "{\"ph\":\"X\"", -1, "a|b|", NULL },
	{ D(truncated), 1, "{\"traceEvents\":[", "[", -1, "", NULL },
	{ D(unreadable_event), 1, BETWEEN("{\"ph\":\"X\",\"name\":lost thing}"),
	  "{\"ph\":\"X\",\"name\":lost thing}", -1, "a|b|", NULL },
	{ D(unreadable_event), 1, BETWEEN("{\"ph\":\"X\",\"ts\":12x4}"),
	  "{\"ph\":\"X\",\"ts\":12x4}", -1, "a|b|", NULL },
	{ D(unreadable_event), 1, HEAD A ",\n{\"ph\":\"X\",\"name\":@,\n" B TAIL,
	  "{\"ph\":\"X\",\"name\":@", -1, "a|b|", NULL },
	{ D(unreadable_event), 1, BETWEEN("{\"ph\":\"X\",\"dur\":1e}"), "{\"ph\":\"X\",\"dur\":1e}",
	  -1, "a|b|", NULL },
	{ D(unreadable_stretch), 1, HEAD A ",\n}:}:{ \"no\"}\n,\n" B TAIL, "}:}:{ \"no\"}", -1,
	  "a|b|", NULL },
	{ D(second_document), 1, HEAD A "," B TAIL "\n" HEAD KERNEL("c", "30") TAIL,
	  "\n" HEAD KERNEL("c", "30"), -1, "a|b|", NULL },
	{ D(second_document), 1, "[" A "," B "][]", "[]", -1, "a|b|", NULL },
	{ D(gpu_time_lost), 1, BETWEEN(EVENT_WITH("kernel", "x", ",\"ts\":0,\"dur\":0")), X, 1,
	  "a|x|b|", NULL },
	{ D(gpu_time_lost), 2,
	  BETWEEN(EVENT_WITH("gpu_memcpy", "x", ",\"ts\":0.000,\"dur\":0.000") "," EVENT_WITH(
		  "gpu_memset", "y", ",\"ts\":0,\"dur\":0")),
	  X, 1, "a|x|y|b|", NULL },
	{ D(gpu_no_duration), 1, BETWEEN(EVENT_WITH("kernel", "x", ",\"ts\":5")), X, 1, "a|x|b|",
	  NULL },
	{ D(gpu_no_duration), 1, BETWEEN(EVENT_WITH("kernel", "x", ",\"ts\":5,\"dur\":null")), X, 1,
	  "a|x|b|", NULL },
	{ D(gpu_negative_duration), 1,
	  BETWEEN(EVENT_WITH("kernel", "x", ",\"ts\":5,\"dur\":-0.001")), X, 1, "a|x|b|", NULL },
	{ D(gpu_no_start), 1, BETWEEN(EVENT_WITH("kernel", "x", ",\"dur\":5")), X, 1, "a|x|b|",
	  NULL },
	{ D(gpu_no_start), 1, BETWEEN(EVENT_WITH("kernel", "x", ",\"dur\":5,\"ts\":\"soon\"")), X,
	  1, "a|x|b|", NULL },
	{ D(gpu_overflow), 1,
	  BETWEEN(EVENT_WITH("kernel", "x", ",\"ts\":1,\"dur\":604800000000.001")), X, 1, "a|x|b|",
	  NULL },
	{ D(gpu_overflow), 1, BETWEEN(EVENT_WITH("kernel", "x", ",\"ts\":1e30,\"dur\":1")), X, 1,
	  "a|x|b|", NULL },
	{ D(gpu_overflow), 1,
	  BETWEEN(EVENT_WITH("kernel", "x", ",\"ts\":-9223372036854775807,\"dur\":1")), X, 1,
	  "a|x|b|", NULL },
	{ D(gpu_overflow), 1,
	  BETWEEN(EVENT_WITH("kernel", "x", ",\"ts\":1,\"dur\":-9223372036854775808")), X, 1,
	  "a|x|b|", NULL },
	{ D(gpu_open), 1,
	  HEAD A
	  ",{\"ph\":\"B\",\"cat\":\"kernel\",\"name\":\"x\",\"pid\":0,\"tid\":9,\"ts\":1}," B TAIL,
	  NULL, 1, "a|x|b|", NULL },
	{ D(gpu_open), 1,
	  HEAD A
	  ",{\"ph\":\"E\",\"cat\":\"kernel\",\"name\":\"x\",\"pid\":0,\"tid\":9,\"ts\":1}," B TAIL,
	  NULL, 1, "a|x|b|", NULL },
	/* ---- defects */
	{ D(no_duration), 2,
	  HEAD A "," EVENT_WITH("cpu_op", "x", ",\"ts\":5") "," EVENT_WITH("cuda_runtime", "y",
									   ",\"dur\":5") "," B TAIL,
	  X, 1, "a|x|y|b|", NULL },
	{ D(negative_duration), 1, BETWEEN(EVENT_WITH("cpu_op", "x", ",\"ts\":5,\"dur\":-1")), X, 1,
	  "a|x|b|", NULL },
	{ D(overflow), 2,
	  BETWEEN(EVENT_WITH("cpu_op", "x", ",\"ts\":5,\"dur\":9223372036854775.807") "," EVENT_WITH(
		  "python_function", "y", ",\"ts\":-1e300,\"dur\":1")),
	  X, 1, "a|x|y|b|", NULL },
	{ D(open_event), 2,
	  HEAD A ",{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"x\",\"pid\":0,\"tid\":9,\"ts\":1},"
		 "{\"ph\":\"E\",\"pid\":0,\"tid\":8,\"ts\":1}," B TAIL,
	  NULL, 1, "a|x||b|", NULL },
	/* ---- repairs: strings */
	{ D(control_character), 1, NAMED("\"x\ny\tz\x01\""), "x\ny\tz\x01", 1, "a|x\ny\tz\x01|b|",
	  NULL },
	{ D(control_character), 1, WITH_ARG("\"x\r\ny\""), "x\r\ny", 1, "a|x|b|", "x\r\ny" },
	{ D(control_character), 1, WITH_ARG("[\"x\ty\"]"), "[\"x\ty\"]", 1, "a|x|b|",
	  "[\"x\ty\"]" },
	{ D(bad_escape), 1, NAMED("\"C:\\Users\\x\""), "C:\\Users\\x", 1, "a|C:\\Users\\x|b|",
	  NULL },
	{ D(bad_escape), 1, WITH_ARG("\"\\u12\""), "\\u12", 1, "a|x|b|", "\\u12" },
	{ D(bad_escape), 1, WITH_ARG("[\"\\q\"]"), "[\"\\q\"]", 1, "a|x|b|", "[\"\\q\"]" },
	{ D(bad_escape), 1, BETWEEN(EVENT_WITH("cpu_op", "x", ",\"o\\dd\":1,\"ts\":1,\"dur\":2")),
	  "o\\dd", 1, "a|x|b|", NULL },
	{ D(bad_utf8), 1, NAMED("\"x\xff\xc3y\""), "x\xff\xc3y", 1,
	  "a|x\xef\xbf\xbd\xef\xbf\xbdy|b|", NULL },
	{ D(bad_utf8), 1, WITH_ARG("\"\xe2\x82\""), "\xe2\x82", 1, "a|x|b|", "\xef\xbf\xbd" },
	{ D(bad_surrogate), 1, NAMED("\"x\\ud800y\\udc00\""), "x\\ud800y\\udc00", 1,
	  "a|x\xef\xbf\xbdy\xef\xbf\xbd|b|", NULL },
	{ D(unescaped_quote), 1, NAMED("\"gemm \"fast\" tn\""), "gemm \"fast\" tn", 1,
	  "a|gemm \"fast\" tn|b|", NULL },
	{ D(unescaped_quote), 1, WITH_ARG("\"run \"a b\" now\""), "run \"a b\" now", 1, "a|x|b|",
	  "run \"a b\" now" },
	{ D(unescaped_quote), 1, NAMED("\"\"quoted\"\""), "\"quoted\"", 1, "a|\"quoted\"|b|",
	  NULL },
	/* ---- repairs: keys and values */
	{ D(bare_key), 1, BETWEEN(EVENT_WITH("cpu_op", "x", ",\"ts\":1,dur\":2")), "1,dur\":2", 1,
	  "a|x|b|", NULL },
	{ D(bare_key), 2, BETWEEN(EVENT_WITH("cpu_op", "x", ",ts\": 1, dur: 2")), "ts\": 1", 1,
	  "a|x|b|", NULL },
	{ D(not_a_number), 1, WITH_ARG("NaN"), "NaN", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("-NaN"), "NaN", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("Infinity"), "Infinity", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("-Infinity"), "Infinity", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("inf"), "inf", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("-inf"), "inf", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("nan"), "nan", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("-nan(ind)"), "nan(ind)", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("nan(snan)"), "nan(snan)", 1, "a|x|b|", "null" },
	{ D(not_a_number), 1, WITH_ARG("[1, NaN]"), "[1, NaN]", 1, "a|x|b|", "[1, NaN]" },
	/* The word is no reason to take the rest of the event less strictly. */
	{ D(not_a_number), 1, WITH_ARG("Infinity,\"s\":\"x\\\"},\""), "Infinity", 1, "a|x|b|",
	  "null" },
	{ D(python_literal), 1, WITH_ARG("None"), "None", 1, "a|x|b|", "null" },
	{ D(python_literal), 1, WITH_ARG("True"), "True", 1, "a|x|b|", "true" },
	{ D(python_literal), 1, WITH_ARG("False"), "False", 1, "a|x|b|", "false" },
	{ D(malformed_value), 1, WITH_ARG("[1, ..., 3]"), "[1, ..., 3]", 1, "a|x|b|",
	  "[1, ..., 3]" },
	{ D(malformed_value), 1, WITH_ARG("..."), "...", 1, "a|x|b|", "null" },
	{ D(malformed_value), 1, WITH_ARG("undefined"), "undefined", 1, "a|x|b|", "null" },
	{ D(malformed_value), 1, WITH_ARG(""), "\"q\":", 1, "a|x|b|", "null" },
	{ D(malformed_value), 1, WITH_ARG("{\"a\" 1}"), "{\"a\" 1}", 1, "a|x|b|", "{\"a\" 1}" },
	{ D(time_as_text), 2,
	  BETWEEN(EVENT_WITH("cpu_op", "x", ",\"ts\":\"12.5\",\"dur\":\" 1e1 \"")), "\"ts\":\"", 1,
	  "a|x|b|", NULL },
	{ D(wide_id), 1,
	  BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1,\"dur\":2,"
		  "\"pid\":18446744073709551616}"),
	  "18446744073709551616", 1, "a|x|b|", NULL },
	{ D(wide_id), 1,
	  BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1,\"dur\":2,"
		  "\"pid\":-9223372036854775809}"),
	  "-9223372036854775809", 1, "a|x|b|", NULL },
	{ D(wide_id), 1,
	  BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1,\"dur\":2,\"tid\":5.0}"),
	  "5.0", 1, "a|x|b|", NULL },
	/* ---- repairs: commas */
	{ D(missing_comma), 1, HEAD A "\n" B TAIL, "\n" B, -1, "a|b|", NULL },
	{ D(missing_comma), 1, BETWEEN(EVENT_WITH("cpu_op", "x", " \"ts\":1,\"dur\":2")), "7 ", 1,
	  "a|x|b|", NULL },
	{ D(missing_comma), 1, WITH_ARG("8 \"more\":9"), "8 ", 1, "a|x|b|", "8" },
	{ D(extra_comma), 1, HEAD "," A "," B TAIL, "[\n,", -1, "a|b|", NULL },
	{ D(extra_comma), 2, HEAD A ",,\n," B TAIL, ",,", -1, "a|b|", NULL },
	{ D(extra_comma), 1, HEAD A "," B "," TAIL, "},\n]", -1, "a|b|", NULL },
	{ D(extra_comma), 1,
	  BETWEEN("{,\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1,\"dur\":2}"), "{,", 1,
	  "a|x|b|", NULL },
	{ D(extra_comma), 3, BETWEEN(EVENT_WITH("cpu_op", "x", ",,,\"ts\":1,\"dur\":2,")), "7,,,",
	  1, "a|x|b|", NULL },
	{ D(extra_comma), 1, WITH_ARG("8,"), "8,,", 1, "a|x|b|", "8" },
	/* ---- repairs: the document */
	{ D(nested_events), 1,
	  "{\"traceEvents\":{\"schemaVersion\":1,\"traceEvents\":[" A "," B "]}}",
	  "\"traceEvents\":{", -1, "a|b|", NULL },
	{ D(trailing_text), 1, HEAD A "," B TAIL "\nend of trace", "end of trace", -1, "a|b|",
	  NULL },
	{ D(trailing_text), 1, HEAD A "," B TAIL "}", "}}", -1, "a|b|", NULL },
	/* ---- notes */
	{ D(not_an_event), 6,
	  HEAD A ",5,\"x\",null,[1,{\"ph\":\"X\"}],true,{\"name\":\"n\"}," B TAIL, "5", -1, "a|b|",
	  NULL },
	{ D(no_category), 1, BETWEEN("{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":2}"),
	  "{\"ph\":\"X\",\"name\"", 1, "a|x|b|", NULL },
};

/* Names of the slices, each with a bar behind it. */
static void list_names(const struct trawl_trace *t, struct tw_str *out)
{
	uint64_t i;

	for (i = 0; i < t->events.count; i++) {
		if (t->events.phase[i] != 'X' && t->events.phase[i] != 'x')
			continue;
		tw_str_add_cstr(out, name_of(t, i));
		tw_str_add_char(out, '|');
	}
}

static int complain(size_t number, const struct damage *d, const char *what)
{
	print_error("case %zu: %s:\n%s\n", number, what, d->text);
	return 1;
}

/* The last place of a text in another. */
static const char *last_of(const char *text, const char *part)
{
	const char *found = NULL, *next = text;

	while ((next = strstr(next, part)))
		found = next++;
	return found;
}

static int check_place(size_t number, const struct damage *d, const struct trawl_trace *t)
{
	int64_t offset = t->quality.kinds[d->kind].offset;
	const char *found;

	if (!d->at)
		return offset == -1 ? 0 : complain(number, d, "a place");
	if (!strcmp(d->at, X)) {
		found = strstr(d->text, "\"x\"");
		assert_non_null(found);
		while (*found != '{')
			found--;
		return offset == found - d->text ? 0 : complain(number, d, "wrong place");
	}
	found = last_of(d->text, d->at);
	assert_non_null(found);
	if (offset >= found - d->text && offset <= found - d->text + (int64_t)strlen(d->at))
		return 0;
	print_error("byte %lld, not in [%lld, %lld]\n", (long long)offset,
		    (long long)(found - d->text),
		    (long long)(found - d->text + (int64_t)strlen(d->at)));
	return complain(number, d, "wrong place");
}

static int check_damage(size_t number, const struct damage *d)
{
	struct trawl_trace *t = trace_in_blocks(d->text, strlen(d->text));
	struct tw_str names;
	int wrong = 0;

	tw_str_init(&names, trawl_allocator_default());
	list_names(t, &names);
	if (t->quality.kinds[d->kind].count != d->count || t->defect_count != 1) {
		describe_rest(t, &names);
		print_error("%s\n", names.ptr);
		wrong += complain(number, d, "wrong count");
	} else {
		if (strcmp(names.len ? names.ptr : "", d->names)) {
			print_error("%s\n", names.ptr);
			wrong += complain(number, d, "wrong names");
		}
		wrong += check_place(number, d, t);
		if (t->quality.kinds[d->kind].event != d->event)
			wrong += complain(number, d, "wrong event");
		if (d->q && (!arg_of(t, 1, "q") || strcmp(arg_of(t, 1, "q"), d->q)))
			wrong += complain(number, d, "wrong argument");
		if (d->q && (!arg_of(t, 1, "z") || strcmp(arg_of(t, 1, "z"), "9")))
			wrong += complain(number, d, "the argument behind it is gone");
	}
	tw_str_release(&names);
	trawl_trace_free(t);
	return wrong;
}

static void each_kind_is_counted_and_the_rest_survives(void **state)
{
	size_t i;
	int wrong = 0;

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
		wrong += check_damage(i, &damages[i]);
	assert_int_equal(wrong, 0);
}

/* What is lost is marked so that no analysis takes it for time. */
static void lost_times_are_no_slices(void **state)
{
	struct trawl_trace *t =
		TRACE_OF(EVENT_WITH("kernel", "a", ",\"ts\":0,\"dur\":0"),
			 EVENT_WITH("kernel", "b", ",\"ts\":5"),
			 EVENT_WITH("kernel", "c", ",\"ts\":5,\"dur\":-1"),
			 EVENT_WITH("kernel", "d", ",\"dur\":1"),
			 EVENT_WITH("kernel", "e", ",\"ts\":1,\"dur\":1e30"),
			 /* None of these is odd. */
			 EVENT_WITH("kernel", "f", ",\"ts\":0,\"dur\":1"),
			 EVENT_WITH("kernel", "g", ",\"ts\":1,\"dur\":0"),
			 EVENT_WITH("kernel", "h", ",\"ts\":1,\"dur\":604800000000"),
			 EVENT_WITH("cpu_op", "i", ",\"ts\":0,\"dur\":0"));
	uint64_t i;

	assert_kinds(t, 5);
	for (i = 0; i < t->events.count; i++) {
		assert_int_equal(t->events.phase[i], i < 5 ? 'x' : 'X');
		assert_true(t->events.phase[i] == 'x' || t->events.dur_ns[i] >= 0);
		assert_true(t->events.dur_ns[i] >= 0 || t->events.dur_ns[i] == TRAWL_TIME_NONE);
	}
	assert_true(t->events.dur_ns[7] == 604800000000000);
	trawl_trace_free(t);
}

static void times_as_text_are_times(void **state)
{
	struct trawl_trace *t =
		TRACE_OF(EVENT_WITH("cpu_op", "a", ",\"ts\":\"12.5\",\"dur\":\" 1e1 \""),
			 EVENT_WITH("cpu_op", "b", ",\"ts\":\"-3\",\"dur\":\"4x\""));

	assert_int_equal(t->events.start_ns[0], 12500);
	assert_int_equal(t->events.dur_ns[0], 10000);
	assert_int_equal(t->events.start_ns[1], -3000);
	assert_true(t->events.dur_ns[1] == TRAWL_TIME_NONE);
	assert_int_equal(COUNT(t, time_as_text), 3);
	assert_int_equal(COUNT(t, no_duration), 1);
	trawl_trace_free(t);
}

/* Ids that are no whole numbers of 64 bits keep their digits, so that they still meet. */
static void odd_ids_keep_their_digits(void **state)
{
	static const struct {
		const char *json, *id;
	} cases[] = {
		{ "18446744073709551616", "18446744073709551616" },
		{ "123456789012345678901234567890", "123456789012345678901234567890" },
		{ "5.0", "5" },
		{ "5e3", "5000" },
		{ "5000000000.0", "5000000000" },
		{ "5.5", "5.5" },
		{ "1e30", "1e30" },
		{ "[1,2]", "[1,2]" },
	};
	char text[200];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trawl_trace *t;

		snprintf(
			text, sizeof(text),
			"[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1,\"dur\":2,\"pid\":%s,"
			"\"args\":{\"correlation\":%s}}]",
			cases[i].json, cases[i].json);
		t = trace_of(text);
		assert_string_equal(code_of(t, t->tracks[0].pid), cases[i].id);
		assert_string_equal(code_of(t, t->events.correlation[0]), cases[i].id);
		trawl_trace_free(t);
	}
}

/* However many flaws one event has. */
static void every_flaw_of_an_event_is_counted(void **state)
{
	struct tw_str text;
	struct trawl_trace *t;
	int i;

	tw_str_init(&text, trawl_allocator_default());
	tw_str_add_cstr(
		&text,
		"[{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"\\q\",\"ts\":1,\"dur\":2,\"args\":{");
	for (i = 0; i < 100; i++)
		tw_str_addf(&text, "\"k%d\":\"\\q\t\",,\"n%d\":NaN,", i, i);
	tw_str_add_cstr(&text, "\"z\":None}}]");
	t = trace_in_blocks(text.ptr, text.len);
	assert_kinds(t, 5);
	assert_int_equal(COUNT(t, bad_escape), 101);
	assert_int_equal(COUNT(t, control_character), 100);
	assert_int_equal(COUNT(t, extra_comma), 100);
	assert_int_equal(COUNT(t, not_a_number), 100);
	assert_int_equal(COUNT(t, python_literal), 1);
	trawl_trace_free(t);
	tw_str_release(&text);
}

/* The same flaw in many events, and a malformed list that is checked once and met often. */
static void repeated_flaws_are_counted_each_time(void **state)
{
	struct script s;
	struct trawl_trace *t;
	int i;

	script_begin(&s);
	for (i = 0; i < 500; i++)
		script_slice(&s, "cpu_op", "f\\q", 1, 1, 1000 * i, 500,
			     i % 2 ? "\"Input Dims\":[[1,2],...]" : "\"ok\":1");
	t = script_read(&s);
	assert_kinds(t, 2);
	assert_int_equal(COUNT(t, bad_escape), 500);
	assert_int_equal(EVENT(t, bad_escape), 0);
	assert_int_equal(COUNT(t, malformed_value), 250);
	assert_int_equal(EVENT(t, malformed_value), 1);
	trawl_trace_free(t);
}

/* Damage of a whole stretch: zeros where a block of the file was never written, a torn middle. */
static void torn_files_go_on_at_the_next_event(void **state)
{
	struct tw_str text;
	struct trawl_trace *t;
	size_t hole;

	for (hole = 1; hole < 20000; hole = hole * 7 + 1) {
		tw_str_init(&text, trawl_allocator_default());
		tw_str_add_cstr(&text,
				HEAD A ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"torn ");
		while (text.len % 64 || text.len < hole)
			tw_str_add_char(&text, '\0');
		tw_str_add_cstr(&text, " 5, \"dur\": 2},\n" B "," KERNEL("c", "30") TAIL);
		t = trace_in_blocks(text.ptr, text.len);
		assert_true(tw_quality_lost(&t->quality));
		assert_int_equal(COUNT(t, unreadable_event), 1);
		assert_string_equal(name_of(t, event_named(t, "a")), "a");
		event_named(t, "b");
		event_named(t, "c");
		trawl_trace_free(t);
		tw_str_release(&text);
	}
}

/* Nothing but damage up to the end: what is lost ends where the text does. */
static void damage_up_to_the_end(void **state)
{
	struct tw_str text;
	struct trawl_trace *t;
	size_t i;

	for (i = 0; i < 3000; i += 499) {
		tw_str_init(&text, trawl_allocator_default());
		tw_str_add_cstr(&text, HEAD A ",{\"ph\":@");
		while (text.len < 200 + i)
			tw_str_add_cstr(&text, " no {\"more\": events");
		t = trace_in_blocks(text.ptr, text.len);
		assert_kinds(t, 2);
		assert_int_equal(COUNT(t, unreadable_event), 1);
		assert_int_equal(OFFSET(t, unreadable_event), strlen(HEAD A ","));
		assert_int_equal(COUNT(t, truncated), 1);
		assert_int_equal(OFFSET(t, truncated), text.len);
		trawl_trace_free(t);
		tw_str_release(&text);
	}
}

/* Text that is no JSON between events must not swallow the next one silently. */
static void noise_between_events_does_not_swallow_them(void **state)
{
	static const char *const noise[] = {
		"@@@@ garbage ", "xyz,", "*** ERROR: disk ***\n", "1 2 3", "&nbsp;", "}", "]]]"
	};
	char text[600];
	size_t i;

	for (i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		struct trawl_trace *t;

		/* A bracket ends the list: what follows is another document's. */
		if (noise[i][0] == ']')
			continue;
		snprintf(text, sizeof(text), HEAD A ",\n%s" B ",\n" KERNEL("c", "30") TAIL,
			 noise[i]);
		t = trace_in_blocks(text, strlen(text));
		event_named(t, "a");
		event_named(t, "c");
		if (!tw_quality_lost(&t->quality)) {
			/* Then nothing may be missing. */
			event_named(t, "b");
		}
		trawl_trace_free(t);
	}
}

/* Zeros behind the end: a file that was made longer than its text. */
static void zeros_behind_the_end_are_told(void **state)
{
	static const char text[] = HEAD A "," B TAIL "\n\0\0\0\0\0\0\0\0\0\n\0\0";
	struct trawl_trace *t = trace_in_blocks(text, sizeof(text) - 1);

	assert_kinds(t, 1);
	assert_int_equal(COUNT(t, trailing_text), 1);
	assert_int_equal(OFFSET(t, trailing_text), strlen(text));
	assert_int_equal(t->events.count, 2);
	trawl_trace_free(t);
}

/* ---- what the feed notes arrives in the record */

#define PLAIN HEAD A "," B TAIL

static void check_wrapped(struct bytes *input, enum tw_defect kind, int kinds)
{
	struct trawl_error err = { 0 };
	struct trawl_trace *t = read_text(input->ptr, input->len, 0, &err);

	if (!t)
		fail_msg("%s", err.message);
	assert_kinds(t, kinds);
	if (kinds)
		assert_true(t->quality.kinds[kind].count > 0);
	assert_true(t->events.count >= 1);
	assert_string_equal(name_of(t, 0), "a");
	trawl_trace_free(t);
	bytes_drop(input);
}

static void wrappings_are_noted(void **state)
{
	struct bytes b = { 0 }, inner = { 0 };

	bytes_text(&b, "\xef\xbb\xbf" PLAIN);
	check_wrapped(&b, TW_DEFECT_byte_order_mark, 1);
	bytes_text(&b, "\xff\xfe");
	bytes_utf16(&b, PLAIN, strlen(PLAIN), false);
	check_wrapped(&b, TW_DEFECT_utf16, 1);
	bytes_gzip(&b, PLAIN, strlen(PLAIN));
	check_wrapped(&b, TW_DEFECT_COUNT, 0);
	bytes_zstd(&b, PLAIN, strlen(PLAIN), true, true);
	check_wrapped(&b, TW_DEFECT_COUNT, 0);
	bytes_gzip(&b, PLAIN, strlen(PLAIN));
	bytes_text(&b, "garbage");
	check_wrapped(&b, TW_DEFECT_trailing_bytes, 1);
	bytes_gzip(&inner, PLAIN, strlen(PLAIN));
	bytes_gzip(&b, inner.ptr, inner.len);
	bytes_drop(&inner);
	check_wrapped(&b, TW_DEFECT_compressed_twice, 1);
	bytes_deflated(&b, PLAIN, strlen(PLAIN), IGZIP_ZLIB);
	check_wrapped(&b, TW_DEFECT_zlib_wrapper, 1);
	bytes_gzip(&b, PLAIN, strlen(PLAIN));
	b.ptr[b.len - 6] ^= 1;
	check_wrapped(&b, TW_DEFECT_compressed_checksum, 1);
	/* Without its last bytes: the text is whole, the wrapper is not. */
	bytes_gzip(&b, PLAIN, strlen(PLAIN));
	b.len -= 4;
	check_wrapped(&b, TW_DEFECT_compressed_truncated, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_counted_and_the_rest_survives),
		cmocka_unit_test(lost_times_are_no_slices),
		cmocka_unit_test(times_as_text_are_times),
		cmocka_unit_test(odd_ids_keep_their_digits),
		cmocka_unit_test(every_flaw_of_an_event_is_counted),
		cmocka_unit_test(repeated_flaws_are_counted_each_time),
		cmocka_unit_test(torn_files_go_on_at_the_next_event),
		cmocka_unit_test(damage_up_to_the_end),
		cmocka_unit_test(noise_between_events_does_not_swallow_them),
		cmocka_unit_test(zeros_behind_the_end_are_told),
		cmocka_unit_test(wrappings_are_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
