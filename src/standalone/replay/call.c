/*
 * A recorded call as JSON that a script can rebuild it from.  The names of arguments come from
 * data/op_arguments.tsv where it has the operation; values do not depend on that.
 */
#define _GNU_SOURCE
#include "standalone/replay/replay.h"

#include "base/alloc.h"
#include "data/tables.h"
#include "json/python.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What was recorded at a position. */
enum kind { ABSENT, TENSOR, TENSORS, NUMBER, BOOLEAN, LIST, TEXT };

struct operand {
	enum kind kind;
	const struct tw_json_value *dims, *strides, *type, *value;
};

/* The four lists of a call, then the place in each; NULL: not recorded, or past its end. */
struct lists {
	const struct tw_json_value *dims, *types, *strides, *concrete;
};

static const struct tw_json_value nothing = { .type = TW_JSON_NULL };

size_t tw_replay_op_name(const char *name)
{
	static const char synthetic[] = " (Synthetic Op)";
	const char *arrow = strstr(name, "->");
	size_t len = strlen(name), end = sizeof(synthetic) - 1;

	if (!arrow || len < end || strcmp(name + len - end, synthetic) != 0)
		return len;
	return (size_t)(arrow - name);
}

/* ---- reading */

/* A literal as a value; NULL when it is none, which is no failure, or when out of memory. */
static const struct tw_json_value *literal(const char *text, size_t len, struct tw_arena *arena,
					   struct trawl_error *err)
{
	const struct tw_json_value *value = NULL;
	struct tw_str json;

	tw_str_init(&json, arena->allocator);
	tw_json_from_python(text, len, &json);
	if (json.failed)
		tw_no_memory(err);
	else
		value = tw_json_parse(arena, json.ptr ? json.ptr : "", json.len, "arguments", err);
	tw_str_release(&json);
	return value;
}

/* One of a call's lists; *good turns false when it is there and cannot be read. */
static const struct tw_json_value *list_of(const char *text, struct tw_arena *arena, bool *good,
					   struct trawl_error *err)
{
	const struct tw_json_value *list;

	if (!*text)
		return NULL;
	list = literal(text, strlen(text), arena, err);
	if (list && list->type == TW_JSON_ARRAY)
		return list;
	*good = false;
	return NULL;
}

/* The value at a place, which goes on by one. */
static const struct tw_json_value *next_of(const struct tw_json_value **place)
{
	const struct tw_json_value *item = *place;

	if (!item)
		return &nothing;
	*place = item->next;
	return item;
}

/* A list of numbers that are none below `least`. */
static bool is_numbers(const struct tw_json_value *list, double least)
{
	const struct tw_json_value *item;

	if (list->type != TW_JSON_ARRAY)
		return false;
	for (item = list->first; item; item = item->next)
		if (item->type != TW_JSON_NUMBER || item->number < least ||
		    strpbrk(item->text, ".eE"))
			return false;
	return true;
}

/* A list of values that are no lists. */
static bool is_flat(const struct tw_json_value *list)
{
	const struct tw_json_value *item;

	for (item = list->first; item; item = item->next)
		if (item->type == TW_JSON_ARRAY || item->type == TW_JSON_OBJECT)
			return false;
	return true;
}

static bool is_list_of_lists(const struct tw_json_value *value)
{
	return value->type == TW_JSON_ARRAY && value->first && value->first->type == TW_JSON_ARRAY;
}

/* A type of tensors; others are names of what is none. */
static bool is_dtype(const char *type)
{
	return tw_dtype(type, strlen(type)) || !strncasecmp(type, "c10::", 5);
}

/* The concrete value, itself a text in the list; a null value when it is empty or no literal. */
static const struct tw_json_value *value_of(const struct tw_json_value *concrete,
					    struct tw_arena *arena, struct trawl_error *err)
{
	const struct tw_json_value *value = NULL;

	if (concrete->type != TW_JSON_STRING)
		return concrete;
	if (concrete->text_len)
		value = literal(concrete->text, concrete->text_len, arena, err);
	return value ? value : &nothing;
}

/* Texts are not carried on where they could name a place on the machine of the trace. */
static bool may_be_told(const struct tw_json_value *text)
{
	return text->type == TW_JSON_STRING && text->text_len && !strpbrk(text->text, "/\\");
}

/* Whether the shapes of a tensor, or of those in a list, are shapes. */
static bool shapes_are_good(const struct operand *o)
{
	const struct tw_json_value *item;

	if (o->kind == TENSOR)
		return is_numbers(o->dims, 0);
	for (item = o->kind == TENSORS ? o->dims->first : NULL; item; item = item->next)
		if (!is_numbers(item, 0))
			return false;
	return true;
}

static enum kind kind_of_value(const struct tw_json_value *value)
{
	switch (value->type) {
	case TW_JSON_ARRAY:
		return is_flat(value) ? LIST : ABSENT;
	case TW_JSON_BOOL:
		return BOOLEAN;
	case TW_JSON_NUMBER:
	case TW_JSON_STRING: /* inf, nan */
		return NUMBER;
	default:
		return ABSENT;
	}
}

/* The operand at the place; false when its shapes are none. */
static bool take_operand(struct lists *lists, struct operand *o, struct tw_arena *arena,
			 struct trawl_error *err)
{
	const char *type;

	*o = (struct operand){ ABSENT, next_of(&lists->dims), next_of(&lists->strides),
			       next_of(&lists->types), next_of(&lists->concrete) };
	type = tw_json_text(o->type);
	if (o->type->type == TW_JSON_ARRAY || !strcmp(type, "TensorList") ||
	    is_list_of_lists(o->dims)) {
		o->kind = TENSORS;
	} else if (!strcmp(type, "Scalar") || !strcmp(type, "ScalarList")) {
		o->value = value_of(o->value, arena, err);
		o->kind = kind_of_value(o->value);
	} else if (is_dtype(type) || o->dims->first) {
		o->kind = TENSOR;
	} else if (may_be_told(o->value)) {
		o->kind = TEXT;
	}
	return shapes_are_good(o);
}

/* ---- a call in one line */

static void tell_list(struct tw_str *out, const struct tw_json_value *list)
{
	const struct tw_json_value *item;

	tw_str_add_char(out, '[');
	for (item = list->first; item; item = item->next)
		tw_str_addf(out, "%s%s", item == list->first ? "" : ", ",
			    item->type == TW_JSON_BOOL ? (item->boolean ? "True" : "False") :
			    item->text		       ? item->text :
							 "None");
	tw_str_add_char(out, ']');
}

static void tell_tensor(struct tw_str *out, const char *type, const struct tw_json_value *dims)
{
	if (!strncasecmp(type, "c10::", 5))
		type += 5;
	tw_str_add_cstr(out, *type ? type : "?");
	tell_list(out, dims);
}

static void tell_operand(struct tw_str *out, const struct operand *o)
{
	const struct tw_json_value *dims = o->dims->first, *types = o->type->first;

	if (o->kind == TENSOR) {
		tell_tensor(out, tw_json_text(o->type), o->dims);
	} else if (o->kind == TENSORS && dims) {
		tw_str_add_char(out, '(');
		for (; dims; dims = dims->next) {
			tell_tensor(out, tw_json_text(next_of(&types)), dims);
			tw_str_add_cstr(out, dims->next ? ", " : "");
		}
		tw_str_add_char(out, ')');
	} else if (o->kind == LIST) {
		tell_list(out, o->value);
	} else if (o->kind == BOOLEAN) {
		tw_str_add_cstr(out, o->value->boolean ? "True" : "False");
	} else {
		tw_str_add_cstr(out, o->kind > TENSORS && o->value->text ? o->value->text : "-");
	}
}

/* ---- which arguments those are */

static bool ends_with(const char *text, char c)
{
	return *text && text[strlen(text) - 1] == c;
}

static bool fits(const char *type, const struct operand *o)
{
	bool tensor = !strncmp(type, "Tensor", 6);
	bool list = strstr(type, "[") != NULL;

	switch (o->kind) {
	case ABSENT:
		/* It has a default, or a type whose values are not recorded. */
		return !tensor || list || ends_with(type, '?');
	case TENSOR:
		return tensor && !list;
	case TENSORS:
		return tensor && list;
	case NUMBER:
		return !tensor && !list && strncmp(type, "bool", 4) && strncmp(type, "str", 3);
	case BOOLEAN:
		return !tensor && !list && (!strncmp(type, "bool", 4) || !strcmp(type, "Scalar"));
	case LIST:
		return !tensor && list;
	case TEXT:
		return !tensor && !list;
	}
	return false;
}

static const struct tw_op_arguments *arguments_of(const char *op, size_t len,
						  const struct operand *operands, size_t count)
{
	const struct tw_op_arguments *first = tw_op_arguments(op, len), *known = first;
	const struct tw_op_arguments *end = tw_op_arguments_known + tw_op_arguments_count;
	size_t i;

	for (; known && known < end && !strcmp(known->op, first->op); known++) {
		for (i = 0; i < count && known->count == count; i++)
			if (!fits(tw_op_argument_list[known->first + i].type, &operands[i]))
				break;
		if (i == count && known->count == count)
			return known;
	}
	return NULL;
}

/* ---- writing */

static void add_scalar(struct tw_json *json, const struct tw_json_value *value)
{
	if (value->type == TW_JSON_NUMBER)
		tw_json_number_as_written(json, value->text, value->text_len);
	else if (value->type == TW_JSON_BOOL)
		tw_json_bool(json, value->boolean);
	else
		tw_json_cstr(json, value->type == TW_JSON_STRING ? value->text : NULL);
}

static void add_list(struct tw_json *json, const struct tw_json_value *list)
{
	const struct tw_json_value *item;

	tw_json_array(json, TW_JSON_INLINE);
	for (item = list->first; item; item = item->next)
		add_scalar(json, item);
	tw_json_end(json);
}

/* What a tensor is filled with; NULL: it is written over, or its type says nothing. */
static const char *contents(const char *type, bool written_over)
{
	const struct tw_dtype *dtype = tw_dtype(type, strlen(type));
	const char *name = !strncasecmp(type, "c10::", 5) ? type + 5 : type;

	if (written_over)
		return NULL;
	if (!strcasecmp(name, "bool"))
		return "bool";
	if (dtype &&
	    (strcasestr(name, "int") || strcasestr(name, "long") || strcasestr(name, "short") ||
	     strcasestr(name, "char") || strcasestr(name, "byte")))
		return "randint";
	return "normal";
}

static void add_tensor(struct tw_json *json, struct tw_replay_row *row,
		       const struct tw_json_value *dims, const struct tw_json_value *strides,
		       const char *type, bool written_over)
{
	bool known = is_numbers(strides, 0) && strides->count == dims->count;

	row->lacks_type |= !*type;
	row->lacks_strides |= !known;
	tw_json_object(json, TW_JSON_INLINE);
	tw_json_key(json, "shape");
	add_list(json, dims);
	tw_json_key(json, "dtype");
	tw_json_cstr(json, *type ? type : NULL);
	tw_json_key(json, "strides");
	if (known)
		add_list(json, strides);
	else
		tw_json_null(json);
	tw_json_key(json, "init");
	tw_json_cstr(json, contents(type, written_over));
	tw_json_end(json);
}

static void add_tensors(struct tw_json *json, struct tw_replay_row *row, const struct operand *o)
{
	const struct tw_json_value *dims = o->dims->first, *strides = o->strides->first;
	const struct tw_json_value *types = o->type->first;

	/* An empty list is one whose shapes were not recorded. */
	if (!dims) {
		tw_json_null(json);
		return;
	}
	tw_json_array(json, TW_JSON_INLINE);
	for (; dims; dims = dims->next)
		add_tensor(json, row, dims, next_of(&strides), tw_json_text(next_of(&types)),
			   false);
	tw_json_end(json);
}

/* The type of an argument that is not in the table. */
static const char *guessed_type(const struct operand *o)
{
	switch (o->kind) {
	case TENSOR:
		return "Tensor";
	case TENSORS:
		return "Tensor[]";
	case NUMBER:
		return "Scalar";
	case BOOLEAN:
		return "bool";
	case LIST:
		return "Scalar[]";
	case TEXT:
		return "str";
	case ABSENT:
		break;
	}
	return "";
}

static void add_operand(struct tw_json *json, struct tw_replay_row *row, const struct operand *o,
			const struct tw_op_argument *argument, size_t position, bool written_over)
{
	char name[32];

	snprintf(name, sizeof(name), "arg%zu", position);
	tw_json_object(json, TW_JSON_INLINE);
	tw_json_key(json, "arg_name");
	tw_json_cstr(json, argument ? argument->name : name);
	tw_json_key(json, "arg_type");
	tw_json_cstr(json, argument ? argument->type : guessed_type(o));
	tw_json_key(json, "value");
	if (o->kind == TENSOR)
		add_tensor(json, row, o->dims, o->strides, tw_json_text(o->type), written_over);
	else if (o->kind == TENSORS)
		add_tensors(json, row, o);
	else if (o->kind == ABSENT)
		tw_json_null(json);
	else if (o->kind == LIST)
		add_list(json, o->value);
	else
		add_scalar(json, o->value);
	tw_json_end(json);
}

static void add_ir(struct tw_json *json, struct tw_replay_row *row, size_t len,
		   const struct operand *operands, size_t count, struct tw_str *line)
{
	const char *op = row->name;
	const struct tw_op_arguments *known = arguments_of(op, len, operands, count);
	size_t positional = known ? known->positional : count, base = tw_op_base(op, len), i;
	/* Only the first argument of these is written and never read. */
	bool overwrites = (base == 11 && !memcmp(op, "aten::copy_", 11)) ||
			  (base == 11 && !memcmp(op, "aten::fill_", 11));

	tw_json_key(json, "replay_ir");
	tw_json_object(json, TW_JSON_LINES);
	tw_json_key(json, "list_pos_args");
	tw_json_array(json, positional ? TW_JSON_LINES : TW_JSON_INLINE);
	for (i = 0; i < count; i++) {
		const struct tw_op_argument *argument =
			known ? &tw_op_argument_list[known->first + i] : NULL;

		if (i == positional) {
			tw_json_end(json);
			tw_json_key(json, "list_kwargs");
			tw_json_array(json, TW_JSON_LINES);
		}
		add_operand(json, row, &operands[i], argument, i, overwrites && !i);
		tw_str_addf(line, "%s%s%s", line->len ? ", " : "",
			    i >= positional ? argument->name : "", i >= positional ? "=" : "");
		tell_operand(line, &operands[i]);
	}
	tw_json_end(json);
	if (positional == count) {
		tw_json_key(json, "list_kwargs");
		tw_json_array(json, TW_JSON_INLINE);
		tw_json_end(json);
	}
	tw_json_end(json);
}

static size_t longest(const struct lists *lists)
{
	const struct tw_json_value *all[] = { lists->dims, lists->types, lists->strides,
					      lists->concrete };
	size_t most = 0, i;

	for (i = 0; i < 4; i++)
		if (all[i] && all[i]->count > most)
			most = all[i]->count;
	return most;
}

/* From the lists to their first values. */
static void enter(struct lists *lists)
{
	const struct tw_json_value **all[] = { &lists->dims, &lists->types, &lists->strides,
					       &lists->concrete };
	size_t i;

	for (i = 0; i < 4; i++)
		*all[i] = *all[i] ? (*all[i])->first : NULL;
}

int tw_replay_add_call(struct tw_json *json, struct tw_replay_row *row, struct tw_arena *arena,
		       struct trawl_error *err)
{
	size_t len = tw_replay_op_name(row->name), count, i;
	struct trawl_error unread = { 0 };
	struct operand *operands;
	struct lists lists;
	bool good = true, recorded;
	struct tw_str line;

	lists.dims = list_of(row->dims, arena, &good, &unread);
	lists.types = list_of(row->types, arena, &good, &unread);
	lists.strides = list_of(row->strides, arena, &good, &unread);
	lists.concrete = list_of(row->concrete, arena, &good, &unread);
	recorded = lists.dims || lists.types || lists.concrete;
	count = longest(&lists);
	enter(&lists);
	operands = tw_arena_alloc(arena, (count + 1) * sizeof(*operands));
	for (i = 0; operands && good && i < count; i++)
		good = take_operand(&lists, &operands[i], arena, &unread);
	if (!operands || unread.status == TRAWL_ENOMEM)
		return tw_no_memory(err);
	tw_json_key(json, "op_name");
	tw_json_string(json, row->name, len);
	tw_str_init(&line, arena->allocator);
	row->lacks_type = row->lacks_strides = false;
	add_ir(json, row, len, operands, good ? count : 0, &line);
	row->arguments = tw_kept(arena, &line);
	row->left_out = !good	  ? "its recorded arguments cannot be read" :
			!recorded ? "its arguments were not recorded" :
				    NULL;
	if (row->left_out)
		tw_field_text(json, "left_out", row->left_out);
	return row->arguments ? 0 : tw_no_memory(err);
}
