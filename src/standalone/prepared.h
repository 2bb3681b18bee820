/*
 * The directory of a standalone analysis: its files by name, read back and written.  Steps hand
 * each other files, so that each can be run alone, and what one says is what the next has read.
 */
#ifndef TW_STANDALONE_PREPARED_H
#define TW_STANDALONE_PREPARED_H

#include "base/arena.h"
#include "io/sink.h"
#include "json/value.h"
#include "table/table.h"
#include "text/str.h"
#include "trawl/error.h"

#define TW_CATEGORY_DATA "category_data"
#define TW_METADATA "metadata"
#define TW_CATEGORY_FINDINGS "category_findings"
#define TW_SYSTEM_FINDINGS "system_findings"
#define TW_MANIFEST "category_manifest.json"

/* Names in these files. */
#define TW_KEY_IDLE_TIME_MS "idle_time_ms"
#define TW_KEY_TOTAL_TIME_MS "total_time_ms"
#define TW_KEY_PERCENT_OF_TOTAL "percent_of_total"

struct tw_prepared_table; /* what was read */
struct tw_fields;
struct tw_manifest;
struct tw_cpu_idle;
struct tw_multi_kernel;

/* Values that are read live until the release. */
struct tw_prepared {
	const struct trawl_allocator *allocator;
	const char *dir; /* the caller's */
	/* Of the report that it was made of, while that is there; NULL: what files hold. */
	const struct tw_manifest *manifest;
	struct tw_cpu_idle *cpu_idle;
	struct tw_multi_kernel *multi_kernel;
	/* What limits the run, for people; NULL: it was not diagnosed. */
	const struct trawl_table *findings;
	const struct trawl_table *modules; /* GPU time by module; NULL: none are recorded */
	struct tw_arena arena;
	struct tw_prepared_table *tables;
};

void tw_prepared_init(struct tw_prepared *prepared, const char *dir,
		      const struct trawl_allocator *allocator);
/* Another one of the same directory. */
void tw_prepared_again(struct tw_prepared *prepared, const struct tw_prepared *of);
void tw_prepared_release(struct tw_prepared *prepared);

/* DIR/FOLDER/NAME; FOLDER "" is DIR itself. */
void tw_prepared_path(const struct tw_prepared *prepared, const char *folder, const char *name,
		      struct tw_str *out);
bool tw_prepared_has(const struct tw_prepared *prepared, const char *folder, const char *name);

/* NULL with an error that names the file, when it is not there or is no JSON. */
const struct tw_json_value *tw_prepared_json(struct tw_prepared *prepared, const char *folder,
					     const char *name, struct trawl_error *err);
/* Takes the table, which is freed with the rest: at once when memory is out. */
int tw_prepared_own(struct tw_prepared *prepared, struct trawl_table *table,
		    struct trawl_error *err) TRAWL_MUST_CHECK;
/* The operations of a category as structs: of each column where its value goes, NaN or "" without. */
struct tw_ops_column {
	const char *header;
	size_t at; /* a double or, `is_text`, a const char * that lives as long as the prepared */
	bool is_text, needed;
};

struct tw_ops_list {
	const struct tw_ops_column *columns;
	size_t count, size;	   /* of columns; of a struct */
	const char *largest_first; /* by that column */
};

struct tw_ops_rows {
	void *at; /* in the arena, zeroed but for the columns */
	size_t count;
};

/* Those of the report, else of the file NAME_ops.csv. */
int tw_prepared_rows(struct tw_prepared *prepared, const char *category,
		     const struct tw_ops_list *list, struct tw_ops_rows *rows,
		     struct trawl_error *err) TRAWL_MUST_CHECK;

/* Writes a file whole or not at all; a text that ran out of memory is an error. */
int tw_prepared_write(const struct tw_prepared *prepared, const char *folder, const char *name,
		      const struct tw_str *text, struct trawl_error *err) TRAWL_MUST_CHECK;

/* An object as JSON. */
int tw_fields_write(const struct tw_prepared *prepared, const char *folder, const char *name,
		    const struct tw_fields *fields, const void *object,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The same of a file of a category, from its pieces: whatever `write` adds to its text, which it
 * may hand on now and then by tw_prepared_drain().
 */
struct tw_prepared_text {
	struct tw_str text;
	struct tw_sink *sink;
};
int tw_prepared_open(const struct tw_prepared *prepared, const char *folder, const char *category,
		     const char *ending, struct tw_prepared_text *file,
		     struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_prepared_drain(void *file, struct tw_str *text);
/* Puts it into its place when `status`, which is handed on, is 0. */
int tw_prepared_close(struct tw_prepared_text *file, int status,
		      struct trawl_error *err) TRAWL_MUST_CHECK;

/* The file of a category in a folder: "gemm" and "_metrics.json". */
int tw_prepared_write_of(struct tw_prepared *prepared, const char *folder, const char *category,
			 const char *ending, const struct tw_str *text,
			 struct trawl_error *err) TRAWL_MUST_CHECK;

/* "gemm" and "_ops.csv": the name in the arena; NULL when out of memory. */
const char *tw_prepared_name(struct tw_prepared *prepared, const char *category,
			     const char *ending);

#endif
