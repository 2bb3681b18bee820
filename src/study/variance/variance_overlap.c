/*
 * Step 3: what communication of the same rank ran during the longest call of a row, from the first
 * start of its kernels to their last end.  Time in which several collectives run counts once.
 */
#include "study/variance/variance.h"

#include "base/alloc.h"
#include "base/intervals.h"
#include "base/list.h"
#include "study/sweep/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT, NAMES, MOST, MOST_NAME, TOTAL, TOTAL_PERCENT, SPAN, OWN };
static const char *const own_headers[OWN] = {
	[COUNT] = "overlapping_collective_count",
	[NAMES] = "overlapping_collective_names",
	[MOST] = "max_overlap_percentage",
	[MOST_NAME] = "max_overlap_collective",
	[TOTAL] = "total_overlap_duration_ms",
	[TOTAL_PERCENT] = "total_overlap_percentage",
	[SPAN] = "max_call_span_us",
};

#define NS_DIGITS_OF_US 3
#define NS_DIGITS_OF_MS 6

struct step {
	const struct tw_csv *in;
	struct tw_sheet out;
	const struct trawl_allocator *allocator;
	struct tw_sweep_collective *found; /* of the present row, in order of start */
	size_t count, capacity;
	size_t without_times, without_collectives;
	bool failed;
};

static bool decimal_at(const struct tw_csv *in, size_t row, const char *header, unsigned scale,
		       int64_t *value)
{
	return tw_decimal_of(tw_csv_text(in, row, tw_csv_column(in, header)), scale, value);
}

/*
 * The longest call; of files that do not tell it, its kernel.  A time of 0 is one, an empty cell is
 * none.
 */
static bool find_span(const struct tw_csv *in, size_t row, struct tw_interval *span)
{
	const char *found = "max_duration_found_us";
	int64_t duration;

	if (decimal_at(in, row, "max_call_start_us", NS_DIGITS_OF_US, &span->start_ns) &&
	    decimal_at(in, row, "max_call_end_us", NS_DIGITS_OF_US, &span->end_ns))
		return true;
	if (tw_csv_column(in, found) == TW_CSV_NO_COLUMN)
		found = "kernel_time_max_us";
	return decimal_at(in, row, "max_duration_timestamp_ms", NS_DIGITS_OF_MS, &span->start_ns) &&
	       decimal_at(in, row, found, NS_DIGITS_OF_US, &duration) &&
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
	size_t own = s->out.own, i;
	const char *most_name = "";
	struct tw_str names;

	tw_str_init(&names, s->allocator);
	for (i = 0; i < s->count; i++) {
		const struct tw_sweep_collective *c = &s->found[i];
		int64_t ns = overlap(c, span);
		int64_t start = c->start_ns > span->start_ns ? c->start_ns : span->start_ns;

		tw_union_add(&together, start, start + ns);
		if (i)
			tw_str_add_char(&names, ';');
		tw_str_add_cstr(&names, c->name);
		if (ns > most) {
			most = ns;
			most_name = c->name;
		}
	}
	tw_sheet_decimal(&s->out, row, own + COUNT, (int64_t)s->count, 0);
	if (names.len)
		tw_sheet_copy(&s->out, row, own + NAMES, names.ptr, names.len);
	tw_sheet_real(&s->out, row, own + MOST, percent(most, length));
	tw_sheet_copy(&s->out, row, own + MOST_NAME, most_name, strlen(most_name));
	tw_sheet_fixed(&s->out, row, own + TOTAL, together.length_ns, NS_DIGITS_OF_MS,
		       NS_DIGITS_OF_MS);
	tw_sheet_real(&s->out, row, own + TOTAL_PERCENT, percent(together.length_ns, length));
	s->failed |= names.failed;
	tw_str_release(&names);
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
	tw_sheet_decimal(&s->out, row, s->out.own + SPAN, length, NS_DIGITS_OF_US);
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
		tw_str_addf(told, "%zu of %zu rows have no times, so nothing is known to overlap\n",
			    s->without_times, s->in->rows);
	if (s->without_collectives)
		tw_str_addf(told,
			    "%zu of %zu rows: neither a trace nor a report tells the collectives\n",
			    s->without_collectives, s->in->rows);
}

int tw_variance_overlap(const struct tw_csv *in, tw_collectives_fn *collectives, void *context,
			struct tw_arena *arena, struct tw_csv *out, struct tw_str *told,
			struct trawl_error *err)
{
	static const char *const needed[] = { "threads", "channel", "rank",
					      "max_duration_timestamp_ms" };
	struct step s = { .in = in, .allocator = arena->allocator };
	int status = tw_sheet_needs(in, needed, sizeof(needed) / sizeof(needed[0]), err);
	size_t i;

	*out = (struct tw_csv){ 0 };
	if (status)
		return status;
	tw_sheet_extend(&s.out, out, arena, in, own_headers, OWN);
	for (i = 0; i < in->rows && !s.failed && !s.out.failed; i++)
		fill_row(&s, i, collectives, context);
	tw_free(s.allocator, s.found, s.capacity * sizeof(*s.found));
	s.out.failed |= s.failed;
	if (!s.out.failed)
		tell(&s, told);
	return tw_sheet_end(&s.out, err);
}
