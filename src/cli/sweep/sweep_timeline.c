/* trawl sweep timeline: what a trainer did in its steps, from its metrics. */
#include "cli/sweep/sweep.h"

#include "base/alloc.h"
#include "render/charts/metrics_timeline_plot.h"
#include "study/sweep/metrics_timeline.h"
#include "text/scan.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* More characters a step are read by nobody. */
#define MOST_CELLS 10000
#define NS_PER_MS 1e6
#define LONGEST_MS 1e9

struct timeline_command {
	const struct cli_command *command;
	struct cli_common common;
	unsigned rank, first, count;
	const char *picture, *resolution; /* as given */
	int64_t resolution_ns;
	bool text_only;
	struct tw_metrics_timeline timeline;
};

/* ---- the picture */

/* The tag without "epoch0_step5_" in front. */
static const char *label_of(const char *tag)
{
	static const char epoch[] = "epoch", step[] = "_step";
	const char *p = tag;

	if (strncmp(p, epoch, strlen(epoch)) || !isdigit((unsigned char)p[strlen(epoch)]))
		return tag;
	p += strlen(epoch);
	p += strspn(p, "0123456789");
	if (strncmp(p, step, strlen(step)) || !isdigit((unsigned char)p[strlen(step)]))
		return tag;
	p += strlen(step);
	p += strspn(p, "0123456789");
	return *p == '_' && p[1] ? p + 1 : tag;
}

/* In the arena of the timeline; false: out of memory. */
static bool fill_panel(struct tw_metrics_timeline *t, const struct tw_metrics_step *step,
		       struct tw_lane_panel *panel)
{
	struct tw_lane_bar *bars = tw_arena_alloc(&t->arena, step->count * sizeof(*bars));
	struct tw_str title;
	size_t i;

	tw_str_init(&title, t->allocator);
	tw_metrics_step_title(step, "Step", &title);
	tw_str_add_cstr(&title, " Timeline");
	*panel = (struct tw_lane_panel){
		.title = title.failed ? NULL : tw_arena_copy(&t->arena, title.ptr, title.len),
		.lanes = step->lanes,
		.lane_count = step->lane_count,
		.bars = bars,
		.bar_count = step->count,
		.total_ns = step->total_ns,
	};
	tw_str_release(&title);
	for (i = 0; bars && i < step->count; i++) {
		const struct tw_metrics_range *range = &step->ranges[i];

		bars[i] = (struct tw_lane_bar){
			.lane = range->lane,
			.kind = range->category,
			.start_ns = range->start_ns,
			.end_ns = range->end_ns,
			.label = label_of(range->tag),
		};
	}
	return bars && panel->title;
}

static int draw(struct timeline_command *c, const char *directory)
{
	struct tw_metrics_timeline *t = &c->timeline;
	struct tw_lane_panel *panels = tw_arena_alloc(&t->arena, t->count * sizeof(*panels));
	struct trawl_error err;
	struct tw_str path;
	size_t count = t->count < TW_LANE_PANELS_MOST ? t->count : TW_LANE_PANELS_MOST, i;
	bool ready = panels;
	int status;

	for (i = 0; ready && i < count; i++)
		ready = fill_panel(t, &t->steps[i], &panels[i]);
	tw_str_init(&path, t->allocator);
	if (c->picture)
		tw_str_add_cstr(&path, c->picture);
	else
		tw_str_addf(&path, "%s/rank_%02u_timeline.png", directory, c->rank);
	if (!ready || path.failed)
		status = tw_no_memory(&err);
	else
		status = tw_render_lanes(panels, count, path.ptr, t->allocator, &err);
	if (status)
		status = cli_fail(&err);
	else if (!c->common.quiet)
		cli_message("picture in '%s'", path.ptr);
	if (status == CLI_DONE && count < t->count) {
		cli_message(
			"the picture has the first %zu of %zu steps; --start-step and --num-steps "
			"choose others",
			count, t->count);
		status = CLI_INCOMPLETE;
	}
	tw_str_release(&path);
	return status;
}

/* ---- the text */

/* Coarser where a step would be too wide to be read. */
static int64_t usable_resolution(const struct timeline_command *c)
{
	int64_t longest = 0;
	size_t i;

	for (i = 0; i < c->timeline.count; i++)
		if (c->timeline.steps[i].total_ns > longest)
			longest = c->timeline.steps[i].total_ns;
	if (longest / c->resolution_ns < MOST_CELLS)
		return c->resolution_ns;
	if (!c->common.quiet)
		cli_message("--resolution: the longest step has more than %d characters; coarser",
			    MOST_CELLS);
	return longest / MOST_CELLS + 1;
}

static int print(const struct timeline_command *c)
{
	struct tw_str out;

	if (c->common.format != TW_FORMAT_TABLE)
		return cli_print_table(tw_metrics_timeline_table(&c->timeline), c->common.format,
				       "sweep_timeline");
	tw_str_init(&out, trawl_allocator_default());
	tw_metrics_timeline_text(&c->timeline, usable_resolution(c), &out);
	return cli_print_str(&out);
}

/* ---- the command */

static int tell(const struct timeline_command *c, const char *path)
{
	const struct tw_metrics_timeline *t = &c->timeline;
	size_t i;

	for (i = 0; i < t->note_count; i++)
		cli_message("%s", t->notes[i]);
	if (t->notes_untold)
		cli_message("%s: and %zu more", path, t->notes_untold);
	if (c->common.verbose)
		cli_message("%s: %zu iterations; %zu ranges in steps %u to %u", path, t->lines,
			    t->ranges, c->first, c->first + c->count - 1);
	if (t->ranges)
		return -1;
	cli_message("%s: no ranges of steps %u to %u among %zu iterations; --start-step and "
		    "--num-steps choose others",
		    path, c->first, c->first + c->count - 1, t->lines);
	return CLI_FAILED;
}

static int show(struct timeline_command *c, const char *directory)
{
	struct trawl_error err;
	struct tw_str path;
	int status;

	tw_str_init(&path, trawl_allocator_default());
	tw_str_addf(&path, "%s/rank_%02u_metrics.jsonl", directory, c->rank);
	if (path.failed) {
		status = tw_no_memory(&err);
		c->timeline.allocator = trawl_allocator_default();
	} else {
		status = tw_metrics_timeline_read(&c->timeline, path.ptr, c->first, c->count,
						  trawl_allocator_default(), &err);
	}
	status = status ? cli_fail(&err) : tell(c, path.ptr);
	if (status < 0 && !c->text_only)
		status = draw(c, directory);
	if (status <= 0 || status == CLI_INCOMPLETE) {
		int printed = print(c);

		if (!printed && c->timeline.note_count)
			printed = c->common.strict ? CLI_FAILED : CLI_INCOMPLETE;
		status = cli_worse(status < 0 ? CLI_DONE : status, printed);
	}
	tw_str_release(&path);
	return status;
}

static int take_resolution(struct timeline_command *c)
{
	const char *text = c->resolution, *behind;
	double value = 0;

	behind = tw_is_digit(*text) || *text == '.' ? tw_parse_real(text, &value) : NULL;
	if (!behind || *behind || !(value * NS_PER_MS >= 1 && value <= LONGEST_MS))
		return cli_usage_error(c->command,
				       "--resolution: '%.60s' is no number of milliseconds", text);
	c->resolution_ns = llround(value * NS_PER_MS);
	return -1;
}

int cli_sweep_timeline(const struct cli_command *command, int argc, char **argv)
{
	struct timeline_command c = {
		.command = command,
		.first = 5,
		.count = 5,
		.resolution = "0.5",
	};
	const struct cli_option own[] = {
		{ "output", 'o', CLI_TEXT, "FILE", &c.picture,
		  "the picture (default: DIR/rank_<RR>_timeline.png)" },
		{ "rank", 0, CLI_COUNT, "N", &c.rank, "whose metrics (default: 0)" },
		{ "start-step", 0, CLI_COUNT, "N", &c.first, "the first step (default: 5)" },
		{ "num-steps", 0, CLI_POSITIVE, "N", &c.count, "how many steps (default: 5)" },
		{ "text-only", 0, CLI_FLAG, NULL, &c.text_only, "no picture" },
		{ "resolution", 0, CLI_TEXT, "MS", &c.resolution,
		  "milliseconds a character (default: 0.5)" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	struct cli_option common[8];
	const struct cli_option *const tables[] = { own, common };
	int count, status;

	cli_common_options(&c.common, false, common);
	status = cli_begin(command, tables, 2, argc, argv, &count);
	if (status < 0 && count != 1)
		status = cli_usage_error(command, "one directory with metrics, not %d", count);
	if (status < 0)
		status = take_resolution(&c);
	if (status >= 0)
		return status;
	status = show(&c, argv[0]);
	tw_metrics_timeline_release(&c.timeline);
	return status;
}
