#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

void out_open(struct out *o, const char *path, size_t cap)
{
	memset(o, 0, sizeof(*o));
	o->path = path ? path : "(nothing)";
	o->cap = cap;
	o->buf = xcalloc(cap, 1);
	if (!path) {
		o->fd = OUT_NULL;
	} else if (!strcmp(path, "-")) {
		o->path = "standard output";
		o->fd = STDOUT_FILENO;
	} else {
		o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (o->fd < 0)
			die(1, "cannot create '%s': %s", path, strerror(errno));
	}
}

void out_flush(struct out *o)
{
	size_t done = 0;

	while (o->fd != OUT_NULL && done < o->len) {
		ssize_t n = write(o->fd, o->buf + done, o->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die(1, "cannot write '%s': %s", o->path, strerror(n ? errno : EIO));
		done += (size_t)n;
	}
	o->total += o->len;
	o->len = 0;
}

void out_make_room(struct out *o, size_t n)
{
	out_flush(o);
	if (n > o->cap)
		die(1, "an event of %zu bytes is larger than the buffer", n);
}

void out_close(struct out *o)
{
	out_flush(o);
	if (o->fd != OUT_NULL && close(o->fd))
		die(1, "cannot write '%s': %s", o->path, strerror(errno));
	free(o->buf);
	o->buf = NULL;
}

void out_put(struct out *o, const char *s)
{
	size_t n = strlen(s);

	memcpy(out_reserve(o, n), s, n);
	o->len += n;
}

static const char digit_pairs[] = "0001020304050607080910111213141516171819"
				  "2021222324252627282930313233343536373839"
				  "4041424344454647484950515253545556575859"
				  "6061626364656667686970717273747576777879"
				  "8081828384858687888990919293949596979899";

char *put_u64(char *p, uint64_t v)
{
	char tmp[20];
	char *q = tmp + sizeof(tmp);
	size_t n;

	while (v >= 100) {
		q -= 2;
		memcpy(q, digit_pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10) {
		q -= 2;
		memcpy(q, digit_pairs + 2 * v, 2);
	} else {
		*--q = (char)('0' + v);
	}
	n = (size_t)(tmp + sizeof(tmp) - q);
	memcpy(p, q, n);
	return p + n;
}

char *put_i64(char *p, int64_t v)
{
	if (v < 0)
		*p++ = '-';
	return put_u64(p, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

char *put_milli(char *p, int64_t v)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	unsigned int frac = (unsigned int)(u % 1000);

	if (v < 0)
		*p++ = '-';
	p = put_u64(p, u / 1000);
	*p++ = '.';
	*p++ = (char)('0' + frac / 100);
	memcpy(p, digit_pairs + 2 * (frac % 100), 2);
	return p + 2;
}
