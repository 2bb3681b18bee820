/* The part of a recording that a report looks at: which points are in it. */
#include "diagnose/pieces.h"

#include "base/alloc.h"
#include "base/search.h"
#include "derive/derived.h"
#include "derive/view_names.h"

int tw_pieces_recording(struct tw_derived **own, const struct tw_derived *d)
{
	struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT, .autograd = true };
	struct trawl_error err;
	char buffer[24];
	size_t len;

	if (!d->view.limited)
		return 0;
	if (d->view.device != TW_CODE_NONE)
		options.view.device = tw_code_text(d->trace, d->view.device, buffer, &len);
	return tw_derive(own, d->trace, &options, &err) ? TRAWL_ENOMEM : 0;
}

/* Occurrences of a range are a piece each; steps that follow each other are one. */
struct choice {
	const struct tw_derived *view;
	const struct tw_view *host;
	struct tw_path_rank *rank;
};

static bool is_in_view(const struct tw_view *view, int64_t time_ns)
{
	int64_t end_ns = time_ns;

	return tw_view_clip(view, &time_ns, &end_ns);
}

/* The piece at a time: by launch of the host. */
static uint32_t piece_at(const struct choice *c, int64_t time_ns)
{
	const struct tw_steps *steps = &c->view->steps;
	size_t n;

	if (c->rank->piece_count < 2)
		return 0;
	if (steps->by_launch)
		n = TW_LOWER_BOUND(at, 0, steps->count, steps->items[at].start_ns <= time_ns);
	else
		n = TW_LOWER_BOUND(at, 0, c->view->view.windows.count,
				   c->view->view.windows.items[at].start_ns <= time_ns);
	return n ? (uint32_t)n - 1 : 0;
}

/* Profiler steps that are looked at; they are in order of start. */
static uint32_t count_steps(const struct tw_derived *view)
{
	int64_t step, last = -1;
	uint32_t n = 0;
	uint64_t i;

	for (i = 0; i < view->steps.count; i++) {
		step = tw_step_of(view->trace, view->steps.items[i].event);
		n += step >= 0 && step != last;
		last = step;
	}
	return n;
}

static void choose_gpu(const struct choice *c, const struct tw_path_part *part,
		       const struct tw_derived *whole)
{
	const struct tw_gpu *all = &whole->gpu, *in = &c->view->gpu;
	const struct tw_path_rank *r = c->rank;
	uint64_t g, k = 0;

	/* Both are in the order of the recording; the view's are some of them. */
	for (g = 0; g < all->count; g++) {
		int64_t time_ns = part->points[2 * g].time_ns;

		if (k == in->count || in->event[k] != all->event[g])
			continue;
		k++;
		if (c->view->steps.by_launch && r->launch[g] != TW_NO_POINT)
			time_ns = part->points[r->launch[g]].time_ns;
		r->piece[2 * g] = r->piece[2 * g + 1] = piece_at(c, time_ns);
	}
}

int tw_pieces_choose(struct tw_path_part *part, const struct tw_derived *whole,
		     const struct tw_derived *view)
{
	struct tw_path_rank *r = &part->rank;
	struct choice c = { .view = view, .host = tw_host_view(view), .rank = r };
	const struct tw_intervals *windows = &view->view.windows;
	uint32_t i;

	if (!view->view.limited)
		return 0;
	r->piece = tw_alloc_array(part->allocator, (size_t)r->count + 1, sizeof(*r->piece));
	if (!r->piece)
		return TRAWL_ENOMEM;
	r->chosen_steps = count_steps(view);
	r->by_time = !view->steps.by_launch;
	r->piece_count = r->chosen_steps    ? 1 :
			 !view->steps.count ? 1 :
			 r->by_time	    ? (uint32_t)windows->count :
					      (uint32_t)view->steps.count;
	/* More than points cannot be told apart. */
	if (r->piece_count > r->count || !r->piece_count)
		r->piece_count = 1;
	r->from_ns = -INT64_MAX;
	r->to_ns = INT64_MAX;
	if (r->by_time && r->piece_count == 1 && windows->count) {
		r->from_ns = windows->items[0].start_ns;
		r->to_ns = windows->items[windows->count - 1].end_ns;
	}
	for (i = 0; i < r->count; i++)
		r->piece[i] = i >= 2 * r->gpu_count && is_in_view(c.host, part->points[i].time_ns) ?
				      piece_at(&c, part->points[i].time_ns) :
				      TW_NO_POINT;
	choose_gpu(&c, part, whole);
	return 0;
}
