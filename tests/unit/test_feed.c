/*
 * The feed: every kind of wrapping, whole and damaged, in windows of every size, gives the same
 * text and the same notes.
 */
#define _GNU_SOURCE
#include "io/feed.h"
#include "base/alloc.h"

#include <fcntl.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

/* An allocator that counts, and can fail from the n-th allocation on. */
struct counting {
	struct trawl_allocator allocator;
	atomic_llong live, peak, allocations, fail_at; /* fail_at 0: never */
};

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

static void counting_init(struct counting *c)
{
	memset(c, 0, sizeof(*c));
	c->allocator.realloc = counting_realloc;
	c->allocator.free = counting_free;
	c->allocator.context = c;
}

/* Growing bytes for inputs and results. */
struct bytes {
	char *ptr;
	size_t len, capacity;
};

static void add(struct bytes *b, const void *ptr, size_t len)
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

static void add_text(struct bytes *b, const char *text)
{
	add(b, text, strlen(text));
}

static void add_le(struct bytes *b, uint64_t value, int bytes)
{
	for (; bytes--; value >>= 8)
		add(b, &(unsigned char){ (unsigned char)value }, 1);
}

static void drop(struct bytes *b)
{
	free(b->ptr);
	memset(b, 0, sizeof(*b));
}

/* Text that compresses as traces do, and shows when bytes are lost or doubled. */
static void add_events(struct bytes *b, size_t count)
{
	char line[160];
	size_t i;

	add_text(b, "{\"traceEvents\":[\n");
	for (i = 0; i < count; i++) {
		snprintf(line, sizeof(line),
			 "{\"ph\":\"X\",\"name\":\"kernel_%zu\",\"ts\":%zu.%03zu,"
			 "\"dur\":%zu,\"args\":{\"correlation\":%zu}},\n",
			 i * 7919 % 101, i * 31, i * 7 % 1000, i % 13, i);
		add_text(b, line);
	}
	add_text(b, "{}]}\n");
}

/* Deflate data by ISA-L; wrapper as IGZIP_*. */
static void add_deflated(struct bytes *b, const void *text, size_t len, uint16_t wrapper)
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
	add(b, out, stream.total_out);
	free(level);
	free(out);
}

static void add_gzip(struct bytes *b, const void *text, size_t len)
{
	add_deflated(b, text, len, IGZIP_GZIP);
}

/* A member with every optional part in its header, its text stored. */
static void add_gzip_with_fields(struct bytes *b, const char *text, size_t len)
{
	struct bytes h = { 0 };
	uint32_t crc;

	add(&h, "\x1f\x8b\x08\x1e\1\2\3\4\0\3", 10);
	add_le(&h, 300, 2);
	while (h.len < 312)
		add(&h, "", 1);
	add(&h, "trace.json", 11);
	add(&h, "", 1); /* an empty comment */
	crc = crc32_gzip_refl(0, (unsigned char *)h.ptr, h.len);
	add_le(&h, crc & 0xffff, 2);
	add(b, h.ptr, h.len);
	drop(&h);
	add(b, "\1", 1);
	add_le(b, len, 2);
	add_le(b, ~len, 2);
	add(b, text, len);
	add_le(b, crc32_gzip_refl(0, (const unsigned char *)text, len), 4);
	add_le(b, len, 4);
}

static void add_zstd(struct bytes *b, const void *text, size_t len, bool checksum, bool sized)
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
	add(b, out, o.pos);
	free(out);
	ZSTD_freeCCtx(context);
}

/* How an input is read: size of blocks, thread, bytes kept from window to window. */
struct manner {
	size_t block;
	bool threaded;
	size_t keep;
};

static const struct manner manners[] = {
	{ 0, false, 0 },      { 0, true, 0 },	   { 0, true, 300 },	    { 0, false, 70000 },
	{ 0, true, 300000 },  { 1, false, 0 },	   { 1, true, 0 },	    { 1, true, 40 },
	{ 7, false, 333 },    { 7, true, 333 },	   { 7, true, 9000 },	    { 4096, false, 100 },
	{ 4096, true, 5000 }, { 65536, true, 65 }, { 65536, true, 262145 },
};

#define MANNERS (sizeof(manners) / sizeof(manners[0]))

struct outcome {
	int open_status, next_status;
	struct trawl_error err;
	struct bytes text;
	struct tw_feed_note notes[TW_FEED_NOTE_KINDS];
	int64_t first_offset;
};

/* Each window goes on where the one before ended, and is followed by quotes. */
static void check_window(const struct tw_window *w, const struct outcome *o, size_t keep)
{
	size_t i;

	assert_true((size_t)(w->end - w->begin) >= keep);
	assert_int_equal(w->offset, o->first_offset + (int64_t)(o->text.len - keep));
	if (keep)
		assert_memory_equal(w->begin, o->text.ptr + o->text.len - keep, keep);
	for (i = 0; i < TW_FEED_SENTINEL; i++)
		assert_int_equal(w->end[i], '"');
}

static void drain(struct tw_feed *feed, size_t keep_wish, struct outcome *o)
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
		add(&o->text, w.begin + keep, (size_t)(w.end - w.begin) - keep);
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

static void run_with(const struct trawl_allocator *allocator, const struct bytes *input,
		     const struct manner *manner, struct outcome *o)
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
	drain(feed, manner->keep, o);
	tw_feed_close(feed);
}

static void run(const struct bytes *input, const struct manner *manner, struct outcome *o)
{
	struct counting c;

	counting_init(&c);
	run_with(&c.allocator, input, manner, o);
	assert_int_equal(c.live, 0);
}

/* Two outcomes are one; the second goes. */
static void check_same(const struct outcome *a, struct outcome *b)
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
	drop(&b->text);
}

/* The outcome, which is the same in every manner. */
static void run_all(const struct bytes *input, struct outcome *o)
{
	size_t i;

	run(input, &manners[0], o);
	for (i = 1; i < MANNERS; i++) {
		struct outcome other;

		/* A change of threads for every few bytes is slow under the sanitizers. */
		if (manners[i].block && manners[i].block < 64 && o->text.len > 200000)
			continue;
		run(input, &manners[i], &other);
		check_same(o, &other);
	}
}

static void check_notes(const struct outcome *o, unsigned kinds)
{
	int i;

	for (i = 0; i < TW_FEED_NOTE_KINDS; i++)
		assert_int_equal(o->notes[i].count > 0, kinds >> i & 1);
}

#define BIT(kind) (1u << (kind))

/* Reads in every manner: this text, these kinds of notes; input and outcome go. */
static struct outcome expect(struct bytes *input, const struct bytes *text, unsigned kinds)
{
	struct outcome o;

	run_all(input, &o);
	if (o.open_status || o.next_status)
		print_error("%s\n", o.err.message);
	assert_int_equal(o.open_status, 0);
	assert_int_equal(o.next_status, 0);
	assert_int_equal(o.text.len, text->len);
	if (text->len)
		assert_memory_equal(o.text.ptr, text->ptr, text->len);
	check_notes(&o, kinds);
	drop(&o.text);
	drop(input);
	return o;
}

static void expect_refusal(struct bytes *input, int status, const char *part)
{
	struct outcome o;

	run_all(input, &o);
	assert_int_equal(o.open_status, status);
	if (!strstr(o.err.message, part))
		print_error("'%s' lacks '%s'\n", o.err.message, part);
	assert_non_null(strstr(o.err.message, part));
	drop(input);
}

static struct bytes sample(size_t events)
{
	struct bytes text = { 0 };

	add_events(&text, events);
	return text;
}

static void test_plain(void **state)
{
	struct bytes text = sample(3000), input = { 0 };

	(void)state;
	add(&input, text.ptr, text.len);
	expect(&input, &text, 0);
	/* A single byte is text as well. */
	text.len = 1;
	add(&input, text.ptr, 1);
	expect(&input, &text, 0);
	drop(&text);
}

static void test_utf8_mark(void **state)
{
	struct bytes text = sample(20), input = { 0 }, marked = { 0 };
	struct outcome o;

	(void)state;
	add_text(&marked, "\xef\xbb\xbf");
	add(&marked, text.ptr, text.len);
	add(&input, marked.ptr, marked.len);
	o = expect(&input, &text, BIT(TW_FEED_BOM));
	assert_int_equal(o.first_offset, 3);
	add_gzip(&input, marked.ptr, marked.len);
	o = expect(&input, &text, BIT(TW_FEED_BOM));
	assert_int_equal(o.first_offset, 3);
	/* The mark alone: no text, no error. */
	text.len = 0;
	add(&input, marked.ptr, 3);
	expect(&input, &text, BIT(TW_FEED_BOM));
	drop(&marked);
	drop(&text);
}

static void test_gzip(void **state)
{
	struct bytes text = sample(30000), input = { 0 };

	(void)state;
	add_gzip(&input, text.ptr, text.len);
	expect(&input, &text, 0);
	text.len = 0;
	add_gzip(&input, "", 0);
	expect(&input, &text, 0);
	drop(&text);
}

/* Empty members, header fields, stored and compressed members, one cut in the middle of a line. */
static void test_gzip_members(void **state)
{
	struct bytes text = sample(400), input = { 0 };

	(void)state;
	add_gzip(&input, "", 0);
	add_gzip_with_fields(&input, "", 0);
	add_gzip_with_fields(&input, text.ptr, 1);
	add_gzip(&input, text.ptr + 1, 9999);
	add_gzip(&input, "", 0);
	add_gzip_with_fields(&input, text.ptr + 10000, text.len - 10000);
	add_gzip(&input, "", 0);
	expect(&input, &text, 0);
	drop(&text);
}

/* Each byte of the file in a read of its own: whatever can be cut is cut. */
static void test_gzip_cut_anywhere(void **state)
{
	struct bytes text = sample(60), file = { 0 }, input = { 0 };
	size_t i;

	(void)state;
	add_gzip_with_fields(&file, text.ptr, 100);
	add_gzip(&file, text.ptr + 100, text.len - 200);
	add_gzip_with_fields(&file, text.ptr + text.len - 100, 100);
	for (i = 0; i < file.len; i++)
		add_gzip(&input, file.ptr + i, 1);
	expect(&input, &text, BIT(TW_FEED_NESTED));
	drop(&file);
	add_zstd(&file, text.ptr, 100, true, true);
	add_text(&file, "\x5e\x2a\x4d\x18\x05");
	add(&file, "\0\0\0?????", 8);
	add_zstd(&file, text.ptr + 100, text.len - 100, true, false);
	for (i = 0; i < file.len; i++)
		add_gzip(&input, file.ptr + i, 1);
	expect(&input, &text, BIT(TW_FEED_NESTED));
	drop(&file);
	drop(&text);
}

static void test_gzip_behind_the_end(void **state)
{
	static const char *const garbage[] = { "x", "\x1f", "\x1f\x8c", "\n",
					       "\x1f\x8b\x09xxxxxxx" };
	struct bytes text = sample(100), input = { 0 };
	struct outcome o;
	size_t i, size;

	(void)state;
	for (i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		add_gzip(&input, text.ptr, text.len);
		size = input.len;
		add_text(&input, garbage[i]);
		o = expect(&input, &text, BIT(TW_FEED_TRAILING));
		assert_int_equal(o.notes[TW_FEED_TRAILING].count, strlen(garbage[i]));
		assert_int_equal(o.notes[TW_FEED_TRAILING].offset, size);
	}
	/* Padding of zeros is nothing; bytes behind it are. */
	add_gzip(&input, text.ptr, text.len);
	size = input.len;
	add(&input, (char[500]){ 0 }, 500);
	add_text(&input, "garbage");
	o = expect(&input, &text, BIT(TW_FEED_TRAILING));
	assert_int_equal(o.notes[TW_FEED_TRAILING].count, 7);
	assert_int_equal(o.notes[TW_FEED_TRAILING].offset, size + 500);
	add_gzip(&input, text.ptr, 50);
	add(&input, (char[500]){ 0 }, 500);
	add_gzip(&input, text.ptr + 50, text.len - 50);
	add(&input, (char[1]){ 0 }, 1);
	expect(&input, &text, 0);
	drop(&text);
}

/* What comes out of a file cut at `cut` is a beginning of the text, and the cut is noted. */
static void check_cut(const struct bytes *file, size_t cut, const struct bytes *text, unsigned also)
{
	struct bytes part = { file->ptr, cut, 0 };
	struct outcome o;

	run_all(&part, &o);
	if (o.open_status) {
		assert_int_equal(o.open_status, TRAWL_EFORMAT);
		assert_non_null(strstr(o.err.message, cut ? "truncated" : "empty"));
	} else {
		assert_int_equal(o.next_status, 0);
		assert_true(o.text.len <= text->len);
		assert_memory_equal(o.text.ptr, text->ptr, o.text.len);
		check_notes(&o, also | BIT(TW_FEED_TRUNCATED));
		assert_int_equal(o.notes[TW_FEED_TRUNCATED].count, 1);
		assert_int_equal(o.notes[TW_FEED_TRUNCATED].offset, o.text.len);
	}
	drop(&o.text);
}

static void test_truncated(void **state)
{
	struct bytes text = sample(12), file = { 0 }, nested = { 0 }, z = { 0 };
	size_t cut;

	(void)state;
	add_gzip_with_fields(&file, text.ptr, 200);
	cut = file.len;
	add_gzip(&file, text.ptr + 200, text.len - 200);
	add_gzip(&nested, file.ptr, file.len);
	for (cut += 2; cut < file.len; cut += 3)
		check_cut(&file, cut, &text, 0);
	for (cut = 2; cut < 400; cut += 3)
		check_cut(&file, cut, &text, 0);
	for (cut = 2; cut < nested.len; cut += 11)
		check_cut(&nested, cut, &text, BIT(TW_FEED_NESTED));
	add_zstd(&z, text.ptr, text.len, true, true);
	for (cut = 4; cut < z.len; cut += 3)
		check_cut(&z, cut, &text, 0);
	drop(&file);
	drop(&nested);
	drop(&z);
	drop(&text);
}

static void test_gzip_checksums(void **state)
{
	struct bytes text = sample(100), input = { 0 };
	struct outcome o;

	(void)state;
	/* A wrong CRC, a wrong length, a wrong CRC of the header: three members, all text kept. */
	add_gzip(&input, text.ptr, 300);
	input.ptr[input.len - 8] ^= 1;
	add_gzip(&input, text.ptr + 300, 300);
	input.ptr[input.len - 1] ^= 1;
	add_gzip_with_fields(&input, text.ptr + 600, text.len - 600);
	input.ptr[input.len - 8 - (text.len - 600) - 5 - 1] ^= 1;
	o = expect(&input, &text, BIT(TW_FEED_CHECKSUM));
	assert_int_equal(o.notes[TW_FEED_CHECKSUM].count, 3);
	drop(&text);
}

static void test_checksum_place(void **state)
{
	struct bytes text = sample(100), input = { 0 };
	struct outcome o;

	(void)state;
	add_gzip(&input, text.ptr, 5000);
	add_gzip(&input, text.ptr + 5000, 1000);
	input.ptr[input.len - 8] ^= 1;
	add_gzip(&input, text.ptr + 6000, text.len - 6000);
	o = expect(&input, &text, BIT(TW_FEED_CHECKSUM));
	assert_int_equal(o.notes[TW_FEED_CHECKSUM].offset, 6000);
	drop(&text);
}

/* Damage somewhere: never a failure of the program, and the same in all manners. */
static void test_damage_anywhere(void **state)
{
	struct bytes text = sample(40), file = { 0 };
	struct outcome o;
	size_t i, kind;

	(void)state;
	for (kind = 0; kind < 2; kind++) {
		if (kind == 0) {
			add_gzip(&file, text.ptr, 2000);
			add_gzip(&file, text.ptr + 2000, text.len - 2000);
		} else {
			add_zstd(&file, text.ptr, 2000, true, true);
			add_zstd(&file, text.ptr + 2000, text.len - 2000, true, false);
		}
		for (i = 0; i < file.len; i += 11) {
			file.ptr[i] ^= 1 << (i % 8);
			run_all(&file, &o);
			drop(&o.text);
			file.ptr[i] ^= 1 << (i % 8);
		}
		drop(&file);
	}
	drop(&text);
}

/* A stretch of nonsense in the middle of a large member: what stands before it comes out. */
static void test_corrupt_middle(void **state)
{
	struct bytes text = sample(40000), file = { 0 };
	struct outcome o;
	size_t i, kind;

	(void)state;
	for (kind = 0; kind < 2; kind++) {
		if (kind == 0)
			add_gzip(&file, text.ptr, text.len);
		else
			add_zstd(&file, text.ptr, text.len, false, true);
		for (i = 0; i < 64; i++)
			file.ptr[file.len / 2 + i] = (char)0xff;
		run_all(&file, &o);
		assert_int_equal(o.open_status, 0);
		assert_int_equal(o.next_status, 0);
		check_notes(&o, BIT(TW_FEED_CORRUPT));
		assert_int_equal(o.notes[TW_FEED_CORRUPT].offset, o.text.len);
		assert_true(o.text.len > text.len / 4);
		assert_memory_equal(o.text.ptr, text.ptr, text.len / 4);
		drop(&o.text);
		drop(&file);
	}
	drop(&text);
}

static void test_zlib(void **state)
{
	struct bytes text = sample(3000), input = { 0 };

	(void)state;
	add_deflated(&input, text.ptr, text.len, IGZIP_ZLIB);
	assert_int_equal(input.ptr[0], 0x78);
	expect(&input, &text, BIT(TW_FEED_ZLIB));
	add_deflated(&input, text.ptr, text.len, IGZIP_ZLIB);
	input.ptr[input.len - 1] ^= 1;
	expect(&input, &text, BIT(TW_FEED_ZLIB) | BIT(TW_FEED_CHECKSUM));
	add_deflated(&input, text.ptr, text.len, IGZIP_ZLIB);
	add_text(&input, "behind");
	assert_int_equal(expect(&input, &text, BIT(TW_FEED_ZLIB) | BIT(TW_FEED_TRAILING))
				 .notes[TW_FEED_TRAILING]
				 .count,
			 6);
	add_deflated(&input, text.ptr, text.len, IGZIP_ZLIB);
	input.len -= 2;
	expect(&input, &text, BIT(TW_FEED_ZLIB) | BIT(TW_FEED_TRUNCATED));
	drop(&text);
}

static void test_zstd(void **state)
{
	struct bytes text = sample(30000), input = { 0 }, none = { 0 };
	struct outcome o;

	(void)state;
	add_zstd(&input, text.ptr, text.len, true, true);
	expect(&input, &text, 0);
	/* Frames, an empty one and skippable ones among them. */
	add(&input, "\x50\x2a\x4d\x18\3\0\0\0abc", 11);
	add_zstd(&input, text.ptr, 100000, false, false);
	add_zstd(&input, "", 0, true, true);
	add_zstd(&input, text.ptr + 100000, 10, true, true);
	add_zstd(&input, text.ptr + 100010, text.len - 100010, true, false);
	add(&input, "\x5f\x2a\x4d\x18\0\0\0\0", 8);
	add(&input, (char[9]){ 0 }, 9);
	expect(&input, &text, 0);
	add_zstd(&input, text.ptr, text.len, true, true);
	add_text(&input, "behind");
	o = expect(&input, &text, BIT(TW_FEED_TRAILING));
	assert_int_equal(o.notes[TW_FEED_TRAILING].count, 6);
	add_zstd(&input, text.ptr, text.len, true, true);
	add_text(&input, "be");
	o = expect(&input, &text, BIT(TW_FEED_TRAILING));
	assert_int_equal(o.notes[TW_FEED_TRAILING].count, 2);
	add(&input, "\x50\x2a\x4d\x18\3\0\0\0abc", 11);
	expect(&input, &none, 0);
	drop(&text);
}

static void test_zstd_checksum(void **state)
{
	struct bytes text = sample(3000), input = { 0 };
	struct outcome o;

	(void)state;
	/* Small enough that libzstd would decode the frame in one go, and lose it. */
	add_zstd(&input, text.ptr, 1000, true, true);
	input.ptr[input.len - 1] ^= 1;
	add_zstd(&input, text.ptr + 1000, text.len - 1000, true, true);
	o = expect(&input, &text, BIT(TW_FEED_CHECKSUM));
	assert_int_equal(o.notes[TW_FEED_CHECKSUM].offset, 1000);
	drop(&text);
}

/* Header of a frame with the window 2^log, and an empty last block. */
static void add_window(struct bytes *b, int log)
{
	add(b, "\x28\xb5\x2f\xfd\0", 5);
	add_le(b, (uint64_t)(log - 10) << 3, 1);
	add(b, "\1\0\0", 3);
}

static void test_zstd_window(void **state)
{
	struct bytes input = { 0 }, none = { 0 };
	struct outcome o;

	(void)state;
	add_window(&input, 27);
	expect(&input, &none, 0);
	/* The largest there is: where memory allows it. */
	add_window(&input, 31);
	run(&input, &manners[0], &o);
	assert_true(!o.open_status || o.open_status == TRAWL_ENOMEM);
	drop(&input);
	add_window(&input, 32);
	expect_refusal(&input, TRAWL_ELIMIT, "window");
}

static void test_nested(void **state)
{
	struct bytes text = sample(500), one = { 0 }, two = { 0 }, three = { 0 }, four = { 0 };
	struct outcome o;

	(void)state;
	add_gzip(&one, text.ptr, text.len);
	add_zstd(&two, one.ptr, one.len, true, true);
	add_gzip(&three, two.ptr, two.len);
	add_deflated(&four, three.ptr, three.len, IGZIP_ZLIB);
	o = expect(&two, &text, BIT(TW_FEED_NESTED));
	assert_int_equal(o.notes[TW_FEED_NESTED].count, 1);
	o = expect(&three, &text, BIT(TW_FEED_NESTED));
	assert_int_equal(o.notes[TW_FEED_NESTED].count, 2);
	expect_refusal(&four, TRAWL_EFORMAT, "more than 3 times");
	drop(&one);
	drop(&text);
}

static void add_utf16(struct bytes *b, const char *ascii, size_t len, bool big_endian)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (big_endian)
			add(b, "", 1);
		add(b, ascii + i, 1);
		if (!big_endian)
			add(b, "", 1);
	}
}

static void test_utf16(void **state)
{
	struct bytes text = sample(600), input = { 0 }, plain = { 0 };
	int marked, big;

	(void)state;
	for (marked = 0; marked < 2; marked++) {
		for (big = 0; big < 2; big++) {
			if (marked)
				add(&plain, big ? "\xfe\xff" : "\xff\xfe", 2);
			add_utf16(&plain, text.ptr, text.len, big);
			add_gzip(&input, plain.ptr, plain.len);
			expect(&plain, &text, BIT(TW_FEED_UTF16));
			expect(&input, &text, BIT(TW_FEED_UTF16));
		}
	}
	drop(&text);
}

static void test_utf16_characters(void **state)
{
	static const struct {
		const char *utf16;
		size_t len;
		const char *utf8;
	} cases[] = {
		{ "\xff\xfe", 2, "" },
		{ "\xff\xfe\xe9\0\xac\x20", 6, "\xc3\xa9\xe2\x82\xac" },
		{ "\xfe\xff\0\xe9\x20\xac", 6, "\xc3\xa9\xe2\x82\xac" },
		{ "\xff\xfe\x3d\xd8\x00\xde", 6, "\xf0\x9f\x98\x80" },
		{ "\xfe\xff\xd8\x3d\xde\x00", 6, "\xf0\x9f\x98\x80" },
		{ "\xfe\xff\xdb\xff\xdf\xff", 6, "\xf4\x8f\xbf\xbf" },
		/* High without low, low without high, high before high, the end. */
		{ "\xfe\xff\xd8\x3d\0x", 6, "\xef\xbf\xbdx" },
		{ "\xfe\xff\xde\0\0x", 6, "\xef\xbf\xbdx" },
		{ "\xfe\xff\xd8\x3d\xd8\x3d\xde\0", 8, "\xef\xbf\xbd\xf0\x9f\x98\x80" },
		{ "\xfe\xff\xd8\x3d", 4, "\xef\xbf\xbd" },
		{ "\xfe\xff\0x\xd8", 5, "x\xef\xbf\xbd" },
		{ "\xfe\xff\xd8\x3d\xde", 5, "\xef\xbf\xbd\xef\xbf\xbd" },
	};
	struct bytes input = { 0 }, text = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		add(&input, cases[i].utf16, cases[i].len);
		add_text(&text, cases[i].utf8);
		expect(&input, &text, BIT(TW_FEED_UTF16));
		text.len = 0;
	}
	drop(&text);
}

/* Every unit cut by reads of one byte. */
static void test_utf16_cut_anywhere(void **state)
{
	struct bytes wide = { 0 }, input = { 0 }, text = { 0 };
	size_t i;

	(void)state;
	add(&wide, "\xff\xfe\x3d\xd8\x00\xde{\0\xe9\0\x3d\xd8x\0", 14);
	for (i = 0; i < wide.len; i++)
		add_gzip(&input, wide.ptr + i, 1);
	add_text(&text, "\xf0\x9f\x98\x80{\xc3\xa9\xef\xbf\xbdx");
	expect(&input, &text, BIT(TW_FEED_UTF16));
	drop(&wide);
	drop(&text);
}

static void test_other_kinds(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *said;
	} cases[] = {
		{ "", 0, "empty (the profiler wrote nothing)" },
		{ "PK\3\4....", 8, "unzip" },
		{ "BZh91AY", 7, "bunzip2" },
		{ "\xfd"
		  "7zXZ\0..",
		  8, "unxz" },
		{ "7z\xbc\xaf\x27\x1c", 6, "7-Zip" },
		{ "SQLite format 3\0....", 20, "SQLite database, not a profiler trace in JSON" },
		{ "%PDF-1.4", 8, "PDF" },
		{ "\x7f"
		  "ELF\2\1\1",
		  7, "ELF" },
		{ "\n\x7b\x42\x0b\x08\x06", 6, "protobuf" },
		{ "\xff\xfe\0\0{\0\0\0", 8, "UTF-32" },
		{ "{\0\0\0\"\0\0\0", 8, "UTF-32" },
		{ "\x1f\x9d..", 4, "uncompress" },
		{ "\x04\x22\x4d\x18....", 8, "lz4" },
		{ "\x1f\x8b", 2, "truncated gzip" },
		{ "\x1f\x8b\x08\xff..........", 14, "damaged gzip" },
		{ "\x78\x9c", 2, "truncated zlib" },
		{ "\x28\xb5\x2f\xfd", 4, "truncated zstd" },
	};
	struct bytes input = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		add(&input, cases[i].bytes, cases[i].len);
		expect_refusal(&input, TRAWL_EFORMAT, cases[i].said);
	}
	add_gzip(&input, "PK\3\4....", 8);
	expect_refusal(&input, TRAWL_EFORMAT, "a zip archive inside gzip");
	add(&input, (char[512]){ 0 }, 512);
	memcpy(input.ptr + 257, "ustar", 5);
	expect_refusal(&input, TRAWL_EFORMAT, "tar -xf");
}

/* Text that looks a little like something else stays text. */
static void test_text_of_all_kinds(void **state)
{
	static const char *const texts[] = {
		"\n{\"a\":1}", "\r\n\t [", "<html>", "x",	 "xyz",	 "B",	       "PK",
		"7",	       "(\xb5",	   "P*M",    "\xef\xbb", "\xff", "not json\n", "\x1f",
	};
	struct bytes input = { 0 }, text = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		text.len = 0;
		add_text(&text, texts[i]);
		add_text(&input, texts[i]);
		expect(&input, &text, 0);
	}
	drop(&text);
}

/* Fails every allocation once: always reported, never a leak, never a wrong text. */
static void check_failing_allocations(struct bytes *input, const struct manner *manner)
{
	struct outcome whole, o;
	long long n;

	run(input, manner, &whole);
	assert_int_equal(whole.next_status, 0);
	for (n = 1;; n++) {
		struct counting c;

		counting_init(&c);
		c.fail_at = n;
		run_with(&c.allocator, input, manner, &o);
		assert_int_equal(c.live, 0);
		assert_true(o.text.len <= whole.text.len);
		if (o.text.len)
			assert_memory_equal(o.text.ptr, whole.text.ptr, o.text.len);
		drop(&o.text);
		if (!o.open_status && !o.next_status)
			break;
		assert_int_equal(o.open_status ? o.open_status : o.next_status, TRAWL_ENOMEM);
		assert_int_equal(o.err.status, TRAWL_ENOMEM);
	}
	assert_true(n > 2);
	drop(&whole.text);
}

static void test_failing_allocations(void **state)
{
	struct bytes text = sample(20000), plain = { 0 }, gzip = { 0 }, zstd = { 0 }, wide = { 0 };
	size_t i;

	(void)state;
	add(&plain, text.ptr, text.len);
	add_zstd(&zstd, text.ptr, text.len, true, true);
	add_utf16(&plain, text.ptr, text.len, false);
	add_utf16(&wide, text.ptr, text.len, false);
	add_gzip(&gzip, wide.ptr, wide.len);
	for (i = 0; i < MANNERS; i++) {
		if (manners[i].block == 1)
			continue;
		check_failing_allocations(&plain, &manners[i]);
		check_failing_allocations(&gzip, &manners[i]);
		check_failing_allocations(&zstd, &manners[i]);
	}
	drop(&plain);
	drop(&gzip);
	drop(&zstd);
	drop(&wide);
	drop(&text);
}

/* One event of 20 MB in blocks of one byte: few windows, memory a small multiple of it. */
static void test_long_event(void **state)
{
	size_t size = (size_t)20 << 20, keep, windows;
	struct bytes text = { calloc(1, size), size, size }, gzip = { 0 };
	int kind;

	(void)state;
	assert_non_null(text.ptr);
	memset(text.ptr, 'x', size);
	text.ptr[0] = '{';
	add_gzip(&gzip, text.ptr, size);
	for (kind = 0; kind < 3; kind++) {
		struct counting c;
		struct tw_feed_options options = { .block_size = kind == 2 ? 0 : 1, .end = -1 };
		const struct bytes *input = kind ? &gzip : &text;
		struct tw_window w;
		struct tw_feed *feed;

		counting_init(&c);
		options.allocator = &c.allocator;
		options.threaded = kind == 2;
		assert_int_equal(tw_feed_open_memory(&feed, input->ptr, input->len, &options, NULL),
				 0);
		keep = windows = 0;
		do {
			assert_int_equal(tw_feed_next(feed, keep, &w, NULL), 0);
			keep = (size_t)(w.end - w.begin);
			windows++;
		} while (!w.last);
		assert_int_equal(keep, size);
		assert_memory_equal(w.begin, text.ptr, size);
		assert_true(windows < 6000);
		assert_true(c.peak < 130 << 20);
		tw_feed_close(feed);
		assert_int_equal(c.live, 0);
	}
	drop(&text);
	drop(&gzip);
}

/* Memory does not grow with the input. */
static void test_memory_bound(void **state)
{
	struct bytes text = sample(100000), input = { 0 };
	struct counting c;
	struct outcome o;

	(void)state;
	add_gzip(&input, text.ptr, text.len);
	counting_init(&c);
	run_with(&c.allocator, &input, &manners[2], &o);
	assert_int_equal(o.next_status, 0);
	assert_true(c.peak < 6 << 20);
	assert_int_equal(c.live, 0);
	drop(&o.text);
	drop(&input);
	drop(&text);
}

/* Closing at any time ends the thread. */
static void test_close_early(void **state)
{
	struct bytes text = sample(60000), input = { 0 };
	size_t windows, block;

	(void)state;
	add_gzip(&input, text.ptr, text.len);
	for (block = 1; block <= 1 << 20; block *= 32) {
		for (windows = 0; windows < 12; windows++) {
			struct counting c;
			struct tw_feed_options options = { .block_size = block, .threaded = true };
			struct tw_window w;
			struct tw_feed *feed;
			size_t i;

			counting_init(&c);
			options.allocator = &c.allocator;
			assert_int_equal(tw_feed_open_memory(&feed, input.ptr, input.len, &options,
							     NULL),
					 0);
			for (i = 0; i < windows; i++)
				assert_int_equal(tw_feed_next(feed, 0, &w, NULL), 0);
			tw_feed_close(feed);
			assert_int_equal(c.live, 0);
		}
	}
	tw_feed_close(NULL);
	drop(&input);
	drop(&text);
}

/* Files. */
static char directory[] = "/tmp/trawl-test-feed-XXXXXX";
static char path[sizeof(directory) + 16];

static void write_file(const struct bytes *b)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(b->ptr, 1, b->len, file), b->len);
	assert_int_equal(fclose(file), 0);
}

static struct tw_feed_options file_options(int64_t start, int64_t end)
{
	return (struct tw_feed_options){
		.allocator = trawl_allocator_default(),
		.threaded = true,
		.start = start,
		.end = end,
	};
}

static void test_files(void **state)
{
	struct bytes text = sample(30000), gzip = { 0 };
	struct tw_feed_options options = file_options(0, -1);
	struct tw_feed *feed;
	struct outcome o = { 0 };

	(void)state;
	write_file(&text);
	assert_int_equal(tw_feed_open(&feed, path, &options, NULL), 0);
	assert_true(tw_feed_is_plain(feed));
	assert_int_equal(tw_feed_file_size(feed), text.len);
	drain(feed, 100, &o);
	assert_int_equal(tw_feed_bytes_read(feed), text.len);
	tw_feed_close(feed);
	assert_int_equal(o.text.len, text.len);
	assert_memory_equal(o.text.ptr, text.ptr, text.len);
	drop(&o.text);
	add_gzip(&gzip, text.ptr, text.len);
	write_file(&gzip);
	assert_int_equal(tw_feed_open(&feed, path, &options, NULL), 0);
	assert_false(tw_feed_is_plain(feed));
	assert_int_equal(tw_feed_file_size(feed), gzip.len);
	drain(feed, 100, &o);
	assert_int_equal(tw_feed_bytes_read(feed), gzip.len);
	tw_feed_close(feed);
	assert_int_equal(o.text.len, text.len);
	assert_memory_equal(o.text.ptr, text.ptr, text.len);
	drop(&o.text);
	drop(&gzip);
	drop(&text);
}

/* Two parts make the whole, a mark in front or not. */
static void test_parts(void **state)
{
	struct bytes text = { 0 }, gzip = { 0 };
	struct tw_feed_options options;
	struct trawl_error err;
	struct tw_feed *feed;
	size_t cut;

	(void)state;
	add_text(&text, "\xef\xbb\xbf");
	add_events(&text, 30000);
	write_file(&text);
	for (cut = 3; cut <= text.len; cut += text.len / 7) {
		struct outcome a = { 0 }, b = { 0 };

		options = file_options(0, (int64_t)cut);
		assert_int_equal(tw_feed_open(&feed, path, &options, &err), 0);
		drain(feed, 50, &a);
		tw_feed_close(feed);
		options = file_options((int64_t)cut, cut % 2 ? (int64_t)text.len : -1);
		assert_int_equal(tw_feed_open(&feed, path, &options, &err), 0);
		drain(feed, 50, &b);
		assert_int_equal(tw_feed_bytes_read(feed), b.text.len);
		tw_feed_close(feed);
		assert_int_equal(b.first_offset, cut);
		add(&a.text, b.text.ptr, b.text.len);
		assert_int_equal(a.text.len, text.len - 3);
		assert_memory_equal(a.text.ptr, text.ptr + 3, a.text.len);
		drop(&a.text);
		drop(&b.text);
	}
	add_gzip(&gzip, text.ptr, text.len);
	write_file(&gzip);
	options = file_options(100, 200);
	assert_int_equal(tw_feed_open(&feed, path, &options, &err), TRAWL_EUSAGE);
	options = file_options(0, 200);
	assert_int_equal(tw_feed_open(&feed, path, &options, &err), TRAWL_EUSAGE);
	drop(&gzip);
	drop(&text);
}

/* A file as standard input: its text, but no parts, since it has one place for all readers. */
static void test_standard_input(void **state)
{
	struct bytes text = sample(30000);
	struct tw_feed_options options = file_options(0, -1);
	int saved = dup(STDIN_FILENO), file;
	struct outcome o = { 0 };
	struct tw_feed *feed;

	(void)state;
	write_file(&text);
	file = open(path, O_RDONLY);
	assert_true(file >= 0);
	assert_true(dup2(file, STDIN_FILENO) >= 0);
	close(file);
	assert_int_equal(tw_feed_open(&feed, "-", &options, NULL), 0);
	assert_false(tw_feed_is_plain(feed));
	drain(feed, 100, &o);
	tw_feed_close(feed);
	assert_int_equal(o.text.len, text.len);
	assert_memory_equal(o.text.ptr, text.ptr, text.len);
	options.end = 10;
	assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_SET), 0);
	assert_int_equal(tw_feed_open(&feed, "-", &options, NULL), TRAWL_EUSAGE);
	dup2(saved, STDIN_FILENO);
	close(saved);
	drop(&o.text);
	drop(&text);
}

static void test_refused_paths(void **state)
{
	struct tw_feed_options options = file_options(0, -1);
	struct bytes empty = { 0 };
	struct trawl_error err;
	struct tw_feed *feed;

	(void)state;
	assert_int_equal(tw_feed_open(&feed, directory, &options, &err), TRAWL_EIO);
	assert_non_null(strstr(err.message, "is a directory"));
	assert_non_null(strstr(err.message, directory));
	assert_int_equal(tw_feed_open(&feed, "/nonexistent/x", &options, &err), TRAWL_EIO);
	assert_string_equal(err.message, "cannot open '/nonexistent/x': No such file or directory");
	write_file(&empty);
	assert_int_equal(tw_feed_open(&feed, path, &options, &err), TRAWL_EFORMAT);
	assert_non_null(strstr(err.message, "is empty"));
	assert_int_equal(tw_feed_open(&feed, "/dev/null", &options, &err), TRAWL_EFORMAT);
	/* The first page of a process is never mapped. */
	if (!access("/proc/self/mem", R_OK)) {
		assert_int_equal(tw_feed_open(&feed, "/proc/self/mem", &options, &err), TRAWL_EIO);
		assert_int_equal(err.offset, 0);
	}
}

/* A writer of small pieces at the other end of a pipe. */
struct writer {
	pthread_t thread;
	int fd;
	const struct bytes *input;
	size_t piece;
};

static void *write_pieces(void *arg)
{
	struct writer *writer = arg;
	size_t done = 0;

	while (done < writer->input->len) {
		size_t len = writer->input->len - done;
		ssize_t n;

		n = write(writer->fd, writer->input->ptr + done,
			  len < writer->piece ? len : writer->piece);
		if (n < 0)
			break;
		done += (size_t)n;
	}
	close(writer->fd);
	return NULL;
}

static void test_pipe(void **state)
{
	struct bytes text = sample(3000), gzip = { 0 };
	size_t piece;

	(void)state;
	add_gzip(&gzip, text.ptr, 1000);
	add_gzip(&gzip, text.ptr + 1000, text.len - 1000);
	for (piece = 1; piece < 5000; piece = piece * 3 + 1) {
		struct writer writer = { .input = piece % 2 ? &gzip : &text, .piece = piece };
		struct tw_feed_options options = file_options(0, -1);
		struct outcome o = { 0 };
		struct tw_feed *feed;
		char name[32];
		int ends[2];

		assert_int_equal(pipe(ends), 0);
		writer.fd = ends[1];
		assert_int_equal(pthread_create(&writer.thread, NULL, write_pieces, &writer), 0);
		snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
		assert_int_equal(tw_feed_open(&feed, name, &options, &o.err), 0);
		assert_false(tw_feed_is_plain(feed));
		assert_int_equal(tw_feed_file_size(feed), -1);
		drain(feed, 10, &o);
		assert_int_equal(o.next_status, 0);
		assert_int_equal(o.text.len, text.len);
		assert_memory_equal(o.text.ptr, text.ptr, text.len);
		tw_feed_close(feed);
		close(ends[0]);
		pthread_join(writer.thread, NULL);
		drop(&o.text);
	}
	drop(&gzip);
	drop(&text);
}

/* The writer says no more and does not end: closing does not wait for it. */
static void test_close_while_reading(void **state)
{
	struct bytes text = sample(300), gzip = { 0 };
	struct tw_feed_options options = file_options(0, -1);
	struct tw_window w;
	struct tw_feed *feed;
	char name[32];
	int ends[2];

	(void)state;
	add_gzip(&gzip, text.ptr, text.len);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], gzip.ptr, gzip.len - 20), gzip.len - 20);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	assert_int_equal(tw_feed_open(&feed, name, &options, NULL), 0);
	tw_feed_close(feed);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(pipe(ends), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	options.block_size = 64;
	assert_int_equal(write(ends[1], gzip.ptr, gzip.len - 20), gzip.len - 20);
	assert_int_equal(tw_feed_open(&feed, name, &options, NULL), 0);
	assert_int_equal(tw_feed_next(feed, 0, &w, NULL), 0);
	assert_memory_equal(w.begin, text.ptr, 64);
	tw_feed_close(feed);
	close(ends[0]);
	close(ends[1]);
	drop(&gzip);
	drop(&text);
}

/* A failure behind some bytes: they come first, then the failure with its place, again and again. */
static void test_read_failure(void **state)
{
	struct bytes text = sample(100), gzip = { 0 };
	int saved = dup(STDIN_FILENO), kind;

	(void)state;
	add_gzip(&gzip, text.ptr, text.len);
	for (kind = 0; kind < 4; kind++) {
		struct bytes part = kind % 2 ? gzip : text;
		struct tw_feed_options options = file_options(0, -1);
		struct outcome o = { 0 };
		struct tw_feed *feed;
		int ends[2];

		part.len /= 2;
		options.threaded = kind < 2;
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
		/* A peer that goes with bytes unread resets the connection. */
		assert_int_equal(write(ends[0], "x", 1), 1);
		assert_int_equal(write(ends[1], part.ptr, part.len), part.len);
		close(ends[1]);
		close(ends[0]);
		assert_int_equal(tw_feed_open(&feed, "-", &options, &o.err), 0);
		drain(feed, 0, &o);
		assert_int_equal(o.next_status, TRAWL_EIO);
		assert_int_equal(o.err.offset, part.len);
		assert_non_null(strstr(o.err.message, "standard input"));
		assert_true(o.text.len > 0);
		assert_memory_equal(o.text.ptr, text.ptr, o.text.len);
		if (!(kind % 2))
			assert_int_equal(o.text.len, part.len);
		tw_feed_close(feed);
		drop(&o.text);
	}
	dup2(saved, STDIN_FILENO);
	close(saved);
	drop(&gzip);
	drop(&text);
}

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/input", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_utf8_mark),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_gzip_members),
		cmocka_unit_test(test_gzip_cut_anywhere),
		cmocka_unit_test(test_gzip_behind_the_end),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_gzip_checksums),
		cmocka_unit_test(test_checksum_place),
		cmocka_unit_test(test_damage_anywhere),
		cmocka_unit_test(test_corrupt_middle),
		cmocka_unit_test(test_zlib),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_zstd_checksum),
		cmocka_unit_test(test_zstd_window),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_utf16),
		cmocka_unit_test(test_utf16_characters),
		cmocka_unit_test(test_utf16_cut_anywhere),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_text_of_all_kinds),
		cmocka_unit_test(test_failing_allocations),
		cmocka_unit_test(test_long_event),
		cmocka_unit_test(test_memory_bound),
		cmocka_unit_test(test_close_early),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_standard_input),
		cmocka_unit_test(test_refused_paths),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_close_while_reading),
		cmocka_unit_test(test_read_failure),
	};

	return cmocka_run_group_tests_name("feed", tests, make_directory, remove_directory);
}
