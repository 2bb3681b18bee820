#include "study/sweep/sweep.h"

#include "base/alloc.h"
#include "base/order.h"
#include "text/rank_list.h"
#include "os/file.h"
#include "os/inputs.h"
#include "study/runs/runs.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANALYSIS "tracelens_analysis"
#define INDIVIDUAL "individual_reports"
#define COLLECTIVE "collective_reports"

/* ---- memory: lists grow in the arena, which keeps what they leave behind */

/* Room for one more of `size` bytes behind `count`, which is full at powers of two. */
static void *grow(struct tw_arena *arena, void *items, size_t count, size_t size)
{
	void *more;

	if (count & (count - 1) || (!count && items))
		return items;
	more = tw_arena_alloc(arena, (count ? count * 2 : 1) * size);
	if (more && count)
		memcpy(more, items, count * size);
	return more;
}

static void note(struct trawl_sweep *sweep, bool incomplete, const char *format, ...)
	TRAWL_PRINTF(3, 4);

/* What cannot be noted for want of memory is not worth failing for. */
static void note(struct trawl_sweep *sweep, bool incomplete, const char *format, ...)
{
	const char **notes = grow(&sweep->arena, sweep->notes, sweep->note_count, sizeof(*notes));
	struct tw_str text;
	va_list args;

	tw_str_init(&text, sweep->arena.allocator);
	va_start(args, format);
	tw_str_addv(&text, format, args);
	va_end(args);
	sweep->incomplete |= incomplete;
	if (notes && !text.failed) {
		sweep->notes = notes;
		notes[sweep->note_count] = tw_arena_copy(&sweep->arena, text.ptr, text.len);
		sweep->note_count += notes[sweep->note_count] != NULL;
	}
	tw_str_release(&text);
}

/* ---- names */

/* FRONT<digits>BACK and nothing more: the number, else -1; `back` NULL: *rest is what follows. */
static int64_t number_between(const char *name, const char *front, const char *back,
			      const char **rest)
{
	enum { DIGITS = 9 };
	size_t len = strlen(front), digits;
	int64_t number;

	if (strncmp(name, front, len))
		return -1;
	digits = strspn(name + len, "0123456789");
	if (!digits || digits > DIGITS || (back && strcmp(name + len + digits, back)))
		return -1;
	number = strtoll(name + len, NULL, 10);
	if (rest)
		*rest = name + len + digits;
	return number;
}

bool tw_sweep_is_wanted(const int64_t *list, size_t count, int64_t number)
{
	size_t i;

	for (i = 0; i < count && list[i] != number; i++)
		;
	return !count || i < count;
}

/* ---- walking a directory: its entries with a number in their names */

struct finding {
	struct trawl_sweep *sweep;
	const struct trawl_sweep_filter *filter;
	int64_t threads;  /* of the directory that is looked at */
	bool in_profiler; /* it is a directory of traces, not of whatever a run writes */
	const char *reports_of_output; /* where they lie, NULL: in the sweep */
	int status;
};

typedef void found_fn(struct finding *f, const char *path, const char *name);

static bool list_directory(struct finding *f, const char *path, found_fn *found)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	struct tw_str child;

	if (!directory)
		return false;
	tw_str_init(&child, f->sweep->allocator);
	while ((entry = readdir(directory)) && !f->status) {
		if (entry->d_name[0] == '.')
			continue;
		tw_str_clear(&child);
		tw_str_addf(&child, "%s/%s", path, entry->d_name);
		if (child.failed)
			f->status = TRAWL_ENOMEM;
		else
			found(f, child.ptr, entry->d_name);
	}
	tw_str_release(&child);
	closedir(directory);
	return true;
}

/* ---- points and ranks, each added where it is not there yet */

static struct tw_sweep_point *point_of(struct finding *f, int64_t threads, int64_t channels)
{
	struct trawl_sweep *sweep = f->sweep;
	struct tw_sweep_point *points;
	char name[64];
	size_t i;

	for (i = 0; i < sweep->count; i++)
		if (sweep->points[i].threads == threads && sweep->points[i].channels == channels)
			return &sweep->points[i];
	points = grow(&sweep->arena, sweep->points, sweep->count, sizeof(*points));
	snprintf(name, sizeof(name), "%" PRId64 "thread_%" PRId64 "ch", threads, channels);
	if (points) {
		sweep->points = points;
		points[sweep->count] = (struct tw_sweep_point){
			.threads = threads,
			.channels = channels,
			.name = tw_arena_copy(&sweep->arena, name, strlen(name)),
		};
	}
	if (!points || !points[sweep->count].name) {
		f->status = TRAWL_ENOMEM;
		return NULL;
	}
	return &points[sweep->count++];
}

static struct tw_sweep_rank *rank_of(struct finding *f, struct tw_sweep_point *point, int64_t rank)
{
	struct tw_sweep_rank *ranks;
	size_t i;

	for (i = 0; i < point->rank_count; i++)
		if (point->ranks[i].rank == rank)
			return &point->ranks[i];
	ranks = grow(&f->sweep->arena, point->ranks, point->rank_count, sizeof(*ranks));
	if (!ranks) {
		f->status = TRAWL_ENOMEM;
		return NULL;
	}
	point->ranks = ranks;
	ranks[point->rank_count] = (struct tw_sweep_rank){ .rank = rank };
	return &ranks[point->rank_count++];
}

static const char *keep(struct finding *f, const char *text)
{
	const char *kept = tw_arena_copy(&f->sweep->arena, text, strlen(text));

	if (!kept)
		f->status = TRAWL_ENOMEM;
	return kept;
}

/* ---- traces */

/*
 * Which of several traces of a rank: those that trainers name before what TensorBoard's handler
 * leaves beside them, and any trace before other JSON.
 */
static int likeness(const char *path)
{
	const char *name = tw_file_name(path);

	if (!strncmp(name, "customer_trace", strlen("customer_trace")))
		return 4;
	if (!strncmp(name, "trace", strlen("trace")))
		return 3;
	if (strstr(name, ".pt.trace.json"))
		return 2;
	return strstr(name, "trace") ? 1 : 0;
}

/* Whether it is a trace, or may be one; those of ranks that are not wanted are too. */
static bool take_trace(struct finding *f, struct tw_sweep_point *point, const char *path,
		       size_t base)
{
	int64_t rank = tw_rank_in_path(path + base);
	struct tw_sweep_rank *r;

	if (rank < 0 && !f->in_profiler)
		return false;
	if (rank < 0) {
		note(f->sweep, true, "%s: skipped: no rank in its name or directory", path);
		return true;
	}
	if (!tw_sweep_is_wanted(f->filter->ranks, f->filter->rank_count, rank))
		return true;
	r = rank_of(f, point, rank);
	if (!r)
		return false;
	r->other_traces += r->trace != NULL;
	/* Names come in order: of those that are alike the last, which is of the latest step. */
	if (!r->trace || likeness(path) >= likeness(r->trace))
		r->trace = keep(f, path);
	return true;
}

/* Traces below a directory of the point: torch_profiler where that is there. */
static void find_traces(struct finding *f, struct tw_sweep_point *point, const char *directory)
{
	struct tw_rank_set set = { 0 };
	struct trawl_error err;
	struct tw_str path;
	size_t i, found = 0;
	int status;

	tw_str_init(&path, f->sweep->allocator);
	tw_str_addf(&path, "%s/torch_profiler", directory);
	f->in_profiler = !path.failed && tw_file_is_directory(path.ptr);
	if (!path.failed && !f->in_profiler) {
		path.len = strlen(directory);
		path.ptr[path.len] = 0;
	}
	if (path.failed) {
		f->status = TRAWL_ENOMEM;
	} else {
		const char *argument = path.ptr;

		status = tw_rank_set_find(&set, &argument, 1, f->sweep->allocator, &err);
		if (status == TRAWL_ENOMEM)
			f->status = status;
		else if (status && status != TRAWL_ENODATA)
			note(f->sweep, true, "%s: skipped: %s", path.ptr, err.message);
		for (i = 0; !status && i < set.count && !f->status; i++)
			found += take_trace(f, point, set.files[i].path, path.len);
		if (!found && (!status || status == TRAWL_ENODATA))
			note(f->sweep, true, "%s: no traces", path.ptr);
	}
	tw_rank_set_release(&set);
	tw_str_release(&path);
}

static void found_run(struct finding *f, const char *path, const char *name)
{
	int64_t channels = number_between(name, "nccl_", "channels", NULL);
	struct tw_sweep_point *point;

	if (channels < 0 || !tw_file_is_directory(path) ||
	    !tw_sweep_is_wanted(f->filter->channels, f->filter->channel_count, channels))
		return;
	point = point_of(f, f->threads, channels);
	if (!point)
		return;
	point->directory = keep(f, path);
	point->ended = tw_run_status_in(path, &f->sweep->arena);
	if (point->ended && !strcmp(point->ended, tw_run_status_name(TW_RUN_SUCCESS)))
		point->ended = NULL;
	if (point->ended)
		note(f->sweep, true, "%s: run status %.20s (run_status.json)", point->name,
		     point->ended);
	find_traces(f, point, path);
}

/* ---- reports of earlier stages */

/* .xlsx, or what directories of CSV files are called. */
static bool is_report(const char *path, const char *ending)
{
	if (!strcmp(ending, ".xlsx"))
		return !tw_file_is_directory(path);
	return (!strcmp(ending, "_csvs") || !strcmp(ending, "_perf_report_csvs")) &&
	       tw_file_is_directory(path);
}

static bool is_workbook(const char *path)
{
	size_t len = strlen(path);

	return len > 5 && !strcmp(path + len - 5, ".xlsx");
}

/* Whether a report lies where results go, and that is elsewhere than the sweep. */
static bool is_in_output(const struct finding *f, const char *path)
{
	const char *output = f->reports_of_output;
	size_t len = output ? strlen(output) : 0;

	return output && !strncmp(path, output, len) && path[len] == '/';
}

/* Those of the output first, then workbooks, then by name: entries come in any order. */
static bool is_preferred(const struct finding *f, const char *path, const char *to)
{
	if (!to)
		return true;
	if (is_in_output(f, path) != is_in_output(f, to))
		return is_in_output(f, path);
	if (is_workbook(path) != is_workbook(to))
		return is_workbook(path);
	return strcmp(path, to) < 0;
}

static void found_report(struct finding *f, const char *path, const char *name)
{
	const char *rest;
	int64_t channels = number_between(name, "perf_", NULL, &rest), rank;
	struct tw_sweep_point *point;
	struct tw_sweep_rank *r;

	if (channels < 0 || (rank = number_between(rest, "ch_rank", NULL, &rest)) < 0 ||
	    !is_report(path, rest) ||
	    !tw_sweep_is_wanted(f->filter->channels, f->filter->channel_count, channels) ||
	    !tw_sweep_is_wanted(f->filter->ranks, f->filter->rank_count, rank))
		return;
	point = point_of(f, f->threads, channels);
	r = point ? rank_of(f, point, rank) : NULL;
	if (r && is_preferred(f, path, r->report))
		r->report = keep(f, path);
}

static void found_collective_report(struct finding *f, const char *path, const char *name)
{
	const char *rest;
	int64_t channels = number_between(name, "collective_", NULL, &rest);
	struct tw_sweep_point *point;

	if (channels < 0 || strncmp(rest, "ch", 2) || !is_report(path, rest + 2) ||
	    !tw_sweep_is_wanted(f->filter->channels, f->filter->channel_count, channels))
		return;
	point = point_of(f, f->threads, channels);
	if (point && is_preferred(f, path, point->collective_report))
		point->collective_report = keep(f, path);
}

static void found_reports(struct finding *f, const char *path, const char *name)
{
	if (!strcmp(name, INDIVIDUAL))
		list_directory(f, path, found_report);
	else if (!strcmp(name, COLLECTIVE))
		list_directory(f, path, found_collective_report);
}

/* ---- the directory of a thread count */

static bool take_threads(struct finding *f, const char *path, const char *name)
{
	const char *rest;

	f->threads = number_between(name, "", NULL, &rest);
	return f->threads >= 0 && !strcmp(rest, "thread") && tw_file_is_directory(path) &&
	       tw_sweep_is_wanted(f->filter->threads, f->filter->thread_count, f->threads);
}

static void found_threads(struct finding *f, const char *path, const char *name)
{
	if (take_threads(f, path, name) && !list_directory(f, path, found_run))
		note(f->sweep, true, "%s: skipped: %s", path, strerror(errno));
}

static void found_threads_of_reports(struct finding *f, const char *path, const char *name)
{
	if (take_threads(f, path, name) && !list_directory(f, path, found_reports))
		note(f->sweep, true, "%s: skipped: %s", path, strerror(errno));
}

static void find_reports(struct finding *f)
{
	struct trawl_sweep *sweep = f->sweep;
	struct tw_str path;

	tw_str_init(&path, sweep->allocator);
	tw_str_add_cstr(&path, sweep->directory);
	if (!sweep->only_reports)
		tw_str_add_cstr(&path, "/" ANALYSIS);
	if (!path.failed)
		list_directory(f, path.ptr, found_threads_of_reports);
	if (strcmp(sweep->output, sweep->directory)) {
		tw_sweep_analysis_path(sweep, NULL, &path);
		f->reports_of_output = path.failed ? NULL : keep(f, path.ptr);
		if (f->reports_of_output)
			list_directory(f, f->reports_of_output, found_threads_of_reports);
	}
	if (path.failed)
		f->status = TRAWL_ENOMEM;
	tw_str_release(&path);
}

/* ---- the sweep */

static int compare_points(const void *a, const void *b)
{
	const struct tw_sweep_point *x = a, *y = b;

	return TW_ORDER_BY(x, y, threads, channels);
}

static int compare_ranks(const void *a, const void *b)
{
	const struct tw_sweep_rank *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool has_threads(const struct trawl_sweep *sweep, int64_t threads)
{
	size_t i;

	for (i = 0; i < sweep->count && sweep->points[i].threads != threads; i++)
		;
	return i < sweep->count;
}

static const struct tw_sweep_point *find_point(const struct trawl_sweep *sweep, int64_t threads,
					       int64_t channels)
{
	size_t i;

	for (i = 0; i < sweep->count; i++)
		if (sweep->points[i].threads == threads && sweep->points[i].channels == channels)
			return &sweep->points[i];
	return NULL;
}

static bool has_rank(const struct tw_sweep_point *point, int64_t rank)
{
	size_t i;

	for (i = 0; i < point->rank_count && point->ranks[i].rank != rank; i++)
		;
	return i < point->rank_count;
}

/* Configurations that the others make one expect: each thread count with each channel count. */
static void note_missing_points(struct trawl_sweep *sweep)
{
	size_t i, k, n;

	for (i = 0; i < sweep->count; i++) {
		int64_t threads = sweep->points[i].threads;

		if (i && sweep->points[i - 1].threads == threads)
			continue;
		for (k = 0; k < sweep->count; k++) {
			int64_t channels = sweep->points[k].channels;

			for (n = 0; n < k && sweep->points[n].channels != channels; n++)
				;
			if (n == k && !find_point(sweep, threads, channels))
				note(sweep, true,
				     "no configuration of %" PRId64 " threads and %" PRId64
				     " channels",
				     threads, channels);
		}
	}
}

/* Ranks that another configuration has, or that were asked for. */
static int note_missing_ranks(struct trawl_sweep *sweep, const struct trawl_sweep_filter *filter)
{
	struct tw_str bytes, list;
	size_t i, k, n = 0;

	tw_str_init(&bytes, sweep->allocator);
	tw_str_init(&list, sweep->allocator);
	for (i = 0; i < sweep->count; i++) {
		const struct tw_sweep_point *point = &sweep->points[i];
		const int64_t *wanted = filter->ranks;
		const struct tw_sweep_point *all = point;
		size_t count = filter->rank_count;

		/* The configuration with the most ranks stands for all of them. */
		for (k = 0; k < sweep->count; k++)
			if (sweep->points[k].rank_count > all->rank_count)
				all = &sweep->points[k];
		tw_str_clear(&bytes);
		for (k = n = 0; k < (count ? count : all->rank_count); k++) {
			int64_t rank = count ? wanted[k] : all->ranks[k].rank;

			if (has_rank(point, rank))
				continue;
			tw_str_add(&bytes, (const char *)&rank, sizeof(rank));
			n++;
		}
		tw_str_clear(&list);
		if (n && !bytes.failed)
			tw_rank_list_add(&list, (const int64_t *)(const void *)bytes.ptr, n);
		if (n && !list.failed)
			note(sweep, true, "%s: missing rank%s %s", point->name, n == 1 ? "" : "s",
			     list.ptr);
	}
	i = bytes.failed || list.failed;
	tw_str_release(&list);
	tw_str_release(&bytes);
	return i ? TRAWL_ENOMEM : 0;
}

static void note_others(struct trawl_sweep *sweep)
{
	size_t i, k;

	for (i = 0; i < sweep->count; i++)
		for (k = 0; k < sweep->points[i].rank_count; k++) {
			const struct tw_sweep_rank *r = &sweep->points[i].ranks[k];

			if (r->other_traces)
				note(sweep, false, "%s: rank %" PRId64 " has %zu traces: using %s",
				     sweep->points[i].name, r->rank, r->other_traces + 1,
				     r->trace + strlen(sweep->directory) + 1);
		}
}

/* All of them, before the first result is written: what it replaced could not be read any more. */
static void note_inputs(const struct trawl_sweep *sweep)
{
	size_t i, k;

	for (i = 0; i < sweep->count; i++)
		for (k = 0; k < sweep->points[i].rank_count; k++)
			if (sweep->points[i].ranks[k].trace)
				tw_inputs_note(sweep->points[i].ranks[k].trace);
}

static int note_all(struct trawl_sweep *sweep, const struct trawl_sweep_filter *filter)
{
	size_t i, k;

	for (i = 0; i < filter->thread_count; i++)
		if (!has_threads(sweep, filter->threads[i]))
			note(sweep, true, "no configuration of %" PRId64 " threads",
			     filter->threads[i]);
	for (i = 0; i < filter->channel_count; i++) {
		for (k = 0; k < sweep->count; k++)
			if (sweep->points[k].channels == filter->channels[i])
				break;
		if (k == sweep->count)
			note(sweep, true, "no configuration of %" PRId64 " channels",
			     filter->channels[i]);
	}
	note_missing_points(sweep);
	note_others(sweep);
	note_inputs(sweep);
	return note_missing_ranks(sweep, filter);
}

/* Whether a directory holds runs, and else whether it holds reports. */
static void found_kind(struct finding *f, const char *path, const char *name)
{
	if (!strcmp(name, INDIVIDUAL) || !strcmp(name, COLLECTIVE))
		f->sweep->only_reports = tw_file_is_directory(path);
}

static void found_kind_of_threads(struct finding *f, const char *path, const char *name)
{
	const char *rest;

	if (number_between(name, "", NULL, &rest) >= 0 && !strcmp(rest, "thread"))
		list_directory(f, path, found_kind);
}

static int find(struct finding *f, struct trawl_error *err)
{
	struct trawl_sweep *sweep = f->sweep;
	size_t i;

	if (!list_directory(f, sweep->directory, found_kind_of_threads))
		return trawl_error_set(err, TRAWL_EIO, "cannot read directory '%s': %s",
				       sweep->directory, strerror(errno));
	if (!sweep->only_reports && !f->status)
		list_directory(f, sweep->directory, found_threads);
	if (!f->status)
		find_reports(f);
	if (f->status)
		return tw_no_memory(err);
	if (!sweep->count)
		return trawl_error_set(
			err, TRAWL_ENODATA,
			"no configuration%s in '%s': a sweep has directories such "
			"as 256thread/nccl_28channels",
			f->filter->thread_count + f->filter->channel_count ? " selected" : "",
			sweep->directory);
	qsort(sweep->points, sweep->count, sizeof(*sweep->points), compare_points);
	for (i = 0; i < sweep->count; i++)
		if (sweep->points[i].rank_count)
			qsort(sweep->points[i].ranks, sweep->points[i].rank_count,
			      sizeof(*sweep->points[i].ranks), compare_ranks);
	return note_all(sweep, f->filter) ? tw_no_memory(err) : 0;
}

/* Without slashes at the end. */
static char *plain_directory(struct trawl_sweep *sweep, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return tw_arena_copy(&sweep->arena, path, len);
}

int tw_sweep_find(struct trawl_sweep *sweep, const char *directory, const char *output,
		  const struct trawl_sweep_filter *filter, const struct trawl_allocator *allocator,
		  struct trawl_error *err)
{
	struct finding f = { .sweep = sweep, .filter = filter };

	*sweep = (struct trawl_sweep){ .allocator = allocator };
	tw_arena_init(&sweep->arena, allocator);
	sweep->directory = plain_directory(sweep, directory);
	sweep->output = output ? plain_directory(sweep, output) : sweep->directory;
	if (!sweep->directory || !sweep->output)
		return tw_no_memory(err);
	return find(&f, err);
}

void tw_sweep_release(struct trawl_sweep *sweep)
{
	if (sweep->allocator)
		tw_arena_release(&sweep->arena);
	memset(sweep, 0, sizeof(*sweep));
}

int tw_sweep_set(const struct trawl_sweep *sweep, const struct tw_sweep_point *point,
		 struct tw_rank_set *set, struct trawl_error *err)
{
	const char **paths = tw_alloc_array(sweep->allocator, point->rank_count, sizeof(*paths));
	size_t i, n = 0;
	int status;

	if (!paths && point->rank_count)
		return tw_no_memory(err);
	for (i = 0; i < point->rank_count; i++)
		if (point->ranks[i].trace)
			paths[n++] = point->ranks[i].trace;
	status = n ? tw_rank_set_find(set, paths, n, sweep->allocator, err) :
		     trawl_error_set(err, TRAWL_ENODATA, "%s: no traces", point->name);
	tw_free(sweep->allocator, paths, point->rank_count * sizeof(*paths));
	return status;
}

/* ---- paths */

void tw_sweep_analysis_path(const struct trawl_sweep *sweep, const char *name, struct tw_str *out)
{
	tw_str_clear(out);
	tw_str_add_cstr(out, sweep->output);
	if (!sweep->only_reports)
		tw_str_add_cstr(out, "/" ANALYSIS);
	if (name)
		tw_str_addf(out, "/%s", name);
}

void tw_sweep_report_path(const struct trawl_sweep *sweep, const struct tw_sweep_point *point,
			  int64_t rank, struct tw_str *out)
{
	tw_sweep_analysis_path(sweep, NULL, out);
	tw_str_addf(out,
		    "/%" PRId64 "thread/" INDIVIDUAL "/perf_%" PRId64 "ch_rank%" PRId64 ".xlsx",
		    point->threads, point->channels, rank);
}

void tw_sweep_collective_path(const struct trawl_sweep *sweep, const struct tw_sweep_point *point,
			      struct tw_str *out)
{
	tw_sweep_analysis_path(sweep, NULL, out);
	tw_str_addf(out, "/%" PRId64 "thread/" COLLECTIVE "/collective_%" PRId64 "ch.xlsx",
		    point->threads, point->channels);
}

void tw_sweep_comparison_path(const struct trawl_sweep *sweep, int64_t channels, int64_t rank,
			      struct tw_str *out)
{
	tw_sweep_analysis_path(sweep, NULL, out);
	tw_str_addf(out, "/comparisons/compare_%" PRId64 "ch_rank%" PRId64 "_across_threads.xlsx",
		    channels, rank);
}

void tw_sweep_merged_path(const struct trawl_sweep *sweep, const struct tw_sweep_point *point,
			  struct tw_str *out)
{
	tw_str_clear(out);
	tw_str_addf(out, "%s/merged_traces/%s_merged.json", sweep->output, point->name);
}
