#include "model/platform.h"
#include "os/file.h"
#include "text/suggestions.h"

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
		trawl_error_set(err, status, "'%s' is larger than 1 MB: not a platform file", path);
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

/* The names of variants of `words`, and their number. */
static size_t list_variants(const char *words, struct tw_str *out)
{
	size_t count = 0, i;

	for (i = 0; i < tw_platform_count(); i++)
		if (tw_platform_is_variant(tw_platform_name(i), words))
			tw_str_addf(out, "%s%s", count++ ? ", " : "", tw_platform_name(i));
	return count;
}

static int unknown(const char *text, struct trawl_error *err)
{
	struct tw_nearest nearest = { .count = 0 };
	struct tw_str names;
	size_t i;
	int status;

	for (i = 0; i < tw_platform_count(); i++)
		tw_nearest_add(&nearest, text, tw_platform_name(i));
	tw_str_init(&names, trawl_allocator_default());
	for (i = 0; i < nearest.count; i++)
		tw_str_addf(&names, "%s%s", i ? ", " : "", nearest.name[i]);
	status = trawl_error_set(err, TRAWL_EUSAGE,
				 "no platform '%.100s'; nearest: %s; see 'trawl platforms', or use "
				 "a JSON file",
				 text, names.failed ? "" : names.ptr);
	tw_str_release(&names);
	return status;
}

int tw_platform_open(const char *text, const struct tw_device *device, struct tw_platform *platform,
		     struct trawl_error *err)
{
	struct tw_str variants;
	int status;

	if (tw_platform_find(text, platform))
		return 0;
	if (looks_like_file(text))
		return from_file(text, platform, err);
	if (device && tw_platform_of_device(device, platform) &&
	    tw_platform_is_variant(platform->name, text))
		return 0;
	tw_str_init(&variants, trawl_allocator_default());
	if (list_variants(text, &variants))
		status = trawl_error_set(err, TRAWL_EUSAGE,
					 "platform '%.100s' has several variants: name one of %s",
					 text, variants.failed ? "" : variants.ptr);
	else
		status = unknown(text, err);
	tw_str_release(&variants);
	return status;
}

int trawl_platform_check(const char *text, struct trawl_error *err)
{
	struct tw_platform platform;
	size_t i;

	for (i = 0; i < tw_platform_count(); i++)
		if (tw_platform_is_variant(tw_platform_name(i), text))
			return 0;
	return tw_platform_open(text, NULL, &platform, err);
}
