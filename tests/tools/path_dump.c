/*
 * Prints the dependencies of a trace, for an independent reader: a line for each point, with the
 * start or end that it is, its name, its time as recorded and in each standard scenario, its
 * binding cause, its slack (-1: none) and whether it is of the window; first lines that begin with # have counts.
 *
 * usage: path_dump [--causes] TRACE...
 *
 * With --causes: a line for each cause of each point that has an effect: the number of the point, that
 * of the cause, its code, its delay; hubs of collectives are points too.  Points come in order of number.
 */
#include "base/alloc.h"
#include "path/critical.h"
#include "path/job_path.h"
#include "path/standard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char codes[TW_CAUSES + 1] = "ESCYLQTBDHWI";

/* Unchanged, and the standard scenarios. */
static int replay_all(const struct tw_path *path, struct tw_replay *replays)
{
	struct tw_scenario s;
	int status = 0, i;

	for (i = 0; i <= TW_LONE_FREE && !status; i++) {
		tw_scenario_init(&s, path, path->allocator);
		if (i)
			tw_standard_set(&s, (enum tw_standard)(i - 1));
		status = tw_replay_run(&replays[i], path, &s, 1, path->allocator);
		tw_scenario_release(&s);
	}
	return status;
}

/* A field of its own: control characters are ?. */
static void print_text(const char *text)
{
	for (putchar('\t'); *text; text++)
		putchar((unsigned char)*text < ' ' ? '?' : *text);
}

static void print_point(const struct tw_path *path, uint32_t p, const struct tw_replay *replays,
			const int64_t *slack)
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
	for (i = 0; i <= TW_LONE_FREE; i++)
		printf("\t%" PRId64, tw_time(tw_replayed(&replays[i], 0), p));
	print_text(tw_pool_text(&r->texts, label->track, NULL));
	print_text(tw_pool_text(&r->texts, label->name, NULL));
	printf("\t%" PRId64 "\t%d\n", slack[p] == TW_NO_SLACK ? -1 : slack[p],
	       tw_is_gpu_point(point) && tw_in_window(path, r, (p - r->first) / 2));
}

static void print_causes(const struct tw_path *path)
{
	uint32_t p, cause;

	for (p = 0; p < path->point_count; p++)
		for (cause = path->points[p].causes; cause < path->points[p + 1].causes; cause++)
			if (path->from[cause] != TW_NO_POINT)
				printf("= %u %u %c %" PRId64 "\n", p, path->from[cause],
				       codes[tw_path_code(path, cause)],
				       tw_path_delay(path, p, cause));
}

static int print(const struct tw_path *path)
{
	struct tw_replay replays[TW_LONE_FREE + 1];
	int64_t *slack =
		tw_alloc_array(path->allocator, (size_t)path->point_count + 1, sizeof(*slack));
	int status = slack ? replay_all(path, replays) : -1, i;
	uint32_t p;

	if (status)
		return status;
	for (i = 0; i <= TW_LONE_FREE; i++)
		printf("# %d window %" PRId64 " step %.3f\n", i,
		       tw_window_ns(path, tw_replayed(&replays[i], 0)),
		       tw_step_ns(path, tw_replayed(&replays[i], 0)));
	printf("# notes skewed %" PRIu64 " incomplete %" PRIu64 " not_matched %" PRIu64
	       " cut %" PRIu64 "\n",
	       path->notes.skewed, path->notes.incomplete, path->notes.not_matched,
	       path->notes.cut);
	tw_slack_find(path, slack);
	for (p = 0; p < path->first_hub; p++)
		print_point(path, p, replays, slack);
	tw_free(path->allocator, slack, ((size_t)path->point_count + 1) * sizeof(*slack));
	for (i = 0; i <= TW_LONE_FREE; i++)
		tw_replay_release(&replays[i]);
	return 0;
}

/* All ranks, with clocks by the ends of their collectives. */
static int read_path(struct tw_path **path, const char *const *files, size_t count,
		     struct trawl_error *err)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct tw_load_options options = { .attach = tw_path_attach };
	struct tw_rank_set set = { 0 };
	struct tw_matches matches = { 0 };
	struct tw_clocks clocks = { 0 };
	struct trawl_job job = { 0 };
	int status = tw_rank_set_find(&set, files, count, a, err);

	if (!status)
		status = tw_job_load(&job, &set, &options, a, err);
	if (!status)
		status = tw_matches_build(&matches, &job, a);
	if (!status)
		status = tw_clocks_measure(&clocks, &job, &matches, TRAWL_ALIGN_COLLECTIVES, a);
	if (!status)
		status = tw_path_of_job(path, &job, &matches, &clocks, a);
	tw_clocks_release(&clocks);
	tw_matches_release(&matches);
	tw_job_release(&job);
	return status;
}

int main(int argc, char **argv)
{
	struct trawl_error err = { 0 };
	struct tw_path *path = NULL;
	bool causes = argc > 1 && !strcmp(argv[1], "--causes");
	int first = 1 + causes;
	int status = argc > first ? read_path(&path, (const char *const *)argv + first,
					      (size_t)(argc - first), &err) :
				    -1;

	if (!status) {
		status = print(path);
		if (causes)
			print_causes(path);
		tw_path_free(path);
	}
	if (status)
		fprintf(stderr, "path_dump: %s\n", err.message);
	return status != 0;
}
