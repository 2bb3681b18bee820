/* Queries on exports: databases of a few rows, whose right answers were worked out by hand. */
#include "trawl/nsys.h"

#include "base/scope.h"
#include "nsys/compat/compat_ranges.h"
#include "nsys/grouped.h"
#include "nsys/scan.h"
#include "table/table.h"

#include "edges.h"
#include "failing.h"
#include "scratch.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PID 100
#define TID 101

struct scene {
	struct scratch scratch;
	sqlite3 *db;
	struct trawl_nsys_options options;
	struct trawl_table *table;
	struct tw_str left_out;
	struct trawl_error err;
	int64_t host; /* bits above the process in global ids */
};

/* As sqlite3_mprintf(), which knows %Q. */
static void run(struct scene *s, const char *format, ...)
{
	va_list args;
	char *sql;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	assert_int_equal(sqlite3_exec(s->db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_free(sql);
}

static int64_t gid(const struct scene *s, int64_t pid, int64_t tid)
{
	return s->host | pid << 24 | tid;
}

/* The id of a text; texts come again under their old id. */
static int64_t text_id(struct scene *s, const char *text)
{
	sqlite3_stmt *statement;
	int64_t id = 0;

	run(s,
	    "INSERT INTO StringIds(value) SELECT %Q WHERE NOT EXISTS "
	    "(SELECT 1 FROM StringIds WHERE value=%Q)",
	    text, text);
	assert_int_equal(sqlite3_prepare_v2(s->db, "SELECT id FROM StringIds WHERE value=?", -1,
					    &statement, NULL),
			 SQLITE_OK);
	sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW)
		id = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return id;
}

/* A range; `end` -1: it is never closed. */
static void range_of(struct scene *s, int64_t pid, int64_t tid, int64_t start, int64_t end,
		     const char *name)
{
	run(s,
	    "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid) "
	    "VALUES(%lld, nullif(%lld, -1), 59, %Q, %lld)",
	    (long long)start, (long long)end, name, (long long)gid(s, pid, tid));
}

static void range(struct scene *s, int64_t start, int64_t end, const char *name)
{
	range_of(s, PID, TID, start, end, name);
}

static void kernel_of(struct scene *s, int64_t pid, int64_t device, int64_t stream, int64_t start,
		      int64_t end, int64_t correlation, const char *name)
{
	long long id = text_id(s, name);

	run(s,
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(%lld, %lld, %lld, 1, NULL, %lld, "
	    "%lld, %lld, %lld, %lld)",
	    (long long)start, (long long)end, (long long)device, (long long)stream,
	    (long long)correlation, (long long)gid(s, pid, 0), id, id);
}

static void kernel(struct scene *s, int64_t stream, int64_t start, int64_t end, int64_t correlation,
		   const char *name)
{
	kernel_of(s, PID, 0, stream, start, end, correlation, name);
}

static void call_of(struct scene *s, int64_t pid, int64_t tid, int64_t start, int64_t correlation,
		    const char *name)
{
	run(s, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(%lld, %lld, 0, %lld, %lld, %lld)",
	    (long long)start, (long long)start + 2, (long long)gid(s, pid, tid),
	    (long long)correlation, (long long)text_id(s, name));
}

static void call(struct scene *s, int64_t start, int64_t correlation)
{
	call_of(s, PID, TID, start, correlation, "cudaLaunchKernelExC_v11060");
}

#define COMM "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)"
#define LABEL(rank) "rank=" rank "; pp=1/2 dp=0/1 cp=0/1 ep=0/4; mbs=1 seq=2048"
#define CHUNK "forward chunk 1 (phase0) backward chunk 1 (phase1)"

static void keep_line(void *left_out, const char *line)
{
	tw_str_addf(left_out, "%s\n", line);
}

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	scratch_make(&s->scratch);
	s->host = (int64_t)1 << 48;
	trawl_nsys_options_init(&s->options);
	s->options.threads = 2;
	s->options.note = keep_line;
	s->options.note_context = &s->left_out;
	tw_str_init(&s->left_out, trawl_allocator_default());
	assert_int_equal(sqlite3_open(scratch_path(&s->scratch, "a.sqlite"), &s->db), SQLITE_OK);
	run(s, "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
	       "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
	       " globalTid INTEGER, textId INTEGER, domainId INTEGER);"
	       "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER,"
	       " deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,"
	       " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,"
	       " shortName INTEGER);"
	       "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER,"
	       " eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)");
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	trawl_table_free(s->table);
	tw_str_release(&s->left_out);
	sqlite3_close(s->db);
	scratch_remove(&s->scratch);
	free(s);
	return 0;
}

/* One rank with its window from 300 to 500, a computing stream 7 and a stage from 200 to 400. */
static void add_rank(struct scene *s)
{
	range(s, 0, 1000, LABEL("3"));
	range(s, 100, 200, CHUNK);
	range(s, 300, 500, CHUNK);
	range(s, 600, 700, CHUNK);
	range(s, 200, 400, "layer05_stage5_b_layer06_stage2_f");
	kernel(s, 7, 310, 350, 1, "gemm");
	call(s, 305, 1);
}

/* A communication kernel of stream 8 from 340 to 360, of which 10 are hidden; launched at 320. */
static void add_comm(struct scene *s)
{
	kernel(s, 8, 340, 360, 2, COMM);
	call(s, 320, 2);
}

static int ask(struct scene *s, enum trawl_nsys_table query)
{
	trawl_table_free(s->table);
	tw_str_clear(&s->left_out);
	return trawl_nsys_query(&s->table, query, scratch_path(&s->scratch, "a.sqlite"),
				&s->options, &s->err);
}

static void answer(struct scene *s, enum trawl_nsys_table query, size_t rows)
{
	int status = ask(s, query);

	if (status)
		fail_msg("%s", s->err.message);
	assert_int_equal(trawl_table_rows(s->table), rows);
}

static int64_t number(const struct scene *s, size_t row, const char *header)
{
	struct trawl_cell cell = tw_table_cell(s->table, row, header);

	if (cell.state == TRAWL_CELL_MISSING)
		fail_msg("no %s in row %zu", header, row);
	return cell.integer;
}

static double percent(const struct scene *s, size_t row, const char *header)
{
	struct trawl_cell cell = tw_table_cell(s->table, row, header);

	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	return cell.real;
}

static void assert_text(const struct scene *s, size_t row, const char *header, const char *want)
{
	struct trawl_cell cell = tw_table_cell(s->table, row, header);

	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	assert_int_equal(cell.text_len, strlen(want));
	assert_memory_equal(cell.text, want, cell.text_len);
}

static bool noted(const struct scene *s, const char *part)
{
	size_t i;

	for (i = 0; i < trawl_table_notes(s->table); i++)
		if (strstr(trawl_table_note(s->table, i), part))
			return true;
	return false;
}

/* ---- ranks and windows */

static void test_one_rank(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	answer(s, TRAWL_NSYS_SETUP, 1);
	assert_int_equal(number(s, 0, "pid"), PID);
	assert_int_equal(number(s, 0, "rank"), 3);
	assert_int_equal(number(s, 0, "pp"), 1);
	assert_text(s, 0, "setup", LABEL("3"));
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_int_equal(number(s, 0, "start"), 300);
	assert_int_equal(number(s, 0, "end"), 500);
	assert_text(s, 0, "rule", "median of 3 'forward chunk\xE2\x80\xA6' ranges");
	answer(s, TRAWL_NSYS_STREAMS, 2);
	assert_text(s, 0, "purpose", "compute");
	assert_text(s, 1, "purpose", "ep_a2a");
	assert_int_equal(number(s, 0, "comp_ns"), 40);
	assert_int_equal(number(s, 1, "comm_ns"), 20);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "stage2_f");
	assert_int_equal(number(s, 0, "exposed_ns"), 10);
	assert_true(percent(s, 0, "overlap") == 50);
	assert_int_equal(number(s, 0, "window_start"), 300);
}

/* Q1: with the sign bit of ids set, kernels stay with their process. */
static void test_host_bits(void **state)
{
	struct scene *s = *state;

	s->host = (int64_t)0xff01000000000000;
	add_rank(s);
	add_comm(s);
	range_of(s, PID + 1, TID + 1, 0, 1000, LABEL("4"));
	range_of(s, PID + 1, TID + 1, 300, 500, CHUNK);
	kernel_of(s, PID + 1, 0, 7, 310, 320, 9, "gemm");
	answer(s, TRAWL_NSYS_STREAMS, 3);
	assert_int_equal(number(s, 1, "comm_ns"), 20);
	assert_int_equal(number(s, 2, "pid"), PID + 1);
	assert_int_equal(number(s, 2, "comp_ns"), 10);
}

/* Q2, Q3: the label may stand anywhere, once a process; a process without one is no rank. */
static void test_labels_anywhere(void **state)
{
	struct scene *s = *state;

	range(s, 0, 5, "before the label");
	range(s, 0, 5, "at the same time");
	add_rank(s);
	range(s, 50, 60, LABEL("5"));
	range_of(s, 999, 999, 0, 10, "load batch");
	answer(s, TRAWL_NSYS_SETUP, 1);
	assert_int_equal(number(s, 0, "rank"), 3);
	assert_true(noted(s, "pid 999"));
}

/* 0 to 9 and 10 to 99 with what separates them are 388 characters, 100 to 102 15 more. */
static void test_of_many_ranks_400_characters_are_named(void **state)
{
	struct scene *s = *state;
	char label[120];
	int64_t i;

	for (i = 0; i < 200; i++) {
		snprintf(label, sizeof(label), LABEL("%d"), (int)i);
		range_of(s, PID + i, TID + i, 0, 1000, label);
	}
	s->options.rank = 200;
	assert_int_equal(ask(s, TRAWL_NSYS_SETUP), TRAWL_EUSAGE);
	assert_non_null(strstr(s->err.message, "no rank 200; ranks: 0, 1, "));
	assert_non_null(strstr(s->err.message, ", 101, 102, ..."));
}

/* A capture may begin with its window. */
static void test_window_from_time_0(void **state)
{
	struct scene *s = *state;

	range(s, 0, 500, CHUNK);
	kernel(s, 7, 310, 350, 1, "gemm");
	call(s, 305, 1);
	range(s, 200, 400, "layer05_stage2_f");
	add_comm(s);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "window_start"), 0);
	assert_int_equal(number(s, 0, "window_end"), 500);
}

/* Q4: a rank without a window is named, the other shown. */
static void test_rank_without_window(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	range_of(s, PID + 1, TID, 0, 1000, LABEL("4"));
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_non_null(strstr(s->left_out.ptr, "rank 4 (pid 101)"));
	/* Nothing in a window: an empty table. */
	s->options.window = true;
	s->options.start_ns = 1;
	s->options.end_ns = 2;
	answer(s, TRAWL_NSYS_STREAMS, 0);
	assert_int_equal(s->left_out.len, 0);
	assert_true(noted(s, "no kernels in the windows"));
}

/* Q10: what is never closed lasts to the end of the trace, here that of the last kernel. */
static void test_open_ranges(void **state)
{
	struct scene *s = *state;

	range(s, 0, -1, LABEL("3"));
	range(s, 300, -1, CHUNK);
	range(s, 310, -1, "layer01.stage4_b");
	kernel(s, 7, 310, 350, 1, "gemm");
	add_comm(s);
	kernel_of(s, 77, 0, 7, 2000, 2100, 5, "gemm");
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_int_equal(number(s, 0, "end"), 2100);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "stage4_b");
	assert_int_equal(number(s, 0, "exposed_ns"), 10);
	assert_int_equal(number(s, 0, "window_end"), 2100);
}

/* Here the last is a call; one without an end lasts no time. */
static void test_open_ranges_until_a_call(void **state)
{
	struct scene *s = *state;

	range(s, 0, -1, LABEL("3"));
	range(s, 300, -1, CHUNK);
	kernel(s, 7, 310, 350, 1, "gemm");
	add_comm(s);
	call(s, 948, 9);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "window_end"), 950);
	run(s, "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = NULL");
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "window_end"), 948);
}

/* Digits 7 to 12 from the right are the process, whatever stands above, signs as C's. */
static void test_process_of_the_original(void **state)
{
	assert_int_equal(tw_compat_pid(0x12abcdef345678), 0xabcdef);
	assert_int_equal(tw_compat_pid(-0x12abcdef345678), -0xabcdef);
}

/* 20 ns and 125 ns of two kernels, of which 10 ns are hidden. */
static void test_overlap_of_the_original(void **state)
{
	struct scene *s = *state;

	s->options.compat = true;
	add_rank(s);
	range(s, 319, 330, "layer00.stage1_b");
	assert_int_equal(ask(s, TRAWL_NSYS_OVERLAP), TRAWL_ENODATA);
	/* A stage whose communication takes no time is one that has some. */
	kernel(s, 8, 340, 340, 6, COMM);
	call(s, 323, 6);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "exposed_ns"), 0);
	assert_true(percent(s, 0, "overlap") == 0);
	add_comm(s);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "stage1_b");
	assert_int_equal(number(s, 0, "exposed_ns"), 10);
	assert_true(percent(s, 0, "overlap") == 50);
	kernel(s, 8, 360, 485, 4, COMM);
	call(s, 321, 4);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "exposed_ns"), 135);
	assert_true(percent(s, 0, "overlap") == 6.9);
	assert_true(percent(s, 0, "overlap_min") == 0);
	assert_true(percent(s, 0, "overlap_max") == 50);
}

static void test_rank_that_is_not_there(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	s->options.rank = 9;
	assert_int_equal(ask(s, TRAWL_NSYS_OVERLAP), TRAWL_EUSAGE);
	assert_non_null(strstr(s->err.message, "ranks: 3"));
	s->options.rank = 3;
	answer(s, TRAWL_NSYS_SETUP, 1);
}

/* No labels: processes by pid, the range that takes most time. */
static void test_busiest_range(void **state)
{
	struct scene *s = *state;
	int64_t i;

	for (i = 0; i < 5; i++)
		range(s, 100 + i * 100, 190 + i * 100, i % 2 ? "batch 17" : "batch 4");
	range(s, 0, 10000, "the only one");
	range(s, 0, 10000, "twice");
	range(s, 0, 10000, "twice");
	kernel(s, 7, 310, 350, 1, "gemm");
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_int_equal(number(s, 0, "rank"), 0);
	assert_int_equal(number(s, 0, "start"), 300);
	assert_text(s, 0, "rule", "busiest repeated range: median of 5");
	assert_true(noted(s, "rules: none"));
	assert_true(noted(s, "GPU work are numbered by pid"));
}

/* Three times are repeated, twice are not, however long. */
static void test_range_that_is_repeated(void **state)
{
	struct scene *s = *state;

	EDGE_OF(TW_LIMIT_STEADY_REPEATED);
	kernel(s, 7, 0, 400, 1, "gemm");
	range(s, 0, 150, "batch");
	range(s, 150, 300, "batch");
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_int_equal(number(s, 0, "start"), 100);
	assert_int_equal(number(s, 0, "end"), 300);
	range(s, 300, 400, "batch");
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_text(s, 0, "name", "batch");
	/* In the order of time. */
	assert_int_equal(number(s, 0, "start"), 150);
	assert_int_equal(number(s, 0, "end"), 300);
}

/* Operations and ranges of libraries are repeated too; what takes little of the time is no steady state. */
static void test_busiest_range_of_the_program(void **state)
{
	struct scene *s = *state;
	int64_t i;

	EDGE_OF(TW_LIMIT_STEADY_SHARE);
	for (i = 0; i < 4; i++) {
		range(s, i * 100, i * 100 + 99, "aten::mm, seq = 5, op_id = 9");
		range(s, i * 100, i * 100 + 97, "aten::mul, seq = 5");
		range(s, i * 100, i * 100 + 96, "aten::add, op_id = 9");
		range(s, i * 100, i * 100 + 98, "ncclAllReduce");
		run(s, "UPDATE NVTX_EVENTS SET domainId = 1 WHERE text LIKE 'nccl%%'");
		range(s, i * 100, i * 100 + 10, "batch");
	}
	kernel(s, 7, 0, 400, 1, "gemm");
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_text(s, 0, "name", "batch");
	assert_int_equal(number(s, 0, "start"), 200);
	run(s, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 1000, end = 1400");
	answer(s, TRAWL_NSYS_WINDOWS, 1); /* the GPU is far behind: no kernel in any batch */
	assert_int_equal(number(s, 0, "start"), 1100);
	run(s, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 0, end = 400");
	kernel(s, 7, 400, 420, 2, "gemm"); /* four times 10 are less than a tenth of 420 */
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_int_equal(number(s, 0, "start"), 105);
	assert_int_equal(number(s, 0, "end"), 315);
}

/* So many kinds of ranges are told apart; of more it is said. */
static void test_too_many_kinds_of_ranges(void **state)
{
	enum { MOST = 131072 };
	struct scene *s = *state;

	kernel(s, 7, 0, 400, 1, "gemm");
	run(s,
	    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
	    "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid) SELECT i, i + 1, 59, "
	    "char(97 + i / 17576, 97 + i / 676 %% 26, 97 + i / 26 %% 26, 97 + i %% 26), %lld FROM n",
	    MOST, (long long)gid(s, PID, TID));
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_int_equal(s->left_out.len, 0);
	range(s, 0, 1, "one more");
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_non_null(strstr(s->left_out.ptr, "over 131072 kinds of ranges"));
	/* So many rows are read in two parts. */
	run(s, "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid) "
	       "SELECT start, end, eventType, text, globalTid FROM NVTX_EVENTS");
	range(s, 0, 1, "another one");
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_non_null(strstr(s->left_out.ptr, "over 131072 kinds of ranges"));
}

static void test_middle_of_the_trace(void **state)
{
	struct scene *s = *state;

	kernel(s, 7, 100, 150, 1, "gemm");
	kernel(s, 7, 400, 500, 1, "gemm");
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_int_equal(number(s, 0, "start"), 200);
	assert_int_equal(number(s, 0, "end"), 400);
}

static void test_other_presets(void **state)
{
	struct scene *s = *state;
	int64_t i;

	for (i = 0; i < 3; i++)
		range(s, 100 + i * 100, 200 + i * 100, "ProfilerStep#3");
	range(s, 210, 250, "FSDP::all_gather, op_id = 5");
	kernel(s, 7, 210, 300, 1, "gemm");
	kernel(s, 8, 250, 310, 2, COMM);
	call(s, 220, 2);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "fsdp_all_gather");
	assert_true(noted(s, "rules: pytorch"));
	/* Clipped at 300, where the computation ends too. */
	assert_int_equal(number(s, 0, "exposed_ns"), 0);
}

/* Q15 */
static void test_tables_that_are_not_there(void **state)
{
	static const char *const tables[] = { "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS",
					      "CUPTI_ACTIVITY_KIND_KERNEL", "StringIds" };
	struct scene *s = *state;
	size_t i;

	add_rank(s);
	add_comm(s);
	run(s, "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT)");
	for (i = 0; i < 4; i++) {
		run(s, "DROP TABLE %s", tables[i]);
		assert_int_equal(ask(s, TRAWL_NSYS_SETUP), 0);
		assert_int_equal(ask(s, TRAWL_NSYS_WINDOWS), 0);
		assert_int_equal(ask(s, TRAWL_NSYS_STREAMS), 0);
		if (!i) {
			assert_int_equal(trawl_table_rows(s->table), 2);
			assert_true(noted(s, "without a matching launch"));
		}
		assert_int_equal(ask(s, TRAWL_NSYS_OVERLAP), 0);
	}
	assert_int_equal(trawl_table_rows(s->table), 0);
	assert_true(noted(s, "kernels not captured"));
}

/* ---- kernels */

/* Q5: clipped on both sides, as cover too. */
static void test_edges(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	kernel(s, 8, 290, 330, 2, COMM);
	call(s, 250, 2);
	kernel(s, 7, 450, 600, 3, "gemm");
	kernel(s, 8, 480, 520, 4, COMM);
	call(s, 260, 4);
	answer(s, TRAWL_NSYS_STREAMS, 2);
	assert_int_equal(number(s, 0, "comp_ns"), 40 + 50);
	assert_int_equal(number(s, 1, "comm_ns"), 30 + 20);
	assert_true(noted(s, "3 kernels cross an edge"));
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "exposed_ns"), 10);
	assert_true(percent(s, 0, "overlap") == 80);
	assert_true(percent(s, 0, "overlap_max") == 100);
}

/* Q6, Q7: neither many ranges before nor one inside that says nothing hide the stage. */
static void test_stage_behind_other_ranges(void **state)
{
	struct scene *s = *state;
	int64_t i;

	add_rank(s);
	add_comm(s);
	for (i = 0; i < 400; i++)
		range(s, 301, 302, "layer01.stage3_w");
	range(s, 315, 330, "aten::all_to_all");
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "stage2_f");
}

/* Q8: the launching thread comes first, then the process. */
static void test_launching_thread_first(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	range_of(s, PID, TID + 1, 319, 321, "layer09.stage4_b");
	kernel(s, 8, 370, 390, 5, COMM);
	call_of(s, PID, TID + 2, 320, 5, "cudaLaunchKernel_v7000");
	answer(s, TRAWL_NSYS_OVERLAP, 2);
	assert_text(s, 0, "stage", "stage2_f");
	assert_int_equal(number(s, 0, "exposed_ns"), 10);
	assert_text(s, 1, "stage", "stage4_b");
	assert_int_equal(number(s, 1, "exposed_ns"), 20);
}

/* Q9: a kernel counts once, launched by the call that launches. */
static void test_several_calls_with_one_id(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	range(s, 302, 304, "layer02.stage4_f");
	add_comm(s);
	call(s, 325, 2);
	call_of(s, PID, TID, 303, 2, "cudaEventRecord_v3020");
	/* The same id in another process is another kernel's. */
	call_of(s, PID + 1, TID, 303, 2, "cudaLaunchKernel_v7000");
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "stage2_f");
	assert_int_equal(number(s, 0, "exposed_ns"), 10);
}

/* Q11: communication is the same everywhere. */
static void test_capitals(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	kernel(s, 8, 340, 360, 2, "NCCLKernel_AllReduce");
	call(s, 320, 2);
	kernel(s, 7, 360, 380, 3, "NCCLKernel_AllReduce");
	answer(s, TRAWL_NSYS_STREAMS, 2);
	assert_int_equal(number(s, 0, "n_comm"), 1);
	assert_int_equal(number(s, 0, "barrier_ns"), 20);
	assert_int_equal(number(s, 1, "n_comm"), 1);
	answer(s, TRAWL_NSYS_OVERLAP, 2);
	assert_int_equal(number(s, 0, "exposed_ns"), 10);
	assert_text(s, 1, "stage", "(compute stream)");
	assert_int_equal(number(s, 1, "exposed_ns"), 20);
}

/*
 * On the stream that computes: a row although no stage launched anything, and nothing of it is
 * hidden but what another stream computes meanwhile.
 */
static void test_communication_on_a_compute_stream(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	kernel(s, 7, 400, 420, 2, COMM);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "(compute stream)");
	assert_int_equal(number(s, 0, "rank"), 3);
	assert_int_equal(number(s, 0, "comm_ns"), 20);
	assert_int_equal(number(s, 0, "exposed_ns"), 20);
	assert_int_equal(number(s, 0, "exposed_union_ns"), 20);
	assert_true(percent(s, 0, "overlap") == 0);
	kernel(s, 9, 410, 430, 3, "gemm");
	add_comm(s);
	answer(s, TRAWL_NSYS_OVERLAP, 2);
	assert_text(s, 0, "stage", "stage2_f");
	assert_text(s, 1, "stage", "(compute stream)");
	assert_int_equal(number(s, 1, "exposed_ns"), 10);
	assert_true(percent(s, 1, "overlap") == 50);
	/* Stages come first, however well they are hidden. */
	s->options.by = "stage";
	answer(s, TRAWL_NSYS_OVERLAP, 2);
	assert_text(s, 0, "stage", "stage2_f");
	assert_text(s, 1, "stage", "(compute stream)");
}

/* Q12 */
static void test_streams_of_two_devices(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	kernel_of(s, PID, 1, 7, 340, 360, 2, COMM);
	call(s, 320, 2);
	answer(s, TRAWL_NSYS_STREAMS, 2);
	assert_int_equal(number(s, 0, "device"), 0);
	assert_int_equal(number(s, 1, "device"), 1);
	assert_text(s, 1, "purpose", "ep_a2a");
}

/* Q13 */
static void test_launch_at_time_0(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	range(s, 0, 10, "layer00.stage4_f");
	kernel(s, 8, 340, 360, 2, COMM);
	call(s, 0, 2);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "stage4_f");
}

/* Q17 */
static void test_rules_of_kernels(void **state)
{
	struct scene *s = *state;

	scratch_write(
		&s->scratch, "rules",
		"label\t^rank=([0-9]+)\nwindow\t^forward chunk\nstage\tlayer([0-9]+)\tlayer \\1\n"
		"kernel\t^my_all_to_all$\tcommunication\nkernel\tSendRecv\tcompute\n");
	s->options.rules = scratch_path(&s->scratch, "rules");
	add_rank(s);
	kernel(s, 8, 340, 360, 2, "my_all_to_all");
	call(s, 320, 2);
	kernel(s, 9, 345, 355, 3, COMM);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_text(s, 0, "stage", "layer 05");
	assert_int_equal(number(s, 0, "exposed_ns"), 5);
}

/* Q19: at once on two streams. */
static void test_exposed_union(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	kernel(s, 9, 345, 365, 4, COMM);
	call(s, 321, 4);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "exposed_ns"), 10 + 15);
	assert_int_equal(number(s, 0, "exposed_union_ns"), 15);
	assert_true(percent(s, 0, "overlap") == 37.5);
	assert_true(percent(s, 0, "overlap_min") == 25);
}

/*
 * One rank and one stage on two devices: what nothing hides is united device by device.  Device 0:
 * 340 to 360 and 345 to 365 beside computing until 350; device 1: 345 to 370 beside computing from
 * 360 to 365.
 */
static void test_exposed_union_of_two_devices(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	kernel(s, 9, 345, 365, 4, COMM);
	call(s, 321, 4);
	kernel_of(s, PID, 1, 7, 360, 365, 5, "gemm");
	call(s, 306, 5);
	kernel_of(s, PID, 1, 8, 345, 370, 6, COMM);
	call(s, 322, 6);
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "comm_ns"), 20 + 20 + 25);
	assert_int_equal(number(s, 0, "exposed_ns"), 10 + 15 + 20);
	assert_int_equal(number(s, 0, "exposed_union_ns"), 15 + 20);
	assert_true(percent(s, 0, "overlap_min") == 20);
	assert_true(percent(s, 0, "overlap_max") == 50);
}

/* Two stages on one device at the same time: each has its own union. */
static void test_exposed_union_of_two_stages(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	range(s, 410, 450, "layer06_stage4_f");
	kernel(s, 9, 355, 480, 4, COMM);
	call(s, 420, 4);
	answer(s, TRAWL_NSYS_OVERLAP, 2);
	assert_text(s, 0, "stage", "stage2_f");
	assert_int_equal(number(s, 0, "exposed_union_ns"), 10);
	assert_text(s, 1, "stage", "stage4_f");
	assert_int_equal(number(s, 1, "exposed_union_ns"), 125);
}

/* Two ranks, each a process with a device of the same number. */
static void test_exposed_union_of_two_ranks(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	range_of(s, 200, 201, 0, 1000, LABEL("4"));
	range_of(s, 200, 201, 300, 500, CHUNK);
	range_of(s, 200, 201, 310, 400, "layer06_stage2_f");
	kernel_of(s, 200, 0, 7, 352, 357, 7, "gemm");
	call_of(s, 200, 201, 306, 7, "cudaLaunchKernelExC_v11060");
	kernel_of(s, 200, 0, 8, 350, 370, 8, COMM);
	call_of(s, 200, 201, 320, 8, "cudaLaunchKernelExC_v11060");
	answer(s, TRAWL_NSYS_OVERLAP, 2);
	assert_int_equal(number(s, 0, "rank"), 3);
	assert_int_equal(number(s, 0, "exposed_union_ns"), 10);
	assert_int_equal(number(s, 1, "rank"), 4);
	assert_int_equal(number(s, 1, "exposed_union_ns"), 15);
}

/* Q20 */
static void test_bytes_that_are_no_text(void **state)
{
	struct scene *s = *state;

	range(s, 0, 1000, LABEL("3"));
	run(s,
	    "INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid) VALUES(300, 500, "
	    "59, CAST(x'666f7277617264206368756e6b20ff206261636b77617264206368756e6b' AS TEXT), "
	    "%lld)",
	    (long long)gid(s, PID, TID));
	answer(s, TRAWL_NSYS_WINDOWS, 1);
	assert_text(s, 0, "name", "forward chunk \xff backward chunk");
}

/* Purposes that differ make a stream mixed. */
static void test_mixed_stream(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	range(s, 410, 430, "pipeline send/recv");
	kernel(s, 8, 430, 440, 5, COMM);
	call(s, 420, 5);
	kernel(s, 10, 430, 440, 6, COMM);
	call(s, 421, 6);
	answer(s, TRAWL_NSYS_STREAMS, 3);
	assert_text(s, 1, "purpose", "mixed");
	assert_text(s, 2, "purpose", "pp_p2p");
}

/* Text where numbers belong, times that cannot be: left out and told. */
static void test_odd_rows(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	run(s,
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, globalPid) "
	    "VALUES('soon', 5, 6), (-9223372036854775807, 9223372036854775807, %lld)",
	    (long long)gid(s, PID, 0));
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "exposed_ns"), 10);
	assert_non_null(strstr(s->left_out.ptr, "KERNEL: 2 rows"));
}

/* ---- over ranks */

static struct trawl_table *grouped(struct scene *s, const char *by)
{
	struct trawl_table *setup, *out;
	struct tw_nsys_source source = { .shared = trawl_allocator_default() };
	struct tw_scope scope;

	answer(s, TRAWL_NSYS_SETUP, 2);
	setup = s->table;
	s->table = NULL;
	answer(s, TRAWL_NSYS_OVERLAP, 3);
	tw_scope_begin(&scope, source.shared);
	source.allocator = &scope.allocator;
	if (tw_nsys_group(&out, TRAWL_NSYS_OVERLAP, by, s->table, setup, &source, &s->err))
		fail_msg("%s", s->err.message);
	tw_scope_end(&scope);
	trawl_table_free(setup);
	trawl_table_free(s->table);
	s->table = out;
	return out;
}

/*
 * Rank 3: stage2_f shows 10 of 20 ns, stage4_f 125 of 125.  Rank 4, whose window is longer: stage2_f
 * shows 15 of 20.
 */
static void test_overlap_over_ranks(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	range(s, 410, 450, "layer06_stage4_f");
	kernel(s, 9, 355, 480, 4, COMM);
	call(s, 420, 4);
	range_of(s, 200, 201, 0, 1000, LABEL("4"));
	range_of(s, 200, 201, 290, 510, CHUNK);
	range_of(s, 200, 201, 310, 400, "layer06_stage2_f");
	kernel_of(s, 200, 0, 7, 352, 357, 7, "gemm");
	call_of(s, 200, 201, 306, 7, "cudaLaunchKernelExC_v11060");
	kernel_of(s, 200, 0, 8, 350, 370, 8, COMM);
	call_of(s, 200, 201, 320, 8, "cudaLaunchKernelExC_v11060");

	assert_int_equal(trawl_table_rows(grouped(s, "pp")), 1);
	assert_text(s, 0, "pp", "1");
	assert_int_equal(number(s, 0, "ranks"), 2);
	assert_int_equal(number(s, 0, "comm_ns"), 20 + 125 + 20);
	assert_int_equal(number(s, 0, "exposed_ns"), 10 + 125 + 15);
	assert_true(percent(s, 0, "overlap") == 100. * 15 / 165);
	assert_true(percent(s, 0, "overlap_median") == 25);
	assert_int_equal(number(s, 0, "worst_rank"), 3);
	assert_int_equal(number(s, 0, "worst_exposed_ns"), 135);
	assert_int_equal(number(s, 0, "window_start"), 290);
	assert_int_equal(number(s, 0, "window_end"), 510);

	/* The least overlap first. */
	assert_int_equal(trawl_table_rows(grouped(s, "stage")), 2);
	assert_text(s, 0, "stage", "stage4_f");
	assert_int_equal(number(s, 0, "ranks"), 1);
	assert_true(percent(s, 0, "overlap") == 0);
	assert_text(s, 1, "stage", "stage2_f");
	assert_int_equal(number(s, 1, "ranks"), 2);
	assert_true(percent(s, 1, "overlap") == 37.5);
	assert_int_equal(number(s, 1, "worst_rank"), 4);
	assert_int_equal(number(s, 1, "worst_exposed_ns"), 15);

	assert_int_equal(trawl_table_rows(grouped(s, "rank")), 2);
	assert_text(s, 0, "rank", "3");
	assert_int_equal(number(s, 0, "exposed_ns"), 135);
	assert_int_equal(number(s, 0, "window_start"), 300);
	assert_text(s, 1, "rank", "4");
	assert_int_equal(number(s, 1, "exposed_ns"), 15);
}

/* Of 16 ranks and processes each is named, of more the first 16. */
static void test_notes_of_many_ranks(void **state)
{
	struct scene *s = *state;
	int i;

	for (i = 0; i < 17; i++) {
		char label[80];

		snprintf(label, sizeof(label), "rank=%d; pp=1/2 dp=0/1", i);
		range_of(s, 200 + i, 1, 0, 1000, label);
		range_of(s, 200 + i, 1, 300 + i, 500, CHUNK);
		range_of(s, 300 + i, 1, 0, 10, "loads data");
		answer(s, TRAWL_NSYS_OVERLAP, 0);
		if (i != 15)
			continue;
		assert_true(noted(s, "rank 15: 315 to 500"));
		assert_false(noted(s, "more ranks"));
		assert_true(noted(s, "16 processes with ranges but no rank label: pid 300"));
		assert_true(noted(s, ", 315"));
		assert_false(noted(s, ", ..."));
	}
	assert_true(noted(s, "rank 15: 315 to 500"));
	assert_false(noted(s, "rank 16: "));
	assert_true(noted(s, "1 more windows: see the columns"));
	assert_true(noted(s, "17 processes with ranges but no rank label: pid 300"));
	assert_true(noted(s, ", 315, ..."));
}

/* Two in the window, one behind it. */
static void test_kernels_without_a_name(void **state)
{
	struct scene *s = *state;

	add_rank(s);
	add_comm(s);
	kernel(s, 9, 355, 357, 5, "first");
	kernel(s, 9, 358, 359, 6, "second");
	kernel(s, 9, 520, 530, 7, "third");
	run(s, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName=999, shortName=999 "
	       "WHERE correlationId >= 5");
	answer(s, TRAWL_NSYS_OVERLAP, 1);
	assert_int_equal(number(s, 0, "exposed_ns"), 10 - 2 - 1);
	assert_true(noted(s, "kernels without a name, counted as compute: 2"));
}

/* Options that make no sense are refused before the file is looked at. */
static void test_options_that_are_refused(void **state)
{
	struct scene *s = *state;
	const struct trawl_nsys_options fine = s->options;

	add_rank(s);
	s->options.by = "stage";
	assert_int_equal(ask(s, TRAWL_NSYS_OVERLAP), 0);
	assert_int_equal(ask(s, TRAWL_NSYS_STREAMS), TRAWL_EUSAGE);
	assert_null(s->table);
	assert_string_equal(s->err.message, "unknown grouping 'stage'; groupings: purpose, "
					    "rank, pp, dp, cp, ep, tp");
	assert_int_equal(ask(s, TRAWL_NSYS_SETUP), TRAWL_EUSAGE);
	s->options.compat = true;
	assert_int_equal(ask(s, TRAWL_NSYS_OVERLAP), TRAWL_EUSAGE);
	s->options = fine;
	s->options.rules = "no-such-trainer";
	assert_int_equal(ask(s, TRAWL_NSYS_SETUP), TRAWL_EUSAGE);
	s->options.compat = true;
	assert_int_equal(ask(s, TRAWL_NSYS_SETUP), TRAWL_EUSAGE);
	s->options = fine;
	s->options.window = true;
	s->options.start_ns = 10;
	s->options.end_ns = 9;
	assert_int_equal(ask(s, TRAWL_NSYS_WINDOWS), TRAWL_EUSAGE);
	s->options = fine;
	assert_int_equal(ask(s, TRAWL_NSYS_OVERLAP + 1), TRAWL_EUSAGE);
}

static void test_defaults_and_files_that_are_none(void **state)
{
	struct scene *s = *state;
	struct trawl_table *table;
	struct trawl_error err;

	add_rank(s);
	scratch_write(&s->scratch, "trace.json", "[]");
	assert_int_equal(trawl_nsys_query(&table, TRAWL_NSYS_SETUP,
					  scratch_path(&s->scratch, "a.sqlite"), NULL, &err),
			 0);
	assert_int_equal(trawl_table_rows(table), 1);
	trawl_table_free(table);
	assert_true(trawl_nsys_is_export(scratch_path(&s->scratch, "a.sqlite")));
	assert_false(trawl_nsys_is_export(scratch_path(&s->scratch, "trace.json")));
	assert_int_not_equal(trawl_nsys_query(&table, TRAWL_NSYS_SETUP,
					      scratch_path(&s->scratch, "trace.json"), NULL, &err),
			     0);
	assert_null(table);
	assert_int_equal(trawl_nsys_query(&table, TRAWL_NSYS_SETUP,
					  scratch_path(&s->scratch, "absent.sqlite"), NULL, &err),
			 TRAWL_EIO);
	assert_null(table);
}

/* Whichever allocation fails, it is told, and nothing is lost. */
static void test_no_memory(void **state)
{
	struct scene *s = *state;
	struct failing failing;
	int mode, status;
	long n;

	add_rank(s);
	add_comm(s);
	kernel(s, 9, 345, 365, 4, COMM);
	range(s, 420, -1, "layer00.stage1_b");
	s->options.threads = 1;
	s->options.allocator = &failing.allocator;
	for (mode = 0; mode < 4; mode++) {
		s->options.compat = mode == 3;
		s->options.window = mode == 2;
		s->options.end_ns = 1000;
		if (mode == 1)
			run(s, "DELETE FROM NVTX_EVENTS WHERE text LIKE 'rank%%'");
		if (mode == 2)
			run(s, "DELETE FROM NVTX_EVENTS");
		if (mode == 3) {
			add_rank(s);
			range(s, 319, 322, "layer00.stage1_b");
		}
		for (n = 0;; n++) {
			failing_init(&failing, n);
			status = ask(s, TRAWL_NSYS_OVERLAP);
			trawl_table_free(s->table);
			s->table = NULL;
			assert_int_equal(failing.live_blocks, 0);
			assert_false(failing.wrong_size);
			if (!failing.failed)
				break;
			assert_int_equal(status, TRAWL_ENOMEM);
		}
		if (status)
			fail_msg("mode %d: %s", mode, s->err.message);
		assert_true(n > 20);
	}
	s->options.allocator = NULL;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_one_rank),
		TEST(test_host_bits),
		TEST(test_labels_anywhere),
		TEST(test_of_many_ranks_400_characters_are_named),
		TEST(test_window_from_time_0),
		TEST(test_rank_without_window),
		TEST(test_open_ranges),
		TEST(test_open_ranges_until_a_call),
		TEST(test_process_of_the_original),
		TEST(test_overlap_of_the_original),
		TEST(test_rank_that_is_not_there),
		TEST(test_busiest_range),
		TEST(test_range_that_is_repeated),
		TEST(test_busiest_range_of_the_program),
		TEST(test_too_many_kinds_of_ranges),
		TEST(test_middle_of_the_trace),
		TEST(test_other_presets),
		TEST(test_tables_that_are_not_there),
		TEST(test_edges),
		TEST(test_stage_behind_other_ranges),
		TEST(test_launching_thread_first),
		TEST(test_several_calls_with_one_id),
		TEST(test_capitals),
		TEST(test_communication_on_a_compute_stream),
		TEST(test_streams_of_two_devices),
		TEST(test_launch_at_time_0),
		TEST(test_rules_of_kernels),
		TEST(test_exposed_union),
		TEST(test_exposed_union_of_two_devices),
		TEST(test_exposed_union_of_two_stages),
		TEST(test_exposed_union_of_two_ranks),
		TEST(test_bytes_that_are_no_text),
		TEST(test_mixed_stream),
		TEST(test_odd_rows),
		TEST(test_overlap_over_ranks),
		TEST(test_notes_of_many_ranks),
		TEST(test_kernels_without_a_name),
		TEST(test_options_that_are_refused),
		TEST(test_defaults_and_files_that_are_none),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
