#include "db/recognise.h"

#include "base/advice.h"
#include "base/alloc.h"
#include "text/str.h"

#include <string.h>

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
		status = trawl_error_set(
			err, TRAWL_EFORMAT,
			"an SQLite database, but no export of Nsight Systems (%s%s)",
			count ? "its tables: " : "it has no tables", count ? list.ptr : "");
	tw_str_release(&list);
	return status;
}

int tw_recognise_nsys(const struct tw_database *db, const struct trawl_allocator *allocator,
		      struct trawl_error *err)
{
	static const char *const marks[] = { "META_DATA_EXPORT", "EXPORT_META_DATA", "NVTX_EVENTS",
					     "ANALYSIS_DETAILS", "TARGET_INFO_SESSION_START_TIME" };
	size_t i;

	if (has_prefix(db, "rocpd_"))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "a rocpd database, not an nsys export" TW_ADVICE_ROCPROF);
	if (tw_database_has_table(db, "StringTable"))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "a database of nvprof, not an nsys export");
	if (tw_database_has_table(db, "StringIds") && has_prefix(db, "CUPTI_ACTIVITY_KIND_"))
		return 0;
	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (tw_database_has_table(db, marks[i]))
			return 0;
	return fail_other(db, allocator, err);
}
