#define _GNU_SOURCE
#include "render/charts/gnuplot.h"

#include "io/sink.h"
#include "os/child.h"
#include "render/width.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOW_TO_GET "install it (Debian: gnuplot-nox), or skip the charts"

void tw_gnuplot_quote(struct tw_str *out, const char *text, size_t width)
{
	struct tw_str shown;
	size_t i;

	tw_str_init(&shown, out->allocator);
	tw_shown_text(&shown, text, width);
	/*
	 * Between single quotes nothing means anything but the quote itself: no escape, no command
	 * in backquotes.  Two quotes are one, but not at the beginning (5.4).
	 */
	tw_str_add_char(out, '\'');
	for (i = 0; i < shown.len; i++) {
		if (shown.ptr[i] == '\'')
			tw_str_add_cstr(out, "\xE2\x80\x99");
		else
			tw_str_add_char(out, shown.ptr[i]);
	}
	tw_str_add_char(out, '\'');
	out->failed = out->failed || shown.failed;
	tw_str_release(&shown);
}

/* What gnuplot is given: files in memory. */
struct drawing {
	int script, messages, picture;
	int failure; /* another: the errno if it does not run */
	int error;   /* an errno: it did not run */
};

/* Descriptors that a child is given have small numbers; ours stay out of their way. */
#define FIRST_DESCRIPTOR 3

/* An empty file in memory alone, -1 with errno. */
static int memory_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC), high;

	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	close(fd);
	return high;
}

/* 0 or an errno. */
static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* In the child: no memory, no locks. */
static void become(const struct drawing *d)
{
	char name[] = "gnuplot", defaults[] = "-d", *arguments[] = { name, defaults, NULL };
	int error;

	if (dup2(d->script, STDIN_FILENO) >= 0 && dup2(d->picture, STDOUT_FILENO) >= 0 &&
	    dup2(d->messages, STDERR_FILENO) >= 0)
		execvp(name, arguments);
	error = errno;
	if (write(d->failure, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Whether it ran and ended well.  It ends with this program: nobody else would end one that hangs. */
static bool run(struct drawing *d)
{
	pid_t pid = tw_fork(SIGKILL);
	int status, error;

	if (!pid)
		become(d);
	if (pid < 0) {
		d->error = errno;
		return false;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			d->error = errno;
			return false;
		}
	}
	if (pread(d->failure, &error, sizeof(error), 0) == sizeof(error))
		d->error = error;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* PNG or SVG. */
static bool is_picture(int fd)
{
	static const unsigned char png[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	static const unsigned char svg[] = { '<', '?', 'x', 'm', 'l', ' ', 'v', 'e' };
	unsigned char head[sizeof(png)];

	return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       (!memcmp(head, png, sizeof(head)) || !memcmp(head, svg, sizeof(head)));
}

/* The last non-empty line; gnuplot shows the place of a mistake above it. */
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
	snprintf(line, size, "%.200s", *begin ? begin : "no output");
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

/* Why nothing was drawn at `path`. */
static int fail(const struct drawing *d, const char *path, struct trawl_error *err)
{
	char line[300];

	if (d->error == ENOENT)
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot draw '%s': gnuplot is not on the PATH; %s", path,
				       HOW_TO_GET);
	if (d->error == ENOMEM)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot draw '%s': out of memory", path);
	if (d->error)
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot draw '%s': gnuplot cannot be run: %s", path,
				       strerror(d->error));
	last_message(d->messages, line, sizeof(line));
	return trawl_error_set(err, TRAWL_EIO, "cannot draw '%s': gnuplot failed: %s", path, line);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

int tw_gnuplot_draw(const struct tw_str *script, const char *path,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct drawing d = { 0 };
	int status;

	if (script->failed)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot draw '%s': out of memory", path);
	d.script = memory_file("script");
	d.messages = memory_file("messages");
	d.picture = memory_file("picture");
	d.failure = memory_file("failure");
	if (d.script < 0 || d.messages < 0 || d.picture < 0 || d.failure < 0)
		d.error = errno;
	else
		d.error = write_all(d.script, script->ptr, script->len);
	if (!d.error)
		lseek(d.script, 0, SEEK_SET);
	if (!d.error && run(&d) && is_picture(d.picture))
		status = keep(d.picture, path, allocator, err);
	else
		status = fail(&d, path, err);
	close_file(d.picture);
	close_file(d.failure);
	close_file(d.messages);
	close_file(d.script);
	return status;
}
