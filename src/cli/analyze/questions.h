/*
 * The questions that `analyze` asks on a terminal when it is given no trace: those of step 0 in
 * the users' document "standalone analysis", in its order.
 */
#ifndef TW_CLI_ANALYZE_QUESTIONS_H
#define TW_CLI_ANALYZE_QUESTIONS_H

#include "cli/cli.h"

enum cli_question {
	CLI_ASK_TRACE,
	CLI_ASK_PLATFORM,
	CLI_ASK_NODE,
	CLI_ASK_CONTAINER,
	CLI_ASK_OUTPUT,
	CLI_QUESTIONS,
};

/* What an option has answered is not asked. */
struct cli_answers {
	const char *answer[CLI_QUESTIONS]; /* NULL: none, the default */
	struct tw_str texts[CLI_QUESTIONS];
};

void cli_answers_init(struct cli_answers *answers);
void cli_answers_release(struct cli_answers *answers);

/* Whether there is somebody to ask. */
bool cli_can_ask(void);

/*
 * Asks on stderr, reads from stdin, and asks again after a wrong answer; -1 when all are answered,
 * else the exit status: CLI_USAGE at the end of the input.
 */
int cli_ask(const struct cli_command *command, struct cli_answers *answers);

#endif
