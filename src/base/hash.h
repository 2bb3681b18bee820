/* Hashes of short keys.  Not for hostile collisions: tables bound their probes by growing. */
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

static inline uint64_t tw_hash_u64(uint64_t value)
{
	return tw_hash_mix(value ^ TW_HASH_K0, TW_HASH_K1);
}

/*
 * For ids, which come in runs: eight in a row get places beside each other, in one line of the
 * cache.  (More would make runs that collide too long to probe.)
 */
static inline uint64_t tw_hash_id(uint64_t id)
{
	return tw_hash_u64(id >> 3) << 3 | (id & 7);
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

static inline uint64_t tw_hash_bytes(const char *p, size_t len)
{
	uint64_t h = len * TW_HASH_K1, a, b;
	size_t left = len;

	while (left > 16) {
		h = tw_hash_mix(tw_load64(p) ^ TW_HASH_K0, tw_load64(p + 8) ^ h);
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
	return tw_hash_mix(a ^ TW_HASH_K0, b ^ h ^ TW_HASH_K1);
}

#endif
