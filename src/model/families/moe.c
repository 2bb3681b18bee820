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
 * Ea is the number of active experts of M tokens with uniform routing: weights read.  Input
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

static const char no_experts[] = "operands are not tokens and weights of experts";
static const char unfit_weights[] = "weights do not match the tokens";
static const char unfit_output[] = "output does not match the tokens";
static const char no_topk[] = "experts per token unknown";

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

	return tw_size(operand, -1) * (pairs ? 2 : 1);
}

/* Whether what is stored can be that many values: one, two, four or eight an element. */
static bool packs(const struct tw_operand *operand, double values)
{
	double each = values / columns(operand);

	return values == columns(operand) || each == 2 || each == 4 || each == 8;
}

static double expert_bytes(const struct tw_operand *weights)
{
	return weights ? tw_bytes(weights) / tw_size(weights, 0) : 0;
}

/* With the work of `up`, `down` or both. */
static int count_experts(const struct experts *x, const char *precision, struct tw_work *work)
{
	bool both = x->up && x->down;
	double product = 2 * x->m * x->topk * x->k * x->n;
	double flops = (x->up ? product * (x->gated ? 2 : 1) : 0) + (x->down ? product : 0);
	double moved = x->input_bytes + x->output_bytes +
		       active(x) * (expert_bytes(x->up) + expert_bytes(x->down));

	if (both)
		flops += x->m * x->k * (2 * x->topk - 1);
	TW_PARAM_INTEGERS(work, { "M", x->m }, { "K", x->k }, { "N", x->n }, { "E", x->e },
			  { "topk", x->topk });
	tw_param_bool(work, "gated", x->gated);
	if (both)
		TW_PARAM_TYPES(work, "dtype_A_B", x->input, x->up, x->down);
	else
		TW_PARAM_TYPES(work, "dtype_A_B", x->input, x->up ? x->up : x->down);
	work->precision = precision;
	return tw_work_set(work, flops, moved, x->input);
}

/* Up is as wide as N, or twice that when it has a gate; false: neither. */
static bool take_gate(struct experts *x)
{
	x->gated = tw_size(x->up, 1) == 2 * x->n;
	return x->gated || tw_size(x->up, 1) == x->n;
}

static int take_topk(struct experts *x, double topk, struct tw_work *work)
{
	x->topk = topk;
	return topk >= 1 && topk <= x->e ? 0 : tw_work_fail(work, no_topk);
}

/* M, K, N, E and the gate from tokens (M, K), up (E, N or 2 N, K) and down (E, K, N). */
static int take_both(struct experts *x, struct tw_work *work)
{
	if (x->input->dims.rank != 2 || x->up->dims.rank != 3 || x->down->dims.rank != 3)
		return tw_work_fail(work, no_experts);
	x->m = tw_size(x->input, 0);
	x->k = tw_size(x->down, 1);
	x->e = tw_size(x->up, 0);
	if (tw_size(x->down, 0) != x->e || x->k == 0 || !packs(x->input, x->k) ||
	    !packs(x->up, x->k))
		return tw_work_fail(work, unfit_weights);
	/* Both are packed alike. */
	x->n = columns(x->down) * (x->k / columns(x->up));
	return take_gate(x) ? 0 : tw_work_fail(work, "the two weights do not match");
}

/* What is computed in where tokens are made as narrow as the weights, which have K columns. */
static const char *narrow(const struct experts *x)
{
	const struct tw_dtype *dtype = x->up->dtype;

	if (dtype && dtype->bits == 8 && x->k == 2 * tw_size(x->up, 2))
		return "fp4";
	return dtype && dtype->precision[0] ? dtype->precision : tw_precision(x->input);
}

/* The number of experts of a token: the width of its ids. */
static double ids_topk(const struct tw_operand *ids, double tokens)
{
	return ids->dims.rank == 2 && tw_size(ids, 0) == tokens ? tw_size(ids, 1) : NAN;
}

/* ---- by position */

enum stage { BOTH, UP, DOWN };

struct parts {
	enum stage stage;
	bool wide; /* 4- and 8-bit weights are unpacked into the type of the tokens */
};

/*
 * fused_moe(hidden (M, K), w1, w2, topk_weight, topk_ids (M, topk), ...) of aiter and vLLM, from
 * which its stages are distinguished: all of it, up, or down.
 */
static int fused_experts(const struct tw_call *call, struct tw_work *work)
{
	const struct parts *parts = work->model->variant;
	struct experts x = { .input = tw_operand(call, 0),
			     .up = tw_operand(call, 1),
			     .down = tw_operand(call, 2) };
	const char *precision;
	double between, element = tw_result_bytes(x.input);

	if (take_both(&x, work) || take_topk(&x, ids_topk(tw_operand(call, 4), x.m), work))
		return -1;
	precision = parts->wide ? tw_precision(x.input) : narrow(&x);
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.k * element;
	between = x.m * x.topk * x.n * element;
	if (parts->stage == UP) {
		x.output_bytes = between;
		x.down = NULL;
	} else if (parts->stage == DOWN) {
		x.input_bytes = between;
		x.up = NULL;
		x.gated = false;
	}
	return count_experts(&x, precision, work);
}

/*
 * fmoe_g1u1 and fmoe_fp8_blockscale_g1u1(out (M, K), input (M, K), gate (E, 2 N, K), down (E, K,
 * N), sorted ids, weights, expert ids, number of them, 8 topk, ...)
 */
static int blockscale(const struct tw_call *call, struct tw_work *work)
{
	struct experts x = { .input = tw_operand(call, 1),
			     .up = tw_operand(call, 2),
			     .down = tw_operand(call, 3) };

	if (take_both(&x, work) || take_topk(&x, (double)tw_value_integer(call, 8, 0), work))
		return -1;
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.k * tw_element_bytes(tw_operand(call, 0));
	return count_experts(&x, tw_precision(x.input), work);
}

/* The middle size of rows for each token and expert (M, topk, N), else what the call says. */
static double middle_or_value(const struct tw_operand *rows, const struct tw_call *call,
			      unsigned position)
{
	return rows->dims.rank == 3 ? tw_size(rows, 1) :
				      (double)tw_value_integer(call, position, 0);
}

/*
 * The first of two stages: tokens (M, K), weights (E, N or 2 N, K), output (M, topk, N), or less
 * its shape (M topk, N).
 */
static int first_stage(const struct tw_call *call, struct tw_work *work)
{
	const char *list = work->model->variant;
	struct experts x = { .input = tw_operand(call, 0),
			     .up = tw_operand(call, tw_place(list, "up")) };
	const struct tw_operand *y = tw_operand(call, tw_place(list, "out"));

	if (x.input->dims.rank != 2 || x.up->dims.rank != 3 || y->dims.rank < 2)
		return tw_work_fail(work, no_experts);
	x.m = tw_size(x.input, 0);
	x.k = fmax(columns(x.input), columns(x.up));
	x.e = tw_size(x.up, 0);
	x.n = tw_size(y, -1);
	if (!packs(x.input, x.k) || !packs(x.up, x.k))
		return tw_work_fail(work, unfit_weights);
	if (take_topk(&x, middle_or_value(y, call, tw_place(list, "topk")), work))
		return -1;
	if (tw_elements(&y->dims) != x.m * x.topk * x.n)
		return tw_work_fail(work, unfit_output);
	if (!take_gate(&x))
		return tw_work_fail(work, "weights do not match the output");
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.topk * x.n * tw_element_bytes(y);
	return count_experts(&x, tw_precision(x.input), work);
}

/* The second: (M, topk, N), weights (E, K, N), output (M, K). */
static int second_stage(const struct tw_call *call, struct tw_work *work)
{
	const char *list = work->model->variant;
	struct experts x = { .input = tw_operand(call, 0),
			     .down = tw_operand(call, tw_place(list, "down")) };
	const struct tw_operand *y = tw_operand(call, tw_place(list, "out"));
	unsigned rank = x.input->dims.rank;

	if (rank < 2 || rank > 3 || x.down->dims.rank != 3 || y->dims.rank != 2)
		return tw_work_fail(work, no_experts);
	x.m = tw_size(y, 0);
	x.k = tw_size(y, 1);
	x.e = tw_size(x.down, 0);
	x.n = fmax(columns(x.input), columns(x.down));
	if (tw_size(x.down, 1) != x.k || !packs(x.input, x.n) || !packs(x.down, x.n))
		return tw_work_fail(work, unfit_weights);
	if (take_topk(&x, middle_or_value(x.input, call, tw_place(list, "topk")), work))
		return -1;
	if (tw_elements(&x.input->dims) != x.m * x.topk * tw_size(x.input, -1))
		return tw_work_fail(work, unfit_output);
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = tw_bytes(y);
	return count_experts(&x, tw_precision(x.input), work);
}

/* The first matrix of integers after A and B; NULL: there is none. */
static const struct tw_operand *find_ids(const struct tw_call *call)
{
	unsigned i;

	for (i = 2; i < call->count; i++)
		if (call->operand[i].dims.rank == 2 && integers(&call->operand[i]))
			return &call->operand[i];
	return NULL;
}

/*
 * invoke_fused_moe_kernel(A, B (E, N, K), bias, C, scales ..., topk_weights, topk_ids (tokens,
 * topk), ...): A are the tokens, or a row for each token and expert; older versions have no bias.
 */
static int grouped_gemm(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *a = tw_operand(call, 0), *b = tw_operand(call, 1);
	const struct tw_operand *ids = find_ids(call);
	struct experts x = { .input = a, .up = b };
	double results, element = tw_result_bytes(a);
	unsigned i;

	if (a->dims.rank != 2 || b->dims.rank != 3)
		return tw_work_fail(work, no_experts);
	if (!ids)
		return tw_work_fail(work, no_topk);
	x.m = tw_size(ids, 0);
	x.k = tw_size(a, 1);
	x.n = tw_size(b, 1);
	x.e = tw_size(b, 0);
	if (!packs(b, x.k))
		return tw_work_fail(work, unfit_weights);
	if (tw_size(a, 0) != x.m && tw_size(a, 0) != x.m * tw_size(ids, 1))
		return tw_work_fail(work, "experts do not match the tokens");
	if (take_topk(&x, tw_size(ids, 1), work))
		return -1;
	/* Without or after a bias: the results have three dimensions. */
	results = x.m * x.topk * x.n;
	for (i = 2; i < 4; i++)
		if (tw_operand(call, i)->dims.rank == 3)
			element = tw_element_bytes(tw_operand(call, i));
	x.input_bytes = tw_bytes(a);
	x.output_bytes = results * element;
	return count_experts(&x, narrow(&x), work);
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
	    x->down->dims.rank != 3 || tw_size(x->up, 1) * 16 != tw_size(x->input, 1))
		return false;
	x->m = tw_size(x->input, 0);
	x->k = tw_size(x->input, 1);
	x->e = tw_size(x->up, 0);
	x->n = tw_size(x->down, 1) * 16;
	/* Of both kinds the elements of down are K N: what up has more is the gate. */
	packed = tw_size(x->down, 1) * tw_size(x->down, 2);
	x->gated = packed > 0 && tw_size(x->up, 1) * tw_size(x->up, 2) >= 2 * packed;
	return true;
}

/* All of it: tokens, both weights, and experts per token. */
static int fused_named(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	const struct tw_operand *out = tw_argument_tensor(&a, "output|out|result");
	struct experts x = { .input = tw_argument(&a, NAMES_TOKENS),
			     .up = tw_argument(&a, NAMES_UP),
			     .down = tw_argument(&a, NAMES_DOWN) };
	double topk;
	bool marlin;

	if (x.input->dims.rank != 2)
		return tw_work_fail(work, no_experts);
	marlin = take_marlin(&x);
	if (!marlin && take_both(&x, work))
		return -1;
	topk = ids_topk(tw_argument(&a, NAMES_IDS), x.m);
	if (take_topk(&x, isnan(topk) ? tw_argument_integer(&a, NAMES_TOPK, NAN) : topk, work))
		return -1;
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.k * tw_result_bytes(out ? out : x.input);
	return count_experts(&x, marlin ? tw_precision(x.input) : narrow(&x), work);
}

/*
 * One of its two products with quantized weights: size_m rows of size_k, each by the weights (size_k,
 * size_n) of top_k experts.
 */
static int quantized_experts(const struct tw_call *call, struct tw_work *work)
{
	struct tw_arguments a = tw_arguments_of(call);
	struct experts x = { .input = tw_argument(&a, NAMES_TOKENS),
			     .up = tw_argument(&a, "b_q_weight|b_qweight|b_q_weights") };

	if (x.input->dims.rank != 2 || x.up->dims.rank != 3)
		return tw_work_fail(work, no_experts);
	x.m = tw_argument_integer(&a, "size_m", tw_size(x.input, 0));
	x.k = tw_argument_integer(&a, "size_k", tw_size(x.input, 1));
	x.n = tw_argument_integer(&a, "size_n", tw_size(tw_argument(&a, "output|c_or_none|c"), -1));
	x.e = tw_size(x.up, 0);
	if (isnan(x.n))
		return tw_work_fail(work, "weight sizes not recorded");
	if (take_topk(&x, tw_argument_integer(&a, NAMES_TOPK, NAN), work))
		return -1;
	x.input_bytes = tw_bytes(x.input);
	x.output_bytes = x.m * x.topk * x.n * tw_element_bytes(x.input);
	return count_experts(&x, tw_precision(x.input), work);
}

/* ---- around the experts */

/* Each operand is read or written once; an operation for each element of the largest. */
static int all_operands(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *first = tw_operand(call, 0);
	double most = 0;
	unsigned i;

	if (!tw_is_tensor(first))
		return tw_work_fail(work, "first operand is not a tensor");
	for (i = 0; i < call->count; i++)
		if (tw_has_tensor(call, i))
			most = fmax(most, tw_elements(&call->operand[i].dims));
	tw_param_dims(work, "op_shape", &first->dims);
	return tw_work_set(work, most, tw_call_bytes(call), first);
}

/*
 * aiter::topk_softplus: of its operands the widest matrix has the logits (M, E), the narrowest
 * the chosen (M, topk); six operations for a logit, a bias of four bytes for an expert, an id
 * and a weight of four bytes each for what is chosen.
 */
static int topk_softplus(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *logits = NULL, *chosen = NULL, *o;
	double m, e, topk;

	for (o = call->operand; o < call->operand + call->count; o++) {
		if (o->dims.rank != 2)
			continue;
		if (!logits || tw_size(o, 1) > tw_size(logits, 1))
			logits = o;
		if (!chosen || tw_size(o, 1) < tw_size(chosen, 1))
			chosen = o;
	}
	if (!logits || logits == chosen || tw_size(logits, 0) != tw_size(chosen, 0))
		return tw_work_fail(work, "logits and chosen experts are ambiguous");
	m = tw_size(logits, 0);
	e = tw_size(logits, 1);
	topk = tw_size(chosen, 1);
	TW_PARAM_INTEGERS(work, { "M", m }, { "E", e }, { "topk", topk });
	return tw_work_set(work, 6 * m * e, m * e * tw_element_bytes(logits) + 4 * e + 8 * m * topk,
			   logits);
}

/*
 * fused_append_shared_experts(topk_ids (M, k), topk_weights (M, k), s shared experts, ...): reads
 * k, writes k + s of both; nothing is computed.
 */
static int append_shared(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *ids = tw_operand(call, 0), *weights = tw_operand(call, 1);
	double shared = (double)tw_value_integer(call, 2, -1);
	double m = tw_size(ids, 0), k = tw_size(ids, 1);

	if (ids->dims.rank != 2 || weights->dims.rank != 2)
		return tw_work_fail(work, "operands are not ids and weights");
	if (shared < 0)
		return tw_work_fail(work, "number of shared experts unknown");
	TW_PARAM_INTEGERS(work, { "M", m }, { "topk", k }, { "num_shared", shared });
	return tw_work_set(
		work, 0, m * (2 * k + shared) * (tw_element_bytes(ids) + tw_element_bytes(weights)),
		weights);
}

/* MoEDispatch(tokens (T, K), ...), MoECombine, and the gradients that go the other way. */
static int exchange(const struct tw_call *call, struct tw_work *work)
{
	const struct tw_operand *tokens = tw_operand(call, 0);

	if (tokens->dims.rank < 2)
		return tw_work_fail(work, "first operand is not tokens");
	tw_param_integer(work, "hidden", tw_size(tokens, -1));
	tw_param_dims(work, "op_shape", &tokens->dims);
	return tw_work_set(work, 0, tw_bytes(tokens), tokens);
}

#define FUSED(id, ...) TW_MODEL(id, "MoE_fused", MATRIX, __VA_ARGS__)
#define UNFUSED(id, ...) TW_MODEL(id, "MoE_unfused", MATRIX, __VA_ARGS__)
#define AUXILIARY(id, function) TW_MODEL(id, "MoE_aux", VECTOR, .forward = function)
#define EXCHANGE(id)                                                              \
	TW_MODEL(id, "MoE_comm", NONE, .forward = exchange, .backward = exchange, \
		 .backward_category = "MoE_comm_bwd")
#define PARTS(...)                                                 \
	.forward = fused_experts, .variant = &(const struct parts) \
	{                                                          \
		__VA_ARGS__                                        \
	}
/* The arguments of a stage in their order, of which weights (up or down), out and topk count. */
#define STAGE(function, arguments) .forward = function, .variant = arguments

const struct tw_model tw_family_moe[] = {
	FUSED(moe_fused_1stage, PARTS(BOTH, .wide = false)),
	FUSED(moe_fused_blockscale, .forward = blockscale),
	/* moe_cktile2stages_gemm1_ck and gemm2, ck_moe_stage1 and 2 */
	UNFUSED(moe_cktile_up, STAGE(first_stage, "x up out sorted expert_ids most topk")),
	UNFUSED(moe_cktile_down, STAGE(second_stage, "x down out sorted expert_ids most topk")),
	UNFUSED(moe_ck_stage1, STAGE(first_stage, "x up w2 sorted expert_ids valid out topk")),
	UNFUSED(moe_ck_stage2, STAGE(second_stage, "x w1 down sorted expert_ids valid out topk")),
	UNFUSED(moe_triton_up, PARTS(UP, .wide = true)),
	UNFUSED(moe_triton_down, PARTS(DOWN, .wide = true)),
	UNFUSED(moe_gptq_awq_up, PARTS(UP, .wide = true)),
	UNFUSED(moe_gptq_awq_down, PARTS(DOWN, .wide = true)),
	UNFUSED(moe_flydsl_stage1, PARTS(UP, .wide = false)),
	UNFUSED(moe_flydsl_stage2, PARTS(DOWN, .wide = false)),
	UNFUSED(moe_triton_grouped_gemm, .forward = grouped_gemm),
	FUSED(moe_fused_named, .forward = fused_named),
	UNFUSED(moe_quantized_experts, .forward = quantized_experts),
	AUXILIARY(biased_grouped_topk, all_operands),
	AUXILIARY(moe_sorting, all_operands),
	AUXILIARY(topk_softplus, topk_softplus),
	AUXILIARY(append_shared_experts, append_shared),
	EXCHANGE(moe_dispatch),
	EXCHANGE(moe_combine),
	{ .name = NULL },
};
