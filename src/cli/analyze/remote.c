#include "cli/analyze/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ssh's own status when it has no connection; a shell's and docker's for what they cannot run. */
#define NO_CONNECTION 255
#define NOT_RUN 126
#define NOT_FOUND 127
#define LAST_SIGNAL 64

const char *cli_remote_complaint(const char *name)
{
	if (!*name)
		return "is empty";
	/* It would be taken for an option, of which some run commands. */
	return *name == '-' ? "starts with a dash" : NULL;
}

static int read_remote_name(const struct cli_option *option, const char *text, void *value,
			    struct trawl_error *err)
{
	const char *complaint = *text ? cli_remote_complaint(text) : NULL;

	if (complaint)
		return trawl_error_set(err, TRAWL_EUSAGE, "--%s: '%.100s' %s", option->name, text,
				       complaint);
	return cli_string.read(option, text, value, err);
}

const struct cli_kind cli_remote_name = { .read = read_remote_name };

/* ---- the command */

void cli_quote_word(struct tw_str *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+:,./-";
	size_t len = strspn(text, plain);

	if (len && !text[len]) {
		tw_str_add(out, text, len);
		return;
	}
	tw_str_add_char(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			tw_str_add_cstr(out, "'\\''");
		else
			tw_str_add_char(out, *text);
	}
	tw_str_add_char(out, '\'');
}

/* The command inside the node: room for `count` + 6 words. */
static size_t inner_command(const struct cli_remote *where, const char *const *arguments,
			    size_t count, const char **words)
{
	size_t n = 0, i;

	if (where->container) {
		words[n++] = "docker";
		words[n++] = "exec";
		if (where->feeds)
			words[n++] = "-i";
		words[n++] = where->container;
	}
	words[n++] = "trawl";
	for (i = 0; i < count; i++)
		words[n++] = arguments[i];
	words[n] = NULL;
	return n;
}

/* ---- the run */

static volatile sig_atomic_t running; /* the process to pass signals on to */

static void forward_signal(int signal_number)
{
	int saved = errno;

	if (running)
		kill((pid_t)running, signal_number);
	errno = saved;
}

/* Ends together with what runs: whoever stops this program means that. */
static void forward_signals_to(pid_t pid)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = forward_signal, .sa_flags = SA_RESTART }, old;
	size_t i;

	running = pid;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

static int spawn_program(const char *const *words, bool feeds, pid_t *pid)
{
	extern char **environ;
	posix_spawn_file_actions_t files;
	int status = posix_spawn_file_actions_init(&files);

	if (status)
		return status;
	if (!feeds)
		status = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
							  O_RDONLY, 0);
	/* The words are not written to; the parameter's type is that of main(). */
	if (!status)
		status = posix_spawnp(pid, words[0], &files, NULL, (char *const *)words, environ);
	posix_spawn_file_actions_destroy(&files);
	return status;
}

static int tell_not_started(const char *program, int error)
{
	if (error == ENOENT)
		cli_message("'%s' is not on the PATH: install it, or run 'trawl analyze' where the "
			    "trace is",
			    program);
	else
		cli_message("cannot run '%s': %s", program, strerror(error));
	return CLI_FAILED;
}

/* Statuses that are not trawl's, for trawl has none of these. */
static void explain_status(const struct cli_remote *where, int status)
{
	const char *there = where->container ? where->container : where->node;

	if (status == NO_CONNECTION && where->node)
		cli_message("ssh ended with status 255: no connection to '%s', or connection "
			    "lost; try 'ssh %s'",
			    where->node, where->node);
	else if (status == NOT_RUN || status == NOT_FOUND)
		cli_message("status %d from '%s': trawl%s must be installed there, on the PATH "
			    "of non-login shells",
			    status, there, where->node && where->container ? ", or docker," : "");
	else if (status > 128 && status <= 128 + LAST_SIGNAL)
		cli_message("run on '%s' killed by signal %d", there, status - 128);
}

static int run_command(const struct cli_remote *where, const char *const *words)
{
	pid_t pid;
	int error, state, status;

	fflush(stdout);
	error = spawn_program(words, where->feeds, &pid);
	if (error)
		return tell_not_started(words[0], error);
	forward_signals_to(pid);
	while (waitpid(pid, &state, 0) < 0) {
		if (errno != EINTR) {
			cli_message("cannot wait for '%s': %s", words[0], strerror(errno));
			return CLI_FAILED;
		}
	}
	running = 0;
	status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
	explain_status(where, status);
	return status;
}

int cli_remote_run(const struct cli_remote *where, const char *const *arguments, size_t count)
{
	const char **words = cli_alloc(count + 6, sizeof(*words));
	const char *outer[] = { "ssh", where->node, NULL, NULL };
	size_t n = inner_command(where, arguments, count, words), i;
	struct tw_str line;
	int status;

	if (!where->node)
		return run_command(where, words);
	/* ssh joins its arguments with blanks, and a shell there takes them apart. */
	tw_str_init(&line, trawl_allocator_default());
	for (i = 0; i < n; i++) {
		tw_str_add_cstr(&line, i ? " " : "");
		cli_quote_word(&line, words[i]);
	}
	outer[2] = line.ptr;
	status = line.failed ? cli_no_memory() : run_command(where, outer);
	tw_str_release(&line);
	return status;
}
