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

/* ---- a rank */

struct told {
	struct tw_merging *m;
	int64_t bytes; /* of the file that progress has heard of */
};

static int tell_bytes(void *context, int64_t bytes_read, int64_t file_size)
{
	struct told *told = context;
	int64_t more = bytes_read - told->bytes;

	(void)file_size;
	told->bytes = bytes_read;
	return tw_reading_tell(&told->m->reading, more);
}

/* Those of the trace, and what merging it found. */
static int take_defects(struct trawl_merge *merge, struct tw_merged *rank,
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
			rank->of->state = TRAWL_RANK_DAMAGED;
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

/* Metadata of the trace, for the list of ranks after the events. */
static int take_about(struct trawl_merge *merge, struct tw_merged *rank,
		      const struct trawl_trace *trace)
{
	const char *path = tw_merged_file(merge, rank)->path;
	struct tw_json json;
	struct tw_str out;
	uint32_t i;

	tw_str_init(&out, merge->allocator);
	tw_json_init(&json, &out);
	tw_json_object(&json, TW_JSON_INLINE);
	tw_json_key(&json, "rank");
	tw_json_integer(&json, rank->of->rank);
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
	rank->about = out.failed ? "" : tw_rank_keep(rank->of, out.ptr);
	tw_str_release(&out);
	return rank->about[0] ? 0 : -1;
}

static int merge_trace(struct tw_merging *m, struct tw_merged *rank,
		       const struct trawl_trace *trace, struct tw_lines *lines,
		       const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_rank_events one = {
		.allocator = allocator,
		.trace = trace,
		.rank = rank->of->rank,
		.shift_ns = rank->shift_ns,
		.keep_all = m->options->keep_all,
	};
	int status;

	rank->told_rank = trace->world_size == 1 || trace->marked ? -1 : trace->rank;
	if (trawl_trace_is_merged(trace))
		return trawl_error_set(err, TRAWL_EUSAGE, TW_MERGED_TRACE);
	if (!trace->events.count)
		return trawl_error_set(err, TRAWL_EFORMAT, "no events");
	if (take_about(m->merge, rank, trace))
		return tw_no_memory(err);
	tw_quality_init(&one.quality);
	status = tw_merge_rank_events(&one, lines, err);
	if (!status && take_defects(m->merge, rank, trace, &one.quality))
		status = tw_no_memory(err);
	rank->counts = one.counts;
	return status;
}

/* ---- files with several ranks: read once, held until the last of its ranks is done */

static int read_held(struct tw_merging *m, struct tw_held *held, const char *path,
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

static void drop_held(struct tw_merging *m, struct tw_held *held)
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
	const char *path = tw_merged_file(m->merge, rank)->path;
	struct tw_held *held = &m->held[rank->of->file];
	uint32_t number = rank->of->who.part;
	struct trawl_trace *part = NULL;
	int status;

	pthread_mutex_lock(&m->holding);
	status = read_held(m, held, path, read, err);
	pthread_mutex_unlock(&m->holding);
	if (!status && number > held->trace->part_count)
		status = trawl_error_set(err, TRAWL_EFORMAT, "file changed while being read");
	if (!status) {
		part = tw_trace_part(held->trace, number - 1);
		status = part ? tw_merge_add_arrows(part, err) : tw_no_memory(err);
		if (!status)
			status = merge_trace(m, rank, part, lines, m->memory, err);
	}
	if (part)
		tw_trace_free_part(part);
	drop_held(m, held);
	return status;
}

int tw_merging_hold(struct tw_merging *m)
{
	size_t i;

	m->held = tw_alloc_array(m->merge->allocator, m->merge->job.set.count, sizeof(*m->held));
	if (!m->held)
		return -1;
	for (i = 0; i < m->merge->job.set.count; i++)
		m->held[i].file = (uint32_t)i;
	for (i = 0; i < m->merge->count; i++)
		m->held[m->merge->ranks[i].of->file].ranks++;
	pthread_mutex_init(&m->holding, NULL);
	return 0;
}

/* Also what other processes had a part of. */
void tw_merging_let_go(struct tw_merging *m)
{
	size_t i;

	if (!m->held)
		return;
	for (i = 0; i < m->merge->job.set.count; i++)
		trawl_trace_free(m->held[i].trace);
	tw_free(m->merge->allocator, m->held, m->merge->job.set.count * sizeof(*m->held));
	pthread_mutex_destroy(&m->holding);
}

static int read_rank(struct tw_merging *m, struct tw_merged *rank, struct tw_lines *lines,
		     struct trawl_error *err)
{
	const struct tw_rank_file *file = tw_merged_file(m->merge, rank);
	struct told told = { .m = m };
	struct trawl_read_options read = {
		.allocator = m->memory,
		.threads = m->threads,
		.block_size = m->options->load.block_size,
		.progress = tell_bytes,
		.progress_context = &told,
	};
	struct trawl_trace *trace;
	int status;

	if (rank->of->who.part)
		return read_part(m, rank, &read, lines, err);
	status = trawl_trace_read(&trace, file->path, &read, err);
	if (!status) {
		/* Without what is added to it. */
		if (m->options->visit && !trawl_trace_is_merged(trace))
			m->options->visit(m->options->visit_context, rank->of->file, trace,
					  m->threads);
		status = tw_merge_add_arrows(trace, err);
		if (!status)
			status = merge_trace(m, rank, trace, lines, m->memory, err);
		trawl_trace_free(trace);
	}
	tell_bytes(&told, file->bytes, file->bytes);
	return status;
}

void tw_merging_read(struct tw_merging *m, struct tw_merged *rank, struct tw_lines *lines)
{
	const struct tw_rank_file *file = tw_merged_file(m->merge, rank);
	struct trawl_error err = { 0 };
	int status = read_rank(m, rank, lines, &err);

	if (status)
		tw_rank_leave_out(rank->of, &m->merge->job.set, tw_state_of_failure(status, file),
				  status, err.message);
}

void tw_merging_rank(void *context, size_t number)
{
	struct tw_merging *m = context;
	size_t i = number * m->stride;
	struct tw_merged *rank = &m->merge->ranks[i];
	int64_t need = tw_rank_file_memory(tw_merged_file(m->merge, rank), TENTHS_OF_TEXT);
	struct tw_lines lines;

	tw_lines_init(&lines, &m->turns, i, m->memory);
	if (tw_reading_begin(&m->reading, number, need))
		tw_merging_read(m, rank, &lines);
	else
		tw_rank_leave_out(rank->of, &m->merge->job.set, TRAWL_RANK_UNREADABLE,
				  TRAWL_ECANCELED, "");
	tw_reading_end(&m->reading, need);
	tw_lines_end(&lines);
}

static void merge_ranks(struct tw_merging *m)
{
	const struct tw_merge_options *o = m->options;
	size_t count = m->merge->count, i;
	int64_t share;

	m->threads = o->load.threads > count ? o->load.threads / (unsigned)count : 1;
	m->reading = (struct tw_reading){ .progress = o->load.progress,
					  .progress_context = o->load.progress_context,
					  .budget = o->load.max_memory };
	/* The processes of a machine share it, unless they were told how much to take. */
	if (o->cluster && !o->load.max_memory)
		m->reading.budget = tw_half_of_memory() / o->cluster->here;
	for (i = 0; i < count; i++)
		m->reading.bytes += tw_merged_file(m->merge, &m->merge->ranks[i])->bytes;
	tw_reading_init(&m->reading);
	share = m->reading.budget / (2 * (int64_t)(o->load.threads ? o->load.threads : 1));
	tw_turns_init(&m->turns, m->merge->out,
		      (size_t)(share < MOST_WAITING ? share : MOST_WAITING));
	if (!o->cluster || o->cluster->size == 1 || !tw_together_merge(m)) {
		m->stride = 1;
		tw_parallel(o->load.threads, count, tw_merging_rank, m);
	}
	tw_turns_destroy(&m->turns);
	tw_reading_destroy(&m->reading);
}

/* ---- around the events */

static void put(struct trawl_merge *merge, const char *text)
{
	tw_deflate_write(merge->out, text, strlen(text));
}

static void write_front(struct trawl_merge *merge)
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

static void write_back(struct trawl_merge *merge)
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
static int check_ranks(const struct trawl_merge *merge, struct trawl_error *err)
{
	size_t i, in = 0;

	for (i = 0; i < merge->count; i++) {
		int status = merge->ranks[i].of->status;

		if (status == TRAWL_ENOMEM || status == TRAWL_ECANCELED)
			return trawl_error_set(err, status, "%s", trawl_status_name(status));
		in += tw_merged_is_in(&merge->ranks[i]);
	}
	return in ? 0 : tw_merge_nothing_left(merge, err);
}

int tw_merge_run(struct trawl_merge *merge, struct tw_rank_set *set, const char *path,
		 const struct tw_merge_options *given, const struct trawl_allocator *allocator,
		 struct trawl_error *err)
{
	struct tw_merge_options options = *given;
	struct tw_merging m = { .merge = merge, .options = &options };
	struct tw_reuse *memory;
	int status;

	*merge = (struct trawl_merge){ .allocator = allocator,
				       .job = { .allocator = allocator, .set = *set } };
	memset(set, 0, sizeof(*set));
	if (!options.load.threads)
		options.load.threads = options.cluster ? tw_cluster_threads(options.cluster) :
							 tw_thread_count();
	status = tw_merge_plan(merge, path, &options, err);
	if (!status)
		status = tw_merge_align(merge, &options, err);
	if (!status)
		status = tw_deflate_open(&merge->out, path, tw_merge_is_gzip(path), allocator, err);
	if (status)
		return status;
	memory = tw_reuse_new(allocator);
	if (memory && !tw_merging_hold(&m)) {
		m.memory = tw_reuse_allocator(memory);
		write_front(merge);
		merge_ranks(&m);
		tw_merging_let_go(&m);
		status = check_ranks(merge, err);
	} else {
		status = tw_no_memory(err);
	}
	tw_reuse_free(memory);
	if (!status)
		write_back(merge);
	return status;
}

int trawl_merge_commit(struct trawl_merge *merge, struct trawl_error *err)
{
	struct tw_deflate *out = merge->out;

	merge->out = NULL;
	return tw_deflate_commit(out, err);
}

void tw_merge_release(struct trawl_merge *merge)
{
	const struct trawl_allocator *a = merge->allocator;
	size_t i;

	if (!a)
		return;
	tw_deflate_abort(merge->out);
	for (i = 0; i < merge->file_count && merge->ranks; i++) {
		struct tw_merged *rank = &merge->ranks[i];

		tw_free(a, rank->defects, rank->defect_count * sizeof(*rank->defects));
	}
	tw_free(a, merge->ranks, merge->rank_room * sizeof(*merge->ranks));
	tw_free(a, merge->missing, merge->missing_room * sizeof(int64_t));
	tw_job_release(&merge->job);
	memset(merge, 0, sizeof(*merge));
}
