#include "traces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "in_parts.h"
#include "instrumented.h"
#include "io/feed.h"
#include "render/cell.h"
#include "trace/reader.h"

#if UNDER_TSAN
const size_t block_sizes[] = { 7, 0 };
#else
const size_t block_sizes[] = { 1, 7, 64, 4096, 0 };
#endif

/* ---- writing */

void script_begin(struct script *s)
{
	tw_str_init(&s->text, trawl_allocator_default());
	tw_str_add_cstr(&s->text, "{\"traceEvents\":[");
	s->any = false;
}

void script_raw(struct script *s, const char *event)
{
	tw_str_add_cstr(&s->text, s->any ? ",\n" : "\n");
	tw_str_add_cstr(&s->text, event);
	s->any = true;
}

void script_slice(struct script *s, const char *category, const char *name, int pid, int tid,
		  int64_t start_ns, int64_t dur_ns, const char *args)
{
	struct tw_str *t = &s->text;

	script_raw(s, "{\"ph\":\"X\"");
	if (category)
		tw_str_addf(t, ",\"cat\":\"%s\"", category);
	tw_str_addf(t, ",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":", name, pid, tid);
	tw_str_add_decimal(t, start_ns, 3);
	tw_str_add_cstr(t, ",\"dur\":");
	tw_str_add_decimal(t, dur_ns, 3);
	if (args)
		tw_str_addf(t, ",\"args\":{%s}", args);
	tw_str_add_char(t, '}');
}

void script_op(struct script *s, const char *name, int64_t start_ns, int64_t dur_ns)
{
	script_slice(s, "cpu_op", name, 1, 1, start_ns, dur_ns, NULL);
}

void script_call(struct script *s, const char *name, int64_t start_ns, int64_t dur_ns,
		 int correlation)
{
	char args[64];

	snprintf(args, sizeof(args), "\"correlation\":%d", correlation);
	script_slice(s, "cuda_runtime", name, 1, 1, start_ns, dur_ns, args);
}

static void gpu_slice(struct script *s, const char *category, const char *name, int stream,
		      int64_t start_ns, int64_t dur_ns, int correlation)
{
	char args[96];

	snprintf(args, sizeof(args), "\"device\":0,\"stream\":%d,\"correlation\":%d", stream,
		 correlation);
	script_slice(s, category, name, 0, stream, start_ns, dur_ns, args);
}

void script_kernel(struct script *s, const char *name, int stream, int64_t start_ns, int64_t dur_ns,
		   int correlation)
{
	gpu_slice(s, "kernel", name, stream, start_ns, dur_ns, correlation);
}

void script_copy(struct script *s, const char *name, int stream, int64_t start_ns, int64_t dur_ns,
		 int correlation)
{
	gpu_slice(s, "gpu_memcpy", name, stream, start_ns, dur_ns, correlation);
}

void script_op_us(struct script *s, const char *name, int64_t start_us, int64_t dur_us,
		  const char *args)
{
	script_slice(s, "cpu_op", name, 1, 1, start_us * 1000, dur_us * 1000, args);
}

void script_launch_us(struct script *s, int64_t call_us, int id, const char *kernel,
		      int64_t start_us, int64_t dur_us)
{
	script_call(s, "cudaLaunchKernel", call_us * 1000, 1000, id);
	script_kernel(s, kernel, 7, start_us * 1000, dur_us * 1000, id);
}

void script_backward_op_us(struct script *s, const char *name, int64_t start_us, int64_t dur_us,
			   const char *args)
{
	script_slice(s, "cpu_op", name, 1, 2, start_us * 1000, dur_us * 1000, args);
}

void script_backward_launch_us(struct script *s, int64_t call_us, int id, const char *kernel,
			       int64_t start_us, int64_t dur_us)
{
	char args[40];

	snprintf(args, sizeof(args), "\"correlation\":%d", id);
	script_slice(s, "cuda_runtime", "cudaLaunchKernel", 1, 2, call_us * 1000, 1000, args);
	script_kernel(s, kernel, 7, start_us * 1000, dur_us * 1000, id);
}

struct trawl_trace *script_read(struct script *s)
{
	struct trawl_trace *trace;

	tw_str_add_cstr(&s->text, "\n]}\n");
	assert_false(s->text.failed);
	trace = trace_of(s->text.ptr);
	tw_str_release(&s->text);
	return trace;
}

/* ---- reading */

struct trawl_trace *read_text(const char *text, size_t len, size_t block, struct trawl_error *err)
{
	return read_in_parts(
		text, len, &(struct trawl_read_options){ .threads = 1, .block_size = block }, err);
}

struct trawl_trace *read_in_parts(const char *text, size_t len,
				  const struct trawl_read_options *given, struct trawl_error *err)
{
	const struct trawl_allocator *allocator = trawl_allocator_default();
	struct trawl_read_options options = *given;
	struct tw_feed_options feed_options = { .allocator = allocator,
						.block_size = given->block_size,
						.end = -1 };
	struct trawl_trace *trace = tw_trace_new(allocator);
	struct tw_feed *feed;
	int status;

	options.allocator = allocator;
	assert_non_null(trace);
	status = tw_feed_open_memory(&feed, text, len, &feed_options, err);
	if (!status)
		status = tw_kineto_read(trace, feed, &options, err);
	if (!status && tw_trace_finish(trace))
		status = TRAWL_ENOMEM;
	if (status) {
		trawl_trace_free(trace);
		return NULL;
	}
	return trace;
}

struct trawl_trace *trace_of(const char *text)
{
	struct trawl_error err = { 0 };
	struct trawl_trace *trace = read_text(text, strlen(text), 0, &err);

	if (!trace)
		fail_msg("%s", err.message);
	return trace;
}

struct trawl_trace *trace_of_list(const char *const *events)
{
	struct trawl_trace *trace;
	struct tw_str text;
	size_t i;

	tw_str_init(&text, trawl_allocator_default());
	for (i = 0; events[i]; i++)
		tw_str_addf(&text, "%s%s", i ? ",\n" : "[", events[i]);
	tw_str_add_cstr(&text, "]");
	trace = trace_of(text.ptr);
	tw_str_release(&text);
	return trace;
}

static bool same_trace(const struct trawl_trace *a, const struct trawl_trace *b, const char *where);

struct trawl_trace *trace_in_blocks(const char *text, size_t len)
{
	struct trawl_error err = { 0 };
	struct trawl_trace *whole = read_text(text, len, 0, &err), *trace;
	char where[64];
	size_t i;

	if (!whole)
		fail_msg("%s", err.message);
	for (i = 0; block_sizes[i]; i++) {
		/* One block holds all, as those of 1 MB do. */
		if (block_sizes[i] > len && !full_run())
			continue;
		snprintf(where, sizeof(where), "blocks of %zu", block_sizes[i]);
		trace = read_text(text, len, block_sizes[i], &err);
		if (!trace)
			fail_msg("%s: %s", where, err.message);
		if (!same_trace(whole, trace, where)) {
			print_error("of this text:\n%.*s\n", len < 1000 ? (int)len : 1000, text);
			fail();
		}
		trawl_trace_free(trace);
	}
	assert_same_in_parts(whole, text, len, 0);
	return whole;
}

unsigned assert_same_in_parts(const struct trawl_trace *one, const char *text, size_t len,
			      size_t block)
{
	const size_t part = len / 5 > 40 ? len / 5 : 40;
	const struct trawl_read_options options = { .threads = 3,
						    .block_size = block,
						    .part_size = part };
	struct trawl_trace *several = read_in_parts(text, len, &options, NULL);
	unsigned parts = several ? several->parts : 0;
	char where[64];

	snprintf(where, sizeof(where), "parts of %zu, blocks of %zu", part, block);
	if (one && several ? !same_trace(one, several, where) : one || several) {
		print_error("of this text:\n%.*s\n", len < 1000 ? (int)len : 1000, text);
		fail();
	}
	trawl_trace_free(several);
	return parts;
}

/* ---- questions */

void assert_kinds(const struct trawl_trace *trace, int count)
{
	struct tw_str kinds;
	size_t i;

	if (trace->defect_count == (size_t)count)
		return;
	tw_str_init(&kinds, trawl_allocator_default());
	for (i = 0; i < trace->defect_count; i++)
		tw_str_addf(&kinds, " %s x %lld", trace->defects[i].kind,
			    (long long)trace->defects[i].count);
	print_error("%d kinds of defects expected:%s\n", count, kinds.ptr ? kinds.ptr : " none");
	tw_str_release(&kinds);
	fail();
}

const char *name_of(const struct trawl_trace *trace, uint64_t event)
{
	assert_true(event < trace->events.count);
	return tw_pool_text(&trace->texts, trace->events.name[event], NULL);
}

uint64_t event_named(const struct trawl_trace *trace, const char *name)
{
	uint64_t i;

	for (i = 0; i < trace->events.count; i++)
		if (!strcmp(name_of(trace, i), name))
			return i;
	fail_msg("no event is named '%s'", name);
	return 0;
}

/* One of several buffers that take turns. */
static char *buffer(void)
{
	static char buffers[16][2048];
	static unsigned turn;

	return buffers[turn++ % 16];
}

static const char *arg_text(const struct trawl_trace *trace, const struct trawl_argument *arg)
{
	char *text = buffer();

	switch (arg->kind) {
	case TRAWL_VALUE_NULL:
		return "null";
	case TRAWL_VALUE_BOOL:
		return arg->integer ? "true" : "false";
	case TRAWL_VALUE_INTEGER:
		snprintf(text, 2048, "%lld", (long long)arg->integer);
		return text;
	case TRAWL_VALUE_REAL:
		snprintf(text, 2048, "%.17g", arg->real);
		return text;
	default:
		return tw_pool_text(&trace->texts, arg->text, NULL);
	}
}

const char *arg_of(const struct trawl_trace *trace, uint64_t event, const char *key)
{
	uint32_t id = tw_pool_find(&trace->texts, key, strlen(key));
	struct trawl_argument arg;

	if (!id || !trawl_event_argument(trace, event, id, &arg))
		return NULL;
	return arg_text(trace, &arg);
}

const char *code_of(const struct trawl_trace *trace, tw_code code)
{
	size_t len;

	return tw_code_text(trace, code, buffer(), &len);
}

static void add_time(struct tw_str *out, int64_t ns)
{
	if (ns == TRAWL_TIME_NONE)
		tw_str_add_cstr(out, " none");
	else
		tw_str_addf(out, " %lld", (long long)ns);
}

void describe_event(const struct trawl_trace *trace, uint64_t i, struct tw_str *out)
{
	const struct tw_events *e = &trace->events;
	const struct tw_track *track = &trace->tracks[e->track[i]];
	const struct tw_category *category = &trace->categories[e->category[i]];
	size_t at = (size_t)e->args[i] * TW_ARGS_ALIGN;
	struct trawl_argument arg;

	tw_str_addf(out, "%c %d '%s' '%s'", e->phase[i] ? e->phase[i] : '-', (int)category->class,
		    tw_pool_text(&trace->texts, category->name, NULL), name_of(trace, i));
	add_time(out, e->start_ns[i]);
	add_time(out, e->dur_ns[i]);
	tw_str_addf(out, " pid '%s'", code_of(trace, track->pid));
	tw_str_addf(out, " tid '%s'", code_of(trace, track->tid));
	tw_str_addf(out, " device '%s'", code_of(trace, track->device));
	tw_str_addf(out, " stream '%s'", code_of(trace, track->stream));
	tw_str_addf(out, " id '%s'", code_of(trace, e->correlation[i]));
	tw_str_addf(out, " external '%s'", code_of(trace, e->external[i]));
	while (at && tw_args_next(&trace->args, &at, &arg)) {
		tw_str_addf(out, " %s:", tw_pool_text(&trace->texts, arg.key, NULL));
		tw_str_addf(out, "%d:%s", (int)arg.kind, arg_text(trace, &arg));
	}
}

void describe_rest(const struct trawl_trace *trace, struct tw_str *out)
{
	uint32_t f;
	size_t i;

	for (f = 0; f < trace->field_count; f++)
		tw_str_addf(out, "field %s = %s\n",
			    tw_pool_text(&trace->texts, trace->fields[f].key, NULL),
			    tw_pool_text(&trace->texts, trace->fields[f].value, NULL));
	tw_str_addf(out, "rank %lld of %lld, base %lld, device %s, bytes %lld\n",
		    (long long)trace->rank, (long long)trace->world_size,
		    (long long)trace->base_time_ns, trace->device_name, (long long)trace->bytes);
	for (i = 0; i < trace->defect_count; i++)
		tw_str_addf(out, "%s: %lld, byte %lld, event %lld\n", trace->defects[i].kind,
			    (long long)trace->defects[i].count, (long long)trace->defects[i].offset,
			    (long long)trace->defects[i].event);
}

static bool same_text(struct tw_str *a, struct tw_str *b, const char *where, uint64_t event)
{
	assert_false(a->failed || b->failed);
	if (a->len == b->len && (!a->len || !memcmp(a->ptr, b->ptr, a->len)))
		return true;
	print_error("%s, event %llu:\n%s\nand\n%s\n", where, (unsigned long long)event,
		    a->len ? a->ptr : "(nothing)", b->len ? b->ptr : "(nothing)");
	return false;
}

static bool equal_text(const struct trawl_trace *a, uint32_t x, const struct trawl_trace *b,
		       uint32_t y)
{
	size_t a_len, b_len;
	const char *p = tw_pool_text(&a->texts, x, &a_len), *q = tw_pool_text(&b->texts, y, &b_len);

	return a_len == b_len && !memcmp(p, q, a_len) && !x == !y;
}

static bool equal_code(const struct trawl_trace *a, tw_code x, const struct trawl_trace *b,
		       tw_code y)
{
	if (x == TW_CODE_NONE || y == TW_CODE_NONE || !(x & y & TW_CODE_TEXT))
		return x == y;
	return equal_text(a, x & ~TW_CODE_TEXT, b, y & ~TW_CODE_TEXT);
}

static bool equal_track(const struct trawl_trace *a, uint32_t x, const struct trawl_trace *b,
			uint32_t y)
{
	const struct tw_track *s = &a->tracks[x], *t = &b->tracks[y];

	return equal_code(a, s->pid, b, t->pid) && equal_code(a, s->tid, b, t->tid) &&
	       equal_code(a, s->device, b, t->device) && equal_code(a, s->stream, b, t->stream);
}

static bool equal_args(const struct trawl_trace *a, uint32_t x, const struct trawl_trace *b,
		       uint32_t y)
{
	size_t i = (size_t)x * TW_ARGS_ALIGN, j = (size_t)y * TW_ARGS_ALIGN;
	struct trawl_argument s, t;
	bool more;

	if (!i || !j)
		return i == j;
	while ((more = tw_args_next(&a->args, &i, &s)) == tw_args_next(&b->args, &j, &t)) {
		if (!more)
			return true;
		if (!equal_text(a, s.key, b, t.key) || s.kind != t.kind || s.integer != t.integer ||
		    memcmp(&s.real, &t.real, sizeof(s.real)) || !equal_text(a, s.text, b, t.text))
			return false;
	}
	return false;
}

static bool equal_event(const struct trawl_trace *a, const struct trawl_trace *b, uint64_t i)
{
	const struct tw_events *x = &a->events, *y = &b->events;
	const struct tw_category *s = &a->categories[x->category[i]];
	const struct tw_category *t = &b->categories[y->category[i]];

	return x->phase[i] == y->phase[i] && x->start_ns[i] == y->start_ns[i] &&
	       x->dur_ns[i] == y->dur_ns[i] && s->class == t->class &&
	       equal_text(a, s->name, b, t->name) && equal_text(a, x->name[i], b, y->name[i]) &&
	       equal_track(a, x->track[i], b, y->track[i]) &&
	       equal_code(a, x->correlation[i], b, y->correlation[i]) &&
	       equal_code(a, x->external[i], b, y->external[i]) &&
	       equal_args(a, x->args[i], b, y->args[i]);
}

/* Says the first difference. */
static bool same_trace(const struct trawl_trace *a, const struct trawl_trace *b, const char *where)
{
	struct tw_str first, second;
	bool same = true;
	uint64_t i;

	tw_str_init(&first, trawl_allocator_default());
	tw_str_init(&second, trawl_allocator_default());
	for (i = 0; same && i < a->events.count && i < b->events.count; i++) {
		same = equal_event(a, b, i);
		if (!same) {
			describe_event(a, i, &first);
			describe_event(b, i, &second);
			tw_str_add_cstr(&second, " (differs)");
			same_text(&first, &second, where, i);
		}
	}
	tw_str_clear(&first);
	tw_str_clear(&second);
	describe_rest(a, &first);
	describe_rest(b, &second);
	tw_str_addf(&first, "%llu events\n", (unsigned long long)a->events.count);
	tw_str_addf(&second, "%llu events\n", (unsigned long long)b->events.count);
	tw_str_addf(&first, "%u tracks, %u categories\n", a->track_count, a->category_count);
	tw_str_addf(&second, "%u tracks, %u categories\n", b->track_count, b->category_count);
	same = same_text(&first, &second, where, i) && same;
	tw_str_release(&first);
	tw_str_release(&second);
	return same;
}

void assert_same_trace(const struct trawl_trace *a, const struct trawl_trace *b, const char *where)
{
	if (!same_trace(a, b, where))
		fail();
}

/* ---- what follows from it */

struct tw_derived *derive(const struct trawl_trace *trace, const struct tw_derive_options *options)
{
	struct tw_derive_options whole = { .view = TW_VIEW_OPTIONS_INIT };
	struct trawl_error err = { 0 };
	struct tw_derived *d;

	if (tw_derive(&d, trace, options ? options : &whole, &err))
		fail_msg("%s", err.message);
	return d;
}

const char *parent_of(const struct tw_derived *d, const char *name)
{
	uint64_t node;

	for (node = 0; node < d->host.count; node++) {
		if (strcmp(name_of(d->trace, d->host.event[node]), name))
			continue;
		if (d->host.parent[node] == TW_NONE)
			return "";
		assert_true(d->host.parent[node] < node);
		return name_of(d->trace, d->host.event[d->host.parent[node]]);
	}
	fail_msg("no node is named '%s'", name);
	return "";
}

uint64_t gpu_named(const struct tw_derived *d, const char *name)
{
	uint64_t g;

	for (g = 0; g < d->gpu.count; g++)
		if (!strcmp(name_of(d->trace, d->gpu.event[g]), name))
			return g;
	fail_msg("no GPU event is named '%s'", name);
	return 0;
}

const char *launch_of(const struct tw_derived *d, const char *name)
{
	uint64_t launch = d->gpu.launch[gpu_named(d, name)];

	return launch == TW_NONE ? "" : name_of(d->trace, d->host.event[launch]);
}

/* ---- reports */

struct trawl_report *report_of(const struct trawl_trace *trace,
			       const struct trawl_report_options *given)
{
	struct trawl_report_options options;
	struct trawl_error err = { 0 };
	struct trawl_report *report;

	trawl_report_options_init(&options);
	if (given)
		options = *given;
	options.threads = 1;
	if (trawl_report_new(&report, trace, &options, &err))
		fail_msg("%s", err.message);
	return report;
}

size_t rows_of(const struct trawl_report *report, const char *name)
{
	const struct trawl_table *table = trawl_report_find(report, name);

	return table ? trawl_table_rows(table) : 0;
}

static size_t column_of(const struct trawl_table *table, const char *header)
{
	size_t i;

	for (i = 0; i < trawl_table_columns(table); i++)
		if (!strcmp(trawl_table_column(table, i)->header, header))
			return i;
	fail_msg("table %s has no column '%s'", trawl_table_name(table), header);
	return 0;
}

const char *cell_at(const struct trawl_report *report, const char *name, size_t row,
		    const char *header)
{
	const struct trawl_table *table = trawl_report_find(report, name);
	size_t column;
	struct trawl_cell cell;
	struct tw_str text;
	char *out = buffer();

	if (!table || row >= trawl_table_rows(table))
		fail_msg("table %s has no row %zu", name, row);
	column = column_of(table, header);
	cell = trawl_table_cell(table, row, column);
	tw_str_init(&text, trawl_allocator_default());
	if (cell.state == TRAWL_CELL_MISSING)
		;
	else if (tw_column_is_number(trawl_table_column(table, column)))
		tw_number_exact(&text, trawl_table_column(table, column), &cell);
	else
		tw_str_add(&text, cell.text, cell.text_len);
	snprintf(out, 2048, "%.*s", (int)text.len, text.len ? text.ptr : "");
	tw_str_release(&text);
	return out;
}

/* The number of the row, SIZE_MAX when there is none. */
static size_t find_row(const struct trawl_report *report, const char *table, const char *key,
		       const char *value, size_t from)
{
	size_t row, rows = rows_of(report, table);

	for (row = from; row < rows; row++)
		if (!strcmp(cell_at(report, table, row, key), value))
			return row;
	return SIZE_MAX;
}

const char *cell_of(const struct trawl_report *report, const char *table, const char *key,
		    const char *value, const char *header)
{
	size_t row = find_row(report, table, key, value, 0);

	if (row == SIZE_MAX)
		fail_msg("no row of %s has %s '%s'", table, key, value);
	if (find_row(report, table, key, value, row + 1) != SIZE_MAX)
		fail_msg("several rows of %s have %s '%s'", table, key, value);
	return cell_at(report, table, row, header);
}

bool has_row(const struct trawl_report *report, const char *table, const char *key,
	     const char *value)
{
	return find_row(report, table, key, value, 0) != SIZE_MAX;
}
