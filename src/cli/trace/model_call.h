/* The arguments of a call as a user writes them. */
#ifndef TW_CLI_TRACE_MODEL_CALL_H
#define TW_CLI_TRACE_MODEL_CALL_H

#include "model/call.h"
#include "trawl/error.h"

struct cli_call_arguments {
	const char *op, *dims, *strides, *dtype, *concrete; /* NULL: not given */
};

/* The call that they describe; TRAWL_EUSAGE with the option in the message. */
int cli_read_call(const struct cli_call_arguments *arguments, struct tw_call *call,
		  struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
