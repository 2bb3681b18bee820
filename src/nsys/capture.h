/*
 * What all queries start from: the rules, the ranks of an export, and the window of each.  Kernels
 * and what they were launched for are added for those that need them.
 */
#ifndef TW_NSYS_CAPTURE_H
#define TW_NSYS_CAPTURE_H

#include "nsys/attribute.h"
#include "nsys/kernels.h"
#include "nsys/launches.h"
#include "nsys/ranges.h"
#include "table/table.h"
#include "trawl/nsys.h"

struct tw_nsys_rank {
	int64_t process, rank;
	const char *label; /* NULL: none; the rank is a number by the order of processes */
	bool windowed;	   /* has a window; else why not is among the troubles */
	int64_t start_ns, end_ns;
	const char *name,
		*rule; /* of the window's range, NULL: it is no range; how it was chosen */
};

struct tw_nsys_capture {
	const struct trawl_nsys_options *options;
	struct tw_nsys_source *source;
	struct tw_arena arena;
	struct tw_nsys_rules rules;
	const char *chosen; /* how the rules were chosen, for a note */
	struct tw_nsys_ranges ranges;
	bool numbered, workers; /* no process has a label; ranks are those with GPU work */
	TW_LIST(struct tw_nsys_rank) ranks; /* by process; with --rank only that one */
	struct tw_nsys_kernels kernels; /* its windows are the ranks that have one, in their order */
	uint32_t *rank_of_window;
	struct tw_nsys_launches launches;
	struct tw_nsys_attribution attribution;
};

/* Rules, ranges, ranks. */
int tw_nsys_capture_open(struct tw_nsys_capture *capture, struct tw_nsys_source *source,
			 const struct trawl_nsys_options *options,
			 struct trawl_error *err) TRAWL_MUST_CHECK;
/* The window of each rank; one that is open ends at TW_NSYS_OPEN until tw_nsys_capture_end(). */
int tw_nsys_capture_windows(struct tw_nsys_capture *capture,
			    struct trawl_error *err) TRAWL_MUST_CHECK;
/* The kernels in the windows. */
int tw_nsys_capture_kernels(struct tw_nsys_capture *capture, bool compute_spans,
			    struct trawl_error *err) TRAWL_MUST_CHECK;
/* Ends what is open at the end of the trace. */
int tw_nsys_capture_end(struct tw_nsys_capture *capture, bool kernels, bool calls,
			struct trawl_error *err) TRAWL_MUST_CHECK;

/* Notes of the table: rules, ranks, windows, what is absent. */
void tw_nsys_capture_notes(const struct tw_nsys_capture *capture, struct trawl_table *table);
/* The rules that chose the windows and, unless `rules_alone`, the windows. */
void tw_nsys_window_notes(const struct tw_nsys_capture *capture, bool rules_alone,
			  struct trawl_table *table);

/* Notes of tables of kernels: what was clipped, what lacks a name or a launch. */
void tw_nsys_kernel_notes(const struct tw_nsys_capture *capture, struct trawl_table *table);

#endif
