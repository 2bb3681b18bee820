/* Which operations get a replay package, and writing it. */
#include "standalone/replay/replay.h"

#include "base/alloc.h"
#include "data/tables.h"
#include "findings/findings.h"
#include "json/python.h"
#include "standalone/standalone.h"
#include "text/suggestions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- event_replay_ir.json */

static void add_number(struct tw_json *json, const char *key, double value, unsigned digits)
{
	tw_json_key(json, key);
	tw_json_rounded(json, value, digits);
}

static void add_text(struct tw_json *json, const char *key, const char *text)
{
	tw_json_key(json, key);
	tw_json_cstr(json, text && *text ? text : NULL);
}

static void add_efficiency(struct tw_json *json, const struct tw_replay_row *row)
{
	tw_json_key(json, "efficiency");
	tw_json_object(json, TW_JSON_LINES);
	add_number(json, "efficiency_percent", row->efficiency_percent, 2);
	add_text(json, "bound_type", row->bound);
	add_number(json, "tflops_achieved", row->tflops, 4);
	add_number(json, "tb_s_achieved", row->tb_s, 4);
	add_number(json, "flops_per_byte", row->flops_per_byte, 2);
	add_text(json, "compute_spec", row->spec);
	tw_json_end(json);
}

/* The kernels of a call, as the table has them; streams are of no use elsewhere. */
static int add_kernels(struct tw_json *json, const struct tw_replay_row *row,
		       struct tw_arena *arena, struct trawl_error *err)
{
	static const char *const times[] = { "mean_duration_us", "min_duration_us",
					     "max_duration_us", "total_duration_us" };
	static const char *const names[] = { "mean_us", "min_us", "max_us", "total_us" };
	const struct tw_json_value *list = NULL, *kernel;
	struct trawl_error unread = { 0 };
	struct tw_str text;
	size_t i;

	tw_str_init(&text, arena->allocator);
	tw_json_from_python(row->kernels, strlen(row->kernels), &text);
	if (text.len && !text.failed)
		list = tw_json_parse(arena, text.ptr, text.len, "kernels", &unread);
	tw_str_release(&text);
	if (unread.status == TRAWL_ENOMEM)
		return tw_no_memory(err);
	tw_json_key(json, "kernels");
	tw_json_array(json, list ? TW_JSON_LINES : TW_JSON_INLINE);
	for (kernel = list ? list->first : NULL; kernel; kernel = kernel->next) {
		tw_json_object(json, TW_JSON_INLINE);
		add_text(json, "name", tw_json_text(tw_json_get(kernel, "name")));
		add_number(json, "count", tw_json_number(tw_json_get(kernel, "count")), 0);
		for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
			add_number(json, names[i], tw_json_number(tw_json_get(kernel, times[i])),
				   3);
		tw_json_end(json);
	}
	tw_json_end(json);
	return 0;
}

static void add_uid(struct tw_json *json, const char *uid)
{
	size_t digits = strspn(uid, "0123456789");

	tw_json_key(json, "uid");
	if (digits && digits < 19 && !uid[digits])
		tw_json_integer(json, strtoll(uid, NULL, 10));
	else
		tw_json_cstr(json, *uid ? uid : NULL);
}

static int add_entry(struct tw_json *json, const struct tw_replay_ops *ops,
		     const struct tw_replay_row *row, struct tw_arena *arena,
		     struct trawl_error *err)
{
	int status;

	tw_json_object(json, TW_JSON_LINES);
	status = tw_replay_add_call(json, row, arena, err);
	add_number(json, "count", row->count, 0);
	if (row->name[tw_replay_op_name(row->name)])
		add_text(json, "part_of_operation", row->name);
	add_uid(json, row->uid);
	add_number(json, "time_ms", row->time_us / 1000, 3);
	add_number(json, "mean_us", row->mean_us, 3);
	add_number(json, "percent_of_compute", row->percent_of_compute, 2);
	tw_json_key(json, "gflops");
	tw_json_real(json, row->gflops);
	add_number(json, "data_moved_mb", row->megabytes, 4);
	add_efficiency(json, row);
	if (!status)
		status = add_kernels(json, row, arena, err);
	add_text(json, "platform", ops->platform);
	add_text(json, "device_name", ops->device);
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
	const struct tw_json_value *entries = NULL;
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
		entries = tw_json_parse(&arena, ir.ptr, ir.len, "event_replay_ir.json", err);
		status = entries ? 0 : err ? err->status : TRAWL_ENOMEM;
	}
	if (!status) {
		tw_replay_readme(&readme, op->name, entries);
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
