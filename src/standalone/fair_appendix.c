/* The fair report's end: what was left out or is doubtful, what it was measured by. */
#include "standalone/reports.h"

#include "standalone/markdown.h"

#include <string.h>

static bool is_text(const struct tw_json_value *from, const char *key, const char *text)
{
	return !strcmp(tw_report_text(from, key), text);
}

/* ---- warnings; each is a line */

static void warn_of_categories(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *e = tw_json_get(m->data, "excluded")->first;
	size_t i;

	for (; e; e = e->next) {
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
	}
}

static void warn_of_platform(const struct tw_report_material *m, struct tw_str *out)
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
		return;
	if (*device) {
		tw_str_add_cstr(out, "; the trace names the device ");
		tw_md_code(out, device, 0);
	}
	tw_str_add_cstr(out, ".\n");
}

/* The user named another platform than the device is. */
static void warn_of_device(const struct tw_report_material *m, struct tw_str *out)
{
	const char *device = tw_report_text(m->manifest, "platform_of_device");

	if (!m->platform || !*device || !strcmp(m->platform, device))
		return;
	tw_str_add_cstr(out, "- **Platform**: efficiencies are those of ");
	tw_md_text(out, m->platform);
	tw_str_add_cstr(out, ", which was named, but by the device's name the trace is of ");
	tw_md_text(out, device);
	tw_str_add_cstr(out, ".\n");
}

static void warn_of_unlinked(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *u = tw_json_get(m->manifest, "unlinked");

	if (tw_report_number(u, "count") > 0) {
		tw_str_add_cstr(out, "- **GPU work without a recorded launch**: ");
		tw_report_tell(out, u, "count", "", " events, ");
		tw_report_tell(out, u, "time_ms", " ms", " (");
		tw_report_tell(out, u, "percent_of_total", "%", " of the total time; ");
		tw_report_tell(out, u, "percent_of_compute", "%",
			       " of compute). It belongs to no operation: categories do not add up "
			       "to the computation time, and times of operations are lower "
			       "bounds.\n");
	}
	if (tw_json_true(tw_json_get(m->manifest, "linked_only"))) {
		tw_str_add_cstr(out, "- **Linked only**: GPU work without a recorded launch was "
				     "left out of all times (`--linked-only`).\n");
	}
}

/* What no finding can be about. */
static void warn_of_unjudged(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *facts = tw_json_get(m->data, "facts"), *note;

	if (m->platform && tw_report_number(facts, "unmodelled_percent") > 0) {
		tw_str_add_cstr(out, "- **No efficiency**: ");
		tw_report_tell(out, facts, "unmodelled_percent", "%", " of compute is in ");
		tw_report_tell(out, facts, "unmodelled_count", "",
			       " rows that cannot be judged: there is no cost model for them, or "
			       "the trace lacks the arguments that it needs.\n");
	}
	for (note = tw_json_get(m->data, "notes")->first; note; note = note->next) {
		tw_str_add_cstr(out, "- **");
		tw_md_text(out, tw_report_text(note, "display_name"));
		tw_str_add_cstr(out, "**: what ");
		tw_report_tell(out, note, "time_ms", " ms", " (");
		tw_report_tell(out, note, "percent_of_total", "%",
			       " of the total time) are made of is not visible. ");
		tw_md_text(out, tw_report_text(note, "issue"));
		tw_str_add_cstr(out, ".\n");
	}
}

static void warn_of_quality(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_json_value *d = tw_json_get(m->manifest, "defects")->first;
	const char *view = tw_report_text(m->manifest, "view");
	bool unlinked = tw_report_number(tw_json_get(m->manifest, "unlinked"), "count") > 0;

	if (*view) {
		tw_str_add_cstr(out, "- **View**: only a part of the trace was looked at, ");
		tw_md_text(out, view);
		tw_str_add_cstr(out, ".\n");
	}
	for (; d; d = d->next) {
		/* That one is told with its time. */
		if (unlinked && is_text(d, "kind", "unlinked_gpu"))
			continue;
		tw_str_add_cstr(out, "- **Data quality** (");
		tw_md_text(out, tw_report_text(d, "severity"));
		tw_str_add_cstr(out, "): ");
		tw_md_code(out, tw_report_text(d, "kind"), 0);
		tw_str_add_cstr(out, ", counted ");
		tw_report_tell(out, d, "count", "", ": ");
		tw_md_text(out, tw_report_text(d, "meaning"));
		tw_str_add_cstr(out, ".\n");
	}
}

static void add_warnings(const struct tw_report_material *m, struct tw_str *out)
{
	size_t begin;

	tw_str_add_cstr(out, "## Warnings\n\n");
	begin = out->len;
	warn_of_categories(m, out);
	warn_of_platform(m, out);
	warn_of_device(m, out);
	warn_of_unlinked(m, out);
	warn_of_unjudged(m, out);
	warn_of_quality(m, out);
	if (out->len == begin)
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
	if (!m->has_time_chart && !m->has_roofline) {
		tw_str_add_cstr(out, "None: ");
		tw_md_text(out, m->without_charts);
		tw_str_add_cstr(out, ".\n");
		return;
	}
	tw_str_add_cstr(out, "They stand below the executive summary");
	tw_str_add_cstr(out, m->has_roofline ? ".\n" :
					       "; no roofline: too little of the time is in "
					       "operations with known work.\n");
}

void tw_fair_appendix(const struct tw_report_material *m, struct tw_str *out)
{
	add_warnings(m, out);
	tw_str_add_cstr(out, "\n---\n\n## Appendix\n\n");
	add_hardware(m, out);
	add_packages(m, out);
	add_charts(m, out);
}
