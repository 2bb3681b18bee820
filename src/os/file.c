#include "os/file.h"

#include "os/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The file system of pipes that have no name, as of <(command) in a shell: linux/magic.h. */
#define PIPES_WITHOUT_NAME 0x50495045

static int fail_to_open(const char *path, int number, struct trawl_error *err)
{
	return trawl_error_set(err, TRAWL_EIO, "cannot open '%s': %s", path, strerror(number));
}

static bool has_no_name(int fd)
{
	struct statfs system;

	return !fstatfs(fd, &system) && system.f_type == PIPES_WITHOUT_NAME;
}

int tw_file_open(const char *path, int *fd, struct trawl_error *err)
{
	struct stat info;
	int flags;

	do {
		*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	} while (*fd < 0 && errno == EINTR);
	if (*fd < 0)
		return fail_to_open(path, errno, err);
	if (fstat(*fd, &info) || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
		return 0;
	if (S_ISFIFO(info.st_mode) && !has_no_name(*fd)) {
		close(*fd);
		*fd = -1;
		return trawl_error_set(err, TRAWL_EIO,
				       "cannot read '%s': it is a FIFO; give a regular file", path);
	}
	/* What is there is waited for again. */
	flags = fcntl(*fd, F_GETFL);
	if (flags >= 0)
		fcntl(*fd, F_SETFL, flags & ~O_NONBLOCK);
	return 0;
}

ssize_t tw_file_read_head(const char *path, char *head, size_t size)
{
	struct stat info;
	ssize_t got = -1;
	int fd;

	if (tw_file_open(path, &fd, NULL))
		return -1;
	/* The bytes of a pipe are left to who reads it from its beginning. */
	if (!fstat(fd, &info) && S_ISREG(info.st_mode))
		got = pread(fd, head, size, 0);
	close(fd);
	return got;
}

#define READ_BYTES ((size_t)1 << 16)

/* Closes it. */
static int read_from(int fd, const char *path, size_t limit, struct tw_str *text,
		     struct trawl_error *err)
{
	size_t before = text->len;
	struct stat info;
	ssize_t n = -1;
	int number;

	/* At once, as far as the size is known: a text that grows leaves blocks after. */
	if (!fstat(fd, &info) && S_ISREG(info.st_mode) && (uintmax_t)info.st_size <= limit)
		tw_str_reserve(text, (size_t)info.st_size + READ_BYTES);
	while (text->len - before <= limit && tw_str_reserve(text, READ_BYTES)) {
		n = read(fd, text->ptr + text->len, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		text->len += (size_t)n;
	}
	number = errno;
	close(fd);
	if (text->failed)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot read '%s': out of memory", path);
	text->ptr[text->len] = 0;
	if (n < 0)
		return trawl_error_set(err, TRAWL_EIO, "cannot read '%s': %s", path,
				       strerror(number));
	if (text->len - before > limit)
		return trawl_error_set(err, TRAWL_ELIMIT, "'%s' is larger than %zu MB", path,
				       limit >> 20);
	return 0;
}

int tw_file_read(const char *path, size_t limit, struct tw_str *text, struct trawl_error *err)
{
	int fd, status = tw_file_open(path, &fd, err);

	if (status)
		return status;
	tw_inputs_note(path);
	return read_from(fd, path, limit, text, err);
}

int tw_file_read_found(const char *path, size_t limit, struct tw_str *text, struct trawl_error *err)
{
	struct stat info;
	int fd, status = tw_file_open(path, &fd, err);

	if (status)
		return status;
	if (!fstat(fd, &info) && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
		return read_from(fd, path, limit, text, err);
	close(fd);
	return trawl_error_set(err, TRAWL_EIO, "cannot read '%s': not a regular file", path);
}

const char *tw_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool tw_file_is_directory(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISDIR(info.st_mode);
}
