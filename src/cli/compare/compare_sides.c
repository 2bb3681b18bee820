/* What the sides of a comparison are, and what they are called. */
#include "cli/compare/compare.h"

#include "base/alloc.h"
#include "os/file.h"
#include "os/inputs.h"
#include "text/str.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what it is */

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
static bool find_ranked(struct cli_side *side, const char *path)
{
	static const char *const below[] = { "", "/individual_reports",
					     "/tracelens_analysis/individual_reports" };
	size_t i;

	for (i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		tw_str_clear(&side->from);
		tw_str_addf(&side->from, "%s%s", path, below[i]);
		if (!side->from.failed && look_into(side->from.ptr).ranked)
			return true;
	}
	return false;
}

static int try_sweep(struct cli_side *side, const struct tw_sweep_filter *filter,
		     struct trawl_error *err)
{
	side->swept = true;
	return tw_sweep_find(&side->sweep, side->path, NULL, filter, trawl_allocator_default(),
			     err);
}

static void forget_sweep(struct cli_side *side)
{
	tw_sweep_release(&side->sweep);
	side->swept = false;
}

/* Whether it is a sweep, if with none of the configurations that were asked for: then *status. */
static bool find_sweep(struct cli_side *side, const struct cli_comparing *c, int *status)
{
	const struct tw_sweep_filter none = { 0 };
	struct trawl_error err, ignored;

	*status = try_sweep(side, &c->filter, &err);
	if (!*status)
		return true;
	if (*status == TRAWL_ENODATA) {
		forget_sweep(side);
		*status = try_sweep(side, &none, &ignored);
		forget_sweep(side);
		if (*status)
			return false;
	}
	*status = TRAWL_ENODATA;
	cli_fail(&err);
	return true;
}

static int open_directory(struct cli_side *side, const struct cli_comparing *c)
{
	struct contents found = look_into(side->path);
	int status;

	if (found.csv_files || found.workbook || found.csv_directory) {
		side->kind = CLI_SIDE_REPORT;
		tw_str_addf(&side->from, "%s%s", side->path,
			    found.csv_files ? "" :
			    found.workbook  ? "/perf_report.xlsx" :
					      "/perf_report_csvs");
		return -1;
	}
	if (find_ranked(side, side->path)) {
		side->kind = CLI_SIDE_REPORTS;
		return -1;
	}
	if (find_sweep(side, c, &status)) {
		side->kind = CLI_SIDE_SWEEP;
		return status ? CLI_FAILED : -1;
	}
	side->kind = CLI_SIDE_TRACES;
	return -1;
}

int cli_side_open(struct cli_side *side, const struct cli_comparing *c, const char *path)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	struct stat info;

	side->path = path;
	tw_str_init(&side->name, a);
	tw_str_init(&side->from, a);
	tw_str_init(&side->rank_list, a);
	if (tw_file_is_directory(path))
		return open_directory(side, c);
	side->kind = CLI_SIDE_TRACES;
	if (strpbrk(path, "*?["))
		return -1;
	if (!strcmp(path, "-")) {
		cli_message("standard input cannot be a side of a comparison: name a file");
		return CLI_FAILED;
	}
	if (stat(path, &info)) {
		cli_message("cannot read '%s': %s", path, strerror(errno));
		return CLI_FAILED;
	}
	tw_inputs_note(path);
	side->lone = !is_report_file(path);
	if (!side->lone) {
		side->kind = CLI_SIDE_REPORT;
		tw_str_add_cstr(&side->from, path);
	}
	return -1;
}

const char *cli_side_what(const struct cli_side *side)
{
	switch (side->kind) {
	case CLI_SIDE_SWEEP:
		return "sweep";
	case CLI_SIDE_REPORTS:
		return "reports";
	case CLI_SIDE_REPORT:
		return "report";
	case CLI_SIDE_TRACES:
		return side->traces == 1 ? "trace" : "ranks";
	}
	return "";
}

void cli_side_release(struct cli_side *side)
{
	const struct trawl_allocator *a = trawl_allocator_default();

	tw_book_free(side->book);
	tw_book_free(side->collectives);
	while (side->job_table_count)
		tw_table_free(side->job_tables[--side->job_table_count]);
	if (side->loaded) {
		tw_clocks_release(&side->clocks);
		tw_matches_release(&side->matches);
		tw_job_release(&side->job);
	}
	if (side->swept)
		tw_sweep_release(&side->sweep);
	tw_free(a, side->ranks, side->rank_capacity * sizeof(*side->ranks));
	tw_str_release(&side->name);
	tw_str_release(&side->from);
	tw_str_release(&side->rank_list);
	free(side->label);
}

/* ---- what it is called */

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
static char *configuration_part(const char *path, const char *part, size_t len, size_t *end)
{
	size_t channels = digits_between(part, len, "nccl_", "channels"), before = *end, threads;
	const char *above;
	struct tw_str name;
	char *copy = NULL;

	if (!channels)
		return NULL;
	len = part_before(path, &before, &above);
	threads = digits_between(above, len, "", "thread");
	if (!threads)
		return NULL;
	tw_str_init(&name, trawl_allocator_default());
	tw_str_addf(&name, "%.*sthread_%.*sch", (int)threads, above, (int)channels,
		    part + strlen("nccl_"));
	if (!name.failed)
		copy = strdup(name.ptr);
	tw_str_release(&name);
	*end = before;
	return copy;
}

/* The `up`-th part of a path from its end that says something; NULL: it has not so many. */
static char *label_part(const char *path, size_t up)
{
	size_t end = strlen(path), len, seen = 0;
	const char *part;

	while ((len = part_before(path, &end, &part)) != 0) {
		char *configuration;

		if (is_common(part, len))
			continue;
		configuration = configuration_part(path, part, len, &end);
		if (seen++ == up)
			return configuration ? configuration : strndup(part, len);
		free(configuration);
	}
	return NULL;
}

/* Whether every side has a part of that place, and no two the same. */
static bool take_parts(struct cli_side *sides, char **paths, size_t count, size_t up)
{
	char **parts = calloc(count, sizeof(*parts));
	bool good = parts != NULL;
	size_t i, k;

	for (i = 0; i < count && good; i++) {
		parts[i] = sides[i].label ? strdup(sides[i].label) : label_part(paths[i], up);
		good = parts[i] != NULL;
		for (k = 0; k < i && good; k++)
			good = strcmp(parts[i], parts[k]) != 0;
	}
	for (i = 0; i < count && parts; i++) {
		if (good && !sides[i].label)
			sides[i].label = parts[i];
		else
			free(parts[i]);
	}
	free(parts);
	return good;
}

/* Parts do not tell them apart: a number does. */
static bool number_labels(struct cli_side *sides, char **paths, size_t count)
{
	bool whole = true;
	size_t i, k, n;

	for (i = 0; i < count && whole; i++) {
		struct tw_str label;

		if (!sides[i].label)
			sides[i].label = label_part(paths[i], 0);
		if (!sides[i].label)
			sides[i].label = strdup(i ? "test" : "baseline");
		whole = sides[i].label != NULL;
		tw_str_init(&label, trawl_allocator_default());
		for (n = 2, k = 0; k < i && whole;) {
			if (strcmp(label.len ? label.ptr : sides[i].label, sides[k].label)) {
				k++;
				continue;
			}
			tw_str_clear(&label);
			tw_str_addf(&label, "%s (%zu)", sides[i].label, n++);
			whole = !label.failed;
			k = 0;
		}
		if (whole && label.len) {
			free(sides[i].label);
			sides[i].label = strdup(label.ptr);
			whole = sides[i].label != NULL;
		}
		tw_str_release(&label);
	}
	return whole;
}

static bool add_name(struct cli_side *side, const char *path)
{
	size_t end = strlen(path), len;
	const char *part;

	len = part_before(path, &end, &part);
	tw_str_add(&side->name, len ? part : "/", len ? len : 1);
	return !side->name.failed;
}

/* "." and "..": what they are called says nothing. */
static bool last_is_dots(const char *path)
{
	size_t end = strlen(path), len;
	const char *part;

	len = part_before(path, &end, &part);
	return len && len <= 2 && strspn(part, ".") >= len;
}

bool cli_sides_label(struct cli_side *sides, size_t count)
{
	enum { HIGHEST = 4 };
	char **paths = calloc(count, sizeof(*paths));
	bool whole = paths != NULL, done = false;
	size_t i, up;

	for (i = 0; i < count && whole; i++) {
		paths[i] = last_is_dots(sides[i].path) ? realpath(sides[i].path, NULL) : NULL;
		if (!paths[i])
			paths[i] = strdup(sides[i].path);
		whole = paths[i] && add_name(&sides[i], paths[i]);
	}
	for (up = 0; up < HIGHEST && whole && !done; up++)
		done = take_parts(sides, paths, count, up);
	if (whole && !done)
		whole = number_labels(sides, paths, count);
	for (i = 0; i < count && paths; i++)
		free(paths[i]);
	free(paths);
	return whole;
}
