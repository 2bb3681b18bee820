/*
 * Names of the test as the baseline has them, where numbers in names are those of one run: modules by their place in
 * the tree, call sites by their order in a function, steps by their order.
 */
#include "study/compare/places/align.h"

#include "analysis/who/attributions.h"
#include "base/alloc.h"
#include "base/order.h"
#include "data/limits.h"

#include <stdlib.h>
#include <string.h>

/* A name, and what it is without its number in what is around it. */
struct name {
	uint32_t id, side;
	uint32_t depth; /* names around it */
	uint32_t group; /* text id of what is around it, as the baseline has it, and its class */
	size_t digits;	/* of its number, which is at `number` */
	const char *number;
};

struct work {
	struct tw_samples *samples;
	enum tw_compared_kind kind;
	TW_LIST(struct name) names;
	uint32_t *of;	 /* by text id of the test: that of the baseline */
	size_t of_count; /* ids there were before */
	struct tw_str text;
};

static const char *text_of(const struct work *w, uint32_t id)
{
	return tw_pool_text(&w->samples->texts, id, NULL);
}

/* ---- names and their parts */

/* The next name of a path of modules, NULL: there is none.  Reports of others may have paths of any depth. */
static const char *next_name(const struct work *w, const char *name, uint32_t depth)
{
	const char *end = w->kind == TW_MODULE && depth < TW_LIMIT_MODULE_DEPTH ?
				  strstr(name, TW_MODULE_SEPARATOR) :
				  NULL;

	return end ? end + strlen(TW_MODULE_SEPARATOR) : NULL;
}

/* Where the last name of a path begins. */
static const char *last_of(const struct work *w, const char *path)
{
	const char *last = path, *next;
	uint32_t depth = 0;

	for (; (next = next_name(w, last, depth)); depth++)
		last = next;
	return last;
}

/* "Block_3", "file.py(12): forward", "ProfilerStep#7": the number, and where what is behind it begins. */
static const char *find_number(const struct work *w, const char *name, const char **end)
{
	const char *at = strrchr(name, w->kind == TW_MODULE ? '_' : w->kind == TW_STEP ? '#' : '(');
	size_t digits = at ? strspn(at + 1, "0123456789") : 0;

	*end = at ? at + 1 + digits : name;
	if (digits && at > name && **end == (w->kind == TW_CALL_SITE ? ')' : '\0'))
		return at + 1;
	return *end = name + strlen(name);
}

static int add_name(struct work *w, uint32_t id, uint32_t side, uint32_t depth)
{
	const struct name name = { .id = id, .side = side, .depth = depth };

	return TW_LIST_ADD(&w->names, &name, w->samples->allocator) ? 0 : TRAWL_ENOMEM;
}

/* With the modules around it, which need have no rows; names that are there again are sorted out later. */
static int add_names(struct work *w, const struct tw_sample *s)
{
	const char *path = text_of(w, s->name), *name = path;
	uint32_t depth = 0, id;

	for (; (name = next_name(w, name, depth)); depth++) {
		id = tw_pool_intern(&w->samples->texts, path,
				    (size_t)(name - path) - strlen(TW_MODULE_SEPARATOR));
		if (add_name(w, id, s->side, depth))
			return TRAWL_ENOMEM;
	}
	return add_name(w, s->name, s->side, depth);
}

static int by_depth(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return TW_ORDER_BY(x, y, depth, side, id);
}

static int by_place(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = TW_ORDER_BY(x, y, group, side, digits);

	order = order ? order : strncmp(x->number, y->number, x->digits);
	return order ? order : TW_ORDER_BY(x, y, id);
}

static void sort_out(struct work *w)
{
	size_t n = 0, i;

	qsort(w->names.at, w->names.count, sizeof(*w->names.at), by_depth);
	for (i = 0; i < w->names.count; i++)
		if (!n || by_depth(&w->names.at[n - 1], &w->names.at[i]))
			w->names.at[n++] = w->names.at[i];
	w->names.count = n;
}

/* ---- places */

/* What is around a name, as the baseline has it, and the separator; the rest of the name is returned. */
static const char *begin_with_around(struct work *w, const struct name *name)
{
	const char *path = text_of(w, name->id), *last = last_of(w, path);
	uint32_t around;

	tw_str_clear(&w->text);
	if (last == path)
		return last;
	around = tw_pool_find(&w->samples->texts, path,
			      (size_t)(last - path) - strlen(TW_MODULE_SEPARATOR));
	tw_str_add_cstr(&w->text, text_of(w, name->side ? w->of[around] : around));
	tw_str_add_cstr(&w->text, TW_MODULE_SEPARATOR);
	return last;
}

static uint32_t kept(struct work *w)
{
	return tw_pool_intern(&w->samples->texts, w->text.len ? w->text.ptr : "", w->text.len);
}

static void find_group(struct work *w, struct name *name)
{
	const char *last = begin_with_around(w, name), *end;

	name->number = find_number(w, last, &end);
	name->digits = (size_t)(end - name->number);
	/* The class of a module has no "_". */
	tw_str_add(&w->text, last,
		   (size_t)(name->number - last) - (w->kind == TW_MODULE && name->digits));
	tw_str_add_char(&w->text, TW_KEY_SEPARATOR);
	tw_str_add_cstr(&w->text, end);
	name->group = kept(w);
	for (; name->digits > 1 && *name->number == '0'; name->digits--)
		name->number++;
}

/* Of one class in one place: as many on both sides are the same in order, else those of one name. */
static void match(struct work *w, const struct name *names, size_t count)
{
	size_t base = 0, i;

	while (base < count && !names[base].side)
		base++;
	for (i = base; i < count; i++) {
		bool in_order = w->kind == TW_STEP ? i - base < base : count == 2 * base;

		if (in_order) {
			w->of[names[i].id] = names[i - base].id;
		} else {
			const char *last = begin_with_around(w, &names[i]);

			tw_str_add_cstr(&w->text, last);
			w->of[names[i].id] = kept(w);
		}
	}
}

static void match_depth(struct work *w, struct name *names, size_t count)
{
	size_t first, end, i;

	for (i = 0; i < count; i++)
		find_group(w, &names[i]);
	qsort(names, count, sizeof(*names), by_place);
	for (first = 0; first < count; first = end) {
		for (end = first; end < count && names[end].group == names[first].group; end++)
			;
		match(w, names + first, end - first);
	}
}

/* Whether a step of the test has a number that one of the baseline has. */
static bool have_common_steps(const struct work *w)
{
	size_t i;

	for (i = 0; i < w->names.count && w->kind == TW_STEP; i++) {
		const struct name *name = &w->names.at[i];
		const struct name other = { .id = name->id, .side = 1 };
		const char *end;

		if (!name->side && *find_number(w, text_of(w, name->id), &end) &&
		    bsearch(&other, w->names.at, w->names.count, sizeof(other), by_depth))
			return true;
	}
	return false;
}

/* ---- samples */

/* Of what begins with a module. */
static uint32_t rename_module(struct work *w, uint32_t id)
{
	const char *name = text_of(w, id);
	size_t len = strcspn(name, (const char[]){ TW_KEY_SEPARATOR, '\0' });
	uint32_t module = tw_pool_find(&w->samples->texts, name, len);

	if (module >= w->of_count || !w->of[module])
		return id;
	tw_str_clear(&w->text);
	tw_str_add_cstr(&w->text, text_of(w, w->of[module]));
	tw_str_add_cstr(&w->text, name + len);
	return kept(w);
}

static void rename_samples(struct work *w)
{
	struct tw_samples *s = w->samples;
	size_t i;

	for (i = 0; i < s->count; i++) {
		struct tw_sample *item = &s->items[i];

		if (!item->side)
			continue;
		if (item->kind == w->kind)
			item->name = w->of[item->name];
		else if (w->kind == TW_MODULE &&
			 (item->kind == TW_MODULE_TOTAL || item->kind == TW_MODULE_OPERATION ||
			  item->kind == TW_MODULE_STACK))
			item->name = rename_module(w, item->name);
	}
}

/* What is called otherwise in the test. */
static int keep_test_names(struct work *w)
{
	struct tw_samples *s = w->samples;
	size_t count = s->texts.count, i;
	uint32_t *names = tw_realloc(s->allocator, s->test_names,
				     s->test_name_count * sizeof(*names), count * sizeof(*names));

	if (!names)
		return TRAWL_ENOMEM;
	memset(names + s->test_name_count, 0, (count - s->test_name_count) * sizeof(*names));
	s->test_names = names;
	s->test_name_count = count;
	for (i = 0; i < w->of_count; i++)
		if (w->of[i] && w->of[i] != i)
			names[w->of[i]] = (uint32_t)i;
	return 0;
}

static int align(struct work *w)
{
	struct tw_samples *s = w->samples;
	bool there[2] = { false, false };
	size_t first, end, i;
	int status = 0;

	for (i = 0; i < s->count && !status; i++)
		if (s->items[i].kind == w->kind) {
			there[s->items[i].side] = true;
			status = add_names(w, &s->items[i]);
		}
	if (status || !there[0] || !there[1])
		return status;
	sort_out(w);
	if (have_common_steps(w))
		return 0;
	w->of_count = s->texts.count;
	w->of = tw_alloc_array(s->allocator, w->of_count, sizeof(*w->of));
	for (first = 0; w->of && first < w->names.count; first = end) {
		for (end = first;
		     end < w->names.count && w->names.at[end].depth == w->names.at[first].depth;
		     end++)
			;
		match_depth(w, w->names.at + first, end - first);
	}
	if (!w->of || w->text.failed || s->texts.failed)
		return TRAWL_ENOMEM;
	rename_samples(w);
	return keep_test_names(w);
}

int tw_samples_align(struct tw_samples *samples, struct trawl_error *err)
{
	static const enum tw_compared_kind kinds[] = { TW_MODULE, TW_CALL_SITE, TW_STEP };
	int status = samples->failed || samples->texts.failed ? TRAWL_ENOMEM : 0;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !status; i++) {
		struct work w = { .samples = samples, .kind = kinds[i] };

		tw_str_init(&w.text, samples->allocator);
		status = align(&w);
		tw_free(samples->allocator, w.of, w.of_count * sizeof(*w.of));
		TW_LIST_FREE(&w.names, samples->allocator);
		tw_str_release(&w.text);
	}
	return status ? tw_no_memory(err) : 0;
}
