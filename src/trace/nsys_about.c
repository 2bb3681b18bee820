/* Metadata of an export. */
#include "trace/nsys.h"

#include "data/tables.h"

#include <stdlib.h>
#include <string.h>

/* ---- small tables */

int tw_export_each(struct tw_export_part *part, const char *table, const char *const *columns,
		   unsigned count, uint32_t integers, int (*take)(struct tw_export_part *part))
{
	int status = tw_scan_open(&part->rows.scan, part->rows.database, table, columns, count,
				  INT64_MIN, INT64_MAX, &part->rows.error);
	uint32_t odd;

	while (!status && (status = tw_scan_next(part->rows.scan, &part->rows.error)) == 1) {
		part->rows.given =
			tw_scan_integers(part->rows.scan, integers, part->rows.values, &odd);
		status = take(part);
	}
	if (status == TRAWL_EFORMAT) {
		tw_quality_add_row(&part->trace->quality, TW_DEFECT_table_damaged, 1, table, -1);
		status = 0;
	}
	tw_scan_close(part->rows.scan);
	part->rows.scan = NULL;
	return status ? -1 : 0;
}

/* ---- names of processes and threads */

/* The track of a thread, or any one of a process; UINT32_MAX: nothing of it is in the trace. */
static uint32_t track_of(struct tw_export_part *part, int64_t global, bool process)
{
	struct tw_track track = { .device = TW_CODE_NONE, .stream = TW_CODE_NONE };
	uint32_t t;

	track.pid = tw_code_from_integer(part->trace, tw_nsys_process(global));
	if (!process) {
		track.tid = tw_code_from_integer(part->trace, tw_nsys_tid(global));
		return tw_trace_find_track(part->trace, &track);
	}
	for (t = 0; t < part->trace->track_count; t++)
		if (part->trace->tracks[t].pid == track.pid)
			return t;
	return UINT32_MAX;
}

static int take_process(struct tw_export_part *part)
{
	size_t len;
	const char *name = tw_scan_text(part->rows.scan, 1, &len);
	uint32_t track;

	if (!name || !tw_export_has(part, 0))
		return 0;
	track = track_of(part, part->rows.values[0], true);
	return track == UINT32_MAX ? 0 :
				     tw_export_keep_name(part, TW_KEY_process_name, track,
							 tw_export_intern(part, name, len));
}

static int take_thread(struct tw_export_part *part)
{
	uint32_t track, name;

	if (!tw_export_has(part, 0) || !tw_export_has(part, 1))
		return 0;
	track = track_of(part, part->rows.values[0], false);
	if (track == UINT32_MAX)
		return 0;
	name = tw_export_pool_text(part, part->rows.values[1]);
	return name ? tw_export_keep_name(part, TW_KEY_thread_name, track, name) : 0;
}

static int take_names(struct tw_export_part *part)
{
	static const char *const processes[] = { "globalPid", "name" };
	static const char *const threads[] = { "globalTid", "nameId" };

	return tw_export_each(part, "PROCESSES", processes, 2, 1, take_process) ||
			       tw_export_each(part, "ThreadNames", threads, 2, 3, take_thread) ?
		       -1 :
		       0;
}

/* ---- version, complaints, what is absent */

static int take_version(struct tw_export_part *part)
{
	static const char wanted[] = "EXPORT_PRODUCT_VERSION";
	size_t name_len, len;
	const char *name = tw_scan_text(part->rows.scan, 0, &name_len), *value;
	uint32_t id;

	if (!name || name_len != sizeof(wanted) - 1 || memcmp(name, wanted, name_len))
		return 0;
	value = tw_scan_text(part->rows.scan, 1, &len);
	id = value ? tw_export_intern(part, value, len) : 0;
	return id ? tw_trace_add_field(part->trace,
				       tw_pool_intern_cstr(&part->trace->texts, "nsys version"),
				       id) :
		    0;
}

/* When the session began, which times count from. */
static int take_begin(struct tw_export_part *part)
{
	if (tw_export_has(part, 0) && part->rows.values[0] > 0)
		part->trace->base_time_ns = part->rows.values[0];
	return 0;
}

/* Messages of nsys about lost events. */
static bool is_complaint(const char *text, size_t len)
{
	static const char *const patterns[] = { "* lost*", "*dropped*", "*not all*collected*" };
	size_t i;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (tw_name_matches(patterns[i], text, len))
			return true;
	return false;
}

static int take_message(struct tw_export_part *part)
{
	size_t len;
	const char *text = tw_scan_text(part->rows.scan, 0, &len);

	if (text && is_complaint(text, len))
		tw_quality_add_row(&part->trace->quality, TW_DEFECT_events_lost, 1,
				   "DIAGNOSTIC_EVENT", tw_scan_rowid(part->rows.scan));
	return 0;
}

/* Absent or empty: nothing was captured, which is no defect. */
static bool is_empty(struct tw_export_part *part, const struct tw_export_table *table)
{
	int64_t first, last;

	return tw_database_range(part->rows.database, table->reader.table, &first, &last,
				 &part->rows.error) == 0;
}

static void note_absent(struct tw_export_part *part)
{
	struct tw_quality *quality = &part->trace->quality;

	if (is_empty(part, &tw_export_kernel) && is_empty(part, &tw_export_graph))
		tw_quality_add(quality, TW_DEFECT_no_kernels, 1, -1, -1);
	if (is_empty(part, &tw_export_runtime))
		tw_quality_add(quality, TW_DEFECT_no_calls, 1, -1, -1);
	if (is_empty(part, &tw_export_memcpy))
		tw_quality_add(quality, TW_DEFECT_no_copies, 1, -1, -1);
	if (is_empty(part, &tw_export_nvtx))
		tw_quality_add(quality, TW_DEFECT_no_ranges, 1, -1, -1);
}

/* Tables of everything but events. */
static bool is_about_others(const char *table)
{
	static const char *const patterns[] = { "enum_*",	 "target_info*",    "meta_data*",
						"*meta_data",	 "stringids",	    "threadnames",
						"process*",	 "analysis_*",	    "*_callchains",
						"nvtx_payload*", "diagnostic_event" };
	size_t i;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (tw_name_matches(patterns[i], table, strlen(table)))
			return true;
	return false;
}

/* For who asks for a report of an export without anything to report. */
static int tell_what_it_holds(struct tw_export_part *part)
{
	const struct tw_database *db = part->rows.database;
	size_t count = tw_database_tables(db), named = 0, i;
	struct tw_pool *texts = &part->trace->texts;
	int64_t first, last;

	tw_str_clear(&part->scratch);
	for (i = 0; i < count && named < 8; i++) {
		const char *table = tw_database_table(db, i);

		if (!is_about_others(table) &&
		    tw_database_rowids(part->rows.database, table, &first, &last))
			tw_str_addf(&part->scratch, "%s%.60s", named++ ? ", " : "", table);
	}
	if (part->scratch.failed)
		return -1;
	part->trace->holds =
		tw_pool_text(texts,
			     tw_pool_intern(texts, part->scratch.ptr ? part->scratch.ptr : "",
					    part->scratch.len),
			     NULL);
	return 0;
}

int tw_export_about(struct tw_export_part *part)
{
	static const char *const pair[] = { "name", "value" };
	static const char *const message[] = { "text" };
	static const char *const begin[] = { "utcEpochNs" };

	if (tw_export_each(part, "META_DATA_EXPORT", pair, 2, 0, take_version) ||
	    tw_export_each(part, "EXPORT_META_DATA", pair, 2, 0, take_version) ||
	    tw_export_each(part, "TARGET_INFO_SESSION_START_TIME", begin, 1, 1, take_begin) ||
	    tw_export_each(part, "DIAGNOSTIC_EVENT", message, 1, 0, take_message) ||
	    take_names(part))
		return -1;
	note_absent(part);
	if (!part->trace->events.count && tell_what_it_holds(part))
		return -1;
	return part->trace->texts.failed ? -1 : 0;
}
