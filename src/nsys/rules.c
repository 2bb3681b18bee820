#define _GNU_SOURCE
#include "nsys/rules.h"

#include "base/alloc.h"
#include "base/list.h"
#include "data/tables.h"
#include "os/file.h"
#include "trawl/nsys.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_LIMIT ((size_t)1 << 20) /* a file of rules has a few hundred bytes */

/* Names are matched by this many bytes at most; longer ones carry data, not meaning. */

#define GROUPS 10

static const char *const kinds[TW_NSYS_KINDS] = { "label", "window", "stage", "purpose", "kernel" };

/* ---- a piece of text that every match of a pattern must have */

/* Behind the bracket expression whose '[' is at p. */
static const char *skip_bracket(const char *p)
{
	p++;
	p += *p == '^';
	p += *p == ']';
	for (; *p && *p != ']'; p++)
		if (p[0] == '[' && p[1] && strchr(".:=", p[1])) {
			const char *end = p + 2;

			while (*end && !(end[0] == p[1] && end[1] == ']'))
				end++;
			p = *end ? end + 1 : end - 1;
		}
	return *p ? p + 1 : p;
}

/* Behind the group whose '(' is at p. */
static const char *skip_group(const char *p)
{
	int depth = 0;

	while (*p) {
		if (*p == '\\' && p[1]) {
			p += 2;
		} else if (*p == '[') {
			p = skip_bracket(p);
		} else {
			depth += (*p == '(') - (*p == ')');
			p++;
			if (!depth)
				break;
		}
	}
	return p;
}

/* Plain characters in a row, of one alternative of a pattern. */
struct runs {
	char run[128], best[128];
	size_t run_len, best_len;
	bool first;    /* the run stands directly after '^' */
	bool at_begin; /* so does the best one */
};

/* What names begin with is compared fastest; else the longest run says most. */
static void end_run(struct runs *r)
{
	if (r->run_len && !r->at_begin && (r->first || r->run_len > r->best_len)) {
		memcpy(r->best, r->run, r->run_len);
		r->best_len = r->run_len;
		r->at_begin = r->first;
	}
	r->run_len = 0;
	r->first = false;
}

static void add_literal(struct runs *r, char c)
{
	if (r->run_len == sizeof(r->run))
		end_run(r);
	r->run[r->run_len++] = c;
}

static bool may_be_absent(char quantifier)
{
	return quantifier && strchr("*?{", quantifier);
}

/* Behind one item of a pattern, which is no '|'; *literal is its character, 0: it is no plain one. */
static const char *skip_item(const char *p, char *literal)
{
	*literal = 0;
	if (*p == '(')
		return skip_group(p);
	if (*p == '[')
		return skip_bracket(p);
	if (*p == '\\' && p[1]) {
		*literal = strchr(".[]()*+?{}|^$\\/-", p[1]) ? p[1] : 0;
		return p + 2;
	}
	if (*p == '{' && strchr(p, '}'))
		return strchr(p, '}') + 1;
	*literal = strchr(".^$*+?{", *p) ? 0 : *p;
	return p + 1;
}

/* Looks at one alternative; after it, at '|' or the end. */
static const char *find_runs(struct runs *r, const char *p)
{
	char literal;

	*r = (struct runs){ .first = *p == '^' };
	p += *p == '^';
	while (*p && *p != '|') {
		p = skip_item(p, &literal);
		if (literal)
			add_literal(r, literal);
		/* What may be there any number of times need not be there. */
		if (literal && may_be_absent(*p))
			r->run_len--;
		if (!literal || (*p && strchr("*?{+", *p)))
			end_run(r);
	}
	end_run(r);
	return p;
}

/* A piece that another one is part of adds nothing.  False: no room, or no memory. */
static bool add_piece(struct tw_nsys_rule *rule, const char *text, size_t len, bool at_begin,
		      struct tw_arena *arena)
{
	unsigned i, n = rule->piece_count;

	for (i = 0; i < n && !at_begin; i++)
		if (!rule->at_begin[i] &&
		    memmem(text, len, rule->pieces[i], strlen(rule->pieces[i])))
			return true;
	if (n == TW_RULE_PIECES)
		return false;
	rule->pieces[n] = tw_arena_copy(arena, text, len);
	rule->at_begin[n] = at_begin;
	rule->piece_count += rule->pieces[n] != NULL;
	return rule->pieces[n] != NULL;
}

/* Shorter runs, such as a blank, are in many names: groups may tell more. */
#define TELLING 3

/* Groups deeper than this are not looked into. */
#define GROUP_DEPTH 4

static bool add_pieces(struct tw_nsys_rule *rule, const char *pattern, int depth,
		       struct tw_arena *arena);

/* An alternative without plain characters of its own: those of a group that it must have. */
static bool add_group_pieces(struct tw_nsys_rule *rule, const char *p, const char *end, int depth,
			     struct tw_arena *arena)
{
	unsigned before = rule->piece_count;
	const char *behind, *content;
	char literal;

	for (; p < end; p = behind) {
		behind = skip_item(p, &literal);
		if (*p != '(' || may_be_absent(*behind) || depth == GROUP_DEPTH)
			continue;
		content = tw_arena_copy(arena, p + 1, (size_t)(behind - p) - 2);
		if (content && add_pieces(rule, content, depth + 1, arena))
			return true;
		rule->piece_count = before;
	}
	return false;
}

/* Pieces of each alternative; false when one has none: then any name may match. */
static bool add_pieces(struct tw_nsys_rule *rule, const char *pattern, int depth,
		       struct tw_arena *arena)
{
	const char *p = pattern, *end;
	struct runs runs;

	for (;; p = end + 1) {
		end = find_runs(&runs, p);
		if (!(runs.best_len < TELLING && add_group_pieces(rule, p, end, depth, arena)) &&
		    !(runs.best_len &&
		      add_piece(rule, runs.best, runs.best_len, runs.at_begin, arena)))
			return false;
		if (!*end)
			return true;
	}
}

/* ---- reading */

struct place {
	const char *name;
	unsigned line;
	struct trawl_error *err;
};

static int TRAWL_PRINTF(2, 3) bad_rule(const struct place *place, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return trawl_error_set(place->err, TRAWL_EFORMAT, "%s:%u: %s", place->name, place->line,
			       text);
}

static int check_groups(const struct place *place, const struct tw_nsys_rule *rule, size_t groups)
{
	const char *p;

	if (rule->kind == TW_NSYS_LABEL && !groups)
		return bad_rule(place, "label needs a group around the rank: ([0-9]+)");
	for (p = rule->value; rule->kind >= TW_NSYS_STAGE && *p; p++) {
		if (*p != '\\')
			continue;
		p++;
		if (*p != '\\' && !(*p >= '1' && *p <= '9'))
			return bad_rule(place, "in a value, \\ needs a digit or another \\ after "
					       "it");
		if (*p != '\\' && (size_t)(*p - '0') > groups)
			return bad_rule(place, "\\%c: the pattern has %zu groups", *p, groups);
	}
	return 0;
}

/* The pattern compiles, and the value is one for its kind. */
static int check_rule(const struct place *place, const struct tw_nsys_rule *rule)
{
	char message[200];
	regex_t compiled;
	int code = regcomp(&compiled, rule->pattern, REG_EXTENDED), status;

	if (code) {
		regerror(code, &compiled, message, sizeof(message));
		return bad_rule(place, "'%.100s' is not an extended regular expression: %s",
				rule->pattern, message);
	}
	status = check_groups(place, rule, compiled.re_nsub);
	regfree(&compiled);
	if (!status && !*rule->value && rule->kind >= TW_NSYS_STAGE)
		return bad_rule(place, "%s needs a tab and a value after the pattern",
				kinds[rule->kind]);
	if (!status && rule->kind == TW_NSYS_KERNEL && strcmp(rule->value, "communication") != 0 &&
	    strcmp(rule->value, "compute") != 0)
		return bad_rule(place,
				"kernel value must be 'communication' or 'compute', not "
				"'%.60s'",
				rule->value);
	return status;
}

static int parse_line(struct tw_nsys_rules *rules, const struct place *place, char *line)
{
	struct tw_nsys_rule rule = { .value = "" };
	char *pattern = strchr(line, '\t'), *value;
	int status;

	if (!pattern)
		return bad_rule(place, "expected KIND, tab, PATTERN, tab, VALUE; example: 'trawl "
				       "nsys rules pithtrain'");
	*pattern++ = 0;
	value = strchr(pattern, '\t');
	if (value) {
		*value++ = 0;
		if (strchr(value, '\t'))
			return bad_rule(place, "more than three fields; write a tab in a pattern "
					       "as [[:blank:]]");
		rule.value = value;
	}
	rule.pattern = pattern;
	while (rule.kind < TW_NSYS_KINDS && strcmp(line, kinds[rule.kind]) != 0)
		rule.kind++;
	if (rule.kind == TW_NSYS_KINDS)
		return bad_rule(place,
				"unknown kind '%.60s'; kinds: label, window, stage, purpose, "
				"kernel",
				line);
	if (!*pattern)
		return bad_rule(place, "empty pattern (matches every name)");
	status = check_rule(place, &rule);
	if (status)
		return status;
	if (!add_pieces(&rule, rule.pattern, 0, &rules->arena))
		rule.piece_count = 0;
	if (!tw_list_grow(&rules->rules, &rules->capacity, rules->count, sizeof(rule),
			  rules->arena.allocator))
		return tw_no_memory(place->err);
	rules->rules[rules->count++] = rule;
	return 0;
}

void tw_nsys_rules_init(struct tw_nsys_rules *rules, const struct trawl_allocator *allocator)
{
	*rules = (struct tw_nsys_rules){ .name = "" };
	tw_arena_init(&rules->arena, allocator);
}

int tw_nsys_rules_parse(struct tw_nsys_rules *rules, const char *text, size_t len, const char *name,
			const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct place place = { .name = name, .err = err };
	char *line, *end;
	int status = 0;

	tw_nsys_rules_init(rules, allocator);
	line = tw_arena_copy(&rules->arena, text, len);
	rules->name = tw_arena_copy(&rules->arena, name, strlen(name));
	if (!line || !rules->name)
		return tw_no_memory(err);
	if (strlen(line) != len)
		return trawl_error_set(err, TRAWL_EFORMAT, "%s: NUL bytes, not a text file", name);
	for (; !status && line; line = end) {
		place.line++;
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		if (*line && line[strlen(line) - 1] == '\r')
			line[strlen(line) - 1] = 0;
		if (*line && *line != '#')
			status = parse_line(rules, &place, line);
	}
	return status;
}

void tw_nsys_rules_release(struct tw_nsys_rules *rules)
{
	tw_free(rules->arena.allocator, rules->rules, rules->capacity * sizeof(*rules->rules));
	tw_arena_release(&rules->arena);
	rules->rules = NULL;
	rules->count = rules->capacity = 0;
}

/* ---- presets and files */

const char *trawl_nsys_preset_rules(const char *name)
{
	size_t i;

	for (i = 0; i < tw_nsys_preset_count; i++)
		if (!strcmp(tw_nsys_presets[i].name, name))
			return tw_nsys_presets[i].text;
	return NULL;
}

size_t trawl_nsys_presets(void)
{
	return tw_nsys_preset_count;
}

const char *trawl_nsys_preset_name(size_t preset)
{
	return tw_nsys_presets[preset].name;
}

/* The first line of its comments after the one on the form. */
const char *trawl_nsys_preset_title(size_t preset, size_t *len)
{
	const char *line = strstr(tw_nsys_presets[preset].text, "\n# ");

	line = line ? line + 3 : "";
	*len = strcspn(line, "\n");
	return line;
}

static int from_file(struct tw_nsys_rules *rules, const char *path, const struct trawl_allocator *a,
		     struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, a);
	status = tw_file_read(path, FILE_LIMIT, &text, err);
	if (status == TRAWL_ELIMIT)
		trawl_error_set(err, status, "'%s' is larger than 1 MB, not a rules file", path);
	if (!status)
		status = tw_nsys_rules_parse(rules, text.ptr ? text.ptr : "", text.len, path, a,
					     err);
	tw_str_release(&text);
	return status;
}

int tw_nsys_rules_open(struct tw_nsys_rules *rules, const char *name,
		       const struct trawl_allocator *a, struct trawl_error *err)
{
	const char *text = trawl_nsys_preset_rules(name);
	struct tw_str list;
	struct stat info;
	int status;
	size_t i;

	tw_nsys_rules_init(rules, a);
	if (text)
		return tw_nsys_rules_parse(rules, text, strlen(text), name, a, err);
	if (strchr(name, '/') || !stat(name, &info))
		return from_file(rules, name, a, err);
	tw_str_init(&list, a);
	for (i = 0; i < tw_nsys_preset_count; i++)
		tw_str_addf(&list, "%s%s", i ? ", " : "", tw_nsys_presets[i].name);
	status = trawl_error_set(err, TRAWL_EUSAGE,
				 "--rules: no preset or file '%.100s'; presets: %s", name,
				 list.failed ? "" : list.ptr);
	tw_str_release(&list);
	return status;
}

/* ---- matching */

/* All pairs of characters: a piece begins with one of those whose bit is set. */
#define PAIRS 65536

static void set_pair(uint64_t *pairs, unsigned char first, unsigned char second)
{
	unsigned pair = (unsigned)first << 8 | second;

	pairs[pair / 64] |= (uint64_t)1 << pair % 64;
}

static bool has_pair(const uint64_t *pairs, unsigned char first, unsigned char second)
{
	unsigned pair = (unsigned)first << 8 | second;

	return pairs[pair / 64] >> pair % 64 & 1;
}

static void add_pairs(struct tw_matcher *m, const struct tw_nsys_rule *rule)
{
	unsigned i, second;

	if (!rule->piece_count)
		m->any |= 1u << rule->kind;
	for (i = 0; i < rule->piece_count; i++) {
		const unsigned char *piece = (const unsigned char *)rule->pieces[i];

		if (piece[1])
			set_pair(m->pairs, piece[0], piece[1]);
		for (second = 0; !piece[1] && second < 256; second++)
			set_pair(m->pairs, piece[0], (unsigned char)second);
	}
}

bool tw_matcher_init(struct tw_matcher *m, const struct tw_nsys_rules *rules,
		     const struct trawl_allocator *a)
{
	size_t i;

	*m = (struct tw_matcher){ .rules = rules, .allocator = a };
	m->compiled = tw_alloc_array(a, rules->count + 1, sizeof(*m->compiled));
	m->pairs = tw_alloc_array(a, PAIRS / 64, sizeof(*m->pairs));
	for (i = 0; m->pairs && i < rules->count; i++)
		if (rules->rules[i].kind != TW_NSYS_KERNEL)
			add_pairs(m, &rules->rules[i]);
	while (m->compiled && m->compiled_count < rules->count &&
	       !regcomp(&m->compiled[m->compiled_count], rules->rules[m->compiled_count].pattern,
			REG_EXTENDED))
		m->compiled_count++;
	return m->pairs && m->compiled && m->compiled_count == rules->count;
}

void tw_matcher_release(struct tw_matcher *m)
{
	while (m->compiled_count)
		regfree(&m->compiled[--m->compiled_count]);
	if (m->compiled)
		tw_free(m->allocator, m->compiled, (m->rules->count + 1) * sizeof(*m->compiled));
	tw_free(m->allocator, m->pairs, PAIRS / 64 * sizeof(*m->pairs));
	m->compiled = NULL;
	m->pairs = NULL;
}

static bool has_piece(const struct tw_nsys_rule *rule, const char *text, size_t len)
{
	unsigned i;

	for (i = 0; i < rule->piece_count; i++) {
		size_t n = strlen(rule->pieces[i]);

		if (rule->at_begin[i] ? len >= n && !memcmp(text, rule->pieces[i], n) :
					memmem(text, len, rule->pieces[i], n) != NULL)
			return true;
	}
	return !rule->piece_count;
}

/* Whether a piece of a wanted rule stands at this place of a text. */
static bool is_piece_at(const struct tw_matcher *m, unsigned wanted, const char *text, size_t len,
			bool begin)
{
	size_t i;
	unsigned k;

	for (i = 0; i < m->rules->count; i++) {
		const struct tw_nsys_rule *rule = &m->rules->rules[i];

		for (k = 0; wanted & 1u << rule->kind && k < rule->piece_count; k++) {
			size_t n = strlen(rule->pieces[k]);

			if ((begin || !rule->at_begin[k]) && n <= len &&
			    !memcmp(text, rule->pieces[k], n))
				return true;
		}
	}
	return false;
}

/* One look at the text for all pieces together. */
bool tw_matcher_might(const struct tw_matcher *m, unsigned wanted, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i;

	if (m->any & wanted)
		return true;
	for (i = 0; i < len; i++)
		if (has_pair(m->pairs, p[i], i + 1 < len ? p[i + 1] : 0) &&
		    is_piece_at(m, wanted, text + i, len - i, !i))
			return true;
	return false;
}

static void add_group(struct tw_str *value, const char *text, const regmatch_t *group)
{
	if (group->rm_so >= 0)
		tw_str_add(value, text + group->rm_so, (size_t)(group->rm_eo - group->rm_so));
}

static void expand(const struct tw_nsys_rule *rule, const char *text, const regmatch_t *groups,
		   struct tw_str *value)
{
	const char *p;

	if (rule->kind == TW_NSYS_LABEL) {
		add_group(value, text, &groups[1]);
		return;
	}
	for (p = rule->value; *p; p++) {
		if (*p == '\\' && rule->kind >= TW_NSYS_STAGE && *++p != '\\')
			add_group(value, text, &groups[*p - '0']);
		else
			tw_str_add_char(value, *p);
	}
}

const struct tw_nsys_rule *tw_matcher_find(const struct tw_matcher *m, enum tw_rule_kind kind,
					   const char *text, size_t len, struct tw_str *value)
{
	const struct tw_nsys_rule *found = NULL;
	regmatch_t groups[GROUPS];
	struct tw_str copy;
	size_t i;

	tw_str_init(&copy, m->allocator);
	for (i = 0; i < m->rules->count && !found; i++) {
		const struct tw_nsys_rule *rule = &m->rules->rules[i];

		if (rule->kind != kind || !has_piece(rule, text, len))
			continue;
		/* Within bounds regexec() needs no NUL, but what checks its memory looks for one. */
		if (!copy.len && !copy.failed)
			tw_str_add(&copy, text, len);
		groups[0] = (regmatch_t){ 0, (regoff_t)len };
		if (!regexec(&m->compiled[i], copy.failed ? text : copy.ptr, GROUPS, groups,
			     REG_STARTEND))
			found = rule;
	}
	if (found && value)
		expand(found, text, groups, value);
	tw_str_release(&copy);
	return found;
}

int64_t tw_nsys_label_rank(const char *value)
{
	char *end;
	long long rank = strtoll(value, &end, 10);

	return end != value && !*end && rank >= 0 && rank < INT32_MAX ? rank : -1;
}
