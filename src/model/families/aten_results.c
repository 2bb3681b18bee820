#include "model/families/aten.h"

#include <math.h>
#include <string.h>

static const char not_recorded[] = "result sizes not recorded";

char tw_aten_role(const struct tw_aten_op *row, unsigned position)
{
	return position < strlen(row->inputs) ? row->inputs[position] : '-';
}

static const struct tw_operand *operand(const struct tw_aten *a, unsigned position)
{
	return tw_operand(a->call, position);
}

static double elements(const struct tw_aten *a, unsigned position)
{
	return tw_operand_elements(operand(a, position));
}

/* The sizes of the first operand. */
static const struct tw_dims *first(const struct tw_aten *a)
{
	return &operand(a, 0)->dims;
}

/* The number at a position. */
static int64_t integer(const struct tw_aten *a, unsigned position, int64_t fallback)
{
	return tw_value_integer(a->call, position, fallback);
}

/* The size of a dimension of the first operand, counted from either end; NaN: there is none. */
static double size_along(const struct tw_aten *a, int64_t number)
{
	int dim = tw_dimension(first(a), number);

	if (dim < 0)
		return NAN;
	return first(a)->rank ? (double)first(a)->size[dim] : 1;
}

static double fail(struct tw_aten *a, const char *reason)
{
	a->reason = reason;
	return NAN;
}

static double known_or(struct tw_aten *a, double results, const char *reason)
{
	return isnan(results) ? fail(a, reason) : results;
}

/* ---- as inputs are */

static double none(struct tw_aten *a)
{
	(void)a;
	return 0;
}

static double one(struct tw_aten *a)
{
	(void)a;
	return 1;
}

/* Of a list all elements of all tensors. */
static double as_operand(struct tw_aten *a)
{
	return elements(a, a->row->position);
}

static double half(struct tw_aten *a)
{
	return floor(as_operand(a) / 2);
}

/* A list in the first place is as it is; else what all broadcast to. */
static double same(struct tw_aten *a)
{
	struct tw_dims shape = { .rank = 0 };
	unsigned i;

	for (i = 0; i < a->call->count; i++)
		if (operand(a, i)->is_list && strchr("rc", tw_aten_role(a->row, i)))
			return elements(a, i);
	for (i = 0; i < a->call->count; i++)
		if (strchr("rc", tw_aten_role(a->row, i)) &&
		    !tw_broadcast(&shape, &operand(a, i)->dims))
			return fail(a, "shapes do not match");
	return tw_elements(&shape);
}

/* Tensors of a list: as many as brackets are opened. */
static unsigned tensors(const struct tw_operand *list)
{
	unsigned count = 0;
	size_t i;

	for (i = 0; i < list->list_dims.len; i++)
		count += list->list_dims.ptr[i] == '[';
	return count;
}

/* One for each tensor of a list. */
static double each(struct tw_aten *a)
{
	const struct tw_operand *list = operand(a, a->row->position);

	if (list->is_list && !list->list_dims.len)
		return fail(a, not_recorded);
	return list->is_list ? tensors(list) : 1;
}

/* ---- reductions */

static double divide(struct tw_aten *a, double by)
{
	double n = elements(a, 0);

	return known_or(a, by > 0 ? n / by : n > 0 ? NAN : 0, "dimensions do not match the input");
}

/* Without dimensions, of a list or a number, one is left. */
static double reduced(struct tw_aten *a, const struct tw_dims *listed)
{
	unsigned position = a->row->position, i;
	int64_t dim = integer(a, position, INT64_MIN);
	double product = 1;

	if (!a->call->values_recorded)
		return fail(a, "dimensions not recorded");
	if (listed->rank) {
		for (i = 0; i < listed->rank; i++)
			product *= size_along(a, listed->size[i]);
		return divide(a, product);
	}
	/* Where only one is given by number, whether its size is kept is said after it. */
	if (dim != INT64_MIN && tw_value_true(a->call, position + 1, false) ==
					tw_value_true(a->call, position + 1, true))
		return divide(a, size_along(a, dim));
	return 1;
}

static double without_dims(struct tw_aten *a)
{
	struct tw_dims listed;

	if (!tw_value_list(a->call, a->row->position, &listed))
		listed.rank = 0;
	return reduced(a, &listed);
}

static double without_axis(struct tw_aten *a)
{
	static const struct tw_dims nothing_listed = { 0 };

	return reduced(a, &nothing_listed);
}

/* Without one given the last dimension goes. */
static double without_last(struct tw_aten *a)
{
	return divide(a, size_along(a, integer(a, a->row->position, -1)));
}

/* ---- sizes that are given */

static double listed(struct tw_aten *a)
{
	struct tw_dims list;

	return tw_value_list(a->call, a->row->position, &list) ? tw_elements(&list) : NAN;
}

static double number(struct tw_aten *a)
{
	int64_t value = integer(a, a->row->position, -1);

	return value < 0 ? NAN : (double)value;
}

static double for_each(struct tw_aten *a)
{
	return number(a) * elements(a, 0);
}

static double by_rows(struct tw_aten *a)
{
	return elements(a, 0) / size_along(a, -1) * number(a);
}

static double rows_of_table(struct tw_aten *a)
{
	return number(a) * size_along(a, -1);
}

/* arange(end, out) and arange(start, end, step, out): of other forms the numbers can mean others. */
static double range(struct tw_aten *a)
{
	double start = 0, end, step = 1, results;
	unsigned out = a->call->count - 1;

	if ((out != 1 && out != 3) || !operand(a, out)->dtype || operand(a, out)->value.len)
		return NAN;
	end = tw_value_real(a->call, out == 3);
	if (out == 3) {
		start = tw_value_real(a->call, 0);
		step = tw_value_real(a->call, 2);
	}
	results = ceil((end - start) / step);
	return results >= 0 ? results : NAN;
}

static double repeated(struct tw_aten *a)
{
	return listed(a) * elements(a, 0);
}

/* repeat_interleave(x, how often, dim, size of the result along it) */
static double interleave(struct tw_aten *a)
{
	int64_t times = integer(a, 1, -1), dim = integer(a, 2, INT64_MIN), size = integer(a, 3, -1);

	if (times >= 0)
		return elements(a, 0) * (double)times;
	if (size >= 0 && dim != INT64_MIN)
		return elements(a, 0) / size_along(a, dim) * (double)size;
	return NAN;
}

/* The elements of a matrix on, above or below a diagonal; the others are set to 0 unread. */
static double above(double rows, double columns, double diagonal)
{
	/* Row i keeps columns from i + diagonal on. */
	double begin = fmax(0, -diagonal), end = fmin(rows, columns - diagonal);
	double count = fmax(0, end - begin);

	return fmin(begin, rows) * columns + count * (columns - diagonal) -
	       (begin + end - 1) * count / 2;
}

static double triangle(struct tw_aten *a)
{
	double diagonal = (double)integer(a, a->row->position, 0), all = elements(a, 0);
	double rows = tw_size(operand(a, 0), -2), columns = tw_size(operand(a, 0), -1), kept;

	if (first(a)->rank < 2)
		return all;
	kept = tw_slice_starts(&a->call->name, "aten::tril") ?
		       rows * columns - above(rows, columns, diagonal + 1) :
		       above(rows, columns, diagonal);
	a->read = rows * columns > 0 ? all / (rows * columns) * kept : 0;
	return all;
}

/* ---- windows */

/* A list by spatial dimension: one number applies to all, none for `fallback`. */
static bool windows(const struct tw_aten *a, unsigned position, unsigned spatial, int64_t fallback,
		    struct tw_dims *list)
{
	int64_t all = fallback;

	if (tw_value_list(a->call, position, list) && list->rank == spatial)
		return true;
	if (list->rank > 1)
		return false;
	all = list->rank ? list->size[0] : fallback;
	for (list->rank = 0; list->rank < spatial; list->rank++)
		list->size[list->rank] = all;
	return all >= 0;
}

/* Number of windows that fit; the last one may reach over the end where sizes are rounded up. */
static double fitting(double size, double padding, double reach, double step, bool up)
{
	double room = size + 2 * padding - reach, count;

	if (!(step > 0) || room < 0)
		return step > 0 && up ? 1 : NAN;
	count = (up ? ceil(room / step) : floor(room / step)) + 1;
	return up && (count - 1) * step >= size + padding ? count - 1 : count;
}

/* The number of dimensions in max_pool2d_with_indices; 0: none. */
static unsigned spatial_dimensions(const char *op)
{
	const char *digit;

	for (digit = strchr(op, 'd'); digit; digit = strchr(digit + 1, 'd'))
		if (digit > op && digit[-1] >= '1' && digit[-1] <= '3')
			return (unsigned)(digit[-1] - '0');
	return 0;
}

/* From the windows' sizes on: strides (the sizes, where none are given), padding, dilation. */
static double pool(struct tw_aten *a, bool dilates)
{
	unsigned at = a->row->position, spatial = spatial_dimensions(a->row->op), i, outer;
	bool up = tw_value_true(a->call, at + (dilates ? 4 : 3), false);
	struct tw_dims size, stride, padding, dilation;
	double results = 1;

	if (!spatial || first(a)->rank < spatial || !windows(a, at, spatial, -1, &size) ||
	    !windows(a, at + 2, spatial, 0, &padding) ||
	    !windows(a, dilates ? at + 3 : UINT16_MAX, spatial, 1, &dilation))
		return fail(a, "windows not recorded");
	if (!tw_value_list(a->call, at + 1, &stride) || stride.rank != spatial)
		stride = size;
	outer = first(a)->rank - spatial;
	for (i = 0; i < outer; i++)
		results *= (double)first(a)->size[i];
	for (i = 0; i < spatial; i++) {
		double reach = (double)dilation.size[i] * ((double)size.size[i] - 1) + 1;

		a->window *= (double)size.size[i];
		results *= fitting((double)first(a)->size[outer + i], (double)padding.size[i],
				   reach, (double)stride.size[i], up);
	}
	return known_or(a, results, "windows do not match the input");
}

static double max_pool(struct tw_aten *a)
{
	return pool(a, true);
}

static double avg_pool(struct tw_aten *a)
{
	return pool(a, false);
}

/* Sizes after batch and channels, or in a later place what these are multiplied by. */
static double spatial(struct tw_aten *a)
{
	const struct tw_dims *dims = first(a);
	unsigned wanted = dims->rank > 2 ? dims->rank - 2 : 0, i, k;
	double factors[TW_MAX_DIMS], n = 1;
	struct tw_dims list;

	if (tw_value_list(a->call, a->row->position, &list) && list.rank &&
	    list.rank <= dims->rank) {
		for (i = 0; i < dims->rank - list.rank; i++)
			n *= (double)dims->size[i];
		return n * tw_elements(&list);
	}
	for (k = a->row->position + 1; wanted && k < a->call->count; k++) {
		if (tw_value_reals(a->call, k, factors, TW_MAX_DIMS) != wanted)
			continue;
		n = (double)dims->size[0] * (double)dims->size[1];
		for (i = 0; i < wanted; i++)
			n *= floor((double)dims->size[2 + i] * factors[i]);
		return n;
	}
	return NAN;
}

/* Before and after, from the last dimension on. */
static double pad(struct tw_aten *a)
{
	const struct tw_dims *dims = first(a);
	struct tw_dims padding;
	double results = 1;
	unsigned i;

	if (!tw_value_list(a->call, a->row->position, &padding) || padding.rank / 2 > dims->rank)
		return fail(a, "padding not recorded");
	for (i = 0; i < dims->rank; i++) {
		double size = (double)dims->size[dims->rank - 1 - i];

		if (2 * i + 1 < padding.rank)
			size += (double)padding.size[2 * i] + (double)padding.size[2 * i + 1];
		results *= size;
	}
	return results;
}

/* grid_sampler(x (N, C, ...), grid (N, ..., 2)) */
static double grid(struct tw_aten *a)
{
	const struct tw_operand *grid_of_x = operand(a, a->row->position);

	if (first(a)->rank < 2 || grid_of_x->dims.rank != first(a)->rank ||
	    tw_size(grid_of_x, -1) < 1)
		return fail(a, "grid does not match the input");
	return tw_size(operand(a, 0), 1) * as_operand(a) / tw_size(grid_of_x, -1);
}

/* ---- what is looked up, put and sorted */

static double loss(struct tw_aten *a)
{
	a->picked = elements(a, 1);
	return integer(a, a->row->position, 1) == 0 ? a->picked : 1;
}

static double topk(struct tw_aten *a)
{
	double size = size_along(a, integer(a, a->row->position + 1, -1));

	return elements(a, 0) / size * number(a);
}

/* Sizes of the tensors of a list, or of a tensor, as they broadcast: the largest, and how many. */
static double indexed(const struct tw_aten *a, unsigned begin, unsigned end, unsigned *count)
{
	double most = NAN;
	unsigned i;

	*count = 0;
	for (i = begin; i < end && i < a->call->count; i++) {
		const struct tw_operand *index = operand(a, i);

		if (!index->type.len && !index->is_list)
			continue;
		if (index->dtype && index->dtype->kind == TW_BOOL)
			return NAN; /* the number that are set depends on the values */
		*count += index->is_list ? tensors(index) : 1;
		/* Of several in a list the sizes are those of each, as a rule. */
		if (index->is_list)
			most = *count ? tw_operand_elements(index) / *count : NAN;
		else
			most = fmax(isnan(most) ? 0 : most, tw_elements(&index->dims));
	}
	return most;
}

/* What indices into the first dimensions pick: that many times the other dimensions. */
static double picked_by(struct tw_aten *a, unsigned end)
{
	unsigned count, i;
	double n = indexed(a, a->row->position, end, &count);

	if (isnan(n) || count > first(a)->rank)
		return fail(a, "index sizes not recorded");
	for (i = count; i < first(a)->rank; i++)
		n *= (double)first(a)->size[i];
	return n;
}

static double indexed_from(struct tw_aten *a)
{
	return picked_by(a, a->call->count);
}

static double indexed_by(struct tw_aten *a)
{
	return picked_by(a, a->row->position + 1);
}

static double along(struct tw_aten *a)
{
	double size = size_along(a, integer(a, a->row->position - 1, INT64_MIN));

	return known_or(a, elements(a, 0) / size * as_operand(a),
			"dimension does not match the input");
}

/* _embedding_bag(table, indices, where bags begin, ..., 7: whether the end is given too) */
static double bag(struct tw_aten *a)
{
	double width = size_along(a, -1);

	a->picked = elements(a, 1) * width;
	return (as_operand(a) - tw_value_true(a->call, 7, false)) * width;
}

void tw_aten_results(struct tw_aten *a)
{
	static double (*const rules[])(struct tw_aten *) = {
		[TW_ATEN_SAME] = same,	       [TW_ATEN_NONE] = none,
		[TW_ATEN_ONE] = one,	       [TW_ATEN_AT] = as_operand,
		[TW_ATEN_DIMS] = without_dims, [TW_ATEN_AXIS] = without_axis,
		[TW_ATEN_LAST] = without_last, [TW_ATEN_LIST] = listed,
		[TW_ATEN_NUMBER] = number,     [TW_ATEN_RANGE] = range,
		[TW_ATEN_SUM] = as_operand,    [TW_ATEN_EACH] = each,
		[TW_ATEN_HALF] = half,	       [TW_ATEN_TIMES] = for_each,
		[TW_ATEN_REPEAT] = repeated,   [TW_ATEN_INTERLEAVE] = interleave,
		[TW_ATEN_TRIANGLE] = triangle, [TW_ATEN_PAD] = pad,
		[TW_ATEN_SPATIAL] = spatial,   [TW_ATEN_POOL] = max_pool,
		[TW_ATEN_AVGPOOL] = avg_pool,  [TW_ATEN_GRID] = grid,
		[TW_ATEN_LOSS] = loss,	       [TW_ATEN_TOPK] = topk,
		[TW_ATEN_ROWS] = by_rows,      [TW_ATEN_INDEX] = indexed_from,
		[TW_ATEN_ALONG] = along,       [TW_ATEN_PUT] = indexed_by,
		[TW_ATEN_BAG] = bag,	       [TW_ATEN_TABLE] = rows_of_table,
	};

	a->picked = a->read = NAN;
	a->window = 1;
	a->results = rules[a->row->result](a);
	if (isnan(a->results) && !a->reason)
		a->reason = not_recorded;
	if (isnan(a->picked))
		a->picked = a->results;
}
