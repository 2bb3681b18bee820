/*
 * Which processes of an export are ranks: those with work on a GPU, or a label of a trainer, as
 * `nsys setup` reads it (data/nsys_rules/).  The label is the number; without one it is not known.
 */
#include "trace/nsys.h"

#include "base/alloc.h"
#include "base/list.h"
#include "data/tables.h"
#include "nsys/rules.h"
#include "store/parts.h"

#include <stdlib.h>

/* A process of the trace. */
struct process {
	tw_code pid;
	bool works; /* has work on a GPU */
	tw_code device;
	int64_t rank, label_start; /* -1: no label */
};

struct finding {
	struct trawl_trace *trace;
	const struct trawl_allocator *allocator; /* until all is found */
	TW_LIST(struct process) processes;
	struct tw_ids by_pid;  /* into processes */
	uint32_t *process_of;  /* by track */
	int64_t *rank_of_name; /* by text id: the rank that a label says, -1: it is none */
	bool labels;
};

/* ---- processes */

static int list_processes(struct finding *f)
{
	const struct trawl_trace *trace = f->trace;
	uint32_t t, known;

	for (t = 0; t < trace->track_count; t++) {
		struct process process = { trace->tracks[t].pid, false, TW_CODE_NONE, -1,
					   INT64_MAX };

		known = tw_ids_get(&f->by_pid, process.pid);
		if (known == TW_IDS_NONE) {
			known = (uint32_t)f->processes.count;
			if (!TW_LIST_ADD(&f->processes, &process, f->allocator) ||
			    !tw_ids_put(&f->by_pid, process.pid, known, f->allocator))
				return -1;
		}
		f->process_of[t] = known;
	}
	return 0;
}

/* ---- labels */

static void look_for_labels(struct finding *f, const struct tw_matcher *matcher,
			    struct tw_str *text)
{
	const struct tw_pool *texts = &f->trace->texts;
	uint32_t id;

	for (id = 1; id < texts->count; id++) {
		const struct tw_pool_entry *name = &texts->entries[id];
		int64_t rank;

		if (f->rank_of_name[id] >= 0 ||
		    !tw_matcher_might(matcher, 1u << TW_NSYS_LABEL, name->ptr, name->len))
			continue;
		tw_str_clear(text);
		if (!tw_matcher_find(matcher, TW_NSYS_LABEL, name->ptr, name->len, text) ||
		    text->failed || !text->ptr)
			continue;
		rank = tw_nsys_label_rank(text->ptr);
		if (rank < 0)
			continue;
		f->rank_of_name[id] = rank;
		f->labels = true;
	}
}

static bool has_labels(const struct tw_nsys_rules *rules)
{
	size_t i = 0;

	while (i < rules->count && rules->rules[i].kind != TW_NSYS_LABEL)
		i++;
	return i < rules->count;
}

/* By the labels of all presets: rules of one trainer do not match names of others. */
static int read_labels(struct finding *f)
{
	struct tw_nsys_rules rules;
	struct tw_matcher matcher;
	struct trawl_error err;
	struct tw_str text;
	bool good = true;
	size_t i;

	tw_str_init(&text, f->allocator);
	for (i = 0; i < tw_nsys_preset_count && good; i++) {
		if (tw_nsys_rules_open(&rules, tw_nsys_presets[i].name, f->allocator, &err))
			return -1;
		if (!has_labels(&rules))
			continue;
		good = tw_matcher_init(&matcher, &rules, f->allocator);
		if (good)
			look_for_labels(f, &matcher, &text);
		tw_matcher_release(&matcher);
		good = good && !text.failed;
	}
	return good ? 0 : -1;
}

/* ---- what processes do */

static void take_label(struct process *p, int64_t rank, int64_t start)
{
	if (p->rank >= 0 && !tw_nsys_is_better_label(start, p->label_start))
		return;
	p->rank = rank;
	p->label_start = start;
}

static void look_at_events(struct finding *f)
{
	const struct trawl_trace *trace = f->trace;
	const struct tw_events *events = &trace->events;
	uint64_t i;

	for (i = 0; i < events->count; i++) {
		struct process *p = &f->processes.at[f->process_of[events->track[i]]];
		tw_code device = trace->tracks[events->track[i]].device;

		if (tw_class_is_gpu(tw_class(trace, i))) {
			if (events->phase[i] != 'X')
				continue;
			if (!p->works || tw_code_compare(trace, device, p->device) < 0)
				p->device = device;
			p->works = true;
		} else if (f->labels && events->phase[i] != 'M' &&
			   f->rank_of_name[events->name[i]] >= 0) {
			take_label(p, f->rank_of_name[events->name[i]], events->start_ns[i]);
		}
	}
}

/* ---- ranks */

struct rank {
	const struct trawl_trace *trace;
	uint32_t process;
	bool works;
	int64_t rank;
	tw_code device, pid;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->works != y->works)
		return x->works ? -1 : 1;
	if (x->device != y->device)
		return tw_code_compare(x->trace, x->device, y->device);
	return tw_code_compare(x->trace, x->pid, y->pid);
}

/* Processes that have a label or work, in order. */
static uint32_t list_ranks(const struct finding *f, struct rank *ranks)
{
	uint32_t n = 0, i;

	for (i = 0; i < f->processes.count; i++) {
		const struct process *p = &f->processes.at[i];

		if (p->rank >= 0 || p->works)
			ranks[n++] =
				(struct rank){ f->trace, i, p->works, p->rank, p->device, p->pid };
	}
	qsort(ranks, n, sizeof(*ranks), compare_ranks);
	return n;
}

/* A label of several processes that work on GPUs does not say which rank each is. */
static void drop_labels(struct rank *ranks, uint32_t n)
{
	uint32_t i, k;

	for (i = 0; i < n; i = k) {
		for (k = i + 1; k < n && ranks[k].works && ranks[k].rank == ranks[i].rank; k++)
			ranks[k].rank = -1;
		if (k > i + 1)
			ranks[i].rank = -1;
	}
	qsort(ranks, n, sizeof(*ranks), compare_ranks);
}

static int take_ranks(struct finding *f, struct rank *ranks, uint32_t *part_of)
{
	struct trawl_trace *trace = f->trace;
	uint32_t listed = list_ranks(f, ranks), n = 0, i;

	drop_labels(ranks, listed);
	for (i = 0; i < f->processes.count; i++)
		part_of[i] = TW_NO_PART;
	for (i = 0; i < listed; i++) {
		/* Processes beside the one that works have its label too. */
		n += !i || ranks[i].rank < 0 || ranks[i].rank != ranks[i - 1].rank;
		part_of[ranks[i].process] = n - 1;
	}
	if (n == 1 && ranks[0].rank >= 0) {
		trace->rank = ranks[0].rank;
		trace->labelled = true;
	}
	if (n < 2)
		return 0;
	if (tw_trace_new_parts(trace, n))
		return -1;
	for (i = 0; i < listed; i++)
		trace->rank_parts[part_of[ranks[i].process]].rank = ranks[i].rank;
	for (i = 0; i < trace->track_count; i++)
		trace->part_of_track[i] = part_of[f->process_of[i]];
	return 0;
}

int tw_export_find_ranks(struct tw_export_part *part)
{
	struct trawl_trace *trace = part->trace;
	const struct trawl_allocator *a = part->rows.allocator;
	size_t tracks = (size_t)trace->track_count + 1, texts = trace->texts.count, i;
	struct finding f = { .trace = trace, .allocator = a };
	struct rank *ranks = tw_alloc_array(a, tracks, sizeof(*ranks));
	uint32_t *part_of = tw_alloc_array(a, tracks, sizeof(*part_of));
	int status = -1;

	/* For who draws arrows, when nothing can be added to texts any more. */
	tw_export_category(part, TW_EXPORT_ARROWS, TRAWL_CLASS_OTHER);
	texts = trace->texts.count;
	f.process_of = tw_alloc_array(a, tracks, sizeof(*f.process_of));
	f.rank_of_name = tw_alloc_array(a, texts, sizeof(*f.rank_of_name));
	if (ranks && part_of && f.process_of && f.rank_of_name) {
		for (i = 0; i < texts; i++)
			f.rank_of_name[i] = -1;
		status = list_processes(&f) || read_labels(&f) ? -1 : 0;
		if (!status) {
			look_at_events(&f);
			status = take_ranks(&f, ranks, part_of);
		}
	}
	return status;
}
