/* One category: read, analysed, its metrics and its findings. */
#include "standalone/category/category.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

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

/* 0, or why memory is out; what is wrong with the data is part of the result. */
static int analyse(struct tw_category_data *data, struct tw_category_result *result,
		   struct trawl_error *err)
{
	struct trawl_error problem;
	int found = tw_category_read(data, &problem);

	if (!found && (tw_category_choose(data) || tw_category_estimate(data)))
		return tw_no_memory(err);
	if (found == TRAWL_ENOMEM)
		return trawl_error_set(err, found, "%s", problem.message);
	if (!found)
		return 0;
	if (found == TRAWL_ENODATA) {
		result->status = TW_CATEGORY_NO_DATA;
		data->status = "NO_DATA";
		data->time_ms = data->calls = 0;
		return 0;
	}
	result->status = TW_CATEGORY_FAILED;
	keep_message(result, data->prepared, &problem);
	data->status = "ERROR";
	data->error =
		tw_arena_copy(&data->prepared->arena, result->message, strlen(result->message));
	data->row_count = 0;
	data->time_ms = data->calls = NAN;
	return data->error ? 0 : tw_no_memory(err);
}

static int write_metrics(const struct tw_category_data *data, struct trawl_error *err)
{
	struct tw_prepared_text file;
	int status = tw_prepared_open(data->prepared, TW_CATEGORY_DATA, data->name, "_metrics.json",
				      &file, err);

	if (!status)
		status = tw_category_metrics(&file, data, err);
	return tw_prepared_close(&file, status, err);
}

static int write_findings(const struct tw_category_data *data, struct trawl_error *err)
{
	const struct tw_findings_place place = { 0 };
	struct tw_str text;
	int status;

	tw_str_init(&text, data->prepared->allocator);
	tw_category_findings(&text, data, &place);
	status = tw_prepared_write_of(data->prepared, TW_CATEGORY_FINDINGS, data->name,
				      "_findings.md", &text, err);
	tw_str_release(&text);
	return status;
}

int tw_category_compute(struct tw_prepared *prepared, const char *name,
			struct tw_category_result *result, struct trawl_error *err)
{
	struct tw_category_data *data;
	int status;

	*result = (struct tw_category_result){ .status = TW_CATEGORY_DONE };
	if (!*name || strchr(name, '/') || *name == '.')
		return trawl_error_set(err, TRAWL_EUSAGE, "no name of a category: '%s'", name);
	data = tw_arena_array(&prepared->arena, 1, sizeof(*data));
	if (!data)
		return tw_no_memory(err);
	*data = (struct tw_category_data){ .prepared = prepared,
					   .name = name,
					   .title = name,
					   .status = "OK",
					   .family = tw_category_family(name),
					   .hardware.hbm_tb_s = NAN,
					   .hardware.memory_gb = NAN,
					   .shortest_us = NAN,
					   .average_efficiency_percent = NAN,
					   .percent_of_compute = NAN,
					   .percent_of_total = NAN };
	status = analyse(data, result, err);
	if (!status)
		status = write_metrics(data, err);
	result->data = data;
	result->time_ms = tw_as_written(data->time_ms, 3);
	result->percent_of_compute = tw_as_written(data->percent_of_compute, 2);
	result->bottlenecks = data->bottleneck_count;
	return status ? status : write_findings(data, err);
}

int tw_category_analyse(struct tw_prepared *prepared, const char *name,
			struct tw_category_result *result, struct trawl_error *err)
{
	if (!strcmp(name, "multi_kernel"))
		return tw_category_multi_kernel(prepared, result, err);
	if (!strcmp(name, "cpu_idle"))
		return tw_category_cpu_idle(prepared, result, err);
	return tw_category_compute(prepared, name, result, err);
}
