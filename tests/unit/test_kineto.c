/* The Kineto reader on text as it should be: every field of an event, however it is laid out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "traces.h"

static struct trawl_trace *read_all(const char *text)
{
	return trace_in_blocks(text, strlen(text));
}

/* A list of these events alone. */
static struct trawl_trace *events(const char *text)
{
	struct tw_str all;
	struct trawl_trace *trace;

	tw_str_init(&all, trawl_allocator_default());
	tw_str_addf(&all, "{\"traceEvents\": [%s]}", text);
	trace = read_all(all.ptr);
	tw_str_release(&all);
	return trace;
}

static void every_field_has_its_column(void **state)
{
	struct trawl_trace *t = events(
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm<float>\", \"pid\": 3, "
		"\"tid\": 7,"
		" \"ts\": 1716239022123456.789, \"dur\": 12.5,"
		" \"args\": {\"device\": 2, \"stream\": 20, \"correlation\": 99, \"External id\": "
		"44,"
		" \"grid\": [1, 2, 3], \"occupancy\": 0.5, \"queued\": 0, \"kind\": \"a\\nb\","
		" \"yes\": true, \"no\": false, \"none\": null, \"less\": -70000,"
		" \"much\": 123456789012, \"more\": 12345678901234567890, \"inner\": {\"x\": "
		"[1]}}},\n"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":10,\"ts\":5,"
		"\"dur\":6,\"args\":{}}");
	const struct tw_track *track = &t->tracks[t->events.track[0]];

	assert_kinds(t, 0);
	assert_int_equal(t->events.count, 2);
	assert_int_equal(t->events.phase[0], 'X');
	assert_int_equal(tw_class(t, 0), TRAWL_CLASS_KERNEL);
	assert_string_equal(name_of(t, 0), "gemm<float>");
	assert_true(t->events.start_ns[0] == 1716239022123456789);
	assert_int_equal(t->events.dur_ns[0], 12500);
	assert_int_equal(track->pid, 3);
	assert_int_equal(track->tid, 7);
	assert_int_equal(track->device, 2);
	assert_int_equal(track->stream, 20);
	assert_int_equal(t->events.correlation[0], 99);
	assert_int_equal(t->events.external[0], 44);
	assert_string_equal(arg_of(t, 0, "device"), "2");
	assert_string_equal(arg_of(t, 0, "grid"), "[1, 2, 3]");
	assert_string_equal(arg_of(t, 0, "occupancy"), "0.5");
	assert_string_equal(arg_of(t, 0, "queued"), "0");
	assert_string_equal(arg_of(t, 0, "kind"), "a\nb");
	assert_string_equal(arg_of(t, 0, "yes"), "true");
	assert_string_equal(arg_of(t, 0, "no"), "false");
	assert_string_equal(arg_of(t, 0, "none"), "null");
	assert_string_equal(arg_of(t, 0, "less"), "-70000");
	assert_string_equal(arg_of(t, 0, "much"), "123456789012");
	assert_string_equal(arg_of(t, 0, "more"), "12345678901234567890");
	assert_string_equal(arg_of(t, 0, "inner"), "{\"x\": [1]}");
	/* The link ids have columns of their own. */
	assert_null(arg_of(t, 0, "correlation"));
	assert_null(arg_of(t, 0, "External id"));
	assert_null(arg_of(t, 0, "no such"));
	track = &t->tracks[t->events.track[1]];
	assert_int_equal(track->pid, 9);
	assert_true(track->device == TW_CODE_NONE && track->stream == TW_CODE_NONE);
	assert_true(t->events.correlation[1] == TW_CODE_NONE);
	assert_true(t->events.external[1] == TW_CODE_NONE);
	assert_null(arg_of(t, 1, "device"));
	trawl_trace_free(t);
}

static void keys_in_any_order_and_layout(void **state)
{
	static const char *const layouts[] = {
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f\",\"pid\":1,\"tid\":2,\"ts\":3,\"dur\":4,"
		"\"args\":{\"a\":5,\"b\":[6]}}",
		"{\"args\":{\"a\":5,\"b\":[6]},\"dur\":4,\"ts\":3,\"tid\":2,\"pid\":1,\"name\":\"f\","
		"\"cat\":\"cpu_op\",\"ph\":\"X\"}",
		"{\n  \"name\" : \"f\" ,\n  \"args\" :\n  {\n    \"a\" : 5 ,\n    \"b\" : [6]\n  } "
		",\n"
		"  \"ts\" : 3 ,\n  \"ph\" : \"X\" ,\n  \"pid\" : 1 ,\n  \"dur\" : 4 ,\n"
		"  \"cat\" : \"cpu_op\" ,\n  \"tid\" : 2\n}",
		"{\r\n\t\"ts\"\t:\t3.000,\r\n\t\"dur\":\t4.0,\"unknown\":[{\"ph\":\"M\"}],\"x\":{\"ts\":9},"
		"\"tid\":\t2 ,\"pid\":\t1 ,\"args\" : {\"a\":5 , \"b\":[6]} ,\"cat\":\"cpu_op\" ,"
		"\"ph\":\"X\" ,\"name\":\t\"f\" }",
	};
	size_t i, n = sizeof(layouts) / sizeof(layouts[0]);
	struct tw_str first, text, all;
	struct trawl_trace *t;

	tw_str_init(&first, trawl_allocator_default());
	tw_str_init(&text, trawl_allocator_default());
	tw_str_init(&all, trawl_allocator_default());
	for (i = 0; i < n; i++) {
		t = events(layouts[i]);
		assert_kinds(t, 0);
		assert_int_equal(t->events.count, 1);
		tw_str_clear(&text);
		describe_event(t, 0, i ? &text : &first);
		if (i)
			assert_string_equal(text.ptr, first.ptr);
		trawl_trace_free(t);
		/* All layouts in one file, in turn: what was learnt of one must not mislead. */
		tw_str_addf(&all, "%s%s,%s,%s", i ? "," : "", layouts[i], layouts[n - 1 - i],
			    layouts[i]);
	}
	assert_string_equal(first.ptr,
			    "X 1 'cpu_op' 'f' 3000 4000 pid '1' tid '2' device '' stream ''"
			    " id '' external '' a:2:5 b:6:[6]");
	t = events(all.ptr);
	assert_kinds(t, 0);
	assert_int_equal(t->events.count, 3 * n);
	for (i = 0; i < 3 * n; i++) {
		tw_str_clear(&text);
		describe_event(t, i, &text);
		assert_string_equal(text.ptr, first.ptr);
	}
	trawl_trace_free(t);
	tw_str_release(&first);
	tw_str_release(&text);
	tw_str_release(&all);
}

static void categories_are_classes_in_any_case(void **state)
{
	static const struct {
		const char *category;
		enum trawl_class class;
	} cases[] = {
		{ "cpu_op", TRAWL_CLASS_CPU_OP },
		{ "Operator", TRAWL_CLASS_CPU_OP },
		{ "cuda_runtime", TRAWL_CLASS_RUNTIME },
		{ "Runtime", TRAWL_CLASS_RUNTIME },
		{ "hip_runtime", TRAWL_CLASS_RUNTIME },
		{ "cuda_driver", TRAWL_CLASS_DRIVER },
		{ "python_function", TRAWL_CLASS_PYTHON },
		{ "user_annotation", TRAWL_CLASS_ANNOTATION },
		{ "gpu_user_annotation", TRAWL_CLASS_GPU_ANNOTATION },
		{ "kernel", TRAWL_CLASS_KERNEL },
		{ "Kernel", TRAWL_CLASS_KERNEL },
		{ "KERNEL", TRAWL_CLASS_KERNEL },
		{ "gpu_memcpy", TRAWL_CLASS_MEMCPY },
		{ "Memcpy", TRAWL_CLASS_MEMCPY },
		{ "gpu_memset", TRAWL_CLASS_MEMSET },
		{ "Memset", TRAWL_CLASS_MEMSET },
		{ "kernels", TRAWL_CLASS_OTHER },
		{ "kerne", TRAWL_CLASS_OTHER },
		{ "ac2g", TRAWL_CLASS_OTHER },
		{ "Trace", TRAWL_CLASS_OTHER },
		{ "cpu_instant_event", TRAWL_CLASS_OTHER },
		{ "a_category_with_a_long_name_that_is_no_class", TRAWL_CLASS_OTHER },
	};
	size_t n = sizeof(cases) / sizeof(cases[0]), i;
	struct script s;
	struct trawl_trace *t;

	script_begin(&s);
	for (i = 0; i < n; i++)
		script_slice(&s, cases[i].category, "e", 1, 1, 1000, 1000, NULL);
	t = script_read(&s);
	for (i = 0; i < n; i++) {
		const char *name =
			tw_pool_text(&t->texts, t->categories[t->events.category[i]].name, NULL);

		if (tw_class(t, i) != cases[i].class || strcmp(name, cases[i].category))
			fail_msg("%s", cases[i].category);
	}
	trawl_trace_free(t);
}

/* More than a byte counts, and each keeps its name and class. */
static void three_hundred_categories(void **state)
{
	enum { COUNT = 300 };
	struct trawl_trace *t;
	struct script s;
	char name[16];
	size_t i;

	script_begin(&s);
	for (i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "category %zu", i);
		script_slice(&s, name, "e", 1, 1, 1000, 1000, NULL);
	}
	script_slice(&s, "kernel", "e", 1, 1, 1000, 1000, NULL);
	t = script_read(&s);
	for (i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "category %zu", i);
		assert_string_equal(tw_pool_text(&t->texts,
						 t->categories[t->events.category[i]].name, NULL),
				    name);
	}
	assert_int_equal(tw_class(t, COUNT), TRAWL_CLASS_KERNEL);
	trawl_trace_free(t);
}

static void ids_of_every_kind(void **state)
{
	static const struct {
		const char *json, *pid, *correlation;
	} cases[] = {
		{ "5", "5", "5" },
		{ "\"5\"", "5", "5" },
		{ "2147483647", "2147483647", "2147483647" },
		{ "\"2147483647\"", "2147483647", "2147483647" },
		{ "2147483648", "2147483648", "2147483648" },
		{ "9007199254740993", "9007199254740993", "9007199254740993" },
		{ "\"9007199254740993\"", "9007199254740993", "9007199254740993" },
		{ "9223372036854775807", "9223372036854775807", "9223372036854775807" },
		{ "9223372036854775808", "9223372036854775808", "9223372036854775808" },
		{ "18446744073709551614", "18446744073709551614", "18446744073709551614" },
		{ "\"main thread\"", "main thread", "main thread" },
		/* As a link these mean none. */
		{ "0", "0", "" },
		{ "\"0\"", "0", "" },
		{ "-1", "-1", "" },
		{ "\"-1\"", "-1", "" },
		{ "-9223372036854775808", "-9223372036854775808", "" },
		{ "18446744073709551615", "18446744073709551615", "" },
		{ "\"18446744073709551615\"", "18446744073709551615", "" },
		{ "null", "", "" },
		{ "\"\"", "", "" },
	};
	char text[400];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trawl_trace *t;

		snprintf(
			text, sizeof(text),
			"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f\",\"pid\":%s,\"tid\":%s,\"ts\":3,"
			"\"dur\":4,\"args\":{\"correlation\":%s,\"External id\":%s}}",
			cases[i].json, cases[i].json, cases[i].json, cases[i].json);
		t = events(text);
		if (t->defect_count)
			print_error("%s\n", cases[i].json);
		assert_kinds(t, 0);
		assert_string_equal(code_of(t, t->tracks[0].pid), cases[i].pid);
		assert_string_equal(code_of(t, t->tracks[0].tid), cases[i].pid);
		assert_string_equal(code_of(t, t->events.correlation[0]), cases[i].correlation);
		assert_string_equal(code_of(t, t->events.external[0]), cases[i].correlation);
		trawl_trace_free(t);
	}
}

static void times_of_every_form(void **state)
{
	static const struct {
		const char *json;
		int64_t ns;
	} cases[] = {
		{ "0", 0 },
		{ "5", 5000 },
		{ "5.1", 5100 },
		{ "5.12", 5120 },
		{ "5.123", 5123 },
		{ "5.1234", 5123 },
		{ "5.1235", 5124 },
		{ "5.12345678901234567890", 5123 },
		{ "-5.25", -5250 },
		{ "0.001", 1 },
		{ "1e3", 1000000 },
		{ "1.5e3", 1500000 },
		{ "1.5E+3", 1500000 },
		{ "25e-2", 250 },
		{ "123456789012345", 123456789012345000 },
		{ "1234567890123456", 1234567890123456000 },
		{ "1716239022123456.789", 1716239022123456789 },
		{ "1716239022123456.7895", 1716239022123456790 },
		{ "000000000000000000001.5", 1500 },
	};
	char text[300];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trawl_trace *t;

		snprintf(text, sizeof(text),
			 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f\",\"ts\":%s,\"dur\":1},"
			 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f\",\"dur\":1 ,\"ts\": %s }",
			 cases[i].json, cases[i].json);
		t = events(text);
		assert_kinds(t, 0);
		assert_int_equal(t->events.count, 2);
		if (t->events.start_ns[0] != cases[i].ns || t->events.start_ns[1] != cases[i].ns)
			fail_msg("%s is %lld", cases[i].json, (long long)t->events.start_ns[0]);
		trawl_trace_free(t);
	}
}

/* It comes first among the arguments, wherever it stood; of several the last one counts. */
static void sequence_numbers(void **state)
{
	struct trawl_trace *t =
		events("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f\",\"ts\":3,\"dur\":4,"
		       "\"args\":{\"a\":1,\"Sequence number\":5,\"b\":\"text\","
		       "\"Sequence number\":123456789012,\"c\":[1,2]}},"
		       "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"g\",\"ts\":9,\"dur\":1,"
		       "\"args\":{\"a\":1,\"b\":2}}");
	size_t at = (size_t)t->events.args[0] * TW_ARGS_ALIGN;
	static const uint32_t other = UINT32_MAX;
	const uint32_t order[] = { TW_KEY_sequence_number, TW_KEY_sequence_number, other, other,
				   other };
	struct trawl_argument arg;
	size_t i;

	assert_string_equal(arg_of(t, 0, "Sequence number"), "123456789012");
	assert_string_equal(arg_of(t, 0, "a"), "1");
	assert_string_equal(arg_of(t, 0, "b"), "text");
	assert_string_equal(arg_of(t, 0, "c"), "[1,2]");
	for (i = 0; i < 5; i++) {
		assert_true(tw_args_next(&t->args, &at, &arg));
		if (order[i] != other)
			assert_int_equal(arg.key, order[i]);
	}
	assert_false(tw_args_next(&t->args, &at, &arg));
	assert_false(trawl_event_argument(t, 1, TW_KEY_sequence_number, &arg));
	trawl_trace_free(t);
}

static void keys_with_escapes(void **state)
{
	struct trawl_trace *t = events(
		"{\"p\\u0068\":\"X\",\"c\\u0061t\":\"cpu_op\",\"n\\u0061me\":\"f\",\"t\\u0073\":3,"
		"\"du\\u0072\":4,\"args\":{\"corr\\u0065lation\":5,\"a\\\"b\":6,\"\":7,"
		"\"t\\u00e9\":8}}");

	assert_kinds(t, 0);
	assert_int_equal(t->events.phase[0], 'X');
	assert_int_equal(tw_class(t, 0), TRAWL_CLASS_CPU_OP);
	assert_string_equal(name_of(t, 0), "f");
	assert_int_equal(t->events.start_ns[0], 3000);
	assert_int_equal(t->events.dur_ns[0], 4000);
	assert_int_equal(t->events.correlation[0], 5);
	assert_string_equal(arg_of(t, 0, "a\"b"), "6");
	assert_string_equal(arg_of(t, 0, ""), "7");
	assert_string_equal(arg_of(t, 0, "t\xc3\xa9"), "8");
	trawl_trace_free(t);
}

/* As Python's reader does: the last one counts. */
static void of_a_key_given_twice_the_last_counts(void **state)
{
	struct trawl_trace *t = events(
		"{\"ph\":\"M\",\"ph\":\"X\",\"cat\":\"kernel\",\"cat\":\"cpu_op\",\"name\":\"old\","
		"\"name\":\"new\",\"pid\":1,\"pid\":2,\"tid\":3,\"tid\":4,\"ts\":5,\"ts\":6,\"dur\":7,"
		"\"dur\":8,\"args\":{\"a\":9}}");
	const struct tw_track *track = &t->tracks[t->events.track[0]];

	assert_kinds(t, 1);
	assert_int_equal(COUNT(t, duplicate_key), 7);
	assert_int_equal(EVENT(t, duplicate_key), 0);
	assert_int_equal(t->events.phase[0], 'X');
	assert_int_equal(tw_class(t, 0), TRAWL_CLASS_CPU_OP);
	assert_string_equal(name_of(t, 0), "new");
	assert_int_equal(track->pid, 2);
	assert_int_equal(track->tid, 4);
	assert_int_equal(t->events.start_ns[0], 6000);
	assert_int_equal(t->events.dur_ns[0], 8000);
	trawl_trace_free(t);
}

static void of_arguments_given_twice_the_last_count(void **state)
{
	struct trawl_trace *t =
		events("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":5,\"dur\":7,"
		       "\"args\":{\"correlation\":9,\"stream\":1,\"External id\":4,\"a\":1},"
		       "\"args\":{\"device\":3,\"b\":2}},"
		       "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":15,\"dur\":7,"
		       "\"args\":{\"correlation\":9,\"correlation\":10,\"a\":1,\"a\":2}}");

	assert_int_equal(COUNT(t, duplicate_key), 1);
	assert_true(t->events.correlation[0] == TW_CODE_NONE);
	assert_true(t->events.external[0] == TW_CODE_NONE);
	assert_true(t->tracks[t->events.track[0]].stream == TW_CODE_NONE);
	assert_int_equal(t->tracks[t->events.track[0]].device, 3);
	assert_null(arg_of(t, 0, "a"));
	assert_string_equal(arg_of(t, 0, "b"), "2");
	assert_int_equal(t->events.correlation[1], 10);
	assert_string_equal(arg_of(t, 1, "a"), "2");
	trawl_trace_free(t);
}

/* An unknown key is no field: whether it stands twice is nobody's business. */
static void unknown_keys_given_twice_are_nothing(void **state)
{
	struct tw_str text;
	struct trawl_trace *t;
	int fillers, i;

	tw_str_init(&text, trawl_allocator_default());
	for (fillers = 0; fillers < 40; fillers += 13) {
		tw_str_clear(&text);
		tw_str_add_cstr(&text,
				"{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"f\",\"ts\":1,\"dur\":1");
		for (i = 0; i < fillers; i++)
			tw_str_addf(&text, ",\"filler%d\":%d", i, i);
		tw_str_add_cstr(&text, ",\"odd\":1,\"odd\":2,\"odd\":3}");
		t = events(text.ptr);
		assert_kinds(t, 0);
		trawl_trace_free(t);
	}
	tw_str_release(&text);
}

static void flows_instants_and_metadata(void **state)
{
	struct trawl_trace *t = events(
		"{\"ph\":\"s\",\"id\":77,\"pid\":1,\"tid\":2,\"ts\":3.5,\"cat\":\"ac2g\","
		"\"name\":\"ac2g\"},"
		"{\"ph\":\"f\",\"id\":77,\"pid\":0,\"tid\":7,\"ts\":4,\"cat\":\"ac2g\",\"name\":\"ac2g\","
		"\"bp\":\"e\"},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"ts\":0,"
		"\"args\":{\"name\":\"python\"}},"
		"{\"ph\":\"i\",\"s\":\"t\",\"name\":\"mark\",\"pid\":1,\"tid\":2,\"ts\":9},"
		"{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":9,\"args\":{\"bytes\":5}},"
		"{\"ph\":\"long\",\"name\":\"odd\",\"ts\":1},"
		"{\"ph\":\"\",\"name\":\"none\",\"ts\":1}");

	assert_kinds(t, 0);
	assert_int_equal(t->events.count, 7);
	assert_int_equal(t->events.phase[0], 's');
	assert_int_equal(t->events.correlation[0], 77);
	assert_int_equal(t->events.start_ns[0], 3500);
	assert_int_equal(t->events.phase[1], 'f');
	assert_int_equal(t->events.correlation[1], 77);
	assert_int_equal(t->events.phase[2], 'M');
	assert_string_equal(arg_of(t, 2, "name"), "python");
	assert_int_equal(t->events.phase[3], 'i');
	assert_int_equal(t->events.phase[4], 'C');
	assert_int_equal(t->events.phase[5], '?');
	trawl_trace_free(t);
}

static void device_and_stream_of_gpu_events(void **state)
{
	struct trawl_trace *t = events(
		"{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"a\",\"pid\":1,\"tid\":\"stream "
		"7\",\"ts\":1,"
		"\"dur\":1},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":1,\"tid\":7,\"ts\":1,\"dur\":1},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"pid\":1,\"tid\":7,\"ts\":1,\"dur\":1,"
		"\"args\":{\"device\":4,\"stream\":5}},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"d\",\"pid\":1,\"tid\":7,\"ts\":1,\"dur\":1,"
		"\"args\":{\"device\":4,\"stream\":5}},"
		"{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"e\",\"pid\":1,\"tid\":7,"
		"\"ts\":1,\"dur\":1},"
		"{\"ph\":\"X\",\"cat\":\"Memcpy\",\"name\":\"f\",\"pid\":\"GPU "
		"1\",\"tid\":\"streams\","
		"\"ts\":1,\"dur\":1},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"g\",\"pid\":1,\"tid\":7,\"ts\":1,\"dur\":1,"
		"\"args\":{\"device\":0,\"stream\":\"0x7f00aa\"}},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"h\",\"pid\":1,\"tid\":7,\"ts\":1,\"dur\":1,"
		"\"args\":{\"stream\":140737353832256}}");
	static const char *const expected[][2] = { { "1", "7" },	{ "1", "7" },
						   { "4", "5" },	{ "", "" },
						   { "1", "7" },	{ "GPU 1", "streams" },
						   { "0", "0x7f00aa" }, { "1", "140737353832256" } };
	uint64_t i;

	assert_kinds(t, 0);
	for (i = 0; i < t->events.count; i++) {
		const struct tw_track *track = &t->tracks[t->events.track[i]];

		assert_string_equal(code_of(t, track->device), expected[i][0]);
		assert_string_equal(code_of(t, track->stream), expected[i][1]);
	}
	assert_int_equal(i, 8);
	trawl_trace_free(t);
}

static void facts_beside_the_events(void **state)
{
	struct trawl_trace *t = read_all(
		"{\n \"schemaVersion\": 1,\n \"distributedInfo\": {\"backend\": \"nccl\", "
		"\"rank\": 3,"
		" \"world_size\": 8, \"pg_config\": [{\"rank\": 9}]},\n"
		" \"deviceProperties\": [ {\"id\": 0, \"name\": \"Some \\\"GPU\\\" 80GB\\/x\"}, "
		"{\"name\":"
		" \"other\"} ],\n"
		" \"traceEvents\": [{\"ph\":\"M\"}],\n \"displayTimeUnit\": \"ms\",\n"
		" \"baseTimeNanoseconds\": 1712345678000000000,\n"
		" \"traceName\": \"/tmp/x].json\"}\n");
	size_t len;

	assert_kinds(t, 0);
	assert_int_equal(t->rank, 3);
	assert_int_equal(t->world_size, 8);
	assert_true(t->base_time_ns == 1712345678000000000);
	assert_string_equal(t->device_name, "Some \"GPU\" 80GB/x");
	assert_string_equal(tw_trace_field(t, "traceName", &len), "\"/tmp/x].json\"");
	assert_string_equal(tw_trace_field(t, "schemaVersion", &len), "1");
	assert_null(tw_trace_field(t, "traceEvents", &len));
	assert_int_equal(trawl_trace_rank(t), 3);
	trawl_trace_free(t);
	t = read_all(
		"{\"traceEvents\":[],\"distributedInfo\":{\"rank\":\"5\",\"world_size\":null}}");
	assert_int_equal(t->rank, 5);
	assert_int_equal(t->world_size, -1);
	assert_true(t->base_time_ns == TRAWL_TIME_NONE);
	trawl_trace_free(t);
}

/* Lists alone, with and without their end; objects with fields on either side. */
static void documents_of_every_form(void **state)
{
	static const char *const texts[] = {
		"[{\"ph\":\"M\",\"name\":\"a\"},{\"ph\":\"M\",\"name\":\"b\"}]",
		"  \n[ {\"ph\":\"M\",\"name\":\"a\"} , {\"ph\":\"M\",\"name\":\"b\"} ] \n",
		"[{\"ph\":\"M\",\"name\":\"a\"},\n{\"ph\":\"M\",\"name\":\"b\"}",
		"[{\"ph\":\"M\",\"name\":\"a\"},\n{\"ph\":\"M\",\"name\":\"b\"}\n",
		"{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"a\"},{\"ph\":\"M\",\"name\":\"b\"}]}",
		"{\"x\":[[1,{\"y\":\"]\"}]],\"traceEvents\" : [{\"ph\":\"M\",\"name\":\"a\"},"
		"{\"ph\":\"M\",\"name\":\"b\"}] , \"z\" : {} }",
		/* Two lists: all their events, and it is counted. */
		"{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"a\"}],\"x\":1,"
		"\"traceEvents\":[{\"ph\":\"M\",\"name\":\"b\"}]}",
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct trawl_trace *t = read_all(texts[i]);

		assert_kinds(t, COUNT(t, duplicate_key));
		assert_int_equal(COUNT(t, duplicate_key),
				 i + 1 == sizeof(texts) / sizeof(texts[0]));
		assert_int_equal(t->events.count, 2);
		assert_string_equal(name_of(t, 0), "a");
		assert_string_equal(name_of(t, 1), "b");
		trawl_trace_free(t);
	}
}

static void what_is_no_trace_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "   \n ", "empty" },
		{ "hello", "not a JSON trace (starts with 'h')" },
		{ "\"text\"", "not a JSON trace" },
		{ "5", "not a JSON trace" },
		{ "{\"a\": 1}", "without an event list" },
		{ "{}", "without an event list" },
		{ "{\"traceEvents\": 5}", "without an event list" },
		{ "{\"a\": {\"traceEvents\": []}}", "without an event list" },
		{ "{\"a\": 1", "truncated before the event list" },
		{ "{", "truncated before the event list" },
		{ "{\"traceEv", "truncated before the event list" },
		{ "{\"traceEvents\"", "truncated before the event list" },
		{ "{a: 1}", "without an event list" },
		{ "{a 1}", "expected a key at byte 1" },
		{ "{\"a\" 1}", "byte 5" },
		{ "{5}", "expected a key at byte 1" },
	};
	struct trawl_error err;
	size_t i, b;
	int status;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (b = 0; block_sizes[b]; b++) {
			memset(&err, 0, sizeof(err));
			assert_null(read_text(cases[i].text, strlen(cases[i].text), block_sizes[b],
					      &err));
			/* Whole JSON of something else is no broken trace. */
			status = strstr(cases[i].words, "without") ? TRAWL_ENODATA : TRAWL_EFORMAT;
			if (err.status != status || !strstr(err.message, cases[i].words))
				fail_msg("%s: %d %s", cases[i].text, err.status, err.message);
		}
	}
}

/* More events than the columns have at first, more texts than the pool, a growing memory. */
static void many_events(void **state)
{
	struct script s;
	struct trawl_trace *t;
	char args[64], name[32];
	int i, n = 60000;

	script_begin(&s);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "kernel_%d", i % 20011);
		snprintf(args, sizeof(args), "\"correlation\":%d,\"stream\":%d", i + 1, i % 5);
		script_slice(&s, "kernel", name, 0, i % 5, i * 1001LL, i % 777, args);
	}
	t = script_read(&s);
	assert_kinds(t, 1);
	/* Time 0 and duration 0 is what a lost time looks like. */
	assert_int_equal(COUNT(t, gpu_time_lost), 1);
	assert_int_equal(t->events.count, n);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "kernel_%d", i % 20011);
		assert_string_equal(name_of(t, (uint64_t)i), name);
		assert_true(t->events.start_ns[i] == i * 1001LL);
		assert_true(t->events.dur_ns[i] == i % 777);
		assert_int_equal(t->events.correlation[i], i + 1);
		assert_int_equal(t->tracks[t->events.track[i]].stream, i % 5);
	}
	assert_int_equal(t->track_count, 5);
	trawl_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_has_its_column),
		cmocka_unit_test(keys_in_any_order_and_layout),
		cmocka_unit_test(categories_are_classes_in_any_case),
		cmocka_unit_test(three_hundred_categories),
		cmocka_unit_test(ids_of_every_kind),
		cmocka_unit_test(times_of_every_form),
		cmocka_unit_test(sequence_numbers),
		cmocka_unit_test(keys_with_escapes),
		cmocka_unit_test(of_a_key_given_twice_the_last_counts),
		cmocka_unit_test(of_arguments_given_twice_the_last_count),
		cmocka_unit_test(unknown_keys_given_twice_are_nothing),
		cmocka_unit_test(flows_instants_and_metadata),
		cmocka_unit_test(device_and_stream_of_gpu_events),
		cmocka_unit_test(facts_beside_the_events),
		cmocka_unit_test(documents_of_every_form),
		cmocka_unit_test(what_is_no_trace_is_refused),
		cmocka_unit_test(many_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
