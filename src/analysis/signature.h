/*
 * The arguments that distinguish operators of one name: shapes, types, strides, concrete inputs,
 * each as text in the notation of Python tuples, `((8, 16), ())`, as TraceLens writes them.
 */
#ifndef TW_ANALYSIS_SIGNATURE_H
#define TW_ANALYSIS_SIGNATURE_H

#include "store/trace.h"
#include "table/table.h"
#include "text/str.h"

struct tw_signature {
	uint32_t dims, types, strides, concrete; /* ids of a tw_signatures; 0: not recorded */
};

/* Texts of signatures; each distinct JSON text is rewritten once. */
struct tw_signatures {
	const struct trawl_trace *trace;
	struct tw_pool texts;
	uint32_t *of_text; /* by text id of the trace: id in `texts`, 0: not asked yet */
	struct tw_str scratch;
	bool lists; /* lists as lists, `[[8, 16], []]`, not as tuples */
};

/* What they take is left to the allocator's scope. */
int tw_signatures_init(struct tw_signatures *signatures, const struct trawl_trace *trace,
		       const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
/* The same as text ids of the trace: JSON as recorded, which compares without being rewritten. */
struct tw_signature tw_signature_texts(const struct trawl_trace *trace, uint64_t event);
struct tw_signature tw_signature_of(struct tw_signatures *signatures, uint64_t event);
struct tw_signature tw_signature_repr(struct tw_signatures *signatures,
				      const struct tw_signature *texts);
/* Out of memory at some time. */
bool tw_signatures_failed(const struct tw_signatures *signatures);

/* Shapes, types, strides and values into four columns, of which `column` is the first. */
void tw_set_signature(struct trawl_table *table, size_t row, size_t column,
		      const struct tw_pool *texts, const struct tw_signature *signature);

/* A JSON value in Python's notation: lists as tuples, text in quotes, None, True, False. */
void tw_python_repr(const char *json, size_t len, struct tw_str *out);
/* A text in Python's quotes. */
void tw_python_quote(const char *text, size_t len, struct tw_str *out);

#endif
