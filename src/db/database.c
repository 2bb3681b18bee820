#include "db/database.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/search.h"
#include "base/order.h"
#include "base/sort.h"
#include "text/str.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ids that SQLite would look for in all rows: their places, by id. */
struct index {
	struct place {
		int64_t id, rowid;
	} * at;
	size_t count, capacity;
	bool made;
};

struct tw_database {
	const struct trawl_allocator *allocator;
	sqlite3 *handle;
	struct tw_str path, tables; /* names of tables, each with a NUL after it */
	size_t table_count;
	int64_t size;
	int64_t steps; /* of SQLite since the last row */
	bool cut, immutable, text_failed;
	sqlite3_stmt *text; /* of tw_database_text() */
	const char *text_table, *text_column;
	int64_t text_steps; /* through rows that were not asked for */
	struct index texts; /* once these were many */
};

struct tw_scan {
	struct tw_database *database;
	sqlite3_stmt *statement; /* NULL: no rows */
	const char *table;
	int64_t before;		    /* rowid of the row before */
	bool begun;		    /* there is one */
	int place[TW_SCAN_COLUMNS]; /* in the statement, -1: the table has no such column */
};

/* ---- the file before SQLite sees it */

#define HEADER_BYTES 100

struct header {
	unsigned char bytes[HEADER_BYTES];
	size_t len;
};

static bool is_blank(const struct header *header)
{
	size_t i;

	for (i = 0; i < header->len && !header->bytes[i]; i++)
		;
	return i == header->len;
}

/* Size and first bytes of a file. */
static int read_header(struct header *header, struct tw_database *db, struct trawl_error *err)
{
	/* A pipe without a writer is not waited for. */
	int fd = open(db->path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failed = 0;
	struct stat info;
	ssize_t got = 0;

	if (fd < 0)
		return trawl_error_set(err, TRAWL_EIO, "cannot open: %s", strerror(errno));
	if (fstat(fd, &info))
		failed = errno;
	else if (S_ISDIR(info.st_mode))
		failed = EISDIR;
	else if (S_ISREG(info.st_mode) && (got = pread(fd, header->bytes, HEADER_BYTES, 0)) < 0)
		failed = errno;
	close(fd);
	if (failed)
		return trawl_error_set(err, TRAWL_EIO, "cannot read: %s", strerror(failed));
	if (!S_ISREG(info.st_mode))
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot read a database from a pipe or device; give a file "
				       "path");
	header->len = (size_t)got;
	db->size = info.st_size;
	return 0;
}

static int check_header(const struct header *header, struct trawl_error *err)
{
	static const char magic[16] = "SQLite format 3";

	if (!header->len)
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "empty file: the export was interrupted; export again");
	if (is_blank(header))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "no database header: the export was interrupted; export "
				       "again");
	if (header->len < HEADER_BYTES || memcmp(header->bytes, magic, sizeof(magic)) != 0)
		return trawl_error_set(err, TRAWL_EFORMAT, "not an SQLite database");
	return 0;
}

enum log { NO_LOG, DONE_LOG, LIVE_LOG };

/* A log beside the database may have changes that are not in it; one that is done with begins with 0. */
static enum log find_log(const struct tw_database *db, const char *suffix)
{
	enum log found = NO_LOG;
	struct stat info;
	struct tw_str name;
	char first = 0;
	int fd = -1;

	tw_str_init(&name, db->allocator);
	tw_str_addf(&name, "%s%s", db->path.ptr, suffix);
	if (!name.failed)
		fd = open(name.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		found = DONE_LOG;
		/* SQLite would wait for a pipe. */
		if (fstat(fd, &info) || !S_ISREG(info.st_mode) ||
		    (read(fd, &first, 1) == 1 && first))
			found = LIVE_LOG;
		close(fd);
	}
	tw_str_release(&name);
	return found;
}

static int check_logs(struct tw_database *db, struct trawl_error *err)
{
	enum log changes = find_log(db, "-wal");

	if (changes == LIVE_LOG)
		return trawl_error_set(err, TRAWL_EIO,
				       "uncommitted changes in its log (-wal): stop the program "
				       "that writes it, or run sqlite3 FILE "
				       "'PRAGMA wal_checkpoint(TRUNCATE)'");
	if (find_log(db, "-journal") == LIVE_LOG)
		return trawl_error_set(err, TRAWL_EIO,
				       "export in progress or interrupted (a -journal file "
				       "exists): wait for it, or export again");
	/* For a log SQLite would make a file beside it, whatever is in it. */
	db->immutable = changes == DONE_LOG;
	return 0;
}

/* ---- opening */

/* A longer text or row is damage; texts may be whole files, but those are not asked for. */
#define LONGEST_VALUE (64 << 20)

/* The path as a URI, in which some characters mean something. */
static void add_uri(const struct tw_database *db, struct tw_str *uri)
{
	const char *p = db->path.ptr;

	/* ":memory:" would be no file. */
	tw_str_add_cstr(uri, *p == '/' ? "file:" : "file:./");
	while (p[0] == '/' && p[1] == '/')
		p++;
	for (; *p; p++) {
		if (strchr("%?#", *p))
			tw_str_addf(uri, "%%%02X", (unsigned)*p);
		else
			tw_str_add_char(uri, *p);
	}
	tw_str_add_cstr(uri, db->immutable ? "?mode=ro&immutable=1" : "?mode=ro");
}

/*
 * A damaged tree may lead back to its own beginning: nothing takes longer than going through the
 * whole file would.
 */
#define STEPS_PER_CALL 10000

static int count_steps(void *context)
{
	struct tw_database *db = context;

	db->steps += STEPS_PER_CALL;
	return db->steps > 8 * db->size + ((int64_t)1 << 24);
}

static int open_handle(struct tw_database *db)
{
	struct tw_str uri;
	int code = SQLITE_NOMEM;

	sqlite3_close(db->handle);
	db->handle = NULL;
	tw_str_init(&uri, db->allocator);
	add_uri(db, &uri);
	if (!uri.failed)
		code = sqlite3_open_v2(uri.ptr, &db->handle,
				       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
				       NULL);
	tw_str_release(&uri);
	if (code)
		return code;
	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_progress_handler(db->handle, STEPS_PER_CALL, count_steps, db);
	sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (db->cut)
		/* Lifts SQLite's refusal of a file that is too short. */
		code = sqlite3_exec(db->handle, "PRAGMA writable_schema=ON", NULL, NULL, NULL);
	return code;
}

static int list_tables(struct tw_database *db)
{
	static const char query[] = "SELECT name,rowid FROM sqlite_master WHERE type='table' AND "
				    "name NOT LIKE 'sqlite~_%' ESCAPE '~' AND "
				    "rootpage>0 ORDER BY rowid"; /* 0: a virtual one */
	sqlite3_stmt *statement;
	int64_t before = INT64_MIN;
	int code;

	tw_str_clear(&db->tables);
	db->table_count = 0;
	db->steps = 0;
	code = sqlite3_prepare_v2(db->handle, query, -1, &statement, NULL);
	while (!code && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);

		if (sqlite3_column_int64(statement, 1) <= before) {
			code = SQLITE_CORRUPT;
			break;
		}
		before = sqlite3_column_int64(statement, 1);
		code = SQLITE_OK;
		if (!name || strlen(name) != (size_t)sqlite3_column_bytes(statement, 0))
			continue;
		tw_str_add(&db->tables, name, strlen(name) + 1);
		db->table_count++;
	}
	sqlite3_finalize(statement);
	if (db->tables.failed)
		return SQLITE_NOMEM;
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* A file system that cannot lock. */
static bool cannot_lock(int code)
{
	int primary = code & 0xff;

	return (primary == SQLITE_IOERR && code != SQLITE_IOERR_READ &&
		code != SQLITE_IOERR_SHORT_READ) ||
	       primary == SQLITE_PROTOCOL || primary == SQLITE_NOLFS;
}

static int fail_open(const struct tw_database *db, int code, struct trawl_error *err)
{
	const char *message = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code);

	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return tw_no_memory(err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return trawl_error_set(err, TRAWL_EIO,
				       "locked by another program; try again when it has finished");
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "the start of the SQLite database is damaged (%s); export "
				       "again",
				       message);
	default:
		return trawl_error_set(err, TRAWL_EIO, "cannot read the database: %s", message);
	}
}

/* Opens and reads the list of tables; an obstacle is removed once. */
static int connect(struct tw_database *db, struct trawl_error *err)
{
	int code = open_handle(db);

	if (!code)
		code = list_tables(db);
	if (code && !db->immutable && cannot_lock(code)) {
		db->immutable = true;
		code = open_handle(db);
		if (!code)
			code = list_tables(db);
	}
	if ((code & 0xff) == SQLITE_CORRUPT && db->cut) {
		code = open_handle(db);
		if (!code)
			code = list_tables(db);
	}
	return code ? fail_open(db, code, err) : 0;
}

static uint32_t big_endian(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Whether the header has more pages than the file. */
static bool is_cut(const struct header *header, int64_t size)
{
	const unsigned char *h = header->bytes;
	int64_t page = h[16] << 8 | h[17], pages = big_endian(h + 28);

	if (page == 1)
		page = 65536;
	/* The count is valid when it was written with the last change. */
	return big_endian(h + 24) == big_endian(h + 92) && pages * page > size;
}

static struct tw_database *new_database(const char *path, const struct trawl_allocator *allocator)
{
	struct tw_database *db = tw_alloc_array(allocator, 1, sizeof(*db));

	if (!db)
		return NULL;
	db->allocator = allocator;
	tw_str_init(&db->path, allocator);
	tw_str_init(&db->tables, allocator);
	tw_str_add_cstr(&db->path, path);
	return db;
}

int tw_database_open(struct tw_database **out, const char *path,
		     const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_database *db = new_database(path, allocator);
	struct header header;
	int status;

	*out = NULL;
	if (!db || db->path.failed) {
		tw_database_close(db);
		return tw_no_memory(err);
	}
	status = read_header(&header, db, err);
	if (!status)
		status = check_header(&header, err);
	if (!status)
		status = check_logs(db, err);
	if (!status) {
		db->cut = is_cut(&header, db->size);
		/* A file in WAL mode would otherwise get new files beside it. */
		db->immutable |= header.bytes[18] == 2 || header.bytes[19] == 2;
		status = connect(db, err);
	}
	if (status) {
		tw_database_close(db);
		return status;
	}
	*out = db;
	return 0;
}

int tw_database_open_again(struct tw_database **out, const struct tw_database *database,
			   struct trawl_error *err)
{
	struct tw_database *db = new_database(database->path.ptr, database->allocator);
	int status = TRAWL_ENOMEM;

	*out = NULL;
	if (db && !db->path.failed) {
		db->size = database->size;
		db->cut = database->cut;
		db->immutable = database->immutable;
		status = connect(db, err);
	} else {
		tw_no_memory(err);
	}
	if (status) {
		tw_database_close(db);
		return status;
	}
	*out = db;
	return 0;
}

static void release_index(struct tw_database *db)
{
	tw_free(db->allocator, db->texts.at, db->texts.capacity * sizeof(*db->texts.at));
	db->texts = (struct index){ .made = false };
}

void tw_database_close(struct tw_database *db)
{
	if (!db)
		return;
	sqlite3_finalize(db->text);
	release_index(db);
	sqlite3_close(db->handle);
	tw_str_release(&db->path);
	tw_str_release(&db->tables);
	tw_free(db->allocator, db, sizeof(*db));
}

int64_t tw_database_size(const struct tw_database *db)
{
	return db->size;
}

bool tw_database_cut(const struct tw_database *db)
{
	return db->cut;
}

/* ---- tables and columns */

size_t tw_database_tables(const struct tw_database *db)
{
	return db->table_count;
}

const char *tw_database_table(const struct tw_database *db, size_t index)
{
	const char *name = db->tables.ptr;

	while (index--)
		name += strlen(name) + 1;
	return name;
}

bool tw_database_has_table(const struct tw_database *db, const char *table)
{
	const char *name = db->tables.ptr;
	size_t i;

	for (i = 0; i < db->table_count; i++, name += strlen(name) + 1)
		if (!sqlite3_stricmp(name, table))
			return true;
	return false;
}

bool tw_database_has_column(struct tw_database *db, const char *table, const char *column)
{
	return tw_database_has_table(db, table) &&
	       sqlite3_table_column_metadata(db->handle, NULL, table, column, NULL, NULL, NULL,
					     NULL, NULL) == SQLITE_OK;
}

/* A statement from printf-like SQL whose %w are names; NULL with *code set when it fails. */
static sqlite3_stmt *prepare(struct tw_database *db, char *sql, int *code)
{
	sqlite3_stmt *statement = NULL;

	*code = sql ? sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return statement;
}

/* SQLite's message of a failure. */
static int fail_table(struct tw_database *db, const char *table, int code, int64_t before,
		      struct trawl_error *err)
{
	char place[64] = "";

	if ((code & 0xff) == SQLITE_NOMEM)
		return tw_no_memory(err);
	if (before >= 0)
		snprintf(place, sizeof(place), " after row %lld", (long long)before);
	return trawl_error_set(err, TRAWL_EFORMAT, "table %s cannot be read%s: %s", table, place,
			       sqlite3_errmsg(db->handle));
}

/*
 * What rowids are called in a table: a column may have their name without being them.  Where all
 * three are taken so, the rows will not be in order.
 */
static const char *rowid_of(struct tw_database *db, const char *table)
{
	static const char *const names[] = { "rowid", "_rowid_", "oid" };
	const char *type;
	int key;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!sqlite3_table_column_metadata(db->handle, NULL, table, names[i], &type, NULL,
						   NULL, &key, NULL) &&
		    key && type && !sqlite3_stricmp(type, "INTEGER"))
			return names[i];
	return names[0];
}

/* One end of the rowids, found without a scan: 1; 0: no rows. */
static int find_rowid(struct tw_database *db, const char *table, const char *which, int64_t *rowid,
		      struct trawl_error *err)
{
	int code, found = 0;
	sqlite3_stmt *statement = prepare(
		db, sqlite3_mprintf("SELECT %s(%s) FROM \"%w\"", which, rowid_of(db, table), table),
		&code);

	db->steps = 0;
	if (!code)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER) {
		*rowid = sqlite3_column_int64(statement, 0);
		found = 1;
	} else if (code != SQLITE_ROW) {
		found = fail_table(db, table, code, -1, err);
	}
	sqlite3_finalize(statement);
	return found;
}

int tw_database_range(struct tw_database *db, const char *table, int64_t *first, int64_t *last,
		      struct trawl_error *err)
{
	int begins, ends;

	*first = INT64_MIN;
	*last = INT64_MAX;
	if (!tw_database_has_table(db, table))
		return 0;
	begins = find_rowid(db, table, "min", first, err);
	ends = find_rowid(db, table, "max", last, err);
	return begins < 0 ? begins : ends;
}

bool tw_database_rowids(struct tw_database *db, const char *table, int64_t *first, int64_t *last)
{
	struct trawl_error err;

	return tw_database_range(db, table, first, last, &err) == 1;
}

/* ---- scans */

/* "SELECT rowid, columns FROM table WHERE rowid BETWEEN ? AND ?", of columns that are there. */
static char *scan_query(struct tw_scan *scan, const char *table, const char *const *columns,
			size_t count)
{
	const char *rowid = rowid_of(scan->database, table);
	char *sql = sqlite3_mprintf("SELECT %s", rowid), *more;
	int place = 1;
	size_t i;

	for (i = 0; i < TW_SCAN_COLUMNS; i++)
		scan->place[i] = -1;
	for (i = 0; i < count; i++) {
		if (!tw_database_has_column(scan->database, table, columns[i]))
			continue;
		scan->place[i] = place++;
		more = sql ? sqlite3_mprintf("%s,\"%w\"", sql, columns[i]) : NULL;
		sqlite3_free(sql);
		sql = more;
	}
	more = sql ? sqlite3_mprintf("%s FROM \"%w\" WHERE %s BETWEEN ? AND ?", sql, table, rowid) :
		     NULL;
	sqlite3_free(sql);
	return more;
}

static int fail_scan(const struct tw_scan *scan, int code, struct trawl_error *err)
{
	return fail_table(scan->database, scan->table, code, scan->before, err);
}

int tw_scan_open(struct tw_scan **out, struct tw_database *db, const char *table,
		 const char *const *columns, size_t count, int64_t first, int64_t last,
		 struct trawl_error *err)
{
	struct tw_scan *scan = tw_alloc_array(db->allocator, 1, sizeof(*scan));
	int code = SQLITE_OK;

	*out = NULL;
	if (!scan)
		return tw_no_memory(err);
	*scan = (struct tw_scan){ .database = db, .table = table, .before = -1 };
	if (tw_database_has_table(db, table)) {
		scan->statement = prepare(db, scan_query(scan, table, columns, count), &code);
		if (!code) {
			sqlite3_bind_int64(scan->statement, 1, first);
			sqlite3_bind_int64(scan->statement, 2, last);
		}
	}
	if (code) {
		int status = fail_scan(scan, code, err);

		tw_scan_close(scan);
		return status;
	}
	*out = scan;
	return 0;
}

void tw_scan_close(struct tw_scan *scan)
{
	if (!scan)
		return;
	sqlite3_finalize(scan->statement);
	tw_free(scan->database->allocator, scan, sizeof(*scan));
}

int tw_scan_next(struct tw_scan *scan, struct trawl_error *err)
{
	int code = SQLITE_DONE;
	int64_t rowid;

	scan->database->steps = 0;
	if (scan->statement)
		code = sqlite3_step(scan->statement);
	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? 0 : fail_scan(scan, code, err);
	rowid = sqlite3_column_int64(scan->statement, 0);
	/* So that a page that is met again is not read again. */
	if (scan->begun && rowid <= scan->before)
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "table %s cannot be read after row %lld: rows out of order",
				       scan->table, (long long)scan->before);
	scan->begun = true;
	scan->before = rowid;
	return 1;
}

int64_t tw_scan_rowid(const struct tw_scan *scan)
{
	return scan->before;
}

static enum tw_value integer_of_text(const char *text, int64_t *value)
{
	char *end;
	long long number;

	if (!text || !*text || strchr(" \t\n\v\f\r", *text))
		return TW_VALUE_ODD;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (*end || errno)
		return TW_VALUE_ODD;
	*value = number;
	return TW_VALUE_GIVEN;
}

static enum tw_value integer_of_real(double real, int64_t *value)
{
	if (!(real >= -9.2e18 && real <= 9.2e18) || (double)(int64_t)real != real)
		return TW_VALUE_ODD;
	*value = (int64_t)real;
	return TW_VALUE_GIVEN;
}

enum tw_value tw_scan_integer(const struct tw_scan *scan, size_t column, int64_t *value)
{
	int place = scan->place[column];
	sqlite3_value *found;

	*value = 0;
	if (place < 0)
		return TW_VALUE_ABSENT;
	/* Quicker than asking the statement twice. */
	found = sqlite3_column_value(scan->statement, place);
	switch (sqlite3_value_type(found)) {
	case SQLITE_INTEGER:
		*value = sqlite3_value_int64(found);
		return TW_VALUE_GIVEN;
	case SQLITE_NULL:
		return TW_VALUE_ABSENT;
	case SQLITE_FLOAT:
		return integer_of_real(sqlite3_column_double(scan->statement, place), value);
	case SQLITE_TEXT:
		return integer_of_text((const char *)sqlite3_column_text(scan->statement, place),
				       value);
	default:
		return TW_VALUE_ODD;
	}
}

uint32_t tw_scan_integers(const struct tw_scan *scan, uint32_t columns, int64_t *values,
			  uint32_t *odd)
{
	uint32_t given = 0, bit;
	size_t i;

	*odd = 0;
	for (i = 0; i < TW_SCAN_COLUMNS && columns >> i; i++) {
		int place = scan->place[i];
		sqlite3_value *value;

		bit = columns & 1u << i;
		if (!bit)
			continue;
		values[i] = 0;
		if (place < 0)
			continue;
		value = sqlite3_column_value(scan->statement, place);
		switch (sqlite3_value_type(value)) {
		case SQLITE_INTEGER:
			values[i] = sqlite3_value_int64(value);
			given |= bit;
			break;
		case SQLITE_NULL:
			break;
		default:
			if (tw_scan_integer(scan, i, &values[i]) == TW_VALUE_GIVEN)
				given |= bit;
			else
				*odd |= bit;
		}
	}
	return given;
}

double tw_scan_real(const struct tw_scan *scan, size_t column)
{
	int place = scan->place[column];
	int type = place < 0 ? SQLITE_NULL : sqlite3_column_type(scan->statement, place);

	return type == SQLITE_FLOAT || type == SQLITE_INTEGER ?
		       sqlite3_column_double(scan->statement, place) :
		       NAN;
}

const char *tw_scan_text(const struct tw_scan *scan, size_t column, size_t *len)
{
	int place = scan->place[column];

	*len = 0;
	if (place < 0 || sqlite3_column_type(scan->statement, place) != SQLITE_TEXT)
		return NULL;
	*len = (size_t)sqlite3_column_bytes(scan->statement, place);
	return (const char *)sqlite3_column_blob(scan->statement, place);
}

/* ---- texts */

/* Steps through rows of others after which an index is worth it. */
#define MAX_STEPS 20000

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return TW_ORDER_BY(x, y, id, rowid);
}

static bool add_place(struct tw_database *db, int64_t id, int64_t rowid)
{
	struct index *x = &db->texts;

	if (!tw_list_grow(&x->at, &x->capacity, x->count, sizeof(*x->at), db->allocator))
		return false;
	x->at[x->count++] = (struct place){ id, rowid };
	return true;
}

/* All that can be read of the table; without room for it the search goes on as before. */
static void make_index(struct tw_database *db, const char *table)
{
	static const char *const columns[] = { "id" };
	struct trawl_error ignored;
	struct tw_scan *scan;
	int64_t id;
	int status = tw_scan_open(&scan, db, table, columns, 1, INT64_MIN, INT64_MAX, &ignored);
	bool room = !status;

	while (room && (status = tw_scan_next(scan, &ignored)) == 1)
		if (tw_scan_integer(scan, 0, &id) == TW_VALUE_GIVEN)
			room = add_place(db, id, tw_scan_rowid(scan));
	tw_scan_close(scan);
	db->text_failed |= status < 0;
	if (!room) {
		release_index(db);
		return;
	}
	if (db->texts.count)
		qsort(db->texts.at, db->texts.count, sizeof(*db->texts.at), compare_places);
	db->texts.made = true;
}

/* The rowid of an id's first row. */
static bool find_place(const struct index *index, int64_t id, int64_t *rowid)
{
	size_t low = TW_LOWER_BOUND(at, 0, index->count, index->at[at].id < id);

	if (low == index->count || index->at[low].id != id)
		return false;
	*rowid = index->at[low].rowid;
	return true;
}

static bool prepare_text(struct tw_database *db, const char *table, const char *column, bool by_id)
{
	int code;

	sqlite3_finalize(db->text);
	db->text = NULL;
	if (tw_database_has_column(db, table, column))
		db->text =
			prepare(db,
				sqlite3_mprintf("SELECT \"%w\" FROM \"%w\" WHERE \"%w\"=?", column,
						table, by_id ? "id" : rowid_of(db, table)),
				&code);
	return db->text != NULL;
}

/* The statement that finds texts, for another column or after the index was made; false: none. */
static bool choose_text(struct tw_database *db, const char *table, const char *column)
{
	if (db->text_table != table || db->text_column != column) {
		release_index(db);
		db->text_steps = 0;
		db->text_table = table;
		db->text_column = column;
		return prepare_text(db, table, column, tw_database_has_column(db, table, "id"));
	}
	if (db->text_steps > MAX_STEPS && !db->texts.made) {
		db->text_steps = INT64_MIN;
		make_index(db, table);
		if (db->texts.made)
			return prepare_text(db, table, column, false);
	}
	return db->text != NULL;
}

const char *tw_database_text(struct tw_database *db, const char *table, const char *column,
			     int64_t id, size_t *len)
{
	int code;

	*len = 0;
	if (!choose_text(db, table, column) || (db->texts.made && !find_place(&db->texts, id, &id)))
		return NULL;
	sqlite3_reset(db->text);
	sqlite3_bind_int64(db->text, 1, id);
	db->steps = 0;
	code = sqlite3_step(db->text);
	db->text_steps += sqlite3_stmt_status(db->text, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
	db->text_failed |= code != SQLITE_ROW && code != SQLITE_DONE;
	if (code != SQLITE_ROW || sqlite3_column_type(db->text, 0) != SQLITE_TEXT)
		return NULL;
	*len = (size_t)sqlite3_column_bytes(db->text, 0);
	return (const char *)sqlite3_column_blob(db->text, 0);
}

bool tw_database_text_failed(const struct tw_database *db)
{
	return db->text_failed;
}
