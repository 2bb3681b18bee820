#include "cli/cli.h"

#include "base/arena.h"
#include "cli/processes.h"
#include "io/sink.h"
#include "render/escape.h"
#include "table/table.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define AT(member) offsetof(struct cli_common, member)

const struct cli_option cli_common_options[] = {
	{ "jobs", 'j', &cli_count, "N", AT(threads), "threads (default: number of cores)" },
	{ "quiet", 'q', &cli_flag, NULL, AT(quiet), "print only errors on stderr" },
	{ "verbose", 'v', &cli_flag, NULL, AT(verbose), "print timings on stderr" },
	{ "format", 0, &cli_format, "F", AT(format),
	  "output format: table, csv, json or markdown" },
	{ "strict", 0, &cli_flag, NULL, AT(strict), "fail on any defect or repair of the input" },
	{ 0 },
};

const struct cli_option cli_output_options[] = {
	{ "output", 'o', &cli_string, "DIR", AT(output),
	  "output directory (default: analysis_output beside the input)" },
	{ 0 },
};

static void escape_to_stderr(const char *text)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_escape_terminal(&out, text, strlen(text));
	if (!out.failed && out.ptr)
		fprintf(stderr, "trawl: %s\n", out.ptr);
	else
		fputs("trawl: out of memory\n", stderr);
	tw_str_release(&out);
}

void cli_message(const char *format, ...)
{
	struct tw_str text;
	va_list args;

	if (cli_is_led())
		return;
	tw_str_init(&text, trawl_allocator_default());
	va_start(args, format);
	tw_str_addv(&text, format, args);
	va_end(args);
	escape_to_stderr(text.failed ? "out of memory" : text.ptr);
	tw_str_release(&text);
}

int cli_usage_error(const struct cli_command *command, const char *format, ...)
{
	struct tw_str text;
	va_list args;

	tw_str_init(&text, trawl_allocator_default());
	va_start(args, format);
	tw_str_addv(&text, format, args);
	va_end(args);
	/* "help help" would be no help. */
	cli_message("%s: %s; see 'trawl help%s%s'", command->name,
		    text.failed ? "out of memory" : text.ptr,
		    strcmp(command->name, "help") ? " " : "",
		    strcmp(command->name, "help") ? command->name : "");
	tw_str_release(&text);
	return CLI_USAGE;
}

int cli_fail(const struct trawl_error *err)
{
	cli_message("%s", err->message);
	return err->status == TRAWL_EUSAGE ? CLI_USAGE : CLI_FAILED;
}

void cli_tell_lines(const struct tw_str *lines)
{
	const char *p = lines->len ? lines->ptr : "";

	while (*p) {
		size_t len = strcspn(p, "\n");

		cli_message("%.*s", (int)len, p);
		p += len + (p[len] == '\n');
	}
}

void cli_tell_notes(struct tw_str *notes, bool quiet)
{
	size_t at;

	for (at = 0; at < notes->len && !quiet; at += strlen(notes->ptr + at) + 1)
		cli_message("%s", notes->ptr + at);
	if (notes->failed)
		cli_no_memory();
	tw_str_clear(notes);
}

int cli_no_memory(void)
{
	cli_message("out of memory");
	return CLI_FAILED;
}

int cli_print(const char *text, size_t len)
{
	if (cli_is_led() || fwrite(text, 1, len, stdout) == len)
		return CLI_DONE;
	return CLI_FAILED;
}

int cli_print_str(struct tw_str *text)
{
	int status = text->failed ? cli_no_memory() :
				    cli_print(text->ptr ? text->ptr : "", text->len);

	tw_str_release(text);
	return status;
}

int cli_print_tables(const struct trawl_table *const *tables, size_t count, enum tw_format format,
		     const char *schema, unsigned width)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_render(tables, count, format, schema, width, &out);
	return cli_print_str(&out);
}

int cli_print_table(struct trawl_table *table, enum tw_format format, const char *schema)
{
	const struct trawl_table *const tables[] = { tw_table_finished(table) };
	int status;

	if (!*tables)
		return cli_no_memory();
	status = cli_print_tables(tables, 1, format, schema, cli_width());
	trawl_table_free(table);
	return status;
}

unsigned cli_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 40)
		return size.ws_col;
	width = columns ? strtol(columns, NULL, 10) : 0;
	return width >= 40 && width <= 1000 ? (unsigned)width : 100;
}

size_t cli_block_size(void)
{
	const char *text = getenv("TRAWL_READ_BLOCK");
	long size = text ? strtol(text, NULL, 10) : 0;

	return size > 0 && size <= 1 << 30 ? (size_t)size : 0;
}

/* ---- memory of the program */

static struct tw_arena memory;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

/* There is nothing to go on with: as after any failure, no half-written file stays. */
static void end_without_memory(void)
{
	cli_no_memory();
	tw_sink_unlink_open();
	exit(cli_together_end(CLI_FAILED));
}

static void *take_memory(size_t size)
{
	void *block;

	pthread_mutex_lock(&memory_lock);
	if (!memory.allocator)
		tw_arena_init(&memory, trawl_allocator_default());
	block = tw_arena_alloc(&memory, size);
	pthread_mutex_unlock(&memory_lock);
	if (!block)
		end_without_memory();
	return block;
}

void *cli_alloc(size_t count, size_t size)
{
	if (count > SIZE_MAX / 2 / size)
		end_without_memory();
	return memset(take_memory(count * size + !count), 0, count * size);
}

char *cli_text(const char *format, ...)
{
	struct tw_str text;
	char *kept;
	va_list args;

	tw_str_init(&text, trawl_allocator_default());
	va_start(args, format);
	tw_str_addv(&text, format, args);
	va_end(args);
	if (text.failed)
		end_without_memory();
	kept = take_memory(text.len + 1);
	memcpy(kept, text.ptr ? text.ptr : "", text.len + 1);
	tw_str_release(&text);
	return kept;
}

/* ---- the start of a command */

static int show_help(const struct cli_command *command)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_addf(&out, "usage: trawl %s [OPTIONS] %s\n\n%s.\n%s\noptions\n", command->name,
		    command->arguments, command->summary, command->details);
	cli_describe(command->options, &out);
	tw_str_add_cstr(&out, "  -h, --help                this text\n"
			      "\n"
			      "exit status: 0 success; 1 read or write error; 2 usage error; 3 "
			      "success, but input was\n"
			      "skipped (each skipped item is named)\n");
	return cli_print_str(&out);
}

int cli_begin(const struct cli_command *command, void *state, int argc, char **argv, int *count)
{
	struct trawl_error err;
	bool help;

	if (cli_parse(command->options, state, argc, argv, count, &help, &err))
		return cli_usage_error(command, "%s", err.message);
	return help ? show_help(command) : -1;
}
