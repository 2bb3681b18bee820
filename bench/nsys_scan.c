/*
 * What reading an Nsight Systems export costs by itself: each row of the tables that a query of
 * 'trawl nsys' looks at, and of it the columns that it needs, through sqlite3_step() on one thread.
 * The measure for those queries.
 *
 * usage: nsys_scan FILE.sqlite
 *
 * Prints seconds by table, and their sum.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *table, *query;
} scans[] = {
	{ "NVTX_EVENTS", "SELECT start, end, eventType, text, globalTid, textId FROM NVTX_EVENTS" },
	{ "KERNEL", "SELECT start, end, globalPid, deviceId, contextId, greenContextId, streamId, "
		    "correlationId, demangledName, shortName FROM CUPTI_ACTIVITY_KIND_KERNEL" },
	{ "RUNTIME", "SELECT start, globalTid, correlationId, nameId "
		     "FROM CUPTI_ACTIVITY_KIND_RUNTIME" },
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Rows, -1: they cannot be read.  The sum keeps the reading from being optimized away. */
static long long scan(sqlite3 *db, const char *query, unsigned long long *sum)
{
	sqlite3_stmt *statement;
	long long rows = 0;
	int code = sqlite3_prepare_v2(db, query, -1, &statement, NULL), columns, i;

	columns = code ? 0 : sqlite3_column_count(statement);
	while (!code && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		for (i = 0; i < columns; i++)
			*sum += sqlite3_column_type(statement, i) == SQLITE_TEXT ?
					(unsigned long long)sqlite3_column_bytes(statement, i) :
					(unsigned long long)sqlite3_column_int64(statement, i);
		rows++;
		code = SQLITE_OK;
	}
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? rows : -1;
}

int main(int argc, char **argv)
{
	unsigned long long sum = 0;
	double start, took, total = 0;
	sqlite3 *db;
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: nsys_scan FILE.sqlite\n");
		return 2;
	}
	if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL)) {
		fprintf(stderr, "nsys_scan: %s: %s\n", argv[1], sqlite3_errmsg(db));
		sqlite3_close(db);
		return 1;
	}
	for (i = 0; i < sizeof(scans) / sizeof(scans[0]); i++) {
		long long rows;

		start = seconds();
		rows = scan(db, scans[i].query, &sum);
		took = seconds() - start;
		total += took;
		if (rows < 0)
			printf("%s: cannot be read: %s\n", scans[i].table, sqlite3_errmsg(db));
		else
			printf("%s rows=%lld seconds=%.6f\n", scans[i].table, rows, took);
	}
	printf("total seconds=%.6f sum=%llu\n", total, sum);
	sqlite3_close(db);
	return 0;
}
