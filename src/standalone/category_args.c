/* Arguments, kernels and library of an operation as its metrics tell them. */
#include "standalone/category.h"

#include <string.h>

const char *tw_category_library(const struct tw_category_row *row)
{
	const struct tw_json_value *kernel;
	size_t i;

	for (i = 0; i < tw_library_count; i++) {
		const struct tw_library *library = &tw_libraries[i];

		if (!library->of_kernel) {
			if (tw_name_matches(library->pattern, row->name, strlen(row->name)))
				return library->library;
			continue;
		}
		for (kernel = row->kernels->first; kernel; kernel = kernel->next) {
			const char *name = tw_json_text(tw_json_get(kernel, "name"));

			if (tw_name_matches(library->pattern, name, strlen(name)))
				return library->library;
		}
	}
	return NULL;
}

/* As Python writes it: "(16, 8)", "(16,)". */
static void add_nested(struct tw_str *out, const struct tw_json_value *value)
{
	const struct tw_json_value *item;

	if (value->type != TW_JSON_ARRAY) {
		tw_str_add_cstr(out, value->text ? value->text : "None");
		return;
	}
	tw_str_add_char(out, '(');
	for (item = value->first; item; item = item->next) {
		add_nested(out, item);
		if (item->next)
			tw_str_add_cstr(out, ", ");
		else if (value->count == 1)
			tw_str_add_char(out, ',');
	}
	tw_str_add_char(out, ')');
}

/* "(16,8)"; what is inside a list of tensors stays as Python writes it. */
static void add_dims(struct tw_str *out, const struct tw_json_value *dims)
{
	const struct tw_json_value *item;

	tw_str_add_char(out, '(');
	for (item = dims->first; item; item = item->next) {
		add_nested(out, item);
		if (item->next || dims->count == 1)
			tw_str_add_char(out, ',');
	}
	tw_str_add_char(out, ')');
}

/* "bf16", or the type's own name where peaks know no short one. */
static void add_type(struct tw_str *out, const char *type)
{
	const struct tw_dtype *known = tw_dtype(type, strlen(type));

	if (known && known->bits > 8 && *known->precision)
		tw_str_add_cstr(out, known->precision);
	else
		tw_str_add_cstr(out, strncmp(type, "c10::", 5) ? type : type + 5);
}

static bool is_tensor(const struct tw_json_value *dims, const char *type)
{
	return dims->type == TW_JSON_ARRAY && *type && strcmp(type, "Scalar") != 0 &&
	       strcmp(type, "ScalarList") != 0;
}

const char *tw_category_args(struct tw_arena *arena, const struct tw_category_row *row)
{
	const struct tw_json_value *dims = row->dims->first, *type = row->types->first;
	const char *kept = NULL;
	struct tw_str text;

	tw_str_init(&text, arena->allocator);
	tw_str_add_cstr(&text, "");
	for (; dims && type; dims = dims->next, type = type->next) {
		if (!is_tensor(dims, tw_json_text(type)))
			continue;
		if (text.len)
			tw_str_add_cstr(&text, "<br>");
		add_dims(&text, dims);
		tw_str_add_char(&text, ' ');
		add_type(&text, tw_json_text(type));
	}
	if (!text.failed)
		kept = tw_arena_copy(arena, text.ptr ? text.ptr : "", text.len);
	tw_str_release(&text);
	return kept;
}

static void add_name(struct tw_str *out, const char *name, size_t most)
{
	size_t len = strlen(name);

	if (!most || len <= most) {
		tw_str_add(out, name, len);
		return;
	}
	/* Not in the middle of a character. */
	while (most && (name[most] & 0xc0) == 0x80)
		most--;
	tw_str_add(out, name, most);
	tw_str_add_cstr(out, "...");
}

const char *tw_category_largest_kernel(struct tw_arena *arena, const struct tw_category_row *row,
				       size_t most)
{
	const struct tw_json_value *kernel, *largest = row->kernels->first;
	const char *kept = NULL;
	struct tw_str text;

	for (kernel = largest; kernel; kernel = kernel->next)
		if (tw_json_number(tw_json_get(kernel, "total_duration_us")) >
		    tw_json_number(tw_json_get(largest, "total_duration_us")))
			largest = kernel;
	if (!largest)
		return NULL;
	tw_str_init(&text, arena->allocator);
	add_name(&text, tw_json_text(tw_json_get(largest, "name")), most);
	if (!text.failed)
		kept = tw_arena_copy(arena, text.ptr ? text.ptr : "", text.len);
	tw_str_release(&text);
	return kept;
}

const char *tw_category_kernels(struct tw_arena *arena, const struct tw_category_row *row,
				size_t most)
{
	const struct tw_json_value *kernel = row->kernels->first;
	const char *kept = NULL;
	struct tw_str text;
	unsigned number = 0;

	tw_str_init(&text, arena->allocator);
	tw_str_add_cstr(&text, "");
	for (; kernel; kernel = kernel->next) {
		if (row->kernels->count > 1)
			tw_str_addf(&text, "%sKernel %u: ", number ? "<br>" : "", number + 1);
		number++;
		add_name(&text, tw_json_text(tw_json_get(kernel, "name")), most);
	}
	if (!text.failed)
		kept = tw_arena_copy(arena, text.ptr ? text.ptr : "", text.len);
	tw_str_release(&text);
	return kept;
}
