/*
 * Cells of a report in Python's notation, such as "((8, 16), ())" and "{'M': 8, 'bias': True}", as a
 * JSON tree: tuples are arrays, None is null, a word without quotes is a string.
 */
#ifndef TW_STANDALONE_LITERAL_H
#define TW_STANDALONE_LITERAL_H

#include "json/value.h"

/*
 * The tree lies in the arena.  A null value for "" and for what is no such notation; NULL when out
 * of memory.
 */
const struct tw_json_value *tw_literal_parse(struct tw_arena *arena, const char *text);

#endif
