/* The fair report's detailed analysis: what each category found, one below the other. */
#include "standalone/reports.h"

#include "render/pages/html_page.h"
#include "standalone/markdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS 96
#define LEVELS 6
/* Headings of findings begin at 2; here they stand under one of level 3. */
#define DEEPER 2

struct details {
	const struct tw_report_material *material;
	struct tw_str *out;
	const char **anchors;
	bool *told; /* by the place of the bottleneck */
};

/* The findings of a category on their way into the report. */
struct paste {
	struct details *d;
	const struct tw_report_category *category;
	/* Headings that get their place once something stands under them; "": none. */
	struct tw_str pending[LEVELS + 1];
	bool fenced;	/* inside a block of code */
	bool skipping;	/* what stands under a heading that is told elsewhere */
	size_t heading; /* level of that one */
	const struct tw_json_value *bottleneck; /* whose numbers are being told */
};

static bool starts(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

/* ---- impact projection */

static bool ends_blank(const struct tw_str *out)
{
	return out->len >= 2 && !strcmp(out->ptr + out->len - 2, "\n\n");
}

static const char *why_without_projection(const struct tw_json_value *o)
{
	if (tw_json_true(tw_json_get(o, "too_short")))
		return "its kernels are too short for an efficiency to mean anything";
	if (isnan(tw_report_number(o, "efficiency_percent")))
		return "the efficiency is not known";
	return "the efficiency is above the last target already";
}

static void add_projection(const struct tw_json_value *o, struct tw_str *out)
{
	const struct tw_json_value *row = tw_json_get(o, "impact_projection")->first;
	bool bounded = false, shortest = false;

	if (!ends_blank(out))
		tw_str_add_char(out, '\n');
	if (!row) {
		tw_str_addf(out, "**Impact Projection**: none, %s.\n", why_without_projection(o));
		return;
	}
	tw_str_add_cstr(out, "**Impact Projection** (if op improves to X% of peak):\n\n"
			     "| Target Efficiency | Time | E2E Improvement |\n"
			     "|-------------------|------|-----------------|\n");
	for (; row; row = row->next) {
		tw_str_add_cstr(out, "| ");
		tw_report_tell(out, row, "target_efficiency_percent", "%", " of peak | ");
		tw_report_tell(out, row, "time_ms", " ms", " | ~");
		tw_report_tell(out, row, "operation_improvement_percent", "%",
			       " faster for this op, ~");
		tw_report_tell(out, row, "e2e_improvement_percent", "%", " of the total time |\n");
		bounded |= tw_json_true(tw_json_get(row, "bounded_by_exposed_time"));
		shortest |= tw_json_true(tw_json_get(row, "bounded_by_shortest_kernel"));
	}
	if (shortest)
		tw_str_add_cstr(out, "\nNo call is taken to be shorter than the shortest kernel "
				     "of the trace.\n");
	if (bounded) {
		tw_str_add_cstr(out, "\nThe gain is bounded by the ");
		tw_report_tell(out, o, "exposed_time_ms", " ms",
			       " in which no other GPU work hides the operation.\n");
	}
}

/* ---- headings */

static void set_anchor(struct details *d, size_t place, const char *heading)
{
	struct tw_str anchor;

	tw_str_init(&anchor, d->out->allocator);
	tw_heading_anchor(&anchor, heading, strlen(heading));
	if (anchor.len && !anchor.failed)
		d->anchors[place] =
			tw_arena_copy(&d->material->prepared->arena, anchor.ptr, anchor.len);
	if (anchor.failed || !d->anchors[place]) {
		d->out->failed = true;
		d->anchors[place] = "";
	}
	tw_str_release(&anchor);
}

/* Markdown's heading without what is not seen of it. */
static void add_seen(struct tw_str *out, const char *heading)
{
	static const char *const entities[] = { "&lt;", "&gt;", "&amp;" };
	size_t i;

	while (*heading) {
		for (i = 0; i < 3; i++)
			if (!strncmp(heading, entities[i], strlen(entities[i])))
				break;
		if (i < 3)
			heading += strlen(entities[i]);
		else
			tw_str_add_char(out, *heading++);
	}
}

static bool is_nth(const struct tw_json_value *o, const char *category, double n)
{
	return !strcmp(tw_report_text(o, "category"), category) &&
	       tw_report_number(o, "category_rank") == n;
}

struct found {
	const struct tw_json_value *item; /* the optimization, or one of the operations it is of */
	size_t place;
	size_t member; /* which of these, from 1 on; 0: the whole */
};

/* The bottleneck that is the n-th of a category; without an item when there is none. */
static struct found find(const struct details *d, const char *category, double n)
{
	const struct tw_json_value *o = tw_json_get(d->material->data, "bottlenecks")->first;
	struct found found = { NULL, 0, 0 };

	for (; o; o = o->next, found.place++) {
		if (tw_report_number(o, "member_count") > 1) {
			found.member = 1;
			found.item = tw_json_get(o, "members")->first;
			while (found.item && !is_nth(found.item, category, n)) {
				found.item = found.item->next;
				found.member++;
			}
			if (found.item)
				return found;
			found.member = 0;
		} else if (is_nth(o, category, n)) {
			found.item = o;
			return found;
		}
	}
	return found;
}

static void close_bottleneck(struct paste *p)
{
	if (p->bottleneck) {
		add_projection(p->bottleneck, p->d->out);
		tw_str_add_char(p->d->out, '\n');
	}
	p->bottleneck = NULL;
}

/* The modules around it, the outermost first, and who launched it. */
static void add_call_site(const struct tw_json_value *o, struct tw_str *out)
{
	const struct tw_json_value *module = tw_json_get(o, "module_chain")->first;
	const char *launcher = tw_report_text(o, "launcher_path");
	bool any = module != NULL;

	if (!module && !*launcher)
		return;
	tw_str_add_cstr(out, "- **Call site:** ");
	for (; module; module = module->next) {
		tw_md_code(out, tw_json_text(module), NAME_CHARACTERS);
		tw_str_add_cstr(out, module->next ? " › " : "");
	}
	if (*launcher) {
		tw_str_add_cstr(out, any ? ", " : "");
		tw_md_code(out, launcher, NAME_CHARACTERS);
	}
	tw_str_add_char(out, '\n');
}

/* Of "Kernel 1: a<br>Kernel 2: b" as `a`, `b`. */
static void add_kernels(const struct tw_json_value *o, struct tw_str *out)
{
	static const char between[] = "<br>", label[] = "Kernel ";
	const char *text = tw_report_text(o, "kernel_name_trunc"), *end, *colon;
	struct tw_str name;
	bool any = false;

	tw_str_init(&name, out->allocator);
	for (; *text; text = *end ? end + sizeof(between) - 1 : end, any = true) {
		end = strstr(text, between);
		end = end ? end : text + strlen(text);
		colon = strstr(text, ": ");
		if (!strncmp(text, label, sizeof(label) - 1) && colon && colon < end)
			text = colon + 2;
		tw_str_clear(&name);
		tw_str_add(&name, text, (size_t)(end - text));
		tw_str_add_cstr(out, any ? ", " : "- **Kernels:** ");
		tw_md_code(out, name.ptr ? name.ptr : "", NAME_CHARACTERS);
	}
	tw_str_add_cstr(out, any ? "\n" : "");
	out->failed |= name.failed;
	tw_str_release(&name);
}

static void add_identity(const struct tw_json_value *o, struct tw_str *out)
{
	tw_str_add_cstr(out, "- **Calls:** ");
	tw_report_tell(out, o, "count", "", "");
	if (*tw_report_text(o, "args")) {
		tw_str_add_cstr(out, ", ");
		tw_report_args(out, tw_json_get(o, "args"), 2 * NAME_CHARACTERS);
	}
	tw_str_add_char(out, '\n');
	add_call_site(o, out);
	add_kernels(o, out);
}

static void flush_headings(struct paste *p)
{
	bool any = false;
	size_t i;

	for (i = 1; i <= LEVELS; i++) {
		if (p->pending[i].len) {
			tw_str_addf(p->d->out, "%s\n\n", p->pending[i].ptr);
			tw_str_clear(&p->pending[i]);
			any = true;
		}
	}
	if (any && p->bottleneck)
		add_identity(p->bottleneck, p->d->out);
}

/*
 * "B3: `aten::mm`" of "1. `aten::mm`", when that is a bottleneck, "B3, operation 2: ..." when it is of
 * several; else as it is.  What areas of the system recommend is left out: the findings do.
 */
static void number_heading(struct paste *p, const char *text, struct tw_str *heading)
{
	struct found found = { NULL, 0, 0 };
	struct tw_str seen;
	char *end;
	long n = strtol(text, &end, 10);

	if (end > text && *end == '.' && !p->category->is_system)
		found = find(p->d, p->category->name, (double)n);
	p->skipping = p->category->is_system && starts(text, "System P");
	if (!found.item) {
		tw_str_add_cstr(heading, text);
		return;
	}
	tw_str_init(&seen, heading->allocator);
	tw_str_addf(&seen, "B%zu", found.place + 1);
	if (found.member)
		tw_str_addf(&seen, ", operation %zu", found.member);
	tw_str_add_char(&seen, ':');
	tw_str_add_cstr(heading, seen.ptr ? seen.ptr : "");
	tw_str_add_cstr(heading, end + 1);
	add_seen(&seen, end + 1);
	if (!p->d->told[found.place] || found.member == 1)
		set_anchor(p->d, found.place, seen.ptr ? seen.ptr : "");
	p->bottleneck = found.item;
	p->d->told[found.place] = true;
	heading->failed |= seen.failed;
	tw_str_release(&seen);
}

static void paste_heading(struct paste *p, const char *line, size_t level)
{
	size_t deep = level + DEEPER > LEVELS ? LEVELS : level + DEEPER, i;
	struct tw_str *heading = &p->pending[deep];
	const char *text = line + level;

	while (*text == ' ')
		text++;
	close_bottleneck(p);
	p->skipping = false;
	for (i = deep; i <= LEVELS; i++)
		tw_str_clear(&p->pending[i]);
	/* The title of the file is that of the section. */
	if (level == 1)
		return;
	for (i = 0; i < deep; i++)
		tw_str_add_char(heading, '#');
	tw_str_add_char(heading, ' ');
	number_heading(p, text, heading);
	if (p->skipping)
		tw_str_clear(heading);
}

/* ---- lines */

/* What is about the analysis and not the trace. */
static bool is_about_analysis(const struct paste *p, const char *line)
{
	return p->category->is_system &&
	       (starts(line, "**Status**") || starts(line, "**Analysis Tier**"));
}

static size_t heading_level(const struct paste *p, const char *line)
{
	size_t level = strspn(line, "#");

	return !p->fenced && level >= 1 && level <= LEVELS && line[level] == ' ' ? level : 0;
}

static void paste_line(struct paste *p, const char *line)
{
	size_t level = heading_level(p, line);

	if (level) {
		paste_heading(p, line, level);
		return;
	}
	if (p->skipping || is_about_analysis(p, line))
		return;
	if (starts(line, "```"))
		p->fenced = !p->fenced;
	/* One blank line is enough, and none belongs behind a heading. */
	if (!*line && !p->fenced && ends_blank(p->d->out))
		return;
	if (*line)
		flush_headings(p);
	/* Lines that begin with a label stand below each other. */
	tw_str_addf(p->d->out, "%s%s\n", line, !p->fenced && starts(line, "**") ? "  " : "");
}

static void paste_findings(struct details *d, const struct tw_report_category *c)
{
	struct paste p = { .d = d, .category = c };
	const char *text = c->findings, *end;
	struct tw_str line;
	size_t i;

	tw_str_init(&line, d->out->allocator);
	for (i = 0; i <= LEVELS; i++)
		tw_str_init(&p.pending[i], d->out->allocator);
	for (; *text; text = *end ? end + 1 : end) {
		end = text + strcspn(text, "\n");
		tw_str_clear(&line);
		tw_str_add(&line, text, (size_t)(end - text));
		if (line.failed)
			break;
		paste_line(&p, line.ptr);
	}
	close_bottleneck(&p);
	d->out->failed |= line.failed;
	for (i = 0; i <= LEVELS; i++) {
		d->out->failed |= p.pending[i].failed;
		tw_str_release(&p.pending[i]);
	}
	tw_str_release(&line);
}

/* ---- categories */

/* What the findings of the category do not tell by themselves. */
static void add_untold(struct details *d, const struct tw_report_category *c)
{
	const struct tw_json_value *o = tw_json_get(d->material->data, "bottlenecks")->first;
	struct tw_str heading;
	size_t i = 0;

	for (; o; o = o->next, i++) {
		if (d->told[i] || strcmp(tw_report_text(o, "category"), c->name) || c->is_system)
			continue;
		tw_str_init(&heading, d->out->allocator);
		tw_str_addf(&heading, "%s: ", tw_report_text(o, "id"));
		tw_md_code(&heading, tw_report_text(o, "operation"), NAME_CHARACTERS);
		tw_str_addf(d->out, "\n##### %s\n\n", heading.ptr ? heading.ptr : "");
		set_anchor(d, i, heading.ptr ? heading.ptr : "");
		add_identity(o, d->out);
		tw_str_add_cstr(d->out, "- **Time:** ");
		tw_report_tell(d->out, o, "time_ms", " ms", " (");
		tw_report_tell(d->out, o, "percent_of_compute", "%", " of compute)\n");
		tw_str_add_cstr(d->out, "- **Efficiency:** ");
		tw_report_tell(d->out, o, "efficiency_percent", "%", " of peak\n");
		add_projection(o, d->out);
		d->out->failed |= heading.failed;
		tw_str_release(&heading);
	}
}

static void add_category(struct details *d, const struct tw_report_category *c, size_t number)
{
	struct tw_str heading;
	size_t count = tw_json_get(d->material->data, "bottlenecks")->count, i;
	const struct tw_json_value *o;

	tw_str_init(&heading, d->out->allocator);
	tw_str_addf(&heading, "%zu. ", number);
	tw_md_text(&heading, c->title);
	if (c->is_system) {
		tw_str_add_cstr(&heading, " (System-Level)");
	} else {
		tw_str_add_cstr(&heading, " (");
		tw_report_tell(&heading, c->entry, "percent_of_compute", "%", " of compute)");
	}
	tw_str_addf(d->out, "%s### %s\n\n", number > 1 ? "\n" : "", heading.ptr ? heading.ptr : "");
	/* Where its findings are, should nothing nearer be found. */
	o = tw_json_get(d->material->data, "bottlenecks")->first;
	for (i = 0; o && i < count; o = o->next, i++)
		if (!strcmp(tw_report_text(o, "category"), c->name) && !d->told[i])
			set_anchor(d, i, heading.ptr ? heading.ptr : "");
	if (c->findings)
		paste_findings(d, c);
	add_untold(d, c);
	d->out->failed |= heading.failed;
	tw_str_release(&heading);
}

/* Compute categories by their share, then the system's in the manifest's order. */
static int compare_categories(const void *a, const void *b)
{
	const struct tw_report_category *p = *(const struct tw_report_category *const *)a;
	const struct tw_report_category *q = *(const struct tw_report_category *const *)b;
	double first = tw_report_number(p->entry, "gpu_kernel_time_ms");
	double second = tw_report_number(q->entry, "gpu_kernel_time_ms");

	if (p->is_system != q->is_system)
		return p->is_system - q->is_system;
	if (!p->is_system && first != second && !isnan(first) && !isnan(second))
		return first > second ? -1 : 1;
	return p < q ? -1 : p > q;
}

void tw_fair_details(const struct tw_report_material *m, struct tw_str *out, const char **anchors)
{
	size_t count = tw_json_get(m->data, "bottlenecks")->count, i, number = 0;
	struct tw_arena *arena = &m->prepared->arena;
	struct details d = { m, out, anchors, tw_arena_alloc(arena, count + 1) };
	const struct tw_report_category **list =
		tw_arena_alloc(arena, (m->category_count + 1) * sizeof(const void *));
	bool works;

	tw_str_add_cstr(out, "## Detailed Analysis\n\n");
	if (!d.told || !list) {
		out->failed = true;
		return;
	}
	memset(d.told, 0, count + 1);
	for (i = 0; i < m->category_count; i++)
		list[i] = &m->categories[i];
	if (m->category_count)
		qsort(list, m->category_count, sizeof(const void *), compare_categories);
	/* Of a trace without GPU work the areas would tell only that. */
	works = tw_report_number(tw_json_get(m->data, "summary"), "total_time_ms") > 0;
	for (i = 0; i < m->category_count; i++)
		if (list[i]->metrics && (works || !list[i]->is_system))
			add_category(&d, list[i], ++number);
	if (!number && !works)
		tw_str_add_cstr(out, "There is no GPU work to analyze.\n");
	else if (!number)
		tw_str_add_cstr(out, "No category was analyzed.\n");
}
