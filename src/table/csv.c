#include "table/csv.h"

#include "text/str.h"
#include "text/text.h"

#include <string.h>

struct parser {
	struct tw_csv *csv;
	struct tw_arena *arena;
	struct tw_str cells; /* pointers, as bytes, for it grows */
	struct tw_str cell;
	size_t width; /* columns of the file; 0: in the header */
	size_t count; /* of the row's cells so far */
	const char *p, *end;
	size_t line;
	const char *problem;
	bool no_memory;
};

/* Takes away the apostrophe of tw_escape_csv(): one of those before a formula's first character. */
static const char *without_apostrophe(const char *text, size_t len)
{
	size_t marks = 0;

	while (marks < len && text[marks] == '\'')
		marks++;
	return marks && marks < len && tw_text_begins_formula(text + marks, len - marks) ?
		       text + 1 :
		       text;
}

static void end_cell(struct parser *parser)
{
	const char *text, *kept;

	tw_str_add_cstr(&parser->cell, "");
	parser->count++;
	parser->no_memory |= parser->cell.failed;
	if (!parser->no_memory) {
		text = parser->cell.ptr;
		kept = without_apostrophe(text, parser->cell.len);
		kept = *kept ? tw_arena_copy(parser->arena, kept,
					     parser->cell.len - (size_t)(kept - text)) :
			       "";
		tw_str_add(&parser->cells, (const char *)&kept, sizeof(kept));
		parser->no_memory |= !kept || parser->cells.failed;
	}
	tw_str_clear(&parser->cell);
}

/* The text of a cell in quotes; p is after the first one. */
static void quoted(struct parser *parser)
{
	while (parser->p < parser->end) {
		char c = *parser->p++;

		if (c == '"' && (parser->p == parser->end || *parser->p != '"'))
			return;
		if (c == '"')
			parser->p++;
		parser->line += c == '\n';
		tw_str_add_char(&parser->cell, c);
	}
	parser->problem = "unclosed quote";
}

static void row(struct parser *parser)
{
	parser->count = 0;
	while (parser->p < parser->end && !parser->problem) {
		char c = *parser->p++;

		if (c == '"') {
			quoted(parser);
		} else if (c == ',') {
			end_cell(parser);
		} else if (c == '\n') {
			break;
		} else if (c != '\r' || parser->p == parser->end || *parser->p != '\n') {
			tw_str_add_char(&parser->cell, c);
		}
	}
	end_cell(parser);
}

static void rows(struct parser *parser)
{
	struct tw_csv *csv = parser->csv;

	while (parser->p < parser->end && !parser->problem && !parser->no_memory) {
		size_t at = parser->line;

		row(parser);
		if (parser->width)
			csv->rows++;
		else
			csv->columns = parser->count;
		parser->width = parser->width ? parser->width : parser->count;
		/* Cells for which there is no memory are not counted. */
		if (parser->count != parser->width && !parser->problem && !parser->no_memory) {
			parser->line = at;
			parser->problem = "number of cells differs from the header";
		}
		parser->line += !parser->problem;
	}
}

int tw_csv_parse(struct tw_csv *csv, struct tw_arena *arena, const char *text, size_t len,
		 const char *name, struct trawl_error *err)
{
	struct parser parser = { .csv = csv, .arena = arena, .line = 1 };
	int status = 0;

	*csv = (struct tw_csv){ 0 };
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		len -= 3;
	}
	parser.p = text;
	parser.end = text + len;
	tw_str_init(&parser.cells, arena->allocator);
	tw_str_init(&parser.cell, arena->allocator);
	rows(&parser);
	/* Cells end there, for who asks for text. */
	if (!parser.problem && len && memchr(text, 0, len)) {
		parser.problem = "NUL character: not a text file";
		parser.line = 1;
	}
	if (!parser.problem && !parser.no_memory && csv->columns) {
		csv->cells = tw_arena_alloc(arena, parser.cells.len);
		if (csv->cells)
			memcpy(csv->cells, parser.cells.ptr, parser.cells.len);
	}
	if (parser.problem)
		status = trawl_error_set(err, TRAWL_EFORMAT, "%s:%zu: %s", name, parser.line,
					 parser.problem);
	else if (parser.no_memory || (csv->columns && !csv->cells))
		status = trawl_error_set(err, TRAWL_ENOMEM, "%s: out of memory", name);
	tw_str_release(&parser.cells);
	tw_str_release(&parser.cell);
	if (status)
		*csv = (struct tw_csv){ 0 };
	return status;
}

const char *tw_csv_text(const struct tw_csv *csv, size_t row, size_t column)
{
	if (row >= csv->rows || column >= csv->columns)
		return "";
	return csv->cells[(row + 1) * csv->columns + column];
}
