/* Which ranks there are: a row each. */
#include "nsys/tables.h"

#include "text/scan.h"

#include <string.h>

enum { RANK = TW_SETUP_COMPAT, PP, DP, CP, EP, TP, COLUMNS };

static const struct trawl_column columns[COLUMNS] = {
	TW_INTEGER("pid", 10, "operating system process id", .values = "!>=0"),
	TW_TEXT("setup", 50, "label from the trainer"),
	TW_INTEGER("rank", 8, "rank, from the label, else by pid order", .values = "!>=0"),
	TW_INTEGER("pp", 6, "pipeline-parallel rank", .values = ">=0"),
	TW_INTEGER("dp", 6, "data-parallel rank", .values = ">=0"),
	TW_INTEGER("cp", 6, "context-parallel rank", .values = ">=0"),
	TW_INTEGER("ep", 6, "expert-parallel rank", .values = ">=0"),
	TW_INTEGER("tp", 6, "tensor-parallel rank", .values = ">=0"),
};

const struct tw_table_spec tw_nsys_setup_spec = {
	.name = "setup",
	.meaning = "ranks of the export",
	.columns = columns,
	.column_count = COLUMNS,
	.keep_empty = true,
};
/* "pp=1/2" after a blank or at the beginning: the number after the sign, -1: there is none. */
static int64_t coordinate(const char *label, const char *axis)
{
	size_t len = strlen(axis);
	const char *p;
	int64_t value = 0;

	for (p = label; (p = strstr(p, axis)); p += len) {
		if ((p != label && !strchr(" ;,", p[-1])) || p[len] != '=')
			continue;
		p += len + 1;
		if (!tw_is_digit(*p))
			return -1;
		for (; tw_is_digit(*p); p++) {
			if (value > INT32_MAX)
				return -1;
			value = value * 10 + (*p - '0');
		}
		return value;
	}
	return -1;
}

int tw_nsys_setup(struct tw_nsys_capture *c, struct trawl_table *table, struct trawl_error *err)
{
	size_t i, k, row;

	(void)err;
	for (i = 0; i < c->ranks.count; i++) {
		const struct tw_nsys_rank *rank = &c->ranks.at[i];

		row = tw_table_add_row(table);
		tw_table_set_integer(table, row, TW_SETUP_PID, tw_nsys_pid(rank->process));
		tw_table_set_str(table, row, TW_SETUP_LABEL, rank->label);
		tw_table_set_integer(table, row, RANK, rank->rank);
		for (k = PP; k < COLUMNS && rank->label; k++) {
			int64_t value = coordinate(rank->label, columns[k].header);

			if (value >= 0)
				tw_table_set_integer(table, row, k, value);
		}
	}
	return 0;
}
