/*
 * What the module libtrawl_mpi.so offers: the few calls of MPI that are needed, so that trawl
 * itself neither includes mpi.h nor is linked with an MPI.  Built against the MPI that is there,
 * loaded only where processes were started together (cluster.h).
 *
 * All calls come from one thread.  Each returns 0 or a code of MPI, for explain().
 */
#ifndef TW_JOB_TRANSPORT_MODULE_H
#define TW_JOB_TRANSPORT_MODULE_H

#include "trawl/api.h"

/* Changes when the struct does: a module of another build is refused. */
#define TW_CLUSTER_MODULE_VERSION 1u
/* The name of the one symbol: struct tw_cluster_module. */
#define TW_CLUSTER_MODULE_SYMBOL trawl_mpi_module

struct tw_cluster_module {
	unsigned version;
	/*
	 * Enters; *here: how many of the processes are on this machine, *processors: those that
	 * these may use, taken together.
	 */
	int (*join)(int *size, int *rank, int *here, int *processors);
	/* One message of at most INT_MAX bytes; returns once `bytes` may be used again. */
	int (*send)(int to, const void *bytes, size_t len);
	/* Whether a message is there, without waiting; from < 0: from anybody; *from: whose. */
	int (*look)(int *from, bool *there);
	/* The next message from there, which has exactly `len` bytes. */
	int (*receive)(int from, void *bytes, size_t len);
	/* Whether the starter of the processes has told that one of them is gone. */
	bool (*warned)(void);
	int (*leave)(void);
	void (*abort)(int status);
	void (*explain)(int code, char *text, size_t size);
};

#endif
