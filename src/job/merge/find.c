/* The traces that arguments lead to, where each rank has a directory of its own. */
#include "job/merge/merge.h"

#include "base/alloc.h"
#include "os/file.h"
#include "text/str.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* rank<N> and nothing more: N, else -1. */
static int64_t rank_of_directory(const char *name)
{
	static const char front[] = "rank";
	int64_t rank = 0;
	const char *p = name + sizeof(front) - 1;

	if (strncmp(name, front, sizeof(front) - 1) || !*p || strlen(p) > 9)
		return -1;
	for (; *p; p++) {
		if (*p < '0' || *p > '9')
			return -1;
		rank = rank * 10 + (*p - '0');
	}
	return rank;
}

static bool is_file(const char *path)
{
	struct stat info;

	return !stat(path, &info) && !S_ISDIR(info.st_mode);
}

/* Paths of a list, behind each other with a NUL each. */
struct paths {
	struct tw_str text;
	size_t count;
};

static int list_rank_directories(struct paths *paths, const char *directory, const char *name)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		size_t start = paths->text.len;

		if (rank_of_directory(entry->d_name) < 0)
			continue;
		tw_str_addf(&paths->text, "%s/%s/%s", directory, entry->d_name, name);
		if (!paths->text.failed && is_file(paths->text.ptr + start)) {
			tw_str_add_char(&paths->text, 0);
			paths->count++;
		} else {
			paths->text.len = start;
		}
	}
	closedir(dir);
	return paths->text.failed ? TRAWL_ENOMEM : 0;
}

static int find_paths(struct tw_rank_set *set, const struct paths *paths,
		      const struct trawl_allocator *allocator, struct trawl_error *err)
{
	const char **list = tw_alloc_array(allocator, paths->count, sizeof(*list));
	const char *at = paths->text.ptr;
	int status;
	size_t i;

	if (!list)
		return tw_no_memory(err);
	for (i = 0; i < paths->count; i++, at += strlen(at) + 1)
		list[i] = at;
	status = tw_rank_set_find(set, list, paths->count, allocator, err);
	tw_free(allocator, list, paths->count * sizeof(*list));
	return status;
}

/* Of what is found, files of the name asked for. */
static int find_named(struct tw_rank_set *set, const char *const *arguments, size_t count,
		      const char *name, const struct trawl_allocator *allocator,
		      struct trawl_error *err)
{
	struct tw_rank_set all = { 0 };
	struct paths paths = { .count = 0 };
	int status = tw_rank_set_find(&all, arguments, count, allocator, err);
	size_t i;

	if (status)
		return status;
	tw_str_init(&paths.text, allocator);
	for (i = 0; i < all.count; i++) {
		if (strcmp(tw_file_name(all.files[i].path), name) && !all.files[i].named)
			continue;
		tw_str_add(&paths.text, all.files[i].path, strlen(all.files[i].path) + 1);
		paths.count++;
	}
	tw_rank_set_release(&all);
	if (paths.text.failed)
		status = tw_no_memory(err);
	else if (!paths.count)
		status = trawl_error_set(err, TRAWL_ENODATA, "no trace of the name '%s' in '%s'",
					 name, count ? arguments[0] : ".");
	else
		status = find_paths(set, &paths, allocator, err);
	tw_str_release(&paths.text);
	return status;
}

int tw_merge_find(struct tw_rank_set *set, const char *const *arguments, size_t count,
		  const char *name, const struct trawl_allocator *allocator,
		  struct trawl_error *err)
{
	struct paths paths = { .count = 0 };
	int status = 0;
	size_t i;

	tw_str_init(&paths.text, allocator);
	for (i = 0; i < count && !status; i++)
		status = list_rank_directories(&paths, arguments[i],
					       name ? name : TW_MERGE_TRACE_NAME);
	if (status)
		status = tw_no_memory(err);
	/* What else is in these directories is another profile. */
	else if (paths.count && count == 1)
		status = find_paths(set, &paths, allocator, err);
	else if (name)
		status = find_named(set, arguments, count, name, allocator, err);
	else
		status = tw_rank_set_find(set, arguments, count, allocator, err);
	tw_str_release(&paths.text);
	return status;
}
