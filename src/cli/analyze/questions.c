#include "cli/analyze/questions.h"

#include "cli/analyze/remote.h"
#include "model/platform.h"
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

	tw_str_add_cstr(out, "   Other platforms by name:");
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
	tw_str_add_cstr(out, "\n   Press Enter for the one in the trace\n");
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
	static const char *const plain[CLI_QUESTIONS] = {
		[CLI_ASK_TRACE] = "1. Please provide the full path to your PyTorch trace file "
				  "(.json or .json.gz)\n"
				  "   Example: /home/user/traces/model_trace.json\n"
				  "   Trace file path: ",
		[CLI_ASK_NODE] = "3. Which cluster should we use for analysis? (e.g., node01)\n"
				 "   Press Enter to run locally\n"
				 "   Cluster name: ",
		[CLI_ASK_CONTAINER] = "4. Which Docker container has trawl installed? "
				      "(e.g., my_container)\n"
				      "   Press Enter for none\n"
				      "   Container name: ",
		[CLI_ASK_OUTPUT] = "5. Where should we save analysis results? (Press Enter for "
				   "default: ",
	};

	if (which == CLI_ASK_PLATFORM)
		add_platform_question(out);
	else
		tw_str_add_cstr(out, plain[which]);
	if (which == CLI_ASK_OUTPUT) {
		add_directory(out, trace);
		tw_str_add_cstr(out, "analysis_output)\n"
				     "   Output directory (optional): ");
	}
}

/* ---- the answers */

/* A line without the blanks around it, nor a pair of quotes; NULL at the end of the input. */
static char *read_answer(void)
{
	char *line = NULL, *begin, *end, *answer = NULL;
	size_t size = 0;

	if (getline(&line, &size, stdin) > 0) {
		begin = line + strspn(line, " \t");
		end = line + strlen(line);
		while (end > begin && strchr(" \t\r\n", end[-1]))
			end--;
		if (end - begin >= 2 && (*begin == '\'' || *begin == '"') && end[-1] == *begin) {
			begin++;
			end--;
		}
		answer = cli_text("%.*s", (int)(end - begin), begin);
	}
	free(line);
	return answer;
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
	if (!shown.failed)
		fprintf(stderr, "   %s\n", shown.ptr);
	tw_str_release(&shown);
}

/* The platform that is meant, NULL: none; a number is that of a choice. */
static const char *check_platform(const char *answer)
{
	struct tw_platform platform;

	if (*answer >= '1' && *answer < '1' + (int)OFFERED && !answer[1])
		return offered[*answer - '1'];
	/* A file's name is left to --platform: where it is looked for is not known yet. */
	if (tw_platform_find(answer, &platform))
		return answer;
	complain("platform '%s' is not in this list", answer);
	return NULL;
}

/* Files of here can be looked at, "~/x" by $HOME; those of elsewhere must say all by themselves. */
static const char *check_path(const char *answer, bool elsewhere, bool directory)
{
	const char *home = getenv("HOME");
	struct stat info;

	if (elsewhere) {
		if (*answer != '~')
			return answer;
		complain("'%s': give the full path: '~' is local", answer);
		return NULL;
	}
	if (home && !strncmp(answer, "~/", 2))
		answer = cli_text("%s%s", home, answer + 1);
	if (stat(answer, &info)) {
		if (directory && errno == ENOENT)
			return answer;
		complain("'%s': %s", answer, strerror(errno));
		return NULL;
	}
	if (directory != S_ISDIR(info.st_mode)) {
		complain("'%s' is %s", answer, directory ? "not a directory" : "a directory");
		return NULL;
	}
	return answer;
}

/* The answer as it is meant; NULL when it is wrong, which was told. */
static const char *check_answer(enum cli_question which, const char *answer, bool elsewhere)
{
	const char *complaint;

	switch (which) {
	case CLI_ASK_TRACE:
		/* Whether it is there: when it is known where. */
		if (strcmp(answer, "-"))
			return answer;
		complain("answers are read from standard input: give a file");
		return NULL;
	case CLI_ASK_PLATFORM:
		return check_platform(answer);
	case CLI_ASK_NODE:
	case CLI_ASK_CONTAINER:
		complaint = cli_remote_complaint(answer);
		if (complaint)
			complain("'%s' %s", answer, complaint);
		return complaint ? NULL : answer;
	default:
		return check_path(answer, elsewhere, true);
	}
}

static bool is_elsewhere(const char **const answers[CLI_QUESTIONS])
{
	return *answers[CLI_ASK_NODE] || *answers[CLI_ASK_CONTAINER];
}

/* Until the answer is right; an empty one is the default, where there is one. */
static int ask_question(const struct cli_command *command,
			const char **const answers[CLI_QUESTIONS], enum cli_question which)
{
	struct tw_str question;
	const char *shown, *answer;
	bool good = false;

	tw_str_init(&question, trawl_allocator_default());
	add_question(&question, which, *answers[CLI_ASK_TRACE]);
	shown = question.failed ? "" : question.ptr;
	while (!good) {
		fprintf(stderr, "%s", shown);
		/* The next time its last line is enough. */
		shown = question.failed ? "" : strrchr(question.ptr, '\n') + 1;
		answer = read_answer();
		if (!answer)
			break;
		if (*answer)
			*answers[which] = check_answer(which, answer, is_elsewhere(answers));
		else if (which == CLI_ASK_TRACE)
			complain("no default: an answer is required");
		good = *answers[which] || (!*answer && which != CLI_ASK_TRACE);
	}
	tw_str_release(&question);
	if (good)
		return -1;
	fputc('\n', stderr);
	return cli_usage_error(command, "input ended before all questions were answered");
}

/* Once it is known where the trace is to be looked for. */
static int check_trace(const struct cli_command *command, const char **const answers[CLI_QUESTIONS])
{
	int status = -1;

	while (status < 0 && !(*answers[CLI_ASK_TRACE] = check_path(*answers[CLI_ASK_TRACE],
								    is_elsewhere(answers), false)))
		status = ask_question(command, answers, CLI_ASK_TRACE);
	return status;
}

int cli_ask(const struct cli_command *command, const char **const answers[CLI_QUESTIONS])
{
	int which, status = -1;

	fprintf(stderr, "To run standalone analysis, I need the following information:\n\n");
	for (which = 0; which < CLI_QUESTIONS && status < 0; which++) {
		if (!*answers[which])
			status = ask_question(command, answers, (enum cli_question)which);
		if (status < 0 && which == CLI_ASK_CONTAINER)
			status = check_trace(command, answers);
	}
	if (status < 0)
		fputc('\n', stderr);
	return status;
}
