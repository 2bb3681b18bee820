/*
 * Small things that every part of the generator uses: the one way to give up,
 * a setup-time string builder, checked allocation and the random numbers.
 */
#ifndef GEN_UTIL_H
#define GEN_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Prints one line on stderr and exits with status. */
void die(int status, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));

void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size);

/* String builder, used at setup only. s is always NUL terminated once written to. */
struct sb {
	char *s;
	size_t len, cap;
};

void sb_put(struct sb *b, const char *s);
void sb_putf(struct sb *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sb_reset(struct sb *b);
void sb_free(struct sb *b);

/*
 * SplitMix64: the state is one word, so a simulation can be stored, restored
 * and replayed with the same numbers.
 */
struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Uniform in [lo, hi], both included; hi - lo must be below 2^32. */
static inline int64_t rng_range(struct rng *r, int64_t lo, int64_t hi)
{
	return lo + (int64_t)(((rng_next(r) >> 32) * (uint64_t)(hi - lo + 1)) >> 32);
}

/* mean with a spread of about +-10 %, in a unit where mean < 2^43. */
static inline int64_t rng_jitter(struct rng *r, int64_t mean)
{
	return mean * rng_range(r, 922, 1126) / 1024;
}

#endif
