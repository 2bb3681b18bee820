"""Runs with known faults; more are in held_out.py."""
from . import decode, experts, pipeline, recommender, serving, transformer, vision
from .scenario import (BERT, GPT, HAND, LLM, LOADER, NORM, ROPE, SCORES, SHARED, SMALL, SORT,
                       SPEECH, VIT, WORKERS, fault, run)

# ---- input --------------------------------------------------------------------------------------

SORT.append("input")
run("loading_exposed",
    "A100", transformer.train, 101,
    "The main process decodes images itself, and the loss is read in each step, so all of it is "
    "exposed. Without: a loader with workers.",
    model=VIT, steps=4, reads_loss=True,
    faults={"loading": fault("data_loading", {"call": LOADER, "file": "datasets/folder.py"},
                             ms=15)},
    # Without reading the loss the host would run ahead and hide it; with a graph launches would
    # follow a fetch sooner.
    also_ok=("host_sync", "launch_bound"))
run("loading_partly_hidden",
    "MI300X", transformer.train, 102,
    "The main process makes spectrograms; the host runs ahead of the GPU, so a part is hidden.",
    model=SPEECH, steps=5,
    faults={"loading": fault("data_loading", {"call": LOADER, "file": "speech/dataset.py"}, ms=34)},
    also_ok=("launch_bound",))
run("loading_workers_late",
    "H200", vision.train, 104,
    "Workers make a batch slower than the GPU trains on it; the launching thread waits in the "
    "queue.",
    model={"batch": 96}, steps=5,
    faults={"loading": fault("data_loading", {"call": WORKERS, "file": "queue.py"}, ms=7.2,
                             workers=True)}, also_ok=("launch_bound",))

# ---- the host -----------------------------------------------------------------------------------

SORT.append("host")
run("decode_one_by_one",
    "H100", decode.decode, 111,
    "A token a step, eager: the GPU waits for each launch. Without: one GPU graph.",
    model={"layers": 10}, steps=5,
    faults={"eager": fault("launch_bound")},
    # What is left between the kernels of a graph is a part of the idle time.
    also_ok=("graph_gap",))
run("small_model_one_by_one",
    "MI300X", transformer.train, 112,
    "A small model is trained, eager: the host cannot launch as fast as the GPU computes. "
    "Without: the step in one graph.",
    model={**SMALL, "graph": True}, steps=4,
    faults={"eager": fault("launch_bound")}, also_ok=("graph_gap",))
run("item_in_layers",
    "H200", transformer.train, 121,
    "Each layer reads a statistic with .item() and books it in Python. Without: no .item(), the "
    "same Python.",
    model={**LLM, "layers": 5, "batch": 1}, first_step=12,
    reads={"how": "item", "line": 188, "function": "record_router_load", "python_us": 240},
    faults={"sync": fault("host_sync", {"op": "aten::item",
                                        "file": "llm/modeling.py(188): record_router_load",
                                        "call": "cudaStreamSynchronize"})},
    # The launches after each wait are late.
    also_ok=("launch_bound",))
run("nonzero_in_layers",
    "B200", transformer.prefill, 122,
    "Every second layer selects tokens with nonzero, whose size the host waits for. Without: "
    "nonzero_static.",
    model={**BERT, "batch": 32}, steps=5,
    reads={"how": "nonzero", "line": 77, "function": "active_tokens", "python_us": 190, "every": 2},
    faults={"sync": fault("host_sync", {"op": "aten::nonzero",
                                        "file": "encoder/bert.py(77): active_tokens",
                                        "call": "cudaStreamSynchronize"})},
    also_ok=("launch_bound",))
run("hip_allocations_in_layers",
    "MI300X", transformer.prefill, 132,
    "Each layer allocates through the driver. Without: not.",
    model={**GPT, "batch": 3, "layers": 6}, steps=5,
    faults={"alloc": fault("allocator_calls", {"call": "hipMalloc"}, n=12, malloc_us=390)},
    also_ok=("launch_bound",))
run("pageable_batch_hip",
    "MI300X", recommender.train, 142,
    "Ids of tables are copied by hipMemcpyWithStream, which lasts as long as the copy. Without: "
    "pinned and ahead.", steps=4,
    faults={"pageable": fault("pageable_copy", {"call": "hipMemcpyWithStream", "op": "aten::copy_",
                                                "file": "recsys/main.py(61): to_gpu"}, rate=7.5)},
    also_ok=("data_loading", "exposed_copy", "host_sync", "launch_bound"))
run("pinned_copy_between_kernels",
    "B200", vision.train, 143,
    "Images are copied from pinned memory, not blocking, on the stream that computes. Without: on "
    "one of their own.",
    model={"batch": 128, "dtype": "c10::BFloat16"}, steps=5,
    faults={"exposed_copy": fault("exposed_copy", {"call": "cudaMemcpyAsync", "op": "aten::copy_",
                                                   "file": "imagenet.py(171): prefetch",
                                                   "stream": 7})},
    also_ok=("data_loading", "pageable_copy"))
run("pause_in_one_step",
    "H200", transformer.train, 151,
    "The interpreter collects garbage for 61 ms in the third step: nothing is recorded in that "
    "time.",
    model=GPT, steps=5, first_step=21, measure="window",
    faults={"pause": fault("host_pause", {"step": 23, "file": "nano/model.py(230): forward",
                                          "module": "GPT_0"}, step=2, layer=3, ms=61)},
    also_ok=("launch_bound",))
run("checkpoint_in_one_step",
    "A100", transformer.train, 152,
    "torch.save in one step of six, on the launching thread. Without: none.",
    model={**GPT, "layers": 3}, steps=6, measure="window",
    faults={"save": fault("checkpoint_save", {"file": "torch/serialization.py(967): save",
                                              "step": 6, "call": "cudaMemcpyAsync"}, step=2,
                          tensors=14, write_ms=3.4)},
    # It stands still in one step; its copies go to pageable memory and are waited for.
    also_ok=("host_pause", "host_sync", "pageable_copy", "exposed_copy", "launch_bound"))
run("compiled_in_every_step",
    "H100", transformer.train, 153,
    "Shapes change, so code is compiled and loaded in each step. Without: not.",
    model={**LLM, "layers": 3}, steps=5,
    faults={"recompile": fault("recompilation",
                               {"file": "torch/_dynamo/convert_frame.py(1277): __call__",
                                "call": "cuModuleLoadData"}, n=4, ms=7.5)},
    also_ok=("launch_bound",))
run("compiled_in_every_step_hip",
    "MI300X", transformer.prefill, 154,
    "Prompts of a new length in each step, so code is compiled and loaded again. Without: not.",
    model={**LLM, "seq": 1536}, steps=4,
    faults={"recompile": fault("recompilation",
                               {"file": "torch/_dynamo/convert_frame.py(1277): __call__",
                                "call": "hipModuleLoadData"}, n=2, ms=3.5)},
    also_ok=("launch_bound",))

# ---- single operators where one kernel would do -------------------------------------------------

SORT.append("unfused")
run("attention_by_hand_train",
    "H100", transformer.train, 201,
    "Attention with a mask and dropout by single operators. Without: flash attention with the "
    "same.",
    model={**GPT, "dropout": 0.1},
    faults={"attention": fault("unfused_attention", {**HAND, "file": "nano/model.py" + SCORES,
                                                     "module": "CausalSelfAttention"},
                               mask="masked_fill", dropout=0.1)}, also_ok=("fusible_chain",))
run("gelu_by_hand_train",
    "A100", transformer.train, 211,
    "GELU by eight operators, each reading what the one before wrote, and their backward pass. "
    "Without: one kernel each way.",
    model={**GPT, "layers": 4, "batch": 4},
    faults={"chain": fault("fusible_chain", {"op": "aten::pow, aten::mul, aten::add, aten::tanh",
                                             "file": "nano/model.py(133): activation",
                                             "module": "MLP"}, form="gelu_new")},
    # They are of the kind that is far from the peak, taken one by one.
    also_ok=("low_efficiency_elementwise",))
run("mish_by_hand_infer",
    "MI300X", transformer.prefill, 212,
    "Mish by five operators. Without: one kernel.",
    model={**SPEECH, "vocab": 4096, "layers": 5}, steps=5,
    faults={"chain": fault("fusible_chain", {"op": "aten::exp, aten::log, aten::tanh, aten::mul",
                                             "file": "speech/encoder.py(133): activation"},
                           form="mish")}, also_ok=("low_efficiency_elementwise",))
run("rope_by_hand_train",
    "H100", transformer.train, 222,
    "Rotary embedding by single operators in training, with its backward pass. Without: a kernel "
    "each way.",
    model={**LLM, "layers": 3, "kv": 30, "d": 1920, "heads": 30, "ff": 5120, "vocab": 16000},
    faults={"rope": fault("rope_unfused", ROPE)}, also_ok=("fusible_chain",))
run("rms_norm_by_hand",
    "H200", transformer.prefill, 231,
    "RMSNorm in fp32 by eight operators. Without: the fused operator.",
    model={**LLM, "norm": "eager", "layers": 5}, steps=5,
    faults={"norm": fault("norm_unfused", NORM)}, also_ok=("fusible_chain",))
run("heads_made_contiguous",
    "A100", transformer.prefill, 241,
    "q, k, v and the output of attention are copied to another layout. Without: strides.",
    model={**SPEECH, "layers": 6}, steps=4,
    faults={"layout": fault("layout_copies", {"op": "aten::contiguous, aten::clone, aten::copy_",
                                              "file": "speech/encoder.py"}, share=0.42)},
    # Strided copies are far from the peak.
    also_ok=("low_efficiency_elementwise", "low_efficiency_other"))
run("convolutions_transposed",
    "H100", vision.train, 242,
    "Tensors are not channels last: the library transposes around each convolution. Without: "
    "channels last.",
    model={"batch": 80}, steps=3,
    faults={"nchw": fault("layout_copies",
                          {"op": "aten::cudnn_convolution, aten::convolution_backward"},
                          share=0.7)}, also_ok=("low_efficiency_convolution",))

# ---- kernels far from the peak ------------------------------------------------------------------

SORT.append("kernels")
run("slow_gemm_hip",
    "MI300X", transformer.prefill, 302,
    "The output projection runs at 35 % of its roofline. Without: as the others.",
    model={**BERT, "batch": 48, "layers": 6}, steps=5,
    faults={"gemm": fault("low_efficiency_gemm", {"op": "aten::addmm",
                                                  "module": "BertSelfAttention"},
                          name="o", share=0.35)})
run("odd_vocabulary",
    "H100", transformer.train, 311,
    "A vocabulary of 50257: kernels without alignment. Without: 50304.",
    model={**GPT, "layers": 4, "bias": False},
    faults={"misaligned": fault("misaligned_gemm", {"op": "aten::mm", "shape": "N=50257"}, n=50257,
                                share=0.24, align=1)}, also_ok=("low_efficiency_gemm",))
run("odd_vocabulary_half",
    "A100", transformer.prefill, 312,
    "A vocabulary of 32003, fp16. Without: 32064.",
    model={**BERT, "dtype": "c10::Half", "vocab": 32064, "bias": False, "layers": 4}, steps=5,
    faults={"misaligned": fault("misaligned_gemm", {"op": "aten::mm", "shape": "N=32003"}, n=32003,
                                share=0.33, align=1)}, also_ok=("low_efficiency_gemm",))
run("slow_multiplication",
    "H100", transformer.train, 341,
    "A multiplication by a gate whose strides differ runs at 17 % of the bandwidth. Without: as "
    "others.",
    model={**LLM, "layers": 3}, extra={"what": "mul", "function": "gate_scale"},
    faults={"slow_extra": fault("low_efficiency_elementwise", {
        "op": "aten::mul", "file": "llm/modeling.py(141): gate_scale"}, share=0.17)},
    # It could go into the kernel before it.
    also_ok=("fusible_chain",))
run("slow_sum",
    "MI300X", transformer.prefill, 342,
    "A sum over the first dimension at 12 % of the bandwidth. Without: as other reductions.",
    model={**GPT, "layers": 6}, extra={"what": "sum", "function": "channel_energy"}, steps=4,
    faults={"slow_extra": fault("low_efficiency_reduction", {
        "op": "aten::sum", "file": "nano/model.py(141): channel_energy"}, share=0.12)})
run("slow_convolutions",
    "A100", vision.train, 343,
    "3x3 convolutions of 128 channels get a kernel at 16 % of the roofline. Without: one as good "
    "as the others.",
    model={"batch": 96}, steps=3,
    faults={"conv": fault("low_efficiency_convolution", {"op": "aten::cudnn_convolution"}, r=3,
                          c=128, share=0.16)})
run("slow_flash_attention",
    "H200", transformer.train, 344,
    "Fused attention at 21 % of its roofline, both ways (a head size that the kernel pads). "
    "Without: as elsewhere.",
    model={**GPT, "causal": False, "seq": 2048, "batch": 3, "bias": False},
    faults={"slow_attention": fault("low_efficiency_attention", {
        "op": "aten::_flash_attention_forward, aten::_scaled_dot_product_flash_attention, "
              "aten::_scaled_dot_product_flash_attention_backward"}, share=0.21)})
run("layers_run_again_reentrant",
    "MI300X", transformer.train, 362,
    "Layers are checkpointed (reentrant): their forward pass runs again. Without: activations are "
    "kept.",
    model={**LLM, "layers": 4}, steps=3,
    faults={"recompute": fault("activation_recompute", {
        "op": "CheckpointFunctionBackward", "file": "torch/utils/checkpoint.py(293): backward"},
                               reentrant=True)})
run("clock_falls",
    "A100", transformer.train, 371,
    "The clock falls from step to step: kernels take up to 34 % longer. Without: as in the first "
    "step.",
    model={**VIT, "layers": 5}, steps=5,
    faults={"power": fault("power_or_clock", factors=(1.0, 1.06, 1.16, 1.27, 1.34))},
    # At a lower clock products are below the roofline.
    also_ok=("low_efficiency_gemm", "low_efficiency_attention"))
run("slow_gaps_between_queued_kernels",
    "H100", transformer.train, 381,
    "What is queued behind compiled kernels starts 12 us after them. Without: 0.8 us, as "
    "elsewhere.",
    model={**GPT, "layers": 4, "batch": 3},
    faults={"queued_gap": fault("queued_gap", us=12, after="triton")}, also_ok=("launch_bound",))
run("gaps_in_a_graph",
    "H200", decode.decode, 382,
    "Decoding in one graph whose nodes start 5.5 us after each other. Without: 0.7 us.",
    model={"layers": 14, "d": 2048, "heads": 16, "ff": 5632}, steps=5, graph_gap=0.7,
    faults={"graph_gap": fault("graph_gap", {"call": "cudaGraphLaunch"}, us=5.5)},
    also_ok=("queued_gap", "launch_bound"))

# ---- ranks --------------------------------------------------------------------------------------

SORT.append("ranks")
run("reduce_scatter_behind_backward",
    "H100", transformer.train, 402,
    "Gradients go through reduce_scatter after the backward pass, on 8 ranks. Without: during it.",
    model={**LLM, "layers": 3, "batch": 1}, ranks=8, steps=2, reduce="reduce_scatter", **SHARED,
    faults={"late_reduce": fault("exposed_communication", {"op": "reduce_scatter",
                                                           "call": "c10d::_reduce_scatter_base_"})},
    also_ok=("low_bandwidth_collective",))
run("gradients_one_by_one",
    "H100", transformer.train, 421,
    "Each parameter's gradient is allreduced by itself. Without: in buckets.",
    model={**SMALL, "d": 256, "heads": 4, "kv": 4, "ff": 1024, "layers": 12, "vocab": 2048,
           "batch": 192, "seq": 512}, ranks=4, steps=2, latency_us=31,
    faults={"small_collectives": fault("small_collectives", {"op": "allreduce",
                                                             "call": "c10d::allreduce_"})},
    # They are behind the backward pass, and the host launches many.
    also_ok=("exposed_communication", "launch_bound"))
run("straggler_two_ranks",
    "A100", transformer.train, 431,
    "All kernels of rank 1 take 14 % longer. Without: as rank 0.",
    model={**VIT, "layers": 4}, ranks=2, steps=3, clocks={1: -734000},
    faults={"straggler": fault("straggler_compute", {"rank": 1}, rank=1, factor=1.14)},
    also_ok=("exposed_communication",))
run("straggler_loads",
    "H100", vision.train, 441,
    "Rank 3 decodes its batch itself; its GPU idles and the others wait. Without: as the others.",
    model={"batch": 64}, ranks=4, steps=3,
    faults={"loading": fault("straggler_host", {"rank": 3, "call": LOADER}, rank=3, ms=9)},
    also_ok=("data_loading", "exposed_communication", "launch_bound"))
run("straggler_logs",
    "B200", transformer.train, 442,
    "Rank 0 writes histograms before each forward pass. Without: as the others.",
    model={**LLM, "batch": 4, "layers": 3}, ranks=2, steps=4,
    faults={"host_late": fault("straggler_host", {"rank": 0,
                                                  "file": "pretrain.py(99): write_histograms"},
                               rank=0, ms=24, function="write_histograms")},
    # Its thread stands still in a frame.
    also_ok=("host_pause", "exposed_communication", "launch_bound"))
run("expert_overloaded",
    "H200", experts.train, 451,
    "The expert of rank 2 gets 43 % of the tokens, the others 19 % each. Without: 25 % each.",
    model={**GPT, "layers": 3, "bias": False, "batch": 4}, ranks=4, steps=3, **SHARED,
    faults={"imbalance": fault("moe_imbalance", {"rank": 2, "op": "all_to_allv"}, rank=2,
                               share=0.43)}, also_ok=("exposed_communication", "straggler_compute"))
run("bubble_1f1b",
    "H100", pipeline.train, 461,
    "Four stages with 4 microbatches, one forward, one backward. Without: 16 microbatches of a "
    "quarter.",
    model={**LLM, "layers": 2, "batch": 16, "seq": 1024}, ranks=4, steps=2, micro=4, **SHARED,
    faults={"bubble": fault("pipeline_bubble", {"op": "recv"})}, also_ok=("exposed_communication",))
run("rank_throttles",
    "H100", transformer.train, 471,
    "Rank 1's clock falls after the first step: its kernels take 17 to 22 % longer. Without: as "
    "before.",
    model={**BERT, "layers": 4}, ranks=2, steps=4, **SHARED,
    faults={"power": fault("power_or_clock", {"rank": 1}, rank=1, factors=(1.0, 1.17, 1.22, 1.22))},
    # For all but the first step it is a straggler, with its kernels below the roofline.
    also_ok=("straggler_compute", "exposed_communication", "low_efficiency_gemm",
             "low_efficiency_attention"))

# ---- several faults -----------------------------------------------------------------------------

SORT.append("several")
run("three_faults_one_gpu",
    "H100", transformer.train, 501,
    "Attention by hand, a vocabulary that is odd, and an activation by hand.",
    model={**GPT, "layers": 4, "bias": False}, steps=3,
    faults={"attention": fault("unfused_attention", {**HAND, "file": "nano/model.py" + SCORES},
                               mask="masked_fill"),
            "misaligned": fault("misaligned_gemm", {"op": "aten::mm", "shape": "N=50257"}, n=50257,
                                share=0.42, align=1),
            "chain": fault("fusible_chain", {"op": "aten::relu, aten::square, aten::mul",
                                             "file": "nano/model.py(133): activation"},
                           form="squared_relu")},
    also_ok=("low_efficiency_gemm", "low_efficiency_elementwise"))
run("three_faults_host",
    "MI300X", transformer.train, 503,
    "Loading in the main process, .item() in each layer, allocations in each layer.",
    model={**BERT, "layers": 5, "batch": 20}, steps=4,
    reads={"how": "item", "line": 66, "function": "log_norms", "python_us": 170},
    faults={"loading": fault("data_loading", {"call": LOADER}, ms=21),
            "sync": fault("host_sync", {"op": "aten::item",
                                        "file": "encoder/bert.py(66): log_norms"}),
            "alloc": fault("allocator_calls", {"call": "hipMalloc"}, n=5, malloc_us=900)},
    also_ok=("launch_bound",))

# ---- one part of many ---------------------------------------------------------------------------

SORT.append("parts")
run("one_layer_slow",
    "H100", transformer.train, 561,
    "A GEMM of one layer of twelve takes four times as long as that of the others, for the same shapes.",
    model={**LLM, "layers": 12, "d": 1536, "heads": 12, "ff": 4096, "vocab": 16384}, steps=4,
    faults={"layer": fault("slow_module", {"module": "DecoderLayer_5", "op": "aten::mm"}, layer=5,
                           name="up", share=0.2)},
    # The same work, seen from its kernel.
    also_ok=("low_efficiency_gemm",))
run("encoders_one_by_one",
    "H100", serving.generate, 562,
    "A small text encoder is launched one by one before a large model that the GPU limits. Without: "
    "the encoder in one graph.",
    model={**LLM, "layers": 4}, steps=4,
    faults={"eager": fault("launch_bound", {"module": "TextEncoder_0"})},
    also_ok=("graph_gap", "host_sync"))
run("serving_decode_one_by_one",
    "MI300X", serving.serve, 563,
    "A server whose prompts the GPU limits and whose tokens are launched one by one. Without: tokens "
    "in a graph.",
    model={"layers": 8}, prompts={**LLM, "layers": 4, "gated": False, "rope": False}, tokens=4, steps=3,
    faults={"eager": fault("launch_bound", {"file": "engine/"})},
    also_ok=("graph_gap", "host_sync"))

run("layers_alike",
    "H100", transformer.train, 564,
    "Twelve layers that do the same work in the same time.",
    model={**LLM, "layers": 12, "d": 1536, "heads": 12, "ff": 4096, "vocab": 16384}, steps=4)
run("encoder_in_a_graph",
    "H100", serving.generate, 565,
    "A text encoder in a graph before a large model that the GPU limits.",
    model={**LLM, "layers": 4}, steps=4, also_ok=("graph_gap", "host_sync", "launch_bound"))
run("serving_in_a_graph",
    "MI300X", serving.serve, 566,
    "A server whose prompts the GPU limits and whose tokens are in a graph.",
    model={"layers": 8}, prompts={**LLM, "layers": 4, "gated": False, "rope": False}, tokens=4, steps=3,
    also_ok=("graph_gap", "host_sync", "launch_bound"))

# ---- nothing wrong, and what is to be noted -----------------------------------------------------

SORT.append("healthy")
run("healthy_h100_train",
    "H100", transformer.train, 601,
    "A decoder is trained; everything compiled or from libraries, the GPU always busy.",
    model=LLM, first_step=7)
run("healthy_b200_prefill",
    "B200", transformer.prefill, 603,
    "Prompts of a language model.",
    model={**LLM, "seq": 4096, "layers": 5}, steps=5)
run("healthy_a100_vision",
    "A100", vision.train, 604,
    "A convolutional network, channels last; images copied ahead on their own stream.",
    model={"batch": 64}, steps=3, pin_thread=True)
run("healthy_h200_ranks",
    "H200", transformer.train, 605,
    "Data parallel over 4 ranks, gradients in buckets during the backward pass.",
    model={**GPT, "layers": 4, "batch": 12, "vocab": 4096}, ranks=4, steps=2, syncs=True, **SHARED)
run("healthy_recommender",
    "H100", recommender.train, 606,
    "A recommendation model, TF32.", steps=3, pin_thread=True)
run("decode_in_a_graph",
    "B200", decode.decode, 611,
    "Decoding in one GPU graph: what it holds has no operators.",
    model={"layers": 16, "d": 3072, "heads": 24, "kv": 8, "ff": 8192}, steps=6,
    observation="graph_hides_operations",
    # Gaps of 1 us that every graph has.
    also_ok=("graph_gap",))
run("decode_in_a_graph_hip",
    "MI300X", decode.decode, 612,
    "Decoding in one GPU graph on AMD: what it holds has no operators.",
    model={"layers": 12, "d": 3072, "heads": 24, "kv": 8, "ff": 8192, "batch": 16}, steps=5,
    observation="graph_hides_operations", also_ok=("graph_gap",))
run("profiler_starts_late",
    "H100", transformer.train, 624,
    "The recording of rank 1 begins 17 ms late: the others wait once.",
    model={**BERT, "layers": 4, "batch": 48, "vocab": 2048}, ranks=3, steps=3, late_start={1: 17},
    **SHARED, observation="profiler_start_skew")
run("clocks_differ",
    "A100", transformer.train, 625,
    "Clocks of two hosts differ by 2.3 ms; no rank is late.",
    model={**VIT, "layers": 4, "batch": 56, "vocab": 4096}, ranks=4, steps=3,
    clocks={2: 2310000, 3: 2304500}, **SHARED, observation="clock_skew")
run("slow_gemm_beside",
    "H100", transformer.train, 631,
    "A GEMM at 9 % of its roofline on a stream of its own, wholly beside the step's work.",
    model={**LLM, "layers": 4}, side_gemm={"n": 30, "stream": 23},
    hidden={"side_gemm": fault("low_efficiency_gemm", share=0.09)})
run("slow_gemm_on_a_waiting_rank",
    "H200", transformer.train, 633,
    "Rank 1 computes 17 % longer, all wait for it; a GEMM of rank 2 at 38 % of its roofline costs "
    "nothing.",
    model={**GPT, "layers": 3, "vocab": 8192}, ranks=3, steps=3, **SHARED,
    faults={"straggler": fault("straggler_compute", {"rank": 1}, rank=1, factor=1.17)},
    hidden={"gemm": fault("low_efficiency_gemm", rank=2, name="up", share=0.38)},
    also_ok=("exposed_communication",))
