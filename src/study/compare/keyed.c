#include "study/compare/keyed.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slots.h"
#include "text/scan.h"
#include "text/str.h"

#include <math.h>
#include <string.h>

/* What becomes of a column where rows are added up. */
enum rule { KEEP_IF_SAME, SUM, MEAN, LEAST, LARGEST };

static enum rule rule_of(const char *header)
{
	static const char *const sums[] = { "_sum", "_count", "Count", "_ms", "time ms" };
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
static size_t count_column(const struct tw_csv *csv)
{
	static const char *const names[] = { "operation_count", "name_count",
					     "Kernel duration (\xC2\xB5s)_count", "Count" };
	size_t i, column = TW_CSV_NO_COLUMN;

	for (i = 0; i < sizeof(names) / sizeof(*names) && column == TW_CSV_NO_COLUMN; i++)
		column = tw_csv_column(csv, names[i]);
	return column;
}

/* ---- keys */

static const char *key_text(const struct tw_keyed *keyed, size_t row, size_t key)
{
	return tw_csv_text(&keyed->csv, row, keyed->keys[key]);
}

static uint64_t hash_key(const struct tw_keyed *keyed, size_t row)
{
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < keyed->key_count; i++) {
		const char *text = key_text(keyed, row, i);

		hash = tw_hash_mix(hash ^ tw_hash_secret[0], tw_hash_bytes(text, strlen(text)));
	}
	return hash;
}

static bool same_key(const struct tw_keyed *a, size_t row_a, const struct tw_keyed *b, size_t row_b)
{
	size_t i;

	for (i = 0; i < a->key_count; i++)
		if (strcmp(key_text(a, row_a, i), key_text(b, row_b, i)) != 0)
			return false;
	return true;
}

/* Where the key of other's row is, or would be. */
static uint32_t *slot_of(const struct tw_keyed *keyed, const struct tw_keyed *other, size_t row)
{
	return &keyed->slots[TW_SLOT(at, keyed->slot_count, hash_key(other, row),
				     !keyed->slots[at] ||
					     same_key(keyed, keyed->slots[at] - 1, other, row))];
}

uint32_t tw_keyed_find(const struct tw_keyed *keyed, const struct tw_keyed *other, size_t row)
{
	uint32_t found = *slot_of(keyed, other, row);

	return found ? found - 1 : TW_KEYED_NO_ROW;
}

/* Which row of the sheet is the first of its key: leader[row], itself for the first. */
static int find_leaders(struct tw_keyed *keyed, uint32_t *leaders, struct tw_arena *arena,
			struct trawl_error *err)
{
	size_t slots = tw_slots_for(keyed->csv.rows), row;

	keyed->slots = tw_arena_alloc(arena, slots * sizeof(*keyed->slots));
	if (!keyed->slots)
		return tw_no_memory(err);
	memset(keyed->slots, 0, slots * sizeof(*keyed->slots));
	keyed->slot_count = slots;
	for (row = 0; row < keyed->csv.rows; row++) {
		uint32_t *slot = slot_of(keyed, keyed, row);

		if (!*slot)
			*slot = (uint32_t)row + 1;
		leaders[row] = *slot - 1;
		keyed->added_up += leaders[row] != row;
	}
	return 0;
}

/* ---- adding up */

struct adding {
	const struct tw_csv *csv;
	struct tw_arena *arena;
	size_t counts; /* column of counts, TW_CSV_NO_COLUMN: none */
	struct tw_str number;
};

static const char *keep_number(struct adding *adding, double value)
{
	if (isnan(value))
		return "";
	tw_str_clear(&adding->number);
	tw_str_add_real(&adding->number, value);
	return adding->number.failed ?
		       NULL :
		       tw_arena_copy(adding->arena, adding->number.ptr, adding->number.len);
}

/* Both cells as one; `first` counts for `weight` calls, the other for its row's. */
static const char *combine(struct adding *adding, const char *header, const char *first,
			   double first_weight, const char *second, double weight)
{
	enum rule rule = rule_of(header);
	double a, b;

	if (rule == KEEP_IF_SAME || !*first || !*second) {
		if (rule == KEEP_IF_SAME)
			return strcmp(first, second) ? "" : first;
		return *first ? first : second;
	}
	if (!tw_text_real(first, strlen(first), &a) || !tw_text_real(second, strlen(second), &b))
		return strcmp(first, second) ? "" : first;
	switch (rule) {
	case SUM:
		return keep_number(adding, a + b);
	case MEAN:
		return keep_number(adding, first_weight + weight > 0 ?
						   (a * first_weight + b * weight) /
							   (first_weight + weight) :
						   (double)NAN);
	case LEAST:
		return a <= b ? first : second;
	case LARGEST:
	case KEEP_IF_SAME:
		break;
	}
	return a >= b ? first : second;
}

/* The row into that of its leader, which is one of `cells` already. */
static bool add_row(struct adding *adding, const char **into, size_t row, bool is_key[],
		    double *weight)
{
	const struct tw_csv *csv = adding->csv;
	double own = tw_csv_number(csv, row, adding->counts);
	size_t i;

	own = isnan(own) ? 1 : own;
	for (i = 0; i < csv->columns; i++) {
		if (is_key[i])
			continue;
		into[i] = combine(adding, csv->cells[i], into[i], *weight, tw_csv_text(csv, row, i),
				  own);
		if (!into[i])
			return false;
	}
	*weight += own;
	return true;
}

struct places {
	uint32_t *leaders, *places; /* by row of the sheet: first of its key, where that one went */
	double *weights;	    /* by place: calls so far */
	bool *is_key;		    /* by column */
};

static bool fill(struct tw_keyed *keyed, struct adding *adding, struct places *at,
		 const char **cells)
{
	const struct tw_csv *csv = adding->csv;
	size_t row, used = 0;

	memcpy(cells, csv->cells, csv->columns * sizeof(*cells));
	for (row = 0; row < csv->rows; row++) {
		double own = tw_csv_number(csv, row, adding->counts);
		uint32_t leader = at->leaders[row];

		if (leader != row) {
			uint32_t to = at->places[leader];

			if (!add_row(adding, cells + (to + 1) * csv->columns, row, at->is_key,
				     &at->weights[to]))
				return false;
			continue;
		}
		at->places[row] = (uint32_t)used;
		at->weights[used] = isnan(own) ? 1 : own;
		memcpy(cells + ++used * csv->columns, csv->cells + (row + 1) * csv->columns,
		       csv->columns * sizeof(*cells));
	}
	keyed->csv = (struct tw_csv){ csv->columns, used, cells };
	return true;
}

/* Rows have other numbers now. */
static void index_again(struct tw_keyed *keyed)
{
	size_t row;

	memset(keyed->slots, 0, keyed->slot_count * sizeof(*keyed->slots));
	for (row = 0; row < keyed->csv.rows; row++)
		*slot_of(keyed, keyed, row) = (uint32_t)row + 1;
}

static int add_up(struct tw_keyed *keyed, uint32_t *leaders, struct tw_arena *arena,
		  struct trawl_error *err)
{
	const struct tw_csv csv = keyed->csv;
	struct adding adding = { .csv = &csv, .arena = arena, .counts = count_column(&csv) };
	const char **cells = tw_arena_alloc(arena, (csv.rows + 1) * csv.columns * sizeof(*cells));
	struct places at = {
		.leaders = leaders,
		.places = tw_arena_alloc(arena, csv.rows * sizeof(*at.places)),
		.weights = tw_arena_alloc(arena, csv.rows * sizeof(*at.weights)),
		.is_key = tw_arena_alloc(arena, csv.columns * sizeof(*at.is_key)),
	};
	bool done = cells && at.places && at.weights && at.is_key;
	size_t i;

	if (done) {
		memset(at.is_key, 0, csv.columns * sizeof(*at.is_key));
		for (i = 0; i < keyed->key_count; i++)
			at.is_key[keyed->keys[i]] = true;
		tw_str_init(&adding.number, arena->allocator);
		done = fill(keyed, &adding, &at, cells);
		tw_str_release(&adding.number);
	}
	if (!done)
		return tw_no_memory(err);
	index_again(keyed);
	return 0;
}

int tw_keyed_of(struct tw_keyed *keyed, const struct tw_csv *from, const char *const *keys,
		size_t key_count, struct tw_arena *arena, struct trawl_error *err)
{
	uint32_t *leaders;
	size_t i;
	int status;

	*keyed = (struct tw_keyed){ .csv = *from, .key_count = key_count };
	if (from->rows >= UINT32_MAX / 4)
		return trawl_error_set(err, TRAWL_ELIMIT, "more rows than can be compared");
	for (i = 0; i < key_count; i++)
		keyed->keys[i] = tw_csv_column(from, keys[i]);
	leaders = tw_arena_alloc(arena, (from->rows + 1) * sizeof(*leaders));
	if (!leaders)
		return tw_no_memory(err);
	status = find_leaders(keyed, leaders, arena, err);
	if (!status && keyed->added_up)
		status = add_up(keyed, leaders, arena, err);
	return status;
}
