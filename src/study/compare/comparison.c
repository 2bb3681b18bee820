#include "study/compare/comparison.h"

#include "base/alloc.h"
#include "render/render.h"
#include "study/compare/per_rank.h"
#include "study/compare/report_tables.h"

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
		c->sides[i].label = i < 2 ? c->options.labels[i] : NULL;
	}
	if (tw_sides_label(c->sides, c->side_count, err))
		return err->status;
	for (i = 0; i < c->side_count; i++)
		c->labels[i] = c->sides[i].label;
	return 0;
}

static int read_side(struct trawl_comparison *c, size_t i, uint32_t which, struct trawl_error *err)
{
	struct tw_side *side = &c->sides[i];
	int status = tw_side_read(side, &c->samples, which, err);

	tw_str_tell(&side->notes, c->options.note, c->options.note_context);
	c->incomplete |= side->incomplete;
	if (!status && side->notes.failed)
		status = tw_no_memory(err);
	return status;
}

static const char *what_of(enum tw_compared_kind kind)
{
	static const char *const words[TW_COMPARED_KINDS] = {
		[TW_TIMELINE_PART] = "timeline",
		[TW_OPERATION] = "operations",
		[TW_KERNEL] = "kernels",
		[TW_COLLECTIVE_SYNC] = "collectives over ranks",
		[TW_COLLECTIVE_RANK] = "collectives on each rank",
	};

	return words[kind];
}

/* What only one side tells of cannot be compared, and is not new. */
static void tell_one_sided(const struct trawl_comparison *c)
{
	const size_t *a = c->sides[0].having, *b = c->sides[1].having;
	/* One of the two tables of collectives is enough. */
	bool by_rank = a[TW_COLLECTIVE_RANK] && b[TW_COLLECTIVE_RANK];
	bool by_sync = a[TW_COLLECTIVE_SYNC] && b[TW_COLLECTIVE_SYNC];
	size_t k;

	for (k = 0; k < TW_COMPARED_KINDS && !c->options.quiet; k++) {
		if (!a[k] == !b[k] || (k == TW_COLLECTIVE_SYNC && by_rank) ||
		    (k == TW_COLLECTIVE_RANK && by_sync))
			continue;
		say(c, "%s has no %s: %s not compared", c->labels[a[k] ? 1 : 0],
		    tw_compared_tables[k]->name, what_of((enum tw_compared_kind)k));
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
static int check_common(const struct trawl_comparison *c, struct trawl_error *err)
{
	bool first = own_configs(&c->samples, 0), second = own_configs(&c->samples, 1);
	size_t i;

	for (i = 0; i < TW_COMPARED_KINDS; i++)
		if (c->changes.all[i].count)
			return 0;
	if (!first || !second)
		return trawl_error_set(err, TRAWL_ENODATA, "nothing to compare: no times in %s",
				       c->labels[first ? 1 : 0]);
	if (c->changes.common)
		return trawl_error_set(err, TRAWL_ENODATA,
				       "nothing to compare: %s and %s have no table in common",
				       c->labels[0], c->labels[1]);
	if (c->sides[0].kind == c->sides[1].kind && !c->options.in_common)
		return 0;
	return trawl_error_set(
		err, TRAWL_ENODATA,
		"nothing to compare: %s and %s have no configuration in common (choose one of "
		"each with --threads and --channels)",
		c->labels[0], c->labels[1]);
}

/* Which ranks have lost a part of their traces, and whether their times count. */
static void tell_damaged(const struct trawl_comparison *c)
{
	const struct tw_samples *s = &c->samples;
	size_t i;

	for (i = 0; i < s->damaged_count; i++) {
		const struct tw_sample_damage *d = &s->damaged[i];
		const struct tw_sample_config *config = &s->configs[d->config];
		const char *name = d->side && config->test_name ? config->test_name : config->name;
		char rank[48] = "its trace";

		if (d->rank >= 0)
			snprintf(rank, sizeof(rank), "rank %lld", (long long)d->rank);
		say(c, "%s%s%s: %s is damaged (incomplete trace): %s", c->labels[d->side],
		    name[0] ? " " : "", name, rank,
		    d->left_out ? "skipped" : "times are lower bounds");
	}
}

static int make_tables(struct trawl_comparison *c, struct trawl_error *err)
{
	struct tw_compared_side sides[2];
	size_t i;

	for (i = 0; i < 2; i++) {
		const struct tw_side *s = &c->sides[i];

		sides[i] = (struct tw_compared_side){ s->label, tw_side_what(s), s->name,
						      s->reports,
						      s->rank_list.len ? s->rank_list.ptr : "" };
	}
	if (tw_compare_tables(&c->changes, sides, c->all, err))
		return err->status;
	/* The first seven are always there: readers by program find them by place too. */
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		if (c->all[i])
			c->tables[c->table_count++] = c->all[i];
	tw_compare_answer(&c->changes, c->labels, &c->answer);
	for (i = 0; i < c->answer.count; i++)
		if (c->answer.lines[i].failed)
			return tw_no_memory(err);
	tw_compare_uneven(&c->changes, c->labels, &c->uneven);
	return c->uneven.failed ? tw_no_memory(err) : 0;
}

static int compare_two(struct trawl_comparison *c, struct trawl_error *err)
{
	int status = read_side(c, 0, 0, err);

	if (!status)
		status = read_side(c, 1, 1, err);
	if (!status)
		status = tw_samples_finish(&c->samples, err);
	if (!status)
		status = tw_changes_make(&c->changes, &c->samples, err);
	if (status)
		return status;
	tell_damaged(c);
	status = check_common(c, err);
	if (status)
		return status;
	tell_one_sided(c);
	return make_tables(c, err);
}

/* More than two: a workbook of their reports. */
static int read_many(struct trawl_comparison *c, struct trawl_error *err)
{
	size_t damaged = 0, i;

	for (i = 0; i < c->side_count; i++) {
		if (read_side(c, i, 0, err))
			return err->status;
		if (c->samples.damaged_count > damaged)
			say(c, "%s: damaged, incomplete trace", c->labels[i]);
		damaged = c->samples.damaged_count;
		if (!c->sides[i].book)
			return trawl_error_set(err, TRAWL_ENODATA,
					       "%s is not a single report or trace: more than "
					       "two sides must be single reports or traces",
					       c->labels[i]);
	}
	return 0;
}

static int run(struct trawl_comparison *c, const char *const *paths, struct trawl_error *err)
{
	int status = tw_samples_init(&c->samples, c->allocator) ? tw_no_memory(err) :
								  open_sides(c, paths, err);

	if (status)
		return status;
	return c->side_count > 2 ? read_many(c, err) : compare_two(c, err);
}

int trawl_compare(struct trawl_comparison **out, const char *const *paths, size_t count,
		  const struct trawl_compare_options *given, struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct trawl_compare_options *o;
	struct trawl_comparison *c;
	int status;

	*out = NULL;
	if (count < 2 || count > TW_COMPARE_MOST_SIDES)
		return trawl_error_set(err, TRAWL_EUSAGE, "expected 2 to %d sides, got %zu",
				       TW_COMPARE_MOST_SIDES, count);
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
	tw_str_init(&c->uneven, a);
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
	tw_str_release(&c->uneven);
	tw_answer_release(&c->answer);
	for (i = 0; i < TW_COMPARE_TABLES; i++)
		trawl_table_free(c->all[i]);
	tw_changes_release(&c->changes);
	for (i = 0; i < c->opened; i++)
		tw_side_release(&c->sides[i]);
	tw_samples_release(&c->samples);
	tw_free(c->allocator, c, sizeof(*c));
}

/* ---- what it comes to */

bool trawl_comparison_is_whole(const struct trawl_comparison *c)
{
	return !c->incomplete && (c->side_count > 2 || c->changes.common);
}

const char *trawl_comparison_label(const struct trawl_comparison *c, size_t side)
{
	return c->labels[side];
}

size_t trawl_comparison_lines(const struct trawl_comparison *c)
{
	return c->answer.count;
}

const char *trawl_comparison_line(const struct trawl_comparison *c, size_t index)
{
	return c->answer.lines[index].len ? c->answer.lines[index].ptr : "";
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
	return c->uneven.len ? c->uneven.ptr : NULL;
}

static void tell_nobody(void *context, const char *line)
{
	(void)context;
	(void)line;
}

size_t trawl_comparison_gate(const struct trawl_comparison *c, double percent,
			     void (*note)(void *context, const char *line), void *note_context,
			     bool *total)
{
	if (total)
		*total = tw_changes_part(&c->changes, "total_time") != NULL;
	return tw_compare_gate(&c->changes, percent, note ? note : tell_nobody, note_context);
}

/* ---- the workbook */

struct workbook {
	const struct trawl_table
		*list[TW_COMPARE_TABLES + TW_COMPARE_MOST_TABLES + TW_SINGLE_TABLES];
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

static int add_report_tables(const struct trawl_comparison *c, struct workbook *w,
			     struct trawl_error *err)
{
	struct tw_compared sides[TW_COMPARE_MOST_SIDES];
	struct tw_str told;
	size_t i;
	int status;

	for (i = 0; i < c->side_count; i++) {
		if (!c->sides[i].book)
			return 0;
		sides[i] = (struct tw_compared){ c->labels[i], c->sides[i].book };
	}
	tw_str_init(&told, c->allocator);
	status = tw_compare_reports(sides, c->side_count, c->options.sheets, w->sheets,
				    &w->sheet_count, &told, c->allocator, err);
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

	if (c->samples.config_count != 1 || c->sides[0].rank_count < 2 ||
	    c->sides[1].rank_count < 2)
		return 0;
	for (i = 0; i < 2; i++)
		sides[i] = (struct tw_single_side){
			c->labels[i],
			table_of(c->sides[i].collectives,
				 &tw_ranks_table_nccl_summary_implicit_sync),
			table_of(c->sides[i].collectives, &tw_ranks_table_nccl_summary_long),
		};
	status = tw_single_tables(&c->changes, sides, w->single, err);
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
