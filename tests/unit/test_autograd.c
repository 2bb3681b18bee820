/* Forward and backward pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "derive/derived.h"
#include "trace/reader.h"

#include <stdlib.h>
#include <string.h>

static struct trawl_trace *read_text(const char *text)
{
	const struct trawl_read_options read = { .allocator = trawl_allocator_default(),
						 .threads = 1 };
	const struct tw_feed_options options = { .allocator = trawl_allocator_default(),
						 .end = -1 };
	struct trawl_trace *trace = tw_trace_new(trawl_allocator_default());
	struct tw_feed *feed;

	assert_int_equal(tw_feed_open_memory(&feed, text, strlen(text), &options, NULL), 0);
	assert_int_equal(tw_kineto_read(trace, feed, &read, NULL), 0);
	assert_int_equal(tw_trace_finish(trace), 0);
	return trace;
}

static struct tw_derived *derive(const struct trawl_trace *trace)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct tw_derived *d;

	assert_int_equal(tw_derive(&d, trace, &options, NULL), 0);
	return d;
}

#define OP(name, tid, ts, dur, args)                                                     \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid \
	",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}}"
static const char *name_of_node(const struct tw_derived *d, uint64_t node)
{
	return trawl_trace_text(d->trace, d->trace->events.name[d->host.event[node]], NULL);
}

static void test_one_pair_a_number(void **state)
{
	struct trawl_trace *trace = read_text("[" OP("aten::mm", 1, 0, 10, "\"Sequence number\":11") "," OP(
		"autograd::engine::evaluate_function: MmBackward0", 2, 100, 20,
		"\"Sequence number\":11") "," OP("MmBackward0", 2, 101, 18,
						 "\"Sequence number\":11") "," OP("aten::detach", 1,
										  20, 1,
										  "\"Sequence number\":-1") "," OP("aten::detach",
														   2,
														   130,
														   1,
														   "\"Sequence number\":18446744073709551615") "]");
	struct tw_derived *d = derive(trace);
	struct tw_autograd a;

	(void)state;
	assert_int_equal(tw_autograd_build(&a, d), 0);
	assert_int_equal(a.count, 1);
	assert_int_equal(a.pairs[0].sequence, 11);
	assert_string_equal(name_of_node(d, a.pairs[0].forward), "aten::mm");
	assert_string_equal(name_of_node(d, a.pairs[0].backward),
			    "autograd::engine::evaluate_function: MmBackward0");
	tw_autograd_release(&a);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void test_backward_on_the_forward_thread(void **state)
{
	struct trawl_trace *trace = read_text(
		"[" OP("aten::mul", 1, 0, 10, "\"Sequence number\":5") "," OP("aten::relu", 1, 20, 10, "\"Sequence number\":6") "," OP(
			"autograd::engine::evaluate_function: ReluBackward0", 1, 50, 10,
			"\"Sequence number\":6") "," OP("ReluBackward0", 1, 51, 8,
							"\"Sequence number\":6") "," OP("autograd::engine::evaluate_function: AccumulateGrad",
											1, 70, 10,
											"\"x\":0") "]");
	struct tw_derived *d = derive(trace);
	struct tw_autograd a;

	(void)state;
	assert_int_equal(tw_autograd_build(&a, d), 0);
	assert_int_equal(a.count, 1);
	assert_string_equal(name_of_node(d, a.pairs[0].forward), "aten::relu");
	tw_autograd_release(&a);
	tw_derived_free(d);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_pair_a_number),
		cmocka_unit_test(test_backward_on_the_forward_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
