/*
 * Hashes of short keys.  Those for tables in memory (tw_hash_bytes(), tw_hash_id()) depend on a
 * secret of the process, so that no input can be made whose keys collide; nothing that is written
 * may depend on them.
 */
#ifndef TW_BASE_HASH_H
#define TW_BASE_HASH_H

#include <stdint.h>
#include <string.h>

/* Folds a 128-bit product: every bit of both factors reaches every bit of the result. */
static inline uint64_t tw_hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define TW_HASH_K0 0x9e3779b97f4a7c15u
#define TW_HASH_K1 0xd6e8feb86659fd93u

/* The same in every process: for numbers that spread, not for tables of what an input says. */
static inline uint64_t tw_hash_u64(uint64_t value)
{
	return tw_hash_mix(value ^ TW_HASH_K0, TW_HASH_K1);
}

/*
 * The secret: of the system's randomness when the program starts, or made of TRAWL_HASH_SEED, a
 * number, so that tests repeat (hash.c).  The second one is odd.
 */
extern uint64_t tw_hash_secret[2];

/*
 * For ids, which come in runs: eight in a row get places beside each other, in one line of the
 * cache.  (More would make runs that collide too long to probe.)
 */
static inline uint64_t tw_hash_id(uint64_t id)
{
	return tw_hash_mix(id >> 3 ^ tw_hash_secret[0], tw_hash_secret[1]) << 3 | (id & 7);
}

static inline uint64_t tw_load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static inline uint64_t tw_hash_tail(const char *p, size_t len)
{
	uint64_t v = 0;

	if (len >= 4) {
		uint32_t lo, hi;

		memcpy(&lo, p, 4);
		memcpy(&hi, p + len - 4, 4);
		return (uint64_t)hi << 32 | lo;
	}
	if (len > 0) {
		v = (unsigned char)p[0];
		v |= (uint64_t)(unsigned char)p[len / 2] << 8;
		v |= (uint64_t)(unsigned char)p[len - 1] << 16;
	}
	return v;
}

/*
 * A factor that is 0 makes a product that knows nothing of the other: with `k` and `h` secret,
 * nobody can make it so.
 */
static inline uint64_t tw_hash_from(uint64_t k, uint64_t h, const char *p, size_t len)
{
	size_t left = len;
	uint64_t a, b;

	while (left > 16) {
		h = tw_hash_mix(tw_load64(p) ^ k, tw_load64(p + 8) ^ h);
		p += 16;
		left -= 16;
	}
	if (left > 8) {
		a = tw_load64(p);
		b = tw_load64(p + left - 8);
	} else if (left == 8) {
		a = tw_load64(p);
		b = 0;
	} else {
		a = tw_hash_tail(p, left);
		b = 0;
	}
	return tw_hash_mix(a ^ k, b ^ h ^ TW_HASH_K1);
}

static inline uint64_t tw_hash_bytes(const char *p, size_t len)
{
	return tw_hash_from(tw_hash_secret[0], len * TW_HASH_K1 ^ tw_hash_secret[1], p, len);
}

/* The same in every process: for what is written, as a name or as a check of what arrives. */
static inline uint64_t tw_hash_fixed(const char *p, size_t len)
{
	return tw_hash_from(TW_HASH_K0, len * TW_HASH_K1, p, len);
}

#endif
