/*
 * libxlsxwriter is a fine writer with five habits to work around here:
 * - It does not survive memory that runs out.  So it works in a process of its own, whose end
 *   without a word is that.
 * - It reports failures of the output on standard error.  So it writes into memory (compressed: a
 *   few MB), and the bytes go to their place as those of any other output, with one message.
 * - It gathers the XML of each sheet in temporary files and does not notice when these cannot
 *   be written (disk full, file size limit): the workbook is then cut.  So the result is read
 *   back: every part must end as XML ends, and hold as many cells as were written.
 * - It prints numbers with the locale's decimal point.  So it runs in the C locale.
 * - It takes the current time for that of creation, unless given another.
 */
#define _GNU_SOURCE
#include "render/xlsx_file.h"

#include "io/unzip.h"
#include "os/child.h"
#include "os/creation.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- errors ------------------------------------------------------------------------------- */

static int temporary_error(const struct tw_xlsx_file *file, const char *why,
			   struct trawl_error *err)
{
	return trawl_error_set(err, TRAWL_EIO,
			       "cannot write '%s': temporary files in '%s': %s; set TMPDIR to a "
			       "directory with more space",
			       file->path, file->tmpdir, why);
}

int tw_xlsx_error(const struct tw_xlsx_file *file, lxw_error error, int number,
		  struct trawl_error *err)
{
	const char *why = number ? strerror(number) : lxw_strerror(error);

	if (error && number == ENOMEM)
		error = LXW_ERROR_MEMORY_MALLOC_FAILED;
	switch (error) {
	case LXW_NO_ERROR:
		return 0;
	/* What follows in the library from memory that it did not get: of its own, and of zip. */
	case LXW_ERROR_SHARED_STRING_INDEX_NOT_FOUND:
	case LXW_ERROR_NULL_PARAMETER_IGNORED:
	case LXW_ERROR_ZIP_INTERNAL_ERROR:
	case LXW_ERROR_MEMORY_MALLOC_FAILED:
		return trawl_error_set(err, TRAWL_ENOMEM, "cannot write '%s': out of memory",
				       file->path);
	case LXW_ERROR_CREATING_TMPFILE:
	case LXW_ERROR_READING_TMPFILE:
	case LXW_ERROR_ZIP_FILE_ADD:
		return temporary_error(file, why, err);
	case LXW_ERROR_CREATING_XLSX_FILE:
	case LXW_ERROR_ZIP_FILE_OPERATION:
	case LXW_ERROR_ZIP_CLOSE:
		return trawl_error_set(err, TRAWL_EIO, "cannot write '%s': %s", file->path, why);
	default:
		return trawl_error_set(err, TRAWL_EIO, "cannot write '%s': %s", file->path,
				       lxw_strerror(error));
	}
}

/* --- opening ------------------------------------------------------------------------------ */

static bool can_hold_temporaries(const char *directory)
{
	char name[4096 + 16];
	int fd;

	if (!directory || !*directory || strlen(directory) >= 4096)
		return false;
	snprintf(name, sizeof(name), "%s/trawl-XXXXXX", directory);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return false;
	unlink(name);
	close(fd);
	return true;
}

/* Files in memory, which cost a fraction of those on a disk. */
#define MEMORY_DIRECTORY "/dev/shm"

/*
 * As other programs do: $TMPDIR, the system's place, and where the output goes as the last; those of
 * a small workbook in memory, unless the user says where.
 */
static int choose_tmpdir(struct tw_xlsx_file *file, bool large, struct trawl_error *err)
{
	const char *tmpdir = getenv("TMPDIR"), *slash = strrchr(file->path, '/');

	if ((!tmpdir || !*tmpdir) && !large)
		tmpdir = MEMORY_DIRECTORY;
	if (can_hold_temporaries(tmpdir)) {
		snprintf(file->tmpdir, sizeof(file->tmpdir), "%s", tmpdir);
		return 0;
	}
	snprintf(file->tmpdir, sizeof(file->tmpdir), "%s", P_tmpdir);
	if (can_hold_temporaries(file->tmpdir))
		return 0;
	snprintf(file->tmpdir, sizeof(file->tmpdir), "%.*s",
		 slash ? (int)(slash - file->path) + 1 : 1, slash ? file->path : ".");
	if (can_hold_temporaries(file->tmpdir))
		return 0;
	return temporary_error(file, strerror(errno), err);
}

/*
 * The stage is memory, under the name that the kernel gives an open file; where there is no such
 * name (no /proc), the temporary file of the output itself.
 */
static int open_stage(struct tw_xlsx_file *file, struct trawl_error *err)
{
	int status;

	file->stage = memfd_create("trawl workbook", MFD_CLOEXEC);
	snprintf(file->stage_name, sizeof(file->stage_name), "/proc/self/fd/%d", file->stage);
	if (file->stage >= 0 && access(file->stage_name, W_OK) == 0) {
		file->in_memory = true;
		return tw_sink_open(&file->sink, file->path, file->allocator, err);
	}
	if (file->stage >= 0)
		close(file->stage);
	status = tw_sink_open_path(&file->sink, file->path, file->allocator, err);
	file->stage = -1;
	if (status)
		return status;
	file->stage = open(tw_sink_temporary(file->sink), O_RDONLY | O_CLOEXEC);
	if (file->stage < 0)
		return tw_xlsx_error(file, LXW_ERROR_CREATING_XLSX_FILE, errno, err);
	return 0;
}

static void enter_c_locale(struct tw_xlsx_file *file)
{
	file->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (file->locale)
		file->callers_locale = uselocale(file->locale);
}

static void leave_c_locale(struct tw_xlsx_file *file)
{
	if (!file->locale)
		return;
	uselocale(file->callers_locale);
	freelocale(file->locale);
	file->locale = (locale_t)0;
}

void tw_xlsx_abort(struct tw_xlsx_file *file)
{
	leave_c_locale(file);
	if (file->stage >= 0)
		close(file->stage);
	tw_sink_abort(file->sink);
	file->stage = -1;
	file->sink = NULL;
}

int tw_xlsx_open(struct tw_xlsx_file *file, const char *path, bool large,
		 const struct trawl_allocator *allocator, struct trawl_error *err)
{
	int status;

	memset(file, 0, sizeof(*file));
	file->path = path;
	file->allocator = allocator;
	file->stage = -1;
	file->large = large;
	status = open_stage(file, err);
	if (!status)
		status = choose_tmpdir(file, large, err);
	if (status)
		tw_xlsx_abort(file);
	else
		enter_c_locale(file);
	return status;
}

/* --- making ------------------------------------------------------------------------------- */

/* What comes back from the process that makes the workbook. */
struct outcome {
	bool told;
	int status;
	uint64_t cells;
	struct trawl_error err;
};

static int begin_workbook(struct tw_xlsx_file *file, struct trawl_error *err)
{
	lxw_workbook_options options = { .constant_memory = file->large, .tmpdir = file->tmpdir };
	lxw_doc_properties properties = { .created = tw_creation_time() };
	const char *name = file->in_memory ? file->stage_name : tw_sink_temporary(file->sink);

	file->workbook = workbook_new_opt(name, &options);
	if (!file->workbook || workbook_set_properties(file->workbook, &properties))
		return tw_xlsx_error(file, LXW_ERROR_MEMORY_MALLOC_FAILED, 0, err);
	return 0;
}

static void make(struct tw_xlsx_file *file, int (*fill)(void *context, struct trawl_error *err),
		 void *context, struct outcome *out)
{
	lxw_error error;

	errno = 0;
	out->status = begin_workbook(file, &out->err);
	if (!out->status)
		out->status = fill(context, &out->err);
	if (!out->status) {
		errno = 0;
		error = workbook_close(file->workbook);
		out->status = tw_xlsx_error(file, error, errno, &out->err);
	} else if (file->workbook) {
		lxw_workbook_free(file->workbook);
	}
	file->workbook = NULL;
	out->cells = file->cells;
	out->told = true;
}

/* The library complains on standard error, which is ours to write to. */
static void be_quiet(void)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere >= 0)
		dup2(nowhere, STDERR_FILENO);
	/* Files that grow too large are an error of writing. */
	signal(SIGXFSZ, SIG_IGN);
	/* What launchers of MPI send when a process is lost is for the program, not for its writer. */
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
}

static int tell_end(const struct tw_xlsx_file *file, pid_t child, const struct outcome *out,
		    struct trawl_error *err)
{
	int state = 0;

	while (waitpid(child, &state, 0) < 0 && errno == EINTR)
		;
	if (out->told) {
		if (out->status)
			*err = out->err;
		return out->status;
	}
	return trawl_error_set(err, TRAWL_ENOMEM,
			       "cannot write '%s': out of memory (the writer of workbooks ended by "
			       "signal %d)",
			       file->path, WIFSIGNALED(state) ? WTERMSIG(state) : 0);
}

int tw_xlsx_make(struct tw_xlsx_file *file, int (*fill)(void *context, struct trawl_error *err),
		 void *context, struct trawl_error *err)
{
	struct trawl_error ignored;
	struct outcome *out =
		mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	if (out == MAP_FAILED)
		return tw_xlsx_error(file, LXW_ERROR_MEMORY_MALLOC_FAILED, 0, err);
	child = tw_fork(SIGKILL);
	if (!child) {
		be_quiet();
		make(file, fill, context, out);
		_exit(0);
	}
	if (child > 0) {
		status = tell_end(file, child, out, err ? err : &ignored);
	} else {
		/* There may be no more processes: then here. */
		tw_hold_forks();
		make(file, fill, context, out);
		tw_allow_forks();
		status = out->status;
		if (status && err)
			*err = out->err;
	}
	file->cells = out->cells;
	munmap(out, sizeof(*out));
	return status;
}

/* --- reading back ------------------------------------------------------------------------- */

struct check {
	uint64_t cells;
	unsigned matched; /* of CELL_TAG, at the end of the piece before */
	bool begun, whole;
	char root[32]; /* "</NAME>" */
	char tail[64];
	size_t tail_len;
};

#define CELL_TAG "<c "

static void find_root(struct check *check, const char *bytes, size_t len)
{
	size_t i = 0, n = 2;

	check->root[0] = '\0';
	/* The declaration comes first: "<?xml ...?>". */
	while (i + 1 < len && !(bytes[i] == '<' && bytes[i + 1] != '?'))
		i++;
	for (i++; i < len && bytes[i] != ' ' && bytes[i] != '>' && n < sizeof(check->root) - 2; i++)
		check->root[n++] = bytes[i];
	if (i >= len)
		return;
	check->root[0] = '<';
	check->root[1] = '/';
	check->root[n] = '>';
	check->root[n + 1] = '\0';
}

static void keep_tail(struct check *check, const char *bytes, size_t len)
{
	size_t room = sizeof(check->tail), old;

	if (len > room) {
		bytes += len - room;
		len = room;
	}
	old = check->tail_len < room - len ? check->tail_len : room - len;
	memmove(check->tail, check->tail + check->tail_len - old, old);
	memcpy(check->tail + old, bytes, len);
	check->tail_len = old + len;
}

static bool ends_with_root(const struct check *check)
{
	size_t len = strlen(check->root), end = check->tail_len;

	while (end > 0 && (check->tail[end - 1] == '\n' || check->tail[end - 1] == '\r'))
		end--;
	return len > 0 && len <= end && memcmp(check->tail + end - len, check->root, len) == 0;
}

static void count_cells(struct check *check, const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (bytes[i] == CELL_TAG[check->matched])
			check->matched++;
		else
			check->matched = bytes[i] == CELL_TAG[0];
		if (check->matched == strlen(CELL_TAG)) {
			check->cells++;
			check->matched = 0;
		}
	}
}

static int check_piece(void *context, const char *name, const char *bytes, size_t len, bool last,
		       struct trawl_error *err)
{
	struct check *check = context;

	(void)err;
	if (!check->begun) {
		check->begun = true;
		check->tail_len = 0;
		check->matched = 0;
		find_root(check, bytes, len);
	}
	keep_tail(check, bytes, len);
	if (strncmp(name, "xl/worksheets/", strlen("xl/worksheets/")) == 0)
		count_cells(check, bytes, len);
	if (last) {
		check->begun = false;
		check->whole = check->whole && ends_with_root(check);
	}
	return 0;
}

/* What the library has put on the stage is all that it was given. */
static int read_back(struct tw_xlsx_file *file, struct trawl_error *err)
{
	struct check check = { .whole = true };
	int status = tw_unzip(file->stage, check_piece, &check, file->allocator, err);

	if (status == TRAWL_ENOMEM)
		return tw_xlsx_error(file, LXW_ERROR_MEMORY_MALLOC_FAILED, 0, err);
	if (status || !check.whole || check.cells != file->cells)
		return temporary_error(file, "incomplete write", err);
	return 0;
}

static int copy_out(struct tw_xlsx_file *file, struct trawl_error *err)
{
	char block[32768];
	int64_t at = 0;
	ssize_t got;

	while ((got = pread(file->stage, block, sizeof(block), at)) > 0) {
		tw_sink_write(file->sink, block, (size_t)got);
		at += got;
	}
	if (got < 0)
		return tw_xlsx_error(file, LXW_ERROR_CREATING_XLSX_FILE, errno, err);
	return 0;
}

int tw_xlsx_close(struct tw_xlsx_file *file, struct trawl_error *err)
{
	int status;

	leave_c_locale(file);
	status = read_back(file, err);
	if (!status && file->in_memory)
		status = copy_out(file, err);
	if (!status) {
		status = tw_sink_commit(file->sink, err);
		file->sink = NULL;
	}
	tw_xlsx_abort(file);
	return status;
}
