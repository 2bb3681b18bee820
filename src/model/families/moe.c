/*
 * Mixtures of experts: each of M tokens of K goes through `topk` of E experts, whose weights are
 * up (2 N, K) when gated, else (N, K), and down (K, N).
 *
 *	up	FLOPs = 2 M topk K N (2 when gated)
 *	down	FLOPs = 2 M topk N K
 *	fused	both, and M K (2 topk - 1) to weight and add up the results of a token
 *	bytes	= input + Ea (weights of an expert) + output
 *	Ea	= E (1 - ((E - topk) / E)^M)
 *
 * Ea is how many experts M tokens that choose by chance reach: that many weights are read.  Input
 * and output move once.  Packed weights (two 4-bit values a byte, and the like) have fewer
 * columns than the tokens; their bytes are what is stored.  Scales are not counted.
 *
 * The rest: choosing and sorting of experts moves its operands; MoEDispatch and MoECombine send
 * each token once.
 *
 * Sources: the definitions; operands as in aiter (moe_op.py), vLLM (fused_moe) and SGLang
 * (fused_moe_triton); TraceLens 0.1.
 *
 * Example: 4 tokens of 8, 2 experts of N = 16, gated, topk 1, all in bf16: FLOPs 2 x 4 x 8 x 16 x 3
 * + 4 x 8 = 3104; Ea = 2 (1 - 1/16) = 1.875; bytes (32 + 1.875 x 3 x 128 + 32) x 2 = 1568.
 */
#include "model/arguments.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

struct experts {
	double m, k, n, e, topk;
	bool gated;
	const struct tw_operand *input, *up, *down;
	double input_bytes, output_bytes; /* of all elements */
};

static const struct tw_operand *at(const struct tw_call *call, unsigned position)
{
	return tw_operand(call, position);
}

static double size(const struct tw_operand *operand, unsigned dimension)
{
	return (double)operand->dims.size[dimension];
}

/* Experts that are reached. */
static double active(const struct experts *x)
{
	return x->e > 0 ? x->e * (1 - pow((x->e - x->topk) / x->e, x->m)) : 0;
}

static bool integers(const struct tw_operand *operand)
{
	return operand->dtype && !operand->dtype->precision[0] && operand->dtype->bits >= 32;
}

/* Values along the last dimension, as far as the type says that an element is two of them. */
static double columns(const struct tw_operand *operand)
{
	bool pairs = operand->dtype && operand->dtype->bits == 8 &&
		     !strcmp(operand->dtype->precision, "fp4");

	return size(operand, operand->dims.rank - 1) * (pairs ? 2 : 1);
}

/* Whether what is stored can be that many values: one, two, four or eight an element. */
static bool packs(const struct tw_operand *operand, double values)
{
	double each = values / columns(operand);

	return values == columns(operand) || each == 2 || each == 4 || each == 8;
}

static int check_topk(const struct experts *x, struct tw_work *work)
{
	if (!(x->topk >= 1) || x->topk > x->e)
		return tw_work_fail(work, "how many experts a token has is not known");
	return 0;
}

static double expert_bytes(const struct tw_operand *weights)
{
	return weights ? tw_bytes(weights) / size(weights, 0) : 0;
}

/* With the work of `up`, `down` or both. */
static int finish(const struct experts *x, const char *precision, struct tw_work *work)
{
	const struct tw_operand *types[3] = { x->input, x->up ? x->up : x->down, x->down };
	double product = 2 * x->m * x->topk * x->k * x->n;

	work->flops = (x->up ? product * (x->gated ? 2 : 1) : 0) + (x->down ? product : 0);
	if (x->up && x->down)
		work->flops += x->m * x->k * (2 * x->topk - 1);
	work->bytes = x->input_bytes + x->output_bytes +
		      active(x) * (expert_bytes(x->up) + expert_bytes(x->down));
	work->precision = precision;
	tw_param_integer(work, "M", x->m);
	tw_param_integer(work, "K", x->k);
	tw_param_integer(work, "N", x->n);
	tw_param_integer(work, "E", x->e);
	tw_param_integer(work, "topk", x->topk);
	tw_param_bool(work, "gated", x->gated);
	tw_param_types(work, "dtype_A_B", types, x->up && x->down ? 3 : 2);
	return 0;
}

/* M, K, N, E and the gate from tokens (M, K), up (E, N or 2 N, K) and down (E, K, N). */
static int take_both(struct experts *x, struct tw_work *work)
{
	if (x->input->dims.rank != 2 || x->up->dims.rank != 3 || x->down->dims.rank != 3)
		return tw_work_fail(work, "its operands are no tokens and weights of experts");
	x->m = size(x->input, 0);
	x->k = size(x->down, 1);
	x->e = size(x->up, 0);
	if (size(x->down, 0) != x->e || x->k == 0 || !packs(x->input, x->k) || !packs(x->up, x->k))
		return tw_work_fail(work, "its weights do not fit its tokens");
	/* Both are packed alike. */
	x->n = columns(x->down) * (x->k / columns(x->up));
	x->gated = size(x->up, 1) == 2 * x->n;
	if (!x->gated && size(x->up, 1) != x->n)
		return tw_work_fail(work, "its two weights do not fit");
	return 0;
}

/* What is computed in where tokens are made as narrow as the weights, which have K columns. */
static const char *narrow(const struct experts *x)
{
	const struct tw_dtype *dtype = x->up->dtype;

	if (dtype && dtype->bits == 8 && x->k == 2 * size(x->up, 2))
		return "fp4";
	return dtype && dtype->precision[0] ? dtype->precision : tw_precision(x->input);
}

/* The number of experts of a token: the width of its ids. */
static double ids_topk(const struct tw_operand *ids, double tokens)
{
	return ids->dims.rank == 2 && size(ids, 0) == tokens ? size(ids, 1) : NAN;
}

/*
 * fused_moe(hidden (M, K), w1, w2, topk_weight, topk_ids (M, topk), ...) of aiter and vLLM, from
 * which the stages below are told apart: all of it, up, or down.
 */
enum stage { BOTH, UP, DOWN };

static int fused_experts(const struct tw_call *call, enum stage stage, bool wide,
			 struct tw_work *work)
{
	struct experts x = { .input = at(call, 0), .up = at(call, 1), .down = at(call, 2) };
	const char *precision;
	double between, element;

	if (take_both(&x, work))
		return -1;
	x.topk = ids_topk(at(call, 4), x.m);
	if (check_topk(&x, work))
		return -1;
	precision = wide ? tw_precision(x.input) : narrow(&x);
	element = tw_element_bytes(x.input);
	element = element == 1 ? 2 : element; /* results have at least 16 bits */
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.k * element;
	between = x.m * x.topk * x.n * element;
	if (stage == UP) {
		x.output_bytes = between;
		x.down = NULL;
	} else if (stage == DOWN) {
		x.input_bytes = between;
		x.up = NULL;
		x.gated = false;
	}
	return finish(&x, precision, work);
}

static int fused_1stage(const struct tw_call *call, struct tw_work *work)
{
	return fused_experts(call, BOTH, false, work);
}

static int narrow_up(const struct tw_call *call, struct tw_work *work)
{
	return fused_experts(call, UP, false, work);
}

static int narrow_down(const struct tw_call *call, struct tw_work *work)
{
	return fused_experts(call, DOWN, false, work);
}

/* 4- and 8-bit weights are unpacked into the type of the tokens. */
static int wide_up(const struct tw_call *call, struct tw_work *work)
{
	return fused_experts(call, UP, true, work);
}

static int wide_down(const struct tw_call *call, struct tw_work *work)
{
	return fused_experts(call, DOWN, true, work);
}

/*
 * fmoe_g1u1 and fmoe_fp8_blockscale_g1u1(out (M, K), input (M, K), gate (E, 2 N, K), down (E, K,
 * N), sorted ids, weights, expert ids, number of them, 8 topk, ...)
 */
static int blockscale(const struct tw_call *call, struct tw_work *work)
{
	struct experts x = { .input = at(call, 1), .up = at(call, 2), .down = at(call, 3) };

	if (take_both(&x, work))
		return -1;
	x.topk = (double)tw_value_integer(call, 8, 0);
	if (check_topk(&x, work))
		return -1;
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.k * tw_element_bytes(at(call, 0));
	return finish(&x, tw_precision(x.input), work);
}

/*
 * The first of two stages: tokens (M, K), weights (E, N or 2 N, K), output (M, topk, N), or less
 * its shape (M topk, N).
 */
static int first_stage(const struct tw_call *call, unsigned weights, unsigned out, unsigned topk,
		       struct tw_work *work)
{
	struct experts x = { .input = at(call, 0), .up = at(call, weights) };
	const struct tw_operand *y = at(call, out);
	unsigned rank = y->dims.rank;

	if (x.input->dims.rank != 2 || x.up->dims.rank != 3 || rank < 2)
		return tw_work_fail(work, "its operands are no tokens and weights of experts");
	x.m = size(x.input, 0);
	x.k = fmax(columns(x.input), columns(x.up));
	x.e = size(x.up, 0);
	x.n = size(y, rank - 1);
	x.topk = rank == 3 ? size(y, 1) : (double)tw_value_integer(call, topk, 0);
	if (!packs(x.input, x.k) || !packs(x.up, x.k))
		return tw_work_fail(work, "its weights do not fit its tokens");
	if (check_topk(&x, work))
		return -1;
	if (tw_elements(&y->dims) != x.m * x.topk * x.n)
		return tw_work_fail(work, "its output does not fit its tokens");
	x.gated = size(x.up, 1) == 2 * x.n;
	if (!x.gated && size(x.up, 1) != x.n)
		return tw_work_fail(work, "its weights do not fit its output");
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.topk * x.n * tw_element_bytes(y);
	return finish(&x, tw_precision(x.input), work);
}

/* The second: (M, topk, N), weights (E, K, N), output (M, K). */
static int second_stage(const struct tw_call *call, unsigned weights, unsigned out, unsigned topk,
			struct tw_work *work)
{
	struct experts x = { .input = at(call, 0), .down = at(call, weights) };
	const struct tw_operand *y = at(call, out);
	unsigned rank = x.input->dims.rank;

	if (rank < 2 || rank > 3 || x.down->dims.rank != 3 || y->dims.rank != 2)
		return tw_work_fail(work, "its operands are no tokens and weights of experts");
	x.m = size(y, 0);
	x.k = size(y, 1);
	x.e = size(x.down, 0);
	x.n = fmax(columns(x.input), columns(x.down));
	x.topk = rank == 3 ? size(x.input, 1) : (double)tw_value_integer(call, topk, 0);
	if (size(x.down, 1) != x.k || !packs(x.input, x.n) || !packs(x.down, x.n))
		return tw_work_fail(work, "its weights do not fit its tokens");
	if (check_topk(&x, work))
		return -1;
	if (tw_elements(&x.input->dims) != x.m * x.topk * size(x.input, rank - 1))
		return tw_work_fail(work, "its output does not fit its tokens");
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = tw_bytes(y);
	return finish(&x, tw_precision(x.input), work);
}

/* moe_cktile2stages_gemm1_ck(x, w, out, sorted ids, expert ids, most, 6 topk, ...), gemm2 alike */
static int cktile_up(const struct tw_call *call, struct tw_work *work)
{
	return first_stage(call, 1, 2, 6, work);
}

static int cktile_down(const struct tw_call *call, struct tw_work *work)
{
	return second_stage(call, 1, 2, 6, work);
}

/* ck_moe_stage1(x, w1, w2, sorted ids, expert ids, valid, 6 out, 7 topk, ...), stage2 alike */
static int ck_stage1(const struct tw_call *call, struct tw_work *work)
{
	return first_stage(call, 1, 6, 7, work);
}

static int ck_stage2(const struct tw_call *call, struct tw_work *work)
{
	return second_stage(call, 2, 6, 7, work);
}

/*
 * invoke_fused_moe_kernel(A, B (E, N, K), bias, C, scales ..., topk_weights, topk_ids (tokens,
 * topk), ...): A are the tokens, or a row for each token and expert; older versions have no bias.
 */
static int grouped_gemm(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *a = at(call, 0), *b = at(call, 1), *ids = NULL;
	struct experts x = { .input = a, .up = b };
	unsigned i;

	if (a->dims.rank != 2 || b->dims.rank != 3)
		return tw_work_fail(work, "its operands are no tokens and weights of experts");
	for (i = 2; i < call->count && !ids; i++)
		if (at(call, i)->dims.rank == 2 && integers(at(call, i)))
			ids = at(call, i);
	if (!ids)
		return tw_work_fail(work, "how many experts a token has is not known");
	x.m = size(ids, 0);
	x.topk = size(ids, 1);
	x.k = size(a, 1);
	x.n = size(b, 1);
	x.e = size(b, 0);
	if (!packs(b, x.k))
		return tw_work_fail(work, "its weights do not fit its tokens");
	if (size(a, 0) != x.m && size(a, 0) != x.m * x.topk)
		return tw_work_fail(work, "its experts do not fit its tokens");
	if (check_topk(&x, work))
		return -1;
	x.input_bytes = tw_bytes(a);
	/* Without or behind a bias: the results have three dimensions. */
	for (i = 2; i < 4; i++)
		if (at(call, i)->dims.rank == 3)
			x.output_bytes = x.m * x.topk * x.n * tw_element_bytes(at(call, i));
	if (x.output_bytes == 0)
		x.output_bytes =
			x.m * x.topk * x.n * (tw_element_bytes(a) == 1 ? 2 : tw_element_bytes(a));
	return finish(&x, narrow(&x), work);
}

/* ---- by the names of arguments */

#define NAMES_TOKENS "hidden_states|x|input|a|a1q"
#define NAMES_UP "w1|w13|gemm1_weights|fc1_expert_weights|w13_weight"
#define NAMES_DOWN "w2|gemm2_weights|fc2_expert_weights|w2_weight"
#define NAMES_IDS "topk_ids|token_selected_experts|topk_indices"
#define NAMES_TOPK "top_k|topk"

/*
 * Weights that Marlin kernels have in tiles of 16 rows, 32 bits an element: up (E, K / 16, ...),
 * down (E, N / 16, ...); of four bits eight are packed into an element, of eight bits four.
 */
static bool take_marlin(struct experts *x)
{
	double packed;

	if (!integers(x->up) || !integers(x->down) || x->up->dims.rank != 3 ||
	    x->down->dims.rank != 3 || size(x->up, 1) * 16 != size(x->input, 1))
		return false;
	x->m = size(x->input, 0);
	x->k = size(x->input, 1);
	x->e = size(x->up, 0);
	x->n = size(x->down, 1) * 16;
	/* Of both kinds the elements of down are K N: what up has more is the gate. */
	packed = size(x->down, 1) * size(x->down, 2);
	x->gated = packed > 0 && size(x->up, 1) * size(x->up, 2) >= 2 * packed;
	return true;
}

/* All of it: tokens, both weights, and how many experts a token has. */
static int fused_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *out = tw_argument(&a, "output|out|result");
	struct experts x = { .input = tw_argument(&a, NAMES_TOKENS),
			     .up = tw_argument(&a, NAMES_UP),
			     .down = tw_argument(&a, NAMES_DOWN) };
	bool marlin;
	double element;

	if (x.input->dims.rank != 2)
		return tw_work_fail(work, "its operands are no tokens and weights of experts");
	marlin = take_marlin(&x);
	if (!marlin && take_both(&x, work))
		return -1;
	x.topk = ids_topk(tw_argument(&a, NAMES_IDS), x.m);
	if (isnan(x.topk))
		x.topk = tw_argument_integer(&a, NAMES_TOPK, NAN);
	if (check_topk(&x, work))
		return -1;
	element = tw_element_bytes(out->dims.rank ? out : x.input);
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.k * (element == 1 ? 2 : element);
	return finish(&x, marlin ? tw_precision(x.input) : narrow(&x), work);
}

/*
 * One of its two products with quantized weights: size_m rows of size_k, each by the weights (size_k,
 * size_n) of top_k experts.
 */
static int quantized_experts(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *out = tw_argument(&a, "output|c_or_none|c");
	struct experts x = { .input = tw_argument(&a, NAMES_TOKENS),
			     .up = tw_argument(&a, "b_q_weight|b_qweight|b_q_weights") };

	if (x.input->dims.rank != 2 || x.up->dims.rank != 3)
		return tw_work_fail(work, "its operands are no tokens and weights of experts");
	x.m = tw_argument_integer(&a, "size_m", size(x.input, 0));
	x.k = tw_argument_integer(&a, "size_k", size(x.input, 1));
	x.n = tw_argument_integer(&a, "size_n",
				  out->dims.rank ? size(out, out->dims.rank - 1) : NAN);
	x.e = size(x.up, 0);
	x.topk = tw_argument_integer(&a, NAMES_TOPK, NAN);
	if (isnan(x.n))
		return tw_work_fail(work, "the sizes of its weights were not recorded");
	if (check_topk(&x, work))
		return -1;
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.topk * x.n * tw_element_bytes(x.input);
	return finish(&x, tw_precision(x.input), work);
}

/* ---- around the experts */

/* Each operand is read or written once; an operation for each element of the largest. */
static int all_operands(const struct tw_call *call, struct tw_work *work)
{
	double most = 0, bytes = 0;
	unsigned i;

	for (i = 0; i < call->count; i++) {
		const struct tw_operand *operand = at(call, i);

		if (!operand->dims.rank)
			continue;
		most = fmax(most, tw_elements(&operand->dims));
		bytes += tw_bytes(operand);
	}
	if (!at(call, 0)->dims.rank)
		return tw_work_fail(work, "its first operand is no tensor");
	work->flops = most;
	work->bytes = bytes;
	work->precision = tw_precision(at(call, 0));
	tw_param_dims(work, "op_shape", &at(call, 0)->dims);
	return 0;
}

/*
 * aiter::topk_softplus: of its operands the widest matrix has the logits (M, E), the narrowest
 * the chosen (M, topk); six operations for a logit, a bias of four bytes for an expert, an id
 * and a weight of four bytes each for what is chosen.
 */
static int topk_softplus(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *logits = NULL, *chosen = NULL;
	double m, e, topk;
	unsigned i;

	for (i = 0; i < call->count; i++) {
		const struct tw_operand *o = at(call, i);

		if (o->dims.rank != 2)
			continue;
		if (!logits || size(o, 1) > size(logits, 1))
			logits = o;
		if (!chosen || size(o, 1) < size(chosen, 1))
			chosen = o;
	}
	if (!logits || logits == chosen || size(logits, 0) != size(chosen, 0))
		return tw_work_fail(work, "its logits and chosen experts are not to be told apart");
	m = size(logits, 0);
	e = size(logits, 1);
	topk = size(chosen, 1);
	work->flops = 6 * m * e;
	work->bytes = m * e * tw_element_bytes(logits) + 4 * e + 8 * m * topk;
	work->precision = tw_precision(logits);
	tw_param_integer(work, "M", m);
	tw_param_integer(work, "E", e);
	tw_param_integer(work, "topk", topk);
	return 0;
}

/*
 * fused_append_shared_experts(topk_ids (M, k), topk_weights (M, k), s shared experts, ...): reads
 * k, writes k + s of both; nothing is computed.
 */
static int append_shared(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *ids = at(call, 0), *weights = at(call, 1);
	int64_t shared = tw_value_integer(call, 2, -1);
	double m, k;

	if (ids->dims.rank != 2 || weights->dims.rank != 2)
		return tw_work_fail(work, "its operands are no ids and weights");
	if (shared < 0)
		return tw_work_fail(work, "how many experts are shared is not known");
	m = size(ids, 0);
	k = size(ids, 1);
	work->flops = 0;
	work->bytes =
		m * (2 * k + (double)shared) * (tw_element_bytes(ids) + tw_element_bytes(weights));
	work->precision = tw_precision(weights);
	tw_param_integer(work, "M", m);
	tw_param_integer(work, "topk", k);
	tw_param_integer(work, "num_shared", (double)shared);
	return 0;
}

/* MoEDispatch(tokens (T, K), ...), MoECombine, and the gradients that go the other way. */
static int exchange(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *tokens = at(call, 0);
	unsigned rank = tokens->dims.rank;

	if (rank < 2)
		return tw_work_fail(work, "its first operand are no tokens");
	work->flops = 0;
	work->bytes = tw_bytes(tokens);
	work->precision = tw_precision(tokens);
	tw_param_integer(work, "hidden", size(tokens, rank - 1));
	tw_param_dims(work, "op_shape", &tokens->dims);
	return 0;
}

#define MOE(id, in_sheet, which, function)                         \
	const struct tw_model tw_model_##id = { .name = #id,       \
						.sheet = in_sheet, \
						.unit = which,     \
						.forward = function }

MOE(moe_fused_1stage, "MoE_fused", TW_UNIT_MATRIX, fused_1stage);
MOE(moe_fused_blockscale, "MoE_fused", TW_UNIT_MATRIX, blockscale);
MOE(moe_cktile_up, "MoE_unfused", TW_UNIT_MATRIX, cktile_up);
MOE(moe_cktile_down, "MoE_unfused", TW_UNIT_MATRIX, cktile_down);
MOE(moe_ck_stage1, "MoE_unfused", TW_UNIT_MATRIX, ck_stage1);
MOE(moe_ck_stage2, "MoE_unfused", TW_UNIT_MATRIX, ck_stage2);
MOE(moe_triton_up, "MoE_unfused", TW_UNIT_MATRIX, wide_up);
MOE(moe_triton_down, "MoE_unfused", TW_UNIT_MATRIX, wide_down);
MOE(moe_gptq_awq_up, "MoE_unfused", TW_UNIT_MATRIX, wide_up);
MOE(moe_gptq_awq_down, "MoE_unfused", TW_UNIT_MATRIX, wide_down);
MOE(moe_flydsl_stage1, "MoE_unfused", TW_UNIT_MATRIX, narrow_up);
MOE(moe_flydsl_stage2, "MoE_unfused", TW_UNIT_MATRIX, narrow_down);
MOE(moe_triton_grouped_gemm, "MoE_unfused", TW_UNIT_MATRIX, grouped_gemm);
MOE(moe_fused_named, "MoE_fused", TW_UNIT_MATRIX, fused_named);
MOE(moe_quantized_experts, "MoE_unfused", TW_UNIT_MATRIX, quantized_experts);
MOE(biased_grouped_topk, "MoE_aux", TW_UNIT_VECTOR, all_operands);
MOE(moe_sorting, "MoE_aux", TW_UNIT_VECTOR, all_operands);
MOE(topk_softplus, "MoE_aux", TW_UNIT_VECTOR, topk_softplus);
MOE(append_shared_experts, "MoE_aux", TW_UNIT_VECTOR, append_shared);

#define EXCHANGE(id)                                 \
	const struct tw_model tw_model_##id = {      \
		.name = #id,                         \
		.sheet = "MoE_comm",                 \
		.unit = TW_UNIT_NONE,                \
		.forward = exchange,                 \
		.backward = exchange,                \
		.backward_category = "MoE_comm_bwd", \
	}

EXCHANGE(moe_dispatch);
EXCHANGE(moe_combine);
