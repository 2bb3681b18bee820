/* Every row of the files of data/ has a source and can be found by the names it is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/tables.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows of a file */

#define MOST_ROWS 1000
#define MOST_FIELDS 7

struct file {
	char *text;
	char *field[MOST_ROWS][MOST_FIELDS];
	size_t rows;
};

/* Splits a line in place; the number of its fields. */
static size_t split(char *line, char **field)
{
	size_t n = 0;

	for (;;) {
		assert_true(n < MOST_FIELDS);
		field[n++] = line;
		line = strchr(line, '\t');
		if (!line)
			return n;
		*line++ = '\0';
	}
}

/* Each row has `fields` fields, without blanks around them; all but the one `may_be_empty`. */
static void read_file(struct file *f, const char *path, size_t fields, size_t may_be_empty)
{
	char *line, *next;
	size_t i, len;

	f->rows = 0;
	f->text = scratch_read(path, NULL);
	if (!f->text)
		fail_msg("cannot read %s: run from the root of the sources", path);
	for (line = f->text; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (!*line || *line == '#')
			continue;
		assert_true(f->rows < MOST_ROWS);
		assert_int_equal(split(line, f->field[f->rows]), fields);
		for (i = 0; i < fields; i++) {
			const char *text = f->field[f->rows][i];

			len = strlen(text);
			if (!len && i != may_be_empty)
				fail_msg("%s: '%s' has an empty field %zu", path, line, i + 1);
			assert_false(len && (*text == ' ' || text[len - 1] == ' '));
		}
		f->rows++;
	}
	assert_true(f->rows > 0);
}

#define NONE_EMPTY SIZE_MAX

/* ---- operations */

static void test_operations(void **state)
{
	struct file f;
	size_t i;

	read_file(&f, "data/op_categories.tsv", 3, NONE_EMPTY);
	assert_int_equal(f.rows, tw_op_category_count + tw_op_category_pattern_count);
	for (i = 0; i < f.rows; i++) {
		const char *found = tw_op_category(f.field[i][0], strlen(f.field[i][0]));

		if (!found || strcmp(found, f.field[i][1]))
			fail_msg("%s: %s, not %s", f.field[i][0], found ? found : "nothing",
				 f.field[i][1]);
	}
	free(f.text);
}

/* Names that begin other names are told apart, one letter more or less is another name. */
static void test_operations_that_begin_others(void **state)
{
	size_t i, j, pairs = 0;
	char longer[300];

	for (i = 0; i < tw_op_category_count; i++) {
		const char *name = tw_op_categories[i].op;
		size_t len = strlen(name);
		bool shorter_known = false, longer_known = false;

		snprintf(longer, sizeof(longer), "%s_", name);
		for (j = 0; j < tw_op_category_count; j++) {
			const char *other = tw_op_categories[j].op;

			if (i != j && !strncmp(other, name, len)) {
				pairs++;
				assert_string_equal(tw_op_category(other, strlen(other)),
						    tw_op_categories[j].category);
				/* The same text, of which only the beginning is the name. */
				assert_string_equal(tw_op_category(other, len),
						    tw_op_categories[i].category);
			}
			shorter_known |= strlen(other) == len - 1 && !strncmp(other, name, len - 1);
			longer_known |= !strcmp(other, longer);
		}
		if (!shorter_known)
			assert_null(tw_op_category(name, len - 1));
		if (!longer_known)
			assert_null(tw_op_category(longer, len + 1));
	}
	assert_true(pairs > 10);
}

static void test_fused_operations(void **state)
{
	struct file f;
	size_t i;

	read_file(&f, "data/triton_ops.tsv", 4, NONE_EMPTY);
	assert_int_equal(f.rows, tw_triton_op_count);
	for (i = 0; i < f.rows; i++)
		assert_int_equal(tw_triton_op(f.field[i][0], strlen(f.field[i][0]))->cost,
				 strtol(f.field[i][1], NULL, 10));
	assert_int_equal(tw_triton_op("add_and_more", 3)->cost, 1);
	assert_null(tw_triton_op("adding", 6));
	assert_null(tw_triton_op("", 0));
	free(f.text);
}

/* ---- kernels */

/* A name made from a pattern, with `filler` for each star. */
static void sample(char *out, size_t size, const char *pattern, const char *filler)
{
	size_t n = 0;

	for (; *pattern; pattern++) {
		n += (size_t)snprintf(out + n, size - n, "%.*s", *pattern == '*' ? 99 : 1,
				      *pattern == '*' ? filler : pattern);
		assert_true(n < size);
	}
}

static enum tw_kernel_class class_of(const char *name)
{
	if (!strcmp(name, "copy"))
		return TW_KERNEL_COPY;
	if (!strcmp(name, "fill"))
		return TW_KERNEL_FILL;
	assert_string_equal(name, "communication");
	return TW_KERNEL_COMMUNICATION;
}

/* What a name is taken for must be what its own row says, whichever row comes first. */
static void test_kernels(void **state)
{
	static const char *const fillers[] = { "", "_", "<float, 8>(", "Dev Kernel" };
	char name[300];
	struct file f;
	size_t i, k;

	read_file(&f, "data/kernel_names.tsv", 5, 2);
	assert_int_equal(f.rows, tw_kernel_name_count);
	for (i = 0; i < f.rows; i++) {
		char *const *row = f.field[i];

		for (k = 0; k < sizeof(fillers) / sizeof(fillers[0]); k++) {
			const struct tw_kernel_name *found;

			sample(name, sizeof(name), row[0], fillers[k]);
			assert_true(
				tw_name_matches(tw_kernel_names[i].pattern, name, strlen(name)));
			found = tw_kernel_name(name, strlen(name));
			assert_non_null(found);
			if (found->class != class_of(row[1]) || strcmp(found->collective, row[2]))
				fail_msg("'%s' of '%s' is taken by '%s'", name, row[0],
					 found->pattern);
		}
		assert_string_equal(tw_kernel_names[i].library, row[3]);
	}
	free(f.text);
}

/* ---- collectives and types */

static void test_collectives(void **state)
{
	struct file f;
	size_t i;

	read_file(&f, "data/collective_names.tsv", 3, NONE_EMPTY);
	assert_int_equal(f.rows, tw_collective_name_count);
	for (i = 0; i < f.rows; i++) {
		const char *name = f.field[i][0], *found = tw_collective(name, strlen(name));

		assert_non_null(found);
		assert_string_equal(found, f.field[i][1]);
	}
	assert_string_equal(tw_collective("ALLREDUCE_and more", 9), "allreduce");
	assert_null(tw_collective("allreduces", 10));
	assert_null(tw_collective("", 0));
	free(f.text);
}

static void test_metrics_tags(void **state)
{
	static const char *const names[] = {
		[TW_METRICS_COMPUTE] = "compute",     [TW_METRICS_COMMUNICATION] = "communication",
		[TW_METRICS_OPTIMIZER] = "optimizer", [TW_METRICS_PREFETCH] = "prefetch",
		[TW_METRICS_OTHER] = "other",
	};
	char tag[100];
	struct file f;
	size_t i;

	read_file(&f, "data/metrics_tags.tsv", 3, NONE_EMPTY);
	assert_int_equal(f.rows, tw_metrics_tag_count);
	for (i = 0; i < f.rows; i++) {
		snprintf(tag, sizeof(tag), "epoch0_step5_%s_0", f.field[i][0]);
		assert_string_equal(names[tw_metrics_category(tag)], f.field[i][1]);
	}
	assert_int_equal(tw_metrics_category("Grad_CLIP"), TW_METRICS_OPTIMIZER);
	assert_int_equal(tw_metrics_category("forwar"), TW_METRICS_OTHER);
	assert_int_equal(tw_metrics_category(""), TW_METRICS_OTHER);
	/* The first row counts. */
	assert_int_equal(tw_metrics_category("prefetch_all_gather"), TW_METRICS_COMMUNICATION);
	free(f.text);
}

static void test_types(void **state)
{
	char name[100];
	struct file f;
	size_t i;

	read_file(&f, "data/dtypes.tsv", 7, NONE_EMPTY);
	assert_int_equal(f.rows, tw_dtype_count);
	for (i = 0; i < f.rows; i++) {
		unsigned bits = (unsigned)strtoul(f.field[i][1], NULL, 10);
		const char *precision = strcmp(f.field[i][2], "-") ? f.field[i][2] : "";

		assert_true(bits == 4 || bits == 6 || bits == 8 || bits == 16 || bits == 32 ||
			    bits == 64 || bits == 128);
		snprintf(name, sizeof(name), "c10::%s", f.field[i][0]);
		assert_int_equal(tw_dtype_bytes(name, strlen(name)), bits / 8);
		assert_int_equal(tw_dtype_bytes(name + 5, strlen(name + 5)), bits / 8);
		assert_string_equal(tw_dtype(name, strlen(name))->precision, precision);
		assert_int_equal(tw_dtype(name, strlen(name))->values,
				 strtoul(f.field[i][3], NULL, 10));
		if (strcmp(f.field[i][5], "-"))
			assert_ptr_equal(tw_dtype_of_number(strtol(f.field[i][5], NULL, 10)),
					 tw_dtype(name, strlen(name)));
	}
	assert_int_equal(tw_dtype_bytes("BFloat16", 8), 2);
	assert_int_equal(tw_dtype_bytes("FLOAT", 5), 4);
	assert_int_equal(tw_dtype_bytes("Floats", 6), 0);
	assert_int_equal(tw_dtype_bytes("c10::c10::Float", 15), 0);
	assert_int_equal(tw_dtype_bytes("", 0), 0);
	free(f.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_fused_operations),
		cmocka_unit_test(test_operations_that_begin_others),
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_metrics_tags),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
