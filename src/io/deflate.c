#include "io/deflate.h"

#include "base/alloc.h"
#include "io/sink.h"

#include <isa-l/igzip_lib.h>
#include <string.h>

/* What is compressed at a time: always as much, so that the result does not depend on the writes. */
#define CHUNK ((size_t)256 << 10)
#define LEVEL 1

struct tw_deflate {
	const struct trawl_allocator *allocator;
	struct tw_sink *sink;
	bool gzip;
	size_t used; /* of `chunk` */
	struct isal_zstream stream;
	_Alignas(16) uint8_t work[ISAL_DEF_LVL1_DEFAULT];
	uint8_t chunk[CHUNK], packed[CHUNK];
};

int tw_deflate_open(struct tw_deflate **out, const char *path, bool gzip,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_deflate *d = tw_alloc_array(allocator, 1, sizeof(*d));
	int status;

	*out = NULL;
	if (!d)
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot write '%s': out of memory", path);
	d->allocator = allocator;
	d->gzip = gzip;
	if (gzip) {
		isal_deflate_init(&d->stream);
		d->stream.level = LEVEL;
		d->stream.level_buf = d->work;
		d->stream.level_buf_size = sizeof(d->work);
		d->stream.gzip_flag = IGZIP_GZIP;
	}
	status = tw_sink_open(&d->sink, path, allocator, err);
	if (status) {
		tw_free(allocator, d, sizeof(*d));
		return status;
	}
	*out = d;
	return 0;
}

/* Compresses the chunk; with `last` everything comes out. */
static void pack(struct tw_deflate *d, bool last)
{
	d->stream.next_in = d->chunk;
	d->stream.avail_in = (uint32_t)d->used;
	d->stream.end_of_stream = last;
	d->used = 0;
	do {
		d->stream.next_out = d->packed;
		d->stream.avail_out = (uint32_t)sizeof(d->packed);
		/* Its only failures are wrong parameters. */
		isal_deflate(&d->stream);
		tw_sink_write(d->sink, (const char *)d->packed,
			      sizeof(d->packed) - d->stream.avail_out);
	} while (!d->stream.avail_out || (last && d->stream.internal_state.state != ZSTATE_END));
}

void tw_deflate_write(struct tw_deflate *d, const char *bytes, size_t len)
{
	if (!d->gzip) {
		tw_sink_write(d->sink, bytes, len);
		return;
	}
	while (len) {
		size_t n = CHUNK - d->used < len ? CHUNK - d->used : len;

		memcpy(d->chunk + d->used, bytes, n);
		d->used += n;
		bytes += n;
		len -= n;
		if (d->used == CHUNK)
			pack(d, false);
	}
}

int tw_deflate_commit(struct tw_deflate *d, struct trawl_error *err)
{
	int status;

	if (d->gzip)
		pack(d, true);
	status = tw_sink_commit(d->sink, err);
	tw_free(d->allocator, d, sizeof(*d));
	return status;
}

void tw_deflate_abort(struct tw_deflate *d)
{
	if (!d)
		return;
	tw_sink_abort(d->sink);
	tw_free(d->allocator, d, sizeof(*d));
}
