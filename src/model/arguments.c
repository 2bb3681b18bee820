#include "model/arguments.h"

#include <stdio.h>
#include <string.h>

/* Whether an operand can be an argument of that type of a schema. */
static bool fits(const struct tw_operand *operand, const char *type)
{
	bool tensor = !strncmp(type, "Tensor", 6), list = strchr(type, '[') != NULL;

	if (operand->is_list)
		return list;
	if (operand->dims.rank)
		return tensor && !list;
	return !tw_is_number(operand) || !tensor;
}

/* As far as both go: newer versions have more arguments. */
static bool fits_all(const struct tw_op_arguments *known, const struct tw_call *call)
{
	unsigned i;

	for (i = 0; i < call->count && i < known->count; i++)
		if (!fits(&call->operand[i], tw_op_argument_list[known->first + i].type))
			return false;
	return true;
}

struct tw_arguments tw_arguments_of(const struct tw_call *call)
{
	const struct tw_op_arguments *row = tw_op_arguments(call->name.ptr, call->name.len);
	const struct tw_op_arguments *end = tw_op_arguments_known + tw_op_arguments_count;
	const struct tw_op_arguments *first = row;
	struct tw_arguments a = { .call = call };

	for (; row && row < end && !strcmp(row->op, first->op); row++) {
		if (!fits_all(row, call))
			continue;
		if (!a.known || row->count == call->count)
			a.known = row;
		if (row->count == call->count)
			break;
	}
	return a;
}

unsigned tw_place(const char *list, const char *name)
{
	size_t len = strlen(name), word;
	unsigned place = 0;

	for (; *list; list += word + (list[word] == ' '), place++) {
		word = strcspn(list, " ");
		if (word == len && !memcmp(list, name, len))
			return place;
	}
	return TW_NOWHERE;
}

unsigned tw_argument_at(const struct tw_arguments *a, const char *names)
{
	size_t len;
	unsigned i;

	for (; a->known && *names; names += len + (names[len] == '|')) {
		len = strcspn(names, "|");
		for (i = 0; i < a->known->count; i++) {
			const char *name = tw_op_argument_list[a->known->first + i].name;

			if (strlen(name) == len && !memcmp(name, names, len))
				return i;
		}
	}
	return TW_NOWHERE;
}

const struct tw_operand *tw_argument(const struct tw_arguments *a, const char *names)
{
	return tw_operand(a->call, tw_argument_at(a, names));
}

const struct tw_operand *tw_argument_tensor(const struct tw_arguments *a, const char *names)
{
	const struct tw_operand *operand = tw_argument(a, names);

	return tw_is_tensor(operand) ? operand : NULL;
}

double tw_argument_integer(const struct tw_arguments *a, const char *names, double fallback)
{
	int64_t value = tw_value_integer(a->call, tw_argument_at(a, names), INT64_MIN);

	return value == INT64_MIN ? fallback : (double)value;
}

static bool has_word(const char *name, const char *words)
{
	char pattern[32];
	int len;

	for (; *words; words += len + (words[len] == '|')) {
		len = (int)strcspn(words, "|");
		snprintf(pattern, sizeof(pattern), "*%.*s*", len, words);
		if (tw_name_matches(pattern, name, strlen(name)))
			return true;
	}
	return false;
}

double tw_argument_bytes(const struct tw_arguments *a, const char *words)
{
	double bytes = 0;
	unsigned i;

	for (i = 0; a->known && i < a->known->count && i < a->call->count; i++)
		if (a->call->operand[i].dims.rank &&
		    has_word(tw_op_argument_list[a->known->first + i].name, words))
			bytes += tw_bytes(&a->call->operand[i]);
	return bytes;
}
