/* What each device did, a row a device, for the summary of a trace of several. */
#include "cli/trace/reporting.h"

#include "store/trace.h"
#include "table/table.h"

#include <string.h>

enum { DEVICE, TOTAL, FIRST_SHARE };

static const struct trawl_column columns[] = {
	[DEVICE] = TW_ID("device", 12, "device number"),
	[TOTAL] = TW_MS("total (ms)", 12, "first GPU event to last end"),
	[FIRST_SHARE] = TW_PERCENT_1("computing (%)", 10, "share of the total"),
	TW_PERCENT_1("exposed communication (%)", 14, "share of the total"),
	TW_PERCENT_1("exposed copies (%)", 10, "share of the total"),
	TW_PERCENT_1("idle (%)", 10, "share of the total"),
};

static const struct tw_table_spec spec = TW_SPEC("by_device", "GPU time by device", columns);

/* In the order of the columns of shares. */
static const char *const types[] = { "computation_time", "exposed_comm_time", "exposed_memcpy_time",
				     "idle_time" };

static bool is_same(const struct trawl_cell *a, const struct trawl_cell *b)
{
	return a->state == b->state && a->text_len == b->text_len &&
	       (!a->text_len || !memcmp(a->text, b->text, a->text_len));
}

static bool is_text(const struct trawl_cell *cell, const char *text)
{
	return cell->text_len == strlen(text) && !memcmp(cell->text, text, cell->text_len);
}

/* One row of gpu_timeline_by_device into the row of its device. */
static void add_figure(struct trawl_table *table, size_t to, const struct trawl_table *from,
		       size_t row)
{
	struct trawl_cell type = tw_table_cell(from, row, "type");
	size_t i;

	if (is_text(&type, "total_time"))
		tw_table_set_integer(table, to, TOTAL,
				     tw_table_cell(from, row, TW_COL_TIME_MS).integer);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (is_text(&type, types[i]))
			tw_table_copy_cell(table, to, FIRST_SHARE + i, from, row,
					   trawl_table_find_column(from, "percent"));
}

struct trawl_table *cli_by_device(const struct trawl_report *report)
{
	const struct trawl_table *from = trawl_report_find(report, "gpu_timeline_by_device");
	struct trawl_table *table = tw_table_new(&spec, trawl_allocator_default());
	struct trawl_cell before = { 0 };
	size_t row, to = 0;

	for (row = 0; table && from && row < trawl_table_rows(from); row++) {
		struct trawl_cell device = tw_table_cell(from, row, "device");

		if (!row || !is_same(&device, &before)) {
			to = tw_table_add_row(table);
			tw_table_copy_cell(table, to, DEVICE, from, row,
					   trawl_table_find_column(from, "device"));
		}
		add_figure(table, to, from, row);
		before = device;
	}
	return table;
}

static int ask_for_one(const struct trawl_table *devices, const char *path)
{
	size_t count = trawl_table_rows(devices), row;
	struct tw_str names;

	tw_str_init(&names, trawl_allocator_default());
	for (row = 0; row < count; row++) {
		struct trawl_cell cell = tw_table_cell(devices, row, "device");

		tw_str_add_cstr(&names, row ? ", " : "");
		tw_str_add(&names, cell.text, cell.text_len);
	}
	cli_message("%s: %zu devices of several ranks; choose one with --device (%s)", path, count,
		    names.failed ? "" : names.ptr);
	tw_str_release(&names);
	return CLI_USAGE;
}

bool cli_is_of_ranks(const struct cli_trace_report *made)
{
	struct trawl_table *devices = made->trace->by_process ? cli_by_device(made->report) : NULL;
	bool several = devices && trawl_table_rows(devices) > 1;

	trawl_table_free(devices);
	return several;
}

int cli_one_device(const struct cli_trace_report *made)
{
	struct trawl_table *devices = cli_by_device(made->report);
	size_t count = devices ? trawl_table_rows(devices) : 0;
	const char *path = made->r->path;
	int status = CLI_DONE;

	if (count > 1 && made->trace->by_process)
		status = ask_for_one(devices, path);
	else if (count > 1 && !made->r->common.quiet)
		cli_message("%s: %zu devices combined: concurrent kernels add up, shares can "
			    "exceed 100 %%; --device selects one",
			    path, count);
	trawl_table_free(devices);
	return status;
}
