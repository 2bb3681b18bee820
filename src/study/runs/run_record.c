/* run_status.json: how the run of a configuration ended, so that a sweep can be taken up again. */
#define _GNU_SOURCE
#include "study/runs/runs.h"

#include "base/alloc.h"
#include "io/sink.h"
#include "job/set/set.h"
#include "json/value.h"
#include "os/child.h"
#include "os/file.h"

#include <string.h>
#include <sys/stat.h>

#define SCHEMA "trawl.sweep_run/1"
#define MOST_BYTES ((size_t)1 << 20)

static const char *const names[] = {
	[TW_RUN_UNKNOWN] = "UNKNOWN",	      [TW_RUN_SUCCESS] = "SUCCESS",
	[TW_RUN_FAILED] = "FAILED",	      [TW_RUN_TIMEOUT] = "TIMEOUT",
	[TW_RUN_INTERRUPTED] = "INTERRUPTED", [TW_RUN_SKIPPED] = "SKIPPED",
	[TW_RUN_RUNNING] = "RUNNING",
};

const char *tw_run_status_name(enum tw_run_status status)
{
	return names[status];
}

static const char *path_in(struct tw_runs *runs, const struct tw_run_point *point, const char *name)
{
	struct tw_str path;
	const char *copy;

	tw_str_init(&path, runs->allocator);
	tw_str_addf(&path, "%s/%s", point->directory, name);
	copy = path.failed ? NULL : tw_arena_copy(&runs->arena, path.ptr, path.len);
	tw_str_release(&path);
	return copy;
}

static void write_known(struct tw_json *json, const char *key, int64_t value, bool known)
{
	tw_json_key(json, key);
	if (known)
		tw_json_integer(json, value);
	else
		tw_json_null(json);
}

/* False: out of memory. */
static bool write_words(struct tw_json *json, struct tw_runs *runs,
			const struct tw_run_point *point)
{
	const char *const *words = tw_run_command(runs, point, false);
	const char *variable;
	size_t i;

	if (!words)
		return false;
	tw_json_key(json, "command");
	tw_json_array(json, TW_JSON_LINES);
	for (; *words; words++)
		tw_json_cstr(json, *words);
	tw_json_end(json);
	tw_json_key(json, "environment");
	tw_json_object(json, TW_JSON_LINES);
	for (i = 0; i < TW_RUN_VARIABLES; i++) {
		char name[64];
		const char *value;

		variable = tw_run_variable(runs, point, i);
		if (!variable)
			return false;
		value = strchr(variable, '=') + 1;
		snprintf(name, sizeof(name), "%.*s", (int)(value - variable - 1), variable);
		tw_json_key(json, name);
		tw_json_cstr(json, value);
	}
	tw_json_end(json);
	return true;
}

static bool write_record(struct tw_str *out, struct tw_runs *runs, const struct tw_run_point *point,
			 enum tw_run_status status, time_t start)
{
	bool over = status != TW_RUN_RUNNING, complete;
	struct tw_json json;
	struct tm utc;
	char when[40];

	tw_hold_forks();
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&start, &utc));
	tw_allow_forks();
	tw_json_init(&json, out);
	tw_json_object(&json, TW_JSON_LINES);
	tw_json_key(&json, "schema");
	tw_json_cstr(&json, SCHEMA);
	tw_json_key(&json, "status");
	tw_json_cstr(&json, names[status]);
	write_known(&json, "threads", point->threads, true);
	write_known(&json, "channels", point->channels, true);
	write_known(&json, "exit_code", point->exit_code, over && point->exit_code >= 0);
	write_known(&json, "signal", point->signal, over && point->signal);
	write_known(&json, "attempts", point->attempts, true);
	tw_json_key(&json, "start");
	tw_json_cstr(&json, when);
	tw_json_key(&json, "duration_s");
	if (over && point->duration_ns >= 0)
		tw_json_decimal(&json, point->duration_ns / 1000000, 3);
	else
		tw_json_null(&json);
	complete = write_words(&json, runs, point);
	tw_json_end(&json);
	tw_json_finish(&json);
	return complete && !out->failed;
}

int tw_run_record(struct tw_runs *runs, const struct tw_run_point *point, enum tw_run_status status,
		  time_t start, struct trawl_error *err)
{
	const char *path = path_in(runs, point, "run_status.json");
	struct tw_str text;
	int result;

	tw_str_init(&text, runs->allocator);
	if (!path || !write_record(&text, runs, point, status, start))
		result = tw_no_memory(err);
	else
		result = tw_sink_write_text(path, &text, runs->allocator, err);
	tw_str_release(&text);
	return result;
}

/* ---- reading */

static bool is_there(const char *path)
{
	struct stat info;

	return path && !stat(path, &info);
}

static bool has_traces(struct tw_runs *runs, const struct tw_run_point *point, const char *name)
{
	const char *path = path_in(runs, point, name);
	struct tw_rank_set set = { 0 };
	bool found = is_there(path) && !tw_rank_set_find(&set, &path, 1, runs->allocator, NULL) &&
		     set.count;

	tw_rank_set_release(&set);
	return found;
}

static void warn(struct tw_runs *runs, const struct tw_run_point *point, const char *what)
{
	struct tw_str line;

	if (!runs->options->warn)
		return;
	tw_str_init(&line, runs->allocator);
	tw_str_addf(&line, "%s: %s", point->directory, what);
	if (!line.failed)
		runs->options->warn(runs->options->context, line.ptr);
	tw_str_release(&line);
}

/* Whether it was run as it would be now. */
static bool is_same_command(struct tw_runs *runs, const struct tw_run_point *point,
			    const struct tw_json_value *record)
{
	const struct tw_json_value *word = tw_json_get(record, "command")->first;
	const char *const *words = tw_run_command(runs, point, false);

	if (!words)
		return true;
	for (; *words && word; words++, word = word->next)
		if (strcmp(*words, tw_json_text(word)))
			return false;
	return !*words && !word;
}

/* Without a record: a sweep of another runner. */
static bool is_done_by_others(struct tw_runs *runs, const struct tw_run_point *point)
{
	if (!is_there(path_in(runs, point, "run_output.log")) ||
	    (!has_traces(runs, point, "torch_profiler") &&
	     !has_traces(runs, point, "rocprof_traces")))
		return false;
	warn(runs, point, "no run_status.json, but log and traces: assumed done, skipped");
	return true;
}

bool tw_runs_is_done(struct tw_runs *runs, const struct tw_run_point *point)
{
	const char *path = path_in(runs, point, "run_status.json");
	const struct tw_json_value *record = NULL;
	struct trawl_error err = { 0 };
	struct tw_str text;
	bool done = false;

	if (!is_there(path))
		return is_done_by_others(runs, point);
	tw_str_init(&text, runs->allocator);
	if (!tw_file_read_found(path, MOST_BYTES, &text, &err))
		record =
			tw_json_parse(&runs->arena, text.len ? text.ptr : "", text.len, path, &err);
	if (!record)
		warn(runs, point, "cannot read run_status.json: running again");
	else
		done = !strcmp(tw_json_text(tw_json_get(record, "status")), names[TW_RUN_SUCCESS]);
	if (done && !is_same_command(runs, point, record))
		warn(runs, point, "skipped, although run with a different command");
	tw_str_release(&text);
	return done;
}

const char *tw_run_status_in(const char *directory, struct tw_arena *arena)
{
	const struct tw_json_value *record = NULL;
	struct tw_str path, text;
	const char *status = NULL;

	tw_str_init(&path, arena->allocator);
	tw_str_init(&text, arena->allocator);
	tw_str_addf(&path, "%s/run_status.json", directory);
	if (!path.failed && is_there(path.ptr) &&
	    !tw_file_read_found(path.ptr, MOST_BYTES, &text, NULL))
		record = tw_json_parse(arena, text.len ? text.ptr : "", text.len, path.ptr, NULL);
	if (record)
		status = tw_json_text(tw_json_get(record, "status"));
	tw_str_release(&text);
	tw_str_release(&path);
	return status;
}
