#include "standalone/system/multi_kernel.h"

#include "analysis/analysis.h"
#include "analysis/gpu/memory_copies.h"
#include "analysis/launches/host_names.h"
#include "base/alloc.h"

#include <math.h>

#define TOP_OPERATIONS 10
#define TOP_CALLERS 5

/* ---- members */

#define F(kind, member, key, ...) TW_FIELD(struct tw_asker, kind, member, key, __VA_ARGS__)
static const struct tw_member asker_fields[] = {
	F(TEXT, operation, "operation"),
	F(TEXT, python, "python"),
	F(COUNT, count, "count"),
	F(NS, total_ns, "total_time_us", 3),
};
#undef F
const struct tw_fields tw_asker_fields = TW_FIELDS(struct tw_asker, asker_fields, .inlined = true);

#define F(kind, member, key, ...) TW_FIELD(struct tw_copies, kind, member, key, __VA_ARGS__)
static const struct tw_member copies_fields[] = {
	F(COUNT, count, "count", .needed = true),
	F(NS, total_ns, "total_time_us", 3, .needed = true),
	F(REAL, mean_us, "avg_time_us", 3),
	F(NS, max_ns, "max_time_us", 3),
	F(REAL, total_bytes, "total_bytes"),
	F(REAL, mean_bytes, "avg_bytes", 2),
	F(COUNT, count_with_bytes, "count_with_bytes"),
	F(NS, exposed_ns, "exposed_time_us", 3),
	F(REAL, caller_count, "caller_count", .if_known = true),
	F(LIST, callers, "callers", .of = &tw_asker_fields, .if_known = true),
};
#undef F
static const struct tw_fields copies = TW_FIELDS(struct tw_copies, copies_fields);

#define F(direction)                                                                          \
	TW_FIELD(struct tw_copies_by_direction, POINTER, of[TW_COPY_##direction], #direction, \
		 .of = &copies, .if_known = true)
static const struct tw_member direction_fields[] = {
	F(D2H),
	F(H2D),
	F(D2D),
	TW_FIELD(struct tw_copies_by_direction, POINTER, of[TW_COPY_OTHER], "other", .of = &copies,
		 .if_known = true),
};
#undef F
const struct tw_fields tw_copies_by_direction_fields =
	TW_FIELDS(struct tw_copies_by_direction, direction_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_copy_summary, kind, member, key, __VA_ARGS__)
static const struct tw_member summary_fields[] = {
	F(COUNT, count, "total_count"),
	F(NS, total_ns, "total_time_us", 3),
	F(STRUCT, by_direction, "by_direction", .of = &tw_copies_by_direction_fields),
};
#undef F
static const struct tw_fields summary = TW_FIELDS(struct tw_copy_summary, summary_fields);

#define F(kind, member, key, ...) \
	TW_FIELD(struct tw_top_communication, kind, member, key, __VA_ARGS__)
static const struct tw_member top_fields[] = {
	F(PLAIN, name, "name"),
	F(NS, dur_ns, "duration_us", 3),
	F(WORD, stream, "stream"),
};
#undef F
const struct tw_fields tw_top_communication_fields =
	TW_FIELDS(struct tw_top_communication, top_fields, .inlined = true);

#define F(kind, member, key, ...) \
	TW_FIELD(struct tw_communication_summary, kind, member, key, __VA_ARGS__)
static const struct tw_member communication_fields[] = {
	F(COUNT, count, "total_count"),
	F(NS, total_ns, "total_time_us", 3),
	F(REAL, mean_us, "avg_time_us", 3, .if_known = true),
	F(NS, max_ns, "max_time_us", 3, .if_known = true),
	F(BOOL, gradient_buckets, "gradient_buckets"),
	F(LIST, top, "top_ops", .of = &tw_top_communication_fields),
};
#undef F
static const struct tw_fields communication =
	TW_FIELDS(struct tw_communication_summary, communication_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_overlap_times, kind, member, key, __VA_ARGS__)
#define NEEDED(member, key) F(NS, member, key, 3, .needed = true)
static const struct tw_member overlap_fields[] = {
	NEEDED(total_ns, "total_time_us"),
	NEEDED(computation_ns, "computation_time_us"),
	NEEDED(comm_ns, "total_comm_time_us"),
	NEEDED(exposed_comm_ns, "exposed_comm_time_us"),
	NEEDED(memcpy_ns, "total_memcpy_time_us"),
	NEEDED(exposed_memcpy_ns, "exposed_memcpy_time_us"),
	F(REAL, comm_ratio, "comm_overlap_ratio", 4),
	F(REAL, memcpy_ratio, "memcpy_overlap_ratio", 4),
	F(REAL, comm_percent, "comm_percent_of_total", 2),
	F(REAL, memcpy_percent, "memcpy_percent_of_total", 2),
};
#undef NEEDED
#undef F
const struct tw_fields tw_overlap_times_fields = TW_FIELDS(struct tw_overlap_times, overlap_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_checked_times, kind, member, key, __VA_ARGS__)
static const struct tw_member checked_fields[] = {
	F(BOOL, manifest_counts_the_same, "manifest_counts_the_same"),
	F(NS, total_ns, "total_time_us", 3),
	F(NS, computation_ns, "computation_time_us", 3),
	F(NS, exposed_comm_ns, "exposed_comm_time_us", 3),
	F(NS, exposed_memcpy_ns, "exposed_memcpy_time_us", 3),
};
#undef F
static const struct tw_fields checked = TW_FIELDS(struct tw_checked_times, checked_fields);

#define F(kind, member, key, ...) TW_FIELD(struct tw_multi_kernel, kind, member, key, __VA_ARGS__)
static const struct tw_member data_fields[] = {
	F(STRUCT, copies, "memcpy_summary", .of = &summary, .needed = true),
	F(STRUCT, communication, "nccl_summary", .of = &communication, .needed = true),
	F(STRUCT, overlap, "overlap_analysis", .of = &tw_overlap_times_fields, .needed = true),
	F(POINTER, timeline, "gpu_timeline", .of = &checked),
};
#undef F
const struct tw_fields tw_multi_kernel_fields = TW_FIELDS(struct tw_multi_kernel, data_fields);

/* ---- making them */

struct work {
	const struct tw_analysis_input *in;
	const struct tw_gpu *gpu;
	struct tw_arena *arena;
	struct tw_multi_kernel *data;
	struct tw_memory_copies copies;
	struct tw_overlap overlap;
	struct tw_timeline timeline; /* of all GPU events */
};

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : (double)NAN;
}

static int64_t sum_of(tw_wide ns)
{
	return tw_wide_fits(ns) ? (int64_t)ns : TRAWL_TIME_NONE;
}

/* NULL: none, or memory is out. */
static const char *text_of(const struct work *w, uint32_t text)
{
	return text ? tw_pool_text(&w->in->trace->texts, text, NULL) : NULL;
}

static const char *python_of(const struct work *w, uint32_t text)
{
	struct tw_str name;

	if (!text)
		return NULL;
	tw_str_init(&name, w->arena->allocator);
	tw_python_name(&name, text_of(w, text));
	return tw_kept(w->arena, &name);
}

static void add_callers(const struct work *w, struct tw_copies *to, const struct tw_copy_sum *sum)
{
	size_t i;

	to->caller_count = (double)sum->caller_count;
	to->callers.at = tw_arena_array(w->arena, TOP_CALLERS, sizeof(*to->callers.at));
	for (i = 0; to->callers.at && i < sum->caller_count && i < TOP_CALLERS; i++)
		to->callers.at[to->callers.count++] = (struct tw_asker){
			text_of(w, sum->callers[i].operation),
			python_of(w, sum->callers[i].python),
			sum->callers[i].count,
			sum_of(sum->callers[i].total_ns),
		};
}

static void add_direction(const struct work *w, enum tw_copy_direction direction)
{
	const struct tw_copy_sum *sum = &w->copies.sums[direction];
	struct tw_copies *to;

	if (!sum->count)
		return;
	to = tw_arena_array(w->arena, 1, sizeof(*to));
	w->data->copies.by_direction.of[direction] = to;
	if (!to)
		return;
	to->count = sum->count;
	to->count_with_bytes = sum->with_bytes;
	to->total_ns = sum_of(sum->total_ns);
	to->max_ns = sum->max_ns;
	to->exposed_ns = w->overlap.exposed_direction_ns[direction];
	to->mean_us = (double)sum->total_ns / 1000 / (double)sum->count;
	to->total_bytes = sum->with_bytes ? (double)sum->bytes : (double)NAN;
	to->mean_bytes = tw_as_written(to->total_bytes / (double)sum->with_bytes, 2);
	to->caller_count = NAN;
	if (direction == TW_COPY_D2H || direction == TW_COPY_H2D)
		add_callers(w, to, sum);
}

static void add_copies(const struct work *w)
{
	struct tw_copy_summary *to = &w->data->copies;
	tw_wide total_ns = 0;
	int i;

	for (i = 0; i < TW_COPY_DIRECTIONS; i++) {
		to->count += w->copies.sums[i].count;
		total_ns += w->copies.sums[i].total_ns;
		add_direction(w, i);
	}
	to->total_ns = sum_of(total_ns);
}

/* ---- communication */

static struct tw_top_communication top_of(const struct work *w, uint64_t g)
{
	const struct tw_queue *queue = &w->gpu->queues[w->gpu->queue[g]];
	struct tw_top_communication top = {
		.name = text_of(w, w->in->trace->events.name[w->gpu->event[g]]),
		.dur_ns = w->gpu->end_ns[g] - w->gpu->start_ns[g],
	};
	char buffer[24];
	size_t len;
	const char *text = tw_code_text(w->in->trace, queue->stream, buffer, &len);

	if (queue->stream != TW_CODE_NONE)
		top.stream = tw_arena_copy(w->arena, text, len);
	return top;
}

static bool is_longer(const struct tw_gpu *gpu, uint64_t a, uint64_t b)
{
	int64_t a_ns = gpu->end_ns[a] - gpu->start_ns[a], b_ns = gpu->end_ns[b] - gpu->start_ns[b];

	return a_ns != b_ns ? a_ns > b_ns : gpu->event[a] < gpu->event[b];
}

/* Whether gradients are gathered in buckets, which are communicated during the backward pass. */
static int find_buckets(struct work *w)
{
	const struct tw_events *events = &w->in->trace->events;
	struct tw_host_names names;
	int status = tw_host_names_init(&names, w->in->trace, w->in->allocator);
	uint64_t i;

	for (i = 0; !status && i < events->count && !w->data->communication.gradient_buckets; i++)
		w->data->communication.gradient_buckets = tw_host_kinds(&names, i) &
							  TW_HOST_GRADIENT_BUCKETS;
	tw_host_names_release(&names);
	return status;
}

static void add_communication(const struct work *w)
{
	const struct tw_gpu *gpu = w->gpu;
	struct tw_communication_summary *to = &w->data->communication;
	uint64_t top[TOP_OPERATIONS + 1], n = 0, g, i;
	tw_wide total_ns = 0;

	for (g = 0; g < gpu->count; g++) {
		if (gpu->bucket[g] != TW_COMMUNICATION)
			continue;
		to->count++;
		total_ns += gpu->end_ns[g] - gpu->start_ns[g];
		for (i = n; i && is_longer(gpu, g, top[i - 1]); i--)
			top[i] = top[i - 1];
		top[i] = g;
		n += n < TOP_OPERATIONS;
	}
	to->total_ns = sum_of(total_ns);
	to->mean_us = to->count ? (double)total_ns / 1000 / (double)to->count : (double)NAN;
	to->max_ns = n ? gpu->end_ns[top[0]] - gpu->start_ns[top[0]] : TRAWL_TIME_NONE;
	to->top.at = tw_arena_array(w->arena, n + 1, sizeof(*to->top.at));
	for (i = 0; to->top.at && i < n; i++)
		to->top.at[to->top.count++] = top_of(w, top[i]);
}

/* ---- overlap */

static void add_overlap(const struct work *w)
{
	const struct tw_overlap *x = &w->overlap;
	const struct tw_timeline *t = &w->timeline;
	double total = (double)t->total_ns;
	double comm = 1 - ratio((double)x->exposed_communication_ns, (double)x->communication_ns);
	struct tw_checked_times *timeline = tw_arena_array(w->arena, 1, sizeof(*timeline));

	w->data->overlap = (struct tw_overlap_times){
		.total_ns = t->total_ns,
		.computation_ns = x->compute_ns,
		.comm_ns = x->communication_ns,
		.exposed_comm_ns = x->exposed_communication_ns,
		.memcpy_ns = x->copy_ns,
		.exposed_memcpy_ns = x->exposed_copy_ns,
		.comm_ratio = tw_as_written(comm, 4),
		.memcpy_ratio = 1 - ratio((double)x->exposed_copy_ns, (double)x->copy_ns),
		.comm_percent = 100 * ratio((double)x->communication_ns, total),
		.memcpy_percent = 100 * ratio((double)x->copy_ns, total),
	};
	if (timeline)
		*timeline = (struct tw_checked_times){
			.manifest_counts_the_same = t->events == w->in->timeline->events,
			.total_ns = t->total_ns,
			.computation_ns = t->compute_ns,
			.exposed_comm_ns = t->exposed_communication_ns,
			.exposed_memcpy_ns = t->exposed_copy_ns,
		};
	w->data->timeline = timeline;
}

static int write_data(struct tw_prepared *prepared, const struct work *w, struct trawl_error *err)
{
	add_copies(w);
	add_communication(w);
	add_overlap(w);
	if (w->arena->failed)
		return tw_no_memory(err);
	prepared->multi_kernel = w->data;
	return tw_fields_write(prepared, TW_CATEGORY_DATA, TW_MULTI_KERNEL_DATA,
			       &tw_multi_kernel_fields, w->data, err);
}

int tw_prepare_multi_kernel(struct tw_prepared *prepared, const struct tw_analysis_input *in,
			    struct trawl_error *err)
{
	const struct tw_derived *d = in->derived;
	const struct trawl_allocator *a = in->allocator;
	struct work w = { .in = in, .gpu = &d->gpu, .arena = &prepared->arena };
	uint8_t *directions = tw_alloc(a, d->gpu.count + 1);
	bool made = false;
	int status;

	w.data = tw_arena_array(w.arena, 1, sizeof(*w.data));
	if (directions && w.data) {
		tw_copy_directions(d, directions);
		made = !tw_memory_copies_init(&w.copies, d, directions, a) &&
		       !tw_overlap_of(&w.overlap, d, directions, a) &&
		       !tw_timeline_of(&w.timeline, d, NULL, d->gpu.count, TW_CODE_NONE, false,
				       -1) &&
		       !find_buckets(&w);
	}
	status = made ? write_data(prepared, &w, err) : tw_no_memory(err);
	tw_memory_copies_release(&w.copies);
	tw_free(a, directions, d->gpu.count + 1);
	return status;
}
