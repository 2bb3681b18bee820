/* What a rank's clock is ahead, from the ends of its calls. */
#include "base/median.h"
#include "base/search.h"
#include "base/sort.h"
#include "job/match/call_alignment.h"

#include "job/match/match_limits.h"

enum tw_match_likeness tw_align_likeness(const struct tw_alignment *a, uint32_t known,
					 uint32_t other)
{
	if (a->known->calls[known].sequence != a->other->calls[other].sequence)
		return TW_MATCH_OTHER;
	return tw_match_likeness(a->work, a->known->calls[known].signature,
				 a->other->calls[other].signature);
}

static bool end_counts(const struct tw_alignment *a, uint32_t signature)
{
	return a->all || a->work->natures[signature].may;
}

bool tw_align_counts(const struct tw_alignment *a, uint32_t known, uint32_t other)
{
	return end_counts(a, a->known->calls[known].signature) &&
	       end_counts(a, a->other->calls[other].signature);
}

bool tw_align_is_clean(const struct tw_alignment *a)
{
	uint32_t i;

	for (i = 0; i < a->known->count && a->known->count == a->other->count; i++) {
		if (tw_align_likeness(a, i, i) != TW_MATCH_SAME)
			return false;
	}
	return a->known->count == a->other->count;
}

static int64_t end_of(const struct tw_align_side *side, int64_t place)
{
	return side->calls[side->by_end[place]].end;
}

/* The first place in order of end whose end is `time` or later. */
static int64_t place_of(const struct tw_align_side *side, int64_t time)
{
	return TW_LOWER_BOUND(at, 0, side->count, end_of(side, at) < time);
}

/* The nearest like call of the known that ends within noise of `time`, from `*place` on. */
static uint32_t nearest(const struct tw_alignment *a, int64_t *place, int way, int64_t time,
			uint32_t other)
{
	int64_t n = a->known->count, best = TW_MATCH_END_NOISE_NS + 1, q, used = -1;
	unsigned steps = 0;

	while (*place >= 0 && *place < n &&
	       (way > 0 ? tw_match_minus(time, end_of(a->known, *place)) :
			  tw_match_minus(end_of(a->known, *place), time)) > TW_MATCH_END_NOISE_NS)
		*place += way;
	for (q = *place; q >= 0 && q < n && steps < TW_MATCH_FAR; q += way, steps++) {
		uint32_t known = a->known->by_end[q];
		int64_t apart = tw_match_apart(a->known->calls[known].end, time);

		if (apart > TW_MATCH_END_NOISE_NS)
			break;
		if (apart < best && tw_align_likeness(a, known, other) == TW_MATCH_SAME) {
			best = apart;
			used = q;
		}
	}
	if (used < 0)
		return TRAWL_ALIGN_NONE;
	*place = used + way;
	return a->known->by_end[used];
}

/*
 * Lays calls beside each other in one direction of time from where the offset is known; it
 * follows the clocks as they drift.
 */
static void walk_calls(struct tw_alignment *a, struct tw_align_fit *fit, int64_t from, int way)
{
	const struct tw_align_side *other = a->other;
	int64_t offset = fit->offset, place, p;

	if (from < 0 || from >= other->count)
		return;
	place = way > 0 ? place_of(a->known,
				   tw_match_minus(tw_match_minus(end_of(other, from), offset),
						  TW_MATCH_END_NOISE_NS)) :
			  place_of(a->known,
				   tw_match_plus(tw_match_minus(end_of(other, from), offset),
						 TW_MATCH_END_NOISE_NS + 1)) -
				  1;
	for (p = from; p >= 0 && p < other->count; p += way) {
		uint32_t call = other->by_end[p];
		int64_t time = tw_match_minus(other->calls[call].end, offset), ahead;
		uint32_t known = nearest(a, &place, way, time, call);

		a->found[call] = known;
		a->local[call] = offset;
		if (known == TRAWL_ALIGN_NONE || !tw_align_counts(a, known, call))
			continue;
		ahead = tw_match_minus(time, a->known->calls[known].end);
		fit->score += TW_MATCH_END_NOISE_NS - tw_match_apart(ahead, 0);
		a->scratch[fit->agree++] = tw_match_apart(ahead, 0);
		/* A mean over about eight calls: noise is out, drift is in. */
		offset = tw_match_plus(offset, ahead / 8);
	}
}

/* Calls whose ends count and lie from `first` to `last`. */
static uint32_t within(const struct tw_alignment *a, const struct tw_align_side *side,
		       int64_t first, int64_t last)
{
	uint32_t count = 0, i;

	for (i = 0; i < side->count; i++)
		count += end_counts(a, side->calls[i].signature) && side->calls[i].end >= first &&
			 side->calls[i].end <= last;
	return count;
}

/* How well an offset fits over all calls: found[] and local[] are as it has them. */
static void judge_offset(struct tw_alignment *a, struct tw_align_fit *fit)
{
	const struct tw_align_side *known = a->known, *other = a->other;
	int64_t at = place_of(other, other->calls[fit->at].end), noise = TW_MATCH_END_NOISE_NS;
	int64_t first = end_of(other, 0), last = end_of(other, other->count - 1);
	uint32_t of_known, of_other;

	fit->agree = 0;
	fit->score = 0;
	walk_calls(a, fit, at, 1);
	walk_calls(a, fit, at - 1, -1);
	fit->median = fit->agree ? tw_nth_value(a->scratch, fit->agree, fit->agree / 2) : 0;
	of_known = within(a, known, tw_match_minus(tw_match_minus(first, fit->offset), noise),
			  tw_match_plus(tw_match_minus(last, fit->offset), noise));
	first = end_of(known, 0);
	last = end_of(known, known->count - 1);
	of_other = within(a, other, tw_match_minus(tw_match_plus(first, fit->offset), noise),
			  tw_match_plus(tw_match_plus(last, fit->offset), noise));
	fit->of = of_known < of_other ? of_known : of_other;
	if (fit->free && fit->agree) {
		fit->agree--;
		fit->of -= fit->of > 0;
		fit->score -= TW_MATCH_END_NOISE_NS;
	}
}

static bool holds(const struct tw_align_fit *fit)
{
	return fit->agree && fit->agree * (uint64_t)2 >= fit->of;
}

/* The offset if each call were the one in its place, from the middle of the calls. */
static bool fit_in_place(struct tw_alignment *a, struct tw_align_fit *fit)
{
	uint32_t n = a->other->count, half = TW_MATCH_STRETCH / 2, i;
	uint32_t from = n / 2 > half ? n / 2 - half : 0,
		 to = from + 2 * half < n ? from + 2 * half : n;
	int64_t samples[TW_MATCH_STRETCH];
	size_t count = 0;

	for (i = from; i < to && i < a->known->count; i++) {
		if (tw_align_counts(a, i, i) && tw_align_likeness(a, i, i) == TW_MATCH_SAME)
			samples[count++] =
				tw_match_minus(a->other->calls[i].end, a->known->calls[i].end);
	}
	if (!count)
		return false;
	*fit = (struct tw_align_fit){
		.offset = tw_nth_value(samples, count, count / 2),
		.at = from + (to - from) / 2,
		.free = true,
	};
	judge_offset(a, fit);
	return true;
}

/* The best of the offsets that a stretch of calls would have at other places. */
struct place {
	int64_t offset;
	uint32_t at, agree;
	uint64_t distance; /* from where it stands */
};

struct places {
	struct place list[TW_MATCH_OFFSETS];
	unsigned count;
};

static void keep_place(struct places *places, const struct place *place)
{
	unsigned i = places->count;

	while (i && (places->list[i - 1].agree < place->agree ||
		     (places->list[i - 1].agree == place->agree &&
		      places->list[i - 1].distance > place->distance)))
		i--;
	if (i == TW_MATCH_OFFSETS)
		return;
	if (places->count < TW_MATCH_OFFSETS)
		places->count++;
	for (unsigned j = places->count - 1; j > i; j--)
		places->list[j] = places->list[j - 1];
	places->list[i] = *place;
}

/* The stretch from call `from` on with its first call at `known`: what its ends agree on. */
static void try_place(const struct tw_alignment *a, struct places *places, uint32_t from,
		      uint32_t length, int64_t known, uint64_t distance)
{
	int64_t samples[TW_MATCH_SAMPLES];
	struct place place = { .at = from, .distance = distance };
	size_t count = 0, low = 0, high, s;
	unsigned in_range = 0, like = 0;

	for (s = 0; s < TW_MATCH_SAMPLES && s < length; s++) {
		uint32_t step = length > TW_MATCH_SAMPLES ?
					(uint32_t)(s * length / TW_MATCH_SAMPLES) :
					(uint32_t)s;
		int64_t i = known + step;

		if (i < 0 || i >= a->known->count)
			continue;
		in_range++;
		if (tw_align_likeness(a, (uint32_t)i, from + step) != TW_MATCH_SAME)
			continue;
		like++;
		if (tw_align_counts(a, (uint32_t)i, from + step))
			samples[count++] = tw_match_minus(a->other->calls[from + step].end,
							  a->known->calls[i].end);
	}
	/* What is missing in the stretch moves half of it at the most. */
	if (!count || like * 3 < in_range)
		return;
	tw_sort_numbers(samples, count);
	for (high = 0; high < count; high++) {
		while (tw_match_minus(samples[high], samples[low]) > TW_MATCH_END_NOISE_NS)
			low++;
		if (high - low + 1 <= place.agree)
			continue;
		place.agree = (uint32_t)(high - low + 1);
		place.offset = samples[low + (high - low) / 2];
	}
	keep_place(places, &place);
}

/* Stretches at both ends and in the middle: where recordings overlap, one of them does. */
static void try_places(const struct tw_alignment *a, struct places *places)
{
	int64_t n = a->known->count, m = a->other->count, k, stretch;
	uint32_t length = m < TW_MATCH_STRETCH ? (uint32_t)m : TW_MATCH_STRETCH;

	for (stretch = 0; stretch < (m > length ? 3 : 1); stretch++) {
		int64_t from = (m - length) * stretch / 2;
		int64_t there = m > 1 ? from + (n - m) * from / m : 0;
		int64_t low = there - TW_MATCH_FARTHEST, high = there + TW_MATCH_FARTHEST;

		low = low < -(int64_t)length + 1 ? -(int64_t)length + 1 : low;
		high = high > n - 1 ? n - 1 : high;
		for (k = low; k <= high; k++)
			try_place(a, places, (uint32_t)from, length, k,
				  (uint64_t)(k < from ? from - k : k - from));
	}
}

/* Whether another offset is so much better that calls do not stand in their places. */
static bool is_convincing(const struct tw_alignment *a, const struct tw_align_fit *fit,
			  const struct tw_align_fit *in_place)
{
	uint32_t n = a->other->count;

	if (fit->agree < TW_MATCH_FEWEST_SAMPLES - 1 || fit->agree * (uint64_t)2 < n)
		return false;
	/* Steps that repeat fit at another place by chance where ends scatter: in part. */
	if (fit->agree * (uint64_t)4 < fit->of * (uint64_t)3)
		return false;
	if (!in_place->agree || fit->score >= 2 * in_place->score + TW_MATCH_END_NOISE_NS)
		return true;
	return n >= TW_MATCH_NEAR && fit->agree * (uint64_t)10 >= in_place->agree * (uint64_t)9 &&
	       fit->median * 3 <= in_place->median && in_place->median > TW_MATCH_LEAST_NOISE_NS;
}

static void take_better(struct tw_alignment *a, struct tw_align_fit *best, struct tw_align_fit *fit)
{
	judge_offset(a, fit);
	if (holds(fit) && (!holds(best) || fit->score > best->score))
		*best = *fit;
}

/* The offset of the best fit, that of places where calls are in theirs and nothing speaks up. */
static bool choose_offset(struct tw_alignment *a, struct tw_align_fit *best)
{
	bool clean = tw_align_is_clean(a);
	struct tw_align_fit in_place = { .free = true }, hint, fit;
	struct places places = { .count = 0 };
	unsigned i;

	if (a->hinted) {
		hint = (struct tw_align_fit){ .offset = a->hint, .at = a->other->count / 2 };
		judge_offset(a, &hint);
		*best = hint;
		if (holds(best))
			return true;
	}
	if (clean && fit_in_place(a, &in_place) && holds(&in_place) &&
	    in_place.median <= TW_MATCH_LEAST_NOISE_NS &&
	    in_place.agree * (uint64_t)10 >= in_place.of * (uint64_t)9) {
		*best = in_place;
		return true;
	}
	/* Clocks of one host, or of hosts that are well set. */
	*best = (struct tw_align_fit){ .at = a->other->count / 2 };
	judge_offset(a, best);
	try_places(a, &places);
	for (i = 0; i < places.count; i++) {
		fit = (struct tw_align_fit){
			.offset = places.list[i].offset,
			.at = places.list[i].at,
			.free = true,
		};
		take_better(a, best, &fit);
	}
	/* That of hosts whose clocks agree may be what calls in their places have, too. */
	if (clean && holds(best) && !is_convincing(a, best, &in_place) &&
	    tw_match_apart(best->offset, in_place.offset) > TW_MATCH_END_NOISE_NS)
		*best = in_place;
	/* Where ends of this lane tell little, what those of others told stands. */
	if (a->hinted && !(holds(best) && best->agree >= TW_MATCH_FEWEST_SAMPLES)) {
		*best = hint;
		return true;
	}
	return holds(best);
}

bool tw_align_fit(struct tw_alignment *a, struct tw_align_fit *best)
{
	uint32_t i, counting = 0;

	if (!a->known->count || !a->other->count)
		return false;
	a->all = false;
	for (i = 0; i < a->other->count; i++)
		counting += end_counts(a, a->other->calls[i].signature);
	a->natural = counting > 0;
	a->all = !counting;
	if (!choose_offset(a, best))
		return false;
	judge_offset(a, best); /* found[] and local[] are of the last that was looked at */
	return true;
}
