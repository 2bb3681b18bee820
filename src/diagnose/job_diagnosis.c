#include "diagnose/job_diagnosis.h"

#include "diagnose/pieces.h"

#include "base/alloc.h"
#include "base/scope.h"
#include "job/set/load.h"
#include "job/transport/rank_bytes.h"
#include "path/job_path.h"

#include <string.h>

/* What is kept of a rank. */
struct attached {
	const struct trawl_allocator *allocator;
	struct tw_path_part part;
	struct tw_claims claims;
	struct tw_rank *recording; /* of a part: the collectives of the whole; NULL */
};

static void free_attached(void *context)
{
	struct attached *a = context;
	const struct trawl_allocator *allocator = a->allocator;

	tw_path_part_release(&a->part);
	tw_claims_release(&a->claims);
	if (a->recording)
		tw_ranks_free(a->recording, 1, allocator);
	tw_free(allocator, a, sizeof(*a));
}

/* Of a part of the trace the whole is derived anew: what waited for what may have begun before. */
static int derive_whole(struct tw_derived **own, struct tw_analysis_input *in)
{
	int status = tw_pieces_recording(own, in->derived);

	if (!status && *own) {
		in->derived = *own;
		/* These are of GPU events of the part; `who` is of nodes of the host, which are the same. */
		in->launchers = NULL;
		in->parents = NULL;
		in->when = NULL;
		in->timeline = NULL;
		in->modelled = NULL;
	}
	return status;
}

static struct tw_rank *new_recording(const struct trawl_allocator *allocator)
{
	struct tw_rank *rank = tw_alloc_array(allocator, 1, sizeof(*rank));

	if (!rank || !tw_rank_init(rank, allocator))
		return rank;
	tw_ranks_free(rank, 1, allocator);
	return NULL;
}

/* Of a rank of a job, whose own collectives are those of the part. */
static int keep_recording(struct attached *a, const struct tw_derived *whole)
{
	a->recording = new_recording(a->allocator);
	return a->recording ? tw_rank_take_collectives(a->recording, whole) : TRAWL_ENOMEM;
}

/* A report of one table has no models, and has not paired the passes of autograd. */
static int model_calls(struct tw_derived *paired, struct tw_modelled *modelled,
		       struct tw_analysis_input *in, const struct trawl_allocator *scratch)
{
	if (in->modelled && in->modelled->end)
		return 0;
	if (!in->derived->autograd.pairs) {
		*paired = *in->derived;
		paired->allocator = scratch;
		if (tw_autograd_build(&paired->autograd, paired))
			return TRAWL_ENOMEM;
		in->derived = paired;
	}
	in->modelled = modelled;
	return tw_modelled_build(modelled, in->derived, scratch);
}

/*
 * The whole of the trace, with the pairs of autograd and what operations cost: of the report what it has,
 * the rest anew.
 */
static int look_at(struct attached *a, const struct trawl_report *report, bool of_job)
{
	struct tw_analysis_input in = *tw_report_input(report);
	const struct tw_derived *view = in.derived;
	struct tw_modelled modelled = { 0 };
	struct tw_derived *own = NULL, paired;
	struct tw_scope scope;
	int status;

	tw_scope_begin(&scope, a->allocator);
	status = derive_whole(&own, &in);
	if (!status)
		status = model_calls(&paired, &modelled, &in, &scope.allocator);
	if (!status)
		status = tw_path_part_build(&a->part, in.derived, a->allocator);
	if (!status)
		status = tw_pieces_choose(&a->part, in.derived, view);
	if (!status)
		status = tw_claims_make(&a->claims, &in, own ? view : NULL, &a->part, a->allocator);
	if (!status && own && of_job)
		status = keep_recording(a, own);
	tw_scope_end(&scope);
	tw_derived_free(own);
	return status;
}

static struct attached *make(const struct trawl_report *report, bool of_job,
			     const struct trawl_allocator *allocator)
{
	struct attached *a = tw_alloc_array(allocator, 1, sizeof(*a));

	if (!a)
		return NULL;
	a->allocator = allocator;
	if (!look_at(a, report, of_job))
		return a;
	free_attached(a);
	return NULL;
}

int tw_diagnose_attach(struct tw_rank *rank, const struct trawl_report *report)
{
	rank->attached = make(report, true, rank->allocator);
	rank->free_attached = free_attached;
	return rank->attached ? 0 : TRAWL_ENOMEM;
}

static void pass_recording(struct tw_wire *wire, struct attached *a)
{
	struct tw_pool *texts = wire->texts;

	if (wire->out) {
		tw_rank_pack(a->recording, wire->out);
		return;
	}
	a->recording = tw_alloc_array(a->allocator, 1, sizeof(*a->recording));
	if (a->recording)
		tw_rank_unpack(a->recording, wire, a->allocator);
	else
		tw_wire_fail(wire, TRAWL_ENOMEM);
	wire->texts = texts;
}

void tw_diagnose_pass(struct tw_wire *wire, struct tw_rank *rank)
{
	struct attached *a = rank->attached;

	if (!tw_wire_number(wire, a != NULL, 1) || wire->status)
		return;
	if (!wire->out) {
		a = tw_alloc_array(rank->allocator, 1, sizeof(*a));
		if (!a) {
			tw_wire_fail(wire, TRAWL_ENOMEM);
			return;
		}
		a->allocator = a->part.allocator = a->claims.allocator = rank->allocator;
		rank->attached = a;
		rank->free_attached = free_attached;
	}
	tw_path_pass_part(wire, &a->part);
	if (tw_wire_number(wire, a->recording != NULL, 1) && !wire->status)
		pass_recording(wire, a);
	if (a->part.rank.collective_count != (a->recording ? a->recording : rank)->collective_count)
		tw_wire_fail(wire, TRAWL_EFORMAT);
	if (!wire->status)
		tw_claims_pass(wire, &a->claims, &a->part.rank);
}

/* The part and the claims, which it has no more. */
static void take(struct attached *a, struct tw_path_part *part, struct tw_claims *claims)
{
	*part = a->part;
	*claims = a->claims;
	memset(&a->part, 0, sizeof(a->part));
	memset(&a->claims, 0, sizeof(a->claims));
}

static void release_claims(struct tw_claims *claims, size_t count,
			   const struct trawl_allocator *allocator)
{
	size_t i;

	for (i = 0; claims && i < count; i++)
		tw_claims_release(&claims[i]);
	tw_free(allocator, claims, (count + 1) * sizeof(*claims));
}

/* Collectives of a part in exchange for those of the recording, and back. */
static void exchange(struct tw_rank *a, struct tw_rank *b)
{
	const struct tw_rank was = *a;

	a->texts = b->texts;
	a->kinds = b->kinds;
	a->kind_count = b->kind_count;
	a->collectives = b->collectives;
	a->collective_count = b->collective_count;
	b->texts = was.texts;
	b->kinds = was.kinds;
	b->kind_count = was.kind_count;
	b->collectives = was.collectives;
	b->collective_count = was.collective_count;
}

static void exchange_all(struct trawl_job *job)
{
	size_t i;

	for (i = 0; i < job->count; i++) {
		struct attached *a = job->ranks[i].attached;

		if (a->recording)
			exchange(&job->ranks[i], a->recording);
	}
}

/* What was attached is used up; the parts are taken over by the path. */
static void take_all(struct trawl_job *job, struct tw_path_part *parts, struct tw_claims *claims)
{
	size_t i;

	for (i = 0; i < job->count; i++) {
		take(job->ranks[i].attached, &parts[i], &claims[i]);
		parts[i].rank.rank = job->ranks[i].rank;
	}
}

/* The ranks by the collectives of their recordings. */
static int join_ranks(struct tw_path **path, struct trawl_job *job, struct tw_path_part *parts,
		      struct tw_claims *claims, const struct trawl_allocator *allocator)
{
	struct tw_matches matches = { 0 };
	struct tw_clocks clocks = { 0 };
	int status = tw_matches_build(&matches, job, allocator);

	if (!status)
		status = tw_clocks_measure(&clocks, job, &matches, TRAWL_ALIGN_COLLECTIVES,
					   allocator);
	if (!status) {
		take_all(job, parts, claims);
		status = tw_path_join_job(path, parts, job, &matches, &clocks, allocator);
	}
	tw_clocks_release(&clocks);
	tw_matches_release(&matches);
	return status;
}

static void free_all(struct trawl_job *job)
{
	size_t i;

	for (i = 0; i < job->count; i++) {
		free_attached(job->ranks[i].attached);
		job->ranks[i].attached = NULL;
	}
}

int tw_diagnose_job(struct tw_diagnosis *d, struct trawl_job *job, unsigned threads,
		    const struct trawl_allocator *allocator)
{
	struct tw_path_part *parts;
	struct tw_claims *claims;
	struct tw_path *path = NULL;
	int status = TRAWL_ENOMEM;
	size_t i;

	memset(d, 0, sizeof(*d));
	for (i = 0; i < job->count; i++)
		if (!job->ranks[i].attached)
			return TRAWL_ENODATA;
	claims = tw_alloc_array(allocator, job->count + 1, sizeof(*claims));
	parts = tw_alloc_array(allocator, job->count + 1, sizeof(*parts));
	if (claims && parts) {
		exchange_all(job);
		status = join_ranks(&path, job, parts, claims, allocator);
		exchange_all(job);
		free_all(job);
	}
	tw_free(allocator, parts, (job->count + 1) * sizeof(*parts));
	if (!status)
		return tw_diagnose(d, path, claims, threads, allocator);
	release_claims(claims, job->count, allocator);
	return status;
}

int tw_diagnose_trace(struct tw_diagnosis *d, const struct trawl_report *report, unsigned threads,
		      const struct trawl_allocator *allocator)
{
	struct attached *a = make(report, false, allocator);
	struct tw_claims *claims = tw_alloc_array(allocator, 2, sizeof(*claims));
	struct tw_path_part part;
	struct tw_path *path;
	int status;

	memset(d, 0, sizeof(*d));
	if (!a || !claims) {
		if (a)
			free_attached(a);
		tw_free(allocator, claims, 2 * sizeof(*claims));
		return TRAWL_ENOMEM;
	}
	take(a, &part, claims);
	free_attached(a);
	status = tw_path_join(&path, &part, 1, NULL, allocator);
	if (!status)
		return tw_diagnose(d, path, claims, threads, allocator);
	release_claims(claims, 1, allocator);
	return status;
}
