/* The feed and its surroundings: memory, threads, files, pipes, failures of all of them. */
#define _GNU_SOURCE
#include "io/feed.h"
#include "base/alloc.h"
#include "feed_inputs.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Fails every allocation once: always reported, never a leak, never a wrong text. */
static void check_failing_allocations(struct bytes *input, const struct feed_manner *manner)
{
	struct feed_outcome whole, o;
	long long n;

	feed_run(input, manner, &whole);
	assert_int_equal(whole.next_status, 0);
	for (n = 1;; n++) {
		struct counting c;

		counting_init(&c);
		c.fail_at = n;
		feed_run_with(&c.allocator, input, manner, &o);
		assert_int_equal(c.live, 0);
		assert_true(o.text.len <= whole.text.len);
		if (o.text.len)
			assert_memory_equal(o.text.ptr, whole.text.ptr, o.text.len);
		bytes_drop(&o.text);
		if (!o.open_status && !o.next_status)
			break;
		assert_int_equal(o.open_status ? o.open_status : o.next_status, TRAWL_ENOMEM);
		assert_int_equal(o.err.status, TRAWL_ENOMEM);
	}
	assert_true(n > 2);
	bytes_drop(&whole.text);
}

static void test_failing_allocations(void **state)
{
	struct bytes text = sample_text(20000), plain = { 0 }, gzip = { 0 }, zstd = { 0 },
		     wide = { 0 };
	size_t i;

	(void)state;
	bytes_add(&plain, text.ptr, text.len);
	bytes_zstd(&zstd, text.ptr, text.len, true, true);
	bytes_utf16(&plain, text.ptr, text.len, false);
	bytes_utf16(&wide, text.ptr, text.len, false);
	bytes_gzip(&gzip, wide.ptr, wide.len);
	for (i = 0; i < FEED_MANNERS; i++) {
		if (feed_manners[i].block == 1)
			continue;
		check_failing_allocations(&plain, &feed_manners[i]);
		check_failing_allocations(&gzip, &feed_manners[i]);
		check_failing_allocations(&zstd, &feed_manners[i]);
	}
	bytes_drop(&plain);
	bytes_drop(&gzip);
	bytes_drop(&zstd);
	bytes_drop(&wide);
	bytes_drop(&text);
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
	bytes_gzip(&gzip, text.ptr, size);
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
	bytes_drop(&text);
	bytes_drop(&gzip);
}

/* Memory does not grow with the input. */
static void test_memory_bound(void **state)
{
	struct bytes text = sample_text(100000), input = { 0 };
	struct counting c;
	struct feed_outcome o;

	(void)state;
	bytes_gzip(&input, text.ptr, text.len);
	counting_init(&c);
	feed_run_with(&c.allocator, &input, &feed_manners[2], &o);
	assert_int_equal(o.next_status, 0);
	assert_true(c.peak < 6 << 20);
	assert_int_equal(c.live, 0);
	bytes_drop(&o.text);
	bytes_drop(&input);
	bytes_drop(&text);
}

/* Closing at any time ends the thread. */
static void test_close_early(void **state)
{
	struct bytes text = sample_text(60000), input = { 0 };
	size_t windows, block;

	(void)state;
	bytes_gzip(&input, text.ptr, text.len);
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
	bytes_drop(&input);
	bytes_drop(&text);
}

/* Files. */
static char directory[] = "/tmp/trawl-test-feed-XXXXXX";
static char path[sizeof(directory) + 16];

static void write_file(const struct bytes *b)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	/* Nothing to write is not a null pointer to write from. */
	if (b->len)
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
	struct bytes text = sample_text(30000), gzip = { 0 };
	struct tw_feed_options options = file_options(0, -1);
	struct tw_feed *feed;
	struct feed_outcome o = { 0 };

	(void)state;
	write_file(&text);
	assert_int_equal(tw_feed_open(&feed, path, &options, NULL), 0);
	assert_true(tw_feed_is_plain(feed));
	assert_int_equal(tw_feed_file_size(feed), text.len);
	feed_drain(feed, 100, &o);
	assert_int_equal(tw_feed_bytes_read(feed), text.len);
	tw_feed_close(feed);
	assert_int_equal(o.text.len, text.len);
	assert_memory_equal(o.text.ptr, text.ptr, text.len);
	bytes_drop(&o.text);
	bytes_gzip(&gzip, text.ptr, text.len);
	write_file(&gzip);
	assert_int_equal(tw_feed_open(&feed, path, &options, NULL), 0);
	assert_false(tw_feed_is_plain(feed));
	assert_int_equal(tw_feed_file_size(feed), gzip.len);
	feed_drain(feed, 100, &o);
	assert_int_equal(tw_feed_bytes_read(feed), gzip.len);
	tw_feed_close(feed);
	assert_int_equal(o.text.len, text.len);
	assert_memory_equal(o.text.ptr, text.ptr, text.len);
	bytes_drop(&o.text);
	bytes_drop(&gzip);
	bytes_drop(&text);
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
	bytes_text(&text, "\xef\xbb\xbf");
	bytes_events(&text, 30000);
	write_file(&text);
	for (cut = 3; cut <= text.len; cut += text.len / 7) {
		struct feed_outcome a = { 0 }, b = { 0 };

		options = file_options(0, (int64_t)cut);
		assert_int_equal(tw_feed_open(&feed, path, &options, &err), 0);
		feed_drain(feed, 50, &a);
		tw_feed_close(feed);
		options = file_options((int64_t)cut, cut % 2 ? (int64_t)text.len : -1);
		assert_int_equal(tw_feed_open(&feed, path, &options, &err), 0);
		feed_drain(feed, 50, &b);
		assert_int_equal(tw_feed_bytes_read(feed), b.text.len);
		tw_feed_close(feed);
		assert_int_equal(b.first_offset, cut);
		bytes_add(&a.text, b.text.ptr, b.text.len);
		assert_int_equal(a.text.len, text.len - 3);
		assert_memory_equal(a.text.ptr, text.ptr + 3, a.text.len);
		bytes_drop(&a.text);
		bytes_drop(&b.text);
	}
	bytes_gzip(&gzip, text.ptr, text.len);
	write_file(&gzip);
	options = file_options(100, 200);
	assert_int_equal(tw_feed_open(&feed, path, &options, &err), TRAWL_EUSAGE);
	options = file_options(0, 200);
	assert_int_equal(tw_feed_open(&feed, path, &options, &err), TRAWL_EUSAGE);
	bytes_drop(&gzip);
	bytes_drop(&text);
}

/* A file as standard input: its text, but no parts, since it has one place for all readers. */
static void test_standard_input(void **state)
{
	struct bytes text = sample_text(30000);
	struct tw_feed_options options = file_options(0, -1);
	int saved = dup(STDIN_FILENO), file;
	struct feed_outcome o = { 0 };
	struct tw_feed *feed;

	(void)state;
	write_file(&text);
	file = open(path, O_RDONLY);
	assert_true(file >= 0);
	assert_true(dup2(file, STDIN_FILENO) >= 0);
	close(file);
	assert_int_equal(tw_feed_open(&feed, "-", &options, NULL), 0);
	assert_false(tw_feed_is_plain(feed));
	feed_drain(feed, 100, &o);
	tw_feed_close(feed);
	assert_int_equal(o.text.len, text.len);
	assert_memory_equal(o.text.ptr, text.ptr, text.len);
	options.end = 10;
	assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_SET), 0);
	assert_int_equal(tw_feed_open(&feed, "-", &options, NULL), TRAWL_EUSAGE);
	dup2(saved, STDIN_FILENO);
	close(saved);
	bytes_drop(&o.text);
	bytes_drop(&text);
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
	struct bytes text = sample_text(3000), gzip = { 0 };
	size_t piece;

	(void)state;
	bytes_gzip(&gzip, text.ptr, 1000);
	bytes_gzip(&gzip, text.ptr + 1000, text.len - 1000);
	for (piece = 1; piece < 5000; piece = piece * 3 + 1) {
		struct writer writer = { .input = piece % 2 ? &gzip : &text, .piece = piece };
		struct tw_feed_options options = file_options(0, -1);
		struct feed_outcome o = { 0 };
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
		feed_drain(feed, 10, &o);
		assert_int_equal(o.next_status, 0);
		assert_int_equal(o.text.len, text.len);
		assert_memory_equal(o.text.ptr, text.ptr, text.len);
		tw_feed_close(feed);
		close(ends[0]);
		pthread_join(writer.thread, NULL);
		bytes_drop(&o.text);
	}
	bytes_drop(&gzip);
	bytes_drop(&text);
}

/* The writer says no more and does not end: closing does not wait for it. */
static void test_close_while_reading(void **state)
{
	struct bytes text = sample_text(300), gzip = { 0 };
	struct tw_feed_options options = file_options(0, -1);
	struct tw_window w;
	struct tw_feed *feed;
	char name[32];
	int ends[2];

	(void)state;
	bytes_gzip(&gzip, text.ptr, text.len);
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
	bytes_drop(&gzip);
	bytes_drop(&text);
}

/* A failure behind some bytes: they come first, then the failure with its place, again and again. */
static void test_read_failure(void **state)
{
	struct bytes text = sample_text(100), gzip = { 0 };
	int saved = dup(STDIN_FILENO), kind;

	(void)state;
	bytes_gzip(&gzip, text.ptr, text.len);
	for (kind = 0; kind < 4; kind++) {
		struct bytes part = kind % 2 ? gzip : text;
		struct tw_feed_options options = file_options(0, -1);
		struct feed_outcome o = { 0 };
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
		feed_drain(feed, 0, &o);
		assert_int_equal(o.next_status, TRAWL_EIO);
		assert_int_equal(o.err.offset, part.len);
		assert_non_null(strstr(o.err.message, "standard input"));
		assert_true(o.text.len > 0);
		assert_memory_equal(o.text.ptr, text.ptr, o.text.len);
		if (!(kind % 2))
			assert_int_equal(o.text.len, part.len);
		tw_feed_close(feed);
		bytes_drop(&o.text);
	}
	dup2(saved, STDIN_FILENO);
	close(saved);
	bytes_drop(&gzip);
	bytes_drop(&text);
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

	return cmocka_run_group_tests_name("feed_io", tests, make_directory, remove_directory);
}
