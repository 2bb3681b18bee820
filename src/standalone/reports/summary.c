/* What the reports tell of the analysis as a whole. */
#include "standalone/reports/reports.h"

#include <math.h>
#include <string.h>

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_report_summary, kind, member, key, __VA_ARGS__)
static const struct tw_member summary_fields[] = {
	F(REAL, ms[TW_USE_TOTAL], "total_time_ms", 3),
	F(REAL, ms[TW_USE_COMPUTATION], "computation_time_ms", 3),
	F(REAL, ms[TW_USE_COMM], "exposed_comm_time_ms", 3),
	F(REAL, ms[TW_USE_MEMCPY], "exposed_memcpy_time_ms", 3),
	F(REAL, ms[TW_USE_IDLE], "idle_time_ms", 3),
	F(REAL, percent[TW_USE_COMPUTATION], "computation_time_percent", 2),
	F(REAL, percent[TW_USE_COMM], "exposed_comm_time_percent", 2),
	F(REAL, percent[TW_USE_MEMCPY], "exposed_memcpy_time_percent", 2),
	F(REAL, percent[TW_USE_IDLE], "idle_time_percent", 2),
	F(TEXT, top_category, "top_category"),
	F(REAL, top_percent, "top_category_percent_of_compute", 2),
	F(TEXT, flash_attention, "flash_attention"),
};
#undef F
const struct tw_fields tw_report_summary_fields =
	TW_FIELDS(struct tw_report_summary, summary_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_report_note, kind, member, key, __VA_ARGS__)
static const struct tw_member note_fields[] = {
	F(PLAIN, category, "category"),
	F(PLAIN, title, "display_name"),
	F(COUNT, count, "count"),
	F(REAL, time_ms, "time_ms", 3),
	F(REAL, percent_of_total, "percent_of_total", 2),
	F(PLAIN, issue, "issue"),
};
#undef F
const struct tw_fields tw_report_note_fields = TW_FIELDS(struct tw_report_note, note_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_exclusion, kind, member, key, __VA_ARGS__)
static const struct tw_member exclusion_fields[] = {
	F(PLAIN, category, "category"),
	F(PLAIN, title, "display_name"),
	F(PLAIN, reason, "reason"),
};
#undef F
const struct tw_fields tw_exclusion_fields =
	TW_FIELDS(struct tw_exclusion, exclusion_fields, .inlined = true);

/* ---- attention */

static bool is_attention(const char *name)
{
	return !strncmp(name, "sdpa", 4) || !strcmp(name, "inferenceattention");
}

/* Whether a rule of the categories has seen attention in pieces. */
static bool has_unfused_attention(const struct tw_category_data *data)
{
	uint32_t i;
	size_t k;

	for (i = 0; i < data->bottleneck_count; i++)
		for (k = 0; k < data->bottlenecks[i]->advice.ids.count; k++)
			if (!strcmp(data->bottlenecks[i]->advice.ids.at[k], "unfused_attention"))
				return true;
	return false;
}

/* Whether attention runs as one fused kernel; NULL: there is no attention. */
static const char *flash_attention(const struct tw_report_material *m)
{
	bool hidden = m->manifest->unlinked && m->manifest->unlinked->compute_time_ms > 0;
	bool pieces = false;
	size_t i, k;

	for (i = 0; i < m->categories.count; i++) {
		const struct tw_category_data *data = m->categories.at[i].data;

		for (k = 0; data && k < data->row_count; k++) {
			const struct tw_category_row *row = &data->rows[k];

			if (row->names_fused_attention || (!strcmp(data->family->family, "sdpa") &&
							   row->facts.value[TW_FACT_flash] > 0))
				return "Yes";
			/* It stands for work whose operation is not recorded. */
			hidden |= tw_operation_has(TW_TRAIT_NO_OPERATION, row->name) ||
				  tw_operation_has(TW_TRAIT_GRAPH_LAUNCH, row->name);
		}
		pieces |= data && (is_attention(data->name) || has_unfused_attention(data));
	}
	return pieces ? "No" : hidden ? "Unknown" : NULL;
}

/* ---- sums */

static void sum_up(struct tw_report_material *m)
{
	struct tw_report_summary *s = &m->summary;
	double most = 0;
	size_t i;

	for (i = 0; i < TW_USE_PARTS; i++) {
		s->ms[i] = m->manifest->use.ns[i] == TRAWL_TIME_NONE ?
				   (double)NAN :
				   (double)m->manifest->use.ns[i] / 1e6;
		s->percent[i] = m->manifest->use.percent[i];
	}
	s->top_percent = NAN;
	for (i = 0; i < m->categories.count; i++) {
		const struct tw_prepared_category *entry = m->categories.at[i].entry;

		if (tw_category_is_system(entry) || !(entry->kernel_ms > most))
			continue;
		most = entry->kernel_ms;
		s->top_category = entry->title;
		s->top_percent = entry->percent_of_compute;
	}
	s->flash_attention = flash_attention(m);
}

static void count_operations(const struct tw_category_data *data, double *fact)
{
	uint32_t i;

	for (i = 0; i < data->row_count; i++) {
		const struct tw_category_row *row = &data->rows[i];
		double share = tw_as_written(row->facts.value[TW_FACT_percent_of_compute], 2);

		fact[TW_FACT_anomaly_count] += row->is_anomaly;
		if (!isnan(row->facts.value[TW_FACT_efficiency_percent]))
			continue;
		fact[TW_FACT_unmodelled_count]++;
		fact[TW_FACT_unmodelled_percent] += isnan(share) ? 0 : share;
	}
}

static void count_hidden(const struct tw_report_material *m, double *fact)
{
	double time = 0, hidden = 0;
	size_t i;

	for (i = 0; i < m->bottlenecks.count; i++) {
		const double *value = m->bottlenecks.at[i].row->facts.value;
		double all = tw_as_written(value[TW_FACT_time_ms], 3);
		double exposed = tw_as_written(value[TW_FACT_exposed_time_ms], 3);

		if (isnan(all) || isnan(exposed))
			continue;
		time += all;
		hidden += all - exposed;
	}
	fact[TW_FACT_hidden_percent] = 100 * hidden / time;
	fact[TW_FACT_bottleneck_count] = (double)m->bottlenecks.count;
}

/* What rules about the analysis as a whole may ask, as it is written. */
static void find_facts(struct tw_report_material *m)
{
	const struct tw_manifest *manifest = m->manifest;
	double *fact = m->facts.value;
	size_t i;

	tw_facts_init(&m->facts);
	fact[TW_FACT_anomaly_count] = fact[TW_FACT_unmodelled_count] = 0;
	fact[TW_FACT_unmodelled_percent] = fact[TW_FACT_lost_count] = 0;
	fact[TW_FACT_sync_category_count] = 0;
	for (i = 0; i < m->categories.count; i++) {
		const struct tw_report_category *c = &m->categories.at[i];

		if (c->data)
			count_operations(c->data, fact);
		fact[TW_FACT_sync_category_count] += c->entry->sync_bottleneck > 0;
		if (!strcmp(c->entry->name, "other"))
			fact[TW_FACT_other_percent] = c->entry->percent_of_compute;
	}
	for (i = 0; i < manifest->flaws.count; i++)
		if (!strcmp(manifest->flaws.at[i].severity, "lost"))
			fact[TW_FACT_lost_count] += (double)manifest->flaws.at[i].count;
	count_hidden(m, fact);
	fact[TW_FACT_excluded_count] = (double)m->excluded.count;
	fact[TW_FACT_idle_percent] = manifest->use.percent[TW_USE_IDLE];
	fact[TW_FACT_exposed_comm_percent] = manifest->use.percent[TW_USE_COMM];
	fact[TW_FACT_platform_known] = m->platform != NULL;
	fact[TW_FACT_platform_guessed] = m->platform && manifest->platform_guessed;
	for (i = 0; i < TW_FACT_COUNT; i++)
		fact[i] = tw_as_written(fact[i], tw_facts_known[i].digits);
}

/* ---- what no finding is about */

static void note_unseen(struct tw_report_material *m, const struct tw_report_category *c)
{
	struct tw_report_note note = { c->entry->name, c->entry->title, NULL, 0, 0, 0 };
	uint32_t i;

	for (i = 0; c->data && i < c->data->bottleneck_count; i++) {
		const struct tw_category_row *row = c->data->bottlenecks[i];

		if (!tw_is_only_noted(row))
			continue;
		if (!note.count++)
			note.issue = row->advice.text[TW_ADVICE_ISSUE];
		note.time_ms += tw_as_written(row->facts.value[TW_FACT_time_ms], 3);
		note.percent_of_total +=
			tw_as_written(row->facts.value[TW_FACT_percent_of_total], 2);
	}
	if (note.count)
		m->notes.at[m->notes.count++] = note;
}

int tw_report_sum_up(struct tw_report_material *m)
{
	struct tw_arena *arena = &m->prepared->arena;
	size_t i;

	m->notes.at = tw_arena_array(arena, m->categories.count + 1, sizeof(*m->notes.at));
	m->excluded.at = tw_arena_array(arena, m->categories.count + 1, sizeof(*m->excluded.at));
	if (arena->failed)
		return TRAWL_ENOMEM;
	for (i = 0; i < m->categories.count; i++) {
		const struct tw_report_category *c = &m->categories.at[i];

		note_unseen(m, c);
		if (c->excluded)
			m->excluded.at[m->excluded.count++] =
				(struct tw_exclusion){ c->entry->name, c->entry->title,
						       c->excluded };
	}
	sum_up(m);
	find_facts(m);
	return 0;
}
