#define _GNU_SOURCE
#include "io/sink.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "io/temporary.h"
#include "os/file.h"
#include "os/inputs.h"
#include "text/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_SIZE ((size_t)256 << 10)
#define ATTEMPTS 100

struct tw_sink {
	const struct trawl_allocator *allocator;
	char *path;   /* as the caller gave it, for messages */
	char *target; /* after symbolic links */
	char *temporary;
	struct tw_temporary *noted;
	char *buffer;
	size_t used;
	int fd;	       /* -1 once closed, or never open: a library writes */
	int error;     /* errno of the first failure */
	bool in_place; /* a device or FIFO: temporary is target */
	bool finished;
};

/* --- messages ----------------------------------------------------------------------------- */

static int fail(struct trawl_error *err, const char *path, int number)
{
	const char *hint = "";
	char text[256];

	switch (number) {
	case ENOMEM:
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot write '%s': out of memory", path);
	case ECANCELED:
		return trawl_error_set(err, TRAWL_ECANCELED, "'%s' not written: interrupted", path);
	case ENOSPC:
	case EDQUOT:
		hint = "; free space or choose another path";
		break;
	case EACCES:
	case EPERM:
	case EROFS:
		hint = "; choose a writable path";
		break;
	}
	return trawl_error_set(err, TRAWL_EIO, "cannot write '%s': %s%s", path,
			       strerror_r(number, text, sizeof(text)), hint);
}

/* --- directories -------------------------------------------------------------------------- */

static int make_directory(const char *path, const char *whole, struct trawl_error *err)
{
	char text[256];
	int number;

	if (mkdir(path, 0777) == 0)
		return 0;
	/* Before errno: a directory that is there also gives EROFS or EACCES. */
	number = errno;
	if (tw_file_is_directory(path))
		return 0;
	if (number == EEXIST || number == ENOTDIR)
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot create directory '%s': '%s' is not a directory",
				       whole, path);
	return trawl_error_set(err, TRAWL_EIO, "cannot create directory '%s': %s%s", whole,
			       strerror_r(number, text, sizeof(text)),
			       number == EACCES || number == EROFS || number == EPERM ?
				       "; choose a writable path" :
				       "");
}

int tw_make_directories(const char *path, struct trawl_error *err)
{
	char part[PATH_MAX];
	size_t len = strlen(path), i;
	int status;

	if (len == 0 || tw_file_is_directory(path))
		return 0;
	if (len >= sizeof(part))
		return trawl_error_set(err, TRAWL_EIO, "cannot create directory '%.60s...': %s",
				       path, "name too long");
	for (i = 1; i <= len; i++) {
		/* Each prefix before a slash, and the whole. */
		if (i < len && (path[i] != '/' || path[i - 1] == '/'))
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		status = make_directory(part, path, err);
		if (status)
			return status;
	}
	return 0;
}

/* The length of the directory in front of the last component, 0 when there is none. */
static size_t directory_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

static int make_parent(const char *path, struct trawl_error *err)
{
	size_t len = directory_length(path);
	char part[PATH_MAX];

	if (len == 0)
		return 0;
	if (len >= sizeof(part))
		return fail(err, path, ENAMETOOLONG);
	memcpy(part, path, len);
	/* "/x": the root; "a//x": "a". */
	while (len > 1 && part[len - 1] == '/')
		len--;
	part[len] = '\0';
	return tw_make_directories(part, err);
}

/* --- opening ------------------------------------------------------------------------------ */

static char *copy_text(const struct trawl_allocator *a, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = tw_alloc(a, size);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

static void free_text(const struct trawl_allocator *a, char *text)
{
	if (text)
		tw_free(a, text, strlen(text) + 1);
}

static void free_sink(struct tw_sink *sink)
{
	const struct trawl_allocator *a = sink->allocator;

	if (sink->fd >= 0)
		close(sink->fd);
	if (tw_temporary_forget(sink->noted))
		free_text(a, sink->temporary);
	tw_free(a, sink->buffer, BUFFER_SIZE);
	free_text(a, sink->path);
	free_text(a, sink->target);
	tw_free(a, sink, sizeof(*sink));
}

/* Fills target, in_place and *mode; 0 or an errno. */
static int find_target(struct tw_sink *sink, mode_t *mode)
{
	char resolved[PATH_MAX];
	const char *target = sink->path;
	struct stat st;
	bool exists;

	exists = lstat(target, &st) == 0;
	if (exists && S_ISLNK(st.st_mode)) {
		if (!realpath(target, resolved))
			return errno;
		target = resolved;
		exists = stat(target, &st) == 0;
	}
	if (!exists && errno != ENOENT)
		return errno;
	if (target[strlen(target) - 1] == '/' || (exists && S_ISDIR(st.st_mode)))
		return EISDIR;
	*mode = 0;
	if (exists) {
		if (faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0)
			return errno;
		sink->in_place = !S_ISREG(st.st_mode);
		*mode = st.st_mode & 0777;
	}
	sink->target = copy_text(sink->allocator, target);
	return sink->target ? 0 : ENOMEM;
}

static void random_name(char part[TW_TEMPORARY_RANDOM])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	static _Atomic unsigned counter;
	struct timespec now;
	uint64_t value;
	int i;

	clock_gettime(CLOCK_REALTIME, &now);
	value = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	value = tw_hash_u64(value ^ tw_hash_u64((uint64_t)getpid()));
	value = tw_hash_u64(value + atomic_fetch_add(&counter, 1));
	for (i = 0; i < TW_TEMPORARY_RANDOM; i++, value /= sizeof(letters) - 1)
		part[i] = letters[value % (sizeof(letters) - 1)];
}

/* Room for the name with the random part still to come; 0 or ENOMEM. */
static int name_temporary(struct tw_sink *sink, char **random_part)
{
	size_t directory = directory_length(sink->target);
	size_t name = strlen(sink->target) - directory;
	char ending[TW_TEMPORARY_ENDING];
	size_t ending_len = tw_temporary_ending_of_name(ending), size;

	/* A name as long as names may be leaves no room for ours. */
	if (name > NAME_MAX - 2 - ending_len)
		name = NAME_MAX - 2 - ending_len;
	size = directory + 1 + name + 1 + ending_len + 1;
	sink->temporary = tw_alloc(sink->allocator, size);
	if (!sink->temporary)
		return ENOMEM;
	snprintf(sink->temporary, size, "%.*s.%.*s.%s", (int)directory, sink->target, (int)name,
		 sink->target + directory, ending);
	*random_part = sink->temporary + size - 1 - TW_TEMPORARY_RANDOM;
	return 0;
}

/* What processes left there that could not clean up. */
static void clean_directory(const char *target)
{
	size_t len = directory_length(target);
	char directory[PATH_MAX];

	if (len >= sizeof(directory))
		return;
	memcpy(directory, target, len);
	directory[len] = '\0';
	tw_temporary_clean(len ? directory : ".");
}

/*
 * The name is noted before the file exists and looked after again after it: a signal at any
 * point between leaves nothing.
 */
static int create_temporary(struct tw_sink *sink, mode_t mode)
{
	char *random_part;
	int error = name_temporary(sink, &random_part), i;

	if (!error)
		clean_directory(sink->target);
	for (i = 0; !error && i < ATTEMPTS; i++) {
		random_name(random_part);
		sink->noted = tw_temporary_note(sink->temporary);
		if (!sink->noted)
			return ENOMEM;
		sink->fd = open(sink->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (sink->fd >= 0)
			break;
		error = errno;
		if (!tw_temporary_forget(sink->noted)) {
			sink->temporary = NULL;
			error = ECANCELED;
		}
		sink->noted = NULL;
		if (error == EEXIST && i + 1 < ATTEMPTS)
			error = 0;
	}
	if (error)
		return error;
	if (tw_temporary_ending()) {
		unlink(sink->temporary);
		return ECANCELED;
	}
	/* The permissions of the file that is replaced; that they cannot be had is no failure. */
	if (mode && fchmod(sink->fd, mode) != 0)
		errno = 0;
	return 0;
}

static int open_in_place(struct tw_sink *sink)
{
	sink->temporary = copy_text(sink->allocator, sink->target);
	if (!sink->temporary)
		return ENOMEM;
	sink->fd = open(sink->target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return sink->fd < 0 ? errno : 0;
}

static int open_sink(struct tw_sink *sink, const char *path)
{
	mode_t mode = 0;
	int error;

	sink->path = copy_text(sink->allocator, path);
	if (!sink->path)
		return ENOMEM;
	error = find_target(sink, &mode);
	if (error)
		return error;
	return sink->in_place ? open_in_place(sink) : create_temporary(sink, mode);
}

int tw_sink_check(const char *path, struct trawl_error *err)
{
	return tw_inputs_have(path) ?
		       trawl_error_set(err, TRAWL_EUSAGE,
				       "cannot write '%s': it is one of the inputs", path) :
		       0;
}

static int open_any(struct tw_sink **out, const char *path, bool buffered,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_sink *sink;
	int status, error;

	*out = NULL;
	if (!*path)
		return trawl_error_set(err, TRAWL_EUSAGE, "cannot write: the file name is empty");
	status = tw_sink_check(path, err);
	if (!status)
		status = make_parent(path, err);
	if (status)
		return status;
	sink = tw_alloc_array(allocator, 1, sizeof(*sink));
	if (!sink)
		return fail(err, path, ENOMEM);
	sink->allocator = allocator;
	sink->fd = -1;
	error = open_sink(sink, path);
	if (!error && buffered) {
		sink->buffer = tw_alloc(allocator, BUFFER_SIZE);
		if (!sink->buffer)
			error = ENOMEM;
	}
	if (error) {
		tw_sink_abort(sink);
		return fail(err, path, error);
	}
	*out = sink;
	return 0;
}

int tw_sink_open(struct tw_sink **out, const char *path, const struct trawl_allocator *allocator,
		 struct trawl_error *err)
{
	return open_any(out, path, true, allocator, err);
}

int tw_sink_open_path(struct tw_sink **out, const char *path,
		      const struct trawl_allocator *allocator, struct trawl_error *err)
{
	int status = open_any(out, path, false, allocator, err);

	if (status)
		return status;
	close((*out)->fd);
	(*out)->fd = -1;
	return 0;
}

const char *tw_sink_temporary(const struct tw_sink *sink)
{
	return sink->temporary;
}

/* --- writing ------------------------------------------------------------------------------ */

static void write_out(struct tw_sink *sink, const char *bytes, size_t len)
{
	while (len && !sink->error) {
		ssize_t done = write(sink->fd, bytes, len);

		if (done < 0) {
			if (errno != EINTR)
				sink->error = errno;
			continue;
		}
		bytes += done;
		len -= (size_t)done;
	}
}

static void flush(struct tw_sink *sink)
{
	write_out(sink, sink->buffer, sink->used);
	sink->used = 0;
}

void tw_sink_write(struct tw_sink *sink, const char *bytes, size_t len)
{
	if (sink->error || !len)
		return;
	if (len > BUFFER_SIZE - sink->used)
		flush(sink);
	if (len >= BUFFER_SIZE) {
		write_out(sink, bytes, len);
		return;
	}
	memcpy(sink->buffer + sink->used, bytes, len);
	sink->used += len;
}

int tw_sink_finish(struct tw_sink *sink, struct trawl_error *err)
{
	if (!sink->finished && sink->fd >= 0) {
		flush(sink);
		/* Some file systems say only here that the space did not suffice. */
		if (close(sink->fd) != 0 && errno != EINTR && !sink->error)
			sink->error = errno;
		sink->fd = -1;
		tw_free(sink->allocator, sink->buffer, BUFFER_SIZE);
		sink->buffer = NULL;
	}
	sink->finished = true;
	return sink->error ? fail(err, sink->path, sink->error) : 0;
}

int tw_sink_commit(struct tw_sink *sink, struct trawl_error *err)
{
	int status = tw_sink_finish(sink, err);

	/* It may have become one meanwhile. */
	if (!status)
		status = tw_sink_check(sink->path, err);
	if (!status && !sink->in_place && rename(sink->temporary, sink->target) != 0)
		status = fail(err, sink->path, tw_temporary_ending() ? ECANCELED : errno);
	if (status)
		tw_sink_abort(sink);
	else
		free_sink(sink);
	return status;
}

void tw_sink_abort(struct tw_sink *sink)
{
	if (!sink)
		return;
	if (sink->noted && !sink->in_place)
		unlink(sink->temporary);
	free_sink(sink);
}

int tw_sink_write_text(const char *path, const struct tw_str *text,
		       const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_sink *sink;
	int status;

	if (text->failed)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot write '%s': out of memory", path);
	status = tw_sink_open(&sink, path, allocator, err);
	if (status)
		return status;
	if (text->len)
		tw_sink_write(sink, text->ptr, text->len);
	return tw_sink_commit(sink, err);
}

void tw_sink_unlink_open(void)
{
	tw_temporary_unlink_all();
}
