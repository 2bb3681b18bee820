#include "render/charts/bar_chart.h"

#include "render/charts/svg.h"
#include "render/width.h"

#include <math.h>
#include <string.h>

/* In pixels. */
#define LEFT ((double)TW_SVG_EDGE)
#define RIGHT ((double)TW_SVG_WIDTH - TW_SVG_EDGE)
#define LEGEND_TOP 72.0
#define LEGEND_ROW 22.0
#define BAR 13.0
#define BETWEEN_ROWS 9.0
#define BETWEEN_BARS 2.0
#define NUMBER_ROOM 74.0
#define NAME_GAP 8.0
#define TITLE_CELLS 44
#define SUBTITLE_CELLS 60
#define NAME_CELLS 26
/* Parts of the axis at most. */
#define MOST_TICKS 5

static const struct tw_svg_font title_font = { .size = 18, .colour = "111111", .bold = true };
static const struct tw_svg_font subtitle_font = { .size = 13, .colour = "222222" };
static const struct tw_svg_font note_font = { .size = 13, .colour = "555555" };
static const struct tw_svg_font name_font = { .size = 13,
					      .colour = "222222",
					      .align = TW_SVG_RIGHT };
static const struct tw_svg_font number_font = { .size = 13,
						.colour = "444444",
						.align = TW_SVG_RIGHT };
static const struct tw_svg_font tick_font = { .size = 13,
					      .colour = "444444",
					      .align = TW_SVG_CENTER };

struct axis {
	double left, right; /* of the bars, in pixels */
	double step, end;   /* numbers */
	unsigned digits;    /* of the ticks */
	unsigned number_digits;
};

static bool is_known(double value)
{
	return isfinite(value) && value >= 0;
}

/* Of the parts that are known; NaN: none is. */
static double sum_of(const struct tw_bar_chart *c, const struct tw_bar_row *row)
{
	double sum = NAN;
	size_t i;

	for (i = 0; i < c->part_count; i++)
		if (is_known(row->values[i]))
			sum = (isnan(sum) ? 0 : sum) + row->values[i];
	return sum;
}

/* The longest bar, NaN: there is none. */
static double longest_of(const struct tw_bar_chart *c)
{
	double longest = NAN;
	size_t r, i;

	for (r = 0; r < c->row_count; r++) {
		if (!c->apart)
			longest = fmax(longest, sum_of(c, &c->rows[r]));
		for (i = 0; c->apart && i < c->part_count; i++)
			if (is_known(c->rows[r].values[i]))
				longest = fmax(longest, c->rows[r].values[i]);
	}
	return longest;
}

/* 1, 2 or 5 times a power of ten, so that at most MOST_TICKS of them fit into the longest bar. */
static double step_of(double longest)
{
	static const double steps[] = { 1, 2, 5 };
	double power = pow(10, floor(log10(longest / MOST_TICKS)));
	size_t i;

	for (i = 0; i < 3; i++)
		if (longest <= steps[i] * power * MOST_TICKS)
			return steps[i] * power;
	return 10 * power;
}

static struct axis axis_of(const struct tw_bar_chart *c, double longest)
{
	size_t cells = 1, r;
	struct axis a;

	for (r = 0; r < c->row_count; r++) {
		size_t width = tw_text_width(c->rows[r].name, strlen(c->rows[r].name));

		cells = width > cells ? width : cells;
	}
	cells = cells > NAME_CELLS ? NAME_CELLS : cells;
	a.left = LEFT + (double)cells * name_font.size * TW_SVG_CELL + NAME_GAP;
	a.right = RIGHT - NUMBER_ROOM;
	/* Nothing but zeros still has an axis. */
	a.step = longest > 0 ? step_of(longest) : 1;
	a.end = longest > 0 ? longest : 1;
	a.digits = a.step < 1 ? (unsigned)ceil(-log10(a.step) - 1e-9) : 0;
	a.number_digits = longest >= 1000 ? 0 : longest >= 100 ? 1 : longest >= 10 ? 2 : 3;
	return a;
}

static double place(const struct axis *a, double value)
{
	return a->left + value / a->end * (a->right - a->left);
}

static void add_number(struct tw_str *out, double y, double value, unsigned digits)
{
	struct tw_str text;

	tw_str_init(&text, out->allocator);
	if (isnan(value))
		tw_str_add_char(&text, '-');
	else
		tw_str_add_real_fixed(&text, value, digits);
	tw_svg_text(out, RIGHT, y, &number_font, text.ptr ? text.ptr : "", 0);
	out->failed |= text.failed;
	tw_str_release(&text);
}

static void add_ticks(struct tw_str *out, const struct tw_bar_chart *c, const struct axis *a,
		      double top, double bottom)
{
	size_t count = (size_t)floor(a->end / a->step + 1e-9), i;
	struct tw_str text;

	tw_str_init(&text, out->allocator);
	for (i = 0; i <= count; i++) {
		double x = place(a, (double)i * a->step);

		tw_str_clear(&text);
		tw_str_add_real_fixed(&text, (double)i * a->step, a->digits);
		tw_svg_line(out, x, top, x, bottom, 1, "dddddd");
		tw_svg_text(out, x, bottom + 12, &tick_font, text.ptr ? text.ptr : "", 0);
	}
	tw_svg_text(out, RIGHT, bottom + 12, &number_font, c->unit, 0);
	out->failed |= text.failed;
	tw_str_release(&text);
}

/* Which colour is what; to where. */
static double add_legend(struct tw_str *out, const struct tw_bar_chart *c)
{
	double x = LEFT, y = LEGEND_TOP;
	size_t i;

	for (i = 0; i < c->part_count; i++) {
		double width = 36 + (double)strlen(c->parts[i].name) * note_font.size * TW_SVG_CELL;

		if (x + width > RIGHT && x > LEFT) {
			x = LEFT;
			y += LEGEND_ROW;
		}
		tw_svg_box(out, x, y - 7, x + 14, y + 7, c->parts[i].colour);
		tw_svg_text(out, x + 20, y, &note_font, c->parts[i].name, 0);
		x += width;
	}
	return y + LEGEND_ROW;
}

static size_t bars_of_row(const struct tw_bar_chart *c)
{
	return c->apart ? c->part_count : 1;
}

static double height_of_row(const struct tw_bar_chart *c)
{
	return (double)bars_of_row(c) * (BAR + BETWEEN_BARS) - BETWEEN_BARS + BETWEEN_ROWS;
}

static void add_row(struct tw_str *out, const struct tw_bar_chart *c, const struct axis *a,
		    const struct tw_bar_row *row, double y)
{
	double start = 0, middle = y + (height_of_row(c) - BETWEEN_ROWS) / 2;
	size_t i;

	tw_svg_text(out, a->left - NAME_GAP, middle, &name_font, row->name, NAME_CELLS);
	for (i = 0; i < c->part_count; i++) {
		double value = row->values[i], from = c->apart ? 0 : start;

		if (is_known(value) && value > 0)
			tw_svg_box(out, place(a, from), y, place(a, from + value), y + BAR,
				   c->parts[i].colour);
		if (c->apart) {
			add_number(out, y + BAR / 2, is_known(value) ? value : NAN,
				   a->number_digits);
			y += BAR + BETWEEN_BARS;
		} else if (is_known(value)) {
			start += value;
		}
	}
	if (!c->apart)
		add_number(out, middle, sum_of(c, row), a->number_digits);
}

bool tw_bar_chart(const struct tw_bar_chart *c, struct tw_str *out)
{
	double longest = longest_of(c), top, bottom;
	struct tw_str legend;
	struct axis a;
	size_t r;

	if (isnan(longest))
		return false;
	a = axis_of(c, longest);
	tw_str_init(&legend, out->allocator);
	top = add_legend(&legend, c);
	bottom = top + (double)c->row_count * height_of_row(c);
	tw_svg_begin(out, bottom + 26, c->title);
	tw_svg_text(out, LEFT, 24, &title_font, c->title, TITLE_CELLS);
	tw_svg_text(out, LEFT, 46, &subtitle_font, c->subtitle, SUBTITLE_CELLS);
	tw_str_add(out, legend.ptr ? legend.ptr : "", legend.len);
	add_ticks(out, c, &a, top - 4, bottom);
	for (r = 0; r < c->row_count; r++)
		add_row(out, c, &a, &c->rows[r], top + (double)r * height_of_row(c));
	tw_svg_end(out);
	out->failed |= legend.failed;
	tw_str_release(&legend);
	return true;
}
