/* The fair report's end: what was left out or is doubtful, what it was measured by. */
#include "standalone/reports.h"

#include "standalone/markdown.h"

#include <string.h>

static bool is_text(const struct tw_json_value *from, const char *key, const char *text)
{
	return !strcmp(tw_report_text(from, key), text);
}

/* ---- warnings; each is a line, and whether there is one is counted */

static size_t warn_of_categories(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *e = tw_json_get(m->data, "excluded")->first;
	size_t count = 0, i;

	for (; e; e = e->next, count++) {
		tw_str_add_cstr(out, "- **");
		tw_md_text(out, tw_report_text(e, "display_name"));
		tw_str_add_cstr(out, "** is left out: ");
		tw_md_text(out, tw_report_text(e, "reason"));
		tw_str_add_cstr(out, ".\n");
	}
	for (i = 0; i < m->category_count; i++) {
		const struct tw_report_category *c = &m->categories[i];

		if (!c->metrics || c->findings)
			continue;
		tw_str_add_cstr(out, "- **");
		tw_md_text(out, c->title);
		tw_str_add_cstr(out, "** has no findings file: only its numbers are told.\n");
		count++;
	}
	return count;
}

static size_t warn_of_platform(const struct tw_report_material *m, struct tw_str *out)
{
	const char *device = tw_report_text(m->manifest, "device_name");

	if (!m->platform)
		tw_str_add_cstr(out, "- **Platform**: not known, so no operation has an efficiency "
				     "and no gain can be projected; `--platform NAME` names it "
				     "(`trawl platforms` lists the names)");
	else if (tw_json_true(tw_json_get(m->manifest, "platform_guessed")))
		tw_str_add_cstr(out, "- **Platform**: taken from the name of the device; another "
				     "one is named by `--platform NAME`");
	else
		return 0;
	if (*device) {
		tw_str_add_cstr(out, "; the trace names the device ");
		tw_md_code(out, device, 0);
	}
	tw_str_add_cstr(out, ".\n");
	return 1;
}

static size_t warn_of_quality(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *d = tw_json_get(m->manifest, "defects")->first;
	const char *view = tw_report_text(m->manifest, "view");
	size_t count = 0;

	if (*view) {
		tw_str_add_cstr(out, "- **View**: only a part of the trace was looked at, ");
		tw_md_text(out, view);
		tw_str_add_cstr(out, ".\n");
		count++;
	}
	for (; d; d = d->next) {
		if (is_text(d, "severity", "note"))
			continue;
		tw_str_add_cstr(out, "- **Data quality** (");
		tw_md_text(out, tw_report_text(d, "severity"));
		tw_str_add_cstr(out, "): ");
		tw_md_code(out, tw_report_text(d, "kind"), 0);
		tw_str_add_cstr(out, ", counted ");
		tw_report_tell(out, d, "count", "", ": ");
		tw_md_text(out, tw_report_text(d, "meaning"));
		tw_str_add_cstr(out, ".\n");
		count++;
	}
	return count;
}

static void add_warnings(const struct tw_report_material *m, struct tw_str *out)
{
	size_t count;

	tw_str_add_cstr(out, "## Warnings\n\n");
	count = warn_of_categories(m, out);
	count += warn_of_platform(m, out);
	count += warn_of_quality(m, out);
	if (!count)
		tw_str_add_cstr(out, "None: every category was analyzed, and nothing in the trace "
				     "was lost or out of order.\n");
}

/* ---- appendix */

static void add_hardware(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *peak = tw_json_get(m->peaks, "max_achievable_tflops")->first;
	bool any = false;

	tw_str_add_cstr(out, "### Hardware Reference\n- **Platform**: ");
	if (m->platform)
		tw_md_text(out, m->platform);
	else
		tw_str_add_cstr(out, "not known");
	tw_str_add_cstr(out, "\n- **Peak HBM BW**: ");
	tw_report_tell(out, m->peaks, "peak_hbm_bw_tbs", " TB/s", "");
	tw_str_add_cstr(out, "\n- **Peak MAF**: ");
	for (; peak; peak = peak->next) {
		if (peak->type != TW_JSON_NUMBER)
			continue;
		tw_str_add_cstr(out, any ? ", " : "");
		tw_md_number(out, peak, " TFLOPS (");
		tw_md_code(out, peak->key, 0);
		tw_str_add_char(out, ')');
		any = true;
	}
	if (!any)
		tw_str_add_cstr(out, TW_MD_UNKNOWN);
	tw_str_add_cstr(out, "\n- **Memory**: ");
	tw_report_tell(out, m->peaks, "memory_gb", " GB", "");
	tw_str_add_cstr(out, "\n\n");
}

static void add_packages(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i;

	tw_str_add_cstr(out, "### Replay Artifacts\n");
	for (i = 0; i < m->package_count; i++) {
		tw_str_add_cstr(out, "- ");
		tw_md_code(out, m->packages[i], 0);
		tw_str_add_char(out, '\n');
	}
	tw_str_add_cstr(out, m->package_count ?
				     "\nReplay artifacts recommended for kernel team to "
				     "investigate and optimize, in `replay_packages/`.\n\n" :
				     "None were generated.\n\n");
}

static void add_charts(const struct tw_report_material *m, struct tw_str *out)
{
	tw_str_add_cstr(out, "### Charts\n");
	if (m->has_time_chart)
		tw_str_add_cstr(out, "![Time by category](" TW_TIME_CHART ")\n\n");
	if (m->has_roofline)
		tw_str_add_cstr(out, "![Operations under the roofline](" TW_ROOFLINE_CHART ")\n\n");
	if (!m->has_time_chart && !m->has_roofline) {
		tw_str_add_cstr(out, "None: ");
		tw_md_text(out, m->without_charts);
		tw_str_add_cstr(out, ".\n");
	} else if (!m->has_roofline) {
		tw_str_add_cstr(out, "No roofline: no operation has known work and time.\n");
	}
}

void tw_fair_appendix(const struct tw_report_material *m, struct tw_str *out)
{
	add_warnings(m, out);
	tw_str_add_cstr(out, "\n---\n\n## Appendix\n\n");
	add_hardware(m, out);
	add_packages(m, out);
	add_charts(m, out);
}
