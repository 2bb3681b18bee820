/* Numbers that decide a word or a row that users read: data/limits.tsv has them, with their sources. */
#ifndef TW_DATA_LIMITS_H
#define TW_DATA_LIMITS_H

#include "data/generated/limits.gen.h"

#define TW_LIMIT_AS_TEXT(number) #number
/* The digits of a limit, inside a string. */
#define TW_LIMIT_TEXT(limit) TW_LIMIT_AS_TEXT(limit)

#endif
