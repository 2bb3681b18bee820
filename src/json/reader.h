/*
 * Reading JSON text that lies in memory as a whole: a pull reader.  It is strict (RFC 8259, valid
 * UTF-8, no half characters, numbers that a double can hold) and says where a mistake is; traces,
 * which are large and often damaged, have a reader of their own (src/trace/).  A byte order mark
 * in front is skipped.
 *
 *	struct tw_json_reader r;
 *	tw_json_reader_init(&r, text, len, allocator);
 *	if (tw_json_next(&r) == TW_JSON_OBJECT)
 *		while (tw_json_next(&r) == TW_JSON_KEY) {
 *			if (tw_json_is(&r, "size") && tw_json_next(&r) == TW_JSON_NUMBER)
 *				size = r.number;
 *			else
 *				tw_json_skip(&r);
 *		}
 *	status = tw_json_reader_end(&r, "settings.json", err);
 *
 * A mistake makes TW_JSON_BAD of the token and of all later ones, so it need be asked for once, at
 * the end.  The text is neither changed nor copied, and need not end with a NUL.
 */
#ifndef TW_JSON_READER_H
#define TW_JSON_READER_H

#include "text/str.h"
#include "trawl/error.h"

/* Deeper nesting is refused. */
#define TW_JSON_READ_DEPTH 512

enum tw_json_token {
	TW_JSON_BAD, /* no valid JSON, or out of memory */
	TW_JSON_END, /* of the text */
	TW_JSON_OBJECT,
	TW_JSON_OBJECT_END,
	TW_JSON_ARRAY,
	TW_JSON_ARRAY_END,
	TW_JSON_KEY,
	TW_JSON_STRING,
	TW_JSON_NUMBER,
	TW_JSON_BOOL,
	TW_JSON_NULL,
};

struct tw_json_reader {
	enum tw_json_token token; /* the current one */
	size_t at;		  /* where it begins */
	/* KEY and STRING: UTF-8, NUL-terminated (and may hold NULs); until the next token. */
	const char *string;
	size_t string_len;
	double number;
	bool is_integer; /* the number was written without fraction or exponent and fits */
	int64_t integer;
	bool boolean;

	/* The reader's own. */
	const char *text, *p, *end;
	struct tw_str buffer;
	const char *problem; /* what is wrong at `at`; NULL: nothing */
	bool failed;	     /* out of memory */
	unsigned state, depth;
	bool is_object[TW_JSON_READ_DEPTH];
};

void tw_json_reader_init(struct tw_json_reader *reader, const char *text, size_t len,
			 const struct trawl_allocator *allocator);

/* The next token: also in reader->token, its value in the fields after it. */
enum tw_json_token tw_json_next(struct tw_json_reader *reader);

/*
 * Passes over what the current token begins: an object or array up to its end, a key with its
 * value; anything else is over already.  The current token is then its last one.
 */
void tw_json_skip(struct tw_json_reader *reader);

/* Whether the current key or string is exactly `text`. */
bool tw_json_is(const struct tw_json_reader *reader, const char *text);

/* Line and column (in bytes) of the current token, from 1 on. */
void tw_json_place(const struct tw_json_reader *reader, size_t *line, size_t *column);

/*
 * A mistake of the contents: the reader goes on as after broken JSON.  `problem` is a literal that
 * goes with "NAME:LINE:COLUMN: ".
 */
void tw_json_reject(struct tw_json_reader *reader, const char *problem);

/*
 * Reads the rest, which must be valid, and frees what the reader holds.  0, TRAWL_EFORMAT with
 * "NAME:LINE:COLUMN: what is wrong", or TRAWL_ENOMEM.  To be called in any case.
 */
int tw_json_reader_end(struct tw_json_reader *reader, const char *name,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
