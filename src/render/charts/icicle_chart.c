#include "render/charts/icicle_chart.h"

#include "base/alloc.h"
#include "render/charts/svg.h"
#include "render/width.h"

#include <math.h>
#include <string.h>

/* In pixels. */
#define LEFT ((double)TW_SVG_EDGE)
#define RIGHT ((double)TW_SVG_WIDTH - TW_SVG_EDGE)
#define ABOVE 84.0
#define ROW 26.0
#define GAP 0.5 /* to the next rectangle */
#define INSET 4.0
#define TITLE_CELLS 44
#define SUBTITLE_CELLS 56
#define NAME_CELLS 4 /* of less nothing can be made out */
#define PATH_CELLS 1000
#define KIND_CELLS 40
#define LEGEND_ROW 24.0

static const struct tw_svg_font title_font = { .size = 18, .colour = "111111", .bold = true };
static const struct tw_svg_font subtitle_font = { .size = 15, .colour = "222222" };
static const struct tw_svg_font note_font = { .size = 15, .colour = "555555" };
static const struct tw_svg_font name_font = { .size = 15, .colour = "111111" };

struct place {
	double left, right;
	double taken; /* to where parts in it are placed */
	size_t row;
};

/* Light ones of Okabe and Ito's and between them: dark text is readable on all. */
static const char *const colours[TW_ICICLE_KINDS + 2] = {
	"dddddd", "a6d4f2", "f6cf86", "97d8c0", "e6b9d4", "f3eb98",
	"efb08c", "a9b8ea", "cfdc9c", "d9c2a3", "c3aee0", "c9d3da",
};

/* With its share where both fit, else shortened. */
static void add_name(struct tw_str *out, const struct tw_icicle_part *part, double percent,
		     const struct place *at)
{
	double room = (at->right - at->left - 2 * INSET) / (name_font.size * TW_SVG_CELL);
	double y = ABOVE + (double)at->row * ROW + ROW / 2;
	struct tw_str text;
	size_t len;

	if (room < NAME_CELLS)
		return;
	tw_str_init(&text, out->allocator);
	tw_shown_text(&text, part->name, (size_t)room);
	len = text.len;
	tw_str_add_cstr(&text, "  ");
	if (part->value) {
		tw_str_add_cstr(&text, part->value);
	} else {
		tw_str_add_real_fixed(&text, percent, 1);
		tw_str_add_cstr(&text, " %");
	}
	if (!text.failed) {
		if ((double)tw_text_width(text.ptr, text.len) > room)
			text.ptr[len] = '\0';
		tw_svg_text(out, at->left + INSET, y, &name_font, text.ptr, 0);
	}
	out->failed |= text.failed;
	tw_str_release(&text);
}

static void add_part(struct tw_str *out, const struct tw_icicle_part *part, double percent,
		     const struct place *at)
{
	double top = ABOVE + (double)at->row * ROW;
	struct tw_str told;

	tw_str_init(&told, out->allocator);
	tw_shown_text(&told, part->path, PATH_CELLS);
	tw_str_add_cstr(&told, ": ");
	if (part->told) {
		tw_str_add_cstr(&told, part->told);
	} else {
		tw_str_add_real_fixed(&told, part->time_ms, 3);
		tw_str_add_cstr(&told, " ms, ");
		tw_str_add_real_fixed(&told, percent, 2);
		tw_str_add_cstr(&told, " %");
	}
	tw_svg_told_begin(out, told.ptr ? told.ptr : "");
	tw_svg_box(out, at->left, top, at->right - GAP, top + ROW - 1, colours[part->kind]);
	add_name(out, part, percent, at);
	tw_svg_told_end(out);
	out->failed |= told.failed;
	tw_str_release(&told);
}

/* As numbers are written, so that rectangles stay in those around them. */
static double to_tenths(double pixels)
{
	return floor(pixels * 10 + 0.5) / 10;
}

/* The number of rows. */
static size_t add_parts(struct tw_str *out, const struct tw_icicle_chart *chart,
			struct place *places)
{
	double whole_ms = chart->parts[0].time_ms;
	size_t rows = 1, i;

	for (i = 0; i < chart->count; i++) {
		const struct tw_icicle_part *part = &chart->parts[i];
		struct place *around = &places[part->around], *at = &places[i];

		if (!i) {
			*at = (struct place){ LEFT, RIGHT, LEFT, 0 };
			continue;
		}
		*at = (struct place){ around->taken,
				      fmin(around->taken +
						   part->time_ms / whole_ms * (RIGHT - LEFT),
					   around->right),
				      around->taken, around->row + 1 };
		around->taken = at->right;
		if (rows <= at->row)
			rows = at->row + 1;
	}
	for (i = 0; i < chart->count; i++) {
		struct place at = places[i];

		at.left = to_tenths(at.left);
		at.right = to_tenths(at.right);
		add_part(out, &chart->parts[i], 100 * chart->parts[i].time_ms / whole_ms, &at);
	}
	return rows;
}

/* Which colour is what; to where. */
static double add_kinds(struct tw_str *out, const struct tw_icicle_chart *chart, double y)
{
	double x = LEFT;
	size_t i;

	for (i = 1; i < chart->kind_count; i++) {
		size_t cells = tw_text_width(chart->kinds[i], strlen(chart->kinds[i]));
		double width;

		cells = cells < KIND_CELLS ? cells : KIND_CELLS;
		width = 36 + (double)cells * note_font.size * TW_SVG_CELL;
		if (x + width > RIGHT && x > LEFT) {
			x = LEFT;
			y += LEGEND_ROW;
		}
		tw_svg_box(out, x, y - 7, x + 14, y + 7, colours[i]);
		tw_svg_text(out, x + 20, y, &note_font, chart->kinds[i], KIND_CELLS);
		x += width;
	}
	return y + LEGEND_ROW;
}

static bool is_below(const struct tw_icicle_tree *tree, const char *path, const char *around)
{
	size_t len = strlen(around);

	return !strncmp(path, around, len) &&
	       !strncmp(path + len, tree->between, strlen(tree->between));
}

/* The longest of a name less, as names can hold what is between them; 0: there is none. */
static size_t find_around(const struct tw_icicle_tree *tree, const char *path, size_t depth)
{
	size_t found = 0, i;

	for (i = 1; i < tree->count; i++)
		if (tree->depths[i] + 1 == depth && is_below(tree, path, tree->parts[i].path) &&
		    (!found || strlen(tree->parts[i].path) > strlen(tree->parts[found].path)))
			found = i;
	return found;
}

struct tw_icicle_part *tw_icicle_add_path(struct tw_icicle_tree *tree, const char *path,
					  size_t depth, double time_ms)
{
	size_t around = depth > 1 ? find_around(tree, path, depth) : 0;
	const char *name = path;

	if (depth >= TW_ICICLE_ROWS || (depth > 1 && !around))
		return NULL;
	if (around)
		name += strlen(tree->parts[around].path) + strlen(tree->between);
	tree->depths[tree->count] = depth;
	tree->parts[tree->count] = (struct tw_icicle_part){ .path = path,
							    .name = name,
							    .around = around,
							    .time_ms = time_ms };
	return &tree->parts[tree->count++];
}

bool tw_icicle_chart(const struct tw_icicle_chart *chart, struct tw_str *out)
{
	struct place *places;
	struct tw_str parts;
	double y;

	if (!chart->count || !(chart->parts[0].time_ms > 0))
		return false;
	places = tw_alloc_array(out->allocator, chart->count, sizeof(*places));
	if (!places) {
		out->failed = true;
		return false;
	}
	tw_str_init(&parts, out->allocator);
	y = ABOVE + (double)add_parts(&parts, chart, places) * ROW + TW_SVG_EDGE + 4;
	tw_svg_begin(out, add_kinds(&parts, chart, y), chart->title);
	tw_svg_text(out, LEFT, 24, &title_font, chart->title, TITLE_CELLS);
	tw_svg_text(out, LEFT, 46, &subtitle_font, chart->subtitle, SUBTITLE_CELLS);
	tw_svg_text(out, LEFT, 67, &note_font, chart->note, 0);
	tw_str_add(out, parts.ptr ? parts.ptr : "", parts.len);
	tw_svg_end(out);
	out->failed |= parts.failed;
	tw_str_release(&parts);
	tw_free(out->allocator, places, chart->count * sizeof(*places));
	return true;
}
