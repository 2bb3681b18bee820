/*
 * Operations of ATen by the rows of data/aten_ops.tsv, which say of each what its inputs are, how
 * many results it has and of which types.
 *
 *	bytes = what is read of inputs + results written
 *	FLOPs = operations x (elements of the result; of the first operand in reductions, optimizers
 *		and for what is done in place; elements of all windows)
 *
 * Of an input its distinct elements are read, once, whatever they broadcast to.  A number passed by
 * value moves nothing.  A result has the shape that inputs broadcast to, or as the row says, and the
 * type that they promote to: of the highest kind (bool, integer, float, complex) the widest, tensors
 * with dimensions before those without and these before numbers, which count only where their kind
 * is higher (torch.result_type).  In place ("relu_") the first operand is written, with its type;
 * where an output is given, which is after the arguments, results have its type, and its size
 * if nothing else has it.  Lists are the sum of their tensors; the profiler does not record
 * their types: those of their elements are what the kernel's name shows.  What was not recorded
 * leaves the bytes unknown.
 *
 * Source: PyTorch's native_functions.yaml, and c10/core/ScalarType.h and aten/src/ATen/native/
 * TypeProperties.cpp for types.
 *
 * Example: where of bool (4, 1), float (4, 8) and a number: 4 + 32 x 4 read, 32 x 4 written: 260.
 * topk of half (4, 100), k = 3: 800 read, 12 values of 2 and 12 indices of 8 bytes written: 920.
 */
#include "model/families/aten.h"

#include <math.h>
#include <string.h>

/* The type of a result: bytes of an element and what it is. */
struct type {
	enum tw_dtype_kind kind;
	double bytes;
	const char *precision;
};

/* Whether a tensor, be it without dimensions, or a list was given there. */
static bool is_given(const struct tw_operand *operand)
{
	return operand->is_list ||
	       (operand->type.len && !operand->value.len && !tw_is_number(operand));
}

/* Bytes of an element, of a list as a kernel showed it: of the first list or of another. */
static double element_bytes(const struct tw_call *call, unsigned position)
{
	const struct tw_operand *operand = tw_operand(call, position);
	unsigned i, lists = 0;

	if (!operand->is_list || operand->dtype)
		return tw_element_bytes(operand);
	for (i = 0; i < position; i++)
		lists += tw_operand(call, i)->is_list;
	return call->list_bytes[lists > 0];
}

/* ---- types */

static struct type type_of(const struct tw_call *call, unsigned position)
{
	const struct tw_operand *operand = tw_operand(call, position);

	return (struct type){ operand->dtype ? operand->dtype->kind : TW_FLOAT,
			      element_bytes(call, position), tw_precision(operand) };
}

/* Two halves of different kinds, such as bf16 and fp16, are both in float alone. */
static struct type promote(struct type a, struct type b)
{
	if (a.kind != b.kind)
		return a.kind > b.kind ? a : b;
	if (a.kind == TW_FLOAT && a.bytes == 2 && b.bytes == 2 && strcmp(a.precision, b.precision))
		return (struct type){ TW_FLOAT, 4, "fp32" };
	return a.bytes >= b.bytes ? a : b;
}

static struct type type_of_number(const struct tw_slice *value)
{
	static const char digits[] = "0123456789-+";
	struct type type = { TW_INTEGER, 8, "" };
	size_t i;

	for (i = 0; i < value->len; i++)
		if (!memchr(digits, value->ptr[i], sizeof(digits) - 1))
			type = (struct type){ TW_FLOAT, 4, "fp32" };
	if (tw_slice_starts(value, "True") || tw_slice_starts(value, "Fals"))
		type.kind = TW_BOOL;
	return type;
}

/* Tensors with dimensions and lists, tensors without, numbers. */
static unsigned rank_of(const struct tw_operand *operand)
{
	if (!is_given(operand))
		return operand->value.len ? 2 : 3;
	return operand->dims.rank || operand->is_list ? 0 : 1;
}

static struct type promoted(const struct tw_aten *a)
{
	struct type result = { TW_NO_KIND, NAN, "" };
	unsigned rank, i;

	for (rank = 0; rank < 3; rank++) {
		struct type of_rank = { TW_NO_KIND, NAN, "" };

		for (i = 0; i < a->call->count; i++) {
			const struct tw_operand *operand = tw_operand(a->call, i);
			struct type type;

			if (!strchr("rRg x", tw_aten_role(a->row, i)) || rank_of(operand) != rank)
				continue;
			type = rank == 2 ? type_of_number(&operand->value) : type_of(a->call, i);
			if (isnan(type.bytes))
				return type;
			of_rank = of_rank.kind ? promote(of_rank, type) : type;
		}
		if (of_rank.kind > result.kind)
			result = of_rank;
	}
	return result;
}

/* One of the row's types, from its text: "in", "long", "n2". False: it names none that is known. */
static bool one_type(const struct tw_aten *a, const char *text, size_t len, struct type *type)
{
	static const struct {
		const char *name;
		struct type type;
	} fixed[] = { { "bool", { TW_BOOL, 1, "" } },
		      { "byte", { TW_INTEGER, 1, "" } },
		      { "long", { TW_INTEGER, 8, "" } },
		      { "f", { TW_FLOAT, 4, "fp32" } } };
	const struct tw_slice name = { text, len };
	const struct tw_dtype *dtype;
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (tw_slice_is(&name, fixed[i].name)) {
			*type = fixed[i].type;
			return true;
		}
	if (*text >= '0' && *text <= '9') {
		*type = type_of(a->call, (unsigned)(*text - '0'));
		return true;
	}
	if (*text == 'n') {
		dtype = tw_dtype_of_number(
			tw_value_integer(a->call, (unsigned)(text[1] - '0'), -1));
		if (dtype)
			*type = (struct type){ dtype->kind, dtype->bits / 8.0, dtype->precision };
		return dtype;
	}
	*type = promoted(a);
	if (*text == 'f' && type->kind < TW_FLOAT && !isnan(type->bytes))
		*type = (struct type){ TW_FLOAT, 4, "fp32" };
	if (*text == 'p')
		type->bytes *= 2;
	return true;
}

/* The types of results, at most two; what a number leaves open the next one decides. */
static unsigned result_types(const struct tw_aten *a, struct type types[2])
{
	const char *text = a->row->types;
	unsigned count = 0;

	while (*text && *text != '-' && count < 2) {
		size_t len = strcspn(text, ",");
		bool is_number = *text == 'n';

		if (one_type(a, text, len, &types[count])) {
			count++;
			if (is_number)
				break;
		} else if (!text[len]) {
			break;
		}
		text += len + (text[len] == ',');
		if (count && a->row->types[0] == 'n')
			break;
	}
	return count;
}

/* ---- what moves */

/* Indices stand from a place on, in a list or each for itself. */
static bool is_index(const struct tw_aten *a, unsigned position)
{
	return (a->row->result == TW_ATEN_INDEX && position >= a->row->position) ||
	       (a->row->result == TW_ATEN_PUT && position == a->row->position);
}

/* An operand that was given for a result: a tensor where the row has none. */
static bool is_output(const struct tw_aten *a, unsigned position)
{
	return tw_aten_role(a->row, position) == '-' && is_given(tw_operand(a->call, position)) &&
	       !is_index(a, position);
}

/* What is not known stays so. */
static double at_most(double wanted, double most)
{
	return wanted < most || isnan(wanted) ? wanted : most;
}

static double read_of(struct tw_aten *a, unsigned position, char role)
{
	const struct tw_operand *operand = tw_operand(a->call, position);
	double n = tw_distinct(operand), b = element_bytes(a->call, position);

	if (!is_given(operand) || strchr("ws-", role))
		return role == 'w' ? tw_operand_elements(operand) * b : 0;
	switch (role) {
	case 'O': /* without shapes it is empty where the first list has some */
		if (isnan(n) && !isnan(tw_operand_elements(tw_operand(a->call, 0))))
			return 0;
		return 2 * n * b;
	case 'm':
	case 'M':
		return 2 * n * b;
	case 'g':
		return at_most(position ? a->results : a->picked, n) * b;
	case 'x':
		if (!a->in_place)
			return n * b;
		return a->row->operations || tw_value_true(a->call, 3, false) ?
			       at_most(a->results, n) * b :
			       0;
	default:
		return (position || isnan(a->read) ? n : fmin(a->read, n)) * b;
	}
}

/* Indices in a list are of long as a rule. */
static double read_all(struct tw_aten *a)
{
	double bytes = 0;
	unsigned i;

	for (i = 0; i < a->call->count; i++)
		if (is_index(a, i) && is_given(tw_operand(a->call, i)))
			bytes += tw_distinct(tw_operand(a->call, i)) *
				 (tw_operand(a->call, i)->is_list ? 8 : element_bytes(a->call, i));
		else
			bytes += read_of(a, i, tw_aten_role(a->row, i));
	return bytes;
}

/* What is written, apart from operands that the row says are. */
static double written(struct tw_aten *a, const struct type *types, unsigned count)
{
	bool puts = tw_aten_role(a->row, 0) == 'x';
	double bytes = 0, n = a->results;
	unsigned i, k;

	if (a->in_place || puts) {
		double all = tw_operand_elements(tw_operand(a->call, 0));

		return (puts && a->in_place ? at_most(n, all) : all) * element_bytes(a->call, 0);
	}
	/* Outputs are after all others: the last ones. */
	for (i = a->call->count, k = count; k-- > 0;) {
		double element = types[k].bytes, own = n;

		while (i > 0 && !is_output(a, i - 1))
			i--;
		if (i > 0) {
			i--;
			element = element_bytes(a->call, i);
			if (isnan(n))
				own = tw_operand_elements(tw_operand(a->call, i));
		}
		bytes += own * element;
	}
	return bytes;
}

/* Elements that the row's operations are for. */
static double computed(const struct tw_aten *a)
{
	double first = tw_operand_elements(tw_operand(a->call, 0));

	switch (a->row->result) {
	case TW_ATEN_NONE:
	case TW_ATEN_ONE:
	case TW_ATEN_DIMS:
	case TW_ATEN_AXIS:
	case TW_ATEN_LAST:
	case TW_ATEN_EACH:
	case TW_ATEN_NUMBER:
		return first;
	case TW_ATEN_LOSS:
		return tw_aten_role(a->row, 0) == 'g' ? a->picked : first;
	case TW_ATEN_BAG:
		return a->picked;
	default:
		return a->in_place && tw_aten_role(a->row, 0) != 'x' ? first :
								       a->results * a->window;
	}
}

/* The first operand that says the precision; one that was not given when none does. */
static const struct tw_operand *precise(const struct tw_aten *a)
{
	unsigned i;

	for (i = 0; i < a->call->count; i++)
		if (tw_aten_role(a->row, i) != '-' && tw_precision(&a->call->operand[i])[0])
			break;
	return tw_operand(a->call, i);
}

static int aten(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *first = tw_operand(call, 0);
	struct tw_aten a = { .call = call };
	struct type types[2];
	unsigned count;
	double bytes;

	a.row = tw_aten_op(call->name.ptr, call->name.len, &a.in_place);
	if (!a.row)
		return tw_work_fail(work, "unknown operator");
	tw_aten_results(&a);
	count = result_types(&a, types);
	bytes = read_all(&a) + written(&a, types, count);
	if (isnan(bytes) && a.reason)
		return tw_work_fail(work, a.reason);
	if (isnan(bytes) && tw_aten_takes_lists(call->name.ptr, call->name.len))
		return tw_work_fail(work, "shapes or types of the tensor lists not recorded");
	tw_param_dims(work, "op_shape", &first->dims);
	TW_PARAM_INTEGERS(work, { "num_input_elems", tw_operand_elements(first) },
			  { "num_output_elems", a.results });
	return tw_work_set(work, a.row->operations ? a.row->operations * computed(&a) : 0, bytes,
			   precise(&a));
}

const struct tw_model tw_family_aten[] = {
	TW_MODEL(aten, "", VECTOR, .forward = aten, .general = true),
	{ .name = NULL },
};
