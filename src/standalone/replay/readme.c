/* README.md of a replay package: what it is, how to run it, what was recorded. */
#include "standalone/replay/replay.h"

#include "standalone/markdown.h"

#include <string.h>
#include <strings.h>

/* Of a kernel's name and of arguments in a table. */
#define LONGEST 120

static const struct tw_json_value *member(const struct tw_json_value *entry, const char *key)
{
	return tw_json_get(entry, key);
}

/* ---- a call in one line: "BFloat16[141, 512], 1, beta=1" */

static void add_number_list(struct tw_str *out, const struct tw_json_value *list)
{
	const struct tw_json_value *item;

	tw_str_add_char(out, '[');
	for (item = list->first; item; item = item->next) {
		tw_str_add_cstr(out, item == list->first ? "" : ", ");
		tw_str_add_cstr(out, item->type == TW_JSON_BOOL ?
					     (item->boolean ? "True" : "False") :
				     item->text ? item->text :
						  "None");
	}
	tw_str_add_char(out, ']');
}

static void add_tensor(struct tw_str *out, const struct tw_json_value *tensor)
{
	const char *type = tw_json_text(member(tensor, "dtype"));

	if (!strncasecmp(type, "c10::", 5))
		type += 5;
	tw_str_add_cstr(out, *type ? type : "?");
	add_number_list(out, member(tensor, "shape"));
}

static void add_value(struct tw_str *out, const struct tw_json_value *value)
{
	const struct tw_json_value *item;

	if (value->type == TW_JSON_OBJECT) {
		add_tensor(out, value);
	} else if (value->type == TW_JSON_ARRAY && value->first &&
		   value->first->type == TW_JSON_OBJECT) {
		tw_str_add_char(out, '(');
		for (item = value->first; item; item = item->next) {
			tw_str_add_cstr(out, item == value->first ? "" : ", ");
			add_tensor(out, item);
		}
		tw_str_add_char(out, ')');
	} else if (value->type == TW_JSON_ARRAY) {
		add_number_list(out, value);
	} else if (value->type == TW_JSON_BOOL) {
		tw_str_add_cstr(out, value->boolean ? "True" : "False");
	} else {
		tw_str_add_cstr(out, value->text ? value->text : "-");
	}
}

static void add_arguments(struct tw_str *out, const struct tw_json_value *entry)
{
	const struct tw_json_value *ir = member(entry, "replay_ir"), *item;
	const struct tw_json_value *by_place = member(ir, "list_pos_args")->first;
	const struct tw_json_value *by_name = member(ir, "list_kwargs")->first;
	struct tw_str line;

	tw_str_init(&line, out->allocator);
	for (item = by_place; item; item = item->next) {
		tw_str_add_cstr(&line, item == by_place ? "" : ", ");
		add_value(&line, member(item, "value"));
	}
	for (item = by_name; item; item = item->next) {
		tw_str_addf(&line, "%s%s=", line.len ? ", " : "",
			    tw_json_text(member(item, "arg_name")));
		add_value(&line, member(item, "value"));
	}
	tw_md_code(out, line.len ? line.ptr : "-", LONGEST);
	out->failed |= line.failed;
	tw_str_release(&line);
}

/* ---- the tables */

static void add_bound(struct tw_str *out, const struct tw_json_value *efficiency)
{
	const char *bound = tw_json_text(member(efficiency, "bound_type"));

	tw_str_add_cstr(out, !strcmp(bound, "COMPUTE_BOUND") ? "compute" :
			     !strcmp(bound, "MEMORY_BOUND")  ? "memory" :
							       TW_MD_UNKNOWN);
}

/* Cells with members of an object, the mark between cells in front of each. */
static void add_cells(struct tw_str *out, const struct tw_json_value *object,
		      const char *const *keys, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		tw_str_add_cstr(out, " | ");
		tw_md_number(out, member(object, keys[i]), "");
	}
}

static void add_calls(struct tw_str *out, const struct tw_json_value *entries)
{
	static const char *const times[] = { "count", "time_ms", "mean_us", "percent_of_compute" };
	const struct tw_json_value *entry, *efficiency;
	size_t number = 0;

	tw_str_add_cstr(out,
			"## Argument Sets\n\n"
			"| # | Arguments | Count | Kernel Time (ms) | Mean (µs) | % of Compute | "
			"Efficiency | Bound | TFLOP/s | TB/s |\n"
			"|---|---|---|---|---|---|---|---|---|---|\n");
	for (entry = entries->first; entry; entry = entry->next) {
		efficiency = member(entry, "efficiency");
		tw_str_addf(out, "| %zu | ", ++number);
		add_arguments(out, entry);
		add_cells(out, entry, times, 4);
		tw_str_add_cstr(out, " | ");
		tw_md_number(out, member(efficiency, "efficiency_percent"), " %");
		tw_str_add_cstr(out, " | ");
		add_bound(out, efficiency);
		tw_str_add_cstr(out, " | ");
		tw_md_number(out, member(efficiency, "tflops_achieved"), "");
		tw_str_add_cstr(out, " | ");
		tw_md_number(out, member(efficiency, "tb_s_achieved"), "");
		tw_str_add_cstr(out, " |\n");
	}
	tw_str_add_cstr(out, "\nTimes are those of the GPU kernels, as recorded. Strides are in "
			     "`event_replay_ir.json`.\n\n");
}

static void add_kernels(struct tw_str *out, const struct tw_json_value *entries)
{
	static const char *const times[] = { "count", "mean_us", "min_us", "max_us" };
	const struct tw_json_value *entry, *kernel;
	size_t number = 0;

	tw_str_add_cstr(out, "## GPU Kernels\n\n"
			     "| Argument Set | Kernel | Count | Mean (µs) | Min (µs) | Max (µs) |\n"
			     "|---|---|---|---|---|---|\n");
	for (entry = entries->first; entry; entry = entry->next) {
		number++;
		for (kernel = member(entry, "kernels")->first; kernel; kernel = kernel->next) {
			tw_str_addf(out, "| %zu | ", number);
			tw_md_code(out, tw_json_text(member(kernel, "name")), LONGEST);
			add_cells(out, kernel, times, 4);
			tw_str_add_cstr(out, " |\n");
		}
	}
	tw_str_add_char(out, '\n');
}

/* ---- what is not known */

/* Whether a value, or one of a list, is a tensor whose type or strides were not recorded. */
static bool lacks(const struct tw_json_value *value, const char *key)
{
	const struct tw_json_value *item;

	if (value->type == TW_JSON_OBJECT)
		return tw_json_is_null(member(value, key));
	for (item = value->type == TW_JSON_ARRAY ? value->first : NULL; item; item = item->next)
		if (item->type == TW_JSON_OBJECT && tw_json_is_null(member(item, key)))
			return true;
	return false;
}

static bool any_lacks(const struct tw_json_value *entries, const char *key)
{
	const struct tw_json_value *entry, *item;

	for (entry = entries->first; entry; entry = entry->next) {
		const struct tw_json_value *ir = member(entry, "replay_ir");

		for (item = member(ir, "list_pos_args")->first; item; item = item->next)
			if (lacks(member(item, "value"), key))
				return true;
	}
	return false;
}

static const char *left_out(const struct tw_json_value *entries)
{
	const struct tw_json_value *entry;

	for (entry = entries->first; entry; entry = entry->next)
		if (!tw_json_is_null(member(entry, "left_out")))
			return tw_json_text(member(entry, "left_out"));
	return NULL;
}

static void add_unknown(struct tw_str *out, const struct tw_json_value *entries)
{
	const struct tw_json_value *first = entries->first;

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
	if (tw_json_is_null(member(first ? first : entries, "platform")))
		tw_str_add_cstr(out, "- The platform, and so how far the kernels are from its "
				     "peak.\n");
	if (any_lacks(entries, "dtype"))
		tw_str_add_cstr(out, "- The type of some tensors: that of the other arguments is "
				     "taken, or what `--list-type` says.\n");
	if (any_lacks(entries, "strides"))
		tw_str_add_cstr(out, "- The strides of some tensors: they are taken to be "
				     "contiguous.\n");
	if (left_out(entries))
		tw_str_addf(out,
			    "- How to call it, for some of the argument sets: %s. They are "
			    "not run.\n",
			    left_out(entries));
}

/* ---- all of it */

static void add_field(struct tw_str *out, const char *name, const struct tw_json_value *value)
{
	tw_str_addf(out, "- **%s**: ", name);
	if (*tw_json_text(value))
		tw_md_text(out, tw_json_text(value));
	else
		tw_str_add_cstr(out, TW_MD_UNKNOWN);
	tw_str_add_char(out, '\n');
}

void tw_replay_readme(struct tw_str *out, const char *name, const struct tw_json_value *entries)
{
	const struct tw_json_value *first = entries->first ? entries->first : entries;

	tw_str_add_cstr(out, "# Replay Package: ");
	tw_md_code(out, name, LONGEST);
	tw_str_add_cstr(out, "\n\nReplay artifact recommended for kernel team to investigate and "
			     "optimize.\n\n");
	tw_str_add_cstr(out, "- **Operation**: ");
	tw_md_code(out,
		   *tw_json_text(member(first, "op_name")) ?
			   tw_json_text(member(first, "op_name")) :
			   name,
		   0);
	tw_str_add_char(out, '\n');
	add_field(out, "Platform", member(first, "platform"));
	add_field(out, "Device", member(first, "device_name"));
	tw_str_add_cstr(
		out,
		"\n## How to Run\n\n"
		"```sh\npython3 replay.py\npython3 replay.py --device cpu --repeats 10\n```\n\n"
		"It needs PyTorch and nothing else, reads `event_replay_ir.json` beside it, rebuilds "
		"the tensors with their recorded shapes, types and strides, and runs each argument "
		"set on a GPU, or on the CPU where there is none. `python3 replay.py --help` tells "
		"its options and exit statuses. Compare on one machine: before a change of a kernel "
		"and after it.\n\n");
	add_calls(out, entries);
	add_kernels(out, entries);
	add_unknown(out, entries);
}
