#include "nsys/export.h"

#include "base/advice.h"
#include "base/alloc.h"
#include "text/str.h"

#include <string.h>

const char *const tw_kernel_columns[TW_KERNEL_COLUMNS] = {
	TW_GPU_COLUMN_NAMES,
	"demangledName",
	"shortName",
	"mangledName",
	"graphNodeId",
	"registersPerThread",
	"gridX",
	"gridY",
	"gridZ",
	"blockX",
	"blockY",
	"blockZ",
	"staticSharedMemory",
	"dynamicSharedMemory",
};

const char *const tw_call_columns[TW_CALL_COLUMNS] = {
	"start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue",
};

const char *const tw_nvtx_columns[TW_NVTX_COLUMNS] = {
	"start",      "end",	     "eventType",  "globalTid",	  "textId",
	"text",	      "domainId",    "jsonTextId", "int64Value",  "uint64Value",
	"int32Value", "uint32Value", "jsonText",   "doubleValue", "floatValue",
};

const char *tw_nsys_text(struct tw_database *database, int64_t id, size_t *len)
{
	return tw_database_text(database, TW_NSYS_TEXTS, "value", id, len);
}

const char *tw_nvtx_text(struct tw_database *database, const struct tw_scan *scan, size_t *len)
{
	const char *text = tw_scan_text(scan, TW_NVTX_TEXT, len);
	int64_t id;

	if (!text && tw_scan_integer(scan, TW_NVTX_TEXT_ID, &id) == TW_VALUE_GIVEN)
		text = tw_nsys_text(database, id, len);
	return text;
}

/* ---- what a database is, by the names of its tables */

static bool has_prefix(const struct tw_database *db, const char *prefix)
{
	size_t i;

	for (i = 0; i < tw_database_tables(db); i++)
		if (!strncmp(tw_database_table(db, i), prefix, strlen(prefix)))
			return true;
	return false;
}

/* Some of its tables, so that who gave the wrong file sees which one it is. */
static int fail_other(const struct tw_database *db, const struct trawl_allocator *allocator,
		      struct trawl_error *err)
{
	size_t count = tw_database_tables(db), i;
	struct tw_str list;
	int status;

	tw_str_init(&list, allocator);
	for (i = 0; i < count && i < 5; i++)
		tw_str_addf(&list, "%s%.40s", i ? ", " : "", tw_database_table(db, i));
	if (count > i)
		tw_str_addf(&list, " and %zu more", count - i);
	if (list.failed)
		status = tw_no_memory(err);
	else
		status = trawl_error_set(err, TRAWL_EFORMAT,
					 "SQLite database, but not an Nsight Systems export (%s%s)",
					 count ? "tables: " : "no tables", count ? list.ptr : "");
	tw_str_release(&list);
	return status;
}

int tw_nsys_recognise(const struct tw_database *db, const struct trawl_allocator *allocator,
		      struct trawl_error *err)
{
	static const char *const marks[] = { "META_DATA_EXPORT", "EXPORT_META_DATA", "NVTX_EVENTS",
					     "ANALYSIS_DETAILS", "TARGET_INFO_SESSION_START_TIME" };
	size_t i;

	if (has_prefix(db, "rocpd_"))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "rocpd database, not an nsys export" TW_ADVICE_ROCPROF);
	if (tw_database_has_table(db, "StringTable"))
		return trawl_error_set(err, TRAWL_EFORMAT, "nvprof database, not an nsys export");
	if (tw_database_has_table(db, "StringIds") && has_prefix(db, "CUPTI_ACTIVITY_KIND_"))
		return 0;
	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (tw_database_has_table(db, marks[i]))
			return 0;
	return fail_other(db, allocator, err);
}
