#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing.h"
#include "io/sink.h"
#include "io/unzip.h"
#include "scratch.h"

static struct scratch scratch;
static struct trawl_error err;

static int setup(void **state)
{
	scratch_make(&scratch);
	memset(&err, 0, sizeof(err));
	return 0;
}

static int teardown(void **state)
{
	scratch_remove(&scratch);
	return 0;
}

static struct tw_sink *open_sink(const char *name)
{
	struct tw_sink *sink;
	int status =
		tw_sink_open(&sink, scratch_path(&scratch, name), trawl_allocator_default(), &err);

	if (status)
		fail_msg("%s", err.message);
	return sink;
}

static void assert_file(const char *name, const char *expected)
{
	char *text = scratch_read(scratch_path(&scratch, name), NULL);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void appears_whole_when_committed(void **state)
{
	struct tw_sink *sink = open_sink("out.csv");
	struct stat st;
	mode_t mask = umask(027);

	umask(mask);
	tw_sink_write(sink, "a,b\n", 4);
	tw_sink_write(sink, NULL, 0);
	assert_false(scratch_exists(&scratch, "out.csv"));
	assert_int_equal(scratch_count(&scratch, ""), 1);
	assert_int_equal(tw_sink_commit(sink, &err), 0);
	assert_file("out.csv", "a,b\n");
	assert_int_equal(scratch_count(&scratch, ""), 1);
	assert_int_equal(stat(scratch_path(&scratch, "out.csv"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
}

static void large_and_small_writes_stay_in_order(void **state)
{
	struct tw_sink *sink = open_sink("big");
	size_t sizes[] = { 1, 100, 262143, 262144, 262145, 3, 1000000, 0, 7 };
	size_t total = 0, len, i, j;
	char *piece = malloc(1000000), *bytes;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (j = 0; j < sizes[i]; j++)
			piece[j] = (char)('a' + (total + j) % 23);
		tw_sink_write(sink, piece, sizes[i]);
		total += sizes[i];
	}
	assert_int_equal(tw_sink_commit(sink, &err), 0);
	bytes = scratch_read(scratch_path(&scratch, "big"), &len);
	assert_int_equal(len, total);
	for (j = 0; j < total; j++)
		if (bytes[j] != (char)('a' + j % 23))
			fail_msg("byte %zu", j);
	free(bytes);
	free(piece);
}

static void aborting_leaves_what_was_there(void **state)
{
	struct tw_sink *sink;

	scratch_write(&scratch, "old", "before");
	sink = open_sink("old");
	tw_sink_write(sink, "after", 5);
	tw_sink_abort(sink);
	tw_sink_abort(NULL);
	assert_file("old", "before");
	assert_int_equal(scratch_count(&scratch, ""), 1);
}

static void replacing_keeps_permissions(void **state)
{
	struct tw_sink *sink;
	struct stat st;

	scratch_write(&scratch, "old", "before");
	chmod(scratch_path(&scratch, "old"), 0640);
	sink = open_sink("old");
	tw_sink_write(sink, "after", 5);
	assert_int_equal(tw_sink_commit(sink, &err), 0);
	assert_file("old", "after");
	assert_int_equal(stat(scratch_path(&scratch, "old"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void links_stay_links(void **state)
{
	struct tw_sink *sink;
	struct stat st;

	mkdir(scratch_path(&scratch, "real"), 0777);
	scratch_write(&scratch, "real/file", "before");
	assert_int_equal(symlink("real/file", scratch_path(&scratch, "link")), 0);
	sink = open_sink("link");
	tw_sink_write(sink, "after", 5);
	assert_int_equal(tw_sink_commit(sink, &err), 0);
	assert_file("real/file", "after");
	assert_int_equal(lstat(scratch_path(&scratch, "link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(scratch_count(&scratch, "real"), 1);
}

static void directories_are_made(void **state)
{
	struct tw_sink *sink = open_sink("a/b//c/out");

	assert_int_equal(tw_sink_commit(sink, &err), 0);
	assert_file("a/b/c/out", "");
	assert_int_equal(tw_make_directories(scratch_path(&scratch, "x/y/z/"), &err), 0);
	assert_true(scratch_exists(&scratch, "x/y/z"));
	assert_int_equal(tw_make_directories(scratch_path(&scratch, "x/y"), &err), 0);
	assert_int_equal(tw_make_directories("/", &err), 0);
	assert_int_equal(tw_make_directories(".", &err), 0);
	assert_int_equal(tw_make_directories("", &err), 0);
}

static void assert_refused(const char *path, int status, const char *part)
{
	struct tw_sink *sink = (struct tw_sink *)1;

	assert_int_equal(tw_sink_open(&sink, path, trawl_allocator_default(), &err), status);
	assert_null(sink);
	if (!strstr(err.message, part))
		fail_msg("'%s' is not in '%s'", part, err.message);
	if (*path && !strstr(err.message, path))
		fail_msg("the name is not in '%s'", err.message);
}

static void impossible_places_are_refused_at_once(void **state)
{
	char longer[300];

	memset(longer, 'n', sizeof(longer));
	longer[299] = '\0';
	mkdir(scratch_path(&scratch, "dir"), 0777);
	scratch_write(&scratch, "file", "x");
	assert_refused(scratch_path(&scratch, "dir"), TRAWL_EIO, "Is a directory");
	assert_refused(scratch_path(&scratch, "new/"), TRAWL_EIO, "Is a directory");
	assert_refused("", TRAWL_EUSAGE, "empty");
	assert_refused(scratch_path(&scratch, longer), TRAWL_EIO, "File name too long");
	assert_int_equal(symlink("nowhere/file", scratch_path(&scratch, "loose")), 0);
	assert_refused(scratch_path(&scratch, "loose"), TRAWL_EIO, "No such file");
	assert_int_equal(tw_make_directories(scratch_path(&scratch, "file/below"), &err),
			 TRAWL_EIO);
	assert_non_null(strstr(err.message, "file' is not a directory"));
	assert_int_equal(tw_make_directories(scratch_path(&scratch, "file"), &err), TRAWL_EIO);
	assert_non_null(strstr(err.message, "cannot create directory"));
	assert_int_equal(scratch_count(&scratch, ""), 4);
}

static void permission_denied_says_what_to_do(void **state)
{
	pid_t child;
	int status;

	chmod(scratch.dir, 0755);
	scratch_write(&scratch, "locked", "x");
	chmod(scratch_path(&scratch, "locked"), 0444);
	mkdir(scratch_path(&scratch, "sealed"), 0777);
	chmod(scratch_path(&scratch, "sealed"), 0555);
	child = fork();
	if (child == 0) {
		struct tw_sink *sink;
		int bad = 0;

		/* Root may everything: be somebody else. */
		if (getuid() == 0 && setuid(65534) != 0)
			_exit(99);
		bad |= tw_sink_open(&sink, scratch_path(&scratch, "locked"),
				    trawl_allocator_default(), &err) != TRAWL_EIO;
		bad |= !strstr(err.message, "locked': Permission denied; choose a writable path");
		bad |= tw_sink_open(&sink, scratch_path(&scratch, "sealed/x"),
				    trawl_allocator_default(), &err) != TRAWL_EIO;
		bad |= !strstr(err.message, "sealed/x': Permission denied; choose a writable path");
		bad |= tw_make_directories(scratch_path(&scratch, "sealed/d/e"), &err) != TRAWL_EIO;
		bad |= !strstr(err.message, "Permission denied; choose a writable path");
		_exit(bad);
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	chmod(scratch_path(&scratch, "sealed"), 0755);
	if (WEXITSTATUS(status) == 99)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void names_as_long_as_names_may_be(void **state)
{
	char name[256];
	struct tw_sink *sink;

	memset(name, 'n', 255);
	name[255] = '\0';
	sink = open_sink(name);
	assert_int_equal(tw_sink_commit(sink, &err), 0);
	assert_true(scratch_exists(&scratch, name));
	assert_int_equal(scratch_count(&scratch, ""), 1);
}

static void full_device_is_reported_and_kept(void **state)
{
	struct tw_sink *sink;
	struct stat st;

	if (stat("/dev/full", &st) != 0 || !S_ISCHR(st.st_mode))
		skip();
	assert_int_equal(tw_sink_open(&sink, "/dev/full", trawl_allocator_default(), &err), 0);
	tw_sink_write(sink, "x", 1);
	assert_int_equal(tw_sink_finish(sink, &err), TRAWL_EIO);
	assert_int_equal(tw_sink_commit(sink, &err), TRAWL_EIO);
	assert_string_equal(err.message, "cannot write '/dev/full': No space left on device; free "
					 "space or choose another path");
	assert_int_equal(stat("/dev/full", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(tw_sink_open(&sink, "/dev/null", trawl_allocator_default(), &err), 0);
	tw_sink_write(sink, "x", 1);
	assert_int_equal(tw_sink_commit(sink, &err), 0);
}

static void first_error_stays(void **state)
{
	struct rlimit limit = { 100000, 100000 };
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct tw_sink *sink = open_sink("limited");
		static char block[300000];
		int bad = 0;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		tw_sink_write(sink, block, sizeof(block));
		tw_sink_write(sink, block, 10);
		bad |= tw_sink_commit(sink, &err) != TRAWL_EIO;
		bad |= !strstr(err.message, "limited': File too large");
		_exit(bad);
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(scratch_count(&scratch, ""), 0);
}

static void finish_first_then_commit(void **state)
{
	struct tw_sink *sink = open_sink("two");

	tw_sink_write(sink, "12", 2);
	assert_int_equal(tw_sink_finish(sink, &err), 0);
	assert_int_equal(tw_sink_finish(sink, &err), 0);
	assert_false(scratch_exists(&scratch, "two"));
	assert_int_equal(tw_sink_commit(sink, &err), 0);
	assert_file("two", "12");
}

static void a_library_writes_the_file(void **state)
{
	struct tw_sink *sink;
	FILE *file;

	assert_int_equal(tw_sink_open_path(&sink, scratch_path(&scratch, "plot.png"),
					   trawl_allocator_default(), &err),
			 0);
	assert_non_null(strstr(tw_sink_temporary(sink), "/.plot.png.trawl-"));
	file = fopen(tw_sink_temporary(sink), "wb");
	fputs("png", file);
	fclose(file);
	assert_false(scratch_exists(&scratch, "plot.png"));
	assert_int_equal(tw_sink_commit(sink, &err), 0);
	assert_file("plot.png", "png");
	assert_int_equal(tw_sink_open_path(&sink, scratch_path(&scratch, "other"),
					   trawl_allocator_default(), &err),
			 0);
	tw_sink_abort(sink);
	assert_int_equal(scratch_count(&scratch, ""), 1);
}

static void handler(int number)
{
	(void)number;
	tw_sink_unlink_open();
}

/* More files than one block of the registry has. */
#define OPEN 150

static void interrupt(void)
{
	struct tw_sink *sinks[OPEN], *late;
	char name[32];
	int bad = 0, i;

	signal(SIGINT, handler);
	for (i = 0; i < OPEN; i++) {
		snprintf(name, sizeof(name), "out%d", i);
		sinks[i] = open_sink(name);
		tw_sink_write(sinks[i], "x", 1);
	}
	/* Slots are used again. */
	for (i = 0; i < OPEN; i += 3) {
		tw_sink_abort(sinks[i]);
		snprintf(name, sizeof(name), "out%d", i);
		sinks[i] = open_sink(name);
	}
	bad |= tw_sink_commit(sinks[0], &err) != 0;
	bad |= scratch_count(&scratch, "") != OPEN;
	raise(SIGINT);
	bad |= scratch_count(&scratch, "") != 1;
	for (i = 1; i < OPEN; i++) {
		bad |= tw_sink_commit(sinks[i], &err) != TRAWL_ECANCELED;
		bad |= !strstr(err.message, "not written: interrupted");
	}
	bad |= tw_sink_open(&late, scratch_path(&scratch, "late"), trawl_allocator_default(),
			    &err) != TRAWL_ECANCELED;
	bad |= scratch_count(&scratch, "") != 1;
	_exit(bad);
}

static void a_signal_leaves_nothing(void **state)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		interrupt();
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(scratch_count(&scratch, ""), 1);
	assert_true(scratch_exists(&scratch, "out0"));
}

static void every_failed_allocation_is_reported(void **state)
{
	struct failing failing;
	struct tw_sink *sink;
	int status;
	long n;

	for (n = 0;; n++) {
		failing_init(&failing, n);
		status = tw_sink_open(&sink, scratch_path(&scratch, "out"), &failing.allocator,
				      &err);
		if (!status) {
			tw_sink_write(sink, "x", 1);
			status = tw_sink_commit(sink, &err);
		}
		assert_int_equal(status, failing.failed ? TRAWL_ENOMEM : 0);
		assert_int_equal(failing.live_blocks, 0);
		assert_false(failing.wrong_size);
		assert_int_equal(scratch_count(&scratch, ""), failing.failed ? 0 : 1);
		if (!failing.failed)
			break;
	}
	assert_true(n >= 4);
}

/* --- unzip: the reader that checks workbooks ------------------------------------------------ */

/* Two entries: "a.txt" stored "hello", "d" deflated 3000 x "ab". */
static const unsigned char archive[] = {
	0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x86,
	0xa6, 0x10, 0x36, 0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00,
	0x61, 0x2e, 0x74, 0x78, 0x74, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x50, 0x4b, 0x03, 0x04, 0x14,
	0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xe5, 0x9e, 0x14, 0x3e, 0x19, 0x00,
	0x00, 0x00, 0x70, 0x17, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x64, 0xed, 0xc2, 0x31, 0x0d,
	0x00, 0x00, 0x00, 0x02, 0xa0, 0xac, 0xda, 0x3f, 0x84, 0x21, 0x7c, 0x19, 0xa4, 0x01, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x4e, 0x03, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03, 0x14, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x86, 0xa6, 0x10, 0x36, 0x05, 0x00, 0x00, 0x00,
	0x05, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x61, 0x2e, 0x74, 0x78, 0x74, 0x50, 0x4b, 0x01,
	0x02, 0x14, 0x03, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xe5, 0x9e,
	0x14, 0x3e, 0x19, 0x00, 0x00, 0x00, 0x70, 0x17, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x28, 0x00, 0x00, 0x00, 0x64, 0x50,
	0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x02, 0x00, 0x62, 0x00, 0x00, 0x00,
	0x60, 0x00, 0x00, 0x00, 0x00, 0x00,
};

struct seen {
	char text[8192];
	size_t len;
	int entries;
};

static int see(void *context, const char *name, const char *bytes, size_t len, bool last,
	       struct trawl_error *error)
{
	struct seen *seen = context;

	(void)name;
	(void)error;
	memcpy(seen->text + seen->len, bytes, len);
	seen->len += len;
	seen->entries += last;
	return 0;
}

static int unzip_bytes(const unsigned char *bytes, size_t len, struct seen *seen)
{
	int fd = open(scratch_path(&scratch, "zip"), O_RDWR | O_CREAT | O_TRUNC, 0600), status;

	memset(seen, 0, sizeof(*seen));
	assert_int_equal(write(fd, bytes, len), len);
	status = tw_unzip(fd, see, seen, trawl_allocator_default(), &err);
	close(fd);
	return status;
}

static void archives_are_read_and_checked(void **state)
{
	unsigned char damaged[sizeof(archive)];
	struct seen seen;
	size_t i, refused = 0;

	assert_int_equal(unzip_bytes(archive, sizeof(archive), &seen), 0);
	assert_int_equal(seen.entries, 2);
	assert_int_equal(seen.len, 5 + 6000);
	assert_memory_equal(seen.text, "helloabab", 9);
	/* Cut anywhere: refused. */
	for (i = 0; i < sizeof(archive); i++)
		assert_int_equal(unzip_bytes(archive, i, &seen), TRAWL_EFORMAT);
	/* Any byte changed: refused, or one that carries no data (times, versions). */
	for (i = 0; i < sizeof(archive); i++) {
		memcpy(damaged, archive, sizeof(archive));
		damaged[i] ^= 0x5A;
		if (unzip_bytes(damaged, sizeof(archive), &seen) == TRAWL_EFORMAT)
			refused++;
		else
			assert_int_equal(seen.len, 5 + 6000);
	}
	assert_true(refused > sizeof(archive) / 4);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(appears_whole_when_committed),
		TEST(large_and_small_writes_stay_in_order),
		TEST(aborting_leaves_what_was_there),
		TEST(replacing_keeps_permissions),
		TEST(links_stay_links),
		TEST(directories_are_made),
		TEST(impossible_places_are_refused_at_once),
		TEST(permission_denied_says_what_to_do),
		TEST(names_as_long_as_names_may_be),
		TEST(full_device_is_reported_and_kept),
		TEST(first_error_stays),
		TEST(finish_first_then_commit),
		TEST(a_library_writes_the_file),
		TEST(a_signal_leaves_nothing),
		TEST(every_failed_allocation_is_reported),
		TEST(archives_are_read_and_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
