/*
 * The arguments of a call as a user writes them, made into the JSON lists that the profiler
 * writes, which is what src/model/ reads.
 */
#include "model/call_text.h"

#include "base/alloc.h"
#include "json/reader.h"
#include "json/writer.h"
#include "text/scan.h"

#include <stdio.h>
#include <string.h>

static int bad_argument(struct trawl_error *err, const char *option, const char *text,
			const char *why)
{
	return trawl_error_set(err, TRAWL_EUSAGE, "--%s: '%.200s': %s", option, text, why);
}

/* A piece between separators, without blanks around it. */
static struct tw_slice trimmed(const char *begin, const char *end)
{
	while (begin < end && tw_is_space(*begin))
		begin++;
	while (begin < end && tw_is_space(end[-1]))
		end--;
	return (struct tw_slice){ begin, (size_t)(end - begin) };
}

/* Whether this position is empty: nothing or "-". */
static bool is_none(struct tw_slice text)
{
	return !text.len || (text.len == 1 && *text.ptr == '-');
}

/* The texts between `separator`, each given to `add`; stops at the first failure. */
static int split_texts(const char *text, char separator, struct tw_str *out,
		       bool (*add)(struct tw_slice piece, struct tw_str *out))
{
	const char *end;

	tw_str_add_char(out, '[');
	for (;; text = end + 1) {
		end = strchr(text, separator);
		if (!end)
			end = text + strlen(text);
		if (!add(trimmed(text, end), out))
			return -1;
		if (!*end)
			break;
		tw_str_add_cstr(out, ", ");
	}
	tw_str_add_char(out, ']');
	return 0;
}

/* "8944x1024" as [8944, 1024]. */
static bool add_shape(struct tw_slice shape, struct tw_str *out)
{
	size_t i;
	char before = 'x';

	tw_str_add_char(out, '[');
	for (i = 0; !is_none(shape) && i < shape.len; i++) {
		char c = shape.ptr[i];

		if (c == 'x' || c == 'X' || c == '*') {
			if (before == 'x')
				return false;
			c = 'x';
			tw_str_add_cstr(out, ", ");
		} else if (tw_is_digit(c)) {
			tw_str_add_char(out, c);
		} else {
			return false;
		}
		before = c;
	}
	if (!is_none(shape) && before == 'x')
		return false;
	tw_str_add_char(out, ']');
	return true;
}

static bool add_quoted(struct tw_slice text, struct tw_str *out)
{
	if (is_none(text))
		text.len = 0;
	tw_json_quote(out, text.len ? text.ptr : "", text.len);
	return true;
}

/* JSON in an option: a list. */
static int check_json(const char *option, const char *text, struct trawl_error *err)
{
	struct tw_json_reader r;
	struct trawl_error broken;
	char name[32];
	int status;

	tw_json_reader_init(&r, text, strlen(text), trawl_allocator_default());
	if (tw_json_next(&r) != TW_JSON_ARRAY)
		tw_json_reject(&r, "expected a list");
	snprintf(name, sizeof(name), "--%s", option);
	status = tw_json_reader_end(&r, name, &broken);
	if (status)
		return trawl_error_set(err, status == TRAWL_ENOMEM ? status : TRAWL_EUSAGE, "%s",
				       broken.message);
	return 0;
}

/* Shapes or strides, one an operand. */
static int add_shapes(const char *option, const char *text, struct tw_str *out,
		      struct trawl_error *err)
{
	if (*text == '[') {
		tw_str_add_cstr(out, text);
		return check_json(option, text, err);
	}
	if (split_texts(text, ',', out, add_shape))
		return bad_argument(err, option, text,
				    "expected sizes with x between them, operands with commas "
				    "(8944x1024,1024x2816), or a JSON list");
	return 0;
}

/* A list in JSON as the profiler has it: every value a text, "[1, 1]" for a list. */
static void requote(const char *text, struct tw_str *out)
{
	struct tw_json_reader r;
	enum tw_json_token token;
	const char *begin, *comma = "";

	tw_json_reader_init(&r, text, strlen(text), trawl_allocator_default());
	tw_json_next(&r);
	tw_str_add_char(out, '[');
	while ((token = tw_json_next(&r)) != TW_JSON_BAD && token != TW_JSON_ARRAY_END) {
		begin = text + r.at;
		tw_str_add_cstr(out, comma);
		comma = ", ";
		if (token == TW_JSON_STRING) {
			tw_json_quote(out, r.string, r.string_len);
			continue;
		}
		tw_json_skip(&r);
		tw_json_quote(out, begin, (size_t)(r.p - begin));
	}
	tw_str_add_char(out, ']');
	if (tw_json_reader_end(&r, "", NULL))
		out->failed = true;
}

static int add_concrete(const char *text, struct tw_str *out, struct trawl_error *err)
{
	if (*text == '[' && !strchr(text, ';')) {
		if (check_json("concrete", text, err))
			return err->status;
		requote(text, out);
		return 0;
	}
	return split_texts(text, ';', out, add_quoted);
}

/* The first of a list of types that is none, NULL: all are. */
static bool check_type(struct tw_slice type, struct tw_str *out)
{
	if (!is_none(type) && !tw_dtype(type.ptr, type.len)) {
		tw_str_clear(out);
		tw_str_add(out, type.ptr, type.len);
		return false;
	}
	return add_quoted(type, out);
}

/* One type for all tensors; a number beside them is a Scalar. */
static void spread_type(const char *type, const struct tw_call *shapes, struct tw_str *out)
{
	unsigned i;

	tw_str_add_char(out, '[');
	for (i = 0; i < shapes->count; i++) {
		bool tensor = tw_has_tensor(shapes, i) || shapes->operand[i].is_list;

		tw_str_add_cstr(out, i ? ", " : "");
		tw_json_quote(out, tensor ? type : "Scalar", strlen(tensor ? type : "Scalar"));
	}
	tw_str_add_char(out, ']');
}

static int add_types(const char *text, const struct tw_call *shapes, struct tw_str *out,
		     struct trawl_error *err)
{
	struct tw_str unknown;
	int status = 0;

	if (*text == '[') {
		tw_str_add_cstr(out, text);
		return check_json("dtype", text, err);
	}
	tw_str_init(&unknown, trawl_allocator_default());
	if (split_texts(text, ',', &unknown, check_type))
		status = bad_argument(
			err, "dtype", unknown.failed ? text : unknown.ptr,
			"unknown dtype; examples: bf16, fp16, fp8, float, int8, long int, or - "
			"for a non-tensor argument");
	else if (strchr(text, ','))
		tw_str_add(out, unknown.ptr, unknown.len);
	else
		spread_type(text, shapes, out);
	tw_str_release(&unknown);
	return status;
}

/* The text that one of the above has made. */
static struct tw_slice kept(struct tw_arena *arena, struct tw_str *text)
{
	const char *copy = tw_arena_copy(arena, text->ptr ? text->ptr : "", text->len);
	struct tw_slice slice = { copy, copy ? text->len : 0 };

	text->failed |= !copy;
	tw_str_clear(text);
	return slice;
}

static int read_texts(const struct trawl_call *a, struct tw_call *call, struct tw_call_texts *all,
		      struct tw_arena *arena, struct tw_str *text, struct trawl_error *err)
{
	if (add_shapes("dims", a->dims, text, err))
		return TRAWL_EUSAGE;
	all->dims = kept(arena, text);
	/* How many operands there are, and which are tensors. */
	tw_call_read(call, all);
	if (call->reason)
		return bad_argument(err, "dims", a->dims, call->reason);
	if (a->types && add_types(a->types, call, text, err))
		return TRAWL_EUSAGE;
	all->types = kept(arena, text);
	if (a->strides && add_shapes("strides", a->strides, text, err))
		return TRAWL_EUSAGE;
	all->strides = kept(arena, text);
	if (a->concrete && add_concrete(a->concrete, text, err))
		return TRAWL_EUSAGE;
	all->concrete = kept(arena, text);
	return text->failed ? tw_no_memory(err) : 0;
}

int tw_call_of_text(const struct trawl_call *a, struct tw_arena *arena, struct tw_call *call,
		    struct trawl_error *err)
{
	const char *name = tw_arena_copy(arena, a->operation, strlen(a->operation));
	struct tw_call_texts all = { .name = { name, name ? strlen(name) : 0 } };
	struct tw_str text;
	int status;

	if (!name)
		return tw_no_memory(err);
	tw_str_init(&text, trawl_allocator_default());
	status = read_texts(a, call, &all, arena, &text, err);
	tw_str_release(&text);
	if (status)
		return err->status;
	tw_call_read(call, &all);
	if (call->reason)
		return trawl_error_set(err, TRAWL_EUSAGE, "%s: %s", a->operation, call->reason);
	return 0;
}
