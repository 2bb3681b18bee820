#include "analysis/who/span_table.h"

static void set_busy(struct trawl_table *table, size_t row, size_t first,
		     const struct tw_busy *busy, int64_t whole_ns)
{
	tw_table_set_integer(table, row, first + TW_BUSY_BUSY, busy->busy_ns);
	tw_table_set_integer(table, row, first + TW_BUSY_COMPUTING, busy->computing_ns);
	tw_table_set_integer(table, row, first + TW_BUSY_EXPOSED_COMMUNICATION,
			     busy->exposed_communication_ns);
	tw_table_set_integer(table, row, first + TW_BUSY_EXPOSED_COPIES, busy->exposed_copy_ns);
	if (whole_ns >= 0)
		tw_table_set_integer(table, row, first + TW_BUSY_IDLE, whole_ns - busy->busy_ns);
	tw_table_set_integer(table, row, first + TW_BUSY_COMMUNICATION, busy->communication_ns);
}

void tw_set_span_work(struct trawl_table *table, size_t row, size_t first,
		      const struct tw_derived *d, const struct tw_span_work *w,
		      const struct tw_span *span, bool has_launches)
{
	if (!has_launches)
		return;
	tw_table_set_integer(table, row, first + TW_SPAN_EVENTS, (int64_t)w->events);
	tw_table_set_integer(table, row, first + TW_SPAN_LAUNCHES, (int64_t)w->launches);
	set_busy(table, row, first + TW_SPAN_BUSY, &w->launched,
		 w->events && span ? w->last_ns - w->first_ns : -1);
	tw_set_sum(table, row, first + TW_SPAN_GPU, w->gpu_ns);
	if (!span)
		return;
	tw_set_sum(table, row, first + TW_SPAN_AFTER, w->after_ns);
	if (w->events) {
		int64_t start_ns = tw_view_real_start(&d->view, w->first_ns);
		int64_t end_ns = tw_view_real_end(&d->view, w->first_ns, w->last_ns);

		tw_table_set_integer(table, row, first + TW_SPAN_FIRST, start_ns);
		tw_table_set_integer(table, row, first + TW_SPAN_SPAN, w->last_ns - w->first_ns);
		tw_table_set_integer(table, row, first + TW_SPAN_DELAY, start_ns - span->start_ns);
		tw_table_set_integer(table, row, first + TW_SPAN_LATE, end_ns - span->end_ns);
	}
}

void tw_set_span_during(struct trawl_table *table, size_t row, size_t first,
			const struct tw_span_work *w)
{
	if (w->window_ns >= 0)
		set_busy(table, row, first, &w->during, w->window_ns);
}

void tw_add_rest_rows(struct trawl_table *table, const struct tw_derived *d,
		      const struct tw_spans_work *work, const struct tw_rest_columns *columns)
{
	size_t row;

	if (!d->gpu.count)
		return;
	row = tw_table_add_row(table);
	tw_table_set_str(table, row, columns->name, "(outside)");
	tw_table_set_integer(table, row, columns->during + TW_BUSY_BUSY, work->outside_ns);
	row = tw_table_add_row(table);
	tw_table_set_str(table, row, columns->name, TW_LABEL_LAUNCHED_OUTSIDE);
	tw_set_span_work(table, row, columns->work, d, work->outside, NULL, work->has_launches);
	row = tw_table_add_row(table);
	tw_table_set_str(table, row, columns->name, TW_LABEL_NO_LAUNCH);
	tw_set_span_work(table, row, columns->work, d, work->rest, NULL, true);
}
