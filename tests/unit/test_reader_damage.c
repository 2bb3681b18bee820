/*
 * The Kineto reader on damaged text: every kind of damage is counted exactly, with the place where
 * it begins, and what is whole around it comes out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "instrumented.h"
#include "text/str.h"
#include "feed_inputs.h"
#include "in_parts.h"
#include "trace/reader.h"

#include <isa-l/igzip_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if UNDER_TSAN
static const size_t block_sizes[] = { 0, 7 };
#else
static const size_t block_sizes[] = { 0, 4096, 64, 7, 1 };
#endif
#define BLOCK_SIZES (sizeof(block_sizes) / sizeof(block_sizes[0]))

/* Whether a block of that size, not the first, holds all of the text as the first does. */
static bool is_whole_again(size_t b, size_t len)
{
	return b && block_sizes[b] > len && !full_run();
}

/* Parts differ by where they begin: windows of a few bytes and of all of them tell what others do. */
static bool is_read_in_parts(size_t block_size)
{
	return !block_size || block_size == 7 || full_run() || UNDER_TSAN;
}

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

/* NULL when it is no trace at all. */
static struct trawl_trace *try_read(const char *text, size_t len, size_t block_size)
{
	const struct trawl_read_options read = { .allocator = trawl_allocator_default(),
						 .threads = 1 };
	const struct tw_feed_options options = { .allocator = trawl_allocator_default(),
						 .block_size = block_size,
						 .end = -1 };
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	struct tw_feed *feed;
	int status;

	assert_non_null(trace);
	status = tw_feed_open_memory(&feed, text, len, &options, NULL);
	if (!status)
		status = tw_kineto_read(trace, feed, &read, NULL);
	if (status) {
		assert_int_equal(status, TRAWL_EFORMAT);
		trawl_trace_free(trace);
		if (is_read_in_parts(block_size))
			assert_same_in_parts(NULL, text, len, block_size);
		return NULL;
	}
	assert_int_equal(tw_trace_finish(trace), 0);
	if (is_read_in_parts(block_size))
		assert_same_in_parts(trace, text, len, block_size);
	return trace;
}

static void add_argument(struct tw_str *out, const struct trawl_trace *trace,
			 const struct trawl_argument *arg)
{
	tw_str_addf(out, "%s=", tw_pool_text(&trace->texts, arg->key, NULL));
	switch (arg->kind) {
	case TRAWL_VALUE_NULL:
		tw_str_add_cstr(out, "null");
		break;
	case TRAWL_VALUE_BOOL:
		tw_str_add_cstr(out, arg->integer ? "true" : "false");
		break;
	case TRAWL_VALUE_INTEGER:
		tw_str_add_int(out, arg->integer);
		break;
	case TRAWL_VALUE_REAL:
		tw_str_add_real(out, arg->real);
		break;
	default:
		tw_str_add_cstr(out, tw_pool_text(&trace->texts, arg->text, NULL));
	}
}

/* Events as "Xname:start+duration{key=value,key=value}", times in ns, without what is absent. */
static void dump(struct tw_str *out, const struct trawl_trace *trace)
{
	const struct tw_events *e = &trace->events;
	struct trawl_argument arg;
	uint64_t i;

	tw_str_init(out, trawl_allocator_default());
	for (i = 0; i < e->count; i++) {
		size_t at = (size_t)e->args[i] * TW_ARGS_ALIGN;
		const char *before = "{";

		tw_str_addf(out, "%s%c%s", i ? " " : "", e->phase[i] ? e->phase[i] : '0',
			    tw_pool_text(&trace->texts, e->name[i], NULL));
		if (e->start_ns[i] != TRAWL_TIME_NONE)
			tw_str_addf(out, ":%lld", (long long)e->start_ns[i]);
		if (e->dur_ns[i] != TRAWL_TIME_NONE)
			tw_str_addf(out, "+%lld", (long long)e->dur_ns[i]);
		for (; at && tw_args_next(&trace->args, &at, &arg); before = ",") {
			tw_str_add_cstr(out, before);
			add_argument(out, trace, &arg);
		}
		tw_str_add_cstr(out, *before == ',' ? "}" : "");
	}
	tw_str_add_cstr(out, "");
}

/* "kind:count kind:count" */
static void dump_kinds(struct tw_str *out, const struct trawl_trace *trace)
{
	size_t i;

	tw_str_init(out, trawl_allocator_default());
	for (i = 0; i < trawl_trace_defects(trace); i++) {
		struct trawl_defect defect = trawl_trace_defect(trace, i);

		tw_str_addf(out, "%s%s:%lld", i ? " " : "", defect.kind, (long long)defect.count);
	}
	tw_str_add_cstr(out, "");
}

static void same(const char *text, size_t block_size, struct tw_str *got, const char *right)
{
	if (strcmp(got->ptr, right))
		print_error("%.1000s\nblocks of %zu bytes, got:\n%.1000s\nright:\n%.1000s\n", text,
			    block_size, got->ptr, right);
	assert_string_equal(got->ptr, right);
	tw_str_release(got);
}

/*
 * Marks of a text are its '^': the first defect listed begins at the first, and so on; a mark at
 * the end of the text stands for "nowhere".
 */
static void damage_is(const char *marked, const char *kinds, const char *events)
{
	int64_t places[8];
	size_t count = 0, len = 0, i, b;
	char *text = malloc(strlen(marked) + 1);

	assert_non_null(text);
	for (i = 0; marked[i]; i++) {
		if (marked[i] == '^')
			places[count++] = marked[i + 1] ? (int64_t)len : -1;
		else
			text[len++] = marked[i];
	}
	text[len] = 0;
	for (b = 0; b < BLOCK_SIZES; b++) {
		struct trawl_trace *trace;
		struct tw_str got;

		if (is_whole_again(b, len))
			continue;
		trace = try_read(text, len, block_sizes[b]);
		if (!trace)
			print_error("refused: %s\n", text);
		assert_non_null(trace);
		dump(&got, trace);
		same(text, block_sizes[b], &got, events);
		dump_kinds(&got, trace);
		same(text, block_sizes[b], &got, kinds);
		for (i = 0; i < count; i++) {
			if (trawl_trace_defect(trace, i).offset != places[i])
				print_error("%s\nplace of %s\n", text,
					    trawl_trace_defect(trace, i).kind);
			assert_int_equal(trawl_trace_defect(trace, i).offset, places[i]);
		}
		trawl_trace_free(trace);
	}
	free(text);
}

#define P "\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1"
#define A "{" P ",\"name\":\"a\"}"
#define B "{" P ",\"name\":\"b\"}"
#define RA "Xa:5000+1000"
#define RB "Xb:5000+1000"
#define BETWEEN(event) "[" A "," event "," B "]"
#define R(event) RA " " event " " RB
#define NAMED(name) BETWEEN("{" P ",\"name\":" name "}")
#define RNAMED(name) R("X" name ":5000+1000")
#define VALUE(value) BETWEEN("{" P ",\"name\":\"v\",\"args\":{\"k\":" value ",\"z\":9}}")
#define RVALUE(value) R("Xv:5000+1000{k=" value ",z=9}")

static void test_strings(void **state)
{
	(void)state;
	damage_is(NAMED("\"^x\ty\nz\""), "control_character:1", RNAMED("x\ty\nz"));
	damage_is(NAMED("\"^C:\\dir\\x\""), "bad_escape:1", RNAMED("C:\\dir\\x"));
	damage_is(NAMED("\"^\\u12\""), "bad_escape:1", RNAMED("\\u12"));
	damage_is(NAMED("\"^x\xffy\""), "bad_utf8:1", RNAMED("x\xef\xbf\xbdy"));
	damage_is(NAMED("\"^\xc3\""), "bad_utf8:1", RNAMED("\xef\xbf\xbd"));
	damage_is(NAMED("\"^\\ud800\""), "bad_surrogate:1", RNAMED("\xef\xbf\xbd"));
	damage_is(VALUE("^[\"\\ud800\",\"\\ud83d\\ude00\"]"), "bad_surrogate:1",
		  RVALUE("[\"\\ufffd\",\"\\ud83d\\ude00\"]"));
	/* Every time, and never where U+FFFD was meant. */
	damage_is("[{" P ",\"name\":\"a\",\"args\":{\"k\":^[\"\\udc00\"],\"l\":[\"\\udc00\"]}},{" P
		  ",\"name\":\"b\",\"args\":{\"k\":[\"\\ufffd\"]}}]",
		  "bad_surrogate:2",
		  RA "{k=[\"\\ufffd\"],l=[\"\\ufffd\"]} " RB "{k=[\"\\ufffd\"]}");
	damage_is(VALUE("\"^x\ty\""), "control_character:1", RVALUE("x\ty"));
	damage_is(VALUE("^[\"x\ty\"]"), "control_character:1", RVALUE("[\"x\ty\"]"));
	damage_is(VALUE("^[\"\\d\"]"), "bad_escape:1", RVALUE("[\"\\d\"]"));
	damage_is(VALUE("^[\"\xff\"]"), "bad_utf8:1", RVALUE("[\"\xff\"]"));
	damage_is(BETWEEN("{" P ",\"name\":\"v\",\"args\":{\"^k\t\":1}}"), "control_character:1",
		  R("Xv:5000+1000{k\t=1}"));
	/* As often as there are strings that have it. */
	damage_is("[{" P ",\"name\":\"^\t\t\"},{" P ",\"name\":\"\t\",\"args\":{\"k\":\"\t\"}}]",
		  "control_character:3", "X\t\t:5000+1000 X\t:5000+1000{k=\t}");
	/* Every time, also when the text is known. */
	damage_is("[{" P ",\"name\":\"a\",\"args\":{\"k\":^[\"\\d\"],\"l\":[\"\\d\"]}},{" P
		  ",\"name\":\"b\",\"args\":{\"k\":[\"\\d\"]}}]",
		  "bad_escape:3", RA "{k=[\"\\d\"],l=[\"\\d\"]} " RB "{k=[\"\\d\"]}");
}

static void test_quotes(void **state)
{
	(void)state;
	damage_is(NAMED("\"^say \"hi\" now\""), "unescaped_quote:1", RNAMED("say \"hi\" now"));
	damage_is(NAMED("\"^\"\"\""), "unescaped_quote:1", RNAMED("\"\""));
	damage_is(VALUE("\"^a \"b\" c\""), "unescaped_quote:1", RVALUE("a \"b\" c"));
	damage_is(VALUE("\"^a, \"b\", c\""), "unescaped_quote:1", RVALUE("a, \"b\", c"));
	damage_is(BETWEEN("{" P ",\"name\":\"^x\"y\",\"args\":{\"k\":\"p\"q\",\"z\":9}}"),
		  "unescaped_quote:2", R("Xx\"y:5000+1000{k=p\"q,z=9}"));
	/* Two in a row, each with a whole one behind it. */
	damage_is("[{" P ",\"name\":\"^a\"a\"}," A ",{" P ",\"name\":\"b\"b\"}," B "]",
		  "unescaped_quote:2", "Xa\"a:5000+1000 " RA " Xb\"b:5000+1000 " RB);
}

static void test_keys(void **state)
{
	(void)state;
	damage_is(BETWEEN("{^ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":5,\"dur\":1,\"name\":\"n\"}"),
		  "bare_key:1", RNAMED("n"));
	damage_is(BETWEEN("{" P ",^name\":\"n\"}"), "bare_key:1", RNAMED("n"));
	damage_is(BETWEEN("{" P ",^name:\"n\"}"), "bare_key:1", RNAMED("n"));
	damage_is(BETWEEN("{\"ph\":\"X\",\"ts\":5,^dur\":1,name\":\"n\",\"cat\":\"cpu_op\"}"),
		  "bare_key:2", RNAMED("n"));
}

/* A key without its quote behind a text: the text ends all the same. */
static void test_bare_key_behind_text(void **state)
{
	(void)state;
	damage_is(BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",^ts\":5,dur\":1,name\":\"n\"}"),
		  "bare_key:3", RNAMED("n"));
}

static void test_duplicate_place(void **state)
{
	(void)state;
	damage_is(BETWEEN("{" P ",\"name\":\"m\",\"name\":^\"n\"}"), "duplicate_key:1",
		  RNAMED("n"));
	damage_is(BETWEEN("{" P ",\"name\":\"n\",\"ts\":^5,\"args\":{},\"dur\":1,\"args\":{}}"),
		  "duplicate_key:3", RNAMED("n"));
}

static void test_words(void **state)
{
	(void)state;
	damage_is(VALUE("^NaN"), "not_a_number:1", RVALUE("null"));
	damage_is(VALUE("^nan"), "not_a_number:1", RVALUE("null"));
	damage_is(VALUE("^Infinity"), "not_a_number:1", RVALUE("null"));
	damage_is(VALUE("^inf"), "not_a_number:1", RVALUE("null"));
	damage_is(VALUE("-Infinity"), "not_a_number:1", RVALUE("null"));
	damage_is(VALUE("-nan(ind)"), "not_a_number:1", RVALUE("null"));
	damage_is(VALUE("-inf"), "not_a_number:1", RVALUE("null"));
	damage_is(VALUE("^[NaN,1]"), "not_a_number:1", RVALUE("[NaN,1]"));
	damage_is(VALUE("^None"), "python_literal:1", RVALUE("null"));
	damage_is(VALUE("^True"), "python_literal:1", RVALUE("true"));
	damage_is(VALUE("^False"), "python_literal:1", RVALUE("false"));
	damage_is(VALUE("^undefined"), "malformed_value:1", RVALUE("null"));
	damage_is(VALUE("^..."), "malformed_value:1", RVALUE("null"));
	damage_is(VALUE("^[1, ...]"), "malformed_value:1", RVALUE("[1, ...]"));
	damage_is(VALUE("^[1,]"), "malformed_value:1", RVALUE("[1,]"));
	damage_is(VALUE("^[None]"), "malformed_value:1", RVALUE("[None]"));
	damage_is(VALUE("^{a:1}"), "malformed_value:1", RVALUE("{a:1}"));
	damage_is(VALUE("^"), "malformed_value:1", RVALUE("null"));
	/* Nothing of the kind. */
	damage_is(VALUE("\"NaN\""), "", RVALUE("NaN"));
	damage_is(VALUE("[\"NaN\",\"...\",\"None\"]"), "", RVALUE("[\"NaN\",\"...\",\"None\"]"));
}

/* A sign is no part of a word: JSON has none of these. */
static void test_signed_words(void **state)
{
	(void)state;
	damage_is(BETWEEN("^{" P ",\"name\":\"v\",\"args\":{\"k\":-true}}"), "unreadable_event:1",
		  RA " " RB);
	damage_is(BETWEEN("^{" P ",\"name\":\"v\",\"args\":{\"k\":-null}}"), "unreadable_event:1",
		  RA " " RB);
}

/* A text known as a plain string is looked at when it comes as a list. */
static void test_known_text_as_list(void **state)
{
	(void)state;
	damage_is("[{" P ",\"name\":\"[1,...]\"},{" P ",\"name\":\"b\",\"args\":{\"k\":^[1,...]}}]",
		  "malformed_value:1", "X[1,...]:5000+1000 " RB "{k=[1,...]}");
	/* As the value of the same argument, where texts may be guessed. */
	damage_is("[{" P ",\"name\":\"a\",\"args\":{\"k\":\"[1,...]\"}},{" P
		  ",\"name\":\"a\",\"args\":{\"k\":^[1,...]}}]",
		  "malformed_value:1", RA "{k=[1,...]} " RA "{k=[1,...]}");
}

static void test_commas(void **state)
{
	(void)state;
	damage_is("[" A "^" B "]", "missing_comma:1", RA " " RB);
	damage_is("[" A "\n^" B "\n" A "]", "missing_comma:2", RA " " RB " " RA);
	damage_is(BETWEEN("{\"ph\":\"X\"^\"cat\":\"cpu_op\" \"name\":\"n\",\"ts\":5\n\"dur\":1}"),
		  "missing_comma:3", RNAMED("n"));
	damage_is(BETWEEN("{" P ",\"name\":\"v\",\"args\":{\"k\":1^\"z\":9}}"), "missing_comma:1",
		  RVALUE("1"));
	damage_is("[" A ",^," B "]", "extra_comma:1", RA " " RB);
	damage_is("[^," A "," B "]", "extra_comma:1", RA " " RB);
	damage_is("[" A "," B ",^]", "extra_comma:1", RA " " RB);
	damage_is("[" A "," B ",^,]", "extra_comma:2", RA " " RB);
	damage_is(BETWEEN("{^," P ",\"name\":\"n\"}"), "extra_comma:1", RNAMED("n"));
	damage_is(BETWEEN("{" P ",\"name\":\"n\",^}"), "extra_comma:1", RNAMED("n"));
	damage_is(BETWEEN("{" P ",^,\"name\":\"n\",,,\"args\":{}}"), "extra_comma:3", RNAMED("n"));
	damage_is(BETWEEN("{" P ",\"name\":\"v\",\"args\":{\"k\":1,\"z\":9,^}}"), "extra_comma:1",
		  RVALUE("1"));
	/* Beside the events. */
	damage_is("{\"traceEvents\":[" A "," B "]^\"a\":1}", "missing_comma:1", RA " " RB);
	damage_is("{\"a\":1,^,\"traceEvents\":[" A "," B "]}", "extra_comma:1", RA " " RB);
	damage_is("{^,\"traceEvents\":[" A "," B "]}", "extra_comma:1", RA " " RB);
	damage_is("{\"traceEvents\":[" A "," B "],^}", "extra_comma:1", RA " " RB);
}

/* The events are whole: a comma that is missing beside them loses none. */
static void test_commas_beside_the_events(void **state)
{
	(void)state;
	damage_is("{\"a\":{}^\"traceEvents\":[" A "," B "]}", "missing_comma:1", RA " " RB);
	damage_is("{\"a\":\"x\"\n^\"traceEvents\":[" A "," B "]}", "missing_comma:1", RA " " RB);
	damage_is("{\"a\":1 ^\"b\":2,\"traceEvents\":[" A "," B "]}", "missing_comma:1", RA " " RB);
	damage_is("{\"traceEvents\":[" A "," B "]^\"a\":1 \"b\":2}", "missing_comma:2", RA " " RB);
}

/* What was seen behind one key says nothing of the beginning of an object. */
static void test_commas_behind_many_keys(void **state)
{
	struct tw_str text, right;
	char number[32];
	int i;

	(void)state;
	tw_str_init(&text, trawl_allocator_default());
	tw_str_init(&right, trawl_allocator_default());
	tw_str_add_cstr(&text, "[");
	for (i = 0; i < 400; i++) {
		snprintf(number, sizeof(number), "%d", i);
		tw_str_addf(&text, "%s{" P ",\"name\":\"v\",\"args\":{\"k\":1,\"k%s\":2\"k\":3}}",
			    i ? "," : "", number);
		tw_str_addf(&right, "%sXv:5000+1000{k=1,k%s=2,k=3}", i ? " " : "", number);
	}
	tw_str_add_cstr(&text, "]");
	damage_is(text.ptr, "missing_comma:400", right.ptr);
	tw_str_release(&text);
	tw_str_release(&right);
}

static void test_ids_and_times(void **state)
{
	(void)state;
	damage_is(
		BETWEEN("{\"ph\":\"M\",\"name\":\"n\",\"pid\":^5.5,\"tid\":18446744073709551616}"),
		"wide_id:2", R("Mn"));
	damage_is(BETWEEN("{\"ph\":\"M\",\"name\":\"n\",\"args\":{\"correlation\":^7.0}}"),
		  "wide_id:1", R("Mn"));
	damage_is(BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"ts\":^\"5\",\"dur\":"
			  "\"1\"}"),
		  "time_as_text:2", RNAMED("n"));
}

#define HOST(times) BETWEEN("^{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\"" times "}")
#define GPU(times) BETWEEN("^{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"n\"" times "}")

static void test_slices(void **state)
{
	(void)state;
	damage_is(HOST(",\"ts\":5"), "no_duration:1", R("xn:5000"));
	damage_is(HOST(",\"dur\":1"), "no_duration:1", R("xn+1000"));
	damage_is(HOST(""), "no_duration:1", R("xn"));
	damage_is(HOST(",\"ts\":\"later\",\"dur\":1"), "no_duration:1", R("xn+1000"));
	damage_is(HOST(",\"ts\":5,\"dur\":-1"), "negative_duration:1", R("xn:5000"));
	damage_is(HOST(",\"ts\":5,\"dur\":-0.001"), "negative_duration:1", R("xn:5000"));
	damage_is(HOST(",\"ts\":5,\"dur\":9223372036854775807"), "overflow:1", R("xn:5000"));
	damage_is(HOST(",\"ts\":5,\"dur\":604800000001"), "overflow:1", R("xn:5000"));
	damage_is(HOST(",\"ts\":9223372036854775807,\"dur\":1"), "overflow:1", R("xn"));
	damage_is(HOST(",\"ts\":-9223372036854775807,\"dur\":1"), "overflow:1", R("xn"));
	damage_is(GPU(",\"ts\":5"), "gpu_no_duration:1", R("xn:5000"));
	damage_is(GPU(",\"dur\":5"), "gpu_no_start:1", R("xn+5000"));
	damage_is(GPU(",\"ts\":5,\"dur\":-1"), "gpu_negative_duration:1", R("xn:5000"));
	damage_is(GPU(",\"ts\":5,\"dur\":1e18"), "gpu_overflow:1", R("xn:5000"));
	damage_is(GPU(",\"ts\":0,\"dur\":0"), "gpu_time_lost:1", R("xn:0+0"));
	damage_is(GPU(",\"ts\":0.0,\"dur\":0.000"), "gpu_time_lost:1", R("xn:0+0"));
	damage_is(BETWEEN("^{\"ph\":\"X\",\"name\":\"n\",\"ts\":5,\"dur\":1}"), "no_category:1",
		  RNAMED("n"));
	/* A week, a negative start, a kernel of no length: all good. */
	damage_is(BETWEEN("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"ts\":-5,\"dur\":"
			  "604800000000}"),
		  "", R("Xn:-5000+604800000000000"));
	damage_is(BETWEEN("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"n\",\"ts\":1,\"dur\":0}"),
		  "", R("Xn:1000+0"));
	damage_is(BETWEEN("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"n\",\"ts\":0,\"dur\":1}"),
		  "", R("Xn:0+1000"));
	damage_is(BETWEEN("{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"n\",\"ts\":1}") "^",
		  "open_event:1", R("xn:1000"));
	damage_is(BETWEEN("{\"ph\":\"E\",\"cat\":\"kernel\",\"name\":\"n\",\"ts\":1}") "^",
		  "gpu_open:1", R("xn:1000"));
	damage_is("[{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"n\",\"ts\":1},"
		  "{\"ph\":\"E\",\"cat\":\"cpu_op\",\"ts\":604800000002}]^",
		  "overflow:1", "xn:1000 E:604800000002000");
}

static void test_elements(void **state)
{
	(void)state;
	damage_is(BETWEEN("^5"), "not_an_event:1", R("0"));
	damage_is(BETWEEN("^null,\"{\",[{\"ph\":\"X\"}],-1.5e3,true"), "not_an_event:5",
		  R("0 0 0 0 0"));
	damage_is(BETWEEN("^{}"), "not_an_event:1", R("0"));
	damage_is(BETWEEN("^{\"name\":\"n\"}"), "not_an_event:1", R("0n"));
	damage_is(BETWEEN("^wrong"), "unreadable_stretch:1", RA " " RB);
	damage_is("[" A ",^}," B "]", "unreadable_stretch:1", RA " " RB);
}

static void test_documents(void **state)
{
	(void)state;
	damage_is("{\"traceEvents\":^{\"x\":1,\"traceEvents\":[" A "," B "]}}", "nested_events:1",
		  RA " " RB);
	damage_is("{\"traceEvents\":^{\"traceEvents\":{\"traceEvents\":[" A "," B "]}}}",
		  "nested_events:2", RA " " RB);
	damage_is("[" A "," B "] ^x", "trailing_text:1", RA " " RB);
	damage_is("{\"traceEvents\":[" A "," B "]}\n^}", "trailing_text:1", RA " " RB);
	damage_is("{\"traceEvents\":[" A "," B "]}\n^{\"traceEvents\":[" A "]}",
		  "second_document:1", RA " " RB);
	damage_is("[" A "," B "]^[]", "second_document:1", RA " " RB);
	damage_is("{\"traceEvents\":[" A "," B "],^x}", "trailing_text:1", RA " " RB);
}

static void test_lost_events(void **state)
{
	(void)state;
	damage_is(BETWEEN("^{" P ",\"name\":n}"), "unreadable_event:1", RA " " RB);
	damage_is(BETWEEN("^{" P ",\"dur\":1e}"), "unreadable_event:1", RA " " RB);
	damage_is(BETWEEN("^{" P ",\"dur\":1x}"), "unreadable_event:1", RA " " RB);
	damage_is(BETWEEN("^{" P ",\"name\" \"n\"}"), "unreadable_event:1", RA " " RB);
	damage_is(BETWEEN("^{" P ",5}"), "unreadable_event:1", RA " " RB);
	/* Cut in its middle, the next one whole. */
	damage_is("[" A ",^{" P ",\"name\":\"lo" A "," B "]", "unreadable_event:1",
		  RA " " RA " " RB);
	damage_is("[" A ",^{" P ",\"na\n" A "," B "]", "unreadable_event:1", RA " " RA " " RB);
	damage_is("[" A ",^{" P ",\"args\":{\"k\":[1,\n{" P "," B "]", "unreadable_event:2",
		  RA " " RB);
	/* Two apart. */
	damage_is("[^{" P ",x}," A ",{" P ",x},{" P ",x}," B ",{" P ",x}," A "]",
		  "unreadable_event:4", RA " " RB " " RA);
	/* Bytes that are none of any text. */
	damage_is("[" A ",^\x01\x02\xff" B "]", "unreadable_stretch:1", RA " " RB);
}

/* Two keys with a value between them are no key. */
static void test_missing_colon_does_not_glue_keys(void **state)
{
	(void)state;
	damage_is(BETWEEN("^{\"ph\" \"X\",\"name\":\"n\",\"ts\":5,\"dur\":1}"),
		  "unreadable_event:1", RA " " RB);
}

/* ---- what is behind the damage */

static void check_behind(const char *text, const char *events, bool lost)
{
	size_t b;

	for (b = 0; b < BLOCK_SIZES; b++) {
		struct trawl_trace *trace = try_read(text, strlen(text), block_sizes[b]);
		struct tw_str got;

		assert_non_null(trace);
		dump(&got, trace);
		if (!strstr(got.ptr, events))
			print_error("%s\n%s\n", text, got.ptr);
		assert_non_null(strstr(got.ptr, events));
		assert_int_equal(tw_quality_lost(&trace->quality), lost);
		tw_str_release(&got);
		trawl_trace_free(trace);
	}
}

/* An event is lost, in its arguments is a list: its end is not that of the events. */
static void test_lists_in_lost_events(void **state)
{
	(void)state;
	check_behind("[" A ",{" P ",\"name\":x,\"args\":{\"k\":[{\"name\":\"f\"}]}}," A "," B "," A
		     "]",
		     RA " " RB " " RA, true);
	check_behind("{\"traceEvents\":[" A ",{" P
		     ",\"name\":x,\"args\":{\"k\":[{\"name\":\"f\"}]}}," B "," A "]}",
		     RB " " RA, true);
}

/* A bracket that is too much: the events behind it come out, or it is told that they do not. */
static void test_stray_brackets(void **state)
{
	static const char *const texts[] = { "[" A "]," B "," A "]", "[" A "],\n]," B "," A "]",
					     "{\"traceEvents\":[" A "]]," B "," A "]}" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct trawl_trace *trace = try_read(texts[i], strlen(texts[i]), 0);
		bool told;

		assert_non_null(trace);
		told = trace->events.count == 3 || tw_quality_lost(&trace->quality);
		trawl_trace_free(trace);
		assert_true(told);
	}
}

/* Damage in the last event is no early end. */
static void test_damage_at_the_end(void **state)
{
	(void)state;
	damage_is("[" A ",^{" P ",\"name\":n}]", "unreadable_event:1", RA);
	damage_is("[" A ",^{" P ",\"name\":\"n\",5}]", "unreadable_event:1", RA);
}

/* ---- the end of the text */

#define T1 "{\"ph\":\"M\",\"name\":\"a,{\\\"ph\\\":\\\"X\\\"}\",\"pid\":1}"
#define T2                                                                                              \
	"{ \"ph\" : \"X\" , \"cat\":\"cpu_op\",\"name\":\"b\\\\x\",\"ts\":5.25,\n\"dur\":1e1,\"args\":" \
	"{\"k\":[1,{\"x\":\"}\"}],\"z\":\"\\\"}\"}}"
#define T3 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":7,\"dur\":2,\"name\":\"c\",\"args\":{}}"

/* Every beginning of the text: the events that are whole in it, and that it ends early. */
static void check_beginnings(const char *text, bool bare)
{
	static const char *const right[] = {
		"", "Ma,{\"ph\":\"X\"}",
		"Ma,{\"ph\":\"X\"} Xb\\x:5250+10000{k=[1,{\"x\":\"}\"}],z=\"}}",
		"Ma,{\"ph\":\"X\"} Xb\\x:5250+10000{k=[1,{\"x\":\"}\"}],z=\"}} Xc:7000+2000"
	};
	static const char *const events[] = { T1, T2, T3 };
	size_t len = strlen(text), list = (size_t)(strchr(text, '[') + 1 - text), cut, b, i;
	const char *end = strrchr(text, bare ? ']' : '}');
	size_t whole = (size_t)(end + 1 - text), ends[3];

	for (i = 0; i < 3; i++)
		ends[i] = (size_t)(strstr(text, events[i]) + strlen(events[i]) - text);
	for (cut = 0; cut <= len; cut++) {
		char *exact = malloc(cut ? cut : 1);
		bool inside = false, early = cut < whole;
		size_t complete = 0;

		assert_non_null(exact);
		memcpy(exact, text, cut);
		for (i = 0; i < 3; i++) {
			complete += cut >= ends[i];
			inside |= cut > ends[i] - strlen(events[i]) && cut < ends[i];
		}
		/* The last bracket of a bare list is optional. */
		if (bare)
			early = inside;
		for (b = 0; b < BLOCK_SIZES && cut; b++) {
			struct trawl_trace *trace;
			struct tw_str got;

			if (is_whole_again(b, cut))
				continue;
			trace = try_read(exact, cut, block_sizes[b]);
			if (cut < list) {
				assert_null(trace);
				continue;
			}
			assert_non_null(trace);
			dump(&got, trace);
			same(text, cut, &got, right[complete]);
			dump_kinds(&got, trace);
			same(text, cut, &got, early ? "truncated:1" : "");
			if (inside)
				assert_int_equal(trawl_trace_defect(trace, 0).offset,
						 ends[complete] - strlen(events[complete]));
			trawl_trace_free(trace);
		}
		free(exact);
	}
}

static void test_beginnings(void **state)
{
	(void)state;
	check_beginnings("[" T1 "," T2 "," T3 "]\n", true);
	check_beginnings("[\n" T1 ",\n" T2 "\n,\n" T3 "\n]\n", true);
	check_beginnings("{\"traceEvents\":[" T1 "," T2 "," T3 "]}", false);
	check_beginnings("{\"schemaVersion\": 1, \"traceEvents\": [\n" T1 ",\n" T2 ",\n" T3
			 "\n], \"traceName\": \"x\", \"a\": [1, {\"b\": 2}]\n}\n",
			 false);
}

/* A text that ends with an escaped backslash: the quote behind it is its end, in damage too. */
static void test_beginnings_with_backslash(void **state)
{
	static const char text[] = "[" A ",{" P ",\"name\":\"b\\\\\",\"args\":{\"k\":[\"}\"]}}]";
	size_t cut;

	(void)state;
	for (cut = strlen("[" A); cut < strlen(text) - 1; cut++) {
		struct trawl_trace *trace = try_read(text, cut, 0);
		struct tw_str got;

		assert_non_null(trace);
		dump(&got, trace);
		trawl_trace_free(trace);
		same(text, cut, &got, RA);
	}
}

/* ---- at random */

/* The same outcome, record and places included, whatever the block size. */
static void same_in_all_blocks(const char *text, size_t len, struct tw_str *out)
{
	struct tw_str first;
	size_t b, i;

	tw_str_init(&first, trawl_allocator_default());
	for (b = 0; b < BLOCK_SIZES; b++) {
		struct trawl_trace *trace;
		struct tw_str got;

		if (is_whole_again(b, len))
			continue;
		trace = try_read(text, len, block_sizes[b]);
		tw_str_init(&got, trawl_allocator_default());
		if (trace) {
			tw_str_release(&got);
			dump(&got, trace);
			if (out && !b)
				tw_str_add(out, got.ptr, got.len);
			for (i = 0; i < trawl_trace_defects(trace); i++) {
				struct trawl_defect defect = trawl_trace_defect(trace, i);

				tw_str_addf(&got, "\n%s %lld %lld %lld", defect.kind,
					    (long long)defect.count, (long long)defect.offset,
					    (long long)defect.event);
			}
			trawl_trace_free(trace);
		} else {
			tw_str_add_cstr(&got, "refused");
		}
		if (!b)
			tw_str_add(&first, got.ptr, got.len);
		if (strcmp(first.ptr, got.ptr))
			print_error("%.*s\nwhole:\n%s\nblocks of %zu bytes:\n%s\n", (int)len, text,
				    first.ptr, block_sizes[b], got.ptr);
		assert_string_equal(first.ptr, got.ptr);
		tw_str_release(&got);
	}
	tw_str_release(&first);
}

/* Some bytes of an event replaced, taken out or put in. */
static size_t damage_bytes(char *text, size_t len, size_t begin, size_t end)
{
	static const char bytes[] = "\"\"\"\\{}[],,:: \n0.e-aXN\x01\xff";
	size_t at = begin + random_below((uint32_t)(end - begin)), n = 1 + random_below(12);

	switch (random_below(3)) {
	case 0:
		if (n > end - at)
			n = end - at;
		memmove(text + at, text + at + n, len - at - n);
		return len - n;
	case 1:
		text[at] = bytes[random_below(sizeof(bytes) - 1)];
		return len;
	default:
		memmove(text + at + 1, text + at, len - at);
		text[at] = bytes[random_below(sizeof(bytes) - 1)];
		return len + 1;
	}
}

/* Damage in one event of many: those away from it come out, and nothing crashes. */
/* What a field beside the events is read as, in blocks of all sizes; NULL: it is not there. */
static void field_is(const char *text, const char *key, const char *right)
{
	size_t b, len;

	for (b = 0; b < BLOCK_SIZES; b++) {
		struct trawl_trace *trace = try_read(text, strlen(text), block_sizes[b]);
		const char *got;

		assert_non_null(trace);
		got = tw_trace_field(trace, key, &len);
		if (!got || !right)
			assert_ptr_equal(got, right);
		else
			assert_string_equal(got, right);
		trawl_trace_free(trace);
	}
}

#define EVENTS "\"traceEvents\":[" A "," B "]"
#define BOTH RA " " RB
/* Damage in front of the events, and behind them. */
#define BESIDE(field, kinds)                                               \
	do {                                                               \
		damage_is("{" field ", " EVENTS "}", kinds, BOTH);         \
		damage_is("{" EVENTS ", " field ",\"z\":1}", kinds, BOTH); \
	} while (0)

static void test_strings_beside_the_events(void **state)
{
	(void)state;
	BESIDE("\"host\": \"^a\tb\"", "control_character:1");
	BESIDE("\"host\": \"^C:\\d\"", "bad_escape:1");
	BESIDE("\"host\": \"^x\xff\"", "bad_utf8:1");
	BESIDE("\"host\": \"^\\ud800\"", "bad_surrogate:1");
	BESIDE("\"host\": \"^my \"best\" host\"", "unescaped_quote:1");
}

/* A raw backslash in front of the quote that ends the string. */
static void test_windows_path_beside_the_events(void **state)
{
	static const char text[] =
		"{\"host\": \"C:\\\", \"distributedInfo\": {\"rank\": 3}, " EVENTS "}";

	(void)state;
	BESIDE("\"host\": \"^C:\\\"", "bad_escape:1");
	field_is(text, "host", "\"C:\\\"");
	field_is(text, "distributedInfo", "{\"rank\": 3}");
	/* Inside events it could be an escaped quote: one is lost. */
	damage_is(BETWEEN("^{\"name\":\"C:\\\"," P "}"), "unreadable_event:1", BOTH);
	/* A quote with its backslash, as it should be. */
	damage_is("{\"a\": \"x\\\", \", " EVENTS "}", "", BOTH);
	field_is("{\"a\": \"x\\\", \", " EVENTS "}", "a", "\"x\\\", \"");
}

static void test_words_beside_the_events(void **state)
{
	(void)state;
	BESIDE("\"a\": ^NaN", "not_a_number:1");
	BESIDE("\"a\": ^Infinity", "not_a_number:1");
	BESIDE("\"a\": ^[1, NaN]", "not_a_number:1");
	BESIDE("\"a\": ^None", "python_literal:1");
	BESIDE("\"a\": ^", "malformed_value:1");
	BESIDE("\"a\": ^[1,]", "malformed_value:1");
	BESIDE("\"a\": ^{\"b\" 1}", "malformed_value:1");
	BESIDE("^a\": 1", "bare_key:1");
	BESIDE("^a: 1", "bare_key:1");
	BESIDE("\"a\": 1 ^\"b\": 2", "missing_comma:1");
	BESIDE("\"a\": 1,^, \"b\": 2", "extra_comma:1");
	BESIDE("\"a\": ^[\"x\ty\", \"\\d\", \"\\ud800\"]",
	       "control_character:1 bad_escape:1 bad_surrogate:1");
	field_is("{\"a\": [\"\\ud800\"], " EVENTS "}", "a", "[\"\\ufffd\"]");
	field_is("{\"a\": NaN, " EVENTS "}", "a", "NaN");
	field_is("{a: [1,], " EVENTS "}", "a", "[1,]");
	/* Nothing odd. */
	BESIDE("\"a\": {\"b\": [1, {\"c\": \"\\\"traceEvents\\\": [{\"}], \"traceEvents\": 1}", "");
	BESIDE("\"a\": [\"b\", \"c\"], \"d\": [\"e\"]", "");
}

/* A bracket that nobody closes: the value ends before what cannot be part of it. */
static void test_unclosed_bracket_beside_the_events(void **state)
{
	(void)state;
	damage_is("{\"d\": ^[{\"id\": 0}, " EVENTS "}", "malformed_value:1", BOTH);
	field_is("{\"d\": [{\"id\": 0}, " EVENTS "}", "d", "[{\"id\": 0}]");
	damage_is("{\"d\": ^[{\"id\": 0}, \"r\": {\"rank\": 1}, " EVENTS "}", "malformed_value:1",
		  BOTH);
	field_is("{\"d\": [{\"id\": 0}, \"r\": {\"rank\": 1}, " EVENTS "}", "r", "{\"rank\": 1}");
	damage_is("{\"d\": ^{\"rank\": 1, " EVENTS "}", "malformed_value:1", BOTH);
	field_is("{\"d\": {\"rank\": 1, " EVENTS "}", "d", "{\"rank\": 1}");
	damage_is("{\"d\": ^[{\"id\": 0, " EVENTS "}", "malformed_value:1", BOTH);
	field_is("{\"d\": [{\"id\": 0, " EVENTS "}", "d", "[{\"id\": 0}]");
	damage_is("{\"d\": ^[{\"id\": [0}], " EVENTS "}", "malformed_value:1", BOTH);
	damage_is("{\"d\": ^[0}, " EVENTS "}", "malformed_value:1", BOTH);
	/* It was no missing brace, but an object around the list. */
	damage_is("{\"d\": ^{\"rank\": 1, " EVENTS "}}", "nested_events:1", BOTH);
	/* It is part of a field, the list is another. */
	damage_is("{\"d\": {\"rank\": 1, \"traceEvents\":[" A "]}, " EVENTS "}", "", BOTH);
	damage_is("{\"d\": [{\"rank\": 1, \"traceEvents\":[" A "]}], " EVENTS "}", "", BOTH);
	/* Behind the events. */
	damage_is("{" EVENTS ", \"d\": ^[{\"id\": 0}, \"r\": 1}", "malformed_value:1", BOTH);
	damage_is("{" EVENTS ", \"d\": ^[1, 2}", "malformed_value:1", BOTH);
	damage_is("{" EVENTS ", \"d\": {\"a\": 1}", "truncated:1", BOTH);
}

static void test_bracket_too_many_beside_the_events(void **state)
{
	(void)state;
	damage_is("{\"d\": {\"a\": 1}^}, \"r\": 7, " EVENTS "}", "malformed_value:1", BOTH);
	damage_is("{\"d\": [1]^], \"r\": 7, " EVENTS "}", "malformed_value:1", BOTH);
	damage_is("{\"d\": ^{\"a\": [1]]}, \"r\": 7, " EVENTS "}", "malformed_value:2", BOTH);
	damage_is("{\"d\": {\"a\": 1}^} ^\"r\": 7, " EVENTS "}",
		  "malformed_value:1 missing_comma:1", BOTH);
	damage_is("{\"d\": ^[{\"a\": 1], \"b\": 2}], \"r\": 7, " EVENTS "}", "malformed_value:3",
		  BOTH);
	field_is("{\"d\": {\"a\": 1}}, \"r\": 7, " EVENTS "}", "r", "7");
	damage_is("{" EVENTS "^]}", "trailing_text:1", BOTH);
}

/* A value that cannot be understood is lost, and what follows up to the events. */
static void test_lost_value_beside_the_events(void **state)
{
	(void)state;
	damage_is("{\"a\": ^\"x, " EVENTS "}", "unreadable_stretch:1", BOTH);
	damage_is("{\"a\": ^\"x, \"b\": 1, " EVENTS "}", "unreadable_stretch:1", BOTH);
	damage_is("{\"a\": ^5x, \"b\": 1, " EVENTS "}", "unreadable_stretch:1", BOTH);
	damage_is("{\"a\": ^{\"b\": \"C:\\\"}, " EVENTS "}", "unreadable_stretch:1", BOTH);
	damage_is("{\"a\" ^1, \"b\": 1, " EVENTS "}", "unreadable_stretch:1", BOTH);
	damage_is("{\"a: 1, \"^traceEvents\": [" A "," B "]}", "unreadable_stretch:1", BOTH);
	damage_is("{" EVENTS ", \"a\": ^\"x, \"b\": 1}", "unreadable_stretch:1", BOTH);
	damage_is("{" EVENTS ", \"a\": ^5x, \"b\": 1}", "unreadable_stretch:1", BOTH);
	field_is("{\"a\": \"x, " EVENTS ", \"r\": 7}", "r", "7");
	assert_null(try_read("{\"a\": 5x, \"b\": 1}", 17, 0));
}

static void test_keys_given_twice_beside_the_events(void **state)
{
	(void)state;
	damage_is("{\"d\": 1, \"d\": ^2, " EVENTS "}", "duplicate_key:1", BOTH);
	field_is("{\"d\": 1, \"d\": 2, " EVENTS "}", "d", "2");
	damage_is("{\"d\": 1, " EVENTS ", \"d\": ^[2]}", "duplicate_key:1", BOTH);
	field_is("{\"d\": 1, " EVENTS ", \"d\": [2]}", "d", "[2]");
	/* A text that an event has is no field given before. */
	damage_is("{" EVENTS ", \"a\": 1, \"b\": 2}", "", BOTH);
	damage_is("{" EVENTS ", \"x\": 1, \"traceEvents\": ^[" A "]}", "duplicate_key:1",
		  BOTH " " RA);
}

/* damage_is() with so many blanks for each '~'. */
static void blanks_are(const char *marked, int blanks, const char *kinds, const char *events)
{
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	for (; *marked; marked++) {
		if (*marked == '~')
			tw_str_addf(&text, "%*s", blanks, "");
		else
			tw_str_add_char(&text, *marked);
	}
	tw_str_add_cstr(&text, "");
	damage_is(text.ptr, kinds, events);
	tw_str_release(&text);
}

/* However long: what stands before them and behind them belongs together. */
static void test_many_blanks(void **state)
{
	static const int counts[] = { 1, 511, 513, 5000 };
	static const char *const both = RA " " RB;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		int n = counts[i];

		blanks_are("[" A ",~^@@~,~" B "]", n, "unreadable_stretch:1", both);
		blanks_are("[" A ",~^@@~,~{~\"name\"~:~\"b\"," P "}~]", n, "unreadable_stretch:1",
			   both);
		/* An event without a colon, then what is no event: it is the value of a field. */
		blanks_are("[" A ",~^{" P ",\"name\" \"x\"},~" B "]", n, "unreadable_event:1",
			   both);
		blanks_are("[" A ",^{" P ",\"name\" \"x\",\"k\"~:~{\"ph\":1}},~" B "]", n,
			   "unreadable_event:1", both);
		blanks_are("[" A "]~^" B "~", n, "unreadable_stretch:1", both);
		blanks_are("[" A ",{" P ",\"name\":\"^x \"y\"~,~\"args\"~:~{}~}," B "]", n,
			   "unescaped_quote:1", RA " Xx \"y:5000+1000 " RB);
	}
	/* A key that far from its brace is looked for no more. */
	blanks_are("[" A ",^@@,{~" P ",\"name\":\"x\"}," B "]", 65536, "unreadable_stretch:1",
		   both);
	blanks_are("[" A ",^@@,{~" P ",\"name\":\"b\"}]", 65000, "unreadable_stretch:1", both);
}

/* An event that ends `more` bytes behind the most that is read, or nowhere. */
static void large_event_is(int more, bool ends, const char *kinds, const char *events)
{
	static const size_t blocks[] = { 4096, 0, (size_t)200 << 20 };
	static const char head[] = "{\"traceEvents\":[" A ",", begin[] = "{" P ",\"name\":\"",
			  end[] = "\",\"name\":\"L\"}", tail[] = "," B "]}";
	const size_t size = (size_t)((64 << 20) + more), place = sizeof(head) - 1;
	char *text = malloc(size + 1000);
	size_t i, len = place + size;

	assert_non_null(text);
	memcpy(text, head, place);
	memset(text + place, 'x', size);
	memcpy(text + place, begin, sizeof(begin) - 1);
	if (ends) {
		memcpy(text + len - (sizeof(end) - 1), end, sizeof(end) - 1);
		memcpy(text + len, tail, sizeof(tail));
		len += sizeof(tail) - 1;
	}
	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct trawl_trace *trace;
		struct tw_str got;

		/* Far from the limit windows decide nothing. */
		if (blocks[i] && (more < -1 || more > 1) && !full_run())
			continue;
		trace = try_read(text, len, blocks[i]);
		dump_kinds(&got, trace);
		same("large event", blocks[i], &got, kinds);
		dump(&got, trace);
		same("large event", blocks[i], &got, events);
		trawl_trace_free(trace);
	}
	free(text);
}

static void test_largest_event(void **state)
{
	(void)state;
	large_event_is(0, true, "duplicate_key:1", RA " XL:5000+1000 " RB);
	large_event_is(1, true, "unreadable_event:1", RA " " RB);
	large_event_is(1 << 20, true, "unreadable_event:1", RA " " RB);
	large_event_is(-1, false, "truncated:1", RA);
	large_event_is(1 << 20, false, "truncated:1 unreadable_event:1", RA);
}

static void test_random_damage(void **state)
{
	char event[256], text[4096];
	int round, rounds = full_run() ? 1000 : 250, i;

	(void)state;
	for (round = 0; round < rounds; round++) {
		size_t len = 1, begin = 0, end = 0;
		struct tw_str out;
		int damages;

		text[0] = '[';
		for (i = 0; i < 8; i++) {
			snprintf(
				event, sizeof(event),
				"%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n%d\",\"pid\":1,"
				"\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"k\":\"s\",\"l\":[1,2]}}",
				i ? ",\n" : "", i, i + 1);
			if (i == 4)
				begin = len + 2;
			memcpy(text + len, event, strlen(event));
			len += strlen(event);
			if (i == 4)
				end = len;
		}
		text[len++] = ']';
		for (damages = 1 + (int)random_below(4); damages > 0; damages--) {
			size_t before = len;

			len = damage_bytes(text, len, begin, end);
			end += len - before;
			if (end <= begin + 1)
				break;
		}
		tw_str_init(&out, trawl_allocator_default());
		same_in_all_blocks(text, len, &out);
		tw_str_add_cstr(&out, " ");
		/* The list may be taken to end in the damage; an event next to it may go with it. */
		for (i = 0; i < 4; i++) {
			snprintf(event, sizeof(event), "Xn%d:%d000+1000{k=s,l=[1,2]}", i, i + 1);
			assert_non_null(out.ptr);
			if (!strstr(out.ptr, event))
				print_error("%.*s\n%s\n", (int)len, text, out.ptr);
			assert_non_null(strstr(out.ptr, event));
		}
		tw_str_release(&out);
	}
}

/* ---- the wrapping */

#define WRAPPED "[" A "," B "]"

static void wrapping_is(struct bytes *input, const char *kinds, const char *events)
{
	size_t b;

	for (b = 0; b < BLOCK_SIZES; b++) {
		struct trawl_trace *trace = try_read(input->ptr, input->len, block_sizes[b]);
		struct tw_str got;

		assert_non_null(trace);
		dump(&got, trace);
		same(kinds, block_sizes[b], &got, events);
		dump_kinds(&got, trace);
		same(kinds, block_sizes[b], &got, kinds);
		trawl_trace_free(trace);
	}
	bytes_drop(input);
}

static void test_wrappings(void **state)
{
	struct bytes input = { 0 }, inner = { 0 };

	(void)state;
	bytes_text(&input, "\xef\xbb\xbf" WRAPPED);
	wrapping_is(&input, "byte_order_mark:1", RA " " RB);
	bytes_utf16(&input, WRAPPED, strlen(WRAPPED), true);
	wrapping_is(&input, "utf16:1", RA " " RB);
	bytes_gzip(&input, WRAPPED, strlen(WRAPPED));
	wrapping_is(&input, "", RA " " RB);
	bytes_gzip(&input, WRAPPED, strlen(WRAPPED));
	bytes_text(&input, "garbage");
	wrapping_is(&input, "trailing_bytes:7", RA " " RB);
	bytes_deflated(&input, WRAPPED, strlen(WRAPPED), IGZIP_ZLIB);
	wrapping_is(&input, "zlib_wrapper:1", RA " " RB);
	bytes_gzip(&inner, WRAPPED, strlen(WRAPPED));
	bytes_gzip(&input, inner.ptr, inner.len);
	bytes_drop(&inner);
	wrapping_is(&input, "compressed_twice:1", RA " " RB);
	/* The check sum is the first four of the last eight bytes. */
	bytes_gzip(&input, WRAPPED, strlen(WRAPPED));
	input.ptr[input.len - 8] = (char)(input.ptr[input.len - 8] ^ 1);
	wrapping_is(&input, "compressed_checksum:1", RA " " RB);
	/* All of the text is there; the end of the wrapping is not. */
	bytes_gzip(&input, WRAPPED, strlen(WRAPPED));
	input.len -= 8;
	wrapping_is(&input, "compressed_truncated:1", RA " " RB);
	bytes_gzip_with_fields(&input, WRAPPED, strlen(WRAPPED));
	wrapping_is(&input, "", RA " " RB);
	/* Cut inside the text: told once, as what it is. */
	bytes_gzip_with_fields(&input, WRAPPED, strlen(WRAPPED));
	input.len -= 8 + strlen(B);
	wrapping_is(&input, "compressed_truncated:1", RA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_bare_key_behind_text),
		cmocka_unit_test(test_duplicate_place),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_signed_words),
		cmocka_unit_test(test_known_text_as_list),
		cmocka_unit_test(test_commas),
		cmocka_unit_test(test_commas_beside_the_events),
		cmocka_unit_test(test_commas_behind_many_keys),
		cmocka_unit_test(test_ids_and_times),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_lost_events),
		cmocka_unit_test(test_missing_colon_does_not_glue_keys),
		cmocka_unit_test(test_lists_in_lost_events),
		cmocka_unit_test(test_stray_brackets),
		cmocka_unit_test(test_damage_at_the_end),
		cmocka_unit_test(test_beginnings),
		cmocka_unit_test(test_beginnings_with_backslash),
		cmocka_unit_test(test_strings_beside_the_events),
		cmocka_unit_test(test_windows_path_beside_the_events),
		cmocka_unit_test(test_words_beside_the_events),
		cmocka_unit_test(test_unclosed_bracket_beside_the_events),
		cmocka_unit_test(test_bracket_too_many_beside_the_events),
		cmocka_unit_test(test_lost_value_beside_the_events),
		cmocka_unit_test(test_keys_given_twice_beside_the_events),
		cmocka_unit_test(test_many_blanks),
		cmocka_unit_test(test_largest_event),
		cmocka_unit_test(test_random_damage),
		cmocka_unit_test(test_wrappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
