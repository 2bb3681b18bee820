/* Made from data/libraries.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_library tw_libraries[] = {
	{ false, "*aiter::*", "AITER" },
	{ false, "*rocm_aiter*", "AITER" },
	{ false, "*fbgemm*", "FBGEMM" },
	{ false, "*miopen*", "MIOpen" },
	{ false, "*triton*", "Triton" },
	{ true, "*aiter*", "AITER" },
	{ true, "*ck_tile::*", "CK" },
	{ true, "*ck_tile6kentry*", "CK" },
	{ true, "*fmhafwd*", "CK" },
	{ true, "*fmhabwd*", "CK" },
	{ true, "*cijk_*", "Tensile" },
	{ true, "*wvsplitk*", "rocBLAS" },
	{ true, "*pytorch_flash::*", "FlashAttention" },
	{ true, "*cutlass*", "vendor GEMM library" },
	{ true, "*cublas*", "vendor GEMM library" },
	{ true, "*xmma_gemm*", "vendor GEMM library" },
	{ true, "nvjet*", "vendor GEMM library" },
	{ true, "*cudnn*", "DNN primitives" },
	{ true, "*splitkreduce*", "rocBLAS" },
	{ true, "*rocprim::*", "rocPRIM" },
	{ true, "*triton_*", "Triton" },
	{ true, "*void at::native::*", "PyTorch Native" },
	{ true, "*igemm_*_gtc*", "MIOpen" },
	{ true, "*batched_transpose_*", "MIOpen" },
	{ true, "*subtensorop*", "MIOpen" },
};

const size_t tw_library_count = 25;
