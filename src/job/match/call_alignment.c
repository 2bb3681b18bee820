/* Calls of a rank beside the known ones, each to the one that it is. */
#include "job/match/call_alignment.h"

#include "base/median.h"
#include "job/match/match_limits.h"

#include <string.h>

/* What laying calls beside each other is worth; only their order of size matters. */
enum worth {
	IMPOSSIBLE = -1000000,
	/* Where ends decide: leaving out costs nothing. */
	SAME_AND_ENDS = 16, /* and as much again the closer they are */
	SAME_ORDER = 4,	    /* of a kind that need not end together */
	SAME_NEAR = 4,	    /* more, when the end is nearer than that of any other */
	SAME_ENDS = 12,	    /* more, when it agrees */
	SAME_AWAY = 2,	    /* its end is off, yet nearer than any other */
	RELATED_AND_ENDS = 6,
	RELATED_NEAR = 1,
	OTHER_AND_ENDS = 1,
	/* Where they do not. */
	LIKE = 2,
	ALIKE = -1,
	UNLIKE = -2,
	LEFT_OUT = -1,
};

enum step { STEP_PAIR, STEP_OTHER, STEP_KNOWN };

struct band {
	struct tw_alignment *a;
	bool ends, clean;
	bool loose; /* many ends are off: that one is says little */
	int64_t noise;
	int64_t width;
	int64_t *low;	/* by call of other: the first column of its row, -1: before all known */
	uint8_t *steps; /* rows of `width` */
	int64_t *row, *before;
};

/* Half of what the nearest end in the same side is away: a closer one is its own. */
static int64_t own_reach(const struct tw_align_side *side, uint32_t i)
{
	int64_t near = INT64_MAX, apart;

	if (i) {
		apart = tw_match_apart(side->calls[i].end, side->calls[i - 1].end);
		near = apart < near ? apart : near;
	}
	if (i + 1 < side->count) {
		apart = tw_match_apart(side->calls[i].end, side->calls[i + 1].end);
		near = apart < near ? apart : near;
	}
	return near / 2;
}

static int64_t apart_of(const struct band *b, uint32_t known, uint32_t other)
{
	const struct tw_alignment *a = b->a;

	return tw_match_apart(tw_match_minus(a->other->calls[other].end, a->local[other]),
			      a->known->calls[known].end);
}

static bool is_near(const struct band *b, uint32_t known, uint32_t other)
{
	int64_t of_known = own_reach(b->a->known, known), of_other = own_reach(b->a->other, other);
	int64_t limit = of_known < of_other ? of_known : of_other;

	/* Calls that are as many and alike are more likely off than two others that are missing. */
	int64_t most =
		(int64_t)TW_MATCH_END_NOISE_NS * (b->clean ? TW_MATCH_OFF_IN_PLACE : TW_MATCH_OFF);

	if (b->loose)
		limit = limit < INT64_MAX / 4 ? limit * 4 : limit;
	else if (b->a->work->natures[b->a->known->calls[known].signature].strict && limit > most)
		limit = most;
	return apart_of(b, known, other) <= (limit > b->noise ? limit : b->noise);
}

static int64_t worth_by_ends(const struct band *b, uint32_t known, uint32_t other)
{
	bool counts = tw_align_counts(b->a, known, other);
	int64_t apart = apart_of(b, known, other);
	bool agree = apart <= b->noise;

	switch (tw_align_likeness(b->a, known, other)) {
	case TW_MATCH_SAME:
		if (!counts)
			return SAME_ORDER + (agree		      ? SAME_ENDS :
					     is_near(b, known, other) ? SAME_NEAR :
									0);
		if (agree)
			return SAME_AND_ENDS + SAME_AND_ENDS * (b->noise - apart) / b->noise;
		return is_near(b, known, other) ? SAME_AWAY : IMPOSSIBLE;
	case TW_MATCH_RELATED:
		if (counts && agree)
			return RELATED_AND_ENDS;
		return is_near(b, known, other) ? RELATED_NEAR : IMPOSSIBLE;
	default:
		/* Numbers that differ are never one, whatever their ends. */
		if (b->a->known->calls[known].sequence != b->a->other->calls[other].sequence)
			return IMPOSSIBLE;
		return counts && agree ? OTHER_AND_ENDS : IMPOSSIBLE;
	}
}

static int64_t worth_by_order(const struct band *b, uint32_t known, uint32_t other)
{
	if (b->a->known->calls[known].sequence != b->a->other->calls[other].sequence)
		return IMPOSSIBLE;
	switch (tw_align_likeness(b->a, known, other)) {
	case TW_MATCH_SAME:
		return LIKE;
	case TW_MATCH_RELATED:
		return ALIKE;
	default:
		return UNLIKE;
	}
}

/* Best worth with all calls before row `other` and the known ones up to `column`. */
static int64_t best_before(const struct band *b, int64_t other, int64_t column)
{
	int64_t left_out = b->ends && !b->loose ? 0 : LEFT_OUT, last;

	if (other < 0)
		return left_out * (column + 1);
	if (column < b->low[other])
		return INT64_MIN / 2;
	last = b->low[other] + b->width - 1;
	return column > last ? b->before[b->width - 1] + left_out * (column - last) :
			       b->before[column - b->low[other]];
}

static void fill_row(struct band *b, uint32_t other)
{
	int64_t left_out = b->ends && !b->loose ? 0 : LEFT_OUT, n = b->a->known->count, k;
	uint8_t *steps = b->steps + (size_t)other * (size_t)b->width;

	for (k = 0; k < b->width; k++) {
		int64_t column = b->low[other] + k;
		int64_t best = best_before(b, (int64_t)other - 1, column) + left_out, pair;

		steps[k] = STEP_OTHER;
		if (column >= n) {
			b->row[k] = INT64_MIN / 2;
			continue;
		}
		if (column >= 0) {
			pair = best_before(b, (int64_t)other - 1, column - 1) +
			       (b->ends ? worth_by_ends(b, (uint32_t)column, other) :
					  worth_by_order(b, (uint32_t)column, other));
			if (pair >= best) {
				best = pair;
				steps[k] = STEP_PAIR;
			}
		}
		if (k && b->row[k - 1] + left_out > best) {
			best = b->row[k - 1] + left_out;
			steps[k] = STEP_KNOWN;
		}
		b->row[k] = best;
	}
}

/* Where the best of a row is, counting what is then left of the known. */
static int64_t best_of(const struct band *b, uint32_t other, const int64_t *row)
{
	int64_t n = b->a->known->count, best = 0, k;
	int64_t left_out = b->ends && !b->loose ? 0 : LEFT_OUT;

	for (k = 1; k < b->width && b->low[other] + k < n; k++) {
		if (row[k] > row[best] + left_out * (k - best))
			best = k;
	}
	return b->low[other] + best;
}

/* Keeps the row within the known calls and not before the last one. */
static void place_row(struct band *b, uint32_t other, int64_t center)
{
	int64_t n = b->a->known->count, low = center - b->width / 2;

	if (low > n - b->width)
		low = n - b->width;
	if (other && low < b->low[other - 1])
		low = b->low[other - 1];
	b->low[other] = low < -1 ? -1 : low;
}

/* Where a call's partner is by what agreed before it and after it. */
static void place_rows_by_ends(struct band *b)
{
	const struct tw_alignment *a = b->a;
	uint32_t m = a->other->count, i, next = 0;
	int64_t before = -1, since = 0;

	for (i = 0; i < m; i++) {
		int64_t forward = before + ++since, backward;

		if (next < i)
			next = i;
		while (next < m && a->found[next] == TRAWL_ALIGN_NONE)
			next++;
		if (next < m) {
			backward = (int64_t)a->found[next] - (int64_t)(next - i);
			if (next == i || forward >= (int64_t)a->known->count || before < 0 ||
			    (backward > 0 && apart_of(b, (uint32_t)backward, i) <
						     apart_of(b, (uint32_t)forward, i)))
				forward = backward;
		}
		if (next == i) {
			before = a->found[i];
			since = 0;
		}
		place_row(b, i, forward);
	}
}

static void read_back(struct band *b, int64_t column)
{
	int64_t other = (int64_t)b->a->other->count - 1, last;

	while (other >= 0) {
		last = b->low[other] + b->width - 1;
		column = column > last ? last : column;
		switch (b->steps[(size_t)other * (size_t)b->width +
				 (size_t)(column - b->low[other])]) {
		case STEP_PAIR:
			b->a->to[other--] = (uint32_t)column--;
			break;
		case STEP_OTHER:
			b->a->to[other--] = TRAWL_ALIGN_NONE;
			break;
		default:
			column--;
		}
	}
}

static void lay_rows(struct band *b)
{
	uint32_t m = b->a->other->count, i;
	int64_t *row, center = b->width / 2 - 1;

	if (b->ends)
		place_rows_by_ends(b);
	for (i = 0; i < m; i++) {
		if (!b->ends)
			place_row(b, i, center);
		fill_row(b, i);
		center = best_of(b, i, b->row) + 1;
		row = b->row;
		b->row = b->before;
		b->before = row;
	}
	read_back(b, best_of(b, m - 1, b->before));
}

/*
 * Where calls are as many and alike and many ends are off, few that seem out of place are in it.
 */
static void stay_in_place(struct tw_alignment *a)
{
	uint32_t m = a->other->count, moved = 0, i;

	for (i = 0; i < m; i++)
		moved += a->to[i] != i;
	for (i = 0; i < m && moved <= m / TW_MATCH_MOVED; i++)
		a->to[i] = i;
}

/* How far the end of a call is from those of the calls before and after it that are like it. */
static int64_t reach_of_like(const struct tw_align_side *side, uint32_t call)
{
	int64_t reach = INT64_MAX, apart;
	uint32_t i;

	for (i = call; i-- > 0;) {
		if (side->calls[i].signature != side->calls[call].signature)
			continue;
		reach = tw_match_apart(side->calls[i].end, side->calls[call].end);
		break;
	}
	for (i = call + 1; i < side->count; i++) {
		if (side->calls[i].signature != side->calls[call].signature)
			continue;
		apart = tw_match_apart(side->calls[i].end, side->calls[call].end);
		return apart < reach ? apart : reach;
	}
	return reach;
}

/* Whether a call is far nearer to the one in its place than to another that is like it. */
static bool is_in_place(const struct band *b, uint32_t i)
{
	int64_t known = reach_of_like(b->a->known, i), other = reach_of_like(b->a->other, i);

	int64_t near = (known < other ? known : other) / 4, most = 4 * TW_MATCH_END_NOISE_NS;

	return apart_of(b, i, i) < (near < most ? near : most);
}

/*
 * Where calls are as many and alike and ends scatter, two that are left over in the same place on
 * both sides are one whose ends are off, rather than two that the other rank lacks.
 */
static void fill_gaps(const struct band *b)
{
	struct tw_alignment *a = b->a;
	uint32_t m = a->other->count, next = m, i;
	int64_t before = -1;

	for (i = 0; i < m; i++) {
		if (a->to[i] != TRAWL_ALIGN_NONE) {
			before = a->to[i];
			continue;
		}
		if (next <= i || next == m)
			for (next = i; next < m && a->to[next] == TRAWL_ALIGN_NONE; next++)
				;
		if (before < i && (next == m || a->to[next] > i) && is_in_place(b, i)) {
			a->to[i] = i;
			before = i;
		}
	}
}

/* Ends of a pair that decide, or that need not agree where both neighbours do. */
static void be_sure(struct band *b)
{
	struct tw_alignment *a = b->a;
	uint32_t m = a->other->count, i;

	for (i = 0; i < m; i++) {
		uint32_t known = a->to[i];

		if (known == TRAWL_ALIGN_NONE) {
			a->sure[i] = b->ends;
			continue;
		}
		a->sure[i] = b->ends && (apart_of(b, known, i) <= TW_MATCH_END_NOISE_NS ||
					 (!tw_align_counts(a, known, i) && is_near(b, known, i)));
	}
}

static int lay_band(struct band *b)
{
	struct tw_arena *arena = b->a->arena;
	uint32_t m = b->a->other->count;
	size_t width = (size_t)b->width;

	b->row = tw_arena_array(arena, width, sizeof(*b->row));
	b->before = tw_arena_array(arena, width, sizeof(*b->before));
	b->low = tw_arena_array(arena, m, sizeof(*b->low));
	b->steps = tw_arena_alloc(arena, m * width); /* every step is written before it is read */
	if (arena->failed)
		return TRAWL_ENOMEM;
	lay_rows(b);
	if (b->clean && b->loose)
		stay_in_place(b->a);
	if (b->clean)
		fill_gaps(b);
	be_sure(b);
	return 0;
}

/* Median of the offsets where ends agree: what the clock is ahead in the middle of it all. */
static void tell_offset(struct tw_alignment *a)
{
	uint32_t i;
	size_t count = 0;

	for (i = 0; i < a->other->count; i++) {
		if (a->to[i] != TRAWL_ALIGN_NONE && a->sure[i] && tw_align_counts(a, a->to[i], i))
			a->scratch[count++] = tw_match_minus(a->other->calls[i].end,
							     a->known->calls[a->to[i]].end);
	}
	a->agree = (uint32_t)count;
	if (count)
		a->offset = tw_nth_value(a->scratch, count, count / 2);
}

int tw_align(struct tw_alignment *a)
{
	struct tw_align_fit fit = { 0 };
	struct band b = { .a = a };
	uint32_t i, m = a->other->count;
	int status;

	a->to = tw_arena_array(a->arena, m, sizeof(*a->to));
	a->sure = tw_arena_array(a->arena, m, sizeof(*a->sure));
	a->local = tw_arena_array(a->arena, m, sizeof(*a->local));
	a->found = tw_arena_array(a->arena, m, sizeof(*a->found));
	a->scratch = tw_arena_array(a->arena, m, sizeof(*a->scratch));
	if (a->arena->failed)
		return TRAWL_ENOMEM;
	a->ends = tw_align_fit(a, &fit);
	b.clean = tw_align_is_clean(a);
	if (!a->ends && b.clean) {
		for (i = 0; i < m; i++) {
			a->to[i] = i;
			a->sure[i] = false;
		}
		return 0;
	}
	if (!a->ends)
		memset(a->local, 0, m * sizeof(*a->local));
	/* Where kinds that need not end together do, their ends count as those of others. */
	if (a->all && (!a->ends || fit.agree * (uint64_t)5 < fit.of * (uint64_t)4))
		a->all = false;
	b.ends = a->ends;
	b.loose = b.ends && fit.agree * (uint64_t)5 < fit.of * (uint64_t)4;
	b.noise = fit.median * TW_MATCH_NOISE_WIDTH;
	b.noise = b.noise < TW_MATCH_LEAST_NOISE_NS ? TW_MATCH_LEAST_NOISE_NS : b.noise;
	b.noise = b.noise > TW_MATCH_END_NOISE_NS ? TW_MATCH_END_NOISE_NS : b.noise;
	b.width = 2 * (b.ends ? TW_MATCH_NEAR : TW_MATCH_FAR) + 2;
	status = lay_band(&b);
	if (!status && a->ends)
		tell_offset(a);
	return status;
}
