/* Made from data/nsys_numbers.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

_Static_assert(18 <= TW_NSYS_NAME_BYTES, "TW_NSYS_NAME_BYTES is too small for the data");

const struct tw_nsys_number tw_nsys_numbers[] = {
	{ TW_NSYS_COPY, 0, "Unknown" },
	{ TW_NSYS_COPY, 1, "HtoD" },
	{ TW_NSYS_COPY, 2, "DtoH" },
	{ TW_NSYS_COPY, 3, "HtoA" },
	{ TW_NSYS_COPY, 4, "AtoH" },
	{ TW_NSYS_COPY, 5, "AtoA" },
	{ TW_NSYS_COPY, 6, "AtoD" },
	{ TW_NSYS_COPY, 7, "DtoA" },
	{ TW_NSYS_COPY, 8, "DtoD" },
	{ TW_NSYS_COPY, 9, "HtoH" },
	{ TW_NSYS_COPY, 10, "PtoP" },
	{ TW_NSYS_COPY, 11, "Unified HtoD" },
	{ TW_NSYS_COPY, 12, "Unified DtoH" },
	{ TW_NSYS_COPY, 13, "Unified DtoD" },
	{ TW_NSYS_MEMORY, 0, "Pageable" },
	{ TW_NSYS_MEMORY, 1, "Pinned" },
	{ TW_NSYS_MEMORY, 2, "Device" },
	{ TW_NSYS_MEMORY, 3, "Array" },
	{ TW_NSYS_MEMORY, 4, "Managed" },
	{ TW_NSYS_MEMORY, 5, "Device Static" },
	{ TW_NSYS_MEMORY, 6, "Managed Static" },
	{ TW_NSYS_MEMORY, 7, "Unknown" },
	{ TW_NSYS_SYNC, 1, "Event Sync" },
	{ TW_NSYS_SYNC, 2, "Stream Wait Event" },
	{ TW_NSYS_SYNC, 3, "Stream Sync" },
	{ TW_NSYS_SYNC, 4, "Context Sync" },
};

const size_t tw_nsys_number_count = 26;
