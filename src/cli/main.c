/* The hub: finds the command and runs it. */
#include "cli/cli.h"

#include "cli/exporting.h"
#include "cli/processes.h"
#include "os/inputs.h"
#include "text/suggestions.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int show_commands(const struct cli_command *self, int argc, char **argv);

static const struct cli_command help = {
	"help",
	"[COMMAND]",
	"list commands, or the options of one command",
	"  trawl help report\n",
	NULL,
	show_commands,
};

static const struct cli_command *const commands[] = {
#define CLI_COMMAND(name) &cli_command_##name,
#include "cli/commands.def"
#undef CLI_COMMAND
	&help,
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct cli_command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static const char *unknown_command(const char *name)
{
	const char *asked = cli_text("%.60s", name);
	struct tw_nearest nearest = { 0 };
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		tw_nearest_add(&nearest, asked, commands[i]->name);
	return cli_meant(cli_text("unknown command '%s'", asked), &nearest, asked);
}

static int list_commands(void)
{
	struct tw_str out;
	size_t i;

	tw_str_init(&out, trawl_allocator_default());
	tw_str_add_cstr(&out, "trawl: shows where GPU time of AI training and inference goes\n"
			      "\n"
			      "usage: trawl COMMAND [OPTIONS] ARGUMENTS\n"
			      "\n");
	for (i = 0; i < COMMANDS; i++)
		tw_str_addf(&out, "  %-11s %-10s  %s\n", commands[i]->name, commands[i]->arguments,
			    commands[i]->summary);
	tw_str_add_cstr(&out, "\n"
			      "see 'trawl help COMMAND' for the options of a command\n");
	return cli_print_str(&out);
}

/* Of all commands, for what is made of them: completions, the manual page. */
static int list_options(void)
{
	const struct cli_command *const *stages;
	struct tw_str out;
	size_t count, i;

	tw_str_init(&out, trawl_allocator_default());
	for (i = 0; i < COMMANDS; i++)
		cli_list_options(commands[i]->name, commands[i]->options, &out);
	stages = cli_sweep_stages(&count);
	for (i = 0; i < count; i++)
		cli_list_options(stages[i]->name, stages[i]->options, &out);
	return cli_print_str(&out);
}

static int show_commands(const struct cli_command *self, int argc, char **argv)
{
	char option[] = "--help", *alone[] = { NULL, option, NULL };
	char *stage[] = { NULL, NULL, option, NULL };
	const struct cli_command *command;

	if (argc < 2)
		return list_commands();
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return list_commands();
	if (!strcmp(argv[1], "--options"))
		return list_options();
	command = find_command(argv[1]);
	if (command && command == &cli_command_sweep && argc == 3) {
		/* A stage has options of its own. */
		stage[0] = argv[1];
		stage[1] = argv[2];
		return command->run(command, 3, stage);
	}
	if (!command || argc > 2)
		return cli_usage_error(self, "%s", unknown_command(argv[argc > 2 ? 2 : 1]));
	if (command == self)
		return list_commands();
	alone[0] = argv[1];
	return command->run(command, 2, alone);
}

/* Removes half-written files. */
static void on_signal(int signal_number)
{
	cli_export_stop();
	tw_sink_unlink_open();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* Every signal does but these, and one that nobody can catch. */
static bool ends_process(int number)
{
	switch (number) {
	case SIGKILL:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGCONT:
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
		return false;
	}
	return true;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_NODEFER }, old;
	int number;

	for (number = 1; number <= SIGRTMAX; number++)
		if (ends_process(number) && !sigaction(number, NULL, &old) &&
		    old.sa_handler == SIG_DFL)
			sigaction(number, &action, NULL);
	/* A limit on file sizes is an error of writing, reported like any other. */
	signal(SIGXFSZ, SIG_IGN);
}

/* Standard output may fail as late as here. */
static int close_output(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (errno == EPIPE)
			return status;
		cli_message("cannot write to standard output: %s", strerror(errno));
		return CLI_FAILED;
	}
	return status;
}

int main(int argc, char **argv)
{
	const struct cli_command *command;
	int status;

	catch_signals();
	tw_inputs_begin();
	if (argc < 2) {
		cli_message("missing command; see 'trawl help'");
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("trawl %s\n", trawl_version());
		return close_output(CLI_DONE);
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return close_output(list_commands());
	command = find_command(argv[1]);
	if (!command) {
		cli_message("%s; see 'trawl help'", unknown_command(argv[1]));
		return CLI_USAGE;
	}
	status = cli_together_begin(command->name);
	if (status < 0)
		status = close_output(command->run(command, argc - 1, argv + 1));
	return cli_together_end(status);
}
