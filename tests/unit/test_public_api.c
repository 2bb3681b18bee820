/* The library as its users see it: nothing but trawl/trawl.h, a file, tables, files. */
#include <trawl/trawl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"

static const char text[] =
	"{\"deviceProperties\":[{\"name\":\"Example GPU\"}],\"distributedInfo\":{\"rank\":3},\n"
	"\"traceEvents\":[\n"
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,"
	"\"ts\":0,\"dur\":50},\n"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,"
	"\"dur\":20},\n"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
	"\"ts\":2,\"dur\":3,\"args\":{\"correlation\":1}},\n"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\\q\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":5.5,"
	"\"args\":{\"correlation\":1,\"stream\":7,\"device\":0}},\n"
	"{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH\",\"pid\":0,\"tid\":7,\"ts\":20,"
	"\"dur\":4,\"args\":{\"stream\":7,\"device\":0}}]}\n";

static const char ids_text[] =
	"[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":-5,\"tid\":\"007\",\"ts\":0,"
	"\"dur\":9,\"args\":{\"correlation\":9007199254740993,"
	"\"External id\":99999999999999999999,\"n\":null,\"yes\":true,\"bytes\":-4096,"
	"\"Sequence number\":3,\"x\":2.5,\"long\":12345678901234567890123,\"t\":\"a\\nb\","
	"\"l\":[1, {\"k\": 2}]}},\n"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]";

static struct scratch scratch;

static int make_files(void **state)
{
	scratch_make(&scratch);
	scratch_write(&scratch, "trace.json", text);
	scratch_write(&scratch, "host.json",
		      "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":2}]");
	scratch_write(&scratch, "nothing.json", "[{\"ph\":\"M\",\"name\":\"process_name\"}]");
	scratch_write(&scratch, "text.json", "hello\n");
	scratch_write(&scratch, "empty.json", "");
	scratch_write(&scratch, "ids.json", ids_text);
	return 0;
}

static int remove_files(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static struct trawl_trace *read_trace(const char *name)
{
	struct trawl_trace *trace = NULL;
	struct trawl_error err;

	if (trawl_trace_read(&trace, scratch_path(&scratch, name), NULL, &err))
		fail_msg("%s", err.message);
	return trace;
}

static void a_trace_and_its_events(void **state)
{
	struct trawl_trace *trace = read_trace("trace.json");
	struct trawl_defect defect;
	size_t len;

	assert_int_equal(trawl_trace_events(trace), 5);
	assert_int_equal(trawl_trace_rank(trace), 3);
	assert_string_equal(trawl_trace_device_name(trace), "Example GPU");
	assert_int_equal(trawl_trace_start_ns(trace)[3], 10000);
	assert_int_equal(trawl_trace_dur_ns(trace)[3], 5500);
	assert_int_equal(trawl_trace_class(trace, 3), TRAWL_CLASS_KERNEL);
	assert_int_equal(trawl_trace_class(trace, 4), TRAWL_CLASS_MEMCPY);
	assert_string_equal(trawl_trace_text(trace, trawl_trace_names(trace)[3], &len), "gemm\\q");
	assert_int_equal(len, 6);
	assert_string_equal(trawl_trace_text(trace, 0, NULL), "");
	assert_int_equal(trawl_trace_defects(trace), 1);
	defect = trawl_trace_defect(trace, 0);
	assert_string_equal(defect.kind, "bad_escape");
	assert_int_equal(defect.severity, TRAWL_REPAIR);
	assert_int_equal(defect.count, 1);
	assert_int_equal(defect.event, 3);
	assert_int_equal(defect.offset, strstr(text, "gemm\\q") - text);
	assert_true(strlen(defect.meaning) > 10);
	trawl_trace_free(trace);
}

static bool is_text(const struct trawl_trace *trace, uint32_t id, const char *wanted)
{
	return !strcmp(trawl_trace_text(trace, id, NULL), wanted);
}

static void events_with_where_they_ran(void **state)
{
	struct trawl_trace *trace = read_trace("trace.json");
	struct trawl_event op = trawl_trace_event(trace, 1), kernel = trawl_trace_event(trace, 3);

	assert_int_equal(op.start_ns, 1000);
	assert_int_equal(op.dur_ns, 20000);
	assert_int_equal(op.kind, TRAWL_CLASS_CPU_OP);
	assert_int_equal(op.phase, 'X');
	assert_true(is_text(trace, op.name, "aten::mm") && is_text(trace, op.category, "cpu_op"));
	assert_int_equal(op.process.number, 1);
	assert_int_equal(op.thread.number, 1);
	assert_int_equal(op.device.number, TRAWL_ID_NONE);
	assert_int_equal(op.stream.number, TRAWL_ID_NONE);
	assert_int_equal(op.correlation.number, TRAWL_ID_NONE);
	assert_int_equal(op.external.number, TRAWL_ID_NONE);
	assert_int_equal(kernel.device.number, 0);
	assert_int_equal(kernel.stream.number, 7);
	assert_int_equal(kernel.correlation.number, 1);
	/* The host's thread, and the stream of both kinds of GPU work. */
	assert_int_equal(op.track, trawl_trace_event(trace, 2).track);
	assert_int_equal(kernel.track, trawl_trace_event(trace, 4).track);
	assert_int_not_equal(op.track, kernel.track);
	assert_int_equal(trawl_trace_tracks(trace), 2);
	trawl_trace_free(trace);
}

static void ids_that_are_large_or_no_numbers(void **state)
{
	struct trawl_trace *trace = read_trace("ids.json");
	struct trawl_event e = trawl_trace_event(trace, 0);

	assert_int_equal(e.process.number, -5);
	assert_int_equal(e.process.text, 0);
	assert_int_equal(e.thread.number, TRAWL_ID_NONE);
	assert_true(is_text(trace, e.thread.text, "007"));
	assert_int_equal(e.correlation.number, INT64_C(9007199254740993));
	assert_int_equal(e.external.number, TRAWL_ID_NONE);
	assert_true(is_text(trace, e.external.text, "99999999999999999999"));
	trawl_trace_free(trace);
}

static void arguments_of_events(void **state)
{
	static const struct {
		const char *name;
		enum trawl_value_kind kind;
	} wanted[] = {
		{ "Sequence number", TRAWL_VALUE_INTEGER },
		{ "n", TRAWL_VALUE_NULL },
		{ "yes", TRAWL_VALUE_BOOL },
		{ "bytes", TRAWL_VALUE_INTEGER },
		{ "x", TRAWL_VALUE_REAL },
		{ "long", TRAWL_VALUE_NUMBER },
		{ "t", TRAWL_VALUE_TEXT },
		{ "l", TRAWL_VALUE_JSON },
	};
	struct trawl_trace *trace = read_trace("ids.json");
	struct trawl_argument arg;
	size_t at = 0, i;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_true(trawl_event_next_argument(trace, 0, &at, &arg));
		assert_true(is_text(trace, arg.key, wanted[i].name));
		assert_int_equal(arg.kind, wanted[i].kind);
	}
	assert_false(trawl_event_next_argument(trace, 0, &at, &arg));
	at = 0;
	assert_false(trawl_event_next_argument(trace, 1, &at, &arg));

	assert_true(trawl_event_argument(trace, 0, trawl_trace_find_text(trace, "bytes"), &arg));
	assert_int_equal(arg.integer, -4096);
	assert_true(trawl_event_argument(trace, 0, trawl_trace_find_text(trace, "yes"), &arg));
	assert_int_equal(arg.integer, 1);
	assert_true(trawl_event_argument(trace, 0, trawl_trace_find_text(trace, "x"), &arg));
	assert_true(arg.real == 2.5);
	assert_true(trawl_event_argument(trace, 0, trawl_trace_find_text(trace, "long"), &arg));
	assert_true(is_text(trace, arg.text, "12345678901234567890123"));
	assert_true(trawl_event_argument(trace, 0, trawl_trace_find_text(trace, "t"), &arg));
	assert_true(is_text(trace, arg.text, "a\nb"));
	assert_true(trawl_event_argument(trace, 0, trawl_trace_find_text(trace, "l"), &arg));
	assert_true(is_text(trace, arg.text, "[1, {\"k\": 2}]"));
	/* A name that nothing has, and one that this event has not. */
	assert_int_equal(trawl_trace_find_text(trace, "absent"), 0);
	assert_false(trawl_event_argument(trace, 0, 0, &arg));
	assert_false(trawl_event_argument(trace, 1, trawl_trace_find_text(trace, "bytes"), &arg));
	trawl_trace_free(trace);
}

static void a_report_and_its_tables(void **state)
{
	struct trawl_trace *trace = read_trace("trace.json");
	struct trawl_report *report;
	const struct trawl_table *table;
	struct trawl_cell cell;
	size_t i, c;

	assert_int_equal(trawl_report_new(&report, trace, NULL, NULL), 0);
	assert_string_equal(trawl_report_view(report), "");
	assert_true(trawl_report_tables(report) > 10);
	for (i = 0; i < trawl_report_tables(report); i++) {
		table = trawl_report_table(report, i);
		assert_ptr_equal(trawl_report_find(report, trawl_table_name(table)), table);
		assert_true(*trawl_table_meaning(table));
		for (c = 0; c < trawl_table_columns(table); c++) {
			assert_true(*trawl_table_column(table, c)->header);
			assert_true(*trawl_table_column(table, c)->meaning);
		}
	}
	assert_null(trawl_report_find(report, "no such table"));
	table = trawl_report_find(report, "gpu_timeline");
	/* Busy 5.5 + 4 of 14 us. */
	cell = trawl_table_cell(table, 3, 1);
	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	assert_int_equal(cell.integer, 9500);
	assert_int_equal(trawl_table_cell(table, 5, 1).integer, 14000);
	assert_int_equal(trawl_table_find_column(table, "type"), 0);
	assert_int_equal(trawl_table_find_column(table, "none"), trawl_table_columns(table));
	/* What is not there is missing, not 0. */
	assert_int_equal(trawl_table_cell(table, 1000, 0).state, TRAWL_CELL_MISSING);
	assert_int_equal(trawl_table_cell(table, 0, 1000).state, TRAWL_CELL_MISSING);
	/* The trace's own defects and those of what follows: the copy has no launch. */
	assert_int_equal(trawl_report_defects(report), 2);
	assert_string_equal(trawl_report_defect(report, 0).kind, "bad_escape");
	assert_string_equal(trawl_report_defect(report, 1).kind, "unlinked_gpu");
	trawl_report_free(report);
	trawl_report_free(NULL);
	trawl_trace_free(trace);
}

static void parts_of_a_trace(void **state)
{
	struct trawl_trace *trace = read_trace("trace.json");
	struct trawl_report_options options;
	struct trawl_report *report;
	struct trawl_error err;

	trawl_report_options_init(&options);
	options.step_first = options.step_last = 1;
	assert_int_equal(trawl_report_new(&report, trace, &options, &err), 0);
	assert_string_equal(trawl_report_view(report), "step 1, by launch");
	trawl_report_free(report);
	options.step_first = options.step_last = 2;
	assert_int_equal(trawl_report_new(&report, trace, &options, &err), TRAWL_EUSAGE);
	assert_null(report);
	assert_int_equal(err.status, TRAWL_EUSAGE);
	assert_true(err.message[0] && !strchr(err.message, '\n'));
	trawl_trace_free(trace);
}

static void a_report_of_one_table(void **state)
{
	struct trawl_trace *trace = read_trace("trace.json");
	struct trawl_report_options options;
	struct trawl_report *report;
	struct trawl_error err;

	trawl_report_options_init(&options);
	options.only = "nvtx_ranges";
	assert_int_equal(trawl_report_new(&report, trace, &options, &err), 0);
	assert_int_equal(trawl_report_tables(report), 1);
	assert_non_null(trawl_report_find(report, "nvtx_ranges"));
	trawl_report_free(report);
	/* Several, in the order of a report, each once. */
	options.only = "streams,gpu_timeline,streams";
	assert_int_equal(trawl_report_new(&report, trace, &options, &err), 0);
	assert_int_equal(trawl_report_tables(report), 2);
	assert_string_equal(trawl_table_name(trawl_report_table(report, 0)), "gpu_timeline");
	assert_true(trawl_table_rows(trawl_report_table(report, 1)) > 0);
	trawl_report_free(report);
	options.only = "stream";
	assert_int_equal(trawl_report_new(&report, trace, &options, &err), TRAWL_EUSAGE);
	options.only = "streams,";
	assert_int_equal(trawl_report_new(&report, trace, &options, &err), TRAWL_EUSAGE);
	options.only = "no such table";
	assert_int_equal(trawl_report_new(&report, trace, &options, &err), TRAWL_EUSAGE);
	assert_null(report);
	trawl_trace_free(trace);
}

static void tables_are_declared(void **state)
{
	struct trawl_table_declaration declared;
	size_t i;

	for (i = 0; trawl_report_declares(i, &declared); i++) {
		assert_string_equal(declared.name, trawl_report_table_name(i));
		assert_true(declared.meaning[0]);
		assert_true(declared.column_count > 0);
	}
	assert_null(trawl_report_table_name(i));
	for (i = 0; trawl_job_report_declares(i, &declared); i++)
		assert_true(declared.column_count > 0 && declared.meaning[0]);
	assert_true(i > 10);
}

static void traces_without_gpu_or_without_anything(void **state)
{
	struct trawl_trace *trace = read_trace("host.json");
	struct trawl_report *report;
	struct trawl_error err;

	assert_int_equal(trawl_report_new(&report, trace, NULL, &err), 0);
	assert_null(trawl_report_find(report, "gpu_timeline"));
	assert_non_null(trawl_report_find(report, "cpu_ops"));
	trawl_report_free(report);
	trawl_trace_free(trace);
	trace = read_trace("nothing.json");
	assert_int_equal(trawl_report_new(&report, trace, NULL, &err), TRAWL_ENODATA);
	assert_null(report);
	trawl_trace_free(trace);
}

static void inputs_that_are_refused(void **state)
{
	static const struct {
		const char *name;
		int status;
	} cases[] = {
		{ "missing.json", TRAWL_EIO },
		{ ".", TRAWL_EIO },
		{ "text.json", TRAWL_EFORMAT },
		{ "empty.json", TRAWL_EFORMAT },
	};
	struct trawl_trace *trace;
	struct trawl_error err;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *path = scratch_path(&scratch, cases[i].name);

		trace = (struct trawl_trace *)&err;
		assert_int_equal(trawl_trace_read(&trace, path, NULL, &err), cases[i].status);
		assert_null(trace);
		assert_int_equal(err.status, cases[i].status);
		assert_non_null(strstr(err.message, cases[i].name));
		assert_null(strchr(err.message, '\n'));
		/* The error is nobody's business when nobody asks. */
		assert_int_equal(trawl_trace_read(&trace, path, NULL, NULL), cases[i].status);
	}
}

static int stop_at_once(void *context, int64_t bytes_read, int64_t file_size)
{
	*(int64_t *)context = file_size;
	return 1;
}

static void reading_can_be_stopped(void **state)
{
	int64_t size = 0;
	const struct trawl_read_options options = { .threads = 1,
						    .block_size = 16,
						    .progress = stop_at_once,
						    .progress_context = &size };
	struct trawl_trace *trace;
	struct trawl_error err;

	assert_int_equal(trawl_trace_read(&trace, scratch_path(&scratch, "trace.json"), &options,
					  &err),
			 TRAWL_ECANCELED);
	assert_null(trace);
	assert_int_equal(size, strlen(text));
}

static void tables_become_files(void **state)
{
	struct trawl_trace *trace = read_trace("trace.json");
	const struct trawl_table *tables[2];
	struct trawl_report *report;
	struct trawl_error err;
	char *csv;
	size_t len;

	assert_int_equal(trawl_report_new(&report, trace, NULL, &err), 0);
	tables[0] = trawl_report_find(report, "gpu_timeline");
	tables[1] = trawl_report_find(report, "kernel_summary");
	assert_int_equal(trawl_write_csv(tables, 2, scratch_path(&scratch, "a/b"), &err), 0);
	csv = scratch_read(scratch_path(&scratch, "a/b/gpu_timeline.csv"), &len);
	assert_non_null(csv);
	assert_non_null(strstr(csv, "busy_time,0.0095,"));
	free(csv);
	assert_int_equal(scratch_count(&scratch, "a/b"), 2);
	assert_int_equal(trawl_write_xlsx(tables, 2, scratch_path(&scratch, "x.xlsx"), &err), 0);
	assert_true(scratch_exists(&scratch, "x.xlsx"));
	/* Into a place that is none. */
	assert_int_equal(trawl_write_csv(tables, 2, scratch_path(&scratch, "trace.json/x"), &err),
			 TRAWL_EIO);
	assert_int_equal(trawl_write_xlsx(tables, 2, scratch_path(&scratch, "trace.json/x.xlsx"),
					  &err),
			 TRAWL_EIO);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

static void errors_by_value(void **state)
{
	struct trawl_error err;
	char name[2000];
	int status;

	assert_int_equal(trawl_error_set(&err, TRAWL_EIO, "byte %d", 5), TRAWL_EIO);
	assert_string_equal(err.message, "byte 5");
	assert_int_equal(err.status, TRAWL_EIO);
	assert_int_equal(err.offset, -1);
	assert_int_equal(trawl_error_set_at(&err, TRAWL_EFORMAT, 77, "here"), TRAWL_EFORMAT);
	assert_int_equal(err.offset, 77);
	assert_int_equal(trawl_error_context(&err, TRAWL_EFORMAT, "cannot read '%s'", "x"),
			 TRAWL_EFORMAT);
	assert_string_equal(err.message, "cannot read 'x': here");
	assert_int_equal(trawl_error_set(NULL, TRAWL_ENOMEM, "nobody listens"), TRAWL_ENOMEM);
	assert_int_equal(trawl_error_context(NULL, TRAWL_ENOMEM, "nobody listens"), TRAWL_ENOMEM);
	/* Longer than there is room for. */
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	trawl_error_set(&err, TRAWL_EIO, "%s", name);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	trawl_error_context(&err, TRAWL_EIO, "%s", name);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	for (status = 0; status >= -8; status--)
		assert_true(*trawl_status_name(status));
	assert_string_equal(trawl_status_name(TRAWL_ENOMEM), "out of memory");
	assert_string_equal(trawl_status_name(5), trawl_status_name(-99));
}

static void the_version(void **state)
{
	int major, minor, patch, len = 0;

	assert_int_equal(sscanf(trawl_version(), "%d.%d.%d%n", &major, &minor, &patch, &len), 3);
	assert_int_equal(strlen(trawl_version()), len);
	assert_non_null(trawl_allocator_default());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_and_its_events),
		cmocka_unit_test(events_with_where_they_ran),
		cmocka_unit_test(ids_that_are_large_or_no_numbers),
		cmocka_unit_test(arguments_of_events),
		cmocka_unit_test(a_report_and_its_tables),
		cmocka_unit_test(parts_of_a_trace),
		cmocka_unit_test(a_report_of_one_table),
		cmocka_unit_test(tables_are_declared),
		cmocka_unit_test(traces_without_gpu_or_without_anything),
		cmocka_unit_test(inputs_that_are_refused),
		cmocka_unit_test(reading_can_be_stopped),
		cmocka_unit_test(tables_become_files),
		cmocka_unit_test(errors_by_value),
		cmocka_unit_test(the_version),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
