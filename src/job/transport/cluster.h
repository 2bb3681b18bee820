/*
 * The processes of one run: those that mpirun or srun have started together.  Process 0 leads:
 * it alone prints and writes.  Without mpirun or srun there is one process, and no MPI is needed.
 *
 * Messages are bytes of any length, in order between two processes.  All calls are for the main
 * thread; other threads may work meanwhile.
 */
#ifndef TW_JOB_TRANSPORT_CLUSTER_H
#define TW_JOB_TRANSPORT_CLUSTER_H

#include "text/str.h"
#include "trawl/error.h"

struct tw_cluster {
	const struct trawl_allocator *allocator;
	const struct tw_cluster_module *mpi; /* NULL: one process */
	void *library;
	size_t piece;
	int size, rank;	      /* of all processes; which of them this is */
	int here, processors; /* processes on this machine, this one included; what they share */
	bool *lost;	      /* by process */
	bool any_lost, dismissed;
};

#define TW_CLUSTER_ROOT 0
#define TW_CLUSTER_ANY (-1)

/*
 * Processes started together according to the environment, 1 when it is one, 0: how many only an
 * MPI knows.  *process: which of them this is.
 */
int tw_cluster_started(int *process);

/*
 * Joins the others; one process alone joins nothing.  When there are others and they cannot be
 * reached (no module, another MPI), TRAWL_EUSAGE with the remedy in the message; *process as
 * above, so that one of them tells it.
 */
int tw_cluster_join(struct tw_cluster **out, int *process, const struct trawl_allocator *allocator,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

/* Threads for this process, when each of those on this machine shall have its share. */
unsigned tw_cluster_threads(const struct tw_cluster *cluster);

/*
 * Sends a message of any length, in pieces.  TRAWL_EIO when the other cannot be reached; to a
 * process that is lost it may wait forever, or succeed.
 */
int tw_cluster_send(struct tw_cluster *cluster, int to, const char *bytes, size_t len,
		    struct trawl_error *err) TRAWL_MUST_CHECK;

/*
 * The next message of *from, TW_CLUSTER_ANY: of anybody, which *from then tells; appended to
 * *bytes.  *there is false when none has come within `wait_ms`.
 */
int tw_cluster_receive(struct tw_cluster *cluster, int *from, unsigned wait_ms, bool *there,
		       struct tw_str *bytes, struct trawl_error *err) TRAWL_MUST_CHECK;

/* ---- who leads, and who is led */

/*
 * The first byte of a message from process 0 to another: what it is to do.  An empty message to
 * process 0 says that its sender is alive.
 */
enum tw_task {
	TW_TASK_LEAVE,
	TW_TASK_LEAVE_AT_ONCE, /* not all are left, so nobody waits for all */
	TW_TASK_REDUCE,	       /* files into ranks: job/transport/gather.h */
	TW_TASK_MERGE,
};

/*
 * Of processes other than 0: waits for what to do next, the whole message in *task; *over: nothing
 * more, because process 0 said so or is gone.  The failure of a message is one of TRAWL_EIO.
 */
int tw_cluster_await(struct tw_cluster *cluster, struct tw_str *task, bool *over,
		     struct trawl_error *err) TRAWL_MUST_CHECK;

/* Whether some process is known to be gone: messages of one may no longer come. */
bool tw_cluster_warned(const struct tw_cluster *cluster);
/* How long one that says nothing is waited for, in ms; less when some process is gone. */
int64_t tw_cluster_patience(const struct tw_cluster *cluster);
/* Process 0 has given up on another: it is not told to leave, and nobody waits for it. */
void tw_cluster_lose(struct tw_cluster *cluster, int process);

/* Leaves and frees; process 0 tells the others to.  NULL allowed. */
void tw_cluster_leave(struct tw_cluster *cluster);
/* Ends all processes. */
void tw_cluster_abort(struct tw_cluster *cluster, int status);

/* A clock for waiting. */
int64_t tw_cluster_clock_ms(void);

#endif
