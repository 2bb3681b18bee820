/*
 * Members of structs, each described once: what writes them as JSON, reads that back, and puts them
 * into Markdown follows the same table, so that a figure of a report is the one of its data.
 */
#ifndef TW_STANDALONE_FIELDS_H
#define TW_STANDALONE_FIELDS_H

#include "base/wide.h"
#include "findings/findings.h"
#include "json/value.h"
#include "json/writer.h"
#include "standalone/markdown.h"

/* What a member is, and the JSON that it makes.  What is not known is null. */
enum tw_field_kind {
	TW_F_TEXT,   /* const char *; NULL and "": not known */
	TW_F_PLAIN,  /* the same where "" is a text: read it is never NULL */
	TW_F_WORD,   /* const char *: a number where it is one; NULL */
	TW_F_BOOL,   /* bool */
	TW_F_COUNT,  /* uint64_t */
	TW_F_REAL,   /* double, rounded to `digits`; NaN */
	TW_F_NUMBER, /* double as it is; NaN */
	TW_F_MS,     /* double ms: short times with more digits; NaN */
	TW_F_NS, /* int64_t ns, exact, by the unit `digits` is for: 3 µs, 6 ms; TRAWL_TIME_NONE */
	TW_F_FLAG,    /* double that is 1 or 0, as a truth; NaN */
	TW_F_FACT,    /* struct tw_facts: the one that `digits` is */
	TW_F_LEVEL,   /* const struct tw_level *: its name; NULL */
	TW_F_STRUCT,  /* a struct of `of` */
	TW_F_POINTER, /* pointer to one; NULL */
	TW_F_INLINE,  /* pointer to one, whose members stand here; not read */
	TW_F_LIST,    /* TW_FIELD_LIST() of them */
	TW_F_TEXTS,   /* TW_FIELD_LIST(const char *) */
	TW_F_NAMED,   /* TW_FIELD_LIST(struct tw_named), an object */
	TW_F_SAYS,    /* no member: always the text `says` */
};

struct tw_member {
	const char *key;
	size_t at;
	enum tw_field_kind kind;
	unsigned digits;
	const struct tw_fields *of;
	bool needed;   /* a number that must be there, and is not negative */
	bool if_known; /* without a value no member */
	bool inlined;  /* list or struct on one line */
	const char *says;
};

struct tw_fields {
	const struct tw_member *list;
	size_t count, size;
	bool inlined;
	size_t (*members)(const void *object); /* how many of them it has; NULL: all */
};

#define TW_FIELDS(type, members, ...)                                             \
	{                                                                         \
		.list = (members), .count = sizeof(members) / sizeof(*(members)), \
		.size = sizeof(type), __VA_ARGS__                                 \
	}
/* "kind", its place in the type, and by position `digits`, by name the rest. */
#define TW_FIELD(type, what, member, name, ...)                                               \
	{                                                                                     \
		.key = (name), .at = offsetof(type, member), .kind = TW_F_##what, __VA_ARGS__ \
	}
#define TW_SAYS(name, text)                                      \
	{                                                        \
		.key = (name), .kind = TW_F_SAYS, .says = (text) \
	}

#define TW_FIELD_LIST(type)   \
	struct {              \
		type *at;     \
		size_t count; \
	}

struct tw_named {
	const char *name;
	double value;
};

/* The text, in the arena, which has its failure too; it is released. */
const char *tw_kept(struct tw_arena *arena, struct tw_str *text);
/* NaN of nothing. */
double tw_percent_of(double part, double whole);
/* As a number with so many digits is written. */
double tw_as_written(double value, unsigned digits);

/* The members of an object, inside one. */
void tw_fields_members(struct tw_json *json, const struct tw_fields *fields, const void *object);
/* All of it; `key` NULL: an element of an array. */
void tw_fields_object(struct tw_json *json, const char *key, const struct tw_fields *fields,
		      const void *object);
/* An array of `count` objects that stand one behind the other. */
void tw_fields_array(struct tw_json *json, const char *key, const struct tw_fields *fields,
		     const void *objects, size_t count);
/* A document. */
void tw_fields_document(struct tw_str *out, const struct tw_fields *fields, const void *object);

/*
 * An object from JSON; texts and lists lie in the arena.  TRAWL_EFORMAT names what is no number where one
 * belongs, in `name`.
 */
int tw_fields_read(const struct tw_fields *fields, void *object, const struct tw_json_value *json,
		   const char *name, struct tw_arena *arena,
		   struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * A text with members in it, "in a table | {name:80} | {time_ms| ms} |": {key} as the JSON has it, a text
 * escaped; {key| unit} with what follows when it is known; {key:80} as code, cut; {part.key} of a struct.  What
 * is not known is TW_MD_UNKNOWN.
 */
void tw_fields_fill(struct tw_str *out, const char *text, const struct tw_fields *fields,
		    const void *object);

/* ---- members of other values */

void tw_field_text(struct tw_json *json, const char *key, const char *text); /* NULL: null */
void tw_field_count(struct tw_json *json, const char *key, uint64_t count);
void tw_field_bool(struct tw_json *json, const char *key, bool value);
/* Rounded to `digits`; NaN: null. */
void tw_field_real(struct tw_json *json, const char *key, double value, unsigned digits);

#endif
