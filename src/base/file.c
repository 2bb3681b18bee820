#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_to_open(const char *path, struct trawl_error *err)
{
	return trawl_error_set(err, TRAWL_EIO, "cannot read '%s': %s", path, strerror(errno));
}

/* Closes it. */
static int read_from(int fd, const char *path, size_t limit, struct tw_str *text,
		     struct trawl_error *err)
{
	size_t before = text->len;
	ssize_t n = -1;
	int number;

	while (text->len - before <= limit && tw_str_reserve(text, 1 << 16)) {
		n = read(fd, text->ptr + text->len, 1 << 16);
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
		return trawl_error_set(err, TRAWL_ELIMIT, "'%s' is over %zu MB", path, limit >> 20);
	return 0;
}

int tw_file_read(const char *path, size_t limit, struct tw_str *text, struct trawl_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? fail_to_open(path, err) : read_from(fd, path, limit, text, err);
}

int tw_file_read_found(const char *path, size_t limit, struct tw_str *text, struct trawl_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;

	if (fd < 0)
		return fail_to_open(path, err);
	if (!fstat(fd, &info) && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
		return read_from(fd, path, limit, text, err);
	close(fd);
	return trawl_error_set(err, TRAWL_EIO, "cannot read '%s': it is no file", path);
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
