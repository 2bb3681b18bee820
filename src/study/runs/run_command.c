/* The commands of a sweep: what runs, with which environment, where. */
#define _GNU_SOURCE
#include "study/runs/runs.h"

#include "base/alloc.h"

#include <string.h>
#include <unistd.h>

/* What marks the processes of a run in a container. */
#define TOKEN "TRAWL_SWEEP_RUN"
/* A container that does not answer is not waited for longer. */
#define REACH_NS INT64_C(20000000000)

/* The trainer's parser keeps the last --override alone, so there is one, with both settings. */
static const char *const trainer[] = {
	"torchrun",
	"--nproc_per_node",
	"{nproc}",
	"train.py",
	"--config",
	"{config}",
	"--override",
	"profiling.tensorboard=false",
	"training.output_dir={out}",
};

#define TRAINER_WORDS (sizeof(trainer) / sizeof(trainer[0]))
/* docker exec -e VARIABLE ... NAME and rocprofv3 ... in front, NULL behind. */
#define OTHER_WORDS (2 + 2 * (TW_RUN_VARIABLES + 1) + 1 + 6 + 1)

/* ---- the environment */

const char *tw_run_variable(struct tw_runs *runs, const struct tw_run_point *point, size_t i)
{
	static const struct {
		const char *name;
		int64_t value; /* -1: threads, -2: channels */
	} variables[TW_RUN_VARIABLES] = {
		{ "RCCL_THREADS_PER_BLOCK", -1 },
		{ "NCCL_MAX_NCHANNELS", -2 },
		{ "HSA_ENABLE_SDMA", 0 },
		{ "PYTORCH_ROCM_PROFILER_ENABLE_TRACING", 1 },
	};
	int64_t value = variables[i].value;
	char text[80];
	int len;

	if (value < 0)
		value = value == -1 ? point->threads : point->channels;
	len = snprintf(text, sizeof(text), "%s=%lld", variables[i].name, (long long)value);
	return tw_arena_copy(&runs->arena, text, (size_t)len);
}

/* Whether an entry of the environment is of the same variable as NAME=VALUE. */
static bool is_same_variable(const char *entry, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1;

	return !strncmp(entry, variable, len);
}

const char *const *tw_run_environment(struct tw_runs *runs, const struct tw_run_point *point)
{
	const char *own[TW_RUN_VARIABLES], **all;
	size_t own_count = runs->options->container ? 0 : TW_RUN_VARIABLES, count = 0, n, i, v;

	for (n = 0; environ[n];)
		n++;
	all = tw_arena_alloc(&runs->arena, (n + TW_RUN_VARIABLES + 1) * sizeof(*all));
	for (v = 0; v < own_count; v++) {
		own[v] = tw_run_variable(runs, point, v);
		if (!own[v])
			return NULL;
	}
	if (!all)
		return NULL;
	for (i = 0; i < n; i++) {
		for (v = 0; v < own_count && !is_same_variable(environ[i], own[v]);)
			v++;
		if (v == own_count)
			all[count++] = environ[i];
	}
	for (v = 0; v < own_count; v++)
		all[count++] = own[v];
	all[count] = NULL;
	return all;
}

/* ---- words */

/* What {NAME} stands for at `text`, and how long that is; NULL: nothing. */
static const char *replacement(const struct tw_runs *runs, const struct tw_run_point *point,
			       const char *text, char number[32], size_t *len)
{
	const struct {
		const char *name, *text;
		int64_t number;
	} all[] = {
		{ "{out}", point->directory, 0 },
		{ "{config}", runs->options->config, 0 },
		{ "{nproc}", NULL, runs->options->processes },
		{ "{threads}", NULL, point->threads },
		{ "{channels}", NULL, point->channels },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		*len = strlen(all[i].name);
		if (strncmp(text, all[i].name, *len))
			continue;
		snprintf(number, 32, "%lld", (long long)all[i].number);
		return all[i].text ? all[i].text : number;
	}
	return NULL;
}

static const char *fill_word(struct tw_runs *runs, const struct tw_run_point *point,
			     const char *word)
{
	const char *text, *copy;
	struct tw_str out;
	char number[32];
	size_t len;

	tw_str_init(&out, runs->allocator);
	while (*word) {
		text = *word == '{' ? replacement(runs, point, word, number, &len) : NULL;
		if (text) {
			tw_str_add_cstr(&out, text);
			word += len;
		} else {
			tw_str_add_char(&out, *word++);
		}
	}
	copy = out.failed ? NULL : tw_arena_copy(&runs->arena, out.len ? out.ptr : "", out.len);
	tw_str_release(&out);
	return copy;
}

static const char *token_variable(struct tw_runs *runs)
{
	char text[64];
	int len = snprintf(text, sizeof(text), TOKEN "=%s", runs->token);

	return tw_arena_copy(&runs->arena, text, (size_t)len);
}

static size_t add_container(struct tw_runs *runs, const struct tw_run_point *point, bool marked,
			    const char **words)
{
	size_t n = 0, i;

	words[n++] = "docker";
	words[n++] = "exec";
	for (i = 0; i < TW_RUN_VARIABLES; i++) {
		words[n++] = "-e";
		words[n++] = tw_run_variable(runs, point, i);
	}
	if (marked) {
		words[n++] = "-e";
		words[n++] = token_variable(runs);
	}
	words[n++] = runs->options->container;
	return n;
}

static size_t add_rocprof(struct tw_runs *runs, const struct tw_run_point *point,
			  const char **words)
{
	const struct tw_runs_options *o = runs->options;
	size_t n = 0;

	words[n++] = "rocprofv3";
	if (o->rocprof_input) {
		words[n++] = "-i";
		words[n++] = o->rocprof_input;
	} else {
		words[n++] = "--kernel-trace";
		if (o->stats)
			words[n++] = "--stats";
	}
	words[n++] = "-d";
	words[n++] = fill_word(runs, point, "{out}/rocprof_traces");
	words[n++] = "--";
	return n;
}

const char *const *tw_run_command(struct tw_runs *runs, const struct tw_run_point *point,
				  bool marked)
{
	const struct tw_runs_options *o = runs->options;
	const char *const *command = o->command_count ? o->command : trainer;
	size_t count = o->command_count ? o->command_count : TRAINER_WORDS, n = 0, i;
	const char **words = tw_arena_alloc(&runs->arena, (count + OTHER_WORDS) * sizeof(*words));

	if (!words)
		return NULL;
	if (o->container)
		n += add_container(runs, point, marked, words);
	if (o->rocprof)
		n += add_rocprof(runs, point, words + n);
	for (i = 0; i < count; i++)
		words[n++] = fill_word(runs, point, command[i]);
	for (i = 0; i < n; i++)
		if (!words[i])
			return NULL;
	words[n] = NULL;
	return words;
}

/* ---- in a container */

/*
 * docker passes no signal on to what it has started by exec, and its end is not the end of that.
 * Processes are told by their environment, which is that of the command unless they change it.
 */
static const char reach_script[] = "none=1; for p in /proc/[0-9]*; do "
				   "if grep -qs \"" TOKEN "=$2\" \"$p/environ\"; then none=0; "
				   "kill -\"$1\" \"${p#/proc/}\"; fi; done; exit $none";

bool tw_run_reach(void *context, int signal_number)
{
	const struct tw_runs *runs = context;
	char number[16];
	const char *const words[] = {
		"docker", "exec", runs->options->container,
		"sh",	  "-c",	  reach_script,
		"sh",	  number, runs->token,
		NULL,
	};
	const struct tw_process process = {
		.arguments = words,
		.environment = (const char *const *)environ,
		.log = -1,
		.show = -1,
		.timeout_ns = REACH_NS,
	};
	struct tw_process_result result;

	snprintf(number, sizeof(number), "%d", signal_number);
	if (tw_process_run(&process, &result, runs->allocator, NULL))
		return false;
	return result.end == TW_PROCESS_EXITED && !result.code;
}
