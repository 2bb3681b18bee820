#include "io/unzip.h"
#include "base/alloc.h"

#include <errno.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)64 << 10)
#define LONGEST_NAME 255

#define END_SIGNATURE 0x06054b50u
#define ENTRY_SIGNATURE 0x02014b50u
#define LOCAL_SIGNATURE 0x04034b50u
#define END_SIZE 22
#define ENTRY_SIZE 46
#define LOCAL_SIZE 30
/* The end record has a comment of up to 65535 bytes after it. */
#define END_SEARCH ((int64_t)END_SIZE + 65535)

struct entry {
	char name[LONGEST_NAME + 1];
	unsigned method;
	uint32_t crc;
	uint64_t packed, size;
	int64_t offset;
};

struct unzip {
	int fd;
	int64_t file_size;
	tw_unzip_fn *each;
	void *context;
	struct trawl_error *err;
	struct inflate_state inflate;
	unsigned char in[BLOCK], out[BLOCK], head[BLOCK + END_SIZE];
};

static unsigned get16(const unsigned char *p)
{
	return p[0] | (unsigned)p[1] << 8;
}

static uint32_t get32(const unsigned char *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static int damaged(struct unzip *zip, const char *what)
{
	return trawl_error_set(zip->err, TRAWL_EFORMAT, "damaged zip archive: %s", what);
}

/* All of [offset, offset + len), or an error. */
static int read_at(struct unzip *zip, void *bytes, size_t len, int64_t offset)
{
	char *p = bytes;

	if (offset < 0 || offset > zip->file_size || (int64_t)len > zip->file_size - offset)
		return damaged(zip, "an entry is outside the file");
	while (len) {
		ssize_t got = pread(zip->fd, p, len, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return trawl_error_set(zip->err, TRAWL_EIO, "cannot read zip archive: %s",
					       got ? strerror(errno) : "unexpected end");
		p += got;
		offset += got;
		len -= (size_t)got;
	}
	return 0;
}

/* --- one entry ---------------------------------------------------------------------------- */

static int pass_on(struct unzip *zip, const struct entry *entry, const unsigned char *bytes,
		   size_t len, uint64_t *total, uint32_t *crc, bool last)
{
	*total += len;
	*crc = crc32_gzip_refl(*crc, bytes, len);
	if (*total > entry->size || (last && *total != entry->size))
		return damaged(zip, "entry length differs from the directory");
	if (last && *crc != entry->crc)
		return damaged(zip, "checksum mismatch of an entry");
	return zip->each(zip->context, entry->name, (const char *)bytes, len, last, zip->err);
}

static int read_stored(struct unzip *zip, const struct entry *entry, int64_t at)
{
	uint64_t left = entry->packed, total = 0;
	uint32_t crc = 0;
	int status;

	do {
		size_t len = left < BLOCK ? (size_t)left : BLOCK;

		status = read_at(zip, zip->in, len, at);
		if (status)
			return status;
		at += (int64_t)len;
		left -= len;
		status = pass_on(zip, entry, zip->in, len, &total, &crc, left == 0);
	} while (!status && left);
	return status;
}

static int read_deflated(struct unzip *zip, const struct entry *entry, int64_t at)
{
	struct inflate_state *state = &zip->inflate;
	uint64_t left = entry->packed, total = 0;
	uint32_t crc = 0;
	int status = 0;
	bool last = false;

	isal_inflate_init(state);
	state->crc_flag = ISAL_DEFLATE;
	while (!status && !last) {
		size_t len;

		if (state->avail_in == 0 && left) {
			len = left < BLOCK ? (size_t)left : BLOCK;
			status = read_at(zip, zip->in, len, at);
			if (status)
				return status;
			at += (int64_t)len;
			left -= len;
			state->next_in = zip->in;
			state->avail_in = (uint32_t)len;
		}
		state->next_out = zip->out;
		state->avail_out = BLOCK;
		if (isal_inflate(state) < 0)
			return damaged(zip, "an entry cannot be decompressed");
		len = BLOCK - state->avail_out;
		last = state->block_state == ISAL_BLOCK_FINISH;
		if (!last && len == 0 && state->avail_in == 0 && left == 0)
			return damaged(zip, "truncated entry");
		status = pass_on(zip, entry, zip->out, len, &total, &crc, last);
	}
	return status;
}

static int read_entry(struct unzip *zip, const struct entry *entry)
{
	unsigned char local[LOCAL_SIZE];
	int status = read_at(zip, local, LOCAL_SIZE, entry->offset);
	int64_t at;

	if (status)
		return status;
	if (get32(local) != LOCAL_SIGNATURE)
		return damaged(zip, "entry offset differs from the directory");
	at = entry->offset + LOCAL_SIZE + get16(local + 26) + get16(local + 28);
	if (entry->method == 0 && entry->packed == entry->size)
		return read_stored(zip, entry, at);
	if (entry->method == 8)
		return read_deflated(zip, entry, at);
	return damaged(zip, "unknown compression");
}

/* --- directory ---------------------------------------------------------------------------- */

/* Reads the directory entry at *at and moves *at after it. */
static int next_entry(struct unzip *zip, struct entry *entry, int64_t *at)
{
	unsigned char fixed[ENTRY_SIZE];
	size_t name_len, kept;
	int status = read_at(zip, fixed, ENTRY_SIZE, *at);

	if (status)
		return status;
	if (get32(fixed) != ENTRY_SIGNATURE)
		return damaged(zip, "damaged directory");
	if (get16(fixed + 8) & 1)
		return damaged(zip, "an entry is encrypted");
	entry->method = get16(fixed + 10);
	entry->crc = get32(fixed + 16);
	entry->packed = get32(fixed + 20);
	entry->size = get32(fixed + 24);
	entry->offset = get32(fixed + 42);
	if (entry->packed == UINT32_MAX || entry->size == UINT32_MAX || entry->offset == UINT32_MAX)
		return damaged(zip, "ZIP64 is not supported");
	name_len = get16(fixed + 28);
	kept = name_len < LONGEST_NAME ? name_len : LONGEST_NAME;
	status = read_at(zip, entry->name, kept, *at + ENTRY_SIZE);
	entry->name[kept] = '\0';
	*at += ENTRY_SIZE + (int64_t)name_len + get16(fixed + 30) + get16(fixed + 32);
	return status;
}

/* From the end record, the last one: number of entries, offset of their directory. */
static int find_directory(struct unzip *zip, unsigned *count, int64_t *offset)
{
	size_t len = (size_t)(zip->file_size < END_SEARCH ? zip->file_size : END_SEARCH), i;
	int status = read_at(zip, zip->head, len, zip->file_size - (int64_t)len);

	if (status)
		return status;
	for (i = len < END_SIZE ? 0 : len - END_SIZE + 1; i-- > 0;) {
		if (get32(zip->head + i) == END_SIGNATURE) {
			*count = get16(zip->head + i + 10);
			*offset = get32(zip->head + i + 16);
			return 0;
		}
	}
	return damaged(zip, "no directory at its end (truncated)");
}

static int read_all(struct unzip *zip)
{
	unsigned count = 0, i;
	struct entry entry;
	struct stat st;
	int64_t at = 0;
	int status;

	if (fstat(zip->fd, &st) != 0)
		return trawl_error_set(zip->err, TRAWL_EIO, "cannot read zip archive: %s",
				       strerror(errno));
	zip->file_size = st.st_size;
	status = find_directory(zip, &count, &at);
	for (i = 0; i < count && !status; i++) {
		status = next_entry(zip, &entry, &at);
		if (!status)
			status = read_entry(zip, &entry);
	}
	return status;
}

int tw_unzip(int fd, tw_unzip_fn *each, void *context, const struct trawl_allocator *allocator,
	     struct trawl_error *err)
{
	struct unzip *zip = tw_alloc_array(allocator, 1, sizeof(*zip));
	int status;

	if (!zip)
		return tw_no_memory(err);
	zip->fd = fd;
	zip->each = each;
	zip->context = context;
	zip->err = err;
	status = read_all(zip);
	tw_free(allocator, zip, sizeof(*zip));
	return status;
}
