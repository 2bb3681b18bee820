#define _GNU_SOURCE
#include "nsys/survey.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/slots.h"
#include "data/limits.h"
#include "data/tables.h"
#include "text/scan.h"
#include "text/utf8.h"

#include <string.h>

/*
 * Names of a part that are told apart, and no more: a capture with more kinds of ranges than this
 * in a few hundred thousand has none that is its steady state among the late ones.
 */
#define MOST_NAMES ((size_t)1 << 17)
#define SHOWN_BYTES 100

struct name {
	uint64_t hash;
	int64_t process;
	int64_t time_ns; /* of those that the program set: no library's, no operations */
	uint64_t count;
	char *text;
	uint32_t presets; /* bits: those with rules that match it */
};

struct names {
	struct name *at; /* open addressing; count 0: free */
	size_t count, capacity;
	bool full; /* there are more */
};

struct part {
	struct tw_nsys_part part;
	struct tw_arena arena;
	struct tw_matcher *presets;
	struct names names;
	struct tw_str text;
	bool begun;
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

static size_t place_of(const struct names *names, uint64_t hash, int64_t process)
{
	return TW_SLOT(i, names->capacity, tw_hash_mix(hash, (uint64_t)process ^ tw_hash_secret[0]),
		       !names->at[i].count ||
			       (names->at[i].hash == hash && names->at[i].process == process));
}

static bool grow(struct names *names, const struct trawl_allocator *a)
{
	struct names more = { .capacity = names->capacity ? names->capacity * 2 : 256 };
	size_t i;

	more.at = tw_alloc_array(a, more.capacity, sizeof(*more.at));
	if (!more.at)
		return false;
	for (i = 0; i < names->capacity; i++)
		if (names->at[i].count)
			more.at[place_of(&more, names->at[i].hash, names->at[i].process)] =
				names->at[i];
	more.count = names->count;
	more.full = names->full;
	tw_free(a, names->at, names->capacity * sizeof(*names->at));
	*names = more;
	return true;
}

/* Where the sums of a name are; NULL: no room, *failed when out of memory. */
static struct name *find_name(struct names *names, uint64_t hash, int64_t process, const char *text,
			      size_t len, struct tw_arena *arena, bool *failed)
{
	char shown[SHOWN_BYTES];
	struct name *name;

	if (names->count * 2 >= names->capacity && !grow(names, arena->allocator)) {
		*failed = true;
		return NULL;
	}
	name = &names->at[place_of(names, hash, process)];
	if (name->count)
		return name;
	names->full |= names->count >= MOST_NAMES;
	if (names->full)
		return NULL;
	tw_cut_into(shown, sizeof(shown), text, len);
	name->text = tw_arena_copy(arena, shown, strlen(shown));
	*failed = !name->text;
	if (*failed)
		return NULL;
	name->hash = hash;
	name->process = process;
	names->count++;
	return name;
}

/* ---- the scan */

enum { DOMAIN = TW_NVTX_COLUMNS, COLUMNS };

/* The columns of every scan of ranges, and the domain. */
static void list_columns(const char *columns[COLUMNS])
{
	memcpy(columns, tw_nvtx_columns, TW_NVTX_COLUMNS * sizeof(*columns));
	columns[DOMAIN] = "domainId";
}

static bool begin(struct part *p)
{
	const struct trawl_allocator *a = p->part.allocator;
	const struct tw_nsys_rules *presets = p->part.context;
	size_t i;
	bool made;

	tw_arena_init(&p->arena, a);
	tw_str_init(&p->text, a);
	p->begun = true;
	p->presets = tw_alloc_array(a, tw_nsys_preset_count, sizeof(*p->presets));
	made = p->presets != NULL;
	for (i = 0; made && i < tw_nsys_preset_count; i++)
		made = tw_matcher_init(&p->presets[i], &presets[i], a);
	return made;
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

/* The name of a row: in it, or in the table of texts. */
static const char *name_of(struct tw_nsys_part *part, const struct tw_scan *scan, size_t *len)
{
	const char *text = tw_scan_text(scan, TW_NVTX_TEXT, len);
	int64_t id;

	if (!text && tw_scan_integer(scan, TW_NVTX_TEXT_ID, &id) == TW_VALUE_GIVEN)
		text = tw_nsys_text(part->database, id, len);
	return text && *len ? text : NULL;
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

	return (tw_scan_integer(scan, DOMAIN, &domain) != TW_VALUE_GIVEN || !domain) &&
	       !is_operation(text, len);
}

static bool starts_in_capture(const struct tw_nvtx_row *row)
{
	return row->range && row->start_ns >= 0 && row->end_ns != TW_NSYS_OPEN;
}

static void add_time(struct name *name, int64_t time_ns)
{
	if (__builtin_add_overflow(name->time_ns, time_ns, &name->time_ns))
		name->time_ns = INT64_MAX;
}

static int on_row(void *part, const struct tw_scan *scan)
{
	struct part *p = part;
	struct tw_nvtx_row row;
	struct name *name;
	const char *text;
	bool failed = false;
	uint64_t hash;
	size_t len;

	if (!p->begun && !begin(p))
		return tw_nsys_no_memory(&p->part);
	if (tw_nvtx_read(&p->part, scan, &row) != TW_NVTX_EVENT || !starts_in_capture(&row))
		return 0;
	text = name_of(&p->part, scan, &len);
	if (!text)
		return 0;
	hash = hash_without_digits(text, len, &p->text);
	name = find_name(&p->names, hash, tw_nsys_process(row.gid, false), text, len, &p->arena,
			 &failed);
	if (failed || p->text.failed)
		return tw_nsys_no_memory(&p->part);
	if (!name)
		return 0;
	if (!name->count++)
		name->presets = match_presets(p, text, len);
	if (is_of_program(scan, text, len))
		add_time(name, row.end_ns - row.start_ns);
	return 0;
}

static void release_part(void *part)
{
	struct part *p = part;
	size_t i;

	if (!p->begun)
		return;
	for (i = 0; p->presets && i < tw_nsys_preset_count; i++)
		tw_matcher_release(&p->presets[i]);
	if (p->presets)
		tw_free(p->part.allocator, p->presets, tw_nsys_preset_count * sizeof(*p->presets));
	tw_free(p->part.allocator, p->names.at, p->names.capacity * sizeof(*p->names.at));
	tw_arena_release(&p->arena);
	tw_str_release(&p->text);
	p->begun = false;
}

/* ---- what it comes to */

static bool join(struct names *all, struct tw_nsys_survey *survey, const struct part *p)
{
	bool failed = false;
	size_t i, k;

	for (i = 0; i < p->names.capacity; i++) {
		const struct name *from = &p->names.at[i];
		struct name *to;

		if (!from->count)
			continue;
		for (k = 0; k < tw_nsys_preset_count; k++)
			if (from->presets & 1u << k)
				survey->matched[k] += from->count;
		to = find_name(all, from->hash, from->process, from->text, strlen(from->text),
			       &survey->arena, &failed);
		if (failed)
			return false;
		if (!to)
			continue;
		to->count += from->count;
		add_time(to, from->time_ns);
	}
	return true;
}

static bool choose(struct tw_nsys_survey *s, const struct names *all)
{
	size_t i;

	for (i = 0; i < all->capacity; i++) {
		const struct name *name = &all->at[i];
		struct tw_nsys_busiest *best;
		uint32_t known;

		if (name->count < TW_LIMIT_STEADY_REPEATED || !name->time_ns)
			continue;
		known = tw_ids_get(&s->process_ids, name->process);
		if (known == TW_IDS_NONE) {
			known = (uint32_t)s->process_count;
			if (!tw_list_grow(&s->busiest, &s->process_capacity, s->process_count,
					  sizeof(*s->busiest), s->allocator) ||
			    !tw_ids_put(&s->process_ids, name->process, known, s->allocator))
				return false;
			s->busiest[s->process_count++] = (struct tw_nsys_busiest){ 0 };
		}
		best = &s->busiest[known];
		/* Of equals the one whose hash is smaller: the order here is not that of the file. */
		if (name->time_ns > best->time_ns ||
		    (name->time_ns == best->time_ns && name->hash < best->name))
			*best = (struct tw_nsys_busiest){ name->hash, name->time_ns, name->count,
							  name->text };
	}
	return true;
}

void tw_nsys_survey_limit(struct tw_nsys_survey *survey, const struct tw_nsys_workers *workers)
{
	size_t i;

	for (i = 0; i < workers->count; i++) {
		const struct tw_nsys_work *work = &workers->at[i];
		uint32_t known = tw_ids_get(&survey->process_ids, work->process);

		if (known != TW_IDS_NONE &&
		    survey->busiest[known].time_ns <
			    (work->last_ns - work->first_ns) / TW_LIMIT_STEADY_SHARE)
			survey->busiest[known].name = 0;
	}
}

static int parse_presets(struct tw_nsys_rules *presets, const struct trawl_allocator *a,
			 struct trawl_error *err)
{
	int status = 0;
	size_t i;

	for (i = 0; i < tw_nsys_preset_count; i++)
		tw_nsys_rules_init(&presets[i], a);
	for (i = 0; i < tw_nsys_preset_count && !status; i++)
		status = tw_nsys_rules_open(&presets[i], tw_nsys_presets[i].name, a, err);
	return status;
}

static int read_all(struct tw_nsys_survey *survey, struct tw_nsys_source *source,
		    const struct tw_nsys_rules *presets, struct trawl_error *err)
{
	const char *columns[COLUMNS];
	const struct tw_nsys_scan scan = {
		.table = "NVTX_EVENTS",
		.columns = columns,
		.column_count = COLUMNS,
		.context = presets,
		.part_size = sizeof(struct part),
		.row = on_row,
		.release = release_part,
	};
	struct names all = { 0 };
	struct part *parts;
	size_t count, i;
	void *made;
	bool good = true;
	int status;

	list_columns(columns);
	status = tw_nsys_scan(source, &scan, &made, &count, err);
	parts = made;
	for (i = 0; i < count && good; i++) {
		good = !parts[i].begun || join(&all, survey, &parts[i]);
		all.full |= parts[i].names.full;
	}
	if (all.full)
		tw_str_addf(&source->troubles,
			    "over %zu kinds of ranges: those that come later are not asked for a "
			    "steady state\n",
			    MOST_NAMES);
	good = good && choose(survey, &all);
	tw_free(survey->allocator, all.at, all.capacity * sizeof(*all.at));
	tw_nsys_scan_free(source, &scan, made, count);
	return status || good ? status : tw_no_memory(err);
}

int tw_nsys_survey_read(struct tw_nsys_survey *survey, struct tw_nsys_source *source,
			struct trawl_error *err)
{
	const struct trawl_allocator *a = source->allocator;
	size_t bytes = tw_nsys_preset_count * sizeof(struct tw_nsys_rules), i;
	struct tw_nsys_rules *presets;
	int status;

	*survey = (struct tw_nsys_survey){ .allocator = a };
	tw_arena_init(&survey->arena, a);
	survey->matched = tw_alloc_array(a, tw_nsys_preset_count, sizeof(*survey->matched));
	presets = tw_alloc_array(a, tw_nsys_preset_count, sizeof(*presets));
	if (!survey->matched || !presets) {
		tw_free(a, presets, bytes);
		return tw_no_memory(err);
	}
	status = parse_presets(presets, a, err);
	if (!status)
		status = read_all(survey, source, presets, err);
	for (i = 0; i < tw_nsys_preset_count; i++)
		tw_nsys_rules_release(&presets[i]);
	tw_free(a, presets, bytes);
	return status;
}

void tw_nsys_survey_release(struct tw_nsys_survey *s)
{
	tw_free(s->allocator, s->busiest, s->process_capacity * sizeof(*s->busiest));
	tw_free(s->allocator, s->matched, tw_nsys_preset_count * sizeof(*s->matched));
	tw_ids_release(&s->process_ids, s->allocator);
	tw_arena_release(&s->arena);
	*s = (struct tw_nsys_survey){ .allocator = s->allocator };
}

const char *tw_nsys_survey_preset(const struct tw_nsys_survey *survey)
{
	size_t best = 0, i;

	for (i = 1; i < tw_nsys_preset_count; i++)
		if (survey->matched[i] > survey->matched[best])
			best = i;
	return survey->matched[best] ? tw_nsys_presets[best].name : NULL;
}

const struct tw_nsys_busiest *tw_nsys_survey_busiest(const struct tw_nsys_survey *survey,
						     int64_t process)
{
	uint32_t known = tw_ids_get(&survey->process_ids, process);

	return known == TW_IDS_NONE || !survey->busiest[known].name ? NULL :
								      &survey->busiest[known];
}

/* ---- the instances of the busiest ranges */

struct instances {
	struct tw_nsys_part part;
	struct tw_str text;
	struct tw_nsys_range *at; /* `process` is into survey->busiest */
	size_t count, capacity;
};

static int on_instance(void *part, const struct tw_scan *scan)
{
	struct instances *p = part;
	const struct tw_nsys_survey *survey = p->part.context;
	struct tw_nvtx_row row;
	uint32_t process;
	const char *text;
	size_t len;

	if (!p->text.allocator)
		tw_str_init(&p->text, p->part.allocator);
	if (tw_nvtx_read(&p->part, scan, &row) != TW_NVTX_EVENT || !starts_in_capture(&row))
		return 0;
	process = tw_ids_get(&survey->process_ids, tw_nsys_process(row.gid, false));
	if (process == TW_IDS_NONE)
		return 0;
	text = name_of(&p->part, scan, &len);
	if (!text || !survey->busiest[process].name || !is_of_program(scan, text, len) ||
	    hash_without_digits(text, len, &p->text) != survey->busiest[process].name)
		return 0;
	if (!tw_list_grow(&p->at, &p->capacity, p->count, sizeof(*p->at), p->part.allocator))
		return tw_nsys_no_memory(&p->part);
	p->at[p->count++] =
		(struct tw_nsys_range){ row.start_ns, row.end_ns, tw_scan_rowid(scan), process, 0 };
	return 0;
}

static void release_instances(void *part)
{
	struct instances *p = part;

	tw_free(p->part.allocator, p->at, p->capacity * sizeof(*p->at));
	tw_str_release(&p->text);
}

/* The numbers that processes of the survey have in `ranges`; NULL: out of memory. */
static uint32_t *number_processes(const struct tw_nsys_survey *survey,
				  const struct tw_nsys_ranges *ranges)
{
	uint32_t *numbers =
		tw_alloc_array(survey->allocator, survey->process_count + 1, sizeof(*numbers));
	uint32_t i, known;

	for (i = 0; numbers && i < ranges->process_count; i++) {
		known = tw_ids_get(&survey->process_ids, ranges->processes[i].process);
		if (known != TW_IDS_NONE)
			numbers[known] = i;
	}
	return numbers;
}

int tw_nsys_survey_windows(const struct tw_nsys_survey *survey, struct tw_nsys_source *source,
			   struct tw_nsys_ranges *ranges, struct trawl_error *err)
{
	const char *columns[COLUMNS];
	const struct tw_nsys_scan scan = {
		.table = "NVTX_EVENTS",
		.columns = columns,
		.column_count = COLUMNS,
		.context = survey,
		.part_size = sizeof(struct instances),
		.row = on_instance,
		.release = release_instances,
	};
	size_t count, i, k;
	struct instances *parts;
	uint32_t *numbers = number_processes(survey, ranges);
	bool good = numbers != NULL;
	void *made;
	int status;

	list_columns(columns);
	status = tw_nsys_scan(source, &scan, &made, &count, err);
	parts = made;
	for (i = 0; i < count; i++)
		for (k = 0; k < parts[i].count && good; k++) {
			struct tw_nsys_range range = parts[i].at[k];

			range.process = numbers[range.process];
			good = tw_list_grow(&ranges->windows, &ranges->window_capacity,
					    ranges->window_count, sizeof(range), ranges->allocator);
			if (good)
				ranges->windows[ranges->window_count++] = range;
		}
	tw_nsys_scan_free(source, &scan, made, count);
	if (numbers)
		tw_free(survey->allocator, numbers, (survey->process_count + 1) * sizeof(*numbers));
	return status || good ? status : tw_no_memory(err);
}
