/*
 * Queries on an export of Nsight Systems (SQLite): which ranks there are, the window of each that
 * shows its steady state, what its streams do there, and how well communication is hidden by
 * stage.  Straight from the file: memory holds what rules match, and of the kernels in the windows
 * communication and the union of the rest.
 *
 *	trawl_nsys_query(&table, TRAWL_NSYS_OVERLAP, "profile.sqlite", NULL, &err);
 *
 * examples/overlap.c is a whole program.
 */
#ifndef TRAWL_NSYS_H
#define TRAWL_NSYS_H

#include "trawl/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked for; each has its table, whose columns are in docs/COLUMNS.md. */
enum trawl_nsys_table {
	TRAWL_NSYS_SETUP,   /* the ranks: a process each, with the label that its trainer gave it */
	TRAWL_NSYS_WINDOWS, /* the part of each rank that shows its steady state */
	TRAWL_NSYS_STREAMS, /* what each stream does there, and what its communication is for */
	TRAWL_NSYS_OVERLAP, /* share of each stage's communication that overlaps compute */
};

struct trawl_nsys_options {
	const struct trawl_allocator *allocator; /* NULL: the default; also of the table */
	unsigned threads;			 /* 0: one a core */
	const char *rules;			 /* a preset or a file; NULL: what fits */
	int64_t rank;				 /* -1: all */
	bool window; /* start_ns to end_ns instead of a window of rules */
	int64_t start_ns, end_ns;
	const char *by; /* rows added up over ranks: see trawl_nsys_groupings(); NULL: not */
	bool compat;	/* numbers, columns and order of the scripts of analyze-nsys-profile */
	/* Called for each thing that was skipped, such as a rank without a window. */
	void (*note)(void *context, const char *line);
	void *note_context;
};

/* Fills *options with the defaults. */
TRAWL_API void trawl_nsys_options_init(struct trawl_nsys_options *options);

/*
 * The table of a query, which is the caller's: trawl_table_free().  `options` may be NULL.
 * TRAWL_EUSAGE: options that exclude each other, no such rank, rules or grouping; TRAWL_EFORMAT: no
 * export; TRAWL_ENODATA: with compat, what the original scripts have no answer to.  Messages do not
 * name the file.
 */
TRAWL_API int trawl_nsys_query(struct trawl_table **out, enum trawl_nsys_table table,
			       const char *path, const struct trawl_nsys_options *options,
			       struct trawl_error *err) TRAWL_MUST_CHECK;

/* Whether a file is an export, by its content: a database, or by its name a broken one. */
TRAWL_API bool trawl_nsys_is_export(const char *path);

/* By what the rows of a table can be added up: "stage, rank, pp, ..."; "": by nothing. */
TRAWL_API const char *trawl_nsys_groupings(enum trawl_nsys_table table);
TRAWL_API bool trawl_nsys_can_group(enum trawl_nsys_table table, const char *by);

/* ---- rules for the names of ranges: presets for trainers, the default first */

TRAWL_API size_t trawl_nsys_presets(void);
TRAWL_API const char *trawl_nsys_preset_name(size_t preset);
/* The trainer that it is for: *len bytes, more text may follow. */
TRAWL_API const char *trawl_nsys_preset_title(size_t preset, size_t *len);
/* Its rules, as in a file; NULL: no preset has this name. */
TRAWL_API const char *trawl_nsys_preset_rules(const char *name);

#ifdef __cplusplus
}
#endif

#endif
