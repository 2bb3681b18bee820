#include "store/args.h"

#include "base/alloc.h"

#define FIRST_CAPACITY ((size_t)64 << 10)

int tw_args_grow(struct tw_args *args, size_t more)
{
	size_t capacity = args->capacity ? args->capacity : FIRST_CAPACITY;
	uint8_t *bytes;

	while (capacity - args->len < more) {
		if (capacity > SIZE_MAX / 2)
			return -1;
		capacity *= 2;
	}
	bytes = tw_realloc(args->allocator, args->bytes, args->capacity, capacity);
	if (!bytes)
		return -1;
	args->bytes = bytes;
	args->capacity = capacity;
	if (!args->len) {
		/* Offset 0 is "no arguments". */
		memset(bytes, 0, TW_ARGS_ALIGN);
		args->len = TW_ARGS_ALIGN;
	}
	return 0;
}

void tw_args_release(struct tw_args *args)
{
	if (args->allocator)
		tw_free(args->allocator, args->bytes, args->capacity);
	memset(args, 0, sizeof(*args));
}

bool tw_args_next(const struct tw_args *args, size_t *at, struct trawl_argument *arg)
{
	const uint8_t *p = args->bytes + *at;
	uint64_t raw = 0;
	unsigned tag, n;

	arg->key = *p++;
	if (!arg->key)
		return false;
	if (arg->key == 128) {
		memcpy(&arg->key, p, 4);
		p += 4;
	}
	tag = *p++;
	arg->kind = (enum trawl_value_kind)(tag >> 4);
	n = tw_args_payload(tag);
	arg->integer = 0;
	arg->text = 0;
	arg->real = 0;
	switch (arg->kind) {
	case TRAWL_VALUE_NULL:
		break;
	case TRAWL_VALUE_BOOL:
		arg->integer = tag & 15;
		break;
	case TRAWL_VALUE_INTEGER:
		memcpy(&raw, p, n);
		/* Sign extension of n bytes. */
		arg->integer = (int64_t)(raw << (64 - 8 * n)) >> (64 - 8 * n);
		break;
	case TRAWL_VALUE_REAL:
		memcpy(&arg->real, p, 8);
		break;
	case TRAWL_VALUE_TEXT:
	case TRAWL_VALUE_NUMBER:
	case TRAWL_VALUE_JSON:
		memcpy(&arg->text, p, n);
		break;
	}
	*at = (size_t)(p - args->bytes) + n;
	return true;
}

int tw_args_end(struct tw_args *args, size_t start, uint32_t *offset)
{
	if (start / TW_ARGS_ALIGN > UINT32_MAX)
		return -1;
	memset(args->bytes + args->len, 0, TW_ARGS_ALIGN);
	args->len = (args->len + TW_ARGS_ALIGN) & ~(size_t)(TW_ARGS_ALIGN - 1);
	*offset = (uint32_t)(start / TW_ARGS_ALIGN);
	return 0;
}

static uint8_t *translate_id(uint8_t *p, const uint32_t *texts)
{
	uint32_t id;

	memcpy(&id, p, 4);
	id = texts[id];
	memcpy(p, &id, 4);
	return p + 4;
}

void tw_args_translate(struct tw_args *args, const uint32_t *texts)
{
	uint8_t *p = args->bytes + TW_ARGS_ALIGN, *end = args->bytes + args->len;

	while (p < end) {
		unsigned key = *p++, tag;

		if (!key) {
			size_t len = (size_t)(p - args->bytes);

			len = (len + TW_ARGS_ALIGN - 1) & ~(size_t)(TW_ARGS_ALIGN - 1);
			p = args->bytes + len;
			continue;
		}
		/* Keys of one byte are the ones every pool begins with. */
		if (key == 128)
			p = translate_id(p, texts);
		tag = *p++;
		if (tag >> 4 >= TRAWL_VALUE_TEXT)
			p = translate_id(p, texts);
		else
			p += tw_args_payload(tag);
	}
}
