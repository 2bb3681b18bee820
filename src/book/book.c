#include "book/book.h"

#include "base/alloc.h"
#include "book/sheet.h"
#include "book/workbook.h"
#include "os/file.h"
#include "os/inputs.h"
#include "render/cell.h"
#include "render/escape.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_CSV_BYTES ((size_t)1 << 30)

struct entry {
	const char *name;
	const char *part; /* of the workbook, or the path of a CSV file; NULL: nobody knows */
	const struct trawl_table *table;
	bool again; /* another one has this name */
	bool ready;
	struct tw_csv csv;
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
	if (!book)
		return;
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

static int read_worksheet(struct tw_book *book, struct entry *entry, struct trawl_error *err)
{
	int status;

	if (entry->again)
		return trawl_error_set(err, TRAWL_EFORMAT, "several sheets have this name");
	if (!entry->part)
		return trawl_error_set(err, TRAWL_EFORMAT, "the workbook does not say where it is");
	status = read_shared_texts(book, err);
	if (status)
		return status;
	return tw_sheet_read(&entry->csv, book->package, entry->part, &book->shared, &book->arena,
			     err);
}

/* ---- CSV files */

static int read_csv(struct tw_book *book, struct entry *entry, struct trawl_error *err)
{
	struct tw_str text;
	int status;

	tw_str_init(&text, book->allocator);
	status = tw_file_read(entry->part, MOST_CSV_BYTES, &text, err);
	if (!status)
		status = tw_csv_parse(&entry->csv, &book->arena, text.ptr, text.len, entry->part,
				      err);
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

/* What is no file after all is left out. */
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
		status = trawl_error_set(err, TRAWL_EFORMAT,
					 "'%s' is no report: no CSV file is in it", path);
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
	book->entries[0].ready = true;
	return read_csv(book, &book->entries[0], err);
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
		return trawl_error_set(err, TRAWL_EFORMAT, "cannot read '%s': it is empty", path);
	if (begins(head, len, "\xD0\xCF\x11\xE0", 4))
		return trawl_error_set(err, TRAWL_EFORMAT,
				       "cannot read '%s': a workbook of the old format, or with a "
				       "password; save it as .xlsx without one",
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

/* Sheets of tables read as those of files do, for one is compared with the other. */

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
		book->entries[i].table = tables[i];
	}
	mark_repeated(book);
	return 0;
}

static const char *keep(struct tw_book *book, const struct tw_str *text)
{
	return text->failed ? NULL : tw_arena_copy(&book->arena, text->ptr, text->len);
}

static const char *cell_text(struct tw_book *book, const struct trawl_table *table, size_t row,
			     size_t column, struct tw_str *text)
{
	const struct trawl_column *declared = trawl_table_column(table, column);
	struct trawl_cell cell = trawl_table_cell(table, row, column);

	if (cell.state == TRAWL_CELL_MISSING)
		return "";
	tw_str_clear(text);
	if (tw_column_is_number(declared))
		tw_number_exact(text, declared, &cell);
	else if (cell.text_len)
		tw_escape_cell(text, cell.text, cell.text_len);
	else
		return "";
	return keep(book, text);
}

static int read_table(struct tw_book *book, struct entry *entry, struct trawl_error *err)
{
	const struct trawl_table *table = entry->table;
	size_t columns = trawl_table_columns(table), rows = trawl_table_rows(table), i;
	const char **cells = tw_arena_alloc(&book->arena, (rows + 1) * columns * sizeof(*cells));
	struct tw_str text;
	bool ok = cells;

	tw_str_init(&text, book->allocator);
	for (i = 0; i < columns && ok; i++) {
		const char *header = trawl_table_column(table, i)->header;

		tw_str_clear(&text);
		tw_escape_cell(&text, header, strlen(header));
		cells[i] = *header ? keep(book, &text) : header;
		ok = cells[i];
	}
	for (; i < (rows + 1) * columns && ok; i++) {
		cells[i] = cell_text(book, table, i / columns - 1, i % columns, &text);
		ok = cells[i];
	}
	tw_str_release(&text);
	if (!ok)
		return tw_no_memory(err);
	entry->csv = (struct tw_csv){ columns, rows, cells };
	return 0;
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

static int read_entry(struct tw_book *book, struct entry *entry, struct trawl_error *err)
{
	int status;

	if (entry->table)
		status = read_table(book, entry, err);
	else if (book->package)
		status = read_worksheet(book, entry, err);
	else
		return read_csv(book, entry, err); /* names its file */
	return status ? trawl_error_context(err, status, "cannot read '%s': sheet '%s'", book->name,
					    entry->name) :
			0;
}

int tw_book_sheet(struct tw_book *book, const char *name, const struct tw_csv **sheet,
		  struct trawl_error *err)
{
	struct entry *entry = NULL;
	int status = 0;
	size_t i;

	*sheet = NULL;
	for (i = 0; i < book->count && !entry; i++)
		if (!strcmp(book->entries[i].name, name))
			entry = &book->entries[i];
	if (!entry)
		return 0;
	if (!entry->ready)
		status = read_entry(book, entry, err);
	if (status)
		return status;
	entry->ready = true;
	*sheet = &entry->csv;
	return 0;
}

int tw_book_is_damaged(struct tw_book *book, bool *damaged, struct trawl_error *err)
{
	const struct tw_csv *quality;
	size_t column, row;
	int status = tw_book_sheet(book, "quality", &quality, err);

	*damaged = false;
	if (status || !quality)
		return status;
	column = tw_csv_column(quality, "class");
	for (row = 0; row < quality->rows && !*damaged; row++)
		*damaged = !strcmp(tw_csv_text(quality, row, column), "lost");
	return 0;
}
