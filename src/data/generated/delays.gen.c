/* Made from data/delays.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_delays tw_delays[] = {
	[TW_VENDOR_NVIDIA] = { .launch = 5000, .stream = 900, .event = 1000, .wait = 1000, .inferred = 1000, .sync = 2000, .host = 2000, .duration = 4000, .handover = 20000, .late = 8000, .fetch = 80000, .fetch_waits = 1000000, .depth = 1024 },
	[TW_VENDOR_AMD] = { .launch = 9000, .stream = 1500, .event = 1500, .wait = 1500, .inferred = 1500, .sync = 4000, .host = 2000, .duration = 5000, .handover = 20000, .late = 40000, .fetch = 80000, .fetch_waits = 1000000, .depth = 0 },
};
