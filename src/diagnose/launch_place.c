/* The part of a run in which the GPU waits for launches: modules in which nearly all such gaps are, and when. */
#include "diagnose/kinds.h"

#include "base/alloc.h"
#include "data/limits.h"
#include "text/str.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

enum { MOST_PLACES = 3 };

struct search {
	struct tw_look *look;
	const struct tw_launch_gaps *gaps;
	int64_t *ns;	 /* by module: of gaps, with all below it */
	bool *is_inside; /* by module */
	int64_t all_ns, window_ns, begin_ns;
	uint32_t steps; /* of the window */
};

/* Modules that are called in one place, in order of their first calls. */
struct place {
	uint32_t modules[MOST_PLACES], count;
	int64_t ns;
	int64_t from_ns,
		taken_ns; /* the first gap begins; from the first to the last one, of all steps */
	uint32_t spans;	  /* steps with such gaps */
};

static void add_up(struct search *s)
{
	const struct tw_attributions *who = s->look->who;
	uint32_t i;
	size_t k;

	for (k = 0; k < s->gaps->list.count; k++) {
		const struct tw_launch_gap *gap = &s->gaps->list.at[k];

		s->ns[gap->module] += gap->to_ns - gap->from_ns;
		s->all_ns += gap->to_ns - gap->from_ns;
	}
	for (i = who->module_count; i-- > 1;)
		s->ns[who->module[i].parent] += s->ns[i];
}

/* Of the time that is looked at: GPU work, with what is idle before it. */
static void measure(struct search *s)
{
	const struct tw_look *look = s->look;
	const struct tw_path_point *points = look->part->points;
	const struct tw_path_rank *r = &look->part->rank;
	int64_t end_ns = INT64_MIN;
	uint32_t g;

	s->steps = r->piece ? r->chosen_steps : r->step_count;
	for (g = look->edge.before; g < r->gpu_count - look->edge.after; g++) {
		int64_t own_ns = points[2 * g + 1].time_ns;
		int64_t from_ns = end_ns == INT64_MIN ? points[2 * g].time_ns : end_ns;

		if (tw_is_gpu_viewed(look, g)) {
			s->begin_ns = s->window_ns ? s->begin_ns : from_ns;
			s->window_ns += own_ns > from_ns ? own_ns - from_ns : 0;
		}
		end_ns = own_ns > end_ns ? own_ns : end_ns;
	}
}

/* Of what is called in a module, those with the most, until they have nearly all; false: they have not. */
static bool choose(const struct search *s, uint32_t around, struct place *place)
{
	const struct tw_attributions *who = s->look->who;
	uint32_t i, k;

	*place = (struct place){ 0 };
	while (place->count < MOST_PLACES &&
	       (double)place->ns * 100 < TW_LIMIT_LAUNCH_PLACE_PERCENT * (double)s->all_ns) {
		uint32_t best = 0;

		for (i = 1; i < who->module_count; i++) {
			for (k = 0; k < place->count && place->modules[k] != i; k++)
				;
			if (who->module[i].parent == around && k == place->count &&
			    (!best || s->ns[i] > s->ns[best]))
				best = i;
		}
		if (!best || !s->ns[best])
			break;
		for (k = place->count++; k && place->modules[k - 1] > best; k--)
			place->modules[k] = place->modules[k - 1];
		place->modules[k] = best;
		place->ns += s->ns[best];
	}
	return place->count &&
	       (double)place->ns * 100 >= TW_LIMIT_LAUNCH_PLACE_PERCENT * (double)s->all_ns;
}

/* When its gaps are: gaps are in order. */
static void find_time(struct search *s, struct place *place)
{
	const struct tw_attributions *who = s->look->who;
	const struct tw_launch_gap *first = NULL, *last = NULL;
	uint32_t i, k;
	size_t n;

	for (i = 1; i < who->module_count; i++) {
		s->is_inside[i] = s->is_inside[who->module[i].parent];
		for (k = 0; k < place->count; k++)
			s->is_inside[i] |= place->modules[k] == i;
	}
	for (n = 0; n < s->gaps->list.count; n++) {
		const struct tw_launch_gap *gap = &s->gaps->list.at[n];

		if (!s->is_inside[gap->module])
			continue;
		if (!first)
			place->from_ns = gap->from_ns - s->begin_ns;
		if (!first || first->step != gap->step) {
			place->taken_ns += first ? last->to_ns - first->from_ns : 0;
			place->spans++;
			first = gap;
		}
		last = gap;
	}
	place->taken_ns += first ? last->to_ns - first->from_ns : 0;
}

static void claim(struct search *s, const struct place *place)
{
	const double ms = 1e-6 / (s->steps ? s->steps : 1);
	struct tw_spot spot = { .step = -1, .spread = true };
	struct tw_str names;
	char note[400], when[120], shown[201];
	uint32_t k;

	tw_str_init(&names, s->look->scratch);
	for (k = 0; k < place->count; k++) {
		size_t len;
		const char *name = tw_module_name(s->look->who, place->modules[k], &len);

		tw_str_add_cstr(&names, k ? ", " : "");
		tw_str_add(&names, name, len);
	}
	if (place->spans > 1 && s->steps > 1)
		snprintf(when, sizeof(when), "%.3f ms of a step's %.3f ms",
			 (double)place->taken_ns * ms, (double)s->window_ns * ms);
	else
		snprintf(when, sizeof(when), "%.3f to %.3f ms of %.3f ms",
			 (double)place->from_ns / 1e6,
			 (double)(place->from_ns + place->taken_ns) / 1e6,
			 (double)s->window_ns / 1e6);
	s->look->failed |= names.failed;
	if (names.failed)
		return;
	tw_cut_into(shown, sizeof(shown), names.ptr, names.len);
	snprintf(note, sizeof(note), "%.0f %% of that in %s: %s",
		 100 * (double)place->ns / (double)s->all_ns, shown, when);
	spot.module = tw_claim_text(s->look, names.ptr, names.len);
	spot.note = tw_claim_text(s->look, note, strlen(note));
	spot.event = s->look->d->host.event[s->look->d->gpu.launch[s->gaps->list.at[0].gpu]];
	tw_claim_place(s->look, TW_KIND_launch_bound, &spot, place->ns);
	tw_str_release(&names);
}

/* The outermost modules that are part of the time alone. */
void tw_claim_launch_place(struct tw_look *look, const struct tw_launch_gaps *gaps)
{
	size_t modules = (size_t)look->who->module_count + 1;
	struct search s = { .look = look, .gaps = gaps };
	struct place place, found = { 0 };
	uint32_t around = 0;

	if (!look->who->modules || !gaps->list.count || look->failed)
		return;
	s.ns = tw_alloc_array(look->scratch, modules, sizeof(*s.ns));
	s.is_inside = tw_alloc_array(look->scratch, modules, sizeof(*s.is_inside));
	look->failed |= !s.ns || !s.is_inside;
	if (look->failed)
		return;
	add_up(&s);
	measure(&s);
	while (choose(&s, around, &place)) {
		find_time(&s, &place);
		if ((double)place.taken_ns * 100 <=
		    TW_LIMIT_LAUNCH_PLACE_TIME_PERCENT * (double)s.window_ns)
			found = place;
		if (place.count > 1)
			break;
		around = place.modules[0];
	}
	if (found.count)
		claim(&s, &found);
}
