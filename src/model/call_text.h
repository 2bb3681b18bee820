/* The arguments of a call as a user writes them. */
#ifndef TW_MODEL_CALL_TEXT_H
#define TW_MODEL_CALL_TEXT_H

#include "base/arena.h"
#include "model/call.h"
#include "trawl/model.h"

/*
 * The call that they describe, its texts in `arena`; TRAWL_EUSAGE with the option in the message.
 * `err` is needed.
 */
int tw_call_of_text(const struct trawl_call *text, struct tw_arena *arena, struct tw_call *call,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
