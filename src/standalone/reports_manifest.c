/* Which categories were prepared, and for which platform. */
#include "standalone/reports.h"

#include "base/alloc.h"

#include <string.h>

/* Of a trace without GPU work idle time and copies have nothing to say. */
static int list_categories(struct tw_report_material *m, struct trawl_error *err)
{
	const struct tw_json_value *list = tw_json_get(m->manifest, "categories"), *entry;

	m->categories =
		tw_arena_alloc(&m->prepared->arena, (list->count + 1) * sizeof(*m->categories));
	if (!m->categories)
		return tw_no_memory(err);
	for (entry = list->first; entry; entry = entry->next) {
		struct tw_report_category *c = &m->categories[m->category_count];
		const char *title = tw_report_text(entry, "display_name");

		*c = (struct tw_report_category){ .entry = entry };
		c->name = tw_report_text(entry, "name");
		/* It becomes part of names of files. */
		if (!*c->name || strchr(c->name, '/'))
			continue;
		c->title = *title ? title : c->name;
		c->is_system = !strcmp(tw_report_text(entry, "tier"), "system");
		m->category_count++;
	}
	return 0;
}

static int read_peaks(struct tw_report_material *m, struct trawl_error *err)
{
	const char *name;
	size_t i;

	m->peaks = tw_json_get(NULL, "");
	for (i = 0; i < m->category_count && tw_json_is_null(m->peaks); i++) {
		const struct tw_json_value *metadata;

		name = tw_prepared_name(m->prepared, m->categories[i].name, "_metadata.json");
		metadata = name ? tw_prepared_json(m->prepared, TW_METADATA, name, err) : NULL;
		if (!name || (!metadata && err->status == TRAWL_ENOMEM))
			return tw_no_memory(err);
		if (metadata)
			m->peaks = metadata;
	}
	return 0;
}

int tw_report_read_manifest(struct tw_report_material *m, struct trawl_error *err)
{
	const char *platform;
	int status;

	m->manifest = tw_prepared_json(m->prepared, "", TW_MANIFEST, err);
	if (!m->manifest)
		return trawl_error_context(err, err->status, "no prepared data");
	platform = tw_report_text(m->manifest, "platform");
	m->platform = *platform ? platform : NULL;
	status = list_categories(m, err);
	return status ? status : read_peaks(m, err);
}
