#define _GNU_SOURCE
#include "nsys/compat/compat_ranges.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/search.h"
#include "base/sort.h"
#include "text/scan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const tw_compat_stages[TW_COMPAT_STAGES] = {
	"",	    "stage1_b", "stage1_f", "stage1_w", "stage2_b", "stage2_f",
	"stage2_w", "stage3_b", "stage3_f", "stage3_w", "stage4_b", "stage4_f",
	"stage4_w", "stage5_b", "stage5_f", "stage5_w",
};
const char *const tw_compat_purposes[4] = { "unknown", "ep_a2a", "cp_ring", "pp_p2p" };

/* Candidates that a look for the innermost one goes through. */
#define LOOKED_AT 256

enum { START, END, TEXT, TID, TEXT_ID, COLUMNS };
static const char *const columns[COLUMNS] = { "start", "end", "text", "globalTid", "textId" };

struct part {
	struct tw_nsys_part part;
	struct tw_ids names; /* text id -> what its text means */
	struct tw_compat_ranges found;
};

/* ---- what a name means, packed */

#define CANDIDATE 1u
#define CHUNK 2u
#define STAGE(meaning) ((meaning) >> 4 & 15)
#define PURPOSE(meaning) ((meaning) >> 8 & 3)

static bool is_label(const char *name, size_t len)
{
	const char *p = "rank=#; pp=#/# dp=#/# cp=#/# ep=#/#; mbs=# seq=#", *end = name + len;

	for (; *p; p++) {
		if (*p != '#') {
			if (name == end || *name++ != *p)
				return false;
			continue;
		}
		if (name == end || !tw_is_digit(*name))
			return false;
		while (name < end && tw_is_digit(*name))
			name++;
	}
	return name == end || (name + 1 == end && *name == '\n');
}

static bool contains(const char *name, size_t len, const char *what)
{
	return memmem(name, len, what, strlen(what)) != NULL;
}

/* LIKE 'forward chunk%backward chunk%' */
static bool is_chunk(const char *name, size_t len)
{
	static const char forward[] = "forward chunk", backward[] = "backward chunk";
	const size_t first = sizeof(forward) - 1, second = sizeof(backward) - 1;
	size_t i;

	if (len < first + second || strncasecmp(name, forward, first) != 0)
		return false;
	for (i = first; i + second <= len; i++)
		if (!strncasecmp(name + i, backward, second))
			return true;
	return false;
}

/* The last "stage([1-5])_([fbw])" of a name. */
static uint32_t stage_of(const char *name, size_t len)
{
	size_t i;

	for (i = len < 8 ? 0 : len - 7; i-- > 0;) {
		const char *p = name + i;

		if (memcmp(p, "stage", 5) != 0 || p[5] < '1' || p[5] > '5' || p[6] != '_')
			continue;
		if (p[7] == 'b' || p[7] == 'f' || p[7] == 'w')
			return (uint32_t)(p[5] - '1') * 3 + (p[7] == 'b' ? 1 : p[7] == 'f' ? 2 : 3);
	}
	return 0;
}

static uint32_t purpose_of(const char *name, size_t len)
{
	if (contains(name, len, "stage2_f") || contains(name, len, "stage2_b") ||
	    contains(name, len, "stage4_f") || contains(name, len, "stage4_b"))
		return 1;
	if (contains(name, len, "stage1_f") || contains(name, len, "stage1_b"))
		return 2;
	return contains(name, len, "pipeline send/recv") ? 3 : 0;
}

static uint32_t meaning_of(const char *name, size_t len)
{
	uint32_t meaning = 0;

	if (!name || !len)
		return 0;
	if (is_chunk(name, len))
		meaning |= CHUNK;
	if (!is_label(name, len) && (len < 4 || memcmp(name, "nccl", 4) != 0))
		meaning |= CANDIDATE;
	return meaning | stage_of(name, len) << 4 | purpose_of(name, len) << 8;
}

static bool meaning_of_row(struct part *p, const struct tw_scan *scan, uint32_t *meaning)
{
	size_t len = 0;
	const char *name = tw_scan_text(scan, TEXT, &len);
	int64_t id;

	*meaning = 0;
	if (name || tw_scan_integer(scan, TEXT_ID, &id) != TW_VALUE_GIVEN) {
		*meaning = meaning_of(name, len);
		return true;
	}
	*meaning = tw_ids_get(&p->names, id);
	if (*meaning != TW_IDS_NONE)
		return true;
	name = tw_nsys_text(p->part.database, id, &len);
	*meaning = meaning_of(name, len);
	return tw_ids_put(&p->names, id, *meaning, p->part.allocator);
}

/* ---- rows */

/* Rows that may be at the first time of their process; drop_later() takes away those that are not. */
static bool add_first(struct tw_compat_ranges *r, const struct tw_compat_first *first)
{
	uint32_t known = tw_ids_get(&r->start_ids, first->pid);

	if (known == TW_IDS_NONE) {
		known = (uint32_t)r->start_count;
		if (!tw_list_grow(&r->starts, &r->start_capacity, r->start_count,
				  sizeof(*r->starts), r->allocator) ||
		    !tw_ids_put(&r->start_ids, first->pid, known, r->allocator))
			return false;
		r->start_count++;
	} else if (first->start_ns > r->starts[known]) {
		return true;
	}
	r->starts[known] = first->start_ns;
	if (!tw_list_grow(&r->firsts, &r->first_capacity, r->first_count, sizeof(*first),
			  r->allocator))
		return false;
	r->firsts[r->first_count++] = *first;
	return true;
}

static void drop_later(struct tw_compat_ranges *r)
{
	size_t i, kept = 0;

	for (i = 0; i < r->first_count; i++)
		if (r->firsts[i].start_ns == r->starts[tw_ids_get(&r->start_ids, r->firsts[i].pid)])
			r->firsts[kept++] = r->firsts[i];
	r->first_count = kept;
}

static bool add_chunk(struct tw_compat_ranges *r, const struct tw_compat_chunk *chunk)
{
	if (!tw_list_grow(&r->chunks, &r->chunk_capacity, r->chunk_count, sizeof(*chunk),
			  r->allocator))
		return false;
	r->chunks[r->chunk_count++] = *chunk;
	return true;
}

static uint32_t intern_pid(struct tw_compat_ranges *r, int64_t pid)
{
	uint32_t known = tw_ids_get(&r->pid_ids, pid);

	if (known == TW_IDS_NONE) {
		known = (uint32_t)r->pid_count;
		if (!tw_ids_put(&r->pid_ids, pid, known, r->allocator))
			return TW_IDS_NONE;
		r->pid_count++;
	}
	return known;
}

static bool add_candidate(struct tw_compat_ranges *r, int64_t pid,
			  struct tw_compat_candidate candidate)
{
	candidate.process = intern_pid(r, pid);
	if (candidate.process == TW_IDS_NONE ||
	    !tw_list_grow(&r->candidates, &r->candidate_capacity, r->candidate_count,
			  sizeof(candidate), r->allocator))
		return false;
	r->candidates[r->candidate_count++] = candidate;
	return true;
}

static int on_row(void *part, const struct tw_scan *scan)
{
	struct part *p = part;
	struct tw_compat_ranges *r = &p->found;
	int64_t start, end, gid, pid;
	uint32_t meaning;
	bool ended, good;

	r->allocator = p->part.allocator;
	if (tw_scan_integer(scan, START, &start) != TW_VALUE_GIVEN || start < 0 ||
	    tw_scan_integer(scan, TID, &gid) != TW_VALUE_GIVEN)
		return 0;
	ended = tw_scan_integer(scan, END, &end) == TW_VALUE_GIVEN;
	if (!ended)
		end = start;
	pid = tw_nsys_process(gid, true);
	good = add_first(r, &(struct tw_compat_first){ pid, start, tw_scan_rowid(scan) }) &&
	       meaning_of_row(p, scan, &meaning);
	if (good && meaning & CHUNK)
		good = add_chunk(r, &(struct tw_compat_chunk){ pid, start, end, tw_scan_rowid(scan),
							       ended });
	if (good && meaning & CANDIDATE && *(const bool *)p->part.context)
		good = add_candidate(r, pid,
				     (struct tw_compat_candidate){ start, end, 0,
								   (uint8_t)STAGE(meaning),
								   (uint8_t)PURPOSE(meaning) });
	return good ? 0 : tw_nsys_no_memory(&p->part);
}

static void release_part(void *part)
{
	struct part *p = part;

	tw_ids_release(&p->names, p->part.allocator);
	if (p->found.allocator)
		tw_compat_ranges_release(&p->found);
	p->found.allocator = NULL;
}

/* ---- parts put together, in their order */

/* Numbers of processes in a part are their order there: the pids by number. */
static bool join_candidates(struct tw_compat_ranges *to, const struct tw_compat_ranges *from)
{
	size_t bytes = (from->pid_count + 1) * sizeof(int64_t), i;
	int64_t *pids = tw_alloc(to->allocator, bytes);
	bool good = pids != NULL;

	for (i = 0; good && i < from->pid_ids.capacity; i++)
		if (from->pid_ids.values[i] != TW_IDS_NONE)
			pids[from->pid_ids.values[i]] = from->pid_ids.keys[i];
	for (i = 0; i < from->candidate_count && good; i++)
		good = add_candidate(to, pids[from->candidates[i].process], from->candidates[i]);
	if (pids)
		tw_free(to->allocator, pids, bytes);
	return good;
}

static bool join(struct tw_compat_ranges *r, struct part *parts, size_t count)
{
	bool good = true;
	size_t i, k;

	for (i = 0; i < count && good; i++) {
		const struct tw_compat_ranges *from = &parts[i].found;

		for (k = 0; k < from->first_count && good; k++)
			good = add_first(r, &from->firsts[k]);
		for (k = 0; k < from->chunk_count && good; k++)
			good = add_chunk(r, &from->chunks[k]);
		good = good && join_candidates(r, from);
		release_part(&parts[i]);
	}
	drop_later(r);
	return good;
}

/* ---- orders */

static int first_order(const void *a, const void *b)
{
	const struct tw_compat_first *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int chunk_order(const void *a, const void *b)
{
	const struct tw_compat_chunk *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static uint64_t candidate_start(const void *context, uint32_t number)
{
	return tw_sort_key(((const struct tw_compat_candidate *)context)[number].start_ns);
}

static uint64_t candidate_process(const void *context, uint32_t number)
{
	return ((const struct tw_compat_candidate *)context)[number].process;
}

static bool sort_candidates(struct tw_compat_ranges *r)
{
	const struct trawl_allocator *a = r->allocator;
	size_t i;

	r->order = tw_alloc_array(a, r->candidate_count + 1, sizeof(*r->order));
	r->process_begin = tw_alloc_array(a, r->pid_count + 2, sizeof(*r->process_begin));
	if (!r->order || !r->process_begin)
		return false;
	for (i = 0; i < r->candidate_count; i++) {
		r->order[i] = (uint32_t)i;
		r->process_begin[r->candidates[i].process + 1]++;
	}
	for (i = 0; i < r->pid_count; i++)
		r->process_begin[i + 1] += r->process_begin[i];
	return !tw_sort(r->order, r->candidate_count, candidate_start, r->candidates, a) &&
	       !tw_sort(r->order, r->candidate_count, candidate_process, r->candidates, a);
}

int tw_compat_ranges_read(struct tw_compat_ranges *r, struct tw_nsys_source *source,
			  bool candidates, struct trawl_error *err)
{
	const struct tw_nsys_scan scan = {
		.table = "NVTX_EVENTS",
		.columns = columns,
		.column_count = COLUMNS,
		.context = &candidates,
		.part_size = sizeof(struct part),
		.row = on_row,
		.release = release_part,
	};
	size_t count;
	void *parts;
	bool good;
	int status;

	*r = (struct tw_compat_ranges){ .allocator = source->allocator };
	status = tw_nsys_scan(source, &scan, &parts, &count, err);
	good = status || (join(r, parts, count) && sort_candidates(r));
	tw_nsys_scan_free(source, &scan, parts, count);
	if (!good)
		return tw_no_memory(err);
	if (r->first_count)
		qsort(r->firsts, r->first_count, sizeof(*r->firsts), first_order);
	if (r->chunk_count)
		qsort(r->chunks, r->chunk_count, sizeof(*r->chunks), chunk_order);
	return status;
}

void tw_compat_ranges_release(struct tw_compat_ranges *r)
{
	const struct trawl_allocator *a = r->allocator;

	if (r->order)
		tw_free(a, r->order, (r->candidate_count + 1) * sizeof(*r->order));
	if (r->process_begin)
		tw_free(a, r->process_begin, (r->pid_count + 2) * sizeof(*r->process_begin));
	tw_free(a, r->firsts, r->first_capacity * sizeof(*r->firsts));
	tw_free(a, r->chunks, r->chunk_capacity * sizeof(*r->chunks));
	tw_free(a, r->candidates, r->candidate_capacity * sizeof(*r->candidates));
	tw_free(a, r->starts, r->start_capacity * sizeof(*r->starts));
	tw_ids_release(&r->pid_ids, a);
	tw_ids_release(&r->start_ids, a);
	*r = (struct tw_compat_ranges){ .allocator = a };
}

const struct tw_compat_candidate *tw_compat_innermost(const struct tw_compat_ranges *r, int64_t pid,
						      int64_t moment_ns)
{
	uint32_t process = tw_ids_get(&r->pid_ids, pid);
	const struct tw_compat_candidate *best = NULL, *c;
	size_t low, begin, looked;

	if (process == TW_IDS_NONE)
		return NULL;
	begin = r->process_begin[process];
	low = TW_LOWER_BOUND(at, begin, r->process_begin[process + 1],
			     r->candidates[r->order[at]].start_ns <= moment_ns);
	for (looked = 0; looked < LOOKED_AT && low > begin; looked++) {
		c = &r->candidates[r->order[--low]];
		if (c->end_ns >= moment_ns &&
		    (!best || c->end_ns - c->start_ns < best->end_ns - best->start_ns))
			best = c;
	}
	return best;
}
