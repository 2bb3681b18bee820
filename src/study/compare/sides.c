#include "study/compare/sides.h"

#include "base/alloc.h"
#include "os/file.h"
#include "os/inputs.h"

#include <dirent.h>
#include <errno.h>
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
		return trawl_error_set(
			err, TRAWL_EIO,
			"standard input cannot be a side of a comparison: name a file");
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
