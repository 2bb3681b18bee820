#include "analysis/who/odd_step.h"

#include "base/alloc.h"
#include "base/median.h"
#include "data/limits.h"
#include "text/utf8.h"

#include <math.h>

/* The median absolute deviation of a normal distribution times this is its standard deviation. */
#define MAD_TO_DEVIATION 1.4826

#define MAX_NAME_BYTES 80
/* So many kernels are named. */
#define MOST_KERNELS 2

static const char *const names[TW_ODD_BYS] = { "busy", "wall" };

static int64_t value_of(const struct tw_spans_work *work, const struct tw_spans *spans,
			enum tw_odd_by by, uint32_t i)
{
	return by == TW_ODD_BY_BUSY ? work->items[i].launched.busy_ns :
				      spans->items[i].end_ns - spans->items[i].start_ns;
}

/* Steps that are compared: those in the view, by wall without the last of a process. */
static size_t list_compared(uint32_t *list, enum tw_odd_by by, const struct tw_when *when,
			    const struct tw_spans_work *work)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < when->steps.count; i++)
		if (tw_is_span_in_view(&work->items[i]) &&
		    (by != TW_ODD_BY_WALL || !when->steps.items[i].last))
			list[n++] = i;
	return n;
}

static int64_t distance(int64_t value, tw_wide twice_the_median)
{
	tw_wide apart = 2 * (tw_wide)value - twice_the_median;

	apart = apart < 0 ? -apart : apart;
	return tw_wide_fits(apart) ? (int64_t)apart : INT64_MAX;
}

int tw_odd_step_find(struct tw_odd_step *odd, enum tw_odd_by by, const struct tw_when *when,
		     const struct tw_spans_work *work, const struct trawl_allocator *a)
{
	size_t bytes = (when->steps.count + 1) * sizeof(int64_t), n = 0, i;
	uint32_t *list = tw_alloc(a, bytes);
	int64_t *values = tw_alloc(a, bytes), farthest = -1;
	double median, mad;
	tw_wide twice = 0;

	*odd = (struct tw_odd_step){ .span = TW_NONE };
	if (list && values)
		n = list_compared(list, by, when, work);
	for (i = 0; i < n; i++)
		values[i] = value_of(work, &when->steps, by, list[i]);
	if (n >= TW_LIMIT_ODD_STEP_LEAST)
		twice = tw_twice_the_median(values, n);
	median = (double)twice / 2;
	/* Distances are twice as long, so that they are whole. */
	for (i = 0; i < n; i++) {
		values[i] = distance(value_of(work, &when->steps, by, list[i]), twice);
		if (values[i] > farthest) {
			farthest = values[i];
			odd->span = list[i];
		}
	}
	mad = n >= TW_LIMIT_ODD_STEP_LEAST ? (double)tw_twice_the_median(values, n) / 2 : 0;
	if (n < TW_LIMIT_ODD_STEP_LEAST ||
	    (double)farthest <= TW_LIMIT_ODD_STEP_MADS * MAD_TO_DEVIATION * mad ||
	    (double)farthest * 50 <= median * TW_LIMIT_ODD_STEP_PERCENT)
		odd->span = TW_NONE;
	else
		odd->value_ns = value_of(work, &when->steps, by, odd->span);
	odd->median_ns = median;
	n = list && values;
	tw_free(a, list, bytes);
	tw_free(a, values, bytes);
	return n ? 0 : -1;
}

/* ---- what differs */

/* By kernel: what it takes in the odd step, and in all. */
struct kernel {
	int64_t odd_ns, all_ns;
	uint32_t odd_count, all_count;
};

struct difference {
	const struct tw_analysis_input *in;
	const struct tw_spans_work *work;
	struct tw_str *out;
	double least_ns; /* parts below it are not named */
	double others;	 /* steps */
	const char *joint;
};

static void add_part(struct difference *d)
{
	tw_str_add_cstr(d->out, d->joint);
	d->joint = ", ";
}

static void add_ms(struct difference *d, double ns)
{
	tw_str_add_cstr(d->out, ns > 0 ? "+" : "");
	tw_str_add_real_fixed(d->out, ns / 1e6, 3);
	tw_str_add_cstr(d->out, " ms");
}

static double more_of(const struct difference *d, const struct kernel *k)
{
	return (double)k->odd_ns - (double)(k->all_ns - k->odd_ns) / d->others;
}

static void add_kernel(struct difference *d, uint32_t text, const struct kernel *k)
{
	const struct tw_pool_entry *name = &d->in->trace->texts.entries[text];
	double count = (double)(k->all_count - k->odd_count) / d->others;
	char shown[MAX_NAME_BYTES];

	add_part(d);
	tw_cut_into(shown, sizeof(shown), name->ptr, name->len);
	tw_str_add_cstr(d->out, shown);
	tw_str_add_cstr(d->out, " ");
	add_ms(d, more_of(d, k));
	if ((double)k->odd_count != count) {
		tw_str_addf(d->out, " (%u times, else ", k->odd_count);
		tw_str_add_real_fixed(d->out, count, count == floor(count) ? 0 : 1);
		tw_str_add_cstr(d->out, ")");
	}
}

/* The kernels with the largest differences in the direction of the step's. */
static int add_kernels(struct difference *d, uint32_t span, bool longer)
{
	const struct tw_derived *derived = d->in->derived;
	const struct tw_when *when = d->in->when;
	size_t texts = derived->trace->texts.count;
	struct kernel *kernels = tw_alloc_array(d->in->allocator, texts, sizeof(*kernels));
	uint64_t g;
	int shown;

	for (g = 0; kernels && g < derived->gpu.count; g++) {
		struct kernel *k = &kernels[derived->trace->events.name[derived->gpu.event[g]]];
		int64_t ns = derived->gpu.end_ns[g] - derived->gpu.start_ns[g];

		if (when->step[g] == TW_NONE)
			continue;
		k->all_ns += ns;
		k->all_count++;
		k->odd_ns += when->step[g] == span ? ns : 0;
		k->odd_count += when->step[g] == span;
	}
	for (shown = 0; kernels && shown < MOST_KERNELS; shown++) {
		double most = d->least_ns;
		uint32_t text, best = 0;

		for (text = 1; text < texts; text++) {
			double more = more_of(d, &kernels[text]) * (longer ? 1 : -1);

			if (more >= most && kernels[text].all_count) {
				most = more;
				best = text;
			}
		}
		if (!best)
			break;
		add_kernel(d, best, &kernels[best]);
		kernels[best] = (struct kernel){ 0 };
	}
	tw_free(d->in->allocator, kernels, texts * sizeof(*kernels));
	return kernels ? 0 : -1;
}

struct mean {
	double launches, waiting_ns, exposed_ns, gap_ns;
};

static void add_work(struct mean *to, const struct tw_span_work *w, double weight)
{
	to->launches += weight * (double)w->launches;
	to->waiting_ns += weight * (double)w->waiting_ns;
	to->exposed_ns += weight * (double)w->launched.exposed_communication_ns;
	if (w->events)
		to->gap_ns += weight * (double)(w->last_ns - w->first_ns - w->launched.busy_ns);
}

static void add_time(struct difference *d, const char *what, double ns)
{
	if (fabs(ns) < d->least_ns)
		return;
	add_part(d);
	tw_str_add_cstr(d->out, what);
	add_ms(d, ns);
}

/* Launches, waits, communication, idle time: of the step, less the mean of the others. */
static void add_rest(struct difference *d, uint32_t span)
{
	const struct tw_when *when = d->in->when;
	struct mean more = { 0 };
	uint32_t i;

	for (i = 0; i < when->steps.count; i++)
		if (i != span && tw_is_span_in_view(&d->work->items[i]))
			add_work(&more, &d->work->items[i], -1 / d->others);
	add_work(&more, &d->work->items[span], 1);
	if (fabs(more.launches) > 0.5) {
		add_part(d);
		tw_str_add_real_fixed(d->out, fabs(more.launches), 0);
		tw_str_addf(d->out, " %s launch%s", more.launches > 0 ? "more" : "fewer",
			    fabs(more.launches) < 1.5 ? "" : "es");
	}
	add_time(d, "waits for the GPU ", more.waiting_ns);
	add_time(d, "exposed communication ", more.exposed_ns);
	add_time(d, "idle GPU ", more.gap_ns);
}

int tw_odd_step_describe(struct tw_str *out, const struct tw_odd_step *odd, enum tw_odd_by by,
			 const struct tw_analysis_input *in, const struct tw_spans_work *work)
{
	double more_ns = (double)odd->value_ns - odd->median_ns;
	struct difference d = {
		.in = in,
		.work = work,
		.out = out,
		.least_ns = fabs(more_ns) * TW_LIMIT_ODD_STEP_PART_PERCENT / 100,
		.joint = ": ",
	};
	uint32_t i;

	for (i = 0; i < in->when->steps.count; i++)
		d.others += i != odd->span && tw_is_span_in_view(&work->items[i]);
	tw_str_addf(out, "%s %s", names[by], more_ns > 0 ? "+" : "");
	if (odd->median_ns > 0) {
		tw_str_add_real_fixed(out, more_ns / odd->median_ns * 100, 1);
		tw_str_add_cstr(out, " %, ");
	}
	tw_str_add_real_fixed(out, (double)odd->value_ns / 1e6, 3);
	tw_str_add_cstr(out, " ms (median ");
	tw_str_add_real_fixed(out, odd->median_ns / 1e6, 3);
	tw_str_add_cstr(out, " ms)");
	if (add_kernels(&d, odd->span, more_ns > 0))
		return -1;
	add_rest(&d, odd->span);
	return 0;
}
