#include "cli/cli.h"

#include "cli/processes.h"
#include "render/escape.h"
#include "table/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void cli_common_options(struct cli_common *common, bool writes, struct cli_option options[8])
{
	const struct cli_option all[8] = {
		{ "output", 'o', CLI_TEXT, "DIR", &common->output,
		  "where to write (default: analysis_output beside the input)" },
		{ "jobs", 'j', CLI_COUNT, "N", &common->threads, "threads (default: the cores)" },
		{ "quiet", 'q', CLI_FLAG, NULL, &common->quiet, "only errors on stderr" },
		{ "verbose", 'v', CLI_FLAG, NULL, &common->verbose, "timings on stderr" },
		{ "format", 0, CLI_FORMAT, "F", &common->format,
		  "print as table, csv, json or markdown" },
		{ "strict", 0, CLI_FLAG, NULL, &common->strict,
		  "a defect or repair of the input is an error" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};

	*common = (struct cli_common){ 0 };
	/* The first is for commands that write files. */
	memcpy(options, all + !writes, sizeof(all) - !writes * sizeof(*all));
}

void cli_table_options(struct cli_common *common, struct cli_option options[8])
{
	struct cli_option *option;

	cli_common_options(common, false, options);
	for (option = options; option->name; option++)
		if (option->kind != CLI_FORMAT)
			option->help = NULL;
}

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
	const struct trawl_table *const tables[] = { table };
	int status = table ? cli_print_tables(tables, 1, format, schema, cli_width()) :
			     cli_no_memory();

	tw_table_free(table);
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

bool cli_colour(void)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (!none || !*none) && term && strcmp(term, "dumb");
}

void cli_add_heading(struct tw_str *out, const char *text, bool colour)
{
	tw_str_addf(out, "\n%s%s%s\n", colour ? "\033[1m" : "", text, colour ? "\033[0m" : "");
}

size_t cli_block_size(void)
{
	const char *text = getenv("TRAWL_READ_BLOCK");
	long size = text ? strtol(text, NULL, 10) : 0;

	return size > 0 && size <= 1 << 30 ? (size_t)size : 0;
}

static int show_help(const struct cli_command *command, const struct cli_option *const *tables,
		     size_t table_count)
{
	struct tw_str out;
	size_t t;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_addf(&out, "usage: trawl %s [OPTIONS] %s\n\n%s.\n%s\noptions\n", command->name,
		    command->arguments, command->summary, command->details);
	for (t = 0; t < table_count; t++)
		cli_describe(tables[t], &out);
	tw_str_add_cstr(&out, "  -h, --help                this text\n\n"
			      "exit status: 0 done; 1 cannot be read or written; 2 wrong usage; "
			      "3 done, but something\nwas left out, each thing named\n");
	return cli_print_str(&out);
}

int cli_begin(const struct cli_command *command, const struct cli_option *const *tables,
	      size_t table_count, int argc, char **argv, int *count)
{
	struct trawl_error err;
	bool help;

	if (cli_parse(tables, table_count, argc, argv, count, &help, &err))
		return cli_usage_error(command, "%s", err.message);
	return help ? show_help(command, tables, table_count) : -1;
}
