/*
 * The file around a workbook that libxlsxwriter makes: where the library writes, what it is told
 * about the locale, and proof that all it was given arrived.
 */
#ifndef TW_RENDER_XLSX_FILE_H
#define TW_RENDER_XLSX_FILE_H

#include <locale.h>
#include <xlsxwriter.h>

#include "io/sink.h"

struct tw_xlsx_file {
	lxw_workbook *workbook;
	const struct trawl_allocator *allocator;
	const char *path; /* the caller's */
	struct tw_sink *sink;
	int stage;	   /* the file that the library writes */
	bool in_memory;	   /* the stage is one */
	char tmpdir[4096]; /* for the library's temporary files, which have no names */
	locale_t locale, callers_locale;
};

/*
 * Takes `path` (borrowed) for the output and starts a workbook; `large`: rows are written once
 * and in order, and the library keeps none of them.  After failure nothing is to be released.
 */
int tw_xlsx_open(struct tw_xlsx_file *file, const char *path, bool large,
		 const struct trawl_allocator *allocator, struct trawl_error *err);
/*
 * Finishes the workbook and gives it its name; `cells` that have a value were written.  Releases
 * the file in any case.
 */
int tw_xlsx_close(struct tw_xlsx_file *file, uint64_t cells, struct trawl_error *err);
/* Drops the workbook. */
void tw_xlsx_abort(struct tw_xlsx_file *file);
/* What an error of the library means to the user. */
int tw_xlsx_error(const struct tw_xlsx_file *file, lxw_error error, int number,
		  struct trawl_error *err);

#endif
