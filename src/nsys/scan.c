#include "nsys/scan.h"

#include "base/alloc.h"

#include <string.h>

/* Rowids a part: a few tenths of a second; small enough that threads end together. */
#define PART_ROWS ((uint64_t)1 << 18)

struct scan {
	struct tw_nsys_source *source;
	const struct tw_table_reader *of; /* the reader that was given */
	void *context;
	struct tw_nsys_told *told;
	int64_t odd, odd_row;
};

/* ---- what there is to say */

/* What has been said of a table. */
static struct tw_nsys_told *told_of(struct tw_nsys_source *source, const char *table)
{
	size_t i = 0;

	while (i + 1 < TW_NSYS_TOLD && source->told[i].table &&
	       strcmp(source->told[i].table, table) != 0)
		i++;
	source->told[i].table = table;
	return &source->told[i];
}

static void tell_damage(struct scan *s, const struct tw_table_part *rows)
{
	if (rows->damaged && !s->told->damage)
		tw_str_note(&s->source->troubles, "%s; rows after it are skipped",
			    rows->error.message);
	s->told->damage = s->told->damage || rows->damaged;
}

static void tell_odd(struct scan *s)
{
	if (s->odd && !s->told->odd)
		tw_str_note(
			&s->source->troubles,
			"table %s: %lld rows with a missing or impossible number skipped, first "
			"in row %lld",
			s->of->table, (long long)s->odd, (long long)s->odd_row);
	s->told->odd = s->told->odd || s->odd;
}

/* ---- a part, around what the reader does */

static int begin(void *context)
{
	struct tw_nsys_part *part = context;
	struct scan *s = part->rows.context;

	part->context = s->context;
	return s->of->begin ? s->of->begin(part) : 0;
}

static int join(void *context)
{
	struct tw_nsys_part *part = context;
	struct scan *s = part->rows.context;

	tell_damage(s, &part->rows);
	if (part->odd && !s->odd)
		s->odd_row = part->odd_row;
	s->odd += part->odd;
	return s->of->join(part);
}

static void release(void *context)
{
	const struct tw_nsys_part *part = context;
	const struct scan *s = part->rows.context;

	if (s->of->release)
		s->of->release(context);
}

int tw_nsys_scan(struct tw_nsys_source *source, const struct tw_table_reader *of, void *context,
		 struct trawl_error *err)
{
	struct scan s = { source, of, context, told_of(source, of->table), 0, -1 };
	struct tw_table_reader reader = *of;
	const struct tw_table_reader *readers[] = { &reader };
	struct tw_tables_reading reading = { .readers = readers,
					     .count = 1,
					     .context = &s,
					     .part_rows = PART_ROWS,
					     .threads = source->threads };
	int status;

	reader.begin = begin;
	reader.join = join;
	reader.release = release;
	status = tw_tables_read(&reading, source->database, source->shared, err);
	if (!status)
		tell_odd(&s);
	if (reading.texts_failed && !source->texts_told) {
		source->texts_told = true;
		tw_str_note(&source->troubles,
			    "table StringIds is damaged, names in it are missing: repeat the "
			    "export");
	}
	return status;
}

void tw_nsys_untell(struct tw_nsys_source *source, const struct tw_nsys_source *before)
{
	memcpy(source->told, before->told, sizeof(source->told));
	source->texts_told = before->texts_told;
	source->troubles.len = before->troubles.len;
	if (source->troubles.ptr)
		source->troubles.ptr[source->troubles.len] = 0;
}

/* ---- for readers */

int tw_nsys_odd(struct tw_nsys_part *part)
{
	if (!part->odd++)
		part->odd_row = part->rows.row;
	return 0;
}

int tw_nsys_no_memory(struct tw_nsys_part *part)
{
	return tw_no_memory(&part->rows.error);
}

bool tw_nsys_meaning(struct tw_nsys_part *part, int64_t id,
		     uint32_t (*mean)(const void *part, const char *text, size_t len),
		     uint32_t *meaning)
{
	const char *text;
	size_t len;

	*meaning = tw_ids_get(&part->known, id);
	if (*meaning != TW_IDS_NONE)
		return true;
	text = tw_nsys_text(part->rows.database, id, &len);
	*meaning = mean(part, text, len);
	return tw_ids_put(&part->known, id, *meaning, part->rows.allocator);
}
