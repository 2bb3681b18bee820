/* What stages of a sweep share: their options, and finding the sweep. */
#include "cli/sweep/sweep.h"

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
		if (first < 0 || last < first)
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
		{ "threads", 0, CLI_TEXT, "LIST", &s->lists[0],
		  "these thread counts alone, such as 256,512 (default: all)" },
		{ "channels", 0, CLI_TEXT, "LIST", &s->lists[1],
		  "these channel counts alone, such as 28,42 (default: all)" },
		{ "ranks", 0, CLI_TEXT, "LIST", &s->lists[2],
		  "these ranks alone, such as 0-7 (default: all)" },
		{ "max-memory", 0, CLI_SIZE, "SIZE", &s->max_memory,
		  "for traces held at once, such as 16G (default: half of the machine's)" },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};

	memcpy(own, table, sizeof(table));
	cli_common_options(&s->common, true, common);
	common[0].help = "where results go, laid out as in a sweep (default: into the sweep)";
}

int cli_read_filter(const struct cli_command *command, const char *const lists[3],
		    int64_t numbers[3][CLI_SWEEP_NUMBERS], struct tw_sweep_filter *f)
{
	static const char *const names[] = { "threads", "channels", "ranks" };
	size_t *const counts[] = { &f->thread_count, &f->channel_count, &f->rank_count };
	int status = -1;
	size_t i;

	for (i = 0; i < 3 && status < 0; i++)
		status = cli_numbers(command, names[i], lists[i], numbers[i], counts[i]);
	f->threads = numbers[0];
	f->channels = numbers[1];
	f->ranks = numbers[2];
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
		status = cli_read_filter(s->command, s->lists, s->numbers, &s->filter);
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
