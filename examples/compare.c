/*
 * What became faster or slower between two runs, and whether something got worse by over 5 %.
 *
 *	cc compare.c -ltrawl -o compare && ./compare sample.json.gz sample.json.gz
 */
#include <stdio.h>
#include <trawl/trawl.h>

static void print_worse(void *context, const char *line)
{
	(void)context;
	printf("worse: %s\n", line);
}

int main(int argc, char **argv)
{
	struct trawl_comparison *c = NULL;
	struct trawl_error err;
	size_t worse, i;

	if (argc != 3)
		return fprintf(stderr, "usage: compare BASELINE TEST\n"), 2;
	if (trawl_compare(&c, (const char *const *)argv + 1, 2, NULL, &err))
		return fprintf(stderr, "compare: %s\n", err.message), 1;
	for (i = 0; i < trawl_comparison_lines(c); i++)
		printf("%s\n", trawl_comparison_line(c, i));
	/* Of the baseline's times, in percent. */
	worse = trawl_comparison_gate(c, 5, print_worse, NULL, NULL);
	trawl_comparison_free(c);
	return worse ? 3 : 0;
}
