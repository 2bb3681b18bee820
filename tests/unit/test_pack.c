/* Reduced ranks as bytes and back, whatever becomes of the bytes; who reads which file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "failing.h"
#include "job/transport/rank_bytes.h"
#include "job/transport/work_sharing.h"

#include <stdlib.h>
#include <string.h>

/* ---- ranks ---- */

static const struct trawl_column columns[] = {
	TW_TEXT("name", 0, "of the thing"),
	TW_MS("time ms", 12, "how long"),
	TW_PERCENT_1("share", 0, "of all"),
};
static const struct tw_table_spec spec = {
	.name = "things", .meaning = "a row a thing", .columns = columns, .column_count = 3
};

static struct trawl_table *made_table(const struct trawl_allocator *a)
{
	struct trawl_table *table = tw_table_new(&spec, a);

	if (!table)
		return NULL;
	tw_table_add_row(table);
	tw_table_set_str(table, 0, 0, "gemm");
	tw_table_set_integer(table, 0, 1, -1500000);
	tw_table_set_real(table, 0, 2, 0.1);
	tw_table_add_row(table); /* of missing cells */
	tw_table_add_note(table, "a note");
	if (!tw_table_finish(table, NULL))
		return table;
	trawl_table_free(table);
	return NULL;
}

#define KINDS 2
#define COLLECTIVES 6

static void fill_kinds(struct tw_rank *rank)
{
	uint32_t dp = tw_pool_intern_cstr(&rank->texts, "dp");
	uint32_t tp = tw_pool_intern_cstr(&rank->texts, "tp");
	uint32_t kernel = tw_pool_intern_cstr(&rank->texts, "ncclDevKernel_AllReduce");
	/* With a zero byte, and of no bytes: texts like others. */
	uint32_t odd = tw_pool_intern(&rank->texts, "a\0b", 3);
	uint32_t none = tw_pool_intern(&rank->texts, "", 0);

	rank->kinds[0].args[TW_COLLECTIVE_GROUP] = dp;
	rank->kinds[0].args[TW_COLLECTIVE_DTYPE] = odd;
	rank->kinds[0].kernel = kernel;
	rank->kinds[1].args[TW_COLLECTIVE_GROUP] = tp;
	rank->kinds[1].stream = none;
	rank->kinds[1].device = tw_pool_intern_cstr(&rank->texts, "0");
}

static const struct tw_collective made[COLLECTIVES] = {
	{ INT64_MIN, INT64_MAX, 0, 7, 0 },
	{ INT64_MIN, INT64_MIN, UINT64_MAX, 8, 0 },
	{ -5, -9, 0, INT64_MAX, 1 }, /* ends before it starts: not ours to judge */
	{ 0, 300, 1, 9, 0 },
	{ 0, 300, 1, INT64_MIN, 1 },
	{ INT64_MAX, INT64_MAX, 0, -1, 1 },
};

/* A rank with something in every field. `rank` is due to be released also when it fails. */
static int make_rank(struct tw_rank *rank, const struct trawl_allocator *a)
{
	if (tw_rank_init(rank, a))
		return -1;
	rank->kinds = tw_alloc_array(a, KINDS, sizeof(*rank->kinds));
	rank->kind_count = rank->kinds ? KINDS : 0;
	rank->collectives = tw_alloc_array(a, COLLECTIVES, sizeof(*rank->collectives));
	rank->collective_count = rank->collectives ? COLLECTIVES : 0;
	rank->tables = tw_alloc_array(a, 2, sizeof(struct trawl_table *));
	rank->table_capacity = rank->tables ? 2 : 0;
	if (!rank->kinds || !rank->collectives || !rank->tables)
		return -1;
	fill_kinds(rank);
	memcpy(rank->collectives, made, sizeof(made));
	rank->rank = 12;
	rank->rule = TRAWL_RANK_BY_NAME;
	rank->state = TRAWL_RANK_DAMAGED;
	rank->worst = TRAWL_LOST;
	rank->file = UINT32_MAX;
	rank->name_rank = 12;
	rank->world_size = 16;
	rank->base_time_ns = INT64_C(1700000000123456789);
	rank->device_count = 8;
	rank->bytes = UINT64_MAX;
	rank->events = 1000000;
	rank->gpu_events = 128;
	rank->first_ns = INT64_MIN + 1;
	rank->last_ns = INT64_MAX;
	rank->timeline = (struct tw_timeline){ 1, -2, 3, 4, 5, 6, 7, 8, 9, INT64_MIN, 10, 11 };
	rank->host = tw_rank_keep(rank, "node-3");
	rank->message = tw_rank_keep(rank, "the file ends early");
	while (rank->table_count < 2) {
		rank->tables[rank->table_count] = made_table(a);
		if (!rank->tables[rank->table_count])
			return -1;
		rank->table_count++;
	}
	return rank->texts.failed ? -1 : 0;
}

static void assert_same_tables(const struct trawl_table *a, const struct trawl_table *b)
{
	size_t row, column;

	assert_string_equal(trawl_table_name(a), trawl_table_name(b));
	assert_string_equal(trawl_table_meaning(a), trawl_table_meaning(b));
	assert_int_equal(trawl_table_rows(a), trawl_table_rows(b));
	assert_int_equal(trawl_table_columns(a), trawl_table_columns(b));
	assert_int_equal(trawl_table_notes(b), 1);
	assert_string_equal(trawl_table_note(b, 0), "a note");
	for (column = 0; column < trawl_table_columns(a); column++) {
		assert_string_equal(trawl_table_column(b, column)->header, columns[column].header);
		assert_int_equal(trawl_table_column(b, column)->scale, columns[column].scale);
		for (row = 0; row < trawl_table_rows(a); row++) {
			struct trawl_cell x = trawl_table_cell(a, row, column);
			struct trawl_cell y = trawl_table_cell(b, row, column);

			assert_int_equal(x.state, y.state);
			assert_int_equal(x.integer, y.integer);
			assert_true(x.real == y.real);
			assert_int_equal(x.text_len, y.text_len);
			assert_memory_equal(x.text ? x.text : "", y.text ? y.text : "", x.text_len);
		}
	}
}

static void assert_same_facts(const struct tw_rank *a, const struct tw_rank *b)
{
	assert_int_equal(a->rank, b->rank);
	assert_int_equal(a->rule, b->rule);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->worst, b->worst);
	assert_int_equal(a->file, b->file);
	assert_int_equal(a->name_rank, b->name_rank);
	assert_int_equal(a->world_size, b->world_size);
	assert_true(a->base_time_ns == b->base_time_ns);
	assert_int_equal(a->device_count, b->device_count);
	assert_true(a->bytes == b->bytes);
	assert_int_equal(a->events, b->events);
	assert_int_equal(a->gpu_events, b->gpu_events);
	assert_true(a->first_ns == b->first_ns);
	assert_true(a->last_ns == b->last_ns);
	assert_memory_equal(&a->timeline, &b->timeline, sizeof(a->timeline));
	assert_string_equal(a->host, b->host);
	assert_string_equal(a->device_name, b->device_name);
	assert_string_equal(a->message, b->message);
}

static void assert_same_rank(const struct tw_rank *a, const struct tw_rank *b)
{
	uint64_t i;
	uint32_t id;
	size_t len, other_len;

	assert_same_facts(a, b);
	assert_int_equal(a->texts.count, b->texts.count);
	for (id = 0; id < a->texts.count; id++) {
		const char *text = tw_pool_text(&a->texts, id, &len);
		const char *other = tw_pool_text(&b->texts, id, &other_len);

		assert_int_equal(len, other_len);
		assert_memory_equal(text, other, len + 1);
	}
	assert_int_equal(a->kind_count, b->kind_count);
	assert_memory_equal(a->kinds, b->kinds, a->kind_count * sizeof(*a->kinds));
	assert_int_equal(a->collective_count, b->collective_count);
	for (i = 0; i < a->collective_count; i++) {
		assert_true(a->collectives[i].start_ns == b->collectives[i].start_ns);
		assert_true(a->collectives[i].end_ns == b->collectives[i].end_ns);
		assert_true(a->collectives[i].comms_id == b->collectives[i].comms_id);
		assert_true(a->collectives[i].sequence == b->collectives[i].sequence);
		assert_int_equal(a->collectives[i].kind, b->collectives[i].kind);
	}
	assert_int_equal(a->table_count, b->table_count);
	for (i = 0; i < a->table_count; i++)
		assert_same_tables(a->tables[i], b->tables[i]);
}

/* What tw_rank_unpack() makes of bytes; *used: how many it took. */
static int unpack(struct tw_rank *rank, const char *bytes, size_t len, size_t *used,
		  const struct trawl_allocator *a)
{
	struct tw_wire wire = tw_wire_from(bytes, len);

	tw_rank_unpack(rank, &wire, a);
	*used = len - (size_t)(wire.end - wire.at);
	return wire.status;
}

static void packed(struct tw_str *bytes, struct tw_rank *rank)
{
	tw_str_init(bytes, trawl_allocator_default());
	tw_rank_pack(rank, bytes);
	assert_false(bytes->failed);
}

static void test_there_and_back(void **state)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_rank rank, back;
	struct tw_str bytes, again;
	size_t used;

	assert_int_equal(make_rank(&rank, a), 0);
	packed(&bytes, &rank);
	tw_str_add_cstr(&bytes, "what follows");
	assert_int_equal(unpack(&back, bytes.ptr, bytes.len, &used, a), 0);
	assert_int_equal(used, bytes.len - strlen("what follows"));
	assert_same_rank(&rank, &back);
	packed(&again, &back);
	assert_int_equal(again.len, used);
	assert_memory_equal(again.ptr, bytes.ptr, used);
	tw_str_release(&bytes);
	tw_str_release(&again);
	tw_rank_release(&rank);
	tw_rank_release(&back);
}

static void test_empty_rank(void **state)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_rank rank, back;
	struct tw_str bytes;
	size_t used;

	assert_int_equal(tw_rank_init(&rank, a), 0);
	packed(&bytes, &rank);
	assert_int_equal(unpack(&back, bytes.ptr, bytes.len, &used, a), 0);
	assert_int_equal(used, bytes.len);
	assert_same_rank(&rank, &back);
	assert_int_equal(back.base_time_ns == TRAWL_TIME_NONE, true);
	tw_str_release(&bytes);
	tw_rank_release(&rank);
	tw_rank_release(&back);
}

/* What a collective costs, for the plan of large jobs in docs/MPI.md. */
static void test_size_of_collectives(void **state)
{
	enum { COUNT = 10000 };
	const struct trawl_allocator *a = trawl_allocator_default();
	struct tw_rank rank;
	struct tw_str none, all;
	uint64_t i;

	assert_int_equal(tw_rank_init(&rank, a), 0);
	rank.kinds = tw_alloc_array(a, 1, sizeof(*rank.kinds));
	rank.kind_count = 1;
	packed(&none, &rank);
	rank.collectives = tw_alloc_array(a, COUNT, sizeof(*rank.collectives));
	rank.collective_count = COUNT;
	/* One each 1.5 ms, 200 us long, numbered. */
	for (i = 0; i < COUNT; i++)
		rank.collectives[i] = (struct tw_collective){ (int64_t)i * 1500000,
							      (int64_t)i * 1500000 + 200000, 0,
							      (int64_t)i, 0 };
	packed(&all, &rank);
	/* Distance and length of three bytes each, kind, step of the sequence. */
	assert_in_range(all.len - none.len, 8 * COUNT - 16, 8 * COUNT + 16);
	tw_str_release(&none);
	tw_str_release(&all);
	tw_rank_release(&rank);
}

/* Unpacks bytes in a block of their very size, so that reading past them is seen. */
static int unpack_copy(const char *bytes, size_t len, struct tw_str *again, size_t *used)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	char *copy = malloc(len + !len);
	struct tw_rank rank;
	int status;

	memcpy(copy, bytes, len);
	status = unpack(&rank, copy, len, used, a);
	tw_str_clear(again);
	if (!status)
		tw_rank_pack(&rank, again);
	tw_rank_release(&rank);
	free(copy);
	return status;
}

static void test_cut_short(void **state)
{
	struct tw_rank rank;
	struct tw_str bytes, again;
	size_t len, used;

	assert_int_equal(make_rank(&rank, trawl_allocator_default()), 0);
	packed(&bytes, &rank);
	tw_str_init(&again, trawl_allocator_default());
	for (len = 0; len < bytes.len; len++)
		assert_int_equal(unpack_copy(bytes.ptr, len, &again, &used), TRAWL_EFORMAT);
	tw_str_release(&again);
	tw_str_release(&bytes);
	tw_rank_release(&rank);
}

/* Every bit turned, and every byte replaced: refused, or bytes that another rank packs into. */
static void test_damaged(void **state)
{
	static const unsigned char replacements[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct tw_rank rank;
	struct tw_str bytes, again;
	size_t at, i, used, refused = 0, other = 0;

	assert_int_equal(make_rank(&rank, trawl_allocator_default()), 0);
	packed(&bytes, &rank);
	tw_str_init(&again, trawl_allocator_default());
	for (at = 0; at < bytes.len; at++) {
		for (i = 0; i < 8 + sizeof(replacements); i++) {
			char was = bytes.ptr[at];
			int status;

			bytes.ptr[at] = (char)(i < 8 ? was ^ 1 << i : replacements[i - 8]);
			status = unpack_copy(bytes.ptr, bytes.len, &again, &used);
			if (status) {
				assert_int_equal(status, TRAWL_EFORMAT);
				refused++;
			} else {
				assert_int_equal(again.len, used);
				assert_memory_equal(again.ptr, bytes.ptr, used);
				other += bytes.ptr[at] != was;
			}
			bytes.ptr[at] = was;
		}
	}
	/* Both happen, or this would show nothing. */
	assert_true(refused > 1000);
	assert_true(other > 100);
	tw_str_release(&again);
	tw_str_release(&bytes);
	tw_rank_release(&rank);
}

/* Noise behind a good beginning, much of it counts that nothing backs. */
static void test_noise(void **state)
{
	struct tw_rank rank;
	struct tw_str bytes, again;
	uint64_t seed = 1;
	size_t round, at, used;

	assert_int_equal(make_rank(&rank, trawl_allocator_default()), 0);
	packed(&bytes, &rank);
	tw_str_init(&again, trawl_allocator_default());
	for (round = 0; round < 20000; round++) {
		int status;

		for (at = round % bytes.len; at < bytes.len; at++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			bytes.ptr[at] = (char)(seed >> 56);
		}
		status = unpack_copy(bytes.ptr, bytes.len, &again, &used);
		assert_true(status == 0 || status == TRAWL_EFORMAT);
		if (!status)
			assert_memory_equal(again.ptr, bytes.ptr, used);
		tw_str_clear(&bytes);
		tw_rank_pack(&rank, &bytes);
	}
	tw_str_release(&again);
	tw_str_release(&bytes);
	tw_rank_release(&rank);
}

static void test_no_memory(void **state)
{
	struct failing failing;
	struct tw_rank rank, back;
	struct tw_str bytes;
	size_t used;
	long n;
	int status;

	assert_int_equal(make_rank(&rank, trawl_allocator_default()), 0);
	packed(&bytes, &rank);
	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = unpack(&back, bytes.ptr, bytes.len, &used, &failing.allocator);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		tw_rank_release(&back);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 5);
	tw_str_release(&bytes);
	tw_rank_release(&rank);
}

static void test_numbers(void **state)
{
	static const struct {
		int64_t value;
		size_t len;
		unsigned char bytes[10];
	} cases[] = {
		{ 0, 1, { 0 } },
		{ -1, 1, { 1 } },
		{ 63, 1, { 126 } },
		{ 64, 2, { 0x80, 1 } },
		{ INT64_MIN, 10, { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 } },
	};
	static const unsigned char bad[][11] = {
		{ 0x80, 0 },						 /* 0 in two bytes */
		{ 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 },	 /* 65 bits */
		{ 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1 }, /* 71 */
	};
	struct tw_wire in, to;
	struct tw_str out;
	size_t i;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		tw_str_clear(&out);
		to = tw_wire_to(&out);
		assert_true(tw_wire_signed(&to, cases[i].value) == cases[i].value);
		assert_int_equal(out.len, cases[i].len);
		assert_memory_equal(out.ptr, cases[i].bytes, cases[i].len);
		in = tw_wire_from((const char *)cases[i].bytes, cases[i].len);
		assert_true(tw_wire_signed(&in, 0) == cases[i].value);
		assert_int_equal(in.status, 0);
		assert_ptr_equal(in.at, in.end);
	}
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		in = tw_wire_from((const char *)bad[i], sizeof(bad[i]));
		assert_int_equal(tw_wire_number(&in, 1, UINT64_MAX), 0);
		assert_int_equal(in.status, TRAWL_EFORMAT);
	}
	tw_str_release(&out);
}

/* ---- shares ---- */

static void share(uint32_t *owner, const int64_t *bytes, size_t files, size_t processes)
{
	struct tw_rank_file list[8] = { 0 };
	struct tw_rank_set set = { .files = list, .count = files };
	size_t i;

	for (i = 0; i < files; i++)
		list[i].bytes = bytes[i];
	assert_int_equal(tw_share_files(owner, &set, processes, trawl_allocator_default()), 0);
}

static void test_shares(void **state)
{
	/* By size 9 7 5 4 4 1: 9 | 7, then 5 to the 7, 4 to the 9, 4 to the 12 or 13, 1. */
	static const int64_t bytes[] = { 4, 9, 1, 7, 4, 5 };
	/* 9 | 7 -> 9 | 12 -> 13 | 12 -> 13 | 16 -> 14 | 16 */
	static const uint32_t owners[] = { 0, 0, 0, 1, 1, 1 };
	uint32_t owner[6];

	share(owner, bytes, 6, 2);
	assert_memory_equal(owner, owners, sizeof(owners));
}

static void test_shares_of_few_and_empty(void **state)
{
	static const int64_t none[] = { 0, 0, 0 };
	static const uint32_t owners[] = { 0, 1, 2 };
	uint32_t owner[3];

	/* Of unknown size: one each, the rest has nothing. */
	share(owner, none, 3, 5);
	assert_memory_equal(owner, owners, sizeof(owners));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_empty_rank),
		cmocka_unit_test(test_size_of_collectives),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_shares_of_few_and_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
