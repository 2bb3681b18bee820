/* The event store: texts, arguments, tracks, ids as codes, joining two parts, the record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing.h"
#include "store/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

static void test_pool_ids(void **state)
{
	struct tw_pool pool;
	size_t len = 99;

	(void)state;
	assert_int_equal(tw_pool_init(&pool, trawl_allocator_default()), 0);
	assert_int_equal(tw_pool_find(&pool, "a", 1), 0);
	assert_int_equal(tw_pool_intern(&pool, "a", 1), 1);
	assert_int_equal(tw_pool_intern(&pool, "b", 1), 2);
	assert_int_equal(tw_pool_intern(&pool, "a", 1), 1);
	assert_int_equal(tw_pool_intern_cstr(&pool, "ab"), 3);
	assert_int_equal(tw_pool_intern(&pool, "abc", 2), 3);
	/* With zero bytes inside, and of no length: texts like others. */
	assert_int_equal(tw_pool_intern(&pool, "a\0b", 3), 4);
	assert_int_equal(tw_pool_intern(&pool, "a\0c", 3), 5);
	assert_int_equal(tw_pool_intern(&pool, "", 0), 6);
	assert_int_equal(tw_pool_intern(&pool, "", 0), 6);
	assert_int_equal(tw_pool_find(&pool, "a\0b", 3), 4);
	assert_int_equal(tw_pool_find(&pool, "ac", 2), 0);
	assert_string_equal(tw_pool_text(&pool, 0, &len), "");
	assert_int_equal(len, 0);
	assert_memory_equal(tw_pool_text(&pool, 4, &len), "a\0b", 4);
	assert_int_equal(len, 3);
	assert_int_equal(pool.count, 7);
	assert_false(pool.failed);
	tw_pool_release(&pool);
}

#define MANY 100000

static void test_pool_growth(void **state)
{
	static const char *first[MANY + 1];
	struct tw_pool pool;
	char text[64];
	uint32_t i;

	(void)state;
	assert_int_equal(tw_pool_init(&pool, trawl_allocator_default()), 0);
	for (i = 1; i <= MANY; i++) {
		snprintf(text, sizeof(text), "%s%u", i % 3 ? "x" : "a text of some more length ",
			 i);
		assert_int_equal(tw_pool_intern_cstr(&pool, text), i);
		assert_int_equal(pool.flags[i], 0);
		pool.flags[i] = (uint8_t)(i % 251);
		first[i] = tw_pool_text(&pool, i, NULL);
	}
	for (i = 1; i <= MANY; i++) {
		size_t len;

		snprintf(text, sizeof(text), "%s%u", i % 3 ? "x" : "a text of some more length ",
			 i);
		assert_int_equal(tw_pool_find(&pool, text, strlen(text)), i);
		assert_string_equal(tw_pool_text(&pool, i, &len), text);
		assert_int_equal(len, strlen(text));
		/* Texts never move, flags stay with them. */
		assert_ptr_equal(tw_pool_text(&pool, i, NULL), first[i]);
		assert_int_equal(pool.flags[i], i % 251);
	}
	assert_int_equal(pool.count, MANY + 1);
	tw_pool_release(&pool);
}

static void test_pool_long_text(void **state)
{
	const size_t len = 3 << 20;
	char *text = malloc(len);
	struct tw_pool pool;
	uint32_t id;

	(void)state;
	assert_non_null(text);
	memset(text, 'q', len);
	assert_int_equal(tw_pool_init(&pool, trawl_allocator_default()), 0);
	id = tw_pool_intern(&pool, text, len);
	text[len - 1] = 'r';
	assert_int_not_equal(tw_pool_intern(&pool, text, len), id);
	text[len - 1] = 'q';
	assert_int_equal(tw_pool_intern(&pool, text, len), id);
	assert_memory_equal(tw_pool_text(&pool, id, NULL), text, len);
	tw_pool_release(&pool);
	free(text);
}

/* Whatever allocation fails: what is there stays right, nothing leaks. */
static void test_pool_out_of_memory(void **state)
{
	struct failing failing;
	long n;

	(void)state;
	for (n = 0;; n++) {
		struct tw_pool pool;
		uint32_t i, kept = 0;
		char text[32];

		failing_init(&failing, n);
		if (!tw_pool_init(&pool, &failing.allocator)) {
			for (i = 1; i <= 5000; i++) {
				snprintf(text, sizeof(text), "text %u", i);
				if (tw_pool_intern_cstr(&pool, text) != i)
					break;
				kept = i;
			}
			assert_int_equal(pool.failed, kept < 5000);
			for (i = 1; i <= kept; i++) {
				snprintf(text, sizeof(text), "text %u", i);
				assert_int_equal(tw_pool_find(&pool, text, strlen(text)), i);
			}
			tw_pool_release(&pool);
		}
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 5);
}

/* The keys of keys.h have their numbers in the pool of every trace. */
static void test_keys_first(void **state)
{
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());

	(void)state;
	assert_non_null(trace);
	assert_true(TW_KEY_COUNT <= 127);
	assert_string_equal(tw_pool_text(&trace->texts, TW_KEY_correlation, NULL), "correlation");
	assert_string_equal(tw_pool_text(&trace->texts, TW_KEY_ph, NULL), "ph");
	assert_int_equal(tw_pool_find(&trace->texts, "External id", 11), TW_KEY_external_id);
	assert_int_equal(trace->texts.count, TW_KEY_COUNT);
	trawl_trace_free(trace);
}

/* ---- arguments ---- */

static const int64_t integers[] = {
	0,	     1,		  -1,	      127,	 128,	    -128,	   -129,
	32767,	     32768,	  -32768,     -32769,	 65536,	    2147483647,	   2147483648,
	-2147483648, -2147483649, 4294967296, INT64_MAX, INT64_MIN, INT64_MIN + 1, 1234567890123,
};
#define INTEGERS (sizeof(integers) / sizeof(integers[0]))

static const double reals[] = { 0.0, -0.0, 0.1, -1.5e300, 5e-324, 93.75, 1e22 };
#define REALS (sizeof(reals) / sizeof(reals[0]))

#define OTHER_KEY 100000u

static void put_reserve(struct tw_args *args)
{
	assert_int_equal(tw_args_reserve(args, TW_ARG_MAX_BYTES + 2 * TW_ARGS_ALIGN), 0);
}

/* One record with arguments of every kind, each under a key of one byte and of five. */
static uint32_t put_record(struct tw_args *args)
{
	uint32_t offset, other;
	size_t start, i;

	put_reserve(args);
	start = args->len;
	assert_int_equal(start % TW_ARGS_ALIGN, 0);
	for (other = 0; other <= OTHER_KEY; other += OTHER_KEY) {
		for (i = 0; i < INTEGERS; i++) {
			put_reserve(args);
			tw_args_put_integer(args, other + 1 + (uint32_t)i, integers[i]);
		}
		for (i = 0; i < REALS; i++) {
			put_reserve(args);
			tw_args_put_real(args, other + 30 + (uint32_t)i, reals[i]);
		}
		put_reserve(args);
		tw_args_put_text(args, other + 40, TRAWL_VALUE_TEXT, 1);
		put_reserve(args);
		tw_args_put_text(args, other + 41, TRAWL_VALUE_NUMBER, 0x12345678);
		put_reserve(args);
		tw_args_put_text(args, other + 42, TRAWL_VALUE_JSON, 0x7fffffff);
		put_reserve(args);
		tw_args_put_flag(args, other + 43, TRAWL_VALUE_NULL, false);
		put_reserve(args);
		tw_args_put_flag(args, other + 44, TRAWL_VALUE_BOOL, false);
		put_reserve(args);
		tw_args_put_flag(args, other + 45, TRAWL_VALUE_BOOL, true);
	}
	put_reserve(args);
	assert_int_equal(tw_args_end(args, start, &offset), 0);
	assert_int_equal(offset, start / TW_ARGS_ALIGN);
	assert_int_equal(args->len % TW_ARGS_ALIGN, 0);
	return offset;
}

static void next_is(const struct tw_args *args, size_t *at, uint32_t key,
		    enum trawl_value_kind kind, struct trawl_argument *arg)
{
	assert_true(tw_args_next(args, at, arg));
	assert_int_equal(arg->key, key);
	assert_int_equal(arg->kind, kind);
}

/* Ids were moved up by `shift`: text ids, and the keys of five bytes. */
static void check_record(const struct tw_args *args, uint32_t offset, uint32_t shift)
{
	size_t at = (size_t)offset * TW_ARGS_ALIGN, i;
	struct trawl_argument arg;
	uint32_t other;

	for (other = 0; other <= OTHER_KEY; other += OTHER_KEY) {
		uint32_t base = other ? other + shift : 0;

		for (i = 0; i < INTEGERS; i++) {
			next_is(args, &at, base + 1 + (uint32_t)i, TRAWL_VALUE_INTEGER, &arg);
			assert_int_equal(arg.integer, integers[i]);
		}
		for (i = 0; i < REALS; i++) {
			next_is(args, &at, base + 30 + (uint32_t)i, TRAWL_VALUE_REAL, &arg);
			assert_memory_equal(&arg.real, &reals[i], sizeof(double));
		}
		next_is(args, &at, base + 40, TRAWL_VALUE_TEXT, &arg);
		assert_int_equal(arg.text, 1 + shift);
		next_is(args, &at, base + 41, TRAWL_VALUE_NUMBER, &arg);
		assert_int_equal(arg.text, 0x12345678 + shift);
		next_is(args, &at, base + 42, TRAWL_VALUE_JSON, &arg);
		assert_int_equal(arg.text, 0x7fffffff + shift);
		next_is(args, &at, base + 43, TRAWL_VALUE_NULL, &arg);
		next_is(args, &at, base + 44, TRAWL_VALUE_BOOL, &arg);
		assert_int_equal(arg.integer, 0);
		next_is(args, &at, base + 45, TRAWL_VALUE_BOOL, &arg);
		assert_int_equal(arg.integer, 1);
	}
	assert_false(tw_args_next(args, &at, &arg));
}

static void test_args_round_trip(void **state)
{
	struct tw_args args = { .allocator = trawl_allocator_default() };
	uint32_t offsets[500], i;

	(void)state;
	/* Enough of them to grow the array more than once. */
	for (i = 0; i < 500; i++)
		offsets[i] = put_record(&args);
	/* 0 says that there are none. */
	assert_int_equal(offsets[0], 1);
	for (i = 0; i < 500; i++)
		check_record(&args, offsets[i], 0);
	tw_args_release(&args);
}

/* Records of every length from 1 argument on, at every alignment of their end. */
static void test_args_alignment(void **state)
{
	struct tw_args args = { .allocator = trawl_allocator_default() };
	uint32_t offsets[64], n, i;
	struct trawl_argument arg;

	(void)state;
	for (n = 1; n < 64; n++) {
		size_t start;

		put_reserve(&args);
		start = args.len;
		for (i = 0; i < n; i++) {
			put_reserve(&args);
			tw_args_put_integer(&args, 1 + i % 60,
					    i % 2 ? (int64_t)i : (int64_t)i << 20);
		}
		assert_int_equal(tw_args_end(&args, start, &offsets[n]), 0);
	}
	for (n = 1; n < 64; n++) {
		size_t at = (size_t)offsets[n] * TW_ARGS_ALIGN;

		for (i = 0; i < n; i++) {
			next_is(&args, &at, 1 + i % 60, TRAWL_VALUE_INTEGER, &arg);
			assert_int_equal(arg.integer, i % 2 ? (int64_t)i : (int64_t)i << 20);
		}
		assert_false(tw_args_next(&args, &at, &arg));
	}
	tw_args_release(&args);
}

/* Translation by a table: here one with an entry for the few ids that are used. */
static void test_args_translate(void **state)
{
	struct tw_args args = { .allocator = trawl_allocator_default() };
	static uint32_t texts[1000];
	uint32_t offsets[200], i, n;
	struct trawl_argument arg;

	(void)state;
	for (i = 0; i < 1000; i++)
		texts[i] = i < TW_KEY_COUNT ? i : 5000 - i;
	for (n = 0; n < 200; n++) {
		size_t start;

		put_reserve(&args);
		start = args.len;
		tw_args_put_text(&args, TW_KEY_dtype, TRAWL_VALUE_TEXT, 200 + n);
		put_reserve(&args);
		tw_args_put_integer(&args, 300 + n, -(int64_t)n * 1000);
		put_reserve(&args);
		tw_args_put_flag(&args, 301 + n, TRAWL_VALUE_BOOL, n % 2);
		put_reserve(&args);
		tw_args_put_flag(&args, TW_KEY_COUNT, TRAWL_VALUE_NULL, false);
		put_reserve(&args);
		tw_args_put_real(&args, 302 + n, n * 0.5);
		put_reserve(&args);
		tw_args_put_text(&args, 303 + n, TRAWL_VALUE_JSON, 400 + n);
		put_reserve(&args);
		tw_args_put_text(&args, 304 + n, TRAWL_VALUE_NUMBER, TW_KEY_ph);
		put_reserve(&args);
		assert_int_equal(tw_args_end(&args, start, &offsets[n]), 0);
	}
	tw_args_translate(&args, texts);
	for (n = 0; n < 200; n++) {
		size_t at = (size_t)offsets[n] * TW_ARGS_ALIGN;

		next_is(&args, &at, TW_KEY_dtype, TRAWL_VALUE_TEXT, &arg);
		assert_int_equal(arg.text, 4800 - n);
		next_is(&args, &at, 4700 - n, TRAWL_VALUE_INTEGER, &arg);
		assert_int_equal(arg.integer, -(int64_t)n * 1000);
		next_is(&args, &at, 4699 - n, TRAWL_VALUE_BOOL, &arg);
		assert_int_equal(arg.integer, n % 2);
		next_is(&args, &at, 5000 - TW_KEY_COUNT, TRAWL_VALUE_NULL, &arg);
		next_is(&args, &at, 4698 - n, TRAWL_VALUE_REAL, &arg);
		assert_true(arg.real == n * 0.5);
		next_is(&args, &at, 4697 - n, TRAWL_VALUE_JSON, &arg);
		assert_int_equal(arg.text, 4600 - n);
		next_is(&args, &at, 4696 - n, TRAWL_VALUE_NUMBER, &arg);
		assert_int_equal(arg.text, TW_KEY_ph);
		assert_false(tw_args_next(&args, &at, &arg));
	}
	tw_args_release(&args);
}

/* ---- tracks and categories ---- */

static void test_tracks(void **state)
{
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	uint32_t i;

	(void)state;
	for (i = 0; i < 5000; i++) {
		struct tw_track track = { i % 10, i / 10, i % 3 ? TW_CODE_NONE : i % 7, i % 5 };

		assert_int_equal(tw_trace_track(trace, &track), i);
	}
	for (i = 5000; i-- > 0;) {
		struct tw_track track = { i % 10, i / 10, i % 3 ? TW_CODE_NONE : i % 7, i % 5 };

		assert_int_equal(tw_trace_track(trace, &track), i);
		assert_memory_equal(&trace->tracks[i], &track, sizeof(track));
	}
	assert_int_equal(trace->track_count, 5000);
	/* Every one of the four counts. */
	assert_int_equal(tw_trace_track(trace, &(struct tw_track){ 9000, 1, 2, 3 }), 5000);
	assert_int_equal(tw_trace_track(trace, &(struct tw_track){ 9001, 1, 2, 3 }), 5001);
	assert_int_equal(tw_trace_track(trace, &(struct tw_track){ 9000, 2, 2, 3 }), 5002);
	assert_int_equal(tw_trace_track(trace, &(struct tw_track){ 9000, 1, 3, 3 }), 5003);
	assert_int_equal(tw_trace_track(trace, &(struct tw_track){ 9000, 1, 2, 4 }), 5004);
	assert_int_equal(tw_trace_track(trace, &(struct tw_track){ 9000, 1, 2, 3 }), 5000);
	trawl_trace_free(trace);
}

static void test_categories(void **state)
{
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	const unsigned first = TRAWL_CLASS_MEMSET + 1;
	enum trawl_class class;
	unsigned i;

	(void)state;
	/* Each class has a place from the start; names come behind those. */
	assert_int_equal(tw_trace_category(trace, 0, TRAWL_CLASS_OTHER), 0);
	assert_int_equal(tw_trace_category(trace, 500, TRAWL_CLASS_KERNEL), first);
	assert_int_equal(tw_trace_category(trace, 501, TRAWL_CLASS_CPU_OP), first + 1);
	assert_int_equal(tw_trace_category(trace, 500, TRAWL_CLASS_KERNEL), first);
	for (i = first + 2; i < TW_MAX_CATEGORIES; i++)
		assert_int_equal(tw_trace_category(trace, 1000 + i, TRAWL_CLASS_OTHER), i);
	/* Past the limit the class is kept, also one that had no name before, the name is not. */
	for (class = TRAWL_CLASS_OTHER; class <= TRAWL_CLASS_MEMSET; class ++) {
		i = tw_trace_category(trace, 70000 + class, class);
		assert_true(i < TW_MAX_CATEGORIES);
		assert_int_equal(trace->categories[i].class, class);
	}
	i = first + 2;
	assert_int_equal(tw_trace_category(trace, 1000 + i, TRAWL_CLASS_OTHER), i);
	assert_int_equal(trace->category_count, TW_MAX_CATEGORIES);
	assert_int_equal(trace->quality.kinds[TW_DEFECT_nameless_category].count,
			 TRAWL_CLASS_MEMSET + 1);
	trawl_trace_free(trace);
}

/* ---- ids ---- */

static tw_code text_code(struct trawl_trace *trace, const char *text)
{
	return tw_code_from_text(trace, text, strlen(text));
}

static void code_text_is(const struct trawl_trace *trace, tw_code code, const char *right)
{
	char buffer[24];
	size_t len;
	const char *text = tw_code_text(trace, code, buffer, &len);

	assert_int_equal(len, strlen(right));
	assert_memory_equal(text, right, len);
}

static void test_codes(void **state)
{
	static const char *const same[] = { "0",
					    "7",
					    "10",
					    "2147483647",
					    "2147483648",
					    "4294967295",
					    "4294967296",
					    "9007199254740993",
					    "9223372036854775807",
					    "-1",
					    "-9223372036854775808" };
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	size_t i;

	(void)state;
	assert_int_equal(tw_code_from_integer(trace, 0), 0);
	assert_int_equal(tw_code_from_integer(trace, 2147483647), 2147483647);
	assert_true(tw_code_from_integer(trace, 2147483648) & TW_CODE_TEXT);
	assert_true(tw_code_from_integer(trace, -1) & TW_CODE_TEXT);
	/* Equal ids have equal codes, whether they came as number or as text. */
	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		tw_code code = text_code(trace, same[i]);

		assert_int_equal(code, tw_code_from_integer(trace, strtoll(same[i], NULL, 10)));
		assert_int_not_equal(code, TW_CODE_NONE);
		code_text_is(trace, code, same[i]);
	}
	/* Another text is another id. */
	assert_true(text_code(trace, "007") & TW_CODE_TEXT);
	assert_true(text_code(trace, "00") & TW_CODE_TEXT);
	assert_true(text_code(trace, " 7") & TW_CODE_TEXT);
	assert_true(text_code(trace, "7 ") & TW_CODE_TEXT);
	assert_true(text_code(trace, "+7") & TW_CODE_TEXT);
	assert_true(text_code(trace, "7.0") & TW_CODE_TEXT);
	assert_true(text_code(trace, "stream 7") & TW_CODE_TEXT);
	assert_true(text_code(trace, "99999999999") & TW_CODE_TEXT);
	code_text_is(trace, text_code(trace, "007"), "007");
	code_text_is(trace, TW_CODE_NONE, "");
	trawl_trace_free(trace);
}

/* Numbers by value, then texts by their bytes; in this list each is less than all behind it. */
static void test_code_order(void **state)
{
	static const char *const order[] = { "-18446744073709551616",
					     "-9223372036854775808",
					     "-123",
					     "-9",
					     "-1",
					     "0",
					     "1",
					     "2",
					     "10",
					     "99",
					     "2147483647",
					     "2147483648",
					     "4294967295",
					     "10000000000",
					     "9223372036854775807",
					     "18446744073709551615",
					     "100000000000000000000000",
					     "-",
					     "1.5",
					     "10.5",
					     "Trace",
					     "a",
					     "aa",
					     "b",
					     "stream 10",
					     "stream 7" };
	const int count = sizeof(order) / sizeof(order[0]);
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	tw_code codes[sizeof(order) / sizeof(order[0])];
	int i, j;

	(void)state;
	for (i = count; i-- > 0;)
		codes[i] = text_code(trace, order[i]);
	for (i = 0; i < count; i++) {
		for (j = 0; j < count; j++) {
			int got = tw_code_compare(trace, codes[i], codes[j]);

			if ((got > 0) - (got < 0) != (i > j) - (i < j))
				print_error("'%s' and '%s': %d\n", order[i], order[j], got);
			assert_int_equal((got > 0) - (got < 0), (i > j) - (i < j));
		}
	}
	trawl_trace_free(trace);
}

/* ---- columns ---- */

/* An event with values made of `n`, so that every one can be told; texts by `tag`. */
static void add_event(struct trawl_trace *trace, uint32_t n, const char *tag)
{
	struct tw_events *events = &trace->events;
	char text[32];
	uint64_t i;
	uint32_t name;
	tw_code odd;

	snprintf(text, sizeof(text), "%s name %u", tag, n);
	name = tw_pool_intern_cstr(&trace->texts, text);
	snprintf(text, sizeof(text), "%s id %u", tag, n % 3);
	odd = tw_code_from_text(trace, text, strlen(text));
	assert_int_equal(tw_events_grow(trace), 0);
	i = events->count++;
	events->start_ns[i] = (int64_t)n * 1000000007;
	events->dur_ns[i] = n % 5 ? (int64_t)n : TRAWL_TIME_NONE;
	events->name[i] = name;
	events->track[i] = tw_trace_track(trace, &(struct tw_track){ odd, n % 4, TW_CODE_NONE, 7 });
	events->correlation[i] = n % 2 ? odd : n;
	events->external[i] = n % 3 ? TW_CODE_NONE : odd;
	events->category[i] = (uint16_t)tw_trace_category(
		trace, tw_pool_intern_cstr(&trace->texts, n % 2 ? "kernel" : tag),
		n % 2 ? TRAWL_CLASS_KERNEL : TRAWL_CLASS_OTHER);
	events->phase[i] = (uint8_t)('A' + n % 26);
	events->args[i] = 0;
	if (n % 4) {
		uint32_t key = tw_pool_intern_cstr(&trace->texts, tag);
		size_t start;

		assert_int_equal(tw_args_reserve(&trace->args, 64), 0);
		start = trace->args.len;
		tw_args_put_text(&trace->args, key, TRAWL_VALUE_TEXT, name);
		tw_args_put_integer(&trace->args, TW_KEY_bytes, n);
		assert_int_equal(tw_args_end(&trace->args, start, &events->args[i]), 0);
	}
}

static void check_event(const struct trawl_trace *trace, uint64_t i, uint32_t n, const char *tag)
{
	const struct tw_events *events = &trace->events;
	const struct tw_track *track = &trace->tracks[events->track[i]];
	const struct tw_category *category = &trace->categories[events->category[i]];
	char name[32], odd[32], digits[32];
	struct trawl_argument arg;

	snprintf(name, sizeof(name), "%s name %u", tag, n);
	snprintf(odd, sizeof(odd), "%s id %u", tag, n % 3);
	snprintf(digits, sizeof(digits), "%u", n);
	assert_int_equal(events->start_ns[i], (int64_t)n * 1000000007);
	assert_int_equal(events->dur_ns[i], n % 5 ? (int64_t)n : TRAWL_TIME_NONE);
	assert_string_equal(tw_pool_text(&trace->texts, events->name[i], NULL), name);
	code_text_is(trace, track->pid, odd);
	assert_int_equal(track->tid, n % 4);
	assert_int_equal(track->device, TW_CODE_NONE);
	assert_int_equal(track->stream, 7);
	code_text_is(trace, events->correlation[i], n % 2 ? odd : digits);
	code_text_is(trace, events->external[i], n % 3 ? "" : odd);
	assert_string_equal(tw_pool_text(&trace->texts, category->name, NULL),
			    n % 2 ? "kernel" : tag);
	assert_int_equal(category->class, n % 2 ? TRAWL_CLASS_KERNEL : TRAWL_CLASS_OTHER);
	assert_int_equal(events->phase[i], 'A' + n % 26);
	assert_int_equal(events->args[i] != 0, n % 4 != 0);
	if (!(n % 4))
		return;
	assert_true(trawl_event_argument(trace, i, tw_pool_find(&trace->texts, tag, strlen(tag)),
					 &arg));
	assert_int_equal(arg.kind, TRAWL_VALUE_TEXT);
	assert_string_equal(tw_pool_text(&trace->texts, arg.text, NULL), name);
	assert_true(trawl_event_argument(trace, i, TW_KEY_bytes, &arg));
	assert_int_equal(arg.integer, n);
	assert_false(trawl_event_argument(trace, i, TW_KEY_dtype, &arg));
}

static struct trawl_trace *trace_of(uint32_t first, uint32_t count, const char *tag,
				    const struct trawl_allocator *allocator)
{
	struct trawl_trace *trace = tw_trace_new(allocator);
	uint32_t n;

	assert_non_null(trace);
	/* The ids of the two parts shall not agree by chance. */
	tw_pool_intern_cstr(&trace->texts, tag);
	for (n = first; n < first + count; n++)
		add_event(trace, n, tag);
	return trace;
}

static void append_and_check(uint32_t count_a, uint32_t count_b)
{
	struct trawl_trace *a = trace_of(0, count_a, "first", trawl_allocator_default());
	struct trawl_trace *b = trace_of(100000, count_b, "second", trawl_allocator_default());
	uint32_t i;

	assert_int_equal(tw_trace_append(a, b), 0);
	assert_int_equal(a->events.count, count_a + count_b);
	for (i = 0; i < count_a; i++)
		check_event(a, i, i, "first");
	for (i = 0; i < count_b; i++)
		check_event(a, count_a + i, 100000 + i, "second");
	/* And goes on as one. */
	add_event(a, 200000, "third");
	check_event(a, count_a + count_b, 200000, "third");
	trawl_trace_free(a);
}

static void test_append(void **state)
{
	(void)state;
	append_and_check(10, 10);
	append_and_check(1, 1);
	append_and_check(0, 10);
	append_and_check(10, 0);
	append_and_check(0, 0);
	append_and_check(20000, 3);
	append_and_check(3, 20000);
	append_and_check(16384, 16384);
	append_and_check(17000, 40000);
}

static void test_append_several(void **state)
{
	struct trawl_trace *trace = trace_of(0, 100, "first", trawl_allocator_default());
	uint32_t part, i;

	(void)state;
	for (part = 1; part < 10; part++)
		assert_int_equal(tw_trace_append(trace, trace_of(100 * part, 100,
								 part % 2 ? "odd" : "even",
								 trawl_allocator_default())),
				 0);
	assert_int_equal(trace->events.count, 1000);
	for (i = 0; i < 1000; i++)
		check_event(trace, i, i, i < 100 ? "first" : i / 100 % 2 ? "odd" : "even");
	trawl_trace_free(trace);
}

/* Fields beside the events and the record of defects are joined too. */
static void test_append_rest(void **state)
{
	struct trawl_trace *a = trace_of(0, 10, "first", trawl_allocator_default());
	struct trawl_trace *b = trace_of(10, 10, "second", trawl_allocator_default());
	size_t len;

	(void)state;
	tw_trace_add_field(a, tw_pool_intern_cstr(&a->texts, "schemaVersion"),
			   tw_pool_intern_cstr(&a->texts, "1"));
	tw_trace_add_field(b, tw_pool_intern_cstr(&b->texts, "traceName"),
			   tw_pool_intern_cstr(&b->texts, "\"x\""));
	tw_quality_add(&a->quality, TW_DEFECT_bad_escape, 2, 50, 3);
	tw_quality_add(&b->quality, TW_DEFECT_bad_escape, 3, 500, 4);
	tw_quality_add(&b->quality, TW_DEFECT_bad_utf8, 1, 600, 5);
	tw_quality_add(&b->quality, TW_DEFECT_extra_comma, 1, 700, -1);
	assert_int_equal(tw_trace_append(a, b), 0);
	assert_string_equal(tw_trace_field(a, "schemaVersion", &len), "1");
	assert_string_equal(tw_trace_field(a, "traceName", &len), "\"x\"");
	assert_int_equal(len, 3);
	assert_null(tw_trace_field(a, "other", &len));
	assert_null(tw_trace_field(a, "first", &len));
	assert_int_equal(a->quality.kinds[TW_DEFECT_bad_escape].count, 5);
	assert_int_equal(a->quality.kinds[TW_DEFECT_bad_escape].offset, 50);
	assert_int_equal(a->quality.kinds[TW_DEFECT_bad_escape].event, 3);
	assert_int_equal(a->quality.kinds[TW_DEFECT_bad_utf8].count, 1);
	assert_int_equal(a->quality.kinds[TW_DEFECT_bad_utf8].offset, 600);
	assert_int_equal(a->quality.kinds[TW_DEFECT_bad_utf8].event, 15);
	assert_int_equal(a->quality.kinds[TW_DEFECT_extra_comma].offset, 700);
	assert_int_equal(a->quality.kinds[TW_DEFECT_extra_comma].event, -1);
	trawl_trace_free(a);
}

/* A part with more categories than one trace can hold keeps the classes of its events. */
static void test_append_categories(void **state)
{
	struct trawl_trace *a = tw_trace_new(trawl_allocator_default());
	struct trawl_trace *b = tw_trace_new(trawl_allocator_default());
	struct trawl_trace *parts[2] = { a, b };
	char text[32];
	uint32_t part, i;

	(void)state;
	for (part = 0; part < 2; part++) {
		for (i = 0; i < 250; i++) {
			enum trawl_class class = i % 5 ? TRAWL_CLASS_OTHER : TRAWL_CLASS_KERNEL;

			snprintf(text, sizeof(text), "category %u of %u", i, part);
			add_event(parts[part], 1, "x");
			parts[part]->events.category[i] = (uint16_t)tw_trace_category(
				parts[part], tw_pool_intern_cstr(&parts[part]->texts, text), class);
		}
	}
	assert_int_equal(tw_trace_append(a, b), 0);
	for (i = 0; i < 500; i++)
		assert_int_equal(tw_class(a, i),
				 i % 250 % 5 ? TRAWL_CLASS_OTHER : TRAWL_CLASS_KERNEL);
	trawl_trace_free(a);
}

/* Whatever allocation fails: an error, and nothing leaks. */
static void test_append_out_of_memory(void **state)
{
	struct failing failing;
	long n;

	(void)state;
	for (n = 0; n < 40; n++) {
		struct trawl_trace *a, *b;
		int status;

		failing_init(&failing, -1);
		a = trace_of(0, 16384, "first", &failing.allocator);
		b = trace_of(5, 9000, "second", &failing.allocator);
		failing.left = n;
		status = tw_trace_append(a, b);
		assert_int_equal(status, failing.failed ? -1 : 0);
		trawl_trace_free(a);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_in_range(n, 3, 39);
}

/* Of a key that is there twice the last one counts. */
static void test_arg_twice(void **state)
{
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	struct trawl_argument arg;
	size_t start;

	(void)state;
	add_event(trace, 4, "x");
	assert_false(trawl_event_argument(trace, 0, TW_KEY_rank, &arg));
	assert_int_equal(tw_args_reserve(&trace->args, 64), 0);
	start = trace->args.len;
	tw_args_put_integer(&trace->args, TW_KEY_rank, 1);
	tw_args_put_integer(&trace->args, TW_KEY_bytes, 2);
	tw_args_put_integer(&trace->args, TW_KEY_rank, 3);
	assert_int_equal(tw_args_end(&trace->args, start, &trace->events.args[0]), 0);
	assert_true(trawl_event_argument(trace, 0, TW_KEY_rank, &arg));
	assert_int_equal(arg.integer, 3);
	trawl_trace_free(trace);
}

/* ---- the record ---- */

static void test_quality(void **state)
{
	struct trawl_defect list[TW_DEFECT_COUNT];
	struct tw_quality quality;

	(void)state;
	tw_quality_init(&quality);
	assert_int_equal(tw_quality_list(&quality, list), 0);
	assert_false(tw_quality_lost(&quality));
	tw_quality_add(&quality, TW_DEFECT_not_an_event, 1, 900, 9);
	tw_quality_add(&quality, TW_DEFECT_extra_comma, 2, 70, -1);
	tw_quality_add(&quality, TW_DEFECT_extra_comma, 3, 80, -1);
	tw_quality_add(&quality, TW_DEFECT_bad_escape, 0, 10, 1);
	tw_quality_add(&quality, TW_DEFECT_overflow, 1, 60, 6);
	/* An earlier event found later. */
	tw_quality_add(&quality, TW_DEFECT_overflow, 1, 50, 5);
	tw_quality_add(&quality, TW_DEFECT_overflow, 1, 80, 8);
	assert_false(tw_quality_lost(&quality));
	tw_quality_add(&quality, TW_DEFECT_truncated, 1, 1000, -1);
	assert_true(tw_quality_lost(&quality));
	assert_int_equal(tw_quality_list(&quality, list), 4);
	assert_string_equal(list[0].kind, "truncated");
	assert_int_equal(list[0].severity, TRAWL_LOST);
	assert_string_equal(list[1].kind, "overflow");
	assert_int_equal(list[1].severity, TRAWL_DEFECT);
	assert_int_equal(list[1].count, 3);
	assert_int_equal(list[1].offset, 50);
	assert_int_equal(list[1].event, 5);
	assert_string_equal(list[2].kind, "extra_comma");
	assert_int_equal(list[2].count, 5);
	assert_int_equal(list[2].offset, 70);
	assert_int_equal(list[2].event, -1);
	assert_string_equal(list[3].kind, "not_an_event");
	assert_int_equal(list[3].severity, TRAWL_NOTE);
	assert_string_equal(trawl_severity_name(TRAWL_LOST), "lost");
	assert_string_equal(trawl_severity_name(TRAWL_DEFECT), "defect");
	assert_string_equal(trawl_severity_name(TRAWL_REPAIR), "repair");
	assert_string_equal(trawl_severity_name(TRAWL_NOTE), "note");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_ids),
		cmocka_unit_test(test_pool_growth),
		cmocka_unit_test(test_pool_long_text),
		cmocka_unit_test(test_pool_out_of_memory),
		cmocka_unit_test(test_keys_first),
		cmocka_unit_test(test_args_round_trip),
		cmocka_unit_test(test_args_alignment),
		cmocka_unit_test(test_args_translate),
		cmocka_unit_test(test_tracks),
		cmocka_unit_test(test_categories),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_code_order),
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_append_several),
		cmocka_unit_test(test_append_rest),
		cmocka_unit_test(test_append_categories),
		cmocka_unit_test(test_append_out_of_memory),
		cmocka_unit_test(test_arg_twice),
		cmocka_unit_test(test_quality),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
