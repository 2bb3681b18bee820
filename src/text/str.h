/*
 * Growing byte string.  Failure is sticky: append as much as you like, ask `failed` once at the
 * end.  `ptr` is NUL-terminated whenever it is not NULL; it moves when the string grows.
 */
#ifndef TW_TEXT_STR_H
#define TW_TEXT_STR_H

#include "trawl/api.h"

#include <stdarg.h>

struct tw_str {
	const struct trawl_allocator *allocator;
	char *ptr;
	size_t len;
	size_t capacity;
	bool failed;
};

void tw_str_init(struct tw_str *str, const struct trawl_allocator *allocator);
void tw_str_release(struct tw_str *str);
/* Empty again; memory and a failure are kept. */
void tw_str_clear(struct tw_str *str);
/* Room for `more` bytes after len and a NUL; false (sticky) when out of memory. */
bool tw_str_reserve(struct tw_str *str, size_t more);
void tw_str_add(struct tw_str *str, const char *bytes, size_t len);
void tw_str_add_cstr(struct tw_str *str, const char *text);
void tw_str_add_char(struct tw_str *str, char c);
void tw_str_add_int(struct tw_str *str, int64_t value);
/* value x 10^-scale without trailing zeros after the point: 350000, 3 -> "350". */
void tw_str_add_decimal(struct tw_str *str, int64_t value, unsigned scale);
/* The same with exactly `digits` after the point, halves rounded away from zero. */
void tw_str_add_decimal_fixed(struct tw_str *str, int64_t value, unsigned scale, unsigned digits);
/*
 * The shortest decimal that reads back to the same double, in any locale: "8", "0.1", "1e-05",
 * "1e+16"; nothing for NaN and infinities.
 */
void tw_str_add_real(struct tw_str *str, double value);
/* Exactly `digits` after the point, in any locale; nothing for NaN and infinities. */
void tw_str_add_real_fixed(struct tw_str *str, double value, unsigned digits);
/* As printf.  Not for floating point: that would follow the locale. */
void tw_str_addf(struct tw_str *str, const char *format, ...) TRAWL_PRINTF(2, 3);
void tw_str_addv(struct tw_str *str, const char *format, va_list args) TRAWL_PRINTF(2, 0);

/* A line for the user among others, each with a NUL after it. */
void tw_str_note(struct tw_str *notes, const char *format, ...) TRAWL_PRINTF(2, 3);
/* Hands over each of them; `note` may be NULL. */
void tw_str_tell(const struct tw_str *notes, void (*note)(void *context, const char *line),
		 void *context);

bool tw_ends_with(const char *text, const char *ending);

#endif
