/* Flame graphs of the difference: stacks as reports write them, with their times on both sides. */
#include "study/compare/comparison.h"

#include "analysis/who/attributions.h"
#include "analysis/who/stacks.h"

#include <math.h>
#include <string.h>

static void add_module_frames(struct tw_str *out, const char *path, size_t len)
{
	const char *end = path + len, *next;

	for (; (next = strstr(path, TW_MODULE_SEPARATOR)) && next < end;
	     path = next + strlen(TW_MODULE_SEPARATOR))
		tw_add_frame(out, path, (size_t)(next - path));
	tw_add_frame(out, path, (size_t)(end - path));
}

/* Module, pass, operator and kernel of a name; forward, and what has no launch, go without the pass. */
static void add_stack(struct tw_str *out, const char *name)
{
	static const char separator[] = { TW_KEY_SEPARATOR, '\0' };
	const char *part[4];
	size_t len[4], i;

	for (i = 0; i < 4; i++, name += len[i - 1] + (name[len[i - 1]] != '\0')) {
		part[i] = name;
		len[i] = i < 3 ? strcspn(name, separator) : strlen(name);
	}
	if (strncmp(part[1], tw_pass_names[TW_PASS_FORWARD], len[1]) && part[1][0] != '(')
		tw_str_addf(out, "[%.*s];", (int)len[1], part[1]);
	add_module_frames(out, part[0], len[0]);
	tw_add_frame(out, part[2], len[2]);
	tw_add_frame(out, part[3], len[3]);
	if (!out->failed)
		out->len--;
}

int trawl_comparison_stacks(const struct trawl_comparison *c, size_t test, enum trawl_stacks which,
			    void (*write)(void *context, const char *text, size_t len),
			    void *context, struct trawl_error *err)
{
	enum tw_compared_kind kind = which == TRAWL_STACKS_FULL ? TW_FULL_STACK : TW_MODULE_STACK;
	const struct tw_changes *changes = test < c->pair_count ? &c->pairs[test].changes : NULL;
	struct tw_str text;
	size_t i;

	if (!changes || !changes->all[kind].count)
		return trawl_error_set(err, TRAWL_ENODATA,
				       "no stacks of both sides: they are those of traces with %s",
				       kind == TW_FULL_STACK ? "Python functions" : "modules");
	tw_str_init(&text, c->allocator);
	for (i = 0; i < changes->all[kind].count; i++) {
		const struct tw_change *item = &changes->all[kind].items[i];
		const char *name = tw_pool_text(&changes->samples->texts, item->name, NULL);

		if (kind == TW_FULL_STACK)
			tw_str_add_cstr(&text, name);
		else
			add_stack(&text, name);
		tw_str_addf(&text, " %.0f %.0f\n", item->ns[0], item->ns[1]);
	}
	if (!text.failed && text.len)
		write(context, text.ptr, text.len);
	tw_str_release(&text);
	return text.failed ? tw_no_memory(err) : 0;
}
