#include "study/sweep/trials.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "data/limits.h"
#include "io/sink.h"
#include "json/value.h"
#include "os/file.h"
#include "os/inputs.h"
#include "table/table.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PREFIX "trial_"
#define MOST_BYTES ((size_t)16 << 20)
#define MOST_DIGITS 9
#define LINE_CELLS 80

/* ---- reading */

/* A copy in the arena; NULL: out of memory. */
static const char *keep(struct tw_trials *t, struct tw_str *text)
{
	const char *copy = text->failed ? NULL : tw_arena_copy(&t->arena, text->ptr, text->len);

	tw_str_release(text);
	return copy;
}

static const char *path_in(struct tw_trials *t, const char *directory, const char *name)
{
	struct tw_str path;

	tw_str_init(&path, t->allocator);
	tw_str_addf(&path, "%s/%s", directory, name);
	return keep(t, &path);
}

static int note(struct tw_trials *t, const char *line, struct trawl_error *err)
{
	if (!line)
		return tw_no_memory(err);
	if (!tw_list_grow(&t->notes, &t->note_capacity, t->note_count, sizeof(*t->notes),
			  t->allocator))
		return tw_no_memory(err);
	t->notes[t->note_count++] = line;
	return 0;
}

/* A trial that is left out, and why. */
static int leave_out(struct tw_trials *t, const char *trial, const char *why,
		     struct trawl_error *err)
{
	struct tw_str line;

	tw_str_init(&line, t->allocator);
	tw_str_addf(&line, "%s: skipped: %s", trial, why);
	return note(t, keep(t, &line), err);
}

static int add_trial(struct tw_trials *t, const struct tw_trial *trial, struct trawl_error *err)
{
	if (!tw_list_grow(&t->trials, &t->capacity, t->count, sizeof(*t->trials), t->allocator))
		return tw_no_memory(err);
	t->trials[t->count++] = *trial;
	return 0;
}

static int64_t whole_number(double value)
{
	return value >= 0 && value < 1e15 && value == floor(value) ? (int64_t)value : -1;
}

/* NULL and a reason: it cannot be used. */
static const struct tw_json_value *read_metrics(struct tw_trials *t, struct tw_arena *scratch,
						const char *path, struct trawl_error *why)
{
	const struct tw_json_value *value = NULL;
	struct tw_str text;

	tw_str_init(&text, t->allocator);
	tw_inputs_note(path);
	if (!tw_file_read_found(path, MOST_BYTES, &text, why))
		value = tw_json_parse(scratch, text.ptr, text.len, path, why);
	tw_str_release(&text);
	if (value && !isfinite(tw_json_number(tw_json_get(value, "overlap_ratio")))) {
		trawl_error_set(why, TRAWL_EFORMAT, "%s: overlap_ratio missing or not a number",
				path);
		return NULL;
	}
	return value;
}

static bool is_file(const char *path)
{
	struct stat info;

	return !stat(path, &info) && !S_ISDIR(info.st_mode);
}

static int read_trial(struct tw_trials *t, const char *directory, int64_t number,
		      struct trawl_error *err)
{
	const char *metrics = path_in(t, directory, "trial_metrics.json");
	const char *config = path_in(t, directory, "config.yaml");
	const struct tw_json_value *value;
	struct trawl_error why = { 0 };
	struct tw_arena scratch;
	int status;

	if (!metrics || !config)
		return tw_no_memory(err);
	if (!is_file(metrics))
		return leave_out(t, directory, "no trial_metrics.json", err);
	if (!is_file(config))
		return leave_out(t, directory, "no config.yaml", err);
	tw_arena_init(&scratch, t->allocator);
	value = read_metrics(t, &scratch, metrics, &why);
	if (value) {
		const struct tw_trial trial = {
			.number = number,
			.overlap_ratio = tw_json_number(tw_json_get(value, "overlap_ratio")),
			.compute_ms = tw_json_number(tw_json_get(value, "avg_compute_ms")),
			.overlap_ms = tw_json_number(tw_json_get(value, "avg_overlap_ms")),
			.iterations =
				whole_number(tw_json_number(tw_json_get(value, "num_iterations"))),
		};

		status = add_trial(t, &trial, err);
	} else if (why.status == TRAWL_ENOMEM) {
		status = tw_no_memory(err);
	} else {
		status = leave_out(t, directory, why.message, err);
	}
	tw_arena_release(&scratch);
	return status;
}

/* ---- the directory */

/* The number of "trial_0012", -1: it has none. */
static int64_t number_of(const char *name)
{
	const char *digits = name + strlen(PREFIX);
	size_t n = strspn(digits, "0123456789");

	return n && n <= MOST_DIGITS && !digits[n] ? strtoll(digits, NULL, 10) : -1;
}

static int is_trial(const struct dirent *entry)
{
	return !strncmp(entry->d_name, PREFIX, strlen(PREFIX));
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* The best first; equal ones, of which there may be two of a number, by their number. */
static int compare_trials(const void *a, const void *b)
{
	const struct tw_trial *x = a, *y = b;

	return TW_COMPARE(y->overlap_ratio, x->overlap_ratio) ?: TW_ORDER_BY(x, y, number);
}

static void take_means(struct tw_trials *t)
{
	double ratios = 0, compute = 0;
	size_t known = 0, i;

	for (i = 0; i < t->count; i++) {
		ratios += t->trials[i].overlap_ratio;
		if (isfinite(t->trials[i].compute_ms)) {
			compute += t->trials[i].compute_ms;
			known++;
		}
	}
	t->mean_ratio = t->count ? ratios / (double)t->count : (double)NAN;
	t->mean_compute_ms = known ? compute / (double)known : (double)NAN;
}

static int read_all(struct tw_trials *t, const char *directory, struct dirent **entries, int count,
		    struct trawl_error *err)
{
	int status = 0, i;

	for (i = 0; i < count && !status; i++) {
		const char *path = path_in(t, directory, entries[i]->d_name);
		int64_t number = number_of(entries[i]->d_name);

		if (!path)
			status = tw_no_memory(err);
		else if (!tw_file_is_directory(path))
			continue;
		else if (number < 0)
			status = leave_out(t, path, "no number after trial_", err);
		else
			status = read_trial(t, path, number, err);
	}
	return status;
}

int tw_trials_read(struct tw_trials *trials, const char *directory,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_trials *t = trials;
	struct dirent **entries = NULL;
	int count, status, i;

	*t = (struct tw_trials){ .allocator = allocator };
	tw_arena_init(&t->arena, allocator);
	count = scandir(directory, &entries, is_trial, compare_names);
	if (count < 0)
		return trawl_error_set(err, TRAWL_EIO, "cannot read '%s': %s", directory,
				       strerror(errno));
	status = read_all(t, directory, entries, count, err);
	for (i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	if (status)
		return status;
	if (!t->count)
		return trawl_error_set(err, TRAWL_ENODATA,
				       "%s: no trials: trial_<N>/ with trial_metrics.json and "
				       "config.yaml",
				       directory);
	qsort(t->trials, t->count, sizeof(*t->trials), compare_trials);
	take_means(t);
	return 0;
}

void tw_trials_release(struct tw_trials *t)
{
	tw_free(t->allocator, t->trials, t->capacity * sizeof(*t->trials));
	tw_free(t->allocator, t->notes, t->note_capacity * sizeof(*t->notes));
	tw_arena_release(&t->arena);
}

/* ---- the text */

static void add_rule(struct tw_str *out, char c)
{
	int i;

	for (i = 0; i < LINE_CELLS; i++)
		tw_str_add_char(out, c);
	tw_str_add_char(out, '\n');
}

/* In a column; N/A for what is not there. */
static void add_number(struct tw_str *out, double value, unsigned digits, size_t width)
{
	size_t start = out->len;

	if (isfinite(value))
		tw_str_add_real_fixed(out, value, digits);
	else
		tw_str_add_cstr(out, "N/A");
	while (!out->failed && out->len - start < width)
		tw_str_add_char(out, ' ');
	tw_str_add_char(out, ' ');
}

static void add_list(struct tw_str *out, const struct tw_trial *trials, size_t count)
{
	size_t i;

	add_rule(out, '-');
	tw_str_addf(out, "%-8s %-15s %-15s %-15s\n", "Trial", "Overlap Ratio", "Compute (ms)",
		    "Overlap (ms)");
	add_rule(out, '-');
	for (i = 0; i < count; i++) {
		tw_str_addf(out, "%-8lld ", (long long)trials[i].number);
		add_number(out, trials[i].overlap_ratio, 6, 15);
		add_number(out, trials[i].compute_ms, 2, 15);
		add_number(out, trials[i].overlap_ms, 2, 15);
		/* Nothing stands behind the last column. */
		if (!out->failed)
			out->ptr[--out->len] = '\0';
		tw_str_add_char(out, '\n');
	}
}

static void add_ratio(struct tw_str *out, const char *what, double value)
{
	tw_str_addf(out, "%s: ", what);
	tw_str_add_real_fixed(out, value, 6);
}

enum verdict { BETTER, WORSE, SIMILAR };

/* One of them, so that they add up. */
static enum verdict verdict_of(const struct tw_trial *trial, double baseline)
{
	double over = trial->overlap_ratio - baseline;

	if (fabs(over) <= TW_LIMIT_TRIALS_SIMILAR)
		return SIMILAR;
	return over > 0 ? BETTER : WORSE;
}

static void add_comparison(struct tw_str *out, const struct tw_trials *t, double baseline)
{
	static const char *const words[] = { "better than", "worse than", "similar to" };
	const struct tw_trial *best = &t->trials[0];
	size_t counts[3] = { 0 }, i;
	double gain;

	for (i = 0; i < t->count; i++)
		counts[verdict_of(&t->trials[i], baseline)]++;
	tw_str_add_cstr(out, "\n\nComparison with baseline (overlap_ratio=");
	tw_str_add_real_fixed(out, baseline, 6);
	tw_str_add_cstr(out, "):\n");
	for (i = 0; i < 3; i++) {
		tw_str_addf(out, "  Trials %s baseline: %zu (", words[i], counts[i]);
		tw_str_add_real_fixed(out, (double)counts[i] / (double)t->count * 100, 1);
		tw_str_add_cstr(out, "%)\n");
	}
	if (!(baseline > 0))
		return;
	gain = (best->overlap_ratio - baseline) / baseline * 100;
	tw_str_addf(out, "\n  Best improvement: %s", gain >= 0 ? "+" : "");
	tw_str_add_real_fixed(out, gain, 1);
	tw_str_addf(out, "%% (trial %lld, ratio=", (long long)best->number);
	tw_str_add_real_fixed(out, best->overlap_ratio, 6);
	tw_str_add_cstr(out, ")\n");
}

void tw_trials_text(const struct tw_trials *t, size_t top, double baseline, struct tw_str *out)
{
	const struct tw_trial *best = &t->trials[0], *worst = &t->trials[t->count - 1];
	size_t shown = top < t->count ? top : t->count;

	add_rule(out, '=');
	tw_str_add_cstr(out, "SWEEP SUMMARY\n");
	add_rule(out, '=');
	tw_str_addf(out, "Total trials: %zu\n", t->count);
	add_ratio(out, "Best overlap ratio", best->overlap_ratio);
	tw_str_addf(out, " (trial %lld)\n", (long long)best->number);
	add_ratio(out, "Worst overlap ratio", worst->overlap_ratio);
	tw_str_addf(out, " (trial %lld)\n", (long long)worst->number);
	add_ratio(out, "Average overlap ratio", t->mean_ratio);
	tw_str_add_char(out, '\n');
	if (isfinite(t->mean_compute_ms)) {
		tw_str_add_cstr(out, "Average compute time: ");
		tw_str_add_real_fixed(out, t->mean_compute_ms, 2);
		tw_str_add_cstr(out, " ms\n");
	}
	tw_str_addf(out, "\nTop %zu trials by overlap ratio:\n", shown);
	add_list(out, t->trials, shown);
	tw_str_addf(out, "\nBottom %zu trials by overlap ratio:\n", shown);
	add_list(out, t->trials + t->count - shown, shown);
	add_rule(out, '=');
	add_comparison(out, t, baseline);
}

/* ---- the file */

static void write_trial(struct tw_json *json, const struct tw_trial *trial)
{
	tw_json_object(json, TW_JSON_LINES);
	tw_json_key(json, "trial");
	tw_json_integer(json, trial->number);
	tw_json_key(json, "overlap_ratio");
	tw_json_real(json, trial->overlap_ratio);
	tw_json_key(json, "avg_compute_ms");
	tw_json_real(json, trial->compute_ms);
	tw_json_key(json, "avg_overlap_ms");
	tw_json_real(json, trial->overlap_ms);
	tw_json_key(json, "num_iterations");
	if (trial->iterations >= 0)
		tw_json_integer(json, trial->iterations);
	else
		tw_json_null(json);
	tw_json_end(json);
}

static void write_all(const struct tw_trials *t, struct tw_str *out)
{
	struct tw_json json;
	size_t i;

	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	tw_json_key(&json, "total_trials");
	tw_json_integer(&json, (int64_t)t->count);
	tw_json_key(&json, "best_trial");
	write_trial(&json, &t->trials[0]);
	tw_json_key(&json, "worst_trial");
	write_trial(&json, &t->trials[t->count - 1]);
	tw_json_key(&json, "avg_overlap_ratio");
	tw_json_real(&json, t->mean_ratio);
	tw_json_key(&json, "all_trials");
	tw_json_array(&json, TW_JSON_LINES);
	for (i = 0; i < t->count; i++)
		write_trial(&json, &t->trials[i]);
	tw_json_end(&json);
	tw_json_end(&json);
	tw_json_finish(&json);
}

int tw_trials_write(const struct tw_trials *t, const char *path, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, t->allocator);
	write_all(t, &text);
	status = tw_sink_write_text(path, &text, t->allocator, err);
	tw_str_release(&text);
	return status;
}

/* ---- the table */

enum { TRIAL, RATIO, COMPUTE, OVERLAP, ITERATIONS, VERDICT, COLUMNS };

static const struct trawl_column columns[COLUMNS] = {
	[TRIAL] = TW_INTEGER("trial", 8, "trial number", .values = "!>=0"),
	[RATIO] = TW_REAL("overlap ratio", "", 6, 14, "overlap_ratio of trial_metrics.json",
			  .values = "!"),
	[COMPUTE] = TW_REAL("compute (ms)", "ms", 2, 14, "avg_compute_ms"),
	[OVERLAP] = TW_REAL("overlap (ms)", "ms", 2, 14, "avg_overlap_ms"),
	[ITERATIONS] = TW_INTEGER("iterations", 10, "num_iterations", .values = ">=0"),
	[VERDICT] = TW_TEXT("against baseline", 10,
			    "better, worse, or similar: within " TW_LIMIT_TEXT(
				    TW_LIMIT_TRIALS_SIMILAR) " from the baseline",
			    .values = "!better|worse|similar"),
};

static const struct tw_table_spec spec = {
	.name = "sweep_trials",
	.meaning = "trials, largest overlap ratio first",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};

struct trawl_table *tw_trials_table(const struct tw_trials *t, double baseline)
{
	static const char *const words[] = { "better", "worse", "similar" };
	struct trawl_table *table = tw_table_new(&spec, t->allocator);
	size_t i;

	for (i = 0; table && i < t->count; i++) {
		const struct tw_trial *trial = &t->trials[i];
		size_t row = tw_table_add_row(table);

		tw_table_set_integer(table, row, TRIAL, trial->number);
		tw_table_set_real(table, row, RATIO, trial->overlap_ratio);
		tw_table_set_real(table, row, COMPUTE, trial->compute_ms);
		tw_table_set_real(table, row, OVERLAP, trial->overlap_ms);
		if (trial->iterations >= 0)
			tw_table_set_integer(table, row, ITERATIONS, trial->iterations);
		tw_table_set_str(table, row, VERDICT, words[verdict_of(trial, baseline)]);
	}
	return tw_table_finished(table);
}
