/*
 * Copies to the device: pageable_copy where their call waits for them, exposed_copy where it does not.
 * Without: they are on a stream of their own, a batch ahead; what the link needs beyond a step's
 * computing stays.  The call of one that waited returns at once.
 */
#include "diagnose/kinds.h"

#include "data/limits.h"

#include "data/tables.h"

static bool is_copy(const struct tw_look *look, uint32_t gpu, enum tw_copy_direction direction)
{
	uint32_t event = look->d->gpu.event[gpu], name = look->trace->events.name[event];

	return tw_class(look->trace, event) == TRAWL_CLASS_MEMCPY &&
	       tw_copy_direction(look->trace->texts.entries[name].ptr,
				 look->trace->texts.entries[name].len) == direction;
}

static bool is_wanted(struct tw_look *look, uint32_t gpu, bool blocking)
{
	return is_copy(look, gpu, TW_COPY_H2D) &&
	       tw_gpu_ns(look, gpu) > TW_LIMIT_COPY_LEAST_US * 1000 &&
	       tw_waits_for_copy(look, look->d->gpu.launch[gpu], gpu) == blocking;
}

/* What the link needs for a copy at its own speed, at most what it took. */
static double link_ns(const struct tw_look *look, uint32_t gpu)
{
	struct trawl_argument arg;
	double ns = (double)tw_gpu_ns(look, gpu), bytes = 0;

	if (trawl_event_argument(look->trace, look->d->gpu.event[gpu], TW_KEY_bytes, &arg))
		bytes = arg.kind == TRAWL_VALUE_INTEGER ? (double)arg.integer : 0;
	return bytes > 0 && bytes / tw_host_link(look) < ns ? bytes / tw_host_link(look) : ns;
}

static void free_call(struct tw_look *look, uint32_t gpu)
{
	uint32_t call = look->d->gpu.launch[gpu];
	uint32_t op = tw_nearest_above(look, call, "aten::copy_");

	tw_claim_host(look, TW_KIND_pageable_copy, tw_look_track(look, call),
		      tw_look_start(look, call), tw_look_end(look, op == TW_NONE ? call : op),
		      TW_LIMIT_COPY_CALL_NS);
}

static void look_at(struct tw_look *look, enum tw_finding_kind kind, bool blocking)
{
	const struct tw_path_rank *r = &look->part->rank;
	double need = 0, rest;
	uint32_t i, g, count = 0;

	for (i = 0; i < r->launched_count; i++) {
		g = r->launched[i];
		if (look->d->gpu.bucket[g] == TW_COMPUTE)
			need -= (double)tw_gpu_ns(look, g);
		if (!is_wanted(look, g, blocking))
			continue;
		need += link_ns(look, g);
		count++;
	}
	rest = count && need > 0 ? need / count : 0;
	for (i = 0; i < r->launched_count && count && !look->failed; i++) {
		uint32_t call;

		g = r->launched[i];
		if (!is_wanted(look, g, blocking))
			continue;
		tw_claim_remove(look, kind, g);
		tw_claim_duration(look, kind, g, rest);
		look->claims->of[kind].gpu_ns += tw_gpu_ns(look, g);
		if (blocking)
			free_call(look, g);
		call = look->d->gpu.launch[g];
		tw_claim_spot(look, kind, tw_look_op_event(look, call), look->d->host.event[call],
			      tw_gpu_ns(look, g));
	}
}

bool tw_is_slow_copy_back(struct tw_look *look, uint32_t gpu)
{
	return is_copy(look, gpu, TW_COPY_D2H) &&
	       tw_gpu_ns(look, gpu) > TW_LIMIT_COPY_LEAST_US * 1000 &&
	       tw_waits_for_copy(look, look->d->gpu.launch[gpu], gpu) &&
	       (double)tw_gpu_ns(look, gpu) > TW_LIMIT_SLOW_TRANSFER_TIMES * link_ns(look, gpu);
}

/* Copies to the host, whose results are waited for in any case: far slower than the link, they are through memory between. */
static void look_at_copies_back(struct tw_look *look)
{
	const struct tw_path_rank *r = &look->part->rank;
	uint32_t i;

	for (i = 0; i < r->launched_count && !look->failed; i++) {
		uint32_t g = r->launched[i], call = look->d->gpu.launch[g];

		if (!tw_is_slow_copy_back(look, g))
			continue;
		tw_claim_duration(look, TW_KIND_pageable_copy, g, link_ns(look, g));
		look->claims->of[TW_KIND_pageable_copy].figure += (double)tw_gpu_ns(look, g);
		tw_claim_spot(look, TW_KIND_pageable_copy, tw_look_op_event(look, call),
			      look->d->host.event[call], tw_gpu_ns(look, g));
	}
}

static void look_at_pageable(struct tw_look *look)
{
	look_at(look, TW_KIND_pageable_copy, true);
	look_at_copies_back(look);
}

/* Words for what most of them are: to the host, or to the device. */
static bool pin(struct tw_diagnosis *d, struct tw_scenario *s, struct tw_finding *f)
{
	double back = 0, to = 0;
	uint32_t i;

	(void)s;
	for (i = 0; i < d->rank_count; i++) {
		back += d->claims[i].of[f->kind].figure;
		to += (double)d->claims[i].of[f->kind].gpu_ns;
	}
	if (back > to)
		f->words = &tw_words_pageable_copy_back;
	return tw_apply_claims(d, f);
}

static void look_at_exposed(struct tw_look *look)
{
	look_at(look, TW_KIND_exposed_copy, false);
}

const struct tw_kind tw_kind_pageable_copy = { .look = look_at_pageable, .change = pin };
const struct tw_kind tw_kind_exposed_copy = { .look = look_at_exposed };
