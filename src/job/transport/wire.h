/*
 * What processes send each other, as bytes and back: one list of the fields of a struct serves both
 * directions.  A function of a value packs it, or reads it back, and gives the value either way.
 *
 * Numbers take 7 bits a byte, the low ones first, signed ones with the sign in the lowest bit.
 */
#ifndef TW_JOB_TRANSPORT_WIRE_H
#define TW_JOB_TRANSPORT_WIRE_H

#include "base/alloc.h"
#include "store/pool.h"
#include "text/str.h"

#include <stddef.h>

struct tw_wire {
	struct tw_str *out;	 /* packing: appended to, and keeps a failure; NULL: unpacking */
	const uint8_t *at, *end; /* unpacking: what is left */
	int status; /* unpacking: 0, TRAWL_EFORMAT or TRAWL_ENOMEM; everything is 0 from then on */
	struct tw_pool *texts; /* that texts among fields are kept in, NULL: there are none */
};

static inline struct tw_wire tw_wire_to(struct tw_str *out)
{
	return (struct tw_wire){ .out = out };
}

static inline struct tw_wire tw_wire_from(const char *bytes, size_t len)
{
	const uint8_t *at = (const uint8_t *)bytes;

	return (struct tw_wire){ .at = at, .end = len ? at + len : at };
}

/* What follows is not as packed, or memory is out; 0. */
uint64_t tw_wire_fail(struct tw_wire *wire, int status);

/* A number of at most `max`; what is read and larger is not as packed. */
uint64_t tw_wire_number(struct tw_wire *wire, uint64_t value, uint64_t max);
int64_t tw_wire_signed(struct tw_wire *wire, int64_t value);
/* In 8 bytes: hashes and ids. */
uint64_t tw_wire_fixed(struct tw_wire *wire, uint64_t value);
/* A number of things that take at least `each` bytes of what follows. */
size_t tw_wire_count(struct tw_wire *wire, size_t count, size_t each);
/* Text with its length in front; what is read is not NUL-terminated, and in the bytes themselves. */
const char *tw_wire_text(struct tw_wire *wire, const char *text, size_t *len);
/* Something that both sides have to have: the name of a format, a version. */
void tw_wire_same(struct tw_wire *wire, const char *text);

/* All texts of wire->texts, in which nothing is yet where they are read: ids stay. */
void tw_wire_pool(struct tw_wire *wire);

/* A list of items with its count in front: allocated, and all zero, where it is read. */
void tw_wire_list(struct tw_wire *wire, void *list, size_t *count, size_t item_size, size_t each,
		  const struct trawl_allocator *allocator);

enum tw_wire_kind {
	TW_WIRE_SIGNED, /* int64_t */
	TW_WIRE_NUMBER, /* uint64_t */
	TW_WIRE_SMALL,	/* uint32_t and enums */
	TW_WIRE_BOOL,
	TW_WIRE_STATUS, /* int: an enum trawl_status */
	TW_WIRE_TEXT,	/* const char *, kept in wire->texts; "" where there is none */
};

struct tw_wire_field {
	size_t offset;
	enum tw_wire_kind kind;
	uint32_t max;
};

/* A member of a struct as a field: its type says how it is packed. */
#define TW_WIRE_KIND(member) \
	_Generic((member),            \
		int64_t: TW_WIRE_SIGNED,  \
		uint64_t: TW_WIRE_NUMBER, \
		uint32_t: TW_WIRE_SMALL,  \
		bool: TW_WIRE_BOOL,       \
		int: TW_WIRE_STATUS,      \
		const char *: TW_WIRE_TEXT)
#define TW_WIRE_FIELD_UP_TO(type, member, max)                                             \
	{                                                                                  \
		offsetof(type, member), TW_WIRE_KIND(((type *)0)->member), (uint32_t)(max) \
	}
#define TW_WIRE_FIELD(type, member) TW_WIRE_FIELD_UP_TO(type, member, UINT32_MAX)

void tw_wire_fields(struct tw_wire *wire, void *object, const struct tw_wire_field *fields,
		    size_t count);
/* All of an array of fields. */
#define TW_WIRE_FIELDS(wire, object, fields) \
	tw_wire_fields((wire), (object), (fields), sizeof(fields) / sizeof((fields)[0]))

#endif
