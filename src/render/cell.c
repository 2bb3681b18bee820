#include "render/cell.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* From here on a real in positional notation is a wall of digits that mean nothing. */
#define LARGEST_POSITIONAL 1e15

bool tw_id_is_number(const struct trawl_column *column, const struct trawl_cell *cell,
		     int64_t *value)
{
	size_t i;

	if (column->type != TRAWL_COLUMN_ID || !cell->text_len || cell->text_len > 15 ||
	    (cell->text[0] == '0' && cell->text_len > 1))
		return false;
	*value = 0;
	for (i = 0; i < cell->text_len; i++) {
		if (cell->text[i] < '0' || cell->text[i] > '9')
			return false;
		*value = *value * 10 + (cell->text[i] - '0');
	}
	return true;
}

void tw_number_rounded(struct tw_str *out, const struct trawl_column *column,
		       const struct trawl_cell *cell)
{
	switch (column->type) {
	case TRAWL_COLUMN_INTEGER:
		tw_str_add_int(out, cell->integer);
		break;
	case TRAWL_COLUMN_DECIMAL:
		tw_str_add_decimal_fixed(out, cell->integer, column->scale, column->digits);
		break;
	case TRAWL_COLUMN_REAL:
		if (fabs(cell->real) < LARGEST_POSITIONAL)
			tw_str_add_real_fixed(out, cell->real, column->digits);
		else
			tw_str_add_real(out, cell->real);
		break;
	case TRAWL_COLUMN_TEXT:
	case TRAWL_COLUMN_ID:
		break;
	}
}

/* `word` in `text`, not as part of a longer word. */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *at;

	for (at = strstr(text, word); at; at = strstr(at + 1, word)) {
		bool begins = at == text || !isalnum((unsigned char)at[-1]);
		bool ends = !isalnum((unsigned char)at[len]);

		if (begins && ends)
			return true;
	}
	return false;
}

bool tw_header_has_unit(const struct trawl_column *column)
{
	const char *unit = column->unit, *header = column->header;

	if (!unit || !*unit)
		return true;
	if (strcmp(unit, "%") == 0)
		return strchr(header, '%') || strstr(header, "ercent");
	if (strcmp(unit, "\xC2\xB5s") == 0 && has_word(header, "us"))
		return true;
	return has_word(header, unit);
}

void tw_header_with_unit(struct tw_str *out, const struct trawl_column *column)
{
	tw_str_add_cstr(out, column->header);
	if (!tw_header_has_unit(column))
		tw_str_addf(out, " (%s)", column->unit);
}

const char *tw_column_type_name(const struct trawl_column *column)
{
	switch (column->type) {
	case TRAWL_COLUMN_TEXT:
		return "text";
	case TRAWL_COLUMN_INTEGER:
		return "integer";
	case TRAWL_COLUMN_DECIMAL:
		return "decimal";
	case TRAWL_COLUMN_REAL:
		return "real";
	case TRAWL_COLUMN_ID:
		return "id";
	}
	return "text";
}
