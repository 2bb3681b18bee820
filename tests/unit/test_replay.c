#define _DEFAULT_SOURCE
/* Replay packages: literals, calls as JSON, names of files, the archive, the choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "os/creation.h"
#include "text/suggestions.h"
#include "data/tables.h"
#include "failing.h"
#include "json/python.h"
#include "scratch.h"
#include "standalone/replay/replay.h"
#include "standalone/standalone.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static struct tw_arena arena;
static struct tw_str text;
static struct trawl_error err;

static int begin(void **state)
{
	tw_arena_init(&arena, trawl_allocator_default());
	tw_str_init(&text, trawl_allocator_default());
	unsetenv("SOURCE_DATE_EPOCH");
	return 0;
}

static int end(void **state)
{
	tw_arena_release(&arena);
	tw_str_release(&text);
	return 0;
}

/* ---- literals */

static void literals_become_json(void **state)
{
	static const struct {
		const char *python, *json;
	} cases[] = {
		{ "()", "[]" },
		{ "((8, 16), (3,), ())", "[[8, 16], [3], []]" },
		{ "('c10::BFloat16', '', \"it's\")", "[\"c10::BFloat16\", \"\", \"it's\"]" },
		{ "[True, False, None]", "[true, false, null]" },
		{ "{'a': 1, 'b': [2,]}", "{\"a\": 1, \"b\": [2]}" },
		{ "2.", "2.0" },
		{ "[-.5, 0., 1e-12, -7]", "[-0.5, 0.0, 1e-12, -7]" },
		{ "9.9999999999999998e-13", "9.9999999999999998e-13" },
		{ "9007199254740993", "9007199254740993" },
		{ "(inf, -inf, nan)", "[\"inf\", \"-inf\", \"nan\"]" },
		{ "'\\x41\\n\\\\\\u00e9'", "\"A\\n\\\\\xc3\xa9\"" },
		{ "", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tw_str_clear(&text);
		tw_json_from_python(cases[i].python, strlen(cases[i].python), &text);
		assert_string_equal(text.ptr ? text.ptr : "", cases[i].json);
	}
}

static void what_is_no_literal_is_no_json(void **state)
{
	static const char *const cases[] = { "(1,,2)",	 "('a",	      "(1",	  "x y", "1)",
					     "<lambda>", "('a' 'b')", "'\\ud800", "\\",	 "'\\" };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tw_str_clear(&text);
		tw_json_from_python(cases[i], strlen(cases[i]), &text);
		assert_null(tw_json_parse(&arena, text.ptr, text.len, cases[i], &err));
	}
}

/* ---- the tables */

static void arguments_of_a_name_stay_together(void **state)
{
	const struct tw_op_arguments *add = tw_op_arguments("aten::add", 9);
	size_t i;

	assert_non_null(add);
	assert_true(add == tw_op_arguments_known || strcmp(add[-1].op, "aten::add") != 0);
	assert_string_equal(add->op, "aten::add");
	assert_int_equal(add->count, 3);
	assert_int_equal(add->positional, 2);
	assert_string_equal(tw_op_argument_list[add->first + 2].name, "alpha");
	assert_null(tw_op_arguments("aten::ad", 8));
	assert_null(tw_op_arguments("zzz", 3));
	for (i = 1; i < tw_op_arguments_count; i++)
		assert_true(strcmp(tw_op_arguments_known[i - 1].op, tw_op_arguments_known[i].op) <=
			    0);
}

static void the_script_is_the_file(void **state)
{
	size_t len, i;
	char *file = scratch_read("data/replay.py", &len);

	assert_non_null(file);
	for (i = 0; i < tw_replay_script_lines; i++)
		tw_str_addf(&text, "%s\n", tw_replay_script[i]);
	assert_int_equal(text.len, len);
	assert_memory_equal(text.ptr, file, len);
	free(file);
}

static void the_nearest_names_first(void **state)
{
	static const char *const known[] = { "aten::bmm", "aten::mm", "aten::addmm", "x::mm" };
	struct tw_nearest nearest = { .count = 0 };
	size_t i;

	for (i = 0; i < 4; i++)
		tw_nearest_add(&nearest, "MM", known[i]);
	assert_int_equal(nearest.count, TW_NEAREST);
	assert_string_equal(nearest.name[0], "aten::mm");
	assert_string_equal(nearest.name[1], "x::mm");
	assert_string_equal(nearest.name[2], "aten::bmm");
}

static void check_meant(const char *asked, const char *known, const char *want)
{
	struct tw_nearest nearest = { .count = 0 };
	struct tw_str meant;

	tw_str_init(&meant, trawl_allocator_default());
	tw_nearest_add(&nearest, asked, known);
	tw_nearest_describe(&nearest, asked, &meant);
	assert_string_equal(meant.len ? meant.ptr : "", want);
	tw_str_release(&meant);
}

/* A third of the letters, and one, may differ. */
static void names_that_come_near_are_meant(void **state)
{
	check_meant("abcdef", "abcxyz", "; did you mean 'abcxyz'?");
	check_meant("abcdef", "abwxyz", "");
	check_meant("ab", "xb", "; did you mean 'xb'?");
	check_meant("ab", "xy", "");
	check_meant("abc", "xyc", "; did you mean 'xyc'?");
	check_meant("abc", "xyz", "");
}

/* ---- calls */

static const struct tw_json_value *call(struct tw_replay_row *row)
{
	const struct tw_json_value *value;
	struct tw_json json;

	tw_str_clear(&text);
	tw_json_init(&json, &text);
	tw_json_object(&json, TW_JSON_INLINE);
	assert_int_equal(tw_replay_add_call(&json, row, &arena, &err), 0);
	tw_json_end(&json);
	value = tw_json_parse(&arena, text.ptr, text.len, "call", &err);
	assert_non_null(value);
	return value;
}

static void a_call_with_known_arguments(void **state)
{
	call(&(struct tw_replay_row){
		.name = "aten::sum",
		.dims = "((10, 3), (), (), ())",
		.types = "('c10::BFloat16', 'ScalarList', 'Scalar', '')",
		.strides = "((3, 1), (), (), ())",
		.concrete = "('', '[0]', 'True', '')",
	});
	assert_string_equal(
		text.ptr,
		"{\"op_name\": \"aten::sum\", \"replay_ir\": {\"list_pos_args\": ["
		"{\"arg_name\": \"self\", \"arg_type\": \"Tensor\", \"value\": {\"shape\": [10, 3], "
		"\"dtype\": \"c10::BFloat16\", \"strides\": [3, 1], \"init\": \"normal\"}}, "
		"{\"arg_name\": \"dim\", \"arg_type\": \"int[1]?\", \"value\": [0]}, "
		"{\"arg_name\": \"keepdim\", \"arg_type\": \"bool\", \"value\": true}], "
		"\"list_kwargs\": [{\"arg_name\": \"dtype\", \"arg_type\": \"ScalarType?\", "
		"\"value\": null}]}}");
}

static void a_call_with_unknown_arguments(void **state)
{
	call(&(struct tw_replay_row){
		.name = "mine::op",
		.dims = "(((2,), (3, 4)), (), (), ())",
		.types = "('TensorList', 'Scalar', '', '')",
		.strides = "",
		.concrete = "('', '2.', 'fast', '/home/me/weights.bin')",
	});
	assert_string_equal(
		text.ptr,
		"{\"op_name\": \"mine::op\", \"replay_ir\": {\"list_pos_args\": ["
		"{\"arg_name\": \"arg0\", \"arg_type\": \"Tensor[]\", \"value\": ["
		"{\"shape\": [2], \"dtype\": null, \"strides\": null, \"init\": \"normal\"}, "
		"{\"shape\": [3, 4], \"dtype\": null, \"strides\": null, \"init\": \"normal\"}]}, "
		"{\"arg_name\": \"arg1\", \"arg_type\": \"Scalar\", \"value\": 2.0}, "
		"{\"arg_name\": \"arg2\", \"arg_type\": \"str\", \"value\": \"fast\"}, "
		"{\"arg_name\": \"arg3\", \"arg_type\": \"\", \"value\": null}], "
		"\"list_kwargs\": []}}");
}

static const char *init_of(const char *op, const char *type)
{
	struct tw_replay_row row = { .name = op,
				     .dims = "((4,),)",
				     .types = type,
				     .strides = "",
				     .concrete = "" };
	const struct tw_json_value *ir = tw_json_get(call(&row), "replay_ir");
	const struct tw_json_value *value =
		tw_json_get(tw_json_get(ir, "list_pos_args")->first, "value");

	return tw_json_text(tw_json_get(value, "init"));
}

static void contents_by_type(void **state)
{
	assert_string_equal(init_of("aten::neg", "('float',)"), "normal");
	assert_string_equal(init_of("aten::neg", "('c10::Half',)"), "normal");
	assert_string_equal(init_of("aten::neg", "('long int',)"), "randint");
	assert_string_equal(init_of("aten::neg", "('unsigned char',)"), "randint");
	assert_string_equal(init_of("aten::neg", "('bool',)"), "bool");
	assert_string_equal(init_of("aten::fill_", "('float',)"), "");
}

static void what_cannot_be_run_says_why(void **state)
{
	static const struct {
		const char *dims, *types, *why;
	} cases[] = {
		{ "", "", "its arguments were not recorded" },
		{ "((4,", "('float',)", "its recorded arguments cannot be read" },
		{ "((-4,),)", "('float',)", "its recorded arguments cannot be read" },
		{ "(('x',),)", "('float',)", "its recorded arguments cannot be read" },
		{ "(((1.5,),),)", "('TensorList',)", "its recorded arguments cannot be read" },
		{ "7", "('float',)", "its recorded arguments cannot be read" },
		{ "()", "()", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_replay_row row = { .name = "aten::neg",
					     .dims = cases[i].dims,
					     .types = cases[i].types,
					     .strides = "",
					     .concrete = "" };

		assert_string_equal(tw_json_text(tw_json_get(call(&row), "left_out")),
				    cases[i].why);
	}
}

static void a_synthetic_row_is_of_its_operation(void **state)
{
	assert_int_equal(tw_replay_op_name("aten::mse_loss->void k<float>() (Synthetic Op)"), 14);
	assert_int_equal(tw_replay_op_name("a->b"), 4);
	assert_int_equal(tw_replay_op_name(" (Synthetic Op)"), 15);
	assert_int_equal(tw_replay_op_name(""), 0);
}

/* ---- a directory */

static const char head[] = "name,ex_UID,operation_count,Kernel Time (µs)_sum,Kernel Time (µs)_mean,"
			   "Pct Roofline_mean,Roofline Bound,TB/s_mean,Input Dims,Input type\n";

static void make_directory(struct scratch *scratch, const char *rows)
{
	size_t size = sizeof(head) + strlen(rows);
	char *table = malloc(size);

	scratch_make(scratch);
	assert_non_null(table);
	snprintf(table, size, "%s%s", head, rows);
	scratch_write(scratch, "category_manifest.json",
		      "{\"platform\": \"P\", \"gpu_utilization\": {\"computation_time_ms\": 1}, "
		      "\"categories\": [{\"name\": \"cpu_idle\", \"tier\": \"system\"}, "
		      "{\"name\": \"gemm\", \"tier\": \"compute_kernel\"}, "
		      "{\"name\": \"absent\", \"tier\": \"compute_kernel\"}, "
		      "{\"name\": \"../gemm\", \"tier\": \"compute_kernel\"}]}");
	mkdir(scratch_path(scratch, "category_data"), 0777);
	mkdir(scratch_path(scratch, "metadata"), 0777);
	scratch_write(scratch, "category_data/gemm_ops.csv", table);
	scratch_write(scratch, "metadata/gemm_metadata.json", "{\"peak_hbm_bw_tbs\": 4}");
	free(table);
}

static void names_become_files(void **state)
{
	static const char *const cases[][2] = {
		{ "aten::mm", "aten_mm" },	{ "../../x", ".._.._x" },
		{ "a b  c", "a_b_c" },		{ "été::mm", "_t_mm" },
		{ "aten:/:mm", "aten_mm_2" },	{ "aten_mm", "aten_mm_3" },
		{ "aten_mm_2", "aten_mm_2_2" }, { "<>", "_" },
	};
	size_t count = sizeof(cases) / sizeof(cases[0]), i, k;
	struct tw_prepared prepared;
	struct tw_replay_ops ops;
	struct scratch scratch;
	char row[200];

	for (i = 0; i < count; i++) {
		snprintf(row, sizeof(row), "%s,1,1,%zu,1,,,,,\n", cases[i][0], 100 - i);
		tw_str_add_cstr(&text, row);
	}
	make_directory(&scratch, text.ptr);
	tw_prepared_init(&prepared, scratch.dir, trawl_allocator_default());
	assert_int_equal(tw_replay_read(&prepared, &ops, &err), 0);
	assert_int_equal(ops.count, count);
	for (i = 0; i < count; i++) {
		assert_string_equal(ops.op[i].name, cases[i][0]);
		k = strlen(cases[i][1]);
		assert_memory_equal(ops.op[i].file, cases[i][1], k);
		assert_string_equal(ops.op[i].file + k, TW_REPLAY_ENDING);
	}
	tw_prepared_release(&prepared);
	scratch_remove(&scratch);
}

/* As long as file names may be, and different where names differ only behind the cut. */
static void long_names_are_cut(void **state)
{
	struct tw_prepared prepared;
	struct tw_replay_ops ops;
	struct scratch scratch;
	char row[1100];
	size_t written;

	memset(row, 'n', 1000);
	snprintf(row + 1000, 100, "a,1,1,9,1,,,,,\n");
	tw_str_add_cstr(&text, row);
	snprintf(row + 1000, 100, "b,1,1,8,1,,,,,\n");
	tw_str_add_cstr(&text, row);
	make_directory(&scratch, text.ptr);
	tw_prepared_init(&prepared, scratch.dir, trawl_allocator_default());
	assert_int_equal(tw_replay_read(&prepared, &ops, &err), 0);
	assert_int_equal(strlen(ops.op[0].file), NAME_MAX);
	assert_int_equal(strlen(ops.op[1].file), NAME_MAX);
	assert_string_not_equal(ops.op[0].file, ops.op[1].file);
	assert_int_equal(tw_replay(&prepared,
				   (const char *const[]){ ops.op[1].name, ops.op[0].name }, 2,
				   &written, &err),
			 0);
	assert_int_equal(written, 2);
	assert_int_equal(scratch_count(&scratch, TW_REPLAY_FOLDER), 2);
	tw_prepared_release(&prepared);
	scratch_remove(&scratch);
}

/* Over 10 % of 1 ms, under 30 %: at the thresholds none; a row alone, or all rows together. */
static void who_qualifies(void **state)
{
	static const struct {
		const char *name;
		bool qualifies;
	} cases[] = {
		{ "above", true },   { "at", false },	   { "efficient", false },
		{ "at30", false },   { "together", true }, { "unknown", false },
		{ "one_row", true }, { "by_bytes", true },
	};
	struct tw_prepared prepared;
	struct tw_replay_ops ops;
	struct scratch scratch;
	bool *chosen;
	size_t i, k;

	make_directory(&scratch, "above,1,1,100.01,1,29.9,,,,\n"
				 "at,2,1,100,1,5,,,,\n"
				 "efficient,3,1,500,1,50,,,,\n"
				 "at30,4,1,500,1,30,,,,\n"
				 "together,5,1,60,1,20,,,,\n"
				 "together,6,1,60,1,35,,,,\n"
				 "unknown,7,1,500,1,,,,,\n"
				 "one_row,8,1,110,1,20,,,,\n"
				 "one_row,9,1,400,1,90,,,,\n"
				 "by_bytes,10,1,200,1,,MEMORY_BOUND,1,,\n");
	tw_prepared_init(&prepared, scratch.dir, trawl_allocator_default());
	assert_int_equal(tw_replay_packages(&prepared, NULL, 0, &ops, &chosen, &err), 0);
	assert_int_equal(ops.count, sizeof(cases) / sizeof(cases[0]));
	for (i = 0; i < ops.count; i++)
		for (k = 0; k < ops.count; k++)
			if (!strcmp(ops.op[i].name, cases[k].name))
				assert_int_equal(chosen[i], cases[k].qualifies);
	assert_int_equal(scratch_count(&scratch, TW_REPLAY_FOLDER), 4);
	tw_free(trawl_allocator_default(), chosen, (ops.count + 1) * sizeof(*chosen));
	tw_prepared_release(&prepared);
	scratch_remove(&scratch);
}

static void an_unknown_name_is_told(void **state)
{
	struct tw_prepared prepared;
	struct scratch scratch;
	size_t written = 7;

	make_directory(&scratch, "aten::mm,1,1,9,1,,,,,\naten::bmm,1,1,8,1,,,,,\n");
	tw_prepared_init(&prepared, scratch.dir, trawl_allocator_default());
	assert_int_equal(tw_replay(&prepared, (const char *const[]){ "aten::mm", "bm" }, 2,
				   &written, &err),
			 TRAWL_EUSAGE);
	assert_int_equal(written, 0);
	assert_string_equal(err.message,
			    "no operation 'bm'; nearest: 'aten::mm', 'aten::bmm'; with the most "
			    "time: 'aten::mm', 'aten::bmm'");
	assert_false(scratch_exists(&scratch, TW_REPLAY_FOLDER));
	tw_prepared_release(&prepared);
	scratch_remove(&scratch);
}

static void no_manifest_is_told(void **state)
{
	struct tw_prepared prepared;
	struct scratch scratch;
	size_t written;

	scratch_make(&scratch);
	tw_prepared_init(&prepared, scratch.dir, trawl_allocator_default());
	assert_true(tw_replay(&prepared, NULL, 0, &written, &err) < 0);
	assert_non_null(strstr(err.message, "category_manifest.json"));
	tw_prepared_release(&prepared);
	scratch_remove(&scratch);
}

static void nothing_leaks_without_memory(void **state)
{
	struct tw_prepared prepared;
	struct failing failing;
	struct scratch scratch;
	size_t written;
	long n;
	int status;

	make_directory(&scratch,
		       "aten::mm,1,1,9,1,,,,\"((2, 3), (3, 4))\",\"('float', 'float')\"\n");
	for (n = 0;; n++) {
		failing_init(&failing, n);
		tw_prepared_init(&prepared, scratch.dir, &failing.allocator);
		status = tw_replay(&prepared, (const char *const[]){ "aten::mm" }, 1, &written,
				   &err);
		tw_prepared_release(&prepared);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 20);
	scratch_remove(&scratch);
}

/* ---- the archive */

static void archive(struct tw_str *out)
{
	struct tw_str a = { .ptr = (char[]){ "hello hello hello" }, .len = 17 };
	struct tw_str b = { .ptr = (char[]){ "" }, .len = 0 };
	const struct tw_replay_part parts[] = { { "a.txt", &a }, { "b", &b } };

	tw_str_init(out, trawl_allocator_default());
	assert_int_equal(tw_replay_zip(parts, 2, out, &err), 0);
	assert_memory_equal(out->ptr, "PK\3\4", 4);
}

static void the_same_bytes_in_any_time_zone(void **state)
{
	struct tw_str here, there;

	archive(&here);
	setenv("TZ", "Pacific/Kiritimati", 1);
	tzset();
	archive(&there);
	unsetenv("TZ");
	tzset();
	assert_int_equal(here.len, there.len);
	assert_memory_equal(here.ptr, there.ptr, here.len);
	tw_str_release(&here);
	tw_str_release(&there);
}

/* 2001-02-03 04:05:06 UTC: date and time as MS-DOS has them, behind 10 bytes of the header. */
static void the_date_that_was_asked_for(void **state)
{
	struct tw_str out;
	unsigned time, date;

	setenv("SOURCE_DATE_EPOCH", "981173106", 1);
	archive(&out);
	time = (unsigned char)out.ptr[10] | (unsigned)(unsigned char)out.ptr[11] << 8;
	date = (unsigned char)out.ptr[12] | (unsigned)(unsigned char)out.ptr[13] << 8;
	assert_int_equal(time, 4 << 11 | 5 << 5 | 3);
	assert_int_equal(date, 21 << 9 | 2 << 5 | 3);
	tw_str_release(&out);
	/* Later than an archive can say. */
	setenv("SOURCE_DATE_EPOCH", "5000000000", 1);
	archive(&out);
	date = (unsigned char)out.ptr[12] | (unsigned)(unsigned char)out.ptr[13] << 8;
	assert_int_equal(date, 127 << 9 | 12 << 5 | 31);
	tw_str_release(&out);
	setenv("SOURCE_DATE_EPOCH", "tomorrow", 1);
	assert_int_equal(tw_creation_time(), 315532800);
	unsetenv("SOURCE_DATE_EPOCH");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(literals_become_json),
		TEST(what_is_no_literal_is_no_json),
		TEST(arguments_of_a_name_stay_together),
		TEST(the_script_is_the_file),
		TEST(the_nearest_names_first),
		TEST(names_that_come_near_are_meant),
		TEST(a_call_with_known_arguments),
		TEST(a_call_with_unknown_arguments),
		TEST(contents_by_type),
		TEST(what_cannot_be_run_says_why),
		TEST(a_synthetic_row_is_of_its_operation),
		TEST(names_become_files),
		TEST(long_names_are_cut),
		TEST(who_qualifies),
		TEST(an_unknown_name_is_told),
		TEST(no_manifest_is_told),
		TEST(nothing_leaks_without_memory),
		TEST(the_same_bytes_in_any_time_zone),
		TEST(the_date_that_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
