#include "job/sums/sums_values.h"

#include "analysis/analysis.h"
#include "analysis/stats.h"

#include <math.h>

/* The rows of one source, put together. */
struct fold {
	size_t rows; /* those that have the cell */
	tw_wide integer;
	double real;
	double weighted; /* of means: sum of count x mean */
	tw_wide weight;
};

static tw_wide weight_of(const struct tw_sum_columns *c, const struct tw_sum_entry *entry)
{
	size_t at = c->weight == SIZE_MAX ? SIZE_MAX : c->columns[c->weight].at[entry->source];

	return trawl_table_cell(c->sources[entry->source].table, entry->row, at).integer;
}

static void fold_integer(struct fold *fold, enum trawl_over_ranks role, int64_t value)
{
	if (!fold->rows || (role == TRAWL_MIN && value < fold->integer) ||
	    (role == TRAWL_MAX && value > fold->integer))
		fold->integer = value;
	else if (role != TRAWL_MIN && role != TRAWL_MAX)
		fold->integer += value;
}

static void fold_real(struct fold *fold, enum trawl_over_ranks role, double value, tw_wide weight)
{
	fold->weight += weight;
	fold->weighted += value * (double)weight;
	if (!fold->rows || (role == TRAWL_MIN && value < fold->real) ||
	    (role == TRAWL_MAX && value > fold->real))
		fold->real = value;
	else if (role == TRAWL_MEAN)
		fold->real = fold->weight > 0 ? fold->weighted / (double)fold->weight : NAN;
	else if (role != TRAWL_MIN && role != TRAWL_MAX)
		fold->real += value;
}

/* A sum that fits no cell is unknown. */
static void add_value(struct tw_sum_values *values, const struct fold *fold, uint32_t source)
{
	if (!fold->rows || !tw_wide_fits(fold->integer) || isnan(fold->real))
		return;
	values->source[values->count] = source;
	values->integer[values->count] = (int64_t)fold->integer;
	values->real[values->count] = fold->real;
	values->count++;
}

void tw_sum_values_of(struct tw_sum_values *values, const struct tw_sum_columns *c,
		      const struct tw_sum_column *column, const struct tw_sum_entry *entries,
		      const uint32_t *list, size_t count)
{
	bool real = column->column->type == TRAWL_COLUMN_REAL;
	struct fold fold = { 0 };
	size_t i;

	values->count = 0;
	for (i = 0; i < count; i++) {
		const struct tw_sum_entry *entry = &entries[list[i]];
		struct trawl_cell cell = trawl_table_cell(c->sources[entry->source].table,
							  entry->row, column->at[entry->source]);

		if (i && entries[list[i - 1]].source != entry->source) {
			add_value(values, &fold, entries[list[i - 1]].source);
			fold = (struct fold){ 0 };
		}
		if (cell.state != TRAWL_CELL_VALUE)
			continue;
		if (real)
			fold_real(&fold, column->column->over_ranks, cell.real,
				  weight_of(c, entry));
		else
			fold_integer(&fold, column->column->over_ranks, cell.integer);
		fold.rows++;
	}
	if (count)
		add_value(values, &fold, entries[list[count - 1]].source);
}

static double power_of_ten(unsigned exponent)
{
	double power = 1;

	while (exponent--)
		power *= 10;
	return power;
}

static void set_integers(struct tw_sum_values *values, const struct tw_sum_column *column,
			 struct trawl_table *table, size_t row)
{
	struct tw_stats stats = tw_stats_of(values->integer, values->count);
	double unit = power_of_ten(column->column->scale);
	size_t out = column->out;

	/* Divided once, so that it is the double nearest to the mean. */
	tw_table_set_real(table, row, out + TW_SUM_OF_MEAN,
			  (double)stats.sum / ((double)values->count * unit));
	/* Half of their sum, with one digit more. */
	tw_set_sum(table, row, out + TW_SUM_OF_MEDIAN,
		   ((tw_wide)stats.middle.lower + stats.middle.upper) * 5);
	tw_table_set_integer(table, row, out + TW_SUM_OF_MIN, stats.min);
	tw_table_set_integer(table, row, out + TW_SUM_OF_MAX, stats.max);
	if (tw_sum_has_total(column->column->over_ranks))
		tw_set_sum(table, row, out + TW_SUM_OF_TOTAL, stats.sum);
}

void tw_sum_values_set(struct tw_sum_values *values, const struct tw_sum_column *column,
		       struct trawl_table *table, size_t row)
{
	struct tw_real_stats stats;
	size_t out = column->out;

	if (!values->count)
		return;
	if (column->column->type != TRAWL_COLUMN_REAL) {
		set_integers(values, column, table, row);
		return;
	}
	stats = tw_real_stats_of(values->real, values->count);
	tw_table_set_real(table, row, out + TW_SUM_OF_MEAN, stats.mean);
	tw_table_set_real(table, row, out + TW_SUM_OF_MEDIAN, stats.median);
	tw_table_set_real(table, row, out + TW_SUM_OF_MIN, stats.min);
	tw_table_set_real(table, row, out + TW_SUM_OF_MAX, stats.max);
}
