#define _GNU_SOURCE
#include "cli/exporting.h"

#include "io/temporary.h"
#include "os/file.h"
#include "os/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The nsys that runs, for the handler of signals. */
static volatile sig_atomic_t running;

void cli_export_stop(void)
{
	if (running > 0)
		kill(-(pid_t)running, SIGTERM);
}

static bool is_report(const char *path)
{
	static const char *const suffixes[] = { ".nsys-rep", ".qdrep" };
	size_t len = strlen(path), i;

	for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		size_t n = strlen(suffixes[i]);

		if (len > n && !strcasecmp(path + len - n, suffixes[i]))
			return true;
	}
	return false;
}

/* A directory that nobody else may look into; what will be in it is known to the handler. */
static int make_directory(struct cli_exported *e, const char *path, struct trawl_error *err)
{
	const char *where = getenv("TMPDIR");
	char ending[TW_TEMPORARY_ENDING], *file;

	if (!where || !*where)
		where = "/tmp";
	tw_temporary_clean(where);
	tw_temporary_ending_of_name(ending);
	e->directory = cli_text("%s/%s", where, ending);
	if (!mkdtemp(e->directory)) {
		trawl_error_set(err, TRAWL_EIO,
				"%s: cannot export: cannot create a directory '%.200s': %s; set "
				"TMPDIR to another place",
				path, e->directory, strerror(errno));
		e->directory = NULL;
		return TRAWL_EIO;
	}
	file = cli_text("%s/export.sqlite", e->directory);
	e->path = file;
	e->temporaries[0] = tw_temporary_note(file);
	e->temporaries[1] = tw_temporary_note(cli_text("%s-journal", file));
	e->temporaries[2] = tw_temporary_note(e->directory);
	return 0;
}

/*
 * A process group of its own, for nsys may be a script that starts another program; and with the
 * signals that came with it, none of which comes between its start and its being known here.
 */
static int spawn_group(const posix_spawn_file_actions_t *actions, char *const *arguments,
		       pid_t *pid)
{
	posix_spawnattr_t attributes;
	sigset_t all, before;
	int error = posix_spawnattr_init(&attributes);

	if (error)
		return error;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = posix_spawnattr_setflags(&attributes,
					 POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	if (!error)
		error = posix_spawnattr_setsigmask(&attributes, &before);
	if (!error)
		error = posix_spawnp(pid, arguments[0], actions, &attributes, arguments, environ);
	if (!error)
		running = *pid;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	posix_spawnattr_destroy(&attributes);
	return error;
}

static int spawn_nsys(char *const *arguments, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	/* Standard output is for results: output of nsys goes to standard error. */
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!error)
		error = spawn_group(&actions, arguments, pid);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int wait_for(pid_t pid, const char *path, struct trawl_error *err)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	running = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFSIGNALED(status))
		return trawl_error_set(err, TRAWL_EIO, "%s: nsys export was killed by signal %d",
				       path, WTERMSIG(status));
	return trawl_error_set(err, TRAWL_EIO,
			       "%s: nsys export failed with status %d (its output is above)", path,
			       WEXITSTATUS(status));
}

static int run_nsys(const struct cli_exported *e, const char *path, struct trawl_error *err)
{
	char name[] = "nsys", verb[] = "export", type[] = "--type=sqlite";
	char force[] = "--force-overwrite=true";
	/* The path cannot be taken for an option. */
	char *const arguments[] = { name,
				    verb,
				    type,
				    force,
				    cli_text("--output=%s", e->path),
				    cli_text("%s%s", *path == '-' ? "./" : "", path),
				    NULL };
	pid_t pid;
	int error = spawn_nsys(arguments, &pid);

	if (error == ENOENT)
		return trawl_error_set(
			err, TRAWL_EIO,
			"%s: nsys not found on the PATH; export the report on a machine with "
			"Nsight Systems: nsys export --type=sqlite --output=FILE.sqlite %s",
			path, path);
	if (error)
		return trawl_error_set(err, TRAWL_EIO, "%s: cannot run nsys: %s", path,
				       strerror(error));
	return wait_for(pid, path, err);
}

int cli_export(struct cli_exported *e, const char *path, const struct cli_common *common,
	       struct trawl_error *err)
{
	struct stat info;
	int status, fd;

	*e = (struct cli_exported){ .path = path };
	if (!is_report(path))
		return 0;
	status = tw_file_open(path, &fd, err);
	if (status)
		return status;
	close(fd);
	tw_inputs_note(path);
	status = make_directory(e, path, err);
	if (!status && common->verbose)
		cli_message("%s: exported with nsys", path);
	if (!status)
		status = run_nsys(e, path, err);
	if (!status && (lstat(e->path, &info) || !S_ISREG(info.st_mode)))
		status = trawl_error_set(err, TRAWL_EIO, "%s: nsys export wrote no file", path);
	if (status)
		cli_export_end(e);
	return status;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)kind;
	(void)where;
	return remove(path);
}

/* With whatever else nsys wrote. */
void cli_export_end(struct cli_exported *e)
{
	size_t i;

	if (e->directory)
		nftw(e->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	for (i = 0; i < 3; i++)
		tw_temporary_forget(e->temporaries[i]);
}
