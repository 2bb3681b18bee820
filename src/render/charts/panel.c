#include "render/charts/panel.h"

#include <math.h>
#include <string.h>

#define DOTS_PER_INCH 300.0
#define POINTS_PER_INCH 72.0
/* A font of gnuplot's PNG has its size at this many dots an inch; that of its SVG is in points. */
#define FONT_DOTS_PER_INCH 96.0
/* gnuplot's point 7 at size 1, in pixels. */
#define RADIUS_PNG 3.05
#define RADIUS_SVG 3.75
/* Of a letter or digit, in sizes of its font; and what two labels keep apart. */
#define LETTER 0.64
#define BETWEEN 0.7
#define LINE 1.2
#define MIN_SIZE 12.0
/* Of the range, above and below. */
#define MARGIN 0.05
/* Where all numbers are the same one, of that, so that an axis has a length. */
#define LONE_MARGIN 0.055
#define MIN_RANGE 1e-9
#define STEPS 7
#define MAX_TICKS 20
#define MAX_DIGITS 15

static double scale_of(const struct tw_picture *p)
{
	return p->zoom * (p->svg ? 1 : DOTS_PER_INCH / POINTS_PER_INCH);
}

static void add_number(struct tw_str *out, const char *before, double value)
{
	tw_str_add_cstr(out, before);
	tw_str_add_real(out, value);
}

void tw_picture_begin(const struct tw_picture *p)
{
	struct tw_str *out = p->out;
	double scale = scale_of(p);

	tw_str_add_cstr(out, "set encoding utf8\nset terminal ");
	tw_str_add_cstr(out, p->svg ? "svg" : "pngcairo");
	tw_str_add_cstr(out, " enhanced");
	add_number(out, " size ", floor(p->width * scale + 0.5));
	add_number(out, ",", floor(p->height * scale + 0.5));
	tw_str_add_cstr(out, " font 'sans-serif,12' background rgb '#ffffff'");
	add_number(out, " fontscale ", p->zoom * (p->svg ? 1 : DOTS_PER_INCH / FONT_DOTS_PER_INCH));
	add_number(out, " linewidth ", scale);
	if (!p->svg)
		add_number(out, " pointscale ", scale);
	tw_str_add_cstr(out, "\nunset key\nset border 31 lw 1.9 lc rgb '#cccccc'\n"
			     "set tics scale 0\nset xtics nomirror\nset ytics nomirror\n");
}

double tw_picture_point_size(const struct tw_picture *p, double radius)
{
	return radius / (p->svg ? RADIUS_SVG / p->zoom : RADIUS_PNG);
}

void tw_picture_at(const struct tw_picture *p, double x, double y)
{
	add_number(p->out, " screen ", x / p->width);
	add_number(p->out, ",", y / p->height);
}

void tw_picture_text(const struct tw_picture *p, const char *text, struct tw_picture_text place)
{
	tw_str_addf(p->out, place.bold ? "set label '{/:Bold %s}'" : "set label '%s'", text);
	tw_str_add_cstr(p->out, " at");
	tw_picture_at(p, place.x, place.y);
	tw_str_add_cstr(p->out, place.align == TW_TEXT_LEFT ? " left" : " center");
	tw_str_add_cstr(p->out, place.turned ? " rotate by 90" : "");
	add_number(p->out, " front tc rgb '#262626' font 'sans-serif,", place.size);
	tw_str_add_cstr(p->out, "'\n");
}

/* ---- the axis on the left */

struct ticks {
	double step, first;
	unsigned count, digits; /* after the point */
};

/* 1, 2, 2.5 or 5 times a power of ten. */
static struct ticks choose_ticks(double low, double high)
{
	static const double nice[] = { 1, 2, 2.5, 5, 10 };
	double exponent = floor(log10((high - low) / STEPS));
	double power = pow(10, exponent);
	struct ticks t;
	size_t i = 0;

	while (i < 4 && nice[i] * power < (high - low) / STEPS)
		i++;
	t.step = nice[i] * power;
	t.first = ceil(low / t.step);
	exponent = (i == 2) - exponent - (i == 4);
	t.digits = exponent <= 0 ? 0 : exponent > MAX_DIGITS ? MAX_DIGITS : (unsigned)exponent;
	for (t.count = 0; t.count < MAX_TICKS; t.count++)
		if ((t.first + t.count) * t.step > high)
			break;
	return t;
}

static double widest(const struct ticks *t, const struct tw_str *out)
{
	struct tw_str text;
	size_t most = 0;
	unsigned i;

	tw_str_init(&text, out->allocator);
	for (i = 0; i < t->count; i++) {
		tw_str_clear(&text);
		tw_str_add_real_fixed(&text, (t->first + i) * t->step, t->digits);
		most = text.len > most ? text.len : most;
	}
	tw_str_release(&text);
	return (double)most * LETTER;
}

void tw_panel_range(const struct tw_picture *p, struct tw_panel *panel, double least,
		    double greatest)
{
	double more = (greatest - least) * MARGIN;
	struct ticks ticks;

	/* What differs by less is the same on an axis: its labels have no more digits. */
	if (!(more > fmax(fmax(fabs(least), fabs(greatest)) * 1e-13, MIN_RANGE)))
		more = fmax(fabs(greatest), MIN_RANGE / LONE_MARGIN) * LONE_MARGIN;
	panel->low = least - more;
	panel->high = greatest + more;
	ticks = choose_ticks(panel->low, panel->high);
	panel->digits_width = widest(&ticks, p->out) * panel->size;
}

static void add_numbers(const struct tw_picture *p, const struct tw_panel *panel)
{
	struct ticks t = choose_ticks(panel->low, panel->high);
	unsigned i;

	tw_str_add_cstr(p->out, "set ytics (");
	for (i = 0; i < t.count; i++) {
		double value = (t.first + i) * t.step;

		tw_str_add_cstr(p->out, i ? ", '" : "'");
		tw_str_add_real_fixed(p->out, value, t.digits);
		add_number(p->out, "' ", value);
	}
	add_number(p->out, ") tc rgb '#262626' font 'sans-serif,", panel->size);
	tw_str_add_cstr(p->out, "'\n");
}

/* ---- the axis below */

struct tw_panel_labels tw_panel_fit(size_t count, size_t letters, double width, double size)
{
	struct tw_panel_labels labels = { size, size, false, 1 };
	double pitch = width / (double)count, wide = (double)letters * LETTER + BETWEEN;

	if (wide * size <= pitch)
		return labels;
	labels.size = MIN_SIZE;
	if (wide * MIN_SIZE <= pitch)
		return labels;
	labels.turned = true;
	labels.room = (double)letters * LETTER * MIN_SIZE;
	labels.step = (size_t)ceil(LINE * MIN_SIZE / pitch);
	return labels;
}

static void add_labels(const struct tw_picture *p, const struct tw_panel_labels *labels,
		       const char *before, const char *after, const int64_t *numbers, size_t count)
{
	size_t i;

	tw_str_add_cstr(p->out, "set xtics ");
	tw_str_add_cstr(p->out, labels->turned ? "rotate by 90 right (" : "norotate (");
	for (i = 0; i < count; i += labels->step)
		tw_str_addf(p->out, "%s'%s%lld%s' %zu", i ? ", " : "", before,
			    (long long)numbers[i], after, i + 1);
	add_number(p->out, ") tc rgb '#262626' font 'sans-serif,", labels->size);
	tw_str_add_cstr(p->out, "'\n");
}

static void add_margin(const struct tw_picture *p, const char *name, double at)
{
	tw_str_addf(p->out, "set %s at screen ", name);
	tw_str_add_real(p->out, at);
	tw_str_add_char(p->out, '\n');
}

void tw_panel_frame(const struct tw_picture *p, const struct tw_panel *panel,
		    const struct tw_panel_labels *labels, const char *before, const char *after,
		    const int64_t *numbers, size_t count)
{
	add_margin(p, "lmargin", panel->left / p->width);
	add_margin(p, "rmargin", panel->right / p->width);
	add_margin(p, "bmargin", panel->bottom / p->height);
	add_margin(p, "tmargin", panel->top / p->height);
	tw_str_addf(p->out, "set xrange [0.5:%zu.5]\n", count);
	add_number(p->out, "set yrange [", panel->low);
	add_number(p->out, ":", panel->high);
	tw_str_add_cstr(p->out, "]\nset grid ");
	tw_str_add_cstr(p->out, panel->only_horizontal ? "noxtics" : "xtics");
	tw_str_add_cstr(p->out, " ytics back lt 1 lw 1.5 lc rgb '#eeeeee'\n");
	add_numbers(p, panel);
	add_labels(p, labels, before, after, numbers, count);
}
