/* Made from data/nsys_rules/ by tools/gen_tables.py. DO NOT EDIT. */
#include "data/tables.h"

const struct tw_nsys_preset tw_nsys_presets[] = {
	{ "pithtrain",
	  "# kind<TAB>pattern<TAB>value: see docs/CLI.md, nsys, \"Rules\". Patterns are POSIX extended regular expressions.\n"
	  "# PithTrain (mlc-ai/pith-train)\n"
	  "# DualPipeV schedule. Names: its layers (layerNN.stageK_d, fused layerNN_stageK_d_layerMM_stageK_d), schedule (forward chunk ... backward\n"
	  "# chunk ...; pipeline send/recv), and the label pushed after cudaProfilerStart. Tried on exports made to its conventions.\n"
	  "label\t^rank=([0-9]+); .*pp=[0-9]+/[0-9]+\n"
	  "window\t^forward chunk.*backward chunk\tforward chunk…\n"
	  "# The last stage of a fused name is the one that launches communication.\n"
	  "stage\t.*stage([1-5])_([fbw])\tstage\\1_\\2\n"
	  "purpose\tstage[24]_[fb]\tep_a2a\n"
	  "purpose\tstage1_[fb]\tcp_ring\n"
	  "purpose\tpipeline send/recv\tpp_p2p\n" },
	{ "megatron",
	  "# kind<TAB>pattern<TAB>value: see docs/CLI.md, nsys, \"Rules\". Patterns are POSIX extended regular expressions.\n"
	  "# Megatron-LM (NVIDIA/Megatron-LM)\n"
	  "# Not tried on a capture.\n"
	  "# Names: nvtx_range_push(suffix=...) in megatron/core/utils.py makes \"<module path>.<function>.<suffix>\"; the suffixes are\n"
	  "# those of megatron/core/transformer/{transformer_layer,attention,mlp}.py. Ranges of the combined 1F1B schedule (overlap of\n"
	  "# expert parallel communication) are \"<node> forward\" and \"<node> backward\", made by ScheduleNode in\n"
	  "# megatron/core/pipeline_parallel. Needs --nvtx-ranges. Megatron labels no rank: processes are numbered by pid.\n"
	  "window\t^iteration *[0-9]+$\titeration\n"
	  "window\t(forward_backward|train)_step$\ttraining step\n"
	  "stage\t^(moe_dispatch|moe_combine|attn|mlp|mtp_post_process) (forward|backward)$\t\\1_\\2\n"
	  "stage\t(^|\\.)(self_attention|cross_attention|core_attention|mlp|self_attn_bda|mlp_bda)$\t\\2\n"
	  "purpose\t^moe_(dispatch|combine) (forward|backward)$\tep_a2a\n"
	  "purpose\t(send_forward|send_backward|recv_forward|recv_backward|p2p_communication)\tpp_p2p\n"
	  "purpose\t(all_gather|reduce_scatter|all_reduce)_?.*(grad|param)\tdp\n" },
	{ "nemo",
	  "# kind<TAB>pattern<TAB>value: see docs/CLI.md, nsys, \"Rules\". Patterns are POSIX extended regular expressions.\n"
	  "# NeMo (NVIDIA/NeMo) on Lightning and Megatron core\n"
	  "# Not tried on a capture.\n"
	  "# Names: Lightning's profilers mark its actions as \"[pl][profile]<action>\" (lightning/pytorch/profilers/pytorch.py), with\n"
	  "# run_training_batch around each batch; within, the ranges of Megatron core. NeMo labels no rank: processes are numbered by pid.\n"
	  "window\t^\\[pl\\]\\[profile\\]run_training_batch\t[pl][profile]run_training_batch\n"
	  "stage\t^\\[pl\\]\\[profile\\]\\[Strategy\\][A-Za-z]+\\.(training_step|backward|optimizer_step)\t\\1\n"
	  "stage\t^(moe_dispatch|moe_combine|attn|mlp) (forward|backward)$\t\\1_\\2\n"
	  "stage\t(^|\\.)(self_attention|cross_attention|core_attention|mlp|self_attn_bda|mlp_bda)$\t\\2\n"
	  "purpose\t^moe_(dispatch|combine) (forward|backward)$\tep_a2a\n"
	  "purpose\t(send_forward|send_backward|recv_forward|recv_backward)\tpp_p2p\n" },
	{ "pytorch",
	  "# kind<TAB>pattern<TAB>value: see docs/CLI.md, nsys, \"Rules\". Patterns are POSIX extended regular expressions.\n"
	  "# PyTorch alone: DDP, FSDP, FSDP2\n"
	  "# DDP, FSDP and FSDP2 as torch.autograd.profiler.emit_nvtx() shows their record_function ranges, and the ranges\n"
	  "# that NCCL pushes itself. The names of FSDP2 were seen in a capture of inference; not tried on one of training.\n"
	  "# Names: torch/nn/parallel/distributed.py, torch/distributed/fsdp/ (FullyShardedDataParallel.*), _fully_shard/ (FSDP::*),\n"
	  "# torch/optim/optimizer.py (Optimizer.step#<class>.step); NCCL: src/collectives.cc (NVTX3 ranges named by the call).\n"
	  "# They label no rank: processes are numbered by pid.\n"
	  "window\t^ProfilerStep#[0-9]+\tProfilerStep#\n"
	  "window\t^DistributedDataParallel\\.forward\tDistributedDataParallel.forward\n"
	  "window\t^FullyShardedDataParallel\\.forward\tFullyShardedDataParallel.forward\n"
	  "stage\t^FSDP::([a-z_]+)\tfsdp_\\1\n"
	  "stage\t^FullyShardedDataParallel\\.([A-Za-z_]+)\tfsdp_\\1\n"
	  "stage\t^DistributedDataParallel\\.([A-Za-z_]+)\tddp_\\1\n"
	  "stage\t^nccl:([a-z_0-9]+)\t\\1\n"
	  "stage\t^nccl(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|Send|Recv|AlltoAll|AllToAll|GroupEnd)$\tnccl\\1\n"
	  "purpose\t^FSDP::|^FullyShardedDataParallel\tdp_fsdp\n"
	  "purpose\t^DistributedDataParallel\tdp_ddp\n"
	  "purpose\t^nccl:(send|recv)|^nccl(Send|Recv)$\tp2p\n"
	  "purpose\t^nccl\tcollective\n" },
	{ "torchtitan",
	  "# kind<TAB>pattern<TAB>value: see docs/CLI.md, nsys, \"Rules\". Patterns are POSIX extended regular expressions.\n"
	  "# torchtitan (pytorch/torchtitan)\n"
	  "# Not tried on a capture.\n"
	  "# It profiles with PyTorch's profiler; under torch.autograd.profiler.emit_nvtx() the record_function ranges of what it is built\n"
	  "# on show up: FSDP2 (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py), pipeline schedules\n"
	  "# (torch/distributed/pipelining/schedules.py, names of actions such as PP:0F1), optimizers (torch/optim/optimizer.py).\n"
	  "# It labels no rank: processes are numbered by pid.\n"
	  "window\t^ProfilerStep#[0-9]+\tProfilerStep#\n"
	  "stage\t^PP:[0-9]+(F|B|I|W)[0-9]*\tpp_\\1\n"
	  "stage\t^PP:[0-9]+(SEND_F|RECV_F|SEND_B|RECV_B|UNSHARD|RESHARD|REDUCE_GRAD)\tpp_\\1\n"
	  "stage\t^(Forward|Backward) [0-9]+\tpp_\\1\n"
	  "stage\t^FSDP::(all_gather_copy_out|all_gather|pre_forward|post_forward|pre_backward|post_backward_reduce|post_backward_reshard|post_backward_accumulate|backward_prefetch)\tfsdp_\\1\n"
	  "purpose\t^FSDP::\tdp_fsdp\n"
	  "purpose\t^PP:[0-9]+(SEND|RECV)\tpp_p2p\n" },
};

const size_t tw_nsys_preset_count = 5;

_Static_assert(5 <= 32, "a bit each, see survey.c");
