#include "model/families/aten.h"

#include <math.h>
#include <string.h>

static const struct tw_operand *at(const struct tw_aten *a, unsigned position)
{
	return tw_operand(a->call, position);
}

char tw_aten_role(const struct tw_aten_op *row, unsigned position)
{
	return position < strlen(row->inputs) ? row->inputs[position] : '-';
}

static double of(const struct tw_aten *a, unsigned position)
{
	return tw_operand_elements(at(a, position));
}

static void fail(struct tw_aten *a, const char *reason)
{
	a->results = NAN;
	a->reason = reason;
}

static const char not_recorded[] = "the sizes of its result were not recorded";

/* ---- as inputs are */

bool tw_aten_broadcast(const struct tw_aten *a, struct tw_dims *shape)
{
	unsigned i, k;

	shape->rank = 0;
	for (i = 0; i < a->call->count; i++) {
		const struct tw_dims *dims = &at(a, i)->dims;
		char role = tw_aten_role(a->row, i);

		if (role != 'r' && role != 'c')
			continue;
		for (; shape->rank < dims->rank; shape->rank++) {
			memmove(shape->size + 1, shape->size, shape->rank * sizeof(shape->size[0]));
			shape->size[0] = 1;
		}
		for (k = 1; k <= dims->rank; k++) {
			int64_t *size = &shape->size[shape->rank - k];
			int64_t other = dims->size[dims->rank - k];

			if (*size != other && *size != 1 && other != 1)
				return false;
			*size = *size == 1 ? other : *size;
		}
	}
	return true;
}

/* A list in the first place is as it is; else what all broadcast to. */
static void same(struct tw_aten *a, unsigned position)
{
	struct tw_dims shape;
	unsigned i;

	(void)position;
	for (i = 0; i < a->call->count; i++)
		if (at(a, i)->is_list && strchr("rc", tw_aten_role(a->row, i))) {
			a->results = of(a, i);
			return;
		}
	if (tw_aten_broadcast(a, &shape))
		a->results = tw_elements(&shape);
	else
		fail(a, "its shapes do not fit each other");
}

static void half(struct tw_aten *a, unsigned position)
{
	a->results = floor(of(a, position) / 2);
}

/* All elements of a list, or of all tensors where they were recorded apart. */
static void sum(struct tw_aten *a, unsigned position)
{
	a->results = of(a, position);
}

/* One for each tensor of a list: as many as brackets are opened. */
static void each(struct tw_aten *a, unsigned position)
{
	const struct tw_slice *text = &at(a, position)->list_dims;
	size_t i;

	if (at(a, position)->is_list && !text->len)
		fail(a, not_recorded);
	a->results = at(a, position)->is_list ? 0 : 1;
	for (i = 0; i < text->len; i++)
		a->results += text->ptr[i] == '[';
}

/* ---- reductions */

/* The size of a dimension, counted from either end; NaN: there is none. */
static double size_of(const struct tw_dims *dims, int64_t dim)
{
	/* A number is as a vector of one. */
	int64_t rank = dims->rank ? dims->rank : 1;

	if (dim < -rank || dim >= rank)
		return NAN;
	return dims->rank ? (double)dims->size[dim < 0 ? dim + rank : dim] : 1;
}

static void divide(struct tw_aten *a, double by)
{
	double n = of(a, 0);

	a->results = by > 0 ? n / by : n > 0 ? NAN : 0;
	if (isnan(a->results))
		fail(a, "its dimensions do not fit its input");
}

/* Where only one dimension is given by number, whether its size is kept is said behind it. */
static bool takes_dimension(const struct tw_aten *a, unsigned position, int64_t *dim)
{
	*dim = tw_value_integer(a->call, position, INT64_MIN);
	return *dim != INT64_MIN && tw_value_true(a->call, position + 1, false) ==
					    tw_value_true(a->call, position + 1, true);
}

/* Without dimensions, of a list or a number, one is left. */
static void reduced(struct tw_aten *a, unsigned position, bool list)
{
	struct tw_dims dims;
	double product = 1;
	int64_t dim;
	unsigned i;

	if (!a->call->values_recorded) {
		fail(a, "its dimensions were not recorded");
		return;
	}
	a->results = 1;
	if (list && tw_value_list(a->call, position, &dims) && dims.rank) {
		for (i = 0; i < dims.rank; i++)
			product *= size_of(&at(a, 0)->dims, dims.size[i]);
		divide(a, product);
	} else if (takes_dimension(a, position, &dim)) {
		divide(a, size_of(&at(a, 0)->dims, dim));
	}
}

static void without_dims(struct tw_aten *a, unsigned position)
{
	reduced(a, position, true);
}

static void without_axis(struct tw_aten *a, unsigned position)
{
	reduced(a, position, false);
}

/* Without one given the last dimension goes. */
static void without_last(struct tw_aten *a, unsigned position)
{
	divide(a, size_of(&at(a, 0)->dims, tw_value_integer(a->call, position, -1)));
}

/* ---- sizes that are given */

static void listed(struct tw_aten *a, unsigned position)
{
	struct tw_dims list;

	if (tw_value_list(a->call, position, &list))
		a->results = tw_elements(&list);
	else
		fail(a, not_recorded);
}

static void number(struct tw_aten *a, unsigned position, double times)
{
	int64_t value = tw_value_integer(a->call, position, -1);

	a->results = value < 0 ? NAN : times * (double)value;
	if (isnan(a->results))
		fail(a, not_recorded);
}

/* arange(end, out) and arange(start, end, step, out): of other forms the numbers can mean others. */
static void range(struct tw_aten *a, unsigned position)
{
	double start = 0, end, step = 1;
	unsigned out = a->call->count - 1;

	(void)position;
	if ((out != 1 && out != 3) || !at(a, out)->dtype || at(a, out)->value.len) {
		fail(a, not_recorded);
		return;
	}
	end = tw_value_real(a->call, out == 3);
	if (out == 3) {
		start = tw_value_real(a->call, 0);
		step = tw_value_real(a->call, 2);
	}
	a->results = ceil((end - start) / step);
	if (!(a->results >= 0))
		fail(a, not_recorded);
}

static void repeated(struct tw_aten *a, unsigned position)
{
	listed(a, position);
	a->results *= of(a, 0);
}

/* repeat_interleave(x, how often, dim, size of the result along it) */
static void interleave(struct tw_aten *a, unsigned position)
{
	int64_t times = tw_value_integer(a->call, 1, -1), size = tw_value_integer(a->call, 3, -1);
	int64_t dim = tw_value_integer(a->call, 2, INT64_MIN);

	(void)position;
	if (times >= 0)
		a->results = of(a, 0) * (double)times;
	else if (size >= 0 && dim != INT64_MIN)
		a->results = of(a, 0) / size_of(&at(a, 0)->dims, dim) * (double)size;
	else
		fail(a, not_recorded);
}

/* The elements of a matrix on, above or below a diagonal; the others are set to 0 unread. */
static double above(double rows, double columns, double diagonal)
{
	/* Row i keeps columns from i + diagonal on. */
	double first = fmax(0, -diagonal), last = fmin(rows, columns - diagonal);
	double count = fmax(0, last - first);

	return fmin(first, rows) * columns + count * (columns - diagonal) -
	       (first + last - 1) * count / 2;
}

static void triangle(struct tw_aten *a, unsigned position)
{
	static const char lower[] = "aten::tril";
	const struct tw_dims *dims = &at(a, 0)->dims;
	double diagonal = (double)tw_value_integer(a->call, position, 0), rows, columns, kept;

	a->results = of(a, 0);
	if (dims->rank < 2)
		return;
	rows = (double)dims->size[dims->rank - 2];
	columns = (double)dims->size[dims->rank - 1];
	kept = a->call->name.len >= sizeof(lower) - 1 &&
			       !memcmp(a->call->name.ptr, lower, sizeof(lower) - 1) ?
		       rows * columns - above(rows, columns, diagonal + 1) :
		       above(rows, columns, diagonal);
	a->read = rows * columns > 0 ? a->results / (rows * columns) * kept : 0;
}

/* ---- windows */

/* A list by spatial dimension: one number stands for all, none for `fallback`. */
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

/* How many windows fit; the last one may reach over the end where sizes are rounded up. */
static double fitting(double size, double padding, double reach, double step, bool up)
{
	double room = size + 2 * padding - reach, count;

	if (!(step > 0) || room < 0)
		return room < 0 && !up ? NAN : step > 0 ? 1 : NAN;
	count = (up ? ceil(room / step) : floor(room / step)) + 1;
	return up && (count - 1) * step >= size + padding ? count - 1 : count;
}

/* From the windows' sizes on: strides (the sizes, where none are given), padding, dilation. */
static void pool(struct tw_aten *a, unsigned first, bool dilates)
{
	const struct tw_dims *dims = &at(a, 0)->dims;
	struct tw_dims size, stride, padding, dilation;
	/* max_pool2d_with_indices: the digit says over how many dimensions. */
	const char *digit = memchr(a->row->op, 'd', strlen(a->row->op));
	unsigned spatial = 0, i;
	bool up = tw_value_true(a->call, first + (dilates ? 4 : 3), false);

	for (; digit && !spatial; digit = strchr(digit + 1, 'd'))
		if (digit[-1] >= '1' && digit[-1] <= '3')
			spatial = (unsigned)(digit[-1] - '0');
	if (!spatial || dims->rank < spatial || !windows(a, first, spatial, -1, &size) ||
	    !windows(a, first + 2, spatial, 0, &padding) ||
	    !windows(a, dilates ? first + 3 : UINT16_MAX, spatial, 1, &dilation)) {
		fail(a, "its windows were not recorded");
		return;
	}
	if (!tw_value_list(a->call, first + 1, &stride) || stride.rank != spatial)
		stride = size;
	a->results = 1;
	for (i = 0; i < dims->rank - spatial; i++)
		a->results *= (double)dims->size[i];
	for (i = 0; i < spatial; i++) {
		double reach = (double)dilation.size[i] * ((double)size.size[i] - 1) + 1;

		a->window *= (double)size.size[i];
		a->results *= fitting((double)dims->size[dims->rank - spatial + i],
				      (double)padding.size[i], reach, (double)stride.size[i], up);
	}
	if (isnan(a->results))
		fail(a, "its windows do not fit its input");
}

static void max_pool(struct tw_aten *a, unsigned position)
{
	pool(a, position, true);
}

static void avg_pool(struct tw_aten *a, unsigned position)
{
	pool(a, position, false);
}

/* Sizes behind batch and channels, or in a later place what these are multiplied by. */
static void spatial(struct tw_aten *a, unsigned position)
{
	const struct tw_dims *dims = &at(a, 0)->dims;
	unsigned wanted = dims->rank > 2 ? dims->rank - 2 : 0, i, k;
	double factors[TW_MOST_DIMS], n = 1;
	struct tw_dims list;

	if (tw_value_list(a->call, position, &list) && list.rank && list.rank <= dims->rank) {
		for (i = 0; i < dims->rank - list.rank; i++)
			n *= (double)dims->size[i];
		a->results = n * tw_elements(&list);
		return;
	}
	for (k = position + 1; wanted && k < a->call->count; k++) {
		if (tw_value_reals(a->call, k, factors, TW_MOST_DIMS) != wanted)
			continue;
		a->results = (double)dims->size[0] * (double)dims->size[1];
		for (i = 0; i < wanted; i++)
			a->results *= floor((double)dims->size[2 + i] * factors[i]);
		return;
	}
	fail(a, not_recorded);
}

/* Before and after, from the last dimension on. */
static void pad(struct tw_aten *a, unsigned position)
{
	const struct tw_dims *dims = &at(a, 0)->dims;
	struct tw_dims padding;
	unsigned i;

	if (!tw_value_list(a->call, position, &padding) || padding.rank / 2 > dims->rank) {
		fail(a, "its padding was not recorded");
		return;
	}
	a->results = 1;
	for (i = 0; i < dims->rank; i++) {
		double size = (double)dims->size[dims->rank - 1 - i];

		if (2 * i + 1 < padding.rank)
			size += (double)padding.size[2 * i] + (double)padding.size[2 * i + 1];
		a->results *= size;
	}
}

/* grid_sampler(x (N, C, ...), grid (N, ..., 2)) */
static void grid(struct tw_aten *a, unsigned position)
{
	const struct tw_dims *x = &at(a, 0)->dims, *grid = &at(a, position)->dims;

	if (x->rank < 2 || grid->rank != x->rank || grid->size[grid->rank - 1] < 1)
		fail(a, "its grid does not fit its input");
	else
		a->results =
			(double)x->size[1] * of(a, position) / (double)grid->size[grid->rank - 1];
}

/* ---- what is looked up, put and sorted */

static void loss(struct tw_aten *a, unsigned position)
{
	a->picked = of(a, 1);
	a->results = tw_value_integer(a->call, position, 1) == 0 ? a->picked : 1;
}

static void topk(struct tw_aten *a, unsigned position)
{
	int64_t k = tw_value_integer(a->call, position, -1);
	double size = size_of(&at(a, 0)->dims, tw_value_integer(a->call, position + 1, -1));

	a->results = k < 0 ? NAN : of(a, 0) / size * (double)k;
	if (isnan(a->results))
		fail(a, not_recorded);
}

static void by_rows(struct tw_aten *a, unsigned position)
{
	number(a, position, of(a, 0) / size_of(&at(a, 0)->dims, -1));
}

/* Sizes of the tensors of a list, or of a tensor, as they broadcast: the largest, and how many. */
static double indexed(const struct tw_aten *a, unsigned first, unsigned end, unsigned *count)
{
	double most = NAN;
	unsigned i;

	*count = 0;
	for (i = first; i < end && i < a->call->count; i++) {
		const struct tw_operand *operand = at(a, i);

		if (!operand->type.len && !operand->is_list)
			continue;
		if (operand->dtype && operand->dtype->kind == TW_BOOL)
			return NAN; /* how many are set only the values tell */
		if (operand->is_list) {
			const struct tw_slice *text = &operand->list_dims;
			size_t k;

			for (k = 0; k < text->len; k++)
				*count += text->ptr[k] == '[';
			/* Of several the sizes are those of each, as a rule. */
			most = *count ? tw_operand_elements(operand) / *count : NAN;
			continue;
		}
		(*count)++;
		most = fmax(isnan(most) ? 0 : most, tw_elements(&operand->dims));
	}
	return most;
}

/* What indices into the first dimensions pick: that many times the other dimensions. */
static void picked_by(struct tw_aten *a, unsigned first, unsigned end)
{
	const struct tw_dims *dims = &at(a, 0)->dims;
	unsigned count, i;
	double n = indexed(a, first, end, &count);

	if (isnan(n) || count > dims->rank) {
		fail(a, "the sizes of its indices were not recorded");
		return;
	}
	for (i = count; i < dims->rank; i++)
		n *= (double)dims->size[i];
	a->results = n;
}

static void indexed_from(struct tw_aten *a, unsigned position)
{
	picked_by(a, position, a->call->count);
}

static void indexed_by(struct tw_aten *a, unsigned position)
{
	picked_by(a, position, position + 1);
}

static void along(struct tw_aten *a, unsigned position)
{
	double size = size_of(&at(a, 0)->dims, tw_value_integer(a->call, position - 1, INT64_MIN));

	a->results = of(a, 0) / size * of(a, position);
	if (isnan(a->results))
		fail(a, "its dimension does not fit its input");
}

/* _embedding_bag(table, indices, where bags begin, ..., 7: whether the end is given too) */
static void bag(struct tw_aten *a, unsigned position)
{
	double width = size_of(&at(a, 0)->dims, -1);

	a->picked = of(a, 1) * width;
	a->results = (of(a, position) - tw_value_true(a->call, 7, false)) * width;
}

static void none(struct tw_aten *a, unsigned position)
{
	(void)position;
	a->results = 0;
}

static void one(struct tw_aten *a, unsigned position)
{
	(void)position;
	a->results = 1;
}

static void as_operand(struct tw_aten *a, unsigned position)
{
	a->results = of(a, position);
}

static void count(struct tw_aten *a, unsigned position)
{
	number(a, position, 1);
}

static void for_each(struct tw_aten *a, unsigned position)
{
	number(a, position, of(a, 0));
}

static void rows_of_table(struct tw_aten *a, unsigned position)
{
	number(a, position, size_of(&at(a, 0)->dims, -1));
}

void tw_aten_results(struct tw_aten *a)
{
	static void (*const rules[])(struct tw_aten *, unsigned) = {
		[TW_ATEN_SAME] = same,	       [TW_ATEN_NONE] = none,
		[TW_ATEN_ONE] = one,	       [TW_ATEN_AT] = as_operand,
		[TW_ATEN_DIMS] = without_dims, [TW_ATEN_AXIS] = without_axis,
		[TW_ATEN_LAST] = without_last, [TW_ATEN_LIST] = listed,
		[TW_ATEN_NUMBER] = count,      [TW_ATEN_RANGE] = range,
		[TW_ATEN_SUM] = sum,	       [TW_ATEN_EACH] = each,
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

	a->results = a->picked = a->read = NAN;
	a->window = 1;
	rules[a->row->result](a, a->row->position);
	if (isnan(a->results) && !a->reason)
		a->reason = not_recorded;
	if (isnan(a->picked))
		a->picked = a->results;
}
