/* The operations that have cost models, as a table. */
#include "base/alloc.h"
#include "model/model.h"
#include "table/table.h"
#include "trawl/model.h"

#include <string.h>

static const struct trawl_column list_columns[] = {
	TW_TEXT("operation", 40, "op name in the profiler's trace", .values = "!"),
	TW_TEXT("model", 24, "cost model (ops may share one)", .values = "!"),
	TW_TEXT("table", 20, "report table of the op", .values = "!"),
	TW_TEXT("unit", 8, "GPU unit that does the work", .values = "!matrix|vector|"),
	TW_TEXT("backward", 8, "whether the model covers the backward pass", .values = "!yes|no"),
};

static const struct tw_table_spec list_spec =
	TW_SPEC("models", "ops with a cost model", list_columns, .keep_empty = true);

int trawl_models(struct trawl_table **out, struct trawl_error *err)
{
	static const char *const units[] = { "", "matrix", "vector" };
	struct trawl_table *table = tw_table_new(&list_spec, trawl_allocator_default());
	size_t i, row;

	for (i = 0; table && i < tw_op_model_count; i++) {
		const char *op = tw_op_models[i].op;
		const struct tw_model *model = tw_model_of(op, strlen(op));

		if (!model)
			continue;
		row = tw_table_add_row(table);
		tw_table_set_str(table, row, 0, op);
		tw_table_set_str(table, row, 1, model->name);
		tw_table_set_str(table, row, 2, model->sheet);
		tw_table_set_str(table, row, 3, units[model->unit]);
		tw_table_set_str(table, row, 4, model->backward ? "yes" : "no");
	}
	*out = tw_table_finished(table);
	return *out ? 0 : tw_no_memory(err);
}
