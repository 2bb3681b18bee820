/*
 * Whether the tables account for all the time: the check closes on traces of every kind, and it
 * fails when something is counted wrongly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/scope.h"
#include "base/hash.h"
#include "traces.h"

static uint64_t seed = 21;

static int64_t draw(int64_t below)
{
	seed = tw_hash_u64(seed);
	return (int64_t)((seed >> 20) % (uint64_t)below);
}

static struct trawl_trace *random_trace(void)
{
	static const char *const names[] = { "gemm", "ncclDevKernel_AllReduce", "softmax" };
	struct script s;
	int i, id, n = 1 + (int)draw(120);

	script_begin(&s);
	for (i = 0; i < n; i++) {
		script_op(&s, i % 3 ? "aten::mm" : "aten::add", i * 1000, 500 + draw(1500));
		script_call(&s, "cudaLaunchKernel", i * 1000 + 100, 50, i + 1);
	}
	for (i = 0; i < n; i++) {
		id = draw(4) ? 1 + (int)draw(n) : 0;
		if (draw(6))
			script_kernel(&s, names[draw(3)], (int)draw(3), draw(n * 800), draw(3000),
				      id);
		else
			script_copy(&s, "Memcpy", (int)draw(3), draw(n * 800), draw(3000), id);
	}
	script_raw(
		&s,
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"at the start\",\"ts\":0.001,\"dur\":1}");
	return script_read(&s);
}

static int64_t amount(const struct trawl_report *report, const char *quantity)
{
	return strtoll(cell_of(report, "reconciliation", "quantity", quantity, "time ns"), NULL,
		       10);
}

/* The timeline in nanoseconds: it prints milliseconds with six digits. */
static int64_t timeline(const struct trawl_report *report, const char *type)
{
	const char *text = cell_of(report, "gpu_timeline", "type", type, "time ms");

	return (int64_t)(strtod(text, NULL) * 1e6 + 0.5);
}

static void closes_on_random_traces(void **state)
{
	struct trawl_report_options options;
	int round;

	for (round = 0; round < 150; round++) {
		struct trawl_trace *t = random_trace();
		struct trawl_report *r;

		trawl_report_options_init(&options);
		options.clip_overruns = round % 3 == 0;
		if (round % 4 == 0) {
			options.start_ns = draw(600);
			options.end_ns = options.start_ns + 1 + draw(60000);
		}
		r = report_of(t, &options);
		if (rows_of(r, "reconciliation")) {
			assert_int_equal(amount(r, "difference"), 0);
			assert_int_equal(amount(r, "busy") + amount(r, "idle"), amount(r, "total"));
			assert_int_equal(amount(r, "op_rows") + amount(r, "communication") +
						 amount(r, "copies") + amount(r, "unlinked") -
						 amount(r, "overlap"),
					 amount(r, "busy"));
			assert_true(amount(r, "idle") >= 0 && amount(r, "overlap") >= 0);
			assert_int_equal(amount(r, "busy"), timeline(r, "busy_time"));
			assert_int_equal(timeline(r, "computation_time") +
						 timeline(r, "exposed_comm_time") +
						 timeline(r, "exposed_memcpy_time"),
					 timeline(r, "busy_time"));
		}
		trawl_report_free(r);
		trawl_trace_free(t);
	}
}

/* Runs the analysis alone over what it is given; returns the difference. */
static int64_t difference_of(const struct trawl_trace *t, const struct tw_derived *d,
			     const struct tw_launchers *launchers)
{
	const struct tw_analysis *analysis = &tw_analysis_reconciliation;
	const struct tw_when no_steps = { .trace = t };
	struct tw_analysis_input in = { .trace = t,
					.derived = d,
					.launchers = launchers,
					.when = &no_steps,
					.quality = &t->quality,
					.allocator = trawl_allocator_default() };
	struct trawl_report_options options;
	struct trawl_table *table = tw_table_new(&analysis->table, in.allocator);
	struct tw_timeline timeline;
	struct tw_scope scope;
	int64_t difference;
	size_t row;

	tw_scope_begin(&scope, in.allocator);
	in.allocator = &scope.allocator;
	trawl_report_options_init(&options);
	in.options = &options;
	assert_int_equal(tw_timeline_of(&timeline, d, NULL, d->gpu.count, TW_CODE_NONE, false, -1),
			 0);
	in.timeline = &timeline;
	assert_non_null(table);
	assert_int_equal(analysis->run(&in, table), 0);
	tw_scope_end(&scope);
	assert_int_equal(tw_table_finish(table, NULL), 0);
	for (row = 0; row < trawl_table_rows(table); row++) {
		struct trawl_cell cell = trawl_table_cell(table, row, 0);

		if (cell.text_len == 10 && !memcmp(cell.text, "difference", 10))
			break;
	}
	assert_true(row < trawl_table_rows(table));
	difference = trawl_table_cell(table, row, 1).integer;
	trawl_table_free(table);
	return difference;
}

/* A kernel that is charged to an operation twice, and one that is charged to nobody. */
static void fails_when_something_is_counted_wrongly(void **state)
{
	struct tw_launchers launchers;
	struct tw_scope scope;
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;

	script_begin(&s);
	script_op(&s, "aten::mm", 0, 500);
	script_call(&s, "cudaLaunchKernel", 100, 50, 1);
	script_op(&s, "aten::add", 1000, 500);
	script_call(&s, "cudaLaunchKernel", 1100, 50, 2);
	script_kernel(&s, "a", 7, 2000, 1000, 1);
	script_kernel(&s, "b", 7, 4000, 3000, 2);
	script_kernel(&s, "c", 7, 9000, 50, 0);
	t = script_read(&s);
	d = derive(t, NULL);
	tw_scope_begin(&scope, trawl_allocator_default());
	assert_int_equal(tw_launchers_build(&launchers, d, &scope.allocator), 0);
	assert_int_equal(launchers.count, 2);
	assert_int_equal(difference_of(t, d, &launchers), 0);
	/* Forgotten: neither in the row of its operation nor among the unlinked. */
	launchers.count = 1;
	assert_int_equal(difference_of(t, d, &launchers), -3000);
	launchers.count = 2;
	/* Not linked, and in the row of an operation all the same: the sweep sees it run twice. */
	launchers.of_gpu[0] = TW_NO_GROUP;
	assert_int_equal(difference_of(t, d, &launchers), 0);
	/* Counted as unlinked, gone from the list of its operation. */
	launchers.of_gpu[0] = 0;
	launchers.of_gpu[2] = 0;
	assert_int_equal(difference_of(t, d, &launchers), -50);
	tw_scope_end(&scope);
	tw_derived_free(d);
	trawl_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closes_on_random_traces),
		cmocka_unit_test(fails_when_something_is_counted_wrongly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
