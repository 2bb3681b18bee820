/*
 * Facts of the world that the analyses use: made from the files of data/, where each has its source.
 */
#ifndef TW_DATA_TABLES_H
#define TW_DATA_TABLES_H

#include "trawl/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The length of an operation's name without its overload: 8 for "aten::mm.out", whose operation is
 * aten::mm.  `len` for all that is not a name of words joined by "::", a "." and one more word.
 * What is looked up by the name of an operation goes by the exact name first, then by this one.
 */
size_t tw_op_base(const char *op, size_t len);

struct tw_op_category {
	const char *op, *category;
};

/* Different categories at most. */
#define TW_MAX_OP_CATEGORY_NAMES 60

/* In byte order of `op`; patterns, in lower case, the longest first. */
extern const struct tw_op_category tw_op_categories[], tw_op_category_patterns[];
extern const size_t tw_op_category_count, tw_op_category_pattern_count;

/* The category of an operation, NULL when unknown. */
const char *tw_op_category(const char *op, size_t len);

struct tw_op_model {
	const char *op, *model;
};

/* In byte order of `op`; patterns, in lower case, the longest first. */
extern const struct tw_op_model tw_op_models[], tw_op_model_patterns[];
extern const size_t tw_op_model_count, tw_op_model_pattern_count;

/* The name of the cost model of an operation, NULL: it has none. */
const char *tw_op_model(const char *op, size_t len);

/* How many elements a result of an operation of ATen has: data/aten_ops.tsv. */
enum tw_aten_result {
	TW_ATEN_SAME,
	TW_ATEN_NONE,
	TW_ATEN_ONE,
	TW_ATEN_AT,
	TW_ATEN_DIMS,
	TW_ATEN_AXIS,
	TW_ATEN_LAST,
	TW_ATEN_LIST,
	TW_ATEN_NUMBER,
	TW_ATEN_RANGE,
	TW_ATEN_SUM,
	TW_ATEN_EACH,
	TW_ATEN_HALF,
	TW_ATEN_TIMES,
	TW_ATEN_REPEAT,
	TW_ATEN_INTERLEAVE,
	TW_ATEN_TRIANGLE,
	TW_ATEN_PAD,
	TW_ATEN_SPATIAL,
	TW_ATEN_POOL,
	TW_ATEN_AVGPOOL,
	TW_ATEN_GRID,
	TW_ATEN_LOSS,
	TW_ATEN_TOPK,
	TW_ATEN_ROWS,
	TW_ATEN_INDEX,
	TW_ATEN_ALONG,
	TW_ATEN_PUT,
	TW_ATEN_BAG,
	TW_ATEN_TABLE,
};

struct tw_aten_op {
	const char *op;	    /* without "aten::" */
	const char *inputs; /* a letter for each argument */
	enum tw_aten_result result;
	unsigned position;
	const char *types;
	int operations;
};

/* In byte order of `op`. */
extern const struct tw_aten_op tw_aten_ops[];
extern const size_t tw_aten_op_count;

/*
 * The row of an operation, NULL when unknown; "aten::_foreach_add_.List" has that of add.  Sets
 * *in_place when the name says so and the row is that of the other form.
 */
const struct tw_aten_op *tw_aten_op(const char *op, size_t len, bool *in_place);

/* Whether an operation of the table has lists of tensors among its arguments. */
bool tw_aten_takes_lists(const char *op, size_t len);

/* What is behind a part of a kernel's name and "<". */
enum tw_element_form { TW_ELEMENT_SIZE, TW_ELEMENT_TYPE, TW_ELEMENT_TYPES };

struct tw_element_type {
	const char *part;
	enum tw_element_form form;
};

extern const struct tw_element_type tw_element_types[];
extern const size_t tw_element_type_count;

/*
 * Bytes of an element of the first tensor that a kernel works on and of the others, where its name
 * shows them; 0: it does not.
 */
void tw_element_bytes_of_kernel(const char *name, unsigned bytes[2]);

/* An argument of an operation as its schema has it: "Tensor(a!)", "self". */
struct tw_op_argument {
	const char *type, *name;
};

/* What the profiler records of one overload, by position; from `positional` on by name only. */
struct tw_op_arguments {
	const char *op;
	unsigned first; /* in tw_op_argument_list */
	unsigned count, positional;
};

extern const struct tw_op_argument tw_op_argument_list[];
/* In byte order of `op`. */
extern const struct tw_op_arguments tw_op_arguments_known[];
extern const size_t tw_op_arguments_count;

/* The first row for an operation, NULL: none; others of the name follow. */
const struct tw_op_arguments *tw_op_arguments(const char *op, size_t len);

/* data/replay.py, which goes into replay packages. */
extern const char *const tw_replay_script[];
extern const size_t tw_replay_script_lines;

struct tw_triton_op {
	const char *op;
	int cost;   /* operations an element */
	int inputs; /* tensors that it takes */
};

/* Parts of a name between its "_", at most. */
#define TW_TRITON_MOST_PARTS 12

/* In byte order of `op`. */
extern const struct tw_triton_op tw_triton_ops[];
extern const size_t tw_triton_op_count;

/* What is fused under exactly this name, NULL: no operation's name. */
const struct tw_triton_op *tw_triton_op(const char *op, size_t len);

enum tw_kernel_class {
	TW_KERNEL_COMPUTE, /* whatever launched it */
	TW_KERNEL_COMMUNICATION,
	TW_KERNEL_COPY,
	TW_KERNEL_FILL,
	TW_KERNEL_UNKNOWN, /* the name is no evidence */
};

/* In order of precedence; patterns in lower case. */
struct tw_kernel_name {
	const char *pattern;
	enum tw_kernel_class class;
	const char *collective; /* "": the name does not tell */
	const char *library;
};

extern const struct tw_kernel_name tw_kernel_names[];
extern const size_t tw_kernel_name_count;

/* The first row that matches a kernel's name, NULL: the name is no evidence. */
const struct tw_kernel_name *tw_kernel_name(const char *name, size_t len);

/* What a kernel does, by its name; those without a number of their own follow. */
enum tw_kernel_category {
	TW_KERNEL_CATEGORY_OTHER,
	TW_KERNEL_CATEGORY_COMMUNICATION,
	TW_KERNEL_CATEGORY_COPY,
	TW_KERNEL_CATEGORY_FILL,
};

extern const char *const tw_kernel_category_names[];
extern const size_t tw_kernel_category_count;

/* In order of precedence; words are "<word>", in lower case. */
struct tw_kernel_pattern {
	uint64_t mask; /* of the words of `function` */
	const char *function;
	const char *inside; /* NULL: none; with `core` a list of the words that may follow it */
	const char *core;
	uint8_t category;
};

extern const struct tw_kernel_pattern tw_kernel_patterns[];
extern const size_t tw_kernel_pattern_count;

/*
 * The category of a kernel of this name, of those that data/kernel_categories.tsv has: what
 * communicates is asked elsewhere.  -1: out of memory.
 */
int tw_kernel_category(const char *name, size_t len, const struct trawl_allocator *allocator);

struct tw_collective_name {
	const char *name, *collective;
};

extern const struct tw_collective_name tw_collective_names[];
extern const size_t tw_collective_name_count;

/* The kind of collective that a "Collective name" means, NULL when unknown. */
const char *tw_collective(const char *name, size_t len);
/* The same by the name of an operation that communicates, such as "c10d::allreduce_". */
const char *tw_collective_of_operation(const char *name, size_t len);

/* Kinds of collectives whose argument "Rank" is that of who recorded them, in its group. */
extern const char *const tw_own_rank_kinds[];
extern const size_t tw_own_rank_kind_count;

/* What an event of the host is by its name: a set. */
enum tw_host_kind {
	TW_HOST_SYNCHRONISING = 1,
	TW_HOST_GRAPH_LAUNCH = 2,
	TW_HOST_DATA_LOADING = 4,
	TW_HOST_CONTAINER = 8,
	TW_HOST_PYTHON_CODE = 16,
	TW_HOST_PYTHON_INTERNAL = 32,
	TW_HOST_GRADIENT_BUCKETS = 64,
	/* Asked of names alone: struct tw_host_names has no room. */
	TW_HOST_FRAMEWORK_RANGE = 128,
	TW_HOST_AUTOGRAD_THREAD = 256,
	TW_HOST_LAUNCH = 512,
	TW_HOST_NO_LAUNCH = 1024,
	TW_HOST_COMMUNICATION = 2048,
	TW_HOST_ORDINARY = 4096,
	TW_HOST_PEER_COPY = 8192,
	TW_HOST_WAITS_FOR_DEVICE = 1 << 14,
	TW_HOST_WAITS_FOR_STREAM = 1 << 15,
	TW_HOST_BLOCKING_COPY = 1 << 16,
	TW_HOST_ALLOCATION = 1 << 17,
	TW_HOST_MODULE_LOAD = 1 << 18,
	TW_HOST_IMPLICIT_WAIT = 1 << 19,
	TW_HOST_EVENT_RECORD = 1 << 20,
	TW_HOST_EVENT_WAIT = 1 << 21,
	TW_HOST_WORKER_LOADING = 1 << 22,
	TW_HOST_CHECKPOINTING = 1 << 23,
	TW_HOST_RECOMPUTATION = 1 << 24,
	TW_HOST_COMPILATION = 1 << 25,
	TW_HOST_OPTIMIZER_STEP = 1 << 26,
	TW_HOST_STEP = 1 << 27,
	TW_HOST_CAPTURE_BEGIN = 1 << 28,
	TW_HOST_CAPTURE_END = 1 << 29,
};

struct tw_host_name_kind {
	const char *pattern; /* in lower case */
	enum tw_host_kind kind;
};

extern const struct tw_host_name_kind tw_host_name_kinds[];
extern const size_t tw_host_name_kind_count;

/* Frames that are not the program's own, in lower case. */
extern const char *const tw_frame_patterns[];
extern const size_t tw_frame_pattern_count;
bool tw_is_inner_frame(const char *name, size_t len);
/* Those that hand arguments of an operator on, for the column entry_point. */
extern const char *const tw_passing_frame_patterns[];
extern const size_t tw_passing_frame_pattern_count;
bool tw_is_passing_frame(const char *name, size_t len);

/* All kinds of a name, 0: none. */
unsigned tw_host_kinds_of(const char *name, size_t len);
/* Whether ranges around steps are called so, their number aside. */
bool tw_is_step_name(const char *name, size_t len);
/* Whether a call of this name gives work to the GPU. */
bool tw_is_launch_name(const char *name, size_t len);

/* Delays of the dependencies of a run where a recording shows none: data/delays.tsv. */
enum tw_vendor { TW_VENDOR_NVIDIA, TW_VENDOR_AMD, TW_VENDORS };

struct tw_delays {
	int64_t launch, stream, event, wait, inferred, sync, host, duration, handover; /* ns */
	int64_t late;	     /* ns: a start later than this after its launch has another cause */
	int64_t fetch;	     /* ns: of a batch that is there */
	int64_t fetch_waits; /* ns: a longer fetch waited for its worker */
	uint32_t depth;	     /* launches that a stream takes before a call blocks, 0: no limit */
};

extern const struct tw_delays tw_delays[TW_VENDORS];

/* Links of a platform in GB/s (10^9): data/links.tsv. */
struct tw_links {
	const char *platform;
	double host; /* to the host's memory */
	double node; /* bus bandwidth of a large allreduce within a node; 0: not known */
};

extern const struct tw_links tw_platform_links[];
extern const size_t tw_link_count;

/* What findings say: data/finding_kinds.tsv, in the order of src/diagnose/kinds.def. */
struct tw_finding_words {
	const char *code, *how, *title;
	const char *training, *inference; /* remedies */
	const char *assumes;		  /* what the gain rests on; "-": nothing */
};

extern const struct tw_finding_words tw_finding_words[];
/* Of a kind where it is special. */
extern const struct tw_finding_words tw_words_exposed_communication_alone,
	tw_words_host_pause_function, tw_words_launch_bound_graphs,
	tw_words_layout_copies_convolution, tw_words_nothing_found_empty,
	tw_words_nothing_found_partly, tw_words_pageable_copy_back, tw_words_straggler_compute_two;

enum tw_copy_direction { TW_COPY_D2H, TW_COPY_H2D, TW_COPY_D2D, TW_COPY_OTHER, TW_COPY_DIRECTIONS };

/* "D2H", "H2D", "D2D", "other". */
extern const char *const tw_copy_direction_names[TW_COPY_DIRECTIONS];

struct tw_copy_name {
	const char *pattern; /* in lower case */
	enum tw_copy_direction direction;
	bool between_devices;
};

extern const struct tw_copy_name tw_copy_names[];
extern const size_t tw_copy_name_count;

/* TW_COPY_OTHER when the name does not tell. */
enum tw_copy_direction tw_copy_direction(const char *name, size_t len);
/* Whether the name says that it goes from one device to another. */
bool tw_copy_is_between_devices(const char *name, size_t len);

enum tw_nsys_what { TW_NSYS_COPY, TW_NSYS_MEMORY, TW_NSYS_SYNC };

/* What a number in an export of Nsight Systems stands for. */
struct tw_nsys_number {
	enum tw_nsys_what what;
	int64_t number;
	const char *name;
};

/* For a name with its NUL; "kind " and a number need no more. */
#define TW_NSYS_NAME_BYTES 40

extern const struct tw_nsys_number tw_nsys_numbers[];
extern const size_t tw_nsys_number_count;

/* NULL: not known. */
const char *tw_nsys_name(enum tw_nsys_what what, int64_t number);

/* In the order in which the type of a result follows from those of its inputs. */
enum tw_dtype_kind { TW_NO_KIND, TW_BOOL, TW_INTEGER, TW_FLOAT, TW_COMPLEX };

struct tw_dtype {
	const char *name;
	unsigned bits;
	const char *precision; /* what peaks are given for, such as "bf16"; "": none */
	unsigned values;       /* in an element: 2 where two of four bits are packed into a byte */
	enum tw_dtype_kind kind;
	int number; /* as arguments name it, -1: they do not */
};

extern const struct tw_dtype tw_dtypes[];
extern const size_t tw_dtype_count;

/* A type by its name in either case, with or without "c10::"; NULL when unknown. */
const struct tw_dtype *tw_dtype(const char *name, size_t len);
/* The type that an argument names by its number, NULL when unknown. */
const struct tw_dtype *tw_dtype_of_number(int64_t number);

/* Bytes of an element of a type, 0 when the type is unknown or smaller than a byte. */
unsigned tw_dtype_bytes(const char *name, size_t len);

/* How far a figure of a platform can be trusted, the best first. */
enum tw_mark {
	TW_MARK_NONE,	    /* no figure, or one that the user gave */
	TW_MARK_ACHIEVABLE, /* measured with the best kernels */
	TW_MARK_DATASHEET,  /* the vendor's peak, which no kernel reaches */
	TW_MARK_UNVERIFIED, /* derived, or published figures differ */
};

/* "achievable", "datasheet", "unverified"; "" for none. */
const char *tw_mark_name(enum tw_mark mark);

/* One fact of data/platforms.tsv; those of a platform stand together. */
struct tw_platform_fact {
	const char *platform;
	const char *key; /* "mem_bw_gbps", "memory_gb", "device" or one of tw_peak_keys */
	double value;
	const char *pattern; /* of "device": matches a device's name, in lower case */
	enum tw_mark mark;
	const char *source;
};

extern const struct tw_platform_fact tw_platform_facts[];
extern const size_t tw_platform_fact_count;

/* The peaks that platforms have: "matrix_bf16" as in a Compute Spec, matrix before vector. */
#define TW_PEAK_COUNT 13
extern const char *const tw_peak_keys[TW_PEAK_COUNT];

/* What the standalone analysis calls a category of operations. */
struct tw_analysis_category {
	const char *op_category;
	const char *operation; /* pattern, in lower case */
	const char *name;      /* of its files */
	const char *display_name, *skill;
};

/* The first row that matches counts. */
extern const struct tw_analysis_category tw_analysis_categories[];
extern const size_t tw_analysis_category_count;

/* Where the work of an operation comes from; the first row that matches it or a kernel counts. */
struct tw_library {
	bool of_kernel;
	const char *pattern, *library;
};

extern const struct tw_library tw_libraries[];
extern const size_t tw_library_count;

/* What names tell; data/name_traits.tsv says it by examples. */
enum tw_trait {
	TW_TRAIT_QUANTIZED,
	TW_TRAIT_FLASH,
	TW_TRAIT_PAGED,
	TW_TRAIT_FUSED_ATTENTION,
	TW_TRAIT_LAYOUT_TRANSPOSE,
	TW_TRAIT_SOFTMAX,
	TW_TRAIT_GEMM,
	TW_TRAIT_TRITON_POINTWISE,
	TW_TRAIT_TRITON_REDUCTION,
	TW_TRAIT_TRITON_PERSISTENT,
	TW_TRAIT_MOE_ROUTING,
	TW_TRAIT_BATCH_NORM,
	TW_TRAIT_LAYER_NORM,
	TW_TRAIT_POWER,
	TW_TRAIT_MEAN,
	TW_TRAIT_RSQRT,
	TW_TRAIT_COPY,
	TW_TRAIT_HOST_COPY,
	TW_TRAIT_GRAPH_LAUNCH,
	TW_TRAIT_NO_OPERATION,
	TW_TRAIT_BACKWARD,
	TW_TRAIT_TRAINING,
	TW_TRAIT_INFRASTRUCTURE, /* a frame that says nothing of its own */
	TW_TRAIT_WEIGHT,
	TW_TRAIT_BATCHED,
	TW_TRAIT_GROUP_NORM,
	TW_TRAIT_RMS_NORM,
	TW_TRAIT_COMPILED_REGION,
	TW_TRAIT_COMPILED,
	TW_TRAIT_KIND_ATTENTION,
	TW_TRAIT_KIND_MOE,
	TW_TRAIT_KIND_GEMM,
	TW_TRAIT_KIND_NORM,
	TW_TRAIT_UNFUSED_ATTENTION,
};

struct tw_name_trait {
	enum tw_trait trait;
	bool of_kernel;
	const char *pattern;
};

extern const struct tw_name_trait tw_name_traits[];
extern const size_t tw_name_trait_count;

bool tw_operation_has(enum tw_trait trait, const char *name);
bool tw_kernel_has(enum tw_trait trait, const char *name);

/* The analysis of a category of operations, and what its findings call it. */
struct tw_category_family {
	const char *pattern; /* of the category's name in files */
	const char *family;
	const char *title, *subject; /* NULL: the category's own name */
};

/* The first row that matches counts, the last one matches all. */
extern const struct tw_category_family tw_category_families[];
extern const size_t tw_category_family_count;

const struct tw_category_family *tw_category_family(const char *category);

/* ---- ranges in the metrics of a trainer */

enum tw_metrics_category {
	TW_METRICS_COMPUTE,
	TW_METRICS_COMMUNICATION,
	TW_METRICS_OPTIMIZER,
	TW_METRICS_PREFETCH,
	TW_METRICS_OTHER,
};

struct tw_metrics_tag {
	const char *word; /* in lower case, anywhere in the tag */
	enum tw_metrics_category category;
};

/* The first row that matches counts. */
extern const struct tw_metrics_tag tw_metrics_tags[];
extern const size_t tw_metrics_tag_count;

enum tw_metrics_category tw_metrics_category(const char *tag);

/* ---- rules: conditions on facts, and what is said when they hold */

enum tw_fact {
#define TW_FACT(name, digits, unit, meaning) TW_FACT_##name,
#include "data/facts.def"
#undef TW_FACT
	TW_FACT_COUNT
};

struct tw_fact_info {
	const char *name;
	unsigned digits;
	const char *unit, *meaning;
};

extern const struct tw_fact_info tw_facts_known[TW_FACT_COUNT];

enum tw_operator {
	TW_OVER,
	TW_AT_LEAST,
	TW_BELOW,
	TW_AT_MOST,
	TW_IS,
	TW_KNOWN,
	TW_UNKNOWN,
};

#define TW_MAX_CONDITIONS 6

struct tw_condition {
	enum tw_fact fact;
	enum tw_operator operator;
	double value;
};

/* A row of data/levels.tsv; those of a ladder stand together, the last one always holds. */
struct tw_level {
	const char *ladder, *level;
	const char *text; /* NULL: none */
	unsigned condition_count;
	struct tw_condition conditions[TW_MAX_CONDITIONS];
};

extern const struct tw_level tw_levels[];
extern const size_t tw_level_count;

/* A row of data/rules.tsv; texts have {fact} where a number belongs, NULL: none. */
struct tw_rule {
	const char *scope, *id;
	const char *issue, *algorithmic, *kernel;
	unsigned condition_count;
	struct tw_condition conditions[TW_MAX_CONDITIONS];
};

/*
 * What rules say of an operation: all rules of its family that hold, and of those that fill gaps one
 * for each part at most.
 */
enum tw_advice_part { TW_ADVICE_ISSUE, TW_ADVICE_ALGORITHMIC, TW_ADVICE_KERNEL, TW_ADVICE_PARTS };
#define TW_MOST_ADVICE 12

extern const struct tw_rule tw_rules[];
extern const size_t tw_rule_count;

/* The style sheet of reports, data/report.css. */
extern const char *const tw_report_style[];
extern const size_t tw_report_style_lines;

/*
 * Style sheet and script of the page that compares, data/compare.css and data/compare.js, by
 * lines.  The hashes, as a Content-Security-Policy has them, are of a line feed and then all lines,
 * each with its line feed.
 */
extern const char *const tw_compare_style[], *const tw_compare_script[];
extern const size_t tw_compare_style_lines, tw_compare_script_lines;
extern const char tw_compare_style_hash[], tw_compare_script_hash[];

/*
 * Whether `text` matches `pattern`, in which * stands for any text and letters match either
 * case.  The pattern is in lower case.  One that begins with ^ matches from where an identifier of
 * a kernel's own name begins, underscores before it aside.
 */
bool tw_name_matches(const char *pattern, const char *text, size_t len);

/* Rules for the ranges of known trainers: data/nsys_rules/, whose texts these are. */
struct tw_nsys_preset {
	const char *name, *text;
};

extern const struct tw_nsys_preset tw_nsys_presets[]; /* the default first */
extern const size_t tw_nsys_preset_count;

#endif
