#include "path/selection.h"

#include "base/alloc.h"
#include "text/str.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum term { KERNEL, OP, CATEGORY, MODULE, HOST, RANK, TERMS };

static const char *const prefixes[TERMS] = {
	[KERNEL] = "kernel:", [OP] = "op:",	[CATEGORY] = "category:",
	[MODULE] = "module:", [HOST] = "host:", [RANK] = "rank:",
};

#define MOST_TERMS 8

struct selection {
	char text[1024]; /* terms, each with a NUL after it */
	enum term term[MOST_TERMS];
	const char *pattern[MOST_TERMS];
	size_t count;
	bool of_host;
};

static enum term term_at(const char *text)
{
	int t;

	for (t = 0; t < TERMS; t++)
		if (!strncmp(text, prefixes[t], strlen(prefixes[t])))
			break;
	return (enum term)t;
}

/* A "/" ends a term where another one follows: names have some of their own. */
static bool parse(struct selection *s, const char *text)
{
	char *at = s->text;

	*s = (struct selection){ 0 };
	if (strlen(text) >= sizeof(s->text))
		return false;
	memcpy(s->text, text, strlen(text) + 1);
	while (at) {
		enum term term = term_at(at);
		char *next = at;

		if (term == TERMS || s->count == MOST_TERMS)
			return false;
		at += strlen(prefixes[term]);
		s->of_host |= term == HOST;
		s->term[s->count] = term;
		s->pattern[s->count++] = at;
		while ((next = strchr(next, '/')) && term_at(next + 1) == TERMS)
			next++;
		if (next)
			*next++ = 0;
		if (!*s->pattern[s->count - 1])
			return false;
		at = next;
	}
	return true;
}

int tw_selection_check(const char *text, struct trawl_error *err)
{
	struct selection s;

	return parse(&s, text) ?
		       0 :
		       trawl_error_set(
			       err, TRAWL_EUSAGE,
			       "'%.200s' is not a selection (kernel:, op:, category:, module:, "
			       "host: or rank: and a pattern, joined by /)",
			       text);
}

/* ---- what is selected, asked once a label */

static bool matches(const char *pattern, const char *text)
{
	return !strcmp(pattern, text) || !fnmatch(pattern, text, 0);
}

static const char *text_of(const struct tw_path_rank *r, uint32_t text)
{
	return text ? tw_pool_text(&r->texts, text, NULL) : "";
}

static bool is_of_category(const struct tw_path_rank *r, const struct tw_path_label *label,
			   const char *name)
{
	const char *op = text_of(r, label->operation), *category = tw_op_category(op, strlen(op));

	return (label->category &&
		!strcasecmp(tw_kernel_category_names[label->category - 1], name)) ||
	       (category && !strcasecmp(category, name));
}

static bool is_selected(const struct selection *s, const struct tw_path_rank *r,
			const struct tw_path_label *label)
{
	bool all = s->of_host != (label->category != 0);
	size_t i;

	for (i = 0; i < s->count && all; i++) {
		const char *pattern = s->pattern[i];

		switch (s->term[i]) {
		case KERNEL:
		case HOST:
			all = matches(pattern, text_of(r, label->name));
			break;
		case OP:
			all = label->operation && matches(pattern, text_of(r, label->operation));
			break;
		case CATEGORY:
			all = is_of_category(r, label, pattern);
			break;
		case MODULE:
			all = label->module && matches(pattern, text_of(r, label->module));
			break;
		default:
			all = r->rank == strtoll(pattern, NULL, 10);
			break;
		}
	}
	return all;
}

static bool *selected_labels(struct tw_scenario *s, const struct selection *of,
			     const struct tw_path_rank *r)
{
	bool *selected =
		tw_alloc_array(s->allocator, (size_t)r->label_count + 1, sizeof(*selected));
	uint32_t i;

	s->failed |= !selected;
	for (i = 0; selected && i < r->label_count; i++)
		selected[i] = is_selected(of, r, &r->labels[i]);
	return selected;
}

/* ---- changes */

static uint64_t change_gpu(struct tw_scenario *s, const struct tw_path_rank *r,
			   const bool *selected, enum trawl_path_change_kind kind, double factor)
{
	uint64_t count = 0;
	uint32_t g;

	for (g = 0; g < r->gpu_count; g++) {
		if (!selected[s->path->points[tw_gpu_start(r, g)].label])
			continue;
		count++;
		if (kind == TRAWL_PATH_REMOVE)
			tw_scenario_remove(s, r, g);
		else
			tw_scenario_scale(s, r, g, factor);
	}
	return count;
}

/* The host's own time at a point: since the point before it on its thread, and not a wait. */
static void scale_host(struct tw_scenario *s, uint32_t p, double factor)
{
	const struct tw_path *path = s->path;
	uint32_t cause;

	for (cause = path->points[p].causes; cause < path->points[p + 1].causes; cause++) {
		enum tw_cause code = tw_path_code(path, cause);
		int64_t delay;

		if (path->from[cause] != p - 1 ||
		    (code != TW_CAUSE_HOST && code != TW_CAUSE_DURATION))
			continue;
		delay = tw_scenario_delay(s, p, cause);
		if (delay > 0)
			tw_scenario_set(s, p, cause, tw_whole_ns((double)delay * factor));
	}
}

/* The outermost of what is selected on a thread, with all inside. */
static uint64_t change_thread(struct tw_scenario *s, const struct tw_path_thread *thread,
			      const bool *selected, enum trawl_path_change_kind kind, double factor)
{
	const struct tw_path_point *points = s->path->points;
	uint32_t p, open = 0, first = 0;
	uint64_t count = 0;

	for (p = thread->first; p < thread->first + thread->count; p++) {
		if (open && kind == TRAWL_PATH_SCALE)
			scale_host(s, p, factor);
		if (!selected[points[p].label])
			continue;
		if (!tw_is_end(&points[p])) {
			first = open++ ? first : p;
			continue;
		}
		open -= open > 0;
		if (open)
			continue;
		count++;
		if (kind == TRAWL_PATH_REMOVE)
			tw_scenario_free_host(s, thread, points[first].time_ns, points[p].time_ns,
					      0);
	}
	return count;
}

uint64_t tw_selection_apply(struct tw_scenario *s, const char *text,
			    enum trawl_path_change_kind kind, double factor)
{
	struct selection of;
	uint64_t count = 0;
	uint32_t i, t;

	if (!parse(&of, text))
		return 0;
	for (i = 0; i < s->path->rank_count && !s->failed; i++) {
		const struct tw_path_rank *r = &s->path->ranks[i];
		bool *selected = selected_labels(s, &of, r);

		if (!selected)
			return 0;
		if (!of.of_host)
			count += change_gpu(s, r, selected, kind, factor);
		for (t = 0; of.of_host && t < r->thread_count; t++)
			count += change_thread(s, &r->threads[t], selected, kind, factor);
		tw_free(s->allocator, selected, ((size_t)r->label_count + 1) * sizeof(*selected));
	}
	return count;
}
