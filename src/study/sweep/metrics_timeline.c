#include "study/sweep/metrics_timeline.h"

#include "base/alloc.h"
#include "base/intervals.h"
#include "base/list.h"
#include "base/order.h"
#include "json/value.h"
#include "os/file.h"
#include "os/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 32)
#define MOST_NOTES 20
#define NS_PER_MS 1e6
/* As far from 0 as a time may be, and as long as a range: a day. */
#define FARTHEST_MS 4e12
#define LONGEST_NS (INT64_C(86400) * 1000000000)

struct reading {
	struct tw_metrics_timeline *timeline;
	const char *path;
	int64_t first, count, line;
	struct tw_arena scratch; /* of one line */
	bool failed;		 /* out of memory */
};

static void note(struct reading *r, const char *text)
{
	struct tw_metrics_timeline *t = r->timeline;
	struct tw_str line;

	if (t->note_count == MOST_NOTES) {
		t->notes_untold++;
		return;
	}
	if (!t->notes) {
		t->notes = tw_arena_alloc(&t->arena, MOST_NOTES * sizeof(*t->notes));
		if (!t->notes) {
			r->failed = true;
			return;
		}
	}
	tw_str_init(&line, t->allocator);
	tw_str_addf(&line, "%s:%lld%s%s", r->path, (long long)r->line, *text == ':' ? "" : ": ",
		    text);
	t->notes[t->note_count] = line.failed ? NULL : tw_arena_copy(&t->arena, line.ptr, line.len);
	if (t->notes[t->note_count])
		t->note_count++;
	else
		r->failed = true;
	tw_str_release(&line);
}

/* ---- a line */

/* Python's writer puts NaN and Infinity, which JSON lacks, for losses: as nulls. */
static void mend_numbers(const char *text, size_t len, struct tw_str *out)
{
	static const char *const words[] = { "-Infinity", "Infinity", "NaN" };
	bool quoted = false;
	size_t i = 0, w;

	while (i < len) {
		if (quoted && text[i] == '\\' && i + 1 < len) {
			tw_str_add(out, text + i, 2);
			i += 2;
			continue;
		}
		quoted ^= text[i] == '"';
		for (w = 0; w < 3 && !quoted; w++) {
			size_t n = strlen(words[w]);

			if (len - i >= n && !memcmp(text + i, words[w], n)) {
				tw_str_add_cstr(out, "null");
				i += n;
				break;
			}
		}
		if (w == 3 || quoted)
			tw_str_add_char(out, text[i++]);
	}
}

/* NULL: it is none, and that is noted. */
static const struct tw_json_value *parse(struct reading *r, const char *text, size_t len)
{
	static const char name[] = "line", place[] = "line:1:"; /* a line is a document */
	const struct tw_json_value *value;
	struct trawl_error err = { 0 }, again = { 0 };
	struct tw_str mended;

	value = tw_json_parse(&r->scratch, text, len, name, &err);
	if (value)
		return value;
	tw_str_init(&mended, r->timeline->allocator);
	mend_numbers(text, len, &mended);
	if (!mended.failed && mended.len != len)
		value = tw_json_parse(&r->scratch, mended.ptr, mended.len, name, &again);
	r->failed = r->failed || mended.failed || again.status == TRAWL_ENOMEM;
	tw_str_release(&mended);
	if (value)
		return value;
	if (err.status == TRAWL_ENOMEM) {
		r->failed = true;
	} else {
		bool placed = !strncmp(err.message, place, strlen(place));

		/* The column goes behind the number of the line. */
		note(r, placed ? err.message + strlen(place) - 1 : err.message);
	}
	return NULL;
}

/* A time in ms that makes sense as one in ns. */
static bool take_time(const struct tw_json_value *range, const char *key, int64_t *ns)
{
	double ms = tw_json_number(tw_json_get(range, key));

	if (!(fabs(ms) < FARTHEST_MS))
		return false;
	*ns = llround(ms * NS_PER_MS);
	return true;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The streams of the ranges, sorted, each once. */
static bool find_lanes(struct reading *r, struct tw_metrics_step *step, const char **streams)
{
	size_t i;

	step->lanes = tw_arena_alloc(&r->timeline->arena, step->count * sizeof(*step->lanes));
	if (!step->lanes)
		return false;
	memcpy(step->lanes, streams, step->count * sizeof(*step->lanes));
	qsort(step->lanes, step->count, sizeof(*step->lanes), compare_text);
	for (i = 0; i < step->count; i++)
		if (!i || strcmp(step->lanes[i], step->lanes[step->lane_count - 1]))
			step->lanes[step->lane_count++] = step->lanes[i];
	for (i = 0; i < step->count; i++) {
		const char **lane = bsearch(&streams[i], step->lanes, step->lane_count,
					    sizeof(*step->lanes), compare_text);

		step->ranges[i].lane = (size_t)(lane - step->lanes);
	}
	return true;
}

/* Why it is none, NULL: it is one. */
static const char *take_range(struct reading *r, const struct tw_json_value *value,
			      struct tw_metrics_range *range, const char **stream)
{
	const char *tag = tw_json_text(tw_json_get(value, "tag"));

	*stream = tw_json_text(tw_json_get(value, "stream"));
	if (!**stream || !*tag)
		return "range without stream or tag, skipped";
	if (!take_time(value, "start_ms", &range->start_ns) ||
	    !take_time(value, "end_ms", &range->end_ns))
		return "range without start_ms or end_ms, skipped";
	if (range->end_ns < range->start_ns)
		return "range ends before it starts, skipped";
	if (range->end_ns - range->start_ns > LONGEST_NS)
		return "range longer than a day, skipped";
	*stream = tw_arena_copy(&r->timeline->arena, *stream, strlen(*stream));
	range->tag = tw_arena_copy(&r->timeline->arena, tag, strlen(tag));
	range->category = tw_metrics_category(tag);
	r->failed = r->failed || !*stream || !range->tag;
	return NULL;
}

/* ---- a step */

static int compare_starts(const void *a, const void *b)
{
	const struct tw_interval *x = a, *y = b;

	return TW_ORDER_BY(x, y, start_ns);
}

/* The time that ranges of a category cover; *sum of them. */
static bool cover(const struct tw_metrics_step *step, enum tw_metrics_category category,
		  struct tw_interval *scratch, struct tw_intervals *set, int64_t *sum)
{
	size_t n = 0, i;

	for (i = 0; i < step->count; i++) {
		const struct tw_metrics_range *range = &step->ranges[i];

		if (range->category != category)
			continue;
		scratch[n++] = (struct tw_interval){ range->start_ns, range->end_ns };
		if (__builtin_add_overflow(*sum, range->end_ns - range->start_ns, sum))
			*sum = INT64_MAX;
	}
	qsort(scratch, n, sizeof(*scratch), compare_starts);
	for (i = 0; i < n; i++)
		tw_intervals_add(set, scratch[i].start_ns, scratch[i].end_ns);
	return !set->failed;
}

/* Each moment counts once, however many ranges there are in it. */
static bool measure_overlap(struct reading *r, struct tw_metrics_step *step)
{
	const struct trawl_allocator *a = r->timeline->allocator;
	struct tw_interval *scratch = tw_arena_alloc(&r->scratch, step->count * sizeof(*scratch));
	struct tw_intervals compute, communication, alone;
	bool done;

	if (!scratch)
		return false;
	tw_intervals_init(&compute, a);
	tw_intervals_init(&communication, a);
	tw_intervals_init(&alone, a);
	done = cover(step, TW_METRICS_COMPUTE, scratch, &compute, &step->compute_ns) &&
	       cover(step, TW_METRICS_COMMUNICATION, scratch, &communication,
		     &step->communication_ns);
	if (done) {
		tw_intervals_subtract(&compute, &communication, &alone);
		done = !alone.failed;
	}
	step->overlap_ns = tw_intervals_length(&compute) - tw_intervals_length(&alone);
	tw_intervals_release(&compute);
	tw_intervals_release(&communication);
	tw_intervals_release(&alone);
	return done;
}

/* From the first start on; of sane times, so that differences are too. */
static void shift(struct tw_metrics_step *step)
{
	int64_t start = step->ranges[0].start_ns;
	size_t i;

	for (i = 1; i < step->count; i++)
		if (step->ranges[i].start_ns < start)
			start = step->ranges[i].start_ns;
	for (i = 0; i < step->count; i++) {
		step->ranges[i].start_ns -= start;
		step->ranges[i].end_ns -= start;
		if (step->ranges[i].end_ns > step->total_ns)
			step->total_ns = step->ranges[i].end_ns;
	}
}

static struct tw_metrics_step *add_step(struct tw_metrics_timeline *t)
{
	if (!tw_list_grow(&t->steps, &t->capacity, t->count, sizeof(*t->steps), t->allocator))
		return NULL;
	t->steps[t->count] = (struct tw_metrics_step){ .epoch = -1 };
	return &t->steps[t->count];
}

static void take_step(struct reading *r, const struct tw_json_value *record, int64_t number)
{
	const struct tw_json_value *ranges, *value;
	double epoch = tw_json_number(tw_json_get(record, "epoch"));
	struct tw_metrics_step *step = add_step(r->timeline);
	const char **streams, *problem;

	ranges = tw_json_get(tw_json_get(record, "profile"), "ranges");
	if (!step || ranges->type != TW_JSON_ARRAY || !ranges->count) {
		r->failed = r->failed || !step;
		return;
	}
	step->step = number;
	if (epoch >= 0 && epoch < 1e9)
		step->epoch = (int64_t)epoch;
	step->ranges = tw_arena_alloc(&r->timeline->arena, ranges->count * sizeof(*step->ranges));
	streams = tw_arena_alloc(&r->scratch, ranges->count * sizeof(*streams));
	r->failed = r->failed || !step->ranges || !streams;
	for (value = ranges->first; value && !r->failed; value = value->next) {
		problem = take_range(r, value, &step->ranges[step->count], &streams[step->count]);
		if (problem)
			note(r, problem);
		else
			step->count++;
	}
	if (r->failed || !step->count)
		return;
	shift(step);
	if (!find_lanes(r, step, streams) || !measure_overlap(r, step)) {
		r->failed = true;
		return;
	}
	r->timeline->ranges += step->count;
	r->timeline->count++;
}

static void take_line(struct reading *r, const char *text, size_t len)
{
	const struct tw_json_value *record, *step;
	double number;

	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	if (!len)
		return;
	record = parse(r, text, len);
	if (!record)
		return;
	if (record->type != TW_JSON_OBJECT) {
		note(r, "not a JSON object, skipped");
		return;
	}
	r->timeline->lines++;
	step = tw_json_get(record, "step");
	number = tw_json_number(step);
	if (!(fabs(number) < 1e15) || number != floor(number)) {
		note(r, "step number missing, skipped");
		return;
	}
	if ((int64_t)number >= r->first && (int64_t)number - r->first < r->count)
		take_step(r, record, (int64_t)number);
}

/* ---- the file */

static void take_lines(struct reading *r, const char *text, size_t len)
{
	const char *end = text + len, *line_end;

	for (; text < end && !r->failed; text = line_end + 1) {
		line_end = memchr(text, '\n', (size_t)(end - text));
		if (!line_end)
			line_end = end;
		r->line++;
		tw_arena_init(&r->scratch, r->timeline->allocator);
		take_line(r, text, (size_t)(line_end - text));
		tw_arena_release(&r->scratch);
	}
}

static int compare_steps(const void *a, const void *b)
{
	const struct tw_metrics_step *const *x = a, *const *y = b;

	return TW_ORDER_BY(*x, *y, step);
}

/* False: out of memory. */
static bool mark_repeated(struct tw_metrics_timeline *t)
{
	struct tw_metrics_step **sorted = tw_arena_alloc(&t->arena, t->count * sizeof(*sorted));
	size_t i;

	if (!sorted)
		return false;
	for (i = 0; i < t->count; i++)
		sorted[i] = &t->steps[i];
	qsort(sorted, t->count, sizeof(struct tw_metrics_step *), compare_steps);
	for (i = 1; i < t->count; i++)
		if (sorted[i]->step == sorted[i - 1]->step)
			sorted[i]->repeated = sorted[i - 1]->repeated = true;
	return true;
}

int tw_metrics_timeline_read(struct tw_metrics_timeline *timeline, const char *path, int64_t first,
			     int64_t count, const struct trawl_allocator *allocator,
			     struct trawl_error *err)
{
	struct reading r = {
		.timeline = timeline,
		.path = path,
		.first = first,
		.count = count,
	};
	struct tw_str text;
	int status;

	*timeline = (struct tw_metrics_timeline){ .allocator = allocator };
	tw_arena_init(&timeline->arena, allocator);
	tw_str_init(&text, allocator);
	tw_inputs_note(path);
	status = tw_file_read_found(path, MOST_BYTES, &text, err);
	if (!status)
		take_lines(&r, text.ptr, text.len);
	tw_str_release(&text);
	if (!status && (r.failed || !mark_repeated(timeline)))
		status =
			trawl_error_set(err, TRAWL_ENOMEM, "cannot read '%s': out of memory", path);
	return status;
}

void tw_metrics_timeline_release(struct tw_metrics_timeline *timeline)
{
	tw_free(timeline->allocator, timeline->steps,
		timeline->capacity * sizeof(*timeline->steps));
	tw_arena_release(&timeline->arena);
}
