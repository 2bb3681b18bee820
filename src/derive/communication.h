/*
 * Which GPU work is communication, and by what evidence: the one decision that all tables use.
 */
#ifndef TW_DERIVE_COMMUNICATION_H
#define TW_DERIVE_COMMUNICATION_H

#include "derive/derived.h"

/* The strongest first. */
enum tw_evidence {
	TW_EVIDENCE_NONE,
	TW_EVIDENCE_ARGUMENTS, /* of a collective, on the event itself */
	TW_EVIDENCE_OPERATION, /* that launched it */
	TW_EVIDENCE_NAME,
	TW_EVIDENCES,
};

struct tw_communication {
	enum tw_evidence evidence; /* TW_EVIDENCE_NONE: it is not communication */
	uint32_t operation;	   /* event of the operation that launched it, TW_NONE: none */
	/* The event above it that has the collective's arguments, TW_NONE: none has. */
	uint32_t recorded;
};

/* Of a GPU event, once derived. */
struct tw_communication tw_communication_of(const struct tw_derived *d, uint64_t g);

/* "arguments", "operation", "kernel name"; "" for none. */
const char *tw_evidence_name(enum tw_evidence evidence);

#endif
