/* Step 9: what the other steps left in the directory, into priorities and two reports. */
#include "standalone/reports.h"

#include "base/alloc.h"
#include "data/tables.h"
#include "render/pages/html_page.h"
#include "standalone/markdown.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAIR "standalone_analysis_fair"
#define ROUGH "standalone_analysis_rough"
#define PACKAGES "replay_packages"

/* ---- reading what there is */

static const char *keep(struct tw_prepared *prepared, const char *text)
{
	return tw_arena_copy(&prepared->arena, text, strlen(text));
}

/* Why a file cannot be used, without the directory's path. */
static const char *why_not(struct tw_prepared *prepared, const char *folder, const char *name,
			   const struct trawl_error *err)
{
	const char *at = strstr(err->message, name);
	struct tw_str text;
	const char *kept;

	tw_str_init(&text, prepared->allocator);
	if (!tw_prepared_has(prepared, folder, name))
		tw_str_addf(&text, "not analyzed: there is no %s/%s", folder, name);
	else
		tw_str_addf(&text, "%s/%s cannot be used: %s", folder, name,
			    at ? at : trawl_status_name(err->status));
	kept = text.failed ? NULL : keep(prepared, text.ptr);
	tw_str_release(&text);
	return kept;
}

static int read_metrics(struct tw_report_material *m, struct tw_report_category *c,
			struct trawl_error *err)
{
	struct tw_prepared *prepared = m->prepared;
	struct tw_report_operations operations = m->operations;
	const struct tw_json_sieve sieve = { "operations", tw_report_keep, &operations };
	const char *name = tw_prepared_name(prepared, c->name, "_metrics.json");
	const struct tw_json_value *metrics;
	const char *status;

	if (!name)
		return tw_no_memory(err);
	operations.count = operations.without_model = 0;
	metrics = tw_prepared_json_some(prepared, TW_CATEGORY_DATA, name, &sieve, err);
	if (!metrics) {
		if (err->status == TRAWL_ENOMEM)
			return err->status;
		c->excluded = why_not(prepared, TW_CATEGORY_DATA, name, err);
		return c->excluded ? 0 : tw_no_memory(err);
	}
	status = tw_report_text(metrics, "status");
	if (!strcmp(status, "OK") || !strcmp(status, "SUCCESS")) {
		c->metrics = metrics;
		c->operations = m->operations = operations;
		if (!tw_report_sort(c, &prepared->arena))
			return tw_no_memory(err);
	} else if (!strcmp(status, "NO_DATA")) {
		c->excluded = "there is no data of it";
	} else {
		c->excluded = tw_report_text(metrics, "error");
		if (!*c->excluded)
			c->excluded = "its analysis failed";
	}
	return 0;
}

static int read_findings(struct tw_prepared *prepared, struct tw_report_category *c,
			 struct trawl_error *err)
{
	const char *folder = c->is_system ? TW_SYSTEM_FINDINGS : TW_CATEGORY_FINDINGS;
	const char *name = tw_prepared_name(prepared, c->name, "_findings.md");

	if (name)
		c->findings = tw_prepared_text(prepared, folder, name, err);
	return !name || (!c->findings && err->status == TRAWL_ENOMEM) ? tw_no_memory(err) : 0;
}

static int read_categories(struct tw_report_material *m, struct trawl_error *err)
{
	int status = 0;
	size_t i;

	for (i = 0; i < m->category_count && !status; i++) {
		struct tw_report_category *c = &m->categories[i];

		status = read_metrics(m, c, err);
		if (!status && c->metrics)
			status = read_findings(m->prepared, c, err);
	}
	return status;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_package(const char *name)
{
	static const char ending[] = "_replay_package.zip";
	size_t len = strlen(name), rest = sizeof(ending) - 1;

	return len > rest && name[0] != '.' && !strcmp(name + len - rest, ending);
}

/* Adds a name; the list grows to a multiple of 16. */
static bool add_package(struct tw_report_material *m, const char *name)
{
	struct tw_arena *arena = &m->prepared->arena;

	if (m->package_count % 16 == 0) {
		size_t size = m->package_count * sizeof(*m->packages);
		const char **more = tw_arena_alloc(arena, size + 16 * sizeof(*m->packages));

		if (!more)
			return false;
		if (size)
			memcpy(more, m->packages, size);
		m->packages = more;
	}
	m->packages[m->package_count] = keep(m->prepared, name);
	return m->packages[m->package_count++] != NULL;
}

static int list_packages(struct tw_report_material *m, struct trawl_error *err)
{
	const struct dirent *entry;
	struct tw_str path;
	bool fine = true;
	DIR *dir = NULL;

	tw_str_init(&path, m->prepared->allocator);
	tw_prepared_path(m->prepared, "", PACKAGES, &path);
	if (!path.failed)
		dir = opendir(path.ptr);
	fine = !path.failed;
	while (dir && fine && (entry = readdir(dir)))
		if (is_package(entry->d_name))
			fine = add_package(m, entry->d_name);
	if (dir)
		closedir(dir);
	tw_str_release(&path);
	if (m->package_count)
		qsort(m->packages, m->package_count, sizeof(*m->packages), compare_texts);
	return fine ? 0 : tw_no_memory(err);
}

static int read_material(struct tw_report_material *m, struct trawl_error *err)
{
	int status = tw_report_read_manifest(m, err);

	if (!status)
		status = read_categories(m, err);
	return status ? status : list_packages(m, err);
}

/* ---- writing */

static int write_priorities(struct tw_report_material *m, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, m->prepared->allocator);
	tw_priorities_write(m, &text);
	status = tw_prepared_write(m->prepared, "", TW_PRIORITY_DATA, &text, err);
	if (!status) {
		m->data = tw_json_parse(&m->prepared->arena, text.ptr, text.len, TW_PRIORITY_DATA,
					err);
		status = m->data ? 0 : err->status;
	}
	tw_str_release(&text);
	return status;
}

static int write_rough(const struct tw_report_material *m, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, m->prepared->allocator);
	tw_rough_write(m, &text);
	status = tw_prepared_write(m->prepared, "", ROUGH ".md", &text, err);
	tw_str_release(&text);
	return status;
}

static int render_page(const struct tw_report_material *m, const char *title,
		       const struct tw_str *markdown, struct tw_str *out, struct trawl_error *err)
{
	struct tw_html_page page = { title, tw_report_style, tw_report_style_lines,
				     m->prepared->dir };

	return tw_render_html_page(&page, markdown, out, err);
}

static int write_page(const struct tw_report_material *m, const struct tw_str *markdown,
		      struct trawl_error *err)
{
	struct tw_str page, title;
	int status;

	tw_str_init(&page, m->prepared->allocator);
	tw_str_init(&title, m->prepared->allocator);
	tw_str_addf(&title, "%s - %s Standalone Analysis", m->model,
		    m->platform ? m->platform : "Unknown Platform");
	status = title.failed ? tw_no_memory(err) : render_page(m, title.ptr, markdown, &page, err);
	if (!status)
		status = tw_prepared_write(m->prepared, "", FAIR ".html", &page, err);
	tw_str_release(&title);
	tw_str_release(&page);
	return status;
}

static int write_fair(const struct tw_report_material *m, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, m->prepared->allocator);
	tw_fair_write(m, &text);
	status = tw_prepared_write(m->prepared, "", FAIR ".md", &text, err);
	if (!status)
		status = write_page(m, &text, err);
	tw_str_release(&text);
	return status;
}

int tw_reports(struct tw_prepared *prepared, const struct tw_reports_options *options,
	       struct trawl_error *err)
{
	struct tw_report_material m = { .prepared = prepared,
					.model = options->model,
					.no_workbook = options->no_workbook,
					.findings = options->findings,
					.without_charts = "they were not asked for" };
	int status = read_material(&m, err);

	if (!status)
		status = write_priorities(&m, err);
	if (!status)
		status = write_rough(&m, err);
	if (!status && !options->no_charts)
		status = tw_report_charts(&m, err);
	return status ? status : write_fair(&m, err);
}
