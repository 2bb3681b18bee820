#define _GNU_SOURCE
#include "nsys/compat/compat_ranges.h"

#include "base/alloc.h"
#include "base/search.h"
#include "base/order.h"
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

struct part {
	struct tw_nsys_part part;
	struct tw_ids firsts;	 /* pid -> in starts */
	TW_LIST(int64_t) starts; /* the first times so far */
	TW_LIST(struct tw_compat_range) list;
};

int64_t tw_compat_pid(int64_t global)
{
	return global / 0x1000000 % 0x1000000;
}

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

static uint32_t meaning_of(const void *part, const char *name, size_t len)
{
	uint32_t meaning = 0;

	(void)part;
	if (!name || !len)
		return 0;
	if (is_chunk(name, len))
		meaning |= CHUNK;
	if (!is_label(name, len) && (len < 4 || memcmp(name, "nccl", 4) != 0))
		meaning |= CANDIDATE;
	return meaning | stage_of(name, len) << 4 | purpose_of(name, len) << 8;
}

static bool meaning_of_row(struct part *p, uint32_t *meaning)
{
	const struct tw_scan *scan = p->part.rows.scan;
	size_t len = 0;
	const char *name = tw_scan_text(scan, TW_NVTX_TEXT, &len);
	int64_t id;

	*meaning = meaning_of(p, name, len);
	return name || tw_scan_integer(scan, TW_NVTX_TEXT_ID, &id) != TW_VALUE_GIVEN ||
	       tw_nsys_meaning(&p->part, id, meaning_of, meaning);
}

/* ---- rows */

/* Whether no range of the process before was earlier; false in *good: out of memory. */
static bool may_be_first(struct part *p, int64_t pid, int64_t start, bool *good)
{
	const struct trawl_allocator *a = p->part.rows.allocator;
	uint32_t known = tw_ids_get(&p->firsts, pid);

	if (known == TW_IDS_NONE) {
		*good = tw_ids_put(&p->firsts, pid, (uint32_t)p->starts.count, a) &&
			TW_LIST_ADD(&p->starts, &start, a);
		return true;
	}
	if (start > p->starts.at[known])
		return false;
	p->starts.at[known] = start;
	return true;
}

static int on_row(void *part)
{
	struct part *p = part;
	const struct tw_compat_ranges *r = p->part.context;
	const struct tw_table_part *rows = &p->part.rows;
	struct tw_compat_range range = { .pid = tw_compat_pid(rows->values[TW_NVTX_THREAD]),
					 .start_ns = rows->values[TW_NVTX_START],
					 .end_ns = rows->values[TW_NVTX_END],
					 .row = rows->row,
					 .ended = tw_part_has(rows, TW_NVTX_END) };
	bool good = true, first;
	uint32_t meaning;

	if (!tw_part_has(rows, TW_NVTX_START) || range.start_ns < 0 ||
	    !tw_part_has(rows, TW_NVTX_THREAD))
		return 0;
	if (!range.ended)
		range.end_ns = range.start_ns;
	first = may_be_first(p, range.pid, range.start_ns, &good);
	if (!good || !meaning_of_row(p, &meaning))
		return tw_nsys_no_memory(&p->part);
	range.chunk = meaning & CHUNK;
	range.candidate = meaning & CANDIDATE && r->candidates;
	range.stage = (uint8_t)STAGE(meaning);
	range.purpose = (uint8_t)PURPOSE(meaning);
	return !(first || range.chunk || range.candidate) ||
			       TW_LIST_ADD(&p->list, &range, rows->allocator) ?
		       0 :
		       tw_nsys_no_memory(&p->part);
}

static int join(void *part)
{
	struct part *p = part;
	struct tw_compat_ranges *r = p->part.context;

	return TW_LIST_JOIN(&r->list, &p->list, r->allocator) ? 0 : tw_nsys_no_memory(&p->part);
}

static int range_order(const void *a, const void *b)
{
	const struct tw_compat_range *x = a, *y = b;

	return TW_ORDER_BY(x, y, pid, start_ns, row);
}

int tw_compat_ranges_read(struct tw_compat_ranges *r, struct tw_nsys_source *source,
			  bool candidates, struct trawl_error *err)
{
	static const struct tw_table_reader reader = {
		.table = TW_NSYS_RANGES,
		.columns = tw_nvtx_columns,
		.column_count = TW_NVTX_TEXT + 1,
		.integers = TW_BIT(TW_NVTX_START) | TW_BIT(TW_NVTX_END) | TW_BIT(TW_NVTX_THREAD),
		.part_size = sizeof(struct part),
		.row = on_row,
		.join = join,
	};
	int status;

	*r = (struct tw_compat_ranges){ .allocator = source->allocator, .candidates = candidates };
	status = tw_nsys_scan(source, &reader, r, err);
	if (!status && r->list.count)
		qsort(r->list.at, r->list.count, sizeof(*r->list.at), range_order);
	return status;
}

void tw_compat_process(const struct tw_compat_ranges *r, int64_t pid, size_t *first, size_t *last)
{
	*first = TW_LOWER_BOUND(at, 0, r->list.count, r->list.at[at].pid < pid);
	*last = TW_LOWER_BOUND(at, *first, r->list.count, r->list.at[at].pid <= pid);
}

const struct tw_compat_range *tw_compat_innermost(const struct tw_compat_ranges *r, int64_t pid,
						  int64_t moment_ns)
{
	const struct tw_compat_range *best = NULL, *c;
	size_t first, last, low, looked = 0;

	tw_compat_process(r, pid, &first, &last);
	low = TW_LOWER_BOUND(at, first, last, r->list.at[at].start_ns <= moment_ns);
	while (looked < LOOKED_AT && low > first) {
		c = &r->list.at[--low];
		if (!c->candidate)
			continue;
		looked++;
		if (c->end_ns >= moment_ns &&
		    (!best || c->end_ns - c->start_ns < best->end_ns - best->start_ns))
			best = c;
	}
	return best;
}
