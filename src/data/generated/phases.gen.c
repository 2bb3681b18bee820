/* Made from data/phases.tsv by tools/gen_tables.py. DO NOT EDIT. */
#include "data/phases.h"

const char *const tw_phase_names[TW_PHASES] = { "prefill", "decode", "mixed", "diffusion" };

const struct tw_phase_rule tw_phase_rules[] = {
	{ "execute_{-}_context_{0}(sq{1}sk{2}sqsq{3}sqsk{4})_generation_{5}(sq{6}sk{7}sqsq{8}sqsk{9})", "vllm", TW_PHASES,
	  { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL } },
	{ "execute_context_{0}({1})_generation_{5}({6})", "vllm", TW_PHASES,
	  { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL } },
	{ "execute_{-}_context_{0}({1})_generation_{5}({6})", "vllm", TW_PHASES,
	  { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL } },
	{ "execute_context_{0}({1}_{-})_generation_{5}({6})", "vllm", TW_PHASES,
	  { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL } },
	{ "execute_context_{0}({1}_{-})_generation_{5}({6}_{-})", "vllm", TW_PHASES,
	  { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL } },
	{ "step[EXTEND{s*}]", "sglang", TW_PHASE_PREFILL,
	  { "s.bs", "s.c_sq|s.toks", "s.c_sk", "s.c_sqsq", "s.c_sqsk", "0", "s.g_sq|0", "s.g_sk", "s.g_sqsq", "s.g_sqsk" } },
	{ "step[DECODE{s*}]", "sglang", TW_PHASE_DECODE,
	  { "0", "s.c_sq|0", "s.c_sk", "s.c_sqsq", "s.c_sqsk", "s.bs", "s.g_sq|s.toks|s.bs", "s.g_sk", "s.g_sqsq", "s.g_sqsk" } },
	{ "step[MIXED{s*}]", "sglang", TW_PHASE_MIXED,
	  { "s.c", "s.c_sq", "s.c_sk", "s.c_sqsq", "s.c_sqsk", "s.g", "s.g_sq", "s.g_sk", "s.g_sqsq", "s.g_sqsk" } },
	{ "prefill[{p*}] decode[{d*}]", "atom", TW_PHASE_MIXED,
	  { "p.bs", "p.tok", "p.sk", "p.sqsq", "p.sqsk", "d.bs", "d.tok", "d.sk", "d.sqsq", "d.sqsk" } },
	{ "prefill[{p*}]", "atom", TW_PHASE_PREFILL,
	  { "p.bs", "p.tok", "p.sk", "p.sqsq", "p.sqsk", "0", "0", NULL, NULL, NULL } },
	{ "decode[{d*}]", "atom", TW_PHASE_DECODE,
	  { "0", "0", NULL, NULL, NULL, "d.bs", "d.tok", "d.sk", "d.sqsq", "d.sqsk" } },
	{ "execute_diffusion_{0}_{-}x{-}", "diffusion", TW_PHASE_DIFFUSION,
	  { NULL, NULL, NULL, NULL, NULL, "0", NULL, NULL, NULL, NULL } },
};

const size_t tw_phase_rule_count = 12;
