/* What counts as communication, by which evidence: each rule, and what lies just beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analysis/ops/collective_args.h"
#include "derive/communication.h"
#include "traces.h"

/* A collective of 8 ranks: 1024 elements of 2 bytes each go in, 8192 come out. */
#define GATHER                                                             \
	"\"Collective name\":\"_allgather_base\",\"dtype\":\"BFloat16\","  \
	"\"In msg nelems\":1024,\"Out msg nelems\":8192,\"Group size\":8," \
	"\"Process Group Name\":\"7\",\"Process Group Ranks\":\"[0, 1]\",\"Seq\":5"
#define UNEVEN                                                                         \
	"\"Collective name\":\"all_to_allv\",\"dtype\":\"BFloat16\",\"Group size\":3," \
	"\"In msg nelems\":600,\"Out msg nelems\":600,"                                \
	"\"In split size\":\"[100, 200, 300]\",\"Out split size\":\"[7, 0, 593]\""
#define NOTHING NULL

/* An event of the host around the launch, the outermost first. */
struct around {
	const char *category, *name, *args;
};

struct work {
	struct around around[4];
	const char *call;     /* of the runtime; NULL: cudaLaunchKernel */
	const char *category; /* of the GPU event; NULL: kernel */
	const char *name, *args;
	enum tw_evidence evidence;
};

static const struct trawl_trace *last;

/* One GPU event launched within what is around it, each 10 us within the one before. */
static struct tw_derived *derived_of(const struct work *work)
{
	struct script s;
	char args[600];
	int64_t edge = 0;
	size_t i;

	script_begin(&s);
	for (i = 0; i < 4 && work->around[i].name; i++, edge += 10000)
		script_slice(&s, work->around[i].category ? work->around[i].category : "cpu_op",
			     work->around[i].name, 1, 1, 1000000 + edge, 100000 - 2 * edge,
			     work->around[i].args);
	script_call(&s, work->call ? work->call : "cudaLaunchKernel", 1040000, 1000, 3);
	snprintf(args, sizeof(args), "\"stream\":7,\"device\":0,\"correlation\":3%s%s",
		 work->args ? "," : "", work->args ? work->args : "");
	script_slice(&s, work->category ? work->category : "kernel", work->name, 0, 7, 1200000,
		     1000, args);
	last = script_read(&s);
	return derive(last, NULL);
}

static void release(struct tw_derived *d)
{
	struct trawl_trace *trace = NULL;

	memcpy(&trace, &d->trace, sizeof(trace));
	tw_derived_free(d);
	trawl_trace_free(trace);
}

static void check(const struct work *work, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct tw_derived *d = derived_of(&work[i]);
		enum tw_evidence evidence = tw_communication_of(d, 0).evidence;

		assert_int_equal(d->gpu.count, 1);
		if (evidence != work[i].evidence)
			fail_msg("%zu: %s under %s: '%s'", i, work[i].name,
				 work[i].around[0].name ? work[i].around[0].name : "nothing",
				 tw_evidence_name(evidence));
		assert_int_equal(d->gpu.bucket[0] == TW_COMMUNICATION,
				 evidence != TW_EVIDENCE_NONE);
		release(d);
	}
}

#define CHECK(list) check(list, sizeof(list) / sizeof((list)[0]))

static void arguments_on_the_event(void **state)
{
	static const struct work list[] = {
		{ .name = "fancy", .args = GATHER, .evidence = TW_EVIDENCE_ARGUMENTS },
		{ .name = "fancy",
		  .args = "\"In msg nelems\":4",
		  .evidence = TW_EVIDENCE_ARGUMENTS },
		{ .name = "fancy",
		  .args = "\"Process Group Name\":\"0\"",
		  .evidence = TW_EVIDENCE_ARGUMENTS },
		/* They come before the name, and before an operation that says nothing. */
		{ .name = "ncclDevKernel_X", .args = GATHER, .evidence = TW_EVIDENCE_ARGUMENTS },
		{ .name = "triton_red_fused_add_3",
		  .args = GATHER,
		  .evidence = TW_EVIDENCE_ARGUMENTS },
		{ .around = { { NULL, "aten::mm", NOTHING } },
		  .name = "fancy",
		  .args = GATHER,
		  .evidence = TW_EVIDENCE_ARGUMENTS },
		/* A type alone is no collective, nor is a name that is null. */
		{ .name = "fancy", .args = "\"dtype\":\"Float\"" },
		{ .name = "fancy", .args = "\"Collective name\":null" },
		{ .name = "fancy" },
	};

	CHECK(list);
}

static void the_operation_that_launched_it(void **state)
{
	static const char *const operations[] = {
		"record_param_comms",
		"nccl:all_reduce",
		"xccl:all_reduce",
		"hccl:broadcast",
		"mccl:reduce_scatter",
		"rccl:send",
		"c10d::allreduce_",
		"_c10d_functional::all_gather_into_tensor",
		"symm_mem::one_shot_all_reduce",
		"oneccl_bindings_for_pytorch::allreduce",
		"vllm::all_reduce",
		"ncclGroupEnd",
	};
	static const char *const others[] = {
		"aten::mm",
		"c10d",
		"my::c10d::allreduce_",
		"record_param_comms_2",
		"vllm::attention",
		"symm_mem::_async_input_mm",
		"torch.distributed.ddp.reducer::copy_bucket_to_grad",
		"aten::broadcast_tensors",
	};
	size_t i;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		const struct work work = { .around = { { NULL, operations[i], NOTHING } },
					   .name = "fancy",
					   .evidence = TW_EVIDENCE_OPERATION };

		check(&work, 1);
	}
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct work work = { .around = { { NULL, others[i], NOTHING } },
					   .name = "fancy" };

		check(&work, 1);
	}
}

static void no_other_operation_between(void **state)
{
	static const struct work list[] = {
		/* List forms flatten by ordinary copies. */
		{ .around = { { NULL, "c10d::allgather_", NOTHING },
			      { NULL, "aten::cat", NOTHING } },
		  .name = "fancy" },
		{ .around = { { NULL, "c10d::allgather_", NOTHING },
			      { NULL, "record_param_comms", GATHER },
			      { NULL, "aten::copy_", NOTHING } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy PtoP (Device -> Device)",
		  .args = "\"bytes\":2048" },
		/* The other way round the collective is nearer. */
		{ .around = { { NULL, "aten::cat", NOTHING },
			      { NULL, "c10d::allgather_", NOTHING } },
		  .name = "fancy",
		  .evidence = TW_EVIDENCE_OPERATION },
		/* A fused collective computes by operations of any library. */
		{ .around = { { NULL, "symm_mem::fused_all_gather_scaled_matmul", NOTHING },
			      { NULL, "_C::cutlass_scaled_mm", NOTHING } },
		  .name = "fancy" },
		{ .around = { { NULL, "_C::cutlass_scaled_mm", NOTHING },
			      { NULL, "symm_mem::fused_all_gather_scaled_matmul", NOTHING } },
		  .name = "fancy",
		  .evidence = TW_EVIDENCE_OPERATION },
		/* The name counts as before. */
		{ .around = { { NULL, "c10d::allgather_", NOTHING },
			      { NULL, "aten::cat", NOTHING } },
		  .name = "ncclDevKernel_Generic",
		  .evidence = TW_EVIDENCE_NAME },
	};

	CHECK(list);
}

static void ranges_of_the_host(void **state)
{
	static const struct work list[] = {
		{ .around = { { "user_annotation", "xccl:all_reduce", NOTHING } },
		  .name = "fancy",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { "user_annotation", "nccl:all_reduce", NOTHING },
			      { NULL, "aten::copy_", NOTHING } },
		  .name = "fancy" },
		{ .around = { { NULL, "aten::linear", NOTHING },
			      { "user_annotation", "nccl:all_reduce", NOTHING } },
		  .name = "fancy",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { "user_annotation", "nccl:coalesced", NOTHING },
			      { "user_annotation", "nccl:all_reduce", NOTHING },
			      { "user_annotation", "my range", NOTHING } },
		  .name = "fancy",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { "user_annotation", "ProfilerStep#3", NOTHING } }, .name = "fancy" },
		/* Gloo reduces on the host: what a thread launches within is another's. */
		{ .around = { { "user_annotation", "gloo:all_reduce", NOTHING } },
		  .name = "fancy" },
		/* On the GPU it says nothing of the launch. */
		{ .around = { { "gpu_user_annotation", "nccl:all_reduce", NOTHING } },
		  .name = "fancy" },
	};
	struct tw_derived *d = derived_of(&list[3]);

	/* The innermost is the one. */
	assert_string_equal(name_of(d->trace, tw_communication_of(d, 0).operation),
			    "nccl:all_reduce");
	release(d);
	CHECK(list);
}

/* Ranges that end before a launch do not hold it, whatever lies between. */
static void ranges_that_are_over(void **state)
{
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;

	script_begin(&s);
	script_slice(&s, "user_annotation", "nccl:broadcast", 1, 1, 1000, 9000, NULL);
	script_slice(&s, "user_annotation", "nccl:all_reduce", 1, 1, 2000, 1000, NULL);
	script_slice(&s, "user_annotation", "nccl:all_reduce", 1, 2, 11000, 9000, NULL);
	script_call(&s, "cudaLaunchKernel", 3000, 100, 1);  /* as the inner one ends */
	script_call(&s, "cudaLaunchKernel", 2999, 1, 2);    /* in it still */
	script_call(&s, "cudaLaunchKernel", 10000, 100, 3); /* as the outer one ends */
	script_call(&s, "cudaLaunchKernel", 12000, 100, 4); /* another thread has one */
	script_call(&s, "cudaLaunchKernel", 900, 50, 5);    /* before any */
	script_kernel(&s, "a", 7, 20000, 10, 1);
	script_kernel(&s, "b", 7, 20100, 10, 2);
	script_kernel(&s, "c", 7, 20200, 10, 3);
	script_kernel(&s, "d", 7, 20300, 10, 4);
	script_kernel(&s, "e", 7, 20400, 10, 5);
	t = script_read(&s);
	d = derive(t, NULL);
	assert_int_equal(d->gpu.bucket[gpu_named(d, "a")], TW_COMMUNICATION);
	assert_string_equal(name_of(t, tw_communication_of(d, gpu_named(d, "a")).operation),
			    "nccl:broadcast");
	assert_string_equal(name_of(t, tw_communication_of(d, gpu_named(d, "b")).operation),
			    "nccl:all_reduce");
	assert_int_equal(d->gpu.bucket[gpu_named(d, "c")], TW_COMPUTE);
	assert_int_equal(d->gpu.bucket[gpu_named(d, "d")], TW_COMPUTE);
	assert_int_equal(d->gpu.bucket[gpu_named(d, "e")], TW_COMPUTE);
	tw_derived_free(d);
	trawl_trace_free(t);
}

/* A range that lasts longer than the operation that it began in, but for rounding, holds no launch. */
static void ranges_that_are_asynchronous(void **state)
{
	static const int64_t over_ns[] = { 1000, 1001 };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct script s;
		struct trawl_trace *t;
		struct tw_derived *d;

		script_begin(&s);
		script_slice(&s, "cpu_op", "my::region", 1, 1, 0, 500000, NULL);
		script_slice(&s, "cpu_op", "my::wait", 1, 1, 10000, 30000, NULL);
		script_slice(&s, "user_annotation", "nccl:all_reduce", 1, 1, 20000,
			     20000 + over_ns[i], NULL);
		script_call(&s, "cudaLaunchKernel", 30000, 1000, 1);
		script_kernel(&s, "a", 7, 600000, 10, 1);
		t = script_read(&s);
		d = derive(t, NULL);
		assert_int_equal(d->gpu.bucket[0], i ? TW_COMPUTE : TW_COMMUNICATION);
		tw_derived_free(d);
		trawl_trace_free(t);
	}
}

static void names_that_compute_whatever_launched_them(void **state)
{
	static const struct work list[] = {
		{ .around = { { NULL, "c10d::allreduce_", NOTHING } },
		  .name = "void at::native::vectorized_elementwise_kernel<4, x>(int)" },
		{ .around = { { NULL, "record_param_comms", GATHER } },
		  .name = "void c10d::checkForNaN<float>(float*, unsigned long)",
		  .args = GATHER },
		{ .around = { { NULL, "symm_mem::fused_all_gather_matmul", NOTHING } },
		  .name = "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<x> >()" },
		{ .around = { { NULL, "symm_mem::fused_all_gather_matmul", NOTHING } },
		  .name = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNN" },
		{ .around = { { NULL, "symm_mem::fused_all_gather_matmul", NOTHING } },
		  .name = "Cijk_Alik_Bljk_BBS_BH_MT128x128x64" },
		/* A namespace in the middle of a word, or of an argument, is none. */
		{ .around = { { NULL, "c10d::allreduce_", NOTHING } },
		  .name = "void my_at::native::f<int>(int)",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { NULL, "c10d::allreduce_", NOTHING } },
		  .name = "void f<at::native::Kind>(int)",
		  .evidence = TW_EVIDENCE_OPERATION },
		/* Of a compiled kernel the name is no evidence, but others are. */
		{ .name = "triton_poi_fused_symm_mem_one_shot_all_reduce_1" },
		{ .name = "triton_red_fused_nccl_add_all_reduce_kernel_2" },
		{ .around = { { NULL, "record_param_comms", NOTHING } },
		  .name = "triton_poi_fused_add_0",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .name = "one_shot_all_reduce_kernel", .evidence = TW_EVIDENCE_NAME },
		/* A library among template arguments, or in the middle of a word, is none. */
		{ .name = "void fused_moe_kernel<nvshmem_traits>(int)" },
		{ .name = "void my_quick_reduce_rows(float*)" },
		{ .name = "void lamport_free_reduce_rows(float*)" },
		{ .name = "ctranspose_kernel" },
		{ .name = "void vllm::cross_device_reduce_1stage<float, 2>(int)",
		  .evidence = TW_EVIDENCE_NAME },
		{ .name = "_ZN4vllm26cross_device_reduce_1stageIfLi2EEEvi",
		  .evidence = TW_EVIDENCE_NAME },
		{ .name = "void trtllm::lamport_style_one_shot_all_reduce_norm_kernel<float>(int)",
		  .evidence = TW_EVIDENCE_NAME },
		/* What goes where is counted, not sent. */
		{ .around = { { NULL, "c10d::alltoall_", NOTHING } },
		  .name = "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)" },
		{ .name = "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)",
		  .evidence = TW_EVIDENCE_NAME },
		{ .name = "_multimem_all_gather_kernel", .evidence = TW_EVIDENCE_NAME },
	};

	CHECK(list);
}

#define COPY(copy_args, found)                                                                   \
	{                                                                                        \
		.around = { { NULL, "record_param_comms", GATHER } }, .call = "cudaMemcpyAsync", \
		.category = "gpu_memcpy", .name = "Memcpy DtoD (Device -> Device)",              \
		.args = copy_args, .evidence = found                                             \
	}

#define PART(copy_args, found)                                                                   \
	{                                                                                        \
		.around = { { NULL, "record_param_comms", UNEVEN } }, .call = "cudaMemcpyAsync", \
		.category = "gpu_memcpy", .name = "Memcpy DtoD (Device -> Device)",              \
		.args = copy_args, .evidence = found                                             \
	}

static void copies_and_fills(void **state)
{
	static const struct work list[] = {
		/* A part for one rank, of two bytes each: 100, 200, 300 in, 7 and 593 out. */
		PART("\"bytes\":200", TW_EVIDENCE_OPERATION),
		PART("\"bytes\":600", TW_EVIDENCE_OPERATION),
		PART("\"bytes\":14", TW_EVIDENCE_OPERATION),
		PART("\"bytes\":1186", TW_EVIDENCE_OPERATION),
		PART("\"bytes\":100", TW_EVIDENCE_NONE),
		PART("\"bytes\":201", TW_EVIDENCE_NONE),
		PART("\"bytes\":0", TW_EVIDENCE_NONE),
		/* Of the collective's bytes: 2048 in, 16384 out, 256 in for each rank. */
		COPY("\"bytes\":2048", TW_EVIDENCE_OPERATION),
		COPY("\"bytes\":16384", TW_EVIDENCE_OPERATION),
		COPY("\"bytes\":256", TW_EVIDENCE_OPERATION),
		COPY("\"bytes\":2047", TW_EVIDENCE_NONE),
		COPY("\"bytes\":2049", TW_EVIDENCE_NONE),
		COPY("\"bytes\":4096", TW_EVIDENCE_NONE),
		COPY("\"bytes\":0", TW_EVIDENCE_NONE),
		COPY(NULL, TW_EVIDENCE_NONE),
		/* Between devices, by the name or by the call. */
		{ .around = { { NULL, "record_param_comms", NOTHING } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy PtoP (Device -> Device)",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { NULL, "xccl:all_gather", NOTHING } },
		  .call = "cudaMemcpyPeerAsync",
		  .category = "gpu_memcpy",
		  .name = "Memcpy DtoD (Device -> Device)",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { NULL, "record_param_comms", NOTHING } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy",
		  .args = "\"copy kind\":\"PtoP\"",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { NULL, "record_param_comms", NOTHING } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy",
		  .args = "\"copy kind\":\"DtoD\"" },
		{ .category = "gpu_memcpy", .name = "Memcpy PtoP (Device -> Device)" },
		{ .around = { { NULL, "aten::copy_", NOTHING } },
		  .call = "cudaMemcpyPeerAsync",
		  .category = "gpu_memcpy",
		  .name = "Memcpy PtoP (Device -> Device)" },
		/* Fills have no other device. */
		{ .around = { { NULL, "record_param_comms", GATHER } },
		  .category = "gpu_memset",
		  .name = "Memset (Device)",
		  .args = "\"bytes\":16384",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { NULL, "record_param_comms", GATHER } },
		  .category = "gpu_memset",
		  .name = "Memset (Device)",
		  .args = "\"bytes\":8" },
		/* Copies that a profiler records as kernels are copies, though it writes arguments. */
		{ .around = { { NULL, "record_param_comms", GATHER } },
		  .name = "__amd_rocclr_copyBuffer",
		  .args = GATHER },
		{ .around = { { NULL, "record_param_comms", GATHER } },
		  .name = "__amd_rocclr_copyBuffer",
		  .args = GATHER ",\"bytes\":2048",
		  .evidence = TW_EVIDENCE_ARGUMENTS },
		/* A name of a library is none of a copy. */
		{ .category = "gpu_memcpy", .name = "nccl copy" },
	};

	CHECK(list);
}

/* Sizes that the group does not divide are nobody's part. */
static void parts_of_sizes(void **state)
{
	static const struct work list[] = {
		{ .around = { { NULL, "record_param_comms",
				"\"Collective name\":\"allreduce\",\"dtype\":\"Float\","
				"\"In msg nelems\":10,\"Group size\":4" } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy DtoD (Device -> Device)",
		  .args = "\"bytes\":10" },
		{ .around = { { NULL, "record_param_comms",
				"\"Collective name\":\"allreduce\",\"dtype\":\"Float\","
				"\"In msg nelems\":10,\"Group size\":5" } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy DtoD (Device -> Device)",
		  .args = "\"bytes\":8",
		  .evidence = TW_EVIDENCE_OPERATION },
		/* Without a known type there are no bytes, without a group size only the whole. */
		{ .around = { { NULL, "record_param_comms",
				"\"Collective name\":\"x\",\"dtype\":\"Mystery\","
				"\"In msg nelems\":10" } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy DtoD (Device -> Device)",
		  .args = "\"bytes\":40" },
		{ .around = { { NULL, "record_param_comms",
				"\"Collective name\":\"x\",\"dtype\":\"Float\","
				"\"In msg nelems\":10" } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy DtoD (Device -> Device)",
		  .args = "\"bytes\":40",
		  .evidence = TW_EVIDENCE_OPERATION },
		{ .around = { { NULL, "record_param_comms",
				"\"Collective name\":\"x\",\"dtype\":\"Float\","
				"\"In msg nelems\":9223372036854775807" } },
		  .category = "gpu_memcpy",
		  .name = "Memcpy DtoD (Device -> Device)",
		  .args = "\"bytes\":40" },
	};

	CHECK(list);
}

static const char *text_of(const struct tw_collective_facts *facts, enum tw_collective_arg arg)
{
	static char text[100];
	struct tw_str out;

	tw_str_init(&out, last->allocator);
	tw_collective_arg_text(last, &facts->args[arg], &out);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, out.ptr ? out.ptr : "");
	tw_str_release(&out);
	return text;
}

static void arguments_of_the_operation_serve_the_event(void **state)
{
	const struct work plain = { .around = { { NULL, "c10d::_allgather_base_", NOTHING },
						{ NULL, "record_param_comms", GATHER },
						{ "user_annotation", "nccl:_all_gather_base",
						  NOTHING } },
				    .name = "fancy" };
	/* What the event has of its own counts. */
	const struct work own = { .around = { { NULL, "record_param_comms", GATHER } },
				  .name = "fancy",
				  .args = "\"Collective name\":\"_allgather_base\","
					  "\"Out msg nelems\":6" };
	/* Another collective's are not its. */
	const struct work other = { .around = { { NULL, "record_param_comms", GATHER } },
				    .name = "fancy",
				    .args = "\"Collective name\":\"broadcast\"" };
	/* Nor what lies beyond another operation. */
	const struct work beyond = { .around = { { NULL, "record_param_comms", GATHER },
						 { NULL, "aten::copy_", NOTHING },
						 { NULL, "c10d::send", NOTHING } },
				     .name = "fancy" };
	struct tw_collective_facts facts;
	struct tw_derived *d = derived_of(&plain);

	tw_collective_facts_of(d, 0, &facts);
	assert_int_equal(facts.why.evidence, TW_EVIDENCE_OPERATION);
	assert_string_equal(name_of(last, facts.why.operation), "nccl:_all_gather_base");
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_NAME), "_allgather_base");
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_DTYPE), "BFloat16");
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_GROUP), "7");
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_OUT_NELEMS), "8192");
	assert_int_equal(facts.sequence.integer, 5);
	release(d);
	d = derived_of(&own);
	tw_collective_facts_of(d, 0, &facts);
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_OUT_NELEMS), "6");
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_IN_NELEMS), "1024");
	assert_int_equal(facts.sequence.integer, 5);
	release(d);
	d = derived_of(&other);
	tw_collective_facts_of(d, 0, &facts);
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_NAME), "broadcast");
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_DTYPE), "");
	assert_int_equal(facts.sequence.kind, TRAWL_VALUE_NULL);
	release(d);
	d = derived_of(&beyond);
	tw_collective_facts_of(d, 0, &facts);
	assert_int_equal(facts.why.evidence, TW_EVIDENCE_OPERATION);
	assert_string_equal(name_of(last, facts.why.operation), "c10d::send");
	assert_string_equal(text_of(&facts, TW_COLLECTIVE_NAME), "");
	release(d);
}

/* In a deep tree the operations above are found all at once, and are the same. */
static void deep_trees(void **state)
{
	struct script s;
	struct trawl_trace *t;
	struct tw_derived *d;
	int i;

	script_begin(&s);
	for (i = 0; i < 300; i++)
		script_op(&s, i == 299 ? "c10d::send" : "my::op", 1000 + i, 100000 - 2 * i);
	script_call(&s, "cudaLaunchKernel", 50000, 1, 1);
	/* Behind the end of the inner ones. */
	script_call(&s, "cudaLaunchKernel", 100850, 1, 2);
	script_kernel(&s, "inner", 7, 200000, 10, 1);
	script_kernel(&s, "outer", 7, 200100, 10, 2);
	t = script_read(&s);
	d = derive(t, NULL);
	assert_non_null(d->host.op[0]);
	assert_int_equal(d->gpu.bucket[gpu_named(d, "inner")], TW_COMMUNICATION);
	assert_int_equal(d->gpu.bucket[gpu_named(d, "outer")], TW_COMPUTE);
	tw_derived_free(d);
	trawl_trace_free(t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_on_the_event),
		cmocka_unit_test(the_operation_that_launched_it),
		cmocka_unit_test(no_other_operation_between),
		cmocka_unit_test(ranges_of_the_host),
		cmocka_unit_test(ranges_that_are_over),
		cmocka_unit_test(ranges_that_are_asynchronous),
		cmocka_unit_test(names_that_compute_whatever_launched_them),
		cmocka_unit_test(copies_and_fills),
		cmocka_unit_test(parts_of_sizes),
		cmocka_unit_test(arguments_of_the_operation_serve_the_event),
		cmocka_unit_test(deep_trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
