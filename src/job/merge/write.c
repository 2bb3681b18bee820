/* The events of a rank as text. */
#include "job/merge/rank_events.h"

#include <inttypes.h>
#include <stdio.h>

/* What all events of one phase and category begin with. */
struct head {
	char *text; /* {"ph":"X","cat":"kernel","name":"[R0] */
	size_t len;
	uint8_t phase;
};

struct writing {
	struct tw_rank_events *one;
	struct tw_merge_texts *texts;
	struct head *heads; /* by category */
	uint32_t rank_key;  /* text id of "rank", 0: not there */
	/* By text: where the last argument of this key ends; NULL: no key came twice so far. */
	size_t *last;
	bool any; /* an event was written */
};

static void put_comma(struct writing *w)
{
	if (w->any)
		TW_MERGE_PUT(w->texts, ",\n");
	w->any = true;
}

/* ---- events */

static bool make_head(struct writing *w, struct head *head, uint8_t phase, unsigned category)
{
	struct tw_merge_texts *t = w->texts;
	uint32_t name = w->one->trace->categories[category].name;
	char text[48];
	struct tw_str out;

	if (name && !t->of[name].ptr)
		tw_merge_text_prepare(t, name);
	tw_str_init(&out, w->one->allocator);
	text[0] = (char)phase;
	/* Of one character only; a control or a quote is as good as none. */
	if (phase < ' ' || phase >= 0x7f || phase == '"' || phase == '\\')
		text[0] = '?';
	tw_str_addf(&out, "{\"ph\":\"%c\"", text[0]);
	if (name) {
		tw_str_add_cstr(&out, ",\"cat\":\"");
		tw_str_add(&out, t->of[name].ptr, t->of[name].len);
		tw_str_add_char(&out, '"');
	}
	tw_str_addf(&out, ",\"name\":\"[R%" PRId64 "] ", w->one->rank);
	head->text = out.failed ? NULL : tw_arena_copy(t->arena, out.ptr, out.len);
	head->len = out.len;
	head->phase = phase;
	tw_str_release(&out);
	t->arena->failed |= !head->text;
	return head->text != NULL;
}

/* Up to the time: phase, category, name, place. */
static void put_head(struct writing *w, uint64_t event, const struct tw_merge_lane *lane)
{
	const struct tw_events *events = &w->one->trace->events;
	unsigned category = events->category[event];
	struct head *head = &w->heads[category];

	put_comma(w);
	if (head->phase != events->phase[event] &&
	    !make_head(w, head, events->phase[event], category))
		return;
	tw_merge_put(w->texts, head->text, head->len);
	tw_merge_put_text(w->texts, events->name[event]);
	tw_merge_put(w->texts, lane->head, lane->head_len);
	tw_merge_put_time(w->texts, events->start_ns[event] == TRAWL_TIME_NONE ?
					    0 :
					    events->start_ns[event] + w->one->shift_ns);
}

/* Ids by which events of a rank name each other: those of two ranks shall not be the same. */
static bool is_id(uint32_t key)
{
	return key == TW_KEY_sequence_number || key == TW_KEY_python_id ||
	       key == TW_KEY_python_parent_id;
}

static void put_arg(struct writing *w, const struct trawl_argument *arg)
{
	struct tw_merge_texts *t = w->texts;

	TW_MERGE_PUT(t, "\"");
	tw_merge_put_text(t, arg->key);
	TW_MERGE_PUT(t, "\":");
	switch (arg->kind) {
	case TRAWL_VALUE_INTEGER:
		tw_merge_put_integer(t, is_id(arg->key) && arg->integer >= 0 &&
							arg->integer < TW_MERGE_FRESH ?
						t->first_id + arg->integer :
						arg->integer);
		break;
	case TRAWL_VALUE_REAL:
		tw_merge_put_real(t, arg->real);
		break;
	case TRAWL_VALUE_TEXT:
		TW_MERGE_PUT(t, "\"");
		tw_merge_put_text(t, arg->text);
		TW_MERGE_PUT(t, "\"");
		break;
	case TRAWL_VALUE_NUMBER:
	case TRAWL_VALUE_JSON:
		tw_merge_put_value(t, arg->text);
		break;
	case TRAWL_VALUE_BOOL:
		if (arg->integer)
			TW_MERGE_PUT(t, "true");
		else
			TW_MERGE_PUT(t, "false");
		break;
	case TRAWL_VALUE_NULL:
		TW_MERGE_PUT(t, "null");
		break;
	}
}

/* Keys met in a record: by number where they are known, else by a hash that may err. */
struct seen {
	uint64_t bits[4];
};

static bool note_key(struct seen *seen, uint32_t key)
{
	unsigned bit = key < TW_KEY_COUNT ? key : 128 + key % 128;
	uint64_t mask = (uint64_t)1 << (bit & 63), *word = &seen->bits[bit >> 6];
	bool before = *word & mask;

	*word |= mask;
	return before;
}

static bool may_repeat(const struct tw_args *args, size_t at)
{
	struct seen seen = { { 0 } };
	struct trawl_argument arg;
	bool repeats = false;

	while (tw_args_next(args, &at, &arg))
		repeats |= note_key(&seen, arg.key);
	return repeats;
}

/* Where keys come again, the last one counts: notes which that is. */
static bool find_last(struct writing *w, size_t at)
{
	const struct trawl_trace *trace = w->one->trace;
	struct trawl_argument arg;

	if (!at || !may_repeat(&trace->args, at))
		return false;
	if (!w->last)
		w->last = tw_arena_array(w->texts->arena, trace->texts.count, sizeof(*w->last));
	if (!w->last)
		return false;
	while (tw_args_next(&trace->args, &at, &arg))
		w->last[arg.key] = at;
	return true;
}

/* The arguments as they are, but for one that is skipped; whether there are any. */
static bool put_own_args(struct writing *w, uint64_t event, uint32_t left_out)
{
	const struct trawl_trace *trace = w->one->trace;
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN;
	bool any = false, repeats = find_last(w, at);
	struct trawl_argument arg;

	while (at && tw_args_next(&trace->args, &at, &arg)) {
		if (arg.key == left_out || (repeats && w->last[arg.key] != at))
			continue;
		if (any)
			TW_MERGE_PUT(w->texts, ",");
		put_arg(w, &arg);
		any = true;
	}
	return any;
}

/* `key` with a comma in front, for where something stands there. */
static void put_link(struct writing *w, const char *key, tw_code code, bool *any)
{
	if (!code || code == TW_CODE_NONE)
		return;
	tw_merge_put(w->texts, key + !*any, strlen(key) - !*any);
	tw_merge_put_integer(w->texts, tw_merge_id(w->texts, code));
	*any = true;
}

static void put_args(struct writing *w, uint64_t event)
{
	const struct tw_events *events = &w->one->trace->events;
	bool any;

	TW_MERGE_PUT(w->texts, ",\"args\":{");
	any = put_own_args(w, event, w->rank_key);
	put_link(w, ",\"External id\":", events->external[event], &any);
	if (events->phase[event] == 'X')
		put_link(w, ",\"correlation\":", events->correlation[event], &any);
	if (any)
		TW_MERGE_PUT(w->texts, ",");
	TW_MERGE_PUT(w->texts, "\"rank\":");
	tw_merge_put_integer(w->texts, w->one->rank);
	TW_MERGE_PUT(w->texts, "}}");
}

static void put_slice(struct writing *w, uint64_t event, const struct tw_merge_lane *lane)
{
	put_head(w, event, lane);
	TW_MERGE_PUT(w->texts, ",\"dur\":");
	tw_merge_put_time(w->texts, w->one->trace->events.dur_ns[event]);
	put_args(w, event);
}

/* Instants, counters, spans that begin and end apart. */
static void put_other(struct writing *w, uint64_t event, const struct tw_merge_lane *lane)
{
	const struct tw_events *events = &w->one->trace->events;
	uint8_t phase = events->phase[event];

	put_head(w, event, lane);
	/* Values of a counter are its arguments: a rank among them would be drawn. */
	if (phase == 'C') {
		TW_MERGE_PUT(w->texts, ",\"args\":{");
		put_own_args(w, event, UINT32_MAX);
		TW_MERGE_PUT(w->texts, "}}");
		return;
	}
	if (phase == 'i' || phase == 'I') {
		TW_MERGE_PUT(w->texts, ",\"s\":\"t\"");
	} else if (phase != 'M' && events->correlation[event] != TW_CODE_NONE) {
		TW_MERGE_PUT(w->texts, ",\"id\":");
		tw_merge_put_integer(w->texts, tw_merge_id(w->texts, events->correlation[event]));
	}
	put_args(w, event);
}

static void put_end(struct writing *w, const struct tw_merge_end *end)
{
	const struct tw_rank_events *one = w->one;

	for (;; end = &one->ends[end->also]) {
		if (end->id >= 0) {
			put_head(w, end->event, &one->lanes[end->lane]);
			TW_MERGE_PUT(w->texts, ",\"id\":");
			tw_merge_put_integer(w->texts, end->id);
			/* To the slice that it lies on, not to the next one. */
			if (one->trace->events.phase[end->event] != 's')
				TW_MERGE_PUT(w->texts, ",\"bp\":\"e\"");
			put_args(w, end->event);
		}
		if (end->also == TW_NOWHERE)
			return;
	}
}

/* ---- processes and threads */

static void put_naming(struct writing *w, const char *what, int64_t pid, int64_t tid)
{
	char text[160];
	int len;

	put_comma(w);
	len = snprintf(text, sizeof(text),
		       "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		       ",\"ts\":0,\"args\":{",
		       what, pid, tid);
	tw_merge_put(w->texts, text, (size_t)len);
}

static void put_format(struct writing *w, const char *format, int64_t value)
{
	char text[64];
	int len = snprintf(text, sizeof(text), format, value);

	tw_merge_put(w->texts, text, (size_t)len);
}

/* A number or text of the trace, inside quotes. */
static void put_code(struct writing *w, tw_code code)
{
	if (code == TW_CODE_NONE)
		TW_MERGE_PUT(w->texts, "none");
	else if (code & TW_CODE_TEXT)
		tw_merge_put_text(w->texts, code & ~TW_CODE_TEXT);
	else
		tw_merge_put_integer(w->texts, code);
}

static void put_process(struct writing *w, const struct tw_merge_process *process, bool several)
{
	const struct tw_rank_events *one = w->one;
	struct tw_merge_texts *t = w->texts;

	put_naming(w, "process_name", process->pid, 0);
	put_format(w, "\"name\":\"Rank %" PRId64 " - ", one->rank);
	if (process->gpu)
		TW_MERGE_PUT(t, "GPU Stream");
	else
		TW_MERGE_PUT(t, "CPU/CUDA Runtime");
	if (several) {
		if (process->gpu)
			TW_MERGE_PUT(t, " (device ");
		else
			TW_MERGE_PUT(t, " (process ");
		put_code(w, process->code);
		TW_MERGE_PUT(t, ")");
	}
	TW_MERGE_PUT(t, "\"}}");
	put_naming(w, "process_sort_index", process->pid, 0);
	put_format(w, "\"sort_index\":%" PRId64 "}}", 2 * one->rank + !process->gpu);
	if (!process->labels)
		return;
	put_naming(w, "process_labels", process->pid, 0);
	TW_MERGE_PUT(t, "\"labels\":\"");
	tw_merge_put_text(t, process->labels);
	TW_MERGE_PUT(t, "\"}}");
}

static void put_lane(struct writing *w, const struct tw_merge_place *place,
		     const struct tw_merge_lane *lane, int64_t sort_index)
{
	const struct tw_rank_events *one = w->one;
	int64_t pid = one->processes[place->process].pid;
	uint32_t name = one->names.tracks[place->track].thread;

	put_naming(w, "thread_name", pid, lane->tid);
	TW_MERGE_PUT(w->texts, "\"name\":\"");
	if (name) {
		tw_merge_put_text(w->texts, name);
	} else {
		if (place->gpu)
			TW_MERGE_PUT(w->texts, "stream ");
		else if (!(place->code & TW_CODE_TEXT))
			TW_MERGE_PUT(w->texts, "thread ");
		put_code(w, place->code);
	}
	if (lane->number)
		put_format(w, " (lane %" PRId64 ")", (int64_t)lane->number + 1);
	TW_MERGE_PUT(w->texts, "\"}}");
	put_naming(w, "thread_sort_index", pid, lane->tid);
	put_format(w, "\"sort_index\":%" PRId64 "}}", sort_index);
}

/* Whether there is more than one process of the same kind. */
static bool has_several(const struct tw_rank_events *one, bool gpu)
{
	uint32_t i, n = 0;

	for (i = 0; i < one->process_count; i++)
		n += one->processes[i].gpu == gpu;
	return n > 1;
}

static void put_names(struct writing *w)
{
	const struct tw_rank_events *one = w->one;
	uint32_t i, lane;
	int64_t sort_index = 0;

	for (i = 0; i < one->process_count; i++)
		put_process(w, &one->processes[i], has_several(one, one->processes[i].gpu));
	for (i = 0; i < one->place_count; i++) {
		if (!i || one->places[i].process != one->places[i - 1].process)
			sort_index = 0;
		for (lane = one->places[i].first_lane; lane != TW_NOWHERE;
		     lane = one->lanes[lane].next)
			put_lane(w, &one->places[i], &one->lanes[lane], sort_index++);
	}
}

/* ---- all of it */

static void head_lanes(struct tw_rank_events *one)
{
	uint32_t i;

	for (i = 0; i < one->lane_count; i++) {
		struct tw_merge_lane *lane = &one->lanes[i];
		int64_t pid = one->processes[one->places[lane->place].process].pid;

		lane->head_len = (uint8_t)snprintf(
			lane->head, sizeof(lane->head),
			"\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", pid, lane->tid);
	}
}

void tw_write_events(struct tw_rank_events *one)
{
	const struct tw_events *events = &one->trace->events;
	struct writing w = { .one = one, .texts = &one->texts };
	uint64_t n;

	w.heads = tw_arena_array(&one->arena, one->trace->category_count, sizeof(*w.heads));
	if (!w.heads)
		return;
	w.rank_key = tw_pool_find(&one->trace->texts, "rank", 4);
	head_lanes(one);
	put_names(&w);
	for (n = 0; n < one->count; n++) {
		uint32_t event = one->order[n];

		if (tw_merge_is_end(events->phase[event]))
			put_end(&w, &one->ends[one->lane_of[n]]);
		else if (events->phase[event] == 'X')
			put_slice(&w, event, &one->lanes[one->lane_of[n]]);
		else
			put_other(&w, event, &one->lanes[one->lane_of[n]]);
	}
}
