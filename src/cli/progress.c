#include "cli/cli.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Work that is done before this is not worth a line. */
#define DELAY_SECONDS 1.0
#define INTERVAL_SECONDS 0.2

double cli_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void cli_progress_begin(struct cli_progress *progress, bool quiet)
{
	*progress = (struct cli_progress){
		.enabled = !quiet && isatty(STDERR_FILENO),
		.started = cli_seconds(),
	};
}

int cli_progress_update(void *context, int64_t bytes_read, int64_t file_size)
{
	struct cli_progress *progress = context;
	double t, left;

	if (!progress->enabled)
		return 0;
	t = cli_seconds();
	if (t - progress->started < DELAY_SECONDS || t - progress->last < INTERVAL_SECONDS)
		return 0;
	progress->last = t;
	progress->shown = true;
	if (file_size > 0 && bytes_read > 0) {
		left = (t - progress->started) * (double)(file_size - bytes_read) /
		       (double)bytes_read;
		fprintf(stderr, "\rreading: %3.0f %% of %.1f MB, %.0f s left ",
			100.0 * (double)bytes_read / (double)file_size, (double)file_size / 1e6,
			left < 0 ? 0 : left);
	} else {
		fprintf(stderr, "\rreading: %.1f MB ", (double)bytes_read / 1e6);
	}
	fflush(stderr);
	return 0;
}

void cli_progress_end(struct cli_progress *progress)
{
	if (progress->shown)
		fprintf(stderr, "\r%60s\r", "");
}
