/*
 * What a step of the made-up program does: scripts of nested host operations
 * with the kernels they launch, and the templates of the events they leave.
 * Built once by model_init(), then read only.
 */
#ifndef GEN_MODEL_H
#define GEN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmpl.h"
#include "util.h"

enum kind { KIND_TRAIN, KIND_INFER, KIND_DECODE, KIND_COMPILE };
enum vendor { VENDOR_NVIDIA, VENDOR_AMD };

/* How layers drop what their backward pass needs, and compute it again. */
enum checkpoint { CHECKPOINT_NONE, CHECKPOINT_RECOMPUTE, CHECKPOINT_REENTRANT };

/* The two host threads of a process. */
enum { TH_MAIN, TH_BWD, N_THREADS };

/* GPU streams; their numbers in the trace are model.stream_no[]. */
enum { ST_MAIN, ST_COMM, ST_COPY, ST_SIDE, N_STREAMS };

/* The bucket of a GPU event in the timeline. */
enum gpu_class { CLS_COMPUTE, CLS_COMM, CLS_MEMCPY };

enum gpu_cat { CAT_KERNEL, CAT_MEMCPY, CAT_MEMSET };

enum api {
	API_LAUNCH,
	API_EX,	    /* the extended launch, for GEMMs */
	API_DRIVER, /* driver launch of compiled kernels */
	API_COMM,
	API_MEMCPY,
	API_MEMSET,
	API_GRAPH,
	API_CALLS, /* from here on calls that launch nothing */
	API_EVENT_RECORD = API_CALLS,
	API_STREAM_WAIT,
	API_IS_CAPTURING,
	API_FUNC_ATTR,
	API_DEVICE_ATTR,
	API_STREAM_SYNC,
	API_DEVICE_SYNC,
	API_BEGIN_CAPTURE,
	API_END_CAPTURE,
	N_APIS,
};

struct api_def {
	const char *nvidia;
	int cbid;
	bool nvidia_driver; /* cat cuda_driver */
	const char *amd;
	int cid;
	int dur_ns;
};

extern const struct api_def api_defs[N_APIS];

struct kern_def {
	const char *key;
	const char *nvidia, *amd; /* names in the trace */
	uint8_t cat, cls, api, stream;
	uint8_t pct; /* of what the device can do, attained on its part of the op's work */
	int mean_ns; /* its length where pct is 0 */
	int grid[3];
	int block;
	int regs, shmem;
	int64_t bytes; /* of copies and fills */
};

extern const struct kern_def kern_defs[];
extern const size_t n_kern_defs;

enum line_kind {
	L_OP,	 /* cpu_op */
	L_KERN,	 /* launch of a kernel, a copy or a fill */
	L_CALL,	 /* runtime call that launches nothing */
	L_PY,	 /* python frame, only recorded with --stacks */
	L_ANN,	 /* user annotation */
	L_GRAPH, /* graph launch; the graph's kernels follow as L_GKERN */
	L_GKERN,
	L_COLL,	 /* launch of a collective; its end is settled after the segment */
	L_WAIT,	 /* stream mul waits for stream off */
	L_IDLE,	 /* off microseconds of host work that nobody recorded */
	L_CLOSE, /* ends the innermost F_HOLD line */
};

enum {
	F_SEQ = 1,	 /* forward op that carries the next sequence number */
	F_GRAD = 2,	 /* and creates an autograd node */
	F_BWD = 4,	 /* autograd engine event: takes the newest open node */
	F_NODE = 8,	 /* the node itself, right below its engine event */
	F_HOLD = 16,	 /* stays open until L_CLOSE, over segments */
	F_MODULE = 32,	 /* python frame of an nn.Module call */
	F_COMM = 64,	 /* arguments come from the collective named in 'in' */
	F_PROGRAM = 128, /* python frame of the program itself: a call site */
	F_AGAIN = 256,	 /* what is below is computed again */
	F_UNDO = 512,	 /* autograd engine event without a forward op */
};

/* A line of a script. Its nesting is its depth; lines end when one of the same depth comes. */
struct line {
	uint8_t depth, kind;
	uint16_t flags;
	const char *name; /* of the op or frame; key of the kernel or collective */
	const char *in;	  /* inputs in the notation of ops.h */
	int16_t mul, off; /* module number = layer * mul + off; see L_WAIT, L_IDLE */
};

struct coll_def {
	const char *key;
	const char *kern; /* key of the kernel */
	const char *name; /* as in "Collective name" */
	const char *annotation;
	const char *in, *out; /* elements, in dimension letters */
	const char *group, *group_desc;
	bool main_waits; /* the main stream waits for it at once */
	bool bare;	 /* kernel without collective arguments */
	int bytes_per_ns;
};

/* Everything below is compiled. */

struct kern {
	const struct kern_def *def;
	const char *name;
	enum gpu_class cls;
	int name_id;	 /* index in model.kern_names */
	int64_t mean_ns; /* where no op tells the work: the longest of the scripts */
	int tm_linked, tm_bare, tm_launch, tm_launch_bare;
};

struct coll {
	const struct coll_def *def;
	int kern; /* index in model.kerns */
	int tm_kernel, tm_gpu_annotation;
	int64_t in_elems, out_elems;
	int64_t xfer_ns;
};

struct cline {
	const struct line *src;
	int tm;	     /* event template, -1 for none */
	int tm_bare; /* of an op without gradients */
	int tm_aux;  /* [memory] instant of an op, GPU side of an annotation */
	int index;   /* in kerns, colls or api_defs; name id of an op */
	int64_t flops;
	int64_t best_ns;   /* of an op's work, were it all done at the device's peaks */
	int64_t n_kernels; /* that share it */
	int64_t mean_ns;   /* of a kernel */
};

struct segment {
	size_t script; /* index in model.scripts */
	int thread, layer;
	int flags;
	int first, last; /* ranks that run it */
};

enum {
	SEG_ENTER_BWD = 1,  /* the autograd thread starts where the main thread is */
	SEG_LEAVE_BWD = 2,  /* the main thread goes on after the autograd thread */
	SEG_CHECKPOINT = 4, /* what is around it is around the layer when it runs again */
	SEG_AGAIN = 8,	    /* a layer again: its nodes are not undone */
	SEG_NO_GRAD = 16,
	SEG_WAITS = 32,	  /* its collective needs that of the next segment */
	SEG_ANSWERS = 64, /* of the rank after that of the last segment */
};

/* Templates that do not belong to a line. */
enum common_tmpl {
	TM_AC2G_S,
	TM_AC2G_F,
	TM_AC2G_F_HOST, /* of a call that launches nothing */
	TM_FWDBWD_S,
	TM_FWDBWD_F,
	TM_PY_CALL_IMPL,
	TM_PY_WRAPPED,
	TM_PY_FORWARD,
	N_COMMON_TMPL,
};

/* Frames that no script has: around all steps, in each call of a module, around captures. */
#define OUTER_FRAME "main.py(187): main"
#define FORWARD_FRAME "model/transformer.py(112): forward"
#define CAPTURE_FRAME "serve/cuda_graph_runner.py(488): capture"

struct dims {
	int64_t v[26]; /* by capital letter */
};

struct script {
	const struct line *src;
	size_t n;
	struct cline *lines;
	int coll; /* index of the collective it launches, -1 for none */
};

struct model {
	enum kind kind;
	enum vendor vendor;
	enum layout layout;
	bool stacks;
	bool epoch;
	enum checkpoint checkpoint;
	bool pipeline; /* ranks are stages */
	bool capture;  /* the run that captures the graphs */
	int ranks;
	int first_rank, last_rank; /* of segments that are added */
	int world;		   /* ranks of the job, also where only one is written */
	struct dims dims;

	struct tmpl *tm;
	size_t n_tm;
	int common[N_COMMON_TMPL];
	int tm_call[N_APIS], tm_call_bare[N_APIS];
	int api_name_id[N_APIS]; /* in op_names */
	int leftovers[6];	 /* kernels that may run when the window opens */

	struct kern *kerns; /* n_kern_defs of them */
	struct coll *colls;
	size_t n_colls;
	const char **kern_names;
	size_t n_kern_names;
	const char **op_names; /* launchers' names: ops and calls */
	size_t n_op_names;

	struct script *scripts;
	size_t n_scripts;
	struct segment *plan; /* one step */
	size_t n_plan;

	int stream_no[N_STREAMS];
	const char *sep;       /* between two events */
	const char *sep_first; /* before the first one */
	int event_depth;
	const char *device_name;
	struct sb scratch, scratch_args;
};

/* All up to world is set by the caller but the ranks of segments; dims by the plan. */
void model_init(struct model *m);
void model_free(struct model *m);

/* For the plans: adds a segment to the step. */
void model_add(struct model *m, const struct line *lines, size_t n, int thread, int layer,
	       int flags);

#define MODEL_ADD(m, script, thread, layer, flags) \
	model_add(m, script, ARRAY_LEN(script), thread, layer, flags)

void plan_train(struct model *m);
void plan_infer(struct model *m);
void plan_decode(struct model *m);
void plan_capture(struct model *m);
void plan_compile(struct model *m);

/* The collectives of a kind; *n of them. */
extern const struct coll_def coll_defs[];
extern const size_t n_coll_defs;

#endif
