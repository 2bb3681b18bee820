/* Charts of a page, from columns of the tables below them. */
#include "cli/page.h"

#include "cli/cli.h"
#include "render/charts/bar_chart.h"
#include "table/table.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

struct rows {
	struct tw_bar_row *at;
	size_t count, known; /* drawn, of those that have a number */
};

/* A row of the table, and by what the most are chosen. */
struct choice {
	size_t row;
	double weight;
};

static int compare_weights(const void *a, const void *b)
{
	const struct choice *p = a, *q = b;

	return TW_COMPARE(q->weight, p->weight) ?: TW_ORDER_BY(p, q, row);
}

static int compare_rows(const void *a, const void *b)
{
	const struct choice *p = a, *q = b;

	return p->row < q->row ? -1 : p->row > q->row;
}

static double number_of(const struct trawl_table *table, size_t row,
			const struct cli_page_column *d)
{
	return d->factor * tw_table_number(table, row, trawl_table_find_column(table, d->header));
}

/* The rows that have a number; how many. */
static size_t find_known(struct choice *list, const struct trawl_table *table,
			 const struct cli_page_column *parts, size_t part_count)
{
	size_t count = 0, r, i;

	for (r = 0; r < trawl_table_rows(table); r++) {
		bool known = false;

		list[count] = (struct choice){ r, 0 };
		for (i = 0; i < part_count; i++) {
			double value = number_of(table, r, &parts[i]);

			known |= !isnan(value);
			list[count].weight += fmax(0, value);
		}
		count += known;
	}
	return count;
}

/* Those with the largest sum of their parts, in the order of the table; how many. */
static size_t choose(struct choice *list, size_t known)
{
	if (known <= CLI_PAGE_MOST_BARS)
		return known;
	qsort(list, known, sizeof(*list), compare_weights);
	qsort(list, CLI_PAGE_MOST_BARS, sizeof(*list), compare_rows);
	return CLI_PAGE_MOST_BARS;
}

static struct rows rows_of(const struct trawl_table *table, const struct cli_page_bars *bars)
{
	struct choice *list = cli_alloc(trawl_table_rows(table), sizeof(*list));
	struct rows rows;
	size_t i, k;

	rows.known = find_known(list, table, bars->columns, bars->count);
	rows.count = choose(list, rows.known);
	rows.at = cli_alloc(rows.count, sizeof(*rows.at));
	for (i = 0; i < rows.count; i++) {
		rows.at[i].name = bars->name(table, list[i].row);
		for (k = 0; k < bars->count; k++)
			rows.at[i].values[k] = number_of(table, list[i].row, &bars->columns[k]);
	}
	return rows;
}

/* "8 ranks", "32 of 256 ranks, those with the most", and what else is said of them. */
static const char *sample(const struct rows *rows, const char *what, const char *rest)
{
	if (rows->known > rows->count)
		return cli_text("%zu of %zu %ss, those with the most%s", rows->count, rows->known,
				what, rest);
	return cli_text("%zu %s%s%s", rows->known, what, rows->known == 1 ? "" : "s", rest);
}

void cli_page_bars(const struct cli_page_bars *bars, const struct trawl_table *table,
		   struct tw_str *out)
{
	struct rows rows = rows_of(table, bars);
	struct tw_bar_part parts[TW_BAR_CHART_PARTS];
	const struct tw_bar_chart chart = {
		.title = bars->title,
		.subtitle = sample(&rows, bars->what, bars->rest ? bars->rest : ""),
		.unit = bars->unit,
		.parts = parts,
		.part_count = bars->count,
		.rows = rows.at,
		.row_count = rows.count,
		.apart = bars->apart,
	};
	size_t i;

	for (i = 0; i < bars->count; i++)
		parts[i] = (struct tw_bar_part){ bars->columns[i].name, bars->columns[i].colour };
	tw_bar_chart(&chart, out);
}
