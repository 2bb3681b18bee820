/*
 * Prints the dependencies of a trace, for an independent reader: a line for each point, with the
 * start or end that it is, its name, its time as recorded and in each standard scenario, and its
 * binding cause; first lines that begin with # have counts.
 *
 * usage: path_dump TRACE
 */
#include "derive/derived.h"
#include "path/standard.h"

#include <inttypes.h>
#include <stdio.h>

static const char codes[TW_CAUSES + 1] = "ESCYLQTBDHWI";

static int replay_all(const struct tw_path *path, int64_t *times[TW_STANDARDS + 1])
{
	struct tw_scenario s;
	int status = 0, i;

	times[0] = tw_path_times(path);
	status = times[0] ? tw_path_replay(path, NULL, times[0]) : -1;
	for (i = 0; i < TW_STANDARDS && !status; i++) {
		tw_scenario_init(&s, path, path->allocator);
		tw_standard_set(&s, (enum tw_standard)i);
		times[i + 1] = tw_path_times(path);
		status = times[i + 1] ? tw_path_replay(path, &s, times[i + 1]) : -1;
		tw_scenario_release(&s);
	}
	return status;
}

static void print_point(const struct tw_path *path, uint32_t p, int64_t *const *times)
{
	const struct tw_path_point *point = &path->points[p];
	const struct tw_path_rank *r = &path->ranks[point->rank];
	const struct tw_path_label *label = &r->labels[point->label];
	uint32_t cause = tw_path_binding(path, p);
	int i;

	printf("%" PRId64 "\t%" PRId64 "\t%c\t%c\t%u", r->rank, point->time_ns,
	       tw_is_end(point) ? 'e' : 's',
	       cause == TW_NO_POINT ? '-' : codes[tw_path_code(path, cause)],
	       (unsigned)(point[1].causes - point->causes));
	for (i = 0; i <= TW_STANDARDS; i++)
		printf("\t%" PRId64, times[i][p]);
	printf("\t%s\t%s\n", tw_pool_text(&r->texts, label->track, NULL),
	       tw_pool_text(&r->texts, label->name, NULL));
}

static int print(const struct tw_path *path)
{
	int64_t *times[TW_STANDARDS + 1] = { 0 };
	int status = replay_all(path, times), i;
	uint32_t p;

	for (i = 0; i <= TW_STANDARDS && !status; i++)
		printf("# %d window %" PRId64 " step %.3f\n", i, tw_window_ns(path, times[i]),
		       tw_step_ns(path, times[i]));
	for (p = 0; p < path->first_hub && !status; p++)
		print_point(path, p, times);
	for (i = 0; i <= TW_STANDARDS; i++)
		if (times[i])
			tw_path_times_free(path, times[i]);
	return status;
}

static int read_part(struct tw_path_part *part, const char *file, struct trawl_error *err)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct trawl_trace *trace;
	struct tw_derived *derived;
	int status = trawl_trace_read(&trace, file, NULL, err);

	if (status)
		return status;
	status = tw_derive(&derived, trace, &options, err);
	if (!status) {
		status = tw_path_part_build(part, derived, trawl_allocator_default());
		tw_derived_free(derived);
	}
	trawl_trace_free(trace);
	return status;
}

int main(int argc, char **argv)
{
	struct tw_path_part part = { 0 };
	struct trawl_error err = { 0 };
	struct tw_path *path;
	int status = argc == 2 ? read_part(&part, argv[1], &err) : -1;

	if (!status)
		status = tw_path_join(&path, &part, 1, NULL, trawl_allocator_default());
	else
		tw_path_part_release(&part);
	if (!status) {
		status = print(path);
		tw_path_free(path);
	}
	if (status)
		fprintf(stderr, "path_dump: %s\n", err.message);
	return status != 0;
}
