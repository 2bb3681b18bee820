#include "cli/processes.h"

#include "cli/cli.h"

#include <string.h>

/* The one thing of the program that belongs to the process and not to a command. */
static struct tw_cluster *cluster;
static bool led;

static bool is_for_several(const char *command)
{
	static const char *const names[] = { "collectives", "merge", "path", "report" };
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

static int refuse_several(const char *command, int started)
{
	cli_message("%s supports one process only, but %d were started; run it without mpirun or "
		    "srun",
		    command, started);
	return CLI_USAGE;
}

int cli_together_begin(const char *command)
{
	struct trawl_error err;
	int process, started = tw_cluster_started(&process);

	if (started == 1)
		return -1;
	led = process != TW_CLUSTER_ROOT;
	if (!strcmp(command, "help"))
		return led ? CLI_DONE : -1;
	if (started > 1 && !is_for_several(command))
		return refuse_several(command, started);
	/* Whatever keeps them apart, each would write the same files. */
	if (tw_cluster_join(&cluster, &process, trawl_allocator_default(), &err)) {
		cli_message("%s", err.message);
		return CLI_FAILED;
	}
	led = process != TW_CLUSTER_ROOT;
	if (cluster->size > 1 && !is_for_several(command))
		return refuse_several(command, cluster->size);
	return -1;
}

int cli_together_fail(const struct trawl_error *err)
{
	led = false;
	cli_message("process %d: %s", cluster->rank, err->message);
	tw_cluster_abort(cluster, CLI_FAILED);
	return CLI_FAILED;
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
	if (cluster && led)
		await_end();
	tw_cluster_leave(cluster);
	cluster = NULL;
	return status == CLI_LED ? CLI_DONE : status;
}
