#define _DEFAULT_SOURCE
/*
 * The facts of data/: every row of every file has its source, arrives in the program, and can be
 * reached.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/tables.h"
#include "scratch.h"

#define MOST_FIELDS 7

/* The fields of the next row of a file that is read in `text`; 0 at its end. */
static size_t next_row(char **text, char *fields[MOST_FIELDS])
{
	size_t n = 0;
	char *line;

	do {
		line = strsep(text, "\n");
		if (!line)
			return 0;
	} while (!*line || *line == '#');
	while (line) {
		assert_true(n < MOST_FIELDS);
		fields[n++] = strsep(&line, "\t");
	}
	return n;
}

/* Calls check() for every row; returns how many there are. */
static size_t each_row(const char *path, size_t columns, void (*check)(char *const *fields))
{
	char *fields[MOST_FIELDS], *whole = scratch_read(path, NULL), *text = whole;
	size_t rows = 0, n;

	if (!whole)
		fail_msg("%s cannot be read: run this test from the root of the sources", path);
	for (; (n = next_row(&text, fields)); rows++) {
		if (n != columns || !*fields[0] || !*fields[columns - 1])
			fail_msg("%s: row '%s' has %zu fields, or no source", path, fields[0], n);
		check(fields);
	}
	free(whole);
	return rows;
}

/* ---- categories of operations */

static void check_op(char *const *fields)
{
	const char *category = tw_op_category(fields[0], strlen(fields[0]));

	if (!category || strcmp(category, fields[1]))
		fail_msg("%s: '%s', not '%s'", fields[0], category ? category : "", fields[1]);
}

static void every_operation_has_its_category(void **state)
{
	size_t i;

	assert_int_equal(each_row("data/op_categories.tsv", 3, check_op),
			 tw_op_category_count + tw_op_category_pattern_count);
	assert_true(tw_op_category_count > 200);
	for (i = 1; i < tw_op_category_count; i++)
		assert_true(strcmp(tw_op_categories[i - 1].op, tw_op_categories[i].op) < 0);
}

static void only_exact_names_are_found(void **state)
{
	size_t i, len;

	assert_null(tw_op_category("", 0));
	assert_null(tw_op_category("aten::m", 7));
	assert_null(tw_op_category("Aten::mm", 8));
	assert_null(tw_op_category("~", 1));
	assert_null(tw_op_category("!", 1));
	/* The name ends where it is said to end. */
	assert_string_equal(tw_op_category("aten::mm_and_more", 8), "GEMM");
	/* A NUL is a character like others: nothing is read behind the table's name. */
	assert_null(tw_op_category("aten::mm\0\0\0\0\0\0\0\x16", 16));
	assert_null(tw_op_model("aten::mm\0\0\0\0\0\0\0\x16", 16));
	for (i = 0; i < tw_op_category_count; i++) {
		const char *op = tw_op_categories[i].op, *found;

		for (len = 0; len < strlen(op); len++) {
			size_t j;

			/* A beginning is found only when it is a row of its own. */
			found = tw_op_category(op, len);
			for (j = 0; j < tw_op_category_count; j++)
				if (strlen(tw_op_categories[j].op) == len &&
				    !strncmp(tw_op_categories[j].op, op, len))
					break;
			if (j == tw_op_category_count)
				assert_null(found);
			else
				assert_string_equal(found, tw_op_categories[j].category);
		}
	}
}

static void overloads_are_their_operation(void **state)
{
	static const char *const overloads[][2] = {
		{ "aten::mm.out", "aten::mm" },
		{ "aten::convolution.default", "aten::convolution" },
		{ "aten::sum.dim_IntList", "aten::sum" },
		{ "_C::rms_norm.default", "_C::rms_norm" },
		{ "_C_custom_ar::all_reduce.default", "_C_custom_ar::all_reduce" },
	};
	static const char *const others[] = {
		"aten::mm.",	"aten::mm.out.out",
		"mm.out",	".out",
		"aten::.out",	"aten::mm.out (x)",
		"aten::mm.1",	"aten:mm.out",
		"aten::m.out",	"a.aten::mm.out",
		"aten::mm::.x", "aten::mm out.x",
		"aten.mm::mm",	"torch.distributed.ddp.reducer::copy_bucket_to_grad",
	};
	size_t i;

	for (i = 0; i < sizeof(overloads) / sizeof(overloads[0]); i++) {
		const char *name = overloads[i][0], *base = overloads[i][1];
		size_t len = strlen(name), base_len = strlen(base);

		assert_int_equal(tw_op_base(name, len), base_len);
		assert_int_equal(tw_op_base(base, base_len), base_len);
		assert_ptr_equal(tw_op_category(name, len), tw_op_category(base, base_len));
		assert_non_null(tw_op_category(name, len));
		assert_ptr_equal(tw_op_model(name, len), tw_op_model(base, base_len));
		assert_non_null(tw_op_model(name, len));
		assert_ptr_equal(tw_op_arguments(name, len), tw_op_arguments(base, base_len));
	}
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_null(tw_op_category(others[i], strlen(others[i])));
		assert_null(tw_op_model(others[i], strlen(others[i])));
	}
	assert_true(tw_operation_has(TW_TRAIT_GEMM, "aten::mm.out"));
	assert_true(tw_operation_has(TW_TRAIT_GEMM, "aten::linear.default"));
	assert_false(tw_operation_has(TW_TRAIT_GEMM, "aten::mm.out.x"));
}

static void patterns_come_after_names(void **state)
{
	assert_string_equal(tw_op_category("triton_poi_fused_add_0", 22), "triton");
	assert_string_equal(tw_op_category("triton_tem_fused_clone_flex_attention_3", 39),
			    "SDPA_fwd");
	assert_string_equal(tw_op_category("triton_tem_fused_flex_attention_backward_5", 42),
			    "SDPA_bwd");
	assert_string_equal(tw_op_category("triton_tem_fused_addmm_relu_1", 29), "GEMM");
	assert_string_equal(tw_op_model("triton_tem_fused_bmm_12", 23), "template_gemm");
	assert_null(tw_op_category("a_triton_poi_fused_add_0", 24));
}

/* ---- names of kernels */

static size_t kernel_rows;

static void check_kernel(char *const *fields)
{
	static const char *const classes[] = { "compute", "communication", "copy", "fill",
					       "unknown" };
	const struct tw_kernel_name *row = &tw_kernel_names[kernel_rows];
	size_t i;

	assert_true(kernel_rows < tw_kernel_name_count);
	assert_int_equal(strlen(row->pattern), strlen(fields[0]));
	for (i = 0; row->pattern[i]; i++) {
		assert_int_equal(row->pattern[i], tolower((unsigned char)fields[0][i]));
		assert_false(isupper((unsigned char)row->pattern[i]));
	}
	assert_string_equal(classes[row->class], fields[1]);
	assert_string_equal(row->collective, fields[2]);
	assert_string_equal(row->library, fields[3]);
	assert_true(*fields[3]);
	kernel_rows++;
}

/* A name that the pattern is for: something in place of each star. */
static void sample_of(const char *pattern, const char *something, char *out, size_t size)
{
	size_t n = 0;

	for (pattern += *pattern == '^'; *pattern; pattern++) {
		if (*pattern != '*')
			n += (size_t)snprintf(out + n, size - n, "%c", *pattern);
		else
			n += (size_t)snprintf(out + n, size - n, "%s", something);
		assert_true(n < size);
	}
}

static void every_kernel_name_can_be_met(void **state)
{
	static const char *const between[] = { "", "_", " <int, 8>::" };
	char sample[300];
	size_t i, s;

	kernel_rows = 0;
	assert_int_equal(each_row("data/kernel_names.tsv", 5, check_kernel), tw_kernel_name_count);
	for (i = 0; i < tw_kernel_name_count; i++) {
		const struct tw_kernel_name *found = NULL;

		/* It is for something that no row before it is for. */
		for (s = 0; s < 3 && found != &tw_kernel_names[i]; s++) {
			sample_of(tw_kernel_names[i].pattern, between[s], sample, sizeof(sample));
			assert_true(tw_name_matches(tw_kernel_names[i].pattern, sample,
						    strlen(sample)));
			found = tw_kernel_name(sample, strlen(sample));
		}
		if (found != &tw_kernel_names[i])
			fail_msg("'%s' cannot be reached: '%s' is before it",
				 tw_kernel_names[i].pattern, found->pattern);
	}
}

/* As their libraries write them. */
static void kernels_that_are_known(void **state)
{
	static const struct {
		const char *name;
		enum tw_kernel_class class;
		const char *collective;
	} cases[] = {
		{ "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		  TW_KERNEL_COMMUNICATION, "allreduce" },
		{ "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
		  TW_KERNEL_COMMUNICATION, "allreduce" },
		{ "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", TW_KERNEL_COMMUNICATION,
		  "reduce_scatter" },
		{ "ncclDevKernel_Reduce_Sum_f32_RING_LL", TW_KERNEL_COMMUNICATION, "reduce" },
		{ "ncclDevKernel_AllGather_RING_LL", TW_KERNEL_COMMUNICATION, "allgather" },
		{ "ncclDevKernel_SendRecv", TW_KERNEL_COMMUNICATION, "send_recv" },
		{ "ncclDevKernel_Broadcast_RING_LL", TW_KERNEL_COMMUNICATION, "broadcast" },
		{ "ncclDevKernel_Generic_1", TW_KERNEL_COMMUNICATION, "" },
		{ "void rcclGenericKernel<1, false>", TW_KERNEL_COMMUNICATION, "" },
		{ "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)",
		  TW_KERNEL_COMMUNICATION, "allreduce" },
		{ "void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>",
		  TW_KERNEL_COMMUNICATION, "reduce_scatter" },
		{ "void deep_ep::intranode::dispatch<8, 768, 8192>", TW_KERNEL_COMMUNICATION,
		  "all_to_all" },
		{ "multimem_all_reduce_kernel<float>", TW_KERNEL_COMMUNICATION, "allreduce" },
		{ "multimem_one_shot_reduce_scatter", TW_KERNEL_COMMUNICATION, "reduce_scatter" },
		/* Names of other libraries and vendors. */
		{ "void tensorrt_llm::kernels::moe_alltoall::moeA2ADispatchKernel<8, false>(int const*)",
		  TW_KERNEL_COMMUNICATION, "all_to_all" },
		{ "moeA2ACombineKernel", TW_KERNEL_COMMUNICATION, "all_to_all" },
		{ "void hybrid_ep::dispatch_kernel<hybrid_ep::config<4>>(hybrid_ep::args)",
		  TW_KERNEL_COMMUNICATION, "all_to_all" },
		{ "hybrid_ep::combine_kernel", TW_KERNEL_COMMUNICATION, "all_to_all" },
		{ "void meta::comms::ddaAllReduceTreeIpc<__half, 4, false>(__half* const*)",
		  TW_KERNEL_COMMUNICATION, "allreduce" },
		{ "oneccl_reduce_base<float, 2, 16, 1, 1, 2>", TW_KERNEL_COMMUNICATION, "" },
		{ "oneccl_allreduce_small<sycl::half>", TW_KERNEL_COMMUNICATION, "allreduce" },
		{ "void uccl::internode::combine<1>(void*)", TW_KERNEL_COMMUNICATION,
		  "all_to_all" },
		{ "uccl::internode_ll::dispatch", TW_KERNEL_COMMUNICATION, "all_to_all" },
		{ "mcclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(mcclWorkElem)",
		  TW_KERNEL_COMMUNICATION, "send_recv" },
		{ "hcom_allReduce__123_0", TW_KERNEL_COMMUNICATION, "allreduce" },
		{ "c10d::symmetric_memory::barrier_kernel(unsigned int**, int)",
		  TW_KERNEL_COMMUNICATION, "barrier" },
		{ "_ZN4c10d16symmetric_memory26two_shot_all_reduce_kernelIfEEvv",
		  TW_KERNEL_COMMUNICATION, "allreduce" },
		{ "_ring_all_gather_push_kernel", TW_KERNEL_COMMUNICATION, "allgather" },
		{ "__amd_rocclr_copyBufferRectAligned.kd", TW_KERNEL_COPY, "" },
		{ "MEMORY_COPY_DEVICE_TO_HOST", TW_KERNEL_COPY, "" },
		{ "__amd_rocclr_fillBufferAligned", TW_KERNEL_FILL, "" },
	};
	static const char *const computing[] = {
		"",
		"ampere_sgemm_128x64_tn",
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
		"void at::native::vectorized_elementwise_kernel<4>",
		"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32",
		"triton_red_fused_all_reduce_like_0",
		"void at::native::(anonymous namespace)::multi_tensor_apply_kernel",
		"MEMORY_COPY",
		"not__amd_rocclr_copyBuffer",
		/* Collectives of the threads of a block, and what is named after what it fuses. */
		"block_all_reduce_kernel",
		"void layernorm_warp_allreduce_kernel<float>",
		"void softmax_block_all_gather_kernel(int)",
		"_layer_norm_fwd_fused_allgather_kernel",
		"triton_poi_fused_symm_mem_one_shot_all_reduce_1",
		"triton_per_fused_nccl_all_reduce_kernel_7",
		"void gemm<ns::all_reduce_kernel>(ncclComm*)",
		"void hybrid_ep::scan<4>(int)",
		"dispatch_permute_kernel",
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tw_kernel_name *row =
			tw_kernel_name(cases[i].name, strlen(cases[i].name));

		if (!row || row->class != cases[i].class ||
		    strcmp(row->collective, cases[i].collective))
			fail_msg("%s: %s", cases[i].name, row ? row->pattern : "no row");
	}
	for (i = 0; i < sizeof(computing) / sizeof(computing[0]); i++) {
		const struct tw_kernel_name *row =
			tw_kernel_name(computing[i], strlen(computing[i]));

		if (row && row->class != TW_KERNEL_COMPUTE && row->class != TW_KERNEL_UNKNOWN)
			fail_msg("%s: %s", computing[i], row->pattern);
	}
}

/* ---- names of collectives and types */

static void check_collective(char *const *fields)
{
	const char *found = tw_collective(fields[0], strlen(fields[0]));
	char upper[100];
	size_t i;

	for (i = 0; fields[0][i]; i++) {
		assert_false(isupper((unsigned char)fields[0][i]));
		upper[i] = (char)toupper((unsigned char)fields[0][i]);
	}
	upper[i] = '\0';
	assert_non_null(found);
	assert_string_equal(found, fields[1]);
	assert_string_equal(tw_collective(upper, i), fields[1]);
}

static void check_dtype(char *const *fields)
{
	unsigned bytes = (unsigned)strtoul(fields[1], NULL, 10) / 8;
	char with_namespace[100];

	assert_true(bytes <= 16);
	assert_int_equal(tw_dtype_bytes(fields[0], strlen(fields[0])), bytes);
	snprintf(with_namespace, sizeof(with_namespace), "c10::%s", fields[0]);
	assert_int_equal(tw_dtype_bytes(with_namespace, strlen(with_namespace)), bytes);
}

/* A pattern's name: without its stars. */
static size_t plain(const char *pattern, char *name)
{
	size_t len = 0;

	for (; *pattern; pattern++)
		if (*pattern != '*')
			name[len++] = *pattern;
	return len;
}

static void check_host_name(char *const *fields)
{
	static const char *const kinds[] = {
		"synchronising",   "graph_launch", "data_loading",     "container",
		"python_code",	   NULL,	   "gradient_buckets", "framework_range",
		"autograd_thread", "launch",	   "no_launch",	       "communication",
		"ordinary",	   "peer_copy",	   "waits_for_device", "waits_for_stream",
		"blocking_copy",   "allocation",   "module_load",      "implicit_wait",
		"event_record",	   "event_wait",   "worker_loading",   "checkpointing",
		"recomputation",   "compilation",  "optimizer_step",   "step",
		"capture_begin",   "capture_end"
	};
	char name[100];
	unsigned found = tw_host_kinds_of(name, plain(fields[0], name)), i;

	for (i = 0;
	     i < sizeof(kinds) / sizeof(kinds[0]) && (!kinds[i] || strcmp(kinds[i], fields[1]));
	     i++)
		;
	assert_true(i < sizeof(kinds) / sizeof(kinds[0]) && found & 1u << i);
}

/* The marker stands for a place where an identifier of the kernel's own name begins. */
static void names_that_begin_with_a_word(void **state)
{
	static const char *const with[] = {
		"all_reduce",
		"all_reduce_kernel",
		"__all_reduce_kernel",
		"void all_reduce<float>(float*)",
		"void ns::all_reduce<float>(float*)",
		"void (anonymous namespace)::all_reduce()",
		"(anonymous namespace)::_all_reduce_kernel",
		"std::enable_if<true, void>::type ns::all_reduce(int)",
		"void ns<int>::all_reduce(int)",
		"ns::outer<(ns::kind)1>::all_reduce",
		"_Z10all_reducePf",
		"_Z17all_reduce_kernelPf",
		"_ZN4c10d2ns10all_reduceIfEEvPf",
		"_ZN4c10d2ns13__all_reduce_IfEEvPf",
		"a::b::c::d::e::f::g::h::i::j::k::l::m::n::o::p::q::r::all_reduce",
	};
	static const char *const without[] = {
		"",
		"all_reduc",
		"block_all_reduce",
		"WarpAll_Reduce",
		"8all_reduce",
		"void gemm<all_reduce>(int)",
		"void gemm<ns::kind<1>, ns::all_reduce>(int)",
		"void gemm(all_reduce)",
		"void gemm<1>(ns::all_reduce*)",
		"_Z16block_all_reducePf",
		"_Z4gemmI10all_reduceEvv",
		"_Z",
		"_Z99all_reduce",
	};
	size_t i;

	for (i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		if (!tw_name_matches("^all_reduce*", with[i], strlen(with[i])))
			fail_msg("not in '%s'", with[i]);
	for (i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (tw_name_matches("^all_reduce*", without[i], strlen(without[i])))
			fail_msg("in '%s'", without[i]);
	/* What follows may be anywhere behind it; the end counts. */
	assert_true(tw_name_matches("^ns::*sum*", "void ns::f<sum>(int)", 20));
	assert_false(tw_name_matches("^ns::*sum", "void ns::f<sum>(int)", 20));
	assert_true(tw_name_matches("^f", "ns::F", 5));
	assert_false(tw_name_matches("^n", "ns::F", 5));
}

static void collectives_by_operations(void **state)
{
	static const struct {
		const char *name, *collective;
	} cases[] = {
		{ "nccl:all_reduce", "allreduce" },
		{ "c10d::allreduce_", "allreduce" },
		{ "c10d::_allgather_base_", "allgather" },
		{ "_c10d_functional::all_gather_into_tensor", "allgather" },
		{ "_c10d_functional::reduce_scatter_tensor.out", "reduce_scatter" },
		{ "nccl:send 0->1", "send" },
		{ "nccl:recv 0<-1", "recv" },
		{ "oneccl_bindings_for_pytorch::allreduce", "allreduce" },
		{ "ncclAllToAll", "all_to_all" },
		{ "xccl:all_to_all", "all_to_all" },
		{ "record_param_comms", NULL },
		{ "c10d::_", NULL },
		{ "c10d::", NULL },
		{ "", NULL },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *found =
			tw_collective_of_operation(cases[i].name, strlen(cases[i].name));

		if (!found != !cases[i].collective ||
		    (found && strcmp(found, cases[i].collective) != 0))
			fail_msg("%s: %s", cases[i].name, found ? found : "");
	}
}

static void calls_that_launch(void **state)
{
	static const char *const launches[] = { "cudaLaunchKernel", "cuLaunchKernelEx",
						"cudaGraphLaunch", "cudaMemcpyAsync",
						"hipMemsetAsync" };
	static const char *const others[] = { "cudaLaunchHostFunc", "cudaMalloc",
					      "cudaGraphAddMemcpyNode",
					      "cudaGraphExecMemcpyNodeSetParams",
					      "cudaGraphMemsetNodeGetParams" };
	size_t i;

	for (i = 0; i < 5; i++) {
		assert_true(tw_is_launch_name(launches[i], strlen(launches[i])));
		assert_false(tw_is_launch_name(others[i], strlen(others[i])));
	}
}

static void check_frame(char *const *fields)
{
	char name[100];

	size_t len = plain(fields[0], name);

	assert_true(strcmp(fields[1], "passing") ? tw_is_inner_frame(name, len) :
						   tw_is_passing_frame(name, len));
}

static void check_copy_name(char *const *fields)
{
	char name[100];
	size_t len = plain(fields[0], name);

	assert_string_equal(tw_copy_direction_names[tw_copy_direction(name, len)], fields[1]);
	assert_int_equal(tw_copy_is_between_devices(name, len), !strcmp(fields[2], "two"));
}

static void every_host_and_copy_name_is_found(void **state)
{
	assert_int_equal(each_row("data/host_names.tsv", 3, check_host_name),
			 tw_host_name_kind_count);
	assert_int_equal(each_row("data/frames.tsv", 3, check_frame),
			 tw_frame_pattern_count + tw_passing_frame_pattern_count);
	assert_false(tw_is_inner_frame("torchvision/ops/misc.py(7): forward", 35));
	assert_false(tw_is_inner_frame("app/torch/run.py(7): main", 25));
	assert_int_equal(tw_host_kinds_of("torch/_ops.py(7): f", 19),
			 TW_HOST_PYTHON_CODE | TW_HOST_PYTHON_INTERNAL);
	assert_int_equal(each_row("data/copy_directions.tsv", 4, check_copy_name),
			 tw_copy_name_count);
}

static void every_collective_and_type_is_found(void **state)
{
	assert_int_equal(each_row("data/collective_names.tsv", 3, check_collective),
			 tw_collective_name_count);
	assert_int_equal(each_row("data/dtypes.tsv", 7, check_dtype), tw_dtype_count);
	assert_int_equal(tw_dtype_bytes("BFloat16", 8), 2);
	assert_int_equal(tw_dtype_bytes("c10::Float8_e4m3fn", 18), 1);
	assert_int_equal(tw_dtype_bytes("Long", 4), 8);
	assert_int_equal(tw_dtype_bytes("c10::", 5), 0);
	assert_int_equal(tw_dtype_bytes("", 0), 0);
	assert_int_equal(tw_dtype_bytes("floating", 8), 0);
	assert_int_equal(tw_dtype_bytes("floating", 5), 4);
	assert_null(tw_collective("allreduc", 8));
	assert_null(tw_collective("", 0));
}

/* Rows of different tables that speak of the same thing use the same words. */
static void collectives_have_one_spelling(void **state)
{
	size_t i, j;

	for (i = 0; i < tw_kernel_name_count; i++) {
		const char *collective = tw_kernel_names[i].collective;

		for (j = 0; j < tw_collective_name_count; j++)
			if (!strcmp(tw_collective_names[j].collective, collective))
				break;
		if (*collective && j == tw_collective_name_count)
			fail_msg("'%s' is no kind of collective", collective);
	}
}

/* ---- patterns */

/* Without any cleverness. */
static bool slow_match(const char *pattern, const char *text, size_t len)
{
	size_t i;

	if (!*pattern)
		return !len;
	if (*pattern == '*') {
		for (i = 0; i <= len; i++)
			if (slow_match(pattern + 1, text + i, len - i))
				return true;
		return false;
	}
	return len && tolower((unsigned char)*text) == *pattern &&
	       slow_match(pattern + 1, text + 1, len - 1);
}

static void stars_match_any_text(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "abc", true },
		{ "a", "A", true },
		{ "a", "b", false },
		{ "ab", "a", false },
		{ "a*", "abc", true },
		{ "*c", "abc", true },
		{ "*c", "cab", false },
		{ "a*c", "ac", true },
		{ "a*c", "abcbc", true },
		{ "a*c", "abcb", false },
		{ "*ab*ab*", "aab", false },
		{ "*ab*ab*", "abab", true },
		{ "aba*aba", "aba", false },
		{ "**", "x", true },
		{ "*a**b", "xaxb", true },
		{ "*B", "b", false },
		{ "a*a", "a", false },
	};
	static const char pattern_letters[] = "ab*", text_letters[] = "abAB";
	uint64_t seed = 3;
	char pattern[10], text[16];
	size_t i;
	int round;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (tw_name_matches(cases[i].pattern, cases[i].text, strlen(cases[i].text)) !=
		    cases[i].matches)
			fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
	for (round = 0; round < 200000; round++) {
		size_t pattern_len, text_len;

		seed = tw_hash_u64(seed);
		pattern_len = seed % sizeof(pattern);
		text_len = seed / 16 % (sizeof(text) - 1);
		for (i = 0; i < pattern_len; i++)
			pattern[i] = pattern_letters[(seed >> (8 + 2 * i)) % 3];
		pattern[pattern_len] = '\0';
		seed = tw_hash_u64(seed);
		for (i = 0; i < text_len; i++)
			text[i] = text_letters[(seed >> (2 * i)) % 4];
		text[text_len] = 'z';
		if (tw_name_matches(pattern, text, text_len) != slow_match(pattern, text, text_len))
			fail_msg("'%s' and '%.*s'", pattern, (int)text_len, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_has_its_category),
		cmocka_unit_test(only_exact_names_are_found),
		cmocka_unit_test(overloads_are_their_operation),
		cmocka_unit_test(patterns_come_after_names),
		cmocka_unit_test(every_kernel_name_can_be_met),
		cmocka_unit_test(kernels_that_are_known),
		cmocka_unit_test(every_collective_and_type_is_found),
		cmocka_unit_test(every_host_and_copy_name_is_found),
		cmocka_unit_test(names_that_begin_with_a_word),
		cmocka_unit_test(collectives_by_operations),
		cmocka_unit_test(calls_that_launch),
		cmocka_unit_test(collectives_have_one_spelling),
		cmocka_unit_test(stars_match_any_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
