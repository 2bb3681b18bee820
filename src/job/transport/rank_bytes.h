/*
 * Reduced ranks as bytes and back, for processes that reduce traces for another: a collective
 * takes about nine bytes.  No file format: a process of another version refuses them.
 */
#ifndef TW_JOB_TRANSPORT_RANK_BYTES_H
#define TW_JOB_TRANSPORT_RANK_BYTES_H

#include "job/set/job.h"
#include "job/transport/wire.h"

/* Appends a rank, which stays as it is; out->failed is set on failure. */
void tw_rank_pack(struct tw_rank *rank, struct tw_str *out);

/*
 * The next rank of what was packed.  wire->status is TRAWL_EFORMAT then for whatever
 * tw_rank_pack() does not write: packing the rank again gives the same bytes.  Memory is bounded
 * by a multiple of the bytes, whatever they claim.  The rank is to be released in any case.
 */
void tw_rank_unpack(struct tw_rank *rank, struct tw_wire *wire,
		    const struct trawl_allocator *allocator);

#endif
