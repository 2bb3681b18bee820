#include "os/inputs.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

struct input {
	dev_t device;
	ino_t inode;
};

/* Process-wide, because what a process reads and what it writes meet nowhere else. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool recording;
static struct input *inputs;
static size_t count, capacity;

void tw_inputs_begin(void)
{
	recording = true;
}

static bool has(const struct stat *info)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (inputs[i].inode == info->st_ino && inputs[i].device == info->st_dev)
			return true;
	return false;
}

static bool make_room(void)
{
	size_t more = capacity ? capacity * 2 : 16;
	struct input *grown;

	if (count < capacity)
		return true;
	grown = realloc(inputs, more * sizeof(*inputs));
	if (!grown)
		return false;
	inputs = grown;
	capacity = more;
	return true;
}

void tw_inputs_note(const char *path)
{
	struct stat info;

	if (!recording || stat(path, &info) || !S_ISREG(info.st_mode))
		return;
	pthread_mutex_lock(&lock);
	/* Without memory for one more the run ends soon, and elsewhere. */
	if (!has(&info) && make_room())
		inputs[count++] = (struct input){ info.st_dev, info.st_ino };
	pthread_mutex_unlock(&lock);
}

bool tw_inputs_have(const char *path)
{
	struct stat info;
	bool found;

	if (!recording || stat(path, &info))
		return false;
	pthread_mutex_lock(&lock);
	found = has(&info);
	pthread_mutex_unlock(&lock);
	return found;
}
