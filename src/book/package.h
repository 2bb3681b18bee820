/*
 * The parts of a workbook: files in a zip archive, XML most of them, read one at a time as a stream
 * of elements.  Nothing of what is refused here is needed by a report: encrypted parts, document
 * types (entities), parts that inflate to more than TW_PART_MOST_BYTES.
 */
#ifndef TW_BOOK_PACKAGE_H
#define TW_BOOK_PACKAGE_H

#include "text/str.h"
#include "trawl/error.h"

/* A sheet of a million rows and twenty columns has less. */
#define TW_PART_MOST_BYTES ((uint64_t)1 << 30)

struct tw_package;

/* TRAWL_EFORMAT when it is no archive, or not a whole one. */
int tw_package_open(struct tw_package **out, const char *path,
		    const struct trawl_allocator *allocator,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
/* The same of bytes, which the caller keeps until it is closed. */
int tw_package_open_bytes(struct tw_package **out, const char *bytes, size_t len,
			  const struct trawl_allocator *allocator,
			  struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_package_close(struct tw_package *package);
bool tw_package_has(const struct tw_package *package, const char *name);

struct tw_part;
struct XML_ParserStruct;

/* Names come without their prefix; NULL: that is not asked for. */
struct tw_part_ops {
	/* `attributes`: names and values in turn, NULL after the last. */
	void (*begin)(struct tw_part *part, const char *name, const char **attributes);
	void (*end)(struct tw_part *part, const char *name);
	void (*text)(struct tw_part *part, const char *text, size_t len);
};

/* Head of what reads a part; zeroed but for the ops. */
struct tw_part {
	const struct tw_part_ops *ops;
	struct XML_ParserStruct *parser;
	struct trawl_error *err;
	int status;
	unsigned depth;
};

/* Reads it to its end, or to the first tw_part_fail().  Messages name the part. */
int tw_package_read(const struct tw_package *package, const char *name, struct tw_part *part,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
/* Ends the reading with that status; the first message stays. */
void tw_part_fail(struct tw_part *part, int status, const char *format, ...) TRAWL_PRINTF(3, 4);
/* The value of an attribute by its name without prefix, NULL when it is not there. */
const char *tw_part_attribute(const char **attributes, const char *name);

#endif
