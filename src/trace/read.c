/* Opening an input: what it is decides its content, then its reader fills a trace. */
#include "base/thread.h"
#include "trace/reader.h"

int trawl_trace_read(struct trawl_trace **out, const char *path,
		     const struct trawl_read_options *given, struct trawl_error *err)
{
	struct trawl_read_options options = { 0 };
	struct tw_feed_options feed_options = { .end = -1 };
	struct trawl_trace *trace;
	struct tw_feed *feed;
	int status;

	*out = NULL;
	if (given)
		options = *given;
	if (!options.allocator)
		options.allocator = trawl_allocator_default();
	if (!options.threads)
		options.threads = tw_thread_count();
	feed_options.allocator = options.allocator;
	feed_options.block_size = options.block_size;
	feed_options.threaded = options.threads > 1;
	trace = tw_trace_new(options.allocator);
	if (!trace)
		return trawl_error_set(err, TRAWL_ENOMEM, "%s: out of memory", path);
	status = tw_feed_open(&feed, path, &feed_options, err);
	if (!status) {
		status = tw_kineto_read(trace, feed, &options, err);
		if (!status && tw_trace_finish(trace))
			status = trawl_error_set(err, TRAWL_ENOMEM, "out of memory");
		/* Errors of reading name the file themselves. */
		if (status && status != TRAWL_EIO && status != TRAWL_ELIMIT)
			trawl_error_context(err, status, "%s",
					    path[0] == '-' && !path[1] ? "standard input" : path);
	}
	if (status) {
		trawl_trace_free(trace);
		return status;
	}
	*out = trace;
	return 0;
}
