/*
 * Which stages of a training run communicate in the open, from an export of Nsight Systems.
 *
 *	cc overlap.c -ltrawl -o overlap && ./overlap sample.sqlite
 */
#include <stdio.h>
#include <trawl/trawl.h>

static struct trawl_cell cell(const struct trawl_table *table, size_t row, const char *header)
{
	return trawl_table_cell(table, row, trawl_table_find_column(table, header));
}

static void print_note(void *context, const char *line)
{
	fprintf(stderr, "overlap: %s: %s\n", (const char *)context, line);
}

int main(int argc, char **argv)
{
	struct trawl_nsys_options options;
	struct trawl_table *table = NULL;
	struct trawl_error err;
	size_t row;

	if (argc != 2)
		return fprintf(stderr, "usage: overlap EXPORT\n"), 2;
	trawl_nsys_options_init(&options);
	options.by = "stage";
	options.note = print_note;
	options.note_context = argv[1];
	if (trawl_nsys_query(&table, TRAWL_NSYS_OVERLAP, argv[1], &options, &err))
		return fprintf(stderr, "overlap: %s: %s\n", argv[1], err.message), 1;
	for (row = 0; row < trawl_table_rows(table); row++) {
		struct trawl_cell stage = cell(table, row, "stage");
		struct trawl_cell hidden = cell(table, row, "overlap");
		struct trawl_cell exposed = cell(table, row, "exposed_ns");

		printf("%-12.*s %6.2f %% hidden %14lld ns exposed\n", (int)stage.text_len,
		       stage.text, hidden.real, (long long)exposed.integer);
	}
	trawl_table_free(table);
	return 0;
}
