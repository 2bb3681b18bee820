/*
 * Any bytes as JSON, and as a platform's file.  The reader may accept only what the grammar check
 * of src/text/text.c accepts too, nesting closes, skipping ends where reading ends.
 */
#include "text/text.h"
#include "json/value.h"
#include "model/platform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Every token; the status of the whole. */
static int read_all(const char *text, size_t len)
{
	struct tw_json_reader r;
	enum tw_json_token token;
	size_t depth = 0, line, column, last = 0;

	tw_json_reader_init(&r, text, len, trawl_allocator_default());
	while ((token = tw_json_next(&r)) != TW_JSON_BAD && token != TW_JSON_END) {
		depth += token == TW_JSON_OBJECT || token == TW_JSON_ARRAY;
		depth -= token == TW_JSON_OBJECT_END || token == TW_JSON_ARRAY_END;
		check(depth == r.depth && r.at < len && r.at >= last);
		last = r.at;
		if (token == TW_JSON_STRING || token == TW_JSON_KEY)
			check(r.string[r.string_len] == '\0');
		if (token == TW_JSON_NUMBER)
			check(isfinite(r.number));
	}
	tw_json_place(&r, &line, &column);
	check(line >= 1 && column >= 1 && column <= len + 1);
	return tw_json_reader_end(&r, "fuzz", NULL);
}

/* The same by passing over what the first key or bracket begins. */
static int skip_all(const char *text, size_t len)
{
	struct tw_json_reader r;

	tw_json_reader_init(&r, text, len, trawl_allocator_default());
	tw_json_next(&r);
	tw_json_skip(&r);
	return tw_json_reader_end(&r, "fuzz", NULL);
}

static size_t count_values(const struct tw_json_value *value)
{
	size_t count = 1, children = 0;

	for (value = value->first; value; value = value->next) {
		count += count_values(value);
		children++;
	}
	return children ? count : 1;
}

/* As a tree. */
static int parse_all(const char *text, size_t len)
{
	const struct tw_json_value *root;
	struct trawl_error err = { 0 };
	struct tw_arena arena;

	tw_arena_init(&arena, trawl_allocator_default());
	root = tw_json_parse(&arena, text, len, "fuzz", &err);
	if (root)
		check(count_values(root) >= 1 && root->type != TW_JSON_KEY);
	tw_arena_release(&arena);
	return root ? 0 : err.status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct tw_platform platform;
	size_t mark = size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
	int status = read_all(text, size);

	check(skip_all(text, size) == status);
	check(parse_all(text, size) == status);
	if (!status)
		check(!(tw_text_check(text + mark, size - mark) & (unsigned)~TW_TEXT_SURROGATE));
	if (!tw_platform_parse(text, size, "fuzz.json", &platform, trawl_allocator_default(), NULL))
		check(!status && platform.mem_bw_gbps > 0 && platform.name[0]);
	return 0;
}
