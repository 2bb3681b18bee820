/*
 * multi_kernel_data.json: memory copies by direction with who asked for them, communication, and
 * how much of both computing hides.  All GPU events of the view count, launched in the trace or
 * not.
 */
#include "standalone/standalone.h"

#include "analysis/gpu/memory_copies.h"
#include "analysis/launches/host_names.h"
#include "base/alloc.h"
#include "standalone/fields.h"
#include "standalone/multi_kernel.h"

#include <math.h>

#define TOP_OPERATIONS 10
#define TOP_CALLERS 5

struct work {
	const struct tw_analysis_input *in;
	const struct tw_gpu *gpu;
	struct tw_json json;
	struct tw_memory_copies copies;
	struct tw_overlap overlap;
	struct tw_timeline timeline; /* of all GPU events */
	bool gradient_buckets;
};

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : (double)NAN;
}

static void add_text(struct tw_json *json, const char *key, const struct trawl_trace *trace,
		     uint32_t text)
{
	size_t len;
	const char *ptr = tw_pool_text(&trace->texts, text, &len);

	tw_json_key(json, key);
	tw_json_string(json, ptr, len);
}

/* ---- memory copies */

static void add_caller(struct work *w, const struct tw_copy_caller *caller)
{
	const struct trawl_trace *trace = w->in->trace;
	struct tw_json *json = &w->json;
	struct tw_str python;

	tw_json_object(json, TW_JSON_INLINE);
	if (caller->operation)
		add_text(json, "operation", trace, caller->operation);
	else
		tw_field_text(json, "operation", NULL);
	tw_str_init(&python, w->in->allocator);
	if (caller->python)
		tw_python_name(&python, tw_pool_text(&trace->texts, caller->python, NULL));
	tw_field_text(json, "python", python.ptr);
	json->out->failed |= python.failed;
	tw_str_release(&python);
	tw_field_count(json, "count", caller->count);
	tw_field_sum_us(json, "total_time_us", caller->total_ns);
	tw_json_end(json);
}

static void add_direction(struct work *w, enum tw_copy_direction direction)
{
	const struct tw_copy_sum *sum = &w->copies.sums[direction];
	struct tw_json *json = &w->json;
	double bytes = sum->with_bytes ? (double)sum->bytes : (double)NAN;
	size_t i;

	tw_json_key(json, tw_copy_direction_names[direction]);
	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "count", sum->count);
	tw_field_sum_us(json, "total_time_us", sum->total_ns);
	tw_field_real(json, "avg_time_us", (double)sum->total_ns / 1000 / (double)sum->count, 3);
	tw_field_us(json, "max_time_us", sum->max_ns);
	tw_field_real(json, "total_bytes", bytes, 0);
	tw_field_real(json, "avg_bytes", bytes / (double)sum->with_bytes, 2);
	tw_field_count(json, "count_with_bytes", sum->with_bytes);
	tw_field_us(json, "exposed_time_us", w->overlap.exposed_direction_ns[direction]);
	if (direction == TW_COPY_D2H || direction == TW_COPY_H2D) {
		tw_field_count(json, "caller_count", sum->caller_count);
		tw_json_key(json, "callers");
		tw_json_array(json, TW_JSON_LINES);
		for (i = 0; i < sum->caller_count && i < TOP_CALLERS; i++)
			add_caller(w, &sum->callers[i]);
		tw_json_end(json);
	}
	tw_json_end(json);
}

static void add_copies(struct work *w)
{
	struct tw_json *json = &w->json;
	uint64_t count = 0;
	tw_wide total_ns = 0;
	int i;

	for (i = 0; i < TW_COPY_DIRECTIONS; i++) {
		count += w->copies.sums[i].count;
		total_ns += w->copies.sums[i].total_ns;
	}
	tw_json_key(json, "memcpy_summary");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "total_count", count);
	tw_field_sum_us(json, "total_time_us", total_ns);
	tw_json_key(json, "by_direction");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; i < TW_COPY_DIRECTIONS; i++)
		if (w->copies.sums[i].count)
			add_direction(w, i);
	tw_json_end(json);
	tw_json_end(json);
}

/* ---- communication */

static void add_top(struct work *w, uint64_t g)
{
	const struct tw_queue *queue = &w->gpu->queues[w->gpu->queue[g]];
	struct tw_json *json = &w->json;
	char buffer[24];
	size_t len;
	const char *text;

	tw_json_object(json, TW_JSON_INLINE);
	add_text(json, "name", w->in->trace, w->in->trace->events.name[w->gpu->event[g]]);
	tw_field_us(json, "duration_us", w->gpu->end_ns[g] - w->gpu->start_ns[g]);
	tw_json_key(json, "stream");
	text = tw_code_text(w->in->trace, queue->stream, buffer, &len);
	if (queue->stream < TW_CODE_TEXT)
		tw_json_integer(json, queue->stream);
	else if (queue->stream == TW_CODE_NONE)
		tw_json_null(json);
	else
		tw_json_string(json, text, len);
	tw_json_end(json);
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

	for (i = 0; !status && i < events->count && !w->gradient_buckets; i++)
		w->gradient_buckets = tw_host_kinds(&names, i) & TW_HOST_GRADIENT_BUCKETS;
	tw_host_names_release(&names);
	return status;
}

static void add_communication(struct work *w)
{
	const struct tw_gpu *gpu = w->gpu;
	struct tw_json *json = &w->json;
	uint64_t top[TOP_OPERATIONS + 1], n = 0, count = 0, g, i;
	tw_wide total_ns = 0;

	for (g = 0; g < gpu->count; g++) {
		if (gpu->bucket[g] != TW_COMMUNICATION)
			continue;
		count++;
		total_ns += gpu->end_ns[g] - gpu->start_ns[g];
		for (i = n; i && is_longer(gpu, g, top[i - 1]); i--)
			top[i] = top[i - 1];
		top[i] = g;
		n += n < TOP_OPERATIONS;
	}
	tw_json_key(json, "nccl_summary");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_count(json, "total_count", count);
	tw_field_sum_us(json, "total_time_us", total_ns);
	if (count) {
		tw_field_real(json, "avg_time_us", (double)total_ns / 1000 / (double)count, 3);
		tw_field_us(json, "max_time_us", gpu->end_ns[top[0]] - gpu->start_ns[top[0]]);
	}
	tw_field_bool(json, "gradient_buckets", w->gradient_buckets);
	tw_json_key(json, "top_ops");
	tw_json_array(json, TW_JSON_LINES);
	for (i = 0; i < n; i++)
		add_top(w, top[i]);
	tw_json_end(json);
	tw_json_end(json);
}

/* ---- overlap */

static double hidden(int64_t exposed_ns, int64_t total_ns)
{
	return 1 - ratio((double)exposed_ns, (double)total_ns);
}

static void add_overlap(struct work *w)
{
	const struct tw_overlap *x = &w->overlap;
	double total = (double)w->timeline.total_ns;
	struct tw_json *json = &w->json;

	tw_json_key(json, "overlap_analysis");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_us(json, "total_time_us", w->timeline.total_ns);
	tw_field_us(json, "computation_time_us", x->compute_ns);
	tw_field_us(json, "total_comm_time_us", x->communication_ns);
	tw_field_us(json, "exposed_comm_time_us", x->exposed_communication_ns);
	tw_field_us(json, "total_memcpy_time_us", x->copy_ns);
	tw_field_us(json, "exposed_memcpy_time_us", x->exposed_copy_ns);
	tw_field_real(json, "comm_overlap_ratio",
		      hidden(x->exposed_communication_ns, x->communication_ns), 4);
	tw_field_real(json, "memcpy_overlap_ratio", hidden(x->exposed_copy_ns, x->copy_ns), 4);
	tw_field_real(json, "comm_percent_of_total",
		      100 * ratio((double)x->communication_ns, total), 2);
	tw_field_real(json, "memcpy_percent_of_total", 100 * ratio((double)x->copy_ns, total), 2);
	tw_json_end(json);
}

/* The same by the timeline's unions, to check against. */
static void add_timeline(struct work *w)
{
	const struct tw_timeline *t = &w->timeline;
	struct tw_json *json = &w->json;

	tw_json_key(json, "gpu_timeline");
	tw_json_object(json, TW_JSON_LINES);
	tw_field_bool(json, "manifest_counts_the_same", t->events == w->in->timeline->events);
	tw_field_us(json, "total_time_us", t->total_ns);
	tw_field_us(json, "computation_time_us", t->compute_ns);
	tw_field_us(json, "exposed_comm_time_us", t->exposed_communication_ns);
	tw_field_us(json, "exposed_memcpy_time_us", t->exposed_copy_ns);
	tw_json_end(json);
}

static int write_data(struct tw_prepared *prepared, struct work *w, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, prepared->allocator);
	tw_json_init(&w->json, &text);
	tw_json_object(&w->json, TW_JSON_LINES);
	add_copies(w);
	add_communication(w);
	add_overlap(w);
	add_timeline(w);
	tw_json_end(&w->json);
	tw_json_finish(&w->json);
	status = tw_prepared_write(prepared, TW_CATEGORY_DATA, TW_MULTI_KERNEL_DATA, &text, err);
	tw_str_release(&text);
	return status;
}

int tw_prepare_multi_kernel(struct tw_prepared *prepared, const struct tw_analysis_input *in,
			    struct trawl_error *err)
{
	const struct tw_derived *d = in->derived;
	const struct trawl_allocator *a = in->allocator;
	struct work w = { .in = in, .gpu = &d->gpu };
	uint8_t *directions = tw_alloc(a, d->gpu.count + 1);
	bool made = false;
	int status;

	if (directions) {
		tw_copy_directions(d, directions);
		made = !tw_memory_copies_init(&w.copies, d, directions, a) &&
		       !tw_overlap_of(&w.overlap, d, directions, a) &&
		       !tw_timeline_of(&w.timeline, d, NULL, d->gpu.count, TW_CODE_NONE, false,
				       -1) &&
		       !find_buckets(&w);
	}
	if (made)
		status = write_data(prepared, &w, err);
	else
		status = tw_no_memory(err);
	tw_memory_copies_release(&w.copies);
	tw_free(a, directions, d->gpu.count + 1);
	return status;
}
