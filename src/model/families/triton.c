/*
 * Kernels that Inductor compiles with Triton.  Their names list the fused ops:
 * triton_{poi,red,per}_fused_<operations>_<number>, pointwise or a reduction.  After their tensors
 * are the sizes: x, or y and x, or z, y and x; of a reduction x and r, with up to two more.  n is
 * their product, the elements that are computed.
 *
 *	FLOPs = n (sum of the costs of the operations): data/triton_ops.tsv
 *	bytes = sum over tensors of min(n, distinct elements) b
 *		+ n b, b bytes of an element of the first tensor, of a pointwise kernel that works
 *		in place
 *
 * Sizes that are symbols are before x, so the last integers count of which the product is that
 * of a tensor's shape: four or three of them where that fits, else fewer.  A kernel makes n results
 * and reads of each tensor no more than one element for each.  What it writes is among its tensors;
 * one is read and written when operations that compute need as many inputs as there are tensors
 * (two for add, three for add and mul), and then its second way is not among them.  Operations that
 * only move data never work in place.
 *
 * Names of operations may contain "_", as does what joins them: of the ways to cut the text into
 * names the one is taken whose last name is longest, and so on before it.  When there is none the
 * FLOPs are unknown.  Source: TraceLens 0.1 for names and costs, torch/_inductor/codegen/triton.py
 * for arguments; types and precisions are those of data/dtypes.tsv.
 *
 * Example: triton_red_fused_add_mean_mul_pow_rsqrt_0 of bf16 (4, 8), (8) and (4, 8), x = 4, r = 8:
 * 1 + 1 + 1 + 2 + 2 = 7 operations: 224 FLOPs, 64 + 16 + 64 = 144 bytes.
 */
#include "model/families/triton.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define MAX_SIZES 4

/* Rows of the family. */
enum { POINTWISE, REDUCTION };

static const char start[] = "triton_", fused[] = "_fused_";

/* The text between "_fused_" and the number; false: the name has another form. */
static bool take_operations(const char *op, size_t len, struct tw_slice *operations)
{
	size_t begin = sizeof(start) - 1 + 3 + sizeof(fused) - 1, end = len;

	if (len <= begin || memcmp(op, start, sizeof(start) - 1) ||
	    memcmp(op + sizeof(start) - 1 + 3, fused, sizeof(fused) - 1))
		return false;
	while (end > begin && op[end - 1] >= '0' && op[end - 1] <= '9')
		end--;
	if (end == len || end <= begin + 1 || op[end - 1] != '_')
		return false;
	*operations = (struct tw_slice){ op + begin, end - 1 - begin };
	return true;
}

const struct tw_model *tw_triton_model_of(const char *op, size_t len)
{
	struct tw_slice operations;

	if (!take_operations(op, len, &operations))
		return NULL;
	op += sizeof(start) - 1;
	if (!memcmp(op, "poi", 3))
		return &tw_family_triton[POINTWISE];
	return !memcmp(op, "red", 3) || !memcmp(op, "per", 3) ? &tw_family_triton[REDUCTION] : NULL;
}

/*
 * The text, cut at "_" into parts that are joined into names that are known: where each part begins,
 * and after the last one's "_"; the part with which a known name begins that ends before it.
 */
struct part {
	size_t begin;
	uint32_t name;
	bool reached;
};

struct cut {
	struct part *parts; /* count + 1 */
	size_t count;
};

static struct tw_slice joined(const struct tw_slice *text, const struct cut *cut, size_t from,
			      size_t to)
{
	size_t begin = cut->parts[from].begin;

	return (struct tw_slice){ text->ptr + begin, cut->parts[to].begin - 1 - begin };
}

static bool find_names(const struct tw_slice *text, struct cut *cut)
{
	size_t at, i, j;

	cut->count = 0;
	cut->parts[0] = (struct part){ .reached = true };
	for (at = 0; at <= text->len; at++)
		if (at == text->len || text->ptr[at] == '_')
			cut->parts[++cut->count] = (struct part){ .begin = at + 1 };
	for (i = 1; i <= cut->count; i++)
		for (j = i > TW_TRITON_MOST_PARTS ? i - TW_TRITON_MOST_PARTS : 0; j < i; j++) {
			struct tw_slice name = joined(text, cut, j, i);

			if (!cut->parts[j].reached || !tw_triton_op(name.ptr, name.len))
				continue;
			cut->parts[i].reached = true;
			cut->parts[i].name = (uint32_t)j;
			break;
		}
	return cut->parts[cut->count].reached;
}

/* The other way round: of the part with which a name begins, where it ends; 0 at the end. */
static void turn_names(struct cut *cut)
{
	uint32_t i = (uint32_t)cut->count, after = 0;

	while (i) {
		uint32_t from = cut->parts[i].name;

		cut->parts[i].name = after;
		after = i;
		i = from;
	}
	cut->parts[0].name = after;
}

/* The cost of all, and "aten.add, aten.mul" into `list`. */
static double add_costs(const struct tw_slice *text, struct cut *cut, unsigned *inputs,
			struct tw_str *list)
{
	double cost = 0;
	uint32_t from, to;

	turn_names(cut);
	for (from = 0; (to = cut->parts[from].name) != 0; from = to) {
		struct tw_slice name = joined(text, cut, from, to);
		const struct tw_triton_op *op = tw_triton_op(name.ptr, name.len);

		cost += op->cost;
		*inputs += (unsigned)op->inputs - 1;
		tw_str_add_cstr(list, from ? ", aten." : "aten.");
		tw_str_add(list, name.ptr, name.len);
	}
	return cost;
}

/* The cost of all, NaN when the names are not known.  Sets how many tensors those take that
 * compute, which is 1 at least. */
static double cost_of_all(const struct tw_slice *text, unsigned *inputs, struct tw_work *work)
{
	const struct trawl_allocator *a = work->texts.allocator;
	struct cut cut = { .parts = tw_alloc_array(a, text->len + 2, sizeof(*cut.parts)) };
	struct tw_str list;
	double cost = NAN;

	*inputs = 1;
	tw_str_init(&list, a);
	if (cut.parts && find_names(text, &cut))
		cost = add_costs(text, &cut, inputs, &list);
	if (list.len)
		tw_param_text(work, "fused_ops", list.ptr);
	else
		tw_param_none(work, "fused_ops");
	work->texts.failed |= !cut.parts || list.failed;
	tw_str_release(&list);
	tw_free(a, cut.parts, (text->len + 2) * sizeof(*cut.parts));
	return cost;
}

/* Be it without dimensions. */
static bool is_tensor(const struct tw_operand *operand)
{
	return operand->type.len && !tw_is_number(operand);
}

/* Max number of elements of a tensor of the call, and whether one has exactly `n`. */
static double most_elements(const struct tw_call *call, double n, bool *exactly)
{
	double most = 0;
	unsigned i;

	*exactly = false;
	for (i = 0; i < call->count; i++) {
		if (!is_tensor(&call->operand[i]))
			continue;
		most = fmax(most, tw_elements(&call->operand[i].dims));
		*exactly |= tw_elements(&call->operand[i].dims) == n;
	}
	return most;
}

/* The last integers, from the last one on: how many. */
static unsigned last_integers(const struct tw_call *call, double last[MAX_SIZES])
{
	unsigned i, found = 0;

	for (i = call->count; i-- > 0 && found < MAX_SIZES;) {
		int64_t value = tw_value_integer(call, i, INT64_MIN);

		if (value >= 0)
			last[found++] = (double)value;
		else if (is_tensor(&call->operand[i]))
			break;
	}
	return found;
}

/* The product of the sizes, and of a reduction the last one. */
static int take_sizes(const struct tw_call *call, bool reduction, double *n, double *r)
{
	double last[MAX_SIZES], product[MAX_SIZES + 1] = { 1 };
	unsigned count = last_integers(call, last), least, i;
	bool exactly;

	if (!reduction && count == MAX_SIZES)
		count--;
	least = reduction && count >= 2 ? 2 : 1;
	for (i = 0; i < count; i++)
		product[i + 1] = product[i] * last[i];
	if (!count)
		return -1;
	*r = least == 2 ? last[0] : 1;
	for (i = count; i >= least; i--) {
		*n = product[i];
		most_elements(call, *n, &exactly);
		if (exactly)
			return 0;
	}
	for (i = count; i > least && product[i] > most_elements(call, 0, &exactly); i--)
		;
	*n = product[i];
	return 0;
}

static int kernel(const struct tw_call *call, struct tw_work *work)
{
	bool reduction = work->model == &tw_family_triton[REDUCTION];
	const struct tw_operand *first = NULL, *o;
	double n, r, cost, bytes = 0;
	unsigned tensors = 0, inputs;
	struct tw_slice operations;

	if (!take_operations(call->name.ptr, call->name.len, &operations))
		return tw_work_fail(work, "name does not list the fused ops");
	if (take_sizes(call, reduction, &n, &r))
		return tw_work_fail(work, "sizes not recorded");
	for (o = call->operand; o < call->operand + call->count; o++) {
		if (!is_tensor(o))
			continue;
		bytes += fmin(tw_distinct(o), n) * tw_element_bytes(o);
		first = first ? first : o;
		tensors++;
	}
	if (!first)
		return tw_work_fail(work, "no tensor");
	cost = cost_of_all(&operations, &inputs, work);
	if (!reduction && cost != 0 && tensors <= inputs)
		bytes += n * tw_element_bytes(first);
	TW_PARAM_INTEGERS(work, { "xnumel", r > 0 ? n / r : n }, { "rnumel", r });
	return tw_work_set(work, n * cost, bytes, first);
}

const struct tw_model tw_family_triton[] = {
	[POINTWISE] = TW_MODEL(triton_pointwise, "Triton", VECTOR, .forward = kernel),
	[REDUCTION] = TW_MODEL(triton_reduction, "Triton", VECTOR, .forward = kernel),
	{ .name = NULL },
};
