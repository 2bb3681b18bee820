#include "study/books/keyed.h"

#include "base/alloc.h"
#include "text/str.h"

#include <math.h>
#include <string.h>

/* What becomes of a column where rows are added up. */
enum rule { KEEP_IF_SAME, SUM, MEAN, LEAST, LARGEST };

static enum rule rule_of(const char *header)
{
	static const char *const sums[] = { "_sum", "_count", TW_COL_COUNT, "_ms", TW_COL_TIME_MS };
	size_t i;

	for (i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		if (tw_ends_with(header, sums[i]))
			return SUM;
	if (!strncmp(header, "Percent", 7))
		return SUM;
	if (tw_ends_with(header, "_mean"))
		return MEAN;
	if (tw_ends_with(header, "_min"))
		return LEAST;
	return tw_ends_with(header, "_max") ? LARGEST : KEEP_IF_SAME;
}

/* The column that says of how many calls a row is: means count by it. */
static size_t count_column(const struct trawl_table *table)
{
	static const char *const names[] = { TW_COL_OPERATION_COUNT, TW_COL_NAME_COUNT,
					     TW_COL_KERNEL_DURATION_US_COUNT, TW_COL_COUNT };
	size_t none = trawl_table_columns(table), column = none, i;

	for (i = 0; i < sizeof(names) / sizeof(*names) && column == none; i++)
		column = trawl_table_find_column(table, names[i]);
	return column;
}

/* ---- adding up */

struct adding {
	const struct trawl_table *from;
	const uint32_t *next; /* by row: the next one of its key, 0: none */
	size_t counts;	      /* column of counts, where there is one */
	struct tw_str texts[2];
};

/* What a cell is so far: nothing, that of a row, or a number. */
struct value {
	enum { NOTHING, CELL, NUMBER } is;
	size_t row;
	double number;
};

static double calls_of(const struct adding *a, size_t row)
{
	double calls = tw_table_number(a->from, row, a->counts);

	return isnan(calls) ? 1 : calls;
}

static bool same_text(struct adding *a, const struct value *v, size_t row, size_t column)
{
	return v->is != NUMBER && !strcmp(tw_table_text(a->from, v->row, column, &a->texts[0]),
					  tw_table_text(a->from, row, column, &a->texts[1]));
}

static struct value number_value(double number)
{
	return (struct value){ isnan(number) ? NOTHING : NUMBER, 0, number };
}

/* The cell of one row more; what there is counts for `calls`, the row for its own. */
static void combine(struct adding *a, enum rule rule, struct value *v, double calls, size_t row,
		    size_t column)
{
	const struct value next = { CELL, row, tw_table_number(a->from, row, column) };
	double more = calls_of(a, row);

	if (rule == KEEP_IF_SAME) {
		if (!same_text(a, v, row, column))
			v->is = NOTHING;
	} else if (tw_table_text_is(a->from, row, column, "")) {
		return;
	} else if (v->is == NOTHING) {
		*v = next;
	} else if (isnan(v->number) || isnan(next.number)) {
		if (!same_text(a, v, row, column))
			v->is = NOTHING;
	} else if (rule == SUM) {
		*v = number_value(v->number + next.number);
	} else if (rule == MEAN) {
		*v = number_value(calls + more > 0 ? (v->number * calls + next.number * more) /
							     (calls + more) :
						     (double)NAN);
	} else if (rule == LEAST ? !(v->number <= next.number) : !(v->number >= next.number)) {
		*v = next;
	}
}

/* The cell of a key whose first row is that. */
static void add_up_cell(struct adding *a, struct trawl_table *to, size_t at, size_t first,
			size_t column)
{
	const struct trawl_column *declared = trawl_table_column(to, column);
	struct value v = { CELL, first, tw_table_number(a->from, first, column) };
	double calls = calls_of(a, first);
	size_t row;

	if (tw_table_text_is(a->from, first, column, "") &&
	    rule_of(declared->header) != KEEP_IF_SAME)
		v.is = NOTHING;
	for (row = a->next[first]; row; row = a->next[row]) {
		combine(a, rule_of(declared->header), &v, calls, row, column);
		calls += calls_of(a, row);
	}
	if (v.is == NOTHING)
		return;
	if (declared->type == TRAWL_COLUMN_REAL) {
		tw_table_set_real(to, at, column, v.number);
	} else if (v.is == CELL) {
		tw_table_copy_cell(to, at, column, a->from, v.row, column);
	} else {
		tw_str_clear(&a->texts[0]);
		tw_str_add_real(&a->texts[0], v.number);
		tw_table_set_text(to, at, column, a->texts[0].ptr, a->texts[0].len);
	}
}

/* Sums and means are doubles. */
static struct trawl_table *new_table(const struct trawl_table *from,
				     const struct trawl_allocator *scope)
{
	size_t count = trawl_table_columns(from), i;
	struct trawl_column *columns = tw_alloc(scope, count * sizeof(*columns));

	for (i = 0; columns && i < count; i++) {
		enum rule rule;

		columns[i] = *trawl_table_column(from, i);
		rule = rule_of(columns[i].header);
		if (tw_column_is_number(&columns[i]) && (rule == SUM || rule == MEAN))
			columns[i].type = TRAWL_COLUMN_REAL;
	}
	return columns ? tw_table_new_columns(tw_table_spec(from), columns, count, scope) : NULL;
}

static bool is_key(const struct tw_keyed *keyed, size_t column)
{
	size_t i;

	for (i = 0; i < keyed->key_count; i++)
		if (keyed->keys[i] == column)
			return true;
	return false;
}

/* Rows have other numbers then. */
static int add_up(struct tw_keyed *keyed, const uint32_t *next, const struct trawl_allocator *scope,
		  struct trawl_error *err)
{
	struct adding a = { .from = keyed->table,
			    .next = next,
			    .counts = count_column(keyed->table) };
	struct trawl_table *to = new_table(a.from, scope);
	size_t row, i;

	tw_str_init(&a.texts[0], scope);
	tw_str_init(&a.texts[1], scope);
	for (row = 0; to && row < trawl_table_rows(a.from); row++) {
		size_t at;

		if (keyed->rows[keyed->ids[row]] != row + 1)
			continue;
		at = tw_table_add_row(to);
		for (i = 0; i < trawl_table_columns(to); i++)
			if (is_key(keyed, i))
				tw_table_copy_cell(to, at, i, a.from, row, i);
			else
				add_up_cell(&a, to, at, row, i);
		keyed->ids[at] = keyed->ids[row];
		keyed->rows[keyed->ids[at]] = (uint32_t)at + 1;
	}
	keyed->table = to;
	if (!to || a.texts[0].failed || a.texts[1].failed)
		return tw_no_memory(err);
	return tw_table_finish(to, err);
}

/* ---- keys */

static void add_key(struct tw_str *out, const struct tw_keyed *keyed, size_t row)
{
	size_t i;

	tw_str_clear(out);
	for (i = 0; i < keyed->key_count; i++) {
		tw_table_add_text(out, keyed->table, row, keyed->keys[i]);
		tw_str_add_char(out, '\0');
	}
}

static bool find_keys(struct tw_keyed *keyed, struct tw_pool *pool,
		      const struct trawl_allocator *scope)
{
	size_t row;
	struct tw_str key;

	tw_str_init(&key, scope);
	for (row = 0; row < trawl_table_rows(keyed->table) && !pool->failed && !key.failed; row++) {
		add_key(&key, keyed, row);
		keyed->ids[row] = tw_pool_intern(pool, key.ptr, key.len);
	}
	keyed->id_count = pool->count;
	return !pool->failed && !key.failed;
}

uint32_t tw_keyed_find(const struct tw_keyed *keyed, const struct tw_keyed *other, size_t row)
{
	uint32_t id = other->ids[row];

	return id < keyed->id_count && keyed->rows[id] ? keyed->rows[id] - 1 : TW_KEYED_NO_ROW;
}

int tw_keyed_of(struct tw_keyed *keyed, const struct trawl_table *from, const char *const *keys,
		size_t key_count, struct tw_pool *pool, const struct trawl_allocator *scope,
		struct trawl_error *err)
{
	size_t rows = trawl_table_rows(from), row, i;
	uint32_t *next, *last;

	*keyed = (struct tw_keyed){ .table = from, .key_count = key_count };
	if (rows >= UINT32_MAX / 4)
		return trawl_error_set(err, TRAWL_ELIMIT, "too many rows to compare");
	for (i = 0; i < key_count; i++)
		keyed->keys[i] = trawl_table_find_column(from, keys[i]);
	keyed->ids = tw_alloc(scope, (rows + 1) * sizeof(*keyed->ids));
	next = tw_alloc_array(scope, rows + 1, sizeof(*next));
	if (!keyed->ids || !next || !find_keys(keyed, pool, scope))
		return tw_no_memory(err);
	keyed->rows = tw_alloc_array(scope, keyed->id_count, sizeof(*keyed->rows));
	last = tw_alloc(scope, keyed->id_count * sizeof(*last));
	if (!keyed->rows || !last)
		return tw_no_memory(err);
	for (row = 0; row < rows; row++) {
		uint32_t id = keyed->ids[row];

		if (keyed->rows[id]) {
			next[last[id]] = (uint32_t)row;
			keyed->added_up++;
		} else {
			keyed->rows[id] = (uint32_t)row + 1;
		}
		last[id] = (uint32_t)row;
	}
	return keyed->added_up ? add_up(keyed, next, scope, err) : 0;
}
