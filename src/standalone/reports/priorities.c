/* The bottlenecks of all categories in one order, and priority_data.json. */
#include "standalone/reports/reports.h"

#include "base/alloc.h"
#include "store/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIORITY "priority"
#define TARGET "target_efficiency"
#define NAME_BYTES 48
#define PROJECTIONS 8

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_projection, kind, member, key, __VA_ARGS__)
static const struct tw_member projection_fields[] = {
	F(REAL, target, "target_efficiency_percent", 2),
	F(MS, time_ms, "time_ms"),
	F(REAL, less_percent, "operation_improvement_percent", 2),
	F(MS, gain_ms, "e2e_improvement_ms"),
	F(REAL, gain_percent, "e2e_improvement_percent", 2),
	F(BOOL, bounded_by_exposed, "bounded_by_exposed_time"),
	F(BOOL, bounded_by_shortest, "bounded_by_shortest_kernel"),
};
#undef F
const struct tw_fields tw_projection_fields =
	TW_FIELDS(struct tw_projection, projection_fields, .inlined = true);

#define F(kind, member, key, ...) TW_FIELD(struct tw_category_row, kind, member, key, __VA_ARGS__)
static const struct tw_member row_name_fields[] = {
	F(REAL, uid, "uid"),
	F(PLAIN, name, "operation"),
}, row_calls_fields[] = {
	F(PLAIN, args, "args"),
	F(FACT, facts, "count", TW_FACT_count),
}, row_kind_fields[] = {
	F(FACT, facts, "efficiency_percent", TW_FACT_efficiency_percent),
	F(PLAIN, bound, "bound_type"),
	F(FACT, facts, "flops_per_byte", TW_FACT_flops_per_byte),
	F(TEXTS, advice.ids, "rules", .inlined = true),
	F(PLAIN, library, "library"),
	F(PLAIN, path, "launcher_path"),
	F(TEXT, group, "group"),
	F(TEXT, group_key, "group_key"),
	F(PLAIN, kernel_kind, "kernel_kind"),
	F(PLAIN, main_kernel, "kernel_name_trunc"),
	F(TEXTS, modules, "module_chain", .inlined = true),
	F(BOOL, is_too_short, "too_short"),
	F(BOOL, is_host_copy, "host_copy"),
}, row_advice_fields[] = {
	F(PLAIN, advice.text[TW_ADVICE_ISSUE], "issue"),
	F(PLAIN, advice.text[TW_ADVICE_ALGORITHMIC], "path_a"),
	F(PLAIN, advice.text[TW_ADVICE_KERNEL], "path_b"),
};
#undef F
#define ROW(list) \
	static const struct tw_fields list = TW_FIELDS(struct tw_category_row, list##_fields)
ROW(row_name);
ROW(row_calls);
ROW(row_kind);
ROW(row_advice);

#define F(kind, member, key, ...) TW_FIELD(struct tw_bottleneck, kind, member, key, __VA_ARGS__)
#define ROWS(fields) F(INLINE, row, "", .of = &(fields))
#define PLACE                                                                          \
	F(PLAIN, category_name, "category"), F(PLAIN, category_title, "display_name"), \
		F(COUNT, category_rank, "category_rank")
#define WHAT                                                                                    \
	ROWS(row_name), F(PLAIN, short_name, "short_name"), ROWS(row_calls),                    \
		F(MS, time_ms, "time_ms"), F(MS, exposed_ms, "exposed_time_ms"),                \
		F(REAL, percent_of_category, "percent_of_category", 2),                         \
		F(REAL, percent_of_compute, "percent_of_compute", 2),                           \
		F(REAL, percent_of_total, "percent_of_total", 2), ROWS(row_kind),               \
		F(BOOL, is_top, "in_top_operations"), F(REAL, top_rank, "top_operations_rank"), \
		ROWS(row_advice), F(REAL, speedup, "assumed_speedup", 2)
static const struct tw_member member_fields[] = {
	PLACE,
	WHAT,
	F(LIST, projection, "impact_projection", .of = &tw_projection_fields),
};
static const struct tw_fields members = TW_FIELDS(struct tw_bottleneck, member_fields);
static const struct tw_member bottleneck_fields[] = {
	F(PLAIN, id, "id"),
	F(COUNT, rank, "rank"),
	F(PLAIN, priority, "priority"),
	PLACE,
	F(PLAIN, title, "title"),
	F(REAL, gain_percent, "operation_gain_percent", 2),
	WHAT,
	F(COUNT, count, "member_count"),
	F(LIST, members, "members", .of = &members, .if_known = true),
	F(LIST, projection, "impact_projection", .of = &tw_projection_fields),
};
#undef F
const struct tw_fields tw_bottleneck_told_fields =
	TW_FIELDS(struct tw_bottleneck, bottleneck_fields);

/* ---- what is one */

/* While they are ranked: singles, by key and then in order. */
struct ranking {
	struct tw_report_material *m;
	struct tw_arena *arena;
	double total_ms, shortest_ms; /* NaN: unknown */
	struct tw_bottleneck *singles;
	size_t *leader; /* of a single the first of its finding */
	size_t count;
};

bool tw_is_only_noted(const struct tw_category_row *row)
{
	return row->kind && !row->advice.text[TW_ADVICE_ALGORITHMIC] &&
	       !row->advice.text[TW_ADVICE_KERNEL];
}

/* As its metrics have it. */
static double told(const struct tw_category_row *row, enum tw_fact fact)
{
	return tw_as_written(row->facts.value[fact], tw_facts_known[fact].digits);
}

/* Kernels of one launch that no operation encloses share its uid, but not their name. */
static double top_rank(const struct tw_manifest *manifest, const struct tw_category_row *row)
{
	size_t i;

	for (i = 0; i < manifest->top.count; i++)
		if ((double)manifest->top.at[i].uid == row->uid &&
		    !strcmp(manifest->top.at[i].name, row->name))
			return (double)i + 1;
	return NAN;
}

/* Rules that look for a pattern of the category's kind: not at every category, nor in any case. */
static double pattern_count(const struct tw_advice *advice)
{
	double count = 0;
	unsigned i;

	for (i = 0; i < advice->count; i++)
		count += advice->rules[i]->condition_count &&
			 strcmp(advice->rules[i]->scope, "any");
	return count + (advice->achieved && advice->achieved->condition_count);
}

static double target_of(const struct tw_level *level)
{
	char *end;
	double number = strtod(level->level, &end);

	return *end ? NAN : number;
}

/* Known for operations of a group whose parts one change replaces. */
static double speedup_of(const struct tw_category_row *row)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_unfused_attention] = row->group != NULL;
	return target_of(tw_level_of("group_speedup", &facts));
}

/* Of the time that goes only that helps in which nothing else runs on the GPU; no call is shorter than the
 * shortest kernel. */
static void project(const struct ranking *r, struct tw_bottleneck *b, const struct tw_facts *facts)
{
	double efficiency = facts->value[TW_FACT_efficiency_percent], time = b->time_ms;
	double shortest = told(b->row, TW_FACT_count) * r->shortest_ms;
	const struct tw_level *level = tw_level_of(TARGET, facts);

	if (b->row->is_too_short || isnan(target_of(level)))
		return;
	b->projection.at = tw_arena_array(r->arena, PROJECTIONS, sizeof(*b->projection.at));
	/* What the ladder ends with is no target. */
	for (; b->projection.at && !isnan(target_of(level)); level++) {
		double target = target_of(level), after = time * efficiency / target, less, gain;
		bool shorter = after < shortest;

		after = fmax(after, shortest);
		less = fmax(time - after, 0);
		gain = fmin(less, b->exposed_ms);
		b->projection.at[b->projection.count++] = (struct tw_projection){
			.target = target,
			.time_ms = after,
			.less_percent = 100 * less / time,
			.gain_ms = gain,
			.gain_percent = 100 * gain / r->total_ms,
			.bounded_by_exposed = gain < less,
			.bounded_by_shortest = shorter,
		};
	}
}

/* What the change of a bottleneck saves; NaN: not known. */
static double gain_ms(const struct tw_bottleneck *b, const struct tw_facts *facts)
{
	double less;

	if (!isnan(b->speedup)) {
		less = b->time_ms * (1 - 1 / b->speedup);
		return fmax(fmin(less, b->exposed_ms), 0);
	}
	if (isnan(facts->value[TW_FACT_efficiency_percent]) || tw_level_is_yes("anomaly", facts) ||
	    b->row->is_too_short)
		return NAN;
	return b->projection.count ? fmax(b->projection.at[b->projection.count - 1].gain_ms, 0) : 0;
}

static void add(struct ranking *r, const struct tw_report_category *category,
		const struct tw_category_row *row)
{
	struct tw_bottleneck *b = &r->singles[r->count];
	struct tw_facts facts;

	r->leader[r->count] = r->count;
	r->count++;
	*b = (struct tw_bottleneck){
		.category = category,
		.category_name = category->entry->name,
		.category_title = category->entry->title,
		.row = row,
		.category_rank = row->rank,
		.count = 1,
		.percent_of_category = told(row, TW_FACT_percent_of_category),
		.percent_of_compute = told(row, TW_FACT_percent_of_compute),
		.percent_of_total = told(row, TW_FACT_percent_of_total),
		.time_ms = told(row, TW_FACT_time_ms),
		.exposed_ms = told(row, TW_FACT_exposed_time_ms),
		.top_rank = top_rank(r->m->manifest, row),
		.speedup = speedup_of(row),
	};
	b->is_top = !isnan(b->top_rank);
	tw_facts_init(&facts);
	facts.value[TW_FACT_in_top_operations] = b->is_top;
	facts.value[TW_FACT_efficiency_percent] = told(row, TW_FACT_efficiency_percent);
	facts.value[TW_FACT_percent_of_category] = b->percent_of_category;
	facts.value[TW_FACT_pattern_count] = pattern_count(&row->advice);
	b->priority = tw_level_of(PRIORITY, &facts)->level;
	project(r, b, &facts);
	b->gain_percent = 100 * gain_ms(b, &facts) / r->total_ms;
}

/* ---- several as one */

static bool is_small(const struct tw_bottleneck *b)
{
	struct tw_facts facts;

	tw_facts_init(&facts);
	facts.value[TW_FACT_gain_percent] = b->gain_percent;
	return tw_level_is_yes("small_gain", &facts);
}

/*
 * What those told as one have in common: parts of one thing; what cannot be seen of a category;
 * small ones of it with the same advice.  "" for what is told alone.
 */
static void add_common(struct tw_str *key, const struct tw_bottleneck *b)
{
	const struct tw_category_row *row = b->row;

	tw_str_clear(key);
	if (row->group)
		tw_str_addf(key, "%s\n%s", row->group, row->group_key ? row->group_key : "");
	else if (row->kind)
		tw_str_addf(key, "\nhidden\n%p", (const void *)b->category);
	else if (row->advice.ids.count && is_small(b))
		tw_str_addf(key, "\n%s\n%p", row->advice.ids.at[0], (const void *)b->category);
}

/* Puts it behind the others of its finding, with its figures in the sums. */
static void join(struct tw_bottleneck *leader, const struct tw_bottleneck *b)
{
	leader->members.at[leader->members.count++] = *b;
	if (leader->members.count == 1)
		return;
	leader->percent_of_category = NAN;
	leader->gain_percent += b->gain_percent;
	leader->percent_of_total += b->percent_of_total;
	leader->percent_of_compute += b->percent_of_compute;
	leader->time_ms += b->time_ms;
	leader->exposed_ms += b->exposed_ms;
	leader->projection.count = 0;
	if (tw_level_rank(PRIORITY, b->priority) < tw_level_rank(PRIORITY, leader->priority))
		leader->priority = b->priority;
	if (b->is_top && !(leader->top_rank <= b->top_rank))
		leader->top_rank = b->top_rank;
	leader->is_top |= b->is_top;
}

/* Which of the singles begin a finding, and which are told with them. */
static void find_leaders(struct ranking *r, struct tw_pool *texts)
{
	size_t *first = tw_arena_array(r->arena, r->count + 2, sizeof(*first)), i;
	struct tw_str key;

	tw_str_init(&key, r->arena->allocator);
	for (i = 0; first && i < r->count; i++) {
		uint32_t id;

		add_common(&key, &r->singles[i]);
		id = key.len ? tw_pool_intern(texts, key.ptr, key.len) : 0;
		if (!id)
			continue;
		if (!first[id])
			first[id] = i + 1;
		r->leader[i] = first[id] - 1;
		r->singles[first[id] - 1].count += first[id] - 1 != i;
	}
	r->arena->failed |= key.failed || texts->failed;
	tw_str_release(&key);
}

/* The members of a finding are compared as they were alone: sums come last. */
static void join_all(struct ranking *r)
{
	struct tw_report_material *m = r->m;
	size_t *place = tw_arena_array(r->arena, r->count + 1, sizeof(*place)), i;

	m->bottlenecks.at = tw_arena_array(r->arena, r->count + 1, sizeof(*m->bottlenecks.at));
	for (i = 0; place && m->bottlenecks.at && i < r->count; i++) {
		struct tw_bottleneck *b = &r->singles[i];

		if (r->leader[i] == i) {
			place[i] = m->bottlenecks.count++;
			m->bottlenecks.at[place[i]] = *b;
			if (b->count > 1)
				m->bottlenecks.at[place[i]].members.at =
					tw_arena_array(r->arena, b->count, sizeof(*b));
		}
		if (m->bottlenecks.at[place[r->leader[i]]].members.at)
			join(&m->bottlenecks.at[place[r->leader[i]]], b);
	}
}

/* ---- the order */

static void limit_priority(struct tw_bottleneck *b)
{
	struct tw_facts facts;
	const char *limit;

	tw_facts_init(&facts);
	facts.value[TW_FACT_gain_percent] = b->gain_percent;
	facts.value[TW_FACT_percent_of_total] = b->percent_of_total;
	limit = tw_level_of("priority_limit", &facts)->level;
	if (tw_level_rank(PRIORITY, limit) > tw_level_rank(PRIORITY, b->priority))
		b->priority = limit;
}

/* What is unknown comes last. */
static int compare_unknown_last(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}

/* By priority, then by what is to be gained, then by size. */
static int compare(const void *a, const void *b)
{
	const struct tw_bottleneck *p = a, *q = b;
	unsigned first = tw_level_rank(PRIORITY, p->priority);
	unsigned second = tw_level_rank(PRIORITY, q->priority);
	int order = (first > second) - (first < second);

	if (!order)
		order = compare_unknown_last(p->gain_percent, q->gain_percent);
	if (!order)
		order = compare_unknown_last(p->percent_of_total, q->percent_of_total);
	if (!order)
		order = (p->category > q->category) - (p->category < q->category);
	return order ? order :
		       (p->category_rank > q->category_rank) -
			       (p->category_rank < q->category_rank);
}

/* ---- names */

/* Of "void a::b<c, d>(e)" "a::b", when the whole is long. */
static void add_short_name(struct tw_str *out, const char *name)
{
	static const char *const starts[] = { "void ", "(anonymous namespace)::" };
	const char *start;
	size_t i;

	if (strlen(name) > NAME_BYTES) {
		for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
			if (!strncmp(name, starts[i], strlen(starts[i])))
				name += strlen(starts[i]);
		/* The arrow between launch and kernel begins no argument. */
		start = strstr(name, "->void ");
		if (start) {
			tw_str_add(out, name, (size_t)(start - name) + 2);
			name = start + strlen("->void ");
		}
		i = strcspn(name, "<(");
		tw_str_add(out, name, i ? i : strlen(name));
		tw_md_cut(out, NAME_BYTES);
	} else {
		tw_str_add_cstr(out, name);
	}
	while (out->len && out->ptr[out->len - 1] == ' ')
		out->ptr[--out->len] = '\0';
}

static const char *short_name(struct tw_arena *arena, const char *name)
{
	struct tw_str text;

	tw_str_init(&text, arena->allocator);
	add_short_name(&text, name);
	return tw_kept(arena, &text);
}

/* "Unfused attention (12 operations)", "aten::mm and 2 more (GEMM)". */
static const char *title_of(struct tw_arena *arena, const struct tw_bottleneck *b)
{
	const char *group = b->row->group, *key = b->row->group_key;
	struct tw_str title;
	size_t i;

	tw_str_init(&title, arena->allocator);
	if (group) {
		tw_str_add_cstr(&title, group);
		for (i = 0; i < title.len; i++)
			if (title.ptr[i] == '_')
				title.ptr[i] = ' ';
		if (title.len)
			title.ptr[0] = (char)(title.ptr[0] - 'a' + 'A');
		tw_str_addf(&title, "%s%s (%llu operation%s)", key ? " in " : "", key ? key : "",
			    (unsigned long long)b->count, b->count == 1 ? "" : "s");
		return tw_kept(arena, &title);
	}
	tw_str_add_cstr(&title, b->short_name);
	if (b->count > 1)
		tw_str_addf(&title, " and %llu more", (unsigned long long)b->count - 1);
	tw_str_addf(&title, " (%s)", b->category->entry->title);
	return tw_kept(arena, &title);
}

static const char *id_of(struct tw_arena *arena, size_t number)
{
	char id[24];

	snprintf(id, sizeof(id), "B%zu", number);
	return tw_arena_copy(arena, id, strlen(id));
}

static void name_all(struct ranking *r)
{
	struct tw_report_material *m = r->m;
	size_t i, k;

	for (i = 0; i < m->bottlenecks.count && !r->arena->failed; i++) {
		struct tw_bottleneck *b = &m->bottlenecks.at[i];

		b->rank = i + 1;
		b->id = id_of(r->arena, b->rank);
		b->short_name = short_name(r->arena, b->row->name);
		for (k = 0; k < b->members.count; k++)
			b->members.at[k].short_name =
				short_name(r->arena, b->members.at[k].row->name);
		if (!r->arena->failed)
			b->title = title_of(r->arena, b);
	}
}

int tw_report_rank(struct tw_report_material *m)
{
	struct ranking r = { .m = m, .arena = &m->prepared->arena };
	struct tw_pool texts = { 0 };
	size_t most = 0, i, k;

	r.total_ms = tw_use_ms(&m->manifest->use, TW_USE_TOTAL);
	r.shortest_ms = m->manifest->shortest_kernel_ns == TRAWL_TIME_NONE ?
				(double)NAN :
				(double)m->manifest->shortest_kernel_ns / 1e6;
	for (i = 0; i < m->categories.count; i++)
		most += m->categories.at[i].data ? m->categories.at[i].data->bottleneck_count : 0;
	r.singles = tw_arena_array(r.arena, most + 1, sizeof(*r.singles));
	r.leader = tw_arena_array(r.arena, most + 1, sizeof(*r.leader));
	if (r.arena->failed || tw_pool_init(&texts, m->prepared->allocator))
		return TRAWL_ENOMEM;
	for (i = 0; i < m->categories.count; i++) {
		const struct tw_category_data *data = m->categories.at[i].data;

		for (k = 0; data && k < data->bottleneck_count; k++)
			if (!tw_is_only_noted(data->bottlenecks[k]))
				add(&r, &m->categories.at[i], data->bottlenecks[k]);
	}
	find_leaders(&r, &texts);
	join_all(&r);
	tw_pool_release(&texts);
	for (i = 0; i < m->bottlenecks.count; i++)
		limit_priority(&m->bottlenecks.at[i]);
	if (m->bottlenecks.count)
		qsort(m->bottlenecks.at, m->bottlenecks.count, sizeof(*m->bottlenecks.at), compare);
	name_all(&r);
	return r.arena->failed ? TRAWL_ENOMEM : 0;
}

/* ---- priority_data.json */

void tw_priorities_write(const struct tw_report_material *m, struct tw_str *out)
{
	struct tw_json json;
	size_t i;

	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	tw_field_text(&json, "model", m->model);
	tw_field_text(&json, "platform", m->platform);
	tw_field_real(&json, "baseline_ms", tw_use_ms(&m->manifest->use, TW_USE_TOTAL), 6);
	tw_priorities_estimates(m, &json);
	tw_recommendations_write(m, &json);
	tw_fields_array(&json, "bottlenecks", &tw_bottleneck_told_fields, m->bottlenecks.at,
			m->bottlenecks.count);
	tw_fields_object(&json, "summary", &tw_report_summary_fields, &m->summary);
	tw_json_key(&json, "facts");
	tw_json_object(&json, TW_JSON_LINES);
	for (i = 0; i < TW_FACT_COUNT; i++)
		if (!isnan(m->facts.value[i]))
			tw_field_real(&json, tw_facts_known[i].name, m->facts.value[i],
				      tw_facts_known[i].digits);
	tw_json_end(&json);
	tw_fields_array(&json, "excluded", &tw_exclusion_fields, m->excluded.at, m->excluded.count);
	tw_fields_array(&json, "notes", &tw_report_note_fields, m->notes.at, m->notes.count);
	tw_json_end(&json);
	tw_json_finish(&json);
}
