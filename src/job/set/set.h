/*
 * The traces of a job: files from directories, patterns and names on the command line, in the order
 * of the arguments, those of one argument sorted by name, numbers in names by value. Only
 * directories are read; the rank of a file is known once the file has been read (load.h).
 */
#ifndef TW_JOB_SET_SET_H
#define TW_JOB_SET_SET_H

#include "text/str.h"
#include "trawl/error.h"

struct tw_rank_file {
	const char *path;
	int64_t bytes;		/* of the file as it lies there, 0: unknown */
	int64_t name_rank;	/* rank in its name or directories, -1: none */
	uint64_t device, inode; /* what it is, whatever its name; only in the set as it was found */
	bool named;		/* asked for by its very name, not found in a directory */
};

struct tw_rank_set {
	const struct trawl_allocator *allocator;
	struct tw_rank_file *files;
	size_t count, capacity;
	char *directory; /* the deepest that holds them all, for output beside the input */
};

/*
 * Directories are searched with all below them for names that traces have (.json, .json.gz,
 * .json.zst, .sqlite); `arguments` with * ? [ that are no file are patterns.  TRAWL_EIO when an
 * argument is not there, TRAWL_ENODATA when nothing is found.  A file that several names lead to
 * is there once, unless they are names of several ranks.  Zeroed by the caller.
 */
int tw_rank_set_find(struct tw_rank_set *set, const char *const *arguments, size_t count,
		     const struct trawl_allocator *allocator,
		     struct trawl_error *err) TRAWL_MUST_CHECK;
/*
 * The same for jobs whose ranks have a directory each: where there is one argument with rank<N>/NAME
 * in it, these are it.  Else only files of the name are taken of what is found; `name` NULL: the
 * usual one, and anything where that is not there.
 */
int tw_rank_set_find_named(struct tw_rank_set *set, const char *const *arguments, size_t count,
			   const char *name, const char *usual,
			   const struct trawl_allocator *allocator,
			   struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_rank_set_release(struct tw_rank_set *set);

/*
 * The rank in a path: rank<N>, rank_<N>, rank-<N>, rank[<N> or rank/<N> with no letter before it,
 * whatever its case, in the file's name first, then in its directories from the last.  One of a part
 * of the job (local_rank<N>, tp_rank<N>) counts where there is no other at all; -1: none.
 */
int64_t tw_rank_in_path(const char *path);

/* A message without "PATH: " in front, for those who name the file beside it. */
const char *tw_without_path(const char *message, const char *path);

#endif
