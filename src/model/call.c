#define _GNU_SOURCE
#include "model/call.h"

#include "text/scan.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* A reader of the JSON lists that the profiler writes; `p` is NULL after what it cannot read. */
struct reader {
	const char *p, *end;
};

static void skip_blanks(struct reader *r)
{
	while (r->p && r->p < r->end && strchr(" \t\r\n", *r->p))
		r->p++;
}

/* Takes `c` if it is next. */
static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (!r->p || r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static void give_up(struct reader *r)
{
	r->p = NULL;
}

/* A size or stride: a decimal integer of at least `least`. */
static int64_t take_integer(struct reader *r, int64_t least)
{
	bool negative = take(r, '-');
	int64_t value = 0;
	const char *start = r->p;

	while (r->p && r->p < r->end && *r->p >= '0' && *r->p <= '9')
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *r->p++ - '0', &value)) {
			give_up(r);
			return 0;
		}
	value = negative ? -value : value;
	if (r->p == start || value < least)
		give_up(r);
	return value;
}

/* A list, whatever is in it, after its bracket. */
static void skip_list(struct reader *r)
{
	size_t depth = 1;

	for (; r->p && r->p < r->end && depth; r->p++)
		depth += (*r->p == '[') - (*r->p == ']');
	if (depth)
		give_up(r);
}

/* "[8, 16]" after its bracket; sets *nested when there are lists in it, and skips those. */
static void take_dims(struct reader *r, struct tw_dims *dims, int64_t least, bool *nested)
{
	dims->rank = 0;
	*nested = false;
	if (take(r, ']'))
		return;
	do {
		if (take(r, '[')) {
			skip_list(r);
			*nested = true;
		} else if (dims->rank == TW_MAX_DIMS) {
			give_up(r);
		} else {
			dims->size[dims->rank++] = take_integer(r, least);
		}
	} while (take(r, ','));
	if (!take(r, ']'))
		give_up(r);
	if (*nested)
		dims->rank = 0;
}

/* A string without its quotes; escapes stay as they are: names of types and numbers have none. */
static struct tw_slice take_text(struct reader *r)
{
	struct tw_slice text = { "", 0 };

	if (!take(r, '"')) {
		/* numbers, true, null: as written */
		text.ptr = r->p;
		while (r->p && r->p < r->end && !strchr(",]", *r->p))
			r->p++;
		text.len = r->p ? (size_t)(r->p - text.ptr) : 0;
		return text;
	}
	text.ptr = r->p;
	while (r->p < r->end && *r->p != '"')
		r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
	text.len = (size_t)(r->p - text.ptr);
	if (!take(r, '"'))
		give_up(r);
	return text;
}

/* False: a number or what was not given, which has none. */
static bool take_sizes(struct reader *r, struct tw_dims *dims, int64_t least,
		       struct tw_slice *of_list, bool *is_list)
{
	const char *start;
	bool nested;

	if (!take(r, '[')) {
		take_text(r);
		return false;
	}
	start = r->p;
	take_dims(r, dims, least, &nested);
	*is_list |= nested;
	if (nested && r->p)
		*of_list = (struct tw_slice){ start, (size_t)(r->p - start) };
	return true;
}

static void take_shape(struct reader *r, struct tw_operand *operand)
{
	take_sizes(r, &operand->dims, 0, &operand->list_dims, &operand->is_list);
}

static void take_strides(struct reader *r, struct tw_operand *operand)
{
	operand->strides_recorded |= take_sizes(r, &operand->strides, INT64_MIN,
						&operand->list_strides, &operand->is_list);
}

/* The types of a list are those of its first tensor. */
static void take_type(struct reader *r, struct tw_operand *operand)
{
	struct reader inner;

	if (take(r, '[')) {
		inner = *r;
		skip_list(r);
		operand->is_list = true;
		operand->type = take_text(&inner);
	} else {
		operand->type = take_text(r);
	}
	operand->is_list |= tw_slice_is(&operand->type, "TensorList");
	operand->dtype = tw_dtype(operand->type.ptr, operand->type.len);
}

static void take_value(struct reader *r, struct tw_operand *operand)
{
	operand->value = take_text(r);
}

/*
 * One of the four lists; the longest has the number of operands.  What cannot be read has the
 * reason, NULL: it can be done without.  Returns the number of operands.
 */
static unsigned read_list(struct tw_call *call, unsigned *cleared, const struct tw_slice *text,
			  void (*take_one)(struct reader *, struct tw_operand *),
			  const char *reason)
{
	struct reader r = { text->ptr, tw_slice_end(text) };
	unsigned count = 0;

	if (!text->len)
		return 0;
	if (!take(&r, '['))
		give_up(&r);
	if (r.p && !take(&r, ']')) {
		do {
			if (count == TW_CALL_MOST_OPERANDS) {
				call->reason = "more inputs than cost models support";
				return 0;
			}
			if (count == *cleared)
				memset(&call->operand[(*cleared)++], 0, sizeof(call->operand[0]));
			take_one(&r, &call->operand[count++]);
		} while (take(&r, ','));
		if (!take(&r, ']'))
			give_up(&r);
	}
	if (count > call->count)
		call->count = count;
	if (!r.p && !call->reason)
		call->reason = reason;
	return count;
}

void tw_call_read(struct tw_call *call, const struct tw_call_texts *texts)
{
	const size_t behind = offsetof(struct tw_call, requests);
	unsigned cleared = 0;

	/* Operands as they come: there is room for far more than a call has. */
	memset(call, 0, offsetof(struct tw_call, operand));
	memset((char *)call + behind, 0, sizeof(*call) - behind);
	call->name = texts->name;
	call->list_bytes[0] = call->list_bytes[1] = NAN;
	read_list(call, &cleared, &texts->dims, take_shape, "unreadable shapes");
	read_list(call, &cleared, &texts->types, take_type, "unreadable types");
	read_list(call, &cleared, &texts->strides, take_strides, NULL);
	call->values_recorded = read_list(call, &cleared, &texts->concrete, take_value,
					  "unreadable concrete inputs") > 0;
}

bool tw_slice_is(const struct tw_slice *text, const char *other)
{
	return text->len == strlen(other) && !memcmp(text->ptr, other, text->len);
}

bool tw_slice_contains(const struct tw_slice *text, const char *part)
{
	return text->len && memmem(text->ptr, text->len, part, strlen(part));
}

const struct tw_operand *tw_operand(const struct tw_call *call, unsigned position)
{
	static const struct tw_operand none = { .type = { "", 0 }, .value = { "", 0 } };

	return position < call->count ? &call->operand[position] : &none;
}

const struct tw_operand *tw_first_tensor(const struct tw_call *call)
{
	unsigned i;

	for (i = 0; i < call->count; i++)
		if (tw_has_tensor(call, i))
			return &call->operand[i];
	return NULL;
}

/* "Scalar" and "ScalarList" are what the profiler calls numbers and lists of them. */
bool tw_is_number(const struct tw_operand *operand)
{
	return tw_slice_starts(&operand->type, "Scalar");
}

/* ---- sizes */

double tw_size(const struct tw_operand *operand, int dimension)
{
	int rank = (int)operand->dims.rank, i = dimension < 0 ? rank + dimension : dimension;

	return i >= 0 && i < rank ? (double)operand->dims.size[i] : NAN;
}

int tw_dimension(const struct tw_dims *dims, int64_t number)
{
	int64_t rank = dims->rank ? dims->rank : 1;

	if (number < -rank || number >= rank)
		return -1;
	return (int)(number < 0 ? number + rank : number);
}

bool tw_broadcast(struct tw_dims *shape, const struct tw_dims *other)
{
	unsigned i;

	for (; shape->rank < other->rank; shape->rank++) {
		memmove(shape->size + 1, shape->size, shape->rank * sizeof(shape->size[0]));
		shape->size[0] = 1;
	}
	for (i = 1; i <= other->rank; i++) {
		int64_t *mine = &shape->size[shape->rank - i], its = other->size[other->rank - i];

		if (*mine != its && *mine != 1 && its != 1)
			return false;
		*mine = *mine == 1 ? its : *mine;
	}
	return true;
}

double tw_elements(const struct tw_dims *dims)
{
	double product = 1;
	unsigned i;

	for (i = 0; i < dims->rank; i++)
		product *= (double)dims->size[i];
	return product <= 0x1p60 ? product : NAN;
}

/* ---- distinct elements */

/* Dimensions that reach other elements, by growing stride: how many. */
static unsigned stepping(const struct tw_operand *operand, double size[TW_MAX_DIMS],
			 double stride[TW_MAX_DIMS])
{
	unsigned count = 0, i, k;

	for (i = 0; i < operand->dims.rank; i++) {
		double s = fabs((double)operand->strides.size[i]);

		if (operand->dims.size[i] == 1 || s == 0)
			continue;
		for (k = count++; k && stride[k - 1] > s; k--) {
			stride[k] = stride[k - 1];
			size[k] = size[k - 1];
		}
		stride[k] = s;
		size[k] = (double)operand->dims.size[i];
	}
	return count;
}

static double distinct_of_tensor(const struct tw_operand *operand)
{
	double size[TW_MAX_DIMS], stride[TW_MAX_DIMS], all = tw_elements(&operand->dims);
	/* What is complete, times a run of `run` steps of `step`; the last address of all. */
	double complete = 1, run = 1, step = 0, last = 0;
	unsigned count, i;

	if (operand->strides.rank != operand->dims.rank || !(all > 0))
		return all;
	count = stepping(operand, size, stride);
	for (i = 0; i < count; i++) {
		if (stride[i] > last) {
			complete *= run;
			step = stride[i];
			run = size[i];
		} else if (step > 0 && fmod(stride[i], step) == 0 && stride[i] / step <= run) {
			run += (size[i] - 1) * (stride[i] / step);
		} else {
			run *= size[i];
			step = 0;
		}
		last += (size[i] - 1) * stride[i];
	}
	return fmin(fmin(complete * run, last + 1), all);
}

/* Elements of all tensors of a list; with strides of those that are distinct. */
static double of_list(const struct tw_operand *operand, bool distinct)
{
	struct reader dims = { operand->list_dims.ptr, tw_slice_end(&operand->list_dims) };
	struct reader strides = { operand->list_strides.ptr, tw_slice_end(&operand->list_strides) };
	double sum = 0;
	bool nested;

	if (!operand->list_dims.len)
		return NAN;
	if (!operand->list_strides.len)
		give_up(&strides);
	do {
		struct tw_operand one = { .strides_recorded = distinct };

		if (!take(&dims, '['))
			return NAN;
		take_dims(&dims, &one.dims, 0, &nested);
		if (!take(&strides, '['))
			give_up(&strides);
		else
			take_dims(&strides, &one.strides, INT64_MIN, &nested);
		sum += distinct ? distinct_of_tensor(&one) : tw_elements(&one.dims);
		take(&strides, ',');
	} while (take(&dims, ','));
	return dims.p ? sum : NAN;
}

double tw_distinct(const struct tw_operand *operand)
{
	return operand->is_list ? of_list(operand, true) : distinct_of_tensor(operand);
}

double tw_operand_elements(const struct tw_operand *operand)
{
	return operand->is_list ? of_list(operand, false) : tw_elements(&operand->dims);
}

double tw_distinct_share(const struct tw_operand *operand)
{
	double share = tw_distinct(operand) / tw_operand_elements(operand);

	return share < 1 ? share : 1;
}

/* ---- bytes and types */

double tw_element_bytes(const struct tw_operand *operand)
{
	return operand->dtype ? operand->dtype->bits / 8.0 : NAN;
}

double tw_result_bytes(const struct tw_operand *operand)
{
	double bytes = tw_element_bytes(operand);

	return bytes == 1 ? 2 : bytes;
}

double tw_bytes(const struct tw_operand *operand)
{
	return tw_distinct(operand) * tw_element_bytes(operand);
}

double tw_given_bytes(const struct tw_operand *operand)
{
	return tw_is_tensor(operand) ? tw_bytes(operand) : 0;
}

double tw_call_bytes(const struct tw_call *call)
{
	double bytes = 0;
	unsigned i;

	for (i = 0; i < call->count; i++)
		bytes += tw_given_bytes(&call->operand[i]);
	return bytes;
}

double tw_packed_values(const struct tw_operand *operand)
{
	return operand->dtype ? operand->dtype->values : 1;
}

const char *tw_precision(const struct tw_operand *operand)
{
	return operand->dtype ? operand->dtype->precision : "";
}

/* ---- values */

static struct reader value_at(const struct tw_call *call, unsigned position)
{
	const struct tw_slice *value = &tw_operand(call, position)->value;

	return (struct reader){ value->len ? value->ptr : NULL, tw_slice_end(value) };
}

int64_t tw_value_integer(const struct tw_call *call, unsigned position, int64_t fallback)
{
	struct reader r = value_at(call, position);
	int64_t integer = take_integer(&r, INT64_MIN);

	skip_blanks(&r);
	return r.p == r.end && r.p ? integer : fallback;
}

bool tw_value_true(const struct tw_call *call, unsigned position, bool fallback)
{
	const struct tw_slice *value = &tw_operand(call, position)->value;

	if (value->len == 4 && !strncasecmp(value->ptr, "true", 4))
		return true;
	if (value->len == 5 && !strncasecmp(value->ptr, "false", 5))
		return false;
	return fallback;
}

bool tw_value_flags(const struct tw_call *call, unsigned position, bool *list, unsigned most,
		    unsigned *count)
{
	struct reader r = value_at(call, position);

	*count = 0;
	if (!take(&r, '['))
		return false;
	do {
		struct tw_slice text = take_text(&r);

		if (!tw_slice_is(&text, "True") && !tw_slice_is(&text, "False"))
			return false;
		list[(*count)++] = tw_slice_is(&text, "True");
	} while (*count < most && take(&r, ','));
	return take(&r, ']');
}

bool tw_value_list(const struct tw_call *call, unsigned position, struct tw_dims *list)
{
	struct reader r = value_at(call, position);
	bool nested = false;

	list->rank = 0;
	if (!take(&r, '['))
		return false;
	take_dims(&r, list, INT64_MIN, &nested);
	return r.p && !nested;
}

/* Reading a number looks ahead after its end: in a copy that has room for that. */
static bool take_real(struct reader *r, double *value)
{
	char copy[64] = "";
	const char *after;
	size_t len;

	skip_blanks(r);
	if (!r->p)
		return false;
	len = (size_t)(r->end - r->p);
	memcpy(copy, r->p, len < 40 ? len : 40);
	after = tw_parse_real(copy, value);
	if (after)
		r->p += after - copy;
	return after && r->p <= r->end;
}

double tw_value_real(const struct tw_call *call, unsigned position)
{
	struct reader r = value_at(call, position);
	double real;

	if (!take_real(&r, &real))
		return NAN;
	skip_blanks(&r);
	return r.p == r.end ? real : NAN;
}

unsigned tw_value_reals(const struct tw_call *call, unsigned position, double *list, unsigned most)
{
	struct reader r = value_at(call, position);
	unsigned count = 0;

	if (!take(&r, '['))
		return 0;
	while (count < most && take_real(&r, &list[count])) {
		count++;
		if (!take(&r, ','))
			break;
	}
	return take(&r, ']') ? count : 0;
}
