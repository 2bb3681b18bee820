/*
 * Reduced ranks as bytes and back, for processes that reduce traces for another: a collective
 * takes about nine bytes.  No file format: a process of another version refuses them.
 */
#ifndef TW_JOB_TRANSPORT_PACK_H
#define TW_JOB_TRANSPORT_PACK_H

#include "job/set/job.h"

/* Appends a rank; out->failed tells of a failure. */
void tw_rank_pack(const struct tw_rank *rank, struct tw_str *out);

/*
 * The rank that begins at `bytes`; *used: how many it took.  TRAWL_EFORMAT for whatever
 * tw_rank_pack() does not write: packing the rank again gives the same bytes.  Memory is bounded
 * by a multiple of `len`, whatever the bytes claim.  The rank is to be released in any case.
 */
int tw_rank_unpack(struct tw_rank *rank, const char *bytes, size_t len, size_t *used,
		   const struct trawl_allocator *allocator,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- what messages beside it are made of */

/* Numbers in 7 bits a byte, the low ones first; the sign in the lowest bit. */
void tw_pack_number(struct tw_str *out, uint64_t value);
void tw_pack_signed(struct tw_str *out, int64_t value);
/* A text with its length in front. */
void tw_pack_text(struct tw_str *out, const char *text, size_t len);

/* Bytes being taken apart; after the first that are not as packed, everything is 0. */
struct tw_unpacking {
	const uint8_t *at, *end;
	bool failed;
};

uint64_t tw_unpack_number(struct tw_unpacking *in);
int64_t tw_unpack_signed(struct tw_unpacking *in);
/* A number that is at most `most`. */
uint64_t tw_unpack_up_to(struct tw_unpacking *in, uint64_t most);
/* A number of things that take at least `each` bytes of what follows. */
size_t tw_unpack_count(struct tw_unpacking *in, size_t each);
/* Not NUL-terminated; in the bytes that are taken apart. */
const char *tw_unpack_text(struct tw_unpacking *in, size_t *len);

#endif
