#include "render/charts/metrics_timeline_plot.h"

#include "render/charts/gnuplot.h"

#include <math.h>
#include <string.h>

/* 14 inches by 3 a panel, at 150 dots each; the legend has a strip of its own above them. */
#define DOTS 150
#define WIDTH (14 * DOTS)
#define PANEL (3 * DOTS)
#define LEGEND 50
#define LEFT 330
#define RIGHT 30
#define ABOVE 58  /* in a panel, its title */
#define BELOW 112 /* numbers and name of the axis */
#define BAR_HEIGHT 0.8
/* In dots: a point of a font, and a cell of a text of one point. */
#define POINT 3.47
#define LABEL_CELL 2.15
#define LANE_POINTS 9.0
#define LABEL_POINTS 7.0
#define NAME_CELLS 20
#define LABELLED_NS 1000000 /* shorter bars have no room for a name */

static const struct {
	const char *name, *colour;
} kinds[TW_LANE_KINDS] = {
	{ "Compute", "#2E86AB" },  { "Communication", "#A23B72" }, { "Optimizer", "#F18F01" },
	{ "Prefetch", "#C73E1D" }, { "Other", "#CCCCCC" },
};

static void add_ms(struct tw_str *out, int64_t ns)
{
	tw_str_add_decimal(out, ns, 6);
}

/* Where a panel is, from the top, as a share of the picture. */
static double share(size_t count, double dots_from_top)
{
	double height = LEGEND + (double)count * PANEL;

	return 1 - dots_from_top / height;
}

static void add_margins(struct tw_str *out, size_t count, size_t at)
{
	double top = LEGEND + (double)at * PANEL;

	tw_str_add_cstr(out, "set lmargin at screen ");
	tw_str_add_real(out, (double)LEFT / WIDTH);
	tw_str_add_cstr(out, "\nset rmargin at screen ");
	tw_str_add_real(out, 1 - (double)RIGHT / WIDTH);
	tw_str_add_cstr(out, "\nset tmargin at screen ");
	tw_str_add_real(out, share(count, top + ABOVE));
	tw_str_add_cstr(out, "\nset bmargin at screen ");
	tw_str_add_real(out, share(count, top + PANEL - BELOW));
	tw_str_add_char(out, '\n');
}

/* The same for all panels, so that lengths compare. */
static int64_t axis_ns(const struct tw_lane_panel *panels, size_t count)
{
	int64_t longest_ns = 0;
	size_t i;

	for (i = 0; i < count; i++)
		if (panels[i].total_ns > longest_ns)
			longest_ns = panels[i].total_ns;
	return longest_ns > 0 ? longest_ns + longest_ns / 20 : 1000000;
}

/* Over the panels; what each colour is. */
static void add_legend(struct tw_str *out, size_t count)
{
	double x = LEFT;
	size_t i;

	for (i = 0; i < TW_LANE_KINDS; i++) {
		tw_str_addf(out, "set object %zu rectangle from screen ", i + 1);
		tw_str_add_real(out, x / WIDTH);
		tw_str_add_cstr(out, ", screen ");
		tw_str_add_real(out, share(count, 38));
		tw_str_add_cstr(out, " to screen ");
		tw_str_add_real(out, (x + 40) / WIDTH);
		tw_str_add_cstr(out, ", screen ");
		tw_str_add_real(out, share(count, 12));
		tw_str_addf(out, " fs solid noborder fc rgb '%s'\nset label %zu '%s' at screen ",
			    kinds[i].colour, i + 1, kinds[i].name);
		tw_str_add_real(out, (x + 50) / WIDTH);
		tw_str_add_cstr(out, ", screen ");
		tw_str_add_real(out, share(count, 25));
		tw_str_add_cstr(out, " left font 'sans,9'\n");
		x += 345;
	}
}

/* The label of a tick is a format for its number. */
static void add_tick_label(struct tw_str *out, const char *text)
{
	struct tw_str quoted;
	size_t i;

	tw_str_init(&quoted, out->allocator);
	tw_gnuplot_quote(&quoted, text, NAME_CELLS);
	for (i = 0; i < quoted.len; i++) {
		if (quoted.ptr[i] == '%')
			tw_str_add_char(out, '%');
		tw_str_add_char(out, quoted.ptr[i]);
	}
	out->failed = out->failed || quoted.failed;
	tw_str_release(&quoted);
}

/* A font of so many points, or less where lanes are narrow. */
static double fitting(const struct tw_lane_panel *panel, double points)
{
	double pitch = (double)(PANEL - ABOVE - BELOW) / (double)(panel->lane_count + 1);

	return fmax(fmin(points, pitch / POINT), 3);
}

static void add_lanes(struct tw_str *out, const struct tw_lane_panel *panel, int64_t axis)
{
	size_t i;

	tw_str_add_cstr(out, "set ytics (");
	for (i = 0; i < panel->lane_count; i++) {
		tw_str_add_cstr(out, i ? ", " : "");
		add_tick_label(out, panel->lanes[i]);
		tw_str_addf(out, " %zu", i);
	}
	tw_str_add_cstr(out, ") out nomirror font 'sans,");
	tw_str_add_real_fixed(out, fitting(panel, LANE_POINTS), 1);
	tw_str_addf(out, "'\nset yrange [-0.5:%zu.5]\nset xrange [0:",
		    panel->lane_count ? panel->lane_count - 1 : 0);
	add_ms(out, axis);
	tw_str_add_cstr(out, "]\n");
}

/* left right lane, a block a kind. */
static void add_bars(struct tw_str *out, const struct tw_lane_panel *panel, unsigned kind)
{
	size_t i;

	tw_str_addf(out, "$k%u << EOD\n", kind);
	for (i = 0; i < panel->bar_count; i++) {
		const struct tw_lane_bar *bar = &panel->bars[i];

		if (bar->kind != kind)
			continue;
		add_ms(out, bar->start_ns);
		tw_str_add_char(out, ' ');
		add_ms(out, bar->end_ns);
		tw_str_addf(out, " %zu\n", bar->lane);
	}
	tw_str_add_cstr(out, "EOD\n");
}

static bool has_kind(const struct tw_lane_panel *panel, unsigned kind)
{
	size_t i;

	for (i = 0; i < panel->bar_count; i++)
		if (panel->bars[i].kind == kind)
			return true;
	return false;
}

/* Where there is room for a name: whole, or shortened. */
static void add_labels(struct tw_str *out, const struct tw_lane_panel *panel, int64_t axis)
{
	double dots_a_ns = (double)(WIDTH - LEFT - RIGHT) / (double)axis;
	double points = fitting(panel, LABEL_POINTS);
	size_t i;

	for (i = 0; i < panel->bar_count; i++) {
		const struct tw_lane_bar *bar = &panel->bars[i];
		int64_t length = bar->end_ns - bar->start_ns;
		size_t cells = (size_t)((double)length * dots_a_ns / points / LABEL_CELL);

		if (length <= LABELLED_NS || cells < 3)
			continue;
		tw_str_add_cstr(out, "set label ");
		tw_gnuplot_quote(out, bar->label, cells);
		tw_str_add_cstr(out, " at ");
		add_ms(out, bar->start_ns + length / 2);
		tw_str_addf(out, ",%zu center front font 'sans,", bar->lane);
		tw_str_add_real_fixed(out, points, 1);
		tw_str_add_cstr(out, "'\n");
	}
}

static void add_panel(struct tw_str *out, const struct tw_lane_panel *panels, size_t count,
		      size_t at)
{
	const struct tw_lane_panel *panel = &panels[at];
	int64_t axis = axis_ns(panels, count);
	unsigned kind;
	bool drawn = false;

	tw_str_add_cstr(out, "unset label\nunset object\n");
	if (!at)
		add_legend(out, count);
	add_margins(out, count, at);
	tw_str_add_cstr(out, "set title ");
	tw_gnuplot_quote(out, panel->title, 0);
	tw_str_add_cstr(out, " font 'sans,11' offset 0,-0.7\n");
	add_lanes(out, panel, axis);
	add_labels(out, panel, axis);
	for (kind = 0; kind < TW_LANE_KINDS; kind++)
		if (has_kind(panel, kind))
			add_bars(out, panel, kind);
	tw_str_add_cstr(out, "plot");
	for (kind = 0; kind < TW_LANE_KINDS; kind++) {
		if (!has_kind(panel, kind))
			continue;
		tw_str_addf(out,
			    "%s $k%u using (($1+$2)/2):3:1:2:($3-%.1f):($3+%.1f) with boxxyerror "
			    "fs transparent solid 0.8 border lc rgb '#222222' fc rgb '%s' notitle",
			    drawn ? "," : "", kind, BAR_HEIGHT / 2, BAR_HEIGHT / 2,
			    kinds[kind].colour);
		drawn = true;
	}
	tw_str_add_cstr(out, drawn ? "\n" : " NaN notitle\n");
}

void tw_lanes_script(const struct tw_lane_panel *panels, size_t count, struct tw_str *script)
{
	size_t i;

	tw_str_addf(script,
		    "set encoding utf8\n"
		    "set terminal pngcairo size %d,%zu noenhanced font 'sans,9' fontscale 2.6 "
		    "background rgb '#ffffff'\n"
		    "unset key\nset border lc rgb '#222222'\nset grid x lc rgb '#dddddd' lt 1\n"
		    "set xlabel 'Time (ms)' offset 0,0.8\nset xtics out nomirror offset 0,0.3\n"
		    "set multiplot\n",
		    WIDTH, LEGEND + count * PANEL);
	for (i = 0; i < count; i++)
		add_panel(script, panels, count, i);
	tw_str_add_cstr(script, "unset multiplot\n");
}

int tw_render_lanes(const struct tw_lane_panel *panels, size_t count, const char *path,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_str script;
	int status;

	if (count > TW_LANE_PANELS_MOST)
		return trawl_error_set(err, TRAWL_ELIMIT, "cannot draw '%s': more than %d panels",
				       path, TW_LANE_PANELS_MOST);
	tw_str_init(&script, allocator);
	tw_lanes_script(panels, count, &script);
	status = tw_gnuplot_draw(&script, path, allocator, err);
	tw_str_release(&script);
	return status;
}
