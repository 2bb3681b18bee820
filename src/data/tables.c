#include "data/tables.h"
#include "base/search.h"

#include <string.h>

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Without stars. */
static bool equal_folded(const char *a, size_t a_len, const char *text)
{
	size_t i;

	for (i = 0; i < a_len; i++)
		if (a[i] != lower(text[i]))
			return false;
	return true;
}

static const char *next_of(char c, const char *text, const char *last)
{
	return text <= last ? memchr(text, c, (size_t)(last - text) + 1) : NULL;
}

/* First place of the needle (lower case) in text, NULL when it is not there. */
static const char *find_folded(const char *text, size_t len, const char *needle, size_t needle_len)
{
	char small = *needle, large = (char)(small >= 'a' && small <= 'z' ? small - 32 : 0);
	const char *last, *a, *b, *at;

	if (needle_len > len)
		return NULL;
	last = text + len - needle_len;
	/* Where it can begin: names are long and patterns many. */
	a = next_of(small, text, last);
	b = large ? next_of(large, text, last) : NULL;
	while (a || b) {
		at = !b || (a && a < b) ? a : b;
		if (equal_folded(needle, needle_len, at))
			return at;
		if (at == a)
			a = next_of(small, at + 1, last);
		else
			b = next_of(large, at + 1, last);
	}
	return NULL;
}

/* A name of megabytes is no name: a piece that is so far behind the one before is not looked for. */
#define FAR ((size_t)1 << 16)

static bool matches(const char *pattern, const char *text, size_t len)
{
	const char *end = text + len;
	bool anchored = true;

	for (;;) {
		size_t piece = strcspn(pattern, "*");

		if (!pattern[piece])
			break;
		if (anchored) {
			if (piece > (size_t)(end - text) || !equal_folded(pattern, piece, text))
				return false;
			text += piece;
		} else if (piece) {
			size_t room = (size_t)(end - text);

			text = find_folded(text, room < FAR ? room : FAR, pattern, piece);
			if (!text)
				return false;
			text += piece;
		}
		anchored = false;
		pattern += piece + 1;
	}
	/* The last piece stands at the end. */
	len = strlen(pattern);
	if (len > (size_t)(end - text) || (anchored && len != (size_t)(end - text)))
		return false;
	return equal_folded(pattern, len, end - len);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '_';
}

/* Where the identifiers of a kernel's own name begin, behind their underscores. */
struct heads {
	const char *begin, *end; /* the name */
	const char *next;	 /* what is not looked at yet; NULL: all is */
	unsigned depth;		 /* of template arguments there */
	unsigned count;
	const char *at[16]; /* the first ones */
};

static const char *behind_underscores(const char *at, const char *end)
{
	while (at < end && *at == '_')
		at++;
	return at;
}

/* Of a mangled name: each identifier with its length before it, up to the template arguments. */
static const char *next_mangled(struct heads *h)
{
	const char *p = h->next;
	size_t len = 0;

	while (p < h->end && (*p == 'N' || *p == 'L' || *p == 'K'))
		p++;
	for (; p < h->end && is_digit(*p) && len < FAR; p++)
		len = len * 10 + (size_t)(*p - '0');
	h->next = len && len <= (size_t)(h->end - p) ? p + len : NULL;
	return h->next ? behind_underscores(p, h->next) : NULL;
}

/* The next one, NULL: no more. */
static const char *next_head(struct heads *h)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *p = h->next;

	if (p && h->end - h->begin > 2 && h->begin[0] == '_' && h->begin[1] == 'Z') {
		h->next = p == h->begin ? p + 2 : p;
		return next_mangled(h);
	}
	h->next = NULL;
	for (; p && p < h->end; p++) {
		if (*p == '<') {
			h->depth++;
		} else if (*p == '>') {
			h->depth -= h->depth && p[-1] != '-';
		} else if (h->depth) {
			continue;
		} else if (*p == '(') {
			size_t len = sizeof(anonymous) - 1;

			if (len > (size_t)(h->end - p) || memcmp(p, anonymous, len) != 0)
				return NULL;
			p += len - 1;
		} else if (is_word(*p) && (p == h->begin || !is_word(p[-1]))) {
			h->next = p + 1;
			return behind_underscores(p, h->end);
		}
	}
	return NULL;
}

static void find_heads(struct heads *h, const char *name, size_t len)
{
	const char *head;

	*h = (struct heads){ .begin = name, .end = name + len, .next = name };
	while (h->count < sizeof(h->at) / sizeof(*h->at) && (head = next_head(h)) != NULL)
		h->at[h->count++] = head;
}

/* Whether a pattern matches from a head on; `given` stays as it is. */
static bool matches_at_head(const char *pattern, const struct heads *given)
{
	struct heads rest = *given;
	const char *head;
	unsigned i;

	for (i = 0; i < given->count; i++)
		if (matches(pattern, given->at[i], (size_t)(given->end - given->at[i])))
			return true;
	while (rest.next && (head = next_head(&rest)) != NULL)
		if (matches(pattern, head, (size_t)(rest.end - head)))
			return true;
	return false;
}

bool tw_name_matches(const char *pattern, const char *text, size_t len)
{
	struct heads heads;

	if (*pattern != '^') {
		/* Names are many and patterns too: most differ in their first letter. */
		if (*pattern != '*' && (!len || lower(*text) != *pattern))
			return !len && !*pattern;
		return matches(pattern, text, len);
	}
	find_heads(&heads, text, len);
	return matches_at_head(pattern + 1, &heads);
}

/* strcmp of a name and a text with its length, which may hold NULs. */
static int compare_name(const char *name, const char *text, size_t len)
{
	size_t name_len = strlen(name);
	int order = memcmp(name, text, name_len < len ? name_len : len);

	if (order)
		return order;
	return name_len < len ? -1 : name_len > len;
}

/* A word of C: where it ends, `text` itself when there is none. */
static const char *behind_word(const char *text, const char *end)
{
	const char *p = text;

	while (p < end && (lower(*p) == '_' || (lower(*p) >= 'a' && lower(*p) <= 'z') ||
			   (p > text && *p >= '0' && *p <= '9')))
		p++;
	return p;
}

size_t tw_op_base(const char *op, size_t len)
{
	const char *end = op + len, *p = op, *word;
	unsigned words = 0;

	for (;; p += 2) {
		word = behind_word(p, end);
		if (word == p)
			return len;
		words++;
		p = word;
		if (end - p < 2 || p[0] != ':' || p[1] != ':')
			break;
	}
	if (words < 2 || p == end || *p != '.' || p + 1 == end || behind_word(p + 1, end) != end)
		return len;
	return (size_t)(p - op);
}

/* The rows of such tables begin with their name. */
static const char *name_of_row(const void *rows, size_t row, size_t size)
{
	return *(const char *const *)((const char *)rows + row * size);
}

/* The first row of a name in a table that is in order of names; NULL: it has none. */
static const void *find_exact(const void *rows, size_t count, size_t size, const char *op,
			      size_t len)
{
	size_t i = TW_LOWER_BOUND(at, 0, count,
				  compare_name(name_of_row(rows, at, size), op, len) < 0);

	if (i == count || compare_name(name_of_row(rows, i, size), op, len))
		return NULL;
	return (const char *)rows + i * size;
}

/* By the exact name, else by that of the operation whose overload it is. */
static const void *find_operation(const void *rows, size_t count, size_t size, const char *op,
				  size_t len)
{
	const void *row = find_exact(rows, count, size, op, len);
	size_t base = row ? len : tw_op_base(op, len);

	return base < len ? find_exact(rows, count, size, op, base) : row;
}

/* The first pattern that matches; NULL: none does. */
static const void *find_pattern(const void *rows, size_t count, size_t size, const char *op,
				size_t len)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const char *row = (const char *)rows + i * size;

		if (tw_name_matches(*(const char *const *)row, op, len))
			return row;
	}
	return NULL;
}

#define FIND(what, rows, count, op, len) what(rows, count, sizeof(*(rows)), op, len)

const char *tw_op_category(const char *op, size_t len)
{
	const struct tw_op_category *row =
		FIND(find_operation, tw_op_categories, tw_op_category_count, op, len);

	row = row ? row :
		    FIND(find_pattern, tw_op_category_patterns, tw_op_category_pattern_count, op,
			 len);
	return row ? row->category : NULL;
}

const char *tw_op_model(const char *op, size_t len)
{
	const struct tw_op_model *row =
		FIND(find_operation, tw_op_models, tw_op_model_count, op, len);

	row = row ? row :
		    FIND(find_pattern, tw_op_model_patterns, tw_op_model_pattern_count, op, len);
	return row ? row->model : NULL;
}

static const struct tw_aten_op *find_aten(const char *op, size_t len)
{
	return find_exact(tw_aten_ops, tw_aten_op_count, sizeof(*tw_aten_ops), op, len);
}

const struct tw_aten_op *tw_aten_op(const char *op, size_t len, bool *in_place)
{
	static const char aten[] = "aten::", foreach[] = "_foreach_";
	const size_t skip = sizeof(aten) - 1, each = sizeof(foreach) - 1;
	const struct tw_aten_op *found;

	*in_place = false;
	if (len <= skip || memcmp(op, aten, skip))
		return NULL;
	len = tw_op_base(op, len) - skip;
	op += skip;
	for (;;) {
		found = find_aten(op, len);
		if (!found && len > 1 && op[len - 1] == '_' && op[len - 2] != '_') {
			found = find_aten(op, len - 1);
			*in_place = found;
		}
		if (found || len <= each || memcmp(op, foreach, each))
			return found;
		op += each;
		len -= each;
	}
}

bool tw_aten_takes_lists(const char *op, size_t len)
{
	static const char foreach[] = "aten::_foreach_";
	bool in_place;
	const struct tw_aten_op *row = tw_aten_op(op, len, &in_place);

	return row && (strpbrk(row->inputs, "RAMO") ||
		       (len >= sizeof(foreach) - 1 && !memcmp(op, foreach, sizeof(foreach) - 1)));
}

/* Behind "<": a number, or the name of a type; 0: neither. */
static unsigned element_bytes(const char *text, bool size, const char **end)
{
	size_t len = strcspn(text, ",>");
	unsigned bytes = 0;

	*end = text + len;
	if (!size)
		return tw_dtype_bytes(text, len);
	for (; *text >= '0' && *text <= '9' && bytes < 64; text++)
		bytes = bytes * 10 + (unsigned)(*text - '0');
	return bytes <= 16 ? bytes : 0;
}

void tw_element_bytes_of_kernel(const char *name, unsigned bytes[2])
{
	size_t i;

	bytes[0] = bytes[1] = 0;
	for (i = 0; i < tw_element_type_count && !bytes[0]; i++) {
		const char *at = strstr(name, tw_element_types[i].part);

		at = at ? strchr(at, '<') : NULL;
		if (!at)
			continue;
		bytes[0] = element_bytes(at + 1, tw_element_types[i].form == TW_ELEMENT_SIZE, &at);
		if (*at == ',' && tw_element_types[i].form == TW_ELEMENT_TYPES)
			bytes[1] = element_bytes(at + 1 + strspn(at + 1, " "), false, &at);
		bytes[1] = bytes[1] ? bytes[1] : bytes[0];
	}
}

const struct tw_op_arguments *tw_op_arguments(const char *op, size_t len)
{
	return find_operation(tw_op_arguments_known, tw_op_arguments_count,
			      sizeof(*tw_op_arguments_known), op, len);
}

const struct tw_triton_op *tw_triton_op(const char *op, size_t len)
{
	return find_exact(tw_triton_ops, tw_triton_op_count, sizeof(*tw_triton_ops), op, len);
}

const struct tw_kernel_name *tw_kernel_name(const char *name, size_t len)
{
	struct heads heads;
	size_t i;

	find_heads(&heads, name, len);
	for (i = 0; i < tw_kernel_name_count; i++) {
		const char *pattern = tw_kernel_names[i].pattern;

		if (*pattern == '^' ? matches_at_head(pattern + 1, &heads) :
				      matches(pattern, name, len))
			return &tw_kernel_names[i];
	}
	return NULL;
}

const char *tw_collective(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < tw_collective_name_count; i++)
		if (strlen(tw_collective_names[i].name) == len &&
		    equal_folded(tw_collective_names[i].name, len, name))
			return tw_collective_names[i].collective;
	return NULL;
}

const char *tw_collective_of_operation(const char *name, size_t len)
{
	size_t i, first = 0, end;

	for (i = 0; i < len; i++)
		if (name[i] == ':')
			first = i + 1;
	for (end = first; end < len && name[end] != '.' && name[end] != ' '; end++)
		;
	if (end - first > 1 && name[end - 1] == '_')
		end--;
	return tw_collective(name + first, end - first);
}

static bool matches_any(const char *const *patterns, size_t count, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (tw_name_matches(patterns[i], name, len))
			return true;
	return false;
}

bool tw_is_inner_frame(const char *name, size_t len)
{
	return matches_any(tw_frame_patterns, tw_frame_pattern_count, name, len);
}

bool tw_is_passing_frame(const char *name, size_t len)
{
	return matches_any(tw_passing_frame_patterns, tw_passing_frame_pattern_count, name, len);
}

unsigned tw_host_kinds_of(const char *name, size_t len)
{
	unsigned kinds = 0;
	size_t i;

	for (i = 0; i < tw_host_name_kind_count; i++)
		if (!(kinds & tw_host_name_kinds[i].kind) &&
		    tw_name_matches(tw_host_name_kinds[i].pattern, name, len))
			kinds |= tw_host_name_kinds[i].kind;
	if (kinds & TW_HOST_PYTHON_CODE && tw_is_inner_frame(name, len))
		kinds |= TW_HOST_PYTHON_INTERNAL;
	return kinds;
}

bool tw_is_launch_name(const char *name, size_t len)
{
	unsigned kinds = tw_host_kinds_of(name, len);

	return kinds & TW_HOST_LAUNCH && !(kinds & TW_HOST_NO_LAUNCH);
}

const char *const tw_copy_direction_names[TW_COPY_DIRECTIONS] = {
	[TW_COPY_D2H] = "D2H",
	[TW_COPY_H2D] = "H2D",
	[TW_COPY_D2D] = "D2D",
	[TW_COPY_OTHER] = "other",
};

const char *tw_nsys_name(enum tw_nsys_what what, int64_t number)
{
	size_t i;

	for (i = 0; i < tw_nsys_number_count; i++)
		if (tw_nsys_numbers[i].what == what && tw_nsys_numbers[i].number == number)
			return tw_nsys_numbers[i].name;
	return NULL;
}

static const struct tw_copy_name *copy_name(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < tw_copy_name_count; i++)
		if (tw_name_matches(tw_copy_names[i].pattern, name, len))
			return &tw_copy_names[i];
	return NULL;
}

enum tw_copy_direction tw_copy_direction(const char *name, size_t len)
{
	const struct tw_copy_name *row = copy_name(name, len);

	return row ? row->direction : TW_COPY_OTHER;
}

bool tw_copy_is_between_devices(const char *name, size_t len)
{
	const struct tw_copy_name *row = copy_name(name, len);

	return row && row->between_devices;
}

const struct tw_dtype *tw_dtype(const char *name, size_t len)
{
	static const char prefix[] = "c10::";
	size_t i;

	if (len > sizeof(prefix) - 1 && !strncmp(name, prefix, sizeof(prefix) - 1)) {
		name += sizeof(prefix) - 1;
		len -= sizeof(prefix) - 1;
	}
	for (i = 0; i < tw_dtype_count; i++)
		if (strlen(tw_dtypes[i].name) == len && equal_folded(tw_dtypes[i].name, len, name))
			return &tw_dtypes[i];
	return NULL;
}

const struct tw_dtype *tw_dtype_of_number(int64_t number)
{
	size_t i;

	for (i = 0; i < tw_dtype_count; i++)
		if (number >= 0 && tw_dtypes[i].number == number)
			return &tw_dtypes[i];
	return NULL;
}

unsigned tw_dtype_bytes(const char *name, size_t len)
{
	const struct tw_dtype *dtype = tw_dtype(name, len);

	return dtype ? dtype->bits / 8 : 0;
}

const char *tw_mark_name(enum tw_mark mark)
{
	static const char *const names[] = {
		[TW_MARK_NONE] = "",
		[TW_MARK_ACHIEVABLE] = "achievable",
		[TW_MARK_DATASHEET] = "datasheet",
		[TW_MARK_UNVERIFIED] = "unverified",
	};

	return names[mark];
}

const struct tw_fact_info tw_facts_known[TW_FACT_COUNT] = {
#define TW_FACT(name, digits, unit, meaning) [TW_FACT_##name] = { #name, digits, unit, meaning },
#include "data/facts.def"
#undef TW_FACT
};

static bool has(enum tw_trait trait, bool of_kernel, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < tw_name_trait_count; i++) {
		const struct tw_name_trait *row = &tw_name_traits[i];

		if (row->trait == trait && row->of_kernel == of_kernel &&
		    tw_name_matches(row->pattern, name, len))
			return true;
	}
	return false;
}

bool tw_operation_has(enum tw_trait trait, const char *name)
{
	size_t len = strlen(name);

	return has(trait, false, name, len) || has(trait, false, name, tw_op_base(name, len));
}

bool tw_kernel_has(enum tw_trait trait, const char *name)
{
	return has(trait, true, name, strlen(name));
}

enum tw_metrics_category tw_metrics_category(const char *tag)
{
	size_t len = strlen(tag), i;

	for (i = 0; i < tw_metrics_tag_count; i++)
		if (find_folded(tag, len, tw_metrics_tags[i].word, strlen(tw_metrics_tags[i].word)))
			return tw_metrics_tags[i].category;
	return TW_METRICS_OTHER;
}

const struct tw_category_family *tw_category_family(const char *category)
{
	size_t i = 0, len = strlen(category);

	while (i + 1 < tw_category_family_count &&
	       !tw_name_matches(tw_category_families[i].pattern, category, len))
		i++;
	return &tw_category_families[i];
}
