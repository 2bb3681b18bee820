#include "derive/graphs/match.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/slots.h"

#include <string.h>

/* ---- keys as numbers, in order of first appearance among the calls */

struct numbering {
	uint32_t *slots; /* 0: free, else number + 1 */
	uint32_t *keys;	 /* by number */
	size_t size;
	uint32_t count;
};

static uint32_t number_of(struct numbering *n, uint32_t key)
{
	size_t at = TW_SLOT(i, n->size, tw_hash_id(key),
			    !n->slots[i] || n->keys[n->slots[i] - 1] == key);

	return n->slots[at] - 1;
}

/* Places of the calls of each number, in order: list[first[n]] on. */
struct places {
	struct numbering names;
	uint32_t *number; /* by call */
	uint32_t *first, *list;
};

static int list_places(struct places *p, struct tw_keys calls, const struct trawl_allocator *a)
{
	uint32_t i, sum = 0;

	p->names = (struct numbering){ .size = tw_slots_for(calls.count) };
	p->names.slots = tw_alloc_array(a, p->names.size, sizeof(uint32_t));
	p->names.keys = tw_alloc(a, ((size_t)calls.count + 1) * sizeof(uint32_t));
	p->number = tw_alloc(a, ((size_t)calls.count + 1) * sizeof(uint32_t));
	p->list = tw_alloc(a, ((size_t)calls.count + 1) * sizeof(uint32_t));
	p->first = tw_alloc_array(a, (size_t)calls.count + 2, sizeof(uint32_t));
	if (!p->names.slots || !p->names.keys || !p->number || !p->list || !p->first)
		return -1;
	for (i = 0; i < calls.count; i++) {
		size_t at = TW_SLOT(s, p->names.size, tw_hash_id(calls.at[i]),
				    !p->names.slots[s] ||
					    p->names.keys[p->names.slots[s] - 1] == calls.at[i]);

		if (!p->names.slots[at]) {
			p->names.keys[p->names.count] = calls.at[i];
			p->names.slots[at] = ++p->names.count;
		}
		p->number[i] = p->names.slots[at] - 1;
		p->first[p->number[i] + 1]++;
	}
	for (i = 0; i < p->names.count; i++) {
		sum += p->first[i + 1];
		p->first[i + 1] = sum;
	}
	/* first[n] moves to the end of n's places, and back again. */
	for (i = calls.count; i-- > 0;)
		p->list[--p->first[p->number[i] + 1]] = i;
	memmove(p->first, p->first + 1, p->names.count * sizeof(uint32_t));
	p->first[p->names.count] = calls.count;
	return 0;
}

/* ---- the simple modes */

uint32_t tw_match_in_order(struct tw_keys nodes, struct tw_keys calls, uint32_t from,
			   uint32_t *call_of)
{
	uint32_t i, j = from;

	for (i = 0; i < nodes.count; i++, j++) {
		while (j < calls.count && calls.at[j] != nodes.at[i])
			j++;
		if (j == calls.count)
			break;
		call_of[i] = j;
	}
	return i;
}

bool tw_match_next(struct tw_keys nodes, struct tw_keys calls, uint32_t from, uint32_t *call_of)
{
	uint32_t i = nodes.count, j;

	if (!i || tw_match_in_order(nodes, calls, from, call_of) < i)
		return false;
	for (j = call_of[i - 1]; i-- > 0; j--) {
		while (calls.at[j] != nodes.at[i])
			j--;
		call_of[i] = j;
	}
	return true;
}

/* Where every key is among both as often: the k-th of one is the k-th of the other. */
static bool match_by_name(const struct places *p, struct tw_keys nodes, uint32_t *next,
			  uint32_t *call_of)
{
	struct numbering names = p->names;
	uint32_t i;

	memcpy(next, p->first, (names.count + 1) * sizeof(*next));
	for (i = 0; i < nodes.count; i++) {
		uint32_t number = number_of(&names, nodes.at[i]);

		if (number == UINT32_MAX || next[number] == p->first[number + 1]) {
			memset(call_of, 0xff, nodes.count * sizeof(*call_of));
			return false;
		}
		call_of[i] = p->list[next[number]++];
	}
	return true;
}

/* ---- longest common subsequence, 64 calls at a time */

/*
 * Row i has a bit for each call j: whether L(i, j) > L(i, j + 1), with L(i, j) the length of that of
 * the nodes from i and the calls from j on.  Bits run from the last call to the first, so that
 * carries do.  Only rows at every `stride`-th node are kept; those between are made again.
 */
struct lcs {
	const struct places *p;
	struct tw_keys nodes, calls;
	size_t words, stride;
	uint64_t *kept, *block; /* rows at multiples of stride; stride + 1 rows from one of these */
	uint64_t *mask, *flip;
	uint64_t **dense; /* masks of the keys that many calls have, NULL: make it from its places */
	uint32_t last;	  /* whose mask is in `mask` */
};

static uint64_t bit_of(const struct lcs *l, uint32_t call, size_t *word)
{
	uint32_t at = l->calls.count - 1 - call;

	*word = at / 64;
	return (uint64_t)1 << (at % 64);
}

static void put_mask(const struct lcs *l, uint32_t number, uint64_t *mask, bool set)
{
	uint32_t i;
	size_t word;

	for (i = l->p->first[number]; i < l->p->first[number + 1]; i++) {
		uint64_t bit = bit_of(l, l->p->list[i], &word);

		mask[word] = set ? mask[word] | bit : 0;
	}
}

/* The calls that have the key of a node; NULL: none. */
static const uint64_t *mask_of(struct lcs *l, uint32_t node)
{
	struct numbering names = l->p->names;
	uint32_t number = number_of(&names, l->nodes.at[node]);

	if (number == UINT32_MAX)
		return NULL;
	if (l->dense[number])
		return l->dense[number];
	if (l->last != UINT32_MAX)
		put_mask(l, l->last, l->mask, false);
	put_mask(l, number, l->mask, true);
	l->last = number;
	return l->mask;
}

/* The row of a node from that of the next: see Hyyrö, "Bit-parallel LCS-length computation". */
static void next_row(struct lcs *l, uint32_t node, const uint64_t *from, uint64_t *to)
{
	const uint64_t *mask = mask_of(l, node);
	uint64_t carry = 0;
	size_t w;

	if (!mask) {
		memcpy(to, from, l->words * sizeof(*to));
		return;
	}
	for (w = 0; w < l->words; w++) {
		uint64_t v = ~from[w], u = v & mask[w], sum;
		bool over = __builtin_add_overflow(v, u, &sum);

		over |= __builtin_add_overflow(sum, carry, &sum);
		carry = over;
		to[w] = ~(sum | (v - u));
	}
}

static int prepare(struct lcs *l, const struct trawl_allocator *a)
{
	size_t rows, n;

	l->words = ((size_t)l->calls.count + 63) / 64;
	for (l->stride = 1; l->stride * l->stride < l->nodes.count; l->stride++)
		;
	rows = l->nodes.count / l->stride + 2;
	l->kept = tw_alloc_array(a, rows * l->words, sizeof(*l->kept));
	l->block = tw_alloc_array(a, (l->stride + 1) * l->words, sizeof(*l->block));
	l->mask = tw_alloc_array(a, l->words, sizeof(*l->mask));
	l->flip = tw_alloc_array(a, l->words, sizeof(*l->flip));
	l->dense = tw_alloc_array(a, l->p->names.count + 1, sizeof(*l->dense));
	if (!l->kept || !l->block || !l->mask || !l->flip || !l->dense)
		return -1;
	l->last = UINT32_MAX;
	for (n = 0; n < l->p->names.count; n++) {
		if (l->p->first[n + 1] - l->p->first[n] <= l->words)
			continue;
		l->dense[n] = tw_alloc_array(a, l->words, sizeof(uint64_t));
		if (!l->dense[n])
			return -1;
		put_mask(l, (uint32_t)n, l->dense[n], true);
	}
	return 0;
}

/* Rows from the last node to the first, of which it keeps every stride-th. */
static void keep_rows(struct lcs *l)
{
	size_t bytes = l->words * sizeof(uint64_t);
	uint64_t *row = l->block, *next = l->block + l->words, *other;
	uint32_t i;

	for (i = l->nodes.count; i-- > 0;) {
		next_row(l, i, row, next);
		other = row;
		row = next;
		next = other;
		if (i % l->stride == 0)
			memcpy(l->kept + i / l->stride * l->words, row, bytes);
	}
}

/* Rows first .. first + stride, the last of them that of a kept one or of no node. */
static void make_block(struct lcs *l, uint32_t first)
{
	size_t bytes = l->words * sizeof(uint64_t), i;
	uint64_t *row = l->block + l->stride * l->words;

	if (first + l->stride >= l->nodes.count)
		memset(row, 0, bytes);
	else
		memcpy(row, l->kept + (first / l->stride + 1) * l->words, bytes);
	for (i = l->stride; i-- > 0;) {
		uint64_t *to = l->block + i * l->words;

		if (first + i >= l->nodes.count)
			memset(to, 0, bytes);
		else
			next_row(l, (uint32_t)(first + i), to + l->words, to);
	}
}

/* Where L(i, j) > L(i + 1, j): the sum of the differences of both rows, from the last call on. */
static void find_flips(struct lcs *l, const uint64_t *row)
{
	uint64_t carry = 0;
	size_t w;
	unsigned shift;

	for (w = 0; w < l->words; w++) {
		uint64_t x = row[w] ^ row[w + l->words];

		for (shift = 1; shift < 64; shift *= 2)
			x ^= x << shift;
		l->flip[w] = x ^ carry;
		carry = l->flip[w] >> 63 ? UINT64_MAX : 0;
	}
}

static uint32_t walk(struct lcs *l, uint32_t *call_of)
{
	uint32_t i, j = 0, matched = 0;
	size_t word;

	for (i = 0; i < l->nodes.count; i++) {
		const uint64_t *row = l->block + i % l->stride * l->words;

		call_of[i] = TW_NOT_MATCHED;
		if (i % l->stride == 0)
			make_block(l, i);
		find_flips(l, row);
		/* Without this node the rest is shorter: its call is the next with its key. */
		while (j < l->calls.count) {
			uint64_t bit = bit_of(l, j, &word);

			if (l->calls.at[j] == l->nodes.at[i]) {
				call_of[i] = j++;
				matched++;
				break;
			}
			if (!(l->flip[word] & bit))
				break;
			j++;
		}
	}
	return matched;
}

static int match_lcs(const struct places *p, struct tw_keys nodes, struct tw_keys calls,
		     uint32_t *call_of, uint32_t *matched, const struct trawl_allocator *a)
{
	struct lcs l = { .p = p, .nodes = nodes, .calls = calls };

	if (prepare(&l, a))
		return -1;
	keep_rows(&l);
	*matched = walk(&l, call_of);
	return 0;
}

int tw_match_lcs(struct tw_keys nodes, struct tw_keys calls, uint32_t *call_of, uint32_t *matched,
		 const struct trawl_allocator *allocator)
{
	struct tw_scope scope;
	struct places places;
	int status;

	tw_scope_begin(&scope, allocator);
	status = list_places(&places, calls, &scope.allocator) ||
				 match_lcs(&places, nodes, calls, call_of, matched,
					   &scope.allocator) ?
			 -1 :
			 0;
	tw_scope_end(&scope);
	return status;
}

int tw_match(struct tw_keys nodes, struct tw_keys calls, bool several_streams, uint64_t *steps,
	     enum tw_match_mode *mode, uint32_t *call_of, uint32_t *matched,
	     const struct trawl_allocator *allocator)
{
	uint64_t work = (uint64_t)nodes.count * (calls.count / 64 + 1);
	uint64_t once = 4 * ((uint64_t)nodes.count + calls.count) + 256;
	struct tw_scope scope;
	struct places places;
	uint32_t *next;
	int status = -1;

	*matched = tw_match_in_order(nodes, calls, 0, call_of);
	*mode = nodes.count == calls.count ? TW_MATCH_EQUAL : TW_MATCH_SUBSEQUENCE;
	if (*matched == nodes.count)
		return 0;
	*mode = TW_MATCH_NONE;
	*matched = 0;
	memset(call_of, 0xff, nodes.count * sizeof(*call_of));
	if (once > *steps)
		return 0;
	*steps -= once;
	tw_scope_begin(&scope, allocator);
	next = tw_alloc(&scope.allocator, ((size_t)calls.count + 2) * sizeof(*next));
	if (next && !list_places(&places, calls, &scope.allocator)) {
		status = 0;
		if (several_streams && nodes.count == calls.count &&
		    match_by_name(&places, nodes, next, call_of)) {
			*mode = TW_MATCH_BY_NAME;
			*matched = nodes.count;
		} else if (work <= *steps) {
			*steps -= work;
			*mode = TW_MATCH_LCS;
			status = match_lcs(&places, nodes, calls, call_of, matched,
					   &scope.allocator);
		}
	}
	tw_scope_end(&scope);
	return status;
}
