/*
 * Queries on databases as exports of Nsight Systems, with rules that an input brings.  Of the first
 * two bytes come the query and its options, and how the rest is meant, see made_export.h; then the
 * rules, behind their length.  Nothing may crash, the numbers are possible ones, and the answer is
 * the same for several threads and parts.
 */
#include "made_export.h"
#include "table/table.h"
#include "trawl/nsys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From row to row, so that there are several parts, and not too many. */
#define FAR(size) (((int64_t)1 << 18) / (int64_t)((size) / 128 + 1))

/* ---- rules */

static char rules_path[64];
static int rules_file = -1;

static void remove_rules(void)
{
	unlink(rules_path);
}

/*
 * Patterns that count or refer back are left out: what the C library needs for those has no bound,
 * and rules come from who runs the program.
 */
static void tame(char *text, size_t size)
{
	bool pattern = true;
	size_t i;

	for (i = 0; i < size; i++) {
		if (text[i] == '\n')
			pattern = true;
		else if (text[i] == '\t' && i && memchr(text, '\t', i))
			pattern = false;
		else if (pattern && strchr("{\\", text[i]) && text[i])
			text[i] = '.';
	}
}

static const char *write_rules(const uint8_t *data, size_t size)
{
	char text[256];

	if (rules_file < 0) {
		snprintf(rules_path, sizeof(rules_path), "%s/fuzz_rules_XXXXXX",
			 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		rules_file = mkstemp(rules_path);
		check(rules_file >= 0);
		atexit(remove_rules);
	}
	memcpy(text, data, size);
	tame(text, size);
	check(!ftruncate(rules_file, 0) && pwrite(rules_file, text, size, 0) == (ssize_t)size);
	return rules_path;
}

/* ---- what must hold */

static void check_real(const struct trawl_table *table, size_t row, const char *column)
{
	struct trawl_cell cell = tw_table_cell(table, row, column);

	check(cell.state != TRAWL_CELL_VALUE || (cell.real >= 0 && cell.real <= 100));
}

static void check_integer(const struct trawl_table *table, size_t row, const char *column)
{
	struct trawl_cell cell = tw_table_cell(table, row, column);

	check(cell.state != TRAWL_CELL_VALUE || cell.integer >= 0);
}

/* What one of these is not more than the other. */
static void check_order(const struct trawl_table *table, size_t row, const char *less,
			const char *more)
{
	struct trawl_cell a = tw_table_cell(table, row, less), b = tw_table_cell(table, row, more);

	check(a.state != TRAWL_CELL_VALUE || b.state != TRAWL_CELL_VALUE || a.integer <= b.integer);
}

static void check_table(const struct trawl_table *table, enum trawl_nsys_table query)
{
	size_t row;

	for (row = 0; row < trawl_table_rows(table); row++) {
		if (query == TRAWL_NSYS_WINDOWS) {
			check_order(table, row, "start", "end");
		} else if (query == TRAWL_NSYS_STREAMS) {
			check_integer(table, row, "n_comm");
			check_integer(table, row, "n_comp");
			check_integer(table, row, "comm_ns");
			check_integer(table, row, "comp_ns");
			check_order(table, row, "barrier_ns", "comm_ns");
		} else if (query == TRAWL_NSYS_OVERLAP) {
			check_integer(table, row, "exposed_union_ns");
			check_order(table, row, "exposed_union_ns", "exposed_ns");
			check_real(table, row, "overlap");
			check_real(table, row, "overlap_min");
			check_real(table, row, "overlap_max");
		}
	}
}

static void check_same(const struct trawl_table *a, const struct trawl_table *b)
{
	size_t row, column;

	check(trawl_table_rows(a) == trawl_table_rows(b));
	for (row = 0; row < trawl_table_rows(a); row++)
		for (column = 0; column < trawl_table_columns(a); column++) {
			struct trawl_cell x = trawl_table_cell(a, row, column);
			struct trawl_cell y = trawl_table_cell(b, row, column);

			check(x.state == y.state && x.text_len == y.text_len &&
			      (!x.text_len || !memcmp(x.text, y.text, x.text_len)) &&
			      x.integer == y.integer);
		}
}

static void check_note(void *context, const char *line)
{
	(void)context;
	check(*line && !strchr(line, '\n'));
}

/* NULL: it has no answer. */
static struct trawl_table *ask(enum trawl_nsys_table query, const char *path,
			       const struct trawl_nsys_options *options)
{
	struct trawl_table *table;
	struct trawl_error err;
	int status = trawl_nsys_query(&table, query, path, options, &err);

	check(!status == !!table && (!status || *err.message));
	if (table && !options->compat)
		check_table(table, query);
	return table;
}

#define ROWS 0x80

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trawl_nsys_options options = { .threads = 1, .rank = -1, .note = check_note };
	struct trawl_table *table, *other;
	const char *path;
	uint8_t choice;
	size_t len;

	if (size < 3)
		return 0;
	choice = data[0];
	options.compat = choice & 4;
	options.rank = choice & 8 ? data[1] & 3 : -1;
	options.window = choice & 16;
	options.start_ns = data[1] & 4 ? 0 : INT64_MIN;
	options.end_ns = data[1] & 8 ? 90 : INT64_MAX;
	len = data[2];
	data += 3;
	size -= 3;
	len = len < size ? len : size;
	/* To try all presets is what takes longest. */
	if (len)
		options.rules = write_rules(data, len);
	else if (!(choice & 64))
		options.rules = "pithtrain";
	/* That has its own. */
	if (options.compat)
		options.rules = NULL;
	data += len;
	size -= len;
	path = choice & ROWS ? made_export_rows(data, size, 1) : made_export_bytes(data, size);
	table = ask(choice & 3, path, &options);
	if (choice & ROWS && choice & 32) {
		options.threads = 3;
		other = ask(choice & 3, made_export_rows(data, size, FAR(size)), &options);
		check(!table == !other);
		if (table)
			check_same(table, other);
		trawl_table_free(other);
	}
	trawl_table_free(table);
	return 0;
}
