/*
 * Operators far below the roofline: of one with a cost model whose target time, at the share of the
 * roofline that good kernels reach, is below 75 % of its time.  Without: it takes the target time.  A
 * product with a dimension that 16 bytes do not divide is misaligned_gemm, one in fp32 on the vector
 * units fp32_gemm_without_tf32.
 */
#define _GNU_SOURCE
#include "diagnose/kinds.h"

#include "data/limits.h"
#include "model/platform.h"

#include <math.h>
#include <string.h>

static void claim(struct tw_look *look, enum tw_finding_kind kind, struct tw_leaf *leaf, double ns)
{
	uint32_t i;

	leaf->taken = true;
	for (i = 0; i < leaf->count; i++)
		tw_claim_scale(look, kind, look->leaf_gpu[leaf->first + i],
			       ns / (double)leaf->gpu_ns);
	tw_claim_spot(look, kind, look->d->host.event[leaf->node],
		      look->d->host.event[leaf->work_node], leaf->gpu_ns - tw_whole_ns(ns));
}

/* Computes: copies have findings of their own. */
static bool computes(const struct tw_look *look, const struct tw_leaf *leaf)
{
	uint32_t i;

	for (i = 0; i < leaf->count; i++)
		if (look->part->points[2 * look->leaf_gpu[leaf->first + i]].flags & TW_POINT_COPY)
			return false;
	return true;
}

static bool is_long(const struct tw_look *look, const struct tw_leaf *leaf)
{
	return leaf->gpu_ns > TW_LIMIT_SLOW_KERNEL_LEAST_US * 1000 && !leaf->taken && leaf->work &&
	       !leaf->work->at_least && computes(look, leaf);
}

static bool is_slow(const struct tw_leaf *leaf, double target_ns)
{
	return target_ns < (double)leaf->gpu_ns * TW_LIMIT_SLOW_KERNEL_PERCENT / 100;
}

static double padded(double size, double element_bytes)
{
	return fmod(size * element_bytes, TW_LIMIT_GEMM_ALIGNED_BYTES) == 0 ?
		       size :
		       ceil(size / TW_LIMIT_GEMM_PADDED) * TW_LIMIT_GEMM_PADDED;
}

static bool is_misaligned(const struct tw_gemm *g)
{
	return padded(g->m, g->element_bytes) != g->m || padded(g->n, g->element_bytes) != g->n ||
	       padded(g->k, g->element_bytes) != g->k;
}

static double gemm_ns(const struct tw_look *look, const struct tw_gemm *g, const char *spec)
{
	return tw_target_ns(look, 2 * g->b * g->m * g->n * g->k,
			    g->element_bytes * g->b * (g->m * g->k + g->k * g->n + g->m * g->n),
			    spec);
}

/* ---- matrix products in two bytes or less */

static void look_at_products(struct tw_look *look, enum tw_finding_kind kind, bool misaligned)
{
	uint32_t i;

	for (i = 0; i < look->leaf_count && !look->failed; i++) {
		struct tw_leaf *leaf = &look->leaves[i];
		struct tw_gemm g;
		double ns;

		if (!is_long(look, leaf) || !tw_gemm_of(look, leaf, &g) || !(g.element_bytes < 4) ||
		    is_misaligned(&g) != misaligned)
			continue;
		if (misaligned) {
			g.m = padded(g.m, g.element_bytes);
			g.n = padded(g.n, g.element_bytes);
			g.k = padded(g.k, g.element_bytes);
			ns = gemm_ns(look, &g, leaf->work->spec);
		} else {
			ns = tw_target_ns(look, leaf->work->flops, leaf->work->bytes,
					  leaf->work->spec);
		}
		if (misaligned ? ns < (double)leaf->gpu_ns : is_slow(leaf, ns))
			claim(look, kind, leaf, ns);
	}
}

static void look_at_gemms(struct tw_look *look)
{
	look_at_products(look, TW_KIND_low_efficiency_gemm, false);
}

static void look_at_misaligned(struct tw_look *look)
{
	look_at_products(look, TW_KIND_misaligned_gemm, true);
}

/* ---- fp32 */

/* Names of kernels that use the tensor cores or matrix units. */
static bool on_matrix_units(const struct tw_look *look, const struct tw_leaf *leaf)
{
	static const char *const parts[] = { "tf32", "tensorop", "s1688", "s16816",
					     "xf32", "hmma",	 "wgmma", "mfma" };
	uint32_t i;
	size_t k;

	for (i = 0; i < leaf->count; i++) {
		uint32_t event = look->d->gpu.event[look->leaf_gpu[leaf->first + i]];
		const char *name = look->trace->texts.entries[look->trace->events.name[event]].ptr;

		for (k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			if (strcasestr(name, parts[k]))
				return true;
	}
	return false;
}

static void look_at_fp32(struct tw_look *look)
{
	uint32_t i;
	double tf32 = look->platform ? tw_platform_peak(look->platform, "matrix_tf32", NULL) : NAN;
	double fp32 = look->platform ? tw_platform_peak(look->platform, "vector_fp32", NULL) : NAN;

	for (i = 0; i < look->leaf_count && tf32 > fp32; i++) {
		struct tw_leaf *leaf = &look->leaves[i];
		struct tw_gemm g;
		double ns;

		if (leaf->taken || !tw_gemm_of(look, leaf, &g) || g.element_bytes != 4 ||
		    strcmp(leaf->shape->precision, "fp32") || on_matrix_units(look, leaf))
			continue;
		ns = gemm_ns(look, &g, "matrix_tf32");
		if (ns < (double)leaf->gpu_ns)
			claim(look, TW_KIND_fp32_gemm_without_tf32, leaf, ns);
	}
}

/*
 * ---- other operators with a model, by its table.  What generated kernels (Triton) move is not certain
 * from their arguments: nothing is claimed of them.
 */

/* The table of an operator: of one whose model has none, by what it does. */
static const char *sheet_of(const struct tw_leaf *leaf)
{
	const char *sheet = leaf->work ? leaf->work->model->sheet : "-";

	return *sheet ? sheet : leaf->pointwise ? "elementwise" : "";
}

static bool is_sheet(const struct tw_leaf *leaf, const char *const *sheets)
{
	const char *sheet = sheet_of(leaf);

	for (; *sheets; sheets++)
		if (!strcmp(sheet, *sheets))
			return true;
	return false;
}

static double target_ns(const struct tw_look *look, enum tw_finding_kind kind,
			const struct tw_leaf *leaf)
{
	const struct tw_op_work *work = leaf->work;

	if (kind == TW_KIND_low_efficiency_convolution)
		return tw_target_at(look, work->flops, work->bytes, work->spec,
				    TW_LIMIT_TARGET_CONVOLUTION_PERCENT);
	if (kind != TW_KIND_low_efficiency_attention)
		return tw_target_ns(look, work->flops, work->bytes, work->spec);
	return tw_attention_ns(look, work->flops, work->bytes, work->spec,
			       strstr(leaf->op, "backward"));
}

static void look_at_sheets(struct tw_look *look, enum tw_finding_kind kind,
			   const char *const *sheets)
{
	uint32_t i;

	for (i = 0; i < look->leaf_count && !look->failed; i++) {
		struct tw_leaf *leaf = &look->leaves[i];
		double ns;

		if (!is_long(look, leaf) || !is_sheet(leaf, sheets) ||
		    tw_in_optimizer(look, leaf->node))
			continue;
		ns = target_ns(look, kind, leaf);
		if (ns > 0 && is_slow(leaf, ns))
			claim(look, kind, leaf, ns);
	}
}

#define LOOK(id, ...)                                                      \
	static void look_at_##id(struct tw_look *look)                     \
	{                                                                  \
		static const char *const sheets[] = { __VA_ARGS__, NULL }; \
                                                                           \
		look_at_sheets(look, TW_KIND_low_efficiency_##id, sheets); \
	}                                                                  \
	const struct tw_kind tw_kind_low_efficiency_##id = { .look = look_at_##id };

LOOK(attention, "SDPA", "InferenceAttention")
LOOK(convolution, "CONV")
LOOK(elementwise, "UnaryElementwise", "BinaryElementwise", "elementwise")
LOOK(reduction, "Reduce", "Softmax", "Normalization", "RMSNorm", "CrossEntropy")
LOOK(other, "GroupedGEMM", "MoE_fused", "MoE_unfused", "MoE_aux", "SSM", "RoPE", "FusedRoPE",
     "GroupQuant", "mHC", "Embedding", "")

const struct tw_kind tw_kind_low_efficiency_gemm = { .look = look_at_gemms };
const struct tw_kind tw_kind_misaligned_gemm = { .look = look_at_misaligned };
const struct tw_kind tw_kind_fp32_gemm_without_tf32 = { .look = look_at_fp32 };
