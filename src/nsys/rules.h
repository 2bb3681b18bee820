/*
 * What names of NVTX ranges and kernels mean to a trainer, as data.  A file of rules has lines
 *
 *	kind <TAB> pattern <TAB> value
 *
 * with POSIX extended regular expressions as patterns; lines that begin with # are comments.
 *
 *	label    the name says which rank the process is: group 1 is its number
 *	window   a range of the steady state; value: how the output calls such ranges
 *	stage    the work that a range stands for: value, in which \1 to \9 are groups
 *	purpose  what communication launched inside the range is for: value, as above
 *	kernel   a kernel's name; value: communication or compute
 *
 * Of each kind the first rule that matches counts.  A rule is tried only on names that contain a
 * piece of text which every match must have.
 */
#ifndef TW_NSYS_RULES_H
#define TW_NSYS_RULES_H

#include "base/arena.h"
#include "text/str.h"
#include "trawl/error.h"

#include <regex.h>

enum tw_rule_kind {
	TW_NSYS_LABEL,
	TW_NSYS_WINDOW,
	TW_NSYS_STAGE,
	TW_NSYS_PURPOSE,
	TW_NSYS_KERNEL,
	TW_NSYS_KINDS,
};

#define TW_RULE_PIECES 8

struct tw_nsys_rule {
	enum tw_rule_kind kind;
	const char *pattern, *value; /* value "": none */
	/* A name that matches contains one of these; none: any name may match. */
	const char *pieces[TW_RULE_PIECES];
	bool at_begin[TW_RULE_PIECES]; /* begins with it */
	unsigned piece_count;
};

struct tw_nsys_rules {
	struct tw_arena arena;
	const char *name; /* of the preset or file */
	struct tw_nsys_rule *rules;
	size_t count, capacity;
};

/*
 * `name` is in messages: TRAWL_EFORMAT names the line and what is wrong.  The rules are released
 * by tw_nsys_rules_release(), also after a failure.
 */
int tw_nsys_rules_parse(struct tw_nsys_rules *rules, const char *text, size_t len, const char *name,
			const struct trawl_allocator *allocator,
			struct trawl_error *err) TRAWL_MUST_CHECK;
/* A preset by its name, else a file.  TRAWL_EUSAGE: neither, and the message names the presets. */
int tw_nsys_rules_open(struct tw_nsys_rules *rules, const char *name,
		       const struct trawl_allocator *allocator,
		       struct trawl_error *err) TRAWL_MUST_CHECK;
/* No rules at all. */
void tw_nsys_rules_init(struct tw_nsys_rules *rules, const struct trawl_allocator *allocator);
void tw_nsys_rules_release(struct tw_nsys_rules *rules);

/* ---- matching: compiled for one thread, because regexec() of a shared one takes a lock */

struct tw_matcher {
	const struct tw_nsys_rules *rules;
	const struct trawl_allocator *allocator;
	regex_t *compiled;
	size_t compiled_count;
	/* Of rules other than those for kernels: kinds (bits) with a rule that has no pieces; pairs
	 * of characters that begin a piece, as bits. */
	unsigned any;
	uint64_t *pairs;
};

/* False: out of memory.  The matcher is released also then. */
bool tw_matcher_init(struct tw_matcher *matcher, const struct tw_nsys_rules *rules,
		     const struct trawl_allocator *allocator);
void tw_matcher_release(struct tw_matcher *matcher);

/* Whether any rule of the kinds (bits 1 << kind) might match: cheap. */
bool tw_matcher_might(const struct tw_matcher *matcher, unsigned kinds, const char *text,
		      size_t len);

/* The rank that the value of a label stands for, -1: none. */
int64_t tw_nsys_label_rank(const char *value);

/*
 * The first rule of a kind that matches, NULL: none.  Appends its value to *value (may be NULL),
 * groups put in; for a label that is the text of group 1.
 */
const struct tw_nsys_rule *tw_matcher_find(const struct tw_matcher *matcher, enum tw_rule_kind kind,
					   const char *text, size_t len, struct tw_str *value);

#endif
