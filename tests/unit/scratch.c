#define _GNU_SOURCE
#include "scratch.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void scratch_make(struct scratch *scratch)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(scratch->dir, sizeof(scratch->dir), "%s/trawl-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(scratch->dir)) {
		perror(scratch->dir);
		abort();
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void scratch_remove(struct scratch *scratch)
{
	nftw(scratch->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_path(const struct scratch *scratch, const char *name)
{
	static char buffers[8][2 * SCRATCH_NAME];
	static unsigned turn;
	char *buffer = buffers[turn++ % 8];

	snprintf(buffer, sizeof(buffers[0]), "%s/%s", scratch->dir, name);
	return buffer;
}

int scratch_count(const struct scratch *scratch, const char *name)
{
	DIR *dir = opendir(scratch_path(scratch, name));
	struct dirent *entry;
	int count = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return count;
}

bool scratch_exists(const struct scratch *scratch, const char *name)
{
	return access(scratch_path(scratch, name), F_OK) == 0;
}

void scratch_write(const struct scratch *scratch, const char *name, const char *text)
{
	FILE *file = fopen(scratch_path(scratch, name), "wb");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
}

char *scratch_read(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	char *bytes;
	long size;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes = malloc((size_t)size + 1);
	if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		abort();
	bytes[size] = '\0';
	fclose(file);
	if (len)
		*len = (size_t)size;
	return bytes;
}
