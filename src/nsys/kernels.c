#include "nsys/kernels.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slots.h"
#include "base/order.h"
#include "base/sort.h"
#include "data/tables.h"

#include <stdlib.h>
#include <string.h>

/* What a kernel is by its name. */
enum kind { COMPUTE, COMMUNICATION, NAMELESS };

struct reading {
	const struct tw_nsys_kernels_wanted *wanted;
	struct tw_nsys_kernels *kernels; /* of all parts */
	/* Of each kernel that counts a hash of what it is, and where those of a part begin. */
	TW_LIST(uint64_t) hashes;
	TW_LIST(size_t) begins;
	const bool *again; /* of the hashes: it is an earlier kernel again; NULL: not known */
	bool close;	   /* a closer look: what else tells kernels apart is read, too */
};

struct part {
	struct tw_nsys_part part;
	const struct tw_nsys_kernels_wanted *wanted;
	struct tw_matcher matcher;
	struct tw_ids windows; /* process -> window */
	struct tw_nsys_kernels found;
	TW_LIST(uint64_t) hashes;
	uint32_t last_stream;
	int64_t last_process, first_ns, last_ns; /* of all windows together */
	uint32_t last_window;
};

static int begin(void *part)
{
	struct part *p = part;
	const struct trawl_allocator *a = p->part.rows.allocator;
	size_t i;

	p->wanted = ((const struct reading *)p->part.context)->wanted;
	p->found.allocator = a;
	p->found.end_ns = INT64_MIN;
	p->first_ns = INT64_MAX;
	p->last_ns = INT64_MIN;
	p->last_window = TW_IDS_NONE;
	if (!tw_matcher_init(&p->matcher, p->wanted->rules, a))
		return tw_nsys_no_memory(&p->part);
	for (i = 0; i < p->wanted->count; i++) {
		const struct tw_nsys_window *w = &p->wanted->windows[i];

		if (!tw_ids_put(&p->windows, w->process, (uint32_t)i, a))
			return tw_nsys_no_memory(&p->part);
		if (w->start_ns < p->first_ns)
			p->first_ns = w->start_ns;
		if (w->end_ns > p->last_ns)
			p->last_ns = w->end_ns;
	}
	return 0;
}

/* ---- what a kernel is */

static uint32_t kind_of_name(const void *part, const char *name, size_t len)
{
	const struct part *p = part;
	const struct tw_nsys_rule *rule;
	const struct tw_kernel_name *known;

	if (!name)
		return NAMELESS;
	rule = tw_matcher_find(&p->matcher, TW_NSYS_KERNEL, name, len, NULL);
	if (rule)
		return strcmp(rule->value, "compute") ? COMMUNICATION : COMPUTE;
	known = tw_kernel_name(name, len);
	return known && known->class == TW_KERNEL_COMMUNICATION ? COMMUNICATION : COMPUTE;
}

/* By the first name that there is. */
static bool kind_of_row(struct part *p, uint32_t *kind)
{
	size_t i;
	int64_t id;

	*kind = NAMELESS;
	for (i = TW_KERNEL_NAME; i <= TW_KERNEL_MANGLED_NAME && *kind == NAMELESS; i++)
		if (tw_scan_integer(p->part.rows.scan, i, &id) == TW_VALUE_GIVEN &&
		    !tw_nsys_meaning(&p->part, id, kind_of_name, kind))
			return false;
	return true;
}

/* ---- where it counts */

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
	uint32_t known = tw_ids_get(&k->cover_ids, key);
	struct tw_nsys_cover cover = { .window = window, .device = device };

	if (known != TW_IDS_NONE)
		return known;
	known = (uint32_t)k->covers.count;
	tw_intervals_init(&cover.busy, k->allocator);
	return TW_LIST_ADD(&k->covers, &cover, k->allocator) &&
			       tw_ids_put(&k->cover_ids, key, known, k->allocator) ?
		       known :
		       UINT32_MAX;
}

/* The number of a stream, which is added without sums when it is new.  UINT32_MAX: out of memory. */
static uint32_t intern_stream(struct tw_nsys_kernels *k, const struct tw_nsys_stream *like,
			      uint32_t last)
{
	struct tw_nsys_stream stream = { .window = like->window,
					 .device = like->device,
					 .context = like->context,
					 .green = like->green,
					 .stream = like->stream };
	int64_t hash;
	uint32_t i;

	if (last < k->streams.count && same_stream(&k->streams.at[last], like))
		return last;
	for (hash = stream_hash(like); (i = tw_ids_get(&k->stream_ids, hash)) != TW_IDS_NONE;
	     hash = (int64_t)((uint64_t)hash + 1))
		if (same_stream(&k->streams.at[i], like))
			return i;
	stream.number = (uint32_t)k->streams.count;
	stream.cover = intern_cover(k, like->window, like->device);
	return stream.cover != UINT32_MAX && TW_LIST_ADD(&k->streams, &stream, k->allocator) &&
			       tw_ids_put(&k->stream_ids, hash, stream.number, k->allocator) ?
		       stream.number :
		       UINT32_MAX;
}

static int64_t number_of(const struct tw_table_part *rows, unsigned column)
{
	return tw_part_has(rows, column) ? rows->values[column] : -1;
}

static uint32_t stream_of_row(struct part *p, uint32_t window)
{
	const struct tw_table_part *rows = &p->part.rows;
	struct tw_nsys_stream stream = { .window = window,
					 .device = number_of(rows, TW_GPU_DEVICE),
					 .context = number_of(rows, TW_GPU_CONTEXT),
					 .green = number_of(rows, TW_GPU_GREEN),
					 .stream = number_of(rows, TW_GPU_STREAM) };

	return intern_stream(&p->found, &stream, p->last_stream);
}

/* A kernel in its window. */
static bool count_kernel(struct part *p, uint32_t kind, uint32_t window,
			 struct tw_nsys_comm *kernel)
{
	struct tw_nsys_kernels *k = &p->found;
	const struct tw_table_part *rows = &p->part.rows;
	int64_t length = kernel->end_ns - kernel->start_ns;
	struct tw_intervals *busy;
	struct tw_nsys_stream *s;

	kernel->stream = stream_of_row(p, window);
	if (kernel->stream == UINT32_MAX)
		return false;
	p->last_stream = kernel->stream;
	s = &k->streams.at[kernel->stream];
	k->rows++;
	k->unnamed += kind == NAMELESS;
	s->clipped += kernel->start_ns != rows->values[TW_GPU_START] ||
		      kernel->end_ns != rows->values[TW_GPU_END];
	if (kind != COMMUNICATION) {
		s->compute_count++;
		s->compute_ns += length;
		busy = &k->covers.at[s->cover].busy;
		if (p->wanted->compute_spans && length)
			tw_intervals_put(busy, kernel->start_ns, kernel->end_ns);
		return !busy->failed;
	}
	s->comm_count++;
	s->comm_ns += length;
	kernel->correlation = rows->values[TW_GPU_CORRELATION];
	kernel->linked = tw_nsys_is_correlation(kernel->correlation);
	return TW_LIST_ADD(&k->comm, kernel, k->allocator);
}

/* Times and numbers for which a report leaves a kernel out, too. */
static bool is_impossible(int64_t start_ns, int64_t end_ns)
{
	return !tw_nsys_is_time(start_ns) || !tw_nsys_is_time(end_ns) || end_ns < start_ns ||
	       end_ns - start_ns > TW_LONGEST_DURATION_NS || (!start_ns && !end_ns);
}

/* ---- kernels that were recorded twice: they count once */

/* All that makes a kernel this one: nodes of a graph may differ in nothing else. */
static uint64_t hash_of_row(const struct tw_table_part *rows)
{
	uint64_t h = tw_hash_bytes((const char *)rows->values, TW_GPU_COLUMNS * sizeof(int64_t));
	int64_t name, node;

	/* 0 where they are not given. */
	tw_scan_integer(rows->scan, TW_KERNEL_NAME, &name);
	tw_scan_integer(rows->scan, TW_KERNEL_NODE, &node);
	return tw_hash_mix(h ^ (uint64_t)name, tw_hash_secret[1] ^ (uint64_t)node) ^ rows->given;
}

/*
 * Whether a row is an earlier one of the table again.  That is known when all have been read; where
 * there are such rows the table is read anew.  False: out of memory.
 */
static bool is_again(struct part *p, bool *again)
{
	const struct reading *r = p->part.context;
	size_t number = p->part.rows.number, at;
	uint64_t hash = hash_of_row(&p->part.rows);

	*again = false;
	if (r->again && number < r->begins.count) {
		/* A file that is written to meanwhile may have more rows than before. */
		at = r->begins.at[number] + p->hashes.count;
		*again = at < r->hashes.count && r->again[at];
	}
	return TW_LIST_ADD(&p->hashes, &hash, p->part.rows.allocator);
}

static bool join_hashes(struct reading *r, const struct part *p)
{
	const struct trawl_allocator *a = r->kernels->allocator;

	return TW_LIST_ADD(&r->begins, &r->hashes.count, a) &&
	       TW_LIST_JOIN(&r->hashes, &p->hashes, a);
}

/* Marks the hashes that are there already; *any: there are some. */
static int find_again(const struct reading *r, bool *again, bool *any,
		      const struct trawl_allocator *a, struct trawl_error *err)
{
	size_t count = r->hashes.count, place_count = tw_slots_for(count), place, i;
	uint32_t *places; /* of hashes, by themselves: number + 1 */

	*any = false;
	if (count >= UINT32_MAX)
		return trawl_error_set(err, TRAWL_ELIMIT, "table %s: more than %u rows count",
				       TW_NSYS_KERNELS, UINT32_MAX - 1);
	places = tw_alloc_array(a, place_count, sizeof(*places));
	if (!places)
		return tw_no_memory(err);
	for (i = 0; i < count; i++) {
		uint64_t hash = r->hashes.at[i];

		place = TW_SLOT(at, place_count, hash,
				!places[at] || r->hashes.at[places[at] - 1] == hash);
		again[i] = places[place] != 0;
		*any |= again[i];
		if (!places[place])
			places[place] = (uint32_t)i + 1;
	}
	tw_free(a, places, place_count * sizeof(*places));
	return 0;
}

/* ---- rows */

static int on_row(void *part)
{
	struct part *p = part;
	struct tw_table_part *rows = &p->part.rows;
	int64_t start = rows->values[TW_GPU_START], end = rows->values[TW_GPU_END];
	struct tw_nsys_comm kernel = { .start_ns = start, .end_ns = end, .gpu_start_ns = start };
	uint32_t window, kind;
	bool again;

	if (rows->given != TW_BITS_BEFORE(TW_GPU_DEVICE) || is_impossible(start, end))
		return tw_nsys_odd(&p->part);
	if (end > p->found.end_ns)
		p->found.end_ns = end;
	if (end < p->first_ns || start > p->last_ns)
		return 0;
	window = window_of(p, tw_nsys_process(rows->values[TW_GPU_PROCESS]));
	if (window == TW_IDS_NONE ||
	    !clip(&p->wanted->windows[window], &kernel.start_ns, &kernel.end_ns))
		return 0;
	rows->given = tw_scan_integers(rows->scan, TW_BITS_BEFORE(TW_GPU_COLUMNS), rows->values,
				       &rows->odd);
	if (rows->odd)
		return tw_nsys_odd(&p->part);
	if (!kind_of_row(p, &kind) || !is_again(p, &again))
		return tw_nsys_no_memory(&p->part);
	p->found.again += again;
	return again || count_kernel(p, kind, window, &kernel) ? 0 : tw_nsys_no_memory(&p->part);
}

static bool unite(struct tw_nsys_kernels *k)
{
	bool good = true;
	size_t i;

	for (i = 0; i < k->covers.count; i++) {
		tw_intervals_unite(&k->covers.at[i].busy);
		good = good && !k->covers.at[i].busy.failed;
	}
	return good;
}

static int end(void *part)
{
	struct part *p = part;

	return unite(&p->found) ? 0 : tw_nsys_no_memory(&p->part);
}

static void release(void *part)
{
	tw_matcher_release(&((struct part *)part)->matcher);
}

/* ---- parts put together, in their order */

/* `numbers`: of the streams of a part, in all. */
static bool join_streams(struct tw_nsys_kernels *to, const struct tw_nsys_kernels *from,
			 uint32_t *numbers)
{
	size_t i;

	for (i = 0; i < from->streams.count; i++) {
		const struct tw_nsys_stream *stream = &from->streams.at[i];
		struct tw_nsys_stream *s;

		numbers[i] = intern_stream(to, stream, UINT32_MAX);
		if (numbers[i] == UINT32_MAX)
			return false;
		s = &to->streams.at[numbers[i]];
		s->comm_count += stream->comm_count;
		s->compute_count += stream->compute_count;
		s->clipped += stream->clipped;
		s->comm_ns += stream->comm_ns;
		s->compute_ns += stream->compute_ns;
	}
	return true;
}

static bool join_cover(struct tw_nsys_kernels *to, const struct tw_nsys_cover *from)
{
	uint32_t number = intern_cover(to, from->window, from->device);
	size_t i;

	for (i = 0; number != UINT32_MAX && i < from->busy.count; i++)
		tw_intervals_put(&to->covers.at[number].busy, from->busy.items[i].start_ns,
				 from->busy.items[i].end_ns);
	return number != UINT32_MAX && !to->covers.at[number].busy.failed;
}

static bool join_kernels(struct tw_nsys_kernels *to, const struct tw_nsys_kernels *from)
{
	uint32_t *numbers =
		tw_alloc_array(from->allocator, from->streams.count + 1, sizeof(*numbers));
	size_t i;
	bool good = numbers && join_streams(to, from, numbers);

	for (i = 0; i < from->comm.count && good; i++) {
		struct tw_nsys_comm comm = from->comm.at[i];

		comm.stream = numbers[comm.stream];
		good = TW_LIST_ADD(&to->comm, &comm, to->allocator);
	}
	for (i = 0; i < from->covers.count && good; i++)
		good = join_cover(to, &from->covers.at[i]);
	to->rows += from->rows;
	to->unnamed += from->unnamed;
	to->again += from->again;
	if (from->end_ns > to->end_ns)
		to->end_ns = from->end_ns;
	return good;
}

static int join(void *part)
{
	struct part *p = part;
	struct reading *r = p->part.context;

	return (r->again || join_hashes(r, p)) && join_kernels(r->kernels, &p->found) ?
		       0 :
		       tw_nsys_no_memory(&p->part);
}

static int stream_order(const void *a, const void *b)
{
	const struct tw_nsys_stream *x = a, *y = b;

	return TW_ORDER_BY(x, y, window) ?: TW_ORDER_BY(x, y, device, context, green, stream);
}

static bool sort_streams(struct tw_nsys_kernels *k)
{
	size_t count = k->streams.count, i;
	uint32_t *number = tw_alloc_array(k->allocator, count + 1, sizeof(*number));

	if (!number)
		return false;
	if (count)
		qsort(k->streams.at, count, sizeof(*k->streams.at), stream_order);
	for (i = 0; i < count; i++)
		number[k->streams.at[i].number] = (uint32_t)i;
	for (i = 0; i < k->comm.count; i++)
		k->comm.at[i].stream = number[k->comm.at[i].stream];
	tw_free(k->allocator, number, (count + 1) * sizeof(*number));
	return true;
}

static int read_once(struct reading *r, struct tw_nsys_source *source, struct trawl_error *err)
{
	const struct tw_table_reader reader = {
		.table = TW_NSYS_KERNELS,
		.columns = tw_kernel_columns,
		.column_count = r->close ? TW_KERNEL_NODE + 1 : TW_KERNEL_NODE,
		.integers = TW_BITS_BEFORE(TW_GPU_DEVICE),
		.part_size = sizeof(struct part),
		.begin = begin,
		.row = on_row,
		.end = end,
		.join = join,
		.release = release,
	};

	*r->kernels =
		(struct tw_nsys_kernels){ .allocator = source->allocator, .end_ns = INT64_MIN };
	r->kernels->table = tw_database_has_table(source->database, TW_NSYS_KERNELS);
	return tw_nsys_scan(source, &reader, r, err);
}

/* Reads the kernels, and anew where some of them seem to be, and then are, an earlier one again. */
static int read_all(struct reading *r, struct tw_nsys_source *source, struct trawl_error *err)
{
	const struct trawl_allocator *a = source->allocator;
	const struct tw_nsys_source before = *source;
	int status = read_once(r, source, err);
	size_t count = r->hashes.count + 1;
	bool any = false, *again;

	if (status)
		return status;
	again = tw_alloc_array(a, count, sizeof(*again));
	status = again ? find_again(r, again, &any, a, err) : tw_no_memory(err);
	if (!status && any) {
		tw_nsys_kernels_release(r->kernels);
		tw_nsys_untell(source, &before);
		if (r->close) {
			r->again = again;
			status = read_once(r, source, err);
		} else {
			r->hashes.count = r->begins.count = 0;
			r->close = true;
			status = read_all(r, source, err);
		}
	}
	tw_free(a, again, count * sizeof(*again));
	return status;
}

int tw_nsys_kernels_read(struct tw_nsys_kernels *kernels, struct tw_nsys_source *source,
			 const struct tw_nsys_kernels_wanted *wanted, struct trawl_error *err)
{
	struct reading r = { .wanted = wanted, .kernels = kernels };
	int status = read_all(&r, source, err);
	bool good;
	size_t i;

	TW_LIST_FREE(&r.hashes, source->allocator);
	TW_LIST_FREE(&r.begins, source->allocator);
	if (status)
		return status;
	good = unite(kernels) && sort_streams(kernels);
	for (i = 0; i < kernels->covers.count && good; i++) {
		tw_intervals_sum(&kernels->covers.at[i].busy);
		good = !kernels->covers.at[i].busy.failed;
	}
	return good ? 0 : tw_no_memory(err);
}

void tw_nsys_kernels_release(struct tw_nsys_kernels *k)
{
	const struct trawl_allocator *a = k->allocator;
	size_t i;

	for (i = 0; i < k->covers.count; i++)
		tw_intervals_release(&k->covers.at[i].busy);
	TW_LIST_FREE(&k->covers, a);
	TW_LIST_FREE(&k->streams, a);
	TW_LIST_FREE(&k->comm, a);
	tw_ids_release(&k->cover_ids, a);
	tw_ids_release(&k->stream_ids, a);
}
