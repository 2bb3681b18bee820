/*
 * The Kineto reader on good text: what is written down comes out, however the text is laid out
 * and wherever the blocks that it comes in are cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/str.h"
#include "in_parts.h"
#include "instrumented.h"
#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- help ---- */

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

static int try_read(struct trawl_trace **out, const char *text, size_t len, size_t block_size,
		    const struct trawl_allocator *allocator)
{
	const struct trawl_read_options read = { .allocator = allocator, .threads = 1 };
	const struct tw_feed_options options = { .allocator = allocator,
						 .block_size = block_size,
						 .end = -1 };
	struct trawl_trace *trace = tw_trace_new(allocator);
	struct tw_feed *feed;
	int status;

	*out = NULL;
	if (!trace)
		return TRAWL_ENOMEM;
	status = tw_feed_open_memory(&feed, text, len, &options, NULL);
	if (!status)
		status = tw_kineto_read(trace, feed, &read, NULL);
	if (!status && tw_trace_finish(trace))
		status = TRAWL_ENOMEM;
	if (status)
		trawl_trace_free(trace);
	else
		*out = trace;
	return status;
}

static struct trawl_trace *read_text(const char *text, size_t len, size_t block_size)
{
	struct trawl_trace *trace;

	assert_int_equal(try_read(&trace, text, len, block_size, trawl_allocator_default()), 0);
	/* Parts differ by where they begin: windows of all and of a few bytes tell what others do. */
	if (!block_size || block_size == 7 || full_run())
		assert_same_in_parts(trace, text, len, block_size);
	return trace;
}

static void add_id(struct tw_str *out, const struct trawl_trace *trace, tw_code code)
{
	char buffer[24];
	const char *text;
	size_t len;

	tw_str_add_char(out, ' ');
	if (code == TW_CODE_NONE) {
		tw_str_add_char(out, '-');
		return;
	}
	text = tw_code_text(trace, code, buffer, &len);
	tw_str_add(out, text, len);
}

static void add_time(struct tw_str *out, int64_t ns)
{
	tw_str_add_char(out, ' ');
	if (ns == TRAWL_TIME_NONE)
		tw_str_add_char(out, '-');
	else
		tw_str_add_int(out, ns);
}

/* JSON without the blanks outside its strings. */
static void add_dense(struct tw_str *out, const char *text, size_t len)
{
	bool in_string = false;
	size_t i;

	for (i = 0; i < len; i++) {
		if (!in_string && strchr(" \t\r\n", text[i]))
			continue;
		tw_str_add_char(out, text[i]);
		if (in_string && text[i] == '\\' && i + 1 < len)
			tw_str_add_char(out, text[++i]);
		else if (text[i] == '"')
			in_string = !in_string;
	}
}

static void add_argument(struct tw_str *out, const struct trawl_trace *trace,
			 const struct trawl_argument *arg)
{
	size_t len;
	const char *text = tw_pool_text(&trace->texts, arg->key, &len);

	tw_str_add_char(out, ' ');
	tw_str_add(out, text, len);
	tw_str_add_char(out, '=');
	text = tw_pool_text(&trace->texts, arg->text, &len);
	switch (arg->kind) {
	case TRAWL_VALUE_NULL:
		tw_str_add_cstr(out, "null");
		break;
	case TRAWL_VALUE_BOOL:
		tw_str_add_cstr(out, arg->integer ? "true" : "false");
		break;
	case TRAWL_VALUE_INTEGER:
		tw_str_add_int(out, arg->integer);
		break;
	case TRAWL_VALUE_REAL:
		tw_str_addf(out, "%.17g", arg->real);
		break;
	case TRAWL_VALUE_TEXT:
		tw_str_add_char(out, '\'');
		tw_str_add(out, text, len);
		tw_str_add_char(out, '\'');
		break;
	case TRAWL_VALUE_NUMBER:
		tw_str_add(out, text, len);
		break;
	case TRAWL_VALUE_JSON:
		add_dense(out, text, len);
		break;
	}
}

/*
 * An event in a line: phase, 'category', class, 'name', pid, tid, device, stream, start and
 * duration in ns, correlation, External id, arguments; '-' for what is not told.
 */
static void add_event(struct tw_str *out, const struct trawl_trace *trace, uint64_t i)
{
	const struct tw_events *e = &trace->events;
	const struct tw_track *track = &trace->tracks[e->track[i]];
	size_t at = (size_t)e->args[i] * TW_ARGS_ALIGN, len;
	const char *text;
	struct trawl_argument arg;

	tw_str_add_char(out, e->phase[i] ? (char)e->phase[i] : '0');
	text = tw_pool_text(&trace->texts, trace->categories[e->category[i]].name, &len);
	tw_str_add_cstr(out, " '");
	tw_str_add(out, text, len);
	tw_str_addf(out, "' %d '", (int)tw_class(trace, i));
	text = tw_pool_text(&trace->texts, e->name[i], &len);
	tw_str_add(out, text, len);
	tw_str_add_cstr(out, "'");
	add_id(out, trace, track->pid);
	add_id(out, trace, track->tid);
	add_id(out, trace, track->device);
	add_id(out, trace, track->stream);
	add_time(out, e->start_ns[i]);
	add_time(out, e->dur_ns[i]);
	add_id(out, trace, e->correlation[i]);
	add_id(out, trace, e->external[i]);
	while (at && tw_args_next(&trace->args, &at, &arg))
		add_argument(out, trace, &arg);
	tw_str_add_char(out, '\n');
}

static void dump(struct tw_str *out, const struct trawl_trace *trace)
{
	uint64_t i;

	tw_str_init(out, trawl_allocator_default());
	for (i = 0; i < trace->events.count; i++)
		add_event(out, trace, i);
	tw_str_add_cstr(out, "");
}

/* The record as "kind:count kind:count". */
static void dump_defects(struct tw_str *out, const struct trawl_trace *trace)
{
	size_t i;

	tw_str_init(out, trawl_allocator_default());
	for (i = 0; i < trawl_trace_defects(trace); i++) {
		struct trawl_defect defect = trawl_trace_defect(trace, i);

		tw_str_addf(out, "%s%s:%lld", i ? " " : "", defect.kind, (long long)defect.count);
	}
	tw_str_add_cstr(out, "");
}

static void same_text(const char *what, size_t block_size, const struct tw_str *got,
		      const char *right)
{
	size_t len = strlen(right);

	if (got->len != len || memcmp(got->ptr ? got->ptr : "", right, len))
		print_error("%s, blocks of %zu bytes, got:\n%.3000s\nright:\n%.3000s\n", what,
			    block_size, got->ptr, right);
	assert_int_equal(got->len, len);
	assert_memory_equal(got->ptr ? got->ptr : "", right, len);
}

static void check_once(const char *what, const char *text, size_t len, size_t block_size,
		       const char *right, const char *defects)
{
	struct trawl_trace *trace = read_text(text, len, block_size);
	struct tw_str got;

	dump(&got, trace);
	same_text(what, block_size, &got, right);
	tw_str_release(&got);
	if (defects) {
		dump_defects(&got, trace);
		same_text(what, block_size, &got, defects);
		tw_str_release(&got);
	}
	assert_int_equal(trace->bytes, len);
	trawl_trace_free(trace);
}

/* The same whatever the block size. */
static void check(const char *what, const char *text, const char *right, const char *defects)
{
	static const size_t sizes[] = { 0, 4096, 64, 7, 1 };
	size_t len = strlen(text), i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		/* One block that holds all is like another. */
		if (sizes[i] <= len || full_run())
			check_once(what, text, len, sizes[i], right, defects);
}

/* And cut at more places, in windows that do not begin with an event. */
static void check_all(const char *what, const char *text, const char *right, const char *defects)
{
	static const size_t sizes[] = { 2, 3, 5, 11, 13, 17, 31, 47, 97 };
	size_t i;

	check(what, text, right, defects);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_once(what, text, strlen(text), sizes[i], right, defects);
}

/* ---- the layout of the PyTorch profiler ---- */

#define NATIVE_EVENTS                                                                           \
	"  {\n"                                                                                 \
	"    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 4242, "       \
	"\"tid\": 4243,\n"                                                                      \
	"    \"ts\": 6341077425389.367, \"dur\": 12.540,\n"                                     \
	"    \"args\": {\n"                                                                     \
	"      \"External id\": 17,\"Record function id\": 0, \"Concrete Inputs\": "            \
	"[\"\", \"a b\"], \"Input Dims\": [[2, 3], [3, 4]], \"Sequence number\": -1\n"          \
	"    }\n"                                                                               \
	"  },\n"                                                                                \
	"  {\n"                                                                                 \
	"    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "        \
	"\"pid\": 4242, \"tid\": 4243,\n"                                                       \
	"    \"ts\": 6341077425391.001, \"dur\": 3,\n"                                          \
	"    \"args\": {\n"                                                                     \
	"      \"External id\": 17, \"cbid\": 211, \"correlation\": 9001\n"                     \
	"    }\n"                                                                               \
	"  },\n"                                                                                \
	"  {\n"                                                                                 \
	"    \"ph\": \"s\", \"id\": 9001, \"pid\": 4242, \"tid\": 4243, "                       \
	"\"ts\": 6341077425391.001,\n"                                                          \
	"    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n"                                           \
	"  },\n"                                                                                \
	"  {\n"                                                                                 \
	"    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void gemm<float, 128>(float*)\", " \
	"\"pid\": 1, \"tid\": 7,\n"                                                             \
	"    \"ts\": 6341077425400.5, \"dur\": 5.75,\n"                                         \
	"    \"args\": {\n"                                                                     \
	"      \"External id\": 17, \"queued\": 0, \"device\": 1, \"context\": 1, "             \
	"\"stream\": 7, \"correlation\": 9001, \"blocks per SM\": 0.25, "                       \
	"\"grid\": [2, 1, 1]\n"                                                                 \
	"    }\n"                                                                               \
	"  },\n"                                                                                \
	"  {\n"                                                                                 \
	"    \"ph\": \"f\", \"id\": 9001, \"pid\": 1, \"tid\": 7, "                             \
	"\"ts\": 6341077425400.500,\n"                                                          \
	"    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n"                            \
	"  },\n"                                                                                \
	"  {\n"                                                                                 \
	"    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": 6341077425389.367, "            \
	"\"pid\": 4242, \"tid\": 0,\n"                                                          \
	"    \"args\": {\n"                                                                     \
	"      \"name\": \"python\"\n"                                                          \
	"    }\n"                                                                               \
	"  },\n"                                                                                \
	"  {\n"                                                                                 \
	"    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": 6341077425000.000, \"dur\": 900,\n"     \
	"    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n"                              \
	"    \"name\": \"PyTorch Profiler (0)\",\n"                                             \
	"    \"args\": {\n"                                                                     \
	"      \"Op count\": 0\n"                                                               \
	"    }\n"                                                                               \
	"  },\n"                                                                                \
	"  {\n"                                                                                 \
	"    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"                   \
	"    \"pid\": \"\", \"tid\": \"\", \"ts\": 6341077426000.000\n"                         \
	"  }\n"

#define NATIVE_BEFORE                                                                           \
	"{\n"                                                                                   \
	"  \"schemaVersion\": 1,\n"                                                             \
	"  \"deviceProperties\": [\n"                                                           \
	"    {\n"                                                                               \
	"      \"id\": 0, \"name\": \"NVIDIA H100 \\u00e9\", \"totalGlobalMem\": 84929347584\n" \
	"    }\n"                                                                               \
	"  ],\n"                                                                                \
	"  \"record_shapes\": 1,\n"                                                             \
	"  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8},\n"     \
	"  \"displayTimeUnit\": \"ms\",\n"                                                      \
	"  \"baseTimeNanoseconds\": 1723542154000000000,\n"

#define NATIVE_AFTER                            \
	",\n"                                   \
	"  \"traceName\": \"/tmp/x\\\"}.json\"" \
	"\n}\n"

#define NATIVE NATIVE_BEFORE "  \"traceEvents\": [\n" NATIVE_EVENTS "  ]" NATIVE_AFTER

static const char native_right[] =
	"X 'cpu_op' 1 'aten::mm' 4242 4243 - - 6341077425389367 12540 - 17 "
	"Sequence number=-1 Record function id=0 Concrete Inputs=[\"\",\"a b\"] "
	"Input Dims=[[2,3],[3,4]]\n"
	"X 'cuda_runtime' 2 'cudaLaunchKernel' 4242 4243 - - 6341077425391001 3000 9001 17 "
	"cbid=211\n"
	"s 'ac2g' 0 'ac2g' 4242 4243 - - 6341077425391001 - 9001 -\n"
	"X 'kernel' 7 'void gemm<float, 128>(float*)' 1 7 1 7 6341077425400500 5750 9001 17 "
	"queued=0 device=1 context=1 stream=7 blocks per SM=0.25 grid=[2,1,1]\n"
	"f 'ac2g' 0 'ac2g' 1 7 - - 6341077425400500 - 9001 -\n"
	"M '' 0 'process_name' 4242 0 - - 6341077425389367 - - - name='python'\n"
	"X 'Trace' 0 'PyTorch Profiler (0)' Spans PyTorch Profiler - - 6341077425000000 900000 - - "
	"Op count=0\n"
	"i '' 0 'Record Window End' - - - - 6341077426000000 - - -\n";

static void field_is(const struct trawl_trace *trace, const char *key, const char *right)
{
	size_t len;
	const char *field = tw_trace_field(trace, key, &len);

	assert_non_null(field);
	assert_int_equal(len, strlen(right));
	assert_string_equal(field, right);
}

static void check_facts(const char *text, size_t block_size)
{
	struct trawl_trace *trace = read_text(text, strlen(text), block_size);

	field_is(trace, "schemaVersion", "1");
	field_is(trace, "traceName", "\"/tmp/x\\\"}.json\"");
	field_is(trace, "displayTimeUnit", "\"ms\"");
	assert_int_equal(trace->field_count, 7);
	assert_int_equal(trace->rank, 3);
	assert_int_equal(trace->world_size, 8);
	assert_int_equal(trace->base_time_ns, 1723542154000000000);
	assert_string_equal(trace->device_name, "NVIDIA H100 \xc3\xa9");
	assert_string_equal(trace->format, "Kineto JSON");
	trawl_trace_free(trace);
}

static void test_native(void **state)
{
	(void)state;
	check_all("native", NATIVE, native_right, "");
	check_facts(NATIVE, 0);
	check_facts(NATIVE, 1);
	check_facts(NATIVE, 7);
}

/* Blanks outside strings: all taken away, or others put in at random. */
static void lay_out(struct tw_str *out, const char *text, bool spread)
{
	static const char *const blanks[] = {
		"",	   "",
		" ",	   "\n",
		"\r\n",	   "\t",
		"  \n\t ", "                                                            "
	};
	struct tw_str dense;
	bool in_string = false;
	size_t i;

	tw_str_init(&dense, trawl_allocator_default());
	tw_str_init(out, trawl_allocator_default());
	add_dense(&dense, text, strlen(text));
	for (i = 0; i < dense.len; i++) {
		char c = dense.ptr[i];
		bool mark = !in_string && strchr("{}[],:", c);

		if (mark && spread)
			tw_str_add_cstr(out, blanks[random_below(8)]);
		tw_str_add_char(out, c);
		if (mark && spread)
			tw_str_add_cstr(out, blanks[random_below(8)]);
		if (in_string && c == '\\')
			tw_str_add_char(out, dense.ptr[++i]);
		else if (c == '"')
			in_string = !in_string;
	}
	tw_str_release(&dense);
}

static void test_layouts(void **state)
{
	struct tw_str text;
	int round;

	(void)state;
	lay_out(&text, NATIVE, false);
	check_all("dense", text.ptr, native_right, "");
	check_facts(text.ptr, 1);
	tw_str_release(&text);
	for (round = 0; round < 40; round++) {
		lay_out(&text, NATIVE, true);
		check("spread", text.ptr, native_right, "");
		tw_str_release(&text);
	}
}

static void test_documents(void **state)
{
	(void)state;
	check("bare list", "[" NATIVE_EVENTS "]", native_right, "");
	check("bare list with blanks around", "\r\n\t [\n" NATIVE_EVENTS "\n] \n", native_right,
	      "");
	/* "The final ] is optional" in a bare list. */
	check("bare list without an end", "[" NATIVE_EVENTS, native_right, "");
	check("only events", "{\"traceEvents\":[" NATIVE_EVENTS "]}", native_right, "");
	check("all before", NATIVE_BEFORE "\"traceName\":1,\"traceEvents\":[" NATIVE_EVENTS "]}",
	      native_right, "");
	check("all after", "{\"traceEvents\":[" NATIVE_EVENTS "],\"a\":1,\"b\":[{}],\"c\":null}",
	      native_right, "");
	check("a key with escapes", "{\"trace\\u0045vents\":[" NATIVE_EVENTS "]}", native_right,
	      "");
	check("no events", "{\"schemaVersion\":1,\"traceEvents\":[]}", "", "");
	check("no events in a bare list", "[]", "", "");
	check("blank events", "{\"traceEvents\": [ \n ] , \"a\" : 1 }", "", "");
	/* Events in something else are none of the trace. */
	check("a list of the name in a field",
	      "{\"other\":{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"wrong\"}]},"
	      "\"text\":\"{\\\"traceEvents\\\":[{\\\"ph\\\":\\\"X\\\"}]}\",\"traceEvents\":[" NATIVE_EVENTS
	      "]}",
	      native_right, "");
}

static void no_trace(const char *text, int right)
{
	static const size_t sizes[] = { 0, 7, 1 };
	size_t i;

	for (i = 0; i < 3; i++) {
		struct trawl_trace *trace;

		assert_int_equal(try_read(&trace, text, strlen(text), sizes[i],
					  trawl_allocator_default()),
				 right);
		assert_null(trace);
	}
}

static void test_no_trace(void **state)
{
	(void)state;
	no_trace(" \n", TRAWL_EFORMAT);
	no_trace("hello", TRAWL_EFORMAT);
	no_trace("5", TRAWL_EFORMAT);
	/* Whole JSON of something else is no broken trace. */
	no_trace("{}", TRAWL_ENODATA);
	no_trace("{\"a\":1}", TRAWL_ENODATA);
	no_trace("{\"a\":[{\"ph\":\"X\"}]}", TRAWL_ENODATA);
	no_trace("{\"traceEvents\":5}", TRAWL_ENODATA);
	no_trace("{\"traceEvents\":null}", TRAWL_ENODATA);
	no_trace("{\"traceEvents\"", TRAWL_EFORMAT);
	no_trace("{", TRAWL_EFORMAT);
	no_trace("{a", TRAWL_EFORMAT);
}

/* ---- fields ---- */

/* One event a list, to see one thing at a time. */
static void event_is(const char *event, const char *right, const char *defects)
{
	char text[2048], line[2048];

	snprintf(text, sizeof(text), "[%s]", event);
	snprintf(line, sizeof(line), "%s\n", right);
	check(event, text, line, defects);
	/* The same again behind itself: now the places of its keys are foreseen. */
	snprintf(text, sizeof(text), "[%s,%s]", event, event);
	snprintf(line, sizeof(line), "%s\n%s\n", right, right);
	check_once(event, text, strlen(text), 0, line, NULL);
	check_once(event, text, strlen(text), 1, line, NULL);
}

#define HOST "\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":1"
#define GPU "\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"n\",\"pid\":3,\"tid\":4,\"ts\":5,\"dur\":1"
#define HOST_RIGHT "X 'cpu_op' 1 'n' 1 2 - - 5000 1000"
#define GPU_RIGHT(device, stream) "X 'kernel' 7 'n' 3 4 " device " " stream " 5000 1000"

static void test_key_order(void **state)
{
	(void)state;
	event_is("{" HOST "}", HOST_RIGHT " - -", "");
	event_is("{\"dur\":1,\"ts\":5,\"tid\":2,\"pid\":1,\"name\":\"n\",\"cat\":\"cpu_op\","
		 "\"ph\":\"X\"}",
		 HOST_RIGHT " - -", "");
	/* What the arguments mean for a kernel is known only behind them. */
	event_is("{\"args\":{\"stream\":9,\"device\":8,\"correlation\":6,\"x\":\"y\"},\"dur\":1,"
		 "\"tid\":4,\"ts\":5,\"pid\":3,\"name\":\"n\",\"cat\":\"kernel\",\"ph\":\"X\"}",
		 GPU_RIGHT("8", "9") " 6 - stream=9 device=8 x='y'", "");
	event_is("{\"args\":{\"x\":1},\"cat\":\"cpu_op\",\"ph\":\"X\",\"ts\":5,\"dur\":1,"
		 "\"name\":\"n\",\"tid\":2,\"pid\":1}",
		 HOST_RIGHT " - - x=1", "");
	event_is("{}", "0 '' 0 '' - - - - - - - -", "not_an_event:1");
	event_is("{\"unknown\":{\"ph\":\"X\",\"args\":{\"a\":1}}," HOST ",\"other\":[\"ts\",7]}",
		 HOST_RIGHT " - -", "");
}

static void test_escaped_keys(void **state)
{
	(void)state;
	event_is(
		"{\"\\u0070h\":\"X\",\"c\\u0061t\":\"cpu\\u005fop\",\"name\":\"\\u006e\",\"pid\":1,"
		"\"tid\":2,\"t\\u0073\":5,\"dur\":1,\"\\u0061rgs\":{\"correl\\u0061tion\":8,"
		"\"a\\\"b\":2,\"c\\\\\":3}}",
		HOST_RIGHT " 8 - a\"b=2 c\\=3", "");
	/* Another key all the same. */
	event_is("{" HOST ",\"ph \":\"Y\",\"Ph\":\"Y\",\"phx\":\"Y\",\"p\":\"Y\",\"\":\"Y\","
		 "\"ph\\u0000\":\"Y\"}",
		 HOST_RIGHT " - -", "");
}

static void test_duplicate_keys(void **state)
{
	(void)state;
	event_is("{\"ph\":\"M\",\"cat\":\"kernel\",\"name\":\"m\",\"pid\":7,\"tid\":8,\"ts\":9,"
		 "\"dur\":10," HOST "}",
		 HOST_RIGHT " - -", "duplicate_key:7");
	event_is("{" HOST ",\"args\":{\"a\":1,\"correlation\":5,\"External id\":6},"
		 "\"args\":{\"b\":2}}",
		 HOST_RIGHT " - - b=2", "duplicate_key:1");
	event_is("{" GPU ",\"args\":{\"stream\":1,\"device\":5},\"args\":{\"x\":2}}",
		 GPU_RIGHT("3", "4") " - - x=2", "duplicate_key:1");
	event_is("{" HOST ",\"args\":{\"a\":1},\"args\":null}", HOST_RIGHT " - -",
		 "duplicate_key:1");
	/* Unknown keys are of no use, once or twice. */
	event_is("{" HOST ",\"zz\":1,\"zz\":2}", HOST_RIGHT " - -", "");
}

static void test_ids(void **state)
{
	static const struct {
		const char *json, *right, *defects;
	} ids[] = {
		{ "0", "0", "" },
		{ "7", "7", "" },
		{ "\"7\"", "7", "" },
		{ "007", "7", "" },
		{ "-1", "-1", "" },
		{ "\"-1\"", "-1", "" },
		{ "2147483647", "2147483647", "" },
		{ "2147483648", "2147483648", "" },
		{ "\"2147483648\"", "2147483648", "" },
		{ "4294967295", "4294967295", "" },
		{ "4294967296", "4294967296", "" },
		{ "9007199254740993", "9007199254740993", "" },
		{ "999999999999999999", "999999999999999999", "" },
		{ "1000000000000000000", "1000000000000000000", "" },
		{ "9223372036854775807", "9223372036854775807", "" },
		{ "9223372036854775808", "9223372036854775808", "" },
		{ "-9223372036854775808", "-9223372036854775808", "" },
		{ "18446744073709551615", "18446744073709551615", "" },
		{ "18446744073709551616", "18446744073709551616", "wide_id:1" },
		{ "-9223372036854775809", "-9223372036854775809", "wide_id:1" },
		{ "123456789012345678901234567890", "123456789012345678901234567890", "wide_id:1" },
		{ "5.0", "5", "wide_id:1" },
		{ "5e2", "500", "wide_id:1" },
		{ "5.5", "5.5", "wide_id:1" },
		{ "\"main thread\"", "main thread", "" },
		{ "\"a\\\"b\"", "a\"b", "" },
		{ "\"\"", "-", "" },
		{ "null", "-", "" },
		{ "true", "-", "" },
		{ "[1]", "[1]", "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char text[512], right[512], twice[64] = "";

		snprintf(text, sizeof(text),
			 "{\"ph\":\"M\",\"name\":\"n\",\"pid\":%s,\"tid\":1,\"ts\":5}",
			 ids[i].json);
		snprintf(right, sizeof(right), "M '' 0 'n' %s 1 - - 5000 - - -", ids[i].right);
		event_is(text, right, ids[i].defects);
		/* The thread too, and blanks before the values. */
		if (*ids[i].defects)
			snprintf(twice, sizeof(twice), "wide_id:2");
		snprintf(text, sizeof(text),
			 "{\"ph\":\"M\",\"name\":\"n\",\"pid\": %s,\"tid\":\n%s\t,\"ts\":5}",
			 ids[i].json, ids[i].json);
		snprintf(right, sizeof(right), "M '' 0 'n' %s %s - - 5000 - - -", ids[i].right,
			 ids[i].right);
		event_is(text, right, twice);
	}
}

static void test_links(void **state)
{
	static const struct {
		const char *json, *right, *defects;
	} links[] = {
		{ "1", "1", "" },
		{ "\"1\"", "1", "" },
		{ "4294967294", "4294967294", "" },
		{ "4294967296", "4294967296", "" },
		{ "9223372036854775807", "9223372036854775807", "" },
		{ "18446744073709551614", "18446744073709551614", "" },
		{ "\"abc\"", "abc", "" },
		{ "7.0", "7", "wide_id:1" },
		/* None. */
		{ "0", "-", "" },
		{ "\"0\"", "-", "" },
		{ "-1", "-", "" },
		{ "\"-1\"", "-", "" },
		{ "-5", "-", "" },
		{ "4294967295", "-", "" },
		{ "\"4294967295\"", "-", "" },
		{ "18446744073709551615", "-", "" },
		{ "\"18446744073709551615\"", "-", "" },
		{ "0.0", "-", "" },
		{ "null", "-", "" },
		{ "\"\"", "-", "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		char text[512], right[512];

		snprintf(text, sizeof(text), "{" HOST ",\"args\":{\"correlation\":%s,\"x\":1}}",
			 links[i].json);
		snprintf(right, sizeof(right), HOST_RIGHT " %s - x=1", links[i].right);
		event_is(text, right, links[i].defects);
		snprintf(text, sizeof(text), "{" HOST ",\"args\":{\"External id\":%s}}",
			 links[i].json);
		snprintf(right, sizeof(right), HOST_RIGHT " - %s", links[i].right);
		event_is(text, right, links[i].defects);
		/* As it was written in 2021. */
		snprintf(text, sizeof(text), "{" HOST ",\"args\":{\"external id\":%s}}",
			 links[i].json);
		event_is(text, right, links[i].defects);
	}
}

static void test_gpu_places(void **state)
{
	(void)state;
	event_is("{" GPU "}", GPU_RIGHT("3", "4") " - -", "");
	event_is("{" GPU ",\"args\":{\"device\":0,\"stream\":7}}",
		 GPU_RIGHT("0", "7") " - - device=0 stream=7", "");
	event_is("{" GPU ",\"args\":{\"stream\":\"0x12\"}}",
		 GPU_RIGHT("3", "0x12") " - - stream='0x12'", "");
	event_is("{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"n\",\"pid\":3,\"tid\":\"stream 7\","
		 "\"ts\":5,\"dur\":1}",
		 "X 'Kernel' 7 'n' 3 stream 7 3 7 5000 1000 - -", "");
	event_is("{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"n\",\"pid\":3,\"tid\":4,\"ts\":5,"
		 "\"dur\":1,\"args\":{\"stream\":9}}",
		 "X 'gpu_memcpy' 8 'n' 3 4 3 9 5000 1000 - - stream=9", "");
	event_is("{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"n\",\"pid\":3,\"tid\":4,\"ts\":5,"
		 "\"dur\":1}",
		 "X 'gpu_memset' 9 'n' 3 4 3 4 5000 1000 - -", "");
	event_is("{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"n\",\"pid\":3,\"tid\":4,"
		 "\"ts\":5,\"dur\":1}",
		 "X 'gpu_user_annotation' 6 'n' 3 4 3 4 5000 1000 - -", "");
}

static void test_times(void **state)
{
	static const struct {
		const char *json, *right, *defects;
	} times[] = {
		{ "0", "0", "" },
		{ "5", "5000", "" },
		{ " 5 ", "5000", "" },
		{ "5.1", "5100", "" },
		{ "5.12", "5120", "" },
		{ "5.123", "5123", "" },
		{ "5.1234", "5123", "" },
		{ "5.1235", "5124", "" },
		{ "5.000000000000000001", "5000", "" },
		{ "5e3", "5000000", "" },
		{ "5.5E-1", "550", "" },
		{ "1.5e+2", "150000", "" },
		{ "-5.25", "-5250", "" },
		{ "123456789012345", "123456789012345000", "" },
		{ "123456789012345.678", "123456789012345678", "" },
		{ "1723542154000000.5", "1723542154000000500", "" },
		{ "0001723542154000.5", "1723542154000500", "" },
		{ "\"5\"", "5000", "time_as_text:1" },
		{ "\"6341077425389.367\"", "6341077425389367", "time_as_text:1" },
		{ "\" 5.5 \"", "5500", "time_as_text:1" },
		{ "\"1e3\"", "1000000", "time_as_text:1" },
		{ "\"-2.5\"", "-2500", "time_as_text:1" },
		{ "\"\"", "-", "" },
		{ "\"5 us\"", "-", "" },
		{ "null", "-", "" },
		{ "[5]", "-", "" },
		{ "{\"a\":5}", "-", "" },
		{ "true", "-", "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		char text[512], right[512], defects[64] = "";

		snprintf(text, sizeof(text),
			 "{\"ph\":\"i\",\"name\":\"n\",\"pid\":1,\"ts\":%s,\"tid\":2}",
			 times[i].json);
		snprintf(right, sizeof(right), "i '' 0 'n' 1 2 - - %s - - -", times[i].right);
		event_is(text, right, times[i].defects);
		if (!strcmp(times[i].right, "-") || times[i].right[0] == '-')
			continue;
		if (*times[i].defects)
			snprintf(defects, sizeof(defects), "time_as_text:2");
		snprintf(text, sizeof(text),
			 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"tid\":2,"
			 "\"ts\":%s,\"dur\":%s}",
			 times[i].json, times[i].json);
		snprintf(right, sizeof(right), "X 'cpu_op' 1 'n' 1 2 - - %s %s - -", times[i].right,
			 times[i].right);
		/* A duration of two thousand years is another matter. */
		if (strlen(times[i].right) < 15)
			event_is(text, right, defects);
	}
}

static void test_argument_values(void **state)
{
	static const struct {
		const char *json, *right;
	} values[] = {
		{ "0", "0" },
		{ "-0", "0" },
		{ "-128", "-128" },
		{ "128", "128" },
		{ "2147483648", "2147483648" },
		{ "-999999999999999999", "-999999999999999999" },
		{ "999999999999999999", "999999999999999999" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "18446744073709551615", "18446744073709551615" },
		{ "123456789012345678901234567890", "123456789012345678901234567890" },
		{ "0.5", "0.5" },
		{ "-1.25e3", "-1250" },
		{ "1e22", "1e+22" },
		{ "true", "true" },
		{ "false", "false" },
		{ "null", "null" },
		{ "\"\"", "''" },
		{ "\"a\"", "'a'" },
		{ "\"a, \\\"b\\\": {}\"", "'a, \"b\": {}'" },
		{ "\"\\\\\"", "'\\'" },
		{ "\"\\u20ac \\ud83d\\ude00\"", "'\xe2\x82\xac \xf0\x9f\x98\x80'" },
		{ "\"\xe2\x82\xac\"", "'\xe2\x82\xac'" },
		{ "[]", "[]" },
		{ "{}", "{}" },
		{ "[[1, 2], []]", "[[1,2],[]]" },
		{ "{\"a\": {\"b\": \"}\"}}", "{\"a\":{\"b\":\"}\"}}" },
		{ "[\"]\", \"\\\"]\", \"\\\\\"]", "[\"]\",\"\\\"]\",\"\\\\\"]" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char text[512], right[512];

		snprintf(text, sizeof(text), "{" HOST ",\"args\":{\"k\":%s}}", values[i].json);
		snprintf(right, sizeof(right), HOST_RIGHT " - - k=%s", values[i].right);
		event_is(text, right, "");
		snprintf(text, sizeof(text),
			 "{" HOST ",\"args\":{\"a\": \n%s ,\"Input Dims\":\t%s}}", values[i].json,
			 values[i].json);
		snprintf(right, sizeof(right), HOST_RIGHT " - - a=%s Input Dims=%s",
			 values[i].right, values[i].right);
		event_is(text, right, "");
	}
	/* Arguments that are no object hold none. */
	event_is("{" HOST ",\"args\":null}", HOST_RIGHT " - -", "");
	event_is("{" HOST ",\"args\":[1,{\"a\":2}]}", HOST_RIGHT " - -", "");
	event_is("{" HOST ",\"args\":\"a\"}", HOST_RIGHT " - -", "");
	event_is("{" HOST ",\"args\":{}}", HOST_RIGHT " - -", "");
	event_is("{" HOST ",\"args\":{ }}", HOST_RIGHT " - -", "");
	event_is("{" HOST ",\"args\":{\"correlation\":3}}", HOST_RIGHT " 3 -", "");
}

static void test_labels(void **state)
{
	(void)state;
	event_is("{\"ph\":\"M\",\"name\":5,\"cat\":[1]}", "M '[1]' 0 '5' - - - - - - - -", "");
	event_is("{\"ph\":\"M\",\"name\":null,\"cat\":null}", "M '' 0 '' - - - - - - - -", "");
	event_is("{\"ph\":\"M\",\"name\":\"\"}", "M '' 0 '' - - - - - - - -", "");
	event_is("{\"ph\":\"M\",\"name\":\"\\u0061\\n\\\"\"}", "M '' 0 'a\n\"' - - - - - - - -",
		 "");
	event_is("{\"ph\":\"long\",\"name\":\"n\"}", "? '' 0 'n' - - - - - - - -", "");
	event_is("{\"ph\":\"X\",\"name\":\"n\",\"ts\":1,\"dur\":2}",
		 "X '' 0 'n' - - - - 1000 2000 - -", "no_category:1");
	event_is("{\"ph\":\"X\",\"cat\":\"CPU_OP\",\"name\":\"n\",\"ts\":1,\"dur\":2}",
		 "X 'CPU_OP' 1 'n' - - - - 1000 2000 - -", "");
	event_is("{\"ph\":\"X\",\"cat\":\"cpu_ops\",\"name\":\"n\",\"ts\":1,\"dur\":2}",
		 "X 'cpu_ops' 0 'n' - - - - 1000 2000 - -", "");
	event_is("{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"n\",\"ts\":1,\"dur\":2}",
		 "X 'cuda_driver' 3 'n' - - - - 1000 2000 - -", "");
	event_is("{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"n\",\"ts\":1,\"dur\":2}",
		 "X 'python_function' 4 'n' - - - - 1000 2000 - -", "");
	event_is("{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"n\",\"ts\":1,\"dur\":2}",
		 "X 'user_annotation' 5 'n' - - - - 1000 2000 - -", "");
}

/* ---- foreseen keys ---- */

/* Where an event goes on differently from the last of its kind, after the same key. */
static void test_foreseen_keys(void **state)
{
	(void)state;
	check_all(
		"ends where the last went on",
		"[{\"ph\":\"M\",\"name\":\"a\",\"pid\":1,\"tid\":2},{\"ph\":\"M\",\"name\":\"b\"},"
		"{\"ph\":\"M\",\"name\":\"c\",\"pid\":3,\"tid\":4},{\"ph\":\"M\"},{\"ph\":\"M\","
		"\"name\":\"d\",\"pid\":5},{\"ph\":\"M\",\"name\":\"e\",\"pid\":6,\"tid\":7}]",
		"M '' 0 'a' 1 2 - - - - - -\nM '' 0 'b' - - - - - - - -\n"
		"M '' 0 'c' 3 4 - - - - - -\nM '' 0 '' - - - - - - - -\n"
		"M '' 0 'd' 5 - - - - - - -\nM '' 0 'e' 6 7 - - - - - -\n",
		"");
	check_all("arguments that end where the last went on",
		  "[{" HOST ",\"args\":{\"a\":1,\"b\":2}},{" HOST ",\"args\":{\"a\":3}},{" HOST
		  ",\"args\":{\"a\":4,\"b\":5}},{" HOST ",\"args\":{}},{" HOST
		  ",\"args\":{\"a\":6,\"b\":7,\"c\":8}},{" HOST "},{" HOST ",\"args\":{\"a\":9}}]",
		  HOST_RIGHT " - - a=1 b=2\n" HOST_RIGHT " - - a=3\n" HOST_RIGHT
			     " - - a=4 b=5\n" HOST_RIGHT " - -\n" HOST_RIGHT
			     " - - a=6 b=7 c=8\n" HOST_RIGHT " - -\n" HOST_RIGHT " - - a=9\n",
		  "");
	check_all("keys that begin alike",
		  "[{" HOST ",\"args\":{\"a\":1,\"Input Dims\":2}},{" HOST
		  ",\"args\":{\"a\":1,\"Input type\":2}},{" HOST
		  ",\"args\":{\"a\":1,\"Input Dims2\":2}},{" HOST
		  ",\"args\":{\"a\":1,\"Input\":2}},{" HOST
		  ",\"args\":{\"a\":1,\"Input Dim\":2}},{" HOST
		  ",\"args\":{\"a\":1,\"Input Dims\":2}}]",
		  HOST_RIGHT " - - a=1 Input Dims=2\n" HOST_RIGHT
			     " - - a=1 Input type=2\n" HOST_RIGHT
			     " - - a=1 Input Dims2=2\n" HOST_RIGHT " - - a=1 Input=2\n" HOST_RIGHT
			     " - - a=1 Input Dim=2\n" HOST_RIGHT " - - a=1 Input Dims=2\n",
		  "");
	check_all(
		"the same keys with other blanks",
		"[{\"ph\":\"M\",\"name\":\"a\",\"pid\":1},{\"ph\": \"M\", \"name\": \"b\", \"pid\": 2"
		"},\n{\"ph\":\"M\" ,\"name\" :\"c\",\"pid\":\t3 },{ \"ph\":\"M\",\n\"name\":\n\"d\""
		"\n,\"pid\"\n:4\n},{\"ph\":\"M\",\"name\":\"e\",\"pid\":5}]",
		"M '' 0 'a' 1 - - - - - - -\nM '' 0 'b' 2 - - - - - - -\n"
		"M '' 0 'c' 3 - - - - - - -\nM '' 0 'd' 4 - - - - - - -\n"
		"M '' 0 'e' 5 - - - - - - -\n",
		"");
	/* A value that looks like what follows a value. */
	check_all(
		"texts that look like keys",
		"[{\"ph\":\"M\",\"name\":\"a\",\"pid\":1},{\"ph\":\"M\",\"name\":\",\\\"pid\\\":1\","
		"\"pid\":2},{\"ph\":\"M\",\"name\":\"\",\"pid\":3},{\"ph\":\"M\",\"name\":\"}\"}]",
		"M '' 0 'a' 1 - - - - - - -\nM '' 0 ',\"pid\":1' 2 - - - - - - -\n"
		"M '' 0 '' 3 - - - - - - -\nM '' 0 '}' - - - - - - - -\n",
		"");
}

/* ---- at random ---- */

/* A way to write something down, and what it is. */
struct spelling {
	const char *json, *right;
};

static const struct spelling names[] = {
	{ "\"aten::mm\"", "aten::mm" },
	{ "\"\"", "" },
	{ "\"a\\\"b\"", "a\"b" },
	{ "\"}\"", "}" },
	{ "\"{\\\"ph\\\":\"", "{\"ph\":" },
	{ "\"C:\\\\\"", "C:\\" },
	{ "\"\xc3\xa9\"", "\xc3\xa9" },
	{ "\"\\u00E9\"", "\xc3\xa9" },
	{ "\"],\"", "]," },
	{ "\"a text longer than sixteen bytes\"", "a text longer than sixteen bytes" },
};
static const struct spelling random_ids[] = {
	{ "0", "0" },
	{ "1", "1" },
	{ "\"1\"", "1" },
	{ "2147483647", "2147483647" },
	{ "2147483648", "2147483648" },
	{ "9007199254740993", "9007199254740993" },
	{ "18446744073709551615", "18446744073709551615" },
	{ "-7", "-7" },
	{ "\"Trace\"", "Trace" },
	{ "null", "-" },
};
static const struct spelling random_times[] = {
	{ "0", "0" },
	{ "1", "1000" },
	{ "1.5", "1500" },
	{ "12.345", "12345" },
	{ "6341077425.367", "6341077425367" },
	{ "1e2", "100000" },
	{ "0.0005", "1" },
	{ "100000000000", "100000000000000" },
};
static const struct spelling random_values[] = {
	{ "1", "1" },
	{ "-5", "-5" },
	{ "70000", "70000" },
	{ "12345678901", "12345678901" },
	{ "1.5", "1.5" },
	{ "1e3", "1000" },
	{ "\"x\"", "'x'" },
	{ "\",\\\"a\\\":1\"", "',\"a\":1'" },
	{ "\"\"", "''" },
	{ "true", "true" },
	{ "null", "null" },
	{ "[]", "[]" },
	{ "[[1,2],\"]}\"]", "[[1,2],\"]}\"]" },
	{ "{\"a\":{}}", "{\"a\":{}}" },
};
static const char *const random_keys[] = {
	"a",	"ab", "abc",  "Input Dims", "Input type",     "Input Dim",
	"cbid", "b",  "name", "ph",	    "Concrete Inputs"
};
static const struct {
	const char *name;
	int class;
} random_categories[] = { { "cpu_op", 1 },	   { "cuda_runtime", 2 }, { "python_function", 4 },
			  { "kernel", 7 },	   { "gpu_memcpy", 8 },	  { "ac2g", 0 },
			  { "user_annotation", 5 } };

#define PICK(list) (&(list)[random_below(sizeof(list) / sizeof((list)[0]))])

static const char *random_blank(unsigned style)
{
	static const char *const blanks[] = { "", " ", "\n    ", "\t", "  " };

	/* Mostly the same at the same place, as in a real trace. */
	return blanks[random_below(8) ? style % 5 : random_below(5)];
}

static void add_member(struct tw_str *out, const char *key, const char *json, unsigned style)
{
	tw_str_addf(out, "%s\"%s\"%s:%s%s%s", random_blank(style), key, random_blank(style / 3),
		    random_blank(style / 5), json, random_blank(style / 7));
}

static void add_random_args(struct tw_str *json, struct tw_str *right, unsigned style,
			    const char **correlation)
{
	unsigned n = random_below(6), link = random_below(2 * n + 1), i;

	tw_str_add_cstr(json, "{");
	for (i = 0; i < n; i++) {
		const struct spelling *value = PICK(random_values);
		const char *key = *PICK(random_keys);

		if (i)
			tw_str_add_cstr(json, ",");
		if (i == link) {
			*correlation = "77";
			add_member(json, "correlation", "77", style);
			continue;
		}
		add_member(json, key, value->json, style);
		tw_str_addf(right, " %s=%s", key, value->right);
	}
	tw_str_addf(json, "%s}", random_blank(style));
}

/* Adds an event to the text and its line to what is right. */
static void add_random_event(struct tw_str *json, struct tw_str *right, unsigned style)
{
	const struct spelling *name = PICK(names), *pid = PICK(random_ids), *tid = PICK(random_ids);
	const struct spelling *ts = PICK(random_times), *dur = PICK(random_times);
	unsigned kind = random_below(sizeof(random_categories) / sizeof(random_categories[0]));
	const char *correlation = "-";
	struct tw_str args, args_right, fields[8];
	bool gpu = random_categories[kind].class >= 7;
	/* Time 0 and duration 0 mean that times were lost; of some events fields are left out. */
	unsigned count = gpu ? 8 : 7 + random_below(2), i;

	if (gpu && ts->right[0] == '0')
		ts = &random_times[1];
	tw_str_init(&args, trawl_allocator_default());
	tw_str_init(&args_right, trawl_allocator_default());
	tw_str_add_cstr(&args_right, "");
	for (i = 0; i < 8; i++)
		tw_str_init(&fields[i], trawl_allocator_default());
	add_member(&fields[0], "ph", "\"X\"", style);
	tw_str_addf(&args, "\"%s\"", random_categories[kind].name);
	add_member(&fields[1], "cat", args.ptr, style);
	tw_str_clear(&args);
	add_member(&fields[2], "name", name->json, style);
	add_member(&fields[3], "pid", pid->json, style);
	add_member(&fields[4], "tid", tid->json, style);
	add_member(&fields[5], "ts", ts->json, style);
	add_member(&fields[6], "dur", dur->json, style);
	if (count == 8) {
		add_random_args(&args, &args_right, style, &correlation);
		add_member(&fields[7], "args", args.ptr, style);
	}
	/* Mostly in one order. */
	for (i = random_below(4) ? 0 : count; i > 1; i--) {
		unsigned other = random_below(i);
		struct tw_str swap = fields[i - 1];

		fields[i - 1] = fields[other];
		fields[other] = swap;
	}
	for (i = 0; i < count; i++)
		tw_str_addf(json, "%s%s", i ? "," : "{", fields[i].ptr);
	tw_str_addf(json, "%s}", random_blank(style));
	tw_str_addf(right, "X '%s' %d '%s' %s %s %s %s %s %s %s -%s\n",
		    random_categories[kind].name, random_categories[kind].class, name->right,
		    pid->right, tid->right, gpu ? pid->right : "-", gpu ? tid->right : "-",
		    ts->right, dur->right, correlation, args_right.ptr);
	tw_str_release(&args);
	tw_str_release(&args_right);
	for (i = 0; i < 8; i++)
		tw_str_release(&fields[i]);
}

static void test_random(void **state)
{
	int round, rounds = full_run() ? 150 : 60;

	(void)state;
	for (round = 0; round < rounds; round++) {
		unsigned style = random_below(1000), count = random_below(30), i;
		struct tw_str json, right;

		tw_str_init(&json, trawl_allocator_default());
		tw_str_init(&right, trawl_allocator_default());
		tw_str_add_cstr(&json, round % 2 ? "{\"traceEvents\":[" : "[");
		tw_str_add_cstr(&right, "");
		for (i = 0; i < count; i++) {
			if (i)
				tw_str_addf(&json, "%s,%s", random_blank(style),
					    random_blank(style));
			add_random_event(&json, &right, style);
		}
		tw_str_add_cstr(&json, round % 2 ? "]}" : "]");
		check("random", json.ptr, right.ptr, "");
		tw_str_release(&json);
		tw_str_release(&right);
	}
}

/* ---- begin and end ---- */

#define EDGE(ph, name, tid, ts)                                                               \
	"{\"ph\":\"" ph "\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid \
	",\"ts\":" #ts "}"
#define EDGE_RIGHT(ph, name, tid, start, dur) \
	ph " 'cpu_op' 1 '" name "' 1 " #tid " - - " #start "000 " dur " - -\n"

static void test_begin_and_end(void **state)
{
	(void)state;
	check_all("nested and on two threads",
		  "[" EDGE("B", "a", 1, 10) "," EDGE("B", "b", 1, 12) "," EDGE(
			  "B", "c", 2,
			  11) "," EDGE("E", "", 1, 15) "," EDGE("E", "", 2, 30) "," EDGE("E", "", 1,
											 20) "]",
		  EDGE_RIGHT("X", "a", 1, 10, "10000") EDGE_RIGHT("X", "b", 1, 12, "3000")
			  EDGE_RIGHT("X", "c", 2, 11, "19000") EDGE_RIGHT("E", "", 1, 15, "-")
				  EDGE_RIGHT("E", "", 2, 30, "-") EDGE_RIGHT("E", "", 1, 20, "-"),
		  "");
	check_all("ends before begins in the text",
		  "[" EDGE("E", "", 1, 20) "," EDGE("B", "a", 1, 10) "]",
		  EDGE_RIGHT("E", "", 1, 20, "-") EDGE_RIGHT("X", "a", 1, 10, "10000"), "");
	check_all("one after the other",
		  "[" EDGE("B", "a", 1, 10) "," EDGE("E", "", 1, 20) "," EDGE(
			  "B", "b", 1, 20) "," EDGE("E", "", 1, 25) "]",
		  EDGE_RIGHT("X", "a", 1, 10, "10000") EDGE_RIGHT("E", "", 1, 20, "-")
			  EDGE_RIGHT("X", "b", 1, 20, "5000") EDGE_RIGHT("E", "", 1, 25, "-"),
		  "");
	check_all("open at both sides",
		  "[" EDGE("E", "", 1, 5) "," EDGE("B", "a", 1, 10) "," EDGE(
			  "B", "b", 1, 12) "," EDGE("E", "", 1, 15) "," EDGE("E", "", 2, 15) "]",
		  EDGE_RIGHT("x", "", 1, 5, "-") EDGE_RIGHT("x", "a", 1, 10, "-")
			  EDGE_RIGHT("X", "b", 1, 12, "3000") EDGE_RIGHT("E", "", 1, 15, "-")
				  EDGE_RIGHT("x", "", 2, 15, "-"),
		  "open_event:3");
}

/* ---- large ---- */

static void add_repeated(struct tw_str *out, const char *text, size_t times)
{
	while (times--)
		tw_str_add_cstr(out, text);
}

/* An event made of three texts in the middle of others; blocks of all sizes. */
static void check_large(const char *what, const char *before, const char *piece, size_t times,
			const char *after, const char *right_before, const char *right_piece,
			const char *right_after)
{
	struct tw_str text, right;

	tw_str_init(&text, trawl_allocator_default());
	tw_str_init(&right, trawl_allocator_default());
	tw_str_add_cstr(&text, "{\"traceEvents\":[{" HOST "},");
	tw_str_add_cstr(&text, before);
	add_repeated(&text, piece, times);
	tw_str_add_cstr(&text, after);
	tw_str_add_cstr(&text, ",{" HOST ",\"args\":{\"a\":1}}]}");
	tw_str_add_cstr(&right, HOST_RIGHT " - -\n");
	tw_str_add_cstr(&right, right_before);
	add_repeated(&right, right_piece, times);
	tw_str_add_cstr(&right, right_after);
	tw_str_add_cstr(&right, HOST_RIGHT " - - a=1\n");
	assert_false(text.failed || right.failed);
	check(what, text.ptr, right.ptr, "");
	tw_str_release(&text);
	tw_str_release(&right);
}

static void test_large(void **state)
{
	(void)state;
	check_large("a name of 300 KB", "{\"ph\":\"M\",\"name\":\"", "0123456789", 30000, "\"}",
		    "M '' 0 '", "0123456789", "' - - - - - - - -\n");
	check_large("a name of 300 KB with escapes", "{\"ph\":\"M\",\"name\":\"", "01234\\n\\u0041",
		    25000, "\"}", "M '' 0 '", "01234\nA", "' - - - - - - - -\n");
	check_large("an event of 2 MB", "{" HOST ",\"args\":{\"a\":[0", ",[1,2,\"]\"]", 180000,
		    "]}}", HOST_RIGHT " - - a=[0", ",[1,2,\"]\"]", "]\n");
	check_large("an event of 150,000 arguments", "{" HOST ",\"args\":{\"a\":0", ",\"b\": 1.5",
		    150000, "}}", HOST_RIGHT " - - a=0", " b=1.5", "\n");
	check_large("a field of 2 MB that is of no use", "{" HOST ",\"zz\":\"", "0123456789",
		    200000, "\"}", HOST_RIGHT " - -\n", "", "");
	check_large("blanks for 1 MB", "{\"ph\":\"M\",", "\n         ", 100000, "\"name\":\"n\"}",
		    "M '' 0 'n' - - - - - - - -\n", "", "");
}

static void test_deep(void **state)
{
	struct tw_str text, right;
	const size_t depth = 10000;

	(void)state;
	tw_str_init(&text, trawl_allocator_default());
	tw_str_init(&right, trawl_allocator_default());
	tw_str_add_cstr(&text, "{\"before\":");
	add_repeated(&text, "{\"a\":[", depth);
	add_repeated(&text, "]}", depth);
	tw_str_add_cstr(&text, ",\"traceEvents\":[{" HOST ",\"args\":{\"a\":");
	add_repeated(&text, "[", depth);
	tw_str_add_cstr(&text, "7");
	add_repeated(&text, "]", depth);
	tw_str_add_cstr(&text, ",\"b\":1},\"unknown\":");
	add_repeated(&text, "[{\"ph\":", depth);
	tw_str_add_cstr(&text, "7");
	add_repeated(&text, "}]", depth);
	tw_str_add_cstr(&text, "},{" HOST "}],\"after\":");
	add_repeated(&text, "[", depth);
	add_repeated(&text, "]", depth);
	tw_str_add_cstr(&text, "}");
	tw_str_add_cstr(&right, HOST_RIGHT " - - a=");
	add_repeated(&right, "[", depth);
	tw_str_add_cstr(&right, "7");
	add_repeated(&right, "]", depth);
	tw_str_add_cstr(&right, " b=1\n" HOST_RIGHT " - -\n");
	check("nesting of 10,000", text.ptr, right.ptr, "");
	tw_str_release(&text);
	tw_str_release(&right);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native),	       cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_documents),      cmocka_unit_test(test_no_trace),
		cmocka_unit_test(test_key_order),      cmocka_unit_test(test_escaped_keys),
		cmocka_unit_test(test_duplicate_keys), cmocka_unit_test(test_ids),
		cmocka_unit_test(test_links),	       cmocka_unit_test(test_gpu_places),
		cmocka_unit_test(test_times),	       cmocka_unit_test(test_argument_values),
		cmocka_unit_test(test_labels),	       cmocka_unit_test(test_foreseen_keys),
		cmocka_unit_test(test_random),	       cmocka_unit_test(test_begin_and_end),
		cmocka_unit_test(test_large),	       cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
