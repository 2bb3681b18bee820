/*
 * The middle of a sweep: operations whose calls differ most, when their shortest and longest call
 * ran, and what communicated meanwhile.  What is asked of a rank comes from what was made of its
 * trace where that is there, else from its reports.
 */
#ifndef TW_CLI_SWEEP_SWEEP_STEPS_H
#define TW_CLI_SWEEP_SWEEP_STEPS_H

#include "cli/sweep/sweep_point.h"

#include "book/book.h"
#include "study/variance/variance.h"

#define CLI_SWEEP_TOP_K 5

struct cli_sweep_steps {
	const struct cli_sweep *s;
	const struct cli_sweep_made *made; /* of traces, some configurations or all; NULL: nothing */
	size_t made_count;
	unsigned top_k;
	double tolerance; /* a fraction of the expected time */

	struct tw_arena arena;	/* sheets that are made */
	struct tw_book **books; /* that sheets lie in */
	size_t book_count, book_capacity;
	struct cli_sweep_slot *slots; /* collectives, by rank of all configurations in order */
	size_t slot_count;
	struct tw_csv variance, timestamps, overlap; /* what the steps gave */
	bool incomplete;			     /* something was left out, which was told */
};

/*
 * `made` must live until _release, which is due in any case.  It has to have the tables GEMM and
 * gemm_instances for the steps that use them (CLI_MAKE_INSTANCES).
 */
void cli_sweep_steps_init(struct cli_sweep_steps *steps, const struct cli_sweep *s,
			  const struct cli_sweep_made *made, size_t made_count);
void cli_sweep_steps_release(struct cli_sweep_steps *steps);

/*
 * The steps; each gives its sheet to the field of its name.  `in` is that of the step before, or a
 * file of one.  CLI_DONE, or CLI_FAILED, which is told; steps->incomplete for what was left out.
 */
int cli_sweep_step_variance(struct cli_sweep_steps *steps);
int cli_sweep_step_timestamps(struct cli_sweep_steps *steps, const struct tw_csv *in);
int cli_sweep_step_overlap(struct cli_sweep_steps *steps, const struct tw_csv *in);

/*
 * All three, into the files of their names in tracelens_analysis.  Without any row of operations,
 * which is told, nothing is written.
 */
int cli_sweep_steps_all(struct cli_sweep_steps *steps);

/* top<K>_gemm_kernels_time_variance<suffix>.csv */
void cli_sweep_step_name(unsigned top_k, const char *suffix, struct tw_str *out);
#define CLI_SWEEP_WITH_TIMESTAMPS "_with_timestamps"
#define CLI_SWEEP_WITH_OVERLAP "_with_collective_overlap"

/* ---- what the three stages share */

struct cli_sweep_step_options {
	unsigned top_k;
	const char *tolerance, *input, *output; /* as given, NULL: not */
};

enum cli_sweep_step_kind { CLI_STEP_VARIANCE, CLI_STEP_TIMESTAMPS, CLI_STEP_OVERLAP };

void cli_sweep_step_options(struct cli_sweep_step_options *o, enum cli_sweep_step_kind kind,
			    struct cli_option options[5]);

/* A stage that reads the file of another: timestamps and overlap. */
struct cli_sweep_following {
	enum cli_sweep_step_kind kind;
	const char *from, *to; /* what names of files end in, without .csv */
	const char *before;    /* the stage that makes its input */
	unsigned makes;	       /* of traces */
	int (*step)(struct cli_sweep_steps *steps, const struct tw_csv *in);
};
int cli_sweep_follow(const struct cli_sweep_following *stage, const struct cli_command *command,
		     int argc, char **argv);

/* Writes a sheet, prints it in the form asked for, and says where it is: the exit status. */
int cli_sweep_step_finish(struct cli_sweep_steps *steps, const struct tw_csv *csv,
			  const char *path);

/*
 * Reads the traces of ranks that are wanted, `wanted` by rank of all configurations in order.  The
 * exit status, CLI_DONE or CLI_INCOMPLETE; _release is due in any case.
 */
struct cli_sweep_part {
	struct cli_sweep s; /* with those ranks alone */
	struct tw_arena arena;
	struct cli_sweep_made *made;
};
int cli_sweep_part_make(struct cli_sweep_part *part, const struct cli_sweep *s, const bool *wanted,
			unsigned makes);
void cli_sweep_part_release(struct cli_sweep_part *part);

/* Takes a book over, until the steps are released; CLI_DONE, or told. */
int cli_sweep_keep_book(struct cli_sweep_steps *steps, struct tw_book *book);

/* How many ranks all configurations have, and the place of one among them; SIZE_MAX: none. */
size_t cli_sweep_ranks(const struct tw_sweep *sweep);
size_t cli_sweep_rank_place(const struct tw_sweep *sweep, int64_t threads, int64_t channels,
			    int64_t rank);

#endif
