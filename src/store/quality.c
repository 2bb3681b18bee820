#include "store/quality.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *kind;
	enum trawl_severity severity;
	const char *meaning;
} kinds[] = {
#define TW_DEFECT(id, severity, meaning) { #id, TRAWL_##severity, meaning },
#include "store/quality.def"
#undef TW_DEFECT
};

bool tw_quality_find(const char *kind, size_t len, struct trawl_defect *out)
{
	size_t i;

	*out = (struct trawl_defect){ .offset = -1, .event = -1, .row = -1 };
	for (i = 0; i < TW_DEFECT_COUNT; i++) {
		if (strlen(kinds[i].kind) != len || memcmp(kinds[i].kind, kind, len))
			continue;
		out->kind = kinds[i].kind;
		out->severity = kinds[i].severity;
		out->meaning = kinds[i].meaning;
		return true;
	}
	return false;
}

void tw_quality_init(struct tw_quality *quality)
{
	size_t i;

	memset(quality, 0, sizeof(*quality));
	for (i = 0; i < TW_DEFECT_COUNT; i++) {
		quality->kinds[i].offset = -1;
		quality->kinds[i].event = -1;
	}
}

static void add(struct tw_quality *quality, enum tw_defect kind, int64_t count, const char *table,
		int64_t offset, int64_t event)
{
	if (count <= 0)
		return;
	/* Some are found in another order than that of the input. */
	if (!quality->kinds[kind].count || (event >= 0 && event < quality->kinds[kind].event)) {
		quality->kinds[kind].offset = offset;
		quality->kinds[kind].event = event;
		quality->kinds[kind].table = table;
	}
	quality->kinds[kind].count += count;
}

void tw_quality_add(struct tw_quality *quality, enum tw_defect kind, int64_t count, int64_t offset,
		    int64_t event)
{
	add(quality, kind, count, NULL, offset, event);
}

void tw_quality_add_row(struct tw_quality *quality, enum tw_defect kind, int64_t count,
			const char *table, int64_t row)
{
	add(quality, kind, count, table, row, -1);
}

void tw_quality_append(struct tw_quality *quality, const struct tw_quality *more, int64_t events)
{
	size_t i;

	for (i = 0; i < TW_DEFECT_COUNT; i++) {
		int64_t event = more->kinds[i].event;

		add(quality, (enum tw_defect)i, more->kinds[i].count, more->kinds[i].table,
		    more->kinds[i].offset, event < 0 ? -1 : event + events);
	}
}

size_t tw_quality_list(const struct tw_quality *quality, struct trawl_defect *out)
{
	size_t i, n = 0;
	int severity;

	for (severity = TRAWL_LOST; severity <= TRAWL_NOTE; severity++) {
		for (i = 0; i < TW_DEFECT_COUNT; i++) {
			const char *table = quality->kinds[i].table;

			if ((int)kinds[i].severity != severity || !quality->kinds[i].count)
				continue;
			out[n++] = (struct trawl_defect){
				.kind = kinds[i].kind,
				.severity = kinds[i].severity,
				.count = quality->kinds[i].count,
				.offset = table ? -1 : quality->kinds[i].offset,
				.event = quality->kinds[i].event,
				.table = table,
				.row = table ? quality->kinds[i].offset : -1,
				.meaning = kinds[i].meaning,
			};
		}
	}
	return n;
}

const char *trawl_defect_place(const struct trawl_defect *defect, char *buffer, size_t size)
{
	if (defect->row < 0)
		snprintf(buffer, size, "table %s", defect->table);
	else
		snprintf(buffer, size, "table %s, row %lld", defect->table, (long long)defect->row);
	return buffer;
}

bool tw_quality_lost(const struct tw_quality *quality)
{
	size_t i;

	for (i = 0; i < TW_DEFECT_COUNT; i++)
		if (kinds[i].severity == TRAWL_LOST && quality->kinds[i].count)
			return true;
	return false;
}

const char *trawl_severity_name(enum trawl_severity severity)
{
	static const char *const names[] = { "lost", "defect", "repair", "note" };

	return names[severity];
}
