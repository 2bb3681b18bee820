/* The feed: every kind of wrapping, whole and damaged, in windows of every size. */
#include "io/feed.h"
#include "feed_inputs.h"

#include <isa-l/igzip_lib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_plain(void **state)
{
	struct bytes text = sample_text(3000), input = { 0 };

	(void)state;
	bytes_add(&input, text.ptr, text.len);
	feed_expect(&input, &text, 0);
	/* A single byte is text as well. */
	text.len = 1;
	bytes_add(&input, text.ptr, 1);
	feed_expect(&input, &text, 0);
	bytes_drop(&text);
}

static void test_utf8_mark(void **state)
{
	struct bytes text = sample_text(20), input = { 0 }, marked = { 0 };
	struct feed_outcome o;

	(void)state;
	bytes_text(&marked, "\xef\xbb\xbf");
	bytes_add(&marked, text.ptr, text.len);
	bytes_add(&input, marked.ptr, marked.len);
	o = feed_expect(&input, &text, NOTE(TW_FEED_BOM));
	assert_int_equal(o.first_offset, 3);
	bytes_gzip(&input, marked.ptr, marked.len);
	o = feed_expect(&input, &text, NOTE(TW_FEED_BOM));
	assert_int_equal(o.first_offset, 3);
	/* The mark alone: no text, no error. */
	text.len = 0;
	bytes_add(&input, marked.ptr, 3);
	feed_expect(&input, &text, NOTE(TW_FEED_BOM));
	bytes_drop(&marked);
	bytes_drop(&text);
}

static void test_gzip(void **state)
{
	struct bytes text = sample_text(30000), input = { 0 };

	(void)state;
	bytes_gzip(&input, text.ptr, text.len);
	feed_expect(&input, &text, 0);
	text.len = 0;
	bytes_gzip(&input, "", 0);
	feed_expect(&input, &text, 0);
	bytes_drop(&text);
}

/* Empty members, header fields, stored and compressed members, one cut in the middle of a line. */
static void test_gzip_members(void **state)
{
	struct bytes text = sample_text(400), input = { 0 };

	(void)state;
	bytes_gzip(&input, "", 0);
	bytes_gzip_with_fields(&input, "", 0);
	bytes_gzip_with_fields(&input, text.ptr, 1);
	bytes_gzip(&input, text.ptr + 1, 9999);
	bytes_gzip(&input, "", 0);
	bytes_gzip_with_fields(&input, text.ptr + 10000, text.len - 10000);
	bytes_gzip(&input, "", 0);
	feed_expect(&input, &text, 0);
	bytes_drop(&text);
}

/* Each byte of the file in a read of its own: whatever can be cut is cut. */
static void test_gzip_cut_anywhere(void **state)
{
	struct bytes text = sample_text(60), file = { 0 }, input = { 0 };
	size_t i;

	(void)state;
	bytes_gzip_with_fields(&file, text.ptr, 100);
	bytes_gzip(&file, text.ptr + 100, text.len - 200);
	bytes_gzip_with_fields(&file, text.ptr + text.len - 100, 100);
	for (i = 0; i < file.len; i++)
		bytes_gzip(&input, file.ptr + i, 1);
	feed_expect(&input, &text, NOTE(TW_FEED_NESTED));
	bytes_drop(&file);
	bytes_zstd(&file, text.ptr, 100, true, true);
	bytes_text(&file, "\x5e\x2a\x4d\x18\x05");
	bytes_add(&file, "\0\0\0?????", 8);
	bytes_zstd(&file, text.ptr + 100, text.len - 100, true, false);
	for (i = 0; i < file.len; i++)
		bytes_gzip(&input, file.ptr + i, 1);
	feed_expect(&input, &text, NOTE(TW_FEED_NESTED));
	bytes_drop(&file);
	bytes_drop(&text);
}

static void test_gzip_behind_the_end(void **state)
{
	static const char *const garbage[] = { "x", "\x1f", "\x1f\x8c", "\n",
					       "\x1f\x8b\x09xxxxxxx" };
	struct bytes text = sample_text(100), input = { 0 };
	struct feed_outcome o;
	size_t i, size;

	(void)state;
	for (i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		bytes_gzip(&input, text.ptr, text.len);
		size = input.len;
		bytes_text(&input, garbage[i]);
		o = feed_expect(&input, &text, NOTE(TW_FEED_TRAILING));
		assert_int_equal(o.notes[TW_FEED_TRAILING].count, strlen(garbage[i]));
		assert_int_equal(o.notes[TW_FEED_TRAILING].offset, size);
	}
	/* Padding of zeros is nothing, but in front of other bytes they are no padding. */
	bytes_gzip(&input, text.ptr, text.len);
	bytes_add(&input, (char[500]){ 0 }, 500);
	feed_expect(&input, &text, 0);
	bytes_gzip(&input, text.ptr, text.len);
	size = input.len;
	bytes_add(&input, (char[500]){ 0 }, 500);
	bytes_text(&input, "garbage");
	o = feed_expect(&input, &text, NOTE(TW_FEED_TRAILING));
	assert_int_equal(o.notes[TW_FEED_TRAILING].count, 507);
	assert_int_equal(o.notes[TW_FEED_TRAILING].offset, size);
	bytes_gzip(&input, text.ptr, 50);
	bytes_add(&input, (char[500]){ 0 }, 500);
	bytes_gzip(&input, text.ptr + 50, text.len - 50);
	bytes_add(&input, (char[1]){ 0 }, 1);
	feed_expect(&input, &text, 0);
	bytes_drop(&text);
}

/* What comes out of a file cut at `cut` is a beginning of the text, and the cut is noted. */
static void check_cut(const struct bytes *file, size_t cut, const struct bytes *text, unsigned also)
{
	struct bytes part = { file->ptr, cut, 0 };
	struct feed_outcome o;

	feed_run_all(&part, &o);
	if (o.open_status) {
		assert_int_equal(o.open_status, TRAWL_EFORMAT);
		assert_non_null(strstr(o.err.message, cut ? "truncated" : "empty"));
	} else {
		assert_int_equal(o.next_status, 0);
		assert_true(o.text.len <= text->len);
		assert_memory_equal(o.text.ptr, text->ptr, o.text.len);
		feed_check_notes(&o, also | NOTE(TW_FEED_TRUNCATED));
		assert_int_equal(o.notes[TW_FEED_TRUNCATED].count, 1);
		assert_int_equal(o.notes[TW_FEED_TRUNCATED].offset, o.text.len);
	}
	bytes_drop(&o.text);
}

static void test_truncated(void **state)
{
	struct bytes text = sample_text(12), file = { 0 }, nested = { 0 }, z = { 0 };
	size_t cut;

	(void)state;
	bytes_gzip_with_fields(&file, text.ptr, 200);
	cut = file.len;
	bytes_gzip(&file, text.ptr + 200, text.len - 200);
	bytes_gzip(&nested, file.ptr, file.len);
	for (cut += 2; cut < file.len; cut += 3)
		check_cut(&file, cut, &text, 0);
	for (cut = 2; cut < 400; cut += 3)
		check_cut(&file, cut, &text, 0);
	for (cut = 2; cut < nested.len; cut += 11)
		check_cut(&nested, cut, &text, NOTE(TW_FEED_NESTED));
	bytes_zstd(&z, text.ptr, text.len, true, true);
	for (cut = 4; cut < z.len; cut += 3)
		check_cut(&z, cut, &text, 0);
	bytes_drop(&file);
	bytes_drop(&nested);
	bytes_drop(&z);
	bytes_drop(&text);
}

static void test_gzip_checksums(void **state)
{
	struct bytes text = sample_text(100), input = { 0 };
	struct feed_outcome o;

	(void)state;
	/* A wrong CRC, a wrong length, a wrong CRC of the header: three members, all text kept. */
	bytes_gzip(&input, text.ptr, 300);
	input.ptr[input.len - 8] ^= 1;
	bytes_gzip(&input, text.ptr + 300, 300);
	input.ptr[input.len - 1] ^= 1;
	bytes_gzip_with_fields(&input, text.ptr + 600, text.len - 600);
	input.ptr[input.len - 8 - (text.len - 600) - 5 - 1] ^= 1;
	o = feed_expect(&input, &text, NOTE(TW_FEED_CHECKSUM));
	assert_int_equal(o.notes[TW_FEED_CHECKSUM].count, 3);
	bytes_drop(&text);
}

static void test_checksum_place(void **state)
{
	struct bytes text = sample_text(100), input = { 0 };
	struct feed_outcome o;

	(void)state;
	bytes_gzip(&input, text.ptr, 5000);
	bytes_gzip(&input, text.ptr + 5000, 1000);
	input.ptr[input.len - 8] ^= 1;
	bytes_gzip(&input, text.ptr + 6000, text.len - 6000);
	o = feed_expect(&input, &text, NOTE(TW_FEED_CHECKSUM));
	assert_int_equal(o.notes[TW_FEED_CHECKSUM].offset, 6000);
	bytes_drop(&text);
}

/* Damage somewhere: never a failure of the program, and the same in all manners. */
static void test_damage_anywhere(void **state)
{
	struct bytes text = sample_text(40), file = { 0 };
	struct feed_outcome o;
	size_t i, kind;

	(void)state;
	for (kind = 0; kind < 2; kind++) {
		if (kind == 0) {
			bytes_gzip(&file, text.ptr, 2000);
			bytes_gzip(&file, text.ptr + 2000, text.len - 2000);
		} else {
			bytes_zstd(&file, text.ptr, 2000, true, true);
			bytes_zstd(&file, text.ptr + 2000, text.len - 2000, true, false);
		}
		for (i = 0; i < file.len; i += 11) {
			file.ptr[i] ^= 1 << (i % 8);
			feed_run_all(&file, &o);
			bytes_drop(&o.text);
			file.ptr[i] ^= 1 << (i % 8);
		}
		bytes_drop(&file);
	}
	bytes_drop(&text);
}

/* A stretch of nonsense in the middle of a large member: what stands before it comes out. */
static void test_corrupt_middle(void **state)
{
	struct bytes text = sample_text(40000), file = { 0 };
	struct feed_outcome o;
	size_t i, kind;

	(void)state;
	for (kind = 0; kind < 2; kind++) {
		if (kind == 0)
			bytes_gzip(&file, text.ptr, text.len);
		else
			bytes_zstd(&file, text.ptr, text.len, false, true);
		for (i = 0; i < 64; i++)
			file.ptr[file.len / 2 + i] = (char)0xff;
		feed_run_all(&file, &o);
		assert_int_equal(o.open_status, 0);
		assert_int_equal(o.next_status, 0);
		feed_check_notes(&o, NOTE(TW_FEED_CORRUPT));
		assert_int_equal(o.notes[TW_FEED_CORRUPT].offset, o.text.len);
		assert_true(o.text.len > text.len / 4);
		assert_memory_equal(o.text.ptr, text.ptr, text.len / 4);
		bytes_drop(&o.text);
		bytes_drop(&file);
	}
	bytes_drop(&text);
}

/* `bits` bits behind the *at bits there are: numbers lowest first, Huffman codes highest first. */
static void deflate_bits(struct bytes *b, size_t *at, unsigned value, unsigned bits, bool code)
{
	unsigned i;

	for (i = 0; i < bits; i++, ++*at) {
		if (*at % 8 == 0)
			bytes_add(b, "", 1);
		b->ptr[b->len - 1] |= (char)((value >> (code ? bits - 1 - i : i) & 1) << *at % 8);
	}
}

/* A match of 258 bytes whose distance is none: what stands before it comes out, and no more. */
static void test_wrong_distance(void **state)
{
	/* 30 is no distance (RFC 1951, 3.2.6); 29 begins at 24577, before the text. */
	static const unsigned distances[] = { 30, 31, 29 };
	struct bytes text = { 0 }, file = { 0 };
	size_t i, kind, at = 0;

	(void)state;
	for (i = 0; i < 1000; i++)
		bytes_add(&text, &"abcdefghijk"[i % 11], 1);
	for (kind = 0; kind < 3; kind++, at = 0) {
		bytes_add(&file, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
		deflate_bits(&file, &at, 1 | 1 << 1, 3, false); /* the last block, fixed codes */
		for (i = 0; i < text.len; i++)
			deflate_bits(&file, &at, 0x30 + (unsigned)text.ptr[i], 8, true);
		deflate_bits(&file, &at, 0xc0 + 285 - 280, 8, true); /* 258 bytes */
		deflate_bits(&file, &at, distances[kind], 5, true);
		for (i = 0; i < 500; i++)
			bytes_add(&file, "", 1);
		feed_expect(&file, &text, NOTE(TW_FEED_CORRUPT));
	}
	bytes_drop(&text);
}

static void test_zlib(void **state)
{
	struct bytes text = sample_text(3000), input = { 0 };

	(void)state;
	bytes_deflated(&input, text.ptr, text.len, IGZIP_ZLIB);
	assert_int_equal(input.ptr[0], 0x78);
	feed_expect(&input, &text, NOTE(TW_FEED_ZLIB));
	bytes_deflated(&input, text.ptr, text.len, IGZIP_ZLIB);
	input.ptr[input.len - 1] ^= 1;
	feed_expect(&input, &text, NOTE(TW_FEED_ZLIB) | NOTE(TW_FEED_CHECKSUM));
	bytes_deflated(&input, text.ptr, text.len, IGZIP_ZLIB);
	bytes_text(&input, "behind");
	assert_int_equal(feed_expect(&input, &text, NOTE(TW_FEED_ZLIB) | NOTE(TW_FEED_TRAILING))
				 .notes[TW_FEED_TRAILING]
				 .count,
			 6);
	bytes_deflated(&input, text.ptr, text.len, IGZIP_ZLIB);
	input.len -= 2;
	feed_expect(&input, &text, NOTE(TW_FEED_ZLIB) | NOTE(TW_FEED_TRUNCATED));
	bytes_drop(&text);
}

static void test_zstd(void **state)
{
	struct bytes text = sample_text(30000), input = { 0 }, none = { 0 };
	struct feed_outcome o;

	(void)state;
	bytes_zstd(&input, text.ptr, text.len, true, true);
	feed_expect(&input, &text, 0);
	/* Frames, an empty one and skippable ones among them. */
	bytes_add(&input, "\x50\x2a\x4d\x18\3\0\0\0abc", 11);
	bytes_zstd(&input, text.ptr, 100000, false, false);
	bytes_zstd(&input, "", 0, true, true);
	bytes_zstd(&input, text.ptr + 100000, 10, true, true);
	bytes_zstd(&input, text.ptr + 100010, text.len - 100010, true, false);
	bytes_add(&input, "\x5f\x2a\x4d\x18\0\0\0\0", 8);
	bytes_add(&input, (char[9]){ 0 }, 9);
	feed_expect(&input, &text, 0);
	bytes_zstd(&input, text.ptr, text.len, true, true);
	bytes_text(&input, "behind");
	o = feed_expect(&input, &text, NOTE(TW_FEED_TRAILING));
	assert_int_equal(o.notes[TW_FEED_TRAILING].count, 6);
	bytes_zstd(&input, text.ptr, text.len, true, true);
	bytes_text(&input, "be");
	o = feed_expect(&input, &text, NOTE(TW_FEED_TRAILING));
	assert_int_equal(o.notes[TW_FEED_TRAILING].count, 2);
	bytes_zstd(&input, text.ptr, text.len, true, true);
	bytes_add(&input, "\0\0\0behind", 9);
	o = feed_expect(&input, &text, NOTE(TW_FEED_TRAILING));
	assert_int_equal(o.notes[TW_FEED_TRAILING].count, 9);
	bytes_add(&input, "\x50\x2a\x4d\x18\3\0\0\0abc", 11);
	feed_expect(&input, &none, 0);
	bytes_drop(&text);
}

static void test_zstd_checksum(void **state)
{
	struct bytes text = sample_text(3000), input = { 0 };
	struct feed_outcome o;

	(void)state;
	/* Small enough that libzstd would decode the frame in one go, and lose it. */
	bytes_zstd(&input, text.ptr, 1000, true, true);
	input.ptr[input.len - 1] ^= 1;
	bytes_zstd(&input, text.ptr + 1000, text.len - 1000, true, true);
	o = feed_expect(&input, &text, NOTE(TW_FEED_CHECKSUM));
	assert_int_equal(o.notes[TW_FEED_CHECKSUM].offset, 1000);
	bytes_drop(&text);
}

/* Header of a frame with the window 2^log, and an empty last block. */
static void add_window(struct bytes *b, int log)
{
	bytes_add(b, "\x28\xb5\x2f\xfd\0", 5);
	bytes_le(b, (uint64_t)(log - 10) << 3, 1);
	bytes_add(b, "\1\0\0", 3);
}

static void test_zstd_window(void **state)
{
	struct bytes input = { 0 }, none = { 0 };
	struct feed_outcome o;

	(void)state;
	add_window(&input, 27);
	feed_expect(&input, &none, 0);
	/* The largest there is: where memory allows it. */
	add_window(&input, 31);
	feed_run(&input, &feed_manners[0], &o);
	assert_true(!o.open_status || o.open_status == TRAWL_ENOMEM);
	bytes_drop(&input);
	add_window(&input, 32);
	feed_expect_refusal(&input, TRAWL_ELIMIT, "window");
}

static void test_nested(void **state)
{
	struct bytes text = sample_text(500), one = { 0 }, two = { 0 }, three = { 0 }, four = { 0 };
	struct feed_outcome o;

	(void)state;
	bytes_gzip(&one, text.ptr, text.len);
	bytes_zstd(&two, one.ptr, one.len, true, true);
	bytes_gzip(&three, two.ptr, two.len);
	bytes_deflated(&four, three.ptr, three.len, IGZIP_ZLIB);
	o = feed_expect(&two, &text, NOTE(TW_FEED_NESTED));
	assert_int_equal(o.notes[TW_FEED_NESTED].count, 1);
	o = feed_expect(&three, &text, NOTE(TW_FEED_NESTED));
	assert_int_equal(o.notes[TW_FEED_NESTED].count, 2);
	feed_expect_refusal(&four, TRAWL_EFORMAT, "more than 3 times");
	bytes_drop(&one);
	bytes_drop(&text);
}

static void test_utf16(void **state)
{
	struct bytes text = sample_text(600), input = { 0 }, plain = { 0 };
	int marked, big;

	(void)state;
	for (marked = 0; marked < 2; marked++) {
		for (big = 0; big < 2; big++) {
			if (marked)
				bytes_add(&plain, big ? "\xfe\xff" : "\xff\xfe", 2);
			bytes_utf16(&plain, text.ptr, text.len, big);
			bytes_gzip(&input, plain.ptr, plain.len);
			feed_expect(&plain, &text, NOTE(TW_FEED_UTF16));
			feed_expect(&input, &text, NOTE(TW_FEED_UTF16));
		}
	}
	bytes_drop(&text);
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
		bytes_add(&input, cases[i].utf16, cases[i].len);
		bytes_text(&text, cases[i].utf8);
		feed_expect(&input, &text, NOTE(TW_FEED_UTF16));
		text.len = 0;
	}
	bytes_drop(&text);
}

/* Every unit cut by reads of one byte. */
static void test_utf16_cut_anywhere(void **state)
{
	struct bytes wide = { 0 }, input = { 0 }, text = { 0 };
	size_t i;

	(void)state;
	bytes_add(&wide, "\xff\xfe\x3d\xd8\x00\xde{\0\xe9\0\x3d\xd8x\0", 14);
	for (i = 0; i < wide.len; i++)
		bytes_gzip(&input, wide.ptr + i, 1);
	bytes_text(&text, "\xf0\x9f\x98\x80{\xc3\xa9\xef\xbf\xbdx");
	feed_expect(&input, &text, NOTE(TW_FEED_UTF16));
	bytes_drop(&wide);
	bytes_drop(&text);
}

static void test_other_kinds(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *said;
	} cases[] = {
		{ "", 0, "empty (the profiler wrote no data)" },
		{ "PK\3\4....", 8, "unzip" },
		{ "BZh91AY", 7, "bunzip2" },
		{ "\xfd"
		  "7zXZ\0..",
		  8, "unxz" },
		{ "7z\xbc\xaf\x27\x1c", 6, "7-Zip" },
		{ "SQLite format 3\0....", 20, "SQLite database, not readable from a pipe" },
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
		bytes_add(&input, cases[i].bytes, cases[i].len);
		feed_expect_refusal(&input, TRAWL_EFORMAT, cases[i].said);
	}
	bytes_gzip(&input, "PK\3\4....", 8);
	feed_expect_refusal(&input, TRAWL_EFORMAT, "a zip archive inside gzip");
	bytes_add(&input, (char[512]){ 0 }, 512);
	memcpy(input.ptr + 257, "ustar", 5);
	feed_expect_refusal(&input, TRAWL_EFORMAT, "tar -xf");
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
		bytes_text(&text, texts[i]);
		bytes_text(&input, texts[i]);
		feed_expect(&input, &text, 0);
	}
	bytes_drop(&text);
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
		cmocka_unit_test(test_wrong_distance),
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
	};

	return cmocka_run_group_tests_name("feed", tests, NULL, NULL);
}
