/* Attention of training that attention of inference falls back to. */
#ifndef TW_MODEL_FAMILIES_ATTENTION_H
#define TW_MODEL_FAMILIES_ATTENTION_H

#include "model/model.h"

/* Flash attention 3 without a cache of keys: a model's forward function. */
int tw_flash_attention_3(const struct tw_call *call, struct tw_work *work);

#endif
