/* Exports of Nsight Systems: small databases made here, with what must come of them by hand. */
#include "derive/derived.h"
#include "failing.h"
#include "scratch.h"
#include "trawl/trace.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct scratch scratch;

/* Process 77 and 78 of host 1, thread 7 of each. */
#define P "281474976710656+77*16777216"
#define Q "281474976710656+78*16777216"
#define T P "+7"
#define U Q "+7"

#define KERNELS                                                                                \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,contextId,greenContextId," \
	"streamId,correlationId,globalPid,demangledName,shortName,registersPerThread,gridX,"   \
	"gridY,gridZ,blockX,blockY,blockZ,staticSharedMemory,dynamicSharedMemory);"
#define KERNEL(values) "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" values ");"
#define SHAPE ",1,1,32,4,5,6,7,8,9,100,20"
#define CALLS                                                                      \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start,end,eventClass,globalTid," \
	"correlationId,nameId,returnValue);"
#define CALL(values) "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(" values ");"
#define RANGES                                                                         \
	"CREATE TABLE NVTX_EVENTS(start,end,eventType,globalTid,text,textId,domainId," \
	"jsonText,int64Value,uint64Value,doubleValue);"
#define RANGE(values) "INSERT INTO NVTX_EVENTS VALUES(" values ");"
#define TEXTS                                                                              \
	"CREATE TABLE StringIds(id INTEGER PRIMARY KEY,value TEXT);INSERT INTO StringIds " \
	"VALUES(1,'gemm'),(2,'cudaLaunchKernel_v7000'),(3,'NCCL'),(4,'ncclAllReduce'),"    \
	"(5,'cuLaunchKernel'),(6,'cudaStreamSynchronize_v3020'),(7,'worker');"

static const char *make(const char *sql)
{
	const char *path = scratch_path(&scratch, "x.sqlite");
	char *message = NULL;
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message))
		fail_msg("%s", message);
	sqlite3_close(db);
	return path;
}

static struct trawl_trace *read_it(const char *sql)
{
	const struct trawl_read_options options = { .threads = 1 };
	struct trawl_error err = { 0 };
	struct trawl_trace *trace;

	if (trawl_trace_read(&trace, make(sql), &options, &err))
		fail_msg("%s", err.message);
	return trace;
}

/* ---- asking */

static const char *text(const struct trawl_trace *trace, uint32_t id)
{
	return trawl_trace_text(trace, id, NULL);
}

/* The n-th event with this phase and class. */
static uint64_t event(const struct trawl_trace *trace, char phase, enum trawl_class class, int n)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		if (trace->events.phase[i] == phase && tw_class(trace, i) == class && !n--)
			return i;
	fail_msg("no such event");
	return 0;
}

static int64_t count(const struct trawl_trace *trace, enum tw_defect kind)
{
	return trace->quality.kinds[kind].count;
}

static void expect_times(const struct trawl_trace *trace, uint64_t i, int64_t start, int64_t dur)
{
	assert_int_equal(trace->events.start_ns[i], start);
	assert_int_equal(trace->events.dur_ns[i], dur);
}

static void expect_name(const struct trawl_trace *trace, uint64_t i, const char *name)
{
	assert_string_equal(text(trace, trace->events.name[i]), name);
}

static void expect_arg(const struct trawl_trace *trace, uint64_t i, uint32_t key, const char *want)
{
	struct trawl_argument arg;
	char buffer[40];

	assert_true(trawl_event_argument(trace, i, key, &arg));
	snprintf(buffer, sizeof(buffer), arg.kind == TRAWL_VALUE_REAL ? "%g" : "%.0f",
		 arg.kind == TRAWL_VALUE_REAL ? arg.real : (double)arg.integer);
	assert_string_equal(arg.kind >= TRAWL_VALUE_TEXT ? text(trace, arg.text) : buffer, want);
}

static const char *code(const struct trawl_trace *trace, tw_code c)
{
	static char buffers[4][32];
	static unsigned next;
	size_t len;

	return tw_code_text(trace, c, buffers[next++ % 4], &len);
}

static void expect_track(const struct trawl_trace *trace, uint64_t i, const char *pid,
			 const char *tid, const char *device, const char *stream)
{
	const struct tw_track *track = &trace->tracks[trace->events.track[i]];

	assert_string_equal(code(trace, track->pid), pid);
	assert_string_equal(code(trace, track->tid), tid);
	assert_string_equal(code(trace, track->device), device);
	assert_string_equal(code(trace, track->stream), stream);
}

/* ---- GPU work and calls */

static void test_kernel(void **state)
{
	struct trawl_trace *trace = read_it(TEXTS KERNELS KERNEL("100,150,0,1,NULL,7,3," P SHAPE)
						    CALLS CALL("90,95,0," T ",3,2,0")
							    CALL("91,94,1," T ",4,5,700"));
	uint64_t i = event(trace, 'X', TRAWL_CLASS_KERNEL, 0);

	(void)state;
	expect_name(trace, i, "gemm");
	expect_times(trace, i, 100, 50);
	expect_track(trace, i, "77", "stream 7", "0", "7");
	assert_int_equal(trace->events.correlation[i], 3);
	expect_arg(trace, i, TW_KEY_context, "1");
	expect_arg(trace, i, TW_KEY_grid, "[4, 5, 6]");
	expect_arg(trace, i, TW_KEY_block, "[7, 8, 9]");
	expect_arg(trace, i, TW_KEY_registers, "32");
	expect_arg(trace, i, TW_KEY_shared_memory, "120");
	i = event(trace, 'X', TRAWL_CLASS_RUNTIME, 0);
	expect_name(trace, i, "cudaLaunchKernel");
	expect_times(trace, i, 90, 5);
	expect_track(trace, i, "77", "7", "", "");
	i = event(trace, 'X', TRAWL_CLASS_DRIVER, 0);
	expect_name(trace, i, "cuLaunchKernel");
	expect_arg(trace, i, TW_KEY_return_value, "700");
	assert_string_equal(trace->format, "Nsight Systems export");
	assert_true(trace->by_process);
	assert_int_equal(count(trace, TW_DEFECT_no_ranges), 1);
	assert_int_equal(count(trace, TW_DEFECT_no_kernels), 0);
	trawl_trace_free(trace);
}

static void test_copies(void **state)
{
	struct trawl_trace *trace = read_it(
		TEXTS
		"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start,end,deviceId,contextId,streamId,"
		"correlationId,globalPid,bytes,copyKind,srcKind,dstKind);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1,5,0,1,7,1," P ",4096,1,0,2),"
		"(6,7,0,1,7,2," P ",64,10,NULL,2),(8,9,0,1,7,2," P ",64,99,2,2);"
		"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start,end,deviceId,contextId,streamId,"
		"correlationId,globalPid,bytes,memKind);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(1,5,0,1,8,3," P ",16,2);"
		"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start,end,deviceId,contextId,"
		"streamId,correlationId,globalPid,syncType);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(1,5,0,1,4294967295,4," P
		",4);");
	uint64_t i = event(trace, 'X', TRAWL_CLASS_MEMCPY, 0);

	(void)state;
	expect_name(trace, i, "Memcpy HtoD (Pageable -> Device)");
	expect_arg(trace, i, TW_KEY_bytes, "4096");
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_MEMCPY, 1), "Memcpy PtoP");
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_MEMCPY, 2),
		    "Memcpy kind 99 (Device -> Device)");
	i = event(trace, 'X', TRAWL_CLASS_MEMSET, 0);
	expect_name(trace, i, "Memset (Device)");
	expect_track(trace, i, "77", "stream 8", "0", "8");
	i = event(trace, 'X', TRAWL_CLASS_OTHER, 0);
	expect_name(trace, i, "Context Sync");
	expect_track(trace, i, "77", "synchronisation", "", "");
	trawl_trace_free(trace);
}

static void test_names_of_kernels(void **state)
{
	/* No text 99; then the short name; then none at all. */
	struct trawl_trace *trace =
		read_it(TEXTS KERNELS KERNEL("1,2,0,1,NULL,7,3," P ",99,4,1,1,1,1,1,1,1,0,0")
				KERNEL("3,4,0,1,NULL,7,3," P ",99,98,1,1,1,1,1,1,1,0,"
				       "0"));

	(void)state;
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_KERNEL, 0), "ncclAllReduce");
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_KERNEL, 1), "");
	assert_int_equal(count(trace, TW_DEFECT_unnamed_kernel), 1);
	trawl_trace_free(trace);
}

static void test_graphs(void **state)
{
	struct trawl_trace *trace = read_it(
		TEXTS "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start,end,deviceId,contextId,"
		      "streamId,correlationId,globalPid,graphId);"
		      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(1,5,0,1,7,1," P ",12),"
		      "(6,0,0,1,7,1," P ",12),(7,NULL,0,1,7,1," P ",12);");

	(void)state;
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_KERNEL, 0), "[CUDA graph 12]");
	assert_int_equal(count(trace, TW_DEFECT_graph_hidden), 1);
	assert_int_equal(count(trace, TW_DEFECT_graph_incomplete), 2);
	assert_int_equal(count(trace, TW_DEFECT_no_kernels), 0);
	trawl_trace_free(trace);
}

/* ---- NVTX */

static void test_ranges(void **state)
{
	struct trawl_trace *trace = read_it(
		TEXTS RANGES RANGE("-50,150,59," T ",'inline',NULL,0,NULL,NULL,NULL,NULL")
			RANGE("10,20,60," T ",NULL,4,1,NULL,NULL,NULL,NULL")
				RANGE("30,NULL,59," T ",'open',NULL,NULL,NULL,NULL,NULL,NULL")
					RANGE("40,50,70," U ",NULL,99,NULL,NULL,NULL,NULL,NULL"));
	uint64_t i = event(trace, 'X', TRAWL_CLASS_ANNOTATION, 0);
	struct trawl_argument arg;

	(void)state;
	expect_name(trace, i, "inline");
	expect_times(trace, i, -50, 200);
	expect_track(trace, i, "77", "7", "", "");
	assert_false(trawl_event_argument(trace, i, TW_KEY_domain, &arg));
	i = event(trace, 'X', TRAWL_CLASS_ANNOTATION, 1);
	expect_name(trace, i, "ncclAllReduce");
	expect_arg(trace, i, TW_KEY_domain, "domain 1");
	/* To the end of the trace. */
	i = event(trace, 'X', TRAWL_CLASS_ANNOTATION, 2);
	expect_times(trace, i, 30, 120);
	assert_int_equal(count(trace, TW_DEFECT_open_range), 1);
	i = event(trace, 'X', TRAWL_CLASS_ANNOTATION, 3);
	expect_name(trace, i, "");
	assert_int_equal(count(trace, TW_DEFECT_unnamed_range), 1);
	assert_string_equal(text(trace, trace->categories[trace->events.category[i]].name),
			    "user_annotation");
	trawl_trace_free(trace);
}

static void test_domains(void **state)
{
	/* Each process has its own numbers; the creation may come later. */
	struct trawl_trace *trace = read_it(
		TEXTS RANGES RANGE("10,20,59," T ",'a',NULL,1,NULL,NULL,NULL,NULL")
			RANGE("10,20,59," U ",'b',NULL,1,NULL,NULL,NULL,NULL")
				RANGE("5,NULL,75," T ",NULL,3,1,NULL,NULL,NULL,NULL")
					RANGE("6,NULL,75," U ",'MPI',NULL,1,NULL,NULL,NULL,NULL"));

	(void)state;
	expect_arg(trace, event(trace, 'X', TRAWL_CLASS_ANNOTATION, 0), TW_KEY_domain, "NCCL");
	expect_arg(trace, event(trace, 'X', TRAWL_CLASS_ANNOTATION, 1), TW_KEY_domain, "MPI");
	trawl_trace_free(trace);
}

static void test_payloads_and_marks(void **state)
{
	struct trawl_trace *trace = read_it(
		TEXTS RANGES RANGE("1,2,59," T ",'a',NULL,0,NULL,-7,NULL,NULL")
			RANGE("3,4,59," T ",'b',NULL,0,NULL,NULL,-1,NULL") RANGE("5,6,59," T
										 ",'c',NULL,0,NULL,"
										 "NULL,NULL,0.5")
				RANGE("7,8,59," T ",'d',NULL,0,'{\"n\": 1}',NULL,NULL,NULL") RANGE(
					"9,NULL,34," T ",'mark',NULL,0,NULL,NULL,NULL,NULL")
					RANGE("9,NULL,33," T ",'category',NULL,0,NULL,NULL,NULL,"
					      "NULL"));
	static const char *const payloads[] = { "-7", "18446744073709551615", "0.5", "{\"n\": 1}" };
	uint64_t i;
	int n;

	(void)state;
	for (n = 0; n < 4; n++)
		expect_arg(trace, event(trace, 'X', TRAWL_CLASS_ANNOTATION, n), TW_KEY_payload,
			   payloads[n]);
	i = event(trace, 'i', TRAWL_CLASS_OTHER, 0);
	expect_name(trace, i, "mark");
	assert_int_equal(trace->events.start_ns[i], 9);
	assert_int_equal(trace->events.count, 5);
	trawl_trace_free(trace);
}

static void test_operations(void **state)
{
#define OPERATION(text) RANGE("1,2,59," T ",'" text "',NULL,0,NULL,NULL,NULL,NULL")
	struct trawl_trace *trace = read_it(
		TEXTS RANGES OPERATION("aten::mm, seq = 5, op_id = 7, sizes = [[2, 3], [3, 4]], "
				       "input_op_ids = [(1,0)]") OPERATION("aten::add, op_id = 8")
			OPERATION("aten::cat, sizes = [[], [-1]]") OPERATION("loss, step 3")
				OPERATION(", seq = 1") OPERATION("x, seq = ")
					OPERATION("Layer, seq = 9, sizes = [[2") RANGE(
						"1,2,60," T ",'aten::mm, seq = 5',NULL,0,NULL,NULL,"
						"NULL,NULL"));
	uint64_t i = event(trace, 'X', TRAWL_CLASS_CPU_OP, 0);
	struct trawl_argument arg;

	(void)state;
	expect_name(trace, i, "aten::mm");
	expect_arg(trace, i, TW_KEY_sequence_number, "5");
	expect_arg(trace, i, TW_KEY_op_id, "7");
	expect_arg(trace, i, TW_KEY_input_dims, "[[2, 3], [3, 4]]");
	i = event(trace, 'X', TRAWL_CLASS_CPU_OP, 1);
	expect_name(trace, i, "aten::add");
	assert_false(trawl_event_argument(trace, i, TW_KEY_sequence_number, &arg));
	i = event(trace, 'X', TRAWL_CLASS_CPU_OP, 2);
	expect_name(trace, i, "aten::cat");
	expect_arg(trace, i, TW_KEY_input_dims, "[[], [-1]]");
	i = event(trace, 'X', TRAWL_CLASS_CPU_OP, 3);
	expect_name(trace, i, "Layer");
	assert_false(trawl_event_argument(trace, i, TW_KEY_input_dims, &arg));
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_ANNOTATION, 0), "loss, step 3");
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_ANNOTATION, 1), ", seq = 1");
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_ANNOTATION, 2), "x, seq = ");
	expect_name(trace, event(trace, 'X', TRAWL_CLASS_ANNOTATION, 3), "aten::mm, seq = 5");
	trawl_trace_free(trace);
}

/* ---- devices, streams, processes */

#define ON(device, context, stream, process) \
	KERNEL("1,2," device "," context ",NULL," stream ",3," process SHAPE)
#define GPUS(values)                                                                                  \
	"CREATE TABLE TARGET_INFO_GPU(id,totalMemory,name);INSERT INTO TARGET_INFO_GPU VALUES" values \
	";"
#define DEVICES(values)                                           \
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId,cudaId,pid);" \
	"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES" values ";"

/* Device and stream of the kernels in order. */
static void expect_streams(const char *sql, const char *const *want)
{
	struct trawl_trace *trace = read_it(sql);
	int n;

	for (n = 0; want[2 * n]; n++) {
		const struct tw_track *track =
			&trace->tracks[trace->events.track[event(trace, 'X', TRAWL_CLASS_KERNEL, n)]];

		assert_string_equal(code(trace, track->device), want[2 * n]);
		assert_string_equal(code(trace, track->stream), want[2 * n + 1]);
	}
	trawl_trace_free(trace);
}

#define EXPECT_STREAMS(sql, ...) \
	expect_streams(TEXTS KERNELS sql, (const char *const[]){ __VA_ARGS__, NULL })

static void test_devices(void **state)
{
	(void)state;
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("1", "1", "7", Q), "0", "7", "1", "7");
	/* Nothing tells whether it is one GPU or two. */
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("0", "1", "7", Q) ON("1", "1", "7", Q), "0 (pid 77)",
		       "7", "0 (pid 78)", "7", "1", "7");
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("0", "1", "7", Q) GPUS("(0,1,'a'),(1,1,'a')"),
		       "0 (pid 77)", "7", "0 (pid 78)", "7");
	/* There is one only. */
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("0", "1", "8", Q) GPUS("(0,1,'a')"), "0", "7", "0",
		       "8");
	/* Told: the same, different ones, one under two numbers. */
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("0", "1", "8", Q) DEVICES("(3,0,77),(3,0,78)"), "0",
		       "7", "0", "8");
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("0", "1", "7", Q) DEVICES("(3,0,77),(5,0,78)"), "3",
		       "7", "5", "7");
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("1", "1", "8", Q) DEVICES("(3,0,77),(3,1,78)"), "3",
		       "7", "3", "8");
	/* Told of one of them only. */
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("0", "1", "7", Q) DEVICES("(3,0,77)"), "0 (pid 77)",
		       "7", "0 (pid 78)", "7");
}

static void test_streams(void **state)
{
	(void)state;
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("0", "2", "7", P) ON("0", "2", "8", P), "0",
		       "7 (context 1)", "0", "7 (context 2)", "0", "8");
	EXPECT_STREAMS(ON("0", "1", "7", P) ON("0", "1", "7", Q) GPUS("(0,1,'a')"), "0",
		       "7 (pid 77)", "0", "7 (pid 78)");
	EXPECT_STREAMS(KERNEL("1,2,0,1,NULL,7,3," P SHAPE) KERNEL("1,2,0,1,4,7,3," P SHAPE), "0",
		       "7 (context 1)", "0", "7 (context 1, green context 4)");
}

static void test_hosts(void **state)
{
	/* The sign bit of the host, and two hosts with a process of one number. */
	struct trawl_trace *trace =
		read_it(TEXTS KERNELS ON("0", "1", "7", "-9223372036854775808+77*16777216"));

	(void)state;
	expect_track(trace, event(trace, 'X', TRAWL_CLASS_KERNEL, 0), "77", "stream 7", "0", "7");
	trawl_trace_free(trace);
	trace = read_it(TEXTS KERNELS ON("0", "1", "7", P)
				ON("0", "1", "7", "2*281474976710656+77*16777216")
					GPUS("(0,1,'a')"));
	expect_track(trace, event(trace, 'X', TRAWL_CLASS_KERNEL, 0), "77 (host 1)", "stream 7",
		     "0 (pid 77, host 1)", "7");
	expect_track(trace, event(trace, 'X', TRAWL_CLASS_KERNEL, 1), "77 (host 2)", "stream 7",
		     "0 (pid 77, host 2)", "7");
	trawl_trace_free(trace);
}

static void test_about(void **state)
{
	struct tw_names names = { 0 };
	struct trawl_trace *trace = read_it(
		TEXTS CALLS CALL("1,2,0," T ",3,2,0") RANGES RANGE("0,NULL,39," U
								   ",'by nvtx',NULL,0,NULL,NULL,"
								   "NULL,NULL")
			GPUS("(0,80,'A'),(1,81,'B')") "CREATE TABLE PROCESSES(globalPid,name);"
						      "INSERT INTO PROCESSES VALUES(" P
						      ",'python'),(5,'init');"
						      "CREATE TABLE ThreadNames(nameId,globalTid);INSERT INTO ThreadNames VALUES(7," T
						      "),(7,5);CREATE TABLE DIAGNOSTIC_EVENT(text);INSERT INTO DIAGNOSTIC_EVENT "
						      "VALUES('fine'),('12 NVTX events lost.'),('Not all CUDA events might have been "
						      "collected.');CREATE TABLE META_DATA_EXPORT(name,value);INSERT INTO "
						      "META_DATA_EXPORT VALUES('EXPORT_PRODUCT_VERSION','2026.2.1');");
	const struct trawl_defect *d;
	size_t i, len;

	(void)state;
	assert_string_equal(trace->device_name, "A");
	assert_int_equal(trace->device_bytes, 80);
	assert_int_equal(count(trace, TW_DEFECT_events_lost), 2);
	assert_string_equal(tw_trace_field(trace, "nsys version", &len), "2026.2.1");
	assert_int_equal(tw_names_build(&names, trace), 0);
	i = trace->events.track[event(trace, 'X', TRAWL_CLASS_RUNTIME, 0)];
	assert_string_equal(text(trace, names.tracks[i].process), "python");
	assert_string_equal(text(trace, names.tracks[i].thread), "worker");
	tw_names_release(&names);
	for (i = 0, d = trace->defects; strcmp(d->kind, "events_lost"); d++)
		assert_true(++i < trace->defect_count);
	assert_string_equal(d->table, "DIAGNOSTIC_EVENT");
	assert_int_equal(d->row, 2);
	trawl_trace_free(trace);
}

/* ---- launches */

/* The start of the call that each kernel is linked to; -1: none. */
static void expect_launches(const char *sql, const int64_t *want)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct trawl_trace *trace = read_it(sql);
	struct trawl_error err;
	struct tw_derived *d;
	uint64_t g;

	assert_int_equal(tw_derive(&d, trace, &options, &err), 0);
	for (g = 0; g < d->gpu.count; g++) {
		uint32_t node = d->gpu.launch[g];

		assert_int_equal(node == TW_NONE ? -1 : trace->events.start_ns[d->host.event[node]],
				 want[g]);
	}
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void test_launches(void **state)
{
	(void)state;
	/* The same id in two processes, and in one without calls. */
	expect_launches(TEXTS KERNELS KERNEL("100,110,0,1,NULL,7,3," P SHAPE)
				KERNEL("120,130,1,1,NULL,7,3," Q SHAPE)
					CALLS CALL("10,20,0," U ",3,2,0")
						CALL("30,40,0," T ",3,2,0"),
			(const int64_t[]){ 30, 10 });
	expect_launches(TEXTS KERNELS KERNEL("100,110,0,1,NULL,7,3," P SHAPE)
				KERNEL("120,130,1,1,NULL,7,3," Q SHAPE)
					CALLS CALL("30,40,0," T ",3,2,0"),
			(const int64_t[]){ 30, -1 });
	/* Several calls: the earliest that launches, also when the clocks disagree. */
	expect_launches(TEXTS KERNELS KERNEL("100,110,0,1,NULL,7,3," P SHAPE)
				CALLS CALL("5,90,0," T ",3,6,0") CALL("30,40,0," T ",3,2,0")
					CALL("20,25,1," T ",3,5,0"),
			(const int64_t[]){ 20 });
	/* No id: no launch. */
	expect_launches(TEXTS KERNELS KERNEL("100,110,0,1,NULL,7,0," P SHAPE)
				KERNEL("120,130,0,1,NULL,7,NULL," P SHAPE)
					KERNEL("140,150,0,1,NULL,7,-1," P SHAPE)
						CALLS CALL("30,40,0," T ",0,2,0")
							CALL("50,60,0," T ",-1,2,0"),
			(const int64_t[]){ -1, -1, -1 });
}

/* ---- parts, interruption, memory */

static int stop(void *context, int64_t bytes, int64_t size)
{
	assert_true(bytes >= 0 && bytes <= size);
	return --*(int *)context < 0;
}

static const char many[] = TEXTS KERNELS
	"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<500) INSERT INTO "
	"CUPTI_ACTIVITY_KIND_KERNEL SELECT n*10,n*10+5,0,1,NULL,n%3,n," P
	",n%5,1,1,n%7,1,1,1,1,1,0,0 "
	"FROM c;" RANGES
	"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<99) INSERT INTO "
	"NVTX_EVENTS SELECT n,CASE WHEN n%9 THEN n+5 END,59+n%2," T
	",CASE WHEN n%4 THEN 'r'||n%6 END,4,n%3,NULL,n,NULL,NULL FROM c;";

static void test_parts(void **state)
{
	static const size_t blocks[] = { 1, 100, 1000 };
	struct trawl_trace *whole = read_it(many);
	size_t b;
	uint64_t i;

	(void)state;
	for (b = 0; b < 3; b++) {
		const struct trawl_read_options options = { .threads = b == 1 ? 1 : 4,
							    .block_size = blocks[b] };
		struct trawl_error err = { 0 };
		struct trawl_trace *parts;

		assert_int_equal(trawl_trace_read(&parts, scratch_path(&scratch, "x.sqlite"),
						  &options, &err),
				 0);
		assert_int_equal(parts->events.count, whole->events.count);
		assert_int_equal(parts->texts.count, whole->texts.count);
		assert_memory_equal(parts->tracks, whole->tracks,
				    whole->track_count * sizeof(*whole->tracks));
		for (i = 0; i < whole->events.count; i++) {
			assert_int_equal(parts->events.start_ns[i], whole->events.start_ns[i]);
			assert_int_equal(parts->events.dur_ns[i], whole->events.dur_ns[i]);
			assert_int_equal(parts->events.name[i], whole->events.name[i]);
			assert_int_equal(parts->events.track[i], whole->events.track[i]);
			assert_int_equal(parts->events.phase[i], whole->events.phase[i]);
		}
		assert_memory_equal(&parts->quality, &whole->quality, sizeof(whole->quality));
		trawl_trace_free(parts);
	}
	trawl_trace_free(whole);
}

static void test_interruption(void **state)
{
	int calls = 3;
	const struct trawl_read_options options = { .threads = 2,
						    .block_size = 64,
						    .progress = stop,
						    .progress_context = &calls };
	struct trawl_error err = { 0 };
	struct trawl_trace *trace;

	(void)state;
	assert_int_equal(trawl_trace_read(&trace, make(many), &options, &err), TRAWL_ECANCELED);
	assert_null(trace);
	assert_non_null(strstr(err.message, "interrupted"));
}

static void test_no_memory(void **state)
{
	const char *path = make(many);
	struct failing failing;
	long n;

	(void)state;
	for (n = 0;; n++) {
		struct trawl_read_options options = { .threads = 1, .block_size = 4096 };
		struct trawl_error err = { 0 };
		struct trawl_trace *trace = NULL;
		int status;

		failing_init(&failing, n);
		options.allocator = &failing.allocator;
		status = trawl_trace_read(&trace, path, &options, &err);
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		trawl_trace_free(trace);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
	}
	assert_true(n > 50);
}

static int setup(void **state)
{
	(void)state;
	scratch_make(&scratch);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&scratch);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_names_of_kernels),
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_payloads_and_marks),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_about),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_interruption),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
