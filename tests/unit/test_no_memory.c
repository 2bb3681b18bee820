/* Every allocation that can fail does once: the status says so, nothing leaks, nothing crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/render.h"
#include "trace/reader.h"
#include "trawl/report.h"
#include "failing.h"

#include <string.h>

static const char trace_text[] =
	"{\"deviceProperties\":[{\"name\":\"Example GPU\"}],\"distributedInfo\":{\"rank\":3},"
	"\"traceEvents\":["
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"python\"}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":20,"
	"\"args\":{\"Input Dims\":[[8,4],[4,2]],\"Concrete Inputs\":[\"\",\"\"]}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":2,"
	"\"dur\":3,\"args\":{\"correlation\":1}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k \\u00e9\",\"pid\":0,\"tid\":7,\"ts\":4,\"dur\":5,"
	"\"args\":{\"correlation\":1,\"stream\":7,\"device\":0}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":20,\"ts\":6,"
	"\"dur\":5,\"args\":{\"stream\":20,\"External id\":5,\"Collective name\":\"allreduce\"}},"
	"{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"begun\",\"pid\":1,\"tid\":2,\"ts\":1},"
	"{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":9}]}";

/* Reads, reports, renders; the first status that is not 0. */
static int use_all(const struct trawl_allocator *allocator)
{
	const struct trawl_read_options read = { .allocator = allocator, .threads = 1 };
	const struct tw_feed_options feed_options = { .allocator = allocator, .end = -1 };
	struct trawl_report_options options;
	struct trawl_trace *trace = tw_trace_new(allocator);
	struct trawl_report *report = NULL;
	struct tw_feed *feed;
	struct tw_str out;
	size_t i;
	int status;

	if (!trace)
		return TRAWL_ENOMEM;
	status = tw_feed_open_memory(&feed, trace_text, strlen(trace_text), &feed_options, NULL);
	if (!status)
		status = tw_kineto_read(trace, feed, "memory", &read, NULL);
	if (!status && tw_trace_finish(trace))
		status = TRAWL_ENOMEM;
	trawl_report_options_init(&options);
	options.threads = 1;
	if (!status)
		status = trawl_report_new(&report, trace, &options, NULL);
	tw_str_init(&out, allocator);
	for (i = 0; !status && i < trawl_report_tables(report); i++) {
		const struct trawl_table *table = trawl_report_table(report, i);

		tw_render_csv(table, &out);
		tw_render_json(&table, 1, "report", &out);
		if (out.failed)
			status = TRAWL_ENOMEM;
	}
	tw_str_release(&out);
	trawl_report_free(report);
	trawl_trace_free(trace);
	return status;
}

static void test_each_allocation_fails_once(void **state)
{
	struct failing failing;
	int status;
	long n;

	(void)state;
	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = use_all(&failing.allocator);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
		assert_true(n < 100000);
	}
	assert_int_equal(status, 0);
	/* The trace above needs well over a hundred. */
	assert_true(n > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allocation_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
