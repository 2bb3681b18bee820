/* What the times of ranks are moved by, so that they stand on one axis. */
#include "job/merge/merge.h"

#include "base/alloc.h"
#include "job/transport/gather.h"
#include "os/times.h"

#include <string.h>

/* Whether ranks are on several hosts, as far as the numbers of the GPUs of one tell. */
static bool on_several_hosts(const struct trawl_merge *merge, int64_t asked)
{
	int64_t gpus = asked ? asked : merge->ranks[0].of->device_count;
	size_t i;

	/* Ranks of one file have one clock. */
	for (i = 1; i < merge->count && gpus > 0; i++)
		if (merge->ranks[i].of->file != merge->ranks[0].of->file &&
		    merge->ranks[i].of->rank / gpus != merge->ranks[0].of->rank / gpus)
			return true;
	return false;
}

/* Times of all ranks on the earliest base time, where all have one. */
static void align_by_base(struct trawl_merge *merge)
{
	int64_t base = INT64_MAX;
	size_t i;

	for (i = 0; i < merge->count; i++) {
		if (!tw_rank_tells_base(merge->ranks[i].of))
			return;
		if (merge->ranks[i].of->base_time_ns < base)
			base = merge->ranks[i].of->base_time_ns;
	}
	merge->base_time_ns = base;
	for (i = 0; i < merge->count; i++)
		merge->ranks[i].shift_ns = merge->ranks[i].of->base_time_ns - base;
}

/* ---- by collectives: the traces are read once before, for those alone */

/* The files to be merged, as a set of their own. */
static int take_set(struct tw_rank_set *set, const struct trawl_merge *merge,
		    struct trawl_error *err)
{
	const char **paths = tw_alloc_array(merge->allocator, merge->count, sizeof(*paths));
	int status;
	size_t i;

	if (!paths)
		return tw_no_memory(err);
	for (i = 0; i < merge->count; i++)
		paths[i] = tw_merged_file(merge, &merge->ranks[i])->path;
	status = tw_rank_set_find(set, paths, merge->count, merge->allocator, err);
	tw_free(merge->allocator, paths, merge->count * sizeof(*paths));
	return status;
}

/* The rank of the job that is of a part of a file; part 0: of the file, its first. */
static size_t find_rank(const struct trawl_job *job, const char *path, uint32_t part)
{
	size_t i;

	for (i = 0; i < job->count; i++)
		if ((!part || job->ranks[i].who.part == part) &&
		    !strcmp(job->set.files[job->ranks[i].file].path, path))
			return i;
	return job->count;
}

static void take_clocks(struct trawl_merge *merge, const struct trawl_job *job,
			const struct tw_clocks *clocks)
{
	/* With base times applied, what is added leads to absolute times. */
	int64_t base =
		clocks->based && merge->base_time_ns != TRAWL_TIME_NONE ? merge->base_time_ns : 0;
	size_t i;

	merge->align = clocks->align;
	for (i = 0; i < merge->count && clocks->align == TRAWL_ALIGN_COLLECTIVES; i++) {
		struct tw_merged *rank = &merge->ranks[i];
		size_t at = find_rank(job, tw_merged_file(merge, rank)->path, rank->of->who.part);
		int64_t shift;

		if (at == job->count || !clocks->of[at].known) {
			merge->unsure = true;
			continue;
		}
		if (clocks->based == (merge->base_time_ns != TRAWL_TIME_NONE) &&
		    !__builtin_sub_overflow(clocks->shift_ns[at], base, &shift) &&
		    shift < TW_LATEST_TIME_NS && shift > -TW_LATEST_TIME_NS) {
			rank->shift_ns = shift;
			rank->clock = clocks->of[at];
		}
	}
}

static int align_by_collectives(struct trawl_merge *merge, const struct tw_merge_options *options,
				struct trawl_error *err)
{
	struct tw_load_options load = options->load;
	struct tw_rank_set set = { 0 };
	struct tw_matches matches;
	struct tw_clocks clocks;
	struct trawl_job job = { 0 };
	int status = take_set(&set, merge, err);

	if (status)
		return status;
	load.progress = NULL;
	status = options->cluster ?
			 tw_job_gather(&job, &set, &load, options->cluster, merge->allocator, err) :
			 tw_job_load(&job, &set, &load, merge->allocator, err);
	/* Whoever reads them next says what is wrong with them. */
	if (status && status != TRAWL_ENOMEM && status != TRAWL_ECANCELED) {
		tw_job_release(&job);
		merge->unsure = true;
		return 0;
	}
	if (!status && !tw_matches_build(&matches, &job, merge->allocator)) {
		if (!tw_clocks_measure(&clocks, &job, &matches, options->align, merge->allocator)) {
			take_clocks(merge, &job, &clocks);
			tw_clocks_release(&clocks);
		} else {
			status = TRAWL_ENOMEM;
		}
		tw_matches_release(&matches);
	} else if (!status) {
		status = TRAWL_ENOMEM;
	}
	tw_job_release(&job);
	return status ? trawl_error_set(err, status, "%s", trawl_status_name(status)) : 0;
}

int tw_merge_align(struct trawl_merge *merge, const struct tw_merge_options *options,
		   struct trawl_error *err)
{
	bool read = options->align == TRAWL_ALIGN_COLLECTIVES ||
		    (options->align == TRAWL_ALIGN_AUTO &&
		     on_several_hosts(merge, options->load.gpus_per_node));

	merge->base_time_ns = TRAWL_TIME_NONE;
	merge->align = options->align == TRAWL_ALIGN_AUTO ? TRAWL_ALIGN_BASE_TIME : options->align;
	if (merge->align != TRAWL_ALIGN_NONE)
		align_by_base(merge);
	return read && merge->count > 1 ? align_by_collectives(merge, options, err) : 0;
}
