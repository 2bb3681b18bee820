/* Scans of one table of an export for a query, and what was found wrong on the way. */
#ifndef TW_NSYS_SCAN_H
#define TW_NSYS_SCAN_H

#include "base/ids.h"
#include "nsys/export.h"
#include "text/str.h"

/* Tables of which it has been said what is wrong with them: several scans may find it. */
#define TW_NSYS_TOLD 16

struct tw_nsys_told {
	const char *table;
	bool damage, odd;
};

/* What is read, and what was found wrong on the way. */
struct tw_nsys_source {
	struct tw_database *database;
	/* Of what is given back when the query is answered, one thread at a time; of all threads. */
	const struct trawl_allocator *allocator, *shared;
	unsigned threads;
	struct tw_str troubles; /* of tw_str_note(): what was skipped */
	bool texts_told;	/* that texts cannot be read is among them */
	struct tw_nsys_told told[TW_NSYS_TOLD];
};

/* The first member of what a scan collects of one part. */
struct tw_nsys_part {
	struct tw_table_part rows;
	void *context;	     /* of the scan */
	int64_t odd;	     /* skipped rows: no numbers where numbers belong */
	int64_t odd_row;     /* the first of them */
	struct tw_ids known; /* see tw_nsys_meaning() */
};

/* Reads the table.  What could not be read is in source->troubles. */
int tw_nsys_scan(struct tw_nsys_source *source, const struct tw_table_reader *reader, void *context,
		 struct trawl_error *err) TRAWL_MUST_CHECK;

/* What was wrong with what is to be read anew: it is told then.  `before`: the source as it was. */
void tw_nsys_untell(struct tw_nsys_source *source, const struct tw_nsys_source *before);

/* A row whose column holds something else than a number: counted, skipped.  Returns 0. */
int tw_nsys_odd(struct tw_nsys_part *part);
/* Out of memory, for the functions of a reader. */
int tw_nsys_no_memory(struct tw_nsys_part *part);

/*
 * What the text of an id in StringIds means to a scan, of which each text is asked once (NULL: there is none);
 * false: out of memory.
 */
bool tw_nsys_meaning(struct tw_nsys_part *part, int64_t id,
		     uint32_t (*mean)(const void *part, const char *text, size_t len),
		     uint32_t *meaning) TRAWL_MUST_CHECK;

#endif
