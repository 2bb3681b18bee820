#include "study/compare/answer.h"

#include "data/limits.h"
#include "render/width.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows named in a sentence. */
#define MAX_NAMED 3

#define BELOW_PERCENT TW_LIMIT_TEXT(TW_LIMIT_SAME_BELOW_PERCENT)
#define BELOW_TOTAL_PERCENT (TW_LIMIT_SAME_BELOW_TOTAL_PERMILLE / 10.0)

/* ---- numbers and names */

/* "12.3 times" */
static void add_times(struct tw_str *out, double times)
{
	if (times >= TW_LIMIT_TOLD_TIMES_MOST)
		tw_str_add_cstr(out, "over " TW_LIMIT_TEXT(TW_LIMIT_TOLD_TIMES_MOST));
	else
		tw_str_add_real_fixed(out, times, times < 100 ? 1 : 0);
	tw_str_add_cstr(out, " times");
}

/* What the verdict is on: per call where numbers of calls differ. */
static const double *judged_ns(const struct tw_change *c)
{
	return c->by_call ? c->call_ns : c->ns;
}

static const char *name_of(const struct tw_changes *changes, const struct tw_change *c)
{
	return tw_pool_text(&changes->samples->texts, c->name, NULL);
}

void tw_change_name(const struct tw_changes *changes, const struct tw_change *c, struct tw_str *out)
{
	const char *name = name_of(changes, c);

	if (strspn(name, (const char[]){ TW_KEY_SEPARATOR, '\0' }) == strlen(name))
		name = "(unnamed)";
	for (; *name; name++)
		tw_str_add_char(out, *name == TW_KEY_SEPARATOR ? ' ' : *name);
}

/* Whether another item of the list looks the same when shortened to `width`. */
static bool looks_same(const struct tw_changes *changes, const struct tw_change_list *list,
		       const struct tw_change *c, const struct tw_str *shown, size_t width)
{
	struct tw_str name, other;
	bool same = false;
	size_t i;

	tw_str_init(&name, shown->allocator);
	tw_str_init(&other, shown->allocator);
	for (i = 0; i < list->count && !same; i++) {
		if (list->items[i].name == c->name)
			continue;
		tw_str_clear(&name);
		tw_str_clear(&other);
		tw_change_name(changes, &list->items[i], &name);
		if (name.len)
			tw_shorten(&other, name.ptr, name.len, width);
		same = other.len == shown->len && !memcmp(other.ptr, shown->ptr, shown->len);
	}
	same |= name.failed || other.failed;
	tw_str_release(&name);
	tw_str_release(&other);
	return same;
}

void tw_answer_add_name(struct tw_str *out, const struct tw_changes *changes,
			const struct tw_change_list *list, const struct tw_change *c)
{
	static const size_t widths[] = { 60, 90, 120 };
	struct tw_str name, shown;
	bool done = false;
	size_t i;

	tw_str_init(&name, out->allocator);
	tw_str_init(&shown, out->allocator);
	tw_change_name(changes, c, &name);
	for (i = 0; i < sizeof(widths) / sizeof(widths[0]) && name.len && !done; i++) {
		tw_str_clear(&shown);
		tw_shorten(&shown, name.ptr, name.len, widths[i]);
		done = !shown.failed &&
		       (shown.len == name.len || !looks_same(changes, list, c, &shown, widths[i]));
	}
	out->failed |= name.failed || shown.failed;
	if (name.len)
		tw_str_add(out, done ? shown.ptr : name.ptr, done ? shown.len : name.len);
	tw_str_release(&shown);
	tw_str_release(&name);
}

/* ---- why */

static void add_noise(struct tw_str *out, const struct tw_change *c)
{
	double apart = fabs(c->ns[1] - c->ns[0]);

	if (!(c->noise_ns > 0)) {
		tw_str_add_cstr(out, "no rank-to-rank noise");
		return;
	}
	if (apart / c->noise_ns < TW_LIMIT_TOLD_TIMES_MOST) {
		tw_str_add_real_fixed(out, apart / c->noise_ns, apart / c->noise_ns < 10 ? 1 : 0);
		tw_str_add_cstr(out, "x rank-to-rank noise (");
	} else {
		tw_str_add_cstr(out, "far above rank-to-rank noise (");
	}
	tw_add_ms(out, c->noise_ns);
	tw_str_add_char(out, ')');
}

static void add_one_side(struct tw_str *out, const struct tw_change *c)
{
	if (c->ranks[0] && c->ranks[1])
		tw_str_add_cstr(out, "in no configuration on both sides");
	else
		tw_str_addf(out, "missing in the %s", c->ranks[0] ? "test" : "baseline");
}

void tw_change_why(const struct tw_change *c, struct tw_str *out)
{
	switch (c->judged.why) {
	case TW_WHY_EQUAL:
		tw_str_add_cstr(out, "no difference");
		break;
	case TW_WHY_NOISE:
		tw_str_add_cstr(out, "within rank-to-rank noise (");
		tw_add_ms(out, c->noise_ns);
		tw_str_add_char(out, ')');
		break;
	case TW_WHY_SMALL:
		tw_str_add_cstr(out, "below " BELOW_PERCENT " % of the baseline");
		break;
	case TW_WHY_SMALL_OF_TOTAL:
		tw_str_addf(out, "below %g %% of the %s", BELOW_TOTAL_PERCENT,
			    c->of_window ? "window" : "total time");
		break;
	case TW_WHY_OVER_NOISE:
		add_noise(out, c);
		break;
	case TW_WHY_NO_NOISE:
		tw_str_add_cstr(out,
				"over " BELOW_PERCENT " %; noise unknown (one value per side)");
		break;
	case TW_WHY_ONE_SIDE:
		add_one_side(out, c);
		break;
	case TW_WHY_TOTAL:
		tw_str_add_cstr(out, c->ns[1] > c->ns[0] ?
					     "more idle, but total_time is not worse" :
					     "less idle, but total_time is worse");
		break;
	}
	if (c->better + c->worse)
		tw_str_addf(out, "; better in %zu, worse in %zu of %zu", c->better, c->worse,
			    c->configs);
	if (c->by_call) {
		tw_str_add_cstr(out, "; judged per call: ");
		tw_add_ms(out, c->call_ns[0]);
		tw_str_add_cstr(out, " -> ");
		tw_add_ms(out, c->call_ns[1]);
	} else if (c->ns[0] > 0 && c->ns[1] > c->ns[0] && isnan(tw_change_faster(c))) {
		tw_str_add_cstr(out, "; ");
		add_times(out, c->ns[1] / c->ns[0]);
		tw_str_add_cstr(out, " the baseline");
	}
	if (c->calls[0] >= 0 && c->calls[1] >= 0 && c->calls[0] != c->calls[1])
		tw_str_addf(out, "; calls %lld -> %lld", (long long)c->calls[0],
			    (long long)c->calls[1]);
}

/* ---- the answer */

static void add_over(struct tw_str *out, const struct tw_changes *changes,
		     const struct tw_change *total)
{
	if (changes->common > 1)
		tw_str_addf(out, "mean of %zu configurations", changes->common);
	else if (total->ranks[0] > 1 || total->ranks[1] > 1)
		tw_str_addf(out, "median of %zu rank%s", total->ranks[1],
			    total->ranks[1] == 1 ? "" : "s");
}

/* "is 12 % slower", "takes 12 times as long". */
static void add_slower(struct tw_str *out, const struct tw_change *c, const char *than)
{
	const double *ns = judged_ns(c);
	double faster = tw_faster_percent(ns[0], ns[1]);

	if (isnan(faster) && ns[0] > 0) {
		tw_str_add_cstr(out, " takes ");
		add_times(out, ns[1] / ns[0]);
		tw_str_addf(out, " as long%s%s", *than ? " as " : "", than);
		return;
	}
	tw_str_add_cstr(out, " is ");
	if (ns[0] > 0) {
		tw_add_percent(out, faster);
		tw_str_add_char(out, ' ');
	}
	tw_str_addf(out, "%s%s%s%s", ns[1] > ns[0] ? "slower" : "faster",
		    c->by_call ? " per call" : "", *than ? " than " : "", than);
}

static void say_total(const struct tw_changes *changes, const struct tw_change *total,
		      const char *const labels[2], struct tw_answer *answer)
{
	struct tw_str *out = tw_answer_line(answer);

	if (total->judged.verdict == TW_SAME) {
		tw_str_addf(out, "%s and %s take the same time", labels[1], labels[0]);
	} else {
		tw_str_add_cstr(out, labels[1]);
		add_slower(out, total, labels[0]);
	}
	tw_str_add_cstr(out, ": ");
	tw_add_ms(out, total->ns[1]);
	tw_str_add_cstr(out, total->judged.verdict == TW_SAME ? " and " : " instead of ");
	tw_add_ms(out, total->ns[0]);
	tw_str_add_cstr(out, " of total time");
	if (changes->common > 1 || total->ranks[0] > 1 || total->ranks[1] > 1) {
		tw_str_add_cstr(out, ", ");
		add_over(out, changes, total);
	}
	tw_str_add_cstr(out, "; ");
	tw_change_why(total, out);
	tw_str_add_char(out, '.');
}

static double apart_of(const struct tw_change *c)
{
	double from = isnan(c->ns[0]) ? 0 : c->ns[0], to = isnan(c->ns[1]) ? 0 : c->ns[1];

	return to - from;
}

/* Why a part has no verdict, in brackets. */
static void add_doubt(struct tw_str *out, const struct tw_change *c)
{
	if (c->judged.why == TW_WHY_NOISE)
		tw_str_add_cstr(out, " (within noise)");
	else if (c->judged.why == TW_WHY_SMALL)
		tw_str_add_cstr(out, " (below " BELOW_PERCENT " %)");
	else if (c->judged.why == TW_WHY_SMALL_OF_TOTAL)
		tw_str_addf(out, " (below %g %% of the total)", BELOW_TOTAL_PERCENT);
}

struct part {
	enum tw_split_part part;
	double apart_ns;
};

/* How a sentence calls a part, of or for one rank, and the part of the timeline with its verdict. */
static const struct {
	const char *label, *rank, *type;
} told[TW_SPLIT_PARTS] = {
	[TW_SPLIT_COMPUTING] = { "compute", " of rank", "computation_time" },
	[TW_SPLIT_WAITING] = { "waiting", " for rank", NULL },
	[TW_SPLIT_TRANSFER] = { "transfer", "", NULL },
	[TW_SPLIT_COMMUNICATION] = { TW_LABEL_EXPOSED_COMMUNICATION, " of rank",
				     "exposed_comm_time" },
	[TW_SPLIT_COPIES] = { TW_LABEL_EXPOSED_COPIES, " of rank", "exposed_memcpy_time" },
	[TW_SPLIT_IDLE] = { "idle time", " of rank", "idle_time" },
	[TW_SPLIT_OTHER] = { "other work", " of rank", NULL },
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	double p = fabs(x->apart_ns), q = fabs(y->apart_ns);

	if (p > q || p < q)
		return p > q ? -1 : 1;
	return x->part < y->part ? -1 : 1;
}

/* Those that moved, the largest first. */
static size_t take_parts(const struct tw_split *split, struct part parts[TW_SPLIT_REST])
{
	size_t n = 0, i;

	for (i = 0; i < TW_SPLIT_REST; i++) {
		double apart = tw_split_difference(split, (enum tw_split_part)i);

		if (fabs(apart) > 0)
			parts[n++] = (struct part){ (enum tw_split_part)i, apart };
	}
	qsort(parts, n, sizeof(*parts), compare_parts);
	return n;
}

/* Whether a part of the timeline has a verdict of its own. */
static bool has_moved(const struct tw_changes *changes)
{
	bool moved = false;
	size_t i;

	for (i = 0; i < TW_SPLIT_PARTS; i++) {
		const struct tw_change *c = told[i].type ? tw_changes_part(changes, told[i].type) :
							   NULL;

		moved |= c && (c->judged.verdict != TW_SAME || c->judged.why == TW_WHY_TOTAL);
	}
	return moved;
}

/* " (data loading +5.12 ms)": what most of the difference of idle time is, where that is known. */
static void add_causes(struct tw_str *out, const struct tw_split *split, double apart_ns)
{
	enum tw_split_cause best = TW_SPLIT_NO_CAUSE, cause;
	double most = 0, ns;

	for (cause = TW_SPLIT_LOADING; cause < TW_SPLIT_OTHER_CAUSE; cause++) {
		ns = tw_split_cause_difference(split, cause) * (apart_ns < 0 ? -1 : 1);
		if (ns > most) {
			most = ns;
			best = cause;
		}
	}
	if (!best)
		return;
	tw_str_addf(out, " (%s ", tw_split_causes[best]);
	tw_add_signed(out, apart_ns < 0 ? -most : most);
	tw_str_add_char(out, ')');
}

static void add_part(struct tw_str *out, const struct tw_changes *changes, const struct part *p)
{
	bool all = false;
	const struct tw_split_row *most = tw_split_main_rank(&changes->split, p->part, &all);
	const struct tw_change *c =
		told[p->part].type ? tw_changes_part(changes, told[p->part].type) : NULL;

	tw_str_add_cstr(out, told[p->part].label);
	if (most && all)
		tw_str_addf(out, "%s %lld", told[p->part].rank, (long long)most->rank);
	tw_str_add_char(out, ' ');
	tw_add_signed(out, p->apart_ns);
	if (most && !all) {
		tw_str_addf(out, " (rank %lld: ", (long long)most->rank);
		tw_add_signed(out, most->ns[1] - most->ns[0]);
		tw_str_add_char(out, ')');
	}
	if (p->part == TW_SPLIT_IDLE)
		add_causes(out, &changes->split, p->apart_ns);
	/* The noise of the ranks is no doubt about one that stands out of it. */
	if (c && !(most && c->judged.why == TW_WHY_NOISE))
		add_doubt(out, c);
}

/* Breakdown of the difference of the mean total; without a difference, only parts that changed. */
static void say_parts(const struct tw_changes *changes, const struct tw_change *total,
		      struct tw_answer *answer)
{
	const struct tw_split *split = &changes->split;
	struct part parts[TW_SPLIT_REST];
	size_t count = take_parts(split, parts), i;
	double rest = tw_split_difference(split, TW_SPLIT_REST);
	bool same = total->judged.verdict == TW_SAME;
	struct tw_str *out;

	if (!count || (same && !has_moved(changes)))
		return;
	out = tw_answer_line(answer);
	if (same) {
		tw_str_add_cstr(out, "Changed parts");
	} else {
		tw_str_add_cstr(out, "Breakdown of ");
		tw_add_signed(out, split->total_ns[1] - split->total_ns[0]);
	}
	if (split->ranks > 1)
		tw_str_addf(out, " (mean over %zu ranks)", split->ranks);
	for (i = 0; i < count; i++) {
		tw_str_add_cstr(out, i ? ", " : ": ");
		add_part(out, changes, &parts[i]);
	}
	if (fabs(rest) * 100 >= fabs(parts[0].apart_ns) * TW_LIMIT_REST_PERCENT) {
		tw_str_add_cstr(out, "; ");
		tw_add_signed(out, rest);
		tw_str_add_cstr(out, " unattributed");
	}
	tw_str_add_char(out, '.');
}

static const struct {
	enum tw_compared_kind kind;
	const char *what;
} moving[] = { { TW_OPERATION, "operators" }, { TW_KERNEL, "kernels" } };

/* Items with a verdict, largest first; returns their number. */
static size_t add_moved(struct tw_str *out, const struct tw_changes *changes,
			enum tw_verdict verdict, const char *heading)
{
	size_t k, i, all = 0;

	for (k = 0; k < sizeof(moving) / sizeof(moving[0]); k++) {
		const struct tw_change_list *list = &changes->all[moving[k].kind];
		size_t n = 0;

		for (i = 0; i < list->count; i++) {
			const struct tw_change *c = &list->items[i];

			if (c->judged.verdict != verdict || n++ >= MAX_NAMED)
				continue;
			if (n == 1)
				tw_str_addf(out, "%s%s ", all ? "; " : heading, moving[k].what);
			else
				tw_str_add_cstr(out, ", ");
			tw_answer_add_name(out, changes, list, c);
			tw_str_add_cstr(out, " (");
			tw_add_signed(out, apart_of(c));
			tw_str_add_char(out, ')');
		}
		if (n > MAX_NAMED)
			tw_str_addf(out, " and %zu more", n - MAX_NAMED);
		all += n;
	}
	if (all)
		tw_str_add_char(out, '.');
	return all;
}

static void say_moved(const struct tw_changes *changes, struct tw_answer *answer)
{
	struct tw_str *out = tw_answer_line(answer);
	size_t worse, better;

	if (!changes->all[TW_OPERATION].count && !changes->all[TW_KERNEL].count) {
		answer->count--;
		return;
	}
	worse = add_moved(out, changes, TW_WORSE, "Slower: ");
	if (worse)
		out = tw_answer_line(answer);
	better = add_moved(out, changes, TW_BETTER, "Faster: ");
	if (!worse && better)
		tw_str_add_cstr(out, " No operator or kernel is slower beyond noise.");
	else if (!worse)
		tw_str_add_cstr(out, "No operator or kernel is slower or faster beyond noise.");
	else if (!better)
		answer->count--;
}

/* Stages of exports whose communication is hidden better or worse. */
static void say_stages(const struct tw_changes *changes, struct tw_answer *answer)
{
	const struct tw_change_list *list = &changes->all[TW_STAGE];
	struct tw_str *out = tw_answer_line(answer);
	size_t n = 0, i;

	for (i = 0; i < list->count; i++) {
		const struct tw_change *c = &list->items[i];

		if ((c->judged.verdict != TW_BETTER && c->judged.verdict != TW_WORSE) ||
		    n++ >= MAX_NAMED)
			continue;
		tw_str_add_cstr(out, n == 1 ? "Exposed communication by stage: " : ", ");
		tw_answer_add_name(out, changes, list, c);
		tw_str_add_char(out, ' ');
		tw_add_signed(out, apart_of(c));
		tw_str_add_cstr(out, " (overlap ");
		tw_str_add_real_fixed(out, tw_stage_overlap(changes, c, 0), 1);
		tw_str_add_cstr(out, " % -> ");
		tw_str_add_real_fixed(out, tw_stage_overlap(changes, c, 1), 1);
		tw_str_add_cstr(out, " %)");
	}
	if (n > MAX_NAMED)
		tw_str_addf(out, " and %zu more", n - MAX_NAMED);
	if (n)
		tw_str_add_char(out, '.');
	else
		answer->count--;
}

static void add_count(struct tw_str *out, size_t count, const char *label, double ns)
{
	if (!count)
		return;
	tw_str_addf(out, "%zu in %s (", count, label);
	tw_add_ms(out, ns);
	tw_str_add_char(out, ')');
}

static void say_one_sided(const struct tw_changes *changes, const char *const labels[2],
			  struct tw_answer *answer)
{
	const struct tw_change_list *list = &changes->all[TW_KERNEL];
	size_t counts[2] = { 0, 0 }, i, side;
	double ns[2] = { 0, 0 };
	struct tw_str *out;

	for (i = 0; i < list->count; i++) {
		side = list->items[i].judged.verdict == TW_NEW;
		if (!side && list->items[i].judged.verdict != TW_GONE)
			continue;
		counts[side]++;
		ns[side] += list->items[i].ns[side];
	}
	if (!counts[0] && !counts[1])
		return;
	out = tw_answer_line(answer);
	tw_str_add_cstr(out, "Kernels on one side only: ");
	add_count(out, counts[1], labels[1], ns[1]);
	tw_str_add_cstr(out, counts[0] && counts[1] ? ", " : "");
	add_count(out, counts[0], labels[0], ns[0]);
	tw_str_add_char(out, '.');
}

static void add_steps(struct tw_str *out, const struct tw_sample_config *c, unsigned side,
		      const char *label)
{
	int64_t first = c->first_step[side], last = c->last_step[side];

	tw_str_addf(out, "%s has %lld step%s (%lld", label, (long long)(last - first + 1),
		    first == last ? "" : "s", (long long)first);
	if (last > first)
		tw_str_addf(out, "-%lld", (long long)last);
	tw_str_add_char(out, ')');
}

bool tw_compare_uneven(const struct tw_changes *changes, const char *const labels[2],
		       struct tw_str *out)
{
	const struct tw_sample_config *c;
	size_t i;

	if (!changes->uneven.count)
		return false;
	for (i = 0; isnan(changes->uneven.ratios[i]); i++)
		;
	c = &changes->samples->configs[i];
	if (c->first_step[0] >= 0 && c->first_step[1] >= 0) {
		add_steps(out, c, 0, labels[0]);
		tw_str_add_cstr(out, ", ");
		add_steps(out, c, 1, labels[1]);
	} else {
		tw_str_addf(out,
			    "%s and %s probably have different step counts: %s calls the common "
			    "operators and kernels ",
			    labels[0], labels[1], labels[1]);
		tw_str_add_real_fixed(out, changes->uneven.ratios[i], 2);
		tw_str_add_cstr(out, " times as often");
	}
	if (changes->common > 1)
		tw_str_addf(out, " (%s", c->name);
	if (changes->common > 1 && changes->uneven.count > 1)
		tw_str_addf(out, " and %zu more", changes->uneven.count - 1);
	tw_str_addf(out, "%s. Times are not comparable: compare the same steps with --step.",
		    changes->common > 1 ? ")" : "");
	return true;
}

static void say_uneven(const struct tw_changes *changes, const char *const labels[2],
		       struct tw_answer *answer)
{
	if (changes->uneven.count)
		tw_compare_uneven(changes, labels, tw_answer_line(answer));
}

/* Different numbers of calls are different work: times per call are comparable. */
static void say_work(const struct tw_changes *changes, const char *const labels[2],
		     struct tw_answer *answer)
{
	const struct tw_change_list *list = &changes->all[TW_KERNEL];
	double calls[2] = { 0, 0 };
	struct tw_str *out;
	size_t i;

	if (changes->common > 1)
		list = &changes->each[TW_KERNEL];
	for (i = 0; i < list->count; i++)
		if (list->items[i].calls[0] >= 0 && list->items[i].calls[1] >= 0) {
			calls[0] += (double)list->items[i].calls[0];
			calls[1] += (double)list->items[i].calls[1];
		}
	if (changes->uneven.count || !(calls[0] > 0) ||
	    fabs(calls[1] / calls[0] - 1) * 100 <= TW_LIMIT_SAME_WORK_PERCENT)
		return;
	out = tw_answer_line(answer);
	tw_str_addf(out, "The work differs: %s ran the common kernels ", labels[1]);
	tw_str_add_real_fixed(out, calls[1] / calls[0], 2);
	tw_str_addf(out, " times as often as %s: compare times per call.", labels[0]);
}

static const char *config_of(const struct tw_samples *samples, size_t config, unsigned side)
{
	const struct tw_sample_config *c = &samples->configs[config];

	return side && c->test_name ? c->test_name : c->name;
}

static void say_best(const struct tw_changes *changes, const char *const labels[2],
		     struct tw_answer *answer)
{
	const struct tw_change *items = changes->totals.items;
	size_t a = changes->best[0], b = changes->best[1];
	struct tw_str *out;
	double apart;

	if (changes->totals.count < 2 || a == SIZE_MAX || b == SIZE_MAX)
		return;
	out = tw_answer_line(answer);
	tw_str_addf(out, "Best configuration of %s: %s (", labels[0],
		    config_of(changes->samples, a, 0));
	tw_add_ms(out, items[a].ns[0]);
	tw_str_addf(out, "), of %s: %s (", labels[1], config_of(changes->samples, b, 1));
	tw_add_ms(out, items[b].ns[1]);
	apart = (1 - items[b].ns[1] / items[a].ns[0]) * 100;
	if (fabs(apart) >= TW_LIMIT_SAME_BELOW_PERCENT) {
		tw_str_add_cstr(out, "; ");
		tw_add_percent(out, apart);
		tw_str_addf(out, " %s than the best of %s", apart > 0 ? "less" : "more", labels[0]);
	}
	tw_str_add_cstr(out, ").");
}

void tw_compare_answer(const struct tw_changes *changes, const char *const labels[2],
		       struct tw_answer *answer)
{
	const struct tw_change *total = tw_changes_part(changes, "total_time");
	size_t i;

	*answer = (struct tw_answer){ 0 };
	for (i = 0; i < TW_ANSWER_LINES; i++)
		tw_str_init(&answer->lines[i], changes->samples->allocator);
	say_uneven(changes, labels, answer);
	if (total) {
		say_total(changes, total, labels, answer);
		tw_say_stragglers(changes, labels, answer);
		tw_say_ranks(changes, answer);
		say_parts(changes, total, answer);
		tw_say_causes(changes, labels, answer);
	} else {
		tw_str_addf(tw_answer_line(answer),
			    changes->common ? "Total time is missing in %s or %s." :
					      "%s and %s have no configuration in common.",
			    labels[0], labels[1]);
	}
	tw_say_places(changes, answer);
	say_stages(changes, answer);
	say_moved(changes, answer);
	say_one_sided(changes, labels, answer);
	say_work(changes, labels, answer);
	say_best(changes, labels, answer);
}

void tw_answer_release(struct tw_answer *answer)
{
	size_t i;

	for (i = 0; i < TW_ANSWER_LINES; i++)
		tw_str_release(&answer->lines[i]);
}

/* ---- the gate */

struct gate {
	const struct tw_changes *changes;
	double percent;
	void (*tell)(void *context, const char *line);
	void *context;
	size_t count;
};

static void fail_row(struct gate *g, const struct tw_change_list *list, const struct tw_change *c,
		     const char *what)
{
	struct tw_str line;

	tw_str_init(&line, g->changes->samples->allocator);
	tw_str_addf(&line, "%s ", what);
	tw_answer_add_name(&line, g->changes, list, c);
	if (c->config != TW_ALL_CONFIGS && g->changes->samples->configs[c->config].name[0])
		tw_str_addf(&line, " in %s", g->changes->samples->configs[c->config].name);
	add_slower(&line, c, "");
	tw_str_add_cstr(&line, ": ");
	tw_add_ms(&line, judged_ns(c)[1]);
	tw_str_add_cstr(&line, " instead of ");
	tw_add_ms(&line, judged_ns(c)[0]);
	tw_str_add_cstr(&line, "; ");
	tw_change_why(c, &line);
	g->tell(g->context, line.failed ? what : line.ptr);
	g->count++;
	tw_str_release(&line);
}

static bool is_over(const struct gate *g, const struct tw_change *c)
{
	const double *ns = judged_ns(c);

	/* An increase from zero is above any percentage. */
	return c->judged.verdict == TW_WORSE &&
	       !((ns[1] - ns[0]) * 100 <= ns[0] * g->percent && ns[0] > 0);
}

static void check_list(struct gate *g, enum tw_compared_kind kind, const char *what)
{
	const struct tw_change_list *list = &g->changes->all[kind];
	double total = g->changes->total_ns[0];
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct tw_change *c = &list->items[i];
		bool is_total = !strcmp(name_of(g->changes, c), "total_time");

		if (is_over(g, c) &&
		    (is_total || !(c->ns[0] * 100 < total * TW_LIMIT_GATE_OF_TOTAL_PERCENT)))
			fail_row(g, list, c, what);
	}
}

size_t tw_compare_gate(const struct tw_changes *changes, double percent,
		       void (*tell)(void *context, const char *line), void *context)
{
	struct gate g = { changes, percent, tell, context, 0 };
	size_t i;

	check_list(&g, TW_TIMELINE_PART, "timeline part");
	for (i = 0; changes->common > 1 && i < changes->totals.count; i++)
		if (changes->totals.items[i].configs && is_over(&g, &changes->totals.items[i]))
			fail_row(&g, &changes->totals, &changes->totals.items[i], "timeline part");
	check_list(&g, TW_OPERATION, "operator");
	check_list(&g, TW_KERNEL, "kernel");
	check_list(&g, tw_changes_collectives(changes), "collective");
	return g.count;
}
