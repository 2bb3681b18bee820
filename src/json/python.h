/*
 * Literals of Python as JSON: tuples and lists become arrays, text in either quotes strings; None,
 * True and False are null, true and false.  Cells of the tables hold such texts, `((8, 16), ())`.
 */
#ifndef TW_JSON_PYTHON_H
#define TW_JSON_PYTHON_H

#include "text/str.h"

/*
 * Appends the JSON.  Numbers stay as they are written, but for "2.", which is "2.0"; inf and nan,
 * which JSON lacks, become strings.  What is not a literal comes out as invalid JSON, an error of the parser.
 */
void tw_json_from_python(const char *text, size_t len, struct tw_str *out);

#endif
