/* Timelines and collectives of a sweep, gathered in any order, and without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "edges.h"
#include "failing.h"
#include "render/render.h"
#include "study/sweep/aggregates.h"
#include "table/table.h"
#include "typed.h"

#include <stdio.h>
#include <string.h>

static struct trawl_error err;

static int setup(void **state)
{
	return 0;
}

static int teardown(void **state)
{
	free_typed();
	return 0;
}

/* Of ranks 0 to 2. */
static const char *const timelines[] = {
	"type,time ms,percent\nbusy_time,1,10\ntotal_time,10,100\n",
	"type,time ms,percent\nbusy_time,0,0\ntotal_time,10,100\n",
	"percent,type,time ms\n40,busy_time,4\n100,total_time,10\n,odd,\n1,,1\n",
};

static const char collectives[] =
	"Collective name,dtype,Full msg size (MB),comm_latency_mean,Total comm latency (ms)\n"
	"allreduce,Float,16,2.5,1\nallreduce,Float,2,1.5,3\n,,,,\n";

static void assert_csv(const struct trawl_table *table, const char *expected)
{
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	tw_render_csv(table, &out);
	assert_string_equal(out.ptr, expected);
	tw_str_release(&out);
}

static void means_do_not_depend_on_the_order(void **state)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 2, 0, 1 }, { 1, 2, 0 } };
	struct trawl_table *tables[TW_TIMELINE_TABLES];
	size_t i, k;

	for (i = 0; i < 3; i++) {
		struct tw_timelines *t = tw_timelines_new(trawl_allocator_default());

		for (k = 0; k < 3; k++) {
			const struct trawl_table *csv = typed(timelines[orders[i][k]]);

			assert_int_equal(tw_timelines_add(t, 256, 28, orders[i][k], csv, &err), 0);
		}
		assert_int_equal(tw_timelines_tables(t, true, tables, &err), 0);
		/* The geometric mean is that of 1 and 4, and of 10 and 40 percent. */
		assert_csv(tables[0],
			   "full_config,threads_num,thread_config,channels_num,channel_config,"
			   "num_ranks,type,time ms,percent,ranks_used,time ms_min,time ms_max,"
			   "time ms_std,worst_rank,zeros,percent_of_total\n"
			   "256thread_28ch,256,256thread,28,28ch,3,busy_time,2,20,3,0,4,"
			   "2.0816659994661326,2,1,20\n"
			   "256thread_28ch,256,256thread,28,28ch,3,total_time,10,"
			   "100,3,10,10,0,0,0,100\n");
		assert_csv(tables[3], "full_config,threads_num,channels_num,num_ranks,"
				      "computation_time_ms,exposed_comm_time_ms,busy_time_ms,"
				      "idle_time_ms,total_time_ms\n"
				      "256thread_28ch,256,28,3,,,2,,10\n");
		for (k = 0; k < TW_TIMELINE_TABLES; k++)
			trawl_table_free(tables[k]);
		tw_timelines_free(t);
	}
}

static void assert_cell(const struct trawl_table *table, size_t row, const char *header,
			const char *text)
{
	struct trawl_cell cell = tw_table_cell(table, row, header);

	if (cell.state != TRAWL_CELL_VALUE || cell.text_len != strlen(text) ||
	    memcmp(cell.text, text, cell.text_len) != 0)
		fail_msg("row %zu: %.*s is not %s", row, (int)cell.text_len, cell.text, text);
}

/* By size, then elements as numbers; what has none is behind those that have. */
static void operations_by_their_size(void **state)
{
	static const struct {
		const char *id, *name, *collective;
		int64_t threads;
	} expected[] = {
		{ "OP_01", "tiny_5.120KB", "broadcast", 256 },
		{ "OP_02", "medium_0.01MB", "allreduce", 256 },
		{ "OP_03", "medium_2.00MB", "nine", 256 },
		{ "OP_04", "medium_2.00MB", "nine", 256 },
		{ "OP_05", "medium_2.00MB", "nine", 256 },
		{ "OP_06", "medium_16.00MB", "allreduce", 256 },
		{ "OP_06", "medium_16.00MB", "allreduce", 512 },
		{ "OP_07", "large_100.00MB", "allreduce", 256 },
		{ "OP_08", "unknown", "allgather", 256 },
		{ "OP_09", "unknown", "allreduce", 256 },
	};
	const struct trawl_table *first = typed("Collective name,dtype,Full msg size (MB)\n"
						"allreduce,Float,16\n");
	const struct trawl_table *second =
		typed("Collective name,dtype,Full msg size (MB),In msg nelems\n"
		      "allreduce,Float,16,\nallreduce,Float,,\nallgather,Float,,\n"
		      "broadcast,Float,0.005,\nallreduce,Float,100,\nallreduce,Float,0.01,\n"
		      "nine,Float,2,\nnine,Float,2,10\nnine,Float,2,9\n");
	struct tw_comms *c = tw_comms_new(trawl_allocator_default());
	struct trawl_table *table;
	size_t i;

	assert_int_equal(tw_comms_add(c, 512, 28, "f", first, &err), 0);
	assert_int_equal(tw_comms_add(c, 256, 28, "g", second, &err), 0);
	assert_int_equal(tw_comms_table(c, &table, &err), 0);
	assert_int_equal(trawl_table_rows(table), sizeof(expected) / sizeof(expected[0]));
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_cell(table, i, "operation_id", expected[i].id);
		assert_cell(table, i, "operation_name", expected[i].name);
		assert_cell(table, i, "Collective name", expected[i].collective);
		assert_int_equal(tw_table_cell(table, i, "threads_num").integer,
				 expected[i].threads);
	}
	assert_cell(table, 2, "In msg nelems", "9");
	assert_cell(table, 3, "In msg nelems", "10");
	assert_int_equal(tw_table_cell(table, 4, "In msg nelems").state, TRAWL_CELL_MISSING);
	trawl_table_free(table);
	tw_comms_free(c);
}

static void nothing_was_added(void **state)
{
	struct tw_timelines *t = tw_timelines_new(trawl_allocator_default());
	struct tw_comms *c = tw_comms_new(trawl_allocator_default());
	struct trawl_table *tables[TW_TIMELINE_TABLES], *table;
	struct tw_str out;

	tw_str_init(&out, trawl_allocator_default());
	assert_int_equal(tw_timelines_tables(t, false, tables, &err), 0);
	assert_null(tables[0]);
	assert_int_equal(tw_comms_table(c, &table, &err), 0);
	assert_null(table);
	tw_timelines_digest(t, 80, &out);
	tw_comms_digest(c, 80, &out);
	assert_int_equal(out.len, 0);
	assert_false(out.failed);
	tw_timelines_free(t);
	tw_comms_free(c);
}

/* Of 10000 ms 5 are 0.05 %. */
static void what_rounds_to_nothing_is_not_told(void **state)
{
	static const char *const more[] = { "type,time ms,percent\ntotal_time,10004.9,100\n",
					    "type,time ms,percent\ntotal_time,10005.1,100\n" };
	struct tw_str out;
	size_t i;

	EDGE_OF(TW_LIMIT_NO_DIFFERENCE_PERCENT);
	for (i = 0; i < 2; i++) {
		struct tw_timelines *t = tw_timelines_new(trawl_allocator_default());
		const struct trawl_table *csv =
			typed("type,time ms,percent\ntotal_time,10000,100\n");

		assert_int_equal(tw_timelines_add(t, 256, 28, 0, csv, &err), 0);
		csv = typed(more[i]);
		assert_int_equal(tw_timelines_add(t, 512, 28, 0, csv, &err), 0);
		tw_str_init(&out, trawl_allocator_default());
		tw_timelines_digest(t, 0, &out);
		assert_int_equal(!!strstr(out.ptr, "; max 10005.100 ms 512thread_28ch (+0.1 %)"),
				 i);
		assert_int_equal(!!strstr(out.ptr, "; max "), i);
		tw_str_release(&out);
		tw_timelines_free(t);
	}
}

static void sizes_of_messages_have_words(void **state)
{
	static const struct {
		const char *size, *name;
	} sizes[] = {
		{ "0.009999", "tiny_10.239KB" },
		{ "0.01", "medium_0.01MB" },
		{ "99.999", "medium_100.00MB" },
		{ "100", "large_100.00MB" },
	};
	size_t i;

	EDGE_OF(TW_LIMIT_MESSAGE_TINY_MB);
	EDGE_OF(TW_LIMIT_MESSAGE_MEDIUM_MB);
	for (i = 0; i < 4; i++) {
		struct tw_comms *c = tw_comms_new(trawl_allocator_default());
		struct trawl_table *table;
		struct trawl_cell cell;
		const struct trawl_table *csv;
		char text[200];

		snprintf(text, sizeof(text),
			 "Collective name,dtype,Full msg size (MB),comm_latency_mean,Total comm "
			 "latency (ms)\nallreduce,Float,%s,2.5,1\n",
			 sizes[i].size);
		csv = typed(text);
		assert_int_equal(tw_comms_add(c, 256, 28, "f", csv, &err), 0);
		assert_int_equal(tw_comms_table(c, &table, &err), 0);
		cell = tw_table_cell(table, 0, "operation_name");
		assert_int_equal(cell.text_len, strlen(sizes[i].name));
		assert_memory_equal(cell.text, sizes[i].name, cell.text_len);
		trawl_table_free(table);
		tw_comms_free(c);
	}
}

static void sheets_that_are_none(void **state)
{
	struct tw_timelines *t = tw_timelines_new(trawl_allocator_default());
	struct tw_comms *c = tw_comms_new(trawl_allocator_default());
	const struct trawl_table *csv = typed("type,percent\n"), *empty = typed("");
	struct tw_str many;
	const struct trawl_table *large;
	int i;

	tw_str_init(&many, trawl_allocator_default());
	tw_str_add_cstr(&many, "type,time ms,percent\n");
	for (i = 0; i < 1001; i++)
		tw_str_addf(&many, "t%d,1,1\n", i);
	large = typed(many.ptr);
	assert_int_equal(tw_timelines_add(t, 1, 1, 0, csv, &err), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "'time ms'"));
	assert_int_equal(tw_timelines_add(t, 1, 1, 0, empty, &err), TRAWL_EFORMAT);
	assert_int_equal(tw_timelines_add(t, 1, 1, 0, large, &err), TRAWL_EFORMAT);
	assert_int_equal(tw_comms_add(c, 1, 1, "f", csv, &err), TRAWL_EFORMAT);
	assert_int_equal(tw_comms_add(c, 1, 1, "f", empty, &err), TRAWL_EFORMAT);
	tw_str_release(&many);
	tw_timelines_free(t);
	tw_comms_free(c);
}

static int use_all(const struct trawl_allocator *allocator, const struct trawl_table *timeline,
		   const struct trawl_table *summary)
{
	struct trawl_table *tables[TW_TIMELINE_TABLES] = { NULL }, *table = NULL;
	struct tw_timelines *t = tw_timelines_new(allocator);
	struct tw_comms *c = tw_comms_new(allocator);
	int status = t && c ? 0 : TRAWL_ENOMEM;
	struct tw_str out;
	size_t i;

	tw_str_init(&out, allocator);
	if (!status)
		status = tw_timelines_add(t, 256, 28, 0, timeline, &err);
	if (!status)
		status = tw_comms_add(c, 256, 28, "f.xlsx", summary, &err);
	if (!status)
		status = tw_timelines_tables(t, false, tables, &err);
	if (!status)
		status = tw_comms_table(c, &table, &err);
	if (!status) {
		tw_timelines_digest(t, 80, &out);
		tw_comms_digest(c, 80, &out);
		status = out.failed ? TRAWL_ENOMEM : 0;
	}
	for (i = 0; i < TW_TIMELINE_TABLES; i++)
		trawl_table_free(tables[i]);
	trawl_table_free(table);
	tw_timelines_free(t);
	tw_comms_free(c);
	tw_str_release(&out);
	return status;
}

static void each_allocation_fails_once(void **state)
{
	const struct trawl_table *timeline = typed(timelines[0]), *summary = typed(collectives);
	struct failing failing;
	int status;
	long n;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = use_all(&failing.allocator, timeline, summary);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		if (!failing.failed)
			break;
		assert_int_equal(status, TRAWL_ENOMEM);
	}
	assert_int_equal(status, 0);
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(means_do_not_depend_on_the_order, setup, teardown),
		cmocka_unit_test_setup_teardown(operations_by_their_size, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_was_added, setup, teardown),
		cmocka_unit_test_setup_teardown(what_rounds_to_nothing_is_not_told, setup,
						teardown),
		cmocka_unit_test_setup_teardown(sizes_of_messages_have_words, setup, teardown),
		cmocka_unit_test_setup_teardown(sheets_that_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(each_allocation_fails_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
