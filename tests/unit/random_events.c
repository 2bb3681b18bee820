#include "random_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trawl/trace.h"

struct source {
	uint64_t state;
	unsigned style; /* of this event: how it is laid out */
};

static uint32_t draw(struct source *s, uint32_t below)
{
	s->state = tw_hash_u64(s->state + 1);
	return (uint32_t)(s->state >> 33) % below;
}

/* Blanks where they mean nothing: none, as a writer that indents, or any. */
static void blank(struct source *s, struct tw_str *out)
{
	static const char *const any[] = { "", " ", "\n", "\t", "\r\n", "   ", " \n  " };

	if (s->style % 3 == 1)
		tw_str_add_char(out, ' ');
	else if (s->style % 3 == 2)
		tw_str_add_cstr(out, any[draw(s, 7)]);
}

/* ---- values */

/* Characters of names, as bytes and as \u escape. */
static const struct {
	const char *raw, *escaped;
} characters[] = {
	{ "a", "\\u0061" },
	{ "Z", "\\u005A" },
	{ ":", "\\u003a" },
	{ " ", "\\u0020" },
	{ "<", "\\u003c" },
	{ "{", "\\u007b" },
	{ "}", "\\u007D" },
	{ "[", "\\u005b" },
	{ "]", "\\u005d" },
	{ ",", "\\u002c" },
	{ "7", "\\u0037" },
	{ "\xc3\xa9", "\\u00e9" },
	{ "\xe2\x82\xac", "\\u20AC" },
	{ "\xf0\x9f\x98\x80", "\\ud83d\\ude00" },
	{ "\"", "\\\"" },
	{ "\\", "\\\\" },
	{ "\n", "\\n" },
	{ "\t", "\\t" },
	{ "/", "\\/" },
};

#define CHARACTERS (sizeof(characters) / sizeof(characters[0]))

/* A string of a few or of many characters: `meant` gets it as it is, `out` as JSON. */
static void add_string(struct source *s, struct tw_str *meant, struct tw_str *out)
{
	uint32_t len = draw(s, 12) ? draw(s, 9) : draw(s, 90), i, c;

	tw_str_add_char(out, '"');
	for (i = 0; i < len; i++) {
		/* Mostly letters, as in real names. */
		c = draw(s, 4) ? draw(s, 5) : draw(s, CHARACTERS);
		tw_str_add_cstr(meant, characters[c].raw);
		if ((c >= 14 && c <= 17) || draw(s, 10) == 0)
			tw_str_add_cstr(out, characters[c].escaped);
		else
			tw_str_add_cstr(out, characters[c].raw);
	}
	tw_str_add_char(out, '"');
}

/* A time in nanoseconds as microseconds, in one of the ways to write it. */
static void add_time(struct source *s, int64_t ns, struct tw_str *out)
{
	switch (draw(s, 5)) {
	case 0:
		tw_str_add_decimal_fixed(out, ns, 3, 3);
		return;
	case 1:
		/* With digits below a nanosecond that change nothing. */
		tw_str_add_decimal_fixed(out, ns, 3, 3);
		tw_str_add_cstr(out, draw(s, 2) ? "000000000" : "4999");
		return;
	case 2:
		tw_str_addf(out, "%llde-3", (long long)ns);
		return;
	case 3:
		tw_str_add_decimal(out, ns, 6);
		tw_str_add_cstr(out, draw(s, 2) ? "e3" : "E+3");
		return;
	default:
		tw_str_add_decimal(out, ns, 3);
	}
}

static int64_t some_time(struct source *s)
{
	static const int64_t bases[] = { 0, 1, 999, 1000, 123456, 1716239022123456789, 4000000000 };

	return bases[draw(s, 7)] + draw(s, 100000);
}

/* An id; links mean something from 1 on only. */
static void add_id(struct source *s, bool link, struct tw_str *meant, struct tw_str *out)
{
	static const char *const ids[] = { "1",
					   "7",
					   "2147483647",
					   "2147483648",
					   "9007199254740993",
					   "18446744073709551614",
					   "999999999",
					   "1000000000",
					   "0",
					   "-5",
					   "-4294967296",
					   "-2147483648" };
	const char *id = ids[draw(s, link ? 8 : 12)];
	bool quoted = draw(s, 6) == 0;

	tw_str_add_cstr(meant, id);
	tw_str_addf(out, quoted ? "\"%s\"" : "%s", id);
}

/* ---- arguments */

/* Some are known by name, some begin alike, some need escapes. */
static const char *const arg_keys[] = { "grid",	 "block",  "Input Dims", "Input type", "cbid",
					"bytes", "a",	   "ab",	 "abc",	       "a b",
					"t",	 "ts",	   "name",	 "x\xc3\xa9",  "kind",
					"Kind",	 "Ev Idx", "queued" };

#define ARG_KEYS (sizeof(arg_keys) / sizeof(arg_keys[0]))

static void add_arg_value(struct source *s, struct tw_str *meant, struct tw_str *out)
{
	static const char *const integers[] = { "0",	 "1",		"-1",
						"127",	 "128",		"-129",
						"65536", "-2147483649", "999999999999999999" };
	static const char *const reals[] = { "0.5", "-0.25", "1e3", "123456.789", "1E-2", "100.0" };
	static const char *const large[] = { "18446744073709551615", "1234567890123456789",
					     "-99999999999999999999" };
	static const char *const nested[] = { "[]",
					      "{}",
					      "[1, 2]",
					      "[[8,16],[]]",
					      "{\"a\":{\"b\":[1]}}",
					      "[\"float\",\"\"]",
					      "[\"]\",\"\\\"[\"]" };
	struct tw_str text;
	const char *value;

	switch (draw(s, 9)) {
	case 0:
		tw_str_add_cstr(meant, "0:null");
		tw_str_add_cstr(out, "null");
		return;
	case 1:
		tw_str_add_cstr(meant, "1:true");
		tw_str_add_cstr(out, "true");
		return;
	case 2:
		tw_str_add_cstr(meant, "1:false");
		tw_str_add_cstr(out, "false");
		return;
	case 3:
		value = reals[draw(s, 6)];
		tw_str_addf(meant, "3:");
		{
			char buffer[40];

			snprintf(buffer, sizeof(buffer), "%.17g", strtod(value, NULL));
			tw_str_add_cstr(meant, buffer);
		}
		tw_str_add_cstr(out, value);
		return;
	case 4:
		value = large[draw(s, 3)];
		tw_str_addf(meant, "5:%s", value);
		tw_str_add_cstr(out, value);
		return;
	case 5:
		value = nested[draw(s, 7)];
		tw_str_addf(meant, "6:%s", value);
		tw_str_add_cstr(out, value);
		return;
	case 6:
		tw_str_add_cstr(meant, "4:");
		tw_str_init(&text, trawl_allocator_default());
		add_string(s, &text, out);
		tw_str_add_cstr(meant, text.len ? text.ptr : "");
		tw_str_release(&text);
		return;
	default:
		value = integers[draw(s, 9)];
		tw_str_addf(meant, "2:%s", value);
		tw_str_add_cstr(out, value);
	}
}

/* The arguments' braces; link ids go where they are asked for. */
static void add_args(struct source *s, struct tw_str *meant, struct tw_str *correlation,
		     struct tw_str *external, struct tw_str *out)
{
	uint32_t first = draw(s, ARG_KEYS), n = draw(s, 7), i, link = draw(s, 12);

	tw_str_add_char(out, '{');
	for (i = 0; i < n; i++) {
		const char *key = arg_keys[(first + i * (s->style % 2 ? 1 : 5)) % ARG_KEYS];

		blank(s, out);
		tw_str_addf(out, "\"%s\"", key);
		blank(s, out);
		tw_str_add_char(out, ':');
		blank(s, out);
		tw_str_addf(meant, " %s:", key);
		add_arg_value(s, meant, out);
		blank(s, out);
		if (i + 1 < n || link < 6)
			tw_str_add_char(out, ',');
	}
	if (link < 6) {
		blank(s, out);
		tw_str_add_cstr(out, link % 2 ? "\"correlation\":" : "\"External id\":");
		blank(s, out);
		add_id(s, true, link % 2 ? correlation : external, out);
	}
	blank(s, out);
	tw_str_add_char(out, '}');
}

/* ---- events */

static const struct {
	const char *name;
	enum trawl_class class;
} categories[] = {
	{ "kernel", TRAWL_CLASS_KERNEL },	   { "cpu_op", TRAWL_CLASS_CPU_OP },
	{ "cuda_runtime", TRAWL_CLASS_RUNTIME },   { "gpu_memcpy", TRAWL_CLASS_MEMCPY },
	{ "python_function", TRAWL_CLASS_PYTHON }, { "Trace", TRAWL_CLASS_OTHER },
	{ "fwdbwd", TRAWL_CLASS_OTHER },
};

enum field { PH, CAT, NAME, PID, TID, TS, DUR, ARGS, UNKNOWN, FIELDS };

/* What one event means, and its fields as JSON. */
struct draft {
	struct tw_str json[FIELDS];
	struct tw_str name, pid, tid, correlation, external, args;
	int64_t start_ns, dur_ns;
	unsigned category;
};

static void each_text(struct draft *d, void (*f)(struct tw_str *))
{
	struct tw_str *all[] = {
		&d->name, &d->pid, &d->tid, &d->correlation, &d->external, &d->args
	};
	size_t i;

	for (i = 0; i < FIELDS; i++)
		f(&d->json[i]);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		f(all[i]);
}

static void begin_text(struct tw_str *text)
{
	tw_str_init(text, trawl_allocator_default());
	/* So that it is never NULL. */
	tw_str_reserve(text, 1);
	text->ptr[0] = '\0';
}

static void draw_event(struct source *s, struct draft *d)
{
	d->category = draw(s, 7);
	d->start_ns = some_time(s);
	d->dur_ns = 1 + draw(s, 5000000);
	tw_str_add_cstr(&d->json[PH], "\"X\"");
	tw_str_addf(&d->json[CAT], "\"%s\"", categories[d->category].name);
	add_string(s, &d->name, &d->json[NAME]);
	add_id(s, false, &d->pid, &d->json[PID]);
	add_id(s, false, &d->tid, &d->json[TID]);
	add_time(s, d->start_ns, &d->json[TS]);
	add_time(s, d->dur_ns, &d->json[DUR]);
	add_args(s, &d->args, &d->correlation, &d->external, &d->json[ARGS]);
	tw_str_add_cstr(&d->json[UNKNOWN], draw(s, 2) ? "[{\"ts\":1}]" : "\"ts\"");
}

static void write_event(struct source *s, struct draft *d, struct tw_str *out)
{
	static const char *const keys[FIELDS] = { "ph", "cat", "name", "pid", "tid",
						  "ts", "dur", "args", "tsx" };
	unsigned order[FIELDS], i, n = draw(s, 3) ? FIELDS - 1 : FIELDS;

	for (i = 0; i < FIELDS; i++)
		order[i] = i;
	/* Most writers have one order. */
	if (s->style / 3 % 3 == 0) {
		for (i = FIELDS - 1; i; i--) {
			unsigned j = draw(s, i + 1), swap = order[i];

			order[i] = order[j];
			order[j] = swap;
		}
		n = FIELDS;
	}
	tw_str_add_char(out, '{');
	for (i = 0; i < n; i++) {
		blank(s, out);
		tw_str_addf(out, "\"%s\"", keys[order[i]]);
		blank(s, out);
		tw_str_add_char(out, ':');
		blank(s, out);
		tw_str_add_cstr(out, d->json[order[i]].ptr);
		blank(s, out);
		if (i + 1 < n)
			tw_str_add_char(out, ',');
	}
	tw_str_add_char(out, '}');
}

static void describe(const struct draft *d, struct tw_str *out)
{
	bool gpu = categories[d->category].class >= TRAWL_CLASS_KERNEL;

	tw_str_addf(out, "X %d '%s' '%s'", (int)categories[d->category].class,
		    categories[d->category].name, d->name.ptr);
	tw_str_addf(out, " %lld %lld", (long long)d->start_ns, (long long)d->dur_ns);
	tw_str_addf(out, " pid '%s' tid '%s'", d->pid.ptr, d->tid.ptr);
	/* The arguments that say more are not among those drawn. */
	tw_str_addf(out, " device '%s' stream '%s'", gpu ? d->pid.ptr : "", gpu ? d->tid.ptr : "");
	tw_str_addf(out, " id '%s' external '%s'", d->correlation.ptr, d->external.ptr);
	tw_str_add_cstr(out, d->args.ptr);
}

void random_events_make(struct random_events *r, uint64_t seed, size_t count)
{
	struct source s = { tw_hash_u64(seed), 0 };
	struct draft d;
	size_t i;

	tw_str_init(&r->text, trawl_allocator_default());
	r->count = count;
	r->expected = calloc(count, sizeof(*r->expected));
	if (!r->expected)
		abort();
	tw_str_add_cstr(&r->text, "{\"traceEvents\": [");
	for (i = 0; i < count; i++) {
		/* A style for some events, so that guesses are made and then fail. */
		if (draw(&s, 5) == 0)
			s.style = draw(&s, 18);
		each_text(&d, begin_text);
		draw_event(&s, &d);
		tw_str_add_cstr(&r->text, i ? "," : "");
		blank(&s, &r->text);
		write_event(&s, &d, &r->text);
		tw_str_init(&r->expected[i], trawl_allocator_default());
		describe(&d, &r->expected[i]);
		each_text(&d, tw_str_release);
	}
	tw_str_add_cstr(&r->text, "]}");
	if (r->text.failed)
		abort();
}

void random_events_release(struct random_events *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		tw_str_release(&r->expected[i]);
	free(r->expected);
	tw_str_release(&r->text);
}
