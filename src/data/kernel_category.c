/*
 * The category of a kernel by its name: the words of its outermost function against the patterns
 * of data/kernel_categories.tsv.
 */
#define _GNU_SOURCE
#include "data/tables.h"

#include "text/str.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z');
}

/* Whether a word begins at `at`, which is a letter or digit: fooBar, FOOBar, foo2, 2foo. */
static bool begins_word(const char *text, size_t at, size_t len)
{
	char before = at ? text[at - 1] : ' ', c = text[at];

	if (!is_letter(before) && !is_digit(before))
		return true;
	if (is_digit(before) || is_digit(c))
		return is_digit(before) != is_digit(c);
	if (!is_upper(c))
		return false;
	return !is_upper(before) ||
	       (at + 1 < len && is_letter(text[at + 1]) && !is_upper(text[at + 1]));
}

/* "fooBar_2" as "<foo><bar><2>". */
static void add_words(struct tw_str *out, const char *text, size_t len)
{
	size_t i;
	bool open = false;

	for (i = 0; i < len; i++) {
		bool part = is_letter(text[i]) || is_digit(text[i]);

		if (open && (!part || begins_word(text, i, len))) {
			tw_str_add_char(out, '>');
			open = false;
		}
		if (part && !open)
			tw_str_add_char(out, '<');
		if (part)
			tw_str_add_char(out, (char)(is_upper(text[i]) ? text[i] + 32 : text[i]));
		open |= part;
	}
	if (open)
		tw_str_add_char(out, '>');
}

/*
 * The function of a mangled name (Itanium C++ ABI, "_ZN2ck6kernelIfEEvv"), its parts apart.  Types
 * of functors, "_ZTS...", are names of kernels as well.
 */
static void add_mangled(struct tw_str *out, const char *name, size_t len)
{
	size_t i = len > 4 && !memcmp(name + 2, "TS", 2) ? 4 : 2, size;
	bool nested = i < len && name[i] == 'N';

	for (i += nested; i < len;) {
		if (i + 1 < len && name[i] == 'S' && name[i + 1] == 't') {
			i += 2;
			continue;
		}
		if (nested && (name[i] == 'K' || name[i] == 'L')) {
			i++;
			continue;
		}
		for (size = 0; i < len && is_digit(name[i]) && size < len; i++)
			size = size * 10 + (size_t)(name[i] - '0');
		if (!size)
			return;
		if (size > len - i) /* a name that a profiler has cut */
			size = len - i;
		tw_str_add(out, name + i, size);
		tw_str_add_char(out, ':');
		i += size;
		if (!nested)
			return;
	}
}

/*
 * The function of a name as demanglers write it, without template arguments and parameters; what
 * stands before the last blank is its type, or a rank that a merged trace has put in front.
 */
static void add_demangled(struct tw_str *out, const char *name, size_t len)
{
	static const char unnamed[] = "(anonymous namespace)";
	size_t depth = 0, i;

	for (i = 0; i < len; i++) {
		char c = name[i];

		if (!depth && c == '(') {
			if (len - i < sizeof(unnamed) - 1 ||
			    memcmp(name + i, unnamed, sizeof(unnamed) - 1))
				return;
			i += sizeof(unnamed) - 2;
		} else if (!depth && c == ' ') {
			if (i + 1 < len && name[i + 1] == '[')
				return;
			tw_str_clear(out);
		} else if (c == '<') {
			depth++;
		} else if (c == '>') {
			depth -= depth > 0;
		} else if (!depth) {
			tw_str_add_char(out, c);
		}
	}
}

/* A bit for each word: which words there can be, at a glance; as tools/gen_tables.py has it. */
static uint64_t mask_of(const char *words)
{
	uint64_t mask = 0;
	const char *end;

	for (; *words; words = end + 1) {
		end = strchr(words, '>');
		mask |= (uint64_t)1 << ((unsigned)((unsigned char)words[1] * 7 +
						   (unsigned char)end[-1] * 3 + (end - words)) &
					63);
	}
	return mask;
}

/* Whether what follows `core` has words of the list alone, numbers aside, and any. */
static bool has_only(const char *words, const char *core, const char *list)
{
	const char *at = strstr(words, core), *end;
	bool any = false;

	for (at = at ? at + strlen(core) : ""; *at; at = end) {
		end = strchr(at, '>') + 1;
		if (is_digit(at[1]))
			continue;
		if (!memmem(list, strlen(list), at, (size_t)(end - at)))
			return false;
		any = true;
	}
	return any;
}

struct words {
	struct tw_str function, whole;
	const char *name;
	size_t len;
};

static bool matches(const struct tw_kernel_pattern *row, struct words *w)
{
	if (!tw_name_matches(row->function, w->function.ptr, w->function.len))
		return false;
	if (!row->inside)
		return true;
	if (row->core)
		return has_only(w->function.ptr, row->core, row->inside);
	if (!w->whole.len)
		add_words(&w->whole, w->name, w->len);
	return w->whole.ptr && tw_name_matches(row->inside, w->whole.ptr, w->whole.len);
}

int tw_kernel_category(const char *name, size_t len, const struct trawl_allocator *a)
{
	struct words w = { .name = name, .len = len };
	int category = TW_KERNEL_CATEGORY_OTHER;
	struct tw_str text;
	uint64_t mask;
	size_t i;

	tw_str_init(&text, a);
	tw_str_init(&w.function, a);
	tw_str_init(&w.whole, a);
	if (len > 2 && name[0] == '_' && name[1] == 'Z')
		add_mangled(&text, name, len);
	if (!text.len)
		add_demangled(&text, name, len);
	add_words(&w.function, text.ptr, text.len);
	if (w.function.len && !w.function.failed) {
		mask = mask_of(w.function.ptr);
		for (i = 0; i < tw_kernel_pattern_count; i++)
			if (!(tw_kernel_patterns[i].mask & ~mask) &&
			    matches(&tw_kernel_patterns[i], &w)) {
				category = tw_kernel_patterns[i].category;
				break;
			}
	}
	if (text.failed || w.function.failed || w.whole.failed)
		category = -1;
	tw_str_release(&text);
	tw_str_release(&w.function);
	tw_str_release(&w.whole);
	return category;
}
