#include "model/platform.h"
#include "base/file.h"

#include <string.h>
#include <sys/stat.h>

/* A platform's file has a few hundred bytes; this is no such file. */
#define FILE_LIMIT ((size_t)1 << 20)

static int from_file(const char *path, struct tw_platform *platform, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, trawl_allocator_default());
	status = tw_file_read(path, FILE_LIMIT, &text, err);
	if (status == TRAWL_ELIMIT)
		trawl_error_set(err, status, "'%s' is over 1 MB: not the file of a platform", path);
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
