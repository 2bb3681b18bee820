#include "nsys/launches.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slots.h"
#include "data/tables.h"

struct part {
	struct tw_nsys_part part;
	TW_LIST(struct tw_nsys_launch) calls;
	int64_t end_ns;
};

void tw_nsys_launches_init(struct tw_nsys_launches *l, const struct trawl_allocator *allocator)
{
	*l = (struct tw_nsys_launches){ .allocator = allocator,
					.process_of = tw_nsys_process,
					.end_ns = INT64_MIN };
}

/* ---- keys */

/* The place of a key, or the free one where it would be. */
static size_t place_of(const struct tw_nsys_launches *l, int64_t process, int64_t correlation)
{
	uint64_t id = (uint64_t)correlation ^ ((uint64_t)process << 32 | (uint64_t)process >> 32);

	return TW_SLOT(at, l->place_count, tw_hash_id(id),
		       !l->places[at] ||
			       (l->keys.at[l->places[at] - 1].correlation == correlation &&
				l->keys.at[l->places[at] - 1].process == process));
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
	for (i = 0; i < l->keys.count; i++)
		l->places[place_of(l, l->keys.at[i].process, l->keys.at[i].correlation)] =
			(uint32_t)i + 1;
	return true;
}

uint32_t tw_nsys_launches_want(struct tw_nsys_launches *l, int64_t process, int64_t correlation)
{
	size_t at;

	if (l->keys.count >= UINT32_MAX - 1 ||
	    (l->keys.count * 2 >= l->place_count && !grow_places(l)))
		return UINT32_MAX;
	at = place_of(l, process, correlation);
	if (l->places[at])
		return l->places[at] - 1;
	if (!TW_LIST_ADD(&l->keys, &((struct tw_nsys_key){ process, correlation }), l->allocator))
		return UINT32_MAX;
	l->places[at] = (uint32_t)l->keys.count;
	return (uint32_t)l->keys.count - 1;
}

/* ---- calls */

static uint32_t is_launch(const void *part, const char *name, size_t len)
{
	(void)part;
	return name && tw_is_launch_name(name, len);
}

static int begin(void *part)
{
	((struct part *)part)->end_ns = INT64_MIN;
	return 0;
}

static int on_row(void *part)
{
	const uint32_t needed = TW_BIT(TW_CALL_START) | TW_BIT(TW_CALL_THREAD);
	struct part *p = part;
	const struct tw_nsys_launches *l = p->part.context;
	const int64_t *v = p->part.rows.values;
	struct tw_nsys_launch call = { .start_ns = v[TW_CALL_START],
				       .tid = tw_nsys_tid(v[TW_CALL_THREAD]) };
	int64_t end = call.start_ns;
	uint32_t launches = 0;

	if ((p->part.rows.given & needed) != needed || !tw_nsys_is_time(call.start_ns))
		return tw_nsys_odd(&p->part);
	if (tw_part_has(&p->part.rows, TW_CALL_END) && tw_nsys_is_time(v[TW_CALL_END]))
		end = v[TW_CALL_END];
	if (end > p->end_ns)
		p->end_ns = end;
	if (!tw_part_has(&p->part.rows, TW_CALL_CORRELATION))
		return 0;
	call.key = l->places[place_of(l, l->process_of(v[TW_CALL_THREAD]), v[TW_CALL_CORRELATION])];
	if (!call.key--)
		return 0;
	if (tw_scan_integer(p->part.rows.scan, TW_CALL_NAME, &end) == TW_VALUE_GIVEN &&
	    !tw_nsys_meaning(&p->part, end, is_launch, &launches))
		return tw_nsys_no_memory(&p->part);
	call.is_launch = launches;
	return TW_LIST_ADD(&p->calls, &call, p->part.rows.allocator) ? 0 :
								       tw_nsys_no_memory(&p->part);
}

static int join(void *part)
{
	struct part *p = part;
	struct tw_nsys_launches *l = p->part.context;

	if (p->end_ns > l->end_ns)
		l->end_ns = p->end_ns;
	return TW_LIST_JOIN(&l->calls, &p->calls, l->allocator) ? 0 : tw_nsys_no_memory(&p->part);
}

int tw_nsys_launches_read(struct tw_nsys_launches *l, struct tw_nsys_source *source,
			  struct trawl_error *err)
{
	static const struct tw_table_reader calls = {
		.table = TW_NSYS_CALLS,
		.columns = tw_call_columns,
		.column_count = TW_CALL_NAME + 1,
		.integers = TW_BITS_BEFORE(TW_CALL_NAME),
		.part_size = sizeof(struct part),
		.begin = begin,
		.row = on_row,
		.join = join,
	};

	if (!l->place_count && !grow_places(l))
		return tw_no_memory(err);
	return tw_nsys_scan(source, &calls, l, err);
}

void tw_nsys_launches_release(struct tw_nsys_launches *l)
{
	TW_LIST_FREE(&l->keys, l->allocator);
	TW_LIST_FREE(&l->calls, l->allocator);
	tw_free(l->allocator, l->places, l->place_count * sizeof(*l->places));
	tw_nsys_launches_init(l, l->allocator);
}
