#include "path/job_path.h"

#include "base/alloc.h"
#include "base/scope.h"
#include "data/limits.h"
#include "derive/derived.h"
#include "job/collectives/syncing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- parts */

void tw_path_free_attached(void *attached)
{
	struct tw_path_part *part = attached;
	const struct trawl_allocator *allocator = part->allocator;

	tw_path_part_release(part);
	tw_free(allocator, part, sizeof(*part));
}

/* What a report looks at may be a part of the trace; what waited for what is of the whole. */
static int build_part(struct tw_path_part *part, const struct trawl_report *report,
		      const struct trawl_allocator *allocator)
{
	const struct tw_analysis_input *in = tw_report_input(report);
	const struct tw_derived *derived = in->derived;
	const struct tw_derive_options options = { .view = TW_VIEW_OPTIONS_INIT };
	struct trawl_error err;
	struct tw_derived *whole;
	int status;

	if (!derived->view.limited)
		return tw_path_part_build_with(part, derived,
					       in->modelled->derived ? in->modelled : NULL,
					       in->platform, allocator);
	status = tw_derive(&whole, derived->trace, &options, &err);
	if (status)
		return TRAWL_ENOMEM;
	status = tw_path_part_build_with(part, whole, NULL, in->platform, allocator);
	tw_derived_free(whole);
	return status;
}

int tw_path_attach(struct tw_rank *rank, const struct trawl_report *report)
{
	struct tw_path_part *part = tw_alloc_array(rank->allocator, 1, sizeof(*part));
	int status;

	if (!part)
		return TRAWL_ENOMEM;
	status = build_part(part, report, rank->allocator);
	if (status) {
		part->allocator = rank->allocator;
		tw_path_free_attached(part);
		return status;
	}
	rank->attached = part;
	rank->free_attached = tw_path_free_attached;
	return 0;
}

/* ---- collectives */

struct joining {
	const struct trawl_job *job;
	const struct tw_matches *matches;
	const struct tw_clocks *clocks;
	struct tw_path_part *parts;
	struct tw_path_collectives out;
	uint64_t incomplete, not_matched;
};

static int64_t uncertainty_of(const struct tw_clocks *clocks)
{
	int64_t most = TW_LIMIT_PATH_CLOCKS_LEAST_NS;
	uint32_t i;

	for (i = 0; i < clocks->count; i++)
		if (clocks->of[i].known && 2 * clocks->of[i].uncertainty_ns > most)
			most = 2 * clocks->of[i].uncertainty_ns;
	return most < TW_LIMIT_PATH_CLOCKS_MOST_NS ? most : TW_LIMIT_PATH_CLOCKS_MOST_NS;
}

static const struct tw_match_member *members_of(const struct joining *j,
						const struct tw_match *match)
{
	return &j->matches->members[match->first];
}

static const struct tw_collective *collective_of(const struct joining *j,
						 const struct tw_match_member *m)
{
	return &j->job->ranks[m->rank].collectives[m->collective];
}

/* How many ranks the recorded group has, else as many as take part. */
static int64_t group_size(const struct joining *j, const struct tw_match *match)
{
	const struct tw_match_member *m = members_of(j, match);
	size_t len;
	const char *text = tw_collective_text(&j->job->ranks[m->rank], collective_of(j, m),
					      TW_COLLECTIVE_GROUP_SIZE, &len);
	long long size = len ? strtoll(text, NULL, 10) : 0;

	return size > 0 ? size : match->count;
}

/* A collective that another rank's trace would be needed for; ends that cannot be one's. */
static bool is_usable(struct joining *j, const struct tw_match *match)
{
	const struct tw_match_member *m = members_of(j, match);
	int64_t first = INT64_MAX, last = INT64_MIN, most = 4 * j->out.uncertainty_ns;
	uint32_t i;

	if (match->count < 2)
		return false;
	if (group_size(j, match) > match->count &&
	    tw_collective_type(&j->job->ranks[m->rank], collective_of(j, m)) && match->together) {
		j->incomplete++;
		return false;
	}
	for (i = 0; i < match->count && match->together; i++) {
		int64_t end = collective_of(j, &m[i])->end_ns + j->clocks->shift_ns[m[i].rank];

		first = end < first ? end : first;
		last = end > last ? end : last;
	}
	if (match->together &&
	    last - first >
		    (most > TW_LIMIT_PATH_ENDS_APART_NS ? most : TW_LIMIT_PATH_ENDS_APART_NS)) {
		j->not_matched++;
		return false;
	}
	return true;
}

/* Of a broadcast all wait for the root, of a reduction the root for all; of others all for all. */
static void add_member(struct joining *j, const struct tw_match *match, uint32_t number)
{
	const struct tw_match_member *m = members_of(j, match) + number;
	const struct tw_path_event *event = &j->parts[m->rank].rank.collectives[m->collective];
	const char *kind = tw_collective_type(&j->job->ranks[m->rank], collective_of(j, m));
	struct tw_path_member member = { m->rank, event->first, event->last, true, true };
	bool has_root = event->root >= 0 && event->root < match->count;

	if (kind && has_root && (!strcmp(kind, "broadcast") || !strcmp(kind, "scatter")))
		member.waited_for = event->root == number;
	else if (kind && has_root && (!strcmp(kind, "reduce") || !strcmp(kind, "gather")))
		member.waits = event->root == number;
	j->out.members[j->out.member_count++] = member;
}

static double bus_bytes(const struct joining *j, const struct tw_match *match)
{
	const struct tw_ranks_input in = { .job = j->job,
					   .matches = j->matches,
					   .clocks = j->clocks,
					   .allocator = j->job->allocator };
	struct tw_sync sync;

	return tw_sync_of(&in, match, &sync) ? tw_sync_bus_bandwidth(&in, &sync) * (1 << 30) *
						       1e-9 * (double)sync.latency_ns :
					       NAN;
}

static void add_match(struct joining *j, const struct tw_match *match)
{
	uint32_t i;

	if (!is_usable(j, match))
		return;
	j->out.items[j->out.count++] = (struct tw_path_collective){ j->out.member_count,
								    match->count,
								    bus_bytes(j, match) };
	for (i = 0; i < match->count; i++)
		add_member(j, match, i);
}

static int add_matches(struct joining *j, const struct trawl_allocator *a)
{
	uint64_t i;

	j->out.items = tw_alloc_array(a, j->matches->count + 1, sizeof(*j->out.items));
	j->out.members = tw_alloc_array(a, j->matches->member_count + 1, sizeof(*j->out.members));
	if (!j->out.items || !j->out.members)
		return -1;
	j->out.shift_ns = j->clocks->shift_ns;
	j->out.uncertainty_ns = uncertainty_of(j->clocks);
	for (i = 0; i < j->matches->count; i++)
		add_match(j, &j->matches->matches[i]);
	return 0;
}

int tw_path_join_job(struct tw_path **out, struct tw_path_part *parts, const struct trawl_job *job,
		     const struct tw_matches *matches, const struct tw_clocks *clocks,
		     const struct trawl_allocator *allocator)
{
	struct joining j = { .job = job, .matches = matches, .clocks = clocks, .parts = parts };
	struct tw_scope scope;
	size_t i;
	int status;

	*out = NULL;
	tw_scope_begin(&scope, allocator);
	status = add_matches(&j, &scope.allocator) ? TRAWL_ENOMEM : 0;
	if (!status)
		status = tw_path_join(out, parts, (uint32_t)job->count, &j.out, allocator);
	else
		for (i = 0; i < job->count; i++)
			tw_path_part_release(&parts[i]);
	for (i = 0; !status && i < job->count; i++)
		(*out)->ranks[i].clock_ns = clocks->of[i].known ? -clocks->of[i].offset_ns : 0;
	if (!status) {
		(*out)->notes.incomplete = j.incomplete;
		(*out)->notes.not_matched = j.not_matched;
	}
	tw_scope_end(&scope);
	return status;
}

int tw_path_of_job(struct tw_path **out, struct trawl_job *job, const struct tw_matches *matches,
		   const struct tw_clocks *clocks, const struct trawl_allocator *allocator)
{
	struct tw_path_part *parts;
	size_t i;
	int status;

	*out = NULL;
	for (i = 0; i < job->count; i++)
		if (!job->ranks[i].attached)
			return TRAWL_ENODATA;
	parts = tw_alloc_array(allocator, job->count + 1, sizeof(*parts));
	if (!parts)
		return TRAWL_ENOMEM;
	for (i = 0; i < job->count; i++) {
		struct tw_path_part *part = job->ranks[i].attached;

		parts[i] = *part;
		parts[i].rank.rank = job->ranks[i].rank;
		tw_free(part->allocator, part, sizeof(*part));
		job->ranks[i].attached = NULL;
	}
	status = tw_path_join_job(out, parts, job, matches, clocks, allocator);
	tw_free(allocator, parts, (job->count + 1) * sizeof(*parts));
	return status;
}
