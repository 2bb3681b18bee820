/*
 * What is compared: times of two sides by item (a part of the timeline, an operation, a kernel, a
 * collective), configuration and rank, as tables of reports have them.
 */
#ifndef TW_STUDY_COMPARE_SAMPLES_H
#define TW_STUDY_COMPARE_SAMPLES_H

#include "store/pool.h"
#include "table/table.h"
#include "text/str.h"

enum tw_compared_kind {
	TW_TIMELINE_PART, /* gpu_timeline */
	TW_OPERATION,	  /* ops_summary */
	TW_KERNEL,	  /* kernel_summary, by name */
	TW_COLLECTIVE_SYNC, /* nccl_summary_implicit_sync: the shortest time over the ranks, no rank */
	TW_COLLECTIVE_RANK, /* coll_analysis: the time on the rank, waiting included */
	/* Of exports of Nsight Systems. */
	TW_RANGE,	  /* nvtx_ranges, without operations: GPU time by name, domain and kind */
	TW_RANGE_EXPOSED, /* the same: exposed communication */
	/* GPU time whose items add up to all of it. */
	TW_MODULE,	     /* modules: launched in it and in none below it */
	TW_MODULE_CLASS,     /* the same, by paths without numbers */
	TW_MODULE_OPERATION, /* module_stacks: by module, pass and operator */
	TW_CALL_SITE,	     /* call_sites */
	TW_PASS,	     /* call_sites */
	TW_PHASE,	     /* phases */
	TW_STEP,	     /* steps: by launch */
	TW_MODULE_STACK,     /* module_stacks: by module, pass, operator and kernel */
	TW_FULL_STACK,	     /* full_stacks */
	TW_MODULE_TOTAL,     /* modules: launched in it and below it; these do not add up */
	TW_STAGE,      /* trawl nsys overlap: exposed communication, in the window of the rank */
	TW_STAGE_COMM, /* the same: all of it */
	TW_COMPARED_KINDS,
	/* Exposed communication of a rank in which it waits for another, whose number is the name. */
	TW_EXPOSED_WAIT = TW_COMPARED_KINDS,
	/* Idle time of a rank by cause; its name is one of tw_split_causes. */
	TW_IDLE_CAUSE,
	/* That a rank has a table of items that are summed, whose name it has. */
	TW_SUMMED_TABLE,
};

/* Kinds whose times are summed over ranks and configurations; an item that one lacks takes no time there. */
static inline bool tw_is_summed(uint32_t kind)
{
	return kind >= TW_MODULE && kind <= TW_MODULE_TOTAL;
}

#define TW_NO_RANK (-1)
#define TW_NO_CALLS (-1)

/* Between name, type and size in the name of a collective. */
#define TW_KEY_SEPARATOR '\x1f'

struct tw_sample {
	uint32_t kind, name; /* name: an id of `texts` */
	uint32_t config, side;
	int64_t rank;  /* TW_NO_RANK: not of one, or not known */
	int64_t ns;    /* 0 to TW_LONGEST_COMPARED_NS */
	int64_t calls; /* TW_NO_CALLS: not told */
};

/* One configuration; -1 in both of the one that has no name. */
struct tw_sample_config {
	int64_t threads, channels;
	const char *name;      /* "256thread_28ch", "" */
	const char *test_name; /* of the other side where that is called otherwise, NULL: not */
	bool there[2];	       /* a side has a report or trace of it */
	/* Of the profiler, that traces of a side show; -1: they do not tell. */
	int64_t first_step[2], last_step[2];
	int64_t window_ns[2]; /* of stages: the longest of its ranks; 0: not known */
	bool waits[2];	      /* samples of TW_EXPOSED_WAIT are all there are */
	bool idle_causes[2];  /* so are those of TW_IDLE_CAUSE */
	const struct trawl_table *findings[2]; /* table `findings`, borrowed; NULL: not known */
	const char *stragglers[2];	       /* ranks as a list, "": none is; NULL: not known */
	const char *because[2];		       /* what makes them so, in words */
};

/* A rank whose trace has lost a part. */
struct tw_sample_damage {
	uint32_t config, side;
	int64_t rank;  /* TW_NO_RANK: not known */
	bool left_out; /* once finished: its times do not count, others of the side are whole */
};

struct tw_samples {
	const struct trawl_allocator *allocator;
	struct tw_pool texts;
	struct tw_sample
		*items; /* once finished: by kind, name, configuration, side, rank; each once */
	size_t count, capacity;
	struct tw_sample_config *configs; /* once finished: by threads, channels */
	size_t config_count, config_capacity;
	struct tw_sample_damage *damaged; /* once finished: in order, each once */
	size_t damaged_count, damaged_capacity;
	/* By text id what it is called in the test, 0: the same (tw_samples_align()). */
	uint32_t *test_names;
	size_t test_name_count;
	bool failed; /* out of memory, sticky */
};

int tw_samples_init(struct tw_samples *samples,
		    const struct trawl_allocator *allocator) TRAWL_MUST_CHECK;
void tw_samples_release(struct tw_samples *samples);

/* Where samples go. */
struct tw_sample_place {
	uint32_t side; /* 0 is the baseline */
	int64_t threads, channels;
	const char *config; /* its name, copied */
	int64_t rank;
};

void tw_samples_add(struct tw_samples *samples, const struct tw_sample_place *place,
		    enum tw_compared_kind kind, const char *name, int64_t ns, int64_t calls);

/* The trace that times of a place are from has lost a part. */
void tw_samples_note_damage(struct tw_samples *samples, const struct tw_sample_place *place);

/* Which steps of the profiler a trace shows. */
void tw_samples_note_steps(struct tw_samples *samples, const struct tw_sample_place *place,
			   int64_t first, int64_t last);

/* How long a window is that stages are of. */
void tw_samples_note_window(struct tw_samples *samples, const struct tw_sample_place *place,
			    int64_t ns);
/* That it is known how long ranks wait for each other, and why they are idle. */
void tw_samples_note_waits(struct tw_samples *samples, const struct tw_sample_place *place);
void tw_samples_note_idle_causes(struct tw_samples *samples, const struct tw_sample_place *place);
/* What limits the runs of a place: the table outlives the samples. */
void tw_samples_note_findings(struct tw_samples *samples, const struct tw_sample_place *place,
			      const struct trawl_table *findings);
/* The ranks that others wait for, and why, by the verdict on a job; texts are copied. */
void tw_samples_note_stragglers(struct tw_samples *samples, const struct tw_sample_place *place,
				const char *ranks, const char *because);

/* All of side 0 of others, not finished yet, as those of a side. */
void tw_samples_append(struct tw_samples *samples, const struct tw_samples *others, uint32_t side);

/*
 * The rows of a table, by the columns that its kind has.  Of a report over ranks these are the
 * medians.  False: a column is not there, which is named in `lacks` (may be NULL) as "TABLE has no
 * column X".  Rows without a number do not count.
 */
bool tw_samples_add_sheet(struct tw_samples *samples, const struct tw_sample_place *place,
			  enum tw_compared_kind kind, const struct trawl_table *table,
			  struct tw_str *lacks);
/* The table rank_timeline of a report over ranks: the timeline of each rank. */
bool tw_samples_add_rank_timeline(struct tw_samples *samples, const struct tw_sample_place *place,
				  const struct trawl_table *table);

/* The table that a kind is read from. */
extern const struct tw_table_spec *const tw_compared_tables[TW_COMPARED_KINDS];

/*
 * Puts everything in order and adds up what has the same place: kernels by name.  Where each side
 * has exactly one configuration, they are one, whatever they are called.  Damaged ranks are left out
 * where the side has whole ones in that configuration.  TRAWL_ENOMEM.
 */
int tw_samples_finish(struct tw_samples *samples, struct trawl_error *err) TRAWL_MUST_CHECK;

/* Of finished samples: the one of a place, NULL: there is none. */
const struct tw_sample *tw_samples_find(const struct tw_samples *samples,
					const struct tw_sample *place);

/* Parts of a timeline as reports name and order them; ends with NULL. */
extern const char *const tw_compared_parts[];

/* Milliseconds, microseconds and so on as nanoseconds, rounded; -1: no such number. */
int64_t tw_compared_ns(double value, double ns_per_unit);

#endif
