/* The type of an input from its first bytes. */
#ifndef TW_IO_SNIFF_H
#define TW_IO_SNIFF_H

#include "trawl/api.h"

enum tw_sniff_kind {
	TW_SNIFF_TEXT, /* or nothing known */
	TW_SNIFF_UTF8_MARK,
	TW_SNIFF_UTF16_LE,
	TW_SNIFF_UTF16_BE,
	TW_SNIFF_GZIP,
	TW_SNIFF_ZLIB,
	TW_SNIFF_ZSTD,
	TW_SNIFF_DATABASE, /* SQLite: read by its path, not as text */
	TW_SNIFF_OTHER,	   /* nothing that text comes out of */
};

struct tw_sniff {
	enum tw_sniff_kind kind;
	size_t mark;	    /* bytes of a byte order mark in front */
	const char *name;   /* compressed: "gzip"; OTHER, DATABASE: "a zip archive"; else NULL */
	const char *remedy; /* the same: after the name, from its punctuation on */
};

/* Looks at up to the first 512 bytes. */
struct tw_sniff tw_sniff(const char *bytes, size_t len);

#endif
