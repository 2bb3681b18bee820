#include "nsys/launches.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/list.h"
#include "base/slots.h"
#include "data/tables.h"
#include "nsys/ranges.h"

#include <string.h>

enum { START, TID, CORRELATION, NUMBERS, NAME = NUMBERS, END, COLUMNS };
static const char *const columns[COLUMNS] = { "start", "globalTid", "correlationId", "nameId",
					      "end" };

#define NEEDED (1u << START | 1u << TID)

struct part {
	struct tw_nsys_part part;
	struct tw_ids names; /* text id -> whether it is the name of a launch */
	struct tw_nsys_launch *calls;
	size_t call_count, call_capacity;
	int64_t end_ns;
	bool begun;
};

void tw_nsys_launches_init(struct tw_nsys_launches *l, bool compat,
			   const struct trawl_allocator *allocator)
{
	*l = (struct tw_nsys_launches){ .allocator = allocator,
					.compat = compat,
					.end_ns = INT64_MIN };
}

/* ---- keys */

/* The place of a key, or the free one where it would be. */
static size_t place_of(const struct tw_nsys_launches *l, int64_t process, int64_t correlation)
{
	uint64_t id = (uint64_t)correlation ^ ((uint64_t)process << 32 | (uint64_t)process >> 32);

	return TW_SLOT(at, l->place_count, tw_hash_id(id),
		       !l->places[at] || (l->keys[l->places[at] - 1].correlation == correlation &&
					  l->keys[l->places[at] - 1].process == process));
}

static bool grow_places(struct tw_nsys_launches *l)
{
	size_t count = l->place_count ? l->place_count * 2 : 256, i;
	uint32_t *places = tw_alloc_array(l->allocator, count, sizeof(*places));

	if (!places)
		return false;
	tw_free(l->allocator, l->places, l->place_count * sizeof(*l->places));
	l->places = places;
	l->place_count = count;
	for (i = 0; i < l->key_count; i++)
		l->places[place_of(l, l->keys[i].process, l->keys[i].correlation)] =
			(uint32_t)i + 1;
	return true;
}

uint32_t tw_nsys_launches_want(struct tw_nsys_launches *l, int64_t process, int64_t correlation)
{
	size_t at;

	if (l->key_count >= UINT32_MAX - 1 ||
	    (l->key_count * 2 >= l->place_count && !grow_places(l)))
		return UINT32_MAX;
	at = place_of(l, process, correlation);
	if (l->places[at])
		return l->places[at] - 1;
	if (!tw_list_grow(&l->keys, &l->key_capacity, l->key_count, sizeof(*l->keys), l->allocator))
		return UINT32_MAX;
	l->keys[l->key_count] = (struct tw_nsys_key){ process, correlation };
	l->places[at] = (uint32_t)++l->key_count;
	return (uint32_t)l->key_count - 1;
}

/* ---- calls */

/* False: out of memory. */
static bool is_launch(struct part *p, const struct tw_scan *scan, bool *launch)
{
	const char *name;
	uint32_t known;
	size_t len;
	int64_t id;

	*launch = false;
	if (tw_scan_integer(scan, NAME, &id) != TW_VALUE_GIVEN)
		return true;
	known = tw_ids_get(&p->names, id);
	if (known == TW_IDS_NONE) {
		name = tw_nsys_text(p->part.database, id, &len);
		known = name && tw_is_launch_name(name, len);
		if (!tw_ids_put(&p->names, id, known, p->part.allocator))
			return false;
	}
	*launch = known;
	return true;
}

static int on_row(void *part, const struct tw_scan *scan)
{
	struct part *p = part;
	const struct tw_nsys_launches *l = p->part.context;
	struct tw_nsys_launch call;
	int64_t values[NUMBERS], gid, end;
	uint32_t odd, given = tw_scan_integers(scan, NUMBERS, values, &odd);

	if (!p->begun) {
		p->begun = true;
		p->end_ns = INT64_MIN;
	}
	call.start_ns = values[START];
	gid = values[TID];
	if ((given & NEEDED) != NEEDED || !tw_nsys_is_time(call.start_ns))
		return tw_nsys_odd(&p->part, scan);
	if (l->ends) {
		if (tw_scan_integer(scan, END, &end) != TW_VALUE_GIVEN || !tw_nsys_is_time(end))
			end = call.start_ns;
		if (end > p->end_ns)
			p->end_ns = end;
	}
	if (!(given & 1u << CORRELATION))
		return 0;
	call.key = l->places[place_of(l, tw_nsys_process(gid, l->compat), values[CORRELATION])];
	if (!call.key--)
		return 0;
	call.tid = (uint32_t)(gid & 0xffffff);
	if (!is_launch(p, scan, &call.is_launch) ||
	    !tw_list_grow(&p->calls, &p->call_capacity, p->call_count, sizeof(call),
			  p->part.allocator))
		return tw_nsys_no_memory(&p->part);
	p->calls[p->call_count++] = call;
	return 0;
}

static void release_part(void *part)
{
	struct part *p = part;

	tw_ids_release(&p->names, p->part.allocator);
	tw_free(p->part.allocator, p->calls, p->call_capacity * sizeof(*p->calls));
	p->calls = NULL;
	p->call_count = p->call_capacity = 0;
}

static bool join(struct tw_nsys_launches *l, struct part *parts, size_t count)
{
	size_t i, k;

	for (i = 0; i < count; i++) {
		for (k = 0; k < parts[i].call_count; k++) {
			if (!tw_list_grow(&l->calls, &l->call_capacity, l->call_count,
					  sizeof(*l->calls), l->allocator))
				return false;
			l->calls[l->call_count++] = parts[i].calls[k];
		}
		if (parts[i].begun && parts[i].end_ns > l->end_ns)
			l->end_ns = parts[i].end_ns;
		release_part(&parts[i]);
	}
	return true;
}

int tw_nsys_launches_read(struct tw_nsys_launches *l, struct tw_nsys_source *source,
			  struct trawl_error *err)
{
	const struct tw_nsys_scan scan = {
		.table = TW_NSYS_CALLS,
		.columns = columns,
		.column_count = l->ends ? COLUMNS : END,
		.context = l,
		.part_size = sizeof(struct part),
		.row = on_row,
		.release = release_part,
	};
	size_t count;
	void *parts;
	bool good;
	int status;

	if (!l->place_count && !grow_places(l))
		return tw_no_memory(err);
	status = tw_nsys_scan(source, &scan, &parts, &count, err);
	good = status || join(l, parts, count);
	tw_nsys_scan_free(source, &scan, parts, count);
	return status || good ? status : tw_no_memory(err);
}

void tw_nsys_launches_release(struct tw_nsys_launches *l)
{
	tw_free(l->allocator, l->keys, l->key_capacity * sizeof(*l->keys));
	tw_free(l->allocator, l->places, l->place_count * sizeof(*l->places));
	tw_free(l->allocator, l->calls, l->call_capacity * sizeof(*l->calls));
	tw_nsys_launches_init(l, l->compat, l->allocator);
}
