#include "nsys/capture.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/order.h"
#include "base/sort.h"
#include "nsys/survey.h"
#include "nsys/work.h"

#include <stdlib.h>
#include <string.h>

/* ---- rules */

#define DEFAULT_RULES "pithtrain"

/* These rules, in the place of any that have been tried; NULL: none. */
static int use_rules(struct tw_nsys_capture *c, const char *name, const struct tw_str *why,
		     struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	int status = why->failed ? tw_no_memory(err) : 0;

	c->chosen = why->ptr;
	tw_nsys_rules_init(&c->rules, a);
	if (name && !status)
		status = tw_nsys_rules_open(&c->rules, name, a, err);
	if (name && !status)
		status = tw_nsys_ranges_read(&c->ranges, c->source, &c->rules, err);
	return status;
}

/* The preset that says most of the ranges. */
static int choose_rules(struct tw_nsys_capture *c, struct trawl_error *err)
{
	struct tw_nsys_survey survey;
	struct tw_str why;
	const char *preset;
	int status = tw_nsys_survey_read(&survey, c->source, err);

	if (status)
		return status;
	tw_str_init(&why, c->source->allocator);
	preset = tw_nsys_survey_preset(&survey);
	if (preset)
		tw_str_addf(&why, "rules: %s (no --rules: preset with the most matching ranges)",
			    preset);
	else
		tw_str_add_cstr(&why, "rules: none (no --rules, and no preset matches a range)");
	return use_rules(c, preset, &why, err);
}

static int find_rules(struct tw_nsys_capture *c, struct trawl_error *err)
{
	const char *given = c->options->rules;
	struct tw_str why;
	int status;

	tw_str_init(&why, c->source->allocator);
	tw_str_addf(&why, "rules: %s%s", given ? given : DEFAULT_RULES, given ? " (--rules)" : "");
	status = use_rules(c, given ? given : DEFAULT_RULES, &why, err);
	if (status || given || c->ranges.label_count || c->ranges.windows.count ||
	    c->ranges.markers.count)
		return status;
	return choose_rules(c, err);
}

/* ---- ranks */

static bool add_rank(struct tw_nsys_capture *c, int64_t process, int64_t rank, const char *label)
{
	struct tw_nsys_rank added = { .process = process, .rank = rank, .label = label };

	return TW_LIST_ADD(&c->ranks, &added, c->source->allocator);
}

static int by_process(const void *a, const void *b)
{
	const struct tw_nsys_rank *x = a, *y = b;

	return TW_ORDER_BY(x, y, process);
}

/* Processes that have a label; where none has, all that have ranges. */
static bool add_processes(struct tw_nsys_capture *c)
{
	bool good = true;
	size_t i;

	for (i = 0; i < c->ranges.processes.count && good; i++) {
		const struct tw_nsys_process *p = &c->ranges.processes.at[i];

		if (p->label || c->numbered)
			good = add_rank(c, p->process, p->rank, p->label);
	}
	return good;
}

/* Labelled processes; without labels those with work on the GPU, else those with ranges. */
static int find_ranks(struct tw_nsys_capture *c, struct trawl_error *err)
{
	struct tw_nsys_workers workers = { .allocator = c->source->allocator };
	bool good = true;
	int status = 0;
	size_t i;

	c->numbered = !c->ranges.label_count;
	if (c->numbered)
		status = tw_nsys_workers_read(&workers, c->source, err);
	for (i = 0; i < workers.list.count && good; i++)
		good = add_rank(c, workers.list.at[i].process, 0, NULL);
	c->workers = workers.list.count > 0;
	if (!c->workers && !status)
		good = add_processes(c);
	if (c->ranks.count)
		qsort(c->ranks.at, c->ranks.count, sizeof(*c->ranks.at), by_process);
	for (i = 0; c->numbered && i < c->ranks.count; i++)
		c->ranks.at[i].rank = (int64_t)i;
	return status || good ? status : tw_no_memory(err);
}

/* The rank of a process, NULL: it is none.  Ranks are by process. */
static struct tw_nsys_rank *find_rank(const struct tw_nsys_capture *c, int64_t process)
{
	size_t low = TW_LOWER_BOUND(at, 0, c->ranks.count, c->ranks.at[at].process < process);

	return low < c->ranks.count && c->ranks.at[low].process == process ? &c->ranks.at[low] :
									     NULL;
}

/* Leaves the rank that is asked for; TRAWL_EUSAGE names those that there are. */
static int select_rank(struct tw_nsys_capture *c, struct trawl_error *err)
{
	int64_t wanted = c->options->rank;
	struct tw_str list;
	size_t i, kept = 0;
	int status = 0;

	if (wanted < 0)
		return 0;
	tw_str_init(&list, c->source->allocator);
	for (i = 0; i < c->ranks.count; i++) {
		if (list.len < 400)
			tw_str_addf(&list, "%s%lld", i ? ", " : "", (long long)c->ranks.at[i].rank);
		if (c->ranks.at[i].rank == wanted)
			c->ranks.at[kept++] = c->ranks.at[i];
	}
	if (!kept)
		status = trawl_error_set(err, TRAWL_EUSAGE, "no rank %lld; ranks: %s%s",
					 (long long)wanted, list.len ? list.ptr : "none",
					 list.len >= 400 ? ", ..." : "");
	c->ranks.count = kept;
	tw_str_release(&list);
	return status;
}

int tw_nsys_capture_open(struct tw_nsys_capture *c, struct tw_nsys_source *source,
			 const struct trawl_nsys_options *options, struct trawl_error *err)
{
	const struct trawl_allocator *a = source->allocator;
	int status;

	*c = (struct tw_nsys_capture){ .source = source, .options = options };
	tw_arena_init(&c->arena, a);
	tw_nsys_rules_init(&c->rules, a);
	c->ranges.allocator = c->kernels.allocator = a;
	tw_arena_init(&c->ranges.arena, a);
	tw_nsys_launches_init(&c->launches, a);
	status = find_rules(c, err);
	if (!status)
		status = find_ranks(c, err);
	return status ? status : select_rank(c, err);
}

/* ---- windows */

static bool is_same_group(const struct tw_nsys_range *a, const struct tw_nsys_range *b)
{
	return a->process == b->process && a->rule == b->rule;
}

/* By process, rule, start, end, and then in the order of the file. */
static int window_order(const void *a, const void *b)
{
	const struct tw_nsys_range *x = a, *y = b;

	return TW_ORDER_BY(x, y, process) ?: TW_ORDER_BY(x, y, rule, start_ns, end_ns, row);
}

/* Puts the candidates in order, less those recorded twice. */
static void sort_windows(struct tw_nsys_ranges *r)
{
	struct tw_nsys_range *w = r->windows.at;
	size_t i, kept = 0;

	if (r->windows.count)
		qsort(w, r->windows.count, sizeof(*w), window_order);
	for (i = 0; i < r->windows.count; i++)
		if (!kept || !is_same_group(&w[kept - 1], &w[i]) ||
		    w[kept - 1].start_ns != w[i].start_ns || w[kept - 1].end_ns != w[i].end_ns)
			w[kept++] = w[i];
	r->windows.count = kept;
}

/* "median of 59 'forward chunk...' ranges" */
static const char *rule_of_window(struct tw_nsys_capture *c, const struct tw_nsys_range *range,
				  size_t count, bool guessed)
{
	const struct tw_nsys_rule *rule = guessed ? NULL : &c->rules.rules[range->rule];
	struct tw_str text;

	tw_str_init(&text, c->source->allocator);
	if (guessed)
		tw_str_addf(&text, "busiest repeated range: median of %zu", count);
	else
		tw_str_addf(&text, "median of %zu '%s' ranges", count,
			    *rule->value ? rule->value : rule->pattern);
	return text.failed ? NULL : text.ptr;
}

/* The median of the candidates of a process. */
static int median_window(struct tw_nsys_capture *c, struct tw_nsys_rank *rank,
			 const struct tw_nsys_range *candidates, size_t count, bool guessed,
			 struct trawl_error *err)
{
	const struct tw_nsys_range *range = &candidates[count / 2];

	rank->windowed = true;
	rank->start_ns = range->start_ns;
	rank->end_ns = range->end_ns;
	rank->rule = rule_of_window(c, range, count, guessed);
	return rank->rule ? tw_nsys_range_name(c->source, &c->arena, range->row, &rank->name, err) :
			    tw_no_memory(err);
}

/*
 * Medians for all ranks that have candidates, of rules or `guessed`: of several rules the first that
 * they have some of.
 */
static int median_windows(struct tw_nsys_capture *c, bool guessed, struct trawl_error *err)
{
	const struct tw_nsys_ranges *r = &c->ranges;
	const struct tw_nsys_range *w = r->windows.at;
	size_t first, last;
	int status = 0;

	sort_windows(&c->ranges);
	for (first = 0; first < r->windows.count && !status; first = last) {
		struct tw_nsys_rank *rank = find_rank(c, r->processes.at[w[first].process].process);

		for (last = first + 1;
		     last < r->windows.count && is_same_group(&w[first], &w[last]); last++)
			;
		if (rank && !rank->windowed)
			status = median_window(c, rank, &w[first], last - first, guessed, err);
	}
	return status;
}

/* The middle half of a process's work on the GPU. */
static void middle_windows(struct tw_nsys_capture *c, const struct tw_nsys_workers *workers)
{
	size_t i;

	for (i = 0; i < workers->list.count; i++) {
		const struct tw_nsys_work *w = &workers->list.at[i];
		int64_t quarter = (w->last_ns - w->first_ns) / 4;
		struct tw_nsys_rank *rank = find_rank(c, w->process);

		if (!rank || rank->windowed)
			continue;
		rank->windowed = true;
		rank->start_ns = w->first_ns + quarter;
		rank->end_ns = w->last_ns - quarter;
		rank->rule = "middle of the trace: half of its GPU time";
	}
}

/*
 * Forgets windows that were guessed by ranges and in which no kernel runs: the GPU may be far
 * after the host, or the ranges those of a thread that launches nothing.
 */
static int drop_empty_windows(struct tw_nsys_capture *c, struct trawl_error *err)
{
	bool *busy = tw_alloc_array(c->source->allocator, c->ranks.count + 1, sizeof(*busy));
	int status = busy ? tw_nsys_capture_kernels(c, false, err) : tw_no_memory(err);
	size_t i;

	for (i = 0; !status && i < c->kernels.streams.count; i++)
		busy[c->rank_of_window[c->kernels.streams.at[i].window]] = true;
	for (i = 0; !status && c->kernels.table && i < c->ranks.count; i++)
		if (c->ranks.at[i].windowed && !busy[i]) {
			c->ranks.at[i].windowed = false;
			c->ranks.at[i].name = NULL;
		}
	tw_nsys_kernels_release(&c->kernels);
	return status;
}

/* No rule knows the steady state: what is repeated, else the middle. */
static int guess_windows(struct tw_nsys_capture *c, struct trawl_error *err)
{
	struct tw_nsys_workers workers;
	struct tw_nsys_survey survey;
	int status = tw_nsys_workers_read(&workers, c->source, err);

	if (!status)
		status = tw_nsys_survey_read(&survey, c->source, err);
	if (!status) {
		tw_nsys_survey_limit(&survey, &workers);
		status = tw_nsys_survey_windows(&survey, c->source, &c->ranges, err);
	}
	if (!status)
		status = median_windows(c, true, err);
	if (!status)
		status = drop_empty_windows(c, err);
	if (!status)
		middle_windows(c, &workers);
	return status;
}

static void tell_windowless(struct tw_nsys_capture *c)
{
	size_t i, k;

	for (i = 0; i < c->ranks.count; i++) {
		const struct tw_nsys_rank *rank = &c->ranks.at[i];

		if (rank->windowed)
			continue;
		tw_str_addf(&c->source->troubles,
			    "rank %lld (pid %lld) skipped: no range for its window",
			    (long long)rank->rank, (long long)tw_nsys_pid(rank->process));
		for (k = 0; k < c->rules.count; k++)
			if (c->rules.rules[k].kind == TW_NSYS_WINDOW)
				tw_str_addf(&c->source->troubles, " ('%s')",
					    *c->rules.rules[k].value ? c->rules.rules[k].value :
								       c->rules.rules[k].pattern);
		tw_str_note(&c->source->troubles, "; give --start and --end");
	}
}

int tw_nsys_capture_windows(struct tw_nsys_capture *c, struct trawl_error *err)
{
	int status = 0;
	size_t i;

	for (i = 0; i < c->ranks.count && c->options->window; i++) {
		c->ranks.at[i].windowed = true;
		c->ranks.at[i].start_ns = c->options->start_ns;
		c->ranks.at[i].end_ns = c->options->end_ns;
		c->ranks.at[i].rule = "--start/--end";
	}
	if (!c->options->window)
		status = c->ranges.windows.count ? median_windows(c, false, err) :
						   guess_windows(c, err);
	if (!status)
		tell_windowless(c);
	return status;
}

/* ---- kernels */

int tw_nsys_capture_kernels(struct tw_nsys_capture *c, bool compute_spans, struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	struct tw_nsys_window *windows = tw_alloc_array(a, c->ranks.count + 1, sizeof(*windows));
	struct tw_nsys_kernels_wanted wanted = { .windows = windows,
						 .rules = &c->rules,
						 .compute_spans = compute_spans };
	int status = TRAWL_ENOMEM;
	size_t i;

	c->rank_of_window = tw_alloc_array(a, c->ranks.count + 1, sizeof(*c->rank_of_window));
	for (i = 0; windows && c->rank_of_window && i < c->ranks.count; i++) {
		const struct tw_nsys_rank *rank = &c->ranks.at[i];

		if (!rank->windowed)
			continue;
		c->rank_of_window[wanted.count] = (uint32_t)i;
		windows[wanted.count++] =
			(struct tw_nsys_window){ rank->process, rank->start_ns, rank->end_ns };
	}
	if (windows && c->rank_of_window)
		status = tw_nsys_kernels_read(&c->kernels, c->source, &wanted, err);
	else
		tw_no_memory(err);
	return status;
}

int tw_nsys_capture_end(struct tw_nsys_capture *c, bool kernels, bool calls,
			struct trawl_error *err)
{
	bool open = c->ranges.open;
	int64_t end = c->ranges.end_ns;
	int status = 0;
	size_t i;

	if (!open)
		return 0;
	if (c->kernels.end_ns > end)
		end = c->kernels.end_ns;
	if (c->launches.end_ns > end)
		end = c->launches.end_ns;
	status = tw_nsys_latest(c->source, kernels, calls, &end, err);
	for (i = 0; i < c->ranks.count; i++)
		if (c->ranks.at[i].windowed && c->ranks.at[i].end_ns == TW_NSYS_OPEN)
			c->ranks.at[i].end_ns = end;
	for (i = 0; i < c->ranges.markers.count; i++)
		if (c->ranges.markers.at[i].end_ns == TW_NSYS_OPEN)
			c->ranges.markers.at[i].end_ns = end;
	return status;
}
