#include "nsys/ranges.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* What a name means. */
struct meaning {
	uint32_t window; /* rule + 1, 0: none */
	uint16_t mark;	 /* 0: none */
	bool label;
	int64_t rank;
};

struct reading {
	const struct tw_nsys_rules *rules;
	struct tw_nsys_ranges *ranges; /* of all parts */
};

struct part {
	struct tw_nsys_part part;
	struct tw_matcher matcher;
	struct tw_str value, purpose;
	/* By the ids of texts, which part.known has, and by hashes of others: names repeat. */
	TW_LIST(struct meaning) meanings;
	struct tw_ids by_text;
	struct tw_nsys_ranges found;
	uint32_t last_process;
};

#define MARKERS (1u << TW_NSYS_STAGE | 1u << TW_NSYS_PURPOSE)
#define ALL (MARKERS | 1u << TW_NSYS_LABEL | 1u << TW_NSYS_WINDOW)

/* ---- rows */

static bool is_mark(int64_t type)
{
	return type == TW_NVTX_MARK || (type >= TW_NVTX_MARK_TEXT && type < TW_NVTX_PUSH_POP_TEXT);
}

static bool is_range(int64_t type)
{
	return type == TW_NVTX_PUSH_POP || type == TW_NVTX_START_END ||
	       type == TW_NVTX_PUSH_POP_TEXT || type == TW_NVTX_START_END_TEXT;
}

bool tw_nvtx_read(struct tw_nsys_part *part, struct tw_nvtx_row *row)
{
	const uint32_t needed = TW_BIT(TW_NVTX_START) | TW_BIT(TW_NVTX_THREAD);
	const struct tw_table_part *rows = &part->rows;
	const int64_t *v = rows->values;
	int64_t type = tw_part_has(rows, TW_NVTX_TYPE) ? v[TW_NVTX_TYPE] : TW_NVTX_PUSH_POP;

	row->range = is_range(type);
	if (!row->range && !is_mark(type))
		return false;
	row->start_ns = v[TW_NVTX_START];
	row->end_ns = v[TW_NVTX_END];
	row->process = tw_nsys_process(v[TW_NVTX_THREAD]);
	row->tid = tw_nsys_tid(v[TW_NVTX_THREAD]);
	if ((rows->given & needed) != needed || rows->odd & TW_BIT(TW_NVTX_END) ||
	    !tw_nsys_is_time(row->start_ns) || !tw_nsys_is_time(row->end_ns)) {
		tw_nsys_odd(part);
		return false;
	}
	if (!tw_part_has(rows, TW_NVTX_END))
		row->end_ns = row->range ? TW_NSYS_OPEN : row->start_ns;
	else if (row->end_ns < row->start_ns)
		row->end_ns = row->start_ns;
	return true;
}

/* ---- what a name means */

static int too_many_marks(struct part *p, const struct tw_nsys_rule *rule)
{
	return trawl_error_set(&p->part.rows.error, TRAWL_ELIMIT,
			       "rules '%s': '%.100s' makes more than %d stages; use one stage per "
			       "kind of work",
			       p->matcher.rules->name, rule->pattern, TW_NSYS_MOST_MARKS);
}

/* The number of a mark, 0: out of memory or too many. */
static uint32_t intern_mark(struct tw_nsys_ranges *r, const char *stage, const char *purpose)
{
	struct tw_nsys_mark mark;
	uint32_t i;

	for (i = 0; i < r->marks.count; i++)
		if (!strcmp(r->marks.at[i].stage, stage) &&
		    !strcmp(r->marks.at[i].purpose, purpose))
			return i + 1;
	if (r->marks.count == TW_NSYS_MOST_MARKS)
		return 0;
	mark.stage = tw_arena_copy(&r->arena, stage, strlen(stage));
	mark.purpose = tw_arena_copy(&r->arena, purpose, strlen(purpose));
	return mark.stage && mark.purpose && TW_LIST_ADD(&r->marks, &mark, r->allocator) ? i + 1 :
											   0;
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
		return p->found.marks.count == TW_NSYS_MOST_MARKS ?
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

/* The number of the meaning of a text, which is new; UINT32_MAX: failed, as *status says. */
static uint32_t add_meaning(struct part *p, struct tw_ids *ids, int64_t key, const char *text,
			    size_t len, int *status)
{
	const struct trawl_allocator *a = p->part.rows.allocator;
	uint32_t number = (uint32_t)p->meanings.count;
	struct meaning meaning = { 0 };

	*status = text && len ? find_meaning(p, text, len, &meaning) : 0;
	if (!*status &&
	    (!TW_LIST_ADD(&p->meanings, &meaning, a) || !tw_ids_put(ids, key, number, a)))
		*status = tw_nsys_no_memory(&p->part);
	return *status ? UINT32_MAX : number;
}

static int meaning_of_row(struct part *p, struct meaning *meaning)
{
	const struct tw_table_part *rows = &p->part.rows;
	struct tw_ids *ids = &p->part.known;
	size_t len;
	const char *text = tw_scan_text(rows->scan, TW_NVTX_TEXT, &len);
	uint32_t known;
	int64_t key;
	int status = 0;

	*meaning = (struct meaning){ 0 };
	if (text) {
		if (!len || !tw_matcher_might(&p->matcher, ALL, text, len))
			return 0;
		ids = &p->by_text;
		key = (int64_t)tw_hash_bytes(text, len);
	} else if (tw_scan_integer(rows->scan, TW_NVTX_TEXT_ID, &key) != TW_VALUE_GIVEN) {
		return 0;
	}
	known = tw_ids_get(ids, key);
	if (known == TW_IDS_NONE) {
		if (!text)
			text = tw_nsys_text(rows->database, key, &len);
		known = add_meaning(p, ids, key, text, len, &status);
	}
	if (!status)
		*meaning = p->meanings.at[known];
	return status;
}

/* ---- what is kept */

/* The number of a process; UINT32_MAX: out of memory or too many. */
static uint32_t intern_process(struct tw_nsys_ranges *r, int64_t process)
{
	uint32_t known = tw_ids_get(&r->process_ids, process);

	if (known != TW_IDS_NONE)
		return known;
	if (r->processes.count == TW_NSYS_MOST_PROCESSES ||
	    !tw_ids_put(&r->process_ids, process, (uint32_t)r->processes.count, r->allocator) ||
	    !TW_LIST_ADD(&r->processes, &(struct tw_nsys_process){ .process = process },
			 r->allocator))
		return UINT32_MAX;
	return (uint32_t)r->processes.count - 1;
}

static int no_process(struct tw_nsys_ranges *r, struct trawl_error *err)
{
	if (r->processes.count == TW_NSYS_MOST_PROCESSES)
		return trawl_error_set(err, TRAWL_ELIMIT, "more than %d processes have ranges",
				       TW_NSYS_MOST_PROCESSES);
	return tw_no_memory(err);
}

static bool keep_label(struct tw_nsys_ranges *r, uint32_t number, const char *text, size_t len,
		       int64_t start, int64_t rank)
{
	struct tw_nsys_process *process = &r->processes.at[number];

	if (process->label && !tw_nsys_is_better_label(start, process->label_start))
		return true;
	process->label = tw_arena_copy(&r->arena, text, len);
	process->label_start = start;
	process->rank = rank;
	return process->label != NULL;
}

static int keep(struct part *p, const struct tw_nvtx_row *row, const struct meaning *meaning,
		uint32_t process)
{
	struct tw_nsys_ranges *r = &p->found;
	bool kept = true;
	const char *text;
	size_t len;

	if (meaning->label) {
		text = tw_nvtx_text(p->part.rows.database, p->part.rows.scan, &len);
		kept = text && keep_label(r, process, text, len, row->start_ns, meaning->rank);
		r->label_count++;
	}
	if (kept && row->range && meaning->window && row->start_ns >= 0)
		kept = TW_LIST_ADD(&r->windows,
				   &((struct tw_nsys_range){ row->start_ns, row->end_ns,
							     p->part.rows.row, process,
							     meaning->window - 1 }),
				   r->allocator);
	if (kept && row->range && meaning->mark)
		kept = TW_LIST_ADD(&r->markers,
				   &((struct tw_nsys_marker){ row->start_ns, row->end_ns, row->tid,
							      (uint16_t)process, meaning->mark }),
				   r->allocator);
	if (row->range && row->end_ns == TW_NSYS_OPEN && (meaning->window || meaning->mark))
		r->open = true;
	return kept ? 0 : tw_nsys_no_memory(&p->part);
}

/* ---- the scan */

static int begin(void *part)
{
	struct part *p = part;
	const struct reading *reading = p->part.context;
	const struct trawl_allocator *a = p->part.rows.allocator;

	p->found.allocator = a;
	tw_arena_init(&p->found.arena, a);
	tw_str_init(&p->value, a);
	tw_str_init(&p->purpose, a);
	p->found.end_ns = INT64_MIN;
	return tw_matcher_init(&p->matcher, reading->rules, a) ? 0 : tw_nsys_no_memory(&p->part);
}

static int on_row(void *part)
{
	struct part *p = part;
	struct tw_nsys_ranges *r = &p->found;
	struct meaning meaning;
	struct tw_nvtx_row row;
	uint32_t process = p->last_process;
	int64_t last;
	int status;

	if (!tw_nvtx_read(&p->part, &row))
		return 0;
	last = row.end_ns == TW_NSYS_OPEN ? row.start_ns : row.end_ns;
	if (last > r->end_ns)
		r->end_ns = last;
	if (process >= r->processes.count || r->processes.at[process].process != row.process) {
		process = intern_process(r, row.process);
		if (process == UINT32_MAX)
			return no_process(r, &p->part.rows.error);
		p->last_process = process;
	}
	status = meaning_of_row(p, &meaning);
	if (status || !(meaning.label || meaning.window || meaning.mark))
		return status;
	return keep(p, &row, &meaning, process);
}

static void release(void *part)
{
	tw_matcher_release(&((struct part *)part)->matcher);
}

/* ---- parts put together, in their order */

static bool take(struct tw_nsys_ranges *to, const struct tw_nsys_ranges *from,
		 const uint32_t *processes, const uint16_t *marks)
{
	bool good = true;
	size_t i;

	for (i = 0; i < from->windows.count && good; i++) {
		struct tw_nsys_range range = from->windows.at[i];

		range.process = processes[range.process];
		good = TW_LIST_ADD(&to->windows, &range, to->allocator);
	}
	for (i = 0; i < from->markers.count && good; i++) {
		struct tw_nsys_marker marker = from->markers.at[i];

		marker.process = (uint16_t)processes[marker.process];
		marker.mark = marks[marker.mark - 1];
		good = TW_LIST_ADD(&to->markers, &marker, to->allocator);
	}
	return good;
}

static int join_part(struct tw_nsys_ranges *to, const struct tw_nsys_ranges *from,
		     uint32_t *processes, uint16_t *marks, struct trawl_error *err)
{
	size_t i;

	for (i = 0; i < from->processes.count; i++) {
		const struct tw_nsys_process *process = &from->processes.at[i];
		uint32_t number = intern_process(to, process->process);

		if (number == UINT32_MAX)
			return no_process(to, err);
		processes[i] = number;
		if (process->label &&
		    !keep_label(to, number, process->label, strlen(process->label),
				process->label_start, process->rank))
			return tw_no_memory(err);
	}
	for (i = 0; i < from->marks.count; i++) {
		marks[i] = (uint16_t)intern_mark(to, from->marks.at[i].stage,
						 from->marks.at[i].purpose);
		if (!marks[i] && to->marks.count < TW_NSYS_MOST_MARKS)
			return tw_no_memory(err);
		if (!marks[i])
			return trawl_error_set(err, TRAWL_ELIMIT, "rules make more than %d stages",
					       TW_NSYS_MOST_MARKS);
	}
	to->label_count += from->label_count;
	to->open = to->open || from->open;
	if (from->end_ns > to->end_ns)
		to->end_ns = from->end_ns;
	return take(to, from, processes, marks) ? 0 : tw_no_memory(err);
}

static int join(void *part)
{
	struct part *p = part;
	const struct reading *reading = p->part.context;
	const struct trawl_allocator *a = p->part.rows.allocator;
	uint32_t *processes = tw_alloc_array(a, p->found.processes.count + 1, sizeof(*processes));
	uint16_t *marks = tw_alloc_array(a, p->found.marks.count + 1, sizeof(*marks));

	return processes && marks ? join_part(reading->ranges, &p->found, processes, marks,
					      &p->part.rows.error) :
				    tw_nsys_no_memory(&p->part);
}

int tw_nsys_ranges_read(struct tw_nsys_ranges *ranges, struct tw_nsys_source *source,
			const struct tw_nsys_rules *rules, struct trawl_error *err)
{
	static const struct tw_table_reader reader = {
		.table = TW_NSYS_RANGES,
		.columns = tw_nvtx_columns,
		.column_count = TW_NVTX_TEXT + 1,
		.integers = TW_NVTX_NUMBERS,
		.part_size = sizeof(struct part),
		.begin = begin,
		.row = on_row,
		.join = join,
		.release = release,
	};
	struct reading reading = { rules, ranges };

	*ranges = (struct tw_nsys_ranges){ .allocator = source->allocator, .end_ns = INT64_MIN };
	tw_arena_init(&ranges->arena, source->allocator);
	return tw_nsys_scan(source, &reader, &reading, err);
}

int tw_nsys_range_name(struct tw_nsys_source *source, struct tw_arena *arena, int64_t row,
		       const char **name, struct trawl_error *err)
{
	struct tw_scan *scan;
	const char *text;
	size_t len;
	int status = tw_scan_open(&scan, source->database, TW_NSYS_RANGES, tw_nvtx_columns,
				  TW_NVTX_TEXT + 1, row, row, err);

	*name = NULL;
	if (status)
		return status;
	status = tw_scan_next(scan, err);
	text = status > 0 ? tw_nvtx_text(source->database, scan, &len) : NULL;
	if (text && !(*name = tw_arena_copy(arena, text, len)))
		status = tw_no_memory(err);
	tw_scan_close(scan);
	return status < 0 ? status : 0;
}
