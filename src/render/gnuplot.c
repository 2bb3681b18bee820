#define _GNU_SOURCE
#include "render/gnuplot.h"

#include "io/sink.h"
#include "render/escape.h"
#include "render/width.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOW_TO_GET "install it (on Debian: gnuplot-nox), or do without pictures"

void tw_gnuplot_quote(struct tw_str *out, const char *text, size_t width)
{
	struct tw_str safe, shown;
	size_t i;

	tw_str_init(&safe, out->allocator);
	tw_str_init(&shown, out->allocator);
	tw_escape_terminal(&safe, text, strlen(text));
	if (width && safe.len)
		tw_shorten_middle(&shown, safe.ptr, safe.len, width);
	else
		tw_str_add(&shown, safe.len ? safe.ptr : "", safe.len);
	/*
	 * Between single quotes nothing means anything but the quote itself: no escape, no command
	 * in backquotes.  Two quotes should stand for one, but not at the beginning (5.4).
	 */
	tw_str_add_char(out, '\'');
	for (i = 0; i < shown.len; i++) {
		if (shown.ptr[i] == '\'')
			tw_str_add_cstr(out, "\xE2\x80\x99");
		else
			tw_str_add_char(out, shown.ptr[i]);
	}
	tw_str_add_char(out, '\'');
	out->failed = out->failed || safe.failed || shown.failed;
	tw_str_release(&safe);
	tw_str_release(&shown);
}

/* A file in memory alone with the text in it, its position at the start; -1 with errno. */
static int memory_file(const char *name, const char *text, size_t len)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	ssize_t n;

	while (fd >= 0 && len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			return -1;
		}
		text += n;
		len -= (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

struct files {
	int script, picture, messages;
};

/* 0 and the exit status, or an errno. */
static int spawn(const struct files *files, int *exit_status)
{
	char name[] = "gnuplot", defaults[] = "-d", *arguments[] = { name, defaults, NULL };
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);
	pid_t pid;

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, files->script, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, files->picture, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, files->messages, STDERR_FILENO);
	if (!error)
		error = posix_spawnp(&pid, name, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		return error;
	while (waitpid(pid, exit_status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

static bool is_png(int fd)
{
	static const unsigned char signature[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	unsigned char head[sizeof(signature)];

	return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       !memcmp(head, signature, sizeof(head));
}

/* The last line that says something; gnuplot shows the place of a mistake above it. */
static void last_message(int fd, char *line, size_t size)
{
	char text[2048];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *end, *begin;

	text[n > 0 ? n : 0] = '\0';
	end = text + strlen(text);
	while (end > text && (end[-1] == '\n' || end[-1] == ' '))
		*--end = '\0';
	begin = strrchr(text, '\n');
	begin = begin ? begin + 1 : text;
	while (*begin == ' ' || *begin == '\t')
		begin++;
	snprintf(line, size, "%.200s", *begin ? begin : "it drew nothing");
}

static int draw(const struct files *files, const char *path, struct trawl_error *err)
{
	char line[300];
	int status = 0, error = spawn(files, &status);

	if (error == ENOENT)
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot draw '%s': there is no gnuplot on the PATH; %s",
				       path, HOW_TO_GET);
	if (error)
		return trawl_error_set(err, error == ENOMEM ? TRAWL_ENOMEM : TRAWL_EIO,
				       "cannot draw '%s': gnuplot cannot be run: %s", path,
				       strerror(error));
	if (WIFEXITED(status) && !WEXITSTATUS(status) && is_png(files->picture))
		return 0;
	last_message(files->messages, line, sizeof(line));
	return trawl_error_set(err, TRAWL_EIO, "cannot draw '%s': gnuplot failed: %s", path, line);
}

/* The picture into its place. */
static int keep(int picture, const char *path, const struct trawl_allocator *allocator,
		struct trawl_error *err)
{
	struct tw_sink *sink;
	char block[1 << 14];
	off_t at = 0;
	ssize_t n;
	int status = tw_sink_open(&sink, path, allocator, err);

	if (status)
		return status;
	while ((n = pread(picture, block, sizeof(block), at)) > 0) {
		tw_sink_write(sink, block, (size_t)n);
		at += n;
	}
	if (!n)
		return tw_sink_commit(sink, err);
	tw_sink_abort(sink);
	return trawl_error_set(err, TRAWL_EIO, "cannot draw '%s': %s", path, strerror(errno));
}

int tw_gnuplot_png(const struct tw_str *script, const char *path,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	int status, fds[3], i;
	struct files files;

	if (script->failed)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot draw '%s': out of memory", path);
	fds[0] = files.script = memory_file("script", script->ptr, script->len);
	fds[1] = files.picture = memory_file("picture", "", 0);
	fds[2] = files.messages = memory_file("messages", "", 0);
	if (fds[0] < 0 || fds[1] < 0 || fds[2] < 0)
		status = trawl_error_set(err, TRAWL_EIO, "cannot draw '%s': %s", path,
					 strerror(errno));
	else
		status = draw(&files, path, err);
	if (!status)
		status = keep(files.picture, path, allocator, err);
	for (i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return status;
}
