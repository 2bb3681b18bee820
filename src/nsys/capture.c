#include "nsys/capture.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/search.h"
#include "base/sort.h"
#include "nsys/survey.h"
#include "nsys/work.h"

#include <string.h>

static const char *keep(struct tw_nsys_capture *c, struct tw_str *text)
{
	const char *kept =
		text->failed || !text->ptr ? NULL : tw_arena_copy(&c->arena, text->ptr, text->len);

	tw_str_release(text);
	return kept;
}

/* ---- rules */

#define DEFAULT_RULES "pithtrain"

static bool say_nothing(const struct tw_nsys_ranges *ranges)
{
	return !ranges->label_count && !ranges->window_count && !ranges->marker_count;
}

/* Other rules than those that have been tried: the ranges are read again. */
static int use_rules(struct tw_nsys_capture *c, const char *name, struct trawl_error *err)
{
	int status;

	tw_nsys_rules_release(&c->rules);
	tw_nsys_rules_init(&c->rules, c->source->allocator);
	if (!name)
		return 0;
	status = tw_nsys_rules_open(&c->rules, name, c->source->allocator, err);
	if (status)
		return status;
	tw_nsys_ranges_release(&c->ranges);
	return tw_nsys_ranges_read(&c->ranges, c->source, &c->rules, err);
}

static int choose_rules(struct tw_nsys_capture *c, struct tw_nsys_survey *survey,
			struct trawl_error *err)
{
	const char *preset = tw_nsys_survey_preset(survey);
	struct tw_str text;
	int status;

	tw_str_init(&text, c->source->allocator);
	if (preset)
		tw_str_addf(&text, "rules: %s (no --rules; of the presets it matches most ranges)",
			    preset);
	else
		tw_str_add_cstr(&text, "rules: none (no --rules, and no preset matches a range)");
	c->chosen = keep(c, &text);
	status = use_rules(c, preset, err);
	return status || c->chosen ? status : tw_no_memory(err);
}

/* ---- ranks */

static bool add_rank(struct tw_nsys_capture *c, int64_t process, int64_t rank, const char *label)
{
	if (!tw_list_grow(&c->ranks, &c->rank_capacity, c->rank_count, sizeof(*c->ranks),
			  c->source->allocator))
		return false;
	c->ranks[c->rank_count++] =
		(struct tw_nsys_rank){ .process = process, .rank = rank, .label = label };
	return true;
}

static uint64_t process_of(const void *context, uint32_t number)
{
	const struct tw_nsys_process *processes = context;

	return (uint64_t)processes[number].process;
}

/* Processes that have ranges, in their order. */
static uint32_t *sort_processes(const struct tw_nsys_ranges *ranges,
				const struct trawl_allocator *a)
{
	uint32_t *order = tw_alloc_array(a, ranges->process_count + 1, sizeof(*order)), i;

	for (i = 0; order && i < ranges->process_count; i++)
		order[i] = i;
	if (order && tw_sort(order, ranges->process_count, process_of, ranges->processes, a)) {
		tw_free(a, order, (ranges->process_count + 1) * sizeof(*order));
		return NULL;
	}
	return order;
}

static bool add_processes(struct tw_nsys_capture *c)
{
	const struct tw_nsys_ranges *ranges = &c->ranges;
	const struct trawl_allocator *a = c->source->allocator;
	uint32_t *order = sort_processes(ranges, a), i;
	bool good = order != NULL;

	for (i = 0; i < ranges->process_count && good; i++) {
		const struct tw_nsys_process *p = &ranges->processes[order[i]];

		if (p->label || c->numbered)
			good = add_rank(c, p->process, p->label ? p->rank : (int64_t)c->rank_count,
					p->label);
	}
	if (order)
		tw_free(a, order, (ranges->process_count + 1) * sizeof(*order));
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
	for (i = 0; i < workers.count && good; i++)
		good = add_rank(c, workers.at[i].process, (int64_t)i, NULL);
	c->workers = workers.count > 0;
	if (!workers.count && !status)
		good = add_processes(c);
	tw_nsys_workers_release(&workers);
	return status || good ? status : tw_no_memory(err);
}

/* The rank of a process, NULL: it is none.  Ranks are by process. */
static struct tw_nsys_rank *find_rank(const struct tw_nsys_capture *c, int64_t process)
{
	size_t low = TW_LOWER_BOUND(at, 0, c->rank_count, c->ranks[at].process < process);

	return low < c->rank_count && c->ranks[low].process == process ? &c->ranks[low] : NULL;
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
	for (i = 0; i < c->rank_count; i++) {
		if (list.len < 400)
			tw_str_addf(&list, "%s%lld", i ? ", " : "", (long long)c->ranks[i].rank);
		if (c->ranks[i].rank == wanted)
			c->ranks[kept++] = c->ranks[i];
	}
	if (!kept)
		status = trawl_error_set(err, TRAWL_EUSAGE, "no rank %lld; there are: %s%s",
					 (long long)wanted, list.len ? list.ptr : "none",
					 list.len >= 400 ? ", ..." : "");
	c->rank_count = kept;
	tw_str_release(&list);
	return status;
}

static int read_ranges(struct tw_nsys_capture *c, const char *rules, struct trawl_error *err)
{
	int status = tw_nsys_rules_open(&c->rules, rules, c->source->allocator, err);

	return status ? status : tw_nsys_ranges_read(&c->ranges, c->source, &c->rules, err);
}

static int find_rules(struct tw_nsys_capture *c, struct trawl_error *err)
{
	const char *given = c->options->rules;
	struct tw_nsys_survey survey = { .allocator = c->source->allocator };
	struct tw_str text;
	int status = read_ranges(c, given ? given : DEFAULT_RULES, err);

	if (status)
		return status;
	tw_str_init(&text, c->source->allocator);
	tw_str_addf(&text, "rules: %s%s", c->rules.name, given ? " (--rules)" : "");
	c->chosen = keep(c, &text);
	if (!c->chosen)
		return tw_no_memory(err);
	if (given || !say_nothing(&c->ranges))
		return 0;
	status = tw_nsys_survey_read(&survey, c->source, err);
	if (!status)
		status = choose_rules(c, &survey, err);
	tw_nsys_survey_release(&survey);
	return status;
}

int tw_nsys_capture_open(struct tw_nsys_capture *c, struct tw_nsys_source *source,
			 const struct tw_nsys_options *options, struct trawl_error *err)
{
	const struct trawl_allocator *a = source->allocator;
	int status;

	*c = (struct tw_nsys_capture){ .source = source, .options = options };
	tw_arena_init(&c->arena, a);
	tw_nsys_rules_init(&c->rules, a);
	c->ranges.allocator = c->kernels.allocator = a;
	tw_arena_init(&c->ranges.arena, a);
	tw_nsys_launches_init(&c->launches, false, a);
	status = find_rules(c, err);
	if (!status)
		status = find_ranks(c, err);
	return status ? status : select_rank(c, err);
}

/* What tw_nsys_capture_kernels() has read. */
static void release_kernels(struct tw_nsys_capture *c)
{
	tw_nsys_kernels_release(&c->kernels);
	if (c->rank_of_window)
		tw_free(c->source->allocator, c->rank_of_window,
			(c->rank_count + 1) * sizeof(*c->rank_of_window));
	c->rank_of_window = NULL;
}

void tw_nsys_capture_release(struct tw_nsys_capture *c)
{
	const struct trawl_allocator *a = c->source->allocator;

	tw_nsys_rules_release(&c->rules);
	tw_nsys_ranges_release(&c->ranges);
	release_kernels(c);
	tw_nsys_launches_release(&c->launches);
	tw_free(a, c->ranks, c->rank_capacity * sizeof(*c->ranks));
	tw_arena_release(&c->arena);
}

/* ---- windows */

static uint64_t window_start(const void *context, uint32_t number)
{
	return tw_sort_key(((const struct tw_nsys_range *)context)[number].start_ns);
}

static uint64_t window_end(const void *context, uint32_t number)
{
	return tw_sort_key(((const struct tw_nsys_range *)context)[number].end_ns);
}

/* Of several rules for windows the first one that a process has ranges of counts. */
static uint64_t window_group(const void *context, uint32_t number)
{
	const struct tw_nsys_range *range = &((const struct tw_nsys_range *)context)[number];

	return (uint64_t)range->process << 32 | range->rule;
}

static bool is_same_window(const struct tw_nsys_range *a, const struct tw_nsys_range *b)
{
	return a->process == b->process && a->rule == b->rule && a->start_ns == b->start_ns &&
	       a->end_ns == b->end_ns;
}

/* The candidates by process, rule, start and end; *count: less those recorded twice. */
static uint32_t *sort_windows(const struct tw_nsys_ranges *r, size_t *count,
			      const struct trawl_allocator *a)
{
	static tw_sort_key_of *const keys[] = { window_end, window_start, window_group };
	uint32_t *order = tw_alloc_array(a, r->window_count + 1, sizeof(*order));
	bool good = order != NULL;
	size_t i;

	for (i = 0; good && i < r->window_count; i++)
		order[i] = (uint32_t)i;
	for (i = 0; good && i < sizeof(keys) / sizeof(*keys); i++)
		good = !tw_sort(order, r->window_count, keys[i], r->windows, a);
	for (i = 0, *count = 0; good && i < r->window_count; i++)
		if (!*count ||
		    !is_same_window(&r->windows[order[*count - 1]], &r->windows[order[i]]))
			order[(*count)++] = order[i];
	if (!good && order)
		tw_free(a, order, (r->window_count + 1) * sizeof(*order));
	return good ? order : NULL;
}

/* "median of 59 'forward chunk...' ranges" */
static const char *rule_of_window(struct tw_nsys_capture *c, const struct tw_nsys_range *range,
				  size_t count, const struct tw_nsys_busiest *busiest)
{
	const struct tw_nsys_rule *rule = busiest ? NULL : &c->rules.rules[range->rule];
	struct tw_str text;

	tw_str_init(&text, c->source->allocator);
	if (busiest)
		tw_str_addf(&text, "busiest repeated range: median of %zu", count);
	else
		tw_str_addf(&text, "median of %zu '%s' ranges", count,
			    *rule->value ? rule->value : rule->pattern);
	return keep(c, &text);
}

/* The median of the candidates of a process: order[first] to order[last - 1]. */
static int median_window(struct tw_nsys_capture *c, struct tw_nsys_rank *rank,
			 const uint32_t *order, size_t first, size_t last,
			 const struct tw_nsys_busiest *busiest, struct trawl_error *err)
{
	const struct tw_nsys_range *range = &c->ranges.windows[order[first + (last - first) / 2]];

	rank->windowed = true;
	rank->start_ns = range->start_ns;
	rank->end_ns = range->end_ns;
	rank->rule = rule_of_window(c, range, last - first, busiest);
	return rank->rule ? tw_nsys_range_name(c->source, &c->arena, range->row, &rank->name, err) :
			    tw_no_memory(err);
}

/* Medians for all ranks that have candidates. */
static int median_windows(struct tw_nsys_capture *c, const struct tw_nsys_survey *survey,
			  struct trawl_error *err)
{
	const struct tw_nsys_ranges *r = &c->ranges;
	size_t first, last, count;
	uint32_t *order = sort_windows(r, &count, c->source->allocator);
	int status = order ? 0 : tw_no_memory(err);

	for (first = 0; first < count && !status; first = last) {
		uint64_t group = window_group(r->windows, order[first]);
		struct tw_nsys_rank *rank =
			find_rank(c, r->processes[r->windows[order[first]].process].process);

		for (last = first + 1;
		     last < count && window_group(r->windows, order[last]) == group; last++)
			;
		if (rank && !rank->windowed)
			status = median_window(
				c, rank, order, first, last,
				survey ? tw_nsys_survey_busiest(survey, rank->process) : NULL, err);
	}
	if (order)
		tw_free(c->source->allocator, order, (r->window_count + 1) * sizeof(*order));
	return status;
}

/* The middle half of a process's work on the GPU. */
static void middle_windows(struct tw_nsys_capture *c, const struct tw_nsys_workers *workers)
{
	size_t i;

	for (i = 0; i < workers->count; i++) {
		const struct tw_nsys_work *w = &workers->at[i];
		int64_t quarter = (w->last_ns - w->first_ns) / 4;
		struct tw_nsys_rank *rank = find_rank(c, w->process);

		if (!rank || rank->windowed)
			continue;
		rank->windowed = true;
		rank->start_ns = w->first_ns + quarter;
		rank->end_ns = w->last_ns - quarter;
		rank->rule = "middle of the trace: half of the time of its GPU work";
	}
}

/*
 * Forgets windows that were guessed by ranges and in which no kernel runs: the GPU may be far
 * behind the host, or the ranges those of a thread that launches nothing.
 */
static int drop_empty_windows(struct tw_nsys_capture *c, struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	size_t bytes = c->rank_count + 1, i;
	bool *busy = tw_alloc_array(a, bytes, sizeof(*busy));
	int status = busy ? tw_nsys_capture_kernels(c, false, err) : tw_no_memory(err);

	for (i = 0; !status && i < c->kernels.stream_count; i++)
		busy[c->rank_of_window[c->kernels.streams[i].window]] = true;
	for (i = 0; !status && c->kernels.table && i < c->rank_count; i++)
		if (c->ranks[i].windowed && !busy[i]) {
			c->ranks[i].windowed = false;
			c->ranks[i].name = NULL;
		}
	release_kernels(c);
	tw_free(a, busy, bytes * sizeof(*busy));
	return status;
}

/* No rule knows the steady state: what is repeated, else the middle. */
static int guess_windows(struct tw_nsys_capture *c, struct trawl_error *err)
{
	struct tw_nsys_workers workers;
	struct tw_nsys_survey survey;
	int status = tw_nsys_workers_read(&workers, c->source, err);

	if (status) {
		tw_nsys_workers_release(&workers);
		return status;
	}
	status = tw_nsys_survey_read(&survey, c->source, err);
	if (!status) {
		tw_nsys_survey_limit(&survey, &workers);
		status = tw_nsys_survey_windows(&survey, c->source, &c->ranges, err);
	}
	if (!status)
		status = median_windows(c, &survey, err);
	if (!status)
		status = drop_empty_windows(c, err);
	if (!status)
		middle_windows(c, &workers);
	tw_nsys_survey_release(&survey);
	tw_nsys_workers_release(&workers);
	return status;
}

static void tell_windowless(struct tw_nsys_capture *c)
{
	size_t i, k;

	for (i = 0; i < c->rank_count; i++) {
		const struct tw_nsys_rank *rank = &c->ranks[i];

		if (rank->windowed)
			continue;
		tw_str_addf(&c->source->troubles,
			    "rank %lld (pid %lld) is left out: no range for its window",
			    (long long)rank->rank, (long long)tw_nsys_pid(rank->process));
		for (k = 0; k < c->rules.count; k++)
			if (c->rules.rules[k].kind == TW_NSYS_WINDOW)
				tw_str_addf(&c->source->troubles, " ('%s')",
					    *c->rules.rules[k].value ? c->rules.rules[k].value :
								       c->rules.rules[k].pattern);
		tw_str_add_cstr(&c->source->troubles, "; give --start and --end\n");
	}
}

int tw_nsys_capture_windows(struct tw_nsys_capture *c, struct trawl_error *err)
{
	int status = 0;
	size_t i;

	for (i = 0; i < c->rank_count && c->options->window; i++) {
		c->ranks[i].windowed = true;
		c->ranks[i].start_ns = c->options->start_ns;
		c->ranks[i].end_ns = c->options->end_ns;
		c->ranks[i].rule = "--start/--end";
	}
	if (!c->options->window)
		status = c->ranges.window_count ? median_windows(c, NULL, err) :
						  guess_windows(c, err);
	if (!status)
		tell_windowless(c);
	return status;
}

/* ---- kernels */

int tw_nsys_capture_kernels(struct tw_nsys_capture *c, bool compute_spans, struct trawl_error *err)
{
	const struct trawl_allocator *a = c->source->allocator;
	struct tw_nsys_window *windows = tw_alloc_array(a, c->rank_count + 1, sizeof(*windows));
	struct tw_nsys_kernels_wanted wanted = { .windows = windows,
						 .rules = &c->rules,
						 .compute_spans = compute_spans };
	int status = TRAWL_ENOMEM;
	size_t i;

	c->rank_of_window = tw_alloc_array(a, c->rank_count + 1, sizeof(*c->rank_of_window));
	for (i = 0; windows && c->rank_of_window && i < c->rank_count; i++) {
		const struct tw_nsys_rank *rank = &c->ranks[i];

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
	if (windows)
		tw_free(a, windows, (c->rank_count + 1) * sizeof(*windows));
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
	for (i = 0; i < c->rank_count; i++)
		if (c->ranks[i].windowed && c->ranks[i].end_ns == TW_NSYS_OPEN)
			c->ranks[i].end_ns = end;
	for (i = 0; i < c->ranges.marker_count; i++)
		if (c->ranges.markers[i].end_ns == TW_NSYS_OPEN)
			c->ranges.markers[i].end_ns = end;
	c->ranges.end_ns = end;
	return status;
}
