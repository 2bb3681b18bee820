/*
 * Commands that several processes run together, under mpirun or srun: process 0 does what a
 * command does, the others are led: they reduce traces for it (cli_load_job()), print nothing and
 * write nothing.
 */
#ifndef TW_CLI_PROCESSES_H
#define TW_CLI_PROCESSES_H

#include "job/transport/cluster.h"

/* What a command returns in a process that is led, once there is no more to do. */
#define CLI_LED 100

/*
 * Before a command: joins the other processes, if there are any.  -1 to go on, else the exit
 * status: the others cannot be reached, or the command is one for a single process.
 */
int cli_together_begin(const char *command);
/* After it, with its status; the exit status of this process. */
int cli_together_end(int status);

/*
 * A worker process that cannot work for process 0 (other version, no connection): prints a message
 * and ends all processes, since its part is missing.
 */
int cli_together_fail(const struct trawl_error *err);

/* The processes, NULL: this one alone. */
struct tw_cluster *cli_cluster(void);
/* Whether this process is led: it has nothing to print or write. */
bool cli_is_led(void);

#endif
