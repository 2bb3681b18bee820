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

/* The item of a sieved list that is being read, and how things were before it. */
struct item {
	const struct tw_json_sieve *sieve;
	const struct tw_json_value *value;
	struct open list;
	struct tw_arena mark;
};

static bool is_sieved(const struct item *item, const struct open *open, size_t depth)
{
	return item->sieve && depth == 2 && open[0].value->type == TW_JSON_OBJECT &&
	       open[1].value->type == TW_JSON_ARRAY &&
	       !strcmp(open[1].value->key, item->sieve->key);
}

/* Forgets the item that ends unless the sieve keeps it. */
static void sieve(const struct item *item, struct open *list, struct tw_arena *arena)
{
	if (item->sieve->keep(item->sieve->context, item->value))
		return;
	*list = item->list;
	if (list->last)
		list->last->next = NULL;
	else
		list->value->first = NULL;
	list->value->count--;
	tw_arena_rewind(arena, &item->mark);
}

static struct tw_json_value *read_all(struct tw_json_reader *r, struct tw_arena *arena,
				      const struct tw_json_sieve *wanted, bool *no_memory)
{
	struct open open[TW_JSON_READ_DEPTH + 1] = { { NULL, NULL } };
	struct item item = { .sieve = wanted };
	struct tw_json_value *root = NULL;
	const char *key = NULL;
	size_t depth = 0;

	while (tw_json_next(r) != TW_JSON_END && r->token != TW_JSON_BAD) {
		bool begins = r->token == TW_JSON_OBJECT || r->token == TW_JSON_ARRAY;
		struct tw_json_value *value;

		if (r->token == TW_JSON_OBJECT_END || r->token == TW_JSON_ARRAY_END) {
			if (is_sieved(&item, open, --depth))
				sieve(&item, &open[1], arena);
			continue;
		}
		if (r->token == TW_JSON_KEY) {
			key = tw_arena_copy(arena, r->string, r->string_len);
			if (key)
				continue;
		} else if (is_sieved(&item, open, depth)) {
			item.list = open[1];
			item.mark = tw_arena_mark(arena);
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
		if (is_sieved(&item, open, depth)) {
			item.value = value;
			if (!begins)
				sieve(&item, &open[1], arena);
		}
		if (begins)
			open[depth++] = (struct open){ value, NULL };
	}
	return root;
}

const struct tw_json_value *tw_json_parse_some(struct tw_arena *arena, const char *text, size_t len,
					       const char *name, const struct tw_json_sieve *wanted,
					       struct trawl_error *err)
{
	struct tw_json_reader reader;
	struct tw_json_value *root;
	bool no_memory = false;
	int status;

	tw_json_reader_init(&reader, text, len, arena->allocator);
	root = read_all(&reader, arena, wanted, &no_memory);
	status = tw_json_reader_end(&reader, name, err);
	if (no_memory && !status)
		tw_no_memory(err);
	return status || no_memory ? NULL : root;
}

const struct tw_json_value *tw_json_parse(struct tw_arena *arena, const char *text, size_t len,
					  const char *name, struct trawl_error *err)
{
	return tw_json_parse_some(arena, text, len, name, NULL, err);
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

/* Not deep: the writer's depth is the limit. */
/* What holds only values is on one line, unless it has a name and with it a line of its own. */
static enum tw_json_layout layout_of(const struct tw_json_value *value)
{
	const struct tw_json_value *child;

	for (child = value->first; child; child = child->next)
		if (child->type == TW_JSON_OBJECT || child->type == TW_JSON_ARRAY)
			return TW_JSON_LINES;
	return value->key ? TW_JSON_LINES : TW_JSON_INLINE;
}

void tw_json_copy(struct tw_json *json, const struct tw_json_value *value)
{
	bool is_object = value->type == TW_JSON_OBJECT;
	const struct tw_json_value *child;

	if (value->type == TW_JSON_STRING) {
		tw_json_string(json, value->text, value->text_len);
	} else if (value->type == TW_JSON_NUMBER) {
		tw_json_number_as_written(json, value->text, value->text_len);
	} else if (value->type == TW_JSON_BOOL) {
		tw_json_bool(json, value->boolean);
	} else if (json->depth == TW_JSON_DEPTH || (!is_object && value->type != TW_JSON_ARRAY)) {
		tw_json_null(json);
	} else {
		if (is_object)
			tw_json_object(json, layout_of(value));
		else
			tw_json_array(json, layout_of(value));
		for (child = value->first; child; child = child->next) {
			if (is_object)
				tw_json_key(json, child->key);
			tw_json_copy(json, child);
		}
		tw_json_end(json);
	}
}
