/* The fair report's end: what was left out or is doubtful, what it was measured by. */
#include "standalone/reports/reports.h"

#include <string.h>

/* ---- warnings; each is a line */

static void warn_of_platform(const struct tw_report_material *m, struct tw_str *out)
{
	const struct tw_manifest *manifest = m->manifest;
	const char *device = manifest->device_name;

	if (!m->platform)
		tw_str_add_cstr(out, "- **Platform**: not known, so no operation has an efficiency "
				     "and no gain can be projected; `--platform NAME` names it "
				     "(`trawl platforms` lists the names)");
	else if (manifest->platform_guessed)
		tw_str_add_cstr(out, "- **Platform**: taken from the name of the device; another "
				     "one is named by `--platform NAME`");
	if (!m->platform || manifest->platform_guessed) {
		if (device && *device)
			tw_fields_fill(out, "; the trace names the device {device_name:0}",
				       &tw_manifest_fields, manifest);
		tw_str_add_cstr(out, ".\n");
	}
	/* The user named another platform than the device is. */
	if (m->platform && manifest->platform_of_device &&
	    strcmp(m->platform, manifest->platform_of_device))
		tw_fields_fill(out,
			       "- **Platform**: efficiencies are those of {platform}, which was "
			       "named, but by the device's name the trace is of "
			       "{platform_of_device}.\n",
			       &tw_manifest_fields, manifest);
}

static void warn_of_unlinked(const struct tw_report_material *m, struct tw_str *out)
{
	if (m->manifest->unlinked)
		tw_fields_fill(
			out,
			"- **GPU work without a recorded launch**: {unlinked.count} events, "
			"{unlinked.time_ms| ms} ({unlinked.percent_of_total|%} of the total "
			"time; {unlinked.percent_of_compute|%} of compute). It belongs to no "
			"operation: categories do not add up to the computation time, and "
			"times of operations are lower bounds.\n",
			&tw_manifest_fields, m->manifest);
	if (m->manifest->linked_only)
		tw_str_add_cstr(out, "- **Linked only**: GPU work without a recorded launch was "
				     "left out of all times (`--linked-only`).\n");
}

#define F(fact, key) \
	TW_FIELD(struct tw_report_material, FACT, facts, key, TW_FACT_unmodelled_##fact)
static const struct tw_member unjudged_fields[] = { F(percent, "percent"), F(count, "count") };
#undef F
static const struct tw_fields unjudged = TW_FIELDS(struct tw_report_material, unjudged_fields);

/* What no finding can be about. */
static void warn_of_unjudged(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i;

	if (m->platform && m->facts.value[TW_FACT_unmodelled_percent] > 0)
		tw_fields_fill(out,
			       "- **No efficiency**: {percent|%} of compute is in {count} rows "
			       "that cannot be judged: there is no cost model for them, or the "
			       "trace lacks the arguments that it needs.\n",
			       &unjudged, m);
	for (i = 0; i < m->notes.count; i++)
		tw_fields_fill(out,
			       "- **{display_name}**: what {time_ms| ms} ({percent_of_total|%} of "
			       "the total time) are made of is not visible. {issue}.\n",
			       &tw_report_note_fields, &m->notes.at[i]);
}

static void warn_of_quality(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i;

	if (*m->manifest->view)
		tw_fields_fill(out, "- **View**: only a part of the trace was looked at, {view}.\n",
			       &tw_manifest_fields, m->manifest);
	for (i = 0; i < m->manifest->flaws.count; i++) {
		const struct tw_flaw *flaw = &m->manifest->flaws.at[i];

		/* That one is told with its time. */
		if (!m->manifest->unlinked || strcmp(flaw->kind, "unlinked_gpu"))
			tw_fields_fill(
				out,
				"- **Data quality** ({severity}): {kind:0}, counted {count}: "
				"{meaning}.\n",
				&tw_flaw_fields, flaw);
	}
}

static void add_warnings(const struct tw_report_material *m, struct tw_str *out)
{
	size_t begin, i;

	tw_str_add_cstr(out, "## Warnings\n\n");
	begin = out->len;
	for (i = 0; i < m->excluded.count; i++)
		tw_fields_fill(out, "- **{display_name}** is left out: {reason}.\n",
			       &tw_exclusion_fields, &m->excluded.at[i]);
	warn_of_platform(m, out);
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
	const struct tw_hardware *h = &m->manifest->hardware;
	size_t i;

	tw_str_add_cstr(out, "### Hardware Reference\n- **Platform**: ");
	tw_md_text(out, m->platform ? m->platform : "not known");
	tw_fields_fill(out, "\n- **Peak HBM BW**: {peak_hbm_bw_tbs| TB/s}\n- **Peak MAF**: ",
		       &tw_hardware_fields, h);
	for (i = 0; i < h->tflops.count; i++) {
		tw_str_add_cstr(out, i ? ", " : "");
		tw_str_add_real(out, h->tflops.at[i].value);
		tw_str_add_cstr(out, " TFLOPS (");
		tw_md_code(out, h->tflops.at[i].name, 0);
		tw_str_add_char(out, ')');
	}
	tw_str_add_cstr(out, i ? "" : TW_MD_UNKNOWN);
	tw_fields_fill(out, "\n- **Memory**: {memory_gb| GB}\n\n", &tw_hardware_fields, h);
}

void tw_fair_appendix(const struct tw_report_material *m, struct tw_str *out)
{
	size_t i;

	add_warnings(m, out);
	tw_str_add_cstr(out, "\n---\n\n## Appendix\n\n");
	add_hardware(m, out);
	tw_str_add_cstr(out, "### Replay Artifacts\n");
	for (i = 0; i < m->package_count; i++) {
		tw_str_add_cstr(out, "- ");
		tw_md_code(out, m->packages[i], 0);
		tw_str_add_char(out, '\n');
	}
	tw_str_add_cstr(out,
			i ? "\nReplay artifacts recommended for kernel team to investigate and "
			    "optimize, in `replay_packages/`.\n\n" :
			    "None were generated.\n\n");
	tw_str_add_cstr(out, "### Charts\n");
	if (!m->has_time_chart && !m->has_roofline && !m->has_module_chart)
		tw_str_addf(out, "None: %s.\n", m->without_charts);
	else
		tw_str_addf(out, "They stand below the executive summary%s.\n",
			    m->has_roofline ? "" :
					      "; no roofline: too little of the time is in "
					      "operations with known work");
}
