#include "store/captures.h"

#include "store/trace.h"

#include "base/alloc.h"

uint32_t tw_trace_borrow_text(struct trawl_trace *trace, const struct trawl_trace *from,
			      uint32_t text)
{
	size_t len;
	const char *ptr = tw_pool_text(&from->texts, text, &len);

	return text ? tw_pool_intern(&trace->texts, ptr, len) : 0;
}

/* One argument, with the text ids of the trace. */
static int borrow_argument(struct trawl_trace *trace, const struct trawl_trace *from,
			   const struct trawl_argument *arg)
{
	struct trawl_argument own = *arg;
	uint32_t key = tw_trace_borrow_text(trace, from, arg->key);

	if (arg->kind == TRAWL_VALUE_TEXT || arg->kind == TRAWL_VALUE_NUMBER ||
	    arg->kind == TRAWL_VALUE_JSON)
		own.text = tw_trace_borrow_text(trace, from, arg->text);
	if (tw_args_reserve(&trace->args, TW_ARG_MAX_BYTES))
		return -1;
	tw_args_put(&trace->args, key, &own);
	return trace->texts.failed ? -1 : 0;
}

static int borrow_arguments(struct trawl_trace *trace, const struct trawl_trace *from,
			    uint32_t event, uint32_t *record)
{
	size_t at = (size_t)from->events.args[event] * TW_ARGS_ALIGN, start;
	struct trawl_argument arg;

	*record = 0;
	if (!at)
		return 0;
	if (tw_args_reserve(&trace->args, TW_ARGS_ALIGN))
		return -1;
	start = trace->args.len;
	while (tw_args_next(&from->args, &at, &arg))
		if (borrow_argument(trace, from, &arg))
			return -1;
	return tw_args_reserve(&trace->args, TW_ARGS_ALIGN) ||
			       tw_args_end(&trace->args, start, record) ?
		       -1 :
		       0;
}

int tw_trace_borrow(struct trawl_trace *trace, const struct trawl_trace *from,
		    const uint32_t *events, uint64_t count, bool bare, uint32_t track,
		    uint64_t *first)
{
	struct tw_events *to = &trace->events;
	uint64_t i, own = to->count;

	*first = own + to->borrowed;
	to->count += to->borrowed;
	i = (uint64_t)tw_events_reserve(to, count, trace->allocator);
	to->count = own;
	if (i)
		return -1;
	for (i = 0; i < count; i++) {
		const struct tw_category *category =
			&from->categories[from->events.category[events[i]]];
		uint64_t e = *first + i;

		to->start_ns[e] = to->dur_ns[e] = TRAWL_TIME_NONE;
		to->name[e] = tw_trace_borrow_text(trace, from, from->events.name[events[i]]);
		to->track[e] = track;
		to->correlation[e] = to->external[e] = TW_CODE_NONE;
		to->category[e] = (uint16_t)tw_trace_category(
			trace, tw_trace_borrow_text(trace, from, category->name), category->class);
		to->phase[e] = 'x';
		to->args[e] = 0;
		if (!bare && borrow_arguments(trace, from, events[i], &to->args[e]))
			return -1;
		to->borrowed++;
	}
	return trace->texts.failed ? -1 : 0;
}
