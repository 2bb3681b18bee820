#include "book/book.h"

#include "base/alloc.h"
#include "book/sheet.h"
#include "book/workbook.h"
#include "os/file.h"
#include "os/inputs.h"
#include "render/render.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CSV_BYTES ((size_t)1 << 30)

struct entry {
	const char *name;
	const char *part; /* of the workbook, or the path of a CSV file; NULL: none */
	const struct trawl_table *given; /* NULL: it is read */
	bool again;			 /* another one has this name */
	struct tw_csv csv;		 /* of a lone file, read to see what it is */
	struct trawl_table *own;	 /* what was read of it, or of one given made safe */
	const struct trawl_table *table; /* NULL: nobody asked for it yet */
};

struct tw_book {
	const struct trawl_allocator *allocator;
	struct tw_arena arena;
	const char *name;
	struct entry *entries;
	size_t count;
	struct tw_package *package; /* NULL: no workbook */
	const char *shared_part;
	bool shared_ready;
	struct tw_shared_texts shared;
};

static int no_memory(const char *path, struct trawl_error *err)
{
	return trawl_error_set(err, TRAWL_ENOMEM, "cannot read '%s': out of memory", path);
}

static struct tw_book *new_book(const char *name, const struct trawl_allocator *allocator)
{
	struct tw_book *book = tw_alloc(allocator, sizeof(*book));

	if (!book)
		return NULL;
	*book = (struct tw_book){ .allocator = allocator };
	tw_arena_init(&book->arena, allocator);
	book->name = tw_arena_copy(&book->arena, name, strlen(name));
	if (!book->name) {
		tw_book_free(book);
		return NULL;
	}
	return book;
}

void tw_book_free(struct tw_book *book)
{
	size_t i;

	if (!book)
		return;
	for (i = 0; i < book->count; i++)
		trawl_table_free(book->entries[i].own);
	tw_package_close(book->package);
	tw_arena_release(&book->arena);
	tw_free(book->allocator, book, sizeof(*book));
}

static bool make_entries(struct tw_book *book, size_t count)
{
	size_t i;

	book->entries = tw_arena_alloc(&book->arena, (count ? count : 1) * sizeof(struct entry));
	if (!book->entries)
		return false;
	for (i = 0; i < count; i++)
		book->entries[i] = (struct entry){ 0 };
	book->count = count;
	return true;
}

static void mark_repeated(struct tw_book *book)
{
	size_t i, k;

	for (i = 0; i < book->count; i++)
		for (k = 0; k < i && !book->entries[i].again; k++)
			if (!strcmp(book->entries[i].name, book->entries[k].name))
				book->entries[i].again = book->entries[k].again = true;
}

/* ---- workbooks */

static int open_workbook(struct tw_book *book, struct trawl_error *err)
{
	struct tw_workbook workbook;
	int status = tw_workbook_read(&workbook, book->package, &book->arena, err);
	size_t i;

	if (!status && !make_entries(book, workbook.count))
		status = tw_no_memory(err);
	for (i = 0; i < book->count && !status; i++) {
		book->entries[i].name = workbook.sheets[i].name;
		book->entries[i].part = workbook.sheets[i].part;
	}
	if (!status)
		mark_repeated(book);
	book->shared_part = workbook.shared_texts;
	return status;
}

/* A sheet that has none of these texts can be read without them. */
static int read_shared_texts(struct tw_book *book, struct trawl_error *err)
{
	struct trawl_error own = { 0 };
	int status;

	if (book->shared_ready || !book->shared_part)
		return 0;
	status = tw_shared_texts_read(&book->shared, book->package, book->shared_part, &book->arena,
				      &own);
	if (status == TRAWL_EFORMAT)
		book->shared.problem =
			tw_arena_copy(&book->arena, own.message, strlen(own.message));
	book->shared_ready = !status || book->shared.problem;
	return book->shared_ready ? 0 : trawl_error_set(err, status, "%s", own.message);
}

static int read_worksheet(struct tw_book *book, const struct entry *entry, struct tw_arena *arena,
			  struct tw_csv *csv, struct trawl_error *err)
{
	int status;

	if (entry->again)
		return trawl_error_set(err, TRAWL_EFORMAT, "several sheets have this name");
	if (!entry->part)
		return trawl_error_set(err, TRAWL_EFORMAT, "not located in the workbook");
	status = read_shared_texts(book, err);
	if (status)
		return status;
	return tw_sheet_read(csv, book->package, entry->part, &book->shared, arena, err);
}

/* ---- CSV files */

static int read_csv(const struct entry *entry, struct tw_arena *arena, struct tw_csv *csv,
		    struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, arena->allocator);
	status = tw_file_read(entry->part, MAX_CSV_BYTES, &text, err);
	if (!status)
		status = tw_csv_parse(csv, arena, text.ptr, text.len, entry->part, err);
	tw_str_release(&text);
	return status;
}

/* The part of a file's name before ".csv"; 0: it has another ending. */
static size_t stem_len(const char *file)
{
	size_t len = strlen(file);

	return len > 4 && !strcmp(file + len - 4, ".csv") ? len - 4 : 0;
}

static int is_csv(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && stem_len(entry->d_name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static bool fill_entry(struct tw_book *book, struct entry *entry, const char *directory,
		       const char *file)
{
	struct tw_str path;

	tw_str_init(&path, book->allocator);
	tw_str_addf(&path, "%s/%s", directory, file);
	entry->name = tw_arena_copy(&book->arena, file, stem_len(file));
	entry->part = path.failed ? NULL : tw_arena_copy(&book->arena, path.ptr, path.len);
	tw_str_release(&path);
	return entry->name && entry->part;
}

/* Non-files are skipped. */
static int fill_entries(struct tw_book *book, const char *directory, struct dirent **files,
			size_t count, struct trawl_error *err)
{
	struct stat st;
	size_t i;

	if (!make_entries(book, count))
		return no_memory(directory, err);
	book->count = 0;
	for (i = 0; i < count; i++) {
		struct entry *entry = &book->entries[book->count];

		if (!fill_entry(book, entry, directory, files[i]->d_name))
			return no_memory(directory, err);
		book->count += stat(entry->part, &st) || S_ISREG(st.st_mode);
	}
	return 0;
}

static int open_directory(struct tw_book *book, const char *path, struct trawl_error *err)
{
	struct dirent **files;
	int count = scandir(path, &files, is_csv, by_name), status, i;

	if (count < 0)
		return trawl_error_set(err, errno == ENOMEM ? TRAWL_ENOMEM : TRAWL_EIO,
				       "cannot read '%s': %s", path, strerror(errno));
	status = fill_entries(book, path, files, (size_t)count, err);
	for (i = 0; i < count; i++)
		free(files[i]);
	free(files);
	if (!status && !book->count)
		status = trawl_error_set(err, TRAWL_EFORMAT, "'%s' is not a report: no CSV files",
					 path);
	return status;
}

static int open_csv(struct tw_book *book, const char *path, struct trawl_error *err)
{
	const char *file = tw_file_name(path);
	size_t len = stem_len(file) ? stem_len(file) : strlen(file);

	if (!make_entries(book, 1))
		return no_memory(path, err);
	book->entries[0].part = book->name;
	book->entries[0].name = tw_arena_copy(&book->arena, file, len);
	if (!book->entries[0].name)
		return no_memory(path, err);
	/* Whether it is one shows when it is read. */
	return read_csv(&book->entries[0], &book->arena, &book->entries[0].csv, err);
}

/* ---- what it is */

static int read_head(const char *path, char head[8], size_t *len, struct trawl_error *err)
{
	int fd, status = tw_file_open(path, &fd, err);
	ssize_t got;

	*len = 0;
	if (status)
		return status;
	got = pread(fd, head, 8, 0);
	if (got < 0)
		status = trawl_error_set(err, TRAWL_EIO, "cannot read '%s': %s", path,
					 strerror(errno));
	else
		*len = (size_t)got;
	close(fd);
	tw_inputs_note(path);
	return status;
}

static bool begins(const char *head, size_t len, const char *mark, size_t mark_len)
{
	return len >= mark_len && !memcmp(head, mark, mark_len);
}

static int open_file(struct tw_book *book, const char *path, struct trawl_error *err)
{
	char head[8];
	size_t len;
	int status = read_head(path, head, &len, err);

	if (status)
		return status;
	if (begins(head, len, "PK\3\4", 4) || begins(head, len, "PK\5\6", 4)) {
		status = tw_package_open(&book->package, path, book->allocator, err);
		if (!status)
			status = open_workbook(book, err);
		return status ? trawl_error_context(err, status, "cannot read '%s'", path) : 0;
	}
	if (!len)
		return trawl_error_set(err, TRAWL_EFORMAT, "cannot read '%s': empty file", path);
	if (begins(head, len, "\xD0\xCF\x11\xE0", 4))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "cannot read '%s': an old-format (.xls) or "
				       "password-protected workbook; save it as .xlsx without a "
				       "password",
				       path);
	if (*head == '{' || *head == '[')
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "cannot read '%s': this is JSON, no report", path);
	return open_csv(book, path, err);
}

int tw_book_open(struct tw_book **out, const char *path, const struct trawl_allocator *allocator,
		 struct trawl_error *err)
{
	struct tw_book *book = new_book(path, allocator);
	struct stat st;
	int status;

	*out = NULL;
	if (!book)
		return no_memory(path, err);
	if (stat(path, &st))
		status = trawl_error_set(err, TRAWL_EIO, "cannot read '%s': %s", path,
					 strerror(errno));
	else if (S_ISDIR(st.st_mode))
		status = open_directory(book, path, err);
	else if (S_ISREG(st.st_mode))
		status = open_file(book, path, err);
	else
		status = trawl_error_set(err, TRAWL_EFORMAT,
					 "cannot read '%s': neither a file nor a directory", path);
	if (status)
		tw_book_free(book);
	else
		*out = book;
	return status;
}

int tw_book_of_bytes(struct tw_book **out, const char *name, const char *bytes, size_t len,
		     const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_book *book = new_book(name, allocator);
	int status;

	*out = NULL;
	if (!book)
		return no_memory(name, err);
	status = tw_package_open_bytes(&book->package, bytes, len, allocator, err);
	if (!status)
		status = open_workbook(book, err);
	if (status)
		tw_book_free(book);
	else
		*out = book;
	return status ? trawl_error_context(err, status, "cannot read '%s'", name) : 0;
}

/* ---- tables */

int tw_book_of_tables(struct tw_book **out, const char *name,
		      const struct trawl_table *const *tables, size_t count,
		      const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_book *book = new_book(name, allocator);
	size_t i;

	*out = book;
	if (!book || !make_entries(book, count)) {
		tw_book_free(book);
		*out = NULL;
		return no_memory(name, err);
	}
	for (i = 0; i < count; i++) {
		book->entries[i].name = trawl_table_name(tables[i]);
		book->entries[i].given = tables[i];
	}
	return 0;
}

static int take_given(struct entry *entry, const struct trawl_allocator *allocator,
		      struct trawl_error *err)
{
	int status = tw_table_safe(entry->given, allocator, &entry->own, err);

	if (!status)
		entry->table = entry->own ? entry->own : entry->given;
	return status;
}

/* ---- what is in it */

const char *tw_book_name(const struct tw_book *book)
{
	return book->name;
}

size_t tw_book_sheets(const struct tw_book *book)
{
	return book->count;
}

const char *tw_book_sheet_name(const struct tw_book *book, size_t index)
{
	return index < book->count ? book->entries[index].name : NULL;
}

static int read_entry(struct tw_book *book, struct entry *entry, const struct tw_table_spec *spec,
		      struct trawl_error *err)
{
	struct tw_csv csv = entry->csv;
	struct tw_arena arena;
	int status = 0;

	tw_arena_init(&arena, book->allocator);
	if (book->package)
		status = read_worksheet(book, entry, &arena, &csv, err);
	else if (!csv.cells)
		status = read_csv(entry, &arena, &csv, err);
	if (!status)
		status = tw_csv_table(&csv, spec, book->allocator, &entry->own, err);
	tw_arena_release(&arena);
	entry->table = entry->own;
	/* A CSV file is named by its own message. */
	return status && book->package ?
		       trawl_error_context(err, status, "cannot read '%s': sheet '%s'", book->name,
					   entry->name) :
		       status;
}

int tw_book_table(struct tw_book *book, const struct tw_table_spec *spec,
		  const struct trawl_table **table, struct trawl_error *err)
{
	struct entry *entry = NULL;
	int status = 0;
	size_t i;

	*table = NULL;
	for (i = 0; i < book->count && !entry; i++)
		if (!strcmp(book->entries[i].name, spec->name))
			entry = &book->entries[i];
	if (!entry)
		return 0;
	if (!entry->table)
		status = entry->given ? take_given(entry, book->allocator, err) :
					read_entry(book, entry, spec, err);
	*table = status ? NULL : entry->table;
	return status;
}

int tw_book_is_damaged(struct tw_book *book, bool *damaged, struct trawl_error *err)
{
	static const struct tw_table_spec spec = { .name = "quality" };
	const struct trawl_table *quality;
	size_t column, row;
	int status = tw_book_table(book, &spec, &quality, err);

	*damaged = false;
	if (status || !quality)
		return status;
	column = trawl_table_find_column(quality, "class");
	for (row = 0; row < trawl_table_rows(quality) && !*damaged; row++)
		*damaged = tw_table_text_is(quality, row, column, "lost");
	return 0;
}
