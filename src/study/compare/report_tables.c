#include "study/compare/report_tables.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "study/compare/joined.h"
#include "text/str.h"

#include <string.h>

#define MICRO "\xC2\xB5s"
#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
#define MOST_SIDES 64

/* Which columns of a sheet are its key, which get differences. */
struct kind {
	const char *sheet; /* NULL: any that tells of a cost model */
	const char *meaning;
	const char *keys[5], *differences[6];
	const char *order; /* NULL: as they come */
	bool (*left_out)(size_t side, const char *header);
};

/* The sum in µs says the same as that in ms; a running sum is one of the baseline's order. */
static bool not_of_ops(size_t side, const char *header)
{
	return !strcmp(header, "total_direct_kernel_time_sum") ||
	       (side > 0 && !strcmp(header, "Cumulative Percentage (%)"));
}

static bool not_of_kernels(size_t side, const char *header)
{
	return tw_ends_with(header, "_min") || tw_ends_with(header, "_max") ||
	       tw_ends_with(header, "op category") ||
	       (side > 0 && !strcmp(header, "Kernel category"));
}

static const struct kind timeline = {
	.sheet = "gpu_timeline",
	.meaning = "a type of GPU time",
	.keys = { "type" },
	.differences = { "time ms" },
};

static const struct kind ops = {
	.sheet = "ops_summary",
	.meaning = "an operation by name",
	.keys = { "name" },
	.differences = { "total_direct_kernel_time_ms", "Count" },
	.order = "total_direct_kernel_time_ms",
	.left_out = not_of_ops,
};

static const struct kind kernels = {
	.sheet = "kernel_summary",
	.meaning = "a kernel by name",
	.keys = { "Kernel name" },
	.differences = { "Kernel duration (" MICRO ")_sum", "Kernel duration (" MICRO ")_mean",
			 "Kernel duration (" MICRO ")_count" },
	.order = "Kernel duration (" MICRO ")_sum",
	.left_out = not_of_kernels,
};

#define CALL_KEYS                                                                      \
	{                                                                              \
		"name", "Input type", "Input Dims", "Input Strides", "Concrete Inputs" \
	}

static const struct kind unique_args = {
	.sheet = "ops_unique_args",
	.meaning = "an operation with its arguments",
	.keys = CALL_KEYS,
	.differences = { "total_direct_kernel_time_sum", "total_direct_kernel_time_mean",
			 "operation_count" },
	.order = "total_direct_kernel_time_sum",
};

static const struct kind unified = {
	.sheet = "unified_perf_summary",
	.meaning = "an operation with its arguments",
	.keys = CALL_KEYS,
	.differences = { "Kernel Time (" MICRO ")_sum", "Kernel Time (" MICRO ")_mean",
			 "operation_count" },
	.order = "Kernel Time (" MICRO ")_sum",
};

static const struct kind roofline = {
	.meaning = "an operation with the parameters of its cost model",
	.keys = { "name" },
	.differences = { "Kernel Time (" MICRO ")_sum", "Kernel Time (" MICRO ")_mean",
			 "name_count", "TFLOPS/s_mean", "TB/s_mean" },
	.order = "Kernel Time (" MICRO ")_sum",
};

struct comparing {
	const struct tw_compared *sides;
	size_t side_count;
	struct trawl_table **tables;
	size_t *count;
	struct tw_str *told;
	const struct trawl_allocator *allocator;
	struct trawl_error *err;
};

/* A sheet of some sides: those that have it. */
struct sheet {
	const struct kind *kind;
	const char *name;
	const char *keys[TW_KEYED_MOST];
	size_t key_count;
	const struct tw_csv *csv[MOST_SIDES]; /* by side, NULL: it has none */
	struct tw_arena arena;
};

static size_t count_texts(const char *const *texts, size_t most)
{
	size_t count = 0;

	while (count < most && texts[count])
		count++;
	return count;
}

/* ---- which sheets */

/* What a side's sheet lacks of the key; NULL: nothing. */
static const char *lacking(const struct sheet *sheet, const struct tw_csv *csv)
{
	size_t i;

	for (i = 0; i < sheet->key_count; i++)
		if (tw_csv_column(csv, sheet->keys[i]) == TW_CSV_NO_COLUMN)
			return sheet->keys[i];
	return NULL;
}

/* The sheet of one side, NULL when it has none that can be used, which is told. */
static int open_side(struct comparing *c, struct sheet *sheet, size_t side)
{
	const struct tw_compared *of = &c->sides[side];
	const struct tw_csv *csv = NULL;
	struct trawl_error err = { 0 };
	int status = tw_book_sheet(of->book, sheet->name, &csv, &err);

	sheet->csv[side] = NULL;
	if (status == TRAWL_ENOMEM)
		return trawl_error_set(c->err, status, "%s", err.message);
	if (status)
		tw_str_addf(c->told, "%s: %s\n", of->name, err.message);
	else if (csv && csv->columns && lacking(sheet, csv))
		tw_str_addf(c->told, "%s: sheet '%s' has no column '%s': not compared\n", of->name,
			    sheet->name, lacking(sheet, csv));
	else if (csv && csv->columns)
		sheet->csv[side] = csv;
	return 0;
}

/* How many sides have it; of those that lack it is told when others do not. */
static int open_sheet(struct comparing *c, struct sheet *sheet, size_t *have)
{
	size_t told = c->told->len, i;
	int status = 0;

	*have = 0;
	for (i = 0; i < c->side_count && !status; i++) {
		status = open_side(c, sheet, i);
		*have += sheet->csv[i] != NULL;
	}
	for (i = 0; *have && told == c->told->len && i < c->side_count; i++)
		if (!sheet->csv[i])
			tw_str_addf(c->told, "%s: no sheet '%s': not compared\n", c->sides[i].name,
				    sheet->name);
	return status;
}

/* ---- joining */

static int add_table(struct comparing *c, const struct tw_join *join)
{
	struct trawl_table *table = NULL;
	int status;

	if (*c->count == TW_COMPARE_MOST_TABLES) {
		tw_str_addf(c->told, "%s: left out, for there are %d tables already\n", join->name,
			    TW_COMPARE_MOST_TABLES);
		return 0;
	}
	status = tw_join_table(join, &table, c->allocator, c->err);
	if (table)
		c->tables[(*c->count)++] = table;
	return status;
}

static struct tw_keyed *key_side(struct comparing *c, struct sheet *sheet, size_t side, int *status)
{
	struct tw_keyed *keyed = tw_arena_alloc(&sheet->arena, sizeof(*keyed));

	if (keyed)
		*status = tw_keyed_of(keyed, sheet->csv[side], sheet->keys, sheet->key_count,
				      &sheet->arena, c->err);
	else
		*status = tw_no_memory(c->err);
	return keyed;
}

static struct tw_join join_of(const struct sheet *sheet, const struct tw_keyed *const *sides,
			      const char *const *names, size_t count)
{
	const struct kind *kind = sheet->kind;

	return (struct tw_join){
		.name = sheet->name,
		.meaning = kind->meaning,
		.sides = sides,
		.names = names,
		.side_count = count,
		.keys = sheet->keys,
		.key_count = sheet->key_count,
		.differences = kind->differences,
		.difference_count = count_texts(kind->differences, COUNT_OF(kind->differences)),
		.left_out = kind->left_out,
		.order = kind->order,
	};
}

/* All sides in one table. */
static int join_all(struct comparing *c, struct sheet *sheet)
{
	const struct tw_keyed *sides[MOST_SIDES];
	const char *names[MOST_SIDES];
	size_t count = 0, i;
	struct tw_join join;
	int status = 0;

	for (i = 0; i < c->side_count && !status; i++) {
		if (!sheet->csv[i])
			continue;
		names[count] = c->sides[i].name;
		sides[count++] = key_side(c, sheet, i, &status);
	}
	if (status)
		return status;
	join = join_of(sheet, sides, names, count);
	return add_table(c, &join);
}

/*
 * "GEMM", "intersect", "512thread" to GEMM_intersect_512thread: also a file's name, so that other
 * characters are a line; with the number of the side where names of sides would then be the same.
 */
static const char *table_name(struct comparing *c, struct sheet *sheet, const char *part,
			      size_t side)
{
	struct tw_str name;
	const char *copy, *p;
	size_t i;

	tw_str_init(&name, c->allocator);
	tw_str_addf(&name, "%s_%s_", sheet->name, part);
	for (p = c->sides[side].name; *p; p++) {
		bool plain = (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= 'a' && *p <= 'z') || *p == '.' || *p == '-' || *p == '_' ||
			     (unsigned char)*p >= 0x80;

		tw_str_add_char(&name, plain ? *p : '_');
	}
	for (i = 0; i < *c->count && !name.failed; i++)
		if (!strcmp(trawl_table_name(c->tables[i]), name.ptr)) {
			tw_str_addf(&name, "_%zu", side + 1);
			break;
		}
	copy = name.failed ? NULL : tw_arena_copy(&sheet->arena, name.ptr, name.len);
	tw_str_release(&name);
	return copy;
}

/* The baseline and a variant in three tables: what both have, and what only one has. */
static int join_pair(struct comparing *c, struct sheet *sheet, size_t variant)
{
	static const struct {
		enum tw_joined_rows rows;
		const char *part;
	} parts[] = { { TW_JOINED_BOTH, "intersect" },
		      { TW_JOINED_ONLY_BASELINE, "only_baseline" },
		      { TW_JOINED_ONLY_VARIANT, "only_variant" } };
	const char *names[] = { c->sides[0].name, c->sides[variant].name };
	const struct tw_keyed *sides[2] = { NULL, NULL };
	struct tw_join join;
	int status;
	size_t i;

	sides[0] = key_side(c, sheet, 0, &status);
	if (!status)
		sides[1] = key_side(c, sheet, variant, &status);
	for (i = 0; i < COUNT_OF(parts) && !status; i++) {
		join = join_of(sheet, sides, names, 2);
		join.rows = parts[i].rows;
		join.no_empty_columns = true;
		join.name = table_name(c, sheet, parts[i].part, variant);
		status = join.name ? add_table(c, &join) : tw_no_memory(c->err);
	}
	return status;
}

static int compare_sheet(struct comparing *c, const struct kind *kind, const char *name,
			 bool in_pairs)
{
	struct sheet sheet = { .kind = kind, .name = name };
	size_t have = 0, i;
	int status;

	sheet.key_count = count_texts(kind->keys, COUNT_OF(kind->keys));
	memcpy(sheet.keys, kind->keys, sheet.key_count * sizeof(*sheet.keys));
	tw_arena_init(&sheet.arena, c->allocator);
	status = open_sheet(c, &sheet, &have);
	if (!status && sheet.csv[0] && have > 1) {
		if (!in_pairs)
			status = join_all(c, &sheet);
		for (i = 1; in_pairs && i < c->side_count && !status; i++)
			if (sheet.csv[i])
				status = join_pair(c, &sheet, i);
	}
	tw_arena_release(&sheet.arena);
	return status;
}

/* ---- sheets of cost models */

static bool is_parameter(const char *header)
{
	return !strncmp(header, "param: ", 7);
}

static bool is_roofline(const struct tw_csv *csv)
{
	size_t i;

	if (tw_csv_column(csv, "name") == TW_CSV_NO_COLUMN ||
	    tw_csv_column(csv, roofline.differences[0]) == TW_CSV_NO_COLUMN)
		return false;
	for (i = 0; i < csv->columns; i++)
		if (is_parameter(csv->cells[i]))
			return true;
	return false;
}

/* The key: the name, and parameters that every side has. */
static int find_parameters(const struct comparing *c, struct sheet *sheet)
{
	const struct tw_csv *base = sheet->csv[0];
	size_t i, side;

	for (i = 0; i < base->columns; i++) {
		bool common = is_parameter(base->cells[i]);

		for (side = 1; side < c->side_count && common; side++)
			common = !sheet->csv[side] ||
				 tw_csv_column(sheet->csv[side], base->cells[i]) !=
					 TW_CSV_NO_COLUMN;
		if (common && sheet->key_count == TW_KEYED_MOST)
			return trawl_error_set(c->err, TRAWL_ELIMIT,
					       "%s has more than %d parameters in common",
					       sheet->name, TW_KEYED_MOST - 1);
		if (common)
			sheet->keys[sheet->key_count++] = base->cells[i];
	}
	return 0;
}

static int compare_roofline(struct comparing *c, const char *name)
{
	struct sheet sheet = { .kind = &roofline, .name = name, .key_count = 1 };
	size_t have = 0, i;
	int status;

	sheet.keys[0] = "name";
	tw_arena_init(&sheet.arena, c->allocator);
	status = open_sheet(c, &sheet, &have);
	if (!status && sheet.csv[0] && have > 1) {
		status = find_parameters(c, &sheet);
		for (i = 1; i < c->side_count && !status; i++)
			if (sheet.csv[i])
				status = join_pair(c, &sheet, i);
	}
	tw_arena_release(&sheet.arena);
	return status;
}

/* Whether a side before this one has a sheet of the name: it was looked at already. */
static bool seen_before(const struct comparing *c, size_t side, const char *name)
{
	size_t i, k;

	for (i = 0; i < side; i++)
		for (k = 0; k < tw_book_sheets(c->sides[i].book); k++)
			if (!strcmp(tw_book_sheet_name(c->sides[i].book, k), name))
				return true;
	return false;
}

/* In the order of the baseline; sheets that only others have are told by open_sheet(). */
static int compare_rooflines(struct comparing *c)
{
	size_t side, i;
	int status = 0;

	for (side = 0; side < c->side_count; side++)
		for (i = 0; i < tw_book_sheets(c->sides[side].book) && !status; i++) {
			const char *name = tw_book_sheet_name(c->sides[side].book, i);
			const struct tw_csv *csv;

			if (seen_before(c, side, name))
				continue;
			/* One that cannot be read may be anything: nothing is said of it here. */
			status = tw_book_sheet(c->sides[side].book, name, &csv, c->err);
			if (!status && csv && is_roofline(csv))
				status = compare_roofline(c, name);
			status = status == TRAWL_ENOMEM ? status : 0;
		}
	return status;
}

int tw_compare_reports(const struct tw_compared *sides, size_t side_count, unsigned sheets,
		       struct trawl_table *tables[TW_COMPARE_MOST_TABLES], size_t *count,
		       struct tw_str *told, const struct trawl_allocator *allocator,
		       struct trawl_error *err)
{
	struct comparing c = { sides, side_count, tables, count, told, allocator, err };
	int status = 0;

	*count = 0;
	if (side_count < 2 || side_count > MOST_SIDES)
		return trawl_error_set(err, TRAWL_EUSAGE, "2 to %d reports are compared, not %zu",
				       MOST_SIDES, side_count);
	if (sheets & TW_COMPARE_TIMELINE)
		status = compare_sheet(&c, &timeline, timeline.sheet, false);
	if (!status && sheets & TW_COMPARE_OPS)
		status = compare_sheet(&c, &ops, ops.sheet, false);
	if (!status && sheets & TW_COMPARE_KERNELS)
		status = compare_sheet(&c, &kernels, kernels.sheet, false);
	if (!status && sheets & TW_COMPARE_ALL_OPS)
		status = compare_sheet(&c, &unique_args, unique_args.sheet, true);
	if (!status && sheets & TW_COMPARE_ALL_OPS)
		status = compare_sheet(&c, &unified, unified.sheet, true);
	if (!status && sheets & TW_COMPARE_ROOFLINE)
		status = compare_rooflines(&c);
	if (!status && told->failed)
		status = tw_no_memory(err);
	return status;
}
