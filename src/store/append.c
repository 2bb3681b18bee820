/*
 * Joining two parts of one trace, read at the same time by two threads.  Ids of the second part
 * are translated to those of the first; then its columns are moved after the first's.
 */
#include "base/alloc.h"
#include "os/thread.h"
#include "store/trace.h"

#include <string.h>

/* Events; fewer are moved sooner than a thread starts. */
#define WORTH_A_THREAD 65536

struct translation {
	struct trawl_trace *trace, *more;
	uint32_t *texts; /* by text id of `more` */
	uint32_t *tracks;
	uint16_t *categories; /* by category of `more` */
	uint32_t args_shift;
};

static tw_code translate_code(const struct translation *t, tw_code code)
{
	if (code == TW_CODE_NONE || !(code & TW_CODE_TEXT))
		return code;
	return TW_CODE_TEXT | t->texts[code & ~TW_CODE_TEXT];
}

static int translate_texts(struct trawl_trace *trace, struct translation *t)
{
	const struct tw_pool *texts = &t->more->texts;
	uint32_t id;

	for (id = 0; id < texts->count; id++) {
		size_t len;
		const char *text = tw_pool_text(texts, id, &len);

		t->texts[id] = id ? tw_pool_intern(&trace->texts, text, len) : 0;
		trace->texts.flags[t->texts[id]] |= texts->flags[id];
	}
	return trace->texts.failed ? -1 : 0;
}

static int translate_tracks(struct trawl_trace *trace, struct translation *t)
{
	uint32_t i;

	for (i = 0; i < t->more->track_count; i++) {
		struct tw_track track = t->more->tracks[i];

		track.pid = translate_code(t, track.pid);
		track.tid = translate_code(t, track.tid);
		track.device = translate_code(t, track.device);
		track.stream = translate_code(t, track.stream);
		t->tracks[i] = tw_trace_track(trace, &track);
		if (t->tracks[i] == UINT32_MAX)
			return -1;
	}
	return 0;
}

static int translate_categories(struct trawl_trace *trace, struct translation *t)
{
	unsigned i;

	for (i = 0; i < t->more->category_count; i++) {
		const struct tw_category *category = &t->more->categories[i];

		t->categories[i] = (uint16_t)tw_trace_category(trace, t->texts[category->name],
							       category->class);
	}
	return trace->texts.failed ? -1 : 0;
}

/* Piece 0 translates the arguments, piece 1 the columns: both take about as long. */
static void translate_piece(void *context, size_t piece)
{
	struct translation *t = context;
	struct tw_events *events = &t->more->events;
	uint64_t i;

	if (piece == 0) {
		if (t->more->args.len)
			tw_args_translate(&t->more->args, t->texts);
		return;
	}
	for (i = 0; i < events->count; i++) {
		events->name[i] = t->texts[events->name[i]];
		events->track[i] = t->tracks[events->track[i]];
		events->correlation[i] = translate_code(t, events->correlation[i]);
		events->external[i] = translate_code(t, events->external[i]);
		events->category[i] = t->categories[events->category[i]];
		if (events->args[i])
			events->args[i] += t->args_shift;
	}
}

/* Piece 0 moves the arguments, the others a column each. */
static void move_piece(void *context, size_t piece)
{
	struct translation *t = context;
	struct tw_args *args = &t->trace->args, *more = &t->more->args;

	if (piece) {
		tw_events_take_column(&t->trace->events, &t->more->events, piece - 1,
				      t->trace->allocator);
		return;
	}
	if (more->len) {
		memcpy(args->bytes + args->len, more->bytes + TW_ARGS_ALIGN,
		       more->len - TW_ARGS_ALIGN);
		args->len += more->len - TW_ARGS_ALIGN;
	}
	tw_args_release(more);
}

static int append_fields(struct trawl_trace *trace, const struct translation *t)
{
	uint32_t i;

	for (i = 0; i < t->more->field_count; i++)
		if (tw_trace_add_field(trace, t->texts[t->more->fields[i].key],
				       t->texts[t->more->fields[i].value]))
			return -1;
	return 0;
}

static int append_all(struct trawl_trace *trace, struct translation *t)
{
	struct trawl_trace *more = t->more;
	uint64_t events = trace->events.count;
	unsigned threads = more->events.count < WORTH_A_THREAD ? 1 : 2;

	if (translate_texts(trace, t) || translate_tracks(trace, t) ||
	    translate_categories(trace, t))
		return -1;
	if (more->args.len) {
		/* The records of `more` begin at TW_ARGS_ALIGN. */
		if (tw_args_reserve(&trace->args, more->args.len) ||
		    (trace->args.len + more->args.len) / TW_ARGS_ALIGN > UINT32_MAX)
			return -1;
		t->args_shift = (uint32_t)(trace->args.len / TW_ARGS_ALIGN) - 1;
	}
	if (tw_origins_append(&trace->origins, &more->origins, events))
		return -1;
	if (tw_events_reserve(&trace->events, more->events.count, trace->allocator) ||
	    append_fields(trace, t))
		return -1;
	tw_parallel(threads, 2, translate_piece, t);
	tw_parallel(threads, 1 + TW_EVENT_COLUMN_COUNT, move_piece, t);
	trace->events.count += more->events.count;
	tw_quality_append(&trace->quality, &more->quality, (int64_t)events);
	trace->bytes += more->bytes;
	return 0;
}

int tw_trace_append(struct trawl_trace *trace, struct trawl_trace *more)
{
	struct translation t = { .trace = trace, .more = more };
	size_t text_bytes = more->texts.count * sizeof(*t.texts);
	size_t track_bytes = (more->track_count + 1) * sizeof(*t.tracks);
	size_t category_bytes = more->category_count * sizeof(*t.categories);
	int status = -1;

	t.texts = tw_alloc(trace->allocator, text_bytes);
	t.tracks = tw_alloc(trace->allocator, track_bytes);
	t.categories = tw_alloc(trace->allocator, category_bytes);
	if (t.texts && t.tracks && t.categories)
		status = append_all(trace, &t);
	tw_free(trace->allocator, t.texts, text_bytes);
	tw_free(trace->allocator, t.tracks, track_bytes);
	tw_free(trace->allocator, t.categories, category_bytes);
	trawl_trace_free(more);
	return status;
}
