/* What the sides of a comparison are called. */
#include "study/compare/sides.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Names that every run has: what tells runs apart is above them. */
static const char *const common_names[] = {
	"perf_report.xlsx",
	"perf_report_csvs",
	"analysis_output",
	"tracelens_analysis",
	"torch_profiler",
	"individual_reports",
	".",
};

static bool is_common(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(common_names) / sizeof(common_names[0]); i++)
		if (strlen(common_names[i]) == len && !memcmp(common_names[i], name, len))
			return true;
	return false;
}

/* The part of a path before `*end`, which moves before it; 0: there is no more. */
static size_t part_before(const char *path, size_t *end, const char **part)
{
	size_t stop = *end, start;

	while (stop && path[stop - 1] == '/')
		stop--;
	for (start = stop; start && path[start - 1] != '/'; start--)
		;
	*part = path + start;
	*end = start;
	return stop - start;
}

/* Of "nccl_28channels" the length of "28"; 0: it is no number between the two. */
static size_t digits_between(const char *part, size_t len, const char *before, const char *after)
{
	size_t head = strlen(before), tail = strlen(after), digits;

	if (len <= head + tail || memcmp(part, before, head) != 0 ||
	    memcmp(part + len - tail, after, tail) != 0)
		return 0;
	digits = strspn(part + head, "0123456789");
	return digits == len - head - tail ? digits : 0;
}

/*
 * Of <T>thread/nccl_<C>channels, the directory of a configuration, its name as a sweep calls it; NULL:
 * it is none.  `end` is where `part` begins, and moves before the thread count.
 */
static char *configuration_part(struct tw_side *side, const char *path, const char *part,
				size_t len, size_t *end)
{
	size_t channels = digits_between(part, len, "nccl_", "channels"), before = *end, threads;
	const char *above;

	if (!channels)
		return NULL;
	len = part_before(path, &before, &above);
	threads = digits_between(above, len, "", "thread");
	if (!threads)
		return NULL;
	*end = before;
	return tw_side_text(side, "%.*sthread_%.*sch", (int)threads, above, (int)channels,
			    part + strlen("nccl_"));
}

/* The `up`-th part of a path from its end that says something; NULL: it has not so many. */
static const char *label_part(struct tw_side *side, const char *path, size_t up)
{
	size_t end = strlen(path), len, seen = 0;
	const char *part, *configuration;

	while ((len = part_before(path, &end, &part)) != 0) {
		if (is_common(part, len))
			continue;
		configuration = configuration_part(side, path, part, len, &end);
		if (seen++ == up)
			return configuration ? configuration :
					       tw_side_text(side, "%.*s", (int)len, part);
	}
	return NULL;
}

/* Whether every side has a part of that place, and no two the same: then these are the labels. */
static bool take_parts(struct tw_side *sides, const char *const *paths, const char **labels,
		       size_t count, size_t up)
{
	size_t i, k;

	for (i = 0; i < count; i++) {
		labels[i] = sides[i].label ? sides[i].label : label_part(&sides[i], paths[i], up);
		if (!labels[i])
			return false;
		for (k = 0; k < i; k++)
			if (!strcmp(labels[i], labels[k]))
				return false;
	}
	for (i = 0; i < count; i++)
		sides[i].label = labels[i];
	return true;
}

/* Parts do not tell them apart: a number does. */
static bool number_label(struct tw_side *sides, const char *path, size_t i)
{
	struct tw_side *side = &sides[i];
	const char *plain = side->label;
	size_t k, n = 2;

	if (!plain)
		plain = label_part(side, path, 0);
	if (!plain)
		plain = i ? "test" : "baseline";
	side->label = plain;
	for (k = 0; k < i && side->label;) {
		if (strcmp(side->label, sides[k].label)) {
			k++;
			continue;
		}
		side->label = tw_side_text(side, "%s (%zu)", plain, n++);
		k = 0;
	}
	return side->label;
}

/* "." and "..": what they are called says nothing. */
static bool last_is_dots(const char *path)
{
	size_t end = strlen(path), len;
	const char *part;

	len = part_before(path, &end, &part);
	return len && len <= 2 && strspn(part, ".") >= len;
}

/* The path that its name and label are taken from; NULL: out of memory. */
static const char *name_side(struct tw_side *side)
{
	char *real = last_is_dots(side->path) ? realpath(side->path, NULL) : NULL;
	const char *path = real ? tw_side_text(side, "%s", real) : side->path, *part;
	size_t end = path ? strlen(path) : 0, len;

	free(real);
	if (!path)
		return NULL;
	len = part_before(path, &end, &part);
	side->name = len ? tw_side_text(side, "%.*s", (int)len, part) : "/";
	return side->name ? path : NULL;
}

int tw_sides_label(struct tw_side *sides, size_t count, struct trawl_error *err)
{
	enum { HIGHEST = 4 };
	const char **paths = tw_arena_alloc(&sides->arena, 2 * count * sizeof(*paths));
	const char **labels = paths + count;
	bool whole = paths != NULL;
	size_t i, up;

	for (i = 0; i < count && whole; i++) {
		paths[i] = name_side(&sides[i]);
		whole = paths[i];
	}
	for (up = 0; up < HIGHEST && whole; up++)
		if (take_parts(sides, paths, labels, count, up))
			return 0;
	for (i = 0; i < count && whole; i++)
		whole = number_label(sides, paths[i], i);
	return whole ? 0 : tw_no_memory(err);
}
