/*
 * What the commands share: the program's state, output, messages, exit statuses.
 */
#ifndef TW_CLI_CLI_H
#define TW_CLI_CLI_H

#include "cli/options.h"
#include "render/render.h"
#include "trawl/trawl.h"

struct cli_screen;

/* Exit statuses, as the manual page lists them. */
enum cli_exit {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_INCOMPLETE = 3,
	CLI_GATE = 4,
};

struct cli_command {
	const char *name;
	const char *arguments; /* as the usage line shows them */
	const char *summary;   /* one line, for the list of commands */
	const char *details;   /* what it writes, and one real example */
	const struct cli_options *options;
	int (*run)(const struct cli_command *command, int argc, char **argv);
};

/* Options of every command. */
struct cli_common {
	const char *output;
	unsigned threads;
	bool quiet, verbose, strict;
	enum tw_format format;
};

/* Lists of options that are bound to a struct cli_common. */
extern const struct cli_option cli_common_options[];
extern const struct cli_option cli_output_options[]; /* -o, for commands that write files */
#define CLI_COMMON(at) CLI_COMMON_SHOWN(at, NULL)
#define CLI_COMMON_SHOWN(at, shown) CLI_OPTIONS_SHOWN("Common", cli_common_options, at, shown)
/* For commands that read no trace; the others are for scripts that give them to every command. */
#define CLI_TABLE(at) CLI_COMMON_SHOWN(at, " format ")
#define CLI_OUTPUT(at) CLI_OPTIONS("Output", cli_output_options, at)

/*
 * Parses a command's arguments into its state; -1 to go on, else the exit status (help printed, or
 * a usage error). Non-option arguments are argv[0..*count).
 */
int cli_begin(const struct cli_command *command, void *state, int argc, char **argv, int *count);

/*
 * Zeroed memory, and text in it, for the life of the program. Out of memory ends the program with a
 * message.
 */
void *cli_alloc(size_t count, size_t size);
char *cli_text(const char *format, ...) TRAWL_PRINTF(1, 2);

/* "trawl: message" on stderr. */
void cli_message(const char *format, ...) TRAWL_PRINTF(1, 2);
/* "trawl: <command>: message" and how to get help; CLI_USAGE. */
int cli_usage_error(const struct cli_command *command, const char *format, ...) TRAWL_PRINTF(2, 3);
/* Tells of a failure; the exit status for it. */
int cli_fail(const struct trawl_error *err);
/* A message for each line. */
void cli_tell_lines(const struct tw_str *lines);
/* A message for each note of tw_str_note(), unless quiet; then they are empty. */
void cli_tell_notes(struct tw_str *notes, bool quiet);
/* Tells that memory is out; CLI_FAILED. */
int cli_no_memory(void);

/* Writes text to stdout; CLI_FAILED when that fails. */
int cli_print(const char *text, size_t len);
/* The same for an assembled text, which is released; out of memory gives a message. */
int cli_print_str(struct tw_str *text);

/* Prints tables in the form asked for; `width` as tw_render() has it. */
int cli_print_tables(const struct trawl_table *const *tables, size_t count, enum tw_format format,
		     const char *schema, unsigned width);
/* The same for one table, which is freed; NULL: out of memory, with a message. */
int cli_print_table(struct trawl_table *table, enum tw_format format, const char *schema);

/* Clock of the timings of --verbose. */
double cli_seconds(void);

/* Columns of the terminal on stdout; 100 when it is none. */
unsigned cli_width(void);

/* Bytes per read from TRAWL_READ_BLOCK (for tests); 0: default. */
size_t cli_block_size(void);

/* ---- progress.c: how far the reading of a file is, on a terminal, when it takes a while */
struct cli_progress {
	bool enabled, shown;
	double started, last;
};

void cli_progress_begin(struct cli_progress *progress, bool quiet);
int cli_progress_update(void *progress, int64_t bytes_read, int64_t file_size);
void cli_progress_end(struct cli_progress *progress);

/* ---- defects.c */
/* Quality records as lists, which live as long as the program. */
struct trawl_defect *cli_trace_defects(const struct trawl_trace *trace, size_t *count);
struct trawl_defect *cli_report_defects(const struct trawl_report *report, size_t *count);
/* Lines on stderr for what was lost, is suspect or was repaired, unless a terminal shows both. */
void cli_tell_defects(const char *path, const struct trawl_defect *defects, size_t count,
		      const struct cli_common *common);
/* CLI_INCOMPLETE when something was lost, else CLI_DONE. */
int cli_defects_status(const struct trawl_defect *defects, size_t count);
/* With --strict: the first defect or repair fails with a message, CLI_FAILED; else CLI_DONE. */
int cli_strict_status(const char *path, const struct trawl_defect *defects, size_t count);

/* ---- summary.c */
void cli_summarise(const struct trawl_report *report, const struct trawl_trace *trace,
		   size_t top_ops, struct cli_screen *s);
/* A line a defect: what, how often, where first. */
void cli_add_defects(const struct trawl_defect *defects, size_t count, struct cli_screen *s);
/*
 * The first rows of the operations, as a table of its own; of ranges, where those were recorded
 * and no operations.  For the screen with a row of what is in none, else with a note on what is over
 * the roofline.  NULL when out of memory.
 */
struct trawl_table *cli_top_operations(const struct trawl_report *report, size_t top_ops,
				       bool screen);
/* ---- summary_devices.c: the timeline, a row a device; NULL when out of memory */
struct trawl_table *cli_by_device(const struct trawl_report *report);
/* ---- summary_steps.c: profiler steps, and steps of inference servers by phase */
void cli_add_steps(const struct trawl_report *report, struct cli_screen *s);
/* ---- summary_who.c: classes of modules and call sites with the most GPU time */
void cli_add_who(const struct trawl_report *report, size_t most, struct cli_screen *s);
/* ---- top_kernels.c: the kernels with the most time, by name, for the screen with shares; `group`: the header of
 * groups, or NULL.  NULL when out of memory */
struct trawl_table *cli_top_kernels(const struct trawl_report *report, size_t most, bool screen,
				    const char *group);
/* ---- top_ranges.c: those with the most GPU time, by name; NULL when out of memory */
struct trawl_table *cli_top_ranges(const struct trawl_report *report, size_t most);
/* ---- plots.c */
/* The operations of a report under its roofline as a PNG; TRAWL_ENODATA: nothing to draw. */
int cli_draw_roofline(const struct trawl_report *report, const struct trawl_trace *trace,
		      const char *path, struct trawl_error *err) TRAWL_MUST_CHECK;

#define CLI_COMMAND(name) extern const struct cli_command cli_command_##name;
#include "cli/commands.def"
#undef CLI_COMMAND
/* The commands of `sweep`. */
const struct cli_command *const *cli_sweep_stages(size_t *count);

#endif
