#include "standalone/fields.h"

#include "base/alloc.h"
#include "trawl/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What all lists look like. */
struct list {
	char *at;
	size_t count;
};

static const void *place(const void *object, const struct tw_member *field)
{
	return (const char *)object + field->at;
}

static double real_of(const void *at, const struct tw_member *field)
{
	switch (field->kind) {
	case TW_F_FACT:
		return ((const struct tw_facts *)at)->value[field->digits];
	case TW_F_COUNT:
		return (double)*(const uint64_t *)at;
	case TW_F_NS:
		return *(const int64_t *)at == TRAWL_TIME_NONE ? (double)NAN :
								 (double)*(const int64_t *)at;
	case TW_F_REAL:
	case TW_F_NUMBER:
	case TW_F_MS:
	case TW_F_FLAG:
		return *(const double *)at;
	default:
		return NAN;
	}
}

static const char *text_of(const void *at, const struct tw_member *field)
{
	const char *text = field->says;

	if (field->kind == TW_F_LEVEL && *(const struct tw_level *const *)at)
		return (*(const struct tw_level *const *)at)->level;
	if (field->kind == TW_F_TEXT || field->kind == TW_F_PLAIN || field->kind == TW_F_WORD)
		text = *(const char *const *)at;
	return text && !*text && (field->kind == TW_F_TEXT || field->kind == TW_F_WORD) ? NULL :
											  text;
}

static bool is_text(const struct tw_member *field)
{
	return field->kind <= TW_F_WORD || field->kind == TW_F_LEVEL || field->kind == TW_F_SAYS;
}

static bool is_known(const void *at, const struct tw_member *field)
{
	switch (field->kind) {
	case TW_F_TEXT:
	case TW_F_PLAIN:
	case TW_F_WORD:
	case TW_F_LEVEL:
	case TW_F_SAYS:
		return text_of(at, field);
	case TW_F_POINTER:
		return *(const void *const *)at;
	case TW_F_LIST:
	case TW_F_TEXTS:
	case TW_F_NAMED:
		return ((const struct list *)at)->count;
	case TW_F_BOOL:
		return *(const bool *)at;
	case TW_F_STRUCT:
		return true;
	default:
		return isfinite(real_of(at, field));
	}
}

const char *tw_kept(struct tw_arena *arena, struct tw_str *text)
{
	const char *kept = tw_arena_copy(arena, text->ptr ? text->ptr : "", text->len);

	arena->failed |= text->failed;
	tw_str_release(text);
	return kept;
}

double tw_percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
}

double tw_as_written(double value, unsigned digits)
{
	static const double steps[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };

	/* Wide enough for the product to be exact: halves are rounded as in writing. */
	return (double)rintl((long double)value * (long double)steps[digits]) / steps[digits];
}

/* A text that stands as a number. */
static bool is_word(const void *at, const struct tw_member *field)
{
	const char *text = field->kind == TW_F_WORD ? text_of(at, field) : NULL;

	return text && *text && !text[strspn(text, "0123456789")];
}

/* ---- JSON */

static enum tw_json_layout layout(bool inlined)
{
	return inlined ? TW_JSON_INLINE : TW_JSON_LINES;
}

static void add_object(struct tw_json *json, const struct tw_fields *fields, const void *object,
		       bool inlined)
{
	tw_json_object(json, layout(fields->inlined || inlined));
	tw_fields_members(json, fields, object);
	tw_json_end(json);
}

static void add_list(struct tw_json *json, const struct list *list, const struct tw_member *field)
{
	size_t i;

	if (field->kind == TW_F_NAMED)
		tw_json_object(json, layout(field->inlined));
	else
		tw_json_array(json, layout(field->inlined && field->kind == TW_F_TEXTS));
	for (i = 0; i < list->count; i++) {
		const struct tw_named *named = (const struct tw_named *)(const void *)list->at + i;

		if (field->kind == TW_F_LIST) {
			add_object(json, field->of, list->at + i * field->of->size, field->inlined);
		} else if (field->kind == TW_F_TEXTS) {
			tw_json_cstr(json, ((const char *const *)(const void *)list->at)[i]);
		} else {
			tw_json_key(json, named->name);
			tw_json_real(json, named->value);
		}
	}
	tw_json_end(json);
}

static unsigned digits_of(const void *at, const struct tw_member *field)
{
	if (field->kind == TW_F_MS)
		return fabs(real_of(at, field)) < 0.1 ? 6 : 3;
	return field->kind == TW_F_FACT ? tw_facts_known[field->digits].digits : field->digits;
}

static void add_value(struct tw_json *json, const void *at, const struct tw_member *field)
{
	switch (field->kind) {
	case TW_F_STRUCT:
		tw_fields_object(json, NULL, field->of, at);
		return;
	case TW_F_LIST:
	case TW_F_TEXTS:
	case TW_F_NAMED:
		add_list(json, at, field);
		return;
	case TW_F_BOOL:
		tw_json_bool(json, *(const bool *)at);
		return;
	default:
		break;
	}
	if (!is_known(at, field))
		tw_json_null(json);
	else if (is_word(at, field))
		tw_json_number_as_written(json, text_of(at, field), strlen(text_of(at, field)));
	else if (is_text(field))
		tw_json_cstr(json, text_of(at, field));
	else if (field->kind == TW_F_POINTER)
		tw_fields_object(json, NULL, field->of, *(const void *const *)at);
	else if (field->kind == TW_F_COUNT)
		tw_json_integer(json, (int64_t) * (const uint64_t *)at);
	else if (field->kind == TW_F_NS)
		tw_json_decimal(json, *(const int64_t *)at, field->digits);
	else if (field->kind == TW_F_FLAG)
		tw_json_bool(json, real_of(at, field) > 0);
	else if (field->kind == TW_F_NUMBER)
		tw_json_real(json, real_of(at, field));
	else
		tw_json_rounded(json, real_of(at, field), digits_of(at, field));
}

void tw_fields_members(struct tw_json *json, const struct tw_fields *fields, const void *object)
{
	size_t count = fields->members ? fields->members(object) : fields->count, i;

	for (i = 0; i < count; i++) {
		const struct tw_member *field = &fields->list[i];

		if (field->kind == TW_F_INLINE)
			tw_fields_members(json, field->of,
					  *(const void *const *)place(object, field));
		if (field->kind == TW_F_INLINE ||
		    (field->if_known && !is_known(place(object, field), field)))
			continue;
		tw_json_key(json, field->key);
		add_value(json, place(object, field), field);
	}
}

void tw_fields_object(struct tw_json *json, const char *key, const struct tw_fields *fields,
		      const void *object)
{
	if (key)
		tw_json_key(json, key);
	add_object(json, fields, object, false);
}

void tw_fields_array(struct tw_json *json, const char *key, const struct tw_fields *fields,
		     const void *objects, size_t count)
{
	size_t i;

	tw_json_key(json, key);
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < count; i++)
		tw_fields_object(json, NULL, fields, (const char *)objects + i * fields->size);
	tw_json_end(json);
}

void tw_fields_document(struct tw_str *out, const struct tw_fields *fields, const void *object)
{
	struct tw_json json;

	tw_json_init(&json, out);
	tw_fields_object(&json, NULL, fields, object);
	tw_json_finish(&json);
}

/* ---- reading */

struct reading {
	const char *name;
	struct tw_arena *arena;
	struct trawl_error *err;
};

static int read_object(const struct reading *r, const struct tw_fields *fields, void *object,
		       const struct tw_json_value *json);

static int read_list(const struct reading *r, const struct tw_member *field, struct list *list,
		     const struct tw_json_value *json)
{
	size_t size = field->kind == TW_F_LIST	? field->of->size :
		      field->kind == TW_F_TEXTS ? sizeof(const char *) :
						  sizeof(struct tw_named);
	const struct tw_json_value *item;
	int status = 0;

	*list = (struct list){ tw_arena_array(r->arena, json->count + 1, size), 0 };
	if (!list->at)
		return tw_no_memory(r->err);
	for (item = json->first; item && !status; item = item->next) {
		void *at = list->at + size * list->count++;

		if (field->kind == TW_F_LIST)
			status = read_object(r, field->of, at, item);
		else if (field->kind == TW_F_TEXTS)
			*(const char **)at = tw_json_text(item);
		else if (item->type != TW_JSON_NUMBER && !tw_json_is_null(item))
			status = TRAWL_EFORMAT;
		else
			*(struct tw_named *)at =
				(struct tw_named){ item->key ? item->key : "", item->number };
		/* A value that is not known is none. */
		list->count -= field->kind == TW_F_NAMED && tw_json_is_null(item);
	}
	return status;
}

static int read_number(const struct tw_member *field, void *at, const struct tw_json_value *json)
{
	double number = json->type == TW_JSON_NUMBER ? json->number : (double)NAN, ns;

	if ((json->type != TW_JSON_NUMBER && !tw_json_is_null(json)) ||
	    (field->needed && !(number >= 0)))
		return TRAWL_EFORMAT;
	ns = fmin(fmax(number * pow(10, field->digits), -9e18), 9e18);
	if (field->kind == TW_F_COUNT)
		*(uint64_t *)at = number > 0 ? (uint64_t)fmin(number, 1e18) : 0;
	else if (field->kind == TW_F_NS)
		*(int64_t *)at = isnan(number) ? TRAWL_TIME_NONE : llround(ns);
	else
		*(double *)at = number;
	return 0;
}

static int read_value(const struct reading *r, const struct tw_member *field, void *at,
		      const struct tw_json_value *json)
{
	void *own;

	switch (field->kind) {
	case TW_F_TEXT:
	case TW_F_PLAIN:
		*(const char **)at = json->type == TW_JSON_STRING ? json->text :
				     field->kind == TW_F_PLAIN	  ? "" :
								    NULL;
		return 0;
	case TW_F_WORD:
		*(const char **)at = json->text;
		return 0;
	case TW_F_LEVEL:
		*(const struct tw_level **)at = NULL;
		return 0;
	case TW_F_SAYS:
	case TW_F_INLINE:
		return 0;
	case TW_F_BOOL:
		*(bool *)at = tw_json_true(json);
		return 0;
	case TW_F_FLAG:
		*(double *)at = json->type == TW_JSON_BOOL ? json->boolean : (double)NAN;
		return 0;
	case TW_F_FACT:
		((struct tw_facts *)at)->value[field->digits] = tw_json_number(json);
		return 0;
	case TW_F_LIST:
	case TW_F_TEXTS:
	case TW_F_NAMED:
		return read_list(r, field, at, json);
	case TW_F_STRUCT:
		if (field->needed && json->type != TW_JSON_OBJECT)
			return TRAWL_EFORMAT;
		return read_object(r, field->of, at, json);
	case TW_F_POINTER:
		own = json->type == TW_JSON_OBJECT ? tw_arena_array(r->arena, 1, field->of->size) :
						     NULL;
		*(void **)at = own;
		if (own)
			return read_object(r, field->of, own, json);
		return json->type == TW_JSON_OBJECT ? tw_no_memory(r->err) : 0;
	default:
		return read_number(field, at, json);
	}
}

static int read_object(const struct reading *r, const struct tw_fields *fields, void *object,
		       const struct tw_json_value *json)
{
	size_t i;

	r->err->status = 0;
	for (i = 0; i < fields->count; i++) {
		const struct tw_member *field = &fields->list[i];
		int status = read_value(r, field, (char *)object + field->at,
					tw_json_get(json, field->key));

		if (status && !r->err->status)
			return trawl_error_set(r->err, status,
					       "%s: no number where one belongs, at %s", r->name,
					       field->key);
		if (status)
			return trawl_error_context(r->err, status, "%s", field->key);
	}
	return 0;
}

int tw_fields_read(const struct tw_fields *fields, void *object, const struct tw_json_value *json,
		   const char *name, struct tw_arena *arena, struct trawl_error *err)
{
	const struct reading r = { name, arena, err };

	return read_object(&r, fields, object, json);
}

/* ---- Markdown */

/* The member that "part.key" names, and where it is; NULL: there is none now. */
static const struct tw_member *find(const struct tw_fields *fields, const void *object,
				    const char *path, size_t len, const void **at)
{
	size_t head = strcspn(path, ".|:}"), i;

	for (i = 0; i < fields->count; i++) {
		const struct tw_member *field = &fields->list[i], *inner;

		*at = place(object, field);
		if (field->kind == TW_F_INLINE) {
			inner = find(field->of, *(const void *const *)*at, path, len, at);
			if (inner)
				return inner;
			continue;
		}
		if (strlen(field->key) != head || memcmp(field->key, path, head))
			continue;
		if (head >= len || path[head] != '.')
			return field;
		if (field->kind == TW_F_POINTER)
			*at = *(const void *const *)*at;
		return *at ? find(field->of, *at, path + head + 1, len - head - 1, at) : NULL;
	}
	return NULL;
}

static void fill_one(struct tw_str *out, const char *path, size_t len,
		     const struct tw_fields *fields, const void *object)
{
	size_t end = strcspn(path, "|:}");
	const void *at = NULL;
	const struct tw_member *field = find(fields, object, path, end, &at);
	struct tw_json json;

	if (!field || !is_known(at, field)) {
		tw_str_add_cstr(out, TW_MD_UNKNOWN);
		return;
	}
	tw_json_init(&json, out);
	if (!is_text(field) || is_word(at, field))
		add_value(&json, at, field);
	else if (path[end] == ':')
		tw_md_code(out, text_of(at, field), strtoul(path + end + 1, NULL, 10));
	else
		tw_md_text(out, text_of(at, field));
	if (path[end] == '|')
		tw_str_add(out, path + end + 1, len - end - 1);
}

void tw_fields_fill(struct tw_str *out, const char *text, const struct tw_fields *fields,
		    const void *object)
{
	const char *open, *close;

	while ((open = strchr(text, '{')) && (close = strchr(open, '}'))) {
		tw_str_add(out, text, (size_t)(open - text));
		fill_one(out, open + 1, (size_t)(close - open) - 1, fields, object);
		text = close + 1;
	}
	tw_str_add_cstr(out, text);
}

/* ---- members of other values */

void tw_field_text(struct tw_json *json, const char *key, const char *text)
{
	tw_json_key(json, key);
	tw_json_cstr(json, text);
}

void tw_field_count(struct tw_json *json, const char *key, uint64_t count)
{
	tw_json_key(json, key);
	tw_json_integer(json, (int64_t)count);
}

void tw_field_bool(struct tw_json *json, const char *key, bool value)
{
	tw_json_key(json, key);
	tw_json_bool(json, value);
}

void tw_field_real(struct tw_json *json, const char *key, double value, unsigned digits)
{
	tw_json_key(json, key);
	tw_json_rounded(json, value, digits);
}
