#include "ops.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INPUTS 16
#define MAX_DIMS 5

struct input {
	char dtype; /* of a tensor; 's', 'd' scalar, 'L', 'm' list of scalars, '-' absent */
	char swap;  /* 'T': last two dimensions swapped in memory, 'M': those before */
	int copies; /* of a tensor list; 0 for a single tensor */
	int n;
	int64_t dim[MAX_DIMS];
	const char *text; /* of a scalar */
	int text_len;
};

int64_t dim_value(const struct dims *d, const char **s)
{
	int64_t v = 1;
	bool negative = **s == '-';

	if (negative)
		(*s)++;
	if (**s >= '0' && **s <= '9')
		v = strtol(*s, (char **)s, 10);
	for (; **s >= 'A' && **s <= 'Z'; (*s)++)
		v *= d->v[**s - 'A'];
	return negative ? -v : v;
}

/* "[B,S,H]" at *s. */
static void parse_dims(struct input *in, const struct dims *d, const char **s)
{
	if (*(*s)++ != '[')
		die(1, "bad dimensions in a script: %s", *s);
	while (**s != ']') {
		if (in->n == MAX_DIMS)
			die(1, "too many dimensions in a script: %s", *s);
		in->dim[in->n++] = dim_value(d, s);
		if (**s == ',')
			(*s)++;
		else if (**s != ']')
			die(1, "bad dimension in a script: %s", *s);
	}
	(*s)++;
}

static void parse_input(struct input *in, const struct dims *d, const char **s)
{
	memset(in, 0, sizeof(*in));
	if (**s >= '0' && **s <= '9') {
		in->copies = (int)strtol(*s, (char **)s, 10);
		(*s)++;
	}
	in->dtype = *(*s)++;
	if (in->dtype == 's') {
		in->text = ++(*s);
		while (**s && **s != ' ')
			(*s)++;
		in->text_len = (int)(*s - in->text);
	} else if (in->dtype == 'd') {
		(*s)++;
		in->dim[0] = dim_value(d, s);
	} else if (in->dtype == 'L' || in->dtype == 'm') {
		(*s)++;
		parse_dims(in, d, s);
	} else if (in->dtype != '-') {
		parse_dims(in, d, s);
		if (**s == 'T' || **s == 'M')
			in->swap = *(*s)++;
	}
	while (**s == ' ')
		(*s)++;
}

static const char *type_name(const struct input *in)
{
	if (in->copies)
		return "TensorList";
	switch (in->dtype) {
	case 'b':
		return "c10::BFloat16";
	case 'f':
		return "float";
	case 'l':
		return "long int";
	case 'c':
		return "bool";
	case 's':
	case 'd':
		return "Scalar";
	case 'L':
	case 'm':
		return "ScalarList";
	default:
		return "";
	}
}

static bool is_tensor(const struct input *in)
{
	return !strchr("sdLm-", in->dtype);
}

static void put_list(struct sb *b, const int64_t *v, int n, const char *sep)
{
	sb_put(b, "[");
	for (int i = 0; i < n; i++)
		sb_putf(b, "%s%lld", i ? sep : "", (long long)v[i]);
	sb_put(b, "]");
}

static void strides_of(const struct input *in, int64_t stride[MAX_DIMS])
{
	int64_t order[MAX_DIMS];
	int64_t run = 1;
	int at = in->n - (in->swap == 'M' ? 3 : 2);

	for (int i = 0; i < in->n; i++)
		order[i] = i;
	if (in->swap && at >= 0) {
		order[at] = at + 1;
		order[at + 1] = at;
	}
	for (int i = in->n - 1; i >= 0; i--) {
		stride[order[i]] = run;
		run *= in->dim[order[i]];
	}
}

static void put_concrete(struct sb *b, const struct input *in)
{
	if (in->dtype == 's') {
		sb_putf(b, "\"%.*s\"", in->text_len, in->text);
	} else if (in->dtype == 'd') {
		sb_putf(b, "\"%lld\"", (long long)in->dim[0]);
	} else if (in->dtype == 'm') {
		sb_put(b, "\"[");
		for (int i = 0; i < in->n; i++)
			sb_putf(b, "%s%s", i ? ", " : "", in->dim[i] ? "True" : "False");
		sb_put(b, "]\"");
	} else if (in->dtype == 'L') {
		sb_put(b, "\"");
		put_list(b, in->dim, in->n, ", ");
		sb_put(b, "\"");
	} else {
		sb_put(b, "\"\"");
	}
}

/* Sizes or strides of one input; of a tensor list a list of them. */
static void put_shape(struct sb *b, const struct input *in, bool strides)
{
	int64_t stride[MAX_DIMS];
	const int64_t *v = in->dim;

	if (!is_tensor(in)) {
		sb_put(b, "[]");
		return;
	}
	if (strides) {
		strides_of(in, stride);
		v = stride;
	}
	if (!in->copies) {
		put_list(b, v, in->n, ",");
		return;
	}
	sb_put(b, "[");
	for (int i = 0; i < in->copies; i++) {
		sb_put(b, i ? "," : "");
		put_list(b, v, in->n, ",");
	}
	sb_put(b, "]");
}

/* ---- the least work of an op ------------------------------------------------ */

/* What an op moves, where that is not all operands and a result like the largest of them. */
enum moves { OPERANDS_AND_RESULT, ONLY_OPERANDS, ROWS, ELEMENTS };

static const struct {
	const char *op;
	enum moves moves;
} least_moves[] = {
	/* The result is small, or one of the operands. */
	{ "aten::copy_", ONLY_OPERANDS },
	{ "aten::zero_", ONLY_OPERANDS },
	{ "aten::sum", ONLY_OPERANDS },
	{ "aten::mean", ONLY_OPERANDS },
	{ "aten::argmax", ONLY_OPERANDS },
	{ "aten::_foreach_norm", ONLY_OPERANDS },
	/* Of the first tensor only what the indices name. */
	{ "aten::embedding", ROWS },
	{ "aten::index_select", ROWS },
	{ "aten::nll_loss_forward", ELEMENTS },
	{ "aten::nll_loss_backward", ELEMENTS },
};

static int64_t input_elems(const struct input *in)
{
	int64_t n = in->copies ? in->copies : 1;

	for (int i = 0; i < in->n; i++)
		n *= in->dim[i];
	return is_tensor(in) ? n : 0;
}

static int64_t input_bytes(const struct input *in)
{
	return input_elems(in) * (in->dtype == 'l' ? 8 :
				  in->dtype == 'f' ? 4 :
				  in->dtype == 'c' ? 1 :
						     2);
}

static enum moves moves_of(const char *op, const struct input *in, int n)
{
	for (size_t i = 0; i < ARRAY_LEN(least_moves); i++)
		if (!strcmp(op, least_moves[i].op))
			return least_moves[i].moves;
	/* Generated kernels have their results among the operands, as has mul() with a third. */
	if (!strncmp(op, "triton_", 7) || (!strcmp(op, "aten::mul") && n > 2 && is_tensor(&in[2])))
		return ONLY_OPERANDS;
	return OPERANDS_AND_RESULT;
}

/* Elements of a matrix product, each a sum of *len products; 0 for other ops. */
static int64_t product_elems(const char *op, const struct input *in, int n, int64_t *len)
{
	int64_t elems = 1;

	if (!strcmp(op, "aten::addmm"))
		in++, n--;
	else if (strcmp(op, "aten::mm") && strcmp(op, "aten::bmm"))
		return 0;
	if (n < 2)
		return 0;
	for (int i = 0; i < in[0].n - 1; i++)
		elems *= in[0].dim[i];
	*len = in[0].dim[in[0].n - 1];
	return elems * in[1].dim[in[1].n - 1];
}

/* Of causal attention, whose half of the scores is needed: two products, backward five. */
static int64_t attention_flops(const char *op, const struct input *in)
{
	const char *name = strstr(op, "_flash_attention");
	bool heads_first = !strncmp(op, "aten::_scaled", 13);

	if (!name)
		return 0;
	return (strstr(name, "backward") ? 5 : 2) * input_elems(in) * in->dim[heads_first ? 2 : 1];
}

static int64_t least_bytes(const char *op, const struct input *in, int n, int64_t product)
{
	enum moves moves = moves_of(op, in, n);
	int64_t sum = 0, largest = 0, indices = 0;

	for (int i = 0; i < n; i++) {
		int64_t bytes = input_bytes(&in[i]);

		sum += bytes;
		if (bytes > largest)
			largest = bytes;
		if (in[i].dtype == 'l')
			indices += input_elems(&in[i]);
	}
	if (moves == ROWS)
		return 2 * indices * 2 * in[0].dim[in[0].n - 1];
	if (moves == ELEMENTS)
		return 2 * indices * 2;
	return sum + (product ? 2 * product : moves == ONLY_OPERANDS ? 0 : largest);
}

static void set_work(struct op_info *info, const char *op, const struct input *in, int n)
{
	int64_t len = 0, product = product_elems(op, in, n, &len);

	info->flops = product * 2 * len + (strcmp(op, "aten::addmm") ? 0 : product);
	info->computed = info->flops + (n ? attention_flops(op, in) : 0);
	info->moved = least_bytes(op, in, n, product);
}

struct op_info ops_put_inputs(struct sb *out, const struct dims *d, const char *op,
			      const char *text)
{
	static const char *const keys[] = { "Concrete Inputs", "Input type", "Input Strides",
					    "Input Dims" };
	struct input in[MAX_INPUTS];
	struct op_info info = { 0 };
	int n = 0;

	while (*text) {
		if (n == MAX_INPUTS)
			die(1, "too many inputs of %s", op);
		parse_input(&in[n++], d, &text);
	}
	for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
		sb_putf(out, "%s\"%s\":[", k ? "," : "", keys[k]);
		for (int i = 0; i < n; i++) {
			sb_put(out, i ? "," : "");
			if (k == 0)
				put_concrete(out, &in[i]);
			else if (k == 1)
				sb_putf(out, "\"%s\"", type_name(&in[i]));
			else
				put_shape(out, &in[i], k == 2);
		}
		sb_put(out, "]");
	}
	set_work(&info, op, in, n);
	if (n) {
		info.bytes = in[0].dtype == 'f' ? 4 : 2;
		for (int i = 0; i < in[0].n; i++)
			info.bytes *= in[0].dim[i];
	}
	return info;
}
