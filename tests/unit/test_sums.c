/* Tables of ranks, summed over ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing.h"
#include "job/tables/outliers.h"
#include "job/tables/all_tables.h"
#include "job/sums/sums.h"
#include "job/sums/sums_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 8

/* A table of that name with the columns of its analysis. */
static struct trawl_table *table_named(const char *name, const struct trawl_allocator *a)
{
	size_t i;

	for (i = 0; strcmp(tw_analyses[i]->table.name, name); i++)
		assert_true(i + 1 < tw_analysis_count);
	return tw_table_new(&tw_analyses[i]->table, a);
}

static struct tw_rank ranks[MOST_RANKS];
static struct trawl_table *tables[MOST_RANKS];
static struct trawl_job job;

static void begin_job(const char *name, size_t count)
{
	size_t i;

	memset(&job, 0, sizeof(job));
	memset(ranks, 0, sizeof(ranks));
	job.ranks = ranks;
	job.count = count;
	for (i = 0; i < count; i++) {
		tables[i] = table_named(name, trawl_allocator_default());
		ranks[i].rank = (int64_t)i * 10;
		ranks[i].tables = &tables[i];
		ranks[i].table_count = 1;
	}
}

static void end_job(void)
{
	size_t i;

	for (i = 0; i < job.count; i++)
		trawl_table_free(tables[i]);
}

static void set_integer(struct trawl_table *table, size_t row, const char *header, int64_t value)
{
	tw_table_set_integer(table, row, trawl_table_find_column(table, header), value);
}

static void set_text(struct trawl_table *table, size_t row, const char *header, const char *value)
{
	tw_table_set_str(table, row, trawl_table_find_column(table, header), value);
}

/* A row of kernel_summary; times in ns. */
static void kernel(size_t rank, const char *name, const char *device, int64_t sum, int64_t count,
		   double mean_us)
{
	struct trawl_table *t = tables[rank];
	size_t row = tw_table_add_row(t);

	set_text(t, row, "Kernel name", name);
	set_text(t, row, "Kernel stream", "7");
	set_text(t, row, "Kernel device", device);
	set_integer(t, row, "Kernel duration (µs)_sum", sum);
	set_integer(t, row, "Kernel duration (µs)_count", count);
	tw_table_set_real(t, row, trawl_table_find_column(t, "Kernel duration (µs)_mean"), mean_us);
	set_integer(t, row, "Kernel duration (µs)_min", sum / count - 1);
	set_integer(t, row, "Kernel duration (µs)_max", sum / count + 1);
}

static struct trawl_table *sum(const char *name)
{
	struct trawl_table *out;

	assert_int_equal(tw_sums_make(&out, &job, name, trawl_allocator_default()), 0);
	return out;
}

static int64_t integer(const struct trawl_table *table, size_t row, const char *header)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	return cell.integer;
}

static double real(const struct trawl_table *table, size_t row, const char *header)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	assert_int_equal(cell.state, TRAWL_CELL_VALUE);
	return cell.real;
}

static bool is_missing(const struct trawl_table *table, size_t row, const char *header)
{
	assert_true(trawl_table_find_column(table, header) < trawl_table_columns(table));
	return tw_table_cell(table, row, header).state == TRAWL_CELL_MISSING;
}

static bool is_text(const struct trawl_table *table, size_t row, const char *header,
		    const char *text)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	return cell.text && cell.text_len == strlen(text) &&
	       !memcmp(cell.text, text, cell.text_len);
}

static void rows_with_the_same_keys_are_one(void **state)
{
	struct trawl_table *t;

	begin_job("kernel_summary", 3);
	kernel(0, "gemm", "0", 1000, 2, 0.5);
	kernel(0, "rare", "0", 9000, 1, 9);
	kernel(1, "gemm", "1", 3001, 3, 1.0);
	kernel(2, "gemm", "2", 3001, 1, 3.0);
	t = sum("kernel_summary");
	end_job(); /* it needs the ranks no more */
	assert_string_equal(trawl_table_name(t), "kernel_summary");
	assert_int_equal(trawl_table_rows(t), 2);
	/* 9000 ns in all before 7002. */
	assert_true(is_text(t, 0, "Kernel name", "rare"));
	assert_int_equal(integer(t, 0, "ranks"), 1);
	assert_int_equal(integer(t, 0, "slowest rank"), 0);
	assert_true(is_text(t, 1, "Kernel name", "gemm"));
	assert_true(is_text(t, 1, "Kernel stream", "7"));
	assert_true(is_missing(t, 1, "Parent cpu_op"));
	assert_int_equal(integer(t, 1, "ranks"), 3);
	/* 7002 / 3 ns in µs: the double next to it. */
	assert_true(real(t, 1, "Kernel duration (µs)_sum_mean") <= 7002.0 / 3000);
	assert_true(real(t, 1, "Kernel duration (µs)_sum_mean") >= 7002.0 / 3000);
	assert_int_equal(integer(t, 1, "Kernel duration (µs)_sum_median"), 30010);
	assert_int_equal(integer(t, 1, "Kernel duration (µs)_sum_min"), 1000);
	assert_int_equal(integer(t, 1, "Kernel duration (µs)_sum_max"), 3001);
	assert_int_equal(integer(t, 1, "Kernel duration (µs)_sum_total"), 7002);
	/* Ranks 10 and 20 are as slow; the lower one is named. */
	assert_int_equal(integer(t, 1, "slowest rank"), 10);
	assert_int_equal(integer(t, 1, "Kernel duration (µs)_count_total"), 6);
	assert_true(fabs(real(t, 1, "Kernel duration (µs)_mean_median") - 1) < 1e-15);
	assert_true(trawl_table_find_column(t, "Kernel duration (µs)_mean_total") ==
		    trawl_table_columns(t));
	trawl_table_free(t);
}

/* The middle of two integers lies between them. */
static void medians_are_exact(void **state)
{
	const struct trawl_column *column;
	struct trawl_table *t;

	begin_job("kernel_summary", 2);
	kernel(0, "gemm", "0", 1000, 2, 0.5);
	kernel(1, "gemm", "0", 2001, 5, 0.5);
	t = sum("kernel_summary");
	column = trawl_table_column(t,
				    trawl_table_find_column(t, "Kernel duration (µs)_sum_median"));
	assert_int_equal(column->type, TRAWL_COLUMN_DECIMAL);
	assert_int_equal(column->scale, 4);
	assert_int_equal(integer(t, 0, "Kernel duration (µs)_sum_median"), 15005);
	assert_int_equal(integer(t, 0, "Kernel duration (µs)_count_median"), 35);
	column = trawl_table_column(
		t, trawl_table_find_column(t, "Kernel duration (µs)_count_median"));
	assert_int_equal(column->scale, 1);
	trawl_table_free(t);
	end_job();
}

/* Devices are no key: rows of a rank that differ in nothing else are added up. */
static void devices_of_a_rank_are_added(void **state)
{
	struct trawl_table *t;

	begin_job("kernel_summary", 2);
	kernel(0, "gemm", "0", 1000, 1, 1);
	kernel(0, "gemm", "1", 4000, 3, 5);
	kernel(1, "gemm", "0", 3000, 1, 3);
	t = sum("kernel_summary");
	assert_int_equal(trawl_table_rows(t), 1);
	assert_int_equal(integer(t, 0, "ranks"), 2);
	assert_int_equal(integer(t, 0, "Kernel duration (µs)_sum_max"), 5000);
	assert_int_equal(integer(t, 0, "slowest rank"), 0);
	assert_int_equal(integer(t, 0, "Kernel duration (µs)_count_max"), 4);
	/* (1 x 1 + 3 x 5) / 4 */
	assert_true(fabs(real(t, 0, "Kernel duration (µs)_mean_max") - 4) < 1e-12);
	assert_int_equal(integer(t, 0, "Kernel duration (µs)_min_min"), 999);
	assert_int_equal(integer(t, 0, "Kernel duration (µs)_max_max"), 3001);
	trawl_table_free(t);
	end_job();
}

static void what_is_missing_does_not_count(void **state)
{
	struct trawl_table *t;
	size_t i;

	begin_job("ops_summary", 4);
	for (i = 0; i < 3; i++) {
		tw_table_add_row(tables[i]);
		set_text(tables[i], 0, "name", "aten::mm");
		set_text(tables[i], 0, "Categories", i < 2 ? "['GEMM']" : NULL);
	}
	set_integer(tables[1], 0, "total_direct_kernel_time_ms", 8);
	set_integer(tables[2], 0, "total_direct_kernel_time_ms", 4);
	/* A missing key is another than an empty one. */
	tw_table_add_row(tables[3]);
	tw_table_add_row(tables[3]);
	set_text(tables[3], 1, "name", "");
	t = sum("ops_summary");
	assert_int_equal(trawl_table_rows(t), 3);
	assert_int_equal(integer(t, 0, "ranks"), 3);
	assert_true(fabs(real(t, 0, "total_direct_kernel_time_ms_mean") - 6e-6) < 1e-18);
	assert_int_equal(integer(t, 0, "total_direct_kernel_time_ms_min"), 4);
	assert_int_equal(integer(t, 0, "slowest rank"), 10);
	assert_true(is_text(t, 0, "Categories", "['GEMM']"));
	assert_true(is_missing(t, 0, "Count_mean"));
	assert_true(is_missing(t, 0, "Count_total"));
	assert_true(is_missing(t, 1, "name"));
	assert_true(is_text(t, 2, "name", ""));
	assert_true(is_missing(t, 1, "slowest rank"));
	trawl_table_free(t);
	/* Another value at another rank, and nothing is the same. */
	set_text(tables[2], 0, "Categories", "['GEMM', 'other']");
	t = sum("ops_summary");
	assert_true(is_missing(t, 0, "Categories"));
	trawl_table_free(t);
	end_job();
}

static void sums_that_do_not_fit_are_missing(void **state)
{
	struct trawl_table *t;

	begin_job("kernel_summary", 2);
	kernel(0, "huge", "0", INT64_MAX - 1, 1, 1);
	kernel(1, "huge", "0", INT64_MAX - 1, 1, 1);
	kernel(1, "tiny", "0", 1, 1, 1);
	t = sum("kernel_summary");
	assert_true(is_text(t, 0, "Kernel name", "huge"));
	assert_true(is_missing(t, 0, "Kernel duration (µs)_sum_total"));
	assert_true(is_missing(t, 0, "Kernel duration (µs)_sum_median"));
	assert_true(integer(t, 0, "Kernel duration (µs)_sum_max") == INT64_MAX - 1);
	assert_int_equal(trawl_table_notes(t), 1);
	trawl_table_free(t);
	end_job();
}

/* Parameters that a rank's model did not take are missing for it, and columns of all. */
static void columns_of_all_ranks(void **state)
{
	struct trawl_column columns[] = {
		TW_TEXT("name", 0, "", .over_ranks = TRAWL_KEY),
		TW_TEXT("param: M", 0, "", .over_ranks = TRAWL_KEY),
		TW_US("Kernel Time (µs)_sum", 0, "", .over_ranks = TRAWL_TIME),
	};
	struct tw_table_spec spec = TW_SPEC("GEMM", "calls", columns);
	struct trawl_table *t;
	size_t i;

	begin_job("GEMM", 2);
	for (i = 0; i < 2; i++) {
		trawl_table_free(tables[i]);
		columns[1].header = i ? "param: N" : "param: M";
		tables[i] = tw_table_new_owning(&spec, trawl_allocator_default());
		tw_table_add_row(tables[i]);
		tw_table_set_str(tables[i], 0, 0, "aten::mm");
		tw_table_set_str(tables[i], 0, 1, "4");
		tw_table_set_integer(tables[i], 0, 2, i ? 20 : 10);
	}
	t = sum("GEMM");
	assert_int_equal(trawl_table_rows(t), 2);
	assert_true(is_text(t, 0, "param: N", "4"));
	assert_true(is_missing(t, 0, "param: M"));
	assert_true(is_text(t, 1, "param: M", "4"));
	assert_int_equal(integer(t, 0, "slowest rank"), 10);
	trawl_table_free(t);
	end_job();
}

static void rows_in_the_order_of_ranks(void **state)
{
	static const char *const types[] = { "computation_time", "idle_time", "total_time" };
	struct trawl_table *t;
	size_t i, row;

	begin_job("gpu_timeline", 2);
	for (i = 0; i < 2; i++) {
		for (row = 0; row < 3; row++) {
			tw_table_add_row(tables[i]);
			set_text(tables[i], row, "type", types[row]);
			set_integer(tables[i], row, "time ms", (int64_t)(row * 10 + i));
		}
	}
	t = sum("gpu_timeline");
	for (row = 0; row < 3; row++)
		assert_true(is_text(t, row, "type", types[row]));
	assert_int_equal(integer(t, 2, "time ms_total"), 41);
	trawl_table_free(t);
	end_job();
}

static void nothing_to_sum(void **state)
{
	struct trawl_table *all[64], *t;
	size_t count;

	begin_job("reconciliation", 1);
	assert_null(sum("reconciliation"));
	assert_null(sum("no such table"));
	assert_null(sum("kernel_summary")); /* no rank has it */
	assert_int_equal(tw_sums_make_all(all, &count, &job, 2, trawl_allocator_default()), 0);
	assert_int_equal(count, 0);
	end_job();
	begin_job("kernel_summary", 1);
	t = sum("kernel_summary");
	assert_int_equal(trawl_table_rows(t), 0);
	trawl_table_free(t);
	job.count = 0;
	assert_null(sum("kernel_summary"));
	job.count = 1;
	end_job();
}

/* Summing what was kept of tables is as good as summing them. */
static void what_is_kept_is_enough(void **state)
{
	struct trawl_table *whole, *kept;
	size_t i, row;

	begin_job("kernel_summary", 2);
	kernel(0, "gemm", "0", 1000, 2, 0.5);
	kernel(1, "gemm", "0", 2001, 5, 0.5);
	kernel(1, "rare", "0", 2001, 5, 0.5);
	whole = sum("kernel_summary");
	for (i = 0; i < 2; i++) {
		kept = tw_sums_keep(tables[i], trawl_allocator_default());
		assert_non_null(kept);
		assert_int_equal(trawl_table_columns(kept), trawl_table_columns(tables[i]) - 1);
		assert_true(trawl_table_find_column(kept, "Kernel device") ==
			    trawl_table_columns(kept));
		trawl_table_free(tables[i]);
		tables[i] = kept;
	}
	kept = sum("kernel_summary");
	assert_int_equal(trawl_table_rows(kept), trawl_table_rows(whole));
	for (row = 0; row < trawl_table_rows(whole); row++)
		assert_int_equal(integer(kept, row, "Kernel duration (µs)_sum_total"),
				 integer(whole, row, "Kernel duration (µs)_sum_total"));
	trawl_table_free(whole);
	trawl_table_free(kept);
	end_job();
}

static bool fits(enum trawl_over_ranks role, enum trawl_column_type type)
{
	bool exact = type == TRAWL_COLUMN_INTEGER || type == TRAWL_COLUMN_DECIMAL;

	switch (role) {
	case TRAWL_KEY:
		return type == TRAWL_COLUMN_TEXT || type == TRAWL_COLUMN_ID;
	case TRAWL_MEAN:
	case TRAWL_SHARE:
		return type == TRAWL_COLUMN_REAL;
	case TRAWL_COUNT:
		return type == TRAWL_COLUMN_INTEGER;
	case TRAWL_MIN:
	case TRAWL_MAX:
		return exact || type == TRAWL_COLUMN_REAL;
	case TRAWL_SAME:
		return true;
	default:
		return exact;
	}
}

/* What rows stand by is one column, and none is summed in a way that its type does not allow. */
static void roles_fit_their_columns(void **state)
{
	size_t summed = 0, i, c;

	for (i = 0; i < tw_analysis_count; i++) {
		const struct tw_table_spec *table = &tw_analyses[i]->table;
		unsigned leads = 0, roles = 0;

		for (c = 0; c < table->column_count; c++) {
			const struct trawl_column *column = &table->columns[c];

			leads += tw_sum_leads(column->over_ranks);
			roles += column->over_ranks != TRAWL_NOT_SUMMED;
			if (column->over_ranks && !fits(column->over_ranks, column->type))
				fail_msg("%s: '%s' is of another type", table->name,
					 column->header);
		}
		if (leads != (roles > 0))
			fail_msg("%s: %u columns that rows stand by", table->name, leads);
		summed += leads;
	}
	assert_true(summed > 40);
}

static void every_allocation_may_fail(void **state)
{
	struct trawl_table *all[64], *t;
	struct failing failing;
	size_t count;
	long n;

	begin_job("kernel_summary", 2);
	kernel(0, "gemm", "0", 1000, 2, 0.5);
	kernel(1, "rare", "0", 9000, 1, 9);
	for (n = 0;; n++) {
		failing_init(&failing, n);
		t = tw_sums_keep(tables[0], &failing.allocator);
		assert_true((t != NULL) == !failing.failed);
		trawl_table_free(t);
		assert_int_equal(failing.live_blocks, 0);
		if (!failing.failed)
			break;
	}
	assert_true(n > 5);
	for (n = 0;; n++) {
		int status;

		failing_init(&failing, n);
		status = tw_sums_make(&t, &job, "kernel_summary", &failing.allocator);
		assert_true((t != NULL) == !status);
		trawl_table_free(t);
		assert_int_equal(failing.live_blocks, 0);
		if (!status)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_true(n > 15);
	for (n = 0;; n++) {
		int status;

		failing_init(&failing, n);
		status = tw_sums_make_all(all, &count, &job, 1, &failing.allocator);
		assert_int_equal(count, !status);
		if (!status)
			trawl_table_free(all[0]);
		assert_int_equal(failing.live_blocks, 0);
		if (!status)
			break;
	}
	assert_false(failing.wrong_size);
	end_job();
}

/* ---- ranks that stand out */

static void timeline(size_t rank, int64_t compute, int64_t comm, int64_t idle)
{
	ranks[rank].gpu_events = 1;
	ranks[rank].timeline = (struct tw_timeline){
		.compute_ns = compute,
		.exposed_communication_ns = comm,
		.idle_ns = idle,
		.busy_ns = compute + comm,
		.total_ns = compute + comm + idle,
	};
}

static void ranks_that_stand_out(void **state)
{
	const struct tw_ranks_input in = { .job = &job, .allocator = trawl_allocator_default() };
	struct trawl_table *t;

	memset(&job, 0, sizeof(job));
	memset(ranks, 0, sizeof(ranks));
	job.ranks = ranks;
	job.count = 5;
	timeline(0, 1000, 500, 4);
	timeline(1, 1050, 500, 4);
	timeline(2, 1000, 525, 4); /* 5 % over, and not more */
	timeline(3, 1300, 200, 9); /* idle is twice that of others, and nothing to speak of */
	ranks[4].timeline.compute_ns = 5000; /* no GPU work: it has no timeline */
	ranks[3].rank = 30;
	assert_int_equal(tw_ranks_table_make(&in, &tw_ranks_table_rank_outliers, &t), 0);
	/* Medians: 1025 and 500. */
	assert_int_equal(trawl_table_rows(t), 1);
	assert_int_equal(integer(t, 0, "rank"), 30);
	assert_true(is_text(t, 0, "type", "computation_time"));
	assert_int_equal(integer(t, 0, "time ms"), 1300);
	assert_int_equal(integer(t, 0, "median ms"), 10250);
	assert_int_equal(integer(t, 0, "over median ms"), 2750);
	assert_true(fabs(real(t, 0, "over median %") - 100 * 275.0 / 1025) < 1e-9);
	trawl_table_free(t);
	timeline(0, 1000, 526, 4);
	timeline(2, 1000, 600, 4);
	assert_int_equal(tw_ranks_table_make(&in, &tw_ranks_table_rank_outliers, &t), 0);
	/* The median of 200, 500, 526, 600 is 513: 600 is over, 526 is not. */
	assert_int_equal(trawl_table_rows(t), 2);
	assert_int_equal(integer(t, 1, "over median ms"), 870);
	trawl_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_with_the_same_keys_are_one),
		cmocka_unit_test(medians_are_exact),
		cmocka_unit_test(devices_of_a_rank_are_added),
		cmocka_unit_test(what_is_missing_does_not_count),
		cmocka_unit_test(sums_that_do_not_fit_are_missing),
		cmocka_unit_test(columns_of_all_ranks),
		cmocka_unit_test(rows_in_the_order_of_ranks),
		cmocka_unit_test(nothing_to_sum),
		cmocka_unit_test(what_is_kept_is_enough),
		cmocka_unit_test(roles_fit_their_columns),
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(ranks_that_stand_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
