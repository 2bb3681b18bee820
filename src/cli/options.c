#include "cli/options.h"

#include "render/render.h"
#include "text/scan.h"

#include <string.h>

/* Room for sums and differences; the year 2043 in nanoseconds. */
#define LATEST_NS (INT64_MAX / 4)

static int bad_value(struct trawl_error *err, const struct cli_option *option, const char *value,
		     const char *wanted)
{
	return trawl_error_set(err, TRAWL_EUSAGE, "--%s: '%.100s' is not %s", option->name, value,
			       wanted);
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

static int parse_count(const struct cli_option *option, const char *text, struct trawl_error *err)
{
	const char *behind;
	int64_t value;

	if (!parse_integer(text, &behind, 1000000, &value) || *behind ||
	    (option->kind == CLI_POSITIVE && !value))
		return bad_value(err, option, text,
				 option->kind == CLI_POSITIVE ? "a whole number from 1 to 1000000" :
								"a whole number from 0 to 1000000");
	*(unsigned *)option->value = (unsigned)value;
	return 0;
}

static int parse_time_ns(const struct cli_option *option, const char *text, struct trawl_error *err)
{
	bool negative = *text == '-';
	const char *behind;
	int64_t value;

	if (!parse_integer(text + negative, &behind, LATEST_NS, &value) || *behind)
		return bad_value(err, option, text, "a time in whole nanoseconds");
	*(int64_t *)option->value = negative ? -value : value;
	return 0;
}

static int parse_time_us(const struct cli_option *option, const char *text, struct trawl_error *err)
{
	const char *behind;
	int64_t value;

	behind = tw_is_digit(*text) ? tw_parse_time_ns(text, &value) : NULL;
	if (!behind || *behind || value > LATEST_NS)
		return bad_value(err, option, text, "a number of microseconds");
	*(int64_t *)option->value = value;
	return 0;
}

static int parse_size(const struct cli_option *option, const char *text, struct trawl_error *err)
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
		return bad_value(err, option, text, "a size in bytes, or with K, M, G or T");
	*(int64_t *)option->value = value;
	return 0;
}

static int parse_steps(const struct cli_option *option, const char *text, struct trawl_error *err)
{
	int64_t *steps = option->value;
	const char *p;
	bool good = parse_integer(text, &p, INT32_MAX, &steps[0]);

	steps[1] = steps[0];
	if (good && *p == '-')
		good = parse_integer(p + 1, &p, INT32_MAX, &steps[1]);
	if (!good || *p || steps[1] < steps[0])
		return bad_value(err, option, text, "a step or a range of steps (3 or 3-5)");
	return 0;
}

static int parse_format(const struct cli_option *option, const char *text, struct trawl_error *err)
{
	static const char *const names[] = {
		[TW_FORMAT_TABLE] = "table",   [TW_FORMAT_CSV] = "csv",
		[TW_FORMAT_JSON] = "json",     [TW_FORMAT_MARKDOWN] = "markdown",
		[TW_FORMAT_SCHEMA] = "schema",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			*(enum tw_format *)option->value = (enum tw_format)i;
			return 0;
		}
	}
	return bad_value(err, option, text, "table, csv, json, markdown or schema");
}

static void add_text(struct cli_texts *texts, const char *text)
{
	texts->text[texts->count++] = text;
}

static int set_value(const struct cli_option *option, const char *text, struct trawl_error *err)
{
	switch (option->kind) {
	case CLI_FLAG:
		*(bool *)option->value = true;
		return 0;
	case CLI_TEXT:
		if (!*text)
			return bad_value(err, option, text, "a name");
		*(const char **)option->value = text;
		return 0;
	case CLI_TEXTS:
		if (!*text)
			return bad_value(err, option, text, "a name");
		add_text(option->value, text);
		return 0;
	case CLI_COUNT:
	case CLI_POSITIVE:
		return parse_count(option, text, err);
	case CLI_SIZE:
		return parse_size(option, text, err);
	case CLI_TIME_NS:
		return parse_time_ns(option, text, err);
	case CLI_TIME_US:
		return parse_time_us(option, text, err);
	case CLI_STEPS:
		return parse_steps(option, text, err);
	case CLI_FORMAT:
		return parse_format(option, text, err);
	}
	return 0;
}

/* By its long name of `len` bytes, or by letter when len is 0. */
static const struct cli_option *find_option(const struct cli_option *const *tables,
					    size_t table_count, const char *name, size_t len)
{
	size_t t;

	for (t = 0; t < table_count; t++) {
		const struct cli_option *option;

		for (option = tables[t]; option->name; option++)
			if (len ? strlen(option->name) == len && !memcmp(option->name, name, len) :
				  option->letter && option->letter == *name)
				return option;
	}
	return NULL;
}

/* The option at argv[*i] and its value, behind it or in the next argument; NULL for a flag. */
static int take_option(const struct cli_option *const *tables, size_t table_count, int argc,
		       char **argv, int *i, const struct cli_option **option, const char **value,
		       struct trawl_error *err)
{
	const char *arg = argv[*i];
	bool is_long = arg[1] == '-';
	size_t len = is_long ? strcspn(arg + 2, "=") : 0;

	*value = NULL;
	*option = NULL;
	if (!is_long || len)
		*option = find_option(tables, table_count, arg + 1 + is_long, len);
	if (!*option)
		return trawl_error_set(err, TRAWL_EUSAGE, "unknown option '%.100s'", arg);
	if (is_long && arg[2 + len] == '=')
		*value = arg + 3 + len;
	else if (!is_long && arg[2])
		*value = arg + 2;
	if ((*option)->kind == CLI_FLAG)
		return *value ? trawl_error_set(err, TRAWL_EUSAGE, "'%.100s': --%s takes no value",
						arg, (*option)->name) :
				0;
	if (!*value) {
		if (*i + 1 >= argc)
			return trawl_error_set(err, TRAWL_EUSAGE, "--%s needs a value (%s)",
					       (*option)->name, (*option)->argument);
		*value = argv[++*i];
	}
	return 0;
}

int cli_parse(const struct cli_option *const *tables, size_t table_count, int argc, char **argv,
	      int *count, bool *help, struct trawl_error *err)
{
	const struct cli_option *option;
	const char *value;
	bool options = true;
	int i, status;

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
		} else {
			status = take_option(tables, table_count, argc, argv, &i, &option, &value,
					     err);
			if (!status)
				status = set_value(option, value ? value : "", err);
			if (status)
				return status;
		}
	}
	return 0;
}

size_t cli_given_options(const struct cli_option *const *tables, size_t table_count,
			 const struct cli_option *without, int argc, char **argv, const char **kept)
{
	const struct cli_option *option;
	struct trawl_error err;
	const char *value;
	size_t count = 0;
	int i, first;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (argv[i][0] != '-' || !argv[i][1])
			continue;
		first = i;
		if (take_option(tables, table_count, argc, argv, &i, &option, &value, &err))
			return count;
		if (find_option(&without, 1, option->name, strlen(option->name)))
			continue;
		while (first <= i)
			kept[count++] = argv[first++];
	}
	return count;
}

void cli_describe(const struct cli_option *table, struct tw_str *out)
{
	const struct cli_option *option;

	for (option = table; option->name; option++) {
		size_t start = out->len;

		if (!option->help)
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
