#include "study/compare/sides.h"

#include "base/alloc.h"
#include "os/file.h"
#include "os/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *tw_side_text(struct tw_side *side, const char *format, ...)
{
	struct tw_str text;
	char *kept;
	va_list args;

	tw_str_init(&text, trawl_allocator_default());
	va_start(args, format);
	tw_str_addv(&text, format, args);
	va_end(args);
	kept = text.failed ? NULL : tw_arena_copy(&side->arena, text.ptr ? text.ptr : "", text.len);
	tw_str_release(&text);
	return kept;
}

/* A workbook is a zip archive; CSV has no mark, so that its name counts. */
static bool is_report_file(const char *path)
{
	char mark[4] = "";
	ssize_t n = tw_file_read_head(path, mark, sizeof(mark));

	return (n == (ssize_t)sizeof(mark) && !memcmp(mark, "PK\003\004", sizeof(mark))) ||
	       tw_ends_with(path, ".csv");
}

struct contents {
	bool workbook, csv_directory, csv_files, ranked;
};

/* perf_rank3.xlsx, perf_28ch_rank3_csvs: a report of a rank. */
static bool is_ranked_report(const char *name)
{
	return !strncmp(name, "perf_", 5) && tw_rank_in_path(name) >= 0 &&
	       (tw_ends_with(name, ".xlsx") || tw_ends_with(name, "_csvs"));
}

static struct contents look_into(const char *path)
{
	struct contents found = { 0 };
	DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		found.workbook |= !strcmp(entry->d_name, "perf_report.xlsx");
		found.csv_directory |= !strcmp(entry->d_name, "perf_report_csvs");
		found.csv_files |= !strcmp(entry->d_name, "gpu_timeline.csv") ||
				   !strcmp(entry->d_name, "kernel_summary.csv") ||
				   !strcmp(entry->d_name, "ops_summary.csv");
		found.ranked |= is_ranked_report(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Reports of one configuration, one a rank. */
static bool find_ranked(struct tw_side *side)
{
	static const char *const below[] = { "", "/individual_reports",
					     "/tracelens_analysis/individual_reports" };
	size_t i;

	for (i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		side->from = tw_side_text(side, "%s%s", side->path, below[i]);
		if (side->from && look_into(side->from).ranked)
			return true;
	}
	return false;
}

static int try_sweep(struct tw_side *side, const struct trawl_sweep_filter *filter,
		     struct trawl_error *err)
{
	side->swept = true;
	return tw_sweep_find(&side->sweep, side->path, NULL, filter, trawl_allocator_default(),
			     err);
}

static void forget_sweep(struct tw_side *side)
{
	tw_sweep_release(&side->sweep);
	side->swept = false;
}

/* Whether it is a sweep, if with none of the configurations that were asked for: then *status. */
static bool find_sweep(struct tw_side *side, int *status, struct trawl_error *err)
{
	const struct trawl_sweep_filter all = { 0 };
	bool is_sweep = true;

	*status = try_sweep(side, &side->options->filter, err);
	if (!*status)
		return true;
	forget_sweep(side);
	if (*status == TRAWL_ENODATA) {
		is_sweep = !try_sweep(side, &all, NULL);
		forget_sweep(side);
	}
	return is_sweep;
}

static int open_directory(struct tw_side *side, struct trawl_error *err)
{
	struct contents found = look_into(side->path);
	int status;

	if (found.csv_files || found.workbook || found.csv_directory) {
		side->kind = TW_SIDE_REPORT;
		side->from = tw_side_text(side, "%s%s", side->path,
					  found.csv_files ? "" :
					  found.workbook  ? "/perf_report.xlsx" :
							    "/perf_report_csvs");
		return side->from ? 0 : tw_no_memory(err);
	}
	if (find_ranked(side)) {
		side->kind = TW_SIDE_REPORTS;
		return 0;
	}
	if (find_sweep(side, &status, err)) {
		side->kind = TW_SIDE_SWEEP;
		return status;
	}
	side->kind = TW_SIDE_TRACES;
	return 0;
}

int tw_side_open(struct tw_side *side, const char *path, const struct tw_side_options *options,
		 struct trawl_error *err)
{
	struct stat info;

	*side = (struct tw_side){ .path = path, .options = options };
	tw_arena_init(&side->arena, trawl_allocator_default());
	tw_str_init(&side->rank_list, trawl_allocator_default());
	tw_str_init(&side->notes, trawl_allocator_default());
	if (tw_file_is_directory(path))
		return open_directory(side, err);
	side->kind = TW_SIDE_TRACES;
	if (strpbrk(path, "*?["))
		return 0;
	if (!strcmp(path, "-"))
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot compare standard input: name a file");
	if (stat(path, &info))
		return trawl_error_set(err, TRAWL_EIO, "cannot read '%s': %s", path,
				       strerror(errno));
	tw_inputs_note(path);
	side->lone = !is_report_file(path);
	if (!side->lone) {
		side->kind = TW_SIDE_REPORT;
		side->from = path;
	}
	return 0;
}

const char *tw_side_what(const struct tw_side *side)
{
	switch (side->kind) {
	case TW_SIDE_SWEEP:
		return "sweep";
	case TW_SIDE_REPORTS:
		return "reports";
	case TW_SIDE_REPORT:
		return "report";
	case TW_SIDE_TRACES:
		return side->traces == 1 ? "trace" : "ranks";
	}
	return "";
}

void tw_side_release(struct tw_side *side)
{
	size_t i;

	for (i = 0; i < side->findings.count; i++)
		trawl_table_free(side->findings.at[i]);
	TW_LIST_FREE(&side->findings, trawl_allocator_default());
	tw_book_free(side->book);
	tw_book_free(side->collectives);
	tw_job_tables_release(&side->job_tables);
	if (side->loaded)
		tw_job_release(&side->job);
	if (side->swept)
		tw_sweep_release(&side->sweep);
	tw_free(trawl_allocator_default(), side->ranks, side->rank_capacity * sizeof(*side->ranks));
	tw_str_release(&side->rank_list);
	tw_str_release(&side->notes);
	tw_arena_release(&side->arena);
}

/* ---- what they are called */

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
