/*
 * NVTX rows as the original scripts see them: of any type and thread, from time 0 on, processes by
 * their way of computing them.
 */
#ifndef TW_NSYS_COMPAT_COMPAT_RANGES_H
#define TW_NSYS_COMPAT_COMPAT_RANGES_H

#include "base/ids.h"
#include "nsys/scan.h"

/* A row at the first time of its process. */
struct tw_compat_first {
	int64_t pid, start_ns, row;
};

struct tw_compat_chunk {
	int64_t pid, start_ns, end_ns, row;
	bool ended;
};

/* What may be the innermost range around a launch. */
struct tw_compat_candidate {
	int64_t start_ns, end_ns;
	uint32_t process; /* in pids */
	uint8_t stage;	  /* tw_compat_stages, 0: none */
	uint8_t purpose;  /* tw_compat_purposes */
};

#define TW_COMPAT_STAGES 16
extern const char *const tw_compat_stages[TW_COMPAT_STAGES];
extern const char *const tw_compat_purposes[4];

struct tw_compat_ranges {
	const struct trawl_allocator *allocator;
	struct tw_ids pid_ids; /* of candidates */
	size_t pid_count;
	struct tw_compat_first *firsts; /* by pid, then in the order of the file */
	size_t first_count, first_capacity;
	struct tw_ids start_ids; /* pid -> in starts, the first times */
	int64_t *starts;
	size_t start_count, start_capacity;
	struct tw_compat_chunk *chunks; /* by pid, start, then in the order of the file */
	size_t chunk_count, chunk_capacity;
	struct tw_compat_candidate *candidates; /* in the order of the file */
	size_t candidate_count, candidate_capacity;
	uint32_t *order;       /* of candidates: by process, start */
	size_t *process_begin; /* in order; pid_count + 1 of them */
};

/* Released by tw_compat_ranges_release(), also after a failure. */
int tw_compat_ranges_read(struct tw_compat_ranges *ranges, struct tw_nsys_source *source,
			  bool candidates, struct trawl_error *err) TRAWL_MUST_CHECK;
void tw_compat_ranges_release(struct tw_compat_ranges *ranges);

/*
 * The shortest of the last 256 candidates that had begun, as far as they hold the moment; of equal
 * ones the later.  NULL: none does.
 */
const struct tw_compat_candidate *tw_compat_innermost(const struct tw_compat_ranges *ranges,
						      int64_t pid, int64_t moment_ns);

#endif
