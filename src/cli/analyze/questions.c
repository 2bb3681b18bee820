#include "cli/analyze/questions.h"

#include "cli/analyze/remote.h"
#include "render/escape.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Those that the document offers by number; others by name. */
static const char *const offered[] = { "MI300X", "MI325X", "MI355X", "MI400" };

#define OFFERED (sizeof(offered) / sizeof(offered[0]))

void cli_answers_init(struct cli_answers *answers)
{
	size_t i;

	for (i = 0; i < CLI_QUESTIONS; i++) {
		answers->answer[i] = NULL;
		tw_str_init(&answers->texts[i], trawl_allocator_default());
	}
}

void cli_answers_release(struct cli_answers *answers)
{
	size_t i;

	for (i = 0; i < CLI_QUESTIONS; i++)
		tw_str_release(&answers->texts[i]);
}

bool cli_can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* ---- the questions */

/* "MI300X - 5.3 TB/s HBM, 708 TFLOPS BF16, 192 GB" */
static void add_offered(struct tw_str *out, size_t i)
{
	struct tw_platform platform;

	tw_str_addf(out, "   %zu. %s", i + 1, offered[i]);
	if (tw_platform_find(offered[i], &platform)) {
		double bf16 = tw_platform_peak(&platform, "matrix_bf16", NULL);

		tw_str_add_cstr(out, " - ");
		tw_str_add_real_fixed(out, platform.mem_bw_gbps / 1000, 1);
		tw_str_add_cstr(out, " TB/s HBM, ");
		if (!isnan(bf16)) {
			tw_str_add_real(out, bf16);
			tw_str_add_cstr(out, " TFLOPS BF16, ");
		}
		tw_str_add_real(out, platform.memory_gb);
		tw_str_add_cstr(out, " GB");
	}
	tw_str_add_char(out, '\n');
}

static bool is_offered(const char *name)
{
	size_t i;

	for (i = 0; i < OFFERED; i++)
		if (!strcmp(name, offered[i]))
			return true;
	return false;
}

/* "A100, H100 SXM, ...", broken into lines. */
static void add_others(struct tw_str *out)
{
	size_t i, column = 0, len;

	tw_str_add_cstr(out, "   Others by their name:");
	for (i = 0; i < tw_platform_count(); i++) {
		const char *name = tw_platform_name(i);

		if (is_offered(name))
			continue;
		len = strlen(name) + 2;
		if (!column || column + len > 76) {
			tw_str_add_cstr(out, "\n   ");
			column = 2;
		}
		tw_str_addf(out, " %s%s", name, i + 1 < tw_platform_count() ? "," : "");
		column += len;
	}
	tw_str_add_cstr(out, "\n   Press Enter for the one that the trace names\n");
}

static void add_platform_question(struct tw_str *out)
{
	size_t i;

	tw_str_add_cstr(out, "2. Which AMD platform are you analyzing?\n");
	for (i = 0; i < OFFERED; i++)
		add_offered(out, i);
	add_others(out);
	tw_str_add_cstr(out, "   Platform (");
	for (i = 0; i < OFFERED; i++)
		tw_str_addf(out, "%s%s", i ? "/" : "", offered[i]);
	tw_str_add_cstr(out, "): ");
}

/* The directory of the trace, with the slash; "" for the current one. */
static void add_directory(struct tw_str *out, const char *trace)
{
	const char *slash = trace ? strrchr(trace, '/') : NULL;

	if (slash)
		tw_escape_terminal(out, trace, (size_t)(slash - trace) + 1);
}

static void add_question(struct tw_str *out, enum cli_question which, const char *trace)
{
	switch (which) {
	case CLI_ASK_TRACE:
		tw_str_add_cstr(out, "1. Please provide the full path to your PyTorch trace file "
				     "(.json or .json.gz)\n"
				     "   Example: /home/user/traces/model_trace.json\n"
				     "   Trace file path: ");
		break;
	case CLI_ASK_PLATFORM:
		add_platform_question(out);
		break;
	case CLI_ASK_NODE:
		tw_str_add_cstr(out, "3. Which cluster should we use for analysis? (e.g., node01)\n"
				     "   Press Enter for none: it runs here\n"
				     "   Cluster name: ");
		break;
	case CLI_ASK_CONTAINER:
		tw_str_add_cstr(out, "4. Which Docker container has trawl installed? "
				     "(e.g., my_container)\n"
				     "   Press Enter for none\n"
				     "   Container name: ");
		break;
	default:
		tw_str_add_cstr(out, "5. Where should we save analysis results? (Press Enter for "
				     "default: ");
		add_directory(out, trace);
		tw_str_add_cstr(out, "analysis_output)\n"
				     "   Output directory (optional): ");
	}
}

/* ---- the answers */

/* A line without the blanks around it, nor a pair of quotes; false at the end of the input. */
static bool read_answer(struct tw_str *answer)
{
	char *line = NULL, *begin, *end;
	size_t size = 0;
	ssize_t len = getline(&line, &size, stdin);

	tw_str_clear(answer);
	if (len <= 0) {
		free(line);
		return false;
	}
	begin = line;
	end = line + strlen(line);
	while (end > begin && strchr(" \t\r\n", end[-1]))
		end--;
	while (begin < end && strchr(" \t", *begin))
		begin++;
	if (end - begin >= 2 && (*begin == '\'' || *begin == '"') && end[-1] == *begin) {
		begin++;
		end--;
	}
	tw_str_add(answer, begin, (size_t)(end - begin));
	free(line);
	return true;
}

/* "~/x" by $HOME. */
static void expand_home(struct tw_str *path)
{
	const char *home = getenv("HOME");
	struct tw_str rest;

	if (!home || path->failed || !path->len || strncmp(path->ptr, "~/", 2))
		return;
	tw_str_init(&rest, path->allocator);
	tw_str_addf(&rest, "%s%s", home, path->ptr + 1);
	tw_str_clear(path);
	if (!rest.failed)
		tw_str_add(path, rest.ptr, rest.len);
	path->failed |= rest.failed;
	tw_str_release(&rest);
}

static void complain(const char *format, ...) TRAWL_PRINTF(1, 2);
static void complain(const char *format, ...)
{
	struct tw_str shown;
	char text[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tw_str_init(&shown, trawl_allocator_default());
	tw_escape_terminal(&shown, text, strlen(text));
	if (!shown.failed && shown.ptr)
		fprintf(stderr, "   %s\n", shown.ptr);
	tw_str_release(&shown);
}

static bool check_platform(struct tw_str *answer)
{
	struct tw_platform platform;

	/* The number of a choice. */
	if (answer->len == 1 && *answer->ptr >= '1' && *answer->ptr < '1' + (int)OFFERED) {
		size_t choice = (size_t)(*answer->ptr - '1');

		tw_str_clear(answer);
		tw_str_add_cstr(answer, offered[choice]);
		return true;
	}
	/* A file's name is left to --platform: where it is looked for is not known yet. */
	if (answer->failed || tw_platform_find(answer->ptr, &platform))
		return true;
	complain("there is no platform '%s' in this list", answer->ptr);
	return false;
}

/* Files of here can be looked at; those of elsewhere must say all by themselves. */
static bool check_path(struct tw_str *answer, const struct cli_answers *all, bool directory)
{
	struct stat info;

	if (all->answer[CLI_ASK_NODE] || all->answer[CLI_ASK_CONTAINER]) {
		if (*answer->ptr != '~')
			return true;
		complain("'%s': the full path is needed, for '~' is another one there",
			 answer->ptr);
		return false;
	}
	expand_home(answer);
	if (answer->failed)
		return true;
	if (stat(answer->ptr, &info)) {
		if (directory && errno == ENOENT)
			return true;
		complain("'%s': %s", answer->ptr, strerror(errno));
		return false;
	}
	if (directory != S_ISDIR(info.st_mode)) {
		complain("'%s' is %s", answer->ptr, directory ? "not a directory" : "a directory");
		return false;
	}
	return true;
}

static bool check_answer(enum cli_question which, struct tw_str *answer,
			 const struct cli_answers *all)
{
	const char *complaint;

	switch (which) {
	case CLI_ASK_TRACE:
		/* Whether it is there: when it is known where. */
		if (strcmp(answer->ptr, "-"))
			return true;
		complain("answers are read from standard input: a file, please");
		return false;
	case CLI_ASK_PLATFORM:
		return check_platform(answer);
	case CLI_ASK_NODE:
	case CLI_ASK_CONTAINER:
		complaint = cli_remote_complaint(answer->ptr);
		if (complaint)
			complain("'%s' %s", answer->ptr, complaint);
		return !complaint;
	default:
		return check_path(answer, all, true);
	}
}

/* Until the answer is right; an empty one is the default, where there is one. */
static int ask(const struct cli_command *command, struct cli_answers *answers,
	       enum cli_question which)
{
	struct tw_str *answer = &answers->texts[which];
	struct tw_str question;
	const char *shown;
	bool good = false;

	tw_str_init(&question, trawl_allocator_default());
	add_question(&question, which, answers->answer[CLI_ASK_TRACE]);
	shown = question.failed ? "" : question.ptr;
	while (!good && !question.failed) {
		fprintf(stderr, "%s", shown);
		/* The next time its last line is enough. */
		shown = strrchr(question.ptr, '\n') + 1;
		if (!read_answer(answer)) {
			fputc('\n', stderr);
			tw_str_release(&question);
			return cli_usage_error(command, "the input ended before the questions did");
		}
		answers->answer[which] = NULL;
		if (answer->failed)
			break;
		if (!answer->len) {
			good = which != CLI_ASK_TRACE;
			if (!good)
				complain("this one has no default");
		} else {
			good = check_answer(which, answer, answers);
			if (good)
				answers->answer[which] = answer->ptr;
		}
	}
	if (question.failed || answer->failed)
		cli_message("out of memory");
	tw_str_release(&question);
	return good && !answer->failed ? -1 : CLI_FAILED;
}

int cli_ask(const struct cli_command *command, struct cli_answers *answers)
{
	bool given[CLI_QUESTIONS];
	int which, status;

	for (which = 0; which < CLI_QUESTIONS; which++)
		given[which] = answers->answer[which];
	fprintf(stderr, "To run standalone analysis, I need the following information:\n\n");
	for (which = 0; which < CLI_QUESTIONS; which++) {
		status = given[which] ? -1 : ask(command, answers, (enum cli_question)which);
		if (status >= 0)
			return status;
		/* Now it is known where the trace is to be looked for. */
		while (which == CLI_ASK_CONTAINER &&
		       !check_path(&answers->texts[CLI_ASK_TRACE], answers, false)) {
			status = ask(command, answers, CLI_ASK_TRACE);
			if (status >= 0)
				return status;
		}
		answers->answer[CLI_ASK_TRACE] = answers->texts[CLI_ASK_TRACE].ptr;
	}
	fputc('\n', stderr);
	return -1;
}
