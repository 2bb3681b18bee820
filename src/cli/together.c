#include "cli/together.h"

#include "cli/cli.h"

#include <string.h>

/* The one thing of the program that belongs to the process and not to a command. */
static struct tw_cluster *cluster;
static bool led;

static bool is_for_several(const char *command)
{
	static const char *const names[] = { "collectives", "merge", "report" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(command, names[i]))
			return true;
	return false;
}

struct tw_cluster *cli_cluster(void)
{
	return cluster;
}

bool cli_is_led(void)
{
	return led;
}

int cli_together_begin(const char *command)
{
	struct trawl_error err;
	int process, started = tw_cluster_started(&process);

	if (started == 1)
		return -1;
	led = process != TW_CLUSTER_ROOT;
	if (!is_for_several(command) && started > 1) {
		cli_message("%s runs in one process, and %d were started; without mpirun or srun "
			    "it does",
			    command, started);
		return CLI_USAGE;
	}
	/* Whatever keeps them apart, each would write the same files. */
	if (tw_cluster_join(&cluster, &process, trawl_allocator_default(), &err)) {
		cli_message("%s", err.message);
		return CLI_FAILED;
	}
	led = process != TW_CLUSTER_ROOT;
	return -1;
}

/* One that is led stays until process 0 is done, even when it has given up. */
static void await_end(void)
{
	struct tw_str task;
	bool over = false;

	tw_str_init(&task, trawl_allocator_default());
	while (!over && !tw_cluster_await(cluster, &task, &over, NULL))
		;
	tw_str_release(&task);
}

int cli_together_end(int status)
{
	if (cluster && led && status != CLI_LED)
		await_end();
	tw_cluster_leave(cluster);
	cluster = NULL;
	return status == CLI_LED ? CLI_DONE : status;
}
