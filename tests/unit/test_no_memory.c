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
#include "traces.h"

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

/*
 * What cost models need: products with parameters and kernels that tell their transposition, a step
 * of an inference server, passes back by pair and by forward arguments, kernels left over.
 */
static const char modelled_text[] =
	"[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,"
	"\"tid\":1,\"ts\":0,\"dur\":900},"
	"{\"ph\":\"X\",\"cat\":\"user_annotation\","
	"\"name\":\"execute_3_context_1(sq8sk8sqsq64sqsk64)_generation_2(sq2sk30sqsq2sqsk30)\","
	"\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":90},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"vllm::unified_attention_with_output\","
	"\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":20,\"args\":{"
	"\"Input Dims\":[[10,2,8],[10,1,8],[10,1,8]],"
	"\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\"]}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
	"\"tid\":1,\"ts\":3,\"dur\":1,\"args\":{\"correlation\":1}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"attention\",\"pid\":0,\"tid\":7,\"ts\":10,"
	"\"dur\":5,\"args\":{\"correlation\":1,\"stream\":7}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":100,"
	"\"dur\":20,\"args\":{\"Input Dims\":[[8,16],[16,4]],\"Input type\":[\"float\",\"float\"],"
	"\"Input Strides\":[[16,1],[4,1]]}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
	"\"tid\":1,\"ts\":101,\"dur\":1,\"args\":{\"correlation\":2}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nvjet_hsh_TN\",\"pid\":0,\"tid\":7,"
	"\"ts\":110,\"dur\":5,\"args\":{\"correlation\":2,\"stream\":7}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ConvBias_\",\"pid\":1,\"tid\":1,\"ts\":130,"
	"\"dur\":20,\"args\":{\"Sequence number\":3,"
	"\"Input Dims\":[[1,2,5,5],[4,2,3,3],[4],[],[]],"
	"\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"Scalar\",\"Scalar\"],"
	"\"Concrete Inputs\":[\"\",\"\",\"\",\"2\",\"1\"]}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\","
	"\"name\":\"autograd::engine::evaluate_function: ConvBias_Backward\",\"pid\":1,"
	"\"tid\":2,\"ts\":300,\"dur\":50,\"args\":{\"Sequence number\":3}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ConvBias_Backward\",\"pid\":1,\"tid\":2,"
	"\"ts\":305,\"dur\":40,\"args\":{\"Input Dims\":[[1,4,3,3]]}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
	"\"tid\":2,\"ts\":310,\"dur\":1,\"args\":{\"correlation\":3}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"grad\",\"pid\":0,\"tid\":7,\"ts\":320,"
	"\"dur\":5,\"args\":{\"correlation\":3,\"stream\":7}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mean\",\"pid\":1,\"tid\":1,\"ts\":160,"
	"\"dur\":20,\"args\":{\"Sequence number\":4,\"Input Dims\":[[8,16],[]],"
	"\"Input type\":[\"float\",\"\"],\"Concrete Inputs\":[\"\",\"\"]}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\","
	"\"name\":\"autograd::engine::evaluate_function: MeanBackward0\",\"pid\":1,"
	"\"tid\":2,\"ts\":400,\"dur\":50,\"args\":{\"Sequence number\":4}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"MeanBackward0\",\"pid\":1,\"tid\":2,"
	"\"ts\":405,\"dur\":40},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
	"\"tid\":2,\"ts\":410,\"dur\":1,\"args\":{\"correlation\":4}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"expand\",\"pid\":0,\"tid\":7,\"ts\":420,"
	"\"dur\":5,\"args\":{\"correlation\":4,\"stream\":7}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
	"\"tid\":1,\"ts\":500,\"dur\":1,\"args\":{\"correlation\":5}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"alone\",\"pid\":0,\"tid\":7,\"ts\":510,"
	"\"dur\":5,\"args\":{\"correlation\":5,\"stream\":7}}"
	",{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"train.py(1): step\",\"pid\":1,"
	"\"tid\":1,\"ts\":1,\"dur\":700},"
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: Net_0\",\"pid\":1,"
	"\"tid\":1,\"ts\":1.5,\"dur\":300},"
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: Linear_0\",\"pid\":1,"
	"\"tid\":1,\"ts\":99,\"dur\":100},"
	"{\"ph\":\"X\",\"cat\":\"python_function\","
	"\"name\":\"torch/utils/checkpoint.py(1): recompute_fn\",\"pid\":1,"
	"\"tid\":2,\"ts\":406,\"dur\":30},"
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: Linear_0\",\"pid\":1,"
	"\"tid\":2,\"ts\":407,\"dur\":20},"
	"{\"ph\":\"s\",\"id\":9,\"pid\":1,\"tid\":1,\"ts\":130,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"},"
	"{\"ph\":\"f\",\"id\":9,\"pid\":1,\"tid\":2,\"ts\":305,\"cat\":\"fwdbwd\","
	"\"name\":\"fwdbwd\",\"bp\":\"e\"}]";

static void take_text(void *out, const char *text, size_t len)
{
	tw_str_add(out, text, len);
}

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
	options.platform = "MI300X";
	options.gemm_instances = true;
	options.call_stack = true;
	options.group_by = "pass";
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
	for (i = TRAWL_STACKS_BY_MODULE; !status && i <= TRAWL_STACKS_FULL; i++) {
		status = trawl_report_stacks(report, (enum trawl_stacks)i, take_text, &out, NULL);
		if (status == TRAWL_ENODATA || (!status && out.failed))
			status = out.failed ? TRAWL_ENOMEM : 0;
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
	assert_true(fail_each(modelled_text, -1) > 200);
}

/* The trace of models has a table for each of its families. */
static void test_models_are_reached(void **state)
{
	static const char *const tables[] = { "GEMM",	    "InferenceAttention_fwd",
					      "CONV_fwd",   "CONV_bwd",
					      "Reduce_fwd", "Reduce_bwd" };
	struct trawl_trace *trace = trace_of(modelled_text);
	struct trawl_report *report = report_of(trace, NULL);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		assert_int_equal(rows_of(report, tables[i]), 1);
	assert_string_not_equal(cell_at(report, "CONV_bwd", 0, "GFLOPS_first"), "");
	assert_string_not_equal(cell_at(report, "InferenceAttention_fwd", 0, "GFLOPS_first"), "");
	assert_true(has_row(report, "unified_perf_summary", "name",
			    "cudaLaunchKernel->alone (Synthetic Op)"));
	trawl_report_free(report);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_models_are_reached),
		cmocka_unit_test(test_each_allocation_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
