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
	lxw_workbook *workbook; /* while it is filled */
	uint64_t cells;		/* that have a value: counted by who fills it */
	const struct trawl_allocator *allocator;
	const char *path; /* the caller's */
	struct tw_sink *sink;
	int stage;	/* the file that the library writes */
	bool in_memory; /* the stage is one, of this name */
	char stage_name[32];
	bool large;
	char tmpdir[4096]; /* for the library's temporary files, which have no names */
	locale_t locale, callers_locale;
};

/*
 * Takes `path` (borrowed) for the output; `large`: rows are written once and in order, and the
 * library keeps none of them.  After failure nothing is to be released.
 */
int tw_xlsx_open(struct tw_xlsx_file *file, const char *path, bool large,
		 const struct trawl_allocator *allocator, struct trawl_error *err) TRAWL_MUST_CHECK;
/*
 * Makes the workbook: `fill` is called in a process of its own, with file->workbook and
 * file->cells to work on.  What it changes besides is lost with that process, and it may take
 * no lock that another thread of the caller's may hold.
 */
int tw_xlsx_make(struct tw_xlsx_file *file, int (*fill)(void *context, struct trawl_error *err),
		 void *context, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Gives what was made its name, when it proves to be whole.  Releases the file in any case. */
int tw_xlsx_close(struct tw_xlsx_file *file, struct trawl_error *err) TRAWL_MUST_CHECK;
/* Drops it. */
void tw_xlsx_abort(struct tw_xlsx_file *file);
/* What an error of the library means to the user. */
int tw_xlsx_error(const struct tw_xlsx_file *file, lxw_error error, int number,
		  struct trawl_error *err);

#endif
