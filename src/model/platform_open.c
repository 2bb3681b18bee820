#include "model/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A platform's file has a few hundred bytes; this is no such file. */
#define FILE_LIMIT ((size_t)1 << 20)

static int read_file(const char *path, struct tw_str *text, struct trawl_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd < 0)
		return trawl_error_set(err, TRAWL_EIO, "cannot read '%s': %s", path,
				       strerror(errno));
	while (text->len <= FILE_LIMIT && tw_str_reserve(text, 1 << 16)) {
		n = read(fd, text->ptr + text->len, 1 << 16);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		text->len += (size_t)n;
	}
	if (n < 0 && !text->failed)
		trawl_error_set(err, TRAWL_EIO, "cannot read '%s': %s", path, strerror(errno));
	close(fd);
	if (text->failed)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot read '%s': out of memory", path);
	if (text->len > FILE_LIMIT)
		return trawl_error_set(err, TRAWL_ELIMIT,
				       "'%s' is over 1 MB: not the file of a platform", path);
	return n < 0 ? TRAWL_EIO : 0;
}

static int from_file(const char *path, struct tw_platform *platform, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, trawl_allocator_default());
	status = read_file(path, &text, err);
	if (!status)
		status = tw_platform_parse(text.ptr, text.len, path, platform,
					   trawl_allocator_default(), err);
	tw_str_release(&text);
	return status;
}

static bool looks_like_file(const char *text)
{
	size_t len = strlen(text);
	struct stat st;

	return strchr(text, '/') || (len > 5 && !strcmp(text + len - 5, ".json")) ||
	       !stat(text, &st);
}

int tw_platform_open(const char *text, struct tw_platform *platform, struct trawl_error *err)
{
	struct tw_str list;
	int status;

	if (tw_platform_find(text, platform))
		return 0;
	if (looks_like_file(text))
		return from_file(text, platform, err);
	tw_str_init(&list, trawl_allocator_default());
	tw_platform_list(&list);
	status = trawl_error_set(err, TRAWL_EUSAGE,
				 "no platform '%.100s'; known: %s; or the name of a JSON file",
				 text, list.failed ? "" : list.ptr);
	tw_str_release(&list);
	return status;
}
