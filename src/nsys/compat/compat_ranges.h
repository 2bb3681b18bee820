/*
 * NVTX rows as the original scripts see them: of any type and thread, from time 0 on, processes by
 * their way of computing them.
 */
#ifndef TW_NSYS_COMPAT_COMPAT_RANGES_H
#define TW_NSYS_COMPAT_COMPAT_RANGES_H

#include "base/list.h"
#include "nsys/scan.h"

#define TW_COMPAT_STAGES 16
extern const char *const tw_compat_stages[TW_COMPAT_STAGES];
extern const char *const tw_compat_purposes[4];

struct tw_compat_range {
	int64_t pid, start_ns, end_ns, row;
	bool ended;
	bool chunk;	 /* "forward chunk... backward chunk..." */
	bool candidate;	 /* may be the innermost range around a launch */
	uint8_t stage;	 /* in tw_compat_stages, 0: none */
	uint8_t purpose; /* in tw_compat_purposes */
};

struct tw_compat_ranges {
	const struct trawl_allocator *allocator;
	bool candidates; /* these are wanted */
	/* By pid, start, row: of each process those at its first time, chunks, and candidates. */
	TW_LIST(struct tw_compat_range) list;
};

/* The process of a global id as the scripts compute it, sign and all. */
int64_t tw_compat_pid(int64_t global);

int tw_compat_ranges_read(struct tw_compat_ranges *ranges, struct tw_nsys_source *source,
			  bool candidates, struct trawl_error *err) TRAWL_MUST_CHECK;

/* The ranges of a process: those from *first to before *last. */
void tw_compat_process(const struct tw_compat_ranges *ranges, int64_t pid, size_t *first,
		       size_t *last);

/*
 * The shortest of the last 256 candidates that had begun, as far as they hold the moment; of equal
 * ones the later.  NULL: none does.
 */
const struct tw_compat_range *tw_compat_innermost(const struct tw_compat_ranges *ranges,
						  int64_t pid, int64_t moment_ns);

#endif
