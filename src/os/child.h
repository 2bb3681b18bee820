/* Starting a process that does not outlive this one. */
#ifndef TW_OS_CHILD_H
#define TW_OS_CHILD_H

#include <sys/types.h>

/*
 * fork() from any thread.  When this program ends, whatever its cause, or the calling thread does,
 * the child is sent the signal `death`.  In the child, which may only call what is safe in a
 * signal handler, signals are as they came to this program: no handler of ours runs there, and
 * what is ignored stays so, but for two that this program ignores by itself.
 */
pid_t tw_fork(int death);

/*
 * Around calls that hold a lock of the C library while they work: those that know of time zones
 * (localtime(), gmtime(), mktime(), strftime()) and libraries that call them, as libzip does.  A
 * process forked meanwhile would have the lock and nobody to give it back: tw_fork() waits for the
 * end of all such calls, and they wait for it.  From any thread; not one within another.
 */
void tw_hold_forks(void);
void tw_allow_forks(void);

#endif
