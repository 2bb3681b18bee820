/* Made from data/copy_directions.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_copy_name tw_copy_names[] = {
	{ "*dtoh*", TW_COPY_D2H, false },
	{ "*device -> host*", TW_COPY_D2H, false },
	{ "*devicetohost*", TW_COPY_D2H, false },
	{ "*device_to_host*", TW_COPY_D2H, false },
	{ "*htod*", TW_COPY_H2D, false },
	{ "*host -> device*", TW_COPY_H2D, false },
	{ "*hosttodevice*", TW_COPY_H2D, false },
	{ "*host_to_device*", TW_COPY_H2D, false },
	{ "*peertopeer*", TW_COPY_D2D, true },
	{ "*dtod*", TW_COPY_D2D, false },
	{ "*ptop*", TW_COPY_D2D, true },
	{ "*device -> device*", TW_COPY_D2D, false },
	{ "*devicetodevice*", TW_COPY_D2D, false },
	{ "*device_to_device*", TW_COPY_D2D, false },
};

const size_t tw_copy_name_count = 14;
