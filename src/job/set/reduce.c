/* One trace into one rank, or into those of a trace of several. */
#include "job/set/load.h"

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "base/alloc.h"
#include "base/reuse.h"
#include "derive/view_names.h"
#include "job/set/merged.h"
#include "store/parts.h"
#include "table/pack.h"
#include "text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct reduction {
	const struct trawl_trace *trace;
	const struct tw_derived *derived;
	struct tw_rank *rank;
	struct tw_groups kinds;
	struct tw_str scratch;
};

/* ---- metadata of a trace */

static int take_facts(struct tw_rank *rank, const struct trawl_trace *trace)
{
	size_t len, element, n = 0;
	const char *devices = tw_trace_field(trace, "deviceProperties", &len);

	/* A job of one process is rank 0 of 1, whichever part of a larger whole it is. */
	rank->rank = trace->world_size == 1 ? -1 : trace->rank;
	rank->world_size = trace->world_size == 1 ? -1 : trace->world_size;
	rank->who.labelled = trace->labelled;
	if (trace->marked) {
		rank->name_rank = trace->rank;
		rank->rank = -1;
	}
	rank->base_time_ns = trace->base_time_ns;
	rank->device_name = tw_rank_keep(rank, trace->device_name);
	rank->bytes = (uint64_t)trace->bytes;
	rank->events = trace->events.count;
	while (devices && tw_text_element(devices, len, n, &element))
		n++;
	rank->device_count = (int64_t)n;
	return tw_who_take(rank, trace);
}

/* The profiler's steps that it shows. */
static void take_steps(struct tw_rank *rank, const struct trawl_trace *trace)
{
	enum trawl_class class = tw_step_class(trace);
	uint64_t i;

	for (i = 0; i < trace->events.count; i++) {
		int64_t step;

		if (tw_class(trace, i) != class || (step = tw_step_of(trace, i)) < 0)
			continue;
		if (rank->first_step < 0 || step < rank->first_step)
			rank->first_step = step;
		if (step > rank->last_step)
			rank->last_step = step;
	}
}

/* Defects of the trace: the worst kind, and how many more. */
static void take_defects(struct tw_rank *rank, const struct trawl_report *report)
{
	struct trawl_defect worst = trawl_report_defect(report, 0);
	char message[512];
	size_t i, n = 0;

	for (i = 0; i < trawl_report_defects(report); i++)
		n += trawl_report_defect(report, i).severity != TRAWL_NOTE;
	if (!n)
		return;
	snprintf(message, sizeof(message), "%s %s (%" PRId64 "): %s%s%s",
		 trawl_severity_name(worst.severity), worst.kind, worst.count, worst.meaning,
		 worst.table ? ": table " : "", worst.table ? worst.table : "");
	rank->message = tw_rank_keep(rank, message);
	rank->worst = worst.severity;
	if (worst.severity == TRAWL_LOST)
		rank->state = TRAWL_RANK_DAMAGED;
}

/* ---- its collectives */

static uint32_t keep_text(struct reduction *r, const char *text, size_t len)
{
	return len ? tw_pool_intern(&r->rank->texts, text, len) : 0;
}

static uint32_t keep_code(struct reduction *r, tw_code code)
{
	char buffer[24];
	size_t len;
	const char *text;

	if (code == TW_CODE_NONE)
		return 0;
	text = tw_code_text(r->trace, code, buffer, &len);
	return keep_text(r, text, len);
}

static uint32_t keep_name(struct reduction *r, uint32_t event)
{
	size_t len;
	const char *name = tw_pool_text(&r->trace->texts, r->trace->events.name[event], &len);

	return keep_text(r, name, len);
}

/* An id of 64 bits without sign, which a trace may write as a number of either sign or as text. */
static uint64_t id_of(const struct trawl_trace *trace, const struct trawl_argument *arg)
{
	const char *text;
	uint64_t id = 0;
	size_t len, i;

	if (arg->kind == TRAWL_VALUE_INTEGER)
		return (uint64_t)arg->integer;
	if (arg->kind != TRAWL_VALUE_NUMBER && arg->kind != TRAWL_VALUE_TEXT)
		return 0;
	text = tw_pool_text(&trace->texts, arg->text, &len);
	for (i = 0; i < len; i++) {
		unsigned digit = (unsigned)(text[i] - '0');

		if (digit > 9 || __builtin_mul_overflow(id, 10, &id) ||
		    __builtin_add_overflow(id, digit, &id))
			return 0;
	}
	return id;
}

static void take_collective(struct reduction *r, uint64_t g,
			    const struct tw_collective_facts *facts, struct tw_collective *c)
{
	const struct trawl_trace *trace = r->trace;
	const struct tw_gpu *gpu = &r->derived->gpu;
	const struct tw_queue *queue = &gpu->queues[gpu->queue[g]];
	struct tw_collective_kind kind;

	memset(&kind, 0, sizeof(kind));
	*c = (struct tw_collective){
		.start_ns = tw_view_real_start(&r->derived->view, gpu->start_ns[g]),
		.end_ns = tw_view_real_end(&r->derived->view, gpu->start_ns[g], gpu->end_ns[g]),
		.comms_id = id_of(trace, &facts->comms_id),
		.sequence = -1,
	};
	if (facts->sequence.kind == TRAWL_VALUE_INTEGER && facts->sequence.integer >= 0)
		c->sequence = facts->sequence.integer;
	for (size_t i = 0; i < TW_COLLECTIVE_ARGS; i++) {
		tw_str_clear(&r->scratch);
		tw_collective_arg_text(trace, &facts->args[i], &r->scratch);
		kind.args[i] = keep_text(r, r->scratch.ptr, r->scratch.len);
	}
	kind.kernel = keep_name(r, gpu->event[g]);
	if (!kind.args[TW_COLLECTIVE_NAME] && facts->why.operation != TW_NONE)
		kind.operation = keep_name(r, facts->why.operation);
	kind.evidence = facts->why.evidence;
	kind.copies = tw_class(trace, gpu->event[g]) != TRAWL_CLASS_KERNEL;
	kind.device = keep_code(r, queue->device);
	kind.stream = keep_code(r, queue->stream);
	c->kind = tw_groups_add(&r->kinds, &kind);
}

static int take_kinds(struct reduction *r)
{
	struct tw_rank *rank = r->rank;
	uint32_t i;

	if (r->kinds.failed || r->scratch.failed || rank->texts.failed)
		return -1;
	rank->kinds = tw_alloc_array(rank->allocator, r->kinds.count, sizeof(*rank->kinds));
	if (!rank->kinds)
		return r->kinds.count ? -1 : 0;
	rank->kind_count = r->kinds.count;
	for (i = 0; i < r->kinds.count; i++)
		memcpy(&rank->kinds[i], tw_groups_key(&r->kinds, i), sizeof(rank->kinds[i]));
	return 0;
}

/* Whether an event is a piece of a collective that is in the list, to which it is added then. */
static bool is_piece(struct reduction *r, struct tw_groups *places, uint64_t g,
		     const struct tw_collective_facts *facts)
{
	struct tw_rank *rank = r->rank;
	const struct tw_gpu *gpu = &r->derived->gpu;
	const uint64_t *place =
		tw_collective_begun(places, r->derived, g, facts, rank->collective_count);
	int64_t end;

	if (!place)
		return false;
	end = tw_view_real_end(&r->derived->view, gpu->start_ns[g], gpu->end_ns[g]);
	if (end > rank->collectives[*place].end_ns)
		rank->collectives[*place].end_ns = end;
	return true;
}

static int list_collectives(struct reduction *r)
{
	const struct tw_gpu *gpu = &r->derived->gpu;
	struct tw_rank *rank = r->rank;
	struct tw_collective_facts facts;
	struct tw_groups places;
	uint64_t g;
	bool failed;

	TW_COLLECTIVES_BEGUN_INIT(&places, rank->allocator);
	for (g = 0; g < gpu->count; g++) {
		if (gpu->bucket[g] != TW_COMMUNICATION)
			continue;
		tw_collective_facts_of(r->derived, g, &facts);
		if (!is_piece(r, &places, g, &facts))
			take_collective(r, g, &facts, &rank->collectives[rank->collective_count++]);
	}
	failed = places.failed;
	tw_groups_release(&places);
	return failed ? -1 : 0;
}

static int take_collectives(struct reduction *r)
{
	const struct tw_gpu *gpu = &r->derived->gpu;
	struct tw_rank *rank = r->rank;
	struct tw_collective *list;
	uint64_t g, n = 0;
	int status;

	for (g = 0; g < gpu->count; g++)
		n += gpu->bucket[g] == TW_COMMUNICATION;
	if (!n)
		return 0;
	rank->collectives = tw_alloc_array(rank->allocator, n, sizeof(*rank->collectives));
	if (!rank->collectives)
		return -1;
	status = list_collectives(r);
	list = tw_realloc(rank->allocator, rank->collectives, n * sizeof(*list),
			  rank->collective_count * sizeof(*list));
	if (!list) {
		rank->collective_count = n;
		return -1;
	}
	rank->collectives = list;
	return status ? status : take_kinds(r);
}

/* ---- its GPU work */

static int take_timeline(struct tw_rank *rank, const struct tw_derived *d, bool linked_only)
{
	const struct tw_gpu *gpu = &d->gpu;
	uint64_t g;

	rank->gpu_events = gpu->count;
	if (!gpu->count) {
		if (rank->state == TRAWL_RANK_READ)
			rank->state = TRAWL_RANK_NO_GPU;
		if (!rank->message[0])
			rank->message = tw_rank_keep(rank, "no GPU events");
		return 0;
	}
	rank->first_ns = tw_view_real_start(&d->view, gpu->start_ns[0]);
	rank->last_ns = INT64_MIN;
	for (g = 0; g < gpu->count; g++) {
		int64_t end = tw_view_real_end(&d->view, gpu->start_ns[g], gpu->end_ns[g]);

		if (end > rank->last_ns)
			rank->last_ns = end;
	}
	return tw_timeline_of(&rank->timeline, d, NULL, gpu->count, TW_CODE_NONE, linked_only, -1);
}

static int take_exposed(struct tw_rank *rank, const struct tw_derived *d, bool linked_only)
{
	struct tw_intervals exposed;
	size_t i;
	int status;

	tw_intervals_init(&exposed, rank->allocator);
	status = tw_timeline_exposed(d, linked_only, &exposed);
	tw_intervals_resize(&exposed, exposed.count);
	for (i = 0; i < exposed.count; i++) {
		struct tw_interval *e = &exposed.items[i];

		*e = (struct tw_interval){ tw_view_real_start(&d->view, e->start_ns),
					   tw_view_real_end(&d->view, e->start_ns, e->end_ns) };
	}
	if (status || exposed.failed || exposed.capacity != exposed.count) {
		tw_intervals_release(&exposed);
		return TRAWL_ENOMEM;
	}
	rank->exposed = exposed.items;
	rank->exposed_count = exposed.count;
	return 0;
}

static void take_view(struct tw_rank *rank, const struct trawl_report *report,
		      const struct tw_steps *steps)
{
	rank->view = tw_rank_keep(rank, trawl_report_view(report));
	if (steps->count && steps->has_launches) {
		rank->launched_ns = steps->busy_ns;
		rank->elsewhere_ns = tw_steps_elsewhere(steps);
	}
}

int tw_rank_take_collectives(struct tw_rank *rank, const struct tw_derived *derived)
{
	struct reduction r = { .trace = derived->trace, .derived = derived, .rank = rank };
	int status;

	tw_groups_init(&r.kinds, sizeof(struct tw_collective_kind), rank->allocator);
	tw_str_init(&r.scratch, rank->allocator);
	status = take_collectives(&r) || rank->texts.failed ? TRAWL_ENOMEM : 0;
	tw_str_release(&r.scratch);
	tw_groups_release(&r.kinds);
	return status;
}

static int reduce_report(struct tw_rank *rank, const struct trawl_report *report, bool linked_only,
			 bool exposed)
{
	const struct tw_analysis_input *in = tw_report_input(report);
	int status;

	take_steps(rank, in->trace);
	take_view(rank, report, &in->derived->steps);
	if (trawl_report_defects(report))
		take_defects(rank, report);
	status = take_facts(rank, in->trace) || take_timeline(rank, in->derived, linked_only) ||
				 (exposed && take_exposed(rank, in->derived, linked_only)) ||
				 rank->texts.failed ?
			 TRAWL_ENOMEM :
			 0;
	return status ? status : tw_rank_take_collectives(rank, in->derived);
}

/* ---- its tables */

static int keep_table(struct tw_rank *rank, const struct trawl_table *table,
		      const struct tw_load_options *options)
{
	struct trawl_table *kept = options->keep ? options->keep(table, rank->allocator) :
						   tw_table_copy(table, rank->allocator);

	if (!kept)
		return TRAWL_ENOMEM;
	rank->tables[rank->table_count++] = kept;
	return 0;
}

static int keep_tables(struct tw_rank *rank, const struct trawl_report *report,
		       const struct tw_load_options *options)
{
	size_t i, capacity = options->table_count;
	int status = 0;

	if (!capacity)
		return 0;
	rank->tables = tw_alloc_array(rank->allocator, capacity, sizeof(struct trawl_table *));
	if (!rank->tables)
		return TRAWL_ENOMEM;
	rank->table_capacity = capacity;
	for (i = 0; i < capacity && !status; i++) {
		const struct trawl_table *table = trawl_report_find(report, options->tables[i]);

		if (table)
			status = keep_table(rank, table, options);
	}
	return status;
}

/* ---- files */

/* The report that the rest is taken from: of one table, unless others are to be kept. */
static int analyse(struct tw_rank *rank, const struct trawl_trace *trace,
		   const struct tw_load_options *options, unsigned threads, const char *device,
		   size_t number, struct trawl_error *err)
{
	struct trawl_report_options report_options;
	struct trawl_report *report;
	int status;

	if (options->who_only)
		return take_facts(rank, trace) ? TRAWL_ENOMEM : 0;
	if (options->report)
		report_options = *options->report;
	else
		trawl_report_options_init(&report_options);
	report_options.threads = threads;
	if (device)
		report_options.device = device;
	if (!options->table_count)
		report_options.only = tw_analysis_quality.table.name;
	status = trawl_report_new(&report, trace, &report_options, err);
	if (status)
		return status;
	status = reduce_report(rank, report, report_options.linked_only, options->exposed);
	if (!status)
		status = keep_tables(rank, report, options);
	if (!status && options->attach)
		status = options->attach(rank, report);
	if (!status && options->each)
		options->each(options->each_context, rank->file, number, report);
	trawl_report_free(report);
	return status;
}

/*
 * What of a trace is a rank each: its parts; of an export of one process, which may work on the
 * GPUs of a whole host, those.
 */
struct ranks_of {
	tw_code *device; /* room for track_count */
	size_t count;
	bool parts;
};

static int find_ranks(struct ranks_of *of, const struct trawl_trace *trace)
{
	uint32_t t;
	size_t i, n = 0;

	*of = (struct ranks_of){ .count = trace->part_count, .parts = trace->part_count > 0 };
	of->device = tw_alloc_array(trace->allocator, (size_t)trace->track_count + 1,
				    sizeof(*of->device));
	if (!of->device)
		return -1;
	for (t = 0; t < trace->track_count && trace->by_process && !of->parts; t++) {
		tw_code device = trace->tracks[t].device;

		if (device == TW_CODE_NONE)
			continue;
		for (i = n; i && tw_code_compare(trace, of->device[i - 1], device) > 0; i--)
			;
		if (i && of->device[i - 1] == device)
			continue;
		memmove(of->device + i + 1, of->device + i, (n - i) * sizeof(tw_code));
		of->device[i] = device;
		n++;
	}
	if (!of->parts)
		of->count = n > 1 ? n : 1;
	return 0;
}

/* Which GPU a rank of a trace of several works on: the first that it has. */
static void take_gpu(struct tw_rank *rank, const struct trawl_trace *trace)
{
	char buffer[24];
	size_t len;
	uint32_t t;

	for (t = 0; t < trace->track_count; t++)
		if (trace->tracks[t].device != TW_CODE_NONE) {
			rank->gpu = tw_rank_keep(rank, tw_code_text(trace, trace->tracks[t].device,
								    buffer, &len));
			return;
		}
}

/* A rank of a trace of several. */
static int reduce_part(struct tw_rank *rank, const struct trawl_trace *trace,
		       const struct ranks_of *of, size_t number,
		       const struct tw_load_options *options, unsigned threads,
		       struct trawl_error *err)
{
	struct trawl_trace *part;
	char buffer[24];
	size_t len;
	int status;

	if (!of->parts) {
		status = analyse(rank, trace, options, threads,
				 tw_code_text(trace, of->device[number], buffer, &len), number,
				 err);
		rank->gpu =
			tw_rank_keep(rank, tw_code_text(trace, of->device[number], buffer, &len));
		/* The label of a process is none of its GPUs. */
		rank->rank = -1;
		return status;
	}
	part = tw_trace_part(trace, (uint32_t)number);
	if (!part)
		return TRAWL_ENOMEM;
	status = analyse(rank, part, options, threads, NULL, number, err);
	take_gpu(rank, part);
	tw_trace_free_part(part);
	return status;
}

/* A trace into its ranks. */
static int reduce_trace(const struct tw_file_ranks *out, const struct trawl_trace *trace,
			const struct ranks_of *of, const struct tw_rank_set *set,
			const struct tw_load_options *options, unsigned threads)
{
	size_t i;

	for (i = 0; i < out->count; i++) {
		struct tw_rank *rank = &out->ranks[i];
		struct trawl_error err = { 0 };
		int status = out->count > 1 ?
				     reduce_part(rank, trace, of, i, options, threads, &err) :
				     analyse(rank, trace, options, threads, NULL, i, &err);

		if (status == TRAWL_ENOMEM)
			return status;
		if (status)
			tw_rank_leave_out(rank, set, TRAWL_RANK_UNREADABLE, status, err.message);
	}
	return 0;
}

/* One GPU was requested; or the GPUs do not identify the rank. */
static bool is_one(const struct ranks_of *of, const struct tw_load_options *options)
{
	return (options->report && options->report->device) || (options->who_only && !of->parts);
}

struct tw_file_ranks tw_rank_reduce_trace(const struct tw_rank_set *set, uint32_t file,
					  const struct trawl_trace *trace,
					  const struct tw_load_options *options, unsigned threads,
					  const struct trawl_allocator *allocator)
{
	struct tw_file_ranks out = { .status = TRAWL_ENOMEM };
	struct ranks_of of;

	if (find_ranks(&of, trace))
		return out;
	out.count = is_one(&of, options) ? 1 : of.count;
	out.ranks = tw_ranks_new(out.count, file, set, allocator);
	if (out.ranks)
		out.status = reduce_trace(&out, trace, &of, set, options, threads);
	else
		out.count = 0;
	tw_free(trace->allocator, of.device, ((size_t)trace->track_count + 1) * sizeof(*of.device));
	return out;
}

enum trawl_rank_state tw_state_of_failure(int status, const struct tw_rank_file *file)
{
	return status == TRAWL_ENODATA && !file->named ? TRAWL_RANK_NOT_A_TRACE :
							 TRAWL_RANK_UNREADABLE;
}

struct tw_file_ranks tw_rank_of_failure(const struct tw_rank_set *set, uint32_t file, int status,
					const char *message,
					const struct trawl_allocator *allocator)
{
	struct tw_rank *rank = tw_ranks_new(1, file, set, allocator);

	if (!rank || status == TRAWL_ENOMEM)
		return (struct tw_file_ranks){ rank, rank != NULL, TRAWL_ENOMEM };
	tw_rank_leave_out(rank, set, tw_state_of_failure(status, &set->files[file]), status,
			  message);
	return (struct tw_file_ranks){ rank, 1, 0 };
}

/* The sources of its graphs, then its ranks; parts of a file share no graphs. */
static struct tw_file_ranks reduce_with(const struct tw_rank_set *set, uint32_t file,
					struct trawl_trace *trace,
					const struct tw_load_options *options, unsigned threads,
					const struct trawl_allocator *allocator)
{
	struct tw_file_ranks out = { .status = TRAWL_ENOMEM };
	struct tw_str note;
	size_t i;

	tw_str_init(&note, allocator);
	if (!options->sources || trace->part_count ||
	    !tw_sources_add(options->sources, trace, set->files[file].path, &note))
		out = tw_rank_reduce_trace(set, file, trace, options, threads, allocator);
	for (i = 0; i < out.count && note.len; i++) {
		struct tw_rank *rank = &out.ranks[i];

		if (rank->message[0])
			tw_str_addf(&note, "; %s", rank->message);
		rank->message = tw_rank_keep(rank, note.ptr);
	}
	if (note.failed)
		out.status = TRAWL_ENOMEM;
	tw_str_release(&note);
	return out;
}

struct tw_file_ranks tw_rank_reduce(const struct tw_rank_set *set, uint32_t file,
				    const struct tw_load_options *options, unsigned threads,
				    const struct trawl_allocator *allocator)
{
	struct tw_reuse *memory = tw_reuse_new(allocator);
	struct trawl_read_options read = {
		.threads = threads,
		.block_size = options->block_size,
		.no_python = options->report && options->report->no_python,
	};
	struct tw_file_ranks out = { .status = TRAWL_ENOMEM };
	struct trawl_trace *trace = NULL;
	struct trawl_error err = { 0 };
	int status;

	if (!memory)
		return out;
	read.allocator = tw_reuse_allocator(memory);
	status = trawl_trace_read(&trace, set->files[file].path, &read, &err);
	if (!status && (trawl_trace_is_merged(trace) || tw_is_other_list(trace)))
		status = trawl_error_set(&err, TRAWL_ENODATA, "%s",
					 tw_is_other_list(trace) ? TW_OTHER_LIST : TW_MERGED_TRACE);
	out = status ? tw_rank_of_failure(set, file, status, err.message, allocator) :
		       reduce_with(set, file, trace, options, threads, allocator);
	trawl_trace_free(trace);
	tw_reuse_free(memory);
	return out;
}
