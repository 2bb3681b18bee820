/*
 * What every public header needs: export marks, attributes, the allocator.
 *
 * Public names begin with trawl_ or TRAWL_.  A `const` pointer returned is borrowed and lives as
 * long as the object it was asked of; a `T **out` parameter gives the caller something to free.
 * Times are signed 64-bit nanoseconds, sizes bytes.  No function prints or exits, and none
 * keeps state between calls but the list of temporary files being written, which a program that
 * ends early may remove, and which directories were looked through for those of killed programs.
 * Unless a header says otherwise, a const object may be read by several threads at once and an
 * object under construction belongs to one thread.
 *
 * Options have a function _init, and NULL means what it fills in.  Where they have `note`, it
 * is called, before the function returns and by its thread, with each thing worth knowing beside
 * the result: a line of text without a line feed, which is gone when it returns.  NULL: with none.
 */
#ifndef TRAWL_API_H
#define TRAWL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TRAWL_API __attribute__((visibility("default")))
#define TRAWL_MUST_CHECK __attribute__((warn_unused_result))
#define TRAWL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TRAWL_API
#define TRAWL_MUST_CHECK
#define TRAWL_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where memory comes from.  `old_size` and `size` are bytes; realloc of NULL allocates, its
 * contents up to the smaller size survive, NULL means failure and leaves the old block valid.
 * The functions may be called from several threads at once.
 */
struct trawl_allocator {
	void *(*realloc)(void *context, void *block, size_t old_size, size_t size);
	void (*free)(void *context, void *block, size_t size);
	void *context;
};

/* The default: malloc for small blocks, huge pages for large ones. */
TRAWL_API const struct trawl_allocator *trawl_allocator_default(void);

/* The version of the library, as "MAJOR.MINOR.PATCH". */
TRAWL_API const char *trawl_version(void);

#ifdef __cplusplus
}
#endif

#endif
