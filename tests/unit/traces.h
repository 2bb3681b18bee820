/*
 * Traces for tests: written as text, read in every manner, compared by what they say (texts, not
 * ids), and the cells of the reports made of them.
 */
#ifndef TRAWL_TEST_TRACES_H
#define TRAWL_TEST_TRACES_H

#include "text/str.h"
#include "derive/derived.h"
#include "trawl/report.h"

/* ---- writing */

/* Text of a trace being written; times in nanoseconds. */
struct script {
	struct tw_str text;
	bool any;
};

void script_begin(struct script *s);
/* An event in raw JSON, with what stands in front of it (comma, new line). */
void script_raw(struct script *s, const char *event);
/* `args` is the inside of the arguments' braces, NULL: no arguments; `category` NULL: none. */
void script_slice(struct script *s, const char *category, const char *name, int pid, int tid,
		  int64_t start_ns, int64_t dur_ns, const char *args);
/* Operation, launch call and kernel on thread 1 of process 1 and a stream of device 0. */
void script_op(struct script *s, const char *name, int64_t start_ns, int64_t dur_ns);
void script_call(struct script *s, const char *name, int64_t start_ns, int64_t dur_ns,
		 int correlation);
void script_kernel(struct script *s, const char *name, int stream, int64_t start_ns, int64_t dur_ns,
		   int correlation);
void script_copy(struct script *s, const char *name, int stream, int64_t start_ns, int64_t dur_ns,
		 int correlation);
/*
 * In microseconds: an operation with arguments, and a launch call of 1 us with its kernel; the
 * backward ones on thread 2, where the autograd engine runs.
 */
void script_op_us(struct script *s, const char *name, int64_t start_us, int64_t dur_us,
		  const char *args);
void script_launch_us(struct script *s, int64_t call_us, int id, const char *kernel,
		      int64_t start_us, int64_t dur_us);
void script_backward_op_us(struct script *s, const char *name, int64_t start_us, int64_t dur_us,
			   const char *args);
void script_backward_launch_us(struct script *s, int64_t call_us, int id, const char *kernel,
			       int64_t start_us, int64_t dur_us);
/* Ends the list, reads it, frees the text. */
struct trawl_trace *script_read(struct script *s);

/* ---- reading */

/* A read from memory in blocks of `block` bytes (0: 1 MB), NULL with *err when it fails. */
struct trawl_trace *read_text(const char *text, size_t len, size_t block, struct trawl_error *err);
/* The same in parts, if `options` say so; their allocator is the default. */
struct trawl_trace *read_in_parts(const char *text, size_t len,
				  const struct trawl_read_options *options,
				  struct trawl_error *err);
/* A read that has to succeed. */
struct trawl_trace *trace_of(const char *text);
/* The same of a list of these events. */
struct trawl_trace *trace_of_list(const char *const *events);
#define TRACE_OF(...) trace_of_list((const char *const[]){ __VA_ARGS__, NULL })
/* The same of every block size there is and in parts, which agree; gives that of whole blocks. */
struct trawl_trace *trace_in_blocks(const char *text, size_t len);
/* Block sizes that tests use, 0 at the end. */
extern const size_t block_sizes[];

/* ---- questions */

#define COUNT(trace, kind) ((int)(trace)->quality.kinds[TW_DEFECT_##kind].count)
#define OFFSET(trace, kind) ((int)(trace)->quality.kinds[TW_DEFECT_##kind].offset)
#define EVENT(trace, kind) ((int)(trace)->quality.kinds[TW_DEFECT_##kind].event)

/* Fails, naming what is there, unless the record holds `count` kinds in all. */
void assert_kinds(const struct trawl_trace *trace, int count);
const char *name_of(const struct trawl_trace *trace, uint64_t event);
/* The event with this name; fails when there is none. */
uint64_t event_named(const struct trawl_trace *trace, const char *name);
/* An argument as text: "5", "2.5", "true", "null", the text of a string or list; NULL: absent. */
const char *arg_of(const struct trawl_trace *trace, uint64_t event, const char *key);
/* The text of an id column: "" for none. */
const char *code_of(const struct trawl_trace *trace, tw_code code);
/* Everything an event says, on one line. */
void describe_event(const struct trawl_trace *trace, uint64_t event, struct tw_str *out);
/* Fields, facts and the quality record. */
void describe_rest(const struct trawl_trace *trace, struct tw_str *out);
/* Fails with the first difference. */
void assert_same_trace(const struct trawl_trace *a, const struct trawl_trace *b, const char *where);

/* ---- what follows from it */

/* Derives, which has to succeed; `options` NULL: the whole trace. */
struct tw_derived *derive(const struct trawl_trace *trace, const struct tw_derive_options *options);
#define DERIVED(d, kind) ((int)(d)->quality.kinds[TW_DEFECT_##kind].count)
#define DERIVED_EVENT(d, kind) ((int)(d)->quality.kinds[TW_DEFECT_##kind].event)
/* The name of the parent of the node with this name, "" at the top. */
const char *parent_of(const struct tw_derived *d, const char *name);
/* The name of the call that launched the GPU event with this name, "" when not recorded. */
const char *launch_of(const struct tw_derived *d, const char *name);
/* The number among GPU events of the one with this name. */
uint64_t gpu_named(const struct tw_derived *d, const char *name);

/* ---- reports */

/* A report on one thread that has to succeed; `options` NULL: the defaults. */
struct trawl_report *report_of(const struct trawl_trace *trace,
			       const struct trawl_report_options *options);
/* Rows of a table, 0 when the report has none of that name. */
size_t rows_of(const struct trawl_report *report, const char *table);
/* A cell as CSV has it, "" when missing; fails when there is no such row or column. */
const char *cell_at(const struct trawl_report *report, const char *table, size_t row,
		    const char *header);
/* The same in the only row whose column `key` is `value`. */
const char *cell_of(const struct trawl_report *report, const char *table, const char *key,
		    const char *value, const char *header);
/* Whether a row's column `key` is `value`. */
bool has_row(const struct trawl_report *report, const char *table, const char *key,
	     const char *value);

#endif
