#define _GNU_SOURCE
#include "io/source.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most one read() is asked for; Linux moves no more than 2 GB at once. */
#define READ_LIMIT ((size_t)1 << 30)

/* Reads of fewer bytes, which tests ask for, are served from the head. */
#define SMALL_READ 64

void *tw_source_new(size_t size, const struct tw_source_ops *ops, struct tw_input *input,
		    struct tw_source *inner)
{
	struct tw_source *source = tw_alloc(input->allocator, size);

	if (!source)
		return NULL;
	memset(source, 0, size);
	source->ops = ops;
	source->input = input;
	source->inner = inner;
	return source;
}

void tw_source_close(struct tw_source *source)
{
	while (source) {
		struct tw_source *inner = source->inner;

		source->ops->close(source);
		source = inner;
	}
}

int tw_source_read(struct tw_source *source, char *buf, size_t len, size_t *got,
		   struct trawl_error *err)
{
	size_t left = source->head_len - source->head_pos;

	if (!left && len >= SMALL_READ)
		return source->ops->read(source, buf, len, got, err);
	if (!left) {
		int status = source->ops->read(source, source->head, TW_SOURCE_HEAD, &left, err);

		if (status)
			return status;
		source->head_len = left;
		source->head_pos = 0;
	}
	if (len > left)
		len = left;
	memcpy(buf, source->head + source->head_pos, len);
	source->head_pos += len;
	*got = len;
	return 0;
}

int tw_source_peek(struct tw_source *source, struct trawl_error *err)
{
	while (source->head_len < TW_SOURCE_HEAD) {
		size_t got;
		int status = source->ops->read(source, source->head + source->head_len,
					       TW_SOURCE_HEAD - source->head_len, &got, err);

		if (status)
			return status;
		source->head_len += got;
		source->input->text_offset = (int64_t)source->head_len;
		if (!got)
			break;
	}
	return 0;
}

void tw_source_skip(struct tw_source *source, size_t len)
{
	source->head_pos += len;
}

void tw_input_note(struct tw_input *input, enum tw_feed_note_kind kind, int64_t count,
		   int64_t offset)
{
	struct tw_feed_note *note = &input->notes[kind];

	if (!note->count)
		note->offset = offset;
	note->count += count;
}

void tw_input_note_here(struct tw_input *input, enum tw_feed_note_kind kind)
{
	tw_input_note(input, kind, 1, input->text_offset);
}

int tw_input_nomem(struct tw_input *input, struct trawl_error *err)
{
	return trawl_error_set(err, TRAWL_ENOMEM, "out of memory reading %s", input->name);
}

/* File, standard input, FIFO, socket. */
struct file_source {
	struct tw_source source;
	int fd;
	bool by_place; /* not from where the descriptor stands, which others move */
	int64_t offset;
	int64_t end; /* -1: to its end */
};

static int read_failed(const struct file_source *file, struct trawl_error *err)
{
	return trawl_error_set_at(err, TRAWL_EIO, file->offset, "cannot read %s at byte %lld: %s",
				  file->source.input->name, (long long)file->offset,
				  strerror(errno));
}

/* Until there is something to read or the reader is gone. */
static int wait_readable(const struct file_source *file, struct trawl_error *err)
{
	struct tw_input *input = file->source.input;
	struct pollfd fds[2] = {
		{ .fd = file->fd, .events = POLLIN },
		{ .fd = input->wake[0], .events = POLLIN }, /* poll skips -1 */
	};

	for (;;) {
		int n = poll(fds, 2, -1);

		if (atomic_load(&input->stop))
			return trawl_error_set(err, TRAWL_ECANCELED, "reading %s was interrupted",
					       input->name);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return read_failed(file, err);
	}
}

static int file_read(struct tw_source *source, char *buf, size_t len, size_t *got,
		     struct trawl_error *err)
{
	struct file_source *file = (struct file_source *)source;
	struct tw_input *input = source->input;
	bool wait = input->wake[0] >= 0;
	ssize_t n;

	*got = 0;
	if (len > READ_LIMIT)
		len = READ_LIMIT;
	if (file->end >= 0 && (int64_t)len > file->end - file->offset)
		len = file->end > file->offset ? (size_t)(file->end - file->offset) : 0;
	if (!len)
		return 0;
	for (;;) {
		if (atomic_load(&input->stop))
			return trawl_error_set(err, TRAWL_ECANCELED, "reading %s was interrupted",
					       input->name);
		if (wait) {
			int status = wait_readable(file, err);

			if (status)
				return status;
		}
		n = file->by_place ? pread(file->fd, buf, len, (off_t)file->offset) :
				     read(file->fd, buf, len);
		if (n >= 0)
			break;
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			wait = true;
		else if (errno != EINTR)
			return read_failed(file, err);
	}
	*got = (size_t)n;
	file->offset += n;
	atomic_fetch_add_explicit(&input->bytes_read, n, memory_order_relaxed);
	return 0;
}

static void file_close(struct tw_source *source)
{
	tw_free(source->input->allocator, source, sizeof(struct file_source));
}

int tw_source_open_file(struct tw_source **out, struct tw_input *input, int fd, int64_t start,
			int64_t end, struct trawl_error *err)
{
	static const struct tw_source_ops ops = { file_read, file_close };
	struct file_source *file = tw_source_new(sizeof(*file), &ops, input, NULL);

	if (!file)
		return tw_input_nomem(input, err);
	file->fd = fd;
	file->by_place = start > 0;
	file->offset = start;
	file->end = end;
	*out = &file->source;
	return 0;
}

struct memory_source {
	struct tw_source source;
	const char *bytes;
	size_t len, pos;
};

static int memory_read(struct tw_source *source, char *buf, size_t len, size_t *got,
		       struct trawl_error *err)
{
	struct memory_source *memory = (struct memory_source *)source;

	*got = 0;
	if (atomic_load(&source->input->stop))
		return trawl_error_set(err, TRAWL_ECANCELED, "reading %s was interrupted",
				       source->input->name);
	if (len > memory->len - memory->pos)
		len = memory->len - memory->pos;
	if (!len)
		return 0;
	memcpy(buf, memory->bytes + memory->pos, len);
	memory->pos += len;
	*got = len;
	atomic_fetch_add_explicit(&source->input->bytes_read, (int64_t)len, memory_order_relaxed);
	return 0;
}

static void memory_close(struct tw_source *source)
{
	tw_free(source->input->allocator, source, sizeof(struct memory_source));
}

int tw_source_open_memory(struct tw_source **out, struct tw_input *input, const char *bytes,
			  size_t len, struct trawl_error *err)
{
	static const struct tw_source_ops ops = { memory_read, memory_close };
	struct memory_source *memory = tw_source_new(sizeof(*memory), &ops, input, NULL);

	if (!memory)
		return tw_input_nomem(input, err);
	memory->bytes = bytes;
	memory->len = len;
	*out = &memory->source;
	return 0;
}

int tw_chunk_fill(struct tw_chunk *chunk, struct tw_source *inner, struct trawl_error *err)
{
	size_t got;
	int status;

	if (chunk->pos < chunk->len || chunk->ended)
		return 0;
	status = tw_source_read(inner, chunk->bytes, TW_SOURCE_CHUNK, &got, err);
	if (status)
		return status;
	chunk->offset += (int64_t)chunk->len;
	chunk->pos = 0;
	chunk->len = got;
	chunk->ended = !got;
	return 0;
}

int tw_chunk_trailing(struct tw_chunk *chunk, struct tw_source *inner, size_t before,
		      struct trawl_error *err)
{
	struct tw_input *input = inner->input;
	int64_t count = (int64_t)before;
	int64_t first = chunk->offset + (int64_t)chunk->pos - count;

	/* A place in the file is only known where the file itself is read. */
	if (inner->inner)
		first = atomic_load_explicit(&input->bytes_read, memory_order_relaxed);
	for (;;) {
		int status = tw_chunk_fill(chunk, inner, err);

		if (status)
			return status;
		if (chunk->pos == chunk->len)
			break;
		count += (int64_t)(chunk->len - chunk->pos);
		chunk->pos = chunk->len;
	}
	tw_input_note(input, TW_FEED_TRAILING, count, first);
	return 0;
}
