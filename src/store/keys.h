/* Texts that the code asks for by name. */
#ifndef TW_STORE_KEYS_H
#define TW_STORE_KEYS_H

/*
 * They have the same id in every pool: the first ones.  As argument keys these ids cost four bytes
 * less than others.
 */
enum tw_key {
	TW_KEY_NONE,
#define TW_KEY(id, text) TW_KEY_##id,
#include "store/keys.def"
#undef TW_KEY
	TW_KEY_COUNT
};

#endif
