/* What rules say of a finding, and ask of the run: texts, places, sums, gains. */
#include "diagnose/kinds.h"
#include "diagnose/pieces.h"

#include "data/limits.h"

#include "base/alloc.h"
#include "base/median.h"
#include "base/search.h"
#include "path/critical.h"
#include "text/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- texts of a finding */

static void add_text(char *text, size_t size, const char *format, va_list args)
{
	size_t len = strlen(text);

	vsnprintf(text + len, size - len, format, args);
}

void tw_add_evidence(struct tw_finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_text(f->evidence, sizeof(f->evidence), format, args);
	va_end(args);
}

/* Whether it is one of the places, and how many there are. */
static bool has_place(const char *where, const char *place, unsigned *count)
{
	size_t len = strlen(place);
	const char *at = where, *end;

	for (*count = 0; *at; at = *end ? end + 2 : end) {
		end = strstr(at, "; ");
		end = end ? end : at + strlen(at);
		if ((size_t)(end - at) == len && !memcmp(at, place, len))
			return true;
		++*count;
	}
	return false;
}

/*
 * As people read it, and find it in the trace: without the type that a kernel returns, and without what is beyond the
 * last part that fits, of template arguments or of a list.
 */
static void shorten(char *out, size_t size, const char *text)
{
	static const char returns[] = "void ";
	size_t len, cut;

	if (!strncmp(text, returns, sizeof(returns) - 1))
		text += sizeof(returns) - 1;
	len = strlen(text);
	for (cut = len < size ? 0 : size - sizeof("..."); cut > size / 2; cut--)
		if (strchr(",<>( ", text[cut]))
			break;
	if (cut > size / 2)
		snprintf(out, size, "%.*s...", (int)cut, text);
	else
		tw_cut_into(out, size, text, len);
}

/* A place, unless three are there already; no place ends in it, and no character is cut. */
void tw_add_place(struct tw_finding *f, const char *format, ...)
{
	enum { MOST = 3, MOST_BYTES = 100 };
	char text[1000], place[MOST_BYTES + 1], *at;
	size_t len = strlen(f->where);
	unsigned count;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (at = text; (at = strchr(at, ';'));)
		*at = ',';
	shorten(place, sizeof(place), text);
	if (!*place || has_place(f->where, place, &count) || count >= MOST)
		return;
	snprintf(f->where + len, sizeof(f->where) - len, "%s%s", len ? "; " : "", place);
}

void tw_set_ranks(struct tw_finding *f, const struct tw_diagnosis *d, const uint32_t *ranks,
		  uint32_t count)
{
	uint32_t i;

	f->ranks[0] = '\0';
	f->first_rank = count ? ranks[0] : 0;
	for (i = 0; i < count; i++) {
		size_t len = strlen(f->ranks);

		snprintf(f->ranks + len, sizeof(f->ranks) - len, "%s%lld", len ? ", " : "",
			 (long long)d->path->ranks[ranks[i]].rank);
	}
}

static void copy_text(char *out, size_t size, const struct tw_pool *texts, uint32_t text)
{
	size_t len;
	const char *from = tw_pool_text(texts, text, &len);

	tw_cut_into(out, size, from, len);
}

void tw_add_spot(struct tw_finding *f, const struct tw_pool *texts, const struct tw_spot *s,
		 bool first)
{
	const uint32_t place[] = { s->note ? s->module : 0, s->operation, s->call, s->site };
	size_t i;

	if (s->step >= 0)
		tw_add_place(f, "step %lld", (long long)s->step);
	for (i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		if (place[i])
			tw_add_place(f, "%s", tw_pool_text(texts, place[i], NULL));
	if (!first)
		return;
	if (s->operation)
		copy_text(f->operation, sizeof(f->operation), texts, s->operation);
	if (s->site)
		copy_text(f->site, sizeof(f->site), texts, s->site);
	if (s->module)
		copy_text(f->module, sizeof(f->module), texts, s->module);
}

/* The places of a kind in a rank, the most telling first. */
void tw_places_of(struct tw_finding *f, const struct tw_diagnosis *d, uint32_t rank,
		  enum tw_finding_kind kind)
{
	const struct tw_claim *claim = &d->claims[rank].of[kind];
	size_t i;

	for (i = 0; i < claim->spots.count && i < 3; i++)
		tw_add_spot(f, &d->claims[rank].texts, &claim->spots.at[i], i == 0);
}

/* ---- sums that rules ask for */

int64_t tw_computing_ns(const struct tw_diagnosis *d, uint32_t rank)
{
	const struct tw_path_rank *r = &d->path->ranks[rank];
	int64_t sum = 0;
	uint32_t i;

	for (i = 0; i < r->launched_count; i++) {
		uint32_t g = r->launched[i];

		if (d->claims[rank].place[g] && tw_in_part(d->path, tw_gpu_start(r, g)))
			sum += d->path->points[tw_gpu_end(r, g)].time_ns -
			       d->path->points[tw_gpu_start(r, g)].time_ns;
	}
	return sum;
}

uint32_t tw_first_launched_after(const struct tw_path *path, const struct tw_path_rank *r,
				 int64_t time_ns)
{
	return (uint32_t)TW_LOWER_BOUND(at, 0, r->launched_count,
					path->points[r->launch[r->launched[at]]].time_ns <=
						time_ns);
}

/* The median delay of a code where it binds at GPU work, 1 us where it never does. */
int64_t tw_usual_delay(const struct tw_path *path, const struct tw_path_rank *r, enum tw_cause code)
{
	enum { SAMPLES = 4096 };
	int64_t all[SAMPLES];
	uint32_t g, stride = r->gpu_count / SAMPLES + 1;
	size_t n = 0;

	for (g = 0; g < r->gpu_count && n < SAMPLES; g += stride) {
		uint32_t start = tw_gpu_start(r, g), cause = tw_path_binding(path, start);

		if (cause != TW_NO_POINT && tw_path_code(path, cause) == code)
			all[n++] = tw_path_delay(path, start, cause);
	}
	return n ? tw_middle_of(all, n).lower : TW_LIMIT_UNSEEN_GAP_NS;
}

/* How many process groups a rank receives in. */
uint64_t tw_receives_from(const struct tw_diagnosis *d, uint32_t rank)
{
	const struct tw_claims *c = &d->claims[rank];
	uint32_t seen[16], n = 0, i, k;

	for (i = 0; i < c->collective_count; i++) {
		if (c->collectives[i].pair != 2)
			continue;
		for (k = 0; k < n && seen[k] != c->collectives[i].group; k++)
			;
		if (k == n && n < sizeof(seen) / sizeof(seen[0]))
			seen[n++] = c->collectives[i].group;
	}
	return n;
}

/* ---- places by weight */

/* What a label is called: of a call its operation, else its name. */
static uint32_t text_of(const struct tw_path_rank *r, uint32_t label, bool gpu)
{
	return gpu || !r->labels[label].operation ? r->labels[label].name :
						    r->labels[label].operation;
}

void tw_add_heaviest(struct tw_finding *f, const struct tw_diagnosis *d, uint32_t rank,
		     int64_t (*weight)(const struct tw_diagnosis *d, uint32_t point,
				       const struct tw_scenario *s),
		     const struct tw_scenario *s)
{
	enum { MOST = 3 };
	const struct tw_path_rank *r = &d->path->ranks[rank];
	size_t bytes = ((size_t)r->texts.count + 1) * sizeof(int64_t);
	int64_t *sums = tw_alloc_array(d->allocator, bytes, 1);
	uint32_t p, k, i, best;

	for (p = r->first; sums && p < r->first + r->count; p++) {
		int64_t ns = tw_in_part(d->path, p) ? weight(d, p, s) : 0;

		if (ns > 0)
			sums[text_of(r, d->path->points[p].label,
				     tw_is_gpu_point(&d->path->points[p]))] += ns;
	}
	for (k = 0; sums && k < MOST; k++) {
		for (i = best = 0; i < r->texts.count; i++)
			best = sums[i] > sums[best] ? i : best;
		if (sums[best] <= 0)
			break;
		tw_add_place(f, "%s", tw_pool_text(&r->texts, best, NULL));
		sums[best] = 0;
	}
	tw_free(d->allocator, sums, bytes);
}

/* ---- what ranks claimed */

bool tw_apply_claims(struct tw_diagnosis *d, struct tw_finding *f)
{
	uint32_t i, with = 0, best = 0, ranks[16];
	uint64_t count = 0, most = 0;

	for (i = 0; i < d->rank_count; i++) {
		struct tw_claim *claim = &d->claims[i].of[f->kind];
		uint64_t changed = tw_remedy_apply(&claim->remedy, &f->scenario, i);

		f->changed += changed;
		if (!changed || (tw_is_parted(d->path) && !claim->count))
			continue;
		if (with < 16)
			ranks[with] = i;
		with++;
		count += claim->count;
		if (changed > most) {
			most = changed;
			best = i;
		}
	}
	if (!with)
		return false;
	tw_places_of(f, d, best, f->kind);
	if (with < d->rank_count && with <= 16)
		tw_set_ranks(f, d, ranks, with);
	if (d->claims[best].of[f->kind].spots.count &&
	    d->claims[best].of[f->kind].spots.at[0].note) {
		tw_add_evidence(f, "%s",
				tw_pool_text(&d->claims[best].texts,
					     d->claims[best].of[f->kind].spots.at[0].note, NULL));
		return true;
	}
	tw_add_evidence(f, "%llu occurrences", (unsigned long long)count);
	if (d->claims[best].of[f->kind].spots.count) {
		const struct tw_spot *s = &d->claims[best].of[f->kind].spots.at[0];

		tw_add_evidence(
			f, "; %llu of them at the first place named, %.3f ms (event %llu first)",
			(unsigned long long)s->count, (double)s->ns / 1e6,
			(unsigned long long)s->event);
	}
	return true;
}

/* ---- gains */

static bool has_steps(const struct tw_diagnosis *d)
{
	return d->step_ns > 0;
}

int64_t tw_measured_ns(const struct tw_diagnosis *d, struct tw_times times)
{
	return tw_is_parted(d->path) ? tw_pieces_ns(d->path, times) : tw_window_ns(d->path, times);
}

/* Of a part made of steps a step is a share of it. */
static double step_of(const struct tw_diagnosis *d, struct tw_times times, int64_t window_ns)
{
	if (!tw_is_parted(d->path))
		return tw_step_ns(d->path, times);
	return d->gain_steps ? (double)window_ns / d->gain_steps : NAN;
}

static int measure(const struct tw_diagnosis *d, const struct tw_scenario *s,
		   const struct tw_replay *replay, unsigned lane,
		   const struct tw_path_window *after, struct tw_gain gains[2])
{
	const struct tw_times times = tw_replayed(replay, lane);
	int64_t length_ns = tw_window_length(after);
	int64_t left_ns = tw_is_parted(d->path) ? tw_pieces_ns(d->path, times) : length_ns;
	double window = (double)(d->window_ns - left_ns), step;

	if (left_ns < 0)
		return -1;
	step = step_of(d, times, left_ns);
	gains[1].ns = window / (d->gain_steps ? d->gain_steps : 1);
	gains[1].percent = d->window_ns ? 100 * window / (double)d->window_ns : 0;
	gains[1].inferred_percent =
		length_ns ? 100 * (double)tw_critical_inferred_ns(replay, lane, s, after) /
				    (double)length_ns :
			    0;
	gains[0] = gains[1];
	if (!has_steps(d) || isnan(step))
		return 0;
	gains[0].ns = d->step_ns - fmax(0, step);
	gains[0].percent = 100 * gains[0].ns / d->step_ns;
	return 0;
}

int tw_gains_of(struct tw_diagnosis *d, struct tw_scenario *s, unsigned count,
		struct tw_gain (*gains)[2], struct tw_finding **found)
{
	struct tw_path_window windows[TW_LANES];
	struct tw_replay replay;
	int status = tw_replay_run(&replay, d->path, s, count, d->allocator);
	unsigned k;

	if (!status)
		tw_find_windows(&replay, count, windows);
	for (k = 0; k < count && !status; k++)
		status = measure(d, &s[k], &replay, k, &windows[k], gains[k]);
	for (k = 0; k < count && !status && found; k++)
		tw_find_whose(d, tw_replayed(&replay, k), found[k]);
	tw_replay_release(&replay);
	if (status)
		d->failed = true;
	return status;
}

int tw_gain_of(struct tw_diagnosis *d, struct tw_scenario *s, bool of_window, struct tw_gain *gain)
{
	struct tw_gain gains[1][2];
	int status = tw_gains_of(d, s, 1, gains, NULL);

	if (!status)
		*gain = gains[0][of_window];
	return status;
}
