/*
 * Step 3: what communication of the same rank ran during the longest call of a row, from the first
 * start of its kernels to their last end.  Time in which several collectives run counts once.
 */
#include "study/variance/variance.h"

#include "base/alloc.h"
#include "base/intervals.h"
#include "base/list.h"
#include "study/variance/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OWN (TW_VARIANCE_COLUMNS - TW_VARIANCE_COUNT)

struct step {
	const struct trawl_table *in;
	struct trawl_table *out;
	size_t own; /* its column of the step's first */
	struct tw_str text;
	const struct trawl_allocator *allocator;
	struct tw_sweep_collective *found; /* of the present row, in order of start */
	size_t count, capacity;
	size_t without_times, without_collectives;
	bool failed;
};

static bool ns_at(const struct trawl_table *in, size_t row, enum tw_variance_column column,
		  int64_t *ns)
{
	/* Times in ms are texts. */
	return tw_table_decimal(in, row, tw_variance_at(in, column),
				*tw_variance_columns[column].unit == 'm' ? 6 : 3, ns);
}

/*
 * The longest call; of files that do not tell it, its kernel.  A time of 0 is one, an empty cell is
 * none.
 */
static bool find_span(const struct trawl_table *in, size_t row, struct tw_interval *span)
{
	enum tw_variance_column found = TW_VARIANCE_MAX_FOUND;
	int64_t duration;

	if (ns_at(in, row, TW_VARIANCE_MAX_START, &span->start_ns) &&
	    ns_at(in, row, TW_VARIANCE_MAX_END, &span->end_ns))
		return true;
	if (tw_variance_at(in, found) == trawl_table_columns(in))
		found = TW_VARIANCE_MAX;
	return ns_at(in, row, TW_VARIANCE_MAX_TS, &span->start_ns) &&
	       ns_at(in, row, found, &duration) &&
	       !__builtin_add_overflow(span->start_ns, duration, &span->end_ns);
}

static int compare(const void *a, const void *b)
{
	const struct tw_sweep_collective *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int64_t overlap(const struct tw_sweep_collective *c, const struct tw_interval *span)
{
	int64_t start = c->start_ns > span->start_ns ? c->start_ns : span->start_ns;
	int64_t end = c->end_ns < span->end_ns ? c->end_ns : span->end_ns, length;

	/* Their difference can only overflow where there is a span of centuries. */
	return end > start && !__builtin_sub_overflow(end, start, &length) ? length : 0;
}

/* Those that run in the span, in order of start; what only touches it does not. */
static void gather(struct step *s, const struct tw_sweep_collectives *all,
		   const struct tw_interval *span)
{
	size_t i;

	s->count = 0;
	for (i = 0; i < all->count && !s->failed; i++) {
		if (!overlap(&all->items[i], span))
			continue;
		s->failed = !tw_list_grow(&s->found, &s->capacity, s->count, sizeof(*s->found),
					  s->allocator);
		if (!s->failed)
			s->found[s->count++] = all->items[i];
	}
	if (s->count)
		qsort(s->found, s->count, sizeof(*s->found), compare);
}

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : (double)NAN;
}

static void set_overlap(struct step *s, size_t row, const struct tw_interval *span)
{
	int64_t length = span->end_ns - span->start_ns, most = 0;
	struct tw_union together = TW_UNION_INIT;
	size_t own = s->own - TW_VARIANCE_COUNT, i;
	const char *most_name = "";

	tw_str_clear(&s->text);
	for (i = 0; i < s->count; i++) {
		const struct tw_sweep_collective *c = &s->found[i];
		int64_t ns = overlap(c, span);
		int64_t start = c->start_ns > span->start_ns ? c->start_ns : span->start_ns;

		tw_union_add(&together, start, start + ns);
		if (i)
			tw_str_add_char(&s->text, ';');
		tw_str_add_cstr(&s->text, c->name);
		if (ns > most) {
			most = ns;
			most_name = c->name;
		}
	}
	tw_table_set_integer(s->out, row, own + TW_VARIANCE_COUNT, (int64_t)s->count);
	if (s->text.len)
		tw_table_set_text(s->out, row, own + TW_VARIANCE_NAMES, s->text.ptr, s->text.len);
	tw_table_set_real(s->out, row, own + TW_VARIANCE_MOST, percent(most, length));
	tw_table_set_str(s->out, row, own + TW_VARIANCE_MOST_NAME, most_name);
	tw_table_set_fixed(s->out, row, own + TW_VARIANCE_TOTAL, together.length_ns, 6, &s->text);
	tw_table_set_real(s->out, row, own + TW_VARIANCE_TOTAL_PERCENT,
			  percent(together.length_ns, length));
}

static void fill_row(struct step *s, size_t row, tw_collectives_fn *collectives, void *context)
{
	struct tw_sweep_collectives all = { 0 };
	int64_t threads, channels, rank, length;
	struct tw_interval span;
	bool known = false;

	if (!find_span(s->in, row, &span) ||
	    __builtin_sub_overflow(span.end_ns, span.start_ns, &length) || length < 0) {
		s->without_times++;
		return;
	}
	tw_table_set_integer(s->out, row, s->own + TW_VARIANCE_SPAN - TW_VARIANCE_COUNT, length);
	if (tw_variance_point(s->in, row, &threads, &channels, &rank))
		all = collectives(context, threads, channels, rank, &known);
	if (!known) {
		s->without_collectives++;
		return;
	}
	gather(s, &all, &span);
	set_overlap(s, row, &span);
}

static void tell(const struct step *s, struct tw_str *told)
{
	if (s->without_times)
		tw_str_addf(told, "%zu of %zu rows have no times: overlap unknown\n",
			    s->without_times, trawl_table_rows(s->in));
	if (s->without_collectives)
		tw_str_addf(told, "%zu of %zu rows: no collectives in trace or report\n",
			    s->without_collectives, trawl_table_rows(s->in));
}

int tw_variance_overlap(const struct trawl_table *in, tw_collectives_fn *collectives, void *context,
			const struct trawl_allocator *allocator, struct trawl_table **out,
			struct tw_str *told, struct trawl_error *err)
{
	static const enum tw_variance_column needed[] = { TW_VARIANCE_THREADS, TW_VARIANCE_CHANNEL,
							  TW_VARIANCE_RANK, TW_VARIANCE_MAX_TS };
	struct step s = { .in = in, .allocator = allocator };
	size_t i;

	*out = NULL;
	if (tw_table_needs(in, needed, sizeof(needed) / sizeof(needed[0]), err))
		return err->status;
	tw_str_init(&s.text, allocator);
	s.out = tw_table_extended(in, tw_variance_columns + TW_VARIANCE_COUNT, OWN, &s.own,
				  allocator);
	for (i = 0; s.out && i < trawl_table_rows(in) && !s.failed; i++)
		fill_row(&s, i, collectives, context);
	tw_free(allocator, s.found, s.capacity * sizeof(*s.found));
	if (s.failed || s.text.failed) {
		trawl_table_free(s.out);
		s.out = NULL;
	}
	tw_str_release(&s.text);
	*out = tw_table_finished(s.out);
	if (*out)
		tell(&s, told);
	return *out ? 0 : tw_no_memory(err);
}
