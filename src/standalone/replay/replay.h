/*
 * Replay packages: what is needed to run an operation of a trace again on another machine and
 * time it there.  A package is of all calls of one name; calls with different arguments are rows.
 */
#ifndef TW_STANDALONE_REPLAY_H
#define TW_STANDALONE_REPLAY_H

#include "standalone/fields.h"
#include "standalone/prepared.h"

#define TW_REPLAY_FOLDER "replay_packages"
#define TW_REPLAY_ENDING "_replay_package.zip"

struct tw_replay_kernel {
	const char *name;
	double count, mean_us, min_us, max_us, total_us;
};

/* A row of <category>_ops.csv; what is not known is NaN or "". */
struct tw_replay_row {
	const char *name;
	const char *dims, *types, *strides, *concrete; /* as Python writes them */
	const char *kernels_text;		       /* kernel_details_summary */
	const char *uid, *bound, *spec;
	double count, time_us, mean_us;
	double gflops, megabytes, flops_per_byte, tflops, tb_s; /* of a call */
	double efficiency_percent, percent_of_compute;
	size_t order; /* in the files */
	/* Made when the package is. */
	const char *part; /* the whole name, where the operation's is a part of it */
	double time_ms;
	TW_FIELD_LIST(struct tw_replay_kernel) kernels;
	const char *arguments; /* in one line: "BFloat16[141, 512], 1, beta=1" */
	const char *left_out;  /* why it cannot be run again; NULL: it can */
	bool lacks_type, lacks_strides;
};

extern const struct tw_fields tw_replay_row_fields, tw_replay_kernel_fields;

struct tw_replay_op {
	const char *name;
	const char *file;	   /* of its package, the same whichever are written */
	struct tw_replay_row *row; /* by kernel time, most first */
	size_t rows;
	double time_us, percent_of_compute;
	double efficiency_percent; /* by kernel time, of the rows that have one */
};

struct tw_replay_ops {
	struct tw_replay_op *op; /* by kernel time, most first */
	size_t count;
	const char *platform, *device; /* NULL: unknown */
};

/* ---- ops.c: everything lies in the arena of `prepared` */

int tw_replay_read(struct tw_prepared *prepared, struct tw_replay_ops *ops,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- call.c */

/* The name of the operation behind a row: without the kernel that a synthetic one is of. */
size_t tw_replay_op_name(const char *name);
/* The members op_name, replay_ir and, when it cannot be run again, left_out; and what the row tells of it. */
int tw_replay_add_call(struct tw_json *json, struct tw_replay_row *row, struct tw_arena *arena,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- readme.c */

/* The package's README.md; its rows are complete. */
void tw_replay_readme(struct tw_str *out, const struct tw_replay_ops *ops,
		      const struct tw_replay_op *op);

/* ---- zip.c */

struct tw_replay_part {
	const char *name;
	const struct tw_str *text;
};

/* The zip file of the parts, always the same bytes, appended to `out`. */
int tw_replay_zip(const struct tw_replay_part *parts, size_t count, struct tw_str *out,
		  struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- replay.c */

/*
 * As tw_replay() in standalone.h; chosen[i] (`ops->count` of them, the caller's to free with the
 * allocator of `prepared`) tells which of *ops were written.
 */
int tw_replay_packages(struct tw_prepared *prepared, const char *const *names, size_t count,
		       struct tw_replay_ops *ops, bool **chosen,
		       struct trawl_error *err) TRAWL_MUST_CHECK;

#endif
