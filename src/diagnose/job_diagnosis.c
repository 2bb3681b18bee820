#include "diagnose/job_diagnosis.h"

#include "base/alloc.h"
#include "base/scope.h"
#include "job/transport/wire.h"
#include "path/job_path.h"

#include <string.h>

/* What is kept of a rank. */
struct attached {
	const struct trawl_allocator *allocator;
	struct tw_path_part part;
	struct tw_claims claims;
};

static void free_attached(void *context)
{
	struct attached *a = context;
	const struct trawl_allocator *allocator = a->allocator;

	tw_path_part_release(&a->part);
	tw_claims_release(&a->claims);
	tw_free(allocator, a, sizeof(*a));
}

/* Of a part of the trace the whole is derived anew. */
static int derive_whole(struct tw_derived **own, struct tw_analysis_input *in)
{
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT, .autograd = true };
	struct trawl_error err;

	if (!in->derived->view.limited)
		return 0;
	if (tw_derive(own, in->trace, &options, &err))
		return TRAWL_ENOMEM;
	in->derived = *own;
	in->modelled = NULL;
	return 0;
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
static int look_at(struct attached *a, const struct trawl_report *report)
{
	struct tw_analysis_input in = *tw_report_input(report);
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
		status = tw_claims_make(&a->claims, &in, &a->part, a->allocator);
	tw_scope_end(&scope);
	tw_derived_free(own);
	return status;
}

static struct attached *make(const struct trawl_report *report,
			     const struct trawl_allocator *allocator)
{
	struct attached *a = tw_alloc_array(allocator, 1, sizeof(*a));

	if (!a)
		return NULL;
	a->allocator = allocator;
	if (!look_at(a, report))
		return a;
	free_attached(a);
	return NULL;
}

int tw_diagnose_attach(struct tw_rank *rank, const struct trawl_report *report)
{
	rank->attached = make(report, rank->allocator);
	rank->free_attached = free_attached;
	return rank->attached ? 0 : TRAWL_ENOMEM;
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
	if (a->part.rank.collective_count != rank->collective_count)
		tw_wire_fail(wire, TRAWL_EFORMAT);
	if (!wire->status)
		tw_claims_pass(wire, &a->claims, &a->part.rank);
}

/* Parts and claims in lists of their own; what they were in goes. */
static void take(struct attached **list, size_t count, struct tw_path_part *parts,
		 struct tw_claims *claims)
{
	size_t i;

	for (i = 0; i < count; i++) {
		parts[i] = list[i]->part;
		claims[i] = list[i]->claims;
		tw_free(list[i]->allocator, list[i], sizeof(*list[i]));
	}
}

static void release_claims(struct tw_claims *claims, size_t count,
			   const struct trawl_allocator *allocator)
{
	size_t i;

	for (i = 0; claims && i < count; i++)
		tw_claims_release(&claims[i]);
	tw_free(allocator, claims, (count + 1) * sizeof(*claims));
}

int tw_diagnose_job(struct tw_diagnosis *d, struct trawl_job *job, const struct tw_matches *matches,
		    const struct tw_clocks *clocks, unsigned threads,
		    const struct trawl_allocator *allocator)
{
	struct tw_claims *claims = tw_alloc_array(allocator, job->count + 1, sizeof(*claims));
	struct tw_path_part *parts = tw_alloc_array(allocator, job->count + 1, sizeof(*parts));
	struct tw_path *path = NULL;
	int status = claims && parts ? 0 : TRAWL_ENOMEM;
	size_t i;

	memset(d, 0, sizeof(*d));
	for (i = 0; i < job->count && !status; i++)
		if (!job->ranks[i].attached)
			status = TRAWL_ENODATA;
	for (i = 0; i < job->count && !status; i++) {
		struct attached *a = job->ranks[i].attached;

		take(&a, 1, &parts[i], &claims[i]);
		parts[i].rank.rank = job->ranks[i].rank;
		job->ranks[i].attached = NULL;
	}
	if (!status)
		status = tw_path_join_job(&path, parts, job, matches, clocks, allocator);
	tw_free(allocator, parts, (job->count + 1) * sizeof(*parts));
	if (!status)
		return tw_diagnose(d, path, claims, threads, allocator);
	release_claims(claims, job->count, allocator);
	return status;
}

int tw_diagnose_trace(struct tw_diagnosis *d, const struct trawl_report *report, unsigned threads,
		      const struct trawl_allocator *allocator)
{
	struct attached *a = make(report, allocator);
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
	take(&a, 1, &part, claims);
	status = tw_path_join(&path, &part, 1, NULL, allocator);
	if (!status)
		return tw_diagnose(d, path, claims, threads, allocator);
	release_claims(claims, 1, allocator);
	return status;
}
