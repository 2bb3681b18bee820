#include "cli/analyze/earlier_outputs.h"

#include "cli/cli.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

struct older {
	const struct timespec *since;
	size_t count;
	struct tw_str first; /* by name, with its folder */
};

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static void look_at(struct older *older, const char *dir, const char *folder, const char *name)
{
	struct tw_str path, shown;
	struct stat info;

	tw_str_init(&path, trawl_allocator_default());
	tw_str_init(&shown, trawl_allocator_default());
	tw_str_addf(&shown, "%s/%s", folder, name);
	tw_str_addf(&path, "%s/%s", dir, shown.ptr ? shown.ptr : "");
	if (!path.failed && !shown.failed && !stat(path.ptr, &info) && S_ISREG(info.st_mode) &&
	    is_before(&info.st_mtim, older->since)) {
		older->count++;
		if (!older->first.len || strcmp(shown.ptr, older->first.ptr) < 0) {
			tw_str_clear(&older->first);
			tw_str_add(&older->first, shown.ptr, shown.len);
		}
	}
	tw_str_release(&shown);
	tw_str_release(&path);
}

void cli_tell_older(const char *dir, const struct timespec *since)
{
	static const char *const folders[] = { "perf_report_csvs", "category_data",
					       "metadata",	   "category_findings",
					       "system_findings",  "replay_packages" };
	struct older older = { .since = since };
	size_t i;

	tw_str_init(&older.first, trawl_allocator_default());
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const struct dirent *entry;
		struct tw_str path;
		DIR *folder;

		tw_str_init(&path, trawl_allocator_default());
		tw_str_addf(&path, "%s/%s", dir, folders[i]);
		folder = path.failed ? NULL : opendir(path.ptr);
		while (folder && (entry = readdir(folder)))
			look_at(&older, dir, folders[i], entry->d_name);
		if (folder)
			closedir(folder);
		tw_str_release(&path);
	}
	if (older.count && !older.first.failed)
		cli_message("%zu file%s in %s of an earlier analysis (%s%s): choose another "
			    "directory with -o, or remove %s",
			    older.count, older.count == 1 ? " is" : "s are", dir, older.first.ptr,
			    older.count == 1 ? "" : ", ...", older.count == 1 ? "it" : "them");
	tw_str_release(&older.first);
}
