#include "render/width.h"
#include "base/search.h"
#include "render/escape.h"
#include "text/utf8.h"

#include <string.h>

#define ELLIPSIS "\xE2\x80\xA6"

struct range {
	uint32_t first, last;
};

/*
 * Combining marks of the scripts that kernel, module and file names are likely to hold, and
 * characters without extent.  Complete tables are those of the terminal; near is good enough
 * for the alignment of a column.
 */
static const struct range zero_width[] = {
	{ 0x300, 0x36F },   { 0x483, 0x489 },	  { 0x591, 0x5BD },	{ 0x5BF, 0x5BF },
	{ 0x5C1, 0x5C2 },   { 0x5C4, 0x5C5 },	  { 0x610, 0x61A },	{ 0x64B, 0x65F },
	{ 0x670, 0x670 },   { 0x6D6, 0x6DC },	  { 0x93C, 0x93C },	{ 0x941, 0x948 },
	{ 0x94D, 0x94D },   { 0xE31, 0xE31 },	  { 0xE34, 0xE3A },	{ 0xE47, 0xE4E },
	{ 0x1160, 0x11FF }, { 0x1AB0, 0x1AFF },	  { 0x1DC0, 0x1DFF },	{ 0x200B, 0x200F },
	{ 0x202A, 0x202E }, { 0x2060, 0x2064 },	  { 0x2066, 0x206F },	{ 0x20D0, 0x20FF },
	{ 0x302A, 0x302D }, { 0x3099, 0x309A },	  { 0xFE00, 0xFE0F },	{ 0xFE20, 0xFE2F },
	{ 0xFEFF, 0xFEFF }, { 0x1F3FB, 0x1F3FF }, { 0xE0001, 0xE01EF },
};

/* Characters of Unicode 14 whose East Asian width is W or F, unassigned gaps closed. */
static const struct range double_width[] = {
	{ 0x1100, 0x115F },   { 0x231A, 0x231B },   { 0x2329, 0x232A },	  { 0x23E9, 0x23EC },
	{ 0x23F0, 0x23F0 },   { 0x23F3, 0x23F3 },   { 0x25FD, 0x25FE },	  { 0x2614, 0x2615 },
	{ 0x2648, 0x2653 },   { 0x267F, 0x267F },   { 0x2693, 0x2693 },	  { 0x26A1, 0x26A1 },
	{ 0x26AA, 0x26AB },   { 0x26BD, 0x26BE },   { 0x26C4, 0x26C5 },	  { 0x26CE, 0x26CE },
	{ 0x26D4, 0x26D4 },   { 0x26EA, 0x26EA },   { 0x26F2, 0x26F3 },	  { 0x26F5, 0x26F5 },
	{ 0x26FA, 0x26FA },   { 0x26FD, 0x26FD },   { 0x2705, 0x2705 },	  { 0x270A, 0x270B },
	{ 0x2728, 0x2728 },   { 0x274C, 0x274C },   { 0x274E, 0x274E },	  { 0x2753, 0x2755 },
	{ 0x2757, 0x2757 },   { 0x2795, 0x2797 },   { 0x27B0, 0x27B0 },	  { 0x27BF, 0x27BF },
	{ 0x2B1B, 0x2B1C },   { 0x2B50, 0x2B50 },   { 0x2B55, 0x2B55 },	  { 0x2E80, 0x303E },
	{ 0x3041, 0x3247 },   { 0x3250, 0x4DBF },   { 0x4E00, 0xA4CF },	  { 0xA960, 0xA97C },
	{ 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },   { 0xFE10, 0xFE19 },	  { 0xFE30, 0xFE6B },
	{ 0xFF01, 0xFF60 },   { 0xFFE0, 0xFFE6 },   { 0x16FE0, 0x18D08 }, { 0x1AFF0, 0x1B2FB },
	{ 0x1F004, 0x1F004 }, { 0x1F0CF, 0x1F0CF }, { 0x1F18E, 0x1F18E }, { 0x1F191, 0x1F19A },
	{ 0x1F200, 0x1F320 }, { 0x1F32D, 0x1F335 }, { 0x1F337, 0x1F37C }, { 0x1F37E, 0x1F393 },
	{ 0x1F3A0, 0x1F3CA }, { 0x1F3CF, 0x1F3D3 }, { 0x1F3E0, 0x1F3F0 }, { 0x1F3F4, 0x1F3F4 },
	{ 0x1F3F8, 0x1F43E }, { 0x1F440, 0x1F440 }, { 0x1F442, 0x1F4FC }, { 0x1F4FF, 0x1F53D },
	{ 0x1F54B, 0x1F54E }, { 0x1F550, 0x1F567 }, { 0x1F57A, 0x1F57A }, { 0x1F595, 0x1F596 },
	{ 0x1F5A4, 0x1F5A4 }, { 0x1F5FB, 0x1F64F }, { 0x1F680, 0x1F6C5 }, { 0x1F6CC, 0x1F6CC },
	{ 0x1F6D0, 0x1F6D2 }, { 0x1F6D5, 0x1F6DF }, { 0x1F6EB, 0x1F6EC }, { 0x1F6F4, 0x1F6FC },
	{ 0x1F7E0, 0x1F7F0 }, { 0x1F90C, 0x1F93A }, { 0x1F93C, 0x1F945 }, { 0x1F947, 0x1F9FF },
	{ 0x1FA70, 0x1FAF6 }, { 0x20000, 0x3FFFD },
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t code)
{
	size_t i = TW_LOWER_BOUND(at, 0, count, ranges[at].last < code);

	return i < count && ranges[i].first <= code;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

unsigned tw_char_width(uint32_t code)
{
	if (code < 0x300)
		return 1;
	if (in_ranges(zero_width, COUNT(zero_width), code))
		return 0;
	return in_ranges(double_width, COUNT(double_width), code) ? 2 : 1;
}

size_t tw_text_width(const char *text, size_t len)
{
	size_t i = 0, width = 0;

	while (i < len) {
		uint32_t code;

		i += tw_utf8_next(text + i, len - i, &code);
		width += tw_char_width(code == TW_UTF8_BAD ? TW_UTF8_REPLACEMENT : code);
	}
	return width;
}

/* The bytes at the beginning that take at most `width` cells. */
static size_t prefix_bytes(const char *text, size_t len, size_t width)
{
	size_t i = 0, used = 0;

	while (i < len) {
		uint32_t code;
		size_t step = tw_utf8_next(text + i, len - i, &code);

		used += tw_char_width(code);
		if (used > width)
			break;
		i += step;
	}
	return i;
}

/* Where the longest end begins that takes at most `width` of the text's `whole` cells. */
static size_t suffix_start(const char *text, size_t len, size_t whole, size_t width)
{
	size_t i = 0, left = whole;

	while (i < len) {
		uint32_t code;
		size_t step = tw_utf8_next(text + i, len - i, &code);

		/* A mark belongs to the character that is cut off. */
		if (left <= width && tw_char_width(code) > 0)
			break;
		left -= tw_char_width(code);
		i += step;
	}
	return i;
}

static void cut_middle(struct tw_str *out, const char *text, size_t len, size_t width)
{
	size_t whole = tw_text_width(text, len), left = width / 2, start;

	if (whole <= width) {
		tw_str_add(out, text, len);
		return;
	}
	start = suffix_start(text, len, whole, width - 1 - left);
	tw_str_add(out, text, prefix_bytes(text, len, left));
	tw_str_add_cstr(out, ELLIPSIS);
	tw_str_add(out, text + start, len - start);
}

/* The length without a list of parameters at the end. */
static size_t without_parameters(const char *text, size_t len)
{
	size_t at = len, depth = 0;

	if (!len || text[len - 1] != ')')
		return len;
	while (at) {
		char c = text[--at];

		depth += c == ')';
		if (c == '(' && !--depth)
			return at ? at : len;
	}
	return len;
}

/* Where the name of a function begins, behind its namespaces: those before its arguments and parameters. */
static size_t namespaces(const char *text, size_t len)
{
	static const char unnamed[] = "(anonymous namespace)::";
	size_t at = 0, begin = 0;

	while (at < len) {
		if (len - at > sizeof(unnamed) && !memcmp(text + at, unnamed, sizeof(unnamed) - 1))
			begin = at += sizeof(unnamed) - 1;
		else if (text[at] == '<' || text[at] == '(')
			break;
		else if (at + 2 < len && text[at] == ':' && text[at + 1] == ':')
			begin = at += 2;
		else
			at++;
	}
	return begin;
}

/* "void at::native::kernel<4, F>(int)" as "kernel<4, F>", without namespaces only where it has to be, and its beginning. */
static void cut_kernel(struct tw_str *out, const char *text, size_t len, size_t width)
{
	len = without_parameters(text, len);
	if (tw_text_width(text, len) > width) {
		size_t skip = namespaces(text, len);

		text += skip;
		len -= skip;
	}
	if (tw_text_width(text, len) <= width) {
		tw_str_add(out, text, len);
		return;
	}
	tw_str_add(out, text, prefix_bytes(text, len, width - 1));
	tw_str_add_cstr(out, ELLIPSIS);
}

/* "/srv/engine/runner.py(7): run" as "…/runner.py(7): run": where the directories end; 0: it is no such path. */
static size_t directories(const char *text, size_t len, size_t width)
{
	const char *end = memchr(text, '(', len);
	size_t at = 0, next, left = tw_text_width(text, len);

	if (!end || end - text < 3 || memcmp(end - 3, ".py", 3))
		return 0;
	for (next = 1; text + next < end && left + 1 > width; next++) {
		if (text[next] != '/')
			continue;
		left -= tw_text_width(text + at, next - at);
		at = next;
	}
	return at;
}

void tw_shorten(struct tw_str *out, const char *text, size_t len, size_t width)
{
	static const char function[] = "void ";
	size_t skip;

	if (tw_text_width(text, len) <= width) {
		tw_str_add(out, text, len);
		return;
	}
	if (width == 0)
		return;
	if (len > sizeof(function) && !memcmp(text, function, sizeof(function) - 1)) {
		cut_kernel(out, text + sizeof(function) - 1, len - sizeof(function) + 1, width);
		return;
	}
	skip = directories(text, len, width);
	if (skip && tw_text_width(text + skip, len - skip) < width) {
		tw_str_add_cstr(out, ELLIPSIS);
		tw_str_add(out, text + skip, len - skip);
		return;
	}
	skip += skip > 0;
	cut_middle(out, text + skip, len - skip, width);
}

void tw_shown_text(struct tw_str *out, const char *text, size_t width)
{
	struct tw_str safe;

	tw_str_init(&safe, out->allocator);
	tw_escape_terminal(&safe, text, strlen(text));
	if (width && safe.len)
		tw_shorten(out, safe.ptr, safe.len, width);
	else
		tw_str_add(out, safe.len ? safe.ptr : "", safe.len);
	out->failed = out->failed || safe.failed;
	tw_str_release(&safe);
}

void tw_add_wrapped(struct tw_str *out, const char *text, size_t width, size_t indent)
{
	size_t room = width > indent + 20 ? width - indent : 20, i;

	while (width && strlen(text) > room) {
		size_t cut = room;

		while (cut && text[cut] != ' ')
			cut--;
		/* A word that is too long has a line of its own. */
		if (!cut)
			cut = strcspn(text + 1, " ") + 1;
		if (!text[cut])
			break;
		tw_str_add(out, text, cut);
		tw_str_add_char(out, '\n');
		for (i = 0; i < indent; i++)
			tw_str_add_char(out, ' ');
		text += cut + 1;
	}
	tw_str_add_cstr(out, text);
	tw_str_add_char(out, '\n');
}
