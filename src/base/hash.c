/* The secret of this process's hashes. */
#include "base/hash.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t tw_hash_secret[2] = { TW_HASH_K0, TW_HASH_K1 };

/* What differs from run to run, where the system has no randomness to give yet. */
static void take_what_there_is(uint64_t *secret)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	secret[0] = tw_hash_mix((uint64_t)now.tv_nsec ^ TW_HASH_K0, (uint64_t)now.tv_sec);
	secret[1] = tw_hash_mix((uint64_t)getpid() ^ TW_HASH_K1, (uint64_t)(uintptr_t)secret);
}

/* Before any table is made, and before there are threads. */
__attribute__((constructor)) static void choose_secret(void)
{
	const char *seed = getenv("TRAWL_HASH_SEED");
	uint64_t secret[2];

	if (seed && *seed) {
		secret[0] = tw_hash_mix(strtoull(seed, NULL, 10) ^ TW_HASH_K1, TW_HASH_K0);
		secret[1] = tw_hash_mix(secret[0] ^ TW_HASH_K0, TW_HASH_K1);
	} else if (getrandom(secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret)) {
		take_what_there_is(secret);
	}
	tw_hash_secret[0] = secret[0];
	tw_hash_secret[1] = secret[1] | 1;
}
