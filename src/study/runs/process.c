#define _GNU_SOURCE
#include "study/runs/process.h"

#include "base/alloc.h"
#include "os/child.h"
#include "study/runs/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)
/* How often it is asked whether the command has ended; sooner when its output has just ended. */
#define TICK_MS 50
#define LAST_TICK_MS 2
#define LAST_TICKS 50
/* Asking elsewhere costs a program each time. */
#define REACH_NS (500 * MS)
/* What is left when a command has ended may end by itself as long. */
#define LINGER_NS (1000 * MS)
/* After this even SIGKILL has no effect: a process waits for a device. */
#define GIVE_UP_NS (10000 * MS)
#define BLOCK ((size_t)64 << 10)

enum phase {
	RUNS,
	LINGERS, /* the command has ended, others of it have not */
	ASKED,	 /* to end, by SIGTERM */
	FORCED,	 /* by SIGKILL */
};

struct running {
	const struct tw_process *process;
	struct tw_process_result *result;
	struct tw_children before;
	char *block;
	pid_t pid;
	bool ended; /* the command itself */
	int output; /* -1: at its end */
	enum phase phase;
	int64_t started_ns, phase_ns;
	int64_t reached_ns; /* when it was asked last what runs elsewhere, and the answer */
	bool reaches;
	bool asked_all; /* those whom the command has left have been asked to end */
	unsigned last_ticks;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* ---- starting */

/* In the child: no memory, no locks. */
static void become(const struct tw_process *p, int output, int failure)
{
	int error, nothing;

	setpgid(0, 0);
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(output, STDERR_FILENO) >= 0)
		/* The words are not written to; the parameters' types are those of main(). */
		execvpe(p->arguments[0], (char *const *)p->arguments,
			(char *const *)p->environment);
	error = errno;
	if (write(failure, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Whether the command runs; the result says why not. */
static bool read_failure(struct running *r, int failure)
{
	int error;
	ssize_t n;

	while ((n = read(failure, &error, sizeof(error))) < 0 && errno == EINTR)
		;
	if (n != sizeof(error))
		return true;
	r->result->end = TW_PROCESS_NOT_STARTED;
	r->result->code = error;
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return false;
}

static int no_start(struct trawl_error *err)
{
	return trawl_error_set(err, TRAWL_EIO, "cannot start a process: %s", strerror(errno));
}

/* Both ends above those that the child is given. */
static int open_pipe(int ends[2])
{
	int low[2], i;

	if (pipe2(low, O_CLOEXEC))
		return -1;
	for (i = 0; i < 2; i++) {
		ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		close(low[i]);
	}
	return ends[0] < 0 || ends[1] < 0 ? -1 : 0;
}

/* 0 also when the command does not run: then r->pid is 0. */
static int start(struct running *r, struct trawl_error *err)
{
	int output[2], failure[2];

	if (open_pipe(output))
		return no_start(err);
	if (open_pipe(failure)) {
		no_start(err);
		close(output[0]);
		close(output[1]);
		return TRAWL_EIO;
	}
	r->pid = tw_fork(SIGTERM);
	if (!r->pid)
		become(r->process, output[1], failure[1]);
	close(output[1]);
	close(failure[1]);
	r->output = output[0];
	if (r->pid < 0) {
		no_start(err);
		close(failure[0]);
		return TRAWL_EIO;
	}
	/* Here as in the child: whoever is first, the group is there. */
	setpgid(r->pid, r->pid);
	if (!read_failure(r, failure[0]))
		r->pid = 0;
	close(failure[0]);
	fcntl(r->output, F_SETFL, O_NONBLOCK);
	return 0;
}

/* ---- output */

/* 0 or an errno. */
static int write_all(int fd, const char *bytes, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, bytes, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static void keep_output(struct running *r, size_t len)
{
	const struct tw_process *p = r->process;
	int error;

	if (p->log >= 0 && !r->result->log_error) {
		error = write_all(p->log, r->block, len);
		r->result->log_error = error;
	}
	/* A terminal that is gone is no reason to stop. */
	if (p->show >= 0)
		write_all(p->show, r->block, len);
}

/* What is there now. */
static void read_output(struct running *r)
{
	ssize_t n;

	while (r->output >= 0) {
		n = read(r->output, r->block, BLOCK);
		if (n > 0) {
			keep_output(r, (size_t)n);
			return;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		close(r->output);
		r->output = -1;
	}
}

/* The rest, when nobody is left to write more. */
static void drain(struct running *r)
{
	ssize_t n;

	while (r->output >= 0 && ((n = read(r->output, r->block, BLOCK)) > 0 || errno == EINTR))
		if (n > 0)
			keep_output(r, (size_t)n);
		else if (!n)
			break;
	if (r->output >= 0)
		close(r->output);
	r->output = -1;
}

/* ---- ending */

static bool is_stopped(const struct tw_process *p)
{
	return p->stop && p->stop->signal;
}

static void enter(struct running *r, enum phase phase)
{
	r->phase = phase;
	r->phase_ns = now_ns();
}

static void signal_all(struct running *r, int signal_number)
{
	const struct tw_process *p = r->process;

	if (p->reach)
		p->reach(p->context, signal_number);
	/* A command may have left its group. */
	if (kill(-r->pid, signal_number) && !r->ended)
		kill(r->pid, signal_number);
	/* What is stopped sees no other signal. */
	if (signal_number != SIGKILL)
		kill(-r->pid, SIGCONT);
}

/*
 * The command is asked alone with its group: it knows best how to end its workers.  What runs
 * elsewhere on its behalf hears it first: the command here is but its messenger.
 */
static void ask_to_end(struct running *r)
{
	enter(r, ASKED);
	signal_all(r, SIGTERM);
}

static void force_to_end(struct running *r)
{
	enter(r, FORCED);
	signal_all(r, SIGKILL);
	tw_descendants_signal(&r->before, r->pid, SIGKILL);
}

static void bury(struct running *r)
{
	int state;

	if (r->ended || waitpid(r->pid, &state, WNOHANG) != r->pid)
		return;
	r->ended = true;
	r->result->duration_ns = now_ns() - r->started_ns;
	if (r->phase == RUNS) {
		r->result->end = WIFSIGNALED(state) ? TW_PROCESS_KILLED : TW_PROCESS_EXITED;
		r->result->code = WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state);
		enter(r, LINGERS);
	}
}

static bool is_elsewhere(struct running *r)
{
	const struct tw_process *p = r->process;

	if (p->reach && now_ns() - r->reached_ns >= REACH_NS) {
		r->reaches = p->reach(p->context, 0);
		r->reached_ns = now_ns();
	}
	return r->reaches;
}

/* Something of it that is not the command itself. */
static size_t count_left(struct running *r)
{
	size_t left = tw_descendants_signal(&r->before, 0, 0);

	/* Without /proc the group alone is known. */
	while (waitpid(-r->pid, NULL, WNOHANG) > 0)
		;
	if (!left && !kill(-r->pid, 0))
		left = 1;
	return left + is_elsewhere(r);
}

static void ask_all_to_end(struct running *r)
{
	r->asked_all = true;
	signal_all(r, SIGTERM);
	tw_descendants_signal(&r->before, 0, SIGTERM);
}

/* Whether there is no more to wait for. */
static bool is_over(struct running *r)
{
	int64_t since = now_ns() - r->phase_ns;
	size_t left;

	if (!r->ended) {
		r->result->unkillable = r->phase == FORCED && since > GIVE_UP_NS;
		r->result->duration_ns = now_ns() - r->started_ns;
		return r->result->unkillable;
	}
	left = count_left(r);
	if (!left)
		return true;
	if (r->phase == LINGERS && since > LINGER_NS) {
		r->result->left_behind = left;
		enter(r, ASKED);
		ask_all_to_end(r);
	} else if (r->phase == ASKED && !r->asked_all) {
		ask_all_to_end(r);
	} else if (r->phase == FORCED) {
		/* They may have started others meanwhile. */
		signal_all(r, SIGKILL);
		tw_descendants_signal(&r->before, 0, SIGKILL);
		r->result->unkillable = since > GIVE_UP_NS;
	}
	return r->result->unkillable;
}

/* What the time and signals ask for. */
static void look(struct running *r)
{
	const struct tw_process *p = r->process;
	int64_t now = now_ns();

	if (r->phase == RUNS && is_stopped(p)) {
		r->result->end = TW_PROCESS_INTERRUPTED;
		r->result->code = p->stop->signal;
		ask_to_end(r);
	} else if (r->phase == RUNS && p->timeout_ns && now - r->started_ns >= p->timeout_ns) {
		r->result->end = TW_PROCESS_TIMEOUT;
		ask_to_end(r);
	} else if (r->phase == LINGERS && is_stopped(p)) {
		ask_to_end(r);
	}
	if (r->phase == ASKED &&
	    (now - r->phase_ns >= p->grace_ns || (p->stop && p->stop->count > 1)))
		force_to_end(r);
}

/* ---- the run */

static void wait_a_little(struct running *r)
{
	const struct tw_process *p = r->process;
	bool soon = r->output < 0 && r->last_ticks < LAST_TICKS;
	struct pollfd files[2] = {
		{ .fd = r->output, .events = POLLIN },
		/* Once is enough: it is not read here. */
		{ .fd = p->stop && !p->stop->signal ? p->stop->wake : -1, .events = POLLIN },
	};

	r->last_ticks += soon;
	poll(files, 2, soon ? LAST_TICK_MS : TICK_MS);
}

static void watch(struct running *r)
{
	const struct tw_process *p = r->process;

	for (;;) {
		read_output(r);
		bury(r);
		if (r->phase != RUNS && is_over(r))
			break;
		look(r);
		if (p->tick)
			p->tick(p->context, now_ns() - r->started_ns);
		wait_a_little(r);
	}
	drain(r);
}

int tw_process_run(const struct tw_process *process, struct tw_process_result *result,
		   const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct running r = { .process = process, .result = result, .output = -1 };
	/* Where it is ignored the system keeps no status for us. */
	struct sigaction children = { .sa_handler = SIG_DFL }, before;
	int reaper = 0, status;

	*result = (struct tw_process_result){ 0 };
	r.block = tw_alloc(allocator, BLOCK);
	if (!r.block || tw_children_note(&r.before, allocator)) {
		tw_free(allocator, r.block, BLOCK);
		return tw_no_memory(err);
	}
	sigaction(SIGCHLD, &children, &before);
	prctl(PR_GET_CHILD_SUBREAPER, &reaper);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	r.started_ns = now_ns();
	status = start(&r, err);
	if (!status && r.pid)
		watch(&r);
	if (r.output >= 0)
		close(r.output);
	prctl(PR_SET_CHILD_SUBREAPER, reaper);
	sigaction(SIGCHLD, &before, NULL);
	tw_children_release(&r.before);
	tw_free(allocator, r.block, BLOCK);
	return status;
}
