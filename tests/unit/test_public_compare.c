/* Comparisons as users of the library see them: nothing but trawl/trawl.h. */
#include <trawl/trawl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"

static struct scratch scratch;

/* A kernel of 1 ms, and one of `other` ms: the total time is their sum. */
static void write_trace(const char *name, int other)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,"
		 "\"ts\":0,\"dur\":1000,\"args\":{\"device\":0,\"stream\":7}},"
		 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"norm\",\"pid\":0,\"tid\":7,"
		 "\"ts\":1000,\"dur\":%d000,\"args\":{\"device\":0,\"stream\":7}}]",
		 other);
	scratch_write(&scratch, name, text);
}

static int make_files(void **state)
{
	scratch_make(&scratch);
	write_trace("before.json", 1);
	write_trace("after.json", 3);
	scratch_write(&scratch, "text.json", "hello\n");
	scratch_write(
		&scratch, "module.json",
		"[{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: Net_0\",\"pid\":1,"
		"\"tid\":2,\"ts\":0,\"dur\":50},"
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":2,"
		"\"ts\":5,\"dur\":5,\"args\":{\"correlation\":1}},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":20,"
		"\"dur\":7,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}}]");
	return 0;
}

static int remove_files(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static int compare(struct trawl_comparison **c, const char *const *names, size_t count,
		   const struct trawl_compare_options *options, struct trawl_error *err)
{
	static char paths[3][512];
	const char *list[3];
	size_t i;

	for (i = 0; i < count; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s", scratch_path(&scratch, names[i]));
		list[i] = paths[i];
	}
	return trawl_compare(c, list, count, options, err);
}

static void keep_line(void *kept, const char *line)
{
	snprintf(kept, 256, "%s", line);
}

static void what_got_slower(void **state)
{
	static const char *const names[] = { "before.json", "after.json" };
	const struct trawl_table *table;
	struct trawl_comparison *c;
	struct trawl_error err;
	char line[256] = "";
	bool total;
	size_t i;

	assert_int_equal(compare(&c, names, 2, NULL, &err), 0);
	assert_true(trawl_comparison_is_whole(c));
	assert_string_equal(trawl_comparison_label(c, 0), "before.json");
	assert_string_equal(trawl_comparison_label(c, 1), "after.json");
	/* 4 ms in the place of 2. */
	assert_true(trawl_comparison_lines(c) > 0);
	assert_non_null(strstr(trawl_comparison_line(c, 0), "100 % slower"));
	assert_null(trawl_comparison_uneven(c));
	assert_true(trawl_comparison_tables(c) >= 7);
	for (i = 0; i < trawl_comparison_tables(c); i++) {
		table = trawl_comparison_table(c, i);
		assert_ptr_equal(trawl_comparison_find(c, trawl_table_name(table)), table);
	}
	assert_null(trawl_comparison_find(c, "no such table"));
	/* The total time, and the kernel that took 2 ms more. */
	assert_true(trawl_comparison_gate(c, 50, keep_line, line, &total) >= 2);
	assert_true(line[0] && total);
	assert_int_equal(trawl_comparison_gate(c, 1000, NULL, NULL, NULL), 0);
	trawl_comparison_free(c);
	trawl_comparison_free(NULL);
}

/* Each against the first: rows of the second, then of the third, behind their labels. */
static void three_sides(void **state)
{
	static const char *const names[] = { "before.json", "after.json", "before.json" };
	const struct trawl_table *timeline;
	struct trawl_compare_options options;
	struct trawl_comparison *c;
	struct trawl_error err;
	bool total = false;

	trawl_compare_options_init(&options);
	options.labels[2] = "again";
	assert_int_equal(compare(&c, names, 3, &options, &err), 0);
	assert_string_equal(trawl_comparison_label(c, 2), "again");
	assert_int_equal(trawl_table_rows(trawl_comparison_find(c, "comparison_summary")), 3);
	timeline = trawl_comparison_find(c, "timeline_changes");
	assert_string_equal(trawl_table_column(timeline, 0)->header, "test");
	assert_string_equal(trawl_table_cell(timeline, 0, 0).text, "after.json");
	assert_string_equal(trawl_table_cell(timeline, trawl_table_rows(timeline) - 1, 0).text,
			    "again");
	assert_non_null(strstr(trawl_comparison_line(c, 0), "after.json is 100 % slower"));
	assert_non_null(strstr(trawl_comparison_line(c, trawl_comparison_lines(c) - 3),
			       "again and before.json take the same time"));
	/* Of the second alone. */
	assert_int_equal(trawl_comparison_gate(c, 50, NULL, NULL, &total),
			 trawl_comparison_gate(c, 99, NULL, NULL, NULL));
	assert_true(total);
	trawl_comparison_free(c);
}

static void keep_text(void *kept, const char *text, size_t len)
{
	snprintf(kept, 256, "%.*s", (int)len, text);
}

static void stacks(void **state)
{
	struct trawl_compare_options o;
	struct trawl_comparison *c;
	struct trawl_error err;
	char text[256] = "";

	trawl_compare_options_init(&o);
	assert_int_equal(compare(&c, (const char *[]){ "module.json", "module.json" }, 2, &o, &err),
			 0);
	assert_int_equal(
		trawl_comparison_stacks(c, 0, TRAWL_STACKS_BY_MODULE, keep_text, text, &err), 0);
	assert_string_equal(text, "Net_0;cudaLaunchKernel;gemm 7000 7000\n");
	/* There is one test, and full stacks were not asked for. */
	assert_int_equal(trawl_comparison_stacks(c, 1, TRAWL_STACKS_BY_MODULE, keep_text, text,
						 &err),
			 TRAWL_ENODATA);
	assert_int_equal(trawl_comparison_stacks(c, 0, TRAWL_STACKS_FULL, keep_text, text, &err),
			 TRAWL_ENODATA);
	trawl_comparison_free(c);
	o.full_stacks = true;
	assert_int_equal(compare(&c, (const char *[]){ "module.json", "module.json" }, 2, &o, &err),
			 0);
	assert_int_equal(trawl_comparison_stacks(c, 0, TRAWL_STACKS_FULL, keep_text, text, &err),
			 0);
	assert_string_equal(text, "nn.Module: Net_0;cudaLaunchKernel;gemm 7000 7000\n");
	trawl_comparison_free(c);
}

static void a_workbook(void **state)
{
	static const char *const names[] = { "before.json", "after.json", "before.json" };
	struct trawl_compare_options options;
	struct trawl_comparison *c;
	struct trawl_error err;
	char path[512];
	size_t tables = 0, more = 0;

	trawl_compare_options_init(&options);
	options.workbook = true;
	snprintf(path, sizeof(path), "%s", scratch_path(&scratch, "out.xlsx"));
	assert_int_equal(compare(&c, names, 2, &options, &err), 0);
	assert_int_equal(trawl_comparison_write_xlsx(c, path, &tables, &err), 0);
	assert_true(tables > 3);
	assert_int_equal(trawl_comparison_write_xlsx(c, path, NULL, &err), 0);
	assert_int_equal(access(path, F_OK), 0);
	trawl_comparison_free(c);
	unlink(path);
	assert_int_equal(compare(&c, names, 3, &options, &err), 0);
	assert_int_equal(trawl_comparison_write_xlsx(c, path, &more, &err), 0);
	assert_true(more >= tables);
	trawl_comparison_free(c);
	unlink(path);
}

static void comparisons_that_are_refused(void **state)
{
	static const char *const none[] = { "before.json", "absent" };
	static const char *const text[] = { "before.json", "text.json" };
	struct trawl_comparison *c;
	struct trawl_error err;

	assert_int_equal(compare(&c, none, 1, NULL, &err), TRAWL_EUSAGE);
	assert_null(c);
	assert_int_equal(compare(&c, none, 2, NULL, &err), TRAWL_EIO);
	assert_int_not_equal(compare(&c, text, 2, NULL, &err), 0);
	assert_null(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_got_slower),
		cmocka_unit_test(three_sides),
		cmocka_unit_test(stacks),
		cmocka_unit_test(a_workbook),
		cmocka_unit_test(comparisons_that_are_refused),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
