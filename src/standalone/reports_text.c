/* What several parts of the two reports say. */
#include "standalone/reports.h"

#include "standalone/markdown.h"

#include <string.h>

void tw_report_tell(struct tw_str *out, const struct tw_json_value *from, const char *key,
		    const char *unit, const char *rest)
{
	tw_md_number(out, tw_json_get(from, key), unit);
	tw_str_add_cstr(out, rest);
}

void tw_report_title(const struct tw_report_material *material, struct tw_str *out)
{
	tw_str_add_cstr(out, "# ");
	tw_md_text(out, material->model);
	tw_str_add_cstr(out, " - ");
	tw_md_text(out, material->platform ? material->platform : "Unknown Platform");
	tw_str_add_cstr(out, " Standalone Analysis");
}

void tw_report_args(struct tw_str *out, const struct tw_json_value *args, size_t most)
{
	static const char between[] = "<br>";
	const char *text = tw_json_text(args), *end;
	struct tw_str list;

	tw_str_init(&list, out->allocator);
	while ((end = strstr(text, between))) {
		tw_str_add(&list, text, (size_t)(end - text));
		tw_str_add_cstr(&list, ", ");
		text = end + sizeof(between) - 1;
	}
	tw_str_add_cstr(&list, text);
	if (list.len)
		tw_md_code(out, list.ptr, most);
	out->failed |= list.failed;
	tw_str_release(&list);
}
