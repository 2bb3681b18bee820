/* Arguments, kernels and library of an operation as its metrics tell them. */
#include "standalone/category/category.h"

#include <string.h>

/* Of the modules around an operation, where no function of Python is known. */
#define PATH_MODULES 3

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

/* Without what every module's name begins with. */
static const char *module_name(const struct tw_caller *frame)
{
	static const char prefix[] = "nn.Module: ";

	return strncmp(frame->name, prefix, sizeof(prefix) - 1) ? frame->name :
								  frame->name + sizeof(prefix) - 1;
}

/* The function that called it, else the modules around it, outermost first; else NULL. */
static const char *path_of(const struct tw_category_row *row, struct tw_arena *arena)
{
	const struct tw_tree *tree = row->tree;
	size_t i = row->modules.count > PATH_MODULES ? row->modules.count - PATH_MODULES : 0;
	const char *kept = NULL;
	struct tw_str path;

	for (size_t k = 0; k < tree->callers.count; k++)
		if (!strcmp(tree->callers.at[k].type, "python") &&
		    !tw_operation_has(TW_TRAIT_INFRASTRUCTURE, tree->callers.at[k].name))
			return tree->callers.at[k].name;
	tw_str_init(&path, arena->allocator);
	for (; i < row->modules.count; i++)
		tw_str_addf(&path, "%s%s", path.len ? " > " : "", row->modules.at[i]);
	arena->failed |= path.failed;
	if (path.len)
		kept = tw_arena_copy(arena, path.ptr, path.len);
	tw_str_release(&path);
	return kept;
}

int tw_category_callers(struct tw_category_row *row, struct tw_arena *arena)
{
	const struct tw_tree *tree = row->tree;
	size_t i = tree ? tree->callers.count : 0;

	if (!i)
		return 0;
	row->modules.at = tw_arena_array(arena, i, sizeof(*row->modules.at));
	row->calls.at = tw_arena_array(arena, i, sizeof(*row->calls.at));
	while (row->modules.at && row->calls.at && i--) {
		const struct tw_caller *frame = &tree->callers.at[i];

		if (!strcmp(frame->type, "module"))
			row->modules.at[row->modules.count++] = module_name(frame);
		if (!tw_operation_has(TW_TRAIT_INFRASTRUCTURE, frame->name))
			row->calls.at[row->calls.count++] = frame->name;
	}
	row->path = arena->failed ? NULL : path_of(row, arena);
	return arena->failed ? TRAWL_ENOMEM : 0;
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
