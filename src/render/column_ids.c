#include "render/column_ids.h"

#include "base/alloc.h"

#include <string.h>

static void add_underscore(struct tw_str *id, size_t begin)
{
	if (id->len > begin && id->ptr[id->len - 1] != '_')
		tw_str_add_char(id, '_');
}

/* Letters and digits in lower case, anything between them one `_`; µ is u, / is per. */
static void add_snake_case(struct tw_str *id, const char *header)
{
	size_t begin = id->len;
	const char *p;

	for (p = header; *p; p++) {
		if ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9')) {
			tw_str_add_char(id, *p);
		} else if (*p >= 'A' && *p <= 'Z') {
			tw_str_add_char(id, (char)(*p - 'A' + 'a'));
		} else if (strncmp(p, "\xC2\xB5", 2) == 0 || strncmp(p, "\xCE\xBC", 2) == 0) {
			tw_str_add_char(id, 'u');
			p++;
		} else if (*p == '/' && id->len > begin && p[1]) {
			add_underscore(id, begin);
			tw_str_add_cstr(id, "per_");
		} else {
			add_underscore(id, begin);
		}
	}
	while (id->len > begin && id->ptr[id->len - 1] == '_')
		id->len--;
}

static bool is_taken(const struct tw_column_ids *ids, size_t before, const char *id)
{
	size_t i;

	for (i = 0; i < before; i++)
		if (strcmp(ids->text.ptr + ids->begin[i], id) == 0)
			return true;
	return false;
}

/* A second column of the same id becomes id_2. */
static void make_unique(struct tw_column_ids *ids, size_t index, size_t base_len)
{
	unsigned number;

	for (number = 2; !ids->text.failed; number++) {
		if (!is_taken(ids, index, ids->text.ptr + ids->begin[index]))
			return;
		ids->text.len = ids->begin[index] + base_len;
		tw_str_addf(&ids->text, "_%u", number);
	}
}

static void add_id(struct tw_column_ids *ids, const struct trawl_column *column, size_t index)
{
	size_t begin = ids->text.len;

	ids->begin[index] = begin;
	add_snake_case(&ids->text, column->header);
	if (ids->text.len == begin)
		tw_str_addf(&ids->text, "column_%zu", index + 1);
	if (!ids->text.failed) {
		ids->text.ptr[ids->text.len] = '\0';
		make_unique(ids, index, ids->text.len - begin);
	}
	tw_str_add(&ids->text, "", 1);
}

bool tw_column_ids_make(struct tw_column_ids *ids, const struct trawl_table *table,
			const struct trawl_allocator *a)
{
	size_t i;

	tw_str_init(&ids->text, a);
	ids->count = trawl_table_columns(table);
	ids->begin = tw_alloc_array(a, ids->count, sizeof(*ids->begin));
	if (!ids->begin)
		return false;
	for (i = 0; i < ids->count; i++)
		add_id(ids, trawl_table_column(table, i), i);
	return !ids->text.failed;
}

void tw_column_ids_release(struct tw_column_ids *ids, const struct trawl_allocator *a)
{
	tw_free(a, ids->begin, ids->count * sizeof(*ids->begin));
	tw_str_release(&ids->text);
}
