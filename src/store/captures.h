/*
 * What other traces say of the graphs that a trace launches: captures, and eager runs of the same
 * model.  Their operators and calls are borrowed: events behind those of the trace, at numbers
 * from events.count on, which nothing that goes through the events of the trace meets.  They have
 * names and arguments, no time and no correlation.  derive/graphs/graphs.h says what becomes of them.
 */
#ifndef TW_STORE_CAPTURES_H
#define TW_STORE_CAPTURES_H

#include "base/list.h"

/* Keys of calls and nodes that have no name of a kernel; others are text ids. */
enum { TW_CALL_ANY = UINT32_MAX, TW_CALL_COPY = UINT32_MAX - 1, TW_CALL_FILL = UINT32_MAX - 2 };

/* A call that makes a node. */
struct tw_captured_call {
	uint32_t key;	  /* name of its kernel, or TW_CALL_* */
	uint32_t node;	  /* of the captured nodes */
	uint32_t op_node; /* its operator, else the call */
	uint32_t op;	  /* the name of that: text id */
	uint32_t dims;	  /* of its inputs: text id, 0: none */
	uint32_t module;  /* path, "A_0 > B_1": text id, 0: none */
	uint32_t path;	  /* the same: 1 + its last module, of the captured modules */
	uint32_t site;	  /* frame of the program that called it: text id, 0: none */
	uint32_t pass;	  /* enum tw_pass of analysis/who */
};

/* An operator or call, behind what encloses it. */
struct tw_captured_node {
	uint32_t event;	 /* borrowed */
	uint32_t bare;	 /* the same without arguments */
	uint32_t parent; /* of the captured nodes, UINT32_MAX: none */
};

/* A module within a module. */
struct tw_captured_module {
	uint32_t parent; /* 1 + a captured module before it, 0: none */
	uint32_t name;	 /* text id of the frame */
};

enum tw_capture_kind {
	TW_CAPTURE_NAMED,   /* calls have the names of their kernels */
	TW_CAPTURE_COUNTED, /* calls say no more than kernel, copy or fill */
	TW_CAPTURE_EAGER,   /* no capture: GPU events of an eager run, in order of launch */
};

struct tw_capture {
	enum tw_capture_kind kind;
	uint32_t file;	 /* text id */
	uint32_t number; /* among those of the file */
	uint32_t first_call, call_count;
};

struct tw_captures {
	TW_LIST(struct tw_capture) list;
	TW_LIST(struct tw_captured_call) calls;
	TW_LIST(struct tw_captured_node) nodes;
	TW_LIST(struct tw_captured_module) modules;
};

struct trawl_trace;

/*
 * Borrows `count` events of `from`, on a track of `trace`, the first of them at *first; their
 * arguments too unless they are to be `bare`.  0 or -1.
 */
int tw_trace_borrow(struct trawl_trace *trace, const struct trawl_trace *from,
		    const uint32_t *events, uint64_t count, bool bare, uint32_t track,
		    uint64_t *first);

/* The text id in `trace` of one of `from`; 0 when out of memory, and the pool has failed. */
uint32_t tw_trace_borrow_text(struct trawl_trace *trace, const struct trawl_trace *from,
			      uint32_t text);

#endif
