/* trawl sweep run: the training runs of a sweep. */
#define _GNU_SOURCE
#include "cli/sweep/sweep.h"

#include "cli/analyze/remote.h"
#include "os/inputs.h"
#include "study/runs/runs.h"
#include "text/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS 1000000000
#define LONGEST_S 1e6 /* twelve days */
/* A trainer gives its workers as long to end. */
#define GRACE_NS (INT64_C(30) * NS)
#define TICK_NS (INT64_C(500000000))
/* What an error message shows of the end of a log. */
#define TAIL_BYTES 512
#define TAIL_SHOWN 200

struct run_command {
	const struct cli_command *command;
	struct cli_common common;
	const char *threads, *channels; /* as given */
	const char *timeout, *grace, *pause;
	bool dry_run;
	int64_t numbers[2][CLI_SWEEP_NUMBERS];
	struct tw_runs_options options;
	/* Progress. */
	bool terminal, shown;
	int64_t last_tick_ns;
};

/* ---- signals */

/* Of the process, as signals are. */
static struct tw_process_stop stop = { .wake = -1 };
static int wake_end = -1;

static void on_signal(int signal_number)
{
	int saved = errno;

	if (!stop.signal)
		stop.signal = signal_number;
	stop.count++;
	if (write(wake_end, "", 1) < 0)
		errno = saved; /* full: it is readable all the same */
	errno = saved;
}

/* From now on a signal ends what runs, and is then told. */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;
	int ends[2];
	size_t i;

	if (!pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		stop.wake = ends[0];
		wake_end = ends[1];
	}
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	/* Nobody who has stopped reading our messages ends the runs with that. */
	signal(SIGPIPE, SIG_IGN);
}

/* ---- progress */

/* From what runs have taken so far; `elapsed_ns` of the one that is at work. */
static void add_time_left(struct tw_str *out, const struct tw_runs *runs, size_t at,
			  int64_t elapsed_ns)
{
	int64_t sum = 0, left;
	size_t ran = 0, i;

	for (i = 0; i < at; i++) {
		if (runs->points[i].attempts && runs->points[i].duration_ns >= 0) {
			sum += runs->points[i].duration_ns;
			ran++;
		}
	}
	if (!ran || at >= runs->count)
		return;
	left = sum / (int64_t)ran * (int64_t)(runs->count - at) - elapsed_ns;
	tw_str_add_cstr(out, "; about ");
	tw_run_add_time(out, left > 0 ? left : 0);
	tw_str_add_cstr(out, " left");
}

static void add_place(struct tw_str *out, const struct tw_runs *runs, size_t at)
{
	tw_str_addf(out, "[%zu/%zu] %lld threads, %lld channels: ", at + 1, runs->count,
		    (long long)runs->points[at].threads, (long long)runs->points[at].channels);
}

static void clear_line(struct run_command *r)
{
	if (r->shown)
		fputs("\r\033[K", stderr);
	r->shown = false;
}

static void on_began(void *context, const struct tw_runs *runs, size_t at)
{
	struct run_command *r = context;

	(void)runs;
	(void)at;
	r->last_tick_ns = 0;
}

static void on_tick(void *context, const struct tw_runs *runs, size_t at, int64_t elapsed_ns)
{
	struct run_command *r = context;
	struct tw_str line;

	if (!r->terminal || (r->last_tick_ns && elapsed_ns - r->last_tick_ns < TICK_NS))
		return;
	r->last_tick_ns = elapsed_ns;
	tw_str_init(&line, trawl_allocator_default());
	add_place(&line, runs, at);
	if (stop.signal)
		tw_str_add_cstr(&line, "asked to end; once more to force it");
	else
		tw_run_add_time(&line, elapsed_ns);
	add_time_left(&line, runs, at, elapsed_ns);
	if (!line.failed) {
		fprintf(stderr, "\r%s\033[K", line.ptr);
		fflush(stderr);
		r->shown = true;
	}
	tw_str_release(&line);
}

/* The last line of a file that says something, as much of it as is shown. */
static void add_last_line(struct tw_str *out, const char *directory)
{
	char text[TAIL_BYTES + 1], *line, *end;
	struct tw_str path;
	ssize_t n = 0;
	off_t size;
	int fd = -1;

	tw_str_init(&path, trawl_allocator_default());
	tw_str_addf(&path, "%s/run_output.log", directory);
	if (!path.failed)
		fd = open(path.ptr, O_RDONLY | O_CLOEXEC);
	tw_str_release(&path);
	if (fd < 0)
		return;
	size = lseek(fd, 0, SEEK_END);
	if (size > 0)
		n = pread(fd, text, TAIL_BYTES, size > TAIL_BYTES ? size - TAIL_BYTES : 0);
	close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	for (end = text + n; end > text && strchr(" \t\r\n", end[-1]);)
		*--end = '\0';
	line = memrchr(text, '\n', (size_t)(end - text));
	line = line ? line + 1 : text;
	if (*line)
		tw_str_addf(out, "; its last line: %.*s", TAIL_SHOWN, line);
}

static void add_failure(struct tw_str *line, const struct tw_run_point *point)
{
	tw_str_addf(line, " (%s)", point->problem ? point->problem : "out of memory");
	if (point->attempts > 1)
		tw_str_addf(line, " after %u attempts", point->attempts);
	if (point->duration_ns < 0)
		return;
	tw_str_addf(line, "; see %s/run_output.log", point->directory);
	if (point->status != TW_RUN_INTERRUPTED)
		add_last_line(line, point->directory);
}

static void on_ended(void *context, const struct tw_runs *runs, size_t at)
{
	struct run_command *r = context;
	const struct tw_run_point *point = &runs->points[at];
	bool fine = point->status == TW_RUN_SUCCESS || point->status == TW_RUN_SKIPPED;
	struct tw_str line;

	clear_line(r);
	if (fine && r->common.quiet)
		return;
	tw_str_init(&line, trawl_allocator_default());
	add_place(&line, runs, at);
	tw_str_add_cstr(&line, tw_run_status_name(point->status));
	if (point->duration_ns >= 0) {
		tw_str_add_cstr(&line, " in ");
		tw_run_add_time(&line, point->duration_ns);
	}
	if (!fine)
		add_failure(&line, point);
	if (!stop.signal)
		add_time_left(&line, runs, at + 1, 0);
	cli_message("%s", line.failed ? "out of memory" : line.ptr);
	tw_str_release(&line);
}

static void on_warn(void *context, const char *line)
{
	struct run_command *r = context;

	clear_line(r);
	if (!r->common.quiet)
		cli_message("%s", line);
}

/* ---- options */

/* Seconds, fractions allowed; -1 to go on. */
static int take_seconds(const struct run_command *r, const char *option, const char *text,
			int64_t *ns)
{
	const char *behind;
	double value;

	if (!text)
		return -1;
	behind = tw_is_digit(*text) ? tw_parse_real(text, &value) : NULL;
	if (!behind || *behind || !(value <= LONGEST_S))
		return cli_usage_error(r->command, "--%s: '%.60s' is not a number of seconds",
				       option, text);
	*ns = llround(ceil(value * NS));
	return -1;
}

static int take_list(const struct run_command *r, const char *option, const char *text,
		     int64_t *numbers, size_t *count)
{
	int status = cli_numbers(r->command, option, text, numbers, count);

	if (status < 0 && !numbers[0])
		return cli_usage_error(r->command, "--%s: 0 is none", option);
	return status;
}

static int take_values(struct run_command *r)
{
	struct tw_runs_options *o = &r->options;
	int status = take_list(r, "threads", r->threads, r->numbers[0], &o->thread_count);

	if (status < 0)
		status = take_list(r, "channels", r->channels, r->numbers[1], &o->channel_count);
	if (status < 0)
		status = take_seconds(r, "timeout", r->timeout, &o->timeout_ns);
	if (status < 0)
		status = take_seconds(r, "grace", r->grace, &o->grace_ns);
	if (status < 0)
		status = take_seconds(r, "pause", r->pause, &o->pause_ns);
	o->threads = r->numbers[0];
	o->channels = r->numbers[1];
	return status;
}

static int check_options(struct run_command *r, int count, char **argv)
{
	struct tw_runs_options *o = &r->options;
	const char *complaint;

	if (count > 1 || (count && o->directory))
		return cli_usage_error(r->command, "one directory for the sweep, not %d%s",
				       count + (o->directory != NULL),
				       count > 1 ? "; a command stands behind '--'" : "");
	if (count)
		o->directory = argv[0];
	if (o->directory && !*o->directory)
		return cli_usage_error(r->command, "the name of the directory is empty");
	if (!o->rocprof && (o->stats || o->rocprof_input))
		return cli_usage_error(r->command, "--%s is of rocprofv3: it goes with --rocprof",
				       o->stats ? "stats" : "rocprof-input");
	complaint = o->container ? cli_remote_complaint(o->container) : NULL;
	if (complaint)
		return cli_usage_error(r->command, "--container: the name %s", complaint);
	if (o->stats && o->rocprof_input && !r->common.quiet)
		cli_message("--stats is not given to rocprofv3: with --rocprof-input it is set in "
			    "that file");
	return take_values(r);
}

/* What stands behind "--" is the command; how many arguments are in front of it. */
static int split_command(struct run_command *r, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--");)
		i++;
	if (i == argc)
		return argc;
	r->options.command = (const char *const *)argv + i + 1;
	r->options.command_count = (size_t)(argc - i - 1);
	return i;
}

/* ---- what comes of it */

/* The command of each as a shell takes it. */
static int show_commands(struct tw_runs *runs)
{
	struct tw_str out;
	size_t i, v;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 0; i < runs->count; i++) {
		const struct tw_run_point *point = &runs->points[i];
		const char *const *word = tw_run_command(runs, point, false);

		if (runs->options->skip_existing && tw_runs_is_done(runs, point)) {
			tw_str_addf(&out, "# has succeeded: %s\n", point->directory);
			continue;
		}
		for (v = 0; v < TW_RUN_VARIABLES && !runs->options->container; v++) {
			const char *variable = tw_run_variable(runs, point, v);

			tw_str_addf(&out, "%s ", variable ? variable : "");
			out.failed = out.failed || !variable;
		}
		for (; word && *word; word++) {
			cli_quote_word(&out, *word);
			tw_str_add_char(&out, word[1] ? ' ' : '\n');
		}
		out.failed = out.failed || !word;
	}
	return cli_print_str(&out);
}

static int exit_status(const struct tw_runs *runs)
{
	size_t good = 0, i;

	for (i = 0; i < runs->count; i++)
		good += runs->points[i].status == TW_RUN_SUCCESS ||
			runs->points[i].status == TW_RUN_SKIPPED;
	/* As a shell tells of a program that a signal has ended. */
	if (stop.signal && good < runs->count)
		return 128 + stop.signal;
	if (good == runs->count)
		return CLI_DONE;
	return good ? CLI_INCOMPLETE : CLI_FAILED;
}

static int run_all(struct run_command *r, struct tw_runs *runs)
{
	struct trawl_error err;
	int status, printed = CLI_DONE;

	catch_signals();
	if (!r->common.quiet)
		cli_message("%zu run%s into '%s'", runs->count, runs->count == 1 ? "" : "s",
			    runs->directory);
	status = tw_runs_run(runs, &err);
	clear_line(r);
	if (status)
		return cli_fail(&err);
	status = exit_status(runs);
	if (!r->options.no_summary)
		printed = cli_print_table(tw_runs_table(runs), r->common.format, "sweep_runs");
	if (stop.signal && status > CLI_GATE)
		cli_message("interrupted; to go on, give the same options with --skip-existing -o "
			    "'%s'",
			    runs->directory);
	else if (status != CLI_FAILED && !r->common.quiet)
		cli_message("what came of them: trawl sweep all '%s'", runs->directory);
	return printed ? printed : status;
}

int cli_sweep_run(const struct cli_command *command, int argc, char **argv)
{
	struct run_command r = {
		.command = command,
		.threads = "256,512",
		.channels = "28,42,56,70",
		.options = { .config = "config/distributed.yaml",
			     .processes = 8,
			     .grace_ns = GRACE_NS,
			     .show = -1,
			     .stop = &stop,
			     .began = on_began,
			     .tick = on_tick,
			     .ended = on_ended,
			     .warn = on_warn },
	};
	struct tw_runs_options *o = &r.options;
	const struct cli_option own[] = {
		{ "channels", 'c', CLI_TEXT, "LIST", &r.channels,
		  "NCCL channels (default: 28,42,56,70)" },
		{ "threads", 't', CLI_TEXT, "LIST", &r.threads,
		  "RCCL threads per block (default: 256,512)" },
		{ "config", 'f', CLI_TEXT, "FILE", &o->config,
		  "of the trainer (default: config/distributed.yaml)" },
		{ "output-dir", 'o', CLI_TEXT, "DIR", &o->directory,
		  "the sweep (default: experiments/sweep_<time>)" },
		{ "nproc", 'p', CLI_POSITIVE, "N", &o->processes,
		  "processes of a run (default: 8)" },
		{ "skip-existing", 's', CLI_FLAG, NULL, &o->skip_existing,
		  "not those that have succeeded before" },
		{ "no-aggregate", 'n', CLI_FLAG, NULL, &o->no_summary, "no summary at the end" },
		{ "rocprof", 'r', CLI_FLAG, NULL, &o->rocprof, "under rocprofv3" },
		{ "stats", 'm', CLI_FLAG, NULL, &o->stats, "with its statistics" },
		{ "rocprof-input", 0, CLI_TEXT, "FILE", &o->rocprof_input,
		  "its input file: which kernels and counters" },
		{ "timeout", 0, CLI_TEXT, "S", &r.timeout, "end an attempt after S seconds" },
		{ "retries", 0, CLI_COUNT, "N", &o->retries,
		  "run up to N times more what fails (default: 0)" },
		{ "grace", 0, CLI_TEXT, "S", &r.grace,
		  "seconds from SIGTERM to SIGKILL (default: 30)" },
		{ "pause", 0, CLI_TEXT, "S", &r.pause, "seconds between runs (default: 0)" },
		{ "container", 0, CLI_TEXT, "NAME", &o->container, "run it there by docker exec" },
		{ "dry-run", 0, CLI_FLAG, NULL, &r.dry_run, "print the commands, run nothing" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	struct cli_option common[8], *option;
	const struct cli_option *const tables[] = { own, common };
	struct tw_runs runs;
	struct trawl_error err;
	int count, status, before = split_command(&r, argc, argv);

	cli_table_options(&r.common, common);
	for (option = common; option->name; option++) {
		if (option->letter == 'q')
			option->help = "only errors on stderr";
		if (option->letter == 'v')
			option->help = "what the runs print, on stderr";
	}
	status = cli_begin(command, tables, 2, before, argv, &count);
	if (status < 0 && before < argc && !o->command_count)
		status = cli_usage_error(command, "no command behind '--'");
	if (status < 0)
		status = check_options(&r, count, argv);
	if (status >= 0)
		return status;
	/* Of the trainer, and under a name that a record of a run may have. */
	tw_inputs_note(o->config);
	o->context = &r;
	if (r.common.verbose)
		o->show = STDERR_FILENO;
	r.terminal = !r.common.quiet && !r.common.verbose && isatty(STDERR_FILENO);
	if (tw_runs_plan(&runs, o, trawl_allocator_default(), &err))
		status = cli_fail(&err);
	else
		status = r.dry_run ? show_commands(&runs) : run_all(&r, &runs);
	tw_runs_release(&runs);
	return status;
}
