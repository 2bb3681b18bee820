#define _GNU_SOURCE
#include "model/requests.h"

#include <math.h>
#include <string.h>

static const struct tw_request_sums none = { 0, 0, 0, 0 };
static const struct tw_request_sums unknown = { NAN, NAN, NAN, NAN };

static bool take_word(struct tw_slice *s, const char *word)
{
	if (!tw_slice_starts(s, word))
		return false;
	s->ptr += strlen(word);
	s->len -= strlen(word);
	return true;
}

/* A number of at most 18 digits. */
static bool take_number(struct tw_slice *s, double *value)
{
	size_t digits = 0;

	*value = 0;
	for (; digits < s->len && s->ptr[digits] >= '0' && s->ptr[digits] <= '9'; digits++)
		*value = *value * 10 + (s->ptr[digits] - '0');
	s->ptr += digits;
	s->len -= digits;
	return digits && digits <= 18;
}

/* What follows from the number of requests and of their new tokens. */
static struct tw_request_sums from_tokens(double requests, double tokens)
{
	struct tw_request_sums s = unknown;

	if (requests == 0)
		return none;
	s.sq = tokens;
	if (requests == tokens)
		s.sqsq = tokens; /* one each */
	else if (requests == 1)
		s.sqsq = tokens * tokens;
	return s;
}

/* "32(sq32sk32785sqsq32sqsk32785)" or "30(30)" */
static bool take_vllm_part(struct tw_slice *s, struct tw_request_sums *sums)
{
	double requests, tokens;

	if (!take_number(s, &requests) || !take_word(s, "("))
		return false;
	if (take_number(s, &tokens)) {
		*sums = from_tokens(requests, tokens);
		return take_word(s, ")");
	}
	return take_word(s, "sq") && take_number(s, &sums->sq) && take_word(s, "sk") &&
	       take_number(s, &sums->sk) && take_word(s, "sqsq") && take_number(s, &sums->sqsq) &&
	       take_word(s, "sqsk") && take_number(s, &sums->sqsk) && take_word(s, ")");
}

static bool read_vllm(struct tw_slice s, struct tw_request_sums *context,
		      struct tw_request_sums *generation)
{
	double all;

	if (!take_word(&s, "execute_"))
		return false;
	if (take_number(&s, &all) && !take_word(&s, "_"))
		return false;
	return take_word(&s, "context_") && take_vllm_part(&s, context) &&
	       take_word(&s, "_generation_") && take_vllm_part(&s, generation);
}

/* The number after " NAME=" or "[NAME=" within brackets, NaN: not there. */
static double field(struct tw_slice s, const char *name)
{
	size_t len = strlen(name), i;
	double value;

	for (i = 1; i + len < s.len && s.ptr[i] != ']'; i++) {
		struct tw_slice rest = { s.ptr + i + len + 1, s.len - i - len - 1 };

		if (!strchr(" [,", s.ptr[i - 1]) || memcmp(s.ptr + i, name, len) ||
		    s.ptr[i + len] != '=')
			continue;
		return take_number(&rest, &value) ? value : NAN;
	}
	return NAN;
}

/* The sums that are written "c_sq=" and so on; without them what follows from the tokens. */
static struct tw_request_sums read_sglang_part(struct tw_slice s, char kind,
					       struct tw_request_sums otherwise)
{
	char name[4][8] = { "?_sq", "?_sk", "?_sqsq", "?_sqsk" };
	double value[4];
	int i;

	for (i = 0; i < 4; i++) {
		name[i][0] = kind;
		value[i] = field(s, name[i]);
	}
	if (isnan(value[0]))
		return otherwise;
	if (value[0] == 0)
		return none;
	return (struct tw_request_sums){ value[0], value[1], value[2], value[3] };
}

static bool read_sglang(struct tw_slice s, struct tw_request_sums *context,
			struct tw_request_sums *generation)
{
	double requests, tokens;
	struct tw_request_sums all;

	if (!take_word(&s, "step["))
		return false;
	requests = field(s, "bs");
	tokens = field(s, "toks");
	all = from_tokens(requests, tokens);
	if (take_word(&s, "EXTEND")) {
		*context = read_sglang_part(s, 'c', all);
		*generation = read_sglang_part(s, 'g', none);
	} else if (take_word(&s, "DECODE")) {
		/* one token each where nothing else is said */
		if (isnan(tokens))
			all = from_tokens(requests, requests);
		*context = read_sglang_part(s, 'c', none);
		*generation = read_sglang_part(s, 'g', all);
	} else if (take_word(&s, "MIXED")) {
		*context = read_sglang_part(s, 'c', unknown);
		*generation = read_sglang_part(s, 'g', unknown);
	} else {
		return false;
	}
	return !isnan(context->sq) && !isnan(generation->sq);
}

/* The bracket at the end of a word, anywhere in the text. */
static bool read_atom_part(struct tw_slice s, const char *word, struct tw_request_sums *sums)
{
	const char *found = s.len ? memmem(s.ptr, s.len, word, strlen(word)) : NULL;
	const char *bracket = found ? found + strlen(word) - 1 : NULL;
	struct tw_slice rest;

	*sums = none;
	if (!found)
		return false;
	rest = (struct tw_slice){ bracket, (size_t)(s.ptr + s.len - bracket) };
	sums->sq = field(rest, "tok");
	sums->sk = field(rest, "sk");
	sums->sqsq = field(rest, "sqsq");
	sums->sqsk = field(rest, "sqsk");
	return !isnan(sums->sq);
}

static bool read_atom(struct tw_slice s, struct tw_request_sums *context,
		      struct tw_request_sums *generation)
{
	bool prefill = read_atom_part(s, "prefill[", context);
	bool decode = read_atom_part(s, "decode[", generation);

	return prefill || decode;
}

bool tw_requests_read(struct tw_requests *requests, const char *text, size_t len)
{
	struct tw_slice s = { text, len };
	struct tw_requests r = { true, none, none };

	memset(requests, 0, sizeof(*requests));
	if (!read_vllm(s, &r.context, &r.generation) &&
	    !read_sglang(s, &r.context, &r.generation) && !read_atom(s, &r.context, &r.generation))
		return false;
	*requests = r;
	return true;
}
