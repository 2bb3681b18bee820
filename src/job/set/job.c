#include "job/set/job.h"

#include "base/alloc.h"
#include "os/times.h"

#include <string.h>

int tw_rank_init(struct tw_rank *rank, const struct trawl_allocator *allocator)
{
	*rank = (struct tw_rank){
		.allocator = allocator,
		.rank = -1,
		.worst = TRAWL_NOTE,
		.name_rank = -1,
		.who = { .recorded_rank = -1,
			 .recorded_world = -1,
			 .pid = -1,
			 .first_ns = INT64_MAX,
			 .last_ns = INT64_MIN,
			 .members = "" },
		.first_step = -1,
		.last_step = -1,
		.world_size = -1,
		.base_time_ns = TRAWL_TIME_NONE,
		.host = "",
		.device_name = "",
		.gpu = "",
		.message = "",
		.view = "",
	};
	return tw_pool_init(&rank->texts, allocator);
}

void tw_rank_release(struct tw_rank *rank)
{
	const struct trawl_allocator *a = rank->allocator;
	size_t i;

	if (!a)
		return;
	for (i = 0; i < rank->table_count; i++)
		trawl_table_free(rank->tables[i]);
	tw_free(a, rank->tables, rank->table_capacity * sizeof(*rank->tables));
	tw_free(a, rank->collectives, rank->collective_count * sizeof(*rank->collectives));
	tw_free(a, rank->exposed, rank->exposed_count * sizeof(*rank->exposed));
	tw_free(a, rank->kinds, rank->kind_count * sizeof(*rank->kinds));
	tw_pool_release(&rank->texts);
	if (rank->attached)
		rank->free_attached(rank->attached);
	memset(rank, 0, sizeof(*rank));
}

bool tw_rank_tells_base(const struct tw_rank *rank)
{
	/* A time beyond what times can be leaves no room for sums. */
	return rank->base_time_ns != TRAWL_TIME_NONE && rank->base_time_ns < TW_LATEST_TIME_NS &&
	       rank->base_time_ns > -TW_LATEST_TIME_NS;
}

bool tw_rank_span(const struct tw_rank *rank, int64_t *first_ns, int64_t *last_ns)
{
	return rank->who.first_ns <= rank->who.last_ns && rank->base_time_ns != TRAWL_TIME_NONE &&
	       !__builtin_add_overflow(rank->who.first_ns, rank->base_time_ns, first_ns) &&
	       !__builtin_add_overflow(rank->who.last_ns, rank->base_time_ns, last_ns);
}

const char *trawl_rank_rule_words(enum trawl_rank_rule rule)
{
	static const char *const words[] = {
		[TRAWL_RANK_BY_METADATA] = "distributedInfo",
		[TRAWL_RANK_BY_LABEL] = "process labels",
		[TRAWL_RANK_BY_COLLECTIVES] = "recorded collectives",
		[TRAWL_RANK_BY_NAME] = "file names",
		[TRAWL_RANK_BY_ORDER] = "file order",
	};

	return words[rule];
}

const char *tw_rank_keep(struct tw_rank *rank, const char *text)
{
	return tw_pool_text(&rank->texts, tw_pool_intern_cstr(&rank->texts, text), NULL);
}

struct tw_rank *tw_ranks_new(size_t count, uint32_t file, const struct tw_rank_set *set,
			     const struct trawl_allocator *allocator)
{
	struct tw_rank *ranks = tw_alloc_array(allocator, count, sizeof(*ranks));
	bool failed = false;
	size_t i;

	for (i = 0; i < count && ranks; i++) {
		failed |= tw_rank_init(&ranks[i], allocator) != 0;
		ranks[i].file = file;
		/* The name of a file with several ranks does not identify the rank. */
		ranks[i].name_rank = count > 1 ? -1 : set->files[file].name_rank;
		ranks[i].who.part = count > 1 ? (uint32_t)i + 1 : 0;
	}
	if (!failed)
		return ranks;
	tw_ranks_free(ranks, count, allocator);
	return NULL;
}

bool tw_rank_is_left_out(const struct tw_rank *rank)
{
	return rank->state >= TRAWL_RANK_DUPLICATE;
}

void tw_rank_leave_out(struct tw_rank *rank, const struct tw_rank_set *set,
		       enum trawl_rank_state state, int status, const char *message)
{
	rank->state = state;
	rank->status = status;
	rank->message = tw_rank_keep(rank, tw_without_path(message, set->files[rank->file].path));
}

void tw_ranks_free(struct tw_rank *ranks, size_t count, const struct trawl_allocator *allocator)
{
	size_t i;

	for (i = 0; i < count; i++)
		tw_rank_release(&ranks[i]);
	tw_free(allocator, ranks, count * sizeof(*ranks));
}

void tw_job_release(struct trawl_job *job)
{
	if (!job->allocator)
		return;
	tw_ranks_free(job->ranks, job->count, job->allocator);
	tw_ranks_free(job->left_out, job->left_out_count, job->allocator);
	tw_free(job->allocator, job->missing, job->missing_count * sizeof(*job->missing));
	if (job->next) {
		tw_job_release(job->next);
		tw_free(job->allocator, job->next, sizeof(*job->next));
	}
	if (job->set.allocator)
		tw_rank_set_release(&job->set);
	memset(job, 0, sizeof(*job));
}

int64_t tw_job_node(const struct trawl_job *job, int64_t rank)
{
	return job->gpus_per_node > 0 ? rank / job->gpus_per_node : -1;
}

bool tw_job_several_hosts(const struct trawl_job *job)
{
	size_t i;

	for (i = 1; i < job->count; i++) {
		const struct tw_rank *first = &job->ranks[0], *other = &job->ranks[i];

		if (tw_job_node(job, first->rank) != tw_job_node(job, other->rank) ||
		    (first->host[0] && other->host[0] && strcmp(first->host, other->host)))
			return true;
	}
	return false;
}

const char *tw_collective_text(const struct tw_rank *rank, const struct tw_collective *c,
			       enum tw_collective_arg arg, size_t *len)
{
	return tw_pool_text(&rank->texts, rank->kinds[c->kind].args[arg], len);
}

const char *tw_kind_type(const struct tw_rank *rank, const struct tw_collective_kind *kind)
{
	size_t len, operation_len, kernel_len;
	const char *recorded = tw_pool_text(&rank->texts, kind->args[TW_COLLECTIVE_NAME], &len);
	const char *operation = tw_pool_text(&rank->texts, kind->operation, &operation_len);
	const char *kernel = tw_pool_text(&rank->texts, kind->kernel, &kernel_len);

	return tw_collective_kind(recorded, len, operation, operation_len,
				  len ? NULL : tw_kernel_name(kernel, kernel_len));
}

const char *tw_job_span(const struct trawl_job *job, int64_t a, int64_t b)
{
	int64_t node = tw_job_node(job, a);

	if (node < 0)
		return "unknown";
	return node == tw_job_node(job, b) ? "intra_node" : "inter_node";
}
