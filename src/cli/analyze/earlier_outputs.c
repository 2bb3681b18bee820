/* Files of an earlier analysis that lie among those of this one. */
#include "cli/analyze/analysing.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

struct older {
	const struct timespec *since;
	size_t count;
	const char *first; /* by name, with its folder */
};

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static void note_older(struct older *older, const char *dir, const char *folder, const char *name)
{
	const char *shown = cli_text("%s/%s", folder, name);
	struct stat info;

	if (stat(cli_text("%s/%s", dir, shown), &info) || !S_ISREG(info.st_mode) ||
	    !is_before(&info.st_mtim, older->since))
		return;
	older->count++;
	if (!older->first || strcmp(shown, older->first) < 0)
		older->first = shown;
}

void cli_tell_older(const char *dir, const struct timespec *since)
{
	static const char *const folders[] = { "perf_report_csvs", "category_data",
					       "metadata",	   "category_findings",
					       "system_findings",  "replay_packages" };
	struct older older = { .since = since };
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		DIR *folder = opendir(cli_text("%s/%s", dir, folders[i]));
		const struct dirent *entry;

		while (folder && (entry = readdir(folder)))
			note_older(&older, dir, folders[i], entry->d_name);
		if (folder)
			closedir(folder);
	}
	if (older.count)
		cli_message("%zu file%s in %s of an earlier analysis (%s%s): choose another "
			    "directory with -o, or remove %s",
			    older.count, older.count == 1 ? " is" : "s are", dir, older.first,
			    older.count == 1 ? "" : ", ...", older.count == 1 ? "it" : "them");
}
