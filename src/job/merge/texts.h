/*
 * Texts, ids and numbers of a trace as JSON, at the speed of copying: what a text looks like is
 * worked out once for each distinct one.
 */
#ifndef TW_JOB_MERGE_TEXTS_H
#define TW_JOB_MERGE_TEXTS_H

#include "base/arena.h"
#include "job/merge/ordered_output.h"
#include "store/trace.h"
#include "text/str.h"

#include <string.h>

/*
 * Ids of a rank are rank x TW_MERGE_STRIDE + its own: exact in a double for every rank there is
 * room for, and readable.  Own ids are those of the trace where they are below 2^31; others are
 * counted from TW_MERGE_FRESH on.
 */
#define TW_MERGE_STRIDE INT64_C(10000000000)
#define TW_MERGE_FRESH INT64_C(3000000000)
/* 2^53 / TW_MERGE_STRIDE; processes (1000 a rank) fit 32 bits too. */
#define TW_MERGE_MOST_RANK INT64_C(900000)

struct tw_json_text {
	const char *ptr; /* between the quotes; NULL: not worked out yet */
	uint32_t len;
	bool checked, valid; /* as a JSON value of its own */
};

#define TW_MERGE_REALS 4096
/* Digits of any int64, of any double. */
#define TW_MERGE_NUMBER 32

struct tw_merge_texts {
	const struct trawl_trace *trace;
	struct tw_lines *lines;
	int64_t rank, first_id; /* added to ids */
	struct tw_json_text *of;
	int64_t *fresh; /* by text: the number of an id that is none; 0: not given */
	int64_t next_fresh;
	struct tw_arena *arena; /* remembers a failure */
	struct tw_str scratch;
	struct {
		uint64_t bits;
		uint8_t len; /* 0: free */
		char digits[TW_MERGE_NUMBER];
	} * reals; /* TW_MERGE_REALS of them */
};

/* `scratch` is to be released. */
void tw_merge_texts_init(struct tw_merge_texts *texts, const struct trawl_trace *trace,
			 int64_t rank, struct tw_lines *lines, struct tw_arena *arena);

/* Works out how a text looks between quotes. */
void tw_merge_text_prepare(struct tw_merge_texts *texts, uint32_t id);
/* A list, object or number of the trace; as a string where it is not quite JSON. */
void tw_merge_put_value(struct tw_merge_texts *texts, uint32_t id);
void tw_merge_put_real(struct tw_merge_texts *texts, double value);

/* The id that stands for one of the trace: of its own rank, and exact in a double. */
int64_t tw_merge_id(struct tw_merge_texts *texts, tw_code code);
/* One that nothing else has. */
int64_t tw_merge_fresh_id(struct tw_merge_texts *texts);

/* Writes digits at p, returns after them; room for TW_MERGE_NUMBER is there. */
char *tw_merge_digits(char *p, int64_t value);
/* Nanoseconds as microseconds, exact, without zeros at the end. */
char *tw_merge_time(char *p, int64_t ns);

static inline void tw_merge_put(struct tw_merge_texts *texts, const char *bytes, size_t len)
{
	struct tw_lines *lines = texts->lines;

	/* What there was no memory for is NULL, and empty. */
	if (!len || !tw_lines_room(lines, len))
		return;
	memcpy(lines->p, bytes, len);
	lines->p += len;
}

#define TW_MERGE_PUT(texts, literal) tw_merge_put((texts), (literal), sizeof(literal) - 1)

/* The text between quotes, without them. */
static inline void tw_merge_put_text(struct tw_merge_texts *texts, uint32_t id)
{
	if (!texts->of[id].ptr)
		tw_merge_text_prepare(texts, id);
	tw_merge_put(texts, texts->of[id].ptr, texts->of[id].len);
}

static inline void tw_merge_put_integer(struct tw_merge_texts *texts, int64_t value)
{
	if (tw_lines_room(texts->lines, TW_MERGE_NUMBER))
		texts->lines->p = tw_merge_digits(texts->lines->p, value);
}

static inline void tw_merge_put_time(struct tw_merge_texts *texts, int64_t ns)
{
	if (tw_lines_room(texts->lines, TW_MERGE_NUMBER))
		texts->lines->p = tw_merge_time(texts->lines->p, ns);
}

#endif
