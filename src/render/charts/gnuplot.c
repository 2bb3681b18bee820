#define _GNU_SOURCE
#include "render/charts/gnuplot.h"

#include "io/sink.h"
#include "os/child.h"
#include "render/escape.h"
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
	out->failed = out->failed || safe.failed || shown.failed;
	tw_str_release(&safe);
	tw_str_release(&shown);
}

/* Descriptors that a child is given have small numbers; ours stay out of their way. */
#define FIRST_DESCRIPTOR 16

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

/* The first picture goes to standard output, the next to descriptors from 3 on. */
static int picture_descriptor(size_t i)
{
	return i ? STDERR_FILENO + (int)i : STDOUT_FILENO;
}

static int write_scripts(int fd, const struct tw_str *const *scripts, size_t count)
{
	char line[64];
	size_t i;
	int error = 0;

	for (i = 0; i < count && !error; i++) {
		if (scripts[i]->failed)
			return ENOMEM;
		snprintf(line, sizeof(line), "reset\nset output '/dev/fd/%d'\n",
			 picture_descriptor(i));
		if (i)
			error = write_all(fd, line, strlen(line));
		if (!error)
			error = write_all(fd, scripts[i]->ptr, scripts[i]->len);
	}
	lseek(fd, 0, SEEK_SET);
	return error;
}

/* In the child: no memory, no locks. */
static void become(const struct tw_gnuplot *d)
{
	char name[] = "gnuplot", defaults[] = "-d", *arguments[] = { name, defaults, NULL };
	bool fine = dup2(d->script, STDIN_FILENO) >= 0;
	size_t i;
	int error;

	for (i = 0; i < d->count && fine; i++)
		fine = dup2(d->pictures[i], picture_descriptor(i)) >= 0;
	if (fine && dup2(d->messages, STDERR_FILENO) >= 0)
		execvp(name, arguments);
	error = errno;
	if (write(d->failure, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* It ends with this program: nobody else would end one that hangs. */
static void start(struct tw_gnuplot *d)
{
	pid_t pid = tw_fork(SIGKILL);

	if (!pid)
		become(d);
	if (pid < 0)
		d->error = errno;
	else
		d->pid = pid;
}

void tw_gnuplot_begin(struct tw_gnuplot *drawing, const struct tw_str *const *scripts, size_t count)
{
	struct tw_gnuplot *d = drawing;
	size_t i;

	assert(count <= TW_GNUPLOT_MOST);
	*d = (struct tw_gnuplot){ .count = count };
	d->script = memory_file("script");
	d->messages = memory_file("messages");
	d->failure = memory_file("failure");
	if (d->script < 0 || d->messages < 0 || d->failure < 0)
		d->error = errno;
	for (i = 0; i < count; i++) {
		d->pictures[i] = memory_file("picture");
		if (d->pictures[i] < 0)
			d->error = errno;
	}
	if (!d->error)
		d->error = write_scripts(d->script, scripts, count);
	if (!d->error)
		start(d);
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
static int fail(const struct tw_gnuplot *d, const char *path, struct trawl_error *err)
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

/* Whether it ran and ended well. */
static bool wait_for(struct tw_gnuplot *d)
{
	int status, error;

	while (waitpid((pid_t)d->pid, &status, 0) < 0) {
		if (errno != EINTR) {
			d->error = errno;
			return false;
		}
	}
	if (pread(d->failure, &error, sizeof(error), 0) == sizeof(error))
		d->error = error;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

int tw_gnuplot_end(struct tw_gnuplot *drawing, const char *const *paths, bool *done,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_gnuplot *d = drawing;
	bool fine = !d->error && wait_for(d);
	int status = 0;
	size_t i;

	for (i = 0; i < d->count; i++) {
		struct trawl_error why;
		int kept;

		/* The last picture that it began when it failed is not whole. */
		done[i] = !d->error && is_picture(d->pictures[i]) &&
			  (fine || (i + 1 < d->count && is_picture(d->pictures[i + 1])));
		kept = done[i] ? keep(d->pictures[i], paths[i], allocator, &why) :
				 fail(d, paths[i], &why);
		done[i] = !kept;
		if (kept && !status) {
			status = kept;
			if (err)
				*err = why;
		}
		close_file(d->pictures[i]);
	}
	close_file(d->script);
	close_file(d->messages);
	close_file(d->failure);
	return status;
}

void tw_gnuplot_abandon(struct tw_gnuplot *drawing)
{
	struct tw_gnuplot *d = drawing;
	size_t i;

	if (!d->error) {
		kill((pid_t)d->pid, SIGKILL);
		wait_for(d);
	}
	for (i = 0; i < d->count; i++)
		close_file(d->pictures[i]);
	close_file(d->script);
	close_file(d->messages);
	close_file(d->failure);
}

int tw_gnuplot_draw(const struct tw_str *script, const char *path,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_gnuplot drawing;
	bool done;

	if (script->failed)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot draw '%s': out of memory", path);
	tw_gnuplot_begin(&drawing, &script, 1);
	return tw_gnuplot_end(&drawing, &path, &done, allocator, err);
}
