#define _GNU_SOURCE
#include "io/temporary.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Number of files usually written at once; more get further blocks. */
#define BLOCK_SLOTS 64

enum slot_state {
	SLOT_FREE,
	SLOT_TAKEN, /* its owner is putting the name in */
	SLOT_ARMED, /* the name is valid: a handler may take it */
	SLOT_HELD,  /* a handler is using the name */
	SLOT_GONE,  /* a handler has removed the file */
};

struct tw_temporary {
	_Atomic int state;
	char *name;
};

/* Blocks are added and never freed: a handler may be walking over them. */
struct slot_block {
	struct tw_temporary slots[BLOCK_SLOTS];
	struct slot_block *_Atomic next;
};

/*
 * Process-wide, because signals are: the one piece of state that the library keeps between calls.
 */
static struct slot_block first_block;
static _Atomic bool ending;

static struct tw_temporary *take_slot(struct slot_block *block)
{
	int i;

	for (i = 0; i < BLOCK_SLOTS; i++) {
		int expected = SLOT_FREE;

		if (atomic_compare_exchange_strong(&block->slots[i].state, &expected, SLOT_TAKEN))
			return &block->slots[i];
	}
	return NULL;
}

static struct slot_block *next_block(struct slot_block *block)
{
	struct slot_block *next = atomic_load(&block->next), *fresh;

	if (next)
		return next;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return NULL;
	/* Another thread may have been faster: its block serves as well. */
	if (atomic_compare_exchange_strong(&block->next, &next, fresh))
		return fresh;
	free(fresh);
	return next;
}

struct tw_temporary *tw_temporary_note(char *name)
{
	struct slot_block *block;

	for (block = &first_block; block; block = next_block(block)) {
		struct tw_temporary *slot = take_slot(block);

		if (slot) {
			slot->name = name;
			atomic_store(&slot->state, SLOT_ARMED);
			return slot;
		}
	}
	return NULL;
}

bool tw_temporary_forget(struct tw_temporary *temporary)
{
	int expected = SLOT_ARMED;

	if (!temporary)
		return true;
	if (atomic_compare_exchange_strong(&temporary->state, &expected, SLOT_FREE))
		return true;
	if (expected == SLOT_HELD)
		return false;
	atomic_store(&temporary->state, SLOT_FREE);
	return true;
}

bool tw_temporary_ending(void)
{
	return atomic_load(&ending);
}

void tw_temporary_unlink_all(void)
{
	int saved = errno, i;
	struct slot_block *block;

	/* First the flag: a file created behind our back is then removed by its creator. */
	atomic_store(&ending, true);
	for (block = &first_block; block; block = atomic_load(&block->next)) {
		for (i = 0; i < BLOCK_SLOTS; i++) {
			struct tw_temporary *slot = &block->slots[i];
			int expected = SLOT_ARMED;

			if (!atomic_compare_exchange_strong(&slot->state, &expected, SLOT_HELD))
				continue;
			if (unlink(slot->name))
				rmdir(slot->name); /* a directory, noted after what is in it */
			atomic_store(&slot->state, SLOT_GONE);
		}
	}
	errno = saved;
}

/* ---- names */

/* The number of the namespace of processes that is there from the start: linux/proc_ns.h. */
#define FIRST_NAMESPACE 0xEFFFFFFCu

#define MARK "trawl-"

/*
 * MARK HOST "-".  Processes of containers have numbers of their own, which may be those of others
 * on the same host: the container then belongs to the name.
 */
static size_t name_host(char text[TW_TEMPORARY_ENDING])
{
	char host[65] = "";
	struct stat space;
	size_t i;
	int n;

	if (gethostname(host, sizeof(host) - 1) || !host[0])
		snprintf(host, sizeof(host), "host");
	for (i = 0; host[i]; i++)
		if (!isalnum((unsigned char)host[i]) && host[i] != '.' && host[i] != '-')
			host[i] = '_';
	if (!stat("/proc/self/ns/pid", &space) && space.st_ino != FIRST_NAMESPACE)
		n = snprintf(text, TW_TEMPORARY_ENDING, MARK "%s.%llu-", host,
			     (unsigned long long)space.st_ino);
	else
		n = snprintf(text, TW_TEMPORARY_ENDING, MARK "%s-", host);
	return (size_t)n;
}

size_t tw_temporary_ending_of_name(char text[TW_TEMPORARY_ENDING])
{
	size_t len = name_host(text);

	return len + (size_t)snprintf(text + len, TW_TEMPORARY_ENDING - len, "%ld-XXXXXX",
				      (long)getpid());
}

/* ---- what ended processes left */

/* The process that created it, from its name; 0: another kind of name. */
static long maker_of(const char *name, const char *host, size_t host_len)
{
	const char *p = NULL, *next = name;
	char *end;
	long process;
	size_t i;

	while ((next = strstr(next, host)))
		p = next++;
	if (!p || !isdigit((unsigned char)p[host_len]))
		return 0;
	errno = 0;
	process = strtol(p + host_len, &end, 10);
	if (errno || *end++ != '-' || strlen(end) != TW_TEMPORARY_RANDOM)
		return 0;
	for (i = 0; i < TW_TEMPORARY_RANDOM; i++)
		if (!isalnum((unsigned char)end[i]))
			return 0;
	return process;
}

static bool has_ended(long process)
{
	return process > 0 && (pid_t)process == process && kill((pid_t)process, 0) &&
	       errno == ESRCH;
}

/* A file, or a directory of ours with files. */
static void remove_left(int directory, const char *name)
{
	const struct dirent *entry;
	struct stat info;
	DIR *inside;
	int fd;

	if (!unlinkat(directory, name, 0))
		return;
	fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	inside = !fstat(fd, &info) && info.st_uid == geteuid() ? fdopendir(fd) : NULL;
	if (!inside) {
		close(fd);
		return;
	}
	while ((entry = readdir(inside)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(fd, entry->d_name, 0);
	closedir(inside);
	unlinkat(directory, name, AT_REMOVEDIR);
}

static void remove_left_in(DIR *directory)
{
	char host[TW_TEMPORARY_ENDING];
	size_t host_len = name_host(host);
	const struct dirent *entry;

	while ((entry = readdir(directory)))
		if (has_ended(maker_of(entry->d_name, host, host_len)))
			remove_left(dirfd(directory), entry->d_name);
}

struct cleaned {
	dev_t device;
	ino_t inode;
};

/* Whether it is the first time; without memory to know that, it is not. */
static bool is_first_time(const struct stat *info)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct cleaned *cleaned;
	static size_t count;
	struct cleaned *grown = NULL;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < count; i++)
		if (cleaned[i].inode == info->st_ino && cleaned[i].device == info->st_dev)
			break;
	if (i == count)
		grown = realloc(cleaned, (count + 1) * sizeof(*cleaned));
	if (grown) {
		cleaned = grown;
		cleaned[count++] = (struct cleaned){ info->st_dev, info->st_ino };
	}
	pthread_mutex_unlock(&lock);
	return grown != NULL;
}

void tw_temporary_clean(const char *path)
{
	DIR *directory;
	struct stat info;

	if (stat(path, &info) || !is_first_time(&info))
		return;
	directory = opendir(path);
	if (!directory)
		return;
	remove_left_in(directory);
	closedir(directory);
}
