/* The way of the system analyses from their files to metrics and findings. */
#include "standalone/system_findings.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static int write_findings(struct tw_prepared *prepared, const char *name,
			  const struct tw_str *metrics,
			  void (*markdown)(struct tw_str *out, const struct tw_json_value *metrics),
			  struct trawl_error *err)
{
	int status = tw_prepared_write_of(prepared, TW_CATEGORY_DATA, name, "_metrics.json",
					  metrics, err);
	const struct tw_json_value *read;
	struct trawl_error own;
	struct tw_str text;

	if (status)
		return status;
	read = tw_json_parse(&prepared->arena, metrics->ptr, metrics->len, name, &own);
	if (!read)
		return trawl_error_set(err, own.status, "%s", own.message);
	tw_str_init(&text, prepared->allocator);
	markdown(&text, read);
	status = tw_prepared_write_of(prepared, TW_SYSTEM_FINDINGS, name, "_findings.md", &text,
				      err);
	tw_str_release(&text);
	return status;
}

static int fail(struct tw_prepared *prepared, const char *name, const char *title, const char *why,
		struct tw_category_result *result, struct trawl_error *err)
{
	struct tw_str metrics, findings;
	struct tw_json json;
	int status;

	tw_str_init(&metrics, prepared->allocator);
	tw_str_init(&findings, prepared->allocator);
	tw_json_init(&json, &metrics);
	tw_json_object(&json, TW_JSON_LINES);
	tw_field_text(&json, "category", name);
	tw_field_text(&json, "status", "ERROR");
	tw_field_text(&json, "error", why);
	tw_json_end(&json);
	tw_json_finish(&json);
	tw_system_head_markdown(&findings, title, "ERROR");
	tw_str_add_cstr(&findings, "**Error**: ");
	tw_md_text(&findings, why);
	tw_str_add_cstr(&findings, "\n\nThe data were not analysed. Make them again with "
				   "`trawl prepare`, then run this analysis once more.\n");
	status = tw_prepared_write_of(prepared, TW_CATEGORY_DATA, name, "_metrics.json", &metrics,
				      err);
	if (!status)
		status = tw_prepared_write_of(prepared, TW_SYSTEM_FINDINGS, name, "_findings.md",
					      &findings, err);
	tw_str_release(&metrics);
	tw_str_release(&findings);
	result->status = TW_CATEGORY_FAILED;
	snprintf(result->message, sizeof(result->message), "%s", why);
	return status;
}

/* Without the directory, which is no part of a result. */
static void drop_directory(const struct tw_prepared *prepared, struct trawl_error *err)
{
	size_t len = strlen(prepared->dir);
	char *at;

	while ((at = strstr(err->message, prepared->dir)) && at[len] == '/')
		memmove(at, at + len + 1, strlen(at + len + 1) + 1);
}

static const struct tw_json_value *read_data(struct tw_prepared *prepared, const char *name,
					     bool *missing, struct trawl_error *err)
{
	const struct tw_json_value *value;

	*missing = !tw_prepared_has(prepared, TW_CATEGORY_DATA, name);
	if (*missing)
		return NULL;
	value = tw_prepared_json(prepared, TW_CATEGORY_DATA, name, err);
	if (value && value->type != TW_JSON_OBJECT) {
		trawl_error_set(err, TRAWL_EFORMAT, "%s/%s: not an object", TW_CATEGORY_DATA, name);
		value = NULL;
	}
	if (!value)
		drop_directory(prepared, err);
	return value;
}

static const char *read_rest(struct tw_prepared *prepared, const char *metadata_name,
			     const char *data, bool has_data, const struct tw_json_value **manifest,
			     const struct tw_json_value **metadata, struct trawl_error *err)
{
	bool missing;

	*metadata = NULL;
	*manifest = read_data(prepared, TW_MANIFEST, &missing, err);
	if (!*manifest && !missing)
		return err->message;
	if (!*manifest && !has_data) {
		trawl_error_set(err, TRAWL_ENODATA,
				"neither %s nor %s is there (" TW_CATEGORY_DATA ")", data,
				TW_MANIFEST);
		return err->message;
	}
	if (!tw_prepared_has(prepared, TW_METADATA, metadata_name))
		return NULL;
	*metadata = tw_prepared_json(prepared, TW_METADATA, metadata_name, err);
	if (*metadata)
		return NULL;
	drop_directory(prepared, err);
	return err->message;
}

/* NULL, or why the data cannot be used, with the status in *err. */
static const char *read_source(const struct tw_system_analysis *analysis,
			       struct tw_system_source *source, struct trawl_error *err)
{
	const char *metadata = tw_prepared_name(source->prepared, analysis->name, "_metadata.json");
	const char *where;
	bool missing;

	if (!metadata) {
		tw_no_memory(err);
		return err->message;
	}
	source->data = read_data(source->prepared, analysis->data, &missing, err);
	if (!source->data && !missing)
		return err->message;
	if (source->data && !analysis->is_sound(source->data, &where)) {
		trawl_error_set(err, TRAWL_EFORMAT,
				TW_CATEGORY_DATA "/%s: %s is missing or not what it should be",
				analysis->data, where);
		return err->message;
	}
	return read_rest(source->prepared, metadata, analysis->data, source->data != NULL,
			 &source->manifest, &source->metadata, err);
}

int tw_system_run(const struct tw_system_analysis *analysis, struct tw_prepared *prepared,
		  struct tw_category_result *result, struct trawl_error *err)
{
	struct tw_system_source source = { .prepared = prepared };
	struct trawl_error why = { 0 };
	const char *failure = read_source(analysis, &source, &why);
	struct tw_str metrics;
	int status;

	*result = (struct tw_category_result){ .status = TW_CATEGORY_DONE };
	if (failure && why.status == TRAWL_ENOMEM)
		return trawl_error_set(err, TRAWL_ENOMEM, "%s", failure);
	if (failure)
		return fail(prepared, analysis->name, analysis->title, failure, result, err);
	tw_str_init(&metrics, prepared->allocator);
	analysis->metrics(&source, &metrics);
	status = write_findings(prepared, analysis->name, &metrics, analysis->markdown, err);
	tw_str_release(&metrics);
	return status;
}
