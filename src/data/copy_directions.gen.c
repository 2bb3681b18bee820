/* Made from data/copy_directions.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_copy_name tw_copy_names[] = {
	{ "*dtoh*", TW_COPY_D2H },
	{ "*device -> host*", TW_COPY_D2H },
	{ "*devicetohost*", TW_COPY_D2H },
	{ "*device_to_host*", TW_COPY_D2H },
	{ "*htod*", TW_COPY_H2D },
	{ "*host -> device*", TW_COPY_H2D },
	{ "*hosttodevice*", TW_COPY_H2D },
	{ "*host_to_device*", TW_COPY_H2D },
	{ "*dtod*", TW_COPY_D2D },
	{ "*ptop*", TW_COPY_D2D },
	{ "*device -> device*", TW_COPY_D2D },
	{ "*devicetodevice*", TW_COPY_D2D },
	{ "*device_to_device*", TW_COPY_D2D },
};

const size_t tw_copy_name_count = 13;
