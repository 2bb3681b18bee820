/*
 * Runs a fuzz target over given files without libFuzzer, so that the kept corpora are ordinary
 * tests under any compiler and sanitizer.  Arguments are files and directories (searched to any
 * depth, in name order); arguments beginning with '-' are libFuzzer options and passed over.
 * Prints the number of inputs; exit status 1 when one cannot be read or there is none.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static size_t inputs;
static int failures;

static void complain(const char *path)
{
	fprintf(stderr, "cannot read '%s': %s\n", path, strerror(errno));
	failures++;
}

/* The copy is exactly as large as the input: a read behind its end is seen by asan. */
static void run_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;

	if (!file) {
		complain(path);
		return;
	}
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size) {
		complain(path);
	} else {
		/* A crash does not say which input it was; this does. */
		if (getenv("FUZZ_VERBOSE"))
			fprintf(stderr, "%s\n", path);
		LLVMFuzzerTestOneInput(data, size);
		inputs++;
	}
	free(data);
	fclose(file);
}

static int is_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_path(const char *path);

static void run_directory(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_entry, alphasort);

	if (count < 0) {
		complain(path);
		return;
	}
	for (int i = 0; i < count; i++) {
		size_t len = strlen(path) + strlen(entries[i]->d_name) + 2;
		char *child = malloc(len);

		if (child) {
			snprintf(child, len, "%s/%s", path, entries[i]->d_name);
			run_path(child);
		} else {
			complain(path);
		}
		free(child);
		free(entries[i]);
	}
	free(entries);
}

static void run_path(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		complain(path);
	else if (S_ISDIR(st.st_mode))
		run_directory(path);
	else
		run_file(path, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		if (argv[i][0] != '-')
			run_path(argv[i]);
	printf("%zu inputs\n", inputs);
	return failures || !inputs;
}
