#include "job/merge/compat.h"

#include "base/alloc.h"
#include "base/list.h"
#include "io/sink.h"
#include "job/merge/json_errors.h"
#include "json/value.h"
#include "os/file.h"
#include "store/pool.h"
#include "text/utf8.h"

#include <string.h>
#include <sys/stat.h>

/* What is written in one go. */
#define FLUSH_SIZE ((size_t)1 << 20)

#define PIDS 1000
#define HOST_PIDS 500

/* What a process is, by the categories of its events; flags of `processes`. */
enum { IS_GPU = 1, IS_HOST = 2 };

struct rank {
	const struct tw_json_value *events;
	unsigned number;
	struct tw_pool processes;
	struct tw_pool threads; /* process and key: ids are places in `tids` + 1 */
	unsigned *tids;
	size_t tid_count, tid_capacity;
	unsigned next_tid[2]; /* of the host, of the GPU */
	uint64_t kept[2];
};

/* Where an event goes. */
struct place {
	bool told, gpu; /* it tells a process */
	int64_t tid;
};

struct merging {
	const struct tw_merge_compat *compat;
	const struct trawl_allocator *allocator;
	struct tw_sink *sink;
	struct tw_str *said;
	struct tw_str out; /* text that is not written yet */
	struct tw_str path, scratch;
	uint64_t events;
};

static bool is_one_of(const char *text, const char *const *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(text, list[i]))
			return true;
	return false;
}

#define IS_ONE_OF(text, list) is_one_of((text), (list), sizeof(list) / sizeof((list)[0]))

static const char *const gpu_marks[] = { "kernel", "gpu_memcpy", "gpu_memset",
					 "gpu_user_annotation" };
static const char *const host_marks[] = { "cpu_op", "cuda_runtime", "user_annotation", "fwdbwd" };
static const char *const kept_categories[] = {
	"kernel",
	"Kernel",
	"gpu_memcpy",
	"gpu_memset",
	"gpu_user_annotation",
	"cuda_runtime",
	"cuda_driver",
	"ac2g",
	"user_annotation",
	"fwdbwd",
	"cpu_instant_event",
};

/* ---- pass 1: what processes are, by the categories of their events */

/* A value as a key of a dict: a number and a text of the same digits differ. */
static void add_identity(struct tw_str *out, const struct tw_json_value *value)
{
	tw_str_add_char(out, (char)('a' + value->type));
	if (value->type == TW_JSON_BOOL)
		tw_str_add_char(out, value->boolean ? '1' : '0');
	else if (value->text)
		tw_str_add(out, value->text, value->text_len);
}

/* The id of a process; 0: it is not there, or memory is out. */
static uint32_t process_of(struct merging *m, struct rank *rank, const struct tw_json_value *pid,
			   bool add)
{
	tw_str_clear(&m->scratch);
	add_identity(&m->scratch, pid);
	if (m->scratch.failed)
		return 0;
	return add ? tw_pool_intern(&rank->processes, m->scratch.ptr, m->scratch.len) :
		     tw_pool_find(&rank->processes, m->scratch.ptr, m->scratch.len);
}

static int look_at_processes(struct merging *m, struct rank *rank)
{
	const struct tw_json_value *event;

	for (event = rank->events->first; event; event = event->next) {
		const struct tw_json_value *pid = tw_json_get(event, "pid");
		const char *category = tw_json_text(tw_json_get(event, "cat"));
		uint32_t process;

		if (tw_json_is_null(pid))
			continue;
		process = process_of(m, rank, pid, true);
		if (!process)
			return -1;
		if (IS_ONE_OF(category, gpu_marks))
			rank->processes.flags[process] |= IS_GPU;
		if (IS_ONE_OF(category, host_marks))
			rank->processes.flags[process] |= IS_HOST;
	}
	return 0;
}

/* ---- pass 2: the events */

/* The inside of a string in ASCII, as Python writes it. */
static void add_text(struct tw_str *out, const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		uint32_t code;
		size_t step = tw_utf8_next(text + at, len - at, &code);

		if (code == '"' || code == '\\')
			tw_str_addf(out, "\\%c", (char)code);
		else if (code >= ' ' && code < 0x7f)
			tw_str_add_char(out, (char)code);
		else if (code < 0x10000)
			tw_str_addf(out, "\\u%04x", (unsigned)code);
		else
			tw_str_addf(out, "\\u%04x\\u%04x",
				    0xD800 + (unsigned)((code - 0x10000) >> 10),
				    0xDC00 + (unsigned)((code - 0x10000) & 0x3FF));
		at += step;
	}
}

static void add_string(struct tw_str *out, const char *text, size_t len)
{
	tw_str_add_char(out, '"');
	add_text(out, text, len);
	tw_str_add_char(out, '"');
}

static void add_key(struct tw_str *out, const struct tw_json_value *value)
{
	if (!value->key)
		return;
	add_string(out, value->key, strlen(value->key));
	tw_str_add_cstr(out, ": ");
}

static void add_value(struct tw_str *out, const struct tw_json_value *value);

static void add_children(struct tw_str *out, const struct tw_json_value *value, bool *any)
{
	const struct tw_json_value *child;

	for (child = value->first; child; child = child->next) {
		if (*any)
			tw_str_add_cstr(out, ", ");
		*any = true;
		add_key(out, child);
		add_value(out, child);
	}
}

/* As deep as the reader goes. */
static void add_value(struct tw_str *out, const struct tw_json_value *value)
{
	bool any = false;

	switch (value->type) {
	case TW_JSON_OBJECT:
		tw_str_add_char(out, '{');
		add_children(out, value, &any);
		tw_str_add_char(out, '}');
		break;
	case TW_JSON_ARRAY:
		tw_str_add_char(out, '[');
		add_children(out, value, &any);
		tw_str_add_char(out, ']');
		break;
	case TW_JSON_STRING:
		add_string(out, value->text, value->text_len);
		break;
	case TW_JSON_NUMBER:
		tw_str_add(out, value->text, value->text_len);
		break;
	case TW_JSON_BOOL:
		tw_str_add_cstr(out, value->boolean ? "true" : "false");
		break;
	default:
		tw_str_add_cstr(out, "null");
	}
}

/* The new thread of an old one, numbered as they come; -1: out of memory. */
static int64_t tid_of(struct merging *m, struct rank *rank, uint32_t process, bool gpu,
		      const struct tw_json_value *value)
{
	static const struct tw_json_value zero = { .type = TW_JSON_NUMBER,
						   .text = "0",
						   .text_len = 1 };
	uint32_t id;

	tw_str_clear(&m->scratch);
	tw_str_add(&m->scratch, (const char *)&process, sizeof(process));
	add_identity(&m->scratch, value ? value : &zero);
	id = m->scratch.failed ? 0 : tw_pool_intern(&rank->threads, m->scratch.ptr, m->scratch.len);
	if (!id)
		return -1;
	if (id <= rank->tid_count)
		return rank->tids[id - 1];
	if (!tw_list_grow(&rank->tids, &rank->tid_capacity, rank->tid_count, sizeof(*rank->tids),
			  m->allocator))
		return -1;
	rank->tids[rank->tid_count++] = rank->next_tid[gpu]++;
	return rank->tids[id - 1];
}

static const struct tw_json_value *member(const struct tw_json_value *event, const char *key)
{
	const struct tw_json_value *child;

	for (child = event->first; child; child = child->next)
		if (child->key && !strcmp(child->key, key))
			return child;
	return NULL;
}

static void add_args(struct tw_str *out, const struct tw_json_value *args, unsigned rank)
{
	const struct tw_json_value *child;
	bool any = false, told = false;

	tw_str_add_char(out, '{');
	for (child = args ? args->first : NULL; child; child = child->next) {
		bool is_rank = child->key && !strcmp(child->key, "rank");

		if (any)
			tw_str_add_cstr(out, ", ");
		any = true;
		add_key(out, child);
		if (is_rank)
			tw_str_addf(out, "%u", rank);
		else
			add_value(out, child);
		told |= is_rank;
	}
	if (!told)
		tw_str_addf(out, "%s\"rank\": %u", any ? ", " : "", rank);
	tw_str_add_char(out, '}');
}

static void add_name(struct tw_str *out, const struct tw_json_value *name, unsigned rank)
{
	tw_str_addf(out, "\"[R%u] ", rank);
	add_text(out, name->text, name->text_len);
	tw_str_add_char(out, '"');
}

/* A field of an event, with what is changed in it. */
static void add_field(struct tw_str *out, const struct tw_json_value *field, unsigned rank,
		      const struct place *place)
{
	add_key(out, field);
	if (place->told && !strcmp(field->key, "pid"))
		tw_str_addf(out, "%u", PIDS * rank + (place->gpu ? 0 : HOST_PIDS));
	else if (place->told && !strcmp(field->key, "tid"))
		tw_str_add_int(out, place->tid);
	else if (!strcmp(field->key, "args") && field->type == TW_JSON_OBJECT)
		add_args(out, field, rank);
	else if (!strcmp(field->key, "name") && field->type == TW_JSON_STRING)
		add_name(out, field, rank);
	else
		add_value(out, field);
}

static void add_event(struct merging *m, const struct tw_json_value *event, unsigned rank,
		      const struct place *place)
{
	const struct tw_json_value *field;
	bool any = false;

	tw_str_add_cstr(&m->out, m->events++ ? ", {" : "{");
	for (field = event->first; field; field = field->next) {
		if (any)
			tw_str_add_cstr(&m->out, ", ");
		any = true;
		add_field(&m->out, field, rank, place);
	}
	if (place->told && !member(event, "tid"))
		tw_str_addf(&m->out, ", \"tid\": %lld", (long long)place->tid);
	if (!member(event, "args"))
		tw_str_addf(&m->out, ", \"args\": {\"rank\": %u}", rank);
	tw_str_add_char(&m->out, '}');
	if (m->out.len < FLUSH_SIZE)
		return;
	tw_sink_write(m->sink, m->out.ptr, m->out.len);
	tw_str_clear(&m->out);
}

static int add_events(struct merging *m, struct rank *rank)
{
	const struct tw_json_value *event;

	for (event = rank->events->first; event; event = event->next) {
		const struct tw_json_value *pid = tw_json_get(event, "pid");
		struct place place = { .told = !tw_json_is_null(pid) };
		uint32_t process;

		if (!IS_ONE_OF(tw_json_text(tw_json_get(event, "cat")), kept_categories))
			continue;
		if (place.told) {
			process = process_of(m, rank, pid, false);
			if (!rank->processes.flags[process])
				continue;
			place.gpu = rank->processes.flags[process] & IS_GPU;
			place.tid = tid_of(m, rank, process, place.gpu, member(event, "tid"));
			if (place.tid < 0)
				return -1;
			rank->kept[place.gpu]++;
		}
		add_event(m, event, rank->number, &place);
	}
	return 0;
}

/* ---- files */

static bool is_utf8(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		uint32_t code;

		at += tw_utf8_next(text + at, len - at, &code);
		if (code == TW_UTF8_BAD)
			return false;
	}
	return true;
}

static int merge_document(struct merging *m, const struct tw_json_value *document, unsigned number)
{
	struct rank rank = { .events = tw_json_get(document, "traceEvents"), .number = number };
	int status = -1;

	if (!tw_pool_init(&rank.processes, m->allocator) &&
	    !tw_pool_init(&rank.threads, m->allocator) && !look_at_processes(m, &rank))
		status = add_events(m, &rank);
	tw_free(m->allocator, rank.tids, rank.tid_capacity * sizeof(*rank.tids));
	tw_pool_release(&rank.processes);
	tw_pool_release(&rank.threads);
	tw_str_addf(m->said, "    Added %llu GPU events, %llu CPU context events\n",
		    (unsigned long long)rank.kept[true], (unsigned long long)rank.kept[false]);
	return status;
}

static int merge_text(struct merging *m, const struct tw_str *text, unsigned number,
		      struct trawl_error *err)
{
	const struct tw_json_value *document;
	struct tw_arena arena;
	int status;
	size_t start;

	if (!is_utf8(text->ptr ? text->ptr : "", text->len))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "%s: not plain JSON text (UTF-8), required by --compat",
				       m->path.ptr);
	start = m->said->len;
	tw_str_addf(m->said, "  Error reading %s: ", m->path.ptr);
	if (tw_python_complaint(text->ptr ? text->ptr : "", text->len, m->said)) {
		tw_str_add_char(m->said, '\n');
		return 0;
	}
	m->said->len = start;
	tw_arena_init(&arena, m->allocator);
	document = tw_json_parse(&arena, text->ptr, text->len, m->path.ptr, err);
	if (!document)
		status = err->status;
	else if (document->type != TW_JSON_OBJECT)
		status = trawl_error_set(err, TRAWL_EFORMAT, "%s: not a JSON object", m->path.ptr);
	else
		status = merge_document(m, document, number) ? tw_no_memory(err) : 0;
	tw_arena_release(&arena);
	return status;
}

static void set_path(struct merging *m, unsigned number)
{
	tw_str_clear(&m->path);
	tw_str_addf(&m->path, "%s/rank%u/%s", m->compat->directory, number, m->compat->trace_name);
}

static int merge_rank(struct merging *m, unsigned number, struct trawl_error *err)
{
	struct trawl_error reason;
	struct tw_str text;
	struct stat info;
	int status;

	set_path(m, number);
	if (m->path.failed)
		return tw_no_memory(err);
	if (stat(m->path.ptr, &info)) {
		tw_str_addf(m->said, "  Skipping rank %u - file not found\n", number);
		return 0;
	}
	tw_str_addf(m->said, "  Processing rank %u...\n", number);
	tw_str_init(&text, m->allocator);
	status = tw_file_read_found(m->path.ptr, SIZE_MAX / 2, &text, &reason);
	if (status == TRAWL_ENOMEM) {
		tw_no_memory(err);
	} else if (status) {
		tw_str_addf(m->said, "  Error reading %s: %s\n", m->path.ptr, reason.message);
		status = 0;
	} else {
		status = merge_text(m, &text, number, err);
	}
	tw_str_release(&text);
	return status;
}

static void add_metadata(struct merging *m, unsigned rank, bool gpu)
{
	unsigned pid = PIDS * rank + (gpu ? 0 : HOST_PIDS);
	static const char front[] = "{\"pid\": %u, \"tid\": 0, \"ts\": 0, \"ph\": \"M\", "
				    "\"cat\": \"__metadata\", \"name\": \"%s\", \"args\": ";

	tw_str_add_cstr(&m->out, m->events++ ? ", " : "");
	tw_str_addf(&m->out, front, pid, "process_name");
	tw_str_addf(&m->out, "{\"name\": \"Rank %u - %s\"}}", rank,
		    gpu ? "GPU Stream" : "CPU/CUDA Runtime");
	tw_str_add_cstr(&m->out, ", ");
	m->events++;
	tw_str_addf(&m->out, front, pid, "process_sort_index");
	tw_str_addf(&m->out, "{\"sort_index\": %u}}", 2 * rank + !gpu);
}

static int merge_all(struct merging *m, struct trawl_error *err)
{
	unsigned i;
	int status = 0;

	tw_str_addf(m->said, "Merging traces from %s\n", m->compat->directory);
	tw_str_add_cstr(&m->out, "{\"traceEvents\": [");
	for (i = 0; i < m->compat->ranks && !status; i++)
		status = merge_rank(m, i, err);
	if (status)
		return status;
	tw_str_add_cstr(m->said, "\n  Adding process metadata...\n");
	for (i = 0; i < m->compat->ranks; i++) {
		add_metadata(m, i, true);
		add_metadata(m, i, false);
	}
	tw_str_add_cstr(&m->out, "]}");
	tw_str_addf(m->said, "\nWriting merged trace to %s...\n", m->compat->output);
	tw_sink_write(m->sink, m->out.ptr, m->out.len);
	return m->out.failed ? tw_no_memory(err) : 0;
}

int tw_merge_compat(const struct tw_merge_compat *compat, struct tw_str *said,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct merging m = { .compat = compat, .allocator = allocator, .said = said };
	int status = tw_sink_open(&m.sink, compat->output, allocator, err);

	tw_str_init(&m.out, allocator);
	tw_str_init(&m.path, allocator);
	tw_str_init(&m.scratch, allocator);
	if (!status) {
		status = merge_all(&m, err);
		if (status)
			tw_sink_abort(m.sink);
		else
			status = tw_sink_commit(m.sink, err);
	}
	if (!status)
		tw_str_addf(said,
			    "\n Successfully merged traces\n Total events: %llu\n\n"
			    "View in Perfetto: https://ui.perfetto.dev\n\n"
			    "Process organization:\n"
			    "  - PIDs N000: Rank N GPU streams (kernels, memcpy)\n"
			    "  - PIDs N500: Rank N CPU/CUDA runtime context\n",
			    (unsigned long long)m.events);
	tw_str_release(&m.out);
	tw_str_release(&m.path);
	tw_str_release(&m.scratch);
	return status;
}
