#include "render/charts/category_chart.h"

#include "render/charts/gnuplot.h"
#include "table/columns.h"

#include <math.h>

/* In pixels; names are to the left of the bars, numbers after their ends. */
#define LEFT 270.0
#define RIGHT 1000.0
#define ABOVE 84.0
#define BELOW 54.0
#define ROW 36.0
#define BAR 22.0
#define NAME_CELLS 30

/* Distinguishable with color blindness (Okabe and Ito). */
static const struct {
	const char *colour, *name;
} kinds[TW_BAR_KINDS] = {
	[TW_BAR_COMPUTE] = { "0072b2", "computing" },
	[TW_BAR_UNLINKED] = { "56b4e9", "launch not recorded" },
	[TW_BAR_COMMUNICATION] = { "d55e00", TW_LABEL_EXPOSED_COMMUNICATION },
	[TW_BAR_COPY] = { "e69f00", TW_LABEL_EXPOSED_COPIES },
	[TW_BAR_IDLE] = { "999999", "idle" },
};

static bool is_known(const struct tw_category_bar *bar)
{
	return isfinite(bar->time_ms) && bar->time_ms >= 0;
}

static size_t count_bars(const struct tw_category_chart *chart)
{
	size_t count = 0, i;

	for (i = 0; i < chart->count; i++)
		count += is_known(&chart->bars[i]);
	return count < TW_CATEGORY_CHART_MOST ? count : TW_CATEGORY_CHART_MOST;
}

unsigned tw_category_chart_height(const struct tw_category_chart *chart)
{
	size_t count = count_bars(chart);

	return count ? (unsigned)(ABOVE + BELOW + ROW * (double)count) : 0;
}

struct drawing {
	struct tw_str *out;
	double height, longest; /* pixels; milliseconds */
	unsigned objects;
};

static void add_place(struct drawing *d, double x, double y)
{
	tw_str_add_cstr(d->out, " screen ");
	tw_str_add_real(d->out, x / TW_CATEGORY_CHART_WIDTH);
	tw_str_add_cstr(d->out, ", screen ");
	tw_str_add_real(d->out, 1 - y / d->height);
}

/* y from the top. */
static void add_text(struct drawing *d, const char *text, size_t cells, double x, double y,
		     const char *look)
{
	tw_str_add_cstr(d->out, "set label ");
	tw_gnuplot_quote(d->out, text, cells);
	tw_str_add_cstr(d->out, " at");
	add_place(d, x, y);
	tw_str_addf(d->out, " front noenhanced %s\n", look);
}

static void add_box(struct drawing *d, double left, double top, double right, double bottom,
		    const char *colour)
{
	tw_str_addf(d->out, "set object %u rectangle from", ++d->objects);
	add_place(d, left, top);
	tw_str_add_cstr(d->out, " to");
	add_place(d, right, bottom);
	tw_str_addf(d->out, " fs solid noborder fc rgb '#%s'\n", colour);
}

static void add_bar(struct drawing *d, const struct tw_category_bar *bar, double middle)
{
	double end = LEFT + bar->time_ms / d->longest * (RIGHT - LEFT);
	struct tw_str text;

	if (!(end > LEFT + 1))
		end = LEFT + 1;
	add_text(d, bar->name, NAME_CELLS, LEFT - 12, middle,
		 "right font 'sans,11' tc rgb '#222222'");
	add_box(d, LEFT, middle - BAR / 2, end, middle + BAR / 2, kinds[bar->kind].colour);
	tw_str_init(&text, d->out->allocator);
	tw_str_add_real_fixed(&text, bar->time_ms, 3);
	tw_str_add_cstr(&text, " ms");
	if (isfinite(bar->percent)) {
		tw_str_add_cstr(&text, "  (");
		tw_str_add_real_fixed(&text, bar->percent, 2);
		tw_str_add_cstr(&text, " %)");
	}
	add_text(d, text.ptr ? text.ptr : "", 0, end + 8, middle,
		 "left font 'sans,10' tc rgb '#444444'");
	d->out->failed |= text.failed;
	tw_str_release(&text);
}

/* Which colour is what, those that occur. */
static void add_kinds(struct drawing *d, const struct tw_category_chart *chart)
{
	bool there[TW_BAR_KINDS] = { false };
	double x = LEFT;
	size_t i;

	for (i = 0; i < chart->count; i++)
		there[chart->bars[i].kind] |= is_known(&chart->bars[i]);
	for (i = 0; i < TW_BAR_KINDS; i++) {
		if (!there[i])
			continue;
		add_box(d, x, d->height - 32, x + 14, d->height - 18, kinds[i].colour);
		add_text(d, kinds[i].name, 0, x + 20, d->height - 25,
			 "left font 'sans,10' tc rgb '#444444'");
		x += 185;
	}
}

/* All compute bars that found no room, as one. */
static struct tw_category_bar rest_of(const struct tw_category_chart *chart, size_t left_out)
{
	struct tw_category_bar rest = { "further categories", TW_BAR_COMPUTE, 0, 0 };
	size_t i;

	for (i = chart->count; i-- && left_out;) {
		const struct tw_category_bar *bar = &chart->bars[i];

		if (!is_known(bar) || bar->kind != TW_BAR_COMPUTE)
			continue;
		rest.time_ms += bar->time_ms;
		rest.percent += bar->percent;
		left_out--;
	}
	return rest;
}

static void add_bars(struct drawing *d, const struct tw_category_chart *chart)
{
	size_t known = 0, compute = 0, others, room, i, drawn = 0;
	double y = ABOVE + ROW / 2;
	struct tw_category_bar rest;
	bool told = false;

	for (i = 0; i < chart->count; i++) {
		known += is_known(&chart->bars[i]);
		compute += is_known(&chart->bars[i]) && chart->bars[i].kind == TW_BAR_COMPUTE;
	}
	others = known - compute;
	room = compute;
	if (known > TW_CATEGORY_CHART_MOST)
		room = TW_CATEGORY_CHART_MOST - others - 1;
	rest = rest_of(chart, compute - room);
	d->longest = rest.time_ms;
	for (i = 0; i < chart->count; i++)
		if (is_known(&chart->bars[i]))
			d->longest = fmax(d->longest, chart->bars[i].time_ms);
	for (i = 0; i < chart->count; i++) {
		const struct tw_category_bar *bar = &chart->bars[i];

		if (!is_known(bar))
			continue;
		if (bar->kind == TW_BAR_COMPUTE && drawn++ >= room) {
			if (told)
				continue;
			told = true;
			bar = &rest;
		}
		add_bar(d, bar, y);
		y += ROW;
	}
}

void tw_category_chart_script(const struct tw_category_chart *chart, struct tw_str *script)
{
	unsigned height = tw_category_chart_height(chart);
	struct drawing d = { .out = script, .height = height };

	tw_str_addf(script,
		    "set encoding utf8\n"
		    "set terminal pngcairo size %d,%u noenhanced font 'sans,10' background rgb "
		    "'#ffffff'\n"
		    "unset key\nunset tics\nunset border\n"
		    "set lmargin 0\nset rmargin 0\nset tmargin 0\nset bmargin 0\n"
		    "set xrange [0:1]\nset yrange [0:1]\n",
		    TW_CATEGORY_CHART_WIDTH, height);
	add_text(&d, chart->title, 100, 20, 26, "left font 'sans:Bold,14' tc rgb '#111111'");
	add_text(&d, chart->subtitle, 120, 20, 52, "left font 'sans,10' tc rgb '#555555'");
	add_bars(&d, chart);
	add_kinds(&d, chart);
	tw_str_add_cstr(script, "plot NaN\n");
}
