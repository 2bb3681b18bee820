/* Hashes: what an input can be made to say costs no more probes than anything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "text/str.h"
#include "store/pool.h"

#include <stdlib.h>
#include <string.h>

enum { TEXTS = 20000, TEXT = 32 };

/* Steps from where each text of the pool belongs to where it is, all together. */
static uint64_t probes_of(const struct tw_pool *pool)
{
	uint32_t mask = pool->slot_count - 1, slot;
	uint64_t probes = 0;

	for (slot = 0; slot < pool->slot_count; slot++)
		if (pool->slots[slot])
			probes += (slot - pool->entries[pool->slots[slot]].hash) & mask;
	return probes;
}

/* All of TEXTS texts, which are different, in a pool: about a step each, as of random texts. */
static void check_pool(char (*texts)[TEXT])
{
	struct tw_pool pool;
	uint32_t i;

	assert_int_equal(tw_pool_init(&pool, trawl_allocator_default()), 0);
	for (i = 0; i < TEXTS; i++)
		assert_int_equal(tw_pool_intern(&pool, texts[i], TEXT), i + 1);
	for (i = 0; i < TEXTS; i++)
		assert_int_equal(tw_pool_find(&pool, texts[i], TEXT), i + 1);
	assert_true(probes_of(&pool) < 2 * TEXTS);
	tw_pool_release(&pool);
}

static void put64(char *p, uint64_t value)
{
	memcpy(p, &value, 8);
}

/*
 * Without a secret, the second eight bytes can make the product of the first sixteen 0, whatever
 * the first eight are.
 */
static void test_texts_made_to_collide(void **state)
{
	char(*texts)[TEXT] = calloc(TEXTS, TEXT);
	uint64_t i, same;

	assert_non_null(texts);
	for (i = 0; i < TEXTS; i++) {
		put64(texts[i], i * 0x0101010101010101u + 7);
		put64(texts[i] + 8, (uint64_t)TEXT * TW_HASH_K1);
		put64(texts[i] + 16, 5);
	}
	for (i = same = 0; i < TEXTS; i++)
		same += tw_hash_fixed(texts[i], TEXT) == tw_hash_fixed(texts[0], TEXT);
	assert_int_equal(same, TEXTS);
	check_pool(texts);
	free(texts);
}

/* The other factor: eight bytes that are the constant hide what stands beside them. */
static void test_other_factor(void **state)
{
	char(*texts)[TEXT] = calloc(TEXTS, TEXT);
	uint64_t i, same;

	assert_non_null(texts);
	for (i = 0; i < TEXTS; i++) {
		put64(texts[i], TW_HASH_K0);
		put64(texts[i] + 8, i);
		memcpy(texts[i] + 16, "the same end  ..", 16);
	}
	for (i = same = 0; i < TEXTS; i++)
		same += tw_hash_fixed(texts[i], TEXT) == tw_hash_fixed(texts[0], TEXT);
	assert_int_equal(same, TEXTS);
	check_pool(texts);
	free(texts);
}

/* Keys of groups and short texts, where one step makes the whole hash. */
static void test_last_step(void **state)
{
	enum { LEN = 16 };
	uint64_t i, same = 0, others = 0;
	char text[LEN];

	for (i = 0; i < 1000; i++) {
		put64(text, i);
		put64(text + 8, TW_HASH_K1 ^ (uint64_t)LEN * TW_HASH_K1);
		same += !tw_hash_fixed(text, LEN);
		others += (tw_hash_bytes(text, LEN) & 0xffff) != 0;
	}
	assert_int_equal(same, 1000);
	assert_true(others > 990);
}

/* Ids of which all belong to one line of a table, were the secret known. */
static void test_ids_made_to_collide(void **state)
{
	enum { IDS = 2000, LINES = 4096 };
	unsigned *at = calloc(LINES, sizeof(*at)), most = 0, i, count;
	uint64_t id;

	assert_non_null(at);
	for (id = count = 0; count < IDS; id += 8) {
		if (tw_hash_mix(id >> 3 ^ TW_HASH_K0, TW_HASH_K1) & (LINES - 1))
			continue;
		count++;
		at[tw_hash_id(id) >> 3 & (LINES - 1)]++;
	}
	for (i = 0; i < LINES; i++)
		most = at[i] > most ? at[i] : most;
	assert_true(most < 20);
	free(at);
}

/* What is written is the same in every process: worked out with Python's integers. */
static void test_fixed(void **state)
{
	assert_int_equal(tw_hash_fixed("", 0), 0xc9d874ca57d9e055u);
	assert_int_equal(tw_hash_fixed("abc", 3), 0xe6a054618526e7c3u);
	assert_int_equal(tw_hash_fixed("the quick brown fox jumps", 25), 0x6d24844e05ca9e75u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_made_to_collide),
		cmocka_unit_test(test_other_factor),
		cmocka_unit_test(test_last_step),
		cmocka_unit_test(test_ids_made_to_collide),
		cmocka_unit_test(test_fixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
