/* Workbooks for tests: zip archives in memory of the XML that a test gives. */
#ifndef TRAWL_TEST_MADE_BOOKS_H
#define TRAWL_TEST_MADE_BOOKS_H

#include "text/str.h"

/* Names and texts in turn, NULL behind the last; the archive into `out`, which it initialises. */
void made_archive(struct tw_str *out, const char *const *parts);
/* A workbook with the sheet "S" of this XML and, unless NULL, these shared texts. */
void made_workbook(struct tw_str *out, const char *sheet, const char *shared);

#define MADE_TYPE "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
#define MADE_SHEET_NAME "xl/worksheets/sheet1.xml"

#endif
