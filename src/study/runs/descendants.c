#include "study/runs/descendants.h"

#include "base/alloc.h"
#include "base/list.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct process {
	pid_t pid, parent;
	bool dead; /* and not buried */
	bool ours;
};

struct processes {
	const struct trawl_allocator *allocator;
	struct process *items;
	size_t count, capacity;
};

/* "PID (NAME) STATE PARENT ...": the name may hold anything, parentheses too. */
static bool read_process(const char *pid, struct process *process)
{
	char path[64], text[512], *behind;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	behind = strrchr(text, ')');
	if (!behind || behind[1] != ' ' || !behind[2])
		return false;
	process->pid = (pid_t)strtol(pid, NULL, 10);
	process->dead = behind[2] == 'Z' || behind[2] == 'X';
	process->parent = (pid_t)strtol(behind + 3, NULL, 10);
	process->ours = false;
	return true;
}

static bool add_process(struct processes *list, const struct process *process)
{
	if (!tw_list_grow(&list->items, &list->capacity, list->count, sizeof(*list->items),
			  list->allocator))
		return false;
	list->items[list->count++] = *process;
	return true;
}

/* All there are, as far as there is memory for them. */
static bool list_processes(struct processes *list, const struct trawl_allocator *allocator)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	struct process process;
	bool complete = true;

	*list = (struct processes){ .allocator = allocator };
	if (!directory)
		return true;
	while (complete && (entry = readdir(directory)))
		if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name) &&
		    read_process(entry->d_name, &process))
			complete = add_process(list, &process);
	closedir(directory);
	return complete;
}

static void release_processes(struct processes *list)
{
	tw_free(list->allocator, list->items, list->capacity * sizeof(*list->items));
}

int tw_children_note(struct tw_children *before, const struct trawl_allocator *allocator)
{
	struct processes list;
	bool complete = list_processes(&list, allocator);
	size_t i;

	*before = (struct tw_children){ .allocator = allocator };
	if (complete && list.count) {
		before->pids = tw_alloc_array(allocator, list.count, sizeof(*before->pids));
		before->capacity = before->pids ? list.count : 0;
		complete = before->pids;
	}
	for (i = 0; complete && i < list.count; i++)
		if (list.items[i].parent == getpid())
			before->pids[before->count++] = list.items[i].pid;
	release_processes(&list);
	return complete ? 0 : -1;
}

void tw_children_release(struct tw_children *before)
{
	tw_free(before->allocator, before->pids, before->capacity * sizeof(*before->pids));
	*before = (struct tw_children){ 0 };
}

static bool was_there(const struct tw_children *before, pid_t pid)
{
	size_t i;

	for (i = 0; i < before->count; i++)
		if (before->pids[i] == pid)
			return true;
	return false;
}

static bool is_ours(const struct processes *list, const struct tw_children *before,
		    const struct process *process)
{
	size_t i;

	if (process->parent == getpid())
		return !was_there(before, process->pid);
	for (i = 0; i < list->count; i++)
		if (list->items[i].pid == process->parent)
			return list->items[i].ours;
	return false;
}

/* Children, theirs, and so on: numbers of processes do not grow with depth. */
static void mark_ours(struct processes *list, const struct tw_children *before)
{
	bool more = true;
	size_t i;

	while (more) {
		more = false;
		for (i = 0; i < list->count; i++) {
			struct process *process = &list->items[i];

			if (!process->ours && is_ours(list, before, process))
				more = process->ours = true;
		}
	}
}

size_t tw_descendants_signal(const struct tw_children *before, pid_t keep, int signal_number)
{
	struct processes list;
	size_t alive = 0, i;

	list_processes(&list, before->allocator);
	mark_ours(&list, before);
	for (i = 0; i < list.count; i++) {
		const struct process *process = &list.items[i];

		if (!process->ours)
			continue;
		if (!process->dead) {
			alive++;
			if (signal_number)
				kill(process->pid, signal_number);
		} else if (process->parent == getpid() && process->pid != keep) {
			waitpid(process->pid, NULL, WNOHANG);
		}
	}
	release_processes(&list);
	return alive;
}
