#include "util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("tracegen: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die(1, "out of memory");
	return p;
}

void *xrealloc(void *p, size_t n, size_t size)
{
	void *q;

	if (n > SIZE_MAX / size)
		die(1, "out of memory");
	q = realloc(p, n * size);
	if (!q)
		die(1, "out of memory");
	return q;
}

static void sb_room(struct sb *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;

	while (cap - b->len < n + 1)
		cap *= 2;
	if (cap != b->cap) {
		b->s = xrealloc(b->s, cap, 1);
		b->cap = cap;
	}
}

void sb_put(struct sb *b, const char *s)
{
	size_t n = strlen(s);

	sb_room(b, n);
	memcpy(b->s + b->len, s, n + 1);
	b->len += n;
}

void sb_putf(struct sb *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		die(1, "cannot format a template");
	sb_room(b, (size_t)n);
	va_start(ap, fmt);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

void sb_reset(struct sb *b)
{
	sb_room(b, 0);
	b->len = 0;
	b->s[0] = '\0';
}

void sb_free(struct sb *b)
{
	free(b->s);
	memset(b, 0, sizeof(*b));
}
