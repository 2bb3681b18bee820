/*
 * Databases as exports of Nsight Systems, for the fuzz targets that read them.  An input is meant
 * either as the bytes of a database, whose mark is put right, or as values for the rows of one that
 * is made here, so that what stands in rows is varied too.
 */
#ifndef FUZZ_MADE_EXPORT_H
#define FUZZ_MADE_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void check(bool holds);

/* The file: the same one for all inputs, removed when the program ends. */
const char *made_export_bytes(const uint8_t *data, size_t size);
/* `step`: from the number of one row of events to that of the next one. */
const char *made_export_rows(const uint8_t *data, size_t size, int64_t step);

#endif
