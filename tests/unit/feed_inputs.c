#include "feed_inputs.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

static void *counting_realloc(void *context, void *block, size_t old_size, size_t size)
{
	struct counting *c = context;
	long long n = atomic_fetch_add(&c->allocations, 1) + 1, live;
	void *fresh;

	if (c->fail_at && n >= c->fail_at)
		return NULL;
	fresh = realloc(block, size ? size : 1);
	if (!fresh)
		return NULL;
	live = atomic_fetch_add(&c->live, (long long)size - (long long)old_size) + (long long)size -
	       (long long)old_size;
	if (live > c->peak)
		c->peak = live;
	return fresh;
}

static void counting_free(void *context, void *block, size_t size)
{
	struct counting *c = context;

	atomic_fetch_sub(&c->live, (long long)size);
	free(block);
}

void counting_init(struct counting *c)
{
	memset(c, 0, sizeof(*c));
	c->allocator.realloc = counting_realloc;
	c->allocator.free = counting_free;
	c->allocator.context = c;
}

void bytes_add(struct bytes *b, const void *ptr, size_t len)
{
	if (b->len + len > b->capacity) {
		b->capacity = 2 * (b->len + len);
		b->ptr = realloc(b->ptr, b->capacity);
		assert_non_null(b->ptr);
	}
	if (len)
		memcpy(b->ptr + b->len, ptr, len);
	b->len += len;
}

void bytes_text(struct bytes *b, const char *text)
{
	bytes_add(b, text, strlen(text));
}

void bytes_le(struct bytes *b, uint64_t value, int bytes)
{
	for (; bytes--; value >>= 8)
		bytes_add(b, &(unsigned char){ (unsigned char)value }, 1);
}

void bytes_drop(struct bytes *b)
{
	free(b->ptr);
	memset(b, 0, sizeof(*b));
}

void bytes_events(struct bytes *b, size_t count)
{
	char line[160];
	size_t i;

	bytes_text(b, "{\"traceEvents\":[\n");
	for (i = 0; i < count; i++) {
		snprintf(line, sizeof(line),
			 "{\"ph\":\"X\",\"name\":\"kernel_%zu\",\"ts\":%zu.%03zu,"
			 "\"dur\":%zu,\"args\":{\"correlation\":%zu}},\n",
			 i * 7919 % 101, i * 31, i * 7 % 1000, i % 13, i);
		bytes_text(b, line);
	}
	bytes_text(b, "{}]}\n");
}

void bytes_deflated(struct bytes *b, const void *text, size_t len, uint16_t wrapper)
{
	struct isal_zstream stream;
	size_t room = len + len / 8 + 1024;
	unsigned char *out = malloc(room), *level = malloc(ISAL_DEF_LVL1_DEFAULT);

	assert_non_null(out);
	assert_non_null(level);
	isal_deflate_init(&stream);
	stream.level = 1;
	stream.level_buf = level;
	stream.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
	stream.end_of_stream = 1;
	stream.flush = NO_FLUSH;
	stream.gzip_flag = wrapper;
	stream.next_in = (unsigned char *)(uintptr_t)text;
	stream.avail_in = (uint32_t)len;
	stream.next_out = out;
	stream.avail_out = (uint32_t)room;
	assert_int_equal(isal_deflate(&stream), COMP_OK);
	assert_int_equal(stream.avail_in, 0);
	bytes_add(b, out, stream.total_out);
	free(level);
	free(out);
}

void bytes_gzip(struct bytes *b, const void *text, size_t len)
{
	bytes_deflated(b, text, len, IGZIP_GZIP);
}

void bytes_gzip_with_fields(struct bytes *b, const char *text, size_t len)
{
	struct bytes h = { 0 };
	uint32_t crc;

	bytes_add(&h, "\x1f\x8b\x08\x1e\1\2\3\4\0\3", 10);
	bytes_le(&h, 300, 2);
	while (h.len < 312)
		bytes_add(&h, "", 1);
	bytes_add(&h, "trace.json", 11);
	bytes_add(&h, "", 1); /* an empty comment */
	crc = crc32_gzip_refl(0, (unsigned char *)h.ptr, h.len);
	bytes_le(&h, crc & 0xffff, 2);
	bytes_add(b, h.ptr, h.len);
	bytes_drop(&h);
	bytes_add(b, "\1", 1);
	bytes_le(b, len, 2);
	bytes_le(b, ~len, 2);
	bytes_add(b, text, len);
	bytes_le(b, crc32_gzip_refl(0, (const unsigned char *)text, len), 4);
	bytes_le(b, len, 4);
}

void bytes_zstd(struct bytes *b, const void *text, size_t len, bool checksum, bool sized)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t room = ZSTD_compressBound(len), size;
	char *out = malloc(room);
	ZSTD_outBuffer o = { out, room, 0 };
	ZSTD_inBuffer i = { text, len, 0 };

	assert_non_null(out);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
	ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, sized);
	if (sized)
		ZSTD_CCtx_setPledgedSrcSize(context, len);
	size = ZSTD_compressStream2(context, &o, &i, ZSTD_e_end);
	assert_int_equal(size, 0);
	bytes_add(b, out, o.pos);
	free(out);
	ZSTD_freeCCtx(context);
}

const struct feed_manner feed_manners[FEED_MANNERS] = {
	{ 0, false, 0 },      { 0, true, 0 },	   { 0, true, 300 },	    { 0, false, 70000 },
	{ 0, true, 300000 },  { 1, false, 0 },	   { 1, true, 0 },	    { 1, true, 40 },
	{ 7, false, 333 },    { 7, true, 333 },	   { 7, true, 9000 },	    { 4096, false, 100 },
	{ 4096, true, 5000 }, { 65536, true, 65 }, { 65536, true, 262145 },
};

/* Each window goes on where the one before ended, and is followed by quotes. */
static void check_window(const struct tw_window *w, const struct feed_outcome *o, size_t keep)
{
	size_t i;

	assert_true((size_t)(w->end - w->begin) >= keep);
	assert_int_equal(w->offset, o->first_offset + (int64_t)(o->text.len - keep));
	if (keep)
		assert_memory_equal(w->begin, o->text.ptr + o->text.len - keep, keep);
	for (i = 0; i < TW_FEED_SENTINEL; i++)
		assert_int_equal(w->end[i], '"');
}

void feed_drain(struct tw_feed *feed, size_t keep_wish, struct feed_outcome *o)
{
	struct tw_window w = { 0 };
	size_t keep = 0;

	do {
		o->next_status = tw_feed_next(feed, keep, &w, &o->err);
		if (o->next_status)
			break;
		if (!o->text.len)
			o->first_offset = w.offset;
		check_window(&w, o, keep);
		bytes_add(&o->text, w.begin + keep, (size_t)(w.end - w.begin) - keep);
		keep = (size_t)(w.end - w.begin) < keep_wish ? (size_t)(w.end - w.begin) :
							       keep_wish;
	} while (!w.last);
	if (!o->next_status) {
		/* The rest again: what was kept, and nothing else. */
		assert_int_equal(tw_feed_next(feed, keep, &w, &o->err), 0);
		assert_true(w.last);
		assert_int_equal(w.end - w.begin, keep);
		check_window(&w, o, keep);
	} else {
		assert_int_equal(tw_feed_next(feed, 0, &w, NULL), o->next_status);
	}
	memcpy(o->notes, tw_feed_notes(feed), sizeof(o->notes));
}

void feed_run_with(const struct trawl_allocator *allocator, const struct bytes *input,
		   const struct feed_manner *manner, struct feed_outcome *o)
{
	struct tw_feed_options options = {
		.allocator = allocator,
		.block_size = manner->block,
		.threaded = manner->threaded,
		.end = -1,
	};
	struct tw_feed *feed;

	memset(o, 0, sizeof(*o));
	o->open_status = tw_feed_open_memory(&feed, input->ptr, input->len, &options, &o->err);
	if (o->open_status)
		return;
	feed_drain(feed, manner->keep, o);
	tw_feed_close(feed);
}

void feed_run(const struct bytes *input, const struct feed_manner *manner, struct feed_outcome *o)
{
	struct counting c;

	counting_init(&c);
	feed_run_with(&c.allocator, input, manner, o);
	assert_int_equal(c.live, 0);
}

/* Two outcomes are one; the second goes. */
static void check_same(const struct feed_outcome *a, struct feed_outcome *b)
{
	size_t i;

	assert_int_equal(a->open_status, b->open_status);
	assert_int_equal(a->next_status, b->next_status);
	assert_int_equal(a->text.len, b->text.len);
	if (a->text.len)
		assert_memory_equal(a->text.ptr, b->text.ptr, a->text.len);
	for (i = 0; i < TW_FEED_NOTE_KINDS; i++) {
		assert_int_equal(a->notes[i].count, b->notes[i].count);
		if (a->notes[i].count)
			assert_int_equal(a->notes[i].offset, b->notes[i].offset);
	}
	if (a->open_status || a->next_status)
		assert_string_equal(a->err.message, b->err.message);
	bytes_drop(&b->text);
}

void feed_run_all(const struct bytes *input, struct feed_outcome *o)
{
	size_t i;

	feed_run(input, &feed_manners[0], o);
	for (i = 1; i < FEED_MANNERS; i++) {
		struct feed_outcome other;

		/* A change of threads for every few bytes is slow under the sanitizers. */
		if (feed_manners[i].block && feed_manners[i].block < 64 && o->text.len > 200000)
			continue;
		feed_run(input, &feed_manners[i], &other);
		check_same(o, &other);
	}
}

void feed_check_notes(const struct feed_outcome *o, unsigned kinds)
{
	int i;

	for (i = 0; i < TW_FEED_NOTE_KINDS; i++)
		assert_int_equal(o->notes[i].count > 0, kinds >> i & 1);
}

struct feed_outcome feed_expect(struct bytes *input, const struct bytes *text, unsigned kinds)
{
	struct feed_outcome o;

	feed_run_all(input, &o);
	if (o.open_status || o.next_status)
		print_error("%s\n", o.err.message);
	assert_int_equal(o.open_status, 0);
	assert_int_equal(o.next_status, 0);
	assert_int_equal(o.text.len, text->len);
	if (text->len)
		assert_memory_equal(o.text.ptr, text->ptr, text->len);
	feed_check_notes(&o, kinds);
	bytes_drop(&o.text);
	bytes_drop(input);
	return o;
}

void feed_expect_refusal(struct bytes *input, int status, const char *part)
{
	struct feed_outcome o;

	feed_run_all(input, &o);
	assert_int_equal(o.open_status, status);
	if (!strstr(o.err.message, part))
		print_error("'%s' lacks '%s'\n", o.err.message, part);
	assert_non_null(strstr(o.err.message, part));
	bytes_drop(input);
}

struct bytes sample_text(size_t events)
{
	struct bytes text = { 0 };

	bytes_events(&text, events);
	return text;
}

void bytes_utf16(struct bytes *b, const char *ascii, size_t len, bool big_endian)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (big_endian)
			bytes_add(b, "", 1);
		bytes_add(b, ascii + i, 1);
		if (!big_endian)
			bytes_add(b, "", 1);
	}
}
