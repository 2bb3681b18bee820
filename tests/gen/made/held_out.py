"""Runs that were drawn, a third of each sort: their truth was fixed before the rules that it tests,
and stays (HELD_OUT in runs.py)."""
from . import decode, pipeline, recommender, transformer, vision
from .scenario import (BERT, GPT, HAND, LLM, NORM, ROPE, SCORES, SHARED, SORT, SPEECH, VIT, fault,
                       run)

# ---- input --------------------------------------------------------------------------------------

SORT.append("input")
run("loading_hidden",
    "H100", transformer.train, 103,
    "Data loading takes 7 ms of each step on the launching thread, which runs ahead: nothing is "
    "gained without it.",
    model={**LLM, "style": {"samples": 5, "frame": "tokens/stream.py(52): __next__",
                            "parts": (("tokens/stream.py(80): pack", 0.6),
                                      ("sentencepiece/__init__.py(474): Encode", 0.4))}},
    hidden={"loading": fault("data_loading", ms=7)})

# ---- the host -----------------------------------------------------------------------------------

SORT.append("host")
run("decode_slow_gemm_host_limits",
    "A100", decode.decode, 113,
    "Eager decoding in which one GEMM of each layer is at 15 % of its roofline; the host limits, "
    "so that costs nothing.",
    model={"layers": 8, "d": 1024, "heads": 8, "ff": 2816, "batch": 4, "dtype": "c10::Half"},
    steps=5,
    hidden={"gemm": fault("low_efficiency_gemm", name="o_proj", share=0.15)},
    faults={"eager": fault("launch_bound")}, also_ok=("graph_gap",))
run("cpu_in_layers",
    "MI300X", transformer.prefill, 123,
    "Each layer takes its attention summary to the host with .cpu(). Without: it stays on the GPU.",
    model={**SPEECH, "batch": 6, "vocab": 8192}, steps=4,
    reads={"how": "cpu", "line": 61, "function": "keep_summary", "python_us": 160},
    faults={"sync": fault("host_sync", {"op": "aten::copy_",
                                        "file": "speech/encoder.py(61): keep_summary",
                                        "call": "hipMemcpyWithStream"})},
    # Copies to pageable memory that wait.
    also_ok=("launch_bound", "pageable_copy"))
run("stream_synchronized_by_hand",
    "H100", transformer.train, 124,
    "stream.synchronize() after each layer, left from timing it. Without: none.",
    model=GPT, steps=4, syncs=True,
    reads={"how": "stream", "line": 52, "function": "timed", "python_us": 210},
    faults={"sync": fault("host_sync", {"file": "nano/model.py(52): timed",
                                        "call": "cudaStreamSynchronize"})},
    also_ok=("launch_bound",))
run("loss_read_in_each_step",
    "MI300X", transformer.train, 125,
    "The loss is read at the end of each step: the GPU waits for the first launches of the next. "
    "Without: it is not read.",
    model={**LLM, "layers": 3}, steps=5,
    faults={"read_loss": fault("host_sync", {"op": "aten::item",
                                             "file": "pretrain.py(141): log_metrics"})},
    also_ok=("launch_bound", "data_loading"))
run("empty_cache_in_steps",
    "A100", transformer.train, 131,
    "empty_cache() at the end of each step: frees that wait for the GPU, then allocations. "
    "Without: neither.",
    model={**BERT, "layers": 5}, steps=4,
    faults={"alloc": fault("allocator_calls", {"call": "cudaFree, cudaMalloc",
                                               "file": "torch/cuda/memory.py(224): empty_cache"},
                           n=10, malloc_us=560, free_us=190)},
    # A free waits as a synchronization does.
    also_ok=("host_sync", "launch_bound"))
run("pageable_batch",
    "H100", vision.train, 141,
    "Images are copied from pageable memory, and the host waits. Without: pinned, on a stream of "
    "its own, one batch ahead.",
    model={"batch": 48}, steps=4,
    faults={"pageable": fault("pageable_copy", {"call": "cudaMemcpyAsync", "op": "aten::copy_",
                                                "file": "imagenet.py(171): prefetch"}, rate=9.5)},
    # The host waits in the copy, and loads late for it.
    also_ok=("data_loading", "exposed_copy", "host_sync", "launch_bound"))

# ---- single operators where one kernel would do -------------------------------------------------

SORT.append("unfused")
run("attention_by_hand_infer",
    "H200", transformer.prefill, 202,
    "Attention of an encoder by single operators, no mask. Without: flash attention.",
    model={**SPEECH, "layers": 7},
    faults={"attention": fault("unfused_attention",
                               {**HAND, "file": "speech/encoder.py" + SCORES})},
    also_ok=("fusible_chain",))
run("attention_by_hand_bias_hip",
    "MI300X", transformer.train, 203,
    "Attention with an additive bias by single operators, on AMD. Without: the fused kernel.",
    model={**BERT, "batch": 16, "layers": 6},
    faults={"attention": fault("unfused_attention", {**HAND, "file": "encoder/bert.py" + SCORES},
                               mask="add", scale=False)}, also_ok=("fusible_chain",))
run("rope_by_hand_infer",
    "B200", transformer.prefill, 221,
    "Rotary embedding by neg, cat, mul, mul, add for q and k. Without: a kernel each.",
    model={**LLM, "kv": 20, "seq": 4096}, steps=5,
    faults={"rope": fault("rope_unfused", ROPE)}, also_ok=("fusible_chain",))
run("rms_norm_by_hand_train",
    "A100", transformer.train, 232,
    "RMSNorm in fp32 by eight operators, and their backward pass. Without: the fused operator.",
    model={**LLM, "norm": "eager", "layers": 3, "d": 2048, "heads": 16, "ff": 5632}, steps=3,
    faults={"norm": fault("norm_unfused", NORM)}, also_ok=("fusible_chain",))

# ---- kernels far from the peak ------------------------------------------------------------------

SORT.append("kernels")
run("slow_gemm",
    "H200", transformer.train, 301,
    "The GEMM up of each MLP runs at 27 % of its roofline, forward and backward. Without: as the "
    "others.",
    model={**LLM, "layers": 3},
    faults={"gemm": fault("low_efficiency_gemm", {"op": "aten::mm",
                                                  "shape": "4096 2560 13824"}, name="up",
                          share=0.27, backward=True)})
run("fp32_without_tf32",
    "A100", recommender.train, 321,
    "Dense layers in fp32 on the vector units. Without: TF32.",
    model={"batch": 8192}, steps=4,
    faults={"no_tf32": fault("fp32_gemm_without_tf32", {"op": "aten::mm"})})
run("products_of_groups",
    "H100", transformer.prefill, 331,
    "A product for each of 48 groups of channels, one call each. Without: one batched call.",
    model={**BERT, "batch": 16, "layers": 6}, groups={"n": 48, "rows": 128, "d": 256}, steps=4,
    faults={"small_gemms": fault("small_gemms", {
        "op": "aten::mm", "file": "encoder/bert.py(150): group_projection"})},
    # Taken one by one they are small, and the host launches many.
    also_ok=("launch_bound", "low_efficiency_gemm"))
run("slow_lookups",
    "H100", recommender.train, 345,
    "Lookups in embedding tables at 14 % of the bandwidth. Without: as copies.",
    model={"batch": 16384, "tables": 6}, steps=4,
    faults={"lookup": fault("low_efficiency_other", {"op": "aten::embedding, aten::index_select"},
                            share=0.14)})
run("optimizer_one_by_one",
    "H100", transformer.train, 351,
    "AdamW goes through the parameters one after the other, eight kernels each. Without: fused.",
    model={**LLM, "d": 1024, "heads": 16, "ff": 2816, "layers": 10, "vocab": 16000}, steps=3,
    faults={"optimizer": fault("optimizer_unfused", {"op": "Optimizer.step#AdamW.step",
                                                     "file": "torch/optim/adamw.py"})},
    # Its kernels pass tensors on, and the host launches many.
    also_ok=("fusible_chain", "launch_bound"))
run("layers_run_again",
    "H200", transformer.train, 361,
    "Layers are checkpointed (not reentrant): their forward pass runs again. Without: activations "
    "are kept.",
    model=GPT, steps=3,
    faults={"recompute": fault("activation_recompute",
                               {"file": "torch/utils/checkpoint.py(1546): recompute_fn"},
                               reentrant=False)})

# ---- ranks --------------------------------------------------------------------------------------

SORT.append("ranks")
run("allreduce_behind_backward",
    "A100", transformer.train, 401,
    "Gradients are allreduced in buckets after the backward pass. Without: during it.",
    model={**GPT, "layers": 4, "batch": 4}, ranks=4, steps=3,
    faults={"late_reduce": fault("exposed_communication", {"op": "allreduce",
                                                           "call": "c10d::allreduce_"})},
    also_ok=("low_bandwidth_collective",))
run("slow_link",
    "H200", transformer.prefill, 411,
    "Two allreduces in each layer at 42 GB/s, tensor parallel. Without: 370 GB/s.",
    model={**LLM, "batch": 1, "layers": 5}, ranks=4, steps=3, tensor_parallel=True, **SHARED,
    faults={"slow_link": fault("low_bandwidth_collective", {"op": "allreduce"}, bus=42)},
    also_ok=("exposed_communication",))
run("straggler_eight_ranks",
    "MI300X", transformer.train, 432,
    "All kernels of rank 5 take 6 % longer; the hosts' clocks differ. Without: as the others.",
    model={**GPT, "layers": 3, "vocab": 16384}, ranks=8, steps=3,
    clocks={2: 412000, 3: 415500, 4: -97000, 6: 1290000, 7: -8400}, **SHARED,
    faults={"straggler": fault("straggler_compute", {"rank": 5}, rank=5, factor=1.06)},
    also_ok=("exposed_communication",))
run("bubble_forward_first",
    "MI300X", pipeline.train, 462,
    "Three stages with 3 microbatches, all forward first. Without: 12 of a quarter.",
    model={**GPT, "layers": 2, "batch": 36, "vocab": 16384}, ranks=3, steps=2, micro=3,
    alternate=False, **SHARED,
    faults={"bubble": fault("pipeline_bubble", {"op": "recv"})}, also_ok=("exposed_communication",))

# ---- several faults -----------------------------------------------------------------------------

SORT.append("several")
run("three_faults_ranks",
    "A100", transformer.train, 502,
    "Gradients behind the backward pass, rank 2 computes 14 % longer, and an operator far from "
    "the bandwidth.",
    model={**VIT, "layers": 4, "dtype": "c10::BFloat16"}, ranks=3, steps=3,
    extra={"what": "mul", "function": "layer_scale"}, bucket_mb=40,
    faults={"late_reduce": fault("exposed_communication", {"op": "allreduce",
                                                           "call": "c10d::allreduce_"}),
            "straggler": fault("straggler_compute", {"rank": 2}, rank=2, factor=1.14),
            "slow_extra": fault("low_efficiency_elementwise", {
                "op": "aten::mul", "file": "vision/vit.py(141): layer_scale"}, share=0.2)},
    # The multiplication could go into the kernel before it.
    also_ok=("low_bandwidth_collective", "fusible_chain"))

# ---- nothing wrong, and what is to be noted -----------------------------------------------------

SORT.append("healthy")
run("healthy_mi300x_train",
    "MI300X", transformer.train, 602,
    "Another decoder is trained on AMD; nothing is wrong.",
    model={**GPT, "layers": 4}, steps=3)
run("first_step_loads_code",
    "H100", transformer.train, 621,
    "Code is loaded in the first recorded step only.",
    model={**GPT, "layers": 4}, steps=4, warmup={"n": 5, "ms": 8},
    observation="warmup_in_recording")
run("idle_before_the_steps",
    "A100", transformer.prefill, 622,
    "A fill when the recording starts, then 38 ms until the first step.",
    model=BERT, steps=4, edge={"bytes": 50331648, "ms": 38}, observation="recording_edge")
run("work_from_before",
    "H200", transformer.train, 623,
    "The GPU still works off what was launched before the recording.",
    model={**LLM, "layers": 3}, steps=3, older_work={"n": 24, "us": 310},
    observation="work_before_recording")
run("pointwise_beside",
    "H200", transformer.prefill, 632,
    "Averages of three buffers are updated next to each other: no one reads what another wrote.",
    model={**GPT, "layers": 5}, steps=4,
    extra={"what": "lerp", "name": "lerp_", "function": "update_averages",
           "shapes": ((6144, 1792), (1792, 6144), (3584, 3072))})
