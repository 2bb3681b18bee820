#include "made_books.h"

#include "standalone/replay/replay.h"

#include <stdlib.h>
#include <string.h>

void made_archive(struct tw_str *out, const char *const *parts)
{
	struct tw_replay_part made[16];
	struct tw_str texts[16];
	size_t count = 0, i;

	for (; parts[2 * count]; count++) {
		tw_str_init(&texts[count], trawl_allocator_default());
		tw_str_add_cstr(&texts[count], parts[2 * count + 1]);
		made[count] = (struct tw_replay_part){ parts[2 * count], &texts[count] };
	}
	tw_str_init(out, trawl_allocator_default());
	if (tw_replay_zip(made, count, out, NULL))
		abort();
	for (i = 0; i < count; i++)
		tw_str_release(&texts[i]);
}

void made_workbook(struct tw_str *out, const char *sheet, const char *shared)
{
	const char *parts[] = {
		"xl/workbook.xml",
		"<workbook xmlns:r=\"x\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"a\"/>"
		"</sheets></workbook>",
		"xl/_rels/workbook.xml.rels",
		"<Relationships><Relationship Id=\"a\" Type=\"" MADE_TYPE "worksheet\" "
		"Target=\"worksheets/sheet1.xml\"/><Relationship Id=\"b\" Type=\"" MADE_TYPE
		"sharedStrings\" Target=\"sharedStrings.xml\"/></Relationships>",
		MADE_SHEET_NAME,
		sheet,
		shared ? "xl/sharedStrings.xml" : NULL,
		shared,
		NULL,
	};

	made_archive(out, parts);
}
