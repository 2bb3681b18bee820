/* README.md of a replay package: what it is, how to run it, what was recorded. */
#include "standalone/replay/replay.h"

#include "standalone/markdown.h"

#include <string.h>

/* Of a kernel's name and of arguments in a table. */
#define LONGEST 120

/* ---- the tables */

static void add_calls(struct tw_str *out, const struct tw_replay_op *op)
{
	size_t i;

	tw_str_add_cstr(out,
			"## Argument Sets\n\n"
			"| # | Arguments | Count | Kernel Time (ms) | Mean (µs) | % of Compute | "
			"Efficiency | Bound | TFLOP/s | TB/s |\n"
			"|---|---|---|---|---|---|---|---|---|---|\n");
	for (i = 0; i < op->rows; i++) {
		const struct tw_replay_row *row = &op->row[i];

		tw_str_addf(out, "| %zu | ", i + 1);
		tw_md_code(out, *row->arguments ? row->arguments : "-", LONGEST);
		tw_fields_fill(out,
			       " | {count} | {time_ms} | {mean_us} | {percent_of_compute} | "
			       "{efficiency.efficiency_percent| %} | ",
			       &tw_replay_row_fields, row);
		tw_str_add_cstr(out, !strcmp(row->bound, "COMPUTE_BOUND") ? "compute" :
				     !strcmp(row->bound, "MEMORY_BOUND")  ? "memory" :
									    TW_MD_UNKNOWN);
		tw_fields_fill(out,
			       " | {efficiency.tflops_achieved} | {efficiency.tb_s_achieved} |\n",
			       &tw_replay_row_fields, row);
	}
	tw_str_add_cstr(out, "\nTimes are those of the GPU kernels, as recorded. Strides are in "
			     "`event_replay_ir.json`.\n\n");
}

static void add_kernels(struct tw_str *out, const struct tw_replay_op *op)
{
	size_t i, k;

	tw_str_add_cstr(out, "## GPU Kernels\n\n"
			     "| Argument Set | Kernel | Count | Mean (µs) | Min (µs) | Max (µs) |\n"
			     "|---|---|---|---|---|---|\n");
	for (i = 0; i < op->rows; i++)
		for (k = 0; k < op->row[i].kernels.count; k++) {
			tw_str_addf(out, "| %zu | ", i + 1);
			tw_fields_fill(out,
				       "{name:120} | {count} | {mean_us} | {min_us} | {max_us} |\n",
				       &tw_replay_kernel_fields, &op->row[i].kernels.at[k]);
		}
	tw_str_add_char(out, '\n');
}

/* ---- what is not known */

static void add_unknown(struct tw_str *out, const struct tw_replay_ops *ops,
			const struct tw_replay_op *op)
{
	const char *left_out = NULL;
	bool lacks_type = false, lacks_strides = false;
	size_t i;

	for (i = 0; i < op->rows; i++) {
		lacks_type |= op->row[i].lacks_type;
		lacks_strides |= op->row[i].lacks_strides;
		left_out = left_out ? left_out : op->row[i].left_out;
	}

	tw_str_add_cstr(
		out,
		"## What Is Not Known\n\n"
		"- Why the kernels take this time: Low efficiency - profile with hardware counters "
		"to diagnose.\n"
		"- The contents of tensors: they are random, and indices lie inside what they "
		"index. Where time depends on the values, it differs.\n"
		"- The state of caches and of other streams when it was recorded. Here calls run one "
		"behind the other, alone; the time of short kernels is then that of launching "
		"them.\n");
	if (!ops->platform)
		tw_str_add_cstr(out, "- The platform, and so how far the kernels are from its "
				     "peak.\n");
	if (lacks_type)
		tw_str_add_cstr(out, "- The type of some tensors: that of the other arguments is "
				     "taken, or what `--list-type` says.\n");
	if (lacks_strides)
		tw_str_add_cstr(out, "- The strides of some tensors: they are taken to be "
				     "contiguous.\n");
	if (left_out)
		tw_str_addf(out,
			    "- How to call it, for some of the argument sets: %s. They are "
			    "not run.\n",
			    left_out);
}

/* ---- all of it */

static void add_field(struct tw_str *out, const char *name, const char *value)
{
	tw_str_addf(out, "- **%s**: ", name);
	tw_md_text(out, value ? value : TW_MD_UNKNOWN);
	tw_str_add_char(out, '\n');
}

void tw_replay_readme(struct tw_str *out, const struct tw_replay_ops *ops,
		      const struct tw_replay_op *op)
{
	struct tw_str name;

	tw_str_add_cstr(out, "# Replay Package: ");
	tw_md_code(out, op->name, LONGEST);
	tw_str_add_cstr(out, "\n\nReplay artifact recommended for kernel team to investigate and "
			     "optimize.\n\n- **Operation**: ");
	tw_str_init(&name, out->allocator);
	tw_str_add(&name, op->name, tw_replay_op_name(op->name));
	tw_md_code(out, name.len ? name.ptr : op->name, 0);
	out->failed |= name.failed;
	tw_str_release(&name);
	tw_str_add_char(out, '\n');
	add_field(out, "Platform", ops->platform);
	add_field(out, "Device", ops->device);
	tw_str_add_cstr(
		out,
		"\n## How to Run\n\n"
		"```sh\npython3 replay.py\npython3 replay.py --device cpu --repeats 10\n```\n\n"
		"It needs PyTorch and nothing else, reads `event_replay_ir.json` beside it, rebuilds "
		"the tensors with their recorded shapes, types and strides, and runs each argument "
		"set on a GPU, or on the CPU where there is none. `python3 replay.py --help` tells "
		"its options and exit statuses. Compare on one machine: before a change of a kernel "
		"and after it.\n\n");
	add_calls(out, op);
	add_kernels(out, op);
	add_unknown(out, ops, op);
}
