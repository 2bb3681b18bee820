/* Tables as bytes and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "failing.h"
#include "render/render.h"
#include "scratch.h"
#include "table/pack.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 24

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static double draw_real(void)
{
	double value = (double)draw(1u << 30) / (double)(1 + draw(1000));

	return draw(2) ? value : -value;
}

/* Small ones, large ones, the ends of the range. */
static int64_t draw_integer(void)
{
	static const int64_t ends[] = { 0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN };

	if (draw(2))
		return ends[draw(sizeof(ends) / sizeof(ends[0]))];
	return (int64_t)(draw(1u << 31) << draw(33)) * (draw(2) ? 1 : -1);
}

static void fill_cell(struct trawl_table *table, size_t row, size_t column)
{
	static const char *const texts[] = { "",	  "aten::mm", "a,b\n\"c\"",
					     "\xce\xbcs", "\xff\xfe", "=1+1" };

	if (!draw(4))
		return;
	switch (trawl_table_column(table, column)->type) {
	case TRAWL_COLUMN_TEXT:
	case TRAWL_COLUMN_ID:
		if (draw(8))
			tw_table_set_str(table, row, column, texts[draw(6)]);
		else
			tw_table_set_text(table, row, column, "with\0nul", 8);
		break;
	case TRAWL_COLUMN_REAL:
		tw_table_set_real(table, row, column, draw_real());
		break;
	default:
		tw_table_set_integer(table, row, column, draw_integer());
	}
}

static struct trawl_table *random_table(uint64_t from)
{
	static const char *const headers[] = { "Name", "count", "time (\xc2\xb5s)", "share" };
	static const char *const units[] = { "", "\xc2\xb5s", "%" };
	struct trawl_column columns[9] = { 0 };
	struct tw_table_spec spec = { .name = "ops", .meaning = "One row an operation." };
	struct trawl_table *table;
	size_t count, rows, i, k;

	seed = from;
	count = 1 + draw(9);
	rows = draw(3) ? draw(20) : draw(200);
	for (i = 0; i < count; i++)
		columns[i] = (struct trawl_column){
			.header = headers[draw(4)],
			.type = (enum trawl_column_type)draw(5),
			.unit = units[draw(3)],
			.scale = (unsigned char)draw(10),
			.digits = (unsigned char)draw(4),
			.width = (unsigned char)draw(256),
			.meaning = draw(2) ? "What it is." : NULL,
			.over_ranks = (enum trawl_over_ranks)draw(TRAWL_MAX + 1),
			.place = (signed char)(draw(3) - 1),
		};
	spec.keep_empty = draw(2);
	spec.in_order = draw(2);
	if (!draw(5))
		spec.meaning = NULL;
	table = tw_table_new_columns(&spec, columns, count, trawl_allocator_default());
	assert_non_null(table);
	tw_table_name_column(table, 0, "Parameter: ", "M");
	for (i = 0; i < rows; i++) {
		tw_table_add_row(table);
		for (k = 0; k < count; k++)
			fill_cell(table, i, k);
	}
	for (i = draw(4); i > 0; i--)
		tw_table_add_note(table, "note %zu", i);
	assert_int_equal(tw_table_finish(table, NULL), 0);
	return table;
}

/* Everything that anybody shows of a table. */
static void show(const struct trawl_table *table, struct tw_str *out)
{
	tw_str_clear(out);
	tw_render_csv(table, out);
	tw_render_markdown(table, out);
	tw_render_text(table, out, 100, 0);
	tw_render_json(&table, 1, "report", out);
	assert_false(out->failed);
}

static void check_workbooks(const struct trawl_table *a, const struct trawl_table *b)
{
	const struct trawl_allocator *memory = trawl_allocator_default();
	struct scratch scratch;
	const char *path_a, *path_b;
	char *first, *second;
	size_t len_a, len_b;

	scratch_make(&scratch);
	path_a = scratch_path(&scratch, "a.xlsx");
	path_b = scratch_path(&scratch, "b.xlsx");
	assert_int_equal(tw_render_xlsx(&a, 1, path_a, memory, NULL), 0);
	assert_int_equal(tw_render_xlsx(&b, 1, path_b, memory, NULL), 0);
	first = scratch_read(path_a, &len_a);
	second = scratch_read(path_b, &len_b);
	assert_int_equal(len_a, len_b);
	assert_memory_equal(first, second, len_a);
	free(first);
	free(second);
	scratch_remove(&scratch);
}

static void unpacked_shows_the_same(void **state)
{
	struct tw_str bytes, before, after;
	struct trawl_table *table, *back;
	size_t used, ahead, c;
	uint64_t i;

	tw_str_init(&bytes, trawl_allocator_default());
	tw_str_init(&before, trawl_allocator_default());
	tw_str_init(&after, trawl_allocator_default());
	for (i = 0; i < 300; i++) {
		table = random_table(i);
		tw_str_clear(&bytes);
		tw_str_add_cstr(&bytes, "before");
		ahead = bytes.len;
		tw_table_pack(table, &bytes);
		used = bytes.len - ahead;
		tw_str_add_cstr(&bytes, "behind");
		assert_false(bytes.failed);
		show(table, &before);
		assert_int_equal(tw_table_unpack(&back, bytes.ptr + ahead, bytes.len - ahead,
						 &ahead, trawl_allocator_default(), NULL),
				 0);
		assert_int_equal(ahead, used);
		if (i < 5)
			check_workbooks(table, back);
		assert_int_equal(tw_table_spec(table)->keep_empty, tw_table_spec(back)->keep_empty);
		assert_int_equal(tw_table_spec(table)->in_order, tw_table_spec(back)->in_order);
		for (c = 0; c < trawl_table_columns(table); c++) {
			assert_int_equal(trawl_table_column(table, c)->over_ranks,
					 trawl_table_column(back, c)->over_ranks);
			assert_int_equal(trawl_table_column(table, c)->place,
					 trawl_table_column(back, c)->place);
		}
		/* It stands alone: neither the bytes nor the table are needed any more. */
		memset(bytes.ptr, 'x', bytes.len);
		trawl_table_free(table);
		show(back, &after);
		assert_string_equal(before.ptr, after.ptr);
		trawl_table_free(back);
	}
	tw_str_release(&bytes);
	tw_str_release(&before);
	tw_str_release(&after);
}

/* In a block of just these bytes, so that a sanitizer sees who reads on. */
static int unpack(const char *bytes, size_t len, struct failing *failing)
{
	char *copy = malloc(len ? len : 1);
	struct trawl_table *table;
	size_t used;
	int status;

	memcpy(copy, bytes, len);
	status = tw_table_unpack(&table, copy, len, &used, &failing->allocator, NULL);
	assert_true((table != NULL) == (status == 0));
	trawl_table_free(table);
	free(copy);
	assert_int_equal(failing->live_blocks, 0);
	return status;
}

static void cut_off_or_flipped_is_refused(void **state)
{
	struct trawl_table *table;
	struct failing failing;
	struct tw_str bytes;
	uint64_t i;
	size_t k;

	failing_init(&failing, -1);
	tw_str_init(&bytes, trawl_allocator_default());
	for (i = 0; i < 20; i++) {
		table = random_table(i);
		tw_str_clear(&bytes);
		tw_table_pack(table, &bytes);
		trawl_table_free(table);
		for (k = 0; k < bytes.len; k++)
			assert_int_equal(unpack(bytes.ptr, k, &failing), TRAWL_EFORMAT);
		for (k = 0; k < bytes.len * 8; k++) {
			bytes.ptr[k / 8] ^= (char)(1 << k % 8);
			assert_int_equal(unpack(bytes.ptr, bytes.len, &failing), TRAWL_EFORMAT);
			bytes.ptr[k / 8] ^= (char)(1 << k % 8);
		}
		assert_int_equal(unpack(bytes.ptr, bytes.len, &failing), 0);
	}
	tw_str_release(&bytes);
}

/* Puts the right length and checksum before what is wrong behind them. */
static void seal(char *bytes, size_t len)
{
	uint64_t head[2] = { len - HEAD_BYTES,
			     tw_hash_fixed(bytes + HEAD_BYTES, len - HEAD_BYTES) };

	memcpy(bytes + 8, head, sizeof(head));
}

/* Damage that the checksum does not tell of: refused or a table, but no crash, nothing lost. */
static void wrong_behind_a_right_checksum(void **state)
{
	unsigned refused = 0, taken = 0;
	struct trawl_table *table;
	struct failing failing;
	struct tw_str bytes;
	uint64_t i, k;

	failing_init(&failing, -1);
	tw_str_init(&bytes, trawl_allocator_default());
	for (i = 0; i < 100; i++) {
		table = random_table(i);
		tw_str_clear(&bytes);
		tw_table_pack(table, &bytes);
		trawl_table_free(table);
		for (k = 0; k < 100; k++) {
			char *byte = &bytes.ptr[HEAD_BYTES + draw(bytes.len - HEAD_BYTES)];
			char before = *byte;
			int status;

			*byte = (char)draw(256);
			seal(bytes.ptr, bytes.len);
			status = unpack(bytes.ptr, bytes.len, &failing);
			assert_true(!status || status == TRAWL_EFORMAT);
			refused += status != 0;
			taken += status == 0;
			*byte = before;
		}
		/* What is too short for what it says. */
		k = HEAD_BYTES + draw(bytes.len - HEAD_BYTES);
		seal(bytes.ptr, (size_t)k);
		assert_int_equal(unpack(bytes.ptr, (size_t)k, &failing), TRAWL_EFORMAT);
	}
	assert_true(refused > 100);
	assert_true(taken > 100);
	tw_str_release(&bytes);
}

/* A name, nothing else, then `tail`. */
static size_t make_bytes(char *bytes, const char *tail, size_t len)
{
	memcpy(bytes, "TRAWLTB2", 8);
	memcpy(bytes + HEAD_BYTES, "t\0\0\0", 4);
	memcpy(bytes + HEAD_BYTES + 4, tail, len);
	seal(bytes, HEAD_BYTES + 4 + len);
	return HEAD_BYTES + 4 + len;
}

/* Counts of which the bytes have no trace get no memory. */
static void large_counts_take_nothing(void **state)
{
#define HUGE_NUMBER "\xff\xff\xff\xff\x0f"
	static const struct {
		const char *tail;
		size_t len;
		int status;
	} cases[] = {
		{ "\0\0\0", 3, 0 },
		/* columns */
		{ HUGE_NUMBER "\0\0", 7, TRAWL_EFORMAT },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0", 12, TRAWL_EFORMAT },
		/* a number of 65 bits */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\0\0", 12, TRAWL_EFORMAT },
		/* rows of no columns, of a column of integers, of texts */
		{ "\0" HUGE_NUMBER "\0", 7, TRAWL_EFORMAT },
		{ "\x01h\0\0\0\x01\0\0\0\0\0" HUGE_NUMBER "\0", 17, TRAWL_EFORMAT },
		{ "\x01h\0\0\0\0\0\0\0\0\0" HUGE_NUMBER "\0", 17, TRAWL_EFORMAT },
		/* a text's length */
		{ "\x01h\0\0\0\0\0\0\0\0\0\x01" HUGE_NUMBER "\0", 18, TRAWL_EFORMAT },
		/* notes */
		{ "\0\0" HUGE_NUMBER, 7, TRAWL_EFORMAT },
		/* a type, a scale that there is not */
		{ "\x01h\0\0\0\x05\0\0\0\0\0\0\0", 13, TRAWL_EFORMAT },
		{ "\x01h\0\0\0\x02\x13\0\0\0\0\0\0", 13, TRAWL_EFORMAT },
		/* what becomes of it over ranks */
		{ "\x01h\0\0\0\x02\0\0\0\x0a\0\0\0", 13, 0 },
		{ "\x01h\0\0\0\x02\0\0\0\x0b\0\0\0", 13, TRAWL_EFORMAT },
		/* bits of rows that are not there, something behind the end */
		{ "\x01h\0\0\0\x01\0\0\0\0\0\x01\x02\0", 14, TRAWL_EFORMAT },
		{ "\x01h\0\0\0\x01\0\0\0\0\0\x01\0\0", 14, 0 },
		{ "\0\0\0\0", 4, TRAWL_EFORMAT },
		/* not a number */
		{ "\x01h\0\0\0\x03\0\0\0\0\0\x01\x01\0\0\0\0\0\0\xf0\x7f\0", 22, TRAWL_EFORMAT },
	};
	struct failing failing;
	char bytes[200];
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* A table of a column and a row takes a few blocks, and none is for the rest. */
		failing_init(&failing, 20);
		len = make_bytes(bytes, cases[i].tail, cases[i].len);
		assert_int_equal(unpack(bytes, len, &failing), cases[i].status);
		assert_false(failing.failed);
	}
}

static void every_allocation_may_fail(void **state)
{
	struct trawl_table *table = random_table(3);
	struct failing failing;
	struct tw_str bytes;
	long n;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		tw_str_init(&bytes, &failing.allocator);
		tw_table_pack(table, &bytes);
		assert_true(bytes.failed == failing.failed);
		tw_str_release(&bytes);
		assert_int_equal(failing.live_blocks, 0);
		if (!failing.failed)
			break;
	}
	assert_true(n > 0);
	tw_str_init(&bytes, trawl_allocator_default());
	tw_table_pack(table, &bytes);
	for (n = 0;; n++) {
		failing_init(&failing, n);
		if (!unpack(bytes.ptr, bytes.len, &failing))
			break;
		assert_true(failing.failed);
	}
	assert_true(n > 5);
	assert_false(failing.wrong_size);
	tw_str_release(&bytes);
	trawl_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacked_shows_the_same),
		cmocka_unit_test(cut_off_or_flipped_is_refused),
		cmocka_unit_test(wrong_behind_a_right_checksum),
		cmocka_unit_test(large_counts_take_nothing),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
