#include "render/charts/roofline_chart.h"

#include "base/alloc.h"
#include "render/charts/gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The axes, in pixels from the lower left corner; to the right of them stand names. */
#define LEFT 90.0
#define RIGHT 820.0
#define BOTTOM 80.0
#define TOP 730.0
#define LIST_LEFT 850.0
#define LIST_NAME_CELLS 40
#define LIST_DETAIL_CELLS 48

/* Radius of a point that has all the time; none is smaller than the least. */
#define LARGEST_RADIUS 42.0
#define MIN_RADIUS 3.0
/* gnuplot's point 7 has this radius in pixels at pointsize 1. */
#define RADIUS_OF_SIZE 3.05
/* A number fits into a point of this radius. */
#define ROOMY_RADIUS 9.0
/* Height of a line of text, and the width of a letter, at the size of labels. */
#define LINE 17.0
#define LETTER 8.0

/* Distinguishable with color blindness (Okabe and Ito). */
static const char *const colours[] = { "0072b2", "d55e00", "009e73", "cc79a7",
				       "e69f00", "56b4e9", "8c6d1f", "444444" };
#define COLOURS (sizeof(colours) / sizeof(colours[0]))
#define NO_SPEC_COLOUR "888888"

struct spec {
	const char *name;
	const char *colour;
	double tflops; /* of its ceiling, NaN: none */
};

struct box {
	double left, bottom, right, top;
};

struct drawing {
	const struct tw_roofline_chart *chart;
	struct tw_str out;
	const struct tw_chart_point **points; /* that can be drawn, the largest first */
	size_t count;
	struct spec *specs; /* room for one of each point */
	size_t spec_count;
	double x_low, x_high, y_low, y_high; /* of the axes */
	struct box taken[4 * TW_CHART_NAMED];
	size_t taken_count;
};

/* ---- what is drawn */

static bool can_be_drawn(const struct tw_chart_point *p)
{
	return isfinite(p->flops_per_byte) && p->flops_per_byte > 0 && isfinite(p->tflops_per_s) &&
	       p->tflops_per_s > 0;
}

/* The largest first; equal ones as they came: all are elements of one array. */
static int compare_points(const void *a, const void *b)
{
	const struct tw_chart_point *p = *(const struct tw_chart_point *const *)a;
	const struct tw_chart_point *q = *(const struct tw_chart_point *const *)b;

	if (p->time_frac != q->time_frac)
		return p->time_frac > q->time_frac ? -1 : 1;
	return p < q ? -1 : p > q;
}

static struct spec *find_spec(struct drawing *d, const char *name)
{
	size_t i;

	for (i = 0; i < d->spec_count; i++)
		if (!strcmp(d->specs[i].name, name))
			return &d->specs[i];
	return NULL;
}

/* The precisions that occur, by their largest point, each with its colour and ceiling. */
static void collect_specs(struct drawing *d)
{
	size_t i, k;

	for (i = 0; i < d->count; i++) {
		const struct tw_chart_point *p = d->points[i];
		struct spec *spec = find_spec(d, p->spec);

		if (!spec) {
			spec = &d->specs[d->spec_count];
			*spec = (struct spec){ .name = p->spec, .tflops = NAN };
			spec->colour = *p->spec ? colours[d->spec_count % COLOURS] : NO_SPEC_COLOUR;
			d->spec_count++;
			for (k = 0; k < d->chart->ceiling_count; k++)
				if (*p->spec && !strcmp(d->chart->ceilings[k].spec, p->spec))
					spec->tflops = d->chart->ceilings[k].tflops;
		}
	}
}

static const char *colour_of(struct drawing *d, const struct tw_chart_point *p)
{
	const struct spec *spec = find_spec(d, p->spec);

	return spec ? spec->colour : NO_SPEC_COLOUR;
}

/* Ends at half decades, and at least two decades, so that there are numbers to read. */
static void set_axis(double low, double high, double *axis_low, double *axis_high)
{
	double first = floor(log10(low) * 2), last = ceil(log10(high) * 2);

	while (last - first < 4) {
		first--;
		last++;
	}
	*axis_low = pow(10, first / 2);
	*axis_high = pow(10, last / 2);
}

/* FLOPs per byte where the bandwidth's line meets a ceiling. */
static double ridge(const struct drawing *d, double tflops)
{
	return tflops * 1e3 / d->chart->mem_bw_gbps;
}

/* fmin and fmax pass over what is not known. */
static void choose_axes(struct drawing *d)
{
	double x_low = INFINITY, x_high = 0, y_low = INFINITY, y_high = 0;
	size_t i;

	for (i = 0; i < d->count; i++) {
		const struct tw_chart_point *p = d->points[i];

		x_low = fmin(x_low, p->flops_per_byte);
		x_high = fmax(x_high, p->flops_per_byte);
		y_low = fmin(y_low, p->tflops_per_s);
		y_high = fmax(y_high, p->tflops_per_s);
	}
	for (i = 0; i < d->spec_count; i++) {
		x_low = fmin(x_low, ridge(d, d->specs[i].tflops) / 4);
		x_high = fmax(x_high, ridge(d, d->specs[i].tflops) * 8);
		y_high = fmax(y_high, d->specs[i].tflops);
	}
	set_axis(x_low / 1.5, x_high * 1.5, &d->x_low, &d->x_high);
	set_axis(y_low / 1.5, y_high * 1.3, &d->y_low, &d->y_high);
}

static double pixel_x(const struct drawing *d, double x)
{
	return LEFT + log(x / d->x_low) / log(d->x_high / d->x_low) * (RIGHT - LEFT);
}

static double pixel_y(const struct drawing *d, double y)
{
	return BOTTOM + log(y / d->y_low) / log(d->y_high / d->y_low) * (TOP - BOTTOM);
}

static double radius_of(const struct tw_chart_point *p)
{
	double share = p->time_frac > 0 ? fmin(p->time_frac, 1) : 0;

	return fmax(LARGEST_RADIUS * sqrt(share), MIN_RADIUS);
}

/* ---- pieces of the script */

static void add_pair(struct tw_str *out, double x, double y)
{
	tw_str_add_real(out, x);
	tw_str_add_char(out, ',');
	tw_str_add_real(out, y);
}

/* Pixels as parts of the picture. */
static void add_screen(struct tw_str *out, double x, double y)
{
	tw_str_add_cstr(out, " at screen ");
	tw_str_add_real(out, x / TW_CHART_WIDTH);
	tw_str_add_cstr(out, ", screen ");
	tw_str_add_real(out, y / TW_CHART_HEIGHT);
}

/* At least three digits that mean something. */
static void add_figure(struct tw_str *out, double value)
{
	unsigned digits = 0;
	double scaled;

	for (scaled = fabs(value); scaled < 100 && digits < 7; scaled *= 10)
		digits++;
	tw_str_add_real_fixed(out, value, value == floor(value) ? 0 : digits);
}

struct style {
	const char *align, *colour, *font;
};

static const struct style heading = { "left", "222222", "sans:Bold,11" };
static const struct style plain = { "left", "222222", "sans,10" };
static const struct style small = { "left", "777777", "sans,9" };

static void add_label(struct drawing *d, const char *text, size_t cells, double x, double y,
		      const struct style *style)
{
	tw_str_add_cstr(&d->out, "set label ");
	tw_gnuplot_quote(&d->out, text, cells);
	add_screen(&d->out, x, y);
	tw_str_addf(&d->out, " %s front noenhanced font '%s' tc rgb '#%s'\n", style->align,
		    style->font, style->colour);
}

static void add_line(struct drawing *d, double x1, double y1, double x2, double y2,
		     const char *layer, const char *look, const char *colour)
{
	tw_str_add_cstr(&d->out, "set arrow from ");
	add_pair(&d->out, x1, y1);
	tw_str_add_cstr(&d->out, " to ");
	add_pair(&d->out, x2, y2);
	tw_str_addf(&d->out, " nohead %s %s lc rgb '#%s'\n", layer, look, colour);
}

static bool is_free(const struct drawing *d, const struct box *box)
{
	size_t i;

	for (i = 0; i < d->taken_count; i++)
		if (box->left < d->taken[i].right && d->taken[i].left < box->right &&
		    box->bottom < d->taken[i].top && d->taken[i].bottom < box->top)
			return false;
	return box->left > LEFT && box->right < RIGHT && box->bottom > BOTTOM && box->top < TOP;
}

static void take(struct drawing *d, const struct box *box)
{
	if (d->taken_count < sizeof(d->taken) / sizeof(d->taken[0]))
		d->taken[d->taken_count++] = *box;
}

/* ---- roofs */

/* Whether a point of those that are easily seen lies under the box. */
static bool covers_point(const struct drawing *d, const struct box *box)
{
	size_t i;

	for (i = 0; i < d->count && i < 4 * TW_CHART_NAMED; i++) {
		double x = pixel_x(d, d->points[i]->flops_per_byte);
		double y = pixel_y(d, d->points[i]->tflops_per_s);
		double radius = radius_of(d->points[i]);

		if (x + radius > box->left && x - radius < box->right && y + radius > box->bottom &&
		    y - radius < box->top)
			return true;
	}
	return false;
}

/*
 * On the line at its right end, where there is room also under it or further left; at the end in
 * any case when there is none.
 */
static void add_ceiling_label(struct drawing *d, const struct tw_str *text, const char *colour,
			      double begin, double tflops)
{
	struct style style = { "right", colour, "sans:Bold,10" };
	double line = pixel_y(d, tflops), least = pixel_x(d, begin) + 4;
	double width = LETTER * (double)text->len, right, y;
	struct box box = { 0 };
	bool found = false;

	for (right = RIGHT - 4; right - width > least && !found; right -= 20) {
		for (y = line + 9; y > line - 20 && !found; y -= 19) {
			box = (struct box){ right - width, y - LINE / 2, right, y + LINE / 2 };
			found = is_free(d, &box) && !covers_point(d, &box);
		}
	}
	if (!found)
		box = (struct box){ RIGHT - 4 - width, line + 9 - LINE / 2, RIGHT - 4,
				    line + 9 + LINE / 2 };
	take(d, &box);
	add_label(d, text->ptr, 0, box.right, (box.bottom + box.top) / 2, &style);
}

/* The highest ceiling below `below`, NaN when there is none. */
static double next_ceiling(const struct drawing *d, double below)
{
	double highest = NAN;
	size_t i;

	for (i = 0; i < d->spec_count; i++)
		if (d->specs[i].tflops < below)
			highest = fmax(highest, d->specs[i].tflops);
	return highest;
}

/* "matrix bf16" of "matrix_bf16". */
static void add_spec_name(struct tw_str *out, const char *spec)
{
	for (; *spec; spec++)
		tw_str_add_char(out, *spec == '_' ? ' ' : *spec);
}

static void add_ceilings(struct drawing *d)
{
	struct tw_str text;
	double tflops = INFINITY, begin;
	size_t i;

	tw_str_init(&text, d->out.allocator);
	while (isfinite(tflops = next_ceiling(d, tflops))) {
		const char *colour = NULL;

		tw_str_clear(&text);
		for (i = 0; i < d->spec_count; i++) {
			if (d->specs[i].tflops != tflops)
				continue;
			tw_str_add_cstr(&text, colour ? ", " : "");
			add_spec_name(&text, d->specs[i].name);
			colour = colour ? colour : d->specs[i].colour;
		}
		tw_str_add_cstr(&text, ": ");
		add_figure(&text, tflops);
		tw_str_add_cstr(&text, " TFLOP/s");
		d->out.failed = d->out.failed || text.failed;
		if (text.failed)
			break;
		/* fmax() passes over an unknown bandwidth. */
		begin = fmax(ridge(d, tflops), d->x_low);
		add_line(d, begin, tflops, d->x_high, tflops, "back", "lw 2.5", colour);
		add_ceiling_label(d, &text, colour, begin, tflops);
	}
	tw_str_release(&text);
}

/* From the left or lower edge to the highest ceiling, or to the edge where there is none. */
static void add_bandwidth(struct drawing *d)
{
	double slope = d->chart->mem_bw_gbps / 1e3, top = next_ceiling(d, INFINITY);
	double x1 = fmax(d->x_low, d->y_low / slope), x2, angle, x, y;
	struct tw_str text;

	if (!(slope > 0) || !isfinite(slope))
		return;
	top = isfinite(top) ? top : d->y_high;
	x2 = fmin(d->x_high, top / slope);
	if (!(x1 < x2))
		return;
	add_line(d, x1, x1 * slope, x2, x2 * slope, "back", "lw 2.5", "333333");
	angle = atan2(pixel_y(d, 10 * d->y_low) - BOTTOM, pixel_x(d, 10 * d->x_low) - LEFT);
	/* Above the middle of the line, a little to the left of it. */
	x = pixel_x(d, sqrt(x1 * x2)) - 12 * sin(angle);
	y = pixel_y(d, sqrt(x1 * x2) * slope) + 12 * cos(angle);
	tw_str_init(&text, d->out.allocator);
	tw_str_add_cstr(&text, "memory: ");
	add_figure(&text, d->chart->mem_bw_gbps);
	tw_str_add_cstr(&text, " GB/s");
	tw_str_add_cstr(&d->out, "set label ");
	tw_gnuplot_quote(&d->out, text.ptr ? text.ptr : "", 0);
	add_screen(&d->out, x, y);
	tw_str_add_cstr(&d->out, " center noenhanced rotate by ");
	tw_str_add_real_fixed(&d->out, angle * 180 / acos(-1), 2);
	tw_str_add_cstr(&d->out, " font 'sans:Bold,10' tc rgb '#333333'\n");
	tw_str_release(&text);
}

/* ---- points */

/* The points as data, the largest first so that small ones are not covered. */
static void add_points(struct drawing *d)
{
	size_t i;

	tw_str_add_cstr(&d->out, "$points << EOD\n");
	for (i = 0; i < d->count; i++) {
		const struct tw_chart_point *p = d->points[i];

		tw_str_add_real(&d->out, p->flops_per_byte);
		tw_str_add_char(&d->out, ' ');
		tw_str_add_real(&d->out, p->tflops_per_s);
		tw_str_add_char(&d->out, ' ');
		tw_str_add_real_fixed(&d->out, radius_of(p) / RADIUS_OF_SIZE, 3);
		tw_str_addf(&d->out, " 0x%s\n", colour_of(d, p));
	}
	tw_str_add_cstr(&d->out, "EOD\n");
}

/* Where a number may stand: in the point, else around it, further away when it is crowded. */
static bool place_number(struct drawing *d, const struct tw_chart_point *p, size_t letters,
			 double *x, double *y, bool *far)
{
	double radius = radius_of(p), half = LETTER * (double)letters / 2 + 1;
	double middle_x = pixel_x(d, p->flops_per_byte), middle_y = pixel_y(d, p->tflops_per_s);
	unsigned ring, step;

	for (ring = 0; ring < 6; ring++) {
		for (step = 0; step < 16; step++) {
			bool inside = !ring && !step && radius >= ROOMY_RADIUS;
			double away = inside ? 0 : radius + 9 + 14 * ring;
			double turn = (double)((step * 3 + 2) % 16) * acos(-1) / 8;
			struct box box;

			*x = middle_x + away * cos(turn);
			*y = middle_y + away * sin(turn);
			box = (struct box){ *x - half, *y - LINE / 2, *x + half, *y + LINE / 2 };
			if (is_free(d, &box)) {
				take(d, &box);
				*far = ring > 0;
				return true;
			}
		}
	}
	return false;
}

/* A line from the number to its point, in the coordinates of the axes. */
static void add_leader(struct drawing *d, const struct tw_chart_point *p, double x, double y)
{
	double x_value = d->x_low * pow(d->x_high / d->x_low, (x - LEFT) / (RIGHT - LEFT));
	double y_value = d->y_low * pow(d->y_high / d->y_low, (y - BOTTOM) / (TOP - BOTTOM));

	add_line(d, x_value, y_value, p->flops_per_byte, p->tflops_per_s, "back", "lw 0.7",
		 "999999");
}

static void add_numbers(struct drawing *d)
{
	static const struct style style = { "center", "111111", "sans:Bold,10" };
	double x, y;
	bool far;
	size_t i;

	for (i = 0; i < d->count && i < TW_CHART_NAMED; i++) {
		char number[3] = { (char)('1' + i), '\0', '\0' };

		if (i == 9)
			memcpy(number, "10", 3);
		if (!place_number(d, d->points[i], strlen(number), &x, &y, &far))
			continue;
		if (far)
			add_leader(d, d->points[i], x, y);
		add_label(d, number, 0, x, y, &style);
	}
}

/* ---- the list beside the axes */

static void add_details(struct drawing *d, const struct tw_chart_point *p, double y)
{
	struct tw_str text;

	tw_str_init(&text, d->out.allocator);
	tw_str_add_real_fixed(&text, p->time_frac * 100, 1);
	tw_str_add_cstr(&text, " % of time, ");
	add_figure(&text, p->tflops_per_s);
	tw_str_add_cstr(&text, " TFLOP/s, ");
	add_figure(&text, p->flops_per_byte);
	tw_str_add_cstr(&text, " FLOP/byte");
	add_label(d, text.ptr ? text.ptr : "", 0, LIST_LEFT + 26, y, &small);
	tw_str_release(&text);
}

/* "16 more, 25.1 % of time" and what these are. */
static double add_count(struct drawing *d, size_t count, double frac, const char *what, double y)
{
	struct tw_str text;

	if (!count)
		return y;
	tw_str_init(&text, d->out.allocator);
	tw_str_addf(&text, "%zu %s, ", count, what);
	tw_str_add_real_fixed(&text, fmax(frac, 0) * 100, 1);
	tw_str_add_cstr(&text, " % of time");
	add_label(d, text.ptr ? text.ptr : "", 0, LIST_LEFT + 26, y, &small);
	tw_str_release(&text);
	return y - LINE;
}

/* The rest, and what is not in the picture, so that the shares add up. */
static double add_others(struct drawing *d, double y)
{
	double all = 0, drawn = 0, named = 0;
	size_t i;

	for (i = 0; i < d->chart->point_count; i++)
		all += isfinite(d->chart->points[i].time_frac) ? d->chart->points[i].time_frac : 0;
	for (i = 0; i < d->count; i++) {
		drawn += d->points[i]->time_frac;
		named += i < TW_CHART_NAMED ? d->points[i]->time_frac : 0;
	}
	if (d->count > TW_CHART_NAMED)
		y = add_count(d, d->count - TW_CHART_NAMED, drawn - named, "more", y);
	return add_count(d, d->chart->point_count - d->count, all - drawn, "without known FLOPs",
			 y);
}

/* In two columns. */
static void add_colours(struct drawing *d, double y)
{
	struct tw_str text;
	size_t i;

	add_label(d, "Precision", 0, LIST_LEFT, y, &heading);
	tw_str_init(&text, d->out.allocator);
	for (i = 0; i < d->spec_count && (i % 2 || y > BOTTOM - 3 * LINE); i++) {
		struct style dot = { "left", d->specs[i].colour, "sans:Bold,13" };
		double x = i % 2 ? (LIST_LEFT + TW_CHART_WIDTH) / 2 : LIST_LEFT;

		y -= i % 2 ? 0 : LINE + 3;
		tw_str_clear(&text);
		add_spec_name(&text, *d->specs[i].name ? d->specs[i].name : "not known");
		if (*d->specs[i].name && isnan(d->specs[i].tflops))
			tw_str_add_cstr(&text, " (no roof)");
		add_label(d, "●", 0, x, y, &dot);
		add_label(d, text.ptr ? text.ptr : "", LIST_NAME_CELLS / 2, x + 20, y, &plain);
	}
	tw_str_release(&text);
}

static void add_list(struct drawing *d)
{
	double y = TOP - LINE / 2;
	size_t i;

	add_label(d, "Largest by time", 0, LIST_LEFT, y, &heading);
	y -= LINE + 6;
	for (i = 0; i < d->count && i < TW_CHART_NAMED; i++) {
		struct style number = { "right", colour_of(d, d->points[i]), "sans:Bold,10" };
		char text[3] = { (char)('1' + i), '\0', '\0' };

		if (i == 9)
			memcpy(text, "10", 3);
		add_label(d, text, 0, LIST_LEFT + 18, y, &number);
		add_label(d, d->points[i]->name, LIST_NAME_CELLS, LIST_LEFT + 26, y, &plain);
		y -= LINE - 1;
		if (*d->points[i]->detail) {
			add_label(d, d->points[i]->detail, LIST_DETAIL_CELLS, LIST_LEFT + 26, y,
				  &small);
			y -= LINE - 2;
		}
		add_details(d, d->points[i], y);
		y -= LINE + 6;
	}
	y = add_others(d, y);
	add_colours(d, y - 14);
}

/* ---- the whole */

static void add_margin(struct tw_str *out, const char *name, double at, double size)
{
	tw_str_addf(out, "set %s at screen ", name);
	tw_str_add_real(out, at / size);
	tw_str_add_char(out, '\n');
}

static void add_range(struct tw_str *out, const char *axis, double low, double high)
{
	tw_str_addf(out, "set %srange [", axis);
	tw_str_add_real(out, low);
	tw_str_add_char(out, ':');
	tw_str_add_real(out, high);
	tw_str_add_cstr(out, "]\n");
}

static void add_frame(struct drawing *d)
{
	static const struct style title = { "left", "111111", "sans:Bold,14" };
	struct tw_str *out = &d->out;

	tw_str_addf(out,
		    "set encoding utf8\n"
		    "set terminal pngcairo size %d,%d noenhanced font 'sans,10' background rgb "
		    "'#ffffff'\n"
		    "set logscale xy\nset format '%%g'\nunset key\nset tics nomirror out\n"
		    "set border 3 lc rgb '#777777'\n"
		    "set grid xtics ytics mxtics mytics lt 1 lw 1 lc rgb '#dddddd', lt 1 lw 0.5 lc "
		    "rgb '#f0f0f0'\n"
		    "set xlabel 'FLOPs per byte'\nset ylabel 'achieved TFLOP/s'\n",
		    TW_CHART_WIDTH, TW_CHART_HEIGHT);
	add_margin(out, "lmargin", LEFT, TW_CHART_WIDTH);
	add_margin(out, "rmargin", RIGHT, TW_CHART_WIDTH);
	add_margin(out, "bmargin", BOTTOM, TW_CHART_HEIGHT);
	add_margin(out, "tmargin", TOP, TW_CHART_HEIGHT);
	add_range(out, "x", d->x_low, d->x_high);
	add_range(out, "y", d->y_low, d->y_high);
	add_label(d, d->chart->title, 100, LEFT, TOP + 46, &title);
	add_label(d, d->chart->platform, 100, LEFT, TOP + 24, &plain);
	add_label(d, "area of a point: share of kernel time", 0, RIGHT - 220, BOTTOM - 46, &small);
}

static void draw(struct drawing *d)
{
	qsort(d->points, d->count, sizeof(*d->points), compare_points);
	collect_specs(d);
	choose_axes(d);
	add_frame(d);
	add_ceilings(d);
	add_bandwidth(d);
	add_numbers(d);
	add_list(d);
	add_points(d);
	tw_str_add_cstr(
		&d->out,
		"plot $points using 1:2:3:($4 + 0x70000000) with points pt 7 ps variable "
		"lc rgb variable, "
		"$points using 1:2:3:4 with points pt 6 ps variable lw 1 lc rgb variable\n");
}

int tw_roofline_chart_script(const struct tw_roofline_chart *chart, const char *path,
			     struct tw_str *script, struct trawl_error *err)
{
	const struct trawl_allocator *allocator = script->allocator;
	struct drawing d = { .chart = chart };
	size_t i;
	int status = 0;

	d.points = tw_alloc_array(allocator, chart->point_count + 1, sizeof(*d.points));
	d.specs = tw_alloc_array(allocator, chart->point_count + 1, sizeof(*d.specs));
	if (!d.points || !d.specs) {
		tw_free(allocator, d.points, (chart->point_count + 1) * sizeof(*d.points));
		tw_free(allocator, d.specs, (chart->point_count + 1) * sizeof(*d.specs));
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot draw '%s': out of memory", path);
	}
	d.out = *script;
	for (i = 0; i < chart->point_count; i++)
		if (can_be_drawn(&chart->points[i]))
			d.points[d.count++] = &chart->points[i];
	if (d.count)
		draw(&d);
	else
		status = trawl_error_set(err, TRAWL_ENODATA,
					 "cannot draw '%s': no operator has FLOPs, bytes and "
					 "kernel time",
					 path);
	*script = d.out;
	tw_free(allocator, d.points, (chart->point_count + 1) * sizeof(*d.points));
	tw_free(allocator, d.specs, (chart->point_count + 1) * sizeof(*d.specs));
	return status;
}

int tw_render_roofline_chart(const struct tw_roofline_chart *chart, const char *path,
			     const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_str script;
	int status;

	tw_str_init(&script, allocator);
	status = tw_roofline_chart_script(chart, path, &script, err);
	if (!status)
		status = tw_gnuplot_draw(&script, path, allocator, err);
	tw_str_release(&script);
	return status;
}
