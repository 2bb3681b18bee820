/* Made from data/dtypes.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_dtype tw_dtypes[] = {
	{ "float", 4 },
	{ "double", 8 },
	{ "half", 2 },
	{ "bfloat16", 2 },
	{ "int", 4 },
	{ "long", 8 },
	{ "short", 2 },
	{ "char", 1 },
	{ "byte", 1 },
	{ "bool", 1 },
	{ "float8_e4m3fn", 1 },
	{ "float8_e4m3fnuz", 1 },
	{ "float8_e5m2", 1 },
	{ "float8_e5m2fnuz", 1 },
	{ "float8_e8m0fnu", 1 },
	{ "float4_e2m1fn_x2", 1 },
	{ "uint16", 2 },
	{ "uint32", 4 },
	{ "uint64", 8 },
	{ "complexfloat", 8 },
	{ "complexdouble", 16 },
	{ "complexhalf", 4 },
};

const size_t tw_dtype_count = 22;
