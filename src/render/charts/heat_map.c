#include "render/charts/heat_map.h"

#include "render/charts/gnuplot.h"

#include <math.h>

#define SIDE 1000 /* pixels of the picture's side */
#define FONT 18
#define CELLS_FONT 130.0 /* that of one number in a row */
#define NUMBERS_MOST 16	 /* cells a side with their value written into them */
#define LABELS_MOST 20	 /* labels an axis */
#define DARK_FROM 0.55	 /* share of the largest value from which light text is readable */

static double largest(const struct tw_heat_map *map)
{
	double most = 0;
	size_t i;

	for (i = 0; i < map->row_count * map->column_count; i++)
		if (map->values[i] > most)
			most = map->values[i];
	return most;
}

static void add_values(const struct tw_heat_map *map, struct tw_str *out)
{
	size_t r, c;

	tw_str_add_cstr(out, "$map << EOD\n");
	for (r = 0; r < map->row_count; r++)
		for (c = 0; c < map->column_count; c++) {
			double value = map->values[r * map->column_count + c];

			tw_str_addf(out, "%zu %zu ", c, r);
			if (isfinite(value))
				tw_str_add_real(out, value);
			else
				tw_str_add_cstr(out, "NaN");
			tw_str_add_char(out, '\n');
		}
	tw_str_add_cstr(out, "EOD\n");
}

/* As many as there is room for, evenly. */
static void add_labels(struct tw_str *out, char axis, const int64_t *labels, size_t count)
{
	size_t step = (count + LABELS_MOST - 1) / LABELS_MOST, i;

	tw_str_addf(out, "set %ctics (", axis);
	for (i = 0; i < count; i += step)
		tw_str_addf(out, "%s'%lld' %zu", i ? ", " : "", (long long)labels[i], i);
	tw_str_add_cstr(out, ") scale 0 out nomirror\n");
}

static void add_numbers(const struct tw_heat_map *map, double most, struct tw_str *out)
{
	size_t side = map->row_count > map->column_count ? map->row_count : map->column_count, r, c;

	if (side > NUMBERS_MOST)
		return;
	for (r = 0; r < map->row_count; r++)
		for (c = 0; c < map->column_count; c++) {
			double value = map->values[r * map->column_count + c];

			if (!isfinite(value))
				continue;
			tw_str_add_cstr(out, "set label '");
			tw_str_add_real_fixed(out, value, value < 1 ? 3 : value < 100 ? 2 : 0);
			tw_str_addf(out,
				    "' at first %zu, first %zu center front tc rgb '%s' font "
				    "'sans,",
				    c, r, value > most * DARK_FROM ? "#ffffff" : "#222222");
			/* Five digits of it are as wide as a cell. */
			tw_str_add_real_fixed(out, fmin(FONT, CELLS_FONT / (double)side), 1);
			tw_str_add_cstr(out, "'\n");
		}
}

void tw_heat_map_script(const struct tw_heat_map *map, struct tw_str *script)
{
	double most = largest(map);

	tw_str_addf(script,
		    "set encoding utf8\n"
		    "set terminal pngcairo size %d,%d noenhanced font 'sans,%d' background rgb "
		    "'#ffffff'\n"
		    "unset key\nset size square\nset border lc rgb '#888888'\n"
		    "set palette defined (0 '#f7fbff', 1 '#6baed6', 2 '#08306b')\n",
		    SIDE, SIDE, FONT);
	tw_str_add_cstr(script, "set title ");
	tw_gnuplot_quote(script, map->title, 0);
	tw_str_add_cstr(script, " font 'sans:Bold,20'\nset xlabel ");
	tw_gnuplot_quote(script, map->column_axis, 0);
	tw_str_add_cstr(script, "\nset ylabel ");
	tw_gnuplot_quote(script, map->row_axis, 0);
	tw_str_add_cstr(script, "\nset cblabel ");
	tw_gnuplot_quote(script, map->unit, 0);
	tw_str_addf(script, "\nset xrange [-0.5:%zu.5]\nset yrange [%zu.5:-0.5]\nset cbrange [0:",
		    map->column_count - 1, map->row_count - 1);
	tw_str_add_real(script, most > 0 ? most : 1);
	tw_str_add_cstr(script, "]\n");
	add_labels(script, 'x', map->columns, map->column_count);
	add_labels(script, 'y', map->rows, map->row_count);
	add_numbers(map, most, script);
	add_values(map, script);
	tw_str_add_cstr(script, "plot $map using 1:2:3 with image\n");
}

int tw_render_heat_map(const struct tw_heat_map *map, const char *path,
		       const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_str script;
	int status;

	tw_str_init(&script, allocator);
	tw_heat_map_script(map, &script);
	status = tw_gnuplot_draw(&script, path, allocator, err);
	tw_str_release(&script);
	return status;
}
