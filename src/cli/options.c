#include "cli/options.h"

#include "cli/cli.h"
#include "text/scan.h"
#include "text/suggestions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for sums and differences; the year 2043 in nanoseconds. */
#define LATEST_NS (INT64_MAX / 4)
#define LONGEST_S 1e6	  /* twelve days */
#define MOST_NUMBERS 4096 /* jobs have thousands of ranks */

const char *cli_meant(const char *message, const struct tw_nearest *nearest, const char *asked)
{
	struct tw_str meant;
	const char *both;

	tw_str_init(&meant, trawl_allocator_default());
	tw_nearest_describe(nearest, asked, &meant);
	both = cli_text("%s%s", message, meant.len ? meant.ptr : "");
	tw_str_release(&meant);
	return both;
}

int cli_bad_value(struct trawl_error *err, const struct cli_option *option, const char *value,
		  const char *wrong)
{
	return trawl_error_set(err, TRAWL_EUSAGE, "--%s: '%.100s' is %s", option->name, value,
			       wrong);
}

/* A whole number up to `most`; false when the text is anything else. */
static bool parse_integer(const char *text, const char **behind, int64_t most, int64_t *value)
{
	if (!tw_is_digit(*text))
		return false;
	for (*value = 0; tw_is_digit(*text); text++) {
		if (*value > (most - (*text - '0')) / 10)
			return false;
		*value = *value * 10 + (*text - '0');
	}
	*behind = text;
	return true;
}

static bool parse_count(const char *text, void *count)
{
	const char *behind;
	int64_t value;

	if (!parse_integer(text, &behind, 1000000, &value) || *behind)
		return false;
	*(unsigned *)count = (unsigned)value;
	return true;
}

static int read_count(const struct cli_option *option, const char *text, void *value,
		      struct trawl_error *err)
{
	return parse_count(text, value) ?
		       0 :
		       cli_bad_value(err, option, text, "not an integer from 0 to 1000000");
}

static int read_positive(const struct cli_option *option, const char *text, void *value,
			 struct trawl_error *err)
{
	return parse_count(text, value) && *(unsigned *)value ?
		       0 :
		       cli_bad_value(err, option, text, "not an integer from 1 to 1000000");
}

static int read_time_ns(const struct cli_option *option, const char *text, void *ns,
			struct trawl_error *err)
{
	bool negative = *text == '-';
	const char *behind;
	int64_t value;

	if (!parse_integer(text + negative, &behind, LATEST_NS, &value) || *behind)
		return cli_bad_value(err, option, text, "not an integer number of nanoseconds");
	*(int64_t *)ns = negative ? -value : value;
	return 0;
}

static int read_time_us(const struct cli_option *option, const char *text, void *ns,
			struct trawl_error *err)
{
	const char *behind;
	int64_t value;

	behind = tw_is_digit(*text) ? tw_parse_time_ns(text, &value) : NULL;
	if (!behind || *behind || value > LATEST_NS)
		return cli_bad_value(err, option, text, "not a number of microseconds");
	*(int64_t *)ns = value;
	return 0;
}

static int read_time_s(const struct cli_option *option, const char *text, void *ns,
		       struct trawl_error *err)
{
	const char *behind;
	double value;

	behind = tw_is_digit(*text) ? tw_parse_real(text, &value) : NULL;
	if (!behind || *behind || !(value <= LONGEST_S))
		return cli_bad_value(err, option, text, "not a number of seconds");
	*(int64_t *)ns = llround(ceil(value * 1e9));
	return 0;
}

static int read_size(const struct cli_option *option, const char *text, void *bytes,
		     struct trawl_error *err)
{
	static const char units[] = "KMGT";
	const char *p, *unit;
	int64_t value = 0;
	bool good = parse_integer(text, &p, INT64_MAX, &value) && value > 0;

	if (good && *p && (unit = strchr(units, *p & ~0x20))) {
		unsigned shift = 10 * (unsigned)(unit - units + 1);

		good = value <= INT64_MAX >> shift;
		if (good)
			value <<= shift;
		p++;
	}
	if (!good || *p)
		return cli_bad_value(err, option, text,
				     "not a size in bytes (suffixes: K, M, G, T)");
	*(int64_t *)bytes = value;
	return 0;
}

static int read_steps(const struct cli_option *option, const char *text, void *value,
		      struct trawl_error *err)
{
	int64_t *steps = value;
	const char *p;
	bool good = parse_integer(text, &p, INT32_MAX, &steps[0]);

	steps[1] = steps[0];
	if (good && *p == '-')
		good = parse_integer(p + 1, &p, INT32_MAX, &steps[1]);
	if (!good || *p || steps[1] < steps[0])
		return cli_bad_value(err, option, text,
				     "not a step or a range of steps (3 or 3-5)");
	return 0;
}

static int read_string(const struct cli_option *option, const char *text, void *value,
		       struct trawl_error *err)
{
	if (!*text)
		return cli_bad_value(err, option, text, "not a name");
	*(const char **)value = text;
	return 0;
}

void cli_add_text(struct cli_texts *texts, const char *text)
{
	size_t count = texts->count;
	const char **more;

	/* Room for a power of two. */
	if (!(count & (count - 1))) {
		more = cli_alloc(count ? 2 * count : 1, sizeof(*more));
		if (count)
			memcpy(more, texts->text, count * sizeof(*more));
		texts->text = more;
	}
	texts->text[texts->count++] = text;
}

static int read_strings(const struct cli_option *option, const char *text, void *value,
			struct trawl_error *err)
{
	if (!*text)
		return cli_bad_value(err, option, text, "not a name");
	cli_add_text(value, text);
	return 0;
}

int cli_read_word(const struct cli_option *option, const char *text, void *value,
		  struct trawl_error *err)
{
	const char *const *word = option->kind->words;
	struct tw_nearest nearest = { 0 };
	char list[256] = "not ";
	size_t len = strlen(list);

	for (; *word; word++) {
		if (!strcmp(*word, text)) {
			*(unsigned *)value =
				option->kind->first + (unsigned)(word - option->kind->words);
			return 0;
		}
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
					word == option->kind->words ? "" :
					word[1]			    ? ", " :
								      " or ",
					*word);
		tw_nearest_add(&nearest, text, *word);
	}
	return cli_bad_value(err, option, text, cli_meant(list, &nearest, text));
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int cli_read_number_list(const struct cli_option *option, const char *text, void *value,
			 struct trawl_error *err)
{
	struct cli_numbers *list = value;
	int64_t *numbers = cli_alloc(MOST_NUMBERS, sizeof(*numbers)), first, last;
	size_t i, n = 0;
	const char *p = text;
	bool good;

	do {
		good = parse_integer(p, &p, 999999999, &first);
		last = first;
		if (good && *p == '-')
			good = parse_integer(p + 1, &p, 999999999, &last);
		for (good = good && last >= first; good && first <= last; first++) {
			if (n == MOST_NUMBERS)
				return trawl_error_set(err, TRAWL_EUSAGE,
						       "--%s: more than %d numbers", option->name,
						       MOST_NUMBERS);
			numbers[n++] = first;
		}
	} while (good && *p == ',' && *++p);
	if (!good || *p)
		return cli_bad_value(err, option, text,
				     "not a list of numbers, such as 256,512 or 0-7");
	qsort(numbers, n, sizeof(*numbers), compare_numbers);
	*list = (struct cli_numbers){ numbers, 0 };
	for (i = 0; i < n; i++)
		if (!list->count || numbers[list->count - 1] != numbers[i])
			numbers[list->count++] = numbers[i];
	return 0;
}

static const char *const format_words[] = { "table",  "csv",   "json", "markdown",
					    "schema", "jsonl", "text", NULL };

/* "text" is another name of tables. */
static int read_format(const struct cli_option *option, const char *text, void *value,
		       struct trawl_error *err)
{
	return cli_read_word(option, strcmp(text, "text") ? text : "table", value, err);
}

const struct cli_kind cli_flag = { 0 };
const struct cli_kind cli_string = { .read = read_string };
const struct cli_kind cli_strings = { .read = read_strings };
const struct cli_kind cli_count = { .read = read_count };
const struct cli_kind cli_positive = { .read = read_positive };
const struct cli_kind cli_size = { .read = read_size };
const struct cli_kind cli_time_ns = { .read = read_time_ns };
const struct cli_kind cli_time_us = { .read = read_time_us };
const struct cli_kind cli_time_s = { .read = read_time_s };
const struct cli_kind cli_steps = { .read = read_steps };
const struct cli_kind cli_number_list = { .read = cli_read_number_list };
const struct cli_kind cli_format = { .read = read_format, .words = format_words };

/* By its long name of `len` bytes, or by letter when len is 0; *at is where its value lies. */
static const struct cli_option *find_option(const struct cli_options *lists, const char *name,
					    size_t len, size_t *at)
{
	const struct cli_option *option;

	for (; lists->list; lists++)
		for (option = lists->list; option->name; option++)
			if (len ? strlen(option->name) == len && !memcmp(option->name, name, len) :
				  option->letter && option->letter == *name) {
				*at = lists->at + option->at;
				return option;
			}
	return NULL;
}

/* Of an option that there is not. */
static int unknown_option(const struct cli_options *lists, const char *arg, struct trawl_error *err)
{
	const char *asked = cli_text("%.*s", (int)strcspn(arg, "="), arg);
	struct tw_nearest nearest = { 0 };
	const struct cli_option *option;

	for (; lists->list && arg[1] == '-'; lists++)
		for (option = lists->list; option->name; option++)
			tw_nearest_add(&nearest, asked, cli_text("--%s", option->name));
	return trawl_error_set(err, TRAWL_EUSAGE, "%s",
			       cli_meant(cli_text("unknown option '%.100s'", arg), &nearest,
					 asked));
}

struct given_option {
	const struct cli_option *option;
	size_t at;
	const char *value; /* NULL for a flag */
};

/* The option at argv[*i] and its value, after it or in the next argument. */
static int take_option(const struct cli_options *lists, int argc, char **argv, int *i,
		       struct given_option *given, struct trawl_error *err)
{
	const char *arg = argv[*i];
	bool is_long = arg[1] == '-';
	size_t len = is_long ? strcspn(arg + 2, "=") : 0;

	*given = (struct given_option){ 0 };
	if (!is_long || len)
		given->option = find_option(lists, arg + 1 + is_long, len, &given->at);
	if (!given->option)
		return unknown_option(lists, arg, err);
	if (is_long && arg[2 + len] == '=')
		given->value = arg + 3 + len;
	else if (!is_long && arg[2])
		given->value = arg + 2;
	if (given->option->kind == &cli_flag)
		return given->value ?
			       trawl_error_set(err, TRAWL_EUSAGE, "'%.100s': --%s takes no value",
					       arg, given->option->name) :
			       0;
	if (!given->value) {
		if (*i + 1 >= argc)
			return trawl_error_set(err, TRAWL_EUSAGE, "--%s needs a value (%s)",
					       given->option->name, given->option->argument);
		given->value = argv[++*i];
	}
	return 0;
}

static int set_value(const struct given_option *given, void *state, struct trawl_error *err)
{
	void *value = (char *)state + given->at;

	if (given->option->kind != &cli_flag)
		return given->option->kind->read(given->option, given->value, value, err);
	*(bool *)value = true;
	return 0;
}

int cli_parse(const struct cli_options *lists, void *state, int argc, char **argv, int *count,
	      bool *help, struct trawl_error *err)
{
	struct given_option given;
	bool options = true;
	int i;

	*count = 0;
	*help = false;
	for (i = 1; i < argc; i++) {
		if (!options || argv[i][0] != '-' || !argv[i][1]) {
			argv[(*count)++] = argv[i];
		} else if (!strcmp(argv[i], "--")) {
			options = false;
		} else if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			*help = true;
			return 0;
		} else if (take_option(lists, argc, argv, &i, &given, err) ||
			   set_value(&given, state, err)) {
			return TRAWL_EUSAGE;
		}
	}
	return 0;
}

size_t cli_given_options(const struct cli_options *lists, const struct cli_option *without,
			 int argc, char **argv, const char **kept)
{
	const struct cli_options excluded[] = { { .list = without }, { 0 } };
	struct given_option given;
	struct trawl_error err;
	size_t count = 0, at;
	int i, first;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (argv[i][0] != '-' || !argv[i][1])
			continue;
		first = i;
		if (take_option(lists, argc, argv, &i, &given, &err))
			return count;
		if (find_option(excluded, given.option->name, strlen(given.option->name), &at))
			continue;
		while (first <= i)
			kept[count++] = argv[first++];
	}
	return count;
}

static bool is_shown(const struct cli_options *of, const struct cli_option *option)
{
	const char *at;

	if (!option->help || !of->shown)
		return option->help;
	at = strstr(of->shown, option->name);
	return at && at[-1] == ' ' && at[strlen(option->name)] == ' ';
}

void cli_describe(const struct cli_options *lists, struct tw_str *out)
{
	const struct cli_option *option;

	for (; lists->list; lists++) {
		for (option = lists->list; option->name; option++) {
			size_t start = out->len;

			if (!is_shown(lists, option))
				continue;
			if (option->letter)
				tw_str_addf(out, "  -%c, --%s", option->letter, option->name);
			else
				tw_str_addf(out, "      --%s", option->name);
			if (option->argument)
				tw_str_addf(out, " %s", option->argument);
			while (out->len - start < 26)
				tw_str_add_char(out, ' ');
			tw_str_addf(out, "  %s\n", option->help);
		}
	}
}

void cli_list_options(const char *command, const struct cli_options *lists, struct tw_str *out)
{
	const struct cli_option *option;
	const char *const *word;

	for (; lists && lists->list; lists++) {
		for (option = lists->list; option->name; option++) {
			const char letter[] = { option->letter, 0 };

			if (!is_shown(lists, option))
				continue;
			tw_str_addf(out, "%s\t%s\t%s\t%s\t%s\t", command,
				    lists->title ? lists->title : "", letter, option->name,
				    option->argument ? option->argument : "");
			for (word = option->kind->words; word && *word; word++)
				tw_str_addf(out, "%s%s", *word, word[1] ? " " : "");
			tw_str_addf(out, "\t%s\n", option->help);
		}
	}
}
