/* Kernels that Inductor compiles with Triton: models by a pattern of the name. */
#ifndef TW_MODEL_FAMILIES_TRITON_H
#define TW_MODEL_FAMILIES_TRITON_H

#include "model/model.h"

/* The model of "triton_{poi,red,per}_fused_<operations>_<number>", NULL: it is no such name. */
const struct tw_model *tw_triton_model_of(const char *op, size_t len);

#endif
