#include "job/transport/cluster.h"

#include "base/alloc.h"
#include "job/transport/module.h"
#include "os/thread.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MODULE_FILE "libtrawl_mpi.so"
#define STRING_OF(name) #name
#define NAME_OF(name) STRING_OF(name)
/* One message of MPI counts in int; messages of trawl are longer, and go in pieces. */
#define PIECE_BYTES ((size_t)1 << 30)
#define LENGTH_BYTES 8u
#define LOOK_AGAIN_NS 500000
/* Whoever works says so every second; a machine that swaps may be slow to. */
#define PATIENCE_MS 120000
#define PATIENCE_WARNED_MS 10000

/* ---- what the environment tells ---------------------------------------------------------- */

/* A number of the environment, -1: not there. */
static int number_in(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text || *text < '0' || *text > '9')
		return -1;
	value = strtol(text, &end, 10);
	return *end || value > INT_MAX ? -1 : (int)value;
}

/* The first of several that is there. */
static int first_of(const char *const *names, size_t count)
{
	size_t i;
	int value;

	for (i = 0; i < count; i++)
		if ((value = number_in(names[i])) >= 0)
			return value;
	return -1;
}

/*
 * Slurm sets SLURM_NTASKS and SLURM_PROCID=0 for the script of a batch job too, which is one
 * process: the numbers of the step are there only under srun.
 */
int tw_cluster_started(int *process)
{
	static const char *const sizes[] = { "PMI_SIZE", "OMPI_COMM_WORLD_SIZE",
					     "MV2_COMM_WORLD_SIZE" };
	static const char *const ranks[] = { "PMI_RANK", "OMPI_COMM_WORLD_RANK",
					     "MV2_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID" };
	int size = first_of(sizes, sizeof(sizes) / sizeof(*sizes));
	int step = number_in("SLURM_STEP_NUM_TASKS");
	int rank = first_of(ranks, sizeof(ranks) / sizeof(*ranks));

	*process = rank < 0 ? 0 : rank;
	if (size > 0)
		return size;
	if (step > 0 && number_in("SLURM_PROCID") >= 0)
		return step;
	return number_in("PMIX_RANK") >= 0 ? 0 : 1;
}

/* ---- the module -------------------------------------------------------------------------- */

/* Where it may be, seen from the program: as built, and as installed. */
static const char *const places[] = { "", "../lib/trawl/", "../lib/", "../" };

static int module_path(size_t place, char *path, size_t size)
{
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;
	int n;

	if (len <= 0)
		return -1;
	program[len] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return -1;
	slash[1] = '\0';
	n = snprintf(path, size, "%s%s" MODULE_FILE, program, places[place]);
	return n < 0 || (size_t)n >= size ? -1 : 0;
}

static int open_module(void **library, const char *path, struct trawl_error *err)
{
	const char *why;

	/*
	 * UCX, on which MPICH and Open MPI may be built, would put its own mremap() before the
	 * system's, to learn of memory that moves.  That of UCX 1.13 drops the new address, so that
	 * growing blocks (base/alloc.c) would move to anywhere.  It looks here as it is loaded.
	 */
	setenv("UCX_MEM_EVENTS", "n", 1);
	/* An MPI loads parts of its own, which look for its names among those of the program. */
	*library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (*library)
		return 0;
	why = dlerror();
	return trawl_error_set(err, TRAWL_EUSAGE, "cannot load %s: %s", path,
			       why ? why : "unknown reason");
}

static int load_module(struct tw_cluster *c, struct trawl_error *err)
{
	const char *asked = getenv("TRAWL_MPI_MODULE");
	char path[2 * PATH_MAX];
	size_t i;

	if (asked && *asked)
		return open_module(&c->library, asked, err);
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (module_path(i, path, sizeof(path)) || access(path, F_OK))
			continue;
		return open_module(&c->library, path, err);
	}
	return trawl_error_set(err, TRAWL_EUSAGE,
			       "started as several processes without " MODULE_FILE
			       ": build trawl with MPI, set TRAWL_MPI_MODULE, or run one process");
}

static int find_calls(struct tw_cluster *c, struct trawl_error *err)
{
	c->mpi = dlsym(c->library, NAME_OF(TW_CLUSTER_MODULE_SYMBOL));
	if (!c->mpi || c->mpi->version != TW_CLUSTER_MODULE_VERSION) {
		c->mpi = NULL;
		return trawl_error_set(err, TRAWL_EUSAGE,
				       MODULE_FILE " is from another version of trawl");
	}
	return 0;
}

static int told(const struct tw_cluster *c, int code, const char *what, struct trawl_error *err)
{
	char why[512];

	c->mpi->explain(code, why, sizeof(why));
	return trawl_error_set(err, TRAWL_EIO, "%s: %s", what, why);
}

/* ---- joining and leaving ----------------------------------------------------------------- */

static int join_others(struct tw_cluster *c, int started, struct trawl_error *err)
{
	int code, status = load_module(c, err);

	if (!status)
		status = find_calls(c, err);
	if (status)
		return status;
	code = c->mpi->join(&c->size, &c->rank, &c->here, &c->processors);
	if (code)
		return told(c, code, "cannot join the other processes", err);
	if (started > 0 && c->size != started)
		return trawl_error_set(
			err, TRAWL_EUSAGE,
			"started as %d processes, but the MPI of " MODULE_FILE
			" sees %d: use the mpirun of that MPI, or another --mpi of srun ('srun "
			"--mpi=list')",
			started, c->size);
	return 0;
}

static size_t piece_size(void)
{
	int asked = number_in("TRAWL_MPI_PIECE"); /* for tests */

	return asked > 0 ? (size_t)asked : PIECE_BYTES;
}

int tw_cluster_join(struct tw_cluster **out, int *process, const struct trawl_allocator *allocator,
		    struct trawl_error *err)
{
	struct tw_cluster *c = tw_alloc_array(allocator, 1, sizeof(*c));
	int status = 0, started = tw_cluster_started(process);

	*out = NULL;
	if (!c)
		return tw_no_memory(err);
	*c = (struct tw_cluster){ .allocator = allocator,
				  .piece = piece_size(),
				  .size = 1,
				  .here = 1,
				  .processors = (int)tw_thread_count() };
	if (started != 1)
		status = join_others(c, started, err);
	if (status) {
		/* Not unloaded: an MPI that has begun may still run threads of its own. */
		tw_free(allocator, c, sizeof(*c));
		return status;
	}
	*process = c->rank;
	c->lost = tw_alloc_array(allocator, (size_t)c->size, sizeof(*c->lost));
	if (!c->lost) {
		tw_cluster_abort(c, 1);
		tw_free(allocator, c, sizeof(*c));
		return tw_no_memory(err);
	}
	*out = c;
	return 0;
}

unsigned tw_cluster_threads(const struct tw_cluster *cluster)
{
	unsigned own = tw_thread_count(), share;

	if (cluster->here <= 1 || cluster->processors <= 0)
		return own;
	share = (unsigned)(cluster->processors / cluster->here);
	if (share < 1)
		share = 1;
	return share < own ? share : own;
}

void tw_cluster_lose(struct tw_cluster *cluster, int process)
{
	cluster->lost[process] = true;
	cluster->any_lost = true;
}

int64_t tw_cluster_patience(const struct tw_cluster *cluster)
{
	return tw_cluster_warned(cluster) ? PATIENCE_WARNED_MS : PATIENCE_MS;
}

static void dismiss(struct tw_cluster *c)
{
	const char over = c->any_lost ? TW_TASK_LEAVE_AT_ONCE : TW_TASK_LEAVE;
	int i;

	for (i = 0; i < c->size; i++)
		if (i != c->rank && !c->lost[i] && tw_cluster_send(c, i, &over, 1, NULL))
			c->any_lost = true;
}

void tw_cluster_leave(struct tw_cluster *cluster)
{
	if (!cluster)
		return;
	if (cluster->mpi && cluster->rank == TW_CLUSTER_ROOT)
		dismiss(cluster);
	/* The library stays: an MPI has handlers that run when the process ends. */
	if (cluster->mpi && !cluster->any_lost)
		cluster->mpi->leave();
	tw_free(cluster->allocator, cluster->lost, (size_t)cluster->size * sizeof(*cluster->lost));
	tw_free(cluster->allocator, cluster, sizeof(*cluster));
}

void tw_cluster_abort(struct tw_cluster *cluster, int status)
{
	if (cluster->mpi)
		cluster->mpi->abort(status);
}

bool tw_cluster_warned(const struct tw_cluster *cluster)
{
	return cluster->mpi && cluster->mpi->warned();
}

/* ---- messages ---------------------------------------------------------------------------- */

int tw_cluster_send(struct tw_cluster *cluster, int to, const char *bytes, size_t len,
		    struct trawl_error *err)
{
	uint8_t length[LENGTH_BYTES];
	size_t i, at, n;
	int code;

	if (!cluster->mpi)
		return trawl_error_set(err, TRAWL_EIO, "no other process");
	for (i = 0; i < LENGTH_BYTES; i++)
		length[i] = (uint8_t)((uint64_t)len >> 8 * i);
	code = cluster->mpi->send(to, length, sizeof(length));
	for (at = 0; !code && at < len; at += n) {
		n = len - at < cluster->piece ? len - at : cluster->piece;
		code = cluster->mpi->send(to, bytes + at, n);
	}
	return code ? told(cluster, code, "cannot send to another process", err) : 0;
}

static int receive_whole(struct tw_cluster *c, int from, struct tw_str *bytes,
			 struct trawl_error *err)
{
	uint8_t length[LENGTH_BYTES];
	uint64_t len = 0;
	size_t i, n, left;
	int code = c->mpi->receive(from, length, sizeof(length));

	if (code)
		return told(c, code, "cannot receive from another process", err);
	for (i = 0; i < LENGTH_BYTES; i++)
		len |= (uint64_t)length[i] << 8 * i;
	if (len > SIZE_MAX / 2 || !tw_str_reserve(bytes, (size_t)len))
		return tw_no_memory(err);
	for (left = (size_t)len; left; left -= n) {
		n = left < c->piece ? left : c->piece;
		code = c->mpi->receive(from, bytes->ptr + bytes->len, n);
		if (code)
			return told(c, code, "cannot receive from another process", err);
		bytes->len += n;
	}
	bytes->ptr[bytes->len] = '\0';
	return 0;
}

int64_t tw_cluster_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int tw_cluster_receive(struct tw_cluster *cluster, int *from, unsigned wait_ms, bool *there,
		       struct tw_str *bytes, struct trawl_error *err)
{
	const struct timespec pause = { 0, LOOK_AGAIN_NS };
	int64_t until = tw_cluster_clock_ms() + wait_ms;
	int code;

	*there = false;
	if (!cluster->mpi)
		return 0;
	for (;;) {
		code = cluster->mpi->look(from, there);
		if (code)
			return told(cluster, code, "cannot receive from another process", err);
		if (*there)
			return receive_whole(cluster, *from, bytes, err);
		if (tw_cluster_clock_ms() >= until)
			return 0;
		nanosleep(&pause, NULL);
	}
}

int tw_cluster_await(struct tw_cluster *cluster, struct tw_str *task, bool *over,
		     struct trawl_error *err)
{
	int64_t since = tw_cluster_clock_ms();
	int root = TW_CLUSTER_ROOT, status;
	bool there = false;

	*over = cluster->dismissed;
	tw_str_clear(task);
	while (!there && !*over) {
		status = tw_cluster_receive(cluster, &root, 1000, &there, task, err);
		if (status) {
			cluster->any_lost = true;
			return status;
		}
		/* It may take its time, but not when it may be the one that is gone. */
		if (!there && tw_cluster_warned(cluster) &&
		    tw_cluster_clock_ms() - since > PATIENCE_WARNED_MS) {
			cluster->any_lost = true;
			*over = true;
		}
	}
	*over |= !task->len || (unsigned char)task->ptr[0] <= TW_TASK_LEAVE_AT_ONCE;
	cluster->any_lost |= *over && task->len && task->ptr[0] == TW_TASK_LEAVE_AT_ONCE;
	cluster->dismissed = *over;
	return 0;
}
