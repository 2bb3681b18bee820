/*
 * A large file read by several threads says what it says to one: events, ids, arguments, the
 * record with its places; also where the text misleads about where events begin.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "instrumented.h"
#include "scratch.h"
#include "trace/reader.h"
#include "traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct scratch scratch;

static int make_scratch(void **state)
{
	(void)state;
	scratch_make(&scratch);
	return 0;
}

static int remove_scratch(void **state)
{
	(void)state;
	scratch_remove(&scratch);
	return 0;
}

/* ---- files ---- */

/*
 * Parts are of 8 MB at least: five and three of them; three and two.  Where nothing else depends on
 * their size, the reader is asked for smaller ones of a smaller file, as many of them; the long run
 * has the large ones everywhere.
 */
#define LARGE_FILE ((UNDER_TSAN ? 25l : 40l) << 20)
#define LARGE_PART (8l << 20)

static long shrink; /* how many times files and parts are smaller */

#define FILE_BYTES (LARGE_FILE / shrink)
#define SMALLER_BYTES (((UNDER_TSAN ? 17l : 25l) << 20) / shrink)

/* What is odd in a file. */
enum odd {
	PLAIN = 0,
	LOOKALIKES = 1, /* objects in arguments that begin as events do */
	DAMAGE = 2,	/* of all kinds, every few hundred events */
	HUGE_EVENT = 4, /* of more than one part, full of lookalikes, in the middle */
	MARK = 8,	/* a byte order mark in front */
	BARE = 16,	/* a list alone, without its end */
};

/* Every kind comes at least once in the smaller file, too. */
#define DAMAGE_EVERY (499u / (uint32_t)shrink)
#define DAMAGE_KINDS 8u

/* Between events i - 1 and i. */
static void write_damage(FILE *file, uint32_t i)
{
	switch (i / DAMAGE_EVERY % DAMAGE_KINDS) {
	case 0:
		/* Missing comma. */
		return;
	case 1:
		fputs(",,", file);
		return;
	case 2:
		fputs(",\n@@@ no JSON\n", file);
		return;
	case 3:
		fputs(",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"cut off,\n", file);
		return;
	case 4:
		fputs(",null,", file);
		return;
	case 5:
		fputs(",\n{\"ph\":\"X\",\"ts\":x},", file);
		return;
	case 6:
		fputs(",\n{\"ph\":\"M\",\"name\":\"say \"hi\" now\",\"pid\":1},", file);
		return;
	default:
		fputs(",\n{\"ph\":\"M\",\"name\":\"\xff\",\"args\":{\"x\":NaN,\"y\":[...]}},",
		      file);
	}
}

static void write_event(FILE *file, uint32_t i, bool lookalikes)
{
	fprintf(file, "\n  {\n    \"ph\": \"%s\", ", i % 7 == 4 ? "s" : i % 7 == 5 ? "M" : "X");
	switch (i % 7) {
	case 0:
		fprintf(file, "\"cat\": \"cpu_op\", \"name\": \"aten::op%u\"", i % 97);
		break;
	case 1:
		fputs("\"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\"", file);
		break;
	case 2:
		fprintf(file, "\"cat\": \"kernel\", \"name\": \"void kernel<%u>(float*)\"",
			i % 1009);
		break;
	case 3:
		fprintf(file, "\"cat\": \"python_function\", \"name\": \"file%u.py(%u): f\"",
			i % 31, i);
		break;
	case 4:
		fprintf(file, "\"id\": %u, \"cat\": \"ac2g\", \"name\": \"ac2g\"", i);
		break;
	case 5:
		fprintf(file, "\"name\": \"thread_name\"");
		break;
	default:
		fprintf(file,
			"\"cat\": \"category %u\", \"name\": \",{\\\"ph\\\":\\\"X\\\"} \\u00e9\"",
			i % 40);
	}
	fprintf(file, ", \"pid\": %s%u%s, \"tid\": %llu,\n    \"ts\": %u.%03u, \"dur\": %u",
		i % 3 ? "" : "\"p", i % 11, i % 3 ? "" : "\"", 4294967290ull + i % 13, i * 10,
		i % 1000, i % 50);
	fputs(",\n    \"args\": {\n      ", file);
	if (i % 7 == 1 || i % 7 == 2)
		fprintf(file, "\"correlation\": %llu, \"stream\": %u, \"device\": 0, ",
			9007199254740992ull + i, i % 5);
	if (lookalikes && i % 2)
		fprintf(file,
			"\"frames\": [{\"name\": \"f%u\", \"ts\": 1}, {\"ph\": \"X\", \"cat\": \"kernel\""
			", \"name\": \"no event\", \"ts\": 1, \"dur\": 1}, 5,\n{\"pid\":1,\"tid\":2}], ",
			i);
	fprintf(file, "\"External id\": %u, \"Input Dims\": [[%u, 2], []], \"key %u\": %u.5, ", i,
		i % 17, i % 200, i);
	fprintf(file, "\"text\": \"%u\", \"yes\": true\n    }\n  }", i % 5000);
}

/* One event of 14 MB, if parts are not smaller, in which every list holds what looks like events. */
static void write_huge_event(FILE *file)
{
	uint32_t n;

	fputs("\n{\"ph\":\"M\",\"name\":\"huge\",\"args\":{\"list\":[0", file);
	for (n = 0; n < 200000 / shrink; n++)
		fputs(",{\"ph\":\"X\",\"name\":\"no event\",\"ts\":1,\"dur\":2},[\"x\"]", file);
	fputs("]}},", file);
}

/* Writes the file, says how many events it has besides those of the damage. */
static uint32_t write_file(const char *name, unsigned odd, long bytes)
{
	FILE *file = fopen(scratch_path(&scratch, name), "wb");
	uint32_t i = 0;
	bool huge = odd & HUGE_EVENT;

	assert_non_null(file);
	if (odd & MARK)
		fputs("\xef\xbb\xbf", file);
	if (odd & BARE)
		fputs("[", file);
	else
		fputs("{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 5},\n \"traceEvents\": [",
		      file);
	for (; ftell(file) < bytes; i++) {
		if (i && odd & DAMAGE && i % DAMAGE_EVERY == 0)
			write_damage(file, i);
		else if (i)
			fputc(',', file);
		if (huge && ftell(file) > bytes / 3) {
			write_huge_event(file);
			huge = false;
		}
		write_event(file, i, odd & LOOKALIKES);
	}
	if (!(odd & BARE))
		fputs("\n  ], \"traceName\": \"end\"\n}\n", file);
	assert_int_equal(fclose(file), 0);
	return i;
}

/* The parts that the file has by itself, were parts and file not smaller. */
static size_t part_of(const char *name, unsigned threads)
{
	struct stat st;
	int64_t parts;

	if (shrink == 1)
		return 0;
	assert_int_equal(stat(scratch_path(&scratch, name), &st), 0);
	parts = st.st_size / (LARGE_PART / shrink);
	return (size_t)(st.st_size / (parts < threads ? parts : threads)) - 64;
}

static struct trawl_trace *read_file(const char *name, unsigned threads, size_t block_size)
{
	const struct trawl_read_options options = { .threads = threads,
						    .block_size = block_size,
						    .part_size = part_of(name, threads) };
	struct trawl_error err = { 0 };
	struct trawl_trace *trace;

	if (trawl_trace_read(&trace, scratch_path(&scratch, name), &options, &err))
		print_error("%s\n", err.message);
	assert_non_null(trace);
	return trace;
}

/* ---- comparison ---- */

/* Event `at` of the trace is event i of write_event(). */
static void check_event(const struct trawl_trace *trace, uint64_t at, uint32_t i)
{
	const struct tw_events *e = &trace->events;
	char text[64], buffer[24];
	struct trawl_argument arg;
	size_t len;

	assert_int_equal(e->start_ns[at], (int64_t)i * 10000 + i % 1000);
	assert_int_equal(e->dur_ns[at], i % 50 * 1000);
	assert_int_equal(e->phase[at], "XXXXsMX"[i % 7]);
	snprintf(text, sizeof(text), "key %u", i % 200);
	assert_true(trawl_event_argument(trace, at, tw_pool_find(&trace->texts, text, strlen(text)),
					 &arg));
	assert_true(arg.real == i + 0.5);
	snprintf(text, sizeof(text), "%u", i % 5000);
	assert_true(trawl_event_argument(trace, at, tw_pool_find(&trace->texts, "text", 4), &arg));
	assert_string_equal(tw_pool_text(&trace->texts, arg.text, NULL), text);
	snprintf(text, sizeof(text), "%u", i);
	assert_string_equal(tw_code_text(trace, e->external[at], buffer, &len), i ? text : "");
	if (i % 7 == 1 || i % 7 == 2)
		snprintf(text, sizeof(text), "%llu", 9007199254740992ull + i);
	else if (i % 7 != 4)
		text[0] = 0;
	assert_string_equal(tw_code_text(trace, e->correlation[at], buffer, &len), text);
}

static void check_threads(const char *name, const struct trawl_trace *one)
{
	static const struct {
		unsigned threads;
		size_t block_size;
	} ways[] = { { 2, 0 }, { 4, 4096 }, { 8, 0 } };
	/* A smaller file has no more than three parts. */
	size_t count = one->bytes < FILE_BYTES ? 2 : sizeof(ways) / sizeof(ways[0]), i;

	for (i = UNDER_TSAN; i < count; i++) {
		struct trawl_trace *trace = read_file(name, ways[i].threads, ways[i].block_size);

		assert_same_trace(one, trace, name);
		trawl_trace_free(trace);
	}
}

static int64_t count_of(const struct trawl_trace *trace, enum tw_defect kind)
{
	return trace->quality.kinds[kind].count;
}

/* Writes a file with only whole events, and compares what all ways to read it give. */
static void check_file(unsigned odd, long bytes, size_t defects)
{
	uint32_t count = write_file("trace.json", odd, bytes), i;
	struct trawl_trace *one = read_file("trace.json", 1, 0);
	uint64_t at;

	assert_int_equal(one->events.count, count + !!(odd & HUGE_EVENT));
	for (at = i = 0; at < one->events.count; at++) {
		if (strcmp(tw_pool_text(&one->texts, one->events.name[at], NULL), "huge"))
			check_event(one, at, i++);
	}
	assert_int_equal(i, count);
	assert_int_equal(one->rank, odd & BARE ? -1 : 5);
	assert_int_equal(one->field_count, odd & BARE ? 0 : 3);
	assert_int_equal(trawl_trace_defects(one), defects);
	check_threads("trace.json", one);
	trawl_trace_free(one);
}

static void test_plain(void **state)
{
	struct trawl_trace *trace;

	(void)state;
	check_file(PLAIN, FILE_BYTES, 0);
	trace = read_file("trace.json", 3, 0);
	assert_int_equal(trace->parts, 2);
	trawl_trace_free(trace);
}

static void test_lookalikes(void **state)
{
	(void)state;
	check_file(LOOKALIKES, SMALLER_BYTES, 0);
}

static void test_huge_event(void **state)
{
	(void)state;
	check_file(LOOKALIKES | HUGE_EVENT, SMALLER_BYTES, 0);
}

static void test_bare_list(void **state)
{
	(void)state;
	check_file(BARE, SMALLER_BYTES, 0);
}

static void test_byte_order_mark(void **state)
{
	(void)state;
	check_file(MARK, SMALLER_BYTES, 1);
}

static void test_damage(void **state)
{
	uint32_t count = write_file("trace.json", LOOKALIKES | DAMAGE, FILE_BYTES), i, places;
	uint32_t kinds[DAMAGE_KINDS] = { 0 };
	struct trawl_trace *one = read_file("trace.json", 1, 0);
	uint64_t at;

	(void)state;
	for (places = 1; places <= (count - 1) / DAMAGE_EVERY; places++)
		kinds[places % DAMAGE_KINDS]++;
	assert_int_equal(count_of(one, TW_DEFECT_missing_comma), kinds[0]);
	assert_int_equal(count_of(one, TW_DEFECT_extra_comma), kinds[1]);
	assert_int_equal(count_of(one, TW_DEFECT_unreadable_stretch), kinds[2]);
	assert_int_equal(count_of(one, TW_DEFECT_unreadable_event), kinds[3] + kinds[5]);
	assert_int_equal(count_of(one, TW_DEFECT_not_an_event), kinds[4]);
	assert_int_equal(count_of(one, TW_DEFECT_unescaped_quote), kinds[6]);
	assert_int_equal(count_of(one, TW_DEFECT_bad_utf8), kinds[7]);
	assert_int_equal(count_of(one, TW_DEFECT_not_a_number), kinds[7]);
	assert_int_equal(count_of(one, TW_DEFECT_malformed_value), kinds[7]);
	assert_int_equal(trawl_trace_defects(one), 9);
	assert_int_equal(one->events.count, count + kinds[4] + kinds[6] + kinds[7]);
	for (at = i = 0; at < one->events.count; at++) {
		const char *name = tw_pool_text(&one->texts, one->events.name[at], NULL);

		if (*name && strcmp(name, "say \"hi\" now") && strcmp(name, "\xef\xbf\xbd"))
			check_event(one, at, i++);
	}
	assert_int_equal(i, count);
	check_threads("trace.json", one);
	trawl_trace_free(one);
}

/* The file ends in the middle of an event; another one behind it; nothing but one event. */
static void test_ends(void **state)
{
	uint32_t count = write_file("trace.json", BARE, SMALLER_BYTES);
	FILE *file = fopen(scratch_path(&scratch, "trace.json"), "ab");
	struct trawl_trace *one;

	(void)state;
	assert_non_null(file);
	fputs(",{\"ph\":\"X\",\"name\":\"cut", file);
	assert_int_equal(fclose(file), 0);
	one = read_file("trace.json", 1, 0);
	assert_int_equal(one->events.count, count);
	assert_int_equal(count_of(one, TW_DEFECT_truncated), 1);
	check_threads("trace.json", one);
	trawl_trace_free(one);

	write_file("trace.json", PLAIN, SMALLER_BYTES);
	file = fopen(scratch_path(&scratch, "trace.json"), "ab");
	assert_non_null(file);
	fputs("{\"traceEvents\":[{\"ph\":\"X\"}]}", file);
	assert_int_equal(fclose(file), 0);
	one = read_file("trace.json", 1, 0);
	assert_int_equal(count_of(one, TW_DEFECT_second_document), 1);
	check_threads("trace.json", one);
	trawl_trace_free(one);
}

/* The list is a small part of the file, or all of it is behind the list. */
static void test_list_ends_early(void **state)
{
	FILE *file = fopen(scratch_path(&scratch, "trace.json"), "wb");
	const uint32_t count = 60000u / (uint32_t)shrink;
	struct trawl_trace *one;
	uint32_t i;

	(void)state;
	assert_non_null(file);
	fputs("{\"traceEvents\":[", file);
	for (i = 0; i < count; i++) {
		if (i)
			fputc(',', file);
		write_event(file, i, false);
	}
	fputs("],\"more\":[{}", file);
	for (i = 0; i < 400000u / (uint32_t)shrink; i++)
		fputs(",\n{\"ph\":\"X\",\"name\":\"no event\",\"ts\":1,\"dur\":2}", file);
	fputs("],\"traceName\":\"x\"}", file);
	assert_int_equal(fclose(file), 0);
	one = read_file("trace.json", 1, 0);
	assert_int_equal(one->events.count, count);
	assert_int_equal(trawl_trace_defects(one), 0);
	for (i = 0; i < count; i++)
		check_event(one, i, i);
	check_threads("trace.json", one);
	trawl_trace_free(one);
}

/*
 * A file for two threads whose parts meet at a chosen place: `odd` in a row of events, moved along
 * in front of the place where the second thread begins to look.
 */
static void check_seam(const char *odd, size_t event_count)
{
	static const char event[] =
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"tid\":1,"
		"\"ts\":5,\"dur\":1},\n";
	const long half = LARGE_PART / shrink + 4096, end = 2 * half + 1;
	size_t step = strlen(odd) / 5 + 1, shift;

	for (shift = 0; shift <= strlen(odd) + 8; shift += step) {
		FILE *file = fopen(scratch_path(&scratch, "seam.json"), "wb");
		struct trawl_trace *one, *two;
		uint64_t count = 0;

		assert_non_null(file);
		fputc('[', file);
		for (; ftell(file) < half - (long)shift - 300; count++)
			fputs(event, file);
		fprintf(file, "%*s", (int)(half - (long)shift - ftell(file)), "");
		fputs(odd, file);
		count += event_count;
		for (; ftell(file) < end - 300; count++)
			fputs(event, file);
		fprintf(file, "%*s{}]", (int)(end - 3 - ftell(file)), "");
		assert_int_equal(ftell(file), end);
		assert_int_equal(fclose(file), 0);
		one = read_file("seam.json", 1, 0);
		two = read_file("seam.json", 2, 0);
		if (one->events.count != count + 1)
			print_error("%s at -%zu\n", odd, shift);
		assert_int_equal(one->events.count, count + 1);
		assert_same_trace(one, two, odd);
		trawl_trace_free(one);
		trawl_trace_free(two);
	}
}

static void test_seams(void **state)
{
	(void)state;
	check_seam("{\"ph\":\"X\",\"name\":\"cut {\"ph\":\"X\",\n", 0);
	check_seam(
		"{\"ph\":\"M\",\"name\":\"whole\",\"args\":{\"a\":[{\"ph\":\"X\"},{\"ts\":1}]}},\n",
		1);
	check_seam("{\"ph\":\"M\",\"name\":\"a\"},,{\"ph\":\"M\",\"name\":\"b\"}{\"ph\":\"M\"},,\n",
		   3);
	check_seam("{\"ph\":\"M\",\"name\":\"a \"b\", {c\"},\"x\",@@ {\"no\":1},{\"ph\":1},}\n", 3);
}

/* Another file takes the name while the parts are read: none of it gets in. */
static void test_file_is_replaced(void **state)
{
	const struct trawl_read_options read = { .allocator = trawl_allocator_default(),
						 .threads = 3 };
	const struct tw_feed_options options = { .allocator = trawl_allocator_default(),
						 .end = -1 };
	struct trawl_trace *one, *two = tw_trace_new(trawl_allocator_default());
	struct tw_feed *feed;
	char *to;

	(void)state;
	write_file("replaced.json", PLAIN, SMALLER_BYTES);
	write_file("replacing.json", LOOKALIKES, SMALLER_BYTES);
	one = read_file("replaced.json", 1, 0);
	to = strdup(scratch_path(&scratch, "replaced.json"));
	assert_non_null(to);
	assert_int_equal(tw_feed_open(&feed, to, &options, NULL), 0);
	assert_int_equal(rename(scratch_path(&scratch, "replacing.json"), to), 0);
	assert_int_equal(tw_kineto_read(two, feed, &read, NULL), 0);
	assert_int_equal(tw_trace_finish(two), 0);
	assert_same_trace(one, two, "replaced");
	trawl_trace_free(one);
	trawl_trace_free(two);
	free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_lookalikes),
		cmocka_unit_test(test_huge_event),
		cmocka_unit_test(test_bare_list),
		cmocka_unit_test(test_byte_order_mark),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_list_ends_early),
		cmocka_unit_test(test_seams),
		cmocka_unit_test(test_file_is_replaced),
	};

	const struct CMUnitTest large[] = { cmocka_unit_test(test_plain) };
	int failed;

	shrink = 1;
	failed = full_run() ? cmocka_run_group_tests(tests, make_scratch, remove_scratch) :
			      cmocka_run_group_tests(large, make_scratch, remove_scratch);
	shrink = 32;
	return failed + cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
