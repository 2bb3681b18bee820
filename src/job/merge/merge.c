#include "job/merge/merge.h"

#include "base/alloc.h"
#include "base/reuse.h"
#include "job/merge/merge_state.h"
#include "job/merge/peek.h"
#include "job/merge/rank_events.h"
#include "job/set/load.h"
#include "job/set/merged.h"
#include "json/reader.h"
#include "json/writer.h"
#include "os/file.h"
#include "os/thread.h"
#include "store/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Of a byte of text: a trace takes a quarter of it, and what is written of it as much again. */
#define TENTHS_OF_TEXT 6
/* Text of a rank that waits for its turn: no more than this, and no more than a part of memory. */
#define MOST_WAITING ((int64_t)24 << 20)

bool tw_merge_is_gzip(const char *path)
{
	size_t len = strlen(path);

	return len > 3 && !strcasecmp(path + len - 3, ".gz");
}

/* ---- memory: ranks get it in their order, so that the one whose turn it is never waits */

/* False when the work was called off. */
static bool take_memory(struct tw_merging *m, size_t i, int64_t need)
{
	bool go_on;

	pthread_mutex_lock(&m->lock);
	while (m->granted != i || (m->running && m->taken > m->budget - need && !m->canceled))
		pthread_cond_wait(&m->changed, &m->lock);
	m->granted++;
	m->running++;
	m->taken += need;
	go_on = !m->canceled;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	return go_on;
}

static void give_back(struct tw_merging *m, int64_t need)
{
	pthread_mutex_lock(&m->lock);
	m->running--;
	m->taken -= need;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

/* ---- a rank */

struct reading {
	struct tw_merging *m;
	int64_t told; /* bytes of the file that progress has heard of */
};

void tw_merging_tell(struct tw_merging *m, int64_t bytes)
{
	pthread_mutex_lock(&m->lock);
	m->bytes_done += bytes;
	if (m->options->progress &&
	    m->options->progress(m->options->progress_context, m->bytes_done, m->bytes))
		m->canceled = true;
	pthread_mutex_unlock(&m->lock);
}

static int tell(void *context, int64_t bytes_read, int64_t file_size)
{
	struct reading *r = context;
	bool canceled;

	(void)file_size;
	tw_merging_tell(r->m, bytes_read - r->told);
	r->told = bytes_read;
	pthread_mutex_lock(&r->m->lock);
	canceled = r->m->canceled;
	pthread_mutex_unlock(&r->m->lock);
	return canceled;
}

/* Those of the trace, and what merging it found. */
static int take_defects(struct tw_merge *merge, struct tw_merged *rank,
			const struct trawl_trace *trace, const struct tw_quality *found)
{
	struct tw_quality quality = trace->quality;
	struct trawl_defect list[TW_DEFECT_COUNT];
	size_t count, i;

	tw_quality_append(&quality, found, 0);
	count = tw_trace_list_defects(trace, &quality, list);
	rank->defects = tw_alloc_array(merge->allocator, count, sizeof(*rank->defects));
	if (!rank->defects)
		return count ? -1 : 0;
	rank->defect_count = count;
	for (i = 0; i < count; i++) {
		rank->defects[i] = list[i];
		if (list[i].severity == TRAWL_LOST)
			rank->state = TW_RANK_DAMAGED;
	}
	return 0;
}

/* A field beside the events: as it is where that is JSON, else as a string. */
static void add_field(struct tw_json *json, const char *key, const char *text, size_t len,
		      const struct trawl_allocator *allocator)
{
	struct tw_json_reader reader;

	tw_json_reader_init(&reader, text, len, allocator);
	tw_json_next(&reader);
	tw_json_skip(&reader);
	tw_json_key(json, key);
	if (tw_json_reader_end(&reader, "", NULL))
		tw_json_string(json, text, len);
	else
		tw_json_number_as_written(json, text, len);
}

/* Keys of ours, and a path of the machine that the trace was written on. */
static bool is_taken(const char *key)
{
	static const char *const keys[] = { "rank",	 "file",
					    "shift_us",	 "clock_offset_us",
					    "traceName", "clock_uncertainty_us" };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

/* What the trace tells of itself, for the list of ranks behind the events. */
static int take_about(struct tw_merge *merge, struct tw_merged *rank,
		      const struct trawl_trace *trace)
{
	const char *path = merge->set.files[rank->file].path;
	struct tw_json json;
	struct tw_str out;
	uint32_t i;

	tw_str_init(&out, merge->allocator);
	tw_json_init(&json, &out);
	tw_json_object(&json, TW_JSON_INLINE);
	tw_json_key(&json, "rank");
	tw_json_integer(&json, rank->rank);
	tw_json_key(&json, "file");
	tw_json_cstr(&json, tw_file_name(path));
	tw_json_key(&json, "shift_us");
	tw_json_decimal(&json, rank->shift_ns, 3);
	if (rank->clock.known) {
		tw_json_key(&json, "clock_offset_us");
		tw_json_decimal(&json, rank->clock.offset_ns, 3);
		tw_json_key(&json, "clock_uncertainty_us");
		tw_json_decimal(&json, rank->clock.uncertainty_ns, 3);
	}
	for (i = 0; i < trace->field_count; i++) {
		size_t key_len, len;
		const char *key = tw_pool_text(&trace->texts, trace->fields[i].key, &key_len);
		const char *value = tw_pool_text(&trace->texts, trace->fields[i].value, &len);

		/* A path of the machine that the trace was written on. */
		if (!is_taken(key) && strlen(key) == key_len)
			add_field(&json, key, value, len, merge->allocator);
	}
	tw_json_end(&json);
	rank->about = out.failed ? NULL : tw_alloc(merge->allocator, out.len + 1);
	if (rank->about)
		memcpy(rank->about, out.ptr, out.len + 1);
	tw_str_release(&out);
	return rank->about ? 0 : -1;
}

static int merge_trace(struct tw_merging *m, struct tw_merged *rank,
		       const struct trawl_trace *trace, struct tw_lines *lines,
		       const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_one one = {
		.allocator = allocator,
		.trace = trace,
		.rank = rank->rank,
		.shift_ns = rank->shift_ns,
		.keep_all = m->options->keep_all,
	};
	int status;

	rank->told_rank = trace->world_size == 1 || trace->marked ? -1 : trace->rank;
	if (tw_is_merged_trace(trace))
		return trawl_error_set(err, TRAWL_EUSAGE, TW_MERGED_TRACE);
	if (!trace->events.count)
		return trawl_error_set(err, TRAWL_EFORMAT, "no events in it");
	if (take_about(m->merge, rank, trace))
		return tw_one_no_memory(err);
	tw_quality_init(&one.quality);
	status = tw_one_merge(&one, lines, err);
	if (!status && take_defects(m->merge, rank, trace, &one.quality))
		status = tw_one_no_memory(err);
	rank->gpu_slices = one.gpu_slices;
	rank->host_slices = one.host_slices;
	rank->others = one.others;
	rank->arrows = one.arrows;
	rank->moved = one.moved;
	rank->loose = one.loose;
	rank->timeless = one.timeless;
	return status;
}

/* ---- files with several ranks: read once, held until the last of its ranks is done */

static int hold(struct tw_merging *m, struct tw_held *held, const char *path,
		const struct trawl_read_options *read, struct trawl_error *err)
{
	int status = 0;

	if (!held->trace && !held->status) {
		held->status = trawl_trace_read(&held->trace, path, read, &held->err);
		if (!held->status && m->options->visit)
			m->options->visit(m->options->visit_context, held->file, held->trace,
					  m->threads);
	}
	if (held->status) {
		status = held->status;
		*err = held->err;
	}
	return status;
}

static void let_go(struct tw_merging *m, struct tw_held *held)
{
	pthread_mutex_lock(&m->holding);
	if (!--held->ranks) {
		trawl_trace_free(held->trace);
		held->trace = NULL;
	}
	pthread_mutex_unlock(&m->holding);
}

static int read_part(struct tw_merging *m, struct tw_merged *rank,
		     const struct trawl_read_options *read, struct tw_lines *lines,
		     struct trawl_error *err)
{
	const char *path = m->merge->set.files[rank->file].path;
	struct tw_held *held = &m->held[rank->file];
	struct trawl_trace *part = NULL;
	int status;

	pthread_mutex_lock(&m->holding);
	status = hold(m, held, path, read, err);
	pthread_mutex_unlock(&m->holding);
	if (!status && rank->part > held->trace->part_count)
		status = trawl_error_set(err, TRAWL_EFORMAT, "the file changed while it was read");
	if (!status) {
		part = tw_trace_part(held->trace, rank->part - 1);
		status = part ? tw_merge_add_arrows(part, err) : tw_one_no_memory(err);
		if (!status)
			status = merge_trace(m, rank, part, lines, m->memory, err);
	}
	if (part)
		tw_trace_free_part(part);
	let_go(m, held);
	return status;
}

int tw_merging_hold(struct tw_merging *m)
{
	size_t i;

	m->held = tw_alloc_array(m->merge->allocator, m->merge->set.count, sizeof(*m->held));
	if (!m->held)
		return -1;
	for (i = 0; i < m->merge->set.count; i++)
		m->held[i].file = (uint32_t)i;
	for (i = 0; i < m->merge->count; i++)
		m->held[m->merge->ranks[i].file].ranks++;
	pthread_mutex_init(&m->holding, NULL);
	return 0;
}

/* Also what other processes had a part of. */
void tw_merging_let_go(struct tw_merging *m)
{
	size_t i;

	if (!m->held)
		return;
	for (i = 0; i < m->merge->set.count; i++)
		trawl_trace_free(m->held[i].trace);
	tw_free(m->merge->allocator, m->held, m->merge->set.count * sizeof(*m->held));
	pthread_mutex_destroy(&m->holding);
}

static int read_rank(struct tw_merging *m, struct tw_merged *rank, struct tw_lines *lines,
		     struct trawl_error *err)
{
	const struct tw_rank_file *file = &m->merge->set.files[rank->file];
	struct reading reading = { .m = m };
	struct trawl_read_options read = {
		.allocator = m->memory,
		.threads = m->threads,
		.block_size = m->options->block_size,
		.progress = tell,
		.progress_context = &reading,
	};
	struct trawl_trace *trace;
	int status;

	if (rank->part)
		return read_part(m, rank, &read, lines, err);
	status = trawl_trace_read(&trace, file->path, &read, err);
	if (!status) {
		/* Without what is added to it. */
		if (m->options->visit && !tw_is_merged_trace(trace))
			m->options->visit(m->options->visit_context, rank->file, trace, m->threads);
		status = tw_merge_add_arrows(trace, err);
		if (!status)
			status = merge_trace(m, rank, trace, lines, m->memory, err);
		trawl_trace_free(trace);
	}
	tell(&reading, file->bytes, file->bytes);
	return status;
}

void tw_merging_read(struct tw_merging *m, struct tw_merged *rank, struct tw_lines *lines)
{
	const struct tw_rank_file *file = &m->merge->set.files[rank->file];
	struct trawl_error err = { 0 };
	int status = read_rank(m, rank, lines, &err);

	if (status)
		tw_merged_leave_out(m->merge, rank,
				    status == TRAWL_ENODATA && !file->named ? TW_RANK_NOT_A_TRACE :
									      TW_RANK_UNREADABLE,
				    status, err.message);
}

void tw_merging_rank(void *context, size_t i)
{
	struct tw_merging *m = context;
	struct tw_merged *rank = &m->merge->ranks[i];
	bool elsewhere = m->together && tw_together_elsewhere(m->together, i);
	int64_t need =
		elsewhere ? 0 :
			    tw_rank_file_memory(&m->merge->set.files[rank->file], TENTHS_OF_TEXT);
	bool go_on = take_memory(m, i, need);
	struct tw_lines lines;

	tw_lines_init(&lines, &m->turns, i, m->memory);
	if (elsewhere) {
		tw_together_take(m->together, i, &lines);
		tw_merging_tell(m, m->merge->set.files[rank->file].bytes);
	} else if (go_on) {
		tw_merging_read(m, rank, &lines);
	} else {
		tw_merged_leave_out(m->merge, rank, TW_RANK_UNREADABLE, TRAWL_ECANCELED, "");
	}
	give_back(m, need);
	tw_lines_end(&lines);
}

static void merge_ranks(struct tw_merging *m)
{
	size_t count = m->merge->count, i;
	unsigned threads = m->options->threads;
	int64_t share;

	m->threads = threads > count ? threads / (unsigned)count : 1;
	m->budget = m->options->max_memory ? m->options->max_memory : tw_half_of_memory();
	/* The processes of a machine share it, unless they were told how much to take. */
	if (m->options->cluster && !m->options->max_memory)
		m->budget /= tw_cluster_here(m->options->cluster);
	share = m->budget / (2 * (int64_t)(threads ? threads : 1));
	tw_turns_init(&m->turns, m->merge->out,
		      (size_t)(share < MOST_WAITING ? share : MOST_WAITING));
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	for (i = 0; i < count; i++)
		m->bytes += m->merge->set.files[m->merge->ranks[i].file].bytes;
	if (!m->options->cluster || tw_cluster_size(m->options->cluster) == 1 ||
	    !tw_together_merge(m, m->options->cluster, threads))
		tw_parallel(threads, count, tw_merging_rank, m);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	tw_turns_destroy(&m->turns);
}

/* ---- around the events */

static void put(struct tw_merge *merge, const char *text)
{
	tw_deflate_write(merge->out, text, strlen(text));
}

static void write_front(struct tw_merge *merge)
{
	char text[200];

	snprintf(text, sizeof(text), "{\"" TW_MERGED_KEY "\":%d,\n\"displayTimeUnit\":\"ms\",\n",
		 TW_MERGED_VERSION);
	put(merge, text);
	if (merge->base_time_ns != TRAWL_TIME_NONE) {
		snprintf(text, sizeof(text), "\"baseTimeNanoseconds\":%" PRId64 ",\n",
			 merge->base_time_ns);
		put(merge, text);
	}
	put(merge, "\"traceEvents\":[\n");
}

static void write_back(struct tw_merge *merge)
{
	bool any = false;
	size_t i;

	put(merge, "\n],\n\"ranks\":[\n");
	for (i = 0; i < merge->count; i++) {
		if (!tw_merged_is_in(&merge->ranks[i]))
			continue;
		put(merge, any ? ",\n" : "");
		put(merge, merge->ranks[i].about);
		any = true;
	}
	put(merge, "\n]}\n");
}

/* What ends the work: a failure that is not of one trace alone, or nothing written. */
static int settle(struct tw_merge *merge, struct trawl_error *err)
{
	size_t i, in = 0;

	for (i = 0; i < merge->count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];

		if (rank->status == TRAWL_ENOMEM || rank->status == TRAWL_ECANCELED)
			return trawl_error_set(err, rank->status, "%s",
					       trawl_status_name(rank->status));
		in += tw_merged_is_in(rank);
	}
	if (in)
		return 0;
	for (i = 0; i < merge->count; i++)
		if (merge->ranks[i].message)
			return trawl_error_set(err, TRAWL_ENODATA, "nothing to merge: %s: %s",
					       merge->set.files[merge->ranks[i].file].path,
					       merge->ranks[i].message);
	return trawl_error_set(err, TRAWL_ENODATA, "nothing to merge");
}

int tw_merge_run(struct tw_merge *merge, struct tw_rank_set *set, const char *path,
		 const struct tw_merge_options *given, const struct trawl_allocator *allocator,
		 struct trawl_error *err)
{
	struct tw_merge_options options = *given;
	struct tw_merging m = { .merge = merge, .options = &options };
	struct tw_reuse *memory;
	int status;

	*merge = (struct tw_merge){ .allocator = allocator, .set = *set };
	memset(set, 0, sizeof(*set));
	if (!options.threads)
		options.threads = options.cluster ? tw_cluster_threads(options.cluster) :
						    tw_thread_count();
	status = tw_merge_plan(merge, path, &options, err);
	if (!status)
		status = tw_merge_align(merge, &options, err);
	if (!status)
		status = tw_deflate_open(&merge->out, path, tw_merge_is_gzip(path), allocator, err);
	if (status)
		return status;
	memory = tw_reuse_new(allocator);
	if (!memory || tw_pool_init(&merge->texts, allocator)) {
		tw_reuse_free(memory);
		return tw_one_no_memory(err);
	}
	m.memory = tw_reuse_allocator(memory);
	if (tw_merging_hold(&m)) {
		tw_reuse_free(memory);
		return tw_one_no_memory(err);
	}
	write_front(merge);
	merge_ranks(&m);
	tw_merging_let_go(&m);
	tw_reuse_free(memory);
	status = settle(merge, err);
	if (!status)
		write_back(merge);
	return status;
}

int tw_merge_commit(struct tw_merge *merge, struct trawl_error *err)
{
	struct tw_deflate *out = merge->out;

	merge->out = NULL;
	return tw_deflate_commit(out, err);
}

void tw_merge_release(struct tw_merge *merge)
{
	const struct trawl_allocator *a = merge->allocator;
	size_t i;

	if (!a)
		return;
	tw_deflate_abort(merge->out);
	if (merge->texts.allocator)
		tw_pool_release(&merge->texts);
	for (i = 0; i < merge->file_count && merge->ranks; i++) {
		struct tw_merged *rank = &merge->ranks[i];

		tw_free(a, rank->defects, rank->defect_count * sizeof(*rank->defects));
		if (rank->message)
			tw_free(a, rank->message, strlen(rank->message) + 1);
		if (rank->about)
			tw_free(a, rank->about, strlen(rank->about) + 1);
	}
	tw_free(a, merge->ranks, merge->rank_room * sizeof(*merge->ranks));
	tw_free(a, merge->missing, merge->missing_room * sizeof(int64_t));
	if (merge->set.allocator)
		tw_rank_set_release(&merge->set);
	memset(merge, 0, sizeof(*merge));
}
