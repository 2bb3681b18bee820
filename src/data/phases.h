/*
 * What the name of an annotation says of a step of an inference server: data/phases.tsv.
 */
#ifndef TW_DATA_PHASES_H
#define TW_DATA_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of data/phases.tsv. */
enum tw_phase { TW_PHASE_PREFILL, TW_PHASE_DECODE, TW_PHASE_MIXED, TW_PHASE_DIFFUSION, TW_PHASES };

extern const char *const tw_phase_names[TW_PHASES];

/* What is known of requests of a kind, and where it is in `value`: context first, then generation. */
enum tw_served {
	TW_SERVED,
	TW_SERVED_SQ,
	TW_SERVED_SK,
	TW_SERVED_SQSQ,
	TW_SERVED_SQSK,
	TW_SERVEDS
};

struct tw_served_step {
	const char *family;
	enum tw_phase phase;
	int64_t context[TW_SERVEDS], generation[TW_SERVEDS]; /* -1: the name does not say */
};

/* False, and *step is undefined, when no rule knows the name. */
bool tw_served_step_read(struct tw_served_step *step, const char *name, size_t len);

/* New tokens of all its requests, -1: not known. */
static inline int64_t tw_served_tokens(const struct tw_served_step *step)
{
	int64_t context = step->context[TW_SERVED_SQ], generation = step->generation[TW_SERVED_SQ];

	return context < 0 || generation < 0 ? -1 : context + generation;
}

/* A rule; phase TW_PHASES: by its requests.  `values` has one text per value, NULL: not there. */
struct tw_phase_rule {
	const char *pattern, *family;
	enum tw_phase phase;
	const char *values[2 * TW_SERVEDS];
};
extern const struct tw_phase_rule tw_phase_rules[];
extern const size_t tw_phase_rule_count;

#endif
