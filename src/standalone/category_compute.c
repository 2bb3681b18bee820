#include "standalone/category.h"

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

/* The metrics file, and the findings from its text read back. */
static int write_files(struct tw_category_data *data, const struct tw_str *metrics,
		       struct trawl_error *err)
{
	struct tw_prepared *prepared = data->prepared;
	const struct tw_json_value *value;
	struct tw_str text;
	int status;

	status = tw_prepared_write_of(prepared, TW_CATEGORY_DATA, data->name, "_metrics.json",
				      metrics, err);
	if (status)
		return status;
	value = tw_json_parse(&prepared->arena, metrics->ptr, metrics->len, data->name, err);
	if (!value)
		return TRAWL_ENOMEM; /* it was written here: nothing else can be wrong */
	tw_str_init(&text, prepared->allocator);
	tw_category_findings(&text, data->family, value);
	status = tw_prepared_write_of(prepared, TW_CATEGORY_FINDINGS, data->name, "_findings.md",
				      &text, err);
	tw_str_release(&text);
	return status;
}

/* 0 with the metrics of whatever was found; an error only when memory is out. */
static int analyse(struct tw_category_data *data, struct tw_category_result *result,
		   struct tw_str *metrics, struct trawl_error *err)
{
	struct trawl_error problem;
	int status = tw_category_read(data, &problem);

	if (!status) {
		tw_category_choose(data);
		status = tw_category_chains(data, err);
		if (status)
			return status;
		return tw_category_metrics(metrics, data, err);
	}
	if (status == TRAWL_ENOMEM)
		return trawl_error_set(err, status, "%s", problem.message);
	if (status == TRAWL_ENODATA) {
		result->status = TW_CATEGORY_NO_DATA;
		write_status(metrics, data, "NO_DATA", NULL);
		return 0;
	}
	result->status = TW_CATEGORY_FAILED;
	keep_message(result, data->prepared, &problem);
	write_status(metrics, data, "ERROR", result->message);
	return 0;
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
	struct tw_str metrics;
	int status;

	*result = (struct tw_category_result){ .status = TW_CATEGORY_DONE };
	if (!*name || strchr(name, '/') || *name == '.')
		return trawl_error_set(err, TRAWL_EUSAGE, "no name of a category: '%s'", name);
	tw_prepared_init(&own, prepared->dir, prepared->allocator);
	tw_str_init(&metrics, prepared->allocator);
	status = analyse(&data, result, &metrics, err);
	if (!status && metrics.failed)
		status = trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
	if (!status)
		status = write_files(&data, &metrics, err);
	tw_str_release(&metrics);
	tw_prepared_release(&own);
	return status;
}
