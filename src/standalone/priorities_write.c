/* The part of priority_data.json that lists the bottlenecks of all categories. */
#include "base/search.h"
#include "standalone/priorities.h"

#include "standalone/markdown.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 48

/* Times of short operations with what is needed to tell them apart from none. */
static void write_ms(struct tw_ranking *r, const char *key, double ms)
{
	tw_field_real(&r->json, key, ms, fabs(ms) < 0.1 ? 6 : 3);
}

static void write_projection(struct tw_ranking *r, const struct tw_bottleneck *o)
{
	const struct tw_level *level = o->target;
	double efficiency = tw_report_number(o->source, "efficiency_percent");
	double time = tw_report_number(o->source, "time_ms");
	double exposed = tw_report_number(o->source, "exposed_time_ms");

	tw_json_key(&r->json, "impact_projection");
	tw_json_array(&r->json, TW_JSON_LINES);
	for (; level; level = tw_next_target(level)) {
		double target = tw_target_of(level);
		double after = tw_priorities_time_ms(r, o->source, efficiency, target);
		double less = fmax(time - after, 0), gain = fmin(less, exposed);

		tw_json_object(&r->json, TW_JSON_INLINE);
		tw_field_real(&r->json, "target_efficiency_percent", target, 2);
		write_ms(r, "time_ms", after);
		tw_field_real(&r->json, "operation_improvement_percent", 100 * less / time, 2);
		write_ms(r, "e2e_improvement_ms", gain);
		tw_field_real(&r->json, "e2e_improvement_percent", 100 * gain / r->total_ms, 2);
		tw_json_key(&r->json, "bounded_by_exposed_time");
		tw_json_bool(&r->json, gain < less);
		tw_json_key(&r->json, "bounded_by_shortest_kernel");
		tw_json_bool(&r->json, after > time * efficiency / target);
		tw_json_end(&r->json);
	}
	tw_json_end(&r->json);
}

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

static void write_flag(struct tw_ranking *r, const char *key, const struct tw_json_value *from)
{
	tw_json_key(&r->json, key);
	tw_json_bool(&r->json, tw_json_true(tw_json_get(from, key)));
}

/* The operation as its category lists it, which tells more; a null value when it does not. */
static const struct tw_json_value *listed(const struct tw_bottleneck *o)
{
	const struct tw_report_category *c = o->category;
	double uid = tw_report_number(o->source, "uid");
	size_t low = TW_LOWER_BOUND(at, 0, isnan(uid) ? 0 : c->listed_count,
				    tw_report_order(c->listed[at], uid,
						    tw_report_text(o->source, "operation"),
						    tw_report_text(o->source, "args")) < 0);

	if (low < c->listed_count &&
	    !tw_report_order(c->listed[low], uid, tw_report_text(o->source, "operation"),
			     tw_report_text(o->source, "args")))
		return c->listed[low];
	return tw_json_get(NULL, "");
}

static void copy_from_either(struct tw_ranking *r, const char *key, const struct tw_json_value *a,
			     const struct tw_json_value *b)
{
	tw_field_copy(&r->json, key,
		      tw_json_get(tw_json_is_null(tw_json_get(a, key)) ? b : a, key));
}

/* What is of one operation, be it a finding of its own or a part of one. */
static void write_operation(struct tw_ranking *r, const struct tw_bottleneck *o)
{
	static const char *const keys[] = {
		"efficiency_percent", "bound_type", "flops_per_byte", "rules",	     "library",
		"launcher_path",      "group",	    "group_key",      "kernel_kind",
	};
	const struct tw_json_value *op = listed(o);
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		tw_field_copy(&r->json, keys[i], tw_json_get(o->source, keys[i]));
	copy_from_either(r, "kernel_name_trunc", o->source, op);
	copy_from_either(r, "module_chain", o->source, op);
	write_flag(r, "too_short", o->source);
	write_flag(r, "host_copy", o->source);
	tw_json_key(&r->json, "in_top_operations");
	tw_json_bool(&r->json, o->top_rank > 0);
	tw_json_key(&r->json, "top_operations_rank");
	if (o->top_rank)
		tw_json_integer(&r->json, (int64_t)o->top_rank);
	else
		tw_json_null(&r->json);
	tw_field_copy(&r->json, "issue", tw_json_get(o->source, "issue"));
	tw_field_copy(&r->json, "path_a", tw_json_get(o->source, "algorithmic"));
	tw_field_copy(&r->json, "path_b", tw_json_get(o->source, "kernel"));
	tw_field_real(&r->json, "assumed_speedup", o->speedup, 2);
}

static void write_name(struct tw_ranking *r, const struct tw_bottleneck *o)
{
	struct tw_str name;

	tw_str_init(&name, r->material->prepared->allocator);
	add_short_name(&name, tw_report_text(o->source, "operation"));
	tw_field_copy(&r->json, "uid", tw_json_get(o->source, "uid"));
	tw_field_copy(&r->json, "operation", tw_json_get(o->source, "operation"));
	tw_field_some_text(&r->json, "short_name", name.ptr ? name.ptr : "");
	tw_field_copy(&r->json, "args", tw_json_get(o->source, "args"));
	tw_field_copy(&r->json, "count", tw_json_get(o->source, "count"));
	r->failed |= name.failed;
	tw_str_release(&name);
}

static void write_place(struct tw_ranking *r, const struct tw_bottleneck *o)
{
	tw_field_some_text(&r->json, "category", o->category->name);
	tw_field_some_text(&r->json, "display_name", o->category->title);
	tw_json_key(&r->json, "category_rank");
	tw_json_integer(&r->json, (int64_t)o->number);
}

static void write_members(struct tw_ranking *r, const struct tw_bottleneck *o)
{
	static const char *const keys[] = { "time_ms", "exposed_time_ms", "percent_of_category",
					    "percent_of_compute", "percent_of_total" };
	size_t i;

	tw_json_key(&r->json, "members");
	tw_json_array(&r->json, TW_JSON_LINES);
	for (; o; o = o->next) {
		tw_json_object(&r->json, TW_JSON_LINES);
		write_place(r, o);
		write_name(r, o);
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			tw_field_copy(&r->json, keys[i], tw_json_get(o->source, keys[i]));
		write_operation(r, o);
		write_projection(r, o);
		tw_json_end(&r->json);
	}
	tw_json_end(&r->json);
}

static void write_compute(struct tw_ranking *r, const struct tw_bottleneck *o)
{
	bool several = o->members > 1;

	write_name(r, o);
	if (several) {
		write_ms(r, "time_ms", o->time_ms);
		write_ms(r, "exposed_time_ms", o->exposed_ms);
		tw_field_real(&r->json, "percent_of_category", NAN, 2);
	} else {
		tw_field_copy(&r->json, "time_ms", tw_json_get(o->source, "time_ms"));
		tw_field_copy(&r->json, "exposed_time_ms",
			      tw_json_get(o->source, "exposed_time_ms"));
		tw_field_copy(&r->json, "percent_of_category",
			      tw_json_get(o->source, "percent_of_category"));
	}
	tw_field_real(&r->json, "percent_of_compute", o->percent_of_compute, 2);
	tw_field_real(&r->json, "percent_of_total", o->percent_of_total, 2);
	write_operation(r, o);
	tw_json_key(&r->json, "member_count");
	tw_json_integer(&r->json, (int64_t)o->members);
	if (several) {
		write_members(r, o);
		tw_json_key(&r->json, "impact_projection");
		tw_json_array(&r->json, TW_JSON_INLINE);
		tw_json_end(&r->json);
	} else {
		write_projection(r, o);
	}
}

/* "Unfused attention (12 operations)", "aten::mm and 2 more (GEMM)". */
static void add_group_title(struct tw_str *title, const struct tw_bottleneck *o)
{
	const char *group = tw_report_text(o->source, "group");
	size_t start = title->len, i;

	if (*group) {
		tw_str_add_cstr(title, group);
		for (i = start; i < title->len; i++)
			if (title->ptr[i] == '_')
				title->ptr[i] = ' ';
		if (title->len > start && title->ptr[start] >= 'a' && title->ptr[start] <= 'z')
			title->ptr[start] = (char)(title->ptr[start] - 'a' + 'A');
		if (*tw_report_text(o->source, "group_key"))
			tw_str_addf(title, " in %s", tw_report_text(o->source, "group_key"));
		tw_str_addf(title, " (%zu operation%s)", o->members, o->members == 1 ? "" : "s");
		return;
	}
	if (*tw_report_text(o->source, "title"))
		tw_str_add_cstr(title, tw_report_text(o->source, "title"));
	else
		add_short_name(title, tw_report_text(o->source, "operation"));
	if (o->members > 1)
		tw_str_addf(title, " and %zu more", o->members - 1);
	tw_str_addf(title, " (%s)", o->category->title);
}

static void write_title(struct tw_ranking *r, const struct tw_bottleneck *o)
{
	struct tw_str title;

	tw_str_init(&title, r->material->prepared->allocator);
	add_group_title(&title, o);
	tw_field_some_text(&r->json, "title", title.ptr);
	r->failed |= title.failed;
	tw_str_release(&title);
}

void tw_priorities_write_list(struct tw_ranking *r)
{
	char id[24];
	size_t i;

	tw_json_key(&r->json, "bottlenecks");
	tw_json_array(&r->json, TW_JSON_LINES);
	for (i = 0; i < r->count; i++) {
		const struct tw_bottleneck *o = r->list[i];

		snprintf(id, sizeof(id), "B%zu", i + 1);
		tw_json_object(&r->json, TW_JSON_LINES);
		tw_field_some_text(&r->json, "id", id);
		tw_json_key(&r->json, "rank");
		tw_json_integer(&r->json, (int64_t)i + 1);
		tw_field_some_text(&r->json, "priority", o->priority);
		write_place(r, o);
		write_title(r, o);
		tw_field_real(&r->json, "operation_gain_percent", o->gain_percent, 2);
		write_compute(r, o);
		tw_json_end(&r->json);
	}
	tw_json_end(&r->json);
}
