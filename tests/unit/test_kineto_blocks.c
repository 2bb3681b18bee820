/*
 * The Kineto reader on text cut anywhere: by the end of the file, by windows of every size, by the
 * shares of threads.  And its guesses of what comes next, which must never be visible.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "instrumented.h"
#include "random_events.h"
#include "scratch.h"
#include "traces.h"

/* ---- the end of the file */

static const char *const whole_events[] = {
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"ts\":0,"
	"\"args\":{\"name\":\"p\\\"y\"}}",
	"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::\\u00e9\xc3\xa9{[\", \"pid\": 1,"
	" \"tid\": 1, \"ts\": 12.5e1, \"dur\": 3.25,\n \"args\": {\"dims\": [[1, 2], \"]}\"],"
	" \"ok\": true, \"no\": null, \"x\": -1.5e-3, \"b\": {\"c\": {}}}}",
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k<a, b>\",\"pid\":0,\"tid\":7,\"ts\":200.125,"
	"\"dur\":10,\"args\":{\"stream\":7,\"correlation\":18446744073709551614}}",
	"{\"ph\":\"s\",\"id\":3,\"pid\":1,\"tid\":1,\"ts\":5,\"cat\":\"ac2g\",\"name\":\"ac2g\"}",
	"{}",
};

#define WHOLE_EVENTS (sizeof(whole_events) / sizeof(whole_events[0]))

/* A document of these events; ends[i] is where event i ends, list where their list begins. */
static void make_document(struct tw_str *out, bool bare, size_t *list, size_t *ends)
{
	size_t i;

	tw_str_clear(out);
	tw_str_add_cstr(out, bare ? " [" : "{\"schemaVersion\": 1,\n\"traceEvents\": [");
	*list = out->len;
	for (i = 0; i < WHOLE_EVENTS; i++) {
		tw_str_add_cstr(out, i ? " ,\n" : "\n");
		tw_str_add_cstr(out, whole_events[i]);
		ends[i] = out->len;
	}
	tw_str_add_cstr(out, bare ? "\n]" : "\n], \"traceName\": \"a}b\", \"z\": [1]}");
}

static void check_cut(const char *text, size_t len, size_t cut, bool bare, size_t list,
		      const size_t *ends, const struct trawl_trace *whole, size_t block)
{
	struct trawl_error err = { 0 };
	struct trawl_trace *t = read_text(text, cut, block, &err);
	struct tw_str a, b;
	size_t complete = 0, i;
	bool inside;

	if (cut < list) {
		assert_null(t);
		assert_int_equal(err.status, TRAWL_EFORMAT);
		return;
	}
	if (!t)
		fail_msg("cut at %zu, blocks of %zu: %s", cut, block, err.message);
	while (complete < WHOLE_EVENTS && ends[complete] <= cut)
		complete++;
	if (t->events.count != complete)
		fail_msg("cut at %zu, blocks of %zu: %d events, not %zu", cut, block,
			 (int)t->events.count, complete);
	tw_str_init(&a, trawl_allocator_default());
	tw_str_init(&b, trawl_allocator_default());
	for (i = 0; i < complete; i++) {
		tw_str_clear(&a);
		tw_str_clear(&b);
		describe_event(whole, i, &a);
		describe_event(t, i, &b);
		assert_string_equal(a.ptr, b.ptr);
	}
	tw_str_release(&a);
	tw_str_release(&b);
	/* Of a bare list the end is optional, so it is cut only inside an event. */
	inside = complete < WHOLE_EVENTS && cut > (complete ? ends[complete - 1] : list) &&
		 memchr(text + (complete ? ends[complete - 1] : list), '{',
			cut - (complete ? ends[complete - 1] : list));
	i = bare ? inside : cut < len;
	if ((size_t)COUNT(t, truncated) != i)
		fail_msg("cut at %zu, blocks of %zu: truncated %d times", cut, block,
			 COUNT(t, truncated));
	/* The {} at the end is no event. */
	assert_kinds(t, (int)i + (complete == WHOLE_EVENTS));
	trawl_trace_free(t);
}

static void cut_at_every_byte(bool bare)
{
	static const size_t blocks[] = { 1, 7, 64, 0 };
	size_t ends[WHOLE_EVENTS], list, cut, b;
	struct trawl_trace *whole;
	struct tw_str text;

	tw_str_init(&text, trawl_allocator_default());
	make_document(&text, bare, &list, ends);
	whole = trace_in_blocks(text.ptr, text.len);
	assert_int_equal(whole->events.count, WHOLE_EVENTS);
	for (cut = 0; cut <= text.len; cut++) {
		/* In a block of its own size: nothing behind its end may be read. */
		char *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, text.ptr, cut);
		for (b = 0; b < 4; b++)
			check_cut(copy, text.len, cut, bare, list, ends, whole, blocks[b]);
		free(copy);
	}
	trawl_trace_free(whole);
	tw_str_release(&text);
}

static void a_file_that_ends_early_keeps_its_complete_events(void **state)
{
	cut_at_every_byte(false);
}

static void a_list_that_ends_early_keeps_its_complete_events(void **state)
{
	cut_at_every_byte(true);
}

/* ---- guesses */

#define COMMON "\"cat\":\"cpu_op\",\"name\":\"f\",\"pid\":1,\"tid\":2"

/* Each line follows the one before in a way that the reader's guess of the next key is wrong. */
static void guesses_are_checked(void **state)
{
	static const char *const lines[] = {
		"{\"ph\":\"X\"," COMMON
		",\"ts\":3,\"dur\":4,\"args\":{\"a\":5,\"ab\":6,\"abc\":7}}",
		/* The same again, then with other blanks at every place. */
		"{\"ph\":\"X\"," COMMON
		",\"ts\":3,\"dur\":4,\"args\":{\"a\":5,\"ab\":6,\"abc\":7}}",
		"{\"ph\":\"X\"," COMMON
		",\"ts\": 3,\"dur\":  4,\"args\": {\"a\":\t5,\"ab\": 6,\"abc\": 7}}",
		"{\"ph\":\"X\"," COMMON
		",\"ts\":3,\"dur\":4,\"args\":{\"a\":5,\"ab\":6,\"abc\":7}}",
		"{\"ph\":\"X\"," COMMON
		", \"ts\":3 ,\"dur\" :4 , \"args\" :{ \"a\":5 , \"ab\":6,\n\"abc\":7 } }",
		/* Keys that begin as the expected one. */
		"{\"ph\":\"X\"," COMMON
		",\"t\":9,\"ts\":3,\"tss\":9,\"dur\":4,\"durs\":9,\"args\":{\"a\":5,\"ab\":6,"
		"\"abc\":7,\"abcd\":[8]}}",
		"{\"ph\":\"X\"," COMMON
		",\"tss\":9,\"ts\":3,\"duration\":9,\"dur\":4,\"args\":{\"a\":5,\"a b\":0,\"ab\":6,"
		"\"abc\":7}}",
		/* An object that ends where the last went on, and the other way round. */
		"{\"ph\":\"X\"," COMMON ",\"ts\":3,\"dur\":4,\"args\":{\"a\":5}}",
		"{\"ph\":\"X\"," COMMON
		",\"ts\":3,\"dur\":4,\"args\":{\"a\":5,\"ab\":6,\"abc\":7}}",
		"{\"ph\":\"X\"," COMMON ",\"ts\":3,\"dur\":4,\"args\":{}}",
		"{\"ph\":\"X\"," COMMON ",\"ts\":3,\"dur\":4}",
		"{\"ph\":\"X\"," COMMON ",\"ts\":3,\"dur\":4,\"args\":{\"ab\":6}}",
		"{\"ph\":\"X\"," COMMON ",\"ts\":3,\"dur\":4,\"args\":{\"a\":5,\"abc\":7}}",
		/* Values that look like what comes next. */
		"{\"ph\":\"X\"," COMMON
		",\"ts\":3,\"dur\":4,\"args\":{\"a\":\",\\\"ab\\\":6\",\"ab\":\"}\",\"abc\":\"}},\"}}",
		"{\"ph\":\"X\"," COMMON
		",\"ts\":3,\"dur\":4,\"args\":{\"a\":5,\"ab\":6,\"abc\":7}}",
		/* Another kind of event with the same keys in another order. */
		"{\"ph\":\"s\",\"id\":3,\"pid\":1,\"tid\":2,\"ts\":3,\"cat\":\"ac2g\",\"name\":\"f\",\"dur\":4}",
		"{\"ts\":3,\"dur\":4,\"ph\":\"X\"," COMMON
		",\"args\":{\"abc\":7,\"ab\":6,\"a\":5}}",
		"{\"ph\":\"X\"," COMMON
		",\"ts\":3,\"dur\":4,\"args\":{\"a\":5,\"ab\":6,\"abc\":7}}",
	};
	size_t n = sizeof(lines) / sizeof(lines[0]), i, round;
	struct tw_str all, alone, together;

	tw_str_init(&all, trawl_allocator_default());
	tw_str_init(&alone, trawl_allocator_default());
	tw_str_init(&together, trawl_allocator_default());
	for (round = 0; round < 2; round++)
		for (i = 0; i < n; i++)
			tw_str_addf(&all, "%s%s", all.len ? "," : "[",
				    lines[round ? n - 1 - i : i]);
	tw_str_add_cstr(&all, "]");
	{
		struct trawl_trace *t = trace_in_blocks(all.ptr, all.len);

		assert_kinds(t, 0);
		assert_int_equal(t->events.count, 2 * n);
		for (i = 0; i < 2 * n; i++) {
			/* Read alone there is nothing to guess from. */
			struct trawl_trace *one;

			tw_str_clear(&all);
			tw_str_addf(&all, "[%s]", lines[i < n ? i : 2 * n - 1 - i]);
			one = trace_of(all.ptr);
			tw_str_clear(&alone);
			tw_str_clear(&together);
			describe_event(one, 0, &alone);
			describe_event(t, i, &together);
			assert_string_equal(together.ptr, alone.ptr);
			assert_int_equal(t->events.start_ns[i], 3000);
			assert_int_equal(t->events.dur_ns[i], 4000);
			trawl_trace_free(one);
		}
		trawl_trace_free(t);
	}
	tw_str_release(&all);
	tw_str_release(&alone);
	tw_str_release(&together);
}

/*
 * What was learnt after one key is kept by the key's number: with any number of texts before, a
 * missing or superfluous comma is seen each time.
 */
static void guesses_hide_no_commas(void **state)
{
	struct tw_str text;
	int fillers, i;

	tw_str_init(&text, trawl_allocator_default());
	for (fillers = 0; fillers < 140; fillers++) {
		struct trawl_trace *t;

		tw_str_clear(&text);
		tw_str_add_cstr(&text, "[{\"ph\":\"M\",\"args\":{");
		for (i = 0; i < fillers; i++)
			tw_str_addf(&text, "%s\"filler%d\":0", i ? "," : "", i);
		tw_str_add_cstr(&text, "}}");
		for (i = 0; i < 4; i++)
			tw_str_addf(
				&text,
				",{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"n\",\"ts\":1,\"dur\":1,"
				"\"args\":{%s\"p\":1,\"q\":2,\"r\":3%s\"p2\":1%s\"q2\":2,\"r2\":3}}",
				i == 2 ? "," : "", i == 3 ? " " : ",", i == 3 ? "" : ",");
		tw_str_add_char(&text, ']');
		t = trace_of(text.ptr);
		if (COUNT(t, extra_comma) != 1 || COUNT(t, missing_comma) != 2)
			fail_msg("behind %d texts: %d extra commas, %d missing", fillers,
				 COUNT(t, extra_comma), COUNT(t, missing_comma));
		assert_string_equal(arg_of(t, 4, "q2"), "2");
		trawl_trace_free(t);
	}
	tw_str_release(&text);
}

/* ---- random text */

static void random_events_come_back(void **state)
{
	struct random_events r;
	struct tw_str got;
	int round;
	size_t i;

	tw_str_init(&got, trawl_allocator_default());
	for (round = 0; round < 60; round++) {
		struct trawl_trace *t;

		random_events_make(&r, (uint64_t)round, 40);
		t = trace_in_blocks(r.text.ptr, r.text.len);
		assert_kinds(t, 0);
		assert_int_equal(t->events.count, r.count);
		for (i = 0; i < r.count; i++) {
			tw_str_clear(&got);
			describe_event(t, i, &got);
			if (strcmp(got.ptr, r.expected[i].ptr))
				print_error("round %d, event %zu\n", round, i);
			assert_string_equal(got.ptr, r.expected[i].ptr);
		}
		trawl_trace_free(t);
		random_events_release(&r);
	}
	tw_str_release(&got);
}

/* Damage of any kind means the same whatever the windows. */
static void random_damage_is_the_same_in_all_windows(void **state)
{
	static const char bytes[] = "\"\"\"\\\\{}[],::\n\t 0e-xN\xff";
	struct random_events r;
	uint64_t seed = 99;
	int round, hits;

	for (round = 0; round < 400; round++) {
		random_events_make(&r, (uint64_t)round + 1000, 4);
		hits = 1 + round % 4;
		while (hits--) {
			size_t at, len;

			seed = tw_hash_u64(seed);
			/* The beginning stays: else it may be no trace at all. */
			at = 20 + seed % (r.text.len - 20);
			seed = tw_hash_u64(seed);
			len = seed % 9 ? 1 : seed / 16 % 60;
			if (seed % 3 == 0) {
				r.text.ptr[at] = bytes[seed / 4096 % (sizeof(bytes) - 1)];
			} else {
				len = at + len > r.text.len ? r.text.len - at : len;
				memmove(r.text.ptr + at, r.text.ptr + at + len,
					r.text.len - at - len + 1);
				r.text.len -= len;
			}
		}
		trawl_trace_free(trace_in_blocks(r.text.ptr, r.text.len));
		random_events_release(&r);
	}
}

/* ---- threads */

/*
 * Three shares of 8 MB each, as the reader takes them by itself, in the long run; else as many
 * smaller ones that it is asked for (test_reader_split has a large file always).
 */
#define LARGE ((size_t)25 << 20)
#define SMALL (LARGE / 16)

static struct trawl_trace *read_file(const char *path, unsigned threads, size_t block)
{
	struct trawl_read_options options = { .threads = threads,
					      .block_size = block,
					      .part_size = full_run() ? 0 : SMALL / threads - 64 };
	struct trawl_error err = { 0 };
	struct trawl_trace *trace;

	if (trawl_trace_read(&trace, path, &options, &err))
		fail_msg("%s", err.message);
	return trace;
}

static void check_threads(struct scratch *scratch, const struct tw_str *text)
{
	static const unsigned threads[] = { 2, 3 };
	const char *path = scratch_path(scratch, "large.json");
	FILE *file = fopen(path, "wb");
	struct trawl_trace *one, *several;
	char where[32];
	size_t i;

	assert_non_null(file);
	assert_int_equal(fwrite(text->ptr, 1, text->len, file), text->len);
	assert_int_equal(fclose(file), 0);
	one = read_file(path, 1, 0);
	for (i = 0; i < sizeof(threads) / sizeof(threads[0]) && !UNDER_TSAN; i++) {
		snprintf(where, sizeof(where), "%u threads", threads[i]);
		several = read_file(path, threads[i], 0);
		assert_same_trace(one, several, where);
		trawl_trace_free(several);
	}
	several = read_file(path, 2, 50000);
	assert_same_trace(one, several, "2 threads, blocks of 50000");
	trawl_trace_free(several);
	trawl_trace_free(one);
}

/* What is written to a large file, event by event. */
enum filling { FILL_RANDOM, FILL_NESTED, FILL_NO_COMMAS, FILL_DAMAGED, FILL_ODD_KEYS, FILLINGS };

static void add_nested(struct tw_str *text, uint64_t i)
{
	uint64_t n;

	tw_str_addf(text,
		    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n%llu\",\"ts\":%llu,\"dur\":1,"
		    "\"args\":{\"list\":[",
		    (unsigned long long)(i % 5000), (unsigned long long)i);
	/* Each of these looks like an event in a list. */
	for (n = 0; n < i % 300; n++)
		tw_str_addf(
			text,
			"%s\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"false %llu\",\"ts\":5}",
			n ? "," : "", (unsigned long long)n);
	tw_str_addf(text, "],\"key %llu\":[[%llu]]}}", (unsigned long long)(i % 200),
		    (unsigned long long)(i % 7000));
}

static void add_filling(struct tw_str *text, enum filling filling, uint64_t i)
{
	unsigned long long n = i;

	switch (filling) {
	case FILL_NESTED:
		add_nested(text, i);
		return;
	case FILL_DAMAGED:
		if (i % 10 == 3) {
			tw_str_addf(
				text,
				"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"say \"%llu\" \\q\xff\",\"ts\":"
				"\"%llu\",\"dur\":NaN,\"args\":{\"a\":[1,...,%llu]}}",
				n, n, n % 99);
			return;
		}
		if (i % 10 == 7) {
			tw_str_addf(text, "{\"ph\":\"X\",\"name\" oops %llu}", n);
			return;
		}
		break;
	case FILL_ODD_KEYS:
		/* Keys that are new in a share's first event, in another order than in the file's. */
		if (i) {
			for (n = 0, tw_str_add_cstr(text, "{"); n < 20; n++)
				tw_str_addf(text, "\"odd %llu\":%llu,", n, (unsigned long long)i);
			tw_str_addf(
				text,
				"\"twice\":1,\"twice\":2,\"ph\":\"X\",\"cat\":\"c %llu\",\"name\":"
				"\"%llu\",\"ts\":%llu,\"dur\":1}",
				(unsigned long long)(i % 100), (unsigned long long)i,
				(unsigned long long)i);
			return;
		}
		tw_str_add_cstr(text, "{\"twice\":1,\"twice\":2,\"ph\":\"M\"}");
		return;
	default:
		break;
	}
	tw_str_addf(text,
		    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"kernel number %llu\",\"pid\":%llu,"
		    "\"tid\":%llu,\"ts\":%llu.%03llu,\"dur\":%llu,\"args\":{\"stream\":%llu,"
		    "\"correlation\":%llu,\"note\":\"text %llu\"}}",
		    n % 40000, n % 8, n + 0xffffff00, n * 3, n % 1000, n % 50, n % 30,
		    n + 4294967000, n * 7919 % 65537);
}

static void threads_read_what_one_reads(void **state)
{
	const size_t size = full_run() ? LARGE : SMALL;
	struct scratch scratch;
	struct tw_str text;
	enum filling filling;
	uint64_t i;

	scratch_make(&scratch);
	tw_str_init(&text, trawl_allocator_default());
	assert_true(tw_str_reserve(&text, size + 100000));
	for (filling = FILL_RANDOM; filling < FILLINGS; filling++) {
		tw_str_clear(&text);
		tw_str_add_cstr(&text, "{\"schemaVersion\":1,\"traceEvents\":[\n");
		for (i = 0; text.len < size; i++) {
			if (i)
				tw_str_add_cstr(&text, filling == FILL_NO_COMMAS ? "\n" : ",\n");
			add_filling(&text, filling, i);
		}
		tw_str_add_cstr(&text, "\n],\"traceName\":\"x\",\"distributedInfo\":{\"rank\":4}}");
		check_threads(&scratch, &text);
		if (filling == FILL_RANDOM) {
			/* Cut in the last share. */
			text.len -= 1000;
			check_threads(&scratch, &text);
		}
	}
	tw_str_release(&text);
	scratch_remove(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_ends_early_keeps_its_complete_events),
		cmocka_unit_test(a_list_that_ends_early_keeps_its_complete_events),
		cmocka_unit_test(guesses_are_checked),
		cmocka_unit_test(guesses_hide_no_commas),
		cmocka_unit_test(random_events_come_back),
		cmocka_unit_test(random_damage_is_the_same_in_all_windows),
		cmocka_unit_test(threads_read_what_one_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
