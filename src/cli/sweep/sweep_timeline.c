/* trawl sweep timeline: what a trainer did in its steps, from its metrics. */
#include "cli/sweep/sweep.h"

#include "render/charts/metrics_timeline_plot.h"
#include "study/sweep/metrics_timeline.h"
#include "text/scan.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* More characters a step are read by nobody. */
#define MOST_CELLS 10000
#define NS_PER_MS 1e6
#define LONGEST_MS 1e9

struct timeline_command {
	struct cli_common common;
	unsigned rank, first, count;
	const char *picture; /* NULL: rank_<RR>_timeline.png */
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

static int draw_timeline(struct timeline_command *c, const char *directory)
{
	struct tw_metrics_timeline *t = &c->timeline;
	struct tw_lane_panel *panels = tw_arena_alloc(&t->arena, t->count * sizeof(*panels));
	const char *path = c->picture;
	struct trawl_error err;
	size_t count = t->count < TW_LANE_PANELS_MOST ? t->count : TW_LANE_PANELS_MOST, i;
	bool ready = panels;

	for (i = 0; ready && i < count; i++)
		ready = fill_panel(t, &t->steps[i], &panels[i]);
	if (!path)
		path = cli_text("%s/rank_%02u_timeline.png", directory, c->rank);
	if (!ready)
		return cli_no_memory();
	if (tw_render_lanes(panels, count, path, t->allocator, &err))
		return cli_fail(&err);
	if (!c->common.quiet)
		cli_message("plot in '%s'", path);
	if (count == t->count)
		return CLI_DONE;
	cli_message("plot limited to the first %zu of %zu steps: choose with --start-step and "
		    "--num-steps",
		    count, t->count);
	return CLI_INCOMPLETE;
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
		cli_message("--resolution: the longest step has more than %d characters: use a "
			    "coarser one",
			    MOST_CELLS);
	return longest / MOST_CELLS + 1;
}

static int print_timeline(const struct timeline_command *c)
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

static int tell_ranges(const struct timeline_command *c, const char *path)
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
	cli_message("%s: no ranges in steps %u to %u of %zu iterations: choose with --start-step "
		    "and --num-steps",
		    path, c->first, c->first + c->count - 1, t->lines);
	return CLI_FAILED;
}

static int read_and_show(struct timeline_command *c, const char *directory)
{
	const char *path = cli_text("%s/rank_%02u_metrics.jsonl", directory, c->rank);
	struct trawl_error err;
	int status = tw_metrics_timeline_read(&c->timeline, path, c->first, c->count,
					      trawl_allocator_default(), &err),
	    printed;

	status = status ? cli_fail(&err) : tell_ranges(c, path);
	if (status < 0)
		status = c->text_only ? CLI_DONE : draw_timeline(c, directory);
	if (status != CLI_DONE && status != CLI_INCOMPLETE)
		return status;
	printed = print_timeline(c);
	if (!printed && c->timeline.note_count)
		printed = c->common.strict ? CLI_FAILED : CLI_INCOMPLETE;
	return cli_worse(status, printed);
}

static int read_resolution(const struct cli_option *option, const char *text, void *ns,
			   struct trawl_error *err)
{
	const char *behind;
	double value = 0;

	behind = tw_is_digit(*text) || *text == '.' ? tw_parse_real(text, &value) : NULL;
	if (!behind || *behind || !(value * NS_PER_MS >= 1 && value <= LONGEST_MS))
		return cli_bad_value(err, option, text, "not a number of milliseconds");
	*(int64_t *)ns = llround(value * NS_PER_MS);
	return 0;
}

static const struct cli_kind resolution = { .read = read_resolution };

#define AT(member) offsetof(struct timeline_command, member)

static const struct cli_option own_options[] = {
	{ "output", 'o', &cli_string, "FILE", AT(picture),
	  "plot file (default: DIR/rank_<RR>_timeline.png)" },
	{ "rank", 0, &cli_count, "N", AT(rank), "rank (default: 0)" },
	{ "start-step", 0, &cli_count, "N", AT(first), "first step (default: 5)" },
	{ "num-steps", 0, &cli_positive, "N", AT(count), "number of steps (default: 5)" },
	{ "text-only", 0, &cli_flag, NULL, AT(text_only), "draw no plot" },
	{ "resolution", 0, &resolution, "MS", AT(resolution_ns),
	  "milliseconds per character (default: 0.5)" },
	{ 0 },
};

static const struct cli_options options[] = {
	{ .list = own_options },
	CLI_COMMON(AT(common)),
	{ 0 },
};

static int timeline(const struct cli_command *command, int argc, char **argv)
{
	struct timeline_command c = { .first = 5, .count = 5, .resolution_ns = 500000 };
	int count, status = cli_begin(command, &c, argc, argv, &count);

	if (status >= 0)
		return status;
	if (count != 1)
		return cli_usage_error(command, "expected one directory with metrics, got %d",
				       count);
	status = read_and_show(&c, argv[0]);
	tw_metrics_timeline_release(&c.timeline);
	return status;
}

const struct cli_command cli_sweep_timeline = {
	"sweep timeline",
	"DIR",
	"compute and communication timeline of training steps",
	"Reads rank_<RR>_metrics.jsonl in DIR, which the trainer writes, prints what ran when on\n"
	"each stream, with the overlap of compute and communication, and draws it into\n"
	"DIR/rank_<RR>_timeline.png.\n\n"
	"  trawl sweep timeline sweep/256thread/nccl_28channels --start-step 5 --num-steps 2\n",
	options,
	timeline,
};
