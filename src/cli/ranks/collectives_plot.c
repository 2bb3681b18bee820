/* Heat map of all_to_allv: bytes sent between ranks. */
#include "cli/ranks/collectives.h"

#include "render/charts/heat_map.h"
#include "table/table.h"

#include <math.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Ranks on an axis: more are not distinguished. */
#define RANKS_MOST 4096

/* The distinct numbers of a column, in order; how many. */
static size_t list_distinct(const struct trawl_table *table, const char *header, int64_t *numbers)
{
	size_t rows = trawl_table_rows(table), count = 0, i;

	for (i = 0; i < rows; i++)
		numbers[i] = tw_table_cell(table, i, header).integer;
	qsort(numbers, rows, sizeof(*numbers), by_number);
	for (i = 0; i < rows; i++)
		if (!count || numbers[count - 1] != numbers[i])
			numbers[count++] = numbers[i];
	return count;
}

static size_t index_of(const int64_t *numbers, size_t count, int64_t number)
{
	const int64_t *found = bsearch(&number, numbers, count, sizeof(*numbers), by_number);

	return (size_t)(found - numbers);
}

static int draw_transfers(const struct trawl_table *table, int64_t *rows, int64_t *columns,
			  const char *path, struct trawl_error *err)
{
	struct tw_heat_map map = {
		.title = "Sent by all_to_allv",
		.unit = "MB",
		.row_axis = "sending rank",
		.column_axis = "receiving rank",
		.rows = rows,
		.columns = columns,
		.row_count = list_distinct(table, TW_COL_SRC_RANK, rows),
		.column_count = list_distinct(table, TW_COL_DST_RANK, columns),
	};
	size_t cells = map.row_count * map.column_count, i;
	double *values;

	if (map.row_count > RANKS_MOST || map.column_count > RANKS_MOST)
		return trawl_error_set(err, TRAWL_ELIMIT,
				       "cannot draw '%s': more than %d sending or receiving ranks",
				       path, RANKS_MOST);
	values = cli_alloc(cells, sizeof(*values));
	for (i = 0; i < cells; i++)
		values[i] = NAN;
	for (i = 0; i < trawl_table_rows(table); i++) {
		size_t row = index_of(rows, map.row_count,
				      tw_table_cell(table, i, TW_COL_SRC_RANK).integer);
		size_t column = index_of(columns, map.column_count,
					 tw_table_cell(table, i, TW_COL_DST_RANK).integer);

		values[row * map.column_count + column] =
			tw_table_cell(table, i, TW_COL_TOTAL_SENT_MB).real;
	}
	map.values = values;
	return tw_render_heat_map(&map, path, trawl_allocator_default(), err);
}

int cli_draw_all_to_all(const struct trawl_job_report *t, const char *path, struct trawl_error *err)
{
	const struct trawl_table *table = trawl_job_report_find(t, "nccl_all2allv_heatmap");
	size_t rows = table ? trawl_table_rows(table) : 0;

	if (!rows)
		return trawl_error_set(err, TRAWL_ENODATA, "no all_to_allv in the traces");
	return draw_transfers(table, cli_alloc(rows, sizeof(int64_t)),
			      cli_alloc(rows, sizeof(int64_t)), path, err);
}
