/*
 * Options: a list of them gives parsing, usage, help, completion and the manual page.
 */
#ifndef TW_CLI_OPTIONS_H
#define TW_CLI_OPTIONS_H

#include "text/str.h"
#include "trawl/error.h"

struct cli_option;

/* What the value of an option is. */
struct cli_kind {
	/* Reads the text into *value; TRAWL_EUSAGE with a message.  NULL: a flag, bool. */
	int (*read)(const struct cli_option *option, const char *text, void *value,
		    struct trawl_error *err);
	const char *const *words; /* of cli_read_word(), ends with NULL */
	unsigned first;		  /* the number of the first of them */
};

struct cli_option {
	const char *name; /* without "--"; NULL ends the list */
	char letter;	  /* 0: none */
	const struct cli_kind *kind;
	const char *argument; /* as the help shows it; NULL for a flag */
	size_t at;	      /* of the value, in what the list is bound to */
	const char *help;     /* NULL: taken, and not shown */
};

/* A list of options that several commands may have, and where in a command's state its values lie. */
struct cli_options {
	const char *title; /* NULL: of one command alone */
	const struct cli_option *list;
	size_t at;
	const char *shown; /* names with blanks around; NULL: all.  Others are taken, and not shown */
};

#define CLI_OPTIONS_SHOWN(title, list, at, shown) \
	{                                         \
		title, list, at, shown            \
	}
#define CLI_OPTIONS(title, list, at) CLI_OPTIONS_SHOWN(title, list, at, NULL)

struct cli_texts {
	const char **text;
	size_t count;
};

/* In order, each once. */
struct cli_numbers {
	int64_t *number;
	size_t count;
};

extern const struct cli_kind cli_flag;
extern const struct cli_kind cli_string;   /* const char *, not empty */
extern const struct cli_kind cli_strings;  /* struct cli_texts: may be given several times */
extern const struct cli_kind cli_count;	   /* unsigned, 0 to 1,000,000 */
extern const struct cli_kind cli_positive; /* unsigned, 1 to 1,000,000 */
extern const struct cli_kind cli_size;	   /* int64_t bytes; K, M, G, T after it: times 1024 */
extern const struct cli_kind cli_time_ns;  /* int64_t nanoseconds */
extern const struct cli_kind cli_time_us;  /* the same, given in microseconds, fractions allowed */
extern const struct cli_kind cli_time_s;   /* the same, given in seconds, rounded up */
extern const struct cli_kind cli_steps;	   /* int64_t[2]: N or N-M */
extern const struct cli_kind cli_number_list; /* struct cli_numbers: 256,512 or 0-7 */
extern const struct cli_kind cli_format;      /* enum tw_format */

/* For kinds: a word of kind->words, as its number into an unsigned or enum. */
int cli_read_word(const struct cli_option *option, const char *text, void *value,
		  struct trawl_error *err);
int cli_read_number_list(const struct cli_option *option, const char *text, void *value,
			 struct trawl_error *err);
/* "--NAME: 'VALUE' is WRONG" */
int cli_bad_value(struct trawl_error *err, const struct cli_option *option, const char *value,
		  const char *wrong);

/* The message, and behind it what was meant, if anything comes near: tw_nearest_describe(). */
struct tw_nearest;
const char *cli_meant(const char *message, const struct tw_nearest *nearest, const char *asked);

void cli_add_text(struct cli_texts *texts, const char *text);

/*
 * Parses argv[1..] into `state` by lists of options (the last has no list); other arguments are
 * moved to the front of argv, *count of them.  TRAWL_EUSAGE with a message for the first mistake;
 * *help is set by -h and --help.
 */
int cli_parse(const struct cli_options *lists, void *state, int argc, char **argv, int *count,
	      bool *help, struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The options among argv[1..] with their values, as they were given, without those of the list
 * `without` and without other arguments: `kept` has room for argc of them.  How many; for
 * arguments that cli_parse() takes, and before it moves them.
 */
size_t cli_given_options(const struct cli_options *lists, const struct cli_option *without,
			 int argc, char **argv, const char **kept);

/* The options that are shown, aligned. */
void cli_describe(const struct cli_options *lists, struct tw_str *out);
/*
 * The same for programs, a line each, with tabs between the command, the title of the list, letter,
 * name, argument, words with blanks between them, and help.
 */
void cli_list_options(const char *command, const struct cli_options *lists, struct tw_str *out);

#endif
