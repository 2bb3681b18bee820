/* Operations whose calls differ: which, when, what communicated.  Values by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "edges.h"
#include "failing.h"
#include "made_jobs.h"
#include "render/render.h"
#include "study/variance/kernel_details.h"
#include "study/variance/cells.h"
#include "text/scan.h"
#include "typed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DETAILS "kernel_details__summarize_kernel_stats"

static struct trawl_error err;

/* ---- numbers and arguments */

static void decimals(void **state)
{
	static const struct {
		const char *text;
		unsigned scale;
		bool is;
		int64_t value;
	} cases[] = {
		{ "0", 3, true, 0 },
		{ "1.5", 3, true, 1500 },
		{ "-1.5", 3, true, -1500 },
		{ "+2", 0, true, 2 },
		{ ".25", 3, true, 250 },
		{ "3.", 3, true, 3000 },
		{ "1.2345", 3, true, 1235 },
		{ "1.2344999", 3, true, 1234 },
		{ "-1.2345", 3, true, -1235 },
		{ "2211714003535.713", 3, true, 2211714003535713 },
		{ "1699999999999.123456", 6, true, 1699999999999123456 },
		{ "1.5e3", 3, true, 1500000 },
		{ "1e-3", 3, true, 1 },
		{ "9223372036854775807", 0, true, INT64_MAX },
		{ "9223372036854775808", 0, false, 0 },
		{ "9223372036854775807", 3, false, 0 },
		{ "1e30", 3, false, 0 },
		{ "", 3, false, 0 },
		{ "-", 3, false, 0 },
		{ ".", 3, false, 0 },
		{ "1.2.3", 3, false, 0 },
		{ "1 ", 3, false, 0 },
		{ " 1", 3, false, 0 },
		{ "nan", 3, false, 0 },
		{ "inf", 3, false, 0 },
		{ "0x10", 3, false, 0 },
		{ "12abc", 3, false, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = 0;

		if (tw_text_decimal(cases[i].text, cases[i].scale, &value) != cases[i].is)
			fail_msg("'%s'", cases[i].text);
		if (value != cases[i].value)
			fail_msg("'%s' is %lld", cases[i].text, (long long)value);
	}
	assert_int_equal(tw_decimal_digits("12"), 0);
	assert_int_equal(tw_decimal_digits("-12.340"), 3);
	assert_int_equal(tw_decimal_digits("1e3"), UINT_MAX);
	assert_int_equal(tw_decimal_digits(""), UINT_MAX);
}

static void whole_numbers(void **state)
{
	int64_t value = 0;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_true(tw_table_whole(typed("a,b\n256,256.0\n"), 0, i, &value));
		assert_int_equal(value, 256);
		assert_false(tw_table_whole(typed("a,b\n256.5,x\n"), 0, i, &value));
		assert_false(tw_table_whole(typed("a,b\n,\"\"\n"), 0, i, &value));
	}
	free_typed();
}

static void headers_and_arguments(void **state)
{
	(void)state;
	assert_true(tw_same_header("Kernel Time (\xc2\xb5s)_min", "Kernel Time (\xce\xbcs)_min"));
	assert_true(tw_same_header("Kernel Time (us)_min", "Kernel Time (\xce\xbcs)_min"));
	assert_false(tw_same_header("Kernel Time (us)_min", "Kernel Time (us)_max"));
	assert_false(tw_same_header("a", "ab"));
	assert_true(tw_same_arguments("[[8, 16], [16, 4]]", "((8, 16), (16, 4))"));
	assert_true(tw_same_arguments("((8,), ())", "[[8],[]]"));
	assert_true(tw_same_arguments("['float', '']", "(\"float\", \"\")"));
	assert_true(tw_same_arguments("64", "64.0"));
	assert_false(tw_same_arguments("64", "65"));
	assert_false(tw_same_arguments("[[8, 16]]", "[[8, 1], [6]]"));
	assert_false(tw_same_arguments("[[8, 16]]", "[[8, 16], []]"));
}

/* ---- lists of kernels */

static void assert_kernels(const char *cell, size_t count, const char *first, int64_t total)
{
	struct tw_listed_kernels kernels;

	assert_int_equal(tw_listed_kernels_read(&kernels, cell, trawl_allocator_default(), &err),
			 0);
	assert_int_equal(kernels.count, count);
	if (count) {
		assert_string_equal(kernels.items[0].name, first);
		assert_int_equal(kernels.items[0].total_ns, total);
	}
	tw_listed_kernels_release(&kernels);
}

static void kernels_of_a_cell(void **state)
{
	(void)state;
	assert_kernels("[{'name': 'a', 'stream': 7, 'count': 2, 'total_duration_us': 3.5}]", 1, "a",
		       3500);
	/* Most time, not first; equal names together; equal times by name. */
	assert_kernels("[{'name': 'a', 'total_duration_us': 3}, {'name': 'b', "
		       "'total_duration_us': 5}]",
		       2, "b", 5000);
	assert_kernels("[{'name': 'a', 'total_duration_us': 3}, {'name': 'b', "
		       "'total_duration_us': 5}, {'name': 'a', 'total_duration_us': 3}]",
		       2, "a", 6000);
	assert_kernels("[{'name': 'b', 'total_duration_us': 3}, {'name': 'a', "
		       "'total_duration_us': 3}]",
		       2, "a", 3000);
	/* Other numbers, other quotes, no blanks. */
	assert_kernels("[{'name': 'a', 'total_duration_us': np.float64(9078.454), "
		       "'mean_duration_us': np.float64(1.0)}]",
		       1, "a", 9078454);
	assert_kernels("[{'name':\"it's\",'count':4,'mean_duration_us':2.5}]", 1, "it's", 10000);
	assert_kernels("[{'name': 'q\\'s \\\\', 'total_duration_us': 1}]", 1, "q's \\", 1000);
	/* What looks like a list inside a name is a name. */
	assert_kernels("[{'name': \"{'name': 'x', 'total_duration_us': 9}\", "
		       "'total_duration_us': 1}]",
		       1, "{'name': 'x', 'total_duration_us': 9}", 1000);
	/* Without times the name is all there is. */
	assert_kernels("[{'name': 'b'}, {'name': 'a'}]", 2, "a", 0);
	assert_kernels("[{'name': 'a', 'total_duration_us': nan}]", 1, "a", 0);
	/* Cut off, and nothing of the kind. */
	assert_kernels("[{'name': 'a', 'total_duration_us': 3}, {'name': 'bb", 1, "a", 3000);
	assert_kernels("[{'name': 'a', 'total_duration_us", 1, "a", 0);
	assert_kernels("", 0, NULL, 0);
	assert_kernels("[]", 0, NULL, 0);
	assert_kernels("42", 0, NULL, 0);
	assert_kernels("'", 0, NULL, 0);
	assert_kernels("[{'name': ''}]", 0, NULL, 0);
	assert_kernels("{'name': 5}", 0, NULL, 0);
	assert_kernels("[{'name': 'a', 'total_duration_us': 1e300}]", 1, "a", 0);
}

/* Whatever a cell holds, it is read to its end and no further; each name is there once. */
static void damaged_cells(void **state)
{
	static const char whole[] =
		"[{'name': \"it's\", 'stream': 7, 'count': 4, 'total_duration_us': "
		"np.float64(3.5), 'mean_duration_us': 0.875}, {'name': 'b\\'', "
		"'total_duration_us': 1e2}]";
	static const char letters[] = "'\"\\:,{}[]() n0.e-";
	uint32_t random = 12345;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		struct tw_listed_kernels kernels;
		char *cell = strdup(whole);
		size_t i, k;

		assert_non_null(cell);
		for (i = 0; i < 3; i++) {
			random = random * 1664525 + 1013904223;
			cell[(random >> 8) % (sizeof(whole) - 1)] =
				letters[(random >> 24) % (sizeof(letters) - 1)];
		}
		if (round % 3 == 0)
			cell[(random >> 4) % (sizeof(whole) - 1)] = '\0';
		assert_int_equal(
			tw_listed_kernels_read(&kernels, cell, trawl_allocator_default(), &err), 0);
		for (i = 0; i < kernels.count; i++) {
			assert_true(*kernels.items[i].name);
			assert_true(kernels.items[i].total_ns >= 0);
			for (k = 0; k < i; k++)
				assert_string_not_equal(kernels.items[i].name,
							kernels.items[k].name);
		}
		tw_listed_kernels_release(&kernels);
		free(cell);
	}
}

/* ---- the first step */

struct steps {
	struct tw_arena arena;
	struct tw_str told;
	struct trawl_table *table; /* what the last step gave */
	struct tw_str text;	   /* of one of its cells */
};

static void begin(struct steps *s, const struct trawl_allocator *allocator)
{
	memset(s, 0, sizeof(*s));
	tw_arena_init(&s->arena, allocator);
	tw_str_init(&s->told, allocator);
	tw_str_init(&s->text, trawl_allocator_default());
}

static void end(struct steps *s)
{
	trawl_table_free(s->table);
	free_typed();
	tw_arena_release(&s->arena);
	tw_str_release(&s->told);
	tw_str_release(&s->text);
}

/* Of what the last step gave. */
static void assert_text(struct steps *s, size_t row, const char *header, const char *expected)
{
	assert_true(tw_table_has_column(s->table, header));
	assert_string_equal(tw_table_text(s->table, row, trawl_table_find_column(s->table, header),
					  &s->text),
			    expected);
}

static const char *told(const struct steps *s)
{
	return s->told.ptr ? s->told.ptr : "";
}

/* The variance of one report, threads 256, channels 28, rank 0. */
static int variance_of(struct steps *s, const char *text, size_t top_k)
{
	struct tw_variance *v = tw_variance_new(top_k, s->arena.allocator);
	int status;

	if (!v)
		return TRAWL_ENOMEM;
	trawl_table_free(s->table);
	s->table = NULL;
	status = tw_variance_add(v, 256, 28, 0, typed(text), NULL, &s->told, &err);
	if (!status)
		status = tw_variance_finish(v, &s->table, &err);
	tw_variance_free(v);
	return status;
}

#define REPORT_HEADER "name,Kernel Time (µs)_min,Kernel Time (µs)_max," DETAILS "\n"
#define K(name) "\"[{'name': '" name "', 'total_duration_us': 1.5}]\"\n"

static void rows_by_difference(void **state)
{
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	assert_int_equal(variance_of(&s,
				     REPORT_HEADER "a,1,3," K("ka") "b,1.1,4.3," K("kb") "c,5,4," K(
					     "kc") "d,2,4," K("kd"),
				     3),
			 0);
	assert_string_equal(told(&s), "");
	assert_int_equal(trawl_table_rows(s.table), 3);
	/* 3.2 exactly, not the 3.1999999999999997 of doubles; equals in their order. */
	assert_text(&s, 0, "kernel_name", "kb");
	assert_text(&s, 0, "time_diff_us", "3.2");
	assert_text(&s, 1, "kernel_name", "ka");
	assert_text(&s, 2, "kernel_name", "kd");
	assert_text(&s, 0, "kernel_time_min_us", "1.1");
	assert_text(&s, 0, "kernel_time_max_us", "4.3");
	assert_text(&s, 0, "threads", "256");
	assert_text(&s, 0, "channel", "28");
	assert_text(&s, 0, "rank", "0");
	assert_text(&s, 0, "kernel_total_time_us", "1.5");
	assert_text(&s, 0, "kernel_names", "kb");
	end(&s);
}

static void columns_in_order(void **state)
{
	static const char *const want[] = { "threads",
					    "channel",
					    "rank",
					    "kernel_name",
					    "kernel_time_min_us",
					    "kernel_time_max_us",
					    "time_diff_us",
					    "col_Kernel Time (µs)_max",
					    "col_Kernel Time (µs)_min",
					    "col_Zeta",
					    "col_a",
					    ("col_" DETAILS),
					    "col_name",
					    "kernel_total_time_us",
					    "kernel_count",
					    "kernel_names" };
	struct steps s;
	const struct trawl_table *one, *two;
	struct tw_variance *v = tw_variance_new(5, trawl_allocator_default());
	size_t i;

	(void)state;
	begin(&s, trawl_allocator_default());
	one = typed("name,,Kernel Time (µs)_min,Kernel Time (µs)_max," DETAILS
		    ",Zeta\nx,unseen,1,2,"
		    "\"[{'name': 'k'}]\",z\n");
	/* The other letter micro is a column of its own in the result. */
	two = typed("Kernel Time (µs)_min,Kernel Time (µs)_max," DETAILS ",a\n3,9.5,"
		    "\"[{'name': 'k'}]\",\"=1+1\"\n");
	assert_int_equal(tw_variance_add(v, 256, 28, 0, one, NULL, &s.told, &err), 0);
	assert_int_equal(tw_variance_add(v, 512, 28, 1, two, NULL, &s.told, &err), 0);
	assert_int_equal(tw_variance_finish(v, &s.table, &err), 0);
	tw_variance_free(v);
	assert_int_equal(trawl_table_columns(s.table), sizeof(want) / sizeof(want[0]));
	for (i = 0; i < trawl_table_columns(s.table); i++)
		assert_string_equal(trawl_table_column(s.table, i)->header, want[i]);
	assert_text(&s, 0, "threads", "512");
	assert_text(&s, 0, "col_a", "=1+1");
	assert_text(&s, 0, "col_name", "");
	assert_text(&s, 1, "col_Zeta", "z");
	assert_text(&s, 1, "kernel_total_time_us", "");
	end(&s);
}

/* A call without recorded work counts as 0: the shortest of the others is 1 ns, or is not known. */
static void the_shortest_call_of_the_instances(void **state)
{
	const struct trawl_table *gemm, *instances;
	struct tw_variance *v = tw_variance_new(5, trawl_allocator_default());
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	gemm = typed("Kernel Time (µs)_min,Kernel Time (µs)_max," DETAILS ",UID_first\n"
		     "0,3,\"[{'name': 'k'}]\",5\n0,4,\"[{'name': 'k'}]\",6\n");
	instances = typed("UID_first,min_time_ns\n6,0\n5,1\n");
	assert_int_equal(tw_variance_add(v, 256, 28, 0, gemm, instances, &s.told, &err), 0);
	assert_int_equal(tw_variance_finish(v, &s.table, &err), 0);
	tw_variance_free(v);
	assert_int_equal(trawl_table_rows(s.table), 1);
	assert_text(&s, 0, "kernel_time_min_us", "0.001");
	assert_text(&s, 0, "time_diff_us", "2.999");
	assert_string_equal(told(&s), "1 of 2 rows of sheet GEMM have calls without GPU work: "
				      "min call time unknown\n");
	end(&s);
}

static void rows_left_out(void **state)
{
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	assert_int_equal(variance_of(&s,
				     REPORT_HEADER "a,,3," K("k") "b,x,4," K(
					     "k") "c,1,4,\n"
						  "d,1,4,nothing\ne,1,inf," K("k") "f,0,0," K(
							  "zero") "g,2,1," K("less") "h,0,0,[]\n",
				     9),
			 0);
	assert_string_equal(told(&s), "3 of 8 rows of sheet GEMM have no times\n"
				      "2 of 8 rows of sheet GEMM name no kernel\n");
	assert_int_equal(trawl_table_rows(s.table), 2);
	assert_text(&s, 0, "time_diff_us", "0");
	assert_text(&s, 1, "time_diff_us", "-1");
	end(&s);
}

static void sheets_that_are_none(void **state)
{
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	assert_int_equal(variance_of(&s, "", 5), 0);
	assert_int_equal(trawl_table_rows(s.table), 0);
	assert_int_equal(variance_of(&s, REPORT_HEADER, 5), 0);
	assert_int_equal(trawl_table_rows(s.table), 0);
	assert_int_equal(trawl_table_columns(s.table),
			 7 + 3); /* without rows no columns of a sheet */
	assert_int_equal(variance_of(&s, "name,Kernel Time (µs)_min," DETAILS "\na,1,x\n", 5),
			 TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "Kernel Time (µs)_max"));
	assert_int_equal(variance_of(&s, "Kernel Time (µs)_min,Kernel Time (µs)_max\n1,2\n", 5),
			 TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, DETAILS));
	end(&s);
}

/* ---- the second step */

/* Columns of gemm_instances that the step looks at. */
static const struct trawl_column instance_columns[] = {
	TW_TEXT("name", 0, ""),
	TW_TEXT("param: N", 0, ""),
	TW_TEXT("Input Dims_first", 0, ""),
	TW_TEXT("Input type_first", 0, ""),
	TW_TEXT("main kernel", 0, ""),
	TW_TEXT(DETAILS, 0, ""),
	TW_INTEGER("min_time_ns", 0, ""),
	TW_INTEGER("min_start_ns", 0, ""),
	TW_INTEGER("min_end_ns", 0, ""),
	TW_INTEGER("min_main_start_ns", 0, ""),
	TW_INTEGER("min_main_dur_ns", 0, ""),
	TW_INTEGER("max_time_ns", 0, ""),
	TW_INTEGER("max_start_ns", 0, ""),
	TW_INTEGER("max_end_ns", 0, ""),
	TW_INTEGER("max_main_start_ns", 0, ""),
	TW_INTEGER("max_main_dur_ns", 0, ""),
};
static const struct tw_table_spec instance_spec = TW_SPEC("gemm_instances", "", instance_columns);

/* A row: texts, then the shortest and the longest call with a start and a duration each. */
static void add_instance(struct trawl_table *table, const char *const texts[6], int64_t min_start,
			 int64_t min_dur, int64_t max_start, int64_t max_dur)
{
	const int64_t numbers[] = { min_dur, min_start, min_start + min_dur, min_start, min_dur,
				    max_dur, max_start, max_start + max_dur, max_start, max_dur };
	size_t row = tw_table_add_row(table), i;

	for (i = 0; i < 6; i++)
		tw_table_set_str(table, row, i, texts[i]);
	for (i = 0; i < 10; i++)
		tw_table_set_integer(table, row, 6 + i, numbers[i]);
}
#define TEXTS(...) ((const char *const[6]){ __VA_ARGS__ })

static struct trawl_table *instances(const struct trawl_allocator *allocator)
{
	struct trawl_table *t = tw_table_new(&instance_spec, allocator);

	if (!t)
		return NULL;
	add_instance(t,
		     TEXTS("aten::mm", "4", "[[8, 16], [16, 4]]", "['float', 'float']", "gemm",
			   "[{'name': 'gemm', 'total_duration_us': 9}, {'name': 'post', "
			   "'total_duration_us': 1}]"),
		     1000000, 4000, 5000000, 9000);
	add_instance(t,
		     TEXTS("aten::mm", "8", "[[8, 16], [16, 8]]", "['float', 'float']", "gemm",
			   "[{'name': 'gemm', 'total_duration_us': 9}]"),
		     9000000, 6000, 2000000, 20000);
	add_instance(t,
		     TEXTS("aten::mm", "8", "[[8, 16], [16, 8]]", "['half', 'half']", "gemm_post",
			   "[{'name': 'gemm_post', 'total_duration_us': 9}]"),
		     0, 100, 1000, 200);
	if (!tw_table_finish(t, NULL))
		return t;
	trawl_table_free(t);
	return NULL;
}

/* Rank 0 of 256 threads has them, no other. */
static const struct trawl_table *table_of(void *context, int64_t threads, int64_t channels,
					  int64_t rank, const char *name)
{
	assert_int_equal(channels, 28);
	return threads == 256 && !rank && !strcmp(name, "gemm_instances") ? context : NULL;
}

static int timestamps_of(struct steps *s, const char *text, double tolerance)
{
	struct trawl_table *table = instances(s->arena.allocator);
	int status = TRAWL_ENOMEM;

	trawl_table_free(s->table);
	s->table = NULL;
	if (table)
		status = tw_variance_timestamps(typed(text), table_of, table, tolerance,
						s->arena.allocator, &s->table, &s->told, &err);
	trawl_table_free(table);
	return status;
}

#define STEP_HEADER                                                           \
	"threads,channel,rank,kernel_name,kernel_time_min_us,kernel_time_max" \
	"_us,time_diff_us"
#define OP_HEADER STEP_HEADER ",col_name,col_Input Dims_first,col_Input type_first,col_param: N\n"

static void calls_by_operation(void **state)
{
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	/* The kernel is named otherwise; the shapes are written as tuples. */
	assert_int_equal(timestamps_of(&s,
				       OP_HEADER
				       "256,28,0,other,4,9,5,aten::mm,\"((8, 16), (16, 4))\",,4.0\n"
				       "256.0,28.0,0.0,gemm,6,20,14,aten::mm,\"[[8, 16], [16, 8]]"
				       "\",\"('float', 'float')\",8\n"
				       "256,28,0,gemm,0.1,0.2,0.1,aten::mm,\"[[8, 16], [16, 8]]\","
				       "\"('half', 'half')\",8\n"
				       "256,28,0,gemm,6,20,14,aten::mm,\"[[8, 16], [16, 8]]\","
				       "\"('half', 'half')\",4\n",
				       0.01),
			 0);
	assert_string_equal(told(&s), "");
	assert_text(&s, 0, "min_duration_timestamp_ms", "1.000000");
	assert_text(&s, 0, "max_duration_timestamp_ms", "5.000000");
	assert_text(&s, 0, "time_between_min_max_ms", "4.000000");
	assert_text(&s, 0, "min_duration_found_us", "4");
	assert_text(&s, 0, "max_duration_found_us", "9");
	assert_text(&s, 0, "match_status", "exact");
	assert_text(&s, 0, "matched_by", "operation");
	assert_text(&s, 0, "main_kernel", "gemm");
	assert_text(&s, 0, "kernel_name", "other");
	assert_text(&s, 0, "max_call_start_us", "5000");
	assert_text(&s, 0, "max_call_end_us", "5009");
	/* The longest ran before the shortest. */
	assert_text(&s, 1, "time_between_min_max_ms", "7.000000");
	assert_text(&s, 1, "max_call_time_us", "20");
	/* At time 0, which is one. */
	assert_text(&s, 2, "min_duration_timestamp_ms", "0.000000");
	assert_text(&s, 2, "main_kernel", "gemm_post");
	/* One argument differs, of the one with these times two. */
	assert_text(&s, 3, "main_kernel", "gemm_post");
	end(&s);
}

static void calls_by_kernel(void **state)
{
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	EDGE_OF(TW_LIMIT_SWEEP_TOLERANCE);
	/* An exact name, not a prefix; of several operations the nearest times; any kernel of one. */
	assert_int_equal(timestamps_of(&s,
				       STEP_HEADER
				       "\n"
				       "256,28,0,gemm,4,9,5\n256,28,0,gemm,6.06,20,14\n"
				       "256,28,0,gemm,6.061,20,14\n256,28,0,post,4,9,5\n"
				       "256,28,0,gem,4,9,5\n256,28,0,gemm_post,,,\n"
				       "256,28,0,gemm,6.0004,20,14\n256,28,0,gemm,6.0006,20,14\n",
				       TW_LIMIT_SWEEP_TOLERANCE),
			 0);
	assert_text(&s, 0, "min_call_time_us", "4");
	assert_text(&s, 0, "match_status", "exact");
	assert_text(&s, 0, "matched_by", "kernel");
	assert_text(&s, 1, "match_status", "within_tol");
	assert_text(&s, 2, "match_status", "nearest");
	assert_text(&s, 2, "max_call_time_us", "20");
	assert_text(&s, 3, "main_kernel", "gemm");
	assert_text(&s, 4, "match_status", "none");
	assert_text(&s, 4, "min_duration_timestamp_ms", "");
	assert_text(&s, 5, "min_call_time_us", "0.1");
	/* Traces have whole nanoseconds: half of one is no difference. */
	assert_text(&s, 6, "match_status", "exact");
	assert_text(&s, 7, "match_status", "within_tol");
	assert_string_equal(told(&s), "256thread_28ch rank 0: 1 row without times: not in the "
				      "trace, or no trace\n");
	end(&s);
}

static void rows_without_calls(void **state)
{
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	assert_int_equal(timestamps_of(&s,
				       STEP_HEADER
				       ",min_duration_timestamp_ms,note\n"
				       "512,28,0,gemm,4,9,5,7,a\n"
				       "256,28,1,gemm,4,9,5,7,\"b,\"\"c\"\n"
				       "x,28,0,gemm,4,9,5,7,d\n512,28,0,gemm,1,2,1,7,e\n",
				       0.01),
			 0);
	assert_int_equal(trawl_table_rows(s.table), 4);
	assert_text(&s, 0, "match_status", "none");
	/* Its own columns are made anew, others pass. */
	assert_string_equal(trawl_table_column(s.table, 7)->header, "note");
	assert_text(&s, 0, "min_duration_timestamp_ms", "");
	assert_text(&s, 1, "note", "b,\"c");
	assert_string_equal(
		told(&s),
		"512thread_28ch rank 0: 2 rows without times: not in the trace, or no trace\n"
		"256thread_28ch rank 1: 1 row without times: not in the trace, or no trace\n"
		"xthread_28ch rank 0: 1 row without times: not in the trace, or no trace\n");
	assert_int_equal(timestamps_of(&s, "a,b\n1,2\n", 0.01), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "no column 'threads'"));
	assert_int_equal(timestamps_of(&s, "", 0.01), TRAWL_EFORMAT);
	assert_int_equal(timestamps_of(&s, STEP_HEADER "\n", 0.01), 0);
	assert_int_equal(trawl_table_rows(s.table), 0);
	end(&s);
}

/* ---- the third step */

static const struct tw_sweep_collective list[] = {
	{ 30000, 40000, "last" },      { 0, 10000, "touches" },	  { 12000, 20000, "b" },
	{ 10000, 14000, "a" },	       { 20000, 30000, "after" }, { 15000, 15000, "empty" },
	{ 13000, 16000, "allreduce" },
};

/* Threads 256: those; 512: none at all; 1024: not known. */
static struct tw_sweep_collectives collectives(void *context, int64_t threads, int64_t channels,
					       int64_t rank, bool *known)
{
	(void)context;
	assert_int_equal(channels, 28);
	assert_int_equal(rank, 3);
	*known = threads != 1024;
	return (struct tw_sweep_collectives){ list,
					      threads == 256 ? sizeof(list) / sizeof(list[0]) : 0 };
}

static int overlap_of(struct steps *s, const char *text)
{
	trawl_table_free(s->table);
	s->table = NULL;
	return tw_variance_overlap(typed(text), collectives, NULL, s->arena.allocator, &s->table,
				   &s->told, &err);
}

#define TIMES_HEADER "threads,channel,rank,max_duration_timestamp_ms,max_duration_found_us"
#define CALL_HEADER TIMES_HEADER ",max_call_start_us,max_call_end_us\n"

static void overlaps(void **state)
{
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	assert_int_equal(overlap_of(&s, CALL_HEADER "256,28,3,0.5,3,10,20\n512,28,3,0.5,3,10,20\n"
						    "1024,28,3,0.5,3,10,20\n256,28,3,0.5,3,40,50\n"
						    "256,28,3,,,,\n256,28,3,0.5,3,20,20\n"
						    "256,28,3,0,3,20,10\n"),
			 0);
	/* 10-20: a 4 us, b 8 us, allreduce 3 us inside them: 10 us together. */
	assert_text(&s, 0, "overlapping_collective_count", "3");
	assert_text(&s, 0, "overlapping_collective_names", "a;b;allreduce");
	assert_text(&s, 0, "max_overlap_percentage", "80");
	assert_text(&s, 0, "max_overlap_collective", "b");
	assert_text(&s, 0, "total_overlap_duration_ms", "0.010000");
	assert_text(&s, 0, "total_overlap_percentage", "100");
	assert_text(&s, 0, "max_call_span_us", "10");
	/* None is 0; not known is empty. */
	assert_text(&s, 1, "overlapping_collective_count", "0");
	assert_text(&s, 1, "max_overlap_percentage", "0");
	assert_text(&s, 1, "max_overlap_collective", "");
	assert_text(&s, 1, "total_overlap_duration_ms", "0.000000");
	assert_text(&s, 2, "overlapping_collective_count", "");
	assert_text(&s, 2, "total_overlap_duration_ms", "");
	/* What touches does not overlap. */
	assert_text(&s, 3, "overlapping_collective_count", "0");
	assert_text(&s, 4, "overlapping_collective_count", "");
	/* A call without length overlaps nothing, and has no percentage. */
	assert_text(&s, 5, "overlapping_collective_count", "0");
	assert_text(&s, 5, "max_overlap_percentage", "");
	assert_text(&s, 6, "overlapping_collective_count", "");
	assert_string_equal(told(&s), "2 of 7 rows have no times: overlap unknown\n"
				      "1 of 7 rows: no collectives in trace or report\n");
	end(&s);
}

/* Files of others tell the kernel: 0.012 ms + 4 us; a stamp of 0 is one. */
static void overlaps_of_older_files(void **state)
{
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	assert_int_equal(overlap_of(&s, TIMES_HEADER "\n256,28,3,0.012,4\n256,28,3,0,5\n"
						     "256,28,3,0.0,5.0\n256,28,3,nan,5\n"),
			 0);
	assert_text(&s, 0, "overlapping_collective_names", "a;b;allreduce");
	assert_text(&s, 0, "max_overlap_collective", "b");
	assert_text(&s, 0, "total_overlap_duration_ms", "0.004000");
	assert_text(&s, 1, "overlapping_collective_names", "touches");
	assert_text(&s, 2, "overlapping_collective_names", "touches");
	assert_text(&s, 3, "overlapping_collective_count", "");
	tw_str_clear(&s.told);
	/* Without that column, the time of the operation. */
	assert_int_equal(overlap_of(&s, "threads,channel,rank,kernel_time_max_us,"
					"max_duration_timestamp_ms\n256,28,3,4,0.012\n"),
			 0);
	assert_text(&s, 0, "total_overlap_duration_ms", "0.004000");
	assert_int_equal(overlap_of(&s, STEP_HEADER "\n"), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "max_duration_timestamp_ms"));
	end(&s);
}

static void collectives_of_a_report(void **state)
{
	struct tw_sweep_collectives found;
	struct steps s;
	const struct trawl_table *sheet;
	size_t without;

	(void)state;
	begin(&s, trawl_allocator_default());
	sheet = typed("dur,rank,ts,Collective name\n5,0,100.5,allreduce\n0,0,0,broadcast\n"
		      "5,1,7,other\n,0,7,lost\n5,0,,lost\n5,,7,nobody\n2.5,0.0,1e3,\n");
	assert_int_equal(tw_sweep_collectives_of_table(sheet, 0, &s.arena, &found, &without, &err),
			 0);
	assert_int_equal(found.count, 3);
	assert_int_equal(without, 2);
	assert_int_equal(found.items[0].start_ns, 100500);
	assert_int_equal(found.items[0].end_ns, 105500);
	assert_string_equal(found.items[0].name, "allreduce");
	assert_int_equal(found.items[1].start_ns, 0);
	assert_int_equal(found.items[2].start_ns, 1000000);
	assert_int_equal(found.items[2].end_ns, 1002500);
	assert_string_equal(found.items[2].name, "");
	sheet = typed("rank,ts,dur\n0,1,2\n");
	assert_int_equal(tw_sweep_collectives_of_table(sheet, 0, &s.arena, &found, &without, &err),
			 TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "Collective name"));
	end(&s);
}

static void collectives_of_a_trace(void **state)
{
	static const struct call calls[] = {
		{ .start = 10, .end = 15, .name = "allreduce", .kernel = "ncclDevKernel_AllReduce" },
		{ .start = 20, .end = 21, .kernel = "ncclDevKernel_Broadcast_RING_LL" },
		{ .start = 30, .end = 34, .kernel = "ncclDevKernel_Generic_1" },
	};
	struct tw_sweep_collectives found;
	struct trawl_job job;
	struct steps s;

	(void)state;
	begin(&s, trawl_allocator_default());
	make_job(&job, 1);
	add_calls(&job, 0, calls, 3);
	assert_int_equal(tw_sweep_collectives_of_rank(&job.ranks[0], &s.arena, &found, &err), 0);
	assert_int_equal(found.count, 3);
	assert_int_equal(found.items[0].start_ns, 10000);
	assert_int_equal(found.items[0].end_ns, 15000);
	assert_string_equal(found.items[0].name, "allreduce");
	/* Without arguments the kernel's name tells the kind; where it does not, it is the name. */
	assert_string_equal(found.items[1].name, "broadcast");
	assert_string_equal(found.items[2].name, "ncclDevKernel_Generic_1");
	tw_job_release(&job);
	end(&s);
}

/* ---- what is shown */

#define ALL_HEADER                                                                            \
	STEP_HEADER ",col_name,col_Input Dims_first,min_duration_timestamp_ms,overlapping_"   \
		    "collective_count,max_overlap_percentage,total_overlap_duration_ms,total" \
		    "_overlap_percentage\n"

static const char whole[] = ALL_HEADER "256,28,0,k,1.5,3.25,1.75,aten::mm,[],1.000001,2,40,"
				       "0.000002,60\n"
				       "256,28,1,k,1,2,1,,,,2,20,0.000001,30\n"
				       "256,28,2,k,1,2,1,,,,1,20,0.000001,20\n"
				       "256,28,3,k,1,2,1,,,,0,0,0,0\n256,28,4,k,1,2,1,,,,,,,\n";

static void readings(void **state)
{
	static const char *const want[] = { "blocked by communication", "communication-heavy",
					    "partly beside communication", "pure computation", "" };
	struct trawl_table *table;
	struct steps s;
	const struct trawl_table *csv;
	size_t i;

	(void)state;
	begin(&s, trawl_allocator_default());
	csv = typed(whole);
	table = tw_variance_table(csv, trawl_allocator_default());
	assert_int_equal(trawl_table_rows(table), 5);
	for (i = 0; i < 5; i++) {
		struct trawl_cell reading = tw_table_cell(table, i, "reading");

		assert_int_equal(reading.text_len, strlen(want[i]));
		if (*want[i])
			assert_memory_equal(reading.text, want[i], reading.text_len);
	}
	assert_int_equal(tw_table_cell(table, 0, "min_duration_timestamp_ms").integer, 1000001);
	assert_int_equal(tw_table_cell(table, 3, "rank").integer, 3);
	assert_int_equal(tw_table_cell(table, 1, "name").state, TRAWL_CELL_MISSING);
	trawl_table_free(table);
	end(&s);
}

static void digest(void **state)
{
	struct steps s;
	const struct trawl_table *csv;
	struct tw_str out;

	(void)state;
	begin(&s, trawl_allocator_default());
	tw_str_init(&out, trawl_allocator_default());
	csv = typed(whole);
	tw_variance_digest(csv, 100, &out);
	assert_non_null(strstr(out.ptr, "5 rows\n"));
	assert_non_null(strstr(out.ptr, "mean 1.150, median 1.000, min 1.000, max 1.750 µs"));
	assert_non_null(strstr(out.ptr, "Found in the traces: 1 of 5 rows\n"));
	assert_non_null(strstr(out.ptr, "1 row : collectives overlap more than 50 %"));
	assert_non_null(strstr(out.ptr, "pure computation"));
	/* Where the operation is not known its kernel stands, and no shapes. */
	assert_non_null(strstr(out.ptr, "  60  blocked  aten::mm   []        "));
	assert_non_null(strstr(out.ptr, "   0  pure     k          -         "));
	assert_non_null(strstr(out.ptr, "   -  -        k          -         "));
	tw_str_clear(&out);
	csv = typed(STEP_HEADER "\n");
	tw_variance_digest(csv, 100, &out);
	assert_non_null(strstr(out.ptr, "0 rows"));
	tw_str_clear(&out);
	/* Of the first step nothing is said about times and collectives. */
	csv = typed(STEP_HEADER "\n256,28,0,k,1,2,1\n");
	tw_variance_digest(csv, 100, &out);
	assert_non_null(strstr(out.ptr, "1 row\n"));
	assert_null(strstr(out.ptr, "communic"));
	assert_null(strstr(out.ptr, "traces"));
	tw_str_release(&out);
	end(&s);
}

/* Lines of a text, none wider than `width`; µ is one cell. */
static void assert_narrow(const char *text, size_t width)
{
	size_t cells = 0;

	for (; *text; text++) {
		if (*text == '\n')
			cells = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			cells++;
		assert_true(cells <= width);
	}
}

/* Whether the words stand in the text in that order. */
static void assert_in_order(const char *text, const char *const *words)
{
	for (; *words; words++) {
		text = strstr(text, *words);
		assert_non_null(text);
		text += strlen(*words);
	}
}

#define FOUND_HEADER ALL_HEADER_LINE ",match_status,time_between_min_max_ms\n"
#define ALL_HEADER_LINE                                                                     \
	STEP_HEADER ",col_name,col_Input Dims_first,min_duration_timestamp_ms,overlapping_" \
		    "collective_count,total_overlap_percentage"

/* Of 7 rows 3 exact, 1 within, 2 the nearest, 1 not found; 1.5 ms apart in the middle. */
static void digest_of_a_narrow_terminal(void **state)
{
	static const char *const order[] = { "diff",	"overlap",   "configuration",
					     "rank",	"(µs)",	     "(%)",
					     "reading", "operation", "256thread_28ch",
					     "blocked", "aten::mm",  NULL };
	static const char text[] = FOUND_HEADER
		"256,28,0,k,1,3,2,aten::mm,\"[(2048, 1024), (1024, 4096)]\",5,2,60,exact,1\n"
		"256,28,0,k,1,3,2,aten::mm,,5,2,60,exact,2\n256,28,0,k,1,3,2,aten::mm,,5,2,60,exact,\n"
		"256,28,0,k,1,3,2,aten::mm,,5,0,0,within_tol,\n256,28,0,k,1,3,2,x,,5,1,9,nearest,\n"
		"256,28,0,k,1,3,2,aten::mm,,5,0,0,nearest,\n256,28,0,k,1,3,2,aten::mm,,,,,none,\n";
	struct steps s;
	const struct trawl_table *csv;
	struct tw_str out;
	size_t width;

	(void)state;
	begin(&s, trawl_allocator_default());
	tw_str_init(&out, trawl_allocator_default());
	csv = typed(text);
	for (width = 80; width >= 60; width -= 20) {
		tw_str_clear(&out);
		tw_variance_digest(csv, (unsigned)width, &out);
		assert_narrow(out.ptr, width);
		assert_in_order(out.ptr,
				width == 80 ? order : (const char *const[]){ "diff", NULL });
	}
	tw_str_clear(&out);
	tw_variance_digest(csv, 80, &out);
	assert_non_null(strstr(out.ptr, "Found in the traces: 6 of 7 rows (3 exact, 1 within "
					"tolerance, 2 nearest)\n"));
	assert_non_null(strstr(out.ptr, "call: mean 1500.000, median 1500.000,"));
	assert_non_null(strstr(out.ptr,
			       "blocked       3 rows: collectives overlap more than 50 % of the "
			       "longest call:\n                        blocked by "
			       "communication\n"));
	assert_null(strstr(out.ptr, " ms"));
	assert_int_equal(tw_variance_matched(csv, "nearest"), 2);
	tw_str_release(&out);
	end(&s);
}

/* Ten rows are shown. */
static void digest_of_many(void **state)
{
	struct tw_str text, out;
	struct steps s;
	int rows, i;

	(void)state;
	begin(&s, trawl_allocator_default());
	tw_str_init(&text, trawl_allocator_default());
	tw_str_init(&out, trawl_allocator_default());
	for (rows = 10; rows <= 11; rows++) {
		tw_str_clear(&text);
		tw_str_clear(&out);
		tw_str_add_cstr(&text, STEP_HEADER ",col_name\n");
		for (i = 1; i <= rows; i++)
			tw_str_addf(&text, "256,28,0,k,1,3,2,op%d.\n", i);
		tw_variance_digest(typed(text.ptr), 80, &out);
		assert_non_null(strstr(out.ptr, "op10."));
		assert_null(strstr(out.ptr, "op11."));
		assert_int_equal(!!strstr(out.ptr, ", first 10 shown\n"), rows > 10);
	}
	tw_str_release(&text);
	tw_str_release(&out);
	end(&s);
}

/* ---- memory */

static int all_steps(const struct trawl_allocator *allocator)
{
	struct steps s;
	struct trawl_table *table;
	struct tw_str out;
	int status;

	begin(&s, allocator);
	tw_str_init(&out, allocator);
	status = variance_of(
		&s, REPORT_HEADER "a,1,3," K("ka") "b,1.1,4.3," K("kb") "c,,4," K("kc"), 2);
	if (!status)
		status = timestamps_of(&s,
				       OP_HEADER "256,28,0,gemm,4,9,5,aten::mm,\"((8, 16), (16, 4))"
						 "\",,4\n256,28,0,post,4,9,5,,,,\n"
						 "512,28,0,x,4,9,5,,,,\n",
				       0.01);
	if (!status)
		status = overlap_of(&s, CALL_HEADER "256,28,3,0.5,3,10,20\n1024,28,3,0,1,1,2\n");
	if (!status) {
		tw_variance_digest(s.table, 100, &out);
		table = tw_variance_table(s.table, allocator);
		status = table && !out.failed ? 0 : TRAWL_ENOMEM;
		trawl_table_free(table);
	}
	if (!status && s.told.failed)
		status = TRAWL_ENOMEM;
	tw_str_release(&out);
	end(&s);
	return status;
}

static void each_allocation_fails_once(void **state)
{
	struct failing failing;
	int status;
	long n;

	(void)state;
	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = all_steps(&failing.allocator);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
		assert_true(n < 100000);
	}
	assert_int_equal(status, 0);
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decimals),
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(headers_and_arguments),
		cmocka_unit_test(kernels_of_a_cell),
		cmocka_unit_test(damaged_cells),
		cmocka_unit_test(rows_by_difference),
		cmocka_unit_test(columns_in_order),
		cmocka_unit_test(the_shortest_call_of_the_instances),
		cmocka_unit_test(rows_left_out),
		cmocka_unit_test(sheets_that_are_none),
		cmocka_unit_test(calls_by_operation),
		cmocka_unit_test(calls_by_kernel),
		cmocka_unit_test(rows_without_calls),
		cmocka_unit_test(overlaps),
		cmocka_unit_test(overlaps_of_older_files),
		cmocka_unit_test(collectives_of_a_report),
		cmocka_unit_test(collectives_of_a_trace),
		cmocka_unit_test(readings),
		cmocka_unit_test(digest),
		cmocka_unit_test(digest_of_a_narrow_terminal),
		cmocka_unit_test(digest_of_many),
		cmocka_unit_test(each_allocation_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
