#include "nsys/kernels.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/sort.h"
#include "data/tables.h"
#include "nsys/ranges.h"

#include <string.h>
#include <strings.h>

enum {
	START,
	END,
	GID,
	DEVICE,
	CONTEXT,
	GREEN,
	STREAM,
	CORRELATION,
	DEMANGLED,
	SHORT,
	MANGLED,
	COLUMNS,
	GRAPH_NODE = COLUMNS,
	CLOSE_COLUMNS,
};
static const char *const columns[CLOSE_COLUMNS] = {
	"start",    "end",	     "globalPid",     "deviceId",  "contextId",	  "greenContextId",
	"streamId", "correlationId", "demangledName", "shortName", "mangledName", "graphNodeId",
};

#define ALL_GIVEN (1u << START | 1u << END | 1u << GID)

/* What a kernel is by its name. */
enum kind { COMPUTE, COMMUNICATION, LOUD, NAMELESS };

struct part {
	struct tw_nsys_part part;
	struct tw_matcher matcher;
	struct tw_ids windows; /* process -> window */
	struct tw_ids kinds;   /* text id -> enum kind */
	struct tw_nsys_kernels found;
	uint32_t last_stream;
	int64_t last_process, first_ns, last_ns; /* of all windows together */
	uint32_t last_window;
	bool begun;
};

static const struct tw_nsys_kernels_wanted *wanted_of(const struct part *p)
{
	return p->part.context;
}

/* ---- what a kernel is */

static enum kind kind_of_name(const struct part *p, const char *name, size_t len)
{
	const struct tw_nsys_rule *rule;
	const struct tw_kernel_name *known;

	if (wanted_of(p)->compat) {
		if (len >= 4 && !memcmp(name, "nccl", 4))
			return COMMUNICATION;
		return len >= 4 && !strncasecmp(name, "nccl", 4) ? LOUD : COMPUTE;
	}
	rule = wanted_of(p)->rules ? tw_matcher_find(&p->matcher, TW_NSYS_KERNEL, name, len, NULL) :
				     NULL;
	if (rule)
		return strcmp(rule->value, "compute") ? COMMUNICATION : COMPUTE;
	known = tw_kernel_name(name, len);
	return known && known->class == TW_KERNEL_COMMUNICATION ? COMMUNICATION : COMPUTE;
}

/* The kind by the id of a name, NAMELESS without its text; false: out of memory. */
static bool kind_of_id(struct part *p, int64_t id, enum kind *kind)
{
	uint32_t known = tw_ids_get(&p->kinds, id);
	const char *name;
	size_t len;

	if (known == TW_IDS_NONE) {
		name = tw_nsys_text(p->part.database, id, &len);
		known = name ? kind_of_name(p, name, len) : NAMELESS;
		if (!tw_ids_put(&p->kinds, id, known, p->part.allocator))
			return false;
	}
	*kind = (enum kind)known;
	return true;
}

/* By the first name that there is. */
static bool kind_of_row(struct part *p, const struct tw_scan *scan, enum kind *kind)
{
	static const size_t names[] = { DEMANGLED, SHORT, MANGLED };
	bool compat = wanted_of(p)->compat;
	size_t i;
	int64_t id;

	*kind = NAMELESS;
	for (i = compat ? 1 : 0; i < (compat ? 2 : 3) && *kind == NAMELESS; i++)
		if (tw_scan_integer(scan, names[i], &id) == TW_VALUE_GIVEN &&
		    !kind_of_id(p, id, kind))
			return false;
	return true;
}

/* ---- where it counts */

static bool begin(struct part *p)
{
	const struct tw_nsys_kernels_wanted *wanted = wanted_of(p);
	const struct trawl_allocator *a = p->part.allocator;
	size_t i;

	p->begun = true;
	p->found.allocator = a;
	p->found.end_ns = INT64_MIN;
	p->first_ns = INT64_MAX;
	p->last_ns = INT64_MIN;
	if (wanted->rules && !tw_matcher_init(&p->matcher, wanted->rules, a))
		return false;
	for (i = 0; i < wanted->count; i++) {
		const struct tw_nsys_window *w = &wanted->windows[i];

		if (!tw_ids_put(&p->windows, w->process, (uint32_t)i, a))
			return false;
		if (w->start_ns < p->first_ns)
			p->first_ns = w->start_ns;
		if (w->end_ns > p->last_ns)
			p->last_ns = w->end_ns;
	}
	p->last_window = TW_IDS_NONE;
	return true;
}

/* Whether a stretch has a part in a window: a moment at its start has, at its end it has not. */
static bool clip(const struct tw_nsys_window *w, int64_t *start_ns, int64_t *end_ns)
{
	if (*start_ns == *end_ns)
		return *start_ns >= w->start_ns &&
		       (*start_ns < w->end_ns || w->start_ns == w->end_ns);
	if (*end_ns <= w->start_ns || *start_ns >= w->end_ns)
		return false;
	if (*start_ns < w->start_ns)
		*start_ns = w->start_ns;
	if (*end_ns > w->end_ns)
		*end_ns = w->end_ns;
	return true;
}

/* As the original scripts ask: all of it, edges included. */
static bool is_inside(const struct tw_nsys_window *w, int64_t start_ns, int64_t end_ns)
{
	return start_ns >= w->start_ns && end_ns <= w->end_ns;
}

static uint32_t window_of(struct part *p, int64_t process)
{
	if (p->last_process != process || p->last_window == TW_IDS_NONE) {
		p->last_process = process;
		p->last_window = tw_ids_get(&p->windows, process);
	}
	return p->last_window;
}

static bool same_stream(const struct tw_nsys_stream *a, const struct tw_nsys_stream *b)
{
	return a->window == b->window && a->stream == b->stream && a->device == b->device &&
	       a->context == b->context && a->green == b->green;
}

static int64_t stream_hash(const struct tw_nsys_stream *s)
{
	uint64_t h =
		tw_hash_mix(s->window ^ tw_hash_secret[0], (uint64_t)s->stream ^ tw_hash_secret[1]);

	h = tw_hash_mix(h ^ (uint64_t)s->device, (uint64_t)s->context ^ tw_hash_secret[0]);
	return (int64_t)(h ^ (uint64_t)s->green);
}

/* The number of a cover.  UINT32_MAX: out of memory. */
static uint32_t intern_cover(struct tw_nsys_kernels *k, uint32_t window, int64_t device)
{
	int64_t key = (int64_t)((uint64_t)window << 32 | (uint32_t)device);
	uint32_t cover = tw_ids_get(&k->cover_ids, key);

	if (cover != TW_IDS_NONE)
		return cover;
	if (!tw_list_grow(&k->covers, &k->cover_capacity, k->cover_count, sizeof(*k->covers),
			  k->allocator) ||
	    !tw_ids_put(&k->cover_ids, key, (uint32_t)k->cover_count, k->allocator))
		return UINT32_MAX;
	k->covers[k->cover_count] = (struct tw_nsys_cover){ .window = window, .device = device };
	tw_intervals_init(&k->covers[k->cover_count].busy, k->allocator);
	return (uint32_t)k->cover_count++;
}

/* The number of a stream.  UINT32_MAX: out of memory. */
static uint32_t intern_stream(struct tw_nsys_kernels *k, const struct tw_nsys_stream *stream,
			      uint32_t last)
{
	int64_t hash;
	uint32_t i;

	if (last < k->stream_count && same_stream(&k->streams[last], stream))
		return last;
	for (hash = stream_hash(stream); (i = tw_ids_get(&k->stream_ids, hash)) != TW_IDS_NONE;
	     hash = (int64_t)((uint64_t)hash + 1))
		if (same_stream(&k->streams[i], stream))
			return i;
	if (!tw_list_grow(&k->streams, &k->stream_capacity, k->stream_count, sizeof(*stream),
			  k->allocator) ||
	    !tw_ids_put(&k->stream_ids, hash, (uint32_t)k->stream_count, k->allocator))
		return UINT32_MAX;
	k->streams[k->stream_count] = *stream;
	k->streams[k->stream_count].cover = intern_cover(k, stream->window, stream->device);
	if (k->streams[k->stream_count].cover == UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)k->stream_count++;
}

/* The numbers of a row, up to its correlation. */
struct numbers {
	int64_t values[CORRELATION + 1];
	uint32_t given, odd; /* bits by column */
};

static int64_t number_of(const struct numbers *n, unsigned column)
{
	return n->given >> column & 1 ? n->values[column] : -1;
}

static uint32_t stream_of_row(struct part *p, const struct numbers *n, uint32_t window)
{
	bool compat = wanted_of(p)->compat;
	struct tw_nsys_stream stream = { .window = window,
					 .device = compat ? -1 : number_of(n, DEVICE),
					 .context = compat ? -1 : number_of(n, CONTEXT),
					 .green = compat ? -1 : number_of(n, GREEN),
					 .stream = number_of(n, STREAM) };

	return intern_stream(&p->found, &stream, p->last_stream);
}

static bool add_comm(struct tw_nsys_kernels *k, const struct tw_nsys_comm *comm)
{
	if (!tw_list_grow(&k->comm, &k->comm_capacity, k->comm_count, sizeof(*comm), k->allocator))
		return false;
	k->comm[k->comm_count++] = *comm;
	return true;
}

/* A kernel in its window. */
static bool count_kernel(struct part *p, const struct numbers *n, enum kind kind, uint32_t window,
			 struct tw_nsys_comm *kernel)
{
	struct tw_nsys_kernels *k = &p->found;
	int64_t length = kernel->end_ns - kernel->start_ns;
	uint32_t stream = stream_of_row(p, n, window);
	struct tw_nsys_stream *s;

	if (stream == UINT32_MAX)
		return false;
	p->last_stream = stream;
	s = &k->streams[stream];
	k->rows++;
	k->unnamed += kind == NAMELESS;
	if (kind == COMPUTE || kind == NAMELESS) {
		s->compute_count++;
		s->compute_ns += length;
		if (wanted_of(p)->compute_spans && length)
			tw_intervals_put(&k->covers[s->cover].busy, kernel->start_ns,
					 kernel->end_ns);
		return !k->covers[s->cover].busy.failed;
	}
	s->comm_count++;
	s->comm_ns += length;
	kernel->stream = stream;
	kernel->loud = kind == LOUD;
	kernel->correlation = n->values[CORRELATION];
	/* 0 and -1 are written for want of one. */
	kernel->linked = n->given >> CORRELATION & 1 &&
			 (wanted_of(p)->compat ||
			  (kernel->correlation > 0 && kernel->correlation != (int64_t)UINT32_MAX));
	return add_comm(k, kernel);
}

/* Times and numbers for which a report leaves a kernel out, too. */
static bool is_impossible(int64_t start_ns, int64_t end_ns)
{
	return end_ns < start_ns || end_ns - start_ns > TW_LONGEST_DURATION_NS ||
	       (!start_ns && !end_ns);
}

/* All that makes a kernel this one: nodes of a graph may differ in nothing else. */
static uint64_t hash_of_row(const struct part *p, const struct tw_scan *scan, struct numbers *n)
{
	uint64_t h = tw_hash_bytes((const char *)n->values, sizeof(n->values));
	int64_t name = 0, node = 0;

	/* 0 where they are not given. */
	tw_scan_integer(scan, DEMANGLED, &name);
	if (p->part.close)
		tw_scan_integer(scan, GRAPH_NODE, &node);
	return tw_hash_mix(h ^ (uint64_t)name, tw_hash_secret[1] ^ (uint64_t)node) ^ n->given;
}

static int on_row(void *part, const struct tw_scan *scan)
{
	struct part *p = part;
	struct tw_nsys_comm kernel;
	uint32_t window;
	struct numbers n;
	int64_t start, end;
	enum kind kind;
	bool clipped, again = false;

	if (!p->begun && !begin(p))
		return tw_nsys_no_memory(&p->part);
	if (tw_scan_integers(scan, GID + 1, n.values, &n.odd) != ALL_GIVEN)
		return tw_nsys_odd(&p->part, scan);
	start = n.values[START];
	end = n.values[END];
	if (!tw_nsys_is_time(start) || !tw_nsys_is_time(end) ||
	    (!wanted_of(p)->compat && is_impossible(start, end)))
		return tw_nsys_odd(&p->part, scan);
	if (end < start)
		end = start;
	if (end > p->found.end_ns)
		p->found.end_ns = end;
	if (end < p->first_ns || start > p->last_ns)
		return 0;
	window = window_of(p, tw_nsys_process(n.values[GID], wanted_of(p)->compat));
	if (window == TW_IDS_NONE)
		return 0;
	kernel = (struct tw_nsys_comm){ .start_ns = start, .end_ns = end, .gpu_start_ns = start };
	if (wanted_of(p)->compat ?
		    !is_inside(&wanted_of(p)->windows[window], start, end) :
		    !clip(&wanted_of(p)->windows[window], &kernel.start_ns, &kernel.end_ns))
		return 0;
	n.given = tw_scan_integers(scan, CORRELATION + 1, n.values, &n.odd);
	if (!wanted_of(p)->compat && n.odd)
		return tw_nsys_odd(&p->part, scan);
	clipped = kernel.start_ns != start || kernel.end_ns != end;
	if (!kind_of_row(p, scan, &kind) ||
	    (!wanted_of(p)->compat &&
	     !tw_nsys_is_again(&p->part, hash_of_row(p, scan, &n), &again)))
		return tw_nsys_no_memory(&p->part);
	p->found.again += again;
	if (again || (wanted_of(p)->compat && kind == NAMELESS))
		return 0;
	if (!count_kernel(p, &n, kind, window, &kernel))
		return tw_nsys_no_memory(&p->part);
	p->found.streams[p->last_stream].clipped += clipped;
	return 0;
}

static int on_end(void *part)
{
	struct part *p = part;
	size_t i;

	if (!p->begun)
		return 0;
	for (i = 0; i < p->found.cover_count; i++) {
		tw_intervals_unite(&p->found.covers[i].busy);
		tw_intervals_resize(&p->found.covers[i].busy, 0);
		if (p->found.covers[i].busy.failed)
			return tw_nsys_no_memory(&p->part);
	}
	return 0;
}

static void release_part(void *part)
{
	struct part *p = part;

	if (!p->begun)
		return;
	tw_matcher_release(&p->matcher);
	tw_ids_release(&p->windows, p->part.allocator);
	tw_ids_release(&p->kinds, p->part.allocator);
	tw_nsys_kernels_release(&p->found);
	p->begun = false;
}

/* ---- parts put together, in their order */

static bool join_streams(struct tw_nsys_kernels *to, const struct tw_nsys_kernels *from,
			 uint32_t *numbers)
{
	size_t i;

	for (i = 0; i < from->stream_count; i++) {
		struct tw_nsys_stream stream = from->streams[i], *s;

		stream.comm_count = stream.compute_count = stream.clipped = 0;
		stream.comm_ns = stream.compute_ns = 0;
		numbers[i] = intern_stream(to, &stream, UINT32_MAX);
		if (numbers[i] == UINT32_MAX)
			return false;
		s = &to->streams[numbers[i]];
		s->comm_count += from->streams[i].comm_count;
		s->compute_count += from->streams[i].compute_count;
		s->clipped += from->streams[i].clipped;
		s->comm_ns += from->streams[i].comm_ns;
		s->compute_ns += from->streams[i].compute_ns;
	}
	return true;
}

/* reserve() has made its room. */
static bool join_cover(struct tw_nsys_kernels *to, const struct tw_nsys_cover *from)
{
	uint32_t number = intern_cover(to, from->window, from->device);
	size_t i;

	if (number == UINT32_MAX)
		return false;
	for (i = 0; i < from->busy.count; i++)
		tw_intervals_put(&to->covers[number].busy, from->busy.items[i].start_ns,
				 from->busy.items[i].end_ns);
	return !to->covers[number].busy.failed;
}

static bool join_part(struct tw_nsys_kernels *to, struct tw_nsys_kernels *from)
{
	size_t bytes = (from->stream_count + 1) * sizeof(uint32_t), i, k;
	uint32_t *numbers = tw_alloc(to->allocator, bytes);
	bool good = numbers && join_streams(to, from, numbers);

	for (i = 0; i < from->comm_count && good; i++) {
		from->comm[i].stream = numbers[from->comm[i].stream];
		good = add_comm(to, &from->comm[i]);
	}
	for (k = 0; k < from->cover_count && good; k++)
		good = join_cover(to, &from->covers[k]);
	to->rows += from->rows;
	to->unnamed += from->unnamed;
	to->again += from->again;
	if (from->end_ns > to->end_ns)
		to->end_ns = from->end_ns;
	tw_free(to->allocator, numbers, bytes);
	return good;
}

/* What computes on a compute stream, though it is named like communication in capitals. */
static void add_loud(struct tw_nsys_kernels *k)
{
	size_t i;

	for (i = 0; i < k->comm_count; i++) {
		const struct tw_nsys_comm *c = &k->comm[i];
		const struct tw_nsys_stream *s = &k->streams[c->stream];

		if (c->loud && s->compute_count)
			tw_intervals_put(&k->covers[s->cover].busy, c->start_ns, c->end_ns);
	}
}

/* ---- the order of streams */

static const struct tw_nsys_stream *sorted_stream(const void *context, uint32_t number)
{
	return &((const struct tw_nsys_stream *)context)[number];
}

static uint64_t by_window(const void *context, uint32_t number)
{
	return sorted_stream(context, number)->window;
}

static uint64_t by_device(const void *context, uint32_t number)
{
	return tw_sort_key(sorted_stream(context, number)->device);
}

static uint64_t by_context(const void *context, uint32_t number)
{
	return tw_sort_key(sorted_stream(context, number)->context);
}

static uint64_t by_green(const void *context, uint32_t number)
{
	return tw_sort_key(sorted_stream(context, number)->green);
}

static uint64_t by_stream(const void *context, uint32_t number)
{
	return tw_sort_key(sorted_stream(context, number)->stream);
}

/* The least key first: a stable sort keeps what it has put in order. */
static bool sort_streams(struct tw_nsys_kernels *k)
{
	tw_sort_key_of *const keys[] = { by_stream, by_green, by_context, by_device, by_window };
	const struct trawl_allocator *a = k->allocator;
	size_t count = k->stream_count, bytes = (count + 1) * sizeof(uint32_t), i;
	uint32_t *order = tw_alloc(a, bytes), *number = tw_alloc(a, bytes);
	struct tw_nsys_stream *streams = tw_alloc_array(a, count + 1, sizeof(*streams));
	bool good = order && number && streams;

	for (i = 0; good && i < count; i++)
		order[i] = (uint32_t)i;
	for (i = 0; good && i < sizeof(keys) / sizeof(*keys); i++)
		good = !tw_sort(order, count, keys[i], k->streams, a);
	for (i = 0; good && i < count; i++) {
		streams[i] = k->streams[order[i]];
		number[order[i]] = (uint32_t)i;
	}
	for (i = 0; good && i < k->comm_count; i++)
		k->comm[i].stream = number[k->comm[i].stream];
	if (good) {
		tw_free(a, k->streams, k->stream_capacity * sizeof(*k->streams));
		k->streams = streams;
		k->stream_capacity = count + 1;
	} else {
		tw_free(a, streams, (count + 1) * sizeof(*streams));
	}
	tw_free(a, order, bytes);
	tw_free(a, number, bytes);
	return good;
}

/* Room for all spans at once: lists that grow by themselves would be there twice. */
static bool reserve(struct tw_nsys_kernels *k, const struct part *parts, size_t count)
{
	size_t i, c;

	for (i = 0; i < count; i++)
		for (c = 0; parts[i].begun && c < parts[i].found.cover_count; c++) {
			const struct tw_nsys_cover *from = &parts[i].found.covers[c];
			uint32_t number = intern_cover(k, from->window, from->device);

			if (number == UINT32_MAX)
				return false;
			k->covers[number].room += from->busy.count;
		}
	for (c = 0; c < k->cover_count; c++)
		tw_intervals_resize(&k->covers[c].busy, k->covers[c].room);
	return true;
}

static bool join(struct tw_nsys_kernels *k, struct part *parts, size_t count, bool compat)
{
	bool good = reserve(k, parts, count);
	size_t i;

	for (i = 0; i < count && good; i++) {
		if (parts[i].begun)
			good = join_part(k, &parts[i].found);
		release_part(&parts[i]);
	}
	if (good && compat)
		add_loud(k);
	for (i = 0; i < k->cover_count && good; i++) {
		tw_intervals_unite(&k->covers[i].busy);
		good = !k->covers[i].busy.failed;
	}
	return good && sort_streams(k);
}

int tw_nsys_kernels_read(struct tw_nsys_kernels *kernels, struct tw_nsys_source *source,
			 const struct tw_nsys_kernels_wanted *wanted, struct trawl_error *err)
{
	const struct tw_nsys_scan scan = {
		.table = "CUPTI_ACTIVITY_KIND_KERNEL",
		.columns = columns,
		.column_count = COLUMNS,
		.close_columns = CLOSE_COLUMNS - COLUMNS,
		.context = wanted,
		.part_size = sizeof(struct part),
		.row = on_row,
		.finish = on_end,
		.release = release_part,
	};
	const struct trawl_allocator *a = source->allocator;
	size_t count;
	void *parts;
	bool good;
	int status;

	*kernels = (struct tw_nsys_kernels){ .allocator = a, .end_ns = INT64_MIN };
	kernels->table = tw_database_has_table(source->database, scan.table);
	status = tw_nsys_scan(source, &scan, &parts, &count, err);
	good = status || join(kernels, parts, count, wanted->compat);
	tw_nsys_scan_free(source, &scan, parts, count);
	return status || good ? status : tw_no_memory(err);
}

void tw_nsys_kernels_release(struct tw_nsys_kernels *k)
{
	const struct trawl_allocator *a = k->allocator;
	size_t i;

	for (i = 0; i < k->cover_count; i++)
		tw_intervals_release(&k->covers[i].busy);
	tw_free(a, k->covers, k->cover_capacity * sizeof(*k->covers));
	tw_ids_release(&k->cover_ids, a);
	tw_ids_release(&k->stream_ids, a);
	tw_free(a, k->streams, k->stream_capacity * sizeof(*k->streams));
	tw_free(a, k->comm, k->comm_capacity * sizeof(*k->comm));
	*k = (struct tw_nsys_kernels){ .allocator = a };
}
