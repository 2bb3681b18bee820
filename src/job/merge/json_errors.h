/* What Python's json says of a text that it cannot read. */
#ifndef TW_JOB_MERGE_JSON_ERRORS_H
#define TW_JOB_MERGE_JSON_ERRORS_H

#include "text/str.h"

/* Appends "Expecting value: line 1 column 1 (char 0)"; false: it can be read. */
bool tw_python_complaint(const char *text, size_t len, struct tw_str *out);

#endif
