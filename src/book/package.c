#include "book/package.h"

#include "base/alloc.h"
#include "os/child.h"

#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#define CHUNK (64 << 10)
/*
 * The parser looks at an unfinished name or attribute again with each chunk, so that a very long
 * one would take forever; what a cell can hold is a twentieth of this.
 */
#define LONGEST_TOKEN ((uint64_t)4 << 20)
/* Elements inside each other, each of which takes memory; worksheets have six. */
#define MAX_DEPTH 100

struct tw_package {
	const struct trawl_allocator *allocator;
	zip_t *zip;
};

/* What libzip takes to find the directory of a file, and more. */
#define DIRECTORY_MEMORY ((size_t)256 << 10)

/* libzip finds no directory where memory for reading it is out, and says no more than that. */
static bool is_memory_out(void)
{
	/* Volatile: else the compiler leaves both calls out. */
	void *volatile probe = malloc(DIRECTORY_MEMORY);

	free(probe);
	return !probe;
}

static int zip_failed(zip_error_t *error, struct trawl_error *err)
{
	switch (zip_error_code_zip(error)) {
	case ZIP_ER_MEMORY:
		return tw_no_memory(err);
	case ZIP_ER_NOZIP:
	case ZIP_ER_INCONS:
		if (is_memory_out())
			return tw_no_memory(err);
		return trawl_error_set(err, TRAWL_EFORMAT, "damaged workbook: truncated (%s)",
				       zip_error_strerror(error));
	case ZIP_ER_OPEN:
	case ZIP_ER_READ:
	case ZIP_ER_SEEK:
		return trawl_error_set(err, TRAWL_EIO, "%s", zip_error_strerror(error));
	}
	return trawl_error_set(err, TRAWL_EFORMAT, "damaged workbook: %s",
			       zip_error_strerror(error));
}

/* Takes over the source. */
static int open_source(struct tw_package **out, zip_source_t *source, zip_error_t *error,
		       const struct trawl_allocator *allocator, struct trawl_error *err)
{
	struct tw_package *package = tw_alloc(allocator, sizeof(*package));
	int status = 0;

	if (!package || !source) {
		status = package ? zip_failed(error, err) : tw_no_memory(err);
	} else {
		package->allocator = allocator;
		tw_hold_forks();
		package->zip = zip_open_from_source(source, ZIP_RDONLY, error);
		tw_allow_forks();
		if (!package->zip)
			status = zip_failed(error, err);
	}
	if (status) {
		zip_source_free(source);
		tw_free(allocator, package, sizeof(*package));
		package = NULL;
	}
	zip_error_fini(error);
	*out = package;
	return status;
}

int tw_package_open(struct tw_package **out, const char *path,
		    const struct trawl_allocator *allocator, struct trawl_error *err)
{
	zip_error_t error;

	zip_error_init(&error);
	return open_source(out, zip_source_file_create(path, 0, -1, &error), &error, allocator,
			   err);
}

int tw_package_open_bytes(struct tw_package **out, const char *bytes, size_t len,
			  const struct trawl_allocator *allocator, struct trawl_error *err)
{
	zip_error_t error;

	zip_error_init(&error);
	return open_source(out, zip_source_buffer_create(bytes, len, 0, &error), &error, allocator,
			   err);
}

void tw_package_close(struct tw_package *package)
{
	if (!package)
		return;
	zip_discard(package->zip);
	tw_free(package->allocator, package, sizeof(*package));
}

bool tw_package_has(const struct tw_package *package, const char *name)
{
	return zip_name_locate(package->zip, name, ZIP_FL_NOCASE) >= 0;
}

/* ---- elements */

/* "c" of "x:c" */
static const char *local_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

const char *tw_part_attribute(const char **attributes, const char *name)
{
	size_t i;

	for (i = 0; attributes[i]; i += 2)
		if (!strcmp(local_name(attributes[i]), name))
			return attributes[i + 1];
	return NULL;
}

void tw_part_fail(struct tw_part *part, int status, const char *format, ...)
{
	char message[512];
	va_list args;

	if (part->status)
		return;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	part->status = trawl_error_set(part->err, status, "%s", message);
	XML_StopParser(part->parser, XML_FALSE);
}

static void on_begin(void *context, const char *name, const char **attributes)
{
	struct tw_part *part = context;

	if (++part->depth > MAX_DEPTH)
		tw_part_fail(part, TRAWL_EFORMAT, "more than %d nested elements", MAX_DEPTH);
	if (!part->status && part->ops->begin)
		part->ops->begin(part, local_name(name), attributes);
}

static void on_end(void *context, const char *name)
{
	struct tw_part *part = context;

	part->depth--;
	if (!part->status && part->ops->end)
		part->ops->end(part, local_name(name));
}

static void on_text(void *context, const char *text, int len)
{
	struct tw_part *part = context;

	if (!part->status)
		part->ops->text(part, text, (size_t)len);
}

/* Entities are declared in one, and each can expand to a million others. */
static void on_doctype(void *context, const char *name, const char *system, const char *public_id,
		       int has_internal)
{
	(void)name;
	(void)system;
	(void)public_id;
	(void)has_internal;
	tw_part_fail(context, TRAWL_EFORMAT, "unexpected DOCTYPE");
}

/* ---- bytes */

static int xml_failed(struct tw_part *part)
{
	enum XML_Error code = XML_GetErrorCode(part->parser);

	if (part->status)
		return part->status;
	if (code == XML_ERROR_NO_MEMORY)
		return part->status = tw_no_memory(part->err);
	return part->status = trawl_error_set(part->err, TRAWL_EFORMAT, "line %lu: %s",
					      (unsigned long)XML_GetCurrentLineNumber(part->parser),
					      XML_ErrorString(code));
}

/* Whether the parser is stuck in one token; what is after its beginning has been given to it. */
static bool too_long(struct tw_part *part, uint64_t given)
{
	XML_Index at = XML_GetCurrentByteIndex(part->parser);

	return given > LONGEST_TOKEN && (at < 0 || given - (uint64_t)at > LONGEST_TOKEN);
}

static int feed(struct tw_part *part, zip_file_t *file)
{
	uint64_t total = 0;
	zip_int64_t got = 1;

	while (got > 0) {
		void *buffer = XML_GetBuffer(part->parser, CHUNK);

		if (!buffer)
			return xml_failed(part);
		got = zip_fread(file, buffer, CHUNK);
		if (got < 0)
			return part->status = zip_failed(zip_file_get_error(file), part->err);
		total += (uint64_t)got;
		if (total > TW_PART_MOST_BYTES)
			return part->status = trawl_error_set(part->err, TRAWL_EFORMAT,
							      "larger than the limit of %d MB",
							      (int)(TW_PART_MOST_BYTES >> 20));
		if (XML_ParseBuffer(part->parser, (int)got, got == 0) != XML_STATUS_OK)
			return xml_failed(part);
		if (too_long(part, total))
			return part->status = trawl_error_set(part->err, TRAWL_EFORMAT,
							      "name or attribute larger than %d MB",
							      (int)(LONGEST_TOKEN >> 20));
	}
	return 0;
}

static zip_file_t *open_part(const struct tw_package *package, const char *name,
			     struct tw_part *part)
{
	zip_int64_t index = zip_name_locate(package->zip, name, ZIP_FL_NOCASE);
	zip_stat_t stat;
	zip_file_t *file;
	bool known;

	if (index < 0) {
		part->status =
			trawl_error_set(part->err, TRAWL_EFORMAT, "missing from the workbook");
		return NULL;
	}
	tw_hold_forks();
	known = !zip_stat_index(package->zip, (zip_uint64_t)index, 0, &stat);
	tw_allow_forks();
	if (known && stat.valid & ZIP_STAT_ENCRYPTION_METHOD &&
	    stat.encryption_method != ZIP_EM_NONE) {
		part->status = trawl_error_set(part->err, TRAWL_EFORMAT,
					       "encrypted; save it without a password");
		return NULL;
	}
	file = zip_fopen_index(package->zip, (zip_uint64_t)index, 0);
	if (!file)
		part->status = zip_failed(zip_get_error(package->zip), part->err);
	return file;
}

int tw_package_read(const struct tw_package *package, const char *name, struct tw_part *part,
		    struct trawl_error *err)
{
	zip_file_t *file;

	part->err = err;
	part->status = 0;
	part->depth = 0;
	file = open_part(package, name, part);
	if (!file)
		return trawl_error_context(err, part->status, "%s", name);
	part->parser = XML_ParserCreate(NULL);
	if (part->parser) {
		XML_SetUserData(part->parser, part);
		XML_SetElementHandler(part->parser, on_begin, on_end);
		if (part->ops->text)
			XML_SetCharacterDataHandler(part->parser, on_text);
		XML_SetStartDoctypeDeclHandler(part->parser, on_doctype);
		feed(part, file);
		XML_ParserFree(part->parser);
		part->parser = NULL;
	} else {
		part->status = tw_no_memory(err);
	}
	zip_fclose(file);
	return part->status ? trawl_error_context(err, part->status, "%s", name) : 0;
}
