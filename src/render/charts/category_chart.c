#include "render/charts/category_chart.h"

#include "render/charts/svg.h"
#include "table/columns.h"

#include <math.h>
#include <string.h>

/* In pixels; name and number of a bar are above it, so that a bar has the whole width. */
#define LEFT ((double)TW_SVG_EDGE)
#define RIGHT ((double)TW_SVG_WIDTH - TW_SVG_EDGE)
#define ABOVE 84.0
#define ROW 42.0
#define NAME 10.0 /* the middle of its line, from the top of a row */
#define BAR_TOP 20.0
#define BAR_BOTTOM 34.0
#define LEGEND_ROW 22.0
#define TITLE_CELLS 44
#define SUBTITLE_CELLS 56
#define NAME_CELLS 32

const struct tw_bar_look tw_bar_looks[TW_BAR_KINDS] = {
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

static const struct tw_svg_font title_font = { .size = 18, .colour = "111111", .bold = true };
static const struct tw_svg_font subtitle_font = { .size = 14, .colour = "222222" };
static const struct tw_svg_font note_font = { .size = 13, .colour = "555555" };
static const struct tw_svg_font name_font = { .size = 15, .colour = "222222" };
static const struct tw_svg_font number_font = { .size = 14,
						.colour = "444444",
						.align = TW_SVG_RIGHT };

static void add_bar(struct tw_str *out, const struct tw_category_bar *bar, double longest, double y)
{
	double end = LEFT + bar->time_ms / longest * (RIGHT - LEFT);
	struct tw_str text;

	if (!(end > LEFT + 1))
		end = LEFT + 1;
	tw_svg_text(out, LEFT, y + NAME, &name_font, bar->name, NAME_CELLS);
	tw_svg_box(out, LEFT, y + BAR_TOP, end, y + BAR_BOTTOM, tw_bar_looks[bar->kind].colour);
	tw_str_init(&text, out->allocator);
	tw_str_add_real_fixed(&text, bar->time_ms, 3);
	tw_str_add_cstr(&text, " ms");
	if (isfinite(bar->percent)) {
		tw_str_add_cstr(&text, " (");
		tw_str_add_real_fixed(&text, bar->percent, 2);
		tw_str_add_cstr(&text, " %)");
	}
	tw_svg_text(out, RIGHT, y + NAME, &number_font, text.ptr ? text.ptr : "", 0);
	out->failed |= text.failed;
	tw_str_release(&text);
}

/* Which colour is what, those that occur; to where. */
static double add_kinds(struct tw_str *out, const struct tw_category_chart *chart, double y)
{
	bool there[TW_BAR_KINDS] = { false };
	double x = LEFT;
	size_t i;

	for (i = 0; i < chart->count; i++)
		there[chart->bars[i].kind] |= is_known(&chart->bars[i]);
	for (i = 0; i < TW_BAR_KINDS; i++) {
		double width =
			36 + (double)strlen(tw_bar_looks[i].name) * note_font.size * TW_SVG_CELL;

		if (!there[i])
			continue;
		if (x + width > RIGHT && x > LEFT) {
			x = LEFT;
			y += LEGEND_ROW;
		}
		tw_svg_box(out, x, y - 7, x + 14, y + 7, tw_bar_looks[i].colour);
		tw_svg_text(out, x + 20, y, &note_font, tw_bar_looks[i].name, 0);
		x += width;
	}
	return y + LEGEND_ROW;
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

/* To where; `y` when there are none. */
static double add_bars(struct tw_str *out, const struct tw_category_chart *chart, double y)
{
	size_t known = 0, compute = 0, others, room, i, drawn = 0;
	struct tw_category_bar rest;
	double longest;
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
	longest = rest.time_ms;
	for (i = 0; i < chart->count; i++)
		if (is_known(&chart->bars[i]))
			longest = fmax(longest, chart->bars[i].time_ms);
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
		add_bar(out, bar, longest, y);
		y += ROW;
	}
	return y;
}

bool tw_category_chart(const struct tw_category_chart *chart, struct tw_str *out)
{
	struct tw_str bars;
	double y;

	tw_str_init(&bars, out->allocator);
	y = add_bars(&bars, chart, ABOVE);
	if (y > ABOVE) {
		y = add_kinds(&bars, chart, y + 12);
		tw_svg_begin(out, y, chart->title);
		tw_svg_text(out, LEFT, 24, &title_font, chart->title, TITLE_CELLS);
		tw_svg_text(out, LEFT, 46, &subtitle_font, chart->subtitle, SUBTITLE_CELLS);
		tw_svg_text(out, LEFT, 66, &note_font, chart->note, 0);
		tw_str_add(out, bars.ptr ? bars.ptr : "", bars.len);
		tw_svg_end(out);
	}
	out->failed |= bars.failed;
	tw_str_release(&bars);
	return y > ABOVE;
}
