/*
 * Findings of runs written here: each allocation fails once, threads do not matter, and what all remedies
 * gain together is what their replay gains.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diagnose/job_diagnosis.h"
#include "diagnose/kinds.h"
#include "io/feed.h"
#include "render/render.h"
#include "trace/reader.h"
#include "trawl/findings.h"
#include "failing.h"
#include "instrumented.h"
#include "scratch.h"
#include "traces.h"

#include <stdio.h>
#include <string.h>

#define US 1000
#define BF16 "\"c10::BFloat16\""

/* ---- a rank whose host goes from call to call; a stream's work begins 5 us after its call, or 1 us after the last */

struct rank {
	struct script out;
	int64_t now, end[20];
	int correlation, tid, number;
};

static void emit(struct rank *r, const char *category, const char *name, int64_t start,
		 const char *args)
{
	script_slice(&r->out, category, name, 1, r->tid, start, r->now - start, args);
}

static void call(struct rank *r, const char *name, int64_t ns)
{
	char args[64];
	int64_t start = r->now;

	snprintf(args, sizeof(args), "\"correlation\":%d", ++r->correlation);
	r->now += ns;
	emit(r, "cuda_runtime", name, start, args);
}

/* GPU work of the last call. */
static void work(struct rank *r, const char *category, const char *name, int stream, int64_t ns,
		 int64_t launched, const char *more)
{
	int64_t start = launched + 5 * US;
	char args[700];

	if (r->end[stream] && r->end[stream] + US > start)
		start = r->end[stream] + US;
	snprintf(args, sizeof(args), "\"device\":0,\"stream\":%d,\"correlation\":%d%s", stream,
		 r->correlation, more);
	script_slice(&r->out, category, name, 0, stream, start, ns, args);
	r->end[stream] = start + ns;
}

static void launch(struct rank *r, const char *kernel, int stream, int64_t ns)
{
	int64_t begin = r->now;

	call(r, "cudaLaunchKernel", 4 * US);
	work(r, "kernel", kernel, stream, ns, begin, "");
}

static void run(struct rank *r, const char *name, const char *dims, const char *types, int64_t ns)
{
	int64_t begin = r->now;
	char args[300];

	snprintf(args, sizeof(args),
		 "\"Input Dims\":[%s],\"Input type\":[%s],\"Sequence number\":%d", dims, types,
		 r->correlation);
	r->now += US;
	launch(r, name, 7, ns);
	r->now += US;
	emit(r, "cpu_op", name, begin, args);
}

static void wait_for(struct rank *r, const char *name, int stream)
{
	call(r, name, (r->end[stream] > r->now ? r->end[stream] - r->now : 0) + 2 * US);
}

static void copy(struct rank *r, const char *kind, int stream, int64_t ns, bool waits)
{
	int64_t begin = r->now, start = begin + 5 * US;

	if (r->end[stream] + US > start)
		start = r->end[stream] + US;
	call(r, "cudaMemcpyAsync", waits ? start + ns + 2 * US - begin : 4 * US);
	work(r, "gpu_memcpy", kind, stream, ns, begin, ",\"bytes\":1000000");
}

static void collective(struct rank *r, const char *name, int stream, int in, int out, int64_t ns,
		       const char *peer)
{
	int64_t begin = r->now;
	char args[400];

	snprintf(args, sizeof(args),
		 ",\"Collective name\":\"%s\",\"In msg nelems\":%d,\"Out msg nelems\":%d,"
		 "\"dtype\":\"BFloat16\",\"Group size\":2,\"Process Group Name\":\"0\","
		 "\"Process Group Ranks\":\"[0, 1]\"%s",
		 name, in, out, peer);
	call(r, "cudaLaunchKernelExC", 4 * US);
	work(r, "kernel", "ncclDevKernel", stream, ns, begin, args);
}

/* ---- a step with something of each kind */

static void model(struct rank *r)
{
	static const char rows[] = "[2048,4096]", three[] = BF16 "," BF16 "," BF16;
	int64_t frame = r->now;
	int i;

	run(r, "aten::mm", "[8192,4096],[4096,4096]", BF16 "," BF16, 900 * US);
	run(r, "aten::mm", "[8192,4096],[4096,4097]", BF16 "," BF16, 900 * US);
	run(r, "aten::mm", "[2048,2048],[2048,1024]", "\"float\",\"float\"", 300 * US);
	for (i = 0; i < 5; i++)
		run(r, "aten::mm", "[64,64],[64,64]", BF16 "," BF16, 5 * US);
	run(r, "aten::mul", rows, BF16, 30 * US);
	run(r, "aten::tanh", rows, BF16, 30 * US);
	run(r, "aten::relu", rows, BF16, 130 * US);
	run(r, "aten::neg", rows, BF16, 20 * US);
	run(r, "aten::cat", "[2048,4096],[2048,4096]", three, 20 * US);
	run(r, "aten::mul", "[2048,4096],[2048,4096]", three, 30 * US);
	run(r, "aten::mul", "[2048,4096],[2048,4096]", three, 30 * US);
	run(r, "aten::add", "[2048,4096],[2048,4096]", three, 30 * US);
	run(r, "aten::pow", rows, BF16, 30 * US);
	run(r, "aten::mean", rows, BF16, 20 * US);
	run(r, "aten::rsqrt", "[2048,1]", BF16, 5 * US);
	run(r, "aten::mul", "[2048,4096],[2048,1]", three, 30 * US);
	run(r, "aten::bmm", "[16,512,64],[16,64,512]", three, 40 * US);
	run(r, "aten::_softmax", "[16,512,512]", BF16, 30 * US);
	run(r, "aten::bmm", "[16,512,512],[16,512,64]", three, 40 * US);
	run(r, "aten::sum", "[4096,4096]", BF16, 200 * US);
	run(r, "aten::sort", "[4096,4096]", BF16, 400 * US);
	emit(r, "python_function", "model.py(7): forward", frame, NULL);
	emit(r, "python_function", "nn.Module: Block_0", frame, NULL);
	frame = r->now;
	r->now += US;
	run(r, "aten::copy_", "[2048,4096],[2048,4096]", three, 30 * US);
	emit(r, "cpu_op", "aten::contiguous", frame, NULL);
}

static void backward(struct rank *r)
{
	int64_t begin, inner;
	char args[60];
	int i;

	for (i = 0; i < 2; i++) {
		begin = r->now;
		run(r, "aten::mm", "[4096,4096],[4096,1024]", BF16 "," BF16, 100 * US);
		emit(r, "cpu_op", "autograd::engine::evaluate_function: MmBackward0", begin, NULL);
		begin = r->now;
		snprintf(args, sizeof(args), "\"Input Dims\":[[%d]]", 4000000 + i);
		r->now += US;
		emit(r, "cpu_op", "torch::autograd::AccumulateGrad", begin, args);
	}
	begin = r->now;
	run(r, "aten::mm", "[1024,1024],[1024,1024]", BF16 "," BF16, 50 * US);
	inner = r->now;
	run(r, "aten::mm", "[1024,1024],[1024,1024]", BF16 "," BF16, 50 * US);
	emit(r, "cpu_op", "autograd::engine::evaluate_function: MulBackward0", inner, NULL);
	emit(r, "cpu_op", "CheckpointFunctionBackward", begin, NULL);
}

static void communicate(struct rank *r)
{
	int i;

	for (i = 0; i < 2; i++)
		collective(r, "allreduce", 7, 4000000 + i, 4000000 + i, 800 * US, "");
	for (i = 0; i < 5; i++)
		collective(r, "allreduce", 7, 1000, 1000, 30 * US, "");
	collective(r, "all_to_allv", 7, 100, r->number ? 50 : 150, 60 * US, "");
	run(r, "aten::gelu", "[512,512]", BF16, r->number ? 100 * US : 300 * US);
	collective(r, "all_to_allv", 7, r->number ? 50 : 150, 100, 60 * US, "");
	collective(r, r->number ? "recv" : "send", 7, 1000, 1000, 20 * US,
		   r->number ? ",\"Src Rank\":0" : ",\"Dst Rank\":1");
}

static void waits(struct rank *r, int step)
{
	int64_t begin = r->now;

	copy(r, "Memcpy DtoH (Device -> Pinned)", 7, 2 * US, false);
	wait_for(r, "cudaStreamSynchronize", 7);
	emit(r, "cpu_op", "aten::item", begin, "\"Input Dims\":[[]]");
	begin = r->now;
	copy(r, "Memcpy HtoD (Pageable -> Device)", 7, 100 * US, true);
	emit(r, "cpu_op", "aten::copy_", begin, "\"Input Dims\":[[8]]");
	copy(r, "Memcpy HtoD (Pinned -> Device)", 7, 400 * US, false);
	call(r, "cudaMalloc", 200 * US);
	if (step)
		call(r, "cuModuleLoadData", 300 * US);
	begin = r->now;
	if (step == 2) {
		r->now += 2000 * US;
		emit(r, "python_function", "torch/serialization.py(849): save", begin, NULL);
	}
	r->now += step == 4 ? 5000 * US : 10 * US;
}

static void graphs(struct rank *r)
{
	int64_t begin = r->now;
	int i;

	call(r, "cudaGraphLaunch", 10 * US);
	for (i = 0; i < 4; i++) {
		r->end[7] += 60 * US;
		work(r, "kernel", "node", 7, 20 * US, begin, "");
	}
	launch(r, "long", 7, 1000 * US);
	begin = r->now;
	call(r, "cudaLaunchKernel", 4 * US);
	r->end[7] += 400 * US;
	work(r, "kernel", "late", 7, 20 * US, begin, "");
	call(r, "cudaEventRecord", US);
	call(r, "cudaStreamWaitEvent", US);
	launch(r, "side", 13, 20 * US);
}

static void optimizer(struct rank *r, int step)
{
	int64_t begin = r->now;
	int i;

	for (i = 0; i < 50; i++)
		run(r, "aten::addcdiv_", "[64,64],[64,64],[64,64]", "\"float\",\"float\",\"float\"",
		    3 * US);
	emit(r, "user_annotation", "Optimizer.step#AdamW.step", begin, NULL);
	launch(r, "clock", 7, 500 * US + 60 * US * step);
}

static void write_rank(struct rank *r, int number)
{
	int64_t begin, step, range;
	char name[40];

	*r = (struct rank){ .tid = 1, .number = number, .now = 100 * US };
	script_begin(&r->out);
	for (step = 0; step < 6; step++) {
		begin = range = r->now;
		r->now += number ? 1000 * US : 4000 * US;
		emit(r, "user_annotation",
		     "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", range, NULL);
		model(r);
		backward(r);
		communicate(r);
		graphs(r);
		waits(r, (int)step);
		optimizer(r, (int)step);
		snprintf(name, sizeof(name), "ProfilerStep#%d", (int)step);
		emit(r, "user_annotation", name, begin, NULL);
	}
	tw_str_addf(&r->out.text,
		    "],\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 80GB HBM3\"}],"
		    "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":2}}",
		    number);
	assert_false(r->out.text.failed);
}

static struct scratch scratch;

static int make_files(void **state)
{
	struct rank r;
	int i;

	(void)state;
	scratch_make(&scratch);
	for (i = 0; i < 2; i++) {
		write_rank(&r, i);
		scratch_write(&scratch, i ? "rank1.json" : "rank0.json", r.out.text.ptr);
		tw_str_release(&r.out.text);
	}
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	scratch_remove(&scratch);
	return 0;
}

/* `step`: of it alone, -1: of all. */
static int read_job(struct trawl_job **job, size_t count, int64_t step,
		    const struct trawl_allocator *allocator)
{
	const char *const paths[] = { scratch_path(&scratch, "rank0.json"),
				      scratch_path(&scratch, "rank1.json") };
	struct trawl_report_options report;
	struct trawl_job_options options;
	struct trawl_error err;

	trawl_report_options_init(&report);
	report.step_first = report.step_last = step;
	trawl_job_options_init(&options);
	options.report = &report;
	options.collectives_only = options.findings = true;
	options.threads = 1;
	options.allocator = allocator;
	return trawl_job_read(job, paths, count, &options, &err);
}

/* The table as text, to be freed. */
static struct tw_str findings_of(size_t count, unsigned threads)
{
	struct trawl_diagnosis *diagnosis;
	struct trawl_error err;
	struct trawl_job *job;
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	assert_int_equal(read_job(&job, count, -1, NULL), 0);
	assert_int_equal(trawl_diagnose_job(&diagnosis, job, threads, &err), 0);
	tw_render_csv(trawl_diagnosis_findings(diagnosis), &out);
	trawl_diagnosis_free(diagnosis);
	trawl_job_free(job);
	assert_false(out.failed);
	return out;
}

/* ---- tests */

static void test_threads_do_not_matter(void **state)
{
	struct tw_str one = findings_of(2, 1), many = findings_of(2, 8);

	(void)state;
	assert_string_equal(one.ptr, many.ptr);
	tw_str_release(&one);
	tw_str_release(&many);
}

/* Marks the kinds of which there is a row, or a place that gains too little for one. */
static void mark_kinds(size_t ranks, bool *seen)
{
	struct tw_diagnosis d;
	struct trawl_job *job;
	size_t i, k;

	assert_int_equal(read_job(&job, ranks, -1, NULL), 0);
	assert_int_equal(tw_diagnose_job(&d, job, 1, job->allocator), 0);
	for (i = 0; i < d.findings.count; i++)
		seen[d.findings.at[i].kind] = true;
	for (i = 0; i < TW_FINDING_KINDS; i++)
		for (k = 0; k < d.rank_count; k++)
			seen[i] |= d.claims[k].of[i].remedy.list.count > 0;
	tw_diagnosis_release(&d);
	trawl_job_free(job);
}

/* The runs of these tests have evidence of most kinds. */
static void test_most_kinds_are_found(void **state)
{
	bool seen[TW_FINDING_KINDS] = { false };
	unsigned found = 0;
	size_t i;

	(void)state;
	mark_kinds(1, seen);
	mark_kinds(2, seen);
	for (i = 0; i < TW_FINDING_KINDS; i++)
		found += seen[i];
	assert_in_range(found, 27, TW_FINDING_KINDS);
}

/* What the first `count` gain together, of a step or of the window, by a replay of their own. */
static double replayed(struct tw_diagnosis *d, size_t count, bool of_window)
{
	struct tw_scenario all[TW_FINDING_KINDS], none;
	struct tw_gain gain;
	size_t i, n = 0;

	tw_scenario_init(&none, d->path, d->allocator);
	for (i = 0; i < count; i++) {
		const struct tw_scenario *before = n ? &all[n - 1] : &none;

		if (!d->findings.at[i].scenario.path)
			continue;
		all[n] = d->findings.at[i].scenario;
		all[n].under = before;
		if (!all[n].rule) {
			all[n].rule = before->rule;
			all[n].context = before->context;
		}
		n++;
	}
	assert_int_equal(tw_gain_of(d, n ? &all[n - 1] : &none, of_window, &gain), 0);
	return gain.percent;
}

static void test_gains_together(void **state)
{
	size_t ranks, i;

	(void)state;
	for (ranks = 1; ranks <= 2; ranks++) {
		double before = 0, all = 0, first = -1;
		bool of_window = false;
		struct tw_diagnosis d;
		struct trawl_job *job;

		assert_int_equal(read_job(&job, ranks, -1, NULL), 0);
		assert_int_equal(tw_diagnose_job(&d, job, 1, job->allocator), 0);
		for (i = 0; i < d.findings.count; i++)
			if (d.findings.at[i].scenario.path)
				all = i + 1 > all ? (double)(i + 1) : all;
		for (i = 0; i < (size_t)all; i++)
			of_window |= tw_kind_list[d.findings.at[i].kind]->of_window;
		assert_true(all >= 10);
		for (i = 0; i < (size_t)all; i++) {
			const struct tw_finding *f = &d.findings.at[i];

			first = first < 0 ? f->gain_percent : first;
			assert_true(f->together_percent >= before);
			assert_true(f->together_percent >= replayed(&d, i + 1, of_window) - 1e-9);
			before = f->together_percent;
		}
		assert_true(before >= first);
		assert_true(before <= 1e-9 + (replayed(&d, (size_t)all, true) >
							      replayed(&d, (size_t)all, false) ?
						      replayed(&d, (size_t)all, true) :
						      replayed(&d, (size_t)all, false)));
		tw_diagnosis_release(&d);
		trawl_job_free(job);
	}
}

/* A piece of GPU work belongs to one finding of those that are about kernels. */
static void test_work_belongs_to_one_finding(void **state)
{
	static const enum tw_finding_kind kernels[] = {
		TW_KIND_unfused_attention,
		TW_KIND_rope_unfused,
		TW_KIND_norm_unfused,
		TW_KIND_fusible_chain,
		TW_KIND_layout_copies,
		TW_KIND_low_efficiency_gemm,
		TW_KIND_misaligned_gemm,
		TW_KIND_fp32_gemm_without_tf32,
		TW_KIND_small_gemms,
		TW_KIND_low_efficiency_attention,
		TW_KIND_low_efficiency_elementwise,
		TW_KIND_low_efficiency_reduction,
		TW_KIND_low_efficiency_other,
		TW_KIND_low_efficiency_convolution,
		TW_KIND_optimizer_unfused,
	};
	static uint8_t owner[10000];
	struct tw_diagnosis d;
	struct trawl_job *job;
	size_t k, i, claimed = 0;

	(void)state;
	assert_int_equal(read_job(&job, 1, -1, NULL), 0);
	assert_int_equal(tw_diagnose_job(&d, job, 1, job->allocator), 0);
	for (k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
		const struct tw_remedy *remedy = &d.claims[0].of[kernels[k]].remedy;

		for (i = 0; i < remedy->list.count; i++) {
			const struct tw_remedy_part *part = &remedy->list.at[i];

			if (part->kind != TW_REMEDY_REMOVE && part->kind != TW_REMEDY_DURATION &&
			    part->kind != TW_REMEDY_SCALE)
				continue;
			assert_in_range(part->gpu, 0, sizeof(owner) - 1);
			assert_true(!owner[part->gpu] || owner[part->gpu] == k + 1);
			owner[part->gpu] = (uint8_t)(k + 1);
			claimed++;
		}
	}
	assert_true(claimed > 200);
	tw_diagnosis_release(&d);
	trawl_job_free(job);
}

/* Whichever allocation fails, it is told, and nothing is lost: while the ranks are looked at, and after. */
static void fail_each_allocation(int64_t of_step)
{
	struct trawl_diagnosis *diagnosis;
	struct failing failing;
	struct trawl_error err;
	struct trawl_job *job;
	long n, step = UNDER_TSAN ? 50 : full_run() ? 1 : 7;
	int status;

	for (n = 0;; n += step) {
		failing_init(&failing, n);
		diagnosis = NULL;
		status = read_job(&job, 2, of_step, &failing.allocator);
		if (!status)
			status = trawl_diagnose_job(&diagnosis, job, 1, &err);
		trawl_diagnosis_free(diagnosis);
		trawl_job_free(job);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 1000);
}

static void test_without_memory(void **state)
{
	(void)state;
	fail_each_allocation(-1);
	/* Of a part the collectives of the whole are kept too. */
	fail_each_allocation(1);
}

/* A report of a rank that takes its memory there. */
static struct trawl_report *report_with(struct trawl_trace **trace,
					const struct trawl_allocator *allocator)
{
	const struct trawl_read_options read = { .allocator = allocator, .threads = 1 };
	const struct tw_feed_options feed_options = { .allocator = allocator, .end = -1 };
	struct trawl_report_options options;
	struct trawl_report *report;
	struct tw_feed *feed;
	struct rank r;

	write_rank(&r, 0);
	*trace = tw_trace_new(allocator);
	assert_non_null(*trace);
	assert_int_equal(
		tw_feed_open_memory(&feed, r.out.text.ptr, r.out.text.len, &feed_options, NULL), 0);
	assert_int_equal(tw_kineto_read(*trace, feed, &read, NULL), 0);
	assert_int_equal(tw_trace_finish(*trace), 0);
	tw_str_release(&r.out.text);
	trawl_report_options_init(&options);
	options.threads = 1;
	assert_int_equal(trawl_report_new(&report, *trace, &options, NULL), 0);
	return report;
}

/* The same of one trace, where only what is diagnosed can fail. */
static void test_one_trace_without_memory(void **state)
{
	struct trawl_diagnosis *diagnosis;
	struct failing failing;
	struct trawl_report *report;
	struct trawl_trace *trace;
	struct trawl_error err;
	long n, before, step = UNDER_TSAN ? 50 : full_run() ? 1 : 3;
	int status;

	(void)state;
	failing_init(&failing, -1);
	report = report_with(&trace, &failing.allocator);
	before = failing.live_blocks;
	for (n = 0;; n += step) {
		failing.left = n;
		failing.failed = false;
		diagnosis = NULL;
		status = trawl_diagnose(&diagnosis, report, 1, &err);
		trawl_diagnosis_free(diagnosis);
		assert_int_equal(failing.live_blocks, before);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 300);
	failing.left = -1;
	trawl_report_free(report);
	trawl_trace_free(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_most_kinds_are_found),
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_gains_together),
		cmocka_unit_test(test_work_belongs_to_one_finding),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_one_trace_without_memory),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
