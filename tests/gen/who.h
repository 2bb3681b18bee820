/*
 * Whose work something is, as the scripts have it: the chain of nn.Module calls, the frame of the
 * program, the pass. Known while a line runs, so nothing of it is worked out from events.
 */
#ifndef GEN_WHO_H
#define GEN_WHO_H

#include <stdint.h>

enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_RECOMPUTE, N_PASSES };

struct place {
	int16_t path, site; /* of struct who; 0 is none */
	uint8_t pass;
};

struct who_path {
	int16_t parent;
	char *name; /* "Block_3" */
};

/* Of a rank, for the whole run; zeroed is empty. */
struct who {
	struct who_path *paths;
	const char **sites; /* borrowed */
	int n_paths, n_sites;
};

/* The number of a path, of a name like "nn.Module: Block_" before the module's number. */
int16_t who_path(struct who *w, int16_t parent, const char *frame, int64_t module);
int16_t who_site(struct who *w, const char *site);
void who_free(struct who *w);

#endif
