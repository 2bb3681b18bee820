#include "derive/graphs/choose.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/sort.h"
#include "data/limits.h"

#include <string.h>

struct tw_keys tw_keys_of(const struct tw_chooser *c, uint32_t capture)
{
	const struct tw_capture *of = &c->captures->list.at[capture];

	return (struct tw_keys){ c->keys + of->first_call, of->call_count };
}

static uint64_t hash_of(struct tw_keys keys)
{
	return tw_hash_bytes((const char *)keys.at, (size_t)keys.count * sizeof(*keys.at));
}

static uint64_t hash_key(const void *context, uint32_t capture)
{
	return ((const struct tw_chooser *)context)->hashes[capture];
}

int tw_chooser_init(struct tw_chooser *c, const struct trawl_trace *trace,
		    const struct trawl_allocator *a)
{
	const struct tw_captures *captures = &trace->captures;
	size_t n = captures->list.count, i;

	*c = (struct tw_chooser){ .captures = captures, .allocator = a, .steps = TW_MATCH_STEPS };
	c->keys = tw_alloc(a, (captures->calls.count + 1) * sizeof(*c->keys));
	c->hashes = tw_alloc(a, (n + 1) * sizeof(*c->hashes));
	c->order = tw_alloc(a, (n + 1) * sizeof(*c->order));
	c->differ = tw_alloc_array(a, captures->calls.count + 1, 1);
	c->asked = tw_alloc_array(a, n + 1, 1);
	c->repeats = tw_alloc_array(a, n + 1, 1);
	if (!c->keys || !c->hashes || !c->order || !c->differ || !c->asked || !c->repeats)
		return -1;
	for (i = 0; i < captures->calls.count; i++)
		c->keys[i] = captures->calls.at[i].key;
	for (i = 0; i < n; i++) {
		c->hashes[i] = hash_of(tw_keys_of(c, (uint32_t)i));
		if (captures->list.at[i].kind != TW_CAPTURE_EAGER)
			c->order[c->count++] = (uint32_t)i;
	}
	if (tw_sort(c->order, c->count, hash_key, c, a))
		return -1;
	for (i = 1; i < c->count; i++)
		c->repeats[c->order[i]] = c->hashes[c->order[i]] == c->hashes[c->order[i - 1]];
	return 0;
}

void tw_chooser_release(struct tw_chooser *c)
{
	const struct trawl_allocator *a = c->allocator;
	size_t n;

	if (!a)
		return;
	n = c->captures->list.count + 1;
	tw_free(a, c->keys, (c->captures->calls.count + 1) * sizeof(*c->keys));
	tw_free(a, c->hashes, n * sizeof(*c->hashes));
	tw_free(a, c->order, n * sizeof(*c->order));
	tw_free(a, c->differ, c->captures->calls.count + 1);
	tw_free(a, c->asked, n);
	tw_free(a, c->repeats, n);
}

static bool are_same(struct tw_keys a, struct tw_keys b)
{
	return a.count == b.count && !memcmp(a.at, b.at, (size_t)a.count * sizeof(*a.at));
}

static uint32_t kind_of(const struct tw_chooser *c, uint32_t capture)
{
	return c->captures->list.at[capture].kind;
}

/* The first capture of a kind with these keys, TW_NOT_MATCHED: none. */
static uint32_t find_equal(const struct tw_chooser *c, struct tw_keys keys,
			   enum tw_capture_kind kind)
{
	uint64_t hash = hash_of(keys);
	size_t at = TW_LOWER_BOUND(i, 0, c->count, c->hashes[c->order[i]] < hash);

	for (; at < c->count && c->hashes[c->order[at]] == hash; at++)
		if (kind_of(c, c->order[at]) == kind && are_same(keys, tw_keys_of(c, c->order[at])))
			return c->order[at];
	return TW_NOT_MATCHED;
}

static bool is_within(uint64_t left, uint64_t of)
{
	return left * 100 <= of * TW_LIMIT_GRAPH_LEFT_PERCENT;
}

/* Whether so many nodes with a call are enough. */
static bool is_enough(uint32_t nodes, uint32_t calls, uint32_t matched)
{
	return nodes && is_within(nodes - matched, nodes) &&
	       (calls - matched <= 1 || is_within(calls - matched, calls));
}

/* What captures with the keys of this one do not agree on, for each of its calls. */
static void compare_equal(struct tw_chooser *c, uint32_t capture, struct tw_choice *choice)
{
	const struct tw_capture *list = c->captures->list.at;
	const struct tw_captured_call *calls = c->captures->calls.at;
	uint64_t hash = c->hashes[capture], first = list[capture].first_call;
	size_t at = TW_LOWER_BOUND(i, 0, c->count, c->hashes[c->order[i]] < hash);
	uint32_t i;

	for (; at < c->count && c->hashes[c->order[at]] == hash; at++) {
		uint32_t other = c->order[at];

		if (other == capture || list[other].kind != list[capture].kind ||
		    !are_same(tw_keys_of(c, other), tw_keys_of(c, capture)))
			continue;
		choice->others++;
		for (i = 0; !c->asked[capture] && i < list[capture].call_count; i++)
			c->differ[first + i] |= tw_calls_differ(&calls[first + i],
								&calls[list[other].first_call + i]);
	}
	c->asked[capture] = 1;
	for (i = 0; i < list[capture].call_count; i++)
		choice->ops_differ |= c->differ[first + i] & TW_DIFFER_OP;
}

static struct tw_keys keys_for(const struct tw_nodes *nodes, enum tw_capture_kind kind)
{
	return (struct tw_keys){ kind == TW_CAPTURE_NAMED ? nodes->keys : nodes->counted,
				 nodes->count };
}

/* Compares with one; *better says whether it is better than *choice, which then is of it. */
static int try_one(struct tw_chooser *c, const struct tw_nodes *nodes, uint32_t capture,
		   struct tw_choice *choice, uint32_t *call_of, bool *better)
{
	struct tw_keys keys = keys_for(nodes, kind_of(c, capture)), calls = tw_keys_of(c, capture);
	struct tw_choice found = { .capture = capture };

	if (tw_match(keys, calls, nodes->several_streams, &c->steps, &found.mode, call_of,
		     &found.matched, c->allocator))
		return -1;
	choice->too_large |= found.mode == TW_MATCH_NONE;
	found.too_large = choice->too_large;
	found.left = calls.count - found.matched;
	found.taken = is_enough(keys.count, calls.count, found.matched);
	*better = choice->capture == TW_NOT_MATCHED || found.taken > choice->taken ||
		  (found.taken == choice->taken &&
		   (found.matched > choice->matched ||
		    (found.matched == choice->matched && found.left < choice->left)));
	if (*better)
		*choice = found;
	return 0;
}

/* The best of a kind, of those whose number of calls is near or, else, is not. */
static int try_kind(struct tw_chooser *c, const struct tw_nodes *nodes, enum tw_capture_kind kind,
		    bool near, struct tw_choice *choice, uint32_t *call_of)
{
	bool better;
	uint32_t i;

	for (i = 0; i < c->captures->list.count; i++) {
		uint32_t n = nodes->count, m = c->captures->list.at[i].call_count;

		/* Of those with equal keys the first. */
		if (c->repeats[i] || kind_of(c, i) != kind ||
		    is_enough(n, m, n < m ? n : m) != near)
			continue;
		if (try_one(c, nodes, i, choice, call_of, &better))
			return -1;
	}
	return 0;
}

int tw_choose_one(struct tw_chooser *c, const struct tw_nodes *nodes, uint32_t capture,
		  struct tw_choice *choice, uint32_t *call_of)
{
	bool better;

	*choice = (struct tw_choice){ .capture = TW_NOT_MATCHED };
	return try_one(c, nodes, capture, choice, call_of, &better);
}

int tw_choose(struct tw_chooser *c, const struct tw_nodes *nodes, struct tw_choice *choice,
	      uint32_t *call_of)
{
	static const enum tw_capture_kind kinds[] = { TW_CAPTURE_NAMED, TW_CAPTURE_COUNTED };
	size_t i;

	*choice = (struct tw_choice){ .capture = TW_NOT_MATCHED };
	for (i = 0; i < 2 && !choice->taken; i++) {
		uint32_t equal = find_equal(c, keys_for(nodes, kinds[i]), kinds[i]);

		if (equal != TW_NOT_MATCHED) {
			if (tw_choose_one(c, nodes, equal, choice, call_of))
				return -1;
		} else if (try_kind(c, nodes, kinds[i], true, choice, call_of)) {
			return -1;
		}
	}
	if (choice->taken) {
		struct tw_choice chosen = *choice;

		compare_equal(c, chosen.capture, &chosen);
		/* Again: others may have been tried after it. */
		if (tw_choose_one(c, nodes, chosen.capture, choice, call_of))
			return -1;
		*choice = chosen;
		return 0;
	}
	for (i = 0; i < 2; i++)
		if (try_kind(c, nodes, kinds[i], false, choice, call_of))
			return -1;
	return 0;
}
