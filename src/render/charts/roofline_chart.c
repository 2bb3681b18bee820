#include "render/charts/roofline_chart.h"

#include "base/alloc.h"
#include "io/sink.h"
#include "render/charts/svg.h"
#include "render/width.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The axes, in pixels from the upper left corner; below them stand names. */
#define LEFT 66.0
#define RIGHT ((double)TW_SVG_WIDTH - TW_SVG_EDGE)
#define TOP 68.0
#define BOTTOM 428.0
#define LIST_TOP 506.0
#define LIST_NAME_LEFT 42.0
#define TITLE_CELLS 44
#define SUBTITLE_CELLS 56
/* Of a name and what distinguishes it, at the other end of the same line. */
#define LIST_NAME_CELLS 24
#define LIST_CELLS 52

/* Radius of a point that has all the time; none is smaller than the least. */
#define LARGEST_RADIUS 32.0
#define MIN_RADIUS 2.5
/* A number fits into a point of this radius. */
#define ROOMY_RADIUS 9.0
/* Height of a line of text, and the width of a letter, at the size of labels. */
#define LINE 16.0
#define LETTER 8.0
/* Between the numbers of an axis. */
#define TICK_X 46.0
#define TICK_Y 18.0
/* Decades of an axis up to which there are lines between them too. */
#define MINOR_MOST 10

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
	double left, top, right, bottom;
};

struct drawing {
	const struct tw_roofline_chart *chart;
	struct tw_str *out;
	const struct tw_chart_point **points; /* that can be drawn, the largest first */
	size_t count;
	struct spec *specs; /* room for one of each point */
	size_t spec_count;
	double mem_bw_gbps;		     /* NaN: no line */
	double x_low, x_high, y_low, y_high; /* of the axes */
	struct box taken[4 * TW_CHART_NAMED];
	size_t taken_count;
};

/* ---- what is drawn */

/* Numbers beyond have no place on axes that show the others. */
static bool has_place(double value)
{
	return value > 1e-30 && value < 1e30;
}

static bool can_be_drawn(const struct tw_chart_point *p)
{
	return has_place(p->flops_per_byte) && has_place(p->tflops_per_s);
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
				if (*p->spec && !strcmp(d->chart->ceilings[k].spec, p->spec) &&
				    has_place(d->chart->ceilings[k].tflops))
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
	return tflops * 1e3 / d->mem_bw_gbps;
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
	/* Above the highest ceiling there is room for its label. */
	set_axis(y_low / 1.5, y_high * 2, &d->y_low, &d->y_high);
}

static double pixel_x(const struct drawing *d, double x)
{
	return LEFT + log(x / d->x_low) / log(d->x_high / d->x_low) * (RIGHT - LEFT);
}

static double pixel_y(const struct drawing *d, double y)
{
	return BOTTOM - log(y / d->y_low) / log(d->y_high / d->y_low) * (BOTTOM - TOP);
}

static double radius_of(const struct tw_chart_point *p)
{
	double share = p->time_frac > 0 ? fmin(p->time_frac, 1) : 0;

	return fmax(LARGEST_RADIUS * sqrt(share), MIN_RADIUS);
}

/* ---- pieces */

/* At least three digits that mean something. */
static void add_figure(struct tw_str *out, double value)
{
	unsigned digits = 0;
	double scaled;

	for (scaled = fabs(value); scaled < 100 && digits < 7; scaled *= 10)
		digits++;
	tw_str_add_real_fixed(out, value, value == floor(value) ? 0 : digits);
}

static const struct tw_svg_font title = { .size = 18, .colour = "111111", .bold = true };
static const struct tw_svg_font heading = { .size = 15, .colour = "222222", .bold = true };
static const struct tw_svg_font plain = { .size = 14, .colour = "222222" };
static const struct tw_svg_font detail = { .size = 13, .colour = "666666", .align = TW_SVG_RIGHT };
static const struct tw_svg_font small = { .size = 13, .colour = "666666" };

/* A font like that one of another colour. */
static struct tw_svg_font coloured(const struct tw_svg_font *like, const char *colour)
{
	struct tw_svg_font font = *like;

	font.colour = colour;
	return font;
}

/* Between values of the axes. */
static void add_line(struct drawing *d, double x1, double y1, double x2, double y2,
		     const char *colour)
{
	tw_svg_line(d->out, pixel_x(d, x1), pixel_y(d, y1), pixel_x(d, x2), pixel_y(d, y2), 2.5,
		    colour);
}

static bool is_free(const struct drawing *d, const struct box *box)
{
	size_t i;

	for (i = 0; i < d->taken_count; i++)
		if (box->left < d->taken[i].right && d->taken[i].left < box->right &&
		    box->top < d->taken[i].bottom && d->taken[i].top < box->bottom)
			return false;
	return box->left > LEFT && box->right < RIGHT && box->top > TOP && box->bottom < BOTTOM;
}

static void take(struct drawing *d, const struct box *box)
{
	if (d->taken_count < sizeof(d->taken) / sizeof(d->taken[0]))
		d->taken[d->taken_count++] = *box;
}

/* ---- axes */

/* "0.01", "1000", beyond them "1e-06". */
static void add_power(struct tw_str *out, int power)
{
	if (power < -4 || power > 5)
		tw_str_addf(out, "1e%d", power);
	else
		tw_str_add_real_fixed(out, pow(10, power), power < 0 ? (unsigned)-power : 0);
}

/* Across the axes at a value of the one below (`upright`) or of the one on the left. */
static void add_grid_line(struct drawing *d, bool upright, double value)
{
	tw_svg_number(d->out, "M", upright ? pixel_x(d, value) : LEFT);
	tw_svg_number(d->out, " ", upright ? TOP : pixel_y(d, value));
	tw_svg_number(d->out, upright ? "V" : "H", upright ? BOTTOM : RIGHT);
}

/* At the powers of ten (`from` 1, `to` 1), or between them (2, 9). */
static void add_grid(struct drawing *d, int from, int to, const char *colour)
{
	unsigned i;
	int power, k;

	tw_str_add_cstr(d->out, "<path d=\"");
	for (i = 0; i < 2; i++) {
		double low = i ? d->x_low : d->y_low, high = i ? d->x_high : d->y_high;

		if (to > 1 && log10(high / low) > MINOR_MOST)
			continue;
		for (power = (int)floor(log10(low)); pow(10, power) < high; power++)
			for (k = from; k <= to; k++)
				if (k * pow(10, power) > low * 1.001 &&
				    k * pow(10, power) < high / 1.001)
					add_grid_line(d, i, k * pow(10, power));
	}
	tw_str_addf(d->out, "\" stroke=\"#%s\"/>\n", colour);
}

/* As many as there is room for. */
static void add_ticks(struct drawing *d, bool upright)
{
	struct tw_svg_font font = { .size = 13, .colour = "555555" };
	double low = upright ? d->x_low : d->y_low, high = upright ? d->x_high : d->y_high;
	double room = upright ? RIGHT - LEFT : BOTTOM - TOP;
	int step = (int)ceil(log10(high / low) / room * (upright ? TICK_X : TICK_Y)), power;
	struct tw_str text;

	font.align = upright ? TW_SVG_CENTER : TW_SVG_RIGHT;
	tw_str_init(&text, d->out->allocator);
	for (power = (int)ceil(log10(low) - 0.001); pow(10, power) < high * 1.001; power += step) {
		double at = pow(10, power);

		tw_str_clear(&text);
		add_power(&text, power);
		tw_svg_text(d->out, upright ? fmin(pixel_x(d, at), RIGHT - 8) : LEFT - 7,
			    upright ? BOTTOM + 15 : pixel_y(d, at), &font, text.ptr ? text.ptr : "",
			    0);
	}
	d->out->failed |= text.failed;
	tw_str_release(&text);
}

static void add_axes(struct drawing *d)
{
	struct tw_svg_font name = plain;

	add_grid(d, 2, 9, "f0f0f0");
	add_grid(d, 1, 1, "dddddd");
	tw_svg_line(d->out, LEFT, TOP, LEFT, BOTTOM, 1, "777777");
	tw_svg_line(d->out, LEFT, BOTTOM, RIGHT, BOTTOM, 1, "777777");
	add_ticks(d, true);
	add_ticks(d, false);
	name.align = TW_SVG_CENTER;
	tw_svg_text(d->out, (LEFT + RIGHT) / 2, BOTTOM + 36, &name, "FLOPs per byte", 0);
	name.turned = -90;
	tw_svg_text(d->out, 13, (TOP + BOTTOM) / 2, &name, "achieved TFLOP/s", 0);
	tw_svg_text(d->out, LEFT, BOTTOM + 56, &small,
		    "area of a point: share of kernel time; both axes logarithmic", 0);
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

		if (x + radius > box->left && x - radius < box->right && y + radius > box->top &&
		    y - radius < box->bottom)
			return true;
	}
	return false;
}

/*
 * Above its line at the right end, or where there is room below it or further left; at the end in
 * any case when there is none.
 */
static void add_ceiling_label(struct drawing *d, const struct tw_str *text, const char *colour,
			      double begin, double tflops)
{
	struct tw_svg_font font = { .size = 13,
				    .colour = colour,
				    .align = TW_SVG_RIGHT,
				    .bold = true };
	double line = pixel_y(d, tflops), least = pixel_x(d, begin) - 24;
	double width = LETTER * (double)text->len, right, y;
	struct box box = { 0 };
	bool found = false;

	for (right = RIGHT - 4; right - width > least && !found; right -= 20) {
		for (y = line - 10; y < line + 50 && !found; y += 19) {
			box = (struct box){ right - width, y - LINE / 2, right, y + LINE / 2 };
			found = is_free(d, &box) && !covers_point(d, &box);
		}
	}
	if (!found)
		box = (struct box){ RIGHT - 4 - width, line - 10 - LINE / 2, RIGHT - 4,
				    line - 10 + LINE / 2 };
	take(d, &box);
	tw_svg_text(d->out, box.right, (box.bottom + box.top) / 2, &font, text->ptr, 0);
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

/* Where a ceiling begins.  fmax() passes over an unknown bandwidth. */
static double ceiling_begin(const struct drawing *d, double tflops)
{
	return fmax(ridge(d, tflops), d->x_low);
}

/* No text lies across one. */
static void take_ceilings(struct drawing *d)
{
	double tflops = INFINITY;

	while (isfinite(tflops = next_ceiling(d, tflops))) {
		double y = pixel_y(d, tflops);
		struct box line = { pixel_x(d, ceiling_begin(d, tflops)), y - 1, RIGHT, y + 1 };

		take(d, &line);
	}
}

static void add_ceilings(struct drawing *d)
{
	struct tw_str text;
	double tflops = INFINITY, begin;
	size_t i;

	take_ceilings(d);
	tw_str_init(&text, d->out->allocator);
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
		d->out->failed |= text.failed;
		if (text.failed)
			break;
		begin = ceiling_begin(d, tflops);
		add_line(d, begin, tflops, d->x_high, tflops, colour);
		add_ceiling_label(d, &text, colour, begin, tflops);
	}
	tw_str_release(&text);
}

/* From the left or lower edge to the highest ceiling, or to the edge where there is none. */
static void add_bandwidth(struct drawing *d)
{
	struct tw_svg_font font = { .size = 13,
				    .colour = "333333",
				    .align = TW_SVG_CENTER,
				    .bold = true };
	double slope = d->mem_bw_gbps / 1e3, top = next_ceiling(d, INFINITY);
	double x1 = fmax(d->x_low, d->y_low / slope), x2, angle, x, y;
	struct tw_str text;

	if (isnan(slope))
		return;
	top = isfinite(top) ? top : d->y_high;
	x2 = fmin(d->x_high, top / slope);
	if (!(x1 < x2))
		return;
	add_line(d, x1, x1 * slope, x2, x2 * slope, "333333");
	angle = atan2(pixel_y(d, d->y_low * 10) - BOTTOM, pixel_x(d, d->x_low * 10) - LEFT);
	/* Above the middle of the line, a little to the left of it. */
	x = pixel_x(d, sqrt(x1 * x2)) + 12 * sin(angle);
	y = pixel_y(d, sqrt(x1 * x2) * slope) - 12 * cos(angle);
	tw_str_init(&text, d->out->allocator);
	tw_str_add_cstr(&text, "memory: ");
	add_figure(&text, d->mem_bw_gbps);
	tw_str_add_cstr(&text, " GB/s");
	font.turned = angle * 180 / acos(-1);
	tw_svg_text(d->out, x, y, &font, text.ptr ? text.ptr : "", 0);
	tw_str_release(&text);
}

/* ---- points */

static void add_point(struct drawing *d, const struct tw_chart_point *p)
{
	tw_svg_number(d->out, "<circle cx=\"", pixel_x(d, p->flops_per_byte));
	tw_svg_number(d->out, "\" cy=\"", pixel_y(d, p->tflops_per_s));
	tw_svg_number(d->out, "\" r=\"", radius_of(p));
	tw_str_addf(d->out, "\" fill=\"#%s\" stroke=\"#%s\"/>\n", colour_of(d, p), colour_of(d, p));
}

/* The many that are as small as can be: as the round ends of lines, a tenth of the bytes. */
static void add_dots(struct drawing *d, size_t from, const struct spec *spec)
{
	size_t i;

	for (i = from; i < d->count && find_spec(d, d->points[i]->spec) != spec; i++)
		;
	if (i == d->count)
		return;
	tw_svg_number(d->out, "<path stroke-linecap=\"round\" stroke-width=\"", 2 * MIN_RADIUS);
	tw_str_addf(d->out, "\" stroke=\"#%s\" stroke-opacity=\"0.7\" d=\"", spec->colour);
	for (; i < d->count; i++) {
		if (find_spec(d, d->points[i]->spec) != spec)
			continue;
		tw_svg_number(d->out, "M", pixel_x(d, d->points[i]->flops_per_byte));
		tw_svg_number(d->out, " ", pixel_y(d, d->points[i]->tflops_per_s));
		tw_str_add_cstr(d->out, "h0");
	}
	tw_str_add_cstr(d->out, "\"/>\n");
}

/* The largest first, so that small ones are not covered. */
static void add_points(struct drawing *d)
{
	size_t i, k;

	tw_str_add_cstr(d->out, "<g fill-opacity=\"0.55\">\n");
	for (i = 0; i < d->count && radius_of(d->points[i]) > MIN_RADIUS; i++)
		add_point(d, d->points[i]);
	tw_str_add_cstr(d->out, "</g>\n");
	for (k = 0; k < d->spec_count; k++)
		add_dots(d, i, &d->specs[k]);
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

static void add_numbers(struct drawing *d)
{
	static const struct tw_svg_font font = { .size = 13,
						 .colour = "111111",
						 .align = TW_SVG_CENTER,
						 .bold = true };
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
			tw_svg_line(d->out, x, y, pixel_x(d, d->points[i]->flops_per_byte),
				    pixel_y(d, d->points[i]->tflops_per_s), 0.7, "999999");
		tw_svg_text(d->out, x, y, &font, number, 0);
	}
}

/* ---- the list below the axes */

static void add_details(struct drawing *d, const struct tw_chart_point *p, double y)
{
	struct tw_str text;

	tw_str_init(&text, d->out->allocator);
	tw_str_add_real_fixed(&text, p->time_frac * 100, 1);
	tw_str_addf(&text, " %% of time, %llu call%s, ", (unsigned long long)p->calls,
		    p->calls == 1 ? "" : "s");
	add_figure(&text, p->tflops_per_s);
	tw_str_add_cstr(&text, " TFLOP/s, ");
	add_figure(&text, p->flops_per_byte);
	tw_str_add_cstr(&text, " FLOP/byte");
	tw_svg_text(d->out, LIST_NAME_LEFT, y, &small, text.ptr ? text.ptr : "", 0);
	tw_str_release(&text);
}

/* "16 more, 25.1 % of time" and what these are. */
static double add_count(struct drawing *d, size_t count, double frac, const char *what, double y)
{
	struct tw_str text;

	if (!count)
		return y;
	tw_str_init(&text, d->out->allocator);
	tw_str_addf(&text, "%zu %s, ", count, what);
	tw_str_add_real_fixed(&text, fmax(frac, 0) * 100, 1);
	tw_str_add_cstr(&text, " % of time");
	tw_svg_text(d->out, LIST_NAME_LEFT, y, &small, text.ptr ? text.ptr : "", 0);
	tw_str_release(&text);
	return y + LINE + 2;
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

/* In two columns; to where. */
static double add_colours(struct drawing *d, double y)
{
	struct tw_str text;
	size_t i;

	tw_svg_text(d->out, TW_SVG_EDGE, y, &heading, "Precision", 0);
	tw_str_init(&text, d->out->allocator);
	for (i = 0; i < d->spec_count; i++) {
		double x = i % 2 ? TW_SVG_WIDTH / 2.0 : TW_SVG_EDGE;

		y += i % 2 ? 0 : LINE + 6;
		tw_str_clear(&text);
		add_spec_name(&text, *d->specs[i].name ? d->specs[i].name : "not known");
		if (*d->specs[i].name && isnan(d->specs[i].tflops))
			tw_str_add_cstr(&text, " (no roof)");
		tw_svg_box(d->out, x, y - 6, x + 12, y + 6, d->specs[i].colour);
		tw_svg_text(d->out, x + 20, y, &plain, text.ptr ? text.ptr : "", LIST_NAME_CELLS);
	}
	d->out->failed |= text.failed;
	tw_str_release(&text);
	return y + LINE + 6;
}

static double add_list_line(struct drawing *d, size_t i, double y)
{
	struct tw_svg_font number = coloured(&detail, colour_of(d, d->points[i]));
	const struct tw_chart_point *p = d->points[i];
	struct tw_str text;
	size_t cells;

	tw_str_init(&text, d->out->allocator);
	tw_shown_text(&text, p->name, LIST_NAME_CELLS);
	cells = LIST_CELLS - tw_text_width(text.ptr ? text.ptr : "", text.len);
	number.bold = true;
	tw_svg_text(d->out, LIST_NAME_LEFT, y, &plain, text.ptr ? text.ptr : "", 0);
	tw_svg_text(d->out, RIGHT, y, &detail, p->detail, cells);
	tw_str_clear(&text);
	tw_str_addf(&text, "%zu", i + 1);
	tw_svg_text(d->out, LIST_NAME_LEFT - 8, y, &number, text.ptr ? text.ptr : "", 0);
	d->out->failed |= text.failed;
	tw_str_release(&text);
	add_details(d, p, y + LINE + 2);
	return y + 2 * LINE + 10;
}

/* To where. */
static double add_list(struct drawing *d)
{
	double y = LIST_TOP;
	size_t i;

	tw_svg_text(d->out, TW_SVG_EDGE, y, &heading, "Largest by time", 0);
	y += LINE + 8;
	for (i = 0; i < d->count && i < TW_CHART_NAMED; i++)
		y = add_list_line(d, i, y);
	y = add_others(d, y);
	return add_colours(d, y + 14);
}

/* ---- the whole */

static void draw(struct drawing *d, struct tw_str *out)
{
	double height;

	qsort(d->points, d->count, sizeof(*d->points), compare_points);
	collect_specs(d);
	choose_axes(d);
	tw_svg_text(d->out, TW_SVG_EDGE, 24, &title, d->chart->title, TITLE_CELLS);
	tw_svg_text(d->out, TW_SVG_EDGE, 46, &plain, d->chart->platform, SUBTITLE_CELLS);
	add_axes(d);
	add_points(d);
	add_ceilings(d);
	add_bandwidth(d);
	add_numbers(d);
	height = add_list(d);
	tw_svg_begin(out, height, d->chart->title);
	tw_str_add(out, d->out->ptr ? d->out->ptr : "", d->out->len);
	tw_svg_end(out);
	out->failed |= d->out->failed;
}

int tw_roofline_chart(const struct tw_roofline_chart *chart, struct tw_str *out,
		      struct trawl_error *err)
{
	const struct trawl_allocator *allocator = out->allocator;
	struct drawing d = { .chart = chart, .mem_bw_gbps = NAN };
	struct tw_str body;
	size_t i;
	int status = 0;

	d.points = tw_alloc_array(allocator, chart->point_count + 1, sizeof(*d.points));
	d.specs = tw_alloc_array(allocator, chart->point_count + 1, sizeof(*d.specs));
	tw_str_init(&body, allocator);
	d.out = &body;
	if (has_place(chart->mem_bw_gbps))
		d.mem_bw_gbps = chart->mem_bw_gbps;
	for (i = 0; d.points && i < chart->point_count; i++)
		if (can_be_drawn(&chart->points[i]))
			d.points[d.count++] = &chart->points[i];
	if (!d.points || !d.specs)
		status = tw_no_memory(err);
	else if (!d.count)
		status = trawl_error_set(err, TRAWL_ENODATA,
					 "no operator has FLOPs, bytes and kernel time");
	else
		draw(&d, out);
	tw_str_release(&body);
	tw_free(allocator, d.points, (chart->point_count + 1) * sizeof(*d.points));
	tw_free(allocator, d.specs, (chart->point_count + 1) * sizeof(*d.specs));
	return !status && out->failed ? tw_no_memory(err) : status;
}

int tw_render_roofline_chart(const struct tw_roofline_chart *chart, const char *path,
			     const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct trawl_error why;
	struct tw_str svg;
	int status;

	tw_str_init(&svg, allocator);
	if (tw_roofline_chart(chart, &svg, &why))
		status =
			trawl_error_set(err, why.status, "cannot draw '%s': %s", path, why.message);
	else
		status = tw_sink_write_text(path, &svg, allocator, err);
	tw_str_release(&svg);
	return status;
}
