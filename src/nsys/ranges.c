#include "nsys/ranges.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

const char *const tw_nvtx_columns[TW_NVTX_COLUMNS] = { "start",	    "end",  "eventType",
						       "globalTid", "text", "textId" };

/* What a name means; kept by text and by id, for names are many times more than their meanings. */
struct meaning {
	uint32_t window; /* rule + 1, 0: none */
	uint16_t mark;	 /* 0: none */
	bool label;
	int64_t rank;
};

/* Meanings of recent texts: each has a few places, so that no two turn each other out for ever. */
#define RECENT 2048
#define RECENT_PLACES 4
#define RECENT_BYTES 104

struct recent {
	uint32_t len;
	struct meaning meaning;
	char text[RECENT_BYTES];
};

struct part {
	struct tw_nsys_part part;
	struct tw_matcher matcher;
	struct tw_str value, purpose;
	struct recent *recent;
	unsigned turn;		/* whose place among a few is the next to be taken */
	struct tw_ids text_ids; /* into by_id */
	struct meaning *by_id;
	size_t by_id_count, by_id_capacity;
	struct tw_nsys_ranges found;
	uint32_t last_process;
};

#define MARKERS (1u << TW_NSYS_STAGE | 1u << TW_NSYS_PURPOSE)
#define ALL (MARKERS | 1u << TW_NSYS_LABEL | 1u << TW_NSYS_WINDOW)

/* ---- rows */

enum tw_nvtx_kind tw_nvtx_read(struct tw_nsys_part *part, const struct tw_scan *scan,
			       struct tw_nvtx_row *row)
{
	int64_t values[TW_NVTX_NUMBERS], type;
	uint32_t odd, given = tw_scan_integers(scan, TW_NVTX_NUMBERS, values, &odd);
	const uint32_t needed = 1u << TW_NVTX_START | 1u << TW_NVTX_TID;

	/* 59: what nearly all of them are. */
	type = given & 1u << TW_NVTX_TYPE ? values[TW_NVTX_TYPE] : 59;
	row->range = type == 59 || type == 60 || type == 70 || type == 71;
	if (!row->range && type != 34 && !(type >= 64 && type < 70))
		return TW_NVTX_OTHER;
	row->start_ns = values[TW_NVTX_START];
	row->end_ns = values[TW_NVTX_END];
	row->gid = values[TW_NVTX_TID];
	if ((given & needed) != needed || odd & 1u << TW_NVTX_END ||
	    !tw_nsys_is_time(row->start_ns) || !tw_nsys_is_time(row->end_ns)) {
		tw_nsys_odd(part, scan);
		return TW_NVTX_ODD;
	}
	if (!(given & 1u << TW_NVTX_END))
		row->end_ns = row->range ? TW_NSYS_OPEN : row->start_ns;
	else if (row->end_ns < row->start_ns)
		row->end_ns = row->start_ns;
	return TW_NVTX_EVENT;
}

/* ---- what a name means */

static int too_many_marks(struct part *p, const struct tw_nsys_rule *rule)
{
	return trawl_error_set(&p->part.error, TRAWL_ELIMIT,
			       "rules '%s': '%.100s' makes more than %d different stages; "
			       "a stage is a kind of work, not each piece of it",
			       p->matcher.rules->name, rule->pattern, TW_NSYS_MOST_MARKS);
}

/* The number of a mark, 0: out of memory or too many. */
static uint32_t intern_mark(struct tw_nsys_ranges *r, const char *stage, const char *purpose)
{
	struct tw_nsys_mark mark;
	uint32_t i;

	for (i = 0; i < r->mark_count; i++)
		if (!strcmp(r->marks[i].stage, stage) && !strcmp(r->marks[i].purpose, purpose))
			return i + 1;
	if (r->mark_count == TW_NSYS_MOST_MARKS)
		return 0;
	mark.stage = tw_arena_copy(&r->arena, stage, strlen(stage));
	mark.purpose = tw_arena_copy(&r->arena, purpose, strlen(purpose));
	if (!mark.stage || !mark.purpose ||
	    !tw_list_grow(&r->marks, &r->mark_capacity, r->mark_count, sizeof(mark), r->allocator))
		return 0;
	r->marks[r->mark_count++] = mark;
	return i + 1;
}

static int find_mark(struct part *p, const char *text, size_t len, struct meaning *meaning)
{
	const struct tw_nsys_rule *stage, *purpose;

	tw_str_clear(&p->value);
	tw_str_clear(&p->purpose);
	stage = tw_matcher_find(&p->matcher, TW_NSYS_STAGE, text, len, &p->value);
	purpose = tw_matcher_find(&p->matcher, TW_NSYS_PURPOSE, text, len, &p->purpose);
	if (!stage && !purpose)
		return 0;
	tw_str_add_cstr(&p->value, "");
	tw_str_add_cstr(&p->purpose, "");
	if (p->value.failed || p->purpose.failed)
		return tw_nsys_no_memory(&p->part);
	meaning->mark = (uint16_t)intern_mark(&p->found, p->value.ptr, p->purpose.ptr);
	if (!meaning->mark)
		return p->found.mark_count == TW_NSYS_MOST_MARKS ?
			       too_many_marks(p, stage ? stage : purpose) :
			       tw_nsys_no_memory(&p->part);
	return 0;
}

static int find_meaning(struct part *p, const char *text, size_t len, struct meaning *meaning)
{
	const struct tw_nsys_rule *rule;

	*meaning = (struct meaning){ 0 };
	if (!tw_matcher_might(&p->matcher, ALL, text, len))
		return 0;
	tw_str_clear(&p->value);
	rule = tw_matcher_find(&p->matcher, TW_NSYS_LABEL, text, len, &p->value);
	if (p->value.failed)
		return tw_nsys_no_memory(&p->part);
	if (rule && p->value.len) {
		meaning->rank = tw_nsys_label_rank(p->value.ptr);
		meaning->label = meaning->rank >= 0;
	}
	rule = tw_matcher_find(&p->matcher, TW_NSYS_WINDOW, text, len, NULL);
	if (rule)
		meaning->window = (uint32_t)(rule - p->matcher.rules->rules) + 1;
	return find_mark(p, text, len, meaning);
}

/* The place that has a text, else one to put it to. */
static struct recent *place_of(struct part *p, const char *text, size_t len)
{
	size_t first = tw_hash_bytes(text, len) & (RECENT - RECENT_PLACES), i;
	struct recent *place;

	for (i = 0; i < RECENT_PLACES; i++) {
		place = &p->recent[first + i];
		if (!place->len || (place->len == len && !memcmp(place->text, text, len)))
			return place;
	}
	return &p->recent[first + p->turn++ % RECENT_PLACES];
}

static int meaning_of_text(struct part *p, const char *text, size_t len, struct meaning *meaning)
{
	struct recent *place;
	int status;

	*meaning = (struct meaning){ 0 };
	if (!len || !tw_matcher_might(&p->matcher, ALL, text, len))
		return 0;
	if (len > RECENT_BYTES)
		return find_meaning(p, text, len, meaning);
	place = place_of(p, text, len);
	if (place->len != len || memcmp(place->text, text, len) != 0) {
		status = find_meaning(p, text, len, &place->meaning);
		if (status)
			return status;
		place->len = (uint32_t)len;
		memcpy(place->text, text, len);
	}
	*meaning = place->meaning;
	return 0;
}

static int meaning_of_id(struct part *p, int64_t id, struct meaning *meaning)
{
	uint32_t known = tw_ids_get(&p->text_ids, id);
	const char *text;
	size_t len;
	int status;

	if (known != TW_IDS_NONE) {
		*meaning = p->by_id[known];
		return 0;
	}
	*meaning = (struct meaning){ 0 };
	text = tw_nsys_text(p->part.database, id, &len);
	status = text && len ? find_meaning(p, text, len, meaning) : 0;
	if (status)
		return status;
	if (!tw_list_grow(&p->by_id, &p->by_id_capacity, p->by_id_count, sizeof(*p->by_id),
			  p->part.allocator) ||
	    !tw_ids_put(&p->text_ids, id, (uint32_t)p->by_id_count, p->part.allocator))
		return tw_nsys_no_memory(&p->part);
	p->by_id[p->by_id_count++] = *meaning;
	return 0;
}

static int meaning_of_row(struct part *p, const struct tw_scan *scan, struct meaning *meaning)
{
	size_t len;
	const char *text = tw_scan_text(scan, TW_NVTX_TEXT, &len);
	int64_t id;

	if (text)
		return meaning_of_text(p, text, len, meaning);
	if (tw_scan_integer(scan, TW_NVTX_TEXT_ID, &id) == TW_VALUE_GIVEN)
		return meaning_of_id(p, id, meaning);
	*meaning = (struct meaning){ 0 };
	return 0;
}

/* ---- what is kept */

/* The number of a process; UINT32_MAX: out of memory or too many. */
static uint32_t intern_process(struct tw_nsys_ranges *r, int64_t process)
{
	uint32_t known = tw_ids_get(&r->process_ids, process);

	if (known != TW_IDS_NONE)
		return known;
	if (r->process_count == TW_NSYS_MOST_PROCESSES ||
	    !tw_list_grow(&r->processes, &r->process_capacity, r->process_count,
			  sizeof(*r->processes), r->allocator) ||
	    !tw_ids_put(&r->process_ids, process, (uint32_t)r->process_count, r->allocator))
		return UINT32_MAX;
	r->processes[r->process_count] = (struct tw_nsys_process){ .process = process };
	return (uint32_t)r->process_count++;
}

static int no_process(struct tw_nsys_ranges *r, struct trawl_error *err)
{
	if (r->process_count == TW_NSYS_MOST_PROCESSES)
		return trawl_error_set(err, TRAWL_ELIMIT, "more than %d processes have ranges",
				       TW_NSYS_MOST_PROCESSES);
	return tw_no_memory(err);
}

/* The label of a process is its first one; one from before the capture only when it has no other. */
static bool keep_label(struct tw_nsys_ranges *r, struct tw_nsys_process *process, const char *text,
		       size_t len, int64_t start, int64_t rank)
{
	bool before = (start >= 0) == (process->label_start >= 0) ? start < process->label_start :
								    start >= 0;

	if (process->label && !before)
		return true;
	process->label = tw_arena_copy(&r->arena, text, len);
	process->label_start = start;
	process->rank = rank;
	return process->label != NULL;
}

static bool keep_window(struct tw_nsys_ranges *r, const struct tw_nsys_range *range)
{
	if (!tw_list_grow(&r->windows, &r->window_capacity, r->window_count, sizeof(*range),
			  r->allocator))
		return false;
	r->windows[r->window_count++] = *range;
	return true;
}

static bool keep_marker(struct tw_nsys_ranges *r, const struct tw_nsys_marker *marker)
{
	if (!tw_list_grow(&r->markers, &r->marker_capacity, r->marker_count, sizeof(*marker),
			  r->allocator))
		return false;
	r->markers[r->marker_count++] = *marker;
	return true;
}

static int keep(struct part *p, const struct tw_scan *scan, const struct tw_nvtx_row *row,
		const struct meaning *meaning, uint32_t process)
{
	struct tw_nsys_ranges *r = &p->found;
	bool kept = true;
	const char *text;
	size_t len;

	if (meaning->label) {
		int64_t id = 0;

		text = tw_scan_text(scan, TW_NVTX_TEXT, &len);
		if (!text && tw_scan_integer(scan, TW_NVTX_TEXT_ID, &id) == TW_VALUE_GIVEN)
			text = tw_nsys_text(p->part.database, id, &len);
		kept = text && keep_label(r, &r->processes[process], text, len, row->start_ns,
					  meaning->rank);
		r->label_count++;
	}
	if (kept && row->range && meaning->window && row->start_ns >= 0)
		kept = keep_window(r, &(struct tw_nsys_range){ row->start_ns, row->end_ns,
							       tw_scan_rowid(scan), process,
							       meaning->window - 1 });
	if (kept && row->range && meaning->mark)
		kept = keep_marker(r, &(struct tw_nsys_marker){ row->start_ns, row->end_ns,
								(uint32_t)(row->gid & 0xffffff),
								(uint16_t)process, meaning->mark });
	if (row->range && row->end_ns == TW_NSYS_OPEN && (meaning->window || meaning->mark))
		r->open = true;
	return kept ? 0 : tw_nsys_no_memory(&p->part);
}

/* ---- the scan */

static bool begin(struct part *p)
{
	const struct trawl_allocator *a = p->part.allocator;

	p->found.allocator = a;
	tw_arena_init(&p->found.arena, a);
	tw_str_init(&p->value, a);
	tw_str_init(&p->purpose, a);
	p->found.end_ns = INT64_MIN;
	p->recent = tw_alloc_array(a, RECENT, sizeof(*p->recent));
	return tw_matcher_init(&p->matcher, p->part.context, a) && p->recent;
}

static int on_row(void *part, const struct tw_scan *scan)
{
	struct part *p = part;
	struct tw_nsys_ranges *r = &p->found;
	struct meaning meaning;
	struct tw_nvtx_row row;
	uint32_t process = p->last_process;
	int64_t last;
	int status;

	if (!p->recent && !begin(p))
		return tw_nsys_no_memory(&p->part);
	if (tw_nvtx_read(&p->part, scan, &row) != TW_NVTX_EVENT)
		return 0;
	last = row.end_ns == TW_NSYS_OPEN ? row.start_ns : row.end_ns;
	if (last > r->end_ns)
		r->end_ns = last;
	if (process >= r->process_count ||
	    r->processes[process].process != tw_nsys_process(row.gid, false)) {
		process = intern_process(r, tw_nsys_process(row.gid, false));
		if (process == UINT32_MAX)
			return no_process(r, &p->part.error);
		p->last_process = process;
	}
	status = meaning_of_row(p, scan, &meaning);
	if (status || !(meaning.label || meaning.window || meaning.mark))
		return status;
	return keep(p, scan, &row, &meaning, process);
}

static int on_end(void *part)
{
	struct part *p = part;

	/* What only reading needs. */
	tw_matcher_release(&p->matcher);
	if (p->recent)
		tw_free(p->part.allocator, p->recent, RECENT * sizeof(*p->recent));
	tw_free(p->part.allocator, p->by_id, p->by_id_capacity * sizeof(*p->by_id));
	tw_ids_release(&p->text_ids, p->part.allocator);
	tw_str_release(&p->value);
	tw_str_release(&p->purpose);
	p->recent = NULL;
	p->by_id = NULL;
	p->by_id_capacity = 0;
	return 0;
}

static void release_part(void *part)
{
	struct part *p = part;

	if (!p->found.allocator)
		return;
	on_end(p);
	tw_nsys_ranges_release(&p->found);
}

/* ---- parts put together, in their order */

static bool take(struct tw_nsys_ranges *to, const struct tw_nsys_ranges *from,
		 const uint32_t *processes, const uint16_t *marks)
{
	size_t i;

	for (i = 0; i < from->window_count; i++) {
		struct tw_nsys_range range = from->windows[i];

		range.process = processes[range.process];
		if (!keep_window(to, &range))
			return false;
	}
	for (i = 0; i < from->marker_count; i++) {
		struct tw_nsys_marker marker = from->markers[i];

		marker.process = (uint16_t)processes[marker.process];
		marker.mark = marks[marker.mark - 1];
		if (!keep_marker(to, &marker))
			return false;
	}
	return true;
}

static int join_part(struct tw_nsys_ranges *to, const struct tw_nsys_ranges *from,
		     uint32_t *processes, uint16_t *marks, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < from->process_count; i++) {
		const struct tw_nsys_process *process = &from->processes[i];
		uint32_t number = intern_process(to, process->process);

		if (number == UINT32_MAX)
			return no_process(to, err);
		processes[i] = number;
		if (process->label &&
		    !keep_label(to, &to->processes[number], process->label, strlen(process->label),
				process->label_start, process->rank))
			return tw_no_memory(err);
	}
	for (i = 0; i < from->mark_count; i++) {
		marks[i] = (uint16_t)intern_mark(to, from->marks[i].stage, from->marks[i].purpose);
		if (!marks[i] && to->mark_count < TW_NSYS_MOST_MARKS)
			return tw_no_memory(err);
		if (!marks[i])
			return trawl_error_set(err, TRAWL_ELIMIT,
					       "the rules make more than %d different stages",
					       TW_NSYS_MOST_MARKS);
	}
	to->label_count += from->label_count;
	to->open = to->open || from->open;
	if (from->end_ns > to->end_ns)
		to->end_ns = from->end_ns;
	return take(to, from, processes, marks) ? 0 : tw_no_memory(err);
}

static int join(struct tw_nsys_ranges *ranges, struct part *parts, size_t count,
		struct trawl_error *err)
{
	const struct trawl_allocator *a = ranges->allocator;
	uint32_t *processes = tw_alloc_array(a, TW_NSYS_MOST_PROCESSES, sizeof(*processes));
	uint16_t *marks = tw_alloc_array(a, TW_NSYS_MOST_MARKS, sizeof(*marks));
	int status = processes && marks ? 0 : tw_no_memory(err);
	size_t i;

	for (i = 0; i < count && !status; i++) {
		if (parts[i].found.allocator)
			status = join_part(ranges, &parts[i].found, processes, marks, err);
		release_part(&parts[i]);
		parts[i].found.allocator = NULL;
	}
	tw_free(a, processes, TW_NSYS_MOST_PROCESSES * sizeof(*processes));
	tw_free(a, marks, TW_NSYS_MOST_MARKS * sizeof(*marks));
	return status;
}

int tw_nsys_ranges_read(struct tw_nsys_ranges *ranges, struct tw_nsys_source *source,
			const struct tw_nsys_rules *rules, struct trawl_error *err)
{
	const struct tw_nsys_scan scan = {
		.table = "NVTX_EVENTS",
		.columns = tw_nvtx_columns,
		.column_count = TW_NVTX_COLUMNS,
		.context = rules,
		.part_size = sizeof(struct part),
		.row = on_row,
		.finish = on_end,
		.release = release_part,
	};
	size_t count;
	void *parts;
	int status;

	*ranges = (struct tw_nsys_ranges){ .allocator = source->allocator, .end_ns = INT64_MIN };
	tw_arena_init(&ranges->arena, source->allocator);
	status = tw_nsys_scan(source, &scan, &parts, &count, err);
	if (!status)
		status = join(ranges, parts, count, err);
	tw_nsys_scan_free(source, &scan, parts, count);
	return status;
}

void tw_nsys_ranges_release(struct tw_nsys_ranges *r)
{
	const struct trawl_allocator *a = r->allocator;

	tw_free(a, r->processes, r->process_capacity * sizeof(*r->processes));
	tw_free(a, r->marks, r->mark_capacity * sizeof(*r->marks));
	tw_free(a, r->windows, r->window_capacity * sizeof(*r->windows));
	tw_free(a, r->markers, r->marker_capacity * sizeof(*r->markers));
	tw_ids_release(&r->process_ids, a);
	tw_arena_release(&r->arena);
	*r = (struct tw_nsys_ranges){ .allocator = a };
}

int tw_nsys_range_name(struct tw_nsys_source *source, struct tw_arena *arena, int64_t row,
		       const char **name, struct trawl_error *err)
{
	struct tw_scan *scan;
	const char *text = NULL;
	int64_t id;
	size_t len = 0;
	int status = tw_scan_open(&scan, source->database, "NVTX_EVENTS", tw_nvtx_columns,
				  TW_NVTX_COLUMNS, row, row, err);

	*name = NULL;
	if (status)
		return status;
	status = tw_scan_next(scan, err);
	if (status > 0) {
		text = tw_scan_text(scan, TW_NVTX_TEXT, &len);
		if (!text && tw_scan_integer(scan, TW_NVTX_TEXT_ID, &id) == TW_VALUE_GIVEN)
			text = tw_nsys_text(source->database, id, &len);
		if (text && !(*name = tw_arena_copy(arena, text, len)))
			status = tw_no_memory(err);
	}
	tw_scan_close(scan);
	return status < 0 ? status : 0;
}
