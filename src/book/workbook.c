#include "book/workbook.h"

#include "base/alloc.h"
#include "os/file.h"

#include <string.h>

#define MAX_SHEETS 10000

/* A line of a file of relationships. */
struct relation {
	const char *id, *type, *part;
};

struct reading {
	struct tw_part part;
	struct tw_arena *arena;
	const char *folder;  /* of the part that the relationships are of, with its slash */
	struct tw_str items; /* struct relation or struct tw_workbook_sheet, as bytes */
	const struct relation *relations;
	size_t relation_count;
};

static void out_of_memory(struct reading *reading)
{
	tw_part_fail(&reading->part, TRAWL_ENOMEM, "out of memory");
}

static const char *keep(struct reading *reading, const char *text)
{
	const char *copy = tw_arena_copy(reading->arena, text, strlen(text));

	if (!copy)
		out_of_memory(reading);
	return copy;
}

static void add_item(struct reading *reading, const void *item, size_t size)
{
	tw_str_add(&reading->items, item, size);
	if (reading->items.failed)
		out_of_memory(reading);
	else if (reading->items.len / size > MAX_SHEETS)
		tw_part_fail(&reading->part, TRAWL_EFORMAT, "more than %d of them", MAX_SHEETS);
}

/* Takes ".." and "." out of a path, in place. */
static void straighten(char *path)
{
	char *from = path, *to = path;

	while (*from) {
		size_t len = strcspn(from, "/");
		bool up = len == 2 && !memcmp(from, "..", 2);

		if (up) {
			while (to > path && *--to != '/')
				;
			while (to > path && to[-1] != '/')
				to--;
		} else if (len && !(len == 1 && *from == '.')) {
			memmove(to, from, len);
			to += len;
			if (from[len])
				*to++ = '/';
		}
		from += len + (from[len] != 0);
	}
	*to = '\0';
}

/* "/xl/x.xml" is from the top, "x.xml" beside the part that names it. */
static const char *target_part(struct reading *reading, const char *target)
{
	size_t folder = *target == '/' ? 0 : strlen(reading->folder), len = strlen(target);
	char *path = tw_arena_alloc(reading->arena, folder + len + 1);

	if (!path) {
		out_of_memory(reading);
		return NULL;
	}
	memcpy(path, reading->folder, folder);
	memcpy(path + folder, target, len + 1);
	straighten(path);
	return path;
}

static void relation_begin(struct tw_part *part, const char *name, const char **attributes)
{
	struct reading *reading = (struct reading *)part;
	const char *id = tw_part_attribute(attributes, "Id");
	const char *type = tw_part_attribute(attributes, "Type");
	const char *target = tw_part_attribute(attributes, "Target");
	struct relation relation;

	if (strcmp(name, "Relationship") || !id || !type || !target)
		return;
	type = tw_file_name(type);
	relation = (struct relation){ keep(reading, id), keep(reading, type),
				      target_part(reading, target) };
	if (!part->status)
		add_item(reading, &relation, sizeof(relation));
}

static const struct relation *relation_by_id(const struct reading *reading, const char *id)
{
	size_t i;

	for (i = 0; i < reading->relation_count; i++)
		if (!strcmp(reading->relations[i].id, id))
			return &reading->relations[i];
	return NULL;
}

static const char *part_of_type(const struct reading *reading, const char *type)
{
	size_t i;

	for (i = 0; i < reading->relation_count; i++)
		if (!strcmp(reading->relations[i].type, type))
			return reading->relations[i].part;
	return NULL;
}

static void sheet_begin(struct tw_part *part, const char *name, const char **attributes)
{
	struct reading *reading = (struct reading *)part;
	const char *title = tw_part_attribute(attributes, "name");
	const char *id = tw_part_attribute(attributes, "id");
	const struct relation *relation = id ? relation_by_id(reading, id) : NULL;
	struct tw_workbook_sheet sheet;

	if (strcmp(name, "sheet") || !title || (relation && strcmp(relation->type, "worksheet")))
		return;
	sheet.name = keep(reading, title);
	sheet.part = relation ? relation->part : NULL;
	if (!part->status)
		add_item(reading, &sheet, sizeof(sheet));
}

/* What was gathered, in the arena. */
static int take_items(struct reading *reading, void **items, struct trawl_error *err)
{
	*items = NULL;
	if (!reading->items.len)
		return 0;
	*items = tw_arena_alloc(reading->arena, reading->items.len);
	if (!*items)
		return tw_no_memory(err);
	memcpy(*items, reading->items.ptr, reading->items.len);
	return 0;
}

/* "xl/" and "workbook.xml" have xl/_rels/workbook.xml.rels. */
static int read_relations(struct reading *reading, const struct tw_package *package,
			  const char *folder, const char *file, struct trawl_error *err)
{
	static const struct tw_part_ops ops = { .begin = relation_begin };
	struct tw_str name;
	void *items = NULL;
	int status;

	tw_str_init(&name, reading->arena->allocator);
	tw_str_addf(&name, "%s_rels/%s.rels", folder, file);
	reading->part.ops = &ops;
	reading->folder = folder;
	tw_str_clear(&reading->items);
	if (name.failed)
		status = tw_no_memory(err);
	else
		status = tw_package_read(package, name.ptr, &reading->part, err);
	tw_str_release(&name);
	if (!status)
		status = take_items(reading, &items, err);
	reading->relations = items;
	reading->relation_count = items ? reading->items.len / sizeof(struct relation) : 0;
	return status;
}

static int read_sheets(struct reading *reading, struct tw_workbook *book,
		       const struct tw_package *package, const char *part, struct trawl_error *err)
{
	static const struct tw_part_ops ops = { .begin = sheet_begin };
	void *items = NULL;
	int status;

	reading->part.ops = &ops;
	tw_str_clear(&reading->items);
	status = tw_package_read(package, part, &reading->part, err);
	if (!status)
		status = take_items(reading, &items, err);
	book->sheets = items;
	book->count = items ? reading->items.len / sizeof(struct tw_workbook_sheet) : 0;
	return status;
}

int tw_workbook_read(struct tw_workbook *book, const struct tw_package *package,
		     struct tw_arena *arena, struct trawl_error *err)
{
	struct reading reading = { .arena = arena };
	const char *part = "xl/workbook.xml", *file;
	char *folder = NULL;
	int status = 0;

	*book = (struct tw_workbook){ 0 };
	tw_str_init(&reading.items, arena->allocator);
	if (tw_package_has(package, "_rels/.rels"))
		status = read_relations(&reading, package, "", "", err);
	if (!status && part_of_type(&reading, "officeDocument"))
		part = part_of_type(&reading, "officeDocument");
	if (!status && !tw_package_has(package, part))
		status = trawl_error_set(err, TRAWL_EFORMAT,
					 "a zip archive, not a workbook: %.100s is missing", part);
	if (!status) {
		file = tw_file_name(part);
		folder = tw_arena_copy(arena, part, (size_t)(file - part));
		if (folder)
			status = read_relations(&reading, package, folder, file, err);
		else
			status = tw_no_memory(err);
	}
	if (!status)
		status = read_sheets(&reading, book, package, part, err);
	if (!status)
		book->shared_texts = part_of_type(&reading, "sharedStrings");
	tw_str_release(&reading.items);
	return status;
}
