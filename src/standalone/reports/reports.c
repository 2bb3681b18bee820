/* Step 9: what the other steps found, into priorities and two reports. */
#include "standalone/reports/reports.h"

#include "base/alloc.h"
#include "data/tables.h"
#include "render/pages/html_page.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define FAIR "standalone_analysis_fair"
#define ROUGH "standalone_analysis_rough"
#define PACKAGES "replay_packages"

static int list_categories(struct tw_report_material *m, const struct tw_category_result *results,
			   struct trawl_error *err)
{
	size_t count = m->manifest->categories.count, i;

	m->categories.at =
		tw_arena_array(&m->prepared->arena, count + 1, sizeof(*m->categories.at));
	if (!m->categories.at)
		return tw_no_memory(err);
	for (i = 0; i < count; i++) {
		const struct tw_category_result *result = &results[i];
		bool done = result->status == TW_CATEGORY_DONE;

		m->categories.at[m->categories.count++] = (struct tw_report_category){
			.entry = &m->manifest->categories.at[i],
			.result = result,
			.data = done ? result->data : NULL,
			.excluded = done ? NULL :
				    result->status == TW_CATEGORY_NO_DATA ?
					   "there is no data of it" :
				    *result->message ? result->message :
						       "its analysis failed",
		};
	}
	return 0;
}

/* ---- packages */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
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
	m->packages[m->package_count] = tw_arena_copy(arena, name, strlen(name));
	return m->packages[m->package_count++] != NULL;
}

static int list_packages(struct tw_report_material *m, struct trawl_error *err)
{
	const struct dirent *entry;
	struct tw_str path;
	bool fine;
	DIR *dir;

	tw_str_init(&path, m->prepared->allocator);
	tw_prepared_path(m->prepared, "", PACKAGES, &path);
	fine = !path.failed;
	dir = fine ? opendir(path.ptr) : NULL;
	while (dir && fine && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && tw_ends_with(entry->d_name, "_replay_package.zip"))
			fine = add_package(m, entry->d_name);
	if (dir)
		closedir(dir);
	tw_str_release(&path);
	if (m->package_count)
		qsort(m->packages, m->package_count, sizeof(*m->packages), compare_texts);
	return fine ? 0 : tw_no_memory(err);
}

/* ---- writing */

void tw_report_title(const struct tw_report_material *m, struct tw_str *out)
{
	tw_str_add_cstr(out, "# ");
	tw_md_text(out, m->model);
	tw_str_add_cstr(out, " - ");
	tw_md_text(out, m->platform ? m->platform : "Unknown Platform");
	tw_str_add_cstr(out, " Standalone Analysis");
}

static int write_text(const struct tw_report_material *m, const char *name,
		      void (*write)(const struct tw_report_material *m, struct tw_str *out),
		      struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, m->prepared->allocator);
	write(m, &text);
	status = tw_prepared_write(m->prepared, "", name, &text, err);
	tw_str_release(&text);
	return status;
}

static int write_page(const struct tw_report_material *m, const struct tw_str *markdown,
		      struct trawl_error *err)
{
	struct tw_html_page page = { NULL, tw_report_style, tw_report_style_lines, m->prepared->dir,
				     TW_MODULE_CHART };
	struct tw_str text, title;
	int status;

	tw_str_init(&text, m->prepared->allocator);
	tw_str_init(&title, m->prepared->allocator);
	tw_str_addf(&title, "%s - %s Standalone Analysis", m->model,
		    m->platform ? m->platform : "Unknown Platform");
	page.title = title.ptr;
	status = title.failed ? tw_no_memory(err) :
				tw_render_html_page(&page, markdown, &text, err);
	if (!status)
		status = tw_prepared_write(m->prepared, "", FAIR ".html", &text, err);
	tw_str_release(&title);
	tw_str_release(&text);
	return status;
}

static int write_fair(struct tw_report_material *m, struct trawl_error *err)
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
					.findings = prepared->findings,
					.modules = prepared->modules,
					.manifest = prepared->manifest,
					.platform = prepared->manifest->platform,
					.without_charts = "they were not asked for" };
	int status = list_categories(&m, options->results, err);

	if (!status)
		status = list_packages(&m, err);
	if (!status && (tw_report_rank(&m) || tw_report_sum_up(&m)))
		status = tw_no_memory(err);
	if (!status)
		status = write_text(&m, TW_PRIORITY_DATA, tw_priorities_write, err);
	if (!status)
		status = write_text(&m, ROUGH ".md", tw_rough_write, err);
	if (!status && !options->no_charts)
		status = tw_report_charts(&m, err);
	return status ? status : write_fair(&m, err);
}
