/*
 * Databases as exports of Nsight Systems: read, derived, reported.  The first byte chooses what is
 * asked for, and how the rest is meant: as the bytes of a database, whose mark is put right, or as
 * values for the rows of one that is made here, so that what stands in rows is varied too.
 * Nothing may crash, no duration is negative, the tables account for all the time, and parts of
 * any size read the same.
 */
#include "derive/derived.h"
#include "trace/reader.h"
#include "trawl/report.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* ---- the file */

static char path[64];
static int file = -1;

static void remove_file(void)
{
	unlink(path);
}

static void open_file(void)
{
	if (file >= 0)
		return;
	snprintf(path, sizeof(path), "%s/fuzz_nsys_XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	file = mkstemp(path);
	check(file >= 0);
	atexit(remove_file);
}

static void write_bytes(const uint8_t *data, size_t size)
{
	static const char mark[16] = "SQLite format 3";

	check(!ftruncate(file, 0) && pwrite(file, data, size, 0) == (ssize_t)size);
	if (size >= sizeof(mark))
		check(pwrite(file, mark, sizeof(mark), 0) == (ssize_t)sizeof(mark));
}

/* ---- a database of given values */

struct values {
	const uint8_t *p, *end;
};

static unsigned take_byte(struct values *v)
{
	return v->p < v->end ? *v->p++ : 0;
}

static int64_t take_integer(struct values *v, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | take_byte(v);
	return (int64_t)value;
}

static void bind_value(sqlite3_stmt *statement, int place, struct values *v)
{
	static const int64_t odd[] = { INT64_MIN,  INT64_MAX,	  -1,
				       UINT32_MAX, INT64_MAX / 4, (int64_t)1 << 48 };
	unsigned kind = take_byte(v), len;

	switch (kind % 16) {
	case 0:
		sqlite3_bind_null(statement, place);
		break;
	case 1:
		len = kind >> 4;
		if ((size_t)(v->end - v->p) < len)
			len = (unsigned)(v->end - v->p);
		sqlite3_bind_text(statement, place, (const char *)v->p, (int)len, SQLITE_TRANSIENT);
		v->p += len;
		break;
	case 2:
		sqlite3_bind_double(statement, place, (double)take_integer(v, 2) / 2);
		break;
	case 3:
		sqlite3_bind_zeroblob(statement, place, (int)(kind >> 4));
		break;
	case 4:
		sqlite3_bind_int64(statement, place, odd[(kind >> 4) % 6]);
		break;
	case 5:
		sqlite3_bind_int64(statement, place, take_integer(v, 8));
		break;
	case 6:
	case 7:
		sqlite3_bind_int64(statement, place, take_integer(v, 2));
		break;
	default:
		sqlite3_bind_int64(statement, place, kind >> 4);
	}
}

#define GPU "start, end, deviceId, contextId, greenContextId, streamId, correlationId, globalPid"

static const struct {
	const char *create, *insert;
	int count;
} tables[] = {
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(" GPU
	  ", demangledName, shortName, gridX, gridY, "
	  "gridZ, staticSharedMemory, dynamicSharedMemory)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", 15 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(" GPU ", bytes, copyKind, srcKind, dstKind)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", 12 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(" GPU ", bytes, memKind)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(?,?,?,?,?,?,?,?,?,?)", 10 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(" GPU ", syncType)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(?,?,?,?,?,?,?,?,?)", 9 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(" GPU ", graphId)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(?,?,?,?,?,?,?,?,?)", 9 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, "
	  "correlationId, nameId, returnValue)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,?,?,?,?,?)", 7 },
	{ "CREATE TABLE NVTX_EVENTS(start, end, eventType, globalTid, text, textId, domainId, "
	  "jsonText, jsonTextId, int64Value, uint64Value, doubleValue)",
	  "INSERT INTO NVTX_EVENTS VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", 12 },
	{ "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value)",
	  "INSERT OR IGNORE INTO StringIds VALUES(?,?)", 2 },
	{ "CREATE TABLE TARGET_INFO_GPU(id, totalMemory, name)",
	  "INSERT INTO TARGET_INFO_GPU VALUES(?,?,?)", 3 },
	{ "CREATE TABLE TARGET_INFO_CUDA_DEVICE(pid, cudaId, gpuId)",
	  "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(?,?,?)", 3 },
	{ "CREATE TABLE PROCESSES(globalPid, name)", "INSERT INTO PROCESSES VALUES(?,?)", 2 },
	{ "CREATE TABLE ThreadNames(globalTid, nameId)", "INSERT INTO ThreadNames VALUES(?,?)", 2 },
	{ "CREATE TABLE DIAGNOSTIC_EVENT(text)", "INSERT INTO DIAGNOSTIC_EVENT VALUES(?)", 1 },
	{ "CREATE TABLE META_DATA_EXPORT(name, value)", "INSERT INTO META_DATA_EXPORT VALUES(?,?)",
	  2 },
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

/* A nibble chooses the table; NVTX texts and types are drawn from likely ones, too. */
static void make_rows(sqlite3 *db, struct values *v)
{
	static const char *const texts[] = { "aten::mm, seq = 5, op_id = 7, sizes = [[2, 3]]",
					     "ProfilerStep#1",
					     "x, seq = , op_id = 99999999999999999999",
					     ", seq = 1" };
	static const int types[] = { 59, 60, 75, 34, 39, 70 };
	sqlite3_stmt *statements[TABLES] = { NULL };
	size_t i;
	int place;

	while (v->p < v->end) {
		unsigned choice = take_byte(v);

		i = choice % TABLES;
		if (!statements[i])
			check(!sqlite3_prepare_v2(db, tables[i].insert, -1, &statements[i], NULL));
		sqlite3_reset(statements[i]);
		for (place = 1; place <= tables[i].count; place++)
			bind_value(statements[i], place, v);
		if (i == 6 && choice >= 64)
			sqlite3_bind_int(statements[i], 3, types[choice / 16 % 6]);
		if (i == 6 && choice >= 128)
			sqlite3_bind_text(statements[i], 5, texts[choice / 32 % 4], -1,
					  SQLITE_STATIC);
		sqlite3_step(statements[i]);
	}
	for (i = 0; i < TABLES; i++)
		sqlite3_finalize(statements[i]);
}

static void write_rows(const uint8_t *data, size_t size)
{
	struct values v = { data, data + size };
	sqlite3 *db = NULL;
	size_t i;

	check(!ftruncate(file, 0) && !sqlite3_open(path, &db));
	sqlite3_exec(db,
		     "PRAGMA page_size=512; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN",
		     NULL, NULL, NULL);
	for (i = 0; i < TABLES; i++)
		check(!sqlite3_exec(db, tables[i].create, NULL, NULL, NULL));
	make_rows(db, &v);
	check(!sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
	sqlite3_close(db);
}

/* ---- what must hold */

static void check_trace(const struct trawl_trace *trace)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		check(trace->events.phase[i] != 'X' ||
		      (trace->events.dur_ns[i] >= 0 &&
		       trace->events.start_ns[i] != TRAWL_TIME_NONE));
}

/* The integer in `column` of the row that begins with `name`, 0 when there is none. */
static int64_t value_of(const struct trawl_report *report, const char *table_name, const char *name)
{
	const struct trawl_table *table = trawl_report_find(report, table_name);
	size_t row;

	for (row = 0; table && row < trawl_table_rows(table); row++) {
		struct trawl_cell cell = trawl_table_cell(table, row, 0);

		if (cell.text_len == strlen(name) && !memcmp(cell.text, name, cell.text_len))
			return trawl_table_cell(table, row, 1).integer;
	}
	return 0;
}

static void use_trace(const struct trawl_trace *trace, unsigned choice)
{
	struct trawl_report_options options;
	struct trawl_report *report;

	check_trace(trace);
	trawl_report_options_init(&options);
	options.threads = 1;
	options.clip_overruns = choice & 1;
	options.linked_only = choice & 2;
	if (trawl_report_new(&report, trace, &options, NULL))
		return;
	check(value_of(report, "reconciliation", "difference") == 0);
	check(value_of(report, "gpu_timeline", "busy_time") +
		      value_of(report, "gpu_timeline", "idle_time") ==
	      value_of(report, "gpu_timeline", "total_time"));
	trawl_report_free(report);
}

static void check_same(const struct trawl_trace *a, const struct trawl_trace *b)
{
	uint64_t i;

	check(a->events.count == b->events.count && a->track_count == b->track_count &&
	      a->texts.count == b->texts.count);
	for (i = 0; i < a->events.count; i++)
		check(a->events.phase[i] == b->events.phase[i] &&
		      a->events.start_ns[i] == b->events.start_ns[i] &&
		      a->events.dur_ns[i] == b->events.dur_ns[i] &&
		      a->events.name[i] == b->events.name[i] &&
		      a->events.track[i] == b->events.track[i] &&
		      a->events.correlation[i] == b->events.correlation[i] &&
		      !a->events.args[i] == !b->events.args[i]);
	for (i = 0; i < a->track_count; i++)
		check(!memcmp(&a->tracks[i], &b->tracks[i], sizeof(a->tracks[i])));
	for (i = 0; i < TW_DEFECT_COUNT; i++)
		check(a->quality.kinds[i].count == b->quality.kinds[i].count &&
		      a->quality.kinds[i].offset == b->quality.kinds[i].offset);
}

static struct trawl_trace *read_file(size_t block_size)
{
	const struct trawl_read_options options = { .allocator = trawl_allocator_default(),
						    .threads = 1,
						    .block_size = block_size };
	struct trawl_trace *trace = tw_trace_new(options.allocator);

	check(trace != NULL);
	if (!tw_nsys_read(trace, path, &options, NULL) && !tw_trace_finish(trace))
		return trace;
	trawl_trace_free(trace);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trawl_trace *trace, *other;

	if (size < 2)
		return 0;
	open_file();
	if (data[0] & 0x80)
		write_rows(data + 1, size - 1);
	else
		write_bytes(data + 1, size - 1);
	trace = read_file(0);
	/* Where a table is damaged more of it is found by looking at more places. */
	if (trace && (data[0] & 0x80)) {
		other = read_file((data[0] & 0x40) ? 1 : 96);
		check(other != NULL);
		check_same(trace, other);
		trawl_trace_free(other);
	}
	if (trace)
		use_trace(trace, data[0]);
	trawl_trace_free(trace);
	return 0;
}
