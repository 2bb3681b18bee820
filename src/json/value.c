#include "json/value.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

static const struct tw_json_value nothing = { .type = TW_JSON_NULL };

/* Appends a child to the innermost open object or array. */
struct open {
	struct tw_json_value *value, *last;
};

static struct tw_json_value *make(struct tw_json_reader *r, struct tw_arena *arena)
{
	struct tw_json_value *value = tw_arena_alloc(arena, sizeof(*value));

	if (!value)
		return NULL;
	*value = (struct tw_json_value){ .type = r->token, .number = NAN };
	if (r->token == TW_JSON_STRING) {
		value->text = tw_arena_copy(arena, r->string, r->string_len);
		value->text_len = r->string_len;
	} else if (r->token == TW_JSON_NUMBER) {
		value->text_len = (size_t)(r->p - r->text) - r->at;
		value->text = tw_arena_copy(arena, r->text + r->at, value->text_len);
		value->number = r->number;
	} else if (r->token == TW_JSON_BOOL) {
		value->boolean = r->boolean;
	}
	if ((r->token == TW_JSON_STRING || r->token == TW_JSON_NUMBER) && !value->text)
		return NULL;
	return value;
}

static void append(struct open *parent, struct tw_json_value *value)
{
	if (parent->last)
		parent->last->next = value;
	else
		parent->value->first = value;
	parent->last = value;
	parent->value->count++;
}

static struct tw_json_value *read_all(struct tw_json_reader *r, struct tw_arena *arena,
				      bool *no_memory)
{
	struct open open[TW_JSON_READ_DEPTH + 1] = { { NULL, NULL } };
	struct tw_json_value *root = NULL;
	const char *key = NULL;
	size_t depth = 0;

	while (tw_json_next(r) != TW_JSON_END && r->token != TW_JSON_BAD) {
		bool begins = r->token == TW_JSON_OBJECT || r->token == TW_JSON_ARRAY;
		struct tw_json_value *value;

		if (r->token == TW_JSON_OBJECT_END || r->token == TW_JSON_ARRAY_END) {
			depth--;
			continue;
		}
		if (r->token == TW_JSON_KEY) {
			key = tw_arena_copy(arena, r->string, r->string_len);
			if (key)
				continue;
		}
		value = r->token == TW_JSON_KEY ? NULL : make(r, arena);
		if (!value) {
			*no_memory = true;
			return NULL;
		}
		value->key = key;
		key = NULL;
		if (depth)
			append(&open[depth - 1], value);
		else
			root = value;
		if (begins)
			open[depth++] = (struct open){ value, NULL };
	}
	return root;
}

const struct tw_json_value *tw_json_parse(struct tw_arena *arena, const char *text, size_t len,
					  const char *name, struct trawl_error *err)
{
	struct tw_json_reader reader;
	struct tw_json_value *root;
	bool no_memory = false;
	int status;

	tw_json_reader_init(&reader, text, len, arena->allocator);
	root = read_all(&reader, arena, &no_memory);
	status = tw_json_reader_end(&reader, name, err);
	if (no_memory && !status)
		tw_no_memory(err);
	return status || no_memory ? NULL : root;
}

const struct tw_json_value *tw_json_get(const struct tw_json_value *value, const char *key)
{
	const struct tw_json_value *member;

	if (!value || value->type != TW_JSON_OBJECT)
		return &nothing;
	for (member = value->first; member; member = member->next)
		if (!strcmp(member->key, key))
			return member;
	return &nothing;
}

double tw_json_number(const struct tw_json_value *value)
{
	return value && value->type == TW_JSON_NUMBER ? value->number : (double)NAN;
}

const char *tw_json_text(const struct tw_json_value *value)
{
	return value && value->type == TW_JSON_STRING ? value->text : "";
}

bool tw_json_true(const struct tw_json_value *value)
{
	return value && value->type == TW_JSON_BOOL && value->boolean;
}
