/*
 * Which code a test runs, for tools/mutate.py: the compiler calls __sanitizer_cov_trace_pc() in
 * every basic block; where it is called from is a bit in the file TRAWL_RAN names, which all
 * processes of a test share.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t)8 << 20)

static uint8_t *ran;
static uintptr_t base;

void __sanitizer_cov_trace_pc(void);

static int find_library(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	if (info->dlpi_name && strstr(info->dlpi_name, "libtrawl.so"))
		base = info->dlpi_addr;
	return 0;
}

__attribute__((constructor)) static void start(void)
{
	const char *name = getenv("TRAWL_RAN");
	void *mapped;
	int file;

	if (!name || !*name)
		return;
	file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (file < 0 || ftruncate(file, (off_t)BYTES))
		abort();
	mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (mapped == MAP_FAILED)
		abort();
	close(file);
	dl_iterate_phdr(find_library, NULL);
	ran = mapped;
}

void __sanitizer_cov_trace_pc(void)
{
	uintptr_t place;

	if (!ran)
		return;
	place = (uintptr_t)__builtin_return_address(0) - base;
	if (place < BYTES * 8)
		__atomic_fetch_or(&ran[place / 8], (uint8_t)(1 << place % 8), __ATOMIC_RELAXED);
}
