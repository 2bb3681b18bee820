/*
 * Errors by value: functions return 0 or a negative enum trawl_status and take a caller-owned
 * struct trawl_error last (NULL allowed).  The message is one line without a full stop; context
 * is put in front of it on the way up ("cannot read 'x': unexpected end").
 */
#ifndef TRAWL_ERROR_H
#define TRAWL_ERROR_H

#include "trawl/api.h"

#ifdef __cplusplus
extern "C" {
#endif

enum trawl_status {
	TRAWL_OK = 0,
	TRAWL_ENOMEM = -1,    /* an allocation failed */
	TRAWL_EIO = -2,	      /* the operating system refused to read or write */
	TRAWL_EFORMAT = -3,   /* the input is not what it should be */
	TRAWL_EUSAGE = -4,    /* an argument of the caller makes no sense */
	TRAWL_ENODATA = -5,   /* valid, but nothing in it to work on */
	TRAWL_ELIMIT = -6,    /* larger than a stated limit */
	TRAWL_ECANCELED = -7, /* the caller asked to stop */
};

struct trawl_error {
	int status;	/* enum trawl_status, 0 when nothing failed */
	int64_t offset; /* byte in the (uncompressed) input, -1 when it has no place */
	char message[1024];
};

/* Fills *err (when not NULL) and returns status. */
TRAWL_API int trawl_error_set(struct trawl_error *err, int status, const char *format, ...)
	TRAWL_PRINTF(3, 4);

/* As trawl_error_set, with the place in the input. */
TRAWL_API int trawl_error_set_at(struct trawl_error *err, int status, int64_t offset,
				 const char *format, ...) TRAWL_PRINTF(4, 5);

/* Puts "context: " before the message there and returns status unchanged. */
TRAWL_API int trawl_error_context(struct trawl_error *err, int status, const char *format, ...)
	TRAWL_PRINTF(3, 4);

/* The name of a status, for messages that have nothing better. */
TRAWL_API const char *trawl_status_name(int status);

#ifdef __cplusplus
}
#endif

#endif
