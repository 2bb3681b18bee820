#include "made_jobs.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_KERNEL "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"

static void need(bool holds)
{
	if (!holds)
		abort();
}

void make_job(struct trawl_job *job, size_t count)
{
	size_t r;

	memset(job, 0, sizeof(*job));
	job->allocator = trawl_allocator_default();
	job->count = count;
	job->world_size = -1;
	job->ranks = tw_alloc_array(job->allocator, count, sizeof(*job->ranks));
	need(job->ranks || !count);
	for (r = 0; r < count; r++) {
		need(!tw_rank_init(&job->ranks[r], job->allocator));
		job->ranks[r].rank = (int64_t)r;
	}
}

static uint32_t text(struct tw_rank *rank, const char *value)
{
	return value ? tw_pool_intern_cstr(&rank->texts, value) : 0;
}

static uint32_t number(struct tw_rank *rank, int value)
{
	struct tw_str digits;
	uint32_t id = 0;

	tw_str_init(&digits, rank->allocator);
	tw_str_add_int(&digits, value);
	need(!digits.failed);
	if (value)
		id = text(rank, digits.ptr);
	tw_str_release(&digits);
	return id;
}

static uint32_t kind_of(struct tw_rank *rank, const struct call *call)
{
	const struct tw_collective_kind kind = {
		.args = {
			[TW_COLLECTIVE_GROUP] = text(rank, call->group),
			[TW_COLLECTIVE_GROUP_RANKS] = text(rank, call->list),
			[TW_COLLECTIVE_NAME] = text(rank, call->name),
			[TW_COLLECTIVE_GROUP_SIZE] = number(rank, call->group_size),
			[TW_COLLECTIVE_DTYPE] = text(rank, call->dtype),
			[TW_COLLECTIVE_IN_NELEMS] = number(rank, call->in),
			[TW_COLLECTIVE_OUT_NELEMS] = number(rank, call->out),
			[TW_COLLECTIVE_SOURCE] = text(rank, call->source),
			[TW_COLLECTIVE_DESTINATION] = text(rank, call->destination),
		},
		.kernel = text(rank, call->kernel ? call->kernel : DEFAULT_KERNEL),
		.device = text(rank, "0"),
		.stream = text(rank, call->stream ? call->stream : "20"),
	};
	uint32_t k;

	for (k = 0; k < rank->kind_count; k++) {
		if (!memcmp(&rank->kinds[k], &kind, sizeof(kind)))
			return k;
	}
	rank->kinds =
		tw_realloc(rank->allocator, rank->kinds, k * sizeof(kind), (k + 1) * sizeof(kind));
	need(rank->kinds);
	rank->kinds[rank->kind_count++] = kind;
	return k;
}

void add_call(struct trawl_job *job, size_t r, const struct call *call)
{
	struct tw_rank *rank = &job->ranks[r];
	size_t size = sizeof(*rank->collectives), count = rank->collective_count;
	struct tw_collective made = {
		.start_ns = llround(call->start * 1000),
		.end_ns = llround(call->end * 1000),
		.comms_id = call->id,
		.sequence = call->sequence - 1,
		.kind = kind_of(rank, call),
	};

	need(!count || rank->collectives[count - 1].start_ns <= made.start_ns);
	rank->collectives =
		tw_realloc(rank->allocator, rank->collectives, count * size, (count + 1) * size);
	need(rank->collectives);
	rank->collectives[rank->collective_count++] = made;
}

void add_calls(struct trawl_job *job, size_t rank, const struct call *calls, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		add_call(job, rank, &calls[i]);
}

static void add_meeting(struct trawl_job *job, const struct meeting *meeting)
{
	struct call call = {
		.end = meeting->end,
		.name = meeting->name ? meeting->name : "allreduce",
		.group = meeting->group ? meeting->group : "world",
		.dtype = "Float",
		.in = 1 << 20,
		.out = 1 << 20,
		.sequence = 1,
	};
	struct tw_str list;
	size_t r;

	need(job->count <= MEETING_RANKS);
	tw_str_init(&list, job->allocator);
	for (r = 0; r < job->count; r++) {
		/* The same for all members, and more each time. */
		call.sequence += (int)job->ranks[r].collective_count;
		if (meeting->starts[r] < 0)
			continue;
		tw_str_addf(&list, "%s%zu", call.group_size++ ? ", " : "[", r);
	}
	tw_str_add_char(&list, ']');
	need(!list.failed);
	call.list = list.ptr;
	for (r = 0; r < job->count; r++) {
		call.start = meeting->starts[r];
		if (call.start >= 0)
			add_call(job, r, &call);
	}
	tw_str_release(&list);
}

void add_meetings(struct trawl_job *job, const struct meeting *meetings, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		add_meeting(job, &meetings[i]);
}

struct tw_ranks_input look_across(struct looked_across *m)
{
	const struct trawl_allocator *a = trawl_allocator_default();

	need(!tw_matches_build(&m->matches, &m->job, a));
	need(!tw_clocks_measure(&m->clocks, &m->job, &m->matches, TRAWL_ALIGN_NONE, a));
	return (struct tw_ranks_input){ .job = &m->job,
					.matches = &m->matches,
					.clocks = &m->clocks,
					.allocator = a };
}

void release_looked_across(struct looked_across *m)
{
	tw_clocks_release(&m->clocks);
	tw_matches_release(&m->matches);
	tw_job_release(&m->job);
}
