/* Made from data/analysis_categories.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_analysis_category tw_analysis_categories[] = {
	{ "GEMM", "*", "gemm", "GEMM", "gemm-analysis" },
	{ "GroupedGEMM_fwd", "*", "groupedgemm_fwd", "GroupedGEMM_fwd", "gemm-analysis" },
	{ "GroupedGEMM_bwd", "*", "groupedgemm_bwd", "GroupedGEMM_bwd", "gemm-analysis" },
	{ "SDPA_fwd", "*", "sdpa_fwd", "SDPA_fwd", "sdpa-analysis" },
	{ "SDPA_bwd", "*", "sdpa_bwd", "SDPA_bwd", "sdpa-analysis" },
	{ "InferenceAttention", "*", "inferenceattention", "InferenceAttention", "sdpa-analysis" },
	{ "elementwise", "*", "elementwise", "elementwise", "elementwise-analysis" },
	{ "multi_tensor_apply", "*", "multi_tensor_apply", "multi_tensor_apply", "generic-op-analysis" },
	{ "reduce", "*", "reduce", "reduce", "reduce-analysis" },
	{ "triton", "*", "triton", "triton", "triton-analysis" },
	{ "MoE_fused", "*", "moe_fused", "MoE_fused", "moe-analysis" },
	{ "MoE_unfused", "*", "moe_unfused", "MoE_unfused", "moe-analysis" },
	{ "MoE_aux", "*", "moe_aux", "MoE_aux", "moe-analysis" },
	{ "NORM_fwd", "*batch_norm*", "batchnorm", "BatchNorm", "batchnorm-analysis" },
	{ "NORM_bwd", "*batch_norm*", "batchnorm", "BatchNorm", "batchnorm-analysis" },
	{ "NORM_fwd", "*batchnorm*", "batchnorm", "BatchNorm", "batchnorm-analysis" },
	{ "NORM_bwd", "*batchnorm*", "batchnorm", "BatchNorm", "batchnorm-analysis" },
	{ "NORM_fwd", "*", "norm", "Norm", "norm-analysis" },
	{ "NORM_bwd", "*", "norm", "Norm", "norm-analysis" },
	{ "RMSNorm", "*", "norm", "Norm", "norm-analysis" },
	{ "CONV_fwd", "*", "convolution", "Convolution", "convolution-analysis" },
	{ "CONV_bwd", "*", "convolution", "Convolution", "convolution-analysis" },
	{ "other", "*softmax*", "reduce", "reduce", "reduce-analysis" },
	{ "other", "*", "other", "other", "generic-op-analysis" },
};

const size_t tw_analysis_category_count = 24;
