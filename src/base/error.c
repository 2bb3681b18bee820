#include "trawl/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message that does not fit shows that it is cut. */
static void mark_cut(struct trawl_error *err, int len)
{
	static const char mark[] = "...";

	if (len >= (int)sizeof(err->message))
		memcpy(err->message + sizeof(err->message) - sizeof(mark), mark, sizeof(mark));
}

static void set_message(struct trawl_error *err, int status, int64_t offset, const char *format,
			va_list args)
{
	if (!err)
		return;
	err->status = status;
	err->offset = offset;
	mark_cut(err, vsnprintf(err->message, sizeof(err->message), format, args));
}

int trawl_error_set(struct trawl_error *err, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_message(err, status, -1, format, args);
	va_end(args);
	return status;
}

int trawl_error_set_at(struct trawl_error *err, int status, int64_t offset, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_message(err, status, offset, format, args);
	va_end(args);
	return status;
}

int trawl_error_context(struct trawl_error *err, int status, const char *format, ...)
{
	char old[sizeof(err->message)];
	va_list args;
	size_t len;

	if (!err)
		return status;
	memcpy(old, err->message, sizeof(old));
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	len = strlen(err->message);
	mark_cut(err,
		 (int)len + snprintf(err->message + len, sizeof(err->message) - len, ": %s", old));
	return status;
}

const char *trawl_status_name(int status)
{
	switch (status) {
	case TRAWL_OK:
		return "done";
	case TRAWL_ENOMEM:
		return "out of memory";
	case TRAWL_EIO:
		return "I/O error";
	case TRAWL_EFORMAT:
		return "invalid format";
	case TRAWL_EUSAGE:
		return "invalid usage";
	case TRAWL_ENODATA:
		return "no data";
	case TRAWL_ELIMIT:
		return "limit exceeded";
	case TRAWL_ECANCELED:
		return "interrupted";
	}
	return "unknown status";
}
