/*
 * Requests of an inference step, from the annotation around it.
 *
 *	vLLM	execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)
 *		execute_context_2(512)_generation_30(30)
 *	SGLang	step[MIXED bs=4 toks=515 c_sq=512 c_sk=512 c_sqsq=262144 c_sqsk=262144 g_sq=3 ...]
 *	ATOM	prefill[bs=1 tok=512 sk=512 sqsq=262144 sqsk=262144], decode[...]
 *
 * context: requests whose prompt is read; generation: those that go on writing.  sq is the sum
 * over requests of the new tokens q, sk that of the tokens k attended to, sqsq of q q, sqsk of
 * q k.  Where an annotation gives only requests and tokens, the sums that do not follow are NaN.
 */
#ifndef TW_MODEL_REQUESTS_H
#define TW_MODEL_REQUESTS_H

#include "model/call.h"

/* False, and requests->known too, when the text is no such annotation or says nothing of them. */
bool tw_requests_read(struct tw_requests *requests, const char *text, size_t len);

#endif
