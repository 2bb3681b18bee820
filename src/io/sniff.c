#include "io/sniff.h"

#include "base/advice.h"

#include <string.h>

#define NO_TRACE ", not a profiler trace in JSON"
#define PROTOBUF "binary protobuf (Perfetto)"
#define XPLANE "an XPlane profile (JAX, TensorFlow or XLA)"
#define NOT_READ ", which is not supported yet"

struct signature {
	size_t offset;
	const char *bytes;
	size_t len;
	enum tw_sniff_kind kind;
	const char *name;
	const char *remedy;
};

#define MARK(text) text, sizeof(text) - 1

/* The first that fits counts: longer marks are before those they begin with. */
static const struct signature signatures[] = {
	{ 0, MARK("\x1f\x8b"), TW_SNIFF_GZIP, "gzip", NULL },
	{ 0, MARK("\x28\xb5\x2f\xfd"), TW_SNIFF_ZSTD, "zstd", NULL },
	{ 0, MARK("\xef\xbb\xbf"), TW_SNIFF_UTF8_MARK, NULL, NULL },
	{ 0, MARK("\xff\xfe\0\0"), TW_SNIFF_OTHER, "UTF-32 text",
	  ": convert it first (iconv -f UTF-32 -t UTF-8)" },
	{ 0, MARK("\0\0\xfe\xff"), TW_SNIFF_OTHER, "UTF-32 text",
	  ": convert it first (iconv -f UTF-32 -t UTF-8)" },
	{ 0, MARK("\xff\xfe"), TW_SNIFF_UTF16_LE, NULL, NULL },
	{ 0, MARK("\xfe\xff"), TW_SNIFF_UTF16_BE, NULL, NULL },
	{ 0, MARK("PK\3\4"), TW_SNIFF_OTHER, "a zip archive", ": unpack it first (unzip)" },
	{ 0, MARK("PK\5\6"), TW_SNIFF_OTHER, "an empty zip archive", NO_TRACE },
	{ 0, MARK("BZh"), TW_SNIFF_OTHER, "a bzip2 file", ": decompress it first (bunzip2)" },
	{ 0, MARK("\xfd\x37zXZ\0"), TW_SNIFF_OTHER, "an xz file", ": decompress it first (unxz)" },
	{ 0, MARK("\x04\x22\x4d\x18"), TW_SNIFF_OTHER, "an lz4 file",
	  ": decompress it first (lz4 -d)" },
	{ 0, MARK("\x1f\x9d"), TW_SNIFF_OTHER, "a .Z file (compress)",
	  ": decompress it first (uncompress)" },
	{ 0, MARK("7z\xbc\xaf\x27\x1c"), TW_SNIFF_OTHER, "a 7-Zip archive",
	  ": unpack it first (7z x)" },
	{ 0, MARK("Rar!\x1a\x07"), TW_SNIFF_OTHER, "a RAR archive", ": unpack it first (unrar x)" },
	{ 257, MARK("ustar"), TW_SNIFF_OTHER, "a tar archive", ": unpack it first (tar -xf)" },
	{ 0, MARK("SQLite format 3\0"), TW_SNIFF_DATABASE, "an SQLite database",
	  ", not readable from a pipe or compressed: give the path of the uncompressed file" },
	{ 0, MARK("PAR1"), TW_SNIFF_OTHER, "a Parquet file", NO_TRACE },
	{ 0, MARK("\x89HDF\r\n\x1a\n"), TW_SNIFF_OTHER, "an HDF5 file", NO_TRACE },
	{ 0, MARK("%PDF-"), TW_SNIFF_OTHER, "a PDF document", NO_TRACE },
	{ 0, MARK("\x89PNG\r\n\x1a\n"), TW_SNIFF_OTHER, "a PNG picture", NO_TRACE },
	{ 0, MARK("# tracer:"), TW_SNIFF_OTHER, "an ftrace log (systrace)", NO_TRACE },
	{ 0, MARK("TRACE:\n# tracer:"), TW_SNIFF_OTHER, "an ftrace log (systrace)", NO_TRACE },
	{ 0, MARK("\"Kind\","), TW_SNIFF_OTHER, "a rocprofv3 CSV file", TW_ADVICE_ROCPROF },
	{ 0, MARK("\x7f\x45LF"), TW_SNIFF_OTHER, "a program or library (ELF)", NO_TRACE },
	{ 0, MARK("{\0\0\0"), TW_SNIFF_OTHER, "UTF-32 text",
	  ": convert it first (iconv -f UTF-32LE -t UTF-8)" },
	{ 0, MARK("[\0\0\0"), TW_SNIFF_OTHER, "UTF-32 text",
	  ": convert it first (iconv -f UTF-32LE -t UTF-8)" },
	{ 0, MARK("\0\0\0{"), TW_SNIFF_OTHER, "UTF-32 text",
	  ": convert it first (iconv -f UTF-32BE -t UTF-8)" },
	{ 0, MARK("\0\0\0["), TW_SNIFF_OTHER, "UTF-32 text",
	  ": convert it first (iconv -f UTF-32BE -t UTF-8)" },
	{ 0, MARK("{\0"), TW_SNIFF_UTF16_LE, NULL, NULL },
	{ 0, MARK("[\0"), TW_SNIFF_UTF16_LE, NULL, NULL },
	{ 0, MARK("\0{"), TW_SNIFF_UTF16_BE, NULL, NULL },
	{ 0, MARK("\0["), TW_SNIFF_UTF16_BE, NULL, NULL },
	{ 0, MARK("\x78\x01"), TW_SNIFF_ZLIB, "zlib", NULL },
	{ 0, MARK("\x78\x5e"), TW_SNIFF_ZLIB, "zlib", NULL },
	{ 0, MARK("\x78\x9c"), TW_SNIFF_ZLIB, "zlib", NULL },
	{ 0, MARK("\x78\xda"), TW_SNIFF_ZLIB, "zlib", NULL },
};

/* Sixteen marks in a row, 184D2A50 to 184D2A5F. */
static bool is_zstd_skippable(const char *bytes, size_t len)
{
	return len >= 4 && (bytes[0] & 0xf0) == 0x50 && !memcmp(bytes + 1, "\x2a\x4d\x18", 3);
}

/*
 * A protobuf whose first field is number 1 with a length, as Perfetto's traces are.  That byte is
 * a line feed too, which text may begin with: text has no control characters near its beginning.
 */
static bool is_protobuf(const char *bytes, size_t len)
{
	size_t i;

	if (!len || bytes[0] != '\n')
		return false;
	for (i = 0; i < len && i < 64; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
			return true;
	}
	return false;
}

/* A number of a protobuf; what follows it, NULL when it is not whole. */
static const char *take_number(const char *p, const char *end, uint64_t *value)
{
	unsigned shift;

	*value = 0;
	for (shift = 0; p < end && shift < 64; shift += 7) {
		unsigned char c = (unsigned char)*p++;

		*value |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return p;
	}
	return NULL;
}

static bool is_plane_name(const char *name, size_t len)
{
	static const char *const beginnings[] = { "/host:", "/device:", "Task Environment" };
	size_t i;

	for (i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (len >= strlen(beginnings[i]) &&
		    !memcmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/*
 * XSpace: its field 1 is a plane, with a number (1) and a name (2), in front of all that is long
 * (tsl/profiler/protobuf/xplane.proto).  In Perfetto's first packet field 2 is no text.
 */
static bool is_xplane(const char *bytes, size_t len)
{
	const char *end = bytes + len, *p = take_number(bytes + 1, end, &(uint64_t){ 0 });
	uint64_t tag, value;

	while (p && (p = take_number(p, end, &tag)) && (p = take_number(p, end, &value))) {
		/* A number is all of its field; of text it is the length. */
		if ((tag & 7) == 0)
			continue;
		if ((tag & 7) != 2)
			return false;
		if (tag >> 3 == 2)
			return is_plane_name(p, value < (size_t)(end - p) ? (size_t)value :
									    (size_t)(end - p));
		p = value < (size_t)(end - p) ? p + value : NULL;
	}
	return false;
}

static size_t mark_size(const struct signature *signature)
{
	unsigned char c = (unsigned char)signature->bytes[0];

	switch (signature->kind) {
	case TW_SNIFF_UTF8_MARK:
		return 3;
	case TW_SNIFF_UTF16_LE:
	case TW_SNIFF_UTF16_BE:
		return c >= 0xfe ? 2 : 0;
	default:
		return 0;
	}
}

struct tw_sniff tw_sniff(const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
		const struct signature *s = &signatures[i];

		if (len >= s->offset + s->len && !memcmp(bytes + s->offset, s->bytes, s->len))
			return (struct tw_sniff){ s->kind, mark_size(s), s->name, s->remedy };
	}
	if (is_zstd_skippable(bytes, len))
		return (struct tw_sniff){ TW_SNIFF_ZSTD, 0, "zstd", NULL };
	if (is_protobuf(bytes, len) && is_xplane(bytes, len))
		return (struct tw_sniff){ TW_SNIFF_OTHER, 0, XPLANE, NOT_READ };
	if (is_protobuf(bytes, len))
		return (struct tw_sniff){ TW_SNIFF_OTHER, 0, PROTOBUF,
					  ": convert it to JSON first (traceconv json)" };
	return (struct tw_sniff){ TW_SNIFF_TEXT, 0, NULL, NULL };
}
