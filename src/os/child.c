#define _GNU_SOURCE
#include "os/child.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

/* To fork takes it for writing. */
static pthread_rwlock_t forking = PTHREAD_RWLOCK_INITIALIZER;

void tw_hold_forks(void)
{
	pthread_rwlock_rdlock(&forking);
}

void tw_allow_forks(void)
{
	pthread_rwlock_unlock(&forking);
}

static void restore_signals(const sigset_t *mask)
{
	struct sigaction old;
	int number;

	for (number = 1; number <= SIGRTMAX; number++)
		if (!sigaction(number, NULL, &old) && old.sa_handler != SIG_IGN &&
		    old.sa_handler != SIG_DFL)
			signal(number, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}

pid_t tw_fork(int death)
{
	pid_t parent = getpid(), child;
	sigset_t all, signals;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &signals);
	pthread_rwlock_wrlock(&forking);
	child = fork();
	pthread_rwlock_unlock(&forking);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, death);
		if (getppid() != parent)
			_exit(127);
		restore_signals(&signals);
	} else {
		pthread_sigmask(SIG_SETMASK, &signals, NULL);
	}
	return child;
}
