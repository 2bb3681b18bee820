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
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,"
	"\"ts\":1,\"dur\":20,\"args\":{\"Input Dims\":[[8,4],[4,2]],\"Concrete Inputs\":[\"\",\"\"]}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
	"\"ts\":2,\"dur\":3,\"args\":{\"correlation\":1}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k \\u00e9\",\"pid\":0,\"tid\":7,\"ts\":4,\"dur\":5,"
	"\"args\":{\"correlation\":1,\"stream\":7,\"device\":0}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":20,"
	"\"ts\":6,\"dur\":5,\"args\":{\"stream\":20,\"External id\":5,\"Collective name\":\"allreduce\"}},"
	"{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"begun\",\"pid\":1,\"tid\":2,\"ts\":1},"
	"{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":9}]}";

/* What needs memory of its own: every way to link, shared ids, damage, steps, autograd. */
static const char odd_text[] =
	"["
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,"
	"\"tid\":1,\"ts\":0,\"dur\":900,\"args\":{\"x\":1}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"late\",\"pid\":1,\"tid\":1,\"ts\":50,"
	"\"dur\":30,\"args\":{\"Sequence number\":3}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":1,\"tid\":1,"
	"\"ts\":10,\"dur\":50,\"args\":{\"Sequence number\":3,\"Input Dims\":[[1,...]]}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\","
	"\"name\":\"autograd::engine::evaluate_function: A\",\"pid\":1,\"tid\":2,\"ts\":300,"
	"\"dur\":50,\"args\":{\"Sequence number\":3}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
	"\"tid\":1,\"ts\":20,\"dur\":5,\"args\":{\"correlation\":\"id \\u00e9\"}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
	"\"tid\":1,\"ts\":30,\"dur\":5,\"args\":{\"correlation\":\"id \\u00e9\"}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\",\"pid\":1,"
	"\"tid\":1,\"ts\":40,\"dur\":5,\"args\":{\"External id\":7}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\",\"pid\":1,"
	"\"tid\":2,\"ts\":45,\"dur\":5,\"args\":{\"External id\":7}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
	"\"tid\":1,\"ts\":60,\"dur\":5,\"args\":{\"other\":1e400}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":1,\"tid\":7,\"ts\":100,"
	"\"dur\":500,\"args\":{\"correlation\":\"id \\u00e9\",\"stream\":7}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":1,\"tid\":7,\"ts\":200,"
	"\"dur\":5,\"args\":{\"External id\":7,\"stream\":99999999999}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":1,\"tid\":8,\"ts\":150,"
	"\"dur\":5,\"args\":{\"External id\":7,\"device\":\"x\"}},"
	"{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"c\",\"pid\":1,\"tid\":9,\"ts\":250,"
	"\"dur\":5,\"args\":{\"bytes\":5.5}},"
	"{\"ph\":\"s\",\"cat\":\"ac2g\",\"id\":5,\"pid\":1,\"tid\":1,\"ts\":60},"
	"{\"ph\":\"f\",\"cat\":\"ac2g\",\"id\":5,\"pid\":1,\"tid\":9,\"ts\":250},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"say \"hello\" \\q\xff\",\"ts\":5,"
	"\"dur\":NaN},"
	"{\"ph\" lost},null,"
	"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,"
	"\"args\":{\"name\":\"main\"}}"
	"]";

/* Reads, reports, renders; the first status that is not 0. */
static int use_all(const struct trawl_allocator *allocator, const char *text, int64_t step)
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
	status = tw_feed_open_memory(&feed, text, strlen(text), &feed_options, NULL);
	if (!status)
		status = tw_kineto_read(trace, feed, &read, NULL);
	if (!status && tw_trace_finish(trace))
		status = TRAWL_ENOMEM;
	trawl_report_options_init(&options);
	options.threads = 1;
	options.step_first = options.step_last = step;
	options.clip_overruns = step >= 0;
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

/* Returns how many allocations it takes. */
static long fail_each(const char *text, int64_t step)
{
	struct failing failing;
	int status;
	long n;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = use_all(&failing.allocator, text, step);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
		assert_true(n < 100000);
	}
	assert_int_equal(status, 0);
	return n;
}

static void test_each_allocation_fails_once(void **state)
{
	(void)state;
	/* The trace above needs well over a hundred. */
	assert_true(fail_each(trace_text, -1) > 100);
	assert_true(fail_each(odd_text, -1) > 100);
	assert_true(fail_each(odd_text, 1) > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allocation_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
