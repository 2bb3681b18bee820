/*
 * Buffered output of one file. A write error ends the program (status 1), so
 * callers need no checks; out_close() reports the delayed ones.
 */
#ifndef GEN_OUT_H
#define GEN_OUT_H

#include <stddef.h>
#include <stdint.h>

struct out {
	int fd; /* OUT_NULL: count only */
	const char *path;
	char *buf;
	size_t len, cap;
	uint64_t total; /* bytes flushed */
};

#define OUT_NULL (-1)

/* path "-" is stdout, NULL counts bytes and writes nothing. path is borrowed. */
void out_open(struct out *o, const char *path, size_t cap);
void out_close(struct out *o);
void out_flush(struct out *o);
void out_make_room(struct out *o, size_t n);

static inline uint64_t out_bytes(const struct out *o)
{
	return o->total + o->len;
}

/* Room for n bytes, n at most the capacity given at opening. */
static inline char *out_reserve(struct out *o, size_t n)
{
	if (o->cap - o->len < n)
		out_make_room(o, n);
	return o->buf + o->len;
}

static inline void out_commit(struct out *o, const char *end)
{
	o->len = (size_t)(end - o->buf);
}

void out_put(struct out *o, const char *s);

/* Decimal text of v at p; returns the end. At most 20 bytes. */
char *put_u64(char *p, uint64_t v);
char *put_i64(char *p, int64_t v);
/* v thousandths with exactly three decimals: nanoseconds as microseconds. */
char *put_milli(char *p, int64_t v);

#endif
