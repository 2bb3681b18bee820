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

/* Whether there is somebody to ask. */
bool cli_can_ask(void);

/*
 * Asks on stderr what is still NULL, reads from stdin, and asks again after a wrong answer; what
 * has its default stays NULL.  -1 when all are answered, else the exit status: CLI_USAGE at the end
 * of the input.
 */
int cli_ask(const struct cli_command *command, const char **const answers[CLI_QUESTIONS]);

#endif
