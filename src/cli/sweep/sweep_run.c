/* trawl sweep run: the training runs of a sweep. */
#define _GNU_SOURCE
#include "cli/sweep/sweep.h"

#include "cli/analyze/remote.h"
#include "os/inputs.h"
#include "study/runs/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS 1000000000
/* A trainer gives its workers as long to end. */
#define GRACE_NS (INT64_C(30) * NS)
#define TICK_NS (INT64_C(500000000))
/* What an error message shows of the end of a log. */
#define TAIL_BYTES 512
#define TAIL_SHOWN 200

struct run_command {
	const struct cli_command *command;
	struct cli_common common;
	struct cli_numbers threads, channels;
	bool dry_run;
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
		tw_str_add_cstr(&line, "stopping; interrupt again to kill");
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
	int fd = open(cli_text("%s/run_output.log", directory), O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;
	off_t size;

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

#define AT(member) offsetof(struct run_command, member)

/* Numbers of threads or channels. */
static int read_counts(const struct cli_option *option, const char *text, void *value,
		       struct trawl_error *err)
{
	const struct cli_numbers *list = value;
	int status = cli_read_number_list(option, text, value, err);

	if (!status && !list->number[0])
		return trawl_error_set(err, TRAWL_EUSAGE, "--%s: 0 is invalid", option->name);
	return status;
}

static const struct cli_kind count_list = { .read = read_counts };

static const struct cli_option own_options[] = {
	{ "channels", 'c', &count_list, "LIST", AT(channels),
	  "NCCL channels (default: 28,42,56,70)" },
	{ "threads", 't', &count_list, "LIST", AT(threads),
	  "RCCL threads per block (default: 256,512)" },
	{ "config", 'f', &cli_string, "FILE", AT(options.config),
	  "config file of the trainer (default: config/distributed.yaml)" },
	{ "output-dir", 'o', &cli_string, "DIR", AT(options.directory),
	  "sweep directory (default: experiments/sweep_<time>)" },
	{ "nproc", 'p', &cli_positive, "N", AT(options.processes),
	  "processes per run (default: 8)" },
	{ "skip-existing", 's', &cli_flag, NULL, AT(options.skip_existing),
	  "skip runs that already succeeded" },
	{ "no-aggregate", 'n', &cli_flag, NULL, AT(options.no_summary), "write no summary" },
	{ "rocprof", 'r', &cli_flag, NULL, AT(options.rocprof), "run under rocprofv3" },
	{ "stats", 'm', &cli_flag, NULL, AT(options.stats), "with rocprofv3 --stats" },
	{ "rocprof-input", 0, &cli_string, "FILE", AT(options.rocprof_input),
	  "rocprofv3 input file (kernels and counters)" },
	{ "timeout", 0, &cli_time_s, "S", AT(options.timeout_ns),
	  "timeout of an attempt in seconds" },
	{ "retries", 0, &cli_count, "N", AT(options.retries),
	  "max retries of a failed run (default: 0)" },
	{ "grace", 0, &cli_time_s, "S", AT(options.grace_ns),
	  "seconds between SIGTERM and SIGKILL (default: 30)" },
	{ "pause", 0, &cli_time_s, "S", AT(options.pause_ns), "seconds between runs (default: 0)" },
	{ "container", 0, &cli_string, "NAME", AT(options.container),
	  "run in this container (docker exec)" },
	{ "dry-run", 0, &cli_flag, NULL, AT(dry_run), "print the commands without running them" },
	{ 0 },
};

static const struct cli_option quiet_options[] = {
	{ "quiet", 'q', &cli_flag, NULL, AT(common.quiet), "only errors on stderr" },
	{ "verbose", 'v', &cli_flag, NULL, AT(common.verbose),
	  "show the output of the runs on stderr" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	{ .title = "Common", .list = quiet_options },
	CLI_TABLE(AT(common)),
	{ 0 },
};

static int check_options(struct run_command *r, int count, char **argv)
{
	struct tw_runs_options *o = &r->options;
	const char *complaint;

	if (count > 1 || (count && o->directory))
		return cli_usage_error(r->command, "expected one sweep directory, got %d%s",
				       count + (o->directory != NULL),
				       count > 1 ? "; put the command after '--'" : "");
	if (count)
		o->directory = argv[0];
	if (o->directory && !*o->directory)
		return cli_usage_error(r->command, "empty directory name");
	if (!o->rocprof && (o->stats || o->rocprof_input))
		return cli_usage_error(r->command, "--%s needs --rocprof",
				       o->stats ? "stats" : "rocprof-input");
	complaint = o->container ? cli_remote_complaint(o->container) : NULL;
	if (complaint)
		return cli_usage_error(r->command, "--container: name %s", complaint);
	if (o->stats && o->rocprof_input && !r->common.quiet)
		cli_message("--stats ignored: with --rocprof-input it is set in that file");
	o->threads = r->threads.number;
	o->thread_count = r->threads.count;
	o->channels = r->channels.number;
	o->channel_count = r->channels.count;
	return -1;
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
			tw_str_addf(&out, "# already succeeded: %s\n", point->directory);
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
		cli_message("interrupted; to resume, repeat with --skip-existing -o '%s'",
			    runs->directory);
	else if (status != CLI_FAILED && !r->common.quiet)
		cli_message("analyze the results: trawl sweep all '%s'", runs->directory);
	return printed ? printed : status;
}

static int run_sweep(const struct cli_command *command, int argc, char **argv)
{
	static int64_t threads[] = { 256, 512 }, channels[] = { 28, 42, 56, 70 };
	struct run_command r = {
		.command = command,
		.threads = { threads, 2 },
		.channels = { channels, 4 },
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
	struct tw_runs runs;
	struct trawl_error err;
	int count, before = split_command(&r, argc, argv);
	int status = cli_begin(command, &r, before, argv, &count);

	if (status < 0 && before < argc && !o->command_count)
		status = cli_usage_error(command, "no command after '--'");
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

const struct cli_command cli_sweep_run = {
	"sweep run",
	"[DIR] [-- COMMAND...]",
	"run the training once per configuration",
	"Runs COMMAND once for each number of threads and channels, with\n"
	"RCCL_THREADS_PER_BLOCK and NCCL_MAX_NCHANNELS set; {out}, {config}, {nproc}, {threads} and\n"
	"{channels} in it are replaced (default: torchrun with train.py). Writes, into DIR,\n"
	"<T>thread/nccl_<C>channels/ with run_output.log, run_status.json and what COMMAND writes to\n"
	"{out}, nccl_thread_sweep_<time>.log and nccl_thread_sweep_summary_<time>.txt, and prints the\n"
	"summary. A failed run does not stop the others. Ctrl-C stops the current run; resume with\n"
	"--skip-existing.\n\n"
	"  trawl sweep run -c 28,42 -t 256,512 -f config/gemm.yaml --timeout 1800 experiments/gemm\n",
	options,
	run_sweep,
};
