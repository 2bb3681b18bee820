/* Made from data/category_families.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_category_family tw_category_families[] = {
	{ "gemm", "gemm", "GEMM", "GEMMs" },
	{ "groupedgemm_fwd", "gemm", "Grouped GEMM Forward", "Grouped GEMMs of the forward pass" },
	{ "groupedgemm_bwd", "gemm", "Grouped GEMM Backward", "Grouped GEMMs of the backward pass" },
	{ "groupedgemm*", "gemm", "Grouped GEMM", "Grouped GEMMs" },
	{ "sdpa_fwd", "sdpa", "SDPA Forward", "SDPA forward operations" },
	{ "sdpa_bwd", "sdpa", "SDPA Backward", "SDPA backward operations" },
	{ "sdpa*", "sdpa", "SDPA", "SDPA operations" },
	{ "inferenceattention", "sdpa", "Inference Attention", "Inference attention operations" },
	{ "elementwise", "elementwise", "Elementwise", "Elementwise operations" },
	{ "multi_tensor_apply", "elementwise", "Multi-Tensor", "Multi-tensor operations" },
	{ "reduce", "reduce", "Reduce", "Reductions" },
	{ "triton", "triton", "Triton", "Triton kernels" },
	{ "moe_fused", "moe", "MoE Fused", "Fused MoE operations" },
	{ "moe_unfused", "moe", "MoE Unfused", "Unfused MoE operations" },
	{ "moe*", "moe", "MoE", "MoE operations" },
	{ "batchnorm", "norm", "BatchNorm", "Batch norms" },
	{ "*norm*", "norm", "Norm", "Norms" },
	{ "conv*", "convolution", "Convolution", "Convolutions" },
	{ "other", "other", "Other", "Other operations" },
	{ "*", "other", NULL, NULL },
};

const size_t tw_category_family_count = 20;
