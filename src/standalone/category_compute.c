#include "standalone/category.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Metrics that have no figures: "NO_DATA", or "ERROR" with what went wrong. */
static void write_status(struct tw_str *out, const struct tw_category_data *data,
			 const char *status, const char *message)
{
	static const char *const lists[] = { "operations", "bottlenecks", "patterns",
					     "impact_estimates", "category_findings" };
	struct tw_json json;
	size_t i;

	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	tw_field_text(&json, "category", data->name);
	tw_field_text(&json, "display_name", data->display_name);
	tw_field_text(&json, "status", status);
	if (message)
		tw_field_text(&json, "error", message);
	tw_field_text(&json, "comparison_scope", "standalone");
	tw_field_text(&json, "platform", data->platform);
	tw_field_real(&json, "total_time_ms", message ? (double)NAN : 0, 3);
	tw_field_real(&json, "operation_count", message ? (double)NAN : 0, 0);
	for (i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		tw_json_key(&json, lists[i]);
		tw_json_array(&json, TW_JSON_INLINE);
		tw_json_end(&json);
	}
	tw_json_end(&json);
	tw_json_finish(&json);
}

/* The message of an error without the directory that files were read from. */
static void keep_message(struct tw_category_result *result, const struct tw_prepared *prepared,
			 const struct trawl_error *err)
{
	const char *from = err->message, *found;
	size_t dir = strlen(prepared->dir), len = 0;

	while (*from && len + 1 < sizeof(result->message)) {
		found = dir && !strncmp(from, prepared->dir, dir) && from[dir] == '/' ? from : NULL;
		if (found)
			from += dir + 1;
		else
			result->message[len++] = *from++;
	}
	result->message[len] = '\0';
}

/* Metrics of whatever was found, `found` being how the reading ended, with *problem. */
static int write_metrics(struct tw_category_data *data, int found,
			 const struct trawl_error *problem, struct tw_category_result *result,
			 struct tw_prepared_text *file, struct trawl_error *err)
{
	if (!found)
		return tw_category_metrics(file, data, err);
	if (found == TRAWL_ENODATA) {
		result->status = TW_CATEGORY_NO_DATA;
		write_status(&file->text, data, "NO_DATA", NULL);
		return 0;
	}
	result->status = TW_CATEGORY_FAILED;
	keep_message(result, data->prepared, problem);
	write_status(&file->text, data, "ERROR", result->message);
	return 0;
}

/* The metrics file; an error only when it cannot be written or memory is out. */
static int analyse(struct tw_category_data *data, struct tw_category_result *result,
		   struct trawl_error *err)
{
	struct trawl_error problem;
	struct tw_prepared_text file;
	int found = tw_category_read(data, &problem), status;

	if (found == TRAWL_ENOMEM)
		return trawl_error_set(err, found, "%s", problem.message);
	if (!found)
		tw_category_choose(data);
	status = tw_prepared_open(data->prepared, TW_CATEGORY_DATA, data->name, "_metrics.json",
				  &file, err);
	if (!status)
		status = write_metrics(data, found, &problem, result, &file, err);
	return tw_prepared_close(&file, status, err);
}

/* Of the operations only those of the table. */
static bool is_in_table(void *count, const struct tw_json_value *operation)
{
	(void)operation;
	return ++*(unsigned *)count <= TW_FINDINGS_ROWS;
}

/* From the metrics as they were written. */
static int write_findings(const struct tw_category_data *data, struct tw_prepared *prepared,
			  struct trawl_error *err)
{
	unsigned count = 0;
	const struct tw_json_sieve sieve = { "operations", is_in_table, &count };
	const char *name = tw_prepared_name(prepared, data->name, "_metrics.json");
	const struct tw_json_value *metrics;
	struct tw_str text;
	int status;

	if (!name)
		return tw_no_memory(err);
	metrics = tw_prepared_json_some(prepared, TW_CATEGORY_DATA, name, &sieve, err);
	if (!metrics)
		return err->status;
	tw_str_init(&text, prepared->allocator);
	tw_category_findings(&text, data->family, metrics);
	status = tw_prepared_write_of(prepared, TW_CATEGORY_FINDINGS, data->name, "_findings.md",
				      &text, err);
	tw_str_release(&text);
	return status;
}

int tw_category_compute(struct tw_prepared *prepared, const char *name,
			struct tw_category_result *result, struct trawl_error *err)
{
	/* What a category needs is as much as its operations, and only while it is analysed. */
	struct tw_prepared own;
	struct tw_category_data data = { .prepared = &own,
					 .name = name,
					 .display_name = name,
					 .family = tw_category_family(name),
					 .peak_tb_s = NAN,
					 .shortest_us = NAN };
	int status;

	*result = (struct tw_category_result){ .status = TW_CATEGORY_DONE };
	if (!*name || strchr(name, '/') || *name == '.')
		return trawl_error_set(err, TRAWL_EUSAGE, "no name of a category: '%s'", name);
	tw_prepared_again(&own, prepared);
	status = analyse(&data, result, err);
	tw_prepared_release(&own);
	if (!status)
		status = write_findings(&data, &own, err);
	tw_prepared_release(&own);
	return status;
}
