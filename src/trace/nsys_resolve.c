/*
 * What is known only when all tables are read: which devices of the processes are the same GPU,
 * which streams need more than their number for a name, where open ranges end.
 */
#include "trace/nsys.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "base/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges without an end */

static int64_t last_time(const struct tw_events *events)
{
	int64_t last = INT64_MIN, end;
	uint64_t i;

	for (i = 0; i < events->count; i++) {
		if (events->start_ns[i] == TRAWL_TIME_NONE)
			continue;
		end = events->start_ns[i] + (events->phase[i] == 'X' ? events->dur_ns[i] : 0);
		if (end > last)
			last = end;
	}
	return last;
}

static void close_ranges(struct tw_events *events)
{
	int64_t last = last_time(events);
	uint64_t i;

	for (i = 0; i < events->count; i++) {
		if (events->phase[i] != TW_EXPORT_OPEN)
			continue;
		events->phase[i] = events->start_ns[i] == TRAWL_TIME_NONE ? 'x' : 'X';
		if (events->phase[i] == 'X')
			events->dur_ns[i] = last - events->start_ns[i];
	}
}

/* ---- names of domains */

struct domain {
	tw_code pid;
	uint32_t number, name; /* text ids: what it is called until now, and from now on */
};

struct domains {
	TW_LIST(struct domain) list;
};

static int compare_domains(const void *a, const void *b)
{
	const struct domain *x = a, *y = b;

	return TW_ORDER_BY(x, y, pid, number);
}

static bool list_domains(const struct trawl_trace *trace, struct domains *domains,
			 const struct trawl_allocator *a)
{
	const struct tw_events *events = &trace->events;
	struct trawl_argument number, name;
	struct domain domain;
	uint64_t i;

	for (i = 0; i < events->count; i++) {
		if (events->phase[i] != 'M' || events->name[i] != TW_KEY_domain ||
		    !trawl_event_argument(trace, i, TW_KEY_domain, &number) ||
		    !trawl_event_argument(trace, i, TW_KEY_name, &name))
			continue;
		domain = (struct domain){ trace->tracks[events->track[i]].pid, number.text,
					  name.text };
		if (!TW_LIST_ADD(&domains->list, &domain, a))
			return false;
	}
	if (domains->list.count)
		qsort(domains->list.at, domains->list.count, sizeof(domain), compare_domains);
	return true;
}

/* Ids of texts have four bytes in arguments, so one is put in the place of another. */
static void rename_domain(struct trawl_trace *trace, uint64_t event, const struct domains *domains)
{
	struct domain key = { .pid = trace->tracks[trace->events.track[event]].pid };
	size_t at = (size_t)trace->events.args[event] * TW_ARGS_ALIGN, after;
	struct tw_arg_keys keys = { { 0 } };
	const struct domain *found;

	tw_arg_keys_add(&keys, TW_KEY_domain);
	if (!tw_args_seek(&trace->args, &at, &keys))
		return;
	after = at;
	key.number = tw_args_take_text(&trace->args, &after);
	found = bsearch(&key, domains->list.at, domains->list.count, sizeof(key), compare_domains);
	if (found)
		memcpy(trace->args.bytes + after - sizeof(found->name), &found->name,
		       sizeof(found->name));
}

static int name_domains(struct trawl_trace *trace, const struct trawl_allocator *a)
{
	const struct tw_events *events = &trace->events;
	struct domains domains = { 0 };
	bool good = list_domains(trace, &domains, a);
	uint64_t i;

	for (i = 0; domains.list.count && good && i < events->count; i++)
		if (events->args[i] && !tw_class_is_gpu(tw_class(trace, i)) &&
		    !tw_class_is_launch(tw_class(trace, i)))
			rename_domain(trace, i, &domains);
	return good ? 0 : -1;
}

static void count_repaired(struct trawl_trace *trace)
{
	int64_t count = 0;
	uint32_t id;

	for (id = 1; id < trace->texts.count; id++)
		count += trace->texts.flags[id] & TW_EXPORT_REPAIRED;
	tw_quality_add_row(&trace->quality, TW_DEFECT_bad_utf8, count, TW_NSYS_TEXTS, -1);
}

int tw_export_settle(struct tw_export_part *part)
{
	struct trawl_trace *trace = part->trace;

	count_repaired(trace);
	if (trace->quality.kinds[TW_DEFECT_open_range].count)
		close_ranges(&trace->events);
	return name_domains(trace, part->rows.allocator) || tw_export_settle_tracks(part) ||
			       tw_export_find_ranks(part) ?
		       -1 :
		       0;
}
