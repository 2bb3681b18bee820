#include "job/transport/wire.h"

#include <string.h>

#define FIXED_BYTES 8u

uint64_t tw_wire_fail(struct tw_wire *wire, int status)
{
	if (!wire->status)
		wire->status = status;
	wire->at = wire->end;
	return 0;
}

static void pack_number(struct tw_str *out, uint64_t value)
{
	char bytes[10];
	size_t n = 0;

	for (; value >= 128; value >>= 7)
		bytes[n++] = (char)(value | 128);
	bytes[n++] = (char)value;
	tw_str_add(out, bytes, n);
}

static uint64_t unpack_number(struct tw_wire *wire)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
		uint64_t bits = *wire->at & 127u;
		bool last = *wire->at++ < 128;

		value |= bits << shift;
		/* One number has one form, and 64 bits. */
		if ((shift == 63 && bits > 1) || (last && !bits && shift))
			break;
		if (last)
			return value;
	}
	return tw_wire_fail(wire, TRAWL_EFORMAT);
}

uint64_t tw_wire_number(struct tw_wire *wire, uint64_t value, uint64_t max)
{
	if (wire->out) {
		pack_number(wire->out, value);
		return value;
	}
	value = unpack_number(wire);
	return value <= max ? value : tw_wire_fail(wire, TRAWL_EFORMAT);
}

int64_t tw_wire_signed(struct tw_wire *wire, int64_t value)
{
	uint64_t folded = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);

	folded = tw_wire_number(wire, folded, UINT64_MAX);
	return (int64_t)(folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0));
}

uint64_t tw_wire_fixed(struct tw_wire *wire, uint64_t value)
{
	char bytes[FIXED_BYTES];
	size_t i;

	if (wire->out) {
		for (i = 0; i < FIXED_BYTES; i++)
			bytes[i] = (char)(value >> 8 * i);
		tw_str_add(wire->out, bytes, FIXED_BYTES);
		return value;
	}
	if ((size_t)(wire->end - wire->at) < FIXED_BYTES)
		return tw_wire_fail(wire, TRAWL_EFORMAT);
	for (i = 0, value = 0; i < FIXED_BYTES; i++)
		value |= (uint64_t)*wire->at++ << 8 * i;
	return value;
}

size_t tw_wire_count(struct tw_wire *wire, size_t count, size_t each)
{
	count = (size_t)tw_wire_number(wire, count, wire->out ? SIZE_MAX : UINT32_MAX);
	if (!wire->out && count > (size_t)(wire->end - wire->at) / each)
		return (size_t)tw_wire_fail(wire, TRAWL_EFORMAT);
	return count;
}

const char *tw_wire_text(struct tw_wire *wire, const char *text, size_t *len)
{
	*len = tw_wire_count(wire, *len, 1);
	if (wire->out) {
		tw_str_add(wire->out, text, *len);
		return text;
	}
	text = (const char *)wire->at;
	wire->at += *len;
	return text;
}

void tw_wire_same(struct tw_wire *wire, const char *text)
{
	size_t len = strlen(text), there = len;
	const char *found = tw_wire_text(wire, text, &there);

	if (there != len || memcmp(found, text, len))
		tw_wire_fail(wire, TRAWL_EFORMAT);
}

void tw_wire_list(struct tw_wire *wire, void *list, size_t *count, size_t item_size, size_t each,
		  const struct trawl_allocator *allocator)
{
	void *items = NULL;

	*count = tw_wire_count(wire, *count, each);
	if (wire->out)
		return;
	if (*count && !(items = tw_alloc_array(allocator, *count, item_size))) {
		*count = 0;
		tw_wire_fail(wire, TRAWL_ENOMEM);
	}
	/* Pointers of all types come here: none of them is a void * to the compiler. */
	memcpy(list, &items, sizeof(items));
}

/* Ids are never those of an empty text but 0, and texts end at their first NUL. */
static void pass_kept(struct tw_wire *wire, const char **kept)
{
	struct tw_pool *texts = wire->texts;
	uint32_t id = 0;
	size_t len;

	if (wire->out) {
		if (*kept && **kept)
			id = tw_pool_find(texts, *kept, strlen(*kept));
		tw_wire_number(wire, id, UINT32_MAX);
		return;
	}
	id = (uint32_t)tw_wire_number(wire, id, texts->count - 1);
	*kept = tw_pool_text(texts, id, &len);
	if (id && (!len || memchr(*kept, 0, len)))
		tw_wire_fail(wire, TRAWL_EFORMAT);
}

static void pass_field(struct tw_wire *wire, void *member, const struct tw_wire_field *field)
{
	uint32_t *small = member;
	uint64_t *number = member;
	int64_t *count = member;
	bool *flag = member;
	int *status = member;

	switch (field->kind) {
	case TW_WIRE_SIGNED:
		*count = tw_wire_signed(wire, *count);
		break;
	case TW_WIRE_NUMBER:
		*number = tw_wire_number(wire, *number, UINT64_MAX);
		break;
	case TW_WIRE_SMALL:
		*small = (uint32_t)tw_wire_number(wire, *small, field->max);
		break;
	case TW_WIRE_BOOL:
		*flag = tw_wire_number(wire, *flag, true);
		break;
	case TW_WIRE_STATUS:
		*status = -(int)tw_wire_number(wire, (uint64_t) - *status, -TRAWL_ECANCELED);
		break;
	case TW_WIRE_TEXT:
		pass_kept(wire, member);
		break;
	}
}

void tw_wire_fields(struct tw_wire *wire, void *object, const struct tw_wire_field *fields,
		    size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		pass_field(wire, (char *)object + fields[i].offset, &fields[i]);
}

void tw_wire_pool(struct tw_wire *wire)
{
	struct tw_pool *texts = wire->texts;
	size_t count = tw_wire_count(wire, texts->count - 1, 1), len = 0;
	uint32_t id;

	for (id = 1; id <= count && !wire->status; id++) {
		const char *text = wire->out ? tw_pool_text(texts, id, &len) : NULL;
		uint32_t kept;

		text = tw_wire_text(wire, text, &len);
		if (wire->out || wire->status)
			continue;
		kept = tw_pool_intern(texts, text, len);
		/* 0: out of memory; another one: twice there. */
		if (kept != id)
			tw_wire_fail(wire, kept ? TRAWL_EFORMAT : TRAWL_ENOMEM);
	}
}
