/* Made from data/element_types.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_element_type tw_element_types[] = {
	{ "OpaqueType<", TW_ELEMENT_SIZE },
	{ "CatArrayBatchedCopy", TW_ELEMENT_TYPE },
	{ "CopyFunctor<", TW_ELEMENT_TYPES },
	{ "Functor<", TW_ELEMENT_TYPE },
};

const size_t tw_element_type_count = 4;
