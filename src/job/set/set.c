#include "job/set/set.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/order.h"
#include "os/file.h"
#include "trace/reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Of directories in directories; a tree of traces is a handful deep. */
#define DEEPEST 32

/* ---- ranks in names */

/* The number at p, -1: there is none, or one that is no rank. */
static int64_t number_at(const char *p)
{
	enum { DIGITS = 9 };
	int64_t value = 0;
	size_t n;

	for (n = 0; isdigit((unsigned char)p[n]); n++) {
		if (n == DIGITS)
			return -1;
		value = value * 10 + (p[n] - '0');
	}
	return n ? value : -1;
}

/* What a rank<N> is the rank of, by the word before it. */
enum rank_of { OF_JOB, OF_PART, OF_NOTHING };

static enum rank_of rank_of(const char *from, const char *p)
{
	/* Numbers in a node or in a dimension of parallelism; and of no process at all. */
	static const char *const parts[] = { "local", "tp", "pp",  "dp",  "ep",
					     "cp",    "sp", "etp", "edp", "dcp" };
	static const char *const others[] = { "lora", "low", "node", "matrix" };
	const char *end = p;
	size_t len, i;

	while (end > from && strchr("_-. ", end[-1]))
		end--;
	for (p = end; p > from && isalpha((unsigned char)p[-1]);)
		p--;
	len = (size_t)(end - p);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strlen(parts[i]) == len && !strncasecmp(parts[i], p, len))
			return OF_PART;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == len && !strncasecmp(others[i], p, len))
			return OF_NOTHING;
	return OF_JOB;
}

/*
 * The last rank<N> between `from` and `to` that is of the job.  *part: that of a part of it, where
 * there is one, -1: none, -2: several.
 */
static int64_t rank_between(const char *path, const char *from, const char *to, int64_t *part)
{
	static const char word[] = "rank";
	const size_t len = sizeof(word) - 1;
	const char *p;

	*part = -1;
	for (p = to; p-- > from;) {
		const char *digits = p + len;
		enum rank_of of;
		int64_t rank;

		if (strncasecmp(p, word, len) || (p > path && isalpha((unsigned char)p[-1])))
			continue;
		if (*digits && strchr("_-[/", *digits))
			digits++;
		rank = number_at(digits);
		of = rank_of(from, p);
		if (rank >= 0 && of == OF_JOB)
			return rank;
		if (rank >= 0 && of == OF_PART)
			*part = *part == -1 ? rank : -2;
	}
	return -1;
}

int64_t tw_rank_in_path(const char *path)
{
	const char *name = tw_file_name(path);
	int64_t of_name, of_directory;
	int64_t rank = rank_between(path, name, name + strlen(name), &of_name);

	if (rank < 0)
		rank = rank_between(path, path, name, &of_directory);
	/* Of one part: it may be all there is. */
	if (rank < 0)
		rank = of_name != -1 ? of_name : of_directory;
	return rank >= 0 ? rank : -1;
}

const char *tw_without_path(const char *message, const char *path)
{
	size_t len = strlen(path);

	if (strncmp(message, path, len) || message[len] != ':')
		return message;
	return message + len + 1 + (message[len + 1] == ' ');
}

/* ---- order of names */

/* Numbers in names by value, else bytes; equal only when the names are. */
static int compare_names(const char *a, const char *b)
{
	const char *x = a, *y = b;

	while (*x && *y) {
		if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
			size_t n, m;
			int order;

			while (*x == '0' && isdigit((unsigned char)x[1]))
				x++;
			while (*y == '0' && isdigit((unsigned char)y[1]))
				y++;
			n = strspn(x, "0123456789");
			m = strspn(y, "0123456789");
			if (n != m)
				return n < m ? -1 : 1;
			order = strncmp(x, y, n);
			if (order)
				return order;
			x += n;
			y += n;
		} else if (*x != *y) {
			return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
		} else {
			x++;
			y++;
		}
	}
	if (*x || *y)
		return *x ? 1 : -1;
	return strcmp(a, b);
}

static int compare_files(const void *a, const void *b)
{
	return compare_names(((const struct tw_rank_file *)a)->path,
			     ((const struct tw_rank_file *)b)->path);
}

/* ---- finding files */

static int add_file(struct tw_rank_set *set, const char *path, const struct stat *info, bool named,
		    struct trawl_error *err)
{
	size_t size = strlen(path) + 1;
	char *copy;

	if (!tw_list_grow(&set->files, &set->capacity, set->count, sizeof(*set->files),
			  set->allocator))
		return tw_no_memory(err);
	copy = tw_alloc(set->allocator, size);
	if (!copy)
		return tw_no_memory(err);
	memcpy(copy, path, size);
	set->files[set->count++] = (struct tw_rank_file){
		.path = copy,
		.bytes = S_ISREG(info->st_mode) ? info->st_size : 0,
		.name_rank = tw_rank_in_path(path),
		.device = (uint64_t)info->st_dev,
		.inode = (uint64_t)info->st_ino,
		.named = named,
	};
	return 0;
}

/* Where results are written by default, and what is hidden, has no traces of the job. */
static bool is_passed_over(const FTSENT *entry)
{
	return entry->fts_level > DEEPEST ||
	       (entry->fts_level &&
		(entry->fts_name[0] == '.' || !strcmp(entry->fts_name, "analysis_output")));
}

/* What is gone meanwhile, and links back to a directory above, are passed over. */
static int add_entry(struct tw_rank_set *set, FTS *walk, FTSENT *entry, struct trawl_error *err)
{
	switch (entry->fts_info) {
	case FTS_D:
		if (is_passed_over(entry))
			fts_set(walk, entry, FTS_SKIP);
		return 0;
	case FTS_F:
		return tw_reader_takes_name(entry->fts_name) ?
			       add_file(set, entry->fts_path, entry->fts_statp, false, err) :
			       0;
	case FTS_DNR:
		/* One below is skipped as a trace that cannot be read is, by whoever tries. */
		if (entry->fts_level)
			return add_file(set, entry->fts_path, entry->fts_statp, false, err);
		return trawl_error_set(err, TRAWL_EIO, "cannot read directory '%s': %s",
				       entry->fts_path, strerror(entry->fts_errno));
	default:
		return 0;
	}
}

static int add_directory(struct tw_rank_set *set, const char *path, struct trawl_error *err)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int status = 0;

	while (walk && !status && (entry = fts_read(walk)))
		status = add_entry(set, walk, entry, err);
	if (!status && (!walk || errno))
		status = trawl_error_set(err, TRAWL_EIO, "cannot read directory '%s': %s", path,
					 strerror(errno));
	if (walk)
		fts_close(walk);
	return status;
}

static int add_there(struct tw_rank_set *set, const char *path, const struct stat *info, bool named,
		     struct trawl_error *err)
{
	if (S_ISDIR(info->st_mode))
		return add_directory(set, path, err);
	return add_file(set, path, info, named, err);
}

static int add_pattern(struct tw_rank_set *set, const char *pattern, struct trawl_error *err)
{
	struct stat info;
	glob_t found;
	int status = 0;
	size_t i;

	switch (glob(pattern, GLOB_NOSORT, NULL, &found)) {
	case 0:
		break;
	case GLOB_NOSPACE:
		return tw_no_memory(err);
	default:
		return trawl_error_set(err, TRAWL_EIO, "no file matches '%s'", pattern);
	}
	for (i = 0; i < found.gl_pathc && !status; i++)
		if (!stat(found.gl_pathv[i], &info))
			status = add_there(set, found.gl_pathv[i], &info, true, err);
	globfree(&found);
	return status;
}

static int add_argument(struct tw_rank_set *set, const char *argument, struct trawl_error *err)
{
	struct stat info;

	if (!strcmp(argument, "-"))
		return trawl_error_set(err, TRAWL_EUSAGE, "standard input supports one trace only");
	if (!stat(argument, &info))
		return add_there(set, argument, &info, true, err);
	if (strpbrk(argument, "*?["))
		return add_pattern(set, argument, err);
	return trawl_error_set(err, TRAWL_EIO, "cannot open '%s': %s", argument, strerror(errno));
}

/* ---- the set */

static void free_path(const struct tw_rank_set *set, struct tw_rank_file *file)
{
	if (file->path)
		tw_free(set->allocator, (char *)file->path, strlen(file->path) + 1);
	file->path = NULL;
}

/* 0: the same file. On file systems without file numbers names decide. */
static int compare_identity(const struct tw_rank_file *x, const struct tw_rank_file *y)
{
	return TW_ORDER_BY(x, y, device, inode) ?: (x->inode ? 0 : strcmp(x->path, y->path));
}

/* Adjacent names of one file, those with a rank first. */
static int compare_places(const void *a, const void *b)
{
	const struct tw_rank_file *x = *(const struct tw_rank_file *const *)a;
	const struct tw_rank_file *y = *(const struct tw_rank_file *const *)b;

	return compare_identity(x, y) ?: TW_ORDER_BY(y, x, name_rank) ?: TW_COMPARE(x, y);
}

static int no_traces(const struct tw_rank_set *set, const char *directory, struct trawl_error *err)
{
	struct tw_str endings;
	int status;

	tw_str_init(&endings, set->allocator);
	tw_reader_list_endings(&endings);
	status = trawl_error_set(err, TRAWL_ENODATA, "no traces (%s) in directory '%s'",
				 endings.failed ? "" : endings.ptr, directory);
	tw_str_release(&endings);
	return status;
}

/*
 * A file given twice, or under several names, counts once, at its first position; names of several
 * ranks make it one file per rank, and a name without a rank then adds nothing.
 */
static int drop_repeated(struct tw_rank_set *set, struct trawl_error *err)
{
	struct tw_rank_file **places =
		tw_alloc_array(set->allocator, set->count, sizeof(struct tw_rank_file *));
	struct tw_rank_file *kept;
	size_t i, n = 0;

	if (!places)
		return tw_no_memory(err);
	for (i = 0; i < set->count; i++)
		places[i] = &set->files[i];
	qsort(places, set->count, sizeof(struct tw_rank_file *), compare_places);
	kept = places[0];
	for (i = 1; i < set->count; i++) {
		struct tw_rank_file *file = places[i];

		if (compare_identity(kept, file) ||
		    (kept->name_rank != file->name_rank && file->name_rank >= 0)) {
			kept = file;
			continue;
		}
		kept->named |= file->named;
		free_path(set, file);
	}
	tw_free(set->allocator, places, set->count * sizeof(struct tw_rank_file *));
	for (i = 0; i < set->count; i++)
		if (set->files[i].path)
			set->files[n++] = set->files[i];
	set->count = n;
	return 0;
}

/* The directory above all files: what their paths begin with, up to a slash. */
static int find_directory(struct tw_rank_set *set, struct trawl_error *err)
{
	const char *first = set->files[0].path, *slash = strrchr(first, '/');
	size_t len = slash ? (size_t)(slash - first) : 0, i;

	for (i = 1; i < set->count; i++) {
		const char *path = set->files[i].path;

		while (len && (strncmp(path, first, len) || path[len] != '/'))
			while (--len && first[len] != '/')
				;
	}
	set->directory = tw_alloc(set->allocator, len ? len + 1 : 2);
	if (!set->directory)
		return tw_no_memory(err);
	if (len)
		memcpy(set->directory, first, len);
	else
		set->directory[len++] = first[0] == '/' ? '/' : '.';
	set->directory[len] = 0;
	return 0;
}

/* What the arguments lead to, into an empty set. */
static int add_arguments(struct tw_rank_set *set, const char *const *arguments, size_t count,
			 struct trawl_error *err)
{
	int status = 0;
	size_t i;

	for (i = 0; i < count && !status; i++) {
		size_t before = set->count;

		status = add_argument(set, arguments[i], err);
		if (set->count > before)
			qsort(set->files + before, set->count - before, sizeof(*set->files),
			      compare_files);
	}
	if (!status && !set->count)
		status = no_traces(set, count ? arguments[0] : ".", err);
	return status ? status : drop_repeated(set, err);
}

static int finish_set(struct tw_rank_set *set, int status, struct trawl_error *err)
{
	if (!status)
		status = find_directory(set, err);
	if (status)
		tw_rank_set_release(set);
	return status;
}

int tw_rank_set_find(struct tw_rank_set *set, const char *const *arguments, size_t count,
		     const struct trawl_allocator *allocator, struct trawl_error *err)
{
	set->allocator = allocator;
	return finish_set(set, add_arguments(set, arguments, count, err), err);
}

/* ---- files of one name */

/* rank<N> and nothing more. */
static bool is_rank_directory(const char *name)
{
	size_t digits = strncmp(name, "rank", 4) ? 0 : strspn(name + 4, "0123456789");

	return digits && digits <= 9 && !name[4 + digits];
}

/* DIRECTORY/rank<N>/NAME, whichever of these there are. */
static int add_from_rank_directories(struct tw_rank_set *set, const char *directory,
				     const char *name, struct trawl_error *err)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	struct tw_str path;
	struct stat info;
	int status = 0;

	if (!dir)
		return 0;
	tw_str_init(&path, set->allocator);
	while (!status && (entry = readdir(dir))) {
		if (!is_rank_directory(entry->d_name))
			continue;
		tw_str_clear(&path);
		tw_str_addf(&path, "%s/%s/%s", directory, entry->d_name, name);
		if (path.failed)
			status = tw_no_memory(err);
		else if (!stat(path.ptr, &info) && !S_ISDIR(info.st_mode))
			status = add_file(set, path.ptr, &info, true, err);
	}
	tw_str_release(&path);
	closedir(dir);
	if (status || !set->count)
		return status;
	qsort(set->files, set->count, sizeof(*set->files), compare_files);
	return drop_repeated(set, err);
}

/* Of what was found, files of the name asked for: that is asking for them. */
static int keep_named(struct tw_rank_set *set, const char *name, const char *place,
		      struct trawl_error *err)
{
	size_t i, n = 0;

	for (i = 0; i < set->count; i++) {
		struct tw_rank_file *file = &set->files[i];

		if (!file->named && strcmp(tw_file_name(file->path), name)) {
			free_path(set, file);
			continue;
		}
		set->files[n] = *file;
		set->files[n++].named = true;
	}
	set->count = n;
	return n ? 0 : trawl_error_set(err, TRAWL_ENODATA, "no trace '%s' in '%s'", name, place);
}

int tw_rank_set_find_named(struct tw_rank_set *set, const char *const *arguments, size_t count,
			   const char *name, const char *usual,
			   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	int status = 0;

	set->allocator = allocator;
	if (count == 1)
		status = add_from_rank_directories(set, arguments[0], name ? name : usual, err);
	/* What else is in these directories is another profile. */
	if (!status && !set->count) {
		status = add_arguments(set, arguments, count, err);
		if (!status && name)
			status = keep_named(set, name, arguments[0], err);
	}
	return finish_set(set, status, err);
}

void tw_rank_set_release(struct tw_rank_set *set)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		free_path(set, &set->files[i]);
	tw_free(set->allocator, set->files, set->capacity * sizeof(*set->files));
	if (set->directory)
		tw_free(set->allocator, set->directory, strlen(set->directory) + 1);
	memset(set, 0, sizeof(*set));
}
