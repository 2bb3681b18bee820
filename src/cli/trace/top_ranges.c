/* The ranges with the most GPU time, for the summary of a trace without operations. */
#include "cli/cli.h"

#include "analysis/analysis.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const struct trawl_column columns[] = {
	TW_TEXT("range", 40, "range name"),
	TW_INTEGER("instances", 8, "ranges of this name, all processes", .values = ">=0"),
	TW_MS(TW_COL_GPU_TIME_MS, 12, "total time of GPU events launched in them", .values = ">=0"),
	TW_MS(TW_COL_EXPOSED_COMMUNICATION_MS, 12,
	      "their communication time not overlapped by compute", .values = ">=0"),
	TW_MS(TW_COL_HOST_TIME_MS, 12, "total host time", .values = ">=0"),
};

static const struct tw_table_spec gpu_spec = { .name = "top_ranges",
					       .meaning = "top ranges by GPU time",
					       .columns = columns,
					       .column_count = 5,
					       .keep_empty = true };
/* Where it is unknown which GPU work belongs to them. */
static const struct tw_table_spec host_spec = { .name = "top_ranges",
						.meaning = "top ranges by host time",
						.columns = columns,
						.column_count = 5,
						.keep_empty = true };

/* The rows of one name. */
struct range {
	const char *name;
	size_t len;
	bool has_gpu; /* it is known which GPU work belongs to them */
	tw_wide instances, gpu_ns, exposed_ns, host_ns;
};

static int compare_names(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = len ? memcmp(x->name, y->name, len) : 0;

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static int compare_times(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->gpu_ns != y->gpu_ns)
		return x->gpu_ns > y->gpu_ns ? -1 : 1;
	if (x->host_ns != y->host_ns)
		return x->host_ns > y->host_ns ? -1 : 1;
	return compare_names(a, b);
}

/* Named ranges of the table. */
static size_t list_ranges(const struct trawl_table *table, struct range *ranges)
{
	size_t row, count = 0;

	for (row = 0; row < trawl_table_rows(table); row++) {
		struct trawl_cell name = tw_table_cell(table, row, "range"), gpu;

		if (name.state != TRAWL_CELL_VALUE)
			continue;
		gpu = tw_table_cell(table, row, TW_COL_GPU_TIME_MS);
		ranges[count++] = (struct range){
			.name = name.text,
			.len = name.text_len,
			.has_gpu = gpu.state == TRAWL_CELL_VALUE,
			.instances = tw_table_cell(table, row, "instances").integer,
			.gpu_ns = gpu.integer,
			.exposed_ns =
				tw_table_cell(table, row, TW_COL_EXPOSED_COMMUNICATION_MS).integer,
			.host_ns = tw_table_cell(table, row, TW_COL_HOST_TIME_MS).integer,
		};
	}
	return count;
}

/* Merges adjacent rows of one name. */
static size_t add_up(struct range *ranges, size_t count)
{
	size_t kept = 0, i;

	for (i = 0; i < count; i++) {
		struct range *last = kept ? &ranges[kept - 1] : NULL;

		if (!last || compare_names(last, &ranges[i])) {
			ranges[kept++] = ranges[i];
			continue;
		}
		last->instances += ranges[i].instances;
		last->gpu_ns += ranges[i].gpu_ns;
		last->exposed_ns += ranges[i].exposed_ns;
		last->host_ns += ranges[i].host_ns;
		last->has_gpu |= ranges[i].has_gpu;
	}
	return kept;
}

static struct trawl_table *make_table(const struct range *ranges, size_t count, size_t most)
{
	bool has_gpu = false;
	struct trawl_table *top;
	size_t i;

	for (i = 0; i < count; i++)
		has_gpu |= ranges[i].has_gpu;
	top = tw_table_new(has_gpu ? &gpu_spec : &host_spec, trawl_allocator_default());
	for (i = 0; top && i < count && i < most; i++) {
		size_t row = tw_table_add_row(top);

		tw_table_set_text(top, row, 0, ranges[i].name, ranges[i].len);
		tw_set_sum(top, row, 1, ranges[i].instances);
		tw_set_sum(top, row, 4, ranges[i].host_ns);
		if (!ranges[i].has_gpu)
			continue;
		tw_set_sum(top, row, 2, ranges[i].gpu_ns);
		tw_set_sum(top, row, 3, ranges[i].exposed_ns);
	}
	return top;
}

struct trawl_table *cli_top_ranges(const struct trawl_report *report, size_t most)
{
	const struct trawl_allocator *a = trawl_allocator_default();
	const struct trawl_table *table = trawl_report_find(report, "nvtx_ranges");
	size_t rows = table ? trawl_table_rows(table) : 0, count;
	struct range *ranges = tw_alloc_array(a, rows + 1, sizeof(*ranges));
	struct trawl_table *top;

	if (!ranges)
		return NULL;
	count = rows ? list_ranges(table, ranges) : 0;
	qsort(ranges, count, sizeof(*ranges), compare_names);
	count = add_up(ranges, count);
	qsort(ranges, count, sizeof(*ranges), compare_times);
	top = make_table(ranges, count, most);
	tw_free(a, ranges, (rows + 1) * sizeof(*ranges));
	if (top && trawl_report_view(report)[0])
		tw_table_add_note(top, "view: %s", trawl_report_view(report));
	return tw_table_finished(top);
}
