#include "study/compare/comparison.h"

#include "base/alloc.h"
#include "render/render.h"
#include "study/compare/places/align.h"
#include "study/compare/per_rank.h"
#include "study/books/report_tables.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void trawl_compare_options_init(struct trawl_compare_options *options)
{
	*options = (struct trawl_compare_options){ .sheets = TRAWL_COMPARE_EVERYTHING };
}

static void say(const struct trawl_comparison *c, const char *format, ...) TRAWL_PRINTF(2, 3);

static void say(const struct trawl_comparison *c, const char *format, ...)
{
	struct tw_str line;
	va_list args;

	if (!c->options.note)
		return;
	tw_str_init(&line, c->allocator);
	va_start(args, format);
	tw_str_addv(&line, format, args);
	va_end(args);
	c->options.note(c->options.note_context, line.failed ? "out of memory" : line.ptr);
	tw_str_release(&line);
}

/* ---- sides */

static int open_sides(struct trawl_comparison *c, const char *const *paths, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < c->side_count; i++) {
		c->opened++;
		if (tw_side_open(&c->sides[i], paths[i], &c->reading, err))
			return err->status;
		c->sides[i].label = c->options.labels[i];
	}
	if (tw_sides_label(c->sides, c->side_count, err))
		return err->status;
	for (i = 0; i < c->side_count; i++)
		c->labels[i] = c->sides[i].label;
	return 0;
}

static int read_side(struct trawl_comparison *c, size_t i, struct trawl_error *err)
{
	struct tw_side *side = &c->sides[i];
	int status = tw_samples_init(&c->times[i], c->allocator) ?
			     tw_no_memory(err) :
			     tw_side_read(side, &c->times[i], err);

	tw_str_tell(&side->notes, c->options.note, c->options.note_context);
	c->incomplete |= side->incomplete;
	if (!status && side->notes.failed)
		status = tw_no_memory(err);
	return status;
}

/* NULL: of a table that another kind is read from too. */
static const char *what_of(enum tw_compared_kind kind)
{
	static const char *const words[TW_COMPARED_KINDS] = {
		[TW_TIMELINE_PART] = "timeline",
		[TW_OPERATION] = "operations",
		[TW_KERNEL] = "kernels",
		[TW_COLLECTIVE_SYNC] = "collectives over ranks",
		[TW_COLLECTIVE_RANK] = "collectives on each rank",
		[TW_RANGE] = "NVTX ranges",
		[TW_MODULE] = "modules",
		[TW_CALL_SITE] = "call sites",
		[TW_PHASE] = "phases",
		[TW_STEP] = "steps",
		[TW_STAGE] = "stages",
	};

	return words[kind];
}

/* What only one side tells of cannot be compared, and is not new. */
static void tell_one_sided(const struct trawl_comparison *c, const struct tw_pair *p)
{
	const size_t *a = p->sides[0]->having, *b = p->sides[1]->having;
	/* One of the two tables of collectives is enough. */
	bool by_rank = a[TW_COLLECTIVE_RANK] && b[TW_COLLECTIVE_RANK];
	bool by_sync = a[TW_COLLECTIVE_SYNC] && b[TW_COLLECTIVE_SYNC];
	size_t k;

	for (k = 0; k < TW_COMPARED_KINDS && !c->options.quiet; k++) {
		const char *what = what_of((enum tw_compared_kind)k);

		if (!a[k] == !b[k] || (k == TW_COLLECTIVE_SYNC && by_rank) ||
		    (k == TW_COLLECTIVE_RANK && by_sync) || !what)
			continue;
		say(c, "%s has no %s: %s not compared", p->labels[a[k] ? 1 : 0],
		    tw_compared_tables[k]->name, what);
	}
}

static size_t own_configs(const struct tw_samples *samples, unsigned side)
{
	size_t n = 0, i;

	for (i = 0; i < samples->config_count; i++)
		n += samples->configs[i].there[side];
	return n;
}

/* Whether there is anything to compare; two sweeps without anything in common may show their best. */
static int check_common(const struct trawl_comparison *c, const struct tw_pair *p,
			struct trawl_error *err)
{
	bool first = own_configs(&p->samples, 0), second = own_configs(&p->samples, 1);
	size_t i;

	for (i = 0; i < TW_COMPARED_KINDS; i++)
		if (p->changes.all[i].count)
			return 0;
	if (!first || !second)
		return trawl_error_set(err, TRAWL_ENODATA, "nothing to compare: no times in %s",
				       p->labels[first ? 1 : 0]);
	if (p->changes.common)
		return trawl_error_set(err, TRAWL_ENODATA,
				       "nothing to compare: %s and %s have no table in common",
				       p->labels[0], p->labels[1]);
	if (p->sides[0]->kind == p->sides[1]->kind && !c->options.in_common)
		return 0;
	return trawl_error_set(
		err, TRAWL_ENODATA,
		"nothing to compare: %s and %s have no configuration in common (choose one of "
		"each with --threads and --channels)",
		p->labels[0], p->labels[1]);
}

/* Which ranks have lost a part of their traces, and whether their times count. */
static void tell_damaged(const struct trawl_comparison *c, const struct tw_pair *p)
{
	const struct tw_samples *s = &p->samples;
	size_t i;

	for (i = 0; i < s->damaged_count; i++) {
		const struct tw_sample_damage *d = &s->damaged[i];
		const struct tw_sample_config *config = &s->configs[d->config];
		const char *name = d->side && config->test_name ? config->test_name : config->name;
		char rank[48] = "its trace";

		/* Of the baseline it is told once. */
		if (!d->side && p != c->pairs)
			continue;
		if (d->rank >= 0)
			snprintf(rank, sizeof(rank), "rank %lld", (long long)d->rank);
		say(c, "%s%s%s: %s is damaged (incomplete trace): %s", p->labels[d->side],
		    name[0] ? " " : "", name, rank,
		    d->left_out ? "skipped" : "times are lower bounds");
	}
}

/* ---- pairs */

static int make_tables(struct tw_pair *p, struct trawl_error *err)
{
	struct tw_compared_side sides[2];
	size_t i;

	for (i = 0; i < 2; i++) {
		const struct tw_side *s = p->sides[i];

		sides[i] = (struct tw_compared_side){ s->label, tw_side_what(s), s->name,
						      s->reports,
						      s->rank_list.len ? s->rank_list.ptr : "" };
	}
	if (tw_compare_tables(&p->changes, sides, p->tables, err))
		return err->status;
	tw_compare_answer(&p->changes, p->labels, &p->answer);
	for (i = 0; i < p->answer.count; i++)
		if (p->answer.lines[i].failed)
			return tw_no_memory(err);
	tw_compare_uneven(&p->changes, p->labels, &p->uneven);
	return p->uneven.failed ? tw_no_memory(err) : 0;
}

static int compare_pair(const struct trawl_comparison *c, struct tw_pair *p,
			struct trawl_error *err)
{
	const struct tw_side *first = c->sides;
	int status;

	if (tw_samples_init(&p->samples, c->allocator))
		return tw_no_memory(err);
	tw_samples_append(&p->samples, &c->times[0], 0);
	tw_samples_append(&p->samples, &c->times[p->sides[1] - first], 1);
	status = tw_samples_align(&p->samples, err);
	if (!status)
		status = tw_samples_finish(&p->samples, err);
	if (!status)
		status = tw_changes_make(&p->changes, &p->samples, err);
	if (status)
		return status;
	tell_damaged(c, p);
	status = check_common(c, p, err);
	if (status)
		return status;
	tell_one_sided(c, p);
	return make_tables(p, err);
}

static void release_pair(struct tw_pair *p)
{
	size_t i;

	tw_str_release(&p->uneven);
	tw_answer_release(&p->answer);
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		trawl_table_free(p->tables[i]);
	tw_changes_release(&p->changes);
	tw_samples_release(&p->samples);
}

/* Each side against the first.  One of several that has nothing in common with it is left out. */
static int compare_pairs(struct trawl_comparison *c, struct trawl_error *err)
{
	size_t i;
	int status = 0;

	for (i = 1; i < c->side_count; i++) {
		struct tw_pair *p = &c->pairs[c->pair_count];

		*p = (struct tw_pair){ .sides = { &c->sides[0], &c->sides[i] },
				       .labels = { c->labels[0], c->labels[i] } };
		tw_str_init(&p->uneven, c->allocator);
		status = compare_pair(c, p, err);
		if (!status) {
			c->pair_count++;
			continue;
		}
		release_pair(p);
		if (status != TRAWL_ENODATA || c->side_count == 2)
			return status;
		say(c, "skipped: %s", err->message);
		c->incomplete = true;
	}
	return c->pair_count ? 0 : status;
}

/* The first are always there: readers by program find them by place too. */
static int list_tables(struct trawl_comparison *c, struct trawl_error *err)
{
	size_t i;
	int status = 0;

	for (i = 0; i < TW_COMPARE_TABLES && !status; i++) {
		const struct trawl_table *table = c->pairs[0].tables[i];

		if (c->side_count > 2)
			table = c->stacked[i] = tw_stack_tables(c->pairs, c->pair_count,
								(enum tw_compare_table)i, &status);
		if (table)
			c->tables[c->table_count++] = table;
		if (i != TW_FINDING_CHANGES || status)
			continue;
		c->findings = tw_stack_findings(c->times, c->labels, c->side_count, &status);
		if (c->findings)
			c->tables[c->table_count++] = c->findings;
	}
	return status ? tw_no_memory(err) : 0;
}

static int run(struct trawl_comparison *c, const char *const *paths, struct trawl_error *err)
{
	int status = open_sides(c, paths, err);
	size_t i;

	for (i = 0; i < c->side_count && !status; i++)
		status = read_side(c, i, err);
	if (!status)
		status = compare_pairs(c, err);
	return status ? status : list_tables(c, err);
}

int trawl_compare(struct trawl_comparison **out, const char *const *paths, size_t count,
		  const struct trawl_compare_options *given, struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_compare_options *o;
	struct trawl_comparison *c;
	int status;

	*out = NULL;
	if (count < 2 || count > TRAWL_COMPARE_MOST_SIDES)
		return trawl_error_set(err, TRAWL_EUSAGE, "expected 2 to %d sides, got %zu",
				       TRAWL_COMPARE_MOST_SIDES, count);
	c = tw_alloc_array(a, 1, sizeof(*c));
	if (!c)
		return tw_no_memory(err);
	o = &c->options;
	trawl_compare_options_init(o);
	if (given)
		*o = *given;
	trawl_report_options_init(&c->report);
	if (!o->report)
		o->report = &c->report;
	c->allocator = a;
	c->side_count = count;
	c->reading = (struct tw_side_options){
		.load = { .threads = o->threads,
			  .max_memory = o->max_memory,
			  .block_size = o->block_size,
			  .report = o->report,
			  .progress = o->progress,
			  .progress_context = o->progress_context },
		.filter = o->filter,
		.strict = o->strict,
		.quiet = o->quiet,
		.full_stacks = o->full_stacks,
		.for_workbook = o->workbook,
	};
	status = run(c, paths, err);
	if (status)
		trawl_comparison_free(c);
	else
		*out = c;
	return status;
}

void trawl_comparison_free(struct trawl_comparison *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->pair_count; i++)
		release_pair(&c->pairs[i]);
	trawl_table_free(c->findings);
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		trawl_table_free(c->stacked[i]);
	for (i = 0; i < c->opened; i++) {
		tw_side_release(&c->sides[i]);
		tw_samples_release(&c->times[i]);
	}
	tw_free(c->allocator, c, sizeof(*c));
}

/* ---- what it comes to */

bool trawl_comparison_is_whole(const struct trawl_comparison *c)
{
	bool whole = !c->incomplete;
	size_t i;

	for (i = 0; i < c->pair_count; i++)
		whole &= c->pairs[i].changes.common > 0;
	return whole;
}

const char *trawl_comparison_label(const struct trawl_comparison *c, size_t side)
{
	return c->labels[side];
}

size_t trawl_comparison_lines(const struct trawl_comparison *c)
{
	size_t n = 0, i;

	for (i = 0; i < c->pair_count; i++)
		n += c->pairs[i].answer.count;
	return n;
}

const char *trawl_comparison_line(const struct trawl_comparison *c, size_t index)
{
	const struct tw_pair *p = c->pairs;

	for (; index >= p->answer.count; p++)
		index -= p->answer.count;
	return p->answer.lines[index].len ? p->answer.lines[index].ptr : "";
}

size_t trawl_comparison_tables(const struct trawl_comparison *c)
{
	return c->table_count;
}

const struct trawl_table *trawl_comparison_table(const struct trawl_comparison *c, size_t index)
{
	return c->tables[index];
}

const struct trawl_table *trawl_comparison_find(const struct trawl_comparison *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->table_count; i++)
		if (!strcmp(trawl_table_name(c->tables[i]), name))
			return c->tables[i];
	return NULL;
}

const char *trawl_comparison_uneven(const struct trawl_comparison *c)
{
	size_t i;

	for (i = 0; i < c->pair_count; i++)
		if (c->pairs[i].uneven.len)
			return c->pairs[i].uneven.ptr;
	return NULL;
}

/* Of several sides lines say which one it is. */
struct gate {
	const struct trawl_comparison *c;
	const struct tw_pair *pair;
	void (*note)(void *context, const char *line);
	void *context;
};

static void tell_gate(void *context, const char *line)
{
	const struct gate *g = context;
	struct tw_str named;

	if (!g->note)
		return;
	tw_str_init(&named, g->c->allocator);
	if (g->c->side_count > 2)
		tw_str_addf(&named, "%s: ", g->pair->labels[1]);
	tw_str_add_cstr(&named, line);
	g->note(g->context, named.failed ? line : named.ptr);
	tw_str_release(&named);
}

size_t trawl_comparison_gate(const struct trawl_comparison *c, double percent,
			     void (*note)(void *context, const char *line), void *note_context,
			     bool *total)
{
	struct gate g = { c, NULL, note, note_context };
	bool all = true;
	size_t n = 0, i;

	for (i = 0; i < c->pair_count; i++) {
		g.pair = &c->pairs[i];
		if (g.pair->uneven.len)
			continue;
		all &= tw_changes_part(&g.pair->changes, "total_time") != NULL;
		n += tw_compare_gate(&g.pair->changes, percent, tell_gate, &g);
	}
	if (total)
		*total = all;
	return n;
}

/* ---- the workbook */

struct workbook {
	const struct trawl_table
		*list[TW_COMPARE_TABLES + 1 + TW_COMPARE_MOST_TABLES + TW_SINGLE_TABLES];
	size_t count;
	struct trawl_table *sheets[TW_COMPARE_MOST_TABLES];
	size_t sheet_count;
	struct trawl_table *single[TW_SINGLE_TABLES];
};

/* Each line of a text. */
static void say_lines(const struct trawl_comparison *c, const struct tw_str *lines)
{
	const char *p = lines->len ? lines->ptr : "";

	for (; *p; p += strcspn(p, "\n"), p += *p == '\n')
		say(c, "%.*s", (int)strcspn(p, "\n"), p);
}

/* Of those that are a report each, the baseline among them, all in one. */
static int add_report_tables(const struct trawl_comparison *c, struct workbook *w,
			     struct trawl_error *err)
{
	struct tw_compared sides[TRAWL_COMPARE_MOST_SIDES];
	struct tw_str told;
	size_t count = 0, i;
	int status;

	for (i = 0; i < c->side_count; i++)
		if (c->sides[i].book)
			sides[count++] = (struct tw_compared){ c->labels[i], c->sides[i].book };
	if (!c->sides[0].book || count < 2)
		return 0;
	tw_str_init(&told, c->allocator);
	status = tw_compare_reports(sides, count, c->options.sheets, w->sheets, &w->sheet_count,
				    &told, c->allocator, err);
	if (!status && !c->options.quiet)
		say_lines(c, &told);
	tw_str_release(&told);
	for (i = 0; i < w->sheet_count && !status; i++)
		w->list[w->count++] = w->sheets[i];
	return status;
}

static const struct trawl_table *table_of(struct tw_book *book, const struct tw_ranks_table *which)
{
	const struct trawl_table *table = NULL;

	return book && !tw_book_table(book, &which->table, &table, NULL) ? table : NULL;
}

/* Two runs of one configuration, each of several ranks. */
static int add_single_tables(const struct trawl_comparison *c, struct workbook *w,
			     struct trawl_error *err)
{
	struct tw_single_side sides[2];
	size_t i;
	int status;

	if (c->pairs[0].samples.config_count != 1 || c->sides[0].rank_count < 2 ||
	    c->sides[1].rank_count < 2)
		return 0;
	for (i = 0; i < 2; i++)
		sides[i] = (struct tw_single_side){
			c->labels[i],
			table_of(c->sides[i].collectives,
				 &tw_ranks_table_nccl_summary_implicit_sync),
			table_of(c->sides[i].collectives, &tw_ranks_table_nccl_summary_long),
		};
	status = tw_single_tables(&c->pairs[0].changes, sides, w->single, err);
	for (i = 0; i < TW_SINGLE_TABLES && !status; i++)
		if (w->single[i])
			w->list[w->count++] = w->single[i];
	return status;
}

int trawl_comparison_write_xlsx(const struct trawl_comparison *c, const char *path, size_t *tables,
				struct trawl_error *err)
{
	struct workbook *w = tw_alloc_array(c->allocator, 1, sizeof(*w));
	int status = 0;
	size_t i;

	if (!w)
		return tw_no_memory(err);
	for (i = 0; i < c->table_count; i++)
		if (trawl_table_rows(c->tables[i]))
			w->list[w->count++] = c->tables[i];
	if (c->side_count == 2)
		status = add_single_tables(c, w, err);
	if (!status)
		status = add_report_tables(c, w, err);
	if (!status && !w->count)
		status = trawl_error_set(err, TRAWL_ENODATA, "no tables for the workbook");
	if (!status)
		status = tw_render_xlsx(w->list, w->count, path, c->allocator, err);
	if (!status && tables)
		*tables = w->count;
	for (i = 0; i < TW_COMPARE_MOST_TABLES; i++)
		trawl_table_free(w->sheets[i]);
	for (i = 0; i < TW_SINGLE_TABLES; i++)
		trawl_table_free(w->single[i]);
	tw_free(c->allocator, w, sizeof(*w));
	return status;
}
