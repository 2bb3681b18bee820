/* Which operations get a replay package, and writing it. */
#include "standalone/replay/replay.h"

#include "base/alloc.h"
#include "data/tables.h"
#include "findings/findings.h"
#include "standalone/literal.h"
#include "standalone/standalone.h"
#include "text/suggestions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- event_replay_ir.json */

#define F(kind, member, key, ...) TW_FIELD(struct tw_replay_kernel, kind, member, key, __VA_ARGS__)
static const struct tw_member kernel_fields[] = {
	F(PLAIN, name, "name"),		F(REAL, count, "count"),
	F(REAL, mean_us, "mean_us", 3), F(REAL, min_us, "min_us", 3),
	F(REAL, max_us, "max_us", 3),	F(REAL, total_us, "total_us", 3),
};
#undef F
const struct tw_fields tw_replay_kernel_fields =
	TW_FIELDS(struct tw_replay_kernel, kernel_fields, .inlined = true);

#define F(kind, member, key, ...) TW_FIELD(struct tw_replay_row, kind, member, key, __VA_ARGS__)
static const struct tw_member efficiency_fields[] = {
	F(REAL, efficiency_percent, "efficiency_percent", 2),
	F(TEXT, bound, "bound_type"),
	F(REAL, tflops, "tflops_achieved", 4),
	F(REAL, tb_s, "tb_s_achieved", 4),
	F(REAL, flops_per_byte, "flops_per_byte", 2),
	F(TEXT, spec, "compute_spec"),
};
static const struct tw_fields efficiency = TW_FIELDS(struct tw_replay_row, efficiency_fields);
static const struct tw_member row_fields[] = {
	F(REAL, count, "count"),
	F(TEXT, part, "part_of_operation", .if_known = true),
	F(WORD, uid, "uid"),
	F(REAL, time_ms, "time_ms", 3),
	F(REAL, mean_us, "mean_us", 3),
	F(REAL, percent_of_compute, "percent_of_compute", 2),
	F(NUMBER, gflops, "gflops"),
	F(REAL, megabytes, "data_moved_mb", 4),
	{ .key = "efficiency", .kind = TW_F_STRUCT, .of = &efficiency },
	F(LIST, kernels, "kernels", .of = &tw_replay_kernel_fields),
};
#undef F
const struct tw_fields tw_replay_row_fields = TW_FIELDS(struct tw_replay_row, row_fields);

/* The kernels of a call, as the table has them; streams are of no use elsewhere. */
static int read_kernels(struct tw_replay_row *row, struct tw_arena *arena, struct trawl_error *err)
{
	const struct tw_json_value *list = tw_literal_parse(arena, row->kernels_text), *kernel;

	row->kernels.count = 0;
	row->kernels.at = list ? tw_arena_array(arena, list->count + 1, sizeof(*row->kernels.at)) :
				 NULL;
	if (!row->kernels.at)
		return tw_no_memory(err);
	for (kernel = list->first; kernel; kernel = kernel->next)
		row->kernels.at[row->kernels.count++] = (struct tw_replay_kernel){
			tw_json_text(tw_json_get(kernel, "name")),
			tw_json_number(tw_json_get(kernel, "count")),
			tw_json_number(tw_json_get(kernel, "mean_duration_us")),
			tw_json_number(tw_json_get(kernel, "min_duration_us")),
			tw_json_number(tw_json_get(kernel, "max_duration_us")),
			tw_json_number(tw_json_get(kernel, "total_duration_us")),
		};
	return 0;
}

static int add_entry(struct tw_json *json, const struct tw_replay_ops *ops,
		     struct tw_replay_row *row, struct tw_arena *arena, struct trawl_error *err)
{
	int status = read_kernels(row, arena, err);

	tw_json_object(json, TW_JSON_LINES);
	if (!status)
		status = tw_replay_add_call(json, row, arena, err);
	row->part = row->name[tw_replay_op_name(row->name)] ? row->name : NULL;
	row->time_ms = row->time_us / 1000;
	if (!status)
		tw_fields_members(json, &tw_replay_row_fields, row);
	tw_field_text(json, "platform", ops->platform);
	tw_field_text(json, "device_name", ops->device);
	tw_json_end(json);
	return status;
}

static int write_ir(const struct tw_replay_ops *ops, const struct tw_replay_op *op,
		    struct tw_arena *arena, struct tw_str *out, struct trawl_error *err)
{
	struct tw_json json;
	int status = 0;
	size_t i;

	tw_json_init(&json, out);
	tw_json_array(&json, TW_JSON_LINES);
	for (i = 0; i < op->rows && !status; i++)
		status = add_entry(&json, ops, &op->row[i], arena, err);
	if (status)
		return status;
	tw_json_end(&json);
	tw_json_finish(&json);
	return out->failed ? tw_no_memory(err) : 0;
}

/* ---- the package */

static int write_package(struct tw_prepared *prepared, const struct tw_replay_ops *ops,
			 const struct tw_replay_op *op, struct trawl_error *err)
{
	const struct trawl_allocator *a = prepared->allocator;
	struct tw_str readme, ir, script, zip;
	const struct tw_replay_part parts[] = { { "README.md", &readme },
						{ "event_replay_ir.json", &ir },
						{ "replay.py", &script } };
	struct tw_arena arena; /* a package's own: there may be many */
	size_t i;
	int status;

	tw_arena_init(&arena, a);
	tw_str_init(&readme, a);
	tw_str_init(&ir, a);
	tw_str_init(&script, a);
	tw_str_init(&zip, a);
	for (i = 0; i < tw_replay_script_lines; i++) {
		tw_str_add_cstr(&script, tw_replay_script[i]);
		tw_str_add_char(&script, '\n');
	}
	status = write_ir(ops, op, &arena, &ir, err);
	if (!status) {
		tw_replay_readme(&readme, ops, op);
		if (readme.failed || script.failed)
			status = tw_no_memory(err);
		else
			status = tw_replay_zip(parts, 3, &zip, err);
	}
	if (!status)
		status = tw_prepared_write(prepared, TW_REPLAY_FOLDER, op->file, &zip, err);
	tw_str_release(&zip);
	tw_str_release(&script);
	tw_str_release(&ir);
	tw_str_release(&readme);
	tw_arena_release(&arena);
	return status;
}

/* ---- the choice */

static bool qualifies(double percent_of_compute, double efficiency_percent)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_percent_of_compute] = percent_of_compute;
	facts.value[TW_FACT_efficiency_percent] = efficiency_percent;
	return tw_level_is_yes("replay", &facts);
}

/* As a whole, or with the arguments of one of its rows alone. */
static bool op_qualifies(const struct tw_replay_op *op)
{
	size_t i;

	for (i = 0; i < op->rows; i++)
		if (qualifies(op->row[i].percent_of_compute, op->row[i].efficiency_percent))
			return true;
	return qualifies(op->percent_of_compute, op->efficiency_percent);
}

static int unknown_name(const struct tw_replay_ops *ops, const char *name, struct trawl_error *err)
{
	struct tw_nearest nearest = { .count = 0 };
	struct tw_str names;
	size_t i;
	int status;

	for (i = 0; i < ops->count; i++)
		tw_nearest_add(&nearest, name, ops->op[i].name);
	tw_str_init(&names, trawl_allocator_default());
	for (i = 0; i < nearest.count; i++)
		tw_str_addf(&names, "%s'%.100s'", i ? ", " : "", nearest.name[i]);
	for (i = 0; i < ops->count && i < TW_NEAREST; i++)
		tw_str_addf(&names, "%s'%.100s'",
			    i ? ", " : "; with the most time: ", ops->op[i].name);
	if (names.failed)
		status = tw_no_memory(err);
	else if (!names.len)
		status = trawl_error_set(err, TRAWL_EUSAGE, "no operation '%.100s': there are none",
					 name);
	else
		status = trawl_error_set(err, TRAWL_EUSAGE, "no operation '%.100s'; nearest: %s",
					 name, names.ptr);
	tw_str_release(&names);
	return status;
}

static int choose(const struct tw_replay_ops *ops, const char *const *names, size_t count,
		  bool *chosen, struct trawl_error *err)
{
	size_t i, k;

	for (k = 0; k < ops->count; k++)
		chosen[k] = !names && op_qualifies(&ops->op[k]);
	for (i = 0; names && i < count; i++) {
		for (k = 0; k < ops->count && strcmp(ops->op[k].name, names[i]) != 0; k++)
			;
		if (k == ops->count)
			return unknown_name(ops, names[i], err);
		chosen[k] = true;
	}
	return 0;
}

int tw_replay_packages(struct tw_prepared *prepared, const char *const *names, size_t count,
		       struct tw_replay_ops *ops, bool **chosen, struct trawl_error *err)
{
	int status = tw_replay_read(prepared, ops, err);
	size_t i;

	*chosen = NULL;
	if (status)
		return status;
	*chosen = tw_alloc_array(prepared->allocator, ops->count + 1, sizeof(**chosen));
	if (!*chosen)
		return tw_no_memory(err);
	status = choose(ops, names, count, *chosen, err);
	for (i = 0; i < ops->count && !status; i++)
		if ((*chosen)[i])
			status = write_package(prepared, ops, &ops->op[i], err);
	if (status) {
		tw_free(prepared->allocator, *chosen, (ops->count + 1) * sizeof(**chosen));
		*chosen = NULL;
	}
	return status;
}

int tw_replay(struct tw_prepared *prepared, const char *const *names, size_t count, size_t *written,
	      struct trawl_error *err)
{
	struct tw_replay_ops ops;
	struct tw_prepared own; /* as large as there are operations */
	bool *chosen;
	int status;
	size_t i;

	*written = 0;
	tw_prepared_again(&own, prepared);
	status = tw_replay_packages(&own, names, count, &ops, &chosen, err);
	for (i = 0; !status && i < ops.count; i++)
		*written += chosen[i];
	if (!status)
		tw_free(prepared->allocator, chosen, (ops.count + 1) * sizeof(*chosen));
	tw_prepared_release(&own);
	return status;
}
