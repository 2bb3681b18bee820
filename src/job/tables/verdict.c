/*
 * Conclusions from a job's collectives in a few sentences: straggler and reason, or none, and
 * whether communication is mostly wait or transfer.
 */
#include "job/collectives/exchange.h"
#include "job/collectives/lateness.h"
#include "job/tables/tables.h"

#include "analysis/groups.h"
#include "analysis/order.h"
#include "base/alloc.h"
#include "base/median.h"
#include "data/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINDING, RANKS, SHARE, TEXT };

static const struct trawl_column columns[] = {
	[FINDING] = TW_TEXT(
		"finding", 14,
		"limits (largest finding, where it is no straggler), straggler, reason, passed on "
		"(propagated wait), no straggler, waiting or transfers (larger part of "
		"communication), imbalance, clocks",
		.values = "!limits|straggler|reason|passed on|no straggler|waiting|transfers|"
			  "imbalance|clocks"),
	[RANKS] = TW_TEXT("ranks", 10, "ranks concerned; empty: all"),
	[SHARE] = TW_PERCENT_1(
		"share (%)", 8,
		"straggler: share of all wait without the propagated part; passed on: share of "
		"all wait; no straggler, waiting and transfers: wait / communication time; "
		"limits: gain / step",
		.values = ">=0"),
	[TEXT] = TW_TEXT("text", 100, "finding as text", .values = "!"),
};

/* Collectives of one name and size. */
struct kind_key {
	_Alignas(tw_wide) uint32_t text;
};

struct kind {
	tw_wide caused_ns;   /* by the stragglers */
	tw_wide transfer_ns; /* time of members less their waits */
	double rates;	     /* sum of GB/s of the bus */
	uint64_t rated;
};

struct work {
	const struct tw_ranks_input *in;
	struct tw_lateness l;
	struct trawl_table *table;
	struct tw_order *order; /* ranks by what they cause themselves, the most first */
	size_t used;
	uint8_t *named; /* by index of the rank: a straggler */
	size_t stragglers;
	size_t finding; /* row of findings that names them; their number: none does */
	tw_wide own_ns; /* waiting less what was propagated */
	int64_t *values;
	struct tw_pool texts;
	struct tw_groups kinds;
	struct tw_str text, ranks;
};

/* ---- words */

static void add_ms(struct tw_str *out, tw_wide ns)
{
	int64_t shown = tw_wide_fits(ns) ? (int64_t)ns : INT64_MAX;

	/* Three digits or more. */
	tw_str_add_decimal_fixed(out, shown, 6, shown < 1000000 ? 3 : shown < 10000000 ? 2 : 1);
	tw_str_add_cstr(out, " ms");
}

static double percent(tw_wide part, tw_wide of)
{
	return of > 0 ? 100.0 * (double)part / (double)of : 0;
}

static void add_percent(struct tw_str *out, double share)
{
	tw_str_add_real_fixed(out, share, share < 10 ? 1 : 0);
	tw_str_add_cstr(out, " %");
}

static void add_size(struct tw_str *out, double megabytes)
{
	static const char *const units[] = { " MB", " KB", " B" };
	size_t unit = 0;

	while (megabytes < 1 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		megabytes *= 1024;
		unit++;
	}
	tw_str_addf(out, " %.4g%s", megabytes, units[unit]);
}

static int64_t rank_at(const struct work *w, size_t place)
{
	return w->in->job->ranks[w->order[place].index].rank;
}

/* A row with the text of `text`, which is cleared. */
static void add_finding(struct work *w, const char *finding, const char *ranks, double share)
{
	size_t row = tw_table_add_row(w->table);

	tw_table_set_str(w->table, row, FINDING, finding);
	if (ranks && ranks[0])
		tw_table_set_str(w->table, row, RANKS, ranks);
	tw_table_set_real(w->table, row, SHARE, share);
	if (!w->text.failed)
		tw_table_set_text(w->table, row, TEXT, w->text.ptr, w->text.len);
	tw_str_clear(&w->text);
}

/* ---- who */

static tw_wide own_of(const struct work *w, size_t rank)
{
	return w->l.of[rank].caused_ns - w->l.of[rank].passed_ns;
}

static void order_ranks(struct work *w)
{
	uint32_t r;

	for (r = 0; r < w->l.ranks; r++) {
		if (!w->l.of[r].count)
			continue;
		w->order[w->used++] =
			(struct tw_order){ .value = own_of(w, r), .tie = r, .index = r };
		w->own_ns += own_of(w, r);
	}
	tw_order_sort(w->order, w->used, NULL);
}

/*
 * The fewest ranks that cause so much that it is no chance: by chance each causes the same, and the
 * line is drawn halfway between that and all.
 */
static void choose_stragglers(struct work *w)
{
	size_t most = w->used / TW_LIMIT_STRAGGLERS_SHARE, k;
	tw_wide sum = 0;

	most = !most ? 1 : most > TW_LIMIT_STRAGGLERS_MOST ? TW_LIMIT_STRAGGLERS_MOST : most;
	for (k = 1; k <= most && k < w->used; k++) {
		sum += w->order[k - 1].value;
		if (sum > 0 && sum * 2 * (tw_wide)w->used >= w->own_ns * (tw_wide)(k + w->used)) {
			w->stragglers = k;
			break;
		}
	}
	for (k = 0; k < w->stragglers; k++)
		w->named[w->order[k].index] = 1;
}

/* ---- who, by the findings: what a replay gains, not how waits are shared out */

/* Kinds of findings that are about a rank for which others wait. */
static const char *const of_stragglers[] = { "straggler_compute", "straggler_host",
					     "moe_imbalance" };

static const char *text_of(const struct work *w, size_t row, const char *column)
{
	return tw_table_own_text(w->in->findings, row,
				 trawl_table_find_column(w->in->findings, column));
}

static bool is_of_kind(const struct work *w, size_t row, const char *kind)
{
	return !strcmp(text_of(w, row, "kind"), kind);
}

/* A gain that is told; observations have none. */
static bool is_worth(const struct work *w, size_t row)
{
	struct trawl_cell gain = tw_table_cell(w->in->findings, row, TW_COL_GAIN_PERCENT);

	return gain.state == TRAWL_CELL_VALUE && gain.real >= TW_LIMIT_FINDING_TOLD_PERCENT;
}

static bool is_of_straggler(const struct work *w, size_t row)
{
	size_t i;

	for (i = 0; i < sizeof(of_stragglers) / sizeof(of_stragglers[0]); i++)
		if (is_of_kind(w, row, of_stragglers[i]) && is_worth(w, row))
			return true;
	return false;
}

/* Whether "1, 3" has a rank. */
static bool names_rank(const char *list, int64_t rank)
{
	for (; *list; list += strspn(list, ", ")) {
		char *end;

		if (strtoll(list, &end, 10) == rank)
			return true;
		if (end == list)
			break;
		list = end;
	}
	return false;
}

/* Those come first in the order of ranks, by what they cause. */
static void choose_found(struct work *w)
{
	size_t rows = trawl_table_rows(w->in->findings), k, i;
	const char *ranks;

	for (w->finding = 0; w->finding < rows && !is_of_straggler(w, w->finding); w->finding++)
		;
	if (w->finding == rows)
		return;
	ranks = text_of(w, w->finding, TW_COL_FINDING_RANK);
	for (k = 0; k < w->used; k++) {
		const struct tw_order at = w->order[k];

		if (!names_rank(ranks, rank_at(w, k)))
			continue;
		w->named[at.index] = 1;
		for (i = k; i > w->stragglers; i--)
			w->order[i] = w->order[i - 1];
		w->order[w->stragglers++] = at;
	}
}

/* "5" or "3, 5", in order of rank. */
static const char *name_stragglers(struct work *w)
{
	size_t r;

	tw_str_clear(&w->ranks);
	for (r = 0; r < w->l.ranks; r++) {
		if (!w->named[r])
			continue;
		if (w->ranks.len)
			tw_str_add_cstr(&w->ranks, ", ");
		tw_str_add_int(&w->ranks, w->in->job->ranks[r].rank);
	}
	return w->ranks.failed || !w->ranks.ptr ? "" : w->ranks.ptr;
}

/* ---- in which collectives */

static int add_kind(void *context, const struct tw_sync *sync)
{
	struct work *w = context;
	const struct tw_match_member *members = tw_match_members(w->in, sync->match);
	const struct tw_rank *rank = tw_member_rank(w->in, members);
	const struct tw_collective *c = tw_member_collective(w->in, members);
	double megabytes = tw_sync_megabytes(w->in, sync),
	       rate = tw_sync_bus_bandwidth(w->in, sync);
	tw_wide wait = 0;
	struct kind_key key;
	struct kind *kind;
	size_t len;
	uint32_t i, g;
	const char *label = tw_collective_label(rank, c, &len);

	if (!sync->sound)
		return 0;
	tw_str_clear(&w->ranks);
	tw_str_add(&w->ranks, len ? label : "unnamed", len ? len : strlen("unnamed"));
	if (megabytes > 0 && !tw_is_all_to_allv(rank, c))
		add_size(&w->ranks, megabytes);
	if (w->ranks.failed)
		return TRAWL_ENOMEM;
	memset(&key, 0, sizeof(key));
	key.text = tw_pool_intern(&w->texts, w->ranks.ptr, w->ranks.len);
	g = tw_groups_add(&w->kinds, &key);
	if (g == TW_NO_GROUP)
		return TRAWL_ENOMEM;
	for (i = 0; i < sync->match->count; i++)
		wait += tw_member_wait(w->in, &members[i], sync->last_start_ns);
	kind = tw_groups_value(&w->kinds, g);
	if (w->named[members[sync->last].rank])
		kind->caused_ns += wait;
	kind->transfer_ns += sync->dur_ns - wait;
	if (!isnan(rate) && !tw_is_all_to_allv(rank, c)) {
		kind->rates += rate;
		kind->rated++;
	}
	return 0;
}

/* The kind with the most; of equals the first that was met. */
static const struct kind *largest_kind(struct work *w, bool caused, const char **name)
{
	const struct kind *most = NULL;
	uint32_t g;

	*name = "";
	for (g = 0; g < w->kinds.count; g++) {
		const struct kind *kind = tw_groups_value(&w->kinds, g);
		const struct kind_key *key = tw_groups_key(&w->kinds, g);

		if (most && (caused ? kind->caused_ns <= most->caused_ns :
				      kind->transfer_ns <= most->transfer_ns))
			continue;
		most = kind;
		*name = tw_pool_text(&w->texts, key->text, NULL);
	}
	return most;
}

/* ---- findings */

/* "gain about 7.413 ms of a step (29.5 %)" */
static void add_gain(struct work *w, size_t row)
{
	const struct trawl_table *t = w->in->findings;
	const char *how = text_of(w, row, TW_COL_GAIN_HOW);

	tw_str_addf(&w->text, "gain %s%.3f ms%s (%.1f %%)",
		    !strcmp(how, "bound")    ? "at most " :
		    !strcmp(how, "estimate") ? "about " :
					       "",
		    tw_table_cell(t, row, TW_COL_GAIN_MS).real, w->in->of_step ? " of a step" : "",
		    tw_table_cell(t, row, TW_COL_GAIN_PERCENT).real);
}

/* What limits the job most, where that is no straggler; that nothing does. */
static void tell_limits(struct work *w)
{
	const struct trawl_table *t = w->in->findings;
	const char *ranks;
	size_t row = 0;

	if (!trawl_table_rows(t) || (!w->finding && w->stragglers))
		return;
	if (!is_worth(w, 0)) {
		for (; row < trawl_table_rows(t); row++)
			if (is_of_kind(w, row, "nothing_found"))
				break;
		if (row == trawl_table_rows(t))
			return;
	}
	ranks = text_of(w, row, TW_COL_FINDING_RANK);
	tw_str_add_cstr(&w->text, text_of(w, row, TW_COL_FINDING_TITLE));
	if (*ranks)
		tw_str_addf(&w->text, " (rank %s)", ranks);
	if (!row) {
		tw_str_add_cstr(&w->text, ": ");
		add_gain(w, row);
	}
	add_finding(w, "limits", ranks,
		    row ? NAN : tw_table_cell(t, row, TW_COL_GAIN_PERCENT).real);
}

static void tell_straggler(struct work *w)
{
	const char *ranks = name_stragglers(w), *name;
	bool one = w->stragglers == 1;
	tw_wide caused = 0, own = 0;
	uint64_t last = 0, count = 0;
	const struct kind *kind;
	size_t k;

	for (k = 0; k < w->stragglers; k++) {
		const struct tw_late_rank *of = &w->l.of[w->order[k].index];

		caused += of->caused_ns;
		own += w->order[k].value;
		last += of->last;
		count = one ? of->count : w->l.count;
	}
	tw_str_addf(&w->text, one ? "rank %s is the straggler" : "ranks %s are the stragglers",
		    ranks);
	tw_str_add_cstr(&w->text, ": ");
	if (w->in->findings) {
		add_gain(w, w->finding);
		tw_str_add_cstr(&w->text, "; ");
	}
	tw_str_addf(&w->text, "last in %llu of %llu collectives, caused ", (unsigned long long)last,
		    (unsigned long long)count);
	add_ms(&w->text, caused);
	tw_str_add_cstr(&w->text, " of wait (");
	add_percent(&w->text, percent(caused, w->l.wait_ns));
	kind = largest_kind(w, true, &name);
	tw_str_add_cstr(&w->text, " of all wait");
	if (kind && percent(kind->caused_ns, caused) < TW_LIMIT_NEARLY_ALL_PERCENT) {
		tw_str_add_cstr(&w->text, "; ");
		add_percent(&w->text, percent(kind->caused_ns, caused));
		tw_str_addf(&w->text, " of it in %s", name);
	} else if (kind) {
		tw_str_addf(&w->text, ", in %s", name);
	}
	tw_str_add_char(&w->text, ')');
	add_finding(w, "straggler", ranks, percent(own, w->own_ns));
}

/* Twice the median idle time. */
static tw_wide median_idle2(struct work *w)
{
	size_t n = 0, i;

	for (i = 0; i < w->l.ranks; i++)
		if (w->in->job->ranks[i].gpu_events)
			w->values[n++] = w->in->job->ranks[i].timeline.idle_ns;
	return tw_twice_the_median(w->values, n);
}

static bool is_over(int64_t time, tw_wide median2)
{
	return ((tw_wide)time * 2 - median2) * 100 > median2 * TW_LIMIT_OUTLIER_PERCENT;
}

static void add_times(struct tw_str *out, int64_t time, tw_wide median2)
{
	add_ms(out, time);
	tw_str_add_cstr(out, " (median rank ");
	add_ms(out, median2 / 2);
	tw_str_add_char(out, ')');
}

/* Of the worst of them. */
static void tell_reason(struct work *w)
{
	const struct tw_rank *rank = &w->in->job->ranks[w->order[0].index];
	const struct tw_timeline *t = &rank->timeline;
	tw_wide idle2 = median_idle2(w);

	if (!rank->gpu_events)
		return;
	tw_str_clear(&w->ranks);
	tw_str_add_int(&w->ranks, rank->rank);
	tw_str_add_cstr(&w->text, "reason");
	if (w->stragglers > 1)
		tw_str_addf(&w->text, " of rank %lld", (long long)rank->rank);
	if (is_over(t->compute_ns, w->l.median2_ns)) {
		tw_str_add_cstr(&w->text, ": longer compute, ");
		add_times(&w->text, t->compute_ns, w->l.median2_ns);
	} else if (is_over(t->idle_ns, idle2)) {
		tw_str_add_cstr(&w->text, ": host-bound, GPU idle ");
		add_times(&w->text, t->idle_ns, idle2);
		tw_str_add_cstr(&w->text, ", compute time no outlier");
	} else {
		tw_str_add_cstr(&w->text, ": timing of its work, not its amount: compute ");
		add_times(&w->text, t->compute_ns, w->l.median2_ns);
		tw_str_add_cstr(&w->text, " and idle time no outliers");
	}
	add_finding(w, "reason", w->ranks.failed ? NULL : w->ranks.ptr, NAN);
}

static void tell_found_reason(struct work *w)
{
	const char *evidence = text_of(w, w->finding, TW_COL_EVIDENCE);

	tw_str_addf(&w->text, "reason: %s%s%s", text_of(w, w->finding, TW_COL_FINDING_TITLE),
		    *evidence ? ": " : "", evidence);
	add_finding(w, "reason", text_of(w, w->finding, TW_COL_FINDING_RANK), NAN);
}

static void tell_no_straggler(struct work *w)
{
	double share = percent(w->l.wait_ns, w->l.dur_ns);
	const struct tw_late_rank *first = &w->l.of[w->order[0].index];

	tw_str_add_cstr(&w->text, "no straggler: ");
	if (w->in->findings)
		tw_str_add_cstr(&w->text, "no rank costs " TW_LIMIT_TEXT(
						  TW_LIMIT_FINDING_TOLD_PERCENT) " % by itself; ");
	tw_str_add_cstr(&w->text, "wait is ");
	add_percent(&w->text, share);
	tw_str_add_cstr(&w->text, " of communication time");
	if (w->in->findings && w->l.wait_ns > 0) {
		tw_str_add_cstr(&w->text, ", ");
		add_percent(&w->text, percent(first->caused_ns, w->l.wait_ns));
		tw_str_addf(&w->text, " of it for rank %lld", (long long)rank_at(w, 0));
	} else if (w->stragglers) {
		tw_str_addf(&w->text, ", most of it caused by rank%s %s",
			    w->stragglers > 1 ? "s" : "", name_stragglers(w));
	} else if (w->l.wait_ns > 0) {
		tw_str_addf(&w->text, ", spread over ranks (max: rank %lld, ",
			    (long long)rank_at(w, 0));
		add_percent(&w->text, percent(first->caused_ns, w->l.wait_ns));
		tw_str_add_cstr(&w->text, " of all wait)");
	}
	add_finding(w, "no straggler", NULL, share);
}

/* The rank that others wait for most, though it is not its own doing. */
static void tell_passed_on(struct work *w)
{
	const struct tw_late_rank *most = NULL;
	size_t r, at = 0;

	for (r = 0; r < w->l.ranks; r++)
		if (!w->named[r] && (!most || w->l.of[r].passed_ns > most->passed_ns)) {
			most = &w->l.of[r];
			at = r;
		}
	if (!most || percent(most->passed_ns, w->l.wait_ns) < TW_LIMIT_WAITS_MATTER_PERCENT)
		return;
	tw_str_clear(&w->ranks);
	tw_str_add_int(&w->ranks, w->in->job->ranks[at].rank);
	tw_str_addf(&w->text, "rank %lld is late due to its own wait: ",
		    (long long)w->in->job->ranks[at].rank);
	add_ms(&w->text, most->passed_ns);
	tw_str_add_cstr(&w->text, " of the ");
	add_ms(&w->text, most->caused_ns);
	tw_str_add_cstr(&w->text, " of wait it caused is propagated");
	add_finding(w, "passed on", w->ranks.failed ? NULL : w->ranks.ptr,
		    percent(most->passed_ns, w->l.wait_ns));
}

static void tell_communication(struct work *w)
{
	double share = percent(w->l.wait_ns, w->l.dur_ns);
	bool waits = share >= TW_LIMIT_WAITS_ARE_MOST_PERCENT;
	tw_wide exposed = 0, total = 0;
	const struct kind *kind;
	const char *name;
	size_t i;

	for (i = 0; i < w->in->job->count; i++) {
		exposed += w->in->job->ranks[i].timeline.exposed_communication_ns;
		total += w->in->job->ranks[i].timeline.total_ns;
	}
	add_percent(&w->text, waits ? share : 100 - share);
	tw_str_add_cstr(&w->text,
			waits ? " of communication time is waiting for late ranks (total " :
				" of communication time is transfer (total ");
	add_ms(&w->text, w->l.dur_ns);
	tw_str_add_cstr(&w->text, ", all ranks)");
	kind = waits ? NULL : largest_kind(w, false, &name);
	if (kind) {
		tw_str_addf(&w->text, ", most in %s (", name);
		add_ms(&w->text, kind->transfer_ns);
		if (kind->rated && kind->rates > 0)
			tw_str_addf(&w->text, ", bus bandwidth %.3g GB/s",
				    kind->rates / (double)kind->rated);
		tw_str_add_char(&w->text, ')');
	}
	if (total > 0) {
		tw_str_add_cstr(&w->text, "; exposed communication: ");
		add_percent(&w->text, percent(exposed, total));
		tw_str_add_cstr(&w->text, " of GPU time");
	}
	add_finding(w, waits ? "waiting" : "transfers", NULL, share);
}

static int tell_imbalance(struct work *w)
{
	struct tw_exchange_sum sum;
	int status = tw_exchange_sum(w->in, &sum);

	if (status || !(sum.mean_received_mb > 0) ||
	    sum.largest_received_mb < sum.mean_received_mb * TW_LIMIT_UNEVEN_TIMES)
		return status;
	tw_str_clear(&w->ranks);
	tw_str_add_int(&w->ranks, w->in->job->ranks[sum.receives_most].rank);
	tw_str_addf(&w->text,
		    "all_to_allv imbalance: max received is %.2fx the mean; rank %lld receives "
		    "the most in total",
		    sum.largest_received_mb / sum.mean_received_mb,
		    (long long)w->in->job->ranks[sum.receives_most].rank);
	add_finding(w, "imbalance", w->ranks.failed ? NULL : w->ranks.ptr, NAN);
	return 0;
}

/* Such a rank's collectives are matched with others of the same kind: of another step, maybe. */
static void tell_suspect(struct work *w)
{
	const struct tw_rank *first = NULL;
	double off_ms = 0;
	char number[24];
	size_t i, n = 0;

	for (i = 0; i < w->in->job->count; i++) {
		if (!w->in->clocks->of[i].suspect)
			continue;
		if (!n++) {
			first = &w->in->job->ranks[i];
			off_ms = (double)w->in->clocks->of[i].offset_ns / 1e6;
		}
	}
	if (!first)
		return;
	tw_str_addf(&w->text, "uncertain: clock of rank %lld is ", (long long)first->rank);
	tw_str_add_real_fixed(&w->text, off_ms, 1);
	tw_str_add_cstr(&w->text, " ms off, others of its node are not");
	if (n > 1)
		tw_str_addf(&w->text, " (and %zu more ranks)", n - 1);
	tw_str_add_cstr(&w->text, ": its trace may be from another time");
	snprintf(number, sizeof(number), "%lld", (long long)first->rank);
	add_finding(w, "clocks", number, NAN);
}

static void tell_clocks(struct work *w)
{
	tell_suspect(w);
	if (!w->in->clocks->differ || w->in->clocks->align == TRAWL_ALIGN_COLLECTIVES)
		return;
	tw_str_add_cstr(&w->text, "uncertain: rank clocks differ and are not aligned; waits "
				  "include the difference (--align collectives removes it)");
	add_finding(w, "clocks", NULL, NAN);
}

static bool have_stragglers(const struct work *w)
{
	return w->stragglers && (w->in->findings || percent(w->l.wait_ns, w->l.dur_ns) >=
							    TW_LIMIT_WAITS_MATTER_PERCENT);
}

static int judge(struct work *w)
{
	order_ranks(w);
	if (w->in->findings) {
		choose_found(w);
		tell_limits(w);
	} else {
		choose_stragglers(w);
	}
	if (!w->used)
		return 0;
	if (tw_visit_waits(w->in, add_kind, w) || w->texts.failed || w->kinds.failed)
		return TRAWL_ENOMEM;
	if (have_stragglers(w)) {
		tell_straggler(w);
		if (w->in->findings)
			tell_found_reason(w);
		else
			tell_reason(w);
	} else {
		tell_no_straggler(w);
	}
	tell_passed_on(w);
	tell_communication(w);
	tell_clocks(w);
	return tell_imbalance(w);
}

static int add_verdict(const struct tw_ranks_input *in, struct trawl_table *table)
{
	size_t count = in->job->count + 1;
	struct work w = { .in = in, .table = table };
	int status;

	tw_groups_init_values(&w.kinds, sizeof(struct kind_key), sizeof(struct kind),
			      in->allocator);
	tw_str_init(&w.text, in->allocator);
	tw_str_init(&w.ranks, in->allocator);
	w.order = tw_alloc_array(in->allocator, count, sizeof(*w.order));
	w.values = tw_alloc_array(in->allocator, count, sizeof(*w.values));
	w.named = tw_alloc_array(in->allocator, count, sizeof(*w.named));
	if (tw_lateness_build(&w.l, in) || tw_pool_init(&w.texts, in->allocator) || !w.order ||
	    !w.values || !w.named)
		return TRAWL_ENOMEM;
	status = judge(&w);
	return w.text.failed || w.ranks.failed ? TRAWL_ENOMEM : status;
}

const struct tw_ranks_table tw_ranks_table_verdict = {
	TW_TABLE("verdict", "conclusions from the collectives", columns, .keep_empty = true),
	.fill = add_verdict,
};
