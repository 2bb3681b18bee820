#include "render/charts/variance_plots.h"

#include "os/thread.h"
#include "render/charts/gnuplot.h"
#include "render/charts/panel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tw_variance_plot_names[TW_VARIANCE_PLOTS] = {
	[TW_PLOT_THREADS] = "variance_by_threads_boxplot",
	[TW_PLOT_CHANNELS] = "variance_by_channels_boxplot",
	[TW_PLOT_RANKS] = "variance_by_ranks_boxplot",
	[TW_PLOT_VIOLINS] = "variance_violin_combined",
	[TW_PLOT_INTERACTION] = "variance_thread_channel_interaction",
};

const char *const tw_variance_plot_headings[TW_VARIANCE_PLOTS] = {
	[TW_PLOT_THREADS] = "Variance by Thread Count",
	[TW_PLOT_CHANNELS] = "Variance by Channel Count",
	[TW_PLOT_RANKS] = "Variance by Rank",
	[TW_PLOT_VIOLINS] = "Variance Distribution (Violin Plots)",
	[TW_PLOT_INTERACTION] = "Thread-Channel Interaction",
};

/* In points; a picture's sizes are in inches. */
#define INCH 72.0
/* Text is as large on wide pictures as on narrow ones, when a phone shows all of their width. */
#define WIDTH_INCHES 10.0
#define VIOLINS_INCHES 12.5
#define LABEL_SIZE 16.0
#define NAME_SIZE 14.0
#define TITLE_SIZE 16.0
#define NOTE_SIZE 12.0
#define TITLE_ROOM 58.0
#define EDGE 12.0
#define GAP 8.0

/* Of a group's share of the axis. */
#define BOX_HALF 0.22
#define CAP_HALF 0.11
#define VIOLIN_HALF 0.25
#define BAR_HALF 0.125
#define DENSITY_POINTS 100
#define FLIER_RADIUS 3.2
#define MARKER_RADIUS 5.0

#define TIME_AXIS "Time Difference (us)"

/* A picture of groups. */
struct look {
	double width, height; /* inches */
	enum tw_variance_by by;
	const char *before, *after, *name, *title;
};

static const struct look boxes[] = {
	[TW_PLOT_THREADS] = { 10, 6, TW_BY_THREADS, "", " threads", "Thread Configuration",
			      "GEMM Kernel Time Variance by Thread Count" },
	[TW_PLOT_CHANNELS] = { 12, 6, TW_BY_CHANNELS, "", "ch", "Channel Configuration",
			       "GEMM Kernel Time Variance by Channel Count" },
	[TW_PLOT_RANKS] = { 14, 6, TW_BY_RANK, "Rank ", "", "Rank",
			    "GEMM Kernel Time Variance by Rank" },
};

struct drawing {
	struct tw_picture picture;
	struct tw_arena arena;
	struct tw_str *out;
	const struct tw_variance_point *points;
	size_t count;
};

/* ---- colours */

/* The first of each are given, the others go on from them. */
static const uint32_t thread_colours[] = { 0xadd8e6, 0xf08080, 0x98d898, 0xf5d76e,
					   0xd8a8e0, 0xffb878, 0xc0c0c0, 0x9fc5a8 };
static const uint32_t channel_colours[] = { 0xe6f2ff, 0x99ccff, 0x4da6ff, 0x0073e6,
					    0x5c7fbf, 0x8fa8d6, 0xb3d9e6, 0x66b2b2 };
/* viridis at eighths. */
static const unsigned char viridis[][3] = {
	{ 0x44, 0x01, 0x54 }, { 0x47, 0x2d, 0x7b }, { 0x3b, 0x52, 0x8b },
	{ 0x2c, 0x72, 0x8e }, { 0x21, 0x91, 0x8c }, { 0x28, 0xae, 0x80 },
	{ 0x5e, 0xc9, 0x62 }, { 0xad, 0xdc, 0x30 }, { 0xfd, 0xe7, 0x25 },
};
static const uint32_t line_colours[] = { 0x1f77b4, 0xff7f0e, 0x2ca02c, 0xd62728, 0x9467bd,
					 0x8c564b, 0xe377c2, 0x7f7f7f, 0xbcbd22, 0x17becf };
#define LINE_COLOURS (sizeof(line_colours) / sizeof(line_colours[0]))

static uint32_t viridis_at(double place)
{
	double at = place * 8, part = at - floor(at);
	const unsigned char *from = viridis[(size_t)at], *to = viridis[(size_t)at + 1];
	uint32_t colour = 0;
	unsigned i;

	for (i = 0; i < 3; i++)
		colour = colour << 8 | (uint32_t)(from[i] * (1 - part) + to[i] * part + 0.5);
	return colour;
}

static uint32_t box_colour(enum tw_variance_by by, size_t i, size_t count)
{
	if (by == TW_BY_THREADS)
		return thread_colours[i % (sizeof(thread_colours) / sizeof(thread_colours[0]))];
	if (by == TW_BY_CHANNELS)
		return channel_colours[i % (sizeof(channel_colours) / sizeof(channel_colours[0]))];
	return viridis_at((double)i / (double)count);
}

/* ---- pieces */

static void add_numbers(struct drawing *d, const double *numbers, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		tw_str_add_real(d->out, numbers[i]);
		tw_str_add_char(d->out, ' ');
	}
}

static void add_pair(struct drawing *d, double x, double y)
{
	const double columns[] = { x, y };

	add_numbers(d, columns, 2);
	tw_str_add_char(d->out, '\n');
}

/* From one point to another, as "vectors" have it: drawn by itself, with square ends. */
static void add_line(struct drawing *d, double x1, double y1, double x2, double y2)
{
	const double columns[] = { x1, y1, x2 - x1, y2 - y1 };

	add_numbers(d, columns, 4);
	tw_str_add_char(d->out, '\n');
}

static void add_across(struct drawing *d, double middle, double half, double y)
{
	add_line(d, middle - half, y, middle + half, y);
}

static void begin_block(struct drawing *d, const char *name)
{
	tw_str_addf(d->out, "$%s << EOD\n", name);
}

static void end_block(struct drawing *d)
{
	tw_str_add_cstr(d->out, "EOD\n");
}

/* `wide`: of a picture with text of usual size, in inches as the others. */
static void begin_picture(struct drawing *d, double width, double height, double wide)
{
	d->picture.zoom = width / wide;
	d->picture.width = wide * INCH;
	d->picture.height = height * INCH / d->picture.zoom;
	tw_picture_begin(&d->picture);
}

static size_t digits_of(int64_t number)
{
	char text[24];

	return (size_t)snprintf(text, sizeof(text), "%lld", (long long)number);
}

/* How many samples there are of each of what is drawn. */
struct samples {
	size_t least, most, groups;
};

static void add_samples(struct samples *s, size_t count)
{
	s->least = !s->groups || count < s->least ? count : s->least;
	s->most = count > s->most ? count : s->most;
	s->groups++;
}

/* "n = 40 each", "n = 38 to 40" */
static void tell_samples(const struct samples *s, char *text, size_t size)
{
	if (s->least != s->most)
		snprintf(text, size, "n = %zu to %zu", s->least, s->most);
	else
		snprintf(text, size, "n = %zu%s", s->least, s->groups > 1 ? " each" : "");
}

static void tell_group_samples(const struct tw_variance_group *groups, size_t count, char *text,
			       size_t size)
{
	struct samples s = { 0 };
	size_t i;

	for (i = 0; i < count; i++)
		add_samples(&s, groups[i].spread.count);
	tell_samples(&s, text, size);
}

/*
 * Lays the axes out within those edges of the picture (panel->left, right and top are given), and
 * names them; `note` is below the title.
 */
static void add_axes(struct drawing *d, struct tw_panel *panel, const struct look *look,
		     const char *left_name, const char *note, const int64_t *numbers, size_t count)
{
	size_t letters = 0, i;
	struct tw_panel_labels labels;
	struct tw_picture_text name = { .size = NAME_SIZE, .align = TW_TEXT_CENTER, .bold = true };

	for (i = 0; i < count; i++)
		letters = digits_of(numbers[i]) > letters ? digits_of(numbers[i]) : letters;
	letters += strlen(look->before) + strlen(look->after);
	name.x = panel->left + NAME_SIZE / 2;
	panel->left += NAME_SIZE + GAP + panel->digits_width + GAP;
	labels = tw_panel_fit(count, letters, panel->right - panel->left, panel->size);
	panel->bottom = EDGE + NAME_SIZE + GAP + labels.room + GAP;
	tw_panel_frame(&d->picture, panel, &labels, look->before, look->after, numbers, count);
	name.y = (panel->bottom + panel->top) / 2;
	name.turned = true;
	tw_picture_text(&d->picture, left_name, name);
	name.x = (panel->left + panel->right) / 2;
	name.y = EDGE + NAME_SIZE / 2;
	name.turned = false;
	tw_picture_text(&d->picture, look->name, name);
	name.y = panel->top + NOTE_SIZE + TITLE_SIZE + 6;
	name.size = TITLE_SIZE;
	tw_picture_text(&d->picture, look->title, name);
	name.y = panel->top + NOTE_SIZE;
	name.size = NOTE_SIZE;
	name.bold = false;
	tw_picture_text(&d->picture, note, name);
}

static int64_t *numbers_of(struct drawing *d, const struct tw_variance_group *groups, size_t count)
{
	int64_t *numbers = tw_arena_alloc(&d->arena, count * sizeof(*numbers));
	size_t i;

	for (i = 0; numbers && i < count; i++)
		numbers[i] = groups[i].number;
	return numbers;
}

static void range_of(struct drawing *d, struct tw_panel *panel)
{
	double least = INFINITY, greatest = -INFINITY;
	size_t i;

	for (i = 0; i < d->count; i++) {
		least = fmin(least, d->points[i].difference_us);
		greatest = fmax(greatest, d->points[i].difference_us);
	}
	tw_panel_range(&d->picture, panel, least, greatest);
}

/* ---- box plots */

static void add_boxes(struct drawing *d, const struct tw_variance_group *groups, size_t count,
		      enum tw_variance_by by)
{
	size_t i;

	begin_block(d, "boxes");
	for (i = 0; i < count; i++) {
		double x = (double)(i + 1);
		const double columns[] = { x,
					   groups[i].spread.median,
					   x - BOX_HALF,
					   x + BOX_HALF,
					   groups[i].spread.low,
					   groups[i].spread.high };

		add_numbers(d, columns, 6);
		tw_str_addf(d->out, "%u\n", box_colour(by, i, count));
	}
	end_block(d);
}

static void add_whiskers(struct drawing *d, const struct tw_variance_group *groups, size_t count)
{
	size_t i;

	begin_block(d, "whiskers");
	for (i = 0; i < count; i++) {
		const struct tw_distribution *s = &groups[i].spread;
		double x = (double)(i + 1);

		add_line(d, x, s->low, x, s->low_whisker);
		add_line(d, x, s->high, x, s->high_whisker);
		add_across(d, x, CAP_HALF, s->low_whisker);
		add_across(d, x, CAP_HALF, s->high_whisker);
	}
	end_block(d);
}

static void add_middles(struct drawing *d, const struct tw_variance_group *groups, size_t count)
{
	size_t i;

	begin_block(d, "medians");
	for (i = 0; i < count; i++)
		add_across(d, (double)(i + 1), BOX_HALF, groups[i].spread.median);
	end_block(d);
	begin_block(d, "means");
	for (i = 0; i < count; i++)
		add_across(d, (double)(i + 1), BOX_HALF, groups[i].spread.mean);
	end_block(d);
}

/* What is beyond the whiskers; whether there is any. */
static bool add_fliers(struct drawing *d, const struct tw_variance_group *groups, size_t count)
{
	bool any = false;
	size_t i, k;

	begin_block(d, "fliers");
	for (i = 0; i < count; i++) {
		const struct tw_distribution *s = &groups[i].spread;

		for (k = 0; k < s->count; k++) {
			double value = groups[i].values[k];

			if (value >= s->low_whisker && value <= s->high_whisker)
				continue;
			add_pair(d, (double)(i + 1), value);
			any = true;
		}
	}
	end_block(d);
	return any;
}

static bool draw_boxes(struct drawing *d, const struct look *look)
{
	struct tw_panel panel = { .left = EDGE, .size = LABEL_SIZE };
	struct tw_variance_group *groups;
	char samples[64], note[160];
	int64_t *numbers;
	size_t count;
	bool fliers;

	groups = tw_variance_groups(d->points, d->count, look->by, &d->arena, &count);
	numbers = groups ? numbers_of(d, groups, count) : NULL;
	if (!numbers)
		return false;
	begin_picture(d, look->width, look->height, WIDTH_INCHES);
	panel.right = d->picture.width - EDGE;
	panel.top = d->picture.height - TITLE_ROOM;
	range_of(d, &panel);
	tell_group_samples(groups, count, samples, sizeof(samples));
	snprintf(note, sizeof(note),
		 "%s; solid line: median, dashed: mean, box: quartiles, whiskers: 1.5 IQR",
		 samples);
	add_axes(d, &panel, look, TIME_AXIS, note, numbers, count);
	add_boxes(d, groups, count, look->by);
	add_whiskers(d, groups, count);
	add_middles(d, groups, count);
	fliers = add_fliers(d, groups, count);
	tw_str_add_cstr(d->out,
			"plot $boxes using 1:2:3:4:5:6:7 with boxxyerror fs solid 1 border lc rgb "
			"'#000000' lc rgb variable lw 1, "
			"$whiskers with vectors nohead lc rgb '#000000' lw 1, "
			"$medians with vectors nohead lc rgb '#ff7f0e' lw 1.4, "
			"$means with vectors nohead lc rgb '#2ca02c' lw 1.4 dt (16,8)");
	if (fliers) {
		tw_str_add_cstr(d->out, ", $fliers with points pt 6 lw 1 lc rgb '#000000' ps ");
		tw_str_add_real(d->out, tw_picture_point_size(&d->picture, FLIER_RADIUS));
	}
	tw_str_add_char(d->out, '\n');
	return true;
}

/* ---- violins */

/* Up on one side and down on the other; numbers that do not differ are only lines. */
static bool add_body(struct drawing *d, const struct tw_variance_group *g, double x)
{
	const struct tw_distribution *s = &g->spread;
	double density[DENSITY_POINTS];
	size_t i;

	if (!tw_density(g->values, s->count, density, DENSITY_POINTS))
		return false;
	for (i = 0; i < 2 * (size_t)DENSITY_POINTS; i++) {
		bool down = i >= DENSITY_POINTS;
		size_t k = down ? 2 * DENSITY_POINTS - 1 - i : i;
		double half = density[k] * (down ? -VIOLIN_HALF : VIOLIN_HALF);

		add_pair(d, x + half,
			 s->min + (s->max - s->min) * (double)k / (DENSITY_POINTS - 1));
	}
	tw_str_add_char(d->out, '\n');
	return true;
}

static void add_bars(struct drawing *d, const struct tw_distribution *s, double x)
{
	add_line(d, x, s->min, x, s->max);
	add_across(d, x, BAR_HALF, s->min);
	add_across(d, x, BAR_HALF, s->mean);
	add_across(d, x, BAR_HALF, s->median);
	add_across(d, x, BAR_HALF, s->max);
}

static bool add_violins(struct drawing *d, struct tw_panel panel, const struct look *look,
			const char *colour)
{
	struct tw_variance_group *groups;
	char samples[64];
	bool bodies = false;
	int64_t *numbers;
	size_t count, i;

	groups = tw_variance_groups(d->points, d->count, look->by, &d->arena, &count);
	numbers = groups ? numbers_of(d, groups, count) : NULL;
	if (!numbers)
		return false;
	tell_group_samples(groups, count, samples, sizeof(samples));
	add_axes(d, &panel, look, TIME_AXIS, samples, numbers, count);
	begin_block(d, "bodies");
	for (i = 0; i < count; i++)
		bodies |= add_body(d, &groups[i], (double)(i + 1));
	end_block(d);
	begin_block(d, "bars");
	for (i = 0; i < count; i++)
		add_bars(d, &groups[i].spread, (double)(i + 1));
	end_block(d);
	tw_str_add_cstr(d->out, "plot ");
	if (bodies)
		tw_str_addf(d->out,
			    "$bodies with filledcurves closed fs transparent solid 0.7 noborder "
			    "fc rgb '%s', ",
			    colour);
	tw_str_add_cstr(d->out, "$bars with vectors nohead lc rgb '#1f77b4' lw ");
	/* Where violins are narrow, lines that leave them to be seen. */
	tw_str_add_real(d->out,
			fmax(fmin((panel.right - panel.left) / (double)count / 12, 2), 0.5));
	tw_str_add_cstr(d->out, "\nunset label\n");
	return true;
}

static bool draw_violins(struct drawing *d)
{
	static const struct look looks[] = {
		{ 20, 6, TW_BY_THREADS, "", "t", "Threads", "By Thread Count" },
		{ 20, 6, TW_BY_CHANNELS, "", "ch", "Channels", "By Channel Count" },
		{ 20, 6, TW_BY_RANK, "R", "", "Ranks", "By Rank" },
	};
	static const char *const colours[] = { "#add8e6", "#f08080", "#90ee90" };
	struct tw_picture_text title = { .size = 20, .align = TW_TEXT_CENTER, .bold = true };
	struct tw_panel panel = { .size = LABEL_SIZE, .only_horizontal = true };
	bool fine = true;
	size_t i;

	begin_picture(d, looks[0].width, looks[0].height, VIOLINS_INCHES);
	tw_str_add_cstr(d->out, "set multiplot\n");
	title.x = d->picture.width / 2;
	title.y = d->picture.height - 18;
	tw_picture_text(&d->picture, "GEMM Kernel Time Variance Distribution", title);
	range_of(d, &panel);
	panel.top = d->picture.height - 30 - TITLE_ROOM;
	for (i = 0; i < 3 && fine; i++) {
		panel.left = d->picture.width * (double)i / 3 + EDGE;
		panel.right = d->picture.width * (double)(i + 1) / 3 - EDGE;
		fine = add_violins(d, panel, &looks[i], colours[i]);
	}
	tw_str_add_cstr(d->out, "unset multiplot\n");
	return fine;
}

/* ---- means of threads over channels */

#define LEGEND_SIZE 12.0
#define LEGEND_PITCH 20.0
#define LEGEND_LEAST 10.0
#define LEGEND_LINE 30.0
/* The marker of this number of threads is a circle, or that of the first where it is not there. */
#define CIRCLE_THREADS 256

/* The mean of a number of threads with a number of channels. */
struct mean {
	size_t thread, channel; /* which one, from 0 */
	double us;
};

struct interaction {
	const struct tw_variance_group *threads, *channels;
	size_t thread_count, channel_count, circle;
	struct mean *means; /* by threads, then channels */
	size_t count;
	struct samples samples; /* of the means */
	double least, greatest;
};

static int compare_points(const void *a, const void *b)
{
	const struct tw_variance_point *p = a, *q = b;

	if (p->threads != q->threads)
		return p->threads < q->threads ? -1 : 1;
	return (p->channels > q->channels) - (p->channels < q->channels);
}

static bool same_mean(const struct tw_variance_point *p, const struct tw_variance_point *q)
{
	return p->threads == q->threads && p->channels == q->channels;
}

static bool collect_means(struct drawing *d, struct interaction *n)
{
	struct tw_variance_point *list = tw_arena_alloc(&d->arena, d->count * sizeof(*list));
	double *values = tw_arena_alloc(&d->arena, d->count * sizeof(*values));
	size_t i, end, thread = 0, channel = 0;

	n->means = tw_arena_alloc(&d->arena, d->count * sizeof(*n->means));
	if (!list || !values || !n->means)
		return false;
	memcpy(list, d->points, d->count * sizeof(*list));
	qsort(list, d->count, sizeof(*list), compare_points);
	for (i = 0; i < d->count; i = end) {
		double mean;

		for (end = i; end < d->count && same_mean(&list[end], &list[i]); end++)
			values[end] = list[end].difference_us;
		mean = tw_distribution_of(values + i, end - i).mean;
		if (i && list[i].threads != list[i - 1].threads) {
			thread++;
			channel = 0;
		}
		while (n->channels[channel].number != list[i].channels)
			channel++;
		n->means[n->count++] = (struct mean){ thread, channel, mean };
		add_samples(&n->samples, end - i);
		n->least = fmin(n->least, mean);
		n->greatest = fmax(n->greatest, mean);
	}
	return true;
}

/* Ten colours, then the same darker, then lighter. */
static uint32_t line_colour(size_t i)
{
	uint32_t colour = line_colours[i % LINE_COLOURS], out = 0;
	unsigned mix = i / LINE_COLOURS % 3 == 2 ? 255 : 0, k;

	if (i / LINE_COLOURS % 3 == 0)
		return colour;
	for (k = 0; k < 3; k++)
		out = out << 8 | (((colour >> (16 - 8 * k)) & 255) * 6 + mix * 4) / 10;
	return out;
}

/* Where a combination is not there the line has a gap. */
static void add_lines(struct drawing *d, const struct interaction *n)
{
	size_t i;

	begin_block(d, "lines");
	for (i = 0; i < n->count; i++) {
		const struct mean *m = &n->means[i];

		if (i && (m->thread != m[-1].thread || m->channel != m[-1].channel + 1))
			tw_str_add_char(d->out, '\n');
		tw_str_addf(d->out, "%zu ", m->channel + 1);
		tw_str_add_real(d->out, m->us);
		tw_str_addf(d->out, " %u\n", line_colour(m->thread));
	}
	end_block(d);
}

/* The circles of one number of threads, or the squares of the others. */
static void add_markers(struct drawing *d, const struct interaction *n, bool circle)
{
	size_t i;

	begin_block(d, circle ? "circles" : "squares");
	for (i = 0; i < n->count; i++) {
		const struct mean *m = &n->means[i];

		if ((m->thread == n->circle) != circle)
			continue;
		tw_str_addf(d->out, "%zu ", m->channel + 1);
		tw_str_add_real(d->out, m->us);
		tw_str_addf(d->out, " %u\n", line_colour(m->thread));
	}
	end_block(d);
}

static void add_legend_line(struct drawing *d, const struct interaction *n, size_t i, double x,
			    double y, double size)
{
	struct tw_picture_text place = { x + LEGEND_LINE + 8, y, size, TW_TEXT_LEFT, false, false };
	char text[40];

	tw_str_add_cstr(d->out, "set arrow from");
	tw_picture_at(&d->picture, x, y);
	tw_str_add_cstr(d->out, " to");
	tw_picture_at(&d->picture, x + LEGEND_LINE, y);
	tw_str_addf(d->out, " nohead lw 2.2 lc rgb '#%06x'\nset label '' at", line_colour(i));
	tw_picture_at(&d->picture, x + LEGEND_LINE / 2, y);
	tw_str_addf(d->out, " point pt %d lc rgb '#%06x' ps ", i == n->circle ? 7 : 5,
		    line_colour(i));
	tw_str_add_real(d->out, tw_picture_point_size(&d->picture, fmin(MARKER_RADIUS, size / 2)));
	tw_str_add_char(d->out, '\n');
	snprintf(text, sizeof(text), "%lld threads", (long long)n->threads[i].number);
	tw_picture_text(&d->picture, text, place);
}

/* Beside the axes, closer together when there are many; those beyond are counted. */
static void add_legend(struct drawing *d, const struct interaction *n, const struct tw_panel *panel)
{
	double room = panel->top - panel->bottom, x = panel->right + GAP;
	double pitch = fmin(LEGEND_PITCH, fmax(LEGEND_LEAST, room / (double)n->thread_count));
	size_t shown = (size_t)(room / pitch), i;
	double y = panel->top - pitch / 2, size = fmin(LEGEND_SIZE, pitch * 0.8);
	char text[40];

	if (n->thread_count <= shown)
		shown = n->thread_count;
	else
		shown--;
	for (i = 0; i < shown; i++, y -= pitch)
		add_legend_line(d, n, i, x, y, size);
	if (shown == n->thread_count)
		return;
	snprintf(text, sizeof(text), "and %zu more", n->thread_count - shown);
	tw_picture_text(&d->picture, text,
			(struct tw_picture_text){ x, y, size, TW_TEXT_LEFT, false, false });
}

static double legend_width(const struct interaction *n)
{
	size_t letters = 0, i;

	for (i = 0; i < n->thread_count; i++) {
		size_t own = digits_of(n->threads[i].number);

		letters = own > letters ? own : letters;
	}
	return LEGEND_LINE + 2 * GAP + (double)(letters + strlen(" threads")) * LEGEND_SIZE * 0.6;
}

static void plot_interaction(struct drawing *d, const struct interaction *n)
{
	static const char *const names[] = { "circles", "squares" };
	size_t i;

	tw_str_add_cstr(d->out, "plot $lines using 1:2:3 with lines lw 2.2 lc rgb variable");
	for (i = 0; i < 2; i++) {
		if (i && n->thread_count == 1)
			break;
		tw_str_addf(d->out, ", $%s using 1:2:3 with points pt %d lc rgb variable ps ",
			    names[i], i ? 5 : 7);
		tw_str_add_real(d->out, tw_picture_point_size(&d->picture, MARKER_RADIUS));
	}
	tw_str_add_char(d->out, '\n');
}

static bool draw_interaction(struct drawing *d)
{
	static const struct look look = { 12,
					  7,
					  TW_BY_CHANNELS,
					  "",
					  "ch",
					  "Channel Count",
					  "Thread-Channel Interaction: Mean Variance" };
	struct interaction n = { .least = INFINITY, .greatest = -INFINITY };
	struct tw_panel panel = { .left = EDGE, .size = LABEL_SIZE };
	char samples[64];
	int64_t *numbers;
	size_t i;

	n.threads =
		tw_variance_groups(d->points, d->count, TW_BY_THREADS, &d->arena, &n.thread_count);
	n.channels = tw_variance_groups(d->points, d->count, TW_BY_CHANNELS, &d->arena,
					&n.channel_count);
	numbers = n.channels ? numbers_of(d, n.channels, n.channel_count) : NULL;
	if (!n.threads || !numbers || !collect_means(d, &n))
		return false;
	for (i = 0; i < n.thread_count; i++)
		if (n.threads[i].number == CIRCLE_THREADS)
			n.circle = i;
	begin_picture(d, look.width, look.height, WIDTH_INCHES);
	panel.right = d->picture.width - EDGE - legend_width(&n);
	panel.top = d->picture.height - TITLE_ROOM;
	tw_panel_range(&d->picture, &panel, n.least, n.greatest);
	tell_samples(&n.samples, samples, sizeof(samples));
	add_axes(d, &panel, &look, "Mean Time Difference (us)", samples, numbers, n.channel_count);
	add_legend(d, &n, &panel);
	add_lines(d, &n);
	add_markers(d, &n, true);
	add_markers(d, &n, false);
	plot_interaction(d, &n);
	return true;
}

/* ---- all of them */

void tw_variance_plot_script(enum tw_variance_plot plot, const struct tw_variance_point *points,
			     size_t count, bool svg, struct tw_str *out)
{
	struct drawing d = { .picture = { .out = out, .svg = svg }, .out = out };
	bool fine;

	d.points = points;
	d.count = count;
	tw_arena_init(&d.arena, out->allocator);
	fine = plot == TW_PLOT_VIOLINS	   ? draw_violins(&d) :
	       plot == TW_PLOT_INTERACTION ? draw_interaction(&d) :
					     draw_boxes(&d, &boxes[plot]);
	out->failed = out->failed || !fine;
	tw_arena_release(&d.arena);
}

struct batch {
	const struct tw_variance_point *points;
	size_t count;
	const char *dir;
	bool svg, *done;
	const struct trawl_allocator *allocator;
	struct trawl_error errors[TW_VARIANCE_PLOTS];
};

static void draw(void *context, size_t i)
{
	/* The largest first, so that what comes last does not take long. */
	static const enum tw_variance_plot order[TW_VARIANCE_PLOTS] = {
		TW_PLOT_VIOLINS, TW_PLOT_RANKS, TW_PLOT_INTERACTION, TW_PLOT_CHANNELS,
		TW_PLOT_THREADS
	};
	struct batch *b = context;
	enum tw_variance_plot plot = order[i];
	struct tw_str script, path;

	tw_str_init(&script, b->allocator);
	tw_str_init(&path, b->allocator);
	tw_str_addf(&path, "%s/%s.%s", b->dir, tw_variance_plot_names[plot],
		    b->svg ? "svg" : "png");
	tw_variance_plot_script(plot, b->points, b->count, b->svg, &script);
	if (path.failed || script.failed)
		trawl_error_set(&b->errors[plot], TRAWL_ENOMEM, "cannot draw '%s': out of memory",
				tw_variance_plot_names[plot]);
	else
		b->done[plot] = !tw_gnuplot_draw(&script, path.ptr, b->allocator, &b->errors[plot]);
	tw_str_release(&path);
	tw_str_release(&script);
}

int tw_render_variance_plots(const struct tw_variance_point *points, size_t count, const char *dir,
			     bool svg, unsigned threads, bool done[TW_VARIANCE_PLOTS],
			     const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct batch b = { .points = points, .count = count, .dir = dir, .svg = svg, .done = done };
	size_t i;

	memset(done, 0, TW_VARIANCE_PLOTS * sizeof(*done));
	if (!count)
		return trawl_error_set(err, TRAWL_ENODATA, "nothing to draw");
	b.allocator = allocator;
	tw_parallel(threads, TW_VARIANCE_PLOTS, draw, &b);
	for (i = 0; i < TW_VARIANCE_PLOTS; i++) {
		if (done[i])
			continue;
		if (err)
			*err = b.errors[i];
		return b.errors[i].status;
	}
	return 0;
}
