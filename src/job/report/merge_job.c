#include "job/report/merge_job.h"

#include "base/alloc.h"
#include "job/set/job_notes.h"
#include "os/file.h"
#include "text/rank_list.h"

#include <inttypes.h>
#include <string.h>

enum { RANK, RULE, GPU_SLICES, HOST_SLICES, OTHERS, ARROWS, MOVED, LOOSE, SHIFT, FILE_NAME };

static const struct trawl_column columns[] = {
	[RANK] = TW_INTEGER("rank", 6, "rank in the job", .values = "!>=0"),
	[RULE] = TW_TEXT(TW_COL_RANK_FROM, 10,
			 "source of the rank: the trace (distributedInfo), process label, recorded "
			 "collectives, file name, or file order",
			 .values = "!trace|name|order"),
	[GPU_SLICES] = TW_INTEGER("gpu slices", 12, "slices on GPU streams", .values = "!>=0"),
	[HOST_SLICES] = TW_INTEGER("host slices", 12, "slices on host threads", .values = "!>=0"),
	[OTHERS] = TW_INTEGER("other events", 12, "instants, counters etc.", .values = "!>=0"),
	[ARROWS] =
		TW_INTEGER("flows", 10, "flow arrows with a slice at both ends", .values = "!>=0"),
	[MOVED] = TW_INTEGER("moved slices", 12,
			     "slices that partly overlap others, moved to a separate lane",
			     .values = "!>=0"),
	[LOOSE] = TW_INTEGER("flow ends left out", 14,
			     "skipped arrow ends, without a slice or other end in the output "
			     "(mostly due to --keep gpu)",
			     .values = "!>=0"),
	[SHIFT] = TW_DECIMAL("shift us", "us", 3, 3, 14, "shift added to all times", .values = "!"),
	[FILE_NAME] = TW_TEXT("file", 30, "trace file", .values = "!"),
};

static const struct tw_table_spec spec = TW_SPEC(
	"merged_ranks", "contents of the merged trace, by rank", columns, .keep_empty = true);

static void add_rank(struct trawl_table *table, const struct trawl_merge *merge,
		     const struct tw_merged *rank)
{
	static const char *const rules[] = {
		[TRAWL_RANK_BY_METADATA] = "trace",
		[TRAWL_RANK_BY_LABEL] = "label",
		[TRAWL_RANK_BY_COLLECTIVES] = "collectives",
		[TRAWL_RANK_BY_NAME] = "name",
		[TRAWL_RANK_BY_ORDER] = "order",
	};
	const char *path = tw_merged_file(merge, rank)->path;
	size_t row = tw_table_add_row(table);

	tw_table_set_integer(table, row, RANK, rank->of->rank);
	tw_table_set_str(table, row, RULE, rules[rank->of->rule]);
	tw_table_set_integer(table, row, GPU_SLICES, (int64_t)rank->counts.gpu_slices);
	tw_table_set_integer(table, row, HOST_SLICES, (int64_t)rank->counts.host_slices);
	tw_table_set_integer(table, row, OTHERS, (int64_t)rank->counts.others);
	tw_table_set_integer(table, row, ARROWS, (int64_t)rank->counts.arrows);
	tw_table_set_integer(table, row, MOVED, (int64_t)rank->counts.moved);
	tw_table_set_integer(table, row, LOOSE, (int64_t)rank->counts.loose);
	tw_table_set_integer(table, row, SHIFT, rank->shift_ns);
	tw_table_set_str(table, row, FILE_NAME, tw_file_name(path));
}

static int make_table(struct trawl_merge *merge, struct trawl_error *err)
{
	size_t i;

	merge->table = tw_table_new(&spec, merge->allocator);
	for (i = 0; merge->table && i < merge->count; i++)
		if (tw_merged_is_in(&merge->ranks[i]))
			add_rank(merge->table, merge, &merge->ranks[i]);
	return merge->table ? tw_table_finish(merge->table, err) : tw_no_memory(err);
}

static void note_missing(const struct trawl_merge *merge, struct tw_str *notes)
{
	if (!merge->missing_count)
		return;
	tw_str_addf(notes, "missing rank%s ", merge->missing_count == 1 ? "" : "s");
	tw_rank_list_add_most(notes, merge->missing, merge->missing_count);
	if (merge->world_size > 0)
		tw_str_note(notes, " (of %" PRId64 ")", merge->world_size);
	else
		tw_str_note(notes, " (in recorded process groups)");
}

/* Where numbers are a guess, or do not fit together. */
static void note_numbers(const struct trawl_merge *merge, struct tw_str *notes)
{
	const struct tw_merged *other = NULL;
	size_t by_order = 0, i;

	for (i = 0; i < merge->count; i++) {
		const struct tw_merged *rank = &merge->ranks[i];

		by_order += rank->of->rule == TRAWL_RANK_BY_ORDER;
		if (rank->of->world_size >= 0 && rank->of->world_size != merge->job.world_size)
			other = rank;
	}
	tw_note_order(merge->job.clashes, by_order, merge->count, notes);
	tw_note_apart(&merge->job.apart, notes);
	tw_note_world(other ? other->of->rank : -1, other ? other->of->world_size : -1,
		      merge->ranks[merge->count - 1].of->rank, merge->job.world_size, notes);
	if (merge->job.is_unlike)
		tw_str_note(notes,
			    "traces do not match as ranks of one job: some share no process group "
			    "and few operators and kernels (trawl report --each reports each "
			    "trace)");
}

static int tell(const struct trawl_merge *merge, const struct trawl_merge_options *o,
		struct trawl_error *err)
{
	struct tw_str notes;
	bool failed;

	tw_str_init(&notes, merge->allocator);
	note_numbers(merge, &notes);
	note_missing(merge, &notes);
	if (merge->unsure)
		tw_str_note(&notes, "clocks aligned by base time where collectives give no offset");
	tw_str_tell(&notes, o->note, o->note_context);
	failed = notes.failed;
	tw_str_release(&notes);
	return failed ? tw_no_memory(err) : 0;
}

/* ---- merging */

void trawl_merge_options_init(struct trawl_merge_options *options)
{
	*options = (struct trawl_merge_options){ .most_ranks = -1 };
}

static struct tw_merge_options inner_options(const struct trawl_merge_options *o,
					     struct tw_cluster *cluster)
{
	return (struct tw_merge_options){
		.load = {
			.threads = o->threads,
			.max_memory = o->max_memory,
			.gpus_per_node = o->gpus_per_node,
			.block_size = o->block_size,
			.progress = o->progress,
			.progress_context = o->progress_context,
		},
		.keep_all = o->keep_all,
		.most_ranks = o->most_ranks,
		.align = o->align,
		.cluster = cluster,
	};
}

static int run(struct trawl_merge *merge, const char *const *paths, size_t count,
	       const char *output, const struct trawl_merge_options *o, struct tw_cluster *cluster,
	       const struct trawl_allocator *a, struct trawl_error *err)
{
	const struct tw_merge_options options = inner_options(o, cluster);
	struct tw_rank_set set = { 0 };
	int status = tw_rank_set_find_named(&set, paths, count, o->trace_name,
					    TRAWL_MERGE_TRACE_NAME, a, err);

	if (!status)
		status = tw_merge_run(merge, &set, output, &options, a, err);
	if (!status)
		status = make_table(merge, err);
	return status ? status : tell(merge, o, err);
}

int tw_merge_new(struct trawl_merge **out, const char *const *paths, size_t count,
		 const char *output, const struct trawl_merge_options *given,
		 struct tw_cluster *cluster, struct trawl_error *err)
{
	struct trawl_merge_options o;
	const struct trawl_allocator *a;
	struct trawl_merge *merge;
	int status;

	*out = NULL;
	trawl_merge_options_init(&o);
	if (given)
		o = *given;
	a = o.allocator ? o.allocator : trawl_allocator_default();
	merge = tw_alloc_array(a, 1, sizeof(*merge));
	if (!merge)
		return tw_no_memory(err);
	merge->allocator = a;
	status = run(merge, paths, count, output, &o, cluster, a, err);
	if (status)
		trawl_merge_free(merge);
	else
		*out = merge;
	return status;
}

int trawl_merge_new(struct trawl_merge **out, const char *const *paths, size_t count,
		    const char *output, const struct trawl_merge_options *options,
		    struct trawl_error *err)
{
	return tw_merge_new(out, paths, count, output, options, NULL, err);
}

void trawl_merge_free(struct trawl_merge *merge)
{
	const struct trawl_allocator *a;

	if (!merge)
		return;
	a = merge->allocator;
	trawl_table_free(merge->table);
	tw_merge_release(merge);
	tw_free(a, merge, sizeof(*merge));
}

int tw_merge_serve(const struct trawl_merge_options *o, struct tw_cluster *cluster,
		   struct trawl_error *err)
{
	const struct tw_merge_options options = inner_options(o, cluster);
	const struct trawl_allocator *a = o->allocator ? o->allocator : trawl_allocator_default();
	struct tw_str task;
	bool over = false;
	int status = 0;

	tw_str_init(&task, a);
	while (!status && !over) {
		status = tw_cluster_await(cluster, &task, &over, err);
		if (status || over)
			break;
		status =
			task.len && task.ptr[0] == TW_TASK_MERGE ?
				tw_merge_share(task.ptr, task.len, &options, a, err) :
				tw_gather_share(task.ptr, task.len, &options.load, cluster, a, err);
	}
	tw_str_release(&task);
	return status;
}

/* ---- what became of it */

const struct trawl_table *trawl_merge_table(const struct trawl_merge *merge)
{
	return merge->table;
}

size_t trawl_merge_files(const struct trawl_merge *merge)
{
	return merge->file_count;
}

struct trawl_rank trawl_merge_file(const struct trawl_merge *merge, size_t index)
{
	struct trawl_rank rank = tw_rank_shown(&merge->job, merge->ranks[index].of);

	rank.told_rank = merge->ranks[index].told_rank;
	return rank;
}

const struct trawl_defect *trawl_merge_defects(const struct trawl_merge *merge, size_t index,
					       size_t *count)
{
	*count = merge->ranks[index].defect_count;
	return merge->ranks[index].defects;
}

bool trawl_merge_is_whole(const struct trawl_merge *merge)
{
	bool whole = !merge->missing_count;
	size_t i;

	for (i = 0; i < merge->file_count; i++) {
		enum trawl_rank_state state = merge->ranks[i].of->state;

		whole = whole && (state == TRAWL_RANK_READ || state == TRAWL_RANK_NO_GPU ||
				  state == TRAWL_RANK_NOT_A_TRACE);
	}
	return whole;
}
