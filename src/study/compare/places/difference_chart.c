/* The picture of the difference by module: each in the one that calls it, as wide as the mean of its times on both sides. */
#include "study/compare/answer.h"
#include "study/compare/comparison.h"

#include "analysis/who/attributions.h"
#include "base/arena.h"
#include "base/order.h"
#include "render/charts/icicle_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAME, FASTER, SLOWER };

/* As many as can be seen; reports of others may have more that say they are large. */
#define MOST_PARTS ((size_t)(100 / TW_ICICLE_LEAST_PERCENT) * TW_ICICLE_ROWS)

struct part {
	const struct tw_change *change;
	const char *path;
	size_t depth; /* names; 0: in no module */
	double ns;    /* of both sides */
};

/* What is around comes first, then the largest. */
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int order = TW_COMPARE(x->depth, y->depth);

	order = order ? order : TW_COMPARE(y->ns, x->ns);
	return order ? order : strcmp(x->path, y->path);
}

static size_t depth_of(const char *path)
{
	size_t depth = path[0] != '(';

	for (; depth && (path = strstr(path, TW_MODULE_SEPARATOR)); depth++)
		path += strlen(TW_MODULE_SEPARATOR);
	return depth;
}

static bool is_below(const char *path, const char *around)
{
	size_t len = strlen(around);

	return !strncmp(path, around, len) &&
	       !strncmp(path + len, TW_MODULE_SEPARATOR, strlen(TW_MODULE_SEPARATOR));
}

static const char *path_of(const struct tw_changes *changes, const struct tw_change *c)
{
	return tw_pool_text(&changes->samples->texts, c->name, NULL);
}

/* Whether it is in a module that has a row, though that one may not be seen. */
static bool is_in_any(const struct tw_changes *changes, const char *path)
{
	const struct tw_change_list *list = &changes->all[TW_MODULE_TOTAL];
	size_t i;

	for (i = 0; i < list->count; i++)
		if (is_below(path, path_of(changes, &list->items[i])))
			return true;
	return false;
}

/* Names can hold what is between them: each part is one below the longest path that is there. */
static void set_depths(const struct tw_changes *changes, struct part *parts, size_t count)
{
	size_t i, k;

	for (i = 0; i < count; i++) {
		const struct part *around = NULL;

		for (k = 0; k < i && parts[i].depth > 1; k++)
			if (is_below(parts[i].path, parts[k].path) &&
			    (!around || strlen(parts[k].path) > strlen(around->path)))
				around = &parts[k];
		if (around)
			parts[i].depth = around->depth + 1;
		else if (parts[i].depth > 1 && !is_in_any(changes, parts[i].path))
			parts[i].depth = 1;
	}
}

static const char *kept(struct tw_arena *arena, struct tw_str *text)
{
	const char *copy = tw_arena_copy(arena, text->len ? text->ptr : "", text->len);

	text->failed |= !copy;
	tw_str_clear(text);
	return copy;
}

/* "+1.23 ms", and behind the path "12.3 ms -> 13.5 ms, +1.23 ms (10.0 % slower)". */
static void tell(struct tw_icicle_part *part, const struct tw_change *c, struct tw_arena *arena,
		 struct tw_str *text)
{
	double faster = tw_change_faster(c);

	part->kind = c->judged.verdict == TW_SAME ? SAME : c->ns[1] < c->ns[0] ? FASTER : SLOWER;
	tw_add_signed(text, c->ns[1] - c->ns[0]);
	part->value = kept(arena, text);
	tw_add_ms(text, c->ns[0]);
	tw_str_add_cstr(text, " -> ");
	tw_add_ms(text, c->ns[1]);
	tw_str_add_cstr(text, ", ");
	tw_add_signed(text, c->ns[1] - c->ns[0]);
	if (!isnan(faster) && part->kind != SAME) {
		tw_str_add_cstr(text, " (");
		tw_add_percent(text, faster);
		tw_str_add_cstr(text, part->kind == SLOWER ? " slower)" : " faster)");
	}
	part->told = kept(arena, text);
}

/* Those that can be seen, in order; how many. */
static size_t list_parts(const struct tw_changes *changes, struct part *parts, double whole_ns)
{
	const struct tw_change_list *list = &changes->all[TW_MODULE_TOTAL];
	size_t n = 0, i;

	for (i = 0; i < list->count && n < MOST_PARTS; i++) {
		const struct tw_change *c = &list->items[i];
		const char *path = path_of(changes, c);
		double ns = c->ns[0] + c->ns[1];

		if (ns * 100 >= whole_ns * TW_ICICLE_LEAST_PERCENT)
			parts[n++] = (struct part){ c, path, depth_of(path), ns };
	}
	qsort(parts, n, sizeof(*parts), compare_parts);
	set_depths(changes, parts, n);
	qsort(parts, n, sizeof(*parts), compare_parts);
	return n;
}

static void add_parts(struct tw_icicle_tree *tree, const struct part *parts, size_t count,
		      struct tw_arena *arena, struct tw_str *text)
{
	unsigned none;
	size_t i;

	/* What is in no module comes behind those that are outermost, as in the picture of one run. */
	for (none = 0; none < 2; none++)
		for (i = 0; i < count; i++) {
			const struct part *p = &parts[i];
			struct tw_icicle_part *part = NULL;
			const char *path = p->depth ? p->path :
					   strcmp(p->path, TW_LABEL_UNLINKED) ?
						      "outside of modules" :
						      "without a recorded launch";

			if ((p->depth == 0) == none)
				part = tw_icicle_add_path(tree, path, p->depth ? p->depth : 1,
							  p->ns / 2e6);
			if (part)
				tell(part, p->change, arena, text);
		}
}

bool tw_difference_chart(const struct tw_pair *pair, struct tw_str *out)
{
	const struct tw_changes *changes = &pair->changes;
	const double *ns = changes->sums[TW_MODULE].ns;
	size_t count = changes->all[TW_MODULE_TOTAL].count + 1;
	struct tw_change whole = { .ns = { ns[0], ns[1] } };
	struct tw_icicle_chart chart = {
		.title = "GPU time by module, and its change",
		.subtitle = "each below the module that calls it",
		.kinds = { NULL, "less time in the test", "more time in the test" },
		.kind_count = 3,
	};
	struct tw_icicle_tree tree = { .count = 1, .between = TW_MODULE_SEPARATOR };
	struct tw_arena arena;
	struct tw_str text;
	struct part *parts;
	bool drawn = false;

	tw_arena_init(&arena, out->allocator);
	tw_str_init(&text, out->allocator);
	parts = tw_arena_array(&arena, count, sizeof(*parts));
	tree.parts = tw_arena_array(&arena, count, sizeof(*tree.parts));
	tree.depths = tw_arena_array(&arena, count, sizeof(*tree.depths));
	tw_str_add_cstr(&text, "width: mean of both sides");
	tw_add_summed_over(&text, changes, TW_MODULE);
	tw_str_add_cstr(&text, "; parts from 0.3 % on");
	chart.note = kept(&arena, &text);
	whole.judged = tw_judge_ratio(ns[0] > 0 ? ns[1] / ns[0] : 2, (double)NAN, ns, ns[0]);
	if (parts && tree.parts && tree.depths) {
		tree.depths[0] = 0;
		tree.parts[0] = (struct tw_icicle_part){ .path = "all GPU events",
							 .name = "all GPU events",
							 .time_ms = (ns[0] + ns[1]) / 2e6 };
		tell(&tree.parts[0], &whole, &arena, &text);
		add_parts(&tree, parts, list_parts(changes, parts, ns[0] + ns[1]), &arena, &text);
		chart.parts = tree.parts;
		chart.count = tree.count;
		drawn = tree.count > 1 && !text.failed && tw_icicle_chart(&chart, out);
	}
	out->failed |= !parts || !tree.parts || !tree.depths || text.failed;
	tw_str_release(&text);
	tw_arena_release(&arena);
	return drawn;
}
