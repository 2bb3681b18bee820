/*
 * Arguments of events, packed: every argument of every event is kept, at about ten bytes each.
 *
 * An event's arguments are a record in one byte array, records aligned to 4 bytes so that a
 * 32-bit offset spans 16 GB.  Each argument is: key (text id: one byte for those of keys.h, else
 * the byte 128 and four), a tag byte (kind in the high half, payload bytes in the low half),
 * payload (little endian; four bytes for every text id, so that ids can be translated in place).
 * A key of 0 ends the record.  Record offset 0 means no arguments.
 *
 * Arguments keep the order of the input, but a sequence number comes first (tw_args_put_first()):
 * it is asked of every operation.
 */
#ifndef TW_STORE_ARGS_H
#define TW_STORE_ARGS_H

#include "store/keys.h"
#include "trawl/events.h"

#include <string.h>

struct tw_args {
	const struct trawl_allocator *allocator;
	uint8_t *bytes;
	size_t len;
	size_t capacity;
};

#define TW_ARGS_ALIGN 4

/* Most bytes that one argument takes: key, tag, payload. */
#define TW_ARG_MAX_BYTES 16

int tw_args_grow(struct tw_args *args, size_t more);

/* Room for `more` bytes after len: 0 or -1. */
static inline int tw_args_reserve(struct tw_args *args, size_t more)
{
	return args->capacity - args->len >= more ? 0 : tw_args_grow(args, more);
}

static inline void tw_args_put_head(struct tw_args *args, uint32_t key, unsigned kind,
				    unsigned payload)
{
	uint8_t *p = args->bytes + args->len;

	if (key < TW_KEY_COUNT) {
		*p++ = (uint8_t)key;
	} else {
		*p++ = 128;
		memcpy(p, &key, 4);
		p += 4;
	}
	*p++ = (uint8_t)(kind << 4 | payload);
	args->len = (size_t)(p - args->bytes);
}

/* Each _put needs TW_ARG_MAX_BYTES reserved. */
static inline void tw_args_put_integer(struct tw_args *args, uint32_t key, int64_t value)
{
	unsigned n = value >= INT8_MIN && value <= INT8_MAX   ? 1 :
		     value >= INT16_MIN && value <= INT16_MAX ? 2 :
		     value >= INT32_MIN && value <= INT32_MAX ? 4 :
								8;

	tw_args_put_head(args, key, TRAWL_VALUE_INTEGER, n);
	memcpy(args->bytes + args->len, &value, 8);
	args->len += n;
}

static inline void tw_args_put_real(struct tw_args *args, uint32_t key, double value)
{
	tw_args_put_head(args, key, TRAWL_VALUE_REAL, 8);
	memcpy(args->bytes + args->len, &value, 8);
	args->len += 8;
}

/* TEXT, NUMBER or JSON */
static inline void tw_args_put_text(struct tw_args *args, uint32_t key, enum trawl_value_kind kind,
				    uint32_t text)
{
	tw_args_put_head(args, key, kind, 4);
	memcpy(args->bytes + args->len, &text, 4);
	args->len += 4;
}

/* NULL or BOOL: no payload; the value of a BOOL is in the tag. */
static inline void tw_args_put_flag(struct tw_args *args, uint32_t key, enum trawl_value_kind kind,
				    bool value)
{
	tw_args_put_head(args, key, kind, kind == TRAWL_VALUE_BOOL && value);
}

/* An argument as it was read: of texts the id is of the same pool. */
static inline void tw_args_put(struct tw_args *args, uint32_t key, const struct trawl_argument *arg)
{
	switch (arg->kind) {
	case TRAWL_VALUE_NULL:
	case TRAWL_VALUE_BOOL:
		tw_args_put_flag(args, key, arg->kind, arg->integer);
		break;
	case TRAWL_VALUE_INTEGER:
		tw_args_put_integer(args, key, arg->integer);
		break;
	case TRAWL_VALUE_REAL:
		tw_args_put_real(args, key, arg->real);
		break;
	default:
		tw_args_put_text(args, key, arg->kind, arg->text);
	}
}

/* Bytes of payload after a tag. */
static inline unsigned tw_args_payload(unsigned tag)
{
	return tag >> 4 > TRAWL_VALUE_BOOL ? tag & 15 : 0;
}

/* Moves the argument that begins at `last`, the last one, before all others of its record. */
static inline void tw_args_put_first(struct tw_args *args, size_t record, size_t last)
{
	uint8_t argument[TW_ARG_MAX_BYTES];
	size_t size = args->len - last;

	memcpy(argument, args->bytes + last, size);
	memmove(args->bytes + record + size, args->bytes + record, last - record);
	memcpy(args->bytes + record, argument, size);
}

/* A set of keys of keys.h, for tw_args_seek(). */
struct tw_arg_keys {
	uint64_t bits[2];
};

static inline void tw_arg_keys_add(struct tw_arg_keys *keys, uint32_t key)
{
	keys->bits[key >> 6] |= (uint64_t)1 << (key & 63);
}

/*
 * Moves *at on to the next argument with one of the keys; false when the record has no more of
 * them. Much faster than reading all of them.
 */
static inline bool tw_args_seek(const struct tw_args *args, size_t *at,
				const struct tw_arg_keys *keys)
{
	const uint8_t *p = args->bytes + *at;

	for (;;) {
		unsigned key = *p, tag;

		if (!key)
			return false;
		if (key < 128 && keys->bits[key >> 6] >> (key & 63) & 1)
			break;
		p += key == 128 ? 5 : 1;
		tag = *p;
		p += 1 + tw_args_payload(tag);
	}
	*at = (size_t)(p - args->bytes);
	return true;
}

/* The text id of the argument at *at, 0 when it is no text or JSON; moves *at after it. */
static inline uint32_t tw_args_take_text(const struct tw_args *args, size_t *at)
{
	const uint8_t *p = args->bytes + *at;
	unsigned kind;
	uint32_t text = 0;

	p += *p == 128 ? 5 : 1;
	kind = *p >> 4;
	if (kind == TRAWL_VALUE_TEXT || kind == TRAWL_VALUE_JSON)
		memcpy(&text, p + 1, 4);
	*at = (size_t)(p - args->bytes) + 1 + tw_args_payload(*p);
	return text;
}

/* Reads the argument at *at and moves *at after it; false at the end of the record. */
bool tw_args_next(const struct tw_args *args, size_t *at, struct trawl_argument *arg);

/* Ends the record that began at `start`; -1 when its offset fits no 32 bits. */
int tw_args_end(struct tw_args *args, size_t start, uint32_t *offset);

/* Replaces every text id, keys included, by texts[id]. */
void tw_args_translate(struct tw_args *args, const uint32_t *texts);

void tw_args_release(struct tw_args *args);

#endif
