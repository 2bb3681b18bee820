/* What is in an input, and the file that is made of it. */
#include "made_export.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the file */

static char path[64];
static int file = -1;

void check(bool holds)
{
	if (!holds)
		abort();
}

/* Memory is given back at once: most of the time went into pages that were new each time. */
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}

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

const char *made_export_bytes(const uint8_t *data, size_t size)
{
	static const char mark[16] = "SQLite format 3";

	open_file();
	check(!ftruncate(file, 0) && pwrite(file, data, size, 0) == (ssize_t)size);
	if (size >= sizeof(mark))
		check(pwrite(file, mark, sizeof(mark), 0) == (ssize_t)sizeof(mark));
	return path;
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

#define GPU \
	"row INTEGER PRIMARY KEY, start, end, deviceId, contextId, greenContextId, streamId, correlationId, globalPid"

static const struct {
	const char *create, *insert;
	int count; /* of values; those of events have the row before them */
} tables[] = {
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(" GPU
	  ", demangledName, shortName, gridX, gridY, "
	  "gridZ, staticSharedMemory, dynamicSharedMemory)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", 15 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(" GPU ", bytes, copyKind, srcKind, dstKind)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", 12 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(" GPU ", bytes, memKind)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(?,?,?,?,?,?,?,?,?,?,?)", 10 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(" GPU ", syncType)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(?,?,?,?,?,?,?,?,?,?)", 9 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(" GPU ", graphId)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(?,?,?,?,?,?,?,?,?,?)", 9 },
	{ "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(row INTEGER PRIMARY KEY, start, end, eventClass, globalTid, "
	  "correlationId, nameId, returnValue)",
	  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,?,?,?,?,?,?)", 7 },
	{ "CREATE TABLE NVTX_EVENTS(row INTEGER PRIMARY KEY, start, end, eventType, globalTid, text, textId, domainId, "
	  "jsonText, jsonTextId, int64Value, uint64Value, doubleValue)",
	  "INSERT INTO NVTX_EVENTS VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", 12 },
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
#define EVENTS 7

/* Open for all inputs, in memory, and without rows between them: tables need not be made again. */
static sqlite3 *made;
static sqlite3_stmt *statements[TABLES];

static void close_made(void)
{
	size_t i;

	for (i = 0; i < TABLES; i++)
		sqlite3_finalize(statements[i]);
	sqlite3_close(made);
}

static void open_made(void)
{
	size_t i;

	if (made)
		return;
	check(!sqlite3_open(":memory:", &made));
	atexit(close_made);
	sqlite3_exec(made, "PRAGMA page_size=512", NULL, NULL, NULL);
	for (i = 0; i < TABLES; i++)
		check(!sqlite3_exec(made, tables[i].create, NULL, NULL, NULL) &&
		      !sqlite3_prepare_v2(made, tables[i].insert, -1, &statements[i], NULL));
}

/* A nibble chooses the table; NVTX texts and types are drawn from likely ones, too. */
static void make_rows(struct values *v, int64_t step)
{
	static const char *const texts[] = {
		"aten::mm, seq = 5, op_id = 7, sizes = [[2, 3]]",
		"ProfilerStep#1",
		"x, seq = , op_id = 99999999999999999999",
		", seq = 1",
		"rank=3; pp=1/2 dp=0/1",
		"forward chunk 1 backward chunk 2",
		"layer01.stage2_f",
		"pipeline send/recv",
	};
	static const int types[] = { 59, 60, 75, 34, 39, 70 };
	int64_t row = 0;
	int place;

	while (v->p < v->end) {
		unsigned choice = take_byte(v);
		size_t i = choice % TABLES;
		int first = i < EVENTS ? 2 : 1;

		if (i < EVENTS)
			sqlite3_bind_int64(statements[i], 1, ++row * step);
		for (place = 0; place < tables[i].count; place++)
			bind_value(statements[i], first + place, v);
		if (i == 6 && choice >= 64)
			sqlite3_bind_int(statements[i], 4, types[choice / 16 % 6]);
		if (i == 6 && choice >= 128)
			sqlite3_bind_text(statements[i], 6, texts[choice / 16 % 8], -1,
					  SQLITE_STATIC);
		sqlite3_step(statements[i]);
		sqlite3_reset(statements[i]);
	}
}

const char *made_export_rows(const uint8_t *data, size_t size, int64_t step)
{
	struct values v = { data, data + size };
	sqlite3_int64 bytes;
	unsigned char *image;
	int i;

	open_file();
	open_made();
	check(!sqlite3_exec(made, "BEGIN", NULL, NULL, NULL));
	make_rows(&v, step);
	image = sqlite3_serialize(made, "main", &bytes, 0);
	check(image && bytes % 512 == 0);
	/* The count of pages, which a commit would write. */
	for (i = 0; i < 4; i++)
		image[28 + i] = (unsigned char)((uint64_t)bytes / 512 >> (24 - 8 * i));
	memcpy(image + 92, image + 24, 4);
	check(!ftruncate(file, 0) && pwrite(file, image, (size_t)bytes, 0) == bytes);
	sqlite3_free(image);
	check(!sqlite3_exec(made, "ROLLBACK", NULL, NULL, NULL));
	return path;
}
