#include "model/platform.h"

#include "data/limits.h"
#include "json/reader.h"
#include "os/file.h"
#include "text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define GIB 1073741824.0

/* The first fact after those of the platform whose facts begin at i. */
static size_t next_platform(size_t i)
{
	const char *name = tw_platform_facts[i].platform;

	while (i < tw_platform_fact_count && !strcmp(tw_platform_facts[i].platform, name))
		i++;
	return i;
}

size_t tw_platform_count(void)
{
	size_t count = 0, i;

	for (i = 0; i < tw_platform_fact_count; i = next_platform(i))
		count++;
	return count;
}

/* Where the facts of the n-th platform begin. */
static size_t platform_at(size_t n)
{
	size_t i = 0;

	while (n--)
		i = next_platform(i);
	return i;
}

const char *tw_platform_name(size_t i)
{
	return tw_platform_facts[platform_at(i)].platform;
}

static void clear(struct tw_platform *platform)
{
	size_t i;

	memset(platform, 0, sizeof(*platform));
	platform->mem_bw_gbps = platform->memory_gb = NAN;
	for (i = 0; i < TW_PEAK_COUNT; i++)
		platform->peak_tflops[i] = NAN;
}

/* The index of a peak, TW_PEAK_COUNT when there is none of that name. */
static size_t peak_index(const char *key)
{
	size_t i;

	for (i = 0; i < TW_PEAK_COUNT && strcmp(tw_peak_keys[i], key); i++)
		;
	return i;
}

/* The field that a key names, NULL when it names none. */
static double *field_of(struct tw_platform *platform, const char *key, enum tw_mark **mark)
{
	size_t peak = peak_index(key);

	if (peak < TW_PEAK_COUNT) {
		*mark = &platform->peak_mark[peak];
		return &platform->peak_tflops[peak];
	}
	if (!strcmp(key, "mem_bw_gbps")) {
		*mark = &platform->mem_bw_mark;
		return &platform->mem_bw_gbps;
	}
	*mark = &platform->memory_mark;
	return strcmp(key, "memory_gb") ? NULL : &platform->memory_gb;
}

/* The platform whose facts begin at `first`. */
static void load(size_t first, struct tw_platform *platform)
{
	size_t end = next_platform(first), i;

	clear(platform);
	tw_cut_into(platform->name, sizeof(platform->name), tw_platform_facts[first].platform,
		    strlen(tw_platform_facts[first].platform));
	for (i = first; i < end; i++) {
		const struct tw_platform_fact *fact = &tw_platform_facts[i];
		enum tw_mark *mark;
		double *field = field_of(platform, fact->key, &mark);

		if (field) {
			*field = fact->value;
			*mark = fact->mark;
		}
	}
}

/* ---- names */

static bool is_separator(char c)
{
	return c == ' ' || c == '-' || c == '_';
}

/* After the words that vendors put in front of a product's name. */
static const char *after_vendor(const char *name)
{
	static const char *const words[] = { "nvidia", "geforce", "amd", "instinct" };
	size_t i, len;

	while (is_separator(*name))
		name++;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		len = strlen(words[i]);
		if (!strncasecmp(name, words[i], len) && is_separator(name[len]))
			return after_vendor(name + len);
	}
	return name;
}

/* How `name` goes on after the words it begins with: "" when these are all, NULL when it does not. */
static const char *after_words(const char *name, const char *words)
{
	for (;; name++, words++) {
		while (is_separator(*words))
			words++;
		if (!*words && *name && !is_separator(*name))
			return NULL;
		while (is_separator(*name))
			name++;
		if (!*words)
			return name;
		if (!*name || strncasecmp(name, words, 1))
			return NULL;
	}
}

bool tw_platform_find(const char *name, struct tw_platform *platform)
{
	const char *rest;
	size_t i;

	name = after_vendor(name);
	for (i = 0; i < tw_platform_fact_count; i = next_platform(i)) {
		rest = after_words(tw_platform_facts[i].platform, name);
		if (rest && !*rest) {
			load(i, platform);
			return true;
		}
	}
	return false;
}
bool tw_platform_is_variant(const char *platform, const char *words)
{
	return after_words(platform, after_vendor(words));
}

/* ---- devices */

/* The number that a platform has under `key`, NaN: none. */
static double number_of(size_t first, const char *key)
{
	size_t end = next_platform(first), i;

	for (i = first; i < end; i++)
		if (!strcmp(tw_platform_facts[i].key, key))
			return tw_platform_facts[i].value;
	return NAN;
}

/* By which a device may be one of a platform, the surest first. */
enum sign { BY_NAME, BY_WILDCARD, BY_PROPERTIES, SIGNS };

static bool has_name(size_t first, const struct tw_device *device, bool by_wildcard)
{
	size_t end = next_platform(first), i;

	for (i = first; i < end; i++)
		if (!strcmp(tw_platform_facts[i].key, "device") &&
		    (by_wildcard || !strchr(tw_platform_facts[i].pattern, '*')) &&
		    tw_name_matches(tw_platform_facts[i].pattern, device->name,
				    strlen(device->name)))
			return true;
	return false;
}

/* ROCm has the second for a product whose name its driver does not know. */
static bool is_nameless(const struct tw_device *device)
{
	return !*device->name || !strcasecmp(device->name, "AMD Radeon Graphics");
}

static bool has_properties(size_t first, const struct tw_device *device)
{
	double compute = number_of(first, "compute");

	return is_nameless(device) && device->memory_bytes > 0 && device->units > 0 &&
	       number_of(first, "units") == (double)device->units &&
	       (device->compute <= 0 || lround(10 * compute) == device->compute);
}

static bool has_sign(size_t first, const struct tw_device *device, enum sign sign)
{
	return sign == BY_PROPERTIES ? has_properties(first, device) :
				       has_name(first, device, sign == BY_WILDCARD);
}

/* The platform with that sign whose memory is nearest; false unless it is the only one. */
static bool find_by(const struct tw_device *device, enum sign sign, struct tw_platform *platform)
{
	struct tw_platform candidate;
	double nearest = INFINITY, away, memory = (double)device->memory_bytes / GIB;
	unsigned found = 0;
	size_t i;

	for (i = 0; i < tw_platform_fact_count; i = next_platform(i)) {
		if (!has_sign(i, device, sign))
			continue;
		load(i, &candidate);
		away = memory > 0 ? fabs(memory - candidate.memory_gb) / candidate.memory_gb : 0;
		if (away * 100 > TW_LIMIT_PLATFORM_MEMORY_PERCENT || away > nearest)
			continue;
		found = away < nearest ? 1 : found + 1;
		nearest = away;
		*platform = candidate;
	}
	return found == 1;
}

bool tw_platform_of_device(const struct tw_device *device, struct tw_platform *platform)
{
	enum sign sign;

	for (sign = BY_NAME; sign < SIGNS; sign++)
		if (find_by(device, sign, platform))
			return true;
	return false;
}

struct tw_device tw_device_of(const struct trawl_trace *trace)
{
	return (struct tw_device){
		.name = trace->device_name,
		.memory_bytes = trace->device_bytes,
		.units = trace->device_units,
		.compute = trace->device_compute,
	};
}

/* ---- files */

struct parser {
	struct tw_json_reader r;
	struct tw_platform *platform;
	const char *key; /* whose value is being read */
};

/* The value after `key`: a number above 0, or null: unknown. */
static void take_number(struct parser *parser, const char *key, double *value)
{
	struct tw_json_reader *r = &parser->r;

	parser->key = key;
	*value = NAN;
	tw_json_next(r);
	if (r->token == TW_JSON_NUMBER && r->number > 0)
		*value = r->number;
	else if (r->token != TW_JSON_NULL)
		tw_json_reject(r, "expected a number above 0");
	if (r->token != TW_JSON_BAD)
		parser->key = NULL;
}

static void take_peaks(struct parser *parser)
{
	struct tw_json_reader *r = &parser->r;
	size_t i;

	parser->key = "max_achievable_tflops";
	if (tw_json_next(r) != TW_JSON_OBJECT) {
		tw_json_reject(r, "expected an object");
		return;
	}
	parser->key = NULL;
	while (tw_json_next(r) == TW_JSON_KEY) {
		for (i = 0; i < TW_PEAK_COUNT && !tw_json_is(r, tw_peak_keys[i]); i++)
			;
		if (i < TW_PEAK_COUNT)
			take_number(parser, tw_peak_keys[i], &parser->platform->peak_tflops[i]);
		else
			tw_json_skip(r);
	}
}

static void take_name(struct parser *parser)
{
	struct tw_json_reader *r = &parser->r;

	parser->key = "name";
	if (tw_json_next(r) != TW_JSON_STRING) {
		tw_json_reject(r, "expected a string");
		return;
	}
	parser->key = NULL;
	tw_cut_into(parser->platform->name, sizeof(parser->platform->name), r->string,
		    strlen(r->string));
}

static void take_platform(struct parser *parser)
{
	struct tw_platform *platform = parser->platform;
	struct tw_json_reader *r = &parser->r;

	if (tw_json_next(r) != TW_JSON_OBJECT) {
		tw_json_reject(r, "expected a platform object, {\"mem_bw_gbps\": ...}");
		return;
	}
	while (tw_json_next(r) == TW_JSON_KEY) {
		if (tw_json_is(r, "name"))
			take_name(parser);
		else if (tw_json_is(r, "mem_bw_gbps"))
			take_number(parser, "mem_bw_gbps", &platform->mem_bw_gbps);
		else if (tw_json_is(r, "memory_gb"))
			take_number(parser, "memory_gb", &platform->memory_gb);
		else if (tw_json_is(r, "max_achievable_tflops"))
			take_peaks(parser);
		else
			tw_json_skip(r);
	}
}

/* The file's name without directories and ".json". */
static void name_by_file(struct tw_platform *platform, const char *file)
{
	const char *base = tw_file_name(file);
	size_t len = strlen(base);

	if (len > 5 && !strcmp(base + len - 5, ".json"))
		len -= 5;
	tw_cut_into(platform->name, sizeof(platform->name), base, len);
}

int tw_platform_parse(const char *text, size_t len, const char *file, struct tw_platform *platform,
		      const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct parser parser = { .platform = platform };
	struct trawl_error broken;
	int status;

	clear(platform);
	tw_json_reader_init(&parser.r, text, len, allocator);
	take_platform(&parser);
	status = tw_json_reader_end(&parser.r, file, &broken);
	if (status)
		return trawl_error_set_at(err, status, broken.offset, "%s%s%s%s", broken.message,
					  parser.key ? " (the value of \"" : "",
					  parser.key ? parser.key : "", parser.key ? "\")" : "");
	if (isnan(platform->mem_bw_gbps))
		return trawl_error_set(
			err, TRAWL_EFORMAT,
			"%s: \"mem_bw_gbps\" is missing: the memory bandwidth in GB/s", file);
	if (!platform->name[0])
		name_by_file(platform, file);
	return 0;
}

double tw_platform_peak(const struct tw_platform *platform, const char *spec, enum tw_mark *mark)
{
	size_t i = peak_index(spec);

	if (mark)
		*mark = i < TW_PEAK_COUNT ? platform->peak_mark[i] : TW_MARK_NONE;
	return i < TW_PEAK_COUNT ? platform->peak_tflops[i] : NAN;
}
