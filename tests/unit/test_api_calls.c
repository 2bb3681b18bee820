/* Time of the host in calls of the runtime and the driver: values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "traces.h"

#include <string.h>

static void call(struct script *s, const char *category, const char *name, int64_t start_ns,
		 int64_t dur_ns)
{
	script_slice(s, category, name, 1, 1, start_ns, dur_ns, NULL);
}

static void assert_row(const struct trawl_report *report, size_t row, const char *const want[8])
{
	static const char *const headers[8] = {
		"call",	     "API",	 "calls",    "time (ms)", "of all calls (%)",
		"mean (µs)", "min (µs)", "max (µs)",
	};
	size_t i;

	for (i = 0; i < 8; i++) {
		const char *cell = cell_at(report, "api_calls", row, headers[i]);

		if (strcmp(cell, want[i]) != 0)
			fail_msg("row %zu: %s is '%s', not '%s'", row, headers[i], cell, want[i]);
	}
}

/*
 * 16000 ns in all.  What takes most is first; of what takes as long, what the trace has first, and
 * the runtime before the driver.
 */
static void calls_by_name(void **state)
{
	static const char *const want[][8] = {
		{ "cudaStreamSynchronize", "runtime", "1", "0.008", "50", "8", "8", "8" },
		{ "cudaLaunchKernel", "runtime", "4", "0.005", "31.25", "1.25", "0.5", "2" },
		{ "cuZeta", "driver", "1", "0.001", "6.25", "1", "1", "1" },
		{ "cuAlpha", "runtime", "1", "0.001", "6.25", "1", "1", "1" },
		{ "cuAlpha", "driver", "1", "0.001", "6.25", "1", "1", "1" },
	};
	struct trawl_report_options options;
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct script s;
	size_t i;

	(void)state;
	script_begin(&s);
	call(&s, "cuda_driver", "cuZeta", 0, 1000);
	call(&s, "cuda_driver", "cuAlpha", 2000, 1000);
	call(&s, "cuda_runtime", "cuAlpha", 4000, 1000);
	script_call(&s, "cudaLaunchKernel", 6000, 1500, 1);
	script_call(&s, "cudaLaunchKernel", 8000, 500, 2);
	script_call(&s, "cudaLaunchKernel", 9000, 2000, 3);
	script_call(&s, "cudaLaunchKernel", 12000, 1000, 4);
	call(&s, "cuda_runtime", "cudaStreamSynchronize", 15000, 8000);
	script_kernel(&s, "gemm", 7, 15000, 10000, 1);
	trace = script_read(&s);
	trawl_report_options_init(&options);
	options.only = "api_calls";
	assert_int_equal(trawl_report_new(&report, trace, &options, NULL), 0);
	assert_int_equal(rows_of(report, "api_calls"), 5);
	for (i = 0; i < 5; i++)
		assert_row(report, i, want[i]);
	trawl_report_free(report);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
