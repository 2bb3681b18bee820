/*
 * One output that several threads write in turn: the text of a rank waits in blocks until those
 * before it are written, and then goes on directly.
 */
#ifndef TW_JOB_MERGE_ORDERED_OUTPUT_H
#define TW_JOB_MERGE_ORDERED_OUTPUT_H

#include "io/deflate.h"
#include "text/str.h"

#include <pthread.h>

struct tw_turns {
	struct tw_deflate *out;
	size_t most_waiting; /* bytes that a rank may hold back before it waits for its turn */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t turn;
	bool any; /* a rank has written events: those of the next one need a comma */
};

void tw_turns_init(struct tw_turns *turns, struct tw_deflate *out, size_t most_waiting);
void tw_turns_destroy(struct tw_turns *turns);

/* Waits for a turn, writes text of which nothing was held back, and hands the turn on. */
void tw_turns_write(struct tw_turns *turns, size_t number, const char *text, size_t len);

struct tw_page;

/* The text of one rank on its way. */
struct tw_lines {
	const struct trawl_allocator *allocator;
	struct tw_turns *turns;
	size_t number;		      /* which turn is its own */
	char *p, *end;		      /* room in the last page */
	struct tw_page *first, *last; /* pages that wait */
	size_t waiting;		      /* bytes of those */
	bool begun;		      /* something of it is written: no comma any more */
	bool failed;		      /* out of memory: what is written is of no use */
};

void tw_lines_init(struct tw_lines *lines, struct tw_turns *turns, size_t number,
		   const struct trawl_allocator *allocator);
/* Makes room for `need` bytes after p; false when out of memory. */
bool tw_lines_more(struct tw_lines *lines, size_t need);
/* Writes what there is, when it is its turn, and hands the turn on.  To be called in any case. */
void tw_lines_end(struct tw_lines *lines);

/* Instead: adds all text to `out`, where there was no turn; out->failed is set on failure. */
void tw_lines_take(struct tw_lines *lines, struct tw_str *out);

static inline bool tw_lines_room(struct tw_lines *lines, size_t need)
{
	return (size_t)(lines->end - lines->p) >= need || tw_lines_more(lines, need);
}

#endif
