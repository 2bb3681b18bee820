/* What stages of a sweep share: their options, and finding the sweep. */
#include "cli/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* A number at *p, which moves behind it; -1: there is none, or it is too long. */
static int64_t take_number(const char **p)
{
	enum { DIGITS = 9 };
	size_t digits = strspn(*p, "0123456789");
	int64_t number = digits && digits <= DIGITS ? strtoll(*p, NULL, 10) : -1;

	*p += digits;
	return number;
}

int cli_numbers(const struct cli_command *command, const char *option, const char *text,
		int64_t *numbers, size_t *count)
{
	const char *p = text;
	size_t i, n = 0;

	*count = 0;
	if (!text)
		return -1;
	do {
		int64_t first = take_number(&p), last = first;

		if (*p == '-') {
			p++;
			last = take_number(&p);
		}
		if (first < 0 || last < first || last - first >= CLI_SWEEP_NUMBERS)
			return cli_usage_error(command,
					       "--%s: '%.60s' is no list of numbers such as "
					       "256,512 or 0-7",
					       option, text);
		for (; first <= last; first++) {
			if (n == CLI_SWEEP_NUMBERS)
				return cli_usage_error(command, "--%s: more than %d numbers",
						       option, CLI_SWEEP_NUMBERS);
			numbers[n++] = first;
		}
	} while (*p == ',' && *++p);
	if (*p)
		return cli_usage_error(command,
				       "--%s: '%.60s' is no list of numbers such as 256,512 or 0-7",
				       option, text);
	qsort(numbers, n, sizeof(*numbers), compare_numbers);
	for (i = 0; i < n; i++)
		if (!*count || numbers[*count - 1] != numbers[i])
			numbers[(*count)++] = numbers[i];
	return -1;
}

void cli_sweep_options(struct cli_sweep *s, struct cli_option own[5], struct cli_option common[8])
{
	const struct cli_option table[5] = {
		{ "threads", 0, CLI_TEXT, "LIST", &s->threads,
		  "these thread counts alone, such as 256,512 (default: all)" },
		{ "channels", 0, CLI_TEXT, "LIST", &s->channels,
		  "these channel counts alone, such as 28,42 (default: all)" },
		{ "ranks", 0, CLI_TEXT, "LIST", &s->ranks,
		  "these ranks alone, such as 0-7 (default: all)" },
		{ "max-memory", 0, CLI_SIZE, "SIZE", &s->max_memory,
		  "for traces held at once, such as 16G (default: half of the machine's)" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};

	memcpy(own, table, sizeof(table));
	cli_common_options(&s->common, true, common);
	common[0].help = "where results go, laid out as in a sweep (default: into the sweep)";
}

static int parse_lists(struct cli_sweep *s)
{
	struct tw_sweep_filter *f = &s->filter;
	int status =
		cli_numbers(s->command, "threads", s->threads, s->numbers[0], &f->thread_count);

	if (status < 0)
		status = cli_numbers(s->command, "channels", s->channels, s->numbers[1],
				     &f->channel_count);
	if (status < 0)
		status = cli_numbers(s->command, "ranks", s->ranks, s->numbers[2], &f->rank_count);
	f->threads = s->numbers[0];
	f->channels = s->numbers[1];
	f->ranks = s->numbers[2];
	return status;
}

int cli_sweep_begin(struct cli_sweep *s, const struct cli_option *const *tables, size_t table_count,
		    int argc, char **argv)
{
	struct trawl_error err;
	int count, status;
	size_t i;

	status = cli_begin(s->command, tables, table_count, argc, argv, &count);
	if (status < 0)
		status = parse_lists(s);
	if (status >= 0)
		return status;
	if (count != 1)
		return cli_usage_error(s->command,
				       count ? "one sweep at a time, not %d" :
					       "which sweep? its directory (%d given)",
				       count);
	if (tw_sweep_find(&s->sweep, argv[0], s->common.output, &s->filter,
			  trawl_allocator_default(), &err)) {
		tw_sweep_release(&s->sweep);
		return cli_fail(&err);
	}
	for (i = 0; i < s->sweep.note_count && !s->common.quiet; i++)
		cli_message("%s", s->sweep.notes[i]);
	return -1;
}
