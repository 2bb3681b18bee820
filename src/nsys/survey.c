#define _GNU_SOURCE
#include "nsys/survey.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "data/limits.h"
#include "data/tables.h"
#include "text/scan.h"

#include <string.h>

/*
 * Max distinct names of a part: a capture with more kinds of ranges than this
 * in a few hundred thousand has none that is its steady state among the late ones.
 */
#define MOST_NAMES ((size_t)1 << 17)

struct name {
	uint64_t hash;
	int64_t process;
	int64_t time_ns; /* of those that the program set: no library's, no operations */
	uint64_t count;
	uint32_t presets; /* bits: those with rules that match it */
};

struct names {
	TW_LIST(struct name) list;
	struct tw_ids ids; /* into it */
	bool full;	   /* there are more */
};

struct part {
	struct tw_nsys_part part;
	struct tw_matcher *presets;
	struct names names;
	struct tw_str text;
};

#define STEADY (1u << TW_NSYS_WINDOW | 1u << TW_NSYS_STAGE | 1u << TW_NSYS_PURPOSE)

/* ---- names without digits */

static uint64_t hash_without_digits(const char *text, size_t len, struct tw_str *buffer)
{
	size_t i;

	tw_str_clear(buffer);
	for (i = 0; i < len; i++)
		if (!tw_is_digit(text[i]))
			tw_str_add_char(buffer, text[i]);
		else if (!i || !tw_is_digit(text[i - 1]))
			tw_str_add_char(buffer, '0');
	/* 0 means none. */
	return buffer->len ? tw_hash_bytes(buffer->ptr, buffer->len) | 1 : 1;
}

/* Where the sums of a name are; NULL: no room, *failed when out of memory. */
static struct name *find_name(struct names *names, uint64_t hash, int64_t process,
			      const struct trawl_allocator *a, bool *failed)
{
	int64_t key = (int64_t)tw_hash_mix(hash, (uint64_t)process ^ tw_hash_secret[0]);
	uint32_t known = tw_ids_get(&names->ids, key);
	struct name name = { .hash = hash, .process = process };

	if (known != TW_IDS_NONE)
		return &names->list.at[known];
	names->full |= names->list.count >= MOST_NAMES;
	if (names->full)
		return NULL;
	known = (uint32_t)names->list.count;
	*failed = !TW_LIST_ADD(&names->list, &name, a) || !tw_ids_put(&names->ids, key, known, a);
	return *failed ? NULL : &names->list.at[known];
}

/* ---- the scan */

struct reading {
	struct tw_nsys_survey *survey;
	struct tw_nsys_rules *presets;
	struct names names; /* of all parts */
};

static int begin(void *part)
{
	struct part *p = part;
	const struct trawl_allocator *a = p->part.rows.allocator;
	const struct reading *reading = p->part.context;
	size_t i;
	bool made;

	tw_str_init(&p->text, a);
	p->presets = tw_alloc_array(a, tw_nsys_preset_count, sizeof(*p->presets));
	made = p->presets != NULL;
	for (i = 0; made && i < tw_nsys_preset_count; i++)
		made = tw_matcher_init(&p->presets[i], &reading->presets[i], a);
	return made ? 0 : tw_nsys_no_memory(&p->part);
}

/* Which presets have rules for a name; asked once for all names that differ in digits alone. */
static uint32_t match_presets(const struct part *p, const char *text, size_t len)
{
	uint32_t presets = 0;
	size_t i;

	for (i = 0; i < tw_nsys_preset_count; i++) {
		const struct tw_matcher *m = &p->presets[i];

		if (tw_matcher_might(m, STEADY, text, len) &&
		    (tw_matcher_find(m, TW_NSYS_STAGE, text, len, NULL) ||
		     tw_matcher_find(m, TW_NSYS_PURPOSE, text, len, NULL) ||
		     tw_matcher_find(m, TW_NSYS_WINDOW, text, len, NULL)))
			presets |= 1u << i;
	}
	return presets;
}

/* As emit_nvtx of PyTorch names operations: they are repeated, and no steady state. */
static bool is_operation(const char *text, size_t len)
{
	return memmem(text, len, ", op_id = ", 10) || memmem(text, len, ", seq = ", 8);
}

/* Whether the program's author set it: not a library, whose ranges have domains of their own. */
static bool is_of_program(const struct tw_scan *scan, const char *text, size_t len)
{
	int64_t domain;

	return (tw_scan_integer(scan, TW_NVTX_DOMAIN, &domain) != TW_VALUE_GIVEN || !domain) &&
	       !is_operation(text, len);
}

/* Whether a row is a range that begins and ends in the capture. */
static bool read_range(struct tw_nsys_part *part, struct tw_nvtx_row *row)
{
	return tw_nvtx_read(part, row) && row->range && row->start_ns >= 0 &&
	       row->end_ns != TW_NSYS_OPEN;
}

/* NULL: it has none. */
static const char *name_of(const struct tw_nsys_part *part, size_t *len)
{
	const char *text = tw_nvtx_text(part->rows.database, part->rows.scan, len);

	return text && *len ? text : NULL;
}

static void add_time(struct name *name, int64_t time_ns)
{
	if (__builtin_add_overflow(name->time_ns, time_ns, &name->time_ns))
		name->time_ns = INT64_MAX;
}

static int on_row(void *part)
{
	struct part *p = part;
	struct tw_nvtx_row row;
	struct name *name;
	bool failed = false;
	uint64_t hash;
	size_t len;
	const char *text = read_range(&p->part, &row) ? name_of(&p->part, &len) : NULL;

	if (!text)
		return 0;
	hash = hash_without_digits(text, len, &p->text);
	name = find_name(&p->names, hash, row.process, p->part.rows.allocator, &failed);
	if (failed || p->text.failed)
		return tw_nsys_no_memory(&p->part);
	if (!name)
		return 0;
	if (!name->count++)
		name->presets = match_presets(p, text, len);
	if (is_of_program(p->part.rows.scan, text, len))
		add_time(name, row.end_ns - row.start_ns);
	return 0;
}

static int join(void *part)
{
	struct part *p = part;
	struct reading *reading = p->part.context;
	struct names *all = &reading->names;
	bool failed = false;
	size_t i, k;

	for (i = 0; i < p->names.list.count; i++) {
		const struct name *from = &p->names.list.at[i];
		struct name *to;

		for (k = 0; k < tw_nsys_preset_count; k++)
			if (from->presets & 1u << k)
				reading->survey->matched[k] += from->count;
		to = find_name(all, from->hash, from->process, reading->survey->allocator, &failed);
		if (failed)
			return tw_nsys_no_memory(&p->part);
		if (!to)
			continue;
		to->count += from->count;
		add_time(to, from->time_ns);
	}
	all->full |= p->names.full;
	return 0;
}

static void release(void *part)
{
	struct part *p = part;
	size_t i;

	for (i = 0; p->presets && i < tw_nsys_preset_count; i++)
		tw_matcher_release(&p->presets[i]);
}

/* ---- what it comes to */

/* Of each process what takes most time, the first of equals. */
static bool choose(struct tw_nsys_survey *s, const struct names *all)
{
	size_t i;

	for (i = 0; i < all->list.count; i++) {
		const struct name *name = &all->list.at[i];
		struct tw_nsys_busiest busiest = { name->hash, name->time_ns };
		uint32_t known = tw_ids_get(&s->process_ids, name->process);

		if (name->count < TW_LIMIT_STEADY_REPEATED || !name->time_ns)
			continue;
		if (known != TW_IDS_NONE) {
			if (name->time_ns > s->busiest.at[known].time_ns)
				s->busiest.at[known] = busiest;
		} else if (!tw_ids_put(&s->process_ids, name->process, (uint32_t)s->busiest.count,
				       s->allocator) ||
			   !TW_LIST_ADD(&s->busiest, &busiest, s->allocator)) {
			return false;
		}
	}
	return true;
}

void tw_nsys_survey_limit(struct tw_nsys_survey *survey, const struct tw_nsys_workers *workers)
{
	size_t i;

	for (i = 0; i < workers->list.count; i++) {
		const struct tw_nsys_work *work = &workers->list.at[i];
		uint32_t known = tw_ids_get(&survey->process_ids, work->process);

		if (known != TW_IDS_NONE &&
		    survey->busiest.at[known].time_ns <
			    (work->last_ns - work->first_ns) / TW_LIMIT_STEADY_SHARE)
			survey->busiest.at[known].name = 0;
	}
}

int tw_nsys_survey_read(struct tw_nsys_survey *survey, struct tw_nsys_source *source,
			struct trawl_error *err)
{
	static const struct tw_table_reader reader = {
		.table = TW_NSYS_RANGES,
		.columns = tw_nvtx_columns,
		.column_count = TW_NVTX_DOMAIN + 1,
		.integers = TW_NVTX_NUMBERS,
		.part_size = sizeof(struct part),
		.begin = begin,
		.row = on_row,
		.join = join,
		.release = release,
	};
	const struct trawl_allocator *a = source->allocator;
	struct reading reading = { .survey = survey };
	int status = 0;
	size_t i;

	*survey = (struct tw_nsys_survey){ .allocator = a };
	survey->matched = tw_alloc_array(a, tw_nsys_preset_count, sizeof(*survey->matched));
	reading.presets = tw_alloc_array(a, tw_nsys_preset_count, sizeof(*reading.presets));
	if (!survey->matched || !reading.presets)
		return tw_no_memory(err);
	for (i = 0; i < tw_nsys_preset_count && !status; i++)
		status = tw_nsys_rules_open(&reading.presets[i], tw_nsys_presets[i].name, a, err);
	if (!status)
		status = tw_nsys_scan(source, &reader, &reading, err);
	if (reading.names.full)
		tw_str_note(&source->troubles,
			    "over %zu kinds of ranges: later ones are not searched for a steady "
			    "state",
			    MOST_NAMES);
	return status || choose(survey, &reading.names) ? status : tw_no_memory(err);
}

const char *tw_nsys_survey_preset(const struct tw_nsys_survey *survey)
{
	size_t best = 0, i;

	for (i = 1; i < tw_nsys_preset_count; i++)
		if (survey->matched[i] > survey->matched[best])
			best = i;
	return survey->matched[best] ? tw_nsys_presets[best].name : NULL;
}

/* ---- the instances of the busiest ranges */

struct finding {
	const struct tw_nsys_survey *survey;
	struct tw_nsys_ranges *ranges;
	uint32_t *numbers; /* that processes of the survey have in ranges */
};

struct instances {
	struct tw_nsys_part part;
	struct tw_str text;
	TW_LIST(struct tw_nsys_range) list;
};

static int begin_instances(void *part)
{
	struct instances *p = part;

	tw_str_init(&p->text, p->part.rows.allocator);
	return 0;
}

static int on_instance(void *part)
{
	struct instances *p = part;
	const struct finding *f = p->part.context;
	struct tw_nvtx_row row;
	struct tw_nsys_range range;
	size_t len;
	uint32_t process = TW_IDS_NONE;
	uint64_t name;
	const char *text;

	if (read_range(&p->part, &row))
		process = tw_ids_get(&f->survey->process_ids, row.process);
	name = process == TW_IDS_NONE ? 0 : f->survey->busiest.at[process].name;
	text = name ? name_of(&p->part, &len) : NULL;
	if (!text || !is_of_program(p->part.rows.scan, text, len) ||
	    hash_without_digits(text, len, &p->text) != name)
		return 0;
	range = (struct tw_nsys_range){ row.start_ns, row.end_ns, p->part.rows.row,
					f->numbers[process], 0 };
	return TW_LIST_ADD(&p->list, &range, p->part.rows.allocator) ? 0 :
								       tw_nsys_no_memory(&p->part);
}

static int join_instances(void *part)
{
	struct instances *p = part;
	struct tw_nsys_ranges *ranges = ((const struct finding *)p->part.context)->ranges;

	return TW_LIST_JOIN(&ranges->windows, &p->list, ranges->allocator) ?
		       0 :
		       tw_nsys_no_memory(&p->part);
}

int tw_nsys_survey_windows(const struct tw_nsys_survey *survey, struct tw_nsys_source *source,
			   struct tw_nsys_ranges *ranges, struct trawl_error *err)
{
	static const struct tw_table_reader reader = {
		.table = TW_NSYS_RANGES,
		.columns = tw_nvtx_columns,
		.column_count = TW_NVTX_DOMAIN + 1,
		.integers = TW_NVTX_NUMBERS,
		.part_size = sizeof(struct instances),
		.begin = begin_instances,
		.row = on_instance,
		.join = join_instances,
	};
	struct finding f = { survey, ranges,
			     tw_alloc_array(source->allocator, survey->busiest.count + 1,
					    sizeof(*f.numbers)) };
	uint32_t i, known;

	if (!f.numbers)
		return tw_no_memory(err);
	for (i = 0; i < ranges->processes.count; i++) {
		known = tw_ids_get(&survey->process_ids, ranges->processes.at[i].process);
		if (known != TW_IDS_NONE)
			f.numbers[known] = i;
	}
	return tw_nsys_scan(source, &reader, &f, err);
}
