#include "study/books/report_tables.h"

#include "analysis/analysis.h"
#include "base/alloc.h"
#include "base/scope.h"
#include "study/books/joined.h"
#include "text/str.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
#define MOST_SIDES 64

/* Which columns of a sheet are its key, which get differences. */
struct kind {
	const struct tw_table_spec *table; /* NULL: any that tells of a cost model */
	const char *meaning;
	const char *keys[5], *differences[6];
	const char *order; /* NULL: as they come */
	bool (*left_out)(size_t side, const char *header);
};

/* The sum in µs says the same as that in ms; a running sum is one of the baseline's order. */
static bool not_of_ops(size_t side, const char *header)
{
	return !strcmp(header, TW_COL_TOTAL_DIRECT_KERNEL_TIME_SUM) ||
	       (side > 0 && !strcmp(header, TW_COL_CUMULATIVE_PERCENTAGE));
}

static bool not_of_kernels(size_t side, const char *header)
{
	return tw_ends_with(header, "_min") || tw_ends_with(header, "_max") ||
	       tw_ends_with(header, TW_COL_OP_CATEGORY) ||
	       (side > 0 && !strcmp(header, TW_COL_CATEGORY_OF_KERNEL));
}

static const struct kind timeline = {
	.table = &tw_analysis_gpu_timeline.table,
	.meaning = "GPU time by type",
	.keys = { "type" },
	.differences = { TW_COL_TIME_MS },
};

static const struct kind ops = {
	.table = &tw_analysis_ops_summary.table,
	.meaning = "operators by name",
	.keys = { "name" },
	.differences = { TW_COL_TOTAL_DIRECT_KERNEL_TIME_MS, TW_COL_COUNT },
	.order = TW_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
	.left_out = not_of_ops,
};

static const struct kind kernels = {
	.table = &tw_analysis_kernel_summary.table,
	.meaning = "kernels by name",
	.keys = { TW_COL_KERNEL_NAME },
	.differences = { TW_COL_KERNEL_DURATION_US_SUM, TW_COL_KERNEL_DURATION_US_MEAN,
			 TW_COL_KERNEL_DURATION_US_COUNT },
	.order = TW_COL_KERNEL_DURATION_US_SUM,
	.left_out = not_of_kernels,
};

#define CALL_KEYS                                                                   \
	{                                                                           \
		"name", TW_COL_INPUT_TYPE, TW_COL_INPUT_DIMS, TW_COL_INPUT_STRIDES, \
			TW_COL_CONCRETE_INPUTS                                      \
	}

static const struct kind unique_args = {
	.table = &tw_analysis_ops_unique_args.table,
	.meaning = "operators by arguments",
	.keys = CALL_KEYS,
	.differences = { TW_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, TW_COL_TOTAL_DIRECT_KERNEL_TIME_MEAN,
			 TW_COL_OPERATION_COUNT },
	.order = TW_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
};

static const struct kind unified = {
	.table = &tw_analysis_unified_perf_summary.table,
	.meaning = "operators by arguments",
	.keys = CALL_KEYS,
	.differences = { TW_COL_KERNEL_TIME_US_SUM, TW_COL_KERNEL_TIME_US_MEAN,
			 TW_COL_OPERATION_COUNT },
	.order = TW_COL_KERNEL_TIME_US_SUM,
};

static const struct kind roofline = {
	.meaning = "operators by cost model parameters",
	.keys = { "name" },
	.differences = { TW_COL_KERNEL_TIME_US_SUM, TW_COL_KERNEL_TIME_US_MEAN, TW_COL_NAME_COUNT,
			 TW_COL_TFLOPS_S_MEAN, TW_COL_TB_S_MEAN },
	.order = TW_COL_KERNEL_TIME_US_SUM,
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
	const struct tw_table_spec *table;
	const char *keys[TW_KEYED_MOST];
	size_t key_count;
	const struct trawl_table *of[MOST_SIDES]; /* by side, NULL: it has none */
	struct tw_scope scope;
	struct tw_pool pool; /* of keys */
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
static const char *lacking(const struct sheet *sheet, const struct trawl_table *table)
{
	size_t i;

	for (i = 0; i < sheet->key_count; i++)
		if (!tw_table_has_column(table, sheet->keys[i]))
			return sheet->keys[i];
	return NULL;
}

/* The sheet of one side, NULL when it has none that can be used, which is told. */
static int open_side(struct comparing *c, struct sheet *sheet, size_t side)
{
	const struct tw_compared *of = &c->sides[side];
	const struct trawl_table *table = NULL;
	struct trawl_error err = { 0 };
	int status = tw_book_table(of->book, sheet->table, &table, &err);

	sheet->of[side] = NULL;
	if (status == TRAWL_ENOMEM)
		return trawl_error_set(c->err, status, "%s", err.message);
	if (status)
		tw_str_addf(c->told, "%s: %s\n", of->name, err.message);
	else if (table && trawl_table_columns(table) && lacking(sheet, table))
		tw_str_addf(c->told, "%s: sheet '%s' has no column '%s': not compared\n", of->name,
			    sheet->table->name, lacking(sheet, table));
	else if (table && trawl_table_columns(table))
		sheet->of[side] = table;
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
		*have += sheet->of[i] != NULL;
	}
	for (i = 0; *have && told == c->told->len && i < c->side_count; i++)
		if (!sheet->of[i])
			tw_str_addf(c->told, "%s: no sheet '%s': not compared\n", c->sides[i].name,
				    sheet->table->name);
	return status;
}

/* ---- joining */

static int add_table(struct comparing *c, const struct tw_join *join)
{
	struct trawl_table *table = NULL;
	int status;

	if (*c->count == TW_COMPARE_MOST_TABLES) {
		tw_str_addf(c->told, "%s: skipped, more than %d tables\n", join->name,
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
	struct tw_keyed *keyed = tw_alloc(&sheet->scope.allocator, sizeof(*keyed));

	if (keyed)
		*status = tw_keyed_of(keyed, sheet->of[side], sheet->keys, sheet->key_count,
				      &sheet->pool, &sheet->scope.allocator, c->err);
	else
		*status = tw_no_memory(c->err);
	return keyed;
}

static struct tw_join join_of(const struct sheet *sheet, const struct tw_keyed *const *sides,
			      const char *const *names, size_t count)
{
	const struct kind *kind = sheet->kind;

	return (struct tw_join){
		.name = sheet->table->name,
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
		if (!sheet->of[i])
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
	const char *p;
	size_t i;

	tw_str_init(&name, &sheet->scope.allocator);
	tw_str_addf(&name, "%s_%s_", sheet->table->name, part);
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
	return name.failed ? NULL : name.ptr;
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

static bool is_parameter(const char *header)
{
	return !strncmp(header, "param: ", 7);
}

static int join_sheet(struct comparing *c, struct sheet *sheet, bool in_pairs)
{
	size_t i;
	int status = 0;

	if (!in_pairs)
		return join_all(c, sheet);
	for (i = 1; i < c->side_count && !status; i++)
		if (sheet->of[i])
			status = join_pair(c, sheet, i);
	return status;
}

/* The key: the name, and parameters that every side has. */
static int find_parameters(const struct comparing *c, struct sheet *sheet)
{
	const struct trawl_table *base = sheet->of[0];
	size_t i, side;

	for (i = 0; i < trawl_table_columns(base); i++) {
		const char *header = trawl_table_column(base, i)->header;
		bool common = is_parameter(header);

		for (side = 1; side < c->side_count && common; side++)
			common = !sheet->of[side] || tw_table_has_column(sheet->of[side], header);
		if (common && sheet->key_count == TW_KEYED_MOST)
			return trawl_error_set(c->err, TRAWL_ELIMIT,
					       "%s has more than %d common parameters",
					       sheet->table->name, TW_KEYED_MOST - 1);
		if (common)
			sheet->keys[sheet->key_count++] = header;
	}
	return 0;
}

static int compare_sheet(struct comparing *c, const struct kind *kind,
			 const struct tw_table_spec *table, bool in_pairs)
{
	struct sheet sheet = { .kind = kind, .table = table };
	size_t have = 0;
	int status;

	sheet.key_count = count_texts(kind->keys, COUNT_OF(kind->keys));
	memcpy(sheet.keys, kind->keys, sheet.key_count * sizeof(*sheet.keys));
	tw_scope_begin(&sheet.scope, c->allocator);
	status = tw_pool_init(&sheet.pool, &sheet.scope.allocator) ? tw_no_memory(c->err) :
								     open_sheet(c, &sheet, &have);
	if (!status && sheet.of[0] && have > 1) {
		if (!kind->table)
			status = find_parameters(c, &sheet);
		if (!status)
			status = join_sheet(c, &sheet, in_pairs);
	}
	tw_scope_end(&sheet.scope);
	return status;
}

/* ---- sheets of cost models */

static bool is_roofline(const struct trawl_table *table)
{
	size_t i;

	if (!tw_table_has_column(table, roofline.keys[0]) ||
	    !tw_table_has_column(table, roofline.differences[0]))
		return false;
	for (i = 0; i < trawl_table_columns(table); i++)
		if (is_parameter(trawl_table_column(table, i)->header))
			return true;
	return false;
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

/* Of any name: of a table without one columns are what is in them. */
static struct tw_table_spec declaration_of(const char *name)
{
	size_t i;

	for (i = 0; i < tw_analysis_count; i++)
		if (!strcmp(tw_analyses[i]->table.name, name))
			return tw_analyses[i]->table;
	return (struct tw_table_spec){ .name = name };
}

/* In the order of the baseline; sheets that only others have are told by open_sheet(). */
static int compare_rooflines(struct comparing *c)
{
	size_t side, i;
	int status = 0;

	for (side = 0; side < c->side_count; side++)
		for (i = 0; i < tw_book_sheets(c->sides[side].book) && !status; i++) {
			const char *name = tw_book_sheet_name(c->sides[side].book, i);
			const struct tw_table_spec declared = declaration_of(name);
			const struct trawl_table *table;

			if (seen_before(c, side, name))
				continue;
			/* One that cannot be read may be anything: nothing is said of it here. */
			status = tw_book_table(c->sides[side].book, &declared, &table, c->err);
			if (!status && table && is_roofline(table))
				status = compare_sheet(c, &roofline, &declared, true);
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
		return trawl_error_set(err, TRAWL_EUSAGE, "expected 2 to %d reports, got %zu",
				       MOST_SIDES, side_count);
	if (sheets & TRAWL_COMPARE_TIMELINE)
		status = compare_sheet(&c, &timeline, timeline.table, false);
	if (!status && sheets & TRAWL_COMPARE_OPS)
		status = compare_sheet(&c, &ops, ops.table, false);
	if (!status && sheets & TRAWL_COMPARE_KERNELS)
		status = compare_sheet(&c, &kernels, kernels.table, false);
	if (!status && sheets & TRAWL_COMPARE_ALL_OPS)
		status = compare_sheet(&c, &unique_args, unique_args.table, true);
	if (!status && sheets & TRAWL_COMPARE_ALL_OPS)
		status = compare_sheet(&c, &unified, unified.table, true);
	if (!status && sheets & TRAWL_COMPARE_ROOFLINE)
		status = compare_rooflines(&c);
	if (!status && told->failed)
		status = tw_no_memory(err);
	return status;
}
