#define _GNU_SOURCE
/*
 * libtrawl_mpi.so: the calls of job/transport/module.h over the MPI that it was built with.
 *
 * Whoever waits here has threads that work beside it, on the same cores, and an MPI waits by
 * spinning: so every wait is a test and a sleep.
 */
#include "job/transport/module.h"

#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TAG 1
/* Tests before the first sleep, and the length of a sleep: a message is rarely in a hurry. */
#define TESTS_BEFORE_SLEEP 64
#define SLEEP_NS 200000
/* How long one waits for a message when it may be of a process that is gone. */
#define PATIENCE_SLEEPS (10 * 1000000000LL / SLEEP_NS)

extern const struct tw_cluster_module TW_CLUSTER_MODULE_SYMBOL;

static volatile sig_atomic_t gone;

/*
 * The starter of MPICH tells those that are left in this way, where it does not end them.  MPICH
 * has a handler of its own, which goes on to ask the starter who is gone; of MPICH 4.0 both are
 * ended by that (the answer is sent to the one that is gone as well).
 */
static void on_notice(int signal_number)
{
	(void)signal_number;
	gone = 1;
}

static void catch_notice(void)
{
	struct sigaction action = { .sa_handler = on_notice, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &action, NULL);
}

static void pause_between(unsigned *tests)
{
	const struct timespec sleep = { 0, SLEEP_NS };

	if (++*tests > TESTS_BEFORE_SLEEP)
		nanosleep(&sleep, NULL);
}

static int wait_for(MPI_Request *request)
{
	unsigned tests = 0;
	int done = 0, code;

	for (;;) {
		code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (code != MPI_SUCCESS || done)
			return code;
		pause_between(&tests);
		if (gone && tests > PATIENCE_SLEEPS) {
			MPI_Cancel(request);
			return MPI_ERR_OTHER;
		}
	}
}

/*
 * Of the processes on this machine: how many, and the processors that at least one of them may
 * use.  Bound ones have a share each, others all of them.
 */
static int look_around(int *here, int *processors)
{
	MPI_Comm machine;
	cpu_set_t own, all;
	int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
				       &machine);

	if (code != MPI_SUCCESS)
		return code;
	memset(&own, 0, sizeof(own));
	memset(&all, 0, sizeof(all));
	/* A machine with more processors than the set has leaves it empty: not known. */
	if (sched_getaffinity(0, sizeof(own), &own))
		memset(&own, 0, sizeof(own));
	code = MPI_Comm_size(machine, here);
	if (code == MPI_SUCCESS)
		code = MPI_Allreduce(&own, &all, sizeof(all), MPI_UNSIGNED_CHAR, MPI_BOR, machine);
	*processors = CPU_COUNT(&all);
	MPI_Comm_free(&machine);
	return code;
}

static int join(int *size, int *rank, int *here, int *processors)
{
	int had, code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &had);

	if (code != MPI_SUCCESS)
		return code;
	if (had < MPI_THREAD_FUNNELED)
		return MPI_ERR_OTHER;
	/* A process that is lost costs its share: the others want to know, and go on. */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	catch_notice();
	code = MPI_Comm_size(MPI_COMM_WORLD, size);
	if (code == MPI_SUCCESS)
		code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
	return code == MPI_SUCCESS ? look_around(here, processors) : code;
}

static int send(int to, const void *bytes, size_t len)
{
	MPI_Request request;
	int code = MPI_Isend(bytes, (int)len, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request);

	return code == MPI_SUCCESS ? wait_for(&request) : code;
}

static int look(int *from, bool *there)
{
	MPI_Status status;
	int found = 0, code = MPI_Iprobe(*from < 0 ? MPI_ANY_SOURCE : *from, TAG, MPI_COMM_WORLD,
					 &found, &status);

	*there = code == MPI_SUCCESS && found;
	if (*there)
		*from = status.MPI_SOURCE;
	return code;
}

static int receive(int from, void *bytes, size_t len)
{
	MPI_Request request;
	int code = MPI_Irecv(bytes, (int)len, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &request);

	return code == MPI_SUCCESS ? wait_for(&request) : code;
}

static bool warned(void)
{
	return gone;
}

static int leave(void)
{
	return MPI_Finalize();
}

static void abort_all(int status)
{
	MPI_Abort(MPI_COMM_WORLD, status);
}

static void explain(int code, char *text, size_t size)
{
	char message[MPI_MAX_ERROR_STRING + 1] = "";
	int len = 0;

	if (MPI_Error_string(code, message, &len) != MPI_SUCCESS)
		len = 0;
	message[len] = '\0';
	/* Some have several lines; the first says what it is. */
	message[strcspn(message, "\n")] = '\0';
	snprintf(text, size, "%s", *message ? message : "MPI failed");
}

const struct tw_cluster_module TW_CLUSTER_MODULE_SYMBOL __attribute__((visibility("default"))) = {
	.version = TW_CLUSTER_MODULE_VERSION,
	.join = join,
	.send = send,
	.look = look,
	.receive = receive,
	.warned = warned,
	.leave = leave,
	.abort = abort_all,
	.explain = explain,
};
